"""What waits for the person, in a real browser: one queue over all sessions, on a phone, and notifications."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from e2e.browsing import Opened, findings, needs_chromium, open_page
from live.faking import fake
from web.serving import served, until

pytestmark = [pytest.mark.e2e, needs_chromium]

PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True}


@pytest.fixture
def queue(browser: Browser, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[tuple[Opened, BrowserContext]]:
    """A server whose client asks for one permission and is then done."""
    program, source, work = tmp_path / "claude", tmp_path / "source", tmp_path / "work"
    source.mkdir()
    work.mkdir()
    command = fake("asks_permission")
    program.write_text(f"#!/bin/sh\nexec '{command[0]}' '{command[1]}' {command[2]} \"$@\"\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    with served(tmp_path / "home", source, "--claude", str(program), "--port", "0") as server:
        context = browser.new_context(**{"viewport": {"width": 1300, "height": 900}, **getattr(request, "param", {})})
        opened = open_page(context, server, work)
        opened.page.goto(server.address)
        yield opened, context
        assert not opened.complaints
        assert not opened.foreign
        context.close()


def start(opened: Opened, prompt: str) -> None:
    page = opened.go("/live")
    page.get_by_label("Prompt").fill(prompt)
    page.get_by_label("Folder").fill(str(opened.claude))
    page.get_by_role("button", name="Start").click()
    expect(page.locator(".ask")).to_have_count(1)


def fits(page: Page) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"))


@pytest.mark.parametrize("queue", [{}, {**PHONE, "color_scheme": "dark"}], indirect=True, ids=["desktop", "phone"])
def test_all_that_waits_is_answered_in_one_place(queue: tuple[Opened, BrowserContext]) -> None:
    opened, _ = queue
    start(opened, "the first")
    start(opened, "the second")
    page = opened.go("/sessions")
    expect(page.locator(".waiting-count")).to_have_text("2")
    page = opened.go("/live")
    waiting = page.locator(".queued")
    expect(waiting).to_have_count(2)
    expect(waiting.nth(0)).to_contain_text("the first")
    assert fits(page)
    assert not findings(page)
    if page.evaluate("innerWidth") < 400:
        boxes = [
            waiting.nth(0).get_by_role("button", name=name, exact=True).bounding_box() for name in ("Allow", "Deny")
        ]
        assert all(box is not None and box["height"] >= 48 and box["width"] >= 120 for box in boxes), boxes
    page.keyboard.press("a")
    waiting.nth(1).get_by_label("Reason for a refusal").fill("written while the other is answered")
    expect(waiting).to_have_count(2)  # a key answers only where one thing is asked
    waiting.nth(0).get_by_role("button", name="Allow", exact=True).click()
    expect(waiting).to_have_count(1)
    expect(waiting.get_by_label("Reason for a refusal")).to_have_value("written while the other is answered")
    waiting.get_by_role("button", name="Deny", exact=True).click()
    expect(page.locator("section.approvals")).to_be_hidden()
    page.locator("details.answered summary").click()
    expect(page.locator("details.answered li").first).to_contain_text("denied: written while the other is answered")
    expect(page.locator("details.answered li")).to_have_count(2)
    expect(page).to_have_title("Live · reread")
    assert fits(page)
    assert not findings(page)


def test_who_answers_with_the_keyboard_goes_on_where_they_were(queue: tuple[Opened, BrowserContext]) -> None:
    opened, _ = queue
    start(opened, "the first")
    start(opened, "the second")
    page = opened.go("/live")
    asks = page.locator(".ask")
    expect(asks).to_have_count(2)
    asks.nth(0).get_by_role("button", name="Allow", exact=True).press("Enter")
    expect(asks).to_have_count(1)
    expect(asks).to_be_focused()
    asks.get_by_role("button", name="Allow", exact=True).press("Enter")
    expect(asks).to_have_count(0)
    expect(page.get_by_role("heading", name="Live")).to_be_focused()
    start(opened, "the third")
    page.evaluate("window.state = document.querySelector('.state')")
    asks.get_by_role("button", name="Allow", exact=True).press("Enter")
    expect(asks).to_have_count(0)
    expect(page.locator(".state")).to_be_focused()
    assert page.evaluate("window.state === document.querySelector('.state')"), (
        "a status is read out only where it stays"
    )
    page.get_by_role("button", name="End", exact=True).press("Enter")
    expect(page.locator(".over-note")).to_be_focused()


def test_what_comes_to_wait_is_read_out(queue: tuple[Opened, BrowserContext]) -> None:
    opened, context = queue
    page = opened.go("/live")
    other = open_page(context, opened.server, opened.claude)
    start(other, "look here")
    expect(page.locator(".key-told")).to_have_text("waiting for you: look here")
    expect(page.locator(".key-told")).to_have_attribute("role", "status")


NOTED = """window.shown = []; const Real = window.Notification;
window.Notification = class { constructor(title, more) { shown.push([title, more.body]); } close() {} };
Object.defineProperty(window.Notification, 'permission', {get: () => Real.permission});
window.Notification.requestPermission = () => Real.requestPermission();"""
"""What the browser would show is only noted, with the permission that was really asked for."""
TOLD = """doing => window.port.onmessage({data: {what: "list", html: `<ul><li data-doing="${doing}"><a href="/live/1">
<span class="title">look here</span></a> <span class="doing">${doing}</span></li></ul>`}})"""


def test_what_is_answered_and_done_between_two_looks_is_told_as_done(queue: tuple[Opened, BrowserContext]) -> None:
    opened, context = queue
    context.grant_permissions(["notifications"])
    context.add_init_script(NOTED)
    context.add_init_script("SharedWorker = class { constructor() { window.port = this.port = {postMessage() {}}; } };")
    page = opened.go("/live")
    page.get_by_role("button", name="Notify me").click()
    page = opened.go("/usage")
    until(lambda: page.evaluate("Boolean(window.port)"))
    for doing in ("working", "asking", "waiting", "ended"):
        page.evaluate(TOLD, doing)
    assert page.evaluate("window.shown") == [["look here", "asking"], ["look here", "done: waiting"]]


def test_the_browser_notifies_from_another_page(queue: tuple[Opened, BrowserContext]) -> None:
    opened, context = queue
    context.grant_permissions(["notifications"])
    context.add_init_script(NOTED)
    reading = open_page(context, opened.server, opened.claude)
    page = opened.go("/live")
    button = page.get_by_role("button", name="Notify me")
    button.click()
    expect(button).to_have_attribute("aria-pressed", "true")
    assert not findings(page)
    reading.go("/usage")
    until(lambda: reading.page.evaluate("Boolean(window.reread.hear)"))
    start(opened, "look here")
    until(lambda: reading.page.evaluate("window.shown.length >= 1"))
    assert reading.page.evaluate("window.shown[0]") == ["look here", "waiting for you: permission for Bash"]
    page.get_by_role("button", name="Allow", exact=True).click()
    until(lambda: reading.page.evaluate("window.shown.length >= 2"))
    assert reading.page.evaluate("window.shown[1]") == ["look here", "done: waiting for your next prompt"]
    page = opened.go("/live")
    page.get_by_role("button", name="Notify me").click()
    expect(page.get_by_role("button", name="Notify me")).to_have_attribute("aria-pressed", "false")


def test_a_digit_answers_and_the_header_of_another_page_hears_of_it(queue: tuple[Opened, BrowserContext]) -> None:
    opened, context = queue
    start(opened, "the only one")
    other = context.new_page()
    other.goto(f"{opened.server.base}/sessions")
    expect(other.locator(".waiting-count")).to_have_text("1")
    opened.page.keyboard.press("2")
    expect(opened.page.locator(".ask")).to_have_count(0)
    expect(other.locator(".waiting-count")).to_be_hidden()


def test_home_says_first_what_would_be_done_and_leads_there(queue: tuple[Opened, BrowserContext]) -> None:
    opened, _ = queue
    start(opened, "the first")
    start(opened, "the second")
    page = opened.go("/")
    lines = page.locator(".home .rail li")
    expect(lines).to_have_count(2)
    expect(lines.nth(0).locator(".title")).to_contain_text("the first")
    expect(lines.nth(0).locator(".doing")).to_have_text("Bash ls")
    link = lines.nth(0).get_by_role("link")
    link.focus()
    with page.expect_response(lambda got: got.url.endswith("/live/rail")):
        pass
    expect(link).to_be_focused()
    link.press("Enter")
    expect(page.locator(".ask")).to_have_count(1)
    page.wait_for_load_state()  # keys need the scripts
    page.keyboard.press("a")
    expect(page.locator(".ask")).to_have_count(0)
    page = opened.go("/")
    expect(lines).to_have_count(1)
    expect(lines.locator(".title")).to_contain_text("the second")
