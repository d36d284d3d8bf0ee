"""Regular expressions held against many texts, with a bound on the time that each may take.

A pattern like `(a+)+$` takes longer than a life on forty letters, and nothing in Python can interrupt it from another
thread: what may take long is tried in a process of its own, which is ended when a text takes too long. Patterns that
repeat nothing cannot, and are tried here: starting a process takes as long as searching some thousand texts.

Many texts are read and tried by all processors: a share of them is where they lie in the safe, and needs no index.
"""

from __future__ import annotations

import os
import queue
import re
import struct
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from functools import lru_cache
from itertools import chain, islice
from pathlib import Path
from types import TracebackType
from typing import IO, Self
from zlib import adler32, crc32

from reread.errors import SafeDamaged
from reread.features.search_text import Field
from reread.index.read import Match, StoredPiece
from reread.index.safe_reader import SafeLines
from reread.index.text_index import text_at
from reread.lazy import NamedTuple
from reread.safe.safe import Safe
from reread.workers import in_order, is_safe_to_fork

from .search_language import FIELDS, regex

PATIENCE = 1.0
"""Seconds that a text may take."""
MOST_SKIPPED = 20
"""Texts that may take too long before the rest is left alone: the pattern is at fault, not the texts."""
MOST_SPANS = 50
BATCH = 200
_REPEATS = re.compile(r"[*+{]")
_MOST_OPTIONS = 8
_COUNT = struct.Struct("<i")
_START = 10.0
"""Seconds that the process may take to be there, on a machine at its limits."""

_WORKER = """
import re, struct
count = struct.Struct("<i")
source, sink = open(0, "rb"), open(1, "wb")
def texts():
    while True:
        head = source.read(4)
        if len(head) < 4:
            return
        yield source.read(count.unpack(head)[0]).decode("utf-8", "surrogatepass")
said = texts()
pattern, most = re.compile(next(said), re.MULTILINE), int(next(said))
sink.write(count.pack(0))
sink.flush()
for number in said:
    batch = [next(said) for _ in range(int(number))]
    for text in batch:
        found = None
        spans = []
        for found in pattern.finditer(text):
            if found.end() > found.start():
                spans += found.span()
                if len(spans) >= 2 * most:
                    break
        sink.write(count.pack(-1 if found is None else len(spans)) + b"".join(map(count.pack, spans)))
        sink.flush()
"""


_SHORTEST = 3
_COUNTED = re.compile(r"\{\d*,?\d*\}")
_CLASS = re.compile(r"\[\^?\]?(?:[^]\\]|\\.)*+\]", re.DOTALL)
_NUMBERED = frozenset("xuUN0123456789")
"""What a backslash may be followed by that says a letter by its number or its name."""


def required_words(pattern: str) -> tuple[bytes, ...]:
    """Letters and digits that whatever a pattern matches holds, the longest first: a text without them need not be
    tried. What stands in groups is left out, and nothing is known of a pattern with alternatives or other flags."""
    found: list[str] = []
    run: list[str] = []

    def end() -> None:
        found.extend(["".join(run)] if len(run) >= _SHORTEST else [])
        run.clear()

    place = 0
    while place < len(pattern):
        letter, step = pattern[place], 1
        if letter.isascii() and letter.isalnum():
            run.append(letter)
            place += 1
            continue
        if letter in "?*{":  # the letter before it may be missing
            del run[-1:]
            counted = _COUNTED.match(pattern, place)
            step = len(counted[0]) if counted is not None else 1
        elif letter == "\\":
            step = 2
        elif letter in "[(":
            skipped = _end_of_class(pattern, place) if letter == "[" else _end_of_group(pattern, place)
            step = skipped - place
        if letter == "|" or step <= 0 or (letter == "\\" and pattern[place + 1 : place + 2] in _NUMBERED):
            return ()
        end()
        place += step
    end()
    return tuple(word.encode() for word in sorted(found, key=len, reverse=True))


def _end_of_class(pattern: str, start: int) -> int:
    found = _CLASS.match(pattern, start)
    return found.end() if found is not None else start


def _end_of_group(pattern: str, start: int) -> int:
    """Behind its parenthesis; its beginning where it has none."""
    place, depth = start + 1, 1
    while place < len(pattern):
        letter = pattern[place]
        if letter == "\\":
            place += 2
            continue
        if letter == "[":
            place = max(place + 1, _end_of_class(pattern, place))
            continue
        depth += (letter == "(") - (letter == ")")
        place += 1
        if not depth:
            return place
    return start


class Tried(NamedTuple):
    """What a pattern says of one text."""

    is_found: bool
    spans: tuple[tuple[int, int], ...] = ()
    """Where it was found, the first few; matches of nothing are not among them."""
    took_too_long: bool = False


class BoundedPattern:
    """A regular expression with a time limit for each text. Raises BadInput for an invalid pattern."""

    def __init__(self, pattern: str, patience: float = PATIENCE) -> None:
        self.pattern = pattern
        self._compiled = regex(pattern)
        self._patience = patience
        self._is_quick = not _REPEATS.search(pattern) and pattern.count("?") <= _MOST_OPTIONS
        self._worker: _Worker | None = None
        is_plain = not self._compiled.flags & (re.IGNORECASE | re.VERBOSE)
        self.required = required_words(pattern) if is_plain else ()
        self.skipped = 0
        """Texts that took too long."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def has_given_up(self) -> bool:
        return self.skipped >= MOST_SKIPPED

    def try_each(self, texts: Iterable[str]) -> Iterator[Tried]:
        """One answer for each text, in their order; fewer where it gave up."""
        if self._is_quick:
            yield from (_tried(self._compiled, text) for text in texts)
            return
        every = iter(texts)
        try:
            while (batch := list(islice(every, BATCH))) and not self.has_given_up:
                yield from self._try_batch(batch)
        except BaseException:  # its answers to the rest of the batch would be taken for those to other texts
            self.close()
            raise

    def close(self) -> None:
        if self._worker is not None:
            self._worker.end()
            self._worker = None

    def _try_batch(self, batch: Sequence[str]) -> Iterator[Tried]:
        while batch and not self.has_given_up:
            self._worker = self._worker or _Worker(self._compiled.pattern)
            self._worker.send(batch)
            for done in range(len(batch)):
                answer = self._worker.receive(self._patience)
                if answer is None:
                    batch = batch[done + 1 :]
                    break
                yield answer
            else:
                return
            self.skipped += 1
            self.close()
            yield Tried(is_found=False, took_too_long=True)


def _tried(compiled: re.Pattern[str], text: str) -> Tried:
    found = list(islice(compiled.finditer(text), MOST_SPANS))
    return Tried(bool(found), tuple(match.span() for match in found if match.group()))


class _Worker:
    """A process that holds one pattern against texts; it is sent them in batches and answers one by one."""

    def __init__(self, pattern: str) -> None:
        self._process = subprocess.Popen(  # noqa: S603  our own program
            [sys.executable, "-I", "-S", "-c", _WORKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._answers: queue.SimpleQueue[Tried | None] = queue.SimpleQueue()
        assert self._process.stdin is not None and self._process.stdout is not None  # noqa: S101  both are pipes
        self._input: IO[bytes] = self._process.stdin
        self._listener = threading.Thread(target=self._hear, args=(self._process.stdout,), daemon=True)
        self._listener.start()
        self._write([pattern, str(MOST_SPANS)])
        self.receive(_START)

    def send(self, batch: Sequence[str]) -> None:
        """The process reads all of it before it tries any: neither waits for the other."""
        self._write([str(len(batch)), *batch])

    def receive(self, seconds: float) -> Tried | None:
        """The next answer; None where there is none in time."""
        try:
            return self._answers.get(timeout=seconds)
        except queue.Empty:
            return None

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        self._input.close()
        self._listener.join()

    def _write(self, texts: Iterable[str]) -> None:
        said = [text.encode("utf-8", "surrogatepass") for text in texts]
        try:
            self._input.write(b"".join(_COUNT.pack(len(each)) + each for each in said))
            self._input.flush()
        except OSError:  # it is gone, and will not answer
            self._answers.put(None)

    def _hear(self, output: IO[bytes]) -> None:
        with output:
            while len(head := output.read(_COUNT.size)) == _COUNT.size:
                (number,) = _COUNT.unpack(head)
                numbers = struct.unpack(f"<{max(0, number)}i", output.read(_COUNT.size * max(0, number)))
                self._answers.put(Tried(number >= 0, tuple(zip(numbers[::2], numbers[1::2], strict=True))))
        self._answers.put(None)


SHARE = 1_500
"""Texts that are read and tried in one go."""
FEW = 6
"""Shares for which no processes are started: that takes as long as trying two of them."""


TextSums = tuple[int, int, int]
"""Length and two checksums: with the id of the line they tell texts apart."""


class ReadText(NamedTuple):
    """A text as it was written, and where a pattern was found in it."""

    match: Match
    uuid: str | None
    text: str
    spans: tuple[tuple[int, int], ...] = ()
    left_out: TextSums | None = None
    """Stand for the text, where it is only counted."""

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

    def without_text(self) -> ReadText:
        return self._replace(text="", left_out=self.sums)


class TextsOfFile(NamedTuple):
    pieces: list[StoredPiece]
    matches: list[Match]


class TextShare(NamedTuple):
    """Texts for one process."""

    pattern: str
    safe: Path
    files: list[TextsOfFile]
    shown: int
    """So many of the found ones are handed back with their text, copies apart; the others are counted."""


class ShareTried(NamedTuple):
    found: list[ReadText]
    skipped: int
    """Texts that took too long."""
    unreadable: int


def shares(
    matches: Iterable[tuple[Match, list[StoredPiece]]], pattern: str, safe: Path, shown: int
) -> Iterator[TextShare]:
    """Matches with the pieces of their file, in their order, cut into shares."""
    every = iter(matches)
    while taken := list(islice(every, SHARE)):
        files: list[TextsOfFile] = []
        for match, pieces in taken:
            if not files or files[-1].pieces is not pieces:
                files.append(TextsOfFile(pieces, []))
            files[-1].matches.append(match)
        yield TextShare(pattern, safe, files, shown)


def try_shares(every: Iterable[TextShare], bounded: BoundedPattern) -> Iterator[ShareTried]:
    """The answers in the order of the shares; fewer where the pattern was given up."""
    waiting = iter(every)
    first = list(islice(waiting, FEW))
    is_much = len(first) == FEW and (os.cpu_count() or 1) > 1
    yield from (_try_on_all_processors if is_much else _try_here)(chain(first, waiting), bounded)


def _try_here(every: Iterator[TextShare], bounded: BoundedPattern) -> Iterator[ShareTried]:
    for share in every:
        if bounded.has_given_up:
            return
        yield _try_share(share, bounded)


def _try_on_all_processors(every: Iterator[TextShare], bounded: BoundedPattern) -> Iterator[ShareTried]:
    """Only where a fork will do: other ways run the caller's script again, and cost more than they save."""
    if not is_safe_to_fork():
        yield from _try_here(every, bounded)
        return
    with closing(in_order(_try_in_worker, every, 2 * (os.cpu_count() or 1))) as tried:
        for _, answer in tried:
            bounded.skipped += answer.skipped
            yield answer
            if bounded.has_given_up:
                return


@lru_cache(maxsize=1)
def _own_pattern(pattern: str) -> BoundedPattern:
    """One for each worker: starting its process takes as long as a share."""
    return BoundedPattern(pattern)


def _try_in_worker(share: TextShare) -> ShareTried:
    return _try_share(share, _own_pattern(share.pattern))


def _try_share(share: TextShare, bounded: BoundedPattern) -> ShareTried:
    reader, before = _ShareReader(share, bounded.required), bounded.skipped
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
    """The texts of a share, but for those that certainly lack a word that is required."""

    def __init__(self, share: TextShare, required: tuple[bytes, ...]) -> None:
        self._share = share
        self._required = required
        self.waiting: deque[ReadText] = deque()
        """What was handed out and is not answered."""
        self.unreadable = 0

    def texts(self) -> Iterator[str]:
        lines = SafeLines(Safe(self._share.safe))
        for pieces, matches in self._share.files:
            for match in matches:
                try:
                    line = lines.line(pieces, match.offset, match.length)
                except SafeDamaged:
                    self.unreadable += 1
                    continue
                if self._required and _lacks(match, line, self._required):
                    continue
                read = ReadText.of(match, line)
                if read is not None:
                    self.waiting.append(read)
                    yield read.text


_VERBATIM = frozenset(FIELDS.index(field) for field in (Field.TEXT, Field.THINKING, Field.TOOL))


def _lacks(match: Match, line: bytes, words: Iterable[bytes]) -> bool:
    """Whether a text certainly lacks a word, by its line. What a reply says stands in its line letter by letter, unless
    the writer gave letters by their numbers; what a person typed is put together from several places."""
    if match.field not in _VERBATIM or match.kind == "capture" or b'"assistant"' not in line or b"\\u00" in line:
        return False
    return any(word not in line for word in words)
