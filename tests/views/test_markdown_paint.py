"""Markdown is coloured as it streams, whatever the pieces, and never changed."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reread.views.markdown_paint import MarkdownPaint
from reread.views.text import Style

BOLD, DIM, CYAN, YELLOW = (
    Style(colour=True).paint("x", look).partition("x")[0] for look in ("bold", "dim", "cyan", "yellow")
)
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def painted(text: str, pieces: int = 1000) -> str:
    paint = MarkdownPaint(Style(colour=True))
    found = []
    for number, line in enumerate(text.split("\n")):
        if number:
            paint.begin_line()
            found.append("\n")
        found += [paint(line[at : at + pieces]) for at in range(0, len(line), pieces)]
    return "".join(found)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain words", "plain words"),
        ("# A title", f"{BOLD}# A title"),
        ("a **bold** word", f"a {DIM}**"),
        ("a `code` word", f"{CYAN}code"),
        ("`code` first", f"{CYAN}code"),
        ("- a point", f"{YELLOW}-"),
        ("2. a point", f"{YELLOW}2."),
        ("| a | b |", f"{DIM}|"),
        ("```py\nx = 1\n```\nafter", f"{CYAN}x"),
        ("5 * 3 * 2", "5 "),
    ],
)
def test_each_kind_has_its_look(text: str, expected: str) -> None:
    assert expected in painted(text)
    assert painted("```\nx\n```\nafter").endswith("after"), "behind a fence the words are words again"
    assert f"{BOLD}bold" in painted("a **bold** word")
    assert painted("a **bold** word").endswith(" word")


@given(st.text("a *`#|-\n1.", max_size=60), st.integers(1, 5))
def test_nothing_is_changed_and_pieces_make_no_difference(text: str, pieces: int) -> None:
    assert COLOUR.sub("", painted(text, pieces)) == text
    assert MarkdownPaint(Style(colour=False))(text) == text
