"""What it costs to make sense of a stream, against decoding its lines, as ratios within one run.

    python bench/wire.py [--wire FILE ...] [--messages 400] [--rounds 10]

Captured streams are the recorded ones of the tests, or those named (`*.wire`, or the plain lines of `--output-format
stream-json`). The one that is made up is long and all deltas, as small as the client's own. CPU time, best of several
interleaved rounds.
"""

from __future__ import annotations

import argparse
import gc
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from reread.live.capture import read_capture
from reread.live.protocol import Stream
from reread.records import decode
from reread.sessions import SessionBuilder

SESSION = "5d1f3c2a-9b7e-4f60-8a11-2c3d4e5f6a7b"
RECORDED = Path(__file__).parents[1] / "tests" / "wire" / "captures"
CHUNK = 1 << 16
WANTED = 3.0
Json = dict[str, Any]


def main() -> None:
    options = _options()
    gc.set_threshold(100_000, 50, 100)  # as the command line does
    wires = options.wire or sorted(RECORDED.rglob("*.wire"))
    _report("captured", [line for path in wires for line in _captured(path)], options.rounds)
    _report("made up", list(made_up(options.messages)), options.rounds)
    print(f"wanted: a stream for at most {WANTED}x of decoding")


def _report(name: str, lines: list[bytes], rounds: int) -> None:
    megabytes = sum(map(len, lines)) / 1e6
    print(f"{name}: {megabytes:,.1f} MB, {len(lines):,} lines")
    best = _measure(lines, rounds)
    for step, seconds in best.items():
        print(f"  {step:32} {megabytes / seconds:7.0f} MB/s {seconds / best['reread.decode']:6.2f}x")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wire", type=Path, nargs="+", help="measure on these captures instead")
    parser.add_argument("--messages", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=10)
    return parser.parse_args()


def _captured(path: Path) -> list[bytes]:
    return [line.raw + b"\n" for line in read_capture(path) if line.mark in "<?"]


def _measure(lines: list[bytes], rounds: int) -> dict[str, float]:
    whole = b"".join(lines)
    chunks = [whole[start : start + CHUNK] for start in range(0, len(whole), CHUNK)]
    steps: dict[str, Callable[[], object]] = {
        "reread.decode": lambda: [decode(line) for line in lines],
        "Stream, line by line": lambda: _feed(Stream(), lines),
        "Stream, in chunks": lambda: _feed(Stream(), chunks),
        "Stream, and a session built": lambda: _feed(Stream(SessionBuilder()), lines),
    }
    best = dict.fromkeys(steps, float("inf"))
    for _ in range(rounds):
        for name, step in steps.items():
            began = time.process_time()
            step()
            best[name] = min(best[name], time.process_time() - began)
    return best


def _feed(stream: Stream, parts: list[bytes]) -> None:
    for part in parts:
        stream.feed(part)
    stream.close()


def made_up(messages: int) -> Iterator[bytes]:
    """A session of so many messages, each with its tool's result."""
    for number in range(messages):
        yield from map(_line, _message(number))
        result = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": "a line of output\n" * 120}
        yield _line({"type": "user", "uuid": f"u{number}", "message": {"role": "user", "content": [result]}})
    yield _line({"type": "result", "subtype": "success", "is_error": False, "result": "Done.", "usage": _USAGE})


_USAGE = {
    "input_tokens": 9,
    "cache_creation_input_tokens": 800,
    "cache_read_input_tokens": 40_000,
    "output_tokens": 900,
}
_THOUGHT, _SAID = "Let me look at that again, from the start. " * 20, "This is what I found in there. " * 20
_INPUT: Json = {"command": "grep -rn lantern src | head -50", "description": "Look for the lantern"}


def _message(number: int) -> Iterator[Json]:
    message_id = f"msg_{number:024}"
    start = {"id": message_id, "type": "message", "role": "assistant", "model": "claude-opus-4-8", "content": []}
    yield _event(type="message_start", message={**start, "usage": _USAGE})
    thinking = {"type": "thinking", "thinking": _THOUGHT, "signature": "c2ln" * 100}
    call = {"type": "tool_use", "id": f"toolu_{number}", "name": "Bash", "input": _INPUT}
    blocks: list[tuple[Json, Json, str, str, str]] = [
        (thinking, {"thinking": "", "signature": ""}, "thinking_delta", "thinking", _THOUGHT),
        ({"type": "text", "text": _SAID}, {"text": ""}, "text_delta", "text", _SAID),
        (call, {"input": {}}, "input_json_delta", "partial_json", json.dumps(_INPUT)),
    ]
    for index, (block, empty, kind, key, text) in enumerate(blocks):
        yield _event(type="content_block_start", index=index, content_block={**block, **empty})
        for at in range(0, len(text), 14):
            yield _event(type="content_block_delta", index=index, delta={"type": kind, key: text[at : at + 14]})
        yield {
            "type": "assistant",
            "message": {**start, "content": [block], "usage": _USAGE},
            "uuid": f"a{number}-{index}",
        }
        yield _event(type="content_block_stop", index=index)
    yield _event(type="message_delta", delta={"stop_reason": "tool_use", "stop_sequence": None}, usage=_USAGE)
    yield _event(type="message_stop")


def _event(**event: Any) -> Json:
    uuid = "0b7e4f60-8a11-4c3d-9e5f-6a7b5d1f3c2a"
    return {"type": "stream_event", "event": event, "parent_tool_use_id": None, "uuid": uuid}


def _line(frame: Json) -> bytes:
    return json.dumps({**frame, "session_id": SESSION}, separators=(",", ":")).encode() + b"\n"


if __name__ == "__main__":
    main()
