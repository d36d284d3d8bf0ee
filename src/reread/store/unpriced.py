"""Which models of the archive have requests without a price."""

from __future__ import annotations

import sqlite3

UNPRICED = """
    SELECT model, count(*), sum(input + output + cache_read + cache_write_5m + cache_write_1h) AS tokens
    FROM response JOIN circumstance ON circumstance.id = response.circumstance
    WHERE nanodollars IS NULL GROUP BY model ORDER BY tokens DESC, model
"""


def unpriced_models(connection: sqlite3.Connection) -> list[tuple[str | None, int, int]]:
    """Model as the transcripts name it, requests and tokens, the most tokens first; each response counts once, as
    its winning copy tells it."""
    return list(connection.execute(UNPRICED))
