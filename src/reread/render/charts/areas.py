"""Rectangles as large as their values that fill another: the squarified treemap of Bruls, Huizing and van Wijk."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .shapes import Box


def squarified(values: Sequence[float], box: Box) -> list[Box | None]:
    """A part of the box for each value, as near to a square as they get; none for a value of 0.

    The largest lies at the upper left, whatever the order of the values.
    """
    found: list[Box | None] = [None] * len(values)
    order = sorted((index for index, value in enumerate(values) if value > 0), key=lambda index: -values[index])
    total = math.fsum(values[index] for index in order)
    if not order or box.width <= 0 or box.height <= 0:
        return found
    scale = box.width * box.height / total
    areas = [values[index] * scale for index in order]
    start = 0
    while start < len(order):
        end = _row_end(areas, start, min(box.width, box.height))
        is_last = end == len(order)
        placed, box = _row(areas[start:end], box, is_last=is_last)
        for index, part in zip(order[start:end], placed, strict=True):
            found[index] = part
        start = end
    return found


def _row_end(areas: Sequence[float], start: int, side: float) -> int:
    """How far a row along the shorter side goes: as long as its worst rectangle gets no worse."""
    end, worst = start + 1, _worst(areas[start : start + 1], side)
    while end < len(areas):
        longer = _worst(areas[start : end + 1], side)
        if longer > worst:
            break
        end, worst = end + 1, longer
    return end


def _worst(row: Sequence[float], side: float) -> float:
    """The largest ratio of two sides in a row."""
    whole = math.fsum(row)
    depth = whole / side if side > 0 else 0.0
    lengths = [side * area / whole for area in row] if whole > 0 else [0.0]
    if depth <= 0 or not all(lengths):
        return math.inf  # next to nothing, in a corner that is next to nothing
    return max(max(length / depth, depth / length) for length in (min(lengths), max(lengths)))


def _row(row: Sequence[float], box: Box, *, is_last: bool) -> tuple[list[Box], Box]:
    """A row laid along the shorter side of the box, and what is left; the last one fills it to the edge."""
    whole = math.fsum(row)
    stands = box.width >= box.height
    side = box.height if stands else box.width
    depth = (box.width if stands else box.height) if is_last or side <= 0 else whole / side
    depth = min(depth, box.width if stands else box.height)
    parts, at = [], 0.0
    for number, area in enumerate(row):
        before, at = at, side if number == len(row) - 1 else min(side, at + (side * area / whole if whole > 0 else 0))
        if stands:
            parts.append(Box(box.left, box.top + before, box.left + depth, box.top + at))
        else:
            parts.append(Box(box.left + before, box.top, box.left + at, box.top + depth))
    left = Box(box.left + depth, box.top, box.right, box.bottom)
    below = Box(box.left, box.top + depth, box.right, box.bottom)
    return parts, left if stands else below
