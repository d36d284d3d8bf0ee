"""Processor time per GB of what a lake keeps, beside `usage` and `sync` of the same files.

    python bench/lake_builds.py FOLDER...

The figures of a build are those of its workers (the row of `build`) and of the whole command with its imports.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from reread.lake.delta import DeltaLake

WAYS = {
    "cost": ("--what", "cost"),
    "ledger": ("--what", "ledger"),
    "text, not redacted": ("--what", "text", "--redact", "none"),
    "text, secrets redacted": ("--what", "text"),
}


def cpu_seconds(*arguments: str) -> float:
    """Processor time of a command and its workers."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-m", "reread", *arguments], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main(places: list[str]) -> None:
    size = sum(file.stat().st_size for place in places for file in Path(place).rglob("*") if file.is_file()) / 1e9
    print(f"{size * 1e3:.1f} MB\n{'CPU s per GB':<32} {'workers':>8} {'command':>8}")
    with tempfile.TemporaryDirectory() as folder:
        sources = [word for place in places for word in ("--source", place)]
        for name, command in {"usage": ("usage", "day"), "sync": ("sync",)}.items():
            seconds = cpu_seconds(*command, *sources, "--home", f"{folder}/{name}")
            print(f"{name:<32} {'':>8} {seconds / size:>8.1f}")
        for number, (name, options) in enumerate(WAYS.items()):
            lake = f"{folder}/lake{number}"
            seconds = cpu_seconds("lake", "build", *places, "--lake", lake, *options)
            print(f"{name:<32} {DeltaLake(lake).last['cpu_seconds'] / size:>8.1f} {seconds / size:>8.1f}")


if __name__ == "__main__":
    main(sys.argv[1:])
