"""What is decided about permissions without asking anybody."""

from __future__ import annotations

from typing import Literal

from .events import Permission
from .outgoing import Allow, Decision, Deny

Policy = Literal["ask", "allow", "deny"]
POLICIES: tuple[Policy, ...] = ("ask", "allow", "deny")
REFUSED = "Permission was denied: this run was started to deny every permission."

NO_PLAN = "The user wants another plan."


def by_policy(policy: Policy, asked: Permission) -> Decision | None:
    """The decision that needs nobody; a question for the person's opinion is never one."""
    if policy == "ask" or asked.is_question:
        return None
    return Allow() if policy == "allow" else Deny(reason=REFUSED)
