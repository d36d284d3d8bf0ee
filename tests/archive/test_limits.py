"""Usage limits as a history: how full a window became, whether it was reached, what used it up, when it runs out."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from reread.archive import Archive
from reread.archive.limit_windows import LimitWindow, limit_windows
from reread.index import client_totals
from reread.records import decode
from reread.records.client_input import StatusLine
from reread.rows.limit_values import limit_rows
from reread.testing import a_prompt, a_reply, a_session
from reread.views.limit_lines import open_limit_lines

NOW = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)
OPUS, SONNET = "claude-opus-4-20250514", "claude-sonnet-4-20250514"


def at(minutes: float) -> datetime:
    return NOW + timedelta(minutes=minutes)


def milliseconds(time: datetime) -> int:
    return int(time.timestamp() * 1000)


def an_archive(folder: Path, *entries: Any) -> Archive:
    a_session(*(entries or (a_prompt("go"), a_reply("gone")))).write(folder / "projects")
    archive = Archive(folder / "home", [folder / "projects"], machine="desk")
    archive.sync()
    return archive


def say(archive: Archive, minutes: float, percent: float, resets: float, *, session: str = "s", **more: float) -> None:
    """A status line: percentages and ends of windows, in minutes from noon."""
    windows = {"five_hour": {"used_percentage": percent, "resets_at": int(at(resets).timestamp())}}
    windows |= {
        name: {"used_percentage": value, "resets_at": int(at(5000).timestamp())} for name, value in more.items()
    }
    now = milliseconds(at(minutes))
    line = StatusLine({"session_id": session, "rate_limits": windows}, now)
    assert client_totals.keep(archive.inner.connection, line, "desk", now)


def a_notice(text: str, minutes: float = 0) -> dict[str, Any]:
    return {
        "type": "assistant",
        "uuid": f"n{minutes}",
        "sessionId": "s",
        "timestamp": at(minutes).isoformat(),
        "isApiErrorMessage": True,
        "error": "rate_limit",
        "message": {"role": "assistant", "model": "<synthetic>", "content": [{"type": "text", "text": text}]},
    }


def windows_of(archive: Archive) -> list[LimitWindow]:
    return limit_windows(archive.inner.connection, at(-100_000), at(100_000))


def test_a_window_is_as_full_as_the_highest_value_said_of_it(tmp_path: Path) -> None:
    with an_archive(tmp_path) as archive:
        say(archive, 0, 20, 180)
        say(archive, 10, 35, 180)
        say(archive, 11, 20, 180, session="idle")
        say(archive, 200, 3, 480)
        first, second = windows_of(archive)
        assert first.values == ((at(0), 20.0), (at(10), 35.0))
        assert (first.began, first.resets, first.hit) == (at(-120), at(180), None)
        assert second.percent == 3


def test_when_a_window_runs_out_at_its_pace(tmp_path: Path) -> None:
    with an_archive(tmp_path) as archive:
        say(archive, 0, 50, 180)
        [fast] = windows_of(archive)
        assert fast.runs_out == at(120), "half of it in the first two hours of five"
        say(archive, 1, 50.1, 180, seven_day=10)
        slow = next(each for each in windows_of(archive) if each.name == "seven_day")
        assert slow.runs_out is None, "it resets before"


def test_a_full_window_was_reached_and_runs_out_no_more(tmp_path: Path) -> None:
    with an_archive(tmp_path) as archive:
        say(archive, 0, 90, 180)
        say(archive, 30, 100, 180)
        [found] = windows_of(archive)
        assert (found.hit, found.runs_out) == (at(30), None)


@pytest.mark.parametrize(
    ("text", "name", "resets"),
    [
        ("You've hit your session limit · resets 3pm (UTC)", "five_hour", at(180)),
        ("5-hour limit reached ∙ resets 12:30pm (UTC)", "five_hour", at(30)),
        ("You've hit your weekly limit · resets Jan 7 at 6pm (UTC)", "seven_day", at(54 * 60)),
        ("You've hit your weekly limit · resets Jan 2, 9am (UTC)", "seven_day", datetime(2027, 1, 2, 9, tzinfo=UTC)),
        ("Opus weekly limit reached ∙ resets 11am (UTC)", "seven_day_opus", at(23 * 60)),
        ("You've hit your limit · resets 3pm (America/Los_Angeles)", "usage", at(11 * 60)),
        ("You've hit your limit · resets 3pm (Nowhere/Land)", "usage", None),
        ("You've hit your limit · resets Feb 30 at 3pm (UTC)", "usage", None),
        (f"Claude AI usage limit reached|{int(at(60).timestamp())}", "usage", at(60)),
        ("You've hit your monthly spend limit.", "monthly_spend", None),
    ],
)
def test_a_notice_in_the_place_of_an_answer_names_its_limit(text: str, name: str, resets: datetime | None) -> None:
    [row] = limit_rows([decode(json.dumps(a_notice(text)).encode())])
    assert (row.name, row.is_hit, row.time) == (name, True, milliseconds(NOW))
    assert row.resets == (None if resets is None else milliseconds(resets))


@pytest.mark.parametrize(
    "text", ["API Error: 429 rate_limit_error: too many requests", "Credit balance is too low", ""]
)
def test_other_errors_are_no_limit(text: str) -> None:
    assert list(limit_rows([decode(json.dumps(a_notice(text)).encode())])) == []


def test_notices_of_one_window_are_one_hit_also_with_what_a_status_line_said(tmp_path: Path) -> None:
    folder = tmp_path / "projects" / "app"
    folder.mkdir(parents=True)
    lines = [a_notice("You've hit your limit · resets 3pm (UTC)", minutes) for minutes in (60, 62, 70)]
    (folder / "77777777-0000-4000-8000-000000000000.jsonl").write_text(
        "".join(json.dumps(each) + "\n" for each in lines)
    )
    with an_archive(tmp_path) as archive:
        say(archive, 0, 60, 179)
        [found] = windows_of(archive)
        assert (found.name, found.hit, found.percent) == ("five_hour", at(60), 60)


def test_a_stream_tells_each_of_its_windows() -> None:
    frames = [
        {"type": "system", "subtype": "init", "session_id": "s", "cwd": "/app", "timestamp": NOW.isoformat()},
        {
            "type": "rate_limit_event",
            "session_id": "s",
            "rate_limit_info": {
                "status": "rejected",
                "rateLimitType": "seven_day",
                "resetsAt": int(at(600).timestamp()),
                "utilization": 1.0,
                "unifiedWindows": {"five_hour": {"utilization": 0.25, "resetsAt": int(at(90).timestamp())}},
            },
        },
    ]
    rows = list(limit_rows([decode(json.dumps(each).encode()) for each in frames]))
    assert [(row.name, row.percent, row.is_hit) for row in rows] == [("five_hour", 25, False), ("seven_day", 100, True)]
    assert {row.time for row in rows} == {milliseconds(NOW)}


def test_what_used_up_a_window_comes_from_the_ledger_of_that_window(tmp_path: Path) -> None:
    replies = [a_prompt("go"), a_reply("one", model=OPUS), a_reply("two", model=SONNET)]
    with an_archive(tmp_path, *replies) as archive:
        ended = archive.sessions()[0].stored.ended
        assert ended is not None
        minutes = (ended - NOW).total_seconds() / 60
        say(archive, minutes + 1, 90, minutes + 60)
        [found] = archive.billing.limits(since=at(-100_000), now=at(minutes + 2))
        shares = {(each.by, each.key): each.share for each in found.used_up_by}
        report = archive.usage("model")
        whole = report.totals.nanodollars
        assert whole
        for row in report.rows:
            assert shares["model", row.key] == pytest.approx((row.tokens.nanodollars or 0) / whole)
        assert shares["agent", None] == 1


def test_a_file_that_is_forgotten_takes_its_values_along(tmp_path: Path) -> None:
    folder = tmp_path / "projects" / "app"
    folder.mkdir(parents=True)
    name = "77777777-0000-4000-8000-000000000000"
    (folder / f"{name}.jsonl").write_text(
        json.dumps(a_notice("You've hit your limit · resets 3pm (UTC)") | {"sessionId": name}) + "\n"
    )
    with an_archive(tmp_path) as archive:
        assert len(windows_of(archive)) == 1
        archive.safe.forget(name)
        assert windows_of(archive) == []


def test_reached_windows_are_counted_among_those_of_the_same_limit(tmp_path: Path) -> None:
    with an_archive(tmp_path) as archive:
        say(archive, -600, 100, -400, seven_day=10)
        say(archive, 0, 40, 200, seven_day=20)
        told = dict(open_limit_lines(windows_of(archive), NOW, None))
        assert told["5 hours"].endswith("reached in 1 of the last 2 windows")
        assert "reached" not in told["7 days"]
