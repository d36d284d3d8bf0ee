"""Charts of bars, areas and days: one definition, drawn as SVG, PNG or terminal text."""

from .chart import Chart, Kind, Number, Series
from .terminal import chart_lines, sparkline
from .units import Unit

__all__ = ["Chart", "Kind", "Number", "Series", "Unit", "chart_lines", "sparkline"]
