"""The capture file: every byte that crossed the pipe, whatever happens to the writer."""

from __future__ import annotations

import errno
import os
import re
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from live import frames
from reread.errors import SourceError
from reread.live import capture, events, outgoing
from reread.live.capture import Capture, WireLine, adopt, read_capture, replay

RECEIVED = frames.frame("system", subtype="init", model="claude-opus-4-8")
ASKED = frames.asks("p1", "Bash", input={"command": "ls"})
ANSWERED = outgoing.decision("p1", outgoing.Allow(), {"command": "ls"})
posix_only = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")


def a_capture(folder: Path) -> Capture:
    written = Capture(folder)
    written.note({"claude": "claude", "pid": 1})
    written.received(RECEIVED)
    written.received(ASKED)
    written.sent(ANSWERED)
    written.error(b"a warning\n")
    return written


def test_lines_are_kept_as_they_were_behind_the_thirtieth_byte(tmp_path: Path) -> None:
    path = a_capture(tmp_path).close(frames.SESSION)
    lines = path.read_bytes().splitlines(keepends=True)
    assert [line[30:] for line in lines[1:]] == [RECEIVED, ASKED, ANSWERED, b"a warning\n"]
    assert re.fullmatch(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z = ", lines[0][:30])
    assert [line[28:29] for line in lines] == [b"=", b"<", b"<", b">", b"!"]


def test_the_file_moves_to_its_session_when_the_run_ends(tmp_path: Path) -> None:
    written = a_capture(tmp_path / "wire")
    assert written.path.parent == tmp_path / "wire"
    assert re.fullmatch(r"\d{8}T\d{6}-[0-9a-f]{8}\.part", written.path.name)
    path = written.close(frames.SESSION)
    assert path == written.path == tmp_path / "wire" / frames.SESSION / f"{path.stem}.wire"
    assert not list(tmp_path.rglob("*.part"))


@pytest.mark.parametrize("session", [None, "", "../../etc", "a/b", ".hidden", "x" * 300, "nul\0"])
def test_a_session_that_cannot_name_a_folder_is_unknown(tmp_path: Path, session: str | None) -> None:
    path = a_capture(tmp_path).close(session)
    assert path.parent == tmp_path / "unknown"


@posix_only
def test_nobody_else_can_read_it(tmp_path: Path) -> None:
    path = a_capture(tmp_path / "home" / "wire").close("s1")
    folders = [tmp_path / "home", tmp_path / "home" / "wire", path.parent]
    assert [folder.stat().st_mode & 0o777 for folder in folders] == [0o700] * 3
    assert path.stat().st_mode & 0o777 == 0o600


def test_what_was_written_can_be_read_before_the_run_has_ended(tmp_path: Path) -> None:
    written = a_capture(tmp_path)
    assert [line.mark for line in read_capture(written.path)] == ["=", "<", "<", ">", "!"]
    written.close(None)


def test_reading_gives_time_mark_bytes_and_place(tmp_path: Path) -> None:
    began = datetime.now(UTC)
    path = a_capture(tmp_path).close(None)
    whole = path.read_bytes()
    lines = list(read_capture(path))
    assert list(read_capture(whole)) == lines
    assert all(line.time is not None and began <= line.time <= datetime.now(UTC) for line in lines)
    assert [whole[line.offset + 30 :][: len(line.raw)] for line in lines] == [line.raw for line in lines]


def test_a_file_can_be_cut_anywhere(tmp_path: Path) -> None:
    whole = a_capture(tmp_path).close(None).read_bytes()
    lines = list(read_capture(whole))
    for end in range(len(whole)):
        read = list(read_capture(whole[:end]))
        complete = whole[:end].count(b"\n")
        assert read[:complete] == lines[:complete]
        assert len(read) - complete == (whole[:end][-1:] not in (b"\n", b""))


@given(st.binary())
def test_garbage_is_a_value_and_nothing_of_it_is_lost(raw: bytes) -> None:
    read = list(read_capture(raw))
    assert b"\n".join(line.raw for line in read if line.mark == "?") == raw.removesuffix(b"\n")


def test_a_line_that_only_looks_like_one_is_unknown() -> None:
    almost = b"2026-13-45T08:46:13.123456Z < {}"
    assert list(read_capture(almost)) == [WireLine(None, "?", almost, 0)]


def test_a_file_that_is_not_there_is_named() -> None:
    with pytest.raises(SourceError, match=r"none\.wire"):
        list(read_capture(Path("none.wire")))


def test_a_replay_gives_the_events_of_both_directions_with_their_times(tmp_path: Path) -> None:
    path = a_capture(tmp_path).close(None)
    found = list(replay(path))
    kinds = [type(event) for _, event in found]
    assert kinds == [events.SessionStarted, events.Permission, events.PermissionAnswered]
    assert [time for time, _ in found] == [line.time for line in read_capture(path) if line.mark in "<>"]


def test_a_replay_of_a_run_that_was_cut_off_tells_what_was_taken_back(tmp_path: Path) -> None:
    written = Capture(tmp_path)
    for line in (frames.message_start("msg_1") + frames.thinks(0, "I wonder")).splitlines(keepends=True):
        written.received(line)
    found = [event for _, event in replay(written.close(None))]
    assert isinstance(found[-1], events.Withdrawn)
    assert (found[-1].text, found[-1].reason) == ("I wonder", "cut")


def test_a_line_of_absurd_length_is_kept_but_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capture, "PARSED", len(ASKED) - 1)
    path = a_capture(tmp_path).close(None)
    assert [line.raw + b"\n" for line in read_capture(path)][2] == ASKED
    _, unread, *_ = (event for _, event in replay(path))
    assert isinstance(unread, events.UnknownFrame)
    assert unread.record.raw + b"\n" == ASKED


class FullDisk:
    """Takes only so many bytes, and then half a line; until there is room again."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, written: Capture) -> None:
        self.room = 40
        file = written._file
        assert file is not None
        self._write = file.write
        self._file = file
        monkeypatch.setattr(written, "_file", self)

    def __getattr__(self, name: str) -> object:
        return getattr(self._file, name)

    def write(self, line: bytes) -> int:
        if not self.room:
            raise OSError(errno.ENOSPC, "No space left on device")
        taken = self._write(line[: self.room])
        self.room -= taken
        return taken


def test_a_full_disk_is_told_once_and_leaves_no_half_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    written = Capture(tmp_path, on_problem=told.append)
    disk = FullDisk(monkeypatch, written)
    written.received(b"one\n")
    written.received(b"two\n")
    written.received(b"three\n")
    disk.room = 1000
    written.received(b"four\n")
    path = written.close(None)
    assert [line.raw for line in read_capture(path)] == [b"one", b"four"]
    assert written.lost == 2
    assert told == [written.problem]
    assert "No space left on device" in told[0]


@posix_only
def test_a_folder_that_cannot_be_made_does_not_stop_the_run(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    told: list[str] = []
    written = Capture(tmp_path / "file" / "wire", on_problem=told.append)
    written.received(b"one\n")
    written.close("s1")
    assert written.lost == 1
    assert len(told) == 1


KILLED = """
import sys, time
from pathlib import Path
from reread.live.capture import Capture
written = Capture(Path(sys.argv[1]))
written.note({"pid": 1})
for line in sys.stdin.buffer:
    written.received(line)
    print("kept", flush=True)
time.sleep(60)
"""


def a_killed_run(folder: Path, *lines: bytes) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as writer:
        assert writer.stdin is not None and writer.stdout is not None
        for line in lines:
            writer.stdin.write(line)
            writer.stdin.flush()
            assert writer.stdout.readline() == b"kept" + os.linesep.encode()
        assert adopt(folder) == [], "its writer lives"
        writer.kill()


def test_a_run_that_was_killed_is_adopted_with_all_it_had_kept(tmp_path: Path) -> None:
    later = frames.frame("system", subtype="init").replace(frames.SESSION.encode(), b"after-clear")
    a_killed_run(tmp_path, RECEIVED, later, b"no frame\n")
    (path,) = adopt(tmp_path)
    assert path.parent == tmp_path / "after-clear"
    assert [line.raw + b"\n" for line in read_capture(path) if line.mark == "<"] == [RECEIVED, later, b"no frame\n"]
    assert adopt(tmp_path) == []


def test_a_killed_run_that_named_no_session_is_kept_too(tmp_path: Path) -> None:
    a_killed_run(tmp_path, b"garbage\n")
    assert [path.parent.name for path in adopt(tmp_path)] == ["unknown"]


def test_a_run_of_this_very_process_is_left_alone_and_stays_locked(tmp_path: Path) -> None:
    written = a_capture(tmp_path)
    assert adopt(tmp_path) == []
    assert adopt(tmp_path) == []
    written.close("s1")
    assert adopt(tmp_path) == []


def test_a_file_that_its_writer_has_not_locked_yet_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "new.part").touch()
    assert adopt(tmp_path) == []


@posix_only
@pytest.mark.parametrize(("age", "is_adopted"), [(60, False), (2 * 86400, True)])
def test_without_locks_only_what_is_old_is_adopted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, age: float, is_adopted: bool
) -> None:
    def no_locks(_fd: int, _how: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", no_locks)
    written = a_capture(tmp_path)
    os.utime(written.path, (0, time.time() - age))
    assert bool(adopt(tmp_path)) is is_adopted
    written.close(None)
