"""Reads what is new in a session's files and turns it into rows. Runs in worker processes: no database here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import sha256
from io import BytesIO
from typing import NamedTuple

import msgspec
from msgspec.structs import astuple, replace

from reread import lazy
from reread.billing import Prices, load_prices
from reread.changes import EARLIER, EDGE, digest, edges
from reread.errors import SourceError
from reread.features import friction  # lazy: its names are imported on use, and not every sync looks for friction
from reread.index.meta import FIELDS, RESULT
from reread.index.rows import BlockRow, FileBatch, FrictionBatch, PieceRow, SessionBatch
from reread.index.text_index import indexable_bytes
from reread.lazy import TYPE_CHECKING
from reread.loading import DISK, FileReader, load_session, records_of
from reread.records import AgentProgress, ProgressLine, QueueOperation, Record
from reread.rows.model import FileRows, TextRow
from reread.rows.of_session import (
    conversation_in,
    conversation_rows,
    file_rows,
    is_repeated,
    moment_row,
    output_text,
    session_row,
    text_rows,
    typed_prompts,
    without_surrogates,
)
from reread.rows.responses import agents_of
from reread.rows.session_row import SessionRow
from reread.safe.safe import compress
from reread.sessions import Conversation, Session
from reread.sessions.titles import title_parts
from reread.sessions.turns import traced_lines
from reread.sources import FileKind, SessionFiles, SourceFile, split
from reread.sources.lines import open_file
from reread.times import milliseconds
from reread.workers import give_back_memory, is_safe_to_fork

from . import closed_parts
from .closed_parts import ClosedPart
from .copies import session_name
from .jobs import FileJob, SessionJob

if TYPE_CHECKING:
    from reread.features.friction import detectors
    from reread.index import findings, session_files
else:  # not needed for a session that only grew
    lazy.bind(globals())


def friction_of(session: Session) -> FrictionBatch:
    """Moments of friction in a conversation and its agents, and the material for patterns over many sessions."""
    found = friction.find(session, with_agents=True)
    return FrictionBatch(
        moments=[moment_row(event) for event in found.events],
        outcome=tuple(without_surrogates(value) for value in astuple(found.outcome)),
        prompted=findings.packed_prompts(typed_prompts(session)),
        material=compress(_packed(replace(found.material, session="", project=None))),
        changes=[
            (without_surrogates(each.path), without_surrogates(each.uuid), milliseconds(each.time))
            for each in found.instructions
        ],
    )


def prepare_friction() -> None:
    """Called before workers start: patterns are imported and compiled once here instead of in each forked worker."""
    if is_safe_to_fork():
        detectors.compile_patterns()


def _packed(material: friction.Material) -> bytes:
    try:
        return msgspec.msgpack.encode(material)
    except UnicodeEncodeError:
        return msgspec.msgpack.encode(without_surrogates(msgspec.to_builtins(material)))


PIECE = 512 * 1024
"""Pieces of this size compress to 0.23 of it, and one line can still be read in half a millisecond."""
LARGE = 8_000_000
"""Sessions of this size are rare, and reading one leaves three times as much memory behind."""


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
    if job.files is None:
        found, batch = [(each, _aside(each, disk)) for each in job.changed], SessionBatch(session=None, files=[])
    else:
        found, batch = _grown_session(job, job.files) or _whole_session(job, job.files, disk)
    # Compressed only after the records are freed: held together, a large session would need a third more memory.
    if job.size >= LARGE:
        give_back_memory()
    batch.files.extend(_file_batch(each, file, bytes_of(each)) for each, file in found)
    return batch


_Read = tuple[list[tuple[FileJob, "ExtractedFile"]], SessionBatch]
"""What the files of a session tell, and the batch that they go into."""


def _whole_session(job: SessionJob, files: SessionFiles, disk: FileReader) -> _Read:
    prices = load_prices(job.prices)
    session = load_session(files, job.orphans, disk, prices)
    found = [(each, _extracted(each, session, disk)) for each in (*job.changed, *_renamed_agents(job, session))]
    row = _row_of(session, job)
    moments = friction_of(session) if job.with_friction else None
    part = _closed(session, row, job, prices) if job.part is not None else b""
    return found, SessionBatch(session=row, files=[], friction=moments, part=part)


def _renamed_agents(job: SessionJob, session: Session) -> tuple[FileJob, ...]:
    """Files of agents whose name differs from the one they were read with: the call that started them came later."""
    named = ((each, conversation_in(session, each.file)) for each in job.known_agents)
    return tuple(each for each, agent in named if agent is not None and agents_of(agent) != each.agents)


def _grown_session(job: SessionJob, files: SessionFiles) -> _Read | None:
    """The rows of a session that only grew, made from its last lines; None where all of it must be read."""
    if not job.part:
        return None
    prices = load_prices(job.prices)
    part = closed_parts.unpacked(job.part, prices)
    tail = closed_parts.tail_of(part, files, prices) if part is not None else None
    if part is None or tail is None:
        return None
    found = [(each, _of_lines(each, tail, part)) for each in job.changed]
    row = _row_of(tail, job)
    closed = _closed(tail, row, job, prices, part)
    return found, SessionBatch(session=part.row_with(row, title_parts(tail)), files=[], part=closed)


def _closed(
    session: Session, row: SessionRow, job: SessionJob, prices: Prices, before: ClosedPart | None = None
) -> bytes:
    part = closed_parts.closed_part(session, row, lambda rest: _row_of(rest, job), prices, before)
    return closed_parts.packed(part) if part is not None else b""


def _take_backups(job: SessionJob, session: int, bytes_of: Callable[[FileJob], _NewBytes]) -> SessionBatch:
    """Backups are kept but not read for rows: they contain no conversation."""
    batch = SessionBatch(session=None, files=[], backup_of=session, unread=[])
    for each in job.changed:
        try:
            batch.files.append(_file_batch(each, _NOTHING, bytes_of(each)))
        except SourceError as problem:
            batch.unread.append((str(problem.path), problem.reason))
    return batch


class ExtractedFile(NamedTuple):
    """What one file gained, as the archive stores it."""

    rows: FileRows
    blocks: list[BlockRow]
    withdrawn: Sequence[int] = ()
    since: int = 0
    """The rows come from the lines from this offset on; rows of earlier lines are in the index already."""


def _extracted(job: FileJob, session: Session, disk: FileReader) -> ExtractedFile:
    """The rows of a file of a session that was read whole."""
    if job.file.kind is FileKind.CAPTURE:
        rows = file_rows(session, job.file, job.key)
        return ExtractedFile(replace(rows, texts=[]), list(_blocks(rows.texts, job)))
    conversation = conversation_in(session, job.file)
    return _aside(job, disk) if conversation is None else _of_lines(job, conversation)


def _of_lines(job: FileJob, conversation: Conversation, part: ClosedPart | None = None) -> ExtractedFile:
    """The rows of a transcript, or of its lines behind a closed part."""
    records = conversation.records
    after = part.arguments_for(conversation) if part is not None else {}
    rows = conversation_rows(conversation, job.file, job.key, with_texts=False, **after)
    if part is not None:
        rows = replace(rows, lines=rows.lines + part.lines, malformed=rows.malformed + part.malformed)
    new = (record for record in records if job.indexed <= record.offset < EARLIER) if job.indexed else records
    blocks = list(_blocks(text_rows(new, conversation), job))
    return ExtractedFile(rows, blocks, _withdrawn(job, conversation), part.end if part is not None else 0)


def _aside(job: FileJob, disk: FileReader) -> ExtractedFile:
    """The rows of a file that is not a conversation: only spilled tool outputs have any, to be searchable."""
    rows = FileRows(file=job.key, kind=job.file.kind.value)
    if job.file.kind is not FileKind.TOOL_RESULT:
        return ExtractedFile(rows, [])
    try:
        content = disk.content(job.file)
    except OSError as error:
        raise _unreadable(job, error) from error
    text = output_text(job.file, content.decode("utf-8", "replace"), len(content))
    return ExtractedFile(rows, list(_blocks([text], job)))


_NOTHING = ExtractedFile(FileRows(file="", kind=FileKind.BACKUP.value), [])


def _file_batch(job: FileJob, found: ExtractedFile, new: _NewBytes) -> FileBatch:
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
        indexed=found.rows.end if found.rows.end is not None else new.end,
        head=new.head,
        tail=new.tail,
        pieces=new.pieces,
        rows=found.rows,
        blocks=found.blocks,
        withdrawn=found.withdrawn,
        results_wait=job.results_wait,
        since=found.since,
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
        found += [record.offset for record in old if is_repeated(record, conversation)]
    return found


def _is_claimed(record: Record, agents: frozenset[str]) -> bool:
    progress = record.progress if isinstance(record, ProgressLine) else None
    return isinstance(progress, AgentProgress) and progress.agent_id in agents


def _blocks(texts: Iterable[TextRow], job: FileJob) -> Iterator[BlockRow]:
    """A row for every text, even one of spaces; tool results that wait get their words later."""
    for text in texts:
        field = FIELDS.index(text.field)
        waits = field == RESULT and job.results_wait
        yield BlockRow(
            offset=text.offset,
            length=text.length,
            part=text.part,
            field=field,
            time=text.time,
            text=b"" if waits else indexable_bytes(text.text, with_parts=field != RESULT),
        )


def _row_of(session: Session, job: SessionJob) -> SessionRow:
    files = job.files or SessionFiles(session.id)
    folder = job.changed[0].file.folder if files.trunk is None else files.trunk.folder
    return session_row(session, session_name(session, files, job.foreign), str(folder))
