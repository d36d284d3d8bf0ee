"""`push` and `pull` as a person calls them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.running import Ran, Run, environment, read_until, start
from reread.exchange import remember_store
from reread.testing import a_prompt, a_reply, a_session

SESSIONS = {"desk": "0a1b2c3d-1111-4222-8333-444455556666", "laptop": "1b2c3d4e-2222-4333-8444-555566667777"}


class Machines:
    def __init__(self, run: Run, root: Path, patch: pytest.MonkeyPatch) -> None:
        self._run, self.root, self._patch = run, root, patch
        self.folder = root / "shared"
        self.folder.mkdir()
        for name, session in SESSIONS.items():
            a_session(a_prompt(name), a_reply("yes"), id=session).write(root / name / "claude" / "projects")
            self(name, "machine", "--label", name)

    def __call__(self, machine: str, *arguments: str | Path) -> Ran:
        place = self.root / machine
        self._patch.setenv("CLAUDE_CONFIG_DIR", str(place / "claude"))
        return self._run(*arguments, "--home", place / "archive")


@pytest.fixture
def machines(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machines:
    return Machines(run, tmp_path, monkeypatch)


def test_two_machines_push_and_pull_and_both_list_all(machines: Machines) -> None:
    said = json.loads(machines("desk", "push", machines.folder, "--json").out)
    sent = said.pop("bytes_sent")
    assert sent > 0
    assert said == {
        "schema": "reread.push/1",
        "target": str(machines.folder),
        "what": "all",
        "sessions": {"sent": 1, "unchanged": 0, "failed": 0},
        "redacted": 0,
    }
    assert "1 session sent" in machines("laptop", "push", machines.folder, "--what", "all").out
    assert "from desk: 1 session imported" in machines("laptop", "pull").out
    pulled = json.loads(machines("desk", "pull", "--json").out)
    assert (pulled["schema"], pulled["machines"]) == ("reread.pull/1", ["laptop"])
    assert pulled["sessions"] == {"taken": 1, "forgotten": 0}
    again = json.loads(machines("desk", "push", "--json").out)
    assert (again["sessions"], again["bytes_sent"]) == ({"sent": 0, "unchanged": 1, "failed": 0}, 0)
    for name in SESSIONS:
        listed = json.loads(machines(name, "list", "--json").out)["sessions"]
        assert {each["id"] for each in listed} == set(SESSIONS.values())
        usage = json.loads(machines(name, "usage", "machine", "--json").out)["rows"]
        assert {row["machine"] for row in usage} == set(SESSIONS)
        (only,) = json.loads(machines(name, "list", "--machine", "laptop", "--json").out)["sessions"]
        assert only["id"] == SESSIONS["laptop"]
        assert machines(name, "archive", "verify").code == 0


def test_a_named_source_does_not_hide_what_is_asked_of_another_machine(machines: Machines) -> None:
    machines("laptop", "push", machines.folder)
    machines("desk", "pull", machines.folder)
    source = ("--source", machines.root / "desk" / "claude")
    for machine in SESSIONS:
        for command, rows in (("list", "sessions"), ("usage", "rows")):
            told = json.loads(machines("desk", command, "--machine", machine, *source, "--json").out)
            assert len(told[rows]) == 1, (machine, command)


def test_a_dry_run_says_what_would_be_sent(machines: Machines) -> None:
    said = machines("desk", "push", machines.folder, "--dry-run")
    assert (said.code, "1 session would be sent" in said.out) == (0, True)
    assert list(machines.folder.iterdir()) == []
    assert "no other machine has pushed" in machines("desk", "pull", machines.folder).out


def test_what_cannot_be_done_is_one_sentence(machines: Machines) -> None:
    inside = machines.root / "desk"
    wrong: list[tuple[str, ...]] = [
        ("push",),
        ("pull",),
        ("push", "postgresql://somewhere/team"),
        ("pull", "postgresql://somewhere/team"),
        ("push", str(machines.folder), "--what", "ledger"),
        ("push", str(machines.folder), "--what", "nothing"),
        ("push", str(machines.root / "not-there")),
        ("pull", str(machines.root / "not-there")),
        ("push", str(inside / "claude" / "projects")),
        ("push", str(inside / "archive")),
    ]
    for arguments in wrong:
        said = machines("desk", *arguments)
        assert (said.code, said.out) == (2, ""), arguments
        assert len(said.err.strip().splitlines()) == 1, said.err
        assert "Traceback" not in said.err
    assert list(machines.folder.iterdir()) == []


def test_watching_sends_what_comes(machines: Machines) -> None:
    place = machines.root / "desk"
    env = environment(CLAUDE_CONFIG_DIR=str(place / "claude"))
    process = start("push", machines.folder, "--watch", "--home", place / "archive", env=env)
    try:
        read_until(process, "1 session sent")
        new = a_session(a_prompt("new"), a_reply("yes"), id="2c3d4e5f-3333-4444-8555-666677778888")
        new.write(place / "claude" / "projects")
        read_until(process, "1 session sent")
    finally:
        process.terminate()
        process.wait(60)
    machines("laptop", "pull", machines.folder)
    assert len(json.loads(machines("laptop", "list", "--json").out)["sessions"]) == 3


def test_a_named_source_is_all_that_is_sent(machines: Machines) -> None:
    """As with every other command."""
    machines("desk", "sync", "--source", machines.root / "laptop" / "claude")
    machines("desk", "sync")
    said = json.loads(
        machines("desk", "push", machines.folder, "--source", machines.root / "laptop" / "claude", "--json").out
    )
    assert said["sessions"] == {"sent": 1, "unchanged": 0, "failed": 0}
    assert json.loads(machines("desk", "push", "--json").out)["sessions"] == {"sent": 1, "unchanged": 1, "failed": 0}


def test_what_is_damaged_here_is_not_sent_and_told(machines: Machines) -> None:
    machines("desk", "sync")
    pack = machines.root / "desk" / "archive" / "safe" / "000001.pack"
    content = bytearray(pack.read_bytes())
    content[-1] ^= 1
    pack.write_bytes(content)
    said = machines("desk", "push", machines.folder, "--json")
    assert said.code == 1
    assert json.loads(said.out)["sessions"] == {"sent": 0, "unchanged": 0, "failed": 1}
    assert len(said.err.splitlines()) == 1
    assert f"{SESSIONS['desk']}.jsonl cannot be sent" in said.err
    machines("laptop", "pull", machines.folder)
    assert machines("laptop", "archive", "verify").code == 0


def test_what_is_forgotten_here_and_may_still_be_elsewhere_is_told(machines: Machines) -> None:
    machines("laptop", "sync")
    assert machines("laptop", "archive", "forget", SESSIONS["laptop"], "--yes").err == "", "nothing was sent anywhere"
    machines("desk", "push", machines.folder)
    remember_store(machines.root / "desk" / "archive", "postgresql://ann@db.example/team", "plain")
    told = machines("desk", "archive", "forget", SESSIONS["desk"], "--yes").err.splitlines()
    assert f"pushed to {machines.folder}, the next `reread push` there removes it" in told[0]
    assert f"db.example/team, it is still there: `reread team forget {SESSIONS['desk']}`" in told[1]


def test_all_of_a_machine_is_thrown_out_when_the_person_says_so(machines: Machines) -> None:
    machines("laptop", "push", machines.folder)
    machines("desk", "pull", machines.folder)
    asked = machines("desk", "archive", "forget", "--machine", "laptop")
    assert (asked.code, "pass --yes" in asked.err) == (2, True)
    assert machines("desk", "archive", "forget", "--machine", "laptop", SESSIONS["laptop"], "--yes").code == 2
    assert "is this machine" in machines("desk", "archive", "forget", "--machine", "desk", "--yes").err
    said = json.loads(machines("desk", "archive", "forget", "--machine", "laptop", "--yes", "--json").out)
    assert (said["schema"], said["label"], said["sessions"]) == ("reread.forget_machine/1", "laptop", 1)
    assert "laptop was thrown out here" in machines("desk", "pull").err
    assert len(json.loads(machines("desk", "list", "--json").out)["sessions"]) == 1
    assert "1 session imported" in machines("desk", "pull", "--trust", "laptop").out


def test_what_another_machine_forgot_is_told_forgotten_and_brought_back(machines: Machines) -> None:
    for _ in range(2):
        machines("laptop", "push", machines.folder)
        machines("desk", "pull", machines.folder)
    assert "signs what it pushes with the key" in machines("laptop", "machine").out
    machines("laptop", "archive", "forget", SESSIONS["laptop"], "--yes")
    machines("laptop", "push")
    said = machines("desk", "pull", "--json")
    assert json.loads(said.out)["forgotten_elsewhere"] == [
        {"machine": "laptop", "is_proved": True, "sessions": [SESSIONS["laptop"]]}
    ]
    assert "laptop forgot 1 session still kept here (1b2c3d4e)" in said.err
    assert "1 session forgotten" in machines("desk", "pull", "--forget").out
    brought = json.loads(machines("desk", "pull", "--bring-back", "--json").out)
    assert brought == {"schema": "reread.bring_back/1", "sessions": [SESSIONS["laptop"]]}
    assert len(json.loads(machines("desk", "list", "--json").out)["sessions"]) == 2
    assert machines("desk", "archive", "verify").code == 0
