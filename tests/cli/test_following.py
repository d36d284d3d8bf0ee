"""`--follow`: a growing file's steps are printed once each, and a file that begins anew is followed anew."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cli.running import Run, read_until, start
from reread.testing import Entry, a_prompt, a_reply, a_session, a_thought, a_title, a_tool_call, a_tool_result

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="ends the program with SIGINT")

ENTRIES: tuple[Entry, ...] = (
    a_prompt("first question"),
    a_reply("first answer", a_tool_call("Bash", {"command": "ls"})),
    a_tool_result("a.txt"),
    a_reply("one file", thinking="only one file here"),
    a_prompt("second question"),
    a_reply("second answer"),
)


def lines(*entries: Entry, session: str = "one") -> list[bytes]:
    return [line + b"\n" for line in a_session(*entries, id=session).lines]


@contextmanager
def following(*arguments: str | Path) -> Iterator[subprocess.Popen[bytes]]:
    process = start(*arguments)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def end(process: subprocess.Popen[bytes]) -> tuple[str, str]:
    """Ctrl-C; what was still printed, and what was said on stderr."""
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    return out.decode(), errors.decode()


def append(path: Path, *new: bytes) -> None:
    with path.open("ab") as file:
        for line in new:
            file.write(line)


def test_steps_are_printed_once_each_as_they_come(tmp_path: Path) -> None:
    path = tmp_path / "growing.jsonl"
    first, call_words, call, result, *rest = lines(*ENTRIES)
    append(path, first, call_words)
    with following("show", path, "--follow") as process:
        seen = read_until(process, "Claude ▸ first answer")
        append(path, call)
        time.sleep(0.3)
        append(path, result)
        seen += read_until(process, "● Bash  ls")
        append(path, *rest)
        seen += read_until(process, "Claude ▸ second answer")
        left, errors = end(process)
    seen += left
    assert errors == ""
    for once in ("You ▸ first question", "Claude ▸ first answer", "● Bash  ls", "└─ only one file here"):
        assert seen.count(once) == 1, seen
    for once in ("Claude ▸ one file", "You ▸ second question", "Claude ▸ second answer", "─── 2 ───"):
        assert seen.count(once) == 1, seen
    assert "no result" not in seen  # a call waits for its result


def test_half_a_line_waits_for_its_other_half(tmp_path: Path) -> None:
    path = tmp_path / "growing.jsonl"
    first, *_, last = lines(a_prompt("whole"), a_reply("in two halves"))
    append(path, first, last[:50])
    with following("show", path, "--follow") as process:
        seen = read_until(process, "You ▸ whole")
        time.sleep(0.3)
        append(path, last[50:])
        seen += read_until(process, "Claude ▸ in two halves")
        assert end(process) == ("", "")
    assert "unknown" not in seen


def test_agents_are_followed_with_their_session(tmp_path: Path) -> None:
    path = tmp_path / "growing.jsonl"
    asked = a_reply(a_tool_call("Agent", {"prompt": "look", "description": "look around"}, id="toolu_1"))
    append(path, *lines(a_prompt("send somebody"), asked, session="growing"))
    beside = tmp_path / "growing" / "subagents" / "agent-a1.jsonl"
    with following("show", path, "--follow") as process:
        read_until(process, "send somebody")
        beside.parent.mkdir(parents=True)
        task = a_prompt("look", isSidechain=True, agentId="a1")
        found = a_reply("a lantern", isSidechain=True, agentId="a1")
        append(beside, *lines(task, found, session="growing"))
        done = a_tool_result("a lantern", id="toolu_1", twin={"agentId": "a1", "status": "completed"})
        append(path, *lines(a_prompt("send somebody"), asked, done, session="growing")[2:])
        seen = read_until(process, "Claude ▸ a lantern")
        left, _ = end(process)
    assert (seen + left).count("Claude ▸ a lantern") == 1


def test_a_truncated_file_is_followed_from_its_new_beginning(tmp_path: Path) -> None:
    path = tmp_path / "growing.jsonl"
    append(path, *lines(*ENTRIES))
    with following("show", path, "--follow") as process:
        read_until(process, "Claude ▸ second answer")
        path.write_bytes(b"")
        time.sleep(0.4)
        append(path, *lines(a_prompt("begun anew"), a_reply("welcome back"), session="two"))
        seen = read_until(process, "Claude ▸ welcome back")
        left, errors = end(process)
    assert (seen + left).count("You ▸ begun anew") == 1
    assert "was truncated; starting again" in errors


def test_a_session_is_followed_by_its_id(tmp_path: Path) -> None:
    a_session(a_prompt("hello"), a_reply("found"), id="abcdef").write(tmp_path)
    with following("show", "abc", "--follow", "--source", tmp_path) as process:
        seen = read_until(process, "Claude ▸ found")
        left, _ = end(process)
    assert (seen + left).count("You ▸ hello") == 1


def test_a_followed_session_has_the_title_that_a_person_gave_it(run: Run, tmp_path: Path) -> None:
    a_session(*ENTRIES, id="1a17e200-one").write(tmp_path / "projects")
    places = ("--source", tmp_path / "projects", "--home", tmp_path / "home")
    assert run("mark", "1a17", "--title", "The good one", *places).code == 0
    with following("show", "1a17", "--follow", *places) as process:
        assert read_until(process, "You ▸ first question").startswith("The good one\n")


def test_thoughts_are_followed_as_json_lines(tmp_path: Path) -> None:
    path = tmp_path / "growing.jsonl"
    before, *after = lines(
        a_prompt("q"), a_reply("a", thinking="the first thought"), a_reply(a_thought("too short"), "b")
    )
    append(path, before)
    with following("thinking", path, "--follow", "--json") as process:
        append(path, *after)
        seen = read_until(process, "the first thought")
        left, _ = end(process)
    documents = [json.loads(line) for line in (seen + left).splitlines()]
    assert [document["text"] for document in documents] == ["the first thought"]


def test_new_thoughts_of_every_session_are_followed(tmp_path: Path) -> None:
    first, second = (tmp_path / "projects" / "-app" / f"{name}.jsonl" for name in ("one", "two"))
    first.parent.mkdir(parents=True)
    append(first, *lines(a_prompt("q"), a_reply("a", thinking="what was thought before")))
    with following("thinking", "--follow", "--json", "--source", tmp_path) as process:
        assert process.stderr is not None
        assert b"following the thinking of every session" in process.stderr.readline()
        append(first, *lines(a_prompt("q2"), a_reply("b", thinking="what the first thinks now"), session="x"))
        seen = read_until(process, "what the first thinks now")
        append(second, *lines(a_prompt("q"), a_reply("a", thinking="what the second thinks"), session="two"))
        seen += read_until(process, "what the second thinks")
    assert [json.loads(line)["session"] for line in seen.splitlines()] == ["one", "two"]


def test_thoughts_of_agents_are_followed_too(tmp_path: Path) -> None:
    path = tmp_path / "growing.jsonl"
    beside = tmp_path / "growing" / "subagents" / "agent-a1.jsonl"
    beside.parent.mkdir(parents=True)
    append(path, *lines(a_prompt("send somebody"), session="growing"))
    with following("thinking", path, "--follow", "--json") as process:
        thinking = a_reply("found", thinking="a lantern, not a lamp", isSidechain=True, agentId="a1")
        append(beside, *lines(thinking, session="an agent"))  # so that its lines have other names
        told = json.loads(read_until(process, "not a lamp").splitlines()[-1])
        end(process)
    assert told["agent"] == "a1"


def test_words_come_before_their_thinking_while_following_too(tmp_path: Path) -> None:
    path = tmp_path / "growing.jsonl"
    append(path, *lines(a_prompt("q"), a_reply("the words", thinking="the thinking behind them"), a_prompt("end")))
    with following("show", path, "--follow") as process:
        seen = read_until(process, "You ▸ end")
    assert seen.index("the words") < seen.index("the thinking behind them")


def test_the_heading_and_the_turns_are_those_of_what_is_there(tmp_path: Path) -> None:
    path = tmp_path / "growing.jsonl"
    append(path, *lines(a_title("A title"), *ENTRIES))
    with following("show", path, "--follow") as process:
        seen = read_until(process, "Claude ▸ second answer")
    assert "2 prompts" in seen
    assert "─── 0 ───" not in seen


def test_a_long_session_is_caught_up_with_at_once(tmp_path: Path) -> None:
    path = tmp_path / "long.jsonl"
    turns = [entry for number in range(500) for entry in (a_prompt(f"question {number}"), a_reply("answer"))]
    append(path, *lines(*turns, a_prompt("the end")))
    with following("show", path, "--follow") as process:
        seen = read_until(process, "You ▸ the end")  # a look for each turn would take two minutes
    assert [seen.count(f"You ▸ question {number}\n") for number in range(500)] == [1] * 500


def test_follow_with_json_prints_json(tmp_path: Path) -> None:
    path = tmp_path / "growing.jsonl"
    append(path, *lines(*ENTRIES))
    with following("show", path, "--follow", "--json") as process:
        seen = read_until(process, "second answer")
    assert all(line.startswith("{") for line in seen.splitlines())


def test_following_a_file_that_is_not_there_says_so(tmp_path: Path) -> None:
    with following("show", tmp_path / "missing.jsonl", "--follow") as process:
        assert process.wait(timeout=30) == 2


def test_following_thoughts_since_a_moment(tmp_path: Path) -> None:
    path = tmp_path / "growing.jsonl"
    append(path, *lines(a_prompt("q"), a_reply("a", thinking="an old thought, in January")))
    newer = a_reply("b", thinking="a thought of the future", timestamp="2099-01-01T00:00:00.000Z")
    append(path, *lines(a_prompt("q2"), newer, session="two"))
    with following("thinking", path, "--follow", "--since", "1h") as process:
        seen = read_until(process, "a thought of the future")
    assert "an old thought" not in seen
