"""The palette in a real browser: from every page to sessions, projects, text and commands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Route, expect

from e2e.browsing import Opened, findings, needs_chromium
from reread.testing import a_prompt, a_reply, a_session, a_title

pytestmark = [pytest.mark.e2e, needs_chromium]


def write_sessions(claude: Path) -> None:
    for name, words in (("harbour", "the pelican sleeps"), ("zoo", "an okapi"), ("farm", "a goose and <b>hens</b>")):
        a_session(
            a_title(f"About the {name}"),
            a_prompt(f"what is new in the {name}", uuid=f"asked-{name}"),
            a_reply(f"Only {words}.", uuid=f"said-{name}"),
            id=f"talk-{name}",
            cwd=f"/home/ann/{name}",
        ).write(claude / "projects")


def test_a_few_letters_lead_to_a_session_a_project_a_text_or_a_command(opened: Opened) -> None:
    page = opened.go("/usage?since=all")
    offers = page.locator(".palette li")
    page.keyboard.press("Control+k")
    expect(offers.first).to_be_visible()
    assert not findings(page)
    page.keyboard.type("zoo")
    expect(offers.filter(has_text="About the zoo").first).to_be_visible()
    expect(offers.filter(has_text="project")).to_contain_text("1 session")
    page.keyboard.press("Enter")
    page.wait_for_url("**/s/talk-zoo")
    page.keyboard.press("Meta+k")
    page.keyboard.type("pelican")
    expect(offers.filter(has_text="the pelican sleeps")).to_be_visible()
    offers.filter(has_text="the pelican sleeps").click()
    page.wait_for_url("**/s/talk-harbour?*#m-said-harbour")
    page.keyboard.press("Control+k")
    page.keyboard.type("star, or")
    page.keyboard.press("Enter")
    expect(page.locator(".marks button[name=starred]")).to_have_attribute("value", "0")
    page.keyboard.press("Control+k")
    page.keyboard.type("usage of this project")
    expect(offers.first).to_contain_text("Usage of this project")
    page.keyboard.press("Enter")
    page.wait_for_url("**/usage?project=*harbour*")


def test_words_are_marked_texts_stand_by_session_and_a_sign_asks_for_commands(opened: Opened) -> None:
    page = opened.go("/usage?since=all")
    offers = page.locator(".palette li")
    page.keyboard.press("Control+k")
    page.keyboard.type("new")
    texts = offers.filter(has=page.locator(".kind", has_text="text"))
    expect(texts).to_have_count(3)
    expect(texts.first.locator("mark").first).to_have_text("new")
    expect(texts.first.locator(".about")).to_contain_text(re.compile(r"(harbour|zoo|farm) · About"))
    expect(texts.first.locator(".age")).not_to_be_empty()
    page.keyboard.press("Control+a")
    page.keyboard.type("> usage")
    expect(offers.first).to_contain_text("Go to Usage")
    expect(offers.filter(has_not=page.locator(".kind", has_text="command"))).to_have_count(0)
    assert not findings(page)
    page.keyboard.press("Enter")
    page.wait_for_url("**/usage")


def test_the_field_of_the_header_answers_while_one_types_and_markup_is_text(opened: Opened) -> None:
    page = opened.go("/sessions")
    page.locator(".quick input").press_sequentially("goose")
    expect(page.locator(".palette li").filter(has_text="a goose and <b>hens</b>")).to_be_visible()
    assert page.locator(".palette b").count() == 0
    page.keyboard.press("Escape")
    expect(page.locator(".palette")).to_be_hidden()
    opened.go("/sessions?title=okapi")
    page.get_by_role("link", name="Search the text of all sessions").click()
    expect(page.locator("#hits")).to_contain_text("About the zoo")


def test_letters_that_are_still_put_together_are_left_to_the_input_method(opened: Opened) -> None:
    page = opened.go("/sessions")
    method = page.context.new_cdp_session(page)
    page.locator(".quick input").focus()
    method.send("Input.imeSetComposition", {"text": "けんs", "selectionStart": 3, "selectionEnd": 3})
    expect(page.locator(".quick input")).to_have_value("けんs")
    expect(page.locator(".palette")).to_be_hidden()
    method.send("Input.insertText", {"text": "検索"})
    expect(page.locator(".palette input")).to_have_value("検索")
    composing = (
        "field => field.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', isComposing: true, bubbles: true}))"
    )
    expect(page.locator(".palette li").first).to_contain_text("検索")
    page.locator(".palette input").evaluate(composing)
    expect(page.locator(".palette")).to_be_visible()
    assert page.url.endswith("/sessions")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search?q=*")


def test_what_takes_long_says_so_while_one_waits(opened: Opened) -> None:
    held: list[Route] = []
    page = opened.go("/search")
    page.route(re.compile("/(palette|search)[?]"), lambda route: held.append(route))
    hits, told = page.locator("#hits"), page.locator(".palette .told")
    page.locator(".words-wanted").fill("goose")
    expect(hits).to_have_attribute("aria-busy", "true")
    held.pop().continue_()
    expect(page.locator("#hits mark").first).to_have_text("goose")
    expect(hits).not_to_have_attribute("aria-busy", "true")
    page.keyboard.press("Control+k")
    expect(told).to_have_text("Looking …")
    held.pop().continue_()
    expect(page.locator(".palette li").first).to_be_visible()
    expect(told).to_have_text("")
