"""Reads the settings file, and writes it whole or not at all, with the file as it was before beside it."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Any

from reread.errors import BadInput, SourceError, printable

from .entries import Entries, Settings, words_of

__all__ = ["Change", "SettingsFile", "has_program"]

BACKUP = ".reread-backup"
NEW = "{}\n"


class Change:
    """What would be done to the file: from these bytes (None: no file) to those."""

    def __init__(self, before: bytes | None, after: bytes | None, backup: bytes | None) -> None:
        self.before = before
        self.after = after
        """None where the file goes: it was made by us and holds nothing else."""
        self.backup = backup
        """What the backup shall hold; None where none is needed."""

    @property
    def is_none(self) -> bool:
        return self.before == self.after


class SettingsFile:
    """One settings file. A link stays one: what it leads to is written."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.backup = path.with_name(path.name + BACKUP)

    def read(self) -> bytes | None:
        """The bytes; None where there is no file. SourceError where it cannot be read."""
        return _bytes_of(self.path)

    def settings(self, content: bytes | None) -> Settings:
        """What the bytes mean; BadInput where they cannot be understood."""
        return Settings(NEW if content is None else self._text(content, self.path), str(self.path))

    def installing(self, entries: Entries) -> Change:
        before = self.read()
        settings = self.settings(before)
        # With ours in it, the file is no longer what it was before us: an older backup tells more.
        backup = _bytes_of(self.backup) if settings.is_ours_there else before
        return Change(before, settings.with_entries(entries).text.encode(), backup or before)

    def removing(self) -> Change:
        before = self.read()
        if before is None:
            return Change(None, None, None)
        settings = self.settings(before)
        kept = _bytes_of(self.backup)
        earlier = self._settings_before_us(kept)
        cleared = settings.without_entries(earlier)
        if cleared.text == settings.text:
            return Change(before, before, None)
        if earlier is None and not cleared.values:
            return Change(before, None, None)
        after = cleared.text.encode()
        return Change(before, after, None if after == kept else before)

    def write(self, change: Change) -> None:
        """BadInput where the file is not what the change was made for, or cannot be written."""
        target = self.path.resolve()
        try:
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if change.before is not None and not os.access(target, os.W_OK):
                raise PermissionError(13, "it is not writable")
            self._refuse_changed(change)
            mode = stat.S_IMODE(target.stat().st_mode) if change.before is not None else 0o600
            if change.backup is not None:
                _write(self.backup, change.backup, mode, None)
            self._put(change, target, mode)
            if change.backup is None:
                self.backup.unlink(missing_ok=True)
        except OSError as error:
            raise BadInput(f"{printable(str(self.path))} cannot be changed: {error.strerror or error}") from error

    def _put(self, change: Change, target: Path, mode: int) -> None:
        self._refuse_changed(change)
        if change.after is None:
            target.unlink()
        else:
            _write(target, change.after, mode, target.stat() if change.before is not None else None)

    def _refuse_changed(self, change: Change) -> None:
        if self.read() != change.before:
            raise BadInput(f"{printable(str(self.path))} was changed in the meantime; nothing was written, try again")

    def _settings_before_us(self, kept: bytes | None) -> Settings | None:
        """The backup, if it can be understood and holds nothing of ours: it tells what was empty before."""
        if kept is None:
            return None
        try:
            settings = Settings(self._text(kept, self.backup), str(self.path))
        except BadInput:
            return None
        return None if settings.is_ours_there else settings

    @staticmethod
    def _text(content: bytes, path: Path) -> str:
        try:
            return content.decode()
        except UnicodeDecodeError as error:
            raise BadInput(f"{printable(str(path))} is not valid JSON (not UTF-8); nothing was changed") from error


def has_program(hook: dict[str, Any]) -> bool:
    """Whether what our hook runs is still there; one that is looked up in PATH is taken to be."""
    program = words_of(hook)[0]
    return not Path(program).is_absolute() or Path(program).exists()


def _bytes_of(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise SourceError(path, (error.strerror or str(error)).lower()) from error


def _write(path: Path, content: bytes, mode: int, owner: os.stat_result | None) -> None:
    """Under another name first: whoever reads meanwhile sees the old file or the new one."""
    fresh = path.with_name(f"{path.name}.{os.getpid()}.new")
    number = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
    try:
        with open(number, "wb") as file:  # noqa: PTH123  a descriptor, no path
            file.write(content)
            file.flush()
            os.fsync(number)
        fresh.chmod(mode)
        if owner is not None and hasattr(os, "chown") and owner.st_uid != fresh.stat().st_uid:
            os.chown(fresh, owner.st_uid, owner.st_gid)
        fresh.replace(path)
    finally:
        with suppress(FileNotFoundError):
            fresh.unlink()
