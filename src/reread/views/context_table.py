"""What fills a context, what a compaction cost, and what is offered and never used: tables and JSON documents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal

from reread.archive.context_report import ContextAnswer, Offered
from reread.features.context import CompactionCost, ContextComposition

from .numbers import count, money, nano, tokens
from .text import hanging, one_line, table, wrap
from .values import Document, View, dollars, each_picked, picked, when

_SHOWN = 25
_LEAST_NAME = 16


def context_document(found: ContextAnswer) -> Document:
    return {
        "schema": "reread.context/1",
        "session": found.session,
        "compositions": [_composition_document(each) for each in found.compositions],
        "compactions": [_compaction_document(each) for each in found.compactions],
    }


def _composition_document(each: ContextComposition) -> Document:
    parts = each_picked(each.parts, "kind name tokens")
    return {**picked(each, "time model total_tokens=total limit_tokens=limit is_estimate"), "parts": parts}


def _compaction_document(each: CompactionCost) -> Document:
    return {
        **picked(each, "uuid time trigger tokens_before tokens_after"),
        "dropped": picked(each, "files commands decisions"),
        **picked(each, "looked_up_again=again actions_until_work=actions"),
        "cost_until_work_usd": dollars(nano(each.nanodollars)),
    }


def context_lines(found: ContextAnswer, view: View) -> Iterator[str]:
    if not found.compositions:
        yield "no request was made"
        return
    last = found.compositions[-1]
    limit = f" of {tokens(last.limit)}" if last.limit else ""
    origin = "estimated from the transcript" if last.is_estimate else "counted by the client"
    yield from view.wrapped(f"context of {tokens(last.total)}{limit} tokens, {origin}", "bold")
    rows = [("what", "of", "tokens", "share")]
    for part in last.parts[:_SHOWN]:
        share = f"{part.tokens / last.total:.1%}" if last.total else ""
        rows.append((one_line(part.name), part.kind, f"{'~' if last.is_estimate else ''}{tokens(part.tokens)}", share))
    yield from table(rows, view.width, flexible=0, right=(2, 3), dispensable=(3,), least=_LEAST_NAME)
    if len(last.parts) > _SHOWN:
        yield view.style.paint(f"and {count(len(last.parts) - _SHOWN, 'smaller part')}", "dim")
    for each in found.compactions:
        yield ""
        yield from _compaction(each, view)


def _compaction(each: CompactionCost, view: View) -> Iterator[str]:
    sizes = " to ".join(tokens(size) for size in (each.tokens_before, each.tokens_after) if size is not None)
    size = f": {sizes} tokens" if sizes else ""
    yield from view.wrapped(f"compaction {when(each.time, view.timezone)}{size}", "bold")
    had = f"{count(each.files, 'file')}, {count(each.commands, 'command')}, {count(each.decisions, 'answer')} in hand"
    cost = money(nano(each.nanodollars), is_partial=each.nanodollars is None)
    went_on = f"work went on after {count(each.actions, 'call')}" + (f" and {cost}" if each.actions and cost else "")
    yield from wrap(f"{had}; {count(len(each.again), 'thing')} looked up again; {went_on}", view.width)
    yield from (f"  again: {one_line(name)[: view.width - 9]}" for name in each.again[:5])


def offered_document(found: Sequence[Offered], days: float) -> Document:
    return {
        "schema": "reread.offered/1",
        "days": days,
        "offered": [
            {
                **picked(each, "kind name sessions uses last_used tokens_per_session=tokens is_estimate"),
                "cost_per_session_usd": dollars(nano(each.nanodollars)),
                "is_dead_weight": each.is_dead_weight,
                "removal": each.removal or None,
            }
            for each in found
        ],
    }


def offered_lines(found: Sequence[Offered], days: float, view: View) -> Iterator[str]:
    if not found:
        nothing = f"no session of the last {days:,.0f} days lists skills, agents, MCP servers or memory files"
        yield from view.wrapped(nothing, "dim")
        return
    rows = [("what", "of", "sessions", "uses", "tokens", "a session")]
    for each in found:
        uses = "read" if each.kind == "memory" else "never" if each.is_dead_weight else f"{each.uses:,}"
        size = f"{'~' if each.is_estimate else ''}{tokens(each.tokens)}"
        cost = money(nano(each.nanodollars), is_partial=each.nanodollars is None)
        rows.append((one_line(each.name), each.kind, f"{each.sessions:,}", uses, size, cost))
    yield from table(rows, view.width, flexible=0, right=(2, 3, 4, 5), dispensable=(2, 4), least=_LEAST_NAME)
    dead = [each for each in found if each.is_dead_weight]
    if dead:
        total = sum(each.tokens for each in dead)
        yield from view.wrapped(
            f"{count(len(dead), 'thing')} never used in {days:,.0f} days: {tokens(total)} tokens;"
            " of memory files and rules only the cost is known",
            "dim",
        )
    for removal, group in _removals(dead).items():
        cost = money(sum((nano(each.nanodollars) or Decimal() for each in group), Decimal()), is_partial=False)
        many = max(each.sessions for each in group)
        size = tokens(sum(each.tokens for each in group))
        spared = f"{size} tokens and {cost} less in each session, as in {count(many, 'session')}"
        yield from hanging(f"{removal}: {spared}", view.width, "  ", "    ")


def _removals(dead: Sequence[Offered]) -> dict[str, list[Offered]]:
    """What each removal takes away; those of one plugin go together."""
    found: dict[str, list[Offered]] = {}
    for each in dead:
        if each.removal:
            found.setdefault(each.removal, []).append(each)
    return found
