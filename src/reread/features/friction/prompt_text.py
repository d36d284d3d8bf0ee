"""The text of prompts: a person's own words without what was pasted or quoted, and how alike two prompts are."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from math import ceil
from typing import NamedTuple, overload
from zlib import crc32

from reread import lazy
from reread.features.word_tables import table
from reread.sessions import Speaker as Speaker

LONGEST_PROSE = 4000
"""Characters of a prompt that are examined: a longer one was pasted."""

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
    """The person's own words. All patterns here are linear and examine no more than a few thousand characters."""
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
    """The lines that were typed, without pasted ones; after a shell prompt or a stack trace, no line counts as
    typed."""
    is_output = False
    for line in text.split("\n"):
        if _PASTED_LINE.match(line):
            is_output = is_output or _BEGINS_OUTPUT.match(line) is not None
        elif not is_output:
            yield line


class Paste(NamedTuple):
    """The parts of a prompt that were pasted."""

    lines: int = 0
    """Lines that are not empty."""
    output: int = 0
    """Lines of a terminal, a log, a stack trace or a program's result."""
    code: int = 0
    """Lines of a source file."""
    document: int = 0
    """Lines of headings, lists and tables: written by a person, not a program."""
    has_prompt: bool = False
    """Whether there is a shell prompt with a command after it."""
    has_stack: bool = False
    has_fault: bool = False
    """Whether the output contains an error, a refusal or a failure."""


KINDS_OF_LINE = {
    name: lazy.pattern("\n".join(entry.lines), re.VERBOSE) for name, entry in table("friction/words", "lines").items()
}
"""How a line begins that was not typed, the surest first."""
_OUTPUT_AMID = lazy.pattern(
    r"\b(?:\d+(?:\.\d+)?\s?(?:ms|µs|ns|MB|kB|KB|GB|MiB|KiB|B/s|%)\b|[0-9a-f]{12,40}\b|0x[0-9a-f]{4,})"
    r"|\b\d{1,2}:\d\d:\d\d\b|\s{4,}\S+\s{2,}\S|\S\s{3,}\S.*\S\s{3,}\S|\s->\s\S+$"
)
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
"""A line that announces output in the lines after it."""
_REFERENCE = lazy.pattern(
    r"<ide_(?:opened_file|selection)>.*?(?:</ide_(?:opened_file|selection)>|\Z)|\b(?:https?|file)://\S+"
    r"|(?<!\S)@[\w.~/\\-]*[/.][\w.~/\\-]*(?:[:#]L?\d+(?:-L?\d+)?)?",
    re.DOTALL,
)
"""What an editor adds and what a person points to: a file, a page. None of it is output."""
_MODEL = lazy.pattern(
    r"(?i)\b(?:examples?|templates?|formats?|layouts?|mock-?ups?|samples?|like (?:this|so|the following)|looks? like"
    r"|such as|similar to|wie folgt|comme ceci|así)\b[^\n]{0,40}:\s*$"
)
"""A line that announces what is to be imitated."""
_FEWEST_TYPED = 6
_MOST_LINES = 40
"""Lines that are looked at, of the beginning and of the end: a long paste is the same all through."""
_LONGEST_QUOTE = 1500


_MACHINE_MARKS = ":/$%>[]{}=│❯➜_*~"
"""A single line without any of these was typed."""
_TYPED = Paste(lines=1)


def paste_of(text: str) -> Paste:
    """Which parts of a prompt were pasted. Linear, and no more than a few thousand characters are examined."""
    if "\n" not in text and not any(map(text.__contains__, _MACHINE_MARKS)):
        return _TYPED
    text = text[:LONGEST_PROSE]
    if "@" in text or "://" in text or "<ide_" in text:
        text = _REFERENCE.sub("…", text)
    lines = [line for line in text.split("\n") if line.strip()]
    lines = lines if len(lines) <= _MOST_LINES else lines[: _MOST_LINES // 2] + lines[-_MOST_LINES // 2 :]
    kinds = list(_kinds_of(lines))
    output = [line for line, kind in zip(lines, kinds, strict=True) if kind in _OUTPUT]
    return Paste(
        lines=len(lines),
        output=len(output),
        code=kinds.count("code"),
        document=kinds.count("document"),
        has_prompt="prompt" in kinds,
        has_stack="stack" in kinds,
        has_fault=any(map(_FAULT.search, output)),
    )


_OUTPUT = ("prompt", "stack", "output")


def _kinds_of(lines: Iterable[str]) -> Iterator[str]:
    """The kind of each line: what follows a prompt, a stack or an announcement is output, whatever it looks like; what
    follows a line that announces a model is none."""
    is_below = is_model = False
    for line in lines:
        kind = _kind_of_line(line)
        announces = kind == "typed" and line.rstrip().endswith((":", "："))
        is_model = is_model or (announces and _MODEL.search(line[-120:]) is not None)
        if is_model and kind in _OUTPUT:
            kind = "document"
        if kind in ("prompt", "stack"):
            is_below = True
        elif is_below and (kind != "typed" or len(line.split()) < _FEWEST_TYPED):
            kind = "output"
        elif kind == "typed":
            is_below = announces and _ANNOUNCES.search(line[-120:]) is not None
        yield kind


def _kind_of_line(line: str) -> str:
    line = line[:400]
    if line.lstrip().startswith("> ") and (bare := line.lstrip()[2:]).strip():
        line = bare if _kind_of_line(bare) != "typed" else line
    for kind, pattern in KINDS_OF_LINE.items():
        if pattern.match(line):
            return kind
    is_typed = _TYPED_LINE.search(line) is not None
    return "output" if not is_typed and _OUTPUT_AMID.search(line) else "typed"


_ERROR_AMID = lazy.pattern(
    r"(?:(?:Error|Exception)\b: ?\S|\b(?i:error|fatal|exception)(?i: message)?: ?['\"`]?\S+ \S+"
    r"|\b(?i:exit code|exit status) [1-9]"
    r"|(?i:command not found|permission denied \(|no such file or directory|is not recognized as|cannot find"
    r" module|segmentation fault)"
    r"|\berror (?:TS|E)\d+)"
)


_ERROR_SEEDS = table("friction/words", "pieces")["quoted_error"].pieces


def quoted_error(text: str) -> bool:
    """Whether a text contains the words of an error: `now I get TypeError: x is not a function`."""
    looked_at = text[:_LONGEST_QUOTE]
    return any(map(looked_at.__contains__, _ERROR_SEEDS)) and _ERROR_AMID.search(looked_at) is not None


Sketch = tuple[int, ...]
"""Hashes of 32 bits, in ascending order."""

SIZE = 24
_ODD = 0x9E3779B1
LONGEST = 600
"""Characters of a prompt that are examined: what follows is pasted."""
_WORDS = lazy.pattern(r"[^\W_]+(?:['’][^\W_]+)?")
_SPACED = {code: " " for code in range(128) if not chr(code).isalnum() and chr(code) != "'"}
_WITHOUT_SPACES = lazy.pattern(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]{2,}")
_SAYS_LITTLE = frozenset(table("friction/words", "lists")["says_little"].words)


@lru_cache(maxsize=256)
def words_of(text: str) -> tuple[str, ...]:
    """The words that show what a prompt is about; for scripts without spaces, pairs of characters."""
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
    """The sketch of a text; empty if it says too little to be compared with others."""
    return sketch_of_words(words_of(text))


def sketch_of_words(words: Sequence[str]) -> Sketch:
    single = [crc32(word.encode()) for word in words]
    pairs = [(one * _ODD ^ other) & 0xFFFFFFFF for one, other in pairwise(single)]
    return tuple(sorted({*single, *pairs})[:SIZE])


def likeness(one: Sketch, other: Sketch) -> float:
    """From 0 to 1: the share of all hashes of both that both have."""
    if not one or not other:
        return 0.0
    mine, theirs = set(one), set(other)
    if len(one) < SIZE and len(other) < SIZE:  # neither sketch was cut
        shared = len(mine & theirs)
        return shared / (len(mine) + len(theirs) - shared)
    both = mine | theirs
    # A sketch of full size was cut: which hashes its text has above its largest one is unknown.
    limit = min((each[-1] for each in (one, other) if len(each) == SIZE), default=None)
    seen = both if limit is None else {value for value in both if value <= limit}
    return len(mine & theirs & seen) / len(seen)


class PackedSketches(Sequence[Sketch]):
    """Many sketches at four bytes per hash: as tuples they take ten times as much memory."""

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
        """One number per sketch that identifies it: a hash of 64 bits."""
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


def _most_alike(sketch: Sketch, leaders: Iterable[int], sketches: PackedSketches, alike: float) -> int | None:
    """The leader most like a sketch, if one is alike enough; on a tie, the last."""
    shared_with, size = frozenset(sketch).intersection, len(sketch)
    best: tuple[int, float] | None = None
    for number in leaders:
        other = sketches[number]
        # The hashes of both together are at least as many as those of either, so most leaders can be skipped early.
        if len(shared_with(other)) < alike * max(size, len(other)):
            continue
        found = likeness(sketch, other)
        if found >= alike and (best is None or found >= best[1]):
            best = number, found
    return best[0] if best is not None else None


def grouped(sketches: PackedSketches, alike: float) -> list[list[int]]:
    """Groups of numbers of similar sketches, each with its first one in front. A sketch without a similar one is in
    none."""
    names = sketches.names()
    first: dict[int, int] = {}
    for number, name in enumerate(names):
        first.setdefault(name, number)
    often = _Frequency((value for number in first.values() for value in sketches[number]), SIZE * len(first))
    led = bytearray(len(sketches))
    """Which sketches follow another."""
    holders: dict[int, list[int]] = {}
    groups: dict[int, list[int]] = {}
    for number, name in enumerate(names):
        leader: int | None = first[name]
        # An exact copy of a leader follows that leader: if another were similar enough, that one would not lead.
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
    """In how many sketches a hash occurs, equal sketches counted once. The number may be too high where two hashes
    share a place: an exact count of each would take more memory than the sketches. So an unshared hash may look shared,
    but never the other way round; and the order of hashes is the same for all sketches, as `rarest` needs.
    """

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

    def rarest(self, sketch: Sketch, alike: float) -> list[int]:
        """The hashes of which two similar sketches must share at least one: the rarest ones, so many that the others
        alone would not make two sketches similar. Hashes that no other sketch has cannot be shared: most texts have
        enough of them."""
        counts, mask = self._counts, self._mask
        found = [value for value in sketch if counts[value & mask] > 1]
        enough = len(sketch) - ceil(alike * len(sketch) - 1e-9) + 1
        unshared = len(sketch) - len(found)
        return sorted(found, key=self.of)[: enough - unshared] if unshared < enough else []
