"""Charts of bars, areas and days: one definition, which can be drawn as SVG, PNG or terminal text."""

from .chart import Chart, Kind, Number, Series, Unit
from .terminal_chart import chart_lines, sparkline

__all__ = ["Chart", "Kind", "Number", "Series", "Unit", "chart_lines", "sparkline"]
