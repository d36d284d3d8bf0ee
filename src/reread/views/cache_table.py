"""Reports about the prompt cache: tables that fit the terminal, and JSON documents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from reread.archive.cache_report import (
    CacheReport,
    CacheRow,
    Caching,
    Context,
    FoundRebuild,
    RebuildCause,
    SessionCaching,
)
from reread.billing.report import Tokens

from .charts import sparkline
from .numbers import count, money, nano, tokens
from .text import joined, one_line, shorten, table, wrap
from .usage_table import TIMES, UNKNOWN, accounting_document, accounting_line, least_key, rows_note, shown
from .values import Document, View, dollars, picked, tokens_document, utc, when

_SHORT_ID = 8
_MOST_AGENTS = 5


def cache_document(report: CacheReport, zone: str) -> Document:
    return {
        "schema": "reread.cache/1",
        "by": report.by,
        "timezone": zone,
        "rows": [_row_document(report.by, row) for row in report.rows],
        "totals": _figures_document(report.totals, report.caching),
        "causes": [_cause_document(cause) for cause in report.causes],
        "session": None if report.session is None else _session_document(report.session),
        "accounting": accounting_document(report.accounting),
    }


def _row_document(by: str, row: CacheRow) -> Document:
    key = row.key if row.key is not None or by not in TIMES else UNKNOWN
    title: Document = {"title": row.title} if by == "session" else {}
    return {by: key, **title, **_figures_document(row.tokens, row.caching)}


def _figures_document(used: Tokens, caching: Caching) -> Document:
    return {
        **tokens_document(used),
        "hit_rate": used.cache_hit,
        "saved_usd": dollars(nano(caching.saved)),
        **_rebuilt_document(caching),
        "thinking": {
            **picked(caching, "told_tokens=thinking_tokens estimated_tokens=estimated_thinking_tokens"),
            **picked(caching, "of_output_tokens=judged_output_tokens share=thinking_share"),
            "is_estimate": caching.estimated_thinking_tokens > 0,
        },
    }


def _rebuilt_document(caching: Caching) -> Document:
    return {
        **picked(caching, "rebuilds rebuilt_tokens unpriced_rebuilds"),
        "premium_usd": dollars(nano(caching.premium)),
    }


def _cause_document(cause: RebuildCause) -> Document:
    return {
        "cause": cause.name,
        "source": reported_or_inferred(by_api=cause.by_api),
        **_rebuilt_document(cause.caching),
    }


def _session_document(session: SessionCaching) -> Document:
    speed = session.throughput
    return {
        **picked(session, "id title project"),
        "contexts": [
            {
                "agent": context.agent,
                "requests": [{"time": utc(time), "prompt_tokens": prompt} for time, prompt in context.prompts],
            }
            for context in session.contexts
        ],
        "rebuilds": [
            {
                **picked(each, "time agent model prompt_tokens rebuilt_tokens=tokens cause"),
                "premium_usd": dollars(nano(each.nanodollars)),
                "source": reported_or_inferred(by_api=each.by_api),
            }
            for each in session.rebuilds
        ],
        "turns": {
            **picked(speed, "timed=turns left_out output_tokens"),
            "seconds": speed.milliseconds / 1000,
            "output_tokens_per_turn_second": speed.tokens_per_second,
        },
    }


def reported_or_inferred(*, by_api: bool) -> str:
    return "told" if by_api else "inferred"


def cache_lines(report: CacheReport, view: View) -> Iterator[str]:
    session = report.session
    if session is not None:
        yield view.style.paint(shorten(session.title or session.id, view.width), "bold")
        yield from wrap(joined([session.project, session.id]), view.width)
        yield ""
    if not report.rows:
        yield "nothing was used"
    else:
        yield from _table(report, view)
        yield from rows_note(report, view)
        yield from _causes(report, view)
        if session is not None:
            yield from _session(session, view)
    yield ""
    yield from view.wrapped(accounting_line(report.accounting), "dim")


_HEADER = ("requests", "prompt", "hit", "saved", "rebuilds", "rebuilt", "premium", "thinking")
_DISPENSABLE = (1, 8, 6, 2, 5, 3)
"""Columns that are dropped if there is no room, in this order: requests, thinking, rebuilt, prompt, rebuilds, hit."""
_LEAST_CAUSE = 16


def _table(report: CacheReport, view: View) -> Iterator[str]:
    rows: list[tuple[str, ...]] = [(report.by, *_HEADER)]
    rows += [(_label(report.by, row), *_figures(row.tokens, row.caching)) for row in report.rows]
    rows.append(("total", *_figures(report.totals, report.caching)))
    right = range(1, len(rows[0]))
    lines = table(rows, view.width, flexible=0, right=right, dispensable=_DISPENSABLE, least=least_key(report.by))
    yield from view.headed(lines, total=len(rows) - 1)


def _label(by: str, row: CacheRow) -> str:
    if row.key is None:
        return UNKNOWN
    if by == "session":
        return f"{row.key[:_SHORT_ID]}  {row.title or ''}"
    return shown(row.key) if by == "model" else one_line(row.key)


def _figures(used: Tokens, caching: Caching) -> tuple[str, ...]:
    share = caching.thinking_share
    about = "~" if caching.estimated_thinking_tokens else ""
    return (
        f"{used.requests:,}",
        tokens(used.prompt_tokens),
        "" if used.cache_hit is None else f"{used.cache_hit:.1%}",
        signed_money(caching.saved, is_partial=used.unpriced_tokens > 0),
        *_rebuilt(caching),
        "" if share is None else f"{about}{share:.0%}",
    )


def _rebuilt(caching: Caching) -> tuple[str, str, str]:
    if not caching.rebuilds:
        return "", "", ""
    premium = money(nano(caching.premium), is_partial=caching.unpriced_rebuilds > 0)
    return f"{caching.rebuilds:,}", tokens(caching.rebuilt_tokens), premium


def signed_money(nanodollars: int | None, *, is_partial: bool) -> str:
    """Money that may be negative. A part without a price could raise or lower it, so it is not marked as a bound."""
    if nanodollars is None:
        return "no price" if is_partial else ""
    return ("-" if nanodollars < 0 else "") + money(nano(abs(nanodollars)), is_partial=False)


def _causes(report: CacheReport, view: View) -> Iterator[str]:
    if not report.causes:
        return
    yield ""
    rows = [("why the cache was rebuilt", "as", "rebuilds", "tokens", "premium")]
    rows += [
        (cause_words(each.name), reported_or_inferred(by_api=each.by_api), *_rebuilt(each.caching))
        for each in report.causes
    ]
    lines = table(rows, view.width, flexible=0, right=(2, 3, 4), dispensable=(3, 1, 2), least=_LEAST_CAUSE)
    yield from view.headed(lines)


def cause_words(cause: str) -> str:
    return one_line(cause).replace("_", " ")


def _session(session: SessionCaching, view: View) -> Iterator[str]:
    if session.rebuilds:
        yield ""
        rows = list(_rebuild_rows(session.rebuilds, view))
        lines = table(rows, view.width, flexible=1, right=(3, 4, 5), dispensable=(3, 2, 4), least=_LEAST_CAUSE)
        yield from view.headed(lines)
    yield ""
    for context in session.contexts[: 1 + _MOST_AGENTS]:
        yield from _context(context, view)
    left = len(session.contexts) - 1 - _MOST_AGENTS
    if left > 0:
        yield f"and {count(left, 'agent')} more"
    speed = session.throughput
    if speed.tokens_per_second is not None:
        out = f"; {count(speed.left_out, 'turn')} left out" if speed.left_out else ""
        yield ""
        yield from wrap(
            f"{speed.tokens_per_second:,.1f} output tokens per turn second over {count(speed.turns, 'timed turn')}, "
            f"tools and waiting included{out}",
            view.width,
        )


def _rebuild_rows(rebuilds: Iterable[FoundRebuild], view: View) -> Iterator[tuple[str, ...]]:
    yield "rebuilt at", "because", "as", "of prompt", "tokens", "premium"
    for each in rebuilds:
        agent = f" ({each.agent[:_SHORT_ID]})" if each.agent is not None else ""
        yield (
            when(each.time, view.timezone) + one_line(agent),
            cause_words(each.cause),
            reported_or_inferred(by_api=each.by_api),
            tokens(each.prompt_tokens),
            tokens(each.tokens),
            money(nano(each.nanodollars), is_partial=each.nanodollars is None),
        )


def _context(context: Context, view: View) -> Iterator[str]:
    """The sizes of the prompts as one line of bars; if there are too many, each bar is the largest of several."""
    prompts = [prompt for _, prompt in context.prompts]
    name = "context" if context.agent is None else f"agent {one_line(context.agent)[:_SHORT_ID]}"
    figures = f"{tokens(prompts[0])} to {tokens(prompts[-1])}, at most {tokens(max(prompts))}"
    room = view.width - len(name) - len(figures) - 4
    drawn = [sparkline(_fitted(prompts, room))] if room > 0 else []
    yield from wrap("  ".join([name, *drawn, figures]), view.width)


def _fitted(values: Sequence[int], room: int) -> list[int]:
    if len(values) <= room:
        return list(values)
    edges = [i * len(values) // room for i in range(room + 1)]
    return [max(values[start:end]) for start, end in pairwise(edges)]
