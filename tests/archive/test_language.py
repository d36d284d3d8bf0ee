"""Whatever a person types is either understood or answered with one sentence."""

from __future__ import annotations

import random
import sqlite3
import string
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from reread.archive.search_language import (
    ALL_FIELDS,
    DEFAULT_FIELDS,
    Candidate,
    Hits,
    Term,
    fields_of,
    parse,
    query_hits,
    regex,
    suggest,
)
from reread.errors import BadInput
from reread.features.search_text import Field
from reread.index.text_index import indexable

NOW = datetime(2026, 11, 15, tzinfo=UTC)
OPERATORS = ["AND", "OR", "NOT", "NEAR", "(", ")", '"', "“", "*", "-", "+", "^", ":", "'", "{", "}", " ", "  ", "\n"]
PIECES = [*OPERATORS, "tool:", "result:", "a", "bc", "検索", "é", "\0", "NEAR(a", "🎉", "C++", "foo(bar)", "\ud800"]
LIKE_A_QUERY = st.lists(st.sampled_from(PIECES), max_size=30).map("".join)


class Index:
    """Texts by field in a real full-text index, one row each."""

    def __init__(self) -> None:
        self._database = sqlite3.connect(":memory:")
        self._database.execute(
            f"CREATE VIRTUAL TABLE texts USING fts5({', '.join(Field)}, content='',"
            " tokenize='unicode61 remove_diacritics 2')"
        )

    def search(self, query: str, *texts: str, **by_field: str) -> list[str]:
        """The texts found, in order; those without a name are replies."""
        self._database.execute("INSERT INTO texts(texts) VALUES ('delete-all')")
        rows = [("text", text) for text in texts] + list(by_field.items())
        for number, (field, text) in enumerate(rows):
            self._database.execute(f"INSERT INTO texts(rowid, {field}) VALUES (?, ?)", [number, indexable(text)])  # noqa: S608
        return [rows[number][1] for (number,) in self.run(parse(query).match)]

    def run(self, match: str) -> list[tuple[int]]:
        return self._database.execute("SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY rowid", [match]).fetchall()

    def close(self) -> None:
        self._database.close()


@pytest.fixture(scope="module")
def index() -> Iterator[Index]:
    index = Index()
    yield index
    index.close()


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("red fox", ["a red fox", "the fox is red"]),
        ('"red fox"', ["a red fox"]),
        ("“red fox”", ["a red fox"]),
        ('"red fo"*', ["a red fox"]),
        ("blu*", ["a blue bird"]),
        ("bird OR hen", ["a blue bird", "the hen"]),
        ("red -a", ["the fox is red"]),
        ("red NOT a", ["the fox is red"]),
        ("red AND NOT a", ["the fox is red"]),
        ("red NOT NOT a", ["a red fox"]),
        ("(red OR blue) a", ["a red fox", "a blue bird"]),
        ("the -(hen OR fox)", []),
        ("red OR blue bird", ["a red fox", "the fox is red", "a blue bird"]),
        ("or", []),
        ("RED Fóx", ["a red fox", "the fox is red"]),
        ('red "fox', ["a red fox", "the fox is red"]),
        ("((red) fox", ["a red fox", "the fox is red"]),
        ("AND red OR", ["a red fox", "the fox is red"]),
        ("red ++ fox", ["a red fox", "the fox is red"]),
        ("--red - fox", ["a red fox", "the fox is red"]),
    ],
)
def test_the_language_means_what_it_says(index: Index, query: str, found: list[str]) -> None:
    assert index.search(query, "a red fox", "the fox is red", "a blue bird", "the hen") == found


@pytest.mark.parametrize(
    "query", ["foo(bar)", "foo.bar", "foo-bar", "foo:bar", "foo_bar", "(call foo(bar))", "foo(bar"]
)
def test_a_word_with_punctuation_inside_is_a_phrase(index: Index, query: str) -> None:
    assert index.search(query, "call foo(bar) now", "call bar, foo") == ["call foo(bar) now"]


def test_near_and_other_words_of_fts5_are_words(index: Index) -> None:
    assert index.search("NEAR(a b)", "near a b", "a b") == ["near a b"]


def test_japanese_is_found_by_any_part_of_it(index: Index) -> None:
    assert index.search("索機", "検索機能を直す", "検索と機能") == ["検索機能を直す"]
    assert index.search("能", "検索機能", "検索") == ["検索機能"]
    assert index.search("検索*", "検索機能", "機能") == ["検索機能"]


def test_tool_results_are_searched_only_when_asked_for(index: Index) -> None:
    texts = {"prompt": "a needle asked", "result": "a needle found"}
    assert index.search("needle", **texts) == ["a needle asked"]
    assert index.search("result:needle", **texts) == ["a needle found"]
    assert index.search("result:needle OR asked", **texts) == ["a needle asked", "a needle found"]
    assert parse("needle", ALL_FIELDS).match == '"needle"'
    assert parse("needle").fields == DEFAULT_FIELDS


def test_a_field_takes_a_word_a_phrase_or_a_group(index: Index) -> None:
    texts = {"prompt": "red fox", "tool": "red fox, hen", "thinking": "hen"}
    assert index.search("Tool:red", **texts) == ["red fox, hen"]
    assert index.search('prompt:"red fox"', **texts) == ["red fox"]
    assert index.search("thinking:(fox OR hen)", **texts) == ["hen"]
    assert index.search("fox -tool:hen", **texts) == ["red fox"]
    assert parse("prompt:fox red").fields == {Field.PROMPT}
    assert parse("prompt: fox").terms == (Term("prompt:"), Term("fox"))


def test_one_hit_cannot_lie_in_two_fields() -> None:
    with pytest.raises(BadInput, match="several fields"):
        parse("prompt:fox tool:hen")


@pytest.mark.parametrize("query", ["", "  ", '"', "*", "()", "++ -- ::", "🎉", "AND", "-", "\0"])
def test_nothing_to_search_for_is_said(query: str) -> None:
    with pytest.raises(BadInput, match="nothing to search for"):
        parse(query)


def test_only_leaving_out_is_said() -> None:
    with pytest.raises(BadInput, match="only says what to leave out"):
        parse("-red NOT fox")


def test_terms_say_how_they_were_meant() -> None:
    query = parse('word pre* "a phrase" -gone -(x "y z")')
    assert query.terms == (
        Term("word"),
        Term("pre", is_prefix=True),
        Term("a phrase", is_phrase=True),
        Term("gone", negated=True),
        Term("x", negated=True),
        Term("y z", is_phrase=True, negated=True),
    )


@given(st.text(max_size=60) | LIKE_A_QUERY, st.sets(st.sampled_from(Field), min_size=1))
@example("(" * 500 + "a" + " OR b)" * 500, {Field.TEXT})
@example("(a NOT (b OR " * 40, {Field.TEXT})
@example("a " * 5000, {Field.TEXT})
@example("a OR " * 5000, {Field.TEXT})
def test_any_query_is_understood_or_refused_in_a_sentence(index: Index, text: str, fields: set[Field]) -> None:
    try:
        query = parse(text, fields)
    except BadInput as refused:
        str(refused).encode()
        return
    index.run(query.match)
    assert query.terms
    assert query.fields


@given(st.text(max_size=60))
def test_a_quoted_text_finds_itself(index: Index, text: str) -> None:
    text = text.translate({ord(quote): " " for quote in '"“”'})
    if any(character.isalnum() and not "\u19b0" <= character <= "\u1cf3" for character in text):
        assert index.search(f'"{text}"', text) == [text]


def test_fields_are_read_from_a_list() -> None:
    assert fields_of("prompt, Thinking") == {Field.PROMPT, Field.THINKING}
    assert fields_of("all") == ALL_FIELDS
    for wrong in ("", ",", "prompt,nonsense"):
        with pytest.raises(BadInput, match="known are prompt, text"):
            fields_of(wrong)


def test_a_pattern_is_compiled_or_refused() -> None:
    assert regex("^b.$").search("a\nbc\nd")
    for wrong in ("", "(", "a{9999999999999}", "(" * 5000 + ")" * 5000, "*"):
        with pytest.raises(BadInput):
            regex(wrong)


def test_the_likeliest_word_is_suggested() -> None:
    vocabulary = [("parser", 90), ("parse", 50), ("sparser", 1), ("passed", 70), ("harsher", 4), ("database", 8)]
    assert suggest("praser", vocabulary)[0] == "parser"
    assert suggest("databsae", vocabulary) == ["database"]
    assert suggest("Parser", vocabulary)[0] == "parse"
    assert suggest("zzzzzz", vocabulary) == []


def test_the_same_first_letter_and_frequent_words_come_first() -> None:
    assert suggest("tset", [("test", 5), ("set", 900), ("tsat", 7), ("reset", 50)]) == ["tsat", "test", "set"]


def test_short_words_and_unspaced_scripts_are_left_alone() -> None:
    assert suggest("ab", [("abc", 3)]) == []
    assert suggest("検索機", [("検索", 3)]) == []


def test_a_large_vocabulary_is_no_problem() -> None:
    chance = random.Random(1)
    words = ["".join(chance.choices(string.ascii_lowercase, k=chance.randint(2, 14))) for _ in range(50_000)]
    assert suggest("migration", [(word, 1) for word in words] + [("migrations", 2)]) == ["migrations"]


def a_candidate(
    key: int, *, days: int = 0, field: Field = Field.TEXT, occurrences: int = 1, length: int = 500, terms: int = 1
) -> Candidate:
    counted = Hits(terms=terms, occurrences=occurrences, has_word=True, has_phrase=False)
    return Candidate(key, NOW - timedelta(days=days), field, counted, length)


def order(*candidates: Candidate) -> list[int]:
    return [candidate.key for candidate in sorted(candidates, key=lambda one: one.score(NOW), reverse=True)]


def test_more_occurrences_come_first() -> None:
    assert order(a_candidate(1), a_candidate(2, occurrences=3)) == [2, 1]


def test_a_title_counts_more_than_a_result() -> None:
    fields = [Field.RESULT, Field.TOOL, Field.THINKING, Field.TEXT, Field.PROMPT, Field.TITLE]
    assert order(*[a_candidate(number, field=field) for number, field in enumerate(fields)]) == [5, 4, 3, 2, 1, 0]


def test_of_equals_the_newer_and_the_shorter_come_first() -> None:
    assert order(a_candidate(1, days=40), a_candidate(2, days=1)) == [2, 1]
    assert order(a_candidate(1, length=90_000), a_candidate(2)) == [2, 1]


def test_age_never_hides_a_much_better_match() -> None:
    assert order(a_candidate(1), a_candidate(2, days=2000, occurrences=6)) == [2, 1]


def test_a_match_without_a_time_or_from_the_future_is_ranked_too() -> None:
    timeless = Candidate(1, None, Field.TEXT, Hits(1, 1, True, False), 10)
    assert order(timeless, a_candidate(2, days=-30)) == [2, 1]
    assert a_candidate(2, days=-30).score(NOW) == a_candidate(3).score(NOW)


def test_one_occurrence_of_a_whole_word_scores_fifteen_before_its_field_and_length() -> None:
    assert a_candidate(1, field=Field.TOOL, length=0).score(NOW) == 15


def test_hits_are_counted_as_the_index_sees_them() -> None:
    terms = parse("red fox -hen").terms
    assert query_hits(terms, "The Red fox, a red hen") == Hits(terms=2, occurrences=3, has_word=True, has_phrase=True)
    assert query_hits(terms, "foxes, redFox") == Hits(terms=2, occurrences=2, has_word=False, has_phrase=False)
    assert query_hits(terms, "nothing") == Hits(terms=0, occurrences=0, has_word=False, has_phrase=False)
    assert query_hits(parse('"red fox"').terms, "red fox").has_phrase
