"""The demonstration looks like somebody's work of today, whenever it is shown, and has one of everything."""

from __future__ import annotations

import json
import os
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import reread
from cli.running import Run
from trees import traces

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


def test_words_after_two_dashes_are_searched_in_the_demonstration(run: Run) -> None:
    assert "1 hit" in run("demo", "search", "--", "flaky", "-retry").out


def test_a_demonstration_of_the_demonstration_is_refused(run: Run) -> None:
    refused = run("demo", "demo")
    assert (refused.code, refused.out) == (2, "")
    assert "this is the demonstration" in refused.err


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


def test_the_files_of_its_first_session_are_known_as_wholes(run: Run) -> None:
    for command in ("restore", "blame"):
        shown = run("demo", command, "src/lantern/retry.py")
        assert (shown.code, "delay = min(delay + jitter, cap)" in shown.out) == (0, True)
    assert "not known as a whole" not in run("demo", "diff", "@last").out


def test_the_session_in_the_readme_is_that_of_the_demonstration(run: Run) -> None:
    readme = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
    _, _, rest = readme.partition("$ reread show @last\n")
    excerpt = [line for line in rest.partition("```")[0].splitlines() if line not in ("", "...")]
    samples = Path(reread.__file__).parent / "samples"
    shown = run("show", "@last", "--source", samples, "--timezone", "UTC").out.splitlines()
    assert len(excerpt) > 20
    assert [line for line in excerpt if line not in shown] == []


@pytest.mark.parametrize(
    "command",
    [
        "retro apply 1 --yes",
        "retro --yes apply 1",
        "retro --ask-claude --yes",
        "hook install --settings=FOLDER/settings.json --yes",
        "push FOLDER",
        "pull FOLDER",
        "team init postgresql:///x --yes",
        "lake build --lake FOLDER",
    ],
)
def test_nothing_of_the_demonstration_touches_what_is_not_its_own(run: Run, tmp_path: Path, command: str) -> None:
    home = tmp_path / "home"
    (home / ".claude").mkdir()
    for name in ("CLAUDE.md", "settings.json"):
        (home / ".claude" / name).write_text("{}")
    (tmp_path / "shared").mkdir()
    before = traces(tmp_path)
    ran = run("demo", *command.replace("FOLDER", str(tmp_path / "shared")).split())
    assert (ran.code, ran.out) == (2, "")
    assert "is not part of the demonstration: " in ran.err
    assert traces(tmp_path) == before


def test_the_demonstration_changes_settings_of_its_own(run: Run, tmp_path: Path) -> None:
    (tmp_path / "home" / ".claude").mkdir()
    before = traces(tmp_path)
    assert run("demo", "hook", "install", "--yes").code == 0
    assert run("demo", "hook", "remove", "--yes").code == 0
    assert traces(tmp_path) == before


def test_the_demonstration_asks_no_store_and_reads_no_settings(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A rule of one's own that says what a sample suggests would take the suggestion away."""
    suggested = run("demo", "retro", "--suggestions").out
    (tmp_path / "home" / ".claude").mkdir()
    (tmp_path / "home" / ".claude" / "CLAUDE.md").write_text(suggested)
    monkeypatch.setenv("REREAD_STORE", "postgresql://127.0.0.1:1/none")
    monkeypatch.setenv("REREAD_PRICES", str(tmp_path / "none.json"))
    ran = run("demo", "retro", "--suggestions")
    assert (ran.code, ran.out) == (0, suggested)
    assert os.environ["REREAD_STORE"], "what is left out is there again afterwards"


def test_the_demonstration_in_the_browser_starts_no_client(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    served: list[Any] = []
    monkeypatch.setattr("reread.web.server.serve", lambda settings, *_, **__: served.append(settings))
    assert run("demo", "serve", "--no-browser").code == 0
    assert [settings.may_run for settings in served] == [False]
