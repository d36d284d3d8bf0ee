"""`reread hook`: shows the change, asks, makes exactly it, takes exactly it out; the hook never bothers the client."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cli.running import PROGRAM, Run, environment, on_terminal, reread_as_nobody, without_colour
from cli.test_bad_input import assert_refused
from reread.cli import hook as hook_run
from reread.cli import streams
from reread.client_settings import SettingsFile, command_of, entries_running
from reread.errors import BadInput
from reread.testing import a_prompt, a_reply, a_session

BEFORE = '{\n    "model": "opus",\n    "note": "日本",\n    "permissions": {"allow": ["Bash(ls)"]}\n}'
needs_posix = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX permissions, links or terminals")


@pytest.fixture
def settings(tmp_path: Path) -> Path:
    path = tmp_path / "claude" / "settings.json"
    path.parent.mkdir()
    path.write_text(BEFORE, "utf-8", newline="")
    return path


def installed(path: Path) -> list[str]:
    values = json.loads(path.read_text("utf-8"))
    groups = values.get("hooks", {}).get("SessionEnd", [])
    return [command_of(hook) for group in groups for hook in group["hooks"]]


def test_install_shows_the_change_makes_it_and_keeps_the_file_as_it_was(run: Run, settings: Path) -> None:
    ran = run("hook", "install", "--yes", "--settings", settings)
    assert (ran.code, ran.err) == (0, "")
    assert '+    "hooks": {' in ran.out.splitlines()
    assert f"installed in {settings}; as it was before: {settings}.reread-backup" in ran.out
    assert Path(f"{settings}.reread-backup").read_text("utf-8") == BEFORE
    assert settings.read_text("utf-8").startswith(BEFORE[:-2] + ",\n")
    assert len(installed(settings)) == 1


@needs_posix
def test_an_archive_whose_name_is_not_utf_8_is_refused_in_a_sentence(run: Run, settings: Path, tmp_path: Path) -> None:
    ran = run("hook", "install", "--yes", "--settings", settings, "--home", f"{tmp_path}/caf\udce9")
    assert_refused(ran, "is not UTF-8", "nothing was changed")
    assert settings.read_text("utf-8") == BEFORE


def test_installing_twice_changes_nothing_and_says_so(run: Run, settings: Path) -> None:
    run("hook", "install", "--yes", "--settings", settings)
    once = settings.stat()
    ran = run("hook", "install", "--settings", settings)
    assert (ran.code, ran.out) == (0, f"already installed in {settings}; nothing to change\n")
    assert settings.stat() == once


def test_remove_gives_the_file_back_and_leaves_nothing_behind(run: Run, settings: Path) -> None:
    run("hook", "install", "--yes", "--statusline", "--settings", settings)
    ran = run("hook", "remove", "--yes", "--settings", settings)
    assert ran.code == 0
    assert '-    "statusLine": {' in ran.out
    assert settings.read_text("utf-8") == BEFORE
    assert [path.name for path in settings.parent.iterdir()] == ["settings.json"]
    assert run("hook", "remove", "--settings", settings).out == f"not installed in {settings}; nothing to change\n"


@pytest.mark.parametrize("had", [BEFORE, '{"hooks": {"PermissionRequest": [{"matcher": "Bash", "hooks": []}]}}'])
@pytest.mark.parametrize(
    "ways", [["--approvals"], ["--approvals --statusline"], ["--statusline", "--approvals"], ["", "--approvals"]]
)
def test_dialogs_are_asked_for_shown_and_removed_exactly(run: Run, settings: Path, had: str, ways: list[str]) -> None:
    settings.write_text(had, "utf-8", newline="")
    for way in ways:
        ran = run("hook", "install", "--yes", "--settings", settings, *way.split())
        assert ("hook ask" in ran.out) is ("--approvals" in way)
    assert run("hook", "install", "--settings", settings, "--approvals").out.startswith("already installed")
    status = json.loads(run("hook", "--settings", settings, "--json").out)
    assert (status["installed"], status["approvals"]) == (True, True)
    assert run("hook", "remove", "--yes", "--settings", settings).code == 0
    assert settings.read_text("utf-8") == had
    assert json.loads(run("hook", "--settings", settings, "--json").out)["approvals"] is False


@pytest.mark.parametrize("had", ["{ }", '{"hooks": { }}', '{\n  "hooks": {\n    "SessionEnd": [ ]\n  }\n}\n'])
@pytest.mark.parametrize("is_edited", [False, True])
def test_what_was_empty_before_stays(run: Run, settings: Path, had: str, is_edited: bool) -> None:
    settings.write_text(had, "utf-8", newline="")
    run("hook", "install", "--yes", "--settings", settings)
    if is_edited:
        settings.write_text(settings.read_text("utf-8") + "\n", "utf-8")
    run("hook", "install", "--yes", "--statusline", "--settings", settings)
    run("hook", "remove", "--yes", "--settings", settings)
    assert json.loads(settings.read_text("utf-8")) == json.loads(had)
    assert is_edited or settings.read_text("utf-8") == had


def test_what_came_later_stays_and_the_file_before_the_removal_is_kept(run: Run, settings: Path) -> None:
    run("hook", "install", "--yes", "--settings", settings)
    edited = settings.read_text("utf-8").replace("opus", "sonnet")
    settings.write_text(edited, "utf-8")
    ran = run("hook", "remove", "--yes", "--settings", settings)
    assert settings.read_text("utf-8") == BEFORE.replace("opus", "sonnet")
    assert Path(f"{settings}.reread-backup").read_text("utf-8") == edited
    assert "as it was before" in ran.out


@needs_posix
def test_a_file_that_was_not_there_is_made_private_and_goes_again(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "home" / ".claude" / "settings.json"
    assert run("hook", "install", "--yes").code == 0
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert len(installed(path)) == 1
    run("hook", "install", "--yes", "--statusline")
    ran = run("hook", "remove", "--yes")
    assert "held nothing else and is gone" in ran.out
    assert not path.exists()


@needs_posix
def test_a_link_stays_a_link_and_the_mode_stays(run: Run, settings: Path, tmp_path: Path) -> None:
    settings.chmod(0o640)
    link = tmp_path / "linked.json"
    link.symlink_to(settings)
    run("hook", "install", "--yes", "--settings", link)
    assert link.is_symlink()
    assert len(installed(settings)) == 1
    assert stat.S_IMODE(settings.stat().st_mode) == 0o640
    run("hook", "remove", "--yes", "--settings", link)
    assert link.is_symlink()
    assert settings.read_text("utf-8") == BEFORE


@pytest.mark.parametrize("content", [b"{", b"[]", b'{"hooks": 1}', b'{"hooks": {"SessionEnd": 1}}', b'{"a": "\xff"}'])
@pytest.mark.parametrize("action", ["install", "remove", "status"])
def test_settings_that_cannot_be_understood_are_not_touched(
    run: Run, settings: Path, content: bytes, action: str
) -> None:
    settings.write_bytes(content)
    assert_refused(run("hook", action, "--yes", "--settings", settings), str(settings), "nothing was changed")
    assert settings.read_bytes() == content
    assert len(list(settings.parent.iterdir())) == 1


def test_a_folder_in_place_of_the_file_is_refused(run: Run, tmp_path: Path) -> None:
    assert_refused(run("hook", "install", "--yes", "--settings", tmp_path), str(tmp_path))


@needs_posix
@pytest.mark.parametrize("mode", [0o000, 0o444])
def test_a_file_that_may_not_be_read_or_written_is_not_touched(open_folder: Path, mode: int) -> None:
    settings = open_folder / "settings.json"
    settings.write_text(BEFORE, "utf-8")
    open_folder.chmod(0o777)
    settings.chmod(mode)
    ran = reread_as_nobody("hook", "install", "--yes", "--settings", settings)
    assert_refused(ran, str(settings), "not writable" if mode else "permission denied")
    assert [path.name for path in open_folder.iterdir()] == ["settings.json"]
    assert stat.S_IMODE(settings.stat().st_mode) == mode


def test_a_file_that_changed_between_showing_and_writing_is_not_touched(settings: Path) -> None:
    file = SettingsFile(settings)
    change = file.installing(entries_running(["reread"], [], [], is_windows=False))
    settings.write_text("{}", "utf-8")
    with pytest.raises(BadInput, match="was changed in the meantime"):
        file.write(change)
    assert settings.read_text("utf-8") == "{}"
    assert len(list(settings.parent.iterdir())) == 1


def test_without_a_terminal_and_without_yes_the_change_is_only_shown(run: Run, settings: Path) -> None:
    ran = run("hook", "install", "--settings", settings)
    assert (ran.code, ran.err) == (
        2,
        "reread: nothing was changed: standard input is not a terminal to ask at; pass --yes\n",
    )
    assert "SessionEnd" in ran.out
    assert settings.read_text("utf-8") == BEFORE


@needs_posix
@pytest.mark.parametrize(("answer", "is_made"), [("y\n", True), ("yes\n", True), ("\n", False), ("n\n", False)])
def test_a_person_is_asked_and_silence_is_no(settings: Path, answer: str, is_made: bool) -> None:
    import pty

    ours, theirs = pty.openpty()
    os.write(ours, answer.encode())
    done = subprocess.run(
        [*PROGRAM, "hook", "install", "--settings", str(settings)],
        stdin=theirs,
        capture_output=True,
        env=environment(),
        check=False,
        timeout=60,
    )
    os.close(theirs)
    os.close(ours)
    assert (done.returncode, done.stderr) == (0, b"Make this change? [y/N] ")
    assert (settings.read_text("utf-8") != BEFORE) is is_made
    assert done.stdout.decode().splitlines()[-1].startswith("installed in" if is_made else "nothing was changed")


@needs_posix
def test_the_diff_is_coloured_on_a_terminal_and_obeyed_by_none(settings: Path) -> None:
    settings.write_text('{\n  "a": "\u009b31m\u202e"\n}\n', "utf-8")
    shown = on_terminal("hook", "install", "--yes", "--settings", settings)
    assert '\x1b[32m+  "hooks": {\x1b[0m' in shown
    assert not {"\u009b", "\u202e"} & set(shown)
    plain = on_terminal("hook", "remove", "--yes", "--settings", settings, changes={"NO_COLOR": "1"})
    assert plain == without_colour(plain)
    assert '-  "hooks": {' in plain


def test_another_status_line_is_told_and_left_alone(run: Run, settings: Path) -> None:
    settings.write_text('{"statusLine": {"type": "command", "command": "ccline"}}', "utf-8")
    ran = run("hook", "install", "--yes", "--statusline", "--settings", settings)
    assert "another status line is set there; it was left alone" in ran.out
    assert json.loads(settings.read_text("utf-8"))["statusLine"]["command"] == "ccline"


def test_switched_off_hooks_are_told(run: Run, settings: Path) -> None:
    settings.write_text('{"disableAllHooks": true}', "utf-8")
    assert "`disableAllHooks` is set" in run("hook", "install", "--yes", "--settings", settings).out
    assert "`disableAllHooks` is set" in run("hook", "status", "--settings", settings).out


def test_the_json_says_what_is_there_and_what_was_done(run: Run, settings: Path) -> None:
    ran = run("hook", "install", "--yes", "--json", "--settings", settings)
    told = json.loads(ran.out)
    assert told["schema"] == "reread.hook/1"
    assert told["action"] == "install"
    assert (told["installed"], told["changed"], told["statusline"]) == (True, True, "none")
    assert told["settings"] == str(settings)
    assert told["backup"] == f"{settings}.reread-backup"
    assert "\n+" in told["diff"]
    assert [told["command"]] == installed(settings)
    told = json.loads(run("hook", "--json", "--settings", settings).out)
    assert (told["action"], told["installed"], told["changed"], told["diff"]) == ("status", True, False, "")
    ran = run("hook", "remove", "--json", "--settings", settings)
    assert (ran.code, json.loads(ran.out)["changed"]) == (2, False)


def test_the_settings_of_the_first_config_directory_are_meant(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", f"{first},{second}")
    assert run("hook", "install", "--yes").code == 0
    [command] = installed(first / "settings.json")
    assert f"--source {first.as_posix()} --source {second.as_posix()}" in command.replace("'", "")
    (tmp_path / "config" / "projects").mkdir(parents=True)
    assert run("hook", "install", "--yes", "--source", tmp_path / "config" / "projects").code == 0
    assert (tmp_path / "config" / "settings.json").exists()
    assert_refused(run("hook", "install", "--yes", "--source", tmp_path), "--settings")


# The hook itself.


def end_session(home: Path, told: bytes, *arguments: str | Path) -> subprocess.CompletedProcess[bytes]:
    """What Claude Code does when a session ends."""
    command = [*PROGRAM, "hook", "run", "--home", str(home), *map(str, arguments)]
    return subprocess.run(command, input=told, capture_output=True, env=environment(), check=False, timeout=60)


def log_of(home: Path, seconds: float = 30) -> str:
    """Once a line is in it: a file is there before its first letter is."""
    log, end = home / hook_run.LOG, time.monotonic() + seconds
    while not (log.exists() and log.stat().st_size) and time.monotonic() < end:
        time.sleep(0.05)
    return log.read_text("utf-8")


def test_the_hook_takes_the_session_in_behind_the_clients_back(run: Run, tmp_path: Path) -> None:
    path = a_session(a_prompt("hello"), a_reply("hi")).write(tmp_path / "config" / "projects")
    told = {"session_id": path.stem, "transcript_path": str(path), "hook_event_name": "SessionEnd", "reason": "other"}
    home = tmp_path / "an archive"
    (tmp_path / "empty").mkdir()
    done = end_session(home, json.dumps(told).encode(), "--source", tmp_path / "empty")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert log_of(home).endswith(f" {path.stem}: synced\n")
    assert path.stem in run("list", "--json", "--no-sync", "--home", home).out
    command = f"reread hook run --home '{home}'"
    settings = tmp_path / "settings.json"
    hooks = {"SessionEnd": [{"hooks": [{"type": "command", "command": command}]}]}
    settings.write_text(json.dumps({"hooks": hooks}), "utf-8")
    assert f"{path.stem}: synced" in run("hook", "--settings", settings).out


def test_before_a_compaction_the_session_is_imported_when_the_hook_returns(run: Run, tmp_path: Path) -> None:
    path = a_session(a_prompt("hello"), a_reply("hi")).write(tmp_path / "config" / "projects")
    told = {"session_id": path.stem, "transcript_path": str(path), "hook_event_name": "PreCompact", "trigger": "auto"}
    (tmp_path / "empty").mkdir()
    done = end_session(tmp_path / "archive", json.dumps(told).encode(), "--source", tmp_path / "empty")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert hook_run.noted(tmp_path / "archive")[0].endswith(f" {path.stem} before a compaction: synced")
    assert path.stem in run("list", "--json", "--no-sync", "--home", tmp_path / "archive").out


def test_a_transcript_in_an_odd_place_is_taken_in_alone(run: Run, tmp_path: Path) -> None:
    path = a_session(a_prompt("this one")).write(tmp_path / "odd")
    other = a_session(a_prompt("not asked for"), id="11111111-aaaa-4000-8000-000000000001").write(tmp_path / "odd")
    (tmp_path / "empty").mkdir()
    end_session(
        tmp_path / "archive", json.dumps({"transcript_path": str(path)}).encode(), "--source", tmp_path / "empty"
    )
    assert log_of(tmp_path / "archive").endswith(": synced\n")
    listed = run("list", "--json", "--no-sync", "--home", tmp_path / "archive").out
    assert path.stem in listed
    assert other.stem not in listed


def test_an_unforeseen_failure_is_logged_too(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise LookupError("unforeseen")

    monkeypatch.setattr(streams, "piped_input", bytes)
    monkeypatch.setattr(hook_run, "_start", fail)
    monkeypatch.setattr(hook_run, "_sync", fail)
    assert run("hook", "run", "--home", tmp_path / "archive") == (0, "", "")
    assert run("hook", "take", "--home", tmp_path / "archive", "--session", "s") == (0, "", "")
    assert [line.partition(" ")[2] for line in hook_run.noted(tmp_path / "archive")] == [
        "could not be started: unforeseen",
        "s: unforeseen",
    ]


def test_a_program_that_is_gone_is_told(run: Run, settings: Path, tmp_path: Path) -> None:
    run("hook", "install", "--yes", "--settings", settings)
    assert "program is gone" not in run("hook", "--settings", settings).out
    gone = {"type": "command", "command": f"{(tmp_path / 'gone' / 'reread').as_posix()} hook run"}
    settings.write_text(json.dumps({"hooks": {"SessionEnd": [{"hooks": [gone]}]}}), "utf-8")
    assert "that program is gone" in run("hook", "--settings", settings).out


def test_what_goes_wrong_is_logged_and_the_client_never_hears_of_it(tmp_path: Path) -> None:
    home = tmp_path / "archive"
    done = end_session(home, b"\0 no json", "--source", tmp_path / "missing")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert "a session: " in log_of(home)
    assert "missing: no such file or folder" in log_of(home)


def test_an_option_nobody_knows_is_logged_too(run: Run) -> None:
    assert run("hook", "run", "--bogus") == (0, "", "")
    assert "could not be started: " in log_of(Path(os.environ["REREAD_HOME"]))


def test_a_log_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    hook_run.note(tmp_path / "file" / "home", "nothing")
    assert hook_run.noted(tmp_path / "file" / "home") == []


def test_the_log_stays_small(tmp_path: Path) -> None:
    (tmp_path / hook_run.LOG).write_text("x" * 90 + "\n" + "an older line\n" * 10_000)
    hook_run.note(tmp_path, "the newest")
    assert len(hook_run.noted(tmp_path)) == hook_run.KEPT_LINES + 1
    assert hook_run.noted(tmp_path)[-1].endswith(" the newest")
