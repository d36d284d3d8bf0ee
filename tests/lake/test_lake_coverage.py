"""Which sessions a collector of OpenTelemetry heard of, and a lake has not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cli.conftest import run as run
from cli.running import Run
from reread.testing import a_prompt, a_reply, a_session

HERE, GONE = "0a1b2c3d-1111-4222-8333-444455556666", "1b2c3d4e-2222-4333-8444-555566667777"
NOON = 1_767_700_800_000_000_000


def _attributes(**values: object) -> list[dict[str, Any]]:
    kinds = {str: "stringValue", float: "doubleValue", int: "intValue"}
    return [{"key": name.replace("_id", ".id"), "value": {kinds[type(each)]: each}} for name, each in values.items()]


def _events(session: str, *costs: object, at: int = NOON) -> str:
    records = [
        {
            "timeUnixNano": str(at + number * 10**9),
            "attributes": [
                *_attributes(session_id=session, cost_usd=cost),
                {"key": "event.name", "value": {"stringValue": "api_request"}},
            ],
        }
        for number, cost in enumerate(costs)
    ]
    return json.dumps({"resourceLogs": [{"scopeLogs": [{"logRecords": records}]}]})


def _totals(session: str, *values: float, temporality: object) -> str:
    points = [
        {
            "startTimeUnixNano": str(NOON),
            "timeUnixNano": str(NOON + number * 60 * 10**9),
            "attributes": _attributes(session_id=session),
            "asDouble": value,
        }
        for number, value in enumerate(values)
    ]
    metric = {"name": "claude_code.cost.usage", "sum": {"aggregationTemporality": temporality, "dataPoints": points}}
    other = {"name": "claude_code.token.usage", "sum": {"aggregationTemporality": 1, "dataPoints": points}}
    return json.dumps({"resourceMetrics": [{"scopeMetrics": [{"metrics": [metric, other]}]}]})


@pytest.fixture
def lake(run: Run, tmp_path: Path) -> Path:
    a_session(a_prompt("x"), a_reply("y"), id=HERE).write(tmp_path / "projects")
    assert run("lake", "build", tmp_path / "projects", "--lake", tmp_path / "lake", "--what", "cost").code == 0
    return tmp_path / "lake"


def _asked(run: Run, lake: Path, *messages: str, names: tuple[str, ...] = ("told.jsonl",)) -> dict[str, Any]:
    files = [lake.parent / name for name in names]
    for file in files:
        file.write_text("\n".join(messages) + "\n", "utf-8")
    ran = run("lake", "query", "--lake", lake, "coverage", *files, "--json")
    assert ran.code == 0, ran.err
    return dict(json.loads(ran.out))


def test_sessions_that_only_the_collector_has_are_told_with_what_they_cost(run: Run, lake: Path) -> None:
    found = _asked(run, lake, _events(HERE, 5.0), _events(GONE, 0.25, "0.05"), "half a lin")
    assert (found["schema"], found["seen"], found["here"]) == ("reread.lake_coverage/1", 2, 1)
    assert found["missing"] == [
        {
            "session": GONE,
            "first": "2026-01-06T12:00:00.000Z",
            "last": "2026-01-06T12:00:01.000Z",
            "requests": 2,
            "cost_usd": "0.300000000",
        }
    ]
    said = run("lake", "query", "--lake", lake, "coverage", lake.parent / "told.jsonl").out
    assert said.startswith("2 sessions seen by the collector, 1 of them not in the lake: $0.300000000\n")
    assert GONE in said


@pytest.mark.parametrize(
    ("temporality", "cost"), [(1, "0.700000000"), ("AGGREGATION_TEMPORALITY_DELTA", "0.700000000"), (2, "0.400000000")]
)
def test_a_metric_is_told_as_increments_or_as_a_total(run: Run, lake: Path, temporality: object, cost: str) -> None:
    found = _asked(run, lake, _totals(GONE, 0.1, 0.2, 0.4, temporality=temporality))
    assert [(each["requests"], each["cost_usd"]) for each in found["missing"]] == [(0, cost)]


def test_where_there_are_events_the_metric_does_not_count_again(run: Run, lake: Path) -> None:
    found = _asked(run, lake, _events(GONE, 0.7), _totals(GONE, 0.1, 0.2, 0.4, temporality=1))
    assert [each["cost_usd"] for each in found["missing"]] == ["0.700000000"]


def test_what_two_files_repeat_counts_once(run: Run, lake: Path) -> None:
    found = _asked(run, lake, _events(GONE, 0.7), _events(GONE, 0.7), names=("a.jsonl", "b.jsonl"))
    assert [(each["requests"], each["cost_usd"]) for each in found["missing"]] == [(1, "0.700000000")]


def test_a_file_that_is_not_there_and_filters_are_refused(run: Run, lake: Path) -> None:
    for words in (
        ["coverage"],
        ["coverage", lake.parent / "none"],
        ["coverage", lake.parent / "none", "--since", "7d"],
    ):
        refused = run("lake", "query", "--lake", lake, *words)
        assert (refused.code, refused.err.count("\n")) == (2, 1)
        assert "Errno" not in refused.err
