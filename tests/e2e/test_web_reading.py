"""Reading a session in a real browser: words of a search in it, what stands around it while it grows, its copies."""

from __future__ import annotations

import json
import time
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from e2e.browsing import Opened, findings, needs_chromium
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
from web.serving import until

pytestmark = [pytest.mark.e2e, needs_chromium]

TALK, LONG, FAR, TALL = "talk-of-words", "long-session", "far-failures", "tall-end"
HOSTILE = '<img src=x onerror="document.title=1"> quokka <b>quokka</b>'


def write_sessions(claude: Path) -> None:
    a_session(
        a_title("About the quokka"),
        a_prompt("where does the Quokka sleep", uuid="asked", timestamp="2026-11-10T10:00:00.000Z"),
        a_reply(a_thought("perhaps the quokka sleeps under a bush"), uuid="thought"),
        a_reply(
            "The **short-tailed** `wallaby` sleeps; fetchQuokkaName knows. Un café à 検索エンジン, quokkas.",
            uuid="said",
        ),
        a_reply(
            a_tool_call("Bash", {"command": "ls bushes"}, id="t1"),
            a_tool_call("Bash", {"command": "ls burrows"}, id="t2"),
            uuid="calls",
        ),
        a_tool_result("no quokka in the burrows", of="t2", uuid="r2"),
        a_tool_result("\n".join(f"bush {number}" for number in range(200)) + "\nzebu", of="t1", uuid="r1"),
        a_reply(a_tool_call("Task", {"description": "ask the keeper", "prompt": "ask"}, id="t3")),
        a_subagent(a_prompt("ask"), a_reply("the keeper fed the quokka"), of="t3"),
        a_tool_result("it was fed", of="t3"),
        a_prompt(HOSTILE, uuid="hostile"),
        a_reply("Nothing of that is markup."),
        a_reply("A bi\u0301lby, and a bi" + "\u0301" * 20_000 + " numbat, a bi lby."),
        id=TALK,
        cwd="/home/ann/zoo",
    ).write(claude / "projects")
    turns: list[Entry] = []
    for number in range(1, 301):
        words = "an okapi at last" if number in (2, 150, 151, 290) else "nothing new"
        turns += [a_prompt(f"question {number}", uuid=f"q-{number}")]
        turns += [a_reply(f"answer {number}: {words}\n\n" + "words " * 60, uuid=f"a-{number}")]
    a_session(*turns, a_title("A long talk"), id=LONG, cwd="/home/ann/harbour").write(claude / "projects")
    early, late = ran("early", is_bad=True), ran("late", is_bad=True)
    late += [line for number in range(12) for line in ran(f"then-{number}")]
    failing = [*turns[:6], *early, *turns[6:500], *late, *turns[500:]]
    report = "\n".join(f"bush {number} " + "of many leaves " * 20 for number in range(10))
    a_session(
        a_prompt("count the bushes"),
        a_reply(a_tool_call("Bash", {"command": "count"}, id="t9")),
        a_tool_result(f"{report}\nand a gnu", of="t9"),
        a_reply(
            a_tool_call(
                "mcp__plugin_of_the_zoo__browser_take_screenshot_of_a_bush",
                {"name": "a.png", "whether_the_whole_bush_is_to_be_seen_with_all_its_leaves": "yes, all of it"},
                id="t10",
            )
        ),
        a_tool_result("taken", of="t10"),
        id="long-result",
        cwd="/home/ann/zoo",
    ).write(claude / "projects")
    a_session(
        a_prompt("dig"),
        a_reply("שלום\n\n```python\nprint('שלום')\n```\n\nThen English.\n\n> שלום"),
        a_reply(
            a_tool_call(
                "mcp__plugin_of_the_zoo__" + "dig_out_every_burrow_" * 3, {"path": "/home/ann/zoo/" * 9}, id="t11"
            )
        ),
        a_tool_result("the ground is " + "frozen " * 40, of="t11", is_error=True),
        id="foreign",
        cwd="/home/ann/zoo",
    ).write(claude / "projects")
    tall = a_reply("# At length\n\n" + "\n\n".join(f"paragraph {number}" for number in range(120)))
    a_session(*turns[:120], a_prompt("at length"), tall, id=TALL, cwd="/home/ann/zoo").write(claude / "projects")
    a_session(*failing, a_title("Failures far apart"), id=FAR, cwd="/home/ann/harbour").write(claude / "projects")


def ran(name: str, *, is_bad: bool = False) -> list[Entry]:
    call = a_reply(a_tool_call("Bash", {"command": f"make {name}"}, id=name), uuid=f"ran-{name}")
    return [call, a_tool_result(f"of {name}", of=name, is_error=is_bad, uuid=f"result-{name}")]


def marks(page: Page) -> list[str]:
    """All marked words, also those in folds, in order."""
    return [each.lower() for each in page.locator("#content mark").all_text_contents()]


def on_screen(page: Page) -> str:
    """The words of the message that the bar says one is at."""
    mark = page.locator("mark.current")
    expect(mark).to_have_count(1)
    expect(mark).to_be_in_viewport()
    return str(mark.evaluate("each => each.closest('[id^=m-]').id"))


def test_a_hit_opens_the_session_with_its_words_marked(opened: Opened) -> None:
    page = opened.go("/search?q=quokka")
    page.locator(".others summary").click()
    page.locator(".hits a.row", has_text="under a bush").click()
    page.wait_for_url("**/s/**q=quokka**")
    current = page.locator("mark.current")
    expect(current).to_have_text("quokka")
    expect(page.locator("details.thought:target")).to_have_attribute("open", "")
    expect(page.locator("h1 mark")).to_have_text("quokka")
    expect(page.locator(".find-in-page .count")).to_have_text("2 of 5 messages")
    page.reload()
    expect(page.locator("#m-thought mark:visible")).not_to_have_count(0)  # folded or open, as it was left
    page.goto(f"{opened.server.base}/sessions")
    page.go_back()
    expect(page.locator("#m-thought .thinking mark")).to_have_text("quokka")


def slowly(route: Route) -> None:
    """As a long part of a page comes."""
    time.sleep(0.3)
    route.continue_()


@pytest.mark.parametrize(("query", "word"), [("fed -it", "fed"), ("gnu&in=result", "gnu")], ids=["agent", "result"])
def test_a_hit_in_what_is_loaded_when_it_is_opened_leads_to_its_words(opened: Opened, query: str, word: str) -> None:
    page = opened.go(f"/search?q={query}")
    page.route("**/part/**", slowly)
    page.locator(".hits a.row").first.click()
    page.wait_for_url("**/s/**")
    expect(page.locator("mark.current")).to_have_text(word)
    expect(page.locator("mark.current")).to_be_in_viewport()


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("wallaby", ["wallaby"]),
        ('"short tailed wallaby"', ["short-tailed", " ", "wallaby"]),
        ("CAFE", ["café"]),
        ("quokk* -wallaby", None),
        ("検索", ["検索"]),
        ('"bi lby"', ["bi lby"]),
        ("zebu OR burrows", None),
        ("thinking", []),
    ],
)
def test_what_is_marked_is_what_search_matches(opened: Opened, query: str, expected: list[str] | None) -> None:
    page = opened.go(f"/s/{TALK}?q={quote(query)}&in=text&in=result")
    expect(page.locator(".find-in-page .count")).not_to_have_text("")
    found = marks(page)
    if query.startswith("quokk*"):
        assert "quokkas" in found, "a beginning takes its whole word"
        assert "quokkaname" in found, "also inside a name"
        assert "wallaby" not in found, "what is not wanted is not marked"
    elif " OR " in query:
        assert {"zebu", "burrows"} == set(found)
    else:
        assert found == expected


def test_keys_and_buttons_step_through_the_messages_and_unfold_them(opened: Opened) -> None:
    page = opened.go(f"/s/{TALK}?q=quokka&in=prompt&in=text&in=thinking&in=result")
    expect(page.locator(".find-in-page .count")).to_have_text("6 messages")
    seen: list[str] = []
    for _ in range(6):
        page.keyboard.press("m")
        expect(page.locator(".find-in-page .count")).to_have_text(f"{len(seen) + 1} of 6 messages")
        seen.append(on_screen(page))
    assert seen[0] == "m-asked"
    assert seen[1] == "m-thought"
    expect(page.locator("#m-thought")).to_have_attribute("open", "")
    expect(page.get_by_text("no quokka in the burrows")).to_be_visible()
    expect(page.get_by_text("the keeper fed the quokka")).to_be_visible()
    page.get_by_role("button", name="Previous match").click()
    expect(page.locator(".find-in-page .count")).to_have_text("5 of 6 messages")


def test_a_match_below_a_fold_of_a_long_result_is_unfolded(opened: Opened) -> None:
    page = opened.go("/search?q=zebu&in=result")
    page.locator(".hits a.row").first.click()
    page.wait_for_url("**/s/**")
    expect(page.locator("mark.current")).to_have_text("zebu")
    expect(page.locator("mark.current")).to_be_in_viewport()


SLOW_LOAD = """
  window.order = [];
  for (const name of ["load", "hashchange"]) addEventListener(name, () => window.order.push(name));
  addEventListener("DOMContentLoaded", () => { new Image().src = "/static/icon.svg?slow"; });
"""


def test_a_match_is_led_to_when_the_browser_scrolls_no_more_by_itself(opened: Opened) -> None:
    """Until a page is loaded, Chromium scrolls to the place in its address again and again."""
    page = opened.go("/search?q=zebu&in=result")
    page.route("**/icon.svg?slow", slowly)
    page.add_init_script(SLOW_LOAD)
    page.locator(".hits a.row").first.click()
    page.wait_for_url("**/s/**")
    page.wait_for_function("window.order.length > 1")
    assert page.evaluate("window.order")[:2] == ["load", "hashchange"]
    expect(page.locator("mark.current")).to_have_text("zebu")
    expect(page.locator("mark.current")).to_be_in_viewport()


def test_matches_lead_to_what_is_not_loaded_and_are_marked_there(opened: Opened) -> None:
    page = opened.go(f"/s/{LONG}?q=okapi")
    expect(page.locator(".find-in-page .count")).to_have_text("4 messages")
    for number, name in enumerate(("m-a-2", "m-a-150", "m-a-151", "m-a-290"), 1):
        page.keyboard.press("m")
        expect(page.locator(".find-in-page .count")).to_have_text(f"{number} of 4 messages")
        assert on_screen(page) == name
    page.keyboard.press("Shift+M")
    expect(page.locator(".find-in-page .count")).to_have_text("3 of 4 messages")
    assert on_screen(page) == "m-a-151"
    opened.go(f"/s/{LONG}?q=okapi&at=m-q-285#m-q-285")
    expect(page.locator(".find-in-page .count")).to_have_text("4 messages")
    page.keyboard.press("m")
    assert on_screen(page) == "m-a-290"


def test_parts_that_come_later_are_marked(opened: Opened) -> None:
    page = opened.go(f"/s/{LONG}?q=nothing")
    expect(page.locator("#m-a-1 mark")).to_have_count(1)

    def has_read_on() -> bool:
        page.keyboard.press("End")
        return page.locator("#m-a-120").count() > 0

    until(has_read_on)
    expect(page.locator("#m-a-120 mark")).to_have_text("nothing")


def test_escape_takes_the_marks_away_for_good(opened: Opened) -> None:
    page = opened.go(f"/s/{TALK}?q=quokka")
    expect(page.locator("#content mark").first).to_have_count(1)
    before = page.locator("#content").inner_text()
    page.keyboard.press("Escape")
    expect(page.locator("mark")).to_have_count(0)
    expect(page.locator(".find-in-page")).to_be_hidden()
    assert page.locator("#content").inner_text() == before
    assert "q=" not in page.url
    page.reload()
    expect(page.locator("h1")).to_have_text("About the quokka")
    expect(page.locator("mark")).to_have_count(0)


def test_words_of_a_session_never_become_markup(opened: Opened) -> None:
    page = opened.go(f"/s/{TALK}?q={quote('quokka <b>')}")
    prompt = page.locator("#m-hostile .asked")
    expect(prompt.locator("mark").first).to_have_text("quokka")
    assert prompt.text_content() == HOSTILE
    assert prompt.locator("b, img").count() == 0
    expect(page.locator(".find-in-page .sought")).to_have_value("quokka <b>")


def test_words_stay_marked_wherever_in_the_session_one_goes(opened: Opened) -> None:
    page = opened.go(f"/s/{LONG}?q=okapi")
    page.locator(".outline a[data-to='m-q-290']").click()
    page.wait_for_url("**q=okapi**")
    expect(page.locator("#m-a-290 mark")).to_have_text("okapi")


def write_growing(opened: Opened, name: str, title: str, begun: list[Entry]) -> Path:
    """A session that the list has already."""
    path = a_session(*begun, a_title(title), id=name, cwd="/home/ann/grow").write(opened.claude / "projects")
    until(lambda: opened.go("/sessions").locator(".list a.row", has_text=title).count())
    return path


def append(path: Path, begun: list[Entry], *more: Entry) -> None:
    """Lines that follow what the file has, each with its parent."""
    whole = a_session(*begun, *more, id=path.stem, cwd="/home/ann/grow").write(path.parents[3] / "apart")
    known = {json.loads(line).get("uuid") for line in path.read_text().splitlines()}
    lines = [line for line in whole.read_text().splitlines() if json.loads(line).get("uuid") not in known]
    with path.open("a") as file:
        file.write("".join(f"{line}\n" for line in lines))


def test_what_is_added_while_one_reads_is_marked_and_counted(opened: Opened) -> None:
    begun: list[Entry] = [a_prompt("is there a numbat", uuid="n-1"), a_reply("Not yet.", uuid="n-2")]
    path = write_growing(opened, "growing-words", "Growing", begun)
    page = opened.go(f"/s/{path.stem}?q=numbat")
    expect(page.locator(".find-in-page .count")).to_have_text("1 message")
    append(path, begun, a_prompt("a numbat came", uuid="n-3"))
    expect(page.locator("#m-n-3 mark")).to_have_text("numbat", timeout=30_000)
    expect(page.locator(".find-in-page .count")).to_have_text("2 messages", timeout=30_000)


def wrote(name: str, content: str) -> list[Entry]:
    path = "/home/ann/grow/nest.py"
    call = a_tool_call("Write", {"file_path": path, "content": content}, id=name)
    twin = {"type": "create", "filePath": path, "content": content, "structuredPatch": []}
    return [a_reply(call, uuid=f"{name}-call"), a_tool_result("done", of=name, twin=twin, uuid=f"{name}-done")]


def test_figures_map_and_changes_follow_a_session_that_grows(opened: Opened) -> None:
    begun: list[Entry] = [a_prompt("build a nest", uuid="g-1"), *wrote("w1", "twigs = 1\n")]
    path = write_growing(opened, "growing-figures", "A nest", begun)
    page = opened.go(f"/s/{path.stem}")
    figures, lines = page.locator(".figures"), page.locator(".map a")
    expect(figures).to_contain_text("1 prompt")
    expect(figures).to_contain_text("1 tool call")
    page.locator("details.changes summary").first.click()
    expect(page.locator("details.changes").first).to_contain_text("+1")
    before, cost = lines.count(), figures.locator(".cost").inner_text()
    failed: list[Entry] = [
        a_reply(a_tool_call("Bash", {"command": "fly"}, id="b1"), uuid="g-3"),
        a_tool_result("no wings", of="b1", is_error=True, uuid="g-4"),
    ]
    append(path, begun, a_prompt("and another", uuid="g-2"), *wrote("w2", "twigs = 1\nmoss = 2\n"), *failed)
    expect(figures).to_contain_text("2 prompts", timeout=30_000)
    expect(figures).to_contain_text("3 tool calls")
    expect(figures).to_contain_text("1 failed")
    expect(figures.locator(".cost")).not_to_have_text(cost)
    expect(lines).not_to_have_count(before)
    expect(page.locator(".map .failed")).to_have_count(1)
    expect(page.locator("details.changes").first).to_contain_text("+2", timeout=30_000)
    expect(page.locator(".outline summary")).to_contain_text("2 turns")


def test_title_times_prompts_and_branches_follow_a_session_that_is_rewound(opened: Opened) -> None:
    begun: list[Entry] = [
        a_prompt("look for a den", uuid="d-1", timestamp="2026-11-10T10:00:00.000Z"),
        a_reply("It is here. " * 400, uuid="d-2", timestamp="2026-11-10T10:01:00.000Z"),
    ]
    left: list[Entry] = [a_prompt("dig", uuid="d-3"), a_reply("Dug. " * 2_000, uuid="d-4")]
    path = write_growing(opened, "growing-branches", "A den", [*begun, *left])
    page = opened.go(f"/s/{path.stem}")
    prompts, so_far = page.locator(".outline li"), page.locator(".headline .so-far")
    page.keyboard.press("Shift+G")
    page.locator("#m-d-4").hover()
    expect(page.locator(".headline button[data-stop=prompt]")).to_have_text("❯ 2")
    before = so_far.inner_text()
    append(path, [*begun, *left], a_prompt("climb instead", uuid="d-5", to="d-2"), a_reply("Up.", uuid="d-6"))
    expect(page.locator("#content")).to_contain_text("climb instead", timeout=30_000)
    expect(prompts).to_have_text(["1 look for a den", "2 climb instead"])
    expect(page.locator(".outline .count")).to_have_text("2 turns")
    expect(page.locator(".branch-list summary")).to_contain_text("2 branches")
    expect(so_far).not_to_have_text(before)
    append(path, [*begun, *left], a_prompt("and down", uuid="d-7", to="d-6"), a_reply("Down.", uuid="d-8"))
    expect(prompts).to_have_text(["1 look for a den", "2 climb instead", "3 and down"], timeout=30_000)
    expect(page.locator(".headline button[data-stop=prompt]")).to_have_text("❯ 3")
    with path.open("a") as file:
        file.write(json.dumps({"type": "custom-title", "customTitle": "A tree house", "sessionId": path.stem}) + "\n")
    expect(page.locator("h1")).to_have_text("A tree house", timeout=30_000)
    expect(page.locator(".headline .title")).to_have_text("A tree house")
    expect(page).to_have_title("A tree house · reread")
    end = "document.querySelector('main.column').getBoundingClientRect().bottom + scrollY"
    page.wait_for_function(f"document.documentElement.scrollHeight < {end} + 100")  # nothing below the conversation


def test_copies_of_a_session_lead_to_each_other(opened: Opened) -> None:
    for folder, more in (("one", []), ("other", [a_reply("Only here.", uuid="c-3")])):
        said: list[Entry] = [a_prompt("keep two of me", uuid="c-1"), a_reply("Kept.", uuid="c-2"), *more]
        made = a_session(*said, a_title("Kept twice"), id="kept-twice", cwd=f"/home/ann/{folder}")
        made.write(opened.claude / "projects")
    row = until(lambda: _rows(opened.go("/sessions?title=twice"), 2))
    addresses = [each.get_attribute("href") for each in row]
    assert len(set(addresses)) == 2
    page = opened.page
    seen = []
    row[0].click()
    for _ in range(2):
        page.wait_for_url("**/s/kept-twice~*")
        expect(page.locator(".copies a")).to_have_count(1)
        seen.append((page.url.removeprefix(opened.server.base), page.get_by_text("Only here.").count()))
        page.locator(".copies summary").click()
        page.locator(".copies a").click()
        page.wait_for_url(lambda address: not address.endswith(seen[-1][0]))
    assert sorted(name for name, _ in seen) == sorted(address or "" for address in addresses)
    assert sorted(number for _, number in seen) == [0, 1], "each shows its own lines"


def _rows(page: Page, number: int) -> list[Locator]:
    found = page.locator(".list a.row").all()
    return found if len(found) == number else []


def test_keys_lead_to_failures_that_are_not_loaded_and_enter_opens_them(opened: Opened) -> None:
    page = opened.go(f"/s/{FAR}")
    page.keyboard.press("n")
    expect(page.locator("#m-ran-early")).to_be_in_viewport()
    page.keyboard.press("Enter")
    expect(page.locator("pre", has_text="of early")).to_be_visible()
    page.keyboard.press("n")
    expect(page.locator("#m-ran-late > summary")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("pre", has_text="of late")).to_be_in_viewport()
    page.keyboard.press("p")
    page.keyboard.press("p")
    expect(page.locator("#m-ran-early > summary")).to_be_focused()
    opened.go(f"/s/{FAR}?at=m-q-250")
    page.keyboard.press("n")
    expect(page.locator("#m-ran-late > summary")).to_be_focused()
    expect(page.locator(".calls.folded[open] #m-ran-late")).to_be_in_viewport()


def test_keys_lead_to_the_end_of_a_long_session_and_back(opened: Opened) -> None:
    page = opened.go(f"/s/{LONG}")
    page.keyboard.press("Shift+G")
    expect(page.locator("#m-a-300")).to_be_in_viewport()
    expect(page.get_by_text("This is the end so far")).to_be_in_viewport()
    page.keyboard.press("k")
    expect(page.locator("#m-q-300")).to_be_in_viewport()
    page.keyboard.press("g")
    page.keyboard.press("g")
    expect(page.locator("#m-a-1")).to_be_in_viewport()
    expect(page.locator("h1")).to_be_in_viewport()


def test_a_reload_in_the_middle_of_a_tall_answer_stays_there(opened: Opened) -> None:
    page = opened.go(f"/s/{TALL}")
    page.keyboard.press("Shift+G")
    last = page.get_by_text("paragraph 119")
    expect(last).to_be_in_viewport()
    until(lambda: page.evaluate("Boolean(history.state && history.state.read && history.state.read.top < -1000)"))
    page.reload()
    expect(last).to_be_in_viewport()


def test_a_star_leaves_the_headings_of_a_reply_alone(opened: Opened) -> None:
    page = opened.go(f"/s/{TALL}?from=9999")
    expect(page.locator(".words h3")).to_have_text("At length")
    page.locator(".marks button[name=starred]").click()
    expect(page.locator(".marks button[name=starred]")).to_have_text("★ Starred")
    expect(page.locator(".words h3")).to_have_text("At length")


@pytest.mark.parametrize("opened", [{"viewport": {"width": 360, "height": 740}}], indirect=True)
def test_a_long_name_of_an_argument_leaves_room_for_its_value(opened: Opened) -> None:
    page = opened.go("/s/long-result")
    page.keyboard.press("o")
    value = page.locator(".part.inline", has_text="whether_the_whole").locator("pre")
    expect(value).to_be_visible()
    box = value.bounding_box()
    assert box is not None
    assert box["width"] > 100
    assert box["height"] < 60


@pytest.mark.parametrize("opened", [{"viewport": {"width": 360, "height": 740}}], indirect=True)
def test_the_line_that_stays_on_top_fits_a_phone_and_is_not_printed(opened: Opened) -> None:
    page = opened.go(f"/s/{TALL}")
    title = "A title as long as titles are that somebody wrote with care"
    page.locator(".headline .title").evaluate("(place, text) => { place.textContent = text; }", title)
    page.keyboard.press("Shift+G")
    button = page.locator(".headline button[data-stop=prompt]")
    expect(button).to_have_accessible_name("61 prompts: to the next one")
    assert button.evaluate("each => each.scrollWidth <= each.clientWidth")
    page.emulate_media(media="print")
    expect(page.locator(".headline")).to_be_hidden()
    page.emulate_media(media="screen")
    opened.go("/s/long-result")
    page.keyboard.press("o")
    page.wait_for_function("document.documentElement.scrollHeight > 2 * innerHeight")  # what was folded has come
    page.keyboard.press("Shift+G")
    expect(button).to_have_accessible_name("1 prompt: to the next one")


@pytest.mark.parametrize(
    "opened",
    [{}, {"viewport": {"width": 768, "height": 900}}, {"viewport": {"width": 360, "height": 740}}],
    indirect=True,
    ids=["desk", "tablet", "phone"],
)
def test_the_line_that_stays_on_top_comes_however_slowly_one_scrolls_and_moves_nothing(opened: Opened) -> None:
    page = opened.go(f"/s/{LONG}")
    line, outline = page.locator(".headline"), page.locator("details.outline")
    outline.evaluate("each => { each.open = true; }")
    start = page.locator("h1").evaluate("each => Math.round(each.getBoundingClientRect().top)")
    expect(line).to_be_hidden()
    height = outline.evaluate("each => each.offsetHeight")
    for top in range(max(0, start - 80), start + 80, 4):
        page.evaluate(
            """top => new Promise(done => {
            scrollTo({top, behavior: "instant"});
            requestAnimationFrame(() => requestAnimationFrame(done));
        })""",
            top,
        )
    expect(line).to_be_visible()
    if page.evaluate("innerWidth < 1000"):  # beside the text, it gives way to the line
        assert outline.evaluate("each => each.offsetHeight") == height
    page.evaluate("scrollTo({top: 0, behavior: 'instant'})")
    expect(line).to_be_hidden()


def test_the_line_that_stays_on_top_has_no_empty_buttons_while_their_numbers_are_under_way(opened: Opened) -> None:
    held: list[Route] = []
    opened.page.route("**/stops?*", lambda route: held.append(route))
    page = opened.go(f"/s/{LONG}")
    page.keyboard.press("Shift+G")
    expect(page.locator(".headline")).to_be_visible()
    while not held:
        page.wait_for_timeout(20)
    expect(page.locator(".headline button:visible")).to_have_count(0)
    held.pop().continue_()
    expect(page.locator(".headline button[data-stop=prompt]")).to_have_text("❯ 300")


@pytest.mark.parametrize("opened", [{"viewport": {"width": 360, "height": 800}}], indirect=True, ids=["phone"])
def test_a_long_name_of_a_tool_fits_a_phone(opened: Opened) -> None:
    page = opened.go("/s/long-result")
    page.evaluate("for (const each of document.querySelectorAll('details.calls')) each.open = true")
    places = [page.locator(what, has_text="take_screenshot") for what in (".tool", "summary:has(.tool)")]
    tool, line = (place.bounding_box() for place in places)
    assert tool is not None
    assert line is not None
    assert tool["x"] + tool["width"] <= line["x"] + line["width"]


@pytest.mark.parametrize("opened", [{"viewport": {"width": 800, "height": 500}}], indirect=True, ids=["narrow"])
def test_a_long_name_of_a_tool_that_failed_leaves_its_line_within_its_box(opened: Opened) -> None:
    page = opened.go("/s/foreign")
    line = page.locator("summary", has=page.locator(".tool", has_text="dig_out_every_burrow"))
    assert line.evaluate("each => each.scrollWidth <= each.clientWidth")
    ending, box = line.locator(".ending").bounding_box(), line.bounding_box()
    assert ending is not None
    assert box is not None
    assert ending["x"] + ending["width"] <= box["x"] + box["width"]


FIRST_LETTER = """each => {
  const range = new Range();
  range.selectNodeContents(each);
  return range.getBoundingClientRect().x;
}"""


def test_code_among_words_from_right_to_left_is_read_from_left_to_right(opened: Opened) -> None:
    page = opened.go("/s/foreign")
    words = page.locator("article.words", has_text="שלום")
    assert words.evaluate("each => getComputedStyle(each).direction") == "rtl"
    assert words.locator("pre").evaluate("each => getComputedStyle(each).direction") == "ltr"
    sides = words.locator("blockquote").evaluate(
        "each => [getComputedStyle(each).borderRightWidth, getComputedStyle(each).borderLeftWidth]"
    )
    assert sides == ["3px", "0px"]
    english = words.locator("p", has_text="Then English")
    first = english.evaluate(FIRST_LETTER)
    box = words.bounding_box()
    assert box is not None
    assert first < box["x"] + 30


@pytest.mark.parametrize("opened", [{"viewport": {"width": 390, "height": 600}}], indirect=True, ids=["phone"])
def test_the_sheet_of_keys_opens_at_its_beginning(opened: Opened) -> None:
    page = opened.go(f"/s/{TALK}")
    page.get_by_role("button", name="Keys").click()
    expect(page.locator("dialog.keys h2")).to_be_in_viewport()


def test_a_page_tells_that_the_server_has_gone_and_forgets_it_when_it_is_back(opened: Opened) -> None:
    page = opened.go("/search")
    page.route("**/search?*", lambda route: route.abort())
    page.locator(".words-wanted").fill("quokka")
    expect(page.get_by_role("alert")).to_have_text("The server does not answer. Is reread still running?")
    page.unroute("**/search?*")
    page.locator(".words-wanted").fill("okapi")
    expect(page.locator(".hits mark").first).to_have_text("okapi")
    expect(page.get_by_role("alert")).to_have_count(0)
    assert opened.complaints, "the browser has its say, too"
    opened.complaints.clear()


def test_what_failed_while_the_server_was_gone_is_asked_for_again(opened: Opened) -> None:
    page = opened.go(f"/s/{TALK}")
    page.route(f"**/s/{TALK}/*", lambda route: route.abort())
    page.route(f"**/s/{TALK}/part/*", lambda route: route.abort())
    fold, call = page.locator("details.changes").first, page.locator("details.call[data-part]").first
    call.locator("summary").first.click()
    fold.locator("summary").first.click()
    page.keyboard.press("j")
    page.keyboard.press("Shift+L")
    expect(page.get_by_role("alert")).to_be_visible()
    page.unroute_all()
    page.keyboard.press("Shift+L")
    page.keyboard.press("Shift+L")
    expect(page.locator("#session-list a.row").first).to_be_visible()
    page.keyboard.press("Shift+L")
    page.keyboard.press("j")
    expect(page.locator(".key-told")).to_contain_text("of 2")
    for folded in (fold, call):
        folded.locator("summary").first.click()
        folded.locator("summary").first.click()
    expect(fold).to_contain_text("No file is different")
    expect(call).to_contain_text("it was fed")
    expect(page.get_by_role("alert")).to_have_count(0)
    opened.complaints.clear()


def test_a_session_that_is_forgotten_while_it_is_open_gives_no_more_turns(opened: Opened) -> None:
    page = opened.go(f"/s/{LONG}")
    gone = {"status": 404, "body": '<p class="problem">no session of that name</p>', "content_type": "text/html"}
    page.route("**/turns?*", lambda route: route.fulfill(**gone))
    before = page.locator(".piece").count()
    page.locator(".later a").click()
    expect(page.locator(".key-told")).to_have_text("no session of that name")
    expect(page.locator(".pieces .problem")).to_have_count(0)
    page.unroute_all()
    page.locator(".later a").click()
    expect(page.locator("#m-q-30")).to_have_count(1)
    assert page.locator(".piece").count() > before
    assert page.locator("#m-q-1").count() == 1
    opened.complaints.clear()


def test_a_session_that_is_forgotten_while_it_is_open_says_so_whatever_is_asked(opened: Opened) -> None:
    page = opened.go(f"/s/{LONG}")
    gone = {"status": 404, "body": '<p class="problem">no session of that name</p>', "content_type": "text/html"}
    told = page.locator(".key-told")
    page.route(f"**/s/{LONG}/*", lambda route: route.fulfill(**gone))
    for key in ("T", "n"):
        page.keyboard.press(key)
        expect(told).to_have_text("no session of that name")
        expect(told).to_have_text("")
    page.keyboard.press("/")
    page.keyboard.type("wick")
    expect(page.locator(".find-in-page .count")).to_have_text("no session of that name")
    opened.go("/sessions").locator(f'.list a.row[href="/s/{LONG}"]').focus()
    page.keyboard.press("s")
    expect(page.locator(".key-told")).to_have_text("no session of that name")
    opened.complaints.clear()


@pytest.mark.sampled(1)
@pytest.mark.parametrize("opened", [{"color_scheme": "light"}, {"color_scheme": "dark"}], indirect=True)
def test_everybody_can_use_the_marks(opened: Opened) -> None:
    page = opened.go(f"/s/{TALK}?q=quokka")
    expect(page.locator(".find-in-page .count")).not_to_have_text("")
    page.keyboard.press("t")
    page.keyboard.press("o")
    assert not findings(page)


@pytest.mark.parametrize("opened", [{"viewport": {"width": 390, "height": 844}, "is_mobile": True}], indirect=True)
def test_the_bar_fits_a_phone(opened: Opened) -> None:
    page = opened.go(f"/s/{TALK}?q={quote('quokka OR ' + 'wallaby ' * 20)}")
    box = page.locator(".find-in-page").bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0
