"""The patterns that repeat over many sessions, found from their materials and moments alone."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from itertools import takewhile
from typing import NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from reread.sessions import Speaker as Speaker

from .command_lines import prefix_of
from .detection import SHELLS, Cause, FrictionKind, Moment, quote
from .material import CountedPhrase, Material, ReadFile, rules_in
from .prompt_text import PackedSketches, Sketch, grouped

FEWEST_SESSIONS = 3
_FEWEST_CORRECTED = 2
ALIKE_RULES = 0.45
ALIKE_PROMPTS = 0.6
_MOST_MOMENTS = 50


class PatternKind(StrEnum):
    """What is repeated."""

    INSTRUCTION = "repeated_instruction"
    CORRECTION = "correction"
    """A rule that was given as a correction several times."""
    RE_ASK = "re_ask"
    WORKFLOW = "repeated_workflow"
    AFTER_EDIT = "after_edit"
    PERMISSION = "permission_toil"
    SHELL_LINE = "manual_step"
    TOOL_ERROR = "tool_error"
    READ_AGAIN = "read_again"
    """A file that many sessions of a project read whole."""
    REFUSAL = "refused"
    """A command that the person turns down."""
    HABIT = "failing_habit"
    """A command that fails nearly always, with what does its work."""


class PatternMoment(Struct, frozen=True, kw_only=True):
    """One occurrence of a pattern."""

    session: str
    uuid: str
    time: datetime | None = None
    text: str = ""


class RepeatedPattern(Struct, frozen=True, kw_only=True):
    """Something that happened in several sessions."""

    kind: PatternKind
    about: str
    """The same in every session: a rule, a chain of commands, an error class with its program."""
    count: int
    sessions: tuple[str, ...]
    example: str
    moments: tuple[PatternMoment, ...]
    details: dict[str, str | int] = field(default_factory=dict)
    counts: tuple[int, ...] = ()
    """How often in each of the sessions, which are in the order of time."""

    def as_events(self) -> list[Moment]:
        """The moments of a repeated instruction, as moments of friction; other patterns already have such moments."""
        if self.kind is not PatternKind.INSTRUCTION:
            return []  # those of a correction are moments already
        return [
            Moment(
                kind=FrictionKind.REPEATED_INSTRUCTION,
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


class _Utterance(NamedTuple):
    """Something a person said, without its sketch."""

    session: str
    uuid: str
    time: datetime | None
    text: str
    steps: tuple[str, ...] = ()
    clean: str = ""


class _Utterances:
    """All utterances of one sort, with their sketches packed separately."""

    def __init__(self) -> None:
        self._said: list[_Utterance] = []
        self._sketches = PackedSketches()

    def add(self, utterance: _Utterance, sketch: Sketch) -> None:
        """Ignores an utterance without a sketch: it says too little to be compared with others."""
        if sketch:
            self._said.append(utterance)
            self._sketches.append(sketch)

    def only(self, uuids: Container[str]) -> _Utterances:
        """The utterances at these lines."""
        found = _Utterances()
        for utterance, sketch in zip(self._said, self._sketches, strict=True):
            if utterance.uuid in uuids:
                found.add(utterance, sketch)
        return found

    def patterns(self, kind: PatternKind, alike: float, fewest: int) -> Iterator[RepeatedPattern]:
        """Groups of similar utterances from at least `fewest` sessions."""
        for group in grouped(self._sketches, alike):
            if len(group) < fewest:
                continue
            same = [self._said[number] for number in group]
            sessions = tuple(dict.fromkeys(said.session for said in same))
            if len(sessions) >= fewest:
                shown = _shown(same if len(same) <= _MOST_MOMENTS else [*same[: _MOST_MOMENTS - 1], same[-1]])
                shortest = min((moment.text for moment in shown), key=len)
                yield RepeatedPattern(
                    kind=kind,
                    about=shortest,
                    count=len(same),
                    sessions=sessions,
                    example=shortest,
                    moments=tuple(shown),
                    details=_steps_of(same) | _clean_words(same),
                    counts=_in_each(said.session for said in same),
                )


def by_project(
    pattern: RepeatedPattern, projects: Mapping[str, str | None], fewest: int = FEWEST_SESSIONS
) -> list[RepeatedPattern]:
    """The pattern as each project has it, where enough sessions do; the project with most sessions comes first."""
    parts: dict[str | None, dict[str, int]] = {}
    for session, count in zip(pattern.sessions, pattern.counts, strict=True):
        parts.setdefault(projects.get(session), {})[session] = count
    return [
        replace(
            pattern,
            count=sum(part.values()),
            sessions=tuple(part),
            moments=tuple(moment for moment in pattern.moments if moment.session in part),
            counts=tuple(part.values()),
        )
        for part in sorted(parts.values(), key=len, reverse=True)
        if len(part) >= fewest
    ]


def _in_each(sessions: Iterable[str]) -> tuple[int, ...]:
    return tuple(Counter(sessions).values())


class _Occurrences:
    """How often something was done, in which sessions, and the moments that are shown: nothing else is kept."""

    __slots__ = ("moments", "refused", "sessions")

    def __init__(self) -> None:
        self.refused = 0
        self.sessions: dict[str, int] = {}
        self.moments: list[tuple[str, str]] = []


class _PhraseTally:
    """What was counted in sessions, by its name."""

    def __init__(self) -> None:
        self._by_name: dict[str, _Occurrences] = {}

    def add(self, session: str, counts: Sequence[CountedPhrase]) -> None:
        for each in counts:
            places = self._by_name.get(each.what)
            if places is None:
                places = self._by_name[each.what] = _Occurrences()
            places.refused += each.refused
            places.sessions[session] = places.sessions.get(session, 0) + each.count
            if len(places.moments) < _MOST_MOMENTS:
                places.moments.append((session, each.uuid))

    def patterns(self, kind: PatternKind, fewest: int, least: int = 0) -> list[RepeatedPattern]:
        """Patterns for everything counted in at least `fewest` sessions and at least `least` times."""
        return [
            RepeatedPattern(
                kind=kind,
                about=what,
                count=sum(places.sessions.values()),
                sessions=tuple(places.sessions),
                example=what,
                moments=tuple(PatternMoment(session=session, uuid=uuid, text=what) for session, uuid in places.moments),
                details={"refused": places.refused} if kind is PatternKind.PERMISSION else {},
                counts=tuple(places.sessions.values()),
            )
            for what, places in self._by_name.items()
            if len(places.sessions) >= fewest and sum(places.sessions.values()) >= least
        ]


class _Gathered:
    """The materials of many sessions, combined by kind of pattern. Each material is dropped before the next is read."""

    def __init__(self, materials: Iterable[Material]) -> None:
        self.rules, self.prompts = _Utterances(), _Utterances()
        self.chains, self.after_edits = _PhraseTally(), _PhraseTally()
        self.permissions, self.shell_lines = _PhraseTally(), _PhraseTally()
        self.lines: dict[tuple[str | None, str], Counter[str]] = {}
        """Counts of whole command lines, by project and step."""
        self.projects: dict[str, str | None] = {}
        self.ran: Counter[str] = Counter()
        self.read: dict[tuple[str | None, str], list[tuple[str, ReadFile]]] = {}
        """By project and path, with their sessions."""
        for each in materials:
            self._add(each)

    def _add(self, each: Material) -> None:
        session = each.session
        for rule in each.rules:
            self.rules.add(_Utterance(session, rule.uuid, rule.time, rule.text, clean=rule.restated), rule.sketch)
        for asked in each.prompts:
            self.prompts.add(_Utterance(session, asked.uuid, asked.time, asked.example, asked.steps), asked.sketch)
        if each.chains:  # most sessions have none of these, and there are very many sessions
            self.projects[session] = each.project
        self.chains.add(session, each.chains)
        self.after_edits.add(session, each.after_edits)
        self.permissions.add(session, each.permissions)
        self.shell_lines.add(session, each.shell_lines)
        for line in each.lines:
            self.lines.setdefault((each.project, prefix_of(line.what)), Counter())[line.what] += line.count
        for file in each.read:
            self.read.setdefault((each.project, file.path), []).append((session, file))
        for counted in each.ran:
            self.ran[counted.what] += counted.count
            if " " in counted.what:
                self.ran[counted.what.partition(" ")[0]] += counted.count


def find_patterns(
    materials: Iterable[Material], events: Iterable[Moment] = (), *, fewest: int = FEWEST_SESSIONS
) -> list[RepeatedPattern]:
    """What repeats in at least `fewest` sessions, sorted by number of sessions. Materials are read one at a time."""
    given, events = _Gathered(materials), list(events)
    corrected = {event.uuid for event in events if event.kind in (FrictionKind.CORRECTION, FrictionKind.REJECTION)}
    instructions = list(given.rules.patterns(PatternKind.INSTRUCTION, ALIKE_RULES, fewest))
    only_corrected = corrected - {moment.uuid for pattern in instructions for moment in pattern.moments}
    told_off = given.rules.only({uuid for uuid in only_corrected if uuid is not None})
    chains = _longest(given.chains.patterns(PatternKind.WORKFLOW, fewest))
    workflows = [part for chain in chains for part in by_project(chain, given.projects, fewest) or [chain]]
    found = [
        *instructions,
        *told_off.patterns(PatternKind.CORRECTION, ALIKE_RULES, min(fewest, _FEWEST_CORRECTED)),
        *given.prompts.patterns(PatternKind.RE_ASK, ALIKE_PROMPTS, fewest),
        *(_with_lines(pattern, given) for pattern in workflows),
        *given.after_edits.patterns(PatternKind.AFTER_EDIT, fewest),
        *given.permissions.patterns(PatternKind.PERMISSION, 1, fewest),
        *given.shell_lines.patterns(PatternKind.SHELL_LINE, 1, fewest),
        *_errors(events, given.ran, fewest),
        *_habits(events, given, fewest),
        *_read_again(given),
        *_refusals(events, fewest),
    ]
    return sorted(found, key=lambda pattern: (-len(pattern.sessions), -pattern.count, pattern.about))


def _shown(utterances: Sequence[_Utterance]) -> list[PatternMoment]:
    quoted = {text: quote(text) for text in {each.text for each in utterances}}  # most say the same
    return [PatternMoment(session=e.session, uuid=e.uuid, time=e.time, text=quoted[e.text]) for e in utterances]


def _steps_of(utterances: Sequence[_Utterance]) -> dict[str, str | int]:
    """The steps taken for most of the prompts that opened a session this way, in the order they were taken."""
    opened = [each.steps for each in utterances if each.steps]
    if len(opened) < _FEWEST_CORRECTED:
        return {}
    often = Counter(step for steps in opened for step in steps)
    steps = [step for step in max(opened, key=len) if 2 * often[step] > len(opened)]
    return {"steps": "\n".join(steps)} if steps else {}


def _clean_words(utterances: Sequence[_Utterance]) -> dict[str, str | int]:
    """The shortest words in which a reply restates it."""
    restated = [each.clean for each in utterances if each.clean]
    return {"clean": min(restated, key=len)} if restated else {}


def _with_lines(pattern: RepeatedPattern, given: _Gathered) -> RepeatedPattern:
    """The pattern with the command line of each step, if it belongs to one project and all lines are known."""
    projects = {given.projects[session] for session in pattern.sessions}
    steps = pattern.about.split(" > ")
    known = [in_general(given.lines.get((project, step), Counter())) for project in projects for step in steps]
    if len(projects) > 1 or not all(known):
        return pattern
    return replace(pattern, details={f"step {number}": line for number, line in enumerate(known, 1)})


_SHELL_WORD = re.compile(r"(?:\"(?:\\.|[^\"\\])*\"|'[^']*'|\S)+")


_VARIES = " <arguments>"


def in_general(lines: Counter[str]) -> str:
    """One command line for many: what varies after their common beginning becomes `<arguments>`. Empty if they have
    only the name of a program in common, which says nothing."""
    if not lines:
        return ""
    usual, count = lines.most_common(1)[0]
    if 2 * count > lines.total():
        return usual
    parted = [_SHELL_WORD.findall(line) for line in lines]
    head = [same[0] for same in takewhile(lambda words: len(set(words)) == 1, zip(*parted, strict=False))]
    return f"{' '.join(head)}{_VARIES}" if len(head) > 1 else ""


def _longest(patterns: Sequence[RepeatedPattern]) -> list[RepeatedPattern]:
    """Leaves out chains that are part of a longer chain of at least as many sessions."""
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


def _by_name(
    events: Iterable[Moment], kind: FrictionKind, fewest: int, name: Callable[[Moment], str | None]
) -> Iterator[tuple[str, list[Moment]]]:
    """The moments of a kind by their names, where they are of enough sessions; those without a name are left out."""
    found: dict[str, list[Moment]] = {}
    for event in events:
        if event.kind is kind and (named := name(event)) is not None:
            found.setdefault(named, []).append(event)
    return ((name, same) for name, same in found.items() if len({event.session for event in same}) >= fewest)


def _errors(events: Iterable[Moment], ran: Counter[str], fewest: int) -> Iterable[RepeatedPattern]:
    """The same failure of the same tool in several sessions: an instruction line could prevent it."""
    for about, same in _by_name(events, FrictionKind.TOOL_ERROR, fewest, error_name):
        why, _, subject = about.partition(" ")
        details: dict[str, str | int] = {"class": why, "subject": subject, **_way_to_missing(same)}
        details["ran_well"] = ran[str(details.get("missing", subject))]
        yield _of_events(PatternKind.TOOL_ERROR, about, same, details)


def error_name(event: Moment) -> str | None:
    """The class of an error, and the command or the tool that failed; or what its message names as the cause."""
    if "says" in event.details:
        return str(event.details["says"])
    tool = str(event.details.get("tool", ""))
    command = str(event.details.get("target", "")) if tool in SHELLS else ""
    return f"{event.about} {command or tool}" if event.uuid is not None else None


def _way_to_missing(same: Sequence[Moment]) -> dict[str, str]:
    """The program that a shell did not find each time, and how it was started then, if there is one way."""
    missing = {str(event.details.get("missing", "")) for event in same}
    ways = {str(event.details["works_as"]) for event in same if "works_as" in event.details}
    is_one = len(missing) == len(ways) == 1 and "" not in missing
    return {"missing": missing.pop(), "works_as": ways.pop()} if is_one else {}


def _of_events(kind: PatternKind, about: str, same: Sequence[Moment], details: dict[str, str | int]) -> RepeatedPattern:
    moments = [
        PatternMoment(session=event.session, uuid=event.uuid or "", time=event.time, text=event.evidence)
        for event in same
    ]
    return _pattern(kind, about, moments, details, example=same[-1].evidence)


def _pattern(
    kind: PatternKind, about: str, moments: Sequence[PatternMoment], details: dict[str, str | int], example: str
) -> RepeatedPattern:
    return RepeatedPattern(
        kind=kind,
        about=about,
        count=len(moments),
        sessions=tuple(dict.fromkeys(moment.session for moment in moments)),
        example=example,
        moments=tuple(moments[:_MOST_MOMENTS]),
        details=details,
        counts=_in_each(moment.session for moment in moments),
    )


_FEWEST_READERS = 5
_MANY_TOKENS = 10_000


def _read_again(given: _Gathered) -> Iterator[RepeatedPattern]:
    for (_, path), reads in given.read.items():
        tokens = sum(file.tokens for _, file in reads)
        if len(reads) >= _FEWEST_READERS and tokens >= _MANY_TOKENS:
            moments = [PatternMoment(session=session, uuid=file.uuid) for session, file in reads]
            details: dict[str, str | int] = {"tokens": tokens, "title": reads[-1][1].title}
            yield _pattern(PatternKind.READ_AGAIN, path, moments, details, example=path)


def _refusals(events: Iterable[Moment], fewest: int) -> Iterator[RepeatedPattern]:
    """Commands that the person turned down in several sessions, with the last reason that was given."""
    for command, refused in _by_name(events, FrictionKind.REJECTION, fewest, _refused_command):
        same = list({(event.session, event.time or event.uuid): event for event in refused}.values())  # a no to one of
        # the calls of a message is one to all of them
        reasons = [reason for event in same if rules_in(reason := str(event.details.get("reason", "")))]
        yield _of_events(PatternKind.REFUSAL, command, same, {"reason": quote(reasons[-1]) if reasons else ""})


def _refused_command(event: Moment) -> str | None:
    return event.about if event.details.get("by") == "person" and event.details.get("command") else None


_NEARLY_ALWAYS = 0.75
_OFTEN_CURED = 0.4


def _habits(events: Iterable[Moment], given: _Gathered, fewest: int) -> Iterator[RepeatedPattern]:
    """Lines that fail nearly always in several sessions, with the line that then did the same work."""
    for name, same in _by_name(events, FrictionKind.TOOL_ERROR, fewest, _failing_program):
        cures = Counter(str(event.details["cure"]) for event in same if "cure" in event.details)
        line, cure = in_general(Counter(str(event.details["line"]) for event in same)), in_general(cures)
        head = line.removesuffix(_VARIES)
        is_cured = cures.total() >= _OFTEN_CURED * len(same) and not cure.startswith(f"{head} ")
        if not head or cure in ("", line) or not is_cured:
            continue
        well = sum(_runs_of(head, lines) for (_, step), lines in given.lines.items() if step == name)
        failed = [event for event in same if str(event.details["line"]).startswith(head)]
        if len(failed) >= _NEARLY_ALWAYS * (len(failed) + well):
            details: dict[str, str | int] = {"line": line, "cure": cure, "well": well, "class": failed[-1].about}
            yield _of_events(PatternKind.HABIT, line, failed, details)


def _failing_program(event: Moment) -> str | None:
    is_known = event.uuid is not None and "line" in event.details and "missing" not in event.details
    return prefix_of(str(event.details["line"])) if is_known else None


def _runs_of(head: str, lines: Counter[str]) -> int:
    """How often a line that begins so was run."""
    return sum(count for ran, count in lines.items() if ran == head or ran.startswith(f"{head} "))
