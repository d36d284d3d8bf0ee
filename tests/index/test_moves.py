"""What a person said about folders: kept like marks, through rebuilds and lost databases."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reread.archive import Archive
from reread.errors import BadInput, StoreError
from reread.index.database import FILE_NAME
from reread.index.user_data import COPY
from reread.testing import a_prompt, a_reply, a_session

ONE, TWO = "0a1b2c3d-1111-4222-8333-444455556666", "5e551011-0000-4000-8000-000000000000"
SAID = (("/home/ann/quincunx", "/home/ann/new"),)


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    for name in (ONE, TWO):
        session = a_session(a_prompt(f"prompt of {name}"), a_reply("done"), id=name, cwd="/home/ann/quincunx")
        session.write(tmp_path / "projects")
    made = Archive(tmp_path / "home", [tmp_path / "projects"], machine="desk")
    made.sync()
    made.marks.move_project(*SAID[0])
    return made


def test_the_copy_has_what_was_said(archive: Archive) -> None:
    document = json.loads((archive.home / COPY).read_bytes())
    assert document["moved"] == [{"earlier": "/home/ann/quincunx", "today": "/home/ann/new"}]
    archive.marks.set(ONE, starred=True)
    assert json.loads((archive.home / COPY).read_bytes())["moved"] == document["moved"]


def test_a_rebuild_takes_moves_over(archive: Archive) -> None:
    (archive.home / COPY).unlink()
    archive.safe.rebuild()
    assert archive.marks.moves().pairs == SAID
    assert {each.project for each in archive.sessions()} == {"/home/ann/new"}


@pytest.mark.parametrize("damage", ["garbage", "deleted"])
def test_moves_outlast_the_database(archive: Archive, damage: str) -> None:
    archive.close()
    for path in archive.home.glob(f"{FILE_NAME}*"):
        path.unlink() if damage == "deleted" else path.write_bytes(b"no database" * 1000)
    archive.sync() if damage == "deleted" else archive.safe.rebuild()
    assert archive.marks.moves().pairs == SAID


def test_the_first_note_in_a_new_archive_costs_no_moves(archive: Archive) -> None:
    archive.inner.connection.execute("DELETE FROM moved_folder")
    archive.marks.set(TWO, starred=True)
    assert archive.marks.moves().pairs == SAID
    archive.inner.connection.execute("DELETE FROM moved_folder")
    archive.marks.move_project("/a", "/b")
    assert archive.marks.moves().pairs == (("/a", "/b"), *SAID)


@pytest.mark.parametrize(
    "content", [b"{", b'{"moved": 3}', b'{"moved": [3, {}, {"earlier": "/a"}, {"earlier": 1, "today": "/b"}]}']
)
def test_a_copy_that_is_none_of_ours_costs_nothing(archive: Archive, content: bytes) -> None:
    archive.marks.unmove_project(SAID[0][0])
    (archive.home / COPY).write_bytes(content)
    archive.safe.rebuild()
    assert archive.marks.moves().pairs == ()
    assert len(archive.sessions()) == 2


def test_where_the_copy_cannot_be_written_nothing_is_kept(archive: Archive) -> None:
    (archive.home / f"{COPY}.part").mkdir()
    with pytest.raises(StoreError, match="cannot be written"):
        archive.marks.move_project("/a", "/b")
    with pytest.raises(StoreError, match="cannot be written"):
        archive.marks.unmove_project(SAID[0][0])
    assert archive.marks.moves().pairs == SAID


def test_what_is_refused_changes_nothing(archive: Archive) -> None:
    with pytest.raises(BadInput, match="is /home/ann/new today"):
        archive.marks.move_project("/home/ann/new", "/home/ann/quincunx")
    with pytest.raises(BadInput, match="/home/ann/new was not moved; what was: /home/ann/quincunx"):
        archive.marks.unmove_project("/home/ann/new")
    assert archive.marks.moves().pairs == SAID


def test_a_folder_is_forgotten_with_its_last_session(archive: Archive) -> None:
    archive.marks.move_project("/a", "/b")
    archive.safe.forget(ONE)
    assert archive.marks.moves().pairs == (("/a", "/b"), *SAID)
    archive.safe.forget(TWO)
    assert archive.marks.moves().pairs == (("/a", "/b"),)
    archive.close()
    left = [path for path in archive.home.rglob("*") if path.is_file()]
    assert not [path for path in left if b"quincunx" in path.read_bytes()]
