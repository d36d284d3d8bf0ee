"""Forgetting: packs copied without some files, and the record that makes a crash in between harmless."""

from __future__ import annotations

import contextlib
from collections.abc import Set

from .errors import SafeError
from .folders import PackFolder, Rewrite, encoded, sync_folder, unnamed
from .packs import Pack, PackWriter, walk
from .pieces import MAGIC, Damage, Place

__all__ = ["begin_rewrite", "finish_rewrite"]


def begin_rewrite(folder: PackFolder, keys: Set[str], limit: int, *, drop_unreadable: bool) -> Rewrite:
    """Until its record is written nothing has happened; from then on the copies count. Raises OSError."""
    try:
        folder.clear_leftovers()
        rewrite = _copy_without(folder, keys, limit, drop_unreadable)
        if rewrite.replaced:
            _write_record(folder, rewrite)
    finally:
        folder.clear_leftovers()
    return rewrite


def finish_rewrite(folder: PackFolder, rewrite: Rewrite) -> None:
    """Removes the packs that were copied, then the record. Raises OSError."""
    folder.clear_leftovers()
    for pack in map(folder.pack, rewrite.replaced):
        if not pack.is_dir():  # a folder in its place holds nothing of ours, and must not keep us here for good
            pack.unlink(missing_ok=True)
    sync_folder(folder.path)
    folder.journal.unlink()
    sync_folder(folder.path)


def _write_record(folder: PackFolder, rewrite: Rewrite) -> None:
    writer = PackWriter(unnamed(folder.journal), 0)
    try:
        writer.append(encoded(rewrite))
        writer.sync()
    finally:
        writer.close()
    sync_folder(folder.path)
    unnamed(folder.journal).replace(folder.journal)
    sync_folder(folder.path)


def _copy_without(folder: PackFolder, keys: Set[str], limit: int, drop_unreadable: bool) -> Rewrite:
    """Copies into packs without a name yet; whole pieces as they are, damaged ones too unless they are to go."""
    affected: set[int] = set()
    kept: dict[int, list[Place]] = {}
    unreadable: list[Damage] = []
    for number, path in folder.counting().items():
        for piece in walk(path, number, proved=drop_unreadable):
            is_damaged = isinstance(piece, Damage)
            if drop_unreadable and not piece.place.stored:
                raise SafeError(path, "it cannot be read at all, so nothing can be said about what is in it")
            if piece.file in keys or (drop_unreadable and is_damaged):
                affected.add(number)
            if piece.file not in keys and not (drop_unreadable and piece.header is None):
                kept.setdefault(number, []).append(piece.place)
            if isinstance(piece, Damage) and piece.file is None:
                unreadable.append(piece)
    moved: list[tuple[Place, Place]] = []
    made: list[int] = []
    if affected:
        with contextlib.closing(_Copies(folder, limit)) as copies:
            for number in sorted(affected):
                with Pack(folder.pack(number), number) as pack:
                    moved += [(old, copies.append(_copied(pack, old, drop_unreadable))) for old in kept.get(number, ())]
            made += copies.finished()
    return Rewrite(tuple(sorted(keys)), tuple(sorted(affected)), tuple(made), tuple(moved), tuple(unreadable))


def _copied(pack: Pack, place: Place, is_proved: bool) -> bytes:
    """What was proved is a piece, so it gets its magic back where that is damaged."""
    piece = pack.bytes(place.offset, place.stored)
    return MAGIC + piece[len(MAGIC) :] if is_proved else piece


class _Copies:
    """New packs without a name yet, filled one after the other.

    There is always one, even if it stays empty: the number of a removed pack is never given to another.
    """

    def __init__(self, folder: PackFolder, limit: int) -> None:
        self._folder, self._limit = folder, limit
        self._done: list[int] = []
        self._writer = self._begun(max(folder.named()) + 1)

    def append(self, piece: bytes) -> Place:
        if self._writer.end and self._writer.end + len(piece) > self._limit:
            self.finished()
            self._writer.close()
            self._writer = self._begun(self._writer.number + 1)
        return self._writer.append(piece)

    def finished(self) -> list[int]:
        self._writer.sync()
        self._done.append(self._writer.number)
        return self._done

    def close(self) -> None:
        self._writer.close()

    def _begun(self, number: int) -> PackWriter:
        return PackWriter(unnamed(self._folder.pack(number)), number)
