"""What nearly every command can be told may stand before the command, too."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest

from cli.kept import Kept
from cli.running import Run
from reread.cli import main, options
from reread.cli.main import COMMANDS, OTHER_NAMES, word_first


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("list", "list"),
        ("--json list --limit 3", "list --json --limit 3"),
        ("--home /a list", "list --home /a"),
        ("--home=/a --source /b --source /c usage day", "usage --home=/a --source /b --source /c day"),
        ("--timezone UTC --no-sync --jsonl live -", "live --timezone UTC --no-sync --jsonl -"),
        ("list --home /a", "list --home /a"),
        ("--home list", "--home list"),
        ("--json", "--json"),
        ("--hidden list", "--hidden list"),
        ("--jsonx list", "--jsonx list"),
        ("--json=1 list", "--json=1 list"),
        ("--home --json list", "list --home --json"),
        ("", ""),
    ],
)
def test_the_first_word_comes_first(given: str, meant: str) -> None:
    assert word_first(given.split()) == meant.split()


@pytest.mark.parametrize("command", ["list", "usage day", "archive status", "search lantern", "doctor"])
def test_they_mean_the_same_before_and_behind_a_command(kept: Kept, command: str) -> None:
    words = command.split()
    places = ["--home", str(kept.home), "--source", str(kept.claude), "--timezone", "UTC", "--json"]
    kept("sync")
    before = kept.run(*places, *words)
    assert before.code == 0
    assert json.loads(before.out)
    assert before == kept.run(*words, *places)


def test_the_home_before_a_command_is_the_one_that_is_used(run: Run, kept: Kept, tmp_path: Path) -> None:
    assert run("--home", kept.home, "--source", kept.claude, "sync").code == 0
    assert (kept.home / "reread.db").exists()
    other = tmp_path / "other"
    ran = run(f"--home={other}", "--no-sync", "--json", "list", "--source", kept.claude)
    assert json.loads(ran.out)["sessions"] == []


def test_they_may_stand_before_the_command_of_a_demonstration(run: Run) -> None:
    told = json.loads(run("--json", "demo", "tools").out)
    assert told == json.loads(run("demo", "--json", "tools").out) == json.loads(run("demo", "tools", "--json").out)
    assert run("--json", "demo", "run").code == 2


def test_a_word_behind_them_that_is_no_command_is_told(run: Run, tmp_path: Path) -> None:
    ran = run("--home", tmp_path, "lst")
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert "no command 'lst'" in ran.err
    assert "did you mean list?" in ran.err


@pytest.mark.parametrize(
    ("arguments", "refused"),
    [(["--json", "serve"], "--json"), (["--jsonl", "list"], "--jsonl"), (["--home"], "--home: expected one argument")],
)
def test_one_that_a_command_does_not_have_is_refused(run: Run, arguments: list[str], refused: str) -> None:
    ran = run(*arguments)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert refused in ran.err


def test_the_general_help_names_them(run: Run) -> None:
    said = run("--help").out
    assert not [option for option in (*main.WITH_VALUE, *main.FLAGS) if f"\n  {option} " not in said]


def test_the_general_help_fits_the_terminal(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    lines = run("--help").out.splitlines()
    named = lines[lines.index("commands:") + 1 :]
    commands = named[: named.index("")]
    assert max(map(len, commands)) <= 60
    assert {line[12:14] for line in commands} == {"  "}, "what they do stands in one column"
    assert {line[14] for line in commands} & {" "} == set()


def test_what_help_says_fits_an_ordinary_terminal(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Examples, too: a line to copy goes on behind a backslash."""
    monkeypatch.setenv("COLUMNS", "80")
    actions = [
        f"{name} {action}" for name in ("archive", "lake", "team") for action in main.module_of(name).ACTIONS.actions
    ]
    wide = [
        f"{name}: {line}"
        for name in ("", *COMMANDS, *actions)
        for line in run(*name.split(), "--help").out.splitlines()
        if len(line) > 80
    ]
    assert wide == []


def test_no_sync_is_taken_by_every_command_that_the_general_help_offers_it_for(run: Run) -> None:
    refused = [
        name
        for name in COMMANDS
        if name not in ("sync", "demo", "completion", "statusline")
        and "--no-sync" not in parser_of(name)._option_string_actions
    ]
    assert refused == []
    assert run("sync", "--no-sync").code == 2, "it would do nothing"


def test_watch_leads_to_follow(run: Run) -> None:
    assert "did you mean --follow?" in run("show", "@last", "--watch").err
    assert "did you mean --follow?" in run("thinking", "--watch").err


def test_what_is_said_about_an_example_goes_below_it_if_there_is_no_room(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    command, about = (
        "  reread retro apply 2 ",
        "put the second of them where it belongs: shows the diff, asks, backs up",
    )
    assert [line for line in run("retro", "-h").out.splitlines() if line.startswith(command) and about in line]
    monkeypatch.setenv("COLUMNS", "80")
    lines = run("retro", "-h").out.splitlines()
    assert lines[lines.index(command.rstrip()) + 1] == f"      {about}"
    assert "  reread retro @last                        one session" in lines


def test_help_of_a_command_can_be_asked_for_by_a_word(run: Run) -> None:
    assert run("help", "list").out == run("list", "--help").out
    assert run("help").out == run("--help").out == run("help", "help").out
    assert run("help", "archive", "verify").out == run("archive", "verify", "--help").out
    assert run("archive", "help").out == run("archive", "--help").out
    assert run("archive", "help", "verify").out == run("archive", "verify", "--help").out


def test_what_other_programs_call_a_command_leads_to_one_that_is_there() -> None:
    assert {name.split()[0] for name in OTHER_NAMES.values()} <= set(COMMANDS)
    assert not set(OTHER_NAMES) & set(COMMANDS)


def test_what_other_programs_call_an_option_leads_to_one_that_is_there() -> None:
    for command, others in options.OTHER_OPTIONS.items():
        known = set(parser_of(command)._option_string_actions) if command else set()
        assert not known & set(others), command
        assert {other.split()[0] for other in others.values() if command and other.startswith("--")} <= known


def parser_of(command: str) -> options.Parser:
    made: options.Parser = getattr(main.module_of(command), f"{command}_parser")()
    return made


def test_the_options_of_every_command_are_the_common_ones() -> None:
    """One that is added to all parsers alone would be refused before a command."""
    made = {*options.make_parser("x", "", "")._option_string_actions}
    made |= {*options.make_parser("x", "", "", is_stream=True)._option_string_actions}
    assert made - {"-h", "--help"} == {*main.WITH_VALUE, *main.FLAGS, *main.SHORT.values()}


def test_the_short_help_leaves_out_what_commands_share(run: Run) -> None:
    short, long = run("list", "-h").out, run("list", "--help").out
    assert "--hidden" in short
    assert "examples:" in short
    assert "--since WHEN" not in short
    assert "--home" not in short
    assert "`reread list --help` lists filters and common options as well." in short
    assert "`reread machine --help` lists common options as well." in run("machine", "-h").out, "it has no filters"
    assert "--since WHEN" in long
    assert "--home" in long
    assert long.startswith("usage: reread list [OPTIONS]\n")


def test_the_usage_line_names_what_a_command_takes(run: Run) -> None:
    assert run("mark", "--help").out.startswith("usage: reread mark [OPTIONS] [SESSION ...]\n")
    assert run("projects", "--help").out.startswith("usage: reread projects [OPTIONS] [{move,unmove}] [FOLDER ...]\n")
    assert run("team", "init", "--help").out.startswith("usage: reread team init [OPTIONS] [URL]\n")


def test_an_action_that_takes_no_name_of_a_value_is_given_none() -> None:
    class Switch(argparse.Action):  # as argparse.BooleanOptionalAction of Python 3.14 and later
        def __init__(self, option_strings: list[str], dest: str, help: str | None = None) -> None:  # noqa: A002
            super().__init__(option_strings, dest, nargs=0, help=help)

        def __call__(self, _parser: object, namespace: argparse.Namespace, *_: object) -> None:
            setattr(namespace, self.dest, True)

    made = options.make_parser("show", "Shows.", "")
    made.option("--thinking", "show thinking", action=Switch)
    assert made.parse_args(["--thinking"]).thinking is True
