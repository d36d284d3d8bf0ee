"""What was used, per day and model: every API response once, over all files."""

from __future__ import annotations

import sqlite3

from msgspec import Struct

from reread.store import reading


class UsageCell(Struct, frozen=True, kw_only=True):
    day: str | None
    """None for requests without a time."""
    model: str | None
    requests: int
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_5m_tokens: int
    cache_write_1h_tokens: int
    web_searches: int
    nanodollars: int | None
    unpriced_tokens: int


def usage_cells(connection: sqlite3.Connection, zone_offset_minutes: int) -> list[UsageCell]:
    rows = reading.usage_by_day_and_model(connection, zone_offset_minutes)
    return [UsageCell(**dict(zip(UsageCell.__struct_fields__, row, strict=True))) for row in rows]
