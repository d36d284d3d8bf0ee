"""What a survey finds to do: unchanged, grown, rewritten, new and vanished files."""

from __future__ import annotations

import builtins
import io
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from reread.archive import Archive
from reread.changes import EDGE
from reread.index import read
from reread.index.rows import FileRow
from reread.index.source_state import is_as_it_was
from reread.ingest.jobs import FileJob
from reread.ingest.survey import Survey, survey
from reread.ingest.walk import whole_walk
from reread.testing import Transcript, a_prompt, a_reply, a_session, a_subagent, a_tool_call

ID = "0a1b2c3d-1111-4222-8333-444455556666"
OTHER = "99990000-1111-4222-8333-444455556666"


def an_archive(folder: Path) -> Archive:
    return Archive(folder / "home", [folder / "projects"], machine="desk")


def a_conversation(*more: str, session: str = ID, opening: str = "find the alpaca") -> Transcript:
    return a_session(a_prompt(opening), a_reply("here"), *(a_prompt(text) for text in more), id=session)


def surveyed(archive: Archive) -> Survey:
    connection, machine = archive.inner.connection, archive.machine
    return survey(connection, machine, whole_walk(connection, machine, archive.sources))


def jobs(archive: Archive) -> list[FileJob]:
    return [job for each in surveyed(archive).jobs for job in each.changed]


def row_of(archive: Archive, path: Path) -> FileRow:
    return next(row for row in read.known_files(archive.inner.connection, "desk").values() if row.path == path)


def total(archive: Archive, word: str) -> int:
    return archive.search(word).total


class Opens:
    """Counts files opened below a folder, by whatever name Python opens them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, below: Path) -> None:
        self.paths: list[str] = []
        for module, name in ((builtins, "open"), (io, "open"), (os, "open")):
            self._count(monkeypatch, module, name, str(below))

    def _count(self, monkeypatch: pytest.MonkeyPatch, module: Any, name: str, below: str) -> None:
        really = getattr(module, name)

        def counted(file: Any, *given: Any, **named: Any) -> Any:
            if str(file).startswith(below):
                self.paths.append(str(file))
            return really(file, *given, **named)

        monkeypatch.setattr(module, name, counted)


def test_counting_opens_sees_a_file_being_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = a_conversation().write(tmp_path / "projects")
    opens = Opens(monkeypatch, tmp_path / "projects")
    with an_archive(tmp_path) as archive:
        archive.sync()
    assert str(path) in opens.paths


def test_an_unchanged_tree_is_no_job_and_opens_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a_conversation().write(tmp_path / "projects")
    a_conversation(session=OTHER).write(tmp_path / "projects")
    with an_archive(tmp_path) as archive:
        archive.sync()
        opens = Opens(monkeypatch, tmp_path / "projects")
        assert is_as_it_was(archive.inner.connection, "desk", archive.sources)
        survey = surveyed(archive)
        assert (survey.jobs, survey.unchanged, survey.vanished) == ([], 2, [])
        assert archive.sync().files == 0
    assert opens.paths == []


def test_a_grown_file_goes_on_where_it_was_taken_and_indexed(tmp_path: Path) -> None:
    path = a_conversation().write(tmp_path / "projects")
    with an_archive(tmp_path) as archive:
        archive.sync()
        before = path.stat().st_size
        a_conversation("and the wombat").write(tmp_path / "projects")
        [job] = jobs(archive)
        assert (job.taken, job.indexed, job.generation, job.is_rewritten) == (before, before, 1, False)
        result = archive.sync()
        assert (result.files, result.bytes) == (1, path.stat().st_size - before)
        assert (total(archive, "alpaca"), total(archive, "wombat")) == (1, 1)


def test_a_half_line_is_taken_but_read_again_from_its_beginning(tmp_path: Path) -> None:
    whole = a_conversation("and the wombat")
    path = whole.write(tmp_path / "projects")
    path.write_bytes(whole.bytes[:-9])
    with an_archive(tmp_path) as archive:
        archive.sync()
        path.write_bytes(whole.bytes)
        [job] = jobs(archive)
        last = len(whole.bytes) - len(whole.lines[-1]) - 1
        assert (job.taken, job.indexed) == (len(whole.bytes) - 9, last)


def test_another_beginning_makes_a_new_generation(tmp_path: Path) -> None:
    path = a_conversation().write(tmp_path / "projects")
    with an_archive(tmp_path) as archive:
        archive.sync()
        a_conversation("more", opening="find the iguana").write(tmp_path / "projects")
        [job] = jobs(archive)
        assert (job.generation, job.taken, job.indexed, job.is_rewritten) == (2, 0, 0, True)
        archive.sync()
        assert (total(archive, "alpaca"), total(archive, "iguana")) == (0, 1)
        assert row_of(archive, path).generation == 2


def test_a_longer_file_with_another_end_of_the_old_part_makes_a_new_generation(tmp_path: Path) -> None:
    long = "filler " * EDGE
    a_conversation(long, "the alpaca").write(tmp_path / "projects")
    with an_archive(tmp_path) as archive:
        archive.sync()
        a_conversation(long, "the iguana", "and more").write(tmp_path / "projects")
        [job] = jobs(archive)
        assert (job.generation, job.is_rewritten) == (2, True)


def test_a_shrunk_file_makes_a_new_generation(tmp_path: Path) -> None:
    a_conversation("and the wombat").write(tmp_path / "projects")
    with an_archive(tmp_path) as archive:
        archive.sync()
        a_conversation().write(tmp_path / "projects")
        [job] = jobs(archive)
        assert (job.generation, job.taken, job.is_rewritten) == (2, 0, True)
        archive.sync()
        assert (total(archive, "alpaca"), total(archive, "wombat")) == (1, 1)  # still part of the session


def test_a_file_replaced_by_another_of_the_same_size_and_time_makes_a_new_generation(tmp_path: Path) -> None:
    path = a_conversation(opening="find the alpaca").write(tmp_path / "projects")
    with an_archive(tmp_path) as archive:
        archive.sync()
        status = path.stat()
        beside = path.with_suffix(".new")
        beside.write_bytes(path.read_bytes().replace(b"alpaca", b"iguana"))
        os.utime(beside, ns=(status.st_atime_ns, status.st_mtime_ns))
        beside.replace(path)
        assert path.stat().st_size == status.st_size
        [job] = jobs(archive)
        assert (job.generation, job.is_rewritten) == (2, True)
        archive.sync()
        assert (total(archive, "alpaca"), total(archive, "iguana")) == (0, 1)


def put_back(path: Path) -> None:
    """The same bytes in another file, as after a move to another disk."""
    shutil.copy(path, path.with_suffix(".new"))
    path.with_suffix(".new").replace(path)


def test_a_replaced_inode_with_the_same_content_is_not_read_as_a_session_again(tmp_path: Path) -> None:
    path = a_conversation().write(tmp_path / "projects")
    with an_archive(tmp_path) as archive:
        archive.sync()
        put_back(path)
        result = archive.sync()
        assert (result.bytes, result.sessions, result.files, result.unchanged) == (0, 0, 0, 1)
        row, status = row_of(archive, path), path.stat()
        assert (row.generation, row.mtime_ns, row.inode) == (1, status.st_mtime_ns, status.st_ino)
        assert total(archive, "alpaca") == 1


def test_what_was_put_back_is_proved_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = a_conversation().write(tmp_path / "projects")
    with an_archive(tmp_path) as archive:
        archive.sync()
        put_back(path)
        archive.sync()
        a_conversation(session=OTHER, opening="a lemur").write(tmp_path / "projects")  # so that all is walked
        monkeypatch.setattr(Survey, "still_holds", lambda *_: pytest.fail("read once more"))
        assert archive.sync().sessions == 1


def test_a_put_back_file_is_read_with_what_its_session_gained(tmp_path: Path) -> None:
    path = a_conversation().write(tmp_path / "projects")
    with an_archive(tmp_path) as archive:
        archive.sync()
        put_back(path)
        a_session(a_prompt("find the alpaca"), a_reply("here"), a_subagent(a_prompt("a lemur")), id=ID).write(
            tmp_path / "projects"
        )
        assert archive.sync().sessions == 1
        assert (total(archive, "alpaca"), total(archive, "lemur")) == (1, 1)
        assert len(archive.session(ID).subagents) == 1


def test_a_device_may_have_another_number_after_a_restart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a_conversation().write(tmp_path / "projects")
    with an_archive(tmp_path) as archive:
        archive.sync()
        archive.inner.connection.execute("UPDATE file SET device = device + 1")
        a_conversation(session=OTHER, opening="a lemur").write(tmp_path / "projects")
        monkeypatch.setattr(Survey, "still_holds", lambda *_: pytest.fail("read once more"))
        result = archive.sync()
        assert (result.sessions, result.unchanged) == (1, 1)


def test_after_a_rebuild_nothing_that_is_as_it_was_is_read_as_a_session_again(tmp_path: Path) -> None:
    a_conversation().write(tmp_path / "projects")
    a_conversation(session=OTHER, opening="a lemur").write(tmp_path / "projects")
    with an_archive(tmp_path) as archive:
        archive.sync()
        archive.safe.rebuild()
        a_conversation("and a wombat", session=OTHER, opening="a lemur").write(tmp_path / "projects")
        result = archive.sync()
        assert (result.sessions, result.files, result.unchanged) == (1, 1, 1)
        assert (total(archive, "alpaca"), total(archive, "lemur"), total(archive, "wombat")) == (1, 1, 1)
        assert not archive.safe.verify().damaged


def test_a_touched_file_brings_no_bytes_and_no_duplicates(tmp_path: Path) -> None:
    path = a_conversation("and the wombat").write(tmp_path / "projects")
    with an_archive(tmp_path) as archive:
        archive.sync()
        cells = archive.usage()
        os.utime(path, (1_700_000_000, 1_700_000_000))
        result = archive.sync()
        assert (result.sessions, result.bytes, row_of(archive, path).generation) == (0, 0, 1)
        assert (total(archive, "alpaca"), total(archive, "wombat")) == (1, 1)
        assert archive.usage() == cells
        assert len(read.pieces_of(archive.inner.connection, row_of(archive, path).id, 1)) == 1
        assert archive.sync().files == 0


def test_a_change_of_the_middle_that_keeps_the_size_is_noticed(tmp_path: Path) -> None:
    edge = "edge " * EDGE
    whole = a_session(a_prompt(edge), a_prompt("middle alpaca"), a_prompt(edge), id=ID)
    path = whole.write(tmp_path / "projects")
    with an_archive(tmp_path) as archive:
        archive.sync()
        path.write_bytes(whole.bytes.replace(b"alpaca", b"iguana"))
        archive.sync()
        assert (total(archive, "alpaca"), total(archive, "iguana")) == (0, 1)


def test_a_new_file_in_an_old_folder_is_noticed_although_no_known_file_changed(tmp_path: Path) -> None:
    a_conversation().write(tmp_path / "projects")
    with an_archive(tmp_path) as archive:
        archive.sync()
        path = a_conversation(session=OTHER, opening="a lemur").write(tmp_path / "projects")
        assert not is_as_it_was(archive.inner.connection, "desk", archive.sources)
        [job] = jobs(archive)
        assert (job.file.path, job.taken, job.generation) == (path, 0, 1)
        assert archive.sync().sessions == 1
        assert total(archive, "lemur") == 1


def test_a_new_agent_below_an_old_session_is_noticed(tmp_path: Path) -> None:
    a_conversation().write(tmp_path / "projects")
    with_agent = a_session(a_prompt("find the alpaca"), a_reply("here"), a_subagent(a_prompt("a lemur")), id=ID)
    with an_archive(tmp_path) as archive:
        archive.sync()
        with_agent.write(tmp_path / "projects")
        archive.sync()
        assert total(archive, "lemur") == 1
        assert [agent.id for agent in archive.session(ID).subagents] == ["a1"]


def test_a_vanished_file_is_marked_and_comes_back(tmp_path: Path) -> None:
    path = a_conversation().write(tmp_path / "projects")
    a_conversation(session=OTHER).write(tmp_path / "projects")
    with an_archive(tmp_path) as archive:
        archive.sync()
        path.unlink()
        assert surveyed(archive).vanished == [row_of(archive, path).key]
        assert archive.sync().vanished == 1
        assert not row_of(archive, path).present
        assert sorted(each.stored.present for each in archive.sessions()) == [False, True]
        assert surveyed(archive).vanished == []
        a_conversation("and the wombat").write(tmp_path / "projects")
        archive.sync()
        assert row_of(archive, path).present
        assert (row_of(archive, path).generation, total(archive, "wombat")) == (1, 1)
        assert archive.sql("SELECT count(*) FROM file WHERE vanished IS NOT NULL")[1] == [(0,)]


def test_a_vanished_folder_marks_all_its_files_and_they_come_back(tmp_path: Path) -> None:
    path = a_conversation().write(tmp_path / "projects")
    a_conversation(session=OTHER).write(tmp_path / "projects")
    with an_archive(tmp_path) as archive:
        archive.sync()
        shutil.move(path.parent, tmp_path / "elsewhere")
        assert archive.sync().vanished == 2
        assert [each.stored.present for each in archive.sessions()] == [False, False]
        assert archive.sync().vanished == 0
        shutil.move(tmp_path / "elsewhere", path.parent)
        result = archive.sync()
        assert (result.bytes, result.problems) == (0, [])
        assert [each.stored.present for each in archive.sessions()] == [True, True]


def test_a_file_of_another_machine_is_never_marked_vanished(tmp_path: Path) -> None:
    path = a_conversation().write(tmp_path / "projects")
    with an_archive(tmp_path) as archive:
        archive.sync()
    path.unlink()
    with Archive(tmp_path / "home", [tmp_path / "projects"], machine="laptop") as archive:
        assert archive.sync().vanished == 0
        assert archive.find(ID).present


def test_files_that_belong_to_no_session_are_taken_too(tmp_path: Path) -> None:
    a_conversation().write(tmp_path / "claude" / "projects")
    (tmp_path / "claude" / "history.jsonl").write_text('{"display":"typed"}\n')
    (tmp_path / "claude" / "settings.json").write_text("{}")
    with Archive(tmp_path / "home", [tmp_path / "claude"], machine="desk") as archive:
        assert archive.sync().files == 3
        kept = archive.inner.kept_bytes()
        assert kept[str(tmp_path / "claude" / "history.jsonl")] == len('{"display":"typed"}\n')
        assert kept[str(tmp_path / "claude" / "settings.json")] == 2


def test_two_sources_one_inside_the_other_give_every_file_once(tmp_path: Path) -> None:
    a_conversation().write(tmp_path / "projects")
    with Archive(tmp_path / "home", [tmp_path, tmp_path / "projects"], machine="desk") as archive:
        result = archive.sync()
        assert (result.sessions, result.files, total(archive, "alpaca")) == (1, 1, 1)


def test_an_agent_file_whose_session_is_gone_is_kept_and_counted(tmp_path: Path) -> None:
    old = a_session(a_prompt("go"), a_subagent(a_prompt("b"), a_reply("the gibbon"), where="beside"), id=ID)
    old.write(tmp_path / "projects").unlink()
    with an_archive(tmp_path) as archive:
        archive.sync()
        assert len(archive.inner.kept_bytes()) == 1
        assert [row.tokens.requests for row in archive.usage().rows] == [1]


def test_a_source_that_is_not_there_does_not_keep_the_others_out(tmp_path: Path) -> None:
    a_conversation().write(tmp_path / "projects")
    with Archive(tmp_path / "home", [tmp_path / "gone", tmp_path / "projects"], machine="desk") as archive:
        result = archive.sync()
        assert [str(tmp_path / "gone") in str(problem) for problem in result.problems] == [True]
        assert result.sessions == 1


def with_an_agent(*more: str) -> Transcript:
    agent = a_subagent(a_prompt("b"), a_reply("pangolin"), id="abc")
    return a_session(a_prompt("find the alpaca"), agent, *(a_prompt(text) for text in more), id=ID)


def test_a_session_that_goes_on_after_an_agent_file_went_still_counts_the_agent(tmp_path: Path) -> None:
    with_an_agent().write(tmp_path / "projects")
    with an_archive(tmp_path) as archive:
        archive.sync()
        before = archive.find(ID).row
        with_an_agent("one more").write(tmp_path / "projects")
        next((tmp_path / "projects").rglob("agent-abc.jsonl")).unlink()
        archive.sync()
        after = archive.find(ID).row
        assert (after.requests, after.output_tokens) == (before.requests, before.output_tokens)
        assert after.prompts == 2


def test_an_agent_that_goes_on_after_its_trunk_went_leaves_the_title_alone(tmp_path: Path) -> None:
    path = with_an_agent().write(tmp_path / "projects")
    with an_archive(tmp_path) as archive:
        archive.sync()
        before = archive.find(ID).row
        path.unlink()
        agent = next((tmp_path / "projects").rglob("agent-abc.jsonl"))
        agent.write_bytes(agent.read_bytes() + b'{"type":"mode"}\n')
        archive.sync()
        after = archive.find(ID).row
        assert (after.title, after.prompts) == (before.title, before.prompts)


def test_agents_beside_two_copies_of_a_session_are_kept_with_their_own(tmp_path: Path) -> None:
    """Clients of 2.0 put agent files beside the trunk; a copy of the folder has them once more."""
    old = a_session(a_prompt("go"), a_subagent(a_prompt("b"), a_reply("gibbon"), where="beside"), id=ID)
    path = old.write(tmp_path / "projects")
    shutil.copytree(path.parent, tmp_path / "projects" / "copy")
    with an_archive(tmp_path) as archive:
        archive.sync()
        assert [len(each.stored.files) for each in archive.sessions()] == [2]
        copy = tmp_path / "projects" / "copy" / path.name
        copy.write_bytes(copy.read_bytes().replace(b'"2.1.197"', b'"2.1.198"'))
        archive.sync()
        assert len(archive.inner.kept_bytes()) == 4
        assert [len(each.stored.files) for each in archive.sessions()] == [2, 2]
        assert [row.tokens.requests for row in archive.usage().rows] == [1]


@pytest.mark.parametrize("late", ["the call", "what is noted beside it"])
def test_an_agent_that_was_read_before_what_names_it_is_counted_by_its_name(late: str, tmp_path: Path) -> None:
    agent = a_subagent(a_prompt("look"), a_reply("an okapi"), id="abc", meta={"agentType": "Explore"})
    asked = a_tool_call("Task", {"prompt": "look", "subagent_type": "Explore"})
    path = a_session(a_prompt("go"), asked, agent, a_reply("seen"), id=ID).write(tmp_path / "projects")
    [noted] = path.parent.rglob("*.meta.json")
    whole, note = path.read_bytes(), noted.read_bytes()
    noted.unlink()
    path.write_bytes(b"".join(whole.splitlines(keepends=True)[:1]))
    with an_archive(tmp_path) as archive:
        archive.sync()
        assert {row.key for row in archive.usage("agent").rows} == {"task"}
        if late == "the call":
            path.write_bytes(whole)
        else:
            noted.write_bytes(note)
        assert archive.sync().files == 2
        named = {row.key: row.tokens.requests for row in archive.usage("agent").rows}
        assert named["Explore"] == 1
        assert "task" not in named
        path.write_bytes(whole + whole.splitlines(keepends=True)[0].replace(b'"go"', b'"more"'))
        assert archive.sync().files == 1
        archive.safe.rebuild()
        assert named.items() <= {row.key: row.tokens.requests for row in archive.usage("agent").rows}.items()
        assert archive.search("okapi").total == 1


def test_an_agent_that_turns_up_after_its_trunk_went_does_not_bring_it_back(tmp_path: Path) -> None:
    path = with_an_agent().write(tmp_path / "projects")
    [agent] = path.parent.rglob("agent-abc.jsonl")
    content = agent.read_bytes()
    agent.unlink()
    with an_archive(tmp_path) as archive:
        archive.sync()
        path.unlink()
        archive.sync()
        agent.write_bytes(content)
        archive.sync()
        assert (row_of(archive, path).present, row_of(archive, agent).present) == (0, 1)
        assert [each.stored.row.subagents for each in archive.sessions()] == [1]


def test_a_renamed_transcript_that_tells_another_id_takes_its_agents_along(tmp_path: Path) -> None:
    named = with_an_agent().write(tmp_path / "projects")
    path = named.rename(named.with_name("full.jsonl"))
    named.with_suffix("").rename(path.with_suffix(""))
    content = path.read_bytes()
    untold = b'{"type":"summary","summary":"of something before","leafUuid":"x"}\n'
    path.write_bytes(untold)
    with an_archive(tmp_path) as archive:
        archive.sync()
        assert [each.id for each in archive.sessions()] == ["full"]
        path.write_bytes(untold + content)
        archive.sync()
        assert [(each.id, len(each.stored.files)) for each in archive.sessions()] == [(ID, 2)]
        assert [agent.id for agent in archive.session(ID).subagents] == ["abc"]
        assert archive.safe.verify(deep=True).damaged == []
