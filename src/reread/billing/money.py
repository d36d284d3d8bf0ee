"""Converts stored money to dollars, and shows whether prices may have changed, for commands that read no prices."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from decimal import Decimal
    from pathlib import Path


def in_dollars(nanodollars: int | None) -> Decimal | None:
    """Nano-dollars as dollars; None if there is no price."""
    from decimal import Decimal  # a sync that finds nothing new should not import it

    return None if nanodollars is None else Decimal(nanodollars).scaleb(-9)


def stamp(price_file: Path | None) -> str:
    """Size and modification time of the packaged table and of the user's file; differs when prices may have changed."""
    packaged = os.path.join(os.path.dirname(__file__), "prices.json")  # noqa: PTH118, PTH120  pathlib takes longer
    return f"{_stamp_of(packaged)} {_stamp_of(price_file) if price_file is not None else ''}".strip()


def _stamp_of(path: str | Path) -> str:
    try:
        status = os.stat(path)  # noqa: PTH116
    except OSError:
        return "unreadable"
    return f"{status.st_size}:{status.st_mtime_ns}"
