"""Whatever is asked wrongly ends with one sentence on stderr, exit code 2, and nothing on stdout."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from cli.running import Ran, Run, reread, reread_as_nobody
from reread.billing import Prices
from reread.loading import SourceTree
from reread.testing import a_prompt, a_reply, a_session

FIRST = "11111111-aaaa-4000-8000-000000000001"
SECOND = "11111111-bbbb-4000-8000-000000000002"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Two sessions whose ids begin alike; the second was spoken later."""
    folder = tmp_path / "projects"
    for age, (name, text) in enumerate(((SECOND, "the second"), (FIRST, "the first"))):
        path = a_session(a_prompt(text), a_reply(f"answer to {text}"), id=name).write(folder)
        os.utime(path, (1_790_000_000 - age, 1_790_000_000 - age))
    return folder


def assert_refused(ran: Ran, *words: str) -> None:
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("reread: ")
    assert ran.err.count("\n") == 1, ran.err
    assert not [word for word in words if word not in ran.err], ran.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["shwo"], ["no command 'shwo'", "did you mean show?"]),
        (["xyzzy"], ["no command 'xyzzy'", "reread --help"]),
        (["sessions"], ["no command 'sessions'", "did you mean list?"]),
        (["find", "words"], ["no command 'find'", "did you mean search?"]),
        (["help", "lst"], ["no command 'lst'", "did you mean list?"]),
        (["list", "--projct", "api"], ["unrecognized arguments: --projct api", "did you mean --project?"]),
        (["list", "--tol=Edit"], ["unrecognized arguments: --tol=Edit", "did you mean --tool?"]),
        (["daily"], ["no command 'daily'", "did you mean usage daily?"]),  # what ccusage calls them
        (["blocks"], ["did you mean usage blocks?"]),
        (["session"], ["did you mean list or usage session?"]),
        (["-n", "5", "list"], ["did you mean reread list -n 5?"]),
        (["--since", "7d", "usage", "week"], ["did you mean reread usage --since 7d week?"]),
        (["usage", "daily", "--order", "desc"], ["the order is fixed"]),
        (["usage", "--offline"], ["nothing asks the network"]),
        (["usage", "-b"], ["did you mean --breakdown?"]),
        (["usage", "--mode", "display"], ["did you mean --cost?"]),
        (["list", "-L", "5"], ["did you mean --limit?"]),  # gh's
        (["list", "--json", "id,title"], ["--json prints every field"]),
        (["list", "--jq", ".sessions"], ["did you mean --json | jq?"]),
        (["search", "-i", "words"], ["case never matters"]),  # ripgrep's
        (["search", "-C3", "words"], ["shows it in context"]),
        (["search", "-e", "words"], ["did you mean --regex?"]),
        (["search", "parser", "-cobol"], ["-cobol", "stands in quotes: 'word -cobol'"]),
        (["projects", "--sort", "cost"], ["unrecognized arguments: --sort", "the order is fixed"]),
        (["budget", "--machine", "desk"], ["unrecognized arguments: --machine"]),
        (["budget", "year", "5"], ["'year' is not one of day, week, month"]),
        (["sql", "--tables"], ["did you mean --schema?"]),  # sqlite-utils'
        (["usage", "session", "3f2a"], ["`reread explain 3f2a` is about one session"]),
        (["cache", "week"], ["`reread cache --by week`"]),
        (["list", "api"], ["did you mean --project api?"]),
        (["--verison"], ["did you mean --version?"]),
        (["archive", "verfy"], ["there is no action 'verfy'; choose from status, verify"]),
        (["archive"], ["name an action: status, verify"]),
        (["archive", "--timezone", "UTC"], ["name an action: status, verify"]),
        (["run", "-i"], ["--interactive needs a terminal"]),
        (["team", "init", "mydb"], ["'mydb' is not the address of a database", "postgresql://"]),
        (["--jsn"], ["unrecognized arguments: --jsn", "did you mean --json?"]),
        (["--bogus"], ["--bogus"]),
        (["show"], ["SESSION", "reread show --help"]),
        (["show", "a", "b"], ["unrecognized arguments: b"]),
        (["show", "missing.jsonl"], ["missing.jsonl", "no such file"]),
        (["show", "no/such/folder"], ["no such file"]),
        (["show", "11", "--source", "SOURCE"], ["'11' could be any of 2", FIRST, SECOND]),
        (["show", "zzz", "--source", "SOURCE"], ["no session 'zzz'", "SOURCE"]),
        (["show", "@9", "--source", "SOURCE"], ["no session '@9'"]),
        (["show", "@0", "--source", "SOURCE"], ["no session '@0'"]),
        (["show", "@latest", "--source", "SOURCE"], ["no session '@latest'", "the newest is @last"]),
        (["show", "last", "--source", "SOURCE"], ["no session 'last'", "the newest is @last"]),
        (["show", "@last", "--source", "SOURCE", "--turns", "x"], ["--turns 'x'", "3-7"]),
        (["show", "@last", "--source", "SOURCE", "--turns", "3-1"], ["--turns '3-1'", "before"]),
        (["show", "@last", "--source", "SOURCE", "--turns", "-3"], ["--turns"]),
        (["show", "@last", "--source", "SOURCE", "--branch", "zz"], ["no branch", "'zz'", "main"]),
        (["show", "@last", "--source", "SOURCE", "--tools", "some"], ["--tools", "'some'"]),
        (["prompts", "--source", "SOURCE", "--since", "soon"], ["--since 'soon'", "7d"]),
        (["prompts", "--source", "SOURCE", "--until", "2026-13-40"], ["--until '2026-13-40'"]),
        (["prompts", "--source", "SOURCE", "--since", "2d", "--until", "3d"], ["--since must lie before --until"]),
        (["prompts", "--source", "SOURCE", "--timezone", "Mars/Base"], ["'Mars/Base'", "Europe/Berlin"]),
        (["prompts", "--source", "SOURCE", "--timezone", "../../etc/passwd"], ["unknown time zone"]),
        (["prompts", "--source", "SOURCE", "--limit", "0"], ["--limit", "'0' is not a positive number"]),
        (["tools", "--source", "SOURCE", "--limit", "-1"], ["--limit"]),
        (["thinking", "--min-length", "-5"], ["--min-length", "'-5' is not a whole number from 0 on"]),
        (["thinking", "--min-length", "1.5"], ["--min-length", "'1.5' is not a whole number from 0 on"]),
        (["lake", "vacuum", "--lake", "SOURCE", "--hours", "-5"], ["--hours", "'-5' is not a whole number from 0 on"]),
        (["tools", "--source", "SOURCE", "--limit=--"], ["--limit", "'--' is not a positive number"]),
        (["prompts", "--source", "SOURCE", "--timezone=--"], ["unknown time zone '--'"]),
        (["show", "@last", "--source", "SOURCE", "--tools=--"], ["--tools", "'--'"]),
        (["thinking", "--source", "SOURCE", "--min-length", "long"], ["--min-length", "'long'"]),
        (["doctor", "--source", "missing"], ["missing", "no such file"]),
        (["--source", "missing"], ["missing", "no such file"]),
        (["demo", "xyzzy"], ["no command 'xyzzy'"]),
    ],
    ids=lambda value: " ".join(value[:1] + [word for word in value[1:] if word != "SOURCE"])[:40],
)
def test_a_wrong_request_is_refused_in_one_sentence(
    run: Run, source: Path, arguments: list[str], words: list[str]
) -> None:
    ran = run(*(argument.replace("SOURCE", str(source)) for argument in arguments))
    assert_refused(ran, *(word.replace("SOURCE", str(source)) for word in words))


@pytest.mark.parametrize("arguments", [["memory"], ["list", "--all"], ["list", "--verbose"], ["doctor", "--fix"]])
def test_another_word_is_not_taken_for_a_misspelt_one(run: Run, arguments: list[str]) -> None:
    assert "did you mean" not in run(*arguments).err


def test_where_there_is_no_session_the_newest_is_not_called_by_the_name_that_failed(run: Run, tmp_path: Path) -> None:
    (tmp_path / "projects").mkdir()
    refused = run("show", "@last", "--source", tmp_path / "projects", "--home", tmp_path / "home")
    assert_refused(refused, f"no session '@last' in {tmp_path / 'home'}\n")


@pytest.mark.parametrize("command", [["list"], ["prompts"], ["tools"], ["usage"], ["search", "answer"]])
def test_a_limit_beyond_every_number_is_none(run: Run, source: Path, tmp_path: Path, command: list[str]) -> None:
    archive = ("--source", source, "--home", tmp_path / "home")
    assert run(*command, "--limit", "9" * 20, *archive).out == run(*command, "--limit", "99", *archive).out != ""


def test_a_name_that_is_no_utf_8_names_nothing(run: Run, source: Path, tmp_path: Path) -> None:
    archive = ("--source", source, "--home", tmp_path / "home")
    assert_refused(run("explain", "msg_\udcff", *archive), "no message, request or session")
    found = run("usage", "--model", "\udcff", *archive)
    assert (found.code, found.out.partition("\n")[0]) == (0, "nothing was used")


def test_a_home_that_cannot_be_is_told_once(run: Run, source: Path, tmp_path: Path) -> None:
    home = tmp_path / "taken"
    home.touch()
    assert_refused(run("list", "--source", source, "--home", home), "taken: cannot be made")


def test_a_process_refuses_with_the_same_sentence_and_no_traceback() -> None:
    assert_refused(reread("show", "missing.jsonl"), "missing.jsonl: no such file or folder")


OF_ONE_SESSION = pytest.mark.parametrize("command", ["show", "cache", "retro", "explain"])


@OF_ONE_SESSION
def test_a_folder_without_transcripts_is_no_session(run: Run, tmp_path: Path, command: str) -> None:
    (tmp_path / "empty").mkdir()
    assert_refused(run(command, tmp_path / "empty"), "empty: holds no sessions")


@OF_ONE_SESSION
def test_a_folder_of_several_sessions_is_not_taken_for_one(
    run: Run, source: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert_refused(run(command, source), "holds 2 sessions", "name one of its files")
    monkeypatch.chdir(source)
    assert_refused(run(command, "."), ".: holds 2 sessions")


@pytest.mark.parametrize("command", [["show"], ["prompts", "--source"], ["doctor", "--source"], ["--source"]])
def test_a_binary_file_is_called_one(run: Run, tmp_path: Path, command: list[str]) -> None:
    path = tmp_path / "picture.jsonl"
    path.write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\x01\x02\x03" * 20)
    assert_refused(run(*command, path), "picture.jsonl", "binary file")


def test_a_link_that_leads_nowhere_is_no_file(run: Run, tmp_path: Path) -> None:
    link = tmp_path / "gone.jsonl"
    link.symlink_to(tmp_path / "nowhere")
    assert_refused(run("show", link), "gone.jsonl: no such file or folder")


def test_a_folder_in_place_of_a_file_is_refused(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "x.jsonl"
    folder.mkdir()
    assert_refused(run("show", folder, "--follow"), "x.jsonl: is a folder, not a file")


def test_a_name_with_a_control_character_is_refused_too(run: Run) -> None:
    assert_refused(run("show", "a\0b.jsonl"))


@pytest.mark.skipif(not hasattr(os, "setuid"), reason="needs POSIX permissions")
def test_an_unreadable_file_is_refused_when_it_is_asked_for(open_folder: Path) -> None:
    path = a_session(a_prompt("secret")).write(open_folder)
    path.chmod(0)
    assert_refused(reread_as_nobody("show", path), path.name, "permission denied")


@pytest.mark.skipif(not hasattr(os, "setuid"), reason="needs POSIX permissions")
def test_an_unreadable_file_among_others_is_reported_beside_the_answer(open_folder: Path) -> None:
    a_session(a_prompt("public"), id=FIRST).write(open_folder)
    path = a_session(a_prompt("secret"), id=SECOND).write(open_folder)
    path.chmod(0)
    ran = reread_as_nobody("prompts", "--raw", "--source", open_folder)
    assert (ran.code, ran.out) == (0, "public\n")
    assert ran.err == f"reread: {path}: permission denied\n"
    assert reread_as_nobody("doctor", "--strict", "--source", open_folder).code == 1


@pytest.fixture
def vanishing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first session's file is deleted after it was found and before it is read."""
    find = SourceTree.__init__

    def find_and_delete(tree: SourceTree, places: Sequence[Path], prices: Prices | None = None) -> None:
        find(tree, places, prices)
        tree.trunk(FIRST).unlink()

    monkeypatch.setattr(SourceTree, "__init__", find_and_delete)


@pytest.mark.usefixtures("vanishing")
def test_a_file_deleted_while_reading_costs_only_itself(run: Run, source: Path) -> None:
    ran = run("prompts", "--raw", "--source", source)
    assert (ran.code, ran.out) == (0, "the second\n")
    assert ran.err.count("\n") == 1
    assert f"{FIRST}.jsonl: no such file" in ran.err


@pytest.mark.usefixtures("vanishing")
def test_a_file_deleted_before_it_is_shown_is_missing(run: Run, source: Path) -> None:
    assert_refused(run("show", FIRST, "--source", source), "no such file")


@pytest.mark.skipif(not hasattr(os, "setuid"), reason="needs POSIX permissions")
def test_a_home_nobody_may_enter_does_not_matter_when_a_file_is_named(open_folder: Path) -> None:
    path = a_session(a_prompt("public")).write(open_folder)
    home = open_folder / "closed"
    home.mkdir(mode=0o700)
    assert reread_as_nobody("show", path, home=str(home)).code == 0


@pytest.mark.skipif(not hasattr(os, "setuid"), reason="needs POSIX permissions")
def test_a_source_nobody_may_enter_is_named(open_folder: Path) -> None:
    closed = open_folder / "closed"
    closed.mkdir(mode=0)
    assert_refused(reread_as_nobody("list", "--source", closed / "projects"), str(closed / "projects"), "denied")


def test_an_empty_session_name_is_unknown_rather_than_the_current_folder(
    run: Run, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(source)
    assert_refused(run("show", "", "--source", source), "no session ''")


def test_a_session_name_too_long_for_a_file_is_unknown(run: Run, source: Path) -> None:
    assert_refused(run("show", "a" * 300, "--source", source), "no session")


@pytest.mark.parametrize("arguments", [["show", "~nobody-at-all/x.jsonl"], ["tools", "--source", "~nobody-at-all"]])
def test_the_home_of_an_unknown_user_is_no_folder(run: Run, arguments: list[str]) -> None:
    assert_refused(run(*arguments), "~nobody-at-all")


@pytest.mark.parametrize("when", ["0001-01-01T00:00+10:00", "9999-12-31T23:59-10:00"])
def test_a_date_outside_the_calendar_is_refused(run: Run, source: Path, when: str) -> None:
    assert_refused(run("prompts", "--source", source, "--since", when), "--since")


def test_the_hint_of_the_overview_can_be_typed_as_it_stands(run: Run) -> None:
    assert_refused(run("--bogus"), "see `reread --help`")


def test_a_file_without_a_single_record_is_no_session(tmp_path: Path) -> None:
    passwd = tmp_path / "passwd"
    passwd.write_text("root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n")
    for command in ("show", "thinking", "export"):
        ran = reread(command, passwd)
        assert (ran.code, ran.out) == (2, "")
        assert "is no session" in ran.err
