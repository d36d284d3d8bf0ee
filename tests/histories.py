"""Config folders with backups of files, as the client leaves them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from reread.archive import Archive
from reread.testing import a_prompt, a_reply, a_session

__all__ = ["ID", "OTHER", "a_config", "a_fork", "an_archive", "backups_in", "folder_of", "restored", "write_backups"]

ID = "0a1b2c3d-1111-4222-8333-444455556666"
OTHER = "99990000-1111-4222-8333-444455556666"
LONG_AGO = 1_700_000_000


def a_config(folder: Path, backups: Mapping[str, bytes], session: str = ID, cwd: str = "/home/ann/app") -> Path:
    """A session and its backups; gives the config directory."""
    config = folder / ".claude"
    a_session(a_prompt(f"find the alpaca of {session}"), a_reply("here"), id=session, cwd=cwd).write(
        config / "projects"
    )
    write_backups(config, backups, session)
    return config


def write_backups(config: Path, backups: Mapping[str, bytes], session: str = ID) -> None:
    folder = folder_of(config, session)
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in backups.items():
        (folder / name).write_bytes(content)
        os.utime(folder / name, (LONG_AGO, LONG_AGO))


def a_fork(config: Path, of: str = ID, to: str = OTHER) -> None:
    """Another session with the same backups, linked as the client does."""
    a_session(a_prompt(f"find the alpaca of {to}"), a_reply("here"), id=to).write(config / "projects")
    folder_of(config, to).mkdir(parents=True)
    for backup in folder_of(config, of).iterdir():
        os.link(backup, folder_of(config, to) / backup.name)


def folder_of(config: Path, session: str = ID) -> Path:
    return config / "file-history" / session


def an_archive(config: Path) -> Archive:
    return Archive(config.parent / "home", [config], machine="desk")


def restored(archive: Archive, to: Path, session: str = ID) -> dict[str, bytes]:
    """The backups among what `archive restore` gives back, by name."""
    archive.safe.restore(session, to)
    return backups_in(to / "file-history" / session)


def backups_in(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()} if folder.is_dir() else {}
