"""Prompts as Markdown behind a fold, branches as a graph, and times as people say them, in a real browser."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from playwright.sync_api import expect

from e2e.browsing import Opened, findings, needs_chromium
from reread.testing import a_prompt, a_reply, a_session

pytestmark = [pytest.mark.e2e, needs_chromium]

LIST = "Please:\n\n" + "\n".join(f"- step {number} of **many**" for number in range(1, 31))
PATHS = "look at src/*.py and tests/*.py\nand __init__ too"


def write_sessions(claude: Path) -> None:
    recent = f"{datetime.now(UTC) - timedelta(hours=3):%Y-%m-%dT%H:%M:%S.000Z}"
    said = [a_prompt(LIST, timestamp=recent), a_reply("Yes.", timestamp=recent), a_prompt(PATHS, timestamp=recent)]
    a_session(*said, a_reply("Yes.", timestamp=recent), id="lists").write(claude / "projects")
    a_session(
        a_prompt("begin", uuid="q-1"),
        a_reply("Begun.", uuid="a-1"),
        a_prompt("paint the door green", uuid="q-2"),
        a_reply("Green it is.", uuid="a-2"),
        a_prompt("paint the door red", uuid="q-3", to="a-1"),
        a_reply("Red it is.", uuid="a-3"),
        id="painter",
    ).write(claude / "projects")
    a_session(a_prompt("third"), a_reply("Well."), id="third").write(claude / "projects")


@pytest.mark.parametrize(
    "opened",
    [{}, {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark"}],
    indirect=True,
    ids=["wide", "phone"],
)
def test_a_prompt_is_markdown_and_folded_after_a_dozen_lines(opened: Opened) -> None:
    page = opened.go("/s/lists")
    prompt = page.locator(".prompt").first
    expect(prompt.locator("> .asked li").first).to_have_text("step 1 of many")
    assert prompt.locator("> .asked li").count() <= 12
    hidden = prompt.locator(".rest li").last
    expect(hidden).to_be_hidden()
    prompt.locator(".rest summary").click()
    expect(hidden).to_have_text("step 30 of many")
    assert page.locator(".prompt").nth(1).locator(".asked").inner_text() == PATHS, "stars of a path stay stars"
    assert not findings(page)
    time = page.locator(".prompt time").first
    expect(time).to_have_text("3 hr. ago")
    assert str(datetime.now(UTC).year) in (time.get_attribute("title") or "")


@pytest.mark.parametrize("opened", [{"timezone_id": "Asia/Tokyo", "locale": "en-GB"}], indirect=True)
@pytest.mark.parametrize(
    ("now", "told"),
    [
        ("2026-01-05T23:00:00Z", "14 hr ago"),
        ("2026-01-06T14:59:00Z", "yesterday 18:00"),
        ("2026-01-06T15:01:00Z", "Mon 18:00"),
        ("2026-01-11T14:59:00Z", "Mon 18:00"),
        ("2026-01-11T15:01:00Z", "5 Jan 2026, 18:00"),
    ],
)
def test_a_day_is_one_of_the_calendar_and_has_its_hour(opened: Opened, now: str, told: str) -> None:
    opened.page.clock.set_fixed_time(now)
    page = opened.go("/s/painter")
    expect(page.locator(".prompt time").first).to_have_text(told)


def test_branches_are_a_graph_with_what_was_left_behind_and_what_was_asked_instead(opened: Opened) -> None:
    page = opened.go("/s/painter")
    page.locator(".branch-list summary").click()
    rows = page.locator(".branch-list .graph li")
    expect(rows).to_have_count(2)
    expect(rows.nth(0)).to_contain_text("main")
    left = rows.nth(1)
    expect(left.locator(".asked-first mark")).to_have_text("green")
    expect(left.locator(".instead mark")).to_have_text("red")
    expect(left.locator(".about")).to_contain_text("1 prompt")
    expect(left.locator(".about")).to_contain_text("left behind")
    assert "$" in left.locator(".about").inner_text()
    assert not findings(page)
    left.locator("a").first.click()
    page.wait_for_url("**branch=**")
    expect(page.locator(".branch-note")).to_be_visible()
