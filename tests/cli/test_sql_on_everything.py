"""`reread sql` reaches every text; other programs open the archive's file, and a plain database is made for them."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cli.kept import HARBOUR, LANTERN, Kept, fill
from cli.running import Run
from reread.archive import Archive
from reread.index.database import FILE_NAME
from reread.index.sql_views import EXAMPLES, VIEWS
from reread.testing import a_prompt, a_reply, a_session, a_thought, a_tool_call, a_tool_result

FORK = "3c0f0000-cccc-4000-8000-000000000003"
KEY = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"


def history() -> list[Any]:
    call = a_tool_call("Bash", {"command": f"echo {KEY}", "note": "ünder"}, id="toolu_01" + "b" * 20)
    return [
        a_prompt("why does it leak", uuid="p-1", timestamp="2026-11-13T10:00:00.000Z"),
        a_reply(a_thought("a valve, perhaps"), "It is the valve.", uuid="r-1", id="msg_01" + "c" * 22),
        a_reply(call, uuid="c-1", id="msg_01" + "d" * 22, timestamp="2026-11-13T10:00:05.000Z"),
        a_tool_result(f"leaking {KEY}", of="toolu_01" + "b" * 20, is_error=True),
    ]


@pytest.fixture
def kept(run: Run, tmp_path: Path) -> Kept:
    """The usual sessions, one with a key in it, and a fork that repeats it all."""
    claude = tmp_path / ".claude"
    fill(claude)
    a_session(*history(), id="leak").write(claude / "projects")
    a_session(*history(), a_prompt("and now", timestamp="2026-11-13T12:00:00.000Z"), id=FORK).write(claude / "projects")
    kept = Kept(run, claude, tmp_path / "archive")
    kept("sync")
    return kept


def asked(kept: Kept, query: str) -> list[tuple[object, ...]]:
    with Archive(kept.home) as archive:
        return archive.sql(query)[1]


def test_every_text_can_be_reached_and_none_twice(kept: Kept) -> None:
    assert asked(kept, "SELECT session, time, text FROM prompts WHERE text LIKE '%leak%'") == [
        ("leak", "2026-11-13T10:00:00.000Z", "why does it leak")
    ]
    assert asked(kept, "SELECT text FROM replies WHERE text LIKE '%valve%'") == [("It is the valve.",)]
    assert asked(kept, "SELECT session, agent IS NULL FROM replies WHERE text LIKE 'found an osc%'") == [(LANTERN, 0)]
    assert asked(kept, "SELECT text, characters FROM thinking WHERE session = 'leak'") == [("a valve, perhaps", 16)]
    query = "SELECT tool, status, json_extract(input, '$.note'), uuid FROM calls WHERE session = 'leak'"
    assert asked(kept, query) == [("Bash", "error", "ünder", "c-1")]
    assert asked(kept, "SELECT tool, text FROM results WHERE session = 'leak'") == [("Bash", f"leaking {KEY}")]
    assert asked(kept, "SELECT count(*) FROM texts WHERE field = 'result' AND text LIKE '%zirconium%'") == [(1,)]


def test_the_views_count_what_the_commands_count(kept: Kept) -> None:
    prompts, calls = asked(kept, "SELECT (SELECT count(*) FROM prompts), (SELECT count(*) FROM calls)")[0]
    assert prompts == kept.json("prompts")["total"]
    assert calls == sum(each["calls"] for each in kept.json("tools")["tools"])
    listed = {
        row["id"]: (row["prompts"], row["tool_calls"], row["tool_errors"]) for row in kept.json("list")["sessions"]
    }
    rows = asked(kept, "SELECT id, prompts, tool_calls, tool_errors FROM sessions")
    assert {row[0]: row[1:] for row in rows} == listed
    spent = asked(kept, "SELECT sum(dollars) FROM responses")[0][0]
    assert spent == pytest.approx(float(kept.json("usage")["totals"]["cost_usd"] or 0))


@pytest.mark.parametrize("about", EXAMPLES)
def test_the_examples_of_the_schema_run(kept: Kept, about: str) -> None:
    ran = kept("sql", EXAMPLES[about], "--json")
    assert ran.code == 0, ran.err
    assert EXAMPLES[about] in kept("sql", "--schema").out


def test_the_schema_is_a_document_where_one_is_asked_for(kept: Kept) -> None:
    described = kept.json("sql", "--schema")
    assert described["schema"] == "reread.sql_schema/1"
    assert described["text"] == kept("sql", "--schema").out.removesuffix("\n")


def test_the_schema_tells_of_every_column_of_every_view(kept: Kept) -> None:
    told = kept("sql", "--schema").out
    for view in VIEWS:
        assert f"-- {view.name}: " in told
        assert kept("sql", f"SELECT * FROM {view.name} LIMIT 1", "--json").code == 0  # noqa: S608


def test_sql_still_only_reads(kept: Kept) -> None:
    for query in ("DROP VIEW prompts", "CREATE TEMP TABLE x (y)", "DELETE FROM session", "PRAGMA query_only = OFF"):
        ran = kept("sql", query)
        assert ran.code == 2, query
        assert "only reads" in ran.err


def test_a_name_that_is_not_there_leads_to_the_schema(kept: Kept) -> None:
    for query in ("SELECT * FROM message", "SELECT cost FROM session", ".tables"):
        assert "`reread sql --schema`" in kept("sql", query).err


def test_a_damaged_safe_hides_texts_and_no_rows(kept: Kept) -> None:
    count = asked(kept, "SELECT count(*) FROM prompts")
    for pack in (kept.home / "safe").glob("*.pack"):
        content = bytearray(pack.read_bytes())
        content[40:] = bytes(len(content) - 40)
        pack.write_bytes(content)
    assert asked(kept, "SELECT count(*) FROM prompts WHERE text IS NULL") == count


# -- other programs


def tables_of(connection: sqlite3.Connection) -> Iterator[str]:
    query = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view')"
    return (name for (name,) in connection.execute(query).fetchall())


def assert_open_to_all(path: Path) -> None:
    """What Datasette and sqlite-utils ask of every table: how many rows, some of them, and where foreign keys lead."""
    with closing(sqlite3.connect(path)) as connection:
        for name in tables_of(connection):
            connection.execute(f"SELECT count(*) FROM [{name}]").fetchone()  # noqa: S608
            connection.execute(f"SELECT * FROM [{name}] LIMIT 5").fetchall()  # noqa: S608
            for key in connection.execute(f"PRAGMA foreign_key_list([{name}])"):
                assert key[4] is not None, (name, key)
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def test_other_programs_can_go_through_the_archive(kept: Kept) -> None:
    assert_open_to_all(kept.home / FILE_NAME)
    assert kept("search", "zirconium").code == 0
    assert "okay" not in kept("archive", "verify").err


def test_sqlite_utils_reads_the_archive(kept: Kept) -> None:
    sqlite_utils = pytest.importorskip("sqlite_utils")
    database = sqlite_utils.Database(kept.home / FILE_NAME)
    for table in [*database.tables, *database.views]:
        assert table.count >= 0
        list(table.rows_where(limit=3))


def test_datasette_shows_every_table_of_the_archive(kept: Kept) -> None:
    app = pytest.importorskip("datasette.app")

    async def shown() -> dict[str, int]:
        datasette = app.Datasette([str(kept.home / FILE_NAME)])
        await datasette.invoke_startup()
        found = (await datasette.client.get("/reread.json")).json()
        names = [each["name"] for each in (*found["tables"], *found["views"])]
        return {name: (await datasette.client.get(f"/reread/{name}")).status_code for name in names}

    assert set(asyncio.run(shown()).values()) == {200}


# -- a plain database


def plain(kept: Kept, *given: str) -> Path:
    path = kept.home.parent / "plain.db"
    ran = kept("export", "--format", "sqlite", "--output", path, *given)
    assert ran.code == 0, ran.err
    return path


def test_a_plain_database_has_texts_words_times_and_dollars(kept: Kept) -> None:
    path = plain(kept)
    assert_open_to_all(path)
    with closing(sqlite3.connect(path)) as made:
        found = made.execute("SELECT session, time FROM prompts WHERE id IN (SELECT rowid FROM prompts_fts('leak'))")
        assert found.fetchall() == [("leak", "2026-11-13T10:00:00.000Z")]
        assert made.execute("SELECT count(*) FROM sessions").fetchone() == (4,)
        assert made.execute("PRAGMA foreign_key_check").fetchall() == []
        for table in ("prompts", "replies", "thinking", "calls", "results", "responses"):
            counted = asked(kept, f"SELECT count(*) FROM {table}")  # noqa: S608
            assert made.execute(f"SELECT count(*) FROM {table}").fetchall() == counted  # noqa: S608
        assert made.execute("SELECT count(*) FROM sessions WHERE dollars > 0").fetchone() == (4,)


def test_filters_and_parts_narrow_it(kept: Kept) -> None:
    with closing(sqlite3.connect(plain(kept, "--project", "harbour", "--no-thinking", "--no-tools"))) as made:
        assert made.execute("SELECT id FROM sessions").fetchall() == [(HARBOUR,)]
        assert made.execute("SELECT text FROM prompts").fetchall() == [("draw the harbour",)]
        assert not {"thinking", "calls", "results"} & set(tables_of(made))
    with closing(sqlite3.connect(plain(kept, LANTERN[:8], "--no-subagents"))) as made:
        assert made.execute("SELECT id FROM sessions").fetchall() == [(LANTERN,)]
        assert made.execute("SELECT count(*) FROM replies WHERE text LIKE '%oscillation%'").fetchone() == (0,)


def test_secrets_are_taken_out_everywhere(kept: Kept) -> None:
    assert KEY.encode() in plain(kept).read_bytes()
    path = plain(kept, "--redact")
    content = path.read_bytes()
    assert KEY.encode() not in content
    with closing(sqlite3.connect(path)) as made:
        (command,) = made.execute(
            "SELECT json_extract(input, '$.command') FROM calls WHERE session = 'leak'"
        ).fetchone()
        assert command.startswith("echo [redacted: ")
        assert made.execute("SELECT count(*) FROM calls_fts('redacted')").fetchone() == (1,)


def test_check_writes_nothing_where_a_secret_would_remain(kept: Kept) -> None:
    path = kept.home.parent / "checked.db"
    ran = kept("export", "-o", path, "--check")
    assert (ran.code, path.exists()) == (1, False)
    assert "something secret would remain" in ran.err
    assert kept("export", "-o", path, "--check", "--redact").code == 0


def test_what_was_written_is_told_and_bad_input_named(kept: Kept, tmp_path: Path) -> None:
    path = tmp_path / "out.sqlite"
    told = json.loads(kept("export", "-o", path, "--json").out)
    assert (told["format"], told["files"][0]["rows"]["sessions"]) == ("sqlite", 4)
    assert "--output" in kept("export", "--format", "sqlite").err
    assert "no session matches" in kept("export", "-o", tmp_path / "none.db", "--project", "nowhere").err
    assert not list(tmp_path.glob("*none*"))
