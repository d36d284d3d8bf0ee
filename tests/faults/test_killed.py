"""Killed at any moment, a sync goes on where it stopped: nothing lost, nothing twice."""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from pathlib import Path

import pytest

from faults.syncing import started
from reread.safe.safe import lock
from trees import Tree, a_tree, append, assert_true, resume_copy, traces

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")
KILLS = 20


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    return a_tree(tmp_path_factory.mktemp("tree"), size=2_500_000)


@pytest.fixture(scope="module")
def seconds(tree: Tree, tmp_path_factory: pytest.TempPathFactory) -> float:
    """How long an undisturbed sync works, from its first line on."""
    with started(tmp_path_factory.mktemp("measured") / "home", tree.source) as sync:
        assert sync.stdout is not None
        sync.stdout.readline()
        begun = time.monotonic()
        assert sync.wait(60) == 0
        return time.monotonic() - begun


def killed(home: Path, source: Path, after: float, *, alone: int) -> bool:
    """Whether the sync was still at work when it was killed."""
    with started(home, source, alone=alone) as sync:
        assert sync.stdout is not None
        sync.stdout.readline()
        time.sleep(after)
        workers = children_of(sync.pid)
        sync.kill()
        was_at_work = sync.wait(60) != 0
    for pid in filter(is_alive, workers):
        os.kill(pid, signal.SIGKILL)
    return was_at_work


@pytest.mark.sampled(2)
@pytest.mark.parametrize("number", range(KILLS))
def test_a_first_sync_killed_at_a_random_moment_goes_on(
    tree: Tree, seconds: float, tmp_path: Path, number: int
) -> None:
    moment = random.Random(f"kill:{number}").random()
    before = traces(tree.source)
    home = tmp_path / "home"
    killed(home, tree.source, moment * seconds, alone=0 if number % 2 else 1 << 40)
    with Tree(tree.source, home, tree.truth).archive() as archive:
        archive.sync()
        assert_true(archive, tree.truth)
        assert archive.sync().files == 0
    assert traces(tree.source) == before


def test_kills_do_come_in_the_middle(tree: Tree, seconds: float, tmp_path: Path) -> None:
    """Otherwise the test above shows nothing."""

    def has_some(part: int) -> bool:
        home = tmp_path / str(part)
        was_at_work = killed(home, tree.source, seconds * part / 12, alone=1 << 40)
        with Tree(tree.source, home, tree.truth).archive() as archive:
            return was_at_work and 0 < len(archive.sessions()) < len(tree.truth.by_session)

    # Later and later: a busy machine is slower than it was when `seconds` was measured.
    assert any(has_some(part) for part in range(1, 33))


def test_killed_again_and_again_it_still_gets_there(tree: Tree, seconds: float, tmp_path: Path) -> None:
    home = tmp_path / "home"
    for number in range(6):
        killed(home, tree.source, seconds * random.Random(number).random() / 2, alone=1 << 40)
    with Tree(tree.source, home, tree.truth).archive() as archive:
        archive.sync()
        assert_true(archive, tree.truth)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("number", range(4))
def test_appends_and_a_resumed_copy_are_taken_in_after_a_kill(tmp_path: Path, number: int) -> None:
    tree = a_tree(tmp_path, size=1_200_000, seed=number)
    with tree.archive() as archive:
        archive.sync()
        assert_true(archive, tree.truth)
    append(tree.source, tree.truth, sessions=5)
    killed(tree.home, tree.source, 0.05 * number, alone=1 << 40)
    with tree.archive() as archive:
        archive.sync()
        assert_true(archive, tree.truth)
    resume_copy(tree.source, tree.truth)
    killed(tree.home, tree.source, 0.04 * number, alone=1 << 40)
    with tree.archive() as archive:
        archive.sync()
        assert_true(archive, tree.truth)


def test_workers_of_a_killed_sync_neither_hold_the_lock_nor_live_on(tree: Tree, tmp_path: Path) -> None:
    home = tmp_path / "home"
    with started(home, tree.source, alone=0) as sync:
        assert sync.stdout is not None
        sync.stdout.readline()
        children = wait_for_children(sync.pid)
        sync.kill()
        sync.wait(60)
    with lock(home / "safe", timeout=20):
        pass
    deadline = time.monotonic() + 30
    while (left := [pid for pid in children if is_alive(pid)]) and time.monotonic() < deadline:
        time.sleep(0.05)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert not left


def wait_for_children(pid: int) -> list[int]:
    if not Path("/proc/self/task").exists():
        pytest.skip("no /proc")
    deadline = time.monotonic() + 20
    while not (children := children_of(pid)) and time.monotonic() < deadline:
        time.sleep(0.005)
    assert children, "the sync started no workers"
    return children


def children_of(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
