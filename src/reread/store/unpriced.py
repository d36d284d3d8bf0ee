"""Which models of the archive have requests without a price."""

from __future__ import annotations

import sqlite3

UNPRICED = """
    WITH doubtful AS (SELECT DISTINCT key FROM request WHERE nanodollars IS NULL),
    ranked AS (
        SELECT model, nanodollars, input + output + cache_read + cache_write_5m + cache_write_1h AS tokens,
            row_number() OVER
                (PARTITION BY key ORDER BY output DESC, is_sidechain, time IS NULL, time, file) AS place
        FROM request WHERE key IN doubtful
    )
    SELECT model, count(*), sum(tokens) FROM ranked
    WHERE place = 1 AND nanodollars IS NULL
    GROUP BY model ORDER BY sum(tokens) DESC, model
"""


def unpriced_models(connection: sqlite3.Connection) -> list[tuple[str | None, int, int]]:
    """Model as the transcripts name it, requests and tokens, the most tokens first; each response counts once, as
    its winning copy tells it."""
    return list(connection.execute(UNPRICED))
