"""Whatever a transcript holds, a page of it is text: no element and no attribute that we did not write."""

from __future__ import annotations

import re
from base64 import b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.hostile import NAME, _everything
from html_pages import Page
from reread.testing import (
    a_compaction,
    a_prompt,
    a_queued_prompt,
    a_reply,
    a_session,
    a_subagent,
    a_system_line,
    a_thought,
    a_title,
    a_tool_call,
    a_tool_result,
    an_image,
)
from reread.views.html.content import words
from reread.views.html.page import index_page, session_page
from reread.views.html.parts import Sections

MARKUP = (
    "<script>alert(1)</script><img src=x onerror=alert(2)>\"'><svg/onload=alert(3)></style></title><iframe src=//evil>"
)
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
EVERYTHING = Sections(raw=True)


def page_of_markup() -> str:
    """A session with markup in every field that a page shows."""
    edit = {"file_path": f"/x/{MARKUP}.py", "old_string": MARKUP, "new_string": MARKUP * 2}
    calls = [
        a_tool_call("Edit", edit, id="toolu_1"),
        a_tool_call(MARKUP, {MARKUP: {MARKUP: [MARKUP]}}, id="toolu_2"),
        a_tool_call(f"mcp__{MARKUP}__{MARKUP}", {"command": MARKUP}, id=f"toolu_3{MARKUP}"),
        a_tool_call("TodoWrite", {"todos": [{"content": MARKUP, "status": MARKUP}]}, id="toolu_4"),
        a_tool_call("Task", {"description": MARKUP, "prompt": MARKUP, "subagent_type": MARKUP}, id="toolu_5"),
    ]
    transcript = a_session(
        a_title(MARKUP),
        a_prompt(MARKUP, uuid=f"{MARKUP} u"),
        a_reply(a_thought(MARKUP), MARKUP, *calls, model=MARKUP, uuid=MARKUP),
        a_tool_result(MARKUP, of="toolu_1", is_error=True),
        a_tool_result([{"type": "text", "text": MARKUP}, {"type": MARKUP}], of="toolu_2"),
        a_subagent(
            a_prompt(MARKUP), a_reply(MARKUP, a_thought(MARKUP)), id="a1", of="toolu_5", meta={"agentType": MARKUP}
        ),
        a_tool_result(MARKUP, of="toolu_5"),
        a_queued_prompt(MARKUP),
        a_system_line(MARKUP, content=MARKUP),
        a_compaction(MARKUP, trigger=MARKUP),
        a_prompt("left", uuid="left"),
        a_reply("answer"),
        a_prompt("taken", to=MARKUP),
        a_reply("end"),
        cwd=f"/home/{MARKUP}",
        version=MARKUP,
    )
    return session_page(transcript.build(), EVERYTHING)


def test_markup_in_every_field_stays_text() -> None:
    page = Page(page_of_markup())
    assert page.foreign == []
    assert page.unbalanced == []
    assert page.text.count("alert(1)") >= 15


def test_what_a_terminal_or_a_reader_would_obey_is_not_in_the_page() -> None:
    text = session_page(_everything("plain").build(), EVERYTHING)
    page = Page(text)
    assert page.foreign == []
    assert OBEYED.search(text) is None
    assert "EVIL" in page.text


def test_every_place_is_named_once() -> None:
    for text in (page_of_markup(), session_page(_everything("plain").build())):
        ids = Page(text).ids
        assert len(ids) == len(set(ids))
        assert all(re.fullmatch(r"[\w.@-]+", name) for name in ids)


@pytest.mark.parametrize(
    "address",
    [
        "javascript:alert(1)",
        "JaVaScRiPt:alert(1)",
        "&#106;avascript:alert(1)",
        " javascript:alert(1)",
        "data:text/html;base64,PHNjcmlwdD4=",
        "data:image/svg+xml,<svg onload=alert(1)>",
        "vbscript:x",
        "file:///etc/passwd",
        "//evil.test/x",
        "http:javascript",
    ],
)
def test_links_lead_to_pages_only(address: str) -> None:
    for text in (
        f"[x]({address})",
        f"[x](<{address}>)",
        f"<{address}>",
        f"[x][1]\n\n[1]: {address}",
        f"![x]({address})",
    ):
        assert Page(words(text)).of("a") == []
        assert Page(words(text)).foreign == []


def test_a_link_to_a_page_works_and_tells_nobody_where_it_came_from() -> None:
    (link,) = Page(words("see [the docs](https://docs.test/a?b=1&c=2)")).of("a")
    assert link == {"href": "https://docs.test/a?b=1&c=2", "rel": "noopener noreferrer"}


def test_pictures_of_the_web_are_named_and_not_fetched() -> None:
    page = Page(words("![a chart](https://evil.test/pixel.png)"))
    assert page.of("img") == []
    assert "a chart" in page.text


@given(st.text(st.sampled_from("<>&\"'`[]()!*_#~|:-= \n\tabjs/\\\x1b\u202e")))
def test_no_text_makes_an_element_of_its_own(text: str) -> None:
    assert Page(words(text)).foreign == []


def test_only_real_images_are_shown() -> None:
    png = b64encode(b"\x89PNG\r\n\x1a\n" + b"\0" * 20).decode()
    svg = b64encode(b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>").decode()
    page = Page(
        session_page(
            a_session(
                a_prompt(
                    "look",
                    an_image(png, "text/html"),
                    an_image(svg, "image/png"),
                    an_image("not base64 <b>", "image/png"),
                    an_image(b64encode(b"<script>alert(1)</script>").decode(), "image/png"),
                )
            ).build()
        )
    )
    assert [image["src"] for image in page.of("img")] == [f"data:image/png;base64,{png}"]
    assert page.text.count("which is no image") == 2
    assert "damaged" in page.text


def test_a_huge_line_is_cut_and_what_is_left_out_is_told() -> None:
    line = "x" * 1_000_000
    text = session_page(
        a_session(a_prompt("go"), a_reply(a_tool_call("Bash", {"command": line})), a_tool_result(line)).build()
    )
    assert len(text) < 700_000
    assert "800,000 more characters not in this page" in Page(text).text


def test_a_page_brings_its_own_policy_and_nothing_from_elsewhere() -> None:
    text = page_of_markup()
    page = Page(text)
    (policy,) = [meta["content"] for meta in page.of("meta") if meta.get("http-equiv") == "Content-Security-Policy"]
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    assert policy.count("'sha256-") == 2
    assert not [tag for tag, _ in page.elements if tag in ("link", "iframe", "object", "embed", "base", "form")]
    style = text[text.index("<style>") : text.index("</style>")]
    assert "url(" not in style
    assert "@import" not in style


def test_the_list_of_a_folder_is_text_too() -> None:
    from reread.views.html.page import IndexRow

    text = index_page(MARKUP, [IndexRow("a.html", MARKUP, NAME, None, [MARKUP], [])])
    assert Page(text).foreign == []
    assert OBEYED.search(text) is None
