"""The web application in a real browser."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from e2e.browsing import Opened, findings, needs_chromium
from reread.archive import Archive
from reread.testing import (
    Entry,
    a_prompt,
    a_reply,
    a_session,
    a_subagent,
    a_thought,
    a_title,
    a_tool_call,
    a_tool_result,
)
from troubled import ONE, RULE, THREE, TWO, troubled, write
from web.serving import Served, until

pytestmark = [pytest.mark.e2e, needs_chromium]

FORKED, LONG = "forked-session", "long-session"
PLACES = (
    "/",
    "/live",
    "/sessions",
    "/sessions?group=1&sort=cost&project=harbour",
    "/search",
    "/search?q=lantern",
    "/usage?since=all",
    "/usage?since=all&by=project",
    "/retro?since=all",
    "/doctor",
    f"/s/{FORKED}",
    f"/s/{FORKED}/compare",
    f"/s/{LONG}",
    f"/s/{ONE}",
)


def wrote(name: str, path: str, content: str) -> list[Entry]:
    twin = {"type": "create", "filePath": path, "content": content, "structuredPatch": []}
    call = a_tool_call("Write", {"file_path": path, "content": content}, id=name)
    return [a_reply(call), a_tool_result("done", of=name, twin=twin)]


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
        *wrote("w1", "/home/ann/lantern/wick.py", "length = 1\n"),
        a_reply("The wick is cut short."),
        a_prompt("replace it instead", uuid="second", to="wick"),
        *wrote("w2", "/home/ann/lantern/wick.py", "length = 9\nis_new = True\n"),
        a_reply("A new wick burns steadily."),
        id=FORKED,
        cwd="/home/ann/lantern",
    ).write(claude / "projects")
    turns = []
    for number in range(1, 301):
        turns += [a_prompt(f"question {number}", uuid=f"q-{number}"), a_reply(f"answer {number}\n\n" + "words " * 60)]
    a_session(*turns, a_title("A long talk"), id=LONG, cwd="/home/ann/harbour").write(claude / "projects")
    late = [a_prompt("no, that is wrong, I said to keep the late names", uuid="late"), a_reply("Sorry.")]
    for name, day in ((ONE, "2026-02-03"), (TWO, "2026-03-03"), (THREE, "2026-04-07")):
        more = [*turns[:240], *late, a_prompt("thanks"), a_reply("Done.")] if name == ONE else []
        write(troubled(name, *more), claude / "projects", day)


@pytest.fixture
def unmarked(place: tuple[Served, Path]) -> Iterator[None]:
    """What a test marks is gone after it: the tests of a server run in any order."""
    yield
    with Archive(place[1].parent / "home") as archive:
        for session, mark in archive.marks.all().items():
            archive.marks.set(session, starred=False, hidden=False, untags=mark.tags, note="", title="")
        assert not archive.marks.all()


@pytest.mark.parametrize("opened", [{"storage_state": None}], indirect=True, ids=["a new browser"])
def test_the_token_leaves_the_address_bar_and_the_cookie_stays_out_of_reach(opened: Opened) -> None:
    opened.page.goto(opened.server.address)
    assert "token" not in opened.page.url
    assert opened.page.evaluate("document.cookie") == ""
    opened.page.reload()
    expect(opened.page.locator("h1")).to_have_text("Home")


@pytest.mark.sampled(3)
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
        if page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches"):
            back = page.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)")
            assert max(back[:3]) < 60, f"{path} is not dark"


def test_the_header_is_whole_on_every_screen(opened: Opened) -> None:
    for path in ("/", f"/s/{FORKED}"):
        page = opened.go(path)
        for width in range(740, 1300, 20):
            page.set_viewport_size({"width": width, "height": 800})
            cut = page.locator(".places").evaluate("each => each.scrollWidth - each.clientWidth")
            assert cut <= 0, f"the menu of {path} is cut by {cut} pixels where {width} are there"
            narrow = page.locator(".bar > *").evaluate_all(
                "those => those.filter(each => each.scrollWidth > each.clientWidth + 1).map(each => each.className)"
            )
            assert not narrow, f"{path}, {width} pixels"
            assert page.locator(".brand").evaluate("each => each.getClientRects().length") == 1
            assert page.locator(".brand").evaluate("each => each.offsetHeight") < 40, f"{path}, {width} pixels"


@pytest.mark.parametrize(
    ("opened", "rules"),
    [({"color_scheme": "light"}, []), ({"color_scheme": "dark"}, ["color-contrast"])],  # a theme changes colours alone
    ids=["light", "dark"],
    indirect=["opened"],
)
def test_everybody_can_use_every_page(opened: Opened, rules: list[str]) -> None:
    for path in PLACES:
        page = opened.go(path)
        if path.startswith("/s/"):
            page.keyboard.press("t")
            page.keyboard.press("o")
        page.evaluate("for (const each of document.querySelectorAll('main.retro details')) each.open = true")
        assert not findings(page, *rules), path


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
    expect(page).to_have_title("steadily – search · reread")
    expect(page.locator(".hits mark").first).to_have_text("steadily")
    page.locator(".words-wanted").press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url("**/s/**")
    expect(page.locator(".words:target, :target .words").first).to_contain_text("A new wick burns steadily.")
    page.go_back()
    expect(page.locator("h1")).to_have_text("Search")
    expect(page.locator(".hits mark").first).to_have_text("steadily")


def test_a_date_that_is_none_is_told_beside_its_field_until_it_is_mended(opened: Opened) -> None:
    page = opened.go("/usage?project=harbour&since=nonsense")
    since = page.get_by_label("Since")
    expect(page.get_by_role("alert")).to_contain_text("is not a date")
    expect(since).to_have_attribute("aria-invalid", "true")
    assert not findings(page)
    since.fill("2020-01-01")
    page.get_by_role("button", name="Show").click()
    page.wait_for_url("**since=2020-01-01**")
    expect(page.locator(".cards")).to_be_visible()
    assert "project=harbour" in page.url
    for path in ("/sessions", "/search?q=lantern&project=harbour"):
        opened.go(path)
        since.fill("nonsense")
        expect(page.get_by_role("alert")).to_contain_text("is not a date")
        expect(since).to_have_attribute("aria-invalid", "true")
        since.fill("2020-01-01")
        expect(page.get_by_role("alert")).to_have_count(0)
        expect(since).not_to_have_attribute("aria-invalid", "true")
    assert all("400" in each for each in opened.complaints)
    opened.complaints.clear()


def test_a_facet_narrows_and_back_widens_again(opened: Opened) -> None:
    page = opened.go("/search?q=answer+OR+wick")
    words = page.locator(".sums")
    before = words.inner_text()
    page.locator(".facets a", has_text="lantern").click()
    expect(page.locator(".chip")).to_contain_text("project")
    expect(words).not_to_have_text(before)
    expect(page.locator(".groups .group .title")).to_have_text(["Mend the lantern"])
    page.go_back()
    expect(page.locator(".sums")).to_have_text(before)


def test_more_hits_come_when_asked_for(opened: Opened) -> None:
    page = opened.go("/search?q=answer")
    expect(page.locator(".sums")).to_contain_text("The best 60 of 420 hits")
    page.locator(".more-hits a").click()
    expect(page.locator(".sums")).to_contain_text("The best 120 of 420 hits")
    assert "n=120" in page.url
    page.locator(".words-wanted").fill("question")
    expect(page.locator(".sums")).to_contain_text("The best 60 of 420 hits")


def test_keys_pass_the_hits_that_are_folded(opened: Opened) -> None:
    page = opened.go("/search?q=answer")
    rows = page.locator(".hits a.row")
    shown = rows.filter(visible=True).count()
    assert 0 < shown < rows.count()
    page.locator(".words-wanted").press("ArrowDown")
    for _ in range(shown - 1):
        page.keyboard.press("j")
    expect(rows.filter(visible=True).last).to_be_focused()
    page.keyboard.press("j")
    expect(page.locator(".key-told")).to_have_text(f"no more here: {shown} of {shown}")
    page.locator(".hits .others > summary").first.press("Enter")
    expect(rows.filter(visible=True)).not_to_have_count(shown)
    expect(page.locator(".hits .others").first).to_have_attribute("open", "")
    page.locator(".more-hits a").press("Enter")
    expect(page.locator(".sums")).to_contain_text("The best 120 of 420 hits")
    expect(page.locator(".hits :focus")).to_have_count(1)


def test_what_was_unfolded_stays_so_when_more_hits_come_and_is_no_fold_of_other_words(opened: Opened) -> None:
    page = opened.go("/search?q=answer")
    unfolded = page.locator(".hits .others[open]")
    page.locator(".hits .others > summary").first.click()
    page.locator(".more-hits a").click()
    expect(page.locator(".sums")).to_contain_text("The best 120 of 420 hits")
    expect(unfolded).to_have_count(1)
    page.locator(".words-wanted").fill("zzgrmpf")
    expect(page.locator(".sums")).to_contain_text("No hits")
    page.locator(".words-wanted").fill("question")
    expect(page.locator(".sums")).to_contain_text("The best 60 of 420 hits")
    page.reload()
    expect(page.locator(".hits .others")).not_to_have_count(0)
    expect(unfolded).to_have_count(0)


def test_a_hit_in_a_result_leads_to_its_call_which_is_marked_and_open(opened: Opened) -> None:
    page = opened.go("/search?q=%22such+command%22&in=result")
    page.locator(".hits a.row").first.click()
    page.wait_for_url("**/s/**")
    expect(page.locator("details.call:target")).to_have_attribute("open", "")
    expect(page.locator(":target")).to_contain_text("no such command")


def test_what_was_unfolded_is_so_again_on_the_way_back(opened: Opened) -> None:
    page = opened.go("/retro?since=all")
    page.locator("details.hurt > summary").first.click()
    link = page.locator("details.hurt[open] .moment a").first
    link.click()
    page.wait_for_url("**/s/**")
    page.go_back()
    expect(page.locator("details.hurt[open] .moment a").first).to_be_visible()
    expect(page.locator("details.hurt[open]")).to_have_count(1)


def test_skip_links_are_seen_and_lead_past_the_conversation(opened: Opened) -> None:
    page = opened.go(f"/s/{FORKED}")
    for words in ("Skip to the content", "Skip to the list of prompts"):
        page.keyboard.press("Tab")
        expect(page.get_by_text(words)).to_be_focused()
        box = page.get_by_text(words).bounding_box()
        assert box is not None
        middle = [box["x"] + box["width"] / 2, box["y"] + box["height"] / 2]
        assert page.evaluate("([x, y]) => document.elementFromPoint(x, y).innerText", middle) == words
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.matches('.outline li a')")


def test_search_can_be_used_without_a_mouse(opened: Opened) -> None:
    page = opened.go("/search?q=wick")
    words = page.locator(".words-wanted")
    words.press("ArrowDown")
    assert page.evaluate("document.activeElement.matches('.list a.row')")
    page.keyboard.press("j")
    second = page.evaluate("document.activeElement.getAttribute('href')")
    page.keyboard.press("f")
    assert page.evaluate("document.activeElement.name") == "in"
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.value") == "text"
    page.keyboard.press("Escape")
    expect(words).to_be_focused()
    words.press("ArrowDown")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url("**/s/**")
    page.go_back()
    page.wait_for_function("wanted => document.activeElement.getAttribute('href') === wanted", arg=second)


def test_bars_say_what_they_are_and_narrow_the_page(opened: Opened) -> None:
    page = opened.go("/usage?since=all")
    expect(page.locator(".second .reread-chart")).to_be_visible()
    bars = page.locator(".first .reread-chart .hit a")
    bars.last.hover()
    expect(page.locator(".tip")).to_contain_text("2026-")
    expect(page.locator(".tip")).to_contain_text("$")
    bars.first.focus()
    first = page.locator(".tip").inner_text()
    page.keyboard.press("End")
    expect(page.locator(".tip")).to_be_visible()
    assert bars.count() == 1 or page.locator(".tip").inner_text() != first
    page.keyboard.press("Enter")
    page.wait_for_url("**by=session**")
    expect(page.locator(".chips a")).to_have_count(2)
    page.go_back()
    expect(page.locator(".segments a[aria-current]").first).to_have_text("day")
    page.locator(".second .table a", has_text="harbour").click()
    expect(page.locator(".chips")).to_contain_text("/home/ann/harbour")


def test_charts_and_tables_can_be_kept(opened: Opened) -> None:
    page = opened.go("/usage?since=all&by=model")
    expect(page.locator(".second .files")).to_be_visible()
    for place, by in ((".first", "model"), (".second", "project")):
        for name, beginning in {"SVG": b"<svg ", "PNG": b"\x89PNG", "CSV": by.encode() + b","}.items():
            with page.expect_download() as kept:
                page.locator(f"{place} .files").locator("a, button", has_text=name).click()
            assert kept.value.suggested_filename == f"reread-usage-by-{by}.{name.lower()}"
            assert Path(kept.value.path()).read_bytes().startswith(beginning)


def test_home_fits_on_one_screen(opened: Opened) -> None:
    opened.page.set_viewport_size({"width": 1280, "height": 900})
    page = opened.go("/")
    assert page.evaluate("document.documentElement.scrollHeight") <= 900


def test_an_order_that_was_turned_around_stays_so_until_another_is_chosen(opened: Opened) -> None:
    page = opened.go("/sessions?sort=cost&up=1")
    page.get_by_label("Title", exact=True).fill("a")
    page.wait_for_url("**title=a**")
    assert "up=1" in page.url
    page.get_by_label("Sort").select_option("prompts")
    page.wait_for_url("**sort=prompts**")
    assert "up=1" not in page.url


def test_filters_survive_a_visit_to_a_session(opened: Opened) -> None:
    page = opened.go("/sessions")
    page.get_by_label("Project", exact=True).fill("lantern")
    expect(page.locator(".list a.row")).to_have_count(1)
    expect(page.locator(".chip")).to_contain_text("lantern")
    page.locator(".columns a", has_text="cost").click()
    page.wait_for_url("**sort=cost**")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url("**/s/**")
    page.go_back()
    expect(page.get_by_label("Project", exact=True)).to_have_value("lantern")
    expect(page.locator(".columns a[aria-current]")).to_contain_text("cost")
    page.wait_for_function("() => document.activeElement.matches('.list a.row')")
    page.locator(".chip").click()
    expect(page.locator(".list a.row")).to_have_count(5)


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
    stand_still(page)
    page.locator(".call.error > summary").hover()
    failed = page.locator(".call.error").get_attribute("id")
    expect(page.locator(".tools .record")).to_have_attribute("href", f"/s/{FORKED}/record/{failed}")
    page.locator(".tools .record").click()
    page.wait_for_url("**/record/**")
    expect(page.locator("pre").first).to_contain_text("measure --wind")


def test_another_branch_can_be_chosen(opened: Opened) -> None:
    page = opened.go(f"/s/{FORKED}")
    expect(page.locator("#content")).to_contain_text("A new wick burns steadily.")
    expect(page.locator("#content")).not_to_contain_text("The wick is cut short.")
    page.locator(".branch-list summary").click()
    page.locator(".branch-list li a").nth(1).click()
    expect(page.locator("#content")).to_contain_text("The wick is cut short.")
    page.go_back()
    page.locator(".note-rewound a").click()
    expect(page.locator("#content")).to_contain_text("The wick is cut short.")


def test_two_branches_are_compared_side_by_side(opened: Opened) -> None:
    page = opened.go(f"/s/{FORKED}")
    page.locator(".branch-list summary").click()
    page.get_by_role("link", name="compare").click()
    page.wait_for_url("**/compare?**")
    left, right = page.locator(".side").all()
    expect(left).to_contain_text("The wick is cut short.")
    expect(right).to_contain_text("A new wick burns steadily.")
    boxes = [each.bounding_box() for each in (left, right)]
    assert boxes[0] is not None
    assert boxes[1] is not None
    assert boxes[0]["x"] + boxes[0]["width"] <= boxes[1]["x"], "beside each other"
    expect(page.locator(".parted.different")).to_contain_text("length = 1")
    page.locator(".between summary").click()
    expect(page.locator(".between .added").first).to_contain_text("length = 9")
    page.set_viewport_size({"width": 390, "height": 844})
    below = [each.bounding_box() for each in (left, right)]
    assert below[0] is not None
    assert below[1] is not None
    assert below[0]["y"] + below[0]["height"] <= below[1]["y"], "under each other on a phone"
    page.set_viewport_size({"width": 1300, "height": 900})
    page.locator("select[name=left]").select_option("b-main")
    page.get_by_role("button", name="Compare").click()
    expect(page.locator("#content")).to_contain_text("Both sides are the same branch.")


@pytest.mark.usefixtures("unmarked")
def test_a_note_that_is_begun_stays_while_one_tags_and_stars(opened: Opened) -> None:
    page = opened.go(f"/s/{LONG}")
    page.get_by_text("Tag, rename, note, hide").click()
    page.locator(".editing summary", has_text="Add a note").click()
    page.get_by_label("Note").get_by_role("textbox").fill("read it again")
    page.get_by_label("Add a tag").fill("later")
    page.keyboard.press("Enter")
    expect(page.locator("button.tag")).to_have_text("#later ×")
    page.locator(".marks button[name=starred]").click()
    expect(page.locator(".marks button[name=starred]")).to_have_text("★ Starred")
    expect(page.locator("textarea[name=note]")).to_be_visible()
    expect(page.locator("textarea[name=note]")).to_have_value("read it again")
    page.locator(".marks button[name=starred]").click()
    page.locator("button.tag").click()
    expect(page.locator("button.tag")).to_have_count(0)
    expect(page.locator(".marks button[name=starred]")).to_be_focused()


@pytest.mark.usefixtures("unmarked")
def test_the_way_back_to_a_list_shows_what_was_noted_meanwhile(opened: Opened) -> None:
    page = opened.go("/sessions")
    row = page.locator(f".list a.row[href='/s/{LONG}']")
    row.click()
    page.wait_for_load_state()  # a form that is sent before the scripts are there has no key
    page.locator(".marks button[name=starred]").click()
    expect(page.locator(".marks button[name=starred]")).to_have_text("★ Starred")
    page.go_back()
    expect(row.locator(".star")).to_have_count(1)
    expect(row).to_be_focused()
    page.keyboard.press("s")
    expect(row.locator(".star")).to_have_count(0)
    page.go_forward()
    expect(page.locator(".marks button[name=starred]")).to_have_text("☆ Star")


@pytest.mark.usefixtures("unmarked")
def test_a_session_is_renamed_noted_tagged_and_starred_where_one_reads(opened: Opened) -> None:
    page = opened.go(f"/s/{LONG}")
    page.get_by_text("Tag, rename, note, hide").click()
    page.locator(".editing summary", has_text="Rename").click()
    page.get_by_label("Title", exact=True).last.fill("A talk <i>by the harbour</i>")
    page.get_by_role("button", name="Save").first.click()
    expect(page.locator("h1")).to_have_text("A talk <i>by the harbour</i>")
    expect(page.locator(".headline .title")).to_have_text("A talk <i>by the harbour</i>")
    page.locator(".editing summary", has_text="Add a note").click()
    page.locator("textarea").fill("read it again\nnext week")
    page.locator(".editing[open]").get_by_role("button", name="Save").click()
    expect(page.locator(".note-of-mine")).to_have_text("read it again\nnext week")
    page.get_by_label("Add a tag").fill("harbour")
    page.get_by_label("Add a tag").press("Enter")
    expect(page.locator(".marks .tag")).to_have_text("#harbour ×")
    page.locator("#content").focus()
    page.keyboard.press("s")
    expect(page.locator(".marks button[name=starred]")).to_have_text("★ Starred")
    assert page.url.endswith(f"/s/{LONG}"), "nothing of it leaves the page"
    page.reload()
    expect(page.locator("h1")).to_have_text("A talk <i>by the harbour</i>")
    expect(page.locator(".note-of-mine")).to_have_text("read it again\nnext week")
    page.get_by_text("Tag, rename, note, hide").click()
    page.locator(".editing summary", has_text="Rename").click()
    page.get_by_role("button", name="Take my title away").click()
    expect(page.locator("h1")).to_have_text("A long talk")


@pytest.mark.usefixtures("unmarked")
def test_several_sessions_are_selected_with_keys_and_marked_at_once(opened: Opened) -> None:
    page = opened.go("/sessions")
    expect(page.locator(".bulk")).to_be_hidden()
    page.keyboard.press("j")
    page.keyboard.press("x")
    page.keyboard.press("j")
    page.keyboard.press("x")
    expect(page.locator(".tick:checked")).to_have_count(2)
    page.get_by_label("Tag for the selected sessions").fill("both")
    page.get_by_label("Tag for the selected sessions").press("Enter")
    expect(page.locator(".row .tag", has_text="#both")).to_have_count(2)
    rows = page.locator(".row").count()
    for box in page.locator(".tick").all():
        box.check()
    with page.expect_navigation():  # to the end of loading: keys need the script
        page.locator(".bulk").get_by_role("button", name="Star", exact=True).click()
    expect(page.locator(".row .star")).to_have_count(rows)
    page.keyboard.press("j")
    page.keyboard.press("s")
    expect(page.locator(".row .star")).to_have_count(rows - 1)
    page.reload()
    expect(page.locator(".row .star")).to_have_count(rows - 1)
    page.keyboard.press("g")
    page.keyboard.press("s")
    page.wait_for_url("**/sessions")


def test_the_outline_follows_the_reader(opened: Opened) -> None:
    page = opened.go(f"/s/{LONG}")
    for number in (3, 6):
        page.locator(f"#m-q-{number}").scroll_into_view_if_needed()
        page.evaluate("name => document.getElementById(name).scrollIntoView({behavior: 'instant'})", f"m-q-{number}")
        expect(page.locator(".outline a[aria-current]")).to_have_count(1)
        expect(page.locator(".outline a[aria-current]")).to_contain_text(f"question {number}")
        expect(page.locator(".outline a[aria-current]")).to_be_in_viewport()


def read_on_until(page: Page, place: str) -> None:
    """More of a session comes whenever its end is near."""
    for _ in range(100):
        if page.locator(place).count():
            return
        page.keyboard.press("End")
        page.wait_for_timeout(150)
    pytest.fail(f"{place} never came")


def stand_still(page: Page) -> None:
    """The key's own movement goes on for a while, and more may come meanwhile."""
    seen = None
    for _ in range(100):
        now = page.evaluate("[scrollY, document.documentElement.scrollHeight]")
        if now == seen:
            return
        seen = now
        page.wait_for_timeout(400)
    pytest.fail("the page never stands still")


def test_a_long_session_loads_as_one_reads(opened: Opened) -> None:
    page = opened.go(f"/s/{LONG}")
    assert page.locator(".piece").count() < 40
    for _ in range(3):
        page.keyboard.press("j")
    expect(page.locator("#m-q-3 > .prompt, #m-q-4 > .prompt").first).to_be_in_viewport()
    read_on_until(page, "#m-q-110")
    numbers = page.evaluate("Array.from(document.querySelectorAll('.piece')).map(each => +each.dataset.piece)")
    assert numbers == list(range(len(numbers))), "each once, in order"


def test_a_reload_and_the_way_back_lead_to_where_one_read(opened: Opened) -> None:
    page = opened.go(f"/s/{LONG}")
    read_on_until(page, "#m-q-150")
    stand_still(page)
    page.evaluate("document.getElementById('m-q-150').scrollIntoView({behavior: 'instant'})")
    page.evaluate("scrollBy({top: 30, behavior: 'instant'})")
    stand_still(page)
    where = "document.getElementById('m-q-150').getBoundingClientRect().top"
    top = page.evaluate(where)

    def is_there() -> None:
        expect(page.locator("#m-q-150")).to_be_in_viewport()
        page.wait_for_function(f"top => Math.abs({where} - top) < 5", arg=top)

    page.reload()
    is_there()
    page.locator(".earlier a").dispatch_event("click")
    expect(page.locator("#m-q-140")).to_have_count(1)
    is_there()
    page.goto(f"{opened.server.base}/sessions")
    page.go_back()
    is_there()
    page.evaluate("scrollTo({top: 0, behavior: 'instant'})")
    page.locator(".outline a[data-to='m-q-20']").click()
    expect(page.locator("#m-q-20")).to_be_in_viewport()
    page.reload()
    expect(page.locator("#m-q-20")).to_be_in_viewport()


def test_the_outline_and_the_map_lead_to_what_is_not_loaded_yet(opened: Opened) -> None:
    page = opened.go(f"/s/{LONG}")
    page.locator(".outline a[data-to='m-q-280']").click()
    expect(page.locator("#m-q-280")).to_be_in_viewport()
    before = page.locator(".piece").count()
    page.locator("a[data-before]").click()
    expect(page.locator(".piece")).not_to_have_count(before)
    expect(page.locator("#m-q-280")).to_be_in_viewport()
    opened.go(f"/s/{LONG}?at=m-q-280#m-q-280")
    page.keyboard.press("k")
    expect(page.locator("#m-q-279")).to_be_in_viewport()
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
    expect(page.locator("#content")).to_contain_text("It will be done.", timeout=30_000)
    expect(page.get_by_text("and trim the next one").first).to_be_visible()
    assert page.locator("details.thought[open]").count() >= 1, "what was open stays open"


def test_a_late_result_appears_in_the_piece_that_waited_for_it(opened: Opened) -> None:
    steps: list[Entry] = [a_prompt("do many things", uuid="many")]
    for number in range(100):
        steps.append(a_reply(a_tool_call("Bash", {"command": f"step {number}"}, id=f"s{number}")))
        if number != 5:
            steps.append(a_tool_result(f"outcome {number}", of=f"s{number}"))
    late = a_session(*steps, a_title("Many things"), id="late-result", cwd="/home/ann/late")
    path = late.write(opened.claude / "projects")
    until(lambda: opened.go("/sessions").locator(".list a.row", has_text="Many things").count())
    page = opened.go("/s/late-result")
    page.keyboard.press("End")
    expect(page.locator(".piece")).to_have_count(3)
    page.keyboard.press("o")
    expect(page.get_by_text("outcome 5", exact=True)).to_have_count(0)
    page.evaluate("for (const piece of document.querySelectorAll('.piece')) piece.isOld = true")
    with path.open("a") as file:
        more = a_session(*steps, a_tool_result("outcome 5", of="s5"), a_prompt("and now", uuid="now"), id="late-result")
        lines = more.write(opened.claude.parent / "apart").read_text().splitlines()
        file.write("".join(f"{line}\n" for line in lines[-2:]))
    expect(page.get_by_text("outcome 5", exact=True)).to_have_count(1, timeout=30_000)
    expect(page.locator(".outline summary")).to_contain_text("2 turns")
    assert page.evaluate("document.querySelectorAll('.piece')[1].isOld"), "what did not change stays as it is"
    assert page.locator("details.call:not([open]), details.calls:not([open])").count() == 0, "what was open stays open"


def test_the_doctor_looks_when_asked_and_again(opened: Opened) -> None:
    page = opened.go("/doctor")
    page.get_by_role("button", name="Examine everything").click()
    expect(page.get_by_text("Everything can be read")).to_be_visible(timeout=30_000)
    page.get_by_role("button", name="Look again").click()
    expect(page.get_by_text("Everything can be read")).to_be_visible(timeout=30_000)


def test_the_retrospective_leads_to_the_very_message(opened: Opened) -> None:
    page = opened.go("/")
    page.keyboard.press("g")
    page.keyboard.press("r")
    page.wait_for_url("**/retro")
    page.get_by_role("link", name="everything", exact=True).click()
    page.locator("#k-correction > summary").click()
    # Also asked about above, in the ledger of wishes.
    page.locator("#k-correction").get_by_role("link", name="I said to keep the old oryxq names in 1b2c").click()
    page.wait_for_url(f"**/s/{TWO}?at=**")
    expect(page.locator(".turn:target > .prompt .asked")).to_contain_text("oryxq names in 1b2c")
    page.go_back()
    page.locator("#k-tool_error > summary").click()
    page.locator("#k-tool_error").get_by_role("link", name="gnuq in 1b2c").click()
    expect(page.locator(".call.error").first).to_be_in_viewport()


def test_a_moment_is_marked_wrong_and_taken_back_in_place(opened: Opened) -> None:
    page = opened.go("/retro?since=all&kind=interrupt")
    moment = page.locator(".moment").first
    moment.get_by_role("button", name="Wrong").click()
    expect(moment).to_contain_text("left out from now on")
    expect(moment.get_by_role("button", name="Undo")).to_be_focused()
    page.reload()
    expect(page.locator(".moment")).to_have_count(2)
    page.get_by_role("link", name="1 marked as wrong").click()
    expect(page.locator(".moment")).to_have_count(3)
    page.locator(".moment.is-wrong").get_by_role("button", name="Undo").click()
    expect(page.locator(".moment.is-wrong")).to_have_count(0)
    opened.go("/retro?since=all&kind=interrupt")
    expect(page.locator(".moment")).to_have_count(3)


@pytest.mark.parametrize("opened", [{"java_script_enabled": False}], indirect=True)
def test_without_script_pages_can_be_read_and_say_what_they_cannot_do(opened: Opened) -> None:
    page = opened.go("/retro?since=all")
    page.locator("#k-interrupt > summary").click()
    expect(page.locator("#k-interrupt .moment").nth(1)).to_be_visible()
    expect(page.locator(".banner.bad")).to_contain_text("a change asks for the token")
    opened.go("/usage?since=all")
    expect(page.get_by_role("link", name="Projects, cache and limits")).to_be_visible()
    expect(page.get_by_text("Adding up projects")).to_be_hidden()


@pytest.mark.usefixtures("unmarked")
@pytest.mark.parametrize("opened", [{"java_script_enabled": False}], indirect=True)
def test_without_script_a_change_asks_for_the_token_and_is_then_made(opened: Opened) -> None:
    page = opened.go(f"/s/{LONG}")
    page.get_by_role("button", name="☆ Star").click()
    page.get_by_label("Token").fill("a wrong one")
    page.get_by_role("button", name="Do it").click()
    page.get_by_label("Token").fill(opened.server.token)
    page.get_by_role("button", name="Do it").click()
    page.wait_for_url(f"**/s/{LONG}")
    page.get_by_role("button", name="★ Starred").click()
    page.get_by_label("Token").fill(opened.server.token)
    page.get_by_role("button", name="Do it").click()
    expect(page.get_by_role("button", name="☆ Star")).to_be_visible()
    refused = [each for each in opened.complaints if "403" in each]
    opened.complaints[:] = [each for each in opened.complaints if "403" not in each]
    assert refused


@pytest.mark.usefixtures("unmarked")
def test_a_form_that_is_sent_before_the_scripts_are_there_is_sent_again_with_the_key(opened: Opened) -> None:
    page = opened.page
    page.route("**/static/web.js", lambda route: route.abort())
    opened.go(f"/s/{LONG}")
    page.get_by_role("button", name="☆ Star").click()
    expect(page.get_by_role("button", name="★ Starred")).to_be_visible()
    page.wait_for_load_state()
    page.unroute("**/static/web.js")
    opened.complaints.clear()  # of the script that did not come, and of the form that was refused at first
    opened.go(f"/s/{LONG}").get_by_role("button", name="★ Starred").click()
    expect(page.get_by_role("button", name="☆ Star")).to_be_visible()


def test_a_session_under_the_pointer_is_read_before_it_is_opened(opened: Opened) -> None:
    page = opened.go("/sessions")
    with page.expect_response(f"**/s/{LONG}/states?*") as asked:
        page.locator(f".list a.row[href='/s/{LONG}']").hover()
    assert asked.value.ok


def test_a_suggestion_is_copied(opened: Opened) -> None:
    page = opened.go("/retro?since=all")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    card = page.locator(".advice", has_text="put it into CLAUDE.md").filter(has_text=RULE)
    card.get_by_role("button", name="Copy").click()
    expect(card.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == f"- {RULE}"


def test_corrections_on_the_map_and_their_key_lead_to_them(opened: Opened) -> None:
    page = opened.go(f"/s/{ONE}")
    marks = page.locator(".map a[data-piece]")
    expect(marks).to_have_count(3)
    for words in (RULE, "oryxq names in 0a1b", "keep the late names"):
        page.keyboard.press("c")
        expect(page.locator(".prompt", has_text=words).first).to_be_in_viewport()
    opened.go(f"/s/{ONE}")
    marks.last.locator("rect").click(force=True)
    expect(page.locator("#m-late")).to_be_in_viewport()
    opened.go(f"/s/{ONE}")
    page.get_by_role("link", name="retrospective", exact=True).click()
    page.wait_for_url(f"**/retro?session={ONE}")
    expect(page.locator("#k-correction")).to_contain_text("3 times in 1 session")


@pytest.mark.parametrize("opened", [{"viewport": {"width": 390, "height": 844}, "is_mobile": True}], indirect=True)
def test_on_a_phone_the_list_comes_soon_and_what_is_seldom_asked_for_on_demand(opened: Opened) -> None:
    page = opened.go("/sessions")
    first = page.locator(".list a.row").first.bounding_box()
    assert first is not None
    assert first["y"] < 300
    expect(page.get_by_label("Title")).to_be_visible()
    room, cost, above = page.locator(".list a.row").first.evaluate("""row => {
        const [title, cost] = [".title", ".cost"].map(each => row.querySelector(each)), look = getComputedStyle(row);
        const room = row.clientWidth - parseFloat(look.paddingLeft) - parseFloat(look.paddingRight);
        const free = room - title.clientWidth - cost.clientWidth;
        cost.textContent = "";
        const [top, sub] = [".title", ".sub"].map(each => row.querySelector(each).getBoundingClientRect().top);
        return [free, room - title.clientWidth, top < sub];
    }""")
    assert room < 12, "a title has what its cost leaves"
    assert abs(cost) < 1, "or all, where no price is known"
    assert above, "and stands above all else in either case"
    seldom = [page.locator(f".filters [name={name}]") for name in ("until", "sort", "starred", "tool")]
    for each in seldom:
        expect(each).to_have_count(1)
        expect(each).to_be_hidden()
    page.get_by_text("More", exact=True).click()
    for each in seldom:
        expect(each).to_be_visible()
    page.get_by_label("by project").check()
    expect(page.locator(".list .heading").first).to_be_visible()
    page = opened.go("/sessions?until=nonsense")
    expect(page.get_by_label("Until", exact=True)).to_be_visible()
    opened.complaints.clear()  # of a page that was refused, as it should be
