"""`reread live`: a stream on standard input as it arrives, and sessions on disk as they grow."""

from __future__ import annotations

import json
import os
import random
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from cli.running import PROGRAM, Ran, environment, read_until
from live import frames
from reread.testing import Entry, a_prompt, a_reply, a_session, a_subagent, a_tool_call, a_tool_result

INIT = frames.frame("system", subtype="init", model="claude-opus-4-8", cwd="/home/ann/app")
RESULT = {"subtype": "success", "is_error": False, "result": "done", "total_cost_usd": 0.5, "usage": frames.FINAL}
TURN = (
    INIT
    + frames.message_start("m1")
    + frames.thinks(0, "Let me ", "think.")
    + frames.assistant("m1", frames.thinking("Let me think."))
    + frames.block_stop(0)
    + frames.says(1, "A word.")
    + frames.assistant("m1", frames.text("A word."))
    + frames.block_stop(1)
    + frames.calls(2, "t1", "Bash", '{"command": "ls"}')
    + frames.assistant("m1", frames.tool("t1", "Bash", command="ls"))
    + frames.message_end("tool_use")
    + frames.asks("r1", "Bash", input={"command": "ls"}, tool_use_id="t1", permission_suggestions=[{"type": "x"}])
    + frames.user([{"type": "tool_result", "tool_use_id": "t1", "content": "a.txt"}])
    + frames.frame("result", **RESULT)
)


def live(stream: bytes, *arguments: str) -> Ran:
    command = [*PROGRAM, "live", "-", *arguments]
    done = subprocess.run(command, input=stream, capture_output=True, env=environment(), timeout=60, check=False)
    return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())


def documents(stream: bytes) -> list[dict[str, Any]]:
    ran = live(stream, "--jsonl")
    assert ran.err == ""
    return [json.loads(line) for line in ran.out.splitlines()]


def test_a_stream_is_shown_as_a_conversation() -> None:
    ran = live(TURN)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines()[1:] == [
        "",
        "  ✻ Let me think.",
        "",
        "Claude ▸ A word.",
        "  ● Bash  ls",
        "  ? asks to use Bash ls",
        "    └─ a.txt",
        "",
        "✓ 17 in · 63 out · $0.5000",
    ]


def test_no_thinking_leaves_thinking_out() -> None:
    out = live(TURN, "--no-thinking").out
    assert "think" not in out
    assert "Claude ▸ A word." in out


@contextmanager
def started(*arguments: str | Path, stdin: int | None = None) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        [*PROGRAM, "live", *map(str, arguments)],
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
        bufsize=0,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.mark.skipif(sys.platform == "win32", reason="waits for a pipe with select")
def test_a_fragment_is_shown_before_anything_else_comes() -> None:
    with started("-", "--jsonl", stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        process.stdin.write(INIT + frames.message_start("m1"))
        begun = frames.thinks(0, "The very first ")
        process.stdin.write(begun[:-20])
        read_until(process, '"event":"session"')
        process.stdin.write(begun[-20:])
        read_until(process, "The very first ")
        process.stdin.write(frames.delta(0, type="thinking_delta", thinking="words")[:-1])  # its newline is not there
        read_until(process, "words")


def test_the_fields_that_programs_rely_on() -> None:
    events = documents(TURN)
    assert all(list(event)[:5] == ["event", "session", "agent", "message_id", "index"] for event in events)
    assert all(event["session"] == frames.SESSION for event in events)
    by_kind = {event["event"]: event for event in events}
    assert by_kind["thinking"]["text"] == "".join(e["text"] for e in events if e["event"] == "thinking_delta")
    assert [event["event"] for event in events].count("thinking") == 1
    assert (by_kind["text"]["text"], by_kind["text"]["message_id"], by_kind["text"]["index"]) == ("A word.", "m1", 1)
    assert (by_kind["tool"]["name"], by_kind["tool"]["input"]) == ("Bash", {"command": "ls"})
    assert (by_kind["tool_result"]["text"], by_kind["tool_result"]["is_error"]) == ("a.txt", False)
    permission = by_kind["permission"]
    assert {name: permission[name] for name in ("request_id", "tool", "input", "suggestions")} == {
        "request_id": "r1",
        "tool": "Bash",
        "input": {"command": "ls"},
        "suggestions": [{"type": "x"}],
    }
    counts = {"input_tokens": 3, "output_tokens": 63, "cache_read_tokens": 10, "cache_write_5m_tokens": 4}
    assert counts.items() <= by_kind["usage"].items()
    ended = by_kind["result"]
    assert (ended["is_error"], ended["subtype"], ended["text"], ended["cost_usd"]) == (
        False,
        "success",
        "done",
        "0.500000000",
    )


def test_the_same_events_however_the_stream_is_cut() -> None:
    whole = documents(TURN)
    chance = random.Random(5)
    process = subprocess.Popen(
        [*PROGRAM, "live", "-", "--jsonl"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment(), bufsize=0
    )
    assert process.stdin is not None
    start = 0
    while start < len(TURN):
        end = start + chance.randint(1, 400)
        process.stdin.write(TURN[start:end])
        time.sleep(0.002)
        start = end
    out, _ = process.communicate(timeout=60)
    assert [json.loads(line) for line in out.splitlines()] == whole


def test_a_line_of_megabytes_is_a_line_like_any_other() -> None:
    text = "x" * 3_000_000
    [found] = [event for event in documents(frames.assistant("m1", frames.text(text))) if event["event"] == "text"]
    assert found["text"] == text


def test_garbage_is_shown_as_unknown_and_hurts_nothing() -> None:
    garbage = (
        b'npm WARN \x1b[31mold\n\xff\xfe\x00\n[1]\n{"type": "martian", "x": 1}\n{"type": "assistant", "message": 7}\n{'
    )
    ran = live(garbage + b"\n" + TURN)
    assert (ran.code, ran.err) == (0, "")
    assert "\x1b" not in ran.out
    assert ran.out.count("? unknown") >= 4
    assert "Claude ▸ A word." in ran.out
    unknown = [event for event in documents(garbage) if event["event"] == "unknown"]
    assert [event["raw"] for event in unknown][3] == '{"type": "martian", "x": 1}'
    assert unknown[3]["type"] == "martian"


THERE = {"type": "text_delta", "text": "there."}


def limits(status: str) -> bytes:
    return frames.frame("rate_limit_event", rate_limit_info={"status": status, "rateLimitType": "five_hour"})


def test_what_a_client_says_beside_a_reply_does_not_break_into_it() -> None:
    beside = (
        b'{"type":"keep_alive"}\n'
        + frames.frame("tool_progress", tool_use_id="t1-heartbeat-0", tool_name="Bash", elapsed_time_seconds=30)
        + frames.frame("system", subtype="vcs_state_changed", kind="commit", branch="main")
        + limits("allowed")
    )
    ran = live(INIT + frames.message_start("m1") + frames.says(0, "Hello ") + beside + frames.delta(0, **THERE))
    assert "Claude ▸ Hello there." in ran.out
    told = [(event["event"], event["what"]) for event in documents(beside)]
    assert told == [
        ("notice", each) for each in ("keep_alive", "tool_progress", "vcs_state_changed", "rate_limit_event")
    ]


def test_what_a_person_should_know_beside_a_reply_is_shown() -> None:
    fell_back = frames.frame("system", subtype="model_fallback", content="Now Sonnet answers.", fallback_model="s")
    lost = frames.frame("system", subtype="session_writes_lost", error_code="ENOSPC", lost=["transcript"])
    ran = live(INIT + limits("allowed_warning") + limits("rejected") + fell_back + lost)
    assert [line.strip(" ·") for line in ran.out.splitlines()[-4:]] == [
        "the five hour limit is near",
        "the five hour limit is reached",
        "Now Sonnet answers.",
        "Claude Code could not save all of its files: transcript (ENOSPC)",
    ]


@pytest.mark.parametrize(
    ("results", "code"), [([False], 0), ([True], 1), ([False, True], 1), ([True, False], 0), ([], 0)]
)
def test_the_last_result_is_the_exit_code(results: list[bool], code: int) -> None:
    stream = b"".join(frames.frame("result", **{**RESULT, "is_error": is_error}) for is_error in results)
    assert live(INIT + stream).code == code


def test_an_interrupt_that_claims_to_be_no_error_is_one() -> None:
    assert live(frames.frame("result", **{**RESULT, "subtype": "error_during_execution"})).code == 1


def test_a_stream_that_just_ends_says_what_was_cut_off() -> None:
    ran = live(INIT + frames.message_start("m1") + frames.thinks(0, "Half a thou"))
    assert ran.code == 0
    assert ran.out.splitlines()[-2:] == ["  ✻ Half a thou", "  ⟲ taken back, the stream ended: Half a thou"]


# Sessions on disk

on_posix = pytest.mark.skipif(sys.platform == "win32", reason="ends the program with SIGINT")
OLD: tuple[Entry, ...] = (
    a_prompt("an old question"),
    a_reply("an old answer", a_tool_call("Bash", {"command": "sleep 9"}, id="toolu_old")),
)


def lines_of(*entries: Entry, session: str) -> list[bytes]:
    return [line + b"\n" for line in a_session(*entries, id=session, cwd="/home/ann/app").lines]


def append(path: Path, lines: list[bytes]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        file.write(b"".join(lines))


def end(process: subprocess.Popen[bytes]) -> str:
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (130, b"")
    return out.decode()


def is_following(process: subprocess.Popen[bytes]) -> None:
    assert process.stderr is not None
    assert b"following" in process.stderr.readline()


ONE, TWO = "11111111-aaaa-4000-8000-000000000001", "22222222-bbbb-4000-8000-000000000002"


@on_posix
def test_only_what_is_new_is_shown_under_the_name_of_its_session(tmp_path: Path) -> None:
    path = tmp_path / "projects" / "-app" / f"{ONE}.jsonl"
    new = (a_tool_result("woken", of="toolu_old"), a_reply("a new answer", thinking="a new thought"))
    everything = lines_of(*OLD, *new, session=ONE)
    before = len(lines_of(*OLD, session=ONE))
    append(path, everything[:before])
    with started("--source", tmp_path / "projects") as process:
        is_following(process)
        append(path, everything[before:])
        seen = read_until(process, "a new answer")
        seen += end(process)
    assert seen.splitlines()[0].startswith("─── app · an old question · 11111111 ───")
    assert "an old answer" not in seen
    assert "Bash sleep 9: woken" in seen
    assert "✻ a new thought" in seen


@on_posix
def test_sessions_that_begin_meanwhile_and_their_agents_are_followed_too(tmp_path: Path) -> None:
    projects = tmp_path / "projects"
    append(projects / "-app" / f"{ONE}.jsonl", lines_of(*OLD, session=ONE))
    with started("--source", projects, "--jsonl") as process:
        is_following(process)
        a_session(
            a_prompt("look"),
            a_reply(a_tool_call("Task", {"description": "look"}, id="toolu_1")),
            a_subagent(a_prompt("look closely"), a_reply("nothing there"), of="toolu_1"),
            a_tool_result("nothing", of="toolu_1"),
            a_reply("It is gone."),
            id=TWO,
            cwd="/home/ann/app",
        ).write(projects)
        seen = read_until(process, "nothing there")
        seen += read_until(process, "It is gone") if "It is gone" not in seen else ""
        seen += end(process)
    events = [json.loads(line) for line in seen.splitlines()]
    assert all(list(event)[:5] == ["event", "session", "agent", "message_id", "index"] for event in events)
    assert {event["session"] for event in events} == {TWO}
    told = [(event["event"], event["agent"], event.get("text", event.get("name"))) for event in events]
    assert told[0] == ("session", None, None)
    assert sorted(told[1:], key=str) == sorted(
        [
            ("prompt", None, "look"),
            ("tool", None, "Task"),
            ("tool_result", None, "nothing"),
            ("text", None, "It is gone."),
            ("prompt", "toolu_1", "look closely"),
            ("text", "toolu_1", "nothing there"),
        ],
        key=str,
    )


@on_posix
def test_one_session_is_followed_alone(tmp_path: Path) -> None:
    projects = tmp_path / "projects"
    paths = {name: projects / "-app" / f"{name}.jsonl" for name in (ONE, TWO)}
    for name, path in paths.items():
        append(path, lines_of(a_prompt("hello"), session=name))
    with started("1111", "--source", projects) as process:
        is_following(process)
        for name in (TWO, ONE):
            append(paths[name], lines_of(a_prompt("hello"), a_reply(f"from {name[:4]}"), session=name)[1:])
        seen = read_until(process, "from 1111")
        time.sleep(0.3)
        seen += end(process)
    assert "from 2222" not in seen


def test_a_session_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with started("nowhere.jsonl", "--source", tmp_path) as process:
        assert process.wait(timeout=60) == 2


@on_posix
def test_notify_says_who_waits_and_who_is_done_and_rings_on_a_terminal(tmp_path: Path) -> None:
    import pty

    path = tmp_path / "projects" / "-app" / f"{ONE}.jsonl"
    asked = a_reply(a_tool_call("AskUserQuestion", {"questions": []}, id="toolu_q"))
    everything = lines_of(
        a_prompt("hello \x1b]0;owned"), asked, a_tool_result("ok", of="toolu_q"), a_reply("All done."), session=ONE
    )
    append(path, everything[:1])
    ours, theirs = pty.openpty()
    command = [*PROGRAM, "live", "--notify", "--source", str(tmp_path / "projects")]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=theirs, env=environment()) as process:
        os.close(theirs)
        try:
            _told_on(ours, b"following")
            append(path, everything[1:2])
            waits = _told_on(ours, b"\x07\x07")
            append(path, everything[2:])
            done = _told_on(ours, b"\x07\x07")
        finally:
            process.kill()
            os.close(ours)
    assert "waiting for you: a question" in waits
    assert "done, waiting for your next prompt" in done
    assert "\x1b]9;reread: " in waits and "\x1b]0;" not in waits + done, "a title cannot write to the terminal"


def _told_on(terminal: int, text: bytes) -> str:
    seen = b""
    end_at = time.monotonic() + 30
    while text not in seen:
        ready, _, _ = select.select([terminal], [], [], max(0.0, end_at - time.monotonic()))
        assert ready, f"{text!r} did not come; this did: {seen!r}"
        seen += os.read(terminal, 65536)
    return seen.decode()


def test_notify_does_not_go_with_a_stream() -> None:
    done = live(TURN, "--notify")
    assert (done.code, done.out) == (2, "")
    assert "--notify" in done.err
