"""Rules that let calls through unasked, as in the client's settings: `Read`, `Bash(git log:*)`, `Edit(src/**)`.

A rule of ours is answered by us, so the capture names it at every call that it let through. A rule that cannot be
proved to match does not match, and the person is asked.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from pathlib import PurePath, PurePosixPath
from posixpath import normpath
from typing import Any, Self
from urllib.parse import urlsplit

from msgspec import Struct

from reread.errors import BadInput
from reread.records.json_parts import object_of

from .events import Permission

_RULE = re.compile(r"(?P<tool>[A-Za-z][\w-]*|mcp__[\w.*-]+)(?:\((?P<content>.+)\))?", re.DOTALL)
_SEVERAL = re.compile(r"[;&|<>`$(){}\n\r\\]")
"""What can make a command run more than its first words say, or something else."""
_PATHS = ("file_path", "notebook_path", "path")
_READERS = frozenset({"Read", "Glob", "Grep", "LS", "NotebookRead"})
_WRITERS = frozenset({"Edit", "Write", "MultiEdit", "NotebookEdit"})


class AllowRule(Struct, frozen=True):
    text: str
    tool: str
    content: str | None = None
    """The command, path or domain; None for every call of the tool."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Raises BadInput for anything that is no rule, or that could never match."""
        found = _RULE.fullmatch(text.strip())
        if found is None:
            raise BadInput(f"{text!r} is not a rule; try Read, 'Bash(git log:*)', 'Edit(src/**)' or mcp__github__*")
        rule = cls(text.strip(), found["tool"], found["content"])
        if rule.content is not None and not rule._takes_content:
            raise BadInput(f"{text!r}: a rule for {rule.tool} has nothing in parentheses")
        return rule

    @property
    def _takes_content(self) -> bool:
        return self.tool in ("Bash", "WebFetch", *_READERS, *_WRITERS)

    def allows(self, permission: Permission, folder: str) -> bool:
        """Whether it lets a call through that runs in a folder. Questions and plans are always a person's."""
        if permission.is_question or permission.is_plan or not self._is_about(permission.tool):
            return False
        given = object_of(permission.input)
        if self.content is None:
            return True
        if self.tool == "Bash":
            return _is_command(given, self.content)
        if self.tool == "WebFetch":
            return _is_host(given, self.content)
        return any(_is_path(given[key], self.content, folder) for key in _PATHS if isinstance(given.get(key), str))

    def _is_about(self, tool: str) -> bool:
        if self.tool.startswith("mcp__"):
            return fnmatchcase(tool, self.tool)
        family = {"Edit": _WRITERS, "Read": _READERS}.get(self.tool, frozenset())
        return tool == self.tool or tool in family


def _is_command(given: dict[str, Any], content: str) -> bool:
    """`npm test` is that command alone, `npm run:*` any that begins so; one of several commands never matches."""
    command = given.get("command")
    if not isinstance(command, str) or given.get("dangerouslyDisableSandbox"):
        return False
    if not content.endswith(":*"):
        return command.strip() == content
    beginning = content[:-2]
    if _SEVERAL.search(command.removeprefix(beginning)):
        return False
    return command.strip() == beginning or command.strip().startswith(f"{beginning} ")


def _is_host(given: dict[str, Any], content: str) -> bool:
    kind, _, domain = content.partition(":")
    try:
        host = urlsplit(str(given.get("url"))).hostname or ""
    except ValueError:
        return False
    return kind == "domain" and bool(domain) and (host == domain or host.endswith(f".{domain}"))


def _is_path(path: str, content: str, folder: str) -> bool:
    """Whether a path, made absolute, is the pattern's or below it; `..` is resolved first, so it leads nowhere else."""
    base = PurePath(folder).as_posix()
    whole = PurePosixPath(normpath(PurePosixPath(base, PurePath(path).as_posix())))
    pattern = normpath(PurePosixPath(base, content.removeprefix("./")))
    if pattern.endswith("/**"):
        return whole.is_relative_to(pattern.removesuffix("/**"))
    return len(PurePosixPath(pattern).parts) == len(whole.parts) and fnmatchcase(str(whole), pattern)


def allowing(rules: tuple[AllowRule, ...], permission: Permission, folder: str) -> AllowRule | None:
    """The first rule that lets the call through."""
    return next((rule for rule in rules if rule.allows(permission, folder)), None)
