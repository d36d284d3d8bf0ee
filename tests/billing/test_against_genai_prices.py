"""Our table against an independent one, the data inside the package `genai-prices`; nothing is fetched.

A failure means that somebody learned of a price. Look at both sources, then change `prices.json`, or name the
disagreement here with the reason for keeping ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import pytest
from genai_prices.data import providers
from genai_prices.types import ModelInfo, ModelPrice, StartDateConstraint, TieredPrices

from reread.billing import PerMillion, Rated, packaged_prices

FIELDS = {
    "input": "input_mtok",
    "output": "output_mtok",
    "cache_read": "cache_read_mtok",
    "cache_write_5m": "cache_write_mtok",
    "cache_write_1h": "cache_write_1h_mtok",
}
THEIRS = {model.id: model for provider in providers if provider.id == "anthropic" for model in provider.models}

SONNET_4_TIER = "litellm's rows for the clouds have the tier; this package has it for Sonnet 4.5 only"
KNOWN = {("claude-sonnet-4", None, 200_000, field): SONNET_4_TIER for field in FIELDS}
"""Model, first day, threshold and field of every price that differs, with the reason for ours."""

ABSENT = {
    "claude-mythos-5": "in litellm and in the client, with the same values",
    "claude-mythos-5-1": "in litellm and in the client, with the same values",
    "claude-mythos-preview": "only in litellm, where the direct and the cloud rows disagree",
    "claude-instant-1": "only in litellm",
}
"""Models of ours that the package does not have."""
LATER = {"claude-fable-5-2", "claude-mythos-5-2"}
"""In the package since 0.2.2, batches included; before, only in the price table of the client 2.1.325."""

NO_BATCH = {
    *("claude-1", "claude-2", "claude-3-haiku", "claude-3-sonnet", "claude-3-opus", "claude-3-5-haiku"),
    *("claude-3-5-sonnet", "claude-3-7-sonnet", "claude-opus-4", "claude-opus-4-1", "claude-sonnet-4"),
}
"""Retired models: the package has no batch prices for them; batches were half the price for all."""
BATCH_SINCE = date(2026, 10, 14)
"""The package has batch prices from this day on, when it learned of them; they were half the price before."""


class Fact(NamedTuple):
    model: str
    from_date: date | None
    above: int | None
    field: str


Facts = dict[tuple[str, date | None, int | None, str], Fraction]


def our_name(model: ModelInfo) -> str:
    found = packaged_prices().model(model.id)
    assert found is not None, f"{model.id} has a price and is not in prices.json"
    return found.name


def ours() -> Facts:
    found: Facts = {}
    for model in packaged_prices().models():
        for row in model.rows:
            found |= our_row(Fact(model.name, row.from_date, None, ""), row)
            if row.long_context is not None:
                above = row.long_context.above_prompt_tokens
                found |= our_row(Fact(model.name, row.from_date, above, ""), row.long_context)
    return found


def our_row(place: Fact, row: PerMillion) -> Facts:
    prices = {field: getattr(row, field) for field in FIELDS}
    return {place._replace(field=field): Fraction(price) for field, price in prices.items() if price is not None}


def theirs() -> Facts:
    return {
        place: price
        for model in THEIRS.values()
        for from_date, prices in their_rows(model)
        for place, price in their_row(Fact(our_name(model), from_date, None, ""), prices)
    }


def their_rows(model: ModelInfo) -> Iterator[tuple[date | None, ModelPrice]]:
    if isinstance(model.prices, ModelPrice):
        yield None, model.prices
        return
    for each in model.prices:
        assert each.constraint is None or isinstance(each.constraint, StartDateConstraint), f"{model.id}: {each}"
        yield each.constraint.start_date if each.constraint is not None else None, each.prices


def their_row(place: Fact, prices: ModelPrice) -> Iterator[tuple[Fact, Fraction]]:
    for field, name in FIELDS.items():
        price = getattr(prices, name, None)
        if isinstance(price, TieredPrices):
            for tier in price.tiers:
                yield place._replace(above=tier.start, field=field), Fraction(tier.price)
            price = price.base
        if price is not None:
            yield place._replace(field=field), Fraction(price)


def test_the_package_still_has_the_models_of_the_vendor() -> None:
    assert len(THEIRS) >= 25


@pytest.mark.parametrize("model", THEIRS.values(), ids=THEIRS)
def test_every_model_of_the_package_is_in_our_table(model: ModelInfo) -> None:
    assert our_name(model) in {each.name for each in packaged_prices().models()}


def test_models_that_only_we_have_are_named_with_the_reason() -> None:
    names = {model.name for model in packaged_prices().models()}
    assert names - {our_name(model) for model in THEIRS.values()} - LATER == set(ABSENT)


def test_every_rate_is_the_same_but_for_the_named_ones() -> None:
    we, they = ours(), theirs()
    shared = {our_name(model) for model in THEIRS.values()}
    differing = {
        place: (we.get(place), they.get(place))
        for place in we.keys() | they.keys()
        if place[0] in shared and we.get(place) != they.get(place)
    }
    unnamed = {place: prices for place, prices in differing.items() if place not in KNOWN}
    assert not unnamed, "ours and theirs; look which one is right"
    assert not KNOWN.keys() - differing.keys(), "no longer a disagreement: take it off the list"


def test_the_comparison_sees_dated_and_tiered_rows() -> None:
    """What is compared above has what made it worth writing: both kinds, from both sides."""
    for facts in (ours(), theirs()):
        assert facts["claude-opus-4-6", None, 200_000, "output"] == Fraction("37.5")
        assert ("claude-opus-4-6", date(2026, 3, 13), 200_000, "output") not in facts
        assert facts["claude-haiku-5-5", None, 100_000, "cache_read"] == Fraction("0.05")


def test_a_search_costs_the_same_wherever_it_has_a_price() -> None:
    prices = {getattr(row, "web_searches_kcount", None) for model in THEIRS.values() for _, row in their_rows(model)}
    assert prices - {None} == {Decimal(packaged_prices().web_search) * 1000}


def test_fast_mode_and_geography_are_still_ours_alone() -> None:
    variants = {tuple(each.when.items()) for model in THEIRS.values() for each in model.price_variants or []}
    assert variants == {(("processing", "batch"),)}, "the package has learned of more prices: compare them, too"


def test_batches_are_half_the_price() -> None:
    day = datetime(BATCH_SINCE.year, BATCH_SINCE.month, BATCH_SINCE.day, tzinfo=UTC)
    for model in THEIRS.values():
        name = our_name(model)
        assert bool(model.price_variants) == (name not in NO_BATCH), f"{name}: batch prices came or went"
        for variant in model.price_variants or []:
            since = variant.constraint.start_date if isinstance(variant.constraint, StartDateConstraint) else None
            assert since == (None if name in LATER else BATCH_SINCE), name
            for place, price in their_row(Fact(name, None, None, ""), variant.prices):
                large = (place.above or 0) + 1
                # Output has no part in the prompt, so input makes the request as large as the tier wants it.
                counts: dict[str, Any] = {"input": large, place.field: large}
                used = Rated(**counts, tier="batch")
                rates = {each.name: each.rate for each in packaged_prices().derive(used, name, day).components}
                assert rates[place.field] == price * 1000, place
