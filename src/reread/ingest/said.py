"""What the client said about its own cost in the lines of a file, as rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from reread.records import CostState, Record, Result, parse_time
from reread.records.amounts import nanodollars, number
from reread.sessions import Conversation
from reread.store.rows import SaidRow
from reread.times import milliseconds

_LONGEST_MS = 1e12
_MOST_TOKENS = 1e15
_TOKENS = {
    "input": "inputTokens",
    "output": "outputTokens",
    "cache_read": "cacheReadInputTokens",
    "cache_write": "cacheCreationInputTokens",
    "web_searches": "webSearchRequests",
}


def said_rows(conversation: Conversation) -> list[SaidRow]:
    """The last thing said in every count."""
    rows: list[SaidRow] = []
    for row in _said(conversation.records):
        before = next((i for i in reversed(range(len(rows))) if _is_same_count(rows[i], row)), None)
        if before is None:
            rows.append(row)
        elif row.nanodollars >= rows[before].nanodollars:
            rows[before] = replace(row, first=rows[before].first)
    return rows


def _is_same_count(known: SaidRow, row: SaidRow) -> bool:
    """One beginning, one count; where none is told, a total that falls is that of another."""
    is_like = known.source == row.source and known.began == row.began
    return is_like and (row.began is not None or known.nanodollars <= row.nanodollars)


def _said(records: Sequence[Record]) -> Iterator[SaidRow]:
    for position, record in enumerate(records):
        if not isinstance(record, CostState | Result):
            continue
        total = nanodollars(record.total_cost_usd)
        if total is None:
            continue
        began = lasted = None
        if isinstance(record, CostState):
            began = milliseconds(parse_time(record.start_time))
            lasted = number(record.total_duration, _LONGEST_MS)
        yield SaidRow(
            source=record.type or "",
            began=began,
            time=_time_above(records, position) if began is None or lasted is None else began + int(lasted),
            first=total,
            nanodollars=total,
            models=_models(record.data.get("modelUsage")),
        )


def _time_above(records: Sequence[Record], position: int) -> int | None:
    """Neither line has a time of its own: that of the last one before it that has."""
    above = (records[i].time for i in range(position, -1, -1))
    return milliseconds(next((time for time in above if time is not None), None))


def _models(said: object) -> dict[str, dict[str, int]] | None:
    if not isinstance(said, dict):
        return None
    return {model: _figures(used) for model, used in said.items() if isinstance(used, dict)}


def _figures(used: dict[str, object]) -> dict[str, int]:
    found = {"nanodollars": nanodollars(used.get("costUSD"))}
    for name, theirs in _TOKENS.items():
        tokens = number(used.get(theirs), _MOST_TOKENS)
        found[name] = None if tokens is None else int(tokens)
    return {name: value for name, value in found.items() if value is not None}
