"""Sessions of the archive for a terminal and as JSON: the list and the overview, with each session's mark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta

from .numbers import count, money, nano, percent, shown_of, tokens
from .text import clip, joined, one_line, shorten, table, wrap
from .values import Document, View, dollars, each_picked, picked, utc, when

TYPE_CHECKING = False
if TYPE_CHECKING:
    from reread.archive.listing import Listed
    from reread.archive.lost_sessions import LostSession
    from reread.archive.usage_report import Period
    from reread.marks import Mark

    from .fact_lines import Fact

STAR = "★"
DRIVEN = "driven by a program"
_BRIEF_TAGS = 2
_BRIEF_TAG = 14


def mark_fields(mark: Mark) -> Document:
    return {**picked(mark, "starred tags note hidden"), "typed": mark.typed is not False}


def titled(title: str, mark: Mark) -> str:
    """`★ #refactor #ci +1 the title`: star and tags come first, because a title is cut at its end."""
    if not mark.starred and not mark.tags:
        return title
    tags = [f"#{shorten(tag, _BRIEF_TAG)}" for tag in mark.tags[:_BRIEF_TAGS]]
    more = len(mark.tags) - _BRIEF_TAGS
    parts = [STAR if mark.starred else "", *tags, f"+{more}" if more > 0 else "", title]
    return joined(parts, " ")


def mark_lines(mark: Mark, view: View, indent: str = "") -> Iterator[str]:
    """Star, tags and whether it is hidden, then the note on lines of its own."""
    paint = view.style.paint
    width = max(8, view.width - len(indent))
    tags, is_driven = f"tags: {', '.join(map(one_line, mark.tags))}" if mark.tags else "", mark.typed is False
    line = joined((STAR * mark.starred, tags, "hidden" * mark.hidden, DRIVEN * is_driven))
    if line:
        yield from (indent + paint(line, "cyan") for line in wrap(line, width))
    if mark.note is not None:
        yield from (indent + paint(line, "yellow") for line in wrap(mark.note, width))


SHORT_ID = 8
_MOST_LOST = 20
COPIED = "*"
LEGEND = "◇ subagents  ↩ branches  ✗ failed calls  ⇢ continued in"


def list_lines(sessions: Iterable[Listed], view: View, now: datetime, total: int) -> Iterator[str]:
    """A table of some of `total` sessions; of each only the shown cells stay in memory."""
    columns = _columns(view.width)
    rows = [tuple(_HEADER[name] for name in columns)]
    copied: list[tuple[bool, int]] = []
    """For each session: whether it repeats responses of other sessions, and what those cost."""
    for each in sessions:
        row = _row(each, view, now)
        copied.append((bool(each.copied.sessions), each.copied.nanodollars or 0))
        rows.append(tuple(row[name] for name in columns))
    if not copied:
        yield "no sessions"
        return
    has_copies = any(is_copied for is_copied, _ in copied) and "cost" in columns
    if has_copies:
        stars = [COPIED if is_copied else " " for is_copied, _ in copied]
        rows[1:] = _with_stars(rows[1:], columns.index("cost"), stars)
    right = frozenset(_places(columns, ("prompts", "tokens", "cost")))
    title, dispensable = columns.index("title"), _places(columns, _DISPENSABLE)
    lines = table(rows, view.width, flexible=title, right=right, dispensable=dispensable, least=_LEAST_TITLE)
    yield from view.headed(lines)
    yield ""
    legend = f"  {LEGEND}" if "marks" in columns else ""
    sums = shown_of(len(copied), total, "session") + legend
    yield from view.wrapped(sums, "dim")
    if has_copies:
        spent = sum(nanodollars for _, nanodollars in copied)
        yield from view.wrapped(copied_note(spent), "dim")


def _places(columns: Sequence[str], names: Iterable[str]) -> list[int]:
    return [columns.index(name) for name in names if name in columns]


def _with_stars(rows: Sequence[tuple[str, ...]], cost: int, stars: Sequence[str]) -> list[tuple[str, ...]]:
    """The rows with a star, or room for one, behind each cost."""
    return [(*row[:cost], row[cost] + star, *row[cost + 1 :]) for row, star in zip(rows, stars, strict=True)]


def lost_lines(lost: Sequence[LostSession], view: View) -> Iterator[str]:
    """Sessions that only the client's own index still lists; nothing if there are none."""
    if not lost:
        return
    yield ""
    verb = "was" if len(lost) == 1 else "were"
    heading = f"{count(len(lost), 'session')} {verb} deleted before the first import:"
    yield from view.wrapped(heading, "bold")
    for each in lost[:_MOST_LOST]:
        lead = [one_line(each.id)[:SHORT_ID], when(each.ended, view.timezone), shorten(last_part(each.project), 16)]
        text = " · ".join(one_line(part) for part in (each.summary, each.first_prompt) if part)
        yield clip("  ".join([*(part for part in lead if part), text]), view.width)
    if len(lost) > _MOST_LOST:
        yield view.style.paint(f"{len(lost) - _MOST_LOST:,} more; --json has all", "dim")


def copied_note(nanodollars: int) -> str:
    """Explains why the costs of a list add up to more than `reread usage` reports."""
    part = money(nano(nanodollars), is_partial=False) if nanodollars else "part"
    return f"{COPIED} {part} of this is told by several sessions (forks, copies); `reread usage` counts it once"


_HEADER = {
    "id": "session",
    "when": "last",
    "project": "project",
    "title": "title",
    "prompts": "prompts",
    "tokens": "out",
    "cost": "cost",
    "marks": "",
}
_WIDE, _TIMED = 116, 80
"""Widths from which all columns are shown, and from which the time of day is."""
_DATE = len("2026-11-15")
_PROJECT, _NARROW_PROJECT = 16, 12
_DISPENSABLE = ("prompts", "tokens", "marks", "project", "cost")
_LEAST_TITLE = 14
"""How many cells a title keeps as long as columns can be dropped instead."""


def _columns(width: int) -> list[str]:
    """The columns that fit; a narrow terminal still gets id, time and title."""
    return list(_HEADER) if width >= _WIDE else ["id", "when", "project", "title", "cost", "marks"]


def _row(each: Listed, view: View, now: datetime) -> dict[str, str]:
    row, is_short = each.stored.row, view.width < _WIDE
    return {
        "id": one_line(row.uuid)[:SHORT_ID],
        "when": when(each.stored.ended, view.timezone)[: _DATE if view.width < _TIMED else None],
        "project": shorten(last_part(each.project), _NARROW_PROJECT if is_short else _PROJECT),
        "title": titled(row.title or "", each.stored.mark),
        "prompts": str(row.prompts),
        "tokens": tokens(row.output_tokens),
        "cost": money(nano(row.nanodollars), is_partial=each.is_partial),
        "marks": marks(each, now, is_short=is_short),
    }


def last_part(project: str | None) -> str:
    return (project or "").replace("\\", "/").rstrip("/").rpartition("/")[2]


def marks(each: Listed, now: datetime, *, is_short: bool = False) -> str:
    """`◇2 ↩1 ✗3 deleted in 3 d`: what is worth knowing before opening the session."""
    row = each.stored.row
    found = [
        f"◇{row.subagents}" if row.subagents else "",
        f"↩{row.branches}" if row.branches > 1 else "",
        f"✗{row.tool_errors}" if row.tool_errors else "",
        f"⇢{one_line(row.continued_in)[:SHORT_ID]}" if row.continued_in else "",
        fate(each, now, is_short=is_short),
        "hidden" if each.stored.mark.hidden else "",
        "program" if each.stored.mark.typed is False else "",
    ]
    return joined(found, " ")


def fate(each: Listed, now: datetime, *, is_short: bool = False) -> str:
    """Whether the source is deleted or soon will be; the archive keeps the session either way."""
    if not each.stored.present:
        return "only here"
    if each.expires is None or not each.expires_soon(now):
        return ""
    left = max(timedelta(), each.expires - now)
    if not left.days:
        return "deleted soon"
    return f"{left.days} d left" if is_short else f"deleted in {left.days} d"


def overview_lines(
    sessions: Iterable[tuple[int, Listed]], heading: str, periods: Sequence[Period], view: View
) -> Iterator[str]:
    """Recent usage, and the newest sessions with the numbers that select them."""
    yield from _period_table(periods, view)
    yield ""
    yield view.style.paint(heading, "bold")
    yield from newest_table([_recent(position, each, view) for position, each in sessions], view)


def closing_lines(facts: Sequence[Fact], view: View) -> Iterator[str]:
    """What stands out, each with its command, and what to type next."""
    for fact in facts:
        yield ""
        yield from wrap(fact.sentence, view.width)
        yield view.style.paint(f"  {fact.command}", "cyan")
    yield ""
    hint = "reread show @last    reread search WORDS    reread serve    reread --help"
    yield from view.wrapped(hint, "dim")


def newest_table(rows: Sequence[Sequence[str]], view: View) -> Iterator[str]:
    """Number, time, project, title, prompts and cost of the newest sessions; prompts, project and cost are dropped, in
    this order, if they leave the title no room."""
    return table(rows, view.width, flexible=3, right=(4, 5), dispensable=(4, 2, 5), least=_LEAST_TITLE)


def _period_table(periods: Sequence[Period], view: View) -> Iterator[str]:
    header = ("", "prompts", "cost", "tokens", "cache hit")
    rows = [header, *map(_period_row, periods)]
    least = max(len(row[0]) for row in rows)
    lines = table(rows, view.width, flexible=0, right=range(1, len(header)), dispensable=(4, 3, 1), least=least)
    yield from view.headed(lines)


def _period_row(period: Period) -> tuple[str, ...]:
    used = period.tokens
    hit = "" if used.cache_hit is None else percent(used.cache_hit)
    cost = money(used.cost, is_partial=period.is_partial)
    prompts = f"{period.prompts:,}" if period.prompts is not None else ""
    return (period.label, prompts, cost or "$0", tokens(used.total_tokens), hit)


def _recent(position: int, each: Listed, view: View) -> tuple[str, ...]:
    row = each.stored.row
    return (
        f"@{position}",
        when(each.stored.ended, view.timezone),
        shorten(last_part(each.project), 16),
        titled(row.title or "", each.stored.mark),
        count(row.prompts, "prompt"),
        money(nano(row.nanodollars), is_partial=each.is_partial),
    )


def listing_document(sessions: Iterable[Listed]) -> Document:
    return {"schema": "reread.sessions/1", "sessions": [listed_row(each) for each in sessions]}


def lost_row(each: LostSession) -> Document:
    """A session that only the client's own index still lists."""
    return picked(each, "id project title summary first_prompt git_branch started ended messages")


def overview_document(
    sessions: Iterable[Listed], total: int, hidden: int, expiring: int, facts: Iterable[Fact], periods: Iterable[Period]
) -> Document:
    """The newest of `total` sessions; `hidden` is the number of hidden ones."""
    return {
        **listing_document(sessions),
        "total_sessions": total,
        "hidden_sessions": hidden,
        "expiring_sessions": expiring,
        "facts": [fact._asdict() for fact in facts],
        "periods": [_period_document(period) for period in periods],
    }


def listed_row(each: Listed) -> Document:
    row = each.stored.row
    return {
        "id": each.id,
        **picked(row, "project title"),
        **picked(each.stored, "started ended"),
        **picked(row, "versions prompts turns requests tool_calls tool_errors thoughts output_tokens"),
        "cost_usd": dollars(nano(row.nanodollars)),
        **picked(row, "subagents branches compactions continued_in"),
        **kept_fields(each),
    }


def kept_fields(each: Listed) -> Document:
    """The fields of a session that only the archive knows."""
    return {
        **picked(each.stored, "files bytes=row.bytes present"),
        "places": each_picked(each.stored.places, "machine path present"),
        "archived": True,
        "expires": utc(each.expires),
        "belongs_to": each.project or None,
        "copied_from": list(each.copied.sessions),
        "copied_cost_usd": dollars(nano(each.copied.nanodollars)),
        **mark_fields(each.stored.mark),
    }


def _period_document(period: Period) -> Document:
    return {
        "period": period.label,
        "since": period.since.isoformat(),
        "prompts": period.prompts,
        **picked(period.tokens, "requests tokens=total_tokens cost_usd=cost unpriced_tokens"),
        "cache_hit": None if period.tokens.cache_hit is None else round(period.tokens.cache_hit, 4),
    }


def rows_document(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Document:
    """One object per row; a column with a repeated name gets a number."""
    names = unique(columns)
    found = [dict(zip(names, map(json_value, row), strict=True)) for row in rows]
    return {"schema": "reread.sql/1", "columns": names, "rows": found}


def unique(names: Sequence[str]) -> list[str]:
    found: list[str] = []
    for name in names:
        number = 2
        fresh = name
        while fresh in found:
            fresh = f"{name}_{number}"
            number += 1
        found.append(fresh)
    return found


def json_value(value: object) -> object:
    """Bytes, such as digests, become hexadecimal."""
    return value.hex() if isinstance(value, bytes) else value
