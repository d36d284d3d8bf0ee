"""The elements an SVG is made of: every text that goes into one is escaped here."""

from __future__ import annotations

from html import escape

from msgspec import Struct

from .lettering import plain
from .palette import LIGHT, colour_of

TITLE, BODY, SMALL = 19, 13, 12
MARGIN = 32


class Sheet(Struct, frozen=True):
    """What a chart is drawn on."""

    width: float = 960
    plot: float = 264
    """How high bars or areas may be."""
    links: tuple[str, ...] = ()
    """Where a click on each label leads; empty strings and missing ones lead nowhere."""

    crop: float = 0
    """How much of the margins a page takes away, which has its own around the drawing."""

    @property
    def right(self) -> float:
        return self.width - MARGIN

    def link(self, number: int) -> str:
        return self.links[number] if number < len(self.links) else ""


class Box(Struct, frozen=True):
    """A part of the sheet."""

    left: float
    top: float
    right: float
    bottom: float

    @property
    def width(self) -> float:
        return self.right - self.left

    @property
    def height(self) -> float:
        return self.bottom - self.top


def rectangle(x: float, y: float, width: float, height: float, tip: str = "", more: str = "") -> str:
    """A bar, with what it says to who points at it; `more` are attributes of ours."""
    place = f'x="{n(x)}" y="{n(y)}" width="{n(width)}" height="{n(height)}"{more}'
    return f"<rect {place}>{_title(tip)}</rect>" if tip else f"<rect {place}/>"


def linked(element: str, href: str, tip: str, *, is_first: bool) -> str:
    """The element as a link; of many only the first is in the way of the tab key."""
    if not href:
        return element
    return f'<a href="{e(href)}" aria-label="{e(_lines(tip))}" tabindex="{0 if is_first else -1}">{element}</a>'


def coloured(position: int, elements: list[str]) -> list[str]:
    """Elements in the colour of a series."""
    if not elements:
        return []
    colour = colour_of(position)
    return [f'<g class="s{colour}" fill="{LIGHT.series[colour]}">', *elements, "</g>"]


def line(name: str, colour: str, x1: float, y1: float, x2: float, y2: float) -> str:
    place = f'x1="{n(x1)}" y1="{n(y1)}" x2="{n(x2)}" y2="{n(y2)}"'
    return f'<line class="{name}" stroke="{colour}" {place}/>'


def text(
    x: float,
    y: float,
    said: str,
    *,
    look: str = "ink",
    size: int = BODY,
    bold: bool = False,
    anchor: str = "",
    tip: str = "",
    after: str = "",
    halo: bool = False,
) -> str:
    """A line of text; `after` follows it more quietly, wherever the reader's font makes it end.

    A halo of paper keeps the lines behind it from crossing the letters.
    """
    more = f' font-size="{size}"' if size != BODY else ""
    more += ' font-weight="600"' if bold else ""
    more += f' text-anchor="{anchor}"' if anchor else ""
    more += f' stroke="{LIGHT.paper}" stroke-width="4" stroke-linejoin="round" paint-order="stroke"' if halo else ""
    title = _title(tip) if tip else ""
    inner = f'{e(said)}<tspan class="muted" fill="{LIGHT.muted}" dx="7">{e(after)}</tspan>' if after else e(said)
    names = f"{look} halo" if halo else look
    return f'<text class="{names}" fill="{getattr(LIGHT, look)}" x="{n(x)}" y="{n(y)}"{more}>{title}{inner}</text>'


def _title(tip: str) -> str:
    return f"<title>{e(_lines(tip))}</title>"


def _lines(tip: str) -> str:
    """Each line of a tooltip by itself made plain."""
    return "\n".join(plain(each) for each in tip.split("\n"))


def n(number: float) -> str:
    """Hundredths of a pixel are enough, and keep the text short."""
    return f"{number:.2f}".rstrip("0").rstrip(".")


def e(said: str) -> str:
    return escape(said, quote=True)
