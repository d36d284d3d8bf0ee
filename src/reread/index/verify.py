"""Proves what is kept: every byte of the safe, a piece for every row, a row for every piece, sums that add up.

Some errors are repaired: a row whose piece is elsewhere in the safe gets its new place before anything counts as lost.

SQLite checks the structure of its pages, not their content: from a damaged page it may return any value of any type.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from msgspec import Struct

from reread import sources
from reread.billing import Prices
from reread.billing.response import Response
from reread.errors import RereadError, SafeDamaged, printable
from reread.features import friction
from reread.safe.pieces import PieceHeader, digest
from reread.safe.safe import Damage, PiecePlace, Safe
from reread.times import EARLIEST, LATEST, moment

from . import meta, schema
from .backup_files import shared_digest
from .database import transaction
from .findings import are_prompts, is_material
from .gate import Gate, Sorted, safe_gate, sentences, unknown_kind
from .ledger import REPORTED, SessionSums, asker, copies_of, money_of, session_sums, settled_rows
from .machines import machines, shown_names
from .meta import as_path
from .places import PLACE
from .safe_reader import LOST, Piece, SafeReader
from .usage_sums import NO_QUARTER, QUARTER_MS, wrong_cells

_WITH_CACHING = f"SELECT saved, rebuilt, premium, {REPORTED.removeprefix('SELECT ')} ORDER BY request.file, request.key"
_NO_CAPTURE = "NOT EXISTS (SELECT 1 FROM file WHERE file.session = session.id AND kind = 'capture')"
"""Sessions with captures have figures that are not sums of their rows."""
_MISCOUNTED = f"""
    SELECT uuid FROM session LEFT JOIN (
        SELECT session AS id, count(DISTINCT id) AS calls FROM tool_call GROUP BY session
    ) USING (id) LEFT JOIN (
        SELECT session AS id, count(*) AS typed FROM prompt JOIN file ON file.id = prompt.file GROUP BY session
    ) USING (id)
    WHERE {_NO_CAPTURE} AND (prompts, tool_calls) IS NOT (ifnull(typed, 0), ifnull(calls, 0))"""  # noqa: S608
"""Sessions whose prompts or calls are not as many as their rows; a call may be told in several files."""
_MONEY = 2
"""How many columns at the end of `copied` are money: the cost of a response, and what the cache saved."""


def wrong_sums(connection: sqlite3.Connection, prices: Prices) -> Iterator[str]:
    """A sentence for every figure in the index that does not follow from the rows it is made of.

    Money is not checked if it was counted with other prices: the next sync counts it again.
    """
    is_priced = meta.read_note(connection, meta.PRICES) == prices.digest
    if is_priced:
        yield from _responses(connection, prices)
    yield from _copies(connection, prices, is_priced=is_priced)
    yield from _sessions(connection, prices, is_priced=is_priced)
    for (uuid,) in connection.execute(_MISCOUNTED):
        yield f"index: the counts of session {printable(as_path(uuid))} are not those of its prompts and calls"
    for quarter, model in wrong_cells(connection):
        at = None if quarter == NO_QUARTER else moment(quarter * QUARTER_MS)
        when = "without a time" if at is None else f"of {at:%Y-%m-%d %H:%M} UTC"
        yield f"index: the sums {when} for {printable(model) or 'no model'} are not those of their responses"


def _responses(connection: sqlite3.Connection, prices: Prices) -> Iterator[str]:
    for saved, rebuilt, premium, *values in connection.execute(_WITH_CACHING):
        response = Response(*values)
        if money_of(response, rebuilt, prices) != (response.nanodollars, saved, premium):
            yield f"index: the cost of response {printable(response.key)} is not that of its tokens"


def _copies(connection: sqlite3.Connection, prices: Prices, *, is_priced: bool) -> Iterator[str]:
    """Checks that responses in several files count once, and that their rows are marked as shared."""
    several = "SELECT key FROM request WHERE rows > 0 GROUP BY key HAVING count(*) > 1"
    keys = {key for (key,) in connection.execute(several)}
    compared = None if is_priced else -_MONEY
    counted = {row[0]: row[:compared] for row in connection.execute("SELECT * FROM copied")}
    right = {
        str(row[0]): row[:compared]
        for key in keys
        for row in settled_rows(connection, key, copies_of(connection, key), prices)
    }
    wrong = {name for name in right.keys() | counted.keys() if right.get(name) != counted.get(name)}
    wrong.update(
        key
        for key, is_shared in connection.execute("SELECT key, is_shared FROM request")
        if bool(is_shared) != (asker(key) in keys)
    )
    yield from (f"index: response {printable(name)} is not counted as its files tell it" for name in sorted(wrong))


def _sessions(connection: sqlite3.Connection, prices: Prices, *, is_priced: bool) -> Iterator[str]:
    counted = {each.session: each for each in session_sums(connection, prices)}
    figures = ", ".join(SessionSums._fields[1:])
    rows = connection.execute(
        f"SELECT uuid, id, {figures} FROM session WHERE {_NO_CAPTURE}"  # noqa: S608
    )
    for uuid, *values in rows:
        right = counted.get(values[0], SessionSums(values[0], 0, 0, None, 0))
        compared = len(right) if is_priced else 3
        if tuple(values[:compared]) != right[:compared]:
            yield f"index: the figures of session {printable(as_path(uuid))} are not those of its responses"


Tell = Callable[[int, int], None]
"""Is called with the number of proved bytes of the safe, and of all."""
_ProvedSpans = dict[tuple[int, int], str]
"""The digest of each proved piece, by its pack and offset."""


class Verified(Struct, frozen=True, kw_only=True):
    files: int
    bytes: int
    stored_bytes: int
    damaged: list[str]
    unnamed: list[Piece] = []
    """Whole pieces whose bytes no row of the index names."""
    left_out: list[str] = []
    """A sentence for each reason why pieces of other machines are kept and not believed."""
    mended: int = 0
    """Rows whose piece was found elsewhere in the safe and that were corrected."""
    adopted: int = 0
    """Pieces that no row named before and that got rows."""
    recounted: int = 0
    """Responses that were read again from the safe and compared with the index."""
    results_waiting: int = 0
    """Sessions whose tool results are not indexed yet."""
    is_index_sound: bool = True
    """Whether the rows of the index can be trusted; if not, nothing was compared with them."""

    @property
    def ok(self) -> bool:
        return not self.damaged

    @property
    def unnamed_bytes(self) -> int:
        return sum(header.length for header, _ in self.unnamed)


def verify(
    connection: sqlite3.Connection, safe: Safe, prices: Prices, *, may_write: bool = True, tell: Tell | None = None
) -> Verified:
    """Decompresses and hashes every piece, looks for the piece of every row, lets SQLite check its own pages, and adds
    up the sums again.

    `custody.recover` must have cleaned up after a crash before.
    """
    damaged = damaged_index(connection, may_write=may_write)
    is_damaged = bool(damaged)
    read = _read_safe(connection, safe, None if is_damaged else safe_gate(connection), tell)
    damaged += read.damaged
    mended = files = 0
    try:
        if not is_damaged:
            missing = list(_missing_bytes(connection, read.places))
            if missing and may_write and (mended := find_again(connection, safe)):
                missing = list(_missing_bytes(connection, read.places))
            damaged += missing
            damaged += wrong_sums(connection, prices)
        files = connection.execute("SELECT count(*) FROM file").fetchone()[0]
    except sqlite3.DatabaseError as error:
        damaged.append(f"database: {error}")
    return Verified(
        files=files,
        bytes=read.bytes,
        stored_bytes=read.stored,
        damaged=list(dict.fromkeys(damaged)),
        unnamed=read.unnamed,
        left_out=sentences(read.left_out, shown_names(machines(connection))) if read.left_out else [],
        mended=mended,
        is_index_sound=not is_damaged,
    )


class _SafeRead(NamedTuple):
    """What reading every byte of the safe showed."""

    stored: int
    bytes: int
    places: _ProvedSpans
    damaged: list[str]
    unnamed: list[Piece]
    left_out: list[tuple[PieceHeader, str]]


def _read_safe(connection: sqlite3.Connection, safe: Safe, gate: Gate | None, tell: Tell | None) -> _SafeRead:
    """Without a gate nothing is said about rows: those of a damaged index prove nothing about the safe, and may be of
    any type."""
    places: _ProvedSpans = {}
    damaged: list[str] = []
    unnamed: list[Piece] = []
    doubtful: list[Piece] = []
    size = done = 0
    stored = sum(safe.packs().values())
    for found in safe.verify():
        done += found.place.stored
        if tell is not None:
            tell(done, stored)
        if isinstance(found, Damage):
            damaged.append(damage_line(found))
        if found.header is None:
            continue
        places[found.place.pack, found.place.offset] = found.header.sha256
        size += found.header.length
        if gate is not None and (isinstance(gate.admit(found.header), str) or unknown_kind(found.header)):
            doubtful.append((found.header, found.place))
        elif gate is not None:
            unnamed += unnamed_pieces(connection, safe, [(found.header, found.place)])
    passed = gate.sort(doubtful) if gate is not None else Sorted([], [])
    unnamed += unnamed_pieces(connection, safe, passed.pieces)
    return _SafeRead(stored, size, places, damaged, unnamed, passed.left_out)


def damaged_index(connection: sqlite3.Connection, *, may_write: bool = True) -> list[str]:
    """What SQLite reports about its pages, and FTS5 about its own, which takes a statement that needs write access."""
    damaged = [f"database: {said}" for said in damage_of(connection)]
    if not may_write:
        return damaged
    try:
        connection.execute("INSERT INTO search(search) VALUES ('integrity-check')")
    except sqlite3.DatabaseError as error:
        damaged.append(f"database: {error}")
    return damaged


def _missing_bytes(connection: sqlite3.Connection, proved: _ProvedSpans) -> Iterator[str]:
    """Checks that every piece in the index is among the proved ones, and that pieces of a file have no gaps."""
    ends: dict[tuple[int, int], int] = {}
    for file, generation, start, length, sha256, pack, offset, path in connection.execute(
        """SELECT file, piece.generation, start, length, sha256, pack, offset, path
           FROM piece JOIN file ON file.id = piece.file ORDER BY file, piece.generation, start"""
    ):
        name = printable(as_path(path))
        if proved.get((pack, offset)) != sha256.hex():
            yield f"{name}: the piece at {offset} of pack {pack} is missing"
        if ends.get((file, generation), 0) != start:
            yield f"{name}: the bytes before {start} are not in the safe"
        ends[file, generation] = start + length
    for file, generation, taken, path in connection.execute("SELECT id, generation, taken, path FROM file"):
        if ends.get((file, generation), 0) != taken:
            yield f"{printable(as_path(path))}: the bytes before {taken} are not in the safe"


def unnamed_pieces(connection: sqlite3.Connection, safe: Safe, pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Of whole pieces, those with bytes that no row names, neither as they are nor as a part of other pieces.

    What was imported again after a sync was killed is in the safe twice and named once: nothing is missing then.
    """
    kept = SafeReader(connection, safe)
    for header, place in pieces:
        if PLACE in header.more:  # it has no bytes
            continue
        sha256 = shared_digest(header) or header.sha256
        is_named = connection.execute(
            """SELECT 1 FROM file JOIN piece ON piece.file = file.id
               WHERE key = ? AND piece.generation = ? AND start = ? AND sha256 = ?""",
            (header.file, header.generation, header.start, bytes.fromhex(sha256)),
        ).fetchone()
        if is_named is None and LOST not in header.more and not _is_kept(connection, kept, header):
            yield header, place


def _is_kept(connection: sqlite3.Connection, kept: SafeReader, header: PieceHeader) -> bool:
    """Whether pieces with rows have the same bytes at the same place in the file, or in the file it is a place of."""
    row = connection.execute(
        """SELECT id, ? FROM file WHERE key = ?
           UNION ALL
           SELECT file.id, file.generation FROM file_copy JOIN file ON file.id = file_copy.file
           WHERE file_copy.key = ?""",
        (header.generation, header.file, header.file),
    ).fetchone()
    if row is None or not header.length:
        return False
    try:
        file, generation = row
        line = kept.line(file, generation, header.start, header.length)
    except SafeDamaged:
        return False
    return len(line) == header.length and digest(line) == header.sha256


def find_again(connection: sqlite3.Connection, safe: Safe) -> int:
    """Corrects rows whose piece is not at their place, if the same piece is whole elsewhere; returns how many.

    The same piece is one with the same file, start and digest, or for backups, which share pieces, the same digest.
    """
    wanted = _not_at_their_place(connection, safe)
    found_again: dict[tuple[int, int, int], PiecePlace] = {}
    for found in safe.scan() if wanted else ():
        if (header := found.header) is not None:
            names = ((header.sha256,), (header.sha256, header.file, str(header.start)))
            rows = [row for name in names for row in wanted.get(name, ())]
            if rows and _is_whole(safe, found.place):
                found_again.update(dict.fromkeys(rows, found.place))
    with transaction(connection):
        connection.executemany(
            "UPDATE piece SET pack = ?, offset = ?, stored = ? WHERE file = ? AND generation = ? AND start = ?",
            [(place.pack, place.offset, place.stored, *row) for row, place in found_again.items()],
        )
    return len(found_again)


def _not_at_their_place(
    connection: sqlite3.Connection, safe: Safe
) -> dict[tuple[str, ...], list[tuple[int, int, int]]]:
    """File, generation and start of pieces, by what the same piece has elsewhere."""
    there = {
        (found.place.pack, found.place.offset): found.header.sha256 for found in safe.scan() if found.header is not None
    }
    wanted: dict[tuple[str, ...], list[tuple[int, int, int]]] = {}
    for file, generation, start, sha256, pack, offset, key, backup_of in connection.execute(
        """SELECT file, piece.generation, start, sha256, pack, offset, key, backup_of
           FROM piece JOIN file ON file.id = piece.file"""
    ):
        if there.get((pack, offset)) != sha256.hex():
            name = (sha256.hex(),) if backup_of is not None else (sha256.hex(), key, str(start))
            wanted.setdefault(name, []).append((file, generation, start))
    return wanted


def _is_whole(safe: Safe, place: PiecePlace) -> bool:
    try:
        safe.read(place)
    except SafeDamaged:
        return False
    return True


def damage_line(damage: Damage) -> str:
    name = printable(damage.path) if damage.path else "unknown file"
    return f"pack {damage.pack} at {damage.offset} ({name}): {damage.reason}"


def verify_without_database(safe: Safe, problem: RereadError) -> Verified:
    """What can be proved when the database cannot even be opened."""
    damaged = [f"database: {problem}"]
    size = files = 0
    for found in safe.verify():
        if isinstance(found, Damage):
            damaged.append(damage_line(found))
        else:
            size += found.header.length
            files += found.header.start == 0
    return Verified(
        files=files, bytes=size, stored_bytes=sum(safe.packs().values()), damaged=damaged, is_index_sound=False
    )


_OF_VALUES = re.compile(r"(?:CHECK constraint failed|[\w-]+ value) in (\w+)")
"""Messages of SQLite about values that the definition of a table excludes."""
_TYPES = {
    "INTEGER": ("integer", "null"),
    "REAL": ("real", "integer", "null"),
    "TEXT": ("text", "null"),
    "BLOB": ("blob", "null"),
    "ANY": ("text", "blob", "null"),
}
_TIMES = ("time", "started", "ended", "began", "at", "vanished", "resets")
_AGES = f"BETWEEN {EARLIEST} AND {LATEST}"
_LISTS = (
    *(("session", "versions"), ("session", "models"), ("session", "git_branches"), ("context", "tools")),
    ("mark", "tags"),
)
_LIST = "json_type({0}) = 'array' AND NOT EXISTS (SELECT 1 FROM json_each({0}) WHERE type <> 'text')"
_OBJECTS = (("client_total", "models"), ("friction", "details"))
_PACKED = {("source_state", "states"): "length(states) % 16 = 0"}
_ONE_OF: dict[tuple[str, str], tuple[object, ...]] = {("file", "kind"): tuple(map(str, sources.FileKind))}


def damage_of(connection: sqlite3.Connection) -> list[str]:
    """What SQLite reports about its pages, and which tables have rows that cannot be valid."""
    try:
        messages = [row[0] for row in connection.execute("PRAGMA integrity_check")]
        of_values = {each: match[1] for each in messages if (match := _OF_VALUES.match(each))}
        found = [each for each in messages if each != "ok" and each not in of_values]
        unsound = dict.fromkeys([*of_values.values(), *_unsound(connection)])
        return found or [f"the table {table} has rows that are damaged" for table in unsound]
    except sqlite3.DatabaseError as error:
        return [str(error)]


def _unsound(connection: sqlite3.Connection) -> dict[str, None]:
    bad = [table for table in schema.tables() if _bad(connection, table)]
    bad += [row[0] for row in connection.execute("PRAGMA foreign_key_check")]
    outcomes = connection.execute("SELECT prompted, material FROM session_end")
    bad += ["session_end" for prompted, material in outcomes if not (are_prompts(prompted) and is_material(material))]
    return dict.fromkeys(bad)


def drop_unsound(connection: sqlite3.Connection, tables: Iterable[str]) -> None:
    """Removes rows of these tables that cannot be valid; call it inside a transaction."""
    for table in tables:
        connection.execute(f"DELETE FROM {table} WHERE NOT ({_soundness(connection, table)})")  # noqa: S608  our own names


def _bad(connection: sqlite3.Connection, table: str) -> bool:
    asked = f"SELECT 1 FROM {table} WHERE NOT ({_soundness(connection, table)}) LIMIT 1"  # noqa: S608  our own names
    return connection.execute(asked).fetchone() is not None


def _soundness(connection: sqlite3.Connection, table: str) -> str:
    """An SQL condition that must be true of every row."""
    columns = [(name, kind) for _, name, kind, *_ in connection.execute(f"PRAGMA table_info({table})")]
    held = []
    for name, kind in columns:
        held.append(f"typeof({name}) IN {_TYPES[kind.partition(' ')[0]]}")
        if name in _TIMES and kind == "INTEGER":
            held.append(f"({name} IS NULL OR {name} {_AGES})")
        if (table, name) in (*_LISTS, *_OBJECTS):  # in a CASE, because JSON functions fail on text that is not JSON
            form = _LIST if (table, name) in _LISTS else "json_type({0}) = 'object'"
            held.append(f"({name} IS NULL OR CASE json_valid({name}) WHEN 1 THEN {form.format(name)} END IS 1)")
        if (table, name) in _ONE_OF:
            held.append(f"{name} IN {_ONE_OF[table, name]}")
        if (table, name) == ("friction", "kind"):
            held.append(f"kind IN {tuple(map(str, friction.FrictionKind))}")
        if (table, name) in _PACKED:
            held.append(_PACKED[table, name])
    return " AND ".join(held)
