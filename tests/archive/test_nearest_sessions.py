"""Where no text has all words of a query: the sessions that are nearest to it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from reread.archive import Archive, SearchAnswer
from reread.archive.nearest import is_described, tokens_of
from reread.archive.search_language import plain_words
from reread.testing import a_prompt, a_reply, a_session, a_tool_call
from reread.views.hits import search_document, search_lines
from reread.views.mcp_text import Recall, search_text
from reread.views.text import Style
from reread.views.values import View

RETRY, STYLE, LONG, MINE = (f"{letter * 8}-1111-4222-8333-444455556666" for letter in "abcd")
CHINESE = "eeeeeeee-1111-4222-8333-444455556666"
DESCRIPTION = "where did we fix the flaky retry of the upload"


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Archive:
    folder = tmp_path_factory.mktemp("nearest")
    retry = [
        a_prompt("the upload fails about one run in twenty, it looks flaky", timestamp="2026-03-01T10:00:00.000Z"),
        a_reply("The order of the headers is wrong.", a_tool_call("Edit", {"file_path": "src/retry.py"})),
        a_reply("It is fixed: each retry sends them in order now."),
    ]
    style = [a_prompt("make the buttons blue"), a_reply("Done, the upload button too.")]
    chatter = [a_reply(f"I looked at the upload of file {number} and at its retry.") for number in range(60)]
    a_session(*retry, id=RETRY).write(folder / "projects")
    a_session(*style, id=STYLE).write(folder / "projects")
    a_session(a_prompt("go through all files"), *chatter, id=LONG).write(folder / "projects")
    a_session(a_prompt("请修复上传重试的错误"), a_reply("好了"), id=CHINESE).write(folder / "projects")
    opened = Archive(folder / "home", [folder / "projects"], machine="desk")
    opened.sync()
    return opened


def names(answer: SearchAnswer) -> list[str]:
    return [hit.session.row.uuid for hit in answer.nearest]


def test_a_session_is_found_by_describing_it(archive: Archive) -> None:
    answer = archive.search(DESCRIPTION)
    assert (answer.hits, answer.total) == ([], 0)
    assert names(answer)[0] == RETRY
    assert answer.nearest[0].text.startswith("the upload fails")


def test_words_that_no_text_has_together_list_the_sessions_that_have_most_of_them(archive: Archive) -> None:
    assert names(archive.search("flaky retry"))[0] == RETRY
    assert archive.search("flaky upload").nearest == ()  # a text has both, and two words are no description


def test_a_description_that_a_text_fulfils_lists_other_sessions_behind_it(archive: Archive) -> None:
    answer = archive.search("upload fails one run")
    assert [hit.session.row.uuid for hit in answer.hits] == [RETRY]
    assert RETRY not in names(answer)


@pytest.mark.parametrize("query", ['zebra "no such thing"', "kubernetes helm charts of the upload cluster", "the of"])
def test_what_has_little_of_the_query_is_not_called_near(archive: Archive, query: str) -> None:
    assert archive.search(query).nearest == ()


@pytest.mark.parametrize("query", ["flaky -upload retry", "flaky AND zebra retry", "prompt:flaky zebra retry blue"])
def test_a_query_with_operators_means_what_it_says(archive: Archive, query: str) -> None:
    assert plain_words(query) == []
    assert archive.search(query).nearest == ()


def test_filters_and_fields_hold_for_the_nearest_sessions(archive: Archive) -> None:
    assert names(archive.search("flaky retry", since=datetime(2026, 3, 2, tzinfo=UTC))) == []
    assert {hit.field for hit in archive.search("headers retry", "text").nearest} == {"text"}
    assert len(archive.search("upload retry buttons order", limit=1).nearest) == 1


def test_a_description_without_spaces_is_compared_by_its_pairs(archive: Archive) -> None:
    assert names(archive.search("上传 重试 失败 修复"))[0] == CHINESE


def test_fillers_are_left_out_unless_there_is_nothing_else() -> None:
    assert tokens_of("Where did we fix the retry?") == ["fix", "retry"]
    assert tokens_of("who was that") == ["who", "was", "that"]
    assert [is_described(text) for text in ("fix the retry", "fix the flaky retry", "fix the -flaky retry")] == [
        False,
        True,
        False,
    ]


def test_every_surface_says_that_no_text_has_all_words(archive: Archive) -> None:
    answer = archive.search(DESCRIPTION)
    lines = list(search_lines(answer, answer.terms, View(width=100, style=Style(False))))
    assert (lines[0], lines[-1]) == ("no text has all words; nearest sessions:", "0 hits")
    assert search_document(answer, answer.terms)["nearest"][0]["session"] == RETRY
    told = search_text(answer, "all projects", Recall(UTC, str))
    assert told.startswith("no text has all words; nearest sessions")
    assert "aaaaaaaa" in told


def test_a_copy_of_a_session_is_listed_once(tmp_path: Path) -> None:
    lines = [a_prompt("the upload is flaky", uuid="u1"), a_reply("A retry helps.", uuid="u2")]
    for name in (RETRY, MINE):
        a_session(*lines, id=name).write(tmp_path / "projects")
    with Archive(tmp_path / "home", [tmp_path / "projects"]) as archive:
        archive.sync()
        assert len(archive.search("flaky retry").nearest) == 1
