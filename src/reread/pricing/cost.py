"""The arithmetic of one request, in integer nano-dollars.

Each component is an exact fraction rounded half up once; afterwards only integers are added, so that any breakdown
adds up to its total to the last digit.
"""

from __future__ import annotations

from msgspec import Struct

from reread.records import Usage

NANODOLLARS = 1_000_000_000

Rate = tuple[int, int]
"""Numerator and denominator: of a Fraction they are properties, and reading them costs more than the arithmetic."""


class Rated(Struct, frozen=True, kw_only=True):
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
    def of(cls, usage: Usage, web_searches: int) -> Rated:
        """The aggregate of cache writes is the truth; the split only says how much was the one-hour kind."""
        written = usage.cache_creation_input_tokens or 0
        split = usage.cache_creation
        one_hour = (split.ephemeral_1h_input_tokens or 0) if split is not None else 0
        one_hour = max(0, min(one_hour, written))
        return cls(
            input=usage.input_tokens or 0,
            output=usage.output_tokens or 0,
            cache_read=usage.cache_read_input_tokens or 0,
            cache_write_5m=written - one_hour,
            cache_write_1h=one_hour,
            web_searches=web_searches,
            speed=usage.speed,
            geo=usage.inference_geo,
            tier=usage.service_tier,
        )

    @property
    def prompt(self) -> int:
        """The size that decides about the long-context tier."""
        return self.input + self.cache_read + self.cache_write_5m + self.cache_write_1h

    @property
    def total(self) -> int:
        return self.prompt + self.output


class Rates(Struct, frozen=True, kw_only=True):
    """Nano-dollars per token, all multipliers included; None where the model never had such a price."""

    input: Rate | None
    output: Rate | None
    cache_read: Rate | None
    cache_write_5m: Rate | None
    cache_write_1h: Rate | None

    def cost(self, used: Rated) -> int | None:
        """Nano-dollars of the tokens; None when some of them have no price."""
        total = 0
        for count, rate in (
            (used.input, self.input),
            (used.output, self.output),
            (used.cache_read, self.cache_read),
            (used.cache_write_5m, self.cache_write_5m),
            (used.cache_write_1h, self.cache_write_1h),
        ):
            if count:
                if rate is None:
                    return None
                numerator, denominator = rate
                total += (2 * count * numerator + denominator) // (2 * denominator)
        return total
