"""The file with this machine's id, and giving the id to existing rows when an archive first gets one."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from reread.errors import StoreError
from reread.home import this_machine, write_durably

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FILE = "machine.json"
KNOWN = "known_machines.json"
"""What is known of other machines; `exchange/keys.py` writes it."""
_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Machine(NamedTuple):
    id: str
    label: str
    """What a person calls it; the host name unless they chose another."""
    names: tuple[str, ...] = ()
    """What it is called as well: in a team's store, each person may have another label for it."""


def read_file(home: Path) -> Machine | None:
    """None if there is no file, or not one that reread wrote."""
    try:
        found: Mapping[str, Any] = json.loads((home / FILE).read_bytes())
        number, label = found["id"], found["label"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    is_whole = isinstance(number, str) and isinstance(label, str) and number != ""
    return Machine(number, label) if is_whole else None


def write_file(home: Path, machine: Machine) -> None:
    try:
        write_durably(home / FILE, json.dumps({"id": machine.id, "label": machine.label}, indent=1))
    except OSError as error:
        raise StoreError(f"{home / FILE}: cannot be written ({error.strerror or error})") from error


def add_own_machine(connection: sqlite3.Connection) -> None:
    """Gives a new index the machine of its folder."""
    home = Path(connection.execute("PRAGMA database_list").fetchone()[2]).parent
    known = read_file(home) or Machine(_id_in_safe(home) or _new_id(), this_machine())
    connection.execute("INSERT INTO machine VALUES (?, ?, 1)", (known.id, known.label))


def _id_in_safe(home: Path) -> str | None:
    """The id in the pieces, if it is the only one besides those of machines that a pull got to know: for when file and
    database are both lost."""
    folder = home / "safe"
    if not folder.is_dir():  # a new archive must not wait for the import of the safe
        return None
    from reread.safe.safe import FoundPiece, Safe

    found = {each.header.machine for each in Safe(folder).scan() if isinstance(each, FoundPiece)} - _known_others(home)
    only = found.pop() if len(found) == 1 else ""
    return only if _ID.fullmatch(only) else None


def _known_others(home: Path) -> set[str]:
    try:
        return set(json.loads((home / KNOWN).read_bytes())["keys"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return set()


def _new_id() -> str:
    from uuid import uuid4

    return str(uuid4())
