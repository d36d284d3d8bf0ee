"""A full disk is one clear sentence, and no loss: the archive stays whole and goes on when there is room."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cli.running import reread as program
from faults.syncing import started
from reread.archive import Archive
from reread.errors import RereadError
from reread.testing import a_prompt, a_session
from trees import Tree, a_tree, assert_true, traces

pytestmark = pytest.mark.skipif(
    sys.platform == "win32" or not hasattr(os, "geteuid") or os.geteuid() != 0, reason="mounting wants root"
)


@contextmanager
def small_disk(folder: Path, size: int) -> Iterator[Path]:
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("mounting is not allowed here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    return a_tree(tmp_path_factory.mktemp("tree"), size=2_500_000)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("room", [0, 60_000, 300_000, 700_000, 1_100_000, 1_600_000])
def test_a_disk_that_fills_up_during_a_sync(tree: Tree, tmp_path: Path, room: int) -> None:
    before = traces(tree.source)
    with small_disk(tmp_path / "disk", 24 << 20) as disk:
        home = disk / "home"
        ballast = disk / "ballast"
        fill(disk, room)
        with started(home, tree.source, alone=1 << 40) as sync:
            said = sync.communicate(timeout=60)[1].decode()
        assert sync.returncode == 3, said
        assert said.count("\n") == 1
        assert "Traceback" not in said
        taken = Tree(tree.source, home, tree.truth)
        ballast.unlink()
        with taken.archive() as archive:
            assert archive.safe.verify().damaged == []
            assert len(archive.sessions()) < len(tree.truth.by_session)
            archive.sync()
            assert_true(archive, tree.truth)
    assert traces(tree.source) == before


def test_a_disk_that_fills_up_does_not_keep_an_open_archive_from_reading(tree: Tree, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 24 << 20) as disk:
        with Tree(tree.source, disk / "home", tree.truth).archive() as archive:
            archive.sync()
            fill(disk)
            assert_true(archive, tree.truth)
        fill(disk)
        try:  # SQLite needs 32 KB of shared memory beside the database, unless somebody left it there
            with Archive(disk / "home", machine="desk") as archive:
                assert len(archive.sessions()) == len(tree.truth.by_session)
        except RereadError as error:
            assert "there is no room" in str(error)
        (disk / "ballast").unlink()
        with Archive(disk / "home", machine="desk") as archive:
            assert_true(archive, tree.truth)


def test_without_room_for_an_archive_the_sources_answer_every_time(tmp_path: Path) -> None:
    """The first attempt leaves an empty database."""
    source = a_session(a_prompt("why does it flicker?")).write(tmp_path / "claude" / "projects").parents[2]
    with small_disk(tmp_path / "disk", 1 << 20) as disk:
        fill(disk)
        first, second = (program("list", "--json", "--source", source, "--home", disk / "home") for _ in range(2))
        assert "answered straight from the sources" in first.err
        assert (first.code, second.code) == (0, 0), second.err
        assert first == second
        (disk / "ballast").unlink()
        last = program("list", "--json", "--source", source, "--home", disk / "home")
        assert (last.code, last.err) == (0, "")
        assert "flicker" in last.out


@pytest.mark.parametrize("room", [36_000, 44_000, 60_000])
def test_after_a_rebuild_a_disk_that_is_nearly_full_keeps_no_command_from_answering(tmp_path: Path, room: int) -> None:
    """The first sync after it writes a note of its own, outside any transaction."""
    source = a_session(a_prompt("why does it flicker?")).write(tmp_path / "claude" / "projects").parents[2]
    with small_disk(tmp_path / "disk", 8 << 20) as disk:
        places = ("--source", str(source), "--home", str(disk / "home"))
        assert program("sync", *places).code == 0
        assert program("archive", "rebuild", *places).code == 0
        fill(disk, room)
        for command in (["list"], ["usage"], ["search", "flicker"], ["list", "--no-sync"]):
            ran = program(*command, *places)
            assert ran.code == 0, (command, ran.err)
            assert ran.out


def fill(disk: Path, room: int = 0) -> None:
    stat = os.statvfs(disk)
    with (disk / "ballast").open("ab") as file:
        file.write(bytes(max(0, stat.f_bavail * stat.f_frsize - room)))


def test_a_disk_too_full_to_forget_changes_nothing(tree: Tree, tmp_path: Path) -> None:
    session = tree.truth.needles[0].session
    with (
        small_disk(tmp_path / "disk", 24 << 20) as disk,
        Tree(tree.source, disk / "home", tree.truth).archive() as archive,
    ):
        archive.sync()
        fill(disk, room=100_000)
        with pytest.raises(RereadError):
            archive.safe.forget(session)
        (disk / "ballast").unlink()
        assert_true(archive, tree.truth)
        archive.safe.forget(session)
        assert archive.safe.verify().ok
        assert len(archive.sessions()) == len(tree.truth.by_session) - 1
