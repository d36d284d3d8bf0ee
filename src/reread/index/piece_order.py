"""Which pieces of the safe a file is made of, and in what order they were taken. No clock is asked: it may be set back.

Every sync has a number that is one more than that of the sync before it, and the pieces it takes say it in their
headers, so that the order outlasts a `forget`, which moves pieces. Older pieces have no such number: they came first,
in the order of their places.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from reread.safe.pieces import PieceHeader, PiecePlace

from .safe_reader import LOST

__all__ = ["ORDER", "Piece", "as_last_taken", "order_of"]

ORDER = "order"
"""In the header of a piece: the number of the sync that took it."""

Piece = tuple[PieceHeader, PiecePlace]


def order_of(header: PieceHeader) -> int:
    """0 for a piece that does not say."""
    order = header.more.get(ORDER)
    return order if isinstance(order, int) and order > 0 else 0


def as_last_taken(pieces: Iterable[Piece], is_part: Callable[[Piece, Piece], bool]) -> list[Piece]:
    """Of all pieces of one file those it is made of, in each generation by their beginning.

    A sync that was killed before it could commit leaves the same bytes twice, or others in their place: the later
    taking counts. A piece that goes on where another ends is never left out for one that was taken later.
    `is_part` says whether the bytes of a piece are among those of a longer one.
    """
    kept: list[Piece] = []
    ends: dict[int, int] = {}
    for piece in sorted(pieces, key=_turn):
        header = piece[0]
        if header.start < ends.get(header.generation, 0):  # nearly never: most files only ever grew
            if any(_lies_in(header, old[0]) and is_part(piece, old) for old in kept):
                continue
            kept = [old for old in kept if not _is_replaced(old[0], header, kept)]
        kept.append(piece)
        ends[header.generation] = max(ends.get(header.generation, 0), _end(header))
    return sorted(kept, key=lambda piece: (piece[0].generation, piece[0].start))


def _turn(piece: Piece) -> tuple[int, int, int, int, int]:
    """What stands for lost bytes comes first: whatever is found again takes its place."""
    header, place = piece
    order = order_of(header)
    if LOST in header.more:
        return header.generation, -1, header.start, place.pack, place.offset
    return header.generation, order, header.start if order else 0, place.pack, place.offset


def _end(header: PieceHeader) -> int:
    return header.start + header.length


def _lies_in(inner: PieceHeader, outer: PieceHeader) -> bool:
    is_inside = outer.start <= inner.start and _end(inner) <= _end(outer)
    return inner.generation == outer.generation and is_inside and LOST not in outer.more


def _is_replaced(old: PieceHeader, new: PieceHeader, kept: Iterable[Piece]) -> bool:
    if old.generation != new.generation or _end(old) <= new.start:
        return False
    if old.start < _end(new):
        return True
    # Behind the new piece: of an earlier taking, unless it goes on where the new one ends. Without numbers nobody can
    # tell it from one whose neighbour is damaged.
    has_numbers = order_of(old) and order_of(new) and LOST not in old.more
    return bool(has_numbers) and not _is_reached(old, _end(new), kept)


def _is_reached(wanted: PieceHeader, end: int, kept: Iterable[Piece]) -> bool:
    """Whether pieces lie end to end from here up to one."""
    ends = {each.start: _end(each) for each, _ in kept if each.generation == wanted.generation and each.length}
    while end < wanted.start and end in ends:
        end = ends[end]
    return end == wanted.start
