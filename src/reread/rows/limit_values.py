"""What lines of a file say of a subscription's usage limits: how full they are, when they reset, what was refused."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from reread.errors import BadInput
from reread.records import Assistant, Record, parse_or_none, parse_time
from reread.records.client_input import UNNAMED_LIMIT, number
from reread.records.frames import RateLimitEvent
from reread.records.json_parts import object_of
from reread.times import milliseconds, zone_called

from .model import LimitRow

_NAMES = {
    "session": "five_hour",
    "5-hour": "five_hour",
    "weekly": "seven_day",
    "opus": "seven_day_opus",
    "sonnet": "seven_day_sonnet",
}
"""The client's words for its limits, by which it calls them elsewhere."""
_REACHED = r"(?:You.ve hit your |Claude AI )?([\w -]{0,30}?) ?limit(?: reached)? *(?:$|[|·∙.])"
_RESETS = r"resets (?:([A-Z][a-z]{2}) (\d{1,2})(?:,| at)* )?(\d{1,2})(?::(\d\d))?([ap]m) \(([\w/+-]+)\)"
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
"""As the client writes them, whatever the language of this machine."""
_MOST_PERCENT = 1_000


def limit_rows(records: Sequence[Record]) -> Iterator[LimitRow]:
    """Frames have no time of their own: theirs is that of the last line before them that has one."""
    time: datetime | None = None
    for record in records:
        time = record.time or time
        if type(record) is RateLimitEvent:
            yield from _values_told(record, time)
        elif type(record) is Assistant and record.is_api_error_message:
            yield from _limit_reached(record, time)


def _values_told(record: RateLimitEvent, time: datetime | None) -> Iterator[LimitRow]:
    """The limit that the event is about, and the other windows that it names."""
    told = object_of(parse_or_none(record.rate_limit_info))
    windows = {name: object_of(each) for name, each in object_of(told.get("unifiedWindows")).items()}
    windows |= {str(told.get("rateLimitType") or UNNAMED_LIMIT): told}
    for name, each in windows.items():
        used = number(each.get("utilization"), _MOST_PERCENT / 100)
        yield LimitRow(
            offset=record.offset,
            name=name,
            time=milliseconds(time),
            percent=None if used is None else used * 100,
            resets=milliseconds(parse_time(each.get("resetsAt"))),
            is_hit=each.get("status") == "rejected",
        )


def _limit_reached(record: Assistant, time: datetime | None) -> Iterator[LimitRow]:
    """The client's notice in the place of an answer; other errors of the API name no limit of a person's."""
    found = re.match(_REACHED, record.text.strip())
    if found is not None:
        said = found[1].strip().lower()
        name = _NAMES.get(said) or _NAMES.get(said.removesuffix(" weekly")) or said.replace(" ", "_") or UNNAMED_LIMIT
        resets = milliseconds(_end_in(record.text, time))
        yield LimitRow(offset=record.offset, name=name, time=milliseconds(time), resets=resets, is_hit=True)


def _end_in(text: str, time: datetime | None) -> datetime | None:
    """The moment that the notice names: the next one with this day and hour. None without a zone."""
    if seconds := re.search(r"\|(\d{10})\b", text):
        return parse_time(int(seconds[1]))
    found = re.search(_RESETS, text)
    if found is None or time is None:
        return None
    month, day, hour, minute, half, zone = found.groups()
    try:
        now = time.astimezone(zone_called(zone))
        hour_of_day = int(hour) % 12 + (12 if half == "pm" else 0)
        then = now.replace(hour=hour_of_day, minute=int(minute or 0), second=0, microsecond=0)
        if month is None:
            return then if then > now else then + timedelta(days=1)
        then = then.replace(month=_MONTHS.index(month) + 1, day=int(day))
        return then if then > now else then.replace(year=now.year + 1)
    except (BadInput, ValueError, OverflowError, OSError):
        return None
