"""The completion scripts are valid, and offer every command with its options."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from cli.running import Run
from reread.cli.main import COMMANDS


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_parses_and_names_every_command(run: Run, shell: str) -> None:
    ran = run("completion", shell)
    assert ran.code == 0
    assert not [name for name in COMMANDS if name not in ran.out]
    assert "around" in ran.out
    if shutil.which(shell):
        done = subprocess.run([shell, "-n"], input=ran.out, text=True, capture_output=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not shutil.which("bash"), reason="needs bash")
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("reread sea", ["search"]),
        ("reread show --aro", ["--around"]),
        ("reread archive ver", ["verify"]),
        ("reread completion z", ["zsh"]),
        ("reread search --no-s", ["--no-sync"]),
        ("reread --no-s", ["--no-sync"]),
        ("reread --home /somewhere --json sea", ["search"]),
        ("reread --home = /somewhere sea", ["search"]),
        ("reread --home /somewhere show --aro", ["--around"]),
        ("reread --home sea", []),
    ],
)
def test_bash_completes(run: Run, words: str, offered: list[str], tmp_path: Path) -> None:
    given = words.split()
    script = (
        run("completion", "bash").out
        + f"COMP_WORDS=({words}); COMP_CWORD={len(given) - 1}; _reread; printf '%s\\n' \"${{COMPREPLY[@]}}\"\n"
    )
    done = subprocess.run(["bash"], input=script, text=True, capture_output=True, check=True, cwd=tmp_path)
    assert done.stdout.split() == offered


@pytest.mark.parametrize("arguments", [[], ["powershell"], ["bash", "zsh"]])
def test_another_shell_is_refused(run: Run, arguments: list[str]) -> None:
    ran = run("completion", *arguments)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
