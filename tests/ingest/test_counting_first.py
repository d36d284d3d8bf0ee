"""Usage straight from the sources: the same numbers as after a sync, and nothing taken in."""

from __future__ import annotations

from datetime import UTC
from pathlib import Path

import pytest

import reread.archive.billing
import reread.ingest.cold_usage
from reread.archive import Archive, UsageReport
from reread.billing.scan import scan
from reread.testing import Entry, a_line, a_prompt, a_reply, a_session, a_subagent, a_usage
from trees import Tree, a_tree, append, cells_in, cells_of, merged

CORPUS = Path(__file__).parents[3] / "shared" / "corpus"
ID = "0a1b2c3d-1111-4222-8333-444455556666"


@pytest.fixture(autouse=True)
def never_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sync of little is quick, and then nobody counts ahead of it."""
    monkeypatch.setattr(reread.archive.billing, "QUICK_SYNC", 1)


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return a_tree(tmp_path, size=400_000, seed=11)


def ahead(archive: Archive) -> UsageReport:
    found = archive.billing.usage_ahead("day", timezone=UTC)
    assert found is not None
    return found


def sums(report: UsageReport) -> object:
    """All but the lines that were read: ahead of a sync only those are that tell of usage."""
    told = report.accounting
    return report.rows, report.totals, told.requests, told.duplicates_collapsed, told.suspect_output_requests


def test_counting_ahead_gives_the_report_of_a_full_sync_and_takes_nothing_in(tree: Tree) -> None:
    with tree.archive() as archive:
        counted = ahead(archive)
        assert archive.sessions() == []
        assert cells_in(counted) == merged(tree.truth.cells)
        archive.sync()
        assert sums(archive.usage("day", timezone=UTC)) == sums(counted)


@pytest.mark.shared
@pytest.mark.skipif(not CORPUS.is_dir(), reason="no recorded transcripts beside the project")
@pytest.mark.parametrize("part", ["recorded", "labelled", "handmade"])
def test_recorded_sessions_count_the_same_ahead_and_afterwards(part: str, tmp_path: Path) -> None:
    """To the nano-dollar, whatever version wrote them, friction or not."""
    with Archive(tmp_path / "home", [CORPUS / part], machine="desk") as archive:
        counted = ahead(archive)
        archive.sync(is_quick=True)
        assert sums(archive.usage("day", timezone=UTC)) == sums(counted)
        assert counted.totals.nanodollars


def test_counting_by_workers_gives_the_same_cells(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reread.workers.ALONE_BELOW", 0)
    monkeypatch.setattr(reread.ingest.cold_usage, "_SHARE", 100_000)
    with tree.archive() as archive:
        assert cells_in(ahead(archive)) == merged(tree.truth.cells)


def test_what_was_added_to_a_synced_tree_counts_with_what_is_in_the_archive(tree: Tree) -> None:
    with tree.archive() as archive:
        archive.sync()
        append(tree.source, tree.truth)
        counted = ahead(archive)
        assert cells_in(counted) == merged(tree.truth.cells)
        archive.sync()
        assert cells_of(archive) == cells_in(counted)


def test_little_that_is_new_is_better_synced(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    with tree.archive() as archive:
        monkeypatch.setattr(reread.archive.billing, "QUICK_SYNC", 10**9)
        assert archive.billing.usage_ahead("day") is None
        monkeypatch.setattr(reread.archive.billing, "QUICK_SYNC", 1)
        assert archive.billing.usage_ahead("session") is None
        archive.sync()
        assert archive.billing.usage_ahead("day") is None


def a_request(name: str) -> tuple[Entry, Entry]:
    return a_prompt("go"), a_reply("yes", id=name)


def test_counting_a_rewritten_file_leaves_out_what_it_said_before(tmp_path: Path) -> None:
    a_session(*a_request("msg_old"), id=ID).write(tmp_path / "projects")
    with Archive(tmp_path / "home", [tmp_path / "projects"], machine="desk") as archive:
        archive.sync()
        a_session(*a_request("msg_new_one"), id=ID).write(tmp_path / "projects")
        counted = ahead(archive)
        archive.sync()
        assert sums(archive.usage("day", timezone=UTC)) == sums(counted)
        assert counted.totals.requests == 1


def test_gateway_replies_are_counted_alike_by_both(tmp_path: Path) -> None:
    """Without an id of the API, the chain of lines or the line's own uuid tells responses apart."""
    entries = [a_reply("one", "two", id="ocgo", requestId=None), a_prompt("on"), a_reply("three", id="ocgo")]
    without = [a_reply("four", id=None), a_prompt("on"), a_reply("five", id=None)]
    agent = a_subagent(a_prompt("b"), a_reply("six", id="ocgo"), id="abc")
    a_session(a_prompt("go"), *entries, *without, agent, id=ID).write(tmp_path / "projects")
    with Archive(tmp_path / "home", [tmp_path / "projects"], machine="desk") as archive:
        counted = ahead(archive)
        archive.sync()
        assert sums(archive.usage("day", timezone=UTC)) == sums(counted)
        assert counted.totals.requests == 5


def test_a_time_before_1970_and_none_at_all_share_a_cell(tmp_path: Path) -> None:
    timeless = a_reply("no time", id="msg_timeless", timestamp=None)
    a_session(timeless, id=ID).write(tmp_path / "projects")
    old = a_reply("old", id="msg_old", timestamp="1960-01-05T09:00:00.000Z")
    a_session(old, id=ID.replace("0a", "0b")).write(tmp_path / "projects")
    with Archive(tmp_path / "home", [tmp_path / "projects"], machine="desk") as archive:
        counted = ahead(archive)
        archive.sync()
        assert sums(archive.usage("day", timezone=UTC)) == sums(counted)
        assert counted.totals.requests == 2


@pytest.mark.parametrize(
    "oddity",
    [
        pytest.param({"timestamp": None}, id="no time"),
        pytest.param({"timestamp": "2026-03-01T10:00:00+01:00"}, id="another form of time"),
        pytest.param({"isSidechain": True}, id="rows of a sidechain"),
        pytest.param({"model": "<synthetic>"}, id="a local notice"),
        pytest.param({"model": None}, id="no model"),
        pytest.param({"usage": None}, id="no usage"),
        pytest.param({"usage": a_usage(1, 2, web_searches=3)}, id="searches in another row"),
        pytest.param(
            {"usage": a_usage(1, 900, iterations=[{"type": "advisor_message", "model": None, "input_tokens": 5}])},
            id="an advisor",
        ),
    ],
)
def test_odd_rows_are_counted_alike_by_both(tmp_path: Path, oddity: dict[str, object]) -> None:
    rows = [a_reply("yes", id="msg_A", usage=a_usage(10, 20)), a_reply("yes", id="msg_A", **oddity)]  # type: ignore[arg-type]
    a_session(a_prompt("go"), *rows, a_prompt("on"), a_reply("no", id="msg_B"), id=ID).write(tmp_path / "projects")
    with Archive(tmp_path / "home", [tmp_path / "projects"], machine="desk") as archive:
        counted = ahead(archive)
        archive.sync()
        assert sums(archive.usage("day", timezone=UTC)) == sums(counted)


@pytest.mark.parametrize(
    ("between", "is_scanned"),
    [
        pytest.param(b'{"type":"system","timestamp":"2026-03-02T10:00:00.000Z"}', True, id="dated"),
        pytest.param(b'{"type":"system","subtype":"init"}', True, id="no time"),
        pytest.param(b'{"type":"new-kind","timestamp":"2026-03-04T10:00:00.000Z"}', True, id="an unknown line"),
        pytest.param(b'{"type":"system","timestamp":"2026-03-02T10:00:00+01:00"}', False, id="another form of time"),
        pytest.param(b'{"type":"system","timestamp":1772445600}', False, id="a number"),
        pytest.param(b'{"type":"system","timestamp":"2026-13-02T10:00:00.000Z"}', False, id="no time there is"),
        pytest.param(b'{"type":"user","timestamp":"2026-03-02T10:00:00.000Z"', False, id="a line that was cut"),
        pytest.param(b'{"type":"system"}{"timestamp":"2026-03-02T10:00:00.000Z"}', False, id="two in one"),
    ],
)
def test_rows_of_a_stream_without_times_take_that_of_the_line_before(
    tmp_path: Path, between: bytes, is_scanned: bool
) -> None:
    """The first has none before it, the last two share what the line between tells, if it tells one."""
    session = a_session(
        a_reply("one", "two", id="msg_first", timestamp=None),
        a_prompt("go", timestamp="2026-03-01T10:00:00.000Z"),
        a_reply("three", id="msg_dated", timestamp=None),
        a_line("cut here"),
        a_reply("four", id="msg_between", timestamp=None),
        a_reply("five", id="msg_last", timestamp=None),
        id=ID,
    ).write(tmp_path / "projects")
    lines = session.read_bytes().splitlines()
    session.write_bytes(b"\n".join(between if b"cut here" in line else line for line in lines) + b"\n")
    assert (scan(session.read_bytes(), "key") is not None) is is_scanned
    with Archive(tmp_path / "home", [tmp_path / "projects"], machine="desk") as archive:
        counted = ahead(archive)
        archive.sync()
        assert sums(archive.usage("day", timezone=UTC)) == sums(counted)
        assert counted.totals.requests == 4
