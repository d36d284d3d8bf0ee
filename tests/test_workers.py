"""Work shared out to forks of the process: everything is done once, whatever becomes of a fork."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import pytest

from reread import errors, workers
from reread.testing import a_prompt, a_session
from reread.workers import in_order_by_shares, is_alone, worker_pool

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nothing is forked")

# In a process of its own: under pytest other threads may run, and nothing would be forked.
SCRIPT = """
import json, os, signal, sys
from reread.workers import share_out
here = os.getpid()
os.cpu_count = lambda: 3

def work(numbers):
    found = []
    for number in numbers:
        FATE
        found.append(number * number)
    return [os.getpid() != here, found]

try:
    print(json.dumps(share_out(40, work, lambda made: json.dumps(made).encode(), json.loads)))
except ValueError as problem:
    print(json.dumps(str(problem)))
try:
    sys.exit(f"left behind: {os.waitpid(-1, os.WNOHANG)}")
except ChildProcessError:
    pass
"""


class Done(NamedTuple):
    by_forks: list[int]
    here: list[int]
    processes: int


def output_of(fate: str) -> bytes:
    script = SCRIPT.replace("FATE", fate)
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, timeout=60)
    assert run.stderr == b""
    return run.stdout


def shared_out(fate: str) -> Done:
    found: list[tuple[bool, list[int]]] = json.loads(output_of(fate))
    by_forks, here = ([each for fork, made in found if fork is where for each in made] for where in (True, False))
    return Done(by_forks, here, len(found))


SQUARES = [number * number for number in range(40)]


def test_every_number_is_worked_on_once_by_several_processes() -> None:
    found = shared_out("__import__('time').sleep(0.005)")
    assert sorted(found.by_forks + found.here) == SQUARES
    assert found.processes == 3


@pytest.mark.parametrize("fate", ["os.kill(os.getpid(), signal.SIGKILL)", "raise OSError"])
def test_what_a_dead_fork_had_taken_is_done_here(fate: str) -> None:
    found = shared_out(f"if os.getpid() != here: {fate}\n        __import__('time').sleep(0.005)")
    assert sorted(found.here) == SQUARES
    assert not found.by_forks


@pytest.mark.parametrize("where", ["number == 7", "os.getpid() == here"])
def test_an_error_is_raised_where_the_work_was_asked_for_and_no_process_is_left(where: str) -> None:
    fate = f"if {where}: raise ValueError('seven is odd')\n        __import__('time').sleep(0.005)"
    assert json.loads(output_of(fate)) == "seven is odd"


KILLED = """
import os, signal, sys
from reread.errors import WorkerLost
from reread.workers import in_order

def work(number):
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return number

done = []
try:
    for _, found in in_order(work, range(10), 2):
        done.append(found)
except WorkerLost as problem:
    print(done == list(range(len(done))), problem)
"""


def test_small_jobs_are_done_together_and_told_one_by_one_in_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[int]] = []

    def in_order(
        work: Callable[[list[int]], list[int]], shares: Iterable[list[int]], *_: int
    ) -> Iterator[tuple[list[int], list[int]]]:
        for share in shares:
            asked.append(share)
            yield share, work(share)

    monkeypatch.setattr(workers, "in_order", in_order)
    told = list(in_order_by_shares(abs, range(-9, 0), lambda size: -size, 10, 4, 100))
    assert told == [(number, -number) for number in range(-9, 0)]
    assert asked == [[-9, -8], [-7, -6], [-5, -4, -3], [-2, -1]]


def test_a_worker_that_is_killed_is_told_in_a_sentence() -> None:
    run = subprocess.run([sys.executable, "-c", KILLED], capture_output=True, check=True, timeout=60)
    assert run.stdout.startswith(b"True a process that was helping was ended")
    assert b"\n" not in run.stdout.strip()


UNGUARDED = """
import threading, time
print("runs", flush=True)
threading.Thread(target=time.sleep, args=(600,), daemon=True).start()  # so that nothing can be forked
import reread
from reread import workers
workers.ALONE_BELOW = 0
with reread.open(HOME, [SOURCE]) as archive:
    print(archive.sync().sessions)
"""


def test_a_callers_script_without_a_guard_is_run_once(tmp_path: Path) -> None:
    for number in range(3):
        a_session(a_prompt("hello"), id=f"0a1b2c3d-1111-4222-8333-44445555666{number}").write(tmp_path / "projects")
    script = tmp_path / "script.py"
    code = UNGUARDED.replace("HOME", repr(str(tmp_path / "home"))).replace("SOURCE", repr(str(tmp_path / "projects")))
    script.write_text(code, "utf-8")
    run = subprocess.run([sys.executable, str(script)], capture_output=True, check=False, timeout=60)
    assert (run.stdout.split(), run.stderr) == ([b"runs", b"3"], b"")


@pytest.mark.parametrize(
    ("program", "has_script", "may"),
    [
        ("/usr/bin/reread", True, True),
        ("C:/venv/Scripts/reread", True, True),
        ("/lib/python3.12/site-packages/reread/__main__.py", True, True),
        ("/home/ann/tool.py", True, False),
        ("", False, True),
        ("-c", False, True),
    ],
)
def test_whose_processes_may_be_started_anew(
    program: str, has_script: bool, may: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    main = ModuleType("__main__")
    if has_script:
        main.__file__ = program
    monkeypatch.setitem(sys.modules, "__main__", main)
    monkeypatch.setattr(sys, "argv", [program])
    monkeypatch.setattr("reread.workers.is_safe_to_fork", lambda: False)
    monkeypatch.setattr("os.cpu_count", lambda: 4)
    assert is_alone(10**9) is not may
    assert is_alone(10)


@pytest.mark.parametrize(
    "error",
    [
        errors.SourceError(Path("a"), "is gone"),
        errors.RefusedBackup(Path("a"), "is none"),
        errors.UnknownSession("a", [Path("b")]),
        errors.AmbiguousSession("a", ["b", "c"]),
        errors.BadInput("no"),
        errors.ClientError("it ended", 3, ["why"]),
        errors.StoreError("no"),
        errors.ReadOnlyArchive(Path("a")),
        errors.SafeError(Path("a"), "no"),
        errors.SafeBusy(Path("a"), 7),
        errors.SafeDamaged(1, 2, "no", "a"),
        errors.WorkerLost(),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_comes_out_of_a_worker_as_it_was(error: errors.RereadError) -> None:
    again = pickle.loads(pickle.dumps(error))  # noqa: S301  our own
    assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))


def test_a_pool_is_made_on_windows_however_many_processors_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    with worker_pool():  # imports what depends on the system
        pass
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    monkeypatch.setattr(sys, "platform", "win32")
    with worker_pool() as pool:
        assert pool is not None
