"""How a turn came out, by the client's own result."""

from __future__ import annotations

from typing import NamedTuple

from reread.billing.cost import Rated
from reread.live.events import TurnResult

from .numbers import count, duration, money, tokens

_STOPPED = ("aborted_streaming", "aborted_tools")


class TurnOutcome(NamedTuple):
    facts: list[str]
    """Time, tokens, and the client's own count of what the turn and the whole run cost."""
    is_stopped: bool
    """By the person, which is no failure."""
    failure: str


def outcome_of(result: TurnResult) -> TurnOutcome:
    used = Rated.of(result.usage, 0) if result.usage is not None else Rated()
    facts = [
        duration(result.duration_ms / 1000) if result.duration_ms is not None else "",
        count(result.turns, "turn") if result.turns else "",
        f"{tokens(used.prompt)} in" if used.prompt else "",
        f"{tokens(used.output)} out" if used.output else "",
        _cost(result),
        count(len(result.denials), "refusal") if result.denials else "",
    ]
    is_stopped = result.is_error and result.terminal_reason in _STOPPED and not result.text
    reasons = [text for text in (result.text, *map(str, result.errors)) if text]
    why = "; ".join(reasons) or result.terminal_reason or result.subtype or "failed"
    return TurnOutcome([fact for fact in facts if fact], is_stopped, why if result.is_error and not is_stopped else "")


def _cost(result: TurnResult) -> str:
    """The tokens beside it are the turn's, so its dollars come first; the client itself counts the whole run."""
    if not result.cost_usd:
        return ""
    run = f"{money(result.cost_usd, is_partial=False)} this run, by the client's count"
    turn = result.turn_cost_usd
    return run if turn is None else f"{money(turn, is_partial=False)} this turn, {run}"
