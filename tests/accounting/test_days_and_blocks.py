"""R21 and R22: the day of a request in any zone, weeks, months, and five-hour blocks."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from accounting.books import BOB, Books, a_response
from reread.testing import Entry, a_line, a_prompt, a_session, a_subagent, a_usage


def at(*times: str) -> list[Entry]:
    return [a_response(a_usage(1, 1), f"{time}:00.000Z") for time in times]


def counts(books: Books, by: str, zone: str = "UTC", *options: str) -> dict[str | None, int]:
    return {key: row["requests"] for key, row in books.by(by, *options, zone=zone).items()}


def test_the_worked_example(books: Books) -> None:
    books.write(a_response(a_usage(1, 1), "2026-10-31T23:30:00.000Z"))
    assert counts(books, "day", "Europe/Berlin") == {"2026-11-01": 1}
    assert counts(books, "month", "Europe/Berlin") == {"2026-11": 1}
    assert counts(books, "month") == {"2026-10": 1}
    assert books.usage(zone="Europe/Berlin")["timezone"] == "Europe/Berlin"


CLOCKS = {
    "Europe/Berlin in spring": ("Europe/Berlin", "2026-03-29", "2026-03-28T23:00", "2026-03-29T21:59", 23),
    "Europe/Berlin in autumn": ("Europe/Berlin", "2026-10-25", "2026-10-24T22:00", "2026-10-25T22:59", 25),
    "America/New_York in spring": ("America/New_York", "2026-03-08", "2026-03-08T05:00", "2026-03-09T03:59", 23),
    "America/New_York in autumn": ("America/New_York", "2026-11-01", "2026-11-01T04:00", "2026-11-02T04:59", 25),
    "Asia/Kathmandu": ("Asia/Kathmandu", "2026-06-01", "2026-05-31T18:15", "2026-06-01T18:14", 24),
    "Australia/Eucla": ("Australia/Eucla", "2026-06-01", "2026-05-31T15:15", "2026-06-01T15:14", 24),
    "Pacific/Chatham in autumn": ("Pacific/Chatham", "2026-04-05", "2026-04-04T10:15", "2026-04-05T11:14", 25),
    "Asia/Beirut without a midnight": ("Asia/Beirut", "2026-03-29", "2026-03-28T22:00", "2026-03-29T20:59", 23),
    "America/Havana with two midnights": ("America/Havana", "2026-11-01", "2026-11-01T04:00", "2026-11-02T04:59", 25),
}


@pytest.mark.parametrize(("zone", "day", "first", "last", "hours"), CLOCKS.values(), ids=CLOCKS)
def test_a_day_is_as_long_as_its_clocks_make_it(
    books: Books, zone: str, day: str, first: str, last: str, hours: int
) -> None:
    """The first and the last minute of the day are in it, the minutes before and after are not."""
    ends = [int(datetime.fromisoformat(f"{end}:00Z").timestamp()) for end in (first, last)]
    assert ends[1] + 60 - ends[0] == hours * 3600
    minutes = [ends[0] - 60, ends[0], ends[1], ends[1] + 60]
    times = [datetime.fromtimestamp(minute, UTC).strftime("%Y-%m-%dT%H:%M") for minute in minutes]
    books.write(*at(*times))
    found = counts(books, "day", zone)
    assert found[day] == 2
    assert list(found.values()) == [1, 2, 1]


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Pacific/Chatham"])
def test_every_hour_of_a_year_is_in_the_day_the_standard_library_says(books: Books, zone: str) -> None:
    hours = [
        f"2026-{month:02}-{day:02}T{hour:02}:1{hour % 6}"
        for month in range(1, 13)
        for day in (1, 8, 28)
        for hour in range(24)
    ]
    books.write(*at(*hours))
    wanted: dict[str, int] = {}
    for hour in hours:
        day = datetime.fromisoformat(f"{hour}:00Z").astimezone(ZoneInfo(zone)).date().isoformat()
        wanted[day] = wanted.get(day, 0) + 1
    assert counts(books, "day", zone) == wanted


def test_a_week_is_called_by_its_monday(books: Books) -> None:
    books.write(*at("2026-11-01T12:00", "2026-11-02T00:00", "2026-11-08T23:59", "2026-11-09T00:00", "2026-12-31T12:00"))
    assert counts(books, "week") == {"2026-10-26": 1, "2026-11-02": 2, "2026-11-09": 1, "2026-12-28": 1}
    assert counts(books, "week", "America/New_York")["2026-10-26"] == 2


def test_months_end_where_the_zone_says(books: Books) -> None:
    books.write(*at("2026-02-28T23:59", "2026-03-01T00:00", "2026-12-31T23:59", "2027-01-01T00:00"))
    assert counts(books, "month") == {"2026-02": 1, "2026-03": 1, "2026-12": 1, "2027-01": 1}
    assert counts(books, "month", "Asia/Kathmandu") == {"2026-03": 2, "2027-01": 2}


def test_a_response_is_of_the_day_of_its_first_row(books: Books) -> None:
    rows = [
        a_response(a_usage(1, i), f"2026-11-02T{time}.000Z", id="msg_A")
        for i, time in enumerate(("23:59:59", "23:59:58"))
    ]
    later = a_response(a_usage(1, 9), "2026-11-03T00:00:01.000Z", id="msg_A")
    books.write(*rows, later)
    assert counts(books, "day") == {"2026-11-02": 1}
    assert books.usage()["rows"][0]["first"] == "2026-11-02T23:59:58.000Z"


def test_a_row_without_a_time_takes_that_of_the_dated_line_before_it(books: Books) -> None:
    undated = a_response(a_usage(1, 1), at=None)
    books.write(*at("2026-11-04T10:00"), a_prompt("x", timestamp="2026-11-03T10:00:00.000Z"), undated)
    assert counts(books, "day") == {"2026-11-03": 1, "2026-11-04": 1}


@pytest.mark.parametrize("by", ["day", "week", "month", "block"])
def test_a_file_without_any_time_is_of_an_unknown_day(books: Books, by: str) -> None:
    undated = a_response(a_usage(10, 200), at=None)
    a_session(a_prompt("go", timestamp=None), undated).write(books.source)
    books.write(*at("2026-11-04T10:00"), session=BOB)
    assert list(counts(books, by))[-1] == "unknown"
    assert books.usage(by)["rows"][-1]["first"] is None
    assert counts(books, by, "UTC", "--since", "2026-01-01").get("unknown") is None


@pytest.mark.parametrize(
    "time",
    ["0001-01-01T00:00:00.000Z", "1969-12-31T23:50:00.000Z", "1969-12-31T23:40:00.000Z", "9999-12-31T23:59:59.999Z"],
)
def test_a_time_no_client_can_mean_ends_nothing(books: Books, time: str) -> None:
    books.write(*at("2026-11-04T10:00"), a_response(a_usage(1, 1), time, id="msg_odd"))
    for zone in ("UTC", "Asia/Kathmandu", "America/New_York"):
        assert sum(counts(books, "day", zone).values()) == 2
    assert sum(counts(books, "block").values()) == 2
    with books.archive() as archive:
        books.write(*at("2026-11-04T10:00", "2026-11-05T10:00"), a_response(a_usage(1, 1), time, id="msg_odd"))
        a_session(a_prompt("x"), a_response(a_usage(1, 1), time, id="msg_new"), id=BOB).write(books.source)
        archive.sync()
        assert archive.usage("day", timezone=UTC).totals.requests == 4


def test_the_worked_example_of_blocks(books: Books) -> None:
    books.write(*at("2026-11-02T09:20", "2026-11-02T11:00", "2026-11-02T14:05", "2026-11-02T20:00"))
    rows = books.usage("block")["rows"]
    assert [(row["block"], row["end"][11:16], row["requests"]) for row in rows] == [
        ("2026-11-02T09:00:00Z", "14:00", 2),
        ("2026-11-02T14:00:00Z", "19:00", 1),
        ("2026-11-02T20:00:00Z", "01:00", 1),
    ]
    assert [row["is_open"] for row in rows] == [False] * 3
    assert [row["is_estimate"] for row in rows] == [True] * 3
    assert [row["projected_cost_usd"] for row in rows] == [None] * 3


def test_a_request_at_the_end_of_a_block_opens_the_next(books: Books) -> None:
    books.write(*at("2026-11-02T09:59", "2026-11-02T13:59", "2026-11-02T14:00"))
    assert counts(books, "block") == {"2026-11-02T09:00:00Z": 2, "2026-11-02T14:00:00Z": 1}


def test_blocks_are_those_of_utc_whatever_the_zone(books: Books) -> None:
    books.write(*at("2026-11-02T09:20", "2026-11-02T14:05"))
    assert counts(books, "block", "Asia/Kathmandu") == counts(books, "block")


def test_a_filter_does_not_move_the_blocks(books: Books) -> None:
    """A block is opened by whatever was used first, not by the part that is asked for."""
    books.write(*at("2026-11-02T09:20"), a_response(a_usage(1, 1), "2026-11-02T11:00:00.000Z", model="claude-sonnet-5"))
    books.write(*at("2026-11-02T13:10"), session=BOB, cwd="/home/ann/two")
    block = "2026-11-02T09:00:00Z"
    assert counts(books, "block", "UTC", "--model", "sonnet") == {block: 1}
    assert counts(books, "block", "UTC", "--project", "two") == {block: 1}
    assert counts(books, "block", "UTC", "--since", "2026-11-02T12:00") == {block: 1}
    assert counts(books, "block", "UTC", "--since", "2026-11-02T12:07") == {block: 1}


def test_the_rate_of_a_block_is_from_its_first_to_its_last_request(books: Books) -> None:
    usage = a_usage(0, 40_000)
    books.write(a_response(usage, "2026-11-02T09:20:00.000Z"), a_response(usage, "2026-11-02T10:00:00.000Z"))
    [row] = books.usage("block")["rows"]
    assert (row["cost_usd_per_hour"], row["tokens_per_minute"]) == ("3.000000000", 2_000)


def test_agents_and_copies_are_in_the_block_of_their_time(books: Books) -> None:
    agent = a_subagent(a_prompt("x"), *at("2026-11-02T12:00"), id="abc")
    books.write(*at("2026-11-02T09:20"), agent, a_line("mode", mode="plan"))
    assert counts(books, "block") == {"2026-11-02T09:00:00Z": 2}
