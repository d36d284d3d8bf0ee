"""Friction in a lake: the counts and rates of a retrospective over the same transcripts."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from cli.running import reread
from lake.lakes import EVERYTHING, asked, built
from reread.archive import Archive
from reread.archive.filters import Filter
from reread.billing import packaged_prices
from reread.features.friction.detection import FrictionKind
from reread.lake.delta import DeltaLake
from reread.lake.query import FrictionWeek, LakeAnswers
from reread.lake.upkeep import verify
from reread.testing import a_prompt, a_reply, a_session, a_tool_call, a_tool_result
from trees import a_tree, append, resume_copy

CORPUS = Path(__file__).parents[3] / "shared" / "corpus"
KEY = "sk-ant-api03-" + "Ab1Cd2Ef3Gh4Jk5Lm6Np7Qr8St9Uv" * 3 + "-abcdefAA"
BY_ITSELF = [kind.value for kind in FrictionKind if kind is not FrictionKind.REPEATED_INSTRUCTION]
"""What a session shows by itself; instructions that are repeated are found over all sessions of a person."""


def weeks_of(lake: Path, wanted: Filter = EVERYTHING, zone: ZoneInfo | None = None) -> list[FrictionWeek]:
    with LakeAnswers.of(DeltaLake(str(lake)), packaged_prices()) as answers:
        return answers.friction(wanted, zone or UTC)


def summed(weeks: list[FrictionWeek]) -> dict[str, tuple[int, dict[str, int]]]:
    """Prompts and kinds by week, over all projects."""
    prompts: Counter[str] = Counter()
    kinds: dict[str, Counter[str]] = {}
    for each in weeks:
        prompts[each.week] += each.rate.exposure
        kinds.setdefault(each.week, Counter()).update(each.kinds)
    return {week: (prompts[week], dict(found)) for week, found in kinds.items()}


def retro_weeks(
    archive: Archive, wanted: Filter = EVERYTHING, zone: ZoneInfo | None = None
) -> dict[str, tuple[int, dict[str, int]]]:
    found = archive.friction.retro(wanted, kinds=BY_ITSELF, timezone=zone or UTC)
    return {week.week: (week.rate.exposure, week.kinds) for week in found.weeks}


def assert_same_friction(lake: Path, archive: Archive) -> int:
    for zone in (None, ZoneInfo("Asia/Kathmandu")):
        assert summed(weeks_of(lake, zone=zone)) == retro_weeks(archive, zone=zone)
    weeks = weeks_of(lake)
    for project in {each.project for each in weeks if each.project}:
        rates = {each.week: (each.rate, each.kinds) for each in weeks_of(lake, Filter(project=project))}
        found = archive.friction.retro(Filter(project=project), kinds=BY_ITSELF, timezone=UTC)
        own = {name: value for name, value in rates.items() if value[0].count or value[0].exposure}
        if len({each.project for each in weeks if each.project and project in each.project}) == 1:
            assert own == {week.week: (week.rate, week.kinds) for week in found.weeks}, project
    return sum(each.rate.count for each in weeks)


def test_rates_are_those_of_a_retrospective(tmp_path: Path) -> None:
    tree = a_tree(tmp_path, size=2_000_000)
    resume_copy(tree.source, tree.truth)
    built(tmp_path / "lake", tree.source)
    append(tree.source, tree.truth)
    built(tmp_path / "lake", tree.source)
    with tree.archive() as archive:
        archive.sync()
        assert assert_same_friction(tmp_path / "lake", archive) > 0
    assert verify(DeltaLake(str(tmp_path / "lake")), packaged_prices()).ok


@pytest.mark.shared
@pytest.mark.skipif(not CORPUS.is_dir(), reason="no recorded transcripts beside the project")
def test_rates_of_recorded_transcripts_are_those_of_a_retrospective(tmp_path: Path) -> None:
    built(tmp_path / "lake", CORPUS, what="ledger")
    with Archive(tmp_path / "home", [CORPUS], machine="desk") as archive:
        archive.sync()
        assert assert_same_friction(tmp_path / "lake", archive) > 100


@pytest.fixture
def stumbled(tmp_path: Path) -> Path:
    """A session in which a tool fails, and a fork of it that repeats the failure and adds another."""
    failed = [
        a_prompt(f"run it with {KEY}", uuid="u1", timestamp="2026-11-02T10:00:00.000Z"),
        a_reply(a_tool_call("Bash", {"command": "make"}, id="t1"), uuid="u2", timestamp="2026-11-02T10:00:01.000Z"),
        a_tool_result(
            f"make: no rule for {KEY}", of="t1", is_error=True, uuid="u3", timestamp="2026-11-02T10:00:02.000Z"
        ),
    ]
    more = [
        a_prompt("and again", uuid="u4", timestamp="2026-11-10T10:00:00.000Z"),
        a_reply(a_tool_call("Bash", {"command": "ls"}, id="t2"), uuid="u5", timestamp="2026-11-10T10:00:01.000Z"),
        a_tool_result("ls: nothing there", of="t2", is_error=True, uuid="u6", timestamp="2026-11-10T10:00:02.000Z"),
    ]
    a_session(*failed, id="ann", cwd="/home/ann").write(tmp_path / "source")
    a_session(*failed, *more, id="fork", cwd="/home/ann").write(tmp_path / "source")
    return tmp_path


def test_what_a_fork_repeats_counts_once_and_sums_of_the_table_are_rates(stumbled: Path) -> None:
    built(stumbled / "lake", stumbled / "source")
    rows = asked(stumbled / "lake", "SELECT day, project, kind, moments, prompts FROM friction_day")
    assert rows == [
        ("2026-11-02", "/home/ann", "tool_error", 1, 0),
        ("2026-11-02", "/home/ann", None, 0, 1),
        ("2026-11-10", "/home/ann", "tool_error", 1, 0),
        ("2026-11-10", "/home/ann", None, 0, 1),
    ]
    assert asked(stumbled / "lake", "SELECT count(*), count(DISTINCT uuid) FROM moment") == [(2, 2)]


def test_words_of_moments_are_redacted_and_not_in_a_lake_without_text(stumbled: Path) -> None:
    for what, are_there in (("ledger", False), ("all", True)):
        built(stumbled / what, stumbled / "source", what=what)
        said = [text for (text,) in asked(stumbled / what, "SELECT evidence FROM moment ORDER BY time")]
        assert all((text is not None) is are_there for text in said)
        assert "Ab1Cd2" not in repr(asked(stumbled / what, "SELECT * FROM moment"))
    built(stumbled / "words", stumbled / "source", what="text")
    assert asked(stumbled / "words", "SELECT count(*) FROM moment") == [(0,)]


def test_the_command_prints_rates_with_intervals(stumbled: Path) -> None:
    built(stumbled / "lake", stumbled / "source")
    zone = ["--timezone", "UTC", "--home", str(stumbled / "none")]
    ran = reread("lake", "query", "--lake", stumbled / "lake", "friction", "--since", "2026-11-09", *zone, "--json")
    assert json.loads(ran.out) == {
        "schema": "reread.lake_friction/1",
        "timezone": "UTC",
        "rows": [
            {
                "project": "/home/ann",
                "week": "2026-11-09",
                "count": 1,
                "prompts": 1,
                "per_100_prompts": 100.0,
                "interval": [pytest.approx(1.3, abs=2), pytest.approx(557, abs=2)],
                "kinds": {"tool_error": 1},
            }
        ],
    }
    shown = reread("lake", "query", "--lake", stumbled / "lake", "friction", *zone)
    assert shown.code == 0 and "per 100 prompts" in shown.out and "/home/ann" in shown.out
    refused = reread("lake", "query", "--lake", stumbled / "lake", "friction", "--tool", "Bash", *zone)
    assert (refused.code, refused.out) == (2, "")


def test_a_window_is_that_of_the_retrospective(stumbled: Path) -> None:
    built(stumbled / "lake", stumbled / "source")
    wanted = Filter(since=datetime(2026, 11, 3, tzinfo=UTC))
    with Archive(stumbled / "home", [stumbled / "source"], machine="desk") as archive:
        archive.sync()
        assert summed(weeks_of(stumbled / "lake", wanted)) == retro_weeks(archive, wanted)
