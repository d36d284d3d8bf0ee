"""The three things about an archive that are worth a look: what will be deleted, the dearest session, lost words."""

from __future__ import annotations

import sqlite3
from datetime import datetime, timedelta
from typing import NamedTuple

from reread.index import facts

from .listing import CleanupDays, Listed, listed_by_id

LATELY = timedelta(days=30)


class ArchiveFacts(NamedTuple):
    """What stands out; each may be missing."""

    first_deleted: Listed | None
    """The session whose transcript Claude Code deletes first."""
    dearest: Listed | None
    parts: facts.CostParts
    """Of the dearest session; all 0 without one."""
    without_text: int
    thoughts: int


def archive_facts(connection: sqlite3.Connection, until: datetime, cleanup_days: CleanupDays) -> ArchiveFacts:
    oldest = facts.oldest_transcript(connection)
    dearest = facts.dearest_session(connection, int((until - LATELY).timestamp() * 1000))
    ids = [each for each in (oldest, dearest) if each is not None]
    listed = {each.stored.id: each for each in listed_by_id(connection, ids, cleanup_days)}
    return ArchiveFacts(
        listed.get(oldest or 0),
        listed.get(dearest or 0),
        facts.cost_parts(connection, dearest or 0),
        *facts.thoughts_without_text(connection),
    )
