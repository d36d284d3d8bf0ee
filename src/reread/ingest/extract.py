"""Reads what is new in a session's files and turns it into rows. Runs in worker processes: no database here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from reread.analyses.texts import Field, texts_of
from reread.billing import Response, load_prices
from reread.errors import SourceError
from reread.loading import DISK, Disk, load_session, records_of
from reread.records import Assistant, QueueOperation, Record, Unknown
from reread.sessions import Capture, Conversation, Session, completed
from reread.sources import Kind, SessionFiles, SourceFile, split
from reread.store.bytes_kept import remains
from reread.store.reading import StoredPiece
from reread.store.request_rows import response_rows
from reread.store.rows import (
    BlockRow,
    CallRow,
    Circumstance,
    FileBatch,
    FrictionBatch,
    PieceRow,
    PromptRow,
    SaidRow,
    SessionBatch,
    SessionRow,
    ThoughtRow,
)
from reread.store.safe import Safe, compress
from reread.store.tokens import indexable_bytes
from reread.times import milliseconds

from .friction import friction_of
from .jobs import EDGE, FileJob, SessionJob, digest
from .naming import name_of
from .said import said_rows
from .talk import added_by, call_rows, prompt_rows, thought_rows
from .workers import give_back_memory

PIECE = 512 * 1024
"""Pieces of this size shrink to 0.23 of it and still give one line in half a millisecond."""
LARGE = 8_000_000
"""Sessions of this size are few, and leave three times as much memory behind."""
_NUMBER = {field: number for number, field in enumerate(Field)}


def take(job: SessionJob, disk: Disk = DISK, *, is_kept: bool = False) -> SessionBatch:
    """Everything the archive must learn about a session; `is_kept` says that its bytes are in the safe already.

    Raises SourceError when a file cannot be read; backups that cannot are named in the batch.
    """
    if job.backup_of is not None:
        return _take_backups(job, job.backup_of, _kept_bytes(disk) if is_kept else _new_bytes)
    if job.gone and job.safe is not None:
        disk = DiskAndSafe(job.safe, {each.file.path: each.pieces for each in job.gone})
    bytes_of = _kept_bytes(disk) if is_kept else _new_bytes
    session, friction = None, None
    if job.files is None:
        found = [_side_rows(each, disk) for each in job.changed]
    else:
        session, found, friction = _session_and_rows(job, job.files, disk)
    # Only now, when the records are gone: beside a large session its compressed bytes would cost another third.
    if job.size >= LARGE:
        give_back_memory()
    files = [_file_batch(each, rows, bytes_of(each)) for each, rows in zip(job.changed, found, strict=True)]
    return SessionBatch(session=session, files=files, friction=friction)


def _take_backups(job: SessionJob, session: int, bytes_of: Callable[[FileJob], _Taken]) -> SessionBatch:
    """Kept and not read: what they hold is no conversation."""
    batch = SessionBatch(session=None, files=[], backup_of=session, unread=[])
    for each in job.changed:
        try:
            batch.files.append(_file_batch(each, _Rows([]), bytes_of(each)))
        except SourceError as problem:
            batch.unread.append((str(problem.path), problem.reason))
    return batch


class _Rows(NamedTuple):
    """What a file says."""

    blocks: list[BlockRow]
    indexed: int | None = None
    """Where its last whole line ends; None where the file is not read by lines."""
    lines: int = 0
    malformed: int = 0
    withdrawn: Sequence[int] = ()
    calls: Sequence[CallRow] = ()
    circumstances: Sequence[Circumstance] = ()
    responses: Sequence[Response] = ()
    said: Sequence[SaidRow] = ()
    said_of: str = ""
    """The session that was said of; empty for the one that the file belongs to."""
    prompts: Sequence[PromptRow] = ()
    thoughts: Sequence[ThoughtRow] = ()


def _session_and_rows(
    job: SessionJob, files: SessionFiles, disk: Disk
) -> tuple[SessionRow, list[_Rows], FrictionBatch]:
    session = load_session(files, job.strays, disk, load_prices(job.prices))
    agents = {agent.id: agent for agent in session.subagents if not agent.is_recorded_inline}
    found = []
    own = Session(session.transcript, id=session.id, prices=session.prices) if session.captures else session
    for each in job.changed:
        if each.file.kind is Kind.TRANSCRIPT:
            found.append(_transcript_rows(each, own))
        elif each.file.kind is Kind.CAPTURE:
            found.append(_capture_rows(each, session))
        elif each.file.kind is Kind.SUBAGENT and (each.file.agent or each.file.path.stem) in agents:
            found.append(_transcript_rows(each, agents[each.file.agent or each.file.path.stem]))
        else:
            found.append(_side_rows(each, disk))
    folder = job.changed[0].file.folder if files.trunk is None else files.trunk.folder
    return _session_row(session, name_of(session, files, job.of_others), folder), found, friction_of(session)


def _transcript_rows(job: FileJob, conversation: Conversation) -> _Rows:
    records = conversation.records
    readable, end = records, 0
    if records and _is_unfinished(records[-1]):  # it may stand behind a whole object on the same line
        readable, end = records[:-1], records[-1].offset
    elif records:
        end = records[-1].offset + len(records[-1].raw) + 1
    return _Rows(
        blocks=list(_blocks([record for record in records if record.offset >= job.indexed], conversation)),
        indexed=end,
        lines=len({record.line for record in records}),
        malformed=sum(type(record) is Unknown and record.malformed for record in readable),
        withdrawn=_withdrawn(job, conversation),
        calls=call_rows(conversation),
        prompts=prompt_rows(conversation) if isinstance(conversation, Session) else (),
        thoughts=thought_rows(conversation),
        **response_rows(conversation, job.key),
        said=said_rows(conversation),
        # Runs of one session that were saved as streams are files each, and add up.
        said_of=conversation.id if records and records[0].is_frame else "",
    )


def _capture_rows(job: FileJob, session: Session) -> _Rows:
    """What a capture adds to the transcript of its session, and what the client said of its own cost."""
    capture = next((each for each in session.captures if each.path == str(job.file.path)), None)
    if capture is None:
        return _Rows([])
    told = capture.told
    added = added_by(capture, session)
    counted = Conversation(_counted(capture, session), id=session.id, prices=session.prices)
    return _Rows(
        blocks=list(_blocks(list(added.records), added)),
        lines=told.lines,
        malformed=told.malformed,
        calls=call_rows(added),
        prompts=prompt_rows(added),
        thoughts=thought_rows(added),
        **response_rows(counted, job.key),
        said=said_rows(Conversation(told.records, id=session.id)),
    )


def _counted(capture: Capture, session: Session) -> list[Record]:
    """Replies that the transcript lacks, and those of which it has only the opening numbers."""
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
    told = [
        record
        for record in capture.told.records
        if id(record) in added
        or (isinstance(record, Assistant) and record.message is not None and record.message.id in finals)
    ]
    # No frame names the branch; which of two files a response is counted in must not take it out of its own.
    branch = next((record.git_branch for record in reversed(session.transcript) if record.git_branch), None)
    return [replace(record, git_branch=branch) for record in completed(told, finals)]


def _side_rows(job: FileJob, disk: Disk) -> _Rows:
    """A file that is no transcript: kept whole; spilled tool outputs can be searched."""
    if job.file.kind is not Kind.TOOL_RESULT:
        return _Rows([])
    try:
        content = disk.content(job.file)
    except OSError as error:
        raise _unreadable(job, error) from error
    text = indexable_bytes(content.decode("utf-8", "replace"), with_parts=False)
    time = job.file.mtime_ns // 10**6
    return _Rows([BlockRow(offset=0, length=len(content), part=0, field=_NUMBER[Field.RESULT], time=time, text=text)])


def _file_batch(job: FileJob, rows: _Rows, taken: _Taken) -> FileBatch:
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
        taken=taken.end,
        indexed=rows.indexed if rows.indexed is not None else taken.end,
        lines=rows.lines,
        malformed=rows.malformed,
        head=taken.head,
        tail=taken.tail,
        pieces=taken.pieces,
        blocks=rows.blocks,
        withdrawn=list(rows.withdrawn),
        calls=list(rows.calls),
        circumstances=list(rows.circumstances),
        responses=list(rows.responses),
        said=list(rows.said),
        said_of=rows.said_of,
        prompts=list(rows.prompts),
        thoughts=list(rows.thoughts),
    )


class _Taken(NamedTuple):
    """The bytes of a file since the last time, compressed; where they end, and digests of the edges of it all."""

    pieces: list[PieceRow]
    end: int
    head: bytes
    tail: bytes


def _new_bytes(job: FileJob) -> _Taken:
    if job.is_kept:
        return _Taken([], job.taken, job.head, job.tail)
    pieces: list[PieceRow] = []
    position = job.taken
    try:
        with job.file.path.open("rb") as file:
            head = file.read(EDGE)
            file.seek(job.taken)
            while raw := file.read(PIECE):
                frame = compress(raw)
                pieces.append(PieceRow(start=position, length=len(raw), sha256=sha256(raw).digest(), frame=frame))
                position += len(raw)
            if not position and job.file.kind is Kind.BACKUP:  # that a file was empty is worth knowing
                pieces.append(PieceRow(start=0, length=0, sha256=sha256().digest(), frame=compress(b"")))
            file.seek(max(0, position - EDGE))
            tail = file.read(min(EDGE, position))
    except OSError as error:
        raise _unreadable(job, error) from error
    return _Taken(pieces, position, digest(head[:position]), digest(tail))


def _unreadable(job: FileJob, error: OSError) -> SourceError:
    return SourceError(job.file.path, f"cannot be read ({error.strerror or error})")


def _kept_bytes(disk: Disk) -> Callable[[FileJob], _Taken]:
    def taken(job: FileJob) -> _Taken:
        content = disk.content(job.file)
        return _Taken([], len(content), digest(content[:EDGE]), digest(content[-EDGE:]))

    return taken


def _is_unfinished(record: Record) -> bool:
    return isinstance(record, Unknown) and record.malformed and record.reason.startswith("unfinished")


def _withdrawn(job: FileJob, conversation: Conversation) -> list[int]:
    """Lines of the queue that may have been indexed before their prompt came; only a new prompt can say one again."""
    if not any(prompt.record.offset >= job.indexed for prompt in conversation.prompts):
        return []
    old = (record for record in conversation.records if record.offset < job.indexed)
    return [record.offset for record in old if _is_said_again(record, conversation)]


def _is_said_again(record: Record, conversation: Conversation) -> bool:
    """Whether a line of the queue holds a prompt that has a line of its own."""
    return isinstance(record, QueueOperation) and id(record) not in conversation.traceless


def _blocks(records: list[Record], conversation: Conversation) -> Iterator[BlockRow]:
    for record in records:
        if _is_said_again(record, conversation):
            continue
        time = None
        for part, (field, text) in enumerate(texts_of(record)):
            words = indexable_bytes(text, with_parts=field is not Field.RESULT)
            if words:
                time = time if time is not None else milliseconds(record.time)
                yield BlockRow(
                    offset=record.offset,
                    length=len(record.raw),
                    part=part,
                    field=_NUMBER[field],
                    time=time,
                    text=words,
                )


def _session_row(session: Session, name: str, folder: Path) -> SessionRow:
    usage = session.total_usage
    started, ended = session.span
    parts = (session, *session.subagents)
    return SessionRow(
        uuid=name,
        folder=str(folder),
        project=session.project,
        title=session.title,
        started=milliseconds(started),
        ended=milliseconds(ended),
        versions=list(session.versions),
        models=sorted({request.model for part in parts for request in part.requests if request.model}),
        git_branches=sorted({record.git_branch for part in parts for record in part.records if record.git_branch}),
        prompts=len(session.prompts),
        turns=sum(turn.prompt is not None for turn in session.turns),
        requests=usage.requests,
        tool_calls=len(session.every_call),
        tool_errors=session.failed_calls,
        thoughts=len(session.thinking()),
        output_tokens=usage.output_tokens,
        nanodollars=usage.nanodollars,
        unpriced_tokens=usage.unpriced_tokens,
        subagents=len(session.working_agents),
        branches=len(session.branches),
        compactions=len(session.compactions),
        bytes=session.size,
    )


class DiskAndSafe(Disk):
    """Sources where they are, the safe where they are gone."""

    def __init__(self, safe: Path, pieces: Mapping[Path, Sequence[StoredPiece]]) -> None:
        self._safe = Safe(safe)
        self._pieces = pieces

    def records(self, file: SourceFile) -> Iterator[Record]:
        if file.path not in self._pieces:
            yield from super().records(file)
            return
        for line in split(self.content(file)):
            yield from records_of(line)

    def content(self, file: SourceFile) -> bytes:
        pieces = self._pieces.get(file.path)
        return super().content(file) if pieces is None else remains(self._safe, pieces).content
