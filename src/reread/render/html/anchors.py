"""Names of places in a page: every message has one, made of its uuid, so that links to it outlast the page."""

from __future__ import annotations

import re
from hashlib import sha256

_USUAL = re.compile(r"[A-Za-z0-9_.@-]{1,80}")


def anchor(uuid: str) -> str:
    """`m-<uuid>`; of a uuid that is none, a digest."""
    if _USUAL.fullmatch(uuid):
        return f"m-{uuid}"
    return f"m-{sha256(uuid.encode('utf-8', 'backslashreplace')).hexdigest()[:16]}"


class Anchors:
    """Gives each name once: several blocks may stand in one line, and a page may hold a name only once."""

    def __init__(self) -> None:
        self._given: set[str] = set()

    def __contains__(self, name: str) -> bool:
        return name in self._given

    def take(self, uuid: str | None, suffix: str = "") -> str:
        """Empty where there is nothing to name it by, or the name is taken."""
        name = anchor(uuid + suffix) if uuid else ""
        if name in self._given:
            return ""
        self._given.add(name)
        return name
