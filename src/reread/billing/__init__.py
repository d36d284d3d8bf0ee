"""What an API response is, which of its copies counts, and what it cost, in exact nano-dollars.

`Response` is the one type from line to report; copies are settled in one function (`response.settle`); prices are a
dated table that the user's own prices override. Nothing here knows a session, a database or a clock.

Names are fetched when first used, because checking whether prices changed does not require reading them.
"""

# ruff: noqa: I001  it would give each `X as X`, which makes X public, an import of its own

from reread.lazy import fetch_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .cost import SERVICE_TIER_UNPRICED as SERVICE_TIER_UNPRICED, Component as Component, Derivation as Derivation
    from .cost import Factor as Factor, Rated as Rated
    from .price_table import LongContext as LongContext, Model as Model, Origin as Origin, PerMillion as PerMillion
    from .price_table import Row as Row
    from .prices import ModelPrices as ModelPrices, Prices as Prices, load_prices as load_prices
    from .prices import packaged_prices as packaged_prices
    from .report import Sums as Sums, Tokens as Tokens, total as total
    from .response import Doubt as Doubt, Response as Response, settle_all as settle_all

fetch_names(__name__)
