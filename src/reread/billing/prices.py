"""Queries of the price table: what a request cost and how that is calculated, what the cache saved, what is listed.

A model that is not in the table is unpriced: never zero, and never priced like a model with a similar name.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime
from fractions import Fraction
from functools import cache, cached_property, lru_cache
from math import lcm
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from reread.errors import BadInput, printable

from .cost import NANODOLLARS, SERVICE_TIER_UNPRICED, Component, Derivation, Factor, Rated, Rates, half_up
from .price_table import (
    PER_TOKEN,
    Model,
    Origin,
    PerMillion,
    Premium,
    PriceFile,
    Row,
    Table,
    find_model,
    lay_over,
    read_prices,
)
from .response import Response

Time = datetime | int
"""A moment, or milliseconds since 1970 in UTC."""
RULES = 1
"""Increase it when the same table and request would give a different cost; stored costs are then calculated again."""
_LIST_PRICE = (None, "", "standard", "default")
"""Service tiers that are charged at list price."""


class ModelPrices(Struct, frozen=True, kw_only=True):
    """What the table lists for a model."""

    name: str
    origin: Origin
    aliases: tuple[str, ...]
    rows: tuple[Row, ...]
    fast: str | None
    geo: dict[str, str]
    regions: dict[str, str]

    def on(self, day: date) -> Row | None:
        """The row that applies on a day."""
        return _on(day, self.rows)


class _Dated(Struct, frozen=True):
    """The rates of a row, with all factors applied."""

    from_date: date | None
    rates: Rates
    threshold: int | None
    long_rates: Rates

    def rates_for(self, used: Rated) -> Rates:
        return self.long_rates if self.is_long(used) else self.rates

    def is_long(self, used: Rated) -> bool:
        return self.threshold is not None and used.prompt > self.threshold


class _Terms(Struct, frozen=True, kw_only=True):
    """What determines the price of a request, other than its counts; kept because many requests share it."""

    model: Model | None
    origin: Origin | None
    factors: tuple[Factor, ...]
    rows: tuple[_Dated, ...]
    always: _Dated | None
    """The only row, if it applies at any date."""

    def row(self, time: Time | None) -> _Dated | None:
        """The row that applied on the UTC day; without a time the newest one, which is the best guess."""
        if self.always is not None or not self.rows:
            return self.always
        if time is None:
            return self.rows[-1]
        return _on(_utc_day(time), self.rows)


def _utc_day(time: Time) -> date:
    if isinstance(time, datetime):
        return time.astimezone(UTC).date()
    return date.fromordinal(_DAY_ONE + time // 86_400_000)


_DAY_ONE = date(1970, 1, 1).toordinal()
_AnyRow = TypeVar("_AnyRow", Row, _Dated)


def _on(day: date, rows: tuple[_AnyRow, ...]) -> _AnyRow | None:
    """The newest row that had begun by a day; None before the first."""
    return next((row for row in reversed(rows) if row.from_date is None or row.from_date <= day), None)


class ListedRate(NamedTuple):
    """A row of the rate card: nano-dollars for `per` tokens, or None if the model has no such price."""

    model: str
    from_date: str | None
    """The first UTC day on which it applies, as ISO 8601; None if it always has."""
    above_prompt_tokens: int | None
    """If set, it applies only to requests with a larger prompt; None for all others."""
    input: int
    output: int
    cache_read: int | None
    cache_write_5m: int | None
    cache_write_1h: int | None
    per: int


class Multiplier(NamedTuple):
    """A factor on all token rates of a model: `numerator / denominator`."""

    kind: str
    """`speed`, `geo`, `region` (of the provider, in the raw model id) or `tier`."""
    name: str
    """The value in the response to which it applies, such as `fast`, `us`, `batch`."""
    model: str
    numerator: int
    denominator: int


class RateCard(NamedTuple):
    """The price table as plain rows for use in SQL: whole numbers only, and the same cost to the nano-dollar.

    Of a model's rows, the newest that had begun on the UTC day applies (without a time, the newest of all). If it has
    two tiers, the one with `above_prompt_tokens` applies if the prompt (input, cache read and writes) is larger than
    that. With N the rate times all numerators that apply, and D its `per` times all denominators, the tokens of a kind
    cost `(2 * tokens * N + D) / (2 * D)` rounded down, which rounds half up, once per kind. Tokens of a kind without a
    rate make the request unpriced. `Prices.model` gives the model and region that a raw id means.
    """

    rates: tuple[ListedRate, ...]
    multipliers: tuple[Multiplier, ...]
    nanodollars_per_search: int
    as_of: str


class Prices:
    """The packaged table, overridden by the user's prices. `as_of` is the day when the table's sources were read."""

    def __init__(self, table: Table, user_file: Path | None = None) -> None:
        self.as_of = table.as_of
        self.user_file = user_file
        self._table = table
        self._by_user = frozenset(table.by_user)
        self._nanodollars_per_search = half_up(Fraction(table.web_search) * NANODOLLARS)
        self._terms: dict[tuple[str | None, ...], _Terms] = {}
        self._models: dict[str | None, Model | None] = {}

    @cached_property
    def digest(self) -> str:
        """Changes if and only if something changes that affects costs or their labels."""
        from hashlib import sha256  # takes 3 ms to import, and most commands do not need it

        return sha256(msgspec.json.encode((RULES, self._table), order="sorted")).hexdigest()[:32]

    @property
    def web_search(self) -> str:
        """Dollars for one search."""
        return self._table.web_search

    def models(self) -> list[ModelPrices]:
        """Everything listed, in the order of the table, the user's own models last."""
        return [self._listed(name, rows) for name, rows in self._table.models.items()]

    def rate_card(self) -> RateCard:
        """Everything needed to calculate costs from counts, as rows."""
        return RateCard(
            rates=tuple(
                rate for name, rows in self._table.models.items() for row in rows for rate in _rates(name, row)
            ),
            multipliers=tuple(self._multipliers()),
            nanodollars_per_search=self._nanodollars_per_search,
            as_of=self.as_of.isoformat(),
        )

    def _multipliers(self) -> Iterator[Multiplier]:
        table = self._table
        found = [("speed", "fast", model, factor) for model, factor in table.fast_mode.items()]
        for kind, premium in (("geo", table.inference_geo), ("region", table.region_prefix)):
            found += [(kind, *each, factor) for each, factor in _premiums(premium)]
        found += [
            ("tier", name, model, factor) for name, factor in table.service_tier.items() for model in table.models
        ]
        for kind, name, model, factor in found:
            value = Fraction(factor)
            if value != 1:
                yield Multiplier(kind, name, model, value.numerator, value.denominator)

    def model(self, raw: str | None) -> Model | None:
        """The model that a raw id means; None if the table does not have it."""
        if raw not in self._models:
            self._models[raw] = find_model(raw, self._table.names, self._table.providers.values())
        return self._models[raw]

    def cost(self, used: Rated, raw_model: str | None, time: Time | None) -> int | None:
        """Nano-dollars of one request; None if the model or something that it used has no price."""
        terms = self._terms.get((raw_model, used.speed, used.geo, used.tier)) or self._find_terms(used, raw_model)
        row = terms.always or terms.row(time)
        if row is None:
            return None
        tokens = (row.rates if row.threshold is None else row.rates_for(used)).cost(used)
        return None if tokens is None else tokens + used.web_searches * self._nanodollars_per_search

    def priced(self, response: Response) -> Response:
        """The response with its cost and savings, by its counts, model and day."""
        about = response, response.model, response.time
        return replace(response, nanodollars=self.cost(*about), saved=self.savings(*about))

    def savings(self, used: Rated, raw_model: str | None, time: Time | None) -> int | None:
        """Nano-dollars that the cache saved compared with sending the same tokens as input, at the rates of this
        request.

        Negative if writing cost more than reading saved; None if something has no price.
        """
        row = self._find_terms(used, raw_model).row(time)
        return None if row is None else row.rates_for(used).saved(used)

    def premium(self, used: Rated, rebuilt: int, raw_model: str | None, time: Time | None) -> int | None:
        """How many more nano-dollars it cost to write the `rebuilt` tokens again than to read them, at the rates of
        this request.

        None if something has no price.
        """
        row = self._find_terms(used, raw_model).row(time)
        return None if row is None else row.rates_for(used).premium(used, rebuilt)

    def derive(self, used: Rated, raw_model: str | None, time: Time | None) -> Derivation:
        """How `cost` arrives at its result, step by step."""
        terms = self._find_terms(used, raw_model)
        row = terms.row(time)
        is_long = row is not None and row.is_long(used)
        components = tuple(_components(used, None if row is None else row.rates_for(used)))
        searches = used.web_searches * self._nanodollars_per_search
        why = _why_unpriced(raw_model, terms, row, components)
        by_user = "web_search" in self._by_user and used.web_searches > 0 and terms.model is not None
        origin: Origin | None = "user" if by_user else terms.origin
        return Derivation(
            model=terms.model.name if terms.model is not None else None,
            region=terms.model.region if terms.model is not None else None,
            origin=origin,
            price_id=self._price_id(terms, row, is_long, origin),
            prompt=used.prompt,
            threshold=None if row is None else row.threshold,
            is_long=is_long,
            factors=terms.factors,
            components=components,
            web_searches=used.web_searches,
            web_search_nanodollars=searches,
            total=searches + sum(each.nanodollars or 0 for each in components) if why is None else None,
            why_unpriced=why,
            flags=self._flags(used),
        )

    def _find_terms(self, used: Rated, raw_model: str | None) -> _Terms:
        key = (raw_model, used.speed, used.geo, used.tier)
        found = self._terms.get(key)
        if found is None:
            found = self._terms[key] = self._make_terms(used, self.model(raw_model))
        return found

    def _make_terms(self, used: Rated, model: Model | None) -> _Terms:
        if model is None:
            return _Terms(model=None, origin=None, factors=(), rows=(), always=None)
        found = [(name, value, part) for name, value, part in self._factors(model, used) if value != 1]
        factor = Fraction(1)
        for _, value, _ in found:
            factor *= value
        parts = {f"models.{model.name}", f"aliases.{model.called}", *(part for *_, part in found)}
        rows = tuple(_dated(row, factor) for row in self._table.models[model.name])
        return _Terms(
            model=model,
            origin="user" if parts & self._by_user else "table",
            factors=tuple(Factor(name=name, value=value) for name, value, _ in found),
            rows=rows,
            always=rows[0] if len(rows) == 1 and rows[0].from_date is None else None,
        )

    def _factors(self, model: Model, used: Rated) -> Iterator[tuple[str, Fraction, str]]:
        """The factors that apply: name, value, and the part of the table that it comes from."""
        table = self._table
        if used.speed == "fast" and model.name in table.fast_mode:
            yield "fast", Fraction(table.fast_mode[model.name]), f"fast_mode.{model.name}"
        for name, part, place in (("geo", "inference_geo", used.geo), ("region", "region_prefix", model.region)):
            premium = getattr(table, part)
            if place in premium.factors and model.name in premium.applies_to:
                listed = f"{part}.applies_to.{model.name}"
                yield name, Fraction(premium.factors[place]), listed if listed in self._by_user else f"{part}.{place}"
        if used.tier in table.service_tier:
            yield used.tier, Fraction(table.service_tier[used.tier]), f"service_tier.{used.tier}"

    def _price_id(self, terms: _Terms, row: _Dated | None, is_long: bool, origin: Origin | None) -> str | None:
        if terms.model is None or row is None:
            return None
        day = "always" if row.from_date is None else row.from_date.isoformat()
        region = terms.model.region or ""
        factors = (region if factor.name == "region" else factor.name for factor in terms.factors)
        return "/".join([self._edition(terms.model, origin), terms.model.name, day, *["lc"] * is_long, *factors])

    def _edition(self, model: Model, origin: Origin | None) -> str:
        """The table's day, or `user` for the user's rows; with `+user` if only a name or a factor is the user's."""
        if f"models.{model.name}" in self._by_user:
            day = self._table.user_as_of
            return f"user:{day.isoformat()}" if day is not None else "user"
        return self.as_of.isoformat() + ("+user" if origin == "user" else "")

    def _flags(self, used: Rated) -> tuple[str, ...]:
        is_priced = used.tier in _LIST_PRICE or used.tier in self._table.service_tier
        return () if is_priced else (SERVICE_TIER_UNPRICED,)

    def _listed(self, name: str, rows: tuple[Row, ...]) -> ModelPrices:
        table = self._table
        geo, regions = (
            premium.factors if name in premium.applies_to else {}
            for premium in (table.inference_geo, table.region_prefix)
        )
        return ModelPrices(
            name=name,
            origin="user" if f"models.{name}" in self._by_user else "table",
            aliases=tuple(alias for alias, meant in table.names.items() if meant == name and alias != name),
            rows=rows,
            fast=table.fast_mode.get(name),
            geo=geo,
            regions=regions,
        )


def _rates(model: str, row: Row) -> Iterator[ListedRate]:
    begins, long = None if row.from_date is None else row.from_date.isoformat(), row.long_context
    yield _rate(model, begins, None, row)
    if long is not None:
        yield _rate(model, begins, long.above_prompt_tokens, long)


def _rate(model: str, begins: str | None, above: int | None, listed: PerMillion) -> ListedRate:
    exact = Rates(listed, Fraction(1)).per_token
    per = lcm(*(rate.denominator for rate in exact.values() if rate is not None))
    whole = [None if rate is None else int(rate * per) for rate in exact.values()]
    return ListedRate._make([model, begins, above, *whole, per])


def _premiums(premium: Premium) -> Iterator[tuple[tuple[str, str], str]]:
    for name, factor in premium.factors.items():
        yield from (((name, model), factor) for model in premium.applies_to)


def _dated(row: Row, factor: Fraction) -> _Dated:
    tier = row.long_context
    rates = Rates(row, factor)
    if tier is None:
        return _Dated(row.from_date, rates, None, rates)
    return _Dated(row.from_date, rates, tier.above_prompt_tokens, Rates(tier, factor))


def _components(used: Rated, rates: Rates | None) -> Iterator[Component]:
    for name in PER_TOKEN:
        count = getattr(used, name)
        if rates is None:
            yield Component(name=name, count=count, rate=None, nanodollars=None)
        else:
            yield Component(name=name, count=count, rate=rates.per_token[name], nanodollars=rates.of(name, count))


def _why_unpriced(
    raw_model: str | None, terms: _Terms, row: _Dated | None, components: tuple[Component, ...]
) -> str | None:
    if terms.model is None:
        return f"no price is known for the model {printable(raw_model)!r}" if raw_model else "no model is named"
    if row is None:
        return f"the first price of {terms.model.name} begins on {terms.rows[0].from_date}, after this request"
    missing = [each.name.replace("_", " ") for each in components if each.nanodollars is None]
    return f"{terms.model.name} has no price for {' and '.join(missing)}" if missing else None


@cache
def packaged_prices() -> Prices:
    """The table that comes with this release."""
    return Prices(lay_over(_packaged_file(), None))


def load_prices(path: Path | None) -> Prices:
    """The packaged table, overridden by a user's price file if there is one. Raises BadInput for an invalid file."""
    if path is None:
        return packaged_prices()
    try:
        raw = path.read_bytes()
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise BadInput(f"{printable(str(path))}: the price file cannot be read: {reason.lower()}") from error
    return _with_user_file(path, raw)


@lru_cache(maxsize=4)
def _with_user_file(path: Path, raw: bytes) -> Prices:
    """Parsed once for each content of the file."""
    packaged = _packaged_file()
    return Prices(lay_over(packaged, read_prices(raw, str(path), packaged.models)), path)


@cache
def _packaged_file() -> PriceFile:
    # Importing importlib.resources would take longer than reading all prices.
    raw = Path(__file__).with_name("prices.json").read_bytes()
    return read_prices(raw, "the packaged prices")
