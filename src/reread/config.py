"""Environment and options -> one frozen `Config`, made once by a surface and passed down."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from pathlib import Path

from msgspec import Struct

from reread import home as homes
from reread.errors import BadInput
from reread.sources import roots

FALLBACK_WIDTH = 80


class Config(Struct, frozen=True, kw_only=True):
    """What a command needs to know about the world around it."""

    sources: tuple[Path, ...]
    """Where transcripts are looked for."""
    is_source_named: bool
    """Whether they were given as options; otherwise they are the usual places."""
    home: Path
    """Where the archive lies."""
    is_home_named: bool
    prices: Path | None
    """The user's price file; None where there is none."""
    timezone: tzinfo | None
    """None is the machine's own."""
    now: datetime
    width: int
    colour: bool


def make_config(
    sources: Sequence[str] | None,
    timezone: str | None,
    home: str | None = None,
    environ: Mapping[str, str] = os.environ,
    *,
    prices: str | None = None,
) -> Config:
    """The configuration of one run of a command."""
    place = expanded(home) if home else archive_home(environ, sys.platform, _user_folder())
    places = [expanded(source) for source in sources or ()]
    is_terminal = sys.stdout.isatty()
    return Config(
        sources=tuple(places or roots(environ, _user_folder())),
        is_source_named=bool(places),
        home=place,
        is_home_named=bool(home),
        prices=price_file(prices, environ, place),
        timezone=_zone(timezone),
        now=datetime.now(UTC),
        width=shutil.get_terminal_size((FALLBACK_WIDTH, 24)).columns,
        colour=is_terminal and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb",
    )


def archive_home(environ: Mapping[str, str], system: str, user: Path) -> Path:
    """`REREAD_HOME`, else the platform's folder for a user's data."""
    return Path(homes.archive_home(environ, system, str(user)))


def price_file(named: str | None, environ: Mapping[str, str], home: Path) -> Path | None:
    """The one that is named, else `REREAD_PRICES`, else `prices.json` in the archive's folder where it exists."""
    named = named if named is not None else environ.get("REREAD_PRICES", "").strip() or None
    if named is not None:
        return expanded(named)
    usual = home / "prices.json"
    try:
        return usual if usual.exists() else None
    except OSError:  # below a folder that may not be entered
        return None


def _user_folder() -> Path:
    """The person's home; where nobody knows it, the working directory."""
    try:
        return Path.home()
    except RuntimeError:
        return Path()


def expanded(path: str) -> Path:
    """With `~` resolved where there is such a user."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)


def _zone(name: str | None) -> tzinfo | None:
    if name is None:
        return None
    from zoneinfo import ZoneInfo  # costs 6 ms to import and is rarely asked for

    try:
        return ZoneInfo(name)
    except (OSError, ValueError, KeyError) as error:
        raise BadInput(f"unknown time zone {name!r}; try one like Europe/Berlin or UTC") from error
