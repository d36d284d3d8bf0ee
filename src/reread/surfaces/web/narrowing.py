"""What of the usage is asked for, and how a click on a part of it asks for that part alone."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Callable
from datetime import date, datetime, timedelta
from typing import NamedTuple

from starlette.requests import Request

from reread.errors import BadInput
from reread.queries.filters import Filter
from reread.queries.usage import GROUPINGS
from reread.queries.windows import SECONDS

from . import pages
from .sessions import make_filter

SPANS = {"today": "today", "7d": "7 days", "30d": "30 days", "90d": "90 days", "365d": "a year", "all": "everything"}
_DAYS = {"today": 1, "7d": 7, "30d": 30, "90d": 90, "365d": 365}
"""Whole days, the present one included, as `reread` itself counts today and 30 days; and from sums that are there."""
FILTERS = ("project", "model", "tool", "branch", "since", "until")


class Asked(NamedTuple):
    by: str
    given: dict[str, str]
    """As the address has it; only what was given."""
    span: str
    """One of `SPANS`, or empty for a time of one's own."""
    wanted: Filter

    @property
    def chips(self) -> list[tuple[str, str]]:
        """What can be taken away again: its name, and what it says."""
        return [(name, text) for name, text in self.given.items() if not (name == "since" and self.span)]


def asked(request: Request) -> Asked:
    """Raises BadInput for a date that is none."""
    site, named = pages.site_of(request), _named(request)
    given, span = named.given, named.span
    wanted = make_filter(site, {**given, "since": "" if span else given.get("since", ""), "hidden": "1"})
    if span in _DAYS:
        midnight = site.settings.now.astimezone(site.settings.timezone)
        midnight = midnight.replace(hour=0, minute=0, second=0, microsecond=0)
        wanted = wanted._replace(since=midnight - timedelta(days=_DAYS[span] - 1))
    return named._replace(wanted=wanted)


def asked_or_why_not(request: Request) -> tuple[Asked, str]:
    """The same for a page that stays, with what was typed; and what is wrong with it, if anything is."""
    try:
        return asked(request), ""
    except BadInput as error:
        return _named(request), str(error)


def _named(request: Request) -> Asked:
    """As the address has it, without making sense of it."""
    given = {name: text for name in FILTERS if (text := pages.value(request, name))}
    by = pages.value(request, "by")
    span = given.get("since", "" if "until" in given else "30d")
    return Asked(by if by in GROUPINGS else "day", given, span if span in SPANS else "", Filter())


def narrowed(asked: Asked, key: str | None) -> str:
    """The address of one row; empty where there is none."""
    if key is None or asked.by not in _NARROWER:
        return ""
    changes = _NARROWER[asked.by](key)
    if isinstance(changes, str):
        return changes
    return f"/usage{pages.query(asked.given, **changes)}"


Changes = dict[str, str]


def _span(by: str, first: str, last: str) -> Changes:
    return {"by": by, "since": first, "until": last}


def _day(key: str) -> Changes:
    return _span("session", key, key)


def day_address(day: str) -> str:
    """The usage of one day."""
    return f"/usage{pages.query(_day(day))}"


def _week(key: str) -> Changes:
    sunday = date.fromisoformat(key) + timedelta(days=6)
    return _span("day", key, sunday.isoformat())


def _month(key: str) -> Changes:
    return _span("day", *month_span(key))


def month_span(month: str) -> tuple[str, str]:
    """Its first day and its last."""
    first = date.fromisoformat(f"{month}-01")
    return first.isoformat(), first.replace(day=monthrange(first.year, first.month)[1]).isoformat()


def _block(key: str) -> Changes:
    start = datetime.fromisoformat(key)
    return _span("session", start.isoformat(), (start + timedelta(seconds=SECONDS)).isoformat())


_NARROWER: dict[str, Callable[[str], Changes | str]] = {
    "day": _day,
    "week": _week,
    "month": _month,
    "block": _block,
    "model": lambda key: {"by": "day", "model": key},
    "project": lambda key: {"by": "day", "project": key},
    "branch": lambda key: {"by": "day", "branch": key},
    "tool": lambda key: {"by": "day", "tool": key},
    "session": lambda key: f"/s/{pages.quoted(key)}",
}
