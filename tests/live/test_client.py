"""Talking to a client that behaves well, and to every kind that does not."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar, Unpack, get_type_hints

import pytest

import reread
from live.fake_client import CLEARED, SESSION
from live.faking import HURRY, fake
from reread import Allow, BadInput, Client, ClientError, ClientOptions, ClientRefused, Deny, Hook, HostTool, SourceError
from reread.live import events, running_turn, transport
from reread.live.capture import read_capture, replay
from reread.live.client import ClientArguments, StartArguments
from reread.live.events import Event
from reread.live.host import HostTools
from reread.live.transport import Patience, Start, child_environment, program
from reread.records import decode
from reread.sessions import Session

T = TypeVar("T")
posix_only = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signals to ignore")
PNG = b"\x89PNG\r\n\x1a\n"


def talk(way: str, with_it: Callable[[Client], Coroutine[Any, Any, T]], **options: Any) -> T:
    async def main() -> T:
        async with asyncio.timeout(30), Client(fake(way), patience=HURRY, **options) as client:
            return await with_it(client)

    return asyncio.run(main())


async def one_turn(client: Client) -> list[Event]:
    return [event async for event in client.turn("hello")]


def texts(found: list[Event]) -> list[str]:
    return [event.text for event in found if isinstance(event, events.Text)]


def results(found: list[Event]) -> list[str]:
    return [event.text for event in found if isinstance(event, events.TurnResult)]


# Talking


def test_a_turn_gives_the_events_of_its_prompt() -> None:
    async def two_turns(client: Client) -> list[list[str]]:
        said = [texts([event async for event in client.turn(prompt)]) for prompt in ("one", "two")]
        assert client.session.id == SESSION
        assert [turn.prompt.text for turn in client.session.turns if turn.prompt] == ["one", "two"]
        assert client.exit_code is None
        return said

    assert talk("echoes", two_turns) == [["You said one"], ["You said two"]]


def test_a_loop_over_the_client_ends_when_its_input_was_ended() -> None:
    async def until_the_end(client: Client) -> list[Event]:
        uuid = await client.send("one")
        client.end_input()
        found = [event async for event in client]
        assert [event.uuid for event in found if isinstance(event, events.Prompt)] == [uuid]
        assert client.exit_code == 0
        return found

    assert texts(talk("echoes", until_the_end)) == ["You said one"]


def test_images_are_sent_as_bytes_or_by_path(tmp_path: Path) -> None:
    (tmp_path / "image.png").write_bytes(PNG)

    async def with_images(client: Client) -> list[Event]:
        with pytest.raises(SourceError, match=r"none\.png"):
            await client.send("look", [tmp_path / "none.png"])
        return [event async for event in client.turn("look", [PNG, tmp_path / "image.png"])]

    assert texts(talk("echoes", with_images)) == ["You said text image image"]


@pytest.mark.parametrize(
    ("decide", "answer"),
    [
        (Client.allow, {"behavior": "allow", "updatedInput": {"command": "ls"}}),
        (
            lambda client, asked: client.allow(asked, {"command": "pwd"}, remember=[{"type": "setMode"}]),
            {"behavior": "allow", "updatedInput": {"command": "pwd"}, "updatedPermissions": [{"type": "setMode"}]},
        ),
        (
            lambda client, asked: client.deny(asked, "not now", interrupt=True),
            {"behavior": "deny", "message": "not now", "interrupt": True},
        ),
        (
            lambda client, asked: client.answer(asked, {"Which?": "Blue"}),
            {"behavior": "allow", "updatedInput": {"command": "ls", "answers": {"Which?": "Blue"}}},
        ),
        (lambda client, asked: client.decide(asked, Allow()), {"behavior": "allow", "updatedInput": {"command": "ls"}}),
        (lambda client, asked: client.decide(asked, Deny("no")), {"behavior": "deny", "message": "no"}),
    ],
)
def test_permissions_are_answered_from_inside_the_loop(
    decide: Callable[[Client, events.Permission], Coroutine[Any, Any, None]], answer: dict[str, Any]
) -> None:
    async def deciding(client: Client) -> list[Event]:
        found = []
        async for event in client.turn("run it"):
            found.append(event)
            if isinstance(event, events.Permission):
                await decide(client, event)
        return found

    found = talk("asks_permission", deciding)
    assert [json.loads(text) for text in texts(found)] == [answer]
    assert [event.decision for event in found if isinstance(event, events.PermissionAnswered)] == [answer["behavior"]]


def test_the_session_of_a_client_knows_what_a_person_made_of_a_permission() -> None:
    async def editing(client: Client) -> None:
        async for event in client.turn("run it"):
            if isinstance(event, events.Permission):
                await client.allow(event, {"command": "pwd"})
        permission = client.session.permissions["toolu_1"]
        assert (permission.decision, permission.edited_input) == ("allow", {"command": "pwd"})

    talk("asks_permission", editing)


def test_what_is_steered_is_asked_in_the_protocols_words() -> None:
    async def steering(client: Client) -> None:
        await client.interrupt()
        await client.set_model("opus")
        await client.set_permission_mode("plan")
        await client.set_thinking_budget(4000)
        await client.set_thinking_budget(None)
        client.end_input()
        answers = [event.response async for event in client if isinstance(event, events.ControlAnswer)]
        assert answers == [
            {"subtype": "interrupt"},
            {"subtype": "set_model", "model": "opus"},
            {"subtype": "set_permission_mode", "mode": "plan"},
            {"subtype": "set_max_thinking_tokens", "max_thinking_tokens": 4000},
            {"subtype": "set_max_thinking_tokens", "max_thinking_tokens": None},
        ]

    talk("echoes", steering)


def test_every_control_request_has_a_method() -> None:
    async def steering(client: Client) -> None:
        asked = [
            await client.about(),
            await client.context_usage(),
            await client.settings(),
            await client.rewind_files("u-1"),
            await client.rewind_files("u-1", dry_run=True),
        ]
        assert asked == [
            {"subtype": "initialize", "hooks": None},
            {"subtype": "get_context_usage"},
            {"subtype": "get_settings"},
            {"subtype": "rewind_files", "user_message_id": "u-1"},
            {"subtype": "rewind_files", "user_message_id": "u-1", "dry_run": True},
        ]
        assert await client.mcp_servers() == []
        await client.reconnect_mcp_server("db")
        await client.toggle_mcp_server("db", enabled=False)
        await client.stop_task("t1")
        client.end_input()
        answers = [event.response async for event in client if isinstance(event, events.ControlAnswer)]
        assert answers[5:] == [
            {"subtype": "mcp_status"},
            {"subtype": "mcp_reconnect", "serverName": "db"},
            {"subtype": "mcp_toggle", "serverName": "db", "enabled": False},
            {"subtype": "stop_task", "task_id": "t1"},
        ]

    talk("echoes", steering)


# A callback for permissions


async def _later(asked: events.Permission) -> Allow:
    await asyncio.sleep(0)
    return Allow(input={"command": f"{asked.input['command']} -l"})


@pytest.mark.parametrize(
    ("decide", "answer"),
    [
        (lambda _: Deny(reason="not now"), {"behavior": "deny", "message": "not now"}),
        (_later, {"behavior": "allow", "updatedInput": {"command": "ls -l"}}),
    ],
)
def test_a_callback_decides_and_the_events_tell(decide: Any, answer: dict[str, Any]) -> None:
    found = talk("asks_permission", one_turn, on_permission=decide)
    assert [json.loads(text) for text in texts(found)] == [answer]
    assert [event.decision for event in found if isinstance(event, events.PermissionAnswered)] == [answer["behavior"]]
    assert [event.tool for event in found if isinstance(event, events.Permission)] == ["Bash"]


def test_a_callback_may_leave_it_to_the_loop() -> None:
    async def deciding(client: Client) -> list[Event]:
        found = []
        async for event in client.turn("run it"):
            found.append(event)
            if isinstance(event, events.Permission):
                await client.deny(event, "by the loop")
        return found

    found = talk("asks_permission", deciding, on_permission=lambda _: None)
    assert [json.loads(text)["message"] for text in texts(found)] == ["by the loop"]


def test_a_callback_that_fails_is_a_no_and_is_told() -> None:
    def fails(_: events.Permission) -> Allow:
        raise ValueError("no idea")

    async def turn(client: Client) -> list[Event]:
        found = await one_turn(client)
        assert [str(error) for error in client.hook_errors] == ["no idea"]
        return found

    found = talk("asks_permission", turn, on_permission=fails)
    assert "no idea" in json.loads(texts(found)[0])["message"]
    assert [event.what for event in found if isinstance(event, events.Trouble)] == ["permission"]


@pytest.mark.parametrize("decided", [True, {"behavior": "allow"}, Allow, Allow(input=object()), Allow(remember=[{1}])])
def test_a_callback_whose_answer_cannot_be_sent_is_a_no_and_is_told(decided: Any) -> None:
    found = talk("asks_permission", one_turn, on_permission=lambda _: decided)
    [answer] = map(json.loads, texts(found))
    assert answer["behavior"] == "deny"
    assert answer["message"].startswith("The host could not decide: BadInput: ")
    assert [event.what for event in found if isinstance(event, events.Trouble)] == ["permission"]


# Tools of this process


async def _weather(given: dict[str, Any]) -> str:
    return f"rain in {given['city']}"


def _broken(_: Any) -> str:
    raise ValueError("broken")


TOOLS = [
    HostTool("weather", "Tells the weather.", _weather, {"properties": {"city": {"type": "string"}}}),
    HostTool("broken", "Fails.", _broken),
    HostTool("numbers", "Gives a value.", lambda _: {"n": [1, 2]}),
    HostTool("whole", "Gives a result.", lambda _: {"content": [], "isError": True}),
    HostTool("keyed", "Gives a value whose names are none.", lambda _: {(1, 2): 3}),
    HostTool("unsayable", "Gives what is no JSON.", lambda _: {"content": [object()]}),
    HostTool("weather", "Tells of another place.", lambda _: "snow", server="mars"),
]


def tool_answers(*messages: dict[str, Any], server: str = "host") -> list[Any]:
    async def turn(client: Client) -> list[Event]:
        asked = [{"server_name": server, "message": message} for message in messages]
        return [event async for event in client.turn(json.dumps(asked))]

    return [json.loads(text) for text in texts(talk("uses_the_hosts_tools", turn, tools=TOOLS))]


def test_the_model_calls_functions_of_this_process() -> None:
    def call(name: str, **given: Any) -> dict[str, Any]:
        return {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": name, "arguments": given}}

    named = ("broken", "numbers", "whole", "nope", "keyed", "unsayable")
    *answers, keyed, unsayable = tool_answers(call("weather", city="Oslo"), *map(call, named))
    said = [answer["response"]["mcp_response"] for answer in answers]
    assert {(each["jsonrpc"], each["id"]) for each in said} == {("2.0", 7)}
    assert [each.get("result") for each in said] == [
        {"content": [{"type": "text", "text": "rain in Oslo"}]},
        {"content": [{"type": "text", "text": "ValueError: broken"}], "isError": True},
        {"content": [{"type": "text", "text": '{"n": [1, 2]}'}]},
        {"content": [], "isError": True},
        None,
    ]
    assert "no tool 'nope'" in said[4]["error"]["message"]
    assert keyed["response"]["mcp_response"]["result"]["isError"], "the client does not wait for ever"
    assert unsayable["subtype"] == "error", "the client does not wait for ever"


def test_the_tools_of_this_process_introduce_themselves() -> None:
    methods = ("initialize", "notifications/initialized", "ping", "tools/list", "prompts/list")
    answers = tool_answers(*({"jsonrpc": "2.0", "id": n, "method": each} for n, each in enumerate(methods)))
    first, noted, ping, tools, other = (answer["response"]["mcp_response"] for answer in answers)
    assert first["result"]["serverInfo"]["name"] == "host"
    assert noted["result"] == ping["result"] == {}
    assert tools["result"]["tools"][0] == {
        "name": "weather",
        "description": "Tells the weather.",
        "inputSchema": {"type": "object", "properties": {"city": {"type": "string"}}},
    }
    assert other["error"]["code"] == -32601


def test_each_tool_belongs_to_its_server() -> None:
    call = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "weather", "arguments": {}}}
    [on_mars], [nowhere] = tool_answers(call, server="mars"), tool_answers(call, server="pluto")
    assert on_mars["response"]["mcp_response"]["result"]["content"][0]["text"] == "snow"
    assert "no tool 'weather'" in nowhere["response"]["mcp_response"]["error"]["message"]
    (flag,) = HostTools(TOOLS).arguments
    assert list(json.loads(flag.removeprefix("--mcp-config="))["mcpServers"]) == ["host", "mars"]


def test_a_query_takes_what_a_client_takes_by_type_as_well() -> None:
    taken = get_type_hints(Client.__init__)
    del taken["return"]
    assert taken.pop("start") == Unpack[StartArguments]
    assert get_type_hints(ClientArguments) == taken | get_type_hints(StartArguments)
    assert get_type_hints(reread.query)["client"] == Unpack[ClientArguments]


def test_a_query_is_one_line() -> None:
    async def main(way: str, **options: Any) -> list[Event]:
        async with asyncio.timeout(30):
            return [event async for event in reread.query("hello", claude=fake(way), patience=HURRY, **options)]

    assert texts(asyncio.run(main("echoes"))) == ["You said hello"]
    [answer] = map(json.loads, texts(asyncio.run(main("asks_permission"))))
    assert answer["behavior"] == "deny" and "without anybody to ask" in answer["message"]
    [answer] = map(json.loads, texts(asyncio.run(main("asks_permission", on_permission=lambda _: Allow()))))
    assert answer["behavior"] == "allow"


def test_answers_find_those_who_asked_in_whatever_order_they_come() -> None:
    async def asking(client: Client) -> None:
        answers = await asyncio.gather(*(client.ask(name) for name in ("a", "b", "c")))
        assert [answer["subtype"] for answer in answers] == ["a", "b", "c"]

    talk("answers_out_of_order", asking)


def test_a_refusal_is_raised_in_the_clients_own_words() -> None:
    async def asking(client: Client) -> None:
        with pytest.raises(ClientRefused, match=r"^Unsupported control request subtype: nonsense$"):
            await client.ask("nonsense")
        assert texts(await one_turn(client)) == ["You said hello"]

    talk("echoes", asking)


def test_questions_that_nobody_can_answer_are_not_left_open() -> None:
    found = talk("asks_what_nobody_knows", one_turn)
    assert texts(found) == [
        "q1 error this host does not know 'elicitation'",
        "q2 error this host does not understand the request",
    ]


def test_a_turn_lasts_until_the_background_has_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running_turn, "GRACE", 3600.0)  # what is over needs none of it
    assert results(talk("works_in_the_background", one_turn)) == ["started", "the agent found it"]


def test_what_is_left_of_an_earlier_turn_does_not_end_the_next() -> None:
    async def leaving(client: Client) -> list[Event]:
        await client.send("one")
        await client.ask("anything")
        return [event async for event in client.turn("two")]

    assert texts(talk("echoes", leaving)) == ["You said one", "You said two"]


# Turns that are left early

STEPS = 7
"""Frames of `can_be_left_anywhere` before its result."""


async def _break(turn: AsyncIterator[Event], number: int) -> None:
    seen = 0
    async for _ in turn:
        seen += 1
        if seen == number:
            break


async def _raise(turn: AsyncIterator[Event], number: int) -> None:
    seen = 0
    async for _ in turn:
        seen += 1
        if seen == number:
            raise TimeoutError


async def _wrapped(turn: AsyncIterator[Event], number: int) -> None:
    """In a generator of the caller's own, which the event loop closes a moment after the `break`."""

    async def inner() -> AsyncIterator[Event]:
        async for event in turn:
            yield event

    await _break(inner(), number)


async def _cancel(turn: AsyncIterator[Event], number: int) -> None:
    reached = asyncio.Event()

    async def reading() -> None:
        seen = 0
        async for _ in turn:
            seen += 1
            if seen == number:
                reached.set()
        reached.set()

    task = asyncio.create_task(reading())
    await reached.wait()
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


@pytest.mark.parametrize("leave", [_break, _raise, _wrapped, _cancel])
@pytest.mark.parametrize("number", range(1, STEPS + 2))
def test_a_turn_left_at_any_event_is_no_part_of_the_next(leave: Any, number: int) -> None:
    async def leaving(client: Client) -> list[list[str]]:
        with suppress(TimeoutError):
            await leave(client.turn("all"), number)
        return [texts([event async for event in client.turn(prompt)]) for prompt in ("two", "three")]

    assert talk("can_be_left_anywhere", leaving) == [["You said two"], ["You said three"]]


@pytest.mark.parametrize("frames", range(STEPS))
def test_a_time_out_at_any_frame_interrupts_the_turn(frames: int) -> None:
    """The client says so many frames and would then say nothing for ever."""

    async def leaving(client: Client) -> tuple[list[str], Session]:
        try:
            async with asyncio.timeout(0.05):
                async for _ in client.turn(str(frames)):
                    pass
        except TimeoutError:
            second = [event async for event in client.turn("two")]
        return texts(second), client.session

    said, session = talk("can_be_left_anywhere", leaving)
    assert said == ["You said two"]
    assert [turn.prompt.text for turn in session.turns if turn.prompt] == [str(frames), "two"]


def test_a_time_out_while_the_prompt_is_sent_leaves_the_turn_too() -> None:
    async def leaving(client: Client) -> list[str]:
        with suppress(TimeoutError):
            async with asyncio.timeout(0):
                async for _ in client.turn("all"):
                    pass
        return texts([event async for event in client.turn("two")])

    assert talk("can_be_left_anywhere", leaving) == ["You said two"]


def test_two_turns_at_once_are_refused_and_the_first_goes_on() -> None:
    async def both(client: Client) -> list[str]:
        found = []
        async for event in client.turn("one"):
            found.append(event)
            with pytest.raises(BadInput, match="a turn is open"):
                await anext(client.turn("two"))
        return texts(found)

    assert talk("echoes", both) == ["You said one"]


def test_what_a_left_turn_started_in_the_background_is_stopped() -> None:
    async def leaving(client: Client) -> list[str]:
        turn = client.turn("background")
        async for event in turn:
            if isinstance(event, events.TurnResult):
                await turn.aclose()
        return texts([event async for event in client.turn("two")])

    assert talk("can_be_left_anywhere", leaving) == ["You said two"]


# Hooks


def test_hooks_are_called_and_their_word_is_passed_on() -> None:
    seen: list[Any] = []

    def plain(told: Mapping[str, Any]) -> dict[str, Any]:
        seen.append(told)
        return {"decision": "block"}

    async def silent(told: Mapping[str, Any]) -> None:
        await asyncio.sleep(0)
        seen.append(told)

    hooks = {"PreToolUse": [Hook(plain, matcher="Bash"), Hook(silent, matcher="Read", timeout=3)]}
    found = talk("calls_hooks", one_turn, hooks=hooks)
    assert seen == [{"tool_name": "Bash"}, {"tool_name": "Read"}]
    assert [json.loads(text)["response"] for text in texts(found)] == [{"decision": "block"}, {}]


def test_a_hook_of_the_official_sdk_works_unchanged() -> None:
    async def theirs(told: reread.HookEventInput, call: str | None, context: Any) -> dict[str, Any]:
        assert (call, context) == (None, {"signal": None})
        return {"continue_": False, "stopReason": f"no {told['tool_name']}"}

    def later(_: reread.HookEventInput) -> dict[str, Any]:
        return {"async_": True, "asyncTimeout": 5}

    hooks = {"PreToolUse": [Hook(theirs, matcher="Bash"), Hook(later, matcher="Read")]}
    found = talk("calls_hooks", one_turn, hooks=hooks)
    assert [json.loads(text)["response"] for text in texts(found)] == [
        {"continue": False, "stopReason": "no Bash"},
        {"async": True, "asyncTimeout": 5},
    ]


def test_a_hook_that_fails_is_answered_told_and_remembered() -> None:
    def bad(told: Mapping[str, Any]) -> dict[str, Any]:
        raise ValueError(f"I do not like {told['tool_name']}")

    def unsendable(_told: Any) -> dict[str, Any]:
        return {"set": {1, 2}}

    async def turn(client: Client) -> list[Event]:
        found = await one_turn(client)
        assert [type(error) for error in client.hook_errors] == [ValueError, BadInput]
        return found

    found = talk("calls_hooks", turn, hooks={"PreToolUse": [Hook(bad, matcher="Bash"), Hook(unsendable)]})
    first, second = (json.loads(text) for text in texts(found))
    assert (first["subtype"], first["error"]) == ("error", "ValueError: I do not like Bash")
    assert second["subtype"] == "error"
    assert [event.what for event in found if isinstance(event, events.Trouble)] == ["hook", "hook"]


# Backpressure


def test_asking_from_inside_the_loop_does_not_wait_for_ever() -> None:
    """The answer stands behind 20 MB that nobody takes meanwhile."""

    async def asking(client: Client) -> int:
        taken = 0
        async for event in client.turn("flood me"):
            if isinstance(event, events.UnknownFrame):
                taken += 1
                if taken == 1:
                    assert await client.ask("anything") == {"number": 1}
        return taken

    assert talk("floods", asking) == 400


def test_a_slow_loop_stops_the_client() -> None:
    async def waiting(client: Client) -> None:
        await client.send("flood me")
        await asyncio.sleep(1)
        assert client._mailbox._weight < 8_000_000
        client.end_input()
        assert len([event async for event in client if isinstance(event, events.UnknownFrame)]) == 400

    talk("floods", waiting)


# Clients that fail


def test_a_client_that_dies_in_a_turn_is_an_error_behind_its_last_event(tmp_path: Path) -> None:
    found: list[Event] = []

    async def dying(client: Client) -> None:
        async for event in client.turn("hello"):
            found.append(event)  # noqa: PERF401  what came before the error counts

    with pytest.raises(ClientError) as caught:
        talk("dies", dying, capture=tmp_path)
    assert str(caught.value) == (
        r"Claude Code ended in the middle of a turn (exit code 70): Segmentation \x1b[31mfault"
    )
    assert caught.value.exit_code == 70
    assert texts(found) == ["I was about to"]
    assert isinstance(found[-1], events.UnknownFrame)
    (path,) = tmp_path.rglob("*.wire")
    lines = list(read_capture(path))
    assert lines[-1].mark == "="
    assert json.loads(lines[-1].raw) == {"exit_code": 70, "unterminated": True}
    assert [line.raw for line in lines if line.mark == "<"][-1] == b'{"type":"assist'


def test_a_client_that_ends_before_it_answers_says_so() -> None:
    async def asking(client: Client) -> None:
        with pytest.raises(ClientError, match=r"exit code 1.*unknown option '--include-partial-messages'"):
            await client.ask("initialize")
        with pytest.raises(ClientError, match="unknown option"):
            await client.send("anybody?")
        with pytest.raises(ClientError, match="unknown option"):
            await anext(client)
        assert [event async for event in client] == []
        assert "unknown option" in client.stderr

    talk("exits_at_once", asking)


def test_a_client_that_exits_at_once_fails_when_hooks_are_announced(tmp_path: Path) -> None:
    with pytest.raises(ClientError, match="unknown option"):
        talk("exits_at_once", one_turn, hooks={"Stop": [Hook(lambda _: None)]}, capture=tmp_path)
    assert len(list(tmp_path.glob("unknown/*.wire"))) == 1


def test_a_turn_that_failed_is_no_failure_of_the_client() -> None:
    async def turn(client: Client) -> list[Event]:
        found = await one_turn(client)
        assert [event async for event in client] == []
        assert client.exit_code == 1
        return found

    (result,) = (event for event in talk("fails_the_turn", turn) if isinstance(event, events.TurnResult))
    assert result.is_error


def test_garbage_is_passed_on_and_the_conversation_goes_on() -> None:
    found = talk("prints_garbage", one_turn)
    unknown = [event.record.raw for event in found if isinstance(event, events.UnknownFrame)]
    assert unknown[:3] == [b"npm WARN not json", b"\x00\xff\xfe", b"[1, 2]"]
    assert unknown[3].strip() == '{"text": "a\u2028b"}'.encode()
    assert texts(found) == ["You said hello"]


def test_a_line_over_a_megabyte_is_a_line() -> None:
    assert [len(text) for text in texts(talk("writes_a_long_line", one_turn))] == [3_000_000]


@posix_only
def test_a_client_that_hangs_on_close_is_killed_and_all_it_said_is_kept(tmp_path: Path) -> None:
    async def leaving(client: Client) -> Client:
        await one_turn(client)
        return client

    client = talk("hangs_on_close", leaving, capture=tmp_path)
    assert client.exit_code == -9
    (path,) = tmp_path.rglob("*.wire")
    assert client.capture is not None
    assert client.capture.path == path
    assert results([event for _, event in replay(path)]) == ["done"]


@posix_only
def test_a_client_that_never_reads_can_be_left() -> None:
    async def leaving(client: Client) -> Client:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.5):
                await client.send("x" * 1_000_000)
        return client

    assert talk("never_reads", leaving).exit_code == -15


def test_each_session_of_a_run_has_a_capture_of_its_own(tmp_path: Path) -> None:
    """Otherwise the first would lack what only a capture has, and the second would have it."""

    async def cleared(client: Client) -> None:
        for prompt in ("hello", "/clear"):
            assert [event async for event in client.turn(prompt)]

    talk("begins_another_session", cleared, capture=tmp_path)
    read = {path.parent.name: list(read_capture(path)) for path in tmp_path.rglob("*.wire")}
    said = {name: [decode(line.raw).type for line in lines if line.mark == "<"] for name, lines in read.items()}
    # The line that names the other session is in both: it was written before it was read.
    assert said == {
        SESSION: ["system", "assistant", "result", "conversation_reset", "system"],
        CLEARED: ["system", "result"],
    }
    assert not list(tmp_path.rglob("*.part"))


def test_a_client_that_is_left_in_the_middle_of_a_turn_does_not_go_on_with_it(tmp_path: Path) -> None:
    async def leaving(client: Client) -> Client:
        async for event in client.turn("hello"):
            if isinstance(event, events.Text):
                break
        return client

    client = talk("goes_on_at_the_end_of_input", leaving, capture=tmp_path)
    assert client.exit_code == 0
    assert results([event for _, event in replay(next(tmp_path.rglob("*.wire")))]) == ["stopped"]


def test_a_client_whose_input_was_ended_is_not_interrupted(tmp_path: Path) -> None:
    async def leaving(client: Client) -> None:
        await client.send("hello")
        async for event in client:
            if isinstance(event, events.Text):
                break
        client.end_input()

    talk("goes_on_at_the_end_of_input", leaving, capture=tmp_path)
    assert results([event for _, event in replay(next(tmp_path.rglob("*.wire")))]) == ["nobody stopped it"]


def test_a_closed_terminal_ends_us_unless_that_is_ignored() -> None:
    hangup = getattr(signal, "SIGHUP", None)
    assert (hangup in transport.ending_signals()) == (hangup is not None)
    if hangup is not None:
        before = signal.signal(hangup, signal.SIG_IGN)  # as `nohup` does
        try:
            assert transport.ending_signals() == [signal.SIGTERM]
        finally:
            signal.signal(hangup, before)


@posix_only
def test_closing_survives_being_cancelled() -> None:
    async def main() -> Client:
        client = await Client(fake("hangs_on_close"), patience=HURRY).__aenter__()
        await one_turn(client)
        closing = asyncio.create_task(client.close())
        await asyncio.sleep(0.05)
        closing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await closing
        return client

    assert asyncio.run(main()).exit_code == -9


@posix_only
def test_a_client_that_nobody_closes_ends_with_the_loop(tmp_path: Path) -> None:
    async def main() -> Client:
        patient = Patience(finish=3600, terminate=3600)  # with a loop that ends nobody waits
        client = await Client(fake("hangs_on_close"), patience=patient, capture=tmp_path).__aenter__()
        await one_turn(client)
        return client

    client = asyncio.run(main())
    assert client._transport is not None
    with pytest.raises(ChildProcessError):  # killed, and reaped by whoever watches children
        while os.waitpid(client._transport.pid, 0):
            pass
    assert results([event for _, event in replay(next(tmp_path.rglob("*.wire")))]) == ["done"]


def test_a_client_is_not_used_before_or_after_its_time() -> None:
    client = Client(fake("echoes"), patience=HURRY)

    async def main() -> None:
        with pytest.raises(BadInput, match="has not been started"):
            await client.send("too early")
        with pytest.raises(BadInput, match="has not been started"):
            async with asyncio.timeout(5):
                await anext(client)
        async with client:
            pass
        with pytest.raises(ClientError, match="has ended"):
            await client.send("too late")
        with pytest.raises(BadInput, match="runs once"):
            await client.__aenter__()

    asyncio.run(main())


def test_a_request_that_could_not_be_sent_is_told_once() -> None:
    complaints: list[Mapping[str, Any]] = []

    async def asking(client: Client) -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, said: complaints.append(said))
        long = "x" * 1_000_000  # more than a pipe holds
        asked = (client.ask("interrupt", text=long) for _ in range(3))
        told = await asyncio.gather(*asked, return_exceptions=True)
        assert {type(each) for each in told} == {ClientError}

    with suppress(ClientError):
        talk("exits_at_once", asking)
    gc.collect()
    # Up to 3.11.3 asyncio complains of its own pipe to a process that is gone.
    assert [said for said in complaints if not isinstance(said.get("exception"), BrokenPipeError)] == []


# Capture


def test_both_directions_are_captured_in_their_order(tmp_path: Path) -> None:
    async def turn(client: Client) -> list[Event]:
        return await one_turn(client)

    found = talk("echoes", turn, capture=tmp_path)
    (path,) = tmp_path.rglob("*.wire")
    assert path.parent.name == SESSION
    assert [line.mark for line in read_capture(path)] == ["=", ">", "<", "<", "<", "="]
    replayed = [event for _, event in replay(path)]
    assert [type(event) for event in replayed] == [type(event) for event in found]


@posix_only
def test_a_capture_that_cannot_be_written_is_told_and_the_talk_goes_on(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    found = talk("echoes", one_turn, capture=tmp_path / "file" / "wire")
    assert [event.what for event in found if isinstance(event, events.Trouble)] == ["capture"]
    assert texts(found) == ["You said hello"]


# Starting


@posix_only
def test_the_child_does_not_know_that_it_runs_inside_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDECODE", "1")
    monkeypatch.setenv("CLAUDE_CODE_ENTRYPOINT", "cli")

    async def asking(client: Client) -> dict[str, Any]:
        told: dict[str, Any] = await client.ask("how")
        return told

    told = talk("tells_how_it_was_started", asking, model="opus", arguments=["--max-turns", "3"])
    assert told["environment"] == {"CLAUDECODE": None, "CLAUDE_CODE_ENTRYPOINT": "reread"}
    assert told["group"], "Ctrl-C at the terminal is for us"
    assert told["arguments"][-4:] == ["--model", "opus", "--max-turns", "3"]


def test_the_callers_entry_point_wins() -> None:
    assert child_environment({"CLAUDE_CODE_ENTRYPOINT": "sdk-ts"}) == {"CLAUDE_CODE_ENTRYPOINT": "sdk-ts"}


USUAL = "-p --input-format stream-json --output-format stream-json --verbose --permission-prompt-tool stdio"


@pytest.mark.parametrize(
    ("start", "flags"),
    [
        (Start(), "--include-partial-messages"),
        (Start(partial=False), ""),
        (Start(partial=False, resume="abc", fork=True), "--fork-session --resume abc"),
        (Start(partial=False, continue_last=True), "--continue"),
        (Start(partial=False, session_id="abc"), "--session-id abc"),
        (Start(partial=False, max_thinking_tokens=0), "--max-thinking-tokens 0"),
        (Start(partial=False, permission_mode="plan"), "--permission-mode plan"),
    ],
)
def test_flags_are_those_of_the_protocol(start: Start, flags: str) -> None:
    assert start.flags() == f"{USUAL} {flags}".split()


def test_options_become_flags_that_no_value_can_break_out_of(tmp_path: Path) -> None:
    assert ClientOptions().arguments() == []
    options = ClientOptions(
        system_prompt="--dangerously-skip-permissions",
        append_system_prompt="Be brief.",
        tools=[],
        allowed_tools=["Read", "Bash(git log:*)"],
        disallowed_tools=["WebFetch"],
        max_turns=3,
        max_budget_usd=0.5,
        fallback_model="haiku",
        effort="low",
        add_dirs=[tmp_path, "/srv"],
        mcp_servers={"db": {"command": "db-server"}},
        strict_mcp=True,
        settings={"model": "opus"},
        setting_sources=["user", "project"],
        agents={"reviewer": {"description": "Reviews", "prompt": "Review."}},
        output_schema={"type": "object"},
        resume_session_at="11111111-2222-4333-8444-555555555555",
        betas=["one", "two"],
        flags={"debug-file": "/tmp/log", "brief": None},
    )
    assert options.arguments() == [
        "--system-prompt=--dangerously-skip-permissions",
        "--append-system-prompt=Be brief.",
        "--tools=",
        "--allowedTools=Read,Bash(git log:*)",
        "--disallowedTools=WebFetch",
        "--max-turns=3",
        "--max-budget-usd=0.5",
        "--fallback-model=haiku",
        "--effort=low",
        '--mcp-config={"mcpServers": {"db": {"command": "db-server"}}}',
        '--settings={"model": "opus"}',
        "--setting-sources=user,project",
        '--agents={"reviewer": {"description": "Reviews", "prompt": "Review."}}',
        '--json-schema={"type": "object"}',
        "--resume-session-at=11111111-2222-4333-8444-555555555555",
        "--betas=one,two",
        f"--add-dir={tmp_path}",
        "--add-dir=/srv",
        "--strict-mcp-config",
        "--debug-file=/tmp/log",
        "--brief",
    ]
    assert Start(options=options, arguments=["--x"]).flags()[-2:] == ["--brief", "--x"]
    assert ClientOptions(mcp_servers=tmp_path / "m.json").arguments() == [f"--mcp-config={tmp_path / 'm.json'}"]


def test_a_fork_of_nothing_is_refused() -> None:
    with pytest.raises(BadInput, match="a fork needs a session"):
        Start(fork=True).flags()


def test_a_client_that_is_not_installed_is_named_with_the_way_to_install_it(tmp_path: Path) -> None:
    with pytest.raises(ClientError, match=r"npm install -g @anthropic-ai/claude-code.*--claude PATH"):
        program(None, {"PATH": str(tmp_path)})
    with pytest.raises(ClientError, match=r"'nope' is not a program that can be run; Claude Code was.*npm install"):
        program("nope", {"PATH": str(tmp_path)})


def test_the_client_is_found_on_the_path_of_its_environment(tmp_path: Path) -> None:
    name = tmp_path / ("claude.cmd" if sys.platform == "win32" else "claude")
    name.touch(0o700)
    assert [Path(part).name.lower() for part in program(None, {**os.environ, "PATH": str(tmp_path)})] == [name.name]


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="not a folder to work in"):
        talk("echoes", one_turn, cwd=tmp_path / "none")


def test_the_library_offers_what_a_host_needs() -> None:
    assert reread.Stream().feed(b'{"type":"result","is_error":false}\n')
