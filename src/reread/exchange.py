"""Several machines of one person share a folder: each puts its own pieces there and imports those of the others.

    FOLDER/MACHINE/000001.pack     pieces, as they are in the safe of that machine
    FOLDER/MACHINE/journal.json    the machine's label, its packs, its marks, and what was forgotten

A machine writes only in its own part of the folder. A file gets its final name once it is complete; a push that was
interrupted, or a folder that is still being synced, therefore shows less but never anything wrong. Pieces are compared
by content, so a push or pull can always be repeated.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import Any, NamedTuple, TypeGuard
from zlib import crc32

from msgspec import Struct
from msgspec.structs import replace

from reread.billing import Prices
from reread.errors import BadInput, RereadError, SafeDamaged, printable
from reread.home import make_home, make_private, sync_folder, write_durably
from reread.index import custody, read
from reread.index.backup_files import full_piece, shared_digest
from reread.index.database import remove_set_aside, transaction
from reread.index.gate import KEY, safe_gate, sentences, unknown_kind
from reread.index.machine_file import Machine
from reread.index.machines import learn_machine
from reread.index.meta import session_mark
from reread.index.places import PLACE, fold_copies, known_keys, part_ways
from reread.index.safe_reader import LOST
from reread.index.session_files import SessionFileReader
from reread.index.sessions import sessions_by_id
from reread.index.user_data import (
    ContentMark,
    MarkNote,
    content_mark,
    content_marks,
    forgotten_rows,
    keep_forgotten,
    keep_notes,
    mark_notes,
    take_over_copy,
    write_copy,
)
from reread.index.verify import unnamed_pieces
from reread.ingest import Report
from reread.ingest.adopt import admitted, adopt, adopt_tail
from reread.ingest.survey import remove_waiting
from reread.safe.packs import Pack, PackFolder, PackWriter, walk
from reread.safe.pieces import Damage, FoundPiece, PieceHeader, decode, encode, encode_piece, seal
from reread.safe.safe import Safe
from reread.sources import FileKind, place

JOURNAL = "journal.json"
PACK_LIMIT = 64 << 20
"""Smaller than the packs of the safe, because tools that sync folders transfer whole files."""
_PART = ".part"
_MACHINE = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_OF_ANOTHER = "they are not of the machine whose folder they are in"

PieceName = tuple[str, int, int, str]
"""Identifies a piece in any folder: file, generation, start, and its digest or the place or digest it stands for."""


class Pushed(Struct, frozen=True, kw_only=True):
    """The result of a push, counted in sessions of this machine."""

    target: Path
    sent: int
    unchanged: int
    failed: int
    bytes_sent: int
    problems: list[str]
    """One sentence for each thing that could not be sent."""


class Pulled(Struct, frozen=True, kw_only=True):
    """The result of a pull."""

    folder: Path
    machines: list[str]
    """Labels of the other machines that have pushed there."""
    sessions: int
    """How many sessions are new here, or have grown."""
    bytes_taken: int
    forgotten: int
    """Sessions that were forgotten elsewhere and now here too."""
    marks: int
    problems: list[str]
    """One sentence for each thing that could not be imported yet."""


class Journal(Struct, frozen=True, kw_only=True):
    machine: str
    label: str
    packs: dict[str, int] = {}
    """Names and sizes, which show what has not arrived yet."""
    marks: list[MarkNote] = []
    forgotten: list[tuple[str, int]] = []


def name_of(header: PieceHeader) -> PieceName:
    name = header.more.get(PLACE) or header.more.get("same") or header.sha256
    return header.file, header.generation, header.start, str(name)


def check_folder(folder: Path) -> None:
    """Raises BadInput if the folder does not exist. It is not created, because it may just not be mounted."""
    if not folder.is_dir():
        raise BadInput(f"{printable(str(folder))}: no such folder; make it first, or mount what it lies on")


# -- push


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
    own = folder / machine.id
    try:
        if not is_dry:
            make_private(own)
            _clear(own, set(read.forgotten(connection)), is_full=is_full)
        there = set(_names_in(own, is_full=is_full))
        outgoing = _Outgoing(safe, machine, there, read.sessions_by_key(connection), sessions)
        size = sum(map(len, outgoing)) if is_dry else _write_packs(own, outgoing)
        if not is_dry:
            _write_journal(own, _journal(connection, machine, own))
    except OSError as error:
        raise RereadError(f"{printable(str(own))}: cannot be written ({error.strerror or error})") from error
    left = outgoing.seen - outgoing.sent - outgoing.failed
    return Pushed(
        target=folder,
        sent=len(outgoing.sent - outgoing.failed),
        unchanged=len(left),
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
        names = {self._machine.id, *self._machine.names}
        found = [each for each in self._safe.scan() if self._is_sound(each)]
        own = [each for each in found if each.header.machine in names]
        full = {name_of(each.header) for each in own if not shared_digest(each.header)}
        # What shared the bytes of a forgotten session is there twice: then the piece with the bytes is sent.
        own = [each for each in own if not shared_digest(each.header) or name_of(each.header) not in full]
        bytes_of = {each.header.sha256: each for each in found if not shared_digest(each.header)}
        there = set(self._there)
        at_home = {
            each.header.sha256
            for each in own
            if not shared_digest(each.header) and (self._is_wanted(each) or name_of(each.header) in there)
        }
        for each in own:
            session = self._sessions.get(each.file)
            if not self._is_wanted(each):
                continue
            if session is not None:
                self.seen.add(session)
            digest = shared_digest(each.header)
            donor = bytes_of.get(digest) if digest is not None and digest not in at_home else None
            name = name_of(each.header) if donor is None else (*name_of(each.header)[:3], donor.header.sha256)
            if name in there:
                continue
            there.add(name)
            piece = self._encoded(each, donor)
            if piece is not None:
                if session is not None:
                    self.sent.add(session)
                yield piece

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


def _names_in(own: Path, *, is_full: bool) -> Iterator[PieceName]:
    """The names of the pieces in a machine's part of the folder, from their headers; without those that refer to bytes
    that are not there."""
    pieces = (found for number, path in _packs(own).items() for found in walk(path, number, proved=is_full))
    headers = [found.header for found in pieces if isinstance(found, FoundPiece)]
    there = {header.sha256 for header in headers if not shared_digest(header)}
    for header in headers:
        digest = shared_digest(header)
        if digest is None or digest in there:
            yield name_of(header)


def _packs(own: Path) -> dict[int, Path]:
    return dict(sorted(PackFolder(own).named().items()))


def _write_packs(own: Path, pieces: Iterable[bytes]) -> int:
    """Writes packs, each of which gets its final name once all of it is on the disk; gives how many bytes they have."""
    number, size, total = max(_packs(own), default=0) + 1, 0, 0
    writer: PackWriter | None = None
    try:
        for piece in pieces:
            if writer is not None and size + len(piece) > PACK_LIMIT:
                _finish(own, writer)
                writer, number, size = None, number + 1, 0
            if writer is None:
                writer = PackWriter(_part(own, number), number)
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
    return final.with_name(final.name + _PART)


def _finish(own: Path, writer: PackWriter) -> None:
    writer.sync()
    writer.close()
    _part(own, writer.number).replace(PackFolder(own).pack(writer.number))
    sync_folder(own)


def _clear(own: Path, forgotten: Set[str], *, is_full: bool) -> None:
    """Removes what an interrupted push left, what was forgotten since, and what is damaged. A pack is rewritten
    without it, then the old one is deleted; if interrupted in between, some pieces exist twice, which does no harm."""
    for left in own.glob(f"*{_PART}"):
        left.unlink()
    for number, path in _packs(own).items():
        pieces = list(walk(path, number, proved=is_full))
        kept = [
            each.place for each in pieces if isinstance(each, FoundPiece) and not _is_forgotten(each.header, forgotten)
        ]
        if len(kept) < len(pieces):
            with Pack(path, number) as pack:
                _write_packs(own, (pack.bytes(place.offset, place.stored) for place in kept))
            path.unlink()
            sync_folder(own)


def _is_forgotten(header: PieceHeader, forgotten: Set[str]) -> bool:
    if header.file in forgotten or header.more.get(PLACE) in forgotten:
        return True
    session = _session_of(header)
    return session is not None and session_mark(session) in forgotten


def _session_of(header: PieceHeader) -> str | None:
    """The session that a file belongs to, by its path."""
    path = Path(header.path)
    if header.kind == FileKind.BACKUP:
        return path.parent.name
    where = place(path)
    if where is not None:
        return where.session
    return path.stem if header.kind == FileKind.TRANSCRIPT else None


def _journal(connection: sqlite3.Connection, machine: Machine, own: Path) -> Journal:
    return Journal(
        machine=machine.id,
        label=machine.label,
        packs={path.name: path.stat().st_size for path in _packs(own).values()},
        marks=mark_notes(connection),
        forgotten=sorted(forgotten_rows(connection)),
    )


def _write_journal(own: Path, journal: Journal) -> None:
    raw = encode(journal)
    text = raw + b"\n%08x\n" % crc32(raw)
    path = own / JOURNAL
    if path.exists() and path.read_bytes() == text:
        return
    part = path.with_name(JOURNAL + _PART)
    part.unlink(missing_ok=True)
    writer = PackWriter(part, 0)
    try:
        writer.append(text)
        writer.sync()
    finally:
        writer.close()
    part.replace(path)
    sync_folder(own)


# -- pull


class _Incoming(NamedTuple):
    """Another machine's part of the folder, and what is wrong with it."""

    own: Path
    journal: Journal | None
    problems: list[str]

    @property
    def label(self) -> str:
        return self.journal.label if self.journal is not None else self.own.name


def pull(
    connection: sqlite3.Connection,
    safe: Safe,
    machine: Machine,
    folder: Path,
    prices: Prices,
    price_file: Path | None,
    report: Report | None = None,
    *,
    forget_answers: Callable[[str], None],
) -> Pulled:
    """Imports what other machines have pushed; the caller holds the lock. `forget_answers` is called with the id of
    each session that is forgotten.

    Pieces are on disk before any row names them, so the next sync or pull finds what an interrupted one left.
    """
    others = [_read(own) for own in _machines(folder) if own.name != machine.id]
    problems = [problem for each in others for problem in each.problems]
    for each in others:
        learn_machine(connection, each.own.name, each.label)
    forgotten = {key: at for each in others if each.journal for key, at in each.journal.forgotten}
    new = forgotten.keys() - read.forgotten(connection).keys()
    gone = _forget(connection, safe, prices, _hit(connection, safe, new), forget_answers)
    if new:
        with transaction(connection, durable=True):
            take_over_copy(connection, safe.folder.parent)
            keep_forgotten(connection, [(key, forgotten[key]) for key in new])
            write_copy(connection, safe.folder.parent)
    before = read.bytes_by_session(connection)
    size = _take(connection, safe, others, problems)
    adopt_tail(connection, safe, price_file, report)
    _adopt_own_ways(connection, safe, machine, price_file)
    fold_copies(connection, safe, prices)
    after = read.bytes_by_session(connection)
    fresh = {number for number, taken in after.items() if taken != before.get(number)}
    again = _hit(connection, safe, set(read.forgotten(connection)), fresh - before.keys())
    _forget(connection, safe, prices, again, forget_answers)
    noted = [note for each in others if each.journal for note in each.journal.marks]
    with transaction(connection, durable=True):
        take_over_copy(connection, safe.folder.parent)
        marks = keep_notes(connection, noted)
        if marks:
            write_copy(connection, safe.folder.parent)
    return Pulled(
        folder=folder,
        machines=[each.label for each in others],
        sessions=len(fresh - set(again)),
        bytes_taken=size,
        forgotten=gone,
        marks=marks,
        problems=problems,
    )


def _machines(folder: Path) -> list[Path]:
    try:
        return sorted(each for each in folder.iterdir() if _MACHINE.fullmatch(each.name) and each.is_dir())
    except OSError as error:
        raise RereadError(f"{printable(str(folder))}: cannot be read ({error.strerror or error})") from error


def _read(own: Path) -> _Incoming:
    path = own / JOURNAL
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        return _Incoming(
            own, None, [f"{own.name} has no journal yet; what it marked and forgot comes with a later pull"]
        )
    except OSError as error:
        return _Incoming(own, None, [f"{printable(str(path))}: cannot be read ({error.strerror or error})"])
    text, _, checksum = raw.rstrip(b"\n").rpartition(b"\n")
    journal = decode(text, Journal) if checksum == b"%08x" % crc32(text) else None
    if journal is None or journal.machine != own.name:
        return _Incoming(
            own, None, [f"{printable(str(path))}: is not whole yet; what it tells comes with a later pull"]
        )
    try:
        packs = {each.name: each.stat().st_size for each in _packs(own).values()}
    except OSError as error:
        return _Incoming(own, journal, [f"{printable(str(own))}: cannot be read ({error.strerror or error})"])
    late = [name for name, size in journal.packs.items() if packs.get(name, 0) < size]
    is_late = (
        f"{printable(journal.label)}: {', '.join(late)} did not arrive whole yet; the rest comes with a later pull"
    )
    return _Incoming(own, journal, [is_late] if late else [])


class _InSafe:
    """What the safe has: its pieces, how far each file reaches, and the digests of all bytes that backups may share."""

    def __init__(self, connection: sqlite3.Connection, safe: Safe) -> None:
        self.gate = safe_gate(connection)
        passed = self.gate.sort((found.header, found.place) for found in safe.scan() if isinstance(found, FoundPiece))
        self.names: set[PieceName] = {name_of(header) for header, _ in passed.left_out}
        self._ends: dict[tuple[str, int], int] = {}
        self._bytes: set[str] = set()
        headers = [header for header, _ in passed.pieces]
        for header in sorted(headers, key=lambda each: shared_digest(each) is not None):
            if shared_digest(header) is None or self.has_before(header):
                self.add(header)

    def add(self, header: PieceHeader) -> None:
        self.names.add(name_of(header))
        key = header.file, header.generation
        self._ends[key] = max(self._ends.get(key, 0), header.start + header.length)
        if header.kind == FileKind.BACKUP and not shared_digest(header):
            self._bytes.add(header.sha256)

    def has_before(self, header: PieceHeader) -> bool:
        """Whether it has everything that a piece needs: the bytes before it, or those that it refers to."""
        if header.kind == FileKind.BACKUP:  # one that stands for another has no length
            digest = shared_digest(header)
            return digest is None or digest in self._bytes
        return header.start <= self._ends.get((header.file, header.generation), 0)


def _take(connection: sqlite3.Connection, safe: Safe, others: Sequence[_Incoming], problems: list[str]) -> int:
    """Appends to the safe what it lacks; gives how many bytes of files that is."""
    forgotten = set(read.forgotten(connection))
    known = _InSafe(connection, safe)
    size = 0
    for each in others:
        try:
            waiting = _packs(each.own)
        except RereadError as problem:
            problems.append(str(problem))
            continue
        before = -1
        left_out: dict[PieceName, tuple[PieceHeader, str]] = {}
        torn: list[str] = []
        # Again as long as that gives more: after a forget, a later pack may have what an earlier one continues.
        while waiting and len(known.names) > before:
            before, torn = len(known.names), []
            for number, path in list(waiting.items()):
                taken = _take_pack(safe, path, number, each.own.name, forgotten, known)
                size += taken.size
                left_out |= {name_of(header): (header, why) for header, why in taken.left_out}
                if not taken.is_whole:
                    torn.append(path.name)
                elif not any(why == KEY for _, why in taken.left_out):
                    del waiting[number]
        shown = [(header, why) for name, (header, why) in left_out.items() if why != KEY or name not in known.names]
        problems += sentences([(replace(header, machine=each.label), why) for header, why in shown], {})
        for name in torn if not each.problems else ():
            reason = f"{name} is not whole; the rest comes with a later pull, or after `push --full` there"
            problems.append(f"{printable(each.label)}: {reason}")
    safe.flush()
    return size


class _PackTaken(NamedTuple):
    size: int
    """Bytes of its new pieces."""
    is_whole: bool
    left_out: list[tuple[PieceHeader, str]]
    """What the gate does not admit, with the reasons; and what is kept for a version that knows what it is."""


def _take_pack(safe: Safe, path: Path, number: int, machine: str, forgotten: Set[str], known: _InSafe) -> _PackTaken:
    """Appends the new pieces of one pack. A piece that continues or refers to one that has not arrived yet is left for
    later, so files in the safe never have holes."""
    size, is_whole = 0, True
    left_out: list[tuple[PieceHeader, str]] = []
    try:
        with Pack(path, number) as pack:
            for found in pack.pieces():
                if isinstance(found, Damage):
                    is_whole = False
                    continue
                if name_of(found.header) in known.names:
                    continue
                header = known.gate.admit(found.header) if found.header.machine == machine else _OF_ANOTHER
                if isinstance(header, str):
                    left_out.append((found.header, header))
                    continue
                if _is_forgotten(header, forgotten):
                    continue
                proved = pack.read(found.place)
                if isinstance(proved, Damage) or not known.has_before(header):
                    is_whole = False
                    continue
                if (unknown := unknown_kind(header)) is not None:
                    left_out.append((header, unknown))
                safe.append(header, proved[1])
                known.add(header)
                size += header.length
    except OSError:
        is_whole = False
    return _PackTaken(size, is_whole, left_out)


def _adopt_own_ways(connection: sqlite3.Connection, safe: Safe, machine: Machine, price_file: Path | None) -> None:
    """Makes copies from other machines that have grown into separate files again; folding then prefers the fuller
    one."""
    places = {key for key, _ in known_keys(connection)}
    theirs = [
        piece
        for piece in admitted(connection, safe.scan()).pieces
        if piece[0].machine != machine.id and piece[0].file in places
    ]
    grown = {header.file for header, _ in unnamed_pieces(connection, safe, theirs)}
    if grown:
        keys = part_ways(connection, grown)
        adopt(connection, safe, [piece for piece in theirs if piece[0].file in keys], price_file)


# -- forgetting


def _hit(connection: sqlite3.Connection, safe: Safe, keys: Set[str], only: Set[int] | None = None) -> list[int]:
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


def _forget(
    connection: sqlite3.Connection,
    safe: Safe,
    prices: Prices,
    sessions: Sequence[int],
    forget_answers: Callable[[str], None],
) -> int:
    """Forgets sessions one at a time; if interrupted, the next pull forgets the rest."""
    files = SessionFileReader(connection, safe)
    for stored in [each for number in sessions for each in sessions_by_id(connection, [number])]:
        remove_waiting(safe.folder.parent / "wire", stored.row.uuid)
        forget_answers(stored.row.uuid)
        custody.forget(connection, safe, files, stored, prices)
    if sessions:
        remove_set_aside(safe.folder.parent)
    return len(sessions)


# -- the last target

_TARGET = "exchange.json"


def _remembered(home: Path) -> dict[str, str]:
    try:
        document: Any = json.loads((home / _TARGET).read_bytes())
        known = {name: value for name, value in document.items() if isinstance(value, str)}
    except (OSError, ValueError, AttributeError, RecursionError):
        return {}
    names = known.pop("names", None)  # the older format, which knew only one store
    return {_names(known["store"]): names, **known} if names is not None and "store" in known else known


def _remember(home: Path, known: dict[str, str]) -> None:
    if _remembered(home) != known:
        write_durably(home / _TARGET, json.dumps(known))


def last_folder(home: Path) -> Path | None:
    """The folder that was last pushed to or pulled from."""
    folder = _remembered(home).get("folder")
    return None if folder is None else Path(folder)


def remember_folder(home: Path, folder: Path, *, is_pull: bool = False) -> None:
    """Makes this the default folder. After a push, but not after a pull, it also drops the remembered store. A key
    remembered for another folder is always dropped."""
    before = _remembered(home)
    gone: set[str] = set() if is_pull else {"store"}
    if before.get("folder") != str(folder):
        gone.add("key")
    _remember(home, {**{name: value for name, value in before.items() if name not in gone}, "folder": str(folder)})


def last_key(home: Path) -> Path | None:
    """The key that the last folder was encrypted with. It is remembered so that the next push there is not
    unencrypted."""
    known = _remembered(home)
    return Path(known["key"]) if "key" in known else None


def remember_key(home: Path, folder: Path, key: Path | None) -> None:
    """Remembers the key (or that there is none) together with its folder."""
    kept = {name: value for name, value in _remembered(home).items() if name != "key"}
    _remember(home, {**kept, "folder": str(folder), **({"key": str(key)} if key is not None else {})})


def last_store(home: Path) -> str | None:
    """The address of the team's store that was last pushed to; None if a folder was pushed to since."""
    return _remembered(home).get("store")


def known_stores(home: Path) -> list[str]:
    """Every team's store that was ever pushed to."""
    return [name.removeprefix(_names("")) for name in _remembered(home) if name.startswith(_names(""))]


def names_for(home: Path, address: str) -> str | None:
    """How names were last sent to a store. It is remembered so that names that were hidden are not sent as they are
    later."""
    return _remembered(home).get(_names(address))


def remember_store(home: Path, address: str, names: str) -> None:
    """`address` must not contain a password, because it is written to a file."""
    _remember(home, {**_remembered(home), "store": address, _names(address): names})


def _names(address: str) -> str:
    return f"names {address}"


def own_store(home: Path) -> str | None:
    """The store that was last made or updated from here. Whoever does that manages it, with the role in this
    address."""
    return _remembered(home).get("own_store")


def remember_own_store(home: Path, address: str) -> None:
    make_home(home)
    _remember(home, {**_remembered(home), "own_store": address})
