"""Explained costs: the lines, the price, the products and the sum, for a terminal and as JSON documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

from reread.archive.explain import (
    CopyInFile,
    CostPart,
    Explained,
    ExplainedResponse,
    ExplainedSession,
    ResponseCost,
    SeveralResponses,
    Verdict,
)
from reread.billing import Component, Derivation
from reread.billing.report import Tokens

from .numbers import count, exact_money, nano, tokens
from .text import cells, joined, one_line, shorten, table, wrap
from .usage_table import shown, token_figures
from .values import Document, View, dollars, picked, tokens_document, when


def explained_document(explained: Explained, as_of: date) -> Document:
    head = {"schema": "reread.explain/1"}
    tail = {"price_table_date": as_of.isoformat(), "is_lower_bound": True}
    if isinstance(explained, ExplainedResponse):
        return {**head, "kind": "response", **_response(explained), **tail}
    if isinstance(explained, SeveralResponses):
        return {**head, "kind": "responses", **_several(explained), **tail}
    return {**head, "kind": "session", **_session(explained), **tail}


def exact_rate(rate: Fraction) -> str:
    """A price as a decimal. Exact, because the prices in the table and their products are decimals."""
    return f"{(Decimal(rate.numerator) / Decimal(rate.denominator)).normalize():f}"


def _counted(used: Tokens) -> Document:
    return {**tokens_document(used), "nanodollars": used.nanodollars}


def _several(explained: SeveralResponses) -> Document:
    return {
        "id": explained.id,
        "responses": [_cost(each) for each in explained.responses],
        "totals": _counted(explained.tokens),
    }


def _cost(each: ResponseCost) -> Document:
    return {**picked(each, "id time model is_suspect"), **_counted(each.tokens)}


def _response(explained: ExplainedResponse) -> Document:
    used = explained.tokens
    return {
        **picked(explained, "id part_of time session project git_branch agent version stop_reason"),
        "copies": [_copy(each) for each in explained.copies],
        **picked(explained, "why_home flags"),
        "parts": [_part(each) for each in explained.parts],
        "cost_recorded_usd": dollars(nano(explained.recorded)),
        "totals": _counted(used),
        **picked(used, "cost_usd=cost nanodollars"),
    }


def _copy(copy: CopyInFile) -> Document:
    return {
        **picked(copy, "file=path session agent is_sidechain time is_home is_winner"),
        "rows": [
            picked(row, "line uuid timestamp=time request_id session model output_tokens verdict") for row in copy.rows
        ],
    }


def _part(part: CostPart) -> Document:
    names = "id model=derivation.model model_raw=model file=path speed=used.speed inference_geo=used.geo"
    names += " service_tier=used.tier thinking_tokens=used.thinking"
    return {**picked(part, names), **_derivation(part.derivation)}


def _derivation(derivation: Derivation) -> Document:
    total = derivation.total
    return {
        **picked(derivation, "price_id price_origin=origin region"),
        **picked(derivation, "prompt_tokens=prompt long_context_above=threshold is_long_context=is_long"),
        "factors": [{"name": each.name, "factor": exact_rate(each.value)} for each in derivation.factors],
        "components": [_component(each) for each in derivation.components],
        **picked(derivation, "web_searches web_search_nanodollars flags why_unpriced"),
        "cost_usd": dollars(nano(total)),
        "nanodollars": total,
    }


def _component(each: Component) -> Document:
    return {
        **picked(each, "name tokens=count nanodollars"),
        "nanodollars_per_token": None if each.rate is None else exact_rate(each.rate),
    }


def _session(explained: ExplainedSession) -> Document:
    used = explained.tokens
    return {
        **picked(explained, "id title project files=paths"),
        "totals": _counted(used),
        "models": _shared(explained.models, "model"),
        "own": _counted(explained.own),
        "agents": _shared(explained.agents, "agent=id name"),
        "counted_elsewhere": _shared(explained.elsewhere, "session title"),
        "branches": _shared(explained.branches, "branch=id is_active"),
        "dearest": [_cost(each) for each in explained.dearest],
        **picked(explained, "responses suspect_output_requests=suspect provisional_requests=provisional"),
        **picked(used, "cost_usd=cost nanodollars"),
    }


def _shared(parts: Iterable[Any], names: str) -> list[Document]:
    """The parts of a sum."""
    return [{**picked(each, names), **_counted(each.tokens)} for each in parts]


_SECONDS = "%Y-%m-%d %H:%M:%S"
_SHORT_ID = 8
_WIDE, _MIDDLE = 96, 60


def explained_lines(explained: Explained, as_of: date, view: View) -> Iterator[str]:
    if isinstance(explained, ExplainedResponse):
        yield from _response_lines(explained, view)
    elif isinstance(explained, SeveralResponses):
        yield from _several_lines(explained, view)
    else:
        for section in SESSION_SECTIONS:
            yield from section(explained, view)
    yield ""
    yield from view.wrapped(f"from transcripts, at list prices of {as_of.isoformat()}: a lower bound", "dim")


def _title(text: str, view: View) -> Iterator[str]:
    yield ""
    yield from view.wrapped(text, "bold")


def _response_lines(explained: ExplainedResponse, view: View) -> Iterator[str]:
    for number, part in enumerate(explained.parts):
        if number:
            yield ""
        yield from _part_lines(part, explained.time, view, is_suspect=explained.is_suspect)
    if len(explained.parts) > 1:
        yield ""
        yield from _sum_of_parts(explained, view)
    yield from _facts(explained, view)
    is_copied = len(explained.copies) > 1
    several = f"; home: {', '.join(explained.why_home)}" if is_copied else ""
    yield from _title(f"{'copied: ' if is_copied else ''}told by {count(len(explained.copies), 'file')}{several}", view)
    for copy in explained.copies:
        yield from _copy_lines(copy, view)


def _part_lines(part: CostPart, time: datetime | None, view: View, *, is_suspect: bool) -> Iterator[str]:
    """One part of a response's cost: head, test for long-context rates, products and sum."""
    derivation = part.derivation
    day = "no day" if time is None else time.astimezone(UTC).date().isoformat()
    price = f"price {derivation.price_id}" if derivation.price_id is not None else "no price"
    head = [one_line(part.id), one_line(derivation.model or part.model or "no model"), day, price]
    yield from (view.style.paint(line, "bold") for line in _joined(head, view.width, "  "))
    if derivation.model is not None and part.model != derivation.model:
        yield from view.wrapped(f"named {part.model} in the line", "dim")
    yield from wrap(_prompt_test(part), view.width)
    if derivation.factors:
        factors = " x ".join(f"{each.name} {exact_rate(each.value)}" for each in derivation.factors)
        yield from wrap(f"factors, in the rates below: {factors}", view.width)
    yield from _joined([*_products(derivation), _total(derivation.total, is_suspect=is_suspect)], view.width)
    if derivation.why_unpriced is not None:
        why = f"{derivation.why_unpriced}: {part.used.total:,} tokens are counted as unpriced, not as free"
        yield from view.wrapped(why, "yellow")


def _prompt_test(part: CostPart) -> str:
    derivation, used = part.derivation, part.used
    written = used.cache_write_5m + used.cache_write_1h
    text = f"prompt {used.input:,} + {used.cache_read:,} + {written:,} = {derivation.prompt:,}"
    if derivation.threshold is None:
        return text
    if derivation.is_long:
        return f"{text} > {derivation.threshold:,}  -> long-context rates"
    return f"{text} <= {derivation.threshold:,}  -> ordinary rates"


def _products(derivation: Derivation) -> Iterator[str]:
    """The products that add up to the cost; only the first rate has its unit."""
    unit = " n$"
    for each in derivation.components:
        if each.count:
            yield _product(each, unit)
            unit = ""
    if derivation.web_searches:
        searches, paid = derivation.web_searches, derivation.web_search_nanodollars
        yield f"web search {searches:,} x {paid // searches:,}{unit} = {paid:,}"


def _product(each: Component, unit: str) -> str:
    name = each.name.replace("_", " ")
    if each.rate is None or each.nanodollars is None:
        return f"{name} {each.count:,} x no price"
    exact = each.count * each.rate
    whole, point, rest = exact_rate(each.rate).partition(".")
    rounded = "" if exact.denominator == 1 else f"{exact_rate(exact)} -> "
    return f"{name} {each.count:,} x {int(whole):,}{point}{rest}{unit} = {rounded}{each.nanodollars:,}"


def _total(nanodollars: int | None, *, is_suspect: bool) -> str:
    if nanodollars is None:
        return "total unknown"
    return f"total {nanodollars:,} n$ = {'>= ' if is_suspect else ''}{exact_money(nanodollars)}"


def _joined(pieces: Sequence[str], width: int, between: str = " | ") -> Iterator[str]:
    """The pieces, as many on each line as fit."""
    line = ""
    for piece in pieces:
        longer = f"{line}{between}{piece}" if line else piece
        if line and cells(longer) > width:
            yield from wrap(line, width)
            line = piece
        else:
            line = longer
    yield from wrap(line, width)


def _sum_of_parts(explained: ExplainedResponse, view: View) -> Iterator[str]:
    money = [part.derivation.total for part in explained.parts]
    known = [each for each in money if each is not None]
    unknown = f", and {count(len(money) - len(known), 'part')} without a price" if len(known) < len(money) else ""
    if not known:
        yield f"no part of {len(money)} has a price"
        return
    is_partial = explained.is_suspect or bool(unknown)
    added = " + ".join(f"{each:,}" for each in known)
    bound = ">= " if is_partial else ""
    text = f"total {added} = {sum(known):,} n$ = {bound}{exact_money(sum(known))}{unknown}"
    yield from view.wrapped(text, "bold")


def _facts(explained: ExplainedResponse, view: View) -> Iterator[str]:
    yield ""
    facts = [
        f"part of {explained.part_of}" if explained.part_of is not None else None,
        when(explained.time, view.timezone, _SECONDS),
        f"session {explained.session}" if explained.session is not None else None,
        f"agent {explained.agent}" if explained.agent is not None else None,
        explained.project,
        explained.git_branch,
        f"client {explained.version}" if explained.version is not None else None,
        f"ended by {explained.stop_reason}" if explained.stop_reason is not None else None,
    ]
    yield from view.wrapped(" · ".join(one_line(fact) for fact in facts if fact), "dim")
    for flag in explained.flags:
        yield from view.wrapped(f"{flag}: {_MEANING[flag]}", "yellow")
    if explained.recorded is not None:
        recorded = f"recorded in the line by the client or a gateway, not counted: {exact_money(explained.recorded)}"
        yield from wrap(recorded, view.width)


_MEANING = {
    "suspect_output": "the client probably wrote only the opening numbers of the stream; the true output is larger",
    "provisional": "no line says why the response ended, so its numbers may not be final",
    "service_tier_unpriced": "the service tier has no price of its own and was counted at list price",
}


def _copy_lines(copy: CopyInFile, view: View) -> Iterator[str]:
    roles = [role for role, holds in (("home", copy.is_home), ("counted", copy.is_winner)) if holds] or ["a copy"]
    kind = f"agent {copy.agent}" if copy.agent is not None else "sidechain" if copy.is_sidechain else "main"
    requests = {row.request_id for row in copy.rows}
    facts = [
        ", ".join(roles),
        kind,
        f"session {copy.session}" if copy.session is not None else "",
        f"request {next(iter(requests)) or 'not named'}" if len(requests) == 1 else "",
    ]
    yield ""
    yield from wrap("; ".join(one_line(fact) for fact in facts if fact), view.width)
    yield from view.wrapped(copy.path, "dim")
    yield from _row_lines(copy, view, with_requests=len(requests) > 1)


def _row_lines(copy: CopyInFile, view: View, *, with_requests: bool) -> Iterator[str]:
    """A table with a row for each line of the file; columns that do not fit go below their row."""
    with_sessions = any(row.session != copy.session for row in copy.rows)
    names = ["line", "output", "", "time", *["session"] * with_sessions, *["request"] * with_requests]
    rows: list[list[str]] = [names]
    for row in copy.rows:
        cells_of_row = [str(row.line), f"{row.output_tokens:,}", row.verdict.value]
        cells_of_row.append(when(row.time, view.timezone, _SECONDS) or "no time")
        cells_of_row += [one_line(row.session or "none")[:_SHORT_ID]] * with_sessions
        rows.append([*cells_of_row, *[one_line(row.request_id or "none")] * with_requests])
    width = view.width - 2
    columns = _fitting(rows, width)
    head, *lines = table([row[:columns] for row in rows], width, flexible=2, right=frozenset({0, 1}))
    yield "  " + view.style.paint(head, "dim")
    for line, cut, row in zip(lines, rows[1:], copy.rows, strict=True):
        yield "  " + (view.style.paint(line, "green") if row.verdict is Verdict.CHOSEN else line)
        for part in wrap(" · ".join(cut[columns:]), width - 4) if cut[columns:] else ():
            yield "      " + view.style.paint(part, "dim")


def _fitting(rows: Sequence[Sequence[str]], width: int) -> int:
    """How many columns fit; line, output and verdict always stay."""
    columns = len(rows[0])
    while columns > 3 and sum(max(cells(row[i]) for row in rows) + 2 for i in range(columns)) - 2 > width:
        columns -= 1
    return columns


def _several_lines(explained: SeveralResponses, view: View) -> Iterator[str]:
    name = one_line(explained.id)
    several = count(len(explained.responses), "response")
    heading = f"{name}: id reused, it stands for {several}; explain one by its own id"
    yield from wrap(heading, view.width)
    yield ""
    yield from _cost_table(explained.responses, view)
    yield from wrap(_sum_line(explained.tokens, any(each.is_suspect for each in explained.responses)), view.width)


def _cost_table(costs: Sequence[ResponseCost], view: View) -> Iterator[str]:
    """The costs of some responses. The id is never cut, because it is asked for as a whole: it goes last, or on a line
    of its own if it does not fit."""
    rows = [("cost", "output", "model", "time", "id")]
    for each in costs:
        money = _money(each.tokens, is_suspect=each.is_suspect)
        time = when(each.time, view.timezone)
        rows.append((money, tokens(each.tokens.output_tokens), shown(each.model), time, one_line(each.id)))
    widths = [max(cells(row[i]) for row in rows) for i in range(5)]
    if sum(widths) + 8 <= view.width:
        lines = table(rows, view.width, flexible=4, right=frozenset({0, 1}))
        yield from view.headed(lines)
        return
    head, *others = table([row[:4] for row in rows], view.width, flexible=2, right=(0, 1), dispensable=(3, 1))
    yield view.style.paint(head, "bold")
    for line, each in zip(others, costs, strict=True):
        yield line
        yield from (f"  {part}" for part in wrap(each.id, view.width - 2))


def _money(used: Tokens, *, is_suspect: bool = False) -> str:
    if used.nanodollars is None:
        return "no price" if used.unpriced_tokens else exact_money(0)
    return f"{'≥' if is_suspect or used.unpriced_tokens else ''}{exact_money(used.nanodollars)}"


def _sum_line(used: Tokens, is_suspect: bool) -> str:
    if used.nanodollars is None:
        return f"total: no price; {used.unpriced_tokens:,} tokens"
    unpriced = f"; {used.unpriced_tokens:,} tokens unpriced" if used.unpriced_tokens else ""
    return f"total {used.nanodollars:,} n$ = {_money(used, is_suspect=is_suspect)}{unpriced}"


def _heading(explained: ExplainedSession, view: View) -> Iterator[str]:
    yield view.style.paint(shorten(explained.title, view.width), "bold")
    facts = (explained.project, f"session {explained.id}", count(explained.responses, "response"))
    yield from view.wrapped(" · ".join(one_line(fact) for fact in facts if fact), "dim")
    yield from view.wrapped(_sum_line(explained.tokens, explained.suspect > 0), "bold")


_Share = tuple[str, Tokens]


def _shares(title: str, shares: Iterable[_Share], view: View) -> Iterator[str]:
    """The parts of a sum: name, tokens and cost of each."""
    full = ("requests", "input", "output", "cache write", "cache read", "cost")
    wanted = full if view.width >= _WIDE else (full[0], full[2], full[5]) if view.width >= _MIDDLE else full[5:]
    rows: list[tuple[str, ...]] = [(title, *wanted)]
    for name, used in shares:
        figures = dict(zip(full, _figures(used), strict=True))
        rows.append((one_line(name), *(figures[each] for each in wanted)))
    lines = table(rows, view.width, flexible=0, right=frozenset(range(1, len(rows[0]))))
    yield ""
    yield from view.headed(lines)


def _figures(used: Tokens) -> tuple[str, ...]:
    return (*token_figures(used), _money(used))


def _by_model(explained: ExplainedSession, view: View) -> Iterator[str]:
    yield from _shares("model", ((shown(each.model), each.tokens) for each in explained.models), view)


def _by_agent(explained: ExplainedSession, view: View) -> Iterator[str]:
    if explained.agents:
        shares = [("the session itself", explained.own)]
        shares += [(joined((each.name, each.id), " ") or "agent", each.tokens) for each in explained.agents]
        yield from _shares("who asked", shares, view)


def _by_branch(explained: ExplainedSession, view: View) -> Iterator[str]:
    if explained.branches:
        shares = (
            (each.id if each.is_active else f"left: {each.id.removeprefix(explained.id)}", each.tokens)
            for each in explained.branches
        )
        yield from _shares("branch, without agents", shares, view)


def _counted_elsewhere(explained: ExplainedSession, view: View) -> Iterator[str]:
    if explained.elsewhere:
        shares = (
            (f"{each.session or 'no session'}  {each.title or ''}".rstrip(), each.tokens)
            for each in explained.elsewhere
        )
        yield from _shares("not in this sum: copied from", shares, view)


def _dearest(explained: ExplainedSession, view: View) -> Iterator[str]:
    if explained.dearest:
        yield from _title(f"dearest of {count(explained.responses, 'response')}", view)
        yield from _cost_table(explained.dearest, view)


def _doubts(explained: ExplainedSession, view: View) -> Iterator[str]:
    doubts = [
        f"{count(explained.suspect, 'response')} with suspect output" if explained.suspect else "",
        f"{count(explained.provisional, 'response')} provisional" if explained.provisional else "",
    ]
    listed = joined(doubts, "; ")
    if listed:
        yield ""
        yield from view.wrapped(listed, "yellow")


SESSION_SECTIONS: tuple[Callable[[ExplainedSession, View], Iterator[str]], ...] = (
    _heading,
    _by_model,
    _by_agent,
    _by_branch,
    _counted_elsewhere,
    _dearest,
    _doubts,
)
"""The sections about a session, in this order; a section without content gives no lines."""
