"""Knows where Claude Code keeps its files and what their names tell.

A name tells a physical place only: which session a line belongs to is for its record to say.
"""

from __future__ import annotations

import os
import re
import unicodedata
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

__all__ = ["Kind", "Place", "matches_project_folder", "place", "project_folder_name"]


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
    CAPTURE = "capture"
    """What crossed the wire in a run that reread started."""
    BACKUP = "backup"
    """A file as it was before the client changed it; `sources.backups` finds them, no walk does."""


class Place(NamedTuple):
    kind: Kind
    session: str | None = None
    agent: str | None = None
    workflow: str | None = None


_UUID = r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_SUBAGENTS = r"/(?P<session>[^/]+)/subagents(?:/workflows/(?P<workflow>[^/]+))?"

# The first row that fits the end of a path wins. What a path must have in it spares most rows the pattern.
_PLACES: tuple[tuple[Kind, str, re.Pattern[str]], ...] = tuple(
    (kind, sign, re.compile(rf".*{pattern}", re.DOTALL))
    for kind, sign, pattern in (
        (Kind.TOOL_RESULT, "/tool-results/", r"/(?P<session>[^/]+)/tool-results/.+"),
        (Kind.META, ".meta.json", rf"{_SUBAGENTS}/agent-(?P<agent>[^/]+)\.meta\.json"),
        (Kind.META, ".meta.json", r"/agent-(?P<agent>[^/]+)\.meta\.json"),
        (Kind.JOURNAL, "/journal.jsonl", rf"{_SUBAGENTS}/journal\.jsonl"),
        (Kind.SUBAGENT, "/subagents/", rf"{_SUBAGENTS}/(?:agent-)?(?P<agent>[^/]+)\.jsonl"),
        (Kind.SUBAGENT, "/agent-", r"/agent-(?P<agent>[^/]+)\.jsonl"),
        # Repositories have folders called workflows too; only below a session's own are they ours.
        (Kind.WORKFLOW, "/workflows/", rf"/(?P<session>{_UUID})/workflows/(?P<workflow>[^/]+)\.json"),
        (Kind.WORKFLOW, "/workflows/", rf"/(?P<session>{_UUID})/workflows/scripts/[^/]+"),
        (Kind.TITLE, "/custom-title.json", r"/(?P<session>[^/]+)/custom-title\.json"),
        (Kind.INDEX, "/sessions-index.json", r"/sessions-index\.json"),
        (Kind.HISTORY, "/history.jsonl", r"/history\.jsonl"),
        (Kind.TRANSCRIPT, ".jsonl", r"/(?P<session>[^/]+)\.jsonl"),
        (Kind.CAPTURE, ".wire", rf"/(?P<session>{_UUID})/[^/]+\.wire"),
        (Kind.CAPTURE, ".wire", r"/(?P<session>[^/]+)\.wire"),
    )
)


def place(path: Path) -> Place | None:
    """What a file is by its name and folders; None when they do not tell."""
    text = "/" + str(path).replace(os.sep, "/")
    for kind, sign, pattern in _PLACES:
        if sign in text and (match := pattern.fullmatch(text)):
            found = Place(kind, **match.groupdict())
            return found._replace(agent=_spelled(found.agent), workflow=_spelled(found.workflow))
    return None


def _spelled(name: str | None) -> str | None:
    """These are ids and lead to no file: what is no UTF-8 in them is spelled out, so that every table takes it."""
    return name and os.fsencode(name).decode("utf-8", "backslashreplace")


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
