"""Backups are read from beside the transcripts, and from nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

from reread.sources.find import backup_reader


def test_a_backup_is_found_beside_the_projects(tmp_path: Path) -> None:
    trunk = tmp_path / "projects" / "-app" / "one.jsonl"
    folder = tmp_path / "file-history" / "one"
    folder.mkdir(parents=True)
    (folder / "00ff@v2").write_bytes(b"\r\n")
    read = backup_reader({"one": trunk})
    assert read("one", "00ff@v2") == b"\r\n"
    assert read("one", "00ff@v3") is None
    assert read("two", "00ff@v2") is None


@pytest.mark.parametrize("name", ["../one/00ff@v2", "/etc/passwd", "", "00ff", "..", "00ff@v2/x"])
def test_a_name_leads_nowhere_else(tmp_path: Path, name: str) -> None:
    (tmp_path / "file-history" / "one").mkdir(parents=True)
    assert backup_reader({"one": tmp_path / "projects" / "-app" / "one.jsonl"})("one", name) is None


def test_a_transcript_that_lies_anywhere_has_no_backups() -> None:
    assert backup_reader({"one": Path("one.jsonl")})("one", "00ff@v2") is None
