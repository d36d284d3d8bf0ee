"""Matches a regular expression against many texts, with a limit on the time that each text may take.

A pattern like `(a|aa)+$` takes more than a lifetime on sixty letters, and Python's own `re` cannot be interrupted, so
the package `regex` matches, which stops itself. `re` only takes patterns apart.

If every match must contain certain words, the index is asked for texts with those words first; texts that are not fully
indexed are tried in any case. Many texts are read and tried on all processors: a share says where they are in the safe.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple
from zlib import adler32, crc32

from reread import lazy
from reread.errors import BadInput, SafeDamaged, printable
from reread.index.read import FileBlocks, Match, Possible, StoredPiece
from reread.index.safe_reader import IN_ORDER, SafeLines
from reread.index.text_index import text_at
from reread.lazy import TYPE_CHECKING
from reread.safe.safe import Safe
from reread.workers import in_shares, keep_freed_memory, share_out

from .search_language import regex

if TYPE_CHECKING:
    import pickle

    import regex as bounded_re

    from reread.index.words import TermList
else:  # not needed to search for words
    lazy.bind(globals())

PATIENCE = 1.0
"""Seconds that one text may take."""
MOST_SKIPPED = 20
"""How many texts may take too long before the search stops: by then the pattern is at fault, not the texts."""
MOST_SPANS = 50
_MOST_OPTIONS = 8
_SHORTEST = 3
_ONE = re.compile(r"\\.|\[\^?\]?(?:[^]\\]|\\.)*+\]|.", re.DOTALL)
"""A character, an escaped one, or a class."""
_TIMES = re.compile(r"(?:(?P<sign>[*+?])|\{(?P<least>\d*)(?P<or_more>,?\d*)\})[?+]?")
_UNREADABLE = re.compile(r"\(\?(?:#|\w*x)")
"""A comment, or the flag that allows more of them: a bracket in one is none."""
_NUMBERED = frozenset("xuUN0123456789")
"""Characters after a backslash that give a letter by its number or name."""
_SPACES = frozenset("sntrfvAZ")
"""Characters after a backslash that mean a space, or the beginning or end of the text."""
_MOSTLY_NO_LETTER = (r"\b", r"\W")
"""A word after one of these also begins a word of the index, except in texts that are only partly indexed; a word
before one may go on in the index."""
_SPECIAL = frozenset(".+?*{|)[(\\")
_MOST_TERMS = 500
"""The most words of the index with the same letters to ask for; of more words, most texts would contain one."""


class Part(NamedTuple):
    """A character, class or group of a pattern, and how often it occurs at least."""

    text: str
    least: int = 1
    is_exact: bool = True


def _parts(pattern: str) -> list[Part]:
    """The parts of a pattern one after the other; empty if it cannot be cut into them."""
    found: list[Part] = []
    place = 0
    while place < len(pattern) and _UNREADABLE.search(pattern) is None:
        end = _end_of_part(pattern, place)
        text = pattern[place:end]
        if not text or (text[0] == "\\" and text[1:] in _NUMBERED):
            return []
        times = _TIMES.match(pattern, end)
        if times is None:
            found.append(Part(text))
        elif times["sign"]:
            found.append(Part(text, int(times["sign"] == "+"), is_exact=False))
        else:
            found.append(Part(text, int(times["least"] or 0), is_exact=not times["or_more"]))
        place = end if times is None else times.end()
    return found


def _end_of_part(pattern: str, start: int) -> int:
    """The place behind a character, a class or a group; the start if its parenthesis is never closed."""
    depth = 0
    for one in _ONE.finditer(pattern, start):
        depth += (one[0] == "(") - (one[0] == ")")
        if not depth:
            return one.end()
    return start


class RequiredWord(NamedTuple):
    """Letters and digits that every match of a pattern contains."""

    letters: str
    begins: bool
    """Whether a word of the index begins with them."""
    ends: bool
    """Whether that word also ends with them."""


def required_words(pattern: str) -> list[list[RequiredWord]]:
    """A row of words for each alternative of a pattern; empty if any alternative has none. The content of groups is
    left out."""
    rows: list[list[RequiredWord]] = [[]]
    run: list[str] = []
    begins = is_behind = False  # whether what precedes the run, or the next one, is not part of a word

    def end(*, is_cut: bool) -> None:
        if run:
            rows[-1].append(RequiredWord("".join(run), begins, is_cut))
            run.clear()

    for part in _parts(pattern):
        is_there = part.least > 0
        if is_there and part.text.isascii() and part.text.isalnum():
            begins = begins if run else is_behind
            run.append(part.text)
            is_behind = False
            if part != Part(part.text):
                end(is_cut=False)
            continue
        is_no_letter = is_there and _is_no_letter(part.text)
        end(is_cut=is_no_letter)
        is_behind = is_no_letter or (is_there and part.text in _MOSTLY_NO_LETTER)
        if part.text == "|":
            rows.append([])
    end(is_cut=False)
    return rows if len(rows) <= _MOST_OPTIONS and all(rows) else []


def _is_no_letter(text: str) -> bool:
    """Whether a part of a pattern matches only what is not part of a word, in the index as elsewhere."""
    if text[0] == "\\":
        return text[1:] in _SPACES or (text[1:].isascii() and not text[1:].isalnum())
    return len(text) == 1 and text.isascii() and not text.isalnum() and text not in _SPECIAL


def possible(rows: Sequence[Sequence[RequiredWord]], terms: TermList | None) -> Possible | None:
    """The required words as a query of the index, which finds every fully indexed text that the pattern matches. None
    if that could be any text.

    If a required word begins a word of the index, it is asked for as it is; otherwise all words of the index that
    contain its letters are.
    """
    asked = [_begun(row) + _held(row, terms) for row in rows]
    if not asked or not all(asked):
        return None
    expression = " OR ".join(f"({' AND '.join(row)})" for row in asked)
    return Possible(expression, terms.first, terms.last) if terms is not None else Possible(expression)


def needs_terms(rows: Sequence[Sequence[RequiredWord]]) -> bool:
    """Whether the query of the index would be narrower with the list of all words."""
    return not all(map(_begun, rows)) and all(_begun(row) or any(map(_is_long, row)) for row in rows)


def _begun(row: Sequence[RequiredWord]) -> list[str]:
    words = (word for word in row if word.begins and (_is_long(word) or (word.ends and not word.letters.isdigit())))
    return [f'"{word.letters}"' if word.ends else f'"{word.letters}" *' for word in words]


def _held(row: Sequence[RequiredWord], terms: TermList | None) -> list[str]:
    """If no word of the index contains the letters, the result is an empty string, which the index never finds."""
    if terms is None:
        return []
    inside = [word.letters.lower() for word in row if _is_long(word) and not word.begins]
    listed = [terms.having(letters, _MOST_TERMS) for letters in inside]
    return [_any_of(each) for each in listed if each is not None]


def _any_of(terms: Iterable[str]) -> str:
    quoted = [f'"{term}"' for term in terms] or ['""']
    return f"({' OR '.join(quoted)})"


def _is_long(word: RequiredWord) -> bool:
    """Whether a word is worth asking for. Numbers are not: they may be line numbers of a file, which are not
    indexed."""
    return len(word.letters) >= _SHORTEST and not word.letters.isdigit()


class Tried(NamedTuple):
    """The result of trying a pattern on one text."""

    is_found: bool
    spans: tuple[tuple[int, int], ...] = ()
    """Where the first matches are, without empty ones."""
    took_too_long: bool = False


class BoundedPattern:
    """A regular expression with a time limit for each text. Raises BadInput for an invalid pattern."""

    def __init__(self, pattern: str, patience: float = PATIENCE) -> None:
        self.pattern = pattern
        flags = regex(pattern).flags
        self._compiled = _bounded(pattern)
        self._patience = patience
        self.words = [] if flags & re.ASCII else required_words(pattern)
        """Words to ask the index for, which ignores case. Empty for an ASCII pattern, to which words end elsewhere."""
        self.skipped = 0
        """How many texts took too long."""

    @property
    def has_given_up(self) -> bool:
        return self.skipped >= MOST_SKIPPED

    def try_each(self, texts: Iterable[str]) -> Iterator[Tried]:
        """One answer for each text, in order; fewer if it gave up."""
        for text in texts:
            if self.has_given_up:
                return
            yield self._try(text)

    def _try(self, text: str) -> Tried:
        is_found, spans = False, []
        try:
            for match in self._compiled.finditer(text, timeout=self._patience):
                is_found = True
                if match.end() > match.start():
                    spans.append(match.span())
                    if len(spans) == MOST_SPANS:
                        break
        except TimeoutError:
            self.skipped += 1
            return Tried(is_found=False, took_too_long=True)
        return Tried(is_found, tuple(spans))


def _bounded(pattern: str) -> bounded_re.Pattern[str]:
    try:
        return bounded_re.compile(pattern, bounded_re.MULTILINE)
    except bounded_re.error as error:
        raise BadInput(f"{printable(pattern)!r} is not a regular expression: {error}") from error


SHARE, SHARE_OF_POSSIBLE = 1_500, 300
"""Texts in one share; fewer if the index named them, because then nearly all have to be decoded."""
FEW = 4
"""With fewer shares than this no other process is started, because that takes as long as trying one share."""
MANY = 96_000
"""How many texts are handed out together; limited because their places are held in memory."""


TextSums = tuple[int, int, int]
"""Length and two checksums, which together with the id of the line identify a text."""


class ReadText(NamedTuple):
    """A text as it was written, and where a pattern matched it."""

    match: Match
    uuid: str | None
    text: str
    spans: tuple[tuple[int, int], ...] = ()
    left_out: TextSums | None = None
    """Takes the place of the text if it is only counted."""

    @classmethod
    def of(cls, match: Match, line: bytes) -> ReadText | None:
        found = text_at(match.kind, line, match.part)
        return cls(match, found.uuid, found.text) if found is not None else None

    @property
    def sums(self) -> TextSums:
        if self.left_out is not None:
            return self.left_out
        words = self.text.encode("utf-8", "surrogatepass")
        return len(words), crc32(words), adler32(words)

    def says_the_same_as(self, other: ReadText) -> bool:
        if self.left_out is None and other.left_out is None:
            return self.text == other.text
        return self.sums == other.sums

    def without_text(self) -> ReadText:
        return self._replace(text="", left_out=self.sums)


class TextsOfFile(NamedTuple):
    pieces: list[StoredPiece]
    blocks: FileBlocks


class TextShare(NamedTuple):
    """Texts to be tried together by one process."""

    pattern: str
    safe: Path
    files: list[TextsOfFile]
    shown: int
    """How many of the matching texts, not counting copies, are returned with their text; the rest are only counted."""

    @property
    def size(self) -> int:
        return sum(len(each.blocks.rows) for each in self.files)


class ShareTried(NamedTuple):
    found: list[ReadText]
    skipped: int
    """Texts that took too long."""
    unreadable: int


def shares(
    every: Iterable[TextsOfFile], pattern: str, safe: Path, shown: int, *, are_possible: bool
) -> Iterator[TextShare]:
    """Texts in their order, cut into shares; smaller ones if the index named the texts."""
    size = SHARE_OF_POSSIBLE if are_possible else SHARE
    files: list[TextsOfFile] = []
    room = size
    for pieces, blocks in every:
        rows = blocks.rows
        while rows:
            files.append(TextsOfFile(pieces, blocks._replace(rows=rows[:room])))
            rows, room = rows[room:], max(room - len(rows), 0)
            if not room:
                yield TextShare(pattern, safe, files, shown)
                files, room = [], size
    if files:
        yield TextShare(pattern, safe, files, shown)


def try_shares(every: Iterator[TextShare], bounded: BoundedPattern) -> Iterator[ShareTried]:
    """The answers in the order of the shares; fewer if the pattern was given up."""
    keep_freed_memory()
    for together in in_shares(every, attrgetter("size"), MANY):
        if bounded.has_given_up:
            return
        if len(together) < FEW:
            yield from _in_turn(together, range(len(together)), bounded).values()
        else:
            yield from _on_all_processors(together, bounded)


def _on_all_processors(together: Sequence[TextShare], bounded: BoundedPattern) -> Iterator[ShareTried]:
    def work(numbers: Iterator[int]) -> dict[int, ShareTried]:
        return _in_turn(together, numbers, BoundedPattern(bounded.pattern))

    answers: dict[int, ShareTried] = {}
    for part in share_out(len(together), work, pickle.dumps, pickle.loads):
        answers.update(part)
    for number in range(len(together)):
        if bounded.has_given_up:
            return
        bounded.skipped += answers[number].skipped
        yield answers[number]


def _in_turn(together: Sequence[TextShare], numbers: Iterable[int], bounded: BoundedPattern) -> dict[int, ShareTried]:
    """Tries the shares. After giving up it still takes the remaining numbers, so that no other process tries them."""
    return {number: _try_share(together[number], bounded) for number in numbers if not bounded.has_given_up}


def _try_share(share: TextShare, bounded: BoundedPattern) -> ShareTried:
    reader, before = _ShareReader(share, bounded), bounded.skipped
    found: list[ReadText] = []
    shown: set[tuple[str | None, TextSums]] = set()
    for answer in bounded.try_each(reader.texts()):
        read = reader.waiting.popleft()
        if answer.is_found:
            is_shown = len(shown) < share.shown
            shown.add((read.uuid, read.sums))
            found.append(read._replace(spans=answer.spans) if is_shown else read.without_text())
    return ShareTried(found, bounded.skipped - before, reader.unreadable)


class _ShareReader:
    """The texts of a share, read one after the other."""

    def __init__(self, share: TextShare, bounded: BoundedPattern) -> None:
        self._share = share
        self._bounded = bounded
        self.waiting: deque[ReadText] = deque()
        """What was handed out and has no answer yet."""
        self.unreadable = 0

    def texts(self) -> Iterator[str]:
        lines = SafeLines(Safe(self._share.safe), IN_ORDER)
        for pieces, blocks in self._share.files:
            for row in blocks.rows:
                _, _, offset, length, *_ = row
                try:
                    line = lines.line(pieces, offset, length)
                except SafeDamaged:
                    self.unreadable += 1
                    continue
                read = ReadText.of(blocks.match(row), line)
                if read is not None:
                    self.waiting.append(read)
                    yield read.text
