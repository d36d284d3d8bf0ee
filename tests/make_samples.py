"""Writes the sample sessions that `reread demo` shows: `python tests/make_samples.py`.

They are built, not recorded: ten weeks of somebody's work, small, with one of everything a person may meet.
"""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

from reread.testing import Transcript
from samples import elsewhere, lantern, of_everything, orchard

SAMPLES = Path(__file__).parents[1] / "src" / "reread" / "samples"
FIRST_LINE = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
"""Where the builders' clock starts."""
PACE = 17
"""Seconds that pass in a sample for each second of the builders' clock."""
LAST_DAY = datetime(2026, 11, 13, tzinfo=UTC)


def on(days_before: int, hour: int, minute: int) -> datetime:
    return LAST_DAY - timedelta(days=days_before) + timedelta(hours=hour, minutes=minute)


def notes(version: str, days_before: int, session: str, model: str, client: str) -> tuple[Transcript, datetime]:
    commits, told = {
        "0.3": ("8c1f2aa keep jobs in SQLite\n41d07be ruff", "- Jobs outlast a crash."),
        "0.4": ("d29e6b0 timeout of fetch\n7b1c3f5 tests", "- `fetch` takes a `timeout`."),
        "0.5": (
            "90fa7e1 cron with seconds\n2e8b6cd clock follows wall time",
            "- Cron lines may begin with seconds.\n- Jobs are on time after the machine slept.",
        ),
    }[version]
    return lantern.release_notes(version, commits, told, session, model, client), on(days_before, 17, 40)


SESSIONS = (
    (elsewhere.site_generator(), on(69, 10, 12)),
    (lantern.setting_up(), on(61, 9, 5)),
    (orchard.checkout_page(), on(45, 15, 31)),
    (lantern.queue_that_survives(), on(38, 13, 20)),
    notes("0.3", 29, "a03c5d7e-9f10-4b2a-8c4d-6e8fa0b2c401", "claude-sonnet-4-6", "2.1.119"),
    (orchard.wrong_total(), on(28, 16, 45)),
    (lantern.timeouts(), on(26, 11, 2)),
    (lantern.cron_with_seconds(), on(24, 9, 50)),
    (elsewhere.shell_prompt(), on(20, 21, 14)),
    notes("0.4", 17, "a14d6e8f-a021-4c3b-9d5e-7f90b1c3d502", "claude-sonnet-4-6", "2.1.145"),
    (orchard.dark_theme(), on(15, 14, 8)),
    (lantern.drift(), on(11, 10, 27)),
    (orchard.slow_list(), on(7, 13, 55)),
    notes("0.5", 5, "a25e7f90-b132-4d4c-8e6f-80a1c2d4e603", "claude-sonnet-5", "2.1.233"),
    (of_everything.translation_session(), on(4, 20, 5)),
    (of_everything.search_session(), on(1, 8, 30)),
    (orchard.labels_of_the_form(), on(0, 9, 41)),
    (of_everything.retry_session(), on(0, 14, 2)),
)


def write_samples(folder: Path) -> None:
    for transcript, started in SESSIONS:
        transcript.write(folder / "projects")
        for path in (folder / "projects").rglob("*.jsonl"):
            if transcript.id in str(path):
                path.write_bytes(b"".join(_moved(line, started) for line in path.read_bytes().splitlines()))


def _moved(line: bytes, started: datetime) -> bytes:
    """The same line on the sample's own day."""
    record = json.loads(line)
    if "timestamp" in record:
        passed = datetime.fromisoformat(record["timestamp"]) - FIRST_LINE
        time = started + timedelta(seconds=passed.total_seconds() * PACE)
        record["timestamp"] = time.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


if __name__ == "__main__":
    shutil.rmtree(SAMPLES / "projects", ignore_errors=True)
    write_samples(SAMPLES)
