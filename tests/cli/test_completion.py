"""The completion scripts are valid, and offer every command with its options."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cli.kept import Kept
from cli.running import Run
from reread.cli.main import COMMANDS
from reread.testing import a_prompt, a_reply, a_session, a_tool_call


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
        ("reread --store postgresql : //db/team sea", ["search"]),
        ("reread --home sea", []),
        ("reread export --format mark", ["markdown"]),
        ("reread usage --json mon", ["month"]),
        ("reread retro --by co", ["cost", "count"]),
        ("reread search --in pro", ["prompt"]),
        ("reread show --around sea", []),
        ("reread export --format = mark", ["markdown"]),
        ("reread archive restore --t", ["--timezone", "--to"]),
        ("reread demo usage mo", ["model", "month"]),
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


@pytest.fixture
def home(run: Run, tmp_path: Path) -> Path:
    """An archive with two sessions, a tag and a project with a space in its name."""
    for name, folder in (("aaaa-first", "/home/ann/my lantern"), ("aabb-second", "/home/ann/harbour")):
        call = a_tool_call("Bash", {"command": "ls"})
        a_session(a_prompt(f"about {name}"), a_reply(call), id=name, cwd=folder).write(tmp_path / "claude" / "projects")
    kept = Kept(run, tmp_path / "claude", tmp_path / "archive")
    assert kept("mark", "aaaa-first", "--tag", "flaky").code == 0
    return kept.home


def test_what_the_archive_knows_is_offered(run: Run, home: Path) -> None:
    def values(*given: str) -> list[str]:
        ran = run("completion", "--values", *given, "--home", home)
        assert ran.code == 0
        return [line.partition("\t")[0] for line in ran.out.splitlines()]

    assert sorted(values("sessions", "aa")) == ["aaaa-first", "aabb-second"]
    assert values("sessions")[:3] == ["@last", "@2", "@3"]
    assert "about aaaa-first" in run("completion", "--values", "sessions", "aaa", "--home", home).out
    assert values("sessions", "zz") == []
    assert (values("sessions", "@"), values("sessions", "@la")) == (["@last", "@2", "@3"], ["@last"])
    assert sorted(values("projects")) == ["harbour", "my lantern"]
    assert values("projects", "HAR") == ["harbour"]
    assert values("projects", r"my\ la") == values("projects", "'my la") == ["my lantern"]  # as shells hand it over
    assert (values("tags"), values("tools")) == (["flaky"], ["Bash"])


def test_asking_makes_no_archive_and_no_noise(run: Run, tmp_path: Path) -> None:
    ran = run("completion", "--values", "sessions", "--home", tmp_path / "none")
    assert (ran.code, ran.out, ran.err) == (0, "", "")
    assert not (tmp_path / "none").exists()
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "reread.db").write_bytes(b"no database" * 100)
    assert run("completion", "--values", "tags", "--home", tmp_path / "bad").err == ""
    assert "sessions" in run("completion", "--values", "planets").err


@pytest.mark.skipif(not shutil.which("bash"), reason="needs bash")
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("show aab", ["aabb-second"]),
        ("show @", ["@last", "@2", "@3"]),
        ("show @ la", ["@last"]),  # as bash breaks words
        ("run --resume @ la", ["@last"]),
        ("run --resume =@ la", ["@last"]),
        ("--home {home} show aaa", ["aaaa-first"]),
        ("--home={home} show aaa", ["aaaa-first"]),
        ("show --home='{home}' aaa", ["aaaa-first"]),
        ("list --project my", ["my lantern"]),
        ("list --tag fl", ["flaky"]),
        ("tools --tool B", ["Bash"]),
        ("show --aro", ["--around"]),
        ("archive restore aab", ["aabb-second"]),
        ("list --project = my", ["my lantern"]),
        ("export aaaa-first --format =", ["html", "markdown", "obsidian", "json", "jsonl", "sqlite"]),
    ],
)
def test_bash_asks_the_archive(run: Run, home: Path, words: str, offered: list[str], tmp_path: Path) -> None:
    given = ["reread", *words.format(home=home).split()]
    program = f'reread() {{ "{sys.executable}" -m reread "$@"; }}\n'
    script = (
        program
        + run("completion", "bash").out
        + f"COMP_WORDS=({shlex.join(given)}); COMP_CWORD={len(given) - 1}; _reread\n"
        + "printf '%s\\n' \"${COMPREPLY[@]}\"\n"
    )
    environ = {**os.environ, "REREAD_HOME": str(tmp_path / "none" if "{home}" in words else home)}
    done = subprocess.run(["bash"], input=script, text=True, capture_output=True, check=True, cwd=tmp_path, env=environ)
    assert done.stdout.splitlines() == offered


@pytest.mark.skipif(not shutil.which("zsh"), reason="needs zsh")
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("--home {home} show aaa", "aaaa-first"),
        ("show --home={home} aaa", "aaaa-first"),
        ("--home='{home}' show aaa", "aaaa-first"),
        ("--store postgresql://db/team archive ver", "verify"),
    ],
)
def test_zsh_completes(run: Run, home: Path, words: str, offered: str, tmp_path: Path) -> None:
    given = ["reread", *words.format(home=home).split()]
    script = (
        f'reread() {{ "{sys.executable}" -m reread "$@"; }}\n'
        + "compdef() {}; _files() {}\n"
        + 'compadd() { if [ "$1" = -a ]; then print -l -- "${(@P)2}"; else print -l -- "$@"; fi; }\n'
        + run("completion", "zsh").out
        + f"words=({shlex.join(given)}); CURRENT={len(given)}; PREFIX={given[-1]}; _reread\n"
    )
    done = subprocess.run(["zsh", "-f"], input=script, text=True, capture_output=True, check=True, cwd=tmp_path)
    assert offered in done.stdout.splitlines()


@pytest.mark.skipif(not shutil.which("fish"), reason="needs fish")
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (
            "li",
            [
                "list\tlist sessions: when, where, title, cost",
                "live\twatch running sessions, or a stream on standard input",
            ],
        ),
        ("--home HOME sh", ["show\tshow a conversation: prompts, replies, thinking, tool calls, subagents"]),
        ("--home HOME show aaa", ["aaaa-first\tabout aaaa-first"]),
        ("show --home=HOME aaa", ["aaaa-first\tabout aaaa-first"]),
        ("archive restore --t", ["--timezone", "--to"]),
        ("--home HOME archive restore aab", ["aabb-second\tabout aabb-second"]),
        ("search list --i", ["--in"]),
        ("demo usage mo", ["model", "month"]),
        ("--home HOME list --project=my", ["--project=my lantern\t/home/ann/my lantern"]),
        ("--home HOME list -p har", ["harbour\t/home/ann/harbour"]),
        ("READ", []),
    ],
)
def test_fish_completes(run: Run, home: Path, words: str, offered: list[str], tmp_path: Path) -> None:
    (tmp_path / "README").touch()
    script = (
        f'function reread; "{sys.executable}" -m reread $argv; end\n'
        + run("completion", "fish").out
        + f"complete -C 'reread {words.replace('HOME', str(home))}'\n"
    )
    environ = {**os.environ, "HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    done = subprocess.run(["fish"], input=script, text=True, capture_output=True, check=True, cwd=tmp_path, env=environ)
    assert done.stdout.splitlines() == offered


@pytest.mark.parametrize("arguments", [[], ["powershell"], ["bash", "zsh"]])
def test_another_shell_is_refused(run: Run, arguments: list[str]) -> None:
    ran = run("completion", *arguments)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
