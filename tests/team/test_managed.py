"""A file that device management lays down on a machine: the store, what is sent, and a command for its password."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from cli.conftest import run as run

from .postgres import Server
from .test_team_commands import People, people

__all__ = ["people", "run"]


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "managed.json"
    monkeypatch.setenv("REREAD_MANAGED", str(path))
    return path


def test_a_push_without_a_target_goes_where_the_file_says_as_the_file_says(people: People, file: Path) -> None:
    file.write_text(json.dumps({"store": people.url("ann"), "what": "text", "projects": "hashed"}))
    ran = people("ann", "push", "--json")
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)["what"] == "text"
    [row] = people.ask("ann", "usage", "project")["rows"]
    assert row["project"].startswith("#")
    assert people("ann", "team", "status").out.startswith(people.url("ann"))


def test_options_decide_before_the_file_and_the_file_is_about_its_own_store_alone(people: People, file: Path) -> None:
    file.write_text(json.dumps({"store": people.url("somebody"), "what": "text"}))
    assert people.push("ann", "--what", "ledger")["what"] == "ledger"
    assert people.push("ann")["what"] == "text"
    file.write_text(json.dumps({"store": "postgresql://elsewhere/team", "what": "all", "projects": "hashed"}))
    assert people.push("bob")["what"] == "ledger"
    assert [row["project"] for row in people.ask("bob", "usage", "project")["rows"]] == ["/src/granite"]


def test_a_machine_that_hid_names_goes_on_hiding_them_whatever_the_file_says(people: People, file: Path) -> None:
    people.push("ann", "--projects", "hashed")
    file.write_text(json.dumps({"store": people.url("ann"), "projects": "plain"}))
    assert people("ann", "push").code == 0
    [row] = people.ask("ann", "usage", "project")["rows"]
    assert row["project"].startswith("#")


def test_the_password_comes_from_a_command_each_time_and_goes_to_no_other_server(
    people: People, file: Path, server: Server, tmp_path: Path
) -> None:
    rules = server.data / "pg_hba.conf"
    rules.write_text(f"host all ann 127.0.0.1/32 scram-sha-256\n{rules.read_text()}")
    server.run("ALTER ROLE ann PASSWORD 'for-an-hour'", "SELECT pg_reload_conf()")
    asked = tmp_path / "asked"
    command = [sys.executable, "-c", f"open({str(asked)!r}, 'a').write('x'); print('for-an-hour')"]
    try:
        assert "password" in people("ann", "push", people.url("ann")).err
        file.write_text(json.dumps({"store": people.url("ann"), "password_command": command}))
        assert people("ann", "push").code == 0
        assert people("ann", "team", "status").code == 0
        assert asked.read_text() == "xx"
        assert "for-an-hour" not in (tmp_path / "ann" / "archive" / "exchange.json").read_text()
        ran = people("ann", "push", people.url("ann").rpartition("/")[0] + "/postgres")
        assert (ran.code, asked.read_text()) == (2, "xx"), ran.err
        file.write_text(json.dumps({"store": people.url("ann"), "password_command": ["false"]}))
        assert people("ann", "push").err.endswith("no password for the store: 'false' ended with 1\n")
    finally:
        rules.write_text(rules.read_text().partition("\n")[2])
        server.run("ALTER ROLE ann PASSWORD NULL", "SELECT pg_reload_conf()")


@pytest.mark.parametrize("text", ["{", '{"stroe": "postgresql://db.example/team"}', '{"what": "everything"}'])
def test_a_file_that_cannot_be_understood_sends_nothing(people: People, file: Path, text: str) -> None:
    file.write_text(text)
    ran = people("ann", "push")
    assert ran.code == 2
    assert str(file) in ran.err
