"""Whatever a transcript holds, every page shows it as text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest

from cli.hostile import write_hostile
from reread.testing import (
    a_compaction,
    a_prompt,
    a_reply,
    a_session,
    a_subagent,
    a_thought,
    a_title,
    a_tool_call,
    a_tool_result,
)
from web.asking import READS, Asking, asking, dangers

MARKUP = (
    "\"'><script>alert(1)</script><img src=x onerror=alert(2)><svg onload=alert(3)><style>*{display:none}</style>"
    "<a href=javascript:alert(4)>x</a><iframe src=//evil></iframe></title></textarea></pre>{{ 7777*7 }}{% raw %}"
    " [l](javascript:alert(5)) ![i](http://evil/x.png) <base href=//evil> &#x3C;b&#x3E; <!--"
)
OBEYED = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
PAGES = (
    "/",
    "/live",
    "/sessions",
    "/sessions?group=1&sort=cost",
    "/search?q=granite&in=prompt&in=text&in=thinking&in=tool&in=result&in=title",
    "/sessions?project=a&tag=b&going=1&sort=failed&up=1",
    "/usage?since=all&whole=1",
    "/usage/sidebar?since=all",
    *(
        f"/usage?since=all&by={by}"
        for by in ("model", "project", "session", "tool", "branch", "agent", "skill", "block")
    ),
    "/retro?since=all",
    "/retro?since=all&agents=1&unsure=1",
    "/doctor",
)
PARTS = ("turns", "changes", "compare", "sidebar", "outline")


@pytest.fixture(scope="module", params=["terminal", "markup"])
def hostile(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asking]:
    folder = tmp_path_factory.mktemp("hostile")
    claude = write_hostile(folder).claude if request.param == "terminal" else write_markup(folder)
    with asking(folder / "kept", claude) as made:
        yield made


def write_markup(folder: Path) -> Path:
    """Markup in every field that a page shows."""
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/svg+xml", "data": "PHN2Zz4="}}
    a_session(
        a_prompt(f"granite {MARKUP}", uuid=f"one{MARKUP}", gitBranch=MARKUP),
        a_reply(a_thought(f"granite {MARKUP}"), f"granite {MARKUP}", model="claude-opus-4-8"),
        a_reply(
            a_tool_call("Bash", {"command": MARKUP, MARKUP: MARKUP}, id="t1"),
            a_tool_call(MARKUP, {"file_path": MARKUP}, id="t2"),
            a_tool_call("Edit", {"file_path": f"/a/{MARKUP}.py", "old_string": MARKUP, "new_string": "x"}, id="t3"),
            a_tool_call("Task", {"description": MARKUP, "prompt": f"granite {MARKUP}"}, id="t4"),
            model=MARKUP,
        ),
        a_tool_result(f"granite {MARKUP}", of="t1", is_error=True),
        a_tool_result([{"type": "text", "text": MARKUP}, image], of="t2"),
        a_subagent(a_prompt(MARKUP), a_reply(f"granite {MARKUP}"), of="t4", meta={"agentType": MARKUP}),
        a_compaction(MARKUP),
        a_prompt("the way not taken", uuid="left"),
        a_reply("so"),
        a_prompt(MARKUP, to=f"one{MARKUP}"),
        a_reply(MARKUP),
        a_title(MARKUP),
        id="marked-up",
        cwd=f"/home/ann/{MARKUP.replace('/', '-')}",
        version=MARKUP,
    ).write(folder / "claude" / "projects")
    return folder / "claude"


@pytest.mark.parametrize("path", PAGES)
def test_no_page_runs_or_fetches_what_a_transcript_says(path: str, hostile: Asking) -> None:
    page = hostile.page(path)
    assert not dangers(page)
    assert not OBEYED.search(page.text)
    assert "54439" not in page.text


def test_no_session_runs_or_fetches_what_it_says(hostile: Asking) -> None:
    shown = ""
    addresses = {link for link in hostile.page("/sessions").links() if link.startswith("/s/")}
    assert addresses
    for address in addresses:
        page = hostile.page(address)
        ways = [f"{address}{link}" for link in page.links() if link.startswith("?branch=")]
        places = [tag["id"] for _, tag in page.tags if (tag.get("id") or "").startswith("m-")]
        assert places
        records = [f"{address}/record/{place}" for place in places[:12]]
        for other in (*(f"{address}/{part}" for part in PARTS), f"{address}?q=granite", *ways, *records):
            found = hostile.part(other)
            assert not dangers(found), other
            assert not OBEYED.search(found.text), other
        assert not dangers(page)
        assert not OBEYED.search(page.text)
        shown += page.text
    assert "EVIL" in shown or "<script>alert(1)</script>" in shown, "nothing of it was shown, so nothing was proved"


@pytest.mark.parametrize("name", ["usage.svg", "projects.svg"])
@pytest.mark.parametrize("by", ["model", "project", "session", "tool"])
def test_a_chart_to_keep_holds_no_markup_of_others(name: str, by: str, hostile: Asking) -> None:
    answer = hostile.get(f"/usage/{name}?since=all&by={by}")
    assert answer.status_code == 200
    elements = {element.tag.rpartition("}")[2] for element in ElementTree.fromstring(answer.text).iter()}  # noqa: S314
    assert elements <= {"svg", "style", "g", "rect", "line", "circle", "text", "tspan", "title"}


def test_a_table_to_keep_holds_nothing_that_a_terminal_or_a_spreadsheet_obeys(hostile: Asking) -> None:
    for by in ("model", "project", "session", "tool", "branch"):
        answer = hostile.get(f"/usage/usage.csv?since=all&by={by}")
        assert not OBEYED.search(answer.text)
        assert not re.search(r'^"?[=+@-]', answer.text, re.MULTILINE)


def test_facets_and_chips_are_text(hostile: Asking) -> None:
    page = hostile.page("/search?q=granite")
    narrowed = [
        link for link in page.links() if link.startswith("/search?") and ("project=" in link or "model=" in link)
    ]
    assert narrowed
    for link in narrowed:
        found = hostile.page(link)
        assert not dangers(found)
        assert not OBEYED.search(found.text)


def test_the_doctor_tells_hostile_names_as_text(hostile: Asking) -> None:
    hostile.post("/doctor", {})
    for _ in range(200):
        page = hostile.page("/doctor")
        assert not dangers(page)
        if "data-done" in {name for _, tag in page.tags for name in tag}:
            break
    assert "Client versions" in page.text
    assert not OBEYED.search(page.text)


@pytest.mark.parametrize("words", ["<script>alert(1)</script>", '"><img src=x>', "{{7*7}}", "\u202e\x1b[2J", "a" * 900])
def test_what_is_asked_for_is_text_too(words: str, hostile: Asking) -> None:
    for path in ("/search", "/sessions", "/usage"):
        for name in ("q", "project", "model", "since", "by", "sort", "in", "branch", "file"):
            answer = hostile.client.get(path, params={name: words}, headers=READS)
            assert answer.status_code in (200, 400)
            assert "<script>alert" not in answer.text
            assert "<img src=x>" not in answer.text
