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

from reread.loading import load_session
from reread.pricing import Prices
from reread.pricing.tokens import Tokens, total
from reread.sessions import Conversation, Doubt, Session
from reread.store import reading, responses, sessions
from reread.store import usage as ledger
from reread.store.responses import Counted
from reread.store.times import moment

from .response_costs import tokens_of
from .usage import ModelUse, shown_model

if TYPE_CHECKING:
    from reread.store.keeping import SafeFiles
    from reread.store.rows import FileRow
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
    homes = ledger.homes(connection)
    counted = responses.counted_in(connection, list(rows))
    agents = {number for number in rows if homes[number][1]}
    own = [each for each in counted if each.home not in agents and not each.is_sidechain]
    whole = grouped_responses(counted)
    return ExplainedSession(
        id=stored.row.uuid,
        title=stored.row.title,
        project=stored.row.project,
        paths=tuple(str(row.path) for row in rows.values() if row.kind in ("transcript", "subagent")),
        tokens=_sum(counted),
        models=tuple(_models(counted, prices)),
        own=_sum(own),
        agents=tuple(_agents(counted, {number: _agent_id(rows[number]) for number in agents})),
        elsewhere=tuple(
            _elsewhere(responses.counted_elsewhere(connection, list(rows)), homes, ledger.titles(connection))
        ),
        branches=tuple(_branches(places, connection, files, prices, counted)),
        dearest=tuple(sorted(whole, key=lambda each: -(each.tokens.nanodollars or 0))[:DEAREST]),
        responses=len(whole),
        suspect=sum(each.doubt == Doubt.SUSPECT for each in counted),
        provisional=sum(each.doubt == Doubt.PROVISIONAL for each in counted),
    )


def grouped_responses(counted: Iterable[Counted]) -> list[ResponseCost]:
    """Responses with what their advisors used, in the order in which they come."""
    by_response = _by(counted, lambda each: each.response)
    return [
        ResponseCost(
            id=key,
            time=moment(parts[0].time),
            model=next((part.model for part in parts if part.key == key), None),
            is_suspect=any(part.doubt == Doubt.SUSPECT for part in parts),
            tokens=_sum(parts),
        )
        for key, parts in by_response.items()
    ]


def _by(counted: Iterable[Counted], key: Callable[[Counted], Key]) -> dict[Key, list[Counted]]:
    found: dict[Key, list[Counted]] = {}
    for each in counted:
        found.setdefault(key(each), []).append(each)
    return found


def _sum(counted: Iterable[Counted]) -> Tokens:
    return total(tokens_of(each.rated, each.nanodollars) for each in counted)


def _models(counted: Iterable[Counted], prices: Prices) -> Iterator[ModelUse]:
    by_model = _by(counted, lambda each: shown_model(each.model, prices))
    for model in sorted(by_model, key=lambda name: name or ""):
        inside = by_model[model]
        suspect = sum(each.doubt == Doubt.SUSPECT for each in inside)
        yield ModelUse(model=model, tokens=_sum(inside), suspect=suspect)


def _agent_id(row: FileRow) -> str:
    return row.agent or Path(row.path).stem


def _agents(counted: Iterable[Counted], agents: dict[int, str]) -> Iterator[AgentCost]:
    """The dearest first. A file is an agent; lines of agents in the session's own file are told apart by name only."""
    theirs = (each for each in counted if each.home in agents or each.is_sidechain)
    by_agent = _by(theirs, lambda each: (agents.get(each.home), each.agent))
    found = [AgentCost(id=number, name=name, tokens=_sum(parts)) for (number, name), parts in by_agent.items()]
    yield from sorted(found, key=lambda each: -(each.tokens.nanodollars or 0))


def _elsewhere(
    counted: Iterable[Counted], homes: dict[int, tuple[str, bool]], titles: dict[str, tuple[str | None, str | None]]
) -> Iterator[Elsewhere]:
    by_session = _by(counted, lambda each: homes[each.home][0] if each.home in homes else None)
    for session, parts in by_session.items():
        title = titles[session][0] if session is not None else None
        yield Elsewhere(session=session, title=title, tokens=_sum(parts))


def _branches(
    places: Iterable[StoredSession],
    connection: sqlite3.Connection,
    files: SafeFiles,
    prices: Prices,
    counted: Iterable[Counted],
) -> Iterator[BranchCost]:
    """Only a session that was rewound is read for this."""
    by_place = _by(counted, lambda each: (each.home, each.response))
    rewound = {home for (home, _), parts in by_place.items() if any(part.is_abandoned for part in parts)}
    for each in places:
        rows = reading.files_of(connection, each.id)
        if each.row.branches < 2 and not rewound.intersection(row.id for row in rows):
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
    conversation: Conversation, file: FileRow, by_place: dict[tuple[int, str], list[Counted]]
) -> Iterator[BranchCost]:
    branch_of = {
        id(record): branch.id for branch in conversation.branches for turn in branch.turns for record in turn.records
    }
    inside: dict[str | None, list[Counted]] = {}
    for request in conversation.requests:
        name = branch_of.get(id(request.rows[0]))
        inside.setdefault(name, []).extend(by_place.get((file.id, request.name_in(file.key)), ()))
    for branch in conversation.branches:
        is_agents = branch.active and not isinstance(conversation, Session)
        name = f"{conversation.id}@{branch.id}" if is_agents else branch.id
        yield BranchCost(id=name, is_active=branch.active, tokens=_sum(inside.get(branch.id, ())))
