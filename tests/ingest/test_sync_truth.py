"""A generated tree whose truth is known, and small trees that change while they are read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import reread.ingest.sync
from reread.archive import Archive, Progress
from reread.archive.filters import Filter
from reread.archive.search_language import ALL_FIELDS
from reread.ingest.survey import Survey, survey
from reread.ingest.walk import whole_walk
from reread.testing import a_prompt, a_reply, a_session
from trees import Tree, a_tree, append, assert_true, cells_of, resume_copy

ID = "0a1b2c3d-1111-4222-8333-444455556666"
OTHER = "99990000-1111-4222-8333-444455556666"


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    """Synced once; every test of this file may ask it, none changes it."""
    made = a_tree(tmp_path_factory.mktemp("truth"), size=3_000_000)
    with made.archive() as archive:
        assert archive.sync().problems == []
    return made


def test_every_cell_session_and_needle_is_true_after_a_cold_sync(tree: Tree) -> None:
    with tree.archive() as archive:
        assert_true(archive, tree.truth)


def test_a_needle_is_found_in_the_field_it_was_hidden_in(tree: Tree) -> None:
    with tree.archive() as archive:
        found = {needle: archive.search(needle.word, ALL_FIELDS).hits for needle in tree.truth.needles}
        assert [hits[0].field for hits in found.values()] == [needle.field for needle in found]
        assert {needle.field for needle in found} == {"prompt", "text", "thinking", "tool", "result"}


def test_prompts_calls_and_thoughts_add_up_to_the_truth(tree: Tree) -> None:
    """Those of agents are in the truth's totals and not in a session's own numbers."""
    with tree.archive() as archive:
        for each in archive.sessions():
            row, tally = each.stored.row, tree.truth.by_session[each.stored.row.uuid].tally
            assert (row.thoughts, row.compactions) == (tally.thoughts, tally.compactions), row.uuid
        [(calls,)] = archive.sql("SELECT count(*) FROM tool_call")[1]
        [(lines,)] = archive.sql("SELECT sum(lines) FROM file WHERE kind IN ('transcript', 'subagent')")[1]
    totals = tree.truth.totals
    assert (calls, lines) == (totals.tool_calls, totals.lines)


def test_a_second_sync_takes_nothing(tree: Tree) -> None:
    with tree.archive() as archive:
        connection, machine = archive.inner.connection, archive.machine
        found = survey(connection, machine, whole_walk(connection, machine, archive.sources))
        assert [job for job in found.jobs if job.size] == []
        result = archive.sync()
        assert (result.sessions, result.files, result.bytes, result.vanished) == (0, 0, 0, 0)


def test_every_cell_is_true_after_appends_and_a_resumed_copy(tmp_path: Path) -> None:
    tree = a_tree(tmp_path, size=400_000, seed=3)
    with tree.archive() as archive:
        archive.sync()
        grown = append(tree.source, tree.truth, sessions=4)
        result = archive.sync()
        assert result.sessions >= len(grown)
        assert_true(archive, tree.truth)
        before = cells_of(archive)
        copy = resume_copy(tree.source, tree.truth)
        assert archive.sync().sessions == 1
        assert archive.find(copy).row.uuid == copy
        assert cells_of(archive) == before
        assert_true(archive, tree.truth)


def test_a_tree_read_by_workers_is_the_same_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = a_tree(tmp_path, size=400_000, seed=5)
    monkeypatch.setattr("reread.workers.ALONE_BELOW", 0)
    monkeypatch.setattr(reread.ingest.sync, "COMMIT_AFTER", 100_000)
    with tree.archive() as archive:
        archive.sync()
        assert_true(archive, tree.truth)


def test_progress_ends_at_everything(tmp_path: Path) -> None:
    for name in (ID, OTHER):
        a_session(a_prompt("go"), id=name).write(tmp_path / "projects")
    told: list[Progress] = []
    with Archive(tmp_path / "home", [tmp_path / "projects"], machine="desk") as archive:
        archive.sync(told.append)
    assert [each.sessions_done for each in told] == [1, 2]
    assert told[-1].bytes_done == told[-1].bytes_total > 0
    assert told[-1].sessions_total == 2


def test_a_file_that_disappears_between_survey_and_read_is_a_problem_and_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = a_session(a_prompt("the alpaca"), id=ID).write(tmp_path / "projects")
    a_session(a_prompt("the iguana"), id=OTHER).write(tmp_path / "projects")

    def surveyed_in_time(*given: object) -> Survey:
        found = survey(*given)  # type: ignore[arg-type]
        gone.unlink(missing_ok=True)
        return found

    with Archive(tmp_path / "home", [tmp_path / "projects"], machine="desk") as archive:
        with monkeypatch.context() as patched:
            patched.setattr("reread.ingest.sync.survey", surveyed_in_time)
            result = archive.sync()
        assert [str(gone) in str(problem) for problem in result.problems] == [True]
        assert (result.sessions, archive.search("iguana").total) == (1, 1)
        assert archive.sync().problems == []
        a_session(a_prompt("the alpaca"), id=ID).write(tmp_path / "projects")
        assert archive.sync().sessions == 1
        assert archive.search("alpaca").total == 1


def test_newer_sessions_have_larger_block_ids_after_a_cold_sync(tmp_path: Path) -> None:
    for age, name in enumerate((ID, OTHER)):
        path = a_session(a_prompt(f"go {age}"), id=name).write(tmp_path / "projects")
        os.utime(path, (1_700_000_000 - age, 1_700_000_000 - age))
    with Archive(tmp_path / "home", [tmp_path / "projects"], machine="desk") as archive:
        archive.sync()
        rows = archive.sql(
            "SELECT session.uuid FROM block JOIN file ON file.id = block.file"
            " JOIN session ON session.id = file.session ORDER BY block.id"
        )[1]
    assert rows == [(OTHER,), (ID,)]


def test_a_full_sync_reads_everything_from_the_safe_and_then_what_is_new(tmp_path: Path) -> None:
    path = a_session(a_prompt("the alpaca"), id=ID).write(tmp_path / "projects")
    with Archive(tmp_path / "home", [tmp_path / "projects"], machine="desk") as archive:
        archive.sync()
        path.unlink()
        a_session(a_prompt("the iguana"), a_reply("yes"), id=OTHER).write(tmp_path / "projects")
        archive.sync(full=True)
        assert [archive.search(word).total for word in ("alpaca", "iguana")] == [1, 1]
        assert [each.stored.present for each in archive.sessions(Filter(limit=2))] == [True, False]
