"""Today's cost and the burn rate of a status line; a request of Opus 4.8 `in 1,000, out 1,000` is $0.03."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from reread.archive import Archive
from reread.archive.status import SpentToday, spent
from reread.records.client_input import StatusLine
from reread.testing import a_prompt, a_reply, a_session, a_usage

ID = "0a1b2c3d-1111-4222-8333-444455556666"
CENT = 10_000_000


@pytest.fixture(params=["UTC", "Asia/Kathmandu", "Pacific/Auckland", "America/St_Johns"])
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    if sys.platform == "win32":
        pytest.skip("Windows has no tzset")
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield request.param
    monkeypatch.undo()
    time.tzset()


def taken(folder: Path, *times: datetime, session: str = ID) -> Path:
    stamps = [moment.astimezone(UTC).isoformat().replace("+00:00", "Z") for moment in times]
    replies = [a_reply("yes", usage=a_usage(1_000, 1_000), timestamp=stamp) for stamp in stamps]
    a_session(a_prompt("go", timestamp=stamps[0]), *replies, id=session).write(folder / "projects")
    with Archive(folder / "home", [folder / "projects"], machine="desk") as archive:
        archive.sync()
    return folder / "home"


def at(clock: str) -> datetime:
    return datetime.fromisoformat(f"2026-03-{clock}:00").astimezone()


def draw(home: Path, now: datetime, **said: Any) -> SpentToday:
    moment = int(now.timestamp() * 1000)
    return spent(str(home), StatusLine({"session_id": ID, **said}, moment), moment)


def cost(dollars: float, minutes: int) -> dict[str, float]:
    return {"total_cost_usd": dollars, "total_duration_ms": minutes * 60_000}


def test_today_begins_at_local_midnight(tmp_path: Path, zone: str) -> None:
    home = taken(tmp_path, at("04T23:50"), at("05T00:05"), at("05T00:20"))
    assert draw(home, at("05T00:30")).today == 6 * CENT, zone
    assert draw(home, at("04T23:59")).today == 9 * CENT, "what lies ahead of the clock is not hidden"
    assert draw(home, at("06T00:00")).today == 0


def test_a_session_of_today_that_was_not_taken_in_yet_counts_as_told(tmp_path: Path) -> None:
    home = taken(tmp_path, at("05T09:00"), session="another")
    assert draw(home, at("05T10:00"), cost=cost(0.5, 10)).today == 53 * CENT


def test_of_a_session_the_archive_has_only_what_it_lacks_is_added(tmp_path: Path) -> None:
    home = taken(tmp_path, at("05T09:00"), at("05T09:05"))
    assert draw(home, at("05T10:00"), cost=cost(0.25, 70)).today == 25 * CENT
    assert draw(home, at("05T10:00"), cost=cost(0.01, 70)).today == 25 * CENT, "a late line takes nothing back"


def test_a_session_that_began_before_today_adds_nothing(tmp_path: Path) -> None:
    """Nobody knows how much of its total was spent yesterday."""
    home = taken(tmp_path, at("05T09:00"), session="another")
    assert draw(home, at("05T10:00"), cost=cost(0.5, 20 * 60)).today == 3 * CENT


def test_an_archive_without_any_usage_says_nothing(tmp_path: Path) -> None:
    with Archive(tmp_path / "home", machine="desk") as archive:
        archive.safe.status()
    found = draw(tmp_path / "home", at("05T10:00"))
    assert (found.today, found.hourly) == (None, None)


def test_the_burn_rate_is_that_of_the_open_block(tmp_path: Path) -> None:
    """Six cents from 10:05 to 10:35 are twelve an hour; what was before the block does not matter."""
    home = taken(tmp_path, at("05T01:00"), at("05T10:05"), at("05T10:35"))
    assert draw(home, at("05T10:40")).hourly == 12 * CENT
    assert draw(home, at("05T16:00")).hourly is None, "no block is open any more"


def test_one_request_has_no_rate(tmp_path: Path) -> None:
    home = taken(tmp_path, at("05T10:05"))
    assert draw(home, at("05T10:40")).hourly is None


def test_a_told_window_is_the_open_block(tmp_path: Path) -> None:
    """By the estimate all three lie in one block from nine o'clock; the limit was told to begin at half past eleven."""
    home = taken(tmp_path, at("05T09:00"), at("05T11:30"), at("05T12:00"))
    assert draw(home, at("05T12:10")).hourly == 3 * CENT
    limit = {"used_percentage": 5, "resets_at": at("05T16:30").timestamp()}
    assert draw(home, at("05T12:10"), rate_limits={"five_hour": limit}).hourly == 12 * CENT
