"""Where the figures of a report come from: sums by quarter of an hour where they can answer, else the ledger itself."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import tzinfo
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct

from reread.billing.report import Sums, shares
from reread.store import usage as ledger
from reread.store import usage_cells
from reread.store.moves import moves

from .choosing import choose
from .days import LAST_QUARTER, PERIODS, QUARTER_SECONDS, Calendar
from .filters import Filter
from .projects import name_of

if TYPE_CHECKING:
    from reread.store.rows import Circumstance

_NEVER = 1 << 62


class Ask(Struct, frozen=True, kw_only=True):
    """What to report."""

    by: str = "day"
    wanted: Filter = Filter()
    zone: tzinfo | None = None
    is_recorded: bool = False
    """Money as the client wrote it into lines, which only clients of 1.0.x did."""
    folds_worktrees: bool = False
    """By project: a worktree counts to the one it was made from."""


class Cell(NamedTuple):
    """Some responses of one model that belong together."""

    key: str | None
    model: str | None
    sums: Sums
    is_agent: bool = False
    is_abandoned: bool = False


class Quarter(NamedTuple):
    """What a model was used for in a quarter of an hour."""

    number: int
    model: str | None
    sums: Sums


def cells_kept(connection: sqlite3.Connection, ask: Ask, told: Sequence[int]) -> Iterator[Cell]:
    """What the archive has; `told` are the five-hour windows that are known, which only blocks need."""
    if ask.by == "block":
        whole = Ask(wanted=Filter(sources=ask.wanted.sources))
        everything = (
            [each.number for each in _quarters(connection, whole)]
            if _needs_ledger(whole)
            else usage_cells.quarters_used(connection)
        )
        return _periodic(_quarters(connection, ask), ask, everything, told)
    if ask.by not in (*PERIODS, "model"):
        return _placed(connection, ask)
    return _periodic(_quarters(connection, ask), ask) if _needs_ledger(ask) else _from_sums(connection, ask)


def can_be_ahead(ask: Ask) -> bool:
    """Whether the sums by quarter are all it takes."""
    return ask.by in (*PERIODS, "model", "block") and not _needs_ledger(ask)


def cells_ahead(counted: Sequence[tuple[Any, ...]], ask: Ask, told: Sequence[int]) -> Iterator[Cell]:
    """Of sums by quarter that were counted from the sources before a sync has taken them in."""
    return _periodic(_inside(counted, ask.wanted), ask, [cell[0] for cell in counted], told)


def _from_sums(connection: sqlite3.Connection, ask: Ask) -> Iterator[Cell]:
    """The same as `_periodic`, added up by the database."""
    first, end = _edges(ask.wanted)
    everything: list[usage_cells.Stretch] = [(-1, 0, None), (0, _NEVER, None)]
    if ask.by in PERIODS:
        days = Calendar(ask.zone).stretches(usage_cells.days_used(connection), PERIODS[ask.by])
        everything = [(-1, 0, None), *days, (LAST_QUARTER, _NEVER, None)]
    inside = [(max(begins, first), min(ends, end), name) for begins, ends, name in everything]
    for key, model, *sums in usage_cells.cells_by(connection, inside, (ask.wanted.model or "").lower()):
        yield Cell(key if ask.by in PERIODS else model or None, model or None, Sums(*sums))


def _edges(wanted: Filter) -> tuple[int, int]:
    """The quarters of a window; one that is open holds what has no time as well."""
    is_open = wanted.since is None and wanted.until is None
    first = 0 if wanted.since is None else max(0, int(wanted.since.timestamp() // QUARTER_SECONDS))
    end = _NEVER if wanted.until is None else int(wanted.until.timestamp() // QUARTER_SECONDS)
    return -1 if is_open else first, end


def _periodic(
    found: Iterable[Quarter], ask: Ask, everything: Iterable[int] = (), told: Sequence[int] = ()
) -> Iterator[Cell]:
    """Blocks begin where `everything` that was used makes them begin, whatever part of it is asked for."""
    if ask.by == "model":
        yield from (Cell(each.model, each.model, each.sums) for each in found)
    elif ask.by == "block":
        from .blocks import block_starts

        starts = block_starts(everything, told)
        yield from (Cell(starts[each.number], each.model, each.sums) for each in found)
    else:
        calendar, name = Calendar(ask.zone), PERIODS[ask.by]
        for each in found:
            day = calendar.day(each.number)
            yield Cell(None if day is None else name(day), each.model, each.sums)


def _quarters(connection: sqlite3.Connection, ask: Ask) -> Iterator[Quarter]:
    """In the order of time."""
    if not _needs_ledger(ask):
        yield from _inside(usage_cells.cells(connection), ask.wanted)
        return
    known = ledger.circumstances(connection)
    rows = sorted(_asked(connection, ask, "quarter", known), key=lambda row: row[0])
    for number, how, _, _, _, *sums in rows:
        yield Quarter(number, known[how].model, Sums(*sums))


def _inside(cells: Iterable[tuple[Any, ...]], wanted: Filter) -> Iterator[Quarter]:
    first, end = _edges(wanted)
    named = (wanted.model or "").lower()
    for number, model, *sums in cells:
        if first <= number < end and named in model.lower():
            yield Quarter(number, model or None, Sums(*sums))


def _needs_ledger(ask: Ask) -> bool:
    """Whether the sums by quarter cannot answer: anything but model and time was named, or a time within a quarter."""
    wanted = ask.wanted
    others = (wanted.project, wanted.git_branch, wanted.tool, wanted.file, *wanted.sources, wanted.machine)
    edges = [time for time in (wanted.since, wanted.until) if time is not None]
    return (
        ask.is_recorded
        or any(others)
        or wanted.asks_for_marks
        or any(time.timestamp() % QUARTER_SECONDS for time in edges)
    )


def _asked(
    connection: sqlite3.Connection, ask: Ask, dimension: ledger.Dimension, known: dict[int, Circumstance]
) -> Iterable[tuple[Any, ...]]:
    choice = choose(connection, ask.wanted, known)
    return ledger.grouped(connection, dimension, choice, is_recorded=ask.is_recorded)


_KEYS: dict[str, Callable[[Circumstance], str | None]] = {
    "branch": lambda place: place.git_branch,
    "agent": lambda place: place.agent,
    "skill": lambda place: place.skill,
}


def _placed(connection: sqlite3.Connection, ask: Ask) -> Iterator[Cell]:
    """Cells by session, or by what the circumstances of a response tell."""
    known = ledger.circumstances(connection)
    homes = ledger.homes(connection) if ask.by == "session" else {}
    labels = ledger.machine_labels(connection) if ask.by == "machine" else {}
    moved = moves(connection)
    for home, how, where, is_sidechain, is_abandoned, *values in _asked(
        connection, ask, "home" if ask.by in ("session", "machine") else "all", known
    ):
        sums, model = Sums(*values), known[how].model
        if ask.by == "session":
            session, is_agent = homes.get(home, (None, False))
            yield Cell(session, model, sums, is_agent=is_agent or bool(is_sidechain), is_abandoned=bool(is_abandoned))
        elif ask.by == "machine":
            yield Cell(labels.get(home), model, sums)
        elif ask.by == "tool":
            tools = known[how].tools or (None,)
            yield from (Cell(tool, model, share) for tool, share in zip(tools, shares(sums, len(tools)), strict=True))
        elif ask.by == "project":
            yield Cell(name_of(known[where].project, moved, folds_worktrees=ask.folds_worktrees), model, sums)
        else:
            yield Cell(_KEYS[ask.by](known[where]), model, sums)
