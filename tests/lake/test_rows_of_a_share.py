"""The map: what a session's files come to, row by row, without any engine."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from reread import sources
from reread.lake.plan import LakePlan, list_files, make_plan, share_name, shares_of
from reread.lake.share import Share, ShareOptions, take_share
from reread.lake.tables import TABLES
from reread.testing import a_prompt, a_reply, a_session, a_subagent, a_tool_call, a_tool_result, a_usage

from .lakes import built

KEY = "sk-ant-api03-" + "Ab1Cd2Ef3Gh4Jk5Lm6Np7Qr8St9Uv" * 3 + "-abcdefAA"
AT = "2026-11-02T10:00:00.000Z"


def planned(folder: Path) -> LakePlan:
    return make_plan(list_files([str(folder)], []), {})


def share_of(folder: Path, **options: Any) -> Share:
    return take_share(planned(folder).jobs, ShareOptions(**options))


def write(folder: Path, name: str = "ann") -> Path:
    made = a_session(
        a_prompt(f"deploy with {KEY} please", timestamp=AT),
        a_reply(
            "done", a_tool_call("Read", {"file_path": "/a.py"}, id="toolu_1"), usage=a_usage(10, 20), timestamp=AT,
            id="msg_1", model="claude-opus-4-8",
        ),
        a_tool_result("text of a file", of="toolu_1", timestamp=AT),
        a_subagent(a_prompt("look", timestamp=AT), a_reply("seen", usage=a_usage(1, 2), timestamp=AT, id="msg_2")),
        id=name,
        cwd="/home/ann/app",
    )  # fmt: skip
    return made.write(folder)


def test_a_session_becomes_rows_of_every_table(tmp_path: Path) -> None:
    write(tmp_path)
    tables = share_of(tmp_path).tables
    assert {name: table.schema.names for name, table in tables.items()} == {
        name: TABLES[name].schema.names for name in tables
    }
    [session] = tables["session"].to_pylist()
    assert (session["id"], session["project"], session["subagents"], session["month"]) == (
        "ann",
        "/home/ann/app",
        1,
        "2026-11",
    )
    requests = {row["key"]: row for row in tables["request"].to_pylist()}
    assert {key: (row["input"], row["output"]) for key, row in requests.items()} == {"msg_1": (10, 20), "msg_2": (1, 2)}
    assert requests["msg_1"]["tools"] == ["Read"]
    assert [row["is_agent_file"] for row in requests.values()] == [False, True]
    assert {row["session"] for row in requests.values()} == {session["key"]}
    assert [(row["name"], row["path"]) for row in tables["call"].to_pylist()] == [("Read", "/a.py")]
    said = [(row["field"], row["text"]) for row in tables["text"].to_pylist()]
    assert ("text", "done") in said and ("result", "text of a file") in said and ("text", "seen") in said


def test_the_same_files_give_the_same_tables(tmp_path: Path) -> None:
    write(tmp_path)
    assert share_of(tmp_path).tables == share_of(tmp_path).tables


def test_a_value_that_a_repeated_name_hides_is_in_no_row(tmp_path: Path) -> None:
    hidden = "Vb8Kp1WdQ7Rt2Zx9"
    path = write(tmp_path)
    raw = path.read_bytes()
    twice = re.sub(rb'"file_path": ?"/a.py"', f'"password":"{hidden}","password":"x"'.encode(), raw)
    assert twice != raw
    path.write_bytes(twice)
    assert hidden not in str([table.to_pylist() for table in share_of(tmp_path).tables.values()])


@pytest.mark.parametrize(("redact", "is_there"), [("secrets", False), ("all", False), ("none", True)])
def test_secrets_go_before_anything_is_written(redact: str, is_there: bool, tmp_path: Path) -> None:
    write(tmp_path)
    tables = share_of(tmp_path, redact=redact).tables
    assert (KEY in repr([table.to_pylist() for table in tables.values()])) is is_there


def test_a_ledger_holds_no_words(tmp_path: Path) -> None:
    write(tmp_path)
    tables = share_of(tmp_path, what="ledger", redact="none").tables
    told = repr([table.to_pylist() for table in tables.values()])
    assert tables["request"].num_rows == 2 and tables["text"].num_rows == 0
    assert "deploy" not in told and "text of a file" not in told


def test_text_alone_holds_no_requests(tmp_path: Path) -> None:
    write(tmp_path)
    tables = share_of(tmp_path, what="text").tables
    assert tables["request"].num_rows == tables["call"].num_rows == 0 < tables["text"].num_rows


def test_half_a_line_is_told_and_whole_ones_are_taken(tmp_path: Path) -> None:
    path = write(tmp_path)
    with path.open("ab") as file:
        file.write(b'{"type":"assistant","message":{"id":"msg_9"')
    share = share_of(tmp_path)
    assert share.problems == [f"{path}: ends in half a line; the rest is taken when it is there"]
    assert [row["is_torn"] for row in share.tables["file"].to_pylist() if row["kind"] == "transcript"] == [True]
    assert share.tables["request"].num_rows == 2


def test_what_comes_after_the_listing_is_left_to_the_next_build(tmp_path: Path) -> None:
    path = write(tmp_path)
    jobs = planned(tmp_path).jobs
    before = take_share(jobs, ShareOptions()).tables
    with path.open("ab") as file:
        file.write(path.read_bytes())
    assert take_share(jobs, ShareOptions()).tables == before


def test_a_file_that_cannot_be_read_costs_its_session_alone(tmp_path: Path) -> None:
    gone, _ = write(tmp_path / "a", "ann"), write(tmp_path / "b", "bob")
    jobs = planned(tmp_path).jobs
    gone.unlink()
    share = take_share(jobs, ShareOptions())
    assert [row["id"] for row in share.tables["session"].to_pylist()] == ["bob"]
    assert len(share.problems) == 1 and str(gone) in share.problems[0]


def test_text_that_is_no_utf8_is_taken(tmp_path: Path) -> None:
    path = a_session(a_prompt("half a character: %"), id="ann").write(tmp_path)
    path.write_bytes(path.read_bytes().replace(b"%", rb"\ud83d"))
    assert share_of(tmp_path).tables["text"]["text"].to_pylist() == ["half a character: \ufffd"]


def test_shares_are_cut_by_size_and_named_by_what_is_in_them(tmp_path: Path) -> None:
    for number, name in enumerate(("ann", "bob", "cat")):
        os.utime(write(tmp_path / name, name), ns=(number, number))
    jobs = planned(tmp_path).jobs
    shares = shares_of(jobs, size=1)
    assert [[job.files.id for job in share] for share in shares] == [["ann"], ["bob"], ["cat"]]
    assert len(shares_of(jobs)) == 1
    assert share_name(shares[0], "x") == share_name(shares_of(reversed(jobs), size=1)[0], "x")
    assert len({share_name(share, "x") for share in shares} | {share_name(shares[0], "y")}) == 4


def test_the_plan_knows_whose_agents_of_older_clients_are(tmp_path: Path) -> None:
    a_session(
        a_prompt("go"), a_subagent(a_prompt("x"), a_reply("y"), where="beside"), id="ann", version="2.0.55"
    ).write(tmp_path)
    [job] = planned(tmp_path).jobs
    assert {file.kind for file in job.all} >= {sources.FileKind.TRANSCRIPT, sources.FileKind.SUBAGENT}


def test_a_secret_in_a_name_is_in_no_parquet_file(tmp_path: Path) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    named: dict[str, Any] = {"gitBranch": f"try/{token}", "attributionSkill": token, "timestamp": AT}
    call = a_tool_call("Read", {"file_path": f"/src/{token}/a.py"}, id="toolu_1")
    told = a_session(
        a_prompt("go", **named), a_reply("yes", call, a_tool_call(token, {}), **named), cwd=f"/home/ann/{token}"
    )
    told.write(tmp_path / "source")
    for what in ("ledger", "all"):
        built(tmp_path / what, tmp_path / "source", what=what)
        files = list((tmp_path / what).rglob("*.parquet"))
        rows = [repr(pq.read_table(file, partitioning=None).to_pylist()) for file in files]
        assert any("try/[redacted: GitHub" in each for each in rows)
        assert any("/home/ann/" in each for each in rows)
        assert not any(token in each for each in rows)
