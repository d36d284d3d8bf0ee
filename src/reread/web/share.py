"""Exports a session from its page. The person sees beforehand what will be redacted; the file is checked before it is
offered."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Callable, Iterator
from datetime import tzinfo
from typing import NamedTuple

from msgspec.structs import replace
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from reread.errors import BadInput
from reread.features.secrets import Redactor, redacted_session
from reread.features.secrets.redact import PLACEHOLDER, placeholders
from reread.sessions import Branch, Session
from reread.views.html.session import branch_anchor
from reread.views.secret_list import left_in_export

from . import pages

MOST_FINDS = 200
_AROUND = 60
"""Characters shown before and after a find."""
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._-]+")
_ESCAPED = re.compile(r"\\([^0-9A-Za-z\s])")
"""A character that is escaped in Markdown."""


class ExportForm(NamedTuple):
    """A kind of file."""

    label: str
    suffix: str
    media: str
    write: Callable[[Session, tzinfo | None], str]
    """Takes the time zone of the day that a note names and links to; other forms have times in UTC."""


class RedactionFind(NamedTuple):
    """Something that is redacted, with the words around its first occurrence."""

    name: str
    kind: str
    number: int
    before: str
    after: str


class KeptFinds(NamedTuple):
    """What stays in the file although it looks like a secret."""

    kinds: frozenset[str]
    names: frozenset[str]
    """Single finds, by their names in the preview."""

    def redactor(self, session: Session) -> Redactor:
        if not self.names:
            return Redactor(spared=self.kinds)
        named = Redactor()
        redacted_session(session, named)  # gives each find the same name as in the preview
        return Redactor(spared=self.kinds, spared_values=named.values_of(self.names))


def _html(session: Session, _zone: tzinfo | None) -> str:
    from reread.views.html.page import session_page

    return session_page(session)


def _markdown(session: Session, _zone: tzinfo | None = None) -> str:
    from reread.views.markdown import MarkdownOptions, markdown_lines

    return "\n".join(markdown_lines(session, MarkdownOptions())) + "\n"


def _obsidian(session: Session, zone: tzinfo | None) -> str:
    from reread.features.summaries import summary_of
    from reread.views.markdown import MarkdownOptions, obsidian_lines
    from reread.views.text import Style
    from reread.views.values import View

    view = View(width=100, style=Style(colour=False), timezone=zone)
    return "\n".join(obsidian_lines(session, summary_of(session), MarkdownOptions(), view)) + "\n"


def _json(session: Session, _zone: tzinfo | None) -> str:
    import msgspec

    from reread.views.session_json import session_document
    from reread.views.values import encoded

    document = session_document(session, session.branches, None, None)
    return msgspec.json.format(encoded(document), indent=2).decode("utf-8", "replace") + "\n"


FORMS = {
    "html": ExportForm("HTML, one file that any browser opens", ".html", "text/html", _html),
    "markdown": ExportForm("Markdown", ".md", "text/markdown", _markdown),
    "obsidian": ExportForm("Obsidian note", ".md", "text/markdown", _obsidian),
    "json": ExportForm("JSON", ".json", "application/json", _json),
}


def export_page(request: Request) -> Response:
    """The page with the choices for an export."""
    library = pages.site_of(request).library
    stored = library.find(request.path_params["session"])
    title = stored.row.title or "a session"
    return pages.page(
        request,
        "export.html",
        f"Export {title}",
        scripts=["export.js"],
        session_title=title,
        name=request.path_params["session"],
        forms=FORMS,
    )


class _NobodyWaits(Exception):
    """Ends work whose result nobody will see."""


class _WatchedRedactor(Redactor):
    """Stops as soon as the browser has gone away."""

    def __init__(self, gone: threading.Event) -> None:
        super().__init__()
        self._gone = gone

    def look_at(self, texts: list[str]) -> None:
        self._stop_if_gone()
        super().look_at(texts)

    def redact(self, text: str) -> str:
        self._stop_if_gone()
        return super().redact(text)

    def _stop_if_gone(self) -> None:
        if self._gone.is_set():
            raise _NobodyWaits


async def preview(request: Request) -> Response:
    """What would be redacted, each find with the words around it, and the kinds that are to stay."""
    gone = threading.Event()
    leaving = asyncio.create_task(pages.left(request))
    leaving.add_done_callback(lambda _: gone.set())
    try:
        return await run_in_threadpool(_preview, request, gone)
    except _NobodyWaits:
        return Response(status_code=204)
    finally:
        leaving.cancel()


def _preview(request: Request, gone: threading.Event) -> Response:
    spared = frozenset(request.query_params.getlist("keep")[:50])
    library = pages.site_of(request).library
    with library.session(request.path_params["session"]) as pooled:
        session, key = pooled.session, ("export preview", pooled.name, pooled.stamp)
    # It takes seconds for a large session, whose page goes on meanwhile, and is kept for whoever asks again.
    finds = library.answer(key, lambda _: _finds(_markdown(redacted_session(session, _WatchedRedactor(gone)))))
    return pages.fragment(
        "export_finds.html", finds=finds[:MOST_FINDS], left_out=max(0, len(finds) - MOST_FINDS), spared=spared
    )


def _finds(text: str) -> list[RedactionFind]:
    found: dict[str, RedactionFind] = {}
    for match in PLACEHOLDER.finditer(text):
        name = match[0].replace("\\", "")
        if name in found:
            found[name] = found[name]._replace(number=found[name].number + 1)
            continue
        before, after = text[max(0, match.start() - _AROUND) : match.start()], text[match.end() : match.end() + _AROUND]
        found[name] = RedactionFind(name, match["kind"], 1, _as_seen(before), _as_seen(after))
    return list(found.values())


def _as_seen(text: str) -> str:
    return _ESCAPED.sub(r"\1", text.replace("\n", " "))


async def export(request: Request) -> Response:
    """The exported file. Raises BadInput if it still contains something that was to be redacted."""
    given = await pages.form(request)
    form = FORMS.get(next(iter(given.get("format", ())), ""))
    if form is None:
        raise BadInput("Choose a format.")
    name = request.path_params["session"]
    kept = KeptFinds(frozenset(given.get("keep", ())), frozenset(given.get("keep-one", ())))
    text = await run_in_threadpool(_made, pages.site_of(request), name, form, kept if given.get("redact") else None)
    file_name = f"{_NOT_IN_NAMES.sub('-', name)[:80] or 'session'}{form.suffix}"
    headers = {"content-disposition": f'attachment; filename="{file_name}"'}
    return Response(text.encode("utf-8", "replace"), media_type=form.media, headers=headers)


def _made(site: pages.Site, name: str, form: ExportForm, kept: KeptFinds | None) -> str:
    """The text of the file; not redacted if `kept` is None."""
    zone = site.settings.timezone
    with site.library.session(name) as pooled:
        session = pooled.session
    if kept is None:
        return form.write(session, zone)
    redactor = kept.redactor(session)
    text = form.write(redacted_session(session, redactor), zone)
    left = left_in_export(redactor, text, next(each for each, known in FORMS.items() if known is form))
    if left:
        kinds = ", ".join(sorted(left))
        raise BadInput(f"The file still holds what was to be taken out ({kinds}), so it is not handed out.")
    return text


def turns_markdown(request: Request) -> Response:
    """Some turns of a branch as Markdown, for the clipboard: redacted, unless they are asked for as they are."""
    wanted = {int(part) for part in pages.value(request, "turns").split(",") if part.isdecimal() and len(part) < 9}
    with pages.site_of(request).library.session(request.path_params["session"]) as pooled:
        branch = _branch(pooled.session, pages.value(request, "branch"))
        chosen = replace(branch, turns=tuple(turn for turn in branch.turns if turn.index in wanted))
        if not chosen.turns:
            raise BadInput("This branch has no such turn.")
        text = "\n".join(_turn_lines(pooled.session, chosen)).strip() + "\n"
    text = text if pages.value(request, "as-it-is") else Redactor().redact(text)
    taken_out = str(placeholders(text)[1].total())
    return Response(text.encode("utf-8", "replace"), media_type="text/markdown", headers={"x-taken-out": taken_out})


def _branch(session: Session, name: str) -> Branch:
    found = [each for each in session.branches if (branch_anchor(each.id) == name if name else each.active)]
    if not found:
        raise BadInput("This session has no such branch; it may have grown since.")
    return found[0]


def _turn_lines(session: Session, branch: Branch) -> Iterator[str]:
    from reread.blocks.of_session import SessionBlocks
    from reread.views.markdown import MarkdownOptions, MarkdownWriter

    made, writer = SessionBlocks(session), MarkdownWriter(MarkdownOptions(), session.project)
    for turn in branch.turns:
        yield from writer.turn(made.turn(session, turn), level=2)
