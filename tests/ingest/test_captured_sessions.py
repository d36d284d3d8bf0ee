"""Captures in the archive: one session with their transcript, whichever comes first, and as safe as any source."""

from __future__ import annotations

import os
import sqlite3
import threading
from datetime import timedelta
from pathlib import Path

import pytest

from live import frames
from live.captures import START, a_capture, a_prompt_sent, a_result, an_init, an_interrupted_thought, as_frames, keep
from live.frames import FINAL, SESSION, USAGE
from reread.archive import Archive
from reread.archive.explain import ExplainedResponse
from reread.archive.search_language import ALL_FIELDS
from reread.ingest import sync
from reread.sessions import Session
from reread.testing import Transcript, a_prompt, a_reply, a_session, an_interrupt

SECOND_RUN = "20260105T100000-00000002"

TRANSCRIPT = a_session(
    a_prompt("show me an alpaca"),
    a_reply("an okapi instead", usage={**USAGE, "output_tokens": 40}),
    a_prompt("no, think"),
    an_interrupt(),
    id=SESSION,
)


def captured(transcript: Transcript = TRANSCRIPT) -> bytes:
    """The run of the transcript, with a thought that it does not have."""
    *before, interrupt = as_frames(transcript)
    return a_capture(an_init(), *before, an_interrupted_thought(), interrupt, a_result(0.25))


class Place:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.source = folder / "projects"
        self.source.mkdir()

    def archive(self) -> Archive:
        return Archive(self.home, [self.source], machine="desk")

    @property
    def waiting(self) -> list[Path]:
        return sorted((self.home / "wire").rglob("*.wire"))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def found(archive: Archive, word: str) -> int:
    answer = archive.search(word, ALL_FIELDS)
    assert answer.total == len(answer.hits)
    return answer.total


def steps(session: Session) -> list[list[str]]:
    return [[type(step).__name__ + ("*" if step.withdrawn else "") for step in turn.steps] for turn in session.turns]


def assert_joined(archive: Archive) -> None:
    """The transcript and its capture, as one session."""
    [listed] = archive.sessions()
    row = listed.stored.row
    assert (row.uuid, row.prompts, row.requests, row.output_tokens, row.thoughts) == (SESSION, 2, 2, 42, 1)
    assert len(listed.stored.files) == 2
    assert steps(archive.session(SESSION)) == [["Said"], ["Thought*", "Notice"]]
    assert [found(archive, word) for word in ("alpaca", "okapi", "pangolin")] == [1, 1, 1]
    totals = archive.usage().totals
    assert (totals.requests, totals.output_tokens) == (2, 42)  # with what was interrupted, as far as it came
    assert archive.safe.verify().ok


def test_a_capture_and_its_transcript_are_one_session(place: Place) -> None:
    TRANSCRIPT.write(place.source)
    keep(place.home, captured())
    with place.archive() as archive:
        archive.sync()
        assert_joined(archive)


def test_a_transcript_that_comes_later_takes_its_capture_over(place: Place) -> None:
    keep(place.home, captured())
    with place.archive() as archive:
        archive.sync()
        [listed] = archive.sessions()
        assert (listed.stored.row.uuid, listed.stored.present, listed.expires) == (SESSION, True, None)
        assert [found(archive, word) for word in ("alpaca", "okapi", "pangolin")] == [1, 1, 1]
        TRANSCRIPT.write(place.source)
        archive.sync()
        assert_joined(archive)


def test_a_capture_that_comes_later_joins_its_transcript(place: Place) -> None:
    TRANSCRIPT.write(place.source)
    with place.archive() as archive:
        archive.sync()
        keep(place.home, captured())
        assert not archive.is_current()
        archive.sync()
        assert_joined(archive)


def test_a_capture_joins_a_transcript_that_is_gone(place: Place) -> None:
    path = TRANSCRIPT.write(place.source)
    with place.archive() as archive:
        archive.sync()
        path.unlink()
        archive.sync()
        keep(place.home, captured())
        archive.sync()
        assert_joined(archive)
        assert not archive.sessions()[0].stored.present


def test_a_capture_joins_a_transcript_outside_of_the_sources_at_hand(place: Place, tmp_path: Path) -> None:
    TRANSCRIPT.write(place.source)
    with place.archive() as archive:
        archive.sync()
    keep(place.home, captured())
    (tmp_path / "other").mkdir()
    with Archive(place.home, [tmp_path / "other"], machine="desk") as archive:
        archive.sync()
        assert_joined(archive)


def test_a_source_around_the_archive_does_not_take_a_capture_twice(place: Place) -> None:
    TRANSCRIPT.write(place.source)
    keep(place.home, captured())
    with Archive(place.home, [place.folder], machine="desk") as archive:
        archive.sync()
        assert_joined(archive)
        archive.sync()
        assert_joined(archive)
        assert archive.is_current()


def test_a_capture_belongs_to_one_of_the_copies_of_a_session(place: Place) -> None:
    TRANSCRIPT.write(place.source / "one")
    other = a_session(*TRANSCRIPT.entries, a_prompt("and a quokka"), id=SESSION)
    own = other.write(place.source / "two")
    own.write_bytes(own.read_bytes().replace(b'"2.1.197"', b'"2.1.198"'))  # gone its own way
    keep(place.home, captured())
    with place.archive() as archive:
        archive.sync()
        files = sorted(len(each.stored.files) for each in archive.sessions())
        keep(place.home, captured(), run=SECOND_RUN)
        archive.sync()
        assert (files, sorted(len(each.stored.files) for each in archive.sessions())) == ([1, 2], [1, 3])
        assert found(archive, "pangolin") == 1


def test_a_capture_belongs_to_a_session_in_whatever_place(place: Place) -> None:
    TRANSCRIPT.write(place.source / "one")
    TRANSCRIPT.write(place.source / "two")
    keep(place.home, captured())
    with place.archive() as archive:
        archive.sync()
        files = [len(each.stored.files) for each in archive.sessions()]
        keep(place.home, captured(), run=SECOND_RUN)
        archive.sync()
        assert (files, [len(each.stored.files) for each in archive.sessions()]) == ([2], [3])
        assert found(archive, "pangolin") == 1


def test_a_transcript_that_grows_keeps_its_capture(place: Place) -> None:
    path = TRANSCRIPT.write(place.source)
    keep(place.home, captured())
    more = a_session(*TRANSCRIPT.entries, a_prompt("and a quokka"), a_reply("here", usage=USAGE), id=SESSION)
    with place.archive() as archive:
        archive.sync()
        path.write_bytes(more.bytes)
        archive.sync()
        assert steps(archive.session(SESSION)) == [["Said"], ["Thought*", "Notice"], ["Said"]]
        assert [found(archive, word) for word in ("pangolin", "quokka")] == [1, 1]
        path.write_bytes(TRANSCRIPT.bytes)
        archive.sync()  # what the file no longer has is still part of the session
        assert [found(archive, word) for word in ("pangolin", "quokka")] == [1, 1]


def test_a_capture_alone_counts_what_its_messages_ended_with(place: Place) -> None:
    reply = frames.message_start("msg_1") + frames.says(0, "An alpaca.")
    reply += frames.assistant("msg_1", frames.text("An alpaca."), uuid="a1") + frames.message_end()
    keep(place.home, a_capture(a_prompt_sent("what is it?"), an_init(), reply, a_result(0.5)))
    with place.archive() as archive:
        archive.sync()
        [listed] = archive.sessions()
        row = listed.stored.row
        assert (row.project, row.title, row.output_tokens) == ("/home/ann/app", "what is it?", FINAL["output_tokens"])
        assert archive.usage(by="project").rows[0].key == "/home/ann/app"
        assert archive.usage().totals.output_tokens == FINAL["output_tokens"]
        explained = archive.billing.explain("msg_1")
        assert isinstance(explained, ExplainedResponse)
        assert explained.tokens.output_tokens == FINAL["output_tokens"]


def test_final_counts_of_a_capture_win_over_opening_numbers_of_a_transcript(place: Place) -> None:
    opening = {**USAGE, "output_tokens": 1}
    transcript = a_session(a_prompt("a"), a_reply("b", id="msg_1", usage=opening, stop_reason=None), id=SESSION)
    transcript.write(place.source)
    with place.archive() as archive:
        archive.sync()
        assert archive.usage().totals.output_tokens == 1
        prompt, reply = as_frames(transcript)
        said = frames.message_start("msg_1") + frames.says(0, "b")
        content = a_capture(prompt, said, reply, frames.message_end(), start=START - timedelta(hours=1))
        keep(place.home, content)
        archive.sync()
        [listed] = archive.sessions()
        totals = archive.usage().totals
        assert (totals.requests, totals.output_tokens) == (1, FINAL["output_tokens"])
        assert [row.key for row in archive.usage(by="branch").rows] == ["main"]
        assert listed.stored.row.output_tokens == FINAL["output_tokens"]


def test_two_runs_are_one_session_and_the_clients_costs_add_up(place: Place) -> None:
    second = a_session(*TRANSCRIPT.entries, a_prompt("more"), a_reply("a quokka", usage=USAGE), id=SESSION)
    keep(place.home, captured())
    with place.archive() as archive:
        archive.sync()
        later = a_capture(an_init(), *as_frames(second)[4:], a_result(0.1), start=START + timedelta(hours=1))
        keep(place.home, later, run=SECOND_RUN)
        archive.sync()
        [listed] = archive.sessions()
        assert (listed.stored.row.prompts, listed.stored.row.requests) == (3, 3)
        assert [found(archive, word) for word in ("pangolin", "quokka")] == [1, 1]
        assert archive.billing.reconciliation()[SESSION].client == 350_000_000


def test_a_capture_is_removed_once_it_is_kept(place: Place) -> None:
    content = captured()
    keep(place.home, content)
    with place.archive() as archive:
        archive.sync()
        assert place.waiting == []
        assert list((place.home / "wire").iterdir()) == []
        assert archive.is_current()
        assert archive.safe.status().vanished == 0
        restored = archive.safe.restore(SESSION, place.folder / "restored")
        [path] = restored.files
        assert path.parent.name == SESSION
        assert path.read_bytes() == content
        archive.sync()
        assert found(archive, "pangolin") == 1


def test_what_was_restored_is_the_same_session_again(place: Place) -> None:
    TRANSCRIPT.write(place.source)
    keep(place.home, captured())
    with place.archive() as archive:
        archive.sync()
        archive.safe.restore(SESSION, place.folder / "restored")
    with Archive(place.folder / "second", [place.folder / "restored"], machine="desk") as archive:
        archive.sync()
        assert_joined(archive)
        assert archive.is_current()
        assert len(list((place.folder / "restored").rglob("*.wire"))) == 1


def test_a_sync_killed_before_it_removes_a_capture_loses_and_doubles_nothing(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(place.home, captured())
    with monkeypatch.context() as patched, place.archive() as archive:
        patched.setattr(sync, "remove_kept_captures", _killed)
        with pytest.raises(KeyboardInterrupt):
            archive.sync()
    assert len(place.waiting) == 1
    with place.archive() as archive:
        assert archive.sync().bytes == 0
        assert (place.waiting, found(archive, "pangolin")) == ([], 1)
        assert archive.is_current()


def _killed(*_: object) -> None:
    raise KeyboardInterrupt


def test_a_capture_stays_while_a_crash_could_still_lose_its_rows(place: Place) -> None:
    with place.archive() as archive:
        archive.sync()
        reader = sqlite3.connect(place.home / "reread.db", isolation_level=None)
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM file").fetchone()
        keep(place.home, captured())
        archive.sync()
        assert len(place.waiting) == 1
        reader.close()
        archive.sync()
        assert place.waiting == []
        assert found(archive, "pangolin") == 1


def test_a_run_left_behind_by_a_kill_is_taken_in(place: Place) -> None:
    content = captured()
    part = place.home / "wire" / "20260105T090001-00000001.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(content[: content.index(b"crosses") + 3])
    with place.archive() as archive:
        archive.sync()
        assert not part.exists()
        assert [found(archive, word) for word in ("okapi", "pangolin")] == [1, 1]
        [thought] = archive.session(SESSION).thinking()
        assert (thought.withdrawn, thought.text) == ("cut", "A pangolin ")


def test_an_index_made_from_the_safe_says_the_same(place: Place) -> None:
    path = TRANSCRIPT.write(place.source)
    keep(place.home, captured())
    alone = a_session(a_prompt("elsewhere"), a_reply("a quokka", usage=USAGE), id=SESSION.replace("1", "3"))
    keep(place.home, a_capture(*as_frames(alone)), session=alone.id)
    with place.archive() as archive:
        archive.sync()
        before = [each.stored._replace(id=0) for each in archive.sessions()]
        path.unlink()
        assert archive.safe.rebuild() == 2
        assert [each.stored._replace(id=0) for each in archive.sessions()] == before
        assert [found(archive, word) for word in ("alpaca", "pangolin", "quokka")] == [1, 1, 1]
        archive.sync()
        assert archive.is_current()
        assert archive.safe.status().vanished == 1


def test_a_session_is_forgotten_with_its_captures(place: Place) -> None:
    TRANSCRIPT.write(place.source)
    keep(place.home, captured())
    with place.archive() as archive:
        archive.sync()
        keep(place.home, captured(), run=SECOND_RUN)
        assert archive.safe.forget(SESSION).files == 2
        assert place.waiting == []
        archive.sync()
        assert archive.sessions() == []
        assert b"pangolin" not in b"".join(path.read_bytes() for path in place.home.rglob("*") if path.is_file())
        assert archive.safe.verify().ok


def test_a_capture_that_a_forget_left_behind_goes_at_the_next_sync(place: Place) -> None:
    content = captured()
    path = keep(place.home, content)
    with place.archive() as archive:
        archive.sync()
        archive.safe.forget(SESSION)
        path.parent.mkdir()
        path.write_bytes(content)
        archive.sync()
        assert (place.waiting, archive.sessions()) == ([], [])


def test_a_run_that_named_no_session_is_kept_by_its_own_name(place: Place) -> None:
    keep(place.home, a_capture(a_prompt_sent("a lost alpaca")), session="unknown")
    keep(place.home, a_capture(a_prompt_sent("another alpaca")), session="unknown", run=SECOND_RUN)
    with place.archive() as archive:
        archive.sync()
        assert {each.stored.row.uuid for each in archive.sessions()} == {"20260105T090001-00000001", SECOND_RUN}
        assert found(archive, "alpaca") == 2


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="everything can be read")
def test_a_capture_that_cannot_be_read_is_told(place: Place) -> None:
    path = keep(place.home, captured())
    path.chmod(0)
    with place.archive() as archive:
        assert [problem.path for problem in archive.sync().problems] == [path]
        path.chmod(0o600)
        archive.sync()
        assert found(archive, "pangolin") == 1


def test_a_capture_is_taken_in_while_the_archive_is_watched(place: Place) -> None:
    stop = threading.Event()
    with place.archive() as archive:
        results = archive.watch(stop)
        next(results)
        keep(place.home, captured())
        assert next(results).sessions == 1
        stop.set()
        assert found(archive, "pangolin") == 1


def test_a_damaged_capture_does_not_keep_the_transcript_out(place: Place) -> None:
    keep(place.home, captured())
    with place.archive() as archive:
        archive.sync()
    [pack] = (place.home / "safe").glob("*.pack")
    content = bytearray(pack.read_bytes())
    content[-20] ^= 255
    pack.write_bytes(bytes(content))
    TRANSCRIPT.write(place.source)
    with place.archive() as archive:
        archive.sync()
        assert not archive.safe.verify().ok
        session = archive.session(SESSION)
        assert [prompt.text for prompt in session.prompts] == ["show me an alpaca", "no, think"]
        assert len(session.problems) == 1
        assert found(archive, "okapi") == 1
