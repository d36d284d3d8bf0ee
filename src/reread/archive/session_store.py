"""A session store for the official SDK (`claude-agent-sdk`), so that an application writes straight into an archive.

The SDK calls it while the client runs; nothing of the SDK is imported here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from reread.errors import SafeBusy
from reread.foreign_files import path_below
from reread.home import make_private
from reread.records import parse_or_none

from .archive import Archive

_LINES = ".jsonl"
_PATIENCE = 1.0
"""Seconds that an import waits for another one; the lines are on disk, and the next import takes them."""


class SessionStore:
    """Keeps what the SDK mirrors: `ClaudeAgentOptions(session_store=reread.SessionStore(folder, home))`.

    Lines are appended to a transcript tree in `folder`, as the client writes its own, and imported into the archive in
    `home`. It deletes nothing: `archive.safe.forget` and the owner of the folder do.
    """

    def __init__(self, folder: str | Path, home: str | Path) -> None:
        self._folder, self._home = Path(folder), Path(home)
        self._known: dict[Path, set[str]] = {}
        """Uuids that a file has: the SDK sends a batch again when it is not sure."""
        self._turn = asyncio.Lock()

    async def append(self, key: Mapping[str, str], entries: Sequence[Mapping[str, Any]]) -> None:
        """Returns when the lines are on disk and, unless another process imports just then, in the archive."""
        async with self._turn:
            await asyncio.to_thread(self._append, self._path(key), entries)

    async def load(self, key: Mapping[str, str]) -> list[Any] | None:
        return await asyncio.to_thread(_entries, self._path(key))

    async def list_sessions(self, project_key: str) -> list[dict[str, Any]]:
        paths = self._path({"project_key": project_key, "session_id": "any"}).parent.glob(f"*{_LINES}")
        return [{"session_id": path.stem, "mtime": path.stat().st_mtime_ns // 10**6} for path in paths]

    async def list_subkeys(self, key: Mapping[str, str]) -> list[str]:
        folder = self._path({**key, "subpath": "any"}).parent
        found = (path.relative_to(folder).with_suffix("").as_posix() for path in folder.rglob(f"*{_LINES}"))
        return sorted(found)

    def _path(self, key: Mapping[str, str]) -> Path:
        """Raises BadInput for a key that leads out of the folder."""
        parts = ("projects", *(key[name] for name in ("project_key", "session_id", "subpath") if name in key))
        return path_below(self._folder, f"{'/'.join(parts)}{_LINES}")

    def _append(self, path: Path, entries: Sequence[Mapping[str, Any]]) -> None:
        known = self._known.setdefault(path, {*filter(None, map(_uuid, _entries(path) or ()))})
        new = [each for each in entries if _uuid(each) not in known]
        if new:
            make_private(path.parent)
            with path.open("ab+") as file:
                file.seek(max(0, file.tell() - 1))
                is_torn = file.read(1) not in (b"", b"\n")
                file.write(b"\n" * is_torn + b"".join(msgspec.json.encode(each) + b"\n" for each in new))
            known.update(filter(None, map(_uuid, new)))
            self._import()

    def _import(self) -> None:
        with Archive(self._home, [self._folder]) as archive:
            try:
                archive.sync(patience=_PATIENCE, is_quick=True)
            except SafeBusy:
                return


def _uuid(entry: Mapping[str, Any]) -> str:
    return str(entry.get("uuid") or "")


def _entries(path: Path) -> list[Any] | None:
    """The lines of a file; one that a power cut left unfinished is no entry."""
    try:
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        return None
    return [entry for entry in map(parse_or_none, lines) if isinstance(entry, dict)]
