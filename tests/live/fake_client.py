"""A stand-in for the client that speaks the protocol, well or badly. The first argument says how.

It runs as a program of its own: `python fake_client.py WAY [the client's own flags]`.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

SESSION = "0a0a0a0a-1111-4222-8333-444444444444"
Json = dict[str, Any]


def say(frame: Json) -> None:
    sys.stdout.buffer.write(json.dumps(frame).encode() + b"\n")
    sys.stdout.buffer.flush()


def complain(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def heard() -> Iterator[Json]:
    for line in sys.stdin.buffer:
        yield json.loads(line)


def init() -> None:
    say(
        {"type": "system", "subtype": "init", "session_id": SESSION, "model": "claude-opus-4-8", "cwd": str(Path.cwd())}
    )


def assistant(text: str, number: int = 0) -> None:
    message = {"id": f"msg_{number}", "role": "assistant", "content": [{"type": "text", "text": text}]}
    say({"type": "assistant", "session_id": SESSION, "uuid": f"uuid-{number}", "message": message})


def result(text: str = "done", **fields: Any) -> None:
    frame = {"type": "result", "subtype": "success", "is_error": False, "result": text, "session_id": SESSION}
    say({**frame, **fields})


def answer(request: Json, **response: Any) -> None:
    said = {"subtype": "success", "request_id": request["request_id"], "response": response}
    say({"type": "control_response", "response": said})


def refuse(request: Json, error: str) -> None:
    said = {"subtype": "error", "request_id": request["request_id"], "error": error}
    say({"type": "control_response", "response": said})


def ask(request_id: str, subtype: str, **fields: Any) -> None:
    say({"type": "control_request", "request_id": request_id, "request": {"subtype": subtype, **fields}})


def prompt_text(frame: Json) -> str:
    content = frame["message"]["content"]
    return content if isinstance(content, str) else " ".join(block["type"] for block in content)


def echoes() -> None:
    """Repeats every prompt, and answers every question with its own fields."""
    init()
    for number, frame in enumerate(heard()):
        if frame["type"] == "user":
            assistant(f"You said {prompt_text(frame)}", number)
            result()
        elif frame["type"] == "control_request" and frame["request"]["subtype"] == "nonsense":
            refuse(frame, "Unsupported control request subtype: nonsense")
        elif frame["type"] == "control_request":
            answer(frame, **frame["request"])


def judges() -> None:
    """Says no to the first of what it is asked about, and yes to the second."""
    init()
    for frame in heard():
        if frame["type"] == "user":
            assistant("1. no\n2: Yes, it was.")
            result()
        elif frame["type"] == "control_request":
            answer(frame, **frame["request"])


def tells_how_it_was_started() -> None:
    init()
    for frame in heard():
        seen = {name: os.environ.get(name) for name in ("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT")}
        if frame["type"] == "control_request":
            answer(frame, arguments=sys.argv[2:], environment=seen, group=os.getpgid(0) == os.getpid())


def dies() -> None:
    """In the middle of an answer, and of a line."""
    init()
    next(heard())
    assistant("I was about to")
    sys.stdout.write('{"type":"assist')
    sys.stdout.flush()
    complain("Segmentation \x1b[31mfault")
    sys.exit(70)


def exits_at_once() -> None:
    complain("error: unknown option '--include-partial-messages'")
    sys.exit(1)


def can_be_left_anywhere() -> None:
    """At the prompt `all`, a whole turn at once; at a number, so many of its frames, then nothing until interrupted; at
    `background`, a task that goes on until it is stopped."""
    init()
    task = {"session_id": SESSION, "task_id": "t1", "tool_use_id": "toolu_1"}
    is_open = False
    for number, frame in enumerate(heard()):
        if frame["type"] == "control_request":
            answer(frame)
            if frame["request"]["subtype"] == "stop_task":
                say({"type": "system", "subtype": "task_notification", "status": "stopped", **task})
            elif is_open:
                is_open = False
                result("interrupted", subtype="error_during_execution", is_error=True)
        elif prompt_text(frame) == "background":
            say({"type": "system", "subtype": "task_started", "description": "Look", **task})
            result("started")
        elif prompt_text(frame) in ("two", "three"):
            assistant(f"You said {prompt_text(frame)}", number)
            result()
        else:
            frames = list(_a_turn(number))
            is_open = prompt_text(frame) != "all"
            for each in frames[: int(prompt_text(frame))] if is_open else frames:
                say(each)
            if not is_open:
                result()


def _a_turn(number: int) -> Iterator[Json]:
    yield {"type": "system", "subtype": "status", "status": "requesting", "session_id": SESSION}
    for event in (
        {"type": "message_start", "message": {"id": f"msg_{number}", "role": "assistant", "model": "claude-opus-4-8"}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "fir"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "st"}},
    ):
        yield {"type": "stream_event", "session_id": SESSION, "event": event}
    message = {"id": f"msg_{number}", "role": "assistant", "content": [{"type": "text", "text": "first"}]}
    yield {"type": "assistant", "session_id": SESSION, "uuid": f"uuid-{number}", "message": message}
    yield {"type": "system", "subtype": "status", "status": None, "session_id": SESSION}


def fails_the_turn() -> None:
    init()
    next(heard())
    result("No such session", subtype="error_during_execution", is_error=True)
    sys.exit(1)


def hangs_on_close() -> None:
    """Ignores the end of its input, and being asked to end."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    echoes()
    while True:
        time.sleep(0.05)


def leaves_somebody_behind() -> None:
    """Ends, but what it started holds its output open."""
    init()
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(20)"], start_new_session=True)
    complain("last words")


def prints_garbage() -> None:
    sys.stdout.buffer.write(b"npm WARN not json\n\x00\xff\xfe\n[1, 2]\n\n" + '{"text": "a\u2028b"}\r\n'.encode())
    echoes()


def writes_a_long_line() -> None:
    init()
    next(heard())
    assistant("x" * 3_000_000)
    result()


def floods() -> None:
    """Far more than anybody reads; then waits for a question, whose answer stands behind all of it."""
    init()
    for number, frame in enumerate(heard()):
        if frame["type"] == "user":
            for _ in range(400):
                sys.stdout.buffer.write(b'{"type":"flood","fill":"' + b"f" * 50_000 + b'"}\n')
            result()
        else:
            answer(frame, number=number)


def never_reads() -> None:
    init()
    while True:
        time.sleep(0.05)


def answers_out_of_order() -> None:
    init()
    frames = heard()
    first, second, third = (next(frames) for _ in range(3))
    for request in (third, first, second):
        answer(request, subtype=request["request"]["subtype"])
    list(frames)


def asks_what_nobody_knows() -> None:
    """Tells what it was answered."""
    init()
    frames = heard()
    next(frames)
    ask("q1", "elicitation", wanted="a name")
    say({"type": "control_request", "request_id": "q2", "request": "not even an object"})
    answers = [next(frames)["response"] for _ in range(2)]
    for given in sorted(answers, key=lambda each: str(each["request_id"])):
        assistant(f"{given['request_id']} {given['subtype']} {given['error']}", number=int(given["request_id"][1]))
    result()


def asks_permission() -> None:
    init()
    frames = heard()
    next(frames)
    ask("p1", "can_use_tool", tool_name="Bash", tool_use_id="toolu_1", input={"command": "ls"})
    assistant(json.dumps(next(frames)["response"]["response"]))
    result()
    list(frames)


def uses_the_hosts_tools() -> None:
    """Asks what the prompt holds, message by message, and says what it was answered."""
    init()
    frames = heard()
    for number, message in enumerate(json.loads(prompt_text(next(frames)))):
        ask(f"t{number}", "mcp_message", **message)
        assistant(json.dumps(next(frames)["response"]), number)
    result()
    list(frames)


CLEARED = "0b0b0b0b-1111-4222-8333-444444444444"


def begins_another_session() -> None:
    """At `/clear`, as 2.1.325 does."""
    init()
    frames = heard()
    next(frames)
    assistant("before")
    result()
    next(frames)
    say({"type": "conversation_reset", "session_id": SESSION, "new_conversation_id": CLEARED})
    say({"type": "system", "subtype": "init", "session_id": CLEARED, "cwd": "/tmp"})
    result(session_id=CLEARED)
    list(frames)


def goes_on_at_the_end_of_input() -> None:
    """Works until it is interrupted; when its input just ends, it goes on by itself, as the real one does."""
    init()
    frames = heard()
    next(frames)
    assistant("at work")
    for frame in frames:
        if frame["type"] == "control_request" and frame["request"]["subtype"] == "interrupt":
            answer(frame)
            result("stopped", subtype="error_during_execution", is_error=True)
            return
    assistant("at work still", 1)
    result("nobody stopped it")


HOSTILE = "</textarea><script>alert(1)</script>\x1b[2J\u202e"


def asks_several() -> None:
    """An edit, a question and a command at once; the command is not asked about any more when the edit is answered."""
    init()
    frames = heard()
    next(frames)
    for number, tool in enumerate(("Write", "AskUserQuestion", "Bash"), 1):
        used = {"type": "tool_use", "id": f"toolu_{number}", "name": tool, "input": {}}
        message = {"id": "msg_0", "role": "assistant", "content": [used]}
        say({"type": "assistant", "session_id": SESSION, "uuid": f"call-{number}", "message": message})
    remember: list[Json] = [{"type": "setMode", "mode": "acceptEdits", "destination": "session"}]
    remember += [{"type": "addRules", "behavior": "allow", "rules": [{"toolName": "Write"}], "destination": "session"}]
    written = {"file_path": str(Path.cwd() / "poem.txt"), "content": f"a rose\n{HOSTILE}\n"}
    ask("p1", "can_use_tool", tool_name="Write", tool_use_id="toolu_1", input=written, permission_suggestions=remember)
    options = [{"label": "Red", "description": HOSTILE}, {"label": "Blue"}, {"label": HOSTILE}]
    both = [{"question": "Which colours?", "header": HOSTILE, "multiSelect": True, "options": options}]
    both += [{"question": "How large?", "multiSelect": False, "options": [{"label": "Large"}, {"label": "Small"}]}]
    ask("p2", "can_use_tool", tool_name="AskUserQuestion", tool_use_id="toolu_2", input={"questions": both})
    ask("p3", "can_use_tool", tool_name="Bash", tool_use_id="toolu_3", input={"command": HOSTILE})
    left = {"p1", "p2"}
    for frame in frames:
        given = frame.get("response") or {}
        name = str(given.get("request_id"))
        if frame["type"] == "control_response" and name in left:
            left.discard(name)
            assistant(f"{name} {json.dumps(given['response'])}", int(name[1]))
            if name == "p1":
                say({"type": "control_cancel_request", "request_id": "p3"})
            if not left:
                result()


def thinks_aloud() -> None:
    """In pieces: two at the first prompt, the rest at the second."""
    init()
    frames = heard()
    next(frames)
    for event in (
        {"type": "message_start", "message": {"id": "msg_9", "role": "assistant", "model": "claude-opus-4-8"}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}},
        *_thoughts("a wick, ", f"perhaps{HOSTILE}"),
    ):
        say({"type": "stream_event", "session_id": SESSION, "event": event})
    next(frames)
    for event in _thoughts(" or wind"):
        say({"type": "stream_event", "session_id": SESSION, "event": event})
    whole = {"type": "thinking", "thinking": f"a wick, perhaps{HOSTILE} or wind", "signature": "s"}
    message = {"id": "msg_9", "role": "assistant", "content": [whole]}
    say({"type": "assistant", "session_id": SESSION, "uuid": "uuid-9", "message": message})
    result()
    list(frames)


def _thoughts(*texts: str) -> list[Json]:
    return [
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": text}}
        for text in texts
    ]


def calls_hooks() -> None:
    frames = heard()
    initialize = next(frames)
    hooks = initialize["request"]["hooks"]
    answer(initialize, pid=os.getpid())
    init()
    next(frames)
    for number, wanted in enumerate(hooks["PreToolUse"]):
        name = wanted["hookCallbackIds"][0]
        ask(f"h{number}", "hook_callback", callback_id=name, input={"tool_name": wanted["matcher"]})
        assistant(json.dumps(next(frames)["response"]), number)
    result()
    list(frames)


def works_in_the_background() -> None:
    """The prompt is answered first, and the agent's news later."""
    init()
    frames = heard()
    next(frames)
    task = {"session_id": SESSION, "task_id": "t1", "tool_use_id": "toolu_1"}
    say({"type": "system", "subtype": "task_started", "description": "Look", **task})
    result("started")
    time.sleep(0.1)
    say({"type": "system", "subtype": "task_notification", "status": "completed", **task})
    say({"type": "system", "subtype": "status", "status": "requesting", "session_id": SESSION})
    time.sleep(0.1)
    result("the agent found it", origin={"kind": "task-notification"})
    list(frames)


WAYS: dict[str, Callable[[], None]] = {
    way.__name__: way
    for way in (
        answers_out_of_order,
        asks_permission,
        asks_several,
        asks_what_nobody_knows,
        begins_another_session,
        calls_hooks,
        dies,
        echoes,
        exits_at_once,
        judges,
        can_be_left_anywhere,
        fails_the_turn,
        floods,
        goes_on_at_the_end_of_input,
        hangs_on_close,
        leaves_somebody_behind,
        never_reads,
        prints_garbage,
        tells_how_it_was_started,
        thinks_aloud,
        uses_the_hosts_tools,
        works_in_the_background,
        writes_a_long_line,
    )
}

if __name__ == "__main__":
    WAYS[sys.argv[1]]()
