"""A real file that is changed as the client changes it, with the lines a client would write about it.

The model is its own: strings are replaced and patches made here with nothing of the code under test.
"""

from __future__ import annotations

from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from reread.testing import ContentBlock, Entry, a_reply, a_tool_call, a_tool_result

Json = dict[str, Any]
NO_NEWLINE = "\\ No newline at end of file"
ALL = frozenset({"original", "patch", "strings"})
"""What the twin of a result may tell."""


class Desk:
    """`entries` are the lines so far; `points` has what the file held after each change, by the uuid of its call."""

    def __init__(self, path: Path, named: str | None = None) -> None:
        self.path = path
        self.named = named or str(path)
        self.entries: list[Entry | ContentBlock] = []
        self.points: dict[str, bytes | None] = {}
        self._calls = 0

    def now(self) -> bytes | None:
        return self.path.read_bytes() if self.path.exists() else None

    def write(self, content: str, told: frozenset[str] = ALL) -> str:
        before = self._text()
        self.path.write_bytes(content.encode())
        twin: Json = {"type": "create" if before is None else "update", "filePath": self.named, "content": content}
        twin |= {"structuredPatch": patch(before, content) if "patch" in told and before is not None else []}
        twin |= {"originalFile": before if "original" in told else None, "userModified": False}
        return self._record("Write", {"content": content}, twin if told else None)

    def edit(self, old: str, new: str, *, is_all: bool = False, told: frozenset[str] = ALL) -> str:
        before = self._text() or ""
        after = replaced(before, old, new, is_all=is_all)
        raw = self.now() or b""
        is_windows = b"\r\n" in raw
        self.path.write_bytes((after.replace("\n", "\r\n") if is_windows else after).encode())
        twin: Json = {"filePath": self.named, "replaceAll": is_all, "userModified": False}
        twin |= {"oldString": old, "newString": new} if "strings" in told else {}
        twin |= {"originalFile": before if "original" in told else None}
        twin |= {"structuredPatch": patch(before, after) if "patch" in told else []}
        given = {"old_string": old, "new_string": new, "replace_all": is_all} if "strings" in told else {}
        return self._record("Edit", given, twin if told else None)

    def fail(self, old: str = "not in the file", new: str = "x") -> None:
        self._without_effect(old, new, "<tool_use_error>String to replace not found in file.</tool_use_error>")

    def refuse(self, old: str, new: str) -> None:
        self._without_effect(old, new, "The user doesn't want to proceed with this tool use.")

    def outside(self, content: str) -> None:
        """Somebody else writes the file; no transcript tells."""
        self.path.write_bytes(content.encode())

    def _text(self) -> str | None:
        raw = self.now()
        return None if raw is None else raw.decode().replace("\r\n", "\n")

    def _without_effect(self, old: str, new: str, said: str) -> None:
        name = self._name()
        given = {"file_path": self.named, "old_string": old, "new_string": new}
        self.entries += [
            a_reply(a_tool_call("Edit", given, id=f"toolu_{name}"), uuid=name),
            a_tool_result(said, of=f"toolu_{name}", is_error=True, twin=f"Error: {said}"),
        ]

    def _record(self, tool: str, given: Json, twin: Json | None) -> str:
        name = self._name()
        call = a_tool_call(tool, {"file_path": self.named, **given}, id=f"toolu_{name}")
        told: Json = {} if twin is None else {"twin": twin}
        self.entries += [a_reply(call, uuid=name), a_tool_result("done", of=f"toolu_{name}", **told)]
        self.points[name] = self.now()
        return name

    def _name(self) -> str:
        self._calls += 1
        return f"{self.path.name}-{self._calls:04d}"


def replaced(text: str, old: str, new: str, *, is_all: bool) -> str:
    """As the client does, taking the newline with whole lines that go."""
    if not new and not old.endswith("\n") and f"{old}\n" in text:
        old = f"{old}\n"
    assert old in text
    return text.replace(old, new) if is_all else text.replace(old, new, 1)


def patch(before: str | None, after: str) -> list[Json]:
    """A `structuredPatch`: three lines around each change, tabs before a line's text as two spaces each."""
    old, new = lines(before or ""), lines(after)
    hunks = []
    for group in SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(3):
        shown: list[str] = []
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                shown += marked(" ", old[i1:i2])
            else:
                shown += marked("-", old[i1:i2]) + marked("+", new[j1:j2])
        first, last = group[0], group[-1]
        hunks.append(
            {
                "oldStart": first[1] + 1,
                "oldLines": last[2] - first[1],
                "newStart": first[3] + 1,
                "newLines": last[4] - first[3],
                "lines": shown,
            }
        )
    return hunks


def lines(text: str) -> list[str]:
    return [line for line in text.replace("\n", "\n\0").split("\0") if line]


def marked(mark: str, found: list[str]) -> list[str]:
    shown: list[str] = []
    for line in found:
        text = line.rstrip("\n")
        bare = text.lstrip("\t")
        shown.append(mark + "  " * (len(text) - len(bare)) + bare)
        shown += [] if line.endswith("\n") else [NO_NEWLINE]
    return shown
