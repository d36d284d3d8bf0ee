"""`push --encrypt` and `pull --encrypt`: both machines see all, and the folder tells nothing."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

pytest.importorskip("cryptography", reason="the extra reread[encrypt] is not installed")

from cli.test_exchange_commands import SESSIONS, Machines
from cli.test_exchange_commands import machines as machines
from reread.testing import a_prompt, a_session


def contents(folder: Path) -> list[bytes]:
    return [path.read_bytes() for path in folder.rglob("*") if path.is_file()]


def test_both_machines_see_all_and_the_folder_tells_nothing(machines: Machines, tmp_path: Path) -> None:
    key = tmp_path / "key"
    said = machines("desk", "push", machines.folder, "--encrypt", key, "--json")
    assert said.code == 0, said.err
    assert "made a key" in said.err
    assert json.loads(said.out)["target"] == str(machines.folder)
    assert key.stat().st_mode & 0o077 == 0
    machines("laptop", "push", machines.folder, "--encrypt", key)
    assert "from desk: 1 session imported" in machines("laptop", "pull").out
    assert "from laptop: 1 session imported" in machines("desk", "pull", machines.folder, "--encrypt", key).out
    for name in SESSIONS:
        listed = json.loads(machines(name, "list", "--json").out)["sessions"]
        assert {each["id"] for each in listed} == set(SESSIONS.values())
        assert machines(name, "archive", "verify").code == 0
    for content in contents(machines.folder):
        for word in (b"desk", b"laptop", b"jsonl", *(each.encode() for each in SESSIONS.values())):
            assert word not in content
    again = json.loads(machines("desk", "push", "--json").out)  # the key is remembered with the folder
    assert (again["sessions"], again["bytes_sent"]) == ({"sent": 0, "unchanged": 1, "failed": 0}, 0)
    assert all(path.suffix == ".sealed" for path in machines.folder.rglob("*") if path.is_file())


def test_a_new_machine_begins_with_a_pull(machines: Machines, tmp_path: Path) -> None:
    key = tmp_path / "key"
    machines("desk", "push", machines.folder, "--encrypt", key)
    (machines.root / "tablet" / "claude").mkdir(parents=True)
    said = machines("tablet", "pull", machines.folder, "--encrypt", key)
    assert (said.code, "signs with the key" in said.err, len(said.err.splitlines())) == (0, True, 1)
    assert "from desk: 1 session imported" in said.out
    assert (machines.root / "tablet" / "archive" / "exchange").stat().st_mode & 0o077 == 0


def test_a_dry_run_makes_no_key(machines: Machines, tmp_path: Path) -> None:
    key = tmp_path / "key"
    said = machines("desk", "push", machines.folder, "--encrypt", key, "--dry-run")
    assert (said.code, said.err) == (0, "")
    assert "1 session would be sent" in said.out
    assert not key.exists()
    assert contents(machines.folder) == []
    key.write_text("no key")
    assert machines("desk", "push", machines.folder, "--encrypt", key, "--dry-run").code == 2


def test_without_the_extra_no_key_is_made(machines: Machines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.ciphers.aead", None)
    refused = machines("desk", "push", machines.folder, "--encrypt", tmp_path / "key")
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "pip install 'reread[encrypt]'" in refused.err
    assert not (tmp_path / "key").exists()


def test_growth_and_forgetting_travel(machines: Machines, tmp_path: Path) -> None:
    key, other = tmp_path / "key", "77777777-1111-4222-8333-444455556666"
    machines("desk", "push", machines.folder, "--encrypt", key)
    machines("laptop", "pull", machines.folder, "--encrypt", key)
    a_session(a_prompt("more"), id=other).write(machines.root / "desk" / "claude" / "projects")
    machines("desk", "push")
    machines("laptop", "pull")
    assert machines("laptop", "show", other).code == 0
    machines("desk", "archive", "forget", other, "--yes")
    machines("desk", "push")
    assert "desk forgot 1 session still kept here" in machines("laptop", "pull").err
    assert machines("laptop", "show", other).code == 0
    machines("laptop", "pull", "--forget")
    assert machines("laptop", "show", other).code == 2


def test_a_wrong_key_or_half_a_file_is_told_and_harms_nothing(machines: Machines, tmp_path: Path) -> None:
    key, wrong = tmp_path / "key", tmp_path / "wrong"
    machines("desk", "push", machines.folder, "--encrypt", key)
    wrong.write_text("reread-key-1 " + "0" * 64)
    ran = machines("laptop", "pull", machines.folder, "--encrypt", wrong)
    assert "another key" in ran.err
    pack = next(machines.folder.rglob("*.pack.sealed"))
    whole = pack.read_bytes()
    pack.write_bytes(whole[:-10])
    ran = machines("laptop", "pull", machines.folder, "--encrypt", key)
    assert "not whole yet" in ran.err
    pack.write_bytes(whole)
    assert "1 session imported" in machines("laptop", "pull").out
    wrong.write_text("no key")
    assert machines("laptop", "pull", machines.folder, "--encrypt", wrong).code == 2


def test_a_key_is_for_the_folder_it_was_named_with(machines: Machines, tmp_path: Path) -> None:
    key, plain, other = tmp_path / "key", tmp_path / "plain", "77777777-1111-4222-8333-444455556666"
    plain.mkdir()
    machines("desk", "push", machines.folder, "--encrypt", key)
    machines("desk", "push", plain)
    machines("laptop", "push", plain)
    assert "from laptop: 1 session imported" in machines("desk", "pull").out
    a_session(a_prompt("more"), id=other).write(machines.root / "desk" / "claude" / "projects")
    ran = machines("desk", "push")
    assert (ran.code, "1 session sent" in ran.out) == (0, True)
    assert "from desk: 2 sessions imported" in machines("laptop", "pull").out


def test_plain_and_encrypted_do_not_mix(machines: Machines, tmp_path: Path) -> None:
    machines("desk", "push", machines.folder, "--encrypt", tmp_path / "key")
    (machines.root / "desk" / "archive" / "exchange.json").unlink()
    ran = machines("desk", "push", machines.folder)
    assert ran.code == 2
    assert "say --encrypt KEYFILE" in ran.err
    plain = tmp_path / "plain"
    plain.mkdir()
    machines("laptop", "push", plain)
    ran = machines("laptop", "push", plain, "--encrypt", tmp_path / "key")
    assert ran.code == 2
    assert "unencrypted" in ran.err


def test_a_machine_without_the_key_is_told_and_sends_nothing_plain(machines: Machines, tmp_path: Path) -> None:
    machines("desk", "push", machines.folder, "--encrypt", tmp_path / "key")
    for command in ("pull", "push"):
        ran = machines("laptop", command, machines.folder)
        assert (ran.code, "say --encrypt KEYFILE" in ran.err) == (2, True)
    assert len(list(machines.folder.iterdir())) == 1


def test_where_some_is_encrypted_what_is_plain_is_still_taken_and_sent(machines: Machines, tmp_path: Path) -> None:
    machines("laptop", "push", machines.folder)
    machines("desk", "push", machines.folder, "--encrypt", tmp_path / "key")
    (machines.root / "server" / "claude" / "projects").mkdir(parents=True)
    ran = machines("server", "pull", machines.folder)
    assert (ran.code, "laptop" in ran.out, ": 1 session imported" in ran.out) == (0, True, True)
    assert "is left out; say --encrypt KEYFILE for it" in ran.err
    assert machines("laptop", "push", machines.folder).code == 0
    assert machines("laptop", "pull", machines.folder).code == 2, "there is nothing else than the encrypted"


def test_what_others_leave_in_the_folder_is_no_hindrance(machines: Machines, tmp_path: Path) -> None:
    """Finder, Syncthing and iCloud put files of theirs beside ours."""
    key = tmp_path / "key"
    machines("desk", "push", machines.folder, "--encrypt", key)
    [pack] = machines.folder.rglob("*.pack.sealed")
    foreign = [pack.with_name(name) for name in (".DS_Store", f".syncthing.{pack.name}.tmp", f".{pack.name}.icloud")]
    for path in foreign:
        path.write_bytes(b"x")
    copy = pack.with_name("000001.pack (conflicted copy).sealed")
    copy.write_bytes(pack.read_bytes())
    (machines.folder / ".DS_Store").write_bytes(b"x")
    ran = machines("desk", "push")
    assert (ran.code, ran.err) == (0, "")
    assert (all(path.exists() for path in foreign), copy.exists()) == (True, False)
    assert "1 session imported" in machines("laptop", "pull", machines.folder, "--encrypt", key).out


def test_a_file_that_cannot_be_read_yet_does_not_keep_the_others_out(machines: Machines, tmp_path: Path) -> None:
    key, other = tmp_path / "key", "00000000-0000-4000-8000-000000000000"
    machines("desk", "push", machines.folder, "--encrypt", key)
    (machines.folder / other).write_bytes(b"no folder")
    [pack] = machines.folder.rglob("*.pack.sealed")
    pack.with_name("000000.pack.sealed").mkdir()
    ran = machines("laptop", "pull", machines.folder, "--encrypt", key)
    assert "1 session imported" in ran.out
    assert ran.err.count("it comes with a later pull") == 2


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such files")
def test_what_is_no_file_in_an_encrypted_folder_is_told_and_not_waited_for(machines: Machines, tmp_path: Path) -> None:
    key, victim = tmp_path / "key", tmp_path / "victim"
    machines("desk", "push", machines.folder, "--encrypt", key)
    (own,) = machines.folder.iterdir()
    os.mkfifo(own / "000002.pack.sealed")
    (own / "000003.pack.sealed").symlink_to("/dev/zero")
    said = machines("laptop", "pull", machines.folder, "--encrypt", key)
    assert (said.code, "1 session imported" in said.out, said.err.count("it comes with a later pull")) == (0, True, 2)
    own.rename(tmp_path / "away")
    victim.mkdir()
    (victim / "journal.json.sealed").write_text("mine")
    own.symlink_to(victim)
    refused = machines("desk", "push")
    assert (refused.code, "is a link" in refused.err) == (2, True)
    assert (victim / "journal.json.sealed").read_text() == "mine"
