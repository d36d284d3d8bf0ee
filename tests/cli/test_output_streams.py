"""What goes into a pipe, a file, a terminal or a pager, whatever the machine's settings say."""

from __future__ import annotations

import asyncio
import ctypes
import errno
import json
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cli.kept import Kept
from cli.running import PROGRAM, Run, environment, on_terminal, reread
from cli.terminals import Terminal
from reread.cli import keyboard
from reread.cli.options import _until_closed, command_words
from reread.cli.streams import is_closed_pipe
from reread.config import console_obeys, make_config
from reread.errors import BadInput
from reread.testing import a_prompt, a_reply, a_session

WORDS = "Grüße — 灯笼 🏮"
NARROW = [
    {"PYTHONIOENCODING": "cp1252"},
    {"PYTHONIOENCODING": "ascii"},
    {"LC_ALL": "POSIX", "PYTHONCOERCECLOCALE": "0"},
]


def raw_output(*arguments: str | Path, **changes: str) -> bytes:
    env = environment(**{"PYTHONUTF8": "0", **changes})
    return subprocess.run([*PROGRAM, *map(str, arguments)], capture_output=True, env=env, check=True).stdout


@pytest.mark.parametrize("settings", NARROW, ids=str)
def test_output_into_a_pipe_is_utf8_whatever_the_locale(settings: dict[str, str], tmp_path: Path) -> None:
    path = a_session(a_prompt(WORDS), a_reply("ja")).write(tmp_path)
    assert WORDS in str(json.loads(raw_output("show", path, "--json", **settings).decode()))
    assert WORDS in raw_output("show", path, **settings).decode()
    page = raw_output("export", path, **settings).decode()
    assert WORDS in page
    assert 'charset="utf-8"' in page


@pytest.mark.skipif(sys.platform == "win32", reason="needs pty")
def test_a_terminal_of_another_encoding_gets_what_it_can_show(tmp_path: Path) -> None:
    path = a_session(a_prompt("caf\N{LATIN SMALL LETTER E WITH ACUTE} 灯")).write(tmp_path)
    shown = on_terminal("show", path, changes={"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"})
    assert "caf\\xe9 \\u706f" in shown


def test_utc_needs_no_database_of_time_zones(tmp_path: Path) -> None:
    path = a_session(a_prompt("hello")).write(tmp_path)
    without = "import sys, zoneinfo\nzoneinfo.reset_tzpath([])\nsys.modules['tzdata'] = None\n"
    script = f"{without}from reread.cli.main import main\nsys.exit(main(['show', {str(path)!r}, '--timezone', 'UTC']))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, env=environment(), check=False)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize(
    ("settings", "is_coloured"),
    [
        ({}, False),
        ({"FORCE_COLOR": "1"}, True),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        ({"FORCE_COLOR": "0"}, False),
    ],
)
def test_colours_in_a_pipe_only_where_they_are_asked_for(
    settings: dict[str, str], is_coloured: bool, tmp_path: Path
) -> None:
    path = a_session(a_prompt("hello"), a_reply("hi")).write(tmp_path)
    assert ("\x1b[" in reread("show", path, **settings).out) is is_coloured


def test_force_color_0_is_no_on_a_terminal_too() -> None:
    assert not make_config(["."], None, environ={"FORCE_COLOR": "0"}).colour


def test_a_dash_is_standard_output(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = a_session(a_prompt("hello")).write(tmp_path / "projects")
    ran = run("export", path, "--format", "markdown", "-o", "-")
    assert ran == run("export", path, "--format", "markdown")
    assert "hello" in ran.out
    assert not (tmp_path / "-").exists()


def test_what_people_type_without_looking(kept: Kept) -> None:
    kept("sync")
    assert kept("list", "-n", "1", "-j") == kept("list", "--limit", "1", "--json")
    assert kept("list", "-n", "1", "-j").code == 0
    assert kept("list", "-p", "nowhere") == kept("list", "--project", "nowhere")
    assert kept.run("-j", "list", "--home", kept.home, "--source", kept.claude) == kept("list", "--json")


@pytest.fixture
def pager(tmp_path: Path) -> str:
    """A program that says what it was given, and then that it is done."""
    script = tmp_path / "pager.py"
    script.write_text(
        "import sys\nlines = sys.stdin.readlines()\nprint(f'PAGED {len(lines)} lines, {lines[0].strip()}')\n", "utf-8"
    )
    return f"{sys.executable} {script}"


@pytest.mark.skipif(sys.platform == "win32", reason="needs pty")
def test_a_session_on_a_terminal_goes_through_the_pager(tmp_path: Path, pager: str) -> None:
    path = a_session(a_prompt("a lantern"), a_reply("hi")).write(tmp_path)
    with Terminal("show", path, changes={"PAGER": pager}) as terminal:
        terminal.wait_for("PAGED ")
        assert terminal.end() == 0
    for given in (["--no-pager"], ["--json"]):
        with Terminal("show", path, *given, columns=300, changes={"PAGER": pager}) as terminal:
            terminal.wait_for("a lantern")
            assert terminal.end() == 0
            assert not any("PAGED" in row for row in terminal.rows)
    assert "PAGED" not in reread("show", path, PAGER=pager).out


@pytest.mark.skipif(sys.platform == "win32", reason="needs pty")
@pytest.mark.parametrize("named", ["", "cat", "no-such-pager"])
def test_no_pager_is_no_trouble(named: str, tmp_path: Path) -> None:
    path = a_session(a_prompt("a lantern")).write(tmp_path)
    with Terminal("show", path, changes={"PAGER": named}) as terminal:
        terminal.wait_for("a lantern")
        assert terminal.end() == 0


@pytest.mark.skipif(sys.platform == "win32", reason="needs pty")
def test_a_pager_is_told_that_it_gets_utf_8(tmp_path: Path) -> None:
    """Without a locale `less` shows every other letter as numbers."""
    path = a_session(a_prompt("a lantern")).write(tmp_path)
    with Terminal("show", path, changes={"PAGER": "sh -c 'echo $LESS $LESSCHARSET'", "LC_ALL": "C"}) as terminal:
        assert terminal.end() == 0
        assert any("FRX utf-8" in row for row in terminal.rows)


@pytest.mark.skipif(sys.platform == "win32", reason="needs pty")
def test_a_pager_that_is_left_early_is_no_error(tmp_path: Path) -> None:
    talk = [each for number in range(3000) for each in (a_prompt(f"prompt {number}"), a_reply("yes " * 40))]
    path = a_session(*talk).write(tmp_path)
    with Terminal("show", path, changes={"PAGER": "head -n 3"}) as terminal:
        assert terminal.end(60) == 0
        assert not any("Traceback" in row or "reread:" in row for row in terminal.rows)


def test_windows_calls_a_reader_that_is_gone_an_invalid_argument(monkeypatch: pytest.MonkeyPatch) -> None:
    gone = OSError(errno.EINVAL, "Invalid argument")
    assert is_closed_pipe(BrokenPipeError())
    assert not is_closed_pipe(gone)
    monkeypatch.setattr(sys, "platform", "win32")
    assert is_closed_pipe(gone)
    assert not is_closed_pipe(OSError(errno.EINVAL, "Invalid argument", "a:b"))
    with _until_closed():
        raise gone


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (r'"C:\Program Files\vi\vi.exe" -n', [r"C:\Program Files\vi\vi.exe", "-n"]),
        (r"C:\bin\less.exe -R", [r"C:\bin\less.exe", "-R"]),
    ],
)
def test_a_program_of_windows_may_stand_in_quotes(
    command: str, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    assert command_words(command) == words


@pytest.mark.parametrize("platform", ["linux", "win32"])
def test_half_a_quotation_is_no_command(platform: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    with pytest.raises(BadInput, match="is no command: no closing quotation"):
        command_words('"less -R')


@pytest.mark.parametrize(("knows", "can"), [(True, 1), (True, 0), (False, 1)])
def test_a_console_of_windows_is_asked_to_obey_colours(knows: bool, can: int, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, int]] = []

    def get_mode(_stream: int, mode: Any) -> int:
        mode._obj.value = 3
        return int(knows)

    def set_mode(stream: int, mode: int) -> int:
        asked.append((stream, mode))
        return can

    console = SimpleNamespace(GetStdHandle=abs, GetConsoleMode=get_mode, SetConsoleMode=set_mode)
    fake = SimpleNamespace(windll=SimpleNamespace(kernel32=console), c_ulong=ctypes.c_ulong, byref=ctypes.byref)
    monkeypatch.setattr("reread.config.ctypes", fake)
    assert console_obeys("win32") is (knows and bool(can))
    assert asked == ([(11, 7), (12, 7)] if knows else [])
    assert console_obeys("linux")


def test_arrows_and_function_keys_of_windows_count_as_none(monkeypatch: pytest.MonkeyPatch) -> None:
    typed = list("\xe0Q\x00yn")  # Page Down, Alt-2, n
    console = SimpleNamespace(kbhit=lambda: bool(typed), getwch=lambda: typed.pop(0))
    monkeypatch.setitem(sys.modules, "msvcrt", console)
    monkeypatch.setattr(sys, "platform", "win32")
    spec = spec_from_file_location("windows_keyboard", keyboard.__file__)
    assert spec is not None
    assert spec.loader is not None
    windows = module_from_spec(spec)
    spec.loader.exec_module(windows)
    assert asyncio.run(windows.Keyboard().key()) == "n"
    typed.append("\xe0")  # the letter à
    assert asyncio.run(windows.Keyboard().key()) == "à"
