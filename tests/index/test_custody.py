"""The archive proves what it holds, gives it back byte for byte, and forgets without a trace."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reread.archive import Archive
from reread.archive.search_language import ALL_FIELDS
from reread.errors import StoreError
from reread.index import custody
from reread.index.database import FILE_NAME
from reread.index.user_data import COPY
from reread.safe.safe import FoundPiece
from reread.testing import (
    Transcript,
    a_prompt,
    a_reply,
    a_session,
    a_subagent,
    a_thought,
    a_title,
    a_tool_call,
    a_tool_result,
)
from trees import Tree, a_tree, assert_true, digests

posix = pytest.mark.skipif(sys.platform == "win32", reason="POSIX modes and fork")
ID = "0a1b2c3d-1111-4222-8333-444455556666"
OTHER = "5e551011-0000-4000-8000-000000000000"
WORDS = ("alpacaq", "narwhalq", "badgerq", "pangolinq", "capybaraq", "okapiq", "wombatq", "fetchquokkaname", "貘検索")


def a_secret() -> Transcript:
    return a_session(
        a_title("about wombatq"),
        a_prompt("please find the alpacaq of fetchQuokkaName 貘検索"),
        a_reply(a_thought("narwhalq thoughts"), a_tool_call("Task", {"prompt": "badgerq"}, id="toolu_task")),
        a_subagent(a_prompt("badgerq"), a_reply("the pangolinq is done"), id="abc", of="toolu_task"),
        a_tool_result("capybaraq found", of="toolu_task", twin={"agentId": "abc", "status": "completed"}),
        id=ID,
        outputs={"toolu_9.txt": "okapiq " * 20},
    )


def an_archive(folder: Path) -> Archive:
    """One with a session to forget and one to keep, in the same packs."""
    a_secret().write(folder / "source")
    a_session(a_prompt("stay with us"), a_reply("staying, quokka")).write(folder / "source")
    archive = Archive(folder / "home", [folder / "source"], machine="desk")
    archive.sync()
    return archive


def flip(path: Path, at: int, length: int = 1) -> None:
    content = bytearray(path.read_bytes())
    content[at : at + length] = bytes(byte ^ 0x5A for byte in content[at : at + length])
    path.write_bytes(content)


def pack(archive: Archive) -> Path:
    return archive.home / "safe" / "000001.pack"


def vocabulary(archive: Archive) -> set[str]:
    return {term for (term,) in archive.inner.connection.execute("SELECT term FROM vocabulary")}


# -- verifying


def test_verify_names_the_file_of_a_flipped_byte(tmp_path: Path) -> None:
    with an_archive(tmp_path) as archive:
        assert archive.safe.verify().ok
        piece = next(
            each
            for each in archive.inner.packs.scan()
            if isinstance(each, FoundPiece) and "subagents" in each.header.path
        )
        flip(pack(archive), piece.place.end - 3)
        verified = archive.safe.verify()
    assert not verified.ok
    assert f"pack 1 at {piece.place.offset} ({piece.header.path}): its bytes are damaged" in verified.damaged


def test_verify_names_every_file_of_a_missing_pack(tmp_path: Path) -> None:
    with an_archive(tmp_path) as archive:
        pack(archive).unlink()
        damaged = archive.safe.verify().damaged
    assert len(damaged) == 5
    assert all("of pack 1 is missing" in said for said in damaged)
    assert any(f"{ID}.jsonl" in said for said in damaged)


def test_verify_notices_rows_that_have_no_bytes(tmp_path: Path) -> None:
    with an_archive(tmp_path) as archive:
        archive.inner.connection.execute("DELETE FROM piece WHERE file = (SELECT id FROM file WHERE kind = 'meta')")
        damaged = archive.safe.verify().damaged
    assert len(damaged) == 1
    assert "agent-abc.meta.json: the bytes before" in damaged[0]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("part", range(12))
def test_verify_names_the_database_when_a_page_is_damaged(tmp_path: Path, part: int) -> None:
    with an_archive(tmp_path) as archive:
        archive.inner.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        pages = archive.inner.connection.execute("PRAGMA page_count").fetchone()[0]
    flip(tmp_path / "home" / FILE_NAME, max(1, pages * part // 12) * 4096, 4096)
    with Archive(tmp_path / "home") as archive:
        try:
            damaged = archive.safe.verify().damaged
        except StoreError as error:
            damaged = [f"database: {error}"]
        if not damaged:
            pages = archive.inner.connection.execute("PRAGMA freelist_count").fetchone()[0]
            assert pages, "only a page nobody uses may be damaged without a word"
    assert all(said.startswith("database: ") for said in damaged)


# -- restoring


@pytest.fixture(scope="module")
def taken(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    tree = a_tree(tmp_path_factory.mktemp("tree"))
    with tree.archive() as archive:
        archive.sync()
    return tree


def test_every_file_of_every_session_comes_back_byte_for_byte(taken: Tree, tmp_path: Path) -> None:
    source = digests(taken.source / "projects")
    back: dict[str, str] = {}
    with taken.archive() as archive:
        for each in archive.sessions():
            folder = tmp_path / Path(each.stored.row.folder).name
            restored = archive.safe.restore(each.stored.row.uuid, folder)
            assert all(path.is_relative_to(folder) for path in restored.files)
        back = digests(tmp_path)
    assert back == source
    assert {"subagents", "tool-results"} <= {part for name in back for part in Path(name).parts}
    assert any(name.endswith(".meta.json") for name in back)


def test_a_restored_file_has_its_time_and_is_its_owners(tmp_path: Path) -> None:
    with an_archive(tmp_path) as archive:
        archive.safe.restore(ID, tmp_path / "back")
    name = f"{ID}.jsonl"
    [source] = (tmp_path / "source").rglob(name)
    assert (tmp_path / "back" / name).stat().st_mtime_ns == source.stat().st_mtime_ns
    if sys.platform != "win32":
        for path in (tmp_path / "back").rglob("*"):
            assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600)


def test_restoring_never_writes_over_other_bytes(tmp_path: Path) -> None:
    with an_archive(tmp_path) as archive:
        archive.safe.restore(ID, tmp_path / "back")
        archive.safe.restore(ID, tmp_path / "back")
        (tmp_path / "back" / f"{ID}.jsonl").write_text("newer")
        before = digests(tmp_path / "back")
        with pytest.raises(StoreError, match="is there already"):
            archive.safe.restore(ID, tmp_path / "back")
    assert digests(tmp_path / "back") == before


# -- forgetting


def test_a_forgotten_session_leaves_no_byte_in_the_packs_and_no_word_in_the_index(tmp_path: Path) -> None:
    with an_archive(tmp_path) as archive:
        assert set(WORDS[:-1]) <= vocabulary(archive)
        assert "貘検" in vocabulary(archive)
        kept = archive.search("quokka").hits[0].text
        archive.safe.forget(ID)
        assert not set(WORDS) & vocabulary(archive)
        assert not any("貘" in term for term in vocabulary(archive))
        for word in WORDS:
            matching = archive.inner.connection.execute(
                "SELECT count(*) FROM search WHERE search MATCH ?", (f'"{word}"',)
            )
            assert matching.fetchone() == (0,), word
            assert archive.search(word, ALL_FIELDS).hits == []
        for piece in archive.inner.packs.scan():
            assert not any(word.encode() in archive.inner.packs.read(piece.place) for word in WORDS)
        assert [each.stored.row.uuid for each in archive.sessions()] == [OTHER]
        assert archive.search("quokka").hits[0].text == kept
        assert archive.safe.verify().ok
    for path in (tmp_path / "home").rglob("*"):
        content = path.read_bytes() if path.is_file() else b""
        assert not [word for word in (*WORDS, ID) if word.encode() in content], path


def test_forgetting_everything_empties_the_index(taken: Tree, tmp_path: Path) -> None:
    """Every word of a whole tree, taken out with the texts it was put in with."""
    with Archive(tmp_path / "home", [taken.source], machine="desk") as archive:
        archive.sync()
        for each in archive.sessions():
            assert archive.safe.forget(each.stored.row.uuid).hidden_texts == 0
        assert vocabulary(archive) == set()
        for table in ("session", "block", "request", "tool_call", "friction", "session_end", "instruction_change"):
            assert archive.inner.connection.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)  # noqa: S608
        assert archive.safe.verify().ok


def test_forgetting_one_session_leaves_the_others_true(tmp_path: Path) -> None:
    tree = a_tree(tmp_path, size=1_000_000)
    a_secret().write(tree.source / "projects")
    with tree.archive() as archive:
        archive.sync()
        archive.safe.forget(ID)
        assert_true(archive, tree.truth)


def test_a_file_that_was_rewritten_is_forgotten_with_all_its_generations(tmp_path: Path) -> None:
    with an_archive(tmp_path) as archive:
        [path] = (tmp_path / "source").rglob(f"{ID}.jsonl")
        path.write_bytes(path.read_bytes().replace(b"alpacaq", b"vicunaq").replace(b"find", b"look for"))
        archive.sync()
        assert {"vicunaq", "alpacaq"} & vocabulary(archive) == {"vicunaq"}
        archive.safe.forget(ID)
        assert not {"vicunaq", "alpacaq"} & vocabulary(archive)
    for path in (tmp_path / "home").rglob("*"):
        content = path.read_bytes() if path.is_file() else b""
        assert not [word for word in ("alpacaq", "vicunaq", ID) if word.encode() in content], path


def test_what_damage_hides_is_forgotten_too_and_told(tmp_path: Path) -> None:
    with an_archive(tmp_path) as archive:
        piece = next(
            each for each in archive.inner.packs.scan() if isinstance(each, FoundPiece) and ID in each.header.path
        )
        flip(pack(archive), piece.place.end - 3)
        assert archive.safe.forget(ID).hidden_texts > 0
        assert archive.search("alpacaq", ALL_FIELDS).hits == []
        assert [each.stored.row.uuid for each in archive.sessions()] == [OTHER]
        assert archive.safe.verify().ok


@posix
def test_a_forget_killed_at_any_step_never_happened_or_is_finished(tmp_path: Path) -> None:
    an_archive(tmp_path / "0").close()
    source, outcomes = tmp_path / "0" / "source", set()
    for step in range(100):
        home = tmp_path / f"home-{step}"
        with Archive(home, [source], machine="desk") as archive:
            archive.sync()
            archive.marks.set(ID, note="marmotq")
        code = killed_at(step, lambda home=home: Archive(home, [source], machine="desk").safe.forget(ID))  # type: ignore[misc]
        with Archive(home, machine="desk") as archive:
            assert archive.safe.verify().damaged == [], step
            listed = {each.stored.row.uuid for each in archive.sessions()}
            assert listed in ({ID, OTHER}, {OTHER})
            assert bool({"alpacaq"} & vocabulary(archive)) == (ID in listed)
            assert (ID in archive.marks.all()) == (b"marmotq" in (home / COPY).read_bytes()) == (ID in listed)
            outcomes.add(ID in listed)
        if code == 0:
            break
    assert code == 0
    assert outcomes == {True, False}


@posix
def test_the_next_sync_finishes_a_forget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with an_archive(tmp_path) as archive, monkeypatch.context() as patch:
        patch.setattr(custody, "settle", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            archive.safe.forget(ID)
    with Archive(tmp_path / "home", machine="desk") as archive:
        archive.sync()
        assert [each.stored.row.uuid for each in archive.sessions()] == [OTHER]
        assert "alpacaq" not in vocabulary(archive)


def killed_at(step: int, work: Callable[[], object]) -> int:
    """Runs in a child that dies at its n-th change to a file of the safe, or just before SQLite's n-th statement."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    left = step

    def deadly(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **more: Any) -> Any:
            nonlocal left
            left -= 1
            if left < 0:
                os._exit(77)
            return real(*args, **more)

        return call

    try:
        for name in ("write", "fsync", "replace", "unlink", "ftruncate"):
            setattr(os, name, deadly(getattr(os, name)))
        for name in ("drop_lines", "settle", "_scrub"):
            setattr(custody, name, deadly(getattr(custody, name)))
        work()
    except BaseException:  # noqa: BLE001  the child must never return into pytest
        os._exit(1)
    os._exit(0)
