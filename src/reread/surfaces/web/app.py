"""The application: which address leads where, what goes around every page, and what a failure looks like."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import NamedTuple

from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route
from starlette.types import Scope

from reread.errors import AmbiguousSession, BadInput, ClientError, RereadError, UnknownSession

from . import (
    doctor,
    hearing,
    home,
    live,
    marking,
    pages,
    palette,
    retro,
    search,
    secrets_page,
    session,
    sessions,
    share,
    talking,
    usage,
    usage_files,
)
from .driving import Driver
from .guard import Guard, Names, Refused
from .library import Library
from .settings import Settings
from .warming import warm_up
from .watching import Hub, Watch

ROUTES = (
    Route("/", home.home),
    Route("/alive", pages.alive),
    Route("/events", hearing.events),
    Route("/live", live.live),
    Route("/live", live.start, methods=["POST"]),
    Route("/live/list", live.listed),
    Route("/live/{run}", talking.show),
    Route("/live/{run}/turns", talking.more),
    Route("/live/{run}/states", talking.states),
    Route("/live/{run}/part/{anchor}", talking.part),
    Route("/live/{run}/stops", talking.stops),
    Route("/live/{run}/where", talking.where_is),
    Route("/live/{run}/record/{anchor}", talking.record),
    Route("/live/{run}/now", talking.now),
    Route("/live/{run}/say", talking.say, methods=["POST"]),
    Route("/live/{run}/answer", talking.answer, methods=["POST"]),
    Route("/live/{run}/interrupt", talking.interrupt, methods=["POST"]),
    Route("/live/{run}/end", talking.end, methods=["POST"]),
    Route("/sessions", sessions.sessions),
    Route("/sessions/mark", marking.mark_many, methods=["POST"]),
    Route("/s/{session}", session.show),
    Route("/s/{session}/turns", session.more),
    Route("/s/{session}/states", session.states),
    Route("/s/{session}/part/{anchor}", session.part),
    Route("/s/{session}/stops", session.stops),
    Route("/s/{session}/outline", session.outline),
    Route("/s/{session}/beside", session.beside),
    Route("/s/{session}/where", session.where_is),
    Route("/s/{session}/hits", session.hits_of),
    Route("/s/{session}/compare", session.compare),
    Route("/s/{session}/changes", session.changes),
    Route("/s/{session}/record/{anchor}", session.record),
    Route("/s/{session}/export", share.export_page),
    Route("/s/{session}/export", share.export, methods=["POST"]),
    Route("/s/{session}/export/preview", share.preview),
    Route("/s/{session}/mark", marking.mark, methods=["POST"]),
    Route("/s/{session}/go-on", live.go_on, methods=["POST"]),
    Route("/palette", palette.palette),
    Route("/search", search.search),
    Route("/usage", usage.usage),
    Route("/usage/beside", usage.beside),
    Route("/usage/saved", usage.saved),
    Route("/usage/budgets", usage.set_budgets, methods=["POST"]),
    Route("/usage/{name}", usage_files.download),
    Route("/retro", retro.retro),
    Route("/retro/wrong", retro.judge, methods=["POST"]),
    Route("/doctor", doctor.doctor),
    Route("/doctor", doctor.again, methods=["POST"]),
    Route("/secrets", secrets_page.secrets),
    Route("/static/{name}", pages.static),
)
_STATUS: dict[type[RereadError], int] = {UnknownSession: 404, AmbiguousSession: 404, BadInput: 400, ClientError: 409}
_HINTS = {
    404: "It may have been forgotten, or the link is from another archive. The list of sessions has all there are.",
    400: "Go back and change what you asked for.",
    409: "The sessions that run here are listed under Live.",
    405: "This address cannot be asked for that.",
    500: "This is a fault of reread. The archive is not harmed; other pages still work.",
}


class Application(NamedTuple):
    """What is served, and what to do when it ends."""

    asgi: Guard
    dismiss: Callable[[], None]
    """Inside the loop that serves: lets the pages go that wait for news."""


def make_app(settings: Settings, names: Names, token: str, cookie: str, *, is_watching: bool = True) -> Application:
    library, hub = Library(settings), Hub()
    watch, driver = Watch(library, hub), Driver(settings, hub)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        hub.begin()
        if is_watching:
            threading.Thread(target=warm_up, args=(library,), name="reread-warm-up", daemon=True).start()
            watch.start()
        else:
            watch.is_busy = False
        try:
            yield
        finally:
            await driver.close()
            watch.stop()
            library.close()

    app = Starlette(
        routes=ROUTES,
        lifespan=lifespan,
        middleware=[Middleware(GZipMiddleware, minimum_size=2_000, compresslevel=pages.COMPRESSION)],
        exception_handlers={RereadError: _told, HTTPException: _http, Exception: _fault},
    )
    app.state.site = pages.Site(settings, library, hub, watch, driver)
    app.state.doctor = doctor.Doctor(library)
    app.state.secrets = secrets_page.SecretWatch(library)

    def dismiss() -> None:
        hub.close()
        driver.dismiss()

    # Around everything, the answer to a fault included.
    return Application(Guard(app, names, token, cookie, pages.policy(), _refused), dismiss)


def _refused(refused: Refused, scope: Scope) -> Response:
    """Before any page: nothing of the archive is in it, not even its menu."""
    if Headers(scope=scope).get("x-part"):
        text = pages.render("problem.html", reason=f"{refused.reason} {refused.hint}".strip())
    else:
        title, is_reading = HTTPStatus(refused.status).phrase, scope["method"] == "GET"
        text = pages.render("refused.html", title=title, refused=refused, is_reading=is_reading)
    headers = {"x-needs": "token"} if refused.needs_token else {}
    if refused.status == 413:
        headers["connection"] = "close"  # there may be more to come than was taken
    return HTMLResponse(text, status_code=refused.status, headers=headers)


def _told(request: Request, error: Exception) -> Response:
    status = next((number for kind, number in _STATUS.items() if isinstance(error, kind)), 500)
    return _failure(request, status, str(error) or "Something went wrong.")


def _http(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    reason = "There is no such page." if status == 404 else HTTPStatus(status).phrase
    return _failure(request, status, reason)


def _fault(request: Request, error: Exception) -> Response:
    return _failure(request, 500, f"{type(error).__name__}: {error}"[:500])


def _failure(request: Request, status: int, reason: str) -> Response:
    title = HTTPStatus(status).phrase.capitalize()
    if request.headers.get("x-part"):
        return HTMLResponse(pages.render("problem.html", reason=reason), status_code=status)
    return pages.page(request, "error.html", title, status=status, reason=reason, hint=_HINTS.get(status, ""))
