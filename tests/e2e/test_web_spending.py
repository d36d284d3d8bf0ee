"""The head of a session in one line, where its money went, and the focused view, in a real browser."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from playwright.sync_api import expect

from e2e.browsing import Opened, findings, needs_chromium
from e2e.test_web import FORKED, LONG
from e2e.test_web import write_sessions as write_usual
from reread.testing import a_prompt, a_reply, a_session

pytestmark = [pytest.mark.e2e, needs_chromium]


def write_sessions(claude: Path) -> None:
    write_usual(claude)
    recent = f"{datetime.now(UTC) - timedelta(hours=3):%Y-%m-%dT%H:%M:%S.000Z}"
    said = [a_prompt("carry the lamp", timestamp=recent), a_reply("Carried.", timestamp=recent)]
    a_session(*said, id="recent").write(claude / "projects")


@pytest.mark.parametrize(
    ("opened", "most"),
    [({"viewport": {"width": 1440, "height": 900}}, 300), ({"viewport": {"width": 390, "height": 844}}, 420)],
    indirect=["opened"],
    ids=["desk", "phone"],
)
def test_the_first_prompt_is_near_the_top(opened: Opened, most: int) -> None:
    for name in (FORKED, LONG):
        page = opened.go(f"/s/{name}")
        expect(page.locator(".figures .cost")).to_contain_text("$")
        box = page.locator(".prompt").first.bounding_box()
        assert box is not None
        assert box["y"] <= most, name


def test_one_key_leads_from_the_cost_to_where_it_went(opened: Opened) -> None:
    page = opened.go(f"/s/{FORKED}")
    failed = page.locator(".figures .bad a")
    expect(failed).to_contain_text("1 failed")
    failed.click()
    expect(page.locator("details.call.error")).to_be_in_viewport()
    page.keyboard.press("$")
    rows = page.locator(".turn-costs li")
    expect(rows).to_have_count(2)
    expect(page.locator(".money .totals")).to_contain_text("branches left behind")
    expect(page.locator(".curve polygon")).to_be_visible()
    assert page.locator(".outline a").first.get_attribute("data-cost") == rows.first.get_attribute("data-cost")
    assert not findings(page)
    rows.last.locator("a").click()
    expect(page.locator(".prompt").last).to_be_in_viewport()
    page.keyboard.press("$")
    expect(page.locator(".turn-costs")).to_be_hidden()


@pytest.mark.parametrize(
    "opened", [{}, {"viewport": {"width": 390, "height": 844}}], indirect=True, ids=["desk", "phone"]
)
def test_subagents_are_lanes_that_lead_to_their_conversations(opened: Opened) -> None:
    page = opened.go(f"/s/{FORKED}")
    page.locator(".figures a[href='#agents']").click()
    lane = page.locator(".lanes li")
    expect(lane).to_have_count(1)
    expect(lane).to_contain_text("ask the keeper")
    expect(lane).to_contain_text("started by turn 1")
    assert not findings(page)
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    lane.locator("a").first.click()
    expect(page.locator("details.agent .words", has_text="the keeper says it is the wick")).to_be_in_viewport()


def test_the_focused_view_has_prompts_and_last_answers(opened: Opened) -> None:
    page = opened.go(f"/s/{FORKED}")
    calls = page.locator(".calls").first
    expect(calls).to_be_visible()
    page.keyboard.press("v")
    expect(calls).to_be_hidden()
    expect(page.locator("article.words", has_text="I will look.")).to_be_hidden()
    expect(page.locator("article.words", has_text="It is the wick.").last).to_be_visible()
    page.reload()
    expect(page.locator(".focus-view")).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".calls").first).to_be_hidden()
    page.locator(".focus-view").click()
    expect(page.locator(".calls").first).to_be_visible()


def test_a_screen_reader_finds_a_heading_for_each_prompt_and_those_of_replies_below(opened: Opened) -> None:
    page = opened.go(f"/s/{FORKED}")
    expect(page.get_by_role("heading", level=2).filter(has_text="You")).to_have_count(2)
    expect(page.get_by_role("heading", level=1)).to_have_count(1)


def test_a_made_passphrase_is_shown(opened: Opened) -> None:
    page = opened.go(f"/s/{FORKED}/export")
    page.locator("input[value=encrypted]").check()
    page.locator(".made-words").click()
    words = page.get_by_role("textbox", name="Passphrase").input_value()
    assert len(words.split()) == 6
    assert words.replace(" ", "").isalpha()
    assert not findings(page)


def test_home_says_what_to_look_at_first(opened: Opened) -> None:
    page = opened.go("/")
    first = page.locator(".look-first")
    expect(first).to_contain_text("What to change after this week")
    box, cards = first.bounding_box(), page.locator(".cards").bounding_box()
    assert box is not None
    assert cards is not None
    assert box["y"] < cards["y"]
    dearest = first.locator("a[href$='#cost']")
    expect(dearest).to_contain_text("$")
    dearest.click()
    expect(page.locator(".turn-costs li").first).to_be_visible()
