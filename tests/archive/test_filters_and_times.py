"""What `--since`, `--until` and the other filters mean, in every time zone."""

from __future__ import annotations

import time
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from reread.archive.filters import Filter, Moment, check_window, moment_of, parse_end, touches
from reread.archive.filters import parse_time as parse
from reread.archive.usage_report import Calendar, beginnings
from reread.errors import BadInput
from reread.features.tool_use import paths_of
from reread.sessions import ToolCall
from reread.testing import a_prompt, a_reply, a_session, a_tool_call, build
from reread.views.values import when

NOW = datetime(2026, 11, 11, 15, 30, tzinfo=UTC)  # a Wednesday
BERLIN = ZoneInfo("Europe/Berlin")


def moment(text: str, zone: ZoneInfo = BERLIN, now: datetime = NOW) -> str:
    return parse(text, now, zone, "--since").astimezone(UTC).strftime("%Y-%m-%dT%H:%M")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("30m", "2026-11-11T15:00"),
        ("24h", "2026-11-10T15:30"),
        ("7d", "2026-11-04T15:30"),
        ("2w", "2026-10-28T15:30"),
        (" 7D ", "2026-11-04T15:30"),
        ("now", "2026-11-11T15:30"),
        ("today", "2026-11-10T23:00"),
        ("yesterday", "2026-11-09T23:00"),
        ("wednesday", "2026-11-10T23:00"),
        ("monday", "2026-11-08T23:00"),
        ("Thursday", "2026-11-04T23:00"),
        ("thu", "2026-11-04T23:00"),
        ("wed", "2026-11-10T23:00"),
        ("last wednesday", "2026-11-03T23:00"),
        ("Last  Mon", "2026-11-08T23:00"),
        ("2mo", "2026-09-11T14:30"),  # the same hour of the clock, across the change
        ("1y", "2025-11-11T15:30"),
        ("2026-11", "2026-10-31T23:00"),
        ("2026", "2025-12-31T23:00"),
        ("this month", "2026-10-31T23:00"),
        ("last month", "2026-09-30T22:00"),
        ("last week", "2026-11-01T23:00"),
        ("last year", "2024-12-31T23:00"),
        ("2026-10-02", "2026-10-01T22:00"),
        ("2026-10-02T14:00", "2026-10-02T12:00"),
        ("2026-10-02T14:00Z", "2026-10-02T14:00"),
        ("2026-10-02T14:00+05:30", "2026-10-02T08:30"),
    ],
)
def test_a_moment_in_words_or_iso(text: str, expected: str) -> None:
    assert moment(text) == expected


@pytest.mark.parametrize(
    "text", ["", "soon", "7", "7x", "2026-02-30", "mo", "last", "next monday", "2026-13", "9999y", "2026-10-02T25:00"]
)
def test_anything_else_is_refused_with_the_option_and_an_example(text: str) -> None:
    with pytest.raises(BadInput, match=r"^--since .* is not a date; try 2026-10-02"):
        moment(text)


def test_a_day_begins_at_midnight_of_the_zone_on_both_sides_of_a_clock_change() -> None:
    """Berlin left summer time on 2026-10-25: that day is 25 hours long."""
    after = datetime(2026, 10, 25, 12, 0, tzinfo=UTC)
    assert moment("today", now=after) == "2026-10-24T22:00"
    assert moment("2026-10-26") == "2026-10-25T23:00"
    the_day_after = datetime(2026, 10, 26, 12, 0, tzinfo=UTC)
    assert moment("yesterday", now=the_day_after) == "2026-10-24T22:00"
    assert moment("saturday", now=the_day_after) == "2026-10-23T22:00"


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("2026-10-02", "2026-10-02T22:00"),
        ("20261002", "2026-10-02T22:00"),
        ("2026-W40-5", "2026-10-02T22:00"),
        ("2026-10-25", "2026-10-25T23:00"),
        ("today", "2026-11-11T23:00"),
        ("yesterday", "2026-11-10T23:00"),
        ("monday", "2026-11-09T23:00"),
        ("2026-02", "2026-02-28T23:00"),
        ("last month", "2026-10-31T23:00"),
        ("last week", "2026-11-08T23:00"),
        ("2mo", "2026-09-11T14:30"),
        ("2026-10-02T14:00", "2026-10-02T12:00"),
        ("2026-10-02T00:00", "2026-10-01T22:00"),
    ],
)
def test_a_day_at_the_end_of_a_window_is_inside_and_a_time_is_the_end(text: str, end: str) -> None:
    assert parse_end(text, NOW, BERLIN, "--until").strftime("%Y-%m-%dT%H:%M") == end


@pytest.mark.parametrize("text", ["24h", "7d", "now", "30m"])
def test_what_is_counted_from_now_ends_a_window_at_that_moment(text: str) -> None:
    assert parse_end(text, NOW, BERLIN, "--until") == parse(text, NOW, BERLIN, "--since")


@pytest.mark.parametrize("zone", [BERLIN, ZoneInfo("America/New_York")])
def test_the_last_day_there_is_can_end_a_window_as_scripts_say_it(zone: ZoneInfo) -> None:
    assert parse_end("9999-12-31", NOW, zone, "--until").year == 9999


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "UTC"])
def test_the_first_and_last_moment_there_are_stand_for_no_limit_in_every_zone(zone: str) -> None:
    first: list[Moment] = [datetime.min, date.min, "0001-01-01", "0001-01-01T00:00"]
    for value in first:
        assert moment_of(value, ZoneInfo(zone), "since").year == 1
        assert moment_of(value, None, "since").year == 1
    with pytest.raises(BadInput, match="outside the calendar"):
        moment_of(datetime.min.replace(tzinfo=timezone(timedelta(hours=3))), None, "since")
    last: list[Moment] = [datetime.max, date.max, "9999-12-31", "9999-12-31T23:59"]
    for value in last:
        assert moment_of(value, ZoneInfo(zone), "until", is_end=True).year == 9999
        assert moment_of(value, None, "until", is_end=True).year == 9999


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="needs a system whose zone can be set")
def test_days_of_this_machine_are_those_of_its_clocks_then(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not of its clocks now: yesterday may have had another offset."""
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    try:
        the_day_after = datetime(2026, 10, 26, 12, 0, tzinfo=UTC)
        assert parse("yesterday", the_day_after, None, "--since") == datetime(2026, 10, 24, 22, 0, tzinfo=UTC)
        assert parse_end("yesterday", the_day_after, None, "--until") == datetime(2026, 10, 25, 23, 0, tzinfo=UTC)
        today, week, month = beginnings(the_day_after, None)
        assert today == datetime(2026, 10, 25, 23, 0, tzinfo=UTC)
        assert week == datetime(2026, 10, 19, 22, 0, tzinfo=UTC)
        assert month == datetime(2026, 9, 26, 22, 0, tzinfo=UTC)
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="needs a system whose zone can be set")
def test_the_overview_counts_from_midnights_of_this_machine_as_its_clocks_were_then(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    try:
        for now in (datetime(2026, 10, 25, 12, tzinfo=UTC), datetime(2026, 3, 29, 12, tzinfo=UTC), NOW):
            assert beginnings(now, None) == beginnings(now, BERLIN)
    finally:
        monkeypatch.undo()
        time.tzset()


def test_the_same_words_mean_another_time_elsewhere() -> None:
    assert moment("today", ZoneInfo("Asia/Tokyo")) == "2026-11-11T15:00"
    assert moment("today", ZoneInfo("America/New_York")) == "2026-11-11T05:00"


def test_a_window_must_have_a_beginning_before_its_end() -> None:
    check_window(None, NOW)
    with pytest.raises(BadInput, match="--since must lie before --until"):
        check_window(NOW, NOW)


def test_a_window_holds_its_beginning_and_not_its_end() -> None:
    window = Filter(since=datetime(2026, 1, 1, tzinfo=UTC), until=datetime(2026, 1, 2, tzinfo=UTC))
    assert window.keeps_time(datetime(2026, 1, 1, tzinfo=UTC))
    assert not window.keeps_time(datetime(2026, 1, 2, tzinfo=UTC))
    assert not window.keeps_time(None)
    assert Filter().keeps_time(None)


def test_a_filter_keeps_a_session_when_all_it_says_fits() -> None:
    session = a_session(
        a_prompt("q", gitBranch="feature"),
        a_reply(a_tool_call("Read", {"file_path": "/home/ann/app/src/deep/a.py"}), model="claude-sonnet-5"),
        cwd="/home/ann/App",
    ).build()
    fits: dict[str, Any] = {
        "project": "ann/app",
        "model": "SONNET",
        "git_branch": "feature",
        "tool": "read",
        "file": "deep/*.py",
    }
    assert Filter(**fits).keeps_session(session)
    for name in fits:
        assert not Filter(**{**fits, name: "nothing-like-it"}).keeps_session(session), name


@pytest.mark.parametrize(
    ("folder", "cwd", "is_kept"),
    [
        ("/home/ann/app", "/home/ann/app", True),
        ("/home/ann/app/", "/home/ann/app/.claude/worktrees/one", True),
        ("/home/ann/app", "/home/ann/app2", False),
        ("/home/ann/app", "/home/ann", False),
        ("C:\\code\\app", "c:/code/app/src", True),
        ("C:\\code\\app", "C:\\code\\app-old", False),
    ],
)
def test_a_folder_keeps_what_lies_in_it(folder: str, cwd: str, is_kept: bool) -> None:
    session = a_session(a_prompt("q"), a_reply("a"), cwd=cwd).build()
    assert Filter(folder=folder).keeps_session(session) is is_kept


def test_a_session_outside_the_window_is_left_out() -> None:
    session = build(a_prompt("q"), a_reply("a"))  # January 2026
    assert not Filter(since=NOW).keeps_session(session)
    assert not Filter(until=datetime(2025, 1, 1, tzinfo=UTC)).keeps_session(session)
    assert Filter(since=datetime(2025, 1, 1, tzinfo=UTC), until=NOW).keeps_session(session)


def a_call(**given: object) -> ToolCall:
    (call,) = build(a_prompt("q"), a_reply(a_tool_call("Any", given))).tool_calls
    return call


def test_a_file_is_found_under_every_key_tools_use() -> None:
    assert list(paths_of(a_call(file_path="a", content="b"))) == ["a"]
    assert list(paths_of(a_call(notebook_path="a.ipynb"))) == ["a.ipynb"]
    assert list(paths_of(a_call(path="src", pattern="*.py"))) == ["src"]
    assert list(paths_of(a_call(path=None, pattern="*.py"))) == []


def test_a_glob_fits_a_whole_path_or_its_end() -> None:
    call = a_call(file_path="/home/ann/app/src/a.py")
    assert touches(call, "a.py")
    assert touches(call, "src/*.py")
    assert touches(call, "/home/*/a.py")
    assert not touches(call, "b.py")


def test_a_tool_that_only_an_agent_used_is_found() -> None:
    from reread.testing import a_subagent

    session = build(
        a_prompt("q"),
        a_reply(a_tool_call("Task", id="toolu_1")),
        a_subagent(a_prompt("t"), a_reply(a_tool_call("WebFetch", {"url": "x"})), of="toolu_1"),
    )
    assert Filter(tool="WebFetch").keeps_session(session)


class WindowsTime(datetime):
    """A time as Windows has it: its clocks begin in 1970 and end in 3000."""

    def astimezone(self, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
        if (tz is None or self.tzinfo is None) and not 1970 <= self.year < 3000:
            raise OSError(22, "Invalid argument")
        return super().astimezone(tz)

    def timestamp(self) -> float:
        if self.tzinfo is None and not 1970 <= self.year < 3000:
            raise OSError(22, "Invalid argument")
        return super().timestamp()


@pytest.mark.parametrize("text", ["1960-01-02", "9999-12-31", "1960-01-02T10:00"])
def test_a_day_that_the_clocks_of_windows_do_not_know_is_one_in_utc(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reread.archive.filters.datetime", WindowsTime)
    assert parse(text, NOW, None, "--since") == datetime.fromisoformat(text).replace(tzinfo=UTC)
    assert when(WindowsTime(1960, 1, 2, 10, tzinfo=UTC), None) == "1960-01-02 10:00"


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="needs tzset")
def test_the_first_quarter_of_an_hour_there_is_has_a_day(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reread.archive.usage_report.datetime", WindowsTime)
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    try:
        assert Calendar(None).day(0) == date(1969, 12, 31)
    finally:
        monkeypatch.undo()
        time.tzset()


def test_a_month_ago_is_the_last_day_of_a_shorter_month() -> None:
    assert moment("1mo", now=datetime(2026, 3, 31, 12, 0, tzinfo=UTC)) == "2026-02-28T13:00"
