"""A clock that was set back, and a forget that moved pieces: the order of taking is known all the same."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from reread.archive import Archive
from reread.index.meta import ORDER
from reread.index.safe_reader import Piece, newest_pieces
from reread.safe.safe import PieceHeader, PiecePlace, Safe
from reread.testing import a_prompt, a_session

ID = "0a1b2c3d-1111-4222-8333-444455556666"
OTHER = "ffffffff-1111-4222-8333-444455556666"
HOUR = 3_600 * 10**9
LINES = a_session(*(a_prompt(f"prompt{number}") for number in range(12)), id=ID).lines


def grow(folder: Path, count: int) -> Path:
    path = folder / "projects" / "-p" / f"{ID}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(line + b"\n" for line in LINES[:count]))
    return path


def opened(folder: Path, pack_limit: int | None = None) -> Archive:
    archive = Archive(folder / "home", [folder / "projects"], machine="desk")
    if pack_limit is not None:
        archive.inner.packs = Safe(archive.home / "safe", pack_limit)
    return archive


def set_clock(monkeypatch: pytest.MonkeyPatch, ahead: int) -> None:
    real = time.time
    monkeypatch.setattr(time, "time_ns", lambda: int(real() * 10**9) + ahead)


@pytest.mark.parametrize("forgets", [False, True])
def test_a_clock_that_was_set_back_loses_no_prompt_in_a_rebuild(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forgets: bool
) -> None:
    a_session(a_prompt("elsewhere"), id=OTHER).write(tmp_path / "projects")
    with opened(tmp_path, pack_limit=1) as archive:  # a pack for every piece: a forget moves some of them
        set_clock(monkeypatch, HOUR)
        grow(tmp_path, 6)
        archive.sync()
        set_clock(monkeypatch, 0)
        path = grow(tmp_path, 12)
        archive.sync()
        whole = path.read_bytes()
        path.unlink()
        if forgets:
            archive.safe.forget(OTHER)
        archive.sync()
        archive.safe.rebuild()
        assert [prompt.text for prompt in archive.session(ID).prompts] == [f"prompt{number}" for number in range(12)]
        assert archive.transcript(ID) == whole
        assert archive.safe.verify().damaged == []


def a_piece(start: int, end: int, *, at: int, order: int = 0, word: str = "a", lost: bool = False) -> Piece:
    more = ({ORDER: order} if order else {}) | ({"lost": True} if lost else {})
    header = PieceHeader(
        file="f", machine="desk", source="s", path="p", kind="transcript", generation=1, start=start, mtime_ns=0,
        length=end - start, sha256=word * 64, more=more,
    )  # fmt: skip
    return header, PiecePlace(1, at, 10)


def spans(*pieces: Piece, is_part: bool = False) -> list[tuple[int, int]]:
    kept = newest_pieces(pieces, lambda _piece, _longer: is_part)
    return [(header.start, header.start + header.length) for header, _ in kept]


def test_a_piece_that_goes_on_where_another_ends_is_kept_in_whatever_order() -> None:
    assert spans(a_piece(100, 200, at=0), a_piece(0, 100, at=10)) == [(0, 100), (100, 200)]
    assert spans(a_piece(100, 200, at=0, order=1), a_piece(0, 100, at=10, order=2)) == [(0, 100), (100, 200)]
    assert spans(a_piece(100, 200, at=0, order=7), a_piece(0, 100, at=10)) == [(0, 100), (100, 200)]


def test_the_later_taking_counts_where_bytes_are_others() -> None:
    """A sync was killed before its commit, and the source rewritten before the next."""
    first = [a_piece(0, 512, at=0, order=1), a_piece(512, 900, at=10, order=1)]
    assert spans(*first, a_piece(0, 300, at=20, order=2, word="b")) == [(0, 300)]
    moved = [a_piece(0, 512, at=50, order=1), a_piece(512, 900, at=60, order=1)]
    assert spans(*moved, a_piece(0, 300, at=20, order=2, word="b")) == [(0, 300)]


def test_the_same_bytes_taken_twice_leave_nothing_out() -> None:
    """By an older version, and a forget has put the shorter taking behind the longer one."""
    found = [a_piece(0, 500, at=0), a_piece(500, 600, at=10), a_piece(0, 300, at=20, word="b")]
    assert spans(*found, is_part=True) == [(0, 500), (500, 600)]


def test_what_stands_for_lost_bytes_gives_way_to_them() -> None:
    found = [a_piece(0, 500, at=0, order=3), a_piece(0, 500, at=90, word="b", lost=True)]
    assert [header.sha256[0] for header, _ in newest_pieces(found, lambda _piece, _longer: False)] == ["a"]
    between = [a_piece(0, 100, at=0, order=1), a_piece(100, 200, at=90, lost=True), a_piece(200, 300, at=10, order=1)]
    assert spans(*between) == [(0, 100), (100, 200), (200, 300)]


def test_numbers_go_on_after_the_index_was_lost(tmp_path: Path) -> None:
    orders = []
    for count in (3, 6, 9):
        grow(tmp_path, count)
        with opened(tmp_path) as archive:
            archive.sync()
            orders.append(
                max(found.header.more[ORDER] for found in archive.inner.packs.scan() if found.header is not None)
            )
        for database in (tmp_path / "home").glob("reread.db*"):
            database.unlink()
    assert orders == sorted(set(orders))
