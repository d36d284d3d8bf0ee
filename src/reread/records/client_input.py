"""What Claude Code gives a hook or a status line command: one JSON object on standard input.

Imports nothing heavy; any part may be missing, and nothing raises.
"""

from __future__ import annotations

from .json_parts import list_of, object_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


MOST_DOLLARS = 1_000_000_000
"""A larger value is not a cost, and in nano-dollars would not fit a column."""


def number(value: object, most: float) -> float | None:
    """A number from 0 to `most`; None for anything else, NaN included, because no comparison with it holds."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if 0 <= value <= most else None


def nanodollars(value: object) -> int | None:
    """Dollars in whole nano-dollars."""
    dollars = number(value, MOST_DOLLARS)
    return None if dollars is None else round(dollars * 10**9)


_LONGEST_NAME = 80
_MOST_TOKENS = 10**12
_MOST_PERCENT = 1_000
_LONGEST_MS = 10**12
_MINUTE_MS = 60_000
_WEEK_MS = 7 * 24 * 60 * _MINUTE_MS
LIMIT_LENGTHS = {"five_hour": 5 * 60 * _MINUTE_MS, "seven_day": _WEEK_MS}
"""How long the window of a limit is; the others are of a week, too."""
UNNAMED_LIMIT = "usage"
"""Where the client does not say which limit it means."""
_MOST_LIMITS = 20
_MILLISECONDS_FROM = 10**11


class Limit:
    """How much of a usage limit is used, in percent, and when it resets, in milliseconds since 1970."""

    __slots__ = ("percent", "resets")

    def __init__(self, value: object, length: int, now: int) -> None:
        values = object_of(value)
        self.percent = number(values.get("used_percentage"), _MOST_PERCENT)
        resets = _milliseconds(values.get("resets_at"))
        # A window that does not contain the present is stale or not ours.
        is_near = resets is not None and abs(resets - now) <= length + 5 * _MINUTE_MS
        self.resets = resets if is_near else None


class StatusLine:
    """The values of one status line, each None where the client's value makes no sense."""

    def __init__(self, value: object, now: int) -> None:
        values = object_of(value)
        cost, context, limits = (object_of(values.get(name)) for name in ("cost", "context_window", "rate_limits"))
        model = object_of(values.get("model"))
        self.session = _name(values.get("session_id"))
        self.transcript = _name(values.get("transcript_path"), longest=4096)
        self.model = _name(model.get("display_name")) or _name(model.get("id"))
        self.nanodollars = nanodollars(cost.get("total_cost_usd"))
        lasted = number(cost.get("total_duration_ms"), _LONGEST_MS)
        self.began = None if lasted is None else now - int(lasted)
        """When the client began to count. A resumed session counts on from where it was, as if there had been no
        pause."""
        names = [name for name in limits if _name(name)][:_MOST_LIMITS]
        self.limits = {name: Limit(limits[name], LIMIT_LENGTHS.get(name, _WEEK_MS), now) for name in names}
        self.five_hour, self.seven_day = (self.limits.get(name) or Limit(None, 0, now) for name in LIMIT_LENGTHS)
        self.context_size = _tokens(context.get("context_window_size"))
        self.context_tokens = _context_tokens(object_of(context.get("current_usage")))
        told = number(context.get("used_percentage"), _MOST_PERCENT)
        self.context_percent = _percent(self.context_tokens, self.context_size) if told is None else told

    @property
    def kept_values(self) -> tuple[int | None, ...]:
        """The values of its count that the archive keeps: cost, context."""
        return self.nanodollars, self.context_tokens, self.context_size

    @property
    def kept_limits(self) -> dict[str, tuple[float | None, int | None]]:
        """By limit: percentage and end of its window."""
        told = {name: (each.percent, each.resets) for name, each in self.limits.items()}
        return {name: values for name, values in told.items() if values != (None, None)}


def read_status_line(raw: bytes, now: int) -> StatusLine | None:
    """None when these bytes are not a JSON object."""
    document = _parsed(raw)
    return StatusLine(document, now) if isinstance(document, dict) else None


def _parsed(raw: bytes) -> object:
    import json

    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return None


def _name(value: object, longest: int = _LONGEST_NAME) -> str | None:
    """Text that is safe for a terminal and a database; None if it holds escapes, line ends or unpaired surrogates."""
    if not isinstance(value, str) or not value.strip() or len(value) > longest:
        return None
    return value.strip() if value.isprintable() else None


def _tokens(value: object) -> int | None:
    found = number(value, _MOST_TOKENS)
    return None if found is None else int(found)


def _context_tokens(used: dict[str, Any]) -> int | None:
    names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    counts = [_tokens(used.get(name)) for name in names]
    return None if all(count is None for count in counts) else sum(count or 0 for count in counts)


def _percent(tokens: int | None, size: int | None) -> float | None:
    return tokens * 100 / size if tokens is not None and size else None


def _milliseconds(value: object) -> int | None:
    """A time rounded to the minute, from seconds since 1970, milliseconds, or ISO 8601."""
    if isinstance(value, str):
        from .lenient import parse_time

        moment = parse_time(value)
        value = None if moment is None else moment.timestamp()
    found = number(value, 10**15)
    if found is None:
        return None
    return round((found if found > _MILLISECONDS_FROM else found * 1000) / _MINUTE_MS) * _MINUTE_MS


class HookInput:
    """The session a hook runs for, and what `PermissionRequest` asks; any field may be None."""

    __slots__ = ("agent", "event", "folder", "input", "reason", "session", "suggestions", "tool", "transcript")

    def __init__(self, line: dict[str, Any]) -> None:
        self.event = _text(line.get("hook_event_name"))
        self.session = _text(line.get("session_id"))
        self.transcript = _text(line.get("transcript_path"))
        self.reason = _text(line.get("reason"))
        self.folder = _text(line.get("cwd"))
        self.agent = _text(line.get("agent_id"))
        self.tool = _text(line.get("tool_name"))
        self.input = line.get("tool_input")
        self.suggestions = list_of(line.get("permission_suggestions"))


def read_hook_input(raw: bytes) -> HookInput:
    return HookInput(object_of(_parsed(raw)))


def _text(value: object) -> str | None:
    """Text that a command line can carry: not empty, without NUL."""
    return value if isinstance(value, str) and value and "\0" not in value else None
