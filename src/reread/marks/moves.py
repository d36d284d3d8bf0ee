"""The rules for what a person says about folders: that what happened in one, and below it, belongs to another today.

Lists ask for it, so nothing is imported that takes long, and annotations are not postponed: a named tuple compiles
the text of each.
"""

import re
from typing import NamedTuple

from reread.errors import BadInput, printable

_DRIVE = re.compile(r"[A-Za-z]:")


def below(path: str, folder: str) -> str | None:
    """What follows the folder in a path that is or lies in it, with plain slashes; None for one elsewhere.

    Windows takes either slash, and does not mind case; the folder may be one of another machine.
    """
    plain, above = path.replace("\\", "/"), folder.replace("\\", "/").rstrip("/")
    head, rest = plain[: len(above)], plain[len(above) :].rstrip("/")
    is_same = head == above or (_DRIVE.match(above) is not None and head.lower() == above.lower())
    return rest if is_same and rest[:1] in ("", "/") else None


def _joined(folder: str, rest: str) -> str:
    """A folder with what `below` gave; of a root the slash is part of its name."""
    bare = folder.rstrip("/\\")
    if not rest:
        return folder if not bare or _DRIVE.fullmatch(bare) else bare
    return bare + (rest.replace("/", "\\") if "\\" in folder else rest)


class Moves(NamedTuple):
    """All that was said."""

    pairs: tuple[tuple[str, str], ...] = ()
    """The earlier folder, and today's."""

    def today(self, path: str) -> str:
        """A path as it would be called today. One move may lead to another; each counts once, so none loops."""
        left = sorted(self.pairs, key=lambda pair: -len(pair[0]))  # of folders in each other the inner one
        while step := next((pair for pair in left if below(path, pair[0]) is not None), None):
            path = _joined(step[1], below(path, step[0]) or "")
            left.remove(step)
        return path

    def is_called(self, path: str | None, text: str) -> bool:
        """Whether a text is part of the path as it was, or as it would be called today."""
        return any(text.lower() in name.lower() for name in self._names(path))

    def is_below(self, path: str | None, folder: str) -> bool:
        """Whether the path was in a folder, or would be today; by whole names: `app` is not `app2`."""
        return any(below(name, folder) is not None for name in self._names(path))

    def _names(self, path: str | None) -> list[str]:
        return [path, self.today(path)] if path and self.pairs else [path or ""]

    def check(self, old: str, new: str) -> None:
        """Raises BadInput where a further move would lead back to where it began."""
        if below(new, old) is not None:
            raise BadInput(f"{printable(new)} is {printable(old)} or lies in it, so it cannot be what that is today")
        today = Moves(tuple(pair for pair in self.pairs if pair[0] != old)).today(new)
        if below(today, old) is not None:
            said = "`reread projects unmove` takes that back"
            raise BadInput(f"{printable(new)} is {printable(today)} today, as was said before; {said}")


NO_MOVES = Moves()
