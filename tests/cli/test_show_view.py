"""`reread show` in a terminal: turns, colours, nesting, and nothing wider than the screen."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from cli.running import Run, on_terminal, reread, without_colour
from reread.testing import (
    Transcript,
    a_command,
    a_compaction,
    a_prompt,
    a_reply,
    a_session,
    a_subagent,
    a_thought,
    a_tool_call,
    a_tool_result,
    an_interrupt,
)
from reread.views.text import cells

needs_a_terminal = pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")

REFUSED = "The user doesn't want to proceed with this tool use. The tool use was rejected."


def talk() -> Transcript:
    """Three turns, the second with thinking before its words."""
    return a_session(
        a_prompt("first question"),
        a_reply("first answer"),
        a_prompt("second question"),
        a_reply("let me look", a_tool_call("Bash", {"command": "ls"}), thinking="they want a listing"),
        a_tool_result("a.txt"),
        a_reply("there is one file"),
        a_prompt("third question"),
        a_reply("third answer"),
    )


def delegation() -> Transcript:
    """An agent that starts an agent."""
    return a_session(
        a_prompt("delegate twice"),
        a_reply("starting", a_tool_call("Agent", {"description": "outer helper"}, id="toolu_outer")),
        a_subagent(
            a_prompt("the outer task"),
            a_reply("outer speaks", a_tool_call("Agent", {"description": "inner helper"}, id="toolu_inner")),
            a_tool_result("inner is done", of="toolu_inner"),
            a_reply("outer ends"),
            id="outer",
            of="toolu_outer",
        ),
        a_subagent(
            a_prompt("the inner task"),
            a_reply(
                "inner speaks", a_tool_call("Read", {"file_path": "x.py"}, id="toolu_read"), thinking="deep inside"
            ),
            a_tool_result("text", of="toolu_read"),
            id="inner",
            of="toolu_inner",
        ),
        a_tool_result("outer is done", of="toolu_outer"),
        a_reply("both are done"),
    )


def rewound() -> Transcript:
    return a_session(
        a_prompt("start"),
        a_reply("base", uuid="base"),
        a_prompt("the wrong way", uuid="wrong-way-0000", to="base"),
        a_reply("wrong answer"),
        a_prompt("the right way", to="base"),
        a_reply("right answer"),
    )


def shown(run: Run, tmp_path: Path, transcript: Transcript, *options: str) -> list[str]:
    ran = run("show", transcript.write(tmp_path), *options)
    assert (ran.code, ran.err) == (0, "")
    return ran.out.splitlines()


def rulers(lines: list[str]) -> list[str]:
    return [line.strip("─ ") for line in lines if line.startswith("─── ")]


def test_every_turn_has_a_header_and_the_last_is_now(run: Run, tmp_path: Path) -> None:
    lines = shown(run, tmp_path, talk())
    assert rulers(lines) == ["1", "2", "▶ NOW"]
    headers = [line for line in lines if line.startswith("─── ")]
    assert headers[0].startswith("─── 1 ───")
    assert headers[-1].startswith("─── ▶ NOW ───")


def test_a_prompt_starts_a_turn_and_words_come_before_the_thinking_that_led_to_them(run: Run, tmp_path: Path) -> None:
    lines = shown(run, tmp_path, talk())
    second = lines[lines.index(next(line for line in lines if line.startswith("─── 2"))) :]
    spoken = [line for line in second if line][1:5]
    assert spoken == ["You ▸ second question", "Claude ▸ let me look", "    └─ they want a listing", "  ● Bash  ls"]


def test_a_session_of_one_turn_is_now(run: Run, tmp_path: Path) -> None:
    assert rulers(shown(run, tmp_path, a_session(a_prompt("only"), a_reply("one")))) == ["▶ NOW"]


@needs_a_terminal
def test_on_a_terminal_the_speakers_are_coloured_and_thinking_is_dim(tmp_path: Path) -> None:
    text = on_terminal("show", talk().write(tmp_path))
    lines = text.splitlines()
    assert "\x1b[33;1mYou ▸ \x1b[0msecond question" in lines
    assert "\x1b[32;1mClaude ▸ \x1b[0mlet me look" in lines
    assert "\x1b[2m    └─ they want a listing\x1b[0m" in lines
    assert any(without_colour(line).startswith("─── ▶ NOW ───") and line.startswith("\x1b[2m") for line in lines)


@needs_a_terminal
def test_no_color_is_respected_on_a_terminal(tmp_path: Path) -> None:
    path = talk().write(tmp_path)
    assert "\x1b" not in on_terminal("show", path, changes={"NO_COLOR": "1"})
    assert "\x1b" not in on_terminal("show", path, changes={"TERM": "dumb"})


def test_a_pipe_gets_no_escape(tmp_path: Path) -> None:
    assert "\x1b" not in reread("show", talk().write(tmp_path)).out


@needs_a_terminal
def test_colour_changes_nothing_but_colour(tmp_path: Path) -> None:
    path = talk().write(tmp_path)
    assert without_colour(on_terminal("show", path)) == reread("show", path).out


def everything(server: str = "github", agent: str = "Explore") -> Transcript:
    """Long words, wide characters, agents in agents, failures, a rewind."""
    wide = "把 README 的安装部分翻译成中文，保留命令不变。" * 6
    return a_session(
        a_prompt(wide),
        a_reply(wide, a_tool_call("Bash", {"command": "echo " + wide}), thinking=wide),
        a_tool_result("error: " + "長い " * 90, is_error=True),
        a_reply(a_tool_call(f"mcp__{server}__search_issues", {"query": "x" * 200})),
        a_tool_result(REFUSED, is_error=True, twin="User rejected tool use", toolDenialKind="user-rejected"),
        a_reply(a_thought(""), "https://example.org/" + "path/" * 40, a_tool_call("Agent", id="toolu_outer")),
        a_subagent(
            a_prompt("task"),
            a_reply("an answer of the agent that is longer than forty columns", a_tool_call("Agent", id="toolu_in")),
            a_tool_result("done", of="toolu_in"),
            id="outer",
            of="toolu_outer",
            meta={"agentType": agent},
        ),
        a_subagent(a_prompt("task"), a_reply(wide, thinking=wide), id="inner", of="toolu_in"),
        a_tool_result("done", of="toolu_outer"),
        a_command("/compact", "and keep " + "everything " * 20),
        a_reply("base", uuid="base"),
        a_prompt("left behind 🙂" * 20, uuid="0123456789abcdef", to="base"),
        a_reply("🙂" * 100),
        a_prompt("taken instead", to="base"),
        a_reply("done"),
    )


@pytest.mark.parametrize("tools", ["brief", "full"])
@pytest.mark.parametrize("columns", [80, 40])
def test_nothing_is_wider_than_the_screen(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, columns: int, tools: str
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = shown(run, tmp_path, everything(), "--branch", "all", "--tools", tools)
    assert [line for line in lines if cells(line) > columns] == []


def test_long_names_are_cut_to_the_screen(run: Run, tmp_path: Path) -> None:
    lines = shown(run, tmp_path, everything(server="a-very-long-server-name" * 2, agent="an-agent-type" * 6))
    assert [line for line in lines if cells(line) > 80] == []


@pytest.mark.parametrize("command", ["", "prompts", "tools", "thinking", "doctor"])
def test_no_listing_is_wider_than_forty_columns(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    everything().write(tmp_path / "projects")
    ran = run(*command.split(), "--source", tmp_path / "projects")
    assert [line for line in ran.out.splitlines() if cells(line) > 40] == []


@pytest.mark.parametrize("command", ["", "prompts", "tools", "thinking", "doctor"])
def test_no_listing_is_wider_than_eighty_columns(run: Run, tmp_path: Path, command: str) -> None:
    everything().write(tmp_path / "projects")
    ran = run(*command.split(), "--source", tmp_path / "projects")
    assert [line for line in ran.out.splitlines() if cells(line) > 80] == []


@needs_a_terminal
def test_the_width_is_that_of_the_terminal(tmp_path: Path) -> None:
    shown = on_terminal("show", talk().write(tmp_path), columns=57, changes={"NO_COLOR": "1"})
    assert {cells(line) for line in shown.splitlines() if line.startswith("───")} == {57}


def test_a_rejected_edit_is_marked_as_not_applied(run: Run, tmp_path: Path) -> None:
    transcript = a_session(
        a_prompt("change it"),
        a_reply(a_tool_call("Edit", {"file_path": "/home/ann/app/a.py", "old_string": "a", "new_string": "b"})),
        a_tool_result(REFUSED, is_error=True, twin="User rejected tool use", toolDenialKind="user-rejected"),
        an_interrupt(for_tool=True),
    )
    lines = shown(run, tmp_path, transcript)
    assert "  ⊘ Edit  a.py  rejected, not applied" in lines
    assert "  ■ [Request interrupted by user for tool use]" in lines


def test_a_failed_call_says_why_and_a_call_without_result_says_so(run: Run, tmp_path: Path) -> None:
    transcript = a_session(
        a_prompt("go"),
        a_reply(a_tool_call("Bash", {"command": "false"})),
        a_tool_result("Exit code 1\nnothing there", is_error=True),
        a_reply(a_tool_call("Bash", {"command": "sleep 9"})),
    )
    lines = shown(run, tmp_path, transcript)
    assert "  ✗ Bash  false  Exit code 1 nothing there" in lines
    assert "  ○ Bash  sleep 9  no result" in lines


def test_agents_are_indented_under_their_calls_at_every_depth(run: Run, tmp_path: Path) -> None:
    lines = [line for line in shown(run, tmp_path, delegation()) if line]
    begin = next(number for number, line in enumerate(lines) if "outer helper" in line)
    heads = [line for line in lines[begin:] if "┌" not in line]
    assert heads == [
        "  ● Agent  outer helper",
        "    │ Claude ▸ outer speaks",
        "    │   ● Agent  inner helper",
        "    │     │ Claude ▸ inner speaks",
        "    │     │     └─ deep inside",
        "    │     │   ● Read  x.py",
        "    │     └",
        "    │ Claude ▸ outer ends",
        "    └",
        "Claude ▸ both are done",
    ]


def test_a_compaction_is_marked_where_it_happened(run: Run, tmp_path: Path) -> None:
    transcript = a_session(
        a_prompt("before"), a_reply("one"), a_compaction(pre_tokens=123_456), a_prompt("after"), a_reply("two")
    )
    lines = shown(run, tmp_path, transcript)
    position = lines.index("  ≡ compacted (manual) from 123,456 tokens")
    assert lines.index("Claude ▸ one") < position < lines.index("You ▸ after")
    assert not any("This session is being continued" in line for line in lines)


def test_a_rewind_is_marked_and_names_what_was_left_behind(run: Run, tmp_path: Path) -> None:
    lines = shown(run, tmp_path, rewound())
    assert "  ↩ rewound here; left behind: @wrong-way-00" in lines
    assert "You ▸ the wrong way" not in lines


def test_all_branches_show_what_was_left_behind_after_the_rest(run: Run, tmp_path: Path) -> None:
    lines = shown(run, tmp_path, rewound(), "--branch", "all")
    assert [label.partition(":")[0] for label in rulers(lines)] == ["1", "▶ NOW", "left behind", "2"]
    assert lines.index("Claude ▸ right answer") < lines.index("You ▸ the wrong way")


@pytest.mark.parametrize("name", ["@wrong", "wrong-way-00"])
def test_a_branch_is_named_by_the_beginning_of_its_first_line(run: Run, tmp_path: Path, name: str) -> None:
    lines = shown(run, tmp_path, rewound(), "--branch", name)
    assert "You ▸ the wrong way" in lines
    assert "You ▸ the right way" not in lines
    assert "─── ▶ NOW ───" not in "\n".join(lines)


@pytest.mark.parametrize(
    ("turns", "headers"),
    [("2", ["2"]), ("1-2", ["1", "2"]), ("2-", ["2", "▶ NOW"]), ("3", ["▶ NOW"]), ("1-99", ["1", "2", "▶ NOW"])],
)
def test_turns_are_chosen_by_number(run: Run, tmp_path: Path, turns: str, headers: list[str]) -> None:
    assert rulers(shown(run, tmp_path, talk(), "--turns", turns)) == headers


def test_tools_can_be_left_out_or_shown_whole(run: Run, tmp_path: Path) -> None:
    none = "\n".join(shown(run, tmp_path, talk(), "--tools", "none"))
    assert "Bash" not in none
    assert "they want a listing" in none
    full = shown(run, tmp_path, talk(), "--tools", "full")
    assert '        "command": "ls"' in full
    assert "      a.txt" in full
    assert "      a.txt" not in shown(run, tmp_path, talk(), "--tools", "brief")


def test_thinking_can_be_left_out(run: Run, tmp_path: Path) -> None:
    transcript = a_session(a_prompt("q"), a_reply(a_thought(""), "a", thinking="they want a listing"))
    without = "\n".join(shown(run, tmp_path, transcript, "--no-thinking"))
    assert "└─" not in without
    assert "Claude ▸ a" in without


def test_a_thought_the_client_did_not_store_is_counted(run: Run, tmp_path: Path) -> None:
    lines = shown(run, tmp_path, a_session(a_prompt("q"), a_reply(a_thought(""), "a")))
    assert "    └─ 1 thought not stored by the client" in lines


def test_words_of_white_space_only_are_not_shown(run: Run, tmp_path: Path) -> None:
    lines = shown(run, tmp_path, a_session(a_prompt("q"), a_reply("\n", "", "ok", thinking="\n")))
    assert [line for line in lines if "Claude ▸" in line or "└─" in line] == ["Claude ▸ ok"]


def test_escapes_in_a_transcript_never_reach_the_terminal(run: Run, tmp_path: Path) -> None:
    evil = "\x1b]0;title\x07\x1b[2Jtext\x9b31m"
    transcript = a_session(
        a_prompt(evil), a_reply(evil, a_tool_call("Bash", {"command": evil}), thinking=evil), a_tool_result(evil)
    )
    text = "\n".join(shown(run, tmp_path, transcript, "--tools", "full"))
    assert not {"\x1b", "\x07", "\x9b"} & set(text)


@pytest.mark.parametrize(
    "transcript",
    [
        a_session(a_prompt("q"), a_reply(a_tool_call("Ba\x1b[2Jsh"))),
        a_session(
            a_prompt("q"),
            a_reply(a_tool_call("Agent", id="toolu_1")),
            a_subagent(a_prompt("t"), a_reply("a"), of="toolu_1", meta={"agentType": "\x1b[2J"}),
        ),
        a_session(a_prompt("q", sessionId="\x1b[2J"), id="no-uuid"),
    ],
    ids=["tool name", "agent type", "session id"],
)
def test_escapes_in_names_never_reach_the_terminal(run: Run, tmp_path: Path, transcript: Transcript) -> None:
    assert "\x1b" not in "\n".join(shown(run, tmp_path, transcript))


@pytest.mark.parametrize("time", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"])
def test_a_line_from_the_end_of_the_calendar_is_shown(run: Run, tmp_path: Path, time: str) -> None:
    path = a_session(a_prompt("q", timestamp=time)).write(tmp_path)
    for zone in ("America/New_York", "Asia/Tokyo"):
        assert run("show", path, "--timezone", zone).code == 0


def test_turns_that_do_not_exist_are_refused(run: Run, tmp_path: Path) -> None:
    assert run("show", talk().write(tmp_path), "--turns", "9").code == 2


@pytest.mark.parametrize(
    "transcript",
    [
        a_session(a_prompt("q"), a_reply(a_tool_call("TodoWrite", {"todos": 3}))),
        a_session(a_prompt("q"), a_reply(a_tool_call("AskUserQuestion", {"questions": True}))),
        a_session(
            a_prompt("q"),
            a_reply(a_tool_call("Agent", {"subagent_type": ["x"], "prompt": "t"}, id="toolu_1")),
            a_subagent(a_prompt("t"), a_reply("a")),
            a_tool_result("done", of="toolu_1", twin={"agentId": "a1"}),
        ),
    ],
    ids=["todos", "questions", "agent type"],
)
def test_a_call_of_the_wrong_shape_does_not_stop_the_show(run: Run, tmp_path: Path, transcript: Transcript) -> None:
    assert run("show", transcript.write(tmp_path)).code == 0
