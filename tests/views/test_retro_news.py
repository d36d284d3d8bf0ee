"""The one screen of the retrospective: what it says, and when it says nothing."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from reread.archive import Archive
from reread.testing import ContentBlock, Entry, a_prompt, a_reply, a_session, a_tool_call, a_tool_result
from reread.views.retro_news import News, news_lines, news_markdown
from reread.views.text import Style
from reread.views.values import View
from troubled import an_archive, write

BROKEN = "error: unrecognized subcommand 'bun'"


def a_day(number: int, *parts: Entry | ContentBlock, folder: Path) -> None:
    """A session of ten prompts on a day of its own."""
    prompts = [
        part for _ in range(10) for part in (a_prompt("go on with the parser of ledger entries"), *parts, a_reply("ok"))
    ]
    write(a_session(*prompts, id=f"0000000{number}-0000-4000-8000-000000000000"), folder, f"2026-02-{number + 1:02}")


def a_failure(command: str, output: str) -> list[Entry | ContentBlock]:
    return [a_tool_call("Bash", {"command": command}), a_tool_result(f"Exit code 2\n{output}", is_error=True)]


def told(archive: Archive, day: int, *, is_known: bool = False, is_note: bool = False) -> str:
    since, whole = archive.friction.retro(since=datetime(2026, 2, day, tzinfo=UTC)), archive.friction.retro()
    key = whole.suggestions[0].key if is_known else None
    view = View(width=200, style=Style(colour=False))
    return "\n".join((news_markdown if is_note else news_lines)(News(since, whole, key), view))


def test_what_is_new_and_what_is_gone_is_said_with_numbers(tmp_path: Path) -> None:
    for number in range(4):
        a_day(number, *a_failure("make flash", "no device"), folder=tmp_path / "projects")
    for number in range(4, 8):
        a_day(number, *a_failure("rtk bun run test", BROKEN), folder=tmp_path / "projects")
    with an_archive(tmp_path) as archive:
        said, note = told(archive, 5), told(archive, 5, is_note=True)
    assert "new: tool error · bad arguments: 40 times in 4 sessions" in said
    assert "100.0 (71.4–136.2)" in said
    assert "## What changed, per 100 prompts\n\n- new: tool error · bad arguments: 40 times in 4 sessions" in note
    assert note.count("\n1. **") == 1
    quiet = "nothing changed that chance does not explain; `--all` has the whole report"
    assert quiet not in said


def test_a_quiet_week_is_one_line(tmp_path: Path) -> None:
    for number in range(8):
        a_day(number, folder=tmp_path / "projects")
    with an_archive(tmp_path) as archive:
        said = told(archive, 5, is_known=True)
        assert "The fix worth most" in told(archive, 5)
    assert said.split("\n")[1:] == ["nothing changed that chance does not explain; `--all` has the whole report"]
    assert said.startswith("Since 2026-02-05")


def test_a_kind_that_is_gone_is_told_with_the_prompts_without_it(tmp_path: Path) -> None:
    for number in range(4):
        a_day(number, *a_failure("make flash", "no device"), folder=tmp_path / "projects")
    for number in range(4, 8):
        a_day(number, folder=tmp_path / "projects")
    with an_archive(tmp_path) as archive:
        assert "gone: tool error; none in 40 prompts, before 100.0 (71.4–136.2)" in told(archive, 5)
