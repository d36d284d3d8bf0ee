"""What a request cost: a dated price table, the user's own prices over it, and exact arithmetic in nano-dollars.

Names are fetched when first used: whether prices have changed can be told without reading them.
"""

from reread.lazy import fetcher

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .cost import SERVICE_TIER_UNPRICED, Component, Derivation, Factor, Rated
    from .price_table import LongContext, Model, Origin, PerMillion, Row
    from .prices import ModelPrices, Prices, load_prices, packaged_prices
    from .report import Tokens, total

_HOME = {
    "Component": ".cost",
    "Derivation": ".cost",
    "Factor": ".cost",
    "LongContext": ".price_table",
    "Model": ".price_table",
    "ModelPrices": ".prices",
    "Origin": ".price_table",
    "PerMillion": ".price_table",
    "Prices": ".prices",
    "Rated": ".cost",
    "Row": ".price_table",
    "SERVICE_TIER_UNPRICED": ".cost",
    "Tokens": ".report",
    "load_prices": ".prices",
    "packaged_prices": ".prices",
    "total": ".report",
}

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
    "Tokens",
    "load_prices",
    "packaged_prices",
    "total",
]

__getattr__ = fetcher(__name__, _HOME)
