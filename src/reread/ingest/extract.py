"""Reads what is new in a session's files and turns it into rows. Runs in worker processes: no database here."""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import sha256
from io import BytesIO
from itertools import starmap
from typing import Any, NamedTuple
from zlib import crc32

import msgspec
from msgspec.structs import astuple, replace

from reread import lazy
from reread.billing import Prices, Response, load_prices
from reread.errors import SourceError
from reread.features import friction  # lazy: its names are imported on use, and not every sync looks for friction
from reread.features.cache_rebuilds import chains
from reread.features.search_text import Field, FieldText, texts_of
from reread.features.tool_use import paths_of
from reread.index import read
from reread.index.conversation_rows import EMPTY, REDACTED, SIGNED, TOLD, CopyMarker, call_digest, digest_of, write_talk
from reread.index.database import transaction
from reread.index.ledger import agents_of, response_rows
from reread.index.meta import EDGE, digest, edges
from reread.index.rows import (
    BlockRow,
    CallRow,
    ClientTotalRow,
    FileBatch,
    FileRow,
    FrictionBatch,
    FrictionRow,
    PieceRow,
    PromptRow,
    RequestContext,
    SessionBatch,
    SessionRow,
    ThoughtRow,
)
from reread.index.sessions import StoredSession, sessions
from reread.index.text_index import indexable_bytes
from reread.loading import DISK, FileReader, load_session, records_of
from reread.records import (
    AgentProgress,
    Assistant,
    CostState,
    ProgressLine,
    QueueOperation,
    Record,
    RedactedThinking,
    Result,
    Unknown,
    parse_time,
)
from reread.records.client_input import nanodollars, number
from reread.safe.safe import compress
from reread.sessions import Conversation, Prompt, Session, SessionCapture, Subagent, Thought, completed
from reread.sessions.calls import MADE_BY_API, call_identity, call_names
from reread.sessions.titles import title_parts
from reread.sessions.turns import traced_lines
from reread.sources import FileKind, SessionFiles, SourceFile, split
from reread.sources.lines import open_file
from reread.times import milliseconds
from reread.workers import give_back_memory, is_safe_to_fork

from . import growth
from .growth import REPLAYING, ClosedPart, is_malformed
from .survey import FileJob, SessionJob, name_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from reread.features.friction import detectors
    from reread.index import findings, session_files
else:  # not needed for a session that only grew
    detectors = lazy.module("reread.features.friction.detectors")
    findings = lazy.module("reread.index.findings")
    session_files = lazy.module("reread.index.session_files")

_TELLS_COST = (CostState, Result)
_LONGEST_MS = 1e12
_MOST_TOKENS = 1e15
_TOKENS = {
    "input": "inputTokens",
    "output": "outputTokens",
    "cache_read": "cacheReadInputTokens",
    "cache_write": "cacheCreationInputTokens",
    "web_searches": "webSearchRequests",
}


def client_total_rows(conversation: Conversation) -> list[ClientTotalRow]:
    """The last total of every count. The client counts on when a session is resumed, or begins again at zero."""
    rows: list[ClientTotalRow] = []
    if not any(kind in conversation.beside for kind in _TELLS_COST):
        return rows
    for row in _reported_totals(conversation.records):
        before = next((i for i in reversed(range(len(rows))) if _is_same_count(rows[i], row)), None)
        if before is None:
            rows.append(row)
        elif row.nanodollars >= rows[before].nanodollars:
            rows[before] = replace(row, first=rows[before].first)
    return rows


def _is_same_count(known: ClientTotalRow, row: ClientTotalRow) -> bool:
    """Totals with the same start time are one count; without a start time, a total that falls begins another."""
    is_like = known.source == row.source and known.began == row.began
    return is_like and (row.began is not None or known.nanodollars <= row.nanodollars)


def _reported_totals(records: Sequence[Record]) -> Iterator[ClientTotalRow]:
    for position, record in enumerate(records):
        if not isinstance(record, _TELLS_COST):
            continue
        total = nanodollars(record.total_cost_usd)
        if total is None:
            continue
        began = lasted = None
        if isinstance(record, CostState):
            began = milliseconds(parse_time(record.start_time))
            lasted = number(record.total_duration, _LONGEST_MS)
        yield ClientTotalRow(
            source=record.type or "",
            began=began,
            time=_time_above(records, position) if began is None or lasted is None else began + int(lasted),
            first=total,
            nanodollars=total,
            models=_models(record.data.get("modelUsage")),
        )


def _time_above(records: Sequence[Record], position: int) -> int | None:
    """The time of the last line before that has one: lines with a total have no time of their own."""
    above = (records[i].time for i in range(position, -1, -1))
    return milliseconds(next((time for time in above if time is not None), None))


def _models(models: object) -> dict[str, dict[str, int]] | None:
    if not isinstance(models, dict):
        return None
    return {model: _figures(used) for model, used in models.items() if isinstance(used, dict)}


def _figures(used: dict[str, object]) -> dict[str, int]:
    found = {"nanodollars": nanodollars(used.get("costUSD"))}
    for name, theirs in _TOKENS.items():
        tokens = number(used.get(theirs), _MOST_TOKENS)
        found[name] = None if tokens is None else int(tokens)
    return {name: value for name, value in found.items() if value is not None}


def friction_of(session: Session) -> FrictionBatch:
    """Moments of friction in a conversation and its agents, and the material for patterns over many sessions."""
    found = friction.find(session, with_agents=True)
    return FrictionBatch(
        moments=[friction_row(event) for event in found.events],
        outcome=tuple(_clean(value) for value in astuple(found.outcome)),
        prompted=b"".join(starmap(struct.Struct(findings.PROMPTED).pack, prompts_typed(session))),
        material=compress(_packed(replace(found.material, session="", project=None))),
        changes=[(_text(each.path), _clean(each.uuid), milliseconds(each.time)) for each in found.instructions],
    )


def prepare_friction() -> None:
    """Called before workers start: patterns are imported and compiled once here instead of in each forked worker."""
    if is_safe_to_fork():
        detectors.compile_patterns()


def friction_row(event: friction.Moment) -> FrictionRow:
    """A moment as the archive stores it."""
    return FrictionRow(
        uuid=_clean(event.uuid),
        agent=_clean(event.agent),
        kind=event.kind.value,
        time=milliseconds(event.time),
        evidence=_text(event.evidence),
        confidence=event.confidence,
        cause=event.cause.value,
        about=_text(event.about),
        seconds=event.loss.seconds,
        tokens=event.loss.tokens,
        nanodollars=event.loss.nanodollars,
        details=_json(event.details),
        spent_first=event.loss.span[0] if event.loss.span is not None else None,
        spent_last=event.loss.span[1] if event.loss.span is not None else None,
    )


def prompts_typed(session: Session) -> Iterator[tuple[int, int]]:
    """When each prompt was typed, and the CRC-32 of its text; a fork repeats both."""
    untold = findings.NO_TIME
    for prompt in session.prompts:
        time = milliseconds(prompt.time)
        yield untold if time is None else time, crc32(prompt.text.encode("utf-8", "surrogatepass"))


def _packed(material: friction.Material) -> bytes:
    try:
        return msgspec.msgpack.encode(material)
    except UnicodeEncodeError:
        return msgspec.msgpack.encode(_whole(msgspec.to_builtins(material)))


def _json(details: object) -> str:
    try:
        return msgspec.json.encode(details).decode()
    except UnicodeEncodeError:
        return msgspec.json.encode(_whole(details)).decode()


def _whole(value: object) -> object:
    """With a question mark for every lone surrogate, which no database accepts."""
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, dict):
        return {_whole(name): _whole(each) for name, each in value.items()}
    return [_whole(each) for each in value] if isinstance(value, list | tuple) else value


def _text(text: str) -> str:
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _clean(value: Any) -> Any:
    return _text(value) if isinstance(value, str) else value


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
    found: dict[int, list[PromptRow]] = {}
    answers = _answers(conversation)
    for prompt in conversation.prompts:
        record, time = prompt.record, milliseconds(prompt.time)
        same = found.setdefault(record.offset, [])
        same.append(
            PromptRow(
                offset=record.offset,
                part=len(same),
                length=len(record.raw),
                time=time,
                digest=_prompt_digest(prompt, time, answers.get(id(record))),
            )
        )
    return [row for same in found.values() for row in same]


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
        name = record.message.id if isinstance(record, Assistant) and record.message is not None else None
        if name is not None and _is_made_by_api(name):
            answer = name
        elif answer is not None and (record.version or "").startswith(REPLAYING):
            found[id(record)] = answer
    return found


def _is_made_by_api(message: str) -> bool:
    return message.startswith("msg_") and len(message) >= MADE_BY_API


def thought_rows(conversation: Conversation) -> list[ThoughtRow]:
    found: dict[int, list[ThoughtRow]] = {}
    for thought in conversation.thoughts:
        record = thought.record
        time, text = milliseconds(record.time), thought.text
        same = found.setdefault(record.offset, [])
        same.append(
            ThoughtRow(
                offset=record.offset,
                part=len(same),
                length=len(record.raw),
                time=time,
                state=_state(thought, text),
                characters=len(text),
                digest=_thought_digest(thought, text, time),
            )
        )
    return [row for same in found.values() for row in same]


def _state(thought: Thought, text: str) -> int:
    if thought.is_redacted:
        return REDACTED
    if text:
        return TOLD
    return SIGNED if thought.is_signed else EMPTY


def _thought_digest(thought: Thought, text: str, time: int | None) -> int | None:
    """Made of the API's message id, which survives every copy; without one, of the time and the words."""
    block = thought.block
    words = text or (block.data if isinstance(block, RedactedThinking) else block.signature)
    name = thought.message_id
    if name is not None and _is_made_by_api(name):
        return digest_of(name, words)
    return digest_of(time, words) if time is not None else None


def add_talk(connection: sqlite3.Connection, load: Callable[[StoredSession], Session], numbers: Iterable[int]) -> None:
    """Writes prompts, thoughts and calls of sessions imported before their tables existed.

    The caller holds the safe's lock.
    """
    for session_id in numbers:
        for stored in sessions(connection, ids=[session_id]):
            session = load(stored)
            with transaction(connection):
                copies = CopyMarker(connection)
                for row in read.files_of(connection, session_id):
                    copies.will_change(row.id)
                    talk = conversation_in(session, row)
                    prompts = prompt_rows(talk) if talk is not None and row.kind != "subagent" else []
                    calls, thoughts = (call_rows(talk), thought_rows(talk)) if talk is not None else ([], [])
                    write_talk(connection, row.id, session_id, calls, prompts, thoughts)
                    copies.changed(row.id)
                copies.settle()


def conversation_in(session: Session, file: FileRow | SourceFile) -> Conversation | None:
    """The conversation in one file of a session; None for files without one."""
    if file.kind == FileKind.TRANSCRIPT:
        return session.of_transcript()
    if file.kind == FileKind.CAPTURE:
        return next((added_by(each, session) for each in session.captures if each.path == str(file.path)), None)
    if file.kind != FileKind.SUBAGENT:
        return None
    name = file.agent or file.path.stem
    return next((each for each in session.subagents if each.id == name and not each.is_recorded_inline), None)


def added_by(capture: SessionCapture, session: Session) -> Conversation:
    """What a capture adds to the transcript of its session."""
    return Conversation(completed(capture.added, capture.told.finals), id=session.id, prices=session.prices)


PIECE = 512 * 1024
"""Pieces of this size compress to 0.23 of it, and one line can still be read in half a millisecond."""
LARGE = 8_000_000
"""Sessions of this size are rare, and reading one leaves three times as much memory behind."""
_NUMBER = {field: number for number, field in enumerate(Field)}


def take(job: SessionJob, disk: FileReader = DISK, *, is_kept: bool = False) -> SessionBatch:
    """Everything the archive must learn about a session; `is_kept` says that its bytes are in the safe already.

    Raises SourceError when a file cannot be read; backups that cannot be read are listed in `SessionBatch.unread`.
    """
    held: dict[str, bytes] = {}
    if job.gone and job.safe is not None:
        disk = session_files.DiskAndSafe(job.safe, job.gone)
    elif disk is DISK and job.size < LARGE:
        disk = _ReadOnce(job.changed, held)
    bytes_of = _kept_bytes(disk) if is_kept else lambda each: _new_bytes(each, held.pop(each.file.location, None))
    if job.backup_of is not None:
        return _take_backups(job, job.backup_of, bytes_of)
    session, moments, part = None, None, b""
    changed = job.changed
    if job.files is None:
        found = [_side_rows(each, disk) for each in job.changed]
    elif (gone_on := _grown_session(job)) is not None:
        found, session, part = gone_on
    else:
        prices = load_prices(job.prices)
        loaded = load_session(job.files, job.strays, disk, prices)
        changed += _renamed_agents(job, loaded)
        found = file_rows(changed, loaded, disk)
        session = session_row(loaded, job)
        moments = friction_of(loaded) if job.with_friction else None
        part = _closed(loaded, session, job, prices) if job.part is not None else b""
        del loaded
    # Compressed only after the records are freed: held together, a large session would need a third more memory.
    if job.size >= LARGE:
        give_back_memory()
    files = [_file_batch(each, rows, bytes_of(each)) for each, rows in zip(changed, found, strict=True)]
    return SessionBatch(session=session, files=files, friction=moments, part=part)


def _renamed_agents(job: SessionJob, session: Session) -> tuple[FileJob, ...]:
    """Files of agents whose name differs from the one they were read with: the call that started them came later."""
    agents = _agents_by_id(session) if job.known_agents else {}
    named = ((each, agents.get(each.file.agent or each.file.path.stem)) for each in job.known_agents)
    return tuple(each for each, agent in named if agent is not None and agents_of(agent) != each.agents)


def _agents_by_id(session: Session) -> dict[str, Subagent]:
    """Agents that have files of their own."""
    return {agent.id: agent for agent in session.subagents if not agent.is_recorded_inline}


def _grown_session(job: SessionJob) -> tuple[list[ExtractedRows], SessionRow, bytes] | None:
    """The rows of a session that only grew, made from its last lines; None where all of it must be read."""
    if not job.part or job.files is None:
        return None
    prices = load_prices(job.prices)
    part = growth.unpacked(job.part, prices)
    tail = growth.tail_of(part, job.files, prices) if part is not None else None
    if part is None or tail is None:
        return None
    rows = [_transcript_rows(each, tail, with_words=True, part=part) for each in job.changed]
    row = session_row(tail, job)
    return rows, part.row_with(row, title_parts(tail)), _closed(tail, row, job, prices, part)


def _closed(
    session: Session, row: SessionRow, job: SessionJob, prices: Prices, before: ClosedPart | None = None
) -> bytes:
    part = growth.closed_part(session, row, lambda rest: session_row(rest, job), prices, before)
    return growth.packed(part) if part is not None else b""


def _take_backups(job: SessionJob, session: int, bytes_of: Callable[[FileJob], _NewBytes]) -> SessionBatch:
    """Backups are kept but not read for rows: they contain no conversation."""
    batch = SessionBatch(session=None, files=[], backup_of=session, unread=[])
    for each in job.changed:
        try:
            batch.files.append(_file_batch(each, ExtractedRows([]), bytes_of(each)))
        except SourceError as problem:
            batch.unread.append((str(problem.path), problem.reason))
    return batch


class ExtractedRows(NamedTuple):
    """The rows made of one file."""

    blocks: list[BlockRow]
    indexed: int | None = None
    """Where its last whole line ends; None where the file is not read by lines."""
    is_torn: bool = False
    """Whether half a line follows."""
    lines: int = 0
    malformed: int = 0
    withdrawn: Sequence[int] = ()
    calls: Sequence[CallRow] = ()
    contexts: Sequence[RequestContext] = ()
    responses: Sequence[Response] = ()
    client_totals: Sequence[ClientTotalRow] = ()
    client_totals_of: str = ""
    """The session that the totals are about; empty for the one that the file belongs to."""
    prompts: Sequence[PromptRow] = ()
    thoughts: Sequence[ThoughtRow] = ()
    since: int = 0
    """The rows come from the lines from this offset on; rows of earlier lines are in the index already."""


def file_rows(
    jobs: Iterable[FileJob], session: Session, disk: FileReader, *, with_words: bool = True
) -> list[ExtractedRows]:
    """The rows of each file of a session; `with_words=False` leaves out the words for the full-text index."""
    agents = _agents_by_id(session)
    found = []
    own = session.of_transcript()
    for each in jobs:
        if each.file.kind is FileKind.TRANSCRIPT:
            found.append(_transcript_rows(each, own, with_words))
        elif each.file.kind is FileKind.CAPTURE:
            found.append(_capture_rows(each, session, with_words))
        elif each.file.kind is FileKind.SUBAGENT and (each.file.agent or each.file.path.stem) in agents:
            found.append(_transcript_rows(each, agents[each.file.agent or each.file.path.stem], with_words))
        else:
            found.append(_side_rows(each, disk) if with_words else ExtractedRows([]))
    return found


def _transcript_rows(
    job: FileJob, conversation: Conversation, with_words: bool, part: ClosedPart | None = None
) -> ExtractedRows:
    """The rows of a transcript, or of its lines behind a closed part."""
    records, end = conversation.records, 0
    is_torn = bool(records) and _is_unfinished(records[-1])
    if is_torn:  # it may follow a whole object on the same line
        end = records[-1].offset
    elif records:
        end = records[-1].offset + len(records[-1].raw) + 1
    new = (record for record in records if record.offset >= job.indexed) if job.indexed else records
    return ExtractedRows(
        blocks=list(_blocks(new, conversation, job)) if with_words else [],
        indexed=end,
        is_torn=is_torn,
        lines=len({record.line for record in records}) + (part.lines if part is not None else 0),
        malformed=sum(map(is_malformed, records)) + (part.malformed if part is not None else 0),
        withdrawn=_withdrawn(job, conversation),
        calls=call_rows(conversation),
        prompts=prompt_rows(conversation) if isinstance(conversation, Session) else (),
        thoughts=thought_rows(conversation),
        **response_rows(conversation, job.key, **_after(part, conversation)),
        since=part.end if part is not None else 0,
        client_totals=client_total_rows(conversation),
        # Runs of one session that were saved as streams are separate files, and their totals add up.
        client_totals_of=conversation.id if records and records[0].is_frame else "",
    )


def _after(part: ClosedPart | None, conversation: Conversation) -> dict[str, Any]:
    """Arguments for `response_rows`: how the responses behind a closed part are named and measured."""
    if part is None:
        return {}
    return {"measured": chains(conversation, conversation.prices, after=part.walked), "scope": part.scope}


def _capture_rows(job: FileJob, session: Session, with_words: bool) -> ExtractedRows:
    """The rows that a capture adds to the transcript of its session, and the cost that the client reported in it."""
    capture = next((each for each in session.captures if each.path == str(job.file.path)), None)
    if capture is None:
        return ExtractedRows([])
    captured = capture.told
    added = added_by(capture, session)
    counted = Conversation(_counted(capture, session), id=session.id, prices=session.prices)
    return ExtractedRows(
        blocks=list(_blocks(list(added.records) if with_words else [], added, job)),
        lines=captured.lines,
        malformed=captured.malformed,
        calls=call_rows(added),
        prompts=prompt_rows(added),
        thoughts=thought_rows(added),
        **response_rows(counted, job.key),
        client_totals=client_total_rows(Conversation(captured.records, id=session.id)),
    )


def _counted(capture: SessionCapture, session: Session) -> list[Record]:
    """Replies that the transcript lacks, and those for which it has only the first counts of the stream."""
    known: dict[str | None, int] = {}
    for record in session.transcript:
        if isinstance(record, Assistant) and record.message is not None and record.message.usage is not None:
            name = record.message.id
            known[name] = max(known.get(name, 0), record.message.usage.output_tokens or 0)
    added = {id(record) for record in capture.added}
    finals = {
        name: final
        for name, final in capture.told.finals.items()
        if name not in known or known[name] < (final.usage.output_tokens or 0)
    }
    records = [
        record
        for record in capture.told.records
        if id(record) in added
        or (isinstance(record, Assistant) and record.message is not None and record.message.id in finals)
    ]
    # Frames do not name the git branch, and a response must keep its branch whichever of two files it is counted in.
    branch = next((record.git_branch for record in reversed(session.transcript) if record.git_branch), None)
    return [replace(record, git_branch=branch) for record in completed(records, finals)]


def _side_rows(job: FileJob, disk: FileReader) -> ExtractedRows:
    """The rows of a file that is not a conversation: only spilled tool outputs have any, to be searchable."""
    if job.file.kind is not FileKind.TOOL_RESULT:
        return ExtractedRows([])
    try:
        content = disk.content(job.file)
    except OSError as error:
        raise _unreadable(job, error) from error
    text = b"" if job.results_wait else indexable_bytes(content.decode("utf-8", "replace"), with_parts=False)
    time = job.file.mtime_ns // 10**6
    return ExtractedRows(
        [BlockRow(offset=0, length=len(content), part=0, field=_NUMBER[Field.RESULT], time=time, text=text)]
    )


def _file_batch(job: FileJob, rows: ExtractedRows, new: _NewBytes) -> FileBatch:
    file = job.file
    return FileBatch(
        key=job.key,
        source=job.source,
        path=str(file.path),
        kind=file.kind.value,
        agent=file.agent,
        workflow=file.workflow,
        device=job.device,
        inode=job.inode,
        size=file.size,
        mtime_ns=file.mtime_ns,
        generation=job.generation,
        is_rewritten=job.is_rewritten,
        taken=new.end,
        indexed=rows.indexed if rows.indexed is not None else new.end,
        lines=rows.lines,
        malformed=rows.malformed,
        head=new.head,
        tail=new.tail,
        pieces=new.pieces,
        blocks=rows.blocks,
        withdrawn=list(rows.withdrawn),
        calls=list(rows.calls),
        contexts=list(rows.contexts),
        responses=list(rows.responses),
        client_totals=list(rows.client_totals),
        client_totals_of=rows.client_totals_of,
        prompts=list(rows.prompts),
        thoughts=list(rows.thoughts),
        results_wait=job.results_wait,
        since=rows.since,
        is_kept=job.is_kept,
    )


class _NewBytes(NamedTuple):
    """The new bytes of a file, compressed; where they end, and digests of both ends of all that is taken."""

    pieces: list[PieceRow]
    end: int
    head: bytes
    tail: bytes


class _ReadOnce(FileReader):
    """Reads new files once for both their lines and the safe, holding their bytes in between.

    Not for large sessions: next to their records, their bytes would take as much memory again.
    """

    def __init__(self, jobs: Iterable[FileJob], held: dict[str, bytes]) -> None:
        self._new = {each.file.location for each in jobs if not each.taken and not each.is_kept}
        self._held = held

    def records(self, file: SourceFile) -> Iterator[Record]:
        if file.location not in self._new:
            yield from super().records(file)
            return
        with open_file(file.path) as source:
            content = self._held[file.location] = source.read()
        for line in split(content):
            yield from records_of(line)

    def content(self, file: SourceFile) -> bytes:
        content = super().content(file)
        if file.location in self._new:
            self._held[file.location] = content
        return content


def _new_bytes(job: FileJob, content: bytes | None = None) -> _NewBytes:
    """The bytes of a file that are not kept yet; `content` is the whole file if it was read already."""
    if job.is_kept:
        return _NewBytes([], job.taken, job.head, job.tail)
    pieces: list[PieceRow] = []
    position = job.taken
    try:
        with job.file.path.open("rb") if content is None else BytesIO(content) as file:
            if job.taken and edges(file, job.taken) != (job.head, job.tail):  # since it was looked at
                raise SourceError(job.file.path, "was rewritten while it was read; the next sync reads it again")
            file.seek(job.taken)
            while raw := file.read(PIECE):
                frame = compress(raw)
                pieces.append(PieceRow(start=position, length=len(raw), sha256=sha256(raw).digest(), frame=frame))
                position += len(raw)
            if not position and job.file.kind is FileKind.BACKUP:  # an empty backup is recorded too
                pieces.append(PieceRow(start=0, length=0, sha256=sha256().digest(), frame=compress(b"")))
            head, tail = edges(file, position)
    except OSError as error:
        raise _unreadable(job, error) from error
    return _NewBytes(pieces, position, head, tail)


def _unreadable(job: FileJob, error: OSError) -> SourceError:
    return SourceError(job.file.path, f"cannot be read ({error.strerror or error})")


def _kept_bytes(disk: FileReader) -> Callable[[FileJob], _NewBytes]:
    def nothing_new(job: FileJob) -> _NewBytes:
        content = disk.content(job.file)
        return _NewBytes([], len(content), digest(content[:EDGE]), digest(content[-EDGE:]))

    return nothing_new


def _is_unfinished(record: Record) -> bool:
    return isinstance(record, Unknown) and record.malformed and record.reason.startswith("unfinished")


def _withdrawn(job: FileJob, conversation: Conversation) -> list[int]:
    """Offsets of indexed lines that later lines repeat or take back.

    These are queued prompts that a new prompt or command repeats or a person took back, and progress lines of agents
    whose own file turned up.
    """
    if not job.indexed:
        return []
    old = [record for record in conversation.records if record.offset < job.indexed]
    found = [record.offset for record in old if _is_claimed(record, job.claimed)] if job.claimed else []
    new = (record for record in conversation.line if record.offset >= job.indexed)
    if QueueOperation in conversation.beside and any(any(traced_lines(record)) for record in new):
        found += [record.offset for record in old if _is_repeated(record, conversation)]
    return found


def _is_claimed(record: Record, agents: frozenset[str]) -> bool:
    progress = record.progress if isinstance(record, ProgressLine) else None
    return isinstance(progress, AgentProgress) and progress.agent_id in agents


def _is_repeated(record: Record, conversation: Conversation) -> bool:
    """Whether a line of the queue holds a prompt that has a line of its own."""
    return type(record) is QueueOperation and id(record) not in conversation.traceless


def texts_in(records: Iterable[Record], conversation: Conversation) -> Iterator[tuple[Record, int, FieldText]]:
    """Every text in some lines, with its number within the line."""
    by_progress = conversation.by_progress
    for line in records:
        record = by_progress.get(id(line), line) if type(line) is ProgressLine else line
        texts = texts_of(record)
        if texts and not _is_repeated(line, conversation):
            for part, text in enumerate(texts):
                yield record, part, text


def _blocks(records: Iterable[Record], conversation: Conversation, job: FileJob) -> Iterator[BlockRow]:
    """A row for every text, even one of spaces; tool results that wait get their words later."""
    for record, part, (field, text) in texts_in(records, conversation):
        is_result = field is Field.RESULT
        yield BlockRow(
            offset=record.offset,
            length=len(record.raw),
            part=part,
            field=_NUMBER[field],
            time=milliseconds(record.time),
            text=b"" if is_result and job.results_wait else indexable_bytes(text, with_parts=not is_result),
        )


def session_row(session: Session, job: SessionJob) -> SessionRow:
    """The row of a session: its description, and totals over all its files."""
    files = job.files or SessionFiles(session.id)
    folder = job.changed[0].file.folder if files.trunk is None else files.trunk.folder
    usage = session.total_usage
    started, ended = session.span
    parts = (session, *session.subagents)
    return SessionRow(
        uuid=name_of(session, files, job.of_others),
        folder=str(folder),
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
    )


def _git_branches(session: Session) -> list[str]:
    parts = (session, *session.subagents)
    found = {record.git_branch for part in parts for record in part.records if record.git_branch}
    hinted = session.hint.git_branch if session.hint is not None else None
    return sorted(found or ({hinted} if hinted else set()))
