"""What reread costs on recorded text: `python bench/real.py [--bytes 90MB] [--against PYTHON] [--only sync] [--peers]`.

Recorded sessions beside the project, again and again under new ids and on other days, until the tree is as large as
asked. `--against` names the interpreter of another reread (an older one, say): each job is run by both in turn, so
what else the machine does meets both. Processor time counts, user and system, of all processes of a job.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from generate import byte_count
from peers import AGENTSVIEW, CACHE, CCUSAGE, Timing, install_agentsview, install_ccusage, run_timed

ROUNDS = 4
TAIL = 50
LARGE = 4_000_000
LARGER = 8_800_000
"""The sizes of the session that grows, and of the one that is exported."""


def main() -> None:
    options = _options()
    corpus = options.corpus or _recorded()
    if corpus is None:
        sys.exit("No recorded sessions beside the project: name their folder with --corpus.")
    pythons = [sys.executable, *([options.against] if options.against else [])]
    with tempfile.TemporaryDirectory(prefix="reread-real-", dir=options.scratch) as scratch:
        tree = Path(scratch) / "tree"
        written = repeat(corpus, tree, options.bytes)
        print(f"{written.bytes / 1e6:.0f} MB, {written.files} files, from {corpus.name} ({written.copies:.1f} times)")
        print(
            f"{platform.python_implementation()} {platform.python_version()}, SQLite {sqlite3.sqlite_version}, ", end=""
        )
        print(f"{platform.system()} {platform.release()}, {os.cpu_count()} cores, {_running()} other running processes")
        benches = [Bench(each, tree, Path(scratch) / str(number)) for number, each in enumerate(pythons)]
        print(f"{'':34} {'  '.join(f'{each.version:>24}' for each in benches)}")
        for job in JOBS:
            if not options.only or job.key in options.only:
                _print(job.name, _quickest(benches, job))
        for key, name, figure in FIGURES:
            if not options.only or key in options.only:
                print(f"{name:34} {'  '.join(f'{figure(each):>24}' for each in benches)}", flush=True)
        if options.peers is not None:
            compare(tree, Path(scratch) / "agentsview", [CCUSAGE, *options.peers])


def compare(tree: Path, data: Path, versions: Sequence[str]) -> None:
    """The same tree read by ccusage, for "usage before a first sync", and by agentsview, for "first sync"."""
    for version in dict.fromkeys(versions):
        try:
            peers = install_ccusage(CACHE, version)
        except (OSError, subprocess.CalledProcessError) as problem:
            print(f"ccusage {version} cannot be had here: {problem}")
            continue
        runs = [run_timed(*peers.ccusage_daily(tree)) for _ in range(3)]
        _print(f"ccusage {version}", [min(runs, key=lambda timing: timing.cpu or timing.wall)])
    peers = install_agentsview(CACHE)
    data.mkdir()
    _print(f"agentsview {AGENTSVIEW}, first sync", [run_timed(*peers.agentsview_sync(tree, data))])


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bytes", type=byte_count, default=byte_count("90MB"))
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--against", metavar="PYTHON")
    parser.add_argument("--only", type=lambda text: text.split(","), help="keys of jobs; the first sync always runs")
    parser.add_argument(
        "--peers", nargs="*", metavar="VERSION", help="agentsview and ccusage, too; further versions of it"
    )
    parser.add_argument("--scratch", type=Path, help="where the tree and the archives go for the time of the run")
    return parser.parse_args()


def _recorded() -> Path | None:
    return next(
        (each for parent in Path(__file__).resolve().parents if (each := parent / "shared" / "corpus").is_dir()), None
    )


def _running() -> int:
    """Processes that want a processor now, without this one; -1 where nobody tells."""
    try:
        return int(Path("/proc/loadavg").read_text().split()[3].partition("/")[0]) - 1
    except OSError:
        return -1


class Written(NamedTuple):
    bytes: int
    files: int
    copies: float


_NAMES = re.compile(
    rb"\b(?:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|(?:msg|req|toolu)_[0-9A-Za-z]{12,}|agent-[0-9a-f]{8,})"
)
_TIME = re.compile(rb'(?<=")(20[0-9]{2}-[01][0-9]-[0-3][0-9])(?=T[0-9:.]{8,}Z")')
_ENDED = re.compile(rb'"timestamp":"(20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9:]{8})')
_SESSION = re.compile(rb'"sessionId":"([0-9a-f-]{36})"')


def repeat(corpus: Path, tree: Path, size: int) -> Written:
    """The recorded sessions of a corpus as projects of a config directory; each copy has ids and days of its own."""
    sources = sorted(path for part in ("recorded", "labelled") for path in (corpus / part).rglob("*.jsonl"))
    contents = [(path, path.read_bytes()) for path in sources]
    once = sum(len(content) for _, content in contents)
    written = files = number = 0
    while written < size:
        for path, content in contents:
            written += _write(tree, corpus, path, _renamed(content, number), number)
            files += 1
            if written >= size:
                break
        number += 1
    return Written(written, files, written / once)


def _renamed(content: bytes, number: int) -> bytes:
    """As long as before: the last letters of every id tell the copy, and days move by as many."""
    mark = b"%04x" % (0xB000 + number)
    shifted: dict[bytes, bytes] = {}

    def moved(match: re.Match[bytes]) -> bytes:
        if match[1] not in shifted:
            day = datetime.strptime(match[1].decode(), "%Y-%m-%d").replace(tzinfo=UTC) - timedelta(days=number)
            shifted[match[1]] = day.strftime("%Y-%m-%d").encode()
        return shifted[match[1]]

    return _TIME.sub(moved, _NAMES.sub(lambda name: name[0][:-4] + mark, content))


def _write(tree: Path, corpus: Path, path: Path, content: bytes, number: int) -> int:
    """Where the client would have written it: a folder for each repository, and agents below their session."""
    session = _SESSION.search(content)
    name = session[1].decode() if session is not None else f"{path.stem}-{number}"
    folder = tree / "projects" / f"-bench-{path.relative_to(corpus).parts[1].replace('+', '-')}-{number}"
    if path.stem.startswith("agent-"):
        target = folder / name / "subagents" / f"{path.stem[:-4]}{0xB000 + number:04x}.jsonl"
    else:
        target = folder / f"{name}.jsonl"
    while target.exists():  # two recordings of one session
        target = target.with_name(f"{target.stem}-b.jsonl")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)
    ended = max(_ENDED.findall(content), default=b"2026-01-01T00:00:00")  # as the client would have left it
    os.utime(target, (datetime.fromisoformat(ended.decode()).replace(tzinfo=UTC).timestamp(),) * 2)
    return len(content)


class Bench:
    """One reread, its archive, and a tree of its own where it must change one."""

    def __init__(self, python: str, tree: Path, scratch: Path) -> None:
        scratch.mkdir()
        self.python = python
        self.scratch = scratch
        self.tree = scratch / "tree"
        shutil.copytree(tree, self.tree)
        self.home = scratch / "home"
        self.env = {**os.environ, "CLAUDE_CONFIG_DIR": str(self.tree), "REREAD_HOME": str(self.home), "NO_COLOR": "1"}
        # Modules are compiled once, as where it is installed; compiling them anew would take twice as long as a sync.
        self.env.pop("PYTHONDONTWRITEBYTECODE", None)
        told = subprocess.run([python, "-m", "reread", "--version"], env=self.env, capture_output=True, check=True)
        self.version = told.stdout.decode().strip()
        self.large: list[bytes] = []
        self.grown = 0

    def reread(self, *arguments: str) -> Timing:
        return run_timed([self.python, "-m", "reread", *arguments], self.env)

    def first_sync(self) -> Timing:
        shutil.rmtree(self.home, ignore_errors=True)
        return self.reread("sync")

    def first_list(self) -> Timing:
        """What a person waits for who has just installed it: a sync that leaves what the answer does not need."""
        shutil.rmtree(self.begun, ignore_errors=True)
        return self.reread("list", "--home", str(self.begun))

    def second_phase(self) -> Timing:
        """What that first list left for later. It reads the sessions once more, so both cost more than one sync."""
        if not self.begun.exists():
            self.first_list()
        timing = self.reread("sync", "--home", str(self.begun))
        shutil.rmtree(self.begun)
        return timing

    @property
    def begun(self) -> Path:
        return self.scratch / "begun"

    def cold_usage(self) -> Timing:
        home = self.scratch / "cold"
        timing = self.reread("usage", "day", "--json", "--timezone", "UTC", "--home", str(home))
        shutil.rmtree(home, ignore_errors=True)
        return timing

    def append(self) -> Timing:
        self._grow()
        return self.reread("sync")

    def grown_list(self) -> Timing:
        self._grow()
        return self.reread("list")

    def watched_append(self) -> Timing:
        """As `sync --watch` and `serve` pay for it: in a process that has read the session before."""
        tails = [self.scratch / f"tail-{number}" for number in range(ROUNDS)]
        for tail in tails:
            tail.write_bytes(self._next_tail())
        told = run_timed([self.python, "-c", _WATCHED, str(self.growing), *map(str, tails)], self.env)
        if told.exit_code:
            return told
        wall, cpu = map(float, told.stdout.split())
        return replace(told, wall=wall, cpu=cpu)

    def _grow(self) -> None:
        tail = self._next_tail()
        with self.growing.open("ab") as file:
            file.write(tail)

    @property
    def growing(self) -> Path:
        return self.tree / "projects" / "-bench-large" / f"{_NAME}.jsonl"

    def _next_tail(self) -> bytes:
        """The session stands complete but for its last lines, which come fifty at a time."""
        if not self.large:
            self.large = _session_of(self.tree, LARGE)
            self.growing.parent.mkdir(parents=True)
            self.growing.write_bytes(b"".join(self.large[: -TAIL * ROUNDS * 3]))
            self.reread("sync")
        at = len(self.large) - TAIL * (ROUNDS * 3 - self.grown)
        self.grown += 1
        return b"".join(self.large[at : at + TAIL])

    def html(self) -> Timing:
        path = self.scratch / f"{_NAME}.jsonl"
        if not path.exists():
            path.write_bytes(b"".join(_session_of(self.tree, LARGER)))
        return self.reread("export", str(path), "--format", "html", "--output", str(self.scratch / "page.html"))


_WATCHED = """
import sys, time, reread
with reread.open() as archive:
    archive.sync()
    taken = []
    for tail in sys.argv[2:]:
        with open(sys.argv[1], "ab") as file:
            file.write(open(tail, "rb").read())
        wall, cpu = time.perf_counter(), time.process_time()
        archive.sync()
        taken.append((time.process_time() - cpu, time.perf_counter() - wall))
    cpu, wall = min(taken)
    print(wall, cpu)
"""
_NAME = "b0000000-0000-4000-8000-00000000beef"


def _session_of(tree: Path, size: int) -> list[bytes]:
    """Lines of recorded sessions, one behind the other as one conversation, up to this size; each once, if they do."""
    lines: list[bytes] = []
    written, last, clock = 0, None, _Clock()
    for content in _large_first(tree):
        clock.begin_again()
        for line in content.splitlines(keepends=True):
            try:
                record = json.loads(line)
            except ValueError:
                continue
            if not isinstance(record, dict) or "uuid" not in record or not line.endswith(b"\n"):
                continue
            if record.get("parentUuid") is None and last is not None:
                record["parentUuid"] = last
            last = record["uuid"]
            record |= {"sessionId": _NAME, "timestamp": clock.told(record.get("timestamp"))}
            lines.append(json.dumps(record, separators=(",", ":")).encode() + b"\n")
            written += len(lines[-1])
            if written >= size:
                return lines
    return lines


class _Clock:
    """Times of sessions that follow each other: each begins when the one before it has ended."""

    def __init__(self) -> None:
        self._latest: datetime | None = None
        self._later: timedelta | None = None

    def begin_again(self) -> None:
        self._later = None

    def told(self, stamp: object) -> object:
        if not isinstance(stamp, str):
            return stamp
        time = datetime.fromisoformat(stamp)
        if self._later is None:
            self._later = timedelta() if self._latest is None else self._latest - time + timedelta(minutes=1)
        time += self._later
        self._latest = time if self._latest is None else max(time, self._latest)
        return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _large_first(tree: Path) -> Iterator[bytes]:
    files = (path for path in (tree / "projects").rglob("*.jsonl") if "-bench-large" not in path.parts)
    for path in sorted(files, key=lambda path: (path.parts[-2].rpartition("-")[2], -path.stat().st_size, path.name)):
        yield path.read_bytes()


class Job(NamedTuple):
    key: str
    name: str
    arguments: Sequence[str] = ()
    rounds: int = ROUNDS


JOBS = (
    Job("cold", "usage before a first sync", rounds=3),
    Job("first", "list before a first sync", rounds=2),
    Job("rest", "sync after that list", rounds=2),
    Job("sync", "first sync", rounds=2),
    Job("again", "sync, nothing new", ("sync",)),
    Job("append", f"sync, {TAIL} lines more on {LARGE / 1e6:.0f} MB"),
    Job("grown", f"list, {TAIL} lines more on {LARGE / 1e6:.0f} MB"),
    Job("watched", "the same sync in a running process", rounds=1),
    Job("list", "list", ("list", "--no-sync")),
    Job("usage", "usage", ("usage", "--no-sync")),
    Job("search", "search, a common word", ("search", "--no-sync", "test")),
    Job("words", "search, three words", ("search", "--no-sync", "run the tests")),
    Job("rare", "search, a rare word", ("search", "--no-sync", "deadlock")),
    Job("prompts", "prompts", ("prompts", "--no-sync")),
    Job("tools", "tools", ("tools", "--no-sync")),
    Job("thinking", "thinking", ("thinking", "--no-sync")),
    Job("decisions", "decisions", ("decisions", "--no-sync")),
    Job("regex", "search --regex, with words", ("search", "--no-sync", "--regex", r"err(or)?\s+in\s+line"), 3),
    Job("inside", "search --regex, with letters inside words", ("search", "--no-sync", "--regex", r"imeou(t|r)"), 3),
    Job(
        "anything", "search --regex, without either", ("search", "--no-sync", "--regex", r"\b[a-f0-9]{7}\b.{3}#\d+"), 3
    ),
    Job("html", f"HTML of a session of {LARGER / 1e6:.1f} MB", rounds=3),
    Job("doctor", "doctor", ("doctor",), 3),
    Job("secrets", "secrets, the first", ("secrets", "--no-sync"), 1),
    Job("verify", "archive verify --deep", ("archive", "verify", "--deep"), 2),
    Job("rebuild", "archive rebuild", ("archive", "rebuild"), 2),
)


def _peak_memory(bench: Bench) -> str:
    """Of a first sync and its workers together: pages that several processes share count once."""
    shutil.rmtree(bench.home, ignore_errors=True)
    argv = [bench.python, "-m", "reread", "sync"]
    running = subprocess.Popen(argv, env=bench.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    peak = 0
    while running.poll() is None:
        peak = max(peak, sum(map(_proportional_kib, _family(running.pid))))
        time.sleep(0.02)
    if running.returncode:
        sys.exit(f"a sync ended with {running.returncode}")
    return f"{peak / 1024:.0f} MiB" if peak else "not told here"


def _family(process: int) -> list[int]:
    """A process and all below it; nobody where there is no /proc."""
    try:
        threads = list(Path(f"/proc/{process}/task").iterdir())
        below = [int(each) for thread in threads for each in (thread / "children").read_text().split()]
    except OSError:
        return []
    return [process, *(each for child in below for each in _family(child))]


def _proportional_kib(process: int) -> int:
    try:
        told = Path(f"/proc/{process}/smaps_rollup").read_text()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in told.splitlines() if line.startswith("Pss:")), 0)


_SEARCHES = """
import json, sys, time
from pathlib import Path
from reread import Archive
with Archive(Path(sys.argv[1])) as archive:
    for queries in json.load(sys.stdin):
        taken = []
        for words in queries:
            began = time.process_time()
            archive.search(words)
            taken.append(time.process_time() - began)
        print(sorted(taken)[37])
"""
_COMMON = """SELECT term FROM vocabulary WHERE length(term) > 3 AND term NOT GLOB '*[^a-z]*'
    ORDER BY doc DESC LIMIT 120"""
_RARE = """SELECT term FROM vocabulary WHERE length(term) > 5 AND term NOT GLOB '*[^a-z]*' AND doc BETWEEN 5 AND 50
    ORDER BY doc, term LIMIT 40"""


def _queries(home: Path) -> list[list[str]]:
    """Forty of each kind, no two alike, so that nothing is answered from what the last one left in memory: a common
    word, three common words, a rare one."""
    with contextlib.closing(sqlite3.connect(next(home.glob("*.db")))) as connection:
        common, rare = ([term for (term,) in connection.execute(asked)] for asked in (_COMMON, _RARE))
    return [common[:40], [" ".join(common[i::40]) for i in range(40)], rare]


def _search_p95(bench: Bench) -> str:
    """In one process that stays, as for the web pages: a common word, three words, a rare one."""
    if not bench.home.exists():
        bench.first_sync()
    argv = [bench.python, "-c", _SEARCHES, str(bench.home)]
    asked = json.dumps(_queries(bench.home)).encode()
    told = subprocess.run(argv, env=bench.env, input=asked, capture_output=True, check=True).stdout.split()
    return " ".join(f"{float(each) * 1000:.0f}" for each in told) + " ms cpu"


FIGURES: tuple[tuple[str, str, Callable[[Bench], str]], ...] = (
    ("p95", "search, p95 of 40 different ones", _search_p95),
    ("memory", "peak memory of a first sync", _peak_memory),
)


def _run(bench: Bench, job: Job) -> Timing:
    special = {
        "cold": bench.cold_usage,
        "first": bench.first_list,
        "rest": bench.second_phase,
        "sync": bench.first_sync,
        "append": bench.append,
        "grown": bench.grown_list,
        "watched": bench.watched_append,
        "html": bench.html,
    }
    timing = special[job.key]() if job.key in special else bench.reread(*job.arguments)
    if timing.exit_code not in (0, 1):  # 1 is what a search without a hit and a doctor with advice end with
        sys.exit(f"{job.name} ended with {timing.exit_code}: {timing.stderr.decode(errors='replace')[-500:]}")
    return timing


def _quickest(benches: Sequence[Bench], job: Job) -> list[Timing]:
    """In turn; by processor time, where the system tells it."""
    for bench in benches:
        if job.key not in ("sync", "cold", "first", "rest") and not bench.home.exists():
            bench.first_sync()
    rounds = [[_run(bench, job) for bench in benches] for _ in range(job.rounds)]
    return [min(each, key=lambda timing: timing.cpu or timing.wall) for each in zip(*rounds, strict=True)]


def _print(name: str, timings: Sequence[Timing]) -> None:
    cells = [f"{_seconds(each.cpu)} cpu {_seconds(each.wall)} wall" for each in timings]
    ratio = ""
    if len(timings) > 1 and timings[0].cpu and timings[1].cpu:
        ratio = f"  {timings[0].cpu / timings[1].cpu:.2f}x of the other's cpu"
    print(f"{name:34} {'  '.join(cells)}{ratio}", flush=True)


def _seconds(value: float | None) -> str:
    return "     -" if value is None else f"{value:6.3f}"


if __name__ == "__main__":
    main()
