"""What a session cost, and for what: its own turns, its agents, its branches, its dearest responses.

A response that several sessions tell of is counted in its home session alone; the others only name it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct

from reread.billing import Doubt, Prices
from reread.billing.report import Tokens, total_of
from reread.billing.response import Response
from reread.loading import load_session
from reread.sessions import Conversation, Session, scope_of
from reread.store import reading, responses, sessions
from reread.store import usage as ledger

from .usage import ModelUse, shown_model

if TYPE_CHECKING:
    from reread.store.keeping import SafeFiles
    from reread.store.rows import Circumstance, FileRow
    from reread.store.sessions import StoredSession

DEAREST = 10
Key = TypeVar("Key")


class ResponseCost(Struct, frozen=True, kw_only=True):
    """A response in a list of such, the advisors it asked included."""

    id: str
    time: datetime | None
    model: str | None
    is_suspect: bool
    tokens: Tokens


class AgentCost(Struct, frozen=True, kw_only=True):
    """What an agent of a session used; those of 1.0.x, whose lines stand in the session's own file, have no id."""

    id: str | None
    name: str | None
    tokens: Tokens


class Elsewhere(Struct, frozen=True, kw_only=True):
    """Responses that a session repeats and another one is charged with."""

    session: str | None
    title: str | None
    tokens: Tokens


class BranchCost(Struct, frozen=True, kw_only=True):
    id: str
    is_active: bool
    tokens: Tokens


class ExplainedSession(Struct, frozen=True, kw_only=True):
    """The parts add up: models to the sum, own and agents to the sum, branches of a rewound session to its own."""

    id: str
    title: str
    project: str | None
    paths: tuple[str, ...]
    """Its transcripts, those of agents too, in every place where it is kept."""
    tokens: Tokens
    models: tuple[ModelUse, ...]
    own: Tokens
    agents: tuple[AgentCost, ...]
    elsewhere: tuple[Elsewhere, ...]
    branches: tuple[BranchCost, ...]
    """The active branch first; empty where nothing was rewound."""
    dearest: tuple[ResponseCost, ...]
    responses: int
    suspect: int
    provisional: int


def explain_session(
    connection: sqlite3.Connection, files: SafeFiles, prices: Prices, stored: StoredSession
) -> ExplainedSession:
    """A session with all its places: a copy in another folder is the same session."""
    places = sessions.sessions(connection, ids=sessions.ids_called(connection, stored.row.uuid))
    rows = {row.id: row for each in places for row in reading.files_of(connection, each.id)}
    counted = responses.counted_in(connection, list(rows))
    agents = {row.key: _agent_id(row) for row in rows.values() if row.kind == "subagent"}
    own = [each for each in counted if each.owner not in agents and not each.is_sidechain]
    whole = grouped_responses(counted)
    return ExplainedSession(
        id=stored.row.uuid,
        title=stored.row.title,
        project=stored.row.project,
        paths=tuple(str(row.path) for row in rows.values() if row.kind in ("transcript", "subagent")),
        tokens=_sum(counted),
        models=tuple(_models(counted, prices)),
        own=_sum(own),
        agents=tuple(_agents(counted, agents, ledger.circumstances(connection))),
        elsewhere=tuple(_elsewhere(connection, responses.counted_elsewhere(connection, list(rows)))),
        branches=tuple(_branches(places, connection, files, prices, counted)),
        dearest=tuple(sorted(whole, key=lambda each: -(each.tokens.nanodollars or 0))[:DEAREST]),
        responses=len(whole),
        suspect=sum(each.doubt == Doubt.SUSPECT for each in counted),
        provisional=sum(each.doubt == Doubt.PROVISIONAL for each in counted),
    )


def grouped_responses(counted: Iterable[Response]) -> list[ResponseCost]:
    """Responses with what their advisors used, in the order in which they come."""
    by_response = _by(counted, lambda each: each.response)
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


def _by(counted: Iterable[Response], key: Callable[[Response], Key]) -> dict[Key, list[Response]]:
    found: dict[Key, list[Response]] = {}
    for each in counted:
        found.setdefault(key(each), []).append(each)
    return found


def _sum(counted: Iterable[Response]) -> Tokens:
    return total_of((each, each.nanodollars) for each in counted)


def _models(counted: Iterable[Response], prices: Prices) -> Iterator[ModelUse]:
    by_model = _by(counted, lambda each: shown_model(each.model, prices))
    for model in sorted(by_model, key=lambda name: name or ""):
        inside = by_model[model]
        suspect = sum(each.doubt == Doubt.SUSPECT for each in inside)
        yield ModelUse(model=model, tokens=_sum(inside), suspect=suspect)


def _agent_id(row: FileRow) -> str:
    return row.agent or Path(row.path).stem


def _agents(counted: Iterable[Response], agents: dict[str, str], known: dict[int, Circumstance]) -> Iterator[AgentCost]:
    """The dearest first. A file is an agent; lines of agents in the session's own file are told apart by name only."""
    theirs = (each for each in counted if each.owner in agents or each.is_sidechain)
    by_agent = _by(theirs, lambda each: (agents.get(each.owner), known[each.place].agent))
    found = [AgentCost(id=number, name=name, tokens=_sum(parts)) for (number, name), parts in by_agent.items()]
    yield from sorted(found, key=lambda each: -(each.tokens.nanodollars or 0))


def _elsewhere(connection: sqlite3.Connection, counted: Iterable[Response]) -> Iterator[Elsewhere]:
    session_of, titles = responses.sessions_of_files(connection), ledger.titles(connection)
    for session, parts in _by(counted, lambda each: session_of.get(each.owner)).items():
        title = titles[session][0] if session is not None else None
        yield Elsewhere(session=session, title=title, tokens=_sum(parts))


def _branches(
    places: Iterable[StoredSession],
    connection: sqlite3.Connection,
    files: SafeFiles,
    prices: Prices,
    counted: Iterable[Response],
) -> Iterator[BranchCost]:
    """Only a session that was rewound is read for this."""
    by_place = _by(counted, lambda each: (each.owner, each.response))
    rewound = {home for (home, _), parts in by_place.items() if any(part.is_abandoned for part in parts)}
    for each in places:
        rows = reading.files_of(connection, each.id)
        if each.row.branches < 2 and not rewound.intersection(row.key for row in rows):
            continue
        session = load_session(files.session_files(each.id, each.row.uuid), disk=files, prices=prices)
        for row in rows:
            conversation = _conversation(session, row)
            if conversation is not None and len(conversation.branches) > 1:
                yield from _branches_of(conversation, row, by_place)


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
