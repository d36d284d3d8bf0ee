"""What `reread usage` prints: tables that fit, CSV a spreadsheet may open, and the JSON of the contract."""

from __future__ import annotations

import csv
import io
import json
import sys
from pathlib import Path

import pytest

from cli.kept import Kept
from cli.running import Run, reread
from reread.testing import a_prompt, a_reply, a_session, a_tool_call, a_usage
from reread.views.text import cells

LONG = "/home/ann/" + "a-very-long-project-name-" * 5 + "end"
CJK = "/home/ann/日本語のとても長いプロジェクト名前テスト"
ODD = '/home/ann/a,b "quoted"\nsecond line'
FORMULA = "=cmd|' /C calc'!A0"
PROJECTS = (LONG, CJK, ODD, FORMULA, "+1", "-2", "@sum", " =3", "C:\\Users\\ann\\work")
NAMES = (
    "requests",
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_5m_tokens",
    "cache_write_1h_tokens",
    "web_searches",
    "cost_usd",
    "unpriced_tokens",
)


@pytest.fixture
def odd(run: Run, tmp_path: Path) -> Kept:
    """Projects with all kinds of names, hundreds of days, a model without a price, a stub."""
    folder = tmp_path / ".claude" / "projects"
    for i, project in enumerate(PROJECTS):
        usage = a_usage(1_000 * 10 ** (i % 6), 20, cache_read=123_456 * i, cache_write=77 * i)
        model = "glm-5.1-with-a-very-long-name" if project == ODD else "claude-opus-4-8"
        reply = a_reply("x", usage=usage, model=model, timestamp=f"2026-10-{i + 1:02}T10:00:00.000Z")
        a_session(a_prompt(f"do {i}"), reply, id=f"{i:08}-0000-4000-8000-000000000000", cwd=project).write(folder)
    stub = a_reply("x", usage=a_usage(500_000, 2), stop_reason=None, gitBranch=FORMULA)
    a_session(a_prompt("s"), stub, id="99999999-0000-4000-8000-000000000000", version="2.1.50").write(folder)
    days = [
        a_reply(a_tool_call(), timestamp=f"2025-{month:02}-{day:02}T10:00:00.000Z")
        for month in range(1, 13)
        for day in range(1, 29)
    ]
    a_session(a_prompt("days"), *days, id="77777777-0000-4000-8000-000000000000").write(folder)
    kept = Kept(run, tmp_path / ".claude", tmp_path / "archive")
    kept("sync")
    return kept


@pytest.mark.sampled(1, over="width")
@pytest.mark.parametrize("width", [40, 60, 80, 120, 200])
@pytest.mark.parametrize("by", ["day", "month", "session", "model", "project", "branch", "tool", "block", "agent"])
def test_no_line_is_wider_than_the_terminal(odd: Kept, monkeypatch: pytest.MonkeyPatch, by: str, width: int) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    for options in ([], ["--breakdown"]):
        lines = odd("usage", by, "--no-sync", *options).out.splitlines()
        assert max(map(cells, lines)) <= width
        costs = [line for line in lines if "$" in line or "no price" in line]
        assert len(costs) >= 2
        assert lines[0].split()[0] == by
        assert any(line.startswith("total") and "≥$" in line for line in lines), (
            "the total, with its bound, is always there"
        )


@pytest.mark.parametrize("width", [40, 80])
def test_long_projects_stay_apart_by_their_ends(odd: Kept, monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    out = odd("usage", "project", "--no-sync").out
    assert "name-end " in out
    assert "テスト " in out
    names = [line[:9] for line in out.splitlines() if "$" in line]
    assert len(set(names)) == len(names)


def test_figures_stand_below_each_other_beside_wide_characters(odd: Kept) -> None:
    lines = [
        line for line in odd("usage", "project", "--no-sync").out.splitlines() if "$" in line or "no price" in line
    ]
    assert len({cells(line) for line in lines}) == 1


def test_a_model_without_a_price_is_not_drawn_as_free(odd: Kept) -> None:
    for by in ("model", "project"):
        out = odd("usage", by, "--plot", "-", "--no-sync").out
        drawn = [line for line in out.splitlines() if "glm-5.1" in line or "second line" in line]
        assert drawn
        assert all(line.rstrip().endswith("–") for line in drawn), drawn


def test_hundreds_of_days_are_all_there_and_a_limit_keeps_the_newest(odd: Kept) -> None:
    lines = odd("usage", "day", "--no-sync", "--timezone", "UTC").out.splitlines()
    assert sum(line.startswith("2025-") for line in lines) == 12 * 28
    limited = odd("usage", "day", "--no-sync", "--timezone", "UTC", "--limit", "2")
    assert [line.split()[0] for line in limited.out.splitlines()[1:4]] == ["2026-10-08", "2026-10-09", "total"]
    assert limited.out.splitlines()[4].endswith(" rows; the total is of all")
    assert limited.out.splitlines()[4].startswith("2 of ")
    assert " rows; " not in odd("usage", "day", "--no-sync", "--limit", "9999").out
    told = [line for line in limited.out.splitlines() if not line.endswith("of all")]
    assert lines[-5:] == told[-5:], "the totals stay those of everything"


def test_what_has_no_time_is_not_the_newest_day(run: Run, tmp_path: Path) -> None:
    timed = a_reply("x", usage=a_usage(10, 20), timestamp="2026-10-02T10:00:00.000Z")
    untimed = a_reply("y", usage=a_usage(10, 20), timestamp="then")
    folder = tmp_path / ".claude" / "projects"
    a_session(a_prompt("a"), timed, id="11111111-0000-4000-8000-000000000000").write(folder)
    a_session(a_prompt("b", timestamp="then"), untimed, id="22222222-0000-4000-8000-000000000000").write(folder)
    kept = Kept(run, tmp_path / ".claude", tmp_path / "archive")
    days = [
        [row["day"] for row in json.loads(kept("usage", "--json", "--timezone", "UTC", "--limit", limit).out)["rows"]]
        for limit in ("1", "2")
    ]
    assert days == [["2026-10-02"], ["2026-10-02", "unknown"]]


def test_a_breakdown_of_models_by_model_is_the_report_itself(odd: Kept) -> None:
    for form in ([], ["--csv"]):
        assert odd("usage", "model", "--no-sync", "--breakdown", *form) == odd("usage", "model", "--no-sync", *form)


def table_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_csv_gives_every_name_back(odd: Kept) -> None:
    rows = table_of(odd("usage", "project", "--csv", "--no-sync").out)
    names = {row["project"] for row in rows}
    assert {LONG, CJK, ODD, "C:\\Users\\ann\\work"} <= names
    assert list(rows[0]) == ["project", *NAMES]


def test_no_name_in_csv_begins_like_a_formula(odd: Kept) -> None:
    """A branch or a folder may be called `=cmd|...`, and a spreadsheet would run it."""
    for by in ("project", "branch"):
        for row in table_of(odd("usage", by, "--csv", "--no-sync").out):
            assert not row[by].lstrip().startswith(("=", "+", "-", "@")), row
    names = {row["project"] for row in table_of(odd("usage", "project", "--csv", "--no-sync").out)}
    assert {f"'{FORMULA}", "'+1", "'-2", "'@sum", "' =3"} <= names


@pytest.mark.parametrize("by", ["day", "project", "session", "tool"])
def test_csv_adds_up_to_the_document(odd: Kept, by: str) -> None:
    document = odd.json("usage", by, "--no-sync")
    for options in ([], ["--breakdown"]):
        rows = table_of(odd("usage", by, "--csv", "--no-sync", *options).out)
        for name in ("requests", "input_tokens", "unpriced_tokens"):
            assert sum(int(row[name]) for row in rows) == document["totals"][name]


def test_what_has_no_price_is_empty_in_csv_and_null_in_json(odd: Kept) -> None:
    [row] = [row for row in table_of(odd("usage", "project", "--csv", "--no-sync").out) if row["project"] == ODD]
    assert (row["cost_usd"], int(row["unpriced_tokens"])) == ("", 100_000 + 20 + 2 * (123_456 + 77))
    [found] = [row for row in odd.json("usage", "project", "--no-sync")["rows"] if row["project"] == ODD]
    assert found["cost_usd"] is None


@pytest.mark.parametrize(
    "by", ["day", "week", "month", "session", "model", "project", "branch", "tool", "block", "agent", "skill"]
)
def test_the_json_is_that_of_the_contract(odd: Kept, by: str) -> None:
    document = odd.json("usage", by, "--no-sync", "--timezone", "UTC")
    assert list(document)[:3] == ["schema", "by", "timezone"]
    assert (document["schema"], document["by"], document["timezone"]) == ("reread.usage/1", by, "UTC")
    for row in (*document["rows"], document["totals"]):
        for part in (row, *row["models"]):
            assert set(NAMES) <= set(part)
            assert all(type(part[name]) is int for name in NAMES if name != "cost_usd")
            assert part["cost_usd"] is None or len(part["cost_usd"].partition(".")[2]) == 9
        assert all("model" in part for part in row["models"])
    assert all(by in row for row in document["rows"])
    assert set(document["accounting"]) >= {
        "lines_read",
        "malformed_lines",
        "requests",
        "duplicates_collapsed",
        "unpriced_tokens",
        "suspect_output_requests",
        "price_table_date",
    }


@pytest.mark.parametrize(
    ("alias", "by"),
    [
        ("daily", "day"),
        ("weekly", "week"),
        ("monthly", "month"),
        ("blocks", "block"),
        ("sessions", "session"),
        ("branches", "branch"),
    ],
)
def test_other_names_of_periods_are_taken(odd: Kept, alias: str, by: str) -> None:
    assert odd.json("usage", alias, "--no-sync") == odd.json("usage", by, "--no-sync")


@pytest.mark.parametrize("options", [[], ["--breakdown"]])
def test_an_empty_archive_says_that_nothing_was_used(run: Run, tmp_path: Path, options: list[str]) -> None:
    (tmp_path / ".claude" / "projects").mkdir(parents=True)
    ran = Kept(run, tmp_path / ".claude", tmp_path / "archive")("usage", *options)
    assert ran.code == 0
    assert "nothing was used" in ran.out


def test_an_empty_archive_is_an_empty_result(run: Run, tmp_path: Path) -> None:
    (tmp_path / ".claude" / "projects").mkdir(parents=True)
    kept = Kept(run, tmp_path / ".claude", tmp_path / "archive")
    document = kept.json("usage")
    assert (document["rows"], document["totals"]["requests"], document["totals"]["cost_usd"]) == ([], 0, None)
    assert kept("usage", "--csv").out == ",".join(["day", *NAMES]) + "\n"


def test_a_window_without_usage_is_empty_too(odd: Kept) -> None:
    ran = odd("usage", "--no-sync", "--since", "2020-01-01", "--until", "2020-02-01")
    assert (ran.code, ran.out.splitlines()[0]) == (0, "nothing was used")
    assert json.loads(odd("usage", "--no-sync", "--json", "--project", "nobody has this").out)["rows"] == []


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not go by TZ")
@pytest.mark.parametrize(("machine", "named"), [("Asia/Tokyo", "Asia/Tokyo"), ("JST-9", "JST"), ("UTC", "UTC")])
def test_the_zone_of_the_machine_is_named_so_that_it_can_be_asked_for(machine: str, named: str) -> None:
    assert json.loads(reread("demo", "usage", "--json", TZ=machine).out)["timezone"] == named


def test_a_chart_in_a_file_leaves_the_answer_to_be_printed(odd: Kept, tmp_path: Path) -> None:
    chart = tmp_path / "days.svg"
    asked = odd.json("usage", "--plot", chart)
    assert chart.read_text("utf-8").startswith("<svg")
    assert asked["rows"] == odd.json("usage")["rows"]
    chart.unlink()
    assert odd("usage", "--csv", "--plot", chart).out == odd("usage", "--csv").out
    assert chart.exists()
