"""The retrospective as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from .hits import show_command
from .retro import (
    MOST_PATTERNS,
    MOST_SUBJECTS,
    MOST_SUGGESTIONS,
    NOTHING,
    NOTHING_AT_ALL,
    change_text,
    checked,
    facts,
    kind_name,
    left_out_line,
    losses,
    pattern_title,
    proof,
    rate_text,
    subject_title,
    title,
)
from .text import harmless, one_line
from .view import View

if TYPE_CHECKING:
    from reread.queries.retro import Retro


def markdown_lines(
    found: Retro, view: View, limit: int | None = None, *, only_suggestions: bool = False
) -> Iterator[str]:
    yield f"# {_inline(title(found, view))}"
    yield ""
    yield _inline(" · ".join(facts(found)))
    if not only_suggestions:
        yield from _what_hurt(found, limit or MOST_SUBJECTS)
        yield from _over_time(found, view)
        yield from _patterns(found, limit or MOST_PATTERNS)
    yield from _suggestions(found, limit or MOST_SUGGESTIONS)
    if left_out := left_out_line(found):
        yield ""
        yield f"*{_inline(left_out)}*"


def _what_hurt(found: Retro, most: int) -> Iterator[str]:
    yield from _heading("What hurt most")
    if not found.events:
        yield NOTHING if found.prompts else NOTHING_AT_ALL
        return
    rows = [
        [
            kind_name(group.kind.value),
            str(group.count),
            str(group.sessions),
            *losses(group.seconds, group.nanodollars),
            rate_text(group.rate),
            " ".join(part for part in (rate_text(group.before, with_interval=False), group.change or "") if part),
        ]
        for group in found.kinds
    ]
    yield from _table(["kind", "times", "sessions", "time", "cost", "per 100 prompts", "before"], rows)
    yield ""
    for group in found.subjects[:most]:
        yield f"- **{_inline(subject_title(group))}**"
        yield f"  > {_inline(group.example.evidence)}"
        yield ""
        yield f"  `{_code(show_command(group.example.session, group.example.uuid))}`"


def _over_time(found: Retro, view: View) -> Iterator[str]:
    if len(found.weeks) > 1:
        yield from _heading("By week")
        rows = [
            [week.week, str(week.rate.exposure), str(week.rate.count), rate_text(week.rate)] for week in found.weeks
        ]
        yield from _table(["week", "prompts", "moments", "per 100 prompts"], rows)
    if found.changes:
        yield from _heading("Before and after")
        yield from (f"- {_inline(change_text(each, view))}" for each in found.changes)


def _patterns(found: Retro, most: int) -> Iterator[str]:
    if not found.patterns:
        return
    yield from _heading("What repeats")
    for pattern in found.patterns[:most]:
        moment = pattern.moments[0]
        yield f"- {pattern_title(pattern)}: {_inline(pattern.example)}"
        yield f"  `{_code(show_command(moment.session, moment.uuid))}`"


def _suggestions(found: Retro, most: int) -> Iterator[str]:
    if not found.suggestions:
        return
    yield from _heading("What to change")
    for number, each in enumerate(found.suggestions[:most], 1):
        yield from ("" for _ in range(number > 1))
        yield f"{number}. **{_inline(each.title)}** (`{_code(each.place)}`)"
        yield ""
        draft = harmless(each.draft)
        fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", draft)), default=0))
        yield f"   {fence}"
        yield from (f"   {line}".rstrip() for line in draft.split("\n"))
        yield f"   {fence}"
        yield ""
        yield f"   {_inline(checked(each))}: `{_code(proof(each, found))}`"


def _heading(text: str) -> Iterator[str]:
    yield ""
    yield f"## {text}"
    yield ""


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(header)} |"
    yield f"|{'---|' * len(header)}"
    yield from (f"| {' | '.join(_inline(cell).replace('|', chr(92) + '|') for cell in row)} |" for row in rows)


def _inline(text: str) -> str:
    """One line of Markdown that says what the text says."""
    return re.sub(r"([\\`*_\[\]<>])", r"\\\1", one_line(text))


def _code(text: str) -> str:
    return one_line(text).replace("`", "'")
