"""How fast the retrospective answers from rows, against reading every transcript again, within one run.

    python bench/retro.py [--bytes 1GB | --tree FOLDER] [--rounds 5]

Both find the same moments, patterns and suggestions over the whole tree. The command is timed as a person waits for
it: a process of its own that first looks whether anything is new.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import tempfile
import time
from pathlib import Path

from generate import byte_count
from peers import run_timed
from reader import make_tree
from reread.archive import Archive
from reread.features.friction import find, find_patterns, suggest
from reread.loading import SourceTree

WANTED = 20.0
WANTED_SECONDS = 2.0


def main() -> None:
    options = _options()
    gc.set_threshold(100_000, 50, 100)  # as the command line does
    tree = options.tree or make_tree(options.bytes)
    with tempfile.TemporaryDirectory(prefix="reread-bench-") as scratch:
        home = Path(scratch) / "home"
        with Archive(home, [tree]) as archive:
            archive.sync()
            warm, moments = _asked(archive, options.rounds)
        command = _command(tree, home, options.rounds)
        again, found = _again(tree)
    print(f"\n{found:,} moments by reading again, {moments:,} from rows, copies counted once")
    print(f"{'reading everything again':<36} {again:>8.2f} s")
    print(f"{'Archive.retro, warm':<36} {warm:>8.2f} s  {again / warm:.0f}x faster (target {WANTED:.0f})")
    print(f"{'reread retro, start to end':<36} {command:>8.2f} s  {again / command:.0f}x faster", end="")
    print(f" (target {WANTED_SECONDS:.0f} s)")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bytes", type=byte_count, default=byte_count("1GB"), help="size of the generated tree")
    parser.add_argument("--tree", type=Path, help="measure on this folder instead")
    parser.add_argument("--rounds", type=int, default=5)
    return parser.parse_args()


def _asked(archive: Archive, rounds: int) -> tuple[float, int]:
    """The best of some rounds, and how many moments there are."""
    best, moments = float("inf"), 0
    for _ in range(rounds):
        began = time.perf_counter()
        moments = len(archive.friction.retro(with_agents=True, least_confidence=0.0).events)
        best = min(best, time.perf_counter() - began)
    return best, moments


def _command(tree: Path, home: Path, rounds: int) -> float:
    command = [sys.executable, "-m", "reread", "retro", "--source", str(tree), "--home", str(home)]
    return min(run_timed(command, dict(os.environ)).wall for _ in range(rounds))


def _again(tree: Path) -> tuple[float, int]:
    began = time.perf_counter()
    found = [find(session, with_agents=True) for session in SourceTree([tree])]
    events = [event for each in found for event in each.events]
    suggest(find_patterns([each.material for each in found], events), events)
    return time.perf_counter() - began, len(events)


if __name__ == "__main__":
    main()
