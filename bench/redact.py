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
from reread.features.secrets.json_values import texts_of
from reread.features.secrets.redact import learn_lines, secrets_of_lines
from reread.records import decode, parse_or_none

WANTED = 50


def main(arguments: list[str]) -> None:
    with tempfile.TemporaryDirectory() as made:
        folder = Path(arguments[0]) if arguments else _recorded() or _generated(Path(made))
        sessions = [path.read_bytes().split(b"\n") for path in sorted(folder.rglob("*.jsonl"))]
    size = sum(len(line) + 1 for lines in sessions for line in lines) / 1e6
    print(f"{folder}: {len(sessions)} files, {size:.1f} MB")
    reading = _seconds(lambda: [decode(line) for lines in sessions for line in lines if line])
    looked = _seconds(lambda: [list(secrets_of_lines(Redactor(), lines)) for lines in sessions])
    learned = _seconds(lambda: [_learned(lines) for lines in sessions])
    taken = _seconds(lambda: [_redacted(lines) for lines in sessions])
    texts = [_texts(lines) for lines in sessions]
    letters = sum(len(text) for each in texts for text in each) / 1e6
    found = _seconds(lambda: [len(find(text)) for each in texts for text in each])
    for what, amount, seconds in (
        ("read", size, reading),
        ("lines: look for secrets", size, looked),
        ("lines: learn", size, learned),
        ("lines: learn and redact", size, taken),
        (f"{letters:.1f} M letters of texts: find", letters, found),
    ):
        print(f"  {what:32} {amount / seconds:7.1f} MB/s of processor time, {seconds / reading:5.1f}x reading")
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


def _texts(lines: Iterable[bytes]) -> list[str]:
    """The different texts of a session."""
    return list(dict.fromkeys(text for line in lines if line for text in texts_of(parse_or_none(line))))


def _learned(lines: list[bytes]) -> Redactor:
    redactor = Redactor()
    learn_lines(redactor, lines)
    return redactor


def _redacted(lines: list[bytes]) -> int:
    redactor = _learned(lines)
    return sum(len(redacted_line(redactor, line)) for line in lines)


if __name__ == "__main__":
    main(sys.argv[1:])
