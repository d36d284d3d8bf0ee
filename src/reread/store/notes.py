"""Small facts about the archive itself."""

from __future__ import annotations

import sqlite3

PRICES = "prices"
"""Digest of the prices all money was counted with."""
PRICE_FILES = "price_files"
"""How their files looked then."""
REBUILD = "rebuild"
"""Whether an index that is made anew is whole; nothing where it never was."""
FOLDED = "folded"
"""Whether copies that an earlier version kept as sessions of their own were looked for."""
EXTRACTOR = 2
"""Version of what makes rows out of lines; a file with rows of an older one is read anew from the safe. 2: rows without
any id are named by the first line of their file."""
_MADE_BY = "extractor"
"""The version that made all rows."""
LEFT_OUT = "left_out"
"""Sessions that the last walk left out, because somebody had forgotten them: a JSON object, with when that was."""
SECRETS = "secrets"
"""The key with which this archive tells the same secret again."""
BEGUN, DONE = "begun", "done"
FIRST = "first"
"""That the safe was empty when this index took its first pieces: whatever is in it, this index has taken."""
ORDER = "order"
"""The number of the last sync that took pieces; see `piece_order`."""


def read(connection: sqlite3.Connection, name: str) -> str | None:
    found = connection.execute("SELECT value FROM note WHERE name = ?", (name,)).fetchone()
    return None if found is None else str(found[0])


def write(connection: sqlite3.Connection, name: str, value: str) -> None:
    connection.execute("INSERT OR REPLACE INTO note VALUES (?, ?)", (name, value))


def left_out(connection: sqlite3.Connection) -> list[tuple[str, int]]:
    """Sessions that were forgotten and met again by the last walk, and when they were forgotten."""
    import json

    return [(session, at) for session, at in json.loads(read(connection, LEFT_OUT) or "{}").items()]


def keep_left_out(connection: sqlite3.Connection, sessions: dict[str, int]) -> None:
    import json

    text = json.dumps(sessions)
    if (read(connection, LEFT_OUT) or "{}") != text:
        write(connection, LEFT_OUT, text)


def is_outdated(connection: sqlite3.Connection) -> bool:
    """Whether an older version may have made some of the rows."""
    return read(connection, _MADE_BY) != str(EXTRACTOR)


def keep_renewed(connection: sqlite3.Connection) -> None:
    """Notes that this version made all rows."""
    write(connection, _MADE_BY, str(EXTRACTOR))


def is_half_made(connection: sqlite3.Connection) -> bool:
    """Whether a rebuild did not come to its end."""
    return read(connection, REBUILD) == BEGUN


def last_order(connection: sqlite3.Connection) -> int:
    said = read(connection, ORDER)
    return int(said) if said is not None and said.isdecimal() else 0


def count_order(connection: sqlite3.Connection, number: int) -> None:
    """What was given to pieces is never given to later ones."""
    if number > last_order(connection):
        write(connection, ORDER, str(number))
