"""Usage for a terminal, as JSON, as CSV and as a chart, optionally compared with what the client itself reported."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta, tzinfo
from decimal import Decimal
from types import SimpleNamespace
from typing import TYPE_CHECKING, TypeVar

from msgspec.structs import replace

from reread import lazy
from reread.archive.billing import REASONS, Reconciled
from reread.archive.usage_report import Accounting, FiveHourBlock, ModelUse, UsageReport, UsageRow, block
from reread.billing.report import Tokens

from .limit_lines import limit_lines, limits_document
from .numbers import count, money, nano, percent, tokens
from .text import csv_text, harmless, joined, one_line, shorten, shorten_path, table, wrap
from .values import Document, View, dollars, picked, tokens_document, utc, when

if TYPE_CHECKING:
    from reread.archive import CacheReport

    from . import charts, session_list
else:
    lazy.bind(globals())

_Report = TypeVar("_Report", UsageReport, "CacheReport")
Reconciliation = Mapping[str, Reconciled] | None
"""What the client reported, by session; None if the comparison was not asked for."""
COMPARED = ("client said", "difference")


def reconciled_cells(session: str | None, reconciliation: Reconciliation) -> tuple[str, ...]:
    """The comparison columns of a session; empty cells if the client reported nothing for it."""
    if reconciliation is None:
        return ()
    found = reconciliation.get(session or "")
    if found is None:
        return ("", "")
    return (money(nano(found.client), is_partial=False), _difference(found))


def _difference(found: Reconciled) -> str:
    if found.difference is None:
        return "no price"
    if found.difference == 0:
        return "none"
    sign = "-" if found.difference < 0 else "+"
    share = "" if found.share is None else f" ({percent(abs(found.share))})"
    return f"{sign}{money(nano(abs(found.difference)), is_partial=False)}{share}"


def reconciled_document(session: str | None, reconciliation: Reconciliation) -> Document:
    """Nulls if the client reported nothing for the session; no fields if the comparison was not asked for."""
    if reconciliation is None:
        return {}
    found = reconciliation.get(session or "")
    if found is None:
        return dict.fromkeys(_COMPARISON)
    share = None if found.share is None else round(found.share * 100, 2)
    spent, counted, difference = (dollars(nano(each)) for each in (found.client, found.transcripts, found.difference))
    return dict(zip(_COMPARISON, (spent, found.source, utc(found.said), counted, difference, share), strict=True))


_COMPARISON = (
    *("client_cost_usd", "client_source", "client_said"),
    *("transcript_cost_usd", "difference_usd", "difference_percent"),
)


UNKNOWN = "unknown"
TIMES = ("day", "week", "month", "block")
_NOBODY = {"branch": "no branch", "tool": "no tool", "agent": "main", "skill": "no skill"}
"""The label of the row without a key; `UNKNOWN` for all other reports."""


def limited(report: _Report, limit: int | None) -> _Report:
    """The newest periods, or for other reports the most expensive rows. The totals still cover everything.

    The row without a time is last and does not count as the newest period: a limit that cuts leaves it out.
    """
    if limit is None or limit >= len(report.rows):
        return report
    rows = report.rows[:limit]
    if report.by in TIMES:
        rows = tuple(row for row in report.rows if row.key is not None)[-limit:]
    return replace(report, rows=rows, total_rows=len(report.rows))


def rows_note(report: UsageReport | CacheReport, view: View) -> Iterator[str]:
    """Says that the total is of more rows than a limit lets through."""
    if report.total_rows is not None:
        note = f"{len(report.rows):,} of {count(report.total_rows, 'row')}; the total is of all"
        yield from view.wrapped(note, "dim")


_SHORT_ID = 8
_BAR = 8


def usage_document(report: UsageReport, zone: str, now: datetime, reconciliation: Reconciliation = None) -> Document:
    return {
        "schema": "reread.usage/1",
        "by": report.by,
        "timezone": zone,
        "cost": "recorded" if report.is_recorded else "computed",
        "rows": [_row_document(report, row, now) | reconciled_document(row.key, reconciliation) for row in report.rows],
        "totals": {**tokens_document(report.totals), "models": _models_document(report.models)},
        "accounting": accounting_document(report.accounting),
        **({"limits": limits_document(report.limits)} if report.by == "block" else {}),
    }


def _row_document(report: UsageReport, row: UsageRow, now: datetime) -> Document:
    by = report.by
    key = row.key if row.key is not None or by not in TIMES else UNKNOWN
    document: Document = {by: key, **tokens_document(row.tokens), "suspect_output_requests": row.suspect}
    if by == "session":
        document |= {"title": row.title, "project": row.project}
        document |= {"subagents": tokens_document(row.agents or Tokens())}
        document |= {"abandoned": tokens_document(row.abandoned or Tokens())}
    if by == "block":
        document |= _block_document(block(row, now, report.reported_windows))
    document |= {"first": utc(row.first), "last": utc(row.last), "models": _models_document(row.models)}
    return document


def _models_document(models: Iterable[ModelUse]) -> list[Document]:
    return [{"model": each.model, **tokens_document(each.tokens)} for each in models]


def _block_document(found: FiveHourBlock | None) -> Document:
    if found is None:
        return {}
    return {
        **picked(found, "end is_open is_estimate"),
        "cost_usd_per_hour": None if found.dollars_per_hour is None else f"{found.dollars_per_hour:.9f}",
        "tokens_per_minute": None if found.tokens_per_minute is None else round(found.tokens_per_minute),
        "projected_cost_usd": dollars(nano(found.projected_nanodollars)),
        "projected_tokens": found.projected_tokens,
    }


def accounting_document(accounting: Accounting) -> Document:
    names = "lines_read malformed_lines requests duplicates_collapsed unpriced_tokens unpriced_models"
    names += " suspect_output_requests provisional_requests price_table_date"
    return {**picked(accounting, names), "is_lower_bound": True}


def usage_csv(report: UsageReport, *, breakdown: bool, reconciliation: Reconciliation = None) -> str:
    """One line per row, or per row and model; no totals, so that columns can be added up."""
    import csv

    lines: list[str] = []
    writer = csv.writer(SimpleNamespace(write=lines.append), lineterminator="\n")
    names = list(tokens_document(Tokens()))
    writer.writerow([report.by, *(["model"] if breakdown else []), *names, *reconciled_document(None, reconciliation)])
    for row in report.rows:
        key = row.key if row.key is not None else (UNKNOWN if report.by in TIMES else "")
        parts = [(each.model or "", each.tokens) for each in row.models] if breakdown else [(None, row.tokens)]
        for model, used in parts:
            values = (*tokens_document(used).values(), *reconciled_document(row.key, reconciliation).values())
            named = [] if model is None else [csv_text(harmless(model))]
            writer.writerow([csv_text(harmless(key)), *named, *("" if value is None else value for value in values)])
    return "".join(lines)


def usage_lines(
    report: UsageReport,
    view: View,
    now: datetime,
    *,
    breakdown: bool,
    reconciliation: Reconciliation = None,
    identity: tuple[int, int] = (0, 0),
) -> Iterator[str]:
    if not report.rows:
        yield "nothing was used"
    else:
        yield from _table(report, view, breakdown=breakdown, reconciliation=reconciliation)
        yield from rows_note(report, view)
        if report.by == "block":
            yield from _open_block(report, view, now)
    if report.limits:
        yield from ("", *limit_lines(report.limits, view))
    notes = [
        *_estimated_blocks(report, now),
        accounting_line(report.accounting, is_recorded=report.is_recorded, identity=identity),
        *_bill(report),
        *([REASONS] if reconciliation else []),
    ]
    for note in notes:
        yield ""
        yield from view.wrapped(note, "dim")


def _bill(report: UsageReport) -> Iterator[str]:
    if report.billed is not None:
        bill = money(nano(report.billed), is_partial=False)
        yield f"lines of the same requests say {bill}, not counted: `--cost recorded` shows it by row"


_HEADER = ("requests", "input", "output", "cache write", "cache read", "hit", "cost", "")


def _table(report: UsageReport, view: View, *, breakdown: bool, reconciliation: Reconciliation) -> Iterator[str]:
    is_compared = reconciliation is not None
    dearest = 0 if is_compared else max((row.tokens.nanodollars or 0 for row in report.rows), default=0)
    rows: list[tuple[str, ...]] = [(report.by, *_HEADER, *(COMPARED if is_compared else ()))]
    looks: list[tuple[str, ...]] = [("bold",)]
    for row in report.rows:
        figures = (*_figures(row.tokens, row.suspect, dearest), *reconciled_cells(row.key, reconciliation))
        rows.append((row_label(report.by, row, view.timezone), *figures))
        looks.append(())
        if breakdown:
            rows += [(f"└ {shown(each.model)}", *_figures(each.tokens, each.suspect, 0)) for each in row.models]
            looks += [("dim",)] * len(row.models)
    rows.append(("total", *_figures(report.totals, report.accounting.suspect_output_requests, 0)))
    looks.append(("bold",))
    rows = [(*row, *[""] * (len(rows[0]) - len(row))) for row in rows]
    right = frozenset(range(1, len(rows[0]) - (not is_compared)))
    cut = shorten_path if report.by == "project" else shorten
    dispensable = [column for column in _DISPENSABLE if column < len(rows[0])]
    least = least_key(report.by)
    lines = table(rows, view.width, flexible=0, right=right, cut=cut, dispensable=dispensable, least=least)
    yield from (view.style.paint(line, *look) if look else line for line, look in zip(lines, looks, strict=True))


_DISPENSABLE = (8, 6, 1, 4, 2, 5, 3, 9)
"""Columns that are dropped if there is no room, in this order: bar, hit, requests, cache write, input, cache read,
output, what the client said."""
_LEAST_KEY = {"session": 32, "project": 24}


def least_key(by: str) -> int:
    """How many cells the name of a row keeps as long as columns can be dropped instead."""
    return _LEAST_KEY.get(by, 16)


def _figures(used: Tokens, suspect: int, dearest: int) -> tuple[str, ...]:
    hit = used.cache_hit
    return (
        *token_figures(used),
        "" if hit is None else percent(hit),
        money(used.cost, is_partial=used.unpriced_tokens > 0 or suspect > 0),
        "█" * round(_BAR * (used.nanodollars or 0) / dearest) if dearest else "",
    )


def token_figures(used: Tokens) -> tuple[str, ...]:
    """Requests, input, output, cache write, cache read."""
    sizes = (used.input_tokens, used.output_tokens, used.cache_write_tokens, used.cache_read_tokens)
    return (f"{used.requests:,}", *map(tokens, sizes))


def row_label(by: str, row: UsageRow, zone: tzinfo | None) -> str:
    if row.key is None:
        return _NOBODY.get(by, UNKNOWN)
    if by == "block":
        return when(datetime.fromisoformat(row.key), zone)
    if by == "session":
        return f"{row.key[:_SHORT_ID]}  {row.title or ''}"
    return shown(row.key) if by == "model" else row.key


def shown(model: str | None) -> str:
    """A model's name without vendor and date, which every row would repeat."""
    return UNKNOWN if model is None else re.sub(r"-\d{8}$", "", one_line(model).removeprefix("claude-"))


def _open_block(report: UsageReport, view: View, now: datetime) -> Iterator[str]:
    found = block(report.rows[-1], now, report.reported_windows)
    if found is not None and found.is_open:
        yield ""
        yield from wrap("the open block ends " + "; ".join(block_words(found, view.timezone)), view.width)


def _estimated_blocks(report: UsageReport, now: datetime) -> Iterator[str]:
    rows = report.rows if report.by == "block" else ()
    found = [each for row in rows if (each := block(row, now, report.reported_windows)) is not None]
    estimated = sum(each.is_estimate for each in found)
    if estimated:
        how = "five hours from the full hour (UTC) of the first request"
        yield f"{estimated:,} of {count(len(found), 'block')} estimated: {how}"


def block_words(found: FiveHourBlock, zone: tzinfo | None) -> list[str]:
    """When an open block ends, the current rate of use, and the projected cost at its end."""
    parts = [f"{when(found.end, zone)}{' (an estimate)' if found.is_estimate else ''}"]
    if found.dollars_per_hour is not None:
        parts.append(f"${found.dollars_per_hour:,.2f} an hour")
    if found.tokens_per_minute is not None:
        parts.append(f"{tokens(round(found.tokens_per_minute))} tokens a minute")
    if found.projected_nanodollars is not None:
        parts.append(f"{money(nano(found.projected_nanodollars), is_partial=False)} at its end if this goes on")
    return parts


def accounting_line(accounting: Accounting, *, is_recorded: bool = False, identity: tuple[int, int] = (0, 0)) -> str:
    """What the numbers were computed from, and what they leave out. `identity` is how many ids were reused and how many
    responses copied, in the whole archive."""
    reused, copied = identity
    lines = count(accounting.lines_read, "line")
    lines += " of usage" if accounting.malformed_lines is None else f", {accounting.malformed_lines:,} malformed"
    models = f" ({count(len(accounting.unpriced_models), 'model')})" if accounting.unpriced_models else ""
    parts = [
        lines,
        f"{count(accounting.requests, 'request')}, {count(accounting.duplicates_collapsed, 'duplicate row')} collapsed",
        f"{count(copied, 'response')} copied" if copied else "",
        f"{count(reused, 'id')} reused" if reused else "",
        f"{accounting.unpriced_tokens:,} tokens unpriced{models}",
        f"{count(accounting.suspect_output_requests, 'request')} with suspect output",
        f"{accounting.provisional_requests:,} provisional" if accounting.provisional_requests else "",
        "cost as the client recorded it, or a gateway" if is_recorded else f"prices of {accounting.price_table_date}",
        "transcript cost: lower bound",
    ]
    return joined(parts, "; ")


_STEPS = {"day": 1, "week": 7}


def usage_chart(report: UsageReport, zone: tzinfo | None) -> charts.Chart:
    rows = charted_rows(report)
    is_priced = report.totals.nanodollars is not None
    models = dict.fromkeys(shown(each.model) for each in report.models)
    priced = {shown(each.model) for each in report.models if each.tokens.cost is not None}
    return charts.Chart(
        title=f"{'Cost' if is_priced else 'Tokens'} by {report.by}",
        subtitle="at list prices, from transcripts: a lower bound" if is_priced else "",
        footnote=accounting_line(report.accounting, is_recorded=report.is_recorded),
        labels=tuple(_label(report.by, row, zone) for row in rows),
        series=tuple(
            charts.Series(
                model, tuple(_value(row, model, priced if is_priced else None) for row in rows), model_colour(model)
            )
            for model in models
        ),
        kind="time" if report.by in TIMES else "names",
        unit="dollars" if is_priced else "tokens",
        is_partial=is_priced and report.accounting.is_partial,
    )


_FAMILIES = ("opus", "sonnet", "haiku", "fable", "mythos")
"""Each has a hue."""
_VERSIONS = ("4", "4-1", "4-5", "4-6", "4-7", "4-8", "5", "5-5")
"""Each has a shade; another version has the one that follows from its numbers."""
_VERSION = re.compile(r"\d{1,2}(?!\d)")


def model_colour(model: str) -> int:
    """The same in every chart: hue by family, shade by version; grey if the family is unknown."""
    family = next((number for number, each in enumerate(_FAMILIES) if each in model), None)
    if family is None:
        return charts.MOST_SERIES
    version = _VERSION.findall(model)[:2]
    name = "-".join(version)
    shade = _VERSIONS.index(name) if name in _VERSIONS else int("".join(version) or 0)
    return charts.shade_of(family, shade)


def _label(by: str, row: UsageRow, zone: tzinfo | None) -> str:
    """The label of a table row; for a session only the title, because there is little room next to a bar."""
    return row.title if by == "session" and row.title else row_label(by, row, zone).strip()


def projects_chart(report: UsageReport) -> charts.Chart:
    """A report by project as areas: one area for each project, divided by model."""
    chart = usage_chart(report, None)
    names = short_names([row.key or "" for row in report.rows])
    return replace(chart, kind="areas", labels=tuple(name or UNKNOWN for name in names))


def short_names(paths: Sequence[str]) -> list[str]:
    """The last part of each path, with the one before it if several paths end the same."""
    last = [session_list.last_part(path) for path in paths]
    endings = Counter(last)
    return [_ending(path, 1 if endings[end] == 1 else 2) for path, end in zip(paths, last, strict=True)]


def _ending(path: str, parts: int) -> str:
    return "/".join(path.replace("\\", "/").rstrip("/").split("/")[-parts:])


def activity_chart(report: UsageReport, first: date, last: date) -> charts.Chart:
    """A report by day as a calendar of requests, from `first` to `last`."""
    known = {row.key: row.tokens.requests for row in report.rows}
    days = [(first + timedelta(days=number)).isoformat() for number in range((last - first).days + 1)]
    values = tuple(known.get(day, 0) for day in days)
    return charts.Chart(title="Activity", labels=tuple(days), series=(charts.Series("requests", values),), kind="days")


def charted_rows(report: UsageReport) -> list[UsageRow]:
    """The rows that a chart shows, one for each label. Days and weeks without usage are added; in a report by time,
    the row without a time is left out."""
    rows = [row for row in report.rows if row.key is not None or report.by not in TIMES]
    if report.by not in _STEPS or not rows:
        return rows
    known = {row.key: row for row in rows}
    first, last = (date.fromisoformat(str(row.key)) for row in (rows[0], rows[-1]))
    days = (first + timedelta(days=number) for number in range(0, (last - first).days + 1, _STEPS[report.by]))
    return [known.get(day.isoformat()) or UsageRow(key=day.isoformat(), tokens=Tokens()) for day in days]


def _value(row: UsageRow, model: str, priced: Collection[str] | None) -> Decimal | int | None:
    """The cost of what a row used of a model. None if the model never has a price or nothing in the row has one: zeros
    would add up to a bar that was free. In tokens if `priced` is None."""
    used = [each.tokens for each in row.models if shown(each.model) == model]
    if priced is None:
        return sum(tokens.total_tokens for tokens in used)
    if model not in priced or (row.tokens.requests and row.tokens.cost is None):
        return None
    return sum((tokens.cost for tokens in used if tokens.cost is not None), Decimal(0))
