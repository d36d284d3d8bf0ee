"""The archive's folder may be named by mistake: what was there before keeps its rights and its content."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from cli.running import Run
from cli.test_bad_input import assert_refused
from reread import errors
from reread.home import make_home
from reread.testing import a_prompt, a_session

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs POSIX permissions")

COMMANDS = (
    ["sync"],
    ["list"],
    ["usage"],
    ["search", "x"],
    ["mark", "@last", "--star"],
    ["budget", "day", "5"],
    ["machine", "--label", "x"],
    ["run", "--claude", "/bin/true", "hello"],
    ["archive", "rebuild"],
    ["serve", "--no-browser"],
)


def rights(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_a_folder_that_holds_other_things_is_refused(run: Run, tmp_path: Path, command: list[str]) -> None:
    shared = tmp_path / "shared"
    (shared / "work").mkdir(parents=True)
    shared.chmod(0o1777)
    a_session(a_prompt("x")).write(tmp_path / "source")
    assert_refused(run(*command, "--home", shared, "--source", tmp_path / "source"), str(shared), "no archive")
    assert rights(shared) == 0o1777
    assert [path.name for path in shared.iterdir()] == ["work"]


def test_an_empty_folder_is_used_with_its_rights_and_what_is_made_in_it_is_private(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    home.chmod(0o755)
    (home / "lost+found").mkdir()
    make_home(home)
    assert rights(home) == 0o755


def test_a_new_folder_and_its_new_parents_are_private(tmp_path: Path) -> None:
    before = os.umask(0o777)
    try:
        make_home(tmp_path / "above" / "home")
    finally:
        os.umask(before)
    assert rights(tmp_path / "above") == rights(tmp_path / "above" / "home") == 0o700


@pytest.mark.parametrize("name", ["reread.db", "reread.db.damaged-1", "safe", "marks.json", "web-token.12.part"])
def test_the_rest_of_an_archive_is_an_archive(tmp_path: Path, name: str) -> None:
    (tmp_path / name).touch()
    (tmp_path / "mine.txt").touch()
    before = rights(tmp_path)
    make_home(tmp_path)
    assert rights(tmp_path) == before


def test_a_folder_of_somebody_else_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: tmp_path.stat().st_uid + 1)
    with pytest.raises(errors.BadInput, match="another user"):
        make_home(tmp_path)
