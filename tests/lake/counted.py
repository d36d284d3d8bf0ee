"""An S3 server whose requests and bytes are counted: a proxy in front of it."""

from __future__ import annotations

import re
import socket
import threading
from collections import Counter
from contextlib import suppress

_REQUEST = re.compile(rb"(?:^|\r\n\r\n|(?<=\n))(GET|HEAD|PUT|POST|DELETE) (\S+) HTTP/1\.1\r\n")


class Counted:
    """Forwards connections to a server, and counts those for names below `raw/`."""

    def __init__(self, server_port: int) -> None:
        self._server_port = server_port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.requests: Counter[str] = Counter()
        self.bytes = 0
        """What the server sent."""
        threading.Thread(target=self._accept, daemon=True).start()

    def begin(self) -> None:
        self.requests.clear()
        self.bytes = 0

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self._server_port))
                for source, target, is_client in ((client, server, True), (server, client, False)):
                    threading.Thread(target=self._forward, args=(source, target, is_client), daemon=True).start()

    def _forward(self, source: socket.socket, target: socket.socket, is_client: bool) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 16):
                if is_client:
                    self.requests.update(
                        f"{method.decode()} {'raw' if b'/raw/' in name else 'other'}"
                        for method, name in _REQUEST.findall(data)
                    )
                else:
                    self.bytes += len(data)
                target.sendall(data)
        for each in (source, target):  # who still speaks to the other must notice
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
