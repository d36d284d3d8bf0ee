"""What works beside the pages: it says when it fails, whatever the failure, and goes on."""

from __future__ import annotations

import gc
import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from reread.archive import Archive
from reread.loading import LoadedSession
from reread.testing import a_prompt, a_reply, a_session
from reread.web.archive_pool import MOST_POOLED, ArchivePool, ServerSettings
from reread.web.updates import Hub, Watch
from web.asking import Asking, asking
from web.serving import SECONDS, until


def test_a_watch_that_fails_says_so_and_tries_again(
    claude: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = ArchivePool(ServerSettings(tmp_path / "home", (claude,)))
    is_broken = True
    opened = ArchivePool.open

    def sometimes(library: ArchivePool) -> Archive:
        if is_broken:
            raise ZeroDivisionError("a mistake")
        return opened(library)

    monkeypatch.setattr("reread.web.updates.RETRY_SECONDS", 0.01)
    monkeypatch.setattr(ArchivePool, "open", sometimes)
    watch = Watch(library, Hub())
    watch.start()
    assert until(lambda: watch.problem) == "ZeroDivisionError: a mistake"
    until(lambda: not watch.is_busy)
    is_broken = False
    until(lambda: not watch.problem)
    assert until(library.count) == 2
    watch.stop()
    library.close()


def test_what_two_ask_at_once_is_answered_once(claude: Path, tmp_path: Path) -> None:
    library = ArchivePool(ServerSettings(tmp_path / "home", (claude,)))
    asked: list[int] = []
    is_first_asking, is_second_waiting = threading.Event(), threading.Event()

    def ask(archive: Archive) -> int:
        asked.append(threading.get_ident())
        is_first_asking.set()
        assert is_second_waiting.wait(SECONDS)
        return len(archive.sessions(cleanup_days=0))

    def later() -> int:
        assert is_first_asking.wait(SECONDS)
        threading.Timer(0.05, is_second_waiting.set).start()
        return library.answer("both", ask)

    with ThreadPoolExecutor(2) as pool:
        answers = [pool.submit(library.answer, "both", ask), pool.submit(later)]
        assert [answer.result() for answer in answers] == [0, 0]
    assert len(asked) == 1
    library.close()


@pytest.fixture
def without_collections() -> Iterator[None]:
    """As in the server, where they come by themselves after hours."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("without_collections")
def test_sessions_that_are_no_longer_kept_leave_the_memory_however_small_each_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"talk-{number}" for number in range(4 * MOST_POOLED)]
    for name in names:
        a_session(a_prompt("one"), a_reply("two"), id=name).write(tmp_path / "claude" / "projects")
    with asking(tmp_path / "home", tmp_path / "claude") as site:
        with Archive(tmp_path / "home") as archive:
            monkeypatch.setattr("reread.web.archive_pool.MOST_LET_GO", 2 * archive.find(names[0]).row.bytes)
        for name in names:
            assert site.get(f"/s/{name}").status_code == 200
        left = [each for each in gc.get_objects() if isinstance(each, LoadedSession) and each.id in names]
        assert len(left) < MOST_POOLED + 4


def test_an_examination_that_fails_says_so(site: Asking, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("a mistake")

    monkeypatch.setattr("reread.web.doctor.examine", fail)
    site.post("/doctor", {})
    shown = until(lambda: re.search(r'role="alert"[^>]*>([^<]*)<', site.get("/doctor").text))
    assert shown[1] == "ZeroDivisionError: a mistake"


def test_a_search_for_secrets_that_fails_says_so(site: Asking, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("a mistake")

    monkeypatch.setattr("reread.archive.secret_scan.SecretScan.report", fail)
    shown = until(lambda: re.search(r'role="alert"[^>]*>([^<]*)<', site.get("/secrets", {"x-part": "1"}).text))
    assert shown[1] == "ZeroDivisionError: a mistake"
