"""What damage took is let go of: the archive is whole again, keeps what is intact, and knows what it lacks."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from faults.harm import FAULTS
from histories import a_config, a_fork, an_archive, backups_in, folder_of
from reread.archive import Archive
from reread.errors import SafeError, StoreError
from reread.index.database import FILE_NAME
from reread.safe.safe import FoundPiece, PiecePlace, Safe
from reread.testing import a_prompt, a_session
from trees import Tree, a_taken_tree, assert_true, digests, with_own_archive


@pytest.fixture(scope="module")
def taken(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    return a_taken_tree(tmp_path_factory.mktemp("tree"), size=600_000)


@pytest.fixture
def tree(taken: Tree, tmp_path: Path) -> Tree:
    return with_own_archive(taken, tmp_path)


def spoil(home: Path, how: str, seed: int) -> None:
    pack = home / "safe" / "000001.pack"
    pack.write_bytes(FAULTS[how](pack.read_bytes(), random.Random(f"{how}:{seed}")))


def flip(home: Path, offset: int) -> None:
    pack = home / "safe" / "000001.pack"
    content = bytearray(pack.read_bytes())
    content[offset] ^= 1
    pack.write_bytes(content)


def places(home: Path, kind: str) -> list[PiecePlace]:
    with Safe(home / "safe") as safe:
        return [found.place for found in safe.scan() if isinstance(found, FoundPiece) and found.header.kind == kind]


def proved(home: Path) -> set[tuple[str, int, int, str]]:
    """What of the safe is intact."""
    with Safe(home / "safe") as safe:
        headers = [found.header for found in safe.verify() if isinstance(found, FoundPiece)]
    return {(header.file, header.generation, header.start, header.sha256) for header in headers}


@pytest.mark.sampled(1, over="seed")
@pytest.mark.parametrize("is_rebuilt", [False, True])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("how", ["flipped", "zeroed", "cut", "shortened"])
def test_a_healed_archive_is_whole_again(tree: Tree, how: str, seed: int, is_rebuilt: bool) -> None:
    spoil(tree.home, how, seed)
    intact = proved(tree.home)
    with tree.archive() as archive:
        assert not archive.safe.verify().ok
        if is_rebuilt:
            archive.safe.rebuild()
            archive.sync()
        planned = archive.safe.damaged()
        assert archive.safe.forget_damaged() == planned
        assert intact <= proved(tree.home)
        assert archive.safe.verify().damaged == []
        archive.sync()
        assert archive.sync().files == 0
        assert archive.safe.damaged().pieces == []
        archive.safe.rebuild()
        assert_true(archive, tree.truth)


@pytest.mark.sampled(1, over="seed")
@pytest.mark.parametrize("is_rebuilt", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_what_has_no_source_any_more_keeps_its_place_and_is_told_of(
    tree: Tree, tmp_path: Path, seed: int, is_rebuilt: bool
) -> None:
    spoil(tree.home, "zeroed", seed)
    (tmp_path / "empty").mkdir()
    with Archive(tree.home, [tmp_path / "empty"], machine="desk") as archive:
        if is_rebuilt:
            archive.safe.rebuild()
        listed = {each.stored.row.uuid for each in archive.sessions()}
        before = {name: len(archive.safe.restore(name, tmp_path / "before" / name).damaged) for name in listed}
        archive.safe.forget_damaged()
        for after in ("after", "rebuilt"):
            assert archive.safe.verify().ok
            assert before == {name: len(archive.safe.restore(name, tmp_path / after / name).damaged) for name in listed}
            assert digests(tmp_path / after) == digests(tmp_path / "before")
            archive.safe.rebuild()
            assert {each.stored.row.uuid for each in archive.sessions()} == listed


def test_lost_bytes_in_the_middle_do_not_move_the_rest(tmp_path: Path) -> None:
    path = tmp_path / "source" / "-p" / "0a1b2c3d-1111-4222-8333-444455556666.jsonl"
    path.parent.mkdir(parents=True)
    noise = random.Random(7)
    lines = a_session(*(a_prompt(f"mark{number} " + noise.randbytes(5_000).hex()) for number in range(140))).lines
    path.write_bytes(b"\n".join(lines[:90]) + b"\n")
    with Archive(tmp_path / "home", [tmp_path / "source"], machine="desk") as archive:
        archive.sync()
        path.write_bytes(b"\n".join(lines) + b"\n")
        archive.sync()
        whole = path.read_bytes()
        path.unlink()
        flip(tmp_path / "home", places(tmp_path / "home", "transcript")[1].end - 9)
        archive.sync()
        archive.safe.forget_damaged()
        for _ in range(2):
            assert archive.safe.verify().ok
            session = archive.session("@last")
            assert len(session.problems) == 1
            assert [hit.uuid for hit in archive.search("mark139").hits] == [session.prompts[-1].uuid]
            shutil.rmtree(tmp_path / "back", ignore_errors=True)
            assert len(archive.safe.restore("@last", tmp_path / "back").damaged) == 1
            back = (tmp_path / "back" / path.name).read_bytes()
            assert len(back) == len(whole)
            assert back[-200_000:] == whole[-200_000:]
            archive.safe.rebuild()


def test_a_piece_whose_magic_alone_is_damaged_is_whole(tree: Tree) -> None:
    intact = proved(tree.home)
    flip(tree.home, places(tree.home, "transcript")[2].offset + 3)
    with Archive(tree.home, machine="desk") as archive:
        assert len(archive.safe.verify().damaged) == 1
        archive.safe.rebuild()
        assert archive.safe.forget_damaged().files == []
        assert_true(archive, tree.truth)
    assert proved(tree.home) == intact


def test_a_pack_that_cannot_be_read_at_all_is_not_let_go_of(tree: Tree) -> None:
    (tree.home / "safe" / "000002.pack").mkdir()
    with tree.archive() as archive, pytest.raises(SafeError, match="cannot be read"):
        archive.safe.forget_damaged()


def test_a_damaged_index_comes_first(tree: Tree) -> None:
    with tree.archive() as archive:
        archive.inner.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    content = bytearray((tree.home / FILE_NAME).read_bytes())
    content[40 * 4096 : 41 * 4096] = bytes(4096)
    (tree.home / FILE_NAME).write_bytes(content)
    with tree.archive() as archive, pytest.raises(StoreError, match="rebuild"):
        archive.safe.forget_damaged()


def test_backups_that_share_damaged_bytes_are_taken_anew(tmp_path: Path) -> None:
    config = a_config(tmp_path, {f"{number:016x}@v1": random.Random(number).randbytes(3_000) for number in range(4)})
    a_fork(config)
    with an_archive(config) as archive:
        archive.sync()
        flip(archive.home, max(places(archive.home, "backup"), key=lambda place: place.stored).end - 1)
        assert len(archive.safe.forget_damaged().files) == 2
        assert archive.safe.verify().ok
        archive.sync()
        for each in archive.sessions():
            name = each.stored.row.uuid
            assert archive.safe.restore(name, tmp_path / "back" / name).damaged == []
            assert backups_in(tmp_path / "back" / name / "file-history" / name) == backups_in(folder_of(config, name))


def test_a_backup_does_not_rely_on_damaged_bytes_of_another(tmp_path: Path) -> None:
    config = a_config(tmp_path, {"0000000000000001@v1": random.Random(1).randbytes(3_000)})
    with an_archive(config) as archive:
        archive.sync()
        flip(archive.home, places(archive.home, "backup")[0].end - 1)
        a_fork(config)
        archive.sync()
        assert archive.safe.restore("9999", tmp_path / "back").damaged == []


@pytest.mark.parametrize("how", ["lengthened", "shortened"])
def test_bytes_too_many_or_too_few_make_nobody_cut_off_an_intact_piece(tree: Tree, tmp_path: Path, how: str) -> None:
    """The end of what was acknowledged is the middle of another piece then."""
    last = max(place.offset for place in places(tree.home, "transcript"))
    for seed in range(8):
        home = tmp_path / f"home-{seed}"
        shutil.copytree(tree.home, home)
        pack = home / "safe" / "000001.pack"
        chance = random.Random(f"{how}:{seed}")
        content = pack.read_bytes()
        pack.write_bytes(FAULTS[how](content[:last], chance) + content[last:])
        intact = proved(home)
        with Tree(tree.source, home, tree.truth).archive() as archive:
            archive.inner.connection.execute("DELETE FROM source_state")
            archive.sync()
            archive.safe.verify()
        assert intact <= proved(home)
