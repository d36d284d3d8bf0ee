"""The JSON of a status line: whatever stands in a field costs that field alone."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reread.records.client_input import MOST_DOLLARS, StatusLine, read_status_line

NOW = 1_794_700_800_000
FULL: dict[str, Any] = {
    "hook_event_name": "Status",
    "session_id": "0a1b2c3d-1111-4222-8333-444455556666",
    "transcript_path": "/home/ann/.claude/projects/-home-ann-app/0a1b2c3d-1111-4222-8333-444455556666.jsonl",
    "cwd": "/home/ann/app",
    "version": "2.1.325",
    "model": {"id": "claude-opus-5-5", "display_name": "Opus 5.5"},
    "workspace": {"current_dir": "/home/ann/app", "project_dir": "/home/ann/app"},
    "cost": {"total_cost_usd": 1.234567891, "total_duration_ms": 90_000, "total_lines_added": 3},
    "context_window": {
        "context_window_size": 200_000,
        "used_percentage": 42,
        "current_usage": {
            "input_tokens": 4_000,
            "output_tokens": 700,
            "cache_creation_input_tokens": 10_000,
            "cache_read_input_tokens": 70_000,
        },
    },
    "rate_limits": {
        "five_hour": {"used_percentage": 23.5, "resets_at": NOW // 1000 + 7_200},
        "seven_day": {"used_percentage": 41.2, "resets_at": NOW // 1000 + 300_000},
    },
    "something_new": {"of": ["a", "later", "version"]},
}


def read(said: object) -> StatusLine:
    line = read_status_line(json.dumps(said).encode(), NOW)
    assert line is not None
    return line


def test_a_full_line_is_read() -> None:
    line = read(FULL)
    assert (line.session, line.model) == (FULL["session_id"], "Opus 5.5")
    assert line.transcript == FULL["transcript_path"]
    assert (line.nanodollars, line.began) == (1_234_567_891, NOW - 90_000)
    assert (line.context_tokens, line.context_size, line.context_percent) == (84_000, 200_000, 42)
    assert (line.five_hour.percent, line.five_hour.resets) == (23.5, NOW + 7_200_000)
    assert (line.seven_day.percent, line.seven_day.resets) == (41.2, NOW + 300_000_000)


def test_a_line_of_a_client_that_tells_less_is_read_as_far_as_it_goes() -> None:
    line = read({"session_id": "abc", "model": {"id": "claude-sonnet-4"}, "cost": {"total_cost_usd": 2}})
    assert (line.session, line.model, line.nanodollars, line.began) == ("abc", "claude-sonnet-4", 2_000_000_000, None)
    assert line.kept_values == (2_000_000_000, None, None)


def test_the_context_is_worked_out_where_only_tokens_are_told() -> None:
    usage = {"input_tokens": 20_000, "cache_read_input_tokens": None, "cache_creation_input_tokens": 30_000}
    line = read({"context_window": {"context_window_size": 200_000, "used_percentage": None, "current_usage": usage}})
    assert line.context_percent == 25


@pytest.mark.parametrize(
    "resets_at",
    [NOW // 1000 + 7_190, NOW + 7_190_000, "2026-11-15T02:00:10+00:00", "2026-11-15T02:00:10Z"],
    ids=["seconds", "milliseconds", "iso", "iso-z"],
)
def test_a_reset_is_a_minute_however_it_is_written(resets_at: object) -> None:
    assert NOW == 1_794_700_800_000, "which is 2026-11-15T00:00:00Z"
    five_hour = read({"rate_limits": {"five_hour": {"used_percentage": 1, "resets_at": resets_at}}}).five_hour
    assert five_hour.resets == NOW + 7_200_000


@pytest.mark.parametrize("resets_at", [0, 1, 9_999_999_999, NOW // 1000 + 6 * 3600, NOW // 1000 - 6 * 3600, "soon"])
def test_a_window_that_does_not_hold_the_present_is_none(resets_at: object) -> None:
    five_hour = read({"rate_limits": {"five_hour": {"used_percentage": 7, "resets_at": resets_at}}}).five_hour
    assert (five_hour.percent, five_hour.resets) == (7, None)


@pytest.mark.parametrize("raw", [b"", b"{", b"null", b"[1]", b'"text"', b"\xff\xfe", b"[" * 100_000, b'{"a":' * 50_000])
def test_what_is_no_object_is_no_line(raw: bytes) -> None:
    assert read_status_line(raw, NOW) is None


NO_MONEY = [
    "NaN",
    "Infinity",
    "-Infinity",
    "-0.01",
    "1e308",
    "1e999",
    str(10**400),
    str(MOST_DOLLARS + 1),
    "true",
    '"1.5"',
    "{}",
    "[1]",
    "null",
]


@pytest.mark.parametrize("amount", NO_MONEY)
def test_what_is_no_amount_is_not_told(amount: str) -> None:
    raw = f'{{"session_id": "abc", "cost": {{"total_cost_usd": {amount}, "total_duration_ms": {amount}}}}}'
    line = read_status_line(raw.encode(), NOW)
    assert line is not None
    assert (line.session, line.nanodollars) == ("abc", None)


@pytest.mark.parametrize("name", ["\x1b[31mred", "two\nlines", "", "   ", "x" * 500, 7, None, ["a"], "\ud800"])
def test_a_name_that_a_terminal_would_obey_is_none(name: object) -> None:
    line = read({"session_id": name, "model": {"display_name": name, "id": name}, "transcript_path": 4})
    assert (line.session, line.model, line.transcript) == (None, None, None)


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


def places(value: Any, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    inner = (
        [found for key, each in value.items() for found in places(each, (*path, key))] if type(value) is dict else []
    )
    return [*([path] if path else []), *inner]


@given(st.sampled_from(places(FULL)), ANYTHING)
def test_any_value_in_any_field_leaves_a_line_that_can_be_kept(path: tuple[str, ...], value: Any) -> None:
    said = json.loads(json.dumps(FULL))
    inside = said
    for key in path[:-1]:
        inside = inside[key]
    inside[path[-1]] = value
    line = read(said)
    assert all(told is None or 0 <= told < 2**63 for told in line.kept_values)
    assert line.session is None or line.session.isprintable()
