"""The safe gives back every byte or says which it cannot prove."""

from __future__ import annotations

import errno
import os
import random
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reread.errors import RereadError, SafeBusy, SafeDamaged, SafeError, SafeFull
from reread.safe import pieces as stored_pieces
from reread.safe.pieces import MAGIC, encode_piece
from reread.safe.safe import Damage, FoundPiece, PieceHeader, PiecePlace, Rewrite, Safe, lock, seal

posix = pytest.mark.skipif(sys.platform == "win32", reason="POSIX modes, fork or mounts")


def a_header(file: str = "file-a", start: int = 0, **changes: Any) -> PieceHeader:
    fields: dict[str, Any] = {
        "file": file,
        "machine": "desk",
        "source": "claude",
        "path": f"/home/ann/.claude/projects/p/{file}.jsonl",
        "kind": "transcript",
        "generation": 1,
        "start": start,
        "mtime_ns": 1_700_000_000_000_000_000,
    }
    return PieceHeader(**fields | changes)


def a_text(name: str, size: int = 400) -> bytes:
    """Bytes that compress badly enough for frames to have an inside."""
    words = [f'{{"type":"user","uuid":"{name}-{number * 7919 % 10007}"}}\n' for number in range(size)]
    return "".join(words).encode()


def filled(folder: Path, files: str = "abcabc", limit: int = 1 << 28) -> dict[PiecePlace, tuple[PieceHeader, bytes]]:
    kept: dict[PiecePlace, tuple[PieceHeader, bytes]] = {}
    with Safe(folder, limit) as safe:
        for number, name in enumerate(files):
            raw = a_text(f"{name}{number}")
            header, place = safe.append(a_header(f"file-{name}", number * 1000), raw)
            kept[place] = (header, raw)
    return kept


def pack_path(folder: Path, number: int = 1) -> Path:
    return folder / f"{number:06}.pack"


def headers(folder: Path) -> list[PieceHeader]:
    found = list(Safe(folder).scan())
    assert not [piece for piece in found if isinstance(piece, Damage)]
    return [piece.header for piece in found if isinstance(piece, FoundPiece)]


def damages(folder: Path) -> list[Damage]:
    return [piece for piece in Safe(folder).verify() if isinstance(piece, Damage)]


# -- keeping and giving back


def test_what_is_appended_is_read_back(tmp_path: Path) -> None:
    with Safe(tmp_path / "safe") as safe:
        header, place = safe.append(a_header(), b"hello\n" * 1000)
        safe.flush()
        assert safe.read(place) == b"hello\n" * 1000
        assert safe.slice(place, 6, 5) == b"hello"
        assert safe.slice(place, 5998, 100) == b"o\n"
    assert header.length == 6000
    assert place.stored == pack_path(tmp_path / "safe").stat().st_size


def test_the_beginning_of_a_large_piece_is_given_back_without_the_rest(tmp_path: Path) -> None:
    """A frame is unpacked in blocks of 128 KiB; the edges of some are among these."""
    raw = random.Random(7).randbytes(100_000) * 5
    with Safe(tmp_path / "safe") as safe:
        _, place = safe.append(a_header(), raw)
        for end in (0, 1, 100_000, (1 << 17) - 1, 1 << 17, (1 << 17) + 1, 300_000, 499_999, 500_000, 600_000):
            assert safe.slice(place, 0, end) == raw[:end]
            assert safe.slice(place, end // 2, end - end // 2) == raw[end // 2 : end]


def test_a_piece_compressed_elsewhere_is_the_same_piece(tmp_path: Path) -> None:
    sealed, frame = seal(a_header(), b"worker bytes")
    with Safe(tmp_path) as safe:
        assert safe.read(safe.append_compressed(sealed, frame)) == b"worker bytes"
        with pytest.raises(ValueError, match="seal"):
            safe.append_compressed(a_header(), frame)


names = st.binary(min_size=1, max_size=60).map(os.fsdecode)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.binary(max_size=3000), names), max_size=8), st.integers(1, 4000))
def test_any_bytes_and_any_path_survive_the_round_trip(pieces: list[tuple[bytes, str]], limit: int) -> None:
    with tempfile.TemporaryDirectory() as folder, Safe(Path(folder), limit) as safe:
        kept = [(raw, *safe.append(a_header(path=path, start=at), raw)) for at, (raw, path) in enumerate(pieces)]
        safe.flush()
        assert [safe.read(place) for _, _, place in kept] == [raw for raw, _, _ in kept]
        assert list(Safe(Path(folder)).scan()) == [FoundPiece(header, place) for _, header, place in kept]
        assert list(safe.verify()) == list(safe.scan())


def test_a_scan_finds_every_header_without_the_database(tmp_path: Path) -> None:
    kept = filled(tmp_path)
    assert list(Safe(tmp_path).scan()) == [FoundPiece(header, place) for place, (header, _) in kept.items()]
    later = list(kept)[4]
    assert [piece.place for piece in Safe(tmp_path).scan(later.pack, later.offset)] == list(kept)[4:]


def test_a_safe_that_is_not_there_yet_is_empty(tmp_path: Path) -> None:
    safe = Safe(tmp_path / "none")
    assert list(safe.scan()) == list(safe.verify()) == []
    assert safe.unfinished() is None
    safe.finish_rewrite()
    assert not (tmp_path / "none").exists()


def test_packs_are_filled_one_after_the_other(tmp_path: Path) -> None:
    kept = filled(tmp_path, "abcdefghij", limit=3000)
    sizes = Safe(tmp_path).packs()
    assert len(sizes) > 3
    assert list(sizes) == list(range(1, len(sizes) + 1))
    assert max(sizes.values()) <= 3000
    assert all(Safe(tmp_path).read(place) == raw for place, (_, raw) in kept.items())
    from_second = [piece.place for piece in Safe(tmp_path).scan(2)]
    assert from_second == [place for place in kept if place.pack >= 2]


def test_a_piece_larger_than_a_pack_has_one_of_its_own(tmp_path: Path) -> None:
    with Safe(tmp_path, 2000) as safe:
        places = [safe.append(a_header(start=at), os.urandom(size))[1] for at, size in enumerate((10, 9000, 10))]
    assert [place.pack for place in places] == [1, 2, 3]


def test_a_reopened_safe_goes_on_in_the_last_pack(tmp_path: Path) -> None:
    filled(tmp_path, "ab")
    filled(tmp_path, "cd")
    assert list(Safe(tmp_path).packs()) == [1]
    assert [header.file for header in headers(tmp_path)] == ["file-a", "file-b", "file-c", "file-d"]


def test_fields_of_a_later_version_do_not_hide_a_piece(tmp_path: Path) -> None:
    sealed, frame = seal(a_header(more={"lines": [1, 2]}), b"x")
    known = msgspec.json.encode(sealed)
    newer = known[:-1] + b',"colour":"red"}'
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stored_pieces, "encode", lambda _: newer)
        piece = encode_piece(sealed, frame)
    pack_path(tmp_path).write_bytes(piece)
    assert headers(tmp_path) == [sealed]
    filled(tmp_path, "b")
    safe = Safe(tmp_path)
    safe.rewrite_without({"file-b"})
    safe.finish_rewrite()
    assert pack_path(tmp_path, 2).read_bytes() == piece


def test_progress_ends_at_the_whole(tmp_path: Path) -> None:
    filled(tmp_path, "abcdef", limit=3000)
    told: list[tuple[int, int]] = []
    list(Safe(tmp_path).verify(lambda done, total: told.append((done, total))))
    assert len(told) == 6
    assert told[-1][0] == told[-1][1] == sum(Safe(tmp_path).packs().values())


# -- damage


def test_every_flipped_byte_is_found_and_named_and_the_rest_still_reads(tmp_path: Path) -> None:
    with Safe(tmp_path) as safe:
        kept = {}
        for number in range(3):
            raw = f"piece {number} ".encode() * 30
            kept[safe.append(a_header(f"file-{number}", path=f"/p/{number}"), raw)[1]] = raw
    whole = pack_path(tmp_path).read_bytes()
    victim = list(kept)[1]
    others = [place for place in kept if place != victim]
    for at in range(victim.offset, victim.end):
        flipped = bytearray(whole)
        flipped[at] ^= 0x41
        pack_path(tmp_path).write_bytes(flipped)
        (damage,) = damages(tmp_path)
        assert (damage.pack, damage.offset, damage.stored, damage.torn) == (1, victim.offset, victim.stored, False), at
        in_header = victim.offset + 24 <= at < whole.index(b"\x28\xb5\x2f\xfd", victim.offset)
        in_length = victim.offset + 8 <= at < victim.offset + 12
        if not in_header and not in_length:
            assert damage.path == "/p/1", at
        assert [piece.place for piece in safe.verify() if isinstance(piece, FoundPiece)] == others
        assert all(safe.read(place) == kept[place] for place in others)
        if at >= victim.offset + len(MAGIC):
            with pytest.raises(SafeDamaged) as caught:
                safe.read(victim)
            assert (caught.value.pack, caught.value.offset) == (1, victim.offset)


def test_a_lost_magic_does_not_cost_the_bytes_behind_it(tmp_path: Path) -> None:
    (place, (_, raw)), *_ = filled(tmp_path, "ab").items()
    flip(pack_path(tmp_path), place.offset)
    assert [damage.reason for damage in damages(tmp_path)] == ["its magic is damaged"]
    assert Safe(tmp_path).read(place) == raw


def flip(path: Path, at: int) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= 0xFF
    path.write_bytes(content)


def test_two_damaged_neighbours_are_two_damages(tmp_path: Path) -> None:
    kept = list(filled(tmp_path, "abcd"))
    flip(pack_path(tmp_path), kept[1].offset + 12)
    flip(pack_path(tmp_path), kept[2].offset + 30)
    assert [damage.offset for damage in damages(tmp_path)] == [kept[1].offset, kept[2].offset]


def test_a_damaged_frame_before_a_damaged_magic_does_not_swallow_the_next_piece(tmp_path: Path) -> None:
    kept = list(filled(tmp_path, "abc"))
    flip(pack_path(tmp_path), kept[1].offset - 5)
    flip(pack_path(tmp_path), kept[1].offset)
    assert [damage.offset for damage in damages(tmp_path)] == [kept[0].offset, kept[1].offset]


def test_bytes_cut_out_of_a_frame_cost_only_that_piece(tmp_path: Path) -> None:
    kept = list(filled(tmp_path, "abc"))
    content = pack_path(tmp_path).read_bytes()
    middle = kept[1].offset + 600
    pack_path(tmp_path).write_bytes(content[:middle] + content[middle + 50 :])
    found = list(Safe(tmp_path).scan())
    assert [type(piece) for piece in found] == [FoundPiece, Damage, FoundPiece]
    assert isinstance(found[1], Damage)
    assert found[1].file == "file-b"


def test_a_missing_pack_is_damage(tmp_path: Path) -> None:
    place = next(iter(filled(tmp_path, "a")))
    pack_path(tmp_path).unlink()
    with pytest.raises(SafeDamaged, match="missing"):
        Safe(tmp_path).read(place)


def test_a_frame_that_is_not_what_was_hashed_is_damage(tmp_path: Path) -> None:
    sealed, _ = seal(a_header(), b"true bytes")
    _, frame = seal(a_header(), b"lie  bytes")
    with Safe(tmp_path) as safe:
        place = safe.append_compressed(sealed, frame)
    with pytest.raises(SafeDamaged, match="hashed") as caught:
        safe.read(place)
    assert caught.value.path == sealed.path
    assert [damage.path for damage in damages(tmp_path)] == [sealed.path]


def test_damage_prints_even_with_a_name_that_is_not_utf_8() -> None:
    error = SafeDamaged(1, 2, "torn", os.fsdecode(b"/p/\xff.jsonl"))
    assert isinstance(error, RereadError)
    assert str(error).encode()


# -- after a crash


def test_every_torn_tail_is_cut_and_everything_acknowledged_stays(tmp_path: Path) -> None:
    kept = filled(tmp_path, "ab")
    acknowledged, torn = kept
    whole = pack_path(tmp_path).read_bytes()
    for end in range(torn.offset + 1, torn.end, 7):
        pack_path(tmp_path).write_bytes(whole[:end])
        safe = Safe(tmp_path)
        last = list(safe.scan())[-1]
        assert isinstance(last, Damage)
        assert last.torn
        assert safe.recover_tail(1, acknowledged.end) == end - acknowledged.end
        assert pack_path(tmp_path).read_bytes() == whole[: acknowledged.end]
        with safe:
            assert safe.append(a_header("file-c"), b"next")[1].offset == acknowledged.end
        assert not damages(tmp_path)


def test_whole_pieces_behind_the_acknowledged_end_stay(tmp_path: Path) -> None:
    kept = list(filled(tmp_path, "abc"))
    with pack_path(tmp_path).open("ab") as file:
        file.write(MAGIC + bytes(5000))
    assert Safe(tmp_path).recover_tail(1, kept[0].end) == 5008
    assert [piece.place for piece in Safe(tmp_path).scan()] == kept


def test_a_tail_whose_frame_never_reached_the_disk_is_cut(tmp_path: Path) -> None:
    first, second = filled(tmp_path, "ab")
    content = pack_path(tmp_path).read_bytes()
    pack_path(tmp_path).write_bytes(content[: second.end - 200] + bytes(200))
    assert Safe(tmp_path).recover_tail(1, first.end) == second.stored


def test_recovery_looks_at_later_packs_too(tmp_path: Path) -> None:
    kept = list(filled(tmp_path, "abcd", limit=10))
    os.truncate(pack_path(tmp_path, 4), 100)
    assert Safe(tmp_path).recover_tail(kept[1].pack, kept[1].end) == 100
    assert [piece.place for piece in Safe(tmp_path).scan()] == kept[:3]


def test_recovery_never_cuts_acknowledged_bytes_even_when_damaged(tmp_path: Path) -> None:
    first, second = filled(tmp_path, "ab")
    flip(pack_path(tmp_path), second.offset + 30)
    assert Safe(tmp_path).recover_tail(1, second.end) == 0
    with pytest.raises(SafeDamaged):
        Safe(tmp_path).recover_tail(1, second.end + 1)
    with pytest.raises(SafeDamaged):
        Safe(tmp_path).recover_tail(2, 1)
    assert pack_path(tmp_path).stat().st_size == second.end > first.end


def test_without_recovery_a_torn_pack_is_left_alone_and_a_new_one_begun(tmp_path: Path) -> None:
    filled(tmp_path, "ab")
    os.truncate(pack_path(tmp_path), pack_path(tmp_path).stat().st_size - 3)
    assert [place.pack for place in filled(tmp_path, "c")] == [2]
    assert [damage.torn for damage in damages(tmp_path)] == [True]


# -- disk full


class Disk:
    """Takes so many bytes more, the last write only in part, as a real one does."""

    def __init__(self, room: int, code: int = errno.ENOSPC) -> None:
        self.room, self.code = room, code
        self._write = os.write

    def write(self, fd: int, data: bytes | memoryview) -> int:
        if self.room <= 0:
            raise OSError(self.code, os.strerror(self.code))
        written = self._write(fd, data[: self.room])
        self.room -= written
        return written


@pytest.mark.parametrize("room", [0, 1, 100, 500])
def test_a_full_disk_leaves_no_half_piece_and_appending_goes_on(
    tmp_path: Path, room: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    (kept,) = filled(tmp_path, "a")
    safe = Safe(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", Disk(room).write)
        with pytest.raises(SafeFull, match="no room"):
            safe.append(a_header("file-b"), os.urandom(4000))
    assert pack_path(tmp_path).stat().st_size == kept.end
    place = safe.append(a_header("file-b"), b"later")[1]
    safe.close()
    assert place.offset == kept.end
    assert not damages(tmp_path)


def test_another_failure_of_the_disk_is_an_error_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "write", Disk(0, errno.EIO).write)
    with pytest.raises(SafeError, match="cannot be written") as caught:
        Safe(tmp_path).append(a_header(), b"x")
    assert not isinstance(caught.value, SafeFull)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no fcntl")
@pytest.mark.parametrize("is_refused", [False, True])
def test_pieces_reach_the_disk_itself_on_macos(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_refused: bool
) -> None:
    """There `fsync` ends at the drive's cache."""
    import fcntl

    asked: list[str] = []

    def control(fd: int, command: int) -> None:  # noqa: ARG001
        asked.append("F_FULLFSYNC" if command == 51 else "?")
        if is_refused:
            raise OSError(errno.ENOTTY, "Inappropriate ioctl for device")

    safe = Safe(tmp_path)
    safe.append(a_header("file-a"), b"kept")
    with monkeypatch.context() as patch:
        patch.setattr(sys, "platform", "darwin")
        patch.setattr(fcntl, "F_FULLFSYNC", 51, raising=False)
        patch.setattr(fcntl, "fcntl", control)
        patch.setattr(os, "fsync", lambda fd: asked.append("fsync"))  # noqa: ARG005
        safe.flush()
    safe.close()
    assert set(asked) == ({"F_FULLFSYNC", "fsync"} if is_refused else {"F_FULLFSYNC"})
    assert [header.file for header in headers(tmp_path)] == ["file-a"]


def test_pieces_that_cannot_be_made_durable_are_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(tmp_path, "a")
    safe = Safe(tmp_path)
    safe.append(a_header("file-b"), b"lost")

    def no_sync(fd: int) -> None:  # noqa: ARG001
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", no_sync)
        with pytest.raises(SafeFull):
            safe.flush()
    assert [header.file for header in headers(tmp_path)] == ["file-a"]
    safe.append(a_header("file-c"), b"kept")
    safe.close()
    assert [header.file for header in headers(tmp_path)] == ["file-a", "file-c"]


@posix
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="mounting wants root")
def test_a_real_full_disk(tmp_path: Path) -> None:
    with small_disk(tmp_path) as disk:
        safe = Safe(disk / "safe")
        kept: dict[PiecePlace, bytes] = {}
        with pytest.raises(SafeFull):
            for number in range(100):
                raw = os.urandom(50_000)
                kept[safe.append(a_header(start=number), raw)[1]] = raw
                safe.flush()
        assert len(kept) > 10
        (disk / "ballast").unlink()
        safe.append(a_header("file-z"), os.urandom(50_000))
        safe.close()
        assert not damages(disk / "safe")
        assert all(safe.read(place) == raw for place, raw in kept.items())


@contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)], capture_output=True)
    if mounted.returncode:
        pytest.skip("mounting is not allowed here")
    try:
        (folder / "ballast").write_bytes(bytes(200_000))
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


# -- two processes, and who may look


@posix
@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077, 0o777])
def test_only_the_owner_may_look_under_any_umask(tmp_path: Path, umask: int) -> None:
    folder = tmp_path / "home" / "safe"
    before = os.umask(umask)
    try:
        with lock(folder):
            filled(folder, "abab", limit=3000)
            Safe(folder).rewrite_without({"file-a"})
    finally:
        os.umask(before)
    assert (folder / "rewrite.json").exists()
    for path in (folder.parent, folder, *folder.iterdir()):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


HOLD = """
import sys, pathlib
from reread.safe.safe import lock
with lock(pathlib.Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.readline()
"""


def test_a_second_writer_is_told_who_writes(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        other.stdout.readline()
        with pytest.raises(SafeBusy, match=str(other.pid)) as caught, lock(tmp_path, timeout=0.05):
            pass
        assert caught.value.pid == other.pid
        other.kill()
        other.wait()
    with lock(tmp_path):
        pass


def test_a_lock_is_waited_for(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        other.stdout.readline()
        other.stdin.write(b"\n")
        other.stdin.flush()
        with lock(tmp_path, timeout=20):
            pass


def test_a_lock_is_free_again_after_an_error(tmp_path: Path) -> None:
    with pytest.raises(KeyError), lock(tmp_path):
        raise KeyError
    with lock(tmp_path), pytest.raises(SafeBusy), lock(tmp_path):
        pass


FORK = """
import os, sys, time, pathlib
from reread.safe.safe import lock
with lock(pathlib.Path(sys.argv[1])):
    child = os.fork()
    if not child:
        time.sleep(30)
        os._exit(0)
    print(child, flush=True)
    sys.stdin.readline()
"""


@posix
def test_children_of_a_killed_writer_do_not_hold_its_lock(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", FORK, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        parent.kill()
        parent.wait()
        try:
            with lock(tmp_path):
                os.kill(child, 0)
        finally:
            os.kill(child, signal.SIGKILL)


@posix
def test_a_child_that_comes_and_goes_leaves_the_lock_to_its_parent(tmp_path: Path) -> None:
    with lock(tmp_path):
        child = os.fork()
        if not child:
            try:
                with lock(tmp_path):
                    os._exit(1)
            except SafeBusy:
                os._exit(0)
            finally:
                os._exit(2)
        assert os.waitpid(child, 0)[1] == 0
        with subprocess.Popen(
            [sys.executable, "-c", HOLD, str(tmp_path)], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE
        ) as other:
            assert other.stderr is not None
            assert b"SafeBusy" in other.stderr.read()


def test_threads_keep_each_other_out(tmp_path: Path) -> None:
    inside: list[int] = []

    def work(number: int) -> None:
        for _ in range(5):
            with lock(tmp_path, timeout=20):
                inside.append(number)
                assert len(inside) == 1
                inside.pop()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))


def test_two_writers_in_turn_never_write_over_each_other(tmp_path: Path) -> None:
    one, two = Safe(tmp_path, 1500), Safe(tmp_path, 1500)
    kept = {}
    for number in range(12):
        safe = (one, two)[number % 2]
        raw = a_text(f"turn{number}", 60)
        with lock(tmp_path):
            kept[safe.append(a_header(start=number), raw)[1]] = raw
            safe.flush()
    assert all(one.read(place) == raw for place, raw in kept.items())
    assert len(headers(tmp_path)) == 12
    assert not damages(tmp_path)


# -- forgetting


def stored_text(folder: Path) -> bytes:
    """Every byte in the folder: as stored, and as every frame in it unpacks."""
    raw = b"".join(path.read_bytes() for path in folder.iterdir() if path.is_file())
    return raw + b"".join(Safe(folder).read(piece.place) for piece in Safe(folder).scan())


def test_a_forgotten_file_leaves_no_byte_and_the_rest_moves_whole(tmp_path: Path) -> None:
    kept = filled(tmp_path, "aaccbdbdbc", limit=3000)
    untouched = {place.pack for place in kept} - {p.pack for p, (h, _) in kept.items() if h.file == "file-b"}
    safe = Safe(tmp_path, 3000)
    rewrite = safe.rewrite_without({"file-b"})
    safe.finish_rewrite()
    assert b"file-b" not in stored_text(tmp_path)
    assert b'"b4-' not in stored_text(tmp_path)
    assert untouched
    assert not untouched & set(rewrite.replaced)
    assert len(rewrite.made) > 1
    assert not set(rewrite.replaced) & set(safe.packs())
    expected = moved(kept, rewrite, {"file-b"})
    assert {piece.place for piece in safe.scan()} == set(expected)
    assert all(safe.read(place) == raw for place, (_, raw) in expected.items())
    assert not damages(tmp_path)


def moved(
    kept: dict[PiecePlace, tuple[PieceHeader, bytes]], rewrite: Rewrite, keys: set[str]
) -> dict[PiecePlace, tuple[PieceHeader, bytes]]:
    new = dict(rewrite.moved)
    return {new.get(place, place): piece for place, piece in kept.items() if piece[0].file not in keys}


def test_forgetting_what_is_not_there_changes_nothing(tmp_path: Path) -> None:
    filled(tmp_path, "ab")
    before = pack_path(tmp_path).read_bytes()
    safe = Safe(tmp_path)
    assert safe.rewrite_without({"file-z"}).replaced == ()
    assert safe.unfinished() is None
    assert pack_path(tmp_path).read_bytes() == before


def test_the_number_of_a_forgotten_pack_is_never_used_again(tmp_path: Path) -> None:
    (old,) = filled(tmp_path, "a")
    safe = Safe(tmp_path)
    safe.rewrite_without({"file-a"})
    safe.finish_rewrite()
    assert [place.pack for place in filled(tmp_path, "b")] == [2]
    with pytest.raises(SafeDamaged):
        safe.read(old)


def test_until_it_is_finished_a_forget_is_remembered_and_the_old_places_still_read(tmp_path: Path) -> None:
    kept = filled(tmp_path, "abc")
    rewrite = Safe(tmp_path).rewrite_without({"file-a"})
    later = Safe(tmp_path)
    assert later.unfinished() == rewrite
    assert rewrite.keys == ("file-a",)
    assert all(later.read(place) == raw for place, (_, raw) in kept.items())
    assert [header.file for header in headers(tmp_path)] == ["file-b", "file-c"]
    with pytest.raises(SafeError, match="finished"):
        later.rewrite_without({"file-b"})
    assert later.append(a_header("file-d"), b"d")[1].pack == 2
    later.finish_rewrite()
    assert [header.file for header in headers(tmp_path)] == ["file-b", "file-c", "file-d"]


def test_damage_that_names_no_file_is_kept_and_told_unless_it_shall_go(tmp_path: Path) -> None:
    kept = list(filled(tmp_path, "abc"))
    content = bytearray(pack_path(tmp_path).read_bytes())
    content[kept[1].offset + 8 : kept[1].offset + 400] = bytes(392)
    pack_path(tmp_path).write_bytes(content)
    safe = Safe(tmp_path)
    rewrite = safe.rewrite_without({"file-a"})
    safe.finish_rewrite()
    assert [damage.offset for damage in rewrite.unreadable] == [kept[1].offset]
    assert [(old, new.stored) for old, new in rewrite.moved] == [(place, place.stored) for place in kept[1:]]
    assert len(damages(tmp_path)) == 1
    rewrite = safe.rewrite_without(set(), drop_unreadable=True)
    safe.finish_rewrite()
    assert [header.file for header in headers(tmp_path)] == ["file-c"]


def test_a_damaged_piece_that_still_names_its_file_is_forgotten_with_it(tmp_path: Path) -> None:
    kept = list(filled(tmp_path, "ab"))
    flip(pack_path(tmp_path), kept[0].offset + 20)
    safe = Safe(tmp_path)
    assert safe.rewrite_without({"file-a"}).unreadable == ()
    safe.finish_rewrite()
    assert [header.file for header in headers(tmp_path)] == ["file-b"]


def test_a_disk_too_full_to_forget_is_left_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = filled(tmp_path, "abcabc")
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", Disk(5000).write)
        with pytest.raises(SafeFull):
            Safe(tmp_path).rewrite_without({"file-a"})
    assert [path.name for path in tmp_path.iterdir()] == ["000001.pack"]
    assert [piece.place for piece in Safe(tmp_path).scan()] == list(kept)


def forget_b(folder: Path) -> None:
    safe = Safe(folder, 3000)
    if safe.unfinished() is None:
        safe.rewrite_without({"file-b"})
    safe.finish_rewrite()


CHANGES = ("write", "fsync", "replace", "unlink", "ftruncate")
KILLED = 77


def run_killed_at(step: int, work: Callable[[], None]) -> int:
    """Runs in a child that dies, without any cleaning up, at its n-th change to the disk."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    left = step

    def deadly(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **more: Any) -> Any:
            nonlocal left
            left -= 1
            if left < 0:
                os._exit(KILLED)
            return real(*args, **more)

        return call

    for name in CHANGES:
        setattr(os, name, deadly(getattr(os, name)))
    try:
        work()
    except BaseException:  # noqa: BLE001  the child must never return into pytest
        os._exit(1)
    os._exit(0)


@posix
def test_a_forget_killed_at_any_step_loses_nothing_and_can_be_finished(tmp_path: Path) -> None:
    outcomes = set()
    for step in range(200):
        folder = tmp_path / str(step)
        kept = filled(folder, "aaccbdbdbc", limit=3000)
        code = run_killed_at(step, lambda folder=folder: forget_b(folder))  # type: ignore[misc]
        assert code in (0, KILLED)
        files = sorted(header.file for header in headers(folder))
        everything = sorted(header.file for header, _ in kept.values())
        without = [name for name in everything if name != "file-b"]
        assert files in (everything, without), step
        assert not damages(folder)
        outcomes.add((files == without, Safe(folder).unfinished() is not None))
        forget_b(folder)
        assert sorted(header.file for header in headers(folder)) == without
        assert b"file-b" not in stored_text(folder)
        assert all(path.suffix == ".pack" for path in folder.iterdir())
        filled(folder, "e")
        assert not damages(folder)
        if code == 0:
            break
    assert code == 0
    assert outcomes == {(False, False), (True, True), (True, False)}


@posix
def test_an_append_killed_at_any_step_keeps_what_was_flushed(tmp_path: Path) -> None:
    def work() -> None:
        with Safe(folder, 1500) as safe:
            for number in range(4):
                safe.append(a_header("file-n", number), a_text(f"n{number}", 100))
                safe.flush()

    for step in range(100):
        folder = tmp_path / str(step)
        first = next(iter(filled(folder, "a")))
        code = run_killed_at(step, work)
        assert code in (0, KILLED)
        Safe(folder).recover_tail(first.pack, first.end)
        assert headers(folder)[0].file == "file-a"
        assert not damages(folder)
        if code == 0:
            break
    assert code == 0
