"""The colours of charts: six for series and one for the rest, on light paper and on dark.

Any two stay apart for people who see red, green or blue differently, and each stands out from its paper at 3:1 or more.
"""

from __future__ import annotations

from msgspec import Struct

from .folding import MOST_SERIES


class Theme(Struct, frozen=True):
    """What a drawing is coloured with."""

    paper: str
    ink: str
    muted: str
    grid: str
    axis: str
    series: tuple[str, ...]
    """The last one is for what was left together."""


LIGHT = Theme(
    paper="#ffffff",
    ink="#1b1f24",
    muted="#5f6670",
    grid="#e8eaed",
    axis="#aeb4bc",
    series=("#2d4fc0", "#ef6b3a", "#08a87a", "#762a4d", "#1279b1", "#885b23", "#6b7079"),
)
DARK = Theme(
    paper="#15171c",
    ink="#e9ebee",
    muted="#9aa1ab",
    grid="#292d34",
    axis="#565c66",
    series=("#3470e0", "#ea8a24", "#64f0c4", "#93597f", "#22b5fa", "#c5441c", "#949aa2"),
)


def colour_of(position: int) -> int:
    """Which of a theme's colours the series at a position has."""
    return min(position, MOST_SERIES)
