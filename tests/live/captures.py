"""Capture files, as `reread.live.capture` writes them, built by hand."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from live import frames
from live.frames import SESSION
from reread.testing import Transcript

START = datetime(2026, 1, 5, 9, 0, 1, tzinfo=UTC)
STEP = timedelta(milliseconds=250)


class Crossed(NamedTuple):
    mark: str
    raw: bytes


def sent(frame: bytes) -> Crossed:
    return Crossed(">", frame)


def a_capture(*parts: bytes | Crossed, start: datetime = START) -> bytes:
    """A line for each line of the parts, a quarter of a second apart; bytes alone came from the client."""
    crossed = [
        (mark, line)
        for mark, raw in (part if isinstance(part, Crossed) else Crossed("<", part) for part in parts)
        for line in raw.splitlines()
    ]
    crossed = [("=", b'{"claude": ["claude"]}'), *crossed, ("=", b'{"exit": 0}')]
    times = (start + number * STEP for number in range(len(crossed)))
    return b"".join(
        f"{time:%Y-%m-%dT%H:%M:%S.%fZ} {mark} ".encode() + line + b"\n"
        for time, (mark, line) in zip(times, crossed, strict=True)
    )


def keep(home: Path, content: bytes, *, session: str = SESSION, run: str = "20260105T090001-00000001") -> Path:
    """Puts a capture where a run that ended leaves it."""
    path = home / "wire" / session / f"{run}.wire"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def as_frames(transcript: Transcript) -> list[bytes]:
    """The lines of a transcript as its client sends them, with the same uuid."""
    return [_frame(json.loads(line)) for line in transcript.lines]


def as_agent_frames(transcript: Transcript, agent: str, call: str) -> list[bytes]:
    """The lines of an agent, which name the call that started it."""
    return [_frame(json.loads(line), call) for line in transcript.agent_lines[agent]]


def _frame(line: dict[str, Any], call: str | None = None) -> bytes:
    kept = {key: line[key] for key in ("type", "message", "uuid") if key in line}
    return json.dumps({**kept, "session_id": line["sessionId"], "parent_tool_use_id": call}).encode() + b"\n"


def a_prompt_sent(text: str, uuid: str | None = None) -> Crossed:
    named = {} if uuid is None else {"uuid": uuid}
    return sent(json.dumps({"type": "user", "session_id": "", "message": {"content": text}, **named}).encode())


def an_init(**fields: Any) -> bytes:
    about = {"cwd": "/home/ann/app", "model": "claude-opus-4-8", "claude_code_version": "2.1.197", **fields}
    return frames.frame("system", subtype="init", **about)


def an_interrupted_thought(id: str = "msg_taken", *words: str) -> bytes:  # noqa: A002
    """Thinking that streams until the person stops it; only the interrupt itself has a line in the transcript."""
    return frames.message_start(id, ttft_ms=120) + frames.thinks(0, *(words or ("A pangolin ", "crosses the road.")))


def an_answer(request: str, **answer: Any) -> Crossed:
    given = {"subtype": "success", "request_id": request, "response": answer}
    return sent(json.dumps({"type": "control_response", "response": given}).encode())


def a_result(dollars: float, **fields: Any) -> bytes:
    return frames.frame("result", subtype="success", is_error=False, total_cost_usd=dollars, **fields)
