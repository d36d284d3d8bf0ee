"""Two at once, a push that is killed, a server that is, a full disk: nothing half, nothing twice, and the sums of one
archive.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from datetime import UTC
from pathlib import Path

import pytest

from cli.running import PROGRAM, environment
from faults.test_full_disk import fill, small_disk
from reread.archive import Archive
from reread.archive.usage_report import UsageReport
from reread.billing import packaged_prices
from reread.errors import StoreAway
from reread.team.questions import usage
from reread.team.store import Store, verify
from reread.testing import a_prompt, a_reply, a_session
from trees import generate

from .conftest import Team
from .postgres import Server
from .test_exact_over_the_team import PEOPLE, split

HALVES = "SELECT count(*) FROM reread.session WHERE NOT has_text OR content_digest IS NULL"


@pytest.fixture
def crowd(team: Team, tmp_path: Path) -> Team:
    return with_crowd(team, tmp_path)


def with_crowd(team: Team, tmp_path: Path) -> Team:
    """People whose archives have parts of one tree, some of them twice."""
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
        while store.rows("SELECT FROM pg_stat_activity WHERE usename = 'ann'"):
            time.sleep(0.01)  # what had arrived completely is stored
        before = sessions_there(store)
        assert verify(store, packaged_prices())[1] == []
        assert store.rows(HALVES) == [(0,)]
    sent = crowd.push("ann", "all")
    assert sent.unchanged == before
    for person in PEOPLE[1:]:
        crowd.push(person)
    assert_whole(crowd, tmp_path)


@pytest.mark.skipif(sys.platform == "win32", reason="kills as Unix does")
def test_a_push_that_is_killed_while_lines_are_written_leaves_none_of_them(crowd: Team, tmp_path: Path) -> None:
    """The server waits in the middle of the fourth session of those it was sent together until the client is dead."""
    wait = """CREATE FUNCTION reread.wait() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                  IF new.position = 2 AND (SELECT count(*) FROM reread.session) > 3 THEN PERFORM pg_sleep(60); END IF;
                  RETURN new; END $$"""
    writing = "FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND usename = 'ann'"
    with crowd.store("owner") as store:
        store.connection.execute(wait)
        store.connection.execute(
            "CREATE TRIGGER wait BEFORE INSERT ON reread.text FOR EACH ROW EXECUTE FUNCTION reread.wait()"
        )
        pushing = start_push(crowd, "ann", "--what", "all")
        while store.rows(f"SELECT count(*) {writing}") == [(0,)] and pushing.poll() is None:
            time.sleep(0.005)
        pushing.kill()
        pushing.communicate()
        assert len(store.rows(f"SELECT pg_terminate_backend(pid, 10000) {writing}")) == 1
        assert sessions_there(store) == 0
        assert store.rows(HALVES) == [(0,)]
        assert verify(store, packaged_prices())[1] == []
        store.connection.execute("DROP TRIGGER wait ON reread.text")
    assert crowd.push("ann", "all").unchanged == 0
    for person in PEOPLE[1:]:
        crowd.push(person)
    assert_whole(crowd, tmp_path)


def test_a_server_that_crashes_costs_one_try(crowd: Team, tmp_path: Path) -> None:
    stop = threading.Event()

    def crash() -> None:
        with crowd.store("owner") as store:
            while sessions_there(store) < 3 and not stop.is_set():
                time.sleep(0.01)
        crowd.server.stop("immediate")

    crashing = threading.Thread(target=crash)
    crashing.start()
    try:
        with pytest.raises(StoreAway):
            while True:  # until it is gone, however long it takes to go
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
    with team.store("owner") as store:
        assert sessions_there(store) == 2


@pytest.fixture
def cramped(server: Server, tmp_path: Path) -> Iterator[tuple[Team, Path]]:
    """A store whose files lie on a small disk, and that disk."""
    if sys.platform == "win32" or os.geteuid() != 0:
        pytest.skip("a small disk for the server has to be mounted, which wants root")
    with small_disk(server.data.parent / tmp_path.name, 64 << 20) as disk:
        place = disk / "space"
        place.mkdir()
        team = Team(server, tmp_path, place)
        yield with_crowd(team, tmp_path), disk
        server.drop(team.name)


@pytest.mark.parametrize("room", [0, 200_000, 800_000])
def test_a_full_disk_on_the_server_is_one_sentence_and_costs_one_try(
    cramped: tuple[Team, Path], tmp_path: Path, room: int
) -> None:
    team, disk = cramped
    with team.store("owner") as store:
        fill(disk, room)
        pushing = start_push(team, "ann", "--what", "all")
        out, err = pushing.communicate(timeout=180)
        assert (pushing.returncode, out) == (2, b"")
        assert err.count(b"\n") == 1
        assert b"no room left on its disk" in err
        before = sessions_there(store)
        assert verify(store, packaged_prices())[1] == []
        assert store.rows(HALVES) == [(0,)]
        (disk / "ballast").unlink()
        sent = team.push("ann", "all")
        assert (sent.unchanged, sent.problems) == (before, [])
        assert sent.sent
    for person in PEOPLE[1:]:
        team.push(person)
    assert_whole(team, tmp_path)
