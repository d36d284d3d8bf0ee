"""What skills, agents, MCP servers and memory files cost in every session, and which of them were used."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from reread.billing.cost import Rated
from reread.features.context import (
    AGENT,
    CHARACTERS_PER_TOKEN,
    MCP,
    MEMORY,
    OFFERED,
    SKILL,
    CompactionCost,
    ContextComposition,
    compactions_of,
    compositions_of,
    listings,
    used_in,
)
from reread.sessions import Request, Session, split_tool_name

from .friction import client_home


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

    removal: str = ""
    """What takes it away; empty if it or its plugin is in use, or comes with the client."""

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

    def offer(self, tokens: int, spent: int | None, *, is_estimate: bool) -> None:
        self.tokens.append(tokens)
        self.spent.append(spent)
        self.is_estimate |= is_estimate

    def use(self, number: int, ended: datetime | None) -> None:
        self.uses += number
        self.last = max(filter(None, (self.last, ended)), default=None)


def offered_in(sessions: Iterable[Session]) -> list[Offered]:
    """What was offered, the dearest first. What was used and never listed is left out: its cost is unknown."""
    tallies: dict[tuple[str, str], _Tally] = defaultdict(_Tally)
    clients = {client_home(): None}
    for session in sessions:
        clients |= {Path(session.project) / ".claude": None} if session.project else {}
        _count(session, tallies)
    in_use = {plugin for (_, name), tally in tallies.items() if tally.uses and (plugin := _plugin(name))}
    listed = [_offered(*key, tally) for key, tally in tallies.items() if tally.tokens]
    found = [replace(each, removal=_removal(each, in_use, clients)) for each in listed]
    return sorted(found, key=lambda each: (-(each.nanodollars or 0) * each.sessions, -each.tokens, each.name))


def _count(session: Session, tallies: Mapping[tuple[str, str], _Tally]) -> None:
    sizes, is_estimate = _sizes(session)
    requests = [each for each in session.requests if not each.is_sidechain]
    for key, tokens in sizes.items():
        tallies[key].offer(tokens, _cost(session, tokens, requests), is_estimate=is_estimate)
    for key, number in used_in(session).items():
        tallies[key].use(number, session.ended)


def _plugin(name: str) -> str:
    """The plugin that a skill, an agent or a server belongs to; empty if to none."""
    parts = re.split("[:_]", name) if name.startswith("plugin_") else name.split(":")
    plugin, *rest = parts[1:] if parts[0] == "plugin" else parts
    return plugin if rest else ""


def _removal(each: Offered, plugins_in_use: set[str], clients: Iterable[Path]) -> str:
    """A rule that denies would not do: what is denied is offered all the same."""
    plugin = _plugin(each.name)
    if not each.is_dead_weight or plugin in plugins_in_use or each.name in _OF_CLIENT:
        return ""
    if plugin:
        return f"claude plugin disable {plugin}"
    if each.kind == MCP:
        connector = each.name.removeprefix(_CONNECTOR)
        return f"claude mcp remove {each.name}" if connector == each.name else f"/mcp: turn {connector} off"
    places = [client / _PLACES[each.kind].format(each.name) for client in clients]
    return next((f"delete {place}" for place in places if place.exists()), "")


_OF_CLIENT = frozenset({"ide", "claude-in-chrome"})
_CONNECTOR = "claude_ai_"
_PLACES = {SKILL: "skills/{}", AGENT: "agents/{}.md"}


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


def _cost(session: Session, tokens: int, requests: Sequence[Request]) -> int | None:
    if not requests:
        return 0
    model = requests[-1].model
    written = session.prices.cost(Rated(cache_write_5m=tokens), model, session.ended)
    read = session.prices.cost(Rated(cache_read=tokens), model, session.ended)
    return None if written is None or read is None else written + (len(requests) - 1) * read


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
