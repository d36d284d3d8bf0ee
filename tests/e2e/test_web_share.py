"""Handing out a session from its page: seen before, checked, encrypted where that is wanted."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from e2e.browsing import Opened, findings, needs_chromium
from reread.testing import a_prompt, a_reply, a_session, a_tool_call, a_tool_result
from reread.views.html.page import session_page

pytestmark = [pytest.mark.e2e, needs_chromium]
KEY = "ghp_" + "Zq8Lm2Xv9Rt4Yw7Kc1Bn6Hd3Jf5Gp0SaUeTi"
MAIL = "ann.keeper@zoo-of-tests.org"


def write_sessions(claude: Path) -> None:
    for number in range(3):
        a_session(
            a_prompt(f"push it with {KEY} please", uuid=f"asked-{number}"),
            a_reply(f"Pushed; I told {MAIL}.", uuid=f"said-{number}"),
            id=f"talk-{number}",
            cwd="/home/ann/zoo",
        ).write(claude / "projects")


def test_what_goes_out_is_seen_before_and_can_be_kept_by_kind(opened: Opened) -> None:
    page = opened.go("/s/talk-1")
    page.get_by_role("link", name="Export or share").click()
    finds = page.locator(".finds")
    expect(finds.locator("mark").first).to_be_visible()
    assert KEY not in finds.inner_html()
    assert not findings(page)
    ink = finds.locator("mark").first.evaluate("each => getComputedStyle(each).color")
    assert ink == page.evaluate("getComputedStyle(document.body).color"), (
        "in the colours of the page, not of the browser"
    )
    page.get_by_label("Markdown").first.check()
    page.get_by_label("keep e-mail address").check()
    with page.expect_download() as started:
        page.get_by_role("button", name="Export", exact=True).click()
    text = Path(started.value.path()).read_text("utf-8")
    assert started.value.suggested_filename == "talk-1.md"
    assert KEY not in text
    assert MAIL in text
    page.get_by_label("Take out secrets").uncheck()
    with page.expect_download() as started:
        page.get_by_role("button", name="Export", exact=True).click()
    assert KEY in Path(started.value.path()).read_text("utf-8"), "as it is, where one says so"


def test_an_encrypted_file_opens_with_its_passphrase_and_nothing_else(opened: Opened, tmp_path: Path) -> None:
    page = opened.go("/s/talk-1/export")
    page.get_by_label("HTML, encrypted").check()
    page.get_by_role("textbox", name="Passphrase").fill("correct horse")
    with page.expect_download() as started:
        page.get_by_role("button", name="Export", exact=True).click()
    file = tmp_path / "sealed.html"
    started.value.save_as(file)
    assert "Pushed" not in file.read_text("utf-8")
    other = page.context.new_page()
    asked: list[str] = []
    other.on("request", lambda request: asked.append(request.url))
    other.goto(file.as_uri())
    other.get_by_label("Passphrase").fill("wrong horse")
    other.keyboard.press("Enter")
    expect(other.get_by_role("status")).to_have_text("That is not the passphrase.")
    other.get_by_label("Passphrase").fill("correct horse")
    other.keyboard.press("Enter")
    expect(other.get_by_text("Pushed; I told")).to_be_visible()
    assert {url for url in asked if not url.startswith(("file:", "data:", "blob:"))} == set()


def test_a_single_find_is_kept_and_a_turn_or_a_selection_is_copied_as_markdown(opened: Opened) -> None:
    page = opened.go("/s/talk-1/export")
    page.get_by_label("Markdown").first.check()
    page.locator(".finds input[name=keep-one]").first.check()
    assert not findings(page)
    with page.expect_download() as started:
        page.get_by_role("button", name="Export", exact=True).click()
    text = Path(started.value.path()).read_text("utf-8")
    assert "[redacted" in text
    expect(page.get_by_role("button", name="Export", exact=True)).to_be_focused()
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    opened.go("/s/talk-1")
    page.locator("#m-said-1").hover()
    page.locator(".tools .copy-turn").click()
    expect(page.locator(".key-told")).to_have_text("turn 1 copied as Markdown, 2 things taken out · Copy as it is")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith("## 1. You") and "[redacted" in copied
    page.get_by_role("button", name="Copy as it is").click()
    expect(page.locator(".key-told")).to_have_text("turn 1 copied as Markdown")
    assert "[redacted" not in page.evaluate("navigator.clipboard.readText()")
    page.evaluate("getSelection().selectAllChildren(document.querySelector('#content'))")
    page.keyboard.press("y")
    expect(page.locator(".key-told")).to_contain_text("copied as Markdown")


def test_a_phone_copies_without_a_clipboard_and_is_offered_no_encryption(opened: Opened) -> None:
    page = opened.page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.add_init_script(
        "window.clipboardOfTheTest = navigator.clipboard;"
        "Object.defineProperty(Navigator.prototype, 'clipboard', {value: undefined});"
        "Object.defineProperty(window, 'isSecureContext', {value: false});"
    )
    opened.go("/s/talk-1/export")
    expect(page.get_by_text("Nothing in it").or_(page.get_by_text("tick a kind"))).to_be_visible()
    expect(page.get_by_label("HTML, encrypted")).to_be_disabled()
    page.get_by_text("Copy as Markdown").click()
    expect(page.locator(".exporting .told")).to_have_text("Copied.")
    assert "# " in page.evaluate("window.clipboardOfTheTest.readText()")
    opened.go("/s/talk-1")
    page.keyboard.press("y")
    expect(page.locator(".key-told")).to_contain_text("copied as Markdown")
    assert page.evaluate("document.querySelectorAll('.copied-from').length") == 0


def test_in_an_exported_file_the_key_for_failures_passes_those_that_are_folded(
    browser: Browser, tmp_path: Path
) -> None:
    calls = []
    for number in range(30):
        is_error = number in (5, 17)
        calls += [a_reply(a_tool_call("Bash", {"command": f"run {number}"}, id=f"t{number}"))]
        calls += [a_tool_result("boom" if is_error else "fine", id=f"t{number}", is_error=is_error or None)]
    last = [a_reply(a_tool_call("Bash", {"command": "the last"}, id="last"))]
    last += [a_tool_result("boom", id="last", is_error=True), a_reply("a line\n\n" * 99)]
    session = a_session(a_prompt("go"), *calls, a_reply("a line\n\n" * 99), a_prompt("again"), *last).build()
    file = tmp_path / "session.html"
    file.write_text(session_page(session), "utf-8")
    page = browser.new_page(reduced_motion="reduce")
    page.goto(file.as_uri())
    wanted = page.locator(".call.error").last
    for _ in range(3):
        page.keyboard.press("n")
    expect(wanted).to_be_in_viewport()
    page.close()
