"""Coming back in a real browser: a link that was noted, a server that was started again, a key that was lost."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, expect

from e2e.browsing import findings, needs_chromium, open_page
from reread.archive import Archive
from reread.testing import a_prompt, a_reply, a_session
from web.serving import served

pytestmark = [pytest.mark.e2e, needs_chromium]
TALK = "talk-to-return-to"


@pytest.fixture
def claude(tmp_path: Path) -> Path:
    folder = tmp_path / "claude"
    write(folder / "projects", 60)
    with Archive(tmp_path / "home", [folder]) as archive:
        archive.sync()
    return folder


def write(folder: Path, questions: int) -> Path:
    """The same session, however long it is by now."""
    turns = [
        (a_prompt(f"question {n}", uuid=f"q-{n}"), a_reply("words " * 80, uuid=f"a-{n}")) for n in range(questions)
    ]
    return a_session(*(entry for turn in turns for entry in turn), id=TALK, cwd="/home/ann/zoo").write(folder)


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    made = browser.new_context(viewport={"width": 1300, "height": 900})
    yield made
    made.close()


def test_a_tab_goes_on_when_the_server_is_started_again(context: BrowserContext, claude: Path, tmp_path: Path) -> None:
    with served(tmp_path / "home", claude, "--port", "0") as server:
        page = open_page(context, server, claude).page
        page.goto(server.address)
        page.goto(f"{server.base}/s/{TALK}")
        page.keyboard.press("G")
        expect(page.locator(".key-told")).to_have_text("the end")
    with served(tmp_path / "home", claude, "--port", str(server.port)):
        trunk = next(claude.rglob(f"{TALK}.jsonl"))
        longer = write(tmp_path / "other", 61).read_bytes()
        assert longer.startswith(trunk.read_bytes())
        trunk.write_bytes(longer)
        expect(page.locator("#m-q-60")).to_be_visible(timeout=60_000)


def test_a_link_in_another_browser_asks_for_the_token_and_leads_on(
    context: BrowserContext, claude: Path, tmp_path: Path
) -> None:
    with served(tmp_path / "home", claude) as server:
        page = context.new_page()
        page.goto(f"{server.base}/s/{TALK}?at=m-q-40#m-q-40")
        expect(page.get_by_role("heading")).to_have_text("This page needs the token of this archive.")
        assert not findings(page)
        page.get_by_label("Token").fill("wrong")
        page.get_by_role("button", name="Open").click()
        expect(page.get_by_role("heading")).to_have_text("This page needs the token of this archive.")
        page.get_by_label("Token").fill(server.token)
        page.keyboard.press("Enter")
        expect(page.locator("#m-q-40")).to_be_in_viewport()
        expect(page).to_have_url(f"{server.base}/s/{TALK}?at=m-q-40#m-q-40")  # the token does not stay in the address
        page.wait_for_load_state("domcontentloaded")  # the script that cleans the address is the first of several
        page.keyboard.press("s")
        expect(page.locator(".marks button[name=starred]")).to_have_attribute("value", "0")


def test_a_browser_without_the_key_reads_and_is_unlocked_in_place(
    context: BrowserContext, claude: Path, tmp_path: Path
) -> None:
    with served(tmp_path / "home", claude) as server:
        page = context.new_page()
        page.goto(server.address)
        page.goto(f"{server.base}/s/{TALK}")
        expect(page.locator(".locked")).to_be_hidden()
        page.evaluate("localStorage.clear()")
        page.keyboard.press("s")
        expect(page.locator(".locked")).to_be_visible()
        assert not findings(page)
        page.locator(".locked input").fill("wrong")
        page.keyboard.press("Enter")
        expect(page.locator(".locked")).to_contain_text("That is not the token.")
        page.locator(".locked input").fill(server.token)
        page.keyboard.press("Enter")
        expect(page.locator(".locked")).to_be_hidden()
        page.locator("body").click()
        page.keyboard.press("s")
        expect(page.locator(".marks button[name=starred]")).to_have_attribute("value", "0")
