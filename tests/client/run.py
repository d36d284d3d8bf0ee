"""A scratch home and work folder in which the real client talks to the mock, by one-shot or on a screen."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from client.mock_api import Mock, serving

Json = dict[str, Any]

KEY = "sk-ant-mock"
QUIET = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_AUTOUPDATER": "1",
    "CLAUDE_CODE_MAX_RETRIES": "3",
    # The client refuses bypassPermissions as root unless told that it is in a sandbox.
    "IS_SANDBOX": "1",
    # A scripted model calls a tool at once, whether its server is there or not: the client waits for servers first.
    "MCP_CONNECTION_NONBLOCKING": "0",
    "MCP_CONNECT_TIMEOUT_MS": "90000",
    "MCP_TIMEOUT": "90000",
}


def has_tmux() -> bool:
    """Whether a screen can be driven here."""
    return shutil.which("tmux") is not None


@dataclass(frozen=True)
class Run:
    """What a one-shot run printed."""

    session: str
    status: int
    stdout: bytes
    stderr: str

    @property
    def lines(self) -> list[Json]:
        """The stream as JSON objects."""
        return [json.loads(line) for line in self.stdout.splitlines() if line.strip()]

    @property
    def result(self) -> Json:
        """The last result line."""
        return [line for line in self.lines if line["type"] == "result"][-1]


class Scratch:
    """A place for one client: nothing of the user's own home is seen, and nothing leaves loopback."""

    def __init__(self, client: Path, root: Path) -> None:
        self.client = client
        self.home = root / "home"
        self.work = root / "work"
        self._open = ExitStack()
        self.mock = Mock(self.work)
        self.switches: dict[str, str] = {}
        """Variables for the client beside the usual ones."""

    def __enter__(self) -> Self:
        self.home.mkdir(parents=True)
        self.work.mkdir()
        (self.work / "notes.txt").write_text("alpha\nbeta\n")
        subprocess.run(["git", "init", "-q", "-b", "main", "."], cwd=self.work, check=True)
        (self.home / ".claude.json").write_text(json.dumps(self._first_run_answers()))
        self.mock = self._open.enter_context(serving(self.work))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()

    def _first_run_answers(self) -> Json:
        # 1.0.x reads allowedTools and history without asking whether they are there.
        trusted = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
        empty: Json = {"allowedTools": [], "history": [], "mcpServers": {}}
        return {
            "hasCompletedOnboarding": True,
            "theme": "dark",
            "customApiKeyResponses": {"approved": [KEY], "rejected": []},
            "projects": {str(self.work): {**trusted, **empty}},
        }

    @property
    def environment(self) -> dict[str, str]:
        """All that the client gets to see."""
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "SHELL": "/bin/bash",
            "ANTHROPIC_BASE_URL": self.mock.url,
            "ANTHROPIC_API_KEY": KEY,
            **QUIET,
            **self.switches,
        }

    @property
    def projects(self) -> Path:
        """Where the client keeps its transcripts."""
        return self.home / ".claude" / "projects"

    def transcripts(self) -> list[Path]:
        """The trunk transcripts, oldest first."""
        return sorted(self.projects.glob("*/*.jsonl"), key=lambda path: path.stat().st_mtime)

    def transcript(self, session: str) -> Path:
        """The trunk transcript of a session."""
        return next(self.projects.glob(f"*/{session}.jsonl"))

    def run(self, prompt: str, *args: str, resume: str | None = None) -> Run:
        """One prompt in print mode, as a stream with partial messages."""
        session = resume or str(uuid.uuid4())
        named = ["--resume", session] if resume else ["--session-id", session]
        stream = ["--output-format", "stream-json", "--verbose", "--include-partial-messages"]
        allowed = ["--permission-mode", "bypassPermissions"]
        done = subprocess.run(
            [str(self.client), "-p", prompt, *stream, *allowed, *named, *args],
            cwd=self.work,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=120,
            check=False,
        )
        return Run(session, done.returncode, done.stdout, done.stderr.decode("utf-8", "replace"))

    @contextmanager
    def screen(self, *args: str) -> Iterator[Screen]:
        """The interactive client in a terminal of its own."""
        with self.screen_of(str(self.client), *args) as screen:
            yield screen

    @contextmanager
    def screen_of(self, *program: str, size: tuple[int, int] = (140, 50), **changes: str) -> Iterator[Screen]:
        """Any program in a terminal of its own, of so many columns and rows."""
        environment = [f"{key}={value}" for key, value in {**self.environment, **changes}.items()]
        command = shlex.join(["env", "-i", *environment, *program])
        screen = Screen(f"reread-{uuid.uuid4().hex[:12]}")
        columns, rows = map(str, size)
        screen.tmux("new-session", "-d", "-s", "s", "-x", columns, "-y", rows, "-c", str(self.work), command)
        try:
            yield screen
        finally:
            screen.close()


class Screen:
    """An interactive client: type at it, press keys, wait for what it shows."""

    def __init__(self, socket: str) -> None:
        self.socket = socket

    def tmux(self, *args: str) -> str:
        """One tmux command on this screen's own server."""
        command = ["tmux", "-L", self.socket, *args]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout

    def text(self) -> str:
        """What is shown now."""
        return self.tmux("capture-pane", "-p", "-t", "s")

    def keys(self, *names: str, pause: float = 0.3) -> None:
        """Press keys one after the other, with the pause that the client needs to redraw."""
        for name in names:
            self.tmux("send-keys", "-t", "s", name)
            time.sleep(pause)

    def type(self, text: str) -> None:
        """Type into the input box, without Enter."""
        self.tmux("send-keys", "-t", "s", "-l", text)
        self.wait_for(re.escape(text[:60]))

    def submit(self, text: str) -> None:
        """Type a line and send it."""
        self.type(text)
        time.sleep(0.3)
        self.keys("Enter")

    def press_until(self, pattern: str, *names: str) -> None:
        """Press keys until the screen matches: a client that is busy drawing now and then loses one."""
        end = time.monotonic() + 60
        while True:
            self.keys(*names)
            if self.shows(pattern, within=5):
                return
            assert time.monotonic() < end, f"{names} never led to {pattern!r}:\n{self.text()}"

    def rewind(self, prompt: str, *, restore: str = "Restore conversation") -> None:
        """Go back to before a prompt, and leave the input box empty."""
        self.press_until("Restore the code and/or conversation", "Escape", "Escape")
        self._choose(re.escape(prompt))
        self.wait_for(restore)
        self._choose(rf"\d\. {restore}\b")
        self.settle()
        self.clear()

    def _choose(self, item: str) -> None:
        """Take the last item of an open menu that matches; nothing is pressed on trust, as keys get lost."""
        pointed = rf"(?m)^ +❯ {item}"
        for _ in range(20):
            lines = self.text().splitlines()
            pointer = max(number for number, line in enumerate(lines) if re.match(r" +❯ ", line))
            wanted = max(number for number, line in enumerate(lines) if re.match(rf" +(❯ )?{item}", line))
            if pointer == wanted:
                break
            self.keys("Down" if pointer < wanted else "Up")
        end = time.monotonic() + 60
        while self.shows(pointed):
            assert time.monotonic() < end, f"the menu keeps standing at {item!r}:\n{self.text()}"
            self.keys("Enter", pause=2)

    def clear(self) -> None:
        """Empty the input box, which the client fills with a prompt that was taken back."""
        self.press_until(r'(?m)^❯\s*(Try ".*)?$', "C-e", "C-u")

    def shows(self, pattern: str, within: float = 0.0) -> bool:
        """Whether the screen matches now, or does so in time."""
        end = time.monotonic() + within
        while not (found := re.search(pattern, self.text())) and time.monotonic() < end:
            time.sleep(0.1)
        return found is not None

    def wait_for(self, pattern: str, timeout: float = 60.0) -> None:
        """Until the screen matches; AssertionError with the last screen if it never does."""
        assert self.shows(pattern, within=timeout), f"never saw {pattern!r} on the screen:\n{self.text()}"

    def settle(self, quiet: float = 1.0, timeout: float = 30.0) -> None:
        """Wait until the screen has not changed for a while."""
        end, since, shown = time.monotonic() + timeout, time.monotonic(), self.text()
        while time.monotonic() - since < quiet and time.monotonic() < end:
            time.sleep(0.1)
            if (now := self.text()) != shown:
                since, shown = time.monotonic(), now

    def leave(self) -> None:
        """Ask the client to exit and wait until it is gone."""
        self.submit("/exit")
        end = time.monotonic() + 60
        while self.is_alive() and time.monotonic() < end:
            time.sleep(0.1)

    def is_alive(self) -> bool:
        """Whether the client still runs: its tmux server ends with it."""
        command = ["tmux", "-L", self.socket, "has-session", "-t", "s"]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0

    def close(self) -> None:
        """End the client and the terminal."""
        if self.is_alive():
            self.tmux("kill-server")
