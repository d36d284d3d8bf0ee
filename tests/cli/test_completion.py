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
def test_a_script_parses(run: Run, shell: str) -> None:
    ran = run("completion", shell)
    assert (ran.code, "completion --line" in ran.out) == (0, True)
    if shutil.which(shell):
        done = subprocess.run([shell, "-n"], input=ran.out, text=True, capture_output=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")


def offered(run: Run, line: str) -> list[str]:
    ran = run("completion", "--line", line)
    assert (ran.code, ran.err) == (0, "")
    return [each.partition("\t")[0] for each in ran.out.splitlines()]


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "completion"])
def test_every_command_is_offered_with_its_options(run: Run, command: str) -> None:
    assert command in offered(run, f"reread {command[:-1]}")
    if command != "demo":
        assert "--help" in offered(run, f"reread {command} --h")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("reread sea", ["search"]),
        ("reread show --aro", ["--around"]),
        ("reread archive ver", ["verify"]),
        ("reread archive restore --t", ["--timezone", "--to"]),
        ("reread completion z", ["zsh"]),
        ("reread --no-s", ["--no-sync"]),
        ("reread --home /somewhere --json sea", ["search"]),
        ("reread --home=/somewhere sea", ["search"]),
        ("reread --store postgresql://db/team sea", ["search"]),
        ("reread --home sea", [":files"]),
        ("reread show --around sea", [":files"]),
        ("reread usage --json mon", ["month"]),
        ("reread usage --json --project='a b' mon", ["month"]),
        ("reread retro --by co", ["cost", "count"]),
        ("reread search --in pro", ["prompt"]),
        ("reread export --format mark", ["markdown"]),
        ("reread export --format=mark", ["--format=markdown"]),
        ("reread demo usage mo", ["month", "model"]),
        ("reread demo dem", []),
        ("reread nonsense x", [":files"]),
    ],
)
def test_what_may_stand_at_the_end_of_a_line(run: Run, line: str, words: list[str]) -> None:
    assert offered(run, line) == words


@pytest.fixture
def home(run: Run, tmp_path: Path) -> Path:
    """An archive with two sessions, a tag and a project with a space in its name."""
    for name, folder in (("aaaa-first", "/home/ann/my lantern"), ("aabb-second", "/home/ann/harbour")):
        call = a_tool_call("Bash", {"command": "ls"})
        a_session(a_prompt(f"about {name}"), a_reply(call), id=name, cwd=folder).write(tmp_path / "claude" / "projects")
    kept = Kept(run, tmp_path / "claude", tmp_path / "archive")
    assert kept("mark", "aaaa-first", "--tag", "flaky").code == 0
    return kept.home


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("show aa", ["aaaa-first", "aabb-second", ":files"]),
        ("show ", ["@last", "@2", "@3", "aaaa-first", "aabb-second", ":files"]),
        ("show @la", ["@last", ":files"]),
        ("show zz", [":files"]),
        ("run --resume=@la", ["--resume=@last"]),
        ("archive restore aab", ["aabb-second", ":files"]),
        ("list --project HAR", ["harbour"]),
        ("list --project my\\ la", ["my lantern"]),
        ("list --project 'my la", ["my lantern"]),
        ("list --project=my", ["--project=my lantern"]),
        ("list --tag fl", ["flaky"]),
        ("tools --tool B", ["Bash"]),
    ],
)
def test_what_the_archive_knows_is_offered(run: Run, home: Path, line: str, words: list[str]) -> None:
    assert offered(run, f"reread --home {home} {line}") == words


def test_asking_makes_no_archive_and_no_noise(run: Run, tmp_path: Path) -> None:
    assert offered(run, f"reread show --home {tmp_path / 'none'} ") == [":files"]
    assert not (tmp_path / "none").exists()
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "reread.db").write_bytes(b"no database" * 100)
    assert offered(run, f"reread list --home={tmp_path / 'bad'} --tag ") == []


@pytest.mark.skipif(not shutil.which("bash"), reason="needs bash")
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("sea", ["search"]),
        ("show aab", ["aabb-second"]),
        ("show @", ["@last", "@2", "@3"]),
        ("run --resume=@la", ["@last"]),  # what stands before the = is another word for bash
        ("--home={home} show aaa", ["aaaa-first"]),
        ("show --home='{home}' aaa", ["aaaa-first"]),
        ("list --project my", ["my lantern"]),
        ("list --project=my", ["my lantern"]),
        ("export aaaa-first --format=", ["html", "markdown", "obsidian", "json", "jsonl", "sqlite"]),
        ("show READ", ["README"]),
        ("--home READ", ["README"]),
        ("READ", []),
    ],
)
def test_bash_completes(run: Run, home: Path, words: str, offered: list[str], tmp_path: Path) -> None:
    (tmp_path / "README").touch()
    line = f"reread {words.format(home=home)}"
    script = (
        f'reread() {{ "{sys.executable}" -m reread "$@"; }}\n'
        + run("completion", "bash").out
        + f"COMP_LINE={shlex.quote(line)}; COMP_POINT={len(line)}; _reread\n"
        + "printf '%s\\n' \"${COMPREPLY[@]}\"\n"
    )
    environ = {**os.environ, "REREAD_HOME": str(tmp_path / "none" if "{home}" in words else home)}
    done = subprocess.run(["bash"], input=script, text=True, capture_output=True, check=True, cwd=tmp_path, env=environ)
    assert done.stdout.strip("\n").splitlines() == offered


@pytest.mark.skipif(not shutil.which("zsh"), reason="needs zsh")
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("--home {home} show aaa", "aaaa-first:about aaaa-first"),
        ("show --home={home} aaa", "aaaa-first:about aaaa-first"),
        ("--store postgresql://db/team archive ver", "verify"),
        ("--home {home} list --project=my", "my lantern:/home/ann/my lantern"),
    ],
)
def test_zsh_completes(run: Run, home: Path, words: str, offered: str, tmp_path: Path) -> None:
    given = ["reread", *words.format(home=home).split()]
    script = (
        f'reread() {{ "{sys.executable}" -m reread "$@"; }}\n'
        + "compdef() {}; compset() {}; _files() {}\n"
        + '_describe() { print -l -- "${(@P)3}"; }\n'
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
        ("demo usage mo", ["month", "model"]),
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
