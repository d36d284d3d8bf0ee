"""Reads what is new in a session's files and turns it into rows. Runs in worker processes: no database here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from reread.analyses.files import paths_of
from reread.analyses.texts import Field, texts_of
from reread.errors import SourceError
from reread.loading import DISK, Disk, load_session, records_of
from reread.pricing import load_prices
from reread.records import QueueOperation, Record, Unknown
from reread.sessions import Conversation, Session, Status, ToolCall
from reread.sources import Kind, SessionFiles, SourceFile, split
from reread.store.rows import (
    BlockRow,
    CallRow,
    FileBatch,
    PieceRow,
    SessionBatch,
    SessionRow,
)
from reread.store.safe import Place, Safe, compress
from reread.store.tokens import indexable

from .jobs import EDGE, FileJob, SessionJob, digest
from .requests import milliseconds, request_rows

PIECE = 512 * 1024
"""Pieces of this size shrink to 0.23 of it and still give one line in half a millisecond."""
FIELDS = tuple(Field)


def take(job: SessionJob, disk: Disk = DISK, *, is_kept: bool = False) -> SessionBatch:
    """Everything the archive must learn about a session; `is_kept` says that its bytes are in the safe already.

    Raises SourceError when a file cannot be read.
    """
    bytes_of = _kept_bytes(disk) if is_kept else _new_bytes
    if job.gone and job.safe is not None:
        disk = DiskAndSafe(job.safe, {each.file.path: each.places for each in job.gone})
    if job.files is None:
        return SessionBatch(session=None, files=[_side_batch(each, disk, bytes_of(each)) for each in job.changed])
    session = load_session(job.files, job.strays, disk, load_prices(job.prices))
    agents = {agent.id: agent for agent in session.subagents if not agent.is_recorded_inline}
    batches = []
    for each in job.changed:
        if each.file.kind is Kind.TRANSCRIPT:
            batches.append(_transcript_batch(each, session, bytes_of(each)))
        elif each.file.kind is Kind.SUBAGENT and (each.file.agent or each.file.path.stem) in agents:
            batches.append(_transcript_batch(each, agents[each.file.agent or each.file.path.stem], bytes_of(each)))
        else:
            batches.append(_side_batch(each, disk, bytes_of(each)))
    folder = job.changed[0].file.folder if job.files.trunk is None else job.files.trunk.folder
    return SessionBatch(session=_session_row(session, _name(session, job.files), folder), files=batches)


def _name(session: Session, files: SessionFiles) -> str:
    """The session's id, unless the file is a copy of another that has the id for its name."""
    trunk = files.trunk
    is_copy = trunk is not None and files.id != session.id and (trunk.folder / f"{session.id}.jsonl").exists()
    return files.id if is_copy else session.id


def _transcript_batch(job: FileJob, conversation: Conversation, taken: _Taken) -> FileBatch:
    new = [record for record in conversation.records if record.offset >= job.indexed]
    readable = [record for record in conversation.records if not _is_unfinished(record)]
    last = readable[-1] if readable else None
    return FileBatch(
        **_place(job),
        taken=taken.end,
        indexed=last.offset + len(last.raw) + 1 if last is not None else 0,
        lines=len({record.line for record in conversation.records}),
        malformed=sum(isinstance(record, Unknown) and record.malformed for record in readable),
        head=taken.head,
        tail=taken.tail,
        pieces=taken.pieces,
        blocks=list(_blocks(new, conversation)),
        calls=[_call_row(call) for call in conversation.tool_calls if call.id is not None],
        **request_rows(conversation, job.key),
    )


def _side_batch(job: FileJob, disk: Disk, taken: _Taken) -> FileBatch:
    """A file that is no transcript: kept whole; spilled tool outputs can be searched."""
    blocks = []
    if job.file.kind is Kind.TOOL_RESULT:
        text = indexable(disk.content(job.file).decode("utf-8", "replace"), with_parts=False)
        field = FIELDS.index(Field.RESULT)
        blocks = [BlockRow(offset=0, length=taken.end, part=0, field=field, time=job.file.mtime_ns // 10**6, text=text)]
    return FileBatch(
        **_place(job),
        taken=taken.end,
        indexed=taken.end,
        lines=0,
        malformed=0,
        head=taken.head,
        tail=taken.tail,
        pieces=taken.pieces,
        blocks=blocks,
        calls=[],
        circumstances=[],
        requests=[],
    )


def _place(job: FileJob) -> dict[str, Any]:
    file = job.file
    return {
        "key": job.key,
        "source": job.source,
        "path": str(file.path),
        "kind": file.kind.value,
        "agent": file.agent,
        "workflow": file.workflow,
        "device": job.device,
        "inode": job.inode,
        "size": file.size,
        "mtime_ns": file.mtime_ns,
        "generation": job.generation,
        "is_rewritten": job.is_rewritten,
    }


class _Taken(NamedTuple):
    """The bytes of a file since the last time, compressed; where they end, and digests of the edges of it all."""

    pieces: list[PieceRow]
    end: int
    head: bytes
    tail: bytes


def _new_bytes(job: FileJob) -> _Taken:
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
            file.seek(max(0, position - EDGE))
            tail = file.read(min(EDGE, position))
    except OSError as error:
        raise SourceError(job.file.path, f"cannot be read ({error.strerror or error})") from error
    return _Taken(pieces, position, digest(head[:position]), digest(tail))


def _kept_bytes(disk: Disk) -> Callable[[FileJob], _Taken]:
    def taken(job: FileJob) -> _Taken:
        content = disk.content(job.file)
        return _Taken([], len(content), digest(content[:EDGE]), digest(content[-EDGE:]))

    return taken


def _is_unfinished(record: Record) -> bool:
    return isinstance(record, Unknown) and record.malformed and record.reason.startswith("unfinished")


def _blocks(records: list[Record], conversation: Conversation) -> Iterator[BlockRow]:
    for record in records:
        if isinstance(record, QueueOperation) and id(record) not in conversation.traceless:
            continue
        time = None
        for part, (field, text) in enumerate(texts_of(record)):
            words = indexable(text, with_parts=field is not Field.RESULT)
            if words:
                time = time if time is not None else milliseconds(record.time)
                yield BlockRow(
                    offset=record.offset,
                    length=len(record.raw),
                    part=part,
                    field=FIELDS.index(field),
                    time=time,
                    text=words,
                )


def _call_row(call: ToolCall) -> CallRow:
    return CallRow(
        id=call.id or "",
        name=call.name,
        status=call.status.value,
        time=milliseconds(call.time),
        seconds=call.seconds,
        path=next(iter(paths_of(call)), None),
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
        tool_calls=len(session.tool_calls),
        tool_errors=sum(call.status is Status.ERROR for call in session.tool_calls),
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

    def __init__(self, safe: Path, places: Mapping[Path, tuple[Place, ...]]) -> None:
        self._safe = Safe(safe)
        self._places = places

    def records(self, file: SourceFile) -> Iterator[Record]:
        if file.path not in self._places:
            yield from super().records(file)
            return
        for line in split(self.content(file)):
            yield from records_of(line)

    def content(self, file: SourceFile) -> bytes:
        places = self._places.get(file.path)
        return super().content(file) if places is None else b"".join(map(self._safe.read, places))
