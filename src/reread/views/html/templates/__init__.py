"""The templates, and how they are filled: every value is escaped, and none brings in what a screen obeys."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from reread.views.html.content import typed
from reread.views.numbers import count
from reread.views.text import one_line, tabbed
from reread.views.values import utc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from reread.views.html.parts import DiffRow

LONGEST_LINE = 600


@cache
def environment() -> Environment:
    """Made once: templates are compiled when they are first used."""
    made = Environment(
        loader=PackageLoader("reread.views.html", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_finished,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.filters |= {"moment": _moment, "counted": count, "token": _token, "shortened": _shortened, "typed": typed}
    made.filters["diff_lines"] = _diff_lines
    made.globals |= {
        "part_base": "",
        "agent_base": "",
        "later_from": 0,
    }  # a page that brings in folded parts later says where from
    return made


def _finished(value: object) -> object:
    """The last word before the page: what is not markup of ours is text, without what a screen obeys."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return tabbed(value).encode("utf-8", "replace").decode()
    return value


def _moment(time: datetime | None) -> Markup:
    """UTC for all; a reader with script sees their own time, and the exact one on hover."""
    if time is None:
        return Markup("")
    exact = time.astimezone(UTC)
    return Markup('<time datetime="{}" title="{}">{} UTC</time>').format(
        utc(time), exact.strftime("%Y-%m-%d %H:%M:%S UTC"), exact.strftime("%Y-%m-%d %H:%M")
    )


_SIGNS = {"+": " added", "-": " removed"}


def _diff_lines(rows: Iterable[DiffRow]) -> Markup:
    """Not by a template of its own: a page may have a hundred thousand of them, and each would be filled on its own."""
    return Markup("".join(map(_diff_line, rows)))  # noqa: S704  each is escaped


def _diff_line(row: DiffRow) -> str:
    classes = f"line{_SIGNS.get(row.sign, '')}{' skips' if row.skips else ''}"
    number = "" if row.number is None else int(row.number)
    sign = row.sign if row.sign in _PLAIN_SIGNS else escape(_finished(row.sign))
    start = f'<div class="{classes}"><span class="n" data-n="{number}"></span><span class="sign">{sign}</span>'
    return f"{start}<code>{row.html}</code></div>"


_PLAIN_SIGNS = (" ", "+", "-")


def _token(text: str) -> str:
    """A name fit for a class."""
    return re.sub(r"[^a-z_]+", "-", text.lower())[:30]


def _shortened(text: str) -> str:
    line = one_line(text[: LONGEST_LINE * 4])
    return line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]}…"
