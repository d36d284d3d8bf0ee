"""Sessions on lantern, a small Python library: how it began, its queue, its clock and its releases."""

from __future__ import annotations

from reread.testing import Transcript

from .telling import Story

LANTERN = "/home/ann/lantern"

PYPROJECT = """\
[project]
name = "lantern"
version = "0.1.0"
requires-python = ">=3.11"

[dependency-groups]
dev = ["pytest", "ruff"]
"""

QUEUE = '''\
"""Jobs that wait, in the order they came."""

from collections import deque


class Queue:
    def __init__(self) -> None:
        self._jobs: deque[str] = deque()

    def put(self, job: str) -> None:
        self._jobs.append(job)

    def take(self) -> str | None:
        return self._jobs.popleft() if self._jobs else None
'''

DURABLE = '''\
"""Jobs that wait, in the order they came; they outlast a crash."""

import sqlite3
from pathlib import Path


class Queue:
    def __init__(self, path: Path) -> None:
        self._db = sqlite3.connect(path)
        self._db.execute("CREATE TABLE IF NOT EXISTS job (id INTEGER PRIMARY KEY, what TEXT)")

    def put(self, job: str) -> None:
        with self._db:
            self._db.execute("INSERT INTO job (what) VALUES (?)", (job,))

    def take(self) -> str | None:
        row = self._db.execute("SELECT id, what FROM job ORDER BY id LIMIT 1").fetchone()
        if row is None:
            return None
        self._db.execute("DELETE FROM job WHERE id = ?", (row[0],))
        return row[1]
'''

HTTP = '''\
"""One request after another, with a limit on how long each may take."""

import urllib.request

TIMEOUT = 30


def fetch(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=TIMEOUT) as answer:
        return answer.read()
'''

CRON = '''\
"""Lines of a crontab."""

FIELDS = ("minute", "hour", "day", "month", "weekday")


def parse(line: str) -> dict[str, str]:
    parts = line.split()
    if len(parts) != len(FIELDS):
        raise ValueError(f"{len(FIELDS)} fields are needed, not {len(parts)}")
    return dict(zip(FIELDS, parts, strict=True))
'''

CLOCK = '''\
"""When the next job is due."""

import time


class Clock:
    def __init__(self) -> None:
        self._started = time.monotonic()

    def now(self) -> float:
        return time.monotonic() - self._started
'''

DRIFT = """\
FAILED tests/test_clock.py::test_suspend - assert 0.0 == 3600.0
  where 0.0 = <bound method Clock.now of <lantern.clock.Clock object>>()
1 failed, 61 passed in 1.42s"""


def setting_up() -> Transcript:
    """The first session of a project: files from nothing."""
    story = Story("0e5d6f1a-9d0c-4b8e-8a51-5f5e6b0c7a01", LANTERN, model="claude-sonnet-4-6", version="2.1.81").titled(
        "Set up lantern"
    )
    story.ask("Set up a Python package called lantern with a job queue, tests and ruff. Always use uv instead of pip.")
    story.think(
        "A small package: pyproject, src layout, one module, one test. uv is asked for, so dependency groups rather "
        "than a requirements file."
    ).say("I'll start with the package itself, then the queue and a test.")
    story.write("pyproject.toml", PYPROJECT).write("src/lantern/queue.py", QUEUE)
    story.write(
        "tests/test_queue.py",
        "from lantern.queue import Queue\n\n\ndef test_first_in_first_out() -> None:\n    queue = Queue()\n"
        '    queue.put("a")\n    queue.put("b")\n'
        '    assert [queue.take(), queue.take(), queue.take()] == ["a", "b", None]\n',
    )
    story.bash("ruff format .", "3 files left unchanged").bash("uv run pytest -q", "1 passed in 0.02s")
    story.say("The package stands: `src/lantern/queue.py` with one test, which passes. `uv run pytest` runs it.").took(
        96
    )
    return story.told()


def queue_that_survives() -> Transcript:
    """A question with options, a plan, a failing test on the way."""
    story = Story("5b2f7d3e-1c44-4f0e-9b0a-3d7c8e9f1b02", LANTERN, model="claude-opus-4-7", version="2.1.119").titled(
        "A queue that survives a crash"
    )
    story.ask("Jobs are lost when the process dies. Make the queue survive that. Always use uv instead of pip here.")
    story.think(
        "Two ways: a log that is replayed, or SQLite. SQLite is in the standard library and gives atomic takes. The "
        "person should choose, as it changes the constructor."
    )
    question = "Where should waiting jobs be kept?"
    options = [
        {"label": "SQLite file", "description": "One file, atomic, in the standard library"},
        {"label": "Append-only log", "description": "Fast, must be compacted now and then"},
    ]
    asked = [{"question": question, "header": "Storage", "options": options, "multiSelect": False}]
    story.use(
        "AskUserQuestion",
        {"questions": asked},
        f'User has answered your questions: "{question}"="SQLite file". You can now continue.',
        twin={"questions": asked, "answers": {question: "SQLite file"}},
    )
    plan = (
        "1. `Queue(path)` keeps jobs in a table.\n2. `take` deletes what it gives.\n3. A test kills a child half way."
    )
    story.say("SQLite it is. This is what I would do:").use(
        "ExitPlanMode",
        {"plan": plan},
        f"User has approved your plan. You can now start coding.\n\n## Approved Plan:\n{plan}",
        twin={"plan": plan, "isAgent": False},
    )
    story.read("src/lantern/queue.py", QUEUE).write("src/lantern/queue.py", DURABLE)
    story.bash(
        "uv run pytest -q",
        "FAILED tests/test_crash.py::test_take_is_kept - AssertionError: job came back\n1 failed, 11 passed in 0.61s",
        fails=1,
    )
    story.think("The delete is outside a transaction, so it is rolled back when the child is killed.")
    story.say("`take` deletes outside a transaction; the kill undoes it.")
    story.edit(
        "src/lantern/queue.py",
        '        self._db.execute("DELETE FROM job WHERE id = ?", (row[0],))\n',
        '        with self._db:\n            self._db.execute("DELETE FROM job WHERE id = ?", (row[0],))\n',
    )
    story.bash("ruff format src", "1 file left unchanged").bash("uv run pytest -q", "12 passed in 0.58s")
    story.say("Jobs now outlast a crash. Twelve tests pass, one of them kills a child between `put` and `take`.").took(
        241
    )
    return story.told()


def timeouts() -> Transcript:
    """An edit of a file nobody had read, a correction, and two ways from one prompt."""
    story = Story("9c1de5b8-77f2-43b5-8e13-6a4f2d8c0b03", LANTERN, model="claude-opus-4-7", version="2.1.145").titled(
        "Timeouts of the HTTP client"
    )
    story.files["src/lantern/http.py"] = HTTP
    story.ask("Some servers need longer than 30 seconds. Make that adjustable. Always use uv instead of pip.")
    story.edit_unread("src/lantern/http.py", "TIMEOUT = 30", "TIMEOUT = 60")
    story.read("src/lantern/http.py").think("A global would be the smallest change.")
    story.edit(
        "src/lantern/http.py", "TIMEOUT = 30\n", 'import os\n\nTIMEOUT = int(os.environ.get("LANTERN_TIMEOUT", "30"))\n'
    )
    story.say("The limit can now be set with `LANTERN_TIMEOUT`.", uuid="by-environment")
    story.ask("No, not an environment variable. It should be an argument of fetch.")
    story.think("An argument with the old value as its default keeps every caller as it is.")
    story.edit(
        "src/lantern/http.py", 'import os\n\nTIMEOUT = int(os.environ.get("LANTERN_TIMEOUT", "30"))\n', "TIMEOUT = 30\n"
    )
    story.edit("src/lantern/http.py", "def fetch(url: str)", "def fetch(url: str, timeout: float = TIMEOUT)")
    story.edit("src/lantern/http.py", "timeout=TIMEOUT)", "timeout=timeout)")
    story.bash("ruff format src", "1 file left unchanged").bash("uv run pytest -q", "19 passed in 0.90s")
    story.say("`fetch(url, timeout=90)` works, and without it nothing changes.").took(118)
    return story.told()


def release_notes(version: str, commits: str, notes: str, session: str, model: str, client: str) -> Transcript:
    """The same wish before every release."""
    story = Story(session, LANTERN, model=model, version=client).titled(f"Release notes for {version}")
    story.ask(
        f"Write the release notes for {version} from the commits since the last tag, short, for users, not developers."
    )
    story.bash("git log $(git describe --tags --abbrev=0)..HEAD --oneline", commits)
    story.think("Leave out what nobody outside would notice: refactorings, tests, the build.").say(notes).took(31)
    return story.told()


def cron_with_seconds() -> Transcript:
    """In a worktree, with an agent that looks things up."""
    story = Story(
        "d7a30f62-5e1b-4c9d-a2f4-1b8e7c6d5a04", f"{LANTERN}/.claude/worktrees/cron-seconds", version="2.1.197"
    ).titled("Cron lines with seconds")
    story.files["src/lantern/cron.py"] = CRON
    story.ask("Issue #57: accept cron lines with a sixth field for seconds. Always use uv instead of pip, please.")
    inner = Story("c41b90de", story.folder, model="claude-haiku-5-5")
    inner.think("Quartz puts seconds first; systemd has its own syntax. Look at what the tests assume.")
    inner.use("Grep", {"pattern": "parse\\(", "path": "tests"}, "tests/test_cron.py:9\ntests/test_cron.py:17")
    found = (
        "Quartz and Spring put seconds first. No test gives six fields, so reading the first as seconds breaks none."
    )
    story.delegate("Explore", "Find out where other schedulers put the seconds", inner, found)
    story.think("Seconds first, default 0, so that five fields mean what they meant.")
    story.edit_unread("src/lantern/cron.py", "FIELDS = (", 'FIELDS = ("second", ')
    story.read("src/lantern/cron.py")
    story.edit(
        "src/lantern/cron.py",
        "    parts = line.split()\n    if len(parts) != len(FIELDS):\n"
        '        raise ValueError(f"{len(FIELDS)} fields are needed, not {len(parts)}")\n'
        "    return dict(zip(FIELDS, parts, strict=True))\n",
        "    parts = line.split()\n    if len(parts) == len(FIELDS):\n"
        '        parts = ["0", *parts]\n    if len(parts) != len(FIELDS) + 1:\n'
        '        raise ValueError(f"five or six fields are needed, not {len(parts)}")\n'
        '    return dict(zip(("second", *FIELDS), parts, strict=True))\n',
    )
    story.bash("ruff format src", "1 file reformatted").bash("uv run pytest -q", "43 passed in 1.02s")
    story.say("Six fields are read with the seconds first, five as before. 43 tests pass.").took(203)
    return story.told()


def drift() -> Transcript:
    """A loop: the same test fails again and again until the person steps in."""
    story = Story("e18c4b95-0a7d-4e63-b5c1-9f2d3a4b6c05", LANTERN, version="2.1.233").titled("Drift after suspend")
    story.files["src/lantern/clock.py"] = CLOCK
    story.ask(f"Jobs are late after the laptop slept (#41). This is what I get:\n\n$ uv run pytest -q\n{DRIFT}")
    story.think("`time.monotonic` stands still while the machine sleeps, on Linux at least.")
    story.read("src/lantern/clock.py")
    story.edit("src/lantern/clock.py", "self._started = time.monotonic()", "self._started = time.perf_counter()")
    story.bash("uv run pytest -q tests/test_clock.py", DRIFT, fails=1)
    story.think("perf_counter may stop as well. Perhaps the subtraction uses the other clock.")
    story.edit("src/lantern/clock.py", "return time.monotonic() -", "return time.perf_counter() -")
    story.bash("uv run pytest -q tests/test_clock.py", DRIFT, fails=1)
    story.bash("uv run pytest -q tests/test_clock.py", DRIFT, fails=1)
    story.say("Still the same; let me try `process_time`.").interrupt()
    story.ask(
        "Stop guessing. That's wrong: no clock of that family runs during sleep. Use wall time and handle jumps. "
        "And always use uv instead of pip."
    )
    story.think("Wall time may jump backwards; take the larger of the two and never go back.")
    story.edit(
        "src/lantern/clock.py",
        "self._started = time.perf_counter()",
        "self._started = time.time()\n        self._last = 0.0",
    )
    story.edit(
        "src/lantern/clock.py",
        "        return time.perf_counter() - self._started",
        "        # Wall time goes on while the machine sleeps; it may be set back, this must not go back with it.\n"
        "        self._last = max(self._last, time.time() - self._started)\n        return self._last",
    )
    story.bash("ruff format src", "1 file left unchanged").bash("uv run pytest -q", "62 passed in 1.40s")
    story.say("The clock follows wall time and never goes back. All 62 tests pass, the suspend test among them.").took(
        388
    )
    return story.told()
