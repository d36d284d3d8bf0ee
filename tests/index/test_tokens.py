"""What stands in a text can be found by typing it; what nobody types stays out."""

from __future__ import annotations

import base64
import random
import re
import sqlite3
from collections.abc import Iterator
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reread.features.search_text import tool_text
from reread.index.text_index import (
    BlockText,
    HeldTexts,
    TextName,
    counted,
    folded,
    has_token,
    indexable,
    is_unspaced,
    occurrences,
    query_tokens,
)

TOKENIZER = "unicode61 remove_diacritics 2"
HAN_AND_KANA = st.text("検索機能東京中文測試ひらがなカタカナー한국어검색", min_size=2, max_size=30)

TAI_LUE = re.compile("[\u19b0-\u19c9\u1cf2\u1cf3]")
"""Letters to Python, but vowel signs to SQLite 3.40, which finds no token in them."""


class Index:
    """One text at a time in a real full-text index."""

    def __init__(self) -> None:
        self._database = sqlite3.connect(":memory:")
        self._database.execute(f"CREATE VIRTUAL TABLE texts USING fts5(text, content='', tokenize='{TOKENIZER}')")

    def finds(self, wanted: str, text: str) -> bool:
        tokens = query_tokens(wanted)
        is_open = len(tokens[-1]) == 1 and is_unspaced(tokens[-1])
        phrase = " ".join(tokens).replace('"', '""')
        return self.matches(f'"{phrase}" *' if is_open else f'"{phrase}"', text)

    def matches(self, expression: str, text: str) -> bool:
        self._database.execute("INSERT INTO texts(texts) VALUES ('delete-all')")
        self._database.execute("INSERT INTO texts(rowid, text) VALUES (1, ?)", [indexable(text)])
        found = self._database.execute("SELECT rowid FROM texts WHERE texts MATCH ?", [expression]).fetchall()
        return len(found) == 1

    def close(self) -> None:
        self._database.close()


@pytest.fixture(scope="module")
def index() -> Iterator[Index]:
    index = Index()
    yield index
    index.close()


def random_base64(size: int) -> str:
    return base64.b64encode(random.Random(1).randbytes(size)).decode()


def marked(text: str, wanted: str, *, is_prefix: bool = False) -> list[str]:
    return [text[found.start : found.end] for found in occurrences(text, wanted, is_prefix=is_prefix)]


def test_plain_text_goes_in_as_it_is() -> None:
    assert indexable("Fix the parser, please.\n") == "Fix the parser, please.\n"
    assert indexable("") == ""


def test_unspaced_scripts_are_cut_into_pairs_that_begin_at_every_character() -> None:
    assert indexable("検索中").split() == ["検索", "索中", "中"]
    assert indexable("検").split() == ["検"]
    assert indexable("v2の検索!").split() == ["v2", "の検", "検索", "索", "!"]


@pytest.mark.parametrize("wanted", ["検", "検索", "索機", "ツール", "ル", "は検", "v2の", "の検索ツール", "ツールv3"])
def test_any_part_of_a_japanese_text_is_found(index: Index, wanted: str) -> None:
    assert index.finds(wanted, "これは検索機能のテスト。v2の検索ツールv3です")


def test_characters_that_are_not_neighbours_are_not_found(index: Index) -> None:
    assert not index.finds("検機", "検索機能")
    assert not index.finds("能検索", "検索機能")


def test_a_decomposed_file_name_of_macos_is_found_by_its_usual_spelling(index: Index) -> None:
    assert index.finds("ガイド", "/Users/mei/カ\u3099イト\u3099.md")
    assert index.finds("ガイド", "ｶﾞｲﾄﾞ")
    assert index.finds("검색", "\u1100\u1165\u11b7\u1109\u1162\u11a8")


def test_thai_is_found_although_unicode61_cuts_at_its_vowels(index: Index) -> None:
    assert index.finds("ค้นหา", "การค้นหาข้อความ")
    assert index.finds("ข้อความ", "การค้นหาข้อความ")


@pytest.mark.parametrize("part", ["fetch", "user", "name", "http", "server", "fetchusername", "snake", "json"])
def test_the_parts_of_a_name_are_found(index: Index, part: str) -> None:
    assert index.finds(part, "call fetchUserName() on HTTPServer with snake_case and parseJSON")


def test_parts_can_be_left_out() -> None:
    assert indexable("call fetchUserName()", with_parts=False) == "call fetchUserName()"


def test_a_phrase_through_a_name_still_matches(index: Index) -> None:
    assert index.matches('"call fetchUserName on"', "call fetchUserName() on it")


def test_random_identifiers_are_not_taken_for_names() -> None:
    assert indexable("toolu_01P4EfWJRx7Sx5BDXKDn3Php") == "toolu_01P4EfWJRx7Sx5BDXKDn3Php"


def test_blobs_stay_out_and_the_words_around_them_stay_in() -> None:
    assert indexable(f"before {random_base64(300)} after").split() == ["before", "after"]
    assert indexable(f"sum {'0123456789abcdef' * 20} end").split() == ["sum", "end"]
    svg = "%3Csvg%20xmlns=%27http://www.w3.org/2000/svg%27%3E" * 4
    assert indexable(f"url(data:image/svg+xml;utf8,{svg})").split() == ["url(", ")"]


def test_a_digest_and_a_long_path_are_no_blobs(index: Index) -> None:
    digest = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
    assert index.finds(digest, f"sha256 {digest}")
    path = "/home/ann/projects/web-shop/packages" * 8 + "/needle"
    assert index.finds("needle", path)


def test_terminal_colours_do_not_stick_to_words(index: Index) -> None:
    assert index.finds("failed", "\x1b[31mfailed\x1b[0m")


def test_emoji_do_not_stick_to_words(index: Index) -> None:
    assert index.finds("done", "done\U0001fae0 \U0001f389")
    assert not has_token("\U0001f389 --> ++")


def test_the_line_numbers_of_a_shown_file_are_no_words_of_it(index: Index) -> None:
    shown = "     9→def parse(line):\n    10→    return line\n"
    assert index.finds("parse(line): return", shown)
    assert index.finds("9→def parse", shown)
    assert marked(shown, "parse(line): return") == ["parse(line):\n    10→    return"]
    assert not index.finds("10", shown)
    assert index.finds("10", "from 9 →10")


def test_nul_and_half_surrogates_cannot_reach_the_database(index: Index) -> None:
    assert index.finds("after", "before\0 \ud83d after")


@given(st.text(max_size=80))
def test_any_word_of_any_text_is_found(index: Index, text: str) -> None:
    for word in text.split():
        is_searchable = any(has_token(token) for token in query_tokens(word))
        if is_searchable and not TAI_LUE.search(word):
            assert index.finds(word, text)


@given(HAN_AND_KANA, st.data())
def test_any_part_of_an_unspaced_text_is_found_and_marked(index: Index, text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    assert index.finds(text[start:end], text)
    assert text[start:end] in marked(text, text[start:end])


@given(st.text("aAbB1 _-→検索é", max_size=60), st.text("aAbB1_検é", min_size=1, max_size=3))
def test_what_is_found_is_also_marked(index: Index, text: str, wanted: str) -> None:
    if has_token(wanted) and index.matches(f'"{" ".join(query_tokens(wanted))}"', text) and indexable(text) == text:
        assert marked(text, wanted)


def test_marking_knows_case_diacritics_prefixes_and_parts() -> None:
    assert marked("Café CAFE cafe\u0301 cafés", "cafe") == ["Café", "CAFE", "cafe\u0301"]
    assert marked("the Parser parses parsimony", "pars", is_prefix=True) == ["Parser", "parses", "parsimony"]
    assert marked("getUserName, username, HTTPServer", "user") == ["User"]
    assert marked("foo( bar ) foo.bar foobar", "foo(bar)") == ["foo( bar", "foo.bar"]
    assert marked("東京都庁", "京都") == ["京都"]


def test_marks_belong_to_their_letter_however_many_there_are() -> None:
    assert marked("a\u0301b, a\u0301 b", "a b") == ["a\u0301 b"]
    assert marked("a" + "\u0301" * 30_000 + " c, a b", "a b") == ["a b"]


def test_offsets_stay_right_beside_letters_that_grow_when_folded() -> None:
    assert marked("İİİ ẞ straße ﬁ Zeile", "zeile") == ["Zeile"]


def test_a_part_of_a_word_is_not_marked_as_the_word() -> None:
    found = list(occurrences("user UserName users", "user", is_prefix=False))
    assert [(one.start, one.is_word) for one in found] == [(0, True), (5, False)]


@given(
    text=st.lists(
        st.sampled_from(["ana", "Ana", "ANA", "n", "N", "a", "A", "é", "a\u0301", "索", "_", " ", "→", "–", "1", "🫠"]),
        max_size=60,
    ).map("".join),
    wanted=st.sampled_from(["ana", "a", "n", "Ana", "an", "ana n", "é", "索", "1"]),
    is_prefix=st.booleans(),
    most=st.integers(1, 8),
)
def test_counting_a_word_is_counting_where_it_stands(text: str, wanted: str, is_prefix: bool, most: int) -> None:
    found = list(islice(occurrences(text, wanted, is_prefix=is_prefix), most))
    said = counted(text, wanted, is_prefix=is_prefix, most=most)
    assert said == (len(found), any(one.is_word for one in found))


@pytest.mark.parametrize("said", ["rethinker ", "inThink ", "thinkTank", "東think京 ", "THINKing ", "Rethink "])
@pytest.mark.parametrize("times", [1, 3_000])
def test_counting_a_word_inside_of_longer_ones_is_counting_where_it_stands(said: str, times: int) -> None:
    text = f"{said * times} think"
    found = list(islice(occurrences(text, "think", is_prefix=False), 200))
    assert counted(text, "think", is_prefix=False, most=200) == (len(found), any(each.is_word for each in found))


@pytest.mark.parametrize("said", ["tea", "tEa ", "isT ", "東t京 ", "T", "TEa "])
@pytest.mark.parametrize("times", [1, 3_000])
def test_counting_a_letter_is_counting_where_it_stands(said: str, times: int) -> None:
    text = f"t {said * times} t"
    found = list(islice(occurrences(text, "t", is_prefix=False), 200))
    assert counted(text, "t", is_prefix=False, most=200) == (len(found), any(each.is_word for each in found))


def test_every_letter_loses_its_case() -> None:
    for code in range(128, 0x20000):  # nothing behind it has a case
        beside = f"{chr(code)}A"
        is_by_table = re.match("[\u00c0-\u1fff\u212a\u212b\uff66-\uff9f]", beside)
        assert folded(beside) == (folded(f"{beside}\u00e9")[:2] if is_by_table else beside.lower())


@pytest.mark.parametrize("number", [3, 1_000])
def test_letters_lose_their_accents_however_many_different_ones_there_are(number: int) -> None:
    letters = [chr(code) for code in range(0xC0, 0xC0 + number)]
    assert folded("Ab" + "".join(letters)) == "ab" + "".join(folded(letter) for letter in letters)
    assert folded("\u00c9t\u00c9 \u2260") == "ete ="


def test_a_tools_input_is_its_strings_in_order_without_keys() -> None:
    value = {"command": "ls", "count": 3, "edits": [{"old": "a", "new": "b"}, None], "deep": {"x": {"y": "c"}}}
    assert tool_text(value) == "ls\na\nb\nc"
    assert tool_text("plain") == "plain"
    assert tool_text(None) == ""


def test_a_very_deep_input_is_no_problem() -> None:
    value: object = "core"
    for _ in range(10_000):
        value = [value]
    assert tool_text(value) == "core"


def named(number: int) -> TextName:
    return b"a hash", number, 10, 0, "session"


def a_text(size: int = 1_000) -> BlockText:
    return BlockText("an id", "x" * size)


def test_of_held_texts_those_go_that_nobody_asked_for_the_longest() -> None:
    held = HeldTexts(20_000)
    for number in range(20):
        held.hold(named(number), a_text())
        assert held.get(named(0)) == a_text()
    still = [number for number in range(20) if held.get(named(number))]
    assert still == [0, *range(20 - len(still) + 1, 20)]
    assert 10 < len(still) < 14  # about 1.5 KB each, with its name


def test_a_text_that_would_take_the_room_of_many_is_not_held() -> None:
    held = HeldTexts(20_000)
    held.hold(named(1), a_text())
    held.hold(named(2), a_text(10_000))
    assert (held.get(named(1)), held.get(named(2))) == (a_text(), None)


def test_no_text_is_held_any_longer_once_something_is_forgotten() -> None:
    held = HeldTexts()
    held.forget({"a file": 1})
    held.hold(named(1), a_text())
    held.forget({"a file": 1})
    assert held.get(named(1)) == a_text()
    held.forget({"a file": 1, "another": 2})
    assert held.get(named(1)) is None
