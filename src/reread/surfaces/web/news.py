"""What pages are told without asking: server-sent events."""

from __future__ import annotations

from collections.abc import AsyncIterator

from starlette.responses import StreamingResponse

KEEP_ALIVE = 15.0
"""Seconds after which a page that waits hears that we are still there."""
STILL_HERE = ": still here\n\n"


def event(name: str, data: str, version: str = "") -> str:
    """One of them, `data` being a line; a browser that comes back repeats the version it heard last."""
    named = f"id: {version}\n" if version else ""
    return f"{named}event: {name}\ndata: {data}\n\n"


def event_stream(heard: AsyncIterator[str]) -> StreamingResponse:
    return StreamingResponse(heard, media_type="text/event-stream", headers={"cache-control": "no-store"})
