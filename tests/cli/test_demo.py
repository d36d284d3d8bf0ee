"""The demonstration looks like somebody's work of today, whenever it is shown, and has one of everything."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import reread
from cli.running import Run

Json = dict[str, Any]
CLOCK = "/home/ann/lantern/src/lantern/clock.py"


@pytest.fixture
def sessions(run: Run) -> list[Json]:
    listed: list[Json] = json.loads(run("demo", "list", "--json").out)["sessions"]
    return listed


def test_samples_are_copied_without_their_modes(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a package is installed to be read only, so would the copies be, which are changed."""

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    for name in ("copystat", "copymode"):
        monkeypatch.setattr(shutil, name, refuse)
    assert run("demo", "list").code == 0


def test_the_newest_session_ended_just_now(sessions: list[Json]) -> None:
    ended = max(datetime.fromisoformat(session["ended"]) for session in sessions)
    assert timedelta() < datetime.now(UTC) - ended < timedelta(hours=1)


def test_what_claude_code_would_have_deleted_is_gone_and_kept(sessions: list[Json]) -> None:
    month_ago = datetime.now(UTC) - timedelta(days=30)
    old = {session["id"] for session in sessions if datetime.fromisoformat(session["ended"]) < month_ago}
    assert old == {session["id"] for session in sessions if not session["present"]} != set()
    assert all(session["archived"] for session in sessions)


def test_every_line_of_it_is_understood(run: Run) -> None:
    report = json.loads(run("demo", "doctor", "--json").out)
    assert (report["malformed"], report["unknown_types"], report["unmodelled_fields"]) == ([], {}, {})
    assert report["orphan_parents"] == 0


def test_the_retrospective_has_something_to_tell(run: Run) -> None:
    told = json.loads(run("demo", "retro", "--json").out)
    assert {"correction", "interrupt", "loop", "manual_step", "rejection", "rewind", "tool_error"} <= {
        event["kind"] for event in told["events"]
    }
    assert {"memory", "hook", "command"} <= {suggestion["kind"] for suggestion in told["suggestions"]}


def test_a_file_of_a_sample_is_restored_without_a_gap_and_blamed_on_its_prompt(run: Run) -> None:
    restored = run("demo", "restore", CLOCK)
    assert "self._last = max(self._last, time.time() - self._started)" in restored.out
    assert restored.err == ""
    assert "Stop guessing" in run("demo", "blame", CLOCK).out


def test_the_session_in_the_readme_is_that_of_the_demonstration(run: Run) -> None:
    readme = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
    _, _, rest = readme.partition("$ reread show @last\n")
    excerpt = [line for line in rest.partition("```")[0].splitlines() if line not in ("", "...")]
    samples = Path(reread.__file__).parent / "samples"
    shown = run("show", "@last", "--source", samples, "--timezone", "UTC").out.splitlines()
    assert len(excerpt) > 20
    assert [line for line in excerpt if line not in shown] == []
