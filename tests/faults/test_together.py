"""Two syncs at once, and readers beside one: everybody ends well, nothing is taken twice."""

from __future__ import annotations

import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest

from faults.syncing import started
from reread.archive.search_language import ALL_FIELDS
from reread.index.database import FILE_NAME
from reread.safe.safe import FoundPiece
from trees import Tree, a_tree, append, assert_true, cells_of


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    return a_tree(tmp_path_factory.mktemp("tree"), size=2_500_000)


def stored_twice(tree: Tree) -> list[tuple[object, ...]]:
    with tree.archive() as archive:
        places = [
            (each.header.file, each.header.start) for each in archive.inner.packs.scan() if isinstance(each, FoundPiece)
        ]
        assert len(places) == len(set(places)), "a piece was taken twice"
        return list(
            archive.inner.connection.execute(
                "SELECT file, offset, part, count(*) FROM block GROUP BY file, offset, part HAVING count(*) > 1"
            )
        )


@pytest.mark.parametrize("alone", [0, 1 << 40])
def test_two_first_syncs_at_once(tree: Tree, tmp_path: Path, alone: int) -> None:
    own = Tree(tree.source, tmp_path / "home", tree.truth)
    both = [started(own.home, own.source, alone=alone) for _ in range(2)]
    for sync in both:
        said = sync.communicate(timeout=90)[1].decode()
        assert (sync.returncode, said) == (0, "")
    with own.archive() as archive:
        assert_true(archive, tree.truth)
    assert stored_twice(own) == []


def test_two_syncs_of_appends_at_once(tmp_path: Path) -> None:
    own = a_tree(tmp_path, size=1_200_000)
    with own.archive() as archive:
        archive.sync()
    append(own.source, own.truth, sessions=6)
    both = [started(own.home, own.source) for _ in range(3)]
    for sync in both:
        said = sync.communicate(timeout=90)[1].decode()
        assert (sync.returncode, said) == (0, "")
    with own.archive() as archive:
        assert_true(archive, own.truth)
    assert stored_twice(own) == []


@pytest.mark.skipif(sys.platform == "win32", reason="an open file cannot be set aside")
@pytest.mark.parametrize("is_earlier", [False, True], ids=["lost", "of an earlier version"])
def test_of_several_that_find_the_index_lost_one_makes_it_anew(tmp_path: Path, is_earlier: bool) -> None:
    own = a_tree(tmp_path, size=1_200_000)
    with own.archive() as archive:
        archive.sync()
    if is_earlier:
        with closing(sqlite3.connect(own.home / FILE_NAME)) as connection:
            connection.execute("PRAGMA user_version = 0")
    else:
        for path in own.home.glob(f"{FILE_NAME}*"):
            path.unlink()
    several = [started(own.home, own.source) for _ in range(3)]
    for sync in several:
        said = sync.communicate(timeout=90)[1].decode()
        assert (sync.returncode, said) == (0, "")
    aside = [path for path in own.home.glob(f"{FILE_NAME}.damaged-*") if path.name[-1].isdecimal()]
    assert len(aside) == (0 if is_earlier else 1)
    with own.archive() as archive:
        assert_true(archive, own.truth)


@pytest.mark.skipif(sys.platform == "win32", reason="an open file cannot be set aside")
def test_one_whose_index_was_made_anew_by_another_writes_into_the_new_one(tmp_path: Path) -> None:
    own = a_tree(tmp_path, size=300_000)
    with own.archive() as archive, own.archive() as other:
        archive.sync()
        other.safe.rebuild()
        append(own.source, own.truth)
        archive.sync()
    with own.archive() as archive:
        assert archive.is_current()
        assert_true(archive, own.truth)


def test_a_reader_beside_a_sync_never_fails_and_never_sees_half_a_session(tree: Tree, tmp_path: Path) -> None:
    own = Tree(tree.source, tmp_path / "home", tree.truth)
    sizes = {sid: known.tally.bytes for sid, known in tree.truth.by_session.items()}
    seen = set()
    with own.archive() as archive:
        archive.sessions()
        with started(own.home, own.source, commit=50_000, alone=1 << 40) as sync:
            while sync.poll() is None:
                listed = [each.stored.row for each in archive.sessions()]
                seen.add(len(listed))
                assert all(row.bytes >= sizes[row.uuid] for row in listed)
                for needle in tree.truth.needles:
                    found = {hit.session.row.uuid for hit in archive.search(needle.word, ALL_FIELDS).hits}
                    assert found <= {needle.session}
                cells_of(archive)
                if listed:
                    assert archive.session(listed[-1].uuid).id == listed[-1].uuid
        assert sync.returncode == 0
        assert_true(archive, tree.truth)
    assert len(seen) > 2, "the reader saw only the beginning and the end"


def test_an_open_reader_does_not_stop_a_forget(tree: Tree, tmp_path: Path) -> None:
    own = Tree(tree.source, tmp_path / "home", tree.truth)
    with own.archive() as reader, own.archive() as archive:
        archive.sync()
        session = tree.truth.needles[0].session
        assert reader.session(session).id == session
        archive.safe.forget(session)
        left = {each.stored.row.uuid for each in reader.sessions()}
        assert left == set(tree.truth.by_session) - {session}
        for needle in tree.truth.needles[1:]:
            assert len(reader.search(needle.word, ALL_FIELDS).hits) == 1


@pytest.mark.skipif(sys.platform == "win32", reason="an open file cannot be written to")
def test_a_file_that_grows_while_it_is_synced_is_whole_in_the_end(tmp_path: Path) -> None:
    own = a_tree(tmp_path, size=1_200_000)
    with started(own.home, own.source, commit=50_000, alone=1 << 40) as sync:
        for seed in range(4):
            append(own.source, own.truth, sessions=4, turns=1, seed=seed)
        assert sync.wait(60) == 0
    with own.archive() as archive:
        archive.sync()
        assert_true(archive, own.truth)
