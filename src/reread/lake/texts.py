"""Looks for words in the text of a lake: a plain scan of some months, whose cost is known before it begins."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

import pyarrow as pa
from msgspec import Struct

from .delta import DeltaLake
from .tables import MONTH, WORDS

FOUND = """
SELECT session.id, session.project, session.title, text.uuid, text.field, text.time, text.text
FROM text JOIN session ON session.key = text.session
WHERE text.month IN (SELECT unnest(?)) AND text.session IN (SELECT unnest(?)) AND list_contains(?, text.field)
    AND (text.time >= ? OR ? IS NULL) AND (text.time < ? OR ? IS NULL) {0}
QUALIFY row_number() OVER (PARTITION BY coalesce(text.uuid, text.file || text.position), text.part, text.field
    ORDER BY session.ended, session.started, session.key) = 1
ORDER BY text.time DESC NULLS LAST, text.position DESC
"""
"""What a fork repeats is found once: in the session that was over first, as in an archive."""
HAS_WORD = " AND contains(lower(text.text), lower(?))"


class TextQuestion(Struct, frozen=True, kw_only=True):
    """Words, all of which must stand in one text, as they are written but for capitals."""

    words: Sequence[str]
    fields: Collection[str]
    since: datetime | None = None
    until: datetime | None = None
    limit: int = 20


class ScanCost(Struct, frozen=True, kw_only=True):
    """What will be read of a month's text."""

    month: str
    files: int
    bytes: int


class FoundText(Struct, frozen=True, kw_only=True):
    session: str
    project: str | None
    title: str | None
    uuid: str | None
    field: str
    time: datetime | None
    text: str


def scan_costs(lake: DeltaLake, months: Collection[str]) -> list[ScanCost]:
    """By month what there is to read; from the log alone."""
    if WORDS.name not in lake.versions:
        return []
    found: dict[str, list[int]] = {}
    for file in pa.table(lake.table(WORDS.name).get_add_actions(flatten=True)).to_pylist():
        found.setdefault(file[f"partition.{MONTH}"], []).append(file["size_bytes"])
    return [
        ScanCost(month=month, files=len(sizes), bytes=sum(sizes))
        for month, sizes in sorted(found.items())
        if month in months
    ]
