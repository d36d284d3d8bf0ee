"""A status line: what it may show, and how. Imports little: it is drawn every few hundred milliseconds."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from reread.archive.status import SpentToday
    from reread.records.client_input import Limit, StatusLine

UNKNOWN = "-"
PARTS = {
    "model": "{model}",
    "today": "today {today}",
    "session": "session {session}",
    "budget": "{budget}",
    "hourly": "{hourly}/h",
    "context": "context {context}",
    "five_hour": "5h {five_hour}",
    "seven_day": "7d {seven_day}",
}
"""What a line shows of each field, in this order, where it is known."""
_FIELD = rf"{{({'|'.join(PARTS)})}}"


def status_line(line: StatusLine | None, spent: SpentToday, now: int, template: str | None) -> str:
    """The line; where nothing at all is known, the name of the program, for an empty one would be taken for broken."""
    known = _fields(line, spent, now)
    if template is None:
        template = " · ".join(part for name, part in PARTS.items() if name in known) or "reread"
    return re.sub(_FIELD, lambda found: known.get(found[1], UNKNOWN), template)


def _fields(line: StatusLine | None, spent: SpentToday, now: int) -> dict[str, str]:
    fields = {"today": _money(spent.today), "hourly": _money(spent.hourly), "budget": _budget(spent)}
    if line is not None:
        fields["model"] = line.model
        fields["session"] = _money(line.nanodollars)
        fields["context"] = None if line.context_percent is None else f"{line.context_percent:.0f}%"
        fields["five_hour"] = _limit(line.five_hour, now)
        fields["seven_day"] = _limit(line.seven_day, now)
    return {name: text for name, text in fields.items() if text is not None}


def _budget(spent: SpentToday) -> str | None:
    """`day 82% of $10`; a mark where it is nearly used up."""
    found = spent.budget
    if found is None:
        return None
    mark = {"ok": "", "near": " !", "over": " !!"}[found.state]
    return f"{found.period} {found.share:.0%} of ${found.limit / 1e9:,.0f}{mark}"


def _money(nanodollars: int | None) -> str | None:
    return None if nanodollars is None else f"${nanodollars / 1e9:,.2f}"


def _limit(limit: Limit, now: int) -> str | None:
    if limit.percent is None:
        return None
    left = 0 if limit.resets is None else limit.resets - now
    return f"{limit.percent:.0f}%" + (f" ({_span(left // 60_000)} left)" if left > 0 else "")


def _span(minutes: int) -> str:
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{days}d {hours}h"
    return f"{hours}h {minutes}m" if hours else f"{minutes}m"
