"""What a person said in their own words: without code, quotes and what they pasted."""

from __future__ import annotations

import re
from collections.abc import Iterator

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
    r"Traceback |(?:[\w.-]+@[\w.-]+[^\n$#%>]*|~[^\n$#%>]*|[A-Z]:\\[^>\n]*|)[$%#>❯] ?\S|\s+at \S+\(|panic: "
)


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


def pasted_lines(text: str) -> int:
    """How many lines look like a terminal's, a log's or a stack's."""
    if "\n" not in text:
        return 0
    return sum(bool(_PASTED_LINE.match(line)) for line in text[:LONGEST].split("\n"))
