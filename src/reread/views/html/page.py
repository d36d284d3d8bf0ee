"""Whole self-contained pages, whose policy lets nothing else in, and the templates, which escape every value."""

from __future__ import annotations

import re
import sys
from base64 import b64encode
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from importlib.util import cache_from_source
from pathlib import Path
from typing import NamedTuple

from jinja2 import Environment, FileSystemBytecodeCache, PackageLoader, StrictUndefined
from jinja2.bccache import Bucket
from markupsafe import Markup

from reread import __version__
from reread.sessions import Session
from reread.views.html.content import typed
from reread.views.numbers import count
from reread.views.text import one_line, tabbed
from reread.views.values import utc

from . import parts
from .session import page_of

MADE = "Made with reread from a Claude Code transcript. Costs are list prices, a lower bound."


class IndexRow(NamedTuple):
    """A session in the index of an exported folder."""

    href: str
    title: str
    project: str
    started: datetime | None
    facts: list[str]
    bad: list[tuple[str, int]]


def session_page(session: Session, shown: parts.Sections | None = None, made: str = MADE) -> str:
    """A session as a complete page."""
    page = page_of(session, shown)
    return _render("page.html", page=page, title=page.title, made=made)


def index_page(title: str, rows: Iterable[IndexRow]) -> str:
    """The index of a folder of sessions."""
    return _render("index.html", title=title, rows=list(rows), made=MADE)


def fragment(template: str, **values: object) -> Markup:
    """One template filled with values: `turn.html`, `call.html`, `diff.html`, `agent.html` and the others."""
    return Markup(environment().get_template(template).render(values))  # noqa: S704  the template escaped it


def _render(template: str, **values: object) -> str:
    style, script = asset("style.css"), asset("script.js")
    values |= {"policy": policy(style, script), "style": Markup(style), "script": Markup(script)}  # noqa: S704
    return environment().get_template(template).render(values)


@cache
def asset(name: str) -> str:
    """A style sheet or script of the package, unchanged."""
    made = environment()
    assert made.loader is not None  # noqa: S101  it is ours
    return made.loader.get_source(made, name)[0].strip()


def policy(style: str, script: str) -> str:
    """The content security policy: our own style and script by their digests, images inside the page, nothing else."""
    allowed = f"style-src {_digest(style)}; script-src {_digest(script)}; img-src data:"
    return f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'"


def _digest(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


LONGEST_LINE = 600


class CompiledTemplates(FileSystemBytecodeCache):
    """Keeps compiled templates where Python keeps our compiled modules, and only if it may write there. Compiling took
    0.1 s of every export."""

    def load_bytecode(self, bucket: Bucket) -> None:
        with suppress(OSError):
            super().load_bytecode(bucket)

    def dump_bytecode(self, bucket: Bucket) -> None:
        if not sys.dont_write_bytecode:
            with suppress(OSError):
                Path(self.directory).mkdir(parents=True, exist_ok=True)
                super().dump_bytecode(bucket)


class LoadedTemplates(Environment):
    """Caches templates: they do not change while we run, and a page asks thousands of times for the same dozen."""

    get_template = cache(Environment.get_template)


@cache
def environment() -> Environment:
    """The one template environment; templates are loaded on first use."""
    folder, kind = Path(cache_from_source(__file__)).parent, sys.implementation.cache_tag
    made = LoadedTemplates(
        loader=PackageLoader("reread.views.html", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_finished,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
        bytecode_cache=CompiledTemplates(str(folder), f"%s-{__version__}.{kind}.code"),
    )
    made.filters |= {"moment": _moment, "counted": count, "token": _token, "shortened": _shortened, "typed": typed}
    made.filters["diff_lines"] = _diff_lines
    made.globals |= {
        "part_base": "",
        "agent_base": "",
        "picture_base": "",
        "later_from": 0,
    }  # a page that loads folded parts later sets their addresses
    return made


def _finished(value: object) -> object:
    """The last step before the page: removes control characters from every value that is not our own markup."""
    if isinstance(value, str) and not isinstance(value, Markup):
        clean = tabbed(value)
        return clean if clean.isascii() else clean.encode("utf-8", "replace").decode()
    return value


def _moment(time: datetime | None) -> Markup:
    """A time in UTC, exact on hover; with scripts, readers see it in their own time zone."""
    if time is None:
        return Markup("")
    exact = time.astimezone(UTC)
    return Markup('<time datetime="{}" title="{}">{} UTC</time>').format(
        utc(time), exact.strftime("%Y-%m-%d %H:%M:%S UTC"), exact.strftime("%Y-%m-%d %H:%M")
    )


def _diff_lines(rows: Iterable[str]) -> Markup:
    return Markup("".join(rows))  # noqa: S704  each is made by `diff_of`, escaped


def _token(text: str) -> str:
    """A text as a CSS class name."""
    return re.sub(r"[^a-z_]+", "-", text.lower())[:30]


def _shortened(text: str) -> str:
    line = one_line(text[: LONGEST_LINE * 4])
    return line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]}…"
