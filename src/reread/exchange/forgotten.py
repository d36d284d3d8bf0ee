"""A forget that arrives from another machine: which sessions it is about, and what is kept aside for a while.

No key of another machine is believed about anything but the sessions that are here: what the person agrees to is
forgotten by this machine's own keys of it, as if they had forgotten it here.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from reread.billing import Prices
from reread.errors import SafeDamaged
from reread.home import make_private, sync_folder, write_durably
from reread.index import custody, read
from reread.index.backup_files import full_piece, shared_digest
from reread.index.database import remove_set_aside, transaction
from reread.index.machine_file import Machine
from reread.index.places import keys_of_places
from reread.index.session_files import SessionFileReader
from reread.index.sessions import StoredSession, sessions_by_id
from reread.index.user_data import ContentMark, content_mark, content_marks, drop_forgotten, take_over_copy, write_copy
from reread.ingest.captures import remove_waiting
from reread.keys import session_mark
from reread.safe.packs import Pack, PackFolder, PackWriter
from reread.safe.pieces import Damage, FoundPiece, PieceHeader, encode_piece, seal
from reread.safe.safe import Safe
from reread.sources import FileKind

from .folder import Incoming, piece_name
from .keys import KnownMachines, Proof

HANDFUL = 5
"""More sessions than these are never forgotten unasked, whoever signed that."""
DAYS = 30
"""How long what another machine forgot is kept aside here."""
_ASIDE, _ABOUT = "forgotten", "about.json"
_DAY_MS = 86_400_000


class ForgottenElsewhere(Struct, frozen=True, kw_only=True):
    """Sessions of this archive that another machine forgot."""

    id: str
    """The id of that machine."""
    machine: str
    """Its label."""
    is_proved: bool
    """Whether its journal is signed with the key that it had before."""
    sessions: list[StoredSession]
    recent: int = 0
    """How many others were forgotten for this machine in the last thirty days."""

    @property
    def is_small(self) -> bool:
        """Whether it may be applied unasked where a person looks on."""
        return self.is_proved and len(self.sessions) + self.recent <= HANDFUL


Agree = Callable[[ForgottenElsewhere], bool | None]
"""Whether the sessions are to be forgotten here too; None if nobody was there to ask."""


class AgreedForgets(NamedTuple):
    forgotten: int
    left: list[ForgottenElsewhere]
    """What nobody was asked about."""


def arrived(
    connection: sqlite3.Connection, safe: Safe, others: Sequence[Incoming], kept: Set[str]
) -> list[ForgottenElsewhere]:
    """What journals want to be forgotten and is here; without the sessions that the person chose to keep."""
    found: list[ForgottenElsewhere] = []
    met: set[int] = set()
    for each in others:
        numbers = [number for number in hit(connection, safe, each.forgotten) if number not in met]
        met.update(numbers)
        sessions = [one for one in sessions_by_id(connection, numbers) if session_mark(one.row.uuid) not in kept]
        if sessions:
            found.append(
                ForgottenElsewhere(
                    id=each.own.name,
                    machine=each.label,
                    is_proved=each.proved.proof is Proof.KNOWN,
                    sessions=sessions,
                    recent=_recent(safe.folder.parent, each.own.name),
                )
            )
    return found


def apply(
    connection: sqlite3.Connection,
    safe: Safe,
    prices: Prices,
    found: Sequence[ForgottenElsewhere],
    known: KnownMachines,
    agree: Agree | None,
    forget_answers: Callable[[str], None],
) -> AgreedForgets:
    """Forgets what the person agrees to, and keeps it aside; remembers what they want to keep."""
    forgotten, left = 0, []
    for each in found:
        answer = agree(each) if agree is not None else None
        if answer:
            aside = _keep_aside(connection, safe, each.sessions)
            before = set(read.forgotten(connection))
            forgotten += forget(connection, safe, prices, [one.id for one in each.sessions], forget_answers)
            _write_about(aside, each, set(read.forgotten(connection)) - before)
        elif answer is None:
            left.append(each)
        else:
            known.kept |= {session_mark(one.row.uuid) for one in each.sessions}
    known.save()
    return AgreedForgets(forgotten, left)


def hit(connection: sqlite3.Connection, safe: Safe, keys: Set[str], only: Set[int] | None = None) -> list[int]:
    """The sessions here that `keys` of forgotten sessions match: by one of their files, by id, or by content."""
    if not keys:
        return []
    by_key = {number for key, number in read.sessions_by_key(connection).items() if key in keys and number is not None}
    named = {number for number, uuid in read.uuids(connection) if session_mark(uuid) in keys}
    found = by_key | named | _same_content(connection, safe, content_marks(keys))
    return sorted(found if only is None else found & only)


def _same_content(connection: sqlite3.Connection, safe: Safe, marks: Sequence[ContentMark]) -> set[int]:
    sizes = {mark.size for mark in marks}
    wanted = {mark.key for mark in marks}
    files = SessionFileReader(connection, safe)
    rows = [row for row in read.files_of_kind(connection, FileKind.TRANSCRIPT) if row.taken in sizes]
    return {
        row.session
        for row in rows
        if row.session is not None and content_mark(files.left_of(row).content).key in wanted
    }


def forget(
    connection: sqlite3.Connection,
    safe: Safe,
    prices: Prices,
    sessions: Sequence[int],
    forget_answers: Callable[[str], None],
) -> int:
    """Forgets sessions one at a time; if interrupted, the next pull asks about the rest."""
    files = SessionFileReader(connection, safe)
    for stored in [each for number in sessions for each in sessions_by_id(connection, [number])]:
        remove_waiting(safe.folder.parent / "wire", stored.row.uuid)
        forget_answers(stored.row.uuid)
        custody.forget(connection, safe, files, stored, prices)
    if sessions:
        remove_set_aside(safe.folder.parent)
    return len(sessions)


def throw_out(safe: Safe, home: Path, machine: Machine) -> None:
    """Call it before the pieces of a machine are removed: it gives bytes that backups of others share to one of these,
    and notes that a pull takes nothing more from this machine."""
    found = [each for each in safe.scan() if isinstance(each, FoundPiece) and each.header.kind == FileKind.BACKUP]
    full = [each for each in found if not shared_digest(each.header)]
    there = {each.header.sha256 for each in full if each.header.machine != machine.id}
    theirs = {each.header.sha256: each.place for each in full if each.header.machine == machine.id}
    for each in found:
        digest = shared_digest(each.header)
        if digest in theirs and digest not in there and each.header.machine != machine.id:
            with suppress(SafeDamaged):  # lost to all of them
                safe.append(full_piece(each.header), safe.read(theirs[digest]))
                there.add(digest)
    safe.flush()
    known = KnownMachines(home)
    known.thrown_out[machine.id] = machine.label
    known.save()
    shutil.rmtree(home / "exchange" / machine.id, ignore_errors=True)


# -- kept aside


def _keep_aside(connection: sqlite3.Connection, safe: Safe, sessions: Sequence[StoredSession]) -> Path:
    """Copies what the safe has of sessions into a folder of its own; backups get the bytes that they share."""
    rows = [row for each in sessions for row in custody.kept_files(connection, each)]
    keys = {row.key for row in rows} | keys_of_places(connection, [row.id for row in rows])
    folder = safe.folder.parent / _ASIDE / str(time.time_ns() // 1_000_000)
    make_private(folder)
    found = [each for each in safe.scan() if isinstance(each, FoundPiece)]
    donors = {each.header.sha256: each.place for each in found if not shared_digest(each.header)}
    writer = PackWriter(PackFolder(folder).pack(1), 1)
    try:
        for each in found:
            if each.file in keys:
                digest = shared_digest(each.header)
                header = each.header if digest is None else full_piece(each.header)
                try:
                    _, raw = safe.piece(each.place if digest is None else donors.get(digest, each.place))
                except SafeDamaged:  # lost already, which verify tells
                    continue
                writer.append(encode_piece(*seal(header, raw)))
        writer.sync()
    finally:
        writer.close()
    sync_folder(folder)
    return folder


def _write_about(folder: Path, of: ForgottenElsewhere, keys: Set[str]) -> None:
    document = {"machine": [of.id], "sessions": [each.row.uuid for each in of.sessions], "keys": sorted(keys)}
    write_durably(folder / _ABOUT, json.dumps(document))


def bring_back(connection: sqlite3.Connection, safe: Safe, home: Path) -> list[str]:
    """Puts everything that is kept aside back into the safe, for the caller to adopt; gives the ids of the sessions,
    which stay from then on though another machine forgot them."""
    there = {piece_name(each.header) for each in safe.scan() if isinstance(each, FoundPiece)}
    sessions: list[str] = []
    known, folders = KnownMachines(home), _folders(home)
    for folder in folders:
        about = _about(folder)
        with transaction(connection, durable=True):
            take_over_copy(connection, home)
            drop_forgotten(connection, about["keys"])
            write_copy(connection, home)
        for header, raw in _pieces(folder):
            if piece_name(header) not in there:
                safe.append(header, raw)
                there.add(piece_name(header))
        sessions += about["sessions"]
    safe.flush()
    known.kept |= set(map(session_mark, sessions))
    known.save()
    for folder in folders:
        shutil.rmtree(folder)
    return sessions


def expire(home: Path) -> None:
    """Removes what was kept aside for long enough."""
    oldest = time.time_ns() // 1_000_000 - DAYS * _DAY_MS
    for folder in _folders(home):
        if int(folder.name) < oldest:
            shutil.rmtree(folder)


def _folders(home: Path) -> list[Path]:
    try:
        return sorted((each for each in (home / _ASIDE).iterdir() if each.name.isdecimal()), key=lambda each: each.name)
    except OSError:
        return []


def _about(folder: Path) -> dict[str, list[str]]:
    try:
        found = json.loads((folder / _ABOUT).read_bytes())
    except (OSError, ValueError, RecursionError):  # stopped before it was written: the pieces alone come back
        found = {}
    return {
        name: [each for each in found.get(name, []) if isinstance(each, str)]
        for name in ("machine", "sessions", "keys")
    }


def _recent(home: Path, machine: str) -> int:
    """How many sessions are kept aside because this machine forgot them."""
    about = (_about(folder) for folder in _folders(home))
    return sum(len(each["sessions"]) for each in about if each["machine"] == [machine])


def _pieces(folder: Path) -> Iterator[tuple[PieceHeader, bytes]]:
    for number, path in PackFolder(folder).named().items():
        with Pack(path, number) as pack:
            for found in pack.pieces():
                proved = pack.read(found.place)
                if not isinstance(proved, Damage):
                    yield proved
