"""Nobody holds up the others for long, and who waits says for whom."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import psycopg
import pytest

from reread.archive.filters import Filter
from reread.billing import packaged_prices
from reread.errors import StoreAway
from reread.team import store as stores
from reread.team.payload import push
from reread.team.questions import listed
from reread.team.store import LIMITS, Store, database_errors, initialise, retain
from reread.testing import a_prompt, a_reply, a_session

from .conftest import Team
from .test_interrupted import sessions_there, start_push
from .test_teams_apart import IDS

HOLD = "SELECT pg_advisory_xact_lock(7824361)"


@pytest.fixture
def pair(team: Team, tmp_path: Path) -> Team:
    for person in ("ann", "bob"):
        team.join(person, "red")
        a_session(a_prompt("one"), a_reply("yes"), id=IDS[person]).write(tmp_path / person / "projects")
    return team


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(stores.LIMITS, "lock_timeout", "100ms")
    monkeypatch.setattr(stores, "_PATIENCE", 0.5)


def pushed(team: Team, person: str, said: list[str]) -> int:
    with team.archive(person) as archive, Store(team.url(person), tell=said.append) as store:
        return push(archive, store, None).sent


@pytest.mark.usefixtures("hasty")
def test_who_waits_says_for_whom_and_goes_on(pair: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stores, "_PATIENCE", 60)
    said: list[str] = []
    with psycopg.connect(pair.url("bob"), application_name="asleep") as holder:
        holder.execute("SET idle_in_transaction_session_timeout = '1s'")
        holder.execute(HOLD)
        assert pushed(pair, "ann", said) == 1
        [sentence] = said
        assert sentence.startswith("waiting for bob (asleep, process ")
        assert "which is writing to postgresql://" in sentence
        with (
            pytest.raises(StoreAway, match="asleep in the middle of a change; the same again goes on"),
            database_errors(),
        ):
            holder.execute("SELECT 1")


@pytest.mark.usefixtures("hasty")
def test_who_waits_too_long_ends_with_a_sentence(pair: Team) -> None:
    with psycopg.connect(pair.url("bob")) as holder:
        holder.execute(HOLD)
        gave_up = r"gave up waiting for bob \(.*\), which held .* for 0 s; .*pg_terminate_backend\(\d+\)"
        with pytest.raises(StoreAway, match=gave_up):
            pushed(pair, "ann", [])
        with pair.store("owner") as store, pytest.raises(StoreAway, match=gave_up):
            retain(store, 30)
        holder.rollback()
        holder.execute("SELECT FROM reread.seen_session")  # `init` changes the table
        with Store(pair.url("owner"), is_new=True) as store, pytest.raises(StoreAway, match="waiting for another"):
            initialise(store, packaged_prices())
    assert pushed(pair, "ann", []) == 1


@pytest.mark.skipif(sys.platform == "win32", reason="stops the process as Unix does")
def test_a_push_that_falls_asleep_holds_up_nobody(pair: Team, tmp_path: Path) -> None:
    for number in range(150):
        told = a_session(a_prompt("one"), a_reply("yes" * number), id=f"0a1b2c3d-1111-4222-8333-44445555{number:04}")
        told.write(tmp_path / "ann" / "projects")
    pair.archive("ann").close()
    with pair.store("owner") as store:
        asleep = start_push(pair, "ann", "--what", "all")
        try:
            for number in (1, 10, 40):
                while sessions_there(store) < number and asleep.poll() is None:
                    time.sleep(0.001)
                os.kill(asleep.pid, signal.SIGSTOP)
                a_session(a_prompt(f"{number}"), id=f"1b2c3d4e-2222-4333-8444-5555666{number:05}").write(
                    tmp_path / "bob" / "projects"
                )
                before = time.monotonic()
                assert pushed(pair, "bob", []) >= 1
                assert time.monotonic() - before < 10
                os.kill(asleep.pid, signal.SIGCONT)
            assert asleep.wait(60) == 0
        finally:
            asleep.kill()
            asleep.communicate()


def test_a_reader_that_falls_asleep_holds_up_no_retention(pair: Team, tmp_path: Path) -> None:
    old: dict[str, Any] = {"timestamp": "2025-03-10T10:00:00.000Z"}
    a_session(a_prompt("long ago", **old), a_reply("yes", **old), id="old").write(tmp_path / "ann" / "projects")
    pair.push("ann", "text")
    with pair.store("owner") as store:
        store.connection.execute("INSERT INTO reread.note VALUES ('retain_days', '30')")
    with psycopg.connect(pair.url("bob")) as reader:
        reader.execute('SELECT FROM reread.search(NULL, \'{"query": "x"}\')')
        assert pushed(pair, "bob", []) == 1
        with pair.store("owner") as store:
            assert store.rows("SELECT count(*) FROM reread.text WHERE time < 1750000000000") == [(0,)]


def test_the_database_limits_clients_that_limit_nothing(pair: Team) -> None:
    with Store(pair.url("owner"), is_new=True) as store:
        name = pair.name
        store.connection.execute(f"ALTER DATABASE {name} SET statement_timeout = '1h'".encode())
        initialise(store, packaged_prices())
        assert store.one("SHOW statement_timeout") == "0"
    mine = {**LIMITS, "statement_timeout": "1h"}
    with psycopg.connect(pair.url("ann")) as other, pair.store("ann") as store:
        for each in ("lock_timeout", "statement_timeout", "idle_in_transaction_session_timeout"):
            assert other.execute(f"SHOW {each}".encode()).fetchone() == (mine[each],)
            assert store.connection.execute(f"SHOW {each}".encode()).fetchone() == (LIMITS[each],)
        [(settings,)] = store.rows(
            "SELECT setconfig FROM pg_db_role_setting JOIN pg_database ON oid = setdatabase"
            " WHERE datname = current_database()"
        )
        assert {f"{each}={value}" for each, value in mine.items()} == set(settings)


def test_what_an_address_says_comes_before_the_defaults(pair: Team) -> None:
    with Store(pair.url("ann") + "?application_name=mine&keepalives_idle=7") as store:
        assert store.one("SHOW application_name") == "mine"
        assert store.connection.info.get_parameters()["keepalives_idle"] == "7"
        assert store.connection.info.get_parameters()["tcp_user_timeout"] == "60000"
        assert listed(store, Filter()) == []
