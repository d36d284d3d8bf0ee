"""How to show something: width, colours, time zone. Imports nothing of a session."""

from __future__ import annotations

from datetime import datetime, tzinfo
from typing import NamedTuple

from .text import Style


class View(NamedTuple):
    """How to show a session."""

    width: int
    style: Style
    timezone: tzinfo | None = None
    thinking: bool = True
    tools: str = "brief"
    """none, brief or full."""
    marked: int | None = None
    """The turn that was looked for."""


def when(time: datetime | None, zone: tzinfo | None, form: str = "%Y-%m-%d %H:%M") -> str:
    if time is None:
        return ""
    try:
        return time.astimezone(zone).strftime(form)
    except OverflowError:  # the first or last day there is, in a zone that would go beyond it
        return time.strftime(form)
