"""A tool call as detectors look at it: its arguments read once, and what it is about in few words."""

from __future__ import annotations

import re
from datetime import datetime
from functools import lru_cache
from typing import Any

import msgspec
from msgspec import Struct

from reread.records import Record
from reread.sessions import Status, ToolCall, ToolOutput

EDITS = frozenset({"Edit", "MultiEdit", "Write", "NotebookEdit"})
SHELLS = frozenset({"Bash", "PowerShell"})


class Arguments(Struct, frozen=True, gc=False):
    """The arguments that say what a call is about; of any other tool, nothing is read."""

    command: str | None = None
    file_path: str | None = None
    notebook_path: str | None = None
    path: str | None = None
    url: str | None = None
    offset: int | float | str | None = None
    limit: int | float | str | None = None
    pages: str | None = None
    content: str | None = None
    old_string: str | None = None
    new_string: str | None = None
    edits: list[dict[str, Any]] | None = None


_decoder = msgspec.json.Decoder(Arguments)
_NONE = Arguments()


def _arguments(call: ToolCall) -> Arguments:
    try:
        return _decoder.decode(call.block.raw_input)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _piecewise(call.input)


def _piecewise(given: object) -> Arguments:
    """Of arguments with unexpected types those that are texts."""
    if not isinstance(given, dict):
        return _NONE
    texts = {name: given[name] for name in Arguments.__struct_fields__ if isinstance(given.get(name), str)}
    return Arguments(**texts)


class Call:
    """One tool call. Arguments are decoded when first asked for, and only the few that matter."""

    __slots__ = ("_given", "call", "name", "status")

    def __init__(self, call: ToolCall) -> None:
        self.call = call
        self.name = call.name
        self.status: Status = call.status
        self._given: Arguments | None = None

    @property
    def given(self) -> Arguments:
        if self._given is None:
            self._given = _arguments(self.call)
        return self._given

    @property
    def command(self) -> str:
        """The shell command; empty for other tools."""
        return (self.given.command or "") if self.name in SHELLS else ""

    @property
    def path(self) -> str:
        given = self.given
        return given.file_path or given.notebook_path or given.path or ""

    @property
    def target(self) -> str:
        """What a second attempt would be about again."""
        return prefix_of(self.command) if self.name in SHELLS else self.path or self.name

    @property
    def record(self) -> Record:
        return self.call.record

    @property
    def output(self) -> ToolOutput | None:
        return self.call.output

    @property
    def text(self) -> str:
        """What it gave back."""
        return self.call.output.text if self.call.output is not None else ""

    @property
    def proof(self) -> Record:
        """The line of its result; of the call itself where there is none."""
        return self.call.output.record if self.call.output is not None else self.call.record

    @property
    def message_id(self) -> str | None:
        return self.call.message_id

    @property
    def ended(self) -> datetime | None:
        return self.proof.time

    @property
    def step(self) -> str:
        """`pytest`, `git commit`, `Edit dates.py`: as a person would tell it."""
        if self.name in SHELLS:
            return prefix_of(self.command) or self.name
        name = name_of(self.path)
        return f"{self.name} {name}" if name else self.name


_BEFORE_PROGRAM = re.compile(
    r"""\s*(?:(?:cd|pushd)\s+(?:"[^"]*"|'[^']*'|\S+)\s*(?:&&|;)\s*   # cd somewhere &&
    | [A-Za-z_]\w*=(?:"[^"]*"|'[^']*'|\S*)\s+                        # NAME=value
    | (?:sudo|time|nohup|command|exec|env)\s+(?=[\w./])
    | timeout\s+(?:-\S+\s+)*\S+\s+
    | \(\s*)""",
    re.VERBOSE,
)
_WORD = re.compile(r"[\w./@:+-]+")
_SCRIPTED = frozenset({"python", "python3", "node", "ruby", "php"})
_SCRIPTS = (".py", ".js", ".ts", ".rb", ".php")
_HAVE_SUBCOMMANDS = """
    git npm npx pnpm yarn bun deno cargo go docker kubectl terraform helm gh glab jj pip pip3 uv poetry pipenv hatch
    nox tox make just mise rake bundle rails mix dotnet gradle gradlew mvn swift xcodebuild brew apt apt-get
    systemctl aws
    ruff biome gcloud az conda nix composer artisan flutter dart zig stack cabal lake rtk task turbo nx"""
_WITH_SUBCOMMAND = _SCRIPTED | frozenset(_HAVE_SUBCOMMANDS.split())
_TWO_DEEP = frozenset({"gh", "glab", "aws", "gcloud", "az"})
_RUNNERS = frozenset({"npm", "pnpm", "yarn", "bun", "uv", "poetry", "mise"})


@lru_cache(maxsize=8192)
def prefix_of(command: str) -> str:
    """`git commit` of `cd app && git commit -m "..."`: what a permission rule or an alias would be about."""
    line = command[:300].lstrip()
    while line and (found := _BEFORE_PROGRAM.match(line)):
        line = line[found.end() :]
    words: list[str] = _WORD.findall(line[:120])
    if not words:
        return ""
    program = words[0].rpartition("/")[2] or words[0]
    if program not in _WITH_SUBCOMMAND:
        return program
    if program in _SCRIPTED and len(words) > 2 and words[1] == "-m":
        return f"{program} -m {words[2]}"
    rest = [word for word in words[1:5] if not word.startswith("-")]
    if not rest:
        return program
    if program in _SCRIPTED:
        return f"{program} {rest[0]}" if rest[0].endswith(_SCRIPTS) else program
    taken = 2 if program in _TWO_DEEP or (rest[0] == "run" and program in _RUNNERS) else 1
    return " ".join([program, *rest[:taken]])


def steps_in(command: str) -> list[str]:
    """The prefixes of commands that were chained with `&&`; what a here-document holds is not looked at."""
    line = command[:600].partition("<<")[0]
    return (
        [step for part in line.split("&&") if (step := prefix_of(part.strip()))] if "&&" in line else [prefix_of(line)]
    )


def name_of(path: str) -> str:
    """The last part of a path, of whatever system."""
    return path.rstrip("/\\").replace("\\", "/").rpartition("/")[2]
