"""Many tabs of one browser: it opens six connections to a server, and all of them must hear."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Error, Page, expect

from e2e.browsing import needs_chromium
from reread.safe.safe import lock
from reread.testing import a_prompt, a_reply, a_session, a_title
from web.serving import SECONDS, Served, served, until

pytestmark = [pytest.mark.e2e, needs_chromium]

NAMES = ("bellows", "cistern", "dovecote")
SOON = 60_000
"""Milliseconds: a tab notices only after a while that what it listens to is gone."""


class Tabs:
    def __init__(self, context: BrowserContext, server: Served, claude: Path) -> None:
        self.context = context
        self.server = server
        self.claude = claude

    def open(self, path: str) -> Page:
        page = self.context.new_page()
        page.goto(f"{self.server.base}{path}")
        return page

    def path(self, name: str) -> Path:
        return next(self.claude.rglob(f"{name}.jsonl"))

    def grow(self, name: str, answer: str, *, after: int = -1) -> None:
        """`after` is the line it goes on from; one before the last is a rewind."""
        apart = a_session(a_prompt(f"say {answer}"), a_reply(answer), id=name).write(self.claude.parent / answer)
        lines = [json.loads(line) for line in apart.read_text().splitlines()]
        last = [line for line in map(json.loads, self.path(name).read_text().splitlines()) if line.get("uuid")][after]
        for number, line in enumerate(lines):
            line["uuid"] = f"{answer}-{number}"
            line["parentUuid"] = f"{answer}-{number - 1}" if number else last["uuid"]
        with self.path(name).open("a") as file:
            file.write("".join(json.dumps(line) + "\n" for line in lines))

    def begin(self, name: str) -> None:
        now = datetime.now(UTC).isoformat()  # what runs is told by the older of a file's time and its last line's
        a_session(a_title(f"The {name}"), a_prompt("begin", timestamp=now), id=name).write(self.claude / "projects")


@pytest.fixture
def tabs(browser: Browser, tmp_path: Path) -> Iterator[Tabs]:
    claude = tmp_path / "claude"
    for name in NAMES:
        a_session(a_title(f"The {name}"), a_prompt("begin"), a_reply("Begun."), id=name).write(claude / "projects")
    with served(tmp_path / "home", claude) as server:
        context = browser.new_context()
        first = context.new_page()
        first.goto(server.address)
        until(lambda: all(context.request.get(f"{server.base}/s/{name}").ok for name in NAMES))
        first.close()
        yield Tabs(context, server, claude)
        context.close()


def assert_all_say(pages: list[Page], words: str) -> None:
    for page in pages:
        expect(page.locator("#content")).to_contain_text(words, timeout=SOON)


def test_ten_tabs_hear_by_one_connection_whichever_of_them_is_closed(tabs: Tabs) -> None:
    live = [tabs.open("/live") for _ in range(3)]
    talks = {name: [tabs.open(f"/s/{name}") for _ in range(3)] for name in NAMES}
    tabs.grow("bellows", "first")
    assert_all_say(talks["bellows"], "first")
    tabs.begin("gatehouse")
    assert_all_say(live, "The gatehouse")
    live.pop(0).close()
    talks["bellows"].pop(0).close()
    tabs.grow("bellows", "second")
    tabs.grow("dovecote", "third")
    assert_all_say(talks["bellows"], "second")
    assert_all_say(talks["dovecote"], "third")
    tabs.begin("boathouse")
    assert_all_say(live, "The boathouse")
    expect(tabs.open("/search?q=second").locator("#hits")).to_contain_text("bellows")


def test_a_tab_that_crashes_takes_nothing_from_the_others(tabs: Tabs) -> None:
    first = tabs.open("/s/cistern")
    others = [tabs.open("/s/bellows"), tabs.open("/s/bellows")]
    tabs.grow("bellows", "before")
    assert_all_say(others, "before")
    with first.expect_event("crash"), pytest.raises(Error):
        first.goto("chrome://crash")
    tabs.grow("bellows", "after")
    assert_all_say(others, "after")


def test_a_page_that_nobody_sees_catches_up_when_it_is_seen(tabs: Tabs) -> None:
    page, seen = tabs.open("/s/bellows"), tabs.open("/s/bellows")
    _set_hidden(page, is_hidden=True)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    tabs.grow("bellows", "meanwhile")
    assert_all_say([seen], "meanwhile")
    assert not asked
    _set_hidden(page, is_hidden=False)
    assert_all_say([page], "meanwhile")


def test_who_reads_what_is_rewound_is_led_to_the_end_of_what_there_is(tabs: Tabs) -> None:
    for words in ("first", "second", "third", "fourth"):
        tabs.grow("bellows", words)
    until(lambda: "fourth" in tabs.context.request.get(f"{tabs.server.base}/s/bellows").text())
    page = tabs.open("/s/bellows?from=3")
    assert_all_say([page], "fourth")
    expect(page.locator("#content")).not_to_contain_text("first")
    tabs.grow("bellows", "rewound", after=3)
    assert_all_say([page], "rewound")
    expect(page.locator("#content")).not_to_contain_text("fourth")


def test_what_is_noted_in_one_tab_is_seen_in_another_where_one_writes(tabs: Tabs) -> None:
    one, other = tabs.open("/s/bellows"), tabs.open("/s/bellows")
    for page in (one, other):
        page.locator(".more-marks > summary").click()
        page.locator(".marks .editing > summary", has_text="note").click()
    field = other.locator("textarea[name=note]")
    field.press_sequentially("begun here")
    one.locator("textarea[name=note]").fill("said there")
    one.locator("form[aria-label=Note] button").click()
    one.get_by_role("button", name="Star").click()
    expect(other.locator(".note-of-mine")).to_have_text("said there", timeout=SOON)
    expect(other.get_by_role("button", name="★ Starred")).to_be_visible()
    expect(field).to_have_value("begun here")
    expect(field).to_be_focused()
    field.press_sequentially(", and ended")
    other.locator("form[aria-label=Note] button").click()
    expect(other.locator(".marks .problem")).to_contain_text("not overwritten")
    expect(one.locator(".note-of-mine")).to_have_text("said there")
    other.locator("form[aria-label=Note] button").click()
    expect(one.locator(".note-of-mine")).to_have_text("begun here, and ended", timeout=SOON)


def test_a_note_that_was_changed_elsewhere_is_not_overwritten_unseen(tabs: Tabs) -> None:
    tabs.context.add_init_script("delete window.SharedWorker; window.EventSource = class {close() {}}")  # deaf
    one, other = tabs.open("/s/bellows"), tabs.open("/s/bellows")
    for page, words in ((one, "first"), (other, "second")):
        page.locator(".more-marks > summary").click()
        page.locator(".marks .editing > summary", has_text="note").click()
        page.locator("textarea[name=note]").fill(words)
        page.locator("form[aria-label=Note] button").click()
        expect(page.locator(".note-of-mine")).to_have_text("first")
    expect(other.locator(".marks .problem")).to_contain_text("not overwritten")
    expect(other.locator("textarea[name=note]")).to_have_value("second")
    other.locator("form[aria-label=Note] button").click()
    expect(other.locator(".note-of-mine")).to_have_text("second")


def test_a_star_set_in_one_tab_is_seen_in_the_lists_of_others_whose_ticks_stay(tabs: Tabs) -> None:
    listed, reading = tabs.open("/sessions"), tabs.open("/s/bellows")
    rows = {name: listed.locator(".list > li", has_text=f"The {name}") for name in NAMES}
    rows["cistern"].locator(".tick").check()
    reading.get_by_role("button", name="Star").click()
    expect(rows["bellows"].locator(".star")).to_be_visible()
    expect(rows["cistern"].locator(".star")).to_have_count(0)
    expect(rows["cistern"].locator(".tick")).to_be_checked()


def _set_hidden(page: Page, *, is_hidden: bool) -> None:
    page.evaluate(
        "is => {Object.defineProperty(document, 'hidden', {value: is, configurable: true});"
        "document.dispatchEvent(new Event('visibilitychange'));}",
        is_hidden,
    )


def test_a_browser_without_shared_workers_hears_too(tabs: Tabs) -> None:
    tabs.context.add_init_script("delete window.SharedWorker")
    page, live = tabs.open("/s/bellows"), tabs.open("/live")
    tabs.grow("bellows", "alone")
    assert_all_say([page], "alone")
    _set_hidden(page, is_hidden=True)
    tabs.grow("bellows", "unseen")
    tabs.begin("gatehouse")
    assert_all_say([live], "The gatehouse")
    _set_hidden(page, is_hidden=False)
    assert_all_say([page], "unseen")


def test_pages_that_only_listen_say_that_the_server_has_gone_until_it_is_back(tabs: Tabs) -> None:
    listening = [tabs.open("/live"), tabs.open("/s/bellows")]
    tabs.begin("gatehouse")
    assert_all_say(listening[:1], "The gatehouse")
    home = tabs.claude.parent / "home"
    tabs.server.process.terminate()
    tabs.server.process.wait(timeout=SECONDS)
    for page in listening:
        expect(page.get_by_role("alert")).to_have_text("The server does not answer. Is reread still running?")
    with served(home, tabs.claude, "--port", str(tabs.server.port)):
        for page in listening:
            expect(page.get_by_role("alert")).to_have_count(0, timeout=SOON)


def test_a_page_that_is_empty_shows_what_the_first_sync_brings_by_itself(browser: Browser, tmp_path: Path) -> None:
    home, claude = tmp_path / "home", tmp_path / "claude"
    a_session(a_title("The bellows"), a_prompt("begin"), id="bellows").write(claude / "projects")
    context = browser.new_context()
    with ExitStack() as held:
        held.enter_context(lock(home / "safe"))  # so that the sync waits
        with served(home, claude) as server:
            empty, other = context.new_page(), context.new_page()
            empty.goto(server.address)
            expect(empty.get_by_text("The first sessions are being imported")).to_be_visible()
            other.goto(f"{server.base}/doctor")
            expect(other.get_by_text("Importing what is new")).to_be_visible()
            held.close()
            expect(empty.get_by_text("The bellows").first).to_be_visible(timeout=SOON)
            expect(other.get_by_text("All is imported")).to_be_visible(timeout=SOON)
            other.get_by_role("link", name="Show it").click()
            expect(other.locator("[data-busy]")).to_have_count(0)
    context.close()
