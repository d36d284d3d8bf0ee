"""Usage alone, before everything else: the same numbers as the full sync, and nothing the full sync would miss."""

from __future__ import annotations

from pathlib import Path

import pytest

import reread.ingest.usage_first
from reread.archive import Archive
from reread.testing import Entry, a_prompt, a_reply, a_session, a_subagent
from trees import Tree, a_tree, append, assert_true, cells_of

ID = "0a1b2c3d-1111-4222-8333-444455556666"


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return a_tree(tmp_path, size=400_000, seed=11)


def truth_of(tree: Tree) -> dict[str, dict[str, dict[str, int]]]:
    return {day: models for day, models in tree.truth.cells.items() if models}


def test_counting_alone_gives_the_cells_of_a_full_sync(tree: Tree) -> None:
    with tree.archive() as archive:
        archive.count()
        counted = archive.usage()
        assert cells_of(archive) == truth_of(tree)
        archive.sync()
        assert archive.usage() == counted


def test_a_sync_after_counting_takes_everything(tree: Tree) -> None:
    with tree.archive() as archive:
        archive.count()
        assert archive.sessions() == []
        assert set(archive.kept_bytes().values()) == {0}
        result = archive.sync()
        assert (result.sessions, result.problems) == (len(tree.truth.by_session), [])
        assert_true(archive, tree.truth)


def test_counting_by_workers_gives_the_same_cells(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reread.ingest.usage_first, "ALONE_BELOW", 0)
    monkeypatch.setattr(reread.ingest.usage_first, "_SHARE", 100_000)
    with tree.archive() as archive:
        archive.count()
        assert cells_of(archive) == truth_of(tree)


def test_counting_what_was_added_to_a_synced_tree_gives_its_cells(tree: Tree) -> None:
    with tree.archive() as archive:
        archive.sync()
        append(tree.source, tree.truth)
        archive.count()
        assert cells_of(archive) == truth_of(tree)
        archive.sync()
        assert_true(archive, tree.truth)


def a_request(name: str) -> tuple[Entry, Entry]:
    return a_prompt("go"), a_reply("yes", id=name)


def test_counting_a_rewritten_file_leaves_out_what_it_said_before(tmp_path: Path) -> None:
    a_session(*a_request("msg_old"), id=ID).write(tmp_path / "projects")
    with Archive(tmp_path / "home", [tmp_path / "projects"], machine="desk") as archive:
        archive.sync()
        a_session(*a_request("msg_new_one"), id=ID).write(tmp_path / "projects")
        archive.count()
        counted = [cell.requests for cell in archive.usage()]
        archive.sync()
        assert counted == [cell.requests for cell in archive.usage()] == [1]


def test_gateway_replies_are_counted_alike_by_both(tmp_path: Path) -> None:
    """Without an id of the API, the chain of lines or the line's own uuid tells responses apart."""
    entries = [a_reply("one", "two", id="ocgo", requestId=None), a_prompt("on"), a_reply("three", id="ocgo")]
    without = [a_reply("four", id=None), a_prompt("on"), a_reply("five", id=None)]
    agent = a_subagent(a_prompt("b"), a_reply("six", id="ocgo"), id="abc")
    a_session(a_prompt("go"), *entries, *without, agent, id=ID).write(tmp_path / "projects")
    with Archive(tmp_path / "home", [tmp_path / "projects"], machine="desk") as archive:
        archive.count()
        counted = archive.usage()
        archive.sync()
        assert archive.usage() == counted
        assert [cell.requests for cell in counted] == [5]
