"""What waits for a person over all sessions of a server, as it goes from there to a terminal, and the way back."""

from __future__ import annotations

import json
from datetime import datetime

from msgspec import Struct

from reread.errors import BadInput

from .events import Permission
from .outgoing import Decision, Deny

_SHORT = 8


class Approval(Struct, frozen=True, kw_only=True):
    """A question of a client that is still open."""

    run: str
    session: str
    title: str
    project: str
    asked_at: datetime
    waits_seconds: float
    permission: Permission

    @property
    def key(self) -> tuple[str, str]:
        """Ids of requests are the client's own: two runs may use the same."""
        return self.run, self.permission.request_id

    @property
    def full_id(self) -> str:
        return f"{self.run}/{self.permission.request_id}"


class GivenAnswer(Struct, frozen=True, kw_only=True):
    """A line of the log."""

    run: str
    session: str
    title: str
    project: str
    time: datetime
    tool: str
    point: str
    answer: str
    allowed: bool
    by_policy: bool


class WaitingElsewhere(Struct, frozen=True, kw_only=True):
    """A session that somebody else runs, and that waits, or may."""

    session: str
    title: str
    project: str
    doing: str


class ApprovalQueue(Struct, frozen=True, kw_only=True):
    waiting: tuple[Approval, ...] = ()
    """The oldest run first."""
    answered: tuple[GivenAnswer, ...] = ()
    """The newest first."""
    elsewhere: tuple[WaitingElsewhere, ...] = ()

    def find(self, name: str) -> Approval:
        """By the start of its id, or of `RUN/ID`. Raises BadInput where that is none, or several."""
        whole = [each for each in self.waiting if name in (each.permission.request_id, each.full_id)]
        begun = [each for each in self.waiting if name and self._begins(each, name)]
        found = whole if len(whole) == 1 else begun
        if len(found) == 1:
            return found[0]
        if found:
            raise BadInput(f"{name!r}: {len(found)} requests begin so: {', '.join(map(self.short, found))}")
        waiting = ", ".join(map(self.short, self.waiting))
        raise BadInput(f"{name!r}: no such request waits" + (f"; these do: {waiting}" if waiting else ""))

    @staticmethod
    def _begins(each: Approval, name: str) -> bool:
        return each.permission.request_id.startswith(name) or each.full_id.startswith(name)

    def short(self, approval: Approval) -> str:
        """As much of its id as names it alone."""
        request = approval.permission.request_id
        for name in (request[:_SHORT], request):
            if sum(self._begins(each, name) for each in self.waiting) == 1:
                return name
        return approval.full_id


def form_of(permission: Permission, decision: Decision) -> dict[str, str]:
    """A decision in the words of the form that the page has for it."""
    if isinstance(decision, Deny):
        return {"decision": "deny", "reason": decision.reason}
    if decision.remember:
        return {"decision": f"always-{permission.suggestions.index(decision.remember[0])}"}
    if decision.input is not None:
        return {"decision": "edit", "input": json.dumps(decision.input)}
    return {"decision": "allow"}
