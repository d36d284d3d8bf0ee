"""`push`: sends what this machine's part of the folder lacks."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Set
from pathlib import Path
from typing import TypeGuard

from msgspec import Struct
from msgspec.structs import replace

from reread.errors import RereadError, SafeDamaged, printable
from reread.home import make_private, sync_folder
from reread.index import read
from reread.index.backup_files import full_piece, shared_digest
from reread.index.machine_file import Machine
from reread.index.safe_reader import LOST
from reread.index.user_data import forgotten_rows, mark_notes
from reread.safe.packs import Pack, PackFolder, PackWriter, walk
from reread.safe.pieces import Damage, FoundPiece, PieceHeader, encode_piece, seal
from reread.safe.safe import Safe

from .folder import (
    LARGEST_PACK,
    PACK_LIMIT,
    PART,
    Journal,
    PieceName,
    is_forgotten,
    other_parts,
    own_part,
    packs_in,
    piece_name,
    write_journal,
)
from .keys import signed


class Pushed(Struct, frozen=True, kw_only=True):
    """The result of a push, counted in sessions of this machine."""

    target: Path
    sent: int
    unchanged: int
    failed: int
    bytes_sent: int
    problems: list[str]
    """One sentence for each thing that could not be sent."""


def push(
    connection: sqlite3.Connection,
    safe: Safe,
    machine: Machine,
    folder: Path,
    sessions: Set[int] | None = None,
    *,
    is_dry: bool = False,
    is_full: bool = False,
) -> Pushed:
    """Sends what this machine's part of the folder lacks, of some sessions or all; the caller holds the lock.

    With `is_full` every byte that is already there is verified, and what is damaged is sent again.
    """
    own = own_part(folder, machine.id)
    try:
        if not is_dry:
            make_private(own)
            _clear(own, set(read.forgotten(connection)), is_full=is_full)
        there = set(_names_in(own, is_full=is_full))
        outgoing = _Outgoing(safe, machine, there, read.sessions_by_key(connection), sessions)
        size = sum(map(len, outgoing)) if is_dry else _write_packs(own, outgoing)
        if not is_dry:
            home = safe.folder.parent
            write_journal(own, _journal(connection, machine, own), lambda text: signed(home, machine.id, text))
    except OSError as error:
        raise RereadError(f"{printable(str(own))}: cannot be written ({error.strerror or error})") from error
    return Pushed(
        target=folder,
        sent=len(outgoing.sent - outgoing.failed),
        unchanged=len(outgoing.seen - outgoing.sent - outgoing.failed),
        failed=len(outgoing.failed),
        bytes_sent=size,
        problems=outgoing.problems,
    )


class _Outgoing:
    """The pieces of this machine that the folder lacks, encoded as they are written there; notes which sessions they
    belong to."""

    def __init__(
        self,
        safe: Safe,
        machine: Machine,
        there: Set[PieceName],
        sessions: Mapping[str, int | None],
        wanted: Set[int] | None,
    ) -> None:
        self._safe, self._machine, self._there = safe, machine, there
        self._sessions, self._wanted = sessions, wanted
        self.seen: set[int] = set()
        self.sent: set[int] = set()
        self.failed: set[int] = set()
        self.problems: list[str] = []

    def __iter__(self) -> Iterator[bytes]:
        there = set(self._there)
        for each, donor in self._with_donors():
            session = self._sessions.get(each.file)
            if session is not None:
                self.seen.add(session)
            name = piece_name(each.header) if donor is None else (*piece_name(each.header)[:3], donor.header.sha256)
            if name in there:
                continue
            there.add(name)
            piece = self._encoded(each, donor)
            if piece is not None:
                if session is not None:
                    self.sent.add(session)
                yield piece

    def _with_donors(self) -> Iterator[tuple[FoundPiece, FoundPiece | None]]:
        """The wanted pieces of this machine. One that only refers to bytes that the folder does not get comes with the
        piece that has them."""
        found = [each for each in self._safe.scan() if self._is_sound(each)]
        full = [each for each in found if not shared_digest(each.header)]
        bytes_of = {each.header.sha256: each for each in full}
        own = {piece_name(each.header): each for each in full if self._is_own(each)}
        at_home = {each.header.sha256 for name, each in own.items() if self._is_wanted(each) or name in self._there}
        for each in filter(self._is_wanted, filter(self._is_own, found)):
            digest = shared_digest(each.header)
            if digest is None:
                yield each, None
            # What shared the bytes of a forgotten session is there twice: then the piece with the bytes is sent.
            elif piece_name(each.header) not in own:
                yield each, None if digest in at_home else bytes_of.get(digest)

    def _is_own(self, found: FoundPiece) -> bool:
        return found.header.machine == self._machine.id

    def _is_wanted(self, found: FoundPiece) -> bool:
        return self._wanted is None or self._sessions.get(found.file) in self._wanted

    def _is_sound(self, found: FoundPiece | Damage) -> TypeGuard[FoundPiece]:
        """Whether a piece can be sent. A line that replaces lost bytes is not part of the file, so it is not sent."""
        if isinstance(found, Damage):
            self._fail(found.file, found.path or "a piece of the safe", found.reason)
        elif LOST in found.header.more:
            self._fail(found.file, found.header.path, "some of its bytes were lost")
        return isinstance(found, FoundPiece) and LOST not in found.header.more

    def _encoded(self, found: FoundPiece, donor: FoundPiece | None) -> bytes | None:
        """The piece, verified first so that damage does not spread. If it only refers to bytes in a piece that
        the folder does not get (`donor`), of another machine or session, those bytes are sent with it."""
        header = replace(found.header, machine=self._machine.id)
        try:
            _, raw = self._safe.piece((donor or found).place)
        except SafeDamaged as damage:
            self._fail(header.file, header.path, damage.reason)
            return None
        if donor is not None:
            header = full_piece(header)
        return encode_piece(*seal(header, raw))

    def _fail(self, key: str | None, path: str, reason: str) -> None:
        session = self._sessions.get(key or "")
        if session is not None:
            self.failed.add(session)
        self.problems.append(f"{printable(path)} cannot be sent: {reason}")


def pushed_files(folder: Path) -> dict[str, int]:
    """How far each file lies unencrypted in a folder, by its key, whichever machine pushed it."""
    found: dict[str, int] = {}
    for part in other_parts(folder, "") if folder.is_dir() else ():
        for header in _headers_in(part, is_full=False):
            found[header.file] = max(found.get(header.file, 0), header.start + header.length)
    return found


def _headers_in(own: Path, *, is_full: bool) -> list[PieceHeader]:
    pieces = (
        found
        for number, path in packs_in(own).items()
        for found in walk(path, number, proved=is_full, most=LARGEST_PACK)
    )
    return [found.header for found in pieces if isinstance(found, FoundPiece)]


def _names_in(own: Path, *, is_full: bool) -> Iterator[PieceName]:
    """The names of the pieces in a machine's part of the folder, from their headers; without those that refer to bytes
    that are not there."""
    headers = _headers_in(own, is_full=is_full)
    there = {header.sha256 for header in headers if not shared_digest(header)}
    for header in headers:
        digest = shared_digest(header)
        if digest is None or digest in there:
            yield piece_name(header)


def _write_packs(own: Path, pieces: Iterable[bytes]) -> int:
    """Writes packs, each of which gets its final name once all of it is on the disk; gives how many bytes they have."""
    number, size, total = max(packs_in(own), default=0) + 1, 0, 0
    writer: PackWriter | None = None
    try:
        for piece in pieces:
            if writer is not None and size + len(piece) > PACK_LIMIT:
                _finish(own, writer)
                writer, number, size = None, number + 1, 0
            if writer is None:
                writer = PackWriter(_part(own, number), number, is_new=True)
            writer.append(piece)
            size, total = size + len(piece), total + len(piece)
        if writer is not None:
            _finish(own, writer)
            writer = None
    finally:
        if writer is not None:
            writer.close()
    return total


def _part(own: Path, number: int) -> Path:
    final = PackFolder(own).pack(number)
    return final.with_name(final.name + PART)


def _finish(own: Path, writer: PackWriter) -> None:
    writer.sync()
    writer.close()
    _part(own, writer.number).replace(PackFolder(own).pack(writer.number))
    sync_folder(own)


def _clear(own: Path, forgotten: Set[str], *, is_full: bool) -> None:
    """Removes what an interrupted push left, what was forgotten since, and what is damaged. A pack is rewritten
    without it, then the old one is deleted; if interrupted in between, some pieces exist twice, which does no harm."""
    for left in own.glob(f"*{PART}"):
        left.unlink()
    for number, path in packs_in(own).items():
        pieces = list(walk(path, number, proved=is_full, most=LARGEST_PACK))
        kept = [
            each.place for each in pieces if isinstance(each, FoundPiece) and not is_forgotten(each.header, forgotten)
        ]
        if len(kept) < len(pieces):
            if kept:
                with Pack(path, number, LARGEST_PACK) as pack:
                    _write_packs(own, (pack.bytes(place.offset, place.stored) for place in kept))
            path.unlink()
            sync_folder(own)


def _journal(connection: sqlite3.Connection, machine: Machine, own: Path) -> Journal:
    return Journal(
        machine=machine.id,
        label=machine.label,
        packs={path.name: path.lstat().st_size for path in packs_in(own).values()},
        marks=mark_notes(connection),
        forgotten=sorted(forgotten_rows(connection)),
    )
