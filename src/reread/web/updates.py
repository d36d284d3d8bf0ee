"""Changes while the server runs: a thread imports them, and pages that wait hear of them (server-sent events).

A page subscribes to changes of its own address. When it connects, it gets the current state, and then each change. It
compares this with what it shows, so nothing is missed and nothing has to be sent again.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Sequence
from typing import Any

import msgspec

from reread.errors import RereadError

from .archive_pool import ArchivePool

RETRY_SECONDS = 5.0


class Hub:
    """Wakes waiting pages when something changed; the change may happen in another thread."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._changed: asyncio.Event | None = None
        self.is_closed = False
        self.changes = 0
        """How many times something changed."""
        self.listeners = 0
        """Connections that wait for news."""

    def begin(self) -> None:
        """Must be called in the serving event loop."""
        self._loop = asyncio.get_running_loop()
        self._changed = asyncio.Event()

    def notify(self) -> None:
        """Wakes waiting pages; may be called from any thread."""
        loop = self._loop
        if loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(self.wake)

    def close(self) -> None:
        """Ends all waiting. Must be called in the event loop."""
        self.is_closed = True
        self.wake()

    def wake(self) -> None:
        """Wakes waiting pages. Must be called in the event loop."""
        self.changes += 1
        if self._changed is not None:
            self._changed.set()
            self._changed = asyncio.Event()

    async def wait(self, seconds: float, since: int | None = None) -> bool:
        """Whether something changes within `seconds`, or has changed since the number `since` of `changes`."""
        changed = self._changed
        if changed is None or self.is_closed:
            return False
        if since is not None and since != self.changes:
            return True
        try:
            async with asyncio.timeout(seconds):
                await changed.wait()
        except TimeoutError:
            return False
        return True


class Watch:
    """A thread that syncs at once, and then each time a source grows."""

    def __init__(self, library: ArchivePool, hub: Hub) -> None:
        self._library = library
        self._hub = hub
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="reread-watch", daemon=True)
        self.is_busy = True
        """Whether the first sync still runs."""
        self.problem = ""
        """Why the archive is not up to date; empty if it is."""

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Waits only briefly: after an interrupted sync, some files are just read again."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(timeout=2)

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                with self._library.open() as archive:
                    archive.inner.sources = tuple(source for source in archive.sources if source.exists())
                    for result in archive.watch(self._stop):
                        self.is_busy = False
                        self.problem = str(result.problems[0]) if result.problems else ""
                        self._hub.notify()
            except Exception as problem:  # noqa: BLE001  nobody would notice that the thread died and imports nothing
                is_told = isinstance(problem, RereadError | OSError)
                self.problem = str(problem) if is_told else f"{type(problem).__name__}: {problem}"
                self._hub.notify()
            self.is_busy = False
            self._stop.wait(RETRY_SECONDS)


BEAT = 10.0
"""Seconds between signs of life for all pages."""


def server_event(to: str, what: str, **more: Any) -> str:
    """One event for the pages of an address, or for all pages if the address is empty."""
    return f"data: {msgspec.json.encode({'to': to, 'what': what, **more}).decode()}\n\n"


async def together(sources: Sequence[AsyncGenerator[str]]) -> AsyncGenerator[str]:
    """Merges sources of events until all have ended; a slow reader makes each of them wait.

    Adds a sign of life for all pages every `BEAT` seconds, because a page hears only the events of its own address.
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
                yield server_event("", "beat")
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
