"""The list of sessions beside one, what is folded in its head, and the theme, in a real browser."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from e2e.browsing import Opened, findings, needs_chromium
from reread.testing import a_prompt, a_reply, a_session, a_title

pytestmark = [pytest.mark.e2e, needs_chromium]

NAMES = ("alder", "birch", "cedar", "dogwood")


def write_sessions(claude: Path) -> None:
    for day, name in enumerate(NAMES, 1):
        said = (a_prompt(f"plant the {name}", timestamp=f"2026-03-0{day}T10:00:00.000Z"), a_reply("Planted."))
        made = a_session(a_title(f"About the {name}"), *said, id=f"talk-{name}", cwd="/home/ann/wood")
        made.write(claude / "projects")


def fits(page: Page) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"))


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "opened",
    [
        {},
        {"viewport": {"width": 1900, "height": 900}},
        {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark"},
    ],
    indirect=True,
    ids=["desktop", "wide", "phone"],
)
def test_the_list_beside_a_session_leads_through_sessions_by_key(opened: Opened) -> None:
    page = opened.go("/s/talk-cedar")
    listed = page.locator("#session-list")
    expect(listed).to_be_hidden()
    page.keyboard.press("Shift+L")
    expect(listed.locator("a.row")).to_have_count(4)
    expect(listed.locator("[aria-current=page]")).to_be_focused()
    assert not findings(page)
    assert fits(page)
    page.keyboard.press("j")
    expect(listed.locator("a.row").nth(2)).to_be_focused()
    page.keyboard.press("k")
    page.keyboard.press("k")
    page.keyboard.press("Enter")
    page.wait_for_url("**/s/talk-dogwood")
    is_narrow = page.evaluate("innerWidth < 1120")
    if is_narrow:
        expect(listed).to_be_hidden()
        return
    expect(listed.locator("[aria-current=page]")).to_contain_text("dogwood")  # it stays as it was left
    page.keyboard.press("j")
    expect(page.locator(".key-told")).to_contain_text("prompt")  # outside the list j is the next prompt
    page.keyboard.press("Shift+L")
    expect(listed).to_be_hidden()
    page.reload()
    expect(listed).to_be_hidden()


def test_the_theme_is_chosen_in_the_palette_and_remembered(opened: Opened) -> None:
    page = opened.go("/usage?since=all")
    back = "getComputedStyle(document.body).backgroundColor"
    axis = "getComputedStyle(document.querySelector('figure svg text')).fill"
    light, light_axis = page.evaluate(back), page.evaluate(axis)
    page.keyboard.press("Control+k")
    page.keyboard.type("theme dark")
    expect(page.locator(".palette li").first).to_contain_text("Theme: dark")
    page.keyboard.press("Enter")
    dark = page.evaluate(back)
    assert dark != light
    assert page.evaluate(axis) != light_axis, "charts are dark, too"
    assert not findings(page)
    page.emulate_media(media="print")
    assert page.evaluate(axis) == light_axis, "paper is white"
    page.emulate_media(media="screen")
    opened.go("/s/talk-alder")
    assert page.evaluate(back) == dark
    page.emulate_media(media="print")
    ink = page.evaluate("getComputedStyle(document.body).color.match(/\\d+/g).map(Number)")
    assert max(ink[:3]) < 60
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).color.match(/\\d+/g).map(Number)") == ink
    page.emulate_media(media="screen", color_scheme="light")
    assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "dark"
    page.keyboard.press("Control+k")
    page.keyboard.type("theme system")
    page.keyboard.press("Enter")
    expect(page.locator(".key-told")).to_have_text("theme: system")
    assert page.evaluate(back) == light
