"""What a session does at this moment, as far as its lines tell: none of them says so in words.

A question to the person leaves no line behind until it is answered, so a call without a result may run or wait.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from reread.records import Assistant
from reread.sessions import Notice, Said, Session, Status, ToolCall, Turn
from reread.sessions.agents import AGENT_TOOLS

ANSWERS_WITHIN = 5.0
"""Seconds in which most tools give a result; a call that is silent for longer may wait for a permission."""
SETTLES_WITHIN = 10.0
"""Seconds after which words that nothing follows were the last of a turn."""
GONE_AFTER = 600.0
"""Seconds of silence in the middle of a turn after which nobody can say whether the client still runs."""
CLOSED_AFTER = 120.0
"""Seconds after the end of a turn from which on the person may well have left."""
QUESTION, PLAN = "AskUserQuestion", "ExitPlanMode"
_ENDINGS = frozenset({"end_turn", "stop_sequence", "max_tokens", "refusal"})


class Doing(StrEnum):
    THINKING = "thinking"
    WRITING = "writing"
    WORKING = "working"
    ASKING = "asking"
    """A permission, a question or a plan waits for the person."""
    WAITING = "waiting"
    """For the next prompt."""
    SILENT = "silent"
    ENDED = "ended"


class Activity(Struct, frozen=True):
    doing: Doing
    tool: str = ""
    """The one that works, or that is asked about."""
    is_guess: bool = False

    @property
    def needs_person(self) -> bool:
        return self.doing is Doing.ASKING


def activity_of(session: Session, quiet: float) -> Activity:
    """Of a session that nothing was written to for so many seconds. The last lines of it are enough."""
    turn = session.turns[-1] if session.turns else None
    if turn is None or _has_ended(turn, quiet):
        return Activity(Doing.WAITING, is_guess=quiet > CLOSED_AFTER)
    pending = [step for step in turn.steps if isinstance(step, ToolCall) and step.status is Status.MISSING]
    asked = next((call.name for call in pending if call.name in (QUESTION, PLAN)), None)
    if asked is not None:
        return Activity(Doing.ASKING, asked, is_guess=quiet > GONE_AFTER)
    if quiet > GONE_AFTER:
        return Activity(Doing.SILENT, is_guess=True)
    if not pending:
        return Activity(Doing.THINKING)
    silent = [call.name for call in pending if call.name not in AGENT_TOOLS]
    if silent and quiet > ANSWERS_WITHIN:
        return Activity(Doing.ASKING, silent[-1], is_guess=True)
    return Activity(Doing.WORKING, pending[-1].name)


def _has_ended(turn: Turn, quiet: float) -> bool:
    last = turn.steps[-1] if turn.steps else None
    if turn.duration_ms is not None or (isinstance(last, Notice) and last.what in ("interrupted", "api_error")):
        return True
    if not isinstance(last, Said):
        return False
    message = last.record.message if isinstance(last.record, Assistant) else None
    reason = message.stop_reason if message is not None else None
    # Older clients leave the reason out.
    return reason in _ENDINGS or (reason is None and quiet > SETTLES_WITHIN)
