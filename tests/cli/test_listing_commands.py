"""`thinking`, `prompts` and `tools`: what they list, what they leave out and say so."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from cli.running import Run
from reread.testing import (
    a_command,
    a_line,
    a_prompt,
    a_reply,
    a_session,
    a_subagent,
    a_thought,
    a_tool_call,
    a_tool_result,
)

REDACTED = {"type": "redacted_thinking", "data": "b3BhcXVl"}


def asked(run: Run, *arguments: str | Path) -> Any:
    return json.loads(run(*arguments, "--json").out)


def thoughts(run: Run, *arguments: str | Path) -> list[str]:
    return [thought["text"] for thought in asked(run, "thinking", *arguments)["thoughts"]]


@pytest.fixture
def thoughtful(tmp_path: Path) -> Path:
    return a_session(
        a_prompt("q"),
        a_reply("a", thinking="x" * 10),
        a_reply("b", thinking="y" * 11),
        a_reply(a_thought(""), "c"),
        a_reply(REDACTED, "d"),
        a_reply("e", thinking="\n"),
    ).write(tmp_path)


def test_ten_characters_are_no_thought_and_eleven_are(run: Run, thoughtful: Path) -> None:
    document = asked(run, "thinking", thoughtful)
    assert [thought["text"] for thought in document["thoughts"]] == ["y" * 11]
    assert (document["skipped_short"], document["empty_with_signature"], document["redacted"]) == (2, 1, 1)


def test_the_minimum_can_be_lowered(run: Run, thoughtful: Path) -> None:
    assert thoughts(run, thoughtful, "--min-length", "10") == ["y" * 11, "x" * 10]


def test_what_was_left_out_is_said(run: Run, thoughtful: Path) -> None:
    last = run("thinking", thoughtful).out.splitlines()[-1]
    assert last == "1 thought (2 short ones skipped, 1 not stored by the client, 1 redacted)"


def test_thoughts_come_newest_first_from_all_sessions_and_their_agents(run: Run, tmp_path: Path) -> None:
    a_session(
        a_prompt("q", timestamp="2026-03-01T10:00:00.000Z"),
        a_reply("a", thinking="the first thought", timestamp="2026-03-01T10:00:01.000Z"),
        a_reply(a_tool_call("Task", id="toolu_1"), timestamp="2026-03-01T10:00:02.000Z"),
        a_subagent(
            a_prompt("task"),
            a_reply("b", thinking="an agent's thought", timestamp="2026-03-01T10:00:03.000Z"),
            of="toolu_1",
        ),
        id="one",
    ).write(tmp_path)
    a_session(
        a_prompt("q"), a_reply("a", thinking="the newest thought", timestamp="2026-03-02T10:00:00.000Z"), id="two"
    ).write(tmp_path)
    assert thoughts(run, "--source", tmp_path) == ["the newest thought", "an agent's thought", "the first thought"]


def test_since_and_until_choose_by_the_thoughts_own_time(run: Run, tmp_path: Path) -> None:
    path = a_session(
        a_prompt("q"),
        a_reply("a", thinking="on the first day", timestamp="2026-03-01T10:00:00.000Z"),
        a_reply("b", thinking="on the second day", timestamp="2026-03-02T10:00:00.000Z"),
    ).write(tmp_path)
    assert thoughts(run, path, "--since", "2026-03-02", "--timezone", "UTC") == ["on the second day"]
    assert thoughts(run, path, "--until", "2026-03-01", "--timezone", "UTC") == ["on the first day"]
    assert thoughts(run, path, "--until", "2026-03-02T10:00Z", "--timezone", "UTC") == ["on the first day"]
    assert len(thoughts(run, path, "--until", "2026-03-02", "--timezone", "UTC")) == 2
    assert thoughts(run, path, "--since", "2026-03-02T10:00:00Z") == ["on the second day"]
    assert thoughts(run, path, "--limit", "1") == ["on the second day"]


def test_times_are_shown_in_the_zone_asked_for(run: Run, tmp_path: Path) -> None:
    path = a_session(a_prompt("q", timestamp="2026-03-01T23:30:00.000Z")).write(tmp_path)
    assert run("prompts", path, "--timezone", "Asia/Tokyo").out.startswith("2026-03-02 08:30")
    assert run("prompts", path, "--timezone", "UTC").out.startswith("2026-03-01 23:30")


def test_prompts_are_what_the_person_typed_and_nothing_else(run: Run, tmp_path: Path) -> None:
    path = a_session(
        a_prompt("first"),
        a_prompt("injected by the client", isMeta=True),
        a_prompt("<system-reminder>remember</system-reminder>"),
        a_prompt("<local-command-stdout>output</local-command-stdout>"),
        a_reply(a_tool_call("Bash")),
        a_tool_result("a tool's result"),
        a_command("/compact"),
        a_prompt("second\nof two lines, with a \\"),
    ).write(tmp_path)
    ran = run("prompts", path, "--raw")
    assert ran.out == "second\\nof two lines, with a \\\\\nfirst\n"


def test_prompts_of_agents_are_not_the_persons(run: Run, tmp_path: Path) -> None:
    path = a_session(
        a_prompt("typed"),
        a_reply(a_tool_call("Task", id="toolu_1")),
        a_subagent(a_prompt("written by the model"), a_reply("done"), of="toolu_1"),
    ).write(tmp_path)
    assert run("prompts", path, "--raw").out == "typed\n"


def test_prompts_are_one_line_each_at_the_terminals_width(run: Run, tmp_path: Path) -> None:
    path = a_session(a_prompt("many words " * 30), id="0123456789").write(tmp_path)
    (line,) = run("prompts", path, "--timezone", "UTC").out.splitlines()
    assert line.startswith("2026-01-05 09:00  01234567  many words")
    assert line.endswith("…")


def test_tools_count_calls_failures_and_servers_with_agents_included(run: Run, tmp_path: Path) -> None:
    refused = "The user doesn't want to proceed with this tool use. The tool use was rejected."
    path = a_session(
        a_prompt("q"),
        a_reply(a_tool_call("Bash")),
        a_tool_result("no", is_error=True),
        a_reply(a_tool_call("Bash")),
        a_tool_result("yes"),
        a_reply(a_tool_call("mcp__linear-server__get_issue")),
        a_tool_result("#1"),
        a_reply(a_tool_call("Edit")),
        a_tool_result(refused, is_error=True, twin="User rejected tool use", toolDenialKind="user-rejected"),
        a_reply(a_tool_call("Task", id="toolu_task")),
        a_subagent(
            a_prompt("t"), a_reply(a_tool_call("Bash", id="toolu_in")), a_tool_result(of="toolu_in"), of="toolu_task"
        ),
    ).write(tmp_path)
    rows = {
        row["name"]: (row["server"], row["tool"], row["calls"], row["errors"], row["rejected"])
        for row in asked(run, "tools", path)["tools"]
    }
    assert rows == {
        "Bash": (None, "Bash", 3, 1, 0),
        "mcp__linear-server__get_issue": ("linear-server", "get_issue", 1, 0, 0),
        "Edit": (None, "Edit", 1, 0, 1),
        "Task": (None, "Task", 1, 0, 0),
    }
    table = run("tools", path).out.splitlines()
    assert table[0].split() == ["tool", "calls", "errors", "rejected", "rate", "time", "each"]
    assert table[1].split()[:4] == ["Bash", "3", "1", "33%"]
    assert any(line.startswith("linear-server:get_issue") for line in table)


def test_tools_can_be_asked_for_by_pattern(run: Run, tmp_path: Path) -> None:
    path = a_session(a_prompt("q"), a_reply(a_tool_call("mcp__a__b"), a_tool_call("Bash"))).write(tmp_path)
    assert [row["name"] for row in asked(run, "tools", path, "--tool", "mcp__*")["tools"]] == ["mcp__a__b"]


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--project", "APP/back"),
        ("--model", "sonnet"),
        ("--branch", "feature"),
        ("--tool", "Web*"),
        ("--file", "*.toml"),
    ],
)
def test_every_filter_keeps_the_session_it_fits(run: Run, tmp_path: Path, option: str, value: str) -> None:
    a_session(
        a_prompt("wanted", gitBranch="feature"),
        a_reply(
            a_tool_call("WebFetch", {"url": "x"}),
            a_tool_call("Read", {"file_path": "/app/backend/a.toml"}),
            model="claude-sonnet-5",
        ),
        id="wanted",
        cwd="/app/backend",
    ).write(tmp_path)
    a_session(a_prompt("not wanted"), a_reply("a"), id="other", cwd="/app/frontend").write(tmp_path)
    assert run("prompts", "--raw", "--source", tmp_path, option, value).out == "wanted\n"


def test_the_overview_lists_the_newest_session_first_and_where_it_stands(run: Run, tmp_path: Path) -> None:
    for age, name in enumerate(("newest", "older")):
        path = a_session(a_prompt(f"about the {name}"), a_reply("answered"), id=name).write(tmp_path)
        os.utime(path, (1_790_000_000 - age, 1_790_000_000 - age))
    lines = run("--source", tmp_path).out.splitlines()
    assert lines[0] == "2 sessions, newest first"
    assert [line.split()[0] for line in lines[1:3]] == ["@1", "@2"]
    assert "about the newest" in lines[1]
    assert "You ▸ about the newest" in lines
    assert "reread show @last" in lines[-1]


def test_a_session_of_only_unknown_lines_is_listed(run: Run, tmp_path: Path) -> None:
    path = a_session(a_line("brand-new"), a_line("brand-new")).write(tmp_path)
    assert run("--source", path).code == 0


def test_raw_prompts_do_not_steer_a_terminal(tmp_path: Path) -> None:
    from cli.running import on_terminal

    path = a_session(a_prompt("\x1b]0;title\x07text")).write(tmp_path)
    assert "\x1b" not in on_terminal("prompts", path, "--raw")


def test_newest_first_means_the_dates_that_are_shown(run: Run, tmp_path: Path) -> None:
    for day, name in ((1, "older"), (2, "newest")):
        path = a_session(a_prompt(name, timestamp=f"2026-03-0{day}T10:00:00.000Z"), id=name).write(tmp_path)
        os.utime(path, (1_790_000_000 - day, 1_790_000_000 - day))
    assert "newest" in run("--source", tmp_path).out.splitlines()[1]
