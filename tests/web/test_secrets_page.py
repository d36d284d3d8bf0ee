"""The page of secrets says where they lie and never what they are."""

from __future__ import annotations

import re
from pathlib import Path

from planting import planted
from reread.archive import Archive
from reread.testing import a_line, a_prompt, a_reply, a_session, a_system_line, a_tool_call, a_tool_result
from reread.web.doctor import MOST_SOURCES, masked
from web.asking import Asking, asking, dangers, read
from web.serving import until

SECRET = next(each.secret for each in planted() if each.kind == "GitHub")
SESSION = "aaaa0000-1111-4222-8333-444455556666"


def found_on(site: Asking) -> str:
    """What the page shows once everything is looked through."""
    site.get("/secrets")
    return str(until(lambda: text if "data-done" in (text := site.get("/secrets", {"x-part": "1"}).text) else None))


def test_kind_place_and_advice_are_shown_but_no_value(tmp_path: Path) -> None:
    said = a_session(a_prompt(f"use {SECRET} <b>now</b>", uuid="asked"), a_reply("ok"), id=SESSION)
    said.write(tmp_path / "claude" / "projects")
    with asking(tmp_path / "home", tmp_path / "claude") as site:
        shown = found_on(site)
        page = site.get("/secrets").text
        assert "GitHub token" in shown
        assert "Make new ones" in shown
        assert SECRET not in shown + page
        assert masked(SECRET) in shown
        assert "Seen in: typed" in shown
        assert "1 secret" in site.get("/").text
        assert not dangers(read(page))
        link = next(each for each in read(shown).links() if each.startswith("/s/"))
        assert re.search(rf"/s/{SESSION}.*#m-", link), link
        assert site.get(link.partition("#")[0]).status_code == 200


def test_an_archive_without_secrets_says_so(site: Asking) -> None:
    assert "No keys or passwords found" in found_on(site)


def test_a_long_value_is_known_by_its_ends_and_a_short_one_by_its_length() -> None:
    assert masked("ghp_" + "x" * 32 + "f3a1") == "ghp_…f3a1"
    assert masked("hunter2hunter") == "•••• (13 characters)"


def test_a_secret_that_a_person_replaced_comes_last_until_it_is_seen_again(tmp_path: Path) -> None:
    token, other = [each.secret for each in planted() if each.kind in ("GitHub", "Stripe")][:2]
    said = [a_prompt(f"use {other}", timestamp="2026-02-01T10:00:00.000Z"), a_reply("ok")]
    said += [a_prompt(f"use {token}", timestamp="2026-02-02T10:00:00.000Z"), a_reply("ok")]
    a_session(*said, id=SESSION).write(tmp_path / "claude" / "projects")
    with asking(tmp_path / "home", tmp_path / "claude") as site:
        first = re.findall(r'id="secret-(\w+)"', found_on(site))
        done = site.post("/secrets", {"secret": first[0], "replaced": "1"})
        assert done.status_code == 303
        shown = found_on(site)
        assert re.findall(r'id="secret-(\w+)"', shown) == [first[1], first[0]]
        assert "1 secret to replace, 1 replaced" in shown
        assert "replaced on" in shown
        assert "1 secret to replace" in site.get("/").text
    with asking(tmp_path / "home", tmp_path / "claude") as site:
        assert "1 secret to replace" in site.get("/").text, "what was found is known without looking again"
    later = [a_prompt(f"again {token}", timestamp="2099-02-02T10:00:00.000Z"), a_reply("ok")]
    a_session(*said, *later, id=SESSION).write(tmp_path / "claude" / "projects")
    with asking(tmp_path / "home", tmp_path / "claude") as site:
        shown = found_on(site)
        assert re.findall(r'id="secret-(\w+)"', shown) == first
        assert "Seen again" in shown
        site.post("/secrets", {"secret": first[0], "replaced": "0"})
        assert "2 secrets to replace" in found_on(site)
        assert site.post("/secrets", {"secret": "0" * 16, "replaced": "1"}).status_code == 400


def test_each_of_many_secrets_is_shown_wherever_it_stands(tmp_path: Path) -> None:
    many = [f"ghp_{number:036d}" for number in range(MOST_SOURCES + 1)]
    told = [a_system_line("informational", content=f"token {each}") for each in many]
    a_session(a_prompt("begin"), a_reply("ok"), *told, id=SESSION).write(tmp_path / "claude" / "projects")
    with asking(tmp_path / "home", tmp_path / "claude") as site:
        shown = found_on(site)
    assert shown.count("attachment or note of the client") > MOST_SOURCES
    assert shown.count("••••") == 1, "beyond so many a value is not looked up"


def test_the_file_or_the_command_a_secret_came_from_stands_beside_it(tmp_path: Path) -> None:
    token, key = (next(each.secret for each in planted() if each.kind == kind) for kind in ("GitHub", "Stripe"))
    a_session(
        a_prompt("set it up"),
        a_reply(a_tool_call("Read", {"file_path": "/srv/shop/conf/live.env"})),
        a_tool_result(f"STRIPE={key}"),
        a_reply(a_tool_call("Bash", {"command": f"curl -H 'Authorization: Bearer {token}' https://api.example.com"})),
        a_tool_result("ok"),
        id=SESSION,
        cwd="/srv/shop",
    ).write(tmp_path / "claude" / "projects")
    with asking(tmp_path / "home", tmp_path / "claude") as site:
        shown = found_on(site)
    assert 'from Read <code dir="auto">conf/live.env</code>' in shown
    assert f'from Bash <code dir="auto">curl -H &#39;Authorization: Bearer {masked(token)}' in shown
    assert token not in shown
    assert key not in shown


def test_an_agents_call_is_known_from_the_lines_that_repeat_it(tmp_path: Path) -> None:
    call = {"type": "tool_use", "id": "toolu_of_agent", "name": "Bash", "input": {"command": "printenv"}}
    result = {"type": "tool_result", "tool_use_id": "toolu_of_agent", "content": f"GH={SECRET}"}
    said = [
        {"type": kind, "uuid": kind, "message": {"role": kind, "id": f"msg_{kind}", "content": [block]}}
        for kind, block in (("assistant", call), ("user", result))
    ]
    told = [a_line("progress", data={"type": "agent_progress", "agentId": "a1", "message": each}) for each in said]
    a_session(a_prompt("look"), *told, a_reply("done"), id=SESSION).write(tmp_path / "claude" / "projects")
    with asking(tmp_path / "home", tmp_path / "claude") as site:
        shown = found_on(site)
    assert "Seen in: result" in shown
    assert 'from Bash <code dir="auto">printenv</code>' in shown


def test_a_secret_that_lies_in_the_shared_folder_says_so_until_then_not(tmp_path: Path) -> None:
    said = a_session(a_prompt(f"use {SECRET}"), a_reply("ok"), id=SESSION)
    said.write(tmp_path / "claude" / "projects")
    (tmp_path / "shared").mkdir()
    with asking(tmp_path / "home", tmp_path / "claude") as site:
        assert "pushed" not in found_on(site)
    with Archive(tmp_path / "home", [tmp_path / "claude"]) as archive:
        archive.safe.push(tmp_path / "shared")
    with asking(tmp_path / "home", tmp_path / "claude") as site:
        assert "Seen in: typed, <b>pushed to the shared folder</b>" in found_on(site)
