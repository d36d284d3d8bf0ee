"""How a cost is calculated: of one API response with its copies, or of a session with its agents and branches."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from reread.billing import Derivation, Doubt, Prices
from reread.billing.report import Tokens, total, total_of
from reread.billing.response import ADVISOR, Response
from reread.errors import BadInput, SourceError, UnknownSession, printable
from reread.index import ledger, read, sessions
from reread.index import usage_sums as usage_rows
from reread.index.ledger import ReportingFile
from reread.index.usage_sums import contexts
from reread.loading import load_session
from reread.records import Assistant
from reread.rows.groups import grouped
from reread.sessions import Conversation, Request, Session, scope_of, with_final_counts
from reread.sessions.rewritten import with_earlier

from .usage_report import ModelUse, shown_model

if TYPE_CHECKING:
    from reread.index.rows import FileRow
    from reread.index.session_files import SessionFileReader
    from reread.index.sessions import StoredSession
    from reread.rows.model import RequestContext


_KEPT = 8
"""How many files' conversations stay in memory; copies of one response are in few files."""


class Verdict(StrEnum):
    """How a line of a response was counted."""

    CHOSEN = "chosen"
    LESS = "less output"
    EARLIER = "an earlier row of the same response"
    BESIDE = "a tie lost to a row of the main conversation"
    COPY = "a tie lost to the home copy"
    FARTHER = "a tie lost to a copy nearer to home"
    REPEAT = "repeats a line with the same uuid"


class SourceRow(Struct, frozen=True, kw_only=True):
    """A line of a response."""

    line: int
    uuid: str | None
    time: datetime | None
    request_id: str | None
    session: str | None
    """As the line names it: a fork may keep the name of the session that it copied."""
    model: str | None
    output_tokens: int
    verdict: Verdict


class CopyInFile(Struct, frozen=True, kw_only=True):
    """A file with lines of a response."""

    path: str
    session: str | None
    agent: str | None
    is_sidechain: bool
    time: datetime | None
    is_home: bool
    is_winner: bool
    rows: tuple[SourceRow, ...]


class CostPart(Struct, frozen=True, kw_only=True):
    """A part with a price of its own: the response itself, or an advisor that it asked."""

    id: str
    model: str | None
    """As the line names it."""
    path: str
    """The file whose counts are used."""
    used: Response
    derivation: Derivation

    @property
    def tokens(self) -> Tokens:
        return total_of([(self.used, self.derivation.total)])


class ExplainedResponse(Struct, frozen=True, kw_only=True):
    id: str
    part_of: str | None
    """The response that asked an advisor, if only the advisor is explained."""
    time: datetime | None
    session: str | None
    project: str | None
    git_branch: str | None
    agent: str | None
    version: str | None
    stop_reason: str | None
    copies: tuple[CopyInFile, ...]
    """The home copy first, then the nearest."""
    why_home: tuple[str, ...]
    parts: tuple[CostPart, ...]
    flags: tuple[str, ...]
    recorded: int | None
    """The cost in nano-dollars that a client of 1.0.x wrote into the line; never counted."""

    @property
    def tokens(self) -> Tokens:
        return total(part.tokens for part in self.parts)

    @property
    def is_suspect(self) -> bool:
        return _FLAGS[Doubt.SUSPECT] in self.flags


_FLAGS = {Doubt.SUSPECT: "suspect_output", Doubt.PROVISIONAL: "provisional"}


class ResponseExplainer:
    """Explains responses. Keeps the last files it read in memory, so it is valid only until the archive changes."""

    def __init__(self, connection: sqlite3.Connection, files: SessionFileReader, prices: Prices) -> None:
        self._connection = connection
        self._files = files
        self._prices = prices
        self._requests_of = lru_cache(maxsize=_KEPT)(self._read)

    def explain(self, key: str) -> ExplainedResponse:
        """A response with the advisors that it asked, or for a key such as `msg_x#advisor:1` the advisor alone."""
        whole = key.partition(ADVISOR)[0]
        parts = ledger.parts_of(self._connection, whole)
        counted = parts[0]
        shown = parts if key == whole else [each for each in parts if each.key == key]
        files = ledger.reporting_files(self._connection, whole)
        known = contexts(self._connection)
        how, where = known[counted.context], known[counted.owner_context]
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

    def _part(self, counted: Response, paths: dict[str, str]) -> CostPart:
        return CostPart(
            id=counted.key,
            model=counted.model,
            path=paths[counted.file],
            used=counted,
            derivation=self._prices.derive(counted, counted.model, counted.time),
        )

    def _copies(self, files: Sequence[ReportingFile], counted: Response) -> Iterator[CopyInFile]:
        for each in files:
            yield CopyInFile(
                path=each.path,
                session=each.session,
                agent=each.agent if each.kind == "subagent" else None,
                is_sidechain=bool(each.copy.is_sidechain),
                time=each.copy.at,
                is_home=each.copy.file == counted.owner,
                is_winner=each.copy.file == counted.file,
                rows=tuple(self._rows(each, counted)),
            )

    def _rows(self, file: ReportingFile, counted: Response) -> Iterator[SourceRow]:
        conversation, requests = self._requests_of(file.file)
        request = requests[counted.key]
        chosen = request.winner if file.copy.file == counted.file else None
        uuids = {row.uuid for row in request.lines if row.uuid is not None}
        own = {id(row) for row in request.lines}
        for row in conversation.records:
            if id(row) in own and isinstance(row, Assistant):
                yield _source_row(row, _verdict(row, chosen, counted))
            elif id(row) in conversation.repeats and row.uuid in uuids and isinstance(row, Assistant):
                yield _source_row(row, Verdict.REPEAT)

    def _read(self, file: int) -> tuple[Conversation, dict[str, Request]]:
        row = read.file_by_id(self._connection, file)
        lines = with_earlier(self._files.records_of_row(row), self._files.earlier_of(row))
        records = with_final_counts(tuple(lines))
        conversation = Conversation(records, id="", prices=self._prices)
        return conversation, {request.name_in(scope_of(records)): request for request in conversation.requests}


def _why_home(copies: Sequence[Response]) -> Iterator[str]:
    """The rules that decided between the copies, in order; `copies` has the owner first."""
    owner, *rivals = copies
    if not rivals:
        yield "the only copy"
    for rule, reason in _RULES.items():
        alike = [each for each in rivals if reason(each) == reason(owner)]
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
    usage = row.api_message.usage
    return (usage.output_tokens or 0) if usage is not None else 0


def _source_row(row: Assistant, verdict: Verdict) -> SourceRow:
    return SourceRow(
        line=row.line,
        uuid=row.uuid,
        time=row.time,
        request_id=row.request_id,
        session=row.session_id,
        model=row.api_message.model,
        output_tokens=_output(row),
        verdict=verdict,
    )


def _flags(counted: Response, parts: Sequence[CostPart]) -> Iterator[str]:
    if counted.doubt:
        yield _FLAGS[Doubt(counted.doubt)]
    yield from dict.fromkeys(flag for part in parts for flag in part.derivation.flags)


DEAREST = 10


class ResponseCost(Struct, frozen=True, kw_only=True):
    """A response in a list, including the advisors that it asked."""

    id: str
    time: datetime | None
    model: str | None
    is_suspect: bool
    tokens: Tokens


class AgentCost(Struct, frozen=True, kw_only=True):
    """What an agent of a session used. Agents of 1.0.x, whose lines are in the session's own file, have no id."""

    id: str | None
    name: str | None
    tokens: Tokens


class CountedElsewhere(Struct, frozen=True, kw_only=True):
    """Responses that a session repeats but that count for another session."""

    session: str | None
    title: str | None
    tokens: Tokens


class BranchCost(Struct, frozen=True, kw_only=True):
    id: str
    is_active: bool
    tokens: Tokens


class ExplainedSession(Struct, frozen=True, kw_only=True):
    """A session's cost by parts that add up: models to `tokens`; `own` and agents to `tokens`; the branches of a
    rewound session to `own`."""

    id: str
    title: str
    project: str | None
    paths: tuple[str, ...]
    """Its transcripts, including those of agents, of every copy of the session."""
    tokens: Tokens
    models: tuple[ModelUse, ...]
    own: Tokens
    agents: tuple[AgentCost, ...]
    elsewhere: tuple[CountedElsewhere, ...]
    branches: tuple[BranchCost, ...]
    """The active branch first; empty if nothing was rewound."""
    dearest: tuple[ResponseCost, ...]
    responses: int
    suspect: int
    provisional: int


def grouped_responses(counted: Iterable[Response]) -> list[ResponseCost]:
    """Responses including what their advisors used, in the order given."""
    by_response = grouped(counted, lambda each: each.response)
    return [
        ResponseCost(
            id=key,
            time=parts[0].at,
            model=next((part.model for part in parts if part.key == key), None),
            is_suspect=any(part.doubt == Doubt.SUSPECT for part in parts),
            tokens=_sum(parts),
        )
        for key, parts in by_response.items()
    ]


def _sum(counted: Iterable[Response]) -> Tokens:
    return total_of((each, each.nanodollars) for each in counted)


def _models(counted: Iterable[Response], prices: Prices) -> Iterator[ModelUse]:
    by_model = grouped(counted, lambda each: shown_model(each.model, prices))
    for model in sorted(by_model, key=lambda name: name or ""):
        inside = by_model[model]
        yield ModelUse(model=model, tokens=_sum(inside), suspect=_suspect(inside))


def _suspect(counted: Iterable[Response]) -> int:
    return sum(each.doubt == Doubt.SUSPECT for each in counted)


def _agent_id(row: FileRow) -> str:
    return row.agent or Path(row.path).stem


def _agents(
    counted: Iterable[Response], agents: dict[str, str], known: dict[int, RequestContext]
) -> Iterator[AgentCost]:
    """Agents, the most expensive first. Each subagent file is an agent; in the session's own file, agents are
    distinguished only by name."""
    theirs = (each for each in counted if each.owner in agents or each.is_sidechain)
    by_agent = grouped(theirs, lambda each: (agents.get(each.owner), known[each.owner_context].agent))
    found = [AgentCost(id=number, name=name, tokens=_sum(parts)) for (number, name), parts in by_agent.items()]
    yield from sorted(found, key=lambda each: -(each.tokens.nanodollars or 0))


def _conversation(session: Session, row: FileRow) -> Conversation | None:
    if row.kind == "transcript":
        return session
    name = _agent_id(row) if row.kind == "subagent" else None
    return next((each for each in session.subagents if each.id == name and not each.is_recorded_inline), None)


def _branches_of(
    conversation: Conversation, file: FileRow, by_place: dict[tuple[str, str], list[Response]]
) -> Iterator[BranchCost]:
    branch_of = {
        id(record): branch.id for branch in conversation.branches for turn in branch.turns for record in turn.records
    }
    inside: dict[str | None, list[Response]] = {}
    scope = scope_of(conversation.transcript if isinstance(conversation, Session) else conversation.records)
    for request in conversation.requests:
        name = branch_of.get(id(request.lines[0]))
        inside.setdefault(name, []).extend(by_place.get((file.key, request.name_in(scope)), ()))
    for branch in conversation.branches:
        is_agents = branch.active and not isinstance(conversation, Session)
        name = f"{conversation.id}@{branch.id}" if is_agents else branch.id
        yield BranchCost(id=name, is_active=branch.active, tokens=_sum(inside.get(branch.id, ())))


_MOST_CANDIDATES = 8
_OF_RESPONSES = ("msg_", "req_")
"""Prefixes of ids that are not a session's."""


class SeveralResponses(Struct, frozen=True, kw_only=True):
    """Several responses with one id, as some gateways give; each can be explained by its own id."""

    id: str
    responses: tuple[ResponseCost, ...]

    @property
    def tokens(self) -> Tokens:
        return total(each.tokens for each in self.responses)


Explained = ExplainedResponse | SeveralResponses | ExplainedSession


class Explainer:
    """Explains the response or session with a given name. `find` finds a session or raises UnknownSession."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        files: SessionFileReader,
        prices: Prices,
        find: Callable[[str], StoredSession],
    ) -> None:
        self._connection = connection
        self._files = files
        self._prices = prices
        self._find = find
        self._responses = ResponseExplainer(connection, files, prices)

    def explain(self, name: str | Path) -> Explained:
        """Explains what has this name. Raises BadInput if nothing has it, or several unrelated responses match, and
        SourceError for a file that belongs to no session of the archive."""
        if isinstance(name, Path):
            return self._session(self._of_file(name))
        named = ledger.called(self._connection, name) if name else []
        if named:
            return self._several(name, named) if len(named) > 1 else self._responses.explain(named[0])
        session = None if name.startswith(_OF_RESPONSES) else self._session_called(name)
        if session is not None:
            return self._session(session)
        begun = ledger.beginning_with(self._connection, name) if name else []
        if len(begun) != 1:
            raise BadInput(_many(name, begun) if begun else _nothing(name))
        return self._responses.explain(begun[0])

    def _session(self, stored: StoredSession) -> ExplainedSession:
        """Explains a session together with its copies in other folders, which are the same session."""
        places = sessions.sessions(self._connection, ids=sessions.ids_called(self._connection, stored.row.uuid))
        rows = {row.id: row for each in places for row in read.files_of(self._connection, each.id)}
        counted = ledger.counted_in(self._connection, list(rows))
        agents = {row.key: _agent_id(row) for row in rows.values() if row.kind == "subagent"}
        own = [each for each in counted if each.owner not in agents and not each.is_sidechain]
        whole = grouped_responses(counted)
        return ExplainedSession(
            id=stored.row.uuid,
            title=stored.row.title,
            project=stored.row.project,
            paths=tuple(str(row.path) for row in rows.values() if row.kind in ("transcript", "subagent")),
            tokens=_sum(counted),
            models=tuple(_models(counted, self._prices)),
            own=_sum(own),
            agents=tuple(_agents(counted, agents, contexts(self._connection))),
            elsewhere=tuple(self._elsewhere(ledger.counted_elsewhere(self._connection, list(rows)))),
            branches=tuple(self._branches(places, counted)),
            dearest=tuple(sorted(whole, key=lambda each: -(each.tokens.nanodollars or 0))[:DEAREST]),
            responses=len(whole),
            suspect=_suspect(counted),
            provisional=sum(each.doubt == Doubt.PROVISIONAL for each in counted),
        )

    def _elsewhere(self, counted: Iterable[Response]) -> Iterator[CountedElsewhere]:
        session_of, titles = ledger.sessions_of_files(self._connection), usage_rows.titles(self._connection)
        for session, parts in grouped(counted, lambda each: session_of.get(each.owner)).items():
            title = titles[session][0] if session is not None else None
            yield CountedElsewhere(session=session, title=title, tokens=_sum(parts))

    def _branches(self, places: Iterable[StoredSession], counted: Iterable[Response]) -> Iterator[BranchCost]:
        """The costs of branches; only sessions that were rewound are read for this."""
        by_place = grouped(counted, lambda each: (each.owner, each.response))
        rewound = {home for (home, _), parts in by_place.items() if any(part.is_abandoned for part in parts)}
        for each in places:
            rows = read.files_of(self._connection, each.id)
            if each.row.branches < 2 and not rewound.intersection(row.key for row in rows):
                continue
            files = self._files.session_files(each.id, each.row.uuid)
            session = load_session(files, disk=self._files, prices=self._prices)
            for row in rows:
                conversation = _conversation(session, row)
                if conversation is not None and len(conversation.branches) > 1:
                    yield from _branches_of(conversation, row, by_place)

    def _session_called(self, name: str) -> StoredSession | None:
        try:
            return self._find(name)
        except UnknownSession:
            return None

    def _of_file(self, path: Path) -> StoredSession:
        number = ledger.session_of_file(self._connection, str(path))
        if number is None:
            raise SourceError(path, "is not a file of an archived session")
        [stored] = sessions.sessions(self._connection, ids=[number])
        return stored

    def _several(self, name: str, keys: Sequence[str]) -> SeveralResponses:
        counted = [part for key in keys for part in ledger.parts_of(self._connection, key)]
        return SeveralResponses(id=name, responses=tuple(grouped_responses(counted)))


def _nothing(name: str) -> str:
    of_agents = "; responses of agents that only progress lines tell of are not counted, so that they have no price"
    is_response = name.startswith(_OF_RESPONSES)
    return f"no message, request or session {printable(name)!r}{of_agents if is_response else ''}"


def _many(name: str, candidates: Sequence[str]) -> str:
    shown = ", ".join(map(printable, candidates[:_MOST_CANDIDATES]))
    more = ", ..." if len(candidates) > _MOST_CANDIDATES else ""
    return f"{printable(name)!r} could be any of {len(candidates)} responses: {shown}{more}"
