"""Generated trees with known truth, and what must hold of an archive that took one in."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import sys
from dataclasses import dataclass
from datetime import UTC
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "bench"))

from generate import Truth, append, generate, resume_copy
from reread.archive import Archive, UsageReport
from reread.archive.search_language import ALL_FIELDS

__all__ = [
    "Tree",
    "Truth",
    "a_taken_tree",
    "a_tree",
    "append",
    "assert_answers",
    "assert_true",
    "cells_of",
    "digests",
    "generate",
    "resume_copy",
    "traces",
    "with_own_archive",
]

_TOKENS = (
    "requests",
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_5m_tokens",
    "cache_write_1h_tokens",
    "web_searches",
)
Cells = dict[str, dict[str, dict[str, int]]]


@dataclass
class Tree:
    source: Path
    home: Path
    truth: Truth

    def archive(self) -> Archive:
        return Archive(self.home, [self.source], machine="desk")


def a_tree(folder: Path, size: int = 2_000_000, seed: int = 7) -> Tree:
    return Tree(folder / "source", folder / "home", generate(folder / "source", size=size, seed=seed))


def a_taken_tree(folder: Path, size: int) -> Tree:
    """That was taken in, and once more after it had grown."""
    tree = a_tree(folder, size=size)
    with tree.archive() as archive:
        archive.sync()
        append(tree.source, tree.truth)
        archive.sync()
    return tree


def with_own_archive(tree: Tree, folder: Path) -> Tree:
    """The same with a copy of the archive, to be harmed; the source is only read."""
    shutil.copytree(tree.home, folder / "home")
    return Tree(tree.source, folder / "home", tree.truth)


def cells_of(archive: Archive) -> Cells:
    """Usage by day and model, in the truth's own form."""
    return cells_in(archive.usage("day", timezone=UTC))


def cells_in(report: UsageReport) -> Cells:
    return {
        str(row.key): {str(each.model): {name: getattr(each.tokens, name) for name in _TOKENS} for each in row.models}
        for row in report.rows
    }


def merged(truth: Cells) -> Cells:
    """The truth with models as reports show them: what the client writes behind a name is no other model."""
    cells: Cells = {}
    for day, models in truth.items():
        for model, tokens in models.items():
            found = cells.setdefault(day, {}).setdefault(model.partition("[")[0], dict.fromkeys(_TOKENS, 0))
            found.update({name: found[name] + tokens[name] for name in _TOKENS})
    return cells


def assert_true(archive: Archive, truth: Truth) -> None:
    """All that is asked of an archive, and every byte of it proved."""
    assert_answers(archive, truth)
    assert archive.safe.verify().damaged == []


def assert_answers(archive: Archive, truth: Truth) -> None:
    """Totals exact in every cell, every session listed, every needle found and only in its session."""
    assert cells_of(archive) == merged(truth.cells)
    listed = sorted(each.stored.row.uuid for each in archive.sessions())
    assert listed == sorted(truth.by_session)
    for needle in truth.needles:
        hits = archive.search(needle.word, ALL_FIELDS).hits
        assert {hit.session.row.uuid for hit in hits} == {needle.session}, needle
        assert len(hits) == 1, needle


def traces(folder: Path) -> dict[str, tuple[int, int, int]]:
    """Mode, size and time of everything below a folder: whoever writes there leaves one of them changed."""
    found = {}
    for path in (folder, *folder.rglob("*")):
        status = path.lstat()
        size = 0 if stat.S_ISDIR(status.st_mode) else status.st_size
        found[os.fsencode(path).hex()] = (status.st_mode, size, status.st_mtime_ns)
    return found


def digests(folder: Path) -> dict[str, str]:
    """The SHA-256 of every file below a folder, by its name there."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def everything(archive: Archive) -> dict[str, list[tuple[object, ...]]]:
    """The rows that sessions are made of, however they came there."""
    tables = (
        "session",
        "file",
        "piece",
        "block",
        "request",
        "tool_call",
        "prompt",
        "thought",
        "friction",
        "session_end",
    )
    return {
        table: sorted(archive.inner.connection.execute(f"SELECT * FROM {table}").fetchall(), key=repr)  # noqa: S608
        for table in tables
    }
