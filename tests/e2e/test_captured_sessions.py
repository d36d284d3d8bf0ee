"""A real client's transcript and the capture of the same run are one session, and only what was taken back is added."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from client.capture_wire import hold
from client.conversations import CONVERSATIONS, captured_from
from client.drive import Json
from client.expect_wire import expectation, read_wire, wire_lines
from client.install import VERSIONS, claude_binary
from client.run import Scratch
from reread.archive import Archive
from reread.live.capture import session_named_last
from reread.sessions import WithdrawnBlock

pytestmark = pytest.mark.e2e

NO_SESSION = {"resume-missing", "bad-line"}
CLIENT_OF = {name: version for version in reversed(VERSIONS) for name in captured_from(version)}
"""Each conversation with one client, the older where it differs: two would take minutes more and show the same."""
RUNS = [(version, name) for name, version in CLIENT_OF.items() if name not in NO_SESSION]


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("version", "name"), RUNS, ids=[f"{version}-{name}" for version, name in RUNS])
def test_a_run_and_its_transcript_are_one_session(version: str, name: str, tmp_path: Path) -> None:
    conversation = CONVERSATIONS[name]
    part = tmp_path / "home" / "wire" / "20261115T000000-00000000.part"
    part.parent.mkdir(parents=True)
    with Scratch(claude_binary(version), tmp_path / "scratch") as scratch:
        earlier: list[Json] = scratch.run(conversation.earlier).lines if conversation.earlier else []
        hold(conversation, scratch, part, earlier)
        id = session_named_last(part)  # noqa: A001
        assert id is not None
        read = json.loads(json.dumps(expectation(read_wire(wire_lines(part)))))
        with Archive(tmp_path / "home", [scratch.projects], machine="desk") as archive:
            archive.sync()
            [kept] = [each.stored for each in archive.sessions() if each.stored.row.uuid == id]
            session = archive.session(id)
            counted = {response.key: response.output for response in session.requests}
            totals = archive.usage().totals
        assert not part.exists()
    assert len([file for file in kept.files if file.endswith(".wire")]) == 1
    [capture] = session.captures
    assert [type(record) for record in capture.added] == [WithdrawnBlock] * len(read["withdrawn"])
    assert [block.text for block in capture.added] == [block["text"] for block in read["withdrawn"]]
    own = {name: usage["output_tokens"] for name, usage in read["usage"].items() if name in counted}
    assert {name: counted[name] for name in own} == own
    assert len({*read["usage"]} - {*counted}) == 0 or len(read["sessions"]) > 1
    assert totals.requests >= len(counted)
    assert session.coverage.is_complete
