"""Looking for words in an open session, in a real browser: typed into its field, wherever in the session they stand."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from e2e.browsing import Opened, findings, needs_chromium
from reread.testing import (
    Entry,
    a_prompt,
    a_reply,
    a_session,
    a_subagent,
    a_thought,
    a_title,
    a_tool_call,
    a_tool_result,
)

pytestmark = [pytest.mark.e2e, needs_chromium]

TALK, LONG, FORKED = "talk-of-letters", "long-letters", "forked-letters"


def write_sessions(claude: Path) -> None:
    a_session(
        a_title("Calls of foo"),
        a_prompt("why does foo(1) fail in /usr/local", uuid="asked"),
        a_reply(a_thought("perhaps foo(2) is wrong, or foo(3) is"), uuid="thought"),
        a_reply("The **call** `foo(4)` is fine.", uuid="said"),
        a_reply(a_tool_call("Bash", {"command": "grep -rn 'foo(5)' /usr/lo"}, id="t1"), uuid="grepped"),
        a_tool_result("\n".join(f"line {number}" for number in range(200)) + "\nfoo(6)", of="t1"),
        a_reply(a_tool_call("Bash", {"command": "cat large"}, id="t2"), uuid="large"),
        a_tool_result("much " * 50_000 + "foo(7)", of="t2"),
        a_reply(a_tool_call("Task", {"description": "dig", "prompt": "dig"}, id="t3"), uuid="task"),
        a_subagent(a_prompt("dig"), a_reply("the agent calls foo(8)", uuid="deep"), of="t3"),
        a_tool_result("dug", of="t3"),
        a_reply(a_tool_call("Read", {"file_path": "/home/ann/zoo/a.py"}, id="t4"), uuid="read"),
        a_tool_result("     1\u2192x = 1\n<reminder>qux[1]</reminder>", of="t4"),
        a_reply("Nothing else.", uuid="last"),
        id=TALK,
        cwd="/home/ann/zoo",
    ).write(claude / "projects")
    turns: list[Entry] = []
    for number in range(1, 301):
        words = "bar[0] at last" if number in (2, 150, 290) else "nothing new"
        turns += [a_prompt(f"question {number}", uuid=f"q-{number}")]
        turns += [a_reply(f"answer {number}: {words}\n\n" + "words " * 60, uuid=f"a-{number}")]
    a_session(*turns, a_title("A long talk"), id=LONG, cwd="/home/ann/zoo").write(claude / "projects")
    a_session(
        a_title("Two ways"),
        a_prompt("begin", uuid="begin"),
        a_reply("Begun.", uuid="shared"),
        a_prompt("this way", uuid="left", to="shared"),
        a_reply("baz[1] was left", uuid="left-reply"),
        a_prompt("that way", uuid="right", to="shared"),
        a_reply("baz[2] went on", uuid="right-reply"),
        id=FORKED,
        cwd="/home/ann/zoo",
    ).write(claude / "projects")
    too_long = "much " * 50_000
    a_session(
        a_title("Long results"),
        a_prompt("read much", uuid="much"),
        a_reply(a_tool_call("Bash", {"command": "cat large"}, id="l1"), uuid="long-output"),
        a_tool_result(f"{too_long} aardvark {too_long}", of="l1"),
        a_reply(a_tool_call("Task", {"description": "dig", "prompt": "dig"}, id="l2"), uuid="digging"),
        a_subagent(
            a_prompt("dig"),
            a_reply(a_tool_call("Bash", {"command": "cat larger"}, id="l3"), uuid="inside-agent"),
            a_tool_result(f"{too_long} pangolin {too_long}", of="l3"),
            of="l2",
        ),
        a_tool_result("dug", of="l2"),
        id="long-results",
        cwd="/home/ann/zoo",
    ).write(claude / "projects")


def field_of(page: Page) -> Locator:
    return page.get_by_role("searchbox", name="Find in this session")


def count_of(page: Page) -> Locator:
    return page.locator(".find-in-page .count")


def typed(page: Page, words: str) -> None:
    page.keyboard.press("/")
    expect(field_of(page)).to_be_focused()
    field_of(page).fill(words)


def at(page: Page, name: str) -> None:
    """The one match that is pointed at is seen, and stands in this message."""
    current = page.locator(f"#{name} mark.current")
    expect(current).to_have_count(1)
    expect(current).to_be_in_viewport()
    expect(page.locator("mark.current")).to_have_count(1)


def test_letters_are_found_wherever_they_stand_and_reached_by_enter(opened: Opened) -> None:
    page = opened.go(f"/s/{TALK}")
    expect(field_of(page)).to_be_hidden()
    typed(page, "FOO(")
    places = ["asked", "thought", "thought", "said", "grepped", "grepped", "large", "deep"]
    for number, name in enumerate(places, 1):
        expect(count_of(page)).to_have_text(f"{number} of 8")
        at(page, f"m-{name}")
        page.keyboard.press("Enter")
    expect(count_of(page)).to_have_text("1 of 8")
    page.keyboard.press("Shift+Enter")
    expect(count_of(page)).to_have_text("8 of 8")
    at(page, "m-deep")
    page.keyboard.press("Shift+Enter")
    expect(count_of(page)).to_have_text("7 of 8")
    expect(field_of(page)).to_be_focused()


def test_what_is_too_long_for_the_page_is_brought_in(opened: Opened) -> None:
    page = opened.go(f"/s/{TALK}")
    expect(page.locator("#m-large .left-out")).to_have_count(0)
    page.evaluate("document.querySelector('#m-large').open = true")
    expect(page.locator("#m-large .left-out")).to_have_count(1)
    typed(page, "foo(7)")
    expect(count_of(page)).to_have_text("1 of 1")
    at(page, "m-large")
    expect(page.locator("#m-large .left-out")).to_have_count(0)


def test_what_the_page_does_not_show_is_led_to_as_a_record(opened: Opened) -> None:
    page = opened.go(f"/s/{TALK}")
    typed(page, "qux[")
    expect(count_of(page)).to_have_text("1 of 1")
    expect(page.locator("#m-read")).to_be_in_viewport()
    page.get_by_role("link", name="in its record").click()
    page.wait_for_url("**/record/m-read")
    expect(page.get_by_text("qux[1]")).to_be_visible()


def test_matches_that_are_not_loaded_are_counted_and_led_to(opened: Opened) -> None:
    page = opened.go(f"/s/{LONG}")
    typed(page, "bar[0")
    for number, name in enumerate(("m-a-2", "m-a-150", "m-a-290", "m-a-2"), 1):
        expect(count_of(page)).to_have_text(f"{(number - 1) % 3 + 1} of 3")
        at(page, name)
        page.keyboard.press("Enter")


def test_one_looks_from_where_one_reads(opened: Opened) -> None:
    page = opened.go(f"/s/{LONG}?at=m-q-200#m-q-200")
    expect(page.locator("#m-q-200")).to_be_in_viewport()
    typed(page, "bar[0]")
    expect(count_of(page)).to_have_text("3 of 3")
    at(page, "m-a-290")


def test_other_branches_are_told_and_led_to(opened: Opened) -> None:
    page = opened.go(f"/s/{FORKED}")
    typed(page, "baz[")
    expect(count_of(page)).to_have_text("1 of 1")
    at(page, "m-right-reply")
    page.get_by_role("link", name="1 on another branch").click()
    page.wait_for_url("**branch=**")
    expect(page.locator(".branch-note")).to_be_visible()
    expect(field_of(page)).to_have_value("baz[")
    expect(page.locator("#m-left-reply mark")).to_have_text("baz[")
    expect(page.get_by_role("link", name="1 on another branch")).to_be_visible()


def test_a_search_leads_into_what_is_too_long_for_a_page(opened: Opened) -> None:
    page = opened.go("/search?q=aardvark&in=result")
    page.locator("a.hit").click()
    at(page, "m-long-output")
    expect(page.locator("#m-long-output mark.current")).to_have_text("aardvark")
    expect(count_of(page)).to_have_text("1 of 1 message")
    expect(page.get_by_role("link", name="in its record")).to_be_hidden()


def test_a_search_says_where_to_read_what_a_page_does_not_hold_at_all(opened: Opened) -> None:
    page = opened.go("/search?q=pangolin&in=result")
    page.locator("a.hit").click()
    expect(count_of(page)).to_have_text("1 of 1 message")
    page.get_by_role("link", name="in its record").click()
    page.wait_for_url("**/record/m-inside-agent")
    expect(page.locator("pre").last).to_contain_text("pangolin")


def test_the_address_keeps_what_was_typed(opened: Opened) -> None:
    page = opened.go(f"/s/{TALK}")
    typed(page, "/usr/lo")
    expect(count_of(page)).to_have_text("1 of 2")
    page.wait_for_url(f"**/s/{TALK}?find=%2Fusr%2Flo")
    page.reload()
    expect(field_of(page)).to_have_value("/usr/lo")
    expect(count_of(page)).to_have_text("2 found")
    expect(page.locator("#m-asked .asked mark")).to_have_text("/usr/lo")
    page.keyboard.press("m")
    expect(count_of(page)).to_have_text("1 of 2")


def test_what_has_no_such_letters_is_read_as_a_search(opened: Opened) -> None:
    page = opened.go(f"/s/{TALK}")
    typed(page, "thinking:wrong -fine")
    expect(count_of(page)).to_have_text("1 of 1 message")
    at(page, "m-thought")
    as_search = page.get_by_role("button", name="as search")
    expect(as_search).to_have_attribute("aria-pressed", "true")
    page.wait_for_url("**q=thinking**in=all")
    field_of(page).fill("call")
    expect(count_of(page)).to_have_text("1 of 2")
    expect(as_search).to_have_attribute("aria-pressed", "false")
    as_search.click()
    expect(count_of(page)).to_have_text("1 of 1 message")
    expect(page.locator("#m-said mark")).to_have_text("call")
    field_of(page).fill("-call")
    expect(count_of(page)).to_contain_text("only says what to leave out")
    field_of(page).fill("no such letters")
    expect(count_of(page)).to_have_text("not found here")
    expect(page.get_by_role("button", name="Next match")).to_be_disabled()


def test_what_is_typed_after_a_search_led_here_is_looked_for_letter_by_letter(opened: Opened) -> None:
    page = opened.go(f"/s/{TALK}?q=fine")
    expect(count_of(page)).to_have_text("1 message")
    typed(page, "foo(")
    expect(count_of(page)).to_have_text("1 of 8")
    expect(page.get_by_role("button", name="as search")).to_have_attribute("aria-pressed", "false")


def test_escape_closes_and_gives_the_focus_back(opened: Opened) -> None:
    page = opened.go(f"/s/{TALK}")
    thought = page.locator("#m-thought > summary")
    thought.focus()
    typed(page, "foo(4)")
    expect(count_of(page)).to_have_text("1 of 1")
    page.keyboard.press("Escape")
    expect(page.locator(".find-in-page")).to_be_hidden()
    expect(page.locator("mark")).to_have_count(0)
    expect(thought).to_be_focused()
    assert page.url.endswith(f"/s/{TALK}")
    page.get_by_role("button", name="Find").click()
    expect(field_of(page)).to_be_focused()
    expect(field_of(page)).to_have_value("")
    field_of(page).fill("foo(2)")
    at(page, "m-thought")
    page.get_by_role("button", name="Close and take the marks away").click()
    expect(page.get_by_role("button", name="Find")).to_be_focused()


def test_everything_is_one_key_away_and_the_sheet_tells_so(opened: Opened) -> None:
    page = opened.go(f"/s/{TALK}?find={quote('local')}")
    expect(count_of(page)).to_have_text("1 found")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_contain_text("in a session, find in it")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog", name="Keys")).to_be_hidden()
    page.keyboard.press("f")
    everywhere = page.get_by_role("searchbox", name="Search everything")
    expect(everywhere).to_be_focused()
    expect(everywhere).to_have_value("local")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search?q=local")
    expect(page.locator(".hits a.row").first).to_be_visible()


@pytest.mark.sampled(1)
@pytest.mark.parametrize("opened", [{"color_scheme": "light"}, {"color_scheme": "dark"}], indirect=True)
def test_everybody_can_find(opened: Opened) -> None:
    page = opened.go(f"/s/{FORKED}")
    typed(page, "baz[")
    expect(count_of(page)).to_have_text("1 of 1")
    expect(count_of(page)).to_have_attribute("role", "status")
    assert not findings(page)


@pytest.mark.parametrize("opened", [{"viewport": {"width": 390, "height": 844}, "is_mobile": True}], indirect=True)
def test_the_field_fits_a_phone(opened: Opened) -> None:
    page = opened.go(f"/s/{FORKED}")
    page.get_by_role("button", name="Find").click()
    field_of(page).fill("baz[")
    expect(page.get_by_role("link", name="1 on another branch")).to_be_visible()
    at(page, "m-right-reply")
    box = page.locator(".find-in-page").bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0


def test_the_field_covers_no_title(opened: Opened) -> None:
    page = opened.go(f"/s/{LONG}")
    page.set_viewport_size({"width": 1280, "height": 900})
    page.evaluate("document.querySelector('h1').textContent = 'A long title '.repeat(20)")
    page.keyboard.press("/")
    expect(page.locator(".find-in-page")).to_be_visible()
    field, title = page.locator(".find-in-page").bounding_box(), page.locator("h1").bounding_box()
    assert field is not None
    assert title is not None
    assert field["y"] + field["height"] <= title["y"]
    page.keyboard.press("Escape")
    expect(page.locator(".find-in-page")).to_be_hidden()
    above = page.locator("h1").bounding_box()
    assert above is not None
    assert above["y"] < title["y"], "the room is there only as long as it is needed"


def test_a_search_that_takes_long_says_so(opened: Opened) -> None:
    page = opened.go(f"/s/{LONG}")
    waiting: list[Route] = []

    def hold(route: Route) -> None:
        waiting.append(route)

    page.route("**/hits?*find=*", hold)
    page.keyboard.press("/")
    field_of(page).fill("bar[")
    expect(count_of(page)).to_have_text("looking …")
    for each in waiting:
        each.continue_()
    expect(count_of(page)).to_have_text("1 of 3")
