"""The doctor's counts: every line read once, damage with its place, what is new by name."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from pathlib import Path

import pytest

from reread.archive import Archive, listing
from reread.archive.health import Health, examine
from reread.loading import SourceTree
from reread.testing import a_prompt, a_reply, a_session, a_subagent, a_tool_call

ERAS = Path(__file__).parents[1] / "eras"
NOW = datetime(2026, 11, 15, tzinfo=UTC)


def health_of(place: Path) -> Health:
    return examine(SourceTree([place]), NOW)


@pytest.mark.parametrize("era", ["e09-fork", "x-broken-lines", "x-bytes", "e12-future", "x-graph"])
def test_records_and_damage_are_those_of_the_reading_by_hand(era: str) -> None:
    cases = json.loads((ERAS / era / "expected.json").read_text("utf-8"))["sessions"]
    health = health_of(ERAS / era / "source")
    assert health.records == sum(case["records"] for case in cases)
    assert len(health.malformed) == sum(case["malformed"] for case in cases)
    assert health.is_damaged == any(case["malformed"] for case in cases)


def test_the_lines_of_a_fork_are_known_to_be_copies() -> None:
    health = health_of(ERAS / "e11-fork" / "source")
    assert health.cross_file_duplicates > 0
    assert health.orphan_parents == 0


def test_a_line_repeated_in_its_own_file_is_no_copy_between_files(tmp_path: Path) -> None:
    path = a_session(a_prompt("q"), a_reply("a")).write(tmp_path)
    path.write_bytes(path.read_bytes() * 2)
    health = health_of(tmp_path)
    assert (health.lines, health.records, health.cross_file_duplicates) == (4, 4, 0)


def test_agent_files_are_read_with_their_session(tmp_path: Path) -> None:
    a_session(
        a_prompt("q"), a_reply(a_tool_call("Task", id="toolu_1")), a_subagent(a_prompt("t"), a_reply("a"), of="toolu_1")
    ).write(tmp_path)
    health = health_of(tmp_path)
    assert (health.sessions, health.files, health.lines) == (1, 2, 4)


def test_agent_files_of_nobody_are_read_too(tmp_path: Path) -> None:
    a_session(a_prompt("q"), a_reply("a"), a_subagent(a_prompt("t"), a_reply("b"), id="stray", where="beside")).write(
        tmp_path
    )
    assert health_of(tmp_path).files == 2


def test_progress_is_told_for_every_share_of_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reread.archive.health.SHARE", 1)
    sizes = [a_session(a_prompt("q"), id=name).write(tmp_path).stat().st_size for name in ("one", "three", "two")]
    told: list[tuple[int, int]] = []
    examine(SourceTree([tmp_path]), NOW, lambda done, of: told.append((done, of)))
    assert told == [(done, sum(sizes)) for done in accumulate(sizes)]


def test_workers_find_what_one_process_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = health_of(ERAS)
    monkeypatch.setattr("reread.archive.health.SHARE", 100_000)
    monkeypatch.setattr("reread.workers.ALONE_BELOW", 0)
    together = health_of(ERAS)
    assert alone.malformed
    assert alone.drift.unknown_types
    assert alone.cross_file_duplicates
    for name in ("unknown_types", "unmodelled_fields", "unexpected_values", "fields"):
        assert list(getattr(alone.drift, name).items()) == list(getattr(together.drift, name).items())
    alone.drift = together.drift
    assert [str(each) for each in alone.unreadable] == [str(each) for each in together.unreadable]
    alone.unreadable = together.unreadable
    assert alone == together


def test_the_shortest_retention_of_all_sources_counts(tmp_path: Path) -> None:
    for name, days in (("work", 90), ("home", 14)):
        a_session(a_prompt("q")).write(tmp_path / name / "projects")
        (tmp_path / name / "settings.json").write_text(json.dumps({"cleanupPeriodDays": days}))
    health = examine(SourceTree([tmp_path / "work", tmp_path / "home"]), NOW)
    assert health.cleanup_period_days == 14


def test_every_config_folder_has_its_own_period(tmp_path: Path) -> None:
    """A folder without a setting has the client's default, whatever another one says."""
    for name, settings in {"a": '{"cleanupPeriodDays": 365}', "b": "{}", "ab": '{"cleanupPeriodDays": 60}'}.items():
        written = a_session(a_prompt(name), id=name).write(tmp_path / name / "projects")
        os.utime(written, (NOW.timestamp(), NOW.timestamp()))
        (tmp_path / name / "settings.json").write_text(settings)
    sources = [tmp_path / name for name in ("a", "b", "ab")]
    later = NOW + timedelta(days=25)
    health = examine(SourceTree(sources), later)
    assert (health.expiring_sessions, health.cleanup_period_days) == (1, 30)
    periods = listing.cleanup_periods(listing.settings_files([*sources[:2], tmp_path / "ab" / "projects"]))
    with Archive(tmp_path / "home", sources) as archive:
        archive.sync()
        listed = archive.sessions(cleanup_days=periods)
        assert {each.id: (each.expires - NOW).days for each in listed if each.expires} == {"a": 365, "b": 30, "ab": 60}
        assert archive.inner.count_expiring(later + timedelta(days=7), periods) == 1
        assert archive.inner.count_expiring(NOW + timedelta(days=61), periods) == 2
    with_capture = str(tmp_path / "a home" / "wire" / "x.wire"), str(tmp_path / "a" / "projects" / "x.jsonl")
    assert (periods.of(*with_capture), periods.of(with_capture[0])) == (365, 30)


@pytest.mark.parametrize("days", ["1000000", "9999999", "1e9", "1" + "0" * 400, "Infinity"])
def test_who_keeps_sessions_for_ever_is_not_warned_of_the_default(tmp_path: Path, days: str) -> None:
    a_session(a_prompt("q")).write(tmp_path / "projects")
    (tmp_path / "settings.json").write_text(f'{{"cleanupPeriodDays": {days}}}')
    health = examine(SourceTree([tmp_path]), NOW + timedelta(days=3_650))
    assert health.cleanup_period_days >= 1_000_000
    assert health.expiring_sessions == 0
    with Archive(tmp_path / "home", [tmp_path]) as archive:
        archive.sync()
        [listed] = archive.sessions(cleanup_days=health.cleanup_period_days)
    assert listed.expires is not None and listed.expires.year > 4_000


@pytest.mark.parametrize(
    "settings", ["", "not json", "[]", '{"cleanupPeriodDays": "x"}', '{"cleanupPeriodDays": null}']
)
def test_settings_that_make_no_sense_leave_the_clients_default(tmp_path: Path, settings: str) -> None:
    a_session(a_prompt("q")).write(tmp_path / "projects")
    (tmp_path / "settings.json").write_text(settings)
    assert health_of(tmp_path).cleanup_period_days == 30
