"""Where a chart goes: to the terminal, or into an SVG or PNG file."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from reread.config import expanded
from reread.errors import BadInput
from reread.render.charts import Chart, chart_lines

from . import options
from .writing import refuse_sources, write_whole

if TYPE_CHECKING:
    from reread.config import Config

TERMINAL = "-"


def save_chart(chart: Chart, target: str, config: Config) -> None:
    """Prints the chart for `-`, else writes the file whole or not at all. Raises `BadInput` for what cannot be."""
    check_target(target, config)
    if target == TERMINAL:
        view = options.make_view(config)
        options.print_lines(chart_lines(chart, view.width, view.style))
        return
    path = expanded(target)
    write_whole(path, _DRAWINGS[path.suffix.lower()](chart))


def check_target(target: str, config: Config) -> None:
    """Raises `BadInput` for what a chart cannot be written to, before anything is worked out."""
    path = expanded(target)
    if target == TERMINAL:
        return
    if path.suffix.lower() not in _DRAWINGS:
        endings = " or ".join(_DRAWINGS)
        raise BadInput(f"a chart is written to a file that ends in {endings}, or to - for the terminal, not {target!r}")
    refuse_sources(path, config)


def _svg(chart: Chart) -> bytes:
    from reread.render.charts.svg import chart_svg

    return chart_svg(chart).encode()


def _png(chart: Chart) -> bytes:
    from reread.render.charts.png import chart_png

    return chart_png(chart)


_DRAWINGS: dict[str, Callable[[Chart], bytes]] = {".svg": _svg, ".png": _png}
