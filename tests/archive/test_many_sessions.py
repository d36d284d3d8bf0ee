"""What shows a few sessions reads a few, however many there are; what looks at all of them holds little of each."""

from __future__ import annotations

import gc
import tracemalloc
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import UUID

import pytest

from reread.archive import Archive
from reread.index import sessions as rows
from reread.ingest import extract, sync
from reread.ingest.jobs import SessionJob
from reread.ingest.survey import Survey, survey
from reread.ingest.walk import whole_walk
from reread.testing import a_prompt, a_reply, a_session, a_tool_call, a_tool_result
from web.asking import asking

PAGES = ("/", "/sessions?group=1", "/sessions?title=ask", "/search", "/live", "/retro?since=all", "/palette?q=ask")


def write_sessions(folder: Path, numbers: range) -> Path:
    claude = folder / "claude"
    for number in numbers:
        day = f"2026-{number // 28 % 12 + 1:02}-{number % 28 + 1:02}T10:00:00.000Z"
        prompt, reply = a_prompt(f"ask {number}", timestamp=day), a_reply(f"answer {number}", timestamp=day)
        name, cwd = str(UUID(int=number + 1)), f"/home/ann/app{number % 5}"
        a_session(prompt, reply, id=name, cwd=cwd).write(claude / "projects")
    return claude


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of every session whose whole row is read."""
    numbers: list[int] = []
    real = rows._session

    def counted(row: tuple[int, ...], *given: object, **more: bool) -> rows.StoredSession:
        numbers.append(row[0])
        return real(row, *given, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(rows, "_session", counted)
    return numbers


def test_pages_read_the_sessions_they_show(tmp_path: Path, made: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reread.web.sessions.ON_A_PAGE", 10)
    archive = Archive(tmp_path / "home", [write_sessions(tmp_path, range(30))])
    archive.sync()
    few = read_by_pages(tmp_path, made)
    write_sessions(tmp_path, range(30, 90))
    archive.sync()
    many = read_by_pages(tmp_path, made)
    assert many == few
    assert max(many.values()) <= 40


def read_by_pages(folder: Path, made: list[int]) -> dict[str, int]:
    """How many sessions each page reads, when nothing is known yet."""
    found = {}
    for page in PAGES:
        with asking(folder / "home", folder / "claude") as ask:
            made.clear()
            assert ask.get(page).status_code == 200
            found[page] = len(made)
    return found


def test_a_retrospective_reads_no_whole_rows(tmp_path: Path, made: list[int]) -> None:
    archive = Archive(tmp_path / "home", [write_sessions(tmp_path, range(30))])
    archive.sync()
    made.clear()
    assert archive.friction.retro().sessions == 30
    assert made == []


def test_files_reads_the_sessions_that_touched_one(tmp_path: Path, made: list[int]) -> None:
    claude = write_sessions(tmp_path, range(30))
    call = a_tool_call("Read", {"file_path": "/home/ann/app/notes.md"})
    a_session(a_prompt("look"), call, a_tool_result("text"), cwd="/home/ann/app").write(claude / "projects")
    archive = Archive(tmp_path / "home", [claude])
    archive.sync()
    made.clear()
    assert [file.path for file in archive.files.touched().files] == ["/home/ann/app/notes.md"]
    assert len(made) == 1


@pytest.mark.parametrize(("is_kept", "most"), [(False, 1_700), (True, 2_000)])
def test_a_survey_holds_little_of_each_file(tmp_path: Path, is_kept: bool, most: int) -> None:
    """Bytes per session at most, of new ones and of known ones; with a path and its ids each it was 2,400 and 2,900."""
    archive = Archive(tmp_path / "home", [write_sessions(tmp_path, range(300))])
    if is_kept:
        archive.sync()
    before = peak(lambda: surveyed(archive))
    write_sessions(tmp_path, range(300, 900))
    if is_kept:
        archive.sync()
    assert (peak(lambda: surveyed(archive)) - before) / 600 < most


def surveyed(archive: Archive) -> Survey:
    connection, machine = archive.inner.connection, archive.machine
    return survey(connection, machine, whole_walk(connection, machine, archive.sources), archive.inner.packs.folder)


def peak(made: Callable[[], object]) -> int:
    made()  # what is cached for ever belongs to nobody
    gc.collect()
    tracemalloc.start()
    try:
        made()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_small_sessions_are_not_all_read_ahead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sync, "AHEAD", 6 * sync.SMALLEST)
    monkeypatch.setattr(sync, "SHARE", 2 * sync.SMALLEST)
    archive = Archive(tmp_path / "home", [write_sessions(tmp_path, range(40))])
    given: list[int] = []

    def jobs() -> Iterator[tuple[int, SessionJob]]:
        for number, job in enumerate(surveyed(archive).jobs):
            given.append(number)
            yield number, job

    taken = sync._read_by_workers(jobs())
    next(taken)
    assert len(given) == 6
    assert len(list(taken)) == 39


def test_jobs_are_used_up_while_they_are_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred thousand of them are as large as all else that a sync holds."""
    archive = Archive(tmp_path / "home", [write_sessions(tmp_path, range(20))])
    left: list[int] = []
    real = sync.run

    def watched(jobs: deque[SessionJob], *given: object, **more: bool) -> None:
        def take(job: SessionJob) -> object:
            left.append(len(jobs))
            return extract.take(job)

        monkeypatch.setattr("reread.ingest.sync.take", take)
        real(jobs, *given, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(sync, "run", watched)
    assert archive.sync().sessions == 20
    assert left[:20] == list(range(19, -1, -1))
