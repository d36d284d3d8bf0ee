"""The retrospective on one screen: what changed since the last look, the fix worth most, what became of the last."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from .numbers import count
from .retro_report import (
    applied_change,
    facts,
    kind_name,
    rate_text,
    subject_title,
    suggestion_lines,
    title,
)
from .text import hanging, shorten, wrap
from .values import View

if TYPE_CHECKING:
    from reread.archive import Retro
    from reread.archive.friction_report import FrictionGroup
    from reread.features.activity import Rate
    from reread.features.friction.detection import FrictionKind
    from reread.features.friction.suggestions import Suggestion

MOST_NEWS = 5
_FEWEST_NEW = 3
_INDENT = "    "


def news_lines(found: Retro, whole: Retro, view: View, *, shown_before: str | None = None) -> Iterator[str]:
    """What is worth a look; `found` is the time since the last one, `whole` everything, `shown_before` the key of the
    fix that was shown then."""
    yield view.style.paint(shorten(title(found, view), view.width), "bold")
    news, fix = list(_news(found)), _fix(whole)
    past = applied_change(whole.changes, view)
    if not news and (fix is None or fix.key == shown_before):
        quiet = "nothing changed that chance does not explain" if found.prompts else "no prompts"
        yield from wrap(f"{quiet}; `--all` has the whole report", view.width)
        return
    yield from view.wrapped(" · ".join(facts(found)), "dim")
    if news:
        yield from ("", view.style.paint("What changed, per 100 prompts", "bold"))
        for line in news[:MOST_NEWS]:
            yield from hanging(line, view.width, "  ", _INDENT)
    if fix is not None:
        yield from ("", view.style.paint("The fix worth most", "bold"))
        yield from suggestion_lines(1, fix, whole, view)
    if past:
        yield from ("", view.style.paint("What became of the last fix", "bold"))
        yield from hanging(past, view.width, "  ", _INDENT)
    yield from ("", view.style.paint(shorten(_hint(fix), view.width), "dim"))


def _hint(fix: Suggestion | None) -> str:
    commands = ["`reread retro apply 1`", "`reread retro dismiss 1` (not for me)"] if fix is not None else []
    return f"{', '.join([*commands, '`--all`'])}: more"


def _fix(whole: Retro) -> Suggestion | None:
    return whole.suggestions[0] if whole.suggestions else None


def _news(found: Retro) -> Iterator[str]:
    """What is new, more, less and gone, each with its number; nothing that chance explains."""
    changed = [group for group in found.subjects if group.change is not None]
    new = [group for group in changed if _is_new(group)]
    yield from (f"new: {subject_title(group)}; {rate_text(group.rate)}" for group in new)
    for group in changed:
        if not _is_new(group):
            yield f"{group.change}: {subject_title(group)}; {rate_text(group.rate)}, before {rate_text(group.before)}"
    for kind, rate in found.gone:
        yield _gone(kind, rate, found.prompts)


def _is_new(group: FrictionGroup) -> bool:
    return group.before is not None and group.before.count == 0 and group.count >= _FEWEST_NEW


def _gone(kind: FrictionKind, before: Rate, prompts: int) -> str:
    return f"gone: {kind_name(kind.value)}; none in {count(prompts, 'prompt')}, before {rate_text(before)}"
