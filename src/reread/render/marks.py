"""What is noted on a session where the session is shown: briefly beside its title, in its heading, among its fields."""

from __future__ import annotations

from .text import one_line, shorten, wrap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from reread.marks import Mark

    from .values import Document
    from .view import View

STAR = "★"
_BRIEF_TAGS = 2
_BRIEF_TAG = 14


def mark_fields(mark: Mark) -> Document:
    return {"starred": mark.starred, "tags": list(mark.tags), "note": mark.note, "hidden": mark.hidden}


def titled(title: str, mark: Mark) -> str:
    """`★ #refactor #ci +1 the title`: what is noted comes first, for a title is cut at its end."""
    if not mark.starred and not mark.tags:
        return title
    tags = [f"#{shorten(tag, _BRIEF_TAG)}" for tag in mark.tags[:_BRIEF_TAGS]]
    more = len(mark.tags) - _BRIEF_TAGS
    parts = [STAR if mark.starred else "", *tags, f"+{more}" if more > 0 else "", title]
    return " ".join(part for part in parts if part)


def mark_lines(mark: Mark, view: View, indent: str = "") -> Iterator[str]:
    """Tags, note and whether it is hidden, each on lines of its own."""
    paint = view.style.paint
    width = max(8, view.width - len(indent))
    tags = f"tags: {', '.join(map(one_line, mark.tags))}" if mark.tags else ""
    told = " · ".join(part for part in (STAR * mark.starred, tags, "hidden" * mark.hidden) if part)
    if told:
        yield from (indent + paint(line, "cyan") for line in wrap(told, width))
    if mark.note is not None:
        yield from (indent + paint(line, "yellow") for line in wrap(mark.note, width))
