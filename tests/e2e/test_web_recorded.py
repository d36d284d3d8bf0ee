"""Moving around in recorded sessions, the largest there are, in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from e2e.browsing import Opened, findings, needs_chromium, open_page
from reread.archive import Archive
from reread.web.archive_pool import link_name
from test_corpus import CORPUS
from web.serving import Served, served

pytestmark = [
    pytest.mark.e2e,
    needs_chromium,
    pytest.mark.shared,
    pytest.mark.skipif(not CORPUS.is_dir(), reason="no recorded transcripts beside the project"),
]
PRESSES = 8
LARGEST = 2


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, list[str]]]:
    """A server on an archive of all recordings, and its largest sessions: by bytes, by failures, by agents."""
    home: Path = tmp_path_factory.mktemp("recorded") / "home"
    with Archive(home, [CORPUS]) as archive:
        archive.sync()
        rows = [each.stored for each in archive.sessions()]
    orders = (lambda each: each.row.bytes, lambda each: each.row.tool_errors, lambda each: each.row.subagents)
    found = [each for order in orders for each in sorted(rows, key=order, reverse=True)[:LARGEST]]
    with served(home, CORPUS) as server:
        yield server, list(dict.fromkeys(f"/s/{link_name(each)}" for each in found))


@pytest.fixture
def opened(browser: Browser, recorded: tuple[Served, list[str]]) -> Iterator[Opened]:
    context = browser.new_context(viewport={"width": 1300, "height": 900})
    found = open_page(context, recorded[0], CORPUS)
    found.page.goto(found.server.address)
    yield found
    assert not found.complaints
    assert not found.foreign
    context.close()


def state(page: Page) -> tuple[float, str]:
    found = page.evaluate("[scrollY, document.activeElement.closest('[id]')?.id || '']")
    return found[0], found[1]


def told(page: Page) -> str:
    return page.locator(".key-told").inner_text()


def test_every_key_moves_or_says_that_there_is_no_more(opened: Opened, recorded: tuple[Served, list[str]]) -> None:
    for address in recorded[1]:
        page = opened.go(address)
        expect(page.locator(".piece").first).to_be_visible()
        for key in ("n", "p", "j", "k", "c"):
            stuck = None
            for _ in range(PRESSES):
                before = state(page)
                page.evaluate("document.querySelector('.key-told').textContent = ''")
                page.keyboard.press(key)
                expect(page.locator(".key-told")).not_to_be_empty()
                words = told(page)
                if words.startswith("no "):
                    stuck = words
                    break
                assert state(page) != before, (address, key, words)
                place = page.evaluate("document.activeElement.getBoundingClientRect().top")
                assert -5 <= place <= 900, (address, key, words, place)
            assert stuck or " of " in told(page)


def test_the_end_is_the_end(opened: Opened, recorded: tuple[Served, list[str]]) -> None:
    for address in recorded[1]:
        page = opened.go(address)
        expect(page.locator(".piece").first).to_be_visible()
        page.keyboard.press("G")
        expect(page.locator(".key-told")).to_have_text("the end")
        left = "document.documentElement.scrollHeight - scrollY - innerHeight"
        assert page.evaluate(left) <= 2, address
        expect(page.locator(".end")).to_be_in_viewport()
        page.keyboard.press("g")
        page.keyboard.press("g")
        expect(page.locator(".key-told")).to_have_text("the beginning")
        assert page.evaluate("scrollY") == 0


def test_failures_are_counted_as_one_goes(opened: Opened, recorded: tuple[Served, list[str]]) -> None:
    page = opened.go(recorded[1][0])
    many = page.evaluate("fetch(location.pathname + '/stops').then(answer => answer.json())")["failure"]
    assert many, "the largest session has failures"
    seen = []
    for number in range(1, len(many) + 1):
        page.keyboard.press("n")
        expect(page.locator(".key-told")).to_have_text(f"failure {number} of {len(many)}")
        seen.append(page.evaluate("document.activeElement.closest('[id]').id"))
    assert len(set(seen)) == len(many)
    page.keyboard.press("n")
    expect(page.locator(".key-told")).to_have_text(f"no more failures below: {len(many)} in all")


def test_a_first_screen_is_light_and_what_is_closed_comes_when_it_is_opened(
    opened: Opened, recorded: tuple[Served, list[str]]
) -> None:
    for address in recorded[1]:
        page = opened.go(address)
        weight = page.evaluate("fetch(location.pathname).then(answer => answer.text()).then(text => text.length)")
        assert weight < 150_000, address
        for part in page.locator("#content details[data-part]").all()[:2]:
            part.evaluate(
                "each => { for (let at = each; at; at = at.parentElement.closest('details')) at.open = true; }"
            )
            expect(part.locator(".inside, .turns").first).not_to_be_empty()


def test_the_head_stays_as_one_line_that_leads_to_what_matters(
    opened: Opened, recorded: tuple[Served, list[str]]
) -> None:
    page = opened.go(recorded[1][0])
    line = page.locator(".headline")
    expect(line).to_be_hidden()
    page.keyboard.press("G")
    expect(line).to_be_visible()
    page.keyboard.press("g")
    page.keyboard.press("g")
    expect(line).to_be_hidden()
    page.keyboard.press("j")
    page.keyboard.press("j")
    line.locator("[data-stop=failure]").click()
    expect(page.locator(".key-told")).to_contain_text("failure ")
    assert not findings(page)
