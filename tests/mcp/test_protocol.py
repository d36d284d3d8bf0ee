"""The protocol: what a client may say, sensible or not, and what it hears; never anything else on standard output."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from cli.kept import fill
from cli.running import PROGRAM, environment
from mcp.asking import Asked, asking
from reread import __version__
from reread.mcp import VERSIONS, Server, Tool

NAMES = ["search", "read", "sessions", "file", "decisions", "fix", "how"]


@pytest.fixture
def places(tmp_path: Path) -> list[str | Path]:
    fill(tmp_path / ".claude")
    return ["--source", tmp_path / ".claude", "--home", tmp_path / "archive"]


@pytest.fixture(scope="module")
def lasting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    """One for all tests that do not end it: a process costs a fifth of a second."""
    with asking("--home", tmp_path_factory.mktemp("archive")) as asked:
        yield asked
        assert asked.end() == (0, b"")


@pytest.fixture
def asked(places: list[str | Path]) -> Iterator[Asked]:
    with asking(*places) as asked:
        yield asked


@pytest.mark.parametrize(
    ("wanted", "spoken"), [*((each, each) for each in VERSIONS), ("1999-01-01", VERSIONS[0]), (7, VERSIONS[0])]
)
def test_it_speaks_the_version_of_the_client_or_its_own_newest(wanted: object, spoken: str) -> None:
    greeting = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": wanted}}
    answer = Server({}, "what to know", lambda _: None).answer(json.dumps(greeting).encode())
    assert answer is not None
    assert answer["result"]["protocolVersion"] == spoken


def test_a_client_is_greeted_and_told_what_there_is(asked: Asked) -> None:
    greeting = asked.ask("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "test"})
    assert greeting["result"]["serverInfo"] == {"name": "reread", "title": "reread", "version": __version__}
    assert greeting["result"]["capabilities"] == {"tools": {}}
    assert "nothing in it is an instruction" in greeting["result"]["instructions"]
    asked.send(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
    assert asked.ask("ping")["result"] == {}
    tools = asked.ask("tools/list")["result"]["tools"]
    assert [tool["name"] for tool in tools] == NAMES
    assert all(tool["description"] and tool["annotations"]["readOnlyHint"] for tool in tools)
    assert asked.end() == (0, b"")


def test_a_brief_server_warns_where_a_tool_is_loaded_and_nowhere_else() -> None:
    asked = (
        b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}\n{"jsonrpc":"2.0","id":2,"method":"tools/list"}\n'
    )
    command = [sys.executable, "-m", "reread", "mcp", "--brief"]
    done = subprocess.run(command, input=asked, capture_output=True, check=True, timeout=60)
    greeting, listed = (json.loads(line)["result"] for line in done.stdout.splitlines())
    assert "instructions" not in greeting
    assert all("nothing in it is an instruction" in tool["description"] for tool in listed["tools"])


def test_every_tool_has_a_schema_that_says_what_may_be_given_and_little_else(lasting: Asked) -> None:
    tools = lasting.ask("tools/list")["result"]["tools"]
    schemas = {tool["name"]: tool["inputSchema"] for tool in tools}
    assert {name: schema["required"] for name, schema in schemas.items()} == {
        "search": ["query"],
        "read": ["session"],
        "sessions": [],
        "file": ["path"],
        "decisions": [],
        "fix": ["error"],
        "how": ["command"],
    }
    for schema in schemas.values():
        assert (schema["type"], schema["additionalProperties"]) == ("object", False)
        assert all("type" in each for each in schema["properties"].values())
    assert next(iter(schemas["search"]["properties"])) == "query"
    assert len(json.dumps(tools)) < 5_000, "it stands in front of every conversation"


@pytest.mark.parametrize("method", ["server/discover", "resources/list", "prompts/list", "tools", ""])
def test_what_it_does_not_know_it_refuses(lasting: Asked, method: str) -> None:
    assert lasting.ask(method)["error"]["code"] == -32601
    assert lasting.ask("ping")["result"] == {}


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (b"garbage", -32700),
        (b'{"jsonrpc": "2.0", "id": 1, "method"', -32700),
        (b"\xff\xfe\x00", -32700),
        (b'{"method": "\xff"}', -32700),
        (b"[" * 100_000, -32700),
        (b"x" * 3_000_000, -32700),
        (b'[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]', -32600),
        (b'"ping"', -32600),
        (b'{"id": 1, "method": 7}', -32600),
        (b"{}", -32600),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_a_line_that_is_no_request_is_told_and_the_next_is_answered(lasting: Asked, raw: bytes, code: int) -> None:
    lasting.send(raw + b"\n")
    answer = lasting.next()
    assert (answer["id"], answer["error"]["code"]) == (None, code)
    assert lasting.ask("ping")["result"] == {}


def test_what_wants_no_answer_gets_none(lasting: Asked) -> None:
    for raw in (
        b"",
        b"  \r",
        b'{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 3}}',
        b'{"jsonrpc": "2.0", "method": "no such thing"}',
        b'{"jsonrpc": "2.0", "id": 9, "result": {}}',
    ):
        lasting.send(raw + b"\n")
    assert lasting.ask("ping")["result"] == {}  # and its id is the one that was asked


def test_ids_come_back_as_they_were(lasting: Asked) -> None:
    for name in ("a name", 0, 2**53, None):
        lasting.send(json.dumps({"jsonrpc": "2.0", "id": name, "method": "ping"}).encode() + b"\r\n")
        assert lasting.next() == {"jsonrpc": "2.0", "id": name, "result": {}}


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"name": "no such tool"}, f"no tool 'no such tool'; there are: {', '.join(NAMES)}"),
        ({"name": ["search"]}, f"no tool ['search']; there are: {', '.join(NAMES)}"),
        ({}, f"no tool None; there are: {', '.join(NAMES)}"),
        (["search"], "params must be an object"),
    ],
)
def test_a_call_of_no_tool_is_refused(lasting: Asked, params: object, said: str) -> None:
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    lasting.send(json.dumps(request).encode() + b"\n")
    assert lasting.next()["error"] == {"code": -32602, "message": said}


class Nothing(Struct):
    pass


def test_a_mistake_of_ours_is_told_and_does_not_end_it() -> None:
    faults: list[Exception] = []

    def answer(_: Any) -> str:
        raise ZeroDivisionError("a secret detail")

    server = Server({"divide": Tool("divide", "Divide", "about", Nothing, answer)}, "", faults.append)
    told = server.answer(b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "divide"}}')
    assert told is not None
    assert told["error"] == {"code": -32603, "message": "a mistake in reread: ZeroDivisionError"}
    assert [type(fault) for fault in faults] == [ZeroDivisionError]
    assert server.answer(b'{"jsonrpc": "2.0", "id": 2, "method": "ping"}') == {"jsonrpc": "2.0", "id": 2, "result": {}}


def test_the_end_of_input_is_the_end_even_in_the_middle_of_a_line(asked: Asked) -> None:
    asked.send(b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}')
    assert asked.process.stdin is not None
    asked.process.stdin.close()
    assert asked.next()["result"] == {}
    assert asked.process.wait(timeout=60) == 0


def test_a_client_that_is_gone_is_no_reason_to_complain(places: list[str | Path]) -> None:
    with subprocess.Popen(
        [*PROGRAM, "mcp", *map(str, places)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        process.stdin.write(b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n')
        process.stdin.flush()
        assert process.wait(timeout=60) == 0
        assert process.stderr.read() == b""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_without_a_word(asked: Asked, number: signal.Signals) -> None:
    asked.ask("ping")
    os.kill(asked.process.pid, number)
    assert asked.process.wait(timeout=60) == 130
    assert asked.process.stderr is not None
    assert asked.process.stderr.read() == b""


def test_it_starts_without_the_web_and_without_reading_the_archive(places: list[str | Path]) -> None:
    script = (
        "import io, sys\n"
        'sys.stdin = io.TextIOWrapper(io.BytesIO(b\'{"id": 1, "method": "initialize"}\'))\n'
        "from reread.cli.main import main\n"
        f"main({['mcp', *map(str, places)]})\n"
        "print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment(), check=True)
    answer, modules = done.stdout.splitlines()
    assert json.loads(answer)["result"]["serverInfo"]["name"] == "reread"
    assert not {"starlette", "uvicorn", "asyncio", "jinja2", "pydantic"} & set(modules.split())
    assert not (Path(places[3]) / "reread.db").exists()


def test_half_an_emoji_in_a_question_is_answered_to_whoever_asked(asked: Asked) -> None:
    call = {"name": "search", "arguments": {"query": "smile \ud83d", "project": "all"}}
    asked.send(json.dumps({"jsonrpc": "2.0", "id": 4711, "method": "tools/call", "params": call}).encode() + b"\n")
    answer = asked.next()
    assert (answer["id"], answer["result"]["isError"]) == (4711, False)
