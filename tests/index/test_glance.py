"""A glance before an answer looks at every folder and at the newest files; a sync looks at everything."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from reread.archive import Archive, Listed
from reread.archive.filters import Filter
from reread.index import source_state
from reread.testing import a_prompt, a_reply, a_session, a_tool_call

OLDEST, NEWEST = "session-00", "session-19"


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Archive:
    """Twenty sessions, of which a glance looks at six."""
    monkeypatch.setattr(source_state, "MOST_LOOKED_AT", 6)
    monkeypatch.setattr(source_state, "_NEWEST", 5)
    monkeypatch.setattr(source_state, "_LATEST", 2)
    monkeypatch.setattr(
        "reread.index.source_state.time.time_ns", lambda: 10**18
    )  # the share that is looked at is another one
    projects = tmp_path / "claude" / "projects"
    for number in range(20):
        name, day = f"session-{number:02}", f"2026-10-{number + 1:02}T10:00:00.000Z"
        call = a_tool_call("Edit" if number % 2 else "Bash", {"file_path": f"/p/file{number}.py"})
        reply = a_reply(call, timestamp=day, gitBranch=f"branch-{number % 3}")
        a_session(a_prompt("hello", timestamp=day), reply, id=name, cwd=f"/home/ann/app{number % 4}").write(projects)
        os.utime(next(projects.rglob(f"{name}.jsonl")), (1_700_000_000 + number, 1_700_000_000 + number))
    made = Archive(tmp_path / "home", [tmp_path / "claude"])
    made.sync()
    return made


def grow(archive: Archive, session: str) -> None:
    path = next(archive.sources[0].rglob(f"{session}.jsonl"))
    with path.open("ab") as file:
        file.write(b'{"type":"user","uuid":"more","message":{"role":"user","content":"go on"}}\n')


def test_nothing_new_is_nothing_new(archive: Archive) -> None:
    assert archive.is_current()
    assert archive.is_current(is_glance=True)


@pytest.mark.usefixtures("archive")
def test_a_source_that_is_named_by_a_way_back_is_known_again(tmp_path: Path) -> None:
    ways = [tmp_path / "home" / ".." / "claude"]
    with Archive(tmp_path / "other", ways) as back:
        back.sync()
        assert back.is_current()
        grow(back, NEWEST)
        assert back.sync().sessions == 1
        assert back.is_current()


def test_a_glance_sees_what_goes_on_and_what_is_new(archive: Archive) -> None:
    grow(archive, NEWEST)
    assert not archive.is_current(is_glance=True)
    assert archive.sync(is_glance=True).sessions == 1
    a_session(a_prompt("another"), id="another").write(archive.sources[0] / "projects")
    assert archive.sync(is_glance=True).sessions == 1


def test_an_old_file_that_goes_on_is_seen_by_a_sync(archive: Archive) -> None:
    grow(archive, OLDEST)
    assert archive.is_current(is_glance=True)
    assert not archive.is_current()
    assert archive.sync().sessions == 1


def test_every_share_comes_in_its_turn(archive: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    grow(archive, OLDEST)
    seen = []
    for second in range(20):
        monkeypatch.setattr("reread.index.source_state.time.time_ns", lambda second=second: second * 10**9)
        seen.append(not archive.is_current(is_glance=True))
    assert any(seen)


def passes(each: Listed, wanted: Filter) -> bool:
    row = each.stored.row
    return (
        wanted.keeps_project(row.project)
        and wanted.keeps_folder(row.project)
        and (wanted.model is None or any(wanted.model in model for model in row.models))
        and (wanted.git_branch is None or wanted.git_branch in row.git_branches)
        and row.uuid != wanted.without
    )


@pytest.mark.parametrize(
    "wanted",
    [
        Filter(project="app1"),
        Filter(folder="/home/ann/app2"),
        Filter(git_branch="branch-2"),
        Filter(without=NEWEST),
        Filter(project="app3", git_branch="branch-0"),
        Filter(model="nothing"),
        Filter(limit=3),
    ],
)
def test_the_database_leaves_what_the_filter_leaves(archive: Archive, wanted: Filter) -> None:
    found = [each.id for each in archive.sessions(wanted)]
    assert found == [each.id for each in archive.sessions() if passes(each, wanted)][: wanted.limit]
    assert archive.count_sessions(wanted) == len(archive.sessions(wanted._replace(limit=None)))


def test_sessions_are_found_by_their_tools_and_files(archive: Archive) -> None:
    assert archive.count_sessions(Filter(tool="edit")) == 10
    assert [each.id for each in archive.sessions(Filter(file="file7.py"))] == ["session-07"]
    assert archive.count_sessions(Filter(sources=(str(archive.sources[0]),))) == 20
    assert archive.count_sessions(Filter(sources=("/elsewhere",))) == 0
