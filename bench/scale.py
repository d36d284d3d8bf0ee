"""How the archive grows: the same measures on trees of several sizes, as ratios to the smallest.

    python bench/scale.py [--sizes 100MB 1GB 5GB]

A cold sync should grow with the tree, the warm commands with the number of files only: each asks every file once
whether it changed.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path
from typing import NamedTuple

from generate import byte_count
from peers import CACHE, install_reread, run_timed
from reader import make_tree
from truth import Truth

COMMANDS = {
    "nothing new": ["sync"],
    "list": ["list", "--limit", "20"],
    "usage": ["usage", "day"],
    "search": ["search", "--no-sync"],
}
ROUNDS = 5


class Seen(NamedTuple):
    gigabytes: float
    files: int
    cold: float
    memory: float
    warm: dict[str, float]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=byte_count, nargs="+", default=[byte_count(n) for n in ("100MB", "1GB", "5GB")])
    sizes = parser.parse_args().sizes
    python = install_reread(CACHE)
    _report([_measure(make_tree(size), str(python)) for size in sizes])


def _measure(tree: Path, python: str) -> Seen:
    truth = Truth.read(tree.with_name(tree.name + ".truth.json"))
    with tempfile.TemporaryDirectory(prefix="reread-scale-home-") as home:
        env = {**os.environ, "REREAD_HOME": home, "CLAUDE_CONFIG_DIR": str(tree), "NO_COLOR": "1"}
        needle = next(needle.word for needle in truth.needles if needle.field == "text")

        def reread(*arguments: str) -> float:
            return run_timed([python, "-m", "reread", *arguments], env).wall

        cold = run_timed([python, "-m", "reread", "sync"], env)
        warm = {
            name: min(reread(*arguments, *([needle] if name == "search" else [])) for _ in range(ROUNDS))
            for name, arguments in COMMANDS.items()
        }
    files = sum(1 for path in tree.rglob("*") if path.is_file())
    return Seen(truth.totals.bytes / 1e9, files, cold.wall, (cold.max_rss or 0) / 1e6, warm)


def _report(seen: list[Seen]) -> None:
    first = seen[0]
    print(f"{'GB':>6} {'files':>7} {'cold s/GB':>10} {'memory MB':>10}", *(f"{name:>13}" for name in COMMANDS))
    for each in seen:
        warm = (f"{each.warm[name]:7.3f} {each.warm[name] / first.warm[name]:4.1f}x" for name in COMMANDS)
        rate = each.cold / each.gigabytes
        print(
            f"{each.gigabytes:6.2f} {each.files:7,} {rate:10.1f} {each.memory:10.0f}", *(f"{text:>13}" for text in warm)
        )


if __name__ == "__main__":
    main()
