"""`reread approvals`: what waits in the sessions of a running server is seen and answered from a terminal."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.running import reread
from cli.terminals import Terminal
from live.faking import fake
from reread.errors import BadInput
from reread.live.approvals import Approval, ApprovalQueue, form_of
from reread.live.events import Permission
from reread.live.outgoing import Allow, Decision, Deny
from reread.web.runs import decision_of
from web.serving import Served, served, until

needs_terminal = pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a pseudo-terminal")


class Place:
    """A server whose clients are stand-ins, and its archive."""

    def __init__(self, home: Path, work: Path, server: Served) -> None:
        self.home, self.work, self.server = home, work, server

    def post(self, path: str, **fields: str) -> int:
        connection = self.server.connect()
        headers = {**self.server.page, "Content-Type": "application/x-www-form-urlencoded", "X-Part": "1"}
        connection.request("POST", path, urlencode(fields), headers)
        return connection.getresponse().status

    def start(self, prompt: str, waiting: int) -> list[dict[str, Any]]:
        """Runs one more client; gives what waits as soon as so many requests do."""
        self.post("/live", prompt=prompt, folder=str(self.work))
        until(lambda: len(self.waiting()) >= waiting)
        return self.waiting()

    def waiting(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self.asked("--json"))["waiting"]
        return found

    def asked(self, *arguments: str) -> str:
        ran = reread("approvals", "--home", self.home, *arguments)
        assert (ran.code, ran.err) == (0, "")
        return ran.out

    def refused(self, *arguments: str) -> str:
        ran = reread("approvals", "--home", self.home, *arguments)
        assert (ran.code, ran.out) == (2, "")
        return ran.err

    def log(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self.asked("--log", "--json"))["answered"]
        return found


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[[str], Place]]:
    with ExitStack() as stack:

        def made(way: str) -> Place:
            program, source, work = tmp_path / "claude", tmp_path / "source", tmp_path / "work"
            source.mkdir()
            work.mkdir()
            command = fake(way)
            program.write_text(f"#!/bin/sh\nexec '{command[0]}' '{command[1]}' {command[2]} \"$@\"\n")
            program.chmod(program.stat().st_mode | stat.S_IXUSR)
            home = tmp_path / "home"
            server = stack.enter_context(served(home, source, "--claude", str(program), "--port", "0"))
            return Place(home, work, server)

        yield made


def test_without_a_server_one_sentence_says_so(tmp_path: Path) -> None:
    ran = reread("approvals", "--home", tmp_path)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == "no `reread serve` is running on this archive, so nothing waits here\n"
    told = reread("approvals", "--home", tmp_path, "--json")
    assert json.loads(told.out) == {"schema": "reread.approvals/1", "server": None, "waiting": [], "elsewhere": []}
    asked = reread("approvals", "--home", tmp_path, "3f2a", "--allow")
    assert (asked.code, asked.out) == (2, "")
    assert "'3f2a': no `reread serve` is running" in asked.err


def test_all_that_waits_is_printed_answered_by_id_and_logged(serve: Callable[[str], Place]) -> None:
    place = serve("asks_permission")
    assert place.asked() == "nothing waits for an answer\n"
    place.start("the first", 1)
    first, second = place.start("the second", 2)
    assert (first["title"], second["title"]) == ("the first", "the second")
    assert (first["tool"], first["input"], first["project"]) == ("Bash", {"command": "ls"}, str(place.work))
    assert first["waits_seconds"] >= 0
    shown = place.asked()
    assert "the first · waits" in shown
    assert "? Bash" in shown
    assert "Claude Code names no rule that would have allowed it." in shown
    assert f"answer: reread approvals {first['run']}/p1 --allow | --deny [REASON]" in shown, "both ids are p1"
    assert "2 requests begin so" in place.refused("p1", "--allow")
    assert place.asked(f"{second['run']}/p1", "--deny", "not today") == "denied: Bash  ls\n"
    assert [each["title"] for each in place.waiting()] == ["the first"]
    answered = json.loads(place.asked("p1", "--allow", "--json"))
    assert (next(iter(answered)), answered["schema"]) == ("schema", "reread.approval/1")
    assert answered["answer"] == "allowed"
    assert [(each["title"], each["answer"]) for each in place.log()] == [
        ("the first", "allowed"),
        ("the second", "denied: not today"),
    ]
    assert "denied: not today" in place.asked("--log")
    assert "'p1': no such request waits" in place.refused("p1", "--allow")


def test_rules_questions_and_what_is_no_answer_to_them(serve: Callable[[str], Place]) -> None:
    place = serve("asks_several")
    written, question, command = place.start("a poem", 3)
    assert (written["id"], question["id"], command["id"]) == ("p1", "p2", "p3")
    assert written["always"] == "allow Write in this session: every use of Write"
    assert "Claude Code suggested no rule for this alone" in place.refused("p3", "--always")
    assert "suggested 1 wider rules" in place.refused("p1", "--always", "7")
    assert "asks for a permission, not a question" in place.refused("p1", "--answer", "1")
    assert "2 questions are asked" in place.refused("p2", "--answer", "1")
    assert "choose from 1 to 2" in place.refused("p2", "--answer", "1,2", "--answer", "9")
    assert "not allowed with" in place.refused("p1", "--allow", "--deny")
    assert "name the request to answer" in place.refused("--allow")
    assert [each["id"] for each in place.waiting()] == ["p1", "p2", "p3"], "nothing was answered by that"
    place.asked("p2", "--answer", "1,2", "--answer", "as it comes")
    place.asked("p1", "--always")
    until(lambda: not place.waiting())
    said = [each["answer"] for each in place.log()]
    assert said == [
        "allowed, and from now on allow Write in this session: every use of Write",
        "answered: Red, Blue; as it comes",
    ]


@needs_terminal
def test_keys_answer_one_after_the_other_and_what_is_skipped_comes_again(serve: Callable[[str], Place]) -> None:
    place = serve("asks_permission")
    with Terminal("approvals", "--home", place.home) as terminal:
        terminal.wait_for("nothing waits for an answer; [q]uit")
        place.start("the first", 1)
        terminal.wait_for("the first · waits")
        terminal.wait_for("[y]es [n]o [e]dit [s]kip [q]uit")
        place.start("the second", 2)
        terminal.wait_for("  > ")
        terminal.press("s")
        terminal.wait_for("the second · waits")
        terminal.wait_for("2 waiting")
        terminal.wait_for("  > ")
        terminal.press("n")
        terminal.wait_for("no, because")
        terminal.press("the wrong folder\r")
        terminal.wait_for("1 skipped; [s]how again, [q]uit")
        terminal.press("s")
        terminal.wait_for("the first · waits")
        terminal.wait_for("  > ")
        terminal.press("y")
        terminal.wait_for("nothing waits for an answer; [q]uit")
        terminal.press("q")
        assert terminal.end() == 0
    assert [(each["title"], each["answer"]) for each in place.log()] == [
        ("the first", "allowed"),
        ("the second", "denied: the wrong folder"),
    ]


@needs_terminal
def test_what_the_browser_answers_goes_from_the_terminal_and_leaving_answers_nothing(
    serve: Callable[[str], Place],
) -> None:
    place = serve("asks_permission")
    (first,) = place.start("the first", 1)
    with Terminal("approvals", "--home", place.home) as terminal:
        terminal.wait_for("  > ")
        assert place.post(f"/live/{first['run']}/answer", request="p1", decision="allow") == 204
        terminal.wait_for("no longer asked")
        terminal.wait_for("nothing waits")
        place.start("the second", 1)
        terminal.wait_for("  > ")
        terminal.press("\x04")  # as `q` does
        assert terminal.end() == 0
    assert [each["title"] for each in place.waiting()] == ["the second"]


SUGGESTIONS = (
    {"type": "addRules", "behavior": "allow", "rules": [{"toolName": "Bash"}], "destination": "session"},
    {"type": "setMode", "mode": "acceptEdits", "destination": "session"},
)
ASKED = Permission(request_id="r", tool="Bash", input={"command": "ls"}, suggestions=SUGGESTIONS)


@given(
    st.one_of(
        st.just(Allow()),
        st.sampled_from(SUGGESTIONS).map(lambda each: Allow(remember=[each])),
        st.dictionaries(st.text(), st.text(), max_size=3).map(lambda each: Allow(input=each)),
        st.text().map(str.strip).map(lambda each: Deny(reason=each)),
    )
)
def test_a_decision_reaches_the_server_as_it_was_made(decision: Decision) -> None:
    sent = {name: [value] for name, value in form_of(ASKED, decision).items()}
    made = decision_of(ASKED, sent)
    if isinstance(decision, Allow) and isinstance(made, Allow):
        assert (made.input, list(made.remember)) == (decision.input, list(decision.remember))
    else:
        assert made == decision


def approval(run: str, request: str) -> Approval:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    asked = Permission(request_id=request, tool="Bash", input={})
    return Approval(run=run, session="", title="", project="", asked_at=at, waits_seconds=1.0, permission=asked)


def test_a_request_is_named_by_as_much_of_its_id_as_is_needed() -> None:
    alike = [
        approval("a1", "11112222-3333"),
        approval("b2", "11112222-4444"),
        approval("c3", "p1"),
        approval("d4", "p1"),
    ]
    queue = ApprovalQueue(waiting=tuple(alike))
    assert [queue.short(each) for each in alike] == ["11112222-3333", "11112222-4444", "c3/p1", "d4/p1"]
    assert [queue.find(queue.short(each)) for each in alike] == alike
    assert queue.find("c3") == alike[2]
    for name, words in (("1111", "2 requests begin so"), ("x", "no such request waits"), ("", "no such request waits")):
        with pytest.raises(BadInput, match=words):
            queue.find(name)
