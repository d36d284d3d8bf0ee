"""Sums over responses: tokens by kind and exact money, added and divided so that no token is lost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import astuple

from .money import in_dollars

if TYPE_CHECKING:
    from decimal import Decimal

    from .cost import Rated
    from .response import Response


class Tokens(Struct, frozen=True):
    """Sums of requests. Money is exact; `cost` is None if nothing could be priced."""

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_5m_tokens: int = 0
    cache_write_1h_tokens: int = 0
    web_searches: int = 0
    nanodollars: int | None = None
    unpriced_tokens: int = 0

    @classmethod
    def of(cls, used: Rated, nanodollars: int | None) -> Tokens:
        """One request, with what it costs."""
        return cls(
            1,
            used.input,
            used.output,
            used.cache_read,
            used.cache_write_5m,
            used.cache_write_1h,
            used.web_searches,
            nanodollars,
            used.total if nanodollars is None else 0,
        )

    def plain(self) -> dict[str, int | Decimal | None]:
        """All sums by name, money in dollars."""
        counts = {name: getattr(self, name) for name in self.__struct_fields__ if name != "nanodollars"}
        return {**counts, "cost": self.cost}

    @property
    def cache_write_tokens(self) -> int:
        return self.cache_write_5m_tokens + self.cache_write_1h_tokens

    @property
    def prompt_tokens(self) -> int:
        """Everything that was sent, cached or not."""
        return self.input_tokens + self.cache_read_tokens + self.cache_write_tokens

    @property
    def total_tokens(self) -> int:
        return self.prompt_tokens + self.output_tokens

    @property
    def cost(self) -> Decimal | None:
        """The dollars of the part that has a price."""
        return in_dollars(self.nanodollars)

    @property
    def cache_hit(self) -> float | None:
        """The share of what was sent that was read from the cache; None if nothing was sent."""
        return self.cache_read_tokens / self.prompt_tokens if self.prompt_tokens else None


def total(parts: Iterable[Tokens]) -> Tokens:
    """Adds up sums."""
    return Tokens(*map(column_sum, zip(*map(astuple, parts), strict=True)))


def total_of(priced: Iterable[tuple[Rated, int | None]]) -> Tokens:
    """Adds up single requests, each given with its nano-dollars or None if it has no price."""
    return total(Tokens.of(each, cost) for each, cost in priced)


def column_sum(values: Sequence[int | None]) -> Any:
    """The sum of a column; None if nothing in it is known."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None


class Sums(Tokens, frozen=True):
    """The columns of a cell after its key: sums, and what a report says about itself."""

    duplicates: int = 0
    suspect: int = 0
    provisional: int = 0
    first: int | None = None
    last: int | None = None

    @property
    def tokens(self) -> Tokens:
        return Tokens(*astuple(self)[:_OF_TOKENS])


_OF_TOKENS = len(Tokens.__struct_fields__)


Columns = tuple[Any, ...]
"""The values of `Sums`, which are added up faster than objects."""


def columns_of(response: Response) -> Columns:
    """One response as a cell of its own."""
    tokens = astuple(Tokens.of(response, response.nanodollars))
    doubts = response.doubt == 2, response.doubt == 1
    return *tokens, max(response.rows - 1, 0), *map(int, doubts), response.time, response.time


def added_columns(rows: Iterable[Columns]) -> Columns:
    """Adds up at least one row."""
    *counts, first, last = zip(*rows, strict=True)
    began, ended = ([value for value in column if value is not None] for column in (first, last))
    return *map(column_sum, counts), min(began, default=None), max(ended, default=None)


def added(rows: Iterable[Sums]) -> Sums:
    """Adds up sums; money is None if none of them has a price."""
    rows = tuple(rows)
    if len(rows) < 2:  # six times out of ten, since most models have one cell per day
        return rows[0] if rows else Sums()
    return Sums(*added_columns(map(astuple, rows)))


def shares(sums: Sums, number: int) -> Iterator[Sums]:
    """Divides sums into equal shares that add up to the whole: a response that called several tools counts for each of
    them in part."""
    *counts, first, last = astuple(sums)
    for i in range(number):
        values: Columns = (*(_share(count, number, i) for count in counts), first, last)
        yield Sums(*values)


def _share(value: int | None, number: int, i: int) -> int | None:
    return None if value is None else value // number + (i < value % number)
