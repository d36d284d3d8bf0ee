"""Whoever can write into the shared folder chooses every field of a piece: none of them is believed."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from exchanging import FEW, FIRST, SECOND, Desk, Made, exchange_all, pieces_in, put_pieces
from reread.index import gate
from reread.index.verify import Verified
from reread.keys import file_key
from reread.testing import a_prompt, a_session


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    made = Desk(tmp_path, "desk")
    a_session(*FEW, id=FIRST).write(made.projects)
    return made


@pytest.fixture
def laptop(tmp_path: Path) -> Desk:
    made = Desk(tmp_path, "laptop")
    a_session(*FEW, a_prompt("the iguana"), id=SECOND).write(made.projects)
    return made


def transcript(own: Path) -> Made:
    return next(each for each in pieces_in(own) if each[0].kind == "transcript")


def moved(made: Made, path: str, **changed: Any) -> Made:
    """A piece of a file at another path of the same machine, with the key that it has there."""
    header, raw = made
    return replace(header, path=path, **{"file": file_key(header.machine, path), "more": {}, **changed}), raw


def verified(desk: Desk) -> Verified:
    with desk.open() as archive:
        return archive.safe.verify(deep=True)


_ABROAD: dict[str, Callable[[Made], Made]] = {
    "a tool result that leads up": lambda made: moved(
        made, "/home/x/.claude/projects/-p/SID/tool-results/../../../../victim/.ssh/keys", kind="tool_result"
    ),
    "a backup at the root": lambda made: moved(made, "/file-history/x", kind="backup"),
    "a backup that leads up": lambda made: moved(made, "/c/file-history/../0123456789abcdef@v1", kind="backup"),
    "a capture that leads up": lambda made: moved(made, "/home/x/wire/../x.wire", kind="capture"),
    "a session that is called as the folder above": lambda made: moved(made, "/home/x/.claude/projects/-p/...jsonl"),
    "a relative path": lambda made: moved(made, "projects/-p/x.jsonl"),
    "a null in a path": lambda made: moved(made, "/projects/-p/x\0.jsonl"),
    "a path with half a letter": lambda made: (replace(made[0], path="/p/\ud800.jsonl"), made[1]),
    "a kind that has no such path": lambda made: moved(made, "/projects/-p/x.txt", kind="tool_result"),
    "a generation below zero": lambda made: (replace(made[0], generation=-5), made[1]),
    "a generation beyond a row": lambda made: (replace(made[0], generation=1 << 63), made[1]),
    "a time beyond a row": lambda made: (replace(made[0], mtime_ns=1 << 70), made[1]),
    "a start beyond a file": lambda made: (replace(made[0], start=1 << 62), made[1]),
    "a sync beyond counting": lambda made: (replace(made[0], more={"order": 1 << 70}), made[1]),
    "a key that is none": lambda made: (replace(made[0], file="\ud800"), made[1]),
    "a key of nobody": lambda made: (replace(made[0], file="0" * 32), made[1]),
    "lost bytes": lambda made: (replace(made[0], more={"lost": True}), made[1]),
    "a reference to nothing": lambda made: (replace(made[0], more={"same": ["x"]}), made[1]),
    "a place elsewhere": lambda made: (replace(made[0], more={"place": "0" * 32}), b""),
    "a move of another's file": lambda made: (
        replace(made[0], file="1" * 32, more={"place": file_key(made[0].machine, made[0].path), "moved": True}),
        b"",
    ),
}


@pytest.mark.parametrize("name", _ABROAD)
def test_one_bad_piece_is_told_and_left_out_and_the_others_live(
    name: str, desk: Desk, laptop: Desk, tmp_path: Path
) -> None:
    desk.push()
    good = pieces_in(desk.own)
    put_pieces(desk.own, [_ABROAD[name](transcript(desk.own)), *good])
    problems = laptop.pull().problems
    assert len(problems) == 1
    assert problems[0].startswith("desk: 1 piece left out: ")
    assert laptop.names() == [FIRST]
    laptop.assert_whole()
    with laptop.open() as archive:
        assert archive.sync().problems == []
        archive.safe.restore(FIRST, tmp_path / "there" / "below")
        assert [path.name for path in (tmp_path / "there").iterdir()] == ["below"]
        archive.safe.rebuild()
        assert len(archive.sessions()) == 2
        archive.safe.forget_damaged()
    laptop.assert_whole()


@pytest.mark.parametrize("name", _ABROAD)
def test_what_an_older_version_took_into_the_safe_is_left_out_when_it_is_read(
    name: str, desk: Desk, laptop: Desk
) -> None:
    desk.push()
    laptop.push()
    laptop.pull()
    with laptop.open() as archive, archive.inner.locked():
        archive.inner.packs.append(*_ABROAD[name](transcript(desk.own)))
        archive.inner.packs.flush()
    assert len(laptop.names()) == 2
    proof = verified(laptop)
    assert (proof.damaged, proof.unnamed, len(proof.left_out)) == ([], [], 1)
    with laptop.open() as archive:
        assert archive.safe.rebuild() == 2
        archive.safe.forget_damaged()
    assert laptop.pull().problems == []
    assert verified(laptop).damaged == []


@pytest.mark.parametrize("generation", [1, 2])
def test_a_machine_writes_no_key_of_another(generation: int, desk: Desk, laptop: Desk) -> None:
    exchange_all(desk, laptop)
    header, raw = transcript(laptop.own)
    longer = raw + raw.replace(b"iguana", b"basilisk")
    start = 0 if generation == 2 else len(raw)
    mine = replace(header, machine=desk.id, generation=generation, start=start), longer[start:]
    put_pieces(desk.own, [*pieces_in(desk.own), mine])
    assert any(gate.KEY in problem for problem in laptop.pull().problems)
    assert (laptop.found("iguana"), laptop.found("basilisk")) == (1, 0)
    with laptop.open() as archive:
        archive.safe.rebuild()
    assert laptop.found("basilisk") == 0
    laptop.assert_whole()


def test_a_kind_of_a_newer_version_is_kept_and_understood_after_an_upgrade(
    desk: Desk, laptop: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.push()
    laptop.push()
    with monkeypatch.context() as older:
        older.setattr(gate, "_KINDS", gate._KINDS - {"transcript"})
        (problem,) = laptop.pull().problems
        assert "does not know their kind, transcript" in problem
        assert verified(laptop).left_out
        with laptop.open() as archive:
            assert archive.sync().problems == []
            assert archive.safe.verify().damaged == []
    assert FIRST not in laptop.names()
    with laptop.open() as archive:
        archive.inner.connection.execute("PRAGMA user_version = 0")
    with laptop.open() as archive:
        archive.sync()
    assert laptop.names() == [FIRST, SECOND]
    laptop.assert_whole()


def test_the_number_of_a_sync_is_counted_by_its_own_machine(desk: Desk, laptop: Desk) -> None:
    desk.push()
    put_pieces(desk.own, [(replace(header, more={"order": 1 << 30}), raw) for header, raw in pieces_in(desk.own)])
    laptop.pull()
    laptop.push()
    assert all(header.more["order"] < 100 for header, _ in pieces_in(laptop.own))


def test_a_piece_that_claims_more_than_a_piece_can_have_is_never_unpacked(desk: Desk, laptop: Desk) -> None:
    desk.push()
    big = moved(transcript(desk.own), "/home/x/.claude/projects/-p/big.jsonl")[0], bytes(64 << 20)
    put_pieces(desk.own, [*pieces_in(desk.own), big])
    (problem,) = laptop.pull().problems
    assert "beyond what is possible" in problem
    assert laptop.names() == [FIRST]


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_rows_of_an_older_version_lead_nowhere_when_a_session_is_restored(
    desk: Desk, laptop: Desk, tmp_path: Path
) -> None:
    exchange_all(desk, laptop)
    victim, to = tmp_path / "victim", tmp_path / "deep" / "to"
    victim.mkdir()
    victim.chmod(0o755)
    with laptop.open() as archive:
        number = archive.find(FIRST).id
        for kind, path in (
            ("tool_result", f"{desk.projects}/-p/{FIRST}/tool-results/../../../../victim/keys"),
            ("backup", f"/{FIRST}/x"),
            ("backup", f"/file-history/../{FIRST}"),
            ("capture", "/wire/../x.wire"),
        ):
            of = (None, number) if kind == "backup" else (number, None)
            archive.inner.connection.execute(
                """INSERT INTO file (key, machine, source, path, kind, session, backup_of)
                   VALUES (?, ?, '/s', ?, ?, ?, ?)""",
                (path, desk.id, path, kind, *of),
            )
        archive.inner.connection.commit()
        targets = archive.safe.restore_targets(FIRST, to)
        done = archive.safe.restore(FIRST, to)
    assert all(path.is_relative_to(to) for path in targets)
    assert len(done.damaged) == 4
    assert [path.name for path in tmp_path.joinpath("deep").iterdir()] == ["to"]
    assert (list(victim.iterdir()), victim.stat().st_mode & 0o777) == ([], 0o755)
    assert [path.name for path in to.rglob("*") if path.is_file()] == [f"{FIRST}.jsonl"]


def test_files_that_say_they_are_at_one_path_stop_nothing(desk: Desk, laptop: Desk) -> None:
    """A file at the path of one that has moved has its key from the key before."""
    desk.push()
    header, raw = transcript(desk.own)
    second = file_key(header.file, header.path)
    others = [
        (replace(header, file=second), raw.replace(b"pangolin", b"aardvark")),
        (replace(header, file=file_key(second, header.path), kind="settings"), raw),
        (replace(header, file=file_key(header.machine, header.path.upper()), path=header.path.upper()), raw),
    ]
    put_pieces(desk.own, [*others, *pieces_in(desk.own)])
    laptop.pull()
    with laptop.open() as archive:
        assert archive.sync().problems == []
        for _ in range(2):
            assert [each for each in archive.safe.verify().damaged if "index" in each] == []
            archive.safe.rebuild()
    assert SECOND in laptop.names()
