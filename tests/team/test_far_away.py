"""A store across a network: a push makes few round trips, and the store is locked for none of them."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from reread.archive.filters import Filter
from reread.billing import packaged_prices
from reread.team.payload import push
from reread.team.questions import listed
from reread.team.store import Store, verify
from reread.testing import a_prompt, a_reply, a_session

from .conftest import Team
from .far_away import Network

SECONDS = 0.05


@pytest.fixture
def network(team: Team) -> Iterator[Network]:
    made = Network(team.server.port, SECONDS / 2)
    yield made
    made.close()


def sent(team: Team, network: Network, person: str, what: str) -> tuple[int, int, float]:
    """How many sessions a push sent, with how many round trips, in how many seconds."""
    url = team.url(person).replace(f":{team.server.port}/", f":{network.port}/")
    with team.archive(person) as archive, Store(url) as store:
        before, began = network.round_trips, time.monotonic()
        number = push(archive, store, None, what).sent
        return number, network.round_trips - before, time.monotonic() - began


@pytest.mark.parametrize("what", ["ledger", "text", "all"])
def test_a_push_makes_fewer_round_trips_than_it_sends_sessions(
    team: Team, network: Network, tmp_path: Path, what: str
) -> None:
    team.join("ann", "red")
    ids = [f"0a1b2c3d-1111-4222-8333-{number:012}" for number in range(40)]
    for name in ids:
        a_session(a_prompt("go"), a_reply("yes"), id=name).write(tmp_path / "ann" / "projects")
    number, trips, _ = sent(team, network, "ann", what)
    assert number == 40
    assert trips <= 9  # what is there, what is kept, three times sixteen sessions, how it went
    for name in ids:
        told = a_session(a_prompt("go"), a_reply("yes"), a_prompt("more"), a_reply("and more"), id=name)
        told.write(tmp_path / "ann" / "projects")
    number, trips, _ = sent(team, network, "ann", what)
    assert number == 40
    assert trips <= 12  # and what is there of the sixteen


def test_eight_who_push_at_once_from_far_away_are_not_slower_than_one_by_what_they_wait_for(
    team: Team, network: Network, tmp_path: Path
) -> None:
    people = [f"p{number}" for number in range(8)]
    for number, person in enumerate(people):
        team.join(person, "red")
        for session in range(12):  # every second one is had by all
            name = f"0a1b2c3d-1111-4222-8333-{session:04}{number * (session % 2):08}"
            a_session(a_prompt("go"), a_reply("yes"), id=name).write(tmp_path / person / "projects")
    found: list[tuple[int, int, float]] = []
    threads = [
        threading.Thread(target=lambda person=person: found.append(sent(team, network, person, "ledger")))
        for person in people
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert [number for number, _, _ in found] == [12] * 8
    with team.store("owner") as store:
        assert len(listed(store, Filter())) == 6 + 8 * 6
        assert verify(store, packaged_prices())[1] == []
