"""What a person said in their own words: without code, quotes and what they pasted."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

LONGEST = 4000
"""Characters of a prompt that are looked at. Whoever writes more has pasted it."""

_FENCED = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_INLINE = re.compile(r"`[^`\n]*`")
_QUOTED = re.compile(r"\"[^\"\n]{1,300}\"|“[^”\n]{1,300}”|«[^»\n]{1,300}»|「[^」\n]{1,300}」|„[^“\n]{1,300}“")
_TAGGED = re.compile(r"<[A-Za-z][\w-]*>.*?</[A-Za-z][\w-]*>", re.DOTALL)
_LINK = re.compile(r"https?://\S+")
_PASTED_LINE = re.compile(
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


_BEGINS_OUTPUT = re.compile(
    r"Traceback |(?:[\w.-]+@[\w.-]+[^\n$#%>]*|~[^\n$#%>]*|[A-Z]:\\[^>\n]*)[$%#>❯] ?\S|[$%❯] ?\S|\s+at \S+\(|panic: "
)


@lru_cache(maxsize=256)
def prose_of(text: str) -> str:
    """The person's own words. Every pattern here is linear, and looks at no more than a few thousand characters."""
    text = text[:LONGEST]
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


_PROMPT_LINE = re.compile(
    r"""(?:\([\w.-]+\)\ )?(?:
      [\w.+-]+@[\w.-]+[^\n]{0,100}?[$#%❯>](?:\ |$)          # ann@desk:~/app$
    | [A-Z]:\\[^>\n]{0,120}>
    | PS\ [A-Z]:\\
    | [~/][\w./~@+ -]{0,100}?\ {0,3}[$#%❯](?:\ |$)
    | (?:➜|❯|λ|\$|%|>>>|\.\.\.)\ +\S
    | [\w.~/-]{1,40}\ ?(?:git:\([^)]*\)|\([\w./+-]+\))\ ?[$%✗❯#>]\ )""",
    re.VERBOSE,
)
_STACK_LINE = re.compile(
    r"""\s*(?:Traceback\ \(most\ recent | File\ "[^"]+",\ line\ \d+ | at\ (?:async\ )?[\w.$<>\[\] /\\-]+[(:@]
    | at\ \S+\s\(unknown\) | goroutine\ \d+ | panic: | Caused\ by: | Exception\ in\ thread | thread\ '[^']*'\ panicked
    | npm\ (?:ERR!|error) | \#\d+\s+(?:0x|\S+\()) | \s*\d+:\s+0x""",
    re.VERBOSE,
)
_OUTPUT_LINE = re.compile(
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
_OUTPUT_AMID = re.compile(
    r"\b(?:\d+(?:\.\d+)?\s?(?:ms|µs|ns|MB|kB|KB|GB|MiB|KiB|B/s|%)\b|[0-9a-f]{12,40}\b|0x[0-9a-f]{4,})"
    r"|\b\d{1,2}:\d\d:\d\d\b|\s{4,}\S+\s{2,}\S|\S\s{3,}\S.*\S\s{3,}\S|\s->\s\S+$"
)
_CODE_LINE = re.compile(
    r"""\s*(?:(?:def|class|func|fn|function|const|let|var|import|from|export|return|if\ \(|for\ \(|while\ \(|public
      |private|static|struct|impl|pub|use|package|async|await|type|interface|enum|SELECT|INSERT|CREATE)\b.*[({:;=]
      |[+-]{1,3}\s?\S.*[;{}()=]\s*$|//|/\*|\#include|</?\w+[^>]*>\s*$|.*[;{]\s*$|@\w+)""",
    re.VERBOSE,
)
_DOCUMENT_LINE = re.compile(r"\s*(?:#{1,6} \S|[-*•] \S|\d+[.)] \S|\|.*\|\s*$|>\s)")
_TYPED_LINE = re.compile(
    r"\b(?:i|i'm|i've|you|we|please|can|could|should|this|why|what|how|but|let's|so|my|our|it's|don't|help|fix)\b",
    re.IGNORECASE,
)
_FAULT = re.compile(
    r"(?i)\b(?:errors?|fail(?:ed|ure|s|ing)?|exception|traceback|panic\w*|fatal|denied|refused|not found"
    r"|cannot|can't|could not|undefined|unexpected|invalid|missing|no such|unable|warning|timed? ?out"
    r"|rejected|unknown|conflict|crash\w*|abort\w*|nothing to|no (?:matching|conversations?|results?)|40[0-9]"
    r"|50[0-9])\b|❌|✗|✖"
)
_ANNOUNCES = re.compile(
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
    lines = [line for line in text[:LONGEST].split("\n") if line.strip()]
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


_ERROR_AMID = re.compile(
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
