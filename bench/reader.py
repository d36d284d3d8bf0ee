"""How fast lines become records and sessions, as ratios within one run.

    python bench/reader.py [--bytes 200MB] [--tree FOLDER] [--rounds 3]

The yardstick is the loop anybody would write: msgspec over the same lines, into plain values and into our own types.
Every figure is the best of several interleaved rounds, because the machine is never quiet.
"""

from __future__ import annotations

import argparse
import gc
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from generate import byte_count
from reread import sources
from reread.records import decode
from reread.records.decoder import AnyRecord
from reread.records.lenient import FAILURES
from reread.sessions import SessionBuilder
from reread.sources import FileKind

GENERATOR = Path(__file__).with_name("generate.py")
CACHE = Path(__file__).parents[1] / ".cache" / "trees"

Lines = list[bytes]


def main() -> None:
    options = _options()
    gc.set_threshold(100_000, 50, 100)  # as the command line does
    tree = options.tree or make_tree(options.bytes)
    files = _transcripts(tree)
    _report_memory(tree, files)  # first: a child inherits the peak of its parent on Linux
    lines_by_file = [[line.raw for line in sources.read_lines(path)] for path in files]
    megabytes = sum(len(line) for lines in lines_by_file for line in lines) / 1e6
    print(f"\n{megabytes:,.0f} MB, {sum(map(len, lines_by_file)):,} lines, {len(files):,} files\n")
    best = _measure(lines_by_file, options.rounds)
    _report(best, megabytes)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bytes", type=byte_count, default=byte_count("200MB"), help="size of the generated tree")
    parser.add_argument("--tree", type=Path, help="measure on this folder instead")
    parser.add_argument("--rounds", type=int, default=3)
    return parser.parse_args()


def make_tree(size: int) -> Path:
    """A generated tree, made once and kept."""
    tree = CACHE / str(size)
    if not tree.exists():
        print(f"generating {size / 1e6:,.0f} MB ...", flush=True)
        tree.parent.mkdir(parents=True, exist_ok=True)
        # In a process of its own: on Linux a child starts with its parent's peak memory.
        subprocess.run([sys.executable, GENERATOR, tree, "--bytes", str(size)], check=True, capture_output=True)
    return tree


def _transcripts(tree: Path) -> list[Path]:
    return [file.path for file in sources.find(tree) if file.kind in (FileKind.TRANSCRIPT, FileKind.SUBAGENT)]


def _loop(decoder: Callable[[bytes], object], lines_by_file: list[Lines]) -> None:
    for lines in lines_by_file:
        for line in lines:
            try:
                decoder(line)
            except FAILURES:
                continue


def _decode_all(lines_by_file: list[Lines]) -> None:
    for lines in lines_by_file:
        for line in lines:
            decode(line)


def _build(lines_by_file: list[Lines], *, priced: bool) -> None:
    """Decoding and folding, with everything a view asks a session for."""
    for lines in lines_by_file:
        builder = SessionBuilder("bench")
        for line in lines:
            builder.add(decode(line))
        session = builder.session()
        _ = session.branches, session.messages, session.tool_calls, session.subagents, session.title
        if priced:
            _ = session.total_usage, [call.status for call in session.tool_calls]


def _measure(lines_by_file: list[Lines], rounds: int) -> dict[str, float]:
    plain = msgspec.json.Decoder().decode
    typed = msgspec.json.Decoder(AnyRecord).decode
    steps: dict[str, Callable[[], None]] = {
        "msgspec, plain values": lambda: _loop(plain, lines_by_file),
        "msgspec, our types": lambda: _loop(typed, lines_by_file),
        "reread.decode": lambda: _decode_all(lines_by_file),
        "sessions (decode and fold)": lambda: _build(lines_by_file, priced=False),
        "and statuses, and cost": lambda: _build(lines_by_file, priced=True),
    }
    best = dict.fromkeys(steps, float("inf"))
    for _ in range(rounds):
        for name, step in steps.items():
            began = time.perf_counter()
            step()
            best[name] = min(best[name], time.perf_counter() - began)
    return best


def _report(best: dict[str, float], megabytes: float) -> None:
    plain, typed = best["msgspec, plain values"], best["msgspec, our types"]
    print(f"{'':28} {'MB/s':>6} {'x plain':>8} {'x typed':>8}")
    for name, seconds in best.items():
        print(f"{name:28} {megabytes / seconds:6.0f} {seconds / plain:8.2f} {seconds / typed:8.2f}")
    print("\ntargets: decode at most 1.3x a bare msgspec loop, sessions at most 3x that loop")


_CHILD = """
import json, resource, sys
from pathlib import Path
from reread.loading import SourceTree
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
tree = SourceTree([Path(sys.argv[1])])
listed = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
prompts = sum(len(session.prompts) for session in tree)
print(json.dumps({"before": before, "listed": listed, "after": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}))
"""


def _report_memory(tree: Path, files: list[Path]) -> None:
    """Peak memory of reading every session of the tree, beside the largest file: it must follow that, not the tree."""
    if sys.platform == "win32":
        print("memory: not measured here (no resource module)")
        return
    unit = 1 if sys.platform == "darwin" else 1024
    child = subprocess.run([sys.executable, "-c", _CHILD, str(tree)], capture_output=True, text=True, check=True)
    seen = {name: value * unit / 1e6 for name, value in json.loads(child.stdout).items()}
    total = sum(path.stat().st_size for path in files) / 1e6
    largest = max(path.stat().st_size for path in files) / 1e6
    grown = seen["after"] - seen["before"]
    print(f"reading all sessions one by one: peak {seen['after']:.0f} MB, of which {grown:.0f} MB above start-up")
    print(
        f"that is {grown / largest:.1f}x the largest file ({largest:.1f} MB), "
        f"{grown / total:.2f}x the tree ({total:,.0f} MB)"
    )


if __name__ == "__main__":
    main()
