"""How fast secrets are found and taken out, against reading the same sessions.

`python bench/redact.py [FOLDER]`: transcripts below a folder; by default recorded
ones beside the project, or made-up ones.
Processor time, not time by the clock: the machine is never quiet.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from time import process_time

from reread.features.secrets import Redactor, find, redacted_line
from reread.features.secrets.redact import learn_line, texts_of
from reread.records import decode, parse_or_none

WANTED = 15


def main(arguments: list[str]) -> None:
    with tempfile.TemporaryDirectory() as made:
        folder = Path(arguments[0]) if arguments else _recorded() or _generated(Path(made))
        sessions = [path.read_bytes().split(b"\n") for path in sorted(folder.rglob("*.jsonl"))]
    size = sum(len(line) + 1 for lines in sessions for line in lines) / 1e6
    print(f"{folder}: {len(sessions)} files, {size:.1f} MB")
    reading = _seconds(lambda: [decode(line) for lines in sessions for line in lines if line])
    found = _seconds(lambda: _find_each(sessions))
    learned = _seconds(lambda: [_learned(lines) for lines in sessions])
    taken = _seconds(lambda: [_redacted(lines) for lines in sessions])
    for what, seconds in (
        ("read", reading),
        ("find, text by text", found),
        ("learn", learned),
        ("learn and redact", taken),
    ):
        print(f"  {what:20} {size / seconds:7.1f} MB/s of processor time, {seconds / reading:5.1f}x reading")
    print(f"  wanted: {WANTED} MB/s")


def _recorded() -> Path | None:
    return next(
        (each for parent in Path(__file__).resolve().parents if (each := parent / "shared" / "corpus").is_dir()), None
    )


def _generated(folder: Path) -> Path:
    from generate import generate

    generate(folder, size=20_000_000)
    return folder


def _seconds(work: Callable[[], object]) -> float:
    started = process_time()
    work()
    return process_time() - started


def _find_each(sessions: Iterable[list[bytes]]) -> int:
    texts = (text for lines in sessions for line in lines if line for text in texts_of(parse_or_none(line)))
    return sum(len(find(text)) for text in texts)


def _learned(lines: list[bytes]) -> Redactor:
    redactor = Redactor()
    for line in lines:
        learn_line(redactor, line)
    return redactor


def _redacted(lines: list[bytes]) -> int:
    redactor = _learned(lines)
    return sum(len(redacted_line(redactor, line)) for line in lines)


if __name__ == "__main__":
    main(sys.argv[1:])
