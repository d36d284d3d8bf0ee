"""What `blame`, `restore`, `diff` and `files` share: an archive to ask, and the file that a name means."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from . import options
from .opening import is_straight, open_archive, passing_archive
from .telling import tell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from reread.archive import Archive
    from reread.config import Config
    from reread.queries.files import FileIndex
    from reread.queries.travel import Traced


@contextmanager
def asked_archive(given: argparse.Namespace, config: Config) -> Iterator[Archive]:
    """The archive; sources that are only looked into go into one that is gone afterwards."""
    if is_straight(config):
        with passing_archive(config, config.sources) as archive:
            yield archive
    else:
        with open_archive(given, config) as archive:
            yield archive


def index_of(archive: Archive) -> FileIndex:
    from reread.queries.files import FileIndex

    return FileIndex(archive.connection, archive.safe)


def trace_file(archive: Archive, given: argparse.Namespace, config: Config) -> Traced:
    """The history of the file that was named, up to `--at`."""
    from reread.queries.filters import parse_time
    from reread.queries.travel import trace

    index = index_of(archive)
    path = meant(given.file, index)
    sessions = (archive.session(name) for name in index.sessions_with(path))
    return trace(
        sessions,
        path,
        given.at,
        lambda text: parse_time(text, config.now, config.timezone, "--at"),
        archive.kept_backups(),
    )


def meant(name: str, index: FileIndex) -> str:
    """The file a name means, as transcripts know it; that it is another path than the name says is told."""
    from reread.analyses.edits.paths import absolute, key_of

    here = str(Path.cwd())
    wanted = str(Path(name).expanduser()) if name.startswith("~") else name
    found = index.meant(wanted, here)
    if key_of(absolute(wanted, here)) != key_of(found):
        tell(f"taken for {found}")
    return found


def add_file(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a path, or enough of its end to tell it from others")


def add_at(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--at", metavar="WHEN", help="the uuid of a line (after it), or a time: 2026-10-02T14:00, 7d")


def tell_gaps(traced: Traced, config: Config) -> None:
    """On standard error: what is shown may not be the whole truth."""
    from reread.render.travel import gap_text, gap_texts

    view = options.make_view(config)
    for text in gap_texts(traced.history.gaps, view):
        tell(text)
    if traced.gap is not None:
        tell(f"at that moment the file may have been another: {gap_text(traced.gap, view)}")
