"""The retrospective on one screen: what changed since the last look, the fix worth most, what became of the last."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from .numbers import count
from .rates import rate_text
from .retro_report import facts, kind_name, markdown_list, markdown_suggestions, subject_title, suggestion_lines, title
from .retro_wishes import applied_text
from .text import hanging, inline_markdown, shorten, wrap
from .values import View

if TYPE_CHECKING:
    from reread.archive import Retro
    from reread.archive.friction_report import FrictionGroup
    from reread.features.activity import Rate
    from reread.features.friction.detection import FrictionKind
    from reread.features.friction.suggestions import Suggestion

MOST_NEWS = 5
NOWADAYS = timedelta(days=28)
"""What did not happen for so long before the newest moment is no fix for a Friday, however much it would have saved."""
_FEWEST_NEW = 3
_INDENT = "    "


class News(NamedTuple):
    """What is worth a look: the time since the last one, and everything for the fix."""

    found: Retro
    whole: Retro
    shown_before: str | None = None
    """The key of the fix that was shown then."""
    narrowed: str = ""
    """The options it was asked with, without which suggestions have other numbers."""

    @property
    def number(self) -> int:
        """The number of the first suggestion about what happens nowadays; 0 if there is none."""
        newest = max((each.time for each in self.whole.events if each.time is not None), default=None)
        last = [each.last for each in self.whole.suggestions]
        recent = (n for n, time in enumerate(last, 1) if not time or not newest or time >= newest - NOWADAYS)
        return next(recent, 0)

    @property
    def fix(self) -> Suggestion | None:
        return self.whole.suggestions[self.number - 1] if self.number else None

    def quiet(self) -> str:
        """The one line of a period in which nothing happened; empty if something did."""
        if any(_news(self.found)) or (self.fix is not None and self.fix.key != self.shown_before):
            return ""
        quiet = "nothing changed that chance does not explain" if self.found.prompts else "no prompts"
        return f"{quiet}; `--all` has the whole report"

    def sections(self, view: View) -> Iterator[tuple[str, list[str]]]:
        """What changed, and what became of the last fix; the fix itself stands between them."""
        yield "What changed, per 100 prompts", list(islice(_news(self.found), MOST_NEWS))
        yield "What became of the last fix", [applied_text(each, view) for each in self.whole.applied[:1]]


def news_lines(news: News, view: View) -> Iterator[str]:
    yield view.style.paint(shorten(title(news.found, view), view.width), "bold")
    if quiet := news.quiet():
        yield from wrap(quiet, view.width)
        return
    yield from view.wrapped(" · ".join(facts(news.found)), "dim")
    for number, (heading, lines) in enumerate(news.sections(view)):
        if number and news.fix is not None:
            yield from ("", view.style.paint("The fix worth most", "bold"))
            yield from suggestion_lines(news.number, news.fix, news.whole, view)
        if lines:
            yield from ("", view.style.paint(heading, "bold"))
        for line in lines:
            yield from hanging(line, view.width, "  ", _INDENT)
    yield from ("", view.style.paint(shorten(_hint(news), view.width), "dim"))


def news_markdown(news: News, view: View) -> Iterator[str]:
    """The same for a note."""
    yield f"# {inline_markdown(title(news.found, view))}"
    yield from ("", inline_markdown(news.quiet() or " · ".join(facts(news.found))))
    if news.quiet():
        return
    for number, (heading, lines) in enumerate(news.sections(view)):
        if number and news.number:
            yield from markdown_suggestions(news.whole, [news.number])
        yield from markdown_list(heading, lines) if lines else ()


def _hint(news: News) -> str:
    which = f"{news.number}{news.narrowed}"
    commands = [f"`reread retro apply {which}`", f"`reread retro dismiss {which}` (not for me)"] if news.number else []
    return f"{', '.join([*commands, '`--all`'])}: more"


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
