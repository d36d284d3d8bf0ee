"""Renders Markdown on a terminal while it streams: headings, emphasis, lists, quotes, links, tables, coloured fences.

A sign is left out only once its end has arrived, so an `**` that nothing closes stays what it is; until then the words
behind it wait. A table waits until it is whole, a line of code until its end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain, repeat, zip_longest

from reread import lazy
from reread.lazy import TYPE_CHECKING

from .text import MARKS, Flow, Style, cells, padded, tabbed, wrap, wrap_line

if TYPE_CHECKING:
    from pygments import lexers, token, util
else:  # only where there is a fence with a language
    lazy.bind(globals())

Looks = frozenset[str]
PLAIN: Looks = frozenset()
BOLD, CODE, SIGN, DIM = (frozenset({look}) for look in ("bold", "cyan", "yellow", "dim"))
_HEADINGS = (BOLD | {"magenta"}, BOLD | {"magenta"}, BOLD)
"""Of the first levels; all further ones look as the last."""
_EMPHASIS = {1: frozenset({"italic"}), 2: BOLD, 3: BOLD | {"italic"}}
_UNSURE = re.compile(r"\s*(?:[`~]{0,2}|[#>*+_-]+ ?|\d+[.)]?)\Z|\s*(?:\||```|~~~)")
"""The beginning of a line that must be longer, or whole, before it is known what it is."""
_LEAD = re.compile(r"(\s*)(?:(#{1,6})\s+|([-*+]\s+)|(\d+[.)]\s)|((?:>\s?)+))?")
_FENCE = re.compile(r"\s*(```+|~~~+)\s*([^`]*)\Z")
_RULE = re.compile(r"\s*(?:-{3,}|\*{3,}|_{3,})\s*\Z")
_OPENS = re.compile(r"\\|`|\*(?!\s)|(?<!\w)_(?!\s)|\[(?![^\]\n]*\][^(])")
_SPAN = re.compile(
    r"\\([!-/:-@\[-`{-~])"
    r"|(`+)(?!`)(.{1,500}?)(?<!`)\2(?!`)"
    r"|((?<!\*)(?:\*{2,3}|(?<!\w)\*)|(?<!\w)_{1,2})(?![\s*_])(.{1,500}?)(?<![\s*_])\4(?![*_])"
    r"|\[([^\]\n]{1,500})\]\(([^\s)]{1,500})\)"
)
_MOST_HELD = 600
_CELL = re.compile(r"(?<!\\)\|")
_ALIGNED = re.compile(r"\s*:?-+:?\s*")
_LEAST_CELL = 6
_CONTEXT = 40
"""Lines of code that are read again with the next one: a comment may have begun in them."""
_LONGEST_CODE = 60_000


def markdown_lines(text: str, width: int, style: Style) -> Iterator[str]:
    """The words of the model as lines; as they were written if they cannot have looks."""
    if not style.colour:
        yield from wrap(text, width)
        return
    flow = MarkdownFlow(width, "", style, is_live=False)
    yield from (flow.add(text) + flow.end()).split("\n")


class MarkdownFlow(Flow):
    """Looks are marks within the text, which take no cell. Each word begins and ends without one."""

    def __init__(self, width: int, further: str, style: Style, *, is_live: bool) -> None:
        super().__init__(width, further, self._painted, is_live=is_live)
        self._style = style
        self._look = PLAIN
        self._line = ""
        """The source line that has not ended yet."""
        self._at = 0
        """How much of it was written; 0 as long as its kind is unknown."""
        self._looks = PLAIN
        self._fence = self._language = ""
        self._code: list[str] = []
        self._context: list[str] = []
        self._rows: list[str] = []

    def _painted(self, text: str) -> str:
        made = []
        for piece in MARKS.split(text):
            if piece and MARKS.fullmatch(piece):
                self._look = _BY_MARK[piece]
            else:
                made.append(self._style.paint(piece, *sorted(self._look)))
        return "".join(made)

    def _wrap(self) -> None:
        self._flush()
        if self._drawn:  # it is drawn again from its beginning
            self._look = PLAIN
        super()._wrap()

    def _prepared(self, text: str, *, is_last: bool = False) -> str:
        if not self._style.colour:
            return tabbed(text)
        *lines, self._line = (self._line + tabbed(text)).split("\n")
        made = []
        for line in lines:
            made.append(self._ended(line))
            self._at, self._looks = 0, PLAIN
        if is_last:
            made += [self._ended(self._line).removesuffix("\n"), self._table()]
            self._line = ""
        elif self._at or not (self._fence or _UNSURE.match(self._line)):
            made.append(self._more(self._line, is_whole=False))
        return "".join([*made, self._coloured()])

    def _ended(self, line: str) -> str:
        """What is still to be written of a line that is whole."""
        if self._at:
            return self._more(line, is_whole=True) + "\n"
        found = _FENCE.match(line)
        if self._fence and not (found and found[1].startswith(self._fence) and not found[2]):
            self._code.append(line)
            return ""
        if not self._fence and line.lstrip().startswith("|"):
            self._rows.append(line)
            return ""
        if found is not None:
            made, self._context = self._coloured() + self._table(), []
            self._fence, self._language = ("", "") if self._fence else found.groups()
            return made + (f"{marked(self._language, DIM)}\n" if self._language else "")
        if _RULE.match(line):
            return f"{self._table()}{marked('─' * min(20, self._width), DIM)}\n"
        return self._more(line, is_whole=True) + "\n"

    def _more(self, line: str, *, is_whole: bool) -> str:
        """The next part of a line of words."""
        made = "" if self._at else self._table() + self._lead(line)
        text, self._at = spans(line, self._at, self._looks, is_whole=is_whole)
        return made + text

    def _lead(self, line: str) -> str:
        found = _LEAD.match(line)
        assert found is not None  # noqa: S101  it may match nothing
        indent, heading, bullet, number, quote = found.groups()
        self._at = found.end()
        if heading:
            self._looks = _HEADINGS[min(len(heading), len(_HEADINGS)) - 1]
        sign = marked("•", SIGN) + " " if bullet else marked(number or "", SIGN)
        return indent + (sign or marked("│ " * (quote or "").count(">"), DIM))

    def _table(self) -> str:
        """The rows that waited, aligned if they are a table."""
        rows, self._rows = [_cells(row) for row in self._rows], []
        if len(rows) < 2 or not all(map(_ALIGNED.fullmatch, rows[1])):
            return "".join(f"| {' | '.join(row)} |\n" for row in rows)
        right = [side.endswith(":") and side[0] != ":" for side in rows.pop(1)]
        columns = list(zip_longest(*rows, fillvalue=""))
        widths = [max(map(cells, column)) for column in columns]
        while sum(widths) + 3 * (len(widths) - 1) > self._width and max(widths) > _LEAST_CELL:
            widths[widths.index(max(widths))] -= 1

        head, *body = (_row_lines(row, widths, right) for row in zip(*columns, strict=True))
        made = [[marked(MARKS.sub("", cell), BOLD) for cell in line] for line in head]
        made += [[marked("─" * width, DIM) for width in widths], *chain.from_iterable(body)]
        between = f" {marked('│', DIM)} "
        return "".join(f"{between.join(line).rstrip()}\n" for line in made)

    def _coloured(self) -> str:
        lines, self._code = self._code, []
        if not lines:
            return ""
        text = "\n".join([*self._context, *lines])
        made = _coloured_lines(text, self._language) if len(text) <= _LONGEST_CODE else []
        self._context = [*self._context, *lines][-_CONTEXT:]
        shown = made[-len(lines) :] if len(made) >= len(lines) else [marked(line, CODE) for line in lines]
        return "".join(f"  {line}\n" for line in shown)


def spans(line: str, at: int, looks: Looks, *, is_whole: bool) -> tuple[str, int]:
    """The words of a line from a position on, and the position after those that can be written already."""
    made = []
    while sign := _OPENS.search(line, at):
        made.append(marked(line[at : sign.start()], looks))
        at = sign.start()
        found = _SPAN.match(line, at)
        is_sure = is_whole or len(line) - at > _MOST_HELD
        if not is_sure and (found is None or found.end() == len(line)):
            return "".join(made), at
        made.append(marked(line[at], looks) if found is None else _span(found, looks))
        at = at + 1 if found is None else found.end()
    return "".join([*made, marked(line[at:], looks)]), len(line)


def _span(found: re.Match[str], looks: Looks) -> str:
    escaped, _, code, stars, words, label, address = found.groups()
    if escaped is not None:
        return marked(escaped, looks)
    if code is not None:
        return marked(code, looks | CODE)
    if words is not None:
        return spans(words, 0, looks | _EMPHASIS[len(stars)], is_whole=True)[0]
    beside = "" if label == address else f" {marked(f'({address})', looks | DIM)}"
    return spans(label, 0, looks | {"underline"}, is_whole=True)[0] + beside


def marked(text: str, looks: Looks) -> str:
    """Each word between the mark of its looks and the mark of none."""
    return re.sub(r"\S+", rf"{_MARKS[looks]}\g<0>{_MARKS[PLAIN]}", text) if looks else text


def _cells(row: str) -> list[str]:
    inner = row.strip().removeprefix("|").removesuffix("|")
    return [spans(cell.strip().replace("\\|", "|"), 0, PLAIN, is_whole=True)[0] for cell in _CELL.split(inner)]


def _row_lines(row: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> Iterator[list[str]]:
    for line in zip_longest(*map(_cell_lines, row, widths), fillvalue=""):
        yield list(map(padded, line, widths, chain(right, repeat(False))))


def _cell_lines(text: str, width: int) -> Iterator[str]:
    """A cell that is too wide goes on below; looks end with each line and begin again."""
    look = ""
    for part in wrap_line(text, width):
        line = look + part
        look = "".join(MARKS.findall(line)[-1:]).replace(_MARKS[PLAIN], "")
        yield line + (_MARKS[PLAIN] if look else "")


def _coloured_lines(text: str, language: str) -> list[str]:
    """Lines of code; none without a language that is known."""
    try:
        lexer = lexers.get_lexer_by_name((language.split() or ["none"])[0], stripnl=False, ensurenl=False)
    except util.ClassNotFound:
        return []
    return "".join(marked(value, _code_looks(kind)) for kind, value in lexer.get_tokens(text)).split("\n")


@cache
def _code_looks(kind: token._TokenType) -> Looks:
    kinds = {look: map(token.string_to_tokentype, names.split()) for look, names in _CODE_LOOKS.items()}
    return frozenset(look for look, each in kinds.items() if any(kind in one for one in each))  # type: ignore[comparison-overlap]


_CODE_LOOKS = {
    "dim": "Comment",
    "magenta": "Keyword Operator.Word",
    "green": "Literal.String Generic.Inserted",
    "red": "Generic.Deleted",
    "blue": "Name.Function Name.Class Name.Tag",
    "cyan": "Literal.Number Name.Builtin",
}


class _Marks(dict[Looks, str]):
    """A mark for each combination of looks: letters without a cell, which `tabbed` takes out of any text."""

    def __missing__(self, looks: Looks) -> str:
        mark = self[looks] = chr(0xE0020 + len(self))
        _BY_MARK[mark] = looks
        return mark


_BY_MARK: dict[str, Looks] = {}
_MARKS = _Marks()
