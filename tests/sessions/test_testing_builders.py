"""The builders that come with reread write what a client would have written, and always the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from reread.testing import (
    Transcript,
    a_compaction,
    a_prompt,
    a_reply,
    a_session,
    a_subagent,
    a_summary,
    a_tool_call,
    a_tool_result,
    an_ending,
)

SESSION = (a_prompt("go"), a_reply("on it", a_tool_call("Bash"), thinking="hm"), a_tool_result("ok"), a_reply("done"))


def lines(transcript: Transcript) -> list[dict[str, Any]]:
    return [json.loads(line) for line in transcript.lines]


def test_the_same_entries_are_the_same_bytes_and_other_sessions_have_other_ids() -> None:
    one, again, other = a_session(*SESSION), a_session(*SESSION), a_session(*SESSION, id="other")
    assert one.bytes == again.bytes
    for key in ("uuid", "requestId"):
        assert not {line.get(key) for line in lines(one)} & {line.get(key) for line in lines(other)} - {None}


def test_a_reply_is_a_line_per_block_under_one_id() -> None:
    _, *reply, _, last = lines(a_session(*SESSION))
    assert [line["message"]["content"][0]["type"] for line in reply] == ["thinking", "text", "tool_use"]
    assert len({line["message"]["id"] for line in reply}) == 1
    assert len({line["uuid"] for line in reply}) == 3
    assert last["message"]["id"] != reply[0]["message"]["id"]


def test_lines_hang_from_each_other_and_are_a_second_apart() -> None:
    written = lines(a_session(*SESSION))
    assert [line["parentUuid"] for line in written] == [None, *(line["uuid"] for line in written[:-1])]
    assert [line["timestamp"][17:19] for line in written] == ["01", "02", "03", "04", "05", "06"]


def test_a_result_hangs_from_its_call() -> None:
    written = lines(
        a_session(
            a_reply(a_tool_call(id="a"), a_tool_call(id="b"), uuid="m"), a_tool_result("B", of="b"), a_tool_result("A")
        )
    )
    assert [line["parentUuid"] for line in written] == [None, "m-1", "m-2", "m-1"]
    assert written[-1]["message"]["content"][0]["tool_use_id"] == "a"


def test_a_result_of_no_call_must_name_one() -> None:
    with pytest.raises(ValueError, match="of="):
        _ = a_session(a_tool_result("x")).lines


def test_a_line_is_named_by_its_uuid_or_its_text() -> None:
    first, _, left, right, gone, summary, ending = lines(
        a_session(
            a_prompt("go", uuid="g"),
            a_reply("ok"),
            a_prompt("left", to="g"),
            a_prompt("right", to="go"),
            a_prompt("lost", to="nobody"),
            a_summary("s", of="left"),
            an_ending("ok"),
        )
    )
    assert (left["parentUuid"], right["parentUuid"], gone["parentUuid"]) == ("g", "g", "nobody")
    assert summary["leafUuid"] == left["uuid"]
    assert ending["leafUuid"].startswith("00000002")
    assert first["parentUuid"] is None


def test_a_compaction_is_a_boundary_and_its_summary() -> None:
    said, boundary, summary, after = lines(a_session(a_prompt("go"), a_compaction("so far"), a_prompt("on")))
    assert (boundary["parentUuid"], boundary["logicalParentUuid"]) == (None, said["uuid"])
    assert (summary["parentUuid"], summary["isCompactSummary"]) == (boundary["uuid"], True)
    assert after["parentUuid"] == summary["uuid"]


def test_the_files_lie_where_a_client_puts_them(tmp_path: Path) -> None:
    trunk = a_session(
        *SESSION,
        a_subagent(a_prompt("x"), id="a1", of="toolu_1"),
        a_subagent(a_prompt("y"), id="a2", workflow="w-1"),
        a_subagent(a_prompt("z"), id="a3", where="beside"),
        id="s",
        cwd="/home/ann/my app",
        outputs={"toolu_1.txt": "whole"},
    ).write(tmp_path)
    assert trunk == tmp_path / "-home-ann-my-app" / "s.jsonl"
    assert sorted(str(path.relative_to(trunk.parent)) for path in trunk.parent.rglob("*.*") if path.is_file()) == [
        "agent-a3.jsonl",
        "s.jsonl",
        "s/subagents/agent-a1.jsonl",
        "s/subagents/agent-a1.meta.json",
        "s/subagents/workflows/w-1/agent-a2.jsonl",
        "s/tool-results/toolu_1.txt",
    ]
    (line,) = [json.loads(raw) for raw in (trunk.parent / "s/subagents/agent-a1.jsonl").read_bytes().splitlines()]
    assert (line["sessionId"], line["agentId"], line["isSidechain"], line["parentUuid"]) == ("s", "a1", True, None)
