"""Captures the conversations with real clients and makes fixtures of them.

    python tests/client/capture_wire.py 2.1.325 [NAME ...]      into tests/wire/captures/VERSION
    python tests/client/capture_wire.py 2.1.325 --keep FOLDER    the raw captures too

Prints what the stream and the transcript of a run do not have in common; `tests/wire/README.md` says why.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from client.conversations import CONVERSATIONS, Conversation, captured_from, session_named
from client.drive import Json, talking
from client.expect_wire import Reading, differences, expectation, read_wire, read_written, wire_lines
from client.install import claude_binary
from client.run import Scratch
from client.strip_wire import strip_wire

CAPTURES = Path(__file__).parents[1] / "wire" / "captures"


def hold(conversation: Conversation, scratch: Scratch, wire: Path, earlier: list[Json]) -> float:
    """Hold a conversation; gives the seconds that the client ran."""
    arguments = [session_named(part, earlier) for part in (*conversation.base, *conversation.arguments)]
    command = [str(scratch.client), *arguments]
    with talking(command, scratch.work, scratch.environment, wire, conversation.answer) as talk:
        for step in conversation.steps:
            step(talk)
    return talk.seconds


def capture(name: str, version: str, folder: Path) -> tuple[Path, float, list[str]]:
    """Capture one conversation; gives the raw file, the seconds, and what the transcript tells differently."""
    raw = folder / f"{name}.wire"
    conversation = CONVERSATIONS[name]
    with Scratch(claude_binary(version), folder / name) as scratch:
        earlier: list[Json] = scratch.run(conversation.earlier).lines if conversation.earlier else []
        before = read_written(scratch.projects)
        seconds = hold(conversation, scratch, raw, earlier)
        reading = read_wire(wire_lines(raw))
        told = differences(reading, before, read_written(scratch.projects))
        target = CAPTURES / version / f"{name}.wire"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(strip_wire(raw, scratch.home, scratch.work))
    write_expectation(target, read_wire(wire_lines(target)))
    return raw, seconds, told


def write_expectation(wire: Path, reading: Reading) -> None:
    """The file beside a capture."""
    text = json.dumps(expectation(reading), ensure_ascii=False, indent=1)
    wire.with_suffix(".json").write_text(text + "\n", encoding="utf-8")


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("version")
    parser.add_argument("names", nargs="*", help="conversations; all that are kept of this client if none is named")
    parser.add_argument("--keep", type=Path, help="where to keep the raw captures")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name in args.names or captured_from(args.version):
            raw, seconds, told = capture(name, args.version, Path(folder))
            sys.stdout.write(f"{name:20} {seconds:5.1f} s {raw.stat().st_size:8,} bytes\n")
            sys.stdout.writelines(f"    {line}\n" for line in told)
            sys.stdout.flush()
            if args.keep:
                args.keep.mkdir(parents=True, exist_ok=True)
                shutil.copy(raw, args.keep)
    return 0


if __name__ == "__main__":
    sys.exit(main())
