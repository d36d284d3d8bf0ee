"""Finds the backups that the archive does not have yet: the client's copies of files it was about to change.

They are looked for after the sessions of a walk are written, because only backups of known sessions are kept. A folder
that has not changed since the last walk is not even listed.
"""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from reread.errors import RefusedBackup, SourceError
from reread.home import changed_at
from reread.index import read
from reread.index.backup_files import history_folders, sessions_with_backups
from reread.index.rows import FileKeys
from reread.index.source_state import seen
from reread.sources import SourceFile
from reread.sources.find import FOLDER, config_folders, list_backups

from .jobs import FileJob, SessionJob, file_job
from .survey import Survey

BYTES_PER_JOB = 8_000_000
"""The most bytes that a worker holds at a time, unless a single file is larger."""


class BackupSurvey:
    """One look at the backups that belong to the folders of a walk, compared with what the archive knows of them."""

    def __init__(self, connection: sqlite3.Connection, machine: str, places: Sequence[Path], found: Survey) -> None:
        self.problems: list[SourceError] = []
        self.refused: list[SourceError] = []
        """Reported only when their folder changed: looking at them again would not help."""
        self.folders: dict[Path, int] = {}
        """Folders with the times of their last changes, for the next glance and the next survey."""
        self.unchanged = 0
        self.jobs: list[SessionJob] = []
        self._connection = connection
        self._machine = machine
        self._found = found
        self._tops = [config / FOLDER for config in config_folders(map(str, found.walk.folders))]
        # Most people have no backups, and then the folders in which each session's would be are not needed.
        is_any = any(map(os.path.lexists, self._tops)) or bool(sessions_with_backups(connection))
        self._owners = history_folders(connection, machine) if is_any else {}
        self._as_before: set[Path] = set()
        """Folders that did not change, or cannot be listed."""
        self._before: dict[str, int] = {}
        self._growing: set[Path] = set()
        for path, size, time in seen(connection, machine):
            if size < 0:
                self._before[path] = time
            elif FOLDER in path:  # a backup that may have been half written is remembered itself
                self._growing.add(Path(path).parent)
        for top in sorted(self._tops):
            source = _source_of(top.parent, places)
            for folder in self._changed_folders(top):
                self._look(folder, source)
        self.vanished = list(self._vanished())

    def _changed_folders(self, top: Path) -> Iterator[Path]:
        """Changed folders of sessions that the archive knows; those of other sessions are not remembered."""
        try:
            self.folders[top] = changed_at(top.stat())
            with os.scandir(top) as entries:
                found = sorted(Path(entry.path) for entry in entries)
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            self.folders.pop(top, None)
            self._tops.remove(top)
            self.problems.append(SourceError(top, f"cannot be read ({error.strerror or error})"))
            return
        for folder in found:
            if folder not in self._owners or (time := self._time_of(folder)) is None:
                continue
            self.folders[folder] = time
            if self._before.get(str(folder)) == time and folder not in self._growing:
                self._as_before.add(folder)
            else:
                yield folder

    def _time_of(self, folder: Path) -> int | None:
        try:
            status = folder.stat()
        except FileNotFoundError:  # cleaned up meanwhile, or a link that leads nowhere
            return None
        except OSError as error:
            self._as_before.add(folder)
            self.problems.append(SourceError(folder, f"cannot be read ({error.strerror or error})"))
            return None
        return changed_at(status) if stat.S_ISDIR(status.st_mode) else None

    def _look(self, folder: Path, source: Path) -> None:
        session = self._owners[folder]
        problems: list[SourceError] = []
        try:
            files = list_backups(folder, problems)
        except SourceError as problem:
            self._as_before.add(folder)
            self.problems.append(problem)
            return
        self.refused += [problem for problem in problems if isinstance(problem, RefusedBackup)]
        self.problems += [problem for problem in problems if not isinstance(problem, RefusedBackup)]
        changed = self._changed(files, session, source)
        self.jobs += [
            SessionJob(files=None, changed=tuple(some), backup_of=session) for some in _portions(changed, BYTES_PER_JOB)
        ]

    def _changed(self, files: Iterable[SourceFile], session: int, source: Path) -> list[FileJob]:
        keys = FileKeys(self._machine, read.backups_of(self._connection, session))
        found = []
        for file in files:
            try:
                job = file_job(keys, source, file, self._found.still_holds)
            except SourceError as problem:
                self.problems.append(problem)
                continue
            if job is None:
                self.unchanged += 1
            elif not self._found.forgotten.keys() & keys.ever_of(file.location):
                found.append(job)
        return found

    def _vanished(self) -> Iterator[str]:
        """Keys of backups that no longer exist, in folders that changed or vanished with their source."""
        folders = {session: folder for folder, session in self._owners.items()}
        for session in sessions_with_backups(self._connection) & folders.keys():
            folder = folders[session]
            if folder not in self._as_before and self._is_in_reach(folder):
                for row in read.backups_of(self._connection, session):
                    if row.present and not os.path.lexists(row.path):
                        yield row.key

    def _is_in_reach(self, folder: Path) -> bool:
        return folder.parent in self._tops or any(parent in self._found.walk.missing for parent in folder.parents)


def _source_of(config: Path, places: Sequence[Path]) -> Path:
    """The source in which a config directory was found; the source may be a part of it, such as `projects`."""
    found = (place for place in places if config.is_relative_to(place.absolute()) or place.is_relative_to(config))
    return next(found, config)


def _portions(jobs: Iterable[FileJob], most: int) -> Iterator[list[FileJob]]:
    portion: list[FileJob] = []
    size = 0
    for job in jobs:
        if portion and size + job.file.size > most:
            yield portion
            portion, size = [], 0
        portion.append(job)
        size += job.file.size
    if portion:
        yield portion
