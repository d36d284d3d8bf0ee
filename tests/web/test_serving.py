"""The server as a process: what it prints, whom it lets in, what it tells while a session grows, how it ends."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from cli.kept import HARBOUR
from cli.running import reread, start
from reread.testing import a_prompt, a_session
from reread.web.app import MOST_STREAMS
from reread.web.guard import LARGEST_BODY
from reread.web.server import MOST_AT_ONCE
from reread.web.server_state import PORTS
from web.serving import SECONDS, heard, served, until


def test_its_first_line_ends_with_an_address_that_opens(claude: Path, tmp_path: Path) -> None:
    with served(tmp_path / "home", claude) as server:
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/\?token=[\w-]{30,}", server.address)
        connection = server.connect()
        connection.request("GET", f"/?token={server.token}")
        answer = connection.getresponse()
        assert answer.status == 200
        assert b"reread" in answer.read()
        connection.request("GET", "/")
        assert connection.getresponse().status == 403


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent otherwise")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_it_ends_well_when_asked_to_even_while_pages_wait(name: str, claude: Path, tmp_path: Path) -> None:
    with served(tmp_path / "home", claude) as server:
        waiting = server.connect()
        waiting.request("GET", "/", headers=server.cookie)
        assert waiting.getresponse().read()
        waiting.request("GET", f"/events?to=/s/{HARBOUR}&to=/live", headers=server.cookie)
        assert waiting.getresponse().status == 200
        server.process.send_signal(getattr(signal, name))
        _, err = server.process.communicate(timeout=SECONDS)
        assert server.process.returncode == 0, err.decode()
        assert err == b""


ENDS_AT_ONCE = """
import os, sys
from pathlib import Path
from reread.web.archive_pool import ServerSettings
from reread.web.server import ListenAt, Terminal, serve

def announce(address, *, is_open):
    os.kill(os.getpid(), int(sys.argv[2]))

serve(ServerSettings(Path(sys.argv[1])), ListenAt("127.0.0.1", 0), Terminal(announce, print), opens_browser=False)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent otherwise")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_can_be_asked_to_end_as_soon_as_it_has_told_its_address(number: signal.Signals, tmp_path: Path) -> None:
    ran = subprocess.run([sys.executable, "-c", ENDS_AT_ONCE, tmp_path, str(int(number))], timeout=SECONDS, check=False)
    assert ran.returncode == 0
    assert not (tmp_path / "web-server.json").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent otherwise")
def test_a_form_that_does_not_come_whole_is_no_fault_of_ours(claude: Path, tmp_path: Path) -> None:
    with served(tmp_path / "home", claude) as server:
        head = f"POST /sessions/mark HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nOrigin: {server.base}\r\n"
        head += f"Cookie: {server.cookie['Cookie']}\r\nContent-Length: 100\r\n\r\nstarred="
        with socket.create_connection(("127.0.0.1", server.port)) as half:
            half.sendall(head.encode())
        asked = server.connect()
        asked.request("GET", "/live", headers=server.cookie)
        assert asked.getresponse().status == 200
        server.process.send_signal(signal.SIGTERM)
        _, err = server.process.communicate(timeout=SECONDS)
        assert err == b""


def test_one_connection_tells_of_all_that_pages_wait_for(claude: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    assert reread("sync", "--source", claude, "--home", home).code == 0
    with served(home, claude) as server:
        connection = server.connect()
        asked = "&".join(f"to={topic}" for topic in (f"/s/{HARBOUR}", "/live", "/live/nobody", "/s/nobody", "/no"))
        connection.request("GET", f"/events?{asked}", headers=server.cookie)
        answer = connection.getresponse()
        assert answer.headers["content-type"].startswith("text/event-stream")
        first = dict(_next(answer) for _ in range(3))
        assert set(first) == {f"/s/{HARBOUR}", "/live", "/live/nobody"}, "how things stand"
        assert first["/live/nobody"]["what"] == "gone"
        assert first["/live"]["title"] == "Live · reread"
        trunk = next(claude.rglob(f"{HARBOUR}.jsonl"))
        extra = a_session(a_prompt("a gull, too"), id="extra").write(tmp_path / "other").read_bytes()
        with trunk.open("ab") as file:
            file.write(extra)
        while heard(answer, f"/s/{HARBOUR}", "grown")["stamp"] == first[f"/s/{HARBOUR}"]["stamp"]:
            pass
        connection.close()
        connection.request("GET", f"/s/{HARBOUR}", headers=server.cookie)
        assert b"a gull, too" in connection.getresponse().read()


def _next(stream: Any) -> tuple[str, Any]:
    while not (line := stream.readline()).startswith(b"data: "):
        assert line, "the stream has ended"
    news = json.loads(line.removeprefix(b"data: "))
    return news["to"], news


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent otherwise")
def test_a_session_that_is_forgotten_is_told_of_no_more_and_the_others_are(claude: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    assert reread("sync", "--source", claude, "--home", home).code == 0
    with served(home, claude) as server:
        connection = server.connect()
        connection.request("GET", f"/events?to=/s/{HARBOUR}&to=/s/another", headers=server.cookie)
        answer = connection.getresponse()
        heard(answer, f"/s/{HARBOUR}", "grown")
        assert reread("archive", "forget", HARBOUR, "--yes", "--home", home).code == 0
        a_session(a_prompt("another"), id="another").write(claude / "projects")
        to, _ = _next(answer)
        assert to == "/s/another"
        server.process.send_signal(signal.SIGTERM)
        _, err = server.process.communicate(timeout=SECONDS)
        assert err == b"", err.decode()


def test_connections_on_which_nothing_is_asked_lock_nobody_out(claude: Path, tmp_path: Path) -> None:
    with ExitStack() as stack:
        server = stack.enter_context(served(tmp_path / "home", claude))
        with ExitStack() as silent:
            for number in range(MOST_AT_ONCE + 5):
                each = silent.enter_context(socket.create_connection(("127.0.0.1", server.port)))
                if number % 2:
                    each.sendall(b"GET / HTTP/1.1\r\n")
            asked = server.connect()
            asked.request("GET", "/", headers=server.cookie)
            assert asked.getresponse().status == 200
        listening = server.connect()
        listening.request("GET", "/events?to=/live", headers=server.cookie)
        stream = listening.getresponse()
        assert heard(stream, "/live", "list")
        for _ in range(MOST_AT_ONCE + 5):
            stack.enter_context(socket.create_connection(("127.0.0.1", server.port)))
        asked = server.connect()
        asked.request("GET", "/", headers=server.cookie)
        assert asked.getresponse().status == 200
        now = datetime.now(UTC).isoformat()
        a_session(a_prompt("another", timestamp=now), id="another").write(claude / "projects")
        while "another" not in heard(stream, "/live", "list")["html"]:  # who waits for news is not idle
            pass
        listening.close()


def test_who_listens_leaves_room_for_pages(claude: Path, tmp_path: Path) -> None:
    with ExitStack() as stack:
        server = stack.enter_context(served(tmp_path / "home", claude))
        listening = [server.connect() for _ in range(MOST_STREAMS + 1)]
        for each in listening:
            each.request("GET", "/events?to=/live", headers=server.cookie)
            stream = each.getresponse()
            if each is not listening[-1]:
                assert heard(stream, "/live", "list")
        assert (stream.status, stream.read()) == (503, b"Too many listen already.")
        asked = server.connect()
        asked.request("GET", "/live", headers=server.cookie)
        assert asked.getresponse().status == 200
        listening[0].close()

        def is_heard() -> bool:
            again = server.connect()
            again.request("GET", "/events?to=/live", headers=server.cookie)
            return again.getresponse().status == 200

        until(is_heard)


def test_those_who_come_at_once_are_counted_before_any_is_served(claude: Path, tmp_path: Path) -> None:
    with served(tmp_path / "home", claude) as server:
        listening = [server.connect() for _ in range(MOST_STREAMS + 20)]
        for each in listening:
            each.connect()
        for each in listening:
            each.request("GET", "/events?to=/live", headers=server.cookie)
        statuses = [each.getresponse().status for each in listening]
        assert (statuses.count(200), statuses.count(503)) == (MOST_STREAMS, 20)


@pytest.mark.parametrize("size", [LARGEST_BODY + 1, 100_000_000])
def test_too_large_a_body_is_answered_in_words_after_it_was_sent(size: int, claude: Path, tmp_path: Path) -> None:
    with served(tmp_path / "home", claude) as server:
        asked = server.connect()
        asked.request("POST", "/sessions/mark", b"x" * size, server.page)
        answer = asked.getresponse()
        assert answer.status == 413
        assert "That is more than this server takes: 256,000 bytes." in answer.read().decode()


@pytest.mark.skipif(sys.platform != "linux" or os.getuid() != 0, reason="to be another user one must be root")
def test_the_cookie_is_nothing_in_the_hands_of_another_user(claude: Path, tmp_path: Path) -> None:
    ask = (
        "import sys, http.client\n"
        "asked = http.client.HTTPConnection('127.0.0.1', int(sys.argv[1]))\n"
        "asked.request('GET', '/sessions', headers={'Cookie': sys.argv[2]})\n"
        "print(asked.getresponse().status)"
    )
    with served(tmp_path / "home", claude) as server:

        def asked_by(user: int) -> bytes:
            words = ["/usr/bin/env", "python3", "-c", ask, str(server.port), server.cookie["Cookie"]]
            return subprocess.run(words, user=user, cwd="/", check=True, capture_output=True).stdout.strip()

        assert asked_by(0) == b"200"
        assert asked_by(65_534) == b"403"


def test_named_sources_are_looked_at_and_not_kept(claude: Path, tmp_path: Path) -> None:
    before = sorted(tmp_path.rglob("*"))
    process = subprocess.Popen(
        [sys.executable, "-m", "reread", "serve", "--no-browser", "--source", str(claude)], stdout=subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline().startswith(b"reread is at http://127.0.0.1:")
    finally:
        process.terminate()
        process.communicate(timeout=SECONDS)
    assert sorted(tmp_path.rglob("*")) == before


def test_an_address_that_was_noted_works_after_a_restart(claude: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    with served(home, claude, "--port", "0") as first:
        pass
    with served(home, claude, "--port", str(first.port)) as second:
        assert second.address == first.address
        asked = second.connect()
        asked.request("GET", "/sessions", headers=first.cookie)
        assert asked.getresponse().status == 200
    if sys.platform != "win32":
        assert (home / "web-token").stat().st_mode & 0o777 == 0o600
    with served(home, claude, "--new-token") as third:
        assert third.token != first.token
        asked = third.connect()
        asked.request("GET", f"/?token={first.token}")
        assert asked.getresponse().status == 403
    (home / "web-token").write_text("short")
    with served(home, claude) as fourth:
        assert len(fourth.token) > 30, "a token that is none is replaced"


def test_the_usual_port_is_tried_first_and_another_where_it_is_taken(claude: Path, tmp_path: Path) -> None:
    with served(tmp_path / "home", claude) as one, served(tmp_path / "other", claude) as other:
        assert one.port != other.port
    taken = []
    with ExitStack() as stack:
        for port in list(PORTS)[:-1]:
            with suppress(OSError):  # another program has it
                stack.enter_context(socket.create_server(("127.0.0.1", port)))
                taken.append(port)
        with served(tmp_path / "home", claude) as server:
            assert server.port not in taken


def test_open_asks_the_server_that_runs(claude: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    assert reread("sync", "--source", claude, "--home", home).code == 0
    with served(home, claude) as server:
        told = reread("open", HARBOUR[:6], "--home", home, "--no-browser")
        assert told.code == 0, told.err
        assert told.out.split()[-1] == f"{server.base}/s/{HARBOUR}?token={server.token}"
        uuid = next(
            json.loads(line)["uuid"]
            for line in next(claude.rglob(f"{HARBOUR}.jsonl")).read_text().splitlines()
            if '"uuid"' in line
        )
        told = reread("open", f"{HARBOUR}#{uuid}", "--home", home, "--no-browser")
        assert told.out.split()[-1] == f"{server.base}/s/{HARBOUR}?at=m-{uuid}&token={server.token}#m-{uuid}"
        for wrong in ("nobody", f"{HARBOUR}#nobody"):
            told = reread("open", wrong, "--home", home, "--no-browser")
            assert (told.code, told.err.count("\n")) == (2, 1)


def test_open_starts_a_server_where_none_runs(claude: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    assert reread("sync", "--source", claude, "--home", home).code == 0
    (home / "web-server.json").write_text('{"host": "127.0.0.1", "port": 9, "pid": 1}')  # one that was killed
    process = start("open", HARBOUR, "--home", home, "--no-browser")
    try:
        assert process.stdout is not None
        address = process.stdout.readline().decode().split()[-1]
        assert f"/s/{HARBOUR}?token=" in address
        with urlopen(address, timeout=SECONDS) as answer:  # noqa: S310  our own
            assert answer.status == 200
    finally:
        process.terminate()
        process.communicate(timeout=SECONDS)


def test_a_port_that_is_taken_is_told(claude: Path, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        told = reread("serve", "--no-browser", "--source", claude, "--home", tmp_path / "home", "--port", str(port))
    assert told.code == 2
    assert "try another --port" in told.err


@pytest.mark.parametrize(
    "options", [["--port", "70000"], ["--port", "x"], ["--host", "nowhere.invalid"], ["--host", ""]]
)
def test_an_address_that_is_none_is_refused(options: list[str], tmp_path: Path) -> None:
    told = reread("serve", "--no-browser", "--home", tmp_path / "home", *options)
    assert told.code == 2
    assert told.err.count("\n") == 1


def test_the_page_opens_in_the_browser_unless_told_not_to(monkeypatch: pytest.MonkeyPatch) -> None:
    from reread.web import server as serving

    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    serving.open_browser("http://127.0.0.1/")
    assert opened == ["http://127.0.0.1/"]
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    assert not serving.has_screen()
    monkeypatch.setenv("DISPLAY", ":0")
    assert serving.has_screen()
