"""The record of an unfinished forget decides which packs go: damaged, it decides nothing."""

from __future__ import annotations

import random
import re
import shutil
from pathlib import Path

import pytest

from faults.harm import FAULTS
from faults.homes import a_full_home, an_unfinished_forget, opened, run
from reread.errors import SafeError
from reread.home import JOURNAL
from reread.index.database import remove
from reread.safe.safe import FoundPiece, Safe
from trees import Tree, assert_answers


@pytest.fixture(scope="module")
def unfinished(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    folder = tmp_path_factory.mktemp("unfinished")
    return an_unfinished_forget(a_full_home(folder), folder / "copy")


@pytest.fixture
def tree(unfinished: Tree, tmp_path: Path) -> Tree:
    shutil.copytree(unfinished.home, tmp_path / "home")
    return Tree(unfinished.source, tmp_path / "home", unfinished.truth)


def packs(home: Path) -> set[str]:
    return {path.name for path in (home / "safe").glob("*.pack")}


def proved(home: Path) -> set[tuple[str, int, int, str]]:
    with Safe(home / "safe") as safe:
        headers = [found.header for found in safe.verify() if isinstance(found, FoundPiece)]
    return {(header.file, header.generation, header.start, header.sha256) for header in headers}


def test_it_is_finished_by_the_next_sync(tree: Tree) -> None:
    assert len(packs(tree.home)) == 2
    assert run(tree, "sync").code == 0
    assert not (tree.home / "safe" / JOURNAL).exists()
    assert len(packs(tree.home)) == 1
    with opened(tree) as archive:
        assert {each.stored.row.uuid for each in archive.sessions()} == tree.truth.by_session.keys() - {
            max(tree.truth.by_session)
        }
        assert archive.safe.verify().ok


@pytest.mark.parametrize("command", ["sync", "archive rebuild"])
def test_an_index_made_again_reads_new_packs_that_had_no_name_yet(tree: Tree, tmp_path: Path, command: str) -> None:
    tree.source = tmp_path / "gone"
    tree.source.mkdir()
    new = max((tree.home / "safe").glob("*.pack"))
    new.rename(new.with_suffix(".pack.new"))
    remove(tree.home)
    assert run(tree, *command.split()).code == 0
    with opened(tree) as archive:
        proof = archive.safe.verify(deep=True)
        assert (proof.damaged, proof.unnamed) == ([], [])
        assert max(tree.truth.by_session) not in {each.stored.row.uuid for each in archive.sessions()}
    assert packs(tree.home) == {new.name}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(6))
def test_by_no_wrong_number_a_pack_goes(tree: Tree, seed: int) -> None:
    """A digit in the place of another is JSON as before."""
    chance = random.Random(f"digit:{seed}")
    record = tree.home / "safe" / JOURNAL
    text, checksum, _ = record.read_bytes().split(b"\n")
    at = chance.choice([match.start() for match in re.finditer(rb"[0-9]", text)])
    digit = chance.choice([each for each in b"123456789" if each != text[at]])
    record.write_bytes(text[:at] + bytes([digit]) + text[at + 1 :] + b"\n" + checksum + b"\n")
    before = packs(tree.home)
    with Safe(tree.home / "safe") as safe, pytest.raises(SafeError, match="unfinished forget"):
        safe.unfinished()
    ran = run(tree, "sync")
    assert ran.code == 2
    assert "`reread archive rebuild` makes do without it" in ran.err
    assert packs(tree.home) == before


@pytest.mark.parametrize("how", [*FAULTS, "a folder"])
def test_a_rebuild_makes_do_without_it_and_loses_nothing(tree: Tree, how: str) -> None:
    record = tree.home / "safe" / JOURNAL
    content = record.read_bytes()
    record.unlink()
    everything = proved(tree.home)
    if how == "a folder":
        record.mkdir()
    else:
        record.write_bytes(FAULTS[how](content, random.Random(how)))
    assert run(tree, "sync").code == 2
    assert run(tree, "archive", "rebuild").code == 0
    assert proved(tree.home) == everything
    with opened(tree) as archive:
        archive.sync()
        assert_answers(archive, tree.truth)
        archive.safe.forget(max(tree.truth.by_session))
        assert archive.safe.verify().ok


def test_a_new_pack_that_was_cut_keeps_the_old_one(tree: Tree) -> None:
    new = max((tree.home / "safe").glob("*.pack"))
    new.write_bytes(new.read_bytes()[:-1])
    ran = run(tree, "sync")
    assert ran.code == 2
    assert "the packs of this unfinished forget are not whole" in ran.err
    assert len(packs(tree.home)) == 2
    assert run(tree, "archive", "rebuild").code == 0
    with opened(tree) as archive:
        archive.sync()
        assert_answers(archive, tree.truth)


@pytest.mark.parametrize(
    "content", [b"[" * 100_000, b"{}", b"null", b"\xff\xfe", b'{"keys": ["a"], "replaced": [1], "made": [9]}']
)
def test_what_is_no_record_is_told_in_a_sentence(tree: Tree, content: bytes) -> None:
    (tree.home / "safe" / JOURNAL).write_bytes(content)
    ran = run(tree, "sync")
    assert ran.code == 2
    assert len(ran.err.splitlines()) == 1
    assert len(packs(tree.home)) == 2


def test_a_record_without_a_checksum_is_one_of_an_older_version(tree: Tree) -> None:
    record = tree.home / "safe" / JOURNAL
    record.write_bytes(record.read_bytes().split(b"\n")[0])
    assert run(tree, "sync").code == 0
    assert not record.exists()
