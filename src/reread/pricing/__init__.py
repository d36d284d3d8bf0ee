"""What a request cost: a dated price table and exact arithmetic in nano-dollars."""

from .cost import Rated
from .prices import Prices, packaged_prices

__all__ = ["Prices", "Rated", "packaged_prices"]
