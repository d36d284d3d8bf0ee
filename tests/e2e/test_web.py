"""The web application in a real browser."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from e2e.browsing import Opened, findings, needs_chromium, open_page
from reread.testing import (
    a_prompt,
    a_reply,
    a_session,
    a_subagent,
    a_thought,
    a_title,
    a_tool_call,
    a_tool_result,
)
from web.serving import Served, served

pytestmark = [pytest.mark.e2e, needs_chromium]

FORKED, LONG = "forked-session", "long-session"
PLACES = ("/", "/live", "/sessions", "/search?q=lantern", "/usage?since=all", "/doctor", f"/s/{FORKED}", f"/s/{LONG}")


def write_sessions(claude: Path) -> None:
    a_session(
        a_title("Mend the lantern"),
        a_prompt("why does the lantern flicker", uuid="start", timestamp="2026-11-10T10:00:00.000Z"),
        a_reply(a_thought("perhaps the wick, perhaps the wind"), "I will look.", uuid="look"),
        a_reply(a_tool_call("Bash", {"command": "measure --wind"}, id="t1"), uuid="call"),
        a_tool_result("no such command", of="t1", is_error=True),
        a_reply(a_tool_call("Task", {"description": "ask the keeper", "prompt": "ask"}, id="t2")),
        a_subagent(a_prompt("ask"), a_reply("the keeper says it is the wick"), of="t2"),
        a_tool_result("it is the wick", of="t2"),
        a_reply("It is the wick.", uuid="wick"),
        a_prompt("cut it", uuid="first"),
        a_reply("The wick is cut short."),
        a_prompt("replace it instead", uuid="second", to="wick"),
        a_reply("A new wick burns steadily."),
        id=FORKED,
        cwd="/home/ann/lantern",
    ).write(claude / "projects")
    turns = []
    for number in range(1, 301):
        turns += [a_prompt(f"question {number}", uuid=f"q-{number}"), a_reply(f"answer {number}\n\n" + "words " * 60)]
    a_session(*turns, a_title("A long talk"), id=LONG, cwd="/home/ann/harbour").write(claude / "projects")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, Path]]:
    folder = tmp_path_factory.mktemp("web")
    claude = folder / "claude"
    write_sessions(claude)
    with served(folder / "home", claude) as server:
        yield server, claude


@pytest.fixture
def opened(browser: Browser, place: tuple[Served, Path], request: pytest.FixtureRequest) -> Iterator[Opened]:
    wanted = getattr(request, "param", {})
    context = browser.new_context(**{"viewport": {"width": 1300, "height": 900}, **wanted})
    found = open_page(context, *place)
    found.page.goto(found.server.address)
    _wait_for_the_first_sync(found.page)
    yield found
    assert not found.complaints
    assert not found.foreign
    context.close()


def _wait_for_the_first_sync(page: Page) -> None:
    for _ in range(100):
        if page.locator(".list a.row").count() >= 2:
            return
        page.wait_for_timeout(200)
        page.reload()
    pytest.fail("no session was taken in")


def test_the_token_leaves_the_address_bar_and_the_cookie_stays_out_of_reach(opened: Opened) -> None:
    assert "token" not in opened.page.url
    assert opened.page.evaluate("document.cookie") == ""
    opened.page.reload()
    expect(opened.page.locator("h1")).to_have_text("Home")


@pytest.mark.parametrize(
    "opened",
    [
        {},
        {"color_scheme": "dark"},
        {"viewport": {"width": 390, "height": 844}, "is_mobile": True},
        {"viewport": {"width": 2200, "height": 1200}, "reduced_motion": "reduce"},
    ],
    ids=["light", "dark", "phone", "wide"],
    indirect=True,
)
def test_every_page_fits_and_complains_of_nothing(opened: Opened) -> None:
    for path in PLACES:
        page = opened.go(path)
        expect(page.locator("h1")).to_have_count(1)
        wider = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wider <= 0, f"{path} is {wider} pixels wider than the screen"


@pytest.mark.parametrize("opened", [{"color_scheme": "light"}, {"color_scheme": "dark"}], indirect=True)
def test_everybody_can_use_every_page(opened: Opened) -> None:
    for path in (*PLACES, "/usage?by=project&since=all"):
        page = opened.go(path)
        if path.startswith("/s/"):
            page.keyboard.press("t")
            page.keyboard.press("o")
        assert not findings(page), path


@pytest.mark.parametrize("opened", [{"color_scheme": "dark"}], indirect=True)
def test_dark_is_dark(opened: Opened) -> None:
    for path in PLACES:
        page = opened.go(path)
        red, green, blue = page.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)")
        assert max(red, green, blue) < 60


def test_keys_lead_everywhere(opened: Opened) -> None:
    page = opened.go("/")
    page.keyboard.press("?")
    expect(page.locator("dialog.keys")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("dialog.keys")).to_be_hidden()
    page.keyboard.press("g")
    page.keyboard.press("s")
    page.wait_for_url("**/sessions")
    page.keyboard.press("j")
    page.keyboard.press("j")
    focused = page.evaluate("document.activeElement.getAttribute('href')")
    assert focused.startswith("/s/")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**{focused}")
    page.go_back()
    expect(page.locator("h1")).to_have_text("Sessions")
    page.keyboard.press("/")
    page.keyboard.type("wick")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search?q=wick**")


def test_search_answers_as_one_types(opened: Opened) -> None:
    page = opened.go("/search")
    page.locator(".words-wanted").press_sequentially("keeper", delay=15)
    expect(page.locator(".hits mark").first).to_have_text("keeper")
    assert "q=keeper" in page.url
    page.get_by_label("prompt", exact=True).uncheck()
    page.locator(".words-wanted").fill("steadily")
    expect(page.locator(".hits mark").first).to_have_text("steadily")
    page.locator(".words-wanted").press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url("**/s/**")
    expect(page.locator(".words:target, :target .words").first).to_contain_text("A new wick burns steadily.")
    page.go_back()
    expect(page.locator("h1")).to_have_text("Search")
    expect(page.locator(".hits mark").first).to_have_text("steadily")


def test_sessions_are_filtered_as_one_types(opened: Opened) -> None:
    page = opened.go("/sessions")
    page.get_by_label("Project", exact=True).fill("harbour")
    expect(page.locator(".list a.row")).to_have_count(1)
    expect(page.locator(".list")).to_contain_text("A long talk")


def test_a_session_opens_folds_and_shows_records(opened: Opened) -> None:
    page = opened.go(f"/s/{FORKED}")
    thinking = page.get_by_text("perhaps the wick, perhaps the wind", exact=True).last
    expect(thinking).to_be_hidden()
    page.keyboard.press("t")
    expect(thinking).to_be_visible()
    page.keyboard.press("t")
    expect(thinking).to_be_hidden()
    page.keyboard.press("o")
    expect(page.get_by_text("no such command").first).to_be_visible()
    page.keyboard.press("n")
    expect(page.locator(".call.error")).to_be_in_viewport()
    page.locator(".call.error > summary").hover()
    page.locator(".tools .record").click()
    page.wait_for_url("**/record/**")
    expect(page.locator("pre")).to_contain_text("measure --wind")


def test_another_branch_can_be_chosen(opened: Opened) -> None:
    page = opened.go(f"/s/{FORKED}")
    expect(page.locator("#content")).to_contain_text("A new wick burns steadily.")
    expect(page.locator("#content")).not_to_contain_text("The wick is cut short.")
    page.locator(".ways summary").click()
    page.locator(".ways li a").nth(1).click()
    expect(page.locator("#content")).to_contain_text("The wick is cut short.")
    page.go_back()
    page.locator(".note-rewound a").click()
    expect(page.locator("#content")).to_contain_text("The wick is cut short.")


def test_a_long_session_loads_as_one_reads(opened: Opened) -> None:
    page = opened.go(f"/s/{LONG}")
    assert page.locator(".piece").count() < 40
    for _ in range(3):
        page.keyboard.press("j")
    expect(page.locator("#m-q-3 > .prompt, #m-q-4 > .prompt").first).to_be_in_viewport()
    for _ in range(6):
        page.keyboard.press("End")
        page.wait_for_timeout(150)
    assert page.locator(".piece").count() > 100
    numbers = page.evaluate("Array.from(document.querySelectorAll('.piece')).map(each => +each.dataset.piece)")
    assert numbers == list(range(len(numbers))), "each once, in order"


def test_the_outline_and_the_map_lead_to_what_is_not_loaded_yet(opened: Opened) -> None:
    page = opened.go(f"/s/{LONG}")
    page.locator(".outline a[data-to='m-q-280']").click()
    expect(page.locator("#m-q-280")).to_be_in_viewport()
    before = page.locator(".piece").count()
    page.locator("a[data-before]").click()
    expect(page.locator(".piece")).not_to_have_count(before)
    expect(page.locator("#m-q-280")).to_be_in_viewport()
    opened.go(f"/s/{LONG}#m-q-150")
    expect(page.locator("#m-q-150")).to_be_in_viewport()


def test_a_session_grows_while_one_reads(opened: Opened) -> None:
    page = opened.go(f"/s/{FORKED}")
    expect(page.locator(".end")).to_be_visible()
    page.keyboard.press("t")
    trunk = next(opened.claude.rglob(f"{FORKED}.jsonl"))
    last = [line for line in map(json.loads, trunk.read_text().splitlines()) if line.get("uuid")][-1]
    lines = a_session(a_prompt("and trim the next one"), a_reply("It will be done."), id=FORKED).write(
        opened.claude.parent
    )
    grown = [json.loads(line) for line in lines.read_text().splitlines()]
    for line in grown:
        line["timestamp"] = "2026-11-15T10:00:00.000Z"
    grown[0]["parentUuid"] = last["uuid"]
    with trunk.open("a") as file:
        file.write("".join(json.dumps(line) + "\n" for line in grown))
    expect(page.locator("#content")).to_contain_text("It will be done.", timeout=15_000)
    expect(page.get_by_text("and trim the next one").first).to_be_visible()
    assert page.locator("details.thought[open]").count() >= 1, "what was open stays open"


def test_the_doctor_finishes_by_itself_and_looks_again(opened: Opened) -> None:
    page = opened.go("/doctor")
    expect(page.get_by_text("Everything can be read")).to_be_visible(timeout=30_000)
    page.get_by_role("button", name="Look again").click()
    expect(page.get_by_text("Everything can be read")).to_be_visible(timeout=30_000)
