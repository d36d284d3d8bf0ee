"""How the cost of one API response comes about: every line that tells of it, the one that counts, and its price.

Counts and home come from the ledger, so the sum is what reports count; the lines come from the safe, so they can be
shown when their source is gone.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING

from msgspec import Struct

from reread.billing import Derivation, Doubt, Prices
from reread.billing.report import Tokens, total, total_of
from reread.billing.response import ADVISOR, Response
from reread.records import Assistant
from reread.sessions import Conversation, Request, scope_of, with_final_counts
from reread.store import reading, responses
from reread.store.responses import TellingFile
from reread.store.usage import circumstances

if TYPE_CHECKING:
    from reread.store.keeping import SafeFiles

_KEPT = 8
"""Conversations of files kept in memory: copies of one response lie in few."""


class Verdict(StrEnum):
    """What became of a line that tells of a response."""

    CHOSEN = "chosen"
    LESS = "less output"
    EARLIER = "an earlier row of the same response"
    BESIDE = "a tie lost to a row of the main conversation"
    COPY = "a tie lost to the home copy"
    FARTHER = "a tie lost to a copy nearer to home"
    REPEAT = "repeats a line with the same uuid"


class SourceRow(Struct, frozen=True, kw_only=True):
    """A line that tells of a response."""

    line: int
    uuid: str | None
    time: datetime | None
    request_id: str | None
    session: str | None
    """As the line says: a fork may keep the name of what it copied."""
    model: str | None
    output_tokens: int
    verdict: Verdict


class ToldCopy(Struct, frozen=True, kw_only=True):
    """A file that tells of a response."""

    path: str
    session: str | None
    agent: str | None
    is_sidechain: bool
    time: datetime | None
    is_home: bool
    is_winner: bool
    rows: tuple[SourceRow, ...]


class Part(Struct, frozen=True, kw_only=True):
    """What has a price of its own: the response itself, or an advisor it asked."""

    id: str
    model: str | None
    """As the line names it."""
    path: str
    """The file whose counts are taken."""
    used: Response
    derivation: Derivation

    @property
    def tokens(self) -> Tokens:
        return total_of([(self.used, self.derivation.total)])


class ExplainedResponse(Struct, frozen=True, kw_only=True):
    id: str
    part_of: str | None
    """The response an advisor was asked in, when only the advisor is explained."""
    time: datetime | None
    session: str | None
    project: str | None
    git_branch: str | None
    agent: str | None
    version: str | None
    stop_reason: str | None
    copies: tuple[ToldCopy, ...]
    """Home first, then the nearest."""
    why_home: tuple[str, ...]
    parts: tuple[Part, ...]
    flags: tuple[str, ...]
    recorded: int | None
    """Nano-dollars that a client of 1.0.x wrote into the line; never counted."""

    @property
    def tokens(self) -> Tokens:
        return total(part.tokens for part in self.parts)

    @property
    def is_suspect(self) -> bool:
        return _FLAGS[Doubt.SUSPECT] in self.flags


_FLAGS = {Doubt.SUSPECT: "suspect_output", Doubt.PROVISIONAL: "provisional"}


class ResponseExplainer:
    """Explains responses of one state of the archive; files that were read stay in memory for the next one."""

    def __init__(self, connection: sqlite3.Connection, files: SafeFiles, prices: Prices) -> None:
        self._connection = connection
        self._files = files
        self._prices = prices
        self._requests_of = lru_cache(maxsize=_KEPT)(self._read)

    def explain(self, key: str) -> ExplainedResponse:
        """A response with the advisors it asked, or by a key such as `msg_x#advisor:1` the advisor alone."""
        whole = key.partition(ADVISOR)[0]
        parts = responses.parts_of(self._connection, whole)
        counted = parts[0]
        shown = parts if key == whole else [each for each in parts if each.key == key]
        files = responses.telling_files(self._connection, whole)
        known = circumstances(self._connection)
        how, where = known[counted.circumstance], known[counted.place]
        paths = {each.copy.file: each.path for each in files}
        made = tuple(self._part(each, paths) for each in shown)
        return ExplainedResponse(
            id=key,
            part_of=None if key == whole else whole,
            time=counted.at,
            session=files[0].session,
            project=where.project,
            git_branch=where.git_branch,
            agent=where.agent,
            version=how.version,
            stop_reason=how.stop_reason,
            copies=tuple(self._copies(files, counted)),
            why_home=tuple(_why_home([each.copy for each in files])),
            parts=made,
            flags=tuple(_flags(counted, made)) if key == whole else made[0].derivation.flags,
            recorded=counted.recorded if key == whole else None,
        )

    def _part(self, counted: Response, paths: dict[str, str]) -> Part:
        return Part(
            id=counted.key,
            model=counted.model,
            path=paths[counted.file],
            used=counted,
            derivation=self._prices.derive(counted, counted.model, counted.time),
        )

    def _copies(self, files: Sequence[TellingFile], counted: Response) -> Iterator[ToldCopy]:
        for each in files:
            yield ToldCopy(
                path=each.path,
                session=each.session,
                agent=each.agent if each.kind == "subagent" else None,
                is_sidechain=bool(each.copy.is_sidechain),
                time=each.copy.at,
                is_home=each.copy.file == counted.owner,
                is_winner=each.copy.file == counted.file,
                rows=tuple(self._rows(each, counted)),
            )

    def _rows(self, file: TellingFile, counted: Response) -> Iterator[SourceRow]:
        conversation, requests = self._requests_of(file.file)
        request = requests[counted.key]
        chosen = request.winner if file.copy.file == counted.file else None
        told = {row.uuid for row in request.lines if row.uuid is not None}
        own = {id(row) for row in request.lines}
        for row in conversation.records:
            if id(row) in own and isinstance(row, Assistant):
                yield _source_row(row, _verdict(row, chosen, counted))
            elif id(row) in conversation.repeats and row.uuid in told and isinstance(row, Assistant):
                yield _source_row(row, Verdict.REPEAT)

    def _read(self, file: int) -> tuple[Conversation, dict[str, Request]]:
        row = reading.file_by_id(self._connection, file)
        records = with_final_counts(tuple(self._files.records_of_row(row)))
        conversation = Conversation(records, id="", prices=self._prices)
        return conversation, {request.name_in(scope_of(records)): request for request in conversation.requests}


def _why_home(copies: Sequence[Response]) -> Iterator[str]:
    """The rules that decided between the copies, in their order; the owner comes first."""
    owner, *rivals = copies
    if not rivals:
        yield "the only copy"
    for rule, told in _RULES.items():
        alike = [each for each in rivals if told(each) == told(owner)]
        if len(alike) < len(rivals):
            yield rule
        rivals = alike


_RULES: dict[str, Callable[[Response], object]] = {
    "main before sidechain": lambda copy: bool(copy.is_sidechain),
    "earliest": lambda copy: copy.time,
    "earliest conversation": lambda copy: (copy.began, copy.ended),
    "beginning of the file": lambda copy: copy.head,
    "smaller file key": lambda copy: copy.file,
}


def _verdict(row: Assistant, chosen: Assistant | None, counted: Response) -> Verdict:
    if row is chosen:
        return Verdict.CHOSEN
    if _output(row) < counted.output:
        return Verdict.LESS
    if chosen is None:
        return Verdict.COPY if counted.file == counted.owner else Verdict.FARTHER
    return Verdict.BESIDE if row.is_sidechain and not chosen.is_sidechain else Verdict.EARLIER


def _output(row: Assistant) -> int:
    usage = row.message.usage if row.message is not None else None
    return (usage.output_tokens or 0) if usage is not None else 0


def _source_row(row: Assistant, verdict: Verdict) -> SourceRow:
    return SourceRow(
        line=row.line,
        uuid=row.uuid,
        time=row.time,
        request_id=row.request_id,
        session=row.session_id,
        model=row.message.model if row.message is not None else None,
        output_tokens=_output(row),
        verdict=verdict,
    )


def _flags(counted: Response, parts: Sequence[Part]) -> Iterator[str]:
    if counted.doubt:
        yield _FLAGS[Doubt(counted.doubt)]
    yield from dict.fromkeys(flag for part in parts for flag in part.derivation.flags)
