"""What works beside the pages: it says when it fails, whatever the failure, and goes on."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from reread.archive import Archive
from reread.surfaces.web.library import Library
from reread.surfaces.web.settings import Settings
from reread.surfaces.web.watching import Hub, Watch
from web.asking import Asking
from web.serving import SECONDS


def until(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + SECONDS
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_watch_that_fails_says_so_and_tries_again(
    claude: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = Library(Settings(tmp_path / "home", (claude,)))
    is_broken = True
    opened = Library.open

    def sometimes(library: Library) -> Archive:
        if is_broken:
            raise ZeroDivisionError("a mistake")
        return opened(library)

    monkeypatch.setattr("reread.surfaces.web.watching.RETRY_SECONDS", 0.01)
    monkeypatch.setattr(Library, "open", sometimes)
    watch = Watch(library, Hub())
    watch.start()
    until(lambda: watch.problem == "ZeroDivisionError: a mistake")
    until(lambda: not watch.is_busy)
    is_broken = False
    until(lambda: not watch.problem)
    until(lambda: len(library.sessions()) == 2)
    watch.stop()
    library.close()


def test_an_examination_that_fails_says_so(site: Asking, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("a mistake")

    monkeypatch.setattr("reread.surfaces.web.doctor.examine", fail)
    until(lambda: "ZeroDivisionError: a mistake" in site.get("/doctor").text)
