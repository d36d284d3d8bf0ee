"""What the client counted beside what transcripts add up to; the money is worked out by hand.

Opus 4.8 costs 5 in, 25 out, 0.5 read per million: `in 1,000, out 1,000, read 5,000` is
5,000 + 25,000 + 2,500 = 32,500 micro-dollars.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from reread.archive import Archive, Reconciled
from reread.archive.billing import figure_of
from reread.index import client_totals
from reread.records.client_input import StatusLine
from reread.testing import Entry, a_line, a_prompt, a_reply, a_session, a_subagent, a_usage

ID = "0a1b2c3d-1111-4222-8333-444455556666"
FORK = "0f0f0f0f-1111-4222-8333-444455556666"
BEGAN = 1_772_359_200_000
"""2026-03-01T10:00:00Z."""
TIME = "2026-03-01T10:00:00.000Z"


def a_request(name: str = "msg_A", **fields: Any) -> Entry:
    return a_reply("yes", id=name, usage=a_usage(1_000, 1_000, cache_read=5_000), timestamp=TIME, **fields)


def a_cost_state(dollars: float, lasted: int = 60_000) -> Entry:
    return a_line("cost-state", totalCostUSD=dollars, totalDuration=lasted, startTime=BEGAN)


def write(folder: Path, *entries: Any, session: str = ID) -> None:
    a_session(a_prompt("go", timestamp=TIME), *entries, id=session).write(folder / "projects")


def synced(folder: Path, *more: Path) -> Archive:
    archive = Archive(folder / "home", [folder / "projects", *more], machine="desk")
    archive.sync()
    return archive


def reconciled(folder: Path, *more: Path) -> dict[str, Reconciled]:
    with synced(folder, *more) as archive:
        return archive.billing.reconciliation()


def test_the_difference_is_what_the_client_counted_beyond_the_transcripts(tmp_path: Path) -> None:
    """A title and a compaction for 17,500 micro-dollars: 35 % of the client's 50,000."""
    write(tmp_path, a_request(), a_cost_state(0.02, 30_000), a_cost_state(0.05))
    found = reconciled(tmp_path)[ID]
    assert (found.client, found.transcripts, found.difference) == (50_000_000, 32_500_000, 17_500_000)
    assert (found.source, found.said) == ("cost-state", datetime(2026, 3, 1, 10, 1, tzinfo=UTC))
    assert found.share == 0.35


def test_agents_belong_to_what_the_transcripts_tell(tmp_path: Path) -> None:
    write(tmp_path, a_request(), a_subagent(a_prompt("look"), a_request("msg_B")), a_cost_state(0.065))
    assert reconciled(tmp_path)[ID].difference == 0


def test_a_fork_is_held_against_everything_in_its_own_file(tmp_path: Path) -> None:
    """It carries on its parent's total: $0.0325 that are the parent's, and as much of its own."""
    write(tmp_path, a_request(), a_cost_state(0.0325))
    write(tmp_path, a_request(), a_request("msg_B"), a_cost_state(0.065), session=FORK)
    found = reconciled(tmp_path)
    assert {name: each.difference for name, each in found.items()} == {ID: 0, FORK: 0}


def test_a_client_that_says_less_has_a_difference_below_zero(tmp_path: Path) -> None:
    write(tmp_path, a_request(), a_cost_state(0.0225))
    assert reconciled(tmp_path)[ID].difference == -10_000_000


def test_a_session_nobody_said_anything_about_is_not_there(tmp_path: Path) -> None:
    write(tmp_path, a_request())
    assert reconciled(tmp_path) == {}


def test_a_session_without_a_price_has_no_difference(tmp_path: Path) -> None:
    write(tmp_path, a_request(model="glm-5.1"), a_cost_state(0.05))
    found = reconciled(tmp_path)[ID]
    assert (found.client, found.transcripts, found.difference, found.share) == (50_000_000, None, None, None)


def a_capture(folder: Path, name: str, *totals: float) -> Path:
    path = folder / name
    frames = [{"type": "result", "session_id": ID, "is_error": False, "total_cost_usd": total} for total in totals]
    assistant = {
        "type": "assistant",
        "session_id": ID,
        "message": {
            "id": "msg_A",
            "role": "assistant",
            "model": "claude-opus-4-8",
            "content": [{"type": "text", "text": "yes"}],
            "usage": a_usage(1_000, 1_000, cache_read=5_000),
        },
    }
    path.write_text("".join(json.dumps(frame) + "\n" for frame in [assistant, *frames]))
    return path


def test_the_result_frames_of_a_captured_run_are_its_running_total(tmp_path: Path) -> None:
    write(tmp_path, a_request())
    found = reconciled(tmp_path, a_capture(tmp_path, "run.jsonl", 0.01, 0.04))[ID]
    assert (found.client, found.source, found.difference) == (40_000_000, "result", 7_500_000)


def test_captured_runs_that_each_began_at_zero_are_added_up(tmp_path: Path) -> None:
    write(tmp_path, a_request())
    found = reconciled(tmp_path, a_capture(tmp_path, "1.jsonl", 0.04), a_capture(tmp_path, "2.jsonl", 0.03))[ID]
    assert found.client == 70_000_000


def test_of_several_sources_the_one_that_missed_least_is_taken(tmp_path: Path) -> None:
    write(tmp_path, a_request(), a_cost_state(0.05))
    with synced(tmp_path, a_capture(tmp_path, "run.jsonl", 0.04)) as archive:
        assert archive.billing.reconciliation()[ID].source == "cost-state"
        line = StatusLine({"session_id": ID, "cost": {"total_cost_usd": 0.06}}, BEGAN + 5_000)
        client_totals.keep(archive.inner.connection, line, "desk", BEGAN + 5_000)
        found = archive.billing.reconciliation()[ID]
    assert (found.source, found.client, found.difference) == ("statusline", 60_000_000, 27_500_000)


@pytest.mark.parametrize(
    ("counts", "together"),
    [
        ([(1, 5)], 5),
        ([(1, 5), (5, 7)], 7),
        ([(1, 5), (6, 9)], 9),
        ([(1, 5), (0, 2)], 7),
        ([(1, 5), (0, 9)], 14),
        ([(1, 5), (0, 2), (2, 3), (1, 1)], 9),
    ],
)
def test_a_count_that_goes_on_replaces_and_one_that_began_at_zero_is_added(
    counts: Sequence[tuple[int, int]], together: int
) -> None:
    rows = [(ID, "statusline", None, number, *count) for number, count in enumerate(counts)]
    assert figure_of("statusline", rows).nanodollars == together


def test_clients_that_run_side_by_side_are_counted_once_each() -> None:
    """One at $5, then $6, the other at $0.20 in between: the same beginning is the same count."""
    told = [(0, 50), (9_000_000, 2), (400, 60)]
    rows = [(ID, "statusline", began, time, 1, total) for time, (began, total) in enumerate(told)]
    assert figure_of("statusline", rows).nanodollars == 62


def test_a_run_that_was_not_carried_on_is_added_though_it_cost_more(tmp_path: Path) -> None:
    write(tmp_path, a_request(), a_line("cost-state", totalCostUSD=0.04), a_line("cost-state", totalCostUSD=0.01))
    assert reconciled(tmp_path)[ID].client == 50_000_000
    more = [a_line("cost-state", totalCostUSD=dollars) for dollars in (0.04, 0.01, 0.06)]
    write(tmp_path, a_request(), *more)
    assert reconciled(tmp_path)[ID].client == 100_000_000
