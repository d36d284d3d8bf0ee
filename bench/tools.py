"""Makes tool calls of synthetic sessions: the input, the text the model sees and its structured twin.

The twin is the larger part of a real transcript (31 % of bytes against 15 %), because an Edit carries the
whole original file and a Read carries it a second time.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from textpool import TextPool, length
from transcript import Block, new_id

__all__ = ["Call", "Desk", "failed", "rejected", "tool_call"]


@dataclass(frozen=True)
class Call:
    """One tool call and its outcome; `twin` None means no `toolUseResult` on the line."""

    id: str
    name: str
    input: Block
    content: str | list[Block]
    twin: Any
    is_error: bool | None = None
    denied: bool = False

    @property
    def block(self) -> Block:
        """The `tool_use` block."""
        return {"type": "tool_use", "id": self.id, "name": self.name, "input": self.input}


class Desk:
    """The files a session works on: the same ones again and again, which is why real sessions compress."""

    def __init__(self, rng: random.Random, pool: TextPool, cwd: str) -> None:
        self.rng, self.pool, self.cwd = rng, pool, cwd
        self.files: list[tuple[str, str]] = []

    def file(self) -> tuple[str, str]:
        """A file known to the session, or a new one."""
        if len(self.files) < 3 or self.rng.random() < 0.3:
            self.files = [*self.files[-7:], (self.path(), self.pool.code(self.rng, self.size(2_700, 1.55)))]
        return self.rng.choice(self.files)

    def path(self) -> str:
        """An absolute path in the session's directory."""
        separator = "\\" if "\\" in self.cwd else "/"
        return self.cwd + separator + self.pool.path(self.rng).replace("/", separator)

    def size(self, median: float, spread: float) -> int:
        """A long-tailed length of text."""
        return length(self.rng, median, spread, 100_000)


def bash(desk: Desk, call_id: str) -> Call:
    """A command and what it printed."""
    out = desk.pool.log(desk.rng, min(30_000, desk.size(360, 1.75)))
    command = " ".join(desk.rng.choices(desk.pool.words, k=desk.rng.randint(2, 9)))
    given = {"command": f"pytest -q -k {command!r}", "description": f"Run {command[:40]}"}
    twin = {"stdout": out, "stderr": "", "interrupted": False, "isImage": False, "noOutputExpected": False}
    return Call(call_id, "Bash", given, out, twin, is_error=False)


def read(desk: Desk, call_id: str) -> Call:
    """Part of a file, numbered in the block and bare in the twin."""
    path, text = desk.file()
    lines = text.split("\n")
    start = desk.rng.randrange(max(1, len(lines) - 20))
    shown = lines[start : start + desk.rng.choice((40, 120, 400, 2_000))]
    numbered = "\n".join(f"{number:6}→{line}" for number, line in enumerate(shown, start + 1))
    about = {"numLines": len(shown), "startLine": start + 1, "totalLines": len(lines)}
    twin = {"type": "text", "file": {"filePath": path, "content": "\n".join(shown), **about}}
    return Call(call_id, "Read", {"file_path": path}, numbered, twin)


def edit(desk: Desk, call_id: str) -> Call:
    """A change; its twin carries the whole original file."""
    path, text = desk.file()
    lines = text.split("\n")
    at = desk.rng.randrange(len(lines))
    old = "\n".join(lines[at : at + 4])
    new = desk.pool.code(desk.rng, desk.size(220, 0.7))
    patch = [" " + line for line in lines[max(0, at - 3) : at]]
    patch += ["-" + line for line in old.split("\n")] + ["+" + line for line in new.split("\n")]
    hunk = {"oldStart": at, "oldLines": 7, "newStart": at, "newLines": len(patch), "lines": patch}
    given = {"file_path": path, "old_string": old, "new_string": new, "replace_all": False}
    twin: Block = {"filePath": path, "oldString": old, "newString": new, "originalFile": text}
    twin |= {"structuredPatch": [hunk], "userModified": False, "replaceAll": False}
    return Call(call_id, "Edit", given, f"The file {path} has been updated successfully.", twin)


def write(desk: Desk, call_id: str) -> Call:
    """A new file."""
    path, text = desk.path(), desk.pool.code(desk.rng, desk.size(1_500, 0.8))
    twin: Block = {"type": "create", "filePath": path, "content": text, "structuredPatch": []}
    given = {"file_path": path, "content": text}
    return Call(call_id, "Write", given, f"File created successfully at: {path}", twin)


def grep(desk: Desk, call_id: str) -> Call:
    """Names of files that match."""
    found = [desk.path() for _ in range(desk.rng.randint(0, 12))]
    word = desk.rng.choice(desk.pool.words)
    twin = {"mode": "files_with_matches", "filenames": found, "numFiles": len(found)}
    text = f"Found {len(found)} files\n" + "\n".join(found)
    return Call(call_id, "Grep", {"pattern": word, "output_mode": "files_with_matches"}, text, twin)


def mcp(desk: Desk, call_id: str) -> Call:
    """A tool of a server: its twin is a list."""
    blocks: list[Block] = [{"type": "text", "text": desk.pool.prose(desk.rng, desk.size(700, 1.0))}]
    given = {"query": desk.rng.choice(desk.pool.words), "limit": 5}
    return Call(call_id, "mcp__tracker-server__get_issue", given, blocks, blocks)


def todo(desk: Desk, call_id: str) -> Call:
    """A new to-do list."""
    items = [
        {"content": item, "status": "pending", "activeForm": item}
        for item in desk.rng.choices(desk.pool.sentences["latin"], k=4)
    ]
    twin: Block = {"oldTodos": [], "newTodos": items}
    return Call(call_id, "TodoWrite", {"todos": items}, "Todos have been modified successfully.", twin)


TOOLS: dict[Callable[[Desk, str], Call], int] = {bash: 34, read: 26, edit: 18, write: 4, grep: 10, mcp: 3, todo: 5}


def tool_call(desk: Desk, maker: Callable[[Desk, str], Call] | None = None) -> Call:
    """A call of a tool drawn as often as real sessions use it."""
    chosen = maker or desk.rng.choices(list(TOOLS), list(TOOLS.values()))[0]
    return chosen(desk, new_id(desk.rng, "toolu"))


def failed(desk: Desk) -> Call:
    """A command that ended with an error."""
    call = tool_call(desk, bash)
    text = f"Exit code {desk.rng.randint(1, 127)}\n{call.content}"
    return replace(call, content=text, twin=f"Error: {text}", is_error=True)


def rejected(desk: Desk) -> Call:
    """An edit the user did not allow."""
    text = "The user doesn't want to proceed with this tool use. The tool use was rejected."
    return replace(tool_call(desk, edit), content=text, twin="User rejected tool use", is_error=True, denied=True)
