"""A session told as a story: who said what, which file became what; ids, tokens and patches follow from it."""

from __future__ import annotations

from typing import Any, Self

from editing import patch, replaced
from reread.testing import (
    Agent,
    ContentBlock,
    Entry,
    Transcript,
    a_prompt,
    a_queued_prompt,
    a_reply,
    a_session,
    a_subagent,
    a_system_line,
    a_thought,
    a_title,
    a_tool_call,
    a_tool_result,
    a_usage,
    an_interrupt,
)

Json = dict[str, Any]

_SYSTEM_PROMPT = 17_000
"""Tokens that every request of the client begins with."""
_REFUSED = "The user doesn't want to proceed with this tool use. The tool use was rejected."
_NOT_READ = "<tool_use_error>File has not been read yet. Read it first before writing to it.</tool_use_error>"


class Story:
    """Told from beginning to end; thoughts and words wait for the reply that carries them."""

    def __init__(self, id: str, folder: str, *, model: str = "claude-opus-4-8", version: str = "2.1.197") -> None:  # noqa: A002
        self.id = id
        self.folder = folder
        self.model = model
        self.version = version
        self.entries: list[Entry | ContentBlock | Agent] = []
        self.files: dict[str, str] = {}
        self._waiting: list[ContentBlock | str] = []
        self._context = 0
        self._cached = 0
        self._calls = 0

    def titled(self, title: str) -> Self:
        self.entries.append(a_title(title, by="model"))
        return self

    def ask(self, text: str, *parts: ContentBlock, after: str | None = None, uuid: str | None = None) -> Self:
        self._flush()
        place: Json = {} if after is None else {"to": after}
        self.entries.append(a_prompt(text, *parts, uuid=uuid, **place))
        self._read(text)
        return self

    def queue(self, text: str) -> Self:
        self._flush()
        self.entries.append(a_queued_prompt(text))
        self._read(text)
        return self

    def think(self, text: str) -> Self:
        self._waiting.append(a_thought(text))
        return self

    def say(self, text: str, *, uuid: str | None = None) -> Self:
        self._waiting.append(text)
        if uuid is not None:
            self._flush(uuid)
        return self

    def interrupt(self) -> Self:
        self._flush()
        self.entries.append(an_interrupt())
        return self

    def took(self, seconds: int) -> Self:
        self._flush()
        self.entries.append(a_system_line("turn_duration", durationMs=seconds * 1000))
        return self

    def add(self, *entries: Entry | ContentBlock | Agent) -> Self:
        """Lines that have no word of their own here."""
        self._flush()
        self.entries += entries
        return self

    def read(self, name: str, content: str | None = None) -> Self:
        if content is not None:
            self.files[name] = content
        path, lines = self._path(name), self.files[name].split("\n")
        shown = "\n".join(f"{number}\t{line}" for number, line in enumerate(lines, 1))
        file = {"filePath": path, "content": self.files[name], "startLine": 1}
        file |= {"numLines": len(lines), "totalLines": len(lines)}
        return self.use("Read", {"file_path": path}, shown, twin={"type": "text", "file": file})

    def bash(self, command: str, output: str, *, fails: int = 0) -> Self:
        if not fails:
            return self.use("Bash", {"command": command}, output, twin={"stdout": output, "stderr": ""})
        said = f"Exit code {fails}\n{output}"
        return self.use("Bash", {"command": command}, said, is_error=True, twin=f"Error: {said}")

    def write(self, name: str, content: str) -> Self:
        before = self.files.get(name)
        self.files[name] = content
        twin = {
            "type": "create" if before is None else "update",
            "filePath": self._path(name),
            "content": content,
            "structuredPatch": [] if before is None else patch(before, content),
            "originalFile": before,
        }
        given = {"file_path": self._path(name), "content": content}
        return self.use("Write", given, f"File created successfully at: {self._path(name)}", twin=twin)

    def edit(self, name: str, old: str, new: str) -> Self:
        before = self.files[name]
        after = self.files[name] = replaced(before, old, new, is_all=False)
        twin = {
            "filePath": self._path(name),
            "oldString": old,
            "newString": new,
            "originalFile": before,
            "structuredPatch": patch(before, after),
            "userModified": False,
            "replaceAll": False,
        }
        said = f"The file {self._path(name)} has been updated successfully."
        return self.use("Edit", self._change(name, old, new), said, twin=twin)

    def edit_unread(self, name: str, old: str, new: str) -> Self:
        """An edit that the client turns down, as it has not shown the model the file."""
        return self.use("Edit", self._change(name, old, new), _NOT_READ, is_error=True, twin=f"Error: {_NOT_READ}")

    def edit_refused(self, name: str, old: str, new: str) -> Self:
        """An edit that the person turns down; the turn ends with it."""
        self.use(
            "Edit",
            self._change(name, old, new),
            _REFUSED,
            is_error=True,
            twin="User rejected tool use",
            toolDenialKind="user-rejected",
        )
        self.entries.append(an_interrupt(for_tool=True))
        return self

    def delegate(self, kind: str, task: str, inner: Story, answer: str) -> Self:
        """A subagent: what it did is a story of its own."""
        call = f"toolu_{inner.id}"
        inner.say(answer)
        inner._flush()
        self._waiting.append(
            a_tool_call("Agent", {"description": task, "subagent_type": kind, "prompt": task}, id=call)
        )
        self._flush()
        meta = {"agentType": kind, "description": task, "spawnDepth": 1}
        self.entries.append(a_subagent(a_prompt(task), *_lines(inner), id=inner.id, of=call, meta=meta))
        twin = {"status": "completed", "agentId": inner.id}
        self.entries.append(a_tool_result([{"type": "text", "text": answer}], of=call, twin=twin))
        self._read(answer)
        return self

    def use(
        self,
        tool: str,
        given: Json,
        output: str | list[Json],
        *,
        is_error: bool | None = None,
        twin: Any = None,
        **fields: Any,
    ) -> Self:
        """Any tool, and what came of it."""
        self._calls += 1
        call = f"toolu_{self.id[:8]}_{self._calls}"
        self._waiting.append(a_tool_call(tool, given, id=call))
        self._flush()
        told: Json = {} if twin is None else {"twin": twin}
        self.entries.append(a_tool_result(output, of=call, is_error=is_error, **told, **fields))
        self._read(output if isinstance(output, str) else str(output))
        return self

    def told(self) -> Transcript:
        self._flush()
        return a_session(*self.entries, id=self.id, cwd=self.folder, version=self.version)

    def _change(self, name: str, old: str, new: str) -> Json:
        return {"file_path": self._path(name), "old_string": old, "new_string": new}

    def _path(self, name: str) -> str:
        return f"{self.folder}/{name}"

    def _read(self, text: str) -> None:
        self._context += 60 + len(text) // 4

    def _flush(self, uuid: str | None = None) -> None:
        """What waits becomes one response; all it has seen before comes from the cache, the rest goes into it."""
        if not self._waiting:
            return
        size = sum(len(part if isinstance(part, str) else str(part.fields)) for part in self._waiting)
        whole = _SYSTEM_PROMPT + self._context
        used = a_usage(
            input=4,
            output=40 + size // 3,
            cache_read=self._cached,
            cache_write=whole - self._cached,
            cache_write_1h=whole - self._cached,
        )
        self.entries.append(a_reply(*self._waiting, model=self.model, usage=used, uuid=uuid))
        self._cached = whole
        self._context += size // 4
        self._waiting = []


def _lines(inner: Story) -> list[Entry | ContentBlock]:
    return [entry for entry in inner.entries if not isinstance(entry, Agent)]
