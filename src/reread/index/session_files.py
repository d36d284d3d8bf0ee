"""The files of a session out of the safe, whether its source still exists or not."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from reread.loading import INDEX, FileReader, records_of
from reread.records import Record
from reread.safe.safe import Safe
from reread.sessions import completed
from reread.sources import FileKind, SessionFiles, SourceFile, in_order, split

from . import read
from .rows import FileRow
from .safe_reader import SafeReader


class SessionFileReader(SafeReader, FileReader):
    """Reads what the archive has taken, never the sources."""

    def __init__(self, connection: sqlite3.Connection, safe: Safe) -> None:
        super().__init__(connection, safe)
        self._rows: dict[Path, FileRow] = {}
        self._held: dict[Path, bytes] = {}
        self._lost: dict[Path, list[str]] = {}

    def session_files(self, session: int, uuid: str) -> SessionFiles:
        """The files of a session as the reader wants them."""
        rows = read.files_of(self._connection, session)
        self._rows.update({row.path: row for row in rows})
        files = [source_file(row, uuid) for row in rows]

        def only(*kinds: FileKind) -> tuple[SourceFile, ...]:
            return tuple(file for file in files if file.kind in kinds)

        return SessionFiles(
            id=uuid,
            trunk=next(iter(only(FileKind.TRANSCRIPT)), None),
            subagents=only(FileKind.SUBAGENT),
            metas=only(FileKind.META),
            tool_results=only(FileKind.TOOL_RESULT),
            others=only(FileKind.TITLE, FileKind.WORKFLOW, FileKind.JOURNAL),
            captures=in_order(only(FileKind.CAPTURE)),
        )

    def know(self, machine: str) -> None:
        """Makes every file of a machine readable by its path."""
        self._rows.update({row.path: row for row in read.known_files(self._connection, machine).values()})

    def records(self, file: SourceFile) -> Iterator[Record]:
        return self.records_of_row(self._rows[file.path])

    def records_of_row(self, row: FileRow) -> Iterator[Record]:
        if row.kind == FileKind.CAPTURE:
            from reread.live.capture_fold import fold  # with the whole protocol: few files are captures

            told = fold(self._left(row), str(row.path))
            yield from completed(told.records, told.finals)
            return
        for line in split(self._left(row)):
            yield from records_of(line)

    def hold(self, files: Iterable[SourceFile]) -> None:
        """Reads files now whose content may be asked for when the archive is closed."""
        self._held.update({file.path: self.content(file) for file in files})

    def content(self, file: SourceFile) -> bytes:
        held = self._held.get(file.path)
        return held if held is not None else self._left(self._rows[file.path])

    def whole(self, file: SourceFile) -> bytes:
        """Every byte of a file; raises SafeDamaged."""
        return self.bytes_of(self._rows[file.path])

    def index_beside(self, trunk: SourceFile) -> bytes | None:
        place = trunk.path.parent / INDEX
        row = next((each for each in read.files_of_kind(self._connection, FileKind.INDEX) if each.path == place), None)
        return self._left(row) if row is not None else None

    def losses(self, file: SourceFile) -> Sequence[str]:
        return self._lost.get(file.path, ())

    def _left(self, row: FileRow) -> bytes:
        content, lost = self.left_of(row)
        self._lost[row.path] = [str(damage) for damage in lost]
        return content

    def spilled(self, outputs: tuple[SourceFile, ...], name: str) -> str | None:  # type: ignore[override]
        found = next((file for file in outputs if file.path.name == name), None)
        return None if found is None else self.content(found).decode("utf-8", "replace")


def source_file(row: FileRow, uuid: str) -> SourceFile:
    return SourceFile(
        location=row.location,
        kind=FileKind(row.kind),
        session=uuid,
        agent=row.agent,
        workflow=row.workflow,
        size=row.size,
        mtime_ns=row.mtime_ns,
    )
