"""Sessions of a team: one row of the list, linked to each other, and what a member was told stands in its outline."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reread.archive import Archive
from reread.testing import a_prompt, a_reply, a_session, a_tool_call, a_tool_result
from web.asking import asking

TEAM = "lamp-crew"
LEAD, ONE, TWO = (f"{number}0000000-aaaa-4000-8000-000000000000" for number in (1, 2, 3))


@pytest.fixture
def claude(tmp_path: Path) -> Path:
    projects = tmp_path / "claude" / "projects"
    call = a_tool_call("Agent", {"prompt": "trim it", "team_name": TEAM, "name": "trimmer"}, id="t1")
    lead = [a_prompt("mend the lamp with a team"), a_reply(call), a_tool_result("spawned", of="t1"), a_reply("Wait.")]
    a_session(*lead, id=LEAD, cwd="/p").write(projects)
    for name, member in ((ONE, "trimmer"), (TWO, "painter")):
        about: dict[str, Any] = {"teamName": TEAM, "agentName": member}
        told = f'<teammate-message teammate_id="lead" summary="Do it">\nplease be a {member}\n</teammate-message>'
        talk = [a_prompt(told, uuid=f"m-{member}", **about), a_reply("Done.", **about)]
        a_session(*talk, id=name, cwd="/p").write(projects)
    a_session(a_prompt("alone"), a_reply("Yes."), id="alone", cwd="/p").write(projects)
    return tmp_path / "claude"


def test_the_members_of_a_team_are_folded_below_the_session_that_started_it(claude: Path, tmp_path: Path) -> None:
    with asking(tmp_path / "home", claude) as site:
        page = site.get("/sessions").text
        before, folded = page.split('<details class="team">')
        assert f"2 more sessions of team {TEAM}" in folded
        assert f'href="/s/{LEAD}"' in before
        members, _, after = folded.partition("</details>")
        assert {name for name in (LEAD, ONE, TWO, "alone") if f'href="/s/{name}"' in members} == {ONE, TWO}
        assert 'href="/s/alone"' in before + after


def test_each_session_of_a_team_leads_to_the_others(claude: Path, tmp_path: Path) -> None:
    with asking(tmp_path / "home", claude) as site:
        for name in (LEAD, ONE, TWO):
            links = site.page(f"/s/{name}").links()
            assert {f"/s/{each}" for each in (LEAD, ONE, TWO) if each != name} <= set(links)
        assert "Team " not in site.get("/s/alone").text


def test_what_a_member_was_told_is_in_its_outline(claude: Path, tmp_path: Path) -> None:
    with asking(tmp_path / "home", claude) as site:
        outline = site.get(f"/s/{ONE}").text.partition('class="outline"')[2]
        assert "please be a trimmer" in outline
        assert 'href="?at=m-m-trimmer#m-m-trimmer"' in outline


def test_a_session_that_grew_stays_in_its_team(claude: Path, tmp_path: Path) -> None:
    with Archive(tmp_path / "home", [claude]) as archive:
        archive.sync()
        [path] = claude.rglob(f"{ONE}.jsonl")
        more = a_session(a_prompt("one more thing"), a_reply("Well."), id=ONE, cwd="/p").write(tmp_path / "more")
        path.write_bytes(path.read_bytes() + more.read_bytes())
        archive.sync()
        found = archive.find(ONE).row
        assert (found.team, found.member, found.prompts) == (TEAM, "trimmer", 1)
