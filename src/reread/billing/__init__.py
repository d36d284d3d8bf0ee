"""What an API response is, which of its copies counts, and what it cost, in exact nano-dollars.

`Response` is the one type from line to report; copies are settled in one function (`response.settle`); prices are a
dated table that the user's own prices override. Nothing here knows a session, a database or a clock.

Names are fetched when first used, because checking whether prices changed does not require reading them.
"""

from reread.lazy import fetcher

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .cost import SERVICE_TIER_UNPRICED, Component, Derivation, Factor, Rated
    from .price_table import LongContext, Model, Origin, PerMillion, Row
    from .prices import ModelPrices, Prices, load_prices, packaged_prices
    from .report import Sums, Tokens, total
    from .response import Doubt, Response, settle_all


__getattr__ = fetcher(__name__)
