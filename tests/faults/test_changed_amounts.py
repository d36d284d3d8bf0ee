"""Numbers of the index that a hand or a flipped bit changed: `archive verify` counts again, and finds them."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from cli.running import reread
from reread.archive import Archive
from reread.index.database import FILE_NAME
from reread.index.verify import Verified
from trees import Tree, a_tree, resume_copy, with_own_archive


@pytest.fixture(scope="module")
def taken(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    tree = a_tree(tmp_path_factory.mktemp("tree"), size=400_000)
    resume_copy(tree.source, tree.truth)
    with tree.archive() as archive:
        archive.sync()
        assert archive.inner.connection.execute("SELECT count(*) FROM copied").fetchone()[0]
        archive.inner.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return tree


@pytest.fixture
def tree(taken: Tree, tmp_path: Path) -> Tree:
    return with_own_archive(taken, tmp_path)


CHOSEN = {
    "ONE_CELL": "(SELECT max(quarter) FROM usage_cell WHERE nanodollars > 1)",
    "ONE_RESPONSE": "(SELECT min(key) FROM request WHERE is_shared = 0 AND nanodollars > 0)",
}


def change(tree: Tree, statement: str) -> None:
    for name, chosen in CHOSEN.items():
        statement = statement.replace(name, chosen)
    with tree.archive() as archive:
        assert archive.inner.connection.execute(statement).rowcount > 0


def proved(tree: Tree, *, deep: bool = False) -> Verified:
    with Archive(tree.home, machine="desk") as archive:
        return archive.safe.verify(deep=deep)


def test_a_whole_archive_is_proved_to_the_last_response(tree: Tree) -> None:
    proof = proved(tree, deep=True)
    assert proof.damaged == []
    with tree.archive() as archive:
        assert proof.recounted == archive.inner.connection.execute("SELECT count(*) FROM request").fetchone()[0]


@pytest.mark.parametrize(
    ("statement", "named"),
    [
        ("UPDATE usage_cell SET nanodollars = nanodollars + 23089280000000 WHERE quarter = ONE_CELL", "the sums of"),
        ("UPDATE usage_cell SET output = output + 1 WHERE quarter = ONE_CELL", "the sums of"),
        ("DELETE FROM usage_cell WHERE quarter = ONE_CELL", "the sums of"),
        ("UPDATE request SET nanodollars = nanodollars + 1 WHERE key = ONE_RESPONSE", "the cost of response"),
        ("UPDATE request SET output = output + 4096 WHERE key = ONE_RESPONSE", "the cost of response"),
        ("UPDATE request SET is_shared = 1 WHERE key = ONE_RESPONSE", "is not counted as its files tell it"),
        ("UPDATE copied SET counted = owner + 1 WHERE key = (SELECT min(key) FROM copied)", "is not counted as"),
        ("DELETE FROM copied WHERE key = (SELECT min(key) FROM copied)", "is not counted as its files tell it"),
        ("UPDATE session SET nanodollars = 9720000000 WHERE id = 1", "the figures of session"),
        ("UPDATE session SET requests = requests + 1 WHERE id = 1", "the figures of session"),
        ("UPDATE session SET prompts = prompts + 1 WHERE id = 1", "the counts of session"),
        ("UPDATE session SET prompts = NULL WHERE id = 1", "the counts of session"),
        ("UPDATE session SET tool_calls = tool_calls + 1 WHERE id = 1", "the counts of session"),
        ("DELETE FROM prompt WHERE file = (SELECT min(file) FROM prompt)", "the counts of session"),
    ],
)
def test_a_changed_amount_is_found_and_named(tree: Tree, statement: str, named: str) -> None:
    change(tree, statement)
    proof = proved(tree)
    assert any(named in damage for damage in proof.damaged), proof.damaged
    assert all(damage.startswith("index: ") for damage in proof.damaged)
    with tree.archive() as archive:
        archive.safe.rebuild()
        assert archive.safe.verify(deep=True).damaged == []


@pytest.mark.parametrize("alone_below", [0, 10**9], ids=["by workers", "alone"])
def test_what_adds_up_and_is_wrong_all_the_same_is_found_from_the_kept_bytes(
    tree: Tree, alone_below: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tokens that cost nothing: every sum above them can be made to agree."""
    monkeypatch.setattr("reread.workers.ALONE_BELOW", alone_below)
    change(tree, "UPDATE request SET rows = rows + 1 WHERE key = ONE_RESPONSE")
    with tree.archive() as archive:
        archive.inner.connection.execute("DELETE FROM note WHERE name = 'usage_cells'")
    proof = proved(tree, deep=True)
    assert [
        damage for damage in proof.damaged if "index: 1 responses of" in damage and "not what its lines say" in damage
    ]
    with tree.archive() as archive:
        assert proof.recounted == archive.inner.connection.execute("SELECT count(*) FROM request").fetchone()[0]


def test_the_command_says_so_and_exits_with_1(tree: Tree) -> None:
    assert reread("archive", "verify", "--deep", "--home", tree.home).code == 0
    change(tree, "UPDATE usage_cell SET nanodollars = 1 WHERE quarter = ONE_CELL")
    done = reread("archive", "verify", "--home", tree.home)
    assert done.code == 1
    assert "index: the sums of" in done.out


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(8))
def test_a_flipped_bit_among_the_amounts_is_found(tree: Tree, seed: int) -> None:
    """In the pages that hold the cells and the responses, wherever it lands on a number."""
    chance = random.Random(f"amounts:{seed}")
    with tree.archive() as archive:
        table = chance.choice(["usage_cell", "request", "copied"])
        columns = {"usage_cell": "nanodollars", "request": "nanodollars", "copied": "nanodollars"}
        keys = [key for (key,) in archive.inner.connection.execute(f"SELECT {columns[table]} FROM {table}")]  # noqa: S608
        old = chance.choice([key for key in keys if key])
        new = old ^ (1 << chance.randrange(old.bit_length() - 1))
        archive.inner.connection.execute(
            f"UPDATE {table} SET nanodollars = ? WHERE nanodollars = ?",  # noqa: S608
            (new, old),
        )
    assert (tree.home / FILE_NAME).exists()
    assert not proved(tree).ok
