"""Files that a command writes for a person: never below a folder of Claude Code, and whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from reread.errors import BadInput, printable

from .session_source import is_protected

TYPE_CHECKING = False
if TYPE_CHECKING:
    from reread.config import Config


def refuse_sources(path: Path, config: Config) -> None:
    """Raises `BadInput` where nothing may be written."""
    for source in config.sources:
        if is_protected(path, source):
            raise BadInput(f"{printable(str(path))} lies below the source {source}, where reread writes nothing")


def write_whole(path: Path, content: bytes) -> None:
    """Beside its place first, then moved there: a file that was there stays until the new one is whole."""
    with made_whole(path) as unfinished:
        unfinished.write_bytes(content)


@contextmanager
def made_whole(path: Path) -> Iterator[Path]:
    """A temporary file that becomes the file when all went well; until then the earlier file stays as it is."""
    place = path.resolve()  # what a link points to is replaced, not the link
    unfinished = place.with_name(f".{place.name}.{os.getpid()}.part")
    try:
        try:
            yield unfinished
            if unfinished.exists():
                unfinished.replace(place)
        finally:
            unfinished.unlink(missing_ok=True)
    except OSError as error:
        raise BadInput(f"{printable(str(path))} cannot be written: {error.strerror}") from error
