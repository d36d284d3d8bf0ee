"""How the cost of one request comes about, as values that a person can be shown."""

from __future__ import annotations

from fractions import Fraction

from msgspec import Struct

from .table import Origin

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
