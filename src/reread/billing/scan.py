"""Reads responses directly from the bytes of a transcript, several times faster than decoding every line.

Works only for unambiguous files. The full reading is needed for a file with ids from gateways, with rows of one
response both with and without a time or both in the main conversation and in a sidechain, or with events of a stream
(which have the final counts). A usage record without token counts is not seen.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import msgspec
from msgspec import Struct, field

from reread import records
from reread.records.content import Usage
from reread.records.conversation import SYNTHETIC_MODEL, Assistant
from reread.records.lenient import FAILURES

from .cost import counts_of
from .lines import LinesOfResponse
from .response import Response, advice, doubt, is_unique

_MARK = b'put_tokens"'
"""The common end of the names of input, output and cached tokens; a longer mark is found faster."""
_USUAL_TIME = len("2026-01-05T09:00:00.000Z")


class ScannedMessage(Struct, gc=False):
    id: str | None = None
    model: str | None = None
    usage: Usage | None = None
    stop_reason: str | None = None


class ScannedLine(Struct, gc=False):
    """What money depends on; a subclass may decode more of a line."""

    type: str | None = None
    message: ScannedMessage | None = None
    timestamp: str | None = None
    is_sidechain: bool | None = field(default=None, name="isSidechain")
    version: str | None = None


_decode = msgspec.json.Decoder(ScannedLine).decode


class ScannedRows(LinesOfResponse["ScannedLine | Assistant"], kw_only=True):
    """The rows of one response so far."""

    lines: list[ScannedLine | Assistant]
    start: int
    """Where the line of the first row starts."""
    time: str | None
    """The earliest time, in the client's own format; None if no row has one."""
    is_sidechain: bool


def scan(content: bytes, file: str, head: str = "") -> list[Response] | None:
    """The responses of a file, whose key is `file` and whose beginning has the digest `head`; None if the full reading
    is needed."""
    found = scanned(content, file, head)
    return None if found is None else [response for _, response in found]


def scanned(
    content: bytes, file: str, head: str = "", decode: Callable[[bytes], ScannedLine] = _decode
) -> list[tuple[ScannedRows, Response]] | None:
    """Each response with its rows, then with each advisor it asked, as `sessions.responses_in` gives them."""
    found: dict[str, ScannedRows] = {}
    for start, end in reversed(_marked(content)):
        line = content[start:end]
        try:
            row = decode(line)
        except FAILURES:
            if not all(row.timestamp is not None and _take(found, row, start) for row in _salvaged(line)):
                return None
        else:
            if row.type == "stream_event" or (row.type == "assistant" and not _take(found, row, start)):
                return None
    try:
        return _responses(found, _Clock(content), file, head)
    except FAILURES:
        return None


def _marked(content: bytes) -> list[tuple[int, int]]:
    """Where the lines with a mark begin and end, the last line first: usage is near the end of its line, so searching
    backwards takes a fifth less time."""
    found = []
    find, rfind = content.find, content.rfind
    position = rfind(_MARK)
    while position >= 0:
        start, end = rfind(b"\n", 0, position) + 1, find(b"\n", position)
        found.append((start, end if end >= 0 else len(content)))
        position = rfind(_MARK, 0, start)
    return found


def _salvaged(line: bytes) -> list[Assistant]:
    """The assistant records that the full decoder finds in a line that is broken or holds several records."""
    return [record for record in records.decode_all(line) if isinstance(record, Assistant)]


def _take(found: dict[str, ScannedRows], row: ScannedLine | Assistant, start: int) -> bool:
    """Adds a row to its response. False if the row is ambiguous."""
    message = row.message
    if message is None or (usage := message.usage) is None or message.model == SYNTHETIC_MODEL:
        return True
    name, time, is_sidechain = message.id, row.timestamp, row.is_sidechain is True
    if name is None or (time is not None and (type(time) is not str or len(time) != _USUAL_TIME or time[-1] != "Z")):
        return False
    known = found.get(name)
    if known is None:
        if not is_unique(name):
            return False
        known = found[name] = ScannedRows(line=row, lines=[], start=start, time=time, is_sidechain=is_sidechain)
    elif known.is_sidechain is not is_sidechain:
        return False
    elif time is None or known.time is None:
        if time is not known.time:
            return False
    elif time < known.time:
        known.time = time
    known.lines.append(row)
    known.add(row, usage, message.stop_reason, is_sidechain=is_sidechain)
    return True


class _Clock:
    """Gives rows without a time that of the last line before them that has one; must be asked in the order of the
    file."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._seen = 0
        self._time: str | None = None

    def before(self, place: int) -> str | None:
        """The time of the last line before `place` that has one. Raises one of FAILURES if a line is ambiguous."""
        end = place
        while end > self._seen:
            start = self._content.rfind(b"\n", 0, end - 1) + 1
            time = _decode(self._content[start:end]).timestamp
            if time is not None:
                if len(time) != _USUAL_TIME or time[-1] != "Z":
                    raise ValueError(time)
                self._time = time
                break
            end = start
        self._seen = place
        return self._time


def _responses(
    found: dict[str, ScannedRows], clock: _Clock, file: str, head: str
) -> list[tuple[ScannedRows, Response]]:
    """Raises one of FAILURES if a time is ambiguous."""
    times = [_milliseconds(each.time or clock.before(each.start)) for each in found.values()]
    known = [time for time in times if time is not None]
    began, ended = min(known, default=None), max(known, default=None)
    made: list[tuple[ScannedRows, Response]] = []
    for (key, each), time in zip(found.items(), times, strict=True):
        usage = each.usage
        model = each.line.message.model if each.line.message is not None else None
        unsure = 0 if each.stop_reason is not None else doubt(None, each.line.version, each.output)
        about: tuple[Any, ...] = (key, file, head, began, ended, time, each.is_sidechain, model, unsure, each.rows)
        response = Response(*counts_of(usage, each.web_searches), *about)
        made.append((each, response))
        if usage.iterations:
            made.extend((each, part) for part in advice(response, usage))
    return made


def _milliseconds(time: str | None) -> int | None:
    return None if time is None else int(datetime.fromisoformat(time).timestamp() * 1000)
