"""The SVG of a chart as PNG bytes, drawn by resvg with the letters that come with reread."""

from __future__ import annotations

import re
from importlib import resources

from reread.errors import BadInput

from .chart import Chart
from .svg import WIDTH, chart_svg

NEEDED = "PNG needs an extra: pip install 'reread[png]'"
SCALE = 2
"""Pixels for each unit of the SVG, so that it is sharp on dense screens and in documents."""
_DRAWN_BY_OURS = re.compile(r"[\n\x20-\x7e\xa0-\u017f\u0370-\u045f\u2010-\u2027\u2212\u2264\u2265]*")
"""Scripts in our font. Only for others are the system's fonts looked at: that takes time, and differs by machine."""


def chart_png(chart: Chart) -> bytes:
    """The light theme, twice the size of the SVG. Raises `BadInput` where resvg is not installed."""
    try:
        from resvg_py import svg_to_bytes
    except ImportError as error:
        raise BadInput(f"{NEEDED}; SVG works without it") from error
    svg = chart_svg(chart)
    with resources.as_file(resources.files(__package__).joinpath("fonts")) as fonts:
        return svg_to_bytes(
            svg_string=svg,
            width=WIDTH * SCALE,
            font_dirs=[str(fonts)],
            skip_system_fonts=_DRAWN_BY_OURS.fullmatch(svg) is not None,
            font_family="Inter",
            sans_serif_family="Inter",
        )
