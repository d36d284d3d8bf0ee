"""What skills, agents, MCP servers and memory files cost in every session, and which of them were used."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from msgspec import Struct

from reread.billing.cost import Rated
from reread.features.context import (
    CHARACTERS_PER_TOKEN,
    MEMORY,
    OFFERED,
    CompactionCost,
    ContextComposition,
    compactions_of,
    compositions_of,
    listings,
    used_in,
)
from reread.sessions import Session, split_tool_name


class Offered(Struct, frozen=True, kw_only=True):
    """A skill, agent, MCP server or memory file that was in the context of sessions."""

    kind: str
    name: str
    sessions: int
    """In whose context it was."""
    uses: int
    """Calls and commands; memory files are read and never called, so theirs are 0."""
    last_used: datetime | None
    tokens: int
    """In the context of a session, on average."""
    is_estimate: bool
    """Whether the tokens of some sessions are estimated from characters."""
    nanodollars: int | None
    """Cost for a session on average: written to the cache once, read again with each request. None without a price."""

    @property
    def is_dead_weight(self) -> bool:
        return self.kind != MEMORY and not self.uses


class ContextAnswer(Struct, frozen=True, kw_only=True):
    session: str
    compositions: tuple[ContextComposition, ...]
    """As the client counted them, in the order of time; or one estimate."""
    compactions: tuple[CompactionCost, ...]


def context_of(session: Session) -> ContextAnswer:
    """What fills the context of a session, and what its compactions cost."""
    return ContextAnswer(
        session=session.id, compositions=tuple(compositions_of(session)), compactions=tuple(compactions_of(session))
    )


class _Tally:
    def __init__(self) -> None:
        self.tokens: list[int] = []
        self.spent: list[int | None] = []
        self.uses = 0
        self.last: datetime | None = None
        self.is_estimate = False


def offered_in(sessions: Iterable[Session]) -> list[Offered]:
    """What was offered, the dearest first. What was used and never listed is left out: its cost is unknown."""
    tallies: dict[tuple[str, str], _Tally] = {}
    for session in sessions:
        sizes, is_estimate = _sizes(session)
        requests = [each for each in session.requests if not each.is_sidechain]
        for key, tokens in sizes.items():
            tally = tallies.setdefault(key, _Tally())
            tally.tokens.append(tokens)
            tally.spent.append(_cost(session, tokens, len(requests), requests[-1].model if requests else None))
            tally.is_estimate |= is_estimate
        for key, number in used_in(session).items():
            tally = tallies.setdefault(key, _Tally())
            tally.uses += number
            tally.last = max(filter(None, (tally.last, session.ended)), default=None)
    found = [_offered(*key, tally) for key, tally in tallies.items() if tally.tokens]
    return sorted(found, key=lambda each: (-(each.nanodollars or 0) * each.sessions, -each.tokens, each.name))


def _sizes(session: Session) -> tuple[dict[tuple[str, str], int], bool]:
    """Tokens of what was offered: as the client counted them last, else by characters."""
    told = compositions_of(session) if session.captures else []
    if told and not told[-1].is_estimate:
        sizes: dict[tuple[str, str], int] = {}
        for part in told[-1].parts:
            if part.kind in OFFERED:
                key = part.kind, split_tool_name(part.name)[0] or part.name
                sizes[key] = sizes.get(key, 0) + part.tokens
        return sizes, False
    listed = listings(session).items()
    return {key: size // CHARACTERS_PER_TOKEN for key, size in listed if key[0] in OFFERED}, True


def _cost(session: Session, tokens: int, requests: int, model: str | None) -> int | None:
    if not requests:
        return 0
    written = session.prices.cost(Rated(cache_write_5m=tokens), model, session.ended)
    read = session.prices.cost(Rated(cache_read=tokens), model, session.ended)
    return None if written is None or read is None else written + (requests - 1) * read


def _offered(kind: str, name: str, tally: _Tally) -> Offered:
    known = [each for each in tally.spent if each is not None]
    return Offered(
        kind=kind,
        name=name,
        sessions=len(tally.tokens),
        uses=tally.uses,
        last_used=tally.last,
        tokens=round(sum(tally.tokens) / len(tally.tokens)),
        is_estimate=tally.is_estimate,
        nanodollars=round(sum(known) / len(known)) if known else None,
    )
