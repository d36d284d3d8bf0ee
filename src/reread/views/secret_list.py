"""Keys and passwords in past sessions, for a terminal and as JSON; and those left in an export."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from reread.features.secrets import Redactor
from reread.features.secrets.json_values import whole_value
from reread.features.secrets.redact import left_in_value

from .hits import show_command
from .numbers import count, shown_of
from .session_list import last_part
from .text import one_line, table
from .values import Document, View, picked, when

if TYPE_CHECKING:
    from reread.archive.secret_scan import ExposedSecret, SecretLocation, SecretsAnswer


_INDENT = "    "
MOST_PLACES = 3
"""How many places of each secret are shown."""


def secrets_document(answer: SecretsAnswer, advice: str) -> Document:
    return {
        "schema": "reread.secrets/1",
        "total": answer.total,
        "damaged": answer.damaged,
        "secrets": [_secret(each) for each in answer.secrets],
        "advice": advice if answer.secrets else None,
    }


def _secret(secret: ExposedSecret) -> Document:
    return {
        **picked(secret, "id kind"),
        "count": len(secret.places),
        **picked(secret, "first last replaced sessions"),
        "places": [_place(place) for place in secret.places],
    }


def title_of(place: SecretLocation) -> str | None:
    """The title, redacted: it is often the first prompt, which may contain the secret."""
    title = place.session.row.title
    return Redactor().redact(title) if title else None


def _place(place: SecretLocation) -> Document:
    names = "session=session.row.uuid uuid field timestamp=time project=session.row.project"
    return {**picked(place, names), "title": title_of(place)}


def secrets_lines(answer: SecretsAnswer, advice: str, view: View, values: Mapping[str, str]) -> Iterator[str]:
    if not answer.secrets:
        yield "no keys or passwords found"
        return
    rows = [("last", "kind", "lines", "sessions", "project"), *(_row(each, view) for each in answer.secrets)]
    lines = table(rows, view.width, flexible=4, right=(2, 3), dispensable=(3, 0))
    yield view.style.paint(next(lines), "bold")
    for each, line in zip(answer.secrets, lines, strict=True):
        yield line
        if each.id in values:
            yield _INDENT + view.style.paint(one_line(values[each.id]), "bold", "yellow")
        for place in each.places[-MOST_PLACES:]:
            command = show_command(place.session.row.uuid, place.uuid)
            yield _INDENT + view.style.paint(f"{command}  ({place.field})", "dim")
        if len(each.places) > MOST_PLACES:
            yield _INDENT + view.style.paint(f"and {count(len(each.places) - MOST_PLACES, 'earlier line')}", "dim")
    yield ""
    yield from view.wrapped(f"{shown_of(len(answer.secrets), answer.total, 'secret')}. {advice}", "dim")


def _row(secret: ExposedSecret, view: View) -> tuple[str, str, str, str, str]:
    projects = dict.fromkeys(last_part(place.session.row.project) for place in secret.places)
    return (
        when(secret.last, view.timezone),
        secret.kind,
        f"{len(secret.places):,}",
        f"{len(secret.sessions):,}",
        ", ".join(projects),
    )


_IMAGES = re.compile(r"data:image/[a-z]+;base64,[A-Za-z0-9+/=]*")
_COLOURS = re.compile(r"</?span[^>]*>")
_TAGS = re.compile(r"<[^>]*>")


def left_in_export(redactor: Redactor, text: str, form: str) -> Counter[str]:
    """Secrets left in an export. Its text is searched without markup, because the colours of code split a secret."""
    left: Counter[str] = Counter()
    for value in _readable(text, form):
        left += left_in_value(redactor, value)
    return left


def _readable(text: str, form: str) -> Iterator[Any]:
    if form == "html":
        shown = _IMAGES.sub("", text)
        yield html.unescape(_TAGS.sub("\n", _COLOURS.sub("", shown)))
    elif form == "json":
        yield whole_value(text.encode()).everything
    elif form == "jsonl":
        for line in text.split("\n"):
            yield whole_value(line.encode()).everything
    else:
        yield text
