"""`search` finds words where they were said, and each hit can be opened where it stands."""

from __future__ import annotations

import os
import re
import shlex

import pytest

from cli.kept import HARBOUR, LANTERN, Kept
from cli.running import on_terminal
from reread.testing import a_prompt, a_reply, a_session, a_title, a_tool_call, a_tool_result


def fields(kept: Kept, *arguments: str) -> set[tuple[str, str]]:
    return {(hit["session"], hit["field"]) for hit in kept.json("search", *arguments)["hits"]}


def test_hits_have_the_fields_of_the_contract(kept: Kept) -> None:
    document = kept.json("search", "capacitor", "loose")
    assert document["schema"] == "reread.search/1"
    assert (document["query"], document["total"]) == ("capacitor loose", 1)
    (hit,) = document["hits"]
    wanted = ("session", "uuid", "field", "project", "timestamp", "snippet", "score")
    assert set(wanted) <= set(hit)
    assert (hit["session"], hit["field"], hit["project"]) == (LANTERN, "thinking", "/home/ann/lantern")
    assert hit["snippet"] == "the [capacitor] might be [loose]"
    assert hit["timestamp"].endswith("Z")
    assert isinstance(hit["score"], float)


def test_fields_can_be_chosen_and_results_are_off_by_default(kept: Kept) -> None:
    assert fields(kept, "beacon") == {(LANTERN, "prompt"), (HARBOUR, "text")}
    assert fields(kept, "beacon", "--in", "text") == {(HARBOUR, "text")}
    assert fields(kept, "seventeen") == set()
    assert fields(kept, "seventeen", "--in", "result") == {(LANTERN, "result")}
    assert fields(kept, "zirconium", "--in", "all") == {(LANTERN, "result")}
    assert fields(kept, "measure") == {(LANTERN, "tool")}


def test_phrases_beginnings_and_filters(kept: Kept) -> None:
    assert fields(kept, '"beacon flicker"') == {(LANTERN, "prompt")}
    assert fields(kept, '"flicker beacon"') == set()
    assert fields(kept, "oscill*") == {(LANTERN, "prompt"), (LANTERN, "text")}
    assert fields(kept, "beacon", "--project", "harbour") == {(HARBOUR, "text")}
    assert fields(kept, "beacon NOT flicker") == {(HARBOUR, "text")}
    assert len(kept.json("search", "beacon", "--limit", "1")["hits"]) == 1


def test_a_quote_or_a_bracket_that_is_not_closed_is_told(kept: Kept) -> None:
    told = "the quote before 'might be' is not closed"
    assert told in kept("search", 'capacitor "might be').err
    assert "a bracket is not closed" in kept("search", "(capacitor OR", "--no-sync").err
    assert "not closed" not in kept("search", '"might be" (capacitor OR beacon)', "--no-sync").err
    assert "not closed" not in kept("search", '"might', "--regex").err


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("before:no", "'before:no' is searched as words, since 'before' is no field; --until is the filter"),
        ("Since:7d beacon", "'Since:7d' is searched as words, since 'Since' is no field; --since is the filter"),
        ("beacon project:harbour", "--project is the filter"),
    ],
)
def test_a_filter_in_the_query_is_told_to_be_words(kept: Kept, query: str, told: str) -> None:
    asked = kept("search", query, "--no-sync")
    assert asked.code == 0
    assert told in asked.err
    assert asked.err.count("\n") == 1


@pytest.mark.parametrize("query", ['"before:x"', "before: x", "file:///tmp", "std::vector", "text:beacon"])
def test_words_with_a_colon_that_are_no_filters_are_not_told(kept: Kept, query: str) -> None:
    assert kept("search", query, "--no-sync").err == ""


def test_a_regular_expression_is_marked_too(kept: Kept) -> None:
    (hit,) = kept.json("search", "--regex", r"capac\w+ might")["hits"]
    assert hit["snippet"] == "the [capacitor might] be loose"


def test_a_misspelt_word_brings_a_suggestion(kept: Kept) -> None:
    ran = kept("search", "capacitro")
    assert ran.code == 0
    assert ran.out == "did you mean: capacitor?\n0 hits\n"


def test_an_empty_result_is_a_result(kept: Kept) -> None:
    assert kept.json("search", "xylophone")["hits"] == []


@pytest.mark.parametrize("query", [["--regex", "("], ["beacon", "--in", "nowhere"], ["NOT", "beacon"], ["..."], []])
def test_a_query_that_makes_no_sense_is_refused_in_one_sentence(kept: Kept, query: list[str]) -> None:
    ran = kept("search", *query)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)


def commands_in(text: str) -> list[list[str]]:
    return [shlex.split(found) for found in re.findall(r"^    reread (show .*)$", text, re.MULTILINE)]


def test_every_hit_can_be_opened_where_it_stands(kept: Kept) -> None:
    ran = kept("search", "capacitor")
    commands = commands_in(ran.out)
    assert len(commands) == 2
    for command in commands:
        shown = kept(*command).out
        assert "─── 1 ◀ here ───" in shown
        assert "It is the capacitor." in shown
        assert "thanks" not in shown, "only the turn before and the one after"


def test_a_hit_in_an_agent_opens_where_the_agent_was_started(kept: Kept) -> None:
    (command,) = commands_in(kept("search", "found oscillation").out)
    shown = kept(*command).out
    assert "─── 2 ◀ here ───" in shown
    assert "found an oscillation" in shown
    assert "Goodbye" not in shown


def test_around_shows_the_turns_beside_it_in_json_too(kept: Kept) -> None:
    assert [turn["index"] for turn in kept.json("show", LANTERN, "--around", "thanks")["turns"]] == [2, 3, 4]


def test_around_works_on_a_file_and_in_a_branch_that_was_left(kept: Kept) -> None:
    path = a_session(
        a_prompt("a", uuid="aaaa"),
        a_reply("first answer", uuid="bbbb", to="aaaa"),
        a_prompt("left behind", uuid="cccc", to="bbbb"),
        a_reply("to be forgotten", to="cccc"),
        a_prompt("went on", uuid="dddd", to="bbbb"),
        a_reply("went on too", to="dddd"),
        id="forked",
    ).write(kept.claude / "projects")
    shown = kept("show", path, "--around", "cccc").out
    assert "left behind" in shown
    assert "to be forgotten" in shown


@pytest.mark.parametrize("more", [["--around", "nosuchline"], ["--around", "thanks", "--turns", "1"]])
def test_a_place_that_is_not_there_is_refused(kept: Kept, more: list[str]) -> None:
    ran = kept("show", LANTERN, *more)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)


def test_titles_are_found(kept: Kept) -> None:
    a_session(a_prompt("x"), a_title("Repairing the foghorn"), id="titled").write(kept.claude / "projects")
    (hit,) = kept.json("search", "foghorn")["hits"]
    assert (hit["field"], hit["session"]) == ("title", "titled")
    (command,) = commands_in(kept("search", "foghorn").out)
    assert "Repairing the foghorn" in kept(*command).out


def test_a_hit_has_a_head_a_snippet_and_a_place_within_the_screen(kept: Kept) -> None:
    a_session(
        a_prompt("中文" * 60 + " needle " + "日本" * 60),
        a_reply(a_tool_call("Bash", {"command": "echo needle " + "word " * 80})),
        a_tool_result("ok"),
        id=LANTERN.replace("1a17", "9999"),
    ).write(kept.claude / "projects")
    lines = kept("search", "needle").out.splitlines()
    from reread.views.text import cells

    assert max(cells(line) for line in lines) <= 80
    assert sum("[needle]" in line for line in lines) == 2
    assert lines[-1] == "2 hits"


def test_more_hits_than_shown_are_counted(kept: Kept) -> None:
    replies = [a_reply(f"pebble number {number}") for number in range(30)]
    a_session(a_prompt("x"), *replies, id="many").write(kept.claude / "projects")
    assert kept("search", "pebble").out.splitlines()[-1] == "20 of 30 hits; --limit shows more"


@pytest.mark.skipif(os.name != "posix", reason="needs a pseudo terminal")
def test_matches_are_coloured_on_a_terminal_and_escapes_in_texts_are_not_obeyed(kept: Kept) -> None:
    a_session(a_prompt("\x1b]0;title\x07 granite \x1b[31mred"), id="hostile").write(kept.claude / "projects")
    shown = on_terminal("search", "granite", "--source", kept.claude, "--home", kept.home)
    assert "\x1b[1;33mgranite\x1b[0m" in shown
    assert "\x1b]0" not in shown
    assert "\x1b[31m" not in shown


def test_signs_alone_lead_to_patterns(kept: Kept) -> None:
    ran = kept("search", "##")
    assert ran.code == 2
    assert "words need a letter or digit, --regex finds anything" in ran.err
    ran = kept("search", "beacon", "--in", "nowhere")
    assert "--in 'nowhere' names no field" in ran.err
