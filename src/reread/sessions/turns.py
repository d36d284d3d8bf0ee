"""Makes turns of records in reading order: a prompt, and every step until the next prompt."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from reread import lazy
from reread.changes import EARLIER
from reread.records import (
    ApiError,
    Assistant,
    Attachment,
    AwaySummary,
    Block,
    CompactBoundary,
    Document,
    HookBlockingError,
    Image,
    LocalCommand,
    QueuedCommand,
    QueueOperation,
    Record,
    RedactedThinking,
    StopHookSummary,
    System,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    TurnDuration,
    Unknown,
    UnknownBlock,
    User,
    parse_or_none,
)
from reread.records.attachments import (
    DirectoryAttachment,
    FileAttachment,
    HookNonBlockingError,
    HookPermissionDecision,
    HookStoppedContinuation,
    HookSystemMessage,
    InstructionFilesNotLoaded,
    MemoryUpdate,
    OutOfContext,
    UnknownAttachment,
)
from reread.records.state import ContinuedIn
from reread.records.system import Informational, ModelFallback

from .calls import ToolCall
from .captured import WithdrawnBlock
from .lost_words import UNSAID, LostWords
from .speaker import (
    PROMPT_BELOW,
    STOP_FEEDBACK,
    TYPED,
    Speaker,
    command_line,
    image_count,
    local_output,
    plain,
    typed_text,
    was_typed_while_busy,
    words_beside_result,
)
from .values import Notice, Prompt, Said, Step, Thought


def queued_prompt(record: Record) -> Prompt | None:
    """The prompt in an attachment for text typed while the client was busy; up to 2.1.202 it has no `user` line, or
    shares that of a tool's result."""
    if isinstance(record, User):
        words = words_beside_result(record)
        return Prompt(record=record, text=words, kind=Speaker.PROMPT, is_queued=True) if words else None
    if not was_typed_while_busy(record):
        return None
    return Prompt(record=record, text=record.text, kind=Speaker.PROMPT, is_queued=True)


def traceless_prompts(queue: Iterable[Record], records: Iterable[Record]) -> dict[int, Prompt]:
    """Prompts found only in the queue records and in no other record, by the `id()` of the queue record."""
    queued = [record for record in queue if isinstance(record, QueueOperation) and _is_typed(record)]
    if not queued:
        return {}
    traces = [_as_lines(trace) for record in records for trace in _traces(record) if trace]
    return {
        id(record): Prompt(record=record, text=record.text, kind=Speaker.PROMPT, is_queued=True)
        for record in queued
        if not any(_as_lines(record.text) in trace for trace in traces)
    }


def _is_typed(record: QueueOperation) -> bool:
    """Whether a person typed it. Clients also queue notifications and, in 2.1.50, a JSON string for every subagent."""
    return record.operation == "enqueue" and bool(record.text.strip()) and not record.text.startswith(("<", "{"))


def _traces(record: Record) -> list[str]:
    if isinstance(record, User):
        text = record.text
        return [text, command_line(text)] if "<command-" in text else [text]
    if isinstance(record, QueueOperation):  # taken back into the input box to be edited
        return [record.text] if record.operation == "popAll" else []
    is_queued = isinstance(record, Attachment) and isinstance(record.attachment, QueuedCommand)
    return [record.text] if is_queued else []


def _as_lines(text: str) -> str:
    """Text as whole lines, so that `go` is not found in `go on`: the client joins queued prompts, one per line."""
    return "\n".join(("", *_lines(text), ""))


def _lines(text: str) -> Iterator[str]:
    return (" ".join(line.split()) for line in text.strip().splitlines())


def traced_lines(record: Record) -> Iterator[str]:
    """The lines of text that `record` may be a trace of. A queued prompt whose first line is not among these has left
    no trace in `record`."""
    return (line for trace in _traces(record) for line in _lines(trace))


def first_line(queued: Prompt) -> str:
    return next(_lines(queued.text), "")


OPENS_TURN = TYPED | {Speaker.AGENT_PROMPT}
_NO_RESPONSE = "No response requested."
"""Written in the model's name when a session is resumed."""
_ERROR_OPENINGS = ("API Error", "Invalid API key", "Credit balance is too low", "Prompt is too long")
_THOUGHT = lazy.pattern(r"<thinking>\s*(.*?)\s*</thinking>\s*", re.DOTALL)
_TEAM_TAGS = lazy.pattern(r"</?(?:teammate|agent)-message[^>]*>")
_MAY_GIVE_NOTICE = (System, Attachment, Unknown, QueueOperation, ContinuedIn)
MAY_GO_UNANSWERED = frozenset({Speaker.COMMAND, Speaker.SHELL})


class Draft(Struct):
    """A turn being written."""

    prompt: Prompt | None
    steps: list[Step]
    records: list[Record]
    duration_ms: float | None = None
    has_answer: bool = False


class TurnWriter:
    """Writes the turns of a stretch of conversation.

    A command or a shell line opens a turn only if the model answers it. Until then it is a draft; a local
    `/rename` ends up as a notice in the turn before.
    """

    def __init__(
        self, call_of: Callable[[ToolUse], ToolCall], queued: Mapping[int, Prompt], orphans: Container[int] = ()
    ) -> None:
        self._call_of = call_of
        self._queued = queued
        self._orphans = orphans
        self._lost = LostWords()

    def write(self, records: Iterable[tuple[Record, Speaker | None]]) -> list[Draft]:
        """The drafts for records in reading order; each user line comes with its speaker."""
        drafts: list[Draft] = []
        before: Record | None = None
        for record, kind in records:
            if before is not None and before.offset >= EARLIER > record.offset:
                drafts[-1].steps.append(_dropped(before, record))
            before = record
            if kind in OPENS_TURN and isinstance(record, User):
                drafts.append(Draft(prompt_of(record, kind), [], []))
            elif not drafts:
                drafts.append(Draft(None, [], []))
            self._add(drafts[-1], record, kind)
        if before is not None and before.offset >= EARLIER:
            drafts[-1].steps.append(_dropped(before, None))
        return _with_local_commands_as_notices(drafts)

    def _add(self, draft: Draft, record: Record, kind: Speaker | None) -> None:
        draft.records.append(record)
        if type(record) is Assistant:
            self._add_reply(draft, record)
        elif isinstance(record, User):
            if kind is Speaker.COMPACT_SUMMARY:
                self._add_summary(draft, record)
            draft.steps += notices_of(record, kind)
            if kind is Speaker.TOOL_RESULT:
                draft.steps += self._results_alone(record)
        elif isinstance(record, TurnDuration):
            draft.duration_ms = record.duration_ms
        elif isinstance(record, WithdrawnBlock):
            draft.steps.append(_withdrawn(record))
        elif isinstance(record, _MAY_GIVE_NOTICE):
            draft.steps += self._beside(record)

    def _add_summary(self, draft: Draft, record: User) -> None:
        """The summary belongs to the compaction before it; clients up to 1.0 wrote the summary without one."""
        last = draft.steps[-1] if draft.steps else None
        if isinstance(last, Notice) and last.what == "compacted" and not last.detail:
            draft.steps[-1] = msgspec.structs.replace(last, detail=record.text)
        else:
            draft.steps.append(Notice(what="compacted", text="compacted", record=record, detail=record.text))

    def _results_alone(self, record: User) -> list[Notice]:
        """Results whose call is not in the file: nothing else shows them."""
        content = record.content
        found = [block.as_text for block in record.blocks if type(block) is ToolResult and id(block) in self._orphans]
        texts = [content] if isinstance(content, str) else found
        return [
            Notice(
                what="orphan", text=f"the result of a call that is not in the file: {first}", record=record, detail=text
            )
            for text in texts
            if (first := text.strip().partition("\n")[0])
        ]

    def _beside(self, record: Record) -> list[Step]:
        """Notices for lines that are neither the user's nor the model's; most lines give none."""
        if isinstance(record, System | Attachment):
            return [*notices_of(record, None)]
        if isinstance(record, Unknown):
            text = f"line {record.line}: {record.reason}" if record.line else record.reason
            return [Notice(what="unknown", text=text, record=record, detail=record.text)]
        if isinstance(record, ContinuedIn):
            text = f"continued in session {record.continued_in_session_id}"
            return [Notice(what="continued", text=text, record=record)] if record.continued_in_session_id else []
        return [Notice(what="queued", text=record.text, record=record)] if id(record) in self._queued else []

    def _add_reply(self, draft: Draft, record: Assistant) -> None:
        is_answered = is_answer(record)
        draft.has_answer = draft.has_answer or is_answered
        told = None if is_answered else client_steps(record)
        draft.steps += self._reply_steps(record) if told is None else told

    def _reply_steps(self, record: Assistant) -> Sequence[Step]:
        content = record.content
        if content is None:
            return _unreadable(record)
        if isinstance(content, str):
            return _steps_of_text(record, Text(text=content)) if content else []
        return [step for block in content for step in self._block_steps(record, block)]

    def _block_steps(self, record: Assistant, block: Block) -> Sequence[Step]:
        if self._lost.has(record.api_message.id, block):
            return [Notice(what="unsaid", text=UNSAID, record=record)]
        if type(block) is Text:
            return _steps_of_text(record, block)
        if type(block) is Thinking or type(block) is RedactedThinking:
            return [Thought(record=record, block=block)]
        return [self._call_of(block)] if isinstance(block, ToolUse) else attached(record, block)


def _steps_of_text(record: Assistant, block: Text) -> list[Step]:
    """Words of the model. What models without thinking write in a tag at the beginning is a thought."""
    text = block.as_text
    found = _THOUGHT.match(text) if text.startswith("<thinking>") else None
    if found is None:
        return [Said(record=record, block=block)]
    thought = Thought(record=record, block=Thinking(thinking=found[1]))
    return (
        [thought, Said(record=record, block=Text(text=text[found.end() :]))] if found.end() < len(text) else [thought]
    )


def _dropped(last: Record, following: Record | None) -> Notice:
    """Ends the lines that only an earlier generation of the file has. A compaction behind them tells when they went."""
    time = following.time if isinstance(following, CompactBoundary) else None
    since = f" since {time:%Y-%m-%d}" if time is not None else ""
    return Notice(what="informational", text=f"what stands above is no longer in the file{since}", record=last)


def is_answer(record: Record) -> bool:
    """Whether the model wrote it, and not the client in the model's name."""
    return type(record) is Assistant and not record.is_api_error_message and not record.is_synthetic


def _withdrawn(record: WithdrawnBlock) -> Step:
    """A step for a withdrawn block. A call becomes a notice, because only the beginning of its input is known."""
    block = record.block
    if isinstance(block, Thinking):
        return Thought(record=record, block=block)
    if isinstance(block, Text):
        return Said(record=record, block=block)
    name = block.name if isinstance(block, ToolUse) else None
    return Notice(what="withdrawn", text=f"{name or 'a block'}, {record.reason}", record=record, detail=record.text)


def client_steps(record: Assistant) -> list[Step] | None:
    """The steps for a failure or a filler that the client wrote in the model's name; None if the model wrote the text.

    The partial text of an interrupted answer is also written under the client's name (2.1.197): that gives None too.
    """
    if record.is_api_error_message or record.text.startswith(_ERROR_OPENINGS):
        return [Notice(what="api_error", text=record.text, record=record)]
    return [] if record.text == _NO_RESPONSE else None


def _with_local_commands_as_notices(drafts: list[Draft]) -> list[Draft]:
    """Moves commands and shell lines that got no answer into the turn before them."""
    finished: list[Draft] = []
    for draft in drafts:
        if draft.prompt is None or draft.has_answer or draft.prompt.kind not in MAY_GO_UNANSWERED:
            finished.append(draft)
            continue
        if not finished:
            finished.append(Draft(None, [], []))
        notice = Notice(what="command", text=draft.prompt.text, record=draft.prompt.record)
        finished[-1].steps += [notice, *draft.steps]
        finished[-1].records += draft.records
    return finished


def prompt_of(record: User, kind: Speaker) -> Prompt:
    return Prompt(record=record, text=typed_text(record, kind), kind=kind, images=image_count(record))


def _interrupted(record: User) -> list[Notice]:
    return [Notice(what="interrupted", text=record.text, record=record)]


def _task(record: User) -> list[Notice]:
    return [Notice(what="task", text=_first_line(record.text, tag="summary"), record=record, detail=record.text)]


def _teammate(record: User) -> list[Notice]:
    text = _TEAM_TAGS.sub("", record.text).strip()
    return [Notice(what="task", text=text, record=record, detail=record.text)]


def _local_output(record: User) -> list[Notice]:
    text = local_output(record.text)
    return [Notice(what="command", text=text, record=record)] if text else []


def _hook(record: User) -> list[Notice]:
    return [Notice(what="hook", text=record.text, record=record)]


def _meta(record: User) -> list[Notice]:
    """What a stop hook told the model. Such feedback is the only reason why the turn goes on."""
    feedback = " ".join(record.text.split()) if record.text.startswith(STOP_FEEDBACK) else ""
    return [Notice(what="hook", text=feedback, record=record)] if feedback else []


def _beside_result(record: User) -> list[Notice]:
    words = words_beside_result(record)
    return [Notice(what="queued", text=words, record=record)] if words else []


_USER_NOTICES: dict[Speaker, Callable[[User], list[Notice]]] = {
    Speaker.INTERRUPT: _interrupted,
    Speaker.TASK_NOTIFICATION: _task,
    Speaker.TEAMMATE: _teammate,
    Speaker.LOCAL_OUTPUT: _local_output,
    Speaker.HOOK: _hook,
    Speaker.META: _meta,
    Speaker.TOOL_RESULT: _beside_result,
}


def notices_of(record: Record, kind: Speaker | None) -> list[Notice]:
    """The notices that a line gives; `kind` is the speaker of a user line."""
    if isinstance(record, User):
        return _user_notices(record, kind)
    if isinstance(record, System):
        return _system_notices(record)
    return _attachment_notices(record) if isinstance(record, Attachment) else []


def _user_notices(record: User, kind: Speaker | None) -> list[Notice]:
    notices = [*(_USER_NOTICES[kind](record) if kind in _USER_NOTICES else ()), *_retracted(record)]
    notices += [notice for block in record.blocks for notice in attached(record, block) if type(block) is not Image]
    return notices + (_unreadable(record) if record.content is None else [])


def attached(record: Record, block: Block) -> list[Notice]:
    """Notices for blocks that are neither words nor calls and their results."""
    if type(block) is Document:
        kind = (block.source.media_type if block.source is not None else None) or "unknown type"
        text = f"{block.title or 'a document'} ({kind}, {_kilobytes(block.size)})"
        return [Notice(what="document", text=text, record=record, detail=block.as_text)]
    if type(block) is Image:
        return [Notice(what="document", text="an image", record=record)]
    if type(block) is UnknownBlock:
        text = block.as_text or f"block of type {block.type_name}"
        return [Notice(what="unknown", text=text, record=record)]
    return []


_SHELL = frozenset({"id", "type", "role", "model", "usage", "stop_reason", "stop_sequence"})
"""What a message has besides its content."""


def _unreadable(record: User | Assistant) -> list[Notice]:
    """A message that has something, but nothing that this version can read as content."""
    message = record.data.get("message")
    parts = message if isinstance(message, dict) else {"": message}
    if not any(value for key, value in parts.items() if key not in _SHELL):
        return []
    what = "a reply" if type(record) is Assistant else "a message"
    read = f"{what} that could not be read ({_kilobytes(len(msgspec.json.encode(message)))})"
    return [Notice(what="unreadable", text=read, record=record)]


def _kilobytes(size: int) -> str:
    return f"{max(1, round(size / 1000)):,} kB"


def _retracted(record: User | ModelFallback) -> list[Notice]:
    """What the client took back: the lines stay in the file, but it does not resume with them."""
    number = len(record.retracted_message_uuids or ())
    text = f"{number:,} {'line' if number == 1 else 'lines'} before taken back by the client"
    return [Notice(what="informational", text=text, record=record)] if number else []


def _system_notices(record: System) -> list[Notice]:
    what, words = _TOLD_BY_SYSTEM.get(type(record), ("", lambda _: None))
    text = words(record)
    if text is None:  # the client showed its content, and hooks of 1.0.x have no subtype
        what, text = "informational" if record.subtype else "hook", plain(record.content or "").strip()
    notices = [Notice(what=what, text=text, record=record)] if text else []
    return notices + (_retracted(record) if isinstance(record, ModelFallback) else [])


def _local_command(record: LocalCommand) -> str:
    return command_line(record.text) if "<command-name>" in record.text else local_output(record.text)


def _stop_of_hook(record: StopHookSummary) -> str | None:
    is_told = record.prevented_continuation or record.failures
    return (record.stop_reason or "a stop hook failed") if is_told else None


def _hook_on_prompt(record: Informational) -> str | None:
    """Only hooks prevent that the client goes on."""
    words = " ".join(record.text.partition(PROMPT_BELOW)[0].split())
    return (words or "stopped by a hook") if record.prevent_continuation else None


def _attachment_notices(record: Attachment) -> list[Notice]:
    body = record.attachment
    if body is None:
        return []
    if isinstance(body, QueuedCommand):
        if queued_prompt(record) is not None:
            return [Notice(what="queued", text=record.text, record=record)]
        return [Notice(what="task", text=_first_line(record.text, tag="summary"), record=record, detail=record.text)]
    if type(body) is UnknownAttachment:
        return [Notice(what="unknown", text=body.as_text or f"attachment of type {body.type_name}", record=record)]
    for kind, what, words in _TOLD_BY_ATTACHMENT:
        if isinstance(body, kind) and (text := words(body)) is not None:
            detail = body.as_text if what == "document" else ""
            return [Notice(what=what, text=text, record=record, detail=detail)]
    return []


def _by_hook(outcome: str, body: HookBlockingError | HookStoppedContinuation) -> str:
    reason = f": {body.message.strip()}" if body.message and body.message.strip() else ""
    return f"{outcome} by {body.hook_name or 'a hook'}{reason}"


_TOLD_BY_ATTACHMENT: tuple[tuple[type, str, Callable[[Any], str | None]], ...] = (
    # What a stop hook told the model has a line of its own.
    (HookBlockingError, "hook", lambda body: _by_hook("blocked", body) if body.hook_event != "Stop" else None),
    (HookStoppedContinuation, "hook", lambda body: _by_hook("stopped", body)),
    (HookSystemMessage, "hook", lambda body: plain(body.as_text).strip()),
    (
        HookNonBlockingError,
        "hook",
        lambda body: plain(f"{body.hook_name or 'a hook'} failed: {body.stderr or ''}").strip(),
    ),
    (
        HookPermissionDecision,
        "hook",
        lambda body: f"{body.decision or 'decided'} by a hook ({body.hook_event or 'unknown event'})",
    ),
    (FileAttachment, "document", lambda body: body.display_path or body.filename or "a file"),
    (DirectoryAttachment, "document", lambda body: body.display_path or body.path or "a file"),
    (OutOfContext, "informational", lambda body: f"{body.removed_part} taken out of what the model sees"),
    (
        InstructionFilesNotLoaded,
        "informational",
        lambda body: f"instruction files not loaded: {', '.join(body.paths)}" if body.paths else None,
    ),
    (MemoryUpdate, "informational", lambda body: f"memory: {body.summary}" if body.summary else None),
)
"""What an attachment is shown as, and its words; None if there are none."""


def _compaction(record: CompactBoundary) -> str:
    sizes = compacted_sizes(record)
    trigger = record.compact_metadata.trigger if record.compact_metadata is not None else None
    return f"compacted ({trigger or 'unknown trigger'}) {sizes}" if sizes else "compacted"


def compacted_sizes(record: CompactBoundary) -> str:
    """`from 58,300 to 4,100 tokens`, or as much of it as the record has."""
    metadata = record.compact_metadata
    if metadata is None or metadata.pre_tokens is None:
        return ""
    after = f" to {metadata.post_tokens:,}" if metadata.post_tokens is not None else ""
    return f"from {metadata.pre_tokens:,}{after} tokens"


def _retry(record: ApiError) -> str:
    attempt = f" {record.retry_attempt}" if record.retry_attempt is not None else ""
    limit = f" of {record.max_retries}" if record.max_retries is not None else ""
    return f"{reason_to_retry(record)}, retry{attempt}{limit}"


_TOLD_BY_SYSTEM: dict[type, tuple[str, Callable[[Any], str | None]]] = {
    CompactBoundary: ("compacted", _compaction),
    ApiError: ("api_error", _retry),
    LocalCommand: ("command", _local_command),
    StopHookSummary: ("hook", _stop_of_hook),
    Informational: ("hook", _hook_on_prompt),
    AwaySummary: ("task", lambda record: plain(record.text)),
    System: (
        "unknown",
        lambda record: (record.text or f"system line of type {record.subtype}") if record.subtype else None,
    ),
}
"""What a line of the client is shown as, and its words; None if only its content tells it."""


def reason_to_retry(record: ApiError) -> str:
    """`API error 529 Overloaded`, as far as the record says so."""
    error: Any = parse_or_none(record.error) or parse_or_none(record.cause)
    error = error if isinstance(error, dict) else {"message": error}
    words, status = " ".join(str(error.get("formatted") or _innermost(error)).split()), str(error.get("status") or "")
    return " ".join(each for each in ("API error", "" if words.startswith(status) else status, words) if each)


def _innermost(error: Any) -> str:
    """The message of the error that a chain of errors begins with."""
    inner = error.get("error") or error.get("cause") if isinstance(error, dict) else None
    message = error.get("message") or error.get("code") if isinstance(error, dict) else error
    return _innermost(inner) if inner else str(message or "")


def _first_line(text: str, tag: str) -> str:
    """The one-line version of a notification: its summary tag, or its first line."""
    _, found, rest = text.partition(f"<{tag}>")
    inside = rest.partition(f"</{tag}>")[0] if found else text
    return inside.strip().partition("\n")[0]
