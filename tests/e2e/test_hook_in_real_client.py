"""The hook in the settings of the real client: a session is in the archive soon after it ended."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

import reread
from cli.running import reread as program
from client.install import VERSIONS, claude_binary
from client.run import Scratch, has_tmux

pytestmark = [pytest.mark.e2e]

SETTINGS = '{\n  "cleanupPeriodDays": 99,\n  "permissions": {"allow": ["Bash(ls)"]}\n}\n'


@pytest.fixture
def settings(scratch: Scratch) -> Path:
    path = scratch.home / ".claude" / "settings.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(SETTINGS)
    return path


def archived(home: Path, session: str, transcript: Path, seconds: float = 15.0) -> bool:
    """Whether every byte of a session is in the archive before long."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with reread.open(home=home) as archive:
            if archive.exists and any(kept.stored.row.uuid == session for kept in archive.sessions()):
                [stored] = [kept.stored for kept in archive.sessions() if kept.stored.row.uuid == session]
                if stored.row.bytes >= transcript.stat().st_size:
                    return True
        time.sleep(0.1)
    return False


def hook(scratch: Scratch, action: str, home: Path) -> None:
    ran = program("hook", action, "--yes", "--home", home, HOME=str(scratch.home))
    assert (ran.code, ran.err) == (0, "")


def test_a_session_in_print_mode_is_taken_in_as_it_ends(scratch: Scratch, settings: Path, tmp_path: Path) -> None:
    home = tmp_path / "the archive"
    hook(scratch, "install", home)
    run = scratch.run("mock:think-bash")
    assert (run.status, run.stderr) == (0, "")
    assert archived(home, run.session, scratch.transcript(run.session))
    hook(scratch, "remove", home)
    assert settings.read_text() == SETTINGS


def test_what_a_compaction_begins_with_is_imported_before_it(scratch: Scratch, settings: Path, tmp_path: Path) -> None:
    home = tmp_path / "the archive"
    hook(scratch, "install", home)
    run = scratch.run("mock:think-bash")
    compacted = scratch.run("/compact", resume=run.session)
    assert (compacted.status, compacted.stderr) == (0, "")
    assert f"{run.session} before a compaction: synced" in (home / "hook.log").read_text("utf-8")
    assert archived(home, run.session, scratch.transcript(run.session))
    hook(scratch, "remove", home)
    assert settings.read_text() == SETTINGS


def test_a_session_that_the_client_rewrites_after_a_compaction_stays_whole(tmp_path: Path) -> None:
    with Scratch(claude_binary(VERSIONS[-1]), tmp_path) as scratch:
        scratch.switches["CLAUDE_CODE_TRANSCRIPT_LOCAL_GC"] = "1"
        home = tmp_path / "the archive"
        hook(scratch, "install", home)
        session = scratch.run("mock:think-bash").session
        path = scratch.transcript(session)
        make_large(path)
        large = path.stat().st_size
        assert scratch.run("/compact", resume=session).status == 0
        assert path.stat().st_size < large / 10
        assert b"mock:think-bash" not in path.read_bytes()
        scratch.run("mock:text(after)", resume=session)
        with reread.open(home=home, sources=[scratch.projects]) as archive:
            archive.sync()
            whole = archive.session(session)
        assert [each.text for each in whole.prompts] == ["mock:think-bash", "mock:text(after)"]
        assert [each.text for each in whole.thinking()] == [
            "I should look at the directory.",
            "Now I have the listing.",
        ]


def make_large(path: Path) -> None:
    """Adds bookkeeping to a transcript: clients rewrite those of 5 MB and more."""
    snapshot = {"type": "file-history-snapshot", "messageId": "m1", "snapshot": {"trackedFileBackups": {}}}
    line = json.dumps({**snapshot, "isSnapshotUpdate": False, "padding": "x" * 600_000})
    with path.open("a", encoding="utf-8") as file:
        file.write(f"{line}\n" * 10)


@pytest.mark.skipif(not has_tmux(), reason="tmux drives the interactive client; install tmux")
def test_a_session_on_a_screen_is_taken_in_as_it_ends(scratch: Scratch, settings: Path, tmp_path: Path) -> None:
    home = tmp_path / "the archive"
    hook(scratch, "install", home)
    with scratch.screen() as screen:
        screen.wait_for("❯")
        screen.submit("mock:text(hello)")
        screen.wait_for("You said: hello")
        screen.settle()
        screen.leave()
    [transcript] = scratch.transcripts()
    assert archived(home, transcript.stem, transcript)
    hook(scratch, "remove", home)
    assert settings.read_text() == SETTINGS
