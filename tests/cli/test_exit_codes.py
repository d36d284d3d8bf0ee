"""0 for an answer, also an empty one; 1 for damage when asked; 130 for Ctrl-C; a closed pipe is no error."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cli.running import PROGRAM, Run, environment, read_until, reread, start
from reread.testing import a_prompt, a_reply, a_session


@pytest.fixture
def session(tmp_path: Path) -> Path:
    return a_session(a_prompt("hello"), a_reply("hi")).write(tmp_path / "projects")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["thinking"], "0 thoughts\n"),
        (["tools"], "no tool calls\n"),
        (["prompts", "--since", "2099-01-01"], "no prompts\n"),
        (["prompts", "--project", "nowhere", "--raw"], ""),
    ],
)
def test_an_empty_result_is_a_result(run: Run, session: Path, arguments: list[str], said: str) -> None:
    assert run(*arguments, "--source", session) == (0, said, "")


@pytest.mark.parametrize("command", ["", "list", "usage", "prompts", "tools", "thinking", "doctor", "doctor --strict"])
def test_a_folder_without_transcripts_is_an_empty_result_too(run: Run, tmp_path: Path, command: str) -> None:
    (tmp_path / "empty").mkdir()
    ran = run(*command.split(), "--source", tmp_path / "empty")
    assert ran.code == 0
    assert ran.out
    assert ran.err in ("", f"reread: no transcripts in {tmp_path / 'empty'}\n")


def test_an_empty_file_is_an_empty_session(run: Run, tmp_path: Path) -> None:
    (tmp_path / "nothing.jsonl").touch()
    ran = run("show", tmp_path / "nothing.jsonl")
    assert (ran.code, ran.err) == (0, "")
    assert "0 prompts" in ran.out


def test_strict_doctor_is_content_with_clean_files_and_new_record_types(run: Run, session: Path) -> None:
    with session.open("ab") as file:
        file.write(b'{"type":"brand-new","sessionId":"x"}\n')
    assert run("doctor", "--strict", "--source", session).code == 0


def test_strict_doctor_exits_with_1_on_damage_and_the_usual_one_does_not(run: Run, session: Path) -> None:
    with session.open("ab") as file:
        file.write(b'{"type":"user", broken\n')
    assert run("doctor", "--source", session).code == 0
    assert run("doctor", "--strict", "--source", session).code == 1


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for other processes")
def test_ctrl_c_ends_with_130_and_without_a_word(session: Path) -> None:
    process = start("show", session, "--follow")
    read_until(process, "Claude ▸ hi")
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (130, b"")


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX pipes")
def test_a_closed_pipe_ends_quietly(tmp_path: Path) -> None:
    turns = [entry for number in range(800) for entry in (a_prompt(f"prompt {number}"), a_reply("word " * 60))]
    path = a_session(*turns).write(tmp_path)
    process = subprocess.Popen(
        [*PROGRAM, "show", str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait(timeout=60) == 0
    process.stderr.close()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_is_one_sentence() -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [*PROGRAM, "demo", "tools"], stdout=full, stderr=subprocess.PIPE, env=environment(), check=False
        )
    assert done.returncode == 2
    assert done.stderr.count(b"\n") == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("option", ["-h", "--help"])
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_help_that_cannot_be_written_ends_as_every_answer_does(option: str, unbuffered: str) -> None:
    said = environment() | {"PYTHONUNBUFFERED": unbuffered}
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run([*PROGRAM, "list", option], stdout=full, stderr=subprocess.PIPE, env=said, check=False)
    assert (done.returncode, done.stderr) == (2, b"reread: No space left on device\n")
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run([*PROGRAM, "list", option], stdout=writer, stderr=subprocess.PIPE, env=said, check=False)
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows keeps a folder that somebody is in")
def test_a_current_folder_that_is_gone_is_named(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    script = 'cd work && rmdir ../work && exec "$0" -m reread restore a.py --source ..'
    done = subprocess.run(
        ["sh", "-c", script, sys.executable], cwd=tmp_path, capture_output=True, env=environment(), check=False
    )
    assert (done.returncode, done.stderr) == (2, b"reread: the current folder is gone; go to another one\n")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a POSIX shell")
def test_a_closed_standard_output_is_no_traceback() -> None:
    done = subprocess.run(
        ["sh", "-c", '"$0" -m reread demo tools >&-', sys.executable],
        stderr=subprocess.PIPE,
        env=environment(),
        check=False,
    )
    assert b"Traceback" not in done.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a POSIX shell")
def test_a_closed_standard_error_changes_no_answer() -> None:
    shell = '"$0" -m reread demo tools'
    closed, usual = (
        subprocess.run(["sh", "-c", line, sys.executable], stdout=subprocess.PIPE, env=environment(), check=False)
        for line in (f"{shell} 2>&-", shell)
    )
    assert (closed.returncode, closed.stdout) == (0, usual.stdout)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a POSIX shell")
@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("run", 2),
        ("run --jsonl hello --claude false", 2),
        ("live -", 0),
        ("hook install", 2),
        ("statusline", 0),
        ("mcp --source .", 0),
        ("archive forget @last --source .", 2),
    ],
)
def test_a_closed_standard_input_is_one_without_a_word(command: str, code: int, tmp_path: Path) -> None:
    done = subprocess.run(
        ["sh", "-c", f'"$0" -m reread --home home {command} <&-', sys.executable],
        capture_output=True,
        env=environment(HOME=str(tmp_path)),
        cwd=tmp_path,
        check=False,
    )
    assert b"Traceback" not in done.stderr, done.stderr.decode()
    assert done.returncode == code, done.stderr.decode()


def test_without_any_transcript_the_overview_is_a_demonstration(tmp_path: Path) -> None:
    ran = reread(HOME=str(tmp_path), USERPROFILE=str(tmp_path), XDG_CONFIG_HOME=str(tmp_path))
    assert ran.code == 0
    assert "demonstration" in ran.err
    assert "─── ▶ NOW ───" in ran.out


@pytest.mark.parametrize(
    "started",
    [
        ["-m", "cProfile", "-m", "reread", "--version"],
        ["-c", "from reread.cli.main import main; main(); print('function calls')", "--version"],
    ],
)
def test_whoever_runs_the_program_in_a_process_of_their_own_goes_on_afterwards(started: list[str]) -> None:
    done = subprocess.run([sys.executable, *started], capture_output=True, env=environment(), check=True)
    assert b"function calls" in done.stdout


def test_what_is_to_be_done_at_the_end_is_done(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import atexit\natexit.register(print, 'at the end')\n")
    ran = reread("--version", PYTHONPATH=os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    assert ran.out.splitlines()[-1] == "at the end"
