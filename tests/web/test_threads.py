"""What works beside the pages: it says when it fails, whatever the failure, and goes on."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from reread.archive import Archive
from reread.surfaces.web.library import Library
from reread.surfaces.web.settings import Settings
from reread.surfaces.web.watching import Hub, Watch
from web.asking import Asking
from web.serving import until


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
    assert until(lambda: watch.problem) == "ZeroDivisionError: a mistake"
    until(lambda: not watch.is_busy)
    is_broken = False
    until(lambda: not watch.problem)
    assert len(until(library.sessions)) == 2
    watch.stop()
    library.close()


def test_an_examination_that_fails_says_so(site: Asking, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("a mistake")

    monkeypatch.setattr("reread.surfaces.web.doctor.examine", fail)
    shown = until(lambda: re.search(r'role="alert"[^>]*>([^<]*)<', site.get("/doctor").text))
    assert shown[1] == "ZeroDivisionError: a mistake"
