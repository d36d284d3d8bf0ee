"""Starts the server: chooses a port and a token, opens the browser, and ends cleanly when asked to."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from typing import NamedTuple, Protocol

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from reread.errors import BadInput
from reread.live.transport import ending_signals

from .app import make_app
from .archive_pool import ServerSettings
from .guard import Names, is_loopback
from .server_state import PORTS, RunningServer, cookie_name, kept_token, noted

MOST_AT_ONCE = 100
"""Connections at the same time; beyond that, idle ones are closed for new ones."""
FEW_COLLECTIONS = 500_000
"""Allocations between runs of the cycle collector. Reading a session makes no cycles, and more runs would cost a third
of the time."""
PATIENCE = 2
"""Seconds that running answers have to finish when the server is asked to end."""


class Announce(Protocol):
    def __call__(self, address: str, *, is_open: bool) -> None: ...


class Terminal(NamedTuple):
    """How to reach the person who started the server."""

    announce: Announce
    """Called with the address, including the token, once connections are accepted; `is_open`: others can reach it."""
    complain: Callable[[str], None]
    """Called with a bug of ours, with its traceback."""


class ListenAt(NamedTuple):
    """Where to listen, and what to open first."""

    host: str
    port: int | None = None
    """None is the usual port, or another if that is taken; 0 is any free port."""
    path: str = "/"
    is_new_token: bool = False
    shown: str = ""
    """The name to print, if it differs from `host`."""


def serve(settings: ServerSettings, place: ListenAt, terminal: Terminal, *, opens_browser: bool) -> None:
    """Serves until Ctrl-C, SIGTERM or SIGHUP."""
    host = place.host
    with ExitStack() as stack:
        listener = stack.enter_context(_listening(host, place.port))
        port = listener.getsockname()[1]
        token = kept_token(settings.home, is_new=place.is_new_token)
        stack.enter_context(noted(settings.home, host, port))
        own = () if is_loopback(host) else (socket.gethostname(),)
        app = make_app(settings, Names(host, port, own), token, cookie_name(port))
        address = RunningServer(place.shown or host, port, token).address(place.path)
        config = uvicorn.Config(
            app.asgi,
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            date_header=False,
            limit_concurrency=MOST_AT_ONCE,
            http=_Connection,
            timeout_graceful_shutdown=PATIENCE,
            ws="none",
            lifespan="on",
        )

        server = _Server(config, partial(_announce, terminal, address, host, opens_browser), app.dismiss)
        # Before the address is announced, because the server may be stopped from then on.
        stack.enter_context(server.capture_signals())
        _log_to(terminal)
        gc.set_threshold(FEW_COLLECTIONS, 50, 100)
        asyncio.run(server.serve([listener]))


def _announce(terminal: Terminal, address: str, host: str, opens_browser: bool) -> None:
    terminal.announce(address, is_open=not is_loopback(host))
    if opens_browser and has_screen():
        threading.Thread(target=open_browser, args=(address,), daemon=True).start()


class _Connection(H11Protocol):
    """A connection that closes an idle one if there are too many: any program on this machine can open connections and
    keep them, and must not lock the person out that way."""

    used = 0.0
    """When data last arrived, by the event loop's clock."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        self.used = self.loop.time()
        if len(self.connections) >= MOST_AT_ONCE:
            idle = [
                each for each in self.connections if isinstance(each, _Connection) and each.is_idle and each is not self
            ]
            if idle:
                min(idle, key=lambda each: each.used).leave()

    def data_received(self, data: bytes) -> None:
        self.used = self.loop.time()
        super().data_received(data)

    @property
    def is_idle(self) -> bool:
        """Whether there is no complete request, or all requests are answered."""
        return self.cycle is None or self.cycle.response_complete

    def leave(self) -> None:
        self.connections.discard(self)  # at once: the loop reports only later that it is closed
        self.transport.close()


class _Server(uvicorn.Server):
    """Ends when it is asked to, without raising the signal again: being stopped is not a failure."""

    def __init__(self, config: uvicorn.Config, announce: Callable[[], None], dismiss: Callable[[], None]) -> None:
        super().__init__(config)
        self._announce, self._dismiss = announce, dismiss

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._announce()  # now that pages answer

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._dismiss()
        await super().shutdown(sockets)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, *ending_signals())}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


class _Complaints(logging.Handler):
    """Passes on bugs of ours only; other messages of the server would quote requests, and nobody needs them."""

    def __init__(self, terminal: Terminal) -> None:
        super().__init__(logging.ERROR)
        self._terminal = terminal

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info:
            self._terminal.complain(self.format(record))


def _log_to(terminal: Terminal) -> None:
    logger = logging.getLogger("uvicorn")
    logger.handlers = [_Complaints(terminal)]
    logger.propagate = False


def _listening(host: str, port: int | None) -> socket.socket:
    if port is None:
        for usual in PORTS:
            with contextlib.suppress(BadInput):
                return _listening(host, usual)
        port = 0
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=128)
    except (OSError, OverflowError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or error
        raise BadInput(f"cannot listen on {host} port {port} ({reason}); try another --port or --host") from error


def lan_address() -> str:
    """The address of this machine on its network. Nothing is sent: connecting a UDP socket only chooses a route."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        try:
            asked.connect(("192.0.2.1", 9))  # an address reserved for documentation
            return str(asked.getsockname()[0])
        except OSError as error:
            raise BadInput(f"this machine has no network to listen on ({error.strerror or error})") from error


def has_screen() -> bool:
    """Whether there is a screen; without one, only browsers in the terminal could open."""
    if sys.platform in ("win32", "darwin"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def open_browser(address: str) -> None:
    import webbrowser

    webbrowser.open(address)
