"""The shared folder: whose part is whose, what may be opened there, the names of pieces, and journals.

Others can write there, so only regular files of a bounded size are opened, no link is followed, and no number or text
of a journal is believed to be possible.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Set
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

from msgspec import Struct
from msgspec.structs import replace

from reread.errors import BadInput, RereadError, printable
from reread.foreign_files import is_link, read_regular
from reread.home import sync_folder
from reread.index.gate import PIECE_LIMIT
from reread.index.machines import LONGEST_LABEL
from reread.index.places import PLACE
from reread.index.user_data import MarkNote
from reread.keys import session_mark
from reread.safe.packs import PackFolder, PackWriter
from reread.safe.pieces import HEADER_LIMIT, PieceHeader, decode, encode
from reread.sources import FileKind, place

from .keys import KnownMachines, Proof, Proved

JOURNAL = "journal.json"
PART = ".part"
PACK_LIMIT = 64 << 20
"""Smaller than the packs of the safe, because tools that sync folders transfer whole files."""
LARGEST_PACK = PACK_LIMIT + PIECE_LIMIT + HEADER_LIMIT
JOURNAL_LIMIT = 16 << 20
"""Room for a hundred thousand marks or forgotten files."""
_MACHINE = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_KEY = re.compile(r"[0-9a-f]{32}|content:[0-9]{1,15}:[0-9a-f]{32}:[0-9a-f]{32}")
_LONGEST_NAME = 512
_AHEAD_MS = 86_400_000
"""How far the clock of another machine may be ahead: a mark of a later time would win for ever."""
_SHOWN = 3

PieceName = tuple[str, int, int, str]
"""Identifies a piece in any folder: file, generation, start, and its digest or the place or digest it stands for."""


class Journal(Struct, frozen=True, kw_only=True):
    machine: str
    label: str
    packs: dict[str, int] = {}
    """Names and sizes, which show what has not arrived yet."""
    marks: list[MarkNote] = []
    forgotten: list[tuple[str, int]] = []


class Incoming(NamedTuple):
    """Another machine's part of the folder, and what is wrong with it."""

    own: Path
    journal: Journal | None
    problems: list[str]
    proved: Proved
    label: str
    """What its machine is called: by its journal if that is believed, else as it was called before."""

    @property
    def believed_journal(self) -> Journal:
        """The journal, empty if it is none or if somebody else may have written it."""
        is_theirs = self.journal is not None and self.proved.proof is not Proof.STRANGE
        return self.journal if self.journal and is_theirs else Journal(machine=self.own.name, label=self.label)

    @property
    def forgotten(self) -> set[str]:
        return {key for key, _ in self.believed_journal.forgotten}


def piece_name(header: PieceHeader) -> PieceName:
    name = header.more.get(PLACE) or header.more.get("same") or header.sha256
    return header.file, header.generation, header.start, str(name)


def check_folder(folder: Path) -> None:
    """Raises BadInput if the folder does not exist. It is not created, because it may just not be mounted."""
    if not folder.is_dir():
        raise BadInput(f"{printable(str(folder))}: no such folder; make it first, or mount what it lies on")


def own_part(folder: Path, machine: str) -> Path:
    """This machine's part of the folder. Raises BadInput for a link: what it leads to would be written and deleted."""
    own = folder / machine
    if is_link(own):
        raise BadInput(f"{printable(str(own))} is a link, which reread did not make; remove it")
    return own


def other_parts(folder: Path, machine: str) -> list[Path]:
    """The parts of the other machines."""
    try:
        found = [each for each in folder.iterdir() if _MACHINE.fullmatch(each.name) and each.name != machine]
        return sorted(each for each in found if each.is_dir() and not is_link(each))
    except OSError as error:
        raise RereadError(f"{printable(str(folder))}: cannot be read ({error.strerror or error})") from error


def packs_in(own: Path) -> dict[int, Path]:
    return dict(sorted(PackFolder(own).named().items()))


def is_forgotten(header: PieceHeader, forgotten: Set[str]) -> bool:
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


def read_part(own: Path, known: KnownMachines, called: str | None) -> Incoming:
    """A machine's part, with its journal as far as it is possible at all; what is not is told. `called` is what the
    machine was called before."""
    path, unread = own / JOURNAL, Incoming(own, None, [], Proved(Proof.UNSIGNED), called or own.name)
    try:
        lines = read_regular(path, JOURNAL_LIMIT).rstrip(b"\n").split(b"\n")
    except FileNotFoundError:
        late = f"{own.name} has no journal yet; what it marked and forgot comes with a later pull"
        return unread._replace(problems=[late])
    except OSError as error:
        return unread._replace(problems=[f"{printable(str(path))}: cannot be read ({error.strerror or error})"])
    checked = b"\n".join(lines[:-1])
    is_whole = len(lines) in (2, 3) and lines[-1] == b"%08x" % crc32(checked)
    found = decode(lines[0], Journal) if is_whole else None
    if found is None or found.machine != own.name:
        late = f"{printable(str(path))}: is not whole yet; what it tells comes with a later pull"
        return unread._replace(problems=[late])
    journal, problems = _checked(found)
    problems += _late_packs(own, journal)
    line = lines[1] if len(lines) == 3 else b""
    proved = known.prove(own.name, lines[0], line)
    label = unread.label if called and proved.proof is Proof.STRANGE else journal.label
    return Incoming(own, journal, problems, proved, label)


def _late_packs(own: Path, journal: Journal) -> list[str]:
    """A sentence if packs that the journal names are not there yet, or if nobody can tell."""
    try:
        packs = {each.name: each.lstat().st_size for each in packs_in(own).values()}
    except OSError as error:
        return [f"{printable(str(own))}: cannot be read ({error.strerror or error})"]
    late = [name for name, size in journal.packs.items() if packs.get(name, 0) < size]
    if not late:
        return []
    named = ", ".join(printable(name[:_LONGEST_NAME]) for name in late[:_SHOWN])
    more = f" and {len(late) - _SHOWN} more" if len(late) > _SHOWN else ""
    return [f"{printable(journal.label)}: {named}{more} did not arrive whole yet; the rest comes with a later pull"]


def _checked(journal: Journal) -> tuple[Journal, list[str]]:
    """A journal without what cannot be, and sentences about that."""
    latest = int(time.time() * 1000) + _AHEAD_MS
    marks = [note for note in journal.marks if 0 <= note.at <= latest and _is_name(note.session)]
    forgotten = [(key, at) for key, at in journal.forgotten if _KEY.fullmatch(key)]
    is_shown = journal.label.isprintable() and 0 < len(journal.label) <= LONGEST_LABEL
    label = journal.label if is_shown else journal.machine[:8]
    left = len(journal.marks) - len(marks) + len(journal.forgotten) - len(forgotten)
    problem = f"{label}: {left:,} of its marks and forgotten sessions cannot be right, and are left out"
    return replace(journal, label=label, marks=marks, forgotten=forgotten), [problem] if left else []


def _is_name(text: str) -> bool:
    try:
        text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False
    return 0 < len(text) <= _LONGEST_NAME and "\0" not in text


def write_journal(own: Path, journal: Journal, sign: Callable[[bytes], bytes]) -> None:
    """Writes the journal: one line of JSON, the line that signs it, and a checksum of both."""
    raw = encode(journal)
    line = sign(raw)
    checked = raw + b"\n" + line if line else raw
    text = checked + b"\n%08x\n" % crc32(checked)
    path = own / JOURNAL
    try:
        if read_regular(path, JOURNAL_LIMIT) == text:
            return
    except OSError:  # there is none, or something else in its place
        pass
    part = path.with_name(JOURNAL + PART)
    part.unlink(missing_ok=True)
    writer = PackWriter(part, 0, is_new=True)
    try:
        writer.append(text)
        writer.sync()
    finally:
        writer.close()
    part.replace(path)
    sync_folder(own)
