"""Code with its colours: Pygments finds the tokens, every one of them is escaped here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from markupsafe import Markup, escape
from pygments.lexers import find_lexer_class_by_name, find_lexer_class_for_filename
from pygments.token import STANDARD_TYPES
from pygments.util import ClassNotFound

from ..text import tabbed

if TYPE_CHECKING:
    from pygments.lexer import Lexer
    from pygments.token import _TokenType

MOST_COLOURED = 60_000
"""Characters; some lexers need seconds for a megabyte."""
LONGEST_COLOURED_LINE = 2_000
"""A line of a minified file is no pleasure in colour either, and patterns go back and forth in it."""


def coloured(text: str, *, language: str = "", path: str = "") -> Markup:
    """Text as code of a language, or of what a file's name tells."""
    return Markup("\n").join(_coloured_lines(text.split("\n"), language, path, MOST_COLOURED))


_most_in_diffs = ContextVar("most_in_diffs", default=MOST_COLOURED)


@contextmanager
def colouring_at_most(characters: int) -> Iterator[None]:
    """Longer diffs and files stay plain meanwhile: for parts that a page sends later, when somebody opens them. Their
    colours were four fifths of what the first screen of a session cost."""
    before = _most_in_diffs.set(characters)
    try:
        yield
    finally:
        _most_in_diffs.reset(before)


def coloured_lines(lines: Sequence[str], *, language: str = "", path: str = "") -> list[Markup]:
    """The same line by line, as many as were given; what stands around a line decides about its colours, too."""
    return _coloured_lines(lines, language, path, _most_in_diffs.get())


def _coloured_lines(lines: Sequence[str], language: str, path: str, most: int) -> list[Markup]:
    clean = [tabbed(line).replace("\n", " ") for line in lines]
    if sum(map(len, clean)) > most or max(map(len, clean), default=0) > LONGEST_COLOURED_LINE:
        return [escape(line) for line in clean]
    lexer = _lexer(language.lower(), PurePosixPath(path.replace("\\", "/")).name)
    if lexer is None:
        return [escape(line) for line in clean]
    found = list(_tokens_by_line(lexer, "\n".join(clean)))
    return found if len(found) == len(clean) else [escape(line) for line in clean]


@cache
def _lexer(language: str, name: str) -> Lexer | None:
    """None for plain text: its lines would be looked at for nothing."""
    found = None
    if language:
        try:
            found = find_lexer_class_by_name(language)
        except ClassNotFound:
            return None
    elif name:
        found = find_lexer_class_for_filename(name)
    if found is None or found.name == "Text only":
        return None
    return found(stripnl=False, ensurenl=False, stripall=False)


def _tokens_by_line(lexer: Lexer, text: str) -> Iterator[Markup]:
    line: list[str] = []
    for kind, value in lexer.get_tokens(text):
        for number, part in enumerate(value.split("\n")):
            if number:
                yield Markup("".join(line))  # noqa: S704  every token is escaped
                line = []
            if part:
                line.append(_token(kind, part))
    yield Markup("".join(line))  # noqa: S704  the same


def _token(kind: _TokenType, text: str) -> str:
    name, shown = _css_class(kind), str(escape(text))
    return f'<span class="{name}">{shown}</span>' if name else shown


@cache
def _css_class(kind: _TokenType) -> str:
    """`k`, `s1`: Pygments' own short names; its first letter is what the style sheet goes by."""
    while kind not in STANDARD_TYPES and kind.parent is not None:
        kind = kind.parent
    name = STANDARD_TYPES.get(kind, "")
    return "" if name in ("", "w", "p", "n") else f"c-{name[:2]}"
