"""Sums over requests: tokens by kind, and exact money."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from msgspec import Struct

from .money import in_dollars

if TYPE_CHECKING:
    from decimal import Decimal


class Tokens(Struct, frozen=True, kw_only=True):
    """Money is exact; `cost` is None when nothing could be priced."""

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_5m_tokens: int = 0
    cache_write_1h_tokens: int = 0
    web_searches: int = 0
    unpriced_tokens: int = 0
    nanodollars: int | None = None

    @property
    def cache_write_tokens(self) -> int:
        return self.cache_write_5m_tokens + self.cache_write_1h_tokens

    @property
    def prompt_tokens(self) -> int:
        """All that was sent, cached or not."""
        return self.input_tokens + self.cache_read_tokens + self.cache_write_tokens

    @property
    def total_tokens(self) -> int:
        return self.prompt_tokens + self.output_tokens

    @property
    def cost(self) -> Decimal | None:
        """Dollars of the priced part."""
        return in_dollars(self.nanodollars)

    @property
    def cache_hit(self) -> float | None:
        """Of what was sent, the share that was read from the cache; None where nothing was sent."""
        return self.cache_read_tokens / self.prompt_tokens if self.prompt_tokens else None


def total(parts: Iterable[Tokens]) -> Tokens:
    """The sum of sums."""
    counts = [0] * len(_COUNTS)
    money: int | None = None
    for part in parts:
        for i, name in enumerate(_COUNTS):
            counts[i] += getattr(part, name)
        if part.nanodollars is not None:
            money = (money or 0) + part.nanodollars
    return Tokens(**dict(zip(_COUNTS, counts, strict=True)), nanodollars=money)


_COUNTS = tuple(name for name in Tokens.__struct_fields__ if name != "nanodollars")
