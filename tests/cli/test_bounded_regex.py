"""A regular expression that would never end costs the texts it is stuck on, and nothing else."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from string import ascii_letters, digits

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.running import Run
from reread.archive import Archive, regex
from reread.archive.regex import BoundedPattern, ReadText, Tried, needs_terms, possible
from reread.archive.search_language import ALL_FIELDS
from reread.errors import BadInput
from reread.index import meta, words
from reread.index.read import Match
from reread.index.schema import sql_of
from reread.index.text_index import LACKING, indexable_bytes
from reread.index.words import TermList, term_list
from reread.safe.safe import lock
from reread.testing import a_prompt, a_reply, a_session, a_tool_call, a_tool_result

CORPUS = Path(__file__).parents[3] / "shared" / "corpus"
ENDLESS = "(a|aa)+$"
STUCK = "a" * 60 + "!"


def answers(pattern: str, *texts: str) -> list[tuple[bool, bool]]:
    return [(tried.is_found, tried.took_too_long) for tried in BoundedPattern(pattern, 0.3).try_each(texts)]


def test_a_text_that_takes_too_long_is_skipped_and_the_others_are_tried() -> None:
    assert answers(ENDLESS, "xx aaa", STUCK, "bbb", "aa") == [
        (True, False),
        (False, True),
        (False, False),
        (True, False),
    ]


@pytest.mark.parametrize("pattern", [r"\d+", "x|y?", "^b.$", "é+", "(?i)ABC+"])
def test_the_answers_are_those_of_python(pattern: str) -> None:
    texts = ["", "12 and 345", "a\nbc\nd", "xyz", "é é", "abcc \ud800", "nothing"] * 100
    tried = list(BoundedPattern(pattern).try_each(texts))
    compiled = re.compile(pattern, re.MULTILINE)
    assert [each.is_found for each in tried] == [compiled.search(text) is not None for text in texts]
    assert [each.spans for each in tried] == [
        tuple(match.span() for match in compiled.finditer(text) if match.group()) for text in texts
    ]


def test_a_pattern_that_is_stuck_everywhere_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regex, "MOST_SKIPPED", 3)
    bounded = BoundedPattern(ENDLESS, patience=0.1)
    assert len(list(bounded.try_each([STUCK] * 10))) == 3
    assert bounded.has_given_up


@pytest.mark.parametrize(
    ("pattern", "text", "span"),
    [
        (r"tapirs?", "a tapir", (2, 7)),
        (r"\b[a-f0-9]{7}\b.{3}#\d+", "see 0a1b2c3 - #42.", (4, 17)),
        (r"heron.*", "a heron sleeps", (2, 14)),
        (r"(a{3}|b)c+", "aaaccc", (0, 6)),
    ],
)
def test_a_match_says_where_it_is(pattern: str, text: str, span: tuple[int, int]) -> None:
    tried = list(BoundedPattern(pattern).try_each(["none", text]))
    assert tried == [Tried(is_found=False), Tried(is_found=True, spans=(span,))]


@pytest.mark.parametrize("pattern", ["x?", "x*", "(x){0,1}"])
def test_what_is_found_behind_many_matches_of_nothing_is_told(pattern: str) -> None:
    (tried,) = BoundedPattern(pattern).try_each(["." * 200 + "x" + ".x" * 200])
    assert tried.is_found
    assert tried.spans == tuple((at, at + 1) for at in range(200, 200 + 2 * regex.MOST_SPANS, 2))


def test_what_is_no_pattern_is_refused() -> None:
    with pytest.raises(BadInput, match="not a regular expression"):
        BoundedPattern("(a+")


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    a_session(a_prompt(f"look at {STUCK}"), a_reply("baa"), id="stuck").write(tmp_path / "projects")
    with Archive(tmp_path / "kept", [tmp_path / "projects"]) as archive:
        archive.sync()
    return tmp_path / "kept"


def test_a_search_tells_what_it_skipped(kept: Path, run: Run) -> None:
    ran = run("search", "--regex", ENDLESS, "--home", kept, "--no-sync")
    assert ran.code == 0, ran.err
    assert "b[aa]" in ran.out
    assert "1 text took too long and was skipped" in ran.out
    told = json.loads(run("search", "--regex", ENDLESS, "--home", kept, "--no-sync", "--json").out)
    assert (told["skipped"], told["cut_short"], len(told["hits"])) == (1, False, 1)


# -- words that every match holds


@pytest.mark.parametrize(
    ("pattern", "asked"),
    [
        (r"err(or)?\s+in\s+line", '("in" AND "line" *)'),
        (r"error in line", '("in" AND "line" *)'),
        (r"error", ""),
        (r"\berror", '("error" *)'),
        (r"\berror\b", '("error" *)'),
        (r"^error$", '("error")'),
        (r"\Aerror\Z", '("error")'),
        (r"/error: ", '("error")'),
        (r"\n\terror\.json", '("error" AND "json" *)'),
        (r"\Werror\W", '("error" *)'),
        (r"_error_", '("error")'),
        (r"\berrors?\b", '("error" *)'),
        (r" error+ ", '("error" *)'),
        (r"\s+?error", '("error" *)'),
        (r"\s*error", ""),
        (r" {0,1}error ", ""),
        (r" error ?x", '("error" *)'),
        (r" error\s*", '("error" *)'),
        (r"\berrr?or", '("err" *)'),
        (r"\ba ", '("a")'),
        (r"\bab", ""),
        (r"\b404 ", ""),
        (r" 404x ", '("404x")'),
        (r".error ", ""),
        (r"[ ]error ", ""),
        (r"( )error ", ""),
        ("—error ", ""),
        (r"\d error|\bheron\b", '("error" *) OR ("heron" *)'),
        (r"\d error|heron", ""),
        (r"(?i) Fox \Bheron", '("Fox")'),
        (r"(?i) fix the ", '("fix" AND "the")'),
        (r"(?a)\berror", ""),
        (r"(?x)\b error", ""),
    ],
)
def test_what_the_index_is_asked_before_a_pattern_is_tried(pattern: str, asked: str) -> None:
    found = possible(BoundedPattern(pattern).words, None)
    assert ("" if found is None else found.expression) == asked


@pytest.mark.parametrize(
    ("pattern", "asked"),
    [
        (r"err", '(("error" OR "terror"))'),
        (r"ERR", '(("error" OR "terror"))'),
        (r"err.*xyz", '(("error" OR "terror") AND (""))'),
        (r"err|hero", '(("error" OR "terror")) OR (("heron"))'),
        (r"err|\bhero", '(("error" OR "terror")) OR ("hero" *)'),
        (r"err \w+ in", '(("error" OR "terror"))'),
        (r"err the", '("the" * AND ("error" OR "terror"))'),
        (r"err the|tapir", '("the" * AND ("error" OR "terror")) OR (("tapir"))'),
        (r"er", ""),
        (r"404", ""),
        (r"err|er", ""),
        (r"tap", ""),
        (r"(?a)err", ""),
    ],
)
def test_letters_inside_of_words_are_looked_up_in_the_list_of_words(
    pattern: str, asked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(regex, "_MOST_TERMS", 2)
    words = BoundedPattern(pattern).words
    found = possible(words, TermList(3, 9, "\nerror\nheron\ntap\ntaper\ntapir\nterror\n404\n"))
    assert ("" if found is None else found.expression) == asked
    assert needs_terms(words) == (pattern not in (r"err the", "er", "404", "err|er", "(?a)err"))
    assert found is None or found[1:] == (3, 9)


def test_a_text_with_another_case_of_a_letter_is_tried_whatever_the_index_says() -> None:
    everything = "".join(map(chr, range(0x20000)))
    for letter in ascii_letters + digits:
        for found in re.findall(f"(?i){letter}", everything):
            assert found.isascii() or indexable_bytes(f"AB{found}cD").endswith(LACKING)


def test_a_line_whose_letters_are_given_by_number_is_found(tmp_path: Path) -> None:
    entries = a_prompt("go"), a_reply(a_tool_call(id="t1")), a_tool_result("the tapirq dreams", of="t1")
    trunk = a_session(*entries, a_reply("the tapirq sleeps")).write(tmp_path / "projects")
    trunk.write_bytes(trunk.read_bytes().replace(b"tapirq", b"t\\u0061pirq"))
    with Archive(tmp_path / "home", [tmp_path / "projects"], machine="desk") as archive:
        archive.sync()
        found = archive.search(r"tapirq \w+s", ALL_FIELDS, is_regex=True).hits
        assert {hit.text for hit in found} == {"the tapirq dreams", "the tapirq sleeps"}


def test_a_sign_is_found_however_it_is_written(tmp_path: Path) -> None:
    entries = (
        a_prompt("go #1"),
        a_reply(a_tool_call("Bash", {"command": "gh #2"}, id="t1")),
        a_tool_result("#3", of="t1"),
    )
    trunk = a_session(*entries, a_reply("none"), a_reply("so #4"), a_reply("or ü#5")).write(tmp_path / "projects")
    trunk.write_bytes(trunk.read_bytes().replace(b"#4", b"\\u00234"))
    with Archive(tmp_path / "home", [tmp_path / "projects"], machine="desk") as archive:
        archive.sync()
        assert archive.search(r"#\d", ALL_FIELDS, is_regex=True).total == 5
        assert archive.search(r"(?i)#[^4]", ALL_FIELDS, is_regex=True).total == 4
        assert archive.search(r"none|\W\b#", ALL_FIELDS, is_regex=True).total == 1


def test_an_output_in_a_file_of_its_own_is_searched_as_it_is(tmp_path: Path) -> None:
    output = '{x}} "12-3" C:\\users a\\\\b {"uuid":"4-5"}'
    session = a_session(a_prompt("go"), a_reply("done"), outputs={"toolu_9.txt": output})
    session.write(tmp_path / "projects")
    with Archive(tmp_path / "home", [tmp_path / "projects"], machine="desk") as archive:
        archive.sync()
        for pattern in (r"\{x", r"\}\} ", r'"\d+-\d"', r"\w:\\u", r"\\\\b", r'":"\d-', r"\d\"\}$"):
            assert archive.search(pattern, ["result"], is_regex=True).total == 1, pattern
        assert archive.search(r'\\"', ["result"], is_regex=True).total == 0


# -- the index rules out what it has all words of, and nothing else

_PARTS = ["tapir", "heron", "in", "a", "404", "Tapir", "éb", "_", " ", "\n", "-", ".", "\t", "—", "→", "\n  12→"]
_RARE = [
    "⏺",
    "\ue0b0",
    "\u0301",
    "検索",
    "\x1b[31m",
    "\0",
    "🫠",
    "ª",
    "K",
    "x" * 210,
    " data:image/png;base64," + "iVBO" * 30,
]
_TEXTS = st.lists(st.sampled_from([*_PARTS * 3, *_RARE]), min_size=1, max_size=9).map("".join)


@st.composite
def a_text_and_a_pattern_of_its_letters(draw: st.DrawFn) -> tuple[str, str]:
    text = draw(_TEXTS)
    start = draw(st.integers(0, len(text) - 1))
    said = text[start : start + draw(st.integers(1, 14))]
    parts = [
        draw(st.sampled_from(["", "", "(?i)", "(?a)"])),
        draw(st.sampled_from(["", r"\b", r"\b", "^", r"\W", "."])),
    ]
    for letter in said:
        is_plain = letter.isascii() and letter.isalnum()
        others = [letter] * 8 if is_plain else [r"\W", r"\W+", r"\b."] + [r"\s", r"\s+", r"\s+?"] * letter.isspace()
        parts.append(draw(st.sampled_from([re.escape(letter), ".", *others])))
        parts.append(draw(st.sampled_from([*[""] * 12, "+", "?", "*", r"\b"])))
    return text, "".join(parts) + draw(st.sampled_from(["", r"\b", "$", r"\W"]))


@given(a_text_and_a_pattern_of_its_letters())
def test_no_text_that_matches_is_ruled_out_by_the_index(given: tuple[str, str]) -> None:
    text, pattern = given
    try:
        bounded = BoundedPattern(pattern)
    except BadInput:  # `\b+` repeats nothing
        return
    words = indexable_bytes(text)
    if bounded.words and not words.endswith(LACKING) and re.search(pattern, text, re.MULTILINE):
        with closing(sqlite3.connect(":memory:")) as database:
            database.execute(sql_of("search"))
            database.execute("INSERT INTO search(rowid, text) VALUES (1, ?)", (words,))
            database.execute("CREATE VIRTUAL TABLE vocabulary USING fts5vocab(search, row)")
            listed = "".join(f"{term}\n" for (term,) in database.execute("SELECT term FROM vocabulary"))
            for terms in (None, TermList(1, 1, f"\n{listed}")):
                asked = possible(bounded.words, terms)
                if asked is not None:
                    found = database.execute("SELECT 1 FROM search WHERE search MATCH ?", (asked.expression,))
                    assert found.fetchone()


def test_a_word_begins_in_the_index_wherever_it_does_in_a_pattern() -> None:
    """Whatever stands before it, or the text is noted as partly indexed: SQLite and Python know other characters."""
    boundary = re.compile(r"\bheron")
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute(sql_of("search"))
        texts = (f"tapir{chr(code)}heron" for code in range(0x20000) if not 0xD800 <= code < 0xE000)
        told = [
            words for text in texts if boundary.search(text) and not (words := indexable_bytes(text)).endswith(LACKING)
        ]
        database.executemany("INSERT INTO search(rowid, text) VALUES (?, ?)", enumerate(told, 1))
        (found,) = database.execute("SELECT count(*) FROM search WHERE search MATCH 'heron*'").fetchone()
    assert found == len(told) > 2_000


class Noted:
    """`ReadText.of`, and which texts it was asked for."""

    def __init__(self, of: Callable[[Match, bytes], ReadText | None]) -> None:
        self._of = of
        self.texts: list[str] = []

    def __call__(self, match: Match, line: bytes) -> ReadText | None:
        found = self._of(match, line)
        self.texts += [] if found is None else [found.text]
        return found


def test_only_texts_that_may_match_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = ["a tapir sleeps", "a tapirs heron", "the \x1b[31mtapirs", "untapirs"]
    a_session(*(a_prompt(text) for text in said)).write(tmp_path / "projects")
    with Archive(tmp_path / "home", [tmp_path / "projects"], machine="desk") as archive:
        archive.sync()
        monkeypatch.setattr(ReadText, "of", noted := Noted(ReadText.of))
        assert [hit.text for hit in archive.search(r"\btapirs", is_regex=True).hits] == ["a tapirs heron"]
        assert sorted(noted.texts) == ["a tapirs heron", "the \x1b[31mtapirs"]
        assert [hit.text for hit in archive.search(r"\[31mtapirs", is_regex=True).hits] == ["the \x1b[31mtapirs"]
        archive.inner.connection.execute("DELETE FROM block")
        assert not archive.inner.connection.execute("SELECT * FROM partly_indexed").fetchall()


def listed(archive: Archive) -> list[str]:
    terms = term_list(archive.inner.connection)
    return terms.terms.split() if terms is not None else []


def test_letters_inside_of_words_are_found_by_a_list_of_all_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(words, "FEW", 0)
    said = [a_prompt(f"the {name}pirs sleep") for name in ("ta", "tapirta", "he", "ro")]
    a_session(*said).write(tmp_path / "projects")
    with Archive(tmp_path / "home", [tmp_path / "projects"], machine="desk") as archive:
        archive.sync()
        monkeypatch.setattr(ReadText, "of", noted := Noted(ReadText.of))
        assert archive.search(r"\btapirs", is_regex=True).total == 1
        assert listed(archive) == []
        noted.texts.clear()
        assert archive.search(r"apirs", is_regex=True).total == 2
        assert listed(archive) == ["hepirs", "ropirs", "sleep", "tapirs", "tapirtapirs", "the"]
        assert sorted(noted.texts) == ["the tapirs sleep", "the tapirtapirs sleep"]

        # What came later is not in the list, and is read whatever that says.
        monkeypatch.setattr(words, "FEW", 1)
        a_session(*said, a_prompt("the wapirs dream")).write(tmp_path / "projects")
        archive.sync()
        assert archive.search(r"apirs", is_regex=True).total == 3
        assert "wapirs" not in listed(archive)
        monkeypatch.setattr(words, "FEW", 0)
        assert archive.search(r"apirs", is_regex=True).total == 3
        assert "wapirs" in listed(archive)
        assert meta.waiting_for_friction(archive.inner.connection)
        archive.inner.finish()  # which brings no words here
        assert "wapirs" in listed(archive)

        archive.inner.connection.execute("UPDATE term_list SET checksum = checksum + 1")
        assert listed(archive) == []
        assert archive.search(r"apirs", is_regex=True).total == 3
        assert "wapirs" in listed(archive)
        archive.safe.forget(archive.sessions()[0].id)
        assert archive.inner.connection.execute("SELECT count(*) FROM term_list").fetchone() == (0,)


def test_where_nothing_can_be_written_letters_are_found_by_reading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(words, "FEW", 0)
    a_session(a_prompt("the tapirs"), a_prompt("the herons")).write(tmp_path / "projects")
    with Archive(tmp_path / "home", [tmp_path / "projects"], machine="desk") as archive:
        archive.sync()
        with lock(archive.home / "safe", timeout=1):
            assert archive.search(r"apirs", is_regex=True).total == 1
        assert listed(archive) == []


@pytest.mark.shared
@pytest.mark.skipif(not CORPUS.is_dir(), reason="needs the recorded sessions beside the project")
def test_recorded_sessions_answer_as_if_every_text_were_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words, "FEW", 0)
    folder = CORPUS / "recorded" / "winksaville+vc-x1.claude"
    with Archive(tmp_path / "home", [folder], machine="desk") as archive:
        archive.sync()
        for pattern in (
            r"error in",
            r"rror",
            r"argo.*rror",
            r"func\w* \w+\(",
            r"test(s|ed)? \w+",
            r"TODO|FIXME",
            r"(?i)error \w+",
            r"commit [0-9a-f]{7}",
            r"cargo\s+test",
            r"\bcargo\b.*\btest",
            r"^## \w+ the",
            r"/src/\w+\.rs",
            r"\b[a-f0-9]{7}\b.{3}#\d+",
            r"\w=\d|<\w+>",
            r"\\n",
            r"\d{4}-\d{2}",
            r'"\w+":\s*\d{3}',
            r"\b[0-9a-f]{40}\b",
        ):
            quick = archive.search(pattern, ALL_FIELDS, is_regex=True)
            with monkeypatch.context() as patched:
                patched.setattr(regex, "required_words", lambda _: [])
                whole = archive.search(pattern, ALL_FIELDS, is_regex=True)
            assert (quick.total, quick.hits) == (whole.total, whole.hits)


@pytest.mark.shared
@pytest.mark.skipif(not CORPUS.is_dir(), reason="needs the recorded sessions beside the project")
@pytest.mark.parametrize("limit", [1, 20, 10_000])
def test_all_processors_answer_like_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    folder = CORPUS / "recorded" / "winksaville+vc-x1.claude"
    monkeypatch.setattr(regex, "SHARE", 40)
    monkeypatch.setattr(regex, "SHARE_OF_POSSIBLE", 40)
    monkeypatch.setattr(regex, "MANY", 200)
    with Archive(tmp_path / "home", [folder], machine="desk") as archive:
        archive.sync()
        for pattern in (r"error in", r"test(s|ed)? \w+", r"e"):
            answers = []
            for few in (1, 10**9):
                monkeypatch.setattr(regex, "FEW", few)
                answers.append(archive.search(pattern, ALL_FIELDS, limit=limit, is_regex=True))
            shared, alone = answers
            assert (shared.total, shared.hits) == (alone.total, alone.hits)
            assert all(hit.text for hit in shared.hits)
            assert len(shared.hits) == min(limit, shared.total)


def test_a_pattern_is_given_up_by_all_processors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regex.BoundedPattern.__init__, "__defaults__", (0.1,))
    monkeypatch.setattr(regex, "SHARE", 2)
    monkeypatch.setattr(regex, "FEW", 1)
    monkeypatch.setattr(regex, "MOST_SKIPPED", 3)
    a_session(*(a_prompt(f"{number} {STUCK}") for number in range(40))).write(tmp_path / "projects")
    with Archive(tmp_path / "home", [tmp_path / "projects"], machine="desk") as archive:
        archive.sync()
        answer = archive.search(ENDLESS, is_regex=True)
    assert answer.is_cut_short
    assert 3 <= answer.skipped <= 6
