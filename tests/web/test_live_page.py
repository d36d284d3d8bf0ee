"""Live: sessions that run, over a stand-in for the client that is a process of its own."""

from __future__ import annotations

import html
import io
import json
import os
import re
import shutil
import stat
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cli.kept import HARBOUR
from live.fake_client import SESSION
from live.faking import fake
from reread.archive import Archive
from reread.errors import BadInput
from reread.live.events import Permission
from reread.live.outgoing import Allow
from reread.testing import a_prompt, a_reply, a_session, a_tool_call
from reread.views.html.call_parts import asking_of
from reread.web.guard import Credentials
from reread.web.pages import render
from reread.web.runs import LONGEST_PROMPT, MOST_AT_ONCE, Driver, decision_of, decision_words
from web.asking import HOST, READS, TOKEN, Asking, asking, dangers, read
from web.serving import heard, served, until


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "a work's folder; $(touch no)"
    folder.mkdir()
    return folder


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[[str], Asking]]:
    """The application over a stand-in that behaves in one way."""
    opened = []

    def made(way: str) -> Asking:
        context = asking(tmp_path / "home", claude=fake(way))
        opened.append(context)
        return context.__enter__()

    yield made
    for context in opened:
        context.__exit__(None, None, None)


def start(site: Asking, folder: Path, **fields: str) -> str:
    """Gives the address of the run."""
    answer = site.post("/live", {"prompt": "hello", "folder": str(folder), **fields})
    assert answer.status_code == 303, answer.text
    address: str = answer.headers["location"]
    assert re.fullmatch(r"/live/[\w-]+", address)
    return address


def text(site: Asking, path: str) -> str:
    answer = site.get(path)
    assert answer.status_code == 200
    return read(answer.text).text


def requests(site: Asking, run: str) -> set[str]:
    return set(re.findall(r'data-request="([^"]*)"', site.get(f"{run}/now").text))


def notes(home: Path) -> dict[str, Any]:
    """How the client was started, by its capture."""
    files = [path for path in (home / "wire").rglob("*") if path.is_file()]
    first = max(files, key=lambda path: path.stat().st_mtime).read_text().splitlines()[0]
    found: dict[str, Any] = json.loads(first.split(" = ", 1)[1])
    return found


class TestARun:
    def test_from_its_start_to_its_end(self, serve: Callable[[str], Asking], work: Path) -> None:
        site = serve("echoes")
        run = start(site, work)
        until(lambda: "You said hello" in text(site, f"{run}/turns"))
        until(lambda: "waiting for your next prompt" in text(site, f"{run}/now"))
        assert site.post(f"{run}/say", {"prompt": "and now?"}, is_part=True).status_code == 204
        until(lambda: "You said and now?" in text(site, run))
        assert "waiting for your next prompt" in text(site, "/live")
        page = site.page(run)
        assert dangers(page) == []
        assert "✓ done" in page.text
        assert site.post(f"{run}/end", {}).headers["location"] == run
        assert "It has ended." in text(site, run)
        assert "ended" in text(site, "/live/list")
        assert site.post(f"{run}/say", {"prompt": "still there?"}).status_code == 409

    def test_how_it_is_started(self, serve: Callable[[str], Asking], work: Path) -> None:
        site = serve("echoes")
        prompt = "; touch pwned $(touch pwned) `touch pwned`\n--model evil"
        fields = {"model": "opus", "permission": "mode:plan", "thinking": "4000"}
        answer = site.post("/live", {"prompt": prompt, "folder": str(work), **fields})
        assert answer.status_code == 303
        told = notes(site.home)
        assert told["cwd"] == str(work)
        for name, value in (("--model", "opus"), ("--permission-mode", "plan"), ("--max-thinking-tokens", "4000")):
            assert told["arguments"][told["arguments"].index(name) + 1] == value
        assert not any("pwned" in argument for argument in told["arguments"]), "prompts go over the pipe"
        assert not (work / "pwned").exists() and not Path("pwned").exists() and not (work.parent / "no").exists()

    def test_ends_with_the_application_and_is_captured(self, tmp_path: Path, work: Path) -> None:
        with asking(tmp_path / "home", claude=fake("asks_permission")) as site:
            start(site, work)
            assert not list((tmp_path / "home" / "wire").rglob("*.wire"))
        (captured,) = (tmp_path / "home" / "wire").rglob("*.wire")
        assert '"exit_code"' in captured.read_text().splitlines()[-1]

    def test_at_most_some_at_once(self, serve: Callable[[str], Asking], work: Path) -> None:
        site = serve("echoes")
        runs = [start(site, work) for _ in range(MOST_AT_ONCE)]
        refused = site.post("/live", {"prompt": "one more", "folder": str(work)})
        assert refused.status_code == 400
        assert f"{MOST_AT_ONCE} sessions run here already" in refused.text
        assert "one more" in refused.text, "what was typed is kept"
        site.post(f"{runs[0]}/end", {})
        start(site, work)

    def test_that_is_forgotten_lets_go_of_the_pages_that_listen(
        self, serve: Callable[[str], Asking], work: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("reread.web.runs.MOST_ENDED", 0)
        site = serve("echoes")
        run = start(site, work)
        site.post(f"{run}/end", {})
        app: Any = site.client.app
        forgotten = app.app.state.site.part(Driver).find(run.rpartition("/")[2])
        assert not forgotten.hub.is_closed
        start(site, work)
        assert site.get(run).status_code == 404
        assert forgotten.hub.is_closed

    @pytest.mark.parametrize(("way", "told"), [("dies", "Segmentation"), ("fails_the_turn", "No such session")])
    def test_that_fails_says_why(self, serve: Callable[[str], Asking], work: Path, way: str, told: str) -> None:
        site = serve(way)
        run = start(site, work)
        until(lambda: told in text(site, f"{run}/now"))
        assert "\x1b" not in site.get(f"{run}/now").text

    def test_that_is_unknown(self, empty: Asking) -> None:
        for path in ("/live/nobody", "/live/nobody/now", "/live/nobody/turns"):
            assert empty.get(path).status_code == 404
        assert empty.post("/live/nobody/end", {}).status_code == 404
        for told in (empty.get("/live/nobody"), empty.post("/live/nobody/say", {"prompt": "on"}, is_part=True)):
            assert "does not know the run any more" in told.text, "the server was started again under its page"


class TestWhatCannotBeStarted:
    @pytest.mark.parametrize(
        ("fields", "told"),
        [
            ({"prompt": " "}, "Write a prompt first."),
            ({"prompt": "x" * (LONGEST_PROMPT + 1)}, "50,001 characters"),
            ({"folder": ""}, "Say in which folder to work."),
            ({"folder": "/no/such/folder"}, "is not a folder on this machine"),
            ({"folder": "."}, "give the full path"),
            ({"folder": "/tmp\0x"}, "is not a folder on this machine"),
            ({"folder": "/" + "x" * 300}, "is not a folder on this machine"),
            ({"model": "--dangerously-skip-permissions"}, "is not a model name"),
            ({"model": "a b"}, "is not a model name"),
            ({"thinking": "lots"}, "is not a number of tokens"),
            ({"permission": "mode:--evil"}, "is not a known permission mode"),
            ({"permission": "mode:bypassPermissions"}, "type bypassPermissions"),
            ({"permission": "mode:bypassPermissions", "confirm": "yes"}, "type bypassPermissions"),
            ({"permission": "mode:acceptEdits"}, "type acceptEdits"),
            ({"permission": "allow", "confirm": "deny"}, "type allow"),
        ],
    )
    def test_is_told_in_one_sentence(
        self, fields: dict[str, str], told: str, serve: Callable[[str], Asking], work: Path
    ) -> None:
        site = serve("echoes")
        answer = site.post("/live", {"prompt": "hello", "folder": str(work), **fields})
        assert answer.status_code == 400
        assert told in html.unescape(answer.text)
        assert dangers(read(answer.text)) == []
        assert not (site.home / "wire").exists()

    def test_without_a_client(self, tmp_path: Path, work: Path) -> None:
        with asking(tmp_path / "home", claude="/no/such/claude") as site:
            assert "/no/such/claude" in site.page("/live").text, "said before a prompt is written"
            answer = site.post("/live", {"prompt": "hello", "folder": str(work)})
            assert answer.status_code == 400
            assert "install it with <code>npm install -g @anthropic-ai/claude-code</code>" in answer.text
            assert "No session runs" in answer.text

    def test_on_a_server_for_others(self, tmp_path: Path, work: Path) -> None:
        with asking(tmp_path / "home", claude=fake("echoes"), may_run=False) as site:
            page = site.page("/live")
            assert "start it with --allow-run" in page.text
            assert not [form for form in page.of("form") if form.get("action") == "/live"]
            assert site.post("/live", {"prompt": "hello", "folder": str(work)}).status_code == 400
            assert not (site.home / "wire").exists()


class TestQuestions:
    def test_several_are_answered_in_any_order(self, serve: Callable[[str], Asking], work: Path) -> None:
        site = serve("asks_several")
        run = start(site, work)
        until(lambda: requests(site, run) == {"p1", "p2", "p3"})
        shown = site.get(run).text
        page = read(shown)
        assert dangers(page) == []
        assert "\x1b" not in shown and "\u202e" not in shown
        assert page.titles == ["(1) hello · reread"]
        for words in ("a rose", "Which colours?", "accept every edit in this session", "allow Write in this session"):
            assert words in page.text
        assert "(1) Live" in site.page("/live").titles[0]
        answers = {"q0": ["1", "0"], "q0-own": "and teal", "q1": "1"}
        assert (
            site.post(f"{run}/answer", {"request": "p2", "decision": "answer", **answers}, is_part=True).status_code
            == 204
        )
        until(lambda: requests(site, run) == {"p1", "p3"})
        assert site.post(f"{run}/answer", {"request": "p1", "decision": "always-1"}, is_part=True).status_code == 204
        until(lambda: requests(site, run) == set())  # the client withdrew the third
        until(lambda: "p1 {" in text(site, f"{run}/turns"))
        said = text(site, f"{run}/turns")
        assert '"How large?": "Small"' in said
        assert '"Which colours?": "Blue, Red, and teal"' in said
        assert '"toolName": "Write"' in said and "acceptEdits" not in said

    def test_the_first_answer_counts(self, serve: Callable[[str], Asking], work: Path) -> None:
        site = serve("asks_permission")
        run = start(site, work)
        until(lambda: requests(site, run))
        assert "waiting for you: permission for Bash" in text(site, "/live/list")
        first = site.post(
            f"{run}/answer", {"request": "p1", "decision": "deny", "reason": "Not <today>."}, is_part=True
        )
        second = site.post(f"{run}/answer", {"request": "p1", "decision": "allow"}, is_part=True)
        assert (first.status_code, second.status_code) == (204, 409)
        assert "answered already" in second.text
        assert site.post(f"{run}/answer", {"request": "p1", "decision": "allow"}).headers["location"] == run
        until(lambda: "Not <today>." in text(site, f"{run}/turns"))

    @pytest.mark.parametrize(
        ("fields", "told"),
        [
            ({"decision": "edit", "input": "{no"}, "That is not valid JSON"),
            ({"decision": "edit", "input": "[]"}, "is a JSON object"),
            ({"decision": "edit", "input": "[" * 50_000}, "That is not valid JSON"),
            ({"decision": "always-7"}, "did not suggest that"),
            ({"decision": "always-" + "7" * 5_000}, "did not suggest that"),
            ({"decision": "whatever"}, "Choose an answer."),
            ({}, "Choose an answer."),
        ],
    )
    def test_what_is_no_answer_leaves_it_open(
        self, fields: dict[str, str], told: str, serve: Callable[[str], Asking], work: Path
    ) -> None:
        site = serve("asks_permission")
        run = start(site, work)
        until(lambda: requests(site, run))
        answer = site.post(f"{run}/answer", {"request": "p1", **fields}, is_part=True)
        assert (answer.status_code, told in answer.text) == (400, True)
        assert requests(site, run) == {"p1"}
        edited = {"command": "ls -la"}
        site.post(f"{run}/answer", {"request": "p1", "decision": "edit", "input": json.dumps(edited)}, is_part=True)
        until(lambda: "ls -la" in text(site, f"{run}/turns"))

    def test_what_is_long_can_be_scrolled_with_the_keyboard(self) -> None:
        long = {"command": "\n".join(f"echo {number}" for number in range(60))}
        written = {"file_path": "/p/a.txt", "content": "\n".join(f"line {number}" for number in range(60))}
        for tool, given, tag in (("Bash", long, "pre"), ("Write", written, "div")):
            shown = asking_of(Permission(request_id="r", tool=tool, input=given), None)
            page = read(render("asking.html", ask=shown, run=SimpleNamespace(id="1"), nth=1, of=1))
            assert [each["tabindex"] for each in page.of(tag) if "tabindex" in each]

    def test_always_is_one_rule_and_only_what_was_shown_can_be_chosen(self) -> None:
        rules = [{"type": "addRules", "behavior": "allow", "rules": [{"toolName": f"Tool{n}"}]} for n in range(12)]
        asked = Permission(request_id="p1", tool="Bash", input={}, suggestions=tuple(rules))
        shown = asking_of(asked, None)
        assert shown.always.startswith("allow Tool0")
        assert decision_of(asked, {"decision": ["always"]}) == Allow(remember=[rules[0]])
        assert [number for number, _ in shown.wider] == list(range(1, len(shown.wider) + 1))
        with pytest.raises(BadInput):
            decision_of(asked, {"decision": [f"always-{len(shown.wider) + 1}"]})

    def test_always_needs_a_rule(self) -> None:
        mode = {"type": "setMode", "mode": "acceptEdits", "destination": "session"}
        asked = Permission(request_id="p1", tool="Edit", input={}, suggestions=(mode,))
        assert asking_of(asked, None).always == ""
        assert asking_of(asked, None).wider == [
            (0, "accept every edit in this session: every file of the project may be changed unasked")
        ]
        with pytest.raises(BadInput):
            decision_of(asked, {"decision": ["always"]})
        assert decision_of(asked, {"decision": ["always-0"]}) == Allow(remember=(mode,))

    def test_a_plan_that_came_without_its_text_is_shown(self) -> None:
        asked = Permission(request_id="p1", tool="ExitPlanMode", input={}, plan="# Plan\n\n1. Do it")
        assert "Do it" in asking_of(asked, None).plan
        assert "does not say" in asking_of(Permission(request_id="p1", tool="ExitPlanMode", input={}), None).plan

    @pytest.mark.parametrize("policy", ["allow", "deny"])
    def test_a_policy_answers_by_itself(self, serve: Callable[[str], Asking], work: Path, policy: str) -> None:
        site = serve("asks_permission")
        run = start(site, work, permission=policy, confirm=policy if policy == "allow" else "")
        until(lambda: f'"behavior": "{policy}"' in text(site, f"{run}/turns"))
        assert requests(site, run) == set()


class TestGoingOn:
    @pytest.fixture
    def claude(self, tmp_path: Path, work: Path) -> Path:
        folder = tmp_path / "claude"
        a_session(a_prompt("what is a gull"), a_reply("A bird."), id=HARBOUR, cwd=str(work)).write(folder / "projects")
        return folder

    def test_a_kept_session(self, tmp_path: Path, claude: Path, work: Path) -> None:
        with asking(tmp_path / "home", claude, claude=fake("echoes")) as site:
            assert any(form.get("action") == f"/s/{HARBOUR}/go-on" for form in site.page(f"/s/{HARBOUR}").of("form"))
            answer = site.post(f"/s/{HARBOUR}/go-on", {"prompt": "and a tern?", "fork": "1"})
            assert answer.status_code == 303
            told = notes(site.home)
            assert told["cwd"] == str(work)
            assert told["arguments"][told["arguments"].index("--resume") + 1] == HARBOUR
            assert "--fork-session" in told["arguments"]
            until(lambda: "You said and a tern?" in text(site, answer.headers["location"]))

    def test_one_that_runs_here_gets_the_prompt(self, tmp_path: Path, claude: Path, work: Path) -> None:
        a_session(a_prompt("hi"), id=SESSION, cwd=str(work)).write(claude / "projects")
        with asking(tmp_path / "home", claude, claude=fake("echoes")) as site:
            run = start(site, work)
            until(lambda: "You said hello" in text(site, run))
            assert run in site.page(f"/s/{SESSION}").links()
            assert f"/s/{SESSION}" in site.page(run).links()
            assert site.post(f"/s/{SESSION}/go-on", {"prompt": "once more"}).headers["location"] == run
            until(lambda: "You said once more" in text(site, run))

    def test_one_whose_file_is_gone(self, tmp_path: Path, claude: Path) -> None:
        with asking(tmp_path / "home", claude, claude=fake("echoes")) as site:
            next(claude.rglob("*.jsonl")).unlink()
            with Archive(site.home, [claude]) as archive:
                archive.sync()
            told = f"Claude Code does not have the session {HARBOUR} any more; <code>reread archive restore {HARBOUR}"
            assert told in site.get(f"/s/{HARBOUR}").text
            answer = site.post(f"/s/{HARBOUR}/go-on", {"prompt": "and a tern?"})
            assert answer.status_code == 400
            assert told in html.unescape(answer.text)

    def test_one_whose_folder_is_gone(self, tmp_path: Path, claude: Path, work: Path) -> None:
        shutil.rmtree(work)
        with asking(tmp_path / "home", claude, claude=fake("echoes")) as site:
            assert "is not there any more" in text(site, f"/s/{HARBOUR}")
            assert site.post(f"/s/{HARBOUR}/go-on", {"prompt": "and a tern?"}).status_code == 400

    def test_one_whose_folder_cannot_be_looked_at(self, tmp_path: Path, claude: Path) -> None:
        a_session(a_prompt("hi"), id="far", cwd=f"/{'x' * 300}").write(claude / "projects")
        with asking(tmp_path / "home", claude, claude=fake("echoes")) as site:
            assert "is not there any more" in text(site, "/s/far")
            assert "Start a session" in text(site, "/live")

    def test_one_whose_name_is_a_flag(self, tmp_path: Path, claude: Path, work: Path) -> None:
        flag = "--dangerously-skip-permissions"
        a_session(a_prompt("hi"), id=flag, cwd=str(work)).write(claude / "projects")
        with asking(tmp_path / "home", claude, claude=fake("echoes")) as site:
            assert "is not an id that Claude Code accepts" in text(site, f"/s/{flag}")
            assert site.post(f"/s/{flag}/go-on", {"prompt": "and a tern?"}).status_code == 400
            assert not (site.home / "wire").exists()

    def test_what_runs_in_a_terminal_is_listed_by_its_transcript(self, tmp_path: Path, claude: Path) -> None:
        asks = a_tool_call("AskUserQuestion", {"questions": []})
        now = datetime.now(UTC).isoformat()
        asked = (a_prompt("choose", timestamp=now), a_reply(asks, timestamp=now))
        a_session(*asked, id="asking").write(claude / "projects")
        works = a_tool_call("Bash", {"command": "make"})
        built = (a_prompt("build", timestamp=now), a_reply(works, timestamp=now))
        path = a_session(*built, id="working").write(claude / "projects")
        with asking(tmp_path / "home", claude) as site:
            shown = site.page("/live")
            assert shown.titles == ["(1) Live · reread"]
            assert "waiting for you: a question" in shown.text and "working: Bash" in shown.text
            assert shown.links().index("/s/asking") < shown.links().index("/s/working")
            a_minute_ago = time.time() - 60
            os.utime(path, (a_minute_ago, a_minute_ago))
            assert "may be waiting for you: Bash gave no result yet" in site.part("/live/list").text


CHANGING = (
    "/live",
    "/live/{run}/say",
    "/live/{run}/answer",
    "/live/{run}/interrupt",
    "/live/{run}/end",
    "/s/@last/go-on",
)


@pytest.mark.parametrize("path", CHANGING)
def test_nobody_else_starts_or_answers_anything(path: str, serve: Callable[[str], Asking], work: Path) -> None:
    site = serve("asks_permission")
    run = start(site, work)
    until(lambda: requests(site, run))
    address = path.replace("/live/{run}", run)
    form = {"prompt": "evil", "folder": str(work), "request": "p1", "decision": "allow"}
    ours, cookie = {"origin": f"http://{HOST}"}, READS
    for headers, status in (
        ({}, 403),
        (ours, 403),
        (cookie, 403),
        ({**cookie, "origin": "http://evil.example"}, 403),
        ({**cookie, "origin": "null"}, 403),
        ({**cookie, **ours}, 403),
        ({**cookie, **ours, "x-page-key": Credentials(TOKEN).cookie}, 403),
        ({**cookie, **ours, "host": "evil.example:8000"}, 421),
        ({**cookie, **ours, "sec-fetch-site": "cross-site"}, 403),
    ):
        assert site.client.post(address, data=form, headers=headers).status_code == status
    if path != "/live":
        assert site.get(address).status_code == 405, "reading changes nothing"
    assert requests(site, run) == {"p1"}, "it is still asked"
    assert len(list((site.home / "wire").rglob("*.part"))) == 1, "nothing else was started"


@pytest.mark.parametrize(("options", "may_run"), [((), False), (("--allow-run",), True)])
def test_a_server_that_others_reach_runs_clients_only_when_told_to(
    options: tuple[str, ...], may_run: bool, tmp_path: Path
) -> None:
    source = tmp_path / "source"
    source.mkdir()
    with served(tmp_path / "home", source, "--host", "0.0.0.0", *options) as server:  # noqa: S104  that is the question
        asked = server.connect()
        asked.request("GET", "/live", headers=server.cookie)
        shown = read(asked.getresponse().read().decode())
        assert any(form.get("action") == "/live" for form in shown.of("form")) is may_run
        assert ("start it with --allow-run" in shown.text) is not may_run


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in is started by its first line")
def test_a_page_hears_blocks_as_they_form_and_what_it_missed(tmp_path: Path, work: Path) -> None:
    program = tmp_path / "claude"
    command = fake("thinks_aloud")
    program.write_text(f"#!/bin/sh\nexec '{command[0]}' '{command[1]}' {command[2]} \"$@\"\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    source = tmp_path / "source"
    source.mkdir()
    with served(tmp_path / "home", source, "--claude", str(program)) as server:
        headers = {**server.page, "Content-Type": "application/x-www-form-urlencoded"}
        asked = server.connect()
        asked.request("POST", "/live", f"prompt=hello&folder={work.parent}", headers)
        run = asked.getresponse().headers["location"]
        first = server.connect()
        first.request("GET", f"/events?to={run}", headers=server.cookie)
        stream = first.getresponse()
        assert stream.headers["content-type"].startswith("text/event-stream")
        told = ""
        while "perhaps" not in told:
            told += heard(stream, run, "forming").get("text", "")
        assert "\x1b" not in told and told.startswith("a wick, ")
        late = server.connect()
        late.request("GET", f"/events?to={run}", headers=server.cookie)
        again = heard(late.getresponse(), run, "forming")
        assert (again["at"], again["text"]) == (0, told), "all of it at once"
        asked = server.connect()
        asked.request("POST", f"{run}/say", "prompt=go+on", {**headers, "X-Part": "1"})
        assert asked.getresponse().status == 204
        while heard(stream, run, "changed")["forming"]:
            pass
        asked = server.connect()
        asked.request("GET", f"{run}/turns", headers=server.cookie)
        assert b"or wind" in asked.getresponse().read()


class TestTheQueue:
    def test_every_session_that_waits_is_answered_in_one_place_and_logged(
        self, serve: Callable[[str], Asking], work: Path
    ) -> None:
        site = serve("asks_permission")
        first, second = start(site, work, prompt="the first one"), start(site, work, prompt="the second one")
        until(lambda: read(site.get("/live").text).text.count("waiting for you") >= 4)
        page = site.page("/live")
        assert dangers(page) == []
        forms = [form["action"] for form in page.of("form") if form.get("data-request") == "p1"]
        assert forms == [f"{first}/answer", f"{second}/answer"], "who waits longest comes first"
        assert "Claude Code names no rule that would have allowed it." in page.text
        assert (
            site.post(f"{first}/answer", {"request": "p1", "decision": "deny", "reason": "<b>no</b>"}).status_code
            == 303
        )
        assert site.post(f"{second}/answer", {"request": "p1", "decision": "allow"}).status_code == 303
        until(lambda: "2 answers given" in text(site, "/live"))
        shown = site.page("/live")
        assert dangers(shown) == []
        log = shown.text.partition("2 answers given")[2]
        assert re.search(
            r"Bash.*ls.*allowed.*the second one.*Bash.*ls.*denied: <b>no</b>.*the first one", log, re.DOTALL
        )
        assert not [form for form in shown.of("form") if form.get("data-request")]

    def test_what_is_answered_by_what_was_chosen_at_the_start_says_so(
        self, serve: Callable[[str], Asking], work: Path
    ) -> None:
        site = serve("asks_permission")
        start(site, work, permission="deny")
        until(lambda: "1 answer given" in text(site, "/live"))
        assert "by itself, as chosen at the start" in text(site, "/live")

    def test_the_words_of_the_log(self) -> None:
        rule = {"type": "addRules", "rules": [{"toolName": "Bash", "ruleContent": "ls:*"}], "destination": "session"}
        assert decision_words(Allow(remember=[rule])) == (
            "allowed, and from now on allow Bash(ls:*) in this session: every command that begins with ls"
        )
        assert decision_words(Allow(input={"answers": {"Which?": "Blue"}})) == "answered: Blue"
        assert decision_words(Allow(input={"command": "ls"})) == "allowed with another input"


def test_lan_prints_an_address_of_the_network_and_the_same_for_a_camera(tmp_path: Path) -> None:
    import segno

    from reread.web.server import lan_address

    source = tmp_path / "source"
    source.mkdir()
    with served(tmp_path / "home", source, "--lan", "--port", "0") as server:
        assert server.address.startswith(f"http://{lan_address()}:")
        drawn = io.StringIO()
        segno.make(server.address, error="l", micro=False).terminal(drawn, compact=True)
        assert server.process.stdout is not None
        wanted = drawn.getvalue().rstrip("\n").split("\n")
        assert [server.process.stdout.readline().decode().rstrip("\n") for _ in wanted] == wanted
