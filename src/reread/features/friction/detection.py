"""One conversation as the detectors see it: its turns, its calls and their cost; and the moments that detectors
find."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import msgspec
from msgspec import Struct, field

from reread import lazy
from reread.records import Assistant, Record, User
from reread.sessions import MAIN, CallStatus, Conversation, Notice, Prompt, Said, Thought, ToolCall, ToolOutput, Turn
from reread.sessions import Speaker as Speaker
from reread.times import milliseconds

from .call_results import worked
from .command_lines import is_at_once, prefix_of
from .prompt_text import Sketch, prose_of, sketch_of_words, words_of

LONGEST_QUOTE = 200
Found = TypeVar("Found")


class FrictionKind(StrEnum):
    """The sorts of friction."""

    INTERRUPT = "interrupt"
    REJECTION = "rejection"
    HOOK_BLOCK = "hook_block"
    HOOK_ERROR = "hook_error"
    TOOL_ERROR = "tool_error"
    CORRECTION = "correction"
    RE_ASK = "re_ask"
    LOOP = "loop"
    REWORK = "rework"
    READ_WASTE = "read_waste"
    REWIND = "rewind"
    MANUAL_STEP = "manual_step"
    REPEATED_INSTRUCTION = "repeated_instruction"
    PERMISSION_TOIL = "permission_toil"
    STALL = "stall"
    COMPACTION = "compaction"
    UNSAID = "unsaid"


PRINTED_NAMES = {
    "re_ask": "re-ask",
    "read_waste": "needless read",
    "permission_toil": "repeated permission",
    "unsaid": "unstored text",
}
"""How reports name a kind whose own name is not clear enough; `--kind` accepts both names."""


class Cause(StrEnum):
    """Where to look for a remedy."""

    AGENT = "agent"
    ENVIRONMENT = "environment"
    PROMPT = "prompt"


class Loss(Struct, frozen=True, kw_only=True, gc=False):
    """The cost of a moment. A field is None where the transcript does not show it; money also where a response that was
    paid for has no price."""

    seconds: float | None = None
    tokens: int | None = None
    nanodollars: int | None = None
    span: tuple[int, int] | None = None
    """Times of the first and the last response that was paid for it, in milliseconds. They are used to compute the
    money again when prices change."""


NOTHING_KNOWN = Loss()


def money_of(losses: Iterable[Loss]) -> tuple[int | None, int]:
    """The known money of some moments, and how many more were paid for. None if that is so for each that was."""
    known = unpriced = 0
    is_known = False
    for loss in losses:
        if loss.nanodollars is not None:
            known, is_known = known + loss.nanodollars, True
        elif loss.tokens:
            unpriced += 1
    return (known if is_known or not unpriced else None), unpriced


class Moment(Struct, frozen=True, kw_only=True):
    """One moment of friction."""

    kind: FrictionKind
    session: str
    uuid: str | None
    """The line that proves it; None in streams, where lines may have no id."""
    time: datetime | None
    evidence: str
    """A short quote or a count, without secrets and control characters."""
    confidence: float
    cause: Cause
    about: str = ""
    """What moments of a kind are grouped by: an error class, a tool, a file, a command."""
    loss: Loss = NOTHING_KNOWN
    agent: str | None = None
    """The subagent it happened in; None for the session itself."""
    details: dict[str, str | int | float | bool | list[str]] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<Moment {self.kind} {self.evidence[:80]!r} in {self.session}>"


_UNPRINTABLE = lazy.pattern(r"\x1b\[[0-?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f]")
_SECRET = lazy.pattern(
    r"""(?<![A-Za-z0-9])(?:sk|pk|rk|ghp|gho|ghs|github_pat|glpat|xox[abprs])[-_][\w-]{10,}   # keys that name their kind
    | AKIA[0-9A-Z]{12,} | eyJ[\w-]{15,}(?:\.[\w-]+)*                        # AWS keys, JSON web tokens
    | (?<=://)[^/:@]+:[^/@]+(?=@)                                            # user:password@host
    | (?<![\w/.-])(?=[A-Za-z+/]*\d)(?!\S*/[a-z]+/)[A-Za-z0-9+/]{40,}={0,2}(?![\w/.-])  # long random text, no path
    | (?<==)(?i:(?<=password=)|(?<=passwd=)|(?<=token=)|(?<=secret=)|(?<=api_key=)|(?<=apikey=))[^&'",;]{4,}""",
    re.VERBOSE,
)
_SHORTEST_SECRET, _LONG = 12, 40
_SIGN_OF_SECRET = lazy.pattern(r"k[-_]|gh[ops][-_]|pat[-_]|xox|AKIA|eyJ|://|=")
"""Occurs in every word with a secret that is not long. The patterns above take ten times as long to try."""
_HIDDEN = "[secret]"


def quote(text: str) -> str:
    """The beginning of a text as one line, safe to show to anybody."""
    beginning = text[: 2 * LONGEST_QUOTE]
    words = beginning.split()
    has_bearer = "bearer" in beginning.lower()
    for place, word in enumerate(words):
        if has_bearer and place and words[place - 1][-6:].lower() == "bearer":
            words[place] = _HIDDEN
        elif len(word) >= _LONG or (len(word) >= _SHORTEST_SECRET and _SIGN_OF_SECRET.search(word)):
            words[place] = _SECRET.sub(_HIDDEN, word)
    line = " ".join(words)
    if not line.isprintable():
        line = " ".join(_UNPRINTABLE.sub(" ", line).split())
    return line if len(line) <= LONGEST_QUOTE else line[: LONGEST_QUOTE - 1].rstrip() + "…"


_SEEN = 120
"""Letters at the beginning of an output that a quote is sure to show."""
_VERDICTS = (
    lazy.pattern(r"^\W{0,4}(?:--- FAIL|E   +\S|FAILED |not ok |\w*AssertionError)", re.MULTILINE),
    lazy.pattern(
        r"^\W{0,4}(?:error|fatal|panic|fail(?:ed|ure)?)\b(?! task failed)|^[✗✕✖×] |^\w*(?:Error|Exception): |: error\b"
        r"|^\S+:\d+(?::\d+)?: |\berror: |\bCONFLICT\b|\[rejected\]",
        re.MULTILINE | re.IGNORECASE,
    ),
)
"""Lines that say what went wrong, the surest first."""


def verdict_in(output: str) -> str:
    """An output from the line that says what went wrong; all of it if none does, or if that line is at its
    beginning."""
    if len(output) <= LONGEST_QUOTE:
        return output
    found = next((found for verdict in _VERDICTS if (found := verdict.search(output))), None)
    start = output.rfind("\n", 0, found.end()) + 1 if found is not None else 0
    if start < _SEEN:
        return output
    first = output.partition("\n")[0]
    return f"{first if first.startswith('Exit code') else ''} … {output[start:]}".lstrip()


EDITS = frozenset({"Edit", "MultiEdit", "Write", "NotebookEdit"})
SHELLS = frozenset({"Bash", "PowerShell"})
_SLOW = frozenset({"Task", "Agent", "TaskOutput", "BashOutput", "WebFetch", "WebSearch", "Workflow", "Monitor"})


class Arguments(Struct, frozen=True, gc=False):
    """The arguments that show what a call is about; no others are decoded."""

    command: str | None = None
    timeout: int | float | str | None = None
    file_path: str | None = None
    notebook_path: str | None = None
    path: str | None = None
    url: str | None = None
    offset: int | float | str | None = None
    limit: int | float | str | None = None
    pages: str | None = None
    content: str | None = None
    old_string: str | None = None
    new_string: str | None = None
    edits: list[dict[str, Any]] | None = None


_decoder = msgspec.json.Decoder(Arguments)
_NONE = Arguments()


def _arguments(call: ToolCall) -> Arguments:
    try:
        return _decoder.decode(call.block.raw_input)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _piecewise(call.input)


def _piecewise(given: object) -> Arguments:
    """For arguments with unexpected types: only those that are texts."""
    if not isinstance(given, dict):
        return _NONE
    texts = {name: given[name] for name in Arguments.__struct_fields__ if isinstance(given.get(name), str)}
    return Arguments(**texts)


class DetectedCall:
    """One tool call. Only a few arguments are decoded: a shell's at once, others on first use."""

    __slots__ = ("_parsed", "_worked", "call", "command", "name", "status")

    def __init__(self, call: ToolCall) -> None:
        self.call = call
        self.name = call.name
        self.status: CallStatus = call.status
        self._parsed: Arguments | None = None
        self._worked: bool | None = None
        self.command = (self.arguments.command or "") if self.name in SHELLS else ""
        """The shell command; empty for other tools."""

    @property
    def arguments(self) -> Arguments:
        if self._parsed is None:
            self._parsed = _arguments(self.call)
        return self._parsed

    @property
    def worked(self) -> bool:
        if self._worked is None:
            self._worked = worked(self.command, self.call)
        return self._worked

    @property
    def path(self) -> str:
        given = self.arguments
        return given.file_path or given.notebook_path or given.path or ""

    @property
    def target(self) -> str:
        """What another attempt would have in common with this call."""
        return prefix_of(self.command) if self.name in SHELLS else self.path or self.name

    @property
    def record(self) -> Record:
        return self.call.record

    @property
    def output(self) -> ToolOutput | None:
        return self.call.output

    @property
    def text(self) -> str:
        """The text of its result."""
        return self.call.output.text if self.call.output is not None else ""

    @property
    def proof(self) -> Record:
        """The line of its result, or of the call itself if it has none."""
        return self.call.output.record if self.call.output is not None else self.call.record

    @property
    def message_id(self) -> str | None:
        return self.call.message_id

    @property
    def ended(self) -> datetime | None:
        return self.proof.time

    @property
    def seconds(self) -> float:
        return self.call.seconds or 0.0

    @property
    def decided_by(self) -> str | None:
        """Who decided whether it may run: `user…`, `hook`, a rule; None if no line says so, as before 2.1.325."""
        decision = getattr(self.proof, "permission_decision", None)
        return None if decision is None else decision.source or ""

    @property
    def is_asked(self) -> bool:
        """Whether a person decided, as far as a line says so."""
        return (self.decided_by or "").startswith("user")

    @property
    def longest(self) -> float:
        """The seconds it can have taken by itself; 0 if a person decided on it."""
        if self.is_asked or self.name in _BY_PERSON or self.status is CallStatus.REJECTED:
            return 0.0
        if self.name in SHELLS and not is_at_once(self.command):
            given = self.arguments.timeout
            return max(_LONGEST_COMMAND, given / 1000) if isinstance(given, int | float) else _LONGEST_COMMAND
        return _LONGEST_ANSWER if self.name.startswith("mcp__") or self.name in _SLOW else _AT_ONCE

    @property
    def step(self) -> str:
        """`pytest`, `git commit`, `Edit dates.py`: a short name for a person to read."""
        if self.name in SHELLS:
            return prefix_of(self.command) or self.name
        name = file_name(self.path)
        return f"{self.name} {name}" if name else self.name


def file_name(path: str) -> str:
    """The last part of a path of any system."""
    return path.rstrip("/\\").replace("\\", "/").rpartition("/")[2]


class ConversationUnderTest:
    """A conversation split into its turns. Detectors must stay linear: a session may have 100,000 lines."""

    def __init__(self, conversation: Conversation, session: str, agent: str | None = None) -> None:
        self.conversation = conversation
        self.session = session
        self.agent = agent

    @cached_property
    def turns(self) -> list[TurnInContext]:
        """All turns of all branches, each branch in reading order."""
        found: list[TurnInContext] = []
        for branch in self.conversation.branches:
            before: TurnInContext | None = None
            for turn in branch.turns:
                before = _in_context(turn, before, is_forked=before is None and branch.forked_at is not None)
                found.append(before)
        return found

    @cached_property
    def calls(self) -> list[DetectedCall]:
        """All calls in reading order."""
        return [call for context in self.turns for call in context.calls]

    @cached_property
    def troubled(self) -> list[DetectedCall]:
        """Calls that did not end well."""
        return [call for context in self.turns for call in context.troubled]

    @cached_property
    def main_calls(self) -> list[DetectedCall]:
        """Calls of the branch the conversation ended on."""
        return [call for context in self.turns if context.turn.branch == MAIN for call in context.calls]

    @cached_property
    def commands(self) -> list[DetectedCall]:
        """The shell calls among `main_calls`."""
        return [call for call in self.main_calls if call.name in SHELLS]

    @cached_property
    def typed(self) -> list[PromptInContext]:
        """The prompts of the branch the conversation ended on, in the person's own words."""
        found: list[PromptInContext] = []
        for context in self.turns:
            prompt = context.prompt
            if prompt is None or prompt.kind is not Speaker.PROMPT or context.turn.branch != MAIN:
                continue
            prose = prose_of(prompt.text)
            words = words_of(prose)
            found.append(PromptInContext(context, prompt, prose, len(set(words)), sketch_of_words(words)))
        return found

    def once(self, make: Callable[[ConversationUnderTest], Found]) -> Found:
        """The result of `make(subject)`, computed only once."""
        if make not in self._made:
            self._made[make] = make(self)
        found: Found = self._made[make]
        return found

    @cached_property
    def _made(self) -> dict[Callable[[ConversationUnderTest], Any], Any]:
        return {}

    @cached_property
    def spent(self) -> TurnCost:
        return TurnCost(self.conversation)

    @cached_property
    def _by_speaker(self) -> dict[Speaker, list[User]]:
        """All user lines except tool results, which are nine in ten."""
        line = self.conversation.line
        found: dict[Speaker, list[User]] = {}
        for index, kind in self.conversation.kinds.items():
            if kind is not Speaker.TOOL_RESULT:
                found.setdefault(kind, []).append(line[index])  # type: ignore[arg-type]  # kinds are of user lines only
        return found

    def lines_of(self, speaker: Speaker) -> list[User]:
        """The user lines of a speaker, in file order."""
        return self._by_speaker.get(speaker, [])

    @cached_property
    def decided(self) -> list[DetectedCall]:
        """Calls that a person, a rule or a hook decided on, as far as lines show: clients before 2.1.325 record
        refusals only."""
        return [call for call in self.calls if call.status is not CallStatus.OK or call.decided_by is not None]

    def event(
        self,
        kind: FrictionKind,
        at: Record,
        evidence: str,
        cause: Cause,
        confidence: float,
        *,
        about: str = "",
        loss: Loss | None = None,
        **details: str | int | float | bool | list[str] | None,
    ) -> Moment:
        """A moment of this conversation; details that are None are left out."""
        return Moment(
            kind=kind,
            session=self.session,
            uuid=at.uuid,
            time=at.time,
            evidence=quote(evidence),
            confidence=round(confidence, 2),
            cause=cause,
            about=about,
            loss=loss if loss is not None else Loss(),
            agent=self.agent,
            details={name: value for name, value in details.items() if value is not None},
        )


class TurnInContext(NamedTuple):
    """A turn, with its steps sorted by kind."""

    turn: Turn
    calls: list[DetectedCall]
    troubled: list[DetectedCall]
    """Calls that did not end well."""
    notices: list[Notice]
    said: Said | None
    """The last words of the model."""
    opening: Said | None
    """Its first words."""
    thought: Thought | None
    """The model's first thought, where the client kept it."""
    before: TurnInContext | None
    answered_before: TurnInContext | None
    """The nearest earlier turn that had an answer; prompts between may have had none."""
    is_forked: bool
    """Whether it begins an abandoned branch, so that something was answered before it."""

    @property
    def prompt(self) -> Prompt | None:
        return self.turn.prompt

    @property
    def is_answered(self) -> bool:
        return self.said is not None or bool(self.calls)

    @property
    def was_interrupted(self) -> bool:
        return any(notice.what == "interrupted" for notice in self.notices)


class PromptInContext(NamedTuple):
    """A prompt and its words."""

    context: TurnInContext
    prompt: Prompt
    prose: str
    words: int
    """The number of different words that show what it is about."""
    sketch: Sketch


def _in_context(turn: Turn, before: TurnInContext | None, *, is_forked: bool) -> TurnInContext:
    calls: list[DetectedCall] = []
    troubled: list[DetectedCall] = []
    notices: list[Notice] = []
    words: Said | None = None
    opening: Said | None = None
    thought: Thought | None = None
    for step in turn.steps:
        kind = type(step)
        if kind is ToolCall:
            call = DetectedCall(step)  # type: ignore[arg-type]  # type() is twice as fast as isinstance() here
            calls.append(call)
            if call.status is not CallStatus.OK:
                troubled.append(call)
        elif kind is Said:
            words = step  # type: ignore[assignment]
            if opening is None and words.text.strip():  # type: ignore[union-attr]
                opening = words
        elif kind is Thought:
            thought = thought or step  # type: ignore[assignment]
        elif kind is Notice:
            notices.append(step)  # type: ignore[arg-type]
    answered = before if before is None or before.is_answered else before.answered_before
    return TurnInContext(turn, calls, troubled, notices, words, opening, thought, before, answered, is_forked)


_NONE_BEFORE = -1
"""The number where no request began yet: replies of the client itself, such as failed logins, have none."""


class TurnCost:
    """The cost of requests; each is made and priced once, on first use: most sessions have moments in a few turns."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._known: dict[int, tuple[int, int | None, list[int]]] = {}

    @cached_property
    def _offsets(self) -> list[int]:
        """Where the first line of each request begins."""
        return [rows[0].offset for _, rows in self._conversation.request_rows]

    def between(self, calls: Sequence[DetectedCall]) -> Loss:
        """The cost from the start of the first of some calls that follow each other to the start of the last: of the
        requests after the first call's, and of the time that was worked."""
        seconds = seconds_at_work(calls)
        start, end = self._number(calls[0].record), self._number(calls[-1].record)
        if not 0 <= start < end:
            return Loss(seconds=seconds)
        return self._sum(range(start + 1, end + 1), seconds)

    def on(self, records: Sequence[Record]) -> Loss:
        """The cost of all requests among these lines."""
        numbers = {self._number(record) for record in records if type(record) is Assistant} - {_NONE_BEFORE}
        return self._sum(numbers, _seconds_of(records))

    def after(self, record: Record, seconds: float | None) -> Loss:
        """The cost of the first request whose first line comes after this line of the file."""
        place = bisect_right(self._offsets, record.offset)
        return self._sum([place], seconds) if place < len(self._offsets) else Loss(seconds=seconds)

    def _number(self, record: Record) -> int:
        """The number of the request that a reply's line belongs to: the last that began at or before it."""
        return bisect_right(self._offsets, record.offset) - 1

    def _sum(self, numbers: Iterable[int], seconds: float | None) -> Loss:
        tokens = 0
        costs: list[int | None] = []
        times: list[int] = []
        for number in numbers:
            used, cost, moments = self._of(number)
            tokens += used
            costs.append(cost)
            times += moments
        span = (min(times), max(times)) if times else None
        return Loss(seconds=seconds, tokens=tokens, nanodollars=_added(costs), span=span)

    def _of(self, number: int) -> tuple[int, int | None, list[int]]:
        if number not in self._known:
            parts = list(self._conversation.request(number).parts())
            prices = self._conversation.prices
            costs = [prices.cost(part, part.model, part.time) if part.total else 0 for part in parts]
            times = [time for part in parts if (time := _stamp(part.time)) is not None]
            self._known[number] = sum(part.total for part in parts), _added(costs), times
        return self._known[number]


def _added(costs: Iterable[int | None]) -> int | None:
    """The sum; None if one of them is unknown."""
    known = list(costs)
    return None if None in known else sum(cost or 0 for cost in known)


def _stamp(time: datetime | int | None) -> int | None:
    return milliseconds(time) if isinstance(time, datetime) else time


_LONGEST_ANSWER = 600.0
"""Seconds after which the client gives up a request: a longer gap was a night, or a lid that was closed."""
_LONGEST_COMMAND, _AT_ONCE = 120.0, 10.0
"""Seconds after which a command is stopped unless it asks for more, and that reading a file takes at most."""
_BY_PERSON = frozenset({"AskUserQuestion", "ExitPlanMode"})


def seconds_at_work(calls: Sequence[DetectedCall]) -> float | None:
    """The time from the start of the first call to the start of the last, without what was waited for a person.

    Most clients do not write how long a permission was open, but no call and no answer can take longer than its limit:
    what took longer waited, and counts nothing. None if the lines have no times.
    """
    before, total = calls[0].record.time, 0.0
    for call, following in pairwise(calls):
        began, ended, after = call.record.time, call.ended, following.record.time
        if before is None or began is None or ended is None or after is None:
            return None
        running = (ended - max(began, before)).total_seconds()
        before = max(before, ended)
        answering = (after - before).total_seconds()
        total += running if running > 0.0 and call.seconds <= call.longest else 0.0
        total += answering if 0.0 < answering <= _LONGEST_ANSWER else 0.0
    return None if before is None else round(total, 3)


def _seconds_of(records: Sequence[Record]) -> float | None:
    """The time of some lines that follow each other, without the gaps in which nobody can have worked."""
    times = [time for record in records if (time := record.time) is not None]
    gaps = [(after - time).total_seconds() for time, after in pairwise(times)]
    return round(sum(gap for gap in gaps if 0.0 < gap <= _LONGEST_ANSWER), 3) if gaps else None


class Detector(ABC):
    """Finds one kind of friction. The docstring of each subclass is the meaning of its kind, in words for a person."""

    kind: FrictionKind
    exact: str = ""
    """Signals that the client itself writes: confidence 1 or close to it."""
    heuristics: str = ""
    """Signals that are inferred, each with its confidence."""

    @abstractmethod
    def find(self, subject: ConversationUnderTest) -> Iterator[Moment]:
        """The moments of one conversation, in any order."""

    @property
    def meaning(self) -> str:
        return (self.__doc__ or "").partition("\n\n")[0].strip()
