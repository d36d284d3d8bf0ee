"""What a page of a session shows."""

from __future__ import annotations

from pathlib import Path

from html_pages import Page
from reread import load
from reread.sessions import Said, Session, Thought
from reread.testing import a_compaction, a_prompt, a_reply, a_session, a_subagent, a_thought, a_tool_call, a_tool_result
from reread.views.html.page import session_page
from reread.views.html.parts import Sections

PATCH = {
    "filePath": "/home/ann/app/a.py",
    "structuredPatch": [
        {
            "oldStart": 3,
            "oldLines": 2,
            "newStart": 3,
            "newLines": 3,
            "lines": [" def f():", "-    return 1", "+    x = 2", "+    return x"],
        }
    ],
}
CAPTURES = Path(__file__).parents[1] / "wire" / "captures"
REFUSED = "The user doesn't want to proceed with this tool use. The tool use was rejected."


def edit(old: str, new: str) -> dict[str, str]:
    return {"file_path": "/home/ann/app/a.py", "old_string": old, "new_string": new}


def a_rich_session() -> Session:
    return a_session(
        a_prompt("make it two", uuid="prompt-one"),
        a_reply(
            a_thought("the smallest change will do"),
            "I will **edit** it.",
            a_tool_call("Edit", edit("1", "2")),
            uuid="r",
        ),
        a_tool_result("ok", twin=PATCH),
        a_reply(a_tool_call("Edit", edit("return x", "return y"))),
        a_tool_result(REFUSED, is_error=True),
        a_reply(
            a_tool_call(
                "Task", {"description": "look around", "prompt": "find callers", "subagent_type": "Explore"}, id="t1"
            )
        ),
        a_subagent(
            a_prompt("find callers"),
            a_reply(a_tool_call("Task", {"description": "deeper", "prompt": "dig"}, id="t2")),
            a_tool_result("dug", of="t2"),
            a_reply("three callers"),
            id="a1",
            of="t1",
        ),
        a_subagent(a_prompt("dig"), a_reply("the bottom"), id="a2", of="t2"),
        a_tool_result("three callers", of="t1"),
        a_compaction("what was before"),
        a_prompt("the way not taken", uuid="left-prompt"),
        a_reply("a dead end"),
        a_prompt("the way taken", to="what was before", uuid="taken-prompt"),
        a_reply("the end"),
    ).build()


def page(session: Session, shown: Sections | None = None) -> Page:
    return Page(session_page(session, shown))


def test_a_turn_has_its_prompt_its_words_and_its_cost() -> None:
    shown = page(a_rich_session())
    assert "make it two" in shown.text
    assert shown.of("strong")
    assert "$" in shown.text
    assert "out" in shown.text


def test_every_message_has_a_permalink() -> None:
    shown = page(a_rich_session())
    assert {"m-prompt-one", "m-taken-prompt", "m-left-prompt"} <= set(shown.ids)
    hrefs = [link["href"][1:] for link in shown.of("a") if link["href"].startswith("#")]
    assert set(hrefs) - {"content"} <= set(shown.ids)


def test_an_edit_is_a_diff_with_numbers() -> None:
    shown = page(a_rich_session())
    assert [row["data-n"] for row in shown.of("span", class_="n")][:4] == ["3", "4", "4", "5"]
    assert len(shown.of("div", class_="line added")) == 3
    assert "+2 −1" in shown.text


def test_a_rejected_edit_says_that_it_was_not_applied() -> None:
    shown = page(a_rich_session())
    assert len(shown.of("figure", class_="diff not-applied")) == 1
    assert "not applied: rejected" in shown.text
    assert shown.of("details", class_="call rejected")


def test_agents_stand_below_their_calls_at_any_depth() -> None:
    text = session_page(a_rich_session())
    assert len(Page(text).of("details", class_="agent")) == 2
    outer, inner = text.index('id="m-agent-a1"'), text.index('id="m-agent-a2"')
    assert outer < inner < text.index("the bottom") < text.index("what was before")


def test_other_branches_are_sections_and_linked_from_where_they_left() -> None:
    shown = page(a_rich_session())
    assert "a dead end" in shown.text
    (branch,) = [each["id"] for each in shown.of("section", class_="branch") if "active" not in each["class"]]
    assert f"#{branch}" in [link["href"] for link in shown.of("a")]
    assert "compacted" in shown.text


def test_a_session_without_project_and_time_has_no_gaps_in_its_place(tmp_path: Path) -> None:
    path = tmp_path / "aaaaaaaa-0000-4000-8000-000000000001.jsonl"
    path.write_text('{"type":"summary","summary":"Only this","leafUuid":"nowhere"}\n', "utf-8")
    assert "·  ·" not in page(load(path)).text
    assert '<p class="where"><span class="id">session' in session_page(load(path))


def test_sections_can_be_left_out() -> None:
    without = page(a_rich_session(), Sections(thinking=False, tools=False, subagents=False)).text
    assert "smallest change" not in without
    assert "the bottom" not in without
    assert "return x" not in without
    assert "the end" in without
    assert "the bottom" not in page(a_rich_session(), Sections(subagents=False)).text


def test_the_record_of_every_item_is_there_when_it_is_asked_for() -> None:
    assert not page(a_rich_session()).of("details", class_="raw")
    raw = page(a_rich_session(), Sections(raw=True))
    assert len(raw.of("details", class_="raw")) > 10
    assert '"parentUuid"' in raw.text


def test_many_calls_are_folded_and_the_failed_ones_stay_in_sight() -> None:
    entries = []
    for number in range(12):
        entries += [
            a_reply(a_tool_call("Bash", {"command": f"step {number}"}, id=f"t{number}")),
            a_tool_result("no such file", of=f"t{number}", is_error=number == 5),
        ]
    text = session_page(a_session(a_prompt("go"), *entries, a_reply("done")).build())
    (folded,) = Page(text).of("details", class_="calls folded")
    assert "open" not in folded
    summary = text[text.index('class="calls folded') :].partition("</summary>")[0]
    assert "12 tool calls" in summary
    assert "failed: Bash" in summary
    assert "step 5" in summary
    assert "step 4" not in summary


def test_long_outputs_are_cut_and_kept_behind_a_fold() -> None:
    output = "\n".join(f"line {number}" for number in range(500))
    shown = page(
        a_session(a_prompt("go"), a_reply(a_tool_call("Bash", {"command": "x"})), a_tool_result(output)).build()
    )
    assert "… 476 more lines" in shown.text
    assert "line 499" in shown.text


def test_times_are_utc_for_those_without_script() -> None:
    (first, *_) = page(a_rich_session()).of("time")
    assert first["datetime"].endswith("Z")
    assert first["title"].endswith("UTC")


def test_a_session_without_a_word_says_so() -> None:
    assert "holds no prompt" in page(a_session().build()).text


def test_words_that_were_taken_back_are_marked() -> None:
    taken = [trunk for trunk in sorted(CAPTURES.rglob("*.wire")) if _withdrawn(load(trunk))]
    assert taken
    for trunk in taken:
        shown = page(load(trunk))
        marked = [*shown.of("article", class_="taken-back"), *shown.of("details", class_="taken-back")]
        assert marked, trunk.name
        assert any(fate in shown.text for fate in ("taken back", "interrupted; Claude Code dropped it", "cut off"))


def _withdrawn(session: Session) -> list[Said | Thought]:
    steps = [step for turn in session.turns for step in turn.steps]
    return [step for step in steps if isinstance(step, Said | Thought) and step.withdrawn and step.text.strip()]


def test_a_question_shows_its_options_and_what_was_chosen() -> None:
    asked = {
        "questions": [
            {"question": "Which one?", "options": [{"label": "Red"}, {"label": "Blue", "description": "calm"}]}
        ]
    }
    call = a_tool_call("AskUserQuestion", asked)
    answered = a_tool_result("User has answered", twin={"answers": {"Which one?": "Blue"}})
    shown = page(a_session(a_prompt("pick"), a_reply(call), answered).build())
    assert len(shown.of("li", class_="chosen")) == 1
    assert "Blue (chosen) calm" in shown.text
    untold = page(a_session(a_prompt("pick"), a_reply(call), a_tool_result("the answer was Blue")).build())
    assert "the answer was Blue" in untold.text
