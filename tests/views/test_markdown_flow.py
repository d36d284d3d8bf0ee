"""Markdown on a terminal: rendered while it streams, whatever the pieces, without losing a word."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reread.blocks.model import BlockPlace, WordsBlock
from reread.views.markdown_flow import MarkdownFlow, markdown_lines
from reread.views.terminal import step_lines
from reread.views.text import Style, harmless
from reread.views.values import View
from screens import displayed

BOLD, DIM, CYAN, YELLOW, ITALIC, GREEN, MAGENTA = (
    Style(colour=True).paint("x", look).partition("x")[0]
    for look in ("bold", "dim", "cyan", "yellow", "italic", "green", "magenta")
)
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def rendered(text: str, width: int = 60) -> str:
    return "\n".join(markdown_lines(text, width, Style(colour=True)))


def plain(text: str, width: int = 60) -> list[str]:
    return COLOUR.sub("", rendered(text, width)).split("\n")


@pytest.mark.parametrize(
    ("text", "expected", "looks"),
    [
        ("plain words", "plain words", ""),
        ("# A title", "A title", "\x1b[1;35mA"),
        ("#### A title", "A title", f"{BOLD}A"),
        ("a **bold** word", "a bold word", f"{BOLD}bold"),
        ("a *soft* and _soft_ word", "a soft and soft word", f"{ITALIC}soft"),
        ("a `co**de` word", "a co**de word", f"{CYAN}co**de"),
        ("`code` first", "code first", f"{CYAN}code"),
        ("- a point", "• a point", f"{YELLOW}•"),
        ("2. a point", "2. a point", f"{YELLOW}2."),
        ("> said", "│ said", f"{DIM}│"),
        ("[here](https://a.example)", "here (https://a.example)", f"{DIM}(https"),
        ("5 * 3 * 2, snake_case_name, **kwargs, [1] and \\*", "5 * 3 * 2, snake_case_name, **kwargs, [1] and *", ""),
        ("中文**粗體**字", "中文粗體字", f"{BOLD}粗體"),
    ],
)
def test_each_sign_becomes_what_it_means(text: str, expected: str, looks: str) -> None:
    assert plain(text) == [expected]
    assert looks in rendered(text)


def test_a_fence_is_coloured_by_its_language_and_its_signs_are_left_out() -> None:
    text = '```py\ndef f():\n    """as\n    said"""\n```\nafter\n\n```\nraw **x**\n```'
    assert plain(text) == ["py", "  def f():", '      """as', '      said"""', "after", "", "  raw **x**"]
    assert f"{MAGENTA}def" in rendered(text) and f'{GREEN}said"""' in rendered(text)
    assert f"{CYAN}raw" in rendered(text) and rendered(text).count("after") == 1


def test_a_table_is_aligned_by_cells_and_none_of_its_words_is_cut() -> None:
    rows = "| 名 | n |what|\n|:--|--:|-|\n| a | 12 | " + "word " * 12 + "|\n| **b** | 3 |\n"
    assert plain(rows, 30) == [
        "名 │  n │ what",
        "── │ ── │ ────────────────────",
        "a  │ 12 │ word word word word",
        "   │    │ word word word word",
        "   │    │ word word word word",
        "b  │  3 │",
    ]
    assert plain("| no table |\nand words") == ["| no table |", "and words"]


TEXTS = st.text(alphabet=st.sampled_from("ab *`#|-_\n1.>[](中\x1b\U000e0021"), max_size=80)


@given(TEXTS, st.integers(), st.integers(12, 40))
def test_pieces_make_no_difference_and_no_letter_is_lost(text: str, seed: int, width: int) -> None:
    chance = random.Random(seed)
    cuts = sorted(chance.sample(range(len(text) + 1), chance.randint(0, len(text))))
    flow = MarkdownFlow(width, "", Style(colour=True), is_live=True)
    shown = "".join(flow.add(text[a:b]) for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)) + flow.end()
    assert displayed(shown, width) == displayed(rendered(text, width), width)
    letters = re.compile(r"[ab中]")  # sorted, since a cell of a table goes on below it
    assert sorted(letters.findall("".join(displayed(shown, width)))) == sorted(letters.findall(harmless(text)))
    off = MarkdownFlow(width, "", Style(colour=False), is_live=False)
    assert "\x1b" not in off.add(text) + off.end()


def test_words_appear_while_they_stream_and_what_is_open_waits() -> None:
    flow = MarkdownFlow(60, "", Style(colour=True), is_live=True)
    assert flow.add("It is **ve") == "It is"
    assert f"{BOLD}very" in flow.add("ry** good")


def test_show_renders_on_a_terminal_only() -> None:
    words = WordsBlock(key="w", place=BlockPlace(), text="**a**\n- b")
    on, off = ("\n".join(step_lines([words], View(width=40, style=Style(c)), None)) for c in (True, False))
    assert "•" in on and f"{BOLD}a" in on
    assert "**a**\n" in off and "- b" in off
