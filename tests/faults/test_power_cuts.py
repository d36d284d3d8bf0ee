"""A few power cuts per command, other ones for every commit; `make faults` tries hundreds."""

from __future__ import annotations

import subprocess
from pathlib import Path
from random import Random

import pytest

from faults.cut_points import COMMANDS, cuts, judge, recorded
from faults.power_cut import Call, survivors, why_not_here

SAMPLE = 3
ROOT = Path(__file__).parents[2]


def seed() -> str:
    """The commit: whoever works on one sees the same cuts every time."""
    found = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    return found.stdout.strip() or "no commit"


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", COMMANDS)
def test_after_a_power_cut_all_that_was_kept_is_there(tmp_path: Path, name: str) -> None:
    reason = why_not_here()
    if reason is not None:
        pytest.skip(reason)
    made = recorded(name, tmp_path / "before")
    for number, cut in enumerate(cuts(made, SAMPLE, seed())):
        try:
            judge(made, cut, tmp_path / f"after-{number}")
        except Exception as error:
            raise AssertionError(f"{name}, {cut}") from error


def after(
    folder: Path, *calls: Call, mode: str = "posix", before: dict[bytes, bytes] | None = None
) -> set[bytes | None]:
    """What a file `a` may hold after a cut behind these calls; None where it is not there."""
    named = [
        call._replace(name=bytes(folder / call.name.decode()), to=bytes(folder / call.to.decode())) for call in calls
    ]
    found = (survivors(named, len(named), Random(seed), before or {}, folder, mode) for seed in range(300))
    return {files.get(b"a") for files in found}


SECTORS = b"x" * 512 + b"y" * 512


def test_what_was_not_synced_may_be_there_or_not_or_torn(tmp_path: Path) -> None:
    found = after(tmp_path, Call("append", b"a", SECTORS), before={b"a": b""})
    assert {b"", SECTORS, SECTORS[:512]} <= found
    assert all(content is not None and len(content) in (0, 512, 1024) for content in found)


def test_what_was_synced_is_there(tmp_path: Path) -> None:
    assert after(tmp_path, Call("append", b"a", SECTORS), Call("sync", b"a"), before={b"a": b""}) == {SECTORS}


def test_a_new_name_is_there_once_its_folder_was_synced(tmp_path: Path) -> None:
    made = (Call("create", b"a"), Call("append", b"a", b"new"), Call("sync", b"a"))
    assert after(tmp_path, *made) == {None, b"new"}
    assert after(tmp_path, *made, mode="ext4") == {b"new"}
    assert after(tmp_path, *made, Call("sync", b"")) == {b"new"}


def test_a_name_that_went_may_be_back_until_its_folder_was_synced(tmp_path: Path) -> None:
    assert after(tmp_path, Call("unlink", b"a"), before={b"a": b"old"}) == {None, b"old"}
    assert after(tmp_path, Call("unlink", b"a"), Call("sync", b""), before={b"a": b"old"}) == {None}


def test_a_renamed_file_is_the_old_or_the_new_one_and_never_neither(tmp_path: Path) -> None:
    made = (Call("create", b"b"), Call("append", b"b", b"new"), Call("sync", b"b"), Call("rename", b"b", to=b"a"))
    assert after(tmp_path, *made, before={b"a": b"old"}) == {b"old", b"new"}


def test_a_journal_keeps_its_order_so_that_an_old_file_never_takes_the_name_of_the_new_one_away(tmp_path: Path) -> None:
    again = (Call("create", b"a"), Call("append", b"a", b"new"), Call("sync", b"a"))
    removed = (Call("unlink", b"a"), *again)
    set_aside = (Call("rename", b"a", to=b"b"), *again)
    for before in (removed, set_aside):
        assert after(tmp_path, *before, before={b"a": b"old"}) >= {b"old", b"new"}
        assert after(tmp_path, *before, mode="ext4", before={b"a": b"old"}) == {b"new"}
        assert after(tmp_path, *before, Call("sync", b""), mode="ext4", before={b"a": b"old"}) == {b"new"}
