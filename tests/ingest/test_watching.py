"""Following the sources: soon when something happens, for next to nothing while nothing does."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from reread.archive import Archive, SyncResult
from reread.index.meta import waiting_for_friction
from reread.testing import Transcript, a_prompt, a_reply, a_session

ID = "0a1b2c3d-1111-4222-8333-444455556666"
OTHER = "99990000-1111-4222-8333-444455556666"


def a_conversation(*said: str, session: str = ID) -> Transcript:
    return a_session(*(a_prompt(text) for text in said), id=session)


class Watch:
    """`Archive.watch` in a thread of its own, and what it gave so far."""

    def __init__(self, folder: Path) -> None:
        self.results: list[SyncResult] = []
        self.failure: Exception | None = None
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self._run, args=(folder,))

    def _run(self, folder: Path) -> None:
        try:
            with Archive(folder / "home", [folder / "projects"], machine="desk") as archive:
                self.results.extend(archive.watch(self.stop))
        except Exception as failure:  # noqa: BLE001  told by the test
            self.failure = failure


@contextmanager
def watching(folder: Path) -> Iterator[Watch]:
    watch = Watch(folder)
    watch.thread.start()
    try:
        yield watch
    finally:
        watch.stop.set()
        watch.thread.join(30)
    assert watch.failure is None


def happens(what: Callable[[], bool]) -> bool:
    end = time.monotonic() + 30  # however busy the machine is: `make bench` says how long it takes
    while not what():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def is_found(folder: Path, word: str) -> Callable[[], bool]:
    archive = Archive(folder / "home", machine="desk")
    return lambda: archive.exists and archive.search(word).total == 1


def test_an_appended_line_can_be_searched_while_it_is_watched(tmp_path: Path) -> None:
    a_conversation("the alpaca").write(tmp_path / "projects")
    with watching(tmp_path):
        assert happens(is_found(tmp_path, "alpaca"))
        time.sleep(0.2)
        a_conversation("the alpaca", "an iguana").write(tmp_path / "projects")
        assert happens(is_found(tmp_path, "iguana"))


def test_a_new_session_in_a_new_project_can_be_searched_while_it_is_watched(tmp_path: Path) -> None:
    a_conversation("the alpaca").write(tmp_path / "projects")
    with watching(tmp_path):
        assert happens(is_found(tmp_path, "alpaca"))
        time.sleep(0.2)
        a_session(a_prompt("an iguana"), id=OTHER, cwd="/home/ann/other").write(tmp_path / "projects")
        assert happens(is_found(tmp_path, "iguana"))


def test_moments_of_a_session_that_grew_are_found_when_it_is_quiet(tmp_path: Path) -> None:
    said = (a_prompt("make the alpaca"), a_reply("done"))
    more = (a_prompt("no, that is wrong, undo the iguana"), a_reply("ok"))
    a_session(*said, id=ID).write(tmp_path / "projects")
    with watching(tmp_path) as watch, Archive(tmp_path / "home", machine="desk") as archive:
        assert happens(is_found(tmp_path, "alpaca"))
        a_session(*said, *more, id=ID).write(tmp_path / "projects")
        assert happens(lambda: len(watch.results) > 1)
        assert happens(lambda: not waiting_for_friction(archive.inner.connection))
        assert [row[0] for row in archive.inner.connection.execute("SELECT kind FROM friction")] == ["correction"]


def test_watching_ends_when_it_is_told_to(tmp_path: Path) -> None:
    a_conversation("the alpaca").write(tmp_path / "projects")
    with watching(tmp_path) as watch:
        assert happens(is_found(tmp_path, "alpaca"))
        watch.stop.set()
        watch.thread.join(30)
        assert not watch.thread.is_alive()


def test_watching_an_idle_tree_costs_next_to_nothing(tmp_path: Path) -> None:
    for number in range(50):
        a_conversation("the alpaca", session=f"{number:08d}-1111-4222-8333-444455556666").write(tmp_path / "projects")
    with Archive(tmp_path / "home", [tmp_path / "projects"], machine="desk") as archive:
        archive.sync()
    with watching(tmp_path):
        time.sleep(0.3)
        before = time.process_time()
        time.sleep(1)
        assert time.process_time() - before < 0.2


def test_a_vanished_file_does_not_keep_it_busy(tmp_path: Path) -> None:
    path = a_conversation("the alpaca").write(tmp_path / "projects")
    a_conversation("an iguana", session=OTHER).write(tmp_path / "projects")
    with watching(tmp_path) as watch:
        assert happens(is_found(tmp_path, "alpaca"))
        time.sleep(0.2)
        path.unlink()
        assert happens(lambda: len(watch.results) >= 1)
        time.sleep(0.5)
        before = time.process_time()
        time.sleep(0.5)
        assert time.process_time() - before < 0.1


def test_a_new_session_is_noticed_although_a_file_beside_it_cannot_be_read(tmp_path: Path) -> None:
    path = a_conversation("the alpaca").write(tmp_path / "projects")
    (path.parent / "loop.jsonl").symlink_to("loop.jsonl")
    with watching(tmp_path):
        assert happens(is_found(tmp_path, "alpaca"))
        time.sleep(0.2)
        a_conversation("an iguana", session=OTHER).write(tmp_path / "projects")
        assert happens(is_found(tmp_path, "iguana"))


def test_a_file_that_can_no_longer_be_read_does_not_keep_it_busy(tmp_path: Path) -> None:
    path = a_conversation("the alpaca").write(tmp_path / "projects")
    with watching(tmp_path) as watch:
        assert happens(is_found(tmp_path, "alpaca"))
        time.sleep(0.2)
        (path.parent / "loop.jsonl").symlink_to("loop.jsonl")
        time.sleep(1)
        assert len(watch.results) <= 3


def test_a_source_of_before_that_is_gone_is_no_news(tmp_path: Path) -> None:
    a_conversation("the alpaca").write(tmp_path / "projects")
    a_conversation("a visitor", session=OTHER).write(tmp_path / "borrowed")
    with Archive(tmp_path / "home", [tmp_path / "projects", tmp_path / "borrowed"], machine="desk") as archive:
        archive.sync()
    shutil.rmtree(tmp_path / "borrowed")
    with watching(tmp_path) as watch:
        assert happens(lambda: bool(watch.results))
        time.sleep(1)
        assert len(watch.results) == 1, "the first sync, and none after it"
