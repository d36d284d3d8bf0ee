"""A snippet shows why a text was found."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reread.archive.search_language import Term, parse
from reread.errors import BadInput
from reread.views.hits import Snippet, snippet

LONG = "filler words go here " * 50


def shown(text: str, query: str, width: int = 40) -> str:
    return snippet(text, parse(query).terms, width).as_text()


def test_a_short_text_is_shown_whole() -> None:
    assert shown("fix the parser", "parser") == "fix the [parser]"


def test_a_long_text_is_cut_at_words() -> None:
    assert shown(f"{LONG}the needle is here {LONG}", "needle") == "…here the [needle] is here filler words…"


def test_the_window_with_the_most_terms_wins_then_the_earliest() -> None:
    assert "[red] [fox]" in shown(f"red {LONG} a red fox {LONG} the red fox again", "red fox")
    assert shown(f"first fox {LONG} second fox", "fox").startswith("first [fox]")


def test_newlines_collapse_and_control_characters_go() -> None:
    assert shown("one\n\n   two\tthree \x1b[31mfour\x1b[0m\x07 \u202efive", "three") == "one two [three] four five"


def test_words_left_out_are_not_marked() -> None:
    assert shown("red fox", "red -fox") == "[red] fox"


def test_case_diacritics_and_names_are_marked_as_they_stand() -> None:
    assert shown("Le CAFÉ, the cafe\u0301", "cafe") == "Le [CAFÉ], the [cafe\u0301]"
    assert shown("call getUserName()", "user") == "call get[User]Name()"
    assert shown("parsers parse", "pars*") == "[parsers] [parse]"
    assert shown("call foo(bar) now", "foo(bar)") == "call [foo(bar]) now"
    assert shown("全文検索機能です", "検索") == "全文[検索]機能です"


def test_overlapping_matches_are_marked_once() -> None:
    assert shown("red fox", '"red fox" fox') == "[red fox]"


def test_an_enormous_match_does_not_make_an_enormous_snippet() -> None:
    assert len(shown("ab" * 5000, "aba*", 40)) < 60


def test_a_text_without_a_match_shows_its_beginning() -> None:
    assert shown(LONG, "nothing", 20) == "filler words go here…"
    assert snippet("", [Term("x")], 20) == Snippet("", (), "")


def test_matches_stand_in_brackets_or_between_what_is_asked_for() -> None:
    found = snippet("a fox", [Term("fox")], 20)
    assert found.as_text() == "a [fox]"
    assert found.as_text("<b>", "</b>") == "a <b>fox</b>"


def test_a_text_of_a_megabyte_is_cut_too() -> None:
    text = "the red fox → jumps over it\n" * 40_000
    assert shown(text, "red fox jumps") == "the [red] [fox] → [jumps] over it the [red] [fox]…"


@given(st.text(max_size=200), st.text(min_size=1, max_size=5), st.integers(0, 60))
def test_every_mark_is_a_piece_of_the_text(text: str, query: str, width: int) -> None:
    try:
        terms = parse(query).terms
    except BadInput:
        return
    check(snippet(text, terms, width), text, width)


@given(st.text("ab AB\n.é検索", min_size=1, max_size=300), st.integers(1, 60), st.data())
def test_a_word_of_the_text_is_marked_in_its_snippet(text: str, width: int, data: st.DataObject) -> None:
    words = re.findall(r"[^\W_]+", text)
    if words:
        word = data.draw(st.sampled_from(words))
        found = snippet(text, [Term(word)], width)
        check(found, text, width)
        assert any(part.is_match for part in found.parts)


def check(found: Snippet, text: str, width: int) -> None:
    flat = re.sub(r"\s+", " ", plain(text))
    for part in found.parts:
        assert part.text in flat or part.text.strip() in flat
    assert sum(len(part.text) for part in found.parts) <= max(width, 1)
    assert "\n" not in found.as_text()
    found.as_text().encode()


def plain(text: str) -> str:
    return snippet(text, [], len(text) + 1).as_text()


@pytest.mark.parametrize("width", [-1, 0, 1])
def test_no_width_is_too_small(width: int) -> None:
    assert len(snippet("a red fox", [Term("fox")], width).as_text()) <= 5
