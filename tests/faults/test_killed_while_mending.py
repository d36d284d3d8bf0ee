"""Killed at any moment, neither a rebuild nor letting go of damage loses anything; the next sync goes on."""

from __future__ import annotations

import random
import shutil
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pytest

from faults.harm import FAULTS
from reread.archive import Archive
from reread.index import meta
from reread.index.client_totals import status_lines
from reread.index.database import FILE_NAME, set_aside
from reread.index.user_data import COPY, forgotten_rows, labels
from reread.safe.safe import FoundPiece, Safe
from trees import Tree, a_tree, append, assert_true, digests

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")
KILLS = 4
WORK = """
import sys
from pathlib import Path
from reread.archive import Archive
import reread.ingest.rebuild, reread.index.custody
with Archive(Path(sys.argv[1]), machine="desk") as archive:
    archive.inner.connection
    print("begun", flush=True)
    getattr(archive.safe, sys.argv[2])()
"""


class Kept(NamedTuple):
    tree: Tree
    words: tuple[object, ...]
    """What stands in no source."""


def words_of(archive: Archive) -> tuple[object, ...]:
    rows = (
        labels(archive.inner.connection),
        forgotten_rows(archive.inner.connection),
        status_lines(archive.inner.connection),
    )
    return (archive.marks.all(), archive.marks.moves(), *map(sorted, rows))


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    tree = a_tree(tmp_path_factory.mktemp("tree"), size=600_000)
    with tree.archive() as archive:
        archive.sync()
        append(tree.source, tree.truth)
        archive.sync()
        archive.marks.set("@last", starred=True, tags=["good"], note="a noteword")
        archive.marks.move_project("/home/old", "/home/new")
        archive.inner.connection.execute("INSERT INTO moment_verdict VALUES ('line', '', 'session', 7)")
        archive.inner.connection.execute("INSERT INTO forgotten VALUES ('key', 7)")
        archive.inner.connection.execute(
            "INSERT INTO client_total (session, machine, source, nanodollars) VALUES ('x', 'desk', 'statusline', 7)"
        )
        return Kept(tree, words_of(archive))


def copied(kept: Kept, to: Path) -> Tree:
    shutil.copytree(kept.tree.home, to)
    return Tree(kept.tree.source, to, kept.tree.truth)


def proved(home: Path) -> set[tuple[str, int, int, str]]:
    with Safe(home / "safe") as safe:
        headers = [found.header for found in safe.verify() if isinstance(found, FoundPiece)]
    return {(header.file, header.generation, header.start, header.sha256) for header in headers}


def work(home: Path, what: str, seconds: float | None = None) -> float:
    """How long it took, from its first line on; killed after so many seconds."""
    with subprocess.Popen([sys.executable, "-c", WORK, str(home), what], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        begun = time.monotonic()
        if seconds is not None:
            time.sleep(seconds)
            process.kill()
        process.wait(60)
        return time.monotonic() - begun


@pytest.fixture(scope="module")
def seconds_of_a_rebuild(kept: Kept, tmp_path_factory: pytest.TempPathFactory) -> float:
    return work(copied(kept, tmp_path_factory.mktemp("measured") / "home").home, "rebuild")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("number", range(KILLS))
def test_a_rebuild_killed_once_and_again_is_made_by_the_next_sync(
    kept: Kept, seconds_of_a_rebuild: float, tmp_path: Path, number: int
) -> None:
    chance = random.Random(f"rebuild:{number}")
    tree = copied(kept, tmp_path / "home")
    before = digests(tree.home / "safe")
    for _ in range(1 + number % 2):
        work(tree.home, "rebuild", chance.random() * seconds_of_a_rebuild)
    assert {name: before[name] for name in before if name != "lock"}.items() <= digests(tree.home / "safe").items()
    with tree.archive() as archive:
        archive.sync()
        assert meta.read_note(archive.inner.connection, meta.REBUILD) in (None, "done")
        assert_true(archive, tree.truth)
        assert words_of(archive) == kept.words
        assert archive.sync().files == 0


@pytest.mark.sampled(2)
@pytest.mark.parametrize("number", range(KILLS))
def test_an_index_of_an_earlier_version_is_made_again_through_kills(
    kept: Kept, seconds_of_a_rebuild: float, tmp_path: Path, number: int
) -> None:
    chance = random.Random(f"earlier:{number}")
    tree = copied(kept, tmp_path / "home")
    (tree.home / COPY).unlink()
    with closing(sqlite3.connect(tree.home / FILE_NAME)) as connection:
        connection.execute("PRAGMA user_version = 0")
    for _ in range(2):
        work(tree.home, "import_changes", chance.random() * seconds_of_a_rebuild)
    with tree.archive() as archive:
        archive.sync()
        assert_true(archive, tree.truth)
        assert words_of(archive) == kept.words
        assert archive.sync().files == 0


def test_a_rebuild_that_had_put_the_index_aside_and_nothing_else(kept: Kept, tmp_path: Path) -> None:
    tree = copied(kept, tmp_path / "home")
    (tree.home / COPY).unlink()
    set_aside(tree.home)
    with tree.archive() as archive:
        archive.sync()
        assert_true(archive, tree.truth)
        assert words_of(archive) == kept.words


def test_kills_do_come_in_the_middle(kept: Kept, seconds_of_a_rebuild: float, tmp_path: Path) -> None:
    """Otherwise the test above shows nothing."""

    def is_half_made(part: int) -> bool:
        tree = copied(kept, tmp_path / str(part))
        work(tree.home, "rebuild", seconds_of_a_rebuild * part / 16)
        with tree.archive() as archive:
            return meta.read_note(archive.inner.connection, meta.REBUILD) == "begun"

    assert any(is_half_made(part) for part in range(1, 48))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("number", range(KILLS))
def test_letting_go_of_damage_loses_nothing_that_is_intact(kept: Kept, tmp_path: Path, number: int) -> None:
    chance = random.Random(f"damaged:{number}")
    tree = copied(kept, tmp_path / "home")
    pack = tree.home / "safe" / "000001.pack"
    pack.write_bytes(FAULTS["zeroed"](pack.read_bytes(), chance))
    intact = proved(tree.home)
    work(tree.home, "forget_damaged", chance.random() * 0.12)
    assert intact <= proved(tree.home)
    with tree.archive() as archive:
        archive.sync()
        archive.safe.forget_damaged()
        archive.sync()
        assert_true(archive, tree.truth)
        assert words_of(archive) == kept.words
    assert intact <= proved(tree.home)
