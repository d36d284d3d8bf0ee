"""Where the money of a session went: its turns, the context over time, the shares of agents, thinking, rewinds."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

from reread.archive.cache_report import CacheReport, FoundRebuild, session_report
from reread.archive.usage_report import UsageQuestion
from reread.features.activity import TimelinePoint
from reread.features.edits.net import branch_usage
from reread.records import CompactBoundary
from reread.sessions import Branch, Session, ToolCall, Turn
from reread.views.cache_table import cause_words
from reread.views.html.content import anchor
from reread.views.html.session import token_facts
from reread.views.numbers import money, nano, percent, tokens
from reread.views.text import shorten

from .paging import FAILURES, MapMark

WIDTH, HEIGHT = 1_000, 120
"""Of the curve, in its own units."""
MOST_MARKS = 200
MOST_STEPS = 500
"""Points of the curve; of more requests, each point is the largest of several."""


class TurnSpending(NamedTuple):
    """What a turn cost, with the agents it started."""

    number: int
    anchor: str
    text: str
    nanodollars: int
    cost: str
    share: float
    """Of the dearest turn."""


class CurveMark(NamedTuple):
    """A compaction, or a rebuild of the cache, at its place on the curve."""

    kind: str
    x: int
    words: str
    anchor: str


class SessionSpending(NamedTuple):
    totals: list[tuple[str, str]]
    """Of tokens."""
    shares: list[tuple[str, str, str]]
    """Name, amount, and share of the whole."""
    turns: list[TurnSpending]
    curve: str
    """The points of the area below the curve."""
    most: str
    """The largest context."""
    marks: list[CurveMark]
    cache: CacheReport


def spending_of(session: Session, branch: Branch, timeline: Sequence[TimelinePoint]) -> SessionSpending:
    report = session_report(session, UsageQuestion(by="model"), session.prices)
    context = next((each.prompts for each in (report.session.contexts if report.session else ()) if not each.agent), ())
    sizes = [size for _, size in context]
    return SessionSpending(
        totals=token_facts(session.total_usage)[1:],
        shares=list(_shares(session, report)),
        turns=_turns(session, branch.turns),
        curve=_curve(sizes),
        most=tokens(max(sizes, default=0)),
        marks=_marks(session, report, [time for time, _ in context], timeline),
        cache=report,
    )


def _turns(session: Session, turns: Iterable[Turn]) -> list[TurnSpending]:
    found = [spent for turn in turns if (spent := _spent_in(session, turn)) is not None]
    most = max((each.nanodollars for each in found), default=0)
    return [each._replace(share=each.nanodollars / most if most else 0.0) for each in found]


def _spent_in(session: Session, turn: Turn) -> TurnSpending | None:
    """What a turn and the agents that it called spent; None if it has no prompt or requested nothing."""
    if turn.prompt is None or not turn.prompt.uuid:
        return None
    called = (session.agents_by_call.get(step.id or "") for step in turn.steps if isinstance(step, ToolCall))
    used = [session.usage_of(turn), *(each.usage for each in called if each and not each.is_recorded_inline)]
    if not any(each.requests for each in used):
        return None
    spent = sum(each.nanodollars or 0 for each in used)
    cost = money(nano(spent), is_partial=any(each.unpriced_tokens for each in used))
    text = shorten(turn.prompt.text[:400], 90) or "(no text)"
    return TurnSpending(turn.index, anchor(turn.prompt.uuid), text, spent, cost, 0.0)


def _shares(session: Session, report: CacheReport) -> Iterable[tuple[str, str, str]]:
    """Only those that are more than nothing. They overlap: an agent of a rewound branch is in two of them."""
    whole = session.total_usage.nanodollars or 0
    agents = sum(each.usage.nanodollars or 0 for each in session.subagents if not each.is_recorded_inline)
    left = sum(branch_usage(session, each).nanodollars or 0 for each in session.branches if not each.active)
    named = (("subagents", agents), ("branches left behind", left), ("rebuilds of the cache", report.caching.premium))
    for name, part in named:
        if part and whole:
            yield name, money(nano(part), is_partial=False), percent(part / whole)
    thinking = report.caching.thinking_share
    if thinking:
        estimated = " (estimated)" if report.caching.estimated_thinking_tokens else ""
        yield f"thinking{estimated}", "", f"{percent(thinking)} of the output"


def _curve(sizes: Sequence[int]) -> str:
    each = -(-len(sizes) // MOST_STEPS) or 1
    shown = [max(sizes[start : start + each]) for start in range(0, len(sizes), each)]
    most, width = max(shown, default=0) or 1, WIDTH / (len(shown) or 1)
    steps = (
        f"{x:.1f},{HEIGHT - HEIGHT * size / most:.1f}"
        for number, size in enumerate(shown)
        for x in (number * width, (number + 1) * width)
    )
    return " ".join([f"0,{HEIGHT}", *steps, f"{WIDTH},{HEIGHT}"])


def _marks(
    session: Session, report: CacheReport, times: Sequence[datetime | None], timeline: Sequence[TimelinePoint]
) -> list[CurveMark]:
    """Compactions and rebuilds of the conversation itself, in the order of time."""
    known = [time for time in times if time is not None]
    moments = [point.time for point in timeline]
    compacted = ((each.time, "compacted", _compacted(each)) for each in session.compactions)
    rebuilds = report.session.rebuilds if report.session else ()
    rebuilt = ((each.time, "rebuilt", _rebuilt(each)) for each in rebuilds if each.agent is None)
    found = [(time, kind, words) for time, kind, words in (*compacted, *rebuilt) if time is not None]
    marks = []
    for time, kind, words in sorted(found)[:MOST_MARKS]:
        place = bisect_right(moments, time) - 1
        x = round(WIDTH * (bisect_right(known, time) - (kind == "rebuilt") * 0.5) / (len(known) or 1))
        marks.append(CurveMark(kind, min(x, WIDTH), words, anchor(timeline[place].uuid) if place >= 0 else ""))
    return marks


def _compacted(record: CompactBoundary) -> str:
    before = record.compact_metadata.pre_tokens if record.compact_metadata else None
    return f"compacted at {tokens(before)}" if before else "compacted"


def _rebuilt(each: FoundRebuild) -> str:
    cost = money(nano(each.nanodollars), is_partial=each.nanodollars is None)
    return f"cache rebuilt, {cause_words(each.cause)}: {tokens(each.tokens)}{f', {cost} above reading' if cost else ''}"


def first_bad(marks: Iterable[MapMark]) -> dict[str, str]:
    """The first place of each kind of failure, by the word for it."""
    from_below = sorted(marks, key=lambda mark: -mark.y)
    return {mark.what: mark.anchor for mark in from_below if mark.what in FAILURES}
