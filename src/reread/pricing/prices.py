"""The price table: which model a raw id means, and which row held on a day.

A model that is not in the table is unpriced: never zero, never the price of a similar name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime
from fractions import Fraction
from functools import cache
from importlib import resources
from typing import Any

import msgspec
from msgspec import Struct

from .cost import NANODOLLARS, Rated, Rates


class _PerMillion(Struct, frozen=True, kw_only=True):
    """Dollars per million tokens, as decimal strings; null where there is no such price."""

    input: str
    output: str
    cache_write_5m: str | None
    cache_write_1h: str | None
    cache_read: str | None


class _LongContext(_PerMillion, frozen=True, kw_only=True):
    above_prompt_tokens: int


class _Row(_PerMillion, frozen=True, kw_only=True):
    """One model's prices from a day on."""

    from_date: date | None
    long_context: _LongContext | None
    aliases: list[str]


class _Table(Struct, frozen=True, kw_only=True):
    as_of: date
    models: dict[str, list[_Row]]
    fast_mode: dict[str, str]
    inference_geo: dict[str, Any]
    region_prefix: dict[str, Any]
    service_tier: dict[str, str]
    web_search_usd_per_request: str


class Model(Struct, frozen=True):
    """A model of the table and the provider's region, where the raw id named one."""

    name: str
    region: str | None = None


_REGION = re.compile(r"^(?:(us-gov|us|eu|jp|au|apac|global)\.)?anthropic\.")
_STEPS = (
    re.compile(r"\[[^\]]*\]$"),
    re.compile(r"^.*/"),
    _REGION,
    re.compile(r"@.*$"),
    re.compile(r":\d+$"),
    re.compile(r"-v\d+$"),
    re.compile(r"-\d{8}$"),
)
"""What providers put around a model's name, taken off one after the other until the name is known."""


class Prices:
    """Asks the table. `as_of` is the day its sources were read."""

    def __init__(self, table: _Table) -> None:
        self.as_of = table.as_of
        self._table = table
        self._names = dict(_names(table.models))
        self._nanodollars_per_search = int(Fraction(table.web_search_usd_per_request) * NANODOLLARS)
        self._rates: dict[tuple[object, ...], Rates] = {}
        self._models: dict[str | None, Model | None] = {}

    def model(self, raw: str | None) -> Model | None:
        """The model a raw id means; None when the table does not know it."""
        if raw not in self._models:
            self._models[raw] = self._look_up((raw or "").lower())
        return self._models[raw]

    def cost(self, used: Rated, raw_model: str | None, time: datetime | None) -> int | None:
        """Nano-dollars of one request; None when the model or something it used has no price."""
        model = self.model(raw_model)
        if model is None:
            return None
        tokens = self._rates_for(model, used, time).cost(used)
        return None if tokens is None else tokens + used.web_searches * self._nanodollars_per_search

    def _look_up(self, name: str) -> Model | None:
        region = _REGION.match(name.rpartition("/")[2])
        for step in (None, *_STEPS):
            name = name if step is None else step.sub("", name)
            if name in self._names:
                return Model(self._names[name], region[1] if region else None)
        return None

    def _rates_for(self, model: Model, used: Rated, time: datetime | None) -> Rates:
        row = self._row(model.name, time)
        tier = row.long_context
        is_long = tier is not None and used.prompt > tier.above_prompt_tokens
        key = (model, row.from_date, is_long, used.speed, used.geo, used.tier)
        if key not in self._rates:
            per_million = tier if is_long and tier is not None else row
            self._rates[key] = _rates(per_million, self._factor(model, used))
        return self._rates[key]

    def _row(self, name: str, time: datetime | None) -> _Row:
        """The row that held on the UTC day; without a time the newest one is the best guess."""
        rows = self._table.models[name]
        if len(rows) == 1 or time is None:
            return rows[-1]
        day = time.astimezone(UTC).date()
        return max(
            (row for row in rows if row.from_date is None or row.from_date <= day),
            key=lambda row: row.from_date or date.min,
        )

    def _factor(self, model: Model, used: Rated) -> Fraction:
        factor = Fraction(1)
        if used.speed == "fast":
            factor *= Fraction(self._table.fast_mode.get(model.name, "1"))
        if used.geo == "us" and model.name in self._table.inference_geo["applies_to"]:
            factor *= Fraction(self._table.inference_geo["us"])
        if model.region is not None and model.name in self._table.region_prefix["applies_to"]:
            factor *= Fraction(self._table.region_prefix.get(model.region, "1"))
        return factor * Fraction(self._table.service_tier.get(used.tier or "", "1"))


def _names(models: Mapping[str, list[_Row]]) -> Iterator[tuple[str, str]]:
    for name, rows in models.items():
        yield name, name
        yield from ((alias.lower(), name) for row in rows for alias in row.aliases)


def _rates(row: _PerMillion, factor: Fraction) -> Rates:
    """Dollars per million tokens times a thousand are nano-dollars per token."""
    per_token = {
        name: None if price is None else (Fraction(price) * 1000 * factor).as_integer_ratio()
        for name in Rates.__struct_fields__
        for price in [getattr(row, name)]
    }
    return Rates(**per_token)


@cache
def packaged_prices() -> Prices:
    """The table that comes with this release."""
    raw = resources.files(__package__).joinpath("prices.json").read_bytes()
    return Prices(msgspec.json.decode(raw, type=_Table))
