"""One conversation as the detectors see it: its moments, its calls, the person's own words, how alike prompts are."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from enum import StrEnum
from functools import cached_property, lru_cache
from itertools import pairwise
from math import ceil
from typing import Any, NamedTuple, TypeVar, overload
from zlib import crc32

import msgspec
from msgspec import Struct, field

from reread import lazy
from reread.records import Assistant, Record, User
from reread.sessions import MAIN, CallStatus, Conversation, Notice, Prompt, Said, Thought, ToolCall, ToolOutput, Turn
from reread.sessions import Speaker as Speaker
from reread.times import milliseconds

LONGEST_QUOTE = 200
Found = TypeVar("Found")


class FrictionKind(StrEnum):
    """The sorts of friction."""

    INTERRUPT = "interrupt"
    REJECTION = "rejection"
    HOOK_BLOCK = "hook_block"
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


PRINTED_NAMES = {"re_ask": "re-ask", "read_waste": "needless read", "permission_toil": "repeated permission"}
"""What reports call a kind where its own name does not say it; `--kind` takes both."""


class Cause(StrEnum):
    """Where to look for a remedy."""

    AGENT = "agent"
    ENVIRONMENT = "environment"
    PROMPT = "prompt"


class Loss(Struct, frozen=True, kw_only=True, gc=False):
    """What a moment cost. None where the transcript does not tell."""

    seconds: float | None = None
    tokens: int | None = None
    nanodollars: int | None = None
    span: tuple[int, int] | None = None
    """When the first and the last of the responses came that were paid for it, in milliseconds: by these the money is
    counted again when prices change."""


NOTHING_KNOWN = Loss()


class Moment(Struct, frozen=True, kw_only=True):
    """One moment of friction."""

    kind: FrictionKind
    session: str
    uuid: str | None
    """The line that proves it; None in streams, whose lines may have no id."""
    time: datetime | None
    evidence: str
    """A short quote or a count, without secrets and control characters."""
    confidence: float
    cause: Cause
    about: str = ""
    """What events of a kind are grouped by: the class of an error, a tool, a file, a command."""
    loss: Loss = NOTHING_KNOWN
    agent: str | None = None
    """The subagent it happened in; None for the session itself."""
    details: dict[str, str | int | float | bool | list[str]] = field(default_factory=dict)


_UNPRINTABLE = lazy.pattern(r"\x1b\[[0-?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f]")
_SECRET = lazy.pattern(
    r"""(?:sk|pk|rk|ghp|gho|ghs|github_pat|glpat|xox[abprs])[-_][\w-]{10,}   # keys that say what they are
    | AKIA[0-9A-Z]{12,} | eyJ[\w-]{15,}(?:\.[\w-]+)*                        # AWS keys, JSON web tokens
    | (?<=://)[^/:@]+:[^/@]+(?=@)                                            # user:password@host
    | (?<![\w/.-])(?=[A-Za-z+/]*\d)[A-Za-z0-9+/]{40,}={0,2}(?![\w/.-])       # long random text
    | (?i:(?<=password=)|(?<=passwd=)|(?<=token=)|(?<=secret=)|(?<=api_key=)|(?<=apikey=))[^&'",;]{4,}""",
    re.VERBOSE,
)
_SHORTEST_SECRET = 12
_HIDDEN = "[secret]"


def quote(text: str) -> str:
    """The beginning of a text as one line that may be shown to anybody."""
    words = text[: 2 * LONGEST_QUOTE].split()
    for place, word in enumerate(words):
        if place and words[place - 1][-6:].lower() == "bearer":
            words[place] = _HIDDEN
        elif len(word) >= _SHORTEST_SECRET:
            words[place] = _SECRET.sub(_HIDDEN, word)
    line = " ".join(words)
    if not line.isprintable():
        line = " ".join(_UNPRINTABLE.sub(" ", line).split())
    return line if len(line) <= LONGEST_QUOTE else line[: LONGEST_QUOTE - 1].rstrip() + "…"


EDITS = frozenset({"Edit", "MultiEdit", "Write", "NotebookEdit"})
SHELLS = frozenset({"Bash", "PowerShell"})


class Arguments(Struct, frozen=True, gc=False):
    """The arguments that say what a call is about; of any other tool, nothing is read."""

    command: str | None = None
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
    """Of arguments with unexpected types those that are texts."""
    if not isinstance(given, dict):
        return _NONE
    texts = {name: given[name] for name in Arguments.__struct_fields__ if isinstance(given.get(name), str)}
    return Arguments(**texts)


class DetectedCall:
    """One tool call. Arguments are decoded when first asked for, and only the few that matter."""

    __slots__ = ("_given", "call", "name", "status")

    def __init__(self, call: ToolCall) -> None:
        self.call = call
        self.name = call.name
        self.status: CallStatus = call.status
        self._given: Arguments | None = None

    @property
    def given(self) -> Arguments:
        if self._given is None:
            self._given = _arguments(self.call)
        return self._given

    @property
    def command(self) -> str:
        """The shell command; empty for other tools."""
        return (self.given.command or "") if self.name in SHELLS else ""

    @property
    def path(self) -> str:
        given = self.given
        return given.file_path or given.notebook_path or given.path or ""

    @property
    def target(self) -> str:
        """What a second attempt would be about again."""
        return prefix_of(self.command) if self.name in SHELLS else self.path or self.name

    @property
    def record(self) -> Record:
        return self.call.record

    @property
    def output(self) -> ToolOutput | None:
        return self.call.output

    @property
    def text(self) -> str:
        """What it gave back."""
        return self.call.output.text if self.call.output is not None else ""

    @property
    def proof(self) -> Record:
        """The line of its result; of the call itself where there is none."""
        return self.call.output.record if self.call.output is not None else self.call.record

    @property
    def message_id(self) -> str | None:
        return self.call.message_id

    @property
    def ended(self) -> datetime | None:
        return self.proof.time

    @property
    def step(self) -> str:
        """`pytest`, `git commit`, `Edit dates.py`: as a person would tell it."""
        if self.name in SHELLS:
            return prefix_of(self.command) or self.name
        name = name_of(self.path)
        return f"{self.name} {name}" if name else self.name


_BEFORE_PROGRAM = lazy.pattern(
    r"""\s*(?:(?:cd|pushd)\s+(?:"[^"]*"|'[^']*'|\S+)\s*(?:&&|;)\s*   # cd somewhere &&
    | [A-Za-z_]\w*=(?:"[^"]*"|'[^']*'|\S*)\s+                        # NAME=value
    | (?:sudo|time|nohup|command|exec|env)\s+(?=[\w./])
    | timeout\s+(?:-\S+\s+)*\S+\s+
    | \(\s*)""",
    re.VERBOSE,
)
_WORD = lazy.pattern(r"[\w./@:+-]+")
_SCRIPTED = frozenset({"python", "python3", "node", "ruby", "php"})
_SCRIPTS = (".py", ".js", ".ts", ".rb", ".php")
_HAVE_SUBCOMMANDS = """
    git npm npx pnpm yarn bun deno cargo go docker kubectl terraform helm gh glab jj pip pip3 uv poetry pipenv hatch
    nox tox make just mise rake bundle rails mix dotnet gradle gradlew mvn swift xcodebuild brew apt apt-get
    systemctl aws
    ruff biome gcloud az conda nix composer artisan flutter dart zig stack cabal lake rtk task turbo nx"""
_WITH_SUBCOMMAND = _SCRIPTED | frozenset(_HAVE_SUBCOMMANDS.split())
_TWO_DEEP = frozenset({"gh", "glab", "aws", "gcloud", "az"})
_RUNNERS = frozenset({"npm", "pnpm", "yarn", "bun", "uv", "poetry", "mise"})


@lru_cache(maxsize=8192)
def prefix_of(command: str) -> str:
    """`git commit` of `cd app && git commit -m "..."`: what a permission rule or an alias would be about."""
    line = command[:300].lstrip()
    while line and (found := _BEFORE_PROGRAM.match(line)):
        line = line[found.end() :]
    words: list[str] = _WORD.findall(line[:120])
    if not words:
        return ""
    program = words[0].rpartition("/")[2] or words[0]
    if program not in _WITH_SUBCOMMAND:
        return program
    if program in _SCRIPTED and len(words) > 2 and words[1] == "-m":
        return f"{program} -m {words[2]}"
    rest = [word for word in words[1:5] if not word.startswith("-")]
    if not rest:
        return program
    if program in _SCRIPTED:
        return f"{program} {rest[0]}" if rest[0].endswith(_SCRIPTS) else program
    taken = 2 if program in _TWO_DEEP or (rest[0] == "run" and program in _RUNNERS) else 1
    return " ".join([program, *rest[:taken]])


def steps_in(command: str) -> list[str]:
    """The prefixes of commands that were chained with `&&`; what a here-document holds is not looked at."""
    line = command[:600].partition("<<")[0]
    return (
        [step for part in line.split("&&") if (step := prefix_of(part.strip()))] if "&&" in line else [prefix_of(line)]
    )


def name_of(path: str) -> str:
    """The last part of a path, of whatever system."""
    return path.rstrip("/\\").replace("\\", "/").rpartition("/")[2]


LONGEST_PROSE = 4000
"""Characters of a prompt that are looked at. Whoever writes more has pasted it."""

_FENCED = lazy.pattern(r"```.*?(?:```|\Z)", re.DOTALL)
_INLINE = lazy.pattern(r"`[^`\n]*`")
_QUOTED = lazy.pattern(r"\"[^\"\n]{1,300}\"|“[^”\n]{1,300}”|«[^»\n]{1,300}»|「[^」\n]{1,300}」|„[^“\n]{1,300}“")
_TAGGED = lazy.pattern(r"<[A-Za-z][\w-]*>.*?</[A-Za-z][\w-]*>", re.DOTALL)
_LINK = lazy.pattern(r"https?://\S+")
_PASTED_LINE = lazy.pattern(
    r"""\s*>                                                     # quoted mail
    | (?:\S+@\S+[^\n$#%>]*|[\w.~/ -]*|[A-Z]:\\[^>\n]*)[$%\#>❯]\s   # a shell's prompt
    | \s+(?:at|in)\ \S+[(:]                                      # frames of a stack
    | \s*File\ "[^"]+",\ line\ \d+
    | Traceback\ \(most\ recent
    | \s*(?:npm|pnpm|yarn)\ (?:ERR!|warn|error)
    | (?:ERROR|WARN(?:ING)?|INFO|DEBUG|FATAL|E|W)[:\ \]]
    | \[?\d{4}-\d\d-\d\d[T\ ]\d\d:\d\d
    | [\w./\\-]+:\d+(?::\d+)?:[ ]
    | \w*(?:Error|Exception):[ ]
    | \s*[-=+*_~]{4,}\s*$ | \s*\|.*\|\s*$ | \s*[{}\[\]();]+,?\s*$
    | \s*[+-]{1,3}\s?[\w@{}<(/\#"'.]+.*[;{}(),=]\s*$               # lines of a diff
    | \s{4,}\S | \t\S""",
    re.VERBOSE,
)


_BEGINS_OUTPUT = lazy.pattern(
    r"Traceback |(?:[\w.-]+@[\w.-]+[^\n$#%>]*|~[^\n$#%>]*|[A-Z]:\\[^>\n]*)[$%#>❯] ?\S|[$%❯] ?\S|\s+at \S+\(|panic: "
)


@lru_cache(maxsize=256)
def prose_of(text: str) -> str:
    """The person's own words. Every pattern here is linear, and looks at no more than a few thousand characters."""
    text = text[:LONGEST_PROSE]
    if "`" in text:
        text = _FENCED.sub(" … ", text)
        text = _INLINE.sub(" … ", text)
    if "<" in text:
        text = _TAGGED.sub(" … ", text)
    if "\n" in text:
        text = "\n".join(_typed_lines(text))
    if '"' in text or not text.isascii():
        text = _QUOTED.sub(" … ", text)
    return _LINK.sub(" … ", text) if "://" in text else text


def _typed_lines(text: str) -> Iterator[str]:
    """The lines without pasted ones; below a shell's prompt or a stack nothing is typed."""
    is_output = False
    for line in text.split("\n"):
        if _PASTED_LINE.match(line):
            is_output = is_output or _BEGINS_OUTPUT.match(line) is not None
        elif not is_output:
            yield line


class Paste(NamedTuple):
    """What of a prompt a machine wrote."""

    lines: int = 0
    """Lines that are not empty."""
    output: int = 0
    """Those of a terminal, a log, a stack, a program's result."""
    code: int = 0
    """Those of a source file."""
    document: int = 0
    """Headings, lists and tables: somebody's text, not a program's."""
    has_prompt: bool = False
    """A shell's prompt with a command behind it."""
    has_stack: bool = False
    has_fault: bool = False
    """An error, a refusal or a failure among the output."""


_PROMPT_LINE = lazy.pattern(
    r"""(?:\([\w.-]+\)\ )?(?:
      [\w.+-]+@[\w.-]+[^\n]{0,100}?[$#%❯>](?:\ |$)          # ann@desk:~/app$
    | [A-Z]:\\[^>\n]{0,120}>
    | PS\ [A-Z]:\\
    | [~/][\w./~@+ -]{0,100}?\ {0,3}[$#%❯](?:\ |$)
    | (?:➜|❯|λ|\$|%|>>>|\.\.\.)\ +\S
    | [\w.~/-]{1,40}\ ?(?:git:\([^)]*\)|\([\w./+-]+\))\ ?[$%✗❯#>]\ )""",
    re.VERBOSE,
)
_STACK_LINE = lazy.pattern(
    r"""\s*(?:Traceback\ \(most\ recent | File\ "[^"]+",\ line\ \d+ | at\ (?:async\ )?[\w.$<>\[\] /\\-]+[(:@]
    | at\ \S+\s\(unknown\) | goroutine\ \d+ | panic: | Caused\ by: | Exception\ in\ thread | thread\ '[^']*'\ panicked
    | npm\ (?:ERR!|error) | \#\d+\s+(?:0x|\S+\()) | \s*\d+:\s+0x""",
    re.VERBOSE,
)
_OUTPUT_LINE = lazy.pattern(
    r"""\s*(?:
      (?:\[?(?i:error|err|warn|warning|info|debug|trace|fatal|failed|fail|failure|hint|remote|note|usage|critical
        |notice|panic|exception)\]?\s*[:\]!|]|(?:ERROR|WARN|WARNING|INFO|DEBUG|FATAL|FAILED|FAIL|PASS|OK|E
        |W)\b[\s:!\[])
    | \w*(?:Error|Exception|Warning|Failure)\b:?\ ?
    | \[?\d{4}-\d\d-\d\d[T\ ]\d\d:\d\d | \[?\d\d?:\d\d:\d\d
    | (?:HTTP/\d|GET|POST|PUT|DELETE|PATCH)\s+\S | \d{3}\s+(?:OK|Not\ Found|Forbidden|Internal|Bad)
    | (?i:exit\ code|exit\ status|exited\ with|command\ failed|process\ completed|build\ failed|unknown\ command
      |unrecognized|no\ such|cannot\ find|could\ not|unable\ to|permission\ denied|failed\ to|not\ found
      |segmentation\ fault|killed|aborted)\b
    | (?:===|---|\*\*\*|>>>|\#\#\#)\s?\S?.*(?:===|---|\*\*\*)\s*$ | [=_*~-]{6,}\s*$
    | [│├└╭╰┌┐┘┤┬┴┼═║╔╗╚╝▶●○◆✓✔✗✖×⚠❌✅→↳⎿]\s?
    | [\w./\\@+-]+\.\w{1,5}(?::\d+){1,2}\b
    | [\w./\\-]+\((?:\d+,\d+|line\ \d+)\)
    | (?:create|delete|rename)\ mode\ \d+ | \d+\ files?\ changed | commit\ [0-9a-f]{7,} | Author:\ | Date:\ +\w
    | (?:drwx|-rw[x-])\S* | total\ \d+$ | \d+\ (?:passed|failed|tests?|errors?|warnings?)\b
    | (?:npm|yarn|pnpm|pip|cargo|go|git|docker|make|brew|apt|rustc|ld|gcc|clang|webpack|vite|tsc|jest
      |pytest)(?:\[\d+\])?:\s
    | "?[\w.-]+"?\s*[:=]\s*(?:"[^"]*"|[\d.]+|true|false|null|None|\{|\[),?\s*$
    | [{}\[\]]+,?\s*$
    | (?:Building|Built|Compiling|Fetching|Downloading|Download|Installing|Running|Creating|Created|Starting
      |Started|Loading|Resolving|Unpacking|Reading|Processing|Finished|Found|Looking|Checking|Copying|Removing
      |Updating|Updated|Pushing|Cloning|Initialized|Added|Skipping|Using|Connecting|Connected|Listening|Generating
      |Waiting|Success|Successfully)\b[^.?!]*(?:\.\.\.|:\s?\S+|/\S+|\d\S*|\.)\s*$
    )""",
    re.VERBOSE,
)
_OUTPUT_AMID = lazy.pattern(
    r"\b(?:\d+(?:\.\d+)?\s?(?:ms|µs|ns|MB|kB|KB|GB|MiB|KiB|B/s|%)\b|[0-9a-f]{12,40}\b|0x[0-9a-f]{4,})"
    r"|\b\d{1,2}:\d\d:\d\d\b|\s{4,}\S+\s{2,}\S|\S\s{3,}\S.*\S\s{3,}\S|\s->\s\S+$"
)
_CODE_LINE = lazy.pattern(
    r"""\s*(?:(?:def|class|func|fn|function|const|let|var|import|from|export|return|if\ \(|for\ \(|while\ \(|public
      |private|static|struct|impl|pub|use|package|async|await|type|interface|enum|SELECT|INSERT|CREATE)\b.*[({:;=]
      |[+-]{1,3}\s?\S.*[;{}()=]\s*$|//|/\*|\#include|</?\w+[^>]*>\s*$|.*[;{]\s*$|@\w+)""",
    re.VERBOSE,
)
_DOCUMENT_LINE = lazy.pattern(r"\s*(?:#{1,6} \S|[-*•] \S|\d+[.)] \S|\|.*\|\s*$|>\s)")
_TYPED_LINE = lazy.pattern(
    r"\b(?:i|i'm|i've|you|we|please|can|could|should|this|why|what|how|but|let's|so|my|our|it's|don't|help|fix)\b",
    re.IGNORECASE,
)
_FAULT = lazy.pattern(
    r"(?i)\b(?:errors?|fail(?:ed|ure|s|ing)?|exception|traceback|panic\w*|fatal|denied|refused|not found"
    r"|cannot|can't|could not|undefined|unexpected|invalid|missing|no such|unable|warning|timed? ?out"
    r"|rejected|unknown|conflict|crash\w*|abort\w*|nothing to|no (?:matching|conversations?|results?)|40[0-9]"
    r"|50[0-9])\b|❌|✗|✖"
)
_ANNOUNCES = lazy.pattern(
    r"(?i)\b(?:outputs?|logs?|errors?|error message|prints?|printed|it says|terminal|console|trace|traceback"
    r"|result is|i (?:now |just )?(?:get|got|see)"
    r"|ausgabe|fehlermeldung|sortie|salida|saída)\b[^\n]{0,50}:\s*$"
    r"|(?:出力|エラー|输出|报错|错误信息)[^\n]{0,12}[：:]\s*$"
)
"""A line below which a machine speaks."""
_FEWEST_TYPED = 6
_LONGEST_QUOTE = 1500


_MACHINE_MARKS = ":/$%>[]{}=│❯➜_*~"
"""Without any of them, a single line was typed."""
_TYPED = Paste(lines=1)


def paste_of(text: str) -> Paste:
    """How much of a prompt was not typed; linear, and no more than a few thousand characters are looked at."""
    if "\n" not in text and not any(mark in text for mark in _MACHINE_MARKS):
        return _TYPED
    lines = [line for line in text[:LONGEST_PROSE].split("\n") if line.strip()]
    output = code = document = 0
    has_prompt = has_stack = has_fault = is_below = False
    for line in lines:
        kind = _kind_of_line(line)
        if kind == "prompt" or kind == "stack":
            is_below = True
            has_prompt, has_stack = has_prompt or kind == "prompt", has_stack or kind == "stack"
        elif is_below and (kind != "typed" or len(line.split()) < _FEWEST_TYPED):
            kind = "output"
        elif kind == "typed":
            is_below = line.rstrip().endswith((":", "：")) and _ANNOUNCES.search(line[-120:]) is not None
        is_output = kind in ("prompt", "stack", "output")
        output, code, document = output + is_output, code + (kind == "code"), document + (kind == "document")
        has_fault = has_fault or (is_output and _FAULT.search(line) is not None)
    return Paste(len(lines), output, code, document, has_prompt, has_stack, has_fault)


def _kind_of_line(line: str) -> str:
    line = line[:400]
    if line.lstrip().startswith("> ") and (bare := line.lstrip()[2:]).strip():
        line = bare if _kind_of_line(bare) != "typed" else line
    if _PROMPT_LINE.match(line):
        return "prompt"
    if _STACK_LINE.match(line):
        return "stack"
    if _OUTPUT_LINE.match(line):
        return "output"
    if _DOCUMENT_LINE.match(line):
        return "document"
    if _CODE_LINE.match(line):
        return "code"
    is_typed = _TYPED_LINE.search(line) is not None
    return "output" if not is_typed and _OUTPUT_AMID.search(line) else "typed"


_ERROR_AMID = lazy.pattern(
    r"(?:\b\w*(?:Error|Exception)\b: ?\S|\b(?i:error|fatal|exception)(?i: message)?: ?['\"`]?\S+ \S+"
    r"|\b(?i:exit code|exit status) [1-9]"
    r"|(?i:command not found|permission denied \(|no such file or directory|is not recognized as|cannot find"
    r" module|segmentation fault)"
    r"|\berror (?:TS|E)\d+)"
)


_ERROR_SEEDS = (
    "rror",
    "xception",
    "exit ",
    "atal",
    "not found",
    "denied",
    "no such",
    "not recogn",
    "annot find",
    "egmentation",
)


def quoted_error(text: str) -> bool:
    """Whether a line holds an error's own words: `now I get TypeError: x is not a function`."""
    looked_at = text[:_LONGEST_QUOTE]
    return any(seed in looked_at for seed in _ERROR_SEEDS) and _ERROR_AMID.search(looked_at) is not None


Sketch = tuple[int, ...]
"""Ascending hashes of 32 bits."""

SIZE = 24
_ODD = 0x9E3779B1
LONGEST = 600
"""Characters of a prompt that are looked at: what follows is pasted."""
_WORDS = lazy.pattern(r"[^\W_]+(?:['’][^\W_]+)?")
_SPACED = {code: " " for code in range(128) if not chr(code).isalnum() and chr(code) != "'"}
_WITHOUT_SPACES = lazy.pattern(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]{2,}")
_COMMON = """
    a an the i you we it he she they me my your our this that these those is are was were be been am do does did done
    to of in on at for from with by as and or but so if then than too also just now not no yes ok okay please pls can
    could
    would will shall should may might let lets let's i'd i'll i'm you're it's that's there here again still said told
    asked want
    wanted need hey hi hello thanks thank again some any all what which who how when where why s t m re ll ve d
    der die das ein eine und oder ich du wir es ist sind bitte nicht mal noch auch zu in auf mit
    le la les un une des et ou je tu il elle est sont que qui de du en ne pas s'il vous plaît te plait
    el los las un una y o yo tú que de en por favor no es son se lo
    o os as um uma e ou eu você que de em por favor não é são"""
_SAYS_LITTLE = frozenset(_COMMON.split())


@lru_cache(maxsize=256)
def words_of(text: str) -> tuple[str, ...]:
    """The words that tell what a prompt is about; for scripts without spaces, pairs of characters."""
    lowered = text[:LONGEST].lower()
    if lowered.isascii():  # splitting is three times as fast as a pattern, and this is done for every prompt
        return tuple(word for word in lowered.translate(_SPACED).split() if word not in _SAYS_LITTLE)
    words = [word for word in _WORDS.findall(lowered) if word not in _SAYS_LITTLE]
    if _WITHOUT_SPACES.search(lowered) is None:
        return tuple(words)
    return tuple(part for word in words for part in _parts(word))


def _parts(word: str) -> list[str]:
    is_split = _WITHOUT_SPACES.search(word) is not None
    return [word[i : i + 2] for i in range(len(word) - 1)] if is_split else [word]


def sketch(text: str) -> Sketch:
    """The sketch of a text; empty where it says too little to be told from others."""
    return sketch_of_words(words_of(text))


def sketch_of_words(words: Sequence[str]) -> Sketch:
    single = [crc32(word.encode()) for word in words]
    pairs = [(one * _ODD ^ other) & 0xFFFFFFFF for one, other in pairwise(single)]
    return tuple(sorted({*single, *pairs})[:SIZE])


def likeness(one: Sketch, other: Sketch) -> float:
    """From 0 to 1: the share of what both say together that both say."""
    if not one or not other:
        return 0.0
    mine, theirs = set(one), set(other)
    if len(one) < SIZE and len(other) < SIZE:  # both are known whole
        shared = len(mine & theirs)
        return shared / (len(mine) + len(theirs) - shared)
    both = mine | theirs
    # Above the largest hash of a full sketch the other side is unknown.
    limit = min((each[-1] for each in (one, other) if len(each) == SIZE), default=None)
    seen = both if limit is None else {value for value in both if value <= limit}
    return len(mine & theirs & seen) / len(seen)


class PackedSketches(Sequence[Sketch]):
    """Very many sketches, four bytes a hash: as tuples they take ten times as much."""

    def __init__(self, sketches: Iterable[Sketch] = ()) -> None:
        self.hashes, self._ends = array("I"), array("Q", [0])
        for each in sketches:
            self.append(each)

    def append(self, each: Sketch) -> None:
        self.hashes.extend(each)
        self._ends.append(len(self.hashes))

    def __len__(self) -> int:
        return len(self._ends) - 1

    def names(self) -> array[int]:
        """A number for each by which it is told from others: a hash of 64 bits."""
        hashes = memoryview(self.hashes)
        return array("q", (hash(hashes[start:end].tobytes()) for start, end in pairwise(self._ends)))

    @overload
    def __getitem__(self, number: int) -> Sketch: ...
    @overload
    def __getitem__(self, number: slice) -> Sequence[Sketch]: ...
    def __getitem__(self, number: int | slice) -> Sketch | Sequence[Sketch]:
        if isinstance(number, slice):
            return [self[each] for each in range(*number.indices(len(self)))]
        return tuple(self.hashes[self._ends[number] : self._ends[number + 1]])


def _most_alike(given: Sketch, leaders: Iterable[int], sketches: PackedSketches, alike: float) -> int | None:
    """The leader most like a sketch, if one is alike enough; of equals the last."""
    shared_with, size = frozenset(given).intersection, len(given)
    best: tuple[int, float] | None = None
    for number in leaders:
        other = sketches[number]
        # What both say together is never less than either sketch: most need not be looked at further.
        if len(shared_with(other)) < alike * max(size, len(other)):
            continue
        found = likeness(given, other)
        if found >= alike and (best is None or found >= best[1]):
            best = number, found
    return best[0] if best is not None else None


def grouped(sketches: PackedSketches, alike: float) -> list[list[int]]:
    """Numbers of sketches that are alike, the first in front; one that is like no other is in no group."""
    names = sketches.names()
    first: dict[int, int] = {}
    for number, name in enumerate(names):
        first.setdefault(name, number)
    often = _Frequency((value for number in first.values() for value in sketches[number]), SIZE * len(first))
    led = bytearray(len(sketches))
    """Which of them follow another."""
    holders: dict[int, list[int]] = {}
    groups: dict[int, list[int]] = {}
    for number, name in enumerate(names):
        leader: int | None = first[name]
        # What is the same as a leader is like no other as much: one that were would not lead.
        if leader == number or led[first[name]]:
            each = sketches[number]
            rare = often.rarest(each, alike)
            leaders = {leader for value in rare if value in holders for leader in holders[value]}
            leader = _most_alike(each, sorted(leaders), sketches, alike) if leaders else None
            if leader is None:
                for value in rare:
                    holders.setdefault(value, []).append(number)
        if leader is not None:
            led[number] = 1
            groups.setdefault(leader, [leader]).append(number)
    return [groups[leader] for leader in sorted(groups)]


class _Frequency:
    """How many sketches hold a hash, equal ones counted once, or a few more where two hashes share a place: a count of
    each would take more than the sketches. What nobody else holds may look shared so, never the other way round, and
    the order is the same for all, which is what `rarest` needs."""

    _MOST_PLACES = 1 << 24
    _FULL = 255

    def __init__(self, hashes: Iterable[int], number: int) -> None:
        places = min(self._MOST_PLACES, 1 << (8 * number + 1).bit_length())
        self._mask, self._counts = places - 1, bytearray(places)
        self._more: dict[int, int] = {}
        counts, mask, more, full = self._counts, self._mask, self._more, self._FULL
        for value in hashes:
            count = counts[value & mask]
            if count < full:
                counts[value & mask] = count + 1
            else:
                more[value] = more.get(value, full) + 1

    def of(self, value: int) -> int:
        count = self._counts[value & self._mask]
        return count if count < self._FULL else self._more.get(value, count)

    def rarest(self, given: Sketch, alike: float) -> list[int]:
        """Hashes of which two sketches share one if they are alike at all: those that fewest others hold, and so many
        that the rest would not be enough. What nobody else holds cannot be shared: most texts have enough of that."""
        counts, mask = self._counts, self._mask
        found = [value for value in given if counts[value & mask] > 1]
        enough = len(given) - ceil(alike * len(given) - 1e-9) + 1
        unshared = len(given) - len(found)
        return sorted(found, key=self.of)[: enough - unshared] if unshared < enough else []


class Scene:
    """A conversation with its turns taken apart. Detectors must stay linear: a session may have 100,000 lines."""

    def __init__(self, conversation: Conversation, session: str, agent: str | None = None) -> None:
        self.conversation = conversation
        self.session = session
        self.agent = agent

    @cached_property
    def stretches(self) -> list[SceneStretch]:
        """All turns of all branches, each branch in reading order."""
        found: list[SceneStretch] = []
        for branch in self.conversation.branches:
            before: SceneStretch | None = None
            for turn in branch.turns:
                before = _stretch(turn, before, is_forked=before is None and branch.forked_at is not None)
                found.append(before)
        return found

    @cached_property
    def calls(self) -> list[DetectedCall]:
        """All calls in reading order."""
        return [call for stretch in self.stretches for call in stretch.calls]

    @cached_property
    def troubled(self) -> list[DetectedCall]:
        """Those that did not end well."""
        return [call for stretch in self.stretches for call in stretch.troubled]

    @cached_property
    def main_calls(self) -> list[DetectedCall]:
        """Those of the branch the conversation ended on."""
        return [call for stretch in self.stretches if stretch.turn.branch == MAIN for call in stretch.calls]

    @cached_property
    def asked(self) -> list[ScenePrompt]:
        """What the person asked for on the branch the conversation ended on, in their own words."""
        found: list[ScenePrompt] = []
        for stretch in self.stretches:
            prompt = stretch.prompt
            if prompt is None or prompt.kind is not Speaker.PROMPT or stretch.turn.branch != MAIN:
                continue
            prose = prose_of(prompt.text)
            words = words_of(prose)
            found.append(ScenePrompt(stretch, prompt, prose, len(set(words)), sketch_of_words(words)))
        return found

    def once(self, make: Callable[[Scene], Found]) -> Found:
        """What somebody makes of the scene, made once however many ask."""
        if make not in self._made:
            self._made[make] = make(self)
        found: Found = self._made[make]
        return found

    @cached_property
    def _made(self) -> dict[Callable[[Scene], Any], Any]:
        return {}

    @cached_property
    def spent(self) -> TurnCost:
        return TurnCost(self.conversation)

    @cached_property
    def _by_speaker(self) -> dict[Speaker, list[User]]:
        """All user lines but the results of tools, which are nine in ten."""
        line = self.conversation.line
        found: dict[Speaker, list[User]] = {}
        for index, kind in self.conversation.kinds.items():
            if kind is not Speaker.TOOL_RESULT:
                found.setdefault(kind, []).append(line[index])  # type: ignore[arg-type]  # kinds are of user lines only
        return found

    def lines_of(self, speaker: Speaker) -> list[User]:
        """The user lines of a class, in file order."""
        return self._by_speaker.get(speaker, [])

    @cached_property
    def decided(self) -> list[DetectedCall]:
        """Calls somebody or something decided on, as far as lines tell: clients before 2.1.325 note refusals only."""
        return [
            call
            for call in self.calls
            if call.status is not CallStatus.OK or getattr(call.proof, "permission_decision", None) is not None
        ]

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
        """An event of this conversation; details that are None are left out."""
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


class SceneStretch(NamedTuple):
    """A turn taken apart."""

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
    """What it thought first, where the client kept that."""
    before: SceneStretch | None
    answered_before: SceneStretch | None
    """The nearest turn before it that had an answer; many prompts may have gone without."""
    is_forked: bool
    """Whether it begins a branch that left another one: something was answered before it."""

    @property
    def prompt(self) -> Prompt | None:
        return self.turn.prompt

    @property
    def is_answered(self) -> bool:
        return self.said is not None or bool(self.calls)

    @property
    def was_interrupted(self) -> bool:
        return any(notice.what == "interrupted" for notice in self.notices)


class ScenePrompt(NamedTuple):
    """A prompt, and what it says."""

    stretch: SceneStretch
    prompt: Prompt
    prose: str
    words: int
    """How many different words tell what it is about."""
    sketch: Sketch


def _stretch(turn: Turn, before: SceneStretch | None, *, is_forked: bool) -> SceneStretch:
    calls: list[DetectedCall] = []
    troubled: list[DetectedCall] = []
    notices: list[Notice] = []
    said: Said | None = None
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
            said = step  # type: ignore[assignment]
            if opening is None and said.text.strip():  # type: ignore[union-attr]
                opening = said
        elif kind is Thought:
            thought = thought or step  # type: ignore[assignment]
        elif kind is Notice:
            notices.append(step)  # type: ignore[arg-type]
    answered = before if before is None or before.is_answered else before.answered_before
    return SceneStretch(turn, calls, troubled, notices, said, opening, thought, before, answered, is_forked)


class TurnCost:
    """What was spent on requests; each is priced when first asked for, and once."""

    def __init__(self, conversation: Conversation) -> None:
        self._requests = conversation.requests
        self._prices = conversation.prices
        self._known: dict[int, tuple[int, int, list[int]]] = {}

    @cached_property
    def _offsets(self) -> list[int]:
        return [request.lines[0].offset for request in self._requests]

    def between(self, first: DetectedCall, last: DetectedCall) -> Loss:
        """From the result of one call to the result of a later one: the requests after the first's."""
        seconds = _seconds(first.ended, last.ended)
        start, end = self._number(first.record), self._number(last.record)
        if not 0 <= start < end:
            return Loss(seconds=seconds)
        return self._sum(range(start + 1, end + 1), seconds)

    def on(self, records: Sequence[Record]) -> Loss:
        """On all requests among these lines."""
        numbers = {self._number(record) for record in records if type(record) is Assistant}
        times = [time for record in (records[0], records[-1]) if (time := record.time) is not None] if records else []
        return self._sum(numbers, _seconds(times[0], times[-1]) if len(times) > 1 else None)

    def after(self, record: Record, seconds: float | None) -> Loss:
        """On the first request whose first line stands after this line of the file."""
        place = bisect_right(self._offsets, record.offset)
        return self._sum([place], seconds) if place < len(self._requests) else Loss(seconds=seconds)

    def _number(self, record: Record) -> int:
        """Which request a line of a reply belongs to: the last that began at or before it."""
        return bisect_right(self._offsets, record.offset) - 1

    def _sum(self, numbers: Iterable[int], seconds: float | None) -> Loss:
        tokens = nanodollars = 0
        times: list[int] = []
        for number in numbers:
            used, cost, moments = self._of(number)
            tokens, nanodollars = tokens + used, nanodollars + cost
            times += moments
        span = (min(times), max(times)) if times else None
        return Loss(seconds=seconds, tokens=tokens, nanodollars=nanodollars, span=span)

    def _of(self, number: int) -> tuple[int, int, list[int]]:
        if number not in self._known:
            parts = list(self._requests[number].parts())
            costs = (self._prices.cost(part, part.model, part.time) for part in parts)
            times = [time for part in parts if (time := _stamp(part.time)) is not None]
            self._known[number] = (
                sum(part.total for part in parts),
                sum(cost for cost in costs if cost is not None),
                times,
            )
        return self._known[number]


def _stamp(time: datetime | int | None) -> int | None:
    return milliseconds(time) if isinstance(time, datetime) else time


def _seconds(began: datetime | None, ended: datetime | None) -> float | None:
    return None if began is None or ended is None else round(max(0.0, (ended - began).total_seconds()), 3)


class Detector(ABC):
    """Finds one kind of friction. Its docstring says what the kind means to a person."""

    kind: FrictionKind
    exact: str = ""
    """Signals the client itself writes: confidence 1 or close to it."""
    heuristics: str = ""
    """Signals that are read between the lines, each with its confidence."""

    @abstractmethod
    def find(self, scene: Scene) -> Iterator[Moment]:
        """The events of one conversation, in any order."""

    @property
    def meaning(self) -> str:
        return (self.__doc__ or "").strip()
