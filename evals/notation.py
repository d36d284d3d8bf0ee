"""Reads sessions written in a short notation, each moment with its labels, and builds them.

    = name                      a session begins
    > text                      a prompt; `>correction text`, `>re_ask text`, `>manual_step text`, joined with `+`
    >queued text                sent while the agent was busy
    >rewound text               a prompt that is left behind: the next one takes its place
    >shell command              a shell line of the person
    < text                      a reply
    * Tool | argument | output  a call that worked; `path :: old => new` is the argument of an edit
    *class Tool | ...           one that failed, with its class; or `rejected`, `denied`, `hook`, `cancelled`
    ^  ^t                       an interrupt, of an answer or of a tool
    %compact before after       %retry attempt milliseconds       %stop_hook reason
    +kind                       the session has friction of a kind that no single line stands for

`\\n` is a new line. What carries no label must not be found.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from uuid import NAMESPACE_URL, uuid5

from reread.sessions import Session
from reread.testing import (
    ContentBlock,
    Entry,
    a_compaction,
    a_prompt,
    a_queued_prompt,
    a_reply,
    a_session,
    a_system_line,
    a_tool_call,
    a_tool_result,
    an_interrupt,
)

SPANS = frozenset({"loop", "rework", "read_waste", "permission_toil", "stall"})
"""Kinds that are a matter of many lines: a session has them or has them not."""
_LINE = re.compile(r"(?P<mark>[>*^%+<=])(?P<words>[\w+]*) ?(?P<text>.*)")
_REJECTED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the "
    "new_string was NOT written to the file). "
)
_NOT_ERRORS = frozenset({"rejected", "denied", "hook", "cancelled"})


class Label(NamedTuple):
    """A moment and what it is; `about` is the class of an error."""

    kind: str
    uuid: str
    """The line, or the name of the session for kinds of many lines."""
    about: str = ""


class Labelled(NamedTuple):
    """A session and all that is to be found in it."""

    name: str
    session: Session
    labels: frozenset[Label]
    moments: int
    """Lines that were judged, friction or not."""
    is_recorded: bool = False


def read(path: Path) -> Iterator[Labelled]:
    """The sessions of a file."""
    script: _Script | None = None
    for line in path.read_text("utf-8").splitlines():
        found = _LINE.fullmatch(line)
        if found is None:
            continue
        if found["mark"] == "=":
            if script is not None:
                yield script.built()
            script = _Script(found["text"])
        elif script is not None:
            script.add(found["mark"], found["words"], found["text"].replace("\\n", "\n"))
    if script is not None:
        yield script.built()


class _Script:
    """A session being written."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.entries: list[Entry | ContentBlock] = []
        self.labels: set[Label] = set()
        self.moments = 0
        self._last: str | None = None
        self._hangs_from: str | None = None
        self._was_rejected = False

    def built(self) -> Labelled:
        session = a_session(*self.entries, id=str(uuid5(NAMESPACE_URL, self.name))).build()
        return Labelled(self.name, session, frozenset(self.labels), self.moments)

    def add(self, mark: str, words: str, text: str) -> None:
        writers = {">": self._prompt, "<": self._reply, "*": self._call, "^": self._interrupt, "%": self._beside}
        if mark == "+":
            first = words.removeprefix("first_")
            place = self.name if first == words else f"{self.name}-1"
            self.labels.add(Label(first, place))
            return
        writers[mark](words, text, f"{self.name}-{len(self.entries) + 1}")
        self._was_rejected = mark == "*" and words == "rejected"

    def _prompt(self, words: str, text: str, uuid: str) -> None:
        self.moments += 1
        marks = set(words.split("+")) - {""}
        to = {"to": self._hangs_from} if self._hangs_from is not None else {}
        self._hangs_from = self._last if "rewound" in marks else None
        if "queued" in marks:
            self.entries.append(a_queued_prompt(text, uuid=uuid))
        elif "shell" in marks:
            self.entries.append(a_prompt(f"<bash-input>{text}</bash-input>", uuid=uuid))
            self.entries.append(a_prompt("<bash-stdout>done</bash-stdout><bash-stderr></bash-stderr>"))
        else:
            self.entries.append(a_prompt(text, uuid=uuid, **to))
        names = {"rewound": "rewind", "shell": "manual_step"}
        self.labels |= {Label(names.get(mark, mark), uuid) for mark in marks - {"queued"}}
        self._last = uuid

    def _reply(self, _words: str, text: str, uuid: str) -> None:
        self.entries.append(a_reply(text, uuid=uuid))
        self._last = uuid

    def _call(self, words: str, text: str, uuid: str) -> None:
        self.moments += 1
        name, argument, output = (part.strip(" ") for part in text.split("|", 2))
        self.entries.append(a_reply(a_tool_call(name, _input(name, argument)), uuid=f"{uuid}-call"))
        self.entries.append(_result(words, output, uuid))
        if words == "hook":
            self.labels.add(Label("hook_block", uuid))
        elif words in ("rejected", "denied"):
            self.labels.add(Label("rejection", uuid))
        elif words and words not in _NOT_ERRORS:
            self.labels.add(Label("tool_error", uuid, words))
        self._last = uuid

    def _interrupt(self, words: str, _text: str, uuid: str) -> None:
        self.moments += 1
        self.entries.append(an_interrupt(for_tool=words == "t", uuid=uuid))
        if not self._was_rejected:  # else it is the rejection, said once more
            self.labels.add(Label("interrupt", uuid))
        self._last = uuid

    def _beside(self, words: str, text: str, uuid: str) -> None:
        self.moments += 1
        if words == "compact":
            before, after = map(int, text.split())
            self.entries.append(a_compaction(uuid=uuid, trigger="auto", pre_tokens=before, postTokens=after))
            self.labels.add(Label("compaction", f"{uuid}-1"))
        elif words == "retry":
            attempt, delay = map(int, text.split())
            self.entries.append(
                a_system_line("api_error", uuid=uuid, retryAttempt=attempt, retryInMs=delay, maxRetries=10)
            )
        else:
            self.entries.append(
                a_system_line("stop_hook_summary", uuid=uuid, preventedContinuation=True, stopReason=text)
            )
            self.labels.add(Label("hook_block", uuid))
        self._last = uuid


def _input(name: str, argument: str) -> dict[str, Any]:
    if argument.startswith("{"):
        given: dict[str, Any] = json.loads(argument)
        return given
    path, _, change = argument.partition(" :: ")
    if name == "Edit":
        old, _, new = f"{change} ".partition("=> ")
        return {"file_path": path, "old_string": old.strip(" "), "new_string": new.strip(" ")}
    if name == "Write":
        return {"file_path": path, "content": change}
    keys = {"Bash": "command", "Read": "file_path", "Grep": "pattern", "WebFetch": "url"}
    return {keys[name]: argument}


def _result(words: str, output: str, uuid: str) -> Entry:
    if words == "rejected":
        told = f"To tell you how to proceed, the user said:\n{output}" if output else "STOP what you are doing."
        return a_tool_result(_REJECTED + told, is_error=True, twin="User rejected tool use", uuid=uuid)
    if words == "denied":
        return a_tool_result(output, is_error=True, toolDenialKind="permission-rule", uuid=uuid)
    return a_tool_result(output, is_error=True if words else None, uuid=uuid)
