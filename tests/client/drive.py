"""Holds a two-way stream-json conversation with the real client and writes all that crosses the pipes.

A line of the `.wire` file is a time of 27 bytes, a space, a mark (`<` from the client, `>` to it, `!` its stderr,
`=` how it was started and how it ended), a space, and the line as it was.
"""

from __future__ import annotations

import base64
import json
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

Json = dict[str, Any]
Answer = Callable[[Json], Json | None]
"""What to say to a question of the client (its `request`); None leaves it open for `answer_open`."""

TWO_WAY = ("-p", "--input-format", "stream-json", "--permission-prompt-tool", "stdio")
PARTIAL = ("--output-format", "stream-json", "--verbose", "--include-partial-messages")
PATIENCE = 60.0
CLOSING = 20.0


class Wire:
    """The capture file: each line is on disk before anybody acts on it."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("wb")
        self._lock = threading.Lock()

    def note(self, mark: str, line: bytes) -> None:
        """Add one line with the present time."""
        with self._lock:
            now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
            self._file.write(f"{now} {mark} ".encode() + line + b"\n")
            self._file.flush()

    def tell(self, facts: Json) -> None:
        """Add a line of our own."""
        self.note("=", json.dumps(facts, ensure_ascii=False).encode())

    def close(self) -> None:
        """Nothing more crosses."""
        self._file.close()


def matches(pattern: Any, value: Any) -> bool:
    """Whether every key of the pattern is there and equal, at every depth."""
    if isinstance(pattern, dict):
        return isinstance(value, dict) and all(matches(part, value.get(key)) for key, part in pattern.items())
    return bool(pattern == value)


class Talk:
    """A running client: threads read what it prints, the caller's steps say what it is told."""

    def __init__(self, process: subprocess.Popen[bytes], wire: Wire, answer: Answer) -> None:
        self.process = process
        self.wire = wire
        self.answer = answer
        self.frames: list[Json] = []
        self.left_open: list[Json] = []
        """Questions that were not answered when they came."""
        self.seconds = 0.0
        self._ended = False
        self._read_up_to = 0
        self._asked = 0
        self._arrival = threading.Condition()
        self._sending = threading.Lock()
        self._threads = [
            threading.Thread(target=self._read_frames, args=(process.stdout,), daemon=True),
            threading.Thread(target=self._read_errors, args=(process.stderr,), daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def _read_frames(self, stdout: IO[bytes]) -> None:
        for line in stdout:
            self.wire.note("<", line.removesuffix(b"\n"))
            frame = json.loads(line)
            if frame.get("type") == "control_request":
                self._take_question(frame)
            with self._arrival:
                self.frames.append(frame)
                self._arrival.notify_all()
        with self._arrival:
            self._ended = True
            self._arrival.notify_all()

    def _read_errors(self, stderr: IO[bytes]) -> None:
        for line in stderr:
            self.wire.note("!", line.removesuffix(b"\n"))

    def _take_question(self, frame: Json) -> None:
        said = self.answer(frame["request"])
        if said is None:
            self.left_open.append(frame)
        else:
            self.respond(frame["request_id"], said)

    def send(self, frame: Json) -> None:
        """One line to the client, on record before it leaves."""
        self.send_line(json.dumps(frame, ensure_ascii=False).encode())

    def send_line(self, line: bytes) -> None:
        """A line as it is; the client may be gone already, which its exit status tells."""
        stdin = self.process.stdin
        assert stdin
        with self._sending:
            self.wire.note(">", line)
            try:
                stdin.write(line + b"\n")
                stdin.flush()
            except BrokenPipeError as gone:
                self.wire.tell({"not sent": str(gone)})

    def respond(self, request: str, inner: Json) -> None:
        """The answer to a question."""
        said = {"subtype": "success", "request_id": request, "response": inner}
        self.send({"type": "control_response", "response": said})

    def ask(self, request: Json) -> Json:
        """Send a control request and give the client's whole answer."""
        self._asked += 1
        name = f"host-{self._asked}"
        self.send({"type": "control_request", "request_id": name, "request": request})
        pattern = {"type": "control_response", "response": {"request_id": name}}
        # Found wherever it is: a result that came before the answer is still to be waited for.
        return self._find(pattern, 0)[1]

    def wait(self, pattern: Json) -> Json:
        """The next frame like this, after the one waited for last."""
        at, frame = self._find(pattern, self._read_up_to)
        self._read_up_to = at + 1
        return frame

    def _find(self, pattern: Json, start: int) -> tuple[int, Json]:
        end = time.monotonic() + PATIENCE
        with self._arrival:
            while True:
                for at in range(start, len(self.frames)):
                    if matches(pattern, self.frames[at]):
                        return at, self.frames[at]
                start = len(self.frames)
                if self._ended:
                    raise EOFError(f"the client ended without {pattern}")
                if not self._arrival.wait(end - time.monotonic()):
                    raise TimeoutError(f"no frame like {pattern} within {PATIENCE:g} s")

    def close(self) -> int:
        """End of input, then wait, then by force; gives the exit status."""
        with self._sending:
            if self.process.stdin and not self.process.stdin.closed:
                self.process.stdin.close()
        try:
            status = self.process.wait(CLOSING)
        except subprocess.TimeoutExpired:
            self.process.kill()
            status = self.process.wait()
        for thread in self._threads:
            thread.join(CLOSING)
        return status


@contextmanager
def talking(command: list[str], cwd: Path, environment: dict[str, str], path: Path, answer: Answer) -> Iterator[Talk]:
    """A conversation whose capture is complete when the block ends."""
    wire = Wire(path)
    wire.tell({"claude": command[0], "arguments": command[1:], "cwd": str(cwd)})
    began = time.monotonic()
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, cwd=cwd, env=environment)
    talk = Talk(process, wire, answer)
    try:
        yield talk
    finally:
        status = talk.close()
        talk.seconds = time.monotonic() - began
        wire.tell({"exit": status})
        wire.close()


Step = Callable[[Talk], object]


def prompt(text: str, *images: bytes, uuid: str | None = None) -> Step:
    """Send what a person asks, with PNG images."""
    sources = [{"type": "base64", "media_type": "image/png", "data": base64.b64encode(png).decode()} for png in images]
    blocks: list[Json] = [{"type": "text", "text": text}, *({"type": "image", "source": one} for one in sources)]
    frame: Json = {
        "type": "user",
        "session_id": "",
        "parent_tool_use_id": None,
        "message": {"role": "user", "content": blocks if images else text},
    }
    return lambda talk: talk.send({**frame, "uuid": uuid} if uuid else frame)


def wait(pattern: Json, count: int = 1) -> Step:
    """Wait for frames like this."""
    return lambda talk: [talk.wait(pattern) for _ in range(count)]


def control(subtype: str, **fields: object) -> Step:
    """Ask the client for something and wait for its answer."""
    return lambda talk: talk.ask({"subtype": subtype, **fields})


def answer_open(answer: Answer, newest_first: bool = False) -> Step:
    """Answer the questions that were left open."""

    def step(talk: Talk) -> None:
        frames = talk.left_open[::-1] if newest_first else talk.left_open[:]
        talk.left_open.clear()
        for frame in frames:
            said = answer(frame["request"])
            assert said is not None
            talk.respond(frame["request_id"], said)

    return step


def line(raw: str) -> Step:
    """Send a line as it is."""
    return lambda talk: talk.send_line(raw.encode())


def pause(seconds: float) -> Step:
    """Let time pass where no frame tells when."""
    return lambda _: time.sleep(seconds)


INITIALIZE = control("initialize", hooks=None)
INTERRUPT = control("interrupt")
RESULT = wait({"type": "result"})


def allow(request: Json) -> Json:
    """Yes, with the input as it was; to a hook, go on."""
    if request["subtype"] != "can_use_tool":
        return {}
    return {"behavior": "allow", "updatedInput": request["input"]}


def allow_with(**changed: object) -> Answer:
    """Yes, with some of the input changed."""
    return lambda request: {"behavior": "allow", "updatedInput": {**request["input"], **changed}}


def allow_as_suggested(request: Json) -> Json:
    """Yes, and remember it the way the client suggests."""
    return {**allow(request), "updatedPermissions": request.get("permission_suggestions") or []}


def deny(reason: str, **more: object) -> Answer:
    """No, and why."""
    return lambda _: {"behavior": "deny", "message": reason, **more}


def leave_open(_: Json) -> None:
    """Say nothing yet."""
