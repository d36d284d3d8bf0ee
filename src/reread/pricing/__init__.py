"""What a request cost: a dated price table, the user's own prices over it, and exact arithmetic in nano-dollars.

Names are fetched when first used: whether prices have changed can be told without reading them.
"""

from reread.lazy import fetcher

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .cost import Rated
    from .derivation import SERVICE_TIER_UNPRICED, Component, Derivation, Factor
    from .naming import Model
    from .prices import ModelPrices, Prices, load_prices, packaged_prices
    from .table import LongContext, Origin, PerMillion, Row
    from .tokens import Tokens, total

_HOME = {
    "Component": ".derivation",
    "Derivation": ".derivation",
    "Factor": ".derivation",
    "LongContext": ".table",
    "Model": ".naming",
    "ModelPrices": ".prices",
    "Origin": ".table",
    "PerMillion": ".table",
    "Prices": ".prices",
    "Rated": ".cost",
    "Row": ".table",
    "SERVICE_TIER_UNPRICED": ".derivation",
    "Tokens": ".tokens",
    "load_prices": ".prices",
    "packaged_prices": ".prices",
    "total": ".tokens",
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
