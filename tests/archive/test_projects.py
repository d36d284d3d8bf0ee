"""Which project a folder belongs to: worktrees, moved folders, folders of other machines; and the list of projects."""

from __future__ import annotations

from pathlib import Path

import pytest

from reread.archive import Archive
from reread.archive.filters import Filter
from reread.archive.listing import project_of, worktree_of
from reread.archive.user_marks import Folder
from reread.errors import BadInput
from reread.marks import Moves, below
from reread.testing import a_prompt, a_reply, a_session

OLD, NEW = "/home/ann/old-name", "/home/ann/new-name"
TREE = "/.claude/worktrees/deep"


# -- the rules


@pytest.mark.parametrize("path", ["/a/.claude/worktrees/x", "/a/.claude/worktrees/x/deep", "/a/.worktrees/y", "/a"])
def test_a_worktree_counts_to_its_project(path: str) -> None:
    assert project_of(path) == "/a"


def test_a_worktree_has_a_folder_of_its_own() -> None:
    assert worktree_of("/a/.claude/worktrees/x/src") == "/a/.claude/worktrees/x"
    assert worktree_of(r"C:\a\.worktrees\x") == r"C:\a\.worktrees\x"
    assert worktree_of("/a/b") is worktree_of(None) is None


@pytest.mark.parametrize(
    ("path", "folder", "rest"),
    [
        ("/a/b", "/a/b", ""),
        ("/a/b/", "/a/b", ""),
        ("/a/b/c", "/a/b/", "/c"),
        ("/a/bc", "/a/b", None),
        ("/A/b", "/a/b", None),
        ("/a", "/a/b", None),
        ("/x/y", "/", "/x/y"),
        (r"C:\Users\Ann\app", "c:/users/ann", "/app"),
        (r"C:\Users\Annika", r"C:\Users\Ann", None),
    ],
)
def test_what_lies_in_a_folder(path: str, folder: str, rest: str | None) -> None:
    assert below(path, folder) == rest


@pytest.mark.parametrize(
    ("path", "today"),
    [
        ("/a", "/b"),
        ("/a/src", "/b/src"),
        ("/ab", "/ab"),
        ("/old", "/b"),  # by way of /a
        ("/a/inner/x", "/elsewhere/x"),
        (r"C:\Users\ann\app", "/home/ann/app"),
        ("/srv/app/x", r"D:\app\x"),
        ("/srv", "D:\\"),
        ("/whole", "/"),
    ],
)
def test_a_path_as_it_would_be_called_today(path: str, today: str) -> None:
    pairs = [("/a", "/b"), ("/old", "/a"), ("/a/inner", "/elsewhere"), (r"C:\Users", "/home"), ("/srv", "D:\\")]
    assert Moves((*pairs, ("/whole", "/"))).today(path) == today


def test_moves_that_lead_in_a_circle_end() -> None:
    assert Moves((("/a", "/b"), ("/b", "/a"))).today("/a/x") == "/a/x"
    assert Moves((("/a", "/a/b"),)).today("/a/x") == "/a/b/x"


@pytest.mark.parametrize(("old", "new"), [("/b", "/a"), ("/c", "/a"), ("/a", "/a"), ("/a", "/a/b"), ("/c", "/old/x")])
def test_a_move_that_would_lead_back_is_refused(old: str, new: str) -> None:
    known = Moves((("/a", "/b"), ("/b", "/c"), ("/old", "/a")))
    with pytest.raises(BadInput):
        known.check(old, new)


def test_a_folder_can_be_moved_again_and_into_the_one_around_it() -> None:
    Moves((("/a", "/b"),)).check("/a", "/c")
    Moves((("/a", "/b"),)).check("/b/api", "/b")


# -- the archive


def write(folder: Path, name: str, cwd: str, day: int, **first: str) -> None:
    time = f"2026-03-{day:02}T10:00:00.000Z"
    entries = (a_prompt(f"about {name}", timestamp=time, **first), a_reply(f"pebble {name}", timestamp=time))
    a_session(*entries, id=name, cwd=cwd).write(folder / "projects")


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    write(tmp_path, "one", OLD, 1)
    write(tmp_path, "two", OLD + TREE, 2)
    write(tmp_path, "three", NEW, 3)
    write(tmp_path, "four", "/home/ann/old-name-2", 4)
    opened = Archive(tmp_path / "home", [tmp_path / "projects"], machine="desk")
    opened.sync()
    return opened


def rows(archive: Archive, *, folds: bool = False) -> dict[str | None, int]:
    return {row.key: row.tokens.requests for row in archive.usage("project", folds_worktrees=folds).rows}


def found(archive: Archive, project: str) -> set[str]:
    return {each.stored.row.uuid for each in archive.sessions(Filter(project=project))}


def test_a_report_has_working_directories_unless_worktrees_are_folded(archive: Archive) -> None:
    assert rows(archive) == {OLD: 1, OLD + TREE: 1, NEW: 1, "/home/ann/old-name-2": 1}
    assert rows(archive, folds=True) == {OLD: 2, NEW: 1, "/home/ann/old-name-2": 1}


def test_a_moved_folder_is_counted_with_todays_and_the_total_stays(archive: Archive) -> None:
    before = archive.usage("project")
    archive.marks.move_project(OLD, NEW)
    assert rows(archive) == {NEW: 2, NEW + TREE: 1, "/home/ann/old-name-2": 1}
    assert rows(archive, folds=True) == {NEW: 3, "/home/ann/old-name-2": 1}
    after = archive.usage("project", folds_worktrees=True)
    assert (after.totals, after.accounting) == (before.totals, before.accounting)
    assert sum(row.tokens.nanodollars or 0 for row in after.rows) == before.totals.nanodollars != 0
    assert {row.key for row in archive.billing.caching("project").rows} == {NEW, NEW + TREE, "/home/ann/old-name-2"}


def test_a_moved_session_is_found_by_either_name_and_keeps_its_own(archive: Archive) -> None:
    assert found(archive, NEW) == {"three"}
    archive.marks.move_project(OLD, NEW)
    assert found(archive, "NEW-name") == {"one", "two", "three"}
    assert found(archive, "old-name") == {"one", "two", "four"}
    assert found(archive, NEW + TREE) == {"two"}
    assert archive.usage("day", Filter(project="new-name")).totals.requests == 3
    assert {hit.session.row.uuid for hit in archive.search("pebble", base=Filter(project=NEW)).hits} == {
        "one",
        "two",
        "three",
    }
    assert archive.friction.retro(Filter(project=NEW)).sessions == 3
    assert {each.stored.row.uuid for each in archive.sessions(Filter(folder=NEW))} == {"one", "two", "three"}
    assert {hit.session.row.uuid for hit in archive.search("pebble", base=Filter(folder=NEW)).hits} == {
        "one",
        "two",
        "three",
    }
    assert archive.find("two").row.project == OLD + TREE
    assert {each.project for each in archive.sessions()} == {NEW, "/home/ann/old-name-2"}


def test_a_move_is_taken_back(archive: Archive) -> None:
    before = archive.projects()
    archive.marks.move_project(OLD, NEW)
    assert archive.projects() != before
    archive.marks.unmove_project(OLD)
    assert archive.projects() == before
    with pytest.raises(BadInput, match="was not moved; what was: nothing"):
        archive.marks.unmove_project(OLD)


def test_projects_come_with_their_worktrees_and_earlier_folders(archive: Archive) -> None:
    archive.marks.move_project(OLD, NEW)
    other, moved = archive.projects()
    assert (other.folder, other.worktrees, other.earlier) == ("/home/ann/old-name-2", [], [])
    assert (moved.folder, moved.sessions, moved.prompts) == (NEW, 3, 3)
    assert moved.worktrees == [Folder(OLD + TREE, 1)]
    assert moved.earlier == [Folder(OLD, 2)]
    assert moved.last == archive.find("three").ended
    assert [each.folder for each in archive.projects(Filter(limit=1))] == ["/home/ann/old-name-2"]
    assert archive.projects(Filter(project="nowhere")) == []


def test_the_costs_of_projects_add_up_to_the_whole(archive: Archive, tmp_path: Path) -> None:
    write(tmp_path, "one", "/home/bob/copy", 5)  # the same session in two places
    archive.sync()
    whole = archive.usage().totals
    listed = archive.projects()
    assert len(listed) == 4
    assert sum(each.tokens.nanodollars or 0 for each in listed) == whole.nanodollars
    assert sum(each.tokens.requests for each in listed) == whole.requests
    by_folder = {each.folder: each.tokens.requests for each in listed}
    assert by_folder == {"/home/bob/copy": 1, "/home/ann/old-name-2": 1, OLD: 1, NEW: 1}


def test_whether_a_folder_exists_is_looked_up_here(archive: Archive, tmp_path: Path) -> None:
    write(tmp_path, "here", str(tmp_path), 6)
    archive.sync()
    assert [each.folder for each in archive.projects() if each.exists] == [str(tmp_path)]


@pytest.mark.parametrize(
    ("gone", "branch", "is_seen"),
    [
        ("/Users/ann/lantern", "main", True),  # the folder around it has the same name, too
        ("/Users/bob/lantern", "main", False),
        ("/Users/bob/lantern", "fix-the-beacon", True),
        ("/Users/ann/lanterns", "fix-the-beacon", False),
    ],
)
def test_a_folder_that_is_gone_may_be_another(tmp_path: Path, gone: str, branch: str, *, is_seen: bool) -> None:
    here = tmp_path / "ann" / "lantern"
    here.mkdir(parents=True)
    write(tmp_path, "here", str(here), 2, gitBranch=branch)
    write(tmp_path, "gone", gone, 1, gitBranch=branch)
    with Archive(tmp_path / "home", [tmp_path / "projects"]) as archive:
        archive.sync()
        guesses = {each.folder: each.perhaps for each in archive.projects()}
    assert guesses == {str(here): None, gone: str(here) if is_seen else None}


def test_nothing_is_guessed_where_two_have_the_name(tmp_path: Path) -> None:
    for number, user in enumerate(("ann", "x/ann"), 1):
        (tmp_path / user / "lantern").mkdir(parents=True)
        write(tmp_path, f"here-{number}", str(tmp_path / user / "lantern"), number)
    write(tmp_path, "gone", "/Users/ann/lantern", 3)
    with Archive(tmp_path / "home", [tmp_path / "projects"]) as archive:
        archive.sync()
        assert [each.perhaps for each in archive.projects()] == [None, None, None]


def test_all_that_a_session_used_counts_for_its_project_wherever_it_was_spent(tmp_path: Path) -> None:
    """A session that changes its folder, and a project whose name begins like another's."""
    for name, inner in (("one", "/home/ann/app/tests"), ("two", f"/home/ann/app{TREE}")):
        begun = [a_prompt("go", cwd="/home/ann/app"), a_reply("gone", cwd="/home/ann/app")]
        a_session(*begun, a_prompt("on", cwd=inner), a_reply("there", cwd=inner), id=name).write(tmp_path / "projects")
    a_session(a_prompt("else"), a_reply("else"), id="three", cwd="/home/ann/app2").write(tmp_path / "projects")
    with Archive(tmp_path / "home", [tmp_path / "projects"]) as archive:
        archive.sync()
        projects = {each.folder: each.tokens for each in archive.projects()}
        found = archive.usage("project", folds_worktrees=True)
        assert {row.key: row.tokens for row in found.rows} == projects
        assert {key: used.requests for key, used in projects.items()} == {"/home/ann/app": 4, "/home/ann/app2": 1}
        inside = Filter(of_project="/home/ann/app")
        assert archive.usage("day", inside).totals == projects["/home/ann/app"]
        assert {row.key for row in archive.usage("project", inside).rows} == {
            "/home/ann/app",
            "/home/ann/app/tests",
            f"/home/ann/app{TREE}",
        }
        usage, cache = archive.billing.usage_and_caching("project", inside, folds_worktrees=True)
        assert [row.key for row in usage.rows] == [row.key for row in cache.rows] == ["/home/ann/app"]
        assert {each.stored.row.uuid for each in archive.sessions(inside)} == {"one", "two"}
