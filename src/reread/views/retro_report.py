"""The retrospective for a terminal, as Markdown, as a JSON document and as a chart."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, timedelta
from typing import TYPE_CHECKING

from reread.features.friction.detection import PRINTED_NAMES

from .charts import Chart, Series
from .hits import show_command
from .numbers import count, duration, money, nano, some
from .rates import rate_document, rate_text, times_in
from .retro_wishes import ledger_document, ledger_sections
from .text import cells, hanging, harmless, inline_markdown, joined, one_line, shorten, table, wrap
from .values import Document, View, dollars, each_picked, picked, utc, when

if TYPE_CHECKING:
    from reread.archive.friction_report import FrictionGroup, Retro
    from reread.archive.friction_trends import TurningPoint, Week
    from reread.features.friction.detection import Moment
    from reread.features.friction.patterns import RepeatedPattern
    from reread.features.friction.suggestions import Suggestion


MOST_SUBJECTS = 6
MOST_PATTERNS = 6
MOST_SUGGESTIONS = 5
_MOST_WEEKS = 12
_DISPENSABLE = (6, 2, 3, 5)
"""Columns that are dropped if there is no room, in this order: the rate before, sessions, time, the rate."""
_LEAST_KIND = 16
_LEAST_BAR = 4
_LEAST_EXAMPLE = 24
_LONGEST_DRAFT = 14
_INDENT = "    "
NOTHING = "nothing went wrong here, as far as the lines tell"
NOTHING_AT_ALL = "no prompts and no friction in this period"
WEEKS = "By week, moments per 100 prompts"
_NO_DIFFERENCE = "no clear difference"
_PROVEN = 1.0
_CLASSED = ("tool_error", "stall", "rewind")
"""Kinds of friction whose subject is one of our own names, such as an error class, not the person's text."""
_UNCOUNTED = frozenset({"rework"})
_LEFT_OUT = {
    "of_agents": ("of subagents", "--agents"),
    "unsure": ("unsure", "--min-confidence 0"),
    "wrong": ("marked as wrong", "--include-wrong"),
}
PATTERNS = {
    "repeated_instruction": "told again",
    "correction": "corrected again",
    "re_ask": "asked again",
    "repeated_workflow": "done again",
    "after_edit": "run after edits",
    "failing_habit": "fails nearly always",
    "read_again": "read again",
    "refused": "turned down again",
    "permission_toil": "permission asked again",
    "manual_step": "typed by hand",
    "tool_error": "failed again",
}


def retro_lines(
    found: Retro, view: View, limit: int | None = None, *, only_suggestions: bool = False, narrowed: str = ""
) -> Iterator[str]:
    """The report; `narrowed` are the options that it was asked with, without which suggestions have other numbers."""
    yield from _head(found, view)
    if not only_suggestions:
        if found.events:
            yield from _kinds(found, view)
            yield from _subjects(found, view, limit or MOST_SUBJECTS)
            yield from _weeks(found.weeks, view)
            yield from _changes(found.changes, view)
        else:
            yield ""
            yield from wrap(NOTHING if found.prompts else NOTHING_AT_ALL, view.width)
        yield from _patterns(found.patterns, view, limit or MOST_PATTERNS)
    yield from _suggestions(found, view, limit or MOST_SUGGESTIONS, narrowed)
    for heading, lines in () if only_suggestions else ledger_sections(found, view, limit or MOST_PATTERNS):
        yield from _heading(heading, view)
        for line in lines:
            yield from hanging(line, view.width, "  ", _INDENT)
    left_out = left_out_line(found)
    if left_out:
        yield ""
        yield from view.wrapped(left_out, "dim")


def _head(found: Retro, view: View) -> Iterator[str]:
    yield view.style.paint(shorten(title(found, view), view.width), "bold")
    yield from view.wrapped(" · ".join(facts(found)), "dim")


def title(found: Retro, view: View) -> str:
    if found.session is not None:
        return found.session.row.title or found.session.row.uuid
    # A period that ends at midnight is named by the day before.
    last = None if found.until is None else found.until - timedelta.resolution
    since, until = when(found.since, view.timezone, "%Y-%m-%d"), when(last, view.timezone, "%Y-%m-%d")
    if since and until:
        return f"From {since} to {until}"
    return f"Since {since}" if since else f"Until {until}" if until else "All time"


def facts(found: Retro) -> list[str]:
    ended = found.outcomes
    tests = ended.tests_passed + ended.tests_failed
    lines = [
        count(found.sessions, "session") if found.session is None else found.session.row.uuid,
        count(found.prompts, "prompt"),
        some(len(found.events), "moment"),
        f"the last tests passed in {ended.tests_passed:,} of {count(tests, 'session')}" if tests else "",
        f"{count(ended.committed, 'session')} with commits" if ended.committed else "",
        f"before: {count(found.sessions_before, 'session')}, {count(found.prompts_before, 'prompt')}"
        if found.prompts_before
        else "",
        f"moments of {count(found.waiting, 'session')} are still to be found (`reread sync` does)"
        if found.waiting
        else "",
    ]
    return [each for each in lines if each]


def _heading(text: str, view: View) -> Iterator[str]:
    yield ""
    yield view.style.paint(text, "bold")


def _kinds(found: Retro, view: View) -> Iterator[str]:
    yield from _heading("What hurt most", view)
    has_past = any(group.before is not None for group in found.kinds)
    header = ("", "times", "sessions", "time", "cost", "per 100 prompts", "before", "")
    rows = [header, *(_kind_row(group) for group in found.kinds)]
    rows = rows if has_past else [row[:6] for row in rows]
    dispensable = _DISPENSABLE if has_past else _DISPENSABLE[1:]
    right = range(1, len(rows[0]) - has_past)
    lines = table(rows, view.width - 2, flexible=0, right=right, dispensable=dispensable, least=_LEAST_KIND)
    yield "  " + view.style.paint(next(lines), "dim")
    yield from (f"  {line}" for line in lines)
    yield from (f"  {view.style.paint(line, 'dim')}" for line in wrap(causes_line(found), view.width - 2))


def causes_line(found: Retro) -> str:
    causes = [f"{cause.value} {group.count:,}" for cause, group in found.causes.items() if group is not None]
    return f"where to look: {', '.join(causes)}"


def _kind_row(group: FrictionGroup) -> tuple[str, ...]:
    return (
        kind_name(group.kind.value),
        f"{group.count:,}",
        f"{group.sessions:,}",
        *group_losses(group),
        rate_text(group.rate),
        rate_text(group.before, with_interval=False),
        group.change or "",
    )


def group_losses(group: FrictionGroup) -> tuple[str, str]:
    return losses(group.seconds, group.nanodollars, is_partial=group.unpriced > 0)


def losses(seconds: float | None, nanodollars: int | None, *, is_partial: bool = False) -> tuple[str, str]:
    """Time and money; empty if nothing was lost or the transcript does not show it."""
    return (
        duration(seconds) if seconds else "",
        money(nano(nanodollars or None), is_partial=is_partial) if nanodollars or is_partial else "",
    )


def moment_losses(event: Moment) -> tuple[str, str]:
    lost = event.loss
    return losses(lost.seconds, lost.nanodollars, is_partial=bool(lost.tokens) and lost.nanodollars is None)


def kind_name(kind: str) -> str:
    return PRINTED_NAMES.get(kind) or kind.replace("_", " ")


def kinds_line(events: Iterable[Moment]) -> str:
    """`3 corrections, 5 tool errors, 2 times rework`: corrections first, then the most frequent."""
    found = Counter(event.kind.value for event in events).most_common()
    return ", ".join(
        f"{count(number, 'time')} {kind_name(kind)}" if kind in _UNCOUNTED else count(number, kind_name(kind))
        for kind, number in sorted(found, key=lambda each: each[0] != "correction")
    )


def guess(event: Moment) -> str:
    """How sure a moment is and why; empty if the lines prove it."""
    because = one_line(str(event.details.get("because", "")))
    certainty = f"a guess, {event.confidence:.0%} sure" if event.confidence < _PROVEN else ""
    return f"{certainty}: {because}" if certainty and because else certainty


def doubtful_text(event: Moment, view: View) -> str:
    """A guess as it is asked about."""
    because = f" (because {event.details['because']})" if "because" in event.details else ""
    day = when(event.time, view.timezone, "%Y-%m-%d")
    return f"{day} {kind_name(event.kind.value)}: “{one_line(event.evidence)}”{because}"


def _subjects(found: Retro, view: View, most: int) -> Iterator[str]:
    for group in found.subjects[:most]:
        yield ""
        yield from hanging(subject_title(group), view.width, "  ", _INDENT)
        yield from _quoted(group.example, view)
    if len(found.subjects) > most:
        yield ""
        yield _more(len(found.subjects) - most, view)


def subject_title(group: FrictionGroup) -> str:
    name = joined((kind_name(group.kind.value), about_name(group)))
    return f"{name}: {subject_facts(group)}"


def about_name(group: FrictionGroup) -> str:
    about = one_line(group.about or "")
    return about.replace("_", " ") if group.kind.value in _CLASSED else about


def subject_facts(group: FrictionGroup) -> str:
    facts = [
        times_in(group.count, group.sessions),
        *group_losses(group),
        max(group.causes, key=lambda cause: group.causes[cause]),
    ]
    return joined(facts)


def change_line(group: FrictionGroup) -> str:
    """The comparison with the time before the period, in words; empty if there is nothing to compare with."""
    past = rate_text(group.before, with_interval=False)
    verdict = f"{group.change} than before" if group.change else _NO_DIFFERENCE
    return f"{verdict} ({past})" if past else ""


def _quoted(event: Moment, view: View) -> Iterator[str]:
    for line in wrap(f"“{one_line(event.evidence)}”", view.width - len(_INDENT)):
        yield _INDENT + line
    because = one_line(str(event.details.get("because", "")))
    for line in wrap(f"because: {because}", view.width - len(_INDENT)) if because else ():
        yield _INDENT + view.style.paint(line, "dim")
    yield _INDENT + view.style.paint(show_command(event.session, event.uuid), "dim")


def _weeks(weeks: Sequence[Week], view: View) -> Iterator[str]:
    shown = weeks[-_MOST_WEEKS:]
    if len(shown) < 2:
        return
    yield from _heading(WEEKS, view)
    highest = max(week.rate.per_hundred or 0.0 for week in shown) or 1.0
    rows = [(week.week, count(week.rate.exposure, "prompt"), rate_text(week.rate)) for week in shown]
    room = max(
        _LEAST_BAR, min(40, view.width - 2 - sum(2 + max(map(cells, column)) for column in zip(*rows, strict=True)))
    )
    bars = ["█" * round(room * (week.rate.per_hundred or 0.0) / highest) for week in shown]
    drawn = [(*row, bar) for row, bar in zip(rows, bars, strict=True)]
    lines = table(drawn, view.width - 2, flexible=0, right=(1, 2), dispensable=(3, 1), least=_LEAST_KIND)
    yield from (f"  {line}" for line in lines)


def _changes(changes: Sequence[TurningPoint], view: View) -> Iterator[str]:
    if not changes:
        return
    yield from _heading("Before and after, four weeks each, per 100 prompts", view)
    for each in changes:
        if each.change is not None:
            yield from hanging(change_text(each, view), view.width, "  ", _INDENT)
    same = [f"{one_line(each.name)} ({_day(each, view)})" for each in changes if each.change is None]
    for line in wrap(f"{_NO_DIFFERENCE} after {', '.join(same)}", view.width - 2) if same else ():
        yield "  " + view.style.paint(line, "dim")


def change_text(each: TurningPoint, view: View) -> str:
    name = one_line(each.name)
    what = f"{name} changed" if each.what == "instructions" else f"first used {name}"
    rates = f"{rate_text(each.before)} → {rate_text(each.after)}"
    return f"{_day(each, view)}  {what}: {rates}, {each.change or _NO_DIFFERENCE}"


def _day(each: TurningPoint, view: View) -> str:
    return when(each.time, view.timezone, "%Y-%m-%d")


def _patterns(patterns: Sequence[RepeatedPattern], view: View, most: int) -> Iterator[str]:
    if not patterns:
        return
    yield from _heading("What repeats", view)
    for pattern in patterns[:most]:
        lead = f"{pattern_title(pattern)}: "
        room = view.width - cells(lead) - 2
        example = shorten(pattern.example, room) if room >= _LEAST_EXAMPLE else one_line(pattern.example)
        yield from hanging(lead + example, view.width, "  ", _INDENT)
        moment = pattern.moments[0]
        yield _INDENT + view.style.paint(show_command(moment.session, moment.uuid), "dim")
    if len(patterns) > most:
        yield _more(len(patterns) - most, view)


def pattern_title(pattern: RepeatedPattern) -> str:
    return f"{PATTERNS[pattern.kind.value]}, {times_in(pattern.count, len(pattern.sessions))}"


def _suggestions(found: Retro, view: View, most: int, narrowed: str) -> Iterator[str]:
    if not found.suggestions:
        return
    yield from _heading("What to change", view)
    for number, each in enumerate(found.suggestions[:most], 1):
        yield from ("" for _ in range(number > 1))
        yield from suggestion_lines(number, each, found, view)
    hint = f"`reread retro apply N{narrowed}` shows what one of them would change, and asks"
    yield from (f"  {view.style.paint(line, 'dim')}" for line in wrap(hint, view.width - 2))
    if len(found.suggestions) > most:
        yield _more(len(found.suggestions) - most, view)


def suggestion_lines(number: int, each: Suggestion, found: Retro, view: View) -> Iterator[str]:
    yield from hanging(f"{number}. {one_line(each.title)}", view.width, "  ", "     ")
    yield _INDENT + view.style.paint(shorten(f"into {each.place}", view.width - 4), "cyan")
    yield from _draft(each, view)
    for line in wrap(checked(each), view.width - len(_INDENT)):
        yield _INDENT + view.style.paint(line, "dim")
    yield from (_INDENT + view.style.paint(line, "dim") for line in proof(each, found))


def _more(number: int, view: View) -> str:
    return view.style.paint(f"  and {number:,} more; --limit shows them", "dim")


def _draft(each: Suggestion, view: View) -> Iterator[str]:
    lines = harmless(each.draft).split("\n")
    for line in lines[:_LONGEST_DRAFT]:
        for part in wrap(line, view.width - len(_INDENT) - 2):
            yield f"{_INDENT}│ {part}".rstrip()
    if len(lines) > _LONGEST_DRAFT:
        yield f"{_INDENT}│ … {count(len(lines) - _LONGEST_DRAFT, 'line')} more, whole in --json"


def checked(each: Suggestion) -> str:
    """How a draft was checked against the archive, and what it would have saved."""
    worth = f"about {each.worth.minutes:,.0f} minutes ({each.worth.how})" if each.worth.minutes >= 1 else ""
    _, spent = losses(None, each.worth.nanodollars, is_partial=each.worth.is_partial)
    last = f"last on {each.last:%Y-%m-%d}" if each.last is not None else ""
    return joined((each.checked, worth, spent, last), "; ")


def proof(each: Suggestion, found: Retro) -> list[str]:
    """The command that shows the first line that proves it, and how many further lines do."""
    if not each.evidence:
        return []
    first, more = each.evidence[0], len(each.evidence) - 1
    command = show_command(found.homes.get(first, "@last"), first)
    return [command, f"and {more:,} more; --json has them"] if more else [command]


def left_out_line(found: Retro) -> str:
    listed = ", ".join(f"{words} ({_LEFT_OUT[name][1]})" for name, words in left_out(found).items())
    return f"left out: {listed}" if listed else ""


def left_out(found: Retro) -> dict[str, str]:
    """The moments that are not shown, such as `3 marked as wrong`, by reason."""
    numbers = found.spared._asdict()
    return {name: f"{numbers[name]:,} {words}" for name, (words, _) in _LEFT_OUT.items() if numbers[name]}


def labelled_lines(uuid: str, kinds: Sequence[str], session: str, view: View, *, is_wrong: bool) -> Iterator[str]:
    yield shorten(f"{labelled(kinds, is_wrong=is_wrong)}: {show_command(session, uuid)}", view.width)


def labelled(kinds: Sequence[str], *, is_wrong: bool) -> str:
    named = " and ".join(kind_name(kind) for kind in kinds) or "moment"
    return f"{named} {'is left out from now on' if is_wrong else 'counts again'}"


def applied_lines(diff: Iterable[str], view: View) -> Iterator[str]:
    """A change to one of Claude Code's files, as `diff -u` shows it."""
    colours = {"+": "green", "-": "red", "@": "cyan"}
    for line in diff:
        colour = colours.get(line[:1])
        yield view.style.paint(harmless(line), colour) if colour else harmless(line)


def applied_document(path: str, backup: str | None, diff: list[str], *, is_done: bool) -> dict[str, object]:
    return {"schema": "reread.applied/1", "path": path, "backup": backup, "diff": diff, "done": is_done}


MOST_WEEKS = 104
"""A bound, because one line with a wrong year would make thousands of weeks."""


def weeks_chart(weeks: Sequence[Week]) -> Chart:
    """The last two years. Weeks without a prompt are included; their rate is unknown."""
    rates = {week.week: week.rate.per_hundred for week in weeks}
    first, last = (date.fromisoformat(week.week) for week in (weeks[0], weeks[-1]))
    number = min((last - first).days // 7, MOST_WEEKS - 1)
    labels = [(last - timedelta(weeks=back)).isoformat() for back in range(number, -1, -1)]
    return Chart(
        title=WEEKS,
        labels=tuple(labels),
        series=(Series("moments", tuple(rates.get(label) for label in labels)),),
        adds_up=False,
    )


def retro_document(found: Retro, limit: int | None = None, *, only_suggestions: bool = False) -> Document:
    suggestions = [_suggestion(each, found) for each in found.suggestions[: limit or MOST_SUGGESTIONS]]
    if only_suggestions:
        return {"schema": "reread.retro/1", "events": [], "patterns": [], "suggestions": suggestions}
    return {
        "schema": "reread.retro/1",
        "since": utc(found.since),
        "until": utc(found.until),
        "session": found.session.row.uuid if found.session is not None else None,
        "sessions": found.sessions,
        "prompts": found.prompts,
        "baseline": {"sessions": found.sessions_before, "prompts": found.prompts_before}
        if found.prompts_before
        else None,
        "kinds": [_group(group) for group in found.kinds],
        "subjects": [_group(group) for group in found.subjects[:limit]],
        "causes": {cause.value: _group(group) if group is not None else None for cause, group in found.causes.items()},
        "weeks": [{"week": week.week, **rate_document(week.rate), "kinds": week.kinds} for week in found.weeks],
        "changes": [_changed(each) for each in found.changes],
        "outcomes": found.outcomes._asdict(),
        "left_out": found.spared._asdict(),
        "sessions_waiting": found.waiting,
        "events": [_event(event, found) for event in found.events[:limit]],
        "patterns": [_pattern(pattern) for pattern in found.patterns[:limit]],
        "suggestions": suggestions,
        **ledger_document(found),
    }


def _event(event: Moment, found: Retro) -> Document:
    return {
        **picked(event, "kind session uuid timestamp=time evidence confidence cause about agent"),
        **picked(event.loss, "seconds tokens"),
        "cost_usd": dollars(nano(event.loss.nanodollars)),
        "details": event.details,
        "wrong": (event.uuid, event.kind) in found.wrong,
    }


def _group(group: FrictionGroup) -> Document:
    return {
        **picked(group, "kind about sessions seconds tokens"),
        "cost_usd": dollars(nano(group.nanodollars)),
        **picked(group, "unpriced_moments=unpriced hurt causes"),
        **rate_document(group.rate),
        "before": rate_document(group.before) if group.before is not None else None,
        "change": group.change,
        "example": picked(group.example, "session uuid evidence"),
    }


def _changed(each: TurningPoint) -> Document:
    return {
        **picked(each, "what name timestamp=time session uuid"),
        "before": rate_document(each.before),
        "after": rate_document(each.after),
        "change": each.change,
    }


def _pattern(pattern: RepeatedPattern) -> Document:
    return {
        **picked(pattern, "kind count sessions example about"),
        "moments": each_picked(pattern.moments, "session uuid timestamp=time text"),
        "details": pattern.details,
    }


def _suggestion(each: Suggestion, found: Retro) -> Document:
    return {
        **picked(each, "kind title draft place evidence"),
        "moments": [{"session": found.homes.get(uuid), "uuid": uuid} for uuid in each.evidence],
        **picked(each, "sessions count days project"),
        "replay": picked(each, "matched went_well checked"),
        "worth": {
            "minutes": each.worth.minutes,
            "cost_usd": dollars(nano(each.worth.nanodollars)),
            "estimated": each.worth.how,
        },
    }


def labelled_document(uuid: str, kinds: Sequence[str], session: str, *, is_wrong: bool) -> Document:
    return {"schema": "reread.label/1", "uuid": uuid, "kinds": list(kinds), "session": session, "wrong": is_wrong}


def markdown_lines(
    found: Retro, view: View, limit: int | None = None, *, only_suggestions: bool = False
) -> Iterator[str]:
    yield f"# {inline_markdown(title(found, view))}"
    yield ""
    yield inline_markdown(" · ".join(facts(found)))
    if not only_suggestions:
        yield from _what_hurt(found, limit or MOST_SUBJECTS)
        yield from _over_time(found, view)
        yield from _markdown_patterns(found, limit or MOST_PATTERNS)
    yield from markdown_suggestions(found, range(1, min(len(found.suggestions), limit or MOST_SUGGESTIONS) + 1))
    for heading, lines in () if only_suggestions else ledger_sections(found, view, limit or MOST_PATTERNS):
        yield from markdown_list(heading, lines)
    if left_out := left_out_line(found):
        yield ""
        yield f"*{inline_markdown(left_out)}*"


_MOST_EVIDENCE = 60
"""How many moments, the newest, a model is shown."""


def evidence_lines(found: Retro, view: View) -> Iterator[str]:
    """What a model is shown: the report, and the newest moments with their quotes."""
    yield from markdown_lines(found, view)
    yield from _markdown_heading("Moments")
    for event in found.events[:_MOST_EVIDENCE]:
        day = when(event.time, view.timezone, "%Y-%m-%d")
        yield f"- {day} {kind_name(event.kind)}, {event.about}: {inline_markdown(event.evidence)}"


def _what_hurt(found: Retro, most: int) -> Iterator[str]:
    yield from _markdown_heading("What hurt most")
    if not found.events:
        yield NOTHING if found.prompts else NOTHING_AT_ALL
        return
    rows = [
        [
            kind_name(group.kind.value),
            str(group.count),
            str(group.sessions),
            *group_losses(group),
            rate_text(group.rate),
            joined((rate_text(group.before, with_interval=False), group.change or ""), " "),
        ]
        for group in found.kinds
    ]
    yield from _table(["kind", "times", "sessions", "time", "cost", "per 100 prompts", "before"], rows)
    yield ""
    for group in found.subjects[:most]:
        yield f"- **{inline_markdown(subject_title(group))}**"
        yield f"  > {inline_markdown(group.example.evidence)}"
        yield ""
        yield f"  `{_code(show_command(group.example.session, group.example.uuid))}`"


def _over_time(found: Retro, view: View) -> Iterator[str]:
    if len(found.weeks) > 1:
        yield from _markdown_heading("By week")
        rows = [
            [week.week, str(week.rate.exposure), str(week.rate.count), rate_text(week.rate)] for week in found.weeks
        ]
        yield from _table(["week", "prompts", "moments", "per 100 prompts"], rows)
    if found.changes:
        yield from markdown_list("Before and after", (change_text(each, view) for each in found.changes))


def _markdown_patterns(found: Retro, most: int) -> Iterator[str]:
    if not found.patterns:
        return
    yield from _markdown_heading("What repeats")
    for pattern in found.patterns[:most]:
        moment = pattern.moments[0]
        yield f"- {pattern_title(pattern)}: {inline_markdown(pattern.example)}"
        yield f"  `{_code(show_command(moment.session, moment.uuid))}`"


def markdown_suggestions(found: Retro, numbers: Sequence[int]) -> Iterator[str]:
    if not numbers:
        return
    yield from _markdown_heading("What to change")
    for number in numbers:
        each = found.suggestions[number - 1]
        yield from ("" for _ in range(number > numbers[0]))
        yield f"{number}. **{inline_markdown(each.title)}** (`{_code(each.place)}`)"
        yield ""
        draft = harmless(each.draft)
        fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", draft)), default=0))
        yield f"   {fence}"
        yield from (f"   {line}".rstrip() for line in draft.split("\n"))
        yield f"   {fence}"
        yield ""
        command, *more = proof(each, found) or [""]
        yield f"   {inline_markdown(checked(each))}: `{_code(command)}`{''.join(f' {rest}' for rest in more)}"


def markdown_list(heading: str, lines: Iterable[str]) -> Iterator[str]:
    yield from _markdown_heading(heading)
    yield from (f"- {inline_markdown(line)}" for line in lines)


def _markdown_heading(text: str) -> Iterator[str]:
    yield ""
    yield f"## {text}"
    yield ""


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(header)} |"
    yield f"|{'---|' * len(header)}"
    yield from (f"| {' | '.join(inline_markdown(cell).replace('|', chr(92) + '|') for cell in row)} |" for row in rows)


def _code(text: str) -> str:
    return one_line(text).replace("`", "'")
