"""What an API response is, which of its copies counts, and what it cost, in exact nano-dollars.

From a line to a report it is one type (`response`); copies are settled in one function (`settle.settle`); prices are a
dated table with the user's own over it. Nothing here knows a session, a database or a clock.

Names are fetched when first used: whether prices have changed can be told without reading them.
"""

from reread.lazy import fetcher

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .cost import SERVICE_TIER_UNPRICED, Component, Derivation, Factor, Rated
    from .price_table import LongContext, Model, Origin, PerMillion, Row
    from .prices import ModelPrices, Prices, load_prices, packaged_prices
    from .report import Tokens, total
    from .response import Doubt, Response

_HOME = {
    "Component": ".cost",
    "Derivation": ".cost",
    "Doubt": ".response",
    "Factor": ".cost",
    "LongContext": ".price_table",
    "Model": ".price_table",
    "ModelPrices": ".prices",
    "Origin": ".price_table",
    "PerMillion": ".price_table",
    "Prices": ".prices",
    "Rated": ".cost",
    "Response": ".response",
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
    "Doubt",
    "Factor",
    "LongContext",
    "Model",
    "ModelPrices",
    "Origin",
    "PerMillion",
    "Prices",
    "Rated",
    "Response",
    "Row",
    "Tokens",
    "load_prices",
    "packaged_prices",
    "total",
]

__getattr__ = fetcher(__name__, _HOME)
