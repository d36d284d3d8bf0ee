"""What a session had cost, and what its files held, at each of its moments."""

from __future__ import annotations

from pathlib import Path

from reread.features.activity import timeline
from reread.features.edits.net import SessionEdits, files_at
from reread.loading import load
from reread.testing import a_prompt, a_reply, a_session, a_subagent, a_tool_call, a_tool_result


def test_context_and_money_grow_and_end_at_the_session_s_own_sums(tmp_path: Path) -> None:
    made = a_session(
        a_prompt("look"),
        a_reply(a_tool_call("Task", {"description": "look"}, id="toolu_1")),
        a_subagent(a_prompt("look closely"), a_reply("nothing there"), of="toolu_1"),
        a_tool_result("nothing", of="toolu_1"),
        a_reply("It is gone."),
        a_prompt("thanks"),
        a_reply("You are welcome."),
    )
    session = load(made.write(tmp_path))
    (branch,) = session.branches
    points = timeline(session, branch)
    assert [point.what for point in points] == ["prompt", "Task", "answer", "prompt", "answer"]
    assert [point.turn for point in points] == [1, 1, 1, 2, 2]
    assert points[0].context == 0 and points[0].nanodollars == 0
    assert all(point.context > 0 for point in points[1:])
    spent = [point.nanodollars for point in points]
    assert spent == sorted(spent)
    assert spent[-1] == session.total_usage.nanodollars, "agents are in it"


def test_a_file_is_what_it_was_then(tmp_path: Path) -> None:
    path = "/home/ann/app/a.txt"
    made = a_session(
        a_prompt("write"),
        a_reply(a_tool_call("Write", {"file_path": path, "content": "one\n"}, id="toolu_1")),
        a_tool_result("ok", of="toolu_1"),
        a_reply("Done."),
        a_prompt("again"),
        a_reply(a_tool_call("Write", {"file_path": path, "content": "two\n"}, id="toolu_2")),
        a_tool_result("ok", of="toolu_2"),
        a_reply("Done."),
        cwd="/home/ann/app",
    )
    session = load(made.write(tmp_path))
    histories = SessionEdits(session).disk_histories()
    points = timeline(session, session.branches[0])

    def held(number: int) -> str | None:
        found = files_at(histories, points[number].time)
        return found[0].after.text if found and found[0].after is not None else None

    assert held(0) is None
    assert held(2) == "one\n"
    assert held(-1) == "two\n"
