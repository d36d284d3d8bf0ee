"""What stands out in an archive, each as a sentence with the command that says more."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from reread.errors import printable

from .numbers import count, money, percent, tokens
from .values import when

if TYPE_CHECKING:
    from datetime import datetime, tzinfo

    from reread.archive.facts import ArchiveFacts
    from reread.archive.listing import Listed

_MUCH = 0.2
"""From which share on agents or a rebuilt cache are why a session was dear."""


_READ_MORE = 50
"""Output costs up to fifty times what context from the cache does: above it, the context is what was paid for."""


class Fact(NamedTuple):
    sentence: str
    command: str


def facts_of(found: ArchiveFacts, expiring: int, now: datetime, zone: tzinfo | None) -> Iterator[Fact]:
    first, dearest = found.first_deleted, found.dearest
    if first is not None and first.expires is not None:
        day = f"on {when(max(first.expires, now), zone, '%Y-%m-%d')}"
        many = f"Claude Code deletes {count(expiring, 'session')} within 7 days, the first {day}"
        many = many if expiring else f"Claude Code deletes nothing within 7 days; first to go, {day}"
        yield Fact(f"{many}: {_title(first)}. The archive keeps it.", f"reread show {first.id[:8]}")
    if dearest is not None:
        cost = f"The dearest session of 30 days cost {money(dearest.cost, is_partial=False)}: {_title(dearest)}"
        yield Fact(f"{cost}. {_why(found)}.", f"reread explain {dearest.id[:8]}")
    if found.without_text:
        share = f"{found.without_text:,} of the last {count(found.thoughts, 'thought')}"
        remedy = 'with "showThinkingSummaries": true in its settings it stores them'
        yield Fact(f"Claude Code did not store the words of {share}; {remedy}.", "reread thinking")


def _title(session: Listed) -> str:
    return printable(session.title).rstrip(". ")


def _why(found: ArchiveFacts) -> str:
    parts = found.parts
    whole = parts.nanodollars or 1
    if parts.of_rebuilding / whole >= _MUCH:
        return f"{percent(parts.of_rebuilding / whole)} of it wrote again what the cache had lost"
    if parts.of_agents / whole >= _MUCH:
        return f"{percent(parts.of_agents / whole)} of it was spent by subagents"
    if parts.prompts > _READ_MORE * parts.output:
        return f"It read {tokens(parts.prompts)} tokens of context in {count(parts.responses, 'response')}"
    return f"It took {count(parts.responses, 'response')} with {tokens(parts.output)} tokens of output"
