"""Text on a grid of character cells: colour, width, wrapping, tables, bars, and text that arrives in pieces."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cache

from reread import lazy
from reread.lazy import TYPE_CHECKING

from .numbers import duration, size

if TYPE_CHECKING:
    import json
    from typing import Any
else:  # for text that arrives in pieces
    lazy.bind(globals())

_CODES = {
    "bold": "1",
    "dim": "2",
    "italic": "3",
    "underline": "4",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "magenta": "35",
    "cyan": "36",
}
_ESCAPE = lazy.pattern(r"\x1b\[[0-9;]*m")

OBEYED = (
    r"\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    r"\U000e0000-\U000e007f"
)
"""Characters that a terminal obeys, and those that disguise a line: overrides of direction, invisible letters. Joiners
are not among them, because emoji and Persian need them. `str.isprintable` is false for each of these."""
_OBEYED = lazy.pattern(rf"[{OBEYED}](?:(?<=\x1b)\[[0-?]*[ -/]*[@-~])?")
"""One such character, or a whole escape sequence that sets colours or moves the cursor."""
_OBEYED_IN_ASCII = bytes([*range(0x09), *range(0x0B, 0x20), 0x7F])
MARKS = lazy.pattern(r"([\U000e0020-\U000e007f])")
"""Letters without a cell, which are in no text that was made harmless: within it they can say how it looks."""
UNFINISHED = lazy.pattern(r"\x1b(?:\[[0-?]*[ -/]*)?\Z")
"""An escape sequence at the end of a text, which the next piece may complete."""
_BREAKS = dict.fromkeys("\x0b\x0c\x85\u2028\u2029", "\n")
_LOOK = f"(?:{'|'.join(_CODES.values())})"
_FOREIGN = lazy.pattern(rf"[{OBEYED}\n](?<!\x1b(?=\[(?:0|{_LOOK}(?:;{_LOOK})*)m))")
"""Such a character, unless it begins a colour sequence of `Style`."""


class Style:
    """Colours text, or returns it unchanged if `colour` is off."""

    def __init__(self, colour: bool) -> None:
        self.colour = colour

    def paint(self, text: str, *looks: str) -> str:
        if not self.colour or not text or not looks:
            return text
        return f"\x1b[{';'.join(_CODES[look] for look in looks)}m{text}\x1b[0m"


def harmless(text: str) -> str:
    """Removes control characters, which a transcript may contain and a terminal would obey; tabs become spaces."""
    if text.isprintable():
        return text
    return tabbed(text).expandtabs(4)


def tabbed(text: str) -> str:
    """Like `harmless`, but keeps tabs."""
    if text.isascii() and len(raw := text.encode()) == len(raw.translate(None, _OBEYED_IN_ASCII)):
        return text  # five times as fast as the search, which took a fiftieth of a page's time
    return _OBEYED.sub(lambda found: _BREAKS.get(found[0], ""), text)


def without_controls(text: str) -> str:
    """For a program to read: removes the same characters, keeps tabs and newlines, converts nothing."""
    return _OBEYED.sub("", text)


_FORMULA = lazy.pattern(r"\s*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r\n]")


def csv_text(text: str) -> str:
    """A text for a cell of CSV. A spreadsheet would run `=cmd|...`, and texts come from anyone: an apostrophe makes it
    text."""
    text = without_controls(text)
    return f"'{text}" if _FORMULA.match(text) else text


def joined(parts: Iterable[str | None], between: str = " · ") -> str:
    """The parts that are not empty, as one text."""
    return between.join(part for part in parts if part)


def one_line(text: str) -> str:
    """A text on one line: harmless, with single spaces."""
    return " ".join(harmless(text).split())


_MARKDOWN_SIGN = lazy.pattern(r"[\\`*_\[\]<>]|~(?=~~)")


def inline_markdown(text: str) -> str:
    """A text as one line of Markdown, escaped."""
    return _MARKDOWN_SIGN.sub(r"\\\g<0>", one_line(text))


def without_templates(line: str) -> str:
    """A line of a note for Obsidian: Templater runs what follows `<%` anywhere in a file, even in code."""
    return line.replace("<%", "< %")


def printed(line: str) -> str:
    """A line that is safe to print: it keeps the colours of `Style` and nothing else that a terminal obeys.

    The last step before the terminal. Texts are made harmless where a line is built; this catches what was missed.
    """
    return _FOREIGN.sub("", line)


def cells(text: str) -> int:
    """How many character cells a text takes in a terminal."""
    text = _ESCAPE.sub("", text) if "\x1b" in text else text
    if text.isascii():
        return len(text)
    others = _BEYOND_ASCII.findall(text)
    return len(text) - len(others) + sum(map(_cell, others))


_BEYOND_ASCII = lazy.pattern(r"[^\x00-\x7f]")


@cache  # a long session calls it millions of times, for a few hundred characters
def _cell(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf") or _ends_a_syllable(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _ends_a_syllable(character: str) -> bool:
    """Whether it is a Korean vowel or final, which the consonant before it has room for. macOS writes file names so."""
    return "\u1160" <= character <= "\u11ff" or "\ud7b0" <= character <= "\ud7fb"


def shorten(text: str, width: int) -> str:
    """A text on one line, cut to a width."""
    line = one_line(text)
    if cells(line) <= width:
        return line
    return cut(line, max(0, width - 1)) + "…" if width > 0 else ""


def shorten_path(path: str, width: int) -> str:
    """A path on one line, cut at its beginning, because its end distinguishes it from its neighbours."""
    line = one_line(path)
    if cells(line) <= width or not ("/" in line or "\\" in line):
        return shorten(line, width)
    return "…" + ending(line, width - 1) if width > 0 else ""


def ending(text: str, width: int) -> str:
    """As much of the end of a text as fits."""
    start, room = len(text), width
    while start and (room := room - _cell(text[start - 1])) >= 0:
        start -= 1
    return text[after_split(text, start) :]


def clip(line: str, width: int) -> str:
    """A line that was built here, cut to a width; unlike `shorten` it keeps indentation and colours."""
    line = line.rstrip()
    if cells(line) <= width:
        return line
    return "".join(_cut_coloured(line, max(0, width - 1))) if "\x1b" in line else cut(line, max(0, width - 1)) + "…"


def _cut_coloured(line: str, room: int) -> Iterator[str]:
    """As much of a line as fits, and an ellipsis; all colours stay, so that each one ends."""
    start, is_cut = 0, False
    for escape in [*_ESCAPE.finditer(line), None]:
        whole = line[start : escape.start()] if escape is not None else line[start:]
        text = "" if is_cut else cut(whole, room)
        yield text
        if not is_cut and len(text) < len(whole):
            yield "…"
            is_cut = True
        room -= cells(text)
        if escape is not None:
            yield escape[0]
            start = escape.end()


def cut(text: str, width: int) -> str:
    """As much of a text as fits."""
    if text.isascii():
        return text[:width]
    used = 0
    for position, character in enumerate(text):
        used += _cell(character)
        if used > width:
            return text[: before_split(text, position)]
    return text


_JOINER = "\u200d"


def _is_inside(text: str, position: int, start: int = 0) -> bool:
    """Whether a cut here would split what is drawn as one: a letter and its accents, a flag, a joined emoji."""
    if not start < position < len(text):
        return False
    before, after = text[position - 1], text[position]
    if _is_flag_letter(before) and _is_flag_letter(after):
        letters = 1
        while position - letters > start and _is_flag_letter(text[position - letters - 1]):
            letters += 1
        return letters % 2 == 1
    return not _cell(after) or before == _JOINER or "\U0001f3fb" <= after <= "\U0001f3ff"


def _is_flag_letter(character: str) -> bool:
    """Two of them are drawn as the flag of a country."""
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def before_split(text: str, position: int, start: int = 0) -> int:
    """The last place up to this one where a cut splits nothing; `start` if there is none."""
    while _is_inside(text, position, start):
        position -= 1
    return position


def after_split(text: str, position: int) -> int:
    """The first place from this one on where a cut splits nothing."""
    while _is_inside(text, position):
        position += 1
    return position


def wrap(text: str, width: int) -> Iterator[str]:
    """Lines no wider than `width`, broken at spaces where there are any; indentation of code is kept."""
    width = max(4, width)
    for line in text.split("\n"):
        if line.isprintable():  # most are, and the check costs less than `harmless`
            yield from wrap_line(line.rstrip(), width)
        else:
            for part in harmless(line).split("\n"):
                yield from wrap_line(part.rstrip(), width)


def hanging(text: str, width: int, first: str, further: str) -> Iterator[str]:
    """A wrapped text whose first line begins with `first`, and each further one with `further`, which is as wide."""
    for number, line in enumerate(wrap(text, width - cells(further))):
        yield f"{further if number else first}{line}".rstrip()


def wrap_line(line: str, width: int) -> Iterator[str]:
    """Visits each character once, because a line may be a megabyte long."""
    is_ascii = line.isascii()
    start = 0
    while True:
        end = min(start + width, len(line)) if is_ascii else _fitting(line, start, width)
        if end >= len(line):
            yield line[start:]
            return
        space = line.rfind(" ", start, end + 1)
        if space > start and line[start:space].strip():
            yield line[start:space].rstrip()
            start = space
            while start < len(line) and line[start] == " ":
                start += 1
        else:
            yield line[start:end]
            start = end


def _fitting(line: str, start: int, width: int) -> int:
    """The position after the last character from `start` that fits; always at least one character on."""
    used = 0
    for position in range(start, len(line)):
        used += _cell(line[position])
        if used > width:
            whole = before_split(line, position, start)
            return whole if whole > start else max(position, start + 1)
    return len(line)


Shorten = Callable[[str, int], str]


def table(
    rows: Sequence[Sequence[str]],
    width: int,
    *,
    flexible: int,
    right: Collection[int],
    cut: Shorten = shorten,
    dispensable: Iterable[int] = (),
    least: int = 8,
) -> Iterator[str]:
    """Columns two spaces apart, those of `right` aligned to the right.

    Columns of `dispensable` are left out, in this order, until the flexible one has `least` cells. Then that one
    shrinks as far as it must, its cells shortened by `cut`, because a number that is cut is another number.
    """
    if not rows:
        return
    widths = [max(cells(row[column]) for row in rows) for column in range(len(rows[0]))]
    kept = _kept_columns(widths, width, flexible, dispensable, least)
    beside = sum(widths[column] + 2 for column in kept if column != flexible)
    widths[flexible] = max(min(1, widths[flexible]), min(widths[flexible], width - beside))
    for row in rows:
        short = {column: (cut if column == flexible else shorten)(row[column], widths[column]) for column in kept}
        parts = [padded(cell, widths[column], column in right) for column, cell in short.items()]
        yield clip("  ".join(parts), width)


def _kept_columns(
    widths: Sequence[int], width: int, flexible: int, dispensable: Iterable[int], least: int
) -> list[int]:
    kept = list(range(len(widths)))
    needed = sum(widths) + 2 * (len(kept) - 1) - max(0, widths[flexible] - least)
    for column in dispensable:
        if needed <= width:
            break
        kept.remove(column)
        needed -= widths[column] + 2
    return kept


def padded(text: str, width: int, to_the_right: bool) -> str:
    gap = " " * (width - cells(text))
    return gap + text if to_the_right else text + gap


def ruler(label: str, width: int) -> str:
    """`─── label ──────` across the screen."""
    head = f"─── {shorten(label, max(1, width - 8))} ───"
    return head + "─" * max(0, width - cells(head))


_PIECES = lazy.pattern(r"\n|\t| +|[^ \t\n]+")
_BULLET = lazy.pattern(r"[\U000e0020-\U000e007f]?(?:[-*+•–│]|\d{1,3}[.)])[\U000e0020-\U000e007f]?")
_TAB = 4
_NARROWEST = 8

_CUT_ESCAPE = lazy.pattern(r"\\u[0-9a-fA-F]{0,3}$")
_CUT_WORD = lazy.pattern(r"[,:]\s*[-+.\w]*$")

Paint = Callable[[str], str]


class Flow:
    """Wraps one text that arrives in pieces: pass each piece to `add` and write what it returns."""

    def __init__(self, width: int, further: str, paint: Paint, *, is_live: bool) -> None:
        self._width = max(_NARROWEST, width)
        self._further = further
        """Put before every line but the first."""
        self._paint = paint
        self._is_live = is_live
        self._column = 0
        self._is_fresh = True
        """Whether nothing was written yet: empty lines at the beginning are skipped."""
        self._held = ""
        """The beginning of an escape sequence, kept back until the rest arrives, so that it is removed as a whole."""
        self._breaks = 0
        self._gap = 0
        self._source = 0
        self._hang: int | None = None
        """The indentation of lines that continue this one; None before its first word."""
        self._word = ""
        self._drawn = 0
        """How many characters of the word are already on the screen."""
        self._plain: list[str] = []
        self._out: list[str] = []

    def resize(self, width: int) -> None:
        """Ends further lines before this column of the screen."""
        self._width = max(_NARROWEST, width - cells(self._further))

    def add(self, text: str) -> str:
        text = self._held + text
        unfinished = UNFINISHED.search(text)
        self._held = unfinished[0] if unfinished else ""
        self._take(self._prepared(text[: len(text) - len(self._held)]))
        if self._is_live:
            self._draw()
        return self._drained()

    def _prepared(self, text: str, *, is_last: bool = False) -> str:  # noqa: ARG002  for those that hold something back
        return tabbed(text)

    def _take(self, text: str) -> None:
        for piece in _PIECES.findall(text):
            if piece == "\n":
                self._end_word()
                self._breaks, self._column, self._gap, self._source = self._breaks + 1, 0, 0, 0
                self._hang = None
            elif piece == "\t" or piece[0] == " ":
                self._end_word()
                size = _TAB - self._source % _TAB if piece == "\t" else len(piece)
                # Indentation is kept only as far as it leaves room for words.
                self._gap = min(self._gap + size, self._width - _NARROWEST)
                self._source += size
            else:
                self._source += len(piece)
                self._grow(piece)

    def end(self) -> str:
        """Writes the last word; does not end the line."""
        self._take(self._prepared(self._held, is_last=True))
        self._held = ""
        self._end_word()
        return self._drained()

    def _grow(self, piece: str) -> None:
        """Chinese, Japanese and Korean have no spaces, so a line may end after any of their characters."""
        if piece.isascii() and (not self._word or self._word.isascii()):
            self._word += piece
            self._break_long()
            return
        for character in piece:
            size = cells(character)
            if self._word and size and (size == 2 or cells(self._word[0]) == 2) and self._word[-1] != _JOINER:
                self._end_word()
            self._word += character
            self._break_long()

    def _break_long(self) -> None:
        """Breaks a word that is longer than a line over several lines."""
        while cells(self._word) > self._room:
            if self._column:
                self._wrap()
                continue
            head = cut(self._word, self._room)
            tail = self._word[len(head) :]
            self._word = head
            self._end_word()
            self._wrap()
            self._word = tail

    @property
    def _room(self) -> int:
        """The cells for a word on a line of its own."""
        return self._width - (0 if self._column else self._gap)

    def _end_word(self) -> None:
        if self._word:
            self._draw()
            if self._hang is None:
                bullet = cells(self._word) + 1 if _BULLET.fullmatch(self._word) else 0
                self._hang = min(self._gap + bullet, self._width // 2)
            self._column += self._gap + cells(self._word)
            self._gap, self._word, self._drawn = 0, "", 0

    def _draw(self) -> None:
        if not self._word:
            return
        if self._column and self._column + self._gap + cells(self._word) > self._width:
            self._wrap()
        if not self._drawn:
            self._new_lines()
            self._plain.append(" " * self._gap)
        self._plain.append(self._word[self._drawn :])
        self._drawn = len(self._word)

    def _new_lines(self) -> None:
        if self._breaks and not self._is_fresh:
            self._flush()
            self._out.append("\n" * self._breaks + self._further)
        self._breaks, self._is_fresh = 0, False

    def _wrap(self) -> None:
        """Begins the next line and moves there what is already drawn of the word."""
        self._flush()
        if self._drawn:
            back = self._gap + cells(self._word[: self._drawn])
            self._out.append(f"\x1b[{back}D\x1b[K")
            self._drawn = 0
        self._new_lines()
        self._out.append("\n" + self._further)
        self._column, self._gap = 0, self._hang or 0

    def _flush(self) -> None:
        text = "".join(self._plain)
        self._plain.clear()
        if text:
            self._out.append(self._paint(text))

    def _drained(self) -> str:
        self._flush()
        text = "".join(self._out)
        self._out.clear()
        return text


def partial_input(text: str) -> Any:
    """Parses the beginning of a JSON object as far as it goes; None if it cannot be parsed yet."""
    closing, in_string, is_escaped = _open_ends(text)
    if in_string:
        text = (text[:-1] if is_escaped else _CUT_ESCAPE.sub("", text)) + '"'
    # The end may be a key without its value, half a number or a comma: try leaving out what is incomplete.
    for attempt in (text, text + ":null", _CUT_WORD.sub("", text), _CUT_WORD.sub(":null", text)):
        try:
            return json.loads(attempt + closing, strict=False)
        except ValueError:
            continue
    return None


def _open_ends(text: str) -> tuple[str, bool, bool]:
    """The brackets that would close it, whether it ends inside a string, and whether there after a backslash."""
    stack: list[str] = []
    in_string = is_escaped = False
    for character in text:
        if is_escaped:
            is_escaped = False
        elif in_string:
            is_escaped = character == "\\"
            in_string = character != '"'
        elif character == '"':
            in_string = True
        elif character in "{[":
            stack.append("}" if character == "{" else "]")
        elif character in "}]" and stack:
            stack.pop()
    return "".join(reversed(stack)), in_string, is_escaped


_FULL, _EMPTY = "━", "─"
_LONGEST_BAR = 30
_TELLING = 100
"""From this part of the whole on, the rate says how long the rest takes: one small file says nothing."""


def bar_line(done: int, total: int, seconds: float, width: int) -> str:
    """`━━━━━──── 45%  120 MB of 260 MB  85 MB/s  2s left`, as much of it as fits."""
    share = min(1.0, done / total) if total else 1.0
    facts = "  ".join([f"{share:4.0%}", *_facts(done, total, seconds)])
    room = max(0, min(_LONGEST_BAR, width - len(facts) - 3))
    filled = round(room * share)
    return clip(f"{_FULL * filled}{_EMPTY * (room - filled)} {facts}".strip(), max(1, width - 1))


def plain_line(done: int, total: int, seconds: float) -> str:
    """The same figures for a log, without the bar."""
    return ", ".join(_facts(done, total, seconds))


def _facts(done: int, total: int, seconds: float) -> list[str]:
    rate = done / seconds if seconds > 0 else 0.0
    facts = [f"{size(done)} of {size(total)}", f"{size(round(rate))}/s"]
    if rate > 0 and total <= done * _TELLING < total * _TELLING:
        facts.append(f"{duration((total - done) / rate)} left")
    return facts
