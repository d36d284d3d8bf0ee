"""Five-hour blocks: windows a status line told of take the place of the estimate, and of nothing else."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from reread import Tokens
from reread.archive.status import SECONDS, separate_windows, window_end, window_starts
from reread.archive.usage_report import FiveHourBlock, UsageRow, block, block_starts

DAY = datetime(2026, 10, 5, tzinfo=UTC)


def seconds(clock: str) -> int:
    hours, minutes = map(int, clock.split(":"))
    return int((DAY + timedelta(hours=hours, minutes=minutes)).timestamp())


def starts(*clocks: str, told: tuple[str, ...] = ()) -> list[str]:
    """The block of requests at some times of a day, by its time."""
    quarters = [seconds(clock) // 900 for clock in clocks]
    found = block_starts(quarters, separate_windows(map(seconds, told)))
    return [str(found[quarter])[11:16] for quarter in quarters]


def test_without_anybody_telling_a_block_begins_at_the_full_hour() -> None:
    assert starts("9:20", "11:00", "14:05", "20:00") == ["09:00", "09:00", "14:00", "20:00"]


def test_a_told_window_replaces_the_estimate() -> None:
    assert starts("9:20", "11:00", "14:05", "20:00", told=("9:30",)) == ["09:00", "09:30", "09:30", "20:00"]


def test_an_estimate_begins_no_earlier_than_the_told_window_before_it_ends() -> None:
    assert starts("9:45", "14:35", "19:20", "19:40", told=("9:30",)) == ["09:30", "14:30", "14:30", "19:30"]


def test_an_estimate_ends_where_a_told_window_begins() -> None:
    told = separate_windows([seconds("11:30")])
    assert starts("9:20", "11:20", "11:30", "16:20", "16:30", told=("11:30",)) == [
        "09:00",
        "09:00",
        "11:30",
        "11:30",
        "16:30",
    ]
    assert window_end(seconds("9:00"), told) == seconds("11:30")
    assert window_end(seconds("11:30"), told) == seconds("16:30")


def test_of_windows_that_overlap_the_first_counts() -> None:
    """Two accounts on one machine: a request lies in one block only."""
    assert starts("10:00", "12:00", "16:00", told=("9:00", "11:00", "9:01")) == ["09:00", "09:00", "16:00"]


@given(st.lists(st.integers(0, 400), unique=True), st.lists(st.integers(0, 360_000)))
def test_every_quarter_lies_in_exactly_one_block_and_blocks_do_not_overlap(
    quarters: list[int], told: list[int]
) -> None:
    windows = separate_windows(told)
    found = window_starts(sorted(quarters), windows)
    assert list(found) == sorted(quarters)
    for quarter, start in found.items():
        assert start // 900 <= quarter < start // 900 + SECONDS // 900
    order = list(found.values())
    assert order == sorted(order)


def a_row(start: str, first: str, last: str, nanodollars: int = 3_000_000_000) -> UsageRow:
    moments = [datetime.fromtimestamp(seconds(clock), UTC) for clock in (start, first, last)]
    key = moments[0].isoformat().replace("+00:00", "Z")
    return UsageRow(key=key, tokens=Tokens(requests=2, nanodollars=nanodollars), first=moments[1], last=moments[2])


def the_block(row: UsageRow, now: str, told: tuple[str, ...] = ()) -> FiveHourBlock:
    found = block(row, datetime.fromtimestamp(seconds(now), UTC), separate_windows(map(seconds, told)))
    assert found is not None
    return found


def test_a_told_block_is_no_estimate_and_is_projected_to_its_told_end() -> None:
    """$3 in two hours are $1.50 an hour; from 12:30 to 14:30 there are two more."""
    found = the_block(a_row("9:30", "10:00", "12:00"), "12:30", told=("9:30",))
    assert (found.is_estimate, found.is_open, found.end.hour, found.end.minute) == (False, True, 14, 30)
    assert found.dollars_per_hour == 1.5
    assert found.projected_nanodollars == 6_000_000_000


def test_an_estimated_block_says_so_and_is_over_when_a_told_one_begins() -> None:
    row = a_row("9:00", "9:20", "10:20")
    assert the_block(row, "12:00").is_open
    found = the_block(row, "12:00", told=("11:30",))
    assert (found.is_estimate, found.is_open, found.projected_nanodollars) == (True, False, None)
