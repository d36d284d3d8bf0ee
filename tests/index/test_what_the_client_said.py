"""What Claude Code said about its own cost: taken from files and status lines, given up with them, never doubled."""

from __future__ import annotations

import json
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from reread.archive import Archive
from reread.archive.status import spent
from reread.index import client_totals
from reread.index.client_totals import glance
from reread.records.client_input import StatusLine
from reread.testing import Entry, a_line, a_prompt, a_reply, a_session

ID = "0a1b2c3d-1111-4222-8333-444455556666"
OTHER = "5e551011-0000-4000-8000-000000000000"
BEGAN = 1_794_711_881_410
NOW = 1_794_715_200_000
HOUR = 3_600_000


def a_cost_state(dollars: object, *, lasted: int = 1_000, began: int = BEGAN, **models: float) -> Entry:
    usage = {name: {"inputTokens": 42, "outputTokens": 7, "costUSD": cost} for name, cost in models.items()}
    return a_line("cost-state", totalCostUSD=dollars, totalDuration=lasted, startTime=began, modelUsage=usage or None)


def an_archive(folder: Path, *entries: Entry, session: str = ID) -> Archive:
    a_session(a_prompt("go"), a_reply("gone"), *entries, id=session).write(folder / "projects")
    archive = Archive(folder / "home", [folder / "projects"], machine="desk")
    archive.sync()
    return archive


def rows(archive: Archive, columns: str = "session, source, began, time, nanodollars") -> list[Any]:
    asked = f"SELECT {columns} FROM client_total ORDER BY source, time, rowid"  # noqa: S608
    return archive.inner.connection.execute(asked).fetchall()


def values(archive: Archive) -> list[Any]:
    asked = "SELECT name, time, percent, resets FROM limit_value ORDER BY time"
    return archive.inner.connection.execute(asked).fetchall()


def a_line_of(dollars: float | None = 1.5, *, session: str = ID, now: int = NOW, **fields: Any) -> StatusLine:
    cost = {"total_cost_usd": dollars, "total_duration_ms": fields.pop("lasted", None)}
    return StatusLine({"session_id": session, "cost": cost, **fields}, now)


def limits(resets: int, percent: float = 20) -> dict[str, Any]:
    return {"five_hour": {"used_percentage": percent, "resets_at": resets // 1000}}


def keep(archive: Archive, line: StatusLine, now: int = NOW) -> bool:
    return client_totals.keep(archive.inner.connection, line, "desk", now)


# -- files


def test_the_last_total_of_a_transcript_is_kept_with_its_file(tmp_path: Path) -> None:
    states = [a_cost_state(0.01), a_cost_state(0.075493200, lasted=2_000, opus=0.07)]
    with an_archive(tmp_path, *states) as archive:
        assert rows(archive) == [(ID, "cost-state", BEGAN, BEGAN + 2_000, 75_493_200)]
        [(file, models)] = rows(archive, "file, models")
        assert archive.inner.connection.execute("SELECT kind FROM file WHERE id = ?", (file,)).fetchone() == (
            "transcript",
        )
        assert json.loads(models) == {"opus": {"nanodollars": 70_000_000, "input": 42, "output": 7}}


def test_another_beginning_is_another_count(tmp_path: Path) -> None:
    later = a_cost_state(0.2, began=BEGAN + HOUR)
    with an_archive(tmp_path, a_cost_state(0.5), a_cost_state(0.7), later, a_cost_state(0.6)) as archive:
        assert [row[-1] for row in rows(archive)] == [700_000_000, 200_000_000]


def test_without_a_beginning_a_total_that_falls_is_that_of_another_count(tmp_path: Path) -> None:
    states = [a_line("cost-state", totalCostUSD=dollars) for dollars in (0.5, 0.7, 0.2, 0.9)]
    with an_archive(tmp_path, *states) as archive:
        assert [row[-1] for row in rows(archive)] == [700_000_000, 900_000_000]


@pytest.mark.parametrize("amount", [None, "half", -1, 1e300, True, [], {"a": 1}])
def test_a_total_that_is_no_money_was_not_said(tmp_path: Path, amount: object) -> None:
    with an_archive(tmp_path, a_cost_state(amount)) as archive:
        assert rows(archive) == []


def test_hostile_figures_of_models_are_left_out(tmp_path: Path) -> None:
    state = a_line("cost-state", totalCostUSD=1, modelUsage={"a": None, "b": {"costUSD": 1e300, "inputTokens": -4}})
    with an_archive(tmp_path, state) as archive:
        assert rows(archive, "time, models") == [(1767603602000, '{"b":{}}')]


def test_a_captured_stream_says_its_total_in_result_frames(tmp_path: Path) -> None:
    frames = [
        {"type": "system", "subtype": "init", "session_id": ID, "cwd": "/home/ann/app"},
        {"type": "result", "session_id": ID, "is_error": False, "total_cost_usd": 0.01},
        {
            "type": "result",
            "session_id": ID,
            "is_error": False,
            "total_cost_usd": 0.04,
            "modelUsage": {"m": {"costUSD": 0.04}},
        },
    ]
    (tmp_path / "stream.jsonl").write_text("".join(json.dumps(frame) + "\n" for frame in frames))
    with Archive(tmp_path / "home", [tmp_path / "stream.jsonl"], machine="desk") as archive:
        archive.sync()
        assert rows(archive) == [(ID, "result", None, None, 40_000_000)]
        assert rows(archive, "models") == [('{"m":{"nanodollars":40000000}}',)]


def test_a_file_that_grew_or_was_rewritten_says_only_what_it_says_now(tmp_path: Path) -> None:
    with an_archive(tmp_path, a_cost_state(0.5)) as archive:
        an_archive(tmp_path, a_cost_state(0.5), a_cost_state(0.9)).close()
        assert [row[-1] for row in rows(archive)] == [900_000_000]
        an_archive(tmp_path).close()
        assert rows(archive) == []


def test_a_new_index_has_what_files_and_status_lines_said(tmp_path: Path) -> None:
    with an_archive(tmp_path, a_cost_state(0.5)) as archive:
        keep(archive, a_line_of(0.6, rate_limits=limits(NOW + HOUR)))
        before = rows(archive, "session, machine, source, began, time, nanodollars, models")
        archive.safe.rebuild()
        assert rows(archive, "session, machine, source, began, time, nanodollars, models") == before
        assert len(before) == 2
        assert values(archive) == [("five_hour", NOW, 20, NOW + HOUR)]


# -- status lines


def test_a_status_line_is_kept_once(tmp_path: Path) -> None:
    line = a_line_of(rate_limits=limits(NOW + HOUR), context_window={"context_window_size": 200_000})
    with an_archive(tmp_path) as archive:
        assert [keep(archive, line), keep(archive, line, NOW + 300)] == [True, False]
        assert rows(archive) == [(ID, "statusline", None, NOW, 1_500_000_000)]
        assert rows(archive, "context_size, file") == [(200_000, None)]
        assert values(archive) == [("five_hour", NOW, 20, NOW + HOUR)]


def test_what_changes_goes_into_the_same_row_and_what_is_left_out_stays(tmp_path: Path) -> None:
    with an_archive(tmp_path) as archive:
        keep(archive, a_line_of(rate_limits=limits(NOW + HOUR)))
        keep(archive, a_line_of(1.75), NOW + 900)
        assert rows(archive, "time, nanodollars") == [(NOW + 900, 1_750_000_000)]
        assert values(archive) == [("five_hour", NOW, 20, NOW + HOUR)]


def test_every_value_of_a_limit_is_kept_when_it_changes(tmp_path: Path) -> None:
    with an_archive(tmp_path) as archive:
        for minute, percent in enumerate((20, 20, 21.5, 21.5, 40)):
            now = NOW + minute * 60_000
            keep(archive, a_line_of(now=now, rate_limits=limits(NOW + HOUR, percent)), now)
        keep(archive, a_line_of(now=NOW + 300_000, rate_limits=limits(NOW + 5 * HOUR, 1)), NOW + 300_000)
        assert [row[1:] for row in values(archive)] == [
            (NOW, 20, NOW + HOUR),
            (NOW + 120_000, 21.5, NOW + HOUR),
            (NOW + 240_000, 40, NOW + HOUR),
            (NOW + 300_000, 1, NOW + 5 * HOUR),
        ]


def test_another_count_has_a_row_of_its_own(tmp_path: Path) -> None:
    with an_archive(tmp_path) as archive:
        keep(archive, a_line_of(1.0, lasted=60_000, rate_limits=limits(NOW + HOUR)))
        keep(archive, a_line_of(1.5, lasted=60_300, now=NOW + 400, rate_limits=limits(NOW + HOUR)), NOW + 400)
        assert [row[-1] for row in rows(archive)] == [1_500_000_000]
        keep(archive, a_line_of(2.0, lasted=60_900, now=NOW + 900, rate_limits=limits(NOW + 5 * HOUR)), NOW + 900)
        keep(archive, a_line_of(0.1, lasted=0, now=NOW + 990, rate_limits=limits(NOW + 5 * HOUR)), NOW + 990)
        assert [row[-1] for row in rows(archive)] == [2_000_000_000, 100_000_000]


@pytest.mark.parametrize("line", [a_line_of(None), a_line_of(session="\x1b[31m"), StatusLine({}, NOW), a_line_of(0)])
def test_a_status_line_that_tells_nothing_is_not_kept(tmp_path: Path, line: StatusLine) -> None:
    with an_archive(tmp_path) as archive:
        assert not keep(archive, line)


def test_many_status_lines_at_once_leave_one_row_and_raise_nothing(tmp_path: Path) -> None:
    an_archive(tmp_path).close()

    def draw(number: int) -> int | None:
        line = a_line_of(1 + number, lasted=500, rate_limits=limits(NOW + HOUR))
        return spent(str(tmp_path / "home"), line, NOW).today

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(draw, range(40)))
    with Archive(tmp_path / "home", machine="desk") as archive:
        assert len(rows(archive)) == 1


def test_a_status_line_that_comes_late_takes_nothing_back(tmp_path: Path) -> None:
    with an_archive(tmp_path) as archive:
        keep(archive, a_line_of(2.0, lasted=500))
        assert not keep(archive, a_line_of(1.0, lasted=500))
        keep(archive, a_line_of(1.0, lasted=500, rate_limits=limits(NOW + HOUR)))
        assert rows(archive, "nanodollars") == [(2_000_000_000,)]
        assert values(archive) == [("five_hour", NOW, 20, NOW + HOUR)]


def test_a_status_line_does_not_wait_for_a_sync_that_writes(tmp_path: Path) -> None:
    with an_archive(tmp_path) as archive:
        archive.inner.connection.execute("BEGIN IMMEDIATE")
        assert spent(str(archive.home), a_line_of(), NOW).today is not None, "what is there can still be read"
        archive.inner.connection.execute("COMMIT")
        assert rows(archive) == []
        spent(str(archive.home), a_line_of(), NOW)
        assert len(rows(archive)) == 1


def test_a_database_that_is_locked_as_a_whole_tells_nothing(tmp_path: Path) -> None:
    with an_archive(tmp_path) as archive:
        archive.inner.connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        archive.inner.connection.execute("BEGIN EXCLUSIVE")
        found = spent(str(archive.home), a_line_of(), NOW)
        assert (found.today, found.hourly) == (None, None)


def test_a_glance_makes_no_archive_and_migrates_none(tmp_path: Path) -> None:
    with pytest.raises(sqlite3.OperationalError):
        glance(str(tmp_path / "none"))
    assert not (tmp_path / "none").exists()
    (tmp_path / "reread.db").write_bytes(b"")
    assert spent(str(tmp_path), a_line_of(), NOW).today is None
    assert (tmp_path / "reread.db").stat().st_size == 0


# -- forgetting


def test_forgetting_a_session_leaves_no_trace_of_what_was_said(tmp_path: Path) -> None:
    with an_archive(tmp_path, a_cost_state(0.5)) as archive:
        an_archive(tmp_path, a_cost_state(0.25), session=OTHER).close()
        keep(archive, a_line_of(0.6, rate_limits=limits(NOW + HOUR)))
        keep(archive, a_line_of(0.7, session=OTHER))
        archive.safe.forget(ID)
        assert [row[:2] for row in rows(archive)] == [(OTHER, "cost-state"), (OTHER, "statusline")]
        assert values(archive) == []
    left = b"".join(path.read_bytes() for path in (tmp_path / "home").rglob("*") if path.is_file())
    assert ID.encode() not in left
    assert OTHER.encode() in left


def test_a_forgotten_session_stays_so_though_its_client_still_draws_status_lines(tmp_path: Path) -> None:
    with an_archive(tmp_path) as archive:
        [path] = (tmp_path / "projects").rglob("*.jsonl")
        archive.safe.forget(ID)
        assert not keep(archive, a_line_of(transcript_path=str(path)))
        assert keep(archive, a_line_of(session=OTHER, transcript_path=str(path.with_name(f"{OTHER}.jsonl"))))
        assert [row[0] for row in rows(archive)] == [OTHER]
