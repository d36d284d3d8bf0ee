"""Detectors of repetition and of lost time: loops, rework, manual steps, repeated permissions, stalls, compactions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from reread.records import ApiError, Assistant, CompactBoundary, Record
from reread.records.system import ApiRetry, CompactMetadata
from reread.sessions import CallStatus, Notice
from reread.sessions import Speaker as Speaker
from reread.sessions.speaker import shell_input

from . import corrections
from .command_lines import prefix_of
from .detection import (
    EDITS,
    SHELLS,
    Cause,
    ConversationUnderTest,
    DetectedCall,
    Detector,
    FrictionKind,
    Loss,
    Moment,
    TurnInContext,
    file_name,
)
from .refusals import refused_by

FEWEST_WORDS = 4
"""`run the tests`, said twice, is a routine and not a repeated request."""
_SEQUENCE_REPEATS = 3
_SINGLE_REPEATS = 4
_FAILURES = 3
_LONGEST_PERIOD = 4


class ReAsk(Detector):
    """The person asked for the same thing again: the first answer did not do."""

    kind = FrictionKind.RE_ASK
    heuristics = (
        "a prompt that says an earlier one of the session again, whole, with words added or in other words; more so "
        "where the earlier one was stopped or went without an answer: 0.5 to 0.97"
    )

    def find(self, subject: ConversationUnderTest) -> Iterator[Moment]:
        for each, verdict in corrections.verdicts(subject, self.kind):
            if each.again is not None:
                yield corrections.judged_moment(subject, self.kind, each, verdict, Cause.AGENT, first=each.again)


class _Run(NamedTuple):
    start: int
    end: int
    period: int

    @property
    def repeats(self) -> int:
        return (self.end - self.start) // self.period


class Loop(Detector):
    """The agent did the same things over and over without getting further."""

    kind = FrictionKind.LOOP
    heuristics = (
        "a sequence of equal calls three times in a row, or one call four times: 0.8; "
        "one command failing three times: 0.7"
    )

    def find(self, subject: ConversationUnderTest) -> Iterator[Moment]:
        for context in subject.turns:
            if len(context.calls) < min(_SINGLE_REPEATS, 2 * _SEQUENCE_REPEATS):
                continue
            runs = list(_runs(context.calls))
            for run in runs:
                yield self._run(subject, context.calls, run)
            covered = {place for run in runs for place in range(run.start, run.end)}
            for places in _failing(context.calls):
                if not covered.intersection(places):
                    yield self._failures(subject, context.calls[places[0] : places[-1] + 1], len(places))

    def _run(self, subject: ConversationUnderTest, calls: Sequence[DetectedCall], run: _Run) -> Moment:
        once = calls[run.start : run.start + run.period]
        steps = " > ".join(call.step for call in once)
        return subject.event(
            self.kind,
            calls[run.start].record,
            f"{run.repeats} times: {steps}",
            Cause.AGENT,
            0.8,
            about=steps,
            loss=subject.spent.between(calls[run.start + run.period - 1 : run.end]),
            repeats=run.repeats,
        )

    def _failures(self, subject: ConversationUnderTest, calls: Sequence[DetectedCall], times: int) -> Moment:
        """`calls` are all from the first failure to the last."""
        return subject.event(
            self.kind,
            calls[0].record,
            f"failed {times} times: {calls[0].step}",
            Cause.AGENT,
            0.7,
            about=calls[0].step,
            loss=subject.spent.between(calls),
            repeats=times,
        )


def _token(call: DetectedCall) -> tuple[str, str | bytes]:
    """What two calls must have in common to count as the same call; for an edit only its file."""
    name = call.name
    if name in SHELLS:
        return name, call.command
    return (name, call.path) if name in EDITS else (name, bytes(call.call.block.raw_input))


def _runs(calls: Sequence[DetectedCall]) -> Iterator[_Run]:
    """Stretches of calls that repeat with a period. They do not overlap; of two with the same start, the shorter is
    tried first."""
    tokens = [hash(_token(call)) for call in calls]
    if len(set(tokens)) == len(tokens):
        return
    end_of_last = 0
    for start, end, period in sorted(_periodic(tokens)):
        run = _Run(start, end, period)
        wanted = _SINGLE_REPEATS if period == 1 else _SEQUENCE_REPEATS
        if start >= end_of_last and run.repeats >= wanted and _makes_no_progress(calls[start : start + period]):
            end_of_last = end
            yield run


def _periodic(tokens: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """All maximal turns in which every token equals the one a period earlier, with start, end and period."""
    for period in range(1, _LONGEST_PERIOD + 1):
        length = 0
        for place in range(period, len(tokens) + 1):
            if place < len(tokens) and tokens[place] == tokens[place - period]:
                length += 1
                continue
            if length >= period:
                yield place - period - length, place, period
            length = 0


def _makes_no_progress(once: Sequence[DetectedCall]) -> bool:
    """False for many edits of one file, or of a list of things to do: those are ordinary work."""
    names = {call.name for call in once}
    return not names <= EDITS | {"TodoWrite", "TaskUpdate", "TaskCreate"}


def _failing(calls: Sequence[DetectedCall]) -> Iterator[list[int]]:
    """The places of each command that failed several times without a success between."""
    open_: dict[str, list[int]] = {}
    for place, call in enumerate(calls):
        command = call.command
        if not command or (call.worked and not open_):
            continue
        if not call.worked and call.status in (CallStatus.OK, CallStatus.ERROR):
            open_.setdefault(command, []).append(place)
        elif command in open_:
            places = open_.pop(command)
            if len(places) >= _FAILURES:
                yield places
    yield from (places for places in open_.values() if len(places) >= _FAILURES)


_FEWEST_LINES = 3
_FEWEST_READS = 2
_MANY_TOKENS = 4000
_CHARACTERS_PER_TOKEN = 4


class _File:
    """What a session has written into one file so far."""

    __slots__ = ("added", "again", "before", "characters", "last", "previous", "undone", "undone_by")

    def __init__(self) -> None:
        self.added: set[str] = set()
        self.again = 0
        """How many of the session's own lines it changed or removed."""
        self.characters = 0
        self.last: DetectedCall | None = None
        self.previous: set[str] = set()
        """The new text of every edit."""
        self.before: set[str] = set()
        """The old text of every edit."""
        self.undone = 0
        self.undone_by: DetectedCall | None = None


class Rework(Detector):
    """Lines the agent wrote were changed or removed by it before the session ended, or an edit was undone."""

    kind = FrictionKind.REWORK
    heuristics = "three or more lines of its own taken away: 0.7; an edit turned round: 0.85"

    def find(self, subject: ConversationUnderTest) -> Iterator[Moment]:
        edits: dict[str, list[DetectedCall]] = {}
        for call in subject.main_calls:
            if call.name in EDITS and call.status is CallStatus.OK:
                edits.setdefault(call.path, []).append(call)
        for path, calls in edits.items():
            if len(calls) > 1:
                yield from self._of(subject, path, calls)

    def _of(self, subject: ConversationUnderTest, path: str, calls: list[DetectedCall]) -> Iterator[Moment]:
        file = _File()
        for call in calls:
            for old, new in _replacements(call):
                _replace(file, old, new, call)
        if file.last is not None and (file.again >= _FEWEST_LINES or file.undone):
            yield self._event(subject, path, file, file.last)

    def _event(self, subject: ConversationUnderTest, path: str, file: _File, last: DetectedCall) -> Moment:
        at = file.undone_by or last
        what = f"{file.again} lines written and taken away again"
        what = f"an edit undone, {what}" if file.undone else what
        return subject.event(
            self.kind,
            at.record,
            f"{file_name(path)}: {what}",
            Cause.AGENT,
            0.85 if file.undone else 0.7,
            about=path,
            loss=Loss(tokens=file.characters // _CHARACTERS_PER_TOKEN),
            lines=file.again,
            undone=file.undone,
        )


def _replacements(call: DetectedCall) -> Iterator[tuple[str | None, str]]:
    """Old and new text of every change; the old text is None if the file was written whole."""
    given = call.arguments
    if call.name == "Write" and given.content is not None:
        yield None, given.content
    elif given.edits is not None:
        pairs = ((edit.get("old_string"), edit.get("new_string")) for edit in given.edits)
        yield from ((old, new) for old, new in pairs if isinstance(old, str) and isinstance(new, str))
    elif given.old_string is not None and given.new_string is not None:
        yield given.old_string, given.new_string


def _replace(file: _File, old: str | None, new: str, call: DetectedCall) -> None:
    """Counts the session's own lines that are removed, then adds the new ones."""
    coming, standing = _lines(new), _lines(old or "")
    going = (file.added if old is None else file.added & standing) - coming
    if old:
        if file.added and new in file.before and old in file.previous:
            file.undone += 1
            file.undone_by = call
        file.before.add(old)
        file.previous.add(new)
    file.again += len(going)
    file.characters += sum(map(len, going))
    file.added = file.added - going | coming - standing
    file.last = call if going else file.last or call


def _lines(text: str) -> set[str]:
    return {line for line in map(str.strip, text.split("\n")) if line}


class ReadWaste(Detector):
    """The same part of a file was read again although nothing had changed it."""

    kind = FrictionKind.READ_WASTE
    exact = "a result that says the file is unchanged"
    heuristics = "the same part read again with no edit of the file and no compaction between: 0.7"

    def find(self, subject: ConversationUnderTest) -> Iterator[Moment]:
        for path, calls in _read_again(subject).items():
            tokens = sum(len(call.text) for call in calls) // _CHARACTERS_PER_TOKEN
            if len(calls) >= _FEWEST_READS or tokens >= _MANY_TOKENS:
                yield self._event(subject, path, calls, tokens)

    def _event(self, subject: ConversationUnderTest, path: str, calls: list[DetectedCall], tokens: int) -> Moment:
        times = "once" if len(calls) == 1 else f"{len(calls)} times"
        return subject.event(
            self.kind,
            calls[0].record,
            f"{file_name(path)} was read again {times} unchanged",
            Cause.AGENT,
            0.7,
            about=path,
            loss=Loss(tokens=tokens),
            reads=len(calls),
        )


def _read_again(subject: ConversationUnderTest) -> dict[str, list[DetectedCall]]:
    """For each file the reads of a part that was read before, with no edit and no compaction between."""
    cuts = sorted(record.offset for record in subject.conversation.beside_of(CompactBoundary))
    read: dict[str, set[str]] = {}
    wasted: dict[str, list[DetectedCall]] = {}
    passed = 0
    for call in subject.main_calls:
        if call.name in EDITS:
            read.pop(call.path, None)
        if call.name != "Read" or call.status is not CallStatus.OK:
            continue
        while passed < len(cuts) and cuts[passed] < call.record.offset:
            passed += 1
            read.clear()
        given, parts = call.arguments, read.setdefault(call.path, set())
        part = f"{given.offset} {given.limit} {given.pages}"
        if part in parts:
            wasted.setdefault(call.path, []).append(call)
        parts.add(part)
    return wasted


FEWEST_ASKS = 3
_HOST = re.compile(r"https?://([^/\s:]+)")


class ManualStep(Detector):
    """The person ran a command or carried an output over by hand."""

    kind = FrictionKind.MANUAL_STEP
    exact = "shell lines typed with `!`"
    heuristics = "terminals, stacks, logs, errors and outputs among what was typed, by learned weights: 0.5 to 0.97"

    def find(self, subject: ConversationUnderTest) -> Iterator[Moment]:
        for record in subject.lines_of(Speaker.SHELL):
            command = shell_input(record.text) or ""
            yield subject.event(
                self.kind, record, f"! {command}", Cause.ENVIRONMENT, 1.0, about=prefix_of(command), how="shell"
            )
        for each, verdict in corrections.verdicts(subject, self.kind):
            how = next((how for name, how in _HOW if name in each.features), "output")
            yield corrections.judged_moment(subject, self.kind, each, verdict, Cause.ENVIRONMENT, about=how, how=how)


_HOW = (("paste:stack", "stack_trace"), ("paste:prompt", "terminal"), ("paste:4", "log"), ("paste:error", "error"))


class PermissionToil(Detector):
    """The person was asked for the same permission again and again.

    Transcripts before 2.1.325 know refusals only: what was approved by hand leaves no trace there.
    """

    kind = FrictionKind.PERMISSION_TOIL
    exact = "permissionDecision of source user, three times for one prefix"
    heuristics = "three refusals, or calls the client held back for a permission, of one prefix: 0.7"

    def find(self, subject: ConversationUnderTest) -> Iterator[Moment]:
        asked: dict[str, list[DetectedCall]] = {}
        for call in subject.decided:
            if was_asked(call):
                asked.setdefault(rule_of(call), []).append(call)
        for rule, every in asked.items():
            calls = list(decisions(every))
            if len(calls) < FEWEST_ASKS:
                continue
            granted = sum(call.status is not CallStatus.REJECTED for call in calls)
            waited = sum(call.call.seconds or 0.0 for call in calls)
            yield subject.event(
                self.kind,
                calls[-1].proof,
                f"asked {len(calls)} times for {rule}",
                Cause.ENVIRONMENT,
                0.95 if granted == len(calls) else 0.7,
                about=rule,
                asked=len(calls),
                granted=granted,
                waited=round(waited, 1),
            )


def decisions(calls: list[DetectedCall]) -> Iterator[DetectedCall]:
    """One call per decision of the person: refusing one of several parallel calls refuses the others, too."""
    refused: set[str | None] = set()
    for call in calls:
        if call.status is not CallStatus.REJECTED or call.message_id not in refused:
            yield call
        if call.status is CallStatus.REJECTED:
            refused.add(call.message_id)


def was_asked(call: DetectedCall) -> bool:
    """Whether the person had to decide on a call, or would have had to if a prompt had been possible."""
    if call.decided_by is not None:
        return call.is_asked
    if call.status is CallStatus.OK:
        return False
    if call.status is CallStatus.ERROR:
        return "haven't granted it yet" in call.text[:400]
    return refused_by(call) is not None and call.name not in ("AskUserQuestion", "ExitPlanMode")


def rule_of(call: DetectedCall) -> str:
    """The permission rule that would cover a call, in the form of settings.json."""
    if call.name in SHELLS:
        prefix = prefix_of(call.command)
        words = prefix.split(" ")
        # `npm run test:unit` and `npm run test:api` count as one habit.
        words[-1] = words[-1].partition(":")[0] if len(words) > 2 else words[-1]
        return f"{call.name}({' '.join(words)}:*)" if prefix else call.name
    if call.name in EDITS:
        return "Edit"
    host = _HOST.match(call.arguments.url or "")
    return f"{call.name}(domain:{host[1]})" if host is not None else call.name


_STALL_SECONDS = 10.0
_STALL_RETRIES = 3
_LONG_CALL = 600.0
_LONGEST_WAIT = 3600.0
"""A longer wait was a night or a weekend, and cost nobody anything."""
_TEN_MINUTES = len("2026-01-05T09:0")
_WAITS_FOR_SOMEBODY = frozenset(
    {"Task", "Agent", "AskUserQuestion", "ExitPlanMode", "TaskOutput", "BashOutput", "Monitor", "Workflow"}
)
"""The time of these calls is work of an agent or another process, or a person's thinking."""


class Stall(Detector):
    """The model could not be reached, was rate limited, or a tool kept everybody waiting."""

    kind = FrictionKind.STALL
    exact = "api_error lines with a retry, local notices of a rate limit in the model's name"
    heuristics = "a call that took ten minutes or longer: 0.6"

    def find(self, subject: ConversationUnderTest) -> Iterator[Moment]:
        for context in subject.turns:
            if context.notices:
                yield from self._retries(subject, context)
            # Calls of one message end together: whichever was asked about, it is one wait.
            waited: set[str | None] = set()
            for call in context.calls:
                seconds = _long_wait(call)
                if seconds is not None and (call.message_id or call.record.uuid) not in waited:
                    waited.add(call.message_id or call.record.uuid)
                    yield self._wait(subject, call, seconds)

    def _wait(self, subject: ConversationUnderTest, call: DetectedCall, seconds: float) -> Moment:
        """Commands end after ten minutes at most: a longer one waited for the person, who may have been away.

        No machine time was lost then, so the moment is reported without a loss.
        """
        is_of_person = _waited_for_person(call)
        verb = "waited for you" if is_of_person else "took"
        return subject.event(
            self.kind,
            call.record,
            f"{call.name} {verb} {seconds / 60:.0f} minutes",
            Cause.PROMPT if is_of_person else Cause.ENVIRONMENT,
            0.6,
            about="waited_for_you" if is_of_person else "long_call",
            loss=None if is_of_person or seconds > _LONGEST_WAIT else Loss(seconds=round(seconds, 3)),
            tool=call.name,
            waited=round(seconds),
        )

    def _retries(self, subject: ConversationUnderTest, context: TurnInContext) -> Iterator[Moment]:
        """All retries of one turn are one stall, reported at the first of them."""
        errors = [notice for notice in context.notices if notice.what == "api_error"]
        if not errors:
            return
        waits = [notice for notice in errors if isinstance(notice.record, ApiError | ApiRetry)]
        seconds = sum(_delay(notice.record) for notice in waits)
        if seconds >= _STALL_SECONDS or len(waits) >= _STALL_RETRIES:
            yield subject.event(
                self.kind,
                waits[0].record,
                f"{len(waits)} retries, {seconds:.0f} s of waiting",
                Cause.ENVIRONMENT,
                1.0,
                about="retries",
                loss=Loss(seconds=round(seconds, 3)),
                retries=len(waits),
            )
        yield from (self._limit(subject, notice) for notice in errors if _is_limit(notice))

    def _limit(self, subject: ConversationUnderTest, notice: Notice) -> Moment:
        return subject.event(self.kind, notice.record, notice.text, Cause.ENVIRONMENT, 1.0, about="rate_limit")


def _delay(record: Record) -> float:
    delay = record.retry_in_ms if isinstance(record, ApiError) else None
    delay = record.retry_delay_ms if isinstance(record, ApiRetry) else delay
    return (delay or 0.0) / 1000


def _is_limit(notice: Notice) -> bool:
    record = notice.record
    if not isinstance(record, Assistant):
        return False
    words = f"{bytes(record.error).decode('utf-8', 'replace')} {notice.text[:200]}".lower()
    return "rate_limit" in words or "limit reached" in words or "overloaded" in words or "hit your limit" in words


def _long_wait(call: DetectedCall) -> float | None:
    """Seconds of a call of ten minutes or more, else None. Times are first compared as text: parsing all of them costs
    as much as decoding."""
    output = call.call.output
    if output is None:
        return None
    began, ended = call.call.record.timestamp, output.record.timestamp
    if isinstance(began, str) and isinstance(ended, str) and began[:_TEN_MINUTES] == ended[:_TEN_MINUTES]:
        return None
    seconds = call.call.seconds
    if seconds is None or seconds < _LONG_CALL or call.name in _WAITS_FOR_SOMEBODY:
        return None
    return seconds


def _waited_for_person(call: DetectedCall) -> bool:
    """Whether the call waited for a permission: the client recorded who decided, or such a call cannot take so long."""
    return call.is_asked if call.decided_by is not None else not call.name.startswith("mcp__")


class Compaction(Detector):
    """The context was full and was summarised: details get lost, and the new context is paid for again."""

    kind = FrictionKind.COMPACTION
    exact = "compact_boundary lines"

    def find(self, subject: ConversationUnderTest) -> Iterator[Moment]:
        for record in subject.conversation.compactions:
            metadata = record.compact_metadata or CompactMetadata()
            before, trigger = metadata.pre_tokens, metadata.trigger or "unknown"
            yield subject.event(
                self.kind,
                record,
                f"{trigger} compaction" + (f" of {before:,} tokens" if before else ""),
                Cause.PROMPT if trigger == "manual" else Cause.ENVIRONMENT,
                1.0,
                about=trigger,
                loss=subject.spent.after(record, metadata.duration_ms / 1000 if metadata.duration_ms else None),
                before_tokens=before,
                after_tokens=metadata.post_tokens,
            )


class RewindDetector(Detector):
    """The person went back and took another way; what was done on the way left behind was for nothing."""

    kind = FrictionKind.REWIND
    exact = "two prompts that follow the same line"
    heuristics = "a fork that nothing else explains: 0.5"

    def find(self, subject: ConversationUnderTest) -> Iterator[Moment]:
        for branch in subject.conversation.branches:
            if branch.active or not branch.turns:
                continue
            records = [record for turn in branch.turns for record in turn.records]
            prompts = ((turn.prompt.record, turn.prompt.text) for turn in branch.turns if turn.prompt is not None)
            loss = subject.spent.on(records)
            cause, about = (Cause.AGENT, "answered") if loss.tokens else (Cause.PROMPT, "taken_back")
            yield subject.event(
                self.kind,
                *next(prompts, (records[0], "a way that was left")),
                cause,
                1.0 if branch.certain else 0.5,
                about=about,
                loss=loss,
                turns=len(branch.turns),
            )
