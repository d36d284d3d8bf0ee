"""What a tool call is about, in few words: the program of a shell command, the file of an edit."""

from __future__ import annotations

import re
from functools import lru_cache

from reread.sessions import ToolCall

EDITS = frozenset({"Edit", "MultiEdit", "Write", "NotebookEdit"})
SHELLS = frozenset({"Bash", "PowerShell"})
_BEFORE_PROGRAM = re.compile(
    r"""\s*(?:(?:cd|pushd)\s+(?:"[^"]*"|'[^']*'|\S+)\s*(?:&&|;)\s*   # cd somewhere &&
    | [A-Za-z_]\w*=(?:"[^"]*"|'[^']*'|\S*)\s+                        # NAME=value
    | (?:sudo|time|nohup|command|exec|env)\s+(?=[\w./])
    | timeout\s+(?:-\S+\s+)*\S+\s+
    | \(\s*)""",
    re.VERBOSE,
)
_WORD = re.compile(r"[\w./@:+-]+")
_WITH_SUBCOMMAND = frozenset(
    "git npm npx pnpm yarn bun deno cargo go docker kubectl terraform helm gh glab jj pip pip3 uv poetry pipenv hatch nox tox "
    "make just mise rake bundle rails mix dotnet gradle ./gradlew mvn swift xcodebuild brew apt apt-get systemctl aws gcloud "
    "az conda nix python python3 node ruby php composer artisan flutter dart zig stack cabal lake rtk task turbo nx".split()
)
_RUNS_ANOTHER = {"npm": "run", "pnpm": "run", "yarn": "run", "bun": "run", "uv": "run", "poetry": "run", "mise": "run"}


@lru_cache(maxsize=4096)
def prefix_of(command: str) -> str:
    """`git commit` of `cd app && git commit -m "..."`: what a permission rule or an alias would be about."""
    line = command[:400]
    while found := _BEFORE_PROGRAM.match(line):
        line = line[found.end() :]
    words = _WORD.findall(line[:120])
    if not words:
        return ""
    program = words[0].rpartition("/")[2] or words[0]
    if program not in _WITH_SUBCOMMAND:
        return program
    rest = [word for word in words[1:5] if not word.startswith("-")]
    if program in ("python", "python3") and len(words) > 2 and words[1] == "-m":
        return f"{program} -m {words[2]}"
    if not rest or program in ("python", "python3", "node", "ruby", "php"):
        return f"{program} {rest[0]}" if rest and rest[0].endswith((".py", ".js", ".rb", ".php")) else program
    taken = 2 if _RUNS_ANOTHER.get(program) == rest[0] else 1
    return " ".join([program, *rest[:taken]])


def command_of(call: ToolCall) -> str:
    """The shell command; empty for other tools."""
    given = call.input
    command = given.get("command") if isinstance(given, dict) else None
    return command if isinstance(command, str) else ""


def path_of(call: ToolCall) -> str:
    given = call.input
    if not isinstance(given, dict):
        return ""
    path = given.get("file_path") or given.get("notebook_path") or given.get("path")
    return path if isinstance(path, str) else ""


def target_of(call: ToolCall) -> str:
    """What a second attempt would be about again."""
    if call.name in SHELLS:
        return prefix_of(command_of(call))
    return path_of(call) or call.name


def name_of(path: str) -> str:
    """The last part of a path, of whatever system."""
    return re.split(r"[/\\]", path.rstrip("/\\"))[-1] if path else ""
