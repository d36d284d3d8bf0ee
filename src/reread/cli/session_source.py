"""Where a command's sessions come from: a file, named sources read straight, or the archive, synced first.

Sources named without naming an archive are read straight and not imported, unless the archive has them already:
looking into a folder must not silently import it.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from reread import archive as archives
from reread import lazy, views
from reread.config import terminal_width
from reread.errors import BadInput, RereadError, SourceError, printable
from reread.lazy import TYPE_CHECKING
from reread.views.numbers import count

from . import options
from .streams import is_closed_pipe, tell

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TextIO, TypeVar

    from reread import billing, loading
    from reread.archive import Archive, Listed, Progress, StoredSession
    from reread.archive.filters import Filter
    from reread.archive.listing import CleanupDays
    from reread.config import Config
    from reread.features.edits.history import ReadBackup
    from reread.sessions import Session

    Answer = TypeVar("Answer")
else:
    lazy.bind(globals())


@contextmanager
def open_archive(args: options.Options, *, only_reads: bool = False) -> Iterator[Archive]:
    """The archive, after importing what changed in the sources unless `--no-sync`.

    With `only_reads`, a temporary archive of the sources is used if there is none and none can be made.
    """
    with readable_archive(args.config) if only_reads else unsynced_archive(args.config) as archive:
        if not args.no_sync and archive.home == args.config.home:
            freshen(archive)
        refuse_nothing(archive, args.config)
        warn_incomplete(archive)
        yield archive


def refuse_nothing(archive: Archive, config: Config) -> None:
    """Raises BadInput if there are neither sources nor sessions: an empty answer would not help."""
    if not config.sources and archive.inner.holds_nothing:
        raise BadInput("no Claude Code folder found; name one with --source, or try `reread demo`")


@contextmanager
def unsynced_archive(config: Config, *, to_import: bool = False) -> Iterator[archives.Archive]:
    """The archive, without a sync."""
    for source in config.sources:
        if is_protected(config.home, source):
            raise BadInput(f"the archive {config.home} would lie below the source {source}; choose another --home")
    absolute = [source.absolute() for source in config.sources]
    with archives.Archive(config.home, absolute, price_file=config.prices) as archive:
        archive.inner.sources = tuple(_existing(archive, config, to_import=to_import))
        yield archive


@contextmanager
def readable_archive(config: Config) -> Iterator[Archive]:
    """The archive, without a sync; if there is none and none can be made, a temporary one of the sources."""
    with unsynced_archive(config) as archive:
        problem = _why_there_is_none(archive)
        if problem is None:
            yield archive
            return
        sources = archive.sources
    options.refuse_no_sources(config)
    tell(f"{problem}; answered straight from the sources; nothing is kept")
    with temporary_archive(config, sources) as archive:
        yield archive


def can_be_made(archive: Archive) -> bool:
    """Whether there is an archive or an empty one could be made, which this does."""
    return _why_there_is_none(archive) is None


def _why_there_is_none(archive: Archive) -> RereadError | None:
    """Why no archive can be made, as in a read-only container; None if there is one now, which this may make."""
    if archive.exists:
        return None
    try:
        _ = archive.inner.connection
    except RereadError as problem:
        if _is_file(archive.home) or isinstance(problem, BadInput):  # a mistyped path, or a folder of something else
            raise
        return problem
    return None


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # no permission to enter the folder
        return False


@contextmanager
def temporary_archive(config: Config, sources: Sequence[Path]) -> Iterator[archives.Archive]:
    """A temporary archive of some sources."""
    from tempfile import TemporaryDirectory

    for source in sources:
        if not source.exists():
            raise SourceError(source, "no such file or folder")
    with TemporaryDirectory(prefix="reread-") as folder:
        places = [source.absolute() for source in sources]
        with archives.Archive(Path(folder), places, price_file=config.prices) as archive:
            with closing(ProgressBar()) as progress:
                result = archive.sync(progress, with_backups=False, is_quick=True)
            options.warn(result.problems)
            yield archive


@contextmanager
def query_archive(args: options.Options, files: Sequence[Path] = ()) -> Iterator[Archive]:
    """The archive, or a temporary one of the named files or of sources that are read straight."""
    looked_into = files or (args.config.sources if is_straight(args.config) else ())
    with temporary_archive(args.config, looked_into) if looked_into else open_archive(args, only_reads=True) as found:
        yield found


def is_protected(path: Path, source: Path) -> bool:
    """Whether a path is in a folder of Claude Code. Other folders with transcripts may have other content, too."""
    is_claude = source.name in (".claude", "projects") or (source / "projects").is_dir()
    return is_claude and is_below(path, source)


def is_below(path: Path, folder: Path) -> bool:
    return path.absolute().is_relative_to(folder.absolute()) or path.resolve().is_relative_to(folder.resolve())


def _existing(archive: Archive, config: Config, *, to_import: bool) -> Iterator[Path]:
    """Sources to sync. A missing one is reported; it raises SourceError if nothing was ever imported from it and either
    it was named for this command or there is nothing else to import or to answer from."""
    there = [source for source in archive.sources if source.exists()]
    can_do_without = bool(there) or (archive.inner.has_lost_index if to_import else not archive.inner.holds_nothing)
    for source in archive.sources:
        if source in there:
            yield source
        elif archive.inner.keeps(source):
            tell(f"{source} is gone; what was imported from it is kept")
        elif config.is_source_named or not can_do_without:
            raise SourceError(source, "no such file or folder")
        else:
            tell(f"{source}: no such file or folder")


READER_PATIENCE = 1.0
"""Seconds that a reading command waits for another sync to end; then it answers from what is in the archive."""


def freshen(archive: Archive, progress: ProgressBar | None = None) -> None:
    """Imports what changed. If that fails, the archive can still answer: print a warning and go on."""
    progress = progress or ProgressBar()
    try:
        result = archive.sync(progress, patience=READER_PATIENCE, is_glance=True, is_quick=True)
    except SourceError:
        raise
    except RereadError as problem:
        progress.close()
        if not archive.inner.is_open:  # it cannot answer either
            raise
        tell(f"not up to date: {problem}")
    else:
        progress.close()
        options.warn(result.problems)
    finally:
        progress.close()


def warn_incomplete(archive: Archive) -> None:
    """Warns if the index lacks something that the safe has, as while it is being made again."""
    if archive.inner.has_lost_index:
        left = archive.inner.sessions_left
        yet = f" ({count(left, 'session')} not yet)" if left else ""
        tell(f"the index does not have all that is kept{yet}, answers may be incomplete; run `reread sync`")


def is_straight(config: Config) -> bool:
    """Whether the named sources are read without the archive."""
    if not config.is_source_named or config.is_home_named:
        return False
    with archives.Archive(config.home) as archive:
        return not all(archive.inner.keeps(source) for source in config.sources)


def cleanup_days_of(config: Config) -> CleanupDays:
    return archives.listing.cleanup_periods(archives.listing.settings_files(config.sources))


class Opened:
    """A session, and how the archive lists it if it came from there."""

    def __init__(self, session: Session, kept: Listed | None, archive: Archive | None = None) -> None:
        self.session = session
        self.kept = kept
        self.archive = archive
        """The archive that it came from."""

    @property
    def kept_backups(self) -> ReadBackup | None:
        """Reads file backups whose source is gone, from the archive."""
        return self.archive.inner.kept_backups() if self.archive is not None else None


@contextmanager
def open_session(args: options.Options) -> Iterator[Opened]:
    """A session by path, id, beginning of an id, `@last` or `@2`. Tool outputs can be read only while this is open."""
    path = options.as_path(args.session)
    if path is not None:
        session = loading.load(path, billing.load_prices(args.config.prices))
        if session.records and all(record.type is None for record in session.records):
            raise SourceError(path, "is no session: not one of its lines is a record of Claude Code")
        yield Opened(session, None)
        return
    if is_straight(args.config):
        yield Opened(
            options.open_tree(args.config, billing.load_prices(args.config.prices)).session(args.session), None
        )
        return
    with open_archive(args, only_reads=True) as archive:
        found = find(archive, args.session)
        kept = archive.inner.listed(found, cleanup_days_of(args.config)) if args.json else None
        yield Opened(archive.session(found), kept, archive)


def find(archive: Archive, name: str) -> StoredSession:
    """The session that a person named. If copies have the same name, tells the person which one it is."""
    found = archive.find(name)
    copies = archive.copies(found)
    if copies and not name.endswith(f"~{found.sign}"):
        others = ", ".join(f"{each.name} in {each.row.folder}" for each in copies)
        tell(f"this is {found.name} in {found.row.folder}; there is also {others}")
    return found


@contextmanager
def rows_or_sessions(
    args: options.Options,
    filters: Filter,
    of_rows: Callable[[Archive], Answer],
    of_sessions: Callable[[Iterable[Session], Filter], Answer],
) -> Iterator[Answer]:
    """An answer about many sessions, made of the archive's rows; about one, or about sources that are read straight,
    made of sessions, with the archive's moved folders in the filter."""
    if args.session is not None:
        with open_session(args) as opened:
            yield of_sessions([opened.session], knowing(filters, opened.archive))
    elif is_straight(args.config):
        tree = options.open_tree(args.config)
        yield of_sessions(tree.oldest_first(), filters)
        options.warn(tree.problems)
    else:
        with open_archive(args, only_reads=True) as archive:
            yield of_rows(archive)


def without_needless_sources(filters: Filter, archive: Archive) -> Filter:
    """Drops a source filter that excludes nothing: without it, stored sums answer, faster than single responses."""
    if filters.sources and archive.inner.known_sources() <= {str(source) for source in archive.sources}:
        return filters._replace(sources=())
    return filters


def knowing(filters: Filter, archive: Archive | None) -> Filter:
    """The filter with the archive's moved folders, so that a project is found by its other names, too."""
    return filters if archive is None else filters._replace(moves=archive.marks.moves())


QUICK = 0.3
"""Seconds without a progress bar."""
REDRAW = 0.1
PLAIN_EVERY = 5.0
"""Seconds between lines of progress in a log; long enough that a quick sync on a busy machine prints none."""


class ProgressBar:
    """Shows the progress of a long task. Closing it clears its line."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._is_terminal = self._stream.isatty()
        self._began = time.monotonic()
        self._next = self._began + (QUICK if self._is_terminal else PLAIN_EVERY)
        self._is_drawn = False
        self._phase: str | None = None

    def __call__(self, progress: Progress) -> None:
        now = time.monotonic()
        if progress.phase != self._phase:  # a phase starts at zero and has its own rate; the first began with the bar
            self._began = self._began if self._phase is None else now
            self._phase = progress.phase
        if now < self._next:
            return
        self._show(progress, now - self._began)
        self._next = now + (REDRAW if self._is_terminal else PLAIN_EVERY)

    def _show(self, progress: Progress, seconds: float) -> None:
        done, total = progress.bytes_done, progress.bytes_total
        # Sessions that are only re-read have no new bytes.
        again = None if total else f"{progress.sessions_done:,} of {progress.sessions_total:,} sessions"
        phase = f"{progress.phase}: " if progress.phase else ""
        if self._is_terminal:
            room = terminal_width(stream=self._stream) - len(phase)  # of this stream: standard output may be a pipe
            self._stream.write(f"\r{phase}{again or views.text.bar_line(done, total, seconds, room)}\x1b[K")
            self._is_drawn = True
        else:
            taken = phase or "importing "
            self._stream.write(f"reread: {taken}{again or views.text.plain_line(done, total, seconds)}\n")
        self._stream.flush()

    def close(self) -> None:
        if self._is_drawn:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
            self._is_drawn = False


def refuse_sources(path: Path, config: Config) -> None:
    """Raises BadInput for a path below a source."""
    for source in config.sources:
        if is_protected(path, source):
            raise BadInput(f"{printable(str(path))} lies below the source {source}, where reread writes nothing")


def refuse_known_sources(path: Path, archive: Archive, config: Config) -> None:
    """Raises BadInput for a path below a source, even through a link, also of an earlier import."""
    inside = [source for source in config.sources if is_below(path, source)]
    inside += [source for source in map(Path, archive.inner.known_sources()) if is_protected(path, source)]
    if inside:
        raise BadInput(f"{path} leads below the source {inside[0]}, where reread never writes; choose another place")


def write_whole(path: Path, content: bytes) -> None:
    """Writes a temporary file and moves it into place, so that an earlier file stays until the new one is complete. A
    device or a pipe, such as `/dev/null`, is written directly."""
    if not _is_device(path):
        with made_whole(path) as unfinished:
            unfinished.write_bytes(content)
        return
    try:
        path.write_bytes(content)
    except OSError as error:
        if is_closed_pipe(error):
            raise
        raise BadInput(f"{printable(str(path))} cannot be written: {error.strerror}") from error


def _is_device(path: Path) -> bool:
    return path.exists() and not path.is_file() and not path.is_dir()


@contextmanager
def made_whole(path: Path) -> Iterator[Path]:
    """A temporary file, empty and for this user alone, that replaces the file if all goes well; until then the earlier
    file stays, and its rights are kept."""
    if _is_device(path):
        raise BadInput(f"{printable(str(path))} is not a file")
    place = path.resolve()  # replaces what a link points to, not the link
    unfinished = place.with_name(f".{place.name}.{os.getpid()}.part")
    try:
        try:
            unfinished.unlink(missing_ok=True)
            os.close(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            if place.exists():
                unfinished.chmod(place.stat().st_mode & 0o777)
            yield unfinished
            if unfinished.exists():
                unfinished.replace(place)
        finally:
            unfinished.unlink(missing_ok=True)
    except OSError as error:
        raise BadInput(f"{printable(str(path))} cannot be written: {error.strerror}") from error
