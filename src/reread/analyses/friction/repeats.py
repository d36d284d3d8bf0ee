"""The same thing again within a session: prompts said twice, tools going round in circles."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from reread.sessions import Status

from .calls import EDITS, SHELLS, Call
from .detector import Detector
from .events import Cause, Event, Kind
from .scene import Scene

FEWEST_WORDS = 4
"""`run the tests` said twice is a routine, not a question left without an answer."""
_SEQUENCE_REPEATS = 3
_SINGLE_REPEATS = 4
_FAILURES = 3
_LONGEST_PERIOD = 4


class ReAsk(Detector):
    """The person asked for the same thing again: the first answer did not do."""

    kind = Kind.RE_ASK
    heuristics = (
        "a prompt that says an earlier one of the session again, whole, with words added or in other words; more so "
        "where the earlier one was stopped or went without an answer: 0.5 to 0.97"
    )

    def find(self, scene: Scene) -> Iterator[Event]:
        from .judge import model_of

        model = model_of(self.kind)
        for each in scene.judged:
            verdict = each.verdict(model) if each.again is not None else None
            if verdict is not None:
                yield scene.event(
                    self.kind,
                    each.record,
                    each.text,
                    Cause.AGENT,
                    verdict.confidence,
                    first=each.again,
                    because="; ".join(verdict.because) or None,
                )


class _Run(NamedTuple):
    start: int
    end: int
    period: int

    @property
    def repeats(self) -> int:
        return (self.end - self.start) // self.period


class Loop(Detector):
    """The agent did the same things over and over without getting further."""

    kind = Kind.LOOP
    heuristics = (
        "a sequence of equal calls three times in a row, or one call four times: 0.8; "
        "one command failing three times: 0.7"
    )

    def find(self, scene: Scene) -> Iterator[Event]:
        for stretch in scene.stretches:
            if len(stretch.calls) < min(_SINGLE_REPEATS, 2 * _SEQUENCE_REPEATS):
                continue
            runs = list(_runs(stretch.calls))
            for run in runs:
                yield self._run(scene, stretch.calls, run)
            covered = {place for run in runs for place in range(run.start, run.end)}
            for places in _failing(stretch.calls):
                if not covered.intersection(places):
                    yield self._failures(scene, [stretch.calls[place] for place in places])

    def _run(self, scene: Scene, calls: Sequence[Call], run: _Run) -> Event:
        once = calls[run.start : run.start + run.period]
        steps = " > ".join(call.step for call in once)
        return scene.event(
            self.kind,
            calls[run.start].record,
            f"{run.repeats} times: {steps}",
            Cause.AGENT,
            0.8,
            about=steps,
            loss=scene.spent.between(calls[run.start + run.period - 1], calls[run.end - 1]),
            repeats=run.repeats,
        )

    def _failures(self, scene: Scene, calls: Sequence[Call]) -> Event:
        return scene.event(
            self.kind,
            calls[0].record,
            f"failed {len(calls)} times: {calls[0].step}",
            Cause.AGENT,
            0.7,
            about=calls[0].step,
            loss=scene.spent.between(calls[0], calls[-1]),
            repeats=len(calls),
        )


def _token(call: Call) -> tuple[str, str | bytes]:
    """What must be the same for a call to be the same call; an edit is told by its file alone."""
    name = call.name
    if name in SHELLS:
        return name, call.command
    return (name, call.path) if name in EDITS else (name, bytes(call.call.block.raw_input))


def _runs(calls: Sequence[Call]) -> Iterator[_Run]:
    """Stretches that repeat with a period, the shortest period first, none inside another."""
    tokens = [hash(_token(call)) for call in calls]
    if len(set(tokens)) == len(tokens):
        return
    end_of_last = 0
    for start, end, period in sorted(_periodic(tokens)):
        run = _Run(start, end, period)
        wanted = _SINGLE_REPEATS if period == 1 else _SEQUENCE_REPEATS
        if start >= end_of_last and run.repeats >= wanted and _goes_nowhere(calls[start : start + period]):
            end_of_last = end
            yield run


def _periodic(tokens: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """All maximal stretches in which every token equals the one a period before it."""
    for period in range(1, _LONGEST_PERIOD + 1):
        length = 0
        for place in range(period, len(tokens) + 1):
            if place < len(tokens) and tokens[place] == tokens[place - period]:
                length += 1
                continue
            if length >= period:
                yield place - period - length, place, period
            length = 0


def _goes_nowhere(once: Sequence[Call]) -> bool:
    """Many edits of one file are ordinary work, and so is a list of things to do that grows."""
    names = {call.name for call in once}
    return not names <= EDITS | {"TodoWrite", "TaskUpdate", "TaskCreate"}


def _failing(calls: Sequence[Call]) -> Iterator[list[int]]:
    """Places of one command that failed again and again with no success between."""
    open_: dict[str, list[int]] = {}
    for place, call in enumerate(calls):
        if call.status is Status.OK and not open_:
            continue
        if call.name not in SHELLS:
            continue
        command = call.command
        if call.status is Status.ERROR:
            open_.setdefault(command, []).append(place)
        elif command in open_:
            places = open_.pop(command)
            if len(places) >= _FAILURES:
                yield places
    yield from (places for places in open_.values() if len(places) >= _FAILURES)
