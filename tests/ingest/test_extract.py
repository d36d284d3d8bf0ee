"""What of a session's files reaches the index: every text with a place that leads back to it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from reread.archive import Archive
from reread.archive.search_language import ALL_FIELDS
from reread.errors import SourceError
from reread.features.search_text import texts_of
from reread.index.meta import FIELDS
from reread.index.rows import FileBatch, SessionBatch
from reread.ingest.extract import PIECE, take
from reread.ingest.jobs import SessionJob
from reread.ingest.survey import survey
from reread.ingest.walk import whole_walk
from reread.records import decode
from reread.testing import (
    Entry,
    Transcript,
    a_command,
    a_line,
    a_prompt,
    a_queued_prompt,
    a_reply,
    a_session,
    a_subagent,
    a_thought,
    a_title,
    a_tool_call,
    a_tool_result,
    a_usage,
    an_image,
)

ID = "0a1b2c3d-1111-4222-8333-444455556666"
BASE64 = "iVBORw0KGgoAAAANSUhEUgAA" * 40


def an_archive(folder: Path) -> Archive:
    return Archive(folder / "home", [folder / "projects"], machine="desk")


def a_job(folder: Path) -> SessionJob:
    with an_archive(folder) as archive:
        [job] = survey(
            archive.inner.connection,
            archive.machine,
            whole_walk(archive.inner.connection, archive.machine, archive.sources),
        ).jobs
    return job


def taken(folder: Path) -> SessionBatch:
    return take(a_job(folder))


def batch_of(batch: SessionBatch, kind: str) -> FileBatch:
    [found] = [file for file in batch.files if file.kind == kind]
    return found


def texts(batch: FileBatch, content: bytes) -> list[tuple[str, str]]:
    """Field and text of every block, read back through its place alone."""
    found = []
    for block in batch.blocks:
        line = content[block.offset : block.offset + block.length]
        field, text = texts_of(decode(line))[block.part]
        assert field == FIELDS[block.field]
        found.append((field.value, text))
    return found


def a_rich_session(*more: Entry) -> Transcript:
    return a_session(
        a_title("about wombats"),
        a_prompt("find the alpaca"),
        a_command("/review", "the code"),
        a_reply(a_thought("narwhal thoughts"), "I will look", a_tool_call("Bash", {"command": "ls -l", "env": ["X"]})),
        a_tool_result("capybara.txt"),
        a_queued_prompt("and hurry"),
        *more,
        id=ID,
    )


def test_every_block_leads_back_to_its_text(tmp_path: Path) -> None:
    transcript = a_rich_session()
    transcript.write(tmp_path / "projects")
    assert texts(batch_of(taken(tmp_path), "transcript"), transcript.bytes) == [
        ("title", "about wombats"),
        ("prompt", "find the alpaca"),
        ("prompt", "/review the code"),
        ("thinking", "narwhal thoughts"),
        ("text", "I will look"),
        ("tool", "ls -l\nX"),
        ("result", "capybara.txt"),
        ("prompt", "and hurry"),
    ]


def test_several_texts_of_one_line_are_told_apart_by_their_part(tmp_path: Path) -> None:
    content = [
        {"type": "thinking", "thinking": "one", "signature": "s"},
        {"type": "text", "text": "two"},
        {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "three"}},
    ]
    message = {"id": "msg_1", "role": "assistant", "model": "claude-opus-4-8", "content": content, "usage": a_usage()}
    transcript = a_session(a_prompt("go"), a_line("assistant", message=message), id=ID)
    transcript.write(tmp_path / "projects")
    batch = batch_of(taken(tmp_path), "transcript")
    assert [block.part for block in batch.blocks] == [0, 0, 1, 2]
    assert [text for _, text in texts(batch, transcript.bytes)] == ["go", "one", "two", "three"]


def test_the_time_of_a_block_is_its_lines(tmp_path: Path) -> None:
    transcript = a_session(a_prompt("find the alpaca", timestamp="2026-02-03T04:05:06.789Z"), id=ID)
    transcript.write(tmp_path / "projects")
    [block] = batch_of(taken(tmp_path), "transcript").blocks
    assert block.time == 1_770_091_506_789


def test_images_are_kept_but_not_indexed(tmp_path: Path) -> None:
    transcript = a_session(
        a_prompt("what is this", an_image(BASE64)),
        a_reply(a_tool_call("Read", {"file_path": "/a.png"})),
        a_tool_result([an_image(BASE64)]),
        id=ID,
    )
    path = transcript.write(tmp_path / "projects")
    batch = batch_of(taken(tmp_path), "transcript")
    assert [text for _, text in texts(batch, transcript.bytes)] == ["what is this", "/a.png"]
    assert not any(b"iVBORw0KGgo" in block.text for block in batch.blocks)
    with an_archive(tmp_path) as archive:
        archive.sync()
        assert archive.search("iVBORw0KGgo*", ALL_FIELDS).total == 0
        path.unlink()
        archive.safe.restore(ID, tmp_path / "back")
    assert (tmp_path / "back" / path.name).read_bytes() == transcript.bytes


def queued(text: str, operation: str = "enqueue") -> Entry:
    return a_line("queue-operation", operation=operation, content=text, timestamp="2026-01-05T09:00:09.000Z")


def test_text_that_only_the_queue_knows_is_indexed_once(tmp_path: Path) -> None:
    a_session(a_prompt("go"), queued("also the zebra"), queued("also the zebra", "dequeue"), id=ID).write(
        tmp_path / "projects"
    )
    with an_archive(tmp_path) as archive:
        archive.sync()
        assert [hit.field for hit in archive.search("zebra").hits] == ["prompt"]
        assert archive.search("zebra").total == 1


def test_queued_text_that_became_a_prompt_is_indexed_once(tmp_path: Path) -> None:
    a_session(a_prompt("go"), queued("also the zebra"), a_prompt("also the zebra"), id=ID).write(tmp_path / "projects")
    with an_archive(tmp_path) as archive:
        archive.sync()
        assert archive.search("zebra").total == 1


@pytest.mark.parametrize(
    ("text", "said"), [("also the zebra", a_prompt("also the zebra")), ("/zebra now", a_command("zebra", "now"))]
)
def test_queued_text_that_was_said_between_two_syncs_is_indexed_once(text: str, said: Entry, tmp_path: Path) -> None:
    a_session(a_prompt("go"), queued(text), id=ID).write(tmp_path / "projects")
    with an_archive(tmp_path) as archive:
        archive.sync()
        a_session(a_prompt("go"), queued(text), said, id=ID).write(tmp_path / "projects")
        archive.sync()
        assert archive.search("zebra").total == 1


def test_an_unfinished_last_line_is_in_the_safe_but_not_in_the_index(tmp_path: Path) -> None:
    transcript = a_rich_session(a_prompt("the iguana at last"))
    path = transcript.write(tmp_path / "projects")
    path.write_bytes(transcript.bytes[:-9])
    batch = batch_of(taken(tmp_path), "transcript")
    start = len(transcript.bytes) - len(transcript.lines[-1]) - 1
    assert (batch.taken, batch.indexed) == (len(transcript.bytes) - 9, start)
    assert (batch.rows.malformed, batch.rows.lines) == (1, len(transcript.lines))
    with an_archive(tmp_path) as archive:
        archive.sync()
        assert archive.search("iguana").total == 0
        assert archive.inner.kept_bytes()[str(path)] == len(transcript.bytes) - 9
        assert archive.usage().accounting.malformed_lines == 1
        path.write_bytes(transcript.bytes)
        archive.sync()
        assert archive.search("iguana").total == 1
        assert archive.usage().accounting.malformed_lines == 0


def test_a_whole_line_without_its_newline_is_indexed_once(tmp_path: Path) -> None:
    transcript = a_rich_session(a_prompt("the iguana at last"))
    path = transcript.write(tmp_path / "projects")
    path.write_bytes(transcript.bytes[:-1])
    with an_archive(tmp_path) as archive:
        archive.sync()
        path.write_bytes(transcript.bytes)
        archive.sync()
        path.write_bytes(a_rich_session(a_prompt("the iguana at last"), a_prompt("a lemur")).bytes)
        archive.sync()
        assert [archive.search(word).total for word in ("iguana", "lemur")] == [1, 1]


def test_a_malformed_line_is_counted_and_hides_none_of_its_neighbours(tmp_path: Path) -> None:
    transcript = a_rich_session()
    lines = transcript.lines
    path = transcript.write(tmp_path / "projects")
    path.write_bytes(b"\n".join([*lines[:3], b'{"type":"user",,,', *lines[3:]]) + b"\n")
    batch = batch_of(taken(tmp_path), "transcript")
    assert (batch.rows.malformed, batch.rows.lines) == (1, len(lines) + 1)
    assert len(texts(batch, path.read_bytes())) == 8


def test_spilled_tool_outputs_are_indexed_as_results(tmp_path: Path) -> None:
    a_session(a_prompt("go"), id=ID, outputs={"toolu_9.txt": "okapi here"}).write(tmp_path / "projects")
    [block] = batch_of(taken(tmp_path), "tool_result").blocks
    assert (FIELDS[block.field], block.offset, block.length, block.text) == ("result", 0, 10, b"okapi here")


def test_two_objects_on_a_line_are_two_blocks(tmp_path: Path) -> None:
    transcript = a_session(a_prompt("the alpaca"), a_prompt("the iguana"), a_prompt("the lemur"), id=ID)
    first, second, third = transcript.lines
    path = transcript.write(tmp_path / "projects")
    path.write_bytes(first + second + b"\n" + third + b"\n")
    batch = batch_of(taken(tmp_path), "transcript")
    assert texts(batch, path.read_bytes()) == [("prompt", f"the {word}") for word in ("alpaca", "iguana", "lemur")]
    assert batch.rows.lines == 2


def test_a_second_object_on_a_line_caught_half_written_is_indexed_when_it_is_whole(tmp_path: Path) -> None:
    transcript = a_session(a_prompt("the alpaca"), a_prompt("the iguana"), id=ID)
    first, second = transcript.lines
    path = transcript.write(tmp_path / "projects")
    path.write_bytes(first + second[:-9])
    with an_archive(tmp_path) as archive:
        archive.sync()
        path.write_bytes(first + second + b"\n")
        archive.sync()
        assert [archive.search(word).total for word in ("alpaca", "iguana")] == [1, 1]


def test_a_response_is_one_request_however_many_lines_show_it(tmp_path: Path) -> None:
    reply = a_reply(a_thought("hm"), "yes", id="msg_1", usage=[a_usage(50, 2), a_usage(50, 400, cache_read=7)])
    a_session(a_prompt("go"), reply, id=ID).write(tmp_path / "projects")
    [request] = batch_of(taken(tmp_path), "transcript").rows.responses
    assert (request.key, request.rows, request.is_sidechain) == ("msg_1", 2, False)
    assert (request.input, request.output, request.cache_read) == (50, 400, 7)


def test_an_advisor_is_a_request_of_its_own_beside_the_one_that_asked_it(tmp_path: Path) -> None:
    advice = {"type": "advisor_message", "model": "claude-opus-5", "input_tokens": 4000, "output_tokens": 300}
    plain = {"type": "message", "input_tokens": 100, "output_tokens": 50}
    usage = a_usage(100, 50, iterations=[plain, advice])
    a_session(a_prompt("go"), a_reply("yes", id="msg_1", model="claude-sonnet-5", usage=usage), id=ID).write(
        tmp_path / "projects"
    )
    batch = batch_of(taken(tmp_path), "transcript")
    models = [batch.rows.contexts[row.context].model for row in batch.rows.responses]
    assert [
        (row.key, model, row.output, row.nanodollars) for row, model in zip(batch.rows.responses, models, strict=True)
    ] == [("msg_1", "claude-sonnet-5", 50, 700_000), ("msg_1#advisor:1", "claude-opus-5", 300, 27_500_000)]


def test_requests_of_an_agent_are_its_files_and_marked(tmp_path: Path) -> None:
    agent = a_subagent(a_prompt("b"), a_reply("done", id="msg_side"), id="abc")
    a_session(a_prompt("go"), a_reply("yes", id="msg_main"), agent, id=ID).write(tmp_path / "projects")
    batch = taken(tmp_path)
    found = {kind: batch_of(batch, kind).rows.responses for kind in ("transcript", "subagent")}
    assert [(row.key, row.is_sidechain) for row in found["transcript"]] == [("msg_main", False)]
    assert [(row.key, row.is_sidechain) for row in found["subagent"]] == [("msg_side", True)]
    assert batch_of(batch, "subagent").agent == "abc"


def test_calls_carry_how_they_ended_and_the_file_they_name(tmp_path: Path) -> None:
    a_session(
        a_prompt("go"),
        a_reply(a_tool_call("Read", {"file_path": "/x/y.py"}, id="toolu_1")),
        a_tool_result("no such file", is_error=True),
        a_reply(a_tool_call("Bash", {"command": "ls"}, id="toolu_2")),
        id=ID,
    ).write(tmp_path / "projects")
    calls = batch_of(taken(tmp_path), "transcript").rows.calls
    assert [(call.id, call.name, call.status, call.seconds, call.path) for call in calls] == [
        ("toolu_1", "Read", "error", 1.0, "/x/y.py"),
        ("toolu_2", "Bash", "missing", None, None),
    ]


def test_the_session_row_adds_up_the_session(tmp_path: Path) -> None:
    a_rich_session().write(tmp_path / "projects")
    row = taken(tmp_path).session
    assert row is not None
    assert (row.uuid, row.project, row.title) == (ID, "/home/ann/app", "about wombats")
    assert (row.prompts, row.requests, row.tool_calls, row.tool_errors, row.thoughts) == (3, 1, 1, 0, 1)
    assert (row.models, row.git_branches, row.versions) == (["claude-opus-4-8"], ["main"], ["2.1.197"])


def test_a_large_file_is_taken_in_pieces_that_follow_each_other(tmp_path: Path) -> None:
    transcript = a_session(a_prompt("x " * PIECE), a_prompt("the iguana"), id=ID)
    path = transcript.write(tmp_path / "projects")
    pieces = batch_of(taken(tmp_path), "transcript").pieces
    assert [piece.start for piece in pieces] == [0, PIECE, 2 * PIECE]
    assert sum(piece.length for piece in pieces) == path.stat().st_size
    with an_archive(tmp_path) as archive:
        archive.sync()
        assert [hit.text for hit in archive.search("iguana").hits] == ["the iguana"]
        assert len(archive.search("x").hits[0].text) > PIECE


def test_a_file_that_went_before_it_was_read_is_a_source_error(tmp_path: Path) -> None:
    path = a_rich_session().write(tmp_path / "projects")
    job = a_job(tmp_path)
    path.unlink()
    with pytest.raises(SourceError, match=path.name):
        take(job)


POOL = """
import sys, threading
from reread.workers import worker_pool

def context_of_the_pool():
    with worker_pool() as pool:
        return pool._mp_context.get_start_method(), pool.submit(len, "abc").result()

if __name__ == "__main__":
    alone = context_of_the_pool()
    waiting = threading.Event()
    other = threading.Thread(target=waiting.wait, daemon=True)
    other.start()
    print(alone, context_of_the_pool())
    waiting.set()
"""


def test_a_process_with_threads_is_never_forked(tmp_path: Path) -> None:
    script = tmp_path / "pool.py"
    script.write_text(POOL, "utf-8")
    done = subprocess.run([sys.executable, "-W", "error", script], capture_output=True, text=True, check=False)
    alone = "fork" if sys.platform == "linux" else "spawn"
    assert (done.stdout, done.stderr) == (f"({alone!r}, 3) ('spawn', 3)\n", "")
