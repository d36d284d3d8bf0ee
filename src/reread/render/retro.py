"""The retrospective for a terminal: what hurt most first, then what repeats, then what to change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from .hits import show_command
from .numbers import count, duration, money, nano
from .text import cells, harmless, one_line, shorten, table, wrap
from .view import View, when

if TYPE_CHECKING:
    from reread.analyses.friction.events import Event
    from reread.analyses.friction.patterns import Pattern
    from reread.analyses.friction.suggestions import Suggestion
    from reread.analyses.rates import Rate
    from reread.queries.retro import Group, Retro
    from reread.queries.trends import Changed, Week

MOST_SUBJECTS = 6
MOST_PATTERNS = 6
MOST_SUGGESTIONS = 5
_MOST_WEEKS = 12
_ROOM_FOR_SESSIONS = 90
_LONGEST_DRAFT = 14
_INDENT = "    "
NOTHING = "nothing went wrong here, as far as the lines tell"
NOTHING_AT_ALL = "no prompts and no friction in this period"
PATTERNS = {
    "repeated_instruction": "told again",
    "re_ask": "asked again",
    "repeated_workflow": "done again",
    "after_edit": "run after edits",
    "permission_toil": "permission asked again",
    "manual_step": "typed by hand",
    "tool_error": "failed again",
}


def retro_lines(found: Retro, view: View, limit: int | None = None, *, only_suggestions: bool = False) -> Iterator[str]:
    yield from _head(found, view)
    if not only_suggestions:
        if found.events:
            yield from _kinds(found, view)
            yield from _subjects(found, view, limit or MOST_SUBJECTS)
            yield from _weeks(found.weeks, view)
            yield from _changes(found.changes, view)
        else:
            yield ""
            yield NOTHING if found.prompts else NOTHING_AT_ALL
        yield from _patterns(found.patterns, view, limit or MOST_PATTERNS)
    yield from _suggestions(found, view, limit or MOST_SUGGESTIONS)
    left_out = left_out_line(found)
    if left_out:
        yield ""
        yield view.style.paint(shorten(left_out, view.width), "dim")


def _head(found: Retro, view: View) -> Iterator[str]:
    yield view.style.paint(shorten(title(found, view), view.width), "bold")
    yield from (view.style.paint(line, "dim") for line in wrap(" · ".join(facts(found)), view.width))


def title(found: Retro, view: View) -> str:
    if found.session is not None:
        return found.session.row.title or found.session.row.uuid
    since, until = when(found.since, view.timezone, "%Y-%m-%d"), when(found.until, view.timezone, "%Y-%m-%d")
    if since and until:
        return f"From {since} to {until}"
    return f"Since {since}" if since else f"Until {until}" if until else "All sessions"


def facts(found: Retro) -> list[str]:
    ended = found.outcomes
    tests = ended.tests_passed + ended.tests_failed
    said = [
        count(found.sessions, "session") if found.session is None else found.session.row.uuid,
        count(found.prompts, "prompt"),
        count(len(found.events), "moment") if found.events else "",
        f"tests passed last in {ended.tests_passed} of {tests}" if tests else "",
        f"{count(ended.committed, 'session')} with commits" if ended.committed else "",
        f"before: {count(found.sessions_before, 'session')}, {count(found.prompts_before, 'prompt')}"
        if found.prompts_before
        else "",
    ]
    return [each for each in said if each]


def _heading(text: str, view: View) -> Iterator[str]:
    yield ""
    yield view.style.paint(text, "bold")


def _kinds(found: Retro, view: View) -> Iterator[str]:
    yield from _heading("What hurt most", view)
    has_past = any(group.before is not None for group in found.kinds)
    header = ("", "times", "sessions", "time", "cost", "per 100 prompts", "before", "")
    rows = [header, *(_kind_row(group) for group in found.kinds)]
    rows = rows if has_past else [row[:6] for row in rows]
    if view.width < _ROOM_FOR_SESSIONS:
        rows = [(*row[:2], *row[3:]) for row in rows]
    lines = list(table(rows, view.width - 2, flexible=0, right=frozenset(range(1, len(rows[0]) - has_past))))
    yield "  " + view.style.paint(lines[0], "dim")
    yield from (f"  {line}" for line in lines[1:])
    causes = [f"{cause.value} {group.count:,}" for cause, group in found.causes.items() if group is not None]
    yield "  " + view.style.paint(shorten(f"where to look: {', '.join(causes)}", view.width - 2), "dim")


def _kind_row(group: Group) -> tuple[str, ...]:
    return (
        kind_name(group.kind.value),
        f"{group.count:,}",
        f"{group.sessions:,}",
        duration(group.seconds) if group.seconds else "",
        money(nano(group.nanodollars), is_partial=False) if group.nanodollars else "",
        rate_text(group.rate),
        rate_text(group.before, with_interval=False),
        group.change or "",
    )


def kind_name(kind: str) -> str:
    return kind.replace("_", " ")


def rate_text(rate: Rate | None, *, with_interval: bool = True) -> str:
    """`6.8 (4.3–10.1)`: the rate, and between what it may lie."""
    if rate is None or rate.per_hundred is None:
        return ""
    interval = rate.interval
    told = f" ({interval[0]:.1f}–{interval[1]:.1f})" if with_interval and interval is not None else ""
    return f"{rate.per_hundred:.1f}{told}"


def _subjects(found: Retro, view: View, most: int) -> Iterator[str]:
    for group in found.subjects[:most]:
        yield ""
        yield "  " + shorten(subject_title(group), view.width - 2)
        yield from _quoted(group.example, view)
    if len(found.subjects) > most:
        yield ""
        yield view.style.paint(f"  and {len(found.subjects) - most:,} more; --limit shows them", "dim")


def subject_title(group: Group) -> str:
    facts = [
        f"{count(group.count, 'time')} in {count(group.sessions, 'session')}",
        duration(group.seconds) if group.seconds else "",
        money(nano(group.nanodollars), is_partial=False) if group.nanodollars else "",
        max(group.causes, key=lambda cause: group.causes[cause]),
    ]
    about = one_line(group.about or "")
    about = about.replace("_", " ") if group.kind.value in ("tool_error", "stall") else about
    name = " · ".join(part for part in (kind_name(group.kind.value), about) if part)
    return f"{name}: " + " · ".join(each for each in facts if each)


def _quoted(event: Event, view: View) -> Iterator[str]:
    for line in wrap(f"“{one_line(event.evidence)}”", view.width - len(_INDENT)):
        yield _INDENT + line
    yield _INDENT + view.style.paint(show_command(event.session, event.uuid), "dim")


def _weeks(weeks: Sequence[Week], view: View) -> Iterator[str]:
    shown = weeks[-_MOST_WEEKS:]
    if len(shown) < 2:
        return
    yield from _heading("By week, moments per 100 prompts", view)
    highest = max(week.rate.per_hundred or 0.0 for week in shown) or 1.0
    room = max(4, min(40, view.width - 50))
    for week in shown:
        bar = "█" * round(room * (week.rate.per_hundred or 0.0) / highest)
        prompts = f"{count(week.rate.exposure, 'prompt'):>14}"
        yield f"  {week.week}  {prompts}  {rate_text(week.rate):>18}  {bar}".rstrip()


def _changes(changes: Sequence[Changed], view: View) -> Iterator[str]:
    if not changes:
        return
    yield from _heading("Before and after, four weeks each, per 100 prompts", view)
    for each in changes:
        yield "  " + shorten(change_text(each, view), view.width - 2)


def change_text(each: Changed, view: View) -> str:
    name = one_line(each.name)
    what = f"{name} changed" if each.what == "instructions" else f"first used {name}"
    day = when(each.time, view.timezone, "%Y-%m-%d")
    verdict = f", {each.change}" if each.change else ", no clear difference"
    return f"{day}  {what}: {rate_text(each.before)} → {rate_text(each.after)}{verdict}"


def _patterns(patterns: Sequence[Pattern], view: View, most: int) -> Iterator[str]:
    if not patterns:
        return
    yield from _heading("What repeats", view)
    for pattern in patterns[:most]:
        lead = f"  {pattern_title(pattern)}: "
        yield lead + shorten(pattern.example, max(8, view.width - cells(lead)))
        moment = pattern.moments[0]
        yield _INDENT + view.style.paint(show_command(moment.session, moment.uuid), "dim")
    if len(patterns) > most:
        yield view.style.paint(f"  and {len(patterns) - most:,} more; --limit shows them", "dim")


def pattern_title(pattern: Pattern) -> str:
    times = f"{count(pattern.count, 'time')} in {count(len(pattern.sessions), 'session')}"
    return f"{PATTERNS[pattern.kind.value]}, {times}"


def _suggestions(found: Retro, view: View, most: int) -> Iterator[str]:
    if not found.suggestions:
        return
    yield from _heading("What to change", view)
    for number, each in enumerate(found.suggestions[:most], 1):
        yield from ("" for _ in range(number > 1))
        yield f"  {number}. " + shorten(each.title, view.width - 5)
        yield _INDENT + view.style.paint(shorten(f"into {each.place}", view.width - 4), "cyan")
        yield from _draft(each, view)
        yield _INDENT + view.style.paint(proof(each, found), "dim")
    if len(found.suggestions) > most:
        yield view.style.paint(f"  and {len(found.suggestions) - most:,} more; --limit shows them", "dim")


def _draft(each: Suggestion, view: View) -> Iterator[str]:
    lines = harmless(each.draft).split("\n")
    for line in lines[:_LONGEST_DRAFT]:
        for part in wrap(line, view.width - len(_INDENT) - 2):
            yield f"{_INDENT}│ {part}".rstrip()
    if len(lines) > _LONGEST_DRAFT:
        yield f"{_INDENT}│ … {count(len(lines) - _LONGEST_DRAFT, 'line')} more, whole in --json"


def proof(each: Suggestion, found: Retro) -> str:
    """The first of the lines that prove it, and how many more there are."""
    if not each.evidence:
        return ""
    first = each.evidence[0]
    command = show_command(found.homes.get(first, "@last"), first)
    return command + (f" and {len(each.evidence) - 1} more" if len(each.evidence) > 1 else "")


def left_out_line(found: Retro) -> str:
    spared = found.spared
    said = [
        f"{spared.of_agents:,} of subagents (--agents)" if spared.of_agents else "",
        f"{spared.unsure:,} unsure (--min-confidence 0)" if spared.unsure else "",
        f"{spared.wrong:,} marked as wrong (--include-wrong)" if spared.wrong else "",
    ]
    told = ", ".join(each for each in said if each)
    return f"left out: {told}" if told else ""


def labelled_lines(uuid: str, kinds: Sequence[str], session: str, view: View, *, is_wrong: bool) -> Iterator[str]:
    named = " and ".join(kind_name(kind) for kind in kinds) or "moment"
    what = "is left out from now on" if is_wrong else "counts again"
    yield shorten(f"{named} {what}: {show_command(session, uuid)}", view.width)
