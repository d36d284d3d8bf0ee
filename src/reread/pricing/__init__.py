"""What a request cost: a dated price table, the user's own prices over it, and exact arithmetic in nano-dollars."""

from .cost import Rated
from .derivation import SERVICE_TIER_UNPRICED, Component, Derivation, Factor
from .naming import Model
from .prices import ModelPrices, Prices, load_prices, packaged_prices
from .table import LongContext, Origin, PerMillion, Row

__all__ = [
    "SERVICE_TIER_UNPRICED",
    "Component",
    "Derivation",
    "Factor",
    "LongContext",
    "Model",
    "ModelPrices",
    "Origin",
    "PerMillion",
    "Prices",
    "Rated",
    "Row",
    "load_prices",
    "packaged_prices",
]
