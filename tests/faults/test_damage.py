"""Damage is named, and the index is made again from the safe alone."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from reread.archive import Archive
from reread.archive.search_language import ALL_FIELDS
from reread.errors import StoreError
from reread.index.database import FILE_NAME
from reread.safe.safe import FoundPiece, Safe
from reread.testing import a_prompt, a_session
from trees import Tree, Truth, a_taken_tree, a_tree, assert_answers, assert_true, cells_of, with_own_archive


@pytest.fixture(scope="module")
def taken(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    return a_taken_tree(tmp_path_factory.mktemp("tree"), size=1_200_000)


@pytest.fixture
def tree(taken: Tree, tmp_path: Path) -> Tree:
    return with_own_archive(taken, tmp_path)


def picture(archive: Archive, tree: Tree) -> tuple[object, ...]:
    rows = [(each.stored.row, sorted(each.stored.files)) for each in archive.sessions()]
    words = [needle.word for needle in tree.truth.needles] + ["error", "the", "検索"]
    hits = [
        sorted((hit.session.row.uuid, hit.uuid or "", hit.text) for hit in archive.search(word, limit=10**6).hits)
        for word in words
    ]
    calls = archive.inner.connection.execute(
        "SELECT id, name, status, time, path FROM tool_call ORDER BY id, time, name"
    )
    terms = archive.inner.connection.execute("SELECT term, doc, cnt FROM vocabulary")
    return (rows, cells_of(archive), hits, list(calls), list(terms))


def spoil(database: Path, page: int) -> None:
    content = bytearray(database.read_bytes())
    content[page * 4096 : (page + 1) * 4096] = random.Random(page).randbytes(4096)
    database.write_bytes(content)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("part", range(8))
def test_a_damaged_page_is_named_and_the_index_made_again(tree: Tree, part: int) -> None:
    with tree.archive() as archive:
        before = picture(archive, tree)
        archive.inner.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        pages = archive.inner.connection.execute("PRAGMA page_count").fetchone()[0]
    page = random.Random(f"page:{part}").randrange(1, pages) if part else 0
    spoil(tree.home / FILE_NAME, page)
    with tree.archive() as archive:
        try:
            damaged = archive.safe.verify().damaged
        except StoreError as error:
            damaged = [f"database: {error}"]
        assert damaged
        assert all(said.startswith("database: ") for said in damaged), damaged
    with tree.archive() as archive:
        archive.safe.rebuild()
        assert picture(archive, tree) == before
        assert_true(archive, tree.truth)
        archive.sync()
        assert_true(archive, tree.truth)


def write_nonsense(tree: Tree) -> None:
    """As a damaged page gives it: SQLite has nothing against it."""
    with closing(sqlite3.connect(tree.home / FILE_NAME)) as database, database:
        database.execute("UPDATE session SET versions = '{'")


def test_values_that_nobody_wrote_are_told_as_damage(tree: Tree) -> None:
    write_nonsense(tree)
    with pytest.raises(StoreError, match=r"session has rows that are damaged.*rebuild"), tree.archive() as archive:
        archive.sessions()


def test_a_full_disk_is_not_told_as_damage(tree: Tree) -> None:
    with pytest.raises(StoreError, match="full") as raised, tree.archive() as archive:
        archive.inner.connection.execute("PRAGMA max_page_count = 1")  # as many as there are
        archive.inner.connection.execute("CREATE TABLE more AS SELECT * FROM session, file, piece")
    assert "rebuild" not in str(raised.value)


def test_what_a_caller_raises_is_not_asked_whether_the_index_is_damaged(tree: Tree) -> None:
    write_nonsense(tree)
    with pytest.raises(LookupError, match="of my own"), tree.archive() as archive:
        assert archive.inner.connection
        raise LookupError("of my own")


def test_a_lost_database_is_made_again(tree: Tree) -> None:
    with tree.archive() as archive:
        before = picture(archive, tree)
    for path in tree.home.glob(f"{FILE_NAME}*"):
        path.unlink()
    with Archive(tree.home, machine="desk") as archive:
        archive.safe.rebuild()
        assert picture(archive, tree) == before
        assert_true(archive, tree.truth)


def test_after_a_rebuild_a_sync_takes_nothing_twice(tree: Tree) -> None:
    with tree.archive() as archive:
        archive.safe.rebuild()
        stored = archive.inner.packs.packs()
        archive.sync()
        assert archive.inner.packs.packs() == stored
        assert_true(archive, tree.truth)


def test_a_sync_that_finds_a_safe_but_no_database_does_not_lose_what_only_the_safe_has(
    tree: Tree, tmp_path: Path
) -> None:
    for path in tree.home.glob(f"{FILE_NAME}*"):
        path.unlink()
    (tmp_path / "empty").mkdir()
    with Archive(tree.home, [tmp_path / "empty"], machine="desk") as archive:
        archive.sync()
        assert len(archive.sessions()) == len(tree.truth.by_session)


def test_a_rebuild_remembers_what_was_rewritten(tmp_path: Path) -> None:
    tree = a_tree(tmp_path, size=600_000)
    needle = next(each for each in tree.truth.needles if each.field in ("prompt", "text", "thinking"))
    path = tree.source / tree.truth.by_session[needle.session].path
    with tree.archive() as archive:
        archive.sync()
        old = path.read_bytes()
        path.write_bytes(b"".join(old.splitlines(keepends=True)[1:]))
        archive.sync()
        before = picture(archive, tree)
        archive.safe.rebuild()
        assert picture(archive, tree) == before
        rows = archive.inner.connection.execute("SELECT generation FROM file WHERE path = ?", (str(path),))
        assert rows.fetchall() == [(2,)]
        assert archive.safe.verify().ok


@pytest.mark.sampled(4)
@pytest.mark.parametrize("place", range(12))
def test_a_rebuild_leaves_out_what_cannot_be_proved_and_keeps_the_rest(tree: Tree, tmp_path: Path, place: int) -> None:
    """A flipped bit anywhere in the pack."""
    pack = tree.home / "safe" / "000001.pack"
    content = bytearray(pack.read_bytes())
    content[random.Random(f"bit:{place}").randrange(len(content))] ^= 0x5A
    pack.write_bytes(content)
    with tree.archive() as archive:
        said = [said for said in archive.safe.verify().damaged if said.startswith("pack 1")]
        assert said
    (tmp_path / "empty").mkdir()
    with Archive(tree.home, [tmp_path / "empty"], machine="desk") as archive:
        archive.safe.rebuild()
        listed = {each.stored.row.uuid for each in archive.sessions()}
        assert len(listed) >= len(tree.truth.by_session) - 1
        missed = [each for each in tree.truth.needles if not archive.search(each.word, ALL_FIELDS).hits]
        assert len({each.session for each in missed}) <= 1
        assert set(said) <= set(archive.safe.verify().damaged)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("place", range(6))
def test_what_is_damaged_is_taken_again_where_its_source_is_still_there(tree: Tree, place: int) -> None:
    pack = tree.home / "safe" / "000001.pack"
    content = bytearray(pack.read_bytes())
    content[random.Random(f"healed:{place}").randrange(len(content))] ^= 0x5A
    pack.write_bytes(content)
    with tree.archive() as archive:
        archive.safe.rebuild()
        archive.sync()
        assert_answers(archive, tree.truth)


def a_long_session(folder: Path) -> Path:
    """Three pieces of one file."""
    path = folder / "-p" / "0a1b2c3d-1111-4222-8333-444455556666.jsonl"
    path.parent.mkdir(parents=True)
    noise = random.Random(7)
    prompts = [f"mark{number} " + noise.randbytes(5_000).hex() for number in range(140)]
    path.write_bytes(b"\n".join(a_session(*map(a_prompt, prompts)).lines) + b"\n")
    return path


def spoil_piece(home: Path, number: int) -> None:
    with Safe(home / "safe") as safe:
        place = [found.place for found in safe.scan() if isinstance(found, FoundPiece)][number]
    pack = home / "safe" / "000001.pack"
    content = bytearray(pack.read_bytes())
    content[place.end - 9] ^= 0x5A
    pack.write_bytes(content)


@pytest.mark.sampled(1, over="piece")
@pytest.mark.parametrize("is_rebuilt", [False, True])
@pytest.mark.parametrize("piece", range(3))
def test_the_rest_of_a_damaged_conversation_is_read_found_and_restored(
    tmp_path: Path, piece: int, is_rebuilt: bool
) -> None:
    path = a_long_session(tmp_path / "source")
    whole = path.read_bytes()
    tree = Tree(tmp_path / "source", tmp_path / "home", Truth(0))
    with tree.archive() as archive:
        archive.sync()
    path.unlink()
    spoil_piece(tree.home, piece)
    with tree.archive() as archive:
        if is_rebuilt:
            archive.safe.rebuild()
        archive.sync()
        session = archive.session("@last")
        texts = [prompt.text.split()[0] for prompt in session.prompts]
        assert 80 <= len(texts) < 140
        assert texts == sorted(texts, key=lambda text: int(text[4:]))
        assert [hit.uuid for hit in archive.search(texts[-1]).hits] == [session.prompts[-1].uuid]
        lost = [record for record in session.records if b"bytes are lost here" in record.raw]
        restored = archive.safe.restore("@last", tmp_path / "back")
    back = (tmp_path / "back" / path.name).read_bytes()
    kept = [line for line in back.splitlines() if line.startswith(b"{") and line in whole]
    assert len(kept) >= 80
    if piece < 2 or not is_rebuilt:  # a last piece that is lost leaves no trace in the others
        assert len(lost) == 1
        assert len(session.problems) == len(restored.damaged) == 1
        assert len(back) == len(whole)


@pytest.mark.parametrize("shrinks", [False, True])
def test_a_rebuild_is_not_misled_by_pieces_of_a_sync_that_never_committed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shrinks: bool
) -> None:
    """Killed between append and commit; before the next sync the source shrank, or stayed as it was."""
    path = tmp_path / "source" / "-p" / "0a1b2c3d-1111-4222-8333-444455556666.jsonl"
    path.parent.mkdir(parents=True)
    long = a_session(*(a_prompt(f"alpaca {number} " + "x y " * 200_000) for number in range(4))).lines
    short = a_session(a_prompt("badger")).lines
    path.write_bytes(b"\n".join(long) + b"\n")
    tree = Tree(tmp_path / "source", tmp_path / "home", Truth(0))
    with tree.archive() as archive, monkeypatch.context() as patch:
        patch.setattr("reread.index.write.transaction", lambda _: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            archive.sync()
    if shrinks:
        path.write_bytes(b"\n".join(short) + b"\n")
    with tree.archive() as archive:
        archive.sync()
        before = picture(archive, tree)
        archive.safe.rebuild()
        assert archive.safe.verify().damaged == []
        assert picture(archive, tree) == before
        archive.safe.restore("@last", tmp_path / "back")
    assert (tmp_path / "back" / path.name).read_bytes() == path.read_bytes()
