"""Dialogs of clients on screens of their own: a hook's question is in the queue as long as the hook waits for it."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from cli.running import PROGRAM, environment, reread
from reread.testing import a_prompt, a_reply, a_session, a_tool_call, a_tool_result
from reread.web.guard import KEY_HEADER
from web.serving import Served, served, until

ASKED: dict[str, Any] = {
    "session_id": "00000000-0000-4000-8000-000000000001",
    "cwd": "/home/ann/shop",
    "hook_event_name": "PermissionRequest",
    "tool_name": "Bash",
    "tool_input": {
        "command": "touch here.txt " + "x" * 900 + " && echo the end \x9b\u202e\x1b ü",
        "description": "Touch",
    },
    "permission_suggestions": [
        {
            "type": "addRules",
            "rules": [{"toolName": "Bash", "ruleContent": "touch *"}],
            "behavior": "allow",
            "destination": "localSettings",
        }
    ],
}


class Place:
    def __init__(self, home: Path, server: Served) -> None:
        self.home, self.server = home, server

    def hook(self, asked: dict[str, Any] = ASKED) -> subprocess.Popen[bytes]:
        """Starts the hook as the client does."""
        process = started(self.home)
        assert process.stdin is not None
        process.stdin.write(json.dumps(asked).encode())
        process.stdin.close()
        process.stdin = None
        return process

    def asked(self, *arguments: str) -> str:
        ran = reread("approvals", "--home", self.home, *arguments)
        assert (ran.code, ran.err) == (0, "")
        return ran.out

    def waiting(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self.asked("--json"))["waiting"]
        return found

    def page(self, path: str) -> str:
        connection = self.server.connect()
        connection.request("GET", path, headers=self.server.cookie)
        return connection.getresponse().read().decode()


def started(home: Path) -> subprocess.Popen[bytes]:
    command = [*PROGRAM, "hook", "ask", "--home", str(home)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=environment())


def told(process: subprocess.Popen[bytes]) -> Any:
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, b"")
    return json.loads(out)["hookSpecificOutput"]["decision"] if out else None


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    source = tmp_path / "source"
    source.mkdir()
    with served(tmp_path / "home", source, "--port", "0") as server:
        yield Place(tmp_path / "home", server)


def test_a_question_is_seen_whole_and_what_the_person_says_is_what_the_client_hears(place: Place) -> None:
    hook = place.hook()
    (waiting,) = until(place.waiting)
    assert (waiting["tool"], waiting["input"], waiting["project"]) == ("Bash", ASKED["tool_input"], "/home/ann/shop")
    page = place.page("/live")
    assert "echo the end" in page and "(1) Live" in page and hook.poll() is None
    place.asked(waiting["id"], "--deny", "not <today>")
    assert told(hook) == {"behavior": "deny", "message": "not <today>"}
    assert place.waiting() == []
    (answered,) = json.loads(place.asked("--log", "--json"))["answered"]
    assert (answered["answer"], answered["project"]) == ("denied: not <today>", "/home/ann/shop")
    assert answered["session"] == ASKED["session_id"]


def test_allowed_once_and_by_the_rule_that_the_client_suggests(place: Place) -> None:
    hook = place.hook()
    (waiting,) = until(place.waiting)
    place.asked(waiting["id"], "--allow")
    assert told(hook) == {"behavior": "allow", "updatedInput": ASKED["tool_input"]}
    hook = place.hook()
    (waiting,) = until(place.waiting)
    connection = place.server.connect()
    form = urlencode({"request": waiting["id"], "decision": "always"})
    headers = {**place.server.page, "Content-Type": "application/x-www-form-urlencoded"}
    connection.request("POST", f"/live/{waiting['run']}/answer", form, headers)
    answer = connection.getresponse()
    assert (answer.status, answer.headers["location"]) == (303, "/live")
    assert told(hook)["updatedPermissions"] == ASKED["permission_suggestions"]


def test_a_hook_that_ends_takes_its_question_along(place: Place) -> None:
    hook = place.hook()
    (waiting,) = until(place.waiting)
    hook.kill()
    hook.communicate()
    until(lambda: not place.waiting())
    ran = reread("approvals", "--home", place.home, waiting["id"], "--allow")
    assert ran.code == 2 and "no such request waits" in ran.err
    assert json.loads(place.asked("--log", "--json"))["answered"] == []


@pytest.mark.skipif(sys.platform == "win32", reason="there the client ends its hooks")
def test_a_client_that_is_gone_asks_nothing(place: Place) -> None:
    hook = place.hook()
    until(place.waiting)
    assert hook.stdout is not None
    hook.stdout.close()
    until(lambda: not place.waiting())
    assert hook.wait(60) == 0


def test_an_agent_asks_on_its_screen_only(place: Place) -> None:
    assert told(place.hook({**ASKED, "agent_id": "a1b2"})) is None


def test_an_answer_on_the_screen_ends_the_question(place: Place, tmp_path: Path) -> None:
    transcript = tmp_path / "s.jsonl"
    calls = [
        a_prompt("Go."),
        a_reply(
            a_tool_call("Bash", {"command": "touch here.txt"}, id="one"),
            a_tool_call("Bash", {"command": "ls"}, id="two"),
        ),
    ]

    def write(*more: Any) -> None:
        transcript.write_bytes(a_session(*calls, *more).bytes)

    write()
    asked = {**ASKED, "tool_input": {"command": "touch here.txt", "timeout": 5}, "transcript_path": str(transcript)}
    hook = place.hook(asked)
    until(place.waiting)
    other = a_tool_result("notes.txt", of="two")
    write(other)
    with pytest.raises(subprocess.TimeoutExpired):
        hook.wait(2)
    write(other, a_tool_result("", of="one"))
    assert told(hook) is None
    until(lambda: not place.waiting())


def test_a_server_that_ends_gives_the_question_back_to_its_screen(place: Place) -> None:
    hook = place.hook()
    until(place.waiting)
    place.server.process.terminate()
    assert told(hook) is None


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {**ASKED, "tool_input": "ls"},
        {**ASKED, "tool_name": "ExitPlanMode", "tool_input": {}},
        {**ASKED, "tool_input": {"command": "x" * 300_000}},
        {**ASKED, "tool_input": {"command": "half a letter: \ud800"}},
    ],
)
def test_what_cannot_be_shown_whole_stays_on_its_screen(place: Place, asked: dict[str, Any]) -> None:
    assert told(place.hook(asked)) is None
    assert place.waiting() == []
    assert "a dialog stays on its screen only" in (place.home / "hook.log").read_text()


def test_without_a_server_nothing_is_said_at_once(tmp_path: Path) -> None:
    assert told(Place(tmp_path / "home", None).hook()) is None  # type: ignore[arg-type]  # there is none
    assert not (tmp_path / "home").exists()


def test_nobody_asks_without_the_token(place: Place) -> None:
    for headers in ({}, place.server.cookie, {**place.server.page, KEY_HEADER: "guessed"}):
        connection = place.server.connect()
        connection.request("POST", "/live/ask", json.dumps(ASKED), headers)
        assert connection.getresponse().status == 403
    assert place.waiting() == []


def test_a_server_for_others_takes_no_dialogs(tmp_path: Path) -> None:
    (tmp_path / "source").mkdir()
    with served(tmp_path / "home", tmp_path / "source", "--port", "0", "--host", "0.0.0.0") as server:  # noqa: S104  what is refused
        assert told(Place(tmp_path / "home", server).hook()) is None


class _Impostor(BaseHTTPRequestHandler):
    """Whoever listens where the server was."""

    def do_GET(self) -> None:
        self._say(b"{}")

    def do_POST(self) -> None:
        self._say(b'proof\n{"hookSpecificOutput": {"decision": {"behavior": "allow"}}}')

    def _say(self, answer: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_args: object) -> None:
        pass


def test_an_answer_that_is_not_of_this_archives_server_is_no_answer(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    with HTTPServer(("127.0.0.1", 0), _Impostor) as impostor:
        threading.Thread(target=impostor.serve_forever, daemon=True).start()
        (home / "web-server.json").write_text(json.dumps({"host": "127.0.0.1", "port": impostor.server_port}))
        (home / "web-token").write_text("t" * 32)
        assert told(Place(home, None).hook()) is None  # type: ignore[arg-type]  # there is none
        impostor.shutdown()
    assert "is not the reread serve of this archive" in (home / "hook.log").read_text()
