"""Whatever happens to whatever file of an archive: a command answers or says a sentence, and a rebuild has it whole."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from faults.harm import FAULTS
from faults.homes import WAITING, a_full_home, an_unfinished_forget, opened, run, with_a_log
from reread.archive.search_language import ALL_FIELDS
from reread.home import JOURNAL
from reread.index.user_data import COPY
from trees import Tree, assert_answers

FILES = {
    "pack": "safe/*.pack",
    "index": "reread.db",
    "marks": COPY,
    "capture": "wire/*/*.wire",
    "prices": "prices.json",
    "log": "reread.db-wal",
    "record": f"safe/{JOURNAL}",
    "pack of an unfinished forget": "safe/*.pack",
}
FOLDERS = FILES | {"lock": "safe/lock", "index set aside": "reread.db.damaged-*[0-9]"}
UNFINISHED = "pack of an unfinished forget"
COMMANDS = [
    [],
    ["list"],
    ["search", "the"],
    ["show", "@last"],
    ["thinking"],
    ["prompts"],
    ["usage"],
    ["usage", "session"],
    ["retro"],
    ["tools"],
    ["files"],
    ["projects"],
    ["cache"],
    ["mark"],
    ["mark", "@2", "--tag", "again"],
    ["summary", "@last"],
    ["explain", "@last"],
    ["export", "@last", "--format", "markdown"],
    ["archive", "status"],
    ["archive", "verify"],
    ["archive", "forget", "--damaged", "--yes"],
    ["sql", "SELECT count(*) FROM session"],
    ["doctor"],
    ["sync"],
]
NAMED = {"prices": "prices.json", "lock": str(Path("safe", "lock")), "marks": COPY}
"""What no rebuild makes anew or puts aside where it is no file any more: whoever needs it is told its name."""


@pytest.fixture(scope="module")
def homes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Tree]:
    folder = tmp_path_factory.mktemp("homes")
    whole = a_full_home(folder)
    unfinished = an_unfinished_forget(whole, folder / "unfinished")
    logged = with_a_log(whole, folder / "logged")
    return {"log": logged, "record": unfinished, UNFINISHED: unfinished, "whole": whole}


def copied(homes: dict[str, Tree], what: str, to: Path) -> Tree:
    tree = homes.get(what, homes["whole"])
    shutil.copytree(tree.home, to)
    return Tree(tree.source, to, tree.truth)


def assert_told(tree: Tree, *arguments: str) -> int:
    ran = run(tree, *arguments)
    said = [line for line in ran.err.splitlines() if not line.startswith("reread: ")]
    assert ran.code in (0, 1, 2), (arguments, ran)
    assert not said, (arguments, ran)
    assert ran.code == 0 or ran.out or ran.err, arguments
    assert ran.code != 2 or ran.err, arguments
    return ran.code


def assert_mended(tree: Tree, *, is_forgotten: bool = False) -> None:
    """With a session forgotten there is no known truth of the sums; a record that damage ended is none."""
    for command in (["archive", "rebuild"], ["sync"]):
        ran = run(tree, *command)
        assert ran.code == 0, (command, ran)
    with opened(tree) as archive:
        if is_forgotten and (known := set(tree.truth.by_session)) != {
            each.stored.row.uuid for each in archive.sessions()
        }:
            assert {each.stored.row.uuid for each in archive.sessions()} == known - {max(known)}
        else:
            assert_answers(archive, tree.truth)
        assert archive.marks.all()[min(tree.truth.by_session)].note == "a noteword"
        assert archive.marks.moves().pairs == (("/home/old", "/home/new"),)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("how", FAULTS)
@pytest.mark.parametrize("what", FILES)
def test_harmed_bytes(homes: dict[str, Tree], tmp_path: Path, what: str, how: str) -> None:
    chance = random.Random(f"{what}:{how}")
    tree = copied(homes, what, tmp_path / "home")
    path = chance.choice(sorted(tree.home.glob(FILES[what])))
    path.write_bytes(FAULTS[how](path.read_bytes(), chance))
    for command in chance.sample(COMMANDS, 3):
        assert_told(tree, *command)
    if what == "prices":
        path.unlink()
    assert_mended(tree, is_forgotten=what == UNFINISHED)
    with opened(tree) as archive:
        assert archive.search(WAITING, ALL_FIELDS).hits or what == "capture"


@pytest.mark.parametrize("what", FOLDERS)
def test_a_folder_in_the_place_of_a_file(homes: dict[str, Tree], tmp_path: Path, what: str) -> None:
    chance = random.Random(f"{what}:folder")
    tree = copied(homes, what, tmp_path / "home")
    path = chance.choice(sorted(tree.home.glob(FOLDERS[what])))
    path.unlink()
    path.mkdir()
    for command in chance.sample(COMMANDS, 3):
        assert_told(tree, *command)
    if what in NAMED:
        told = [run(tree, *command).err for command in (["sync"], ["mark", "@last", "--star"])]
        assert any(NAMED[what] in each for each in told), told
        path.rmdir()
    assert_mended(tree, is_forgotten=what == UNFINISHED)
