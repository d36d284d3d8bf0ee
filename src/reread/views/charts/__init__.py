"""Charts of bars, areas and days: one definition, which can be drawn as SVG, PNG or terminal text."""

from .chart import MOST_SERIES, Chart, Kind, Number, Series, Unit, shade_of
from .terminal_chart import chart_lines, sparkline

__all__ = ["MOST_SERIES", "Chart", "Kind", "Number", "Series", "Unit", "chart_lines", "shade_of", "sparkline"]
