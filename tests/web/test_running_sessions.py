"""What counts as running: by what files tell, not by how young a copy of them is, and not what was seen to end."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from reread.archive import Archive
from reread.features.activity import Doing
from reread.testing import a_prompt, a_reply, a_session, a_subagent, a_tool_call
from reread.web.live import activity_now, is_recent

ID = "11111111-1111-4111-8111-111111111111"


def stamp(ago: timedelta) -> str:
    return (datetime.now(UTC) - ago).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Archive]:
    with Archive(tmp_path / "home", [tmp_path / "projects"], machine="desk") as made:
        yield made


def test_a_copy_of_an_old_file_does_not_run(archive: Archive, tmp_path: Path) -> None:
    a_session(a_prompt("go"), a_reply(a_tool_call("Bash", {"command": "sleep 1"})), id=ID).write(tmp_path / "projects")
    archive.sync()
    (each,) = archive.sessions()
    assert not is_recent(each.stored, datetime.now(UTC))
    assert activity_now(each.stored).doing in (Doing.SILENT, Doing.ASKING)
    assert activity_now(each.stored).is_guess


def test_a_session_that_goes_on_runs(archive: Archive, tmp_path: Path) -> None:
    now = stamp(timedelta(seconds=1))
    a_session(a_prompt("go", timestamp=now), a_reply("...", timestamp=now), id=ID).write(tmp_path / "projects")
    archive.sync()
    (each,) = archive.sessions()
    assert is_recent(each.stored, datetime.now(UTC))


def test_a_file_that_was_set_back_does_not_run(archive: Archive, tmp_path: Path) -> None:
    now = stamp(timedelta(seconds=1))
    trunk = a_session(a_prompt("go", timestamp=now), id=ID).write(tmp_path / "projects")
    os.utime(trunk, (0, 0))
    archive.sync()
    (each,) = archive.sessions()
    assert not is_recent(each.stored, datetime.now(UTC))


def test_an_agent_that_works_keeps_its_session_awake(archive: Archive, tmp_path: Path) -> None:
    """The trunk waits for minutes; the agent's own file tells that it goes on."""
    before, now = stamp(timedelta(minutes=20)), stamp(timedelta(seconds=1))
    task = a_tool_call("Task", {"prompt": "look"}, id="t1")
    agent = a_subagent(a_prompt("look", timestamp=now), a_reply("...", timestamp=now), of="t1")
    entries = (a_prompt("go", timestamp=before), a_reply(task, timestamp=before), agent)
    a_session(*entries, id=ID).write(tmp_path / "projects")
    archive.sync()
    (each,) = archive.sessions()
    assert activity_now(each.stored).doing is Doing.WORKING


def test_a_run_that_was_captured_to_its_end_has_ended(archive: Archive, tmp_path: Path) -> None:
    now = stamp(timedelta(seconds=5))
    trunk = a_session(a_prompt("go", timestamp=now), a_reply("ok", timestamp=now), id=ID).write(tmp_path / "projects")
    archive.sync()
    (each,) = archive.sessions()
    assert not archive.inner.saw_end(each.stored)
    place = archive.inner.wire / ID
    place.mkdir(parents=True)
    (place / "run.wire").write_bytes(b"")
    frame = b'{"type":"system","subtype":"init","session_id":"%s"}' % ID.encode()
    (place / "run.wire").write_bytes(f"{now} < ".encode() + frame + b"\n")
    archive.sync()
    (each,) = archive.sessions()
    assert archive.inner.saw_end(each.stored)
    with trunk.open("ab") as file:
        line = a_session(a_prompt("more", timestamp=stamp(timedelta(seconds=-60))), id=ID).bytes
        file.write(line)
    archive.sync()
    (each,) = archive.sessions()
    assert not archive.inner.saw_end(each.stored)
