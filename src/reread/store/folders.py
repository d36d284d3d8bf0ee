"""The folder of the safe: which packs count, also while a forget is under way, and how names become durable."""

from __future__ import annotations

import re
import time
from pathlib import Path
from zlib import crc32

from msgspec import Struct

from reread.folders import make_private, sync_folder

from .errors import SafeError
from .pieces import Damage, Place, decode, encode
from .unchanged import JOURNAL

__all__ = ["PackFolder", "Rewrite", "encoded", "make_private", "sync_folder", "unnamed"]

_WAY_OUT = "`reread archive rebuild` makes do without it, and what was to be forgotten may have to be forgotten again"
_PACK_NAME = re.compile(r"(\d{6,})\.pack")


class Rewrite(Struct, frozen=True):
    """A forget under way: the new packs count already, the old ones wait for `finish_rewrite`."""

    keys: tuple[str, ...]
    replaced: tuple[int, ...] = ()
    made: tuple[int, ...] = ()
    moved: tuple[tuple[Place, Place], ...] = ()
    """Old and new place of everything kept; look places up by pack and offset, damage may have changed their length."""
    unreadable: tuple[Damage, ...] = ()
    """Damage in any pack that names no file: it may hold bytes of the forgotten ones."""


class PackFolder:
    """The names in the folder of the safe; reads and renames, writes no bytes."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def journal(self) -> Path:
        return self.path / JOURNAL

    def pack(self, number: int) -> Path:
        return self.path / f"{number:06}.pack"

    def counting(self) -> dict[int, Path]:
        """The packs that count: with an unfinished forget the new ones, also before they have their names."""
        packs = self.named()
        if rewrite := self.unfinished():
            packs |= {number: unnamed(self.pack(number)) for number in rewrite.made if number not in packs}
            packs = {number: path for number, path in packs.items() if number not in rewrite.replaced}
        return dict(sorted(packs.items()))

    def named(self) -> dict[int, Path]:
        try:
            return {int(name[1]): path for path in self.path.iterdir() if (name := _PACK_NAME.fullmatch(path.name))}
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise SafeError(self.path, f"the archive cannot be read ({error.strerror or error})") from error

    def unfinished(self) -> Rewrite | None:
        """The forget that was not finished, if any."""
        try:
            raw = self.journal.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise SafeError(self.path, f"the archive cannot be read ({error.strerror or error})") from error
        rewrite = _decoded(raw)
        if rewrite is None:
            raise SafeError(self.journal, f"this record of an unfinished forget cannot be read; {_WAY_OUT}")
        if not self._has_made(rewrite):
            raise SafeError(self.journal, f"the packs of this unfinished forget are not whole; {_WAY_OUT}")
        return rewrite

    def _has_made(self, rewrite: Rewrite) -> bool:
        """Whether the new packs are there, with all that was copied: only then the old ones may go."""
        ends = dict.fromkeys(rewrite.made, 0)
        for _, place in rewrite.moved:
            ends[place.pack] = max(ends.get(place.pack, 0), place.end)
        return all(max(map(_size, (self.pack(each), unnamed(self.pack(each))))) >= end for each, end in ends.items())

    def set_aside_record(self) -> None:
        """A record that cannot be read tells nothing; until it is finished the packs it replaces are all there."""
        try:
            self.unfinished()
        except SafeError:
            self.journal.replace(self.journal.with_suffix(f".damaged-{time.time_ns()}"))

    def clear_leftovers(self) -> None:
        """Before its record is written a forget never happened; afterwards its new packs only want their names."""
        made = {unnamed(self.pack(number)) for number in rewrite.made} if (rewrite := self.unfinished()) else set()
        for path in self.path.glob("*.new"):
            if path in made:
                path.replace(path.with_suffix(""))
            else:
                path.unlink()
        if made:
            sync_folder(self.path)


def encoded(rewrite: Rewrite) -> bytes:
    """With a checksum: by a wrong number a pack would be removed that was never copied."""
    raw = encode(rewrite)
    return raw + b"\n%08x\n" % crc32(raw)


def _decoded(raw: bytes) -> Rewrite | None:
    text, _, checksum = raw.rstrip(b"\n").rpartition(b"\n")
    if not text:  # as it was written before there was a checksum
        return decode(raw, Rewrite)
    return decode(text, Rewrite) if checksum == b"%08x" % crc32(text) else None


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return -1


def unnamed(pack: Path) -> Path:
    return pack.with_name(pack.name + ".new")
