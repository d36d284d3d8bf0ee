"""A followed file gives each line once it is whole, and says when it is no longer the same file."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reread.errors import SourceError
from reread.sources import Line, Reset, SessionTail, Tail, find, follow, pace, read_lines


class Script(threading.Event):
    """Stands in for the clock: each wait plays the next step, and the last one ends the following."""

    def __init__(self, *steps: Callable[[], object]) -> None:
        super().__init__()
        self._steps = list(steps)

    def wait(self, timeout: float | None = None) -> bool:  # noqa: ARG002
        if self._steps:
            self._steps.pop(0)()
        else:
            self.set()
        return self.is_set()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "session.jsonl"


def append(file: Path, data: bytes) -> None:
    with file.open("ab") as writer:
        writer.write(data)


def replace(file: Path, data: bytes) -> None:
    fresh = file.with_suffix(".new")
    fresh.write_bytes(data)
    fresh.replace(file)


def overwrite(file: Path, data: bytes) -> None:
    """In place, and a second later: clocks of file systems are too coarse for a test."""
    before = file.stat().st_mtime_ns
    file.write_bytes(data)
    os.utime(file, ns=(before, before + 1_000_000_000))


def followed(file: Path, *steps: Callable[[], object], start: int = 0, number: int = 1) -> list[object]:
    """Lines as bytes, the rest as they are."""
    events = follow(file, start=start, number=number, stop=Script(*steps))
    return [event.raw if isinstance(event, Line) else event for event in events]


def test_what_is_there_comes_first_and_what_is_added_comes_after(file: Path) -> None:
    file.write_bytes(b"1\n2\n")
    steps = (lambda: append(file, b"3\n"), lambda: append(file, b"4\n5\n"))
    assert followed(file, *steps) == [b"1", b"2", b"3", b"4", b"5"]


def test_a_partial_line_waits_for_its_newline(file: Path) -> None:
    seen: list[object] = []
    steps = (lambda: append(file, b'{"a"'), lambda: seen.append("waited"), lambda: append(file, b": 1}\n"))
    seen.extend(follow(file, stop=Script(*steps)))
    assert seen == ["waited", Line(b'{"a": 1}', 1, 0, True)]


def test_a_file_that_does_not_exist_yet_is_waited_for(file: Path) -> None:
    assert followed(file, lambda: None, lambda: file.write_bytes(b"1\n")) == [b"1"]


def test_following_begins_where_it_is_told(file: Path) -> None:
    file.write_bytes(b"1\n2\n")
    events = list(follow(file, start=2, number=2, stop=Script(lambda: append(file, b"\n3\n"))))
    assert events == [Line(b"2", 2, 2, True), Line(b"3", 4, 5, True)]


def test_a_truncated_file_begins_anew(file: Path) -> None:
    file.write_bytes(b"1\n2\n")
    events = list(follow(file, stop=Script(lambda: overwrite(file, b"3\n"))))
    assert events[2:] == [Reset("truncated"), Line(b"3", 1, 0, True)]


def test_a_file_shorter_than_where_to_begin_begins_anew(file: Path) -> None:
    file.write_bytes(b"1\n")
    assert followed(file, start=10, number=5) == [Reset("truncated"), b"1"]


def test_a_replaced_file_begins_anew(file: Path) -> None:
    file.write_bytes(b"1\n")
    assert followed(file, lambda: replace(file, b"1\n2\n")) == [b"1", Reset("replaced"), b"1", b"2"]


@pytest.mark.parametrize("data", [b"9\n", b"9\n2\n3\n"], ids=["same size", "grown"])
def test_a_file_rewritten_in_place_begins_anew(file: Path, data: bytes) -> None:
    file.write_bytes(b"1\n")
    assert followed(file, lambda: overwrite(file, data)) == [b"1", Reset("replaced"), *data.split()]


def test_a_rewritten_file_is_noticed_also_when_following_began_late(file: Path) -> None:
    file.write_bytes(b"1\n2\n")
    steps = (lambda: overwrite(file, b"9\n2\n3\n"),)
    assert followed(file, *steps, start=4) == [Reset("replaced"), b"9", b"2", b"3"]


def test_a_touched_file_gives_nothing(file: Path) -> None:
    file.write_bytes(b"1\n")
    assert followed(file, lambda: overwrite(file, b"1\n")) == [b"1"]


def test_a_deleted_file_is_told_once_and_waited_for(file: Path) -> None:
    file.write_bytes(b"1\n")
    steps = (file.unlink, lambda: None, lambda: file.write_bytes(b"1\n2\n"), lambda: append(file, b"3\n"))
    assert followed(file, *steps) == [b"1", Reset("deleted"), b"1", b"2", b"3"]


def test_a_folder_cannot_be_followed(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="is a folder"):
        followed(tmp_path)


@given(data=st.binary(), cuts=st.lists(st.integers(0, 60), max_size=8).map(sorted))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
def test_however_it_grows_the_lines_are_those_of_the_whole_file(file: Path, data: bytes, cuts: list[int]) -> None:
    file.unlink(missing_ok=True)
    pieces = [data[begin:end] for begin, end in zip([0, *cuts], [*cuts, None], strict=True)]
    steps = [lambda piece=piece: append(file, piece) for piece in pieces]
    assert list(follow(file, stop=Script(*steps))) == [line for line in read_lines(file) if line.ended]


def test_an_idle_look_costs_one_stat_and_no_read(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.write_bytes(b"1\nunfinished")
    calls: list[str] = []
    stat, open_ = Path.stat, Path.open

    def counted_stat(path: Path) -> os.stat_result:
        calls.append("stat")
        return stat(path)

    def counted_open(path: Path, mode: str, buffering: int) -> object:
        calls.append("open")
        return open_(path, mode, buffering)

    monkeypatch.setattr(Path, "stat", counted_stat)
    monkeypatch.setattr(Path, "open", counted_open)
    assert followed(file, calls.clear, *[lambda: None] * 9) == [b"1"]
    assert calls == ["stat"] * 10


def test_stopping_ends_it_in_the_middle_of_a_long_file(file: Path) -> None:
    file.write_bytes(b"1\n" * 1000)
    stop = threading.Event()
    events = follow(file, stop=stop)
    next(events)
    stop.set()
    assert list(events) == []


def test_a_writer_in_another_thread_is_heard_within_about_an_interval(file: Path) -> None:
    interval, stop = 0.02, threading.Event()
    delays: list[float] = []

    def listen() -> None:
        for event in follow(file, interval=interval, stop=stop):
            assert isinstance(event, Line)
            delays.append(time.monotonic() - float(event.raw))

    listener = threading.Thread(target=listen)
    listener.start()
    for _ in range(10):
        append(file, b"%r\n" % time.monotonic())
        time.sleep(interval / 2)
    deadline = time.monotonic() + 30
    while len(delays) < 10 and time.monotonic() < deadline:
        time.sleep(interval)
    stop.set()
    listener.join(30)
    assert not listener.is_alive()
    assert len(delays) == 10
    assert min(delays) < 5 * interval  # the kindest of ten: a busy machine may delay any one


SESSION = "0a1b2c3d-1111-4222-8333-444455556666"


class Sources:
    """A folder of sessions, and what a tail of it gives."""

    def __init__(self, folder: Path) -> None:
        self.trunk = folder / "projects" / "-shop" / f"{SESSION}.jsonl"
        self.agent = self.trunk.with_suffix("") / "subagents" / "agent-aa11.jsonl"
        self.agent.parent.mkdir(parents=True)
        self.folder = folder / "projects"
        self.problems: list[SourceError] = []

    def sleep(self) -> None:
        """As if nothing had been written for an hour."""
        for path in (path for path in self.folder.rglob("*") if path.is_file()):
            hour_ago = time.time() - 3600
            os.utime(path, (hour_ago, hour_ago))

    def tail(self) -> Tail:
        return Tail([self.folder], self.problems)

    def look(self, tail: Tail, *, is_due: bool = False) -> list[object]:
        """The bytes of new lines, those of old ones in brackets, and the rest as it is."""
        found: list[object] = []
        for _, news in tail.look(is_due=is_due):
            if isinstance(news, Reset):
                found.append(news)
            else:
                found += [[each.line.raw] if each.is_old else each.line.raw for each in news]
        return found


@pytest.fixture
def tree(tmp_path: Path) -> Sources:
    return Sources(tmp_path)


def test_what_stood_there_comes_as_old_and_what_is_appended_as_new(tree: Sources) -> None:
    append(tree.trunk, b"1\n2\n")
    tail = tree.tail()
    append(tree.trunk, b"3\n4")
    assert tree.look(tail) == [[b"1"], [b"2"], b"3"]
    append(tree.trunk, b"\n")
    assert tree.look(tail) == [b"4"]
    assert tree.look(tail) == []


def test_a_session_that_slept_is_given_from_its_beginning_once_it_goes_on(tree: Sources) -> None:
    append(tree.trunk, b"1\n")
    append(tree.agent, b"a\n")
    tree.sleep()
    tail = tree.tail()
    assert (tail.sessions, tree.look(tail, is_due=True)) == ([], [])
    append(tree.trunk, b"2\n")
    assert tree.look(tail) == [], "all that sleeps is looked at seldom"
    assert tree.look(tail, is_due=True) == [[b"1"], b"2", [b"a"]]


def test_new_sessions_and_agents_are_found_when_a_look_around_is_due(tree: Sources) -> None:
    append(tree.trunk, b"1\n")
    tail = tree.tail()
    assert tree.look(tail) == [[b"1"]]
    append(tree.agent, b"a\n")
    append(tree.trunk.with_name(f"9{SESSION[1:]}.jsonl"), b"other\n")
    assert tree.look(tail) == []
    assert tree.look(tail, is_due=True) == [b"a", b"other"]
    assert [session.name for session in tail.sessions] == [SESSION, f"9{SESSION[1:]}"]


def test_what_lies_beside_a_conversation_is_named_and_not_read(tree: Sources) -> None:
    append(tree.trunk, b"1\n")
    meta = tree.agent.with_name("agent-aa11.meta.json")
    meta.write_text("{}")
    tail = tree.tail()
    assert tree.look(tail) == [[b"1"]]
    assert [file.path for session in tail.sessions for file in session.side_files] == [meta]


def test_a_file_that_is_another_makes_its_session_begin_anew(tree: Sources) -> None:
    append(tree.trunk, b"1\n2\n")
    append(tree.agent, b"a\n")
    tail = tree.tail()
    assert tree.look(tail) == [[b"1"], [b"2"], [b"a"]]
    overwrite(tree.trunk, b"9\n")
    assert tree.look(tail) == [Reset("truncated")]
    assert tree.look(tail) == [b"9", b"a"]
    tree.agent.unlink()
    assert tree.look(tail) == [Reset("deleted")]
    assert tree.look(tail) == [b"9"]


def test_a_session_that_can_no_longer_be_read_is_told_once_and_the_others_go_on(tree: Sources) -> None:
    append(tree.trunk, b"1\n")
    other = tree.trunk.with_name(f"9{SESSION[1:]}.jsonl")
    append(other, b"other\n")
    tail = tree.tail()
    tree.look(tail)
    tree.trunk.unlink()
    tree.trunk.mkdir()
    append(other, b"more\n")
    assert tree.look(tail) == [b"more"]
    assert tree.look(tail) == []
    assert [problem.path for problem in tree.problems] == [tree.trunk]


def test_all_that_is_not_being_written_is_looked_at_seldom_and_the_seldomer_the_longer_it_takes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 0.0

    def wait(seconds: float) -> None:
        nonlocal now
        now += seconds

    clock = Script(*[lambda: wait(0.1)] * 2000)
    monkeypatch.setattr(time, "monotonic", lambda: now)
    due = []
    for is_due in pace(clock):
        if is_due:
            due.append(now)
            wait(0.2 if len(due) < 3 else 0.01)
    between = [round(later - earlier) for earlier, later in pairwise(due)]
    assert due[0] == pytest.approx(2, abs=0.11)
    assert between[:2] == [10, 10], "a look of 0.2 s may happen every ten seconds"
    assert set(between[2:]) == {2}


class Clock(threading.Event):
    """Whoever waits for it lets time pass."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.pauses: list[float] = []

    def wait(self, timeout: float | None = None) -> bool:
        self.now += timeout or 0.0
        self.pauses.append(timeout or 0.0)
        return len(self.pauses) > 4


def test_what_takes_long_is_done_the_seldomer_and_never_waits_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(time, "thread_time", lambda: clock.now)
    work = iter([0.001, 0.5, 60.0, 0.0])
    for _ in pace(clock, share=0.1):
        clock.now += next(work)
    assert clock.pauses == pytest.approx([0.1, 0.1, 4.5, 10.0, 0.1])


def test_what_only_ctrl_c_ends_waits_for_no_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An interrupt inside the wait of an event was an error of its lock, once in a thousand times."""
    path = tmp_path / "growing.jsonl"
    path.write_bytes(b"one\n")
    monkeypatch.setattr(threading.Event, "wait", lambda *_: pytest.fail("there is no event to wait for"))
    lines = follow(path, interval=0.01)
    assert next(lines) == Line(b"one", 1, 0, ended=True)
    with path.open("ab") as file:
        file.write(b"two\n")
    assert next(lines) == Line(b"two", 2, 4, ended=True)


def test_a_line_that_was_half_written_at_the_first_look_is_new_when_it_is_whole(file: Path) -> None:
    append(file, b'{"a": 1}\n{"b": 2}')
    tail = SessionTail("session")
    tail.add(next(find(file)), file.stat().st_size)
    before = tail.look()
    append(file, b"\n")
    after = tail.look()
    assert not isinstance(before, Reset)
    assert not isinstance(after, Reset)
    assert [each.is_old for each in (*before, *after)] == [True, False]
