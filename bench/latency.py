"""How long the first thought takes from the client to the terminal, by time stamps of one run.

    python bench/latency.py [--deltas 20]

A stand-in for the client writes the time into each fragment of its thinking; the terminal notes when it shows it.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

WANTED_MS = 50.0
_CLIENT = """#!{python}
import json, sys, time

def say(frame):
    sys.stdout.write(json.dumps({{**frame, "session_id": "5d1f3c2a-9b7e-4f60-8a11-2c3d4e5f6a7b"}}) + "\\n")
    sys.stdout.flush()

def event(**fields):
    say({{"type": "stream_event", "event": fields, "parent_tool_use_id": None}})

sys.stdin.readline()
say({{"type": "system", "subtype": "init", "model": "none", "cwd": "/", "tools": []}})
event(type="message_start", message={{"id": "msg_1", "model": "none", "content": []}})
event(type="content_block_start", index=0, content_block={{"type": "thinking", "thinking": "", "signature": ""}})
for _ in range({deltas}):
    time.sleep(0.1)
    event(type="content_block_delta", index=0, delta={{"type": "thinking_delta", "thinking": f"T{{time.time_ns()}}T "}})
event(type="message_delta", delta={{"stop_reason": "end_turn"}}, usage={{"output_tokens": 1}})
event(type="message_stop")
say({{"type": "result", "subtype": "success", "is_error": False, "result": ""}})
sys.stdin.read()
"""
_STAMP = re.compile(rb"T(\d{19})T")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--deltas", type=int, default=20)
    delays = measure(parser.parse_args().deltas)
    print(f"from the client's write to the terminal, {len(delays)} fragments of thinking:")
    print(f"  first {delays[0]:.1f} ms, median {sorted(delays)[len(delays) // 2]:.1f} ms, longest {max(delays):.1f} ms")
    print(f"wanted: the first within {WANTED_MS:.0f} ms")


def measure(deltas: int) -> list[float]:
    """Milliseconds from the writing of each fragment to its showing."""
    import pty  # not on Windows

    ours, theirs = pty.openpty()
    with tempfile.TemporaryDirectory() as folder:
        client = Path(folder) / "client"
        client.write_text(_CLIENT.format(python=sys.executable, deltas=deltas))
        client.chmod(0o700)
        home = f"{folder}/archive"
        command = [sys.executable, "-m", "reread", "run", "hello", "--claude", str(client), "--home", home]
        environment = {**os.environ, "HOME": folder, "COLUMNS": "120", "TERM": "xterm"}
        process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
        os.close(theirs)
        try:
            return _delays(ours, deltas)
        finally:
            process.terminate()
            process.wait()
            os.close(ours)


def _delays(terminal: int, deltas: int) -> list[float]:
    shown = b""
    delays: list[float] = []
    while len(delays) < deltas:
        shown += os.read(terminal, 65536)
        now = time.time_ns()
        stamps = _STAMP.findall(shown)
        delays += [(now - int(stamp)) / 1e6 for stamp in stamps[len(delays) :]]
    return delays


if __name__ == "__main__":
    main()
