"""Text in pieces: the screen is the same wherever it was cut, fits its width, and obeys no escape sequence."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reread.views.text import Flow, harmless
from screens import displayed

LEAD = "> "
TEXTS = st.text(alphabet=st.sampled_from("ab -c\n\t中文é́\x1b[2J]0;\r\x07\u202e"), max_size=200)
WIDTH = 22


def flowed(pieces: list[str], *, is_live: bool, width: int = WIDTH) -> str:
    flow = Flow(width - len(LEAD), " " * len(LEAD), str, is_live=is_live)
    return LEAD + "".join(flow.add(piece) for piece in pieces) + flow.end()


def in_pieces(text: str, seed: int) -> list[str]:
    chance = random.Random(seed)
    cuts = sorted(chance.sample(range(len(text) + 1), chance.randint(0, len(text))))
    return [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]


@given(TEXTS, st.integers())
def test_the_screen_is_the_same_wherever_the_text_was_cut(text: str, seed: int) -> None:
    whole = displayed(flowed([text], is_live=False), WIDTH)
    assert displayed(flowed(in_pieces(text, seed), is_live=True), WIDTH) == whole
    assert flowed(in_pieces(text, seed), is_live=False) == flowed([text], is_live=False)


@given(TEXTS)
def test_every_visible_character_is_shown_in_its_order(text: str) -> None:
    shown = "".join(displayed(flowed(list(text), is_live=True), WIDTH))
    assert re.sub(r"\s", "", shown.removeprefix(">")) == re.sub(r"\s", "", harmless(text))


def test_a_word_appears_with_its_first_letter_and_moves_when_it_does_not_fit() -> None:
    flow = Flow(10, "", str, is_live=True)
    assert flow.add("Hello w") == "Hello w"
    moved = flow.add("orld")
    assert displayed("Hello w" + moved) == ["Hello", "world"]


def test_off_a_terminal_a_word_waits_until_it_is_whole() -> None:
    flow = Flow(10, "", str, is_live=False)
    assert flow.add("Hello w") == "Hello"
    assert flow.add("orld") + flow.end() == "\nworld"


def test_indentation_and_blank_lines_within_are_kept_and_those_around_are_not() -> None:
    shown = flowed(["\n\ndef f():\n", "    return 1\n", "\n\tx\n\n"], is_live=True)
    assert displayed(shown) == ["> def f():", "      return 1", "", "      x"]


def test_a_word_longer_than_a_line_goes_on_over_several() -> None:
    assert displayed(flowed(["aa ", "b" * 25, " cc"], is_live=True, width=12)) == [
        "> aa",
        "  bbbbbbbbbb",
        "  bbbbbbbbbb",
        "  bbbbb cc",
    ]


def test_wide_characters_take_two_cells_and_lines_may_end_after_each() -> None:
    assert displayed(flowed(["中文字", "符測試"], is_live=True, width=10), 10) == ["> 中文字符", "  測試"]


@pytest.mark.parametrize("evil", ["\x1b[2J", "\x1b]0;title\x07", "\x9b31m", "\x1b", "\x08\x08", "\u202ereversed"])
def test_no_control_character_gets_through_wherever_it_is_cut(evil: str) -> None:
    for cut in range(len(evil) + 1):
        shown = flowed(["safe ", evil[:cut], evil[cut:], " end"], is_live=True)
        assert not set(re.sub(r"\x1b\[(\d+D|K)", "", shown)) & set("\x1b\x9b\x07\x08\u202e")


def test_what_goes_on_from_a_list_item_or_from_indented_code_is_indented_like_it() -> None:
    assert displayed(flowed(["- one two three four five\n    six seven eight nine\nten"], is_live=True)) == [
        "> - one two three four",
        "    five",
        "      six seven eight",
        "      nine",
        "  ten",
    ]
