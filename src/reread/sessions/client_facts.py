"""What lines beside the conversation say about a session: its tag, agent and worktree, and the sessions it belongs to.

The client repeats these lines at every turn: the last of each kind counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

from reread.records import Attachment, Record
from reread.records.attachments import BudgetUsd, TokenUsage
from reread.records.state import AgentSetting, ContinuedIn, DerivedFrom, Relocated, SessionTag, WorktreeState

from .conversation import Conversation


class ClientFacts(Struct, frozen=True, kw_only=True):
    """Empty strings where no line says it."""

    tag: str = ""
    agent: str = ""
    worktree: str = ""
    """The folder of the worktree it is in."""
    branch: str = ""
    """The branch of that worktree."""
    relocated: str = ""
    """The working directory it was moved to."""
    continued_in: str = ""
    """The session that goes on with the conversation."""
    derived_from: tuple[str, ...] = ()
    """The sessions it knows something from."""
    budget: str = ""
    """What was used of its budget in dollars, as the model was told last."""
    tokens: str = ""
    """What was used of its context, as the model was told last."""

    def sentences(self) -> Iterator[str]:
        if self.tag:
            yield f"tag: {self.tag}"
        if self.agent:
            yield f"agent: {self.agent}"
        if self.worktree:
            yield f"worktree: {self.worktree}" + (f" (branch {self.branch})" if self.branch else "")
        if self.relocated:
            yield f"moved to {self.relocated}"
        if self.derived_from:
            yield f"knows from session {', '.join(self.derived_from)}"
        if self.budget:
            yield f"budget: {self.budget}"
        if self.tokens:
            yield f"context: {self.tokens}"


def client_facts(conversation: Conversation) -> ClientFacts:
    def last_value(kind: type[Record], name: str, default: Any = "") -> Any:
        found = conversation.beside_of(kind)
        return (getattr(found[-1], name) if found else None) or default

    worktree = last_value(WorktreeState, "worktree_session")
    bodies = [record.attachment for record in conversation.beside_of(Attachment)]
    return ClientFacts(
        budget=_used(bodies, BudgetUsd, "${:,.2f} of ${:,.2f}"),
        tokens=_used(bodies, TokenUsage, "{:,.0f} of {:,.0f} tokens"),
        tag=last_value(SessionTag, "given"),
        agent=last_value(AgentSetting, "agent_setting"),
        worktree=getattr(worktree, "worktree_path", None) or "",
        branch=getattr(worktree, "worktree_branch", None) or "",
        relocated=last_value(Relocated, "relocated_cwd"),
        continued_in=last_value(ContinuedIn, "continued_in_session_id"),
        derived_from=tuple(each.id for each in last_value(DerivedFrom, "sessions", ()) if each.id),
    )


def _used(bodies: Sequence[object], kind: type[BudgetUsd | TokenUsage], words: str) -> str:
    """What the last of these attachments says was used, out of how much."""
    last = next((body for body in reversed(bodies) if isinstance(body, kind)), None)
    return words.format(last.used, last.total) if last and last.used is not None and last.total is not None else ""
