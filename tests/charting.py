"""Charts to draw, and readers of what was drawn."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from xml.etree import ElementTree

from reread.views.charts import Chart, Kind, Number, Series, Unit
from reread.views.charts.chart import LIGHT

SVG = "{http://www.w3.org/2000/svg}"


def a_chart(
    *rows: Sequence[Number | None],
    labels: Sequence[str] | None = None,
    kind: Kind = "time",
    unit: Unit = "plain",
    title: str = "Requests",
) -> Chart:
    """A chart with one series for each row of values."""
    names = tuple(labels if labels is not None else (f"x{number}" for number in range(len(rows[0]) if rows else 0)))
    series = tuple(Series(f"series {number}", tuple(row)) for number, row in enumerate(rows))
    return Chart(title=title, labels=names, series=series, kind=kind, unit=unit)


def parsed(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg)  # noqa: S314  our own document, without entities


def bars(svg: str, series: int) -> list[dict[str, float]]:
    """The rectangles of one series, legend left out, in the order of their labels."""
    groups = [group for group in parsed(svg).iter(f"{SVG}g") if group.get("class") == f"s{series}"]
    rects = [rect for group in groups for rect in group.iter(f"{SVG}rect") if rect.get("rx") is None]
    return [{name: float(rect.attrib[name]) for name in ("x", "y", "width", "height")} for rect in rects]


def tips(svg: str) -> list[str]:
    return [title.text or "" for title in parsed(svg).iter(f"{SVG}title")]


def texts(svg: str) -> list[str]:
    return [_own_text(text) for text in parsed(svg).iter(f"{SVG}text")]


def _own_text(text: ElementTree.Element) -> str:
    """What is seen: not the tooltip."""
    shown = [text.text or ""]
    for child in text:
        shown += ["" if child.tag == f"{SVG}title" else child.text or "", child.tail or ""]
    return " ".join(part for part in shown if part)


Pixel = tuple[int, int, int]


def pixels(png: bytes) -> list[list[Pixel]]:
    """The picture by rows; for the one kind of PNG that resvg writes."""
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    chunks: dict[bytes, bytes] = {}
    at = 8
    while at < len(png):
        length, name = struct.unpack(">I4s", png[at : at + 8])
        chunks[name] = chunks.get(name, b"") + png[at + 8 : at + 8 + length]
        at += 12 + length
    width, height, depth, colours, _, _, interlaced = struct.unpack(">IIBBBBB", chunks[b"IHDR"])
    assert (depth, colours, interlaced) == (8, 6, 0)
    raw = zlib.decompress(chunks[b"IDAT"])
    stride = width * 4
    above = bytearray(stride)
    rows = []
    for row in range(height):
        start = row * (stride + 1)
        above = _unfiltered(raw[start], bytearray(raw[start + 1 : start + 1 + stride]), above)
        rows.append([(above[x], above[x + 1], above[x + 2]) for x in range(0, stride, 4)])
    return rows


def _unfiltered(kind: int, line: bytearray, above: bytearray) -> bytearray:
    if kind == 0:
        return line
    if kind == 2:
        return bytearray([(value + up) & 255 for value, up in zip(line, above, strict=True)])
    for channel in range(4):
        left = corner = 0
        for x in range(channel, len(line), 4):
            up = above[x]
            if kind == 1:
                guess = left
            elif kind == 3:
                guess = (left + up) // 2
            elif left == corner:  # most of a chart is plain: then the estimate is what stands above
                guess = up
            elif up == corner:
                guess = left
            else:
                guess = _paeth(left, up, corner)
            line[x] = left = (line[x] + guess) & 255
            corner = up
    return line


def _paeth(left: int, up: int, corner: int) -> int:
    estimate = left + up - corner
    return min((left, up, corner), key=lambda value: abs(estimate - value))


def rgb(colour: str) -> Pixel:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


BLUE = rgb(LIGHT.series[0])
