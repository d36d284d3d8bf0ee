"""`reread retro apply N`: shows what a suggestion would change, asks, writes with a backup, remembers the day."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reread.archive import Archive
from reread.cli.main import main
from reread.client_settings import stated_in
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
            a_prompt(f"{RULE}, please"),
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
        ((path, _),) = archive.friction.applied()
    assert path == str(project / "CLAUDE.md")


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
