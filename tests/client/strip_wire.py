"""Makes a fixture from a `.wire` capture: machine paths renamed, the client's own texts removed, all else kept.

A line that holds nothing to remove keeps its bytes, apart from the renamed paths.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from client.strip import SHORT, STRIPPED, renamed, renames, scrubbed

Json = dict[str, Any]

MARK, BODY = 28, 30
# What the answer to `initialize` says about the client's own commands and the user's account.
OFFERED = ("commands", "agents", "models", "account", "available_output_styles")
# A few names of a long list show as much as all of them.
LISTED = ("tools", "slash_commands", "terminal_slash_commands", "skills", "plugins", "capabilities")
KEPT_NAMES = 3
SOCKET_OR_TEMP = re.compile(r"/tmp/(cc-socks/\d+\.sock|claude-\d+)")
REMINDER = re.compile(r"<system-reminder>.*?</system-reminder>")


def strip_wire(source: Path, home: Path, work: Path) -> bytes:
    """The capture as the fixture holds it."""
    pairs = [*renames(home, work), (str(home.parent), "/home/ann")]
    lines = source.read_bytes().decode().split("\n")
    return "".join(strip_line(line, pairs) + "\n" for line in lines if line).encode()


def strip_line(line: str, pairs: list[tuple[str, str]]) -> str:
    """One line of the capture."""
    head, body = line[:BODY], SOCKET_OR_TEMP.sub(_plain_place, renamed(line[BODY:], pairs))
    if '"tool_result"' in body:
        body = REMINDER.sub(f"<system-reminder>{STRIPPED}</system-reminder>", body)
    if line[MARK] == "=":
        return head + _without_program(body)
    changed = strip_frame(json.loads(body)) if line[MARK] == "<" else None
    return head + (body if changed is None else json.dumps(changed, ensure_ascii=False, separators=(",", ":")))


def _plain_place(found: re.Match[str]) -> str:
    return "/tmp/cc-socks/1.sock" if found.group(1).startswith("cc-socks") else "/tmp/claude-1000"


def _without_program(body: str) -> str:
    facts = json.loads(body)
    return json.dumps({**facts, "claude": "claude"} if "claude" in facts else facts)


def strip_frame(frame: Json) -> Json | None:
    """The frame without the client's own texts, or None where there is nothing to remove."""
    kind = frame.get("type")
    if kind == "control_response":
        return _without_offers(frame)
    if kind == "system" and frame.get("subtype") == "init":
        return {key: value[:KEPT_NAMES] if key in LISTED else value for key, value in frame.items()}
    if kind == "user":
        return _without_prompts(frame)
    return None


def _without_offers(frame: Json) -> Json | None:
    inner = frame["response"].get("response") or {}
    if "commands" not in inner:
        return None
    kept = {key: scrubbed(value, key) if key in OFFERED else value for key, value in inner.items()}
    return {**frame, "response": {**frame["response"], "response": {**kept, "account": {}}}}


def _without_prompts(frame: Json) -> Json | None:
    content = frame["message"]["content"]
    if frame.get("isSynthetic"):
        stripped: Any = STRIPPED if isinstance(content, str) else [_without_text(block) for block in content]
    elif any(_is_long(part) for block in content if isinstance(block, dict) for part in _parts(block)):
        stripped = [
            {**block, "content": [_without_text(part) for part in _parts(block)]} if _parts(block) else block
            for block in content
        ]
    else:
        return None
    return {**frame, "message": {**frame["message"], "content": stripped}}


def _parts(block: Json) -> list[Json]:
    """The blocks inside a tool result: a subagent's report, with the client's instructions on how to use it."""
    inner = block.get("content")
    return [part for part in inner if isinstance(part, dict)] if isinstance(inner, list) else []


def _is_long(block: Json) -> bool:
    return len(block.get("text", "")) > SHORT


def _without_text(block: Json) -> Json:
    return {**block, "text": STRIPPED} if _is_long(block) else block
