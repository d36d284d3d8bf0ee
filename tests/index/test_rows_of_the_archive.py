"""What was taken in is found again as it was, also after its source changed, shrank or went."""

from __future__ import annotations

import hashlib
import sqlite3
from pathlib import Path

import pytest

from reread.archive import Archive
from reread.archive.search_language import ALL_FIELDS
from reread.index import read as reading
from reread.index.custody import generations, restore
from reread.loading import load
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

ID = "0a1b2c3d-1111-4222-8333-444455556666"


def a_conversation(*, said: str = "alpaca") -> Transcript:
    return a_session(
        a_title("about wombats"),
        a_prompt(f"please find the {said}"),
        a_reply(a_thought("narwhal thoughts"), a_tool_call("Task", {"prompt": "badger"}, id="toolu_task")),
        a_subagent(a_prompt("badger"), a_reply("the pangolin is done"), id="abc", of="toolu_task"),
        a_tool_result("capybara found", of="toolu_task", twin={"agentId": "abc", "status": "completed"}),
        a_reply("all done"),
        id=ID,
        outputs={"toolu_9.txt": "okapi " * 20},
    )


def an_archive(folder: Path) -> Archive:
    return Archive(folder / "home", [folder / "source"], machine="desk")


def found(archive: Archive, word: str) -> list[str]:
    """The fields a word was found in."""
    return sorted(hit.field.value for hit in archive.search(word, ALL_FIELDS).hits)


def test_a_session_from_the_archive_is_the_session_from_disk(tmp_path: Path) -> None:
    path = a_conversation().write(tmp_path / "source")
    with an_archive(tmp_path) as archive:
        archive.sync()
        kept, read = archive.session(ID), load(path)
        assert [record.raw for record in kept.records] == [record.raw for record in read.records]
        assert kept.total_usage == read.total_usage
        assert [agent.id for agent in kept.subagents] == ["abc"]
        row = archive.find(ID).row
        assert (row.uuid, row.title, row.prompts, row.subagents) == (ID, "about wombats", 1, 1)


@pytest.mark.parametrize(
    ("word", "fields"),
    [
        ("alpaca", ["prompt"]),
        ("narwhal", ["thinking"]),
        ("badger", ["prompt", "tool"]),
        ("pangolin", ["text"]),
        ("capybara", ["result"]),
        ("okapi", ["result"]),
        ("wombats", ["title"]),
    ],
)
def test_every_text_is_found_in_its_field(tmp_path: Path, word: str, fields: list[str]) -> None:
    a_conversation().write(tmp_path / "source")
    with an_archive(tmp_path) as archive:
        archive.sync()
        assert found(archive, word) == fields


def test_rows_lead_to_their_machine_and_source(tmp_path: Path) -> None:
    path = a_conversation().write(tmp_path / "source")
    with an_archive(tmp_path) as archive:
        archive.sync()
        rows = list(archive.inner.connection.execute("SELECT machine, source, path, kind FROM file ORDER BY kind"))
    assert {row[:2] for row in rows} == {("desk", str(tmp_path / "source"))}
    assert [row[3] for row in rows] == ["meta", "subagent", "tool_result", "transcript"]
    assert str(path) in {row[2] for row in rows}


def test_a_second_sync_changes_nothing(tmp_path: Path) -> None:
    a_conversation().write(tmp_path / "source")
    with an_archive(tmp_path) as archive:
        archive.sync()
        before = rows_of(archive.inner.connection)
        archive.sync()
        after = rows_of(archive.inner.connection)
    assert before == after


def rows_of(connection: sqlite3.Connection) -> dict[str, list[tuple[object, ...]]]:
    tables = ("file", "piece", "session", "tool_call", "request", "block")
    return {name: list(connection.execute(f"SELECT * FROM {name}")) for name in tables}  # noqa: S608


def test_only_the_tail_of_a_grown_file_is_taken(tmp_path: Path) -> None:
    path = a_conversation().write(tmp_path / "source")
    whole = path.read_bytes()
    cut = whole.index(b"\n", len(whole) // 2) + 1
    path.write_bytes(whole[:cut])
    with an_archive(tmp_path) as archive:
        archive.sync()
        with path.open("ab") as file:
            file.write(whole[cut:])
        assert archive.sync().bytes == len(whole) - cut
        starts = [piece.start for piece in reading.pieces_of(archive.inner.connection, trunk(archive), 1)]
        assert starts == [0, cut]
        assert all(found(archive, word) for word in ("alpaca", "capybara"))
        assert len(found(archive, "alpaca")) == 1
        assert archive.session(ID).size == load(path).size


def trunk(archive: Archive) -> int:
    return int(archive.inner.connection.execute("SELECT id FROM file WHERE kind = 'transcript'").fetchone()[0])


@pytest.mark.parametrize("cut", range(1, 60, 7))
def test_a_line_caught_half_written_is_taken_once(tmp_path: Path, cut: int) -> None:
    path = a_conversation().write(tmp_path / "source")
    whole = path.read_bytes()
    path.write_bytes(whole[:-cut])
    with an_archive(tmp_path) as archive:
        archive.sync()
        path.write_bytes(whole)
        archive.sync()
        assert [len(found(archive, word)) for word in ("done", "alpaca", "capybara")] == [2, 1, 1]
        assert archive.safe.verify().ok
        lines = archive.inner.connection.execute("SELECT lines FROM file WHERE kind = 'transcript'").fetchone()[0]
        assert lines == len(whole.splitlines())


def test_a_tool_output_that_grows_is_found_once(tmp_path: Path) -> None:
    path = a_conversation().write(tmp_path / "source")
    output = path.with_suffix("") / "tool-results" / "toolu_9.txt"
    with an_archive(tmp_path) as archive:
        archive.sync()
        with output.open("a") as file:
            file.write("and a quokka")
        archive.sync()
        assert len(found(archive, "okapi")) == 1
        assert len(found(archive, "quokka")) == 1


def test_a_rewritten_file_replaces_its_rows_and_keeps_its_old_bytes(tmp_path: Path) -> None:
    path = a_conversation(said="alpaca").write(tmp_path / "source")
    old = path.read_bytes()
    with an_archive(tmp_path) as archive:
        archive.sync()
        a_conversation(said="vicuna").write(tmp_path / "source")
        assert path.read_bytes() != old
        archive.sync()
        assert found(archive, "alpaca") == []
        assert found(archive, "vicuna") == ["prompt"]
        assert words(archive) & {"alpaca", "vicuna"} == {"vicuna"}
        assert archive.usage().totals.requests == len(load(path).requests) + 1
        session = archive.find(ID)
        sizes = {
            (each.path.name, each.generation): each.bytes for each in generations(archive.inner.connection, session)
        }
        assert sizes[path.name, 1] == len(old)
        restored = restore(archive.inner.connection, archive.inner.reader, session, tmp_path / "then", generation=1)
        assert (tmp_path / "then" / path.name).read_bytes() == old
        assert len(restored.files) == 4
        archive.safe.restore(ID, tmp_path / "now")
        assert (tmp_path / "now" / path.name).read_bytes() == path.read_bytes()
        assert archive.safe.verify().ok


def test_a_file_taken_in_several_syncs_is_rewritten_without_a_trace(tmp_path: Path) -> None:
    """Its blocks lie apart, with those of another session between them."""
    other = "99990000-1111-4222-8333-444455556666"
    path = a_conversation(said="alpaca").write(tmp_path / "source")
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:2]))
    with an_archive(tmp_path) as archive:
        archive.sync()
        a_session(a_prompt("the iguana"), a_reply("yes"), id=other).write(tmp_path / "source")
        archive.sync()
        path.write_bytes(b"".join(lines))
        archive.sync()
        assert found(archive, "narwhal") == ["thinking"]
        a_session(a_prompt("the vicuna"), id=ID).write(tmp_path / "source")
        archive.sync()
        assert words(archive) & {"alpaca", "narwhal", "wombats", "iguana", "vicuna"} == {"iguana", "vicuna"}
        [(outside,)] = archive.sql(
            """SELECT count(*) FROM block JOIN file ON file.id = block.file
               WHERE block.id NOT BETWEEN first_block AND last_block"""
        )[1]
        assert outside == 0


def words(archive: Archive) -> set[str]:
    return {term for (term,) in archive.inner.connection.execute("SELECT term FROM vocabulary")}


@pytest.mark.parametrize("left", [0, 100])
def test_a_truncated_file_is_noticed_and_its_old_bytes_stay(tmp_path: Path, left: int) -> None:
    path = a_conversation().write(tmp_path / "source")
    old = path.read_bytes()
    with an_archive(tmp_path) as archive:
        archive.sync()
        path.write_bytes(old[:left])
        archive.sync()
        row = reading.file_by_id(archive.inner.connection, trunk(archive))
        assert (row.generation, row.taken) == (2, left)
        assert hashlib.sha256(archive.inner.reader.bytes_of(row, 1)).digest() == hashlib.sha256(old).digest()
        assert archive.safe.verify().ok


def test_a_vanished_source_is_marked_and_stays(tmp_path: Path) -> None:
    path = a_conversation().write(tmp_path / "source")
    with an_archive(tmp_path) as archive:
        archive.sync()
        path.unlink()
        assert archive.sync().vanished == 1
        stored = archive.find(ID)
        assert not stored.present
        assert found(archive, "alpaca") == ["prompt"]
        assert archive.sync().vanished == 0
        a_conversation().write(tmp_path / "source")
        archive.sync()
        assert archive.find(ID).present
        assert found(archive, "alpaca") == ["prompt"]


def test_text_that_is_no_unicode_does_not_stop_a_sync(tmp_path: Path) -> None:
    path = a_conversation().write(tmp_path / "source")
    lines = path.read_bytes().replace(b"about wombats", b"half \\ud83d pair").replace(b"all done", b"\\udfff ended")
    path.write_bytes(lines.replace(b'"Task"', b'"Task\\ud800"'))
    with an_archive(tmp_path) as archive:
        assert archive.sync().problems == []
        assert found(archive, "ended") == ["text"]
        assert archive.safe.verify().ok
