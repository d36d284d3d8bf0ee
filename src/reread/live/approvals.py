"""The queue of open permission requests of all sessions of a server, as sent to a terminal and answered from there."""

from __future__ import annotations

import json
from datetime import datetime

from msgspec import Struct

from reread.errors import BadInput

from .events import Permission
from .outgoing import Decision, Deny

_SHORT = 8


class Approval(Struct, frozen=True, kw_only=True):
    """A permission request that is still open."""

    run: str
    session: str
    title: str
    project: str
    asked_at: datetime
    waits_seconds: float
    permission: Permission

    @property
    def key(self) -> tuple[str, str]:
        """Run and request id: each client numbers its own requests, so two runs may use the same id."""
        return self.run, self.permission.request_id

    @property
    def full_id(self) -> str:
        return f"{self.run}/{self.permission.request_id}"


class GivenAnswer(Struct, frozen=True, kw_only=True):
    """One answer in the log."""

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
    """A session that another process runs and that is, or may be, waiting for an answer."""

    session: str
    title: str
    project: str
    doing: str


class ApprovalQueue(Struct, frozen=True, kw_only=True):
    waiting: tuple[Approval, ...] = ()
    """Oldest run first."""
    answered: tuple[GivenAnswer, ...] = ()
    """Newest first."""
    elsewhere: tuple[WaitingElsewhere, ...] = ()

    def find(self, name: str) -> Approval:
        """Finds a request by the start of its id or of `RUN/ID`. Raises BadInput if none or several match."""
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
        """The shortest of: 8 characters of its id, its id, `RUN/ID`, that names only this request."""
        request = approval.permission.request_id
        for name in (request[:_SHORT], request):
            if sum(self._begins(each, name) for each in self.waiting) == 1:
                return name
        return approval.full_id


def form_of(permission: Permission, decision: Decision) -> dict[str, str]:
    """A decision as the fields of the web page's form."""
    if isinstance(decision, Deny):
        return {"decision": "deny", "reason": decision.reason}
    if decision.remember:
        return {"decision": f"always-{permission.suggestions.index(decision.remember[0])}"}
    if decision.input is not None:
        return {"decision": "edit", "input": json.dumps(decision.input)}
    return {"decision": "allow"}
