"""`reread retro apply N`: shows what a suggestion would change, asks, writes with a backup, remembers the day."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from reread.archive import Archive
from reread.cli.main import main
from reread.client_settings import stated_in
from reread.features.friction.wishes import own_threshold
from reread.testing import a_prompt, a_reply, a_session, a_tool_call, a_tool_result
from troubled import write

RULE = "never use sleeps in the tests"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project whose three sessions tell the same rule, and grant the same permission."""
    folder = tmp_path / "app"
    folder.mkdir()
    granted = {"decision": "accept", "source": "user_temporary"}
    for number in range(3):
        session = a_session(
            a_prompt("write a test"),
            a_tool_call("Bash", {"command": "npm run lint"}),
            a_tool_result("ok", permissionDecision=granted),
            a_reply("Written."),
            a_prompt(f"no, {RULE}, please"),
            a_reply("You're right, I removed it."),
            id=f"0000000{number}-0000-4000-8000-000000000000",
            cwd=str(folder),
        )
        write(session, tmp_path / "claude" / "projects", f"2026-02-0{number + 1}")
    return folder


@pytest.fixture(autouse=True)
def other_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another project in the same archive, and a client's folder that is not the tester's own."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    session = a_session(a_prompt("hello there"), a_reply("Hi."), cwd="/elsewhere")
    write(session, tmp_path / "claude" / "projects", "2026-02-09")


def retro(tmp_path: Path, *words: str) -> int:
    places = ["--source", str(tmp_path / "claude"), "--home", str(tmp_path / "home")]
    return main(["retro", *words, *places])


def suggestions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    capsys.readouterr()
    assert retro(tmp_path, "--suggestions", "--json") == 0
    found: list[dict[str, object]] = json.loads(capsys.readouterr().out)["suggestions"]
    return found


def number_of(kind: str, found: list[dict[str, object]]) -> str:
    return str([each["kind"] for each in found].index(kind) + 1)


def test_a_rule_goes_into_the_projects_memory_and_is_not_suggested_again(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "CLAUDE.md").write_text("# App\n\nUse npm.\n", "utf-8")
    found = suggestions(tmp_path, capsys)
    assert retro(tmp_path, "apply", number_of("memory", found), "--yes") == 0
    said = capsys.readouterr().out
    assert "+- Never use sleeps in the tests, please." in said
    text = (project / "CLAUDE.md").read_text("utf-8")
    assert text == "# App\n\nUse npm.\n\n## Learned from sessions\n\n- Never use sleeps in the tests, please.\n"
    assert (project / "CLAUDE.md.reread-backup").read_text("utf-8") == "# App\n\nUse npm.\n"
    assert "memory" not in [each["kind"] for each in suggestions(tmp_path, capsys)]
    with Archive(tmp_path / "home", [tmp_path / "claude"]) as archive:
        (made,) = archive.friction.applied()
    assert made.path == str(project / "CLAUDE.md")


def test_a_rule_goes_below_our_heading_of_a_memory_with_the_line_ends_of_windows(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = b"# App\r\n\r\n## Learned from sessions\r\n\r\n- Use npm.\r\n"
    (project / "CLAUDE.md").write_bytes(before)
    assert retro(tmp_path, "apply", number_of("memory", suggestions(tmp_path, capsys)), "--yes") == 0
    added = b"- Never use sleeps in the tests, please.\r\n"
    assert (project / "CLAUDE.md").read_bytes() == before + added


def test_a_permission_is_added_to_the_settings_and_all_else_stays(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = project / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{\n    "model": "opus",\n    "permissions": {"allow": ["Read"]}\n}\n', "utf-8")
    found = suggestions(tmp_path, capsys)
    assert retro(tmp_path, "apply", number_of("permission", found), "--yes") == 0
    assert settings.read_text("utf-8") == (
        '{\n    "model": "opus",\n    "permissions": {"allow": ["Read", "Bash(npm run lint:*)"]}\n}\n'
    )
    assert "Bash(npm run lint:*)" in stated_in(project).allowed
    assert "permission" not in [each["kind"] for each in suggestions(tmp_path, capsys)]


def test_nothing_is_written_where_nobody_can_be_asked(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = suggestions(tmp_path, capsys)
    assert retro(tmp_path, "apply", number_of("memory", found)) == 2
    assert "not a terminal to ask at" in capsys.readouterr().err
    assert not (project / "CLAUDE.md").exists()


@pytest.mark.parametrize("words", [["apply"], ["apply", "0"], ["apply", "99", "--yes"], ["apply", "two"], ["a", "b"]])
@pytest.mark.usefixtures("project")
def test_what_cannot_be_applied_is_said_in_one_sentence(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert retro(tmp_path, *words) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    "content",
    [
        b"{ not json",
        b"[]",
        b'{"permissions": "x"}',
        b'{"permissions": []}',
        b'{"permissions": {"allow": {}}}',
        b'{"a": "\xff"}',
    ],
)
def test_settings_that_cannot_be_understood_stay_as_they_are(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes
) -> None:
    found = suggestions(tmp_path, capsys)
    settings = project / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_bytes(content)
    assert retro(tmp_path, "apply", number_of("permission", found), "--yes") == 2
    assert settings.read_bytes() == content
    assert "nothing was changed" in capsys.readouterr().err


def test_as_json_it_says_what_it_would_do_and_changes_nothing_without_yes(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    number = number_of("memory", suggestions(tmp_path, capsys))
    assert retro(tmp_path, "apply", number, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["diff"]
    assert not (project / "CLAUDE.md").exists()
    assert retro(tmp_path, "apply", number, "--json", "--yes") == 0
    assert (project / "CLAUDE.md").exists()


def test_a_dismissed_suggestion_is_never_shown_again(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = suggestions(tmp_path, capsys)
    assert retro(tmp_path, "dismiss", number_of("memory", before)) == 0
    assert capsys.readouterr().out.startswith("left out from now on: ")
    assert [each["kind"] for each in suggestions(tmp_path, capsys)] == [
        each["kind"] for each in before if each["kind"] != "memory"
    ]
    assert not (project / "CLAUDE.md").exists()


def test_one_screen_since_the_last_look_has_the_fix_once_and_is_quiet_then(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert retro(tmp_path, "--since", "last") == 0
    first = capsys.readouterr().out
    assert "│ - Never use sleeps in the tests" in first
    assert "The fix worth most" in first
    assert retro(tmp_path, "--since", "last") == 0
    assert "no prompts; `--all` has the whole report" in capsys.readouterr().out
    assert retro(tmp_path, "--since", "last", "--all") == 0
    assert "What to change" not in capsys.readouterr().out
    assert project.is_dir()


def test_the_command_that_applies_has_the_filters_that_number_suggestions(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert retro(tmp_path, "--suggestions", "--project", project.name, "--since", "2026-01-01") == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "`reread retro apply N --project app --since 2026-01-01` shows" in said
    assert "last on 2026-02-03" in said
    assert retro(tmp_path, "--since", "last", "--project", "app") == 0
    assert "`reread retro apply 1 --project app`, " in " ".join(capsys.readouterr().out.split())
    failed = a_tool_result("Exit code 2\nbroken", is_error=True)
    months_later = a_session(
        a_prompt("build it"), a_tool_call("Bash", {"command": "make"}), failed, a_reply("no"), cwd=str(project)
    )
    write(months_later, tmp_path / "claude" / "projects", "2026-05-01")
    assert retro(tmp_path, "--since", "last", "--project", "app") == 0
    assert "retro apply" not in capsys.readouterr().out, "what last happened months before the newest moment"


def test_a_rule_that_was_applied_is_judged_by_its_own_breaks_and_can_be_undone(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = "# App\n\nUse npm.\n"
    (project / "CLAUDE.md").write_text(before, "utf-8")
    number = number_of("memory", suggestions(tmp_path, capsys))
    assert retro(tmp_path, "apply", number, "--yes") == 0
    year = datetime.now(UTC).year + 1
    for day in range(1, 10):
        session = a_session(
            *(part for _ in range(3) for part in (a_prompt("go on with the parser"), a_reply("Done."))),
            id=f"0000001{day}-0000-4000-8000-000000000000",
            cwd=str(project),
        )
        write(session, tmp_path / "claude" / "projects", f"{year}-02-0{day}")
    capsys.readouterr()
    assert retro(tmp_path) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "What became of what you applied, per 100 prompts 1. " in said
    assert "50.0 (10.0–146.1) → 0.0 (0.0–13.6): helped" in said
    assert retro(tmp_path, "undo", "1", "--yes") == 0
    assert "-- Never use sleeps in the tests, please." in capsys.readouterr().out
    assert (project / "CLAUDE.md").read_text("utf-8") == before
    assert retro(tmp_path, "undo", "1", "--yes") == 2
    assert "there is no applied suggestion 1; there is none" in capsys.readouterr().err


def test_a_permission_and_a_rule_beside_another_are_taken_out_alone(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / ".claude").mkdir()
    settings = project / ".claude" / "settings.json"
    settings.write_text('{"permissions": {"allow": ["Bash(ls:*)"]}}', "utf-8")
    assert retro(tmp_path, "apply", number_of("permission", suggestions(tmp_path, capsys)), "--yes") == 0
    assert "npm run lint" in settings.read_text("utf-8")
    assert retro(tmp_path, "undo", "1", "--yes") == 0
    assert settings.read_text("utf-8") == '{"permissions": {"allow": ["Bash(ls:*)"]}}'
    assert retro(tmp_path, "apply", number_of("memory", suggestions(tmp_path, capsys)), "--yes") == 0
    with (project / "CLAUDE.md").open("a", encoding="utf-8") as file:
        file.write("- Another of mine.\n")
    assert retro(tmp_path, "undo", "1", "--yes") == 0
    assert (project / "CLAUDE.md").read_text("utf-8") == "## Learned from sessions\n\n- Another of mine.\n"
    (project / "CLAUDE.md").write_text("", "utf-8")


def test_a_wish_is_told_in_the_words_of_the_reply_with_where_it_is_stated(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for day in range(1, 4):
        session = a_session(
            a_prompt("please always ask me before you push to the remote, ok"),
            a_reply("Got it: no push to the remote before you say go. Let me look."),
            id=f"0000002{day}-0000-4000-8000-000000000000",
            cwd=str(project),
        )
        write(session, tmp_path / "claude" / "projects", f"2026-03-0{day}")
    assert retro(tmp_path) == 0
    said = " ".join(capsys.readouterr().out.split())
    asked = "3 times in 3 sessions, last on 2026-03-03"
    assert f"no push to the remote before you say go: {asked}; no file states it" in said


@pytest.mark.usefixtures("project")
def test_answers_about_doubtful_guesses_leave_out_what_was_wrong_and_move_the_threshold(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert retro(tmp_path, "--doubtful") == 0
    asked = capsys.readouterr().out.splitlines()
    assert len(asked) == 3
    assert all("correction: “no, never use sleeps in the tests, please”" in line for line in asked)
    with Archive(tmp_path / "home", [tmp_path / "claude"]) as archive:
        for each in archive.friction.doubtful(archive.friction.retro()):
            archive.friction.answer(each, is_right=False)
        found = archive.friction.retro(kinds="correction")
        assert found.events == [] and archive.friction.doubtful(found) == []
        assert found.spared.unsure == 3, "three were wrong and none was right: as sure as these is too little"
    assert retro(tmp_path, "--doubtful") == 0
    assert capsys.readouterr().out == "no guess that was not asked about yet\n"


@pytest.mark.usefixtures("project")
@pytest.mark.skipif(sys.platform == "win32", reason="a program that begins with #!")
def test_the_persons_client_is_asked_about_the_doubtful_ones_alone_and_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    client, fake = tmp_path / "client", Path(__file__).parents[1] / "live" / "fake_client.py"
    client.write_text(
        f"#!{sys.executable}\nimport runpy, sys\nsys.argv[1:1] = ['judges']\n"
        f"runpy.run_path({str(fake)!r}, run_name='__main__')\n"
    )
    client.chmod(0o755)
    assert retro(tmp_path, "--doubtful", "--ask-claude", "--claude", str(client), "--yes") == 0
    said = capsys.readouterr()
    assert "characters would be sent" in said.err
    assert [line.partition(":")[0] for line in said.out.splitlines()] == ["no", "yes"]
    assert retro(tmp_path, "--doubtful") == 0
    assert len(capsys.readouterr().out.splitlines()) == 1, "the third got no answer"


@pytest.mark.parametrize(
    ("answers", "least"),
    [
        ([(0.5, False), (0.52, False)], 0.5),
        ([(0.5, False), (0.52, False), (0.55, False), (0.6, True)], 0.56),
        ([(0.5, True), (0.52, False), (0.55, False), (0.6, True)], 0.5),
    ],
)
def test_a_threshold_moves_when_three_more_were_wrong_than_right(
    answers: list[tuple[float, bool]], least: float
) -> None:
    assert own_threshold(answers, 0.5) == least
