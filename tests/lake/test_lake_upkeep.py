"""Upkeep: what is forgotten is in no file and does not come back, and damage is found."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from cli.running import reread
from lake.lakes import assert_same_usage, built, everything, reports
from reread.archive import Archive
from reread.billing import packaged_prices
from reread.errors import AmbiguousSession, UnknownSession
from reread.lake.delta import DeltaLake
from reread.lake.upkeep import LakeForgotten, by_session, forget, vacuum, verify
from reread.testing import a_prompt, a_reply, a_session, a_usage
from trees import Tree, a_tree, append

SAID = "the marmalade manifesto"


@pytest.fixture
def spoken(tmp_path: Path) -> Path:
    """Two people's sessions; one of them lies in a second folder, too."""
    for name, said in (("ann", SAID), ("bob", "nothing of note")):
        reply = a_reply(f"about {said}", usage=a_usage(5, 6), id=f"msg_{name}", model="claude-opus-4-8")
        a_session(a_prompt(said), reply, id=name, cwd=f"/home/{name}").write(tmp_path / "source")
    shutil.copytree(tmp_path / "source", tmp_path / "backup")
    built(tmp_path / "lake", tmp_path / "source", tmp_path / "backup")
    return tmp_path


def forget_session(lake: Path, name: str) -> LakeForgotten:
    held = DeltaLake(str(lake))
    return forget(held, by_session(held, name), packaged_prices())


def files_with(lake: Path, text: str) -> list[str]:
    """Every file in which a text stands, as bytes or inside a compressed column."""
    found = []
    for path in sorted(lake.rglob("*")):
        if path.is_file():
            inside = repr(pq.read_table(path, partitioning=None).to_pylist()) if path.suffix == ".parquet" else ""
            if text.encode() in path.read_bytes() or text in inside:
                found.append(path.relative_to(lake).as_posix())
    return found


def test_what_is_forgotten_is_in_no_file_afterwards(spoken: Path) -> None:
    assert files_with(spoken / "lake", SAID)
    done = forget_session(spoken / "lake", "ann")
    assert done.files_removed > 0 and done.rows > 0
    assert files_with(spoken / "lake", SAID) == files_with(spoken / "lake", "msg_ann") == []
    assert files_with(spoken / "lake", "nothing of note")
    assert verify(DeltaLake(str(spoken / "lake")), packaged_prices()).ok


def test_what_is_forgotten_does_not_come_back_and_is_counted_no_more(spoken: Path) -> None:
    forget_session(spoken / "lake", "ann")
    then = built(spoken / "lake", spoken / "source", spoken / "backup")
    assert (then.sessions, then.rows["session"]) == (0, 1)
    with Archive(spoken / "home", [spoken / "source"], machine="desk") as archive:
        archive.sync()
        archive.safe.forget("ann")
        assert_same_usage(spoken / "lake", archive)


def test_old_versions_of_a_session_that_grew_are_removed_by_vacuum(spoken: Path) -> None:
    lake = spoken / "other"
    built(lake, spoken / "source")
    path = next(path for path in (spoken / "source").rglob("*.jsonl") if path.stem == "ann")
    path.write_bytes(path.read_bytes().replace(SAID.encode(), b"a later thought") + b"\n")
    built(lake, spoken / "source")
    assert files_with(lake, SAID)
    before = everything(lake)
    assert vacuum(DeltaLake(str(lake)), hours=0) > 0
    assert files_with(lake, SAID) == []
    assert everything(lake) == before
    assert built(lake, spoken / "source").sessions == 0


def test_vacuum_joins_small_files_and_a_killed_build_leaves_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree: Tree = a_tree(tmp_path, size=300_000)
    lake = tmp_path / "lake"
    built(lake, tree.source)
    append(tree.source, tree.truth)

    def die(*_: object) -> None:
        raise RuntimeError("killed")

    with monkeypatch.context() as patched:
        patched.setattr(DeltaLake, "commit", die)
        with pytest.raises(RuntimeError, match="killed"):
            built(lake, tree.source)
    seen = reports(lake)
    vacuum(DeltaLake(str(lake)), hours=0)
    assert reports(lake) == seen
    held = {path.name for path in lake.rglob("*.parquet") if path.parent.parent.name == "request"}
    named = {Path(uri).name for uri in DeltaLake(str(lake)).table("request").file_uris()}
    assert held == named
    built(lake, tree.source)
    built(tmp_path / "fresh", tree.source)
    assert everything(lake) == everything(tmp_path / "fresh")


def test_damage_is_found(spoken: Path) -> None:
    lake = spoken / "lake"
    assert verify(DeltaLake(str(lake)), packaged_prices(), with_sources=True).sources > 0
    part = next((lake / "text").rglob("*.parquet"))
    whole = part.read_bytes()
    column = pq.ParquetFile(part).metadata.row_group(0).column(0)
    last = column.data_page_offset + column.total_compressed_size - 1
    last = min(last, (column.dictionary_page_offset or last) + column.total_compressed_size - 1)
    part.write_bytes(whole[:last] + bytes([whole[last] ^ 255]) + whole[last + 1 :])
    ran = reread("lake", "verify", "--lake", lake, "--json")
    assert ran.code == 1 and part.name in json.loads(ran.out)["damaged"][0]
    part.unlink()
    assert not verify(DeltaLake(str(lake)), packaged_prices()).ok


def test_a_source_that_was_changed_behind_the_lakes_back_is_found(spoken: Path) -> None:
    path = next((spoken / "backup").rglob("*.jsonl"))  # the other folder holds copies
    path.write_bytes(path.read_bytes().replace(b"user", b"resu"))
    proof = verify(DeltaLake(str(spoken / "lake")), packaged_prices(), with_sources=True)
    assert len(proof.damaged) == 1 and str(path) in proof.damaged[0]


def test_rows_that_contradict_each_other_are_found(spoken: Path) -> None:
    lake = DeltaLake(str(spoken / "lake"))
    lake.begin()
    lake.overwrite("usage_day", lake.rows("usage_day").slice(0, 1))
    lake.commit({"action": "build"})
    assert verify(lake, packaged_prices()).damaged == ["usage_day is not what its requests come to"]


def test_a_session_is_called_by_a_beginning_that_no_other_has(spoken: Path) -> None:
    lake = DeltaLake(str(spoken / "lake"))
    assert by_session(lake, "an").ids == ["ann"]
    with pytest.raises(UnknownSession):
        by_session(lake, "eve")
    a_session(a_prompt("x"), id="anna").write(spoken / "source")
    built(spoken / "lake", spoken / "source")
    assert by_session(DeltaLake(lake.uri), "ann").ids == ["ann"]
    with pytest.raises(AmbiguousSession):
        by_session(DeltaLake(lake.uri), "an")


def test_forgetting_asks_first(spoken: Path) -> None:
    ran = reread("lake", "forget", "ann", "--lake", spoken / "lake")
    assert (ran.code, ran.out) == (2, "") and "--yes" in ran.err
    ran = reread("lake", "forget", "ann", "--lake", spoken / "lake", "--yes", "--json")
    assert ran.code == 0 and json.loads(ran.out)["session"] == "ann"


def test_the_commands_print_their_documents(spoken: Path) -> None:
    place = ["--lake", str(spoken / "lake"), "--json"]
    build = json.loads(reread("lake", "build", spoken / "source", *place).out)
    assert {key: build[key] for key in ("schema", "engine", "sessions", "bytes_read")} == {
        "schema": "reread.lake_build/1",
        "engine": "local",
        "sessions": {"read": 0, "unchanged": 2, "failed": 0, "too_old": 0},
        "bytes_read": 0,
    }
    assert build["rows"]["session"] == 2
    plan = json.loads(reread("lake", "plan", spoken / "source", *place).out)
    assert (plan["schema"], plan["sessions"]) == ("reread.lake_plan/1", {"to_read": 0, "unchanged": 2})
    assert json.loads(reread("lake", "vacuum", *place).out)["schema"] == "reread.lake_vacuum/1"
    assert json.loads(reread("lake", "vacuum", *place, "--hours", "9" * 20).out)["files_removed"] == 0
