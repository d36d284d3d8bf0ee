"""`blame`, `restore` and `diff`: files as they were, who wrote them, what a session made of them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from cli.files import APP, FIRST, SECOND, change, fill, written
from cli.kept import Kept
from cli.running import Run, on_terminal, without_colour
from reread.testing import a_line, a_prompt, a_reply, a_session, a_tool_call, a_tool_result

LANTERN = f"{APP}/src/lantern.py"


@pytest.fixture
def travel(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kept:
    claude = tmp_path / ".claude"
    fill(claude)
    monkeypatch.chdir(tmp_path)
    return Kept(run, claude, tmp_path / "archive")


def test_a_file_is_restored_as_the_last_session_left_it_and_the_gaps_are_told(travel: Kept) -> None:
    ran = travel("restore", LANTERN)
    assert (ran.code, ran.out) == (0, "one\nTWO\n3\n")
    gaps = [line for line in ran.err.splitlines() if line.startswith("reread: ")]
    assert "something outside these sessions changed it, between 2026-11-10" in gaps[0]
    assert "went back to what it held before" in gaps[1]
    assert len(gaps) == 2


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        ("w1", "one\ntwo\n"),
        ("e1", "one\nTWO\nthree\n"),
        ("e2", "one\ndim\nthree\n"),
        ("e3", "one\nTWO\n3\n"),
        ("p3", "one\nTWO\nthree\n"),
        ("2026-11-11", "one\ntwo\n"),
        ("2026-11-12T10:00:05Z", "one\ndim\nthree\n"),
        ("now", "one\nTWO\n3\n"),
    ],
)
def test_a_file_is_restored_at_a_line_or_a_time(travel: Kept, at: str, expected: str) -> None:
    assert travel("restore", LANTERN, "--at", at, "--timezone", "UTC").out == expected


def test_a_moment_in_a_gap_is_told(travel: Kept) -> None:
    ran = travel("restore", LANTERN, "--at", "2026-11-11")
    assert "at that moment the file may have been different" in ran.err


def test_bytes_are_restored_as_they_were(travel: Kept, tmp_path: Path) -> None:
    to = tmp_path / "out.txt"
    ran = travel("restore", "crlf.txt", "--to", to)
    assert (ran.code, ran.out.strip()) == (0, str(to))
    assert to.read_bytes() == b"a\r\nb"
    document = travel.json("restore", "crlf.txt")
    assert document["schema"] == "reread.restored/1"
    assert (document["line_endings"], document["bytes"], document["content"]) == ("crlf", 4, "a\r\nb")
    assert document["last_change"]["uuid"] == "w2"


def test_nothing_is_overwritten_unless_it_is_asked_for(travel: Kept, tmp_path: Path) -> None:
    to = tmp_path / "there.txt"
    to.write_text("mine")
    ran = travel("restore", "crlf.txt", "--to", to)
    assert ran.code == 2
    assert "--force" in ran.err
    assert to.read_text() == "mine"
    assert travel("restore", "crlf.txt", "--to", to, "--force").code == 0
    assert to.read_bytes() == b"a\r\nb"


def test_into_a_folder_a_file_goes_by_its_name_but_never_into_a_source(travel: Kept, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    assert travel("restore", LANTERN, "--to", tmp_path / "out").code == 0
    assert (tmp_path / "out" / "lantern.py").read_text() == "one\nTWO\n3\n"
    ran = travel("restore", LANTERN, "--to", travel.claude / "lantern.py")
    assert ran.code == 2
    assert "where reread never writes" in ran.err
    assert not (travel.claude / "lantern.py").exists()


def test_a_terminal_gets_no_characters_it_would_obey(tmp_path: Path) -> None:
    claude = tmp_path / ".claude"
    a_session(a_prompt("go"), *written("/x/a.txt", "\x1b[31mred\n", "w", "2026-11-10T10:00:01.000Z")).write(
        claude / "projects"
    )
    shown = on_terminal("restore", "a.txt", "--source", claude, "--home", tmp_path / "home")
    assert shown == "red\n"


@pytest.mark.parametrize("command", ["restore", "blame"])
@pytest.mark.parametrize(
    ("file", "options", "said"),
    [
        ("never.py", (), "no session touched a file 'never.py'"),
        ("/elsewhere/never.py", (), "no session touched"),
        (LANTERN, ("--at", "soon"), "is neither a time nor the uuid of a record"),
        ("", (), "no session touched"),
    ],
)
def test_what_cannot_be_found_is_one_sentence(
    travel: Kept, command: str, file: str, options: tuple[str, ...], said: str
) -> None:
    ran = travel(command, file, *options)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err
    assert ran.err.count("\n") == 1


def test_a_file_before_it_was_there_and_one_known_in_parts(travel: Kept) -> None:
    ran = travel("restore", LANTERN, "--at", "2026-11-01")
    assert ran.code == 2
    assert "was not there at that point" in ran.err
    a_session(
        a_prompt("go"),
        *change("Edit", "/x/part.txt", None, "e", "2026-11-10T10:00:01.000Z", old_string="a", new_string="b"),
    ).write(travel.claude / "projects")
    for command in ("restore", "blame"):
        ran = travel(command, "part.txt")
        assert ran.code == 2
        assert "show only parts of" in ran.err


def test_what_is_known_of_a_file_in_parts_is_given_with_its_holes(travel: Kept) -> None:
    hunk = {"oldStart": 4, "oldLines": 2, "newStart": 4, "newLines": 3, "lines": [" before", "-a", "+b", "+c"]}
    twin = {"filePath": "/x/part.txt", "oldString": "a", "newString": "b\nc", "structuredPatch": [hunk]}
    a_session(
        a_prompt("go"),
        *change("Edit", "/x/part.txt", twin, "e", "2026-11-10T10:00:01.000Z", old_string="a", new_string="b\nc"),
    ).write(travel.claude / "projects")
    restored = travel("restore", "part.txt")
    assert restored.code == 0
    assert restored.out == "[lines 1 to 3 are not known]\nbefore\nb\nc\n[what comes after is not known]\n"
    assert "only parts" in restored.err
    blamed = travel("blame", "part.txt")
    assert blamed.code == 0
    assert "[lines 1 to 3 are not known]" in blamed.out
    assert json.loads(travel("restore", "part.txt", "--json").out)["is_whole"] is False
    assert [line["source"] for line in json.loads(travel("blame", "part.txt", "--json").out)["lines"]] == [
        "before",
        "edit",
        "edit",
    ]


def test_a_name_that_several_files_end_with_lists_them(travel: Kept) -> None:
    a_session(a_prompt("go"), *written("/other/crlf.txt", "x", "w", "2026-11-10T10:00:01.000Z")).write(
        travel.claude / "projects"
    )
    ran = travel("restore", "crlf.txt")
    assert ran.code == 2
    assert "could be any of 2 files: /home/ann/app/crlf.txt, /other/crlf.txt" in ran.err


def test_a_file_of_a_moved_project_is_found_by_its_place_in_it(
    travel: Kept, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "moved" / "src").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "moved")
    ran = travel("restore", "src/lantern.py", "--at", "w1")
    assert (ran.code, ran.out) == (0, "one\ntwo\n")
    assert f"using {LANTERN}" in ran.err


def test_windows_files_are_restored_by_their_end(travel: Kept) -> None:
    path = "C:\\code\\app\\win.txt"
    a_session(a_prompt("go"), *written(path, "x\r\n", "w", "2026-11-10T10:00:01.000Z"), cwd="C:\\code").write(
        travel.claude / "projects"
    )
    assert travel("restore", "app/win.txt").out.encode() == b"x\r\n"
    for spelling in (path, "c:\\code\\app\\win.txt", "C:/code/app/win.txt", "/c/code/app/win.txt"):
        assert travel("restore", spelling).out.encode() == b"x\r\n"


def test_a_file_that_only_a_command_made_is_restored_where_the_client_told(travel: Kept) -> None:
    hunk = {"oldStart": 0, "oldLines": 0, "newStart": 1, "newLines": 1, "lines": ["+made"]}
    told = {"files": [{"filePath": f"{APP}/built [1].txt", "hunks": [hunk], "created": True}]}
    a_session(
        a_prompt("go"),
        a_reply(a_tool_call("Bash", {"command": "echo made > 'built [1].txt'"})),
        a_tool_result("", twin={"stdout": "", "bashEditDiff": told}),
    ).write(travel.claude / "projects")
    ran = travel("restore", "built [1].txt")
    assert (ran.code, ran.out) == (0, "made\n")
    assert travel("restore", "copy.txt").code == 2


def test_blame_names_session_prompt_and_edit_of_each_line(travel: Kept) -> None:
    document = travel.json("blame", LANTERN)
    assert (document["schema"], document["path"]) == ("reread.blame/1", LANTERN)
    lines = document["lines"]
    assert [(line["text"], line["source"], line["session"], line["prompt"], line["uuid"]) for line in lines] == [
        ("one", "edit", FIRST, "write the lantern", "w1"),
        ("TWO", "edit", SECOND, "brighten the lantern", "e1"),
        ("3", "edit", SECOND, "ask me", "e3"),
    ]
    assert [gap["went_back"] for gap in document["gaps"]] == [False, True]
    assert [line["source"] for line in travel.json("blame", LANTERN, "--at", "e1")["lines"]] == [
        "edit",
        "edit",
        "outside",
    ]


def test_blame_shows_the_prompts_below_the_lines(travel: Kept) -> None:
    ran = travel("blame", LANTERN, "--timezone", "UTC")
    assert f"{FIRST[:8]} #1 Write 2026-11-10 10:00" in ran.out
    assert f"{SECOND[:8]} #2  ask me" in ran.out
    assert "│ TWO" in ran.out


def test_diff_is_the_net_change_of_a_session(travel: Kept) -> None:
    document = travel.json("diff", SECOND[:4])
    assert (document["schema"], document["session"]) == ("reread.diff/1", SECOND)
    [file] = document["files"]
    assert (file["path"], file["status"], file["added"], file["removed"]) == (LANTERN, "modified", 2, 2)
    assert file["hunks"][0]["lines"] == [" one", "-two", "-three", "+TWO", "+3"]
    assert [change["uuid"] for change in file["changes"]] == ["e1", "e2", "e3"]


def test_diff_between_the_branches_of_a_rewind(travel: Kept) -> None:
    left = next(branch["id"] for branch in travel.json("show", SECOND)["branches"] if not branch["active"])
    [file] = travel.json("diff", SECOND, "--branch", f"{left}..main")["files"]
    assert file["hunks"][0]["lines"] == [" one", "-dim", "-three", "+TWO", "+3"]
    [file] = travel.json("diff", SECOND, "--branch", "@p3")["files"]
    assert file["hunks"][0]["lines"] == [" one", "-two", "+dim", " three"]


def test_diff_as_text_and_as_sums(travel: Kept) -> None:
    ran = travel("diff", SECOND)
    assert ran.out.startswith("--- src/lantern.py\n+++ src/lantern.py\n@@ -1,3 +1,3 @@\n one\n-two\n")
    assert "~ it went back to what it held before" in ran.out
    ran = travel("diff", FIRST, "--stat")
    assert ran.out == "src/lantern.py │    2 ++\ncrlf.txt       │    2 ++\n2 files, 4 added, 0 removed\n"
    assert travel("diff", FIRST, "crlf.txt", "--stat").out.count("│") == 1


def test_diff_is_coloured_on_a_terminal(travel: Kept) -> None:
    shown = on_terminal("diff", FIRST, "--source", travel.claude, "--home", travel.home)
    assert "\x1b[32m+one\x1b[0m" in shown
    assert "+++ src/lantern.py" in without_colour(shown)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nobody",), "no session 'nobody'"),
        ((SECOND, "never.py"), "the session changed no file 'never.py'"),
        ((SECOND, "--branch", "main.."), "names only one branch"),
        ((SECOND, "--branch", "none"), "no branch begins with 'none'"),
    ],
)
def test_a_wrong_diff_is_one_sentence(travel: Kept, arguments: tuple[str, ...], said: str) -> None:
    ran = travel("diff", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err
    assert ran.err.count("\n") == 1


def test_a_session_without_changes_has_an_empty_diff(travel: Kept) -> None:
    a_session(a_prompt("hello", timestamp="2026-12-01T10:00:00.000Z"), a_reply("hi"), id="e" * 8).write(
        travel.claude / "projects"
    )
    assert travel("diff", "@last").out == "no changes\n"
    assert travel("diff", "@last", "--stat").out == "no changes\n"
    assert json.loads(travel("diff", "@last", "--json").out)["files"] == []


def test_a_file_known_in_parts_shows_its_patches(travel: Kept) -> None:
    hunk = {"oldStart": 7, "oldLines": 1, "newStart": 7, "newLines": 1, "lines": ["-a", "+b"]}
    twin = {"oldString": "a", "newString": "b", "originalFile": None, "structuredPatch": [hunk]}
    a_session(
        a_prompt("go", timestamp="2026-12-01T10:00:00.000Z"),
        *change("Edit", "/x/part.txt", twin, "e", "2026-12-01T10:00:01.000Z", old_string="a", new_string="b"),
        id="e" * 8,
    ).write(travel.claude / "projects")
    ran = travel("diff", "@last")
    assert "not known as a whole" in ran.out
    assert "@@ -7 +7 @@\n-a\n+b\n" in ran.out


def test_a_file_known_by_strings_alone_shows_them(travel: Kept) -> None:
    a_session(
        a_prompt("go", timestamp="2026-12-01T10:00:00.000Z"),
        *change("Edit", "/x/part.txt", None, "e", "2026-12-01T10:00:01.000Z", old_string="a\nb", new_string="a"),
        id="e" * 8,
    ).write(travel.claude / "projects")
    assert travel("diff", "@last").out.endswith(" a\n-b\n")


def test_sources_that_are_only_looked_into_can_be_asked_too(run: Run, travel: Kept) -> None:
    ran = run("restore", LANTERN, "--at", "w1", "--source", travel.claude)
    assert (ran.code, ran.out) == (0, "one\ntwo\n")
    assert run("diff", travel.trunk(FIRST), "--stat").out.endswith("2 files, 4 added, 0 removed\n")


@pytest.fixture
def backed_up(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kept:
    """A file that a person changed between two prompts: only the backup of the client knows what it held."""
    claude = tmp_path / ".claude"
    time = "2026-01-05T09:00:04.500Z"
    tracked = {"notes.txt": {"backupFileName": "848ba454848ee7c8@v2", "version": 2, "backupTime": time}}
    a_session(
        a_prompt("make it"),
        a_reply(a_tool_call("Write", {"file_path": f"{APP}/notes.txt", "content": "one\n"})),
        a_tool_result("ok", twin={"type": "create", "filePath": f"{APP}/notes.txt", "content": "one\n"}),
        a_line("file-history-snapshot", messageId="m", snapshot={"timestamp": time, "trackedFileBackups": tracked}),
        a_prompt("go on", uuid="after"),
        a_reply("yes"),
        id="848ba454-0000-4000-8000-000000000000",
        cwd=APP,
    ).write(claude / "projects")
    backup = claude / "file-history" / "848ba454-0000-4000-8000-000000000000" / "848ba454848ee7c8@v2"
    backup.parent.mkdir(parents=True)
    backup.write_bytes(b"one\nby hand\n")
    monkeypatch.chdir(tmp_path)
    return Kept(run, claude, tmp_path / "archive")


def test_what_only_a_backup_knows_is_told_when_its_source_is_gone(backed_up: Kept, tmp_path: Path) -> None:
    def answers() -> list[str]:
        return [
            backed_up("restore", "notes.txt", "--at", "after").out,
            backed_up("blame", "notes.txt", "--json").out,
            backed_up("diff", "@last", "--json").out,
            backed_up("summary", "@last", "--json").out,
        ]

    before = answers()
    assert before[0] == "one\nby hand\n"
    shutil.rmtree(tmp_path / ".claude" / "file-history")
    assert answers() == before
    status = json.loads(backed_up("archive", "status", "--json").out)
    assert (status["files"], status["backups"], status["backup_bytes"]) == (2, 1, 12)
    assert "1 backup of files that were changed" in backed_up("archive", "status").out
