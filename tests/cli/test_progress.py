"""A sync that is quick says nothing; a long one shows a bar on a terminal and a line now and then elsewhere."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path

import pytest

from reread.archive import Progress
from reread.cli.session_source import ProgressBar
from reread.config import archive_home
from reread.views.text import cells


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr("reread.cli.session_source.time.monotonic", lambda: now[0])
    return now


def at(done: int) -> Progress:
    return Progress(done, 100_000_000, 1, 2)


def test_a_quick_sync_is_silent(clock: list[float]) -> None:
    stream = Terminal()
    shown = ProgressBar(stream)
    clock[0] += 0.29
    shown(at(90_000_000))
    shown.close()
    assert stream.getvalue() == ""


def test_a_terminal_gets_a_bar_with_rate_and_time_left_which_is_wiped_at_the_end(clock: list[float]) -> None:
    stream = Terminal()
    shown = ProgressBar(stream)
    clock[0] += 2
    shown(at(25_000_000))
    assert "25%  25.0 MB of 100.0 MB  12.5 MB/s  6.0s left" in stream.getvalue()
    shown(at(26_000_000))
    assert "26%" not in stream.getvalue(), "not redrawn at once"
    shown.close()
    assert stream.getvalue().endswith("\r\x1b[K")


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_a_bar_fits_the_terminal_it_is_drawn_on_wherever_the_answer_goes(
    clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    import fcntl
    import pty
    import struct
    import termios

    monkeypatch.delenv("COLUMNS", raising=False)
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 34, 0, 0))
    with open(theirs, "w", encoding="utf-8") as stream:  # noqa: PTH123  a descriptor, no path
        shown = ProgressBar(stream)
        clock[0] += 2
        shown(at(25_000_000))
        drawn = os.read(ours, 4096).decode().strip("\r").removesuffix("\x1b[K")
    os.close(ours)
    assert "25%" in drawn
    assert cells(drawn) <= 34


def test_a_pipe_gets_a_plain_line_every_five_seconds(clock: list[float]) -> None:
    stream = io.StringIO()
    shown = ProgressBar(stream)
    for _ in range(45):
        clock[0] += 0.5
        shown(at(50_000_000))
    shown.close()
    lines = stream.getvalue().splitlines()
    assert 3 <= len(lines) <= 4
    assert lines[0].startswith("reread: importing 50.0 MB of 100.0 MB, ")
    assert "\x1b" not in stream.getvalue()


def test_the_first_phase_has_a_rate_when_its_first_part_is_done(clock: list[float]) -> None:
    stream = io.StringIO()
    shown = ProgressBar(stream)
    clock[0] += 10
    shown(Progress(20_000_000, 40_000_000, 0, 0, phase="reading"))
    assert "reading: 20.0 MB of 40.0 MB, 2.0 MB/s" in stream.getvalue()


def test_sessions_without_new_bytes_are_counted_themselves(clock: list[float]) -> None:
    stream = io.StringIO()
    shown = ProgressBar(stream)
    clock[0] += 6
    shown(Progress(0, 0, 3, 9))
    assert stream.getvalue() == "reread: importing 3 of 9 sessions\n"


@pytest.mark.parametrize(
    ("system", "environ", "expected"),
    [
        ("linux", {}, "/home/ann/.local/share/reread"),
        ("linux", {"XDG_DATA_HOME": "/data"}, "/data/reread"),
        ("linux", {"XDG_DATA_HOME": "relative"}, "/home/ann/.local/share/reread"),
        ("darwin", {"XDG_DATA_HOME": "/data"}, "/home/ann/Library/Application Support/reread"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/reread"),
        ("win32", {}, "/home/ann/AppData/Local/reread"),
        ("linux", {"REREAD_HOME": "/kept"}, "/kept"),
    ],
)
def test_every_platform_has_its_folder(system: str, environ: dict[str, str], expected: str) -> None:
    assert archive_home(environ, system, Path("/home/ann")) == Path(expected)


def test_each_phase_is_named_and_has_a_rate_of_its_own(clock: list[float]) -> None:
    stream = Terminal()
    shown = ProgressBar(stream)
    clock[0] += 100
    shown(at(100_000_000))
    shown(Progress(0, 40_000_000, 0, 0, phase="tool results"))
    clock[0] += 2
    shown(Progress(10_000_000, 40_000_000, 0, 0, phase="tool results"))
    last = stream.getvalue().split("\r")[-1]
    assert last.startswith("tool results: ")
    assert "25%  10.0 MB of 40.0 MB  5.0 MB/s  6.0s left" in last
