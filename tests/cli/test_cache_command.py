"""`reread cache`: what a person sees, and what a script can rely on."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from cli.kept import Kept
from cli.running import Run
from reread.testing import Entry, a_prompt, a_reply, a_session, a_subagent, a_system_line, a_usage

ANN = "aaaa0000-1111-4222-8333-444455556666"
BOB = "bbbb0000-1111-4222-8333-444455556666"


def a_request(name: str, time: str, *, read: int = 0, hour: int = 0, uncached: int = 0, **fields: Any) -> Entry:
    usage = a_usage(uncached, 20, cache_read=read, cache_write=hour, cache_write_1h=hour)
    return a_reply("yes", id=f"msg_{name}", usage=usage, timestamp=f"2026-03-01T{time}.000Z", **fields)


ENTRIES = (
    a_prompt("fix the lamp"),
    a_request("first", "10:00:00", hour=50_000),
    a_request("hit", "10:01:00", read=90_000, hour=9_000, uncached=1_000),
    a_request("rebuild", "12:02:00", hour=40_000),
    a_system_line("turn_duration", durationMs=2_400),
    a_subagent(a_prompt("task"), a_request("inside", "10:00:30", hour=1_000), id="a1234567890"),
)


@pytest.fixture
def cached(run: Run, tmp_path: Path) -> Kept:
    """One session with a rebuild, an agent and a timed turn."""
    kept = Kept(run, tmp_path / ".claude", tmp_path / "archive")
    a_session(*ENTRIES, id=ANN).write(kept.claude / "projects")
    return kept


def test_it_shows_days_causes_and_what_it_was_made_from(cached: Kept) -> None:
    ran = cached("cache", "--timezone", "UTC")
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert lines[0].split() == ["day", "prompt", "hit", "saved", "rebuilds", "rebuilt", "premium", "thinking"]
    assert lines[1].split() == ["2026-03-01", "191.0k", "47.1%", "-$0.0950", "1", "40.0k", "$0.3800", "0%"]
    assert lines[2].split()[0] == "total"
    assert any(line.split() == ["expired", "inferred", "1", "40.0k", "$0.3800"] for line in lines)
    assert "transcript cost: lower bound" in " ".join(lines[-3:])


def test_a_session_shows_its_context_its_rebuilds_and_its_speed(cached: Kept) -> None:
    out = cached("cache", ANN[:4], "--timezone", "UTC").out
    assert out.startswith("fix the lamp\n/home/ann/app · aaaa0000")
    assert re.search(r"^2026-03-01 12:02 +expired +inferred +40\.0k +40\.0k +\$0\.3800$", out, re.MULTILINE)
    assert re.search(r"^context  ▅█▄  50\.0k to 40\.0k, at most 100\.0k$", out, re.MULTILINE)
    assert re.search(r"^agent a1234567  █  1\.0k to 1\.0k, at most 1\.0k$", out, re.MULTILINE)
    assert "25.0 output tokens per turn second over 1 timed turn, tools and waiting included" in " ".join(out.split())


def test_the_document_of_everything(cached: Kept) -> None:
    document = cached.json("cache", "--by", "model", "--timezone", "UTC")
    assert (document["schema"], document["by"], document["timezone"]) == ("reread.cache/1", "model", "UTC")
    assert document["session"] is None
    totals = document["totals"]
    assert totals["saved_usd"] == "-0.095000000"
    assert totals["premium_usd"] == "0.380000000"
    assert totals["hit_rate"] == 90_000 / 191_000
    assert (totals["rebuilds"], totals["rebuilt_tokens"], totals["unpriced_rebuilds"]) == (1, 40_000, 0)
    assert totals["thinking"] == {
        "told_tokens": 0,
        "estimated_tokens": 0,
        "of_output_tokens": 80,
        "share": 0.0,
        "is_estimate": False,
    }
    [row] = document["rows"]
    assert row == {"model": "claude-opus-4-8", **totals}
    [cause] = document["causes"]
    assert (cause["cause"], cause["source"], cause["premium_usd"]) == ("expired", "inferred", "0.380000000")
    assert document["accounting"]["requests"] == 4
    assert document["accounting"]["is_lower_bound"] is True


def test_the_document_of_a_session(cached: Kept) -> None:
    session = cached.json("cache", "@last")["session"]
    assert (session["id"], session["title"], session["project"]) == (ANN, "fix the lamp", "/home/ann/app")
    assert [context["agent"] for context in session["contexts"]] == [None, "a1234567890"]
    assert session["contexts"][0]["requests"][1] == {"time": "2026-03-01T10:01:00.000Z", "prompt_tokens": 100_000}
    assert session["rebuilds"] == [
        {
            "time": "2026-03-01T12:02:00.000Z",
            "agent": None,
            "model": "claude-opus-4-8",
            "prompt_tokens": 40_000,
            "rebuilt_tokens": 40_000,
            "premium_usd": "0.380000000",
            "cause": "expired",
            "source": "inferred",
        }
    ]
    assert session["turns"] == {
        "timed": 1,
        "left_out": 0,
        "output_tokens": 60,
        "seconds": 2.4,
        "output_tokens_per_turn_second": 25.0,
    }


def test_what_is_not_known_is_null(cached: Kept) -> None:
    a_session(a_prompt("q"), a_reply("a", model="glm-5.1", usage=a_usage(0, 0)), id=BOB).write(
        cached.claude / "projects"
    )
    rows = {row["model"]: row for row in cached.json("cache", "--by", "model")["rows"]}
    unknown = rows["glm-5.1"]
    assert (unknown["hit_rate"], unknown["saved_usd"], unknown["premium_usd"]) == (None, None, None)
    assert unknown["thinking"]["share"] is None
    assert cached.json("cache", BOB)["session"]["turns"]["output_tokens_per_turn_second"] is None


def test_a_session_without_a_price_says_so(cached: Kept) -> None:
    a_session(
        a_prompt("q"),
        a_reply("a", model="glm-5.1", usage=a_usage(1, 1, cache_write=100)),
        a_reply("b", model="glm-5.1", usage=a_usage(1, 1, cache_write=200)),
        id=BOB,
    ).write(cached.claude / "projects")
    lines = cached("cache", BOB).out.splitlines()
    row = next(line for line in lines if line.startswith("glm-5.1"))
    assert row.count("no price") == 2


def test_a_file_is_read_without_the_archive(cached: Kept, run: Run) -> None:
    [path] = (cached.claude / "projects").rglob(f"{ANN}.jsonl")
    document = json.loads(run("cache", path, "--json").out)
    assert document["session"]["id"] == ANN
    assert document["totals"]["premium_usd"] == "0.380000000"


def test_ones_own_prices_hold_for_a_file_too(cached: Kept, run: Run, tmp_path: Path) -> None:
    rates = {"input": "10", "output": "50", "cache_read": "1", "cache_write_5m": "12.5", "cache_write_1h": "20"}
    prices = tmp_path / "mine.json"
    prices.write_text(json.dumps({"schema": 1, "models": {"claude-opus-4-8": [rates]}}))
    [path] = (cached.claude / "projects").rglob(f"{ANN}.jsonl")
    for place in ([path], [ANN, "--source", cached.claude, "--home", cached.home]):
        document = json.loads(run("cache", *place, "--json", "--prices", prices).out)
        assert document["totals"]["premium_usd"] == "0.760000000"


def test_the_limit_keeps_the_newest_days_and_the_totals(cached: Kept) -> None:
    late = a_reply("late", usage=a_usage(1, 1), timestamp="2026-03-05T10:00:00.000Z")
    a_session(a_prompt("q"), late, id=BOB).write(cached.claude / "projects")
    document = cached.json("cache", "--limit", "1", "--timezone", "UTC")
    assert [row["day"] for row in document["rows"]] == ["2026-03-05"]
    assert document["totals"]["requests"] == 5
    [dearest] = cached.json("cache", "--by", "session", "--limit", "1")["rows"]
    assert (dearest["session"], dearest["title"]) == (ANN, "fix the lamp")


def test_nothing_used_is_said(cached: Kept) -> None:
    assert cached("cache", "--project", "moon").out.startswith("nothing was used\n")
    document = cached.json("cache", "--project", "moon")
    assert (document["rows"], document["totals"]["saved_usd"], document["totals"]["hit_rate"]) == ([], None, None)


def test_a_grouping_that_is_not_there_is_told(cached: Kept) -> None:
    ran = cached("cache", "--by", "moon")
    assert (ran.code, ran.out) == (2, "")
    assert "'moon' is not a grouping; try day, week, month, model, project, session" in ran.err


def test_a_long_context_fits_the_screen(cached: Kept) -> None:
    requests = [a_request(f"n{i}", f"10:{i // 60:02}:{i % 60:02}", read=1_000 * i) for i in range(300)]
    a_session(a_prompt("q"), *requests, id=BOB).write(cached.claude / "projects")
    out = cached("cache", BOB).out
    assert all(len(line) <= 80 for line in out.splitlines())
    [context] = [line for line in out.splitlines() if line.startswith("context")]
    assert context.count("█") >= 3
