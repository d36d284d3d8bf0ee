"""What repeats over many sessions, found from their material alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from datetime import datetime
from enum import StrEnum

from msgspec import Struct, field
from msgspec.structs import replace

from .calls import prefix_of
from .events import Cause, Event, Kind, quote
from .fingerprints import Sketch, grouped
from .material import Asked, Counted, Material, Rule

FEWEST_SESSIONS = 3
_FEWEST_CORRECTED = 2
_ALIKE_RULES = 0.45
_ALIKE_PROMPTS = 0.6
_MOST_MOMENTS = 50


class PatternKind(StrEnum):
    """What is repeated."""

    INSTRUCTION = "repeated_instruction"
    CORRECTION = "correction"
    """A rule that was given as a correction, again and again."""
    RE_ASK = "re_ask"
    WORKFLOW = "repeated_workflow"
    AFTER_EDIT = "after_edit"
    PERMISSION = "permission_toil"
    SHELL_LINE = "manual_step"
    TOOL_ERROR = "tool_error"


class Moment(Struct, frozen=True, kw_only=True):
    """Where a pattern shows."""

    session: str
    uuid: str
    time: datetime | None = None
    text: str = ""


class Pattern(Struct, frozen=True, kw_only=True):
    """Something that happened in several sessions."""

    kind: PatternKind
    about: str
    """The same in every session: a rule, a chain of commands, a class of errors with its program."""
    count: int
    sessions: tuple[str, ...]
    example: str
    moments: tuple[Moment, ...]
    details: dict[str, str | int] = field(default_factory=dict)

    def as_events(self) -> list[Event]:
        """The moments of a repeated instruction as events; other patterns have theirs already."""
        if self.kind is not PatternKind.INSTRUCTION:
            return []  # those of a correction are moments already
        return [
            Event(
                kind=Kind.REPEATED_INSTRUCTION,
                session=moment.session,
                uuid=moment.uuid,
                time=moment.time,
                evidence=moment.text,
                confidence=min(0.95, 0.5 + len(self.sessions) / 10),
                cause=Cause.PROMPT,
                about=self.example,
                details={"sessions": len(self.sessions)},
            )
            for moment in self.moments
        ]


_Told = tuple[str, Asked | Rule]
"""A session, and what was said in it."""


def find_patterns(
    materials: Iterable[Material], events: Iterable[Event] = (), *, fewest: int = FEWEST_SESSIONS
) -> list[Pattern]:
    """What repeats in at least so many sessions, what shows in most of them first."""
    given, events = list(materials), list(events)
    corrected = {event.uuid for event in events if event.kind in (Kind.CORRECTION, Kind.REJECTION)}
    rules: list[_Told] = [(each.session, rule) for each in given for rule in each.rules]
    prompts: list[_Told] = [(each.session, asked) for each in given for asked in each.prompts]
    instructions = list(_alike(PatternKind.INSTRUCTION, rules, _ALIKE_RULES, fewest))
    known = {moment.uuid for pattern in instructions for moment in pattern.moments}
    told_off = [each for each in rules if each[1].uuid in corrected - known]
    found = [
        *instructions,
        *_alike(PatternKind.CORRECTION, told_off, _ALIKE_RULES, min(fewest, _FEWEST_CORRECTED)),
        *_alike(PatternKind.RE_ASK, prompts, _ALIKE_PROMPTS, fewest),
        *_with_lines(
            _longest(_counted(PatternKind.WORKFLOW, ((each.session, each.chains) for each in given), fewest)), given
        ),
        *_counted(PatternKind.AFTER_EDIT, ((each.session, each.after_edits) for each in given), fewest),
        *_counted(PatternKind.PERMISSION, ((each.session, each.permissions) for each in given), 1, least=fewest),
        *_counted(PatternKind.SHELL_LINE, ((each.session, each.shell_lines) for each in given), 1, least=fewest),
        *_errors(events, given, fewest),
    ]
    return sorted(found, key=lambda pattern: (-len(pattern.sessions), -pattern.count, pattern.about))


def _alike(kind: PatternKind, told: Sequence[_Told], alike: float, fewest: int) -> Iterable[Pattern]:
    named: list[tuple[Sketch, Hashable]] = [(each.sketch, at) for at, (_, each) in enumerate(told) if each.sketch]
    for group in grouped(named, alike):
        if len(group) < fewest:  # nearly all of them
            continue
        same = [told[at] for at in group if isinstance(at, int)]
        sessions = tuple(dict.fromkeys(session for session, _ in same))
        if len(sessions) >= fewest:
            shown = [_moment(*each) for each in same[:_MOST_MOMENTS]]
            shortest = min((moment.text for moment in shown), key=len)
            yield Pattern(
                kind=kind,
                about=shortest,
                count=len(same),
                sessions=sessions,
                example=shortest,
                moments=tuple(shown),
                details=_steps_of([each for _, each in same]),
            )


def _moment(session: str, said: Asked | Rule) -> Moment:
    text = said.text if isinstance(said, Rule) else said.example
    return Moment(session=session, uuid=said.uuid, time=said.time, text=quote(text))


def _steps_of(said: Sequence[Asked | Rule]) -> dict[str, str | int]:
    """What was done for most of the prompts that opened a session so, in the order it was done."""
    opened = [each.steps for each in said if isinstance(each, Asked) and each.steps]
    if len(opened) < _FEWEST_CORRECTED:
        return {}
    often = Counter(step for steps in opened for step in steps)
    steps = [step for step in max(opened, key=len) if 2 * often[step] > len(opened)]
    return {"steps": "\n".join(steps)} if steps else {}


def _with_lines(patterns: Iterable[Pattern], materials: Iterable[Material]) -> Iterable[Pattern]:
    """With the command line of each step, where the sessions tell it."""
    patterns = list(patterns)
    lines: dict[str, Counter[str]] = {step: Counter() for each in patterns for step in each.about.split(" > ")}
    for each in materials if patterns else ():
        for line in each.lines:
            if (step := prefix_of(line.what)) in lines:
                lines[step][line.what] += line.count
    for pattern in patterns:
        steps = pattern.about.split(" > ")
        told = {f"step {number}": in_general(lines[step]) for number, step in enumerate(steps, 1) if lines[step]}
        yield replace(pattern, details={**pattern.details, **told}) if len(told) == len(steps) else pattern


def in_general(lines: Counter[str]) -> str:
    """One command line for many: what differs between them becomes `<...>`."""
    usual, count = lines.most_common(1)[0]
    if 2 * count > lines.total():
        return usual
    parted = [line.split() for line in lines]
    first = parted[0]
    head = 0
    while all(len(words) > head and words[head] == first[head] for words in parted) and head < len(first):
        head += 1
    return " ".join(first[:head]) + (" <...>" if any(len(words) > head for words in parted) else "")


def _counted(
    kind: PatternKind, found: Iterable[tuple[str, Sequence[Counted]]], fewest: int, *, least: int = 0
) -> list[Pattern]:
    """Things that were counted in enough sessions, and often enough in all."""
    by_name: dict[str, list[tuple[str, Counted]]] = {}
    for session, counts in found:
        for each in counts:
            by_name.setdefault(each.what, []).append((session, each))
    return [
        Pattern(
            kind=kind,
            about=what,
            count=sum(each.count for _, each in places),
            sessions=tuple(dict.fromkeys(session for session, _ in places)),
            example=what,
            moments=tuple(
                Moment(session=session, uuid=each.uuid, text=what) for session, each in places[:_MOST_MOMENTS]
            ),
            details={"refused": sum(each.refused for _, each in places)} if kind is PatternKind.PERMISSION else {},
        )
        for what, places in by_name.items()
        if len({session for session, _ in places}) >= fewest and sum(each.count for _, each in places) >= least
    ]


def _longest(patterns: Sequence[Pattern]) -> list[Pattern]:
    """Without chains that are only a part of a longer one of as many sessions."""
    whole = {pattern.about: set(pattern.sessions) for pattern in patterns}
    parts = {
        part
        for about, sessions in whole.items()
        for part in _parts(about)
        if part in whole and len(whole[part]) <= len(sessions)
    }
    return [pattern for pattern in patterns if pattern.about not in parts]


def _parts(chain: str) -> list[str]:
    steps = chain.split(" > ")
    return [" > ".join(steps[1:]), " > ".join(steps[:-1])] if len(steps) > 1 else []


def _errors(events: Iterable[Event], materials: Iterable[Material], fewest: int) -> Iterable[Pattern]:
    """The same failure of the same tool: what a line of instruction could spare."""
    ran: Counter[str] = Counter()
    for each in materials:
        for counted in each.ran:
            ran[counted.what] += counted.count
            ran[counted.what.partition(" ")[0]] += counted.count if " " in counted.what else 0
    by_name: dict[tuple[str, str], list[Event]] = {}
    for event in events:
        if event.kind is Kind.TOOL_ERROR and event.uuid is not None:
            subject = (
                str(event.details.get("target", "")) if event.details.get("tool") in ("Bash", "PowerShell") else ""
            )
            by_name.setdefault((event.about, subject or str(event.details.get("tool", ""))), []).append(event)
    for (why, subject), same in by_name.items():
        sessions = tuple(dict.fromkeys(event.session for event in same))
        if len(sessions) >= fewest:
            details: dict[str, str | int] = {"class": why, "subject": subject}
            missing = {str(event.details["missing"]) for event in same if "missing" in event.details}
            ways = {str(event.details["works_as"]) for event in same if "works_as" in event.details}
            if len(missing) == 1 and len(ways) == 1 and all("missing" in event.details for event in same):
                details |= {"missing": missing.pop(), "works_as": ways.pop()}
            details["ran_well"] = ran[str(details.get("missing", subject))]
            yield Pattern(
                kind=PatternKind.TOOL_ERROR,
                about=f"{why} {subject}",
                count=len(same),
                sessions=sessions,
                example=same[-1].evidence,
                moments=tuple(
                    Moment(session=event.session, uuid=event.uuid or "", time=event.time, text=event.evidence)
                    for event in same[:_MOST_MOMENTS]
                ),
                details=details,
            )
