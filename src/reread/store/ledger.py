"""The ledger: which row of which file counts for every API response, kept right whenever a file changes."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Sequence
from operator import attrgetter

import msgspec

from reread.billing import Prices
from reread.billing.response import ADVISOR, Response
from reread.billing.settle import settle, settle_advice

from .rows import Circumstance, FileBatch
from .usage_cells import NO_QUARTER, QUARTER_MS, is_fresh, mark_stale, refresh

_NAMES = Circumstance.__struct_fields__


class Circumstances:
    """Numbers for what many requests share. There is one writer at a time, so its own memory is enough."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        rows = connection.execute(f"SELECT {', '.join(_NAMES)}, id FROM circumstance")  # noqa: S608  our own names
        self._ids: dict[tuple[object, ...], int] = {tuple(row[:-1]): row[-1] for row in rows}

    def id_of(self, circumstance: Circumstance) -> int:
        values = tuple(_stored(getattr(circumstance, name)) for name in _NAMES)
        if values not in self._ids:
            self._ids[values] = int(
                self._connection.execute(
                    f"INSERT INTO circumstance ({', '.join(_NAMES)}) VALUES ({', '.join('?' * len(_NAMES))}) RETURNING id",  # noqa: S608, E501
                    values,
                ).fetchone()[0]
            )
        return self._ids[values]


def _stored(value: object) -> object:
    return msgspec.json.encode(value).decode() if isinstance(value, tuple) else value


_AFTER_CIRCUMSTANCE = (
    *("time", "input", "output", "cache_read", "cache_write_5m", "cache_write_1h", "thinking", "web_searches"),
    *("web_fetches", "is_sidechain", "is_abandoned", "doubt", "rows", "nanodollars", "recorded", "saved", "rebuilt"),
    *("premium", "cause", "is_told", "thinking_estimate"),
)
_COLUMNS = ("file", "key", "request_id", "circumstance", *_AFTER_CIRCUMSTANCE)
_INSERT = f"INSERT INTO request ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))})"  # noqa: S608
_values = attrgetter(*_AFTER_CIRCUMSTANCE)


class Ledger:
    """Writes requests and settles which rows count, inside the caller's transactions."""

    def __init__(self, connection: sqlite3.Connection, prices: Prices) -> None:
        self._connection = connection
        self._prices = prices
        self._circumstances = Circumstances(connection)
        self._files: set[int] = set()
        self._keys: set[str] = set()
        self._quarters: set[int] = set()
        """Those whose sums may have changed since the ledger was opened."""
        self._were_fresh = is_fresh(connection)

    def replace(self, file: int, batch: FileBatch) -> None:
        """What a file tells now, in the stead of what it told before."""
        self.drop(file)
        numbers = [self._circumstances.id_of(each) for each in batch.circumstances]
        self._connection.executemany(
            _INSERT,
            [(file, row.key, row.request_id, numbers[row.circumstance], *_values(row)) for row in batch.responses],
        )
        times = [row.time for row in batch.responses if row.time is not None]
        span = (min(times, default=None), max(times, default=None))
        self._connection.execute("UPDATE file SET first_request = ?, last_request = ? WHERE id = ?", (*span, file))
        self._quarters.update(quarter(row.time) for row in batch.responses)
        self._files.add(file)

    def drop(self, file: int) -> None:
        rows = self._connection.execute("SELECT key, time, is_shared FROM request WHERE file = ?", (file,)).fetchall()
        if rows:
            self._quarters.update(quarter(time) for _, time, _ in rows)
            self._keys.update(key for key, _, is_shared in rows if is_shared)
            self._connection.execute("DELETE FROM request WHERE file = ?", (file,))

    def settle(self) -> None:
        """Decides anew about every response that a changed file tells or told together with another."""
        keys = self._keys.union(_told_by_several(self._connection, self._files))
        for key in {asker(key) for key in keys}:
            self._settle(key)
        self._files.clear()
        self._keys.clear()
        mark_stale(self._connection)

    def settle_again(self) -> None:
        """Decides anew about all that several files tell."""
        shared = self._connection.execute("SELECT DISTINCT key FROM request WHERE is_shared").fetchall()
        self._keys.update(key for (key,) in shared)
        self.settle()

    def close(self) -> None:
        """Brings the sums up to date, in a transaction of its own."""
        refresh(self._connection, self._quarters if self._were_fresh else None)

    def _settle(self, key: str) -> None:
        before = self._connection.execute("SELECT time FROM copied WHERE key = ?", (key,)).fetchall()
        copies = copies_of(self._connection, key)
        self._quarters.update(quarter(time) for (time,) in before)
        self._quarters.update(quarter(copy.time) for copy in copies)
        inside = _inside(key)
        self._connection.execute(_SHARE, (len(copies) > 1, key, *inside))
        self._connection.execute(_UNSETTLE, (key, *inside))
        self._connection.executemany(
            "INSERT INTO copied VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            settled_rows(self._connection, key, copies, self._prices),
        )


def copies_of(connection: sqlite3.Connection, key: str) -> list[Response]:
    """A response as each file tells it."""
    return [Response(*row) for row in connection.execute(f"{TOLD} WHERE request.key = ?", (key,))]


def settled_rows(
    connection: sqlite3.Connection, key: str, copies: Sequence[Response], prices: Prices
) -> list[tuple[object, ...]]:
    """Rows of `copied` for a response that several files tell and each advisor it asked; none where only one does."""
    if len(copies) < 2:
        return []
    settled = settle(copies)
    owner, counted = (_file_number(connection, name) for name in (settled.owner, settled.file))
    advice = connection.execute(
        f"{TOLD} WHERE request.file = ? AND request.key > ? AND request.key < ?", (counted, *_inside(key))
    )
    parts = [settled, *(settle_advice(Response(*row), settled) for row in advice)]
    return [_copied(prices.priced(part), owner, counted) for part in parts]


def _file_number(connection: sqlite3.Connection, key: str) -> int:
    return int(connection.execute("SELECT id FROM file WHERE key = ?", (key,)).fetchone()[0])


def _inside(key: str) -> tuple[str, str]:
    """Between these lie the keys of the advisors that a response asked."""
    return f"{key}{ADVISOR}", f"{key}{_AFTER_ADVISOR}"


def _copied(part: Response, owner: int, counted: int) -> tuple[object, ...]:
    counts = part.time, part.web_searches, part.doubt, part.rows, part.files
    return part.key, owner, counted, *counts, part.nanodollars, part.saved


_AFTER_ADVISOR = "#advisor;"
_SHARE = "UPDATE request SET is_shared = ? WHERE key = ? OR (key > ? AND key < ?)"
_UNSETTLE = "DELETE FROM copied WHERE key = ? OR (key > ? AND key < ?)"
_OF_FILE = {
    "file": "file.key",
    "head": "lower(hex(file.head))",
    "began": "file.first_request",
    "ended": "file.last_request",
}
_OF_CIRCUMSTANCE = ("model", "speed", "geo", "tier")


def columns(names: Iterable[str]) -> str:
    """Fields of `Response` as SQL over `request`, `circumstance` and `file`."""
    of_circumstance = {name: f"circumstance.{name}" for name in _OF_CIRCUMSTANCE}
    return ", ".join((_OF_FILE | of_circumstance).get(name, f"request.{name}") for name in names)


_FIELDS = Response.__struct_fields__
_TOLD = columns(_FIELDS[: _FIELDS.index("nanodollars") + 1])
TOLDS = """FROM request JOIN circumstance ON circumstance.id = request.circumstance
    JOIN file ON file.id = request.file"""
TOLD = f"SELECT {_TOLD} {TOLDS}"
"""All that decides about copies, in the order of the fields of `Response`."""


def asker(key: str) -> str:
    """The key of the response an advisor was asked in; any other key is its own."""
    return key.partition(ADVISOR)[0]


def quarter(time: int | None) -> int:
    """The quarter of an hour a moment lies in."""
    return NO_QUARTER if time is None or time < 0 else time // QUARTER_MS


def told_elsewhere(connection: sqlite3.Connection, keys: Collection[str]) -> list[Response]:
    """What files other than those with some keys tell."""
    known = connection.execute("SELECT key, id FROM file")
    without = ", ".join(str(number) for key, number in known if key in keys)
    rows = connection.execute(f"{TOLD} WHERE request.file NOT IN ({without})")  # integers
    return [Response(*row) for row in rows]


def lines_elsewhere(connection: sqlite3.Connection, keys: Collection[str]) -> int:
    """How many lines such files have."""
    return sum(lines for key, lines in connection.execute("SELECT key, lines FROM file") if key not in keys)


def _told_by_several(connection: sqlite3.Connection, files: Collection[int]) -> list[str]:
    numbers = ", ".join(map(str, files))
    rows = connection.execute(
        f"""SELECT DISTINCT one.key FROM request AS one CROSS JOIN request AS other ON other.key = one.key
            WHERE one.file IN ({numbers}) AND other.file <> one.file"""  # noqa: S608  integers
    )
    return [key for (key,) in rows]
