"""What a hundred thousand small sessions cost, as ratios to a thousand of them.

    python bench/many.py [--sessions 1000 100000] [--folder FOLDER] [--only NAME ...] [--no-sync] [--named]

Makes trees of N sessions of about 1.1 kB, syncs each into an archive, and prints CPU seconds, their ratio to the
smallest tree and the peak memory of what people repeat. Trees and archives are kept in FOLDER and used again.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from http import HTTPStatus
from http.client import HTTPConnection
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from peers import Timing, run_timed
from textpool import TextPool, text_pool

ROUNDS = 3
LONG = 3.0
PROJECTS = 200
DAYS = 365
WORD = "because"
"""One of the commonest words of the pool: about one session in twenty has it."""
MOST_MEMORY = 250_000_000
PAGES = ("/", "/sessions", "/sessions?group=1&sort=cost", f"/search?q={WORD}", f"/palette?q={WORD}", "/live", "/retro")


class Case(NamedTuple):
    """A command, and what is wanted of it with most sessions: CPU as a ratio to fewest, or in seconds."""

    arguments: tuple[str, ...]
    ratio: float | None = None
    seconds: float | None = None
    given: bytes = b""


STATUS = json.dumps({"session_id": "bench", "model": {"id": "claude-opus-5-5", "display_name": "Opus 5.5"}}).encode()
CASES = {
    "sync, nothing new": Case(("sync",)),
    "search": Case(("search", WORD), ratio=3),
    "search --project": Case(("search", WORD, "--project", "project-7")),
    "list --limit 20": Case(("list", "--limit", "20"), ratio=3),
    "list --since 7d --limit 20": Case(("list", "--since", "2026-11-06", "--limit", "20")),
    "usage": Case(("usage",), ratio=3),
    "statusline": Case(("statusline",), ratio=3, given=STATUS),
    "overview": Case((), seconds=1),
    "projects": Case(("projects",), seconds=1),
    "prompts --limit 20": Case(("prompts", "--limit", "20")),
    "tools": Case(("tools",)),
    "retro": Case(("retro",), seconds=5),
    "retro --since 30d": Case(("retro", "--since", "2026-10-14")),
    "show @last": Case(("show", "@last")),
    "list --json": Case(("list", "--json")),
    "thinking --limit 20": Case(("thinking", "--limit", "20")),
    "files --limit 20": Case(("files", "--limit", "20")),
    "archive status": Case(("archive", "status")),
    "archive verify": Case(("archive", "verify")),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=int, nargs="+", default=[1_000, 100_000])
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "reread-many")
    parser.add_argument("--only", nargs="+", metavar="NAME", help=f"some of: {', '.join((*CASES, 'serve'))}")
    parser.add_argument("--no-sync", action="store_true", help="without the look for changes that commands begin with")
    parser.add_argument("--named", action="store_true", help="name source and archive by options, not by environment")
    given = parser.parse_args()
    seen = [
        _measure(given.folder, number, given.only, no_sync=given.no_sync, is_named=given.named)
        for number in sorted(given.sessions)
    ]
    _report(sorted(given.sessions), seen)


def make_tree(folder: Path, sessions: int) -> Path:
    """A tree of so many sessions, made once and kept."""
    tree = folder / f"tree-{sessions}"
    if not tree.exists():
        print(f"writing {sessions:,} sessions ...", flush=True)
        making = folder / f"making-{sessions}"
        pool, rng = text_pool(7), random.Random(f"many:{sessions}")
        end = datetime(2026, 11, 13, tzinfo=UTC).timestamp()
        for number in range(sessions):
            _write_session(making, pool, rng, number, end - (sessions - number) * DAYS * 86_400 / sessions)
        making.rename(tree)
    return tree


def _write_session(tree: Path, pool: TextPool, rng: random.Random, number: int, began: float) -> None:
    name, cwd = str(uuid.UUID(int=rng.getrandbits(128), version=4)), f"/home/ann/src/project-{number % PROJECTS}"
    prompt, reply = (str(uuid.UUID(int=rng.getrandbits(128), version=4)) for _ in range(2))
    shared = {"sessionId": name, "cwd": cwd, "version": f"2.1.{number * 90 // 100_000 + 10}", "gitBranch": "main"}
    asked = pool.prose(rng, 70)
    answer = {
        "id": f"msg_{number:08}",
        "type": "message",
        "role": "assistant",
        "model": "claude-opus-4-8",
        "content": [{"type": "text", "text": pool.prose(rng, 210)}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 1_000, "output_tokens": 90, "cache_read_input_tokens": 5_000},
    }
    lines: tuple[dict[str, object], ...] = (
        {"type": "user", "uuid": prompt, "parentUuid": None, "message": {"role": "user", "content": asked}},
        {"type": "assistant", "uuid": reply, "parentUuid": prompt, "requestId": f"req_{number:08}", "message": answer},
    )
    path = tree / "projects" / cwd.replace("/", "-") / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(
        json.dumps({**line, **shared, "timestamp": _iso(began + 5 * i)}) + "\n" for i, line in enumerate(lines)
    )
    path.write_text(text)
    os.utime(path, (began + 5, began + 5))


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _measure(
    folder: Path, sessions: int, only: list[str] | None, *, no_sync: bool, is_named: bool
) -> dict[str, Timing]:
    folder.mkdir(parents=True, exist_ok=True)
    tree, home = make_tree(folder, sessions), folder / f"home-{sessions}"
    env = {**os.environ, "REREAD_HOME": str(home), "CLAUDE_CONFIG_DIR": str(tree), "NO_COLOR": "1"}
    named = ("--source", str(tree), "--home", str(home)) if is_named else ()
    found: dict[str, Timing] = {}
    if not home.exists():
        found["sync, cold"] = _reread(env, Case(("sync",)))
    for name, case in CASES.items():
        if only is None or name in only:
            more: tuple[str, ...] = named if name != "statusline" else ()
            more += ("--no-sync",) if no_sync and name not in ("statusline", "sync, nothing new") else ()
            found[name] = _best(env, case._replace(arguments=(*case.arguments, *more)))
    if only is None or "serve" in only:
        found["serve, first page"] = _served(env, PAGES[:1])
        found["serve, pages"] = _served(env, PAGES)
    return found


def _best(env: Mapping[str, str], case: Case) -> Timing:
    """The best of some rounds; what takes long is no matter of chance."""
    runs = [_reread(env, case)]
    while len(runs) < ROUNDS and runs[0].wall < LONG:
        runs.append(_reread(env, case))
    return min(runs, key=lambda timing: timing.cpu or timing.wall)


def _reread(env: Mapping[str, str], case: Case) -> Timing:
    timing = run_timed([sys.executable, "-m", "reread", *case.arguments], env, case.given)
    if timing.exit_code:
        sys.exit(f"reread {' '.join(case.arguments)}: {timing.stderr.decode()}")
    return timing


def _served(env: Mapping[str, str], pages: Sequence[str]) -> Timing:
    """A server from its start until it has given some pages; CPU and memory where /proc tells them."""
    command = [sys.executable, "-m", "reread", "serve", "--no-browser", "--port", "0"]
    begin = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, env=dict(env))
    try:
        assert process.stdout is not None
        address = urlsplit(process.stdout.readline().decode().split()[-1])
        connection = HTTPConnection("127.0.0.1", address.port or 0)
        connection.request("GET", f"{address.path}?{address.query}")
        answer = connection.getresponse()
        cookie = (answer.getheader("Set-Cookie") or "").partition(";")[0]
        answer.read()
        for page in pages:
            connection.request("GET", page, headers={"Cookie": cookie})
            answer = connection.getresponse()
            body = answer.read()
            if answer.status != HTTPStatus.OK:
                sys.exit(f"{page}: {answer.status}")
        wall = time.perf_counter() - begin
        time.sleep(1)  # what goes on behind the page belongs to it
        return Timing(wall, _cpu(process.pid), _peak(process.pid), 0, body, b"")
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def _cpu(pid: int) -> float | None:
    stat = Path(f"/proc/{pid}/stat")
    if not stat.exists():
        return None
    user, system = stat.read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def _peak(pid: int) -> int | None:
    status = Path(f"/proc/{pid}/status")
    if not status.exists():
        return None
    return next(int(line.split()[1]) * 1024 for line in status.read_text().splitlines() if line.startswith("VmHWM"))


def _report(sizes: list[int], seen: list[dict[str, Timing]]) -> None:
    print(f"{'CPU s, MB':28}", *(f"{size:>18,}" for size in sizes), "  ratio  wanted")
    for name in seen[-1]:
        timings = [each.get(name) for each in seen]
        print(f"{name:28}", *(_figures(timing) for timing in timings), _verdict(name, timings), flush=True)


def _figures(timing: Timing | None) -> str:
    if timing is None:
        return f"{'':>18}"
    return f"{timing.cpu or timing.wall:8.2f} s {(timing.max_rss or 0) / 1e6:4.0f} MB"


def _verdict(name: str, timings: list[Timing | None]) -> str:
    first, last = timings[0], timings[-1]
    if first is None or last is None or not first.cpu or not last.cpu:
        return ""
    case, ratio = CASES.get(name), last.cpu / first.cpu
    wanted = [f"{MOST_MEMORY / 1e6:.0f} MB"] if (last.max_rss or 0) > MOST_MEMORY else []
    if case is not None and case.ratio is not None and ratio > case.ratio:
        wanted.append(f"{case.ratio:.0f}x")
    if case is not None and case.seconds is not None and last.cpu > case.seconds:
        wanted.append(f"{case.seconds:.0f} s")
    return f"{ratio:6.1f}x  {'wanted: ' + ', '.join(wanted) if wanted else 'as wanted'}"


if __name__ == "__main__":
    main()
