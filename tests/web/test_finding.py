"""Words that led to a session: what its page is told to mark, and which of its messages have them."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import quote

from cli.kept import LANTERN
from reread.testing import a_prompt, a_reply, a_session, a_subagent, a_tool_call, a_tool_result
from web.asking import Asking, Reading, asking, dangers


def sought(page: Reading) -> list[list[object]] | None:
    """The terms that a page marks."""
    told = next(each for each in page.of("div") if each.get("class") == "layout").get("data-sought")
    return None if told is None else json.loads(told)


def test_hits_lead_into_their_session_with_the_words_in_the_address(site: Asking) -> None:
    links = [link for link in site.page("/search?q=beacon").links() if link.startswith("/s/")]
    assert f"/s/{LANTERN}?q=beacon&at=m-beacon#m-beacon" in links
    assert f"/s/{LANTERN}?q=beacon" in links, "that of the title"
    narrowed = site.page(f"/search?q={quote('seventeen&volts')}&in=result").links()
    assert any(link.startswith(f"/s/{LANTERN}?q=seventeen%26volts&in=result&at=") for link in narrowed)


def test_a_page_is_told_the_words_as_search_reads_them(site: Asking) -> None:
    words = 'Café volt* -ohm "short circuit" 検索中'
    page = site.page(f"/s/{LANTERN}?q={quote(words)}")
    assert sought(page) == [[["cafe"], False], [["volt"], True], [["short", "circuit"], False], [["検索中"], False]]
    assert "Words that were searched for" in [each.get("aria-label") for each in page.of("aside")]


def test_letters_that_only_the_index_knows_mark_nothing(site: Asking) -> None:
    page = site.page(f"/s/{LANTERN}?q={quote(chr(0xE000) + '* beacon')}")
    assert sought(page) == [[["beacon"], False]]


def test_words_that_find_nothing_mark_nothing(site: Asking) -> None:
    for query in ("", "%20", "-volts", "%22%22", "!!!", "title:x+prompt:y"):
        assert sought(site.page(f"/s/{LANTERN}?q={query}")) is None
        assert site.get(f"/s/{LANTERN}/hits?q={query}").json() == []
    assert sought(site.page(f"/s/{LANTERN}?q=volts&in=nowhere")) is None
    assert site.get(f"/s/{LANTERN}?q={'a' * 1001}").status_code == 400


def test_words_never_become_markup(site: Asking) -> None:
    for words in ('beacon"><script>alert(1)</script>', '"></div><img src=x onerror=alert(1)> beacon'):
        page = site.page(f"/s/{LANTERN}?q={quote(words)}")
        assert sought(page) is not None
        assert not dangers(page)
        assert not page.of("img")


def test_messages_that_answer_come_in_the_order_of_the_conversation(site: Asking) -> None:
    assert site.get(f"/s/{LANTERN}/hits?q=beacon+OR+welcome+OR+thanks").json() == [
        ["m-beacon", 0],
        ["m-thanks", 2],
        [site.get(f"/s/{LANTERN}/hits?q=welcome").json()[0][0], 2],
    ]
    assert len(site.get(f"/s/{LANTERN}/hits?q=oscillation").json()) == 2, "of an agent, too"
    assert site.get(f"/s/{LANTERN}/hits?q=beacon+welcome").json() == [], "one message has both, or none does"


def test_only_the_fields_that_were_searched_count(site: Asking) -> None:
    assert site.get(f"/s/{LANTERN}/hits?q=seventeen").json() == []
    assert len(site.get(f"/s/{LANTERN}/hits?q=seventeen&in=result").json()) == 1


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
        assert site.get("/s/both/hits?q=wombat&in=result").json() == [["m-one", 0]]
        assert site.get("/s/both/hits?q=bandicoot&in=result").json() == [["m-dug", 0]]
        assert site.get("/s/both/where?at=m-r1").json()["anchor"] == "m-one"


def test_hits_are_those_of_the_branch_that_is_shown(tmp_path: Path) -> None:
    a_session(
        a_prompt("begin", uuid="begin"),
        a_reply("A potoroo.", uuid="shared"),
        a_prompt("this way", uuid="left", to="shared"),
        a_reply("A left potoroo.", uuid="left-reply"),
        a_prompt("that way", uuid="right", to="shared"),
        a_reply("A right potoroo.", uuid="right-reply"),
        id="forked",
    ).write(tmp_path / "claude" / "projects")
    with asking(tmp_path / "home", tmp_path / "claude") as site:
        active = [name for name, _ in site.get("/s/forked/hits?q=potoroo").json()]
        assert active == ["m-shared", "m-right-reply"]
        other = site.get("/s/forked/where?at=m-left").json()["branch"]
        left = [name for name, _ in site.get(f"/s/forked/hits?q=potoroo&branch={other}").json()]
        assert left == ["m-left-reply"], "what was left is shown from the fork on"
