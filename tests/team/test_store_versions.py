"""A client and a store of different ages: told in a sentence who has to do what, and nothing is harmed."""

from __future__ import annotations

from pathlib import Path

import pytest

from reread.billing import packaged_prices
from reread.errors import BadInput
from reread.team import store as stores
from reread.team.questions import usage
from reread.team.store import Store, initialise
from reread.testing import a_prompt, a_reply, a_session

from .conftest import Team

ID = "0a1b2c3d-1111-4222-8333-444455556666"


@pytest.fixture
def pushed(team: Team, tmp_path: Path) -> Team:
    team.join("ann", "red")
    a_session(a_prompt("one"), a_reply("yes"), id=ID).write(tmp_path / "ann" / "projects")
    team.push("ann", "text")
    return team


def test_a_client_that_is_older_than_the_store_is_told_to_update(pushed: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stores, "VERSION", stores.VERSION - 1)
    for role in ("ann", "owner"):
        with pytest.raises(BadInput, match=r"newer reread.*pip install --upgrade"):
            pushed.store(role)
    with Store(pushed.url("owner"), is_new=True) as store, pytest.raises(BadInput, match="newer reread"):
        initialise(store, packaged_prices())  # would put older functions in the place of newer ones


def test_a_store_that_is_older_than_the_client_is_updated_by_its_owner(
    pushed: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stores, "VERSION", stores.VERSION + 1)
    with pytest.raises(BadInput, match=r"older reread.*reread team init"):
        pushed.store("ann")
    with Store(pushed.url("owner"), is_new=True) as store:
        initialise(store, packaged_prices())
        assert store.note("version") == str(stores.VERSION)
    assert pushed.push("ann", "text").unchanged == 1
    with pushed.store("ann") as store:
        assert [row.key for row in usage(store, "person").rows] == ["ann"]
