"""The ledger: which row of which file counts for every API response, kept right whenever a file changes."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from reread.pricing import Prices, Rated
from reread.sessions import Copy, home_and_winner

from .rows import Circumstance, FileBatch
from .times import moment
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


_INSERT = f"INSERT INTO request VALUES ({', '.join('?' * 26)})"  # noqa: S608


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
            [
                (file, row.key, row.request_id, numbers[row.circumstance], *msgspec.structs.astuple(row)[3:], 0)
                for row in batch.requests
            ],
        )
        times = [row.time for row in batch.requests if row.time is not None]
        span = (min(times, default=None), max(times, default=None))
        self._connection.execute("UPDATE file SET first_request = ?, last_request = ? WHERE id = ?", (*span, file))
        self._quarters.update(quarter(row.time) for row in batch.requests)
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
            [(name, *chosen) for name, chosen in chosen_of(self._connection, copies, self._prices)],
        )


def copies_of(connection: sqlite3.Connection, key: str) -> list[Told]:
    """A response as each file tells it."""
    return [Told(*row) for row in connection.execute(f"{TOLD} WHERE key = ? ORDER BY file", (key,))]


def chosen_of(connection: sqlite3.Connection, copies: Sequence[Told], prices: Prices) -> list[tuple[str, Chosen]]:
    """What counts of a response that several files tell, and of each advisor it asked; nothing where only one does."""
    if len(copies) < 2:
        return []
    winner, chosen = choose(copies, prices)
    advice = connection.execute(f"{TOLD} WHERE file = ? AND key > ? AND key < ?", (winner.file, *_inside(winner.key)))
    told = [(each.key, advised(each, chosen, prices)) for each in map(Told._make, advice)]
    return [(winner.key, chosen), *told]


def _inside(key: str) -> tuple[str, str]:
    """Between these lie the keys of the advisors that a response asked."""
    return f"{key}{ADVISOR}", f"{key}{_AFTER_ADVISOR}"


ADVISOR = "#advisor:"
"""Stands between the key of a response and the number of an advisor it asked."""
_AFTER_ADVISOR = "#advisor;"
_SHARE = "UPDATE request SET is_shared = ? WHERE key = ? OR (key > ? AND key < ?)"
_UNSETTLE = "DELETE FROM copied WHERE key = ? OR (key > ? AND key < ?)"


def asker(key: str) -> str:
    """The key of the response an advisor was asked in; any other key is its own."""
    return key.partition(ADVISOR)[0]


def quarter(time: int | None) -> int:
    """The quarter of an hour a moment lies in."""
    return NO_QUARTER if time is None or time < 0 else time // QUARTER_MS


def told_elsewhere(connection: sqlite3.Connection, keys: Collection[str]) -> list[Told]:
    """What files other than those with some keys tell."""
    known = connection.execute("SELECT key, id FROM file")
    without = ", ".join(str(number) for key, number in known if key in keys)
    rows = connection.execute(f"{TOLD} WHERE file NOT IN ({without}) ORDER BY file")  # integers
    return [Told(*row) for row in rows]


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


class Told(NamedTuple):
    """A response as one file tells it."""

    key: str
    file: int
    is_sidechain: bool
    time: int | None
    doubt: int
    rows: int
    model: str | None
    input: int
    output: int
    cache_read: int
    cache_write_5m: int
    cache_write_1h: int
    web_searches: int
    speed: str | None
    geo: str | None
    tier: str | None
    nanodollars: int | None

    @property
    def tokens(self) -> int:
        return self.input + self.output + self.cache_read + self.cache_write_5m + self.cache_write_1h


class Chosen(NamedTuple):
    """What the copies of a response amount to together."""

    home: int
    winner: int
    time: int | None
    web_searches: int
    doubt: int
    rows: int
    files: int
    nanodollars: int | None
    saved: int | None


TOLD = f"""SELECT {", ".join(Told._fields)}
    FROM request JOIN circumstance ON circumstance.id = request.circumstance"""  # noqa: S608  our own names


def choose(copies: Sequence[Told], prices: Prices) -> tuple[Told, Chosen]:
    """The copy that counts, and the home it has. The price is that of the home copy's day."""
    places = home_and_winner([Copy(copy.output, copy.is_sidechain, copy.time) for copy in copies])
    home, winner = (copies[i] for i in places)
    searches = max(copy.web_searches for copy in copies)
    used, time = rated(winner._replace(web_searches=searches)), moment(home.time)
    return winner, Chosen(
        home=home.file,
        winner=winner.file,
        time=home.time,
        web_searches=searches,
        doubt=min(copy.doubt for copy in copies),
        rows=sum(copy.rows for copy in copies),
        files=len(copies),
        nanodollars=prices.cost(used, winner.model, time),
        saved=prices.savings(used, winner.model, time),
    )


def advised(told: Told, asked: Chosen, prices: Prices) -> Chosen:
    """An advisor's call inside the copy that counts: it goes where its response goes."""
    used, time = rated(told), moment(asked.time)
    return asked._replace(
        web_searches=told.web_searches,
        doubt=told.doubt,
        rows=told.rows,
        nanodollars=prices.cost(used, told.model, time),
        saved=prices.savings(used, told.model, time),
    )


def settled(told: Iterable[Told], prices: Prices) -> Iterator[Told]:
    """Every response once, out of what several files tell: `Ledger` without a database."""
    first: dict[str, Told] = {}
    copies: dict[str, list[Told]] = {}
    advice = []
    for each in told:
        if not each.rows:
            advice.append(each)
        elif each.key in first:
            copies.setdefault(each.key, [first[each.key]]).append(each)
        else:
            first[each.key] = each
    chosen: dict[str, Chosen] = {}
    for key, several in copies.items():
        winner, chosen[key] = choose(several, prices)
        first[key] = _as_chosen(winner, chosen[key])
    yield from first.values()
    for each in advice:
        asked = chosen.get(asker(each.key))
        if asked is None:
            yield each
        elif asked.winner == each.file:
            yield _as_chosen(each, advised(each, asked, prices))


def _as_chosen(told: Told, chosen: Chosen) -> Told:
    return told._replace(
        time=chosen.time,
        web_searches=chosen.web_searches,
        doubt=chosen.doubt,
        rows=chosen.rows,
        nanodollars=chosen.nanodollars,
    )


def rated(told: Told) -> Rated:
    return Rated(
        input=told.input,
        output=told.output,
        cache_read=told.cache_read,
        cache_write_5m=told.cache_write_5m,
        cache_write_1h=told.cache_write_1h,
        web_searches=told.web_searches,
        speed=told.speed,
        geo=told.geo,
        tier=told.tier,
    )
