"""Whatever happens to a source, what was taken of it stays, and nothing is ever written there."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from reread.archive import Archive
from reread.archive.search_language import ALL_FIELDS
from reread.index.custody import generations, restore
from reread.ingest import jobs, survey
from reread.testing import a_prompt, a_reply, a_session
from trees import Tree, a_tree, append, assert_true, cells_of, digests, resume_copy, traces


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return a_tree(tmp_path, size=1_200_000)


Picture = tuple[object, ...]


def picture(archive: Archive, tree: Tree) -> Picture:
    """What list, usage and search say."""
    rows = [(each.stored.row, sorted(each.stored.files)) for each in archive.sessions()]
    hits = [
        [(hit.session.row.uuid, hit.uuid, hit.field, hit.text) for hit in archive.search(needle.word, ALL_FIELDS).hits]
        for needle in tree.truth.needles
    ]
    return (rows, cells_of(archive), hits)


def test_a_cold_sync_appends_and_a_resumed_copy_are_exact(tree: Tree) -> None:
    with tree.archive() as archive:
        archive.sync()
        assert_true(archive, tree.truth)
        for seed in range(3):
            append(tree.source, tree.truth, seed=seed)
            before = traces(tree.source)
            archive.sync()
            assert_true(archive, tree.truth)
            assert traces(tree.source) == before
        resume_copy(tree.source, tree.truth)
        archive.sync()
        assert_true(archive, tree.truth)


def test_a_new_process_sees_the_same(tree: Tree) -> None:
    with tree.archive() as archive:
        archive.sync()
        before = picture(archive, tree)
    with tree.archive() as archive:
        assert picture(archive, tree) == before


def test_deleted_sources_change_nothing_and_come_back_identical(tree: Tree, tmp_path: Path) -> None:
    source = digests(tree.source / "projects")
    with tree.archive() as archive:
        archive.sync()
        before = picture(archive, tree)
        for path in sorted((tree.source / "projects").iterdir()):
            shutil.rmtree(path)
        result = archive.sync()
        assert result.vanished == len(source)
        assert not any(each.stored.present for each in archive.sessions())
        assert picture(archive, tree) == before
        assert_true(archive, tree.truth)
        for each in archive.sessions():
            archive.safe.restore(each.stored.row.uuid, tmp_path / "back" / Path(each.stored.row.folder).name)
    assert digests(tmp_path / "back") == source


def test_a_whole_source_that_is_gone_loses_nothing(tree: Tree) -> None:
    """An unplugged disk is no deletion, and no reason to stop."""
    with tree.archive() as archive:
        archive.sync()
        before = picture(archive, tree)
    tree.source.rename(tree.source.with_name("elsewhere"))
    with Archive(tree.home, machine="desk") as archive:
        assert picture(archive, tree) == before
        assert archive.safe.verify().ok


def test_restored_into_its_source_a_session_is_taken_as_known(tree: Tree) -> None:
    """The way back from the client's clean-up."""
    with tree.archive() as archive:
        archive.sync()
        known = archive.sessions()[0].stored
        for path in known.files:
            Path(path).unlink()
        archive.sync()
        archive.safe.restore(known.row.uuid, Path(known.row.folder))
        archive.sync()
        assert archive.find(known.row.uuid).present
        assert_true(archive, tree.truth)
        assert {each.generation for each in generations(archive.inner.connection, known)} == {1}


@pytest.mark.parametrize("how", ["truncated", "emptied", "replaced", "same size", "new inode"])
def test_a_source_that_is_not_what_it_was_is_noticed_and_the_old_bytes_stay(
    tree: Tree, tmp_path: Path, how: str
) -> None:
    needle = next(each for each in tree.truth.needles if each.field in ("prompt", "text", "thinking"))
    known = tree.truth.by_session[needle.session]
    path = tree.source / known.path
    old = path.read_bytes()
    with tree.archive() as archive:
        archive.sync()
        change(path, old, how)
        new = path.read_bytes()
        archive.sync()
        session = archive.find(needle.session)
        found = bool(archive.search(needle.word, ALL_FIELDS).hits)
        shares_lines = how == "new inode"  # then what the older one alone has stays part of the session
        assert found == (needle.word.encode() in new or shares_lines)
        held = {(each.path, each.generation): each.bytes for each in generations(archive.inner.connection, session)}
        assert held[path, 1] == len(old)
        restore(archive.inner.connection, archive.inner.reader, session, tmp_path / "then", generation=1)
        archive.safe.restore(needle.session, tmp_path / "now")
        assert archive.safe.verify().ok
    then, now = tmp_path / "then" / path.name, tmp_path / "now" / path.name
    assert hashlib.sha256(then.read_bytes()).digest() == hashlib.sha256(old).digest()
    assert now.read_bytes() == new


def change(path: Path, old: bytes, how: str) -> None:
    lines = old.splitlines(keepends=True)
    if how == "truncated":
        os.truncate(path, len(old) // 3)
    elif how == "emptied":
        path.write_bytes(b"")
    elif how == "replaced":
        path.write_bytes(b"".join(lines[len(lines) // 2 :]) + old)
    elif how == "same size":
        path.write_bytes(lines[-1] + b"".join(lines[:-1]))
    else:
        copy = path.with_name("copy")
        copy.write_bytes(b"".join(lines[1:]))
        copy.replace(path)


def test_a_change_in_the_middle_of_a_file_of_the_same_size_is_noticed(tmp_path: Path) -> None:
    a, b, c = (a_session(a_prompt(f"{word} " * 300)).bytes for word in ("first", "alpaca", "last"))
    path = tmp_path / "source" / "-p" / "0a1b2c3d-1111-4222-8333-444455556666.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(a + b + c)
    with Archive(tmp_path / "home", [tmp_path / "source"]) as archive:
        archive.sync()
        path.write_bytes(a + b.replace(b"alpaca", b"badger") + c)
        archive.sync()
        assert archive.search("badger", ALL_FIELDS).hits


@pytest.mark.parametrize("is_longer", [True, False])
def test_a_file_that_is_replaced_between_the_look_and_the_reading_is_no_mixture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_longer: bool
) -> None:
    """Its beginning was kept and its end is of another file."""
    whole = [each for number in range(40) for each in (a_prompt(f"question {number}"), a_reply(f"answer {number}"))]
    path = a_session(*whole[:20]).write(tmp_path / "claude" / "projects")
    other = b"".join(path.read_bytes().splitlines(keepends=True)[::-1] * (3 if is_longer else 1))
    look = jobs.file_job

    def look_and_replace(*args: Any) -> jobs.FileJob | None:
        job = look(*args)
        path.with_suffix(".new").write_bytes(other)
        path.with_suffix(".new").replace(path)
        return job

    with Archive(tmp_path / "home", [tmp_path / "claude"], machine="desk") as archive:
        archive.sync()
        with path.open("ab") as file:
            file.write(a_session(*whole[20:30]).write(tmp_path / "more").read_bytes())
        with monkeypatch.context() as patched:
            patched.setattr(survey, "file_job", look_and_replace)
            told = archive.sync()
        assert [problem.path for problem in told.problems] == [path]
        archive.sync()
        assert archive.safe.verify(deep=True).ok
        [kept] = archive.sessions()
        archive.safe.restore(kept.stored.row.uuid, tmp_path / "back")
    assert (tmp_path / "back" / path.name).read_bytes() == other


def test_nothing_is_written_below_a_source_by_anything_we_do(tree: Tree, tmp_path: Path) -> None:
    before = traces(tree.source)
    with tree.archive() as archive:
        archive.sync()
        archive.sync()
        uuid = tree.truth.needles[0].session
        archive.session(uuid)
        archive.search("the", ALL_FIELDS)
        archive.search("t.e", ALL_FIELDS, is_regex=True)
        archive.usage()
        archive.safe.status()
        archive.safe.verify()
        archive.safe.restore(uuid, tmp_path / "back")
        archive.safe.rebuild()
        archive.safe.forget(uuid)
    assert traces(tree.source) == before
    for path in tree.home.rglob("*"):
        assert path.stat().st_mode & 0o077 == 0, path


def test_a_file_that_goes_while_workers_read_is_told_and_the_others_are_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Claude Code deletes what is old when it starts, also while a first sync reads it."""
    paths = [
        a_session(a_prompt("hello"), id=f"0a1b2c3d-1111-4222-8333-{n:012}").write(tmp_path / "c") for n in range(6)
    ]
    for number, path in enumerate(paths):
        os.utime(path, (1_800_000_000 + number,) * 2)  # the last is the newest, and read first
    monkeypatch.setattr("reread.workers.ALONE_BELOW", 0)
    monkeypatch.setattr("reread.ingest.sync.AHEAD", 1)  # one at a time
    with Archive(tmp_path / "home", [tmp_path / "c"]) as archive:
        done = archive.sync(lambda _: paths[0].unlink(missing_ok=True))
        assert [problem.path for problem in done.problems] == paths[:1]
        assert done.sessions == len(paths) - 1
        assert archive.safe.verify().ok
