"""The memory in the real client: what the model looks up is what an earlier session said."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

import reread
from client.run import Run, Scratch
from reread.sessions import CallStatus, ToolCall

pytestmark = pytest.mark.e2e


@pytest.fixture
def memory(scratch: Scratch, tmp_path: Path) -> list[str]:
    """Options that give the client our server."""
    server = {
        "command": sys.executable,
        "args": ["-m", "reread", "mcp", "--home", str(tmp_path / "the archive")],
        "env": {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
    }
    config = scratch.home / "mcp.json"
    config.write_text(json.dumps({"mcpServers": {"reread": server}}))
    return ["--mcp-config", str(config), "--strict-mcp-config"]


def looked_up(scratch: Scratch, run: Run) -> ToolCall:
    """The call of our tool in the transcript of a run."""
    assert (run.status, run.stderr) == (0, "")
    session = reread.load(scratch.transcript(run.session))
    [call] = [call for call in session.tool_calls if call.server == "reread"]
    assert call.output is not None
    return call


def test_the_model_finds_what_an_earlier_session_thought(scratch: Scratch, memory: list[str]) -> None:
    earlier = scratch.run("mock:thinking(granite)")
    assert earlier.status == 0
    run = scratch.run("mock:recall(granite premise)", *memory)
    call = looked_up(scratch, run)
    assert call.status is CallStatus.OK
    assert call.output is not None
    said = call.output.text
    assert said.startswith(f"1 of 1 hit for 'granite premise' in {scratch.work.resolve()} (")
    assert f'thinking · session="{earlier.session[:8]}"' in said
    assert "Let me think about granite. First, the premise." in said
    assert run.session[:8] not in said, "it found its own question"


def test_the_model_reads_an_earlier_session(scratch: Scratch, memory: list[str]) -> None:
    earlier = scratch.run("mock:edit(lamp.txt)")
    assert earlier.status == 0
    call = looked_up(scratch, scratch.run(f"mock:recall-whole({earlier.session[:8]})", *memory))
    assert call.output is not None
    said = call.output.text
    assert "user: mock:edit(lamp.txt)" in said
    assert "tool: Edit · lamp.txt" in said
    assert "claude: I edited the file." in said
