"""The database is private, is made whole or not at all, and refuses what it does not understand."""

from __future__ import annotations

import sqlite3
import stat
import sys
from contextlib import closing
from pathlib import Path

import pytest

from reread.errors import NewerArchive, RereadError, StoreError
from reread.index import database, schema
from reread.index.database import FILE_NAME, EarlierIndex, connect, is_earlier_index, transaction
from reread.index.meta import FIELDS
from reread.index.schema import VERSION
from reread.index.verify import damage_of

posix = pytest.mark.skipif(sys.platform == "win32", reason="POSIX modes")


def tables(connection: sqlite3.Connection) -> set[str]:
    return {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def values(connection: sqlite3.Connection) -> list[str]:
    return [name for (name,) in connection.execute("SELECT name FROM note")]


def test_tables_that_cannot_all_be_made_are_made_by_the_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as changed:
        changed.setattr(schema, "statements", lambda: ["CREATE TABLE half (id INTEGER)", "nonsense"])
        with pytest.raises(StoreError):
            connect(tmp_path)
    with closing(sqlite3.connect(tmp_path / FILE_NAME)) as raw:
        assert tables(raw) == set()
    assert tables(connect(tmp_path)) >= {"file", "session"}


@pytest.mark.parametrize("is_strict", [True, False])
def test_a_name_of_the_file_system_stays_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_strict: bool
) -> None:
    monkeypatch.setattr(schema, "IS_STRICT", is_strict and schema.IS_STRICT)
    with closing(connect(tmp_path)) as connection:
        names = [("0123", b"/caf\xe9")]
        connection.executemany("INSERT INTO moved_folder VALUES (?, ?)", names)
        assert connection.execute("SELECT * FROM moved_folder").fetchall() == names
        assert damage_of(connection) == []


def test_the_fields_of_a_block_are_those_that_the_schema_names() -> None:
    assert ", ".join(f"{number} {name}" for number, name in enumerate(FIELDS)) in schema.schema()


@pytest.mark.skipif(not schema.IS_STRICT, reason="this SQLite is older than STRICT tables")
def test_a_new_archive_takes_no_value_of_another_type_or_range(tmp_path: Path) -> None:
    connection = connect(tmp_path)
    made = dict(connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'").fetchall())
    ours = {name: sql for name, sql in made.items() if not name.startswith(("search", "vocabulary"))}
    assert [name for name, sql in ours.items() if not sql.endswith("STRICT")] == []
    for wrong in (
        "INSERT INTO forgotten VALUES ('a', 'today')",
        "INSERT INTO mark VALUES ('a', 2, '[]', '', '', 0, 1)",
    ):
        with pytest.raises(sqlite3.IntegrityError):
            connection.execute(wrong)
    connection.close()


def test_a_newer_archive_is_refused_with_a_sentence(tmp_path: Path) -> None:
    connection = connect(tmp_path)
    as_another_version_made_it(connection, VERSION + 1)
    with pytest.raises(NewerArchive, match=r"newer reread \(index .*\); please upgrade"):
        connect(tmp_path)


@pytest.mark.parametrize("version", [0, VERSION + 5], ids=["earlier", "damaged header"])
def test_one_of_an_earlier_version_and_one_with_a_damaged_header_have_to_be_made_again(
    tmp_path: Path, version: int
) -> None:
    connect(tmp_path).execute(f"PRAGMA user_version = {version}")
    with pytest.raises(EarlierIndex, match="older reread"):
        connect(tmp_path)
    assert is_earlier_index(tmp_path)
    connect(tmp_path, any_version=True)


def as_another_version_made_it(connection: sqlite3.Connection, version: int) -> None:
    connection.execute("UPDATE note SET value = ? WHERE name = 'version'", (str(version),))
    connection.execute(f"PRAGMA user_version = {version}")


def test_what_is_no_database_is_an_error_of_ours(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_bytes(b"not a database, but long enough to be looked at\n" * 40)
    with pytest.raises(RereadError, match="not a database"):
        connect(tmp_path)


def test_a_home_that_cannot_be_made_is_an_error_of_ours(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreError, match="cannot be made"):
        connect(tmp_path / "file" / "home")


@posix
def test_only_the_owner_may_look(tmp_path: Path) -> None:
    home = tmp_path / "deep" / "home"
    connection = connect(home)
    with transaction(connection):
        connection.execute("INSERT INTO note VALUES ('x', '')")
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    assert {path.name for path in home.iterdir()} >= {FILE_NAME, f"{FILE_NAME}-wal"}
    for path in home.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path


def test_a_read_only_connection_cannot_write(tmp_path: Path) -> None:
    connect(tmp_path)
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        connect(tmp_path, read_only=True).execute("DELETE FROM session")


def test_a_read_only_connection_makes_nothing(tmp_path: Path) -> None:
    with pytest.raises(StoreError):
        connect(tmp_path / "none", read_only=True)
    assert list(tmp_path.iterdir()) == []


def test_a_transaction_is_all_or_nothing(tmp_path: Path) -> None:
    connection = connect(tmp_path)
    with pytest.raises(KeyError), transaction(connection):
        connection.execute("INSERT INTO note VALUES ('x', '')")
        raise KeyError
    assert "x" not in values(connection)


def test_a_writer_that_waited_too_long_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "BUSY_MS", 10)
    one, two = connect(tmp_path), connect(tmp_path)
    with transaction(one), pytest.raises(StoreError, match="locked"), transaction(two):
        pass
