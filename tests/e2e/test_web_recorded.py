"""Moving around in recorded sessions, the largest there are, in a real browser."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from e2e.browsing import Opened, findings, needs_chromium, open_page
from reread.archive import Archive
from reread.web.archive_pool import link_name
from sampling import examples
from test_corpus import CORPUS
from web.serving import Served, served

pytestmark = [
    pytest.mark.e2e,
    needs_chromium,
    pytest.mark.shared,
    pytest.mark.skipif(not CORPUS.is_dir(), reason="no recorded transcripts beside the project"),
]
PRESSES = examples(24)
LARGEST = examples(3)
COMPOSED = "c0000000-0000-4000-8000-000000000001"


def compose(folder: Path, name: str) -> None:
    """One session as large as the largest that people had: several recorded ones after each other, under new ids."""
    last, lines = None, []
    for number, path in enumerate(sorted(CORPUS.rglob("*.jsonl"), key=lambda path: -path.stat().st_size)[:12]):
        text = re.sub(r"(toolu|msg|req)_(\w+)", rf"\1_{number}x\2", path.read_text("utf-8", "replace"))
        for line in text.splitlines():
            entry = json.loads(line) if line.startswith("{") else {}
            if not entry.get("uuid") or entry.get("isSidechain"):
                continue
            renamed = {key: f"{number:04x}{entry[key][4:]}" for key in ("uuid", "parentUuid") if entry.get(key)}
            entry |= {"parentUuid": last, **renamed, "sessionId": name}
            last = entry["uuid"]
            lines.append(json.dumps(entry))
    (folder / "projects" / "-composed").mkdir(parents=True)
    (folder / "projects" / "-composed" / f"{name}.jsonl").write_text("\n".join(lines) + "\n")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, list[str]]]:
    """A server on an archive of all recordings, and its largest sessions: by bytes, by failures, by agents."""
    home: Path = tmp_path_factory.mktemp("recorded") / "home"
    compose(home.parent / "composed", COMPOSED)
    with Archive(home, [CORPUS, home.parent / "composed"]) as archive:
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


@pytest.mark.parametrize(("size", "most"), [((1440, 900), 300), ((390, 844), 420)], ids=["desk", "phone"])
def test_the_first_screen_is_light_and_begins_with_the_first_prompt(
    opened: Opened, recorded: tuple[Served, list[str]], size: tuple[int, int], most: int
) -> None:
    page = opened.page
    page.set_viewport_size({"width": size[0], "height": size[1]})
    for address in dict.fromkeys([*recorded[1], f"/s/{COMPOSED}"]):
        body = page.request.get(f"{opened.server.base}{address}").body()
        assert body.index(b'<p class="end') <= len(body) <= 150_000, address
        assert b'src="data:' not in body, "an image has an address of its own"
        opened.go(address)
        expect(page.locator(".figures .facts").first).to_be_visible()
        top = page.locator(".piece").first.bounding_box()
        assert top is not None
        assert top["y"] <= most, address
        expect(page.locator(".map svg")).to_be_attached()
        for image in page.locator(".pictures img").all():
            assert image.get_attribute("height")
