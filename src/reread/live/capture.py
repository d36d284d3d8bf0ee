"""The capture file of a run: every line that crossed the pipe, with its time, before anybody made sense of it.

    2026-11-15T08:46:13.123456Z < {"type":"system",...}      from the client, its bytes untouched after the 30th
    2026-11-15T08:46:13.123456Z > {"type":"user",...}        to the client
    2026-11-15T08:46:13.123456Z ! some text                  a line of its stderr
    2026-11-15T08:46:13.123456Z = {"claude": "...", ...}     ours: how it was started, how it ended

While the run lasts it is `FOLDER/RUN.part` and locked; when it has ended it is `FOLDER/SESSION/RUN.wire`.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import secrets
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from reread.errors import SourceError
from reread.home import make_private, sync_folder
from reread.records import Unknown, decode

from .events import Event, UnknownFrame
from .protocol import Stream

PARSED = 64 << 20
"""A longer line is kept, but nobody tries to understand it."""
NOBODY = "unknown"
"""The folder of runs that never named a session."""
LEFT_ALONE = 24 * 3600.0
"""Where the system knows no locks, a run that wrote nothing for so many seconds is taken for dead."""

_STAMP = 27
_MARKS = frozenset(b"<>!=")
_SAFE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


class WireLine(NamedTuple):
    """One line of a capture file. A line that is not in its format has the mark `?`, and all of it in `raw`."""

    time: datetime | None
    mark: str
    raw: bytes
    """As it crossed the pipe, without its newline."""
    offset: int


class Capture:
    """Writes one run. A disk that fails does not stop the run: `on_problem` hears of it once, and `lost` counts."""

    def __init__(self, folder: Path, on_problem: Callable[[str], None] = lambda _: None) -> None:
        self.folder = folder
        self.problem: str | None = None
        """The first thing that went wrong."""
        self.lost = 0
        """Lines that could not be written."""
        self._on_problem = on_problem
        self._size = 0
        run = f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{secrets.token_hex(4)}"
        self.path = folder / f"{run}.part"
        self._file: io.FileIO | None = None
        with self._reporting_trouble():
            make_private(folder)
            self._file = io.FileIO(os.open(self.path, _NEW, 0o600), "wb")
            _lock(self._file.fileno())

    def received(self, raw: bytes) -> None:
        self._write(b"<", raw)

    def sent(self, raw: bytes) -> None:
        self._write(b">", raw)

    def error(self, raw: bytes) -> None:
        self._write(b"!", raw)

    def note(self, about: Mapping[str, Any]) -> None:
        self._write(b"=", json.dumps(about, default=str).encode())

    def close(self, session: str | None) -> Path:
        """Gives the file its place for good, and says where that is."""
        file, self._file = self._file, None
        if file is None:
            return self.path
        with self._reporting_trouble():
            os.fsync(file.fileno())
        file.close()
        with self._reporting_trouble():
            self.path = _settle(self.path, session)
        return self.path

    def _write(self, mark: bytes, raw: bytes) -> None:
        """At once, so that a kill loses nothing that was made sense of."""
        if self._file is None:
            self.lost += 1
            return
        line = b"%s %s %s\n" % (_now(), mark, raw.removesuffix(b"\n"))
        written = 0
        with self._reporting_trouble():
            while written < len(line):
                written += self._file.write(line[written:])
        if written == len(line):
            self._size += written
            return
        self.lost += 1
        with self._reporting_trouble():  # half a line would spoil the next one
            self._file.truncate(self._size)
            self._file.seek(self._size)

    @contextlib.contextmanager
    def _reporting_trouble(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if self.problem is None:
                self.problem = str(SourceError(self.path, f"cannot be written ({error.strerror or error})"))
                self._on_problem(self.problem)


def read_capture(source: Path | bytes) -> Iterator[WireLine]:
    """The lines of a capture file, also of one that is cut off or damaged."""
    try:
        with io.BytesIO(source) if isinstance(source, bytes) else source.open("rb") as file:
            offset = 0
            for line in file:
                yield _wire_line(line.removesuffix(b"\n"), offset)
                offset += len(line)
    except OSError as error:
        raise SourceError(Path(str(source)), error.strerror or str(error)) from error


def replay(source: Path | bytes, stream: Stream | None = None) -> Iterator[tuple[datetime | None, Event]]:
    """What a run amounted to, each event with its time."""
    stream = stream or Stream()
    last = None
    for line in read_capture(source):
        last = line.time or last
        for event in _replayed(stream, line):
            yield line.time, event
    for event in stream.close():
        yield last, event


def interpreted(stream: Stream, line: bytes) -> list[Event]:
    """What a line from the client amounts to; one of absurd length only that it was there."""
    if len(line) <= PARSED:
        return stream.feed(line)
    reason = f"a line of {len(line):,} bytes is too long to be read"
    record = Unknown(raw=line.removesuffix(b"\n"), reason=reason)
    return [UnknownFrame(session=stream.session, record=record, reason=reason)]


def adopt(folder: Path) -> list[Path]:
    """Gives runs whose process is gone their place for good; says where they are now."""
    return [path for part in sorted(folder.glob("*.part")) if (path := _adopt(part)) is not None]


def session_named_last(path: Path) -> str | None:
    """The session that the last frame of a run belongs to; `/clear` may have changed it."""
    named = (decode(line.raw).session_id for line in read_capture(path) if line.mark == "<" and len(line.raw) <= PARSED)
    last = None
    for session in named:
        last = session or last
    return last


def _adopt(part: Path) -> Path | None:
    try:
        with part.open("r+b") as file:
            about = os.fstat(file.fileno())
            # Empty: just made by somebody who has not come to lock it.
            if not about.st_size or not _is_left(file.fileno(), about.st_mtime):
                return None
            if sys.platform != "win32":  # there an open file keeps its name
                return _settle(part, session_named_last(part))
        return _settle(part, session_named_last(part))
    except (FileNotFoundError, PermissionError):  # another adopted it; or, on Windows, it is still being written
        return None


def _settle(part: Path, session: str | None) -> Path:
    place = part.parent / (session if session and _SAFE_NAME.fullmatch(session) else NOBODY)
    make_private(place)
    settled = part.rename(place / f"{part.stem}.wire")
    sync_folder(place)
    return settled


def _replayed(stream: Stream, line: WireLine) -> list[Event]:
    if line.mark == "<":
        return interpreted(stream, line.raw + b"\n")
    return stream.sent(line.raw) if line.mark == ">" else []


def _wire_line(line: bytes, offset: int) -> WireLine:
    if line[_STAMP : _STAMP + 1] == b" " == line[_STAMP + 2 : _STAMP + 3] and line[_STAMP + 1] in _MARKS:
        with contextlib.suppress(ValueError):
            written = datetime.fromisoformat(line[:_STAMP].decode())
            return WireLine(written, chr(line[_STAMP + 1]), line[_STAMP + 3 :], offset)
    return WireLine(None, "?", line, offset)


def _now() -> bytes:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ").encode()


_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)

if sys.platform == "win32":
    # An open file cannot be renamed there, and that is all a lock would be for.
    def _lock(_fd: int) -> None:
        return

    def _is_left(_fd: int, _written: float) -> bool:
        return True

else:
    import fcntl

    # Unlike a record lock, this one is not lost when the same process looks at the file a second time.
    def _lock(fd: int) -> None:
        with contextlib.suppress(OSError):  # a file system without locks: see LEFT_ALONE
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _is_left(fd: int, written: float) -> bool:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:
            return time.time() - written > LEFT_ALONE
        return True
