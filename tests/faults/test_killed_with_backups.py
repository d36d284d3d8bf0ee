"""Killed at any moment, a sync or a forget loses no backup, and the next one goes on."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import pytest

from faults.syncing import started
from histories import a_config, a_fork, an_archive, backups_in, folder_of

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")
KILLS = 8
SESSIONS = [f"{number:08d}-1111-4222-8333-444455556666" for number in range(3)]
FORKS = [f"{number:08d}-ffff-4222-8333-444455556666" for number in range(3)]
FORGET = """
import sys
from pathlib import Path
from reread.archive import Archive
with Archive(Path(sys.argv[1]), machine="desk") as archive:
    print("begun", flush=True)
    archive.safe.forget(sys.argv[2])
"""


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tree")
    chance = random.Random(7)
    for session, fork in zip(SESSIONS, FORKS, strict=True):
        contents = {f"{number:016x}@v1": chance.randbytes(chance.randrange(30_000)) for number in range(40)}
        made = a_config(folder, contents, session)
        a_fork(made, session, fork)
    return made


def assert_kept(home: Path, config: Path, sessions: list[str], to: Path) -> None:
    with an_archive(config) as archive:
        archive.inner.home = home
        archive.sync()
        assert archive.safe.verify().damaged == []
        for session in sessions:
            archive.safe.restore(session, to / session)
            assert backups_in(to / session / "file-history" / session) == backups_in(folder_of(config, session))
        assert archive.sync().files == 0


def killed(process: subprocess.Popen[bytes], after: float) -> None:
    with process:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(after)
        process.kill()


def undisturbed(process: subprocess.Popen[bytes]) -> float:
    """How many seconds it works, from its first line on."""
    with process:
        assert process.stdout is not None
        process.stdout.readline()
        begun = time.monotonic()
        assert process.wait(60) == 0
        return time.monotonic() - begun


def a_sync(home: Path, config: Path) -> subprocess.Popen[bytes]:
    return started(home, config, commit=200_000, alone=1 << 40)


def a_forget(home: Path, session: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", FORGET, str(home), session], stdout=subprocess.PIPE)


class Whole(NamedTuple):
    """An archive with everything in it, and how long that took."""

    home: Path
    seconds: float


@pytest.fixture(scope="module")
def whole(config: Path, tmp_path_factory: pytest.TempPathFactory) -> Whole:
    home = tmp_path_factory.mktemp("whole") / "home"
    return Whole(home, undisturbed(a_sync(home, config)))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("number", range(KILLS))
def test_a_sync_goes_on_with_the_backups(config: Path, whole: Whole, tmp_path: Path, number: int) -> None:
    moment = random.Random(f"backups:{number}").random() * whole.seconds
    killed(a_sync(tmp_path / "home", config), moment)
    assert_kept(tmp_path / "home", config, SESSIONS + FORKS, tmp_path / "back")


@pytest.fixture(scope="module")
def seconds_of_a_forget(whole: Whole, tmp_path_factory: pytest.TempPathFactory) -> float:
    home = tmp_path_factory.mktemp("forgetting") / "home"
    shutil.copytree(whole.home, home)
    return undisturbed(a_forget(home, SESSIONS[0]))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("number", range(KILLS))
def test_a_forget_never_takes_what_the_fork_holds(
    config: Path, whole: Whole, seconds_of_a_forget: float, tmp_path: Path, number: int
) -> None:
    home = tmp_path / "home"
    shutil.copytree(whole.home, home)
    killed(a_forget(home, SESSIONS[0]), random.Random(f"forget:{number}").random() * seconds_of_a_forget)
    assert_kept(home, config, FORKS + SESSIONS[1:], tmp_path / "back")
