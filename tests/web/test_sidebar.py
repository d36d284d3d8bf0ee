"""What stands around a conversation that grew: sent by itself, and only where it is not what the page has."""

from __future__ import annotations

import json
from pathlib import Path

from cli.kept import LANTERN
from reread.archive import Archive
from web.asking import Asking, read


def test_a_page_that_has_the_figures_is_not_sent_them_again(site: Asking) -> None:
    first = site.get(f"/s/{LANTERN}/sidebar?from=1", {"x-part": "1"})
    page = read(first.text)
    assert "4 prompts" in page.text
    assert [each.get("aria-label") for each in page.of("section")] == ["Figures"]
    assert len(page.of("svg")) == 1
    assert "thanks" in page.text
    assert "why does the beacon flicker" not in read(first.text.partition("</ol>")[0]).text, "it was named before"
    again = site.get(f"/s/{LANTERN}/sidebar?from=4&seen={first.headers['x-seen']}", {"x-part": "1"})
    assert again.headers["x-seen"] == first.headers["x-seen"]
    assert not read(again.text).of("section")
    assert not read(again.text).of("svg")
    assert not read(again.text).of("li")


def test_figures_and_map_follow_the_session(site: Asking, claude: Path) -> None:
    before = site.get(f"/s/{LANTERN}/sidebar")
    trunk = next(claude.rglob(f"{LANTERN}.jsonl"))
    lines = [json.loads(line) for line in trunk.read_text().splitlines()]
    last = next(line for line in reversed(lines) if line.get("uuid"))
    prompt = next(line for line in lines if line.get("uuid") == "thanks")
    with trunk.open("a") as file:
        file.write(json.dumps({**prompt, "uuid": "later", "parentUuid": last["uuid"]}) + "\n")
    with Archive(site.home, [claude]) as archive:
        archive.sync()
    after = site.get(f"/s/{LANTERN}/sidebar?seen={before.headers['x-seen']}")
    assert after.headers["x-seen"] != before.headers["x-seen"]
    assert "5 prompts" in read(after.text).text
    assert len(read(after.text).of("rect")) == len(read(before.text).of("rect")) + 1
