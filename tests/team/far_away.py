"""A network between a client and its server: every byte takes its time, and round trips are counted."""

from __future__ import annotations

import heapq
import socket
import threading
import time
from contextlib import suppress


class Network:
    """Forwards connections from `port` to a server; each way takes `seconds`."""

    def __init__(self, server_port: int, seconds: float) -> None:
        self._server_port, self._seconds = server_port, seconds
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.round_trips = 0
        """How many times a client spoke after it had heard something, or for the first time."""
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self._server_port))
                for one in (client, server):
                    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                told = threading.Event()
                told.set()
                self._forward(client, server, told, is_client=True)
                self._forward(server, client, told, is_client=False)

    def _forward(self, source: socket.socket, target: socket.socket, told: threading.Event, *, is_client: bool) -> None:
        queue: list[tuple[float, int, bytes]] = []
        ready = threading.Condition()

        def read() -> None:
            number = 0
            while True:
                try:
                    data = source.recv(1 << 16)
                except OSError:
                    data = b""
                if is_client and data and told.is_set():
                    told.clear()
                    self.round_trips += 1
                with ready:
                    number += 1
                    heapq.heappush(queue, (time.monotonic() + self._seconds, number, data))
                    ready.notify()
                if not data:
                    return

        def write() -> None:
            while True:
                with ready:
                    while not queue:
                        ready.wait()
                    at, _, data = heapq.heappop(queue)
                time.sleep(max(0.0, at - time.monotonic()))
                with suppress(OSError):
                    if not data:
                        target.shutdown(socket.SHUT_WR)
                        return
                    target.sendall(data)
                    if not is_client:
                        told.set()

        for each in (read, write):
            threading.Thread(target=each, daemon=True).start()
