"""Installs and drives the programs reread is measured against: agentsview, ccusage and ripgrep.

    python bench/peers.py TREE [--truth FILE] [--rounds 1] [--cache FOLDER]

TREE is a Claude config directory, as bench/generate.py makes one.
Every program is its native binary, started in an environment that holds nothing of the caller's.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from truth import Needle, Truth

__all__ = [
    "Command",
    "Peers",
    "Server",
    "Timing",
    "install",
    "install_agentsview",
    "install_ccusage",
    "install_reread",
    "listening",
    "run_timed",
    "serving",
]

AGENTSVIEW = "0.46.1"
CCUSAGE = "20.0.20"
CACHE = Path(__file__).parents[1] / ".cache" / "peers"
WINDOWS = sys.platform == "win32"
EXE = ".exe" if WINDOWS else ""

Mode = Literal["fts", "substring"]


class Command(NamedTuple):
    """What to start, and the whole environment to start it in."""

    argv: tuple[str, ...]
    env: dict[str, str]


@dataclass(frozen=True)
class Peers:
    """The installed programs, and the command lines that work."""

    agentsview: Path
    ccusage: Path
    rg: Path
    home: Path
    """An empty folder: no peer may find the settings or transcripts of whoever runs the benchmark."""

    def agentsview_sync(self, tree: Path, data: Path) -> Command:
        """Reads a tree into `data`: cold when the folder is fresh, and a check for changes the next time."""
        return Command((str(self.agentsview), "sync"), self._agentsview_env(tree, data))

    def agentsview_server(self, tree: Path, data: Path) -> Command:
        """Serves what is in `data` in the foreground, without watching the tree for changes."""
        flags = ("--no-sync", "--no-browser", "--no-update-check", "--port", "0")
        return Command((str(self.agentsview), "serve", *flags), self._agentsview_env(tree, data))

    def agentsview_search(self, query: str, data: Path, mode: Mode) -> Command:
        """Asks the running server of `data`: agentsview 0.46 refuses to search a database by itself."""
        # Without these three it leaves out agents' transcripts and sessions of one prompt.
        everything = ("--include-children", "--include-one-shot", "--include-automated")
        flags = (*everything, "--json", "--limit", "500", *(["--fts"] if mode == "fts" else []))
        argv = (str(self.agentsview), "session", "search", query, *flags)
        return Command(argv, self._agentsview_env(self.home, data))

    def ccusage_daily(self, tree: Path) -> Command:
        """Adds up every request by day and model, with the prices it brings along."""
        argv = (str(self.ccusage), "daily", "--json", "--offline", "--timezone", "UTC")
        return Command(argv, {**self._env(), "CLAUDE_CONFIG_DIR": str(tree)})

    def ripgrep(self, query: str, tree: Path) -> Command:
        """Counts the matching lines of each raw file; three u's, or it skips hidden, ignored and binary files."""
        argv = (str(self.rg), "--no-config", "-uuu", "--fixed-strings", "--count", "-e", query, str(tree / "projects"))
        return Command(argv, self._env())

    def _agentsview_env(self, tree: Path, data: Path) -> dict[str, str]:
        return {
            **self._env(),
            "AGENTSVIEW_DATA_DIR": str(data),
            "CLAUDE_PROJECTS_DIR": str(tree / "projects"),
            "AGENTSVIEW_NO_DAEMON": "1",
            "AGENTSVIEW_TELEMETRY_ENABLED": "0",
            "AGENTSVIEW_DISABLE_UPDATE_CHECK": "1",
            "DO_NOT_TRACK": "1",
        }

    def _env(self) -> dict[str, str]:
        home = str(self.home)
        if not WINDOWS:
            return {"HOME": home, "PATH": os.defpath, "LANG": "C.UTF-8"}
        needed = {"SYSTEMROOT": os.environ["SYSTEMROOT"], "PATH": os.environ["PATH"], "TEMP": tempfile.gettempdir()}
        return {"USERPROFILE": home, "APPDATA": home, "LOCALAPPDATA": home, **needed}


def install(folder: Path) -> Peers:
    """Installs what is missing from the package registries into `folder`; raises CalledProcessError."""
    folder = folder.resolve()
    home = folder / "home"
    home.mkdir(parents=True, exist_ok=True)
    return Peers(_agentsview(folder), _ccusage(folder), _rg(), home)


def install_agentsview(folder: Path) -> Peers:
    """The one that has pages; raises CalledProcessError."""
    home = folder.resolve() / "home"
    home.mkdir(parents=True, exist_ok=True)
    binary = _agentsview(folder.resolve())
    return Peers(agentsview=binary, ccusage=binary, rg=binary, home=home)


def install_ccusage(folder: Path, version: str) -> Peers:
    """Any version of ccusage; raises CalledProcessError, or FileNotFoundError where there is no program."""
    home = folder.resolve() / "home"
    home.mkdir(parents=True, exist_ok=True)
    binary = _ccusage(folder.resolve(), version)
    return Peers(agentsview=binary, ccusage=binary, rg=binary, home=home)


def install_reread(folder: Path) -> Path:
    """The Python of an environment that has this project and nothing else, as its users have it.

    Beside a type checker every start takes 10 ms longer: msgspec imports `typing_extensions` where it is.
    """
    target = folder.resolve() / "reread"
    python = target / ("Scripts" if WINDOWS else "bin") / f"python{EXE}"
    if not python.exists():
        _quietly(sys.executable, "-m", "venv", str(target))
    root = Path(__file__).parents[1]
    _quietly(str(python), "-m", "pip", "install", "--upgrade", "--force-reinstall", "--no-deps", str(root))
    _quietly(str(python), "-m", "pip", "install", str(root))
    return python


def _agentsview(folder: Path) -> Path:
    target = folder / f"agentsview-{AGENTSVIEW}"
    # The wheel's own script starts Python first; the binary lies in the package.
    binary = target / "agentsview" / "bin" / f"agentsview{EXE}"
    if not binary.exists():
        wheel = f"agentsview=={AGENTSVIEW}"
        _quietly(sys.executable, "-m", "pip", "install", "--no-deps", "--upgrade", "--target", str(target), wheel)
        binary.chmod(0o755)
    return binary


def _ccusage(folder: Path, version: str = CCUSAGE) -> Path:
    target = folder / f"ccusage-{version}"
    pattern = f"node_modules/@ccusage/*/bin/ccusage{EXE}"
    if not any(target.glob(pattern)):
        npm = _found("npm")
        _quietly(npm, "install", "--no-audit", "--no-fund", "--prefix", str(target), f"ccusage@{version}")
    binary = next(target.glob(pattern), None)
    if binary is None:
        raise FileNotFoundError(f"the registry has no program of ccusage {version} for this machine")
    binary.chmod(0o755)  # ccusage 20 ships it without the bit, and its node wrapper sets it when it first runs
    return binary


def _rg() -> Path:
    if shutil.which("rg") is None and shutil.which("apt-get"):
        _quietly("apt-get", "install", "-y", "ripgrep")
    return Path(_found("rg"))


def _found(program: str) -> str:
    path = shutil.which(program)
    if path is None:
        raise FileNotFoundError(f"{program} is not installed")
    return path


def _quietly(*argv: str) -> None:
    subprocess.run(argv, check=True, stdout=sys.stderr)


@dataclass(frozen=True)
class Timing:
    """What one run of a program took, and what it said."""

    wall: float
    cpu: float | None
    """User and system seconds of the program and the children it waited for; None on Windows."""
    max_rss: int | None
    """Peak resident bytes; None on Windows."""
    exit_code: int
    stdout: bytes
    stderr: bytes


# A child's peak starts from the memory of the process it was started from (Linux copies it across exec),
# so a bare interpreter of some 10 MB stands in between, and holds the clock.
_LAUNCHER = """
import os, sys, time
begin = time.perf_counter()
child = os.posix_spawn(sys.argv[2], sys.argv[2:], os.environ)
_, status, used = os.wait4(child, 0)
wall = time.perf_counter() - begin
figures = wall, used.ru_utime + used.ru_stime, used.ru_maxrss, os.waitstatus_to_exitcode(status)
os.write(int(sys.argv[1]), repr(figures)[1:-1].encode())
"""


def run_timed(argv: Sequence[str], env: Mapping[str, str], given: bytes = b"") -> Timing:
    """Runs a program to its end, with this input; argv[0] is a full path, a failure shows in the exit code only."""
    if WINDOWS:
        begin = time.perf_counter()
        done = subprocess.run(argv, env=env, input=given, capture_output=True, check=False)
        return Timing(time.perf_counter() - begin, None, None, done.returncode, done.stdout, done.stderr)
    reading, writing = os.pipe()
    launcher = (sys.executable, "-I", "-S", "-c", _LAUNCHER, str(writing), *argv)
    with os.fdopen(reading, "rb") as figures:
        try:
            done = subprocess.run(launcher, env=env, input=given, capture_output=True, check=True, pass_fds=(writing,))
        finally:
            os.close(writing)
        wall, cpu, rss, code = map(float, figures.read().split(b","))
    unit = 1 if sys.platform == "darwin" else 1024
    return Timing(wall, cpu, int(rss) * unit, int(code), done.stdout, done.stderr)


@dataclass(frozen=True)
class Server:
    """A running agentsview server, which does the work of a search."""

    peers: Peers
    data: Path
    pid: int

    def search(self, query: str, mode: Mode) -> Timing:
        """One search as a person starts it: the client's wall time, and the CPU of client and server."""
        before = self._cpu()
        timing = run_timed(*self.peers.agentsview_search(query, self.data, mode))
        after = self._cpu()
        if before is None or after is None or timing.cpu is None:
            return timing
        return replace(timing, cpu=timing.cpu + after - before, max_rss=self._max_rss())

    def _cpu(self) -> float | None:
        """User and system seconds so far, in steps of 10 ms; None where there is no /proc."""
        stat = Path(f"/proc/{self.pid}/stat")
        if not stat.exists():
            return None
        # Fields 14 and 15, counted from behind the name, which may hold spaces.
        user, system = stat.read_text().rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def _max_rss(self) -> int:
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0]) * 1024


@contextmanager
def serving(peers: Peers, tree: Path, data: Path, patience: float = 120) -> Iterator[Server]:
    """A server over `data` that already answers; ended on the way out."""
    argv, env = peers.agentsview_server(tree, data)
    quiet = subprocess.DEVNULL
    with subprocess.Popen(argv, env=env, stdin=quiet, stdout=quiet, stderr=quiet) as process:
        try:
            server = Server(peers, data, process.pid)
            _wait_for(server, process, patience)
            yield server
        finally:
            process.terminate()


@contextmanager
def listening(peers: Peers, tree: Path, data: Path) -> Iterator[str]:
    """The address of a server over `data`, for a browser; ended on the way out."""
    argv, env = peers.agentsview_server(tree, data)
    quiet = subprocess.DEVNULL
    with subprocess.Popen(argv, env=env, stdin=quiet, stdout=subprocess.PIPE, stderr=quiet, text=True) as process:
        try:
            assert process.stdout is not None
            said = next((line for line in process.stdout if "listening at" in line), "")
            if not said:
                raise TimeoutError(f"agentsview does not serve {data}")
            yield said.partition("listening at ")[2].split()[0]
        finally:
            process.terminate()


def _wait_for(server: Server, process: subprocess.Popen[bytes], patience: float) -> None:
    deadline = time.monotonic() + patience
    while server.search("ready", "fts").exit_code != 0:
        if process.poll() is not None or time.monotonic() > deadline:
            raise TimeoutError(f"agentsview does not serve {server.data}")
        time.sleep(0.2)


class _Match(msgspec.Struct):
    session_id: str
    location: str


class _Matches(msgspec.Struct):
    matches: list[_Match]


def main() -> None:
    options = _options()
    peers = install(options.cache)
    truth = Truth.read(options.truth or options.tree.with_name(options.tree.name + ".truth.json"))
    needles = list({needle.field: needle for needle in truth.needles}.values())
    print(f"{truth.totals.bytes / 1e6:,.0f} MB, {len(truth.by_session):,} sessions, {truth.files:,} files\n")
    print(f"{'':34}{'wall s':>9}{'CPU s':>9}{'peak MB':>9}")
    for _ in range(options.rounds):
        _measure(peers, options.tree.resolve(), needles)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree", type=Path)
    parser.add_argument("--truth", type=Path, help="default: TREE.truth.json beside TREE")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--cache", type=Path, default=CACHE, help="where the peers are installed")
    return parser.parse_args()


def _measure(peers: Peers, tree: Path, needles: list[Needle]) -> None:
    _row("ccusage daily", (daily := run_timed(*peers.ccusage_daily(tree))), _total_tokens(daily))
    for needle in needles[:1]:
        _row("rg --count", (counted := run_timed(*peers.ripgrep(needle.word, tree))), _lines_found(counted))
    with tempfile.TemporaryDirectory(prefix="agentsview-") as folder:
        data = Path(folder)
        for name in ("agentsview sync, cold", "agentsview sync, no change"):
            synced = run_timed(*peers.agentsview_sync(tree, data))
            _row(name, synced, f"{_size(data) / 1e6:,.0f} MB stored; {_last_line(synced.stdout)}")
        with serving(peers, tree, data) as server:
            for needle in needles:
                _row(
                    f"search --fts, {needle.field}", (found := server.search(needle.word, "fts")), _hits(found, needle)
                )
                found = server.search(needle.word, "substring")
                _row(f"search, {needle.field}", found, _hits(found, needle))


def _row(name: str, timing: Timing, note: str) -> None:
    if timing.exit_code != 0:
        note = f"exit {timing.exit_code}: {_last_line(timing.stderr)}"
    cpu = "-" if timing.cpu is None else f"{timing.cpu:.2f}"
    peak = "-" if timing.max_rss is None else f"{timing.max_rss / 1e6:.0f}"
    print(f"{name:34}{timing.wall:9.2f}{cpu:>9}{peak:>9}  {note}", flush=True)


def _total_tokens(timing: Timing) -> str:
    return f"{json.loads(timing.stdout)['totals']['totalTokens']:,} tokens" if timing.exit_code == 0 else ""


def _lines_found(timing: Timing) -> str:
    return f"{sum(int(line.rpartition(b':')[2]) for line in timing.stdout.splitlines())} lines"


def _hits(timing: Timing, needle: Needle) -> str:
    if timing.exit_code != 0:
        return ""
    matches = msgspec.json.decode(timing.stdout, type=_Matches).matches
    places = ", ".join(match.location for match in matches if match.session_id == needle.session)
    return f"{len(matches)} hits; in the right session: {places or 'none'}"


def _last_line(output: bytes) -> str:
    return output.decode(errors="replace").strip().rpartition("\n")[2]


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


if __name__ == "__main__":
    main()
