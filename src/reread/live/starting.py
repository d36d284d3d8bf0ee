"""How the client is started: which program, with which flags, in which environment."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from typing import NamedTuple

from msgspec import Struct

from reread.errors import BadInput, ClientError

Program = str | PathLike[str] | Sequence[str]
"""`claude`, its path, or a command that leads to it."""

SPEAKS_STREAM_JSON = ("-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose")
ASKS_ON_STDIO = ("--permission-prompt-tool", "stdio")
HOST = "sdk-py"
"""What transcripts name as the entry point. The clients seen (2.1.197, 2.1.325) treat it like `sdk-ts`."""
NOT_FOUND = (
    "Claude Code was not found: install it with `npm install -g @anthropic-ai/claude-code`, "
    "or say where it is with `--claude PATH`"
)


_ID = re.compile(r"\w[\w.-]*")
"""A session is named by its file, and a file may be called `--dangerously-skip-permissions.jsonl`."""


class Start(Struct, frozen=True, kw_only=True):
    """What a run is to be."""

    model: str | None = None
    permission_mode: str | None = None
    max_thinking_tokens: int | None = None
    resume: str | None = None
    fork: bool = False
    continue_last: bool = False
    session_id: str | None = None
    partial: bool = True
    arguments: Sequence[str] = ()

    def flags(self) -> list[str]:
        if self.fork and not (self.resume or self.continue_last):
            raise BadInput("a fork needs a session to be taken from: give `resume` or `continue_last`")
        named = {
            "--model": self.model,
            "--permission-mode": self.permission_mode,
            "--max-thinking-tokens": self.max_thinking_tokens,
            "--resume": self.resume,
            "--session-id": self.session_id,
        }
        asked = {
            "--include-partial-messages": self.partial,
            "--fork-session": self.fork,
            "--continue": self.continue_last,
        }
        return [
            *SPEAKS_STREAM_JSON,
            *ASKS_ON_STDIO,
            *(flag for flag, is_asked in asked.items() if is_asked),
            *(part for flag, value in named.items() if value is not None for part in (flag, str(value))),
            *self.arguments,
        ]


def program(claude: Program | None, environment: Mapping[str, str]) -> list[str]:
    """The command that starts the client; raises ClientError where there is none."""
    if claude is not None and not isinstance(claude, str | PathLike):
        return list(claude)
    wanted = fspath(claude or "claude")
    # On Windows npm installs `claude.cmd`; `which` knows such endings.
    found = shutil.which(wanted, path=environment.get("PATH"))
    if found is not None:
        return [found]
    if claude is None:
        raise ClientError(NOT_FOUND)
    raise ClientError(f"{wanted!r} is no program that can be run; {NOT_FOUND}")


class Resumed(NamedTuple):
    """A session to go on with, and the folder it was held in: the client knows it only there."""

    session: str
    folder: str | None
    """None where it is not there any more."""


def resumed(session: str, project: str | None, *, is_there: bool) -> Resumed:
    """`is_there` says whether the client still has the transcript; raises BadInput where it has not."""
    if not is_there:
        how = f"`reread archive restore {session} --to DIR` gives its files back"
        raise BadInput(f"Claude Code does not have the session {session} any more; {how}")
    if not _ID.fullmatch(session):
        raise BadInput(f"{session!r} is no id that Claude Code could be given")
    return Resumed(session, project if project and is_folder(project) else None)


def is_folder(path: str | PathLike[str]) -> bool:
    """Whether it is one, as far as we may look: `Path.is_dir` raises where we may not, and for too long a name."""
    return os.path.isdir(path)  # noqa: PTH112


def child_environment(given: Mapping[str, str]) -> dict[str, str]:
    """What the client sees. A client that runs inside another one behaves differently, so it must not know."""
    seen = dict(given)
    if seen.pop("CLAUDECODE", None) is not None:
        seen.pop("CLAUDE_CODE_ENTRYPOINT", None)  # of the other one
    seen.setdefault("CLAUDE_CODE_ENTRYPOINT", HOST)
    return seen
