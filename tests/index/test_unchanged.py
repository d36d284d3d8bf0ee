"""The glance that ends most syncs: it must see every change there is, and none where there is none."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from reread.archive import Archive
from reread.index.source_state import is_as_it_was, seen
from reread.testing import a_prompt, a_reply, a_session, a_subagent

ID = "0a1b2c3d-1111-4222-8333-444455556666"
OTHER = "99990000-1111-4222-8333-444455556666"


@pytest.fixture
def projects(tmp_path: Path) -> Path:
    folder = tmp_path / "projects"
    a_session(a_prompt("find the alpaca"), a_reply("here"), a_subagent(a_prompt("a lemur")), id=ID).write(folder)
    return folder


def trunk(projects: Path) -> Path:
    return next(projects.rglob(f"{ID}.jsonl"))


def is_unchanged(projects: Path, machine: str = "desk") -> bool:
    with Archive(projects.parent / "home", [projects], machine=machine) as archive:
        return is_as_it_was(archive.inner.connection, machine, archive.sources)


def sync(projects: Path) -> None:
    with Archive(projects.parent / "home", [projects], machine="desk") as archive:
        archive.sync()


def grow(projects: Path) -> None:
    with trunk(projects).open("ab") as file:
        file.write(b"{}\n")


def rewrite_in_place(projects: Path) -> None:
    before = trunk(projects).stat()
    trunk(projects).write_bytes(trunk(projects).read_bytes().replace(b"alpaca", b"iguana"))
    os.utime(trunk(projects), ns=(before.st_atime_ns, before.st_mtime_ns + 1))


def replace_with_the_same_time(projects: Path) -> None:
    before = trunk(projects).stat()
    fresh = trunk(projects).with_suffix(".new")
    fresh.write_bytes(trunk(projects).read_bytes().replace(b"alpaca", b"iguana"))
    os.utime(fresh, ns=(before.st_atime_ns, before.st_mtime_ns))
    fresh.replace(trunk(projects))


def add_a_session(projects: Path) -> None:
    a_session(a_prompt("another"), id=OTHER).write(projects)


def add_a_folder(projects: Path) -> None:
    (projects / "-home-new").mkdir()


def lose_the_trunk(projects: Path) -> None:
    trunk(projects).unlink()


def lose_the_folder(projects: Path) -> None:
    shutil.rmtree(trunk(projects).parent)


CHANGES = [
    grow,
    rewrite_in_place,
    replace_with_the_same_time,
    add_a_session,
    add_a_folder,
    lose_the_trunk,
    lose_the_folder,
]


@pytest.mark.parametrize("change", CHANGES)
def test_every_change_is_seen_until_it_was_taken(projects: Path, change: Callable[[Path], None]) -> None:
    assert not is_unchanged(projects)
    sync(projects)
    assert is_unchanged(projects)
    change(projects)
    assert not is_unchanged(projects)
    sync(projects)
    assert is_unchanged(projects)


def test_every_file_and_folder_is_looked_at_once(projects: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sync(projects)
    looked: list[str] = []
    really = os.stat

    def counted(path: bytes) -> os.stat_result:
        looked.append(os.fsdecode(path))
        return really(path)

    with Archive(projects.parent / "home", [projects], machine="desk") as archive:
        connection = archive.inner.connection
        with monkeypatch.context() as counting:
            counting.setattr(os, "stat", counted)
            assert is_as_it_was(connection, "desk", archive.sources)
        assert set(looked) == {path for path, *_ in seen(connection, "desk")}
    assert sorted(looked) == sorted(str(path) for path in (projects, *projects.rglob("*")))


def test_what_a_link_leads_to_is_looked_at(projects: Path) -> None:
    elsewhere = projects.parent / "elsewhere.jsonl"
    trunk(projects).rename(elsewhere)
    try:
        (projects / "-home-ann" / f"{ID}.jsonl").parent.mkdir(exist_ok=True)
        (projects / "-home-ann" / f"{ID}.jsonl").symlink_to(elsewhere)
    except OSError:
        pytest.skip("no links on this system")
    sync(projects)
    assert is_unchanged(projects)
    with elsewhere.open("ab") as file:
        file.write(b"{}\n")
    assert not is_unchanged(projects)


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="names there are always Unicode")
def test_names_that_are_no_utf_8_are_known_again(projects: Path) -> None:
    trunk(projects).rename(Path(os.fsdecode(os.fsencode(projects) + b"/caf\xe9.jsonl")))
    sync(projects)
    assert is_unchanged(projects)


def test_another_source_or_machine_is_not_known(projects: Path) -> None:
    sync(projects)
    assert not is_unchanged(projects, machine="other")
    with Archive(projects.parent / "home", [projects], machine="desk") as archive:
        assert not is_as_it_was(archive.inner.connection, "desk", [*archive.sources, projects.parent])
