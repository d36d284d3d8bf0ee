"""Answers as terminal text: thinking, prompts, tools, the doctor's findings, the overview, running sessions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import tzinfo

from reread.archive.answers import FoundPrompts, FoundThought, ThinkingAnswer
from reread.archive.health import Health
from reread.blocks.of_session import SessionBlocks
from reread.errors import printable
from reread.features.activity import PLAN, QUESTION, Activity, Doing
from reread.features.tool_use import ToolCount
from reread.records.drift import Drift
from reread.sessions import Session
from reread.sessions.lost_words import REMEDY

from .calls import tool_label
from .numbers import beside_lines, by_version, count, duration, money, percent, results_waiting, shown_of
from .session_list import newest_table
from .terminal import WITHDRAWN, turn_lines
from .text import harmless, joined, one_line, ruler, shorten, table, wrap
from .values import View, when

_WORDS = {
    Doing.THINKING: "thinking",
    Doing.WRITING: "writing",
    Doing.WAITING: "waiting for your next prompt",
    Doing.SILENT: "silent for long; it may have ended",
    Doing.ENDED: "ended",
}
_ASKED = {QUESTION: "a question", PLAN: "a plan"}


def activity_words(activity: Activity) -> str:
    """`working: Bash`, `waiting for you: permission for Bash`; worded as a guess if it is one."""
    tool = tool_label(activity.tool)[:60]
    if activity.doing is Doing.WORKING:
        return f"working: {tool}" if tool else "working in the background"
    if activity.doing is Doing.WAITING and activity.is_guess:
        return "waiting for your next prompt, or closed"
    if activity.doing is not Doing.ASKING:
        return _WORDS[activity.doing]
    what = _ASKED.get(activity.tool, f"permission for {tool}")
    if not activity.is_guess:
        return f"waiting for you: {what}"
    return f"may be waiting for you: {what if activity.tool in _ASKED else f'{tool} gave no result yet'}"


_SHORT_ID = 8
_GLANCE = 20
_LEAST_TOOL = 20
_MOST = 12
"""How many rows of a list the doctor shows; the rest is only counted."""


def thinking_lines(answer: ThinkingAnswer, view: View) -> Iterator[str]:
    for found in answer.thoughts:
        yield from thought_lines(found, view)
    left_out = [
        f"{count(answer.skipped_short, 'short one')} skipped" if answer.skipped_short else "",
        f"{answer.empty_with_signature:,} not stored by the client" if answer.empty_with_signature else "",
        f"{answer.redacted:,} redacted" if answer.redacted else "",
    ]
    summary = joined(left_out, ", ")
    line = shown_of(len(answer.thoughts), answer.total, "thought") + (f" ({summary})" if summary else "")
    yield from (view.style.paint(part, "dim") for part in wrap(line, view.width))


def thought_lines(found: FoundThought, view: View) -> Iterator[str]:
    session = one_line(found.session)[:_SHORT_ID]
    who = f"{session} agent {found.agent}" if found.agent else session
    billed = found.thought.billed_tokens
    seen = f" · about {found.thought.estimated_tokens:,} tokens, {billed:,} billed for the response" if billed else ""
    label = f"{when(found.thought.time, view.timezone)} · {who}{seen}".strip(" ·")
    yield view.style.paint(ruler(label, view.width), "dim")
    yield from wrap(WITHDRAWN.get(found.thought.withdrawn or "", "") + found.thought.text.strip(), view.width)
    yield ""


def prompts_lines(found: FoundPrompts, view: View) -> Iterator[str]:
    for each in found.prompts:
        place = f"{when(each.prompt.time, view.timezone)}  {one_line(each.session)[:_SHORT_ID]}  "
        text = each.prompt.text or "(no text)"
        yield view.style.paint(place, "dim") + shorten(text, max(8, view.width - len(place)))
    if not found.prompts:
        yield "no prompts"
    yield from _beyond(len(found.prompts), found.total, "prompt", view)


def _beyond(shown: int, total: int, noun: str, view: View) -> Iterator[str]:
    """Says how many of `total` are shown, if a limit left some out."""
    if shown < total:
        yield view.style.paint(shown_of(shown, total, noun), "dim")


def raw_prompts(found: FoundPrompts) -> Iterator[str]:
    """One prompt per line, as typed; a line break inside becomes `\\n`, a backslash `\\\\`."""
    for each in found.prompts:
        yield harmless(each.prompt.text).replace("\\", "\\\\").replace("\n", "\\n")


def tools_lines(counts: Sequence[ToolCount], view: View, limit: int | None = None) -> Iterator[str]:
    if not counts:
        yield "no tool calls"
        return
    header = ("tool", "calls", "errors", "rejected", "rate", "time each")
    rows = [header, *(_tool_row(each) for each in counts[:limit])]
    lines = table(rows, view.width, flexible=0, right=range(1, 6), dispensable=(3, 5, 4, 2), least=_LEAST_TOOL)
    yield from view.headed(lines)
    yield from _beyond(len(rows) - 1, len(counts), "tool", view)


def _tool_row(each: ToolCount) -> tuple[str, ...]:
    name = f"{each.server}:{each.tool}" if each.server else each.name
    time = duration(each.seconds / each.calls) if each.seconds else ""
    rate = percent(each.error_rate) if each.errors else ""
    return (name, f"{each.calls:,}", str(each.errors or ""), str(each.rejected or ""), rate, time)


def health_lines(health: Health, view: View) -> Iterator[str]:
    drift = health.drift
    malformed = [f"{bad.file.name}:{bad.line}: {bad.reason} (in {bad.file.parent})" for bad in health.malformed]
    yield from _wrapped(f"{count(health.sessions, 'session')} in {count(health.files, 'file')}", view, "bold")
    yield from _wrapped(f"{count(health.lines, 'line')}, {count(health.records, 'record')}", view)
    yield from _wrapped(_versions(health), view)
    yield from _listed("unreadable file", [str(problem) for problem in health.unreadable], "red", view)
    yield from _listed("malformed line", malformed, "red", view)
    yield from _listed("unknown type", _counted(drift.unknown_types.most_common()), "yellow", view)
    yield from _listed("unmodelled field", _counted(drift.unmodelled_fields.most_common()), "yellow", view)
    yield from _listed("unexpected value", _counted(drift.unexpected_values.most_common()), "yellow", view)
    if health.unsaid:
        where = f"in {count(health.unsaid_sessions, 'session')}"
        lost = f"{count(health.unsaid, 'text')} of Claude {where} that the client did not store: {REMEDY}"
        yield from _wrapped(lost, view, "yellow")
    copies = count(health.cross_file_duplicates, "line")
    yield from _wrapped(f"{count(health.orphan_parents, 'orphan parent')}, {copies} in several files", view)
    yield from _left_out(health, view)
    for line in beside_lines(health.beside):
        yield from _wrapped(line, view, "yellow")
    if health.results_waiting:
        yield from _wrapped(f"{results_waiting(health.results_waiting)}: `reread sync` does that now", view, "yellow")
    yield from _retention(health, view)
    yield f"prices of {health.price_table_date}"


def field_lines(drift: Drift, view: View) -> Iterator[str]:
    """How often each field occurs, by type of record."""
    for label, found in drift.fields.items():
        yield ""
        yield from _wrapped(f"{label}: {count(found.objects, 'object')}", view, "bold")
        rows = [(f"  {name}", f"{number:,}", f"{number / found.objects:.0%}") for name, number in found.fields.items()]
        yield from table(rows, view.width, flexible=0, right=frozenset({1, 2}))


def _wrapped(text: str, view: View, *looks: str) -> Iterator[str]:
    return (view.style.paint(line, *looks) for line in wrap(text, view.width))


def _versions(health: Health) -> str:
    versions = sorted(health.versions, key=by_version)
    if not versions:
        return "no client version named"
    span = versions[0] if len(versions) == 1 else f"{versions[0]} to {versions[-1]}"
    return f"{count(len(versions), 'client version')}: {span}"


def _counted(pairs: Iterable[tuple[str, int]]) -> list[str]:
    return [f"{name} ({number:,})" for name, number in pairs]


def _listed(noun: str, items: list[str], look: str, view: View) -> Iterator[str]:
    if not items:
        yield f"no {noun}s"
        return
    yield view.style.paint(f"{count(len(items), noun)}:", look)
    for item in items[:_MOST]:
        yield from (f"  {part}" for part in wrap(one_line(item), view.width - 2))
    if len(items) > _MOST:
        yield from _wrapped(f"  and {len(items) - _MOST:,} more (--json lists all)", view, "dim")


def _left_out(health: Health, view: View) -> Iterator[str]:
    """What is in the sources but missing from the archive's answers, and why."""
    out = health.left_out
    reasons = (
        (out.unread, "not in the archive yet, or not whole: `reread sync` takes them"),
        (out.forgotten, "left out for good, because you had them forgotten"),
        (out.damaged, "with something that cannot be read, which is left out"),
    )
    for names, why in reasons:
        if names:
            some = ", ".join(printable(name) for name in names[:_FEW_NAMES])
            more = f" and {len(names) - _FEW_NAMES:,} more" if len(names) > _FEW_NAMES else ""
            yield from _wrapped(f"{count(len(names), 'session')} {why} ({some}{more})", view, "yellow")


_FEW_NAMES = 3


def _retention(health: Health, view: View) -> Iterator[str]:
    period = f"(cleanupPeriodDays {health.cleanup_period_days:g})"
    if health.expiring_sessions:
        warning = f"{count(health.expiring_sessions, 'session')} will be deleted by Claude Code within 7 days"
        yield from _wrapped(f"{warning} {period}{_kept(health)}", view, "yellow")
    else:
        yield from _wrapped(f"no session is about to be deleted {period}", view)


def _kept(health: Health) -> str:
    if health.unkept_sessions is None:
        return "; `reread sync` keeps them"
    if health.unkept_sessions:
        return f"; {health.unkept_sessions:,} not yet in the archive: `reread sync` keeps them"
    return "; the archive has them all"


def overview_lines(sessions: list[Session], total: int, view: View) -> Iterator[str]:
    """The newest sessions, and what to type next."""
    yield view.style.paint(f"{count(total, 'session')}, newest first", "bold")
    rows = [_overview_row(position, session, view.timezone) for position, session in enumerate(sessions, 1)]
    yield from newest_table(rows, view)
    yield from _last_turn(sessions, view)
    yield ""
    yield from _wrapped("reread show @last    reread thinking    reread tools    reread --help", view, "dim")


def _last_turn(sessions: list[Session], view: View) -> Iterator[str]:
    """The beginning of the last turn of the newest session that has one."""
    newest = next((session for session in sessions if session.turns), None)
    if newest is None:
        return
    turn = SessionBlocks(newest).turn(newest, newest.turns[-1], is_last=True)
    lines = list(turn_lines(turn, view, newest.project))
    yield from lines[:_GLANCE]
    if len(lines) > _GLANCE:
        yield view.style.paint(f"    … {count(len(lines) - _GLANCE, 'more line')}: reread show @last", "dim")


def _overview_row(position: int, session: Session, zone: tzinfo | None) -> tuple[str, ...]:
    project = (session.project or "").replace("\\", "/").rstrip("/").rpartition("/")[2]
    usage = session.total_usage
    return (
        f"@{position}",
        when(session.ended, zone),
        shorten(project, 16),
        session.title,
        count(len(session.prompts), "prompt"),
        money(usage.cost, is_partial=usage.unpriced_tokens > 0),
    )
