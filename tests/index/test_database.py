"""The database is private, migrates in named steps, and refuses what it does not understand."""

from __future__ import annotations

import sqlite3
import stat
import sys
from contextlib import closing
from pathlib import Path

import pytest

from reread.errors import NewerArchive, RereadError, StoreError
from reread.index import database, schema
from reread.index.database import FILE_NAME, connect, transaction
from reread.index.schema import MIGRATIONS

posix = pytest.mark.skipif(sys.platform == "win32", reason="POSIX modes")


def names(connection: sqlite3.Connection) -> list[str]:
    return [name for (name,) in connection.execute("SELECT name FROM migration ORDER BY rowid")]


def tables(connection: sqlite3.Connection) -> set[str]:
    return {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def test_every_migration_leaves_its_name_in_order(tmp_path: Path) -> None:
    assert names(connect(tmp_path)) == list(MIGRATIONS)
    assert names(connect(tmp_path)) == list(MIGRATIONS)


def test_a_migration_that_fails_leaves_nothing_and_the_next_start_tries_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def half(connection: sqlite3.Connection) -> None:
        connection.execute("CREATE TABLE half (id INTEGER)")
        connection.execute("nonsense")

    def whole(connection: sqlite3.Connection) -> None:
        connection.execute("CREATE TABLE half (id INTEGER)")

    monkeypatch.setitem(MIGRATIONS, "newest", half)
    with pytest.raises(StoreError):
        connect(tmp_path)
    raw = sqlite3.connect(tmp_path / FILE_NAME)
    assert "half" not in tables(raw)
    assert names(raw) == [name for name in MIGRATIONS if name != "newest"]
    monkeypatch.setitem(MIGRATIONS, "newest", whole)
    assert "half" in tables(connect(tmp_path))


def columns(connection: sqlite3.Connection) -> dict[str, list[tuple[object, ...]]]:
    found: dict[str, list[tuple[object, ...]]] = {}
    for table in tables(connection):
        found[table] = [
            (name, "TEXT" if type_ == "ANY" else type_, bool(required or key), default, key)
            for _, name, type_, required, default, key in connection.execute(f"PRAGMA table_info({table})")
        ]
    return found


def without_tables(connection: sqlite3.Connection) -> set[tuple[str, str, str]]:
    """Indexes, views and triggers."""
    asked = "SELECT type, name, sql FROM sqlite_master WHERE type <> 'table' AND sql NOT NULL"
    return set(connection.execute(asked))


@pytest.mark.parametrize("is_strict", [True, False])
def test_a_new_archive_has_what_the_migrations_come_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_strict: bool
) -> None:
    monkeypatch.setattr(schema, "IS_STRICT", is_strict and schema.IS_STRICT)
    new = connect(tmp_path / "new")
    with closing(sqlite3.connect(tmp_path / FILE_NAME, isolation_level=None)) as migrated:
        for apply in MIGRATIONS.values():
            apply(migrated)
        expected = columns(migrated)
        assert {name: found for name, found in columns(new).items() if name != "migration"} == expected
        assert without_tables(new) == without_tables(migrated)
    new.close()


@pytest.mark.skipif(not schema.IS_STRICT, reason="this SQLite is older than STRICT tables")
def test_a_new_archive_takes_no_value_of_another_type_or_range(tmp_path: Path) -> None:
    connection = connect(tmp_path)
    made = dict(connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'").fetchall())
    ours = {name: sql for name, sql in made.items() if not name.startswith(("search", "vocabulary", "migration"))}
    assert [name for name, sql in ours.items() if not sql.endswith("STRICT")] == []
    assert [name for name in schema.CHECKS if "CHECK" not in ours[name]] == []
    for wrong in ("INSERT INTO forgotten VALUES ('a', 'today')", "INSERT INTO mark VALUES ('a', 2, '[]', '', '', 0)"):
        with pytest.raises(sqlite3.IntegrityError):
            connection.execute(wrong)
    connection.execute("INSERT INTO moved_folder VALUES (?, ?)", (b"/caf\xe9", "/café"))  # a name that is no UTF-8
    connection.close()


def test_a_newer_archive_is_refused_with_a_sentence(tmp_path: Path) -> None:
    connection = connect(tmp_path)
    connection.execute("INSERT INTO migration VALUES ('shiny', 0)")
    with pytest.raises(NewerArchive, match=r"newer reread \(shiny\); please upgrade"):
        connect(tmp_path)


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
        connection.execute("INSERT INTO migration VALUES ('x', 0)")
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
        connection.execute("INSERT INTO migration VALUES ('x', 0)")
        raise KeyError
    assert "x" not in names(connection)


def test_a_writer_that_waited_too_long_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "BUSY_MS", 10)
    one, two = connect(tmp_path), connect(tmp_path)
    with transaction(one), pytest.raises(StoreError, match="locked"), transaction(two):
        pass
