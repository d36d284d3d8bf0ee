"""`reread projects`: what it lists, what it says about folders that moved, and that every other command goes by it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cli.kept import HARBOUR, LANTERN, Kept
from reread.testing import a_prompt, a_reply, a_session

TREE = "3c0de000-cccc-4000-8000-000000000003"


@pytest.fixture
def worked(kept: Kept) -> Kept:
    """With a worktree of the lantern."""
    a_session(
        a_prompt("try a larger lamp", timestamp="2026-11-11T10:00:00.000Z"),
        a_reply("It is larger."),
        id=TREE,
        cwd="/home/ann/lantern/.claude/worktrees/large-lamp",
    ).write(kept.claude / "projects")
    return kept


def ids(kept: Kept, *arguments: str) -> list[str]:
    return [each["id"] for each in kept.json("list", *arguments)["sessions"]]


def by_project(kept: Kept, *arguments: str) -> dict[str, int]:
    return {row["project"]: row["requests"] for row in kept.json("usage", "project", *arguments)["rows"]}


def test_projects_are_listed_the_last_worked_in_first(worked: Kept) -> None:
    lines = worked("projects").out.splitlines()
    assert lines[0].split() == ["project", "sessions", "prompts", "last", "cost"]
    assert [line.split()[:4] for line in lines[1:3]] == [
        ["/home/ann/harbour", "1", "1", "2026-11-12"],
        ["/home/ann/lantern", "2", "5", "2026-11-11"],
    ]
    assert lines[1].endswith("not here")
    assert lines[3:] == ["  └ 1 worktree: large-lamp", "", "2 projects, 2 not on this machine"]


@pytest.mark.parametrize("width", ["30", "44", "60", "80", "200"])
def test_a_narrow_terminal_still_has_the_folder_and_the_cost(
    worked: Kept, width: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", width)
    lines = worked("projects").out.splitlines()
    assert max(map(len, lines)) <= int(width)
    assert all(
        "$0.00" in line and name in line for line, name in zip(lines[1:3], ("/harbour", "/lantern"), strict=True)
    )


def test_the_document_has_every_figure(worked: Kept, tmp_path: Path) -> None:
    document = worked.json("projects")
    assert (document["schema"], document["moves"]) == ("reread.projects/1", [])
    lantern = document["projects"][1]
    totals = worked.json("usage", "--project", "lantern")["totals"]
    assert lantern == {
        "project": "/home/ann/lantern",
        "exists": False,
        "sessions": 2,
        "prompts": 5,
        "last": "2026-11-11T10:00:00.000Z",
        "cost_usd": totals["cost_usd"],
        "unpriced_tokens": 0,
        "worktrees": [{"folder": "/home/ann/lantern/.claude/worktrees/large-lamp", "sessions": 1}],
        "earlier": [],
        "perhaps": None,
    }
    a_session(a_prompt("x"), id="here", cwd=str(tmp_path)).write(worked.claude / "projects")
    assert [each["exists"] for each in worked.json("projects", "--project", str(tmp_path))["projects"]] == [True]


def test_filters_choose_the_sessions_and_a_limit_the_projects(worked: Kept) -> None:
    def found(*arguments: str) -> list[tuple[str, int]]:
        return [(each["project"], each["sessions"]) for each in worked.json("projects", *arguments)["projects"]]

    assert found("--limit", "1") == [("/home/ann/harbour", 1)]
    assert found("--since", "2026-11-12") == [("/home/ann/harbour", 1)]
    assert found("--project", "nowhere") == []
    assert worked("projects", "--project", "nowhere").out == "no projects\n"
    worked("mark", HARBOUR, "--hide")
    assert found() == [("/home/ann/lantern", 2)]
    assert found("--hidden") == [("/home/ann/harbour", 1), ("/home/ann/lantern", 2)]


def test_a_move_puts_two_folders_together_everywhere(worked: Kept, tmp_path: Path) -> None:
    before = worked.json("usage", "project")
    ran = worked("projects", "move", "/home/ann/lantern/", "/home/ann/harbour")
    assert ran.out == "/home/ann/lantern belongs to /home/ann/harbour from now on: 2 sessions\n"

    (project,) = worked.json("projects")["projects"]
    assert (project["project"], project["sessions"]) == ("/home/ann/harbour", 3)
    assert project["earlier"] == [{"folder": "/home/ann/lantern", "sessions": 2}]
    assert "  └ earlier /home/ann/lantern (2 sessions)" in worked("projects").out.splitlines()

    assert ids(worked, "--project", "harbour") == [HARBOUR, TREE, LANTERN]
    assert ids(worked, "--project", "lantern") == [TREE, LANTERN]
    assert len(worked.json("prompts", "--project", "harbour")["prompts"]) == 6
    assert len(worked.json("thinking", "--project", "harbour")["thoughts"]) == 1
    assert {hit["session"] for hit in worked.json("search", "beacon", "--project", "harbour")["hits"]} == {
        LANTERN,
        HARBOUR,
    }
    after = worked.json("usage", "project", "--fold-worktrees")
    assert [row["project"] for row in after["rows"]] == ["/home/ann/harbour"]
    assert (after["totals"], after["accounting"]) == (before["totals"], before["accounting"])
    worked("export", "--project", "harbour", "--format", "json", "-o", tmp_path / "out")
    assert len(list((tmp_path / "out").glob("*.json"))) == 3

    assert worked("projects", "unmove", "/home/ann/lantern").out.endswith("stands by itself again: 2 sessions\n")
    assert worked.json("usage", "project") == before


def test_a_session_keeps_its_working_directory_and_says_where_it_belongs(worked: Kept) -> None:
    worked("projects", "move", "/home/ann/lantern", "/home/ann/beacon")
    sessions = {each["id"]: each for each in worked.json("list")["sessions"]}
    assert sessions[TREE]["project"] == "/home/ann/lantern/.claude/worktrees/large-lamp"
    assert sessions[TREE]["belongs_to"] == sessions[LANTERN]["belongs_to"] == "/home/ann/beacon"
    assert worked.json("show", LANTERN)["session"]["belongs_to"] == "/home/ann/beacon"
    assert worked.json("show", LANTERN)["session"]["project"] == "/home/ann/lantern"
    assert [line.split()[3] for line in worked("list").out.splitlines()[1:4]] == ["harbour", "beacon", "beacon"]


def test_worktrees_stand_apart_in_usage_unless_they_are_folded(worked: Kept) -> None:
    tree = "/home/ann/lantern/.claude/worktrees/large-lamp"
    apart, folded = by_project(worked), by_project(worked, "--fold-worktrees")
    assert set(apart) == {"/home/ann/lantern", "/home/ann/harbour", tree}
    assert set(folded) == {"/home/ann/lantern", "/home/ann/harbour"}
    assert folded["/home/ann/lantern"] == apart["/home/ann/lantern"] + apart[tree]
    ran = worked("usage", "day", "--fold-worktrees")
    assert (ran.code, ran.out) == (2, "")
    assert "try `reread usage project --fold-worktrees`" in ran.err


def test_folders_of_another_machine_are_taken_as_they_are(kept: Kept) -> None:
    for number, cwd in enumerate((r"C:\Users\ann\lantern", "/Users/ann/lantern")):
        a_session(a_prompt("x"), a_reply("y"), id=f"away-{number}", cwd=cwd).write(kept.claude / "projects")
    kept("projects", "move", "C:\\Users\\", "/home")
    kept("projects", "move", "/Users/./ann/x/..", "/home/ann")
    assert kept.json("projects")["moves"] == [
        {"earlier": "/Users/ann", "today": "/home/ann"},
        {"earlier": "C:\\Users", "today": "/home"},
    ]
    assert len(ids(kept, "--project", "/home/ann/lantern")) == 3


def test_a_folder_of_windows_is_one_however_it_is_spelled(kept: Kept) -> None:
    for number, cwd in enumerate((r"C:\Users\ann\oak", r"c:\Users\ann\oak", "C:/Users/ann/oak", "/c/Users/ann/oak")):
        a_session(a_prompt("x"), a_reply("y"), id=f"oak-{number}", cwd=cwd).write(kept.claude / "projects")
    (project,) = (each for each in kept.json("projects")["projects"] if "oak" in (each["project"] or ""))
    assert (project["project"], project["sessions"]) == (r"C:\Users\ann\oak", 4)
    assert [row["project"] for row in kept.json("usage", "project")["rows"] if "oak" in (row["project"] or "")] == [
        r"C:\Users\ann\oak"
    ]
    for asked in (r"c:\users\ann", "/c/Users/ann/oak", "C:/Users/ann/oak"):
        assert len(ids(kept, "--project", asked)) == 4


def test_a_folder_called_c_within_a_path_is_no_drive(kept: Kept) -> None:
    a_session(a_prompt("x"), a_reply("y"), id="oak", cwd="/Users/ann/c/oak").write(kept.claude / "projects")
    for rows in (kept.json("projects")["projects"], kept.json("usage", "project")["rows"]):
        assert [row["project"] for row in rows if "oak" in (row["project"] or "")] == ["/Users/ann/c/oak"]


def test_a_name_from_here_is_made_a_full_path(kept: Kept, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert kept("projects", "move", "old", "../new").out.endswith("from now on: no session yet\n")
    said: Any = kept.json("projects")["moves"]
    assert said == [{"earlier": str(tmp_path / "old"), "today": str(tmp_path.parent / "new")}]
    document = json.loads(kept("projects", "unmove", "./old", "--json").out)
    assert (document["schema"], document["moves"]) == ("reread.projects/1", [])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["move", "/a"], "projects move OLD NEW"),
        (["unmove", "/a", "/b"], "unmove OLD"),
        (["unmove", "/a"], "/a was not moved; what was: nothing"),
        (["move", "/a", "/a/b"], "cannot be what that is today"),
        (["move", " ", "/b"], "a folder needs a name"),
        (["lantern"], "'lantern' is not one of move, unmove"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_sentence(kept: Kept, arguments: list[str], said: str) -> None:
    ran = kept("projects", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err
    assert len(ran.err.splitlines()) == 1


def test_a_guess_is_the_command_that_makes_it_true(kept: Kept, tmp_path: Path) -> None:
    here = tmp_path / "ann" / "my lantern"
    here.mkdir(parents=True)
    a_session(a_prompt("x"), id="here", cwd=str(here)).write(kept.claude / "projects")
    a_session(a_prompt("y"), id="gone", cwd="/Users/ann/my lantern").write(kept.claude / "projects")
    said = kept("projects").out.splitlines()
    assert f"  reread projects move '/Users/ann/my lantern' '{here}'" in said
    kept("projects", "move", "/Users/ann/my lantern", here)
    assert "perhaps" not in kept("projects").out
