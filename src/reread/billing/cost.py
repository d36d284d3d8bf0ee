"""The cost of one request in integer nano-dollars, and the values that explain how it is calculated.

Each component is an exact fraction, rounded half up once; after that only integers are added, so every breakdown adds
up to its total exactly.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Self

from msgspec import Struct

from reread.records import Usage

from .price_table import PER_TOKEN, Origin, PerMillion

NANODOLLARS = 1_000_000_000


class Rated(Struct, frozen=True, gc=False):
    """The counts of one request that have a price; nulls are read as zero."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write_5m: int = 0
    cache_write_1h: int = 0
    web_searches: int = 0
    speed: str | None = None
    geo: str | None = None
    tier: str | None = None

    @classmethod
    def of(cls, usage: Usage, web_searches: int, **about: Any) -> Self:
        """Made from a usage record; `about` has the further fields of a `Response`."""
        return cls(*counts_of(usage, web_searches), **about)

    @property
    def prompt(self) -> int:
        """The size of the prompt, which decides about the long-context tier."""
        return self.input + self.cache_read + self.cache_write_5m + self.cache_write_1h

    @property
    def total(self) -> int:
        return self.prompt + self.output


Counts = tuple[int, int, int, int, int, int, str | None, str | None, str | None]


def counts_of(usage: Usage, web_searches: int) -> Counts:
    """The fields of `Rated`, in their order.

    The total of cache writes is taken as correct; the split only says how much of it was the one-hour kind.
    """
    written = usage.cache_creation_input_tokens or 0
    split = usage.cache_creation
    one_hour = min(split.ephemeral_1h_input_tokens or 0, written) if split is not None else 0
    return (
        usage.input_tokens or 0,
        usage.output_tokens or 0,
        usage.cache_read_input_tokens or 0,
        written - one_hour,
        one_hour,
        web_searches,
        usage.speed,
        usage.inference_geo,
        usage.service_tier,
    )


class Rates:
    """Nano-dollars per token, all multipliers included; None if the model never had such a price."""

    __slots__ = ("_halves", "_whole", "per_token")

    def __init__(self, row: PerMillion, factor: Fraction) -> None:
        self.per_token: dict[str, Fraction | None] = {}
        for name in PER_TOKEN:
            price: str | None = getattr(row, name)
            # Dollars per million tokens times a thousand are nano-dollars per token.
            self.per_token[name] = None if price is None else Fraction(price) * 1000 * factor
        rates = tuple(self.per_token.values())
        # The parts of each fraction, because asking a Fraction for them costs more than the arithmetic.
        self._halves = tuple(None if rate is None else (2 * rate.numerator, rate.denominator) for rate in rates)
        whole = tuple(rate.numerator for rate in rates if rate is not None and rate.denominator == 1)
        # The case of nearly every row of the table: nothing to round, and every price exists.
        self._whole = whole if len(whole) == len(rates) else None

    def cost(self, used: Rated) -> int | None:
        """Nano-dollars of the tokens; None if some of them have no price."""
        if self._whole is not None:
            input_, output, read, write_5m, write_1h = self._whole
            return (
                used.input * input_
                + used.output * output
                + used.cache_read * read
                + used.cache_write_5m * write_5m
                + used.cache_write_1h * write_1h
            )
        total = 0
        counts = (used.input, used.output, used.cache_read, used.cache_write_5m, used.cache_write_1h)
        for count, rate in zip(counts, self._halves, strict=True):
            if count:
                if rate is None:
                    return None
                doubled, denominator = rate
                total += (count * doubled + denominator) // (2 * denominator)
        return total

    def saved(self, used: Rated) -> int | None:
        """The nano-dollars that the cached tokens would have cost as input, less what they did cost; None if something
        has no price."""
        cached = used.cache_read + used.cache_write_5m + used.cache_write_1h
        if self._whole is not None:
            input_, _, read, write_5m, write_1h = self._whole
            paid = used.cache_read * read + used.cache_write_5m * write_5m + used.cache_write_1h * write_1h
            return cached * input_ - paid
        without = self.of("input", cached)
        costs = [self.of(name, getattr(used, name)) for name in PER_TOKEN if name.startswith("cache_")]
        priced = [cost for cost in costs if cost is not None]
        return None if without is None or len(priced) < len(costs) else without - sum(priced)

    def premium(self, used: Rated, rebuilt: int) -> int | None:
        """How many more nano-dollars the `rebuilt` tokens cost because they were written instead of read; None if
        something has no price.

        The API requires one-hour cache parts before five-minute ones, so the beginning of a prompt, which is what a
        rebuild writes again, is the one-hour part.
        """
        for_an_hour = min(rebuilt, used.cache_write_1h)
        read = self.of("cache_read", rebuilt)
        costs = self.of("cache_write_1h", for_an_hour), self.of("cache_write_5m", rebuilt - for_an_hour)
        priced = [cost for cost in costs if cost is not None]
        return None if read is None or len(priced) < len(costs) else sum(priced) - read

    def of(self, name: str, count: int) -> int | None:
        """Nano-dollars of `count` tokens of one kind; None if the kind has no price."""
        rate = self.per_token[name]
        if not count:
            return 0
        return None if rate is None else half_up(count * rate)


def half_up(exact: Fraction) -> int:
    return (2 * exact.numerator + exact.denominator) // (2 * exact.denominator)


SERVICE_TIER_UNPRICED = "service_tier_unpriced"
"""Flags a request in a service tier that has no price of its own, so it was counted at list price."""


class Factor(Struct, frozen=True, kw_only=True):
    """A factor that multiplied the price of every token."""

    name: str
    """`fast`, `geo`, `region`, or the service tier."""
    value: Fraction


class Component(Struct, frozen=True, kw_only=True):
    """The cost of the tokens of one kind."""

    name: str
    count: int
    rate: Fraction | None
    """Exact nano-dollars per token, all factors included; None if there is no such price."""
    nanodollars: int | None
    """Rounded half up; None if there are such tokens but no price for them."""


class Derivation(Struct, frozen=True, kw_only=True):
    """How the cost of a request is calculated: its prices, factors and total."""

    model: str | None
    """None if no table has it."""
    region: str | None
    origin: Origin | None
    """`user` if anything that affected the cost came from the user's file."""
    price_id: str | None
    """Day of the table, model, first day of the row, and other factors: `2026-11-15/claude-haiku-5-5/always/lc`."""
    prompt: int
    threshold: int | None
    """The prompt size above which the row's long-context prices apply; None if it has none."""
    is_long: bool
    factors: tuple[Factor, ...]
    components: tuple[Component, ...]
    web_searches: int
    web_search_nanodollars: int
    total: int | None
    """Nano-dollars; None if anything has no price, never 0."""
    why_unpriced: str | None
    flags: tuple[str, ...]
