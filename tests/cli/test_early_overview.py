"""A first `reread` on a large tree shows the newest sessions, and what was used, while the others are still read."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

import reread.archive.billing
import reread.ingest.sync
from cli.running import Run
from reread.archive import Archive, Progress
from reread.cli.overview import NEWEST, EarlyOverview
from reread.testing import a_prompt, a_reply, a_session

SESSIONS = 14


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Sessions of fourteen days, each written a day after the other; little is much, and every one is written."""
    for number in range(SESSIONS):
        day = f"2026-01-{number + 1:02}"
        told = (
            a_prompt(f"tapirq {number}", timestamp=f"{day}T09:00:00.000Z"),
            a_reply("ok", timestamp=f"{day}T09:00:01.000Z"),
        )
        trunk = a_session(*told, id=f"00000000-0000-4000-8000-0000000000{number:02}").write(tmp_path / "projects")
        os.utime(trunk, (1_767_000_000 + number * 86_400,) * 2)
    monkeypatch.setattr(reread.archive.billing, "QUICK_SYNC", 1)
    monkeypatch.setattr(reread.ingest.sync, "EARLY_COMMIT", 1)
    return tmp_path / "projects"


def test_a_person_at_a_terminal_sees_the_newest_before_the_sync_is_done(
    run: Run, tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    ran = run("--source", tree, "--home", tmp_path / "home", "--timezone", "UTC")
    assert ran.code == 0
    assert f"the newest of {SESSIONS} sessions" in ran.out
    shown = [number for number in range(SESSIONS) if f"tapirq {number} " in ran.out]
    assert shown == list(range(SESSIONS - NEWEST, SESSIONS))
    assert "all sessions are read now" in ran.err
    assert "The dearest session of 30 days" in ran.out, "the first look ends with what stands out, as each does"
    assert "reread explain 00000000" in ran.out
    with Archive(tmp_path / "home") as archive:
        assert len(archive.sessions()) == SESSIONS
        status = archive.safe.status()
        assert (status.results_waiting, status.friction_waiting) == (0, 0), "what could wait is done, too"


def test_a_script_waits_and_gets_the_whole_answer(run: Run, tree: Path, tmp_path: Path) -> None:
    ran = run("--source", tree, "--home", tmp_path / "home", "--timezone", "UTC")
    assert f"{SESSIONS} sessions, newest first" in ran.out
    assert "being read now" not in ran.out


def test_the_cost_that_is_shown_early_is_the_cost(
    run: Run, tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(sys.stdout, "isatty", lambda: True)
        early = run("--source", tree, "--home", tmp_path / "home", "--timezone", "UTC").out
    late = run("--source", tree, "--home", tmp_path / "home", "--timezone", "UTC").out

    def spent(text: str) -> list[str]:
        return [word for line in text.splitlines()[1:4] for word in line.split() if word.startswith("$")]

    assert spent(early) == spent(late) != []


def test_nothing_is_shown_while_one_of_the_newest_is_missing() -> None:
    shown: list[int] = []
    early = EarlyOverview(shown.append)
    early(Progress(1, 10, 12, 20, newest_done=NEWEST - 1))
    assert not shown
    early(Progress(2, 10, 13, 20, newest_done=NEWEST))
    early(Progress(3, 10, 14, 20, newest_done=NEWEST + 2))
    assert shown == [20], "once"


def test_a_sync_tells_how_many_of_the_newest_can_be_asked_for(tree: Path, tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    with Archive(tmp_path / "home", [tree], machine="desk") as archive:
        archive.sync(lambda progress: told.append((progress.newest_done, archive.count_sessions())))
    assert told[:NEWEST] == [(number, number) for number in range(1, NEWEST + 1)]
