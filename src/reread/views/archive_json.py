"""What the archive answers as JSON documents. Field names are a contract: scripts rely on them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from .numbers import nano
from .session_list import mark_fields
from .values import Document, dollars, utc

if TYPE_CHECKING:
    from reread.archive.listing import Listed
    from reread.archive.lost_sessions import LostSession
    from reread.archive.usage_report import Period


def listing_document(sessions: Iterable[Listed]) -> Document:
    return {"schema": "reread.sessions/1", "sessions": [listed_row(each) for each in sessions]}


def lost_row(each: LostSession) -> Document:
    """A session that is listed in the client's own index only."""
    return {
        "id": each.id,
        "project": each.project,
        "title": each.title,
        "summary": each.summary,
        "first_prompt": each.first_prompt,
        "git_branch": each.git_branch,
        "started": utc(each.started),
        "ended": utc(each.ended),
        "messages": each.messages,
    }


def overview_document(
    sessions: Iterable[Listed], total: int, hidden: int, expiring: int, periods: Iterable[Period]
) -> Document:
    """The newest of `total` sessions; so many more are hidden."""
    return {
        **listing_document(sessions),
        "total_sessions": total,
        "hidden_sessions": hidden,
        "expiring_sessions": expiring,
        "periods": [_period_row(period) for period in periods],
    }


def listed_row(each: Listed) -> Document:
    row = each.stored.row
    return {
        "id": row.uuid,
        "project": row.project,
        "title": row.title,
        "started": utc(each.stored.started),
        "ended": utc(each.stored.ended),
        "versions": row.versions,
        "prompts": row.prompts,
        "turns": row.turns,
        "requests": row.requests,
        "tool_calls": row.tool_calls,
        "tool_errors": row.tool_errors,
        "thoughts": row.thoughts,
        "output_tokens": row.output_tokens,
        "cost_usd": dollars(nano(row.nanodollars)),
        "subagents": row.subagents,
        "branches": row.branches,
        "compactions": row.compactions,
        **kept_fields(each),
    }


def kept_fields(each: Listed) -> Document:
    """What only the archive knows of a session."""
    return {
        "files": each.stored.files,
        "bytes": each.stored.row.bytes,
        "present": each.stored.present,
        "places": [
            {"machine": place.machine, "path": place.path, "present": place.present} for place in each.stored.places
        ],
        "archived": True,
        "expires": utc(each.expires),
        "belongs_to": each.project or None,
        "copied_from": list(each.copied.sessions),
        "copied_cost_usd": dollars(nano(each.copied.nanodollars)),
        **mark_fields(each.stored.mark),
    }


def _period_row(period: Period) -> Document:
    return {
        "period": period.label,
        "since": period.since.isoformat(),
        "prompts": period.prompts,
        "requests": period.tokens.requests,
        "tokens": period.tokens.total_tokens,
        "cost_usd": dollars(period.tokens.cost),
        "unpriced_tokens": period.tokens.unpriced_tokens,
        "cache_hit": None if period.tokens.cache_hit is None else round(period.tokens.cache_hit, 4),
    }


def rows_document(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Document:
    """One object per row; a column whose name came before gets a number."""
    names = unique(columns)
    found = [dict(zip(names, map(json_value, row), strict=True)) for row in rows]
    return {"schema": "reread.sql/1", "columns": names, "rows": found}


def unique(names: Sequence[str]) -> list[str]:
    found: list[str] = []
    for name in names:
        number = 2
        fresh = name
        while fresh in found:
            fresh = f"{name}_{number}"
            number += 1
        found.append(fresh)
    return found


def json_value(value: object) -> object:
    """Bytes, such as digests, as hexadecimal."""
    return value.hex() if isinstance(value, bytes) else value
