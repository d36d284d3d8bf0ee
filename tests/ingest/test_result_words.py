"""Words of tool results that a quick sync leaves for later: the index that is finished is the index of one pass."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import reread.index.words
import reread.ingest.extract
import reread.ingest.second_phase
import reread.ingest.sync
from live.captures import a_capture, an_interrupted_thought, as_frames, keep
from reread.archive import Archive
from reread.archive.search_language import ALL_FIELDS
from reread.cli.main import main
from reread.index import meta
from reread.index.text_index import indexable_bytes
from reread.ingest import Progress
from reread.safe.safe import FoundPiece, PieceHeader, PiecePlace, Safe, lock
from reread.testing import (
    Agent,
    Entry,
    Transcript,
    a_line,
    a_prompt,
    a_reply,
    a_session,
    a_subagent,
    a_task_notification,
    a_thought,
    a_tool_call,
    a_tool_result,
    an_interrupt,
)
from reread.views.hits import search_document
from trees import a_tree, append, assert_true

CORPUS = Path(__file__).parents[3] / "shared" / "corpus"
ONE = "0a1b2c3d-1111-4222-8333-444455556666"
TWO = "0b1b2c3d-2222-4222-8333-444455556666"
THREE = "0c1b2c3d-3333-4222-8333-444455556666"
Words = set[tuple[object, ...]]


@pytest.fixture(autouse=True)
def always_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """However little there is to read."""
    monkeypatch.setattr(reread.ingest.sync, "RESULTS_LATER", 0)


def an_archive(folder: Path, name: str = "home") -> Archive:
    return Archive(folder / name, [folder / "projects"], machine="desk")


def a_talk(word: str, *more: Entry | Agent, id: str = ONE) -> Transcript:  # noqa: A002
    return a_session(
        a_prompt(f"find the {word}p", timestamp="2026-01-05T09:00:00.000Z"),
        a_reply(a_thought(f"thinking of {word}t"), f"the {word}r", a_tool_call("Bash", {"command": f"ls {word}c"})),
        a_tool_result(f"fetch{word.title()}Name {word}q 検索中"),
        a_task_notification(f"{word}n is done", task="t1", call="toolu_1"),
        *more,
        id=id,
        outputs={"toolu_9.txt": f"spilled {word}s " * 20},
    )


def two_talks(folder: Path) -> None:
    a_talk("gnu").write(folder / "projects")
    a_talk("kudu", id=TWO).write(folder / "projects")


def rows(archive: Archive) -> Words:
    """Every block, by what it is of."""
    return set(
        archive.inner.connection.execute(
            """SELECT file.key, block.offset, block.length, block.part, block.field, block.time
               FROM block JOIN file ON file.id = block.file"""
        )
    )


def words(archive: Archive) -> Words:
    """Every word of the index with its column and its place, and the text it leads to."""
    connection = archive.inner.connection
    connection.execute("CREATE VIRTUAL TABLE IF NOT EXISTS temp.told USING fts5vocab(main, search, instance)")
    return set(
        connection.execute(
            """SELECT term, col, told.offset, file.key, block.offset, block.part
               FROM temp.told LEFT JOIN block ON block.id = told.doc LEFT JOIN file ON file.id = block.file"""
        )
    )


def assert_same_index(one: Archive, other: Archive) -> None:
    for archive in (one, other):
        archive.inner.connection.execute("INSERT INTO search(search) VALUES ('integrity-check')")
        archive.inner.connection.execute("INSERT INTO search(search) VALUES ('optimize')")
    assert sorted(map(str, rows(one) ^ rows(other)))[:5] == []
    assert sorted(map(str, words(one) ^ words(other)))[:5] == []
    assert one.inner.connection.execute("SELECT count(*) FROM block").fetchone() == (len(rows(one)),)


def waiting(archive: Archive) -> int:
    return len(meta.waiting_for_results(archive.inner.connection))


def found(archive: Archive, word: str) -> set[str]:
    return {hit.session.row.uuid for hit in archive.search(word, "result").hits}


# -- the same index in the end


@given(st.text(min_size=1))
def test_every_text_has_words_for_the_index(text: str) -> None:
    """Which is why a block can be written before its words are known."""
    assert indexable_bytes(text, with_parts=False)


def test_finished_in_two_phases_the_index_is_that_of_one(tmp_path: Path) -> None:
    tree = a_tree(tmp_path, size=250_000, seed=5)
    with tree.archive() as quick, Archive(tmp_path / "whole", [tree.source], machine="desk") as whole:
        quick.sync(is_quick=True)
        assert waiting(quick) > 3
        before = rows(quick)
        whole.sync()
        assert not before ^ rows(whole), "only words come later"
        assert not words(quick) ^ {each for each in words(whole) if each[1] != "result"}
        quick.sync()
        assert waiting(quick) == 0
        assert_same_index(quick, whole)
        append(tree.source, tree.truth)
        quick.sync(is_quick=True)
        whole.sync()
        quick.sync()
        assert_same_index(quick, whole)
        assert_true(quick, tree.truth)


@pytest.mark.shared
@pytest.mark.skipif(not CORPUS.is_dir(), reason="no recorded transcripts beside the project")
@pytest.mark.parametrize("part", ["labelled/jimmc414+cctrace", "labelled/entireio+skills", "handmade"])
def test_recorded_sessions_have_the_same_index_either_way(part: str, tmp_path: Path) -> None:
    with (
        Archive(tmp_path / "home", [CORPUS / part], machine="desk") as quick,
        Archive(tmp_path / "whole", [CORPUS / part], machine="desk") as whole,
    ):
        quick.sync(is_quick=True)
        whole.sync()
        assert waiting(quick)
        quick.sync()
        assert_same_index(quick, whole)


def test_workers_find_the_same_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = a_tree(tmp_path, size=250_000, seed=6)
    monkeypatch.setattr("reread.workers.ALONE_BELOW", 50_000)
    monkeypatch.setattr(reread.ingest.second_phase, "COMMIT_AFTER", 50_000)
    monkeypatch.setattr(reread.ingest.second_phase, "SHARE", 20_000)
    with tree.archive() as quick, Archive(tmp_path / "whole", [tree.source], machine="desk") as whole:
        quick.sync(is_quick=True)
        quick.sync()
        whole.sync()
        assert_same_index(quick, whole)


def test_a_sync_of_little_leaves_no_words_for_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reread.ingest.sync, "RESULTS_LATER", 8_000_000)
    two_talks(tmp_path)
    with an_archive(tmp_path) as archive:
        archive.sync(is_quick=True)
        assert waiting(archive) == 0
        assert found(archive, "gnuq") == {ONE}


# -- answers


def test_a_search_for_results_finishes_what_it_needs(tmp_path: Path) -> None:
    two_talks(tmp_path)
    with an_archive(tmp_path) as archive:
        archive.sync(is_quick=True)
        assert archive.search("gnup OR gnut OR gnur OR gnuc").total == 4
        assert archive.search("gnuq").waiting == 0, "nobody asked for results"
        assert waiting(archive) == 2
        archive.inner.connection.execute("UPDATE session SET project = '/home/one' WHERE uuid = ?", (ONE,))
        assert archive.search("gnuq", "result", project="/home/one").total == 1
        assert waiting(archive) == 1, "the other was not asked for"
        assert found(archive, "result:kudun") == {TWO}
        assert found(archive, "kudus") == {TWO}
        assert waiting(archive) == 0


def test_hits_within_a_session_are_complete(tmp_path: Path) -> None:
    two_talks(tmp_path)
    with an_archive(tmp_path) as archive:
        archive.sync(is_quick=True)
        assert archive.text.hits_in(ONE, "gnup") != set()
        assert waiting(archive) == 2
        assert archive.text.hits_in(ONE, "gnuq", "result") != set()
        assert waiting(archive) == 1


def test_a_regular_expression_reads_texts_and_needs_no_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reread.index.words, "FEW", 0)
    two_talks(tmp_path)
    with an_archive(tmp_path) as archive:
        archive.sync(is_quick=True)
        for pattern in ("gnu[qs]", r"\bgnu[qs]"):
            answer = archive.search(pattern, "result", is_regex=True)
            assert (answer.total, answer.waiting, waiting(archive)) == (2, 0, 2)
        archive.sync()  # the words that come now are in no list of words that was made before
        assert [archive.search(pattern, "result", is_regex=True).total for pattern in ("gnu[qs]", "zzz[qs]")] == [2, 0]


def test_an_answer_says_what_it_lacks_while_another_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    two_talks(tmp_path)
    with an_archive(tmp_path) as archive:
        archive.sync(is_quick=True)
        with lock(archive.home / "safe", timeout=1):
            answer = archive.search("gnuq", "result")
            assert (answer.hits, answer.waiting) == ([], 2)
            assert search_document(answer, answer.terms)["sessions_waiting"] == 2
            assert main(["search", "gnuq", "--in", "result", "--home", str(archive.home), "--no-sync"]) == 0
            told = capsys.readouterr()
            assert "tool results of 2 sessions are still being indexed" in told.err
            assert main(["search", "gnup", "--home", str(archive.home), "--no-sync"]) == 0
            told = capsys.readouterr()
            assert ("1 hit" in told.out, told.err) == (True, "")
            assert main(["archive", "status", "--home", str(archive.home), "--no-sync"]) == 0
            assert "tool results of 2 sessions are still being indexed" in capsys.readouterr().out
            assert main(["doctor", "--home", str(archive.home), "--source", str(tmp_path / "projects")]) == 0
            assert "tool results of 2 sessions are still being indexed" in " ".join(capsys.readouterr().out.split())
        assert archive.safe.verify().results_waiting == 2
        assert found(archive, "gnuq") == {ONE}


# -- words and moments of a session, read once for both


def moments(archive: Archive) -> dict[str, list[object]]:
    """All that is kept of what went wrong, and of which sessions it is not known yet."""
    asked = "SELECT session.uuid, {0}.* FROM {0} JOIN session ON session.id = {0}.session ORDER BY 1, {0}.rowid"
    tables = ("friction", "session_end", "instruction_change", "friction_waits")
    found = {table: archive.inner.connection.execute(asked.format(table)).fetchall() for table in tables}
    return {table: [(uuid, *rest) for uuid, _, *rest in given] for table, given in found.items()}


def with_everything(folder: Path) -> None:
    """Agents of both sorts, a result that only a capture has, one that shares its line, outputs in files, one of them
    without its session."""
    agent = a_subagent(
        a_prompt("look"), a_reply(a_tool_call("Bash", {"command": "ls"})), a_tool_result("tapirq"), id="of1"
    )
    a_talk("gnu", agent, an_interrupt()).write(folder / "projects")
    two = a_talk("kudu", id=TWO).write(folder / "projects")
    first, second, *rest = two.read_bytes().splitlines(keepends=True)
    two.write_bytes(b"".join((first, second.rstrip(b"\n"), *rest)))
    alone = with_progress(a_prompt("on", timestamp="2026-01-05T09:10:00.000Z")).bytes
    three = two.with_name(f"{THREE}.jsonl")
    three.write_bytes(alone.replace(ONE.encode(), THREE.encode()))
    orphan = two.with_name("0d1b2c3d-4444-4222-8333-444455556666") / "tool-results" / "toolu_8.txt"
    orphan.parent.mkdir(parents=True)
    orphan.write_text("orphanedq")
    call = a_tool_call("Bash", {"command": "ls"}, id="toolu_captured")
    told = a_session(a_prompt("run"), a_reply(call), a_tool_result("capturedq", of="toolu_captured"), id=ONE)
    frames = [frame.replace(b'"uuid": "', b'"uuid": "c') for frame in as_frames(told)]
    keep(folder / "home", a_capture(*frames, an_interrupted_thought()), session=ONE)


def damage(archive: Archive, every: int) -> None:
    """Some of the pieces."""
    pack = archive.home / "safe" / "000001.pack"
    content = bytearray(pack.read_bytes())
    for piece in [each for each in archive.inner.packs.scan() if isinstance(each, FoundPiece)][::every]:
        content[piece.place.end - 3] ^= 0x5A
    pack.write_bytes(content)


@pytest.mark.parametrize("every", [0, 3, 1])
def test_read_once_for_both_a_session_gives_the_words_and_moments_of_each_alone(
    every: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever lies in it, and wherever damage hides some of that; lines lie across pieces."""
    monkeypatch.setattr(reread.ingest.extract, "PIECE", 900)
    with_everything(tmp_path)
    with an_archive(tmp_path) as archive:
        archive.sync(is_quick=True)
        archive.inner.connection.execute("UPDATE file SET session = NULL WHERE path LIKE '%toolu_8.txt'")
        assert (waiting(archive), len(moments(archive)["friction_waits"])) == (4, 4)
        assert 0 in meta.waiting_for_results(archive.inner.connection)
        if every:
            damage(archive, every)
    shutil.copytree(tmp_path / "home", tmp_path / "apart")
    with an_archive(tmp_path) as both, an_archive(tmp_path, "apart") as apart:
        apart.text.index_waiting()
        apart.friction.find_waiting()
        both.inner.finish()
        assert moments(both) == moments(apart)
        assert_same_index(both, apart)
        assert (waiting(both), moments(both)["friction_waits"], len(moments(both)["session_end"])) == (0, [], 4)
        told = {term for term, *_ in words(both)}
        assert told >= {"gnuq", "gnus", "tapirq", "kuduq", "ibexq", "capturedq", "orphanedq"} or every


def test_what_waits_for_both_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    two_talks(tmp_path)
    read: list[PiecePlace] = []
    real = Safe._read

    def noted(safe: Safe, place: PiecePlace, *, hashed: bool, most: int | None = None) -> tuple[PieceHeader, bytes]:
        read.append(place)
        assert not hashed, "a CRC proves what is only looked at"
        return real(safe, place, hashed=hashed, most=most)

    with an_archive(tmp_path) as archive:
        archive.sync(is_quick=True)
        monkeypatch.setattr(Safe, "_read", noted)
        archive.inner.finish()
        assert waiting(archive) == 0
    assert len(read) == len(set(read)) == 4, "two transcripts, and an output of each in a file of its own"


def test_what_was_asked_for_is_all_that_is_done(tmp_path: Path) -> None:
    two_talks(tmp_path)
    phases: list[str] = []

    def told(progress: Progress) -> None:
        assert progress.bytes_done <= progress.bytes_total
        phases.append(progress.phase)

    with an_archive(tmp_path) as archive:
        archive.sync(is_quick=True)
        assert found(archive, "gnuq") == {ONE}
        assert (waiting(archive), len(moments(archive)["friction_waits"])) == (0, 2), "a search needs no moments"
        archive.inner.finish(told)
        assert (phases, moments(archive)["friction_waits"]) == (["friction"], [])
    with an_archive(tmp_path, "other") as archive:
        archive.sync(is_quick=True)
        archive.friction.retro()
        assert (waiting(archive), len(moments(archive)["friction_waits"])) == (2, 0), "nor moments any words"
        archive.inner.finish(told)
        assert (phases[1:], waiting(archive)) == (["tool results"], 0)
    with an_archive(tmp_path, "third") as archive:
        archive.sync(is_quick=True)
        archive.friction.in_session(ONE)
        archive.sync(told)
        assert phases[2:] == ["results and friction"]
        assert (waiting(archive), len(moments(archive)["session_end"])) == (0, 2)


# -- what goes while it waits


def a_later_prompt(text: str) -> Entry:
    return a_prompt(text, timestamp="2026-01-06T09:00:00.000Z")


def change_rewritten(folder: Path) -> None:
    a_talk("okapi").write(folder / "projects")


def change_grown(folder: Path) -> None:
    more = (a_later_prompt("on"), a_reply(a_tool_call("Bash", {"command": "ls"})), a_tool_result("oryxq here"))
    a_talk("gnu", *more).write(folder / "projects")


def change_agents_file(folder: Path) -> None:
    """The file of an agent turns up, whose lines stood in for it in the transcript."""
    agent = a_subagent(
        a_prompt("look"), a_reply(a_tool_call("Bash", {"command": "ls"})), a_tool_result("ibexq"), id="abc"
    )
    with_progress(a_later_prompt("on"), agent).write(folder / "projects")


def with_progress(*more: object) -> Transcript:
    said = {
        "type": "user",
        "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_x", "content": "ibexq"}]},
        "timestamp": "2026-01-05T09:00:05.000Z",
        "uuid": "u-x",
    }
    line = a_line("progress", data={"type": "agent_progress", "agentId": "abc", "message": said})
    return a_session(a_prompt("go"), line, *more, id=ONE)  # type: ignore[arg-type]


@pytest.mark.parametrize("is_quick", [False, True])
@pytest.mark.parametrize("change", [change_rewritten, change_grown, change_agents_file])
def test_what_changes_while_it_waits_is_indexed_as_it_is_now(
    change: Callable[[Path], None], is_quick: bool, tmp_path: Path
) -> None:
    first = with_progress() if change is change_agents_file else a_talk("gnu")
    first.write(tmp_path / "projects")
    a_talk("kudu", id=TWO).write(tmp_path / "projects")
    with an_archive(tmp_path) as quick, an_archive(tmp_path, "whole") as whole:
        whole.sync()
        quick.sync(is_quick=True)
        assert waiting(quick) == 2
        change(tmp_path)
        whole.sync()
        quick.sync(is_quick=is_quick)
        quick.sync()
        assert_same_index(quick, whole)
        assert quick.safe.verify(deep=True).damaged == []


def test_ids_that_were_given_up_while_they_waited_are_given_to_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The newest block goes, as `forget --damaged` makes it go, and the next one would be numbered like it."""
    a_talk("kudu", id=TWO).write(tmp_path / "projects")
    entries = (a_prompt("go"), a_reply(a_tool_call("Bash", {"command": "ls"})), a_tool_result("gnuq"))
    with an_archive(tmp_path) as archive:
        archive.sync()
        a_session(*entries, id=ONE).write(tmp_path / "projects")
        archive.sync(is_quick=True)
        archive.inner.connection.execute("DELETE FROM block WHERE id = (SELECT max(id) FROM block)")
        monkeypatch.setattr(reread.ingest.sync, "RESULTS_LATER", 8_000_000)
        a_session(*entries, a_task_notification("ibexq", task="t1", call="toolu_1"), id=ONE).write(
            tmp_path / "projects"
        )
        archive.sync(is_quick=True)
        [(last, newest)] = archive.inner.connection.execute(
            "SELECT last, (SELECT max(id) FROM block) FROM result_waits"
        )
        assert newest > last
        archive.sync()
        assert found(archive, "ibexq") == {ONE}


def test_what_is_forgotten_while_it_waits_leaves_no_word(tmp_path: Path) -> None:
    two_talks(tmp_path)
    with an_archive(tmp_path) as quick, an_archive(tmp_path, "whole") as whole:
        quick.sync(is_quick=True)
        whole.sync()
        for archive in (quick, whole):
            assert archive.safe.forget(ONE).hidden_texts == 0
        assert waiting(quick) == 1
        quick.sync()
        assert_same_index(quick, whole)
        assert quick.safe.verify(deep=True).damaged == []


def test_a_rebuilt_index_has_all_words(tmp_path: Path) -> None:
    two_talks(tmp_path)
    with an_archive(tmp_path) as quick, an_archive(tmp_path, "whole") as whole:
        quick.sync(is_quick=True)
        whole.sync()
        quick.safe.rebuild()
        assert waiting(quick) == 0
        assert_same_index(quick, whole)


def test_what_damage_hides_is_given_up_and_the_rest_indexed(tmp_path: Path) -> None:
    two_talks(tmp_path)
    with an_archive(tmp_path) as archive:
        archive.sync(is_quick=True)
        pieces = [
            each for each in archive.inner.packs.scan() if isinstance(each, FoundPiece) and ONE in each.header.path
        ]
        pack = archive.home / "safe" / "000001.pack"
        content = bytearray(pack.read_bytes())
        for piece in pieces:
            content[piece.place.end - 3] ^= 0x5A
        pack.write_bytes(content)
        assert found(archive, "kuduq") == {TWO}
        assert waiting(archive) == 0
        assert archive.safe.forget(ONE).hidden_texts > 0
        assert not {term for term, *_ in words(archive)} & {"gnuq", "gnus"}


# -- a kill costs nothing


def test_a_stop_between_two_transactions_costs_neither(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    two_talks(tmp_path)
    for name in ("SHARE", "COMMIT_AFTER"):
        monkeypatch.setattr(reread.ingest.second_phase, name, 1)

    def stop(progress: Progress) -> None:
        assert (progress.phase, progress.sessions_done) == ("results and friction", 1)
        raise KeyboardInterrupt

    with an_archive(tmp_path) as quick, an_archive(tmp_path, "whole") as whole:
        quick.sync(is_quick=True)
        with pytest.raises(KeyboardInterrupt):
            quick.sync(stop)
        whole.sync()
        assert words(quick) < words(whole)
        assert len(moments(quick)["friction_waits"]) == waiting(quick) == 1, "of a session both are written, or neither"
        quick.sync()
        assert_same_index(quick, whole)
        assert moments(quick) == moments(whole)


_KILLED = """
import os, signal, sys
import reread.ingest.second_phase as second_phase, reread.ingest.sync
from pathlib import Path
from reread.archive import Archive
reread.ingest.sync.RESULTS_LATER = 0
second_phase.SHARE = second_phase.COMMIT_AFTER = 1
step, real = int(sys.argv[2]), second_phase.write_words
def deadly(*given):
    global step
    if step == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    real(*given)
    step -= 1
    if step == 0 and sys.argv[3] == "within":
        os.kill(os.getpid(), signal.SIGKILL)
second_phase.write_words = deadly
with Archive(sys.argv[1] + "/home", [Path(sys.argv[1]) / "projects"], machine="desk") as archive:
    archive.sync(is_quick=True)
    archive.sync()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")
@pytest.mark.parametrize("where", ["between", "within"])
@pytest.mark.parametrize("step", [0, 1, 2])
def test_a_kill_in_the_second_phase_costs_nothing(step: int, where: str, tmp_path: Path) -> None:
    two_talks(tmp_path)
    a_talk("okapi", id=THREE).write(tmp_path / "projects")
    killed = subprocess.run(
        [sys.executable, "-c", _KILLED, str(tmp_path), str(step), where], check=False, timeout=60, env={**os.environ}
    )
    assert killed.returncode == -signal.SIGKILL
    with an_archive(tmp_path) as quick, an_archive(tmp_path, "whole") as whole:
        assert len(moments(quick)["friction_waits"]) == waiting(quick) == 3 - step + (where == "within" and step > 0)
        quick.sync()
        whole.sync()
        assert_same_index(quick, whole)
        assert moments(quick) == moments(whole)
        assert {hit.session.row.uuid for hit in quick.search("gnuq", ALL_FIELDS).hits} == {ONE}
        assert quick.safe.verify(deep=True).damaged == []
