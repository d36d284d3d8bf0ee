"""What decides about money, as plain values: one price file, and the packaged one with the user's laid over it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Literal

from msgspec import Struct

Origin = Literal["table", "user"]

PER_TOKEN = ("input", "output", "cache_read", "cache_write_5m", "cache_write_1h")
"""Everything that has a price per token, in the order in which it is told."""


class PerMillion(Struct, frozen=True, kw_only=True):
    """Dollars per million tokens, as decimal strings; None where there is no such price."""

    input: str
    output: str
    cache_read: str | None = None
    cache_write_5m: str | None = None
    cache_write_1h: str | None = None


class LongContext(PerMillion, frozen=True, kw_only=True):
    """The prices of a whole request whose prompt is larger."""

    above_prompt_tokens: int


class Row(PerMillion, frozen=True, kw_only=True):
    """One model's prices from a day on; None is since ever."""

    from_date: date | None = None
    long_context: LongContext | None = None


class Premium(Struct, frozen=True, kw_only=True):
    """What a place multiplies the price by, and for which models."""

    factors: dict[str, str]
    applies_to: tuple[str, ...]


class PriceFile(Struct, frozen=True, kw_only=True):
    """What one file says. Ids are in lower case, the rows of a model in the order of their days."""

    as_of: date | None
    models: dict[str, tuple[Row, ...]]
    aliases: dict[str, str]
    """Other names, with the model each one means."""
    fast_mode: dict[str, str]
    inference_geo: Premium
    region_prefix: Premium
    service_tier: dict[str, str]
    web_search: str | None
    """Dollars for one search."""


class Table(Struct, frozen=True, kw_only=True):
    """Both files as one. `by_user` says which parts are the user's, as `part.name`."""

    as_of: date
    user_as_of: date | None
    models: dict[str, tuple[Row, ...]]
    names: dict[str, str]
    """Every id and alias, with the model it means."""
    fast_mode: dict[str, str]
    inference_geo: Premium
    region_prefix: Premium
    service_tier: dict[str, str]
    web_search: str
    by_user: tuple[str, ...]


def lay_over(packaged: PriceFile, user: PriceFile | None) -> Table:
    """The packaged file with the user's over it, model by model and factor by factor.

    The aliases of a packaged model stay when its prices are replaced: they say what is meant, not what it costs.
    """
    if packaged.as_of is None or packaged.web_search is None:
        raise ValueError("the packaged prices lack their date or the price of a search")
    own = user or _EMPTY
    names = {name: name for name in packaged.models} | packaged.aliases
    names |= {name: name for name in own.models} | own.aliases
    return Table(
        as_of=packaged.as_of,
        user_as_of=own.as_of,
        models=packaged.models | own.models,
        names=names,
        fast_mode=packaged.fast_mode | own.fast_mode,
        inference_geo=_both(packaged.inference_geo, own.inference_geo),
        region_prefix=_both(packaged.region_prefix, own.region_prefix),
        service_tier=packaged.service_tier | own.service_tier,
        web_search=own.web_search or packaged.web_search,
        by_user=tuple(_parts(own)),
    )


_NOWHERE = Premium(factors={}, applies_to=())
_EMPTY = PriceFile(
    as_of=None,
    models={},
    aliases={},
    fast_mode={},
    inference_geo=_NOWHERE,
    region_prefix=_NOWHERE,
    service_tier={},
    web_search=None,
)


def _both(packaged: Premium, own: Premium) -> Premium:
    models = dict.fromkeys((*packaged.applies_to, *own.applies_to))
    return Premium(factors=packaged.factors | own.factors, applies_to=tuple(models))


def _parts(own: PriceFile) -> list[str]:
    named: dict[str, Mapping[str, object]] = {
        "models": own.models,
        "aliases": own.aliases,
        "fast_mode": own.fast_mode,
        "inference_geo": own.inference_geo.factors,
        "inference_geo.applies_to": dict.fromkeys(own.inference_geo.applies_to),
        "region_prefix": own.region_prefix.factors,
        "region_prefix.applies_to": dict.fromkeys(own.region_prefix.applies_to),
        "service_tier": own.service_tier,
    }
    parts = [f"{part}.{name}" for part, values in named.items() for name in values]
    return sorted([*parts, "web_search"] if own.web_search is not None else parts)
