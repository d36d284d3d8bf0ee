"""The rows and bytes of sessions as the archive has them, for a store that is filled from it.

Rows are those of `reread.rows`, read from the index: no transcript is read to learn whether something changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec.structs import replace

from reread.billing.response import Response
from reread.index import custody
from reread.index.ledger import responses_in_session
from reread.index.machines import machines
from reread.index.read import FileFigures as FileFigures
from reread.index.read import figures_by_session, file_by_id, files_of
from reread.index.schema import VERSION
from reread.index.sessions import StoredSession, sessions_by_id
from reread.index.usage_sums import contexts
from reread.keys import file_key
from reread.rows import FileRows, RequestContext, Rows
from reread.rows.groups import grouped
from reread.sources.find import role_of

from .archive import Archive
from .filters import Filter
from .listing import passing_ids


class KeptRows:
    """What an archive has of its sessions."""

    version = VERSION
    """Of the rows: with another, rows of the same session may differ."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._connection = archive.inner.connection
        self._figures = figures_by_session(self._connection)
        self._contexts: dict[int, RequestContext] = {}
        self.labels = {each.id: each.label for each in machines(self._connection)}
        """What a machine is called, by its id."""

    def chosen(self, filters: Filter) -> list[int]:
        """Numbers of the sessions that pass, the one that ended first before the others."""
        return passing_ids(self._connection, filters)[::-1]

    def sessions(self, numbers: Sequence[int]) -> Iterator[StoredSession]:
        return sessions_by_id(self._connection, numbers)

    def figures(self, stored: StoredSession) -> list[FileFigures]:
        """The figures of a session's files, which differ whenever a file has changed."""
        return self._figures.get(stored.id, [])

    def machine_of(self, stored: StoredSession) -> str:
        return next((file.machine for file in self.figures(stored)), self._archive.machine)

    def key_of(self, stored: StoredSession) -> str:
        """The key of a session, the same whenever it is pushed from this machine."""
        return file_key(f"{self.machine_of(stored)}:{stored.row.folder}", stored.row.uuid)

    def rows(self, stored: StoredSession) -> Rows:
        """The session and its files with their responses; a file is named by its key."""
        responses = responses_in_session(self._connection, stored.id)
        by_file = grouped(responses, lambda each: each.file)
        if not {response.context for response in responses} <= self._contexts.keys():
            self._contexts = contexts(self._connection)
        files = (self._file_rows(each, by_file.get(each.key, [])) for each in self.figures(stored))
        return Rows(session=stored.row, files=tuple(files))

    def _file_rows(self, file: FileFigures, responses: Sequence[Response]) -> FileRows:
        numbers: dict[int, int] = {}
        own = [replace(each, context=numbers.setdefault(each.context, len(numbers))) for each in responses]
        return FileRows(
            file=file.key,
            kind=file.kind,
            lines=file.lines,
            malformed=file.malformed,
            contexts=[self._contexts[number] for number in numbers],
            responses=own,
        )

    def content(self, file: FileFigures) -> bytes:
        """All bytes of a file that are kept."""
        return self._archive.inner.reader.bytes_of(file_by_id(self._connection, file.id))

    def role_of(self, file: FileFigures) -> str:
        """A digest of what a file is in its session, the same for its copies."""
        return file_key("role", " ".join(role_of(file.kind, Path(file.path))))

    def contents(self, stored: StoredSession) -> Iterator[tuple[str, dict[str, str | None], bytes]]:
        """The session's own files: the name below its folder, what each is, and all its bytes that are kept."""
        rows = {custody.below(row, stored).as_posix(): row for row in files_of(self._connection, stored.id)}
        for name, row in rows.items():
            about = {"kind": row.kind, "agent": row.agent, "workflow": row.workflow}
            yield name, about, self._archive.inner.reader.bytes_of(row)
