"""Every page says what it should, and says something helpful where there is nothing to say."""

from __future__ import annotations

import json
import os
import re
import shutil
import struct
import time
from base64 import b64encode
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import StreamingResponse

from cli.kept import HARBOUR, LANTERN
from histories import write_backups
from reread.archive import Archive
from reread.archive.listing import SORTS
from reread.index import meta
from reread.index.database import transaction
from reread.testing import (
    a_line,
    a_prompt,
    a_reply,
    a_session,
    a_subagent,
    a_system_line,
    a_thought,
    a_tool_call,
    a_tool_result,
)
from reread.views.html import call_parts, content
from reread.web.pages import PLACES, NavEntry, render
from reread.web.paging import BranchPages
from reread.web.session_page import show
from web.asking import CHANGES, READS, Asking, asking, dangers, read

LONG = "10000000-cccc-4000-8000-000000000003"


def test_a_refusal_is_one_place_for_keys_and_on_the_map(claude: Path, tmp_path: Path) -> None:
    refusal = "The user doesn't want to proceed with this tool use. The tool use was rejected."
    a_session(
        a_prompt("remove it"),
        a_reply(a_tool_call("Bash", {"command": "rm -r /"}, id="t1"), uuid="call"),
        a_tool_result(refusal, of="t1", is_error=True, twin="User rejected tool use"),
        a_prompt("[Request interrupted by user for tool use]", uuid="twice"),
        a_prompt("keep it"),
        a_reply("Kept."),
        id=LONG,
    ).write(claude / "projects")
    with asking(tmp_path / "home", claude) as site:
        stops = json.loads(site.get(f"/s/{LONG}/stops").text)["failure"]
        assert [each["to"] for each in stops] == ["m-call"]
        assert "m-twice" not in site.get(f"/s/{LONG}/map").text


def test_a_run_of_retries_is_one_place_for_keys_as_it_is_one_on_the_page(claude: Path, tmp_path: Path) -> None:
    down: dict[str, Any] = {"error": {"status": 529, "formatted": "529 Overloaded"}, "retryInMs": 500, "maxRetries": 10}
    a_session(
        a_prompt("read it"),
        *(a_system_line("api_error", uuid=f"again{attempt}", retryAttempt=attempt, **down) for attempt in range(1, 4)),
        a_reply("It is read."),
        a_system_line("api_error", uuid="later", retryAttempt=1, **down),
        a_reply("And written."),
        id=LONG,
    ).write(claude / "projects")
    with asking(tmp_path / "home", claude) as site:
        stops = json.loads(site.get(f"/s/{LONG}/stops").text)["failure"]
        assert [each["to"] for each in stops] == ["m-again1", "m-later"]
        shown = {tag["id"] for tag in site.page(f"/s/{LONG}").of("aside") if tag.get("id")}
        assert {each["to"] for each in stops} <= shown


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.name)
def test_every_page_of_the_menu_has_a_title_a_heading_and_the_keys(
    place: NavEntry, site: Asking, empty: Asking
) -> None:
    for asked in (site, empty):
        page = asked.page(place.address)
        assert page.titles[0].endswith(" · reread")
        assert len(page.of("h1")) == 1
        assert page.of("html")[0]["lang"] == "en"
        assert "next, previous prompt" in page.text
        assert [tag.get("aria-current") for tag in page.of("a")].count("page") == 1


@pytest.mark.parametrize("path", ["/", "/sessions", "/search", "/retro"])
def test_an_empty_archive_says_what_to_do(path: str, empty: Asking) -> None:
    page = empty.page(path)
    assert "reread serve --source" in page.text
    assert "reread demo serve" in page.text


def test_usage_of_nothing_offers_more_time(empty: Asking) -> None:
    page = empty.page("/usage")
    assert "Nothing was used in this time" in page.text
    assert any("since=all" in link for link in page.links())
    for path, offered in (("/usage?by=model", ["since=all"]), ("/usage?by=model&project=x", ["", "since=all"])):
        links = read(empty.get(path).text.partition("Nothing was used")[2].partition("</main>")[0]).links()
        assert links == ["&".join(["/usage?by=model", *filter(None, [each])]) for each in offered]


def test_home_shows_lately_the_newest_and_what_will_be_deleted(site: Asking, claude: Path) -> None:
    page = site.page("/")
    for words in ("today", "7 days", "30 days", "Running", "why does the beacon flicker", "draw the harbour"):
        assert words in page.text
    assert "Nothing is about to be deleted." in page.text
    trunk = next(claude.rglob(f"{LANTERN}.jsonl"))
    old = time.time() - 38 * 86400
    os.utime(trunk, (old, old))
    with Archive(site.home, [claude]) as archive:
        archive.sync()
    assert "1 session within 7 days" in site.page("/").text


def test_a_file_that_grew_just_now_runs(site: Asking, claude: Path) -> None:
    """By its last line, too: the others here are young copies of old ones."""
    assert "No session runs" in site.part("/live/list").text
    lantern = next(claude.rglob(f"{LANTERN}.jsonl"))
    with lantern.open("ab") as file:
        file.write(a_session(a_prompt("go on", timestamp=datetime.now(UTC).isoformat()), id=LANTERN).bytes)
    with Archive(site.home, [claude]) as archive:
        archive.sync()
    assert f"/s/{LANTERN}" in site.part("/live/list").links()
    for trunk in claude.rglob("*.jsonl"):
        os.utime(trunk, (1_790_000_000, 1_790_000_000))
    with Archive(site.home, [claude]) as archive:
        archive.sync()
    assert "No session runs" in site.part("/live/list").text


def test_a_session_without_times_has_no_last_line_to_tell_of(tmp_path: Path) -> None:
    path = a_session(a_prompt("hi"), id="timeless").write(tmp_path / "claude/projects")
    line = {key: value for key, value in json.loads(path.read_text()).items() if key != "timestamp"}
    path.write_text(json.dumps(line) + "\n")
    with asking(tmp_path / "home", tmp_path / "claude") as site:
        text = site.part("/live/list").text
    assert "in a terminal" in text
    assert "last line" not in text


def test_sessions_are_filtered_sorted_and_grouped(site: Asking) -> None:
    def listed(query: str) -> list[str]:
        return [link for link in site.page(f"/sessions?{query}").links() if link.startswith("/s/")]

    both = [f"/s/{HARBOUR}", f"/s/{LANTERN}"]
    assert listed("") == both
    assert listed("project=LANTERN") == listed("tool=Bash") == both[1:]
    assert listed("since=2030-01-01") == listed("until=2020-01-01") == []
    assert listed("since=2020-01-01") == both
    assert listed("model=opus") == both
    assert listed("project=nowhere") == []
    assert "Show all 2" in site.page("/sessions?project=nowhere").text
    assert listed("sort=prompts") == both[::-1]
    assert all(sorted(listed(f"sort={name}")) == sorted(both) for name in SORTS)
    assert "/home/ann/harbour 1 session" in " ".join(site.page("/sessions?group=1").text.split())
    refused = site.page("/sessions?since=nonsense", status=400)
    assert refused.text.count("nonsense") == 1
    assert "nonsense" in [field.get("value") for field in refused.of("input")], "what was typed is still there"


def test_an_order_that_was_turned_around_stays_so_when_one_filters(site: Asking) -> None:
    fields = site.page("/sessions?sort=cost&up=1").of("input")
    assert {"type": "hidden", "name": "up", "value": "1"} in fields


def test_a_script_gets_the_rows_alone(site: Asking) -> None:
    rows = site.part("/sessions?project=lantern")
    assert not rows.of("html")
    assert f"/s/{LANTERN}" in rows.links()


def test_many_sessions_come_in_pages(tmp_path: Path) -> None:
    for number in range(105):
        a_session(a_prompt(f"number {number}"), id=f"many-{number:03}").write(tmp_path / "claude" / "projects")
    with asking(tmp_path / "home", tmp_path / "claude") as site:
        first, second = site.page("/sessions"), site.page("/sessions?page=1")
        assert len([link for link in first.links() if link.startswith("/s/")]) == 100
        assert len([link for link in second.links() if link.startswith("/s/")]) == 5
        assert "/sessions?page=1" in first.links()
        assert "2 of 2" in site.page("/sessions?page=77").text


def test_a_session_shows_turns_outline_map_and_branches(site: Asking) -> None:
    page = site.page(f"/s/{LANTERN}")
    assert page.titles[0] == "why does the beacon flicker · reread"
    for words in ("It is the capacitor.", "the capacitor might be loose", "seventeen volts"):
        assert words in page.text
    assert "found an oscillation" not in page.text, "what is closed comes when it is opened"
    later = [each["data-part"] or "" for each in page.of("details") if "data-part" in each]
    assert any("found an oscillation" in site.part(part).text for part in later)
    assert site.get(f"/s/{LANTERN}/part/m-nobody").status_code == 404
    assert "?at=m-beacon#m-beacon" in page.links()
    kinds = [tag["class"] for tag in site.part(f"/s/{LANTERN}/map").of("rect")]
    assert kinds.count("prompt") == 4
    assert kinds.count("failed") == 1


def test_a_link_to_a_message_opens_where_it_stands(long: Asking) -> None:
    page = long.page(f"/s/{LONG}?at=m-prompt-80")
    assert "m-prompt-80" in {tag.get("id") for _, tag in page.tags}
    assert "m-prompt-1" not in {tag.get("id") for _, tag in page.tags}
    assert [tag for tag in page.of("p") if tag.get("class") == "earlier" and "hidden" not in tag]
    where = long.get(f"/s/{LONG}/where?at=m-prompt-80").json()
    assert where["piece"] == 79
    assert long.get(f"/s/{LONG}/where?at=nobody").json() is None


@pytest.fixture
def long(tmp_path: Path) -> Iterator[Asking]:
    turns = []
    for number in range(1, 101):
        turns += [a_prompt(f"prompt {number}", uuid=f"prompt-{number}"), a_reply(f"answer {number}")]
    calls = [a_reply(a_tool_call("Bash", {"command": f"step {number}"}, id=f"t{number}")) for number in range(130)]
    session = a_session(
        *turns, a_prompt("do much", uuid="much"), *calls, a_tool_result("broke", of="t3", is_error=True), id=LONG
    )
    session.write(tmp_path / "claude" / "projects")
    with asking(tmp_path / "home", tmp_path / "claude") as made:
        yield made


def test_a_long_session_comes_in_pieces_that_hold_everything_once(long: Asking) -> None:
    first = long.get(f"/s/{LONG}")
    shown = read(first.text)
    more = next(tag for tag in shown.of("a") if "data-from" in tag)
    texts, at, requests = [shown.text], int(more["data-from"] or 0), 1
    assert at > 0
    while at >= 0:
        answer = long.get(f"/s/{LONG}/turns?from={at}", {"x-part": "1"})
        texts.append(read(answer.text).text)
        at = int(answer.headers["x-next"])
        requests += 1
    assert requests > 3
    whole = "\n".join(texts)
    assert all(whole.count(f"answer {number}\n") == 1 for number in range(1, 101))
    assert all(whole.count(f"step {number}\n") >= 1 for number in range(130))
    before = long.get(f"/s/{LONG}/turns?before=50", {"x-part": "1"})
    assert "answer 50\n" in read(before.text).text
    assert "answer 51\n" not in read(before.text).text
    assert int(before.headers["x-first"]) < 50


def test_the_menu_names_sessions_while_one_is_read(site: Asking) -> None:
    current = [tag["href"] for tag in site.page(f"/s/{HARBOUR}").of("a") if "data-key" in tag and "aria-current" in tag]
    assert current == ["/sessions"]


def test_sessions_are_found_by_words_of_their_titles(long: Asking) -> None:
    assert f"/s/{LONG}" in long.page("/sessions?title=PROMPT+1").links()
    assert "No session fits" in long.page("/sessions?title=prompt+elsewhere").text


def test_nothing_is_accounted_for_where_nothing_was_used(empty: Asking, site: Asking) -> None:
    assert "malformed" not in empty.page("/usage?since=all").text
    assert "malformed" in site.page("/usage?since=all").text


def test_a_piece_that_was_given_something_is_in_another_state(long: Asking, tmp_path: Path) -> None:
    before = long.get(f"/s/{LONG}/states").json()
    shown = [tag["data-state"] for tag in read(long.get(f"/s/{LONG}").text).of("div") if "data-state" in tag]
    assert shown
    assert shown == before[: len(shown)]
    assert len(before) == 104
    transcript = next((tmp_path / "claude").rglob("*.jsonl"))
    lines = transcript.read_text().splitlines()
    last = json.loads(lines[-1])
    last.update(uuid="late", parentUuid=last["uuid"])
    last["message"]["content"][0].update(tool_use_id="t50")
    transcript.write_text("\n".join([*lines, json.dumps(last)]) + "\n")
    with Archive(long.home, [tmp_path / "claude"]) as archive:
        archive.sync()
    after = long.get(f"/s/{LONG}/states?from=100").json()
    assert [old != new for old, new in zip(before[100:], after, strict=True)] == [False, True, False, True]


def test_the_first_screen_is_sent_before_outline_and_map_are_made(
    long: Asking, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    marks = BranchPages.marks.func  # type: ignore[attr-defined]

    def slowly(branch_pages: BranchPages) -> object:
        made.append("map")
        return marks(branch_pages)

    monkeypatch.setattr(BranchPages, "marks", property(slowly))
    headers = READS
    scope = {"type": "http", "method": "GET", "headers": [], "query_string": b"", "path": f"/s/{LONG}"}
    app = long.client.app.app  # type: ignore[attr-defined]
    request = Request({**scope, "path_params": {"session": LONG}, "app": app, "scheme": "http", "server": ("h", 80)})
    answer = show(request)
    assert isinstance(answer, StreamingResponse)
    assert not made, "the first screen does not wait for them"
    whole = [long.client.get(f"/s/{LONG}", headers={**headers, "accept-encoding": way}) for way in ("gzip", "identity")]
    assert [each.headers.get("content-encoding") for each in whole] == ["gzip", None]
    assert whole[0].text == whole[1].text
    assert whole[0].text.index("answer 1") < whole[0].text.index('class="outline"') < whole[0].text.index("</html>")
    assert made == ["map", "map"]


def test_an_outline_says_what_it_leaves_out_and_gives_the_rest(long: Asking, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reread.web.paging.MOST_PROMPTS", 40)
    page = long.page(f"/s/{LONG}")
    assert "101 turns" in page.text
    assert "61 more turns" in page.text
    [rest] = [tag for tag in page.of("a") if "data-outline" in tag]
    named = [tag["data-to"] for tag in page.of("a") if tag.get("href", "").endswith("#m-prompt-40")]  # type: ignore[union-attr]
    assert named
    more = long.part(f"/s/{LONG}/outline?from={rest['data-outline']}")
    assert [tag["data-to"] for tag in more.of("a")] == [*(f"m-prompt-{n}" for n in range(41, 101)), "m-much"]
    assert "answer 41" in long.page(f"/s/{LONG}{rest['href']}").text, "without a script the link leads there"


def test_what_is_folded_is_made_when_it_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = "\n".join(f"{n}\tdef f{n}(): ..." for n in range(1, 300))
    a_session(
        a_prompt("have a look"),
        a_reply(a_tool_call("Task", {"description": "d", "prompt": "look **well**"}, id="t1")),
        a_tool_result("It was **the wick**.", of="t1"),
        a_reply(a_tool_call("Read", {"file_path": "/p/a.py"}, id="r1")),
        a_tool_result(lines, of="r1"),
        id=LONG,
    ).write(tmp_path / "claude" / "projects")
    prose: list[str] = []

    def noted(text: str) -> Markup:
        prose.append(text)
        return content.words(text)

    monkeypatch.setattr(call_parts, "words", noted)
    with asking(tmp_path / "home", tmp_path / "claude") as site:
        page = site.get(f"/s/{LONG}").text
        assert not prose
        assert "the wick" not in page
        folded = re.findall(r'data-part="([^"]+)"', page)
        assert len(folded) == 2
        task, listing = (site.get(address, {"x-part": "1"}).text for address in folded)
    assert "It was <strong>the wick</strong>." in task
    assert "look <strong>well</strong>" in task
    assert "f299" in listing


def test_a_branch_that_was_left_can_be_read(tmp_path: Path) -> None:
    a_session(
        a_prompt("start", uuid="start"),
        a_reply("begun", uuid="begun"),
        a_prompt("the first way", uuid="first"),
        a_reply("went first"),
        a_prompt("the second way", uuid="second", to="begun"),
        a_reply("went second"),
        id="forked",
    ).write(tmp_path / "claude" / "projects")
    with asking(tmp_path / "home", tmp_path / "claude") as site:
        page = site.page("/s/forked")
        assert "went second" in page.text
        assert "went first" not in page.text
        ways = [link for link in site.page("/s/forked/branches").links() if "?branch=" in link]
        assert len(ways) == 2
        left = site.page(ways[1])
        assert "went first" in left.text
        assert "This branch was left behind" in left.text
        assert "went first" in site.page("/s/forked?at=m-first").text, "a link finds the branch by itself"
        assert "no such branch" in site.page("/s/forked?branch=b-none", status=400).text


def test_a_page_goes_on_with_its_own_session_whatever_it_was_asked_for_by(site: Asking) -> None:
    for name in ("@2", LANTERN[:6], LANTERN):
        layout = next(tag for tag in site.page(f"/s/{name}").of("div") if "data-session" in tag)
        assert layout["data-session"] == f"/s/{LANTERN}"


def test_a_session_is_starred_tagged_and_hidden_from_its_page(site: Asking) -> None:
    def note(form: str, status: int = 303) -> None:
        headers = CHANGES
        done = site.client.post(f"/s/{LANTERN}/mark", headers=headers, content=form, follow_redirects=False)
        assert done.status_code == status

    def listed(query: str) -> list[str]:
        return [link for link in site.page(f"/sessions?{query}").links() if link.startswith("/s/")]

    note("starred=1")
    note("tag=to+read")
    assert "★ Starred" in site.page(f"/s/{LANTERN}").text
    assert "#to read" in site.page("/sessions").text
    assert listed("starred=1") == listed("tag=TO+READ") == [f"/s/{LANTERN}"]
    note("untag=to+read")
    note("starred=0")
    assert listed("starred=1") == listed("tag=to+read") == []
    note("hidden=1")
    assert listed("") == [f"/s/{HARBOUR}"]
    assert listed("hidden=1") == [f"/s/{HARBOUR}", f"/s/{LANTERN}"]
    assert LANTERN not in str(site.page("/").links())
    assert "2 hits" in site.page("/search?q=capacitor").text, "what is hidden from lists can still be found"
    note("tag=a,b", 400)
    note("&".join("tag=x" for _ in range(500)), 400)


def test_a_session_is_renamed_and_noted_from_its_page(site: Asking) -> None:
    def note(form: str, status: int = 303, **headers: str) -> str:
        ours = {**CHANGES, **headers}
        done = site.client.post(f"/s/{LANTERN}/mark", headers=ours, content=form, follow_redirects=False)
        assert done.status_code == status
        return str(done.text)

    before = site.page(f"/s/{LANTERN}").titles
    note("title=The+lamp+%3Cb%3E")
    note("note=ask+Bob%0Aabout+%3C%2Ftextarea%3E%3Cscript%3E")
    page = site.page(f"/s/{LANTERN}")
    assert page.titles == ["The lamp <b> · reread"]
    assert "ask Bob\nabout </textarea><script>" in page.text
    assert "The lamp <b>" in site.page("/sessions").text
    assert not dangers(page)
    note("tag=urgent")
    assert [tag["value"] for tag in site.page(f"/s/{HARBOUR}").of("option")] == ["urgent"], "tags are suggested"
    part = read(note("starred=1", 200, **{"x-part": "1"}))
    assert "★ Starred" in part.text, "a script gets the forms alone"
    assert not part.of("html")
    assert "longer than 200" in note(f"title={'x' * 201}", 400, **{"x-part": "1"})
    assert "not overwritten" in note("note=mine&had=", 409, **{"x-part": "1"})
    note("note=mine&had=", 400)
    assert "ask Bob" in site.page(f"/s/{LANTERN}/sidebar").text, "pages that are open get to see it"
    note("note=ask+Ann&had=ask+Bob%0D%0Aabout+%3C%2Ftextarea%3E%3Cscript%3E")
    note("note=")
    note("title=")
    page = site.page(f"/s/{LANTERN}")
    assert page.titles == before
    assert "ask Bob" not in page.text


def test_a_note_with_invisible_letters_can_be_changed_again(site: Asking) -> None:
    """Texts copied from elsewhere have them; a page does not show them, so its form cannot send them back."""
    for text in ("pasted\u200b from a\u2060 chat", "\ufeffand\rfrom\u2028a file", "typed"):
        had = next(tag["value"] or "" for tag in site.page(f"/s/{LANTERN}").of("input") if tag.get("name") == "had")
        assert site.post(f"/s/{LANTERN}/mark", {"note": text, "had": had}, is_part=True).status_code == 200
    assert "typed" in site.page(f"/s/{LANTERN}").text


def test_several_sessions_are_marked_at_once(site: Asking) -> None:
    def mark(form: str) -> tuple[int, str]:
        headers = CHANGES
        done = site.client.post("/sessions/mark", headers=headers, content=form, follow_redirects=False)
        return done.status_code, done.headers.get("location", "")

    def listed(query: str) -> list[str]:
        return [link for link in site.page(f"/sessions?{query}").links() if link.startswith("/s/")]

    boxes = [tag for tag in site.page("/sessions?sort=cost").of("input") if tag.get("name") in ("session", "back")]
    assert {box["value"] for box in boxes} == {"?sort=cost", HARBOUR, LANTERN}
    both = f"session={HARBOUR}&session={LANTERN}"
    assert mark(f"{both}&tag=&starred=1&back=%3Fsort%3Dcost") == (303, "/sessions?sort=cost")
    assert mark(f"{both}&tag=old") == (303, "/sessions")
    assert listed("starred=1") == listed("tag=old") == [f"/s/{HARBOUR}", f"/s/{LANTERN}"]
    assert mark(f"session={HARBOUR}&hidden=1&back=//evil.example") == (303, "/sessions")
    assert mark(f"session={HARBOUR}&hidden=1&back=%3Fa%0D%0Ab:c")[1].count("\n") == 0
    assert listed("") == [f"/s/{LANTERN}"]
    assert mark("session=nobody&starred=0")[0] == 404
    assert mark("&".join("session=x" for _ in range(500)))[0] == 400
    assert mark("starred=0") == (303, "/sessions"), "none is selected: nothing is done"
    assert len(listed("starred=1&hidden=1")) == 2


def test_two_branches_are_compared(tmp_path: Path) -> None:
    write = {"file_path": "/home/ann/app/a.py", "content": "one = 1\n"}
    created = {"type": "create", "filePath": "/home/ann/app/a.py", "content": "one = 1\n", "structuredPatch": []}
    a_session(
        a_prompt("start", uuid="start"),
        a_reply("begun", uuid="begun"),
        a_prompt("the first way", uuid="first"),
        a_reply(a_tool_call("Write", write, id="w")),
        a_tool_result("done", of="w", twin=created),
        a_reply("went first"),
        a_prompt("the second way", uuid="second", to="begun"),
        a_reply("went second"),
        id="forked",
    ).write(tmp_path / "claude" / "projects")
    a_session(a_prompt("alone"), a_reply("yes"), id="single").write(tmp_path / "claude" / "projects")
    with asking(tmp_path / "home", tmp_path / "claude") as site:
        [link] = [link for link in site.part("/s/forked/branches").links() if "/compare" in link]
        for page in (site.page(link), site.page("/s/forked/compare")):
            for words in ("The first prompt is the same", "the first way", "went second", "a.py", "one = 1"):
                assert words in page.text
            assert "changed on the left only" in page.text
            assert "not touched on the right" in page.text
            assert "begun" not in page.text, "what both share is folded"
        chosen = [tag["value"] for tag in page.of("option") if "selected" in tag]
        assert chosen == ["b-forked@first", "b-main"]
        assert "changed on the right only" in site.page("/s/forked/compare?left=b-main&right=b-forked%40first").text
        assert "the same branch" in site.page("/s/forked/compare?left=b-main&right=b-main").text
        assert "never rewound" in site.page("/s/single/compare").text
        assert "no such branch" in site.page("/s/forked/compare?left=b-none", status=400).text


def test_the_record_of_a_message_is_its_line(site: Asking) -> None:
    page = site.page(f"/s/{LANTERN}/record/m-beacon")
    assert '"uuid": "beacon"' in page.text
    assert f"/s/{LANTERN}?at=m-beacon#m-beacon" in page.links()


def test_the_files_a_session_changed_are_told(tmp_path: Path) -> None:
    patch = [{"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 2, "lines": ["-a", "+b", "+c"]}]
    given = {"file_path": "/p/notes.txt", "old_string": "a", "new_string": "b\nc"}
    twin = {
        "filePath": "/p/notes.txt",
        "oldString": "a",
        "newString": "b\nc",
        "originalFile": "a",
        "structuredPatch": patch,
    }
    a_session(
        a_prompt("edit"),
        a_reply(a_tool_call("Edit", given, id="e")),
        a_tool_result("done", of="e", twin=twin),
        id="edited",
        cwd="/p",
    ).write(tmp_path / "claude" / "projects")
    with asking(tmp_path / "home", tmp_path / "claude") as site:
        assert "notes.txt +2 −1" in " ".join(site.part("/s/edited/changes").text.split())


def test_a_whole_file_is_shown_in_its_colours_and_escaped_once(tmp_path: Path) -> None:
    code, path = "return a < 1\n", "/p/code.py"
    a_session(
        a_prompt("write"),
        a_reply(a_tool_call("Write", {"file_path": path, "content": code})),
        a_tool_result("ok", twin={"type": "create", "filePath": path, "content": code}),
        id="written",
        cwd="/p",
    ).write(tmp_path / "claude" / "projects")
    with asking(tmp_path / "home", tmp_path / "claude") as site:
        shown = site.get("/s/written/changes?file=0").text.partition("whole-file")[2]
    assert '<span class="c-k">return</span> a <span class="c-o">&lt;</span> <span class="c-mi">1</span>' in shown


def test_without_scripts_a_link_shows_what_is_folded_and_leads_on_with_it(tmp_path: Path) -> None:
    turns = [
        entry
        for number in range(200)
        for entry in (
            a_prompt(f"number {number}"),
            a_reply(a_tool_call("Bash", {"command": "cat it"}, id=f"c{number}")),
            a_tool_result(f"output {number} " + "and more " * 500, of=f"c{number}"),
        )
    ]
    a_session(
        a_prompt("dig"),
        a_reply(a_tool_call("Task", {"description": "dig", "prompt": "dig"}, id="t")),
        a_subagent(a_prompt("dig"), a_reply("what the agent said"), of="t"),
        a_tool_result("dug", of="t"),
        *turns,
        id="folded",
        cwd="/p",
    ).write(tmp_path / "claude" / "projects")
    with asking(tmp_path / "home", tmp_path / "claude") as site:
        page = site.page("/s/folded")
        assert "output 0 and more" not in page.text
        assert "what the agent said" not in page.text
        [link] = [link for link in page.links() if "parts=1" in link]
        whole = site.page(f"/s/folded{link}")
        assert "output 0 and more" in whole.text
        assert "what the agent said" in whole.text
        assert not any("data-part" in tag for tag in whole.of("details"))
        further = site.page(
            f"/s/folded{next(link for link in whole.links() if 'parts=1' in link and 'from=0' not in link)}"
        )
        assert "output 0 and more" not in further.text
        assert not any("data-part" in tag for tag in further.of("details"))


def test_without_scripts_the_files_changed_are_pages_of_their_own(tmp_path: Path) -> None:
    path = "/p/code.py"
    a_session(
        a_prompt("write"),
        a_reply(a_tool_call("Write", {"file_path": path, "content": "a = 1\n"})),
        a_tool_result("ok", twin={"type": "create", "filePath": path, "content": "a = 1\n"}),
        id="written",
        cwd="/p",
    ).write(tmp_path / "claude" / "projects")
    with asking(tmp_path / "home", tmp_path / "claude") as site:
        assert "/s/written/changes" in site.page("/s/written").links()
        changes = site.page("/s/written/changes")
        assert changes.titles[0] == "Files changed · reread"
        assert "/s/written" in changes.links()
        assert "/s/written/changes?file=0" in changes.links()
        file = site.page("/s/written/changes?file=0")
        assert "code.py" in file.text
        assert "/s/written/changes" in file.links()


def test_files_that_only_a_backup_knows_are_told_right_when_their_source_is_gone(tmp_path: Path) -> None:
    name, notes = "848ba454-0000-4000-8000-000000000000", "/p/notes.txt"
    time = "2026-01-05T09:00:04.500Z"
    tracked = {"notes.txt": {"backupFileName": "848ba454848ee7c8@v2", "version": 2, "backupTime": time}}
    a_session(
        a_prompt("make it"),
        a_reply(a_tool_call("Write", {"file_path": notes, "content": "one\n"})),
        a_tool_result("ok", twin={"type": "create", "filePath": notes, "content": "one\n"}),
        a_line("file-history-snapshot", messageId="m", snapshot={"timestamp": time, "trackedFileBackups": tracked}),
        a_prompt("go on"),
        a_reply("yes"),
        id=name,
        cwd="/p",
    ).write(tmp_path / "claude" / "projects")
    write_backups(tmp_path / "claude", {"848ba454848ee7c8@v2": b"one\nby hand\n"}, name)
    with asking(tmp_path / "home", tmp_path / "claude") as site:
        shutil.rmtree(tmp_path / "claude" / "file-history")
        assert "notes.txt added +2 −0" in " ".join(site.part(f"/s/{name}/changes").text.split())
    [pack] = (tmp_path / "home" / "safe").glob("*.pack")
    content = bytearray(pack.read_bytes())
    content[content.index(b"by hand")] ^= 1
    pack.write_bytes(content)
    with asking(tmp_path / "home", tmp_path / "claude") as site:
        assert "notes.txt" in site.part(f"/s/{name}/changes").text, "what damage took counts as gone"


def test_search_finds_marks_and_leads_to_the_place(site: Asking) -> None:
    page = site.page("/search?q=capacitor")
    assert "2 hits" in page.text
    assert len(page.of("mark")) == 2
    link = next(link for link in page.links() if link.startswith("/s/"))
    assert "It is the capacitor" in site.page(link.partition("#")[0]).text
    only = site.part("/search?q=capacitor&in=thinking")
    assert "1 hit" in only.text
    assert not only.of("html")
    assert "seventeen" in site.page("/search?q=seventeen&in=result").text
    assert "Nothing has that" in site.page("/search?q=seventeen&in=prompt").text


def test_search_has_facets_suggestions_and_help(site: Asking) -> None:
    page = site.page("/search?q=beacon&in=prompt&in=text")
    assert any(link.startswith("/search?") and "lantern" in link for link in page.links())
    assert "capacitor" in site.page("/search?q=capacitro").text
    assert "is not a date" in site.page("/search?q=x&since=never", status=400).text
    assert "AND, OR, NOT" in site.page("/search").text


def test_facets_tell_projects_apart_that_end_alike(tmp_path: Path) -> None:
    for owner in ("ann", "bob"):
        a_session(a_prompt("a zorilla"), id=f"s-{owner}", cwd=f"/home/{owner}/cli").write(tmp_path / "claude/projects")
    with asking(tmp_path / "home", tmp_path / "claude") as site:
        text = site.page("/search?q=zorilla").text
    assert "ann/cli" in text
    assert "bob/cli" in text


@pytest.mark.parametrize("by", ["day", "week", "month", "model", "project", "session", "tool", "block"])
def test_usage_has_a_chart_a_table_and_the_accounting_line(by: str, site: Asking) -> None:
    page = site.page(f"/usage?by={by}&since=all")
    assert page.of("svg")[0]["role"] == "group", "its bars are links"
    assert len(page.of("tr")) >= 3
    assert "lower bound" in page.text
    assert re.search(r"\d+ requests?, \d+ duplicate rows? collapsed", page.text)


def test_the_doctor_tells_how_much_of_the_sources_it_has_read() -> None:
    page = render("health.html", is_busy=True, found=None, problem="", progress=(3_000_000, 12_000_000))
    assert "3.0 MB of 12.0 MB" in page
    assert 'max="12000000" value="3000000"' in page


def test_a_look_at_the_doctor_reads_nothing_and_the_button_everything(
    site: Asking, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("reread.web.doctor.BackgroundScan.start", lambda _: pytest.fail("a look reads nothing"))
        assert "Examine everything" in site.page("/doctor").text
    site.post("/doctor", {})
    for _ in range(500):
        page = site.part("/doctor")
        if "can be read" in page.text:
            break
        time.sleep(0.01)
    assert "Everything can be read" in page.text
    assert "Claude Code deletes sessions after 40 days" in page.text


def test_what_is_not_there_says_where_to_go(site: Asking) -> None:
    page = site.page("/nowhere", status=404)
    assert "There is no such page." in page.text
    assert "/sessions" in page.links()
    assert "no session" in site.page("/s/nobody", status=404).text
    assert site.page("/s/-", status=404)


def test_a_short_name_leads_to_the_sessions_it_may_stand_for(tmp_path: Path) -> None:
    for name in ("abc-1", "abc-2"):
        a_session(a_prompt(f"about {name}"), id=name).write(tmp_path / "claude/projects")
    with asking(tmp_path / "home", tmp_path / "claude") as site:
        page = site.page("/s/abc", status=404)
    assert {"/s/abc-1", "/s/abc-2"} <= set(page.links())
    assert "forgotten" not in page.text


def test_a_session_that_a_rebuild_has_not_come_to_yet_is_not_called_forgotten(site: Asking, claude: Path) -> None:
    with Archive(site.home, [claude]) as archive, transaction(archive.inner.connection):
        meta.write_note(archive.inner.connection, meta.REBUILD, meta.BEGUN)
    page = site.page("/s/not-there-yet", status=503)
    assert "a rebuild of its index runs" in page.text and "forgotten" not in page.text


def test_an_index_that_was_made_anew_is_noticed(site: Asking, claude: Path) -> None:
    assert "draw the harbour" in site.page("/sessions").text
    assert "A harbour with a beacon" in site.page(f"/s/{HARBOUR}").text
    a_session(a_prompt("a second harbour"), id="second").write(claude / "projects")
    with Archive(site.home, [claude]) as archive:
        archive.safe.rebuild()
        archive.sync()
    assert "a second harbour" in site.page("/sessions").text
    assert "a second harbour" in site.page("/s/second").text


def test_a_session_that_grew_is_read_again(site: Asking, claude: Path) -> None:
    assert "and goodbye" in site.page(f"/s/{LANTERN}").text
    a_session(a_prompt("one more thing"), a_reply(a_thought("hm"), "as you like"), id="extra").write(
        claude / "projects"
    )
    extra = next(claude.rglob("extra.jsonl"))
    trunk = next(claude.rglob(f"{HARBOUR}.jsonl"))
    assert "as you like" not in site.page(f"/s/{HARBOUR}").text
    with trunk.open("ab") as file:
        file.write(extra.read_bytes())
    extra.unlink()
    with Archive(site.home, [claude]) as archive:
        archive.sync()
    assert "as you like" in site.page(f"/s/{HARBOUR}").text


def test_an_image_has_an_address_of_its_own_that_never_changes(tmp_path: Path) -> None:
    picture = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", 960, 600) + bytes(20_000)
    source = {"type": "base64", "media_type": "image/png", "data": b64encode(picture).decode()}
    image = {"type": "image", "source": source}
    a_session(
        a_prompt("look", image),
        a_reply(a_tool_call("Read", {"file_path": "a.png"}, id="r")),
        a_tool_result([image], of="r"),
        id="drawn",
    ).write(tmp_path / "claude" / "projects")
    with asking(tmp_path / "home", tmp_path / "claude") as site:
        page = site.page("/s/drawn")
        [shown] = page.of("img")
        assert (shown["width"], shown["height"], shown["loading"]) == ("480", "300", "lazy")
        assert "base64" not in site.get("/s/drawn").text
        [later] = [tag["data-part"] for tag in page.of("details") if "data-part" in tag]
        assert site.part(str(later)).of("img")[0]["src"] == shown["src"], "the same bytes have the same address"
        answer = site.get(str(shown["src"]))
        assert answer.content == picture
        assert answer.headers["content-type"] == "image/png"
        assert "immutable" in answer.headers["cache-control"]
        assert site.get("/s/drawn/image/none").status_code == 404


def test_notices_before_the_first_prompt_are_one_line_and_a_single_one_stays(tmp_path: Path) -> None:
    for name, number in (("several", 3), ("single", 1)):
        notices = [a_system_line("informational", content=f"note {each}") for each in range(number)]
        a_session(*notices, a_prompt("begin"), a_reply("ok"), id=name).write(tmp_path / "claude" / "projects")
    with asking(tmp_path / "home", tmp_path / "claude") as site:
        assert "3 notices before the first prompt" in site.page("/s/several").text
        assert "before the first prompt" not in site.page("/s/single").text


def test_home_says_what_went_on_since_one_was_there_last(tmp_path: Path) -> None:
    stamp = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")
    failed = [a_reply(a_tool_call("Bash", {"command": "make"}, id="t1")), a_tool_result("no", of="t1", is_error=True)]
    a_session(a_prompt("go", timestamp=stamp), *failed, a_reply("ok", timestamp=stamp)).write(
        tmp_path / "claude" / "projects"
    )
    before = int(time.time()) - 7_200
    with asking(tmp_path / "home", tmp_path / "claude") as site:
        assert "since you were last here" not in site.page("/").text, "who was never here is told nothing"
        for visit in (f"0.{before}", f"{before}.{int(time.time()) - 60}"):
            page = site.get("/", {"cookie": f"{READS['cookie']}; reread-seen={visit}"})
            assert "1 session went on since you were last here" in read(page.text).text
            assert "1 session with failed calls" in read(page.text).text
            assert f"reread-seen={before}." in page.headers["set-cookie"]
        again = site.get("/", {"cookie": f"{READS['cookie']}; reread-seen=x.y"})
        assert again.status_code == 200
        assert "/retro" in site.page("/retro/first?since=7d").links()[0]


def test_an_empty_cell_is_the_heading_of_nothing() -> None:
    made = str(content.words("| | b |\n|-|-|\n| 1 | 2 |"))
    assert "<th></th>" not in made
    assert "<th>b</th>" in made
