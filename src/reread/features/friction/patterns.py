"""What is kept of a session for finding patterns over many sessions, and the patterns that repeat over them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from datetime import datetime
from enum import StrEnum
from functools import lru_cache
from itertools import takewhile
from typing import NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from reread import lazy
from reread.sessions import CallStatus
from reread.sessions import Speaker as Speaker
from reread.sessions.speaker import shell_input

from .command_lines import lines_in, prefix_of
from .prompt_text import PackedSketches, Sketch, grouped, sketch_of_words, words_of
from .refusals import is_by_person, is_from_hook, reason_given
from .repeats import FEWEST_WORDS, decisions, rule_of, was_asked
from .scene import EDITS, SHELLS, Cause, DetectedCall, FrictionKind, Moment, Scene, quote
from .stated import ShownInstructions, shown_in

MOST_CHAINS = 120
MOST_LINES = 60
_MOST_STEPS = 12
_LONGEST_LINE = 160
_OF_THE_CLIENT = ("Unknown skill:", "Unknown slash command", "This session is being continued", "Operation stopped by")
"""Beginnings of prompts that the client writes in the person's name, besides those of hooks."""
_EVERYDAY = frozenset(
    {"commit", "push", "continue", "hello", "hi", "test", "help", "status", "review", "go", "start", "resume"}
)
"""Single words that are not worth a command of their own."""
_CHAIN_LENGTHS = (3, 4)
_LONGEST_RULE = 200
_FEWEST_RULE_WORDS = 3
_SENTENCE = lazy.pattern(r"(?<=[.!?;])\s+|(?<=[。！？])|\n+")
_RULE = lazy.pattern(
    r"\b(?:always|never|don't|do not|must(?:n't)?|make sure|from now on|remember to|every time|each time"
    r"|we (?:use|only use|never|don't|always)|(?:please )?use \w[\w.-]*,? (?:and )?not|avoid|no more"
    r"|prefer|stick to|instead of|no need to|only use|immer|niemals|nie wieder|nicht mehr|bitte keine?|toujours"
    r"|jamais|ne (?:\w+ ){1,2}pas"
    r"|siempre|nunca|no uses|sempre|não use)\b|必ず|しないで|使わないで|总是|不要|必须|以后"
)
_RULE_WORDS = (
    "always", "never", "don't", "don’t", "do not", "must", "make sure", "from now", "remember", "time", "we use",
    "we don", "we only", "prefer", "not ", "avoid", "no more",
    "stick", "instead", "no need", "only use", "immer", "nie", "nicht mehr", "bitte kein", "toujours", "jamais",
    " pas", "siempre", "nunca",
    "no uses", "sempre", "não use", "必ず", "ないで", "总是", "不要", "必须", "以后",
)  # fmt: skip
_ONLY_NOW = lazy.pattern(
    r"\b(?:yet|for now|this time|right now|today|in this (?:case|commit)|don't (?:know|think|see|understand"
    r"|worry|have|need|get|remember|care|mind)"
    r"|i (?:don't|must|always|never|prefer)|you (?:don't|didn't|never)|it (?:doesn't|must|never|always)"
    r"|they (?:don't|never))\b"
)
_LOOK_AROUND = """
    ls cat cd echo head tail grep rg find wc sed awk pwd which mkdir rm cp mv touch sleep true test stat file
    tree sort uniq cut tr xargs printf export source set date env whoami diff less more du df ps kill chmod jq tee
    python python3 node"""
_TRIVIAL = frozenset(_LOOK_AROUND.split()) | {
    f"{program} {look}"
    for program in ("git", "jj")
    for look in ("status", "st", "diff", "log", "show", "branch", "fetch")
}


class AskedPrompt(Struct, frozen=True, kw_only=True, gc=False):
    """A prompt as its sketch, with its beginning as typed as an example."""

    uuid: str
    time: datetime | None
    sketch: Sketch
    example: str
    steps: tuple[str, ...] = ()
    """For a prompt that opens a session: what was then read and run, `Read notes/todo.md`, `Run git status`."""


class Rule(Struct, frozen=True, kw_only=True, gc=False):
    """Something the person told the agent to do, or never to do."""

    uuid: str
    time: datetime | None
    sketch: Sketch
    text: str


class CountedPhrase(Struct, frozen=True, kw_only=True, gc=False):
    """Something that was done `count` times; `uuid` is the line where it was first done."""

    what: str
    count: int
    uuid: str
    refused: int = 0


class Material(Struct, frozen=True, kw_only=True):
    """The compact rows of a session. Each tuple can be a table of its own, keyed by the session."""

    session: str
    project: str | None = None
    prompts: tuple[AskedPrompt, ...] = ()
    rules: tuple[Rule, ...] = ()
    chains: tuple[CountedPhrase, ...] = ()
    """`ruff check > pytest > git commit`: commands that followed each other, ignoring reads and edits between them."""
    after_edits: tuple[CountedPhrase, ...] = ()
    """Commands that came right after an edit."""
    permissions: tuple[CountedPhrase, ...] = ()
    """Permission rules the person was asked about, as settings.json would write them."""
    shell_lines: tuple[CountedPhrase, ...] = ()
    """Commands the person ran with `!`."""
    lines: tuple[CountedPhrase, ...] = ()
    """Whole command lines of the steps in chains."""
    ran: tuple[CountedPhrase, ...] = ()
    """Programs that ran well, so that no suggestion calls them missing; `refused` counts how often they failed."""
    shown: tuple[ShownInstructions, ...] = ()
    """What it showed of the files that instruct the agent."""


def material_of(scene: Scene) -> Material:
    """The material of a conversation, gathered in one pass over its calls and its prompts."""
    steps = _steps(scene)
    return Material(
        session=scene.session,
        project=scene.conversation.project,
        prompts=tuple(_prompts(scene)),
        rules=tuple(_rules(scene)),
        chains=_counted(_chains(steps), MOST_CHAINS),
        after_edits=_counted(_after_edits(scene.main_calls)),
        permissions=_permissions(scene),
        shell_lines=_counted(_shell_lines(scene)),
        lines=tuple(
            replace(each, what=quote(each.what))
            for each in _counted([(step.line, step.uuid) for step in steps if step.line], MOST_LINES)
        ),
        ran=_ran(scene),
        shown=shown_in(scene),
    )


def _prompts(scene: Scene) -> Iterator[AskedPrompt]:
    """Prompts that say enough to be compared with others; one that opens a session may be a single word."""
    for number, (stretch, prompt, prose, words, sketch) in enumerate(scene.typed):
        if prompt.uuid is None or not is_of_person(prompt.text) or rules_in(prose):
            continue
        is_opening = number == 0 and words > 0 and prose.strip(" .!?").lower() not in _EVERYDAY
        if words >= FEWEST_WORDS or is_opening:
            steps = tuple(_done(stretch.calls, scene.conversation.project)) if number == 0 else ()
            yield AskedPrompt(
                uuid=prompt.uuid, time=prompt.time, sketch=sketch, example=prompt.text[:_LONGEST_RULE], steps=steps
            )


def is_of_person(text: str) -> bool:
    """Whether a person wrote a prompt: hooks and the client write some in the person's name."""
    return not is_from_hook(text) and not text.startswith(_OF_THE_CLIENT)


def _done(calls: list[DetectedCall], project: str | None) -> Iterator[str]:
    """What was read and run, as a list of steps with paths relative to the project."""

    def here(text: str) -> str:
        return text.replace(f"{project}/", "").replace(project, ".") if project else text

    done: dict[str, None] = {}
    for call in calls:
        if not call.worked or len(done) == _MOST_STEPS:
            continue
        if call.name == "Read" and call.path:
            done[f"Read {here(call.path)}"] = None
        elif call.name in SHELLS and (line := _one_line(call.command)):
            done[f"Run {here(line)}"] = None
    yield from done


def _one_line(command: str) -> str:
    """A command that can be written down as it is; empty for scripts and long commands."""
    line = command.strip()
    return "" if "\n" in line or "<<" in line or len(line) > _LONGEST_LINE else quote(line)


def _rules(scene: Scene) -> Iterator[Rule]:
    for _, prompt, prose, _, _ in scene.typed:
        if prompt.uuid is not None and is_of_person(prompt.text):
            for text in rules_in(prose):
                yield _rule(prompt.uuid, prompt.time, text)
    for call in scene.troubled:
        if is_by_person(call) and call.proof.uuid is not None:
            for text in rules_in(reason_given(call)):
                yield _rule(call.proof.uuid, call.proof.time, text)


def _rule(uuid: str, time: datetime | None, text: str) -> Rule:
    return Rule(uuid=uuid, time=time, sketch=sketch_of_words(words_of(text)), text=quote(text))


@lru_cache(maxsize=256)
def rules_in(prose: str) -> tuple[str, ...]:
    """Sentences that seem meant as a rule for every time, not only for now."""
    lowered = prose.lower()
    if not any(map(lowered.__contains__, _RULE_WORDS)):
        return ()
    sentences = (sentence.strip() for sentence in _SENTENCE.split(prose[:2000]))
    return tuple(text for text in sentences if len(text) <= _LONGEST_RULE and _is_rule(text.lower().replace("’", "'")))


def _is_rule(sentence: str) -> bool:
    if sentence.endswith(("?", "？")) or _RULE.search(sentence) is None or _ONLY_NOW.search(sentence) is not None:
        return False
    return len(set(words_of(sentence))) >= _FEWEST_RULE_WORDS


class _Step(NamedTuple):
    """A command that was run and worked, or a server's tool."""

    name: str
    line: str
    """The line as it was run; empty for a tool."""
    uuid: str


def _steps(scene: Scene) -> list[_Step]:
    """What was run and worked, in order, without what only looks around, and without repeats in a row."""
    found: list[_Step] = []
    for call in scene.main_calls:
        uuid = call.record.uuid
        is_tool = call.name.startswith("mcp__")
        if uuid is None or not (call.command or is_tool) or not call.worked:
            continue
        for line in lines_in(call.command) if call.command else ("",):
            name = call.name if is_tool else prefix_of(line)
            if name and name not in _TRIVIAL and not (found and found[-1].name == name):
                found.append(_Step(name, line, uuid))
    return found


def _ran(scene: Scene) -> tuple[CountedPhrase, ...]:
    """For each program and subcommand, how often it ran well and how often it failed."""
    well: dict[str, int] = {}
    failed: dict[str, int] = {}
    first: dict[str, str] = {}
    for call in scene.commands:
        if call.record.uuid is not None and (step := prefix_of(call.command)):
            counts = well if call.worked else failed
            counts[step] = counts.get(step, 0) + 1
            first.setdefault(step, call.record.uuid)
    return tuple(
        CountedPhrase(what=step, count=well.get(step, 0), uuid=uuid, refused=failed.get(step, 0))
        for step, uuid in first.items()
    )[:MOST_LINES]


def _chains(steps: list[_Step]) -> Iterator[tuple[str, str]]:
    for length in _CHAIN_LENGTHS:
        for start in range(len(steps) - length + 1):
            names = [step.name for step in steps[start : start + length]]
            if len(set(names)) == length:
                yield " > ".join(names), steps[start].uuid


def _after_edits(calls: list[DetectedCall]) -> Iterator[tuple[str, str]]:
    was_edit = False
    for call in calls:
        if was_edit and call.name in SHELLS and call.record.uuid is not None:
            step = prefix_of(call.command)
            if step and step not in _TRIVIAL:
                yield step, call.record.uuid
        was_edit = call.name in EDITS and call.status is CallStatus.OK


def _permissions(scene: Scene) -> tuple[CountedPhrase, ...]:
    decided = decisions([call for call in scene.decided if was_asked(call)])
    asked = [(rule_of(call), call) for call in decided if call.proof.uuid is not None]
    refused: dict[str, int] = {}
    for rule, call in asked:
        refused[rule] = refused.get(rule, 0) + (call.status is CallStatus.REJECTED)
    counted = _counted((rule, call.proof.uuid or "") for rule, call in asked)
    return tuple(
        CountedPhrase(what=each.what, count=each.count, uuid=each.uuid, refused=refused[each.what]) for each in counted
    )


def _shell_lines(scene: Scene) -> Iterator[tuple[str, str]]:
    for record in scene.lines_of(Speaker.SHELL):
        command = (shell_input(record.text) or "").strip()
        if command and record.uuid is not None and prefix_of(command) not in _TRIVIAL:
            yield quote(command), record.uuid


def _counted(
    found: Iterator[tuple[str, str]] | list[tuple[str, str]], most: int | None = None
) -> tuple[CountedPhrase, ...]:
    """What was found with its count, the most frequent first; on a tie, the one found first."""
    counts: dict[str, int] = {}
    first: dict[str, str] = {}
    for what, uuid in found:
        counts[what] = counts.get(what, 0) + 1
        first.setdefault(what, uuid)
    ranked = sorted(counts, key=lambda what: -counts[what])[:most]
    return tuple(CountedPhrase(what=what, count=counts[what], uuid=first[what]) for what in ranked)


FEWEST_SESSIONS = 3
_FEWEST_CORRECTED = 2
_ALIKE_RULES = 0.45
_ALIKE_PROMPTS = 0.6
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
                shown = _shown(same[:_MOST_MOMENTS])
                shortest = min((moment.text for moment in shown), key=len)
                yield RepeatedPattern(
                    kind=kind,
                    about=shortest,
                    count=len(same),
                    sessions=sessions,
                    example=shortest,
                    moments=tuple(shown),
                    details=_steps_of(same),
                    counts=_in_each(said.session for said in same),
                )


def _in_each(sessions: Iterable[str]) -> tuple[int, ...]:
    return tuple(Counter(sessions).values())


class _Places:
    """How often something was done, in which sessions, and the moments that are shown: nothing else is kept."""

    __slots__ = ("moments", "refused", "sessions")

    def __init__(self) -> None:
        self.refused = 0
        self.sessions: dict[str, int] = {}
        self.moments: list[tuple[str, str]] = []


class _PhraseTally:
    """What was counted in sessions, by its name."""

    def __init__(self) -> None:
        self._by_name: dict[str, _Places] = {}

    def add(self, session: str, counts: Sequence[CountedPhrase]) -> None:
        for each in counts:
            places = self._by_name.get(each.what)
            if places is None:
                places = self._by_name[each.what] = _Places()
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
        for each in materials:
            self._add(each)

    def _add(self, each: Material) -> None:
        session = each.session
        for rule in each.rules:
            self.rules.add(_Utterance(session, rule.uuid, rule.time, rule.text), rule.sketch)
        for asked in each.prompts:
            self.prompts.add(_Utterance(session, asked.uuid, asked.time, asked.example, asked.steps), asked.sketch)
        if each.chains:  # most sessions have none of these, and there are very many sessions
            self.chains.add(session, each.chains)
            self.projects[session] = each.project
        if each.after_edits:
            self.after_edits.add(session, each.after_edits)
        if each.permissions:
            self.permissions.add(session, each.permissions)
        if each.shell_lines:
            self.shell_lines.add(session, each.shell_lines)
        for line in each.lines:
            self.lines.setdefault((each.project, prefix_of(line.what)), Counter())[line.what] += line.count
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
    instructions = list(given.rules.patterns(PatternKind.INSTRUCTION, _ALIKE_RULES, fewest))
    only_corrected = corrected - {moment.uuid for pattern in instructions for moment in pattern.moments}
    told_off = given.rules.only({uuid for uuid in only_corrected if uuid is not None})
    workflows = _longest(given.chains.patterns(PatternKind.WORKFLOW, fewest))
    found = [
        *instructions,
        *told_off.patterns(PatternKind.CORRECTION, _ALIKE_RULES, min(fewest, _FEWEST_CORRECTED)),
        *given.prompts.patterns(PatternKind.RE_ASK, _ALIKE_PROMPTS, fewest),
        *(_with_lines(pattern, given) for pattern in workflows),
        *given.after_edits.patterns(PatternKind.AFTER_EDIT, fewest),
        *given.permissions.patterns(PatternKind.PERMISSION, 1, fewest),
        *given.shell_lines.patterns(PatternKind.SHELL_LINE, 1, fewest),
        *_errors(events, given.ran, fewest),
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


def _with_lines(pattern: RepeatedPattern, given: _Gathered) -> RepeatedPattern:
    """The pattern with the command line of each step, if it belongs to one project and all lines are known."""
    projects = {given.projects[session] for session in pattern.sessions}
    steps = pattern.about.split(" > ")
    known = [in_general(given.lines.get((project, step), Counter())) for project in projects for step in steps]
    if len(projects) > 1 or not all(known):
        return pattern
    return replace(pattern, details={f"step {number}": line for number, line in enumerate(known, 1)})


_SHELL_WORD = lazy.pattern(r"(?:\"(?:\\.|[^\"\\])*\"|'[^']*'|\S)+")


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
    return f"{' '.join(head)} <arguments>" if len(head) > 1 else ""


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


def _errors(events: Iterable[Moment], ran: Counter[str], fewest: int) -> Iterable[RepeatedPattern]:
    """The same failure of the same tool in several sessions: an instruction line could prevent it."""
    by_name: dict[tuple[str, str], list[Moment]] = {}
    for event in events:
        if event.kind is FrictionKind.TOOL_ERROR and event.uuid is not None:
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
            yield RepeatedPattern(
                kind=PatternKind.TOOL_ERROR,
                about=f"{why} {subject}",
                count=len(same),
                sessions=sessions,
                example=same[-1].evidence,
                moments=tuple(
                    PatternMoment(session=event.session, uuid=event.uuid or "", time=event.time, text=event.evidence)
                    for event in same[:_MOST_MOMENTS]
                ),
                details=details,
                counts=_in_each(event.session for event in same),
            )
