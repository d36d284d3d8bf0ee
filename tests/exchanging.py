"""Machines that share a folder, and what somebody else may put there."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from zlib import crc32

from msgspec.structs import replace

from reread import exchange
from reread.archive import Archive, UsageReport
from reread.archive.search_language import ALL_FIELDS
from reread.safe.packs import Pack, PackFolder
from reread.safe.pieces import Damage, PieceHeader, decode, encode, encode_piece, seal
from reread.testing import a_prompt, a_reply, a_usage

__all__ = [
    "BACKUP",
    "FEW",
    "FIRST",
    "MORE",
    "SECOND",
    "SHARED",
    "Desk",
    "Made",
    "exchange_all",
    "files_below",
    "pieces_in",
    "put_pieces",
    "write_journal",
]

FIRST = "0a1b2c3d-1111-4222-8333-444455556666"
SECOND = "1b2c3d4e-2222-4333-8444-555566667777"
SHARED = "2c3d4e5f-3333-4444-8555-666677778888"
BACKUP = "848ba454848ee7c8@v1"
FEW = (a_prompt("the pangolin"), a_reply("yes", usage=a_usage(output=3)))
MORE = (*FEW, a_prompt("the axolotl"), a_reply("no", usage=a_usage(output=5)))


class Desk:
    """A machine: its sources and its archive, which has an id of its own."""

    def __init__(self, root: Path, name: str) -> None:
        self.root, self.name = root / name, name
        self.claude, self.more = self.root / "claude", self.root / "more"
        self.projects = self.claude / "projects"
        self.folder = root / "shared"
        self.projects.mkdir(parents=True)
        self.more.mkdir()
        self.folder.mkdir(exist_ok=True)
        with self.open() as archive:
            self.id = archive.inner.label_machine(name).id

    @property
    def own(self) -> Path:
        return self.folder / self.id

    @property
    def packs(self) -> list[Path]:
        return sorted(self.own.glob("*.pack"))

    def open(self) -> Archive:
        return Archive(self.root / "home", [self.claude, self.more])

    def push(self, *, full: bool = False) -> exchange.Pushed:
        with self.open() as archive:
            archive.sync()
            return archive.safe.push(self.folder, full=full)

    def pull(self) -> exchange.Pulled:
        with self.open() as archive:
            return archive.safe.pull(self.folder, agree=lambda _: True)

    def names(self) -> list[str]:
        with self.open() as archive:
            return sorted(each.id for each in archive.sessions())

    def usage(self) -> UsageReport:
        with self.open() as archive:
            return archive.usage("day")

    def found(self, word: str) -> int:
        with self.open() as archive:
            return archive.search(word, ALL_FIELDS).total

    def backup(self, session: str) -> bytes | None:
        with self.open() as archive:
            return archive.inner.kept_backups()(session, BACKUP)

    def forget_machines(self) -> None:
        """As if no other machine had been seen here before."""
        (self.root / "home" / "known_machines.json").unlink(missing_ok=True)

    def assert_whole(self) -> None:
        with self.open() as archive:
            proof = archive.safe.verify(deep=True)
            assert (proof.damaged, proof.unnamed, proof.adopted) == ([], [], 0)


def exchange_all(*machines: Desk) -> None:
    for each in machines:
        each.push()
    for each in machines:
        each.pull()


def files_below(folder: Path) -> dict[Path, bytes]:
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


Made = tuple[PieceHeader, bytes]


def pieces_in(own: Path) -> list[Made]:
    found: list[Made] = []
    for number, path in PackFolder(own).named().items():
        with Pack(path, number) as pack:
            read = [pack.read(each.place) for each in pack.pieces()]
        found += [each for each in read if not isinstance(each, Damage)]
    return found


def put_pieces(own: Path, made: list[Made]) -> None:
    """Puts pieces into a machine's part of the folder, instead of its own, with a journal that goes with them."""
    for path in own.glob("*.pack"):
        path.unlink()
    content = b"".join(encode_piece(*seal(header, raw)) for header, raw in made)
    (own / "000001.pack").write_bytes(content)
    write_journal(own, packs={"000001.pack": len(content)})


def write_journal(own: Path, **changed: Any) -> None:
    known = decode((own / exchange.JOURNAL).read_bytes().partition(b"\n")[0], exchange.Journal)
    assert known is not None
    raw = encode(replace(known, **changed))
    (own / exchange.JOURNAL).write_bytes(raw + b"\n%08x\n" % crc32(raw))
