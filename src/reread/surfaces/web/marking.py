"""What a person notes on a session from its page: a star, tags, whether lists show it."""

from __future__ import annotations

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from . import pages
from .library import Library, link_name

_SWITCHES = {"1": True, "0": False}


async def mark(request: Request) -> Response:
    """Notes what the form says; the guard has made sure that it is a form of ours."""
    given = await pages.form(request)
    library = pages.site_of(request).library
    name = await run_in_threadpool(_mark, library, request.path_params["session"], given)
    return RedirectResponse(f"/s/{name}", status_code=303)


def _mark(library: Library, wanted: str, given: dict[str, list[str]]) -> str:
    stored = library.find(wanted)
    with library.archive() as archive:
        archive.mark(
            stored,
            starred=_SWITCHES.get(given.get("starred", [""])[0]),
            hidden=_SWITCHES.get(given.get("hidden", [""])[0]),
            tags=given.get("tag", []),
            untags=given.get("untag", []),
        )
    return link_name(stored)
