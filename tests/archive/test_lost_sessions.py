"""The client's own index fills what a session lacks, and names sessions deleted before the first import."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import reread
from reread.archive import Archive
from reread.archive.filters import Filter
from reread.testing import a_line, a_prompt, a_reply, a_session

KEPT = "11111111-1111-4111-8111-111111111111"
LOST = "22222222-2222-4222-8222-222222222222"
BARE = "33333333-3333-4333-8333-333333333333"


def entry(id: str, **fields: Any) -> dict[str, Any]:  # noqa: A002
    return {
        "sessionId": id,
        "fullPath": f"/home/ann/.claude/projects/-home-ann-app/{id}.jsonl",
        "fileMtime": 1770088829588,
        "firstPrompt": "please find the marigold",
        "summary": "Marigold search and rescue",
        "messageCount": 4,
        "created": "2026-02-03T02:28:29.011Z",
        "modified": "2026-02-03T02:28:51.793Z",
        "gitBranch": "garden",
        "projectPath": "/home/ann/app",
        "isSidechain": False,
        **fields,
    }


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Archive]:
    source = tmp_path / "projects"
    trunk = a_session(a_prompt("go"), a_reply("done"), id=KEPT).write(source)
    a_session(a_line("mode", mode="plan"), id=BARE).write(source)
    entries = [entry(KEPT), entry(LOST), entry(BARE), entry("side", isSidechain=True)]
    trunk.with_name("sessions-index.json").write_text(json.dumps({"version": 1, "entries": entries}))
    with Archive(tmp_path / "home", [source], machine="desk") as made:
        made.sync()
        yield made


def test_a_session_whose_file_is_gone_is_lost_and_never_counted_as_kept(archive: Archive) -> None:
    (lost,) = archive.lost()
    assert (lost.id, lost.title, lost.first_prompt) == (LOST, "Marigold search and rescue", "please find the marigold")
    assert (lost.project, lost.git_branch, lost.messages) == ("/home/ann/app", "garden", 4)
    assert lost.ended == datetime(2026, 2, 3, 2, 28, 51, 793000, UTC)
    assert {each.stored.row.uuid for each in archive.sessions()} == {KEPT, BARE}


@pytest.mark.parametrize(
    ("wanted", "number"),
    [
        (Filter(project="app"), 1),
        (Filter(project="other"), 0),
        (Filter(since=datetime(2026, 3, 1, tzinfo=UTC)), 0),
        (Filter(until=datetime(2026, 3, 1, tzinfo=UTC)), 1),
        (Filter(git_branch="garden"), 1),
        (Filter(tool="Edit"), 0),
        (Filter(model="opus"), 0),
        (Filter(starred=True), 0),
    ],
)
def test_filters_hold_for_it(archive: Archive, wanted: Filter, number: int) -> None:
    assert len(archive.lost(wanted)) == number


@pytest.mark.parametrize(
    ("query", "is_regex", "number"),
    [("marigold rescue", False, 1), ("find marig*", False, 1), ("tulip", False, 0), ("mari.old", True, 1)],
)
def test_a_search_finds_it(archive: Archive, query: str, is_regex: bool, number: int) -> None:
    assert len(archive.lost(None, query, is_regex=is_regex)) == number


def test_a_pattern_that_takes_for_ever_on_it_is_given_up(archive: Archive, tmp_path: Path) -> None:
    index = next((tmp_path / "projects").rglob("sessions-index.json"))
    index.write_text(json.dumps({"version": 1, "entries": [entry(LOST, summary="a" * 40 + "!"), entry("other")]}))
    archive.sync()
    assert [each.id for each in archive.lost(None, "(a|aa)+$|mari.old", is_regex=True)] == ["other"]


def test_what_a_session_lacks_comes_from_the_index(archive: Archive, tmp_path: Path) -> None:
    (bare,) = [each for each in archive.sessions() if each.stored.row.uuid == BARE]
    assert bare.stored.row.title == "Marigold search and rescue"
    assert (bare.stored.row.project, bare.stored.row.git_branches) == ("/home/ann/app", ["garden"])
    assert bare.stored.started == datetime(2026, 2, 3, 2, 28, 29, 11000, UTC)
    assert archive.session(BARE).title == reread.load(next(tmp_path.rglob(f"{BARE}.jsonl"))).title


def test_what_a_session_says_itself_stands(archive: Archive) -> None:
    (kept,) = [each for each in archive.sessions() if each.stored.row.uuid == KEPT]
    assert (kept.stored.row.title, kept.stored.row.git_branches) == ("go", ["main"])


def test_a_session_that_a_person_forgot_is_not_lost(archive: Archive, tmp_path: Path) -> None:
    index = next(tmp_path.rglob("sessions-index.json"))
    trunk = index.with_name(f"{KEPT}.jsonl")
    index.write_text(json.dumps({"version": 1, "entries": [entry(KEPT, fullPath=str(trunk))]}))
    archive.sync()
    archive.safe.forget(KEPT)
    trunk.unlink()
    archive.sync()
    assert archive.lost() == []


@pytest.mark.parametrize("content", ["", "[]", '{"entries": [5, {"sessionId": 7}, {}]}', '{"entries": {"a": 1}}'])
def test_an_index_of_any_shape_is_read(archive: Archive, tmp_path: Path, content: str) -> None:
    next(tmp_path.rglob("sessions-index.json")).write_text(content)
    archive.sync()
    assert archive.lost() == []
