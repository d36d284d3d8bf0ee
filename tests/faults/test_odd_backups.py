"""A folder of backups may hold anything: what can be kept is, the rest is told, and no sync fails over it."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import pytest

from faults.unprivileged import as_nobody
from histories import ID, OTHER, a_config, a_fork, an_archive, folder_of, restored, write_backups
from trees import traces

GOOD = {"848ba454848ee7c8@v1": b"one", "848ba454848ee7c8@v2": b"two"}
ODD = "0000ba454848ee7c@v1"
posix = pytest.mark.skipif(sys.platform == "win32", reason="POSIX files")


def assert_told_once(config: Path, *reasons: str) -> None:
    """The good ones are kept, the reasons told when the folder is looked at, and the next sync has nothing to do."""
    with an_archive(config) as archive:
        result = archive.sync()
        assert [problem.reason for problem in result.problems] == list(reasons)
        assert archive.is_current()
        assert restored(archive, config.parent / "back") == GOOD
        assert archive.safe.verify().ok


def test_a_folder_among_the_backups(tmp_path: Path) -> None:
    config = a_config(tmp_path, GOOD)
    (folder_of(config) / ODD).mkdir()
    assert_told_once(config, "is not a regular file, and not kept")


@posix
def test_links_are_not_followed_and_a_fifo_is_not_opened(tmp_path: Path) -> None:
    config = a_config(tmp_path, GOOD)
    (tmp_path / "secret").write_text("mine")
    (folder_of(config) / ODD).symlink_to(tmp_path / "secret")
    (folder_of(config) / "1111ba454848ee7c@v1").symlink_to("/dev/zero")
    (folder_of(config) / "2222ba454848ee7c@v1").symlink_to("nowhere")
    os.mkfifo(folder_of(config) / "3333ba454848ee7c@v1")
    before = traces(config)
    assert_told_once(config, *["is not a regular file, and not kept"] * 4)
    assert traces(config) == before


def test_other_names_are_told_and_what_a_file_manager_leaves_is_not(tmp_path: Path) -> None:
    config = a_config(tmp_path, {**GOOD, "notes.txt": b"?", ".DS_Store": b"?", "848ba454848ee7c8@v1.tmp": b"?"})
    assert_told_once(config, *["is not named like a backup of a file, and not kept"] * 2)


def test_a_backup_too_large_to_hold_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["reread.sources.find"], "LARGEST", 1 << 20)  # the room has a function of that name
    config = a_config(tmp_path, {**GOOD, ODD: b"x" * (1 << 20) + b"x"})
    assert_told_once(config, "is larger than 1 MB, and not kept")


def test_a_backup_of_several_pieces(tmp_path: Path) -> None:
    large = {ODD: os.urandom(1_500_000)}
    config = a_config(tmp_path, large)
    a_fork(config)
    with an_archive(config) as archive:
        archive.sync()
        assert sum(archive.inner.packs.packs().values()) < 1_600_000
        archive.safe.rebuild()
        archive.safe.forget(ID)
        assert restored(archive, tmp_path / "back", OTHER) == large
        assert archive.safe.verify().ok


@posix
def test_a_link_in_the_place_of_a_folder_of_backups(tmp_path: Path) -> None:
    config = a_config(tmp_path, {})
    folder_of(config).rmdir()
    folder_of(config).symlink_to(folder_of(config))
    with an_archive(config) as archive:
        assert [problem.path for problem in archive.sync().problems] == [folder_of(config)]
        folder_of(config).unlink()
        write_backups(config, GOOD)
        assert archive.sync().problems == []
        assert restored(archive, tmp_path / "back") == GOOD


def test_a_file_in_the_place_of_the_folder(tmp_path: Path) -> None:
    config = a_config(tmp_path, GOOD)
    with an_archive(config) as archive:
        archive.sync()
        for backup in folder_of(config).iterdir():
            backup.unlink()
        folder_of(config).rmdir()
        folder_of(config).write_text("?")
        assert archive.sync().vanished == len(GOOD)
        folder_of(config).unlink()
        folder_of(config).parent.rmdir()
        folder_of(config).parent.write_text("?")
        assert archive.sync().problems == []
        assert restored(archive, tmp_path / "back") == GOOD


def test_a_backup_that_vanishes_while_it_is_read_keeps_no_other_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = a_config(tmp_path, {**GOOD, ODD: b"?"})
    really = Path.open

    def opened(path: Path, *arguments: object, **options: object) -> object:
        if path.name == ODD:
            raise FileNotFoundError(2, "No such file or directory")
        return really(path, *arguments, **options)  # type: ignore[call-overload]

    with an_archive(config) as archive:
        with monkeypatch.context() as patched:
            patched.setattr(Path, "open", opened)
            assert [problem.path.name for problem in archive.sync().problems] == [ODD]
        assert not archive.is_current()
        assert restored(archive, tmp_path / "back") == GOOD
        assert archive.sync().files == 1
        assert restored(archive, tmp_path / "again") == {**GOOD, ODD: b"?"}


@posix
@pytest.mark.parametrize("what", ["backup", "folder", "top"])
def test_what_may_not_be_read_is_told_every_time_and_taken_when_it_may(what: str) -> None:
    with tempfile.TemporaryDirectory(prefix="reread-odd-") as folder:  # pytest's own are for their owner
        Path(folder).chmod(0o777)
        assert as_nobody(lambda: _with_a_lock_on(what, Path(folder))) == "as it should be"


def _with_a_lock_on(what: str, folder: Path) -> str:
    config = a_config(folder, GOOD)
    locked = {
        "backup": folder_of(config) / "848ba454848ee7c8@v1",
        "folder": folder_of(config),
        "top": folder_of(config).parent,
    }[what]
    locked.chmod(0)
    with an_archive(config) as archive:
        for _ in range(2):
            assert [problem.path for problem in archive.sync().problems] == [locked]
        locked.chmod(0o700)
        assert archive.sync().problems == []
        assert restored(archive, folder / "back") == GOOD
        locked.chmod(0)
        write_a_line(config)
        assert archive.sync().vanished == 0
        locked.chmod(0o700)
    return "as it should be"


def write_a_line(config: Path) -> None:
    """So that the next sync has a reason to look around."""
    [transcript] = (config / "projects").rglob("*.jsonl")
    with transcript.open("a") as file:
        file.write("{}\n")
