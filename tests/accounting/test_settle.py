"""Who owns a response and which copy counts depends on what the copies say, never on when or whence they came."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from accounting.books import a_response
from accounting.traps import write_traps
from reread.archive import Archive
from reread.archive.filters import Filter
from reread.billing import Doubt, Response, packaged_prices
from reread.billing.response import settle, settle_all
from reread.index.usage_sums import cells
from reread.ingest.cold_usage import Behind, count
from reread.keys import file_key
from reread.testing import Entry, a_prompt, a_session, a_subagent, a_usage

MACHINES = ("desk", "laptop")
OPUS = "claude-opus-4-8"

copies_of_one = st.lists(
    st.builds(
        Response,
        key=st.just("msg_A"),
        file=st.sampled_from("abcdef"),
        time=st.one_of(st.none(), st.integers(0, 3)),
        began=st.one_of(st.none(), st.integers(0, 2)),
        ended=st.one_of(st.none(), st.integers(2, 4)),
        output=st.integers(0, 2),
        cache_read=st.integers(0, 9),
        web_searches=st.integers(0, 2),
        is_sidechain=st.booleans(),
        doubt=st.sampled_from(Doubt),
        context=st.integers(1, 9),
    ),
    min_size=1,
    unique_by=lambda copy: copy.file,
)


@given(copies_of_one, st.randoms())
def test_copies_settle_alike_in_any_order(copies: list[Response], chance: random.Random) -> None:
    shuffled = chance.sample(copies, len(copies))
    settled = settle(copies)
    assert settle(shuffled) == settled
    [owner] = [copy for copy in copies if copy.file == settled.owner]
    [counted] = [copy for copy in copies if copy.file == settled.file]
    assert owner.is_sidechain <= min(copy.is_sidechain for copy in copies)
    assert counted.output == settled.output == max(copy.output for copy in copies)
    assert (settled.time, settled.owner_context) == (owner.time, owner.context)
    assert (settled.cache_read, settled.context) == (counted.cache_read, counted.context)


BASE = Response(key="msg_A", file="m", time=5, began=1, ended=9, output=2)
NEARER = {
    "main before sidechain": (replace(BASE, is_sidechain=True, time=1), replace(BASE, file="z")),
    "earliest row": (replace(BASE, time=6, began=0), replace(BASE, file="z")),
    "any time before none": (replace(BASE, time=None), replace(BASE, file="z")),
    "conversation that began first": (replace(BASE, began=2), replace(BASE, file="z")),
    "conversation that ended first": (replace(BASE, ended=10), replace(BASE, file="z")),
    "smaller digest of the file's beginning": (replace(BASE, head="b"), replace(BASE, head="a", file="z")),
    "smaller file key": (replace(BASE, file="n"), BASE),
}


@pytest.mark.parametrize("rule", NEARER)
def test_a_rule_decides_before_those_after_it(rule: str) -> None:
    farther, nearer = NEARER[rule]
    assert settle([farther, nearer]).owner == settle([nearer, farther]).owner == nearer.file


def test_the_owners_day_makes_the_price() -> None:
    """R4 and R21: the replay of the worked example, whichever copy counts."""
    day = 86_400_000
    early = Response(key="msg_A", file="a", time=day * 20_000, output=1, model=OPUS)
    late = replace(early, file="b", time=day * 20_500, output=200)
    [settled] = settle_all([late, early], packaged_prices().priced)
    assert (settled.owner, settled.file, settled.time) == ("a", "b", early.time)
    assert settled.nanodollars == 200 * 25_000


class Told(NamedTuple):
    """One session to write: which of the shared responses it tells, and how."""

    machine: int
    numbers: tuple[int, ...]
    outputs: tuple[int, ...]
    late: bool
    in_agent: tuple[int, ...]
    mtime: int


sessions = st.lists(
    st.builds(
        Told,
        machine=st.integers(0, 1),
        numbers=st.lists(st.integers(0, 5), max_size=5, unique=True).map(tuple),
        outputs=st.tuples(*[st.integers(1, 3)] * 6),
        late=st.booleans(),
        in_agent=st.lists(st.integers(0, 5), max_size=2, unique=True).map(tuple),
        mtime=st.integers(1, 3),
    ),
    min_size=2,
    max_size=5,
)


def written(folder: Path, made: list[Told]) -> list[list[Path]]:
    """The files of each session; a session that is `late` tells the same responses a minute later."""
    found = []
    for number, told in enumerate(made):
        place = folder / MACHINES[told.machine]
        before = set(place.rglob("*.jsonl"))
        own = [response(each, told) for each in told.numbers]
        agent = [a_subagent(*[response(each, told) for each in told.in_agent])] if told.in_agent else []
        name = f"{number:08}-0000-4000-8000-000000000000"
        a_session(a_prompt("go"), *own, *agent, id=name, cwd=f"/home/ann/{number}").write(place)
        files = sorted(set(place.rglob("*.jsonl")) - before)
        for path in files:
            os.utime(path, ns=(told.mtime * 10**18, told.mtime * 10**18))
        found.append(files)
    return found


def response(number: int, told: Told) -> Entry:
    output = told.outputs[number]
    advice = [{"type": "advisor_message", "model": "claude-opus-5", "input_tokens": output, "output_tokens": number}]
    usage = a_usage(10, output, cache_read=told.mtime, iterations=advice if number == 0 else None)
    return a_response(usage, f"2026-11-02T10:{number:02}:{30 * told.late:02}.000Z", id=f"msg_{number}")


ROWS = """SELECT response.key, owner.key, counts.key, response.time, input, output, cache_read, web_searches,
    is_sidechain, doubt, rows, files, nanodollars, saved, place.project
    FROM response JOIN file AS owner ON owner.id = response.owner JOIN file AS counts ON counts.id = response.counted
    JOIN context AS place ON place.id = response.owner_context ORDER BY 1"""


def rows_after(folder: Path, made: list[Told], files: list[list[Path]], order: list[int]) -> list[object]:
    """What the ledger says when sessions come one after the other, a sync each; then all are taken in once more."""
    home = folder / "home" / "-".join(map(str, order))
    aside = folder / "aside"
    for path in (each for group in files for each in group):
        moved(path, folder, aside)
    for number in order:
        for path in files[number]:
            moved(aside / path.relative_to(folder), aside, folder)
        machine = MACHINES[made[number].machine]
        with Archive(home, [folder / machine], machine=machine) as archive:
            assert archive.sync().problems == []
    with Archive(home, [folder / MACHINES[0]], machine=MACHINES[0]) as archive:
        archive.sync()
        counted = list(cells(archive.inner.connection))
        found: list[object] = list(archive.sql(ROWS)[1])
    assert cold(folder, made, files) == counted
    return found


def moved(path: Path, root: Path, other: Path) -> None:
    target = other / path.relative_to(root)
    target.parent.mkdir(parents=True, exist_ok=True)
    path.rename(target)


def cold(folder: Path, made: list[Told], files: list[list[Path]]) -> list[tuple[object, ...]]:
    """The sums by quarter straight from the sources, without an archive that knows anything of them."""
    jobs = [
        Behind(file_key(MACHINES[told.machine], str(path)), str(path), path.stat().st_size, path.stat().st_mtime_ns)
        for told, group in zip(made, files, strict=True)
        for path in group
    ]
    with Archive(folder / "empty", [], machine="desk") as archive:
        return list(count(jobs, archive.inner.connection, archive.prices).cells)


@settings(max_examples=8, deadline=None)
@given(sessions, st.randoms(use_true_random=False))
def test_the_ledger_is_the_same_in_whatever_order_files_and_machines_come(
    made: list[Told], chance: random.Random
) -> None:
    orders = [list(range(len(made))), chance.sample(range(len(made)), len(made))]
    with TemporaryDirectory(ignore_cleanup_errors=True) as name:
        files = written(Path(name), made)
        one, other = (rows_after(Path(name), made, files, order) for order in orders)
    assert one == other


def trapped(folder: Path) -> Iterator[Archive]:
    write_traps(folder / "projects")
    with Archive(folder / "home", [folder / "projects"], machine="desk") as archive:
        assert archive.sync().problems == []
        yield archive


def test_the_sums_kept_by_quarter_are_those_of_the_ledger(tmp_path: Path) -> None:
    """A report of days reads the sums; with a filter that lets everything pass, it reads the ledger."""
    for archive in trapped(tmp_path):
        for by in ("day", "week", "month", "block", "model"):
            everything = Filter(tool="*", since=datetime(2000, 1, 1, 0, 7, tzinfo=UTC))
            called = archive.usage(by, everything, UTC)
            assert called.totals.requests < archive.usage(by, timezone=UTC).totals.requests
            dated = archive.usage(by, Filter(since=datetime(2000, 1, 1, tzinfo=UTC)), UTC)
            assert archive.usage(by, Filter(since=datetime(2000, 1, 1, 0, 7, tzinfo=UTC)), UTC) == dated
