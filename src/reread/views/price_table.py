"""Prices and budgets for a terminal and as JSON, and the models in the archive without a price."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any

from reread.archive.status import PERIODS, Budget, Spending
from reread.errors import printable

from .numbers import count, tokens
from .text import table, wrap
from .values import Document, picked

if TYPE_CHECKING:
    from reread.archive.usage_report import UnpricedModel
    from reread.billing import ModelPrices, PerMillion, Prices, Row

    from .values import View


_PER_TOKEN = ("input", "output", "cache_read", "cache_write_5m", "cache_write_1h")
_HEADERS = {
    "model": "model",
    "from": "from",
    "input": "input",
    "output": "output",
    "cache_read": "cache read",
    "cache_write_5m": "write 5m",
    "cache_write_1h": "write 1h",
    "fast": "fast",
    "origin": "",
}
_SHORT = {"cache_read": "read", "cache_write_5m": "5m", "cache_write_1h": "1h"}
_WIDE, _MIDDLE = 96, 64
_DISPENSABLE = ("from", "fast", "cache_write_1h", "cache_write_5m")
_LEAST_MODEL = 20


def price_lines(
    prices: Prices,
    models: Sequence[ModelPrices],
    unpriced: Sequence[UnpricedModel] | None,
    view: View,
    day: date | None,
) -> Iterator[str]:
    """All rows of the table, or with `day` those valid on that day; then the archive's models without a price.

    `unpriced` is None without an archive.
    """
    if models:
        yield from _table(models, view, day)
    else:
        yield "no such model has a price"
    yield ""
    yield from view.wrapped(
        f"USD per million tokens; prices of {prices.as_of}; a web search is ${prices.web_search}", "dim"
    )
    if any(row.long_context is not None for model in models for row in _rows(model, day)):
        yield from view.wrapped("└ above: for the whole request, when its prompt has more tokens than that", "dim")
    if _MIDDLE <= view.width < _WIDE:
        yield from view.wrapped("read, 5m, 1h: reading the cache, writing it for five minutes, for one hour", "dim")
    hidden = sum(len(model.rows) - len(_rows(model, day)) for model in models)
    if hidden:
        yield from view.wrapped(f"{count(hidden, 'row')} of other days: --all", "dim")
    if prices.user_file is not None:
        yield from view.wrapped(f"user: from {printable(str(prices.user_file))}", "dim")
    yield ""
    yield from _unpriced_lines(prices, unpriced, view)


def _table(models: Sequence[ModelPrices], view: View, day: date | None) -> Iterator[str]:
    columns = _columns(view.width, is_mixed=any(model.origin == "user" for model in models))
    shown = _HEADERS if view.width >= _WIDE else _HEADERS | _SHORT
    rows = [tuple(shown[name] for name in columns)]
    for model in models:
        for row in _rows(model, day):
            rows += [tuple(cells[name] for name in columns) for cells in _row_cells(model, row)]
    right = frozenset(columns.index(name) for name in (*_PER_TOKEN, "fast") if name in columns)
    dispensable = [columns.index(name) for name in _DISPENSABLE if name in columns]
    lines = table(rows, view.width, flexible=0, right=right, dispensable=dispensable, least=_LEAST_MODEL)
    yield from view.headed(lines)


def _columns(width: int, *, is_mixed: bool) -> list[str]:
    """The columns that fit; a narrow terminal still gets the model and its three most common prices."""
    wanted = list(_HEADERS) if width >= _MIDDLE else ["model", "input", "output", "cache_read", "origin"]
    return wanted if is_mixed else [name for name in wanted if name != "origin"]


def _rows(model: ModelPrices, day: date | None) -> Sequence[Row]:
    if day is None:
        return model.rows
    return [model.on(day) or model.rows[0]]


def _row_cells(model: ModelPrices, row: Row) -> Iterator[dict[str, str]]:
    yield {
        "model": model.name,
        "from": row.from_date.isoformat() if row.from_date is not None else "",
        "fast": f"x{model.fast}" if model.fast is not None else "",
        "origin": model.origin if model.origin == "user" else "",
        **_price_cells(row),
    }
    if row.long_context is not None:
        above = f"└ above {row.long_context.above_prompt_tokens:,}"
        yield {"model": above, "from": "", "fast": "", "origin": "", **_price_cells(row.long_context)}


def _price_cells(row: PerMillion) -> dict[str, str]:
    return {name: price if (price := getattr(row, name)) is not None else "–" for name in _PER_TOKEN}


def _unpriced_lines(prices: Prices, unpriced: Sequence[UnpricedModel] | None, view: View) -> Iterator[str]:
    if unpriced is None:
        yield from view.wrapped("nothing is kept yet: `reread sync` takes your sessions in", "dim")
        return
    if not unpriced:
        yield from view.wrapped("nothing in the archive is without a price", "dim")
        return
    yield view.style.paint("without a price in the archive", "bold", "yellow")
    rows = [
        (each.model or "(no model)", count(each.requests, "request"), f"{tokens(each.tokens)} tokens", why)
        for each in unpriced
        for why in [_why(prices, each.model)]
    ]
    yield from table(rows, view.width, flexible=0, right=(1, 2), dispensable=(1, 3), least=_LEAST_MODEL)


def _why(prices: Prices, raw: str | None) -> str:
    if not raw:
        return "no model is named"
    model = prices.model(raw)
    if model is None:
        return "not in the table"
    listed = next(each for each in prices.models() if each.name == model.name)
    has_all = all(getattr(row, name) is not None for row in listed.rows for name in _PER_TOKEN)
    return "priced now, not when it was counted" if has_all else "not all it used has a price"


def prices_document(
    prices: Prices, models: Sequence[ModelPrices], unpriced: Sequence[UnpricedModel] | None, day: date | None
) -> Document:
    return {
        "schema": "reread.prices/1",
        "as_of": prices.as_of.isoformat(),
        "unit": "USD per million tokens",
        "user_file": str(prices.user_file) if prices.user_file is not None else None,
        "digest": prices.digest,
        "web_search_usd": prices.web_search,
        "models": [_model_document(model, day) for model in models],
        "unpriced": None if unpriced is None else [_unpriced_document(prices, each) for each in unpriced],
    }


def _model_document(model: ModelPrices, day: date | None) -> Document:
    return {
        **picked(model, "model=name origin aliases fast_factor=fast geo_factors=geo region_factors=regions"),
        "rows": [_row_document(row) for row in _rows(model, day)],
    }


def _row_document(row: Row) -> Document:
    tier = row.long_context
    above = None if tier is None else {"above_prompt_tokens": tier.above_prompt_tokens, **_per_million(tier)}
    day = row.from_date.isoformat() if row.from_date is not None else None
    return {"from_date": day, **_per_million(row), "long_context": above}


def _per_million(row: PerMillion) -> Document:
    return {name: getattr(row, name) for name in _PER_TOKEN}


def _unpriced_document(prices: Prices, each: UnpricedModel) -> Document:
    why = _why(prices, each.model)
    return {"model": each.model, "requests": each.requests, "tokens": each.tokens, "reason": why}


NAMES = {"day": "today", "week": "this week", "month": "this month"}
BEFORE = {"day": "yesterday", "week": "last week, same days", "month": "last month, same days"}


def budget_words(budget: Budget) -> str:
    """`82% of $10 for today, nearly used up`."""
    ending = {"ok": "", "near": ", nearly used up", "over": ", used up"}[budget.state]
    return f"{budget.share:.0%} of {dollars(budget.limit)} for {NAMES[budget.period]}{ending}"


def dollars(nanodollars: int) -> str:
    amount = nanodollars / 1e9
    return f"${amount:,.0f}" if amount == int(amount) else f"${amount:,.2f}"


def projection_words(spending: Spending) -> str:
    """A range, because the paces of a week, of four weeks and of the month so far differ; without a pace, the sum."""
    if spending.high == spending.spent["month"]:
        return f"{dollars(spending.high)} so far"
    low, high = f"${spending.low / 1e9:,.0f}", f"${spending.high / 1e9:,.0f}"
    return f"at this pace {low}" if low == high else f"at this pace {low} to {high}"


def spending_lines(spending: Spending, width: int) -> list[str]:
    """One line for each period; if that is too wide, the spending before it goes on a line below."""
    limits = {each.period: each for each in spending.budgets}
    rows = [
        [
            NAMES[name],
            f"${spending.spent[name] / 1e9:,.2f}",
            budget_words(limits[name]) if name in limits else "no budget",
            f"{BEFORE[name]}: ${spending.before[name] / 1e9:,.2f}",
        ]
        for name in PERIODS
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    lines = [f"{a:<{widths[0]}}  {b:>{widths[1]}}  {c:<{widths[2]}}  {d}" for a, b, c, d in rows]
    if max(map(len, lines)) > width:
        parts = [(f"{a:<{widths[0]}}  {b:>{widths[1]}}  {c}", f"  {d}") for a, b, c, d in rows]
        lines = [line for texts in parts for text in texts for line in wrap(text, width)]
    return [*lines, "", f"The whole month: {projection_words(spending)}."]


def spending_document(spending: Spending) -> dict[str, Any]:
    limits = {each.period: each for each in spending.budgets}
    return {
        "schema": "reread.budget/1",
        "periods": [
            {
                "period": name,
                "spent_usd": exact(spending.spent[name]),
                "limit_usd": exact(limits[name].limit) if name in limits else None,
                "state": limits[name].state if name in limits else None,
                "before_usd": exact(spending.before[name]),
            }
            for name in PERIODS
        ],
        "month_low_usd": exact(spending.low),
        "month_high_usd": exact(spending.high),
    }


def exact(nanodollars: int) -> str:
    """Dollars as JSON has them."""
    return f"{nanodollars // 10**9}.{nanodollars % 10**9:09d}"
