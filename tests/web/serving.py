"""`reread serve` as a process of its own."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from cli.running import start
from reread.web.guard import KEY_HEADER, Credentials

SECONDS = 60
"""However busy the machine is."""


def until(is_so: Callable[[], Any]) -> Any:
    """What it gives as soon as that is something."""
    end = time.monotonic() + SECONDS
    while not (found := is_so()):
        assert time.monotonic() < end
        time.sleep(0.02)
    return found


def heard(stream: Any, to: str, what: str) -> dict[str, Any]:
    """The next piece of news of a kind, for the pages of an address."""
    end = time.monotonic() + SECONDS
    while True:
        line = stream.readline()
        assert time.monotonic() < end, f"no {what} of {to} came within {SECONDS} s"
        assert line, "the stream has ended"
        if line.startswith(b"data: "):
            news: dict[str, Any] = json.loads(line.removeprefix(b"data: "))
            if (news["to"], news["what"]) == (to, what):
                return news


class Served(NamedTuple):
    process: subprocess.Popen[bytes]
    address: str
    """To open, with the token."""
    connections: ExitStack
    """All that were made, closed at the end."""

    @property
    def base(self) -> str:
        return self.address.partition("/?")[0]

    @property
    def token(self) -> str:
        return self.address.partition("?token=")[2]

    @property
    def port(self) -> int:
        return urlsplit(self.address).port or 0

    def connect(self) -> HTTPConnection:
        made = HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)
        self.connections.callback(made.close)
        return made

    @property
    def cookie(self) -> dict[str, str]:
        """What a browser sends by itself."""
        return {"Cookie": f"reread-{self.port}={Credentials(self.token).cookie}"}

    @property
    def page(self) -> dict[str, str]:
        """What a page of ours sends to change something."""
        return {**self.cookie, "Origin": self.base, KEY_HEADER: Credentials(self.token).page_key}


@contextmanager
def served(home: Path, source: Path, *options: str, env: Mapping[str, str] | None = None) -> Iterator[Served]:
    process = start("serve", "--no-browser", "--home", home, "--source", source, *options, env=env)
    try:
        assert process.stdout is not None
        first = process.stdout.readline().decode()
        assert first.endswith("\n"), process.stderr.read().decode() if process.stderr else ""
        with ExitStack() as connections:
            yield Served(process, first.split()[-1], connections)
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()
