"""What in the archive has no price: never counted as free, so it must be said."""

from __future__ import annotations

import sqlite3

from msgspec import Struct

from reread.store import unpriced


class UnpricedModel(Struct, frozen=True, kw_only=True):
    model: str | None
    """As the transcripts name it; None where they do not."""
    requests: int
    tokens: int


def unpriced_models(connection: sqlite3.Connection) -> list[UnpricedModel]:
    rows = unpriced.unpriced_models(connection)
    return [UnpricedModel(model=model, requests=requests, tokens=tokens) for model, requests, tokens in rows]
