"""Text on a grid of cells: width, cutting, wrapping, tables, and no control character that a terminal would obey."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reread.views.text import (
    OBEYED,
    Style,
    cells,
    clip,
    hanging,
    harmless,
    printed,
    ruler,
    shorten,
    shorten_path,
    tabbed,
    table,
    wrap,
)

TEXTS = st.text(
    st.one_of(st.characters(codec="utf-8"), st.sampled_from(" \n\tab汉字한글🙂é\u0301\u200d\ufe0f")), max_size=200
)


@given(st.text(st.characters(max_codepoint=127)))
def test_ascii_text_loses_what_a_terminal_obeys_as_any_other_does(text: str) -> None:
    assert tabbed(text) == tabbed(text + "é").removesuffix("é")


@pytest.mark.parametrize(
    ("text", "width"),
    [
        ("", 0),
        ("abc", 3),
        ("汉字", 4),
        ("한글", 4),
        ("ﾊﾝｶｸ", 4),
        ("🙂", 2),
        ("é", 1),
        ("e\u0301", 1),
        ("\u1112\u1161\u11ab", 2),  # as macOS writes the syllable in a file name
        ("a\u200bb", 2),
        ("\x1b[31mred\x1b[0m", 3),
    ],
)
def test_width_is_counted_in_cells(text: str, width: int) -> None:
    assert cells(text) == width


@pytest.mark.parametrize("text", ["ก\u0e31", "न\u0941", "\u2060", "\ufeff"])
def test_marks_without_a_combining_class_take_no_cell(text: str) -> None:
    assert cells(text) == len(text) - 1


def test_control_characters_are_taken_out_and_tabs_become_spaces() -> None:
    assert harmless("a\x1b[31mb\x07\x00c\x9bd\x7fe\rf\r\ng\tz") == "abcdef\ng   z"


def test_harmless_text_is_left_alone() -> None:
    assert harmless("naïve 汉字 🙂\nnext") == "naïve 汉字 🙂\nnext"


@given(TEXTS)
def test_harmless_text_holds_no_control_character_but_newlines(text: str) -> None:
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", harmless(text))


def test_harmless_text_cannot_reorder_a_line_or_hide_in_it() -> None:
    assert harmless("rm \u202efdp.txt") == "rm fdp.txt"
    assert harmless("z\u200be\ufeffr\u2060o\U000e0041") == "zero"


def test_joiners_stay_for_they_spell_words_and_emoji() -> None:
    assert (
        harmless("\U0001f469\u200d\U0001f4bb \u0645\u06cc\u200c\u062e")
        == "\U0001f469\u200d\U0001f4bb \u0645\u06cc\u200c\u062e"
    )


def test_other_ends_of_a_line_end_it() -> None:
    assert harmless("a\u2028b\u2029c\x0bd\x0ce\x85f") == "a\nb\nc\nd\ne\nf"


def test_nothing_that_is_obeyed_is_printable() -> None:
    """Or `harmless` would pass it by, and so would whoever prints."""
    assert not [
        letter for letter in map(chr, range(0x110000)) if letter.isprintable() and re.match(f"[{OBEYED}]", letter)
    ]


def test_a_printed_line_keeps_our_colours_alone() -> None:
    ours = Style(True).paint("x", "yellow", "bold") + "\ty"
    assert printed(ours) == ours
    assert printed("\x1b[2J\x1b[31;7ma\x1b[38;5;1m\x1b]0;t\x07\x9b1m\nb\x1b") == "[2J[31;7ma[38;5;1m]0;t1mb"


@given(TEXTS)
def test_a_printed_line_is_one_line_of_letters_and_our_colours(text: str) -> None:
    assert not re.search(f"[{OBEYED}\n]", re.sub(r"\x1b\[(?:0|[12]|3[1-6])(?:;(?:[12]|3[1-6]))*m", "", printed(text)))


@pytest.mark.parametrize(
    ("text", "width", "short"),
    [
        ("short", 10, "short"),
        ("exactly", 7, "exactly"),
        ("too long", 7, "too lo…"),
        ("two\nlines  here", 20, "two lines here"),
        ("汉字汉字", 8, "汉字汉字"),
        ("汉字汉字", 7, "汉字汉…"),
        ("汉字汉字", 6, "汉字…"),
        ("anything", 1, "…"),
        ("anything", 0, ""),
    ],
)
def test_text_is_cut_to_a_width(text: str, width: int, short: str) -> None:
    assert shorten(text, width) == short


FAMILY, CODER, JAPAN, FRANCE = "👨\u200d👩\u200d👧", "👩🏽\u200d💻", "🇯🇵", "🇫🇷"


@pytest.mark.parametrize(
    ("text", "width", "short"),
    [
        (f"a{FAMILY}bc", 6, "a…"),
        (f"a{FAMILY}bc", 8, f"a{FAMILY}…"),
        (f"{CODER}bc", 5, "…"),
        (f"{JAPAN}{FRANCE}", 3, f"{JAPAN}…"),
        ("e\u0301e\u0301e\u0301", 2, "e\u0301…"),
    ],
)
def test_what_is_drawn_as_one_is_kept_or_cut_as_one(text: str, width: int, short: str) -> None:
    assert shorten(text, width) == short


@pytest.mark.parametrize(
    ("path", "width", "short"),
    [
        ("/home/e\u0301te\u0301", 2, "…e\u0301"),
        ("/home/\u1112\u1161\u11ab", 3, "…\u1112\u1161\u11ab"),
        ("/home/\u1112\u1161\u11ab", 2, "…"),
        (f"/home/{FAMILY}", 5, "…"),
        (f"/home/{JAPAN}{FRANCE}", 4, f"…{FRANCE}"),
    ],
)
def test_the_end_of_a_path_begins_with_a_whole_letter(path: str, width: int, short: str) -> None:
    assert shorten_path(path, width) == short


def test_a_joined_emoji_is_not_spread_over_two_lines() -> None:
    assert list(wrap(f"abc{CODER}", 8)) == ["abc", CODER]


@pytest.mark.parametrize("text", ["🇯" * 100_000, f"A{chr(0x200D) * 100_000}B", "👨\u200d" * 100_000])
def test_a_long_run_of_what_is_drawn_as_one_is_wrapped_in_linear_time(text: str) -> None:
    begin = time.process_time()
    assert "".join(wrap(text, 80)) == text
    assert time.process_time() - begin < 1


def test_further_lines_hang_below_the_first() -> None:
    assert list(hanging("one two three", 9, "→ ", "  ")) == ["→ one two", "  three"]


@given(TEXTS, st.integers(0, 60))
def test_a_cut_text_fits_and_is_one_line(text: str, width: int) -> None:
    short = shorten(text, width)
    assert cells(short) <= width
    assert "\n" not in short


@given(TEXTS, st.integers(8, 60))
def test_no_wrapped_line_is_wider_than_asked(text: str, width: int) -> None:
    assert [line for line in wrap(text, width) if cells(line) > width] == []


@given(TEXTS, st.integers(8, 60))
def test_wrapping_loses_no_character_but_spaces(text: str, width: int) -> None:
    assert _letters("".join(wrap(text, width))) == _letters(harmless(text))


def _letters(text: str) -> str:
    return "".join(character for character in text if not character.isspace())


def test_lines_break_at_spaces_and_long_words_anywhere() -> None:
    assert list(wrap("the quick brown fox", 10)) == ["the quick", "brown fox"]
    assert list(wrap("abcdefghijklmnop", 8)) == ["abcdefgh", "ijklmnop"]
    assert list(wrap("汉字汉字汉字", 8)) == ["汉字汉字", "汉字"]


def test_indentation_and_empty_lines_are_kept() -> None:
    assert list(wrap("def f():\n    return 1\n\nend", 20)) == ["def f():", "    return 1", "", "end"]


def test_a_long_line_is_wrapped_in_linear_time() -> None:
    begin = time.process_time()
    assert sum(1 for _ in wrap("漢字" * 10_000, 80)) == 500
    assert time.process_time() - begin < 0.5


def test_a_table_aligns_wide_characters_and_numbers() -> None:
    rows = [("tool name", "n"), ("汉字汉字", "10"), ("🙂", "9")]
    lines = list(table(rows, 40, flexible=0, right=frozenset({1})))
    assert lines == ["tool name   n", "汉字汉字   10", "🙂          9"]


def test_the_flexible_column_of_a_table_shrinks() -> None:
    rows = [("a very long cell that does not fit", "12345"), ("short", "1")]
    lines = list(table(rows, 20, flexible=0, right=frozenset({1})))
    assert lines == ["a very long …  12345", "short              1"]


def test_a_coloured_line_is_cut_by_what_is_seen_of_it_and_its_colours_end() -> None:
    line = f"{Style(True).paint('abcdef', 'bold')}  {Style(True).paint('ghij', 'dim')}"
    assert clip(line, 12) == line
    assert clip(line, 11) == line.replace("ghij", "gh…")
    assert clip(line, 6) == "\x1b[1mabcde…\x1b[0m\x1b[2m\x1b[0m"
    assert clip(line, 7) == "\x1b[1mabcdef\x1b[0m…\x1b[2m\x1b[0m"


def test_columns_are_left_out_before_the_flexible_one_is_too_short() -> None:
    rows = [("a long name", "calls", "cost"), ("short", "1,000", "$12.30")]
    lines = table(rows, 20, flexible=0, right=(1, 2), dispensable=(1,), least=10)
    assert list(lines) == ["a long name    cost", "short        $12.30"]
    lines = table(rows, 26, flexible=0, right=(1, 2), dispensable=(1,), least=10)
    assert list(lines) == ["a long name  calls    cost", "short        1,000  $12.30"]


def test_numbers_of_a_table_stay_whole_when_nothing_can_be_left_out() -> None:
    rows = [("a long name", "cost"), ("short", "$1,234,567.89")]
    assert list(table(rows, 18, flexible=0, right=(1,))) == ["a …           cost", "sh…  $1,234,567.89"]


def test_a_table_of_nothing_is_nothing() -> None:
    assert list(table([], 80, flexible=0, right=frozenset())) == []


@given(st.lists(st.tuples(TEXTS, st.integers(0, 10**6).map(str)), min_size=1, max_size=5), st.integers(20, 80))
def test_no_line_of_a_table_is_wider_than_asked(rows: list[tuple[str, str]], width: int) -> None:
    lines = table(rows, width, flexible=0, right=frozenset({1}))
    assert [line for line in lines if cells(line) > width] == []


def test_a_ruler_spans_the_screen() -> None:
    assert ruler("1", 20) == "─── 1 " + "─" * 14
    assert cells(ruler("汉字", 20)) == 20


def test_paint_colours_only_where_colour_is_wanted() -> None:
    assert Style(True).paint("x", "yellow", "bold") == "\x1b[33;1mx\x1b[0m"
    assert Style(False).paint("x", "yellow") == "x"
    assert Style(True).paint("", "yellow") == ""
