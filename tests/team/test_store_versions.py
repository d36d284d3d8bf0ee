"""A client and a store of different ages: told in a sentence who has to do what, and nothing is harmed."""

from __future__ import annotations

from datetime import UTC
from pathlib import Path

import pytest

from reread.billing import packaged_prices
from reread.errors import BadInput
from reread.team import store as stores
from reread.team.questions import usage
from reread.team.store import Store, initialise, script
from reread.testing import a_prompt, a_reply, a_session

from .conftest import Team
from .postgres import Server

ID = "0a1b2c3d-1111-4222-8333-444455556666"


@pytest.fixture
def pushed(team: Team, tmp_path: Path) -> Team:
    team.join("ann", "red")
    a_session(a_prompt("one"), a_reply("yes"), id=ID).write(tmp_path / "ann" / "projects")
    team.push("ann", "text")
    return team


def test_a_client_that_the_store_no_longer_serves_is_told_to_update(
    pushed: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stores, "VERSION", stores.OLDEST_CLIENT - 1)
    for role in ("ann", "owner"):
        with pytest.raises(BadInput, match=r"newer reread.*pip install --upgrade"):
            pushed.store(role)
    with Store(pushed.url("owner"), is_new=True) as store, pytest.raises(BadInput, match="newer reread"):
        initialise(store, packaged_prices())  # would put older functions in the place of newer ones


def test_an_older_client_that_is_served_goes_on_and_is_told_what_it_cannot_send(pushed: Team) -> None:
    with pushed.store("owner") as store:
        store.connection.execute("UPDATE reread.note SET value = value::int + 1 WHERE name = 'version'")
        store.connection.execute("INSERT INTO reread.migration VALUES (99, 'moods of prompts')")
    said: list[str] = []
    with Store(pushed.url("ann"), tell=said.append) as store:
        assert [row.key for row in usage(store, "person").rows] == ["ann"]
    assert said == [f"{pushed.url('ann')} is newer than this reread, which does not know: moods of prompts"]
    assert pushed.push("ann", "text").unchanged == 1


def test_a_store_of_an_earlier_version_is_migrated_by_its_owner(pushed: Team, tmp_path: Path) -> None:
    with Store(pushed.url("owner"), is_new=True) as store:
        before = usage(store, "session", timezone=UTC)
        for change in (
            "DROP TABLE reread.person, reread.untidy, reread.migration CASCADE",
            "ALTER TABLE reread.member DROP COLUMN number CASCADE, ADD PRIMARY KEY (role, team)",
            "DELETE FROM reread.note WHERE name IN ('home', 'serves')",
            "UPDATE reread.note SET value = 3 WHERE name = 'version'",
        ):
            store.connection.execute(change.encode())
    with pytest.raises(BadInput, match=r"older reread.*reread team init"):
        pushed.store("ann")
    with Store(pushed.url("owner"), is_new=True) as store:
        for is_dry in (True, False):
            assert [each.number for each in initialise(store, packaged_prices(), is_dry=is_dry)] == [4]
            assert store.version() == (3 if is_dry else stores.VERSION)
        assert usage(store, "session", timezone=UTC) == before
        assert initialise(store, packaged_prices()) == []
    a_session(a_prompt("two"), a_reply("yes")).write(tmp_path / "ann" / "projects")
    assert (again := pushed.push("ann", "text")).unchanged == 1
    assert again.sent == 1
    with pushed.store("ann") as store:
        assert [row.key for row in usage(store, "team").rows] == ["red"]


def test_what_init_would_do_can_be_run_by_hand(server: Server) -> None:
    name = server.database()
    with Store(server.url("owner", name), is_new=True) as store:
        _, statements = script(store, packaged_prices())
        store.connection.execute("BEGIN")
        store.connection.execute(statements.encode())
        store.connection.execute("COMMIT")
    with Store(server.url("owner", name)) as store:
        assert usage(store, "person").rows == ()
