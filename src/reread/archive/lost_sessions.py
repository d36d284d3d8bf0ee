"""Sessions that were deleted before the first import: only the client's own index still lists them.

`sessions-index.json` is a cache that clients up to about 2.1.56 wrote; it outlives the transcripts it lists. For a
session that still exists, it only fills in what the session lacks (`reread.loading`).
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from msgspec import Struct

from reread.features.search_text import Field
from reread.index.moved_folders import moves
from reread.index.read import files_of_kind, forgotten
from reread.index.safe_reader import SafeReader
from reread.index.sessions import names_by_id
from reread.index.user_data import Noted, matching
from reread.keys import file_key
from reread.records import SessionsIndex, decode_side_file, parse_time
from reread.records.state import IndexEntry

from .filters import Filter
from .regex import BoundedPattern
from .search_language import parse
from .text_search import FieldNames, chosen_fields

_EARLIEST = datetime.min.replace(tzinfo=UTC)
_ANSWERED = frozenset(
    {"project", "folder", "since", "until", "git_branch", "limit", "moves", "without", "without_hidden", "sources"}
)
"""The fields of a filter that the client's index can answer; it does not record tools or models, for example."""


class LostSession(Struct, frozen=True, kw_only=True):
    """What is left of a session whose transcript is gone; it is not counted among the sessions that are kept."""

    id: str
    project: str | None
    summary: str | None
    first_prompt: str | None
    git_branch: str | None
    started: datetime | None
    ended: datetime | None
    messages: int | None

    @property
    def title(self) -> str:
        return " ".join((self.summary or self.first_prompt or self.id).split())

    @property
    def text(self) -> str:
        return "\n".join(part for part in (self.summary, self.first_prompt) if part)


def lost_sessions(connection: sqlite3.Connection, kept: SafeReader, machine: str, filters: Filter) -> list[LostSession]:
    """Lost sessions that pass a filter, the one that ended last first."""
    if any(getattr(filters, name) != getattr(Filter(), name) for name in Filter._fields if name not in _ANSWERED):
        return []
    known = set(names_by_id(connection).values())
    found: dict[str, LostSession] = {}
    for entry in _entries(connection, kept, machine, filters.sources):
        each = _lost(entry)
        if each is not None and each.id not in known and _passes(each, filters):
            found.setdefault(each.id, each)
    ordered = sorted(found.values(), key=lambda each: each.ended or _EARLIEST, reverse=True)
    return ordered[: filters.limit]


def find_lost(
    connection: sqlite3.Connection,
    kept: SafeReader,
    machine: str,
    filters: Filter,
    query: str | None,
    fields: FieldNames | None,
    *,
    is_regex: bool,
) -> list[LostSession]:
    """Lost sessions that pass a filter and, if there is a query, match it."""
    found = lost_sessions(connection, kept, machine, filters._replace(moves=moves(connection)))
    return found if query is None else search_lost(found, query, chosen_fields(fields), is_regex=is_regex)


def search_lost(
    lost: Sequence[LostSession], query: str, fields: frozenset[Field], *, is_regex: bool = False
) -> list[LostSession]:
    """Lost sessions whose summary or first prompt matches."""
    if is_regex:
        tried = BoundedPattern(query).try_each(each.text for each in lost)
        return [each for each, answer in zip(lost, tried, strict=False) if answer.is_found]
    noted = [Noted(each.text, (number,)) for number, each in enumerate(lost)]
    # All a lost session has is its title, so a search in other fields, such as prompts, covers it too.
    expression = parse(query, fields | {Field.TITLE}).match
    return [lost[each.sessions[0]] for each in matching(noted, expression)]


def _entries(
    connection: sqlite3.Connection, kept: SafeReader, machine: str, sources: Sequence[str]
) -> Iterator[IndexEntry]:
    gone = forgotten(connection)
    for row in files_of_kind(connection, "index"):
        if sources and not any(row.path.is_relative_to(source) for source in sources):
            continue
        index = decode_side_file(kept.left_of(row).content, SessionsIndex)
        for entry in index.entries if index is not None else ():
            path = entry.full_path
            if entry.is_sidechain or (path is not None and (file_key(machine, path) in gone or _is_there(path))):
                continue
            yield entry


def _is_there(path: str) -> bool:
    """Whether the transcript still exists: one outside the sources is not lost."""
    return os.path.lexists(path) if "\0" not in path else False


def _lost(entry: IndexEntry) -> LostSession | None:
    if not entry.session_id:
        return None
    return LostSession(
        id=entry.session_id,
        project=entry.project_path,
        summary=entry.summary,
        first_prompt=entry.first_prompt,
        git_branch=entry.git_branch or None,
        started=parse_time(entry.created),
        ended=parse_time(entry.modified) or parse_time(entry.file_mtime),
        messages=entry.message_count,
    )


def _passes(each: LostSession, filters: Filter) -> bool:
    return (
        filters.keeps_project(each.project)
        and filters.keeps_folder(each.project)
        and filters.keeps_time(each.ended)
        and (filters.git_branch is None or filters.git_branch == each.git_branch)
    )
