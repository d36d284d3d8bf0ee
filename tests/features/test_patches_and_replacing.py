"""Patches fit line for line or not at all, and strings are replaced as the client does."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import editing
from reread.features.edits.changes import Replacement, differs_in_quotes, replaced, restored
from reread.features.edits.patches import (
    Content,
    Ending,
    Hunk,
    applied,
    exact,
    hunks_between,
    inverted,
    normalised,
    read_hunks,
    split_lines,
)

texts = st.lists(st.sampled_from(["a", "b", "", "  x", "\t", "\f"]), max_size=12).flatmap(
    lambda found: st.sampled_from(["\n".join(found), "\n".join(found) + "\n"])
)


@given(texts, texts)
def test_a_diff_applied_gives_the_other_text_and_undone_the_first(before: str, after: str) -> None:
    hunks = hunks_between(before, after)
    assert applied(hunks, before) == after
    assert applied(inverted(hunks), after) == before
    assert bool(hunks) == (before != after)


@given(texts, texts, st.integers(0, 4))
def test_hunks_count_their_own_lines(before: str, after: str, context: int) -> None:
    for hunk in hunks_between(before, after, context):
        kinds = [line[0] for line in hunk.lines]
        assert kinds.count(" ") + kinds.count("-") == hunk.old_lines
        assert kinds.count(" ") + kinds.count("+") == hunk.new_lines
        assert hunk.added or hunk.removed


@given(texts.filter(lambda text: "\t" not in text), texts.filter(lambda text: "\t" not in text))
def test_the_clients_own_patch_gives_the_text_it_wrote(before: str, after: str) -> None:
    assert applied(read_hunks(editing.patch(before, after)), before) == after


def test_tabs_that_a_patch_shows_as_spaces_still_fit_the_file() -> None:
    before, after = "\tone\n\ttwo\n", "\tone\n\ttwo\nthree\n"
    assert applied(read_hunks(editing.patch(before, after)), before) == after


def test_a_patch_that_does_not_fit_is_refused() -> None:
    hunks = hunks_between("a\nb\nc\n", "a\nB\nc\n")
    assert applied(hunks, "a\nx\nc\n") is None
    assert applied(hunks, "") is None
    assert applied(hunks, "0\na\nb\nc\n") is None


@pytest.mark.parametrize("value", [None, "x", [None], [{"lines": []}], [{"oldStart": "1"}], {"oldStart": 1}])
def test_what_is_no_patch_has_no_hunks(value: Any) -> None:
    assert read_hunks(value) == ()


def test_equal_texts_have_no_hunks_and_distant_changes_have_two() -> None:
    before = "".join(f"{n}\n" for n in range(30))
    assert hunks_between(before, before) == []
    after = before.replace("2\n", "two\n", 1).replace("27\n", "xx\n")
    first, second = hunks_between(before, after)
    assert first == Hunk(1, 6, 1, 6, (" 0", " 1", "-2", "+two", " 3", " 4", " 5"))
    assert (second.old_start, second.old_lines) == (25, 6)


@pytest.mark.parametrize(
    ("text", "old", "new", "is_all", "expected"),
    [
        ("a b a", "a", "x", False, None),
        ("a b a", "a", "x", True, "x b x"),
        ("one\ntwo\nthree\n", "two", "", False, "one\nthree\n"),
        ("one\ntwo\n", "two\n", "", False, "one\n"),
        ("one two\n", "one ", "", False, "two\n"),
        ("last", "last", "", False, ""),
        ("", "", "new\n", False, "new\n"),
        ("full\n", "", "new\n", False, None),
        ("a", "b", "c", False, None),
    ],
)
def test_strings_are_replaced_as_the_client_does(
    text: str, old: str, new: str, is_all: bool, expected: str | None
) -> None:
    assert replaced(text, [Replacement(old, new, is_all)]) == expected


def test_several_replacements_come_one_after_the_other_or_not_at_all() -> None:
    assert replaced("a\n", [Replacement("a", "b"), Replacement("b", "c")]) == "c\n"
    assert replaced("a\n", [Replacement("a", "b"), Replacement("x", "c")]) is None


def test_a_replacement_is_undone_only_where_one_text_can_have_been() -> None:
    assert restored("x new y", [Replacement("old", "new")]) == "x old y"
    assert restored("new new", [Replacement("old", "new")]) is None
    assert restored("x y", [Replacement("gone", "")]) is None
    assert restored("new", [Replacement("old", "new", is_all=True)]) is None


def test_only_quotes_are_told_apart_from_real_differences() -> None:
    assert differs_in_quotes('say "x"', "say \u201cx\u201d")
    assert not differs_in_quotes("same", "same")
    assert not differs_in_quotes('say "x"', "say \u201cy\u201d")


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"a",
        b"a\n",
        b"a\r\nb\r\n",
        b"\xef\xbb\xbfa\r\nb",
        b"\xef\xbb\xbfx\n",
        b"a\r\nb\nc\r\n",
        b"a\rb\n",
        b"\xff\xfe",
    ],
)
def test_an_exact_content_gives_its_bytes_back(raw: bytes) -> None:
    assert exact(raw.decode("utf-8", "surrogateescape")).to_bytes() == raw


def test_half_a_character_of_a_transcript_can_be_written() -> None:
    assert exact("a\ud800").to_bytes() == b"a\xed\xa0\x80"


def test_what_was_only_told_learns_its_spelling_from_what_was_written() -> None:
    written = exact("a\r\nb\r\n")
    shown = normalised("a\nb\n")
    assert shown.says_the_same(written)
    assert shown.spelled_like(written).to_bytes() == b"a\r\nb\r\n"
    assert normalised("\ufeffa\n").has_bom is True
    assert normalised("a\n", has_mark=False).has_bom is None


def test_an_unknown_end_is_the_same_with_and_without_a_newline() -> None:
    guessed = Content("a\n", is_end_told=False)
    assert guessed.says_the_same(exact("a"))
    assert exact("a").spelled_like(guessed).to_bytes() == b"a"
    assert guessed.spelled_like(exact("a")).to_bytes() == b"a"
    assert not exact("a\n").says_the_same(exact("a"))


def test_the_client_writes_mixed_endings_back_as_most_of_them_are() -> None:
    settled = exact("a\r\nb\nc\r\n").settled()
    assert (settled.text, settled.ending) == ("a\nb\nc\n", Ending.CRLF)
    assert exact("a\r\nb\nc\n").settled().ending is Ending.LF


def test_only_newlines_end_a_line() -> None:
    assert split_lines("a\fb\u2028c\nd") == ["a\fb\u2028c\n", "d"]
    assert split_lines("") == []
