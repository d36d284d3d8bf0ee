"""Every page fits its screen with everything open, on each width and with letters twice as large."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from e2e.browsing import Opened, findings, needs_chromium
from e2e.test_web import FORKED, PLACES
from e2e.test_web import write_sessions as write_usual
from reread.testing import a_prompt, a_reply, a_session

pytestmark = [pytest.mark.e2e, needs_chromium]

REWOUND = "rewound-often"
LONG = "carry the lamp from the lighthouse to the harbour and back again, and tell nobody of it; " * 3
PAGES = (*PLACES, f"/s/{REWOUND}", f"/s/{FORKED}/export", "/secrets")
OPEN = "for (const each of document.querySelectorAll('details')) if (each.checkVisibility()) each.open = true"
SHOWN_OVERFLOW = "getComputedStyle(each).overflowX === 'visible'"
WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
PARTS = "main .branch-list, main .graph li, main .list, main section"
CUT = f"""[...document.querySelectorAll('{PARTS}')].filter(each => each.offsetParent && {SHOWN_OVERFLOW}
    && each.scrollWidth > each.clientWidth + 1).map(each => each.className)"""


def write_sessions(claude: Path) -> None:
    write_usual(claude)
    turns = [a_prompt("begin", uuid="q-0"), a_reply("Begun.", uuid="a-0")]
    for number in range(1, 6):
        turns += [a_prompt(f"{LONG} by {number}", uuid=f"q-{number}", to="a-0"), a_reply("No.", uuid=f"a-{number}")]
    turns += [a_prompt("and then", uuid="q-7", to="a-3"), a_reply("Then."), a_prompt("rest", uuid="q-8", to="a-0")]
    a_session(*turns, a_reply("Good."), id=REWOUND).write(claude / "projects")


def opened_wide(page: Page) -> None:
    page.evaluate(OPEN)
    expect(page.locator("details[open] > .loaded > .soft", has_text="Working it out")).to_have_count(0)
    page.evaluate(OPEN)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "opened",
    [
        {"viewport": {"width": 1440, "height": 900}},
        {"viewport": {"width": 1024, "height": 768}},
        {"viewport": {"width": 390, "height": 844}},
        {"viewport": {"width": 720, "height": 450}},
    ],
    indirect=True,
    ids=["1440", "1024", "390", "200 % text"],
)
def test_nothing_runs_out_of_a_page_when_all_of_it_is_open(opened: Opened, request: pytest.FixtureRequest) -> None:
    is_large = "200" in request.node.callspec.id
    for path in PAGES:
        page = opened.go(path)
        if is_large:
            page.set_viewport_size({"width": 1440, "height": 900})
            page.evaluate("document.documentElement.style.fontSize = '200%'")
        opened_wide(page)
        assert page.evaluate(WIDER) <= 0, f"{path} is wider than the screen"
        assert not page.evaluate(CUT), path
        menu = page.locator(".places a").last
        menu.scroll_into_view_if_needed()
        expect(menu).to_be_in_viewport()


def test_everybody_can_use_every_page_when_all_of_it_is_open(opened: Opened) -> None:
    for path in PAGES:
        opened_wide(opened.go(path))
        assert not findings(opened.page), path


def test_branches_are_one_line_each_and_those_retyped_are_one(opened: Opened) -> None:
    page = opened.go(f"/s/{REWOUND}")
    page.locator(".branch-list > details > summary").click()
    rows = page.locator(".branch-list .graph > li")
    expect(rows.first).to_contain_text("main")
    expect(page.locator(".branch-list .retyped").first).to_contain_text("retyped")
    for row in rows.all():
        first = row.locator(".asked-first").first
        assert first.evaluate("each => each.offsetHeight") < 30, "one line"
    said = page.locator(".branch-list").inner_text()
    assert "q-1" not in said, "no ids where there is a prompt"
