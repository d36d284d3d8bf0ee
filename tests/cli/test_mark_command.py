"""`reread mark`: what it notes and shows, whom it asks, and that every listing command can be asked for it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cli.kept import HARBOUR, LANTERN, Kept
from cli.running import PROGRAM, environment
from reread.testing import a_prompt, a_reply, a_session, a_thought, a_tool_call, a_tool_result

ASKED = "3c0de000-cccc-4000-8000-000000000003"


def marks_of(kept: Kept, *arguments: str) -> dict[str, Any]:
    return {each["id"]: each for each in kept.json("mark", *arguments)["sessions"]}


def ids(kept: Kept, *arguments: str) -> list[str]:
    return [each["id"] for each in kept.json("list", *arguments)["sessions"]]


# -- noting and showing


def test_a_session_is_marked_shown_and_unmarked(kept: Kept) -> None:
    ran = kept(
        "mark", "1a17", "--star", "--tag", "Refactor", "--tag", "ci", "--note", "the good one", "--title", "Mine"
    )
    assert ran.code == 0
    assert ran.out.splitlines() == [
        "1a17e200  Mine",
        "    ★ · tags: ci, Refactor",
        "    the good one",
        "    the title is yours",
        "1 session marked",
    ]
    assert kept("mark", LANTERN).out.splitlines()[:-1] == ran.out.splitlines()[:-1]
    kept("mark", LANTERN, "--unstar", "--untag", "REFACTOR", "--untag", "ci", "--no-note", "--no-title")
    assert kept("mark", LANTERN).out.splitlines() == [
        "1a17e200  why does the beacon flicker",
        "    nothing is noted",
        "1 session",
    ]


def test_the_document_has_all_that_is_noted(kept: Kept) -> None:
    document = kept.json("mark", "@last", "@2", "--tag", "ci", "--title", "Mine")
    assert (document["schema"], document["changed"]) == ("reread.marks/1", 2)
    assert document["sessions"][0] == {
        "id": HARBOUR,
        "project": "/home/ann/harbour",
        "title": "Mine",
        "starred": False,
        "tags": ["ci"],
        "note": None,
        "hidden": False,
        "typed": True,
        "given_title": "Mine",
    }
    assert kept.json("mark", LANTERN, "--tag", "ci")["changed"] == 0
    assert kept("mark", LANTERN, "--tag", "ci").out.splitlines()[-1] == "0 sessions marked, 1 as before"


@pytest.mark.parametrize("arguments", [["--star", "@1", "@2"], ["@1", "--star", "@2"], ["@1", "@2", "--star"]])
def test_sessions_stand_wherever_they_like(kept: Kept, arguments: list[str]) -> None:
    assert kept.json("mark", *arguments)["changed"] == 2


def test_without_a_session_all_marked_ones_are_shown(kept: Kept) -> None:
    assert kept("mark").out == "0 sessions\n"
    kept("mark", LANTERN, "--hide")
    assert list(marks_of(kept)) == [LANTERN]
    assert kept("mark").out.splitlines()[1] == "    hidden"


def test_tags_are_listed_with_their_sessions(kept: Kept) -> None:
    assert kept("mark", "--tags").out == "no tags\n"
    kept("mark", LANTERN, HARBOUR, "--tag", "ci")
    kept("mark", HARBOUR, "--tag", "two words")
    assert kept("mark", "--tags").out.splitlines() == ["ci         2", "two words  1"]
    assert kept.json("mark", "--tags") == {
        "schema": "reread.marks/1",
        "tags": [{"name": "ci", "sessions": 2}, {"name": "two words", "sessions": 1}],
    }


def test_list_show_and_the_overview_tell_what_is_noted(kept: Kept) -> None:
    kept("mark", LANTERN, "--star", "--tag", "ci", "--tag", "b", "--tag", "c", "--note", "remember", "--title", "Mine")
    assert "★ #b #c +1 Mine" in kept("list").out
    assert "★ #b #c +1 Mine" in kept().out
    assert kept("show", LANTERN).out.splitlines()[0] == "Mine"
    assert "★ · tags: b, c, ci\nremember\n" in kept("show", LANTERN).out
    listed = {each["id"]: each for each in kept.json("list")["sessions"]}[LANTERN]
    shown = kept.json("show", LANTERN)["session"]
    for document in (listed, shown):
        assert (document["title"], document["starred"], document["tags"]) == ("Mine", True, ["b", "c", "ci"])
        assert (document["note"], document["hidden"]) == ("remember", False)
    assert "Mine" in kept("search", "capacitor").out
    assert "Mine" in kept("usage", "session").out
    assert kept("summary", LANTERN).out.splitlines()[0] == "Mine"


def test_a_hidden_session_is_left_out_of_lists_and_of_nothing_else(kept: Kept) -> None:
    kept("mark", HARBOUR, "--hide")
    assert ids(kept) == ids(kept, "--limit", "1") == [LANTERN]
    assert ids(kept, "--hidden") == [HARBOUR, LANTERN]
    overview = kept()
    assert "1 session, newest first, 1 hidden" in overview.out
    assert "@1 " not in overview.out  # `@2` stays the second newest
    assert "@2 " in overview.out
    assert kept.json()["hidden_sessions"] == 1
    assert "@1 " in kept("--hidden").out
    assert kept.json("search", "harbour")["total"] > 0
    assert kept.json("show", "@last")["session"]["id"] == HARBOUR
    empty = kept("list", "--project", "harbour")
    assert (empty.code, empty.out, empty.err) == (
        0,
        "no sessions\n",
        "reread: all matching sessions are hidden; --hidden shows them\n",
    )
    kept("mark", HARBOUR, "--unhide")
    assert ids(kept) == [HARBOUR, LANTERN]


# -- chosen by filters


def test_filters_choose_what_is_marked(kept: Kept) -> None:
    assert kept.json("mark", "--project", "harbour", "--tag", "boats", "--yes")["changed"] == 1
    assert kept.json("mark", "--since", "2026-11-11", "--star", "--yes")["changed"] == 1
    assert kept.json("mark", "--starred", "--note", "x", "--yes")["changed"] == 1
    assert kept.json("mark", "--tagged", "BOATS", "--tag", "ships", "--yes")["changed"] == 1
    assert marks_of(kept, HARBOUR)[HARBOUR]["tags"] == ["boats", "ships"]
    assert marks_of(kept, LANTERN)[LANTERN]["tags"] == []
    assert kept.json("mark", "--limit", "9", "--hide", "--yes")["changed"] == 2
    assert kept.json("mark", "--project", "ann", "--unhide", "--yes")["changed"] == 2  # hidden ones are chosen too
    assert list(marks_of(kept, "--project", "lantern")) == []
    ran = kept("mark", "--project", "nowhere", "--star")
    assert (ran.code, ran.out) == (0, "0 sessions\n")


def test_many_are_only_counted(kept: Kept) -> None:
    for number in range(6):
        a_session(a_prompt("x"), a_reply("y"), id=f"many-{number}", cwd="/home/ann/many").write(
            kept.claude / "projects"
        )
    assert kept("mark", "--project", "many", "--hide", "--yes").out == "6 sessions marked\n"


def test_without_anybody_to_ask_filters_need_a_yes(kept: Kept) -> None:
    ran = kept("mark", "--project", "ann", "--hide")
    assert (ran.code, ran.err) == (
        2,
        "reread: 2 sessions would be marked, and standard input is not a terminal to ask at; pass --yes\n",
    )
    assert marks_of(kept) == {}


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
@pytest.mark.parametrize(("answer", "marked"), [("yes", 2), ("no", 0), ("", 0)])
def test_a_person_is_told_how_many_and_asked(kept: Kept, answer: str, marked: int) -> None:
    import pty

    kept("sync")
    ours, theirs = pty.openpty()
    command = [*PROGRAM, "mark", "--project", "ann", "--hide", "--source", str(kept.claude), "--home", str(kept.home)]
    with subprocess.Popen(
        command, stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
    ) as it:
        os.write(ours, f"{answer}\n".encode())
        _, asked = it.communicate(timeout=60)
    os.close(ours)
    os.close(theirs)
    assert asked.decode().startswith("2 sessions:\n  draw the harbour\n  why does the beacon flicker\n")
    assert "hide. Go on? [yes/no]" in asked.decode()
    assert len(marks_of(kept)) == marked


# -- bad input


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["zzz", "--star"], "no session 'zzz'"),
        ([LANTERN, "zzz", "--star"], "no session 'zzz'"),
        (["--star"], "name the sessions to mark"),
        ([LANTERN, "--project", "x", "--star"], "not both"),
        ([LANTERN, "--tags"], "--tags lists"),
        ([LANTERN, "--tag", "a,b"], "has a comma"),
        ([LANTERN, "--tag", "a\nb"], "line break"),
        ([LANTERN, "--tag", " "], "at least one letter"),
        ([LANTERN, "--note", " "], "use --no-note to remove it"),
        ([LANTERN, "--title", "\n"], "use --no-title to remove it"),
        ([LANTERN, "--title", "\udcff"], "not valid UTF-8"),
        ([LANTERN, "--title", "x" * 201], "longer than 200"),
        ([LANTERN, "--star", "--unstar"], "not allowed with"),
        ([LANTERN, "--tag", "x", "--untag", "X"], "both given and taken away"),
        (["--tagged", "a,b"], "has a comma"),
    ],
)
def test_what_makes_no_sense_is_one_sentence_and_marks_nothing(kept: Kept, arguments: list[str], told: str) -> None:
    ran = kept("mark", *arguments)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert told in ran.err
    assert marks_of(kept) == {}


# -- filters of every listing command


@pytest.fixture
def asking(kept: Kept) -> Kept:
    """With a session that has something for every command to list."""
    question = {"questions": [{"question": "Which harbour?", "header": "Place", "options": [{"label": "East"}]}]}
    a_session(
        a_prompt("ask about the beacon", timestamp="2026-11-13T10:00:00.000Z"),
        a_reply(
            a_thought("a long thought about beacons"), a_tool_call("Read", {"file_path": "/home/ann/quay.py"}, id="t1")
        ),
        a_tool_result("text", of="t1"),
        a_reply(a_tool_call("AskUserQuestion", question, id="t2")),
        a_tool_result("East", of="t2", twin={"answers": {"Which harbour?": "East"}}),
        a_reply("Done with the beacon."),
        id=ASKED,
        cwd="/home/ann/quay",
    ).write(kept.claude / "projects")
    kept("mark", ASKED, "--star", "--tag", "quay")
    kept("mark", LANTERN, "--tag", "other")
    return kept


COMMANDS = {
    "list": ("sessions", "id"),
    "search beacon": ("hits", "session"),
    "search --regex beacon": ("hits", "session"),
    "thinking": ("thoughts", "session"),
    "prompts": ("prompts", "session"),
    "usage session": ("rows", "session"),
    "cache --by session": ("rows", "session"),
    "decisions": ("decisions", "session"),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_listing_command_keeps_to_marked_sessions(asking: Kept, command: str) -> None:
    rows, name = COMMANDS[command]

    def sessions(*wanted: str) -> set[str]:
        return {each[name] for each in asking.json(*command.split(), *wanted)[rows]}

    assert sessions("--starred") == sessions("--tag", "QUAY") == sessions("--tagged", "quay") == {ASKED}
    assert sessions("--tag", "quay", "--tag", "other") == set()
    assert ASKED not in sessions("--tag", "other")


def test_tools_and_files_keep_to_marked_sessions(asking: Kept) -> None:
    assert [each["name"] for each in asking.json("tools", "--tag", "other")["tools"]] == ["Bash", "Task"]
    assert {each["name"] for each in asking.json("tools", "--starred")["tools"]} == {"Read", "AskUserQuestion"}
    assert [each["path"] for each in asking.json("files", "--starred")["files"]] == ["/home/ann/quay.py"]
    assert asking.json("files", "--tag", "other")["files"] == []


def test_days_of_marked_sessions_are_counted_from_the_ledger(asking: Kept) -> None:
    assert asking.json("usage", "day", "--starred")["totals"]["requests"] == 3
    assert asking.json("usage", "day")["totals"]["requests"] > 3
    assert asking.json("cache", ASKED, "--tag", "other")["totals"]["requests"] == 0
    assert asking.json("cache", ASKED, "--tag", "quay")["totals"]["requests"] > 0


# -- keeping


def test_marks_survive_a_rebuild_and_a_damaged_database(kept: Kept) -> None:
    kept("mark", LANTERN, "--star", "--title", "Mine")
    kept("archive", "rebuild")
    assert marks_of(kept)[LANTERN]["title"] == "Mine"
    kept("sync", "--full")
    assert marks_of(kept)[LANTERN]["title"] == "Mine"
    for path in kept.home.glob("reread.db*"):
        path.write_bytes(b"no database at all" * 999)
    assert kept("list").code == 2
    assert kept("archive", "rebuild").code == 0
    assert marks_of(kept)[LANTERN]["starred"] is True
    assert json.loads(kept("list", "--starred", "--json").out)["sessions"][0]["title"] == "Mine"


def test_forgetting_says_that_marks_go_and_takes_them(kept: Kept, tmp_path: Path) -> None:
    kept("mark", LANTERN, "--note", "mine alone")
    assert kept("archive", "forget", LANTERN, "--yes").code == 0
    assert marks_of(kept) == {}
    left = [path for path in (tmp_path / "archive").rglob("*") if path.is_file()]
    assert not [path for path in left if b"mine alone" in path.read_bytes()]
