"""Sessions in which things go wrong, on days of one's choice."""

from __future__ import annotations

from pathlib import Path

from reread.archive import Archive
from reread.testing import (
    ContentBlock,
    Entry,
    Transcript,
    a_prompt,
    a_reply,
    a_session,
    a_subagent,
    a_tool_call,
    a_tool_result,
    an_interrupt,
)

ONE = "0a1b2c3d-1111-4222-8333-444455556666"
TWO = "1b2c3d4e-2222-4222-8333-444455556666"
THREE = "2c3d4e5f-3333-4222-8333-444455556666"
RULE = "Always run the zebraq linter before you commit anything."
REFUSED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the "
    "new_string was NOT written to the file). "
)


def a_failure(text: str, command: str = "pytest -q", call: str = "toolu_failing") -> list[Entry | ContentBlock]:
    return [
        a_reply(a_tool_call("Bash", {"command": command}, id=call)),
        a_tool_result(f"Exit code 1\n{text}", of=call, is_error=True),
        a_reply("I will look into it."),
    ]


def an_edit(path: str) -> list[Entry | ContentBlock]:
    return [a_reply(a_tool_call("Write", {"file_path": path, "content": "- be brief"})), a_tool_result("ok")]


def a_change(old: str, new: str) -> list[Entry | ContentBlock]:
    given = {"file_path": "/home/ann/app/parser.py", "old_string": old, "new_string": new}
    return [a_reply(a_tool_call("Edit", given)), a_tool_result("ok")]


def troubled(name: str = ONE, *more: Entry | ContentBlock, cwd: str = "/home/ann/app") -> Transcript:
    """An error, a refusal with a rule, an interrupt and a correction; an agent with an error of its own."""
    return a_session(
        a_prompt("please make the parser handle empty lines"),
        *a_failure(f"1 failed, gnuq in {name[:4]}"),
        a_reply(a_tool_call("Bash", {"command": "rm -r build"})),
        a_tool_result(f"{REFUSED}the user said:\nno, keep the ibexq", is_error=True),
        a_prompt(f"{RULE} And go on with the parser in {name[:4]}."),
        *a_change("old = names", "fresh = names()"),
        a_reply("Done, I rewrote it."),
        a_prompt(f"no, that is wrong, I said to keep the old oryxq names in {name[:4]}"),
        *a_change("fresh = names()", "kept = names(old)"),
        a_reply("Sorry, changing it", a_tool_call("Task", {"prompt": "look"}, id="toolu_task")),
        a_subagent(
            a_prompt("look"),
            *a_failure(f"agent tapirq in {name[:4]}", "cargo build", "toolu_of_agent"),
            id="abc",
            of="toolu_task",
        ),
        a_tool_result("done", of="toolu_task", twin={"agentId": "abc", "status": "completed"}),
        a_reply("And now"),
        an_interrupt(),
        *more,
        id=name,
        cwd=cwd,
    )


def write(transcript: Transcript, folder: Path, day: str = "2026-01-05") -> Path:
    """The files of a session, as if it had been run on another day."""
    trunk = transcript.write(folder)
    for path in (trunk, *trunk.with_suffix("").rglob("*.jsonl")):
        path.write_bytes(path.read_bytes().replace(b"2026-01-05T", day.encode() + b"T"))
    return trunk


def an_archive(folder: Path, *sources: Path) -> Archive:
    archive = Archive(folder / "home", sources or [folder / "projects"], machine="desk")
    archive.sync()
    return archive
