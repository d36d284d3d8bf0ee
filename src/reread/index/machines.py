"""Which machine this is: a random id, made once and kept in the archive's folder; the host name is only a label.

Rows and pieces have the id. It is kept both in a file and in the database, so that either can restore the other.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from reread.errors import BadInput, StoreError

from .database import FILE_NAME, connect, last_set_aside, transaction
from .machine_file import Machine, read_file, write_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

LONGEST_LABEL = 60
SHOWN_OF_ID = 8
"""How many letters of an id are shown if two machines have the same label."""


def own_machine(connection: sqlite3.Connection, home: Path, *, may_write: bool = True) -> Machine:
    """The machine of this archive. If its file is gone or differs, it is written again from the rows."""
    found = kept_machine(connection)
    if found is None:
        raise StoreError(f"{home / FILE_NAME}: does not say which machine it is of; `reread archive rebuild` helps")
    if may_write and read_file(home) != found:
        write_file(home, found)
    return found


def kept_machine(connection: sqlite3.Connection) -> Machine | None:
    """The machine of this archive as the database has it."""
    row = connection.execute("SELECT id, label FROM machine WHERE is_own ORDER BY id LIMIT 1").fetchone()
    return None if row is None else Machine(*row)


def machines(connection: sqlite3.Connection) -> list[Machine]:
    """All machines with sessions here, this one first; one without a row of its own has its name as its label."""
    rows = connection.execute("SELECT id, label FROM machine ORDER BY is_own DESC, label, id")
    known = [Machine(*row) for row in rows]
    others = connection.execute(
        """SELECT machine FROM session WHERE machine NOT IN (SELECT id FROM machine) UNION
           SELECT machine FROM file_copy WHERE machine NOT IN (SELECT id FROM machine) ORDER BY 1"""
    )
    return known + [Machine(name, name) for (name,) in others]


def shown_names(known: Sequence[Machine]) -> dict[str, str]:
    """By id, what reports call a machine: its label, with a part of its id if another has the same label."""
    called = [each.label for each in known]
    return {
        each.id: each.label if called.count(each.label) == 1 else f"{each.label} ({each.id[:SHOWN_OF_ID]})"
        for each in known
    }


def ids_called(known: Sequence[Machine], name: str) -> list[str]:
    """Ids of the machines with this label, id, another name or the name in reports, else those whose id begins so.

    Raises BadInput if there is none.
    """
    shown = shown_names(known)
    word = name.lower()
    found = [each.id for each in known if word in map(str.lower, (each.id, each.label, shown[each.id], *each.names))]
    found = found or [each.id for each in known if word and each.id.lower().startswith(word)]
    if not found:
        raise BadInput(f"no machine is called {name!r}; there is {', '.join(shown.values()) or 'none'}")
    return found


def sessions_on(connection: sqlite3.Connection, ids: Sequence[str]) -> list[int]:
    """Sessions that are or were on machines with these ids, perhaps on others as well."""
    marks = ", ".join("?" * len(ids))
    rows = connection.execute(
        f"""SELECT id FROM session WHERE machine IN ({marks}) UNION
            SELECT session FROM file_copy JOIN file ON file.id = file_copy.file
            WHERE file_copy.machine IN ({marks}) AND session IS NOT NULL""",  # noqa: S608  question marks
        (*ids, *ids),
    )
    return [number for (number,) in rows]


def set_label(connection: sqlite3.Connection, home: Path, label: str) -> Machine:
    """Changes the label of this machine."""
    label = " ".join(label.split())
    if not label or len(label) > LONGEST_LABEL or not label.isprintable():
        raise BadInput(f"a machine's label is one line of 1 to {LONGEST_LABEL} letters")
    with transaction(connection):
        connection.execute("UPDATE machine SET label = ? WHERE is_own", (label,))
    return own_machine(connection, home)


def take_id(connection: sqlite3.Connection, home: Path, number: str) -> None:
    """Makes a name that was given for this machine its id, if nothing was imported yet."""
    if connection.execute("SELECT 1 FROM file UNION ALL SELECT 1 FROM machine WHERE id = ?", (number,)).fetchone():
        return
    with transaction(connection):
        connection.execute("UPDATE machine SET id = ? WHERE is_own", (number,))
    own_machine(connection, home)


def learn_machine(connection: sqlite3.Connection, number: str, label: str) -> None:
    """Adds another machine whose sessions are, or will be, here, or changes its label."""
    with transaction(connection):
        keep_machines(connection, [(number, label)])


def keep_machines(connection: sqlite3.Connection, rows: Iterable[tuple[str, str]]) -> None:
    """Stores ids and labels of other machines; call it inside a transaction."""
    connection.executemany(
        """INSERT INTO machine VALUES (?, ?, 0)
           ON CONFLICT (id) DO UPDATE SET label = excluded.label WHERE NOT is_own""",
        rows,
    )


def drop_machine(connection: sqlite3.Connection, number: str) -> None:
    """Removes the label of another machine; all that was written before is durable then."""
    with transaction(connection, durable=True):
        connection.execute("DELETE FROM machine WHERE id = ? AND NOT is_own", (number,))


def other_machines(connection: sqlite3.Connection) -> list[tuple[str, str]]:
    return connection.execute("SELECT id, label FROM machine WHERE NOT is_own").fetchall()


def keep_file(home: Path) -> None:
    """Before a database is rebuilt, writes a missing machine file from the old database or one that was set aside."""
    if read_file(home) is not None:
        return
    for name in filter(None, (FILE_NAME, last_set_aside(home))):
        try:
            connection = connect(home, read_only=True, name=name, any_version=True)
        except StoreError:
            continue
        try:
            found = kept_machine(connection)
        except (sqlite3.Error, ValueError):
            found = None
        finally:
            connection.close()
        if found is not None:
            write_file(home, found)
            return
