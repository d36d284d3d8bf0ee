"""The one address at which a browser hears of everything that its tabs wait for."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Iterator

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from . import live, pages, session, talking
from .news import together
from .watching import Hub

MOST_TOPICS = 60
MOST_STREAMS = 40
"""At once. A browser needs one; the rest of what can be open is for pages."""
BUSY = "Too many listen already."


async def events(request: Request) -> Response:
    """News as they come, for the pages whose addresses are asked for with `to`."""
    site = pages.site_of(request)
    if site.hub.listeners >= MOST_STREAMS:
        return PlainTextResponse(BUSY, status_code=503)
    site.hub.listeners += 1  # before anything waits, or all who come at once would be under the limit
    topics = dict.fromkeys(request.query_params.getlist("to")[:MOST_TOPICS])
    return _Listening(site.hub, together(list(_sources(site, topics))))


class _Listening(StreamingResponse):
    """One of those that are counted, until it ends, however early."""

    def __init__(self, hub: Hub, news: AsyncGenerator[str]) -> None:
        super().__init__(news, media_type="text/event-stream", headers={"cache-control": "no-store"})
        self._hub, self._news = hub, news

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._hub.listeners -= 1
            await self._news.aclose()


def _sources(site: pages.Site, topics: Iterable[str]) -> Iterator[AsyncGenerator[str]]:
    kept = [topic.removeprefix("/s/") for topic in topics if topic.startswith("/s/")]
    yield session.heard(site, kept)
    for topic in topics:
        if topic == "/live":
            yield live.heard(site)
        elif topic.startswith("/live/"):
            yield talking.heard(site, topic.removeprefix("/live/"))
