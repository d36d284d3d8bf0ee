"""The stream-json protocol as a pure state machine: bytes in, events out. It does no I/O and reads no clock."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from msgspec.structs import replace

from reread.billing import packaged_prices
from reread.billing.cost import NANODOLLARS, Rated
from reread.records import (
    Assistant,
    Block,
    ControlRequest,
    Image,
    Init,
    Record,
    Result,
    StreamEvent,
    System,
    TaskEvent,
    Text,
    ToolResult,
    Unknown,
    User,
    decode,
    decode_all,
    parse_or_none,
)
from reread.records.decoder import AnyBytes, as_bytes
from reread.records.frames import (
    CAN_USE_TOOL,
    HOOK_CALLBACK,
    AuthStatus,
    BlockDelta,
    BlockStart,
    ClientAsks,
    CommandLifecycle,
    ControlCancelRequest,
    ControlResponse,
    ConversationReset,
    KeepAlive,
    MessageDelta,
    MessageStart,
    MessageStop,
    PromptSuggestion,
    RateLimitEvent,
    ToolProgress,
    ToolUseSummary,
    answer_of,
    decode_api_event,
    question_of,
)
from reread.records.json_parts import list_of, object_of, objects_in, text_or_none
from reread.records.system import SYSTEM_SUBTYPES, BackgroundTasksChanged, StatusLineRecord
from reread.sessions import SessionBuilder, Speaker, kind_of
from reread.sessions.captured import ToolPermission

from . import events
from .events import (
    PLAN_TOOL,
    ControlAnswer,
    ControlQuestion,
    Event,
    EventPlace,
    HookCallback,
    Permission,
    PermissionAnswered,
    PermissionVoid,
    SessionStarted,
    Withdrawal,
)
from .notices import notice_of, task_state
from .streamed_message import StreamedMessage

ReadFile = Callable[[str], str | None]
"""Returns the text of a file; None if it cannot be read."""


def _unread(path: str) -> str | None:  # noqa: ARG001
    """For a stream recorded at another time or on another machine."""
    return None


class Questions:
    """The permission requests that wait for an answer. A frame of an unexpected shape gives None, not an event."""

    def __init__(self, read_file: ReadFile) -> None:
        self.open: dict[str, Permission] = {}
        self.plans = PlanTrail(read_file)

    def of_client(self, frame: ControlRequest, session: str | None, agents: Mapping[str, str]) -> Event | None:
        """The event of a control request; `agents` maps each agent to the call that started it."""
        asked = question_of(frame)
        where = EventPlace(session=session, agent=None)
        if frame.request_id is None or asked is None:
            return None
        if asked.subtype == CAN_USE_TOOL:
            if asked.agent_id is not None:
                where["agent"] = agents.get(asked.agent_id, asked.agent_id)
            permission = _permission(frame.request_id, asked, where)
            if permission.is_plan:
                permission = self.plans.completed(permission)
            self.open[permission.request_id] = permission
            return permission
        if asked.subtype == HOOK_CALLBACK:
            callback = asked.callback_id or ""
            request = frame.request_id
            return HookCallback(**where, request_id=request, callback=callback, input=asked.input, id=asked.tool_use_id)
        data = parse_or_none(frame.request)
        return ControlQuestion(**where, request_id=frame.request_id, subtype=asked.subtype, data=data)

    def void(self, frame: ControlCancelRequest, session: str | None) -> Event | None:
        """The event of a cancelled request, which may be a hook's or one that was answered already."""
        if frame.request_id is None:
            return None
        permission = self.open.pop(frame.request_id, None)
        agent = permission.agent if permission is not None else None
        return PermissionVoid(session=session, agent=agent, request_id=frame.request_id)

    def answer_of_client(self, frame: ControlResponse, session: str | None) -> Event | None:
        """The event of the client's answer to a request of ours."""
        answer = answer_of(frame)
        if answer is None or answer.request_id is None:
            return None
        is_good = answer.subtype == "success"
        where = EventPlace(session=session, agent=None)
        given = answer.response
        return ControlAnswer(**where, request_id=answer.request_id, ok=is_good, response=given, error=answer.error)

    def answered(self, frame: ControlResponse) -> Event | None:
        """The event of our answer to a permission request; None if it answers none that is open."""
        answer = answer_of(frame)
        permission = self.open.pop(answer.request_id or "", None) if answer is not None else None
        if answer is None or permission is None:
            return None
        given = object_of(answer.response)
        is_allowed = given.get("behavior") == "allow"
        updated = given.get("updatedInput")
        is_edited = is_allowed and updated is not None and updated != permission.input
        return PermissionAnswered(
            session=permission.session,
            agent=permission.agent,
            request_id=permission.request_id,
            decision="error" if answer.subtype != "success" else "allow" if is_allowed else "deny",
            tool=permission.tool,
            id=permission.id,
            message=text_or_none(given.get("message")) or answer.error,
            is_edited=is_edited,
            edited_input=updated if is_edited else None,
            remembered=tuple(list_of(given.get("updatedPermissions"))),
            rule=text_or_none(given.get("rule")) if is_allowed else None,
        )


class PlanTrail:
    """Collects the plan from the conversation before the client asks about it: 2.1.325 asks with an empty input."""

    def __init__(self, read_file: ReadFile) -> None:
        self._read_file = read_file
        self._said = ""
        self._calls: dict[str | None, str] = {}
        self._files: dict[str | None, tuple[str, str | None]] = {}
        """Plan files that were written, by call: the path, and the text if the call had all of it."""

    def saw(self, event: Event) -> None:
        if event.agent is not None:
            return
        if isinstance(event, events.Text):
            self._said = event.text
        elif isinstance(event, events.ToolCall) and isinstance(event.input, dict):
            self._called(event.id, event.name, event.input)
        elif isinstance(event, events.ToolResult) and event.is_error:
            self._files.pop(event.id, None)

    def _called(self, call: str | None, name: str, given: dict[str, Any]) -> None:
        path, content = given.get("file_path"), given.get("content")
        if name == PLAN_TOOL and isinstance(given.get("plan"), str):
            self._calls[call] = given["plan"]
        elif name in ("Write", "Edit", "MultiEdit") and isinstance(path, str) and _is_plan_file(path):
            self._files[call] = path, text_or_none(content)

    def completed(self, permission: Permission) -> Permission:
        """The request with its plan: from its own input, else the file as it is now, the calls, or the last reply."""
        given = object_of(permission.input)
        path, written = next(reversed(self._files.values()), (None, None))
        told, own = text_or_none(given.get("planFilePath")), text_or_none(given.get("plan"))
        path = path if told is None else told
        read = self._read_file(path) if path is not None and own is None else None
        found = (own, read, self._calls.get(permission.id), written, self._said)
        plan = next((each for each in found if each and each.strip()), None)
        return replace(permission, plan=plan, plan_file=path)


def _is_plan_file(path: str) -> bool:
    """Whether the path is one of the client's plan files: `~/.claude/plans/three-words.md`."""
    parts = path.replace("\\", "/").rsplit("/", 2)
    return len(parts) == 3 and parts[1] == "plans" and parts[2].endswith(".md")


def _permission(request: str, question: ClientAsks, where: EventPlace) -> Permission:
    return Permission(
        **where,
        request_id=request,
        tool=question.tool_name or "",
        input=question.input,
        id=question.tool_use_id,
        description=question.description or question.title or question.display_name,
        suggestions=tuple(question.permission_suggestions or ()),
        blocked_path=question.blocked_path,
        reason=question.decision_reason,
    )


def settled_permission(
    permission: ToolPermission, event: PermissionAnswered | PermissionVoid, time: datetime | None
) -> ToolPermission:
    """With the answer, or void."""
    if isinstance(event, PermissionVoid):
        return replace(permission, answered=time, decision="void")
    return replace(
        permission,
        answered=time,
        decision=event.decision,
        message=event.message,
        edited_input=event.edited_input,
        remembered=event.remembered,
        rule=event.rule,
    )


REMEMBERED = 32
"""How many messages of a conversation may still get a late frame."""
_TASK_GOES_ON = frozenset({"pending", "running", "in_progress", "paused"})

_BEFORE_A_FRAME = b" \t\r\0\xef\xbb\xbf"
"""Bytes that the decoder skips: white space, zeros of a torn write, a byte order mark."""


class _Thread:
    """One conversation in the stream: the main one or an agent's."""

    def __init__(self, session: str | None, agent: str | None) -> None:
        self.where = EventPlace(session=session, agent=agent)
        self.current: StreamedMessage | None = None
        self._messages: dict[str | None, StreamedMessage] = {}

    def message(self, id: str | None) -> StreamedMessage | None:  # noqa: A002
        return self._messages.get(id)

    def begin(self, message: StreamedMessage) -> Iterator[Event]:
        """Starts a message and withdraws the unfinished blocks of the one before."""
        yield from self.withdraw("error")
        self.current = self._messages[message.id] = message
        if len(self._messages) > REMEMBERED:
            del self._messages[next(iter(self._messages))]

    def withdraw(self, reason: Withdrawal, first: int = 0) -> Iterator[Event]:
        if self.current is not None and not self.current.has_ended:
            yield from self.current.withdraw(reason, self.where, first)


class Stream:
    """Turns the client's output, fed in chunks cut anywhere, into events.

    With a builder, every complete frame is also added to the session being built; `read_file` reads the plan file that
    a permission request is about.
    """

    def __init__(
        self, builder: SessionBuilder | None = None, read_file: ReadFile = _unread, *, counts_on: bool = False
    ) -> None:
        self.session: str | None = None
        """The session id of the last frame; `/clear` changes it."""
        self.open_tasks: set[str] = set()
        """Agents and commands still working in the background."""
        self._builder = builder
        self._carried: list[bytes] = []
        self._threads: dict[tuple[str | None, str | None], _Thread] = {}
        self._seen: set[str] = set()
        self._agents: dict[str, str] = {}
        self._started: SessionStarted | None = None
        self._cost = Decimal(0)
        self._counts_on = counts_on
        """Whether the client's first total may have what the session cost before, as after `--resume`."""
        self._questions = Questions(read_file)

    @property
    def open_permissions(self) -> dict[str, Permission]:
        """The permission requests that wait for an answer, by request id."""
        return self._questions.open

    def feed(self, chunk: AnyBytes | str) -> list[Event]:
        """Events of the frames completed by this chunk; a frame is complete at its newline or at its last brace."""
        if type(chunk) is not bytes:
            chunk = as_bytes(chunk)
        found: list[Event] = []
        for record in self._records(chunk):
            found += self._received(record)
        return found

    def take(self, record: Record) -> list[Event]:
        """Events of one frame that is decoded already."""
        return list(self._received(record))

    def sent(self, line: AnyBytes | str) -> list[Event]:
        """Events of a line that was sent to the client: a prompt, or an answer that closes a permission request."""
        record = decode(line)
        if isinstance(record, User):
            return list(self._user(record))
        answered = self._questions.answered(record) if isinstance(record, ControlResponse) else None
        return [answered] if answered is not None else []

    def close(self) -> list[Event]:
        """Ends the stream: withdraws the blocks that are still open, and clears open permissions and tasks."""
        rest = b"".join(self._carried).strip()
        self._carried = []
        found = [event for record in (decode_all(rest) if rest else ()) for event in self._received(record)]
        for thread in self._threads.values():
            found += thread.withdraw("cut")
        self.open_permissions.clear()
        self.open_tasks.clear()
        return found

    def _records(self, chunk: bytes) -> Iterator[Record]:
        if not self._carried and chunk.find(b"\n") == len(chunk) - 1:
            lines, chunk = [chunk[:-1]], b""  # one whole line, as most come
        elif b"\n" in chunk:
            *lines, chunk = b"".join([*self._carried, chunk]).split(b"\n")
            self._carried = []
        else:
            lines = []
        for line in lines:
            while line and not line.isspace():
                record = decode(line)
                yield record
                line = record.rest
        if not chunk:
            return
        self._carried.append(chunk)
        # No proper prefix of a JSON object is valid JSON, so an object that parses is complete without its newline.
        if chunk.endswith(b"}"):
            whole = b"".join(self._carried)
            record = decode(whole)
            if not (isinstance(record, Unknown) and record.malformed) and not record.rest:
                self._carried = []
                yield record
            elif not whole.lstrip(_BEFORE_A_FRAME).startswith(b"{"):
                yield from self._behind_noise(chunk)

    def _behind_noise(self, chunk: bytes) -> Iterator[Record]:
        """A frame after noise without a newline that cannot be the beginning of a frame."""
        record = decode(chunk)
        if not (isinstance(record, Unknown) and record.malformed):
            noise = b"".join(self._carried[:-1])
            self._carried = []
            yield decode(noise)
            yield record

    def _received(self, record: Record) -> Iterable[Event]:
        if record.session_id is not None:
            self.session = record.session_id
        if type(record) is StreamEvent:
            return self._streamed(record)
        handle = _HANDLERS.get(type(record)) or (_HANDLERS[System] if isinstance(record, System) else None)
        return handle(self, record) if handle is not None else [self._unknown(record)]

    def _where(self, record: Record, agent: str | None = None) -> EventPlace:
        return EventPlace(session=record.session_id or self.session, agent=agent)

    def _thread(self, record: Record, agent: str | None) -> _Thread:
        key = (record.session_id, agent)
        thread = self._threads.get(key)
        if thread is None:
            thread = self._threads[key] = _Thread(*key)
        return thread

    def _unknown(self, record: Record) -> Event:
        reason = (
            record.reason if isinstance(record, Unknown) else f"a frame of type {record.type!r} is not expected here"
        )
        return events.UnknownFrame(**self._where(record), record=record, reason=reason)

    # Messages

    def _streamed(self, frame: StreamEvent) -> Iterable[Event]:
        thread = self._thread(frame, frame.parent_tool_use_id)
        event = decode_api_event(frame.raw_event)
        message = thread.current
        if isinstance(event, BlockDelta):  # first: most lines of a stream are one
            delta = message.add(event.index, event.delta, thread.where) if message is not None else None
            return [delta] if delta is not None else ()
        if isinstance(event, MessageStart):
            return thread.begin(_begun(event, frame))
        if isinstance(event, MessageDelta):
            return self._ended(thread, event)
        if isinstance(event, MessageStop):
            return self._stopped(thread, frame)
        if event is None:
            return [events.UnknownFrame(**thread.where, record=frame, reason="an event that nobody has described")]
        if isinstance(event, BlockStart) and message is not None:
            message.start(event.index, event.block)
        return ()

    def _ended(self, thread: _Thread, event: MessageDelta) -> Iterator[Event]:
        """Ends a message that has a stop reason; the closing events the client makes after an interrupt have none."""
        message = thread.current
        reason = event.delta.stop_reason if event.delta is not None else None
        if message is None or reason is None:
            return
        yield from message.end(thread.where)
        if event.usage is None:
            return
        yield events.MessageUsage(
            **thread.where,
            message_id=message.id,
            usage=event.usage,
            stop_reason=reason,
            model=message.model,
            ttft_ms=message.ttft_ms,
        )
        if self._builder is not None and message.id is not None:
            self._builder.add_final(message.id, event.usage, reason)

    def _stopped(self, thread: _Thread, frame: StreamEvent) -> Iterator[Event]:
        first = object_of(parse_or_none(frame.abandoned_blocks)).get("from_block_index")
        yield from thread.withdraw("error", first if isinstance(first, int) else 0)

    def _assistant(self, frame: Assistant) -> Iterator[Event]:
        if self._is_repeated(frame):
            return
        thread = self._thread(frame, frame.parent_tool_use_id)
        said = frame.api_message
        message = thread.message(said.id)
        if message is None:
            message = StreamedMessage(said.id, said.model)
            # A text of the client itself may come inside a message, which then goes on (a refusal in 2.1.197).
            yield from thread.begin(message) if not frame.is_synthetic else ()
        for block in _blocks(frame):
            whole = message.confirm(block, frame, thread.where)
            if whole is not None:
                self._questions.plans.saw(whole)
                yield whole
        if message.is_streamed or message.has_ended or frame.is_synthetic:
            return
        # Without stream events, some versions give the stop reason on the message's last line, others on all of them.
        if said.stop_reason is not None and said.usage is not None:
            message.has_ended = True
            yield events.MessageUsage(
                **thread.where, message_id=said.id, usage=said.usage, stop_reason=said.stop_reason, model=said.model
            )

    def _user(self, frame: User) -> Iterator[Event]:
        if self._is_repeated(frame):
            return
        agent = frame.parent_tool_use_id
        where = self._where(frame, agent)
        kind = kind_of(frame)
        if kind is Speaker.INTERRUPT:
            yield from self._thread(frame, agent).withdraw("interrupted")
            yield events.Notice(**where, what="interrupted", text=frame.text, record=frame)
            return
        results = [block for block in frame.blocks if isinstance(block, ToolResult)]
        for block in results:
            came = _result(block, frame, where, is_alone=len(results) == 1)
            self._questions.plans.saw(came)
            yield came
        if not results:
            yield events.Prompt(
                **where,
                text=frame.text,
                uuid=frame.uuid,
                is_replay=bool(frame.is_replay),
                is_synthetic=kind is not Speaker.PROMPT and agent is None,
                images=sum(isinstance(block, Image) for block in frame.blocks),
                record=frame,
            )

    def _is_repeated(self, frame: Assistant | User) -> bool:
        """Whether a line with this uuid came before; if not, adds the frame to the session being built."""
        if frame.uuid is not None:
            if frame.uuid in self._seen:
                return True
            self._seen.add(frame.uuid)
        if self._builder is not None:
            self._builder.add(frame)
        return False

    # The client's state

    def _system(self, frame: System) -> Iterator[Event]:
        if self._builder is not None:
            self._builder.add(frame)
        if isinstance(frame, Init):
            yield from self._init(frame)
            return
        if isinstance(frame, StatusLineRecord):
            yield from self._mode(frame.permission_mode)
        elif isinstance(frame, TaskEvent):
            self._follow(frame)
        elif isinstance(frame, BackgroundTasksChanged):
            self._follow_all(parse_or_none(frame.tasks))
        if frame.subtype in SYSTEM_SUBTYPES:
            agent = self._agents.get(frame.task_id or "") if isinstance(frame, TaskEvent) else None
            yield notice_of(frame, self._where(frame, agent))
        else:
            yield events.UnknownFrame(
                **self._where(frame), record=frame, reason=f"a system frame of subtype {frame.subtype!r}"
            )

    def _init(self, frame: Init) -> Iterator[Event]:
        """The client repeats `init` at every turn; only a changed one becomes an event."""
        started = SessionStarted(
            **self._where(frame),
            model=frame.model,
            cwd=frame.cwd,
            version=frame.claude_code_version,
            permission_mode=frame.permission_mode,
            tools=tuple(frame.tools or ()),
            mcp_servers=tuple(frame.mcp_servers or ()),
        )
        if started != self._started:
            self._started = started
            yield started

    def _mode(self, mode: str | None) -> Iterator[Event]:
        if self._started is not None and mode not in (None, self._started.permission_mode):
            self._started = replace(self._started, permission_mode=mode)
            yield self._started

    def _follow(self, frame: TaskEvent) -> None:
        task = frame.task_id
        if task is None:
            return
        if frame.call_id is not None:
            self._agents[task] = frame.call_id
        state = task_state(frame)
        if frame.subtype == "task_started":
            self.open_tasks.add(task)
        elif frame.subtype == "task_notification" or (state is not None and state not in _TASK_GOES_ON):
            self.open_tasks.discard(task)

    def _follow_all(self, tasks: Any) -> None:
        """Replaces the open tasks by the client's complete list."""
        if isinstance(tasks, list):
            named = (task.get("task_id") or task.get("id") for task in objects_in(tasks))
            self.open_tasks = {name for name in named if isinstance(name, str)}

    def _other(self, frame: Record) -> Iterator[Event]:
        yield events.Notice(**self._where(frame), what=frame.type or "", text=frame.text, record=frame)

    def _result(self, frame: Result) -> Iterator[Event]:
        if self._builder is not None:
            self._builder.add(frame)
        yield from self._thread(frame, None).withdraw("error")
        subtype = frame.subtype or ""
        cost = _dollars(frame.total_cost_usd) if frame.total_cost_usd is not None else None
        yield events.TurnResult(
            **self._where(frame),
            # Up to 2.1.50 the result of an interrupted turn claims to be no error.
            is_error=bool(frame.is_error) or subtype.startswith("error"),
            subtype=frame.subtype,
            text=frame.text,
            terminal_reason=frame.terminal_reason,
            cost_usd=cost,
            turn_cost_usd=self._since(cost, frame),
            usage=frame.usage,
            models=parse_or_none(frame.model_usage),
            duration_ms=frame.duration_ms,
            turns=frame.num_turns,
            errors=tuple(frame.errors or ()),
            denials=tuple(frame.permission_denials or ()),
            origin=parse_or_none(frame.origin),
            prompts=_prompts(frame),
            structured_output=parse_or_none(frame.structured_output),
            record=frame,
        )

    def _since(self, cost: Decimal | None, frame: Result) -> Decimal | None:
        """The increase since the previous result; a smaller total means that the client started counting again. The
        first turn of a session that goes on is priced by its own tokens."""
        if cost is None:
            return None
        before, self._cost, counts_on, self._counts_on = self._cost, cost, self._counts_on, False
        if counts_on and frame.usage is not None:
            model = self._started.model if self._started is not None else None
            own = packaged_prices().cost(Rated.of(frame.usage, 0), model, datetime.now(UTC))
            return min(cost, Decimal(own) / NANODOLLARS) if own is not None else None
        return cost - before if cost >= before else cost

    def _control(self, frame: ControlRequest | ControlResponse | ControlCancelRequest) -> Iterator[Event]:
        if isinstance(frame, ControlRequest):
            event = self._questions.of_client(frame, self.session, self._agents)
        elif isinstance(frame, ControlResponse):
            event = self._questions.answer_of_client(frame, self.session)
        else:
            event = self._questions.void(frame, self.session)
        yield event if event is not None else self._unknown(frame)


def _prompts(frame: Result) -> tuple[str, ...]:
    uuids = [*list_of(parse_or_none(frame.user_message_uuids)), frame.user_message_uuid]
    return tuple(dict.fromkeys(uuid for uuid in uuids if isinstance(uuid, str)))


def _dollars(told: float) -> Decimal:
    """At most nine decimals: the client adds up floats, so that it says 0.025500000000000002."""
    exact = Decimal(str(told))
    return exact if int(exact.as_tuple().exponent) >= -9 else round(exact, 9).normalize()


def _begun(event: MessageStart, frame: StreamEvent) -> StreamedMessage:
    start = event.message
    id, model = (start.id, start.model) if start is not None else (None, None)  # noqa: A001
    return StreamedMessage(id, model, is_streamed=True, ttft_ms=frame.ttft_ms)


def _result(block: ToolResult, frame: User, where: EventPlace, *, is_alone: bool) -> events.ToolResult:
    return events.ToolResult(
        **where,
        id=block.tool_use_id,
        text=block.as_text,
        is_error=bool(block.is_error),
        uuid=frame.uuid,
        result=frame.tool_use_result if is_alone else None,  # it is that of one of them
        images=sum(isinstance(part, Image) for part in list_of(block.content)),
        record=frame,
    )


def _blocks(frame: Assistant) -> list[Block]:
    return [Text(text=frame.content)] if isinstance(frame.content, str) else frame.blocks


_HANDLERS: dict[type[Record], Callable[[Stream, Any], Iterable[Event]]] = {
    Assistant: Stream._assistant,
    User: Stream._user,
    System: Stream._system,
    Result: Stream._result,
    ControlRequest: Stream._control,
    ControlResponse: Stream._control,
    ControlCancelRequest: Stream._control,
    CommandLifecycle: Stream._other,
    ConversationReset: Stream._other,
    RateLimitEvent: Stream._other,
    ToolProgress: Stream._other,
    ToolUseSummary: Stream._other,
    PromptSuggestion: Stream._other,
    AuthStatus: Stream._other,
    KeepAlive: Stream._other,
}
