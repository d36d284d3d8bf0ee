"""Two at once, a push that is killed, a server that is: nothing half, nothing twice, and the sums of one archive."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import threading
import time
from datetime import UTC
from pathlib import Path

import pytest

from cli.running import PROGRAM, environment
from reread.archive import Archive
from reread.archive.usage_report import UsageReport
from reread.billing import packaged_prices
from reread.team.questions import usage
from reread.team.store import Store, StoreAway, verify
from reread.testing import a_prompt, a_reply, a_session
from trees import generate

from .conftest import Team
from .test_exact_over_the_team import PEOPLE, split


@pytest.fixture
def crowd(team: Team, tmp_path: Path) -> Team:
    generate(tmp_path / "tree", size=900_000, seed=5)
    split(tmp_path / "tree", tmp_path, 5)
    for person in PEOPLE:
        team.join(person, "builders")
        team.archive(person).close()
    return team


def assert_whole(team: Team, tmp_path: Path) -> None:
    with Archive(tmp_path / "all", [tmp_path / person for person in PEOPLE]) as whole, team.store("owner") as store:
        whole.sync()
        for by in ("day", "project"):
            expected: UsageReport = whole.usage(by, timezone=UTC)
            assert usage(store, by, timezone=UTC) == expected
        assert verify(store, packaged_prices())[1] == []


def test_all_push_at_once(crowd: Team, tmp_path: Path) -> None:
    problems: list[str] = []

    def run(person: str) -> None:
        problems.extend(crowd.push(person, random.choice(("ledger", "text"))).problems)

    threads = [threading.Thread(target=run, args=(person,)) for person in (*PEOPLE, *PEOPLE)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert problems == []
    assert_whole(crowd, tmp_path)


def start_push(team: Team, person: str, *options: str) -> subprocess.Popen[bytes]:
    words = ("push", team.url(person), "--no-sync", "--home", str(team.root / f"home-{person}"), *options)
    source = ("--source", str(team.root / person))
    return subprocess.Popen(
        [*PROGRAM, *words, *source], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
    )


def sessions_there(store: Store) -> int:
    return int(store.rows("SELECT count(*) FROM reread.session")[0][0])


@pytest.mark.skipif(sys.platform == "win32", reason="kills as Unix does")
@pytest.mark.parametrize("number", [1, 4, 9])
def test_a_push_that_is_killed_leaves_whole_sessions_and_goes_on(crowd: Team, tmp_path: Path, number: int) -> None:
    with crowd.store("owner") as store:
        pushing = start_push(crowd, "ann", "--what", "all")
        while sessions_there(store) < number and pushing.poll() is None:
            time.sleep(0.002)
        pushing.kill()
        pushing.communicate()
        before = sessions_there(store)
        assert verify(store, packaged_prices())[1] == []
        halves = "SELECT count(*) FROM reread.session WHERE text_digest IS NULL OR content_digest IS NULL"
        assert store.rows(halves) == [(0,)]
    sent = crowd.push("ann", "all")
    assert sent.unchanged == before
    for person in PEOPLE[1:]:
        crowd.push(person)
    assert_whole(crowd, tmp_path)


def test_a_server_that_crashes_costs_one_try(crowd: Team, tmp_path: Path) -> None:
    stop = threading.Event()

    def crash() -> None:
        with crowd.store("owner") as store:
            while sessions_there(store) < 3 and not stop.is_set():
                time.sleep(0.002)
        crowd.server.stop("immediate")

    crashing = threading.Thread(target=crash)
    crashing.start()
    try:
        with pytest.raises(StoreAway):
            for _ in range(50):
                crowd.push("ann", "text")
    finally:
        stop.set()
        crashing.join(60)
        crowd.server.start()
    for person in PEOPLE:
        assert crowd.push(person, "text").problems == []
    assert_whole(crowd, tmp_path)


@pytest.mark.skipif(sys.platform == "win32", reason="ends the process as Unix does")
def test_a_watching_push_waits_for_the_server_and_goes_on(team: Team, tmp_path: Path) -> None:
    team.join("ann", "red")
    projects = tmp_path / "ann" / "projects"
    a_session(a_prompt("one"), a_reply("yes"), id="0a1b2c3d-1111-4222-8333-444455556666").write(projects)
    watching = start_push(team, "ann", "--watch", "--json")
    assert watching.stdout is not None
    assert watching.stderr is not None
    try:
        assert json.loads(watching.stdout.readline())["sessions"]["sent"] == 1
        team.server.stop()
        try:
            a_session(a_prompt("two"), a_reply("yes"), id="1b2c3d4e-2222-4333-8444-555566667777").write(projects)
            assert b"cannot be reached" in watching.stderr.readline()
        finally:
            team.server.start()
        assert json.loads(watching.stdout.readline())["sessions"]["sent"] == 1
    finally:
        watching.kill()
        watching.communicate()
    with team.store("ann") as store:
        assert sessions_there(store) == 2
