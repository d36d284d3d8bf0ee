"""What the client said about its own cost in the lines of a file, as rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

from reread.records import CostState, Record, Result, parse_time
from reread.records.amounts import nanodollars, number
from reread.sessions import Conversation
from reread.store.rows import SaidRow

from .requests import milliseconds

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
    """The last thing said in every count: a total that falls, or another beginning, starts a new one."""
    rows: list[SaidRow] = []
    for row in _said(conversation.records):
        last = next((known for known in reversed(rows) if known.source == row.source), None)
        if last is not None and last.began == row.began and last.nanodollars <= row.nanodollars:
            rows.remove(last)
        rows.append(row)
    return rows


def _said(records: Iterable[Record]) -> Iterator[SaidRow]:
    """Neither line has a time of its own: a cost-state tells how long was counted, else the line above must do."""
    above: datetime | None = None
    for record in records:
        above = record.time or above
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
            time=milliseconds(above) if began is None or lasted is None else began + int(lasted),
            nanodollars=total,
            models=_models(record.data.get("modelUsage")),
        )


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
