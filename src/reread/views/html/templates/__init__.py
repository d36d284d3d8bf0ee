"""The templates, and how they are filled: every value is escaped, and none brings in what a screen obeys."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from reread.views.html.content import typed
from reread.views.numbers import count
from reread.views.text import one_line, tabbed
from reread.views.values import utc

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


def _token(text: str) -> str:
    """A name fit for a class."""
    return re.sub(r"[^a-z_]+", "-", text.lower())[:30]


def _shortened(text: str) -> str:
    line = one_line(text[: LONGEST_LINE * 4])
    return line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]}…"
