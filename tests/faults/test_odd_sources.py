"""Sources hold everything a file system can hold; a sync takes what it can, names the rest, and never hangs."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import sys
from pathlib import Path
from typing import Any

import pytest

from faults.unprivileged import as_nobody
from reread.archive import Archive
from reread.archive.search_language import ALL_FIELDS
from reread.errors import RereadError
from reread.testing import a_prompt, a_reply, a_session, a_subagent, a_tool_call
from trees import digests, traces

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX files")
GOOD = "0a1b2c3d-1111-4222-8333-444455556666"
OTHER = "0a1b9999-1111-4222-8333-444455556666"


def a_good_session(folder: Path, name: str = GOOD, word: str = "alpaca") -> Path:
    return a_session(
        a_prompt(f"find the {word}"),
        a_reply(a_tool_call("Task", {"prompt": "look"}, id="toolu_task")),
        a_subagent(a_prompt("look"), a_reply("looked"), id="abc", of="toolu_task"),
        id=name,
        outputs={"toolu_9.txt": "spilled"},
    ).write(folder)


def taken(folder: Path, source: Path | None = None) -> Archive:
    archive = Archive(folder / "home", [source or folder / "source"], machine="desk")
    archive.sync()
    return archive


def finds(archive: Archive, word: str) -> set[str]:
    return {hit.session.row.uuid for hit in archive.search(word, ALL_FIELDS).hits}


def test_a_fifo_a_socket_and_a_device_are_passed_by(tmp_path: Path) -> None:
    path = a_good_session(tmp_path / "source")
    os.mkfifo(path.with_name(f"{OTHER}.jsonl"))
    os.mkfifo(path.with_suffix("") / "tool-results" / "pipe.txt")
    with socket.socket(socket.AF_UNIX) as listening, contextlib.chdir(path.parent):  # its path may be 107 bytes long
        listening.bind("socket.jsonl")
        (path.parent / "null.jsonl").symlink_to("/dev/null")
        (path.parent / "zero.jsonl").symlink_to("/dev/zero")
        before = traces(tmp_path / "source")
        with taken(tmp_path) as archive:
            assert finds(archive, "alpaca") == {GOOD}
            assert [each.stored.row.uuid for each in archive.sessions()] == [GOOD]
            assert archive.safe.verify().ok
        assert traces(tmp_path / "source") == before


def test_files_of_a_clock_that_is_centuries_ahead_are_taken(tmp_path: Path) -> None:
    """Their times in nanoseconds take more than the 64 bits of a number in SQLite."""
    path = a_good_session(tmp_path / "source")
    far = 10_000_000_000 * 10**9  # in the year 2286
    for each in (path, *path.with_suffix("").rglob("*"), path.parent):
        os.utime(each, ns=(far, far))
    if path.stat().st_mtime_ns != far:
        pytest.skip("the file system has no such times")
    with taken(tmp_path) as archive:
        assert archive.sync().sessions == 0, "nothing changed"
        assert finds(archive, "alpaca") == {GOOD}
        assert [each.expires is not None for each in archive.sessions()] == [True]
        archive.safe.rebuild()
        assert finds(archive, "alpaca") == {GOOD}
        assert archive.safe.verify().ok


def test_inodes_of_64_bits_without_a_sign_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As NTFS and some network file systems give them."""
    real = os.stat

    def stat(*place: Any, **named: Any) -> os.stat_result:
        found = real(*place, **named)
        times = {name: getattr(found, name) for name in ("st_atime_ns", "st_mtime_ns", "st_ctime_ns")}
        return os.stat_result((found.st_mode, found.st_ino | 1 << 63, *tuple(found)[2:10]), times)

    monkeypatch.setattr(os, "stat", stat)
    a_good_session(tmp_path / "source")
    with taken(tmp_path) as archive:
        assert archive.sync().sessions == 0, "nothing changed"
        assert finds(archive, "alpaca") == {GOOD}


def test_a_file_that_becomes_a_fifo_does_not_hang_the_next_sync(tmp_path: Path) -> None:
    path = a_good_session(tmp_path / "source")
    with taken(tmp_path) as archive:
        path.unlink()
        os.mkfifo(path)
        archive.sync()
        assert finds(archive, "alpaca") == {GOOD}
        archive.safe.restore(GOOD, tmp_path / "back")
        assert archive.safe.verify().ok


def test_symlink_loops_end(tmp_path: Path) -> None:
    path = a_good_session(tmp_path / "source")
    (path.parent / "loop").symlink_to(path.parent, target_is_directory=True)
    (path.parent / "self.jsonl").symlink_to(path.parent / "self.jsonl")
    (path.with_suffix("") / "subagents" / "up").symlink_to(tmp_path / "source", target_is_directory=True)
    (path.parent / "a").symlink_to("b")
    (path.parent / "b").symlink_to("a")
    (path.parent / "dangling.jsonl").symlink_to("nowhere")
    before = traces(tmp_path / "source")
    with taken(tmp_path) as archive:
        assert finds(archive, "alpaca") == {GOOD}
        files = archive.inner.connection.execute("SELECT count(*), count(DISTINCT inode) FROM file").fetchone()
        assert files == (4, 4)
        assert archive.sync().files == 0
    assert traces(tmp_path / "source") == before


def is_utf_8(name: bytes) -> bool:
    try:
        name.decode()
    except UnicodeDecodeError:
        return False
    return True


ODD_NAMES = {
    "newline": b"line\nbreak",
    "return": b"car\rriage\ttab",
    "escape": b"\x1b[31mred\x1b[0m",
    "latin-1": b"caf\xe9-\xff\xfe",
    "half a character": b"\xe6\xa4",
    "surrogate bytes": b"\xed\xa0\x80",
    "quotes": b'it\'s "quoted"; DROP TABLE file; --',
    "wildcards": b"%_*?[x]",
    "long": b"n" * 240,
    "emoji": "🫠貘".encode(),
}


@pytest.mark.sampled(1, over="place")
@pytest.mark.parametrize("place", ["source", "folder", "trunk", "agent", "output"])
@pytest.mark.parametrize("name", [pytest.param(name, id=what) for what, name in ODD_NAMES.items()])
def test_any_name_a_file_system_takes_is_taken_and_given_back(tmp_path: Path, name: bytes, place: str) -> None:
    path = a_good_session(tmp_path / "source")
    odd = os.fsdecode(name)
    try:
        if place == "source":
            (tmp_path / "source").rename(tmp_path / odd)
        elif place == "folder":
            path.parent.rename(path.parent.with_name(odd))
        elif place == "agent":
            [agent] = path.with_suffix("").rglob("agent-*.jsonl")
            agent.rename(agent.with_name(f"agent-{odd}.jsonl"))
        elif place == "trunk":
            path.rename(path.with_name(f"{odd}.jsonl"))
            shutil.rmtree(path.with_suffix(""))
        else:
            output = path.with_suffix("") / "tool-results" / "toolu_9.txt"
            output.rename(output.with_name(odd))
    except OSError:
        pytest.skip("this file system does not take the name")
    at = tmp_path / (odd if place == "source" else "source")
    source = digests(at)
    with taken(tmp_path, at) as archive:
        [listed] = archive.sessions()
        assert finds(archive, "alpaca") == {listed.stored.row.uuid}
        archive.sync()
        assert archive.sync().files == 0
        archive.safe.restore("@last", tmp_path / "back")
        assert archive.safe.verify().damaged == []
        assert sorted(digests(tmp_path / "back").values()) == sorted(source.values())
        assert len(archive.session("@last").prompts) == 1
        shutil.rmtree(at)
        at.mkdir()
        archive.sync()
        archive.safe.rebuild()
        assert archive.safe.verify().damaged == []
        assert finds(archive, "alpaca") == {listed.stored.row.uuid}
        archive.safe.forget("@last")
        assert archive.sessions() == []
        assert archive.safe.verify().ok


def test_names_that_are_not_utf_8_pass_between_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reread.workers.ALONE_BELOW", 0)
    path = a_good_session(tmp_path / "source")
    path.parent.rename(path.parent.with_name(os.fsdecode(b"caf\xe9")))
    with taken(tmp_path) as archive:
        assert finds(archive, "alpaca") == {GOOD}
        assert archive.safe.verify().ok


@pytest.fixture
def open_to_all() -> Path:
    """A folder that everybody may enter and write to; pytest's own are for their owner."""
    base = Path("/tmp") / f"reread-odd-{os.getpid()}"
    shutil.rmtree(base, ignore_errors=True)
    base.mkdir()
    base.chmod(0o777)
    return base


def test_unreadable_files_and_folders_are_named_and_the_rest_is_taken(open_to_all: Path) -> None:
    source = open_to_all / "source"
    good = a_good_session(source)
    closed_file = a_good_session(source, OTHER, "badger")
    closed_folder = source / "-closed"
    closed_folder.mkdir()
    shutil.copy(good, closed_folder / "hidden.jsonl")
    closed_file.chmod(0)
    output = good.with_suffix("") / "tool-results" / "toolu_9.txt"
    output.chmod(0)
    closed_folder.chmod(0)
    before = traces(source)

    def work() -> str:
        with Archive(open_to_all / "home", [source], machine="desk") as archive:
            problems = archive.sync().problems
            assert finds(archive, "alpaca") == {GOOD}
            assert finds(archive, "badger") == set()
            assert archive.safe.verify().ok
            again = archive.sync().problems
            return "\n".join(sorted({str(each) for each in [*problems, *again]}))

    try:
        said = as_nobody(work).splitlines()
        assert traces(source) == before
        assert said == sorted(f"{path}: permission denied" for path in (closed_file, closed_folder, output))
        closed_file.chmod(0o644)
        closed_folder.chmod(0o755)
        output.chmod(0o644)

        def later() -> str:
            with Archive(open_to_all / "home", [source], machine="desk") as archive:
                archive.sync()
                return " ".join(sorted(finds(archive, "badger") | finds(archive, "spilled")))

        assert as_nobody(later) == f"{GOOD} {OTHER}"
    finally:
        closed_folder.chmod(0o755)
        shutil.rmtree(open_to_all)


def test_a_source_that_cannot_be_entered_any_more_loses_nothing(open_to_all: Path) -> None:
    source = open_to_all / "source"
    a_good_session(source)

    def work() -> str:
        with Archive(open_to_all / "home", [source], machine="desk") as archive:
            try:
                archive.sync()
            except RereadError as error:
                return f"{len(archive.sessions())} {error}"
            [listed] = archive.sessions()
            return f"{listed.stored.present} {sorted(finds(archive, 'alpaca'))}"

    try:
        assert as_nobody(work) == f"True {[GOOD]}"
        source.chmod(0)
        assert as_nobody(work) == f"True {[GOOD]}"
    finally:
        source.chmod(0o755)
        shutil.rmtree(open_to_all)
