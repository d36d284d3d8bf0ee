"""Turns the capture of a run into what it adds to a session. Pure: bytes in, values out."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple

from msgspec import Raw
from msgspec.structs import force_setattr, replace

from reread.records import (
    ApiMessage,
    Assistant,
    Block,
    Init,
    Record,
    Spoken,
    StreamEvent,
    Text,
    Thinking,
    ToolUse,
    Unknown,
    UnknownBlock,
    User,
    decode,
    decode_all,
    parse_or_none,
)
from reread.records.frames import ControlCancelRequest, ControlRequest, ControlResponse, MessageStart, decode_api_event
from reread.records.json_parts import object_of
from reread.sessions import Captured, Final, MessageTiming, ToolPermission, WithdrawnBlock

from . import events
from .capture import PARSED, WireLine, read_capture
from .events import Event
from .protocol import Stream, settled_permission

_CONTROL = (ControlRequest, ControlResponse, ControlCancelRequest)
"""Frames that steer the conversation and are not part of it."""
_PREFIX = len("2026-11-15T08:46:13.123456Z < ")


def fold(content: bytes, path: str = "") -> Captured:
    """Folds a capture, which may be cut off anywhere, into one value."""
    folded = _Fold(content)
    for number, line in enumerate(read_capture(content), 1):
        folded.add(line, number)
    return folded.captured(path)


def withdrawn_in(lines: bytes) -> tuple[str | None, str]:
    """Uuid and text of a withdrawn block: the last block in the lines of the capture that its record points to."""
    stream = Stream()
    for line in read_capture(lines):
        if line.mark == "<":
            stream.feed(line.raw + b"\n")
    open_blocks = [event for event in stream.close() if isinstance(event, events.Withdrawn)]
    index = _last_index(lines)
    return next(((event.uuid, event.text) for event in open_blocks if event.index == index), (None, ""))


def _last_index(lines: bytes) -> int | None:
    last = lines.rstrip(b"\n").rpartition(b"\n")[2]
    frame = decode(last[_PREFIX:])
    return object_of(frame.event).get("index") if isinstance(frame, StreamEvent) else None


class _Message:
    """A message while it streams."""

    def __init__(self, timing: MessageTiming, offset: int, start: ApiMessage | None) -> None:
        self.timing = timing
        self.start = start
        self.offset = offset
        """Offset of its first line."""
        self.blocks: dict[int, _Shown] = {}


class _Shown(NamedTuple):
    """The part of a block that has streamed so far."""

    began: datetime | None
    end: int | None
    """Offset of the end of the line with its last fragment."""
    before: Record | None
    """The last record before that line."""


class _Fold:
    def __init__(self, content: bytes) -> None:
        self._content = content
        self._stream = Stream()
        self._records: list[Record] = []
        self._sent: set[str] = set()
        self._homeless: list[Record] = []
        """Prompts sent before the client has named its session."""
        self._seen: set[str] = set()
        self._messages: dict[str | None, _Message] = {}
        self._finals: dict[str, Final] = {}
        self._asked: dict[str, str] = {}
        """Call ids, by the id of the permission request."""
        self._permissions: dict[str, ToolPermission] = {}
        self._context_asked: set[str | None] = set()
        self._contexts: list[tuple[datetime | None, Any]] = []
        self._cwd: str | None = None
        self._version: str | None = None
        self._first: datetime | None = None
        self._last: datetime | None = None
        self._lines = self._malformed = 0

    def add(self, line: WireLine, number: int) -> None:
        self._lines += 1
        self._first = self._first or line.time
        self._last = line.time or self._last
        if line.mark == "<" and len(line.raw) <= PARSED:
            for record in decode_all(line.raw, number, line.offset + _PREFIX):
                self._received(record, line)
        elif line.mark == ">":
            self._was_sent(decode_all(line.raw, number, line.offset + _PREFIX)[0], line)
        elif line.mark == "?":
            self._malformed += 1

    def captured(self, path: str) -> Captured:
        for event in self._stream.close():
            self._happened(event, self._last, len(self._content))
        return Captured(
            path=path,
            records=tuple(self._records),
            finals=self._finals,
            permissions=self._permissions,
            timings=tuple(message.timing for name, message in self._messages.items() if name is not None),
            contexts=tuple(self._contexts),
            started=self._first,
            ended=self._last,
            lines=self._lines,
            malformed=self._malformed,
        )

    def _received(self, record: Record, line: WireLine) -> None:
        if type(record) is StreamEvent:  # first: most lines of a capture are one
            self._begin(record, line)
            self._take(record, line)
            return
        if isinstance(record, Unknown) and record.malformed:
            self._malformed += 1
            is_cut = line.offset + _PREFIX + len(line.raw) == len(self._content)
            if is_cut:  # no newline: the process was killed while it wrote
                return
        self._give_session(record)
        self._take(record, line)
        if isinstance(record, Init):
            self._cwd, self._version = record.cwd or self._cwd, record.claude_code_version or self._version
        if isinstance(record, ControlResponse) and self._context_asked:
            self._note_context(record, line)
        if not isinstance(record, _CONTROL) and not self._is_repeated(record):
            self._records.append(self._dated(record, line.time))

    def _give_session(self, record: Record) -> None:
        """Prompts that were sent before the first line of the client belong to the session that it names."""
        if record.session_id:
            for prompt in self._homeless:
                force_setattr(prompt, "session_id", record.session_id)
            self._homeless = []

    def _note_context(self, record: ControlResponse, line: WireLine) -> None:
        answer = object_of(parse_or_none(record.response))
        if answer.get("request_id") in self._context_asked:
            self._contexts.append((line.time, answer.get("response")))

    def _take(self, record: Record, line: WireLine) -> None:
        end = line.offset + _PREFIX + len(line.raw) + 1
        for event in self._stream.take(record):
            self._happened(event, line.time, end)

    def _was_sent(self, record: Record, line: WireLine) -> None:
        answered = [event for event in self._stream.sent(line.raw) if isinstance(event, events.PermissionAnswered)]
        for event in answered:
            self._answered(event, line.time)
        if isinstance(record, ControlRequest) and b'"get_context_usage"' in line.raw:
            self._context_asked.add(record.request_id)
        if isinstance(record, User):
            self._sent.add(record.text)
            if not self._is_repeated(record):
                self._records.append(self._dated(record, line.time))
                self._homeless += [] if record.session_id else self._records[-1:]

    def _is_repeated(self, record: Record) -> bool:
        """Whether a line came before. The client replays what was sent to it if it was started to do so."""
        if isinstance(record, User) and record.is_replay and record.text in self._sent:
            return True
        if record.uuid is None or not isinstance(record, Spoken):
            return False
        is_known = record.uuid in self._seen
        self._seen.add(record.uuid)
        return is_known

    def _dated(self, record: Record, time: datetime | None) -> Record:
        """The record with the fields that transcript lines have and frames lack: time, folder, version."""
        missing: dict[str, Any] = {}
        if record.timestamp is None and time is not None:
            missing["timestamp"] = _stamp(time)
        if isinstance(record, Spoken):
            missing |= {"cwd": record.cwd or self._cwd, "version": record.version or self._version}
        return replace(record, **missing) if missing else record

    def _begin(self, frame: StreamEvent, line: WireLine) -> None:
        if b'"message_start"' not in frame.raw:
            return
        event = decode_api_event(frame.raw_event)
        if isinstance(event, MessageStart):
            name = event.message.id if event.message is not None else None
            timing = MessageTiming(message_id=name or "", began=line.time, ttft_ms=frame.ttft_ms)
            self._messages[name] = _Message(timing, line.offset, event.message)

    def _happened(self, event: Event, time: datetime | None, end: int) -> None:
        if isinstance(event, events.Delta):
            self._shown(event, time, end)
        elif isinstance(event, events.MessageUsage):
            self._ended(event, time)
        elif isinstance(event, events.Withdrawn):
            self._withdraw(event, time)
        elif isinstance(event, events.Permission) and event.id is not None:
            self._asked[event.request_id] = event.id
            self._permissions[event.id] = ToolPermission(asked=time, reason=event.reason)
        elif isinstance(event, events.PermissionVoid) and (call := self._asked.pop(event.request_id, None)) is not None:
            self._permissions[call] = replace(self._permissions[call], answered=time, decision="void")

    def _shown(self, event: events.Delta, time: datetime | None, end: int) -> None:
        message = self._messages.get(event.message_id)
        if message is None or event.index is None:
            return
        if message.timing.first_token is None:
            message.timing = replace(message.timing, first_token=time)
        began = message.blocks[event.index].began if event.index in message.blocks else time
        message.blocks[event.index] = _Shown(began, end, self._newest)

    @property
    def _newest(self) -> Record | None:
        return self._records[-1] if self._records else None

    def _ended(self, event: events.MessageUsage, time: datetime | None) -> None:
        if event.message_id is None:
            return
        self._finals[event.message_id] = Final(event.usage, event.stop_reason)
        message = self._messages.get(event.message_id)
        if message is not None:
            message.timing = replace(message.timing, ended=time)

    def _withdraw(self, event: events.Withdrawn, time: datetime | None) -> None:
        """Puts the record where the block was shown: the client may withdraw it much later."""
        message = self._messages.get(event.message_id)
        blocks = message.blocks if message is not None else {}
        shown = blocks.get(event.index or 0, _Shown(time, None, self._newest))
        start = message.offset if message is not None and shown.end is not None else 0
        record = replace(
            withdrawn_block(event),
            timestamp=_stamp(shown.began),
            raw=self._content[start : shown.end].rstrip(b"\n") if shown.end is not None else b"",
            offset=start,
        )
        place = len(self._records)
        while place and self._records[place - 1] is not shown.before and not self._is_withdrawn(place - 1, event):
            place -= 1
        self._records[place:place] = [*self._billed(event, message, record), record]

    def _billed(self, event: events.Withdrawn, message: _Message | None, shown: WithdrawnBlock) -> Iterator[Record]:
        """The answer itself, without words: what was interrupted or cut off is billed as far as it came, and no file
        says so. One that failed is asked for again."""
        if event.reason == "error" or message is None or message.start is None or message.start.usage is None:
            return
        names = (record.message.id for record in self._records if isinstance(record, Assistant) and record.message)
        if event.message_id not in names:
            yield Assistant(
                message=replace(message.start, content=[]),
                session_id=event.session,
                parent_tool_use_id=event.agent,
                timestamp=shown.timestamp,
                offset=shown.offset,
                cwd=self._cwd,
                version=self._version,
                is_frame=True,
            )

    def _is_withdrawn(self, place: int, event: events.Withdrawn) -> bool:
        """Whether this place has a withdrawn block of the same message."""
        before = self._records[place]
        return isinstance(before, WithdrawnBlock) and before.message_id == event.message_id

    def _answered(self, event: events.PermissionAnswered, time: datetime | None) -> None:
        call = self._asked.pop(event.request_id, None)
        if call is not None:
            self._permissions[call] = settled_permission(self._permissions[call], event, time)


def _stamp(time: datetime | None) -> str | None:
    """The time in the format of transcripts."""
    return time.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z") if time is not None else None


def withdrawn_block(event: events.Withdrawn) -> WithdrawnBlock:
    """The record of a block that was taken back."""
    return WithdrawnBlock(
        uuid=event.uuid, session_id=event.session, message_id=event.message_id, block=_block(event), reason=event.reason
    )


def _block(event: events.Withdrawn) -> Block:
    if event.kind == "thinking":
        return Thinking(thinking=event.text)
    if event.kind == "text":
        return Text(text=event.text)
    if event.kind == "tool":
        return ToolUse(id=event.id, name=event.name, raw_input=Raw(event.text.encode("utf-8", "replace")))
    return UnknownBlock(type_name=event.kind)
