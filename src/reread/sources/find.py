"""Walks a source and lists the files of Claude Code in it, reading at most their first bytes.

Whatever the source, a file is told by its own name and folders, so a session found through a projects
directory, its folder or a symbolic link is the same session.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from ..errors import SourceError
from .arrays import opens_array
from .files import looks_binary, read_head, source_error
from .places import Kind, Place, place

__all__ = ["SourceFile", "find"]

_SETTINGS = ("settings.json", "settings.local.json")
_CONFIG_FILES = ("history.jsonl", *_SETTINGS)
_CONFIG_FOLDERS = ("projects", "transcripts", "profiles")
# Many a folder has `projects` in it: it is a config directory, and not walked whole, only when the client
# has left something else there too.
_CONFIG_SIGNS = {*_CONFIG_FILES, "todos", "file-history", "plugins", "shell-snapshots", "statsig"}
_SKIPPED = {".git", "node_modules"}


class SourceFile(Struct, frozen=True):
    path: Path
    kind: Kind
    session: str | None
    """The id its place gives it; None for old agent files beside the trunk, which only records can tell."""
    agent: str | None
    workflow: str | None
    size: int
    mtime_ns: int

    @property
    def folder(self) -> Path:
        """The folder the session's trunk lies in, or would."""
        for parent in self.path.parents if self.kind is not Kind.TRANSCRIPT else ():
            if parent.name == self.session:
                return parent.parent
        return self.path.parent


def find(
    source: Path, *, problems: list[SourceError] | None = None, folders: dict[Path, int] | None = None
) -> Iterator[SourceFile]:
    """The files of a config directory, a folder of any kind, or one file, in a stable order.

    Each regular file comes once, however many links lead to it; a folder's own files come before its
    subfolders. What cannot be read is added to `problems` and passed by; `folders` learns the folders walked and
    when each was last changed. Raises SourceError at once when it is the source itself.
    """
    # A link stays in the paths we give, but the names above a `..` would not be those of real folders.
    source = source.resolve() if ".." in source.parts else source.absolute()
    try:
        status = source.stat()
        if stat.S_ISDIR(status.st_mode):
            os.scandir(source).close()
    except (OSError, ValueError) as error:
        raise source_error(source, error) from error
    if not stat.S_ISDIR(status.st_mode):
        return iter([_named(source, status)])
    return _Walk([] if problems is None else problems, {} if folders is None else folders).session_or_folder(source)


def _named(path: Path, status: os.stat_result) -> SourceFile:
    """A file somebody pointed at: a transcript whatever it is called, unless its place says otherwise."""
    if looks_binary(read_head(path)):
        raise SourceError(path, "is a binary file, not a transcript")
    return _source_file(path, place(path) or Place(Kind.TRANSCRIPT, path.stem), status)


def _source_file(path: Path, where: Place, status: os.stat_result) -> SourceFile:
    return SourceFile(path, *where, status.st_size, status.st_mtime_ns)


class _Walk:
    """One walk: what it has met, so that no link leads to it again, and what it could not read."""

    def __init__(self, problems: list[SourceError], folders: dict[Path, int]) -> None:
        self._problems = problems
        self._times = folders
        self._met: set[tuple[int, int] | str] = set()

    def session_or_folder(self, top: Path) -> Iterator[SourceFile]:
        trunk = top.parent / f"{top.name}.jsonl"
        if trunk.is_file():  # the folder of a session: its transcript lies beside it
            yield from self._files([trunk], is_config=False)
        yield from self._folders(top)

    def _folders(self, top: Path) -> Iterator[SourceFile]:
        waiting = [top]
        while waiting:
            folder = waiting.pop()
            entries = self._entries(folder)
            is_config = _is_config(folder, {entry.name for entry in entries})
            if is_config:
                entries = [entry for entry in entries if entry.name in (*_CONFIG_FILES, *_CONFIG_FOLDERS)]
            files = [Path(entry.path) for entry in entries if not _is_folder(entry)]
            yield from self._files(files, is_config=is_config)
            below = [Path(entry.path) for entry in entries if _is_folder(entry) and entry.name not in _SKIPPED]
            waiting.extend(reversed(below))

    def _entries(self, folder: Path) -> list[os.DirEntry[str]]:
        """What a folder holds, by name; links last, so that a file is listed where it really is."""
        try:
            status = folder.stat()
            if not self._is_first_meeting(folder, status):
                return []
            self._times[folder] = status.st_mtime_ns
            with os.scandir(folder) as entries:
                return sorted(entries, key=lambda entry: (entry.is_symlink(), entry.name))
        except OSError as error:
            self._report(folder, error)
            return []

    def _files(self, paths: list[Path], *, is_config: bool) -> Iterator[SourceFile]:
        for path in paths:
            where = Place(Kind.SETTINGS) if is_config and path.name in _SETTINGS else place(path)
            try:
                file = self._file(path, where)
            except OSError as error:
                self._report(path, error)
            except SourceError as error:
                self._problems.append(error)
            else:
                if file:
                    yield file

    def _file(self, path: Path, where: Place | None) -> SourceFile | None:
        if where is None and path.suffix != ".json":
            return None
        status = path.stat()
        if not stat.S_ISREG(status.st_mode) or not self._is_first_meeting(path, status):
            return None
        if where is None:
            return _array_file(path, status)
        if not os.access(path, os.R_OK):
            raise PermissionError
        return _source_file(path, where, status)

    def _is_first_meeting(self, path: Path, status: os.stat_result) -> bool:
        # Some Windows file systems number no files.
        identity = (status.st_dev, status.st_ino) if status.st_ino else os.path.realpath(path)
        is_first = identity not in self._met
        self._met.add(identity)
        return is_first

    def _report(self, path: Path, error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):  # it vanished while we walked, or a link leads nowhere
            self._problems.append(source_error(path, error))


def _array_file(path: Path, status: os.stat_result) -> SourceFile | None:
    if not opens_array(read_head(path)):
        return None
    return _source_file(path, Place(Kind.TRANSCRIPT, path.stem), status)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link to itself: asking for the file reports it
        return False


def _is_config(folder: Path, names: set[str]) -> bool:
    return "projects" in names and (folder.name == ".claude" or not names.isdisjoint(_CONFIG_SIGNS))
