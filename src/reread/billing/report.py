"""Sums over responses: tokens by kind and exact money, added and divided so that no token is lost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct

from .money import in_dollars

if TYPE_CHECKING:
    from decimal import Decimal

    from .cost import Rated
    from .response import Response


class Tokens(Struct, frozen=True, kw_only=True):
    """Sums of requests. Money is exact; `cost` is None if nothing could be priced."""

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_5m_tokens: int = 0
    cache_write_1h_tokens: int = 0
    web_searches: int = 0
    unpriced_tokens: int = 0
    nanodollars: int | None = None

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
    counts = [0] * len(_COUNTS)
    money: int | None = None
    for part in parts:
        for i, name in enumerate(_COUNTS):
            counts[i] += getattr(part, name)
        if part.nanodollars is not None:
            money = (money or 0) + part.nanodollars
    return Tokens(**dict(zip(_COUNTS, counts, strict=True)), nanodollars=money)


def total_of(priced: Iterable[tuple[Rated, int | None]]) -> Tokens:
    """Adds up single requests, each given with its nano-dollars or None if it has no price."""
    used, costs = [], []
    for each, cost in priced:
        used.append(each)
        costs.append(cost)
    known = [cost for cost in costs if cost is not None]
    return Tokens(
        requests=len(used),
        input_tokens=sum(each.input for each in used),
        output_tokens=sum(each.output for each in used),
        cache_read_tokens=sum(each.cache_read for each in used),
        cache_write_5m_tokens=sum(each.cache_write_5m for each in used),
        cache_write_1h_tokens=sum(each.cache_write_1h for each in used),
        web_searches=sum(each.web_searches for each in used),
        unpriced_tokens=sum(each.total for each, cost in zip(used, costs, strict=True) if cost is None),
        nanodollars=sum(known) if known else None,
    )


_COUNTS = tuple(name for name in Tokens.__struct_fields__ if name != "nanodollars")


class Sums(NamedTuple):
    """The columns of a cell after its key."""

    requests: int
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_5m_tokens: int
    cache_write_1h_tokens: int
    web_searches: int
    nanodollars: int | None
    unpriced_tokens: int
    duplicates: int
    suspect: int
    provisional: int
    first: int | None
    last: int | None

    @property
    def tokens(self) -> Tokens:
        return Tokens(
            requests=self.requests,
            input_tokens=self.input_tokens,
            output_tokens=self.output_tokens,
            cache_read_tokens=self.cache_read_tokens,
            cache_write_5m_tokens=self.cache_write_5m_tokens,
            cache_write_1h_tokens=self.cache_write_1h_tokens,
            web_searches=self.web_searches,
            unpriced_tokens=self.unpriced_tokens,
            nanodollars=self.nanodollars,
        )


def sums_of(response: Response) -> Sums:
    """One response as a cell of its own."""
    money, tokens = response.nanodollars, response.total
    return Sums(
        requests=1,
        input_tokens=response.input,
        output_tokens=response.output,
        cache_read_tokens=response.cache_read,
        cache_write_5m_tokens=response.cache_write_5m,
        cache_write_1h_tokens=response.cache_write_1h,
        web_searches=response.web_searches,
        nanodollars=money,
        unpriced_tokens=tokens if money is None else 0,
        duplicates=max(response.rows - 1, 0),
        suspect=int(response.doubt == 2),
        provisional=int(response.doubt == 1),
        first=response.time,
        last=response.time,
    )


_MONEY, _FIRST, _LAST = map(Sums._fields.index, ("nanodollars", "first", "last"))
_NOTHING = Sums._make(None if i in (_MONEY, _FIRST, _LAST) else 0 for i in range(len(Sums._fields)))


def added(rows: Iterable[Sums]) -> Sums:
    """Adds up sums; money is None if none of them has a price."""
    rows = tuple(rows)
    if len(rows) < 2:  # six times out of ten, since most models have one cell per day
        return rows[0] if rows else _NOTHING
    columns = list(zip(*rows, strict=True))
    money, first, last = ([value for value in columns[i] if value is not None] for i in (_MONEY, _FIRST, _LAST))
    counts = [*map(sum, columns[:_MONEY]), sum(money) if money else None, *map(sum, columns[_MONEY + 1 : _FIRST])]
    return Sums._make([*counts, min(first, default=None), max(last, default=None)])


def shares(sums: Sums, number: int) -> Iterator[Sums]:
    """Divides sums into equal shares that add up to the whole: a response that called several tools counts for each of
    them in part."""
    for i in range(number):
        values: list[Any] = [_share(value, number, i) for value in sums[:_FIRST]]
        yield Sums(*values, *sums[_FIRST:])


def _share(value: int | None, number: int, i: int) -> int | None:
    return None if value is None else value // number + (i < value % number)
