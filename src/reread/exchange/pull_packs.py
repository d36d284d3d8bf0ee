"""`pull`: imports what other machines have pushed, as far as it is believed."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence, Set
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from reread.billing import Prices
from reread.errors import RereadError, printable
from reread.index import read
from reread.index.backup_files import shared_digest
from reread.index.database import transaction
from reread.index.gate import KEY, safe_gate, sentences, unknown_kind
from reread.index.machine_file import Machine
from reread.index.machines import ids_called, learn_machine, machines, other_machines
from reread.index.places import diverge, fold_copies, known_keys
from reread.index.user_data import keep_notes, take_over_copy, write_copy
from reread.index.verify import unnamed_pieces
from reread.ingest import Report
from reread.ingest.adopt import admitted, adopt, adopt_tail
from reread.safe.packs import Pack
from reread.safe.pieces import Damage, FoundPiece, PieceHeader
from reread.safe.safe import Safe
from reread.sources import FileKind

from .folder import LARGEST_PACK, Incoming, PieceName, is_forgotten, other_parts, packs_in, piece_name, read_part
from .forgotten import Agree, ForgottenElsewhere, apply, arrived, expire, forget, hit
from .keys import KnownMachines, Proof

_NAMED = 10
_TORN = "is not whole"
_OF_ANOTHER = "they are not of the machine whose folder they are in"


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
    """One sentence for each thing that could not be imported yet, or is not believed."""
    notes: list[str] = []
    """Sentences about new keys, machines that were thrown out, and sessions of this machine that others go on with."""
    left: list[ForgottenElsewhere] = []
    """What was forgotten elsewhere and stays here until the person agrees."""


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
    agree: Agree | None = None,
    trust: str | None = None,
) -> Pulled:
    """Imports what other machines have pushed; the caller holds the lock. `forget_answers` is called with the id of
    each session that is forgotten; `agree` is asked about what others forgot, and without it nothing is forgotten. The
    machine called `trust` is believed again.

    Pieces are on disk before any row names them, so the next sync or pull finds what an interrupted one left.
    """
    home = safe.folder.parent
    known = KnownMachines(home)
    for number in [] if trust is None else ids_called(_with_thrown_out(connection, known), trust):
        known.trust_again(number)
    expire(home)
    parts, called = other_parts(folder, machine.id), dict(other_machines(connection))
    others = [read_part(own, known, called.get(own.name)) for own in parts if own.name not in known.thrown_out]
    problems = [problem for each in others for problem in (*each.problems, *_strange(each))]
    for each in others:
        learn_machine(connection, each.own.name, each.label)
    new = _import(connection, safe, machine, others, problems, prices, price_file, report)
    again = hit(connection, safe, set(read.forgotten(connection)), new.first)
    forget(connection, safe, prices, again, forget_answers)
    found = arrived(connection, safe, others, known.kept)
    applied = apply(connection, safe, prices, found, known, agree, forget_answers)
    return Pulled(
        folder=folder,
        machines=[each.label for each in others],
        sessions=len((new.fresh - set(again)) & read.bytes_by_session(connection).keys()),
        bytes_taken=new.size,
        forgotten=applied.forgotten,
        marks=_keep_marks(connection, home, others),
        problems=problems,
        notes=[*_learn_keys(known, others), *_thrown_out(known, parts), *_shown_longer(new.gone_on)],
        left=applied.left,
    )


class _New(NamedTuple):
    """What a pull brought."""

    size: int
    fresh: set[int]
    """Sessions that are new or have grown."""
    first: set[int]
    """Those of them that were not here before."""
    gone_on: set[str]
    """Ids of sessions of this machine that are shown as another one goes on with them."""


def _import(
    connection: sqlite3.Connection,
    safe: Safe,
    machine: Machine,
    others: Sequence[Incoming],
    problems: list[str],
    prices: Prices,
    price_file: Path | None,
    report: Report | None,
) -> _New:
    before, mine = read.bytes_by_session(connection), read.ids_of_machine(connection, machine.id)
    size = _take(connection, safe, others, problems)
    adopt_tail(connection, safe, price_file, report)
    _adopt_diverged(connection, safe, machine, price_file)
    fold_copies(connection, safe, prices)
    after = read.bytes_by_session(connection)
    fresh = {number for number, taken in after.items() if taken != before.get(number)}
    return _New(size, fresh, fresh - before.keys(), mine - read.ids_of_machine(connection, machine.id))


def _with_thrown_out(connection: sqlite3.Connection, known: KnownMachines) -> list[Machine]:
    """All machines that a person may name: also those that were thrown out."""
    return [*machines(connection), *(Machine(number, label) for number, label in known.thrown_out.items())]


def _strange(each: Incoming) -> list[str]:
    if each.proved.proof is not Proof.STRANGE:
        return []
    how = f"signed with another key, {each.proved.code}" if each.proved.key else "not signed as before"
    return [
        f"{printable(each.label)}: its journal is {how}, so what it marked and forgot is left out. Compare with"
        f" `reread machine` there; if that is right, `reread pull --trust {each.own.name[:8]}` believes it from now on"
    ]


def _shown_longer(sessions: Set[str]) -> list[str]:
    """A sentence about sessions of this machine that are shown as another machine goes on with them."""
    named = ", ".join(printable(each)[:8] for each in sorted(sessions)[:_NAMED])
    more = ", ..." if len(sessions) > _NAMED else ""
    return (
        [f"longer copies from another machine are now shown of sessions of this one: {named}{more}"] if sessions else []
    )


def _thrown_out(known: KnownMachines, parts: Sequence[Path]) -> list[str]:
    return [
        f"{printable(known.thrown_out[own.name])} was thrown out here, so what it pushes is left out;"
        f" `reread pull --trust {own.name[:8]}` takes it again"
        for own in parts
        if own.name in known.thrown_out
    ]


def _learn_keys(known: KnownMachines, others: Sequence[Incoming]) -> list[str]:
    """Remembers keys that are seen for the first time; a sentence for each."""
    new = [each for each in others if each.proved.proof is Proof.NEW]
    for each in new:
        known.learn(each.own.name, each.proved.key)
    known.save()
    return [
        f"{printable(each.label)} signs with the key {each.proved.code}: the same stands in `reread machine` there, or"
        " somebody else wrote this"
        for each in new
    ]


def _keep_marks(connection: sqlite3.Connection, home: Path, others: Sequence[Incoming]) -> int:
    with transaction(connection, durable=True):
        take_over_copy(connection, home)
        marks = keep_notes(connection, [note for each in others for note in each.believed_journal.marks])
        if marks:
            write_copy(connection, home)
    return marks


class _InSafe:
    """What the safe has: its pieces, how far each file reaches, and the digests of all bytes that backups may share."""

    def __init__(self, connection: sqlite3.Connection, safe: Safe) -> None:
        self.gate = safe_gate(connection)
        passed = self.gate.sort((found.header, found.place) for found in safe.scan() if isinstance(found, FoundPiece))
        self.names: set[PieceName] = {piece_name(header) for header, _ in passed.left_out}
        self._ends: dict[tuple[str, int], int] = {}
        self._bytes: dict[str, int] = {}
        """The lengths of the bytes that backups may share, by digest."""
        headers = [header for header, _ in passed.pieces]
        for header in sorted(headers, key=lambda each: (shared_digest(each) is not None, each.start)):
            if shared_digest(header) is None or self.has_before(header):
                self.add(header)

    def add(self, header: PieceHeader) -> None:
        self.names.add(piece_name(header))
        key = header.file, header.generation
        if header.kind == FileKind.BACKUP and not shared_digest(header):
            self._bytes[header.sha256] = header.length
        length = self._bytes.get(shared_digest(header) or "", header.length)  # one that stands for another has none
        self._ends[key] = max(self._ends.get(key, 0), header.start + length)

    def has_before(self, header: PieceHeader) -> bool:
        """Whether it has everything that a piece needs: the bytes before it, or those that it refers to."""
        digest = shared_digest(header)
        is_there = digest is None or digest in self._bytes
        return is_there and header.start <= self._ends.get((header.file, header.generation), 0)


def _take(connection: sqlite3.Connection, safe: Safe, others: Sequence[Incoming], problems: list[str]) -> int:
    """Appends to the safe what it lacks; gives how many bytes of files that is."""
    forgotten = set(read.forgotten(connection))
    known = _InSafe(connection, safe)
    size = 0
    for each in others:
        try:
            size += _take_part(safe, each, forgotten | each.forgotten, known, problems)
        except RereadError as problem:
            problems.append(str(problem))
    safe.flush()
    return size


def _take_part(safe: Safe, part: Incoming, forgotten: Set[str], known: _InSafe, problems: list[str]) -> int:
    """Appends the new pieces of a machine's packs, and tells what is left for later. Raises RereadError if its folder
    cannot be read."""
    waiting = packs_in(part.own)
    size, before = 0, -1
    left_out: dict[PieceName, tuple[PieceHeader, str]] = {}
    torn: list[str] = []
    # Again as long as that gives more: after a forget, a later pack may have what an earlier one continues.
    while waiting and len(known.names) > before:
        before, torn = len(known.names), []
        for number, path in list(waiting.items()):
            taken = _take_pack(safe, path, number, part.own.name, forgotten, known)
            size += taken.size
            left_out |= {piece_name(header): (header, why) for header, why in taken.left_out}
            if taken.fault is not None:
                torn.append(f"{path.name} {taken.fault}")
            elif not any(why == KEY for _, why in taken.left_out):
                del waiting[number]
    shown = [(header, why) for name, (header, why) in left_out.items() if why != KEY or name not in known.names]
    problems += sentences([(replace(header, machine=part.label), why) for header, why in shown], {})
    for name in torn if not part.problems else ():
        later = "the rest comes with a later pull, or after `push --full` there"
        problems.append(f"{printable(part.label)}: {name}; {later}")
    return size


class _PackTaken(NamedTuple):
    size: int
    """Bytes of its new pieces."""
    fault: str | None
    """Why it is to be read again."""
    left_out: list[tuple[PieceHeader, str]]
    """What the gate does not admit, with the reasons; and what is kept for a version that knows what it is."""


def _take_pack(safe: Safe, path: Path, number: int, machine: str, forgotten: Set[str], known: _InSafe) -> _PackTaken:
    """Appends the new pieces of one pack. A piece that continues or refers to one that has not arrived yet is left for
    later, so files in the safe never have holes."""
    size, fault = 0, None
    left_out: list[tuple[PieceHeader, str]] = []
    try:
        with Pack(path, number, LARGEST_PACK) as pack:
            for found in pack.pieces():
                if isinstance(found, Damage):
                    fault = _TORN
                    continue
                if piece_name(found.header) in known.names:
                    continue
                header = known.gate.admit(found.header) if found.header.machine == machine else _OF_ANOTHER
                if isinstance(header, str):
                    left_out.append((found.header, header))
                    continue
                if is_forgotten(header, forgotten):
                    continue
                proved = pack.read(found.place)
                if isinstance(proved, Damage) or not known.has_before(header):
                    fault = _TORN
                    continue
                if (unknown := unknown_kind(header)) is not None:
                    left_out.append((header, unknown))
                safe.append(header, proved[1])
                known.add(header)
                size += header.length
    except OSError as error:
        fault = f"cannot be read ({error.strerror or error})"
    return _PackTaken(size, fault, left_out)


def _adopt_diverged(connection: sqlite3.Connection, safe: Safe, machine: Machine, price_file: Path | None) -> None:
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
        keys = diverge(connection, grown)
        adopt(connection, safe, [piece for piece in theirs if piece[0].file in keys], price_file)
