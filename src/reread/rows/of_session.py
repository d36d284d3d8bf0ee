"""Makes the rows of a session from the session alone: one function for every store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import Any, TypeVar
from zlib import crc32

import msgspec
from msgspec.structs import replace

from reread import sources
from reread.billing.response import is_unique
from reread.changes import EARLIER
from reread.features import friction  # lazy: its names are imported on use, and not every sync looks for friction
from reread.features.cache_rebuilds import Chain
from reread.features.search_text import Field, texts_of
from reread.features.tool_use import paths_of
from reread.records import Assistant, ProgressLine, QueueOperation, Record, RedactedThinking, Unknown
from reread.records.conversation import ApiMessage
from reread.sessions import Conversation, Prompt, Session, SessionCapture, Thought, completed
from reread.sessions.calls import call_identity, call_names
from reread.sessions.client_facts import client_facts
from reread.sessions.driver import driver_of, opening_of
from reread.sessions.titles import title_parts
from reread.sources import FileKind, SourceFile
from reread.sources.find import SourcePlace
from reread.times import milliseconds

from .groups import grouped
from .limit_values import limit_rows
from .model import (
    EMPTY,
    REDACTED,
    SIGNED,
    WITH_TEXT,
    CallRow,
    FileRows,
    MomentRow,
    PromptRow,
    Rows,
    TextRow,
    ThoughtRow,
    TypedPrompt,
)
from .responses import client_total_rows, response_rows
from .session_row import SessionRow


def rows_of(
    session: Session,
    files: Sequence[SourceFile] = (),
    *,
    name: str | None = None,
    with_texts: bool = True,
    with_moments: bool = True,
) -> Rows:
    """What a session amounts to. `files` are those it was read from, if whoever calls knows more of them than their
    paths; `name` is its id, if its folder has another session of the id in its lines.

    Texts of a file that is no conversation (a tool's output with a file of its own) are not in the session: see
    `output_text`.
    """
    files = files or _files_of(session)
    trunk = next((file for file in files if file.kind is FileKind.TRANSCRIPT), files[0])
    return Rows(
        session=session_row(session, name or session.id, str(trunk.folder)),
        files=tuple(file_rows(session, file, with_texts=with_texts) for file in files),
        moments=tuple(moment_rows(session)) if with_moments else (),
        typed=tuple(typed_prompts(session)),
    )


def _files_of(session: Session) -> list[SourceFile]:
    """The files that a session was read from, or names in their place for one that was made of records alone."""
    agents = [(agent, SourcePlace(FileKind.SUBAGENT, None, agent)) for agent in session.agents_with_files]
    alone = [(session.id, _TRANSCRIPT), *agents]
    known = [(path, sources.place(path) or _TRANSCRIPT) for path in session.files]
    return [SourceFile(name, *place, 0, 0) for name, place in known or alone]


_TRANSCRIPT = SourcePlace(FileKind.TRANSCRIPT)


def file_rows(session: Session, file: SourceFile, name: str | None = None, *, with_texts: bool = True) -> FileRows:
    """The rows of one file of a session, which calls it by its path or by `name`."""
    name = name or file.location
    if file.kind is FileKind.CAPTURE:
        return _capture_rows(session, file, name, with_texts)
    conversation = conversation_in(session, file)
    if conversation is None:
        return FileRows(file=name, kind=file.kind.value, agent=file.agent)
    return conversation_rows(conversation, file, name, with_texts=with_texts)


def conversation_rows(
    conversation: Conversation,
    file: SourceFile,
    name: str,
    *,
    with_texts: bool = True,
    measured: Iterable[Chain] | None = None,
    scope: str | None = None,
) -> FileRows:
    """The rows of the lines of a transcript. `measured` and `scope` say how its responses were measured and named, if
    these are only its last lines."""
    records = [record for record in conversation.records if record.offset < EARLIER]
    contexts, responses = response_rows(conversation, name, measured=measured, scope=scope)
    return FileRows(
        file=name,
        kind=file.kind.value,
        agent=file.agent,
        lines=len({record.line for record in records}),
        malformed=sum(map(is_malformed, records)),
        end=_end_of(records),
        is_torn=bool(records) and _is_unfinished(records[-1]),
        contexts=contexts,
        responses=responses,
        calls=call_rows(conversation),
        prompts=prompt_rows(conversation) if isinstance(conversation, Session) else [],
        thoughts=thought_rows(conversation),
        texts=list(text_rows(conversation.records, conversation)) if with_texts else [],
        client_totals=client_total_rows(conversation),
        # Runs of one session that were saved as streams are separate files, and their totals add up.
        client_totals_of=conversation.id if records and records[0].is_frame else "",
        limits=list(limit_rows(records)),
    )


def _end_of(records: Sequence[Record]) -> int:
    """Where the last whole line ends; half a line may follow a whole object on the same line."""
    if not records:
        return 0
    last = records[-1]
    return last.offset if _is_unfinished(last) else last.offset + len(last.raw) + 1


def _capture_rows(session: Session, file: SourceFile, name: str, with_texts: bool) -> FileRows:
    """The rows that a capture adds to the transcript of its session, and the cost that the client reported in it."""
    capture = next((each for each in session.captures if each.path == str(file.path)), None)
    if capture is None:
        return FileRows(file=name, kind=file.kind.value)
    captured, added = capture.told, added_by(capture, session)
    counted = Conversation(_counted(capture, session), id=session.id, prices=session.prices)
    contexts, responses = response_rows(counted, name)
    return FileRows(
        file=name,
        kind=file.kind.value,
        lines=captured.lines,
        malformed=captured.malformed,
        contexts=contexts,
        responses=responses,
        calls=call_rows(added),
        prompts=prompt_rows(added),
        thoughts=thought_rows(added),
        texts=list(text_rows(added.records, added)) if with_texts else [],
        client_totals=client_total_rows(Conversation(captured.records, id=session.id)),
        limits=list(limit_rows(captured.records)),
    )


def conversation_in(session: Session, file: SourceFile) -> Conversation | None:
    """The conversation in one file of a session; None for files without one."""
    if file.kind == FileKind.TRANSCRIPT:
        return session.of_transcript()
    if file.kind == FileKind.CAPTURE:
        return next((added_by(each, session) for each in session.captures if each.path == str(file.path)), None)
    if file.kind != FileKind.SUBAGENT:
        return None
    return session.agents_with_files.get(file.agent or file.path.stem)


def added_by(capture: SessionCapture, session: Session) -> Conversation:
    """What a capture adds to the transcript of its session."""
    return Conversation(completed(capture.added, capture.told.finals), id=session.id, prices=session.prices)


def _counted(capture: SessionCapture, session: Session) -> list[Record]:
    """Replies that the transcript lacks, and those for which it has only the first counts of the stream."""
    known: dict[str | None, int] = {}
    for message in map(_reply, session.transcript):
        if message.usage is not None:
            known[message.id] = max(known.get(message.id, 0), message.usage.output_tokens or 0)
    added = {id(record) for record in capture.added}
    told = capture.told.finals.items()
    finals = {name: final for name, final in told if (final.usage.output_tokens or 0) > known.get(name, -1)}
    records = [record for record in capture.told.records if id(record) in added or _reply(record).id in finals]
    # Frames do not name the git branch, and a response must keep its branch whichever of two files it is counted in.
    branch = next((record.git_branch for record in reversed(session.transcript) if record.git_branch), None)
    return [replace(record, git_branch=branch) for record in completed(records, finals)]


def _reply(record: Record) -> ApiMessage:
    return record.api_message if isinstance(record, Assistant) else _NO_REPLY


_NO_REPLY = ApiMessage()


def session_row(session: Session, name: str, folder: str) -> SessionRow:
    """The row of a session under this id: its description, and totals over all its files."""
    usage = session.total_usage
    started, ended = session.span
    parts = (session, *session.subagents)
    return SessionRow(
        uuid=name,
        folder=folder,
        project=session.project,
        title=session.title,
        started=milliseconds(started),
        ended=milliseconds(ended),
        versions=list(session.versions),
        models=sorted({request.model for part in parts for request in part.requests if request.model}),
        git_branches=_git_branches(session),
        prompts=len(session.prompts),
        turns=len(session.opening_lines),
        requests=usage.requests,
        tool_calls=len(session.every_call),
        tool_errors=session.failed_calls,
        thoughts=len(session.thinking()),
        output_tokens=usage.output_tokens,
        nanodollars=usage.nanodollars,
        unpriced_tokens=usage.unpriced_tokens,
        subagents=len(session.working_agents),
        branches=session.branch_count,
        compactions=len(session.compactions),
        bytes=session.size,
        driver=driver_of(session),
        opening=opening_of(session),
        second=title_parts(session).second(session.title),
        continued_in=client_facts(session).continued_in or None,
        **_team(session),
    )


def _team(session: Session) -> dict[str, str]:
    """A member's lines name the team and the member; who started it has called a tool with the team's name."""
    for record in session.records:
        if record.team_name:
            return {"team": record.team_name, "member": record.agent_name or ""}
    names = (call.fields.get("team_name") for call in session.tool_calls)
    return {"team": next((name for name in names if isinstance(name, str)), "")}


def _git_branches(session: Session) -> list[str]:
    parts = (session, *session.subagents)
    found = {record.git_branch for part in parts for record in part.records if record.git_branch}
    hinted = session.hint.git_branch if session.hint is not None else None
    return sorted(found or ({hinted} if hinted else set()))


def digest_of(*facts: object) -> int:
    """A 63-bit number that identifies a thing by these facts."""
    content = "\0".join(map(str, facts)).encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(content, digest_size=8).digest(), "big") >> 1


def call_digest(identity: tuple[object, ...] | None) -> int | None:
    """The digest of a call, equal for all its copies; None for a call that cannot be distinguished from others."""
    return None if identity is None else digest_of(*identity)


REPLAYING = "1.0."
"""Versions that wrote the history again, under new ids and times, whenever a session was resumed: lines they append can
change what earlier lines amount to."""


def call_rows(conversation: Conversation) -> list[CallRow]:
    """The rows of tool calls, each call once."""
    found: dict[str, CallRow] = {}
    for name, call in call_names(conversation.tool_calls):
        record, call_id = call.record, call.block.id
        began = record.time
        time = milliseconds(began)
        found[name] = CallRow(
            id=name,
            name=call.name,
            status=call.status.value,
            time=time,
            seconds=call.seconds_since(began),
            path=next(iter(paths_of(call)), None),
            digest=call_digest(call_identity(call_id, time)),
            offset=record.offset,
            length=len(record.raw),
        )
    return list(found.values())


def prompt_rows(conversation: Conversation) -> list[PromptRow]:
    answers = _answers(conversation)
    rows = []
    for prompt, part in _numbered(conversation.prompts):
        record, time = prompt.record, milliseconds(prompt.time)
        digest = _prompt_digest(prompt, time, answers.get(id(record)))
        rows.append(PromptRow(offset=record.offset, part=part, length=len(record.raw), time=time, digest=digest))
    return rows


OfLine = TypeVar("OfLine", Prompt, Thought)


def _numbered(each: Iterable[OfLine]) -> Iterator[tuple[OfLine, int]]:
    """With their numbers among those of the same line, which follow each other."""
    by_line = grouped(each, lambda one: one.record.offset)
    return ((one, number) for same in by_line.values() for number, one in enumerate(same))


def _prompt_digest(prompt: Prompt, time: int | None, answer: str | None) -> int | None:
    """Copies keep the time of a line, except those a resume by 1.0.x writes: they keep only the id of the answer."""
    if answer is not None:
        return digest_of(answer, prompt.text)
    if time is not None:
        return digest_of(time, prompt.text)
    return digest_of(prompt.uuid) if prompt.uuid is not None else None


def _answers(conversation: Conversation) -> dict[int, str]:
    """The id of the first API message after each line of a 1.0.x client, by the `id()` of the line's record."""
    found: dict[int, str] = {}
    answer: str | None = None
    if not any(version.startswith(REPLAYING) for version in conversation.versions):
        return found
    for record in reversed(conversation.records):
        name = record.api_message.id if isinstance(record, Assistant) else None
        if name is not None and is_unique(name):
            answer = name
        elif answer is not None and (record.version or "").startswith(REPLAYING):
            found[id(record)] = answer
    return found


def thought_rows(conversation: Conversation) -> list[ThoughtRow]:
    rows = []
    for thought, part in _numbered(conversation.thoughts):
        record = thought.record
        time, text = milliseconds(record.time), thought.text
        rows.append(
            ThoughtRow(
                offset=record.offset,
                part=part,
                length=len(record.raw),
                time=time,
                state=_state(thought, text),
                characters=len(text),
                digest=_thought_digest(thought, text, time),
            )
        )
    return rows


def _state(thought: Thought, text: str) -> int:
    if thought.is_redacted:
        return REDACTED
    if text:
        return WITH_TEXT
    return SIGNED if thought.is_signed else EMPTY


def _thought_digest(thought: Thought, text: str, time: int | None) -> int | None:
    """Made of the API's message id, which survives every copy; without one, of the time and the words."""
    block = thought.block
    words = text or (block.data if isinstance(block, RedactedThinking) else block.signature)
    name = thought.message_id
    if name is not None and is_unique(name):
        return digest_of(name, words)
    return digest_of(time, words) if time is not None else None


def is_repeated(record: Record, conversation: Conversation) -> bool:
    """Whether a line of the queue holds a prompt that has a line of its own."""
    return type(record) is QueueOperation and id(record) not in conversation.traceless


def text_rows(records: Iterable[Record], conversation: Conversation) -> Iterator[TextRow]:
    """Every text in some lines of a conversation, even one of spaces."""
    by_progress = conversation.by_progress
    for line in records:
        record = by_progress.get(id(line), line) if type(line) is ProgressLine else line
        texts = texts_of(record)
        if texts and not is_repeated(line, conversation):
            time = milliseconds(record.time)
            for part, (field, text) in enumerate(texts):
                yield TextRow(
                    offset=record.offset,
                    part=part,
                    length=len(record.raw),
                    time=time,
                    uuid=record.uuid,
                    field=field.value,
                    text=text,
                )


def file_texts(session: Session, file: SourceFile, output: str | None = None) -> Iterator[TextRow]:
    """Every text in one file of a session; `output` is that of a tool's output with a file of its own."""
    if output is not None:
        return iter([output_text(file, output, len(output.encode("utf-8", "replace")))])
    conversation = conversation_in(session, file)
    return iter(()) if conversation is None else text_rows(conversation.records, conversation)


def output_text(file: SourceFile, text: str, length: int) -> TextRow:
    """The text of a tool's output that has a file of its own, of so many bytes."""
    return TextRow(
        offset=0, part=0, length=length, time=file.mtime_ns // 10**6, uuid=None, field=Field.RESULT.value, text=text
    )


def is_malformed(record: Record) -> bool:
    return type(record) is Unknown and record.malformed


def _is_unfinished(record: Record) -> bool:
    return isinstance(record, Unknown) and record.malformed and record.reason.startswith("unfinished")


def moment_rows(session: Session) -> Iterator[MomentRow]:
    """Moments of friction in a conversation and its agents."""
    return map(moment_row, friction.find_events(session, with_agents=True))


def moment_row(event: friction.Moment) -> MomentRow:
    """A moment of friction as a row."""
    return MomentRow(
        uuid=without_surrogates(event.uuid),
        agent=without_surrogates(event.agent),
        kind=event.kind.value,
        time=milliseconds(event.time),
        evidence=without_surrogates(event.evidence),
        confidence=event.confidence,
        cause=event.cause.value,
        about=without_surrogates(event.about),
        seconds=event.loss.seconds,
        tokens=event.loss.tokens,
        nanodollars=event.loss.nanodollars,
        details=_json(event.details),
        spent_first=event.loss.span[0] if event.loss.span is not None else None,
        spent_last=event.loss.span[1] if event.loss.span is not None else None,
    )


def typed_prompts(session: Session) -> Iterator[TypedPrompt]:
    for prompt in session.prompts:
        yield TypedPrompt(milliseconds(prompt.time), crc32(prompt.text.encode("utf-8", "surrogatepass")))


def _json(details: object) -> str:
    try:
        return msgspec.json.encode(details).decode()
    except UnicodeEncodeError:
        return msgspec.json.encode(without_surrogates(details)).decode()


def without_surrogates(value: Any) -> Any:
    """With a question mark for every lone surrogate, which no database accepts."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {without_surrogates(name): without_surrogates(each) for name, each in value.items()}
    return [without_surrogates(each) for each in value] if isinstance(value, list | tuple) else value
