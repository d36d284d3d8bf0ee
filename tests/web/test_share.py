"""What is handed out from a session's page: forms, single finds that stay, some turns as Markdown."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from starlette.types import Message

from reread.features.secrets import Redactor, redacted_session
from reread.sessions import Session
from reread.testing import a_prompt, a_reply, a_session
from reread.web import share
from web.asking import HOST, READS, Asking, asking, dangers, read
from web.serving import until

ONE, TWO = "ghp_" + "Zq8Lm2Xv9Rt4Yw7Kc1Bn6Hd3Jf5Gp0SaUeTi", "ghp_" + "Ab3Cd5Ef7Gh9Jk1Lm2Np4Qr6St8Uv0WxYzA1"


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Asking]:
    a_session(
        a_prompt(f"push with {ONE}", uuid="q-1"),
        a_reply(f"Pushed; the other was {TWO}.", uuid="a-1"),
        a_prompt("and then?", uuid="q-2"),
        a_reply("Rested.", uuid="a-2"),
        a_prompt("something else", uuid="q-3", to="a-1"),
        a_reply("Slept.", uuid="a-3"),
        id="talk",
        cwd="/srv/zoo",
    ).write(tmp_path / "projects")
    with asking(tmp_path / "home", tmp_path / "projects") as made:
        yield made


def exported(site: Asking, **fields: str | list[str]) -> str:
    answer = site.post("/s/talk/export", {"format": "markdown", "redact": "1", **fields})
    assert answer.status_code == 200, answer.text
    text: str = answer.text
    return text


def test_a_single_find_stays_where_it_is_ticked_and_no_other(site: Asking) -> None:
    preview = site.part("/s/talk/export/preview")
    assert dangers(preview) == []
    names = [tag["value"] or "" for tag in preview.of("input") if tag.get("name") == "keep-one"]
    assert ONE not in preview.text and TWO not in preview.text
    assert len(names) >= 2 and all(name.startswith("[redacted: ") for name in names)
    assert ONE not in exported(site) and TWO not in exported(site)
    for name in names:
        kept = exported(site, **{"keep-one": name})
        assert (ONE in kept) + (TWO in kept) == 1
    assert ONE in exported(site, **{"keep-one": names}) and TWO in exported(site, **{"keep-one": names})
    assert ONE not in exported(site, **{"keep-one": "[redacted: no such thing 1]"})


def test_a_preview_lets_go_of_its_session_and_is_made_once(site: Asking, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    whole = share._markdown

    def slow(session: Session, zone: tzinfo | None = None) -> str:
        with ThreadPoolExecutor(1) as other:
            seen.append(other.submit(lambda: site.get("/s/talk").status_code).result(timeout=60))
        return whole(session, zone)

    monkeypatch.setattr(share, "_markdown", slow)
    first = site.part("/s/talk/export/preview").text
    assert seen == [200], "its page is there while the preview is made"
    assert site.part("/s/talk/export/preview").text == first
    assert seen == [200]


def test_a_preview_that_nobody_waits_for_any_more_stops(site: Asking, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, sent = threading.Event(), list[Message]()

    def endless(session: Session, redactor: Redactor) -> Session:
        begun.set()
        until(lambda: not redacted_session(session, redactor))
        return session

    async def receive() -> Message:
        while not begun.is_set():
            await asyncio.sleep(0.01)
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    async def ask() -> None:
        await site.client.app(asked, receive, send)

    headers = [(name.encode(), value.encode()) for name, value in {"host": HOST, **READS}.items()]
    asked = {"type": "http", "method": "GET", "path": "/s/talk/export/preview", "query_string": b"", "headers": headers}
    with monkeypatch.context() as patched:
        patched.setattr(share, "redacted_session", endless)
        asyncio.run(ask())
    assert begun.is_set()
    assert [message["status"] for message in sent if "status" in message] == [204]
    assert "[redacted: GitHub token 1]" in site.part("/s/talk/export/preview").text


def test_a_note_for_obsidian_has_its_properties_first(site: Asking) -> None:
    answer = site.post("/s/talk/export", {"format": "obsidian", "redact": "1"})
    assert answer.status_code == 200
    assert answer.headers["content-disposition"] == 'attachment; filename="talk.md"'
    assert answer.text.startswith("---\n")
    assert ONE not in answer.text


def test_a_note_for_obsidian_has_the_day_of_the_time_zone_that_was_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    late = a_prompt("late", timestamp="2026-10-04T22:30:00.000Z")
    a_session(late, id="talk").write(tmp_path / "projects")
    monkeypatch.setattr("reread.web.archive_pool.ServerSettings.timezone", ZoneInfo("Asia/Tokyo"))
    with asking(tmp_path / "home", tmp_path / "projects") as site:
        for redact in ({}, {"redact": "1"}):
            note = site.post("/s/talk/export", {"format": "obsidian", **redact}).text
            assert 'date: "2026-10-05"' in note and "[[2026-10-05]]" in note


def test_some_turns_of_a_branch_as_markdown(site: Asking) -> None:
    whole = site.get("/s/talk/markdown?turns=1,2").text
    assert whole.startswith("## 1. You")
    assert "something else" in whole and "and then?" not in whole
    second = site.get("/s/talk/markdown?turns=2").text
    assert second.startswith("## 2. You") and "Slept." in second and "push with" not in second
    links = read(site.get("/s/talk/branches").text).links()
    left = next(found[1] for link in links if (found := re.fullmatch(r"/s/talk\?branch=(b-(?!main).+)", link)))
    assert "and then?" in site.get(f"/s/talk/markdown?turns=2&branch={left}").text
    kept = site.get("/s/talk/markdown?turns=1&as-it-is=1").text
    assert ONE in kept and ONE not in whole
    assert site.get("/s/talk/markdown?turns=1").headers["x-taken-out"] == "2"
    assert site.get("/s/talk/markdown?turns=9").status_code == 400
    assert site.get("/s/talk/markdown?turns=x").status_code == 400
    assert site.get("/s/talk/markdown?turns=1&branch=none").status_code == 400


def test_the_words_around_a_find_are_shown_as_they_are_read(tmp_path: Path) -> None:
    a_session(a_prompt(f"push_it with {ONE}"), id="talk", cwd="/home/ann/zoo").write(tmp_path / "projects")
    with asking(tmp_path / "home", tmp_path / "projects") as site:
        text = site.part("/s/talk/export/preview").text
    assert "push_it with" in text
    assert "\\" not in text
