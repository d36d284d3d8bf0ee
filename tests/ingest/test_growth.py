"""Files that only grew: their sessions alone are looked at, and the archive is what a walk would have made of it."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from growing import CORPUS, IDS, an_archive, rows, trunk
from reread import sources
from reread.archive import Archive
from reread.index.source_state import seen
from reread.ingest import walk
from reread.testing import a_prompt, a_reply, a_session

Line = dict[str, Any]


def a_tree(folder: Path) -> None:
    for number, name in enumerate(IDS):
        path = trunk(folder, number)
        path.parent.mkdir(parents=True, exist_ok=True)
        session = a_session(a_prompt(f"the alpaca {number}"), a_reply("here it is"), id=name)
        path.write_bytes(session.write(folder / "made").read_bytes())
    (folder / "claude" / "history.jsonl").write_text('{"display": "the alpaca"}\n')
    (folder / "claude" / "settings.json").write_text("{}")


def a_line(said: str, number: int, parent: str | None = None) -> bytes:
    record = {
        "type": "user",
        "uuid": f"u-{number}-{said}",
        "parentUuid": parent,
        "sessionId": IDS[number],
        "timestamp": "2026-03-01T10:00:00.000Z",
        "cwd": "/home/ann/shop",
        "message": {"role": "user", "content": said},
    }
    return json.dumps(record).encode() + b"\n"


class Change:
    """Things that happen to a tree, by number."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._count = 0

    def make(self, what: str, number: int) -> None:
        self._count += 1
        getattr(self, what)(trunk(self._folder, number), number)

    def grow(self, path: Path, number: int) -> None:
        self._append(path, a_line(f"an iguana {self._count}", number))

    def grow_by_half_a_line(self, path: Path, number: int) -> None:
        self._append(path, a_line(f"an iguana {self._count}", number)[:-20])

    def shrink(self, path: Path, number: int) -> None:  # noqa: ARG002  as the others
        if path.exists():
            path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])

    def rewrite(self, path: Path, number: int) -> None:
        path.write_bytes(a_line(f"a yak {self._count}", number))

    def remove(self, path: Path, number: int) -> None:  # noqa: ARG002
        path.unlink(missing_ok=True)

    def grow_an_agent(self, path: Path, number: int) -> None:
        agent = path.with_suffix("") / "subagents" / "agent-aa11.jsonl"
        agent.parent.mkdir(parents=True, exist_ok=True)
        self._append(agent, a_line(f"a newt {self._count}", number))

    def grow_an_agent_beside(self, path: Path, number: int) -> None:
        self._append(path.with_name("agent-bb22.jsonl"), a_line(f"a toad {self._count}", number))

    def grow_a_renamed_copy(self, path: Path, number: int) -> None:
        copy = path.with_name("renamed.jsonl")
        self._append(copy, a_line(f"a skink {self._count}", number))

    def grow_history(self, path: Path, number: int) -> None:  # noqa: ARG002
        self._append(self._folder / "claude" / "history.jsonl", b'{"display": "more"}\n')

    def change_settings(self, path: Path, number: int) -> None:  # noqa: ARG002
        (self._folder / "claude" / "settings.json").write_text(json.dumps({"count": self._count}))

    def back_up(self, path: Path, number: int) -> None:  # noqa: ARG002
        folder = self._folder / "claude" / "file-history" / IDS[number]
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"f@v{self._count}").write_text("a content")

    def nothing(self, path: Path, number: int) -> None:
        pass

    def _append(self, path: Path, data: bytes) -> None:
        with path.open("ab") as file:
            file.write(data)


CHANGES = sorted(name for name in vars(Change) if not name.startswith("_") and name != "make")


@settings(max_examples=20, deadline=None)
@given(
    st.lists(st.lists(st.tuples(st.sampled_from([*CHANGES, *["grow"] * 4]), st.integers(0, 2)), max_size=3), max_size=6)
)
def test_whatever_happens_the_rows_are_those_of_a_walk(steps: list[list[tuple[str, int]]]) -> None:
    with TemporaryDirectory() as made:
        folder = Path(made)
        a_tree(folder)
        change = Change(folder)
        with an_archive(folder, "quick") as quick, an_archive(folder, "walked") as walked:
            for step in [[], *steps]:
                for what, number in step:
                    change.make(what, number)
                quick.sync()
                with walking():
                    walked.sync()
                quick.friction.find_waiting()
                assert rows(quick) == rows(walked)
                assert set(seen(quick.inner.connection, "desk")) == set(seen(walked.inner.connection, "desk"))


class walking:  # noqa: N801  reads as a sentence
    """Syncs that walk, whatever happened."""

    def __enter__(self) -> None:
        self._patch = pytest.MonkeyPatch()
        self._patch.setattr(walk, "walk_grown", lambda *_: None)

    def __exit__(self, *_: object) -> None:
        self._patch.undo()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    a_tree(tmp_path)
    return tmp_path


def test_a_session_that_grew_is_taken_in_without_a_walk(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with an_archive(folder, "home") as archive:
        archive.sync()
        change = Change(folder)
        change.make("grow", 1)
        change.make("grow_history", 1)
        monkeypatch.setattr(sources, "find", lambda *_, **__: pytest.fail("the folders were walked"))
        taken = archive.sync()
        assert (taken.sessions, taken.files, taken.unchanged) == (1, 2, 3)
        assert archive.search("iguana").total == 1
        assert archive.is_current()


def test_a_backup_is_taken_in_without_a_walk(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with an_archive(folder, "home") as archive:
        change = Change(folder)
        change.make("back_up", 1)
        archive.sync()
        change.make("back_up", 1)
        change.make("grow", 1)
        monkeypatch.setattr(sources, "find", lambda *_, **__: pytest.fail("the folders were walked"))
        assert archive.sync().files == 2
        assert archive.safe.status().backups == 2
        assert archive.is_current()


def test_transcripts_in_a_folder_that_is_called_like_that_of_backups_go_on(tmp_path: Path) -> None:
    folder = tmp_path / "claude" / "file-history"
    folder.mkdir(parents=True)
    path = folder / f"{IDS[0]}.jsonl"
    path.write_bytes(a_line("the alpaca", 0))
    with Archive(tmp_path / "home", [folder], machine="desk") as archive:
        archive.sync()
        with path.open("ab") as file:
            file.write(a_line("an iguana", 0))
        archive.sync()
        (folder / f"{IDS[1]}.jsonl").write_bytes(a_line("a newt", 1))
        archive.sync()
        assert [archive.search(word).total for word in ("alpaca", "iguana", "newt")] == [1, 1, 1]
        assert archive.is_current()


# -- what is written of a file that grew: only what it tells anew


def a_response(name: str, session: str, minute: int, output: int, *, is_advised: bool = False) -> Line:
    """Told in the words of the client; the same name again, with more output, is the same response."""
    usage: dict[str, Any] = {"input_tokens": 5, "output_tokens": output, "cache_read_input_tokens": minute}
    if is_advised:
        asked = {"type": "advisor_message", "model": "claude-opus-4-8", "input_tokens": 7, "output_tokens": output}
        usage["iterations"] = [{"type": "message", "input_tokens": 5, "output_tokens": output}, asked]
    tool = {"type": "tool_use", "id": f"toolu_{name:0>20}", "name": "Read", "input": {"file_path": f"/{name}"}}
    words = {"type": "thinking", "thinking": f"thought of {name}", "signature": "s"}
    message = {"id": f"msg_{name:0>20}", "role": "assistant", "model": "claude-opus-4-8", "usage": usage}
    return {
        "type": "assistant",
        "uuid": f"u-{name}-{output}",
        "parentUuid": None,
        "sessionId": session,
        "timestamp": f"2026-03-01T10:{minute:02d}:00.000Z",
        "message": {**message, "content": [words, tool, {"type": "text", "text": f"reply {name}"}]},
    }


@st.composite
def conversations(draw: st.DrawFn) -> list[list[bytes]]:
    """Three files; the second and the third begin with some of the first's lines, and go on with some of their own."""
    files: list[list[Line]] = []
    for number, session in enumerate(IDS):
        shared = files[0][: draw(st.integers(0, len(files[0])))] if files else []
        lines = [{**line, "sessionId": session} for line in shared]
        for _ in range(draw(st.integers(1, 6))):
            minute, output = draw(st.integers(0, 4)) * 14, draw(st.integers(1, 3))
            name = f"{number}{draw(st.integers(0, 3))}"
            lines.append(a_response(name, session, minute, output, is_advised=draw(st.booleans())))
        files.append([{**line, "parentUuid": before} for line, before in with_parents(lines)])
    return [[json.dumps(line).encode() + b"\n" for line in file] for file in files]


def with_parents(lines: list[Line]) -> list[tuple[Line, str | None]]:
    return [(line, lines[place - 1]["uuid"] if place else None) for place, line in enumerate(lines)]


def told(archive: Archive) -> dict[str, list[tuple[Any, ...]]]:
    """Rows by names instead of numbers, which depend on what came first."""
    connection = archive.inner.connection
    files = dict(connection.execute("SELECT id, key FROM file"))
    sessions = dict(connection.execute("SELECT id, uuid FROM session"))
    shown = {row[0]: row[1:] for row in connection.execute("SELECT * FROM context")}
    names = {**dict.fromkeys(("file", "owner", "counted"), files), "session": sessions, "context": shown}
    found = {}
    for table in ("session", "request", "copied", "usage_cell", "tool_call", "prompt", "thought", "client_total"):
        rows = connection.execute(f"SELECT * FROM {table}")  # noqa: S608  our own names
        columns = [column[0] for column in rows.description]
        numbers = {"id"} if table == "session" else set()
        found[table] = sorted(
            (
                tuple(names.get(c, {}).get(v, v) for c, v in zip(columns, row, strict=True) if c not in numbers)
                for row in rows
            ),
            key=repr,
        )
    return found


@settings(max_examples=25, deadline=None)
@given(conversations(), st.randoms(use_true_random=False))
def test_files_that_grew_in_turn_have_the_rows_of_files_taken_at_once(
    written: list[list[bytes]], random: Random
) -> None:
    with TemporaryDirectory() as made:
        folder = Path(made)
        trunk(folder, 0).parent.mkdir(parents=True)
        waiting = [(number, list(lines)) for number, lines in enumerate(written)]
        with an_archive(folder, "grown") as grown, an_archive(folder, "fresh") as fresh:
            while waiting:
                for number, lines in random.sample(waiting, random.randint(1, len(waiting))):
                    with trunk(folder, number).open("ab") as file:
                        file.write(b"".join(lines.pop(0) for _ in range(random.randint(1, len(lines)))))
                waiting = [(number, lines) for number, lines in waiting if lines]
                grown.sync()
            fresh.sync()
            assert told(grown) == told(fresh)


def test_a_file_that_grows_past_its_fork_gives_away_what_they_share(tmp_path: Path) -> None:
    """They begin at once; whose history it is depends on which of them ended first."""

    def write(number: int, *lines: Line) -> None:
        trunk(tmp_path, number).parent.mkdir(parents=True, exist_ok=True)
        with trunk(tmp_path, number).open("ab") as file:
            file.write(b"".join(json.dumps({**line, "sessionId": IDS[number]}).encode() + b"\n" for line in lines))

    shared = [a_response(name, IDS[0], 0, 2, is_advised=True) for name in ("00", "01")]
    write(0, *shared)
    write(1, *shared, a_response("10", IDS[1], 14, 2))
    with an_archive(tmp_path, "grown") as grown, an_archive(tmp_path, "fresh") as fresh:
        grown.sync()
        assert {home for _, home, *_ in told(grown)["copied"]} == {key_of(grown, 0)}
        write(0, a_response("02", IDS[0], 28, 2))
        grown.sync()
        assert {home for _, home, *_ in told(grown)["copied"]} == {key_of(grown, 1)}
        fresh.sync()
        assert told(grown) == told(fresh)


def key_of(archive: Archive, number: int) -> str:
    [(key,)] = archive.inner.connection.execute("SELECT key FROM file WHERE path LIKE ?", (f"%{IDS[number]}.jsonl",))
    return str(key)


def test_rows_that_a_file_tells_again_are_not_written_again(folder: Path) -> None:
    with an_archive(folder, "home") as archive:
        archive.sync()
        with trunk(folder, 0).open("ab") as file:
            file.write(json.dumps(a_response("09", IDS[0], 28, 2)).encode() + b"\n")
        written: list[str] = []
        archive.inner.connection.set_trace_callback(written.append)
        archive.sync()
        archive.inner.connection.set_trace_callback(None)
    for table, new in {"request": 1, "tool_call": 1, "thought": 1, "prompt": 0}.items():
        found = [line for line in written if line.startswith("INSERT") and f" INTO {table} " in line]
        assert len(found) == new, table
        assert not [line for line in written if line.startswith(f"DELETE FROM {table} ")], table  # noqa: S608


@pytest.mark.shared
@pytest.mark.skipif(not CORPUS.is_dir(), reason="no recorded transcripts beside the project")
@pytest.mark.parametrize("seed", range(2))
def test_recorded_sessions_and_forks_of_them_that_grew_have_the_rows_of_files_taken_at_once(
    seed: int, tmp_path: Path
) -> None:
    random = Random(seed)
    found = [path for path in sorted(CORPUS.glob("recorded/**/*.jsonl")) if 10_000 < path.stat().st_size < 600_000]
    folder = trunk(tmp_path, 0).parent
    folder.mkdir(parents=True)
    waiting: list[tuple[Path, list[bytes]]] = []
    for number, path in enumerate(random.sample(found, min(12, len(found)))):
        lines = path.read_bytes().splitlines(keepends=True)
        names = [f"{number:08d}-{kind}-4222-8333-444455556666" for kind in ("1111", "2222")]
        waiting.append((folder / f"{names[0]}.jsonl", lines))
        waiting.append((folder / f"{names[1]}.jsonl", lines[: random.randint(1, len(lines))]))
    with an_archive(tmp_path, "grown") as grown, an_archive(tmp_path, "fresh") as fresh:
        while waiting:
            for path, lines in random.sample(waiting, min(4, len(waiting))):
                end = random.randint(1, len(lines))
                with path.open("ab") as file:
                    file.write(b"".join(lines[:end]))
                del lines[:end]
            waiting = [(path, lines) for path, lines in waiting if lines]
            grown.sync()
        fresh.sync()
        assert told(grown) == told(fresh)
        assert told(grown)["copied"]
