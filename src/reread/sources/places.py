"""Knows where Claude Code keeps its files and what their names tell.

A name tells a physical place only: which session a line belongs to is for its record to say.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

__all__ = ["Kind", "Place", "matches_project_folder", "place", "project_folder_name", "roots"]


class Kind(StrEnum):
    TRANSCRIPT = "transcript"
    SUBAGENT = "subagent"
    META = "meta"
    TOOL_RESULT = "tool_result"
    TITLE = "title"
    INDEX = "index"
    HISTORY = "history"
    WORKFLOW = "workflow"
    JOURNAL = "journal"
    SETTINGS = "settings"


class Place(NamedTuple):
    kind: Kind
    session: str | None = None
    agent: str | None = None
    workflow: str | None = None


_UUID = r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_SUBAGENTS = r"/(?P<session>[^/]+)/subagents(?:/workflows/(?P<workflow>[^/]+))?"

# The first row that fits the end of a path wins.
_PLACES: tuple[tuple[Kind, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(rf".*{pattern}", re.DOTALL))
    for kind, pattern in (
        (Kind.TOOL_RESULT, r"/(?P<session>[^/]+)/tool-results/.+"),
        (Kind.META, rf"{_SUBAGENTS}/agent-(?P<agent>[^/]+)\.meta\.json"),
        (Kind.META, r"/agent-(?P<agent>[^/]+)\.meta\.json"),
        (Kind.JOURNAL, rf"{_SUBAGENTS}/journal\.jsonl"),
        (Kind.SUBAGENT, rf"{_SUBAGENTS}/(?:agent-)?(?P<agent>[^/]+)\.jsonl"),
        (Kind.SUBAGENT, r"/agent-(?P<agent>[^/]+)\.jsonl"),
        # Repositories have folders called workflows too; only below a session's own are they ours.
        (Kind.WORKFLOW, rf"/(?P<session>{_UUID})/workflows/(?P<workflow>[^/]+)\.json"),
        (Kind.WORKFLOW, rf"/(?P<session>{_UUID})/workflows/scripts/[^/]+"),
        (Kind.TITLE, r"/(?P<session>[^/]+)/custom-title\.json"),
        (Kind.INDEX, r"/sessions-index\.json"),
        (Kind.HISTORY, r"/history\.jsonl"),
        (Kind.TRANSCRIPT, r"/(?P<session>[^/]+)\.jsonl"),
    )
)


def place(path: Path) -> Place | None:
    """What a file is by its name and folders; None when they do not tell."""
    text = "/" + str(path).replace(os.sep, "/")
    for kind, pattern in _PLACES:
        if match := pattern.fullmatch(text):
            return Place(kind, **match.groupdict())
    return None


def roots(environ: Mapping[str, str], home: Path) -> list[Path]:
    """The config directories to read: those the environment names, else the usual ones that exist."""
    named = environ.get("CLAUDE_CONFIG_DIR", "").strip()
    if named:
        return list(dict.fromkeys(_expand(name, home) for name in _separated(named)))
    config = environ.get("XDG_CONFIG_HOME") or home / ".config"
    return [folder for folder in (home / ".claude", Path(config, "claude")) if _is_folder(folder)]


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:  # a home that may not be entered, as under su
        return False


def _separated(names: str) -> list[str]:
    if Path(names).is_dir():
        return [names]  # a folder whose name holds a separator
    parts = re.split(f"[,{re.escape(os.pathsep)}]", names)
    return [part.strip() for part in parts if part.strip()]


def _expand(name: str, home: Path) -> Path:
    if name == "~" or name.startswith(("~/", "~" + os.sep)):
        return home / name[2:]
    return Path(name)


_LONGEST_NAME = 200


def project_folder_name(cwd: str) -> str:
    """The folder below `projects` for a working directory.

    A longer path ends in a hash that differs between builds of the client: then this is the part before
    it, hyphen included.
    """
    name = _hyphenated(cwd)
    return name if len(name) <= _LONGEST_NAME else name[:_LONGEST_NAME] + "-"


def matches_project_folder(name: str, cwd: str) -> bool:
    """Whether a folder may be that of a working directory; names collide, so ask its records too."""
    expected = project_folder_name(cwd)
    return name == expected or (len(expected) > _LONGEST_NAME and name.startswith(expected))


def _hyphenated(cwd: str) -> str:
    # The client replaces UTF-16 units, as JavaScript does: an emoji becomes two hyphens.
    path = unicodedata.normalize("NFC", cwd)
    return re.sub("[^A-Za-z0-9]", lambda char: "--" if char[0] > "\uffff" else "-", path)
