"""Turns the events of a stream into blocks. A fragment updates the block with its key, a result the block of its call.

`StreamBlocks` keeps only what is still open, so that a stream may run for days.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Any

from msgspec.structs import replace

from reread.live import events
from reread.live.events import Event
from reread.live.protocol import settled_permission
from reread.records import SYNTHETIC_MODEL, Assistant, Record, ServerToolResult, ToolResult, User, decode
from reread.records import Thinking as RecordedThinking
from reread.records.frames import block_of
from reread.sessions import CallStatus, Final, Session, Speaker, ToolOutput, ToolPermission, kind_of, prompt_of
from reread.sessions.calls import status_of
from reread.sessions.lost_words import UNSAID, LostWords
from reread.sessions.turns import OPENS_TURN, attached, client_steps, notices_of

from .model import (
    BlockPlace,
    BlockState,
    CallBlock,
    HeadingBlock,
    NoticeBlock,
    OutputBlock,
    PromptBlock,
    QuestionBlock,
    ResultBlock,
    ShownBlock,
    ThinkingBlock,
    WordsBlock,
)

_LABELS = {
    "compacted": "compacted",
    "interrupted": "interrupted",
    "retry": "trying again",
    "title": "title",
    "permission_denied": "not allowed",
    "model_refusal_no_fallback": "refused",
    "model_refusal_fallback": "",
    "model_fallback": "",
    "session_writes_lost": "Claude Code could not save all of its files",
    "rate_limit_event": "",
    "informational": "",
    "api_error": "",
    "queued": "",
    "command": "",
    "rewound": "",
    "hook": "",
    "task": "",
    "unknown": "",
}
"""Notices that only a stream has, with the label put before their text. All others are bookkeeping and not shown."""
_STATES = {"requesting": "waiting for the model", "compacting": "compacting"}
_SILENT_TASKS = frozenset({"task_started", "task_progress", "task_updated"})
_SHOWN_OF_UNKNOWN = 200
_NO_LINE = decode(b"{}")


class StreamBlocks:
    """Takes events; returns each block that an event begins or changes, in its current state."""

    def __init__(self) -> None:
        self.finals: dict[str, Final] = {}
        """The final usage and stop reason of each message, by message id."""
        self._forming: dict[str, WordsBlock | ThinkingBlock | CallBlock] = {}
        self._calls: dict[str | None, CallBlock] = {}
        self._served: dict[str | None, CallBlock] = {}
        """Calls the API runs by itself: it may or may not give their answers."""
        """Calls without a result so far."""
        self._permissions: dict[str | None, ToolPermission] = {}
        """By call id: the client may ask about a call before it sends the call."""
        self._asked: dict[str, QuestionBlock] = {}
        self._heading: HeadingBlock | None = None
        self._compacted: NoticeBlock | None = None
        self._prompts: set[str] = set()
        self._thought_tokens: int | None = None
        self._lost = LostWords()
        self._nameless = 0

    def feed(self, event: Event, time: datetime | None = None) -> list[ShownBlock]:
        made = _MADE.get(type(event))
        return list(made(self, event, time)) if made is not None else []

    # Blocks of a message

    def _grows(self, event: events.Delta, time: datetime | None) -> Iterator[ShownBlock]:
        key = key_of(event)
        known = self._forming.get(key)
        text = (known.text if known is not None and not isinstance(known, CallBlock) else "") + event.text
        kind = ThinkingBlock if isinstance(event, events.ThinkingDelta) else WordsBlock
        place = known.place if known is not None else _place(event, time)
        self._forming[key] = block = kind(key=key, place=place, text=text, state=BlockState.FORMING)
        yield block

    def _call_grows(self, event: events.ToolDelta, time: datetime | None) -> Iterator[ShownBlock]:
        key = key_of(event)
        known = self._forming.get(key)
        self._forming[key] = block = CallBlock(
            key=key,
            place=_place(event, time),
            id=event.id,
            name=event.name or "",
            input=None,
            written=(known.written if isinstance(known, CallBlock) else "") + event.text,
            state=BlockState.FORMING,
        )
        yield block

    def _thinking(self, event: events.Thinking, time: datetime | None) -> Iterator[ShownBlock]:
        self._forming.pop(key_of(event), None)
        tokens, self._thought_tokens = self._thought_tokens, None
        if self._lost.has(event.message_id, RecordedThinking(thinking=event.text, signature=event.signature)):
            yield NoticeBlock(key=key_of(event), place=_place(event, time), what="unsaid", text=UNSAID)
            return
        yield ThinkingBlock(
            key=key_of(event),
            place=_place(event, time),
            text=event.text,
            is_redacted=event.is_redacted,
            signature=event.signature,
            duration_ms=event.duration_ms,
            tokens=tokens,
        )

    def _text(self, event: events.Text, time: datetime | None) -> Iterator[ShownBlock]:
        self._forming.pop(key_of(event), None)
        record, place = event.record, _place(event, time)
        if event.is_synthetic or (isinstance(record, Assistant) and record.is_api_error_message):
            steps = client_steps(record) if isinstance(record, Assistant) else None
            if steps is not None or record is None:
                if steps or record is None:
                    yield NoticeBlock(key=key_of(event), place=place, what="api_error", text=event.text)
                return
        yield WordsBlock(key=key_of(event), place=place, text=event.text)

    def _call(self, event: events.ToolCall, time: datetime | None) -> Iterator[ShownBlock]:
        self._forming.pop(key_of(event), None)
        block = CallBlock(
            key=key_of(event),
            place=_place(event, time),
            id=event.id,
            name=event.name or "(unnamed)",
            input=event.input,
            status=CallStatus.OK if event.is_server else CallStatus.MISSING,
            permission=self._permissions.get(event.id),
        )
        (self._served if event.is_server else self._calls)[event.id] = block
        yield block

    def _result(self, event: events.ToolResult, time: datetime | None) -> Iterator[ShownBlock]:
        call, place = self._calls.pop(event.id, None), _place(event, time)
        permission = self._permissions.pop(event.id, None)
        if call is None:  # the call itself never arrived
            call = CallBlock(key=f"call {event.id}", place=place, id=event.id, name="", input=None)
        output = OutputBlock(
            key=f"output {event.id}",
            place=place,
            call=event.id,
            name=call.name,
            text=event.text,
            is_error=event.is_error,
            images=event.images,
            read_result=lambda: event.result,
        )
        yield replace(call, output=output, status=_status(event, permission))

    def _other(self, event: events.OtherBlock, time: datetime | None) -> Iterator[ShownBlock]:
        self._forming.pop(key_of(event), None)
        block, place = block_of(event.value), _place(event, time)
        if isinstance(block, ToolResult | ServerToolResult):
            call = self._served.pop(block.tool_use_id, None)
            if call is not None:
                self._calls[call.id] = call
                about: Any = {"agent": event.agent, "id": call.id, "record": event.record, "uuid": event.uuid}
                answer = events.ToolResult(**about, text=block.as_text, is_error=bool(block.is_error))
                yield from self._result(answer, time)
        for notice in attached(event.record or _NO_LINE, block):
            yield NoticeBlock(key=key_of(event), place=place, what=notice.what, text=notice.text, detail=notice.detail)

    def _withdraws(self, event: events.Withdrawn, time: datetime | None) -> Iterator[ShownBlock]:
        known = self._forming.pop(key_of(event), None)
        place = known.place if known is not None else _place(event, time)
        place = replace(place, name=event.uuid)
        fate: Any = {"key": key_of(event), "place": place, "state": BlockState.WITHDRAWN, "withdrawn": event.reason}
        if event.kind == "thinking":
            yield ThinkingBlock(**fate, text=event.text)
        elif event.kind == "text":
            yield WordsBlock(**fate, text=event.text)
        else:
            yield CallBlock(**fate, id=event.id, name=event.name or "", input=None, written=event.text)

    # What a person is asked

    def _asks(self, event: events.Permission, time: datetime | None) -> Iterator[ShownBlock]:
        block = QuestionBlock(
            key=f"question {event.request_id}", place=_place(event, time), permission=event, state=BlockState.FORMING
        )
        self._asked[event.request_id] = block
        yield block
        yield from self._permitted(event.id, ToolPermission(asked=time, reason=event.reason))

    def _settles(
        self, event: events.PermissionAnswered | events.PermissionVoid, time: datetime | None
    ) -> Iterator[ShownBlock]:
        """An answer, or that none is needed any more."""
        answer = event if isinstance(event, events.PermissionAnswered) else None
        asked = self._asked.pop(event.request_id, None)
        permission = asked.permission if asked is not None else _unasked(event)
        block = QuestionBlock(
            key=f"question {event.request_id}", place=_place(event, time), permission=permission, answer=answer
        )
        yield block if answer is not None else replace(block, state=BlockState.WITHDRAWN)
        known = self._permissions.get(permission.id)
        if known is not None:
            yield from self._permitted(permission.id, settled_permission(known, event, time))

    def _permitted(self, name: str | None, permission: ToolPermission) -> Iterator[ShownBlock]:
        self._permissions[name] = permission
        call = self._calls.get(name)
        if call is not None:
            self._calls[name] = block = replace(call, permission=permission)
            yield block

    # Blocks that are part of no message

    def _started(self, event: events.SessionStarted, time: datetime | None) -> Iterator[ShownBlock]:
        before, name = self._heading, event.session or "?"
        self._heading = HeadingBlock(
            key=f"session {name}",
            place=_place(event, time),
            id=name,
            project=event.cwd,
            model=event.model,
            version=event.version,
            mode=event.permission_mode,
            before=replace(before, before=None) if before is not None and before.id == name else None,
        )
        yield self._heading

    def _prompt(self, event: events.Prompt, time: datetime | None) -> Iterator[ShownBlock]:
        if event.is_replay and event.text in self._prompts:
            return  # the client repeats a prompt that was sent to it
        record, place = event.record, _place(event, time)
        kind = kind_of(record) if isinstance(record, User) else _kind_of(event)
        if kind in OPENS_TURN:
            text = prompt_of(record, kind).text if isinstance(record, User) else event.text
            self._prompts.add(event.text)
            key = f"prompt {event.uuid or self._name()}"
            yield PromptBlock(key=key, place=place, text=text, kind=kind, images=event.images)
            yield from self._noticed(record, kind, place) if record is not None else ()
        elif kind is Speaker.COMPACT_SUMMARY:
            yield self._summarised(event, place)
        elif record is not None:
            yield from self._noticed(record, kind, place)

    def _summarised(self, event: events.Prompt, place: BlockPlace) -> NoticeBlock:
        """The compaction before it with the summary; clients up to 1.0 wrote the summary alone."""
        known = self._compacted
        if known is not None and not known.detail:
            self._compacted = replace(known, detail=event.text)
            return self._compacted
        key = f"notice {event.uuid or self._name()}"
        return NoticeBlock(key=key, place=place, what="compacted", text="compacted", detail=event.text)

    def _noticed(self, record: Record, kind: Speaker | None, place: BlockPlace) -> Iterator[NoticeBlock]:
        """The notices that the same record gives as a line of a transcript."""
        for number, notice in enumerate(notices_of(record, kind)):
            key = f"notice {notice.what} {record.uuid or self._name()} {number}"
            block = NoticeBlock(key=key, place=place, what=notice.what, text=notice.text, detail=notice.detail)
            self._compacted = block if notice.what == "compacted" else self._compacted
            yield block

    def _notice(self, event: events.Notice, time: datetime | None) -> Iterator[ShownBlock]:
        record, place = event.record, _place(event, time)
        kind = kind_of(record) if isinstance(record, User) else None
        found = list(self._noticed(record, kind, place))
        if found:
            yield from found
        elif event.what in ("thinking_tokens", "status"):
            text = self._passing(event)
            if text:
                yield NoticeBlock(key=event.what, place=place, what=event.what, text=text, is_passing=True)
        elif event.what in _LABELS and _is_news(event) and not self._is_shown_by_its_call(event):
            text = ": ".join(part for part in (_LABELS[event.what], event.text) if part)
            key = f"notice {event.what} {record.uuid or self._name()}"
            yield NoticeBlock(key=key, place=place, what=event.what, text=text, is_of_stream=True)

    def _passing(self, event: events.Notice) -> str:
        if event.what == "status":
            return _STATES.get(event.text, "")
        counted = event.data.get("estimated_tokens")
        self._thought_tokens = counted if isinstance(counted, int) else self._thought_tokens
        return f"thinking, about {self._thought_tokens:,} tokens" if self._thought_tokens else ""

    def _is_shown_by_its_call(self, event: events.Notice) -> bool:
        """A foreground agent is shown by its call and result; a background agent ends after its call's result."""
        return event.what == "task" and event.agent is not None and event.agent in self._calls

    def _refused(self, event: events.ControlAnswer, time: datetime | None) -> Iterator[ShownBlock]:
        if not event.ok:
            yield self._own("refused", f"the client refused: {event.error}", _place(event, time))

    def _trouble(self, event: events.Trouble, time: datetime | None) -> Iterator[ShownBlock]:
        yield self._own("trouble", f"{event.what}: {event.text}", _place(event, time))

    def _unknown(self, event: events.UnknownFrame, time: datetime | None) -> Iterator[ShownBlock]:
        raw = event.record.raw[:_SHOWN_OF_UNKNOWN].decode("utf-8", "replace")
        yield self._own("unknown", f"{event.reason}: {raw}", _place(event, time))

    def _own(self, what: str, text: str, place: BlockPlace) -> NoticeBlock:
        return NoticeBlock(key=f"{what} {self._name()}", place=place, what=what, text=text, is_of_stream=True)

    def _ended(self, event: events.TurnResult, time: datetime | None) -> Iterator[ShownBlock]:
        key = f"result {self._name()}"
        yield ResultBlock(key=key, place=_place(event, time), duration_ms=event.duration_ms, outcome=event)

    def _used(self, event: events.MessageUsage, time: datetime | None) -> Iterator[ShownBlock]:  # noqa: ARG002
        if event.message_id is not None:
            self.finals[event.message_id] = Final(event.usage, event.stop_reason)
        return iter(())

    def _name(self) -> int:
        """A number for the key of a block that has no id."""
        self._nameless += 1
        return self._nameless


_MADE: dict[type[Event], Callable[[StreamBlocks, Any, datetime | None], Iterable[ShownBlock]]] = {
    events.ThinkingDelta: StreamBlocks._grows,
    events.TextDelta: StreamBlocks._grows,
    events.ToolDelta: StreamBlocks._call_grows,
    events.Thinking: StreamBlocks._thinking,
    events.Text: StreamBlocks._text,
    events.ToolCall: StreamBlocks._call,
    events.ToolResult: StreamBlocks._result,
    events.OtherBlock: StreamBlocks._other,
    events.Withdrawn: StreamBlocks._withdraws,
    events.Permission: StreamBlocks._asks,
    events.PermissionAnswered: StreamBlocks._settles,
    events.PermissionVoid: StreamBlocks._settles,
    events.SessionStarted: StreamBlocks._started,
    events.Prompt: StreamBlocks._prompt,
    events.Notice: StreamBlocks._notice,
    events.ControlAnswer: StreamBlocks._refused,
    events.Trouble: StreamBlocks._trouble,
    events.UnknownFrame: StreamBlocks._unknown,
    events.TurnResult: StreamBlocks._ended,
    events.MessageUsage: StreamBlocks._used,
}
"""Events that are not listed here make no block: hooks, answers to our own questions."""


def key_of(event: Event) -> str:
    """The key of a message's block, the same from its first fragment on."""
    return f"{event.agent or ''}/{event.message_id or ''}/{event.index}"


def _place(event: Event, time: datetime | None) -> BlockPlace:
    uuid, record = getattr(event, "uuid", None), getattr(event, "record", None)
    return BlockPlace(record, event.agent, event.index, uuid, event.message_id, _as_written(time))


def _as_written(time: datetime | None) -> datetime | None:
    """Cut to milliseconds, as times in transcripts are."""
    return time.replace(microsecond=time.microsecond // 1000 * 1000) if time is not None else None


def _kind_of(event: events.Prompt) -> Speaker:
    if event.agent is not None:
        return Speaker.AGENT_PROMPT
    return Speaker.META if event.is_synthetic else Speaker.PROMPT


def _unasked(event: events.PermissionAnswered | events.PermissionVoid) -> events.Permission:
    """Stands in for the question of an answer whose question never arrived."""
    tool = getattr(event, "tool", None) or ""
    return events.Permission(request_id=event.request_id, tool=tool, input=None, id=getattr(event, "id", None))


def _status(event: events.ToolResult, permission: ToolPermission | None) -> CallStatus:
    record = event.record if event.record is not None else _NO_LINE
    blocks = record.blocks if isinstance(record, User) else ()
    found = next((each for each in blocks if type(each) is ToolResult and each.tool_use_id == event.id), None)
    block = found or ToolResult(tool_use_id=event.id, content=event.text, is_error=event.is_error)
    return status_of(ToolOutput(record=record, block=block), permission)


def _is_news(event: events.Notice) -> bool:
    """Of a task only its end is shown; of hooks only those that failed or stopped something; of limits no room left."""
    subtype = event.data.get("subtype")
    if event.what == "hook":
        return subtype not in ("hook_started", "hook_progress") and event.data.get("outcome") not in (None, "success")
    if event.what == "rate_limit_event":
        return bool(event.text)
    return subtype not in _SILENT_TASKS


def _signature(record: Record | None) -> str | None:
    """Of the empty thinking block of a line."""
    blocks = record.blocks if isinstance(record, Assistant) else ()
    return next((each.signature for each in blocks if type(each) is RecordedThinking and not each.as_text), None)


# The way back, from blocks to the events of a stream, for programs that read events


def session_started(session: Session) -> events.SessionStarted:
    models = [each.model for each in session.assistant_messages if each.model not in (None, SYNTHETIC_MODEL)]
    versions = [record.version for record in session.records if record.version is not None]
    return events.SessionStarted(
        session=session.id,
        model=models[-1] if models else None,
        cwd=session.project,
        version=versions[-1] if versions else None,
    )


def events_of(block: ShownBlock, session: str) -> Iterator[Event]:
    """The events of one block. Fragments, permission questions and turn results are missing: only a stream has them."""
    place = block.place
    where: Any = {"session": session, "agent": place.agent}
    if isinstance(block, PromptBlock):
        is_synthetic = block.kind not in (Speaker.PROMPT, Speaker.AGENT_PROMPT)
        yield events.Prompt(**where, text=block.text, uuid=place.uuid, images=block.images, is_synthetic=is_synthetic)
    elif isinstance(block, NoticeBlock) and not block.is_unsaid and place.record is not None:
        yield events.Notice(**where, what=block.what, text=block.text, record=place.record)
    whole = {**where, "message_id": place.message_id, "index": place.number, "uuid": place.uuid}
    if isinstance(block, ThinkingBlock):
        about: Any = {"signature": block.signature, "duration_ms": block.duration_ms}
        yield events.Thinking(**whole, text=block.text, is_redacted=block.is_redacted, **about)
    elif isinstance(block, NoticeBlock) and block.is_unsaid:
        yield events.Thinking(**whole, text="", signature=_signature(place.record))
    elif isinstance(block, WordsBlock):
        is_synthetic = isinstance(place.record, Assistant) and place.record.is_synthetic
        yield events.Text(**whole, text=block.text, is_synthetic=is_synthetic)
    elif isinstance(block, CallBlock):
        yield events.ToolCall(**whole, id=block.id, name=block.name, input=block.input)
        output = block.output
        if output is not None:
            yield events.ToolResult(
                **where,
                id=block.id,
                uuid=output.place.uuid,
                text=output.whole,
                is_error=output.is_error,
                result=output.read_result(),
            )
