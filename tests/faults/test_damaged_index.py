"""An index with values that nobody wrote, or half made, or gone: told in a sentence, made anew, and nothing forgotten
comes back.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from faults.homes import a_full_home, opened, run
from reread.archive import Archive
from reread.cli.main import main
from reread.index import meta
from reread.index.database import FILE_NAME
from reread.index.user_data import COPY, forgotten_rows, labels
from reread.ingest import rebuild as rebuilding
from reread.ingest.extract import take
from trees import Tree, assert_answers, generate

VALUES = [
    ("session SET started = 'x', ended = 'x'", ["list"]),
    ("session SET versions = '7'", ["list", "--json"]),
    ("session SET models = x'ff00'", ["list", "--json"]),
    ("session SET title = x'ff'", ["search", "the"]),
    ("mark SET tags = 'no json'", ["list"]),
    ("tool_call SET time = x'00'", ["files", "--json"]),
    ("friction SET details = '[1'", ["retro"]),
    ("friction SET cause = 'x'", ["retro"]),
    ("session_end SET prompted = x'00'", ["retro"]),
    ("session_end SET prompted = x'ffffffffffffff7f00000000'", ["retro"]),
    ("session_end SET material = x''", ["retro"]),
    ("mark SET tags = '[7]'", ["list"]),
    ("tool_call SET time = 1 << 62", ["files"]),
    ("request SET time = 'x'", ["usage", "session"]),
]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    return a_full_home(tmp_path_factory.mktemp("whole"))


@pytest.fixture
def tree(whole: Tree, tmp_path: Path) -> Tree:
    shutil.copytree(whole.home, tmp_path / "home")
    return Tree(whole.source, tmp_path / "home", whole.truth)


def change(home: Path, what: str) -> None:
    """As damage does: past the types and checks that SQLite holds all writers to."""
    path = home / FILE_NAME
    with closing(sqlite3.connect(path)) as connection:
        tables = connection.execute("SELECT sql, name FROM sqlite_master WHERE sql LIKE '%STRICT'").fetchall()
    say_of_tables(path, [(sql.removesuffix("STRICT").rstrip(" ,"), name) for sql, name in tables])
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        assert connection.execute(f"UPDATE {what}").rowcount > 0
    say_of_tables(path, tables)


def say_of_tables(path: Path, tables: list[tuple[str, str]]) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.executemany("UPDATE sqlite_master SET sql = ? WHERE name = ?", tables)
        connection.execute("PRAGMA writable_schema = RESET")


def lose_index(home: Path) -> None:
    """With those that were set aside: a person who cleans up."""
    for path in home.glob(f"{FILE_NAME}*"):
        path.unlink()


@pytest.mark.parametrize(("what", "command"), VALUES, ids=[what for what, _ in VALUES])
def test_whoever_fails_on_values_that_nobody_wrote_says_what_is_damaged(
    tree: Tree, what: str, command: list[str]
) -> None:
    change(tree.home, what)
    ran = run(tree, *command)
    assert ran.code == 2
    *before, told = ran.err.splitlines()
    assert len(before) <= 1, "that SQLite refused to write such a row once more"
    assert f"the table {what.split()[0]} has rows that are damaged; run `reread archive rebuild`" in told
    assert run(tree, "archive", "rebuild").code == 0
    assert run(tree, *command).code == 0


def test_a_fault_of_ours_is_not_called_damage(tree: Tree) -> None:
    with pytest.raises(ZeroDivisionError), opened(tree) as archive:
        archive.sessions()
        raise ZeroDivisionError


def test_rows_that_are_damaged_are_proof_of_nothing(tree: Tree) -> None:
    change(tree.home, "piece SET sha256 = 'x'")
    ran = run(tree, "archive", "verify", "--json")
    assert ran.code == 1
    assert json.loads(ran.out)["damaged"] == ["database: the table piece has rows that are damaged"]


def stop_a_rebuild(tree: Tree, done: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """After so many sessions."""
    left = done

    def take_some(*arguments: object, **more: object) -> object:
        nonlocal left
        left -= 1
        if left < 0:
            raise KeyboardInterrupt
        return take(*arguments, **more)  # type: ignore[arg-type]

    with monkeypatch.context() as changed, opened(tree) as archive, pytest.raises(KeyboardInterrupt):
        changed.setattr(rebuilding, "take", take_some)
        archive.safe.rebuild()


@pytest.mark.parametrize("done", [0, 1, 3])
def test_a_rebuild_that_was_stopped_is_begun_again_by_the_next_sync(
    tree: Tree, done: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(tree) as archive:
        known = (archive.marks.all(), archive.marks.moves(), labels(archive.inner.connection))
    stop_a_rebuild(tree, done, monkeypatch)
    with opened(tree) as archive:
        assert len(archive.sessions()) < len(tree.truth.by_session)
        shutil.rmtree(archive.inner.wire)
        assert not archive.is_current()
        assert not Archive(tree.home).is_current()  # not even where there is nothing to take in
        archive.sync()
        assert meta.read_note(archive.inner.connection, meta.REBUILD) == "done"
        assert_answers(archive, tree.truth)
        assert (archive.marks.all(), archive.marks.moves(), labels(archive.inner.connection)) == known
        assert archive.sync().files == 0


def test_nothing_is_called_lost_because_a_rebuild_was_stopped(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    stop_a_rebuild(tree, 0, monkeypatch)
    ran = run(tree, "archive", "verify")
    assert (ran.code, "every byte is intact" in ran.out) == (0, True), ran.out
    with opened(tree) as archive:
        assert_answers(archive, tree.truth)


@pytest.mark.parametrize("is_gone", [False, True], ids=["half made", "gone"])
def test_an_answer_without_an_index_says_so(tree: Tree, is_gone: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if is_gone:
        lose_index(tree.home)
    else:
        stop_a_rebuild(tree, 0, monkeypatch)
    for command in (["list"], ["usage"], ["search", "the"], []):
        told = run(tree, *command, "--no-sync").err
        assert "the index does not have all that is kept" in told, command
        assert "run `reread sync`" in told


@pytest.mark.parametrize("command", ["list", "sync"])
@pytest.mark.parametrize("is_gone", [False, True], ids=["half made", "gone"])
def test_what_is_kept_is_found_though_its_sources_and_its_index_are_gone(
    tree: Tree, command: str, is_gone: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if is_gone:
        lose_index(tree.home)
    else:
        stop_a_rebuild(tree, 0, monkeypatch)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tree.home.with_name("nowhere")))
    assert main([command, "--home", str(tree.home)]) == 0, capsys.readouterr().err
    told = capsys.readouterr().out
    assert command != "sync" or "the index was not complete and is rebuilt, " in told, told
    assert main(["list", "--json", "--no-sync", "--home", str(tree.home)]) == 0
    assert len(json.loads(capsys.readouterr().out)["sessions"]) == len(tree.truth.by_session)


def test_usage_counts_what_is_kept_though_its_index_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    truth = generate(tmp_path / "source", size=60_000, sessions=4)
    tree = Tree(tmp_path / "source", tmp_path / "home", truth)
    assert run(tree, "sync").code == 0
    monkeypatch.setattr("reread.archive.billing.QUICK_SYNC", 1)
    told = json.loads(run(tree, "usage", "--json").out)["totals"]
    max(tree.source.rglob("*.jsonl"), key=lambda path: path.stat().st_size).unlink()
    lose_index(tree.home)
    assert json.loads(run(tree, "usage", "--json").out)["totals"] == told


def test_what_was_forgotten_stays_so_and_labels_stay_when_the_index_is_lost(tree: Tree) -> None:
    gone = max(tree.truth.by_session)
    with opened(tree) as archive:
        uuid, kind = archive.inner.connection.execute("SELECT uuid, kind FROM friction LIMIT 1").fetchone()
        archive.friction.mark_wrong(uuid, kind)
        archive.safe.forget(gone)
        known = (
            archive.marks.all(),
            archive.marks.moves(),
            labels(archive.inner.connection),
            sorted(forgotten_rows(archive.inner.connection)),
        )
        assert all(known)
    for _ in range(2):
        lose_index(tree.home)
        with opened(tree) as archive:
            archive.sync()
            listed = {each.stored.row.uuid for each in archive.sessions()}
            assert listed == tree.truth.by_session.keys() - {gone}
            assert known == (
                *(archive.marks.all(), archive.marks.moves(), labels(archive.inner.connection)),
                sorted(forgotten_rows(archive.inner.connection)),
            )
            archive.marks.set(min(listed), hidden=True)
            archive.marks.set(min(listed), hidden=False)  # the copy is written anew, and still has all of it


def test_a_copy_that_lies_costs_nothing_that_the_rows_have(tree: Tree) -> None:
    with opened(tree) as archive:
        known = (archive.marks.all(), archive.marks.moves(), labels(archive.inner.connection))
    rows = {"labels": [["x", 7], [1, 2, 3, 4], None], "forgotten": [["key"], [7, 7], "x"], "marks": 7, "moved": {}}
    (tree.home / COPY).write_text(json.dumps(rows), encoding="utf-8")
    with opened(tree) as archive:
        archive.safe.rebuild()
        assert (archive.marks.all(), archive.marks.moves(), labels(archive.inner.connection)) == known
        assert forgotten_rows(archive.inner.connection) == []


def test_a_folder_that_a_rebuild_put_aside_stops_no_forget(tree: Tree) -> None:
    lose_index(tree.home)
    (tree.home / FILE_NAME).mkdir()
    assert run(tree, "archive", "rebuild").code == 0
    ran = run(tree, "archive", "forget", max(tree.truth.by_session), "--yes")
    assert (ran.code, ran.err) == (0, "")
