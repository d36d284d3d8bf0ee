"""What a team's store costs: processor time of clients and server, and how long questions take.

    python bench/team_store.py [--bytes 30MB] [--what text] [--people 4] [--rounds 40] [--scratch FOLDER]

A generated tree is dealt out to people of two teams, each with an archive of their own, who push it to a PostgreSQL
that is started for this run (on loopback, without fsync) and gone afterwards. Every day-and-model cell of the store is
compared with what the generator knows. The targets are for `--bytes 300MB`, exactness was asked for with `--bytes 1GB`.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import NamedTuple

from generate import byte_count
from peers import Timing, run_timed
from reader import make_tree
from reread.archive import UsageReport
from reread.archive.filters import Filter
from reread.archive.search_language import DEFAULT_FIELDS
from reread.billing import packaged_prices
from reread.team.questions import search, usage, write_sources
from reread.team.store import Store, grant, initialise, status, verify
from truth import Truth

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from team.postgres import Server, programs
from trees import cells_in, merged

WANTED_AGAIN = 0.5
WANTED_P95 = 0.050
TAIL = 50
TEAMS = ("red", "blue")
GROUPINGS = ("day", "model", "project", "person", "session", "tool")
QUERIES = ("test", "error", "return value", '"the file"', "deadlock", "serv*", "nothinglikethis")


def main() -> None:
    options = _options()
    found = programs()
    if found is None:
        sys.exit("No PostgreSQL here: install the distribution's package `postgresql`.")
    tree = options.tree or make_tree(options.bytes)
    truth = Truth.read(tree.with_name(tree.name + ".truth.json"))
    people = [f"person{number}" for number in range(options.people)]
    with _scratch(options.scratch) as scratch:
        server = Server(found, scratch)
        try:
            bench = Bench(server, scratch, people)
            size = _deal(tree, scratch, people)
            print(f"{size / 1e6:.0f} MB of {len(people)} people in {len(TEAMS)} teams, {os.cpu_count()} cores")
            _pushes(bench, options.what)
            _grown(bench, options.what)
            _copies(bench)
            _questions(bench, options.rounds)
            _exact(bench, truth)
        finally:
            server.stop()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bytes", type=byte_count, default=byte_count("30MB"), help="size of the generated tree")
    parser.add_argument("--tree", type=Path, help="a tree of bench/generate.py, with its truth beside it")
    parser.add_argument("--what", nargs="+", choices=("ledger", "text", "all"), default=["ledger", "text"])
    parser.add_argument("--people", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=40, help="how often each question is asked")
    parser.add_argument("--scratch", type=Path, help="where everything goes for the time of the run")
    return parser.parse_args()


@contextmanager
def _scratch(parent: Path | None) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="reread-team-", dir=parent) as folder:
        yield Path(folder)


def _deal(tree: Path, scratch: Path, people: list[str]) -> int:
    """Each session to somebody; every tenth to two, as people do who work on one machine by turns."""
    rng = random.Random(3)
    for project in sorted((tree / "projects").iterdir()):
        for trunk in sorted(project.iterdir()):
            if trunk.is_dir() and trunk.with_suffix(".jsonl").exists():
                continue
            for person in rng.sample(people, 2 if rng.random() < 0.1 else 1):
                place = scratch / person / "claude" / "projects" / project.name
                place.mkdir(parents=True, exist_ok=True)
                for source in (trunk, trunk.with_suffix("")):
                    if source.is_dir():
                        shutil.copytree(source, place / source.name, dirs_exist_ok=True)
                    elif source.is_file():
                        shutil.copy2(source, place)
    return sum(path.stat().st_size for each in people for path in (scratch / each).rglob("*") if path.is_file())


class Cost(NamedTuple):
    client: float
    server: float
    wall: float


class Bench:
    """A store, and people who reach it."""

    def __init__(self, server: Server, scratch: Path, people: list[str]) -> None:
        self.server, self.scratch, self.people = server, scratch, people
        self.name = server.database()
        with Store(self.url("owner"), is_new=True) as store:
            initialise(store, packaged_prices())
            for number, person in enumerate(people):
                grant(store, person, TEAMS[number % len(TEAMS)], sees_text=True)

    def url(self, role: str) -> str:
        return self.server.url(role, self.name)

    def run(self, person: str, *arguments: str) -> tuple[Cost, Timing]:
        place = self.scratch / person
        env = {**os.environ, "CLAUDE_CONFIG_DIR": f"{place}/claude", "REREAD_HOME": f"{place}/home", "NO_COLOR": "1"}
        before = self.server_seconds()
        timing = run_timed([sys.executable, "-m", "reread", *arguments], env)
        if timing.exit_code:
            sys.exit(f"{arguments} ended with {timing.exit_code}: {timing.stderr.decode(errors='replace')[-500:]}")
        return Cost(timing.cpu or 0.0, self.server_seconds() - before, timing.wall), timing

    def all(self, *arguments: str) -> tuple[Cost, int]:
        """By everybody in turn: the sum, and how many bytes went."""
        done = [
            self.run(person, *(word.replace("URL", self.url(person)) for word in arguments)) for person in self.people
        ]
        sent = [json.loads(timing.stdout).get("bytes_sent", 0) for _, timing in done if timing.stdout.startswith(b"{")]
        return Cost(*(sum(column) for column in zip(*(cost for cost, _ in done), strict=True))), sum(sent)

    def server_seconds(self) -> float:
        """Processor time of the server and all it ever started: what has ended is in the sum of its parent."""
        listed = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, check=True).stdout.split()
        pairs = zip(map(int, listed[::2]), map(int, listed[1::2]), strict=True)
        return sum(_cpu(pid) for pid, parent in pairs if self.server.pid in (pid, parent))


def _cpu(pid: int) -> float:
    """Of a process and its ended children; 0 where there is no /proc."""
    stat = Path(f"/proc/{pid}/stat")
    if not stat.exists():
        return 0.0
    fields = stat.read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def _row(name: str, cost: Cost, more: str = "") -> None:
    print(f"{name:44} {cost.client:8.2f} {cost.server:8.2f} {cost.wall:8.2f}  {more}", flush=True)


def _pushes(bench: Bench, whats: list[str]) -> None:
    print(f"{'':44} {'client':>8} {'server':>8} {'wall':>8}  (seconds; the first two of processors)")
    plain, _ = bench.all("sync")
    _row("plain sync", plain)
    for what in whats:
        words = ("push", "URL", "--what", what, "--json", "--no-sync")
        cost, sent = bench.all(*words)
        _row(
            f"push --what {what}", cost, f"{sent / 1e6:.1f} MB sent, {cost.client / plain.client:.2f}x of a plain sync"
        )
        again, sent = bench.run(bench.people[0], "push", bench.url(bench.people[0]), "--what", what, "--json")[0], 0
        _row(f"push --what {what} again, one person", again, f"wanted: {WANTED_AGAIN} together")
        with Store(bench.url("owner")) as store:
            size = status(store).bytes
        print(f"{'':44} {size / 1e6:.0f} MB in the database")


def _grown(bench: Bench, whats: list[str]) -> None:
    """A large session that goes on, pushed each time: what `push --watch` does all day."""
    person = bench.people[0]
    trunks = (bench.scratch / person / "claude" / "projects").glob("*/*.jsonl")
    path = max(trunks, key=lambda path: path.stat().st_size)
    lines = [line for line in path.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")]
    sample = [line for line in lines if b'"uuid"' in line and len(line) < 4_000][-TAIL:]
    for what in whats:
        renamed = [re.sub(rb'"uuid":"[0-9a-f]{8}', b'"uuid":"%08x' % random.getrandbits(32), line) for line in sample]
        with path.open("ab") as file:
            file.write(b"".join(renamed))
        plain, _ = bench.run(person, "sync")
        words = ("push", bench.url(person), "--what", what, "--json", "--no-sync")
        cost, timing = bench.run(person, *words)
        sent = json.loads(timing.stdout)["bytes_sent"]
        name = f"push --what {what}, {len(sample)} lines more on {path.stat().st_size / 1e6:.1f} MB"
        _row(name, cost, f"{sent / 1e3:.0f} KB sent; a plain sync of them {plain.client:.2f}")


def _copies(bench: Bench) -> None:
    """What commands cost that are given the text as files: all that a member of one team may read."""
    person = bench.people[0]
    with Store(bench.url(person)) as store, tempfile.TemporaryDirectory(dir=bench.scratch) as folder:
        before, own, began = bench.server_seconds(), time.process_time(), time.perf_counter()
        sessions = write_sources(store, Path(folder))
        cost = Cost(time.process_time() - own, bench.server_seconds() - before, time.perf_counter() - began)
        size = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())
    speed = size / 1e6 / (cost.client + cost.server or 1)
    _row("text as files, a member of one team", cost, f"{sessions} sessions, {size / 1e6:.0f} MB, {speed:.0f} MB/s")
    _row("retro over the store", bench.run(person, "--store", bench.url(person), "retro", "--json")[0])


def _questions(bench: Bench, rounds: int) -> None:
    """As a member of one team, connected."""
    now = datetime(2026, 11, 17, tzinfo=UTC)
    with Store(bench.url("owner")) as store:
        store.connection.execute("ANALYZE")
    with Store(bench.url(bench.people[0])) as store:
        for by in GROUPINGS:
            _ask(bench, f"usage {by}", rounds, partial(usage, store, by, timezone=UTC))
        for query in QUERIES:
            ask = partial(search, store, query, DEFAULT_FIELDS, Filter(), 20, now)
            _ask(bench, f"search {query} ({ask().total:,} hits)", rounds, ask)


def _ask(bench: Bench, name: str, rounds: int, ask: Callable[[], object]) -> None:
    """By the clock, and by processors: on a loaded machine the clock tells mostly of others."""
    times = []
    before, own = bench.server_seconds(), time.process_time()
    for _ in range(rounds):
        began = time.perf_counter()
        ask()
        times.append(1e3 * (time.perf_counter() - began))
    client = 1e3 * (time.process_time() - own) / rounds
    server = 1e3 * (bench.server_seconds() - before) / rounds
    times.sort()
    p95 = times[min(rounds - 1, int(rounds * 0.95))]
    told = f"median {times[rounds // 2]:6.1f}, p95 {p95:6.1f} ms (wanted: {WANTED_P95 * 1e3:.0f})"
    print(f"{name:44} {told}; processors {client:.1f} + {server:.1f} ms")


def _exact(bench: Bench, truth: Truth) -> None:
    with Store(bench.url("owner")) as store:
        report: UsageReport = usage(store, "day", timezone=UTC)
        found, wanted = cells_in(report), merged(truth.cells)
        number, wrong = verify(store, packaged_prices())
    cells = {(day, model) for days in (found, wanted) for day, models in days.items() for model in models}
    different = [cell for cell in sorted(cells) if _cell(found, cell) != _cell(wanted, cell)]
    print(f"{len(cells)} cells of day and model, {len(different)} of them different from what was generated")
    print(f"{number:,} responses, {len(wrong)} of them different when settled and priced anew")


def _cell(cells: dict[str, dict[str, dict[str, int]]], place: tuple[str, str]) -> dict[str, int] | None:
    return cells.get(place[0], {}).get(place[1])


if __name__ == "__main__":
    main()
