"""The page Live in a real browser, over the real client: started, watched, answered, stopped and gone on with."""

from __future__ import annotations

import os
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from client.run import Scratch
from e2e.browsing import Opened, findings, needs_chromium, open_page
from e2e.test_run_command import asked
from web.serving import served

pytestmark = [pytest.mark.e2e, needs_chromium]

SOON = 60_000
"""Milliseconds: the client takes some seconds to start, on a busy machine more."""


class Live:
    """A server whose clients talk to the mock, and a window that looks at it."""

    def __init__(self, opened: Opened, scratch: Scratch, new_window: Callable[[], Opened]) -> None:
        self.opened = opened
        self.page = opened.page
        self.work = scratch.work
        self.scratch = scratch
        self.new_window = new_window

    def start(self, prompt: str, permission: str = "ask") -> Page:
        page = self.opened.go("/live")
        page.get_by_label("Prompt").fill(prompt)
        page.get_by_label("Folder").fill(str(self.work))
        page.get_by_label("Permissions").select_option(permission)
        if permission == "allow":
            page.get_by_label("Type allow to confirm").fill("allow")
        page.get_by_role("button", name="Start").click()
        page.wait_for_url(re.compile(r"/live/[\w-]+$"))
        return page

    def wait_for(self, words: str) -> None:
        expect(self.page.locator(".composer .state")).to_contain_text(words, timeout=SOON)

    def is_done(self) -> None:
        self.wait_for("waiting for your next prompt")


@pytest.fixture
def live(browser: Browser, scratch: Scratch, request: pytest.FixtureRequest) -> Iterator[Live]:
    wanted = getattr(request, "param", {})
    source = scratch.home / ".claude"
    source.mkdir(exist_ok=True)
    # A crash tells where it was, on standard error.
    environment = {**scratch.environment, "PYTHONFAULTHANDLER": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    with served(scratch.home / "archive", source, "--claude", str(scratch.client), env=environment) as server:
        context = browser.new_context(**{"viewport": {"width": 1200, "height": 900}, **wanted})
        opened = open_page(context, server, source)
        opened.page.goto(server.address)
        yield Live(opened, scratch, lambda: open_page(context, server, source))
        assert not opened.complaints
        assert not opened.foreign
        context.close()
        if server.process.poll() is None:
            server.process.send_signal(signal.SIGTERM)
        _, said = server.process.communicate(timeout=30)
        assert (server.process.returncode, said) == (0, b"")


def test_thinking_appears_before_its_block_is_complete_and_can_be_interrupted(live: Live) -> None:
    page = live.start("mock:slow")
    forming = page.locator(".forming-thinking .text")
    expect(forming).to_contain_text("Thinking slowly.", timeout=SOON)
    live.wait_for("thinking")
    early = forming.inner_text()
    expect(forming).not_to_have_text(early)
    assert len(early) < len(forming.inner_text()) < len("Thinking slowly. " * 40) - 20
    assert page.locator("details.thought").count() == 0, "it is not complete"
    page.keyboard.press("Escape")
    live.is_done()
    expect(page.locator(".outcome")).to_contain_text("stopped")
    expect(page.locator("#content .taken-back")).to_contain_text("Thinking slowly.")
    expect(page.locator(".forming")).to_have_count(0)


def test_what_it_does_is_said_while_it_does_it(live: Live) -> None:
    page = live.start("mock:slow-text")
    live.wait_for("writing")
    expect(page.locator(".forming-text .text")).to_contain_text("Talking slowly.")
    page.get_by_role("button", name="Interrupt").click()
    live.is_done()


def test_a_permission_is_allowed_with_a_key_and_denied_with_a_reason(live: Live) -> None:
    page = live.start("mock:write(poem.txt)")
    ask = page.locator(".ask")
    expect(ask).to_have_count(1, timeout=SOON)
    live.wait_for("waiting for you: permission for Write")
    expect(ask.locator(".diff")).to_contain_text("line two")
    assert page.title().startswith("(1) ")
    held = "document.body.dispatchEvent(new KeyboardEvent('keydown', {key: 'a', repeat: true, bubbles: true}))"
    is_sent = page.evaluate(f"() => {{ {held}; return document.querySelector('.ask button[value=allow]').disabled; }}")
    assert not is_sent, "a key that is held down answers nothing"
    page.keyboard.press("a")
    live.is_done()
    assert (live.work / "poem.txt").read_text() == "line one\nline two\n"
    assert not page.title().startswith("(")
    page.get_by_label("The next prompt").fill("mock:bash(touch denied.txt)")
    page.keyboard.press("Control+Enter")
    expect(ask).to_contain_text("touch denied.txt", timeout=SOON)
    ask.get_by_label("Reason for a refusal").fill("Not today.")
    ask.get_by_role("button", name="Deny").click()
    live.is_done()
    assert not (live.work / "denied.txt").exists()
    page.keyboard.press("o")
    expect(page.locator(".call.rejected, .call.error")).to_contain_text("Not today.")
    expect(page.locator(".turn .prompt")).to_have_count(2)


def test_a_permission_with_another_input(live: Live) -> None:
    page = live.start("mock:bash(touch original.txt)")
    page.locator(".ask .edit summary").click(timeout=SOON)
    text = page.get_by_label("Input as JSON")
    text.fill("{nonsense")
    page.get_by_role("button", name="Allow with this input").click()
    expect(page.locator(".ask .told")).to_contain_text("That is not valid JSON")
    text.fill(f'{{"command": "touch {live.work}/replaced.txt", "description": "Changed"}}')
    live.opened.complaints.clear()  # the refusal is an answer of 400
    page.get_by_role("button", name="Allow with this input").click()
    live.is_done()
    assert (live.work / "replaced.txt").exists() and not (live.work / "original.txt").exists()


def test_a_permission_is_remembered(live: Live) -> None:
    page = live.start("mock:bash(touch a.txt)")
    always = page.locator(".ask .always button").first
    always.click(timeout=SOON)
    live.is_done()
    assert (live.work / "a.txt").exists()


def test_a_question_is_answered_and_outlasts_a_reload(live: Live) -> None:
    page = live.start("mock:question")
    expect(page.get_by_text("Which colour?").last).to_be_visible(timeout=SOON)
    live.wait_for("waiting for you: a question")
    page.reload()
    page.locator(".ask").get_by_label("Blue").check()
    other = live.new_window()
    other.page.goto(page.url)
    expect(other.page.locator(".ask")).to_have_count(1)
    page.get_by_role("button", name="Answer", exact=True).click()
    live.is_done()
    expect(other.page.locator(".ask")).to_have_count(0)
    expect(other.page.locator("#content")).to_contain_text("Thanks for choosing.")
    expect(page.locator(".call .ending")).to_contain_text("Blue")


def test_own_words_answer_a_question_and_nothing_does_not(live: Live) -> None:
    page = live.start("mock:question")
    page.get_by_role("button", name="Answer", exact=True).click(timeout=SOON)
    expect(page.locator(".ask .told")).to_contain_text("Choose an answer")
    expect(page.get_by_role("button", name="Answer", exact=True)).to_be_focused()
    live.opened.complaints.clear()  # the refusal is an answer of 400
    page.get_by_label("Something else").fill("Teal")
    page.get_by_role("button", name="Answer", exact=True).click()
    live.is_done()
    expect(page.locator(".call .ending")).to_contain_text("Teal")


def test_several_are_open_and_answered_in_any_order(live: Live) -> None:
    (live.work / ".claude").mkdir()
    (live.work / ".claude" / "settings.json").write_text('{"permissions": {"ask": ["WebFetch"]}}')
    page = live.start("mock:fetches")
    asks = page.locator(".ask")
    expect(asks).to_have_count(3, timeout=SOON)
    asks.nth(0).get_by_label("Reason for a refusal").fill("kept while others are answered")
    page.keyboard.press("Tab")
    page.keyboard.press("a")
    expect(asks).to_have_count(3)  # a key answers only where one thing is asked
    asks.nth(2).get_by_role("button", name="Deny").click()
    expect(asks).to_have_count(2)
    expect(asks.nth(0).get_by_label("Reason for a refusal")).to_have_value("kept while others are answered")
    asks.nth(1).get_by_role("button", name="Deny").click()
    expect(asks).to_have_count(1)
    page.get_by_role("button", name="Interrupt").click()
    expect(asks).to_have_count(0)
    live.is_done()


def test_who_answers_second_is_told_and_what_one_writes_outlasts_the_end(live: Live) -> None:
    page = live.start("mock:write(poem.txt)")
    expect(page.locator(".ask")).to_have_count(1, timeout=SOON)
    other = live.new_window().page
    other.goto(page.url)
    expect(other.locator(".ask")).to_have_count(1)
    held: list[Route] = []
    other.route("**/answer", lambda route: held.append(route))
    with other.expect_request("**/answer"):  # it is under way when the other one comes
        other.get_by_role("button", name="Deny").click()
    page.get_by_role("button", name="Allow", exact=True).click()
    live.is_done()
    expect(other.locator(".ask")).to_have_count(0)
    held[0].continue_()
    expect(other.locator(".composer .told")).to_contain_text("It was answered already")
    words = other.get_by_label("The next prompt")
    words.fill("what nobody else has")
    page.get_by_role("button", name="End", exact=True).click()
    expect(other.locator(".over-note")).to_be_visible()
    expect(words).to_have_value("what nobody else has")
    expect(other.get_by_role("button", name="Send")).to_have_count(0)
    expect(page.get_by_label("The next prompt")).to_have_count(0)


def test_a_plan_is_sent_back(live: Live) -> None:
    page = live.start("mock:plan", "mode:plan")
    expect(page.locator(".ask .words")).to_contain_text("Check it", timeout=SOON)
    assert not findings(page)
    page.get_by_role("button", name="Another plan").click()
    live.is_done()


def test_the_list_says_who_waits_and_the_session_is_kept_with_links_both_ways(live: Live) -> None:
    page = live.start("mock:bash(touch x.txt)")
    expect(page.locator(".ask")).to_have_count(1, timeout=SOON)
    run = page.url
    page.locator(".places").get_by_role("link", name="Live").click()
    expect(page.locator(".running .is-asking")).to_contain_text("waiting for you: permission for Bash")
    expect(page).to_have_title("(1) Live · reread")
    assert not findings(page)
    live.opened.go("/")
    expect(page.locator(".running")).to_contain_text("waiting for you: permission for Bash")
    live.opened.go("/live")
    page.locator(".running a.row").first.click()
    page.wait_for_url(run)
    assert not findings(page)
    page.keyboard.press("a")
    live.is_done()
    page.get_by_role("link", name="Read it as it is kept").click(timeout=SOON)
    page.wait_for_url("**/s/**")
    page.get_by_role("link", name="look at it live").click()
    page.wait_for_url(run)
    page.get_by_role("button", name="End", exact=True).click()
    live.wait_for("ended")
    expect(page.get_by_label("The next prompt")).to_have_count(0)
    live.opened.go("/live")
    expect(page).to_have_title("Live · reread")
    expect(page.locator(".running .is-ended")).to_have_count(1)
    _wait_until(lambda: any(name.endswith(".wire") for name in asked(live.scratch, "list")["sessions"][0]["files"]))
    assert len(asked(live.scratch, "list")["sessions"]) == 1, "the run and its transcript are one session"


def test_a_kept_session_is_gone_on_with_from_its_page(live: Live) -> None:
    done = live.scratch.run("mock:text(first)")
    page = live.page
    _wait_until(lambda: page.request.get(f"{live.opened.server.base}/s/{done.session}").ok)
    live.opened.go(f"/s/{done.session}")
    page.get_by_label("The next prompt").fill("mock:text(second)")
    page.get_by_role("button", name="Go on").click()
    page.wait_for_url(re.compile(r"/live/[\w-]+$"))
    live.is_done()
    expect(page.locator("#content")).to_contain_text("You said: second")
    page.get_by_role("button", name="End", exact=True).click()
    live.wait_for("ended")
    live.opened.go(f"/s/{done.session}")
    expect(page.locator("#content")).to_contain_text("You said: second", timeout=SOON)
    expect(page.locator("#content")).to_contain_text("You said: first")
    assert len(live.scratch.transcripts()) == 1


def test_what_went_wrong_is_said(live: Live) -> None:
    page = live.start("mock:error-400")
    live.is_done()
    expect(page.locator("#content")).to_contain_text("the request was invalid")
    expect(page.locator(".outcome")).to_contain_text("failed")
    page.get_by_label("The next prompt").fill("mock:error-529")
    page.get_by_role("button", name="Send").click()
    expect(page.locator("#content")).to_contain_text("Recovered after HTTP 529", timeout=SOON)
    live.is_done()
    expect(page.locator(".outcome")).to_contain_text("✓ done")
    expect(page.locator(".outcome .problem")).to_have_count(0)


def test_the_browser_goes_and_the_client_goes_on(live: Live) -> None:
    page = live.start("mock:steps", "allow")
    expect(page.locator("#content")).to_contain_text("Step number 1.", timeout=SOON)
    run = page.url
    live.opened.go("/usage")
    page.wait_for_timeout(1500)
    page.goto(run)
    live.is_done()
    expect(page.locator("#content")).to_contain_text("Six steps done.")
    expect(page.locator(".call")).to_have_count(6)


@pytest.mark.parametrize("live", [{"viewport": {"width": 390, "height": 844}, "color_scheme": "dark"}], indirect=True)
def test_it_fits_a_phone_in_the_dark(live: Live) -> None:
    page = live.start("mock:write(poem.txt)")
    expect(page.locator(".ask")).to_have_count(1, timeout=SOON)
    wider = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert page.evaluate(wider) <= 0
    assert not findings(page)
    live.opened.go("/live")
    assert page.evaluate(wider) <= 0
    assert not findings(page)


def test_the_clients_end_with_the_server(live: Live) -> None:
    live.start("mock:bash(echo $PPID > pid.txt; for n in 1 2 3 4 5 6 7 8 9; do sleep 3; done)", "allow")
    live.wait_for("working: Bash")
    written = live.work / "pid.txt"
    _wait_until(lambda: written.exists() and written.read_text().strip() != "")
    server = live.opened.server.process
    began = time.monotonic()
    server.send_signal(signal.SIGINT)
    server.wait(timeout=60)
    assert time.monotonic() - began < 30, "a page that waits does not keep it"
    expect(live.page.locator(".composer .told")).to_contain_text("The server does not answer")
    live.opened.complaints.clear()
    with pytest.raises(ProcessLookupError):
        os.kill(int(written.read_text()), 0)


def _wait_until(is_so: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.2)
