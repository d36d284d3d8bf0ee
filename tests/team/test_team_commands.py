"""`reread team`, `push` to a store and the questions to one, as a person types them."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import HTTPCookieProcessor, build_opener

import pytest

from cli.conftest import run as run
from cli.running import Ran, Run, environment, read_until, start
from reread.cli.team import passing_folder
from reread.team import questions
from reread.testing import a_prompt, a_reply, a_session, a_tool_call, a_tool_result

from .postgres import Server

ANN, BOB = "0a1b2c3d-1111-4222-8333-444455556666", "1b2c3d4e-2222-4333-8444-555566667777"


class People:
    """Ann and Bob, in teams of their own, each with a session; the store's owner."""

    def __init__(self, run: Run, server: Server, root: Path, patch: pytest.MonkeyPatch) -> None:
        self._run, self._server, self._patch = run, server, patch
        self.root, self.database = root, server.database()
        for name, session, word in (("ann", ANN, "lantern"), ("bob", BOB, "granite")):
            told = a_session(a_prompt(f"about the {word}"), a_reply(f"a {word} it is"), id=session, cwd=f"/src/{word}")
            told.write(root / name / "claude" / "projects")
        assert self("owner", "team", "init", self.url("owner"), "--yes").code == 0
        for name, team in (("ann", "red"), ("bob", "blue")):
            assert self("owner", "team", "grant", name, team, "--store", self.url("owner")).code == 0

    def url(self, role: str) -> str:
        return self._server.url(role, self.database)

    def __call__(self, person: str, *arguments: str) -> Ran:
        place = self.root / person
        self._patch.setenv("CLAUDE_CONFIG_DIR", str(place / "claude"))
        return self._run(*arguments, "--home", place / "archive")

    def push(self, person: str, *options: str) -> dict[str, Any]:
        ran = self(person, "push", self.url(person), "--json", *options)
        assert ran.code == 0, ran.err
        return dict(json.loads(ran.out))

    def ask(self, person: str, *arguments: str) -> dict[str, Any]:
        ran = self(person, "--store", self.url(person), *arguments, "--json")
        assert ran.code == 0, ran.err
        return dict(json.loads(ran.out))


@pytest.fixture
def people(run: Run, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> People:
    monkeypatch.delenv("REREAD_STORE", raising=False)
    return People(run, server, tmp_path, monkeypatch)


def test_a_push_sends_the_ledger_once_and_then_nothing(people: People) -> None:
    first = people.push("ann")
    assert first["schema"] == "reread.push/1"
    assert (first["target"], first["what"]) == (people.url("ann"), "ledger")
    assert first["sessions"] == {"sent": 1, "unchanged": 0, "failed": 0}
    assert first["bytes_sent"] > 0
    assert first["redacted"] == 0
    again = json.loads(people("ann", "push", "--json").out)  # the last target is remembered
    assert (again["sessions"], again["bytes_sent"]) == ({"sent": 0, "unchanged": 1, "failed": 0}, 0)


def test_a_dry_run_sends_nothing(people: People) -> None:
    said = people.push("ann", "--dry-run")
    assert said["sessions"]["sent"] == 1
    assert people.ask("ann", "list")["sessions"] == []


def test_the_ledger_has_no_word_of_anybody(people: People) -> None:
    ran = people("ann", "push", people.url("ann"), "--show", ANN, "--json")
    shown = json.loads(ran.out)
    assert "text" not in shown
    assert "lantern it is" not in ran.out
    assert "about the" not in ran.out
    assert "/src/lantern" in ran.out
    hashed = people("ann", "push", people.url("ann"), "--show", ANN, "--projects", "hashed", "--json").out
    assert "lantern" not in hashed


def test_names_that_were_hashed_once_stay_hashed(people: People) -> None:
    people.push("ann", "--projects", "hashed")
    with (people.root / "ann" / "claude" / "projects").joinpath("x").open("w"):
        pass
    people("ann", "push", "--json")
    [row] = people.ask("ann", "usage", "project")["rows"]
    assert row["project"].startswith("#")
    shared = people.root / "shared"
    shared.mkdir()
    assert people("ann", "push", str(shared)).code == 0  # another target in between
    assert people.push("ann")["sessions"]["sent"] == 0
    assert people.ask("ann", "usage", "project")["rows"] == [row]


def test_text_that_would_leave_is_shown_with_its_redactions(people: People) -> None:
    key = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    told = a_session(a_prompt(f"my token is {key}"), a_reply("noted"), id="2c3d4e5f-3333-4444-8555-666677778888")
    told.write(people.root / "ann" / "claude" / "projects")
    shown = people("ann", "push", people.url("ann"), "--show", "2c3d", "--what", "text")
    assert "[redacted: GitHub" in shown.out
    assert key not in shown.out
    sent = people.push("ann", "--what", "text")
    assert sent["redacted"] == 1
    [hit] = people.ask("ann", "search", "my token")["hits"]
    assert "redacted: GitHub" in hit["snippet"]


def test_a_project_is_called_over_a_store_as_in_an_archive(people: People) -> None:
    for number, cwd in enumerate((r"C:\ann\oak", r"c:\ann\oak", "C:/ann/oak", "/c/ann/oak", "/Users/ann/c/oak")):
        told = a_session(
            a_prompt("x"), a_reply("y", id=f"msg_{number}"), id=f"2c3d4e5f-0000-4000-8000-{number:012}", cwd=cwd
        )
        told.write(people.root / "ann" / "claude" / "projects")
    people.push("ann")
    own = json.loads(people("ann", "usage", "project", "--json").out)
    assert people.ask("ann", "usage", "project")["rows"] == own["rows"]
    assert {row["project"] for row in own["rows"]} == {r"C:\ann\oak", "/Users/ann/c/oak", "/src/lantern"}


def test_usage_over_a_store_has_teams_and_people(people: People) -> None:
    people.push("ann")
    people.push("bob")
    by_team = people.ask("owner", "usage", "team")
    assert (by_team["schema"], {row["team"] for row in by_team["rows"]}) == ("reread.usage/1", {"red", "blue"})
    assert {row["person"] for row in people.ask("owner", "usage", "person")["rows"]} == {"ann", "bob"}
    assert [row["person"] for row in people.ask("ann", "usage", "person")["rows"]] == ["ann"]
    assert people("ann", "usage", "team").code == 2
    assert "--store URL usage team" in people("ann", "usage", "team").err


def test_list_show_and_search_say_what_was_never_pushed(people: People) -> None:
    people.push("ann")
    listed = people("ann", "--store", people.url("ann"), "list", "--json")
    [row] = json.loads(listed.out)["sessions"]
    assert (row["id"], row["title"], row["person"], row["team"], row["pushed"]) == (ANN, "", "ann", "red", "ledger")
    assert "the ledger alone was pushed" in listed.err
    shown = people("ann", "--store", people.url("ann"), "show", ANN)
    assert shown.code == 2
    assert "pushed its ledger alone" in shown.err
    people.push("ann", "--what", "text")
    shown_of_text = people.ask("ann", "show", ANN[:6])
    [turn] = shown_of_text["turns"]
    assert turn["prompt"]["text"] == "about the lantern"
    [row] = people.ask("ann", "list")["sessions"]
    assert row["title"] == "about the lantern"
    of_all = {name: value for name, value in shown_of_text["session"].items() if name not in ("unsaid", "client")}
    assert {name: row[name] for name in of_all} == of_all
    [hit] = people.ask("ann", "search", "lantern", "--in", "text")["hits"]
    assert (hit["session"], hit["field"], hit["snippet"]) == (ANN, "text", "a [lantern] it is")
    for query, number in (('"lantern it"', 1), ('"it lantern"', 0), ("lant*", 2), ("lantern NOT about", 1)):
        assert people.ask("ann", "search", query)["total"] == number, query
    assert people.ask("bob", "search", "lantern")["total"] == 0


@pytest.mark.parametrize("command", [["usage"], ["list"], ["search", "lantern"]])
@pytest.mark.parametrize("option", [["--file", "*.py"], ["--starred"], ["--tag", "x"]])
def test_what_a_store_cannot_choose_by_is_refused(people: People, command: list[str], option: list[str]) -> None:
    ran = people("ann", "--store", people.url("ann"), *command, *option)
    assert ran.code == 2
    assert f"cannot tell what {option[0]} asks for" in ran.err


def test_results_stay_here_unless_all_is_sent(people: People) -> None:
    call = a_tool_call("Bash", {"command": "cat notes"}), a_tool_result("a quarry of marble")
    a_session(a_prompt("read"), *call, id=BOB).write(people.root / "ann" / "claude" / "projects")
    people.push("ann", "--what", "text")
    shown = people("ann", "--store", people.url("ann"), "show", BOB, "--tools", "full", "--no-pager").out
    assert "cat notes" in shown
    assert "(not sent)" in shown
    assert "marble" not in shown
    people.push("ann", "--what", "all")
    shown = people("ann", "--store", people.url("ann"), "show", BOB, "--tools", "full", "--no-pager").out
    assert "a quarry of marble" in shown


def test_every_other_question_is_answered_from_what_was_pushed(people: People, monkeypatch: pytest.MonkeyPatch) -> None:
    store = ("--store", people.url("ann"))
    refused = people("ann", *store, "export", ANN)
    assert (refused.code, refused.out) == (2, "")
    assert "no text that your role may read" in refused.err
    people.push("ann", "--what", "text")
    people.push("bob", "--what", "all")
    exported = people("ann", *store, "export", ANN[:8], "--format", "markdown", "--output", "-")
    assert exported.code == 0, exported.err
    assert "a lantern it is" in exported.out
    assert "granite" not in people("ann", *store, "export", BOB, "--format", "markdown", "--output", "-").out
    retro = people.ask("ann", "retro")
    assert retro["schema"] == "reread.retro/1"
    [row] = people.ask("ann", "list")["sessions"]
    explained = people.ask("ann", "explain", ANN)
    assert row["cost_usd"] in json.dumps(explained)
    assert people("ann", *store, "doctor").code == 2
    assert "not offered over a team's store" in people("ann", *store, "doctor").err
    monkeypatch.setenv("REREAD_STORE", people.url("bob"))
    assert "a granite it is" in people("bob", "export", "@last", "--format", "markdown", "--output", "-").out
    assert people("bob", "list", "--json").code == 0
    assert people("bob", "machine").code == 0


TROUBLE = (
    *(a_prompt("fix the tests"), a_tool_call("Bash", {"command": "pytest"}), a_tool_result("1 failed", is_error=True)),
    *(a_tool_call("Bash", {"command": "pytest"}), a_tool_result("1 failed", is_error=True)),
    *(a_tool_call("Bash", {"command": "pytest"}), a_tool_result("1 failed", is_error=True)),
    *(a_prompt("no, that is wrong, I said the other file"), a_reply("sorry")),
)


def test_trends_of_friction_are_rates_with_intervals_of_what_the_role_may_read(people: People) -> None:
    for name, session in (
        ("ann", "2c3d4e5f-3333-4444-8555-666677778888"),
        ("bob", "3d4e5f60-4444-4555-8666-777788889999"),
    ):
        told = a_session(*TROUBLE, id=session, cwd="/src/shared")
        told.write(people.root / name / "claude" / "projects")
        people.push(name, "--what", "text")
    for team in ("red", "blue"):
        people("owner", "team", "grant", "lead", team, "--store", people.url("owner"))
        people("owner", "team", "grant", "acc", team, "--numbers", "--store", people.url("owner"))
    prompts = {}
    for role in ("ann", "bob", "lead", "owner"):
        document = people.ask(role, "retro")
        [week] = document["weeks"]
        low, high = week["interval"]
        assert 0 < low < week["per_100_prompts"] < high
        assert not {"ann", "bob"} & set(re.findall(r"[a-z]+", json.dumps(document)))
        prompts[role] = week["prompts"]
    assert prompts == {"ann": 3, "bob": 3, "lead": 4, "owner": 4}  # what both have counts once
    refused = people("acc", "--store", people.url("acc"), "retro")
    assert (refused.code, refused.out) == (2, "")
    assert "no text that your role may read" in refused.err


def test_a_retrospective_of_a_project_or_a_machine_copies_no_other_sessions(
    people: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = a_session(*TROUBLE, id="2c3d4e5f-3333-4444-8555-666677778888", cwd="/src/other")
    told.write(people.root / "ann" / "claude" / "projects")
    people.push("ann", "--what", "text")
    written: list[int] = []
    write = questions.write_sources

    def counted(*arguments: Any) -> int:
        written.append(write(*arguments))
        return written[-1]

    monkeypatch.setattr(questions, "write_sources", counted)
    [label] = {row["machine"] for row in people.ask("ann", "usage", "machine")["rows"]}
    people.ask("ann", "retro", "--project", "other")
    people.ask("ann", "retro", "--machine", label)
    people.ask("ann", "retro", f"--machine={label}", "--since", "7d")
    assert written == [1, 2, 2]
    refused = people("ann", "--store", people.url("ann"), "retro", "--machine", "nowhere")
    assert refused.code == 2
    assert f"no machine is called 'nowhere'; there is {label}" in refused.err
    for words in (["list"], ["usage"], ["search", "yes"]):
        asked = people("ann", "--store", people.url("ann"), *words, "--machine", "nowhere")
        assert (asked.code, asked.out) == (2, "")
        assert f"no machine is called 'nowhere'; there is {label}" in asked.err


def test_a_session_that_is_not_there_is_missed_in_the_store_and_not_in_the_copies(people: People) -> None:
    people.push("ann", "--what", "text")
    for command in ("export", "retro"):
        refused = people("ann", "--store", people.url("ann"), command, "nosuch")
        assert (refused.code, refused.out) == (2, "")
        assert "'nosuch' is no session in postgresql://" in refused.err
        assert "reread-store-" not in refused.err


def test_what_still_writes_into_the_copies_does_not_keep_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sync of the pages may go on for a moment after they are asked to end."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def write_for_a_while(folder: Path) -> None:
        with suppress(FileNotFoundError):
            for number in range(300):
                folder.mkdir(exist_ok=True)
                (folder / f"{number}.jsonl").write_text("{}\n")
                time.sleep(0.001)

    with passing_folder() as folder:
        writer = threading.Thread(target=write_for_a_while, args=(folder / "archive",))
        writer.start()
    assert not folder.exists()
    writer.join()


@pytest.mark.skipif(sys.platform == "win32", reason="ends the process as Unix does")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_the_copies_go_when_the_command_is_told_to_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(KeyboardInterrupt), passing_folder() as folder:
        (folder / "prompts").write_text("what others wrote")
        os.kill(os.getpid(), getattr(signal, name))
        time.sleep(10)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="ends the process as Unix does")
def test_the_pages_of_a_store_come_from_its_ledger_and_leave_nothing_behind(people: People, tmp_path: Path) -> None:
    people.push("ann", "--what", "text")
    people.push("bob")
    assert people("owner", "team", "grant", "bob", "red", "--store", people.url("owner")).code == 0
    (tmp_path / "passing").mkdir()
    serving = start(
        *("--store", people.url("bob"), "serve", "--port", "0", "--no-browser", "--home", tmp_path / "unused"),
        env=environment(TMPDIR=str(tmp_path / "passing")),
    )
    try:
        [address] = re.findall(r"http://[^\s/]+", first := read_until(serving, "\n"))
        browser = build_opener(HTTPCookieProcessor())
        home = browser.open(re.findall(r"http://\S+", first)[0], timeout=20).read().decode()  # at once: pages answer

        def page(path: str) -> str:
            return str(browser.open(f"{address}{path}", timeout=20).read().decode())

        assert "about the lantern" in home
        assert "2 sessions in all" in home
        assert "/live" not in page("/sessions").partition("</nav>")[0]
        for own in ("/live", "/retro", "/secrets", "/doctor", "/live/list"):
            with pytest.raises(HTTPError, match="404") as elsewhere:
                page(own)
            assert "about your own archive" in elsewhere.value.read().decode(), own
        for by in ("day", "project", "person", "model", "session", "team"):
            csv = page(f"/usage/usage.csv?by={by}&since=all")
            assert csv == people("bob", "--store", people.url("bob"), "usage", by, "--csv").out, by
        assert [row["person"] for row in people.ask("ann", "team", "audit")["readings"]] == []  # lists read no text
        assert "a lantern it is" in page(f"/s/{ANN}")
        assert [row["reader"] for row in people.ask("ann", "team", "audit")["readings"]] == ["bob"]
        assert "a lantern it is" in page(f"/s/{ANN}")  # kept for this role: no second reading
        assert len(people.ask("ann", "team", "audit")["readings"]) == 1
        with pytest.raises(HTTPError, match="400") as refused:
            page(f"/s/{BOB}")
        assert "bob pushed its ledger alone" in refused.value.read().decode()
    finally:
        serving.terminate()
        serving.communicate(timeout=30)
    assert list((tmp_path / "passing").iterdir()) == []


def test_a_store_that_is_away_or_none_is_told_in_a_sentence(people: People, server: Server) -> None:
    for url in ("postgresql://ann@127.0.0.1:1/x", server.url("ann", "postgres"), server.url("nobody", people.database)):
        ran = people("ann", "push", url)
        assert (ran.code, ran.out) == (2, "")
        assert len(ran.err.splitlines()) == 1, ran.err
    ran = people("ann", "team", "grant", "ann", "blue", "--store", people.url("ann"))
    assert ran.code == 2
    assert "your role may not do that" in ran.err


def test_a_database_that_is_not_there_is_told_with_what_makes_one(people: People, server: Server) -> None:
    ran = people("owner", "team", "init", server.url("owner", "nowhere"), "--yes")
    assert (ran.code, ran.out) == (2, "")
    assert "createdb" in ran.err


def test_who_made_a_store_need_not_name_it_again(people: People) -> None:
    assert people("owner", "team", "grant", "amy", "red").code == 0
    assert {row["role"] for row in json.loads(people("owner", "team", "members", "--json").out)["members"]} == {
        *("amy", "ann", "bob")
    }
    people.push("ann")
    assert json.loads(people("ann", "team", "status", "--json").out)["role"] == "ann"
    nobody = people("carl", "team", "members")
    assert (nobody.code, "say which store" in nobody.err) == (2, True)


def test_a_list_over_a_store_is_filtered_by_what_responses_tell(people: People) -> None:
    told = a_session(a_prompt("x", gitBranch="side"), a_reply("yes", gitBranch="side"), id=BOB, cwd="/src/lantern")
    told.write(people.root / "ann" / "claude" / "projects")
    people.push("ann", "--what", "text")
    assert [row["id"] for row in people.ask("ann", "list", "--branch", "side")["sessions"]] == [BOB]
    assert people.ask("ann", "list", "--branch", "nowhere")["sessions"] == []
    assert people.ask("ann", "list", "--tool", "Bash")["sessions"] == []
    assert {hit["session"] for hit in people.ask("ann", "search", "yes", "--branch", "side")["hits"]} == {BOB}
    assert people.ask("ann", "search", "lantern", "--branch", "side")["hits"] == []
    assert "only here" not in people("ann", "--store", people.url("ann"), "list").out


@pytest.mark.parametrize("place", ["ann:{}@", "ann:{}[@", "ann:?{}@", "ann:#{}@", "?password={}", "?sslpassword={}"])
def test_a_password_is_neither_shown_nor_kept(place: str, people: People) -> None:
    said = place.format("hunter2secret")
    url = people.url("ann") + said if place.startswith("?") else people.url("ann").replace("ann@", said)
    ran = people("ann", "push", url, "--json")
    assert ran.code == 0
    assert "hunter2secret" not in ran.out + ran.err
    kept = [path.read_bytes() for path in (people.root / "ann" / "archive").rglob("*") if path.is_file()]
    assert not any(b"hunter2secret" in content for content in kept)
    assert json.loads(ran.out)["target"] == people.url("ann")


def test_a_server_that_is_away_is_told_with_its_place(people: People) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    ran = people("ann", "push", f"postgresql://ann@127.0.0.1:{port}/team")
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert f"port {port} failed: Connection refused" in ran.err


def test_team_actions_as_a_person_types_them(people: People) -> None:
    people.push("ann", "--what", "text")
    url = ("--store", people.url("owner"))
    status = json.loads(people("owner", "team", "status", *url, "--json").out)
    assert (status["sessions"], status["people"], status["with_text"]) == (1, 1, 1)
    members = json.loads(people("owner", "team", "members", people.url("owner"), "--json").out)["members"]
    assert members == [
        {"role": "bob", "team": "blue", "sees_text": True},
        {"role": "ann", "team": "red", "sees_text": True},
    ]
    assert "1 session moved" in people("owner", "team", "assign", "lantern", "blue", *url).out
    assert people.ask("bob", "search", "lantern")["total"] > 0
    assert "ann" in people("ann", "team", "audit", "--store", people.url("ann")).out
    assert people("owner", "team", "verify", *url).code == 0
    assert people("owner", "team", "forget", ANN[:8], "--yes", *url).code == 0
    again = people.push("ann", "--what", "text")
    assert again["sessions"] == {"sent": 0, "unchanged": 0, "failed": 0, "forgotten": 1}
    assert people.ask("owner", "list")["sessions"] == []
    assert people("owner", "team", "revoke", "bob", "blue", *url).code == 0
    assert people("bob", "--store", people.url("bob"), "list").code == 2
    assert people("owner", "team", "retain", "soon", *url).code == 2
    assert people("owner", "team", "retain", "180d", *url).code == 0
    assert people("owner", "team", "init", people.url("owner")).code == 2  # not a terminal to ask at


def test_who_has_not_pushed_is_told_to_a_person_a_program_and_a_monitor(people: People) -> None:
    people.push("ann")
    url = ("--store", people.url("owner"))
    told = people("owner", "team", "status", *url).out
    assert "ann: last push 20" in told
    assert "bob: has never pushed" in told
    late = people("owner", "team", "status", "--late", "7d", *url, "--json")
    assert (late.code, late.err) == (1, "reread: bob is late: has never pushed\n")
    assert [row["person"] for row in json.loads(late.out)["pushes"]] == ["ann", "bob"]
    monitored = people("owner", "team", "status", "--prometheus", *url).out
    assert re.search(r'\nreread_last_push_timestamp_seconds\{person="ann",client="[^"]+"\} 1\d{9}\n', monitored)
    assert 'reread_push_failures{person="bob",client=""} 0\n' in monitored
    people.push("bob")
    assert people("owner", "team", "status", "--late", "7d", *url).code == 0


def test_people_are_renamed_exported_and_removed_by_the_owner(people: People) -> None:
    people.push("ann", "--what", "text")
    url = ("--store", people.url("owner"))
    assert people("owner", "team", "person", "rename", "ann", "Ann Lee", *url).code == 0
    assert [row["person"] for row in people.ask("ann", "usage", "person")["rows"]] == ["Ann Lee"]
    told = [json.loads(line) for line in people("owner", "team", "person", "export", "Ann Lee", *url).out.splitlines()]
    assert {"person", "session", "text", "title", "response", "machine"} <= {row["table"] for row in told}
    for wrong in (["rename", "ann"], ["rename", "nobody", "else"], ["remove", "nobody", "--yes"], ["sell", "ann"]):
        assert people("owner", "team", "person", *wrong, *url).code == 2
    assert people("ann", "team", "person", "remove", "Ann Lee", "--yes", "--store", people.url("ann")).code == 2
    assert "1 session" in people("owner", "team", "person", "remove", "Ann Lee", "--yes", *url).out
    assert people.ask("owner", "list")["sessions"] == []
    assert "ledger is kept for 400 days" in people("owner", "team", "retain", "400d", "--ledger", *url).out


def test_what_init_would_do_is_shown_and_tried(people: People, server: Server) -> None:
    url = server.url("owner", server.database())
    shown = people("owner", "team", "init", url, "--print-sql")
    assert shown.out.startswith("SELECT pg_advisory_xact_lock")
    assert "was undone" in people("owner", "team", "init", url, "--dry-run").out
    assert "is no store yet" in people("owner", "team", "status", "--store", url).err
