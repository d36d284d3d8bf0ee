"""The archive's index, a team's store, a lake and a plain database have the same of a session: its rows."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

import reread
from reread.archive import Archive
from reread.rows import Rows, rows_of
from reread.testing import (
    a_prompt,
    a_reply,
    a_session,
    a_subagent,
    a_thought,
    a_tool_call,
    a_tool_result,
    a_usage,
    an_interrupt,
)

pytest.importorskip("pyarrow")
pytest.importorskip("psycopg")

from reread.lake.plan import list_files, make_plan
from reread.lake.share import ShareOptions, take_share
from reread.team import payload

Keyed = dict[Any, tuple[Any, ...]]
TOKENS = ("input", "output", "cache_read", "cache_write_5m", "cache_write_1h", "web_searches")
SESSION = (
    *("project", "started", "ended", "prompts", "turns", "requests", "tool_calls", "tool_errors", "thoughts"),
    *("subagents", "branches", "compactions", "bytes"),
)


def at(second: int) -> dict[str, str]:
    return {"timestamp": f"2026-11-02T10:00:{second:02}.000Z"}


class Stores:
    """One session in each store, and its rows."""

    def __init__(self, folder: Path) -> None:
        a_session(
            a_prompt("look at a.py", **at(1)),
            a_reply(a_thought("Let me see."), a_tool_call("Read", {"file_path": "/a.py"}, id="toolu_1"),
                    usage=a_usage(10, 20, cache_read=7), id="msg_1", model="claude-opus-4-8", **at(2)),
            a_tool_result("no such file", of="toolu_1", is_error=True, **at(3)),
            a_reply("It is gone.", usage=a_usage(40, 50), id="msg_2", model="claude-opus-4-8", **at(4)),
            a_subagent(a_prompt("find it", **at(5)), a_reply("found", usage=a_usage(1, 2), id="msg_3", **at(6))),
            a_prompt("No, that is wrong. Leave it.", **at(7)),
            an_interrupt(timestamp=at(8)["timestamp"]),
            id="0b7f9d5e-1f0e-4f53-8a51-6a3c2f0f6a11",
            cwd="/home/ann/app",
        ).write(folder / "projects")  # fmt: skip
        self.archive: Archive = reread.open(home=folder / "home", sources=[folder / "projects"])
        self.archive.sync()
        [listed] = self.archive.sessions()
        self.stored = listed.stored
        self.rows: Rows = rows_of(self.archive.session("@last"))
        self.tables = self.rows.to_dicts()
        plan = make_plan(list_files([str(folder / "projects")], []), {})
        share = take_share(plan.jobs, ShareOptions(redact="none"))
        self.lake = {name: table.to_pylist() for name, table in share.tables.items()}
        self.pushed = payload.shown(self.archive, self.stored, "all", payload.SentNames())["ledger"]
        self.archive.write_database(folder / "plain.db")
        with closing(sqlite3.connect(folder / "plain.db")) as plain:
            plain.row_factory = sqlite3.Row
            names = ("sessions", "prompts", "thinking", "calls", "responses")
            self.plain = {name: list(map(dict, plain.execute(f"SELECT * FROM {name}"))) for name in names}  # noqa: S608  our own names

    def index(self, names: Iterable[str], table: str, order: str = "1") -> list[tuple[Any, ...]]:
        statement = f"SELECT {', '.join(names)} FROM {table} ORDER BY {order}"  # noqa: S608  our own names
        return self.archive.inner.connection.execute(statement).fetchall()


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stores]:
    made = Stores(tmp_path_factory.mktemp("stores"))
    with made.archive:
        yield made


def milliseconds(time: datetime | str | None) -> int | None:
    time = datetime.fromisoformat(time) if isinstance(time, str) else time
    return None if time is None else round(time.astimezone(UTC).timestamp() * 1000)


def test_the_session(stores: Stores) -> None:
    ours = {name: getattr(stores.rows.session, name) for name in SESSION}
    [index] = stores.index(SESSION, "session")
    assert dict(zip(SESSION, index, strict=True)) == ours
    numbers = stores.pushed["numbers"] | {"project": stores.pushed["project"]}
    assert {name: numbers[name] for name in SESSION} == ours
    [lake] = stores.lake["session"]
    times = {name: milliseconds(lake[name]) for name in ("started", "ended")}
    assert {name: lake[name] for name in SESSION} | times == ours
    [plain] = stores.plain["sessions"]
    common = [name for name in SESSION if name in plain and name not in times]
    assert {name: plain[name] for name in common} == {name: ours[name] for name in common}
    assert {name: milliseconds(plain[name]) for name in times} == times


def test_responses(stores: Stores) -> None:
    ours: Keyed = {row["key"]: (row["time"], *(row[name] for name in TOKENS)) for row in stores.tables["response"]}
    assert len(ours) == 3
    index = stores.index(("key", "time", *TOKENS), "request")
    assert {key: tuple(values) for key, *values in index} == ours
    assert {row["key"]: (row["time"], *(row[name] for name in TOKENS)) for row in stores.pushed["told"]} == ours
    lake = stores.lake["request"]
    assert {row["key"]: (milliseconds(row["time"]), *(row[name] for name in TOKENS)) for row in lake} == ours
    assert sorted(milliseconds(row["time"]) or 0 for row in stores.plain["responses"]) == sorted(
        time for time, *_ in ours.values()
    )


def test_calls(stores: Stores) -> None:
    names = ("id", "name", "status", "time", "seconds", "path", "digest")
    ours = [tuple(row[name] for name in names) for row in stores.tables["call"]]
    assert ours
    assert stores.index(names, "tool_call") == ours
    lake = [row | {"time": milliseconds(row["time"])} for row in stores.lake["call"]]
    assert [tuple(row[name] for name in names) for row in lake] == ours
    assert [(row["tool"], row["status"]) for row in stores.plain["calls"]] == [(row[1], row[2]) for row in ours]


def test_prompts_and_thoughts(stores: Stores) -> None:
    prompts = [(row["offset"], row["part"], row["time"], row["digest"]) for row in stores.tables["prompt"]]
    assert stores.index(("offset", "part", "time", "digest"), "prompt") == prompts
    assert [milliseconds(row["time"]) for row in stores.plain["prompts"]] == [time for _, _, time, _ in prompts]
    [lake] = stores.lake["session"]
    assert [milliseconds(each["time"]) for each in lake["typed"]] == [each.time for each in stores.rows.typed]
    thoughts = [(row["offset"], row["state"], row["characters"]) for row in stores.tables["thought"]]
    assert thoughts
    assert stores.index(("offset", "state", "characters"), "thought") == thoughts
    assert len(stores.plain["thinking"]) == len(thoughts)


def test_texts(stores: Stores) -> None:
    kinds = [row["field"] for row in stores.tables["text"]]
    ours = [(row["offset"], row["part"], row["length"]) for row in stores.tables["text"]]
    assert {"prompt", "text", "thinking", "tool", "result"} <= set(kinds)
    blocks = "block JOIN file ON file.id = file"
    assert stores.index(("block.offset", "part", "length"), blocks, "kind DESC, 1, 2") == ours
    assert [row["text"] for row in stores.lake["text"]] == [row["text"] for row in stores.tables["text"]]


def test_moments(stores: Stores) -> None:
    ours = list(map(msgspec.structs.asdict, stores.rows.moments))
    assert ours
    names = tuple(ours[0])
    assert stores.index(names, "friction", "rowid") == [tuple(row.values()) for row in ours]
    [lake] = stores.lake["session"]
    assert [(row["kind"], milliseconds(row["time"]), row["evidence"]) for row in lake["moments"]] == [
        (row["kind"], row["time"], row["evidence"]) for row in ours
    ]


SAMPLES = Path(reread.__file__).parent / "samples" / "projects"
COUNTED = ("key", "time", *TOKENS, "nanodollars", "doubt", "rows")


def test_every_sample_has_the_same_rows_in_the_index_in_a_lake_and_in_memory(tmp_path: Path) -> None:
    plan = make_plan(list_files([str(SAMPLES)], []), {})
    lake = {
        name: table.to_pylist() for name, table in take_share(plan.jobs, ShareOptions(redact="none")).tables.items()
    }
    uris = {row["key"]: row["uri"] for row in lake["file"]}
    with reread.open(home=tmp_path, sources=[SAMPLES]) as archive:
        archive.sync()
        rows = [rows_of(archive.session(each)).to_dicts() for each in archive.sessions()]
        of_file = "JOIN file ON file.id = {0}.file"
        for table, stored, names in (
            ("response", "request", COUNTED),
            ("call", "tool_call", ("id", "name", "status", "time", "seconds", "digest", "offset", "length")),
            ("prompt", "prompt", ("offset", "part", "length", "time", "digest")),
            ("thought", "thought", ("offset", "part", "length", "time", "state", "characters", "digest")),
        ):
            columns = ", ".join(f"{stored}.{name}" for name in names)
            query = f"SELECT file.path, {columns} FROM {stored} {of_file.format(stored)}"  # noqa: S608  our own names
            ours = [tuple(row[name] for name in ("file", *names)) for each in rows for row in each[table]]
            assert sorted(map(repr, archive.inner.connection.execute(query).fetchall())) == sorted(map(repr, ours)), (
                table
            )
    ours = [(row["file"], row["key"], *(row[name] for name in TOKENS)) for each in rows for row in each["response"]]
    theirs = [(uris[row["file"]], row["key"], *(row[name] for name in TOKENS)) for row in lake["request"]]
    assert sorted(theirs) == sorted(ours)
