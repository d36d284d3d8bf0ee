"""Marks of a session in a list, the bar of a long sync, sizes, and JSON of what UTF-8 cannot hold."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

from reread.archive.listing import Listed
from reread.index.sessions import StoredSession
from reread.rows import SessionRow
from reread.views.numbers import size
from reread.views.session_list import fate, last_part, marks, unique
from reread.views.text import bar_line, cells, plain_line
from reread.views.values import encoded

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)


def listed(*, left: timedelta | None = None, present: bool = True, **counts: int) -> Listed:
    row = SessionRow(
        uuid="u",
        folder="f",
        project=None,
        title="t",
        started=None,
        ended=None,
        versions=[],
        models=[],
        git_branches=[],
        prompts=0,
        turns=0,
        requests=0,
        tool_calls=0,
        tool_errors=counts.get("errors", 0),
        thoughts=0,
        output_tokens=0,
        nanodollars=None,
        unpriced_tokens=0,
        subagents=counts.get("agents", 0),
        branches=counts.get("branches", 1),
        compactions=0,
        bytes=0,
    )
    stored = StoredSession(id=1, row=row, files=[], present=present, mtime_ns=None)
    return Listed(stored, None if left is None else NOW + left, stored.row.project or "")


@pytest.mark.parametrize(
    ("left", "said"),
    [
        (None, ""),
        (timedelta(days=20), ""),
        (timedelta(days=7, seconds=1), ""),
        (timedelta(days=3, hours=5), "deleted in 3 d"),
        (timedelta(hours=5), "deleted soon"),
        (timedelta(days=-9), "deleted soon"),
    ],
)
def test_a_coming_deletion_is_said_when_it_is_near(left: timedelta | None, said: str) -> None:
    assert fate(listed(left=left), NOW) == said
    assert listed(left=left).expires_soon(NOW) is bool(said)


def test_a_source_that_is_gone_is_said() -> None:
    assert fate(listed(present=False), NOW) == "only here"


def test_marks_are_shown_only_where_there_is_something_to_mark() -> None:
    assert marks(listed(), NOW) == ""
    assert marks(listed(agents=2, branches=3, errors=1, present=False), NOW) == "◇2 ↩3 ✗1 only here"


@pytest.mark.parametrize(
    ("path", "name"), [(None, ""), ("/home/ann/app", "app"), ("/home/ann/app/", "app"), ("C:\\Users\\ann\\app", "app")]
)
def test_a_project_is_called_by_its_last_folder(path: str | None, name: str) -> None:
    assert last_part(path) == name


@pytest.mark.parametrize("width", [1, 5, 20, 40, 80, 200])
@pytest.mark.parametrize("done", [0, 1, 50, 100, 120])
def test_a_bar_fits_its_line(width: int, done: int) -> None:
    assert cells(bar_line(done, 100, 2.0, width)) <= max(1, width - 1)


def test_a_bar_says_rate_and_time_left() -> None:
    assert bar_line(45, 100, 1.0, 80).endswith("45%  45 B of 100 B  45 B/s  1.2s left")
    assert plain_line(45, 100, 1.0) == "45 B of 100 B, 45 B/s, 1.2s left"
    assert "left" not in plain_line(100, 100, 1.0)
    assert "left" not in plain_line(0, 0, 0.0)
    assert "left" not in plain_line(7_000, 14_300_000, 9.0), "a small file was done before the first large one"


@pytest.mark.parametrize(
    ("number", "said"), [(0, "0 B"), (999, "999 B"), (1500, "1.5 kB"), (999_999, "1.0 MB"), (3_100_000_000, "3.1 GB")]
)
def test_sizes(number: int, said: str) -> None:
    assert size(number) == said


def test_what_utf8_cannot_hold_is_escaped_in_json() -> None:
    odd = "bad\udcff"
    assert json.loads(encoded({odd: [odd, (odd, 1)], "fine": "é"})) == {
        "bad\\udcff": ["bad\\udcff", ["bad\\udcff", 1]],
        "fine": "é",
    }


def test_columns_of_one_name_are_numbered() -> None:
    assert unique(["a", "b", "a", "a_2", "a"]) == ["a", "b", "a_2", "a_2_2", "a_3"]
