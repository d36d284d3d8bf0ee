"""Names of files that mean the same in every database."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from .rows import FileRow


def file_key(machine: str, path: str) -> str:
    """The same on every machine that ever holds the row."""
    from hashlib import sha256  # costs 2 ms, which a status line has no use for

    return sha256(f"{machine}\0{path}".encode("utf-8", "surrogateescape")).hexdigest()[:32]


def session_mark(uuid: str) -> str:
    """What stands for a session among the keys of what was forgotten: wherever it is met, it is known by its id."""
    return file_key("session", uuid)


class FileKeys:
    """The keys of a machine's files, by path.

    A file keeps the key it was first given, whatever the machine was called then and wherever the file lay: pieces in
    the safe carry it. Only a new file is named after the machine and its path.
    """

    def __init__(self, machine: str, names: Sequence[str], rows: Iterable[FileRow]) -> None:
        self._machine = machine
        self._names = (machine, *names)
        self._keys: dict[Path, str] = {}
        self._taken: set[str] = set()
        for row in sorted(rows, key=lambda row: row.id):
            self.learn(row)

    def learn(self, row: FileRow) -> None:
        self._keys[row.path] = row.key
        self._taken.add(row.key)

    def of(self, path: Path) -> str:
        key = self._keys.get(path)
        if key is None:
            key = file_key(self._machine, str(path))
            while key in self._taken:  # of a file that lies elsewhere by now
                key = file_key(key, str(path))
        return key

    def knows(self, path: Path) -> bool:
        return path in self._keys

    def ever_of(self, path: Path) -> set[str]:
        """Also those that it had, or would have had, under earlier names of the machine."""
        return {self.of(path), *(file_key(name, str(path)) for name in self._names)}
