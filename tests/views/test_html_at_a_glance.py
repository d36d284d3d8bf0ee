"""What a reader of a page sees without opening anything, and what opens well."""

from __future__ import annotations

from typing import Any

from html_pages import Page
from reread.sessions import Said, ToolCall
from reread.testing import (
    ContentBlock,
    Entry,
    a_command,
    a_line,
    a_prompt,
    a_queued_prompt,
    a_reply,
    a_session,
    a_thought,
    a_tool_call,
    a_tool_result,
    a_usage,
    an_image,
    build,
)
from reread.views.html.branch_table import LONGEST_ANSWER, in_short
from reread.views.html.page import session_page

PICTURE = "iVBORw0KGgo="


def page(*entries: Entry | ContentBlock) -> tuple[str, Page]:
    text = session_page(a_session(a_prompt("go"), *entries).build())
    return text, Page(text)


def called(tool: str, given: dict[str, Any], result: Any, **more: Any) -> list[Entry]:
    return [a_reply(a_tool_call(tool, given, id=tool)), a_tool_result(result, of=tool, **more)]


def test_a_file_that_was_read_is_code_with_its_line_numbers() -> None:
    given = {"file_path": "/home/ann/app/a.py", "offset": 7, "limit": 2}
    text, shown = page(*called("Read", given, "     7→def f():\n     8→    return 1\n    20→x = 2"))
    assert [row["data-n"] for row in shown.of("span", class_="n")] == ["7", "8", "20"]
    assert "→" not in text.partition("<main")[2].partition("</main")[0]
    assert len(shown.of("div", class_="line skips")) == 1, "lines that are left out are told"
    assert shown.of("span", class_="c-k"), "coloured as what it is"
    assert "+0" not in shown.text
    plain, _ = page(*called("Read", given, "a picture of 2 MB"))
    assert "a picture of 2 MB" in plain


def test_plans_and_questions_stand_open_and_in_no_fold() -> None:
    many = [
        entry
        for number in range(12)
        for entry in (
            a_reply(a_tool_call("Bash", {"command": "x"}, id=f"t{number}")),
            a_tool_result("", of=f"t{number}"),
        )
    ]
    question = {"question": "Which?", "options": [{"label": "this", "description": ""}]}
    _, shown = page(
        *many,
        *called("ExitPlanMode", {"plan": "# The plan\n\n1. first"}, "User has approved your plan. Go on."),
        *called("AskUserQuestion", {"questions": [question]}, "answered", twin={"answers": {"Which?": "this"}}),
    )
    opened = [call for call in shown.of("details", class_="call") if "open" in call]
    assert len(opened) == 2
    assert len(shown.of("details", class_="calls folded")) == 1
    assert "approved" in shown.text
    assert "User has approved" not in shown.text


def test_a_plan_that_was_refused_says_so_and_why() -> None:
    said = "The user doesn't want to proceed with this tool use. It was rejected, the user said:\nnot yet, tests first"
    _, shown = page(*called("ExitPlanMode", {"plan": "do it"}, said, is_error=True))
    assert "rejected, not applied" in shown.text
    assert "not yet, tests first" in shown.text
    assert "doesn't want to proceed" not in shown.text


def test_of_a_message_in_a_drawn_box_the_words_are_told() -> None:
    box = f"╭{'─' * 300}╮\n│ no such table │\n╰{'─' * 300}╯"
    text, _ = page(*called("Bash", {"command": "query"}, box, is_error=True))
    summary = text.partition("query")[2].partition("</summary>")[0]
    assert "no such table" in summary
    assert "─" not in summary


def test_what_a_command_printed_keeps_its_lines() -> None:
    printed = {"role": "user", "content": "<local-command-stdout>Total: $1\nTime: 3m</local-command-stdout>"}
    text, shown = page(a_reply("so"), a_command("/cost"), a_line("user", message=printed))
    assert "/cost" in shown.text
    assert "Total: $1\nTime: 3m</pre>" in text


def test_a_prompt_that_waited_stands_apart() -> None:
    _, shown = page(a_reply("so"), a_queued_prompt("also this"))
    assert "queued also this" in " ".join(shown.text.split())


def test_every_turn_tells_how_full_the_context_was() -> None:
    def reply(read: int) -> Entry:
        return a_reply("so", usage=a_usage(input=100, cache_read=read))

    _, shown = page(reply(9_900), reply(41_900))
    assert "context 42.0k" in shown.text


def test_a_picture_opens_to_its_full_size_and_is_counted_on_a_closed_call() -> None:
    result = [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PICTURE}}]
    _, shown = page(*called("mcp__browser__shot", {}, result))
    assert len(shown.of("details", class_="shown-picture")) == len(shown.of("img")) == 1
    assert "1 picture" in shown.text
    assert not Page(session_page(a_session(a_prompt("see", an_image()), a_reply("so")).build())).foreign


def test_a_turn_in_short_is_its_calls_and_its_last_words() -> None:
    session = build(
        a_prompt("go"),
        a_reply(a_thought("hmm, let me see"), "First I look."),
        *called("Bash", {"command": "ls"}, "a"),
        a_reply("Here it is.\n\n" + "word " * LONGEST_ANSWER),
    )
    call, said = in_short(session.turns[0]).steps
    assert isinstance(call, ToolCall)
    assert isinstance(said, Said)
    assert said.text.startswith("Here it is.")
    assert said.text.endswith(" …")
    assert len(said.text) < LONGEST_ANSWER + 10
