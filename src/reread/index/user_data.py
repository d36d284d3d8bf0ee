"""What a person said: marks, notes, moved folders, labels of moments, forgotten sessions."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from reread.errors import RereadError, StoreError
from reread.home import write_durably
from reread.marks import NO_MARK, MarkChange

from .meta import as_path, stored_path
from .moved_folders import MoveRow, keep_moves, move_rows, moves
from .schema import sql_of
from .sessions import MarkRow, all_rows, columns_of, keep_rows, marks
from .text_index import indexable


class Noted(NamedTuple):
    """Title, note and tags of one session."""

    text: str
    sessions: tuple[int, ...]
    """The session and its copies, which share them."""


def noted_words(connection: sqlite3.Connection) -> list[Noted]:
    texts = {session: mark.words for session, mark in marks(connection).items() if mark.words}
    if not texts:
        return []
    copies: dict[str, list[int]] = {}
    for number, uuid in connection.execute("SELECT id, uuid FROM session WHERE uuid IN (SELECT session FROM mark)"):
        copies.setdefault(as_path(uuid), []).append(number)
    return [Noted(text, tuple(copies[session])) for session, text in texts.items() if session in copies]


def matching(noted: Sequence[Noted], expression: str) -> list[Noted]:
    """The notes that match a full-text expression."""
    if not noted:
        return []
    with closing(sqlite3.connect(":memory:")) as index:
        index.execute(sql_of("search"))
        rows = [(number, indexable(each.text)) for number, each in enumerate(noted)]
        index.executemany("INSERT INTO search(rowid, title) VALUES (?, ?)", rows)
        found = index.execute("SELECT rowid FROM search WHERE search MATCH ? ORDER BY rowid", (expression,))
        return [noted[number] for (number,) in found]


REPLACED = "replaced"
"""The kind of a label on a secret, which names the secret instead of a line, and no session."""


def put_label(connection: sqlite3.Connection, uuid: str, kind: str, session: str | bytes, now: int) -> None:
    connection.execute("INSERT OR REPLACE INTO moment_verdict VALUES (?, ?, ?, ?)", (uuid, kind, session, now))


def take_label(connection: sqlite3.Connection, uuid: str, kind: str) -> None:
    """Removes the labels of a line; with a kind, only those for that kind or for all kinds."""
    connection.execute("DELETE FROM moment_verdict WHERE uuid = ? AND (? = '' OR kind IN (?, ''))", (uuid, kind, kind))


def labels(connection: sqlite3.Connection) -> list[tuple[Any, ...]]:
    return connection.execute("SELECT uuid, kind, session, at FROM moment_verdict").fetchall()


def keep_labels(connection: sqlite3.Connection, rows: Iterable[tuple[Any, ...]]) -> None:
    """Call it inside a transaction."""
    connection.executemany("INSERT OR REPLACE INTO moment_verdict VALUES (?, ?, ?, ?)", rows)


COPY = "marks.json"
_CONTENT = "content"
_EDGE = 1024


def change(connection: sqlite3.Connection, home: Path, sessions: Iterable[str], change: MarkChange) -> int:
    """Applies a change to the marks of some sessions; returns how many changed. Call it inside a transaction."""
    take_over_copy(connection, home)
    known = marks(connection)
    fresh = {session: change.of(known.get(session, NO_MARK)) for session in sessions}
    changed = {session: mark for session, mark in fresh.items() if mark != known.get(session, NO_MARK)}
    for session, mark in changed.items():
        if mark == NO_MARK:
            connection.execute("DELETE FROM mark WHERE session = ?", (stored_path(session),))
        else:
            keep_rows(connection, [columns_of(session, mark)])
    if changed:
        write_copy(connection, home)
    return len(changed)


class CarriedOver(NamedTuple):
    """The content of `marks.json`; empty if there is no such file, or it was not written by reread."""

    marks: list[MarkRow]
    moved: list[MoveRow]
    labels: list[tuple[Any, ...]]
    forgotten: list[tuple[str, int]]
    changed: list[tuple[Any, ...]]
    """When marks were changed or removed: without it, an old mark could win over a later one of another machine."""


_Row = TypeVar("_Row", bound=tuple[Any, ...])


def take_over_copy(connection: sqlite3.Connection, home: Path) -> None:
    """Takes over the copy's rows into empty tables; to be called before the copy is written.

    A new database that no rebuild made has no marks, and writing the copy from it would lose them. Call it inside a
    transaction.
    """
    copied = copied_in(home)
    has_times = bool(change_rows(connection))
    keep_rows(connection, copied.marks if not all_rows(connection) else [])
    keep_changes(connection, copied.changed if not has_times else [])
    keep_moves(connection, copied.moved if not move_rows(connection) else [])
    keep_labels(connection, copied.labels if not labels(connection) else [])
    keep_forgotten(connection, copied.forgotten if not forgotten_rows(connection) else [])


def keep_copied(connection: sqlite3.Connection, home: Path) -> None:
    """Adds rows that the copy has and the database lacks; call it inside a transaction."""
    copied = copied_in(home)
    new = _lacking(copied.marks, all_rows(connection))
    dated = _lacking(change_rows(connection), new)  # a new mark comes with its own time
    keep_rows(connection, new)
    keep_changes(connection, _lacking(copied.changed, dated))
    keep_moves(connection, _lacking(copied.moved, move_rows(connection)))
    keep_labels(connection, _lacking(copied.labels, labels(connection), columns=2))
    keep_forgotten(connection, _lacking(copied.forgotten, forgotten_rows(connection)))


def _lacking(rows: Iterable[_Row], there: Iterable[tuple[Any, ...]], *, columns: int = 1) -> list[_Row]:
    """The rows whose first columns no row there has."""
    known = {row[:columns] for row in there}
    return [row for row in rows if row[:columns] not in known]


def forgotten_rows(connection: sqlite3.Connection) -> list[tuple[str, int]]:
    return connection.execute("SELECT key, at FROM forgotten").fetchall()


def keep_forgotten(connection: sqlite3.Connection, rows: Iterable[tuple[str, int]]) -> None:
    """Call it inside a transaction."""
    connection.executemany("INSERT OR REPLACE INTO forgotten VALUES (?, ?)", rows)


def drop_forgotten(connection: sqlite3.Connection, keys: Iterable[str]) -> None:
    """Call it inside a transaction, after `take_over_copy`."""
    connection.executemany("DELETE FROM forgotten WHERE key = ?", [(key,) for key in keys])


class MarkNote(NamedTuple):
    """A session's mark in the form that is sent to other machines; without a mark, it was removed."""

    session: str
    at: int
    mark: dict[str, Any] | None


def mark_notes(connection: sqlite3.Connection) -> list[MarkNote]:
    known = marks(connection)
    rows = connection.execute("SELECT session, at FROM mark_change ORDER BY session").fetchall()
    return [
        MarkNote(name, at, {**known[name]._asdict(), "tags": list(known[name].tags)} if name in known else None)
        for name, at in ((as_path(session), at) for session, at in rows)
    ]


def keep_notes(connection: sqlite3.Connection, notes: Iterable[MarkNote]) -> int:
    """Takes over marks that are later than those here; returns how many changed. Call it inside a transaction.

    Of marks with the same time the one that sorts last wins, so that all machines agree.
    """
    known = {note.session: note for note in mark_notes(connection)}
    changed = 0
    for note in notes:
        row = _row({**note.mark, "session": note.session}) if note.mark is not None else None
        if (note.mark is not None and row is None) or not _is_later(note, known.get(note.session)):
            continue
        changed += note.mark != (known[note.session].mark if note.session in known else None)
        known[note.session] = note
        if row is not None:
            keep_rows(connection, [row])
        else:
            connection.execute("DELETE FROM mark WHERE session = ?", (stored_path(note.session),))
        keep_changes(connection, [(stored_path(note.session), note.at)])
    return changed


def _is_later(note: MarkNote, known: MarkNote | None) -> bool:
    if known is None:
        return True
    return (note.at, json.dumps(note.mark)) > (known.at, json.dumps(known.mark))


def change_rows(connection: sqlite3.Connection) -> list[tuple[Any, ...]]:
    return connection.execute("SELECT session, at FROM mark_change").fetchall()


def keep_changes(connection: sqlite3.Connection, rows: Iterable[tuple[Any, ...]]) -> None:
    """Stores when marks changed. Call it after the marks are written, which sets the present time, in a transaction."""
    connection.executemany("INSERT OR REPLACE INTO mark_change VALUES (?, ?)", rows)


def forget_mark(connection: sqlite3.Connection, session: str | bytes) -> None:
    """Deletes the mark of a session if no copy of it is left; call it inside the transaction that forgets it."""
    connection.execute(
        "DELETE FROM mark WHERE session = ? AND NOT EXISTS (SELECT 1 FROM session WHERE uuid = ?)", (session, session)
    )


def write_copy(connection: sqlite3.Connection, home: Path) -> None:
    """Writes a copy of all rows to a file that is whole at every moment.

    It must be called before the rows are committed: the transaction's lock keeps two writers apart. A crash in between
    leaves a change that only the file has.
    """
    rows = [{"session": session, **mark._asdict()} for session, mark in marks(connection).items()]
    moved = [{"earlier": old, "today": new} for old, new in moves(connection).pairs]
    labelled = [[uuid, kind, as_path(session), at] for uuid, kind, session, at in labels(connection)]
    changed = [[as_path(session), at] for session, at in change_rows(connection)]
    forgotten = forgotten_rows(connection)
    document = {"marks": rows, "moved": moved, "labels": labelled, "forgotten": forgotten, "changed": changed}
    text = json.dumps(document, indent=1)
    try:
        write_durably(home / COPY, text)
    except OSError as error:
        raise StoreError(f"{home / COPY}: cannot be written ({error.strerror or error})") from error


def copied_in(home: Path) -> CarriedOver:
    document = _document(home)
    marked = (_row(each) for each in document["marks"])
    moved = [[each.get("earlier"), each.get("today")] for each in document["moved"] if isinstance(each, Mapping)]
    return CarriedOver(
        [row for row in marked if row is not None],
        _stored(moved, str, str),
        _stored(document["labels"], str, str, str, int),
        _stored(document["forgotten"], str, int),
        _stored(document["changed"], str, int),
    )


def _stored(rows: Iterable[Any], *kinds: type) -> list[Any]:
    """Valid rows, as their columns store them; an edited or damaged file may also have others, with numbers of any size
    and lone surrogates."""
    found = []
    for row in rows:
        if isinstance(row, list) and [type(value) for value in row] == list(kinds):
            with suppress(UnicodeEncodeError):
                values = tuple(stored_path(value) if isinstance(value, str) else value for value in row)
                found += [values] if all(abs(value) < 1 << 63 for value in values if isinstance(value, int)) else []
    return found


def _document(home: Path) -> dict[str, list[Any]]:
    try:
        document = json.loads((home / COPY).read_bytes())
    except (OSError, ValueError, RecursionError):
        document = None
    found = document if isinstance(document, dict) else {}
    return {
        name: rows if isinstance(rows := found.get(name), list) else []
        for name in ("marks", "moved", "labels", "forgotten", "changed")
    }


def _row(each: object) -> MarkRow | None:
    """A row of marks, which a person may have edited; None if its types are wrong."""
    if not isinstance(each, Mapping) or not isinstance(each.get("session"), str):
        return None
    try:
        mark = MarkChange(
            starred=bool(each.get("starred")),
            hidden=bool(each.get("hidden")),
            typed=None if each.get("typed") is None else bool(each["typed"]),
            tags=tuple(each.get("tags") or ()),
            note=each.get("note"),
            title=each.get("title"),
        ).checked()
        return columns_of(each["session"], mark.of(NO_MARK))
    except (TypeError, AttributeError, UnicodeEncodeError, RereadError):
        return None


class ContentMark(NamedTuple):
    """The key of a forgotten transcript's content in the table `forgotten`; the content cannot be read from it."""

    size: int
    head: str
    """Digest of its first KiB, by which most other files are ruled out."""
    whole: str

    @property
    def key(self) -> str:
        return f"{_CONTENT}:{self.size}:{self.head}:{self.whole}"

    def is_met_by(self, path: Path) -> bool:
        """Whether a file begins with the forgotten content, whatever its name is."""
        try:
            with path.open("rb") as file:
                if _digest(file.read(min(_EDGE, self.size))) != self.head:
                    return False
                file.seek(0)
                return _digest(file.read(self.size)) == self.whole
        except OSError:  # reported when the file is read
            return False


def content_mark(content: bytes) -> ContentMark:
    return ContentMark(len(content), _digest(content[:_EDGE]), _digest(content))


def content_marks(keys: Iterable[str]) -> list[ContentMark]:
    """The content marks among the keys of what was forgotten; an edited copy of these may contain anything."""
    parts = (key.split(":") for key in keys if key.startswith(f"{_CONTENT}:"))
    return [ContentMark(int(part[1]), *part[2:]) for part in parts if len(part) == 4 and part[1].isdecimal()]


def _digest(raw: bytes) -> str:
    from hashlib import sha256

    return sha256(raw).hexdigest()[:32]
