"""What a session amounts to as plain rows, without any store."""

from __future__ import annotations

import builtins
import json
from pathlib import Path
from typing import Any

import pytest

import reread
from reread.errors import BadInput
from reread.rows import Rows, rows_of
from reread.sessions import SessionBuilder
from reread.testing import a_prompt, a_reply, a_session, a_subagent, a_tool_call, a_tool_result, a_usage

AT = "2026-11-02T10:00:00.000Z"
MS = 1_793_613_600_000


def written(folder: Path) -> Path:
    return a_session(
        a_prompt("look at a.py", timestamp=AT),
        a_reply("done", a_tool_call("Read", {"file_path": "/a.py"}, id="toolu_1"), usage=a_usage(10, 20), timestamp=AT,
                id="msg_1", model="claude-opus-4-8"),
        a_tool_result("text of a file", of="toolu_1", timestamp=AT),
        a_subagent(a_prompt("look", timestamp=AT), a_reply("seen", usage=a_usage(1, 2), timestamp=AT, id="msg_2")),
        id="ann",
        cwd="/home/ann/app",
    ).write(folder)  # fmt: skip


def rows_at(folder: Path) -> Rows:
    return rows_of(reread.load(written(folder)))


def test_every_table_has_its_rows_and_each_names_its_file(tmp_path: Path) -> None:
    path = written(tmp_path)
    tables = rows_of(reread.load(path)).to_dicts()
    assert {name: len(rows) for name, rows in tables.items()} == {
        "session": 1, "file": 2, "response": 2, "call": 1, "prompt": 1, "thought": 0, "text": 6, "moment": 0,
    }  # fmt: skip
    assert [row["uuid"] for row in tables["session"]] == ["ann"]
    assert (tables["file"][0]["file"], tables["file"][0]["kind"]) == (str(path), "transcript")
    told, by_agent = tables["response"]
    assert (told["key"], told["file"], told["model"], told["tools"]) == (
        "msg_1",
        str(path),
        "claude-opus-4-8",
        ("Read",),
    )
    assert (told["input"], told["output"], told["time"]) == (10, 20, MS)
    assert by_agent["file"] != str(path)
    [call] = tables["call"]
    assert (call["id"], call["name"], call["status"], call["path"]) == ("toolu_1", "Read", "ok", "/a.py")
    assert [row["text"] for row in tables["text"] if row["field"] == "result"] == ["text of a file"]


def test_a_row_leads_back_to_its_line(tmp_path: Path) -> None:
    content = written(tmp_path).read_bytes()
    tables = rows_at(tmp_path).to_dicts()
    own = tables["file"][0]["file"]
    for table in ("call", "prompt", "text"):
        for row in (each for each in tables[table] if each["file"] == own):
            assert json.loads(content[row["offset"] :][: row["length"]])["sessionId"] == "ann"


def test_the_rows_are_plain_values(tmp_path: Path) -> None:
    assert json.loads(json.dumps(rows_at(tmp_path).to_dicts()))["session"][0]["prompts"] == 1


def test_arrow_tables_have_the_same_values_and_all_columns(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    rows = rows_at(tmp_path)
    tables = rows.to_arrow()
    for name, plain in rows.to_dicts().items():
        assert json.dumps(tables[name].to_pylist()) == json.dumps(plain), name
    assert tables["moment"].num_rows == 0 < len(tables["moment"].schema.names)


def test_without_pyarrow_one_sentence_says_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    imported = builtins.__import__

    def without(name: str, *given: Any, **named: Any) -> Any:
        if name == "pyarrow":
            raise ImportError(name)
        return imported(name, *given, **named)

    rows = rows_at(tmp_path)
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(BadInput, match=r"pyarrow; install reread\[lake\]"):
        rows.to_arrow()


def test_records_without_files_have_rows_too() -> None:
    session = a_session(a_prompt("hello"), a_reply("hi", id="msg_1"), id="ann").build()
    tables = rows_of(session).to_dicts()
    assert [row["file"] for row in tables["file"]] == ["ann"]
    assert [row["key"] for row in tables["response"]] == ["msg_1"]
    empty = rows_of(SessionBuilder("none").session()).to_dicts()
    assert len(empty["session"]) == 1 and not empty["response"]
