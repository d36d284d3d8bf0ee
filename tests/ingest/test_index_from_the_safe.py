"""The database lost: everything it said is in the safe."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from reread.archive import Archive
from reread.archive.search_language import ALL_FIELDS
from reread.errors import UnknownSession
from reread.index import meta
from reread.index.client_totals import status_lines
from reread.index.database import FILE_NAME
from reread.index.sessions import StoredSession
from reread.index.user_data import COPY, change_rows, forgotten_rows, labels
from reread.ingest import Progress
from reread.testing import a_prompt, a_reply, a_session, a_subagent
from trees import a_tree, append, assert_true, everything

ID = "0a1b2c3d-1111-4222-8333-444455556666"
WORDS = ("the", "claude", "error*", "検索", "склад OR app")


def rows(archive: Archive) -> list[tuple[object, ...]]:
    return sorted((each.stored.row.uuid, each.stored.row, tuple(each.stored.files)) for each in archive.sessions())


def test_a_rebuilt_index_says_what_the_old_one_said(tmp_path: Path) -> None:
    tree = a_tree(tmp_path, size=400_000, seed=13)
    with tree.archive() as archive:
        archive.sync()
        append(tree.source, tree.truth)
        archive.sync()
        before = rows(archive), archive.usage(), [archive.search(word, ALL_FIELDS).total for word in WORDS]
        assert archive.safe.rebuild() == len(tree.truth.by_session)
        after = rows(archive), archive.usage(), [archive.search(word, ALL_FIELDS).total for word in WORDS]
        assert after == before
        assert_true(archive, tree.truth)
        assert archive.sync().bytes == 0
        assert_true(archive, tree.truth)


def test_workers_rebuild_what_one_process_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = a_tree(tmp_path, size=400_000, seed=14)
    with tree.archive() as archive:
        archive.sync()
        monkeypatch.setattr("reread.ingest.rebuild.COMMIT_AFTER", 100_000)
        archive.safe.rebuild()
        alone = everything(archive)
        monkeypatch.setattr("reread.workers.ALONE_BELOW", 0)
        told: list[Progress] = []
        archive.safe.rebuild(told.append)
        assert everything(archive) == alone
        assert {each.phase for each in told} == {"rebuilding"}
        assert (told[-1].bytes_done, told[-1].sessions_done) == (told[-1].bytes_total, told[-1].sessions_total)


def of_an_earlier_version(home: Path) -> None:
    with closing(sqlite3.connect(home / FILE_NAME, isolation_level=None)) as connection:
        connection.execute("PRAGMA user_version = 0")


def said(archive: Archive) -> tuple[object, ...]:
    """What stands in no file."""
    connection = archive.inner.connection
    rows = (forgotten_rows(connection), status_lines(connection), labels(connection), change_rows(connection))
    return (archive.marks.all(), archive.marks.moves(), archive.inner.own_machine(), *map(sorted, rows))


def a_person_says(archive: Archive, name: str) -> None:
    connection = archive.inner.connection
    archive.marks.set(name, starred=True, tags=["good"], note="a noteword", title="as I call it")
    archive.marks.move_project("/home/old", "/home/new")
    archive.inner.label_machine("the desk")
    connection.execute("INSERT INTO moment_verdict VALUES ('line', '', 'session', 7)")
    connection.execute("INSERT INTO client_total (session, machine, source) VALUES ('x', 'desk', 'statusline')")
    meta.write_note(connection, meta.SECRETS, "00ff")


@pytest.mark.parametrize("has_sources", [True, False])
def test_an_index_of_an_earlier_version_is_made_again_by_the_next_sync_with_all_that_was_said(
    tmp_path: Path, has_sources: bool
) -> None:
    tree = a_tree(tmp_path, size=400_000, seed=14)
    with tree.archive() as archive:
        archive.sync()
        a_person_says(archive, archive.sessions()[0].id)
        before = rows(archive), archive.usage(), said(archive)
        (tree.home / COPY).unlink()
    of_an_earlier_version(tree.home)
    if not has_sources:
        shutil.rmtree(tree.source)
    with tree.archive() as archive:
        assert archive.sync().rebuilt == len(tree.truth.by_session)
        if has_sources:
            assert (rows(archive), archive.usage(), said(archive)) == before
        assert said(archive) == before[2]
        assert meta.read_note(archive.inner.connection, meta.SECRETS) == "00ff"
        assert archive.safe.verify(deep=True).damaged == []
        assert archive.sync().rebuilt == 0
    assert list(tree.home.glob("*.damaged-*")) == [], "nothing in it is needed any more"


def test_what_an_earlier_index_cannot_tell_any_more_is_kept_beside_the_new_one(tmp_path: Path) -> None:
    tree = a_tree(tmp_path, size=60_000, seed=15)
    with tree.archive() as archive:
        archive.sync()
        archive.inner.connection.execute("ALTER TABLE moment_verdict RENAME TO verdict_of_old")
    of_an_earlier_version(tree.home)
    with tree.archive() as archive:
        archive.sync()
        assert archive.safe.status().set_aside_bytes > 0


def test_a_question_before_the_index_is_made_again_says_what_is_not_there_yet(tmp_path: Path) -> None:
    a_session(a_prompt("the alpaca"), id=ID).write(tmp_path / "projects")
    with a_synced(tmp_path):
        pass
    of_an_earlier_version(tmp_path / "home")
    with Archive(tmp_path / "home", [tmp_path / "projects"], machine="desk") as archive:
        assert (archive.sessions(), archive.inner.has_lost_index, archive.is_current()) == ([], True, False)
        with pytest.raises(UnknownSession, match="has only some sessions yet"):
            archive.find(ID)
        archive.safe.forget(ID)
        archive.sync()
        assert (archive.sessions(), archive.inner.has_lost_index) == ([], False)


def test_the_newest_sessions_are_there_first_and_a_stopped_rebuild_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = a_tree(tmp_path, size=400_000, seed=16)
    with tree.archive() as archive:
        archive.sync()
        before, newest = rows(archive), [each.id for each in archive.sessions()]
    of_an_earlier_version(tree.home)
    monkeypatch.setattr("reread.ingest.rebuild.COMMIT_AFTER", 1)
    read: list[int] = []

    def stop_after(some: int) -> Callable[[Progress], None]:
        def report(progress: Progress) -> None:
            read.append(progress.sessions_done)
            if progress.sessions_done == some:
                raise KeyboardInterrupt

        return report

    for some in (3, 4):
        with tree.archive() as archive, pytest.raises(KeyboardInterrupt):
            archive.sync(stop_after(some))
    with tree.archive() as archive:
        there = {each.id for each in archive.sessions()}
        assert there == set(newest[: len(there)])
        assert 0 < len(there) < len(newest)
        assert archive.inner.sessions_left == len(newest) - len(there)
        archive.sync(stop_after(1000))
        assert rows(archive) == before
        assert archive.safe.verify(deep=True).damaged == []
    assert max(read[read.index(4) + 1 :]) < len(newest) - 3, "what was read before is not read again"


def test_a_rebuild_asks_the_safe_for_what_the_clients_own_index_says(tmp_path: Path) -> None:
    path = a_session(a_prompt("hello"), id=ID).write(tmp_path / "projects")
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    path.write_text("".join(json.dumps({**line, "cwd": None}) + "\n" for line in lines), "utf-8")
    index = path.with_name("sessions-index.json")

    def tell(project: str) -> None:
        index.write_text(json.dumps({"version": 1, "entries": [{"sessionId": ID, "projectPath": project}]}), "utf-8")

    tell("/srv/alpaca")
    with a_synced(tmp_path) as archive:
        assert found(archive).row.project == "/srv/alpaca"
        tell("/srv/iguana")
        archive.safe.rebuild()
        assert found(archive).row.project == "/srv/alpaca"


def a_synced(folder: Path) -> Archive:
    archive = Archive(folder / "home", [folder / "projects"], machine="desk")
    archive.sync()
    return archive


def found(archive: Archive) -> StoredSession:
    return archive.find(ID)


def test_a_rebuild_needs_neither_sources_nor_database(tmp_path: Path) -> None:
    agent = a_subagent(a_prompt("b"), a_reply("pangolin"), id="abc")
    path = a_session(a_prompt("the alpaca"), agent, id=ID, outputs={"t.txt": "okapi"}).write(tmp_path / "projects")
    with a_synced(tmp_path) as archive:
        row = found(archive).row
    for source in (tmp_path / "projects").rglob("*.*"):
        source.unlink()
    for database in (tmp_path / "home").glob("reread.db*"):
        database.unlink()
    with Archive(tmp_path / "home", [tmp_path / "projects"], machine="desk") as archive:
        assert archive.safe.rebuild() == 1
        assert found(archive).row == row
        assert [archive.search(word, ALL_FIELDS).total for word in ("alpaca", "pangolin", "okapi")] == [1, 1, 1]
        assert archive.session(ID).files[0] == str(path)
        archive.sync()
        assert not found(archive).present


def test_a_rebuild_shows_the_newest_generation_and_keeps_the_older(tmp_path: Path) -> None:
    a_session(a_prompt("the alpaca"), id=ID).write(tmp_path / "projects")
    with a_synced(tmp_path) as archive:
        path = a_session(a_prompt("an iguana"), id=ID).write(tmp_path / "projects")
        archive.sync()
        archive.safe.rebuild()
        assert [archive.search(word).total for word in ("alpaca", "iguana")] == [0, 1]
        generations = archive.sql("SELECT generation, sum(length) FROM piece GROUP BY generation")[1]
        assert [generation for generation, _ in generations] == [1, 2]
        assert archive.sync().bytes == 0
        assert archive.inner.kept_bytes()[str(path)] == path.stat().st_size


def test_a_rebuild_keeps_the_files_of_other_machines_apart(tmp_path: Path) -> None:
    for machine, word in (("desk", "alpaca"), ("laptop", "iguana")):
        a_session(a_prompt(word), id=ID).write(tmp_path / machine)
        with Archive(tmp_path / "home", [tmp_path / machine], machine=machine) as archive:
            archive.sync()
    with Archive(tmp_path / "home", [tmp_path / "desk"], machine="desk") as archive:
        assert archive.safe.rebuild() == 2
        machines = archive.sql("SELECT DISTINCT machine FROM session ORDER BY machine")[1]
        assert machines == [("desk",), ("laptop",)]


def test_each_rebuild_keeps_the_database_it_replaces(tmp_path: Path) -> None:
    a_session(a_prompt("the alpaca"), id=ID).write(tmp_path / "projects")
    with a_synced(tmp_path) as archive:
        archive.safe.rebuild()
        archive.safe.rebuild()
    assert len(list((tmp_path / "home").glob("reread.db.damaged-*[0-9]"))) == 2


def test_a_session_that_was_forgotten_stays_forgotten_after_a_rebuild(tmp_path: Path) -> None:
    a_session(a_prompt("the alpaca"), id=ID).write(tmp_path / "projects")
    with a_synced(tmp_path) as archive:
        archive.safe.forget(ID)
        archive.sync()
        assert archive.sessions() == []
        archive.safe.rebuild()
        archive.sync()
        assert archive.sessions() == []


@pytest.mark.parametrize("has_trunk", [True, False])
def test_agents_that_lay_beside_their_session_come_back_without_their_sources(tmp_path: Path, has_trunk: bool) -> None:
    """As clients of 2.0 leave them: only their lines tell whose they are."""
    agent = a_subagent(a_prompt("b"), a_reply("pangolin"), id="abc", where="beside")
    trunk = a_session(a_prompt("the alpaca"), agent, id=ID).write(tmp_path / "projects")
    if not has_trunk:
        trunk.unlink()
    with a_synced(tmp_path) as archive:
        before = rows(archive)
    shutil.rmtree(tmp_path / "projects")
    with Archive(tmp_path / "home", machine="desk") as archive:
        assert archive.safe.rebuild() == 1
        assert rows(archive) == before
        assert [hit.session.name for hit in archive.search("pangolin").hits] == [ID]
        assert len(archive.session(ID).subagents) == 1


def test_files_of_one_folder_that_tell_the_same_id_are_sessions_each(tmp_path: Path) -> None:
    folder = tmp_path / "projects" / "-p"
    folder.mkdir(parents=True)
    for name, word in (("zebra.jsonl", "zebra"), ("alpaca.jsonl", "alpaca"), ("okapi.jsonl", "okapi")):
        (folder / name).write_bytes(b"\n".join(a_session(a_prompt(word), id=ID).lines) + b"\n")
    with a_synced(tmp_path) as archive:
        assert {each.id: each.title for each in archive.sessions()} == {
            ID: "alpaca",
            "okapi": "okapi",
            "zebra": "zebra",
        }
        before = rows(archive)
        shutil.rmtree(folder)
        archive.safe.rebuild()
        assert rows(archive) == before
        assert [prompt.text for prompt in archive.session("zebra").prompts] == ["zebra"]


def test_a_copy_as_an_array_beside_its_transcript_is_a_session_of_its_own(tmp_path: Path) -> None:
    lines = a_session(a_prompt("alpaca"), id=ID).lines
    path = a_session(a_prompt("okapi"), id=ID).write(tmp_path / "projects")
    path.with_suffix(".json").write_bytes(b"[" + b",".join(lines) + b"]")
    with a_synced(tmp_path) as archive:
        assert {each.id: each.title for each in archive.sessions()} == {ID: "okapi", f"{ID}.json": "alpaca"}
        assert archive.find(ID).row.title == "okapi"
