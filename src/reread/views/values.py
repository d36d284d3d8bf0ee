"""Values of JSON documents (times, money), and `View`: width, colours, time zone.

Imports nothing about sessions.
"""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from decimal import Decimal
from enum import Enum
from functools import cache
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from reread import lazy
from reread.lazy import TYPE_CHECKING
from reread.times import in_zone

from .text import OBEYED, Style, wrap

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    import msgspec

    from reread.billing.report import Tokens
else:  # takes longer to import than a list of sessions takes as text
    lazy.bind(globals())


Document = dict[str, "Any"]

_OBEYED = lazy.pattern(f"[{OBEYED}]")
_LETTERS = bytes(range(0x20, 0x7F))


def indented(document: object) -> str:
    """A document as JSON that a person can read."""
    return msgspec.json.format(encoded(document), indent=2).decode()


def encoded(document: object) -> bytes:
    """A document as JSON. What UTF-8 cannot encode in file names and texts is replaced by a backslash escape.

    Characters that a terminal would obey are written as JSON escapes, because people look at JSON too; the value stays
    the same.
    """
    try:
        raw = msgspec.json.encode(document)
    except UnicodeEncodeError:
        raw = msgspec.json.encode(_representable(document))
    if not _OBEYED.search(raw.translate(None, _LETTERS).decode()):  # the pattern alone takes ten times as long
        return raw
    return _OBEYED.sub(lambda found: _escape(found[0]), raw.decode()).encode()


def _escape(character: str) -> str:
    """The JSON escape of a character: its UTF-16 units in hexadecimal. Such characters occur only inside strings."""
    units = character.encode("utf-16-be").hex()
    return "".join(f"\\u{units[start : start + 4]}" for start in range(0, len(units), 4))


def _representable(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {_representable(key): _representable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_representable(item) for item in value]
    return value


def utc(time: datetime | None) -> str | None:
    """ISO 8601 with `Z`, milliseconds as the client writes them."""
    if time is None:
        return None
    return time.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def dollars(amount: Decimal | None) -> str | None:
    return None if amount is None else f"{amount:.9f}"


def picked(given: object, names: str) -> Document:
    """Fields of a value as JSON has them: each under its own name, `timestamp=place.time` under another."""
    return {name: _plain(get(given)) for name, get in _getters(names)}


def each_picked(values: Iterable[object], names: str) -> list[Document]:
    return [picked(value, names) for value in values]


@cache
def _getters(names: str) -> list[tuple[str, attrgetter[Any]]]:
    pairs = (each.partition("=") for each in names.split())
    return [(name, attrgetter(source or name)) for name, _, source in pairs]


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return utc(value)
    if isinstance(value, Decimal):
        return dollars(value)
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, Path):
        return str(value)
    return value.value if isinstance(value, Enum) else value


def tokens_document(used: Tokens) -> Document:
    return picked(
        used,
        "requests input_tokens output_tokens cache_read_tokens cache_write_5m_tokens cache_write_1h_tokens"
        " web_searches cost_usd=cost unpriced_tokens",
    )


class View(NamedTuple):
    """How to show a session."""

    width: int
    style: Style
    timezone: tzinfo | None = None
    thinking: bool = True
    tools: str = "brief"
    """none, brief or full."""
    marked: int | None = None
    """The index of the turn to mark as the one that was looked for."""

    def headed(self, lines: Iterable[str], total: int | None = None) -> Iterator[str]:
        """The lines of a table; its header, and the line of the total, are bold."""
        for number, line in enumerate(lines):
            yield self.style.paint(line, "bold") if number in (0, total) else line

    def wrapped(self, text: str, look: str) -> Iterator[str]:
        """The lines of a text at this width."""
        return (self.style.paint(line, look) for line in wrap(text, self.width))


def when(time: datetime | None, zone: tzinfo | None, form: str = "%Y-%m-%d %H:%M") -> str:
    if time is None:
        return ""
    try:
        return in_zone(time, zone).strftime(form)
    except OverflowError:  # the zone would move the time beyond the first or last day that datetime has
        return time.strftime(form)
