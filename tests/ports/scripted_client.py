"""A stand-in for the client that acts out the prompts of docs/coming-from-the-sdk.md, in a program of its own."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from live.fake_client import SESSION, answer, ask, assistant, heard, init, prompt_text, result, say

Json = dict[str, Any]
FRAMES = heard()
HOOKS: Json = {}


def reply(text: str, **fields: Any) -> None:
    reply.number += 1  # type: ignore[attr-defined]
    assistant(text, reply.number)  # type: ignore[attr-defined]
    result(text, total_cost_usd=0.0125, num_turns=1, **fields)


reply.number = 0  # type: ignore[attr-defined]


def answered() -> Any:
    """What the host answers to the question just asked."""
    return next(FRAMES)["response"].get("response")


def uses_bash(command: str) -> None:
    """A call as the real client makes it: first the hooks, then the permission, then the tool."""
    given: Json = {"command": command}
    for matcher in HOOKS.get("PreToolUse", []):
        asked = {"session_id": SESSION, "cwd": "/", "hook_event_name": "PreToolUse", "tool_name": "Bash"}
        ask("h1", "hook_callback", callback_id=matcher["hookCallbackIds"][0], input={**asked, "tool_input": given})
        said = (answered() or {}).get("hookSpecificOutput", {})
        if said.get("permissionDecision") == "deny":
            return reply(f"I was not allowed to: {said['permissionDecisionReason']}")
    if any(each.startswith("--allowedTools=") and "Bash" in each for each in sys.argv):
        return reply(f"I ran {command}")
    ask("p1", "can_use_tool", tool_name="Bash", tool_use_id="toolu_1", input=given)
    decided = answered()
    is_allowed = decided["behavior"] == "allow"
    reply(
        f"I ran {decided['updatedInput']['command']}" if is_allowed else f"I was not allowed to: {decided['message']}"
    )
    return None


def calculates() -> None:
    told = []
    for server, name, given in (("sums", "add", {"a": 15, "b": 27}), ("roots", "square_root", {"n": 16})):
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": given}}
        ask("m1", "mcp_message", server_name=server, message=message)
        told.append(answered()["mcp_response"]["result"]["content"][0]["text"])
    reply("; ".join(told))


def counts() -> None:
    """Until it is interrupted, as it would take all day."""
    assistant("1 2 3", 99)
    for frame in FRAMES:
        if frame["type"] == "control_request":
            answer(frame)
            return result("", subtype="error_during_execution", is_error=True)
    return None


def streams() -> None:
    events: list[Json] = [
        {"type": "message_start", "message": {"id": "msg_50", "role": "assistant", "model": "claude-opus-4-8"}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    ]
    for word in ("Once ", "upon ", "a time."):
        delta = {"type": "text_delta", "text": word}
        events.append({"type": "content_block_delta", "index": 0, "delta": delta})
    for event in events:
        say({"type": "stream_event", "session_id": SESSION, "event": event})
    assistant("Once upon a time.", 50)
    result()


def describes() -> None:
    assert any(each.startswith("--json-schema=") for each in sys.argv)
    reply("{...}", structured_output={"name": "reread", "languages": ["Python"]})


ACTS: dict[str, Callable[[], None]] = {
    "What is 2 + 2?": lambda: reply("4"),
    "Say hello like a pirate.": lambda: reply(
        next(each.partition("=")[2] for each in sys.argv if each.startswith("--system-prompt"))
    ),
    "Which files are here?": lambda: uses_bash("ls"),
    "What is the capital of France?": lambda: reply("Paris"),
    "And how many people live there?": lambda: reply("Two million"),
    "Count to a million.": counts,
    "Delete everything.": lambda: uses_bash("rm -rf build"),
    "Calculate.": calculates,
    "Tell a story.": streams,
    "Describe this project.": describes,
}


def main() -> None:
    init()
    for frame in FRAMES:
        if frame["type"] == "control_request":
            HOOKS.update(frame["request"].get("hooks") or {})
            answer(frame)
        else:
            ACTS[prompt_text(frame)]()


if __name__ == "__main__":
    main()
