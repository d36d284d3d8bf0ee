"""Makes one `Config` of environment and options; a surface makes it once and passes it down."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from pathlib import Path

from reread import home as homes
from reread import lazy
from reread.errors import BadInput
from reread.lazy import TYPE_CHECKING
from reread.times import zone_called

if TYPE_CHECKING:
    import ctypes
    from typing import Any, TextIO
else:
    lazy.bind(globals())

FALLBACK_WIDTH = 80
_STREAMS = (-11, -12)
"""The numbers of standard output and standard error on Windows."""
_OBEY_SEQUENCES = 4


class Config:
    """The settings and surroundings of a command."""

    def __init__(
        self,
        *,
        sources: tuple[Path, ...],
        is_source_named: bool,
        home: Path,
        is_home_named: bool,
        prices: Path | None,
        timezone: tzinfo | None,
        now: datetime,
        width: int,
        colour: bool,
        can_redraw: bool = False,
    ) -> None:
        self.sources = sources
        """Where to look for transcripts."""
        self.is_source_named = is_source_named
        """Whether the sources were given as options; otherwise they are the usual places."""
        self.home = home
        """The archive's folder."""
        self.is_home_named = is_home_named
        self.prices = prices
        """The user's price file, if there is one."""
        self.timezone = timezone
        """None for the machine's own."""
        self.now = now
        self.width = width
        self.colour = colour
        self.can_redraw = can_redraw
        """Whether standard output is a terminal that can move the cursor and erase."""


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
    can_redraw = console_obeys(sys.platform) and sys.stdout.isatty() and environ.get("TERM") != "dumb"
    return Config(
        sources=tuple(places or roots(environ, _user_folder())),
        is_source_named=bool(places),
        home=place,
        is_home_named=bool(home),
        prices=price_file(prices, environ, place),
        timezone=zone_called(timezone),
        now=datetime.now(UTC),
        width=terminal_width(environ),
        colour=_is_coloured(environ, can_redraw=can_redraw),
        can_redraw=can_redraw,
    )


def console_obeys(system: str) -> bool:
    """Whether the console obeys colours and cursor movements. On Windows this first has to be switched on, which fails
    before Windows 10."""
    if system != "win32":
        return True
    console = ctypes.windll.kernel32  # type: ignore[attr-defined]  # only there
    output, _ = [_ask(console, console.GetStdHandle(number)) for number in _STREAMS]
    return output


def _ask(console: Any, stream: int) -> bool:
    mode = ctypes.c_ulong()
    if not console.GetConsoleMode(stream, ctypes.byref(mode)):
        return False
    return bool(console.SetConsoleMode(stream, mode.value | _OBEY_SEQUENCES))


def _is_coloured(environ: Mapping[str, str], *, can_redraw: bool) -> bool:
    """`NO_COLOR` overrides `FORCE_COLOR`, which overrides what standard output is; `FORCE_COLOR=0` means no colour."""
    forced = environ.get("FORCE_COLOR", "")
    if environ.get("NO_COLOR") or forced in ("0", "false"):
        return False
    return bool(forced) or can_redraw


def roots(environ: Mapping[str, str], home: Path) -> list[Path]:
    """The config directories to read: those named in the environment, else the usual ones that exist."""
    named = environ.get("CLAUDE_CONFIG_DIR", "").strip()
    if named:
        return list(dict.fromkeys(_expand(name, home) for name in _separated(named)))
    config = environ.get("XDG_CONFIG_HOME") or home / ".config"
    return [folder for folder in (home / ".claude", Path(config, "claude")) if _is_folder(folder)]


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:  # no permission to enter the home, as under su
        return False


def _separated(names: str) -> list[str]:
    if Path(names).is_dir():
        return [names]  # a folder whose name contains a separator
    parts = re.split(f"[,{re.escape(os.pathsep)}]", names)
    return [part.strip() for part in parts if part.strip()]


def _expand(name: str, home: Path) -> Path:
    if name == "~" or name.startswith(("~/", "~" + os.sep)):
        return home / name[2:]
    return Path(name)


def archive_home(environ: Mapping[str, str], system: str, user: Path) -> Path:
    """`REREAD_HOME`, else the platform's folder for a user's data."""
    return Path(homes.archive_home(environ, system, str(user)))


def price_file(named: str | None, environ: Mapping[str, str], home: Path) -> Path | None:
    """The named file, else `REREAD_PRICES`, else `prices.json` in the archive's folder if it exists."""
    named = named if named is not None else environ.get("REREAD_PRICES", "").strip() or None
    if named is not None:
        return expanded(named)
    usual = home / "prices.json"
    try:
        return usual if usual.exists() else None
    except OSError:  # no permission to enter the folder
        return None


def terminal_width(environ: Mapping[str, str] = os.environ, stream: TextIO | None = None) -> int:
    """The width of the terminal of a stream, by default standard output.

    The same as `shutil` gives; but importing `shutil` takes longer than importing most of our modules.
    """
    columns = environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns) > 0:
        return int(columns)
    try:
        return os.get_terminal_size(stream.fileno() if stream else 1).columns or FALLBACK_WIDTH
    except OSError:  # not a terminal
        return FALLBACK_WIDTH


def _user_folder() -> Path:
    """The person's home; the working directory if it is unknown."""
    try:
        return Path.home()
    except RuntimeError:
        return Path()


def expanded(path: str) -> Path:
    """The path with `~` expanded, if there is such a user."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)


def local_zone(environ: Mapping[str, str] = os.environ, link: str = "/etc/localtime") -> str:
    """The name of the machine's time zone, such as Europe/Berlin; if it has none, the abbreviation, such as CET."""
    now = datetime.now().astimezone()
    short = now.tzname() or str(now.tzinfo)
    given = environ.get("TZ")
    name = given.removeprefix(":") if given is not None else os.path.realpath(link).rpartition("zoneinfo/")[2]
    return name if short != "UTC" and _is_zone(name) else short


def _is_zone(name: str) -> bool:
    try:
        return zone_called(name) is not None
    except BadInput:
        return False
