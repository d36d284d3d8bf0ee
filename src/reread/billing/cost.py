"""The arithmetic of one request, in integer nano-dollars, and how a cost comes about.

Each component is an exact fraction rounded half up once; afterwards only integers are added, so that any breakdown
adds up to its total to the last digit.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Self

from msgspec import Struct

from reread.records import Usage

from .price_table import PER_TOKEN, Origin, PerMillion

NANODOLLARS = 1_000_000_000


class Rated(Struct, frozen=True, gc=False):
    """The counts of one request that have a price, nulls read as zero."""

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
        """What a usage counts; `about` are the further fields of a `Response`."""
        return cls(*counts_of(usage, web_searches), **about)

    @property
    def prompt(self) -> int:
        """The size that decides about the long-context tier."""
        return self.input + self.cache_read + self.cache_write_5m + self.cache_write_1h

    @property
    def total(self) -> int:
        return self.prompt + self.output


Counts = tuple[int, int, int, int, int, int, str | None, str | None, str | None]


def counts_of(usage: Usage, web_searches: int) -> Counts:
    """The fields of `Rated`, in their order.

    The aggregate of cache writes is the truth; the split only says how much was the one-hour kind.
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
    """Nano-dollars per token, all multipliers included; None where the model never had such a price."""

    __slots__ = ("_halves", "_whole", "per_token")

    def __init__(self, row: PerMillion, factor: Fraction) -> None:
        self.per_token: dict[str, Fraction | None] = {}
        for name in PER_TOKEN:
            price: str | None = getattr(row, name)
            # Dollars per million tokens times a thousand are nano-dollars per token.
            self.per_token[name] = None if price is None else Fraction(price) * 1000 * factor
        rates = tuple(self.per_token.values())
        # What an addition needs of a fraction, because asking it for its parts costs more than the addition.
        self._halves = tuple(None if rate is None else (2 * rate.numerator, rate.denominator) for rate in rates)
        whole = tuple(rate.numerator for rate in rates if rate is not None and rate.denominator == 1)
        # Nearly every row of the table: nothing to round, and nothing that has no price.
        self._whole = whole if len(whole) == len(rates) else None

    def cost(self, used: Rated) -> int | None:
        """Nano-dollars of the tokens; None when some of them have no price."""
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
        """Nano-dollars between what the cached tokens would have cost as input and what they cost."""
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
        """Nano-dollars that so many tokens cost more because they were written and not read.

        The API wants what lives for an hour before what lives for five minutes, so the beginning of a prompt, which
        is what a rebuild writes again, is the one-hour part.
        """
        for_an_hour = min(rebuilt, used.cache_write_1h)
        read = self.of("cache_read", rebuilt)
        costs = self.of("cache_write_1h", for_an_hour), self.of("cache_write_5m", rebuilt - for_an_hour)
        priced = [cost for cost in costs if cost is not None]
        return None if read is None or len(priced) < len(costs) else sum(priced) - read

    def of(self, name: str, count: int) -> int | None:
        """Nano-dollars of so many tokens of one kind."""
        rate = self.per_token[name]
        if not count:
            return 0
        return None if rate is None else half_up(count * rate)


def half_up(exact: Fraction) -> int:
    return (2 * exact.numerator + exact.denominator) // (2 * exact.denominator)


SERVICE_TIER_UNPRICED = "service_tier_unpriced"
"""The flag of a request in a service tier that has no price of its own: it was counted at list price."""


class Factor(Struct, frozen=True, kw_only=True):
    """What multiplied the price of every token."""

    name: str
    """`fast`, `geo`, `region`, or the service tier."""
    value: Fraction


class Component(Struct, frozen=True, kw_only=True):
    """Tokens of one kind."""

    name: str
    count: int
    rate: Fraction | None
    """Exact nano-dollars per token, all factors included; None where there is no such price."""
    nanodollars: int | None
    """Rounded half up; None when there are such tokens and no price for them."""


class Derivation(Struct, frozen=True, kw_only=True):
    """A request, the prices it had, and what they come to."""

    model: str | None
    """None when no table knows it."""
    region: str | None
    origin: Origin | None
    """`user` as soon as anything that decided came from the user's file."""
    price_id: str | None
    """Day of the table, model, first day of the row, and what else decided: `2026-11-15/claude-haiku-5-5/always/lc`."""
    prompt: int
    threshold: int | None
    """The prompt above which the long-context prices hold, where the row has such."""
    is_long: bool
    factors: tuple[Factor, ...]
    components: tuple[Component, ...]
    web_searches: int
    web_search_nanodollars: int
    total: int | None
    """Nano-dollars; None when anything has no price, never 0."""
    why_unpriced: str | None
    flags: tuple[str, ...]
