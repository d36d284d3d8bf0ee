"""Words that led to a session or are typed into its page: what is marked, and which of its messages have them."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import quote

import pytest

import reread.ingest.sync
from cli.kept import LANTERN
from reread.archive import Archive
from reread.safe.safe import lock
from reread.testing import a_prompt, a_reply, a_session, a_subagent, a_thought, a_title, a_tool_call, a_tool_result
from web.asking import Asking, Reading, asking, asking_as_it_is, dangers


def sought(page: Reading) -> list[list[object]] | None:
    """The terms that a page marks."""
    told = next(each for each in page.of("div") if each.get("class") == "layout").get("data-sought")
    return None if told is None else json.loads(told)


def hits(site: Asking, address: str) -> list[list[object]]:
    found: list[list[object]] = site.get(address).json()["hits"]
    return found


def test_hits_lead_into_their_session_with_the_words_in_the_address(site: Asking) -> None:
    links = [link for link in site.page("/search?q=beacon").links() if link.startswith("/s/")]
    assert f"/s/{LANTERN}?q=beacon&at=m-beacon#m-beacon" in links
    assert f"/s/{LANTERN}?q=beacon" in links, "that of the title"
    narrowed = site.page(f"/search?q={quote('seventeen&volts')}&in=result").links()
    assert any(link.startswith(f"/s/{LANTERN}?q=seventeen%26volts&in=result&at=") for link in narrowed)


def test_the_palette_offers_a_session_once_not_again_as_the_text_of_its_title(tmp_path: Path) -> None:
    for name in ("one", "two"):
        a_session(a_title(f"Of bellows, {name}"), a_prompt(f"the bellows of {name}"), id=name).write(
            tmp_path / "claude"
        )
    with asking(tmp_path / "home", tmp_path / "claude") as site:
        found = site.get("/palette?q=bellows").json()
    assert [each["kind"] for each in found] == ["session", "session", "text", "text"]
    assert {each["title"] for each in found[2:]} == {"the bellows of one", "the bellows of two"}, "the prompts"
    assert {each["about"] for each in found[2:]} == {"app · Of bellows, one", "app · Of bellows, two"}


def test_the_palette_offers_first_what_has_the_words_in_its_title(tmp_path: Path) -> None:
    for number in range(9):
        prompt = a_prompt(f"question {number}", timestamp=f"2026-11-0{number + 1}T10:00:00.000Z")
        a_session(
            a_title(f"An everyday matter {number}"), prompt, id=f"later-{number}", cwd="/home/ann/very-old"
        ).write(tmp_path / "claude")
    prompt = a_prompt("where are they", timestamp="2026-10-01T10:00:00.000Z")
    a_session(a_title("The Very first bellows"), prompt, id="sought").write(tmp_path / "claude")
    with asking(tmp_path / "home", tmp_path / "claude") as site:
        offered = [each["href"] for each in site.get("/palette?q=very").json() if each["kind"] == "session"]
        newest = [each["href"] for each in site.get("/palette?q=").json() if each["kind"] == "session"]
    assert offered == ["/s/sought", *(f"/s/later-{number}" for number in range(8, 2, -1))]
    assert newest == [f"/s/later-{number}" for number in range(8, 1, -1)]


def test_a_search_says_that_results_are_still_being_indexed(
    claude: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reread.ingest.sync, "RESULTS_LATER", 0)
    with Archive(tmp_path / "home", [claude]) as archive:
        archive.sync(is_quick=True)
    told = "The tool results of 1 session are still being indexed"
    with asking_as_it_is(tmp_path / "home", claude) as site:
        with lock(tmp_path / "home" / "safe", timeout=1):
            assert told in site.get("/search?q=seventeen&in=result").text
            assert told in site.get("/search?q=beacon").text, "its facets count hits in results, too"
        assert told not in site.get("/search?q=volts&in=result").text


def test_a_page_is_told_the_words_as_search_reads_them(site: Asking) -> None:
    words = 'Café volt* -ohm "short circuit" 検索中'
    page = site.page(f"/s/{LANTERN}?q={quote(words)}")
    assert sought(page) == [[["cafe"], False], [["volt"], True], [["short", "circuit"], False], [["検索中"], False]]
    field = next(each for each in page.of("input") if each.get("class") == "sought")
    assert field["value"] == words


def test_letters_that_only_the_index_knows_mark_nothing(site: Asking) -> None:
    page = site.page(f"/s/{LANTERN}?q={quote(chr(0xE000) + '* beacon')}")
    assert sought(page) == [[["beacon"], False]]


def test_words_that_find_nothing_mark_nothing(site: Asking) -> None:
    for query in ("", "%20", "-volts", "%22%22", "!!!", "title:x+prompt:y"):
        assert sought(site.page(f"/s/{LANTERN}?q={query}")) is None
        assert hits(site, f"/s/{LANTERN}/hits?q={query}") == []
    assert sought(site.page(f"/s/{LANTERN}?q=volts&in=nowhere")) is None
    assert site.get(f"/s/{LANTERN}?q={'a' * 1001}").status_code == 400


def test_words_never_become_markup(site: Asking) -> None:
    for words in ('beacon"><script>alert(1)</script>', '"></div><img src=x onerror=alert(1)> beacon'):
        page = site.page(f"/s/{LANTERN}?q={quote(words)}")
        assert sought(page) is not None
        assert not dangers(page)
        assert not page.of("img")


def test_messages_that_answer_come_in_the_order_of_the_conversation(site: Asking) -> None:
    assert hits(site, f"/s/{LANTERN}/hits?q=beacon+OR+welcome+OR+thanks") == [
        ["m-beacon", 0, 1],
        ["m-thanks", 2, 1],
        [hits(site, f"/s/{LANTERN}/hits?q=welcome")[0][0], 2, 1],
    ]
    assert len(hits(site, f"/s/{LANTERN}/hits?q=oscillation")) == 2, "of an agent, too"
    assert hits(site, f"/s/{LANTERN}/hits?q=beacon+welcome") == [], "one message has both, or none does"


def test_only_the_fields_that_were_searched_count(site: Asking) -> None:
    assert hits(site, f"/s/{LANTERN}/hits?q=seventeen") == []
    assert len(hits(site, f"/s/{LANTERN}/hits?q=seventeen&in=result")) == 1


def test_a_result_is_found_at_its_own_call_though_others_ran_beside_it(tmp_path: Path) -> None:
    a_session(
        a_prompt("look in both"),
        a_reply(a_tool_call("Bash", {"command": "ls one"}, id="t1"), uuid="one"),
        a_reply(a_tool_call("Bash", {"command": "ls other"}, id="t2"), uuid="other"),
        a_tool_result("a wombat", of="t1", uuid="r1"),
        a_tool_result("nothing", of="t2", uuid="r2"),
        a_reply(a_tool_call("Task", {"description": "dig"}, id="t3")),
        a_subagent(
            a_prompt("dig"),
            a_reply(a_tool_call("Bash", {"command": "dig"}, id="t4"), uuid="dug"),
            a_tool_result("a bandicoot", of="t4", uuid="r4"),
            of="t3",
        ),
        id="both",
    ).write(tmp_path / "claude" / "projects")
    with asking(tmp_path / "home", tmp_path / "claude") as site:
        assert hits(site, "/s/both/hits?q=wombat&in=result") == [["m-one", 0, 1]]
        assert hits(site, "/s/both/hits?q=bandicoot&in=result") == [["m-dug", 0, 1]]
        assert site.get("/s/both/where?at=m-r1").json()["anchor"] == "m-one"


def forked(folder: Path) -> Path:
    a_session(
        a_prompt("begin", uuid="begin"),
        a_reply("A potoroo.", uuid="shared"),
        a_prompt("this way", uuid="left", to="shared"),
        a_reply("A left potoroo.", uuid="left-reply"),
        a_prompt("that way", uuid="right", to="shared"),
        a_reply("A right potoroo.", uuid="right-reply"),
        id="forked",
    ).write(folder / "claude" / "projects")
    return folder / "claude"


@pytest.mark.parametrize("how", ["q", "find"])
def test_hits_are_those_of_the_branch_that_is_shown_and_others_are_named(tmp_path: Path, how: str) -> None:
    with asking(tmp_path / "home", forked(tmp_path)) as site:
        active = site.get(f"/s/forked/hits?{how}=potoroo").json()
        assert [name for name, *_ in active["hits"]] == ["m-shared", "m-right-reply"]
        other = site.get("/s/forked/where?at=m-left").json()["branch"]
        assert active["elsewhere"] == [{"branch": other, "anchor": "m-left-reply", "number": 1}]
        left = site.get(f"/s/forked/hits?{how}=potoroo&branch={other}").json()
        assert [name for name, *_ in left["hits"]] == ["m-left-reply"], "what was left is shown from the fork on"
        assert [(each["anchor"], each["number"]) for each in left["elsewhere"]] == [("m-shared", 2)]


def worded(folder: Path) -> Path:
    a_session(
        a_prompt("Look at /usr/local, please; a Caf\u00e9, a bi\u0301lby", uuid="asked"),
        a_reply(a_thought("perhaps foo(bar) or foo(baz), foo"), uuid="thought"),
        a_reply("The **short-tailed** `wallaby_of` runs: a\nline, see [the page](https://example.org).", uuid="said"),
        a_reply(
            a_tool_call("Bash", {"command": "grep -rn 'foo(' /usr/lo", "timeout": 4711}, id="t1"),
            a_tool_call("Bash", {"command": "ls -v"}, id="t2"),
            uuid="calls",
        ),
        a_tool_result("x" * 250_000 + " foo(far)", of="t1", uuid="r1"),
        a_tool_result("nothing", of="t2", uuid="r2"),
        a_reply(a_tool_call("Task", {"description": "dig", "prompt": "dig"}, id="t3"), uuid="task"),
        a_subagent(a_prompt("dig"), a_reply("foo(deep)", uuid="deep"), of="t3"),
        a_tool_result("dug", of="t3"),
        id="worded",
    ).write(folder / "claude" / "projects")
    return folder / "claude"


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("foo(", [("m-thought", 2), ("m-calls-1", 2), ("m-deep", 1)]),
        ("FOO(BA", [("m-thought", 2)]),
        ("/usr/lo", [("m-asked", 1), ("m-calls-1", 1)]),
        ("cafe", [("m-asked", 1)]),
        ("caf\u00e9", [("m-asked", 1)]),
        ("b\u00edlby", [("m-asked", 1)]),
        ("tailed wallaby_of", [("m-said", 1)]),
        ("**short", [("m-said", 1)]),
        ("see the page", [("m-said", 1)]),
        ("a line", [("m-said", 1)]),
        ("4711", [("m-calls-1", 1)]),
        ("ls -v", [("m-calls-2", 1)]),
        ("no such letters", []),
    ],
)
def test_what_is_typed_is_found_letter_by_letter_wherever_it_stands(
    tmp_path: Path, typed: str, found: list[tuple[str, int]]
) -> None:
    with asking(tmp_path / "home", worded(tmp_path)) as site:
        answer = site.get(f"/s/worded/hits?find={quote(typed)}").json()
        assert [(name, number) for name, _, number in answer["hits"]] == found
        assert answer["search"] is False
        assert all(site.get(f"/s/worded/where?at={name}").json() for name, _ in found)


def test_letters_that_the_session_does_not_have_are_read_as_a_search(tmp_path: Path) -> None:
    with asking(tmp_path / "home", worded(tmp_path)) as site:
        for typed in ("thinking:perhaps", '"short tailed"', "wallaby_of -potoroo", "wallab* OR emu"):
            answer = site.get(f"/s/worded/hits?find={quote(typed)}").json()
            assert answer["search"] is True, typed
            assert len(answer["hits"]) == 1, typed
        answer = site.get(f"/s/worded/hits?find={quote('far -deep')}").json()
        assert answer["search"] is True, "what tools gave back is looked through, too"
        assert [name for name, *_ in answer["hits"]] == ["m-calls-1"]


def test_a_search_that_has_nothing_to_look_for_is_told_in_a_sentence(site: Asking) -> None:
    answer = site.get(f"/s/{LANTERN}/hits?q=-volts").json()
    assert answer["problem"] == "'-volts' only says what to leave out; add a word to search for"
    assert site.get(f"/s/{LANTERN}/hits?q=volts&in=nowhere").json()["problem"].startswith("in 'nowhere'")
    assert hits(site, f"/s/{LANTERN}/hits?find={quote('-beacons')}") == []


def test_a_page_is_told_what_was_typed_into_it(site: Asking) -> None:
    page = site.page(f"/s/{LANTERN}?find={quote('Foo(  bar')}")
    assert sought(page) == [[["foo(", "bar"], False]]
    assert "data-search" not in next(each for each in page.of("div") if each.get("class") == "layout")
    assert sought(site.page(f"/s/{LANTERN}?find={quote('-volts')}")) == [[["-volts"], False]], "these letters"
    assert site.get(f"/s/{LANTERN}?find={'a' * 1001}").status_code == 400


def test_a_piece_can_be_had_with_all_of_its_long_texts(tmp_path: Path) -> None:
    with asking(tmp_path / "home", worded(tmp_path)) as site:
        cut, whole = (site.get(f"/s/worded/turns?from=0{more}").text for more in ("&parts=1", "&whole=1"))
        assert "foo(far)" not in cut
        assert "more characters not in this page" in cut
        assert "foo(far)" in whole
        assert "not in this page" not in whole


def test_of_an_edit_the_lines_of_its_diff_are_counted(tmp_path: Path) -> None:
    given = {"file_path": "/p/nest.py", "old_string": "same(1)\nold(1)", "new_string": "same(1)\nnew(1)"}
    lines = [" above(1)", " same(1)", "-old(1)", "+new(1)"]
    patch = [{"oldStart": 1, "oldLines": 3, "newStart": 1, "newLines": 3, "lines": lines}]
    a_session(
        a_prompt("edit it"),
        a_reply(a_tool_call("Edit", given, id="e1"), uuid="edit"),
        a_tool_result("The file same(1) has been updated.", of="e1", twin={**given, "structuredPatch": patch}),
        id="edited",
    ).write(tmp_path / "claude" / "projects")
    with asking(tmp_path / "home", tmp_path / "claude") as site:
        for typed in ("same(1", "above(", "old(", "new(", "nest.py"):
            assert hits(site, f"/s/edited/hits?find={quote(typed)}") == [["m-edit", 0, 1]], typed


def test_a_description_leads_to_the_nearest_sessions_on_the_page_and_in_the_palette(tmp_path: Path) -> None:
    a_session(a_prompt("the bellows leak at the seam"), a_reply("A patch of leather helps."), id="sought").write(
        tmp_path / "claude"
    )
    a_session(a_prompt("sharpen the chisels"), a_reply("Done."), id="other").write(tmp_path / "claude")
    with asking(tmp_path / "home", tmp_path / "claude") as site:
        page = site.page("/search?q=how+did+the+leather+patch+fix+the+bellows+leak")
        found = site.get("/palette?q=leather+bellows").json()
    assert "No text has all words" in page.text
    assert any(link.startswith("/s/sought") for link in page.links())
    assert not any(link.startswith("/s/other") for link in page.links())
    assert [each["href"].partition("?")[0] for each in found] == ["/s/sought"]
