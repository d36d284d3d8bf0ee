"""What a person notes on sessions from a page: a star, tags, a note, a title of their own, whether lists show it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from reread.archive import StoredSession

from . import pages
from .archive_pool import ArchivePool, link_name

MOST_TAGS = 300
"""That are suggested, the most used first."""
_SWITCHES = {"1": True, "0": False}


class MarkForm(NamedTuple):
    """What the forms of one session show."""

    name: str
    stored: StoredSession
    tags: list[str]


async def mark(request: Request) -> Response:
    """Notes what the form says; the guard has made sure that it is a form of ours."""
    given = await pages.form(request)
    library = pages.site_of(request).library
    marked = await run_in_threadpool(_mark_one, library, request.path_params["session"], given)
    if not request.headers.get("x-part"):
        return RedirectResponse(f"/s/{marked.name}", status_code=303)
    stored = marked.stored
    return pages.fragment(
        "mark.html", name=marked.name, mark=stored.mark, own_title=stored.row.title, tag_names=marked.tags
    )


async def mark_many(request: Request) -> Response:
    """The same on all sessions that were ticked in a list; back to the list as it was filtered."""
    given = await pages.form(request)
    await run_in_threadpool(_mark, pages.site_of(request).library, given.get("session", []), given)
    back = given.get("back", [""])[0]
    return RedirectResponse(f"/sessions{back if back.startswith('?') else ''}", status_code=303)


def tag_names(library: ArchivePool) -> list[str]:
    """Tags to suggest."""
    return library.answer("tags", lambda archive: [tag for tag, _ in archive.marks.tags()[:MOST_TAGS]])


def _mark_one(library: ArchivePool, wanted: str, given: pages.Form) -> MarkForm:
    _mark(library, [wanted], given)
    stored = library.find(wanted)
    return MarkForm(link_name(stored), stored, tag_names(library))


def _mark(library: ArchivePool, wanted: Sequence[str], given: pages.Form) -> None:
    found = [library.find(name) for name in wanted]
    with library.archive() as archive:
        archive.marks.set(
            *found,
            starred=_SWITCHES.get(given.get("starred", [""])[0]),
            hidden=_SWITCHES.get(given.get("hidden", [""])[0]),
            tags=[tag for tag in given.get("tag", []) if tag.strip()],
            untags=given.get("untag", []),
            note=given.get("note", [None])[0],
            title=given.get("title", [None])[0],
        )
