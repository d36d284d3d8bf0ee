"""What pages are told without asking: server-sent events, one connection for all tabs of a browser.

A page names what it wants to hear of by its own address. Whoever connects is told where that stands, and then what
happens; a page compares with what it shows, so nothing is missed and nothing has to be repeated.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from typing import Any

import msgspec

BEAT = 10.0
"""Seconds after which all pages hear that we are still there."""


def told(to: str, what: str, **more: Any) -> str:
    """A piece of news for the pages of one address, or for all where it is empty."""
    return f"data: {msgspec.json.encode({'to': to, 'what': what, **more}).decode()}\n\n"


async def together(sources: Sequence[AsyncGenerator[str]]) -> AsyncGenerator[str]:
    """What any of them tells, until all have ended; a slow reader keeps each one waiting.

    In between comes a sign of life for all pages: what one is told the others do not hear.
    """
    clock = asyncio.get_running_loop().time
    due = clock() + BEAT
    pending = {asyncio.ensure_future(anext(source, None)): source for source in sources}
    try:
        while pending:
            left = max(0.0, due - clock())
            done, _ = await asyncio.wait(pending, timeout=left, return_when=asyncio.FIRST_COMPLETED)
            if clock() >= due:
                due = clock() + BEAT
                yield told("", "beat")
            for each in done:
                source = pending.pop(each)
                news = each.result()
                if news is not None:
                    pending[asyncio.ensure_future(anext(source, None))] = source
                    yield news
    finally:
        for each in pending:
            each.cancel()
        await asyncio.gather(*pending, return_exceptions=True)
        for source in sources:
            await source.aclose()
