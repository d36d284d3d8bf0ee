"""The server as Claude Code has it: a child process, asked over pipes."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Queue
from typing import Any, NamedTuple

from cli.running import PROGRAM, environment

Json = dict[str, Any]
OF_THE_CLIENT = ("CLAUDE_PROJECT_DIR", "CLAUDE_CODE_SESSION_ID")


class Told(NamedTuple):
    """What a tool said."""

    text: str
    is_error: bool


class Asked:
    """A running server."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self._answers: Queue[bytes] = Queue()
        self._number = 0
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._answers.put(line)
        self.process.stdout.close()
        self._answers.put(b"")

    def wait_for_the_end(self) -> None:
        self.process.wait(timeout=60)
        self._reader.join(timeout=60)

    def send(self, raw: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(raw)
        self.process.stdin.flush()

    def next(self) -> Json:
        """The next line it says; it must be one message."""
        line = self._answers.get(timeout=60)
        assert line.endswith(b"\n"), f"it ended: {self.process.stderr.read() if self.process.stderr else b''!r}"
        answer: Json = json.loads(line)
        assert answer["jsonrpc"] == "2.0"
        return answer

    def ask(self, method: str, **params: Any) -> Json:
        """The whole answer to a request."""
        self._number += 1
        request = {"jsonrpc": "2.0", "id": self._number, "method": method, **({"params": params} if params else {})}
        self.send(json.dumps(request).encode() + b"\n")
        answer = self.next()
        assert answer["id"] == self._number
        return answer

    def call(self, tool: str, **arguments: Any) -> Told:
        result = self.ask("tools/call", name=tool, arguments=arguments)["result"]
        [content] = result["content"]
        assert content["type"] == "text"
        return Told(content["text"], result["isError"])

    def told(self, tool: str, **arguments: Any) -> str:
        """What a tool answers that has nothing to complain about."""
        told = self.call(tool, **arguments)
        assert not told.is_error, told.text
        return told.text

    def end(self) -> tuple[int, bytes]:
        """Closes its input; the exit code, and what it said on standard error. It must have nothing more to say."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        code = self.process.wait(timeout=60)
        assert self._answers.get(timeout=60) == b""
        assert self.process.stderr is not None
        return code, self.process.stderr.read()


@contextmanager
def asking(*options: str | Path, folder: Path | None = None, **changes: str) -> Iterator[Asked]:
    """A server with these options, started in a folder; it is ended in any case."""
    seen = {name: value for name, value in environment().items() if name not in OF_THE_CLIENT}
    process = subprocess.Popen(
        [*PROGRAM, "mcp", *map(str, options)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder,
        env={**seen, **changes},
    )
    asked = Asked(process)
    try:
        yield asked
    finally:
        if process.poll() is None:
            process.kill()
        for stream in (process.stdin, process.stderr):
            if stream is not None and not stream.closed:
                stream.close()
        asked.wait_for_the_end()
