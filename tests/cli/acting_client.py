"""A stand-in for the client, in a program of its own: the prompt says what it does."""

from __future__ import annotations

import json
import os
import select
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from live import frames

Json = dict[str, Any]
SUGGESTED = [
    {
        "type": "addRules",
        "rules": [{"toolName": "Bash", "ruleContent": "touch:*"}],
        "behavior": "allow",
        "destination": "localSettings",
    }
]
QUESTIONS = [
    {
        "question": "Which colour?",
        "header": "Colour",
        "multiSelect": False,
        "options": [{"label": "Red", "description": "Warm"}, {"label": "Blue", "description": "Cool"}],
    },
    {
        "question": "Which days?",
        "header": "Days",
        "multiSelect": True,
        "options": [{"label": day, "description": ""} for day in ("Monday", "Tuesday", "Friday")],
    },
]


def say(raw: bytes) -> None:
    os.write(1, raw)


HOOKS: Json = {}
"""What `initialize` announced."""


class Heard:
    """Frames from the host, as they come."""

    def __init__(self) -> None:
        self._rest = b""

    def next(self, seconds: float | None = None) -> Json | None:
        """None when none came in time; ends the program at the end of the input."""
        while b"\n" not in self._rest:
            if seconds is not None and not select.select([0], [], [], seconds)[0]:
                return None
            chunk = os.read(0, 65536)
            if not chunk:
                sys.exit(0)
            self._rest += chunk
        line, _, self._rest = self._rest.partition(b"\n")
        frame: Json = json.loads(line)
        if frame["type"] != "control_request" or frame["request"]["subtype"] not in ("initialize", "get_context_usage"):
            return frame
        HOOKS.update(frame["request"].get("hooks") or {})
        said = {
            "subtype": "success",
            "request_id": frame["request_id"],
            "response": {"commands": [{"name": "compact"}]},
        }
        say(frames.frame("control_response", response=said))
        return self.next(seconds)

    def must(self) -> Json:
        frame = self.next()
        assert frame is not None
        return frame


HEARD = Heard()


def result(text: str = "done", **fields: Any) -> None:
    said = {"subtype": "success", "is_error": False, "result": text, "duration_ms": 1200, "num_turns": 1}
    say(frames.frame("result", **{**said, "total_cost_usd": 0.0125, "usage": frames.FINAL, **fields}))


def words(text: str, message: str = "m9") -> None:
    say(frames.message_start(message) + frames.says(0, text) + frames.assistant(message, frames.text(text)))
    say(frames.block_stop(0) + frames.message_end())


def calls(name: str, number: int = 1, **given: Any) -> None:
    id = f"toolu_{number}"  # noqa: A001
    say(frames.message_start(f"c{number}") + frames.calls(0, id, name, json.dumps(given)))
    say(frames.assistant(f"c{number}", frames.tool(id, name, **given)))


def asks(name: str, number: int = 1, **given: Any) -> None:
    suggestions = SUGGESTED if name == "Bash" else []
    say(frames.asks(f"r{number}", name, tool_use_id=f"toolu_{number}", input=given, permission_suggestions=suggestions))


def tells(answer: Json, number: int = 1) -> None:
    """What was answered, as the result of the call, so that a test sees it."""
    told = json.dumps(answer["response"]["response"])
    block = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": f"answered {told}", "is_error": False}
    say(frames.user([block]))


def hello() -> None:
    say(frames.message_start("m1") + frames.thinks(0, "Let me ", "think.") + frames.says(1, "Hello ", "there."))
    say(frames.assistant("m1", frames.thinking("Let me think.")) + frames.assistant("m1", frames.text("Hello there.")))
    say(frames.message_end())
    result()


def wants(name: str, **given: Any) -> Callable[[], None]:
    def ask() -> None:
        calls(name, **given)
        asks(name, **given)
        tells(HEARD.must())
        result()

    return ask


def wide() -> None:
    """Suggests more than the command needs."""
    calls("Bash", command="touch a")
    folder = {"type": "addDirectories", "directories": ["/srv"], "destination": "session"}
    mode = {"type": "setMode", "mode": "acceptEdits", "destination": "session"}
    suggested = [folder, *SUGGESTED, mode]
    given = {"tool_use_id": "toolu_1", "input": {"command": "touch a"}, "permission_suggestions": suggested}
    say(frames.asks("r1", "Bash", **given))
    tells(HEARD.must())
    result()


def plan_without_text(path: str = "") -> None:
    """As 2.1.325 asks: the plan is in its file, or in what was said."""
    words("# Plan\n\n1. Say it")
    if path:
        calls("Edit", 1, file_path=path, old_string="a", new_string="b")
        say(frames.user([{"type": "tool_result", "tool_use_id": "toolu_1", "content": "ok", "is_error": False}]))
    calls("ExitPlanMode", 2)
    asks("ExitPlanMode", 2)
    tells(HEARD.must(), 2)
    result()


def two() -> None:
    for number in (1, 2):
        calls("Bash", number, command=f"touch {number}")
        asks("Bash", number, command=f"touch {number}")
    for _ in (1, 2):
        answer = HEARD.must()
        tells(answer, int(answer["response"]["request_id"][1:]))
    result()


def void() -> None:
    for number in (1, 2):
        calls("Bash", number, command=f"touch {number}")
        asks("Bash", number, command=f"touch {number}")
    HEARD.next(0.5)
    say(frames.frame("control_cancel_request", request_id="r1"))
    tells(HEARD.must(), 2)
    result()


def slow() -> None:
    """Thinks until it is interrupted."""
    say(frames.message_start("m1") + frames.thinks(0, "Thinking "))
    while (frame := HEARD.next(0.05)) is None:
        say(frames.delta(0, type="thinking_delta", thinking="on "))
    assert frame["request"]["subtype"] == "interrupt"
    say(frames.frame("control_response", response={"subtype": "success", "request_id": frame["request_id"]}))
    say(frames.user([{"type": "text", "text": "[Request interrupted by user]"}]))
    result("", subtype="error_during_execution", is_error=True, terminal_reason="aborted_streaming")


def stuck() -> None:
    """Thinks, whatever it is told."""
    say(frames.message_start("m1") + frames.thinks(0, "Thinking "))
    while True:
        HEARD.next(0.05)
        say(frames.delta(0, type="thinking_delta", thinking="on "))


def steer() -> None:
    words("ready")
    result()
    while (frame := HEARD.must())["type"] == "control_request":
        said = {"subtype": "success", "request_id": frame["request_id"], "response": {}}
        say(frames.frame("control_response", response=said))
        words(json.dumps(frame["request"]))
    result()


def fail() -> None:
    result("API Error: 529 Overloaded", is_error=True)


def die() -> None:
    sys.stderr.write("something broke\n")
    sys.exit(3)


def arguments() -> None:
    words(json.dumps({"arguments": sys.argv[1:], "cwd": os.getcwd(), "nested": os.environ.get("CLAUDECODE")}))  # noqa: PTH109
    result()


def spends() -> None:
    """Three responses of a dollar each, with a tool after each; a hook may end it."""
    usage = {**frames.FINAL, "input_tokens": 200_000}
    for number in (1, 2, 3):
        say(frames.message_start(f"s{number}") + frames.calls(0, f"toolu_{number}", "Bash", '{"command": "ls"}'))
        say(frames.assistant(f"s{number}", frames.tool(f"toolu_{number}", "Bash", command="ls")))
        say(frames.message_end("tool_use", usage))
        for matcher in HOOKS.get("PreToolUse", []):
            hook = {"subtype": "hook_callback", "callback_id": matcher["hookCallbackIds"][0], "input": {}}
            say(frames.frame("control_request", request_id=f"h{number}", request=hook))
            said = HEARD.must()["response"]["response"]
            if said.get("continue") is False:
                words(f"stopped: {said['stopReason']}")
                return result("", terminal_reason="hook_stopped", total_cost_usd=1.0 * number)
        block = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": f"ran {number}", "is_error": False}
        say(frames.user([block]))
    return result("spent", total_cost_usd=3.0)


ACTS: dict[str, Callable[[], None]] = {
    "hello": hello,
    "bash": wants("Bash", command="touch a", description="Makes a"),
    "edit": wants("Edit", file_path="/tmp/a.py", old_string="one", new_string="two"),
    "ask": wants("AskUserQuestion", questions=QUESTIONS),
    "plan": wants("ExitPlanMode", plan="# Plan\n\n1. Do it"),
    "plan-said": plan_without_text,
    "wide": wide,
    "two": two,
    "void": void,
    "slow": slow,
    "stuck": stuck,
    "spends": spends,
    "steer": steer,
    "fail": fail,
    "die": die,
    "arguments": arguments,
}


def prompts() -> Iterator[str]:
    while True:
        frame = HEARD.must()
        content = frame["message"]["content"]
        yield content if isinstance(content, str) else content[0]["text"]


def main() -> None:
    for number, prompt in enumerate(prompts()):
        if number == 0:
            say(frames.frame("system", subtype="init", model="claude-opus-4-8", cwd="/tmp", claude_code_version="2.1"))
        if prompt in ACTS:
            ACTS[prompt]()
        elif prompt.startswith("plan-file "):
            plan_without_text(prompt.removeprefix("plan-file "))
        else:
            words(f"You said {prompt}", f"m{number}")
            result()


if __name__ == "__main__":
    main()
