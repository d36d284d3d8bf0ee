"""Whole pages: one file that needs nothing else, with a policy that lets nothing else in."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable
from datetime import datetime
from functools import cache
from hashlib import sha256
from typing import NamedTuple

from markupsafe import Markup

from reread.sessions import Session

from . import parts
from .session import page_of
from .templates import environment

MADE = "Made with reread from a Claude Code transcript. Costs are list prices, a lower bound."


class IndexRow(NamedTuple):
    """A session in the list of an exported folder."""

    href: str
    title: str
    project: str
    started: datetime | None
    facts: list[str]
    bad: list[tuple[str, int]]


def session_page(session: Session, shown: parts.Sections | None = None, made: str = MADE) -> str:
    """A session as a file of its own."""
    page = page_of(session, shown)
    return _render("page.html", page=page, title=page.title, made=made)


def index_page(title: str, rows: Iterable[IndexRow], total: str = "", made: str = MADE) -> str:
    """The list of the sessions of a folder."""
    return _render("index.html", title=title, rows=list(rows), total=total, made=made)


def turns_html(session: Session, shown: parts.Sections | None = None, turns: range | None = None) -> Markup:
    """The conversation alone, or some turns of it, for a page that has a frame of its own."""
    return fragment("session.html", page=page_of(session, shown, turns))


def fragment(template: str, **values: object) -> Markup:
    """One template with its values: `turn.html`, `call.html`, `diff.html`, `agent.html` and the others."""
    return Markup(environment().get_template(template).render(values))  # noqa: S704  the template escaped it


def _render(template: str, **values: object) -> str:
    style, script = asset("style.css"), asset("script.js")
    values |= {"policy": policy(style, script), "style": Markup(style), "script": Markup(script)}  # noqa: S704
    return environment().get_template(template).render(values)


@cache
def asset(name: str) -> str:
    """Style sheet or script, as it stands in the package."""
    made = environment()
    assert made.loader is not None  # noqa: S101  it is ours
    return made.loader.get_source(made, name)[0].strip()


def policy(style: str, script: str) -> str:
    """Our own style and script by their digests, images in the page itself, and nothing from anywhere."""
    allowed = f"style-src {_digest(style)}; script-src {_digest(script)}; img-src data:"
    return f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'"


def _digest(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
