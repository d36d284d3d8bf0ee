"""The archive beside its peers, as ratios within one run.

    python bench/archive.py [--bytes 1GB | --tree FOLDER] [--peers-cache FOLDER] [--without-agentsview]

A cold sync, a second sync, usage numbers, searches, start-up, sizes and memory; targets stand beside what was seen.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from itertools import cycle, islice
from pathlib import Path

from generate import byte_count
from peers import CACHE, Peers, Timing, install, install_reread, run_timed, serving
from reader import make_tree
from reread.features.search_text import texts_of
from reread.loading import SourceTree
from truth import Truth

ROUNDS = 12


def main() -> None:
    options = _options()
    tree = options.tree or make_tree(options.bytes)
    truth = Truth.read(tree.with_name(tree.name + ".truth.json"))
    peers = install(options.peers_cache)
    with tempfile.TemporaryDirectory(prefix="reread-bench-") as scratch:
        bench = Bench(tree, truth, peers, install_reread(options.peers_cache), Path(scratch))
        bench.sync(with_agentsview=not options.without_agentsview)
        bench.usage()
        bench.search(with_agentsview=not options.without_agentsview)
        bench.start_up()
        bench.sizes()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bytes", type=byte_count, default=byte_count("1GB"))
    parser.add_argument("--tree", type=Path)
    parser.add_argument("--peers-cache", type=Path, default=CACHE)
    parser.add_argument("--without-agentsview", action="store_true", help="its cold sync of 1 GB takes three minutes")
    return parser.parse_args()


class Bench:
    """One tree, one archive, the peers; each method prints its part of the report."""

    def __init__(self, tree: Path, truth: Truth, peers: Peers, python: Path, scratch: Path) -> None:
        self.tree = tree
        self.peers = peers
        self.python = str(python)
        self.home = scratch / "home"
        self.data = scratch / "agentsview"
        self.scratch = scratch
        self.raw_bytes = truth.totals.bytes
        self.needle = next(needle.word for needle in truth.needles if needle.field == "text")
        self.env = {**os.environ, "REREAD_HOME": str(self.home), "CLAUDE_CONFIG_DIR": str(tree), "NO_COLOR": "1"}

    def reread(self, *arguments: str, given: bytes = b"") -> Timing:
        return run_timed([self.python, "-m", "reread", *arguments], self.env, given)

    def sync(self, *, with_agentsview: bool) -> None:
        cold = self.reread("sync")
        again = min((self.reread("sync") for _ in range(5)), key=lambda timing: timing.wall)
        _row("reread sync, cold", cold, "")
        _row("reread sync, nothing new", again, "")
        if not with_agentsview:
            return
        command = self.peers.agentsview_sync(self.tree, self.data)
        their_cold = run_timed(*command)
        their_again = min((run_timed(*command) for _ in range(3)), key=lambda timing: timing.wall)
        _row("agentsview sync, cold", their_cold, f"reread {their_cold.wall / cold.wall:.1f}x faster (target 8)")
        _row(
            "agentsview sync, nothing new",
            their_again,
            f"reread {their_again.wall / again.wall:.1f}x faster (target 10)",
        )

    def usage(self) -> None:
        """Cold: no archive yet, nothing but the question. Warm: everything is in the archive."""
        theirs = _quickest(lambda: run_timed(*self.peers.ccusage_daily(self.tree)))
        cold = _quickest(self._usage_of_a_fresh_archive)
        warm = _quickest(lambda: self.reread("usage", "day", "--json", "--timezone", "UTC"))
        _row("ccusage daily", theirs, "")
        cpu = f", {cold.cpu / theirs.cpu:.2f}x its CPU (target 0.9)" if cold.cpu and theirs.cpu else ""
        _row("reread usage, cold", cold, f"{cold.wall / theirs.wall:.2f}x ccusage (target 1.2){cpu}")
        _row("reread usage, warm", warm, f"{warm.wall / theirs.wall:.3f}x ccusage (target 0.125)")

    def _usage_of_a_fresh_archive(self) -> Timing:
        home = self.scratch / "usage"
        arguments = ["usage", "day", "--json", "--timezone", "UTC", "--home", str(home)]
        timing = run_timed([self.python, "-m", "reread", *arguments], self.env)
        shutil.rmtree(home)
        return timing

    def search(self, *, with_agentsview: bool) -> None:
        ours = min((self.reread("search", self.needle, "--no-sync") for _ in range(5)), key=lambda t: t.wall)
        rg = min((run_timed(*self.peers.ripgrep(self.needle, self.tree)) for _ in range(5)), key=lambda t: t.wall)
        _row("reread search", ours, "")
        _row("rg over the raw files", rg, f"reread {rg.wall / ours.wall:.2f}x as fast (target 1)")
        if not with_agentsview:
            return
        with serving(self.peers, self.tree, self.data) as server:
            for mode in ("fts", "substring"):
                theirs = min((server.search(self.needle, mode) for _ in range(5)), key=lambda t: t.wall)
                _row(f"agentsview search, {mode}", theirs, f"reread {theirs.wall / ours.wall:.2f}x as fast")

    def start_up(self) -> None:
        for arguments, target in (
            (["--help"], 4),
            (["--version"], 4),
            (["sync"], None),
            (["list", "--limit", "20"], 10),
            (["usage"], 10),
            (["search", "--no-sync", self.needle], None),
        ):
            self._against_bare(arguments[0], target, [(arguments, None)])
        kept = _status_line(cents=100)
        self._against_bare("statusline, nothing new", 5, [(["statusline"], kept)])
        costs = [(["statusline"], _status_line(cents=101 + number)) for number in range(ROUNDS)]
        self._against_bare("statusline, a new cost to keep", 5, costs)

    def _against_bare(self, name: str, target: int | None, runs: Sequence[tuple[list[str], bytes | None]]) -> None:
        """Beside each other: a few milliseconds are soon lost in what else a machine does."""
        bare = ours = float("inf")
        for arguments, given in islice(cycle(runs), ROUNDS):
            bare = min(bare, run_timed([self.python, "-c", "pass"], self.env).wall)
            ours = min(ours, self.reread(*arguments, given=given or b"").wall)
        wanted = "" if target is None else f" (target {target})"
        print(f"{'reread ' + name:38} {ours / bare:6.1f}x a bare python{wanted}", flush=True)

    def sizes(self) -> None:
        index = sum(path.stat().st_size for path in self.home.glob("reread.db*"))
        safe = sum(path.stat().st_size for path in (self.home / "safe").glob("*.pack"))
        text = _indexed_text(self.tree)
        print(
            f"index {index / text:.2f} of the indexed text (target 0.6), {index / self.raw_bytes:.2f} of the raw bytes"
        )
        print(f"safe {safe / self.raw_bytes:.3f} of the raw bytes (target 0.25)")


def _indexed_text(tree: Path) -> int:
    """Bytes of all text that can be searched, read as the archive reads it."""
    size = 0
    for session in SourceTree([tree]):
        for records in (session.records, *(agent.records for agent in session.subagents)):
            size += sum(len(found.text.encode("utf-8", "replace")) for record in records for found in texts_of(record))
    for path in tree.rglob("tool-results/*"):
        size += path.stat().st_size
    return size


def _quickest(run: Callable[[], Timing], rounds: int = 3) -> Timing:
    return min((run() for _ in range(rounds)), key=lambda timing: timing.wall)


def _status_line(cents: int) -> bytes:
    """What Claude Code gives its status line, as far as it is read."""
    return json.dumps(
        {
            "session_id": "bench",
            "model": {"id": "claude-opus-5-5", "display_name": "Opus 5.5"},
            "cost": {"total_cost_usd": cents / 100, "total_duration_ms": 60_000},
            "context_window": {"context_window_size": 200_000, "used_percentage": 42},
            "rate_limits": {"five_hour": {"used_percentage": 23, "resets_at": time.time() // 3600 * 3600 + 7200}},
        }
    ).encode()


def _row(name: str, timing: Timing, note: str) -> None:
    memory = f"{timing.max_rss / 1e6:6.0f} MB" if timing.max_rss is not None else ""
    cpu = f"{timing.cpu:7.2f} s cpu" if timing.cpu is not None else ""
    print(f"{name:32} {timing.wall:8.3f} s {cpu} {memory}  {note}", flush=True)


if __name__ == "__main__":
    main()
