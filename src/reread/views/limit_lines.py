"""Usage limits of a subscription: each window of the client's limits, how full it became and what used it up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, tzinfo
from typing import Any

from reread.archive.limit_windows import LimitShare, LimitWindow

from .numbers import percent
from .text import one_line, table
from .values import View, picked, utc, when

_NAMES = {"five_hour": "5 hours", "seven_day": "7 days", "usage": "limit without a name"}
_SHARED = "used up by: shares of the cost at list prices, which the limits themselves are not counted in"


def limits_document(windows: Sequence[LimitWindow]) -> list[dict[str, Any]]:
    return [
        {
            **picked(each, "limit=name began resets percent hit runs_out"),
            "values": [{"at": utc(at), "percent": value} for at, value in each.values],
            "used_up_by": [{"by": of.by, "key": of.key, "share": round(of.share, 4)} for of in each.used_up_by],
        }
        for each in windows
    ]


def limit_name(window: LimitWindow) -> str:
    """`5 hours`, `7 days`, `7 days opus`; other names as the client writes them."""
    known = next((name for name in _NAMES if window.name.startswith(name)), None)
    rest = window.name.removeprefix(known or "").replace("_", " ")
    return one_line(f"{_NAMES.get(known or '', '')}{rest}".strip())


def limit_words(window: LimitWindow, zone: tzinfo | None) -> str:
    """`42 % used as of 14:02, used up at 16:10 at this pace, resets 17:00`."""
    used = f"{window.percent:.0f} % used as of {when(window.values[-1][0], zone)}" if window.values else ""
    reached = f"reached {when(window.hit, zone)}" if window.hit else ""
    then = f"used up {when(window.runs_out, zone)} at this pace" if window.runs_out else ""
    return ", ".join(
        filter(None, (used, reached, then, f"resets {when(window.resets, zone)}" if window.resets else ""))
    )


def open_limit_lines(windows: Sequence[LimitWindow], now: datetime, zone: tzinfo | None) -> list[tuple[str, str]]:
    """Name and words of each limit whose window is open, and how often it was reached lately."""
    return [
        (limit_name(each), ", ".join(filter(None, (limit_words(each, zone), _hits(each, windows)))))
        for each in windows
        if each.is_open(now)
    ]


def _hits(window: LimitWindow, windows: Sequence[LimitWindow]) -> str:
    alike = [each for each in windows if each.name == window.name]
    hits = sum(each.hit is not None for each in alike)
    return f"reached in {hits:,} of the last {len(alike):,} windows" if hits and len(alike) > 1 else ""


def limit_lines(windows: Sequence[LimitWindow], view: View) -> Iterator[str]:
    """A row for each window, the newest last."""
    rows = [("limit", "resets", "used", "reached", "used up", "by")]
    for each in windows:
        used = "" if each.percent is None else f"{each.percent:.0f} %"
        times = (when(time, view.timezone) for time in (each.resets, each.hit, each.runs_out))
        resets, hit, runs_out = times
        rows.append((limit_name(each), resets, used, hit, runs_out and f"{runs_out} at this pace", _shares(each)))
    yield from table(rows, view.width, flexible=5, right={2}, dispensable=[4])
    if any(each.used_up_by for each in windows):
        yield from view.wrapped(_SHARED, "dim")


def _shares(window: LimitWindow) -> str:
    """The largest share of each kind."""
    largest: dict[str, LimitShare] = {}
    for each in window.used_up_by:
        largest.setdefault(each.by, each)
    return ", ".join(f"{one_line(each.key or 'main')} {percent(each.share)}" for each in largest.values())
