"""Where this machine last pushed to and pulled from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from reread.home import make_home, write_durably

_TARGET = "exchange.json"


def _remembered(home: Path) -> dict[str, str]:
    try:
        document: Any = json.loads((home / _TARGET).read_bytes())
        known = {name: value for name, value in document.items() if isinstance(value, str)}
    except (OSError, ValueError, AttributeError, RecursionError):
        return {}
    names = known.pop("names", None)  # the older format, which knew only one store
    return {_names(known["store"]): names, **known} if names is not None and "store" in known else known


def _remember(home: Path, known: dict[str, str]) -> None:
    if _remembered(home) != known:
        write_durably(home / _TARGET, json.dumps(known))


def last_folder(home: Path) -> Path | None:
    """The folder that was last pushed to or pulled from."""
    folder = _remembered(home).get("folder")
    return None if folder is None else Path(folder)


def remember_folder(home: Path, folder: Path, *, is_pull: bool = False) -> None:
    """Makes this the default folder. After a push, but not after a pull, it also drops the remembered store. A key
    remembered for another folder is always dropped."""
    before = _remembered(home)
    gone: set[str] = set() if is_pull else {"store"}
    if before.get("folder") != str(folder):
        gone.add("key")
    _remember(home, {**{name: value for name, value in before.items() if name not in gone}, "folder": str(folder)})


def last_key(home: Path) -> Path | None:
    """The key that the last folder was encrypted with. It is remembered so that the next push there is not
    unencrypted."""
    known = _remembered(home)
    return Path(known["key"]) if "key" in known else None


def remember_key(home: Path, folder: Path, key: Path | None) -> None:
    """Remembers the key (or that there is none) together with its folder."""
    kept = {name: value for name, value in _remembered(home).items() if name != "key"}
    _remember(home, {**kept, "folder": str(folder), **({"key": str(key)} if key is not None else {})})


def last_store(home: Path) -> str | None:
    """The address of the team's store that was last pushed to; None if a folder was pushed to since."""
    return _remembered(home).get("store")


def known_stores(home: Path) -> list[str]:
    """Every team's store that was ever pushed to."""
    return [name.removeprefix(_names("")) for name in _remembered(home) if name.startswith(_names(""))]


def names_for(home: Path, address: str) -> str | None:
    """How names were last sent to a store. It is remembered so that names that were hidden are not sent as they are
    later."""
    return _remembered(home).get(_names(address))


def remember_store(home: Path, address: str, names: str) -> None:
    """`address` must not contain a password, because it is written to a file."""
    _remember(home, {**_remembered(home), "store": address, _names(address): names})


def _names(address: str) -> str:
    return f"names {address}"


def own_store(home: Path) -> str | None:
    """The store that was last made or updated from here. Whoever does that manages it, with the role in this
    address."""
    return _remembered(home).get("own_store")


def remember_own_store(home: Path, address: str) -> None:
    make_home(home)
    _remember(home, {**_remembered(home), "own_store": address})
