"""The application: its routes, the layers around every page, and the pages for failures."""

from __future__ import annotations

import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from http import HTTPStatus
from importlib import resources
from typing import NamedTuple
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from reread.archive import listing
from reread.errors import AmbiguousSession, BadInput, ClientError, RereadError, UnknownSession
from reread.loading import load
from reread.views.html.content import coloured
from reread.views.html.session import page_of

from . import dialogs, doctor, home, live, pages, retro, search, session_page, sessions, share, usage
from .archive_pool import ArchivePool, ServerSettings, link_name
from .guard import KEYS, Credentials, Guard, Names, RequestRefused
from .runs import Driver
from .updates import Hub, Watch, together

_ROUNDS = 2
"""How many times the samples are read: the decoder for all lines is only made after some hundred lines."""

_SMALL = 200_000
"""A session is read for warming up only if it has fewer bytes than this."""

_ARGUMENTS = ("bash", "json")
"""The languages of calls' arguments; colouring a language for the first time takes up to 40 ms."""


def warm_up(library: ArchivePool) -> None:
    made = pages.environment()
    for name in made.list_templates(extensions=["html"]):
        made.get_template(name)
    with resources.as_file(resources.files("reread").joinpath("samples")) as samples:
        paths = [path for path in samples.rglob("*.jsonl") if not path.name.startswith("agent-")]
        for path in paths * _ROUNDS:
            session = load(path)
        page_of(session)
    coloured("pass", path="code.py")
    for language in _ARGUMENTS:
        coloured("{}", language=language)
    if library.settings.store is not None:  # reading a session there is noted
        return
    with library.archive() as archive:
        smallest = listing.smallest(archive.inner.connection)
    if smallest is not None and smallest.row.bytes < _SMALL:
        with library.session(link_name(smallest)) as pooled:
            page_of(pooled.session)


MOST_TOPICS = 60
MOST_STREAMS = 40
"""Streams open at the same time. A browser needs one; the other connections are for pages."""
BUSY = "Too many listen already."


async def events(request: Request) -> Response:
    """A stream of news for the pages whose addresses are given with `to`."""
    site = pages.site_of(request)
    if site.hub.listeners >= MOST_STREAMS:
        return PlainTextResponse(BUSY, status_code=503)
    site.hub.listeners += 1  # before the first await: otherwise simultaneous requests would all pass the limit
    topics = dict.fromkeys(request.query_params.getlist("to")[:MOST_TOPICS])
    return _Listening(site.hub, together(list(_sources(site, topics))))


class _Listening(StreamingResponse):
    """A counted stream; the count goes down when it ends, however early that is."""

    def __init__(self, hub: Hub, news: AsyncGenerator[str]) -> None:
        super().__init__(news, media_type="text/event-stream")
        self._hub, self._news = hub, news

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._hub.listeners -= 1
            await self._news.aclose()


def _sources(site: pages.Site, topics: Iterable[str]) -> Iterator[AsyncGenerator[str]]:
    kept = [topic.removeprefix("/s/") for topic in topics if topic.startswith("/s/")]
    yield session_page.session_events(site, kept)
    for topic in topics:
        if topic == "/live":
            yield live.live_events(site)
        elif topic.startswith("/live/"):
            yield live.conversation_events(site, topic.removeprefix("/live/"))


ROUTES = (
    Route("/", home.home),
    Route("/alive", pages.alive),
    Route("/events", events),
    Route("/live", live.live),
    Route("/live", live.start, methods=["POST"]),
    Route("/live/list", live.listed),
    Route("/live/rail", live.rail),
    Route("/live/approvals", live.approvals),
    Route("/live/waiting", live.waiting),
    Route("/live/ask", dialogs.ask, methods=["POST"]),
    Route("/live/{run}", live.show),
    Route("/live/{run}/turns", live.more),
    Route("/live/{run}/states", live.states),
    Route("/live/{run}/part/{anchor}", live.part),
    Route("/live/{run}/stops", live.stops),
    Route("/live/{run}/where", live.where_is),
    Route("/live/{run}/record/{anchor}", live.record),
    Route("/live/{run}/now", live.now),
    Route("/live/{run}/say", live.say, methods=["POST"]),
    Route("/live/{run}/answer", live.answer, methods=["POST"]),
    Route("/live/{run}/interrupt", live.interrupt, methods=["POST"]),
    Route("/live/{run}/end", live.end, methods=["POST"]),
    Route("/sessions", sessions.sessions),
    Route("/sessions/mark", sessions.mark_many, methods=["POST"]),
    Route("/s/{session}", session_page.show),
    Route("/s/{session}/turns", session_page.more),
    Route("/s/{session}/states", session_page.states),
    Route("/s/{session}/part/{anchor}", session_page.part),
    Route("/s/{session}/stops", session_page.stops),
    Route("/s/{session}/outline", session_page.outline),
    Route("/s/{session}/branches", session_page.branches),
    Route("/s/{session}/map", session_page.marks_of),
    Route("/s/{session}/image/{image}", session_page.image),
    Route("/s/{session}/sidebar", session_page.sidebar),
    Route("/s/{session}/where", session_page.where_is),
    Route("/s/{session}/hits", session_page.hits_of),
    Route("/s/{session}/compare", session_page.compare),
    Route("/s/{session}/changes", session_page.changes),
    Route("/s/{session}/cost", session_page.cost),
    Route("/s/{session}/agents", session_page.agents),
    Route("/s/{session}/around", session_page.around),
    Route("/s/{session}/timeline", session_page.timeline),
    Route("/s/{session}/then", session_page.then),
    Route("/s/{session}/record/{anchor}", session_page.record),
    Route("/s/{session}/export", share.export_page),
    Route("/s/{session}/export", share.export, methods=["POST"]),
    Route("/s/{session}/markdown", share.turns_markdown),
    Route("/s/{session}/export/preview", share.preview),
    Route("/s/{session}/mark", sessions.mark, methods=["POST"]),
    Route("/s/{session}/go-on", live.go_on, methods=["POST"]),
    Route("/palette", search.palette),
    Route("/search", search.search),
    Route("/usage", usage.usage),
    Route("/usage/sidebar", usage.sidebar),
    Route("/usage/saved", usage.saved),
    Route("/usage/budgets", usage.set_budgets, methods=["POST"]),
    Route("/usage/{name}", usage.download),
    Route("/retro", retro.retro),
    Route("/retro/diff", retro.diff),
    Route("/retro/first", retro.first_fix),
    Route("/retro/wrong", retro.judge, methods=["POST"]),
    Route("/retro/act", retro.act, methods=["POST"]),
    Route("/doctor", doctor.doctor),
    Route("/doctor", doctor.again, methods=["POST"]),
    Route("/secrets", doctor.secrets),
    Route("/secrets", doctor.replaced, methods=["POST"]),
    Route("/static/{name}", pages.static),
)
OF_OWN_ARCHIVE = ("/live", "/retro", "/secrets", "/doctor")
"""Pages that a team's store has nothing for."""
_STATUS: dict[type[RereadError], int] = {UnknownSession: 404, AmbiguousSession: 404, BadInput: 400, ClientError: 409}
MOST_MEANT = 50
_HINTS = {
    404: "It may have been forgotten, or the link is from another archive. The list of sessions has all there are.",
    400: "Go back and change what you asked for.",
    409: "The sessions that run here are listed under Live.",
    405: "This address cannot be asked for that.",
    503: "Reload this page in a moment. Nothing that is kept is touched by a rebuild.",
    500: "This is a fault of reread. The archive is not harmed; other pages still work.",
}


class Application(NamedTuple):
    """The application to serve, and what to call when serving ends."""

    asgi: Guard
    dismiss: Callable[[], None]
    """Ends the streams of pages that wait for news. Must be called in the serving event loop."""


def make_app(
    settings: ServerSettings, names: Names, token: str, cookie: str, *, is_watching: bool = True
) -> Application:
    library, hub = ArchivePool(settings), Hub()
    watch, driver = Watch(library, hub), Driver(settings, hub)
    asked = dialogs.Dialogs(Credentials(token), driver.answered.appendleft, hub.wake)

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
        routes=ROUTES if settings.store is None else [_of_store(each) for each in ROUTES],
        lifespan=lifespan,
        middleware=[Middleware(GZipMiddleware, minimum_size=2_000, compresslevel=pages.COMPRESSION)],
        exception_handlers={RereadError: _error_response, HTTPException: _http, Exception: _fault},
    )
    app.state.site = pages.Site(settings, library, hub, watch, {Driver: driver, dialogs.Dialogs: asked})
    app.state.waiting = lambda: (
        len(asked.waiting) + sum(len(run.open_permissions) for run in list(driver.runs) if not run.has_ended)
    )
    app.state.doctor = doctor.doctor_scan(library)
    app.state.secrets = doctor.secret_scan(library)

    def dismiss() -> None:
        hub.close()
        driver.dismiss()
        asked.dismiss()

    # The guard is outermost, so that its headers are also on answers to faults.
    return Application(Guard(app, names, token, cookie, pages.policy(), _refused), dismiss)


def _of_store(route: Route) -> Route:
    """A route as it is over a team's store."""
    return Route(route.path, _not_of_store) if route.path.startswith(OF_OWN_ARCHIVE) else route


def _not_of_store(_: Request) -> Response:
    raise HTTPException(404, "This page is about your own archive: start `reread serve` without --store.")


def _refused(refused: RequestRefused, scope: Scope) -> Response:
    """The answer to a refused request. It shows nothing of the archive, not even the menu."""
    headers = Headers(scope=scope)
    if headers.get("x-part"):
        answer = pages.problem(headers, f"{refused.reason} {refused.hint}".strip(), refused.status)
    else:
        title, is_reading = HTTPStatus(refused.status).phrase, scope["method"] == "GET"
        again = {"path": quote(scope["path"]), "form": [each for each in refused.form or () if each[0] not in KEYS]}
        text = pages.render("refused.html", title=title, refused=refused, is_reading=is_reading, **again)
        answer = HTMLResponse(text, status_code=refused.status)
    if refused.needs_token:
        answer.headers["x-needs"] = "token"
    return answer


def _error_response(request: Request, error: Exception) -> Response:
    status = next((number for kind, number in _STATUS.items() if isinstance(error, kind)), 500)
    if isinstance(error, UnknownSession) and error.is_partial:
        status = 503
    meant = error.candidates if isinstance(error, AmbiguousSession) else ()
    return _failure(request, status, str(error) or "Something went wrong.", meant)


def _http(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    phrase = HTTPStatus(status).phrase
    detail = error.detail if isinstance(error, HTTPException) and error.detail != phrase else ""
    return _failure(request, status, detail or ("There is no such page." if status == 404 else phrase))


def _fault(request: Request, error: Exception) -> Response:
    return _failure(request, 500, f"{type(error).__name__}: {error}"[:500])


def _failure(request: Request, status: int, reason: str, meant: Sequence[str] = ()) -> Response:
    """`meant` are the sessions that an ambiguous name may stand for."""
    title = HTTPStatus(status).phrase.capitalize()
    if request.headers.get("x-part"):
        return pages.problem(request.headers, reason, status)
    hint = "" if meant else _HINTS.get(status, "")
    return pages.page(request, "error.html", title, status=status, reason=reason, hint=hint, meant=meant[:MOST_MEANT])
