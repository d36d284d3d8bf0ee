"""Sessions that were deleted before the first import are named where one looks for them."""

from __future__ import annotations

import json
from pathlib import Path

from reread.testing import a_prompt, a_reply, a_session
from web.asking import asking, dangers


def test_lost_sessions_stand_below_the_list_and_the_hits(tmp_path: Path) -> None:
    trunk = a_session(a_prompt("go to the market"), a_reply("done"), id="kept").write(tmp_path / "projects")
    lost = {
        "sessionId": "22222222-2222-4222-8222-222222222222",
        "summary": "Marigold <b>search</b>",
        "firstPrompt": "please find the marigold",
        "messageCount": 4,
        "modified": "2026-02-03T02:28:51.793Z",
        "projectPath": "/home/ann/app",
    }
    trunk.with_name("sessions-index.json").write_text(json.dumps({"version": 1, "entries": [lost]}))
    with asking(tmp_path / "home", tmp_path / "projects") as site:
        page = site.page("/sessions")
        assert dangers(page) == []
        assert "1 session was deleted before the first import" in page.text
        assert "Marigold <b>search</b>" in page.text
        assert "Marigold" in site.page("/sessions?title=marigold").text
        assert "1 session of" not in site.page("/sessions?title=marigold").text, "it is in no count of what is kept"
        for asked in ("title=other", "starred=1", "tool=Bash", "since=2026-03-01"):
            assert "deleted before reread" not in site.page(f"/sessions?{asked}").text
        found = site.page("/search?q=marigold")
        assert dangers(found) == []
        assert "Marigold <b>search</b>" in found.text
        assert "deleted before reread" not in site.page("/search?q=market").text
        assert "deleted before reread" not in site.page("/search").text


def test_home_says_which_transcripts_are_not_read_and_how_they_are_taken_in(tmp_path: Path) -> None:
    config = tmp_path / ".claude"
    a_session(a_prompt("go to the market"), a_reply("done"), id="kept").write(config / "projects")
    with asking(tmp_path / "home", config) as site:
        assert "not read" not in site.page("/").text
    backup = config / "backup" / "june" / "projects"
    a_session(a_prompt("what was deleted"), a_reply("yes"), id="old").write(backup)
    with asking(tmp_path / "home", config) as site:
        page = site.page("/")
    assert f"1 transcript lies in {backup}, not read: `reread sync --source {backup}`" in page.text
    assert dangers(page) == []
