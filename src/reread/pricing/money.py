"""Money as it is kept, and as it is told."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from decimal import Decimal


def in_dollars(nanodollars: int | None) -> "Decimal | None":
    """Of whole nano-dollars; None where there is no price."""
    from decimal import Decimal  # not for a sync that only says "nothing new"

    return None if nanodollars is None else Decimal(nanodollars).scaleb(-9)
