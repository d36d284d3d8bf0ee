"""Names that somebody else chose lead nowhere but below their folder; what is no regular file is never read."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from reread import foreign_files
from reread.errors import BadInput
from reread.foreign_files import names_below, path_below, read_regular, write_below

posix = pytest.mark.skipif(os.name == "nt", reason="Windows has no such files")


@pytest.fixture(params=[True, False], ids=["held", "by path"])
def _both_ways(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if not request.param:
        monkeypatch.setattr(foreign_files, "_CAN_HOLD", False)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("name", ["", "/etc/passwd", "../x", "a/../../x", "a//b", "./a", "a/.", "a\0b", "a/"])
def test_a_name_that_leads_elsewhere_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="leads out"):
        write_below(tmp_path / "to", name, b"x")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "name", ["C:\\x", "C:x", "a\\..\\x", "\\\\server\\x", "a:stream", "NUL", "a/con.txt", "a.", "a "]
)
def test_names_of_windows_that_mean_something_else_are_refused_there(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    names_below("a/b.txt")
    monkeypatch.setattr(foreign_files, "_IS_WINDOWS", True)
    assert names_below("a\\b.txt") == ("a", "b.txt")
    with pytest.raises(BadInput, match="leads out"):
        names_below(name)


@posix
@pytest.mark.usefixtures("_both_ways")
def test_nothing_is_written_through_a_link_and_folders_that_were_there_keep_their_rights(tmp_path: Path) -> None:
    outside, to = tmp_path / "outside", tmp_path / "to"
    for folder in (outside, to, to / "there"):
        folder.mkdir()
        folder.chmod(0o755)
    (to / "link").symlink_to(outside)
    with pytest.raises(BadInput, match="is a link"):
        write_below(to, "link/x", b"x")
    with pytest.raises(BadInput, match="is a link"):
        path_below(to, "link/x")
    (outside / "kept").write_bytes(b"kept")
    (to / "file").symlink_to(outside / "kept")
    write_below(to, "file", b"new")
    assert ((to / "file").is_symlink(), (to / "file").read_bytes()) == (False, b"new")
    assert {path.name: path.read_bytes() for path in outside.iterdir()} == {"kept": b"kept"}
    assert write_below(to, "there/made/x", b"x", mtime_ns=10**18) == to / "there" / "made" / "x"
    assert [mode(each) for each in (to, to / "there", to / "there" / "made")] == [0o755, 0o755, 0o700]
    assert (mode(to / "there" / "made" / "x"), (to / "there" / "made" / "x").stat().st_mtime_ns) == (0o600, 10**18)
    assert [path.name for path in to.rglob("*.part")] == []


@posix
def test_a_link_that_takes_the_place_of_a_folder_meanwhile_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "to").mkdir()
    (tmp_path / "to" / "a").symlink_to(tmp_path / "outside")
    monkeypatch.setattr(foreign_files, "path_below", lambda folder, name: folder / name)  # it was no link yet
    with pytest.raises(BadInput, match="is a link"):
        write_below(tmp_path / "to", "a/x", b"x")
    assert list((tmp_path / "outside").iterdir()) == []


@posix
def test_only_a_regular_file_of_a_bounded_size_is_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "device").symlink_to("/dev/zero")
    (tmp_path / "file").write_bytes(b"12345")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    for name in ("pipe", "device", "link", "missing", "."):
        with pytest.raises(OSError):
            read_regular(tmp_path / name, 5)
    assert read_regular(tmp_path / "file", 5) == b"12345"
    with pytest.raises(OSError, match="larger than"):
        read_regular(tmp_path / "file", 4)
