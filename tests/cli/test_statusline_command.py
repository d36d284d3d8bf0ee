"""`reread statusline` as Claude Code runs it: one line, soon, whatever comes in."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from cli.kept import Kept
from cli.running import PROGRAM, Ran, Run, environment

LINE: dict[str, Any] = {
    "session_id": "0a1b2c3d-1111-4222-8333-444455556666",
    "model": {"display_name": "Opus 5.5"},
    "cost": {"total_cost_usd": 1.236, "total_duration_ms": 0},
    "context_window": {"used_percentage": 42},
}
posix = pytest.mark.skipif(sys.platform == "win32", reason="POSIX modes and users")


def drawn(said: object, *arguments: str | Path, home: Path | None = None) -> Ran:
    raw = said if isinstance(said, bytes) else json.dumps(said).encode()
    argv = [*PROGRAM, "statusline", *map(str, arguments)]
    env = environment(**({} if home is None else {"REREAD_HOME": str(home)}))
    done = subprocess.run(argv, input=raw, capture_output=True, env=env, timeout=30, check=False)
    return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())


def limits(hours: float) -> dict[str, Any]:
    now = time.time() + 20  # the minutes that are left must not run out while the test does
    return {
        "five_hour": {"used_percentage": 23.5, "resets_at": now + hours * 3600},
        "seven_day": {"used_percentage": 41, "resets_at": now + 76 * 3600},
    }


def kept_rows(home: Path) -> list[Any]:
    connection = sqlite3.connect(home / "reread.db")
    found = connection.execute("SELECT session, nanodollars FROM client_total").fetchall()
    connection.close()
    return found


def test_a_line_has_all_that_is_known(kept: Kept) -> None:
    kept("sync")
    ran = drawn({**LINE, "rate_limits": limits(2.5)}, home=kept.home)
    assert (ran.code, ran.err) == (0, "")
    model, today, session, context, five, seven = ran.out.rstrip("\n").split(" · ")
    assert (model, session, context) == ("Opus 5.5", "session $1.24", "context 42%")
    assert today == "today $1.24"
    assert five in ("5h 24% (2h 30m left)", "5h 24% (2h 29m left)")
    assert seven in ("7d 41% (3d 4h left)", "7d 41% (3d 3h left)")
    assert kept_rows(kept.home) == [(LINE["session_id"], 1_236_000_000)]


def test_without_an_archive_there_is_what_was_told_and_none_is_made(tmp_path: Path) -> None:
    ran = drawn(LINE, "--home", tmp_path / "none")
    assert ran == (0, "Opus 5.5 · session $1.24 · context 42%\n", "")
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("raw", [b"", b"not json", b"[]", b"\xff\x00", b'{"model": null, "cost": {"a": null}}'])
def test_a_line_is_never_empty(raw: bytes, tmp_path: Path) -> None:
    """Claude Code would hide it, and with it that anything is wrong."""
    assert drawn(raw, "--home", tmp_path / "none") == (0, "reread\n", "")


def test_without_json_there_is_what_the_archive_knows(kept: Kept) -> None:
    kept("sync")
    assert drawn(b"oops", home=kept.home) == (0, "today $0.00\n", "")


def test_a_line_of_your_own() -> None:
    template = "{model}|{session}|{hourly}|{five_hour}|{unheard}|{context}"
    assert drawn(LINE, "--format", template).out == "Opus 5.5|$1.24|-|-|{unheard}|42%\n"
    assert drawn(LINE, f"--format={template}").out == "Opus 5.5|$1.24|-|-|{unheard}|42%\n"


def test_what_was_told_is_no_template() -> None:
    assert (
        drawn({**LINE, "model": {"display_name": "{session} {0} %s"}}, "--format", "{model}").out
        == "{session} {0} %s\n"
    )


def test_a_wrong_option_is_told_in_one_sentence() -> None:
    ran = drawn(LINE, "--colour")
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)


def test_input_that_does_not_end_is_not_waited_for() -> None:
    argv = [*PROGRAM, "statusline", "--home", "none"]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment()) as process:
        assert process.stdin is not None
        process.stdin.write(json.dumps(LINE).encode())
        process.stdin.flush()
        assert process.wait(timeout=60) == 0
        assert process.stdout is not None
        assert process.stdout.read().startswith(b"Opus 5.5")


@posix
def test_closed_input_is_none(tmp_path: Path) -> None:
    command = f'"{sys.executable}" -m reread statusline --home "{tmp_path / "none"}" <&-'
    done = subprocess.run(command, shell=True, capture_output=True, env=environment(), timeout=30, check=False)  # noqa: S602
    assert (done.returncode, done.stdout, done.stderr) == (0, b"reread\n", b"")


def test_two_at_once_both_draw(kept: Kept) -> None:
    kept("sync")
    env = environment(REREAD_HOME=str(kept.home))
    both = [
        subprocess.Popen([*PROGRAM, "statusline"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
        for _ in range(4)
    ]
    said = [process.communicate(json.dumps(LINE).encode(), timeout=30)[0] for process in both]
    assert all(line.startswith(b"Opus 5.5") for line in said)
    assert kept_rows(kept.home) == [(LINE["session_id"], 1_236_000_000)]


def test_a_locked_archive_costs_no_time_and_no_line(kept: Kept) -> None:
    kept("sync")
    connection = sqlite3.connect(kept.home / "reread.db", isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    ran = drawn(LINE, home=kept.home)
    connection.execute("ROLLBACK")
    connection.close()
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == "Opus 5.5 · today $0.00 · session $1.24 · context 42%\n"
    assert kept_rows(kept.home) == []


@posix
def test_an_archive_that_may_not_be_written_costs_no_line(kept: Kept) -> None:
    """Root may write everywhere, so the child gives its rights away once the program is loaded."""
    kept("sync")
    script = (
        "import io, os, sys, json, sqlite3\n"
        "import reread.archive.status, reread.cli.statusline, reread.records.client_input\n"
        "import reread.cli.statusline\n"
        "from reread.cli.main import main\n"
        "if os.geteuid() == 0: os.setuid(65534)\n"
        "sys.exit(main(['statusline', '--home', sys.argv[1]]))\n"
    )
    for place, mode in ((kept.home / "reread.db", 0o444), (kept.home, 0o555), (kept.home, 0o000)):
        place.chmod(mode)
        done = subprocess.run(
            [sys.executable, "-c", script, str(kept.home)],
            input=json.dumps(LINE).encode(),
            capture_output=True,
            env=environment(),
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, b"")
        assert b"session $1.24" in done.stdout
    kept.home.chmod(0o700)
    (kept.home / "reread.db").chmod(0o600)
    assert kept_rows(kept.home) == []


@pytest.mark.parametrize("content", [b"", b"no database at all" * 100, b"SQLite format 3\0" + b"\xff" * 5000])
def test_what_is_no_archive_costs_no_line(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "reread.db").write_bytes(content)
    assert drawn(LINE, home=tmp_path) == (0, "Opus 5.5 · session $1.24 · context 42%\n", "")


def test_nothing_is_loaded_that_a_line_does_not_need(kept: Kept) -> None:
    kept("sync")
    script = (
        "import sys; from reread.cli.main import main\n"
        f"main(['statusline', '--home', {str(kept.home)!r}])\nprint('loaded:', *sys.modules)"
    )
    raw = json.dumps({**LINE, "rate_limits": limits(1)}).encode()
    done = subprocess.run(
        [sys.executable, "-S", "-c", script], input=raw, capture_output=True, env=_with_source(), check=True
    )
    loaded = set(done.stdout.decode().rpartition("loaded:")[2].split())
    heavy = {
        "msgspec",
        "argparse",
        "decimal",
        "zoneinfo",
        "pathlib",
        "shutil",
        "hashlib",
        "threading",
        "typing",
        "urllib",
    }
    assert not heavy & loaded, f"a status line must not import {', '.join(sorted(heavy & loaded))}"
    assert "sqlite3" in loaded


def _with_source() -> dict[str, str]:
    import reread

    return environment(PYTHONPATH=os.fspath(Path(reread.__file__).parents[1]))


def test_the_demonstration_draws_one_too() -> None:
    done = subprocess.run(
        [*PROGRAM, "demo", "statusline"], input=b"{}", capture_output=True, env=environment(), timeout=60, check=False
    )
    assert (done.returncode, done.stdout[:7], done.stderr) == (0, b"today $", b"")


def test_the_help_shows_the_setting(run: Run) -> None:
    said = run("statusline", "--help").out
    assert '"statusLine": {"type": "command", "command": "reread statusline"}' in said
    assert "{five_hour}" in said
