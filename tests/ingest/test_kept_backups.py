"""Backups of files that the client changed: kept with their session, once, and given back."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from histories import ID, OTHER, a_config, a_fork, an_archive, backups_in, folder_of, restored, write_backups
from reread.archive import Archive
from reread.errors import RereadError, UnknownSession
from reread.index.source_state import seen
from reread.ingest import backup_survey as survey
from reread.sources.find import list_backups
from reread.testing import a_prompt, a_reply, a_session

ONE = "848ba454848ee7c8@v1"
TWO = "848ba454848ee7c8@v2"
CONTENT = {ONE: b"one\r\n\xff\x00", TWO: b"two\n" * 1000, "0000ba454848ee7c@v1": b""}


def stored_pieces(archive: Archive) -> int:
    """How many pieces of backups have bytes of their own."""
    return sum(
        found.header.kind == "backup" and "same" not in found.header.more  # type: ignore[union-attr]
        for found in archive.inner.packs.scan()
    )


def looks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The folders that a sync lists, from now on."""
    found: list[str] = []

    def listed(folder: Path, problems: list[object]) -> object:
        found.append(folder.name)
        return list_backups(folder, problems)  # type: ignore[arg-type]

    monkeypatch.setattr(survey, "list_backups", listed)
    return found


def test_backups_are_given_back_byte_for_byte_when_everything_else_is_gone(tmp_path: Path) -> None:
    config = a_config(tmp_path, CONTENT)
    with an_archive(config) as archive:
        result = archive.sync()
        assert (result.problems, result.files) == ([], 4)
        shutil.rmtree(config)
        archive.sync()
        assert restored(archive, tmp_path / "back") == CONTENT
        assert archive.inner.kept_backups()(ID, ONE) == CONTENT[ONE]
        assert archive.inner.kept_backups()(ID, "848ba454848ee7c8@v9") is None
        assert archive.safe.verify().ok
        session = archive.session(ID)
    assert session.read_backup is not None
    assert session.read_backup(ID, ONE) == CONTENT[ONE], "the archive is closed by now"


def test_backups_are_no_part_of_the_conversation(tmp_path: Path) -> None:
    config = a_config(tmp_path, CONTENT)
    with an_archive(config) as archive:
        archive.sync()
        [listed] = archive.sessions()
        assert [Path(name).suffix for name in listed.stored.files] == [".jsonl"]
        assert [Path(name).suffix for name in archive.session(ID).files] == [".jsonl"]
        status = archive.safe.status()
        assert (status.files, status.backups, status.backup_bytes) == (4, 3, sum(map(len, CONTENT.values())))


def test_bytes_that_a_fork_shares_are_kept_once(tmp_path: Path) -> None:
    config = a_config(tmp_path, CONTENT)
    a_fork(config)
    with an_archive(config) as archive:
        archive.sync()
        assert stored_pieces(archive) == len(CONTENT)
        for session in (ID, OTHER):
            assert restored(archive, tmp_path / session, session) == CONTENT
        assert archive.safe.status().backups == 2 * len(CONTENT)
        assert archive.safe.verify().ok


def test_a_fork_that_comes_later_shares_them_too(tmp_path: Path) -> None:
    config = a_config(tmp_path, CONTENT)
    with an_archive(config) as archive:
        archive.sync()
        a_fork(config)
        assert archive.sync().files == 1 + len(CONTENT)
        assert stored_pieces(archive) == len(CONTENT)
        assert restored(archive, tmp_path / "back", OTHER) == CONTENT


@pytest.mark.parametrize("first", [ID, OTHER])
def test_forgetting_leaves_what_another_session_holds(tmp_path: Path, first: str) -> None:
    config = a_config(tmp_path, CONTENT)
    a_fork(config)
    write_backups(config, {"ffff": b""}, ID)
    write_backups(config, {"aaaa454848ee7c8b@v1": b"only the first has it"}, first)
    second = OTHER if first == ID else ID
    with an_archive(config) as archive:
        archive.sync()
        archive.safe.forget(first)
        assert restored(archive, tmp_path / "back", second) == CONTENT
        assert archive.inner.kept_backups()(first, ONE) is None
        assert archive.safe.verify().ok
        packs = b"".join(path.read_bytes() for path in (archive.home / "safe").glob("*.pack"))
        assert b"aaaa454848ee7c8b" not in packs
        assert stored_pieces(archive) == len(CONTENT)
        archive.safe.rebuild()
        assert restored(archive, tmp_path / "again", second) == CONTENT
        archive.sync()
        assert archive.safe.status().backups == len(CONTENT), "what was forgotten must stay so"
        archive.safe.forget(second)
        assert stored_pieces(archive) == 0
        with pytest.raises(UnknownSession):
            archive.find(second)


def test_of_two_copies_of_a_session_the_other_keeps_the_backups(tmp_path: Path) -> None:
    config = a_config(tmp_path, CONTENT)
    a_session(a_prompt("elsewhere"), a_reply("here"), id=ID, cwd="/home/ann/moved").write(config / "projects")
    with an_archive(config) as archive:
        archive.sync()
        archive.safe.forget(archive.find(ID).name)
        assert restored(archive, tmp_path / "back") == CONTENT
        archive.safe.forget(ID)
        assert archive.safe.status().backups == 0


def test_a_rebuild_keeps_them(tmp_path: Path) -> None:
    config = a_config(tmp_path, CONTENT)
    a_fork(config)
    with an_archive(config) as archive:
        archive.sync()
        shutil.rmtree(config)
        archive.safe.rebuild()
        for session in (ID, OTHER):
            assert restored(archive, tmp_path / session, session) == CONTENT
        assert archive.safe.verify().ok


def test_a_rebuilt_archive_finds_nothing_new_in_the_same_backups(tmp_path: Path) -> None:
    config = a_config(tmp_path, CONTENT)
    a_fork(config)
    with an_archive(config) as archive:
        archive.sync()
        archive.safe.rebuild()
        before = stored_pieces(archive)
        archive.sync()
        assert stored_pieces(archive) == before
        assert archive.is_current()


def test_only_folders_that_changed_are_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = a_config(tmp_path, CONTENT)
    a_fork(config)
    with an_archive(config) as archive:
        archive.sync()
        seen = looks(monkeypatch)
        assert archive.is_current()
        a_session(a_prompt("new"), a_reply("here"), id="12345678-1111-4222-8333-444455556666").write(
            config / "projects"
        )
        archive.sync()
        assert seen == []
        write_backups(config, {"848ba454848ee7c8@v3": b"three"}, OTHER)
        assert not archive.is_current()
        assert archive.sync().files == 1
        assert seen == [OTHER]


def test_a_glance_looks_at_folders_and_not_at_every_backup(tmp_path: Path) -> None:
    config = a_config(tmp_path, CONTENT)
    with an_archive(config) as archive:
        archive.sync()
        looked_at = [Path(path).name for path, *_ in seen(archive.inner.connection, "desk") if "file-history" in path]
        assert sorted(looked_at) == [ID, "file-history"]


def test_a_backup_that_was_half_written_is_taken_whole_in_the_end(tmp_path: Path) -> None:
    config = a_config(tmp_path, CONTENT)
    half = folder_of(config) / "848ba454848ee7c8@v3"
    with an_archive(config) as archive:
        half.write_bytes(b"the first ")
        archive.sync()
        with half.open("ab") as file:
            file.write(b"and the second half")
        assert archive.sync().files == 1
        assert archive.inner.kept_backups()(ID, half.name) == b"the first and the second half"
        assert archive.safe.verify().ok


def test_backups_of_sessions_the_archive_does_not_know_are_left_alone(tmp_path: Path) -> None:
    config = a_config(tmp_path, CONTENT)
    write_backups(config, CONTENT, OTHER)
    with an_archive(config) as archive:
        archive.sync()
        assert archive.safe.status().backups == len(CONTENT)
        a_session(a_prompt("late"), a_reply("here"), id=OTHER).write(config / "projects")
        archive.sync()
        assert restored(archive, tmp_path / "back", OTHER) == CONTENT


def test_backups_that_outlive_their_transcript_are_taken_for_the_session_in_the_archive(tmp_path: Path) -> None:
    config = a_config(tmp_path, {})
    with an_archive(config) as archive:
        archive.sync()
        shutil.rmtree(config / "projects")
        (config / "projects").mkdir()
        write_backups(config, CONTENT)
        archive.sync()
        assert restored(archive, tmp_path / "back") == CONTENT


def test_what_the_clean_up_took_is_marked_and_kept(tmp_path: Path) -> None:
    config = a_config(tmp_path, CONTENT)
    a_fork(config)
    with an_archive(config) as archive:
        archive.sync()
        shutil.rmtree(folder_of(config))
        (folder_of(config, OTHER) / ONE).unlink()
        assert archive.sync().vanished == len(CONTENT) + 1
        assert archive.sync().vanished == 0
        assert restored(archive, tmp_path / "back") == CONTENT
        assert archive.safe.status().vanished == len(CONTENT) + 1


def test_a_backup_written_anew_under_its_name_starts_a_generation(tmp_path: Path) -> None:
    config = a_config(tmp_path, CONTENT)
    with an_archive(config) as archive:
        archive.sync()
        (folder_of(config) / TWO).unlink()
        write_backups(config, {TWO: b"another"})
        archive.sync()
        assert archive.inner.kept_backups()(ID, TWO) == b"another"
        archive.safe.restore(ID, tmp_path / "before", generation=1)
        assert backups_in(tmp_path / "before" / "file-history" / ID) == CONTENT
        assert archive.safe.verify().ok


def test_a_source_that_is_a_folder_of_projects_brings_the_backups_beside_it(tmp_path: Path) -> None:
    config = a_config(tmp_path, CONTENT)
    [project] = (config / "projects").iterdir()
    for source in (config / "projects", project):
        with Archive(tmp_path / source.name, [source], machine="desk") as archive:
            archive.sync()
            assert restored(archive, tmp_path / "back" / source.name) == CONTENT


def test_an_archive_that_goes_again_can_do_without_them(tmp_path: Path) -> None:
    config = a_config(tmp_path, CONTENT)
    with an_archive(config) as archive:
        archive.sync(with_backups=False)
        assert archive.safe.status().backups == 0


def test_damage_to_shared_bytes_is_told_for_all_that_share_them(tmp_path: Path) -> None:
    config = a_config(tmp_path, {TWO: os.urandom(3000)})
    a_fork(config)
    with an_archive(config) as archive:
        archive.sync()
        [pack] = (archive.home / "safe").glob("*.pack")
        content = bytearray(pack.read_bytes())
        at = content.index((folder_of(config) / TWO).read_bytes()[:64])
        content[at + 5] ^= 0xFF
        pack.write_bytes(content)
        damaged = "\n".join(archive.safe.verify().damaged)
        assert ID in damaged
        assert OTHER in damaged
        with pytest.raises(RereadError):
            archive.inner.kept_backups()(OTHER, TWO)
        archive.safe.forget(ID)
        assert any(OTHER in damage for damage in archive.safe.verify().damaged)


@pytest.mark.parametrize(("forgotten", "left"), [(ID, OTHER), (OTHER, ID)])
def test_a_rebuild_after_a_forget_has_what_was_shared_only_in_part(tmp_path: Path, forgotten: str, left: str) -> None:
    start = os.urandom(600_000)  # of two pieces the first is the same
    config = a_config(tmp_path, {})
    a_fork(config)
    write_backups(config, {TWO: start}, forgotten)
    write_backups(config, {TWO: start + b"and more"}, left)
    with an_archive(config) as archive:
        archive.sync()
        archive.safe.forget(forgotten)
        shutil.rmtree(config)
        archive.safe.rebuild()
        assert archive.inner.kept_backups()(left, TWO) == start + b"and more"
        assert archive.safe.verify().ok


def test_half_a_piece_that_a_killed_forget_left_is_no_damage(tmp_path: Path) -> None:
    config = a_config(tmp_path, CONTENT)
    with an_archive(config) as archive:
        archive.sync()
        pack = max((archive.home / "safe").glob("*.pack"))
        whole = pack.read_bytes()
        pack.write_bytes(whole + whole[: len(whole) // 2])
        assert archive.sync().files == 0, "nothing is new, so nothing looks at the safe"
        assert archive.safe.verify().damaged == []
        pack.write_bytes(whole[:-1])
        assert archive.safe.verify().damaged != []
