"""A session at any of its moments: how much stood in the context, what was spent by then, what the files held.

Money is that of the whole session up to a moment, other branches and agents included: it was spent by then, whatever
was rewound later.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import accumulate

from msgspec import Struct

from reread.billing.cost import Rated
from reread.billing.settle import settle_all
from reread.sessions import Branch, Said, Session, ToolCall, Turn, requests_of, spoken_groups, told_in

from .edits.history import FileHistory
from .edits.net import FileDiff


class TimelinePoint(Struct, frozen=True, kw_only=True):
    """A prompt, an answer or a call of a branch."""

    time: datetime
    uuid: str
    turn: int
    what: str
    """`prompt`, `answer`, or the name of a tool."""
    context: int
    """Tokens in the context of the last response up to here; 0 before the first one."""
    nanodollars: int
    """Spent by the whole session up to here, as far as there are prices."""
    is_partial: bool
    """Whether a model without a price was used by then."""


def timeline(session: Session, branch: Branch) -> list[TimelinePoint]:
    """In the order of the conversation; what has no time is left out."""
    spent = _Spent(session)
    found: list[TimelinePoint] = []
    context = 0
    for turn in branch.turns:
        sizes = _contexts(turn)
        for time, uuid, what in _places(turn):
            context = sizes.get(uuid, context)
            nanodollars, is_partial = spent.until(time)
            found.append(
                TimelinePoint(
                    time=time,
                    uuid=uuid,
                    turn=turn.index,
                    what=what,
                    context=context,
                    nanodollars=nanodollars,
                    is_partial=is_partial,
                )
            )
    return found


def _places(turn: Turn) -> Iterator[tuple[datetime, str, str]]:
    """Of several calls in one line the first."""
    seen: set[str] = set()
    if turn.prompt is not None and turn.prompt.uuid and turn.prompt.time is not None:
        yield turn.prompt.time, turn.prompt.uuid, "prompt"
    for step in turn.steps:
        if isinstance(step, Said | ToolCall) and step.uuid and step.time is not None and step.uuid not in seen:
            seen.add(step.uuid)
            yield step.time, step.uuid, step.name if isinstance(step, ToolCall) else "answer"


def _contexts(turn: Turn) -> dict[str, int]:
    """By the lines of each response what it had before it."""
    return {
        line.uuid: Rated.of(request.usage, 0).prompt
        for request in requests_of(spoken_groups(turn.records))
        for line in request.lines
        if line.uuid
    }


class _Spent:
    """What a session cost up to any moment, every response once."""

    def __init__(self, session: Session) -> None:
        files = [session.requests, *(agent.requests for agent in session.subagents if not agent.is_recorded_inline)]
        told = (response for number, each in enumerate(files) for _, response in told_in(f"{number:09}", each))
        dated = [(each.at, session.prices.cost(each, each.model, each.time)) for each in settle_all(told)]
        known = sorted((time, cost) for time, cost in dated if time is not None and cost is not None)
        self._times = [time for time, _ in known]
        self._sums = [0, *accumulate(cost for _, cost in known)]
        self._unpriced = min((time for time, cost in dated if time is not None and cost is None), default=None)

    def until(self, moment: datetime) -> tuple[int, bool]:
        is_partial = self._unpriced is not None and self._unpriced <= moment
        return self._sums[bisect_right(self._times, moment)], is_partial


def files_at(histories: Sequence[FileHistory], moment: datetime) -> list[FileDiff]:
    """Every file that was changed by then, from what it was before the session to what it was at the moment."""
    then = [history.until(moment) for history in histories]
    return [
        FileDiff(
            path=each.path,
            before=each.base,
            after=each.last,
            changes=tuple(each.changes),
            gaps=tuple(each.gaps),
        )
        for each in then
        if each.changes
    ]
