"""The copies the client makes of files before it changes them: `file-history/<session>/<name>` beside `projects`.

Nearly every one is written once and never again. A fork or a resume under another id links them into its own folder.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from reread.errors import RefusedBackup, SourceError

from .find import FileKind, SourceFile
from .lines import source_error

__all__ = ["FOLDER", "LARGEST", "backup_reader", "config_folders", "history_of", "list_backups"]

FOLDER = "file-history"
LARGEST = 128 << 20
"""A larger backup is not kept: it would have to be held in memory, and is not text that anybody edits."""
_NAME = re.compile(r"[0-9A-Za-z]+@v\d+")


def history_of(project: Path) -> Path | None:
    """Where the folders of backups lie for sessions in a folder of `projects`; None for any other folder."""
    return project.parent.parent / FOLDER if project.parent.name == "projects" else None


def config_folders(walked: Iterable[Path]) -> set[Path]:
    """The config directories that some walked folders are, or are part of."""
    found = set()
    for folder in walked:
        if folder.name == "projects":
            found.add(folder.parent)
        elif folder.parent.name == "projects":
            found.add(folder.parent.parent)
    return found


def list_backups(folder: Path, problems: list[SourceError]) -> list[SourceFile]:
    """The backups of one session by name; what else lies there, or cannot be read, goes to `problems`.

    Raises SourceError when it is the folder itself.
    """
    try:
        with os.scandir(folder) as entries:
            found = sorted(entries, key=lambda entry: entry.name)
    except OSError as error:
        raise source_error(folder, error) from error
    files = []
    for entry in found:
        if not entry.name.startswith("."):  # what a file manager leaves
            try:
                files.append(_backup(entry))
            except FileNotFoundError:  # cleaned up meanwhile
                continue
            except OSError as error:
                problems.append(source_error(Path(entry.path), error))
            except SourceError as error:
                problems.append(error)
    return files


def _backup(entry: os.DirEntry[str]) -> SourceFile:
    path = Path(entry.path)
    if not _NAME.fullmatch(entry.name):
        raise RefusedBackup(path, "is not named like a backup of a file, and not kept")
    status = entry.stat(follow_symlinks=False)
    if not stat.S_ISREG(status.st_mode):
        raise RefusedBackup(path, "is not a regular file, and not kept")
    if status.st_size > LARGEST:
        raise RefusedBackup(path, f"is larger than {LARGEST >> 20} MB, and not kept")
    if not os.access(path, os.R_OK):
        raise PermissionError
    # Windows gives the entry of a folder without inode and device, and with a time that may be old.
    status = path.stat() if os.name == "nt" else status
    return SourceFile(str(path), FileKind.BACKUP, path.parent.name, None, None, status.st_size, status.st_mtime_ns)


def backup_reader(
    trunks: Mapping[str, Path], kept: Callable[[str, str], bytes | None] | None = None
) -> Callable[[str, str], bytes | None]:
    """Reads a backup by session and name, given where the transcripts of the sessions lie.

    Where it is gone `kept` is asked, which is the archive's; None where nobody has it.
    """

    def read(session: str, name: str) -> bytes | None:
        # A name comes out of a transcript: it must not lead anywhere else.
        if not _NAME.fullmatch(name):
            return None
        trunk = trunks.get(session)
        if trunk is not None and len(trunk.parents) >= 3:
            try:
                return (trunk.parents[2] / FOLDER / trunk.stem / name).read_bytes()
            except OSError:  # cleaned up, or never made
                pass
        return kept(session, name) if kept is not None else None

    return read
