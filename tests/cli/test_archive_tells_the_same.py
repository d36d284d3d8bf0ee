"""Whatever is read straight from sources is told in the same words by the archive, also when the sources are gone."""

from __future__ import annotations

import json
import shutil
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from cli.running import Run

ERAS = Path(__file__).parents[1] / "eras"
OF_THE_ARCHIVE = {"present", "archived", "expires", "files", "copied_from", "copied_cost_usd"}


def told(run: Run, *arguments: str | Path) -> Any:
    ran = run(*arguments, "--json")
    assert (ran.code, ran.err) == (0, ""), ran.err
    document = json.loads(ran.out)
    if "session" in document:
        document["session"] = {k: v for k, v in document["session"].items() if k not in OF_THE_ARCHIVE}
        document["subagents"].sort(key=lambda agent: agent["id"])  # some start in the same millisecond
    return document


def trees() -> list[Path]:
    with resources.as_file(resources.files("reread").joinpath("samples")) as samples:
        found = sorted(path for path in ERAS.iterdir() if path.is_dir() and any(path.rglob("*.jsonl")))
        return [samples, *found]


@pytest.mark.sampled(12)
@pytest.mark.parametrize("tree", trees(), ids=lambda path: path.name)
def test_the_archive_tells_what_the_files_tell(run: Run, tmp_path: Path, tree: Path) -> None:
    source = tmp_path / "source"
    shutil.copytree(tree, source, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    straight = ("--source", source)
    archive = (*straight, "--home", tmp_path / "kept")
    commands = [["prompts"], ["thinking", "--min-length", "1"], ["tools"]]
    sessions = [row["id"] for row in json.loads(run("list", *archive, "--json").out)["sessions"]]
    commands += [["show", session, "--branch", "all"] for session in dict.fromkeys(sessions)]
    before = [told(run, *command, *straight) for command in commands]
    assert [told(run, *command, *archive) for command in commands] == before
    for path in source.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    assert [told(run, *command, *archive) for command in commands] == before
