"""A transcript that grew is read on from what its first lines amounted to: the rows are those of reading the whole."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from growing import CORPUS, IDS, an_archive, rows, trunk
from reread.archive import Archive
from reread.ingest import closed_parts
from sampling import examples

ALWAYS, NEVER = 0, 1 << 60
"""How long a transcript must be until it is read on."""
Line = dict[str, Any]


@pytest.fixture
def read_on(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """For every transcript that might be read on whether it was."""
    told: list[bool] = []
    tail_of = closed_parts.tail_of

    def noted(*given: Any) -> Any:
        tail = tail_of(*given)
        told.append(tail is not None)
        return tail

    monkeypatch.setattr(closed_parts, "tail_of", noted)
    return told


class Both:
    """Two archives of one tree: one reads on wherever it can, the other never."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.on, self.whole = an_archive(folder, "on"), an_archive(folder, "whole")
        trunk(folder, 0).parent.mkdir(parents=True, exist_ok=True)

    def __enter__(self) -> Both:
        return self

    def __exit__(self, *_: object) -> None:
        self.on.close()
        self.whole.close()

    def grow(self, data: bytes) -> None:
        """Fails if what the two archives tell then differs."""
        with trunk(self._folder, 0).open("ab") as file:
            file.write(data)
        with pytest.MonkeyPatch.context() as patch:
            for archive, long in ((self.on, ALWAYS), (self.whole, NEVER)):
                patch.setattr(closed_parts, "LONG", long)
                archive.sync()
        assert told(self.on) == told(self.whole)


def told(archive: Archive) -> dict[str, list[tuple[Any, ...]]]:
    return {table: found for table, found in rows(archive).items() if table != "closed_part"}


def _transcripts() -> list[Path]:
    return sorted(path for path in CORPUS.rglob("*.jsonl") if "subagents" not in path.parts)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("path", _transcripts(), ids=lambda path: str(path.relative_to(CORPUS)))
def test_a_recorded_session_that_grows_in_steps_has_the_rows_of_the_whole(path: Path, tmp_path: Path) -> None:
    content = path.read_bytes()
    random = Random(path.name)
    if path.with_suffix("").is_dir():
        shutil.copytree(path.with_suffix(""), trunk(tmp_path, 0).with_suffix(""))
    places = sorted(random.randrange(len(content) + 1) for _ in range(8))
    whole_lines = [content.find(b"\n", place) + 1 or len(content) for place in places]
    steps = sorted({*random.choices([*places, *whole_lines], k=8), len(content)})
    with Both(tmp_path) as both:
        for start, end in zip([0, *steps], steps, strict=False):
            both.grow(content[start:end])


class Story:
    """Lines of a session, odd ones among them, each told by what chance says."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._lines: list[Line] = []
        self._open: list[str] = []
        self._promised: list[str] = []
        """Lines and calls that were named before they came."""
        self._count = 0
        self._minute = 0

    def lines(self, number: int) -> list[bytes]:
        how_odd = self._random.choice((0.02, 0.1, 0.3))
        self._prompt()
        while len(self._lines) < number:
            if self._random.random() < how_odd:
                getattr(self, self._random.choice(_ODD))()
            else:
                self._random.choice((self._prompt, *[self._reply] * 4, *[self._result] * 5))()
        return [json.dumps(line).encode() + b"\n" if line else b'{"type": "user", "broken\n' for line in self._lines]

    def _name(self) -> str:
        self._count += 1
        if self._promised and self._random.random() < 0.2:
            return self._promised.pop()
        return f"{self._count:032x}"

    def _add(self, kind: str, **fields: Any) -> Line:
        self._minute += self._random.choice((0, 0, 1, 2, 90))
        hour, minute = divmod(self._minute, 60)
        line = {
            "type": kind,
            "uuid": self._name(),
            "parentUuid": self._last_uuid(),
            "sessionId": IDS[0],
            "timestamp": f"2026-03-{1 + hour // 24:02d}T{hour % 24:02d}:{minute:02d}:00.000Z",
            "cwd": "/home/ann/shop",
            "version": self._random.choice(("2.1.20", "2.1.20", "2.1.21")),
            "gitBranch": self._random.choice(("main", "main", "topic")),
            **fields,
        }
        self._lines.append(line)
        return line

    def _last_uuid(self) -> str | None:
        return next((line["uuid"] for line in reversed(self._lines) if line and "uuid" in line), None)

    def _any_uuid(self) -> str | None:
        found: list[str | None] = [line["uuid"] for line in self._lines if line and "uuid" in line]
        return self._random.choice(found or [None])

    def _user(self, content: Any, **fields: Any) -> Line:
        return self._add("user", message={"role": "user", "content": content}, **fields)

    def _prompt(self, **fields: Any) -> None:
        self._user(self._random.choice(("feed the alpaca now", "go on", f"an iguana came by {self._count}")), **fields)

    def _reply(self, **fields: Any) -> None:
        name = self._name()
        read, written = self._random.choice(((0, 5_000), (5_000, 200), (9_000, 0), (200, 9_000)))
        usage = {"input_tokens": 5, "cache_read_input_tokens": read, "cache_creation_input_tokens": written}
        for _ in range(self._random.choice((1, 1, 2, 3))):
            blocks: list[Line] = [{"type": "text", "text": f"here is {self._count}"}]
            if self._random.random() < 0.6:
                self._open.append(f"toolu_{self._name()}")
                tool = self._random.choice(("Read", "Bash", "Read", "Task"))
                blocks.append({"type": "tool_use", "id": self._open[-1], "name": tool, "input": {"prompt": "x"}})
            elif self._random.random() < 0.3:
                blocks.append(
                    {"type": "thinking", "thinking": "long enough to be worth reading " * 4, "signature": "s"}
                )
            message = {"id": f"msg_{name}", "role": "assistant", "model": "claude-opus-4-8", "content": blocks}
            more = {"usage": usage | {"output_tokens": self._count % 40}, "stop_reason": "end_turn"}
            self._add("assistant", **{"message": message | more, "requestId": f"req_{name}"} | fields)

    def _result(self) -> None:
        if self._open:
            place = self._random.choice((0, -1, -1, -1))
            result = {"type": "tool_result", "tool_use_id": self._open.pop(place), "content": "done"}
            self._user([result | {"is_error": self._random.random() < 0.3}])

    def _fork(self) -> None:
        self._prompt(parentUuid=self._any_uuid())

    def _root(self) -> None:
        self._prompt(parentUuid=None)

    def _orphan(self) -> None:
        self._prompt(parentUuid="nobody")

    def _promise(self) -> str:
        self._promised.append(f"later-{len(self._promised)}-{self._count}")
        return self._promised[-1]

    def _child_before_parent(self) -> None:
        self._prompt(parentUuid=self._promise())

    def _result_before_call(self) -> None:
        self._user([{"type": "tool_result", "tool_use_id": f"toolu_{self._promise()}", "content": "done"}])

    def _summary_before_line(self) -> None:
        self._lines.append({"type": "summary", "summary": "in short, later", "leafUuid": self._promise()})

    def _result_elsewhere(self) -> None:
        self._result()
        self._lines[-1:] = [line | {"parentUuid": self._any_uuid()} for line in self._lines[-1:] if line]

    def _again(self) -> None:
        self._lines.append(dict(self._random.choice(self._lines)) if self._lines else {})

    def _renumbered_again(self) -> None:
        if self._lines and self._lines[-1]:
            self._lines.append(self._random.choice(self._lines) | {"uuid": self._name()})

    def _gateway(self) -> None:
        self._reply()
        name = self._random.choice(("chatcmpl-1", f"chatcmpl-{self._count}"))
        for line in self._lines[-self._random.choice((1, 2)) :]:
            if line and line["type"] == "assistant":
                line["message"] = line["message"] | {"id": name}
                line["requestId"] = self._random.choice((None, line.get("requestId")))

    def _without_time(self) -> None:
        self._reply(timestamp=None)

    def _earlier(self) -> None:
        self._reply(timestamp="2026-02-01T00:00:00.000Z")

    def _without_id(self) -> None:
        self._reply(uuid=None)

    def _command(self) -> None:
        self._user(
            f"<command-name>/{self._random.choice(('review', 'cost'))}</command-name><command-args>all</command-args>"
        )

    def _meta(self) -> None:
        self._user("a caveat", isMeta=True)

    def _interrupt(self) -> None:
        self._user([{"type": "text", "text": "[Request interrupted by user]"}])

    def _notification(self) -> None:
        self._user("<task-notification><task-id>a1</task-id><summary>done</summary></task-notification>")

    def _sidechain(self) -> None:
        self._random.choice((self._prompt, self._reply))(isSidechain=True)

    def _compaction(self) -> None:
        self._add("system", subtype="compact_boundary", parentUuid=None, logicalParentUuid=self._last_uuid())
        self._user("what went before", isCompactSummary=True)

    def _microcompaction(self) -> None:
        self._add("system", subtype="microcompact_boundary")

    def _resume(self) -> None:
        self._add("attachment", attachment={"type": "hook_success", "hookName": "SessionStart:resume", "content": ""})

    def _queued(self) -> None:
        said = self._random.choice(("go on", f"a newt {self._count}", "go on"))
        doing = self._random.choice(("enqueue", "enqueue", "dequeue", "popAll"))
        self._lines.append({"type": "queue-operation", "operation": doing, "content": said, "sessionId": IDS[0]})
        if self._random.random() < 0.5:
            self._user(said)

    def _title(self) -> None:
        kind, field = self._random.choice((("ai-title", "aiTitle"), ("custom-title", "customTitle")))
        self._lines.append({"type": kind, field: self._random.choice(("a name", "", " ")), "sessionId": IDS[0]})

    def _summary(self) -> None:
        self._lines.append({"type": "summary", "summary": "in short", "leafUuid": self._any_uuid()})

    def _last_prompt(self) -> None:
        leaf = self._random.choice((self._last_uuid(), self._last_uuid(), self._any_uuid(), None))
        self._lines.append({"type": "last-prompt", "lastPrompt": "go on", "leafUuid": leaf, "sessionId": IDS[0]})

    def _cost(self) -> None:
        self._lines.append({"type": "cost-state", "totalCostUSD": self._count / 100, "sessionId": IDS[0]})

    def _progress(self) -> None:
        said = {"type": "user", "message": {"role": "user", "content": "a toad"}, "uuid": self._name()}
        about = self._random.choice(
            ({"type": "bash_progress"}, {"type": "agent_progress", "agentId": "a1", "message": said})
        )
        self._add("progress", data=about, parentToolUseID="toolu_1")

    def _api_error(self) -> None:
        self._reply(isApiErrorMessage=True)

    def _synthetic(self) -> None:
        message = {"id": self._name(), "role": "assistant", "model": "<synthetic>", "content": "No response requested."}
        self._add("assistant", message=message)

    def _system(self) -> None:
        self._add("system", subtype="turn_duration", durationMs=5)

    def _old_version(self) -> None:
        self._reply(version="1.0.30")

    def _broken(self) -> None:
        self._lines.append({})


_PLAIN = {"_name", "_add", "_last_uuid", "_any_uuid", "_user", "_prompt", "_reply", "_result", "_promise"}
_ODD = sorted(name for name in vars(Story) if name.startswith("_") and not name.startswith("__") and name not in _PLAIN)


@settings(max_examples=examples(120), deadline=None)
@given(st.integers(0, 1 << 32), st.integers(5, 90), st.integers(1, 12))
def test_whatever_a_session_tells_it_has_the_rows_of_the_whole(seed: int, number: int, steps: int) -> None:
    random = Random(seed)
    content = b"".join(Story(random).lines(number))
    places = sorted({*(random.randrange(len(content)) for _ in range(steps)), len(content)})
    with TemporaryDirectory() as made, Both(Path(made)) as both:
        for start, end in zip([0, *places], places, strict=False):
            both.grow(content[start:end])


# -- that it is done at all, and when it is not


def plain_steps(number: int) -> Iterator[bytes]:
    """A prompt and a call with its result, again and again."""
    last = None
    for count in range(number):
        for kind, content in (
            ("user", f"feed the alpaca {count}"),
            ("assistant", ""),
            ("user", ""),
            ("assistant", "done"),
        ):
            name = f"{count}-{kind}-{content[:4]}"
            use = {"type": "tool_use", "id": f"toolu_{count:020d}", "name": "Read", "input": {"file_path": "/a"}}
            result = {"type": "tool_result", "tool_use_id": use["id"], "content": "there"}
            said: Any = content or ([use] if kind == "assistant" else [result])
            usage = {"input_tokens": 5, "output_tokens": 7}
            line = {
                "type": kind,
                "uuid": name,
                "parentUuid": last,
                "sessionId": IDS[0],
                "timestamp": f"2026-03-01T10:{count % 60:02d}:00.000Z",
                "cwd": "/home/ann/shop",
                "version": "2.1.20",
                "message": {"id": f"msg_{name:0>20}", "role": kind, "model": "claude-opus-4-8", "content": said}
                | ({"usage": usage} if kind == "assistant" else {}),
            }
            last = name
            yield json.dumps(line).encode() + b"\n"


def test_a_plain_session_is_read_on_every_time(tmp_path: Path, read_on: list[bool]) -> None:
    lines = list(plain_steps(20))
    with Both(tmp_path) as both:
        both.grow(b"".join(lines[:20]))
        for line in lines[20:]:
            both.grow(line)
        assert read_on.count(True) > 50
        assert read_on.count(False) <= 2
        [(prompts, calls, requests)] = both.on.inner.connection.execute(
            "SELECT prompts, tool_calls, requests FROM session"
        )
        assert (prompts, calls, requests) == (20, 20, 40)


def test_a_session_of_a_client_that_repeats_lines_is_read_whole(tmp_path: Path, read_on: list[bool]) -> None:
    lines = list(plain_steps(6))
    with Both(tmp_path) as both:
        both.grow(b"".join(line.replace(b'"version": "2.', b'"version": "1.0.') for line in lines[:12]))
        both.grow(b"".join(lines[12:18]))
        both.grow(b"".join(lines[18:]))
    assert not any(read_on)


@pytest.mark.parametrize("change", ["prices", "damage"])
def test_what_is_kept_of_other_prices_or_damaged_is_not_used(change: str, tmp_path: Path, read_on: list[bool]) -> None:
    lines = list(plain_steps(12))
    with Both(tmp_path) as both:
        both.grow(b"".join(lines[:30]))
        both.grow(b"".join(lines[30:34]))
        if change == "damage":
            with both.on.inner.connection:
                [(state,)] = both.on.inner.connection.execute("SELECT state FROM closed_part")
                damaged = state[:40] + bytes([state[40] ^ 1]) + state[41:]
                both.on.inner.connection.execute("UPDATE closed_part SET state = ?", (damaged,))
        else:
            state = both.on.inner.connection.execute("SELECT state FROM closed_part").fetchone()[0]
            assert closed_parts.unpacked(state, _other_prices()) is None
            return
        both.grow(b"".join(lines[34:]))
        assert not any(read_on)


def _other_prices() -> Any:
    class Prices:
        digest = "other"

    return Prices()


def test_an_agent_that_grows_ends_what_was_known_of_its_session(tmp_path: Path) -> None:
    lines = list(plain_steps(12))
    agent = trunk(tmp_path, 0).with_suffix("") / "subagents" / "agent-aa11.jsonl"
    agent.parent.mkdir(parents=True)
    agent.write_bytes(lines[0])
    with Both(tmp_path) as both:
        both.grow(b"".join(lines[:30]))
        both.grow(b"".join(lines[30:34]))
        assert both.on.inner.connection.execute("SELECT count(*) FROM closed_part").fetchone() == (1,)
        with agent.open("ab") as file:
            file.write(b"".join(lines[1:4]))
        both.grow(b"")
        assert both.on.inner.connection.execute("SELECT count(*) FROM closed_part").fetchone() == (0,)
        both.grow(b"".join(lines[34:]))


def test_a_session_that_is_forgotten_leaves_nothing_of_it(tmp_path: Path) -> None:
    lines = list(plain_steps(12))
    with Both(tmp_path) as both:
        both.grow(b"".join(lines[:30]))
        both.grow(b"".join(lines[30:34]))
        trunk(tmp_path, 0).unlink()
        both.on.safe.forget(IDS[0])
        assert both.on.inner.connection.execute("SELECT count(*) FROM closed_part").fetchone() == (0,)


def queued(text: str, operation: str = "enqueue") -> bytes:
    line = {"type": "queue-operation", "sessionId": IDS[0], "timestamp": "2026-03-01T11:00:00.000Z"}
    return json.dumps(line | {"operation": operation, "content": text}).encode() + b"\n"


def test_what_was_said_before_may_be_queued_and_said_again(tmp_path: Path) -> None:
    """While it waits, the lines at the end by themselves would take it for a prompt that has no other line."""
    lines = list(plain_steps(14))
    said_first = json.loads(lines[0])
    again = said_first | {"uuid": "again", "parentUuid": json.loads(lines[33])["uuid"]}
    after = json.loads(lines[34]) | {"parentUuid": "again"}
    with Both(tmp_path) as both:
        both.grow(b"".join(lines[:30]))
        both.grow(b"".join(lines[30:34]) + queued(said_first["message"]["content"]))
        both.grow(json.dumps(again).encode() + b"\n")
        both.grow(json.dumps(after).encode() + b"\n")
        both.grow(b"".join(lines[35:]))


@pytest.mark.parametrize("text", ["an iguana", "an iguana\nand a gecko"])
def test_a_queued_prompt_without_a_line_of_its_own_is_waited_for_without_reading_the_whole(
    tmp_path: Path, read_on: list[bool], text: str
) -> None:
    lines = list(plain_steps(14))
    with Both(tmp_path) as both:
        both.grow(b"".join(lines[:20]) + queued(text))
        both.grow(b"".join(lines[20:26]))
        read_on.clear()
        both.grow(b"".join(lines[26:30]))
        assert read_on == [True]
        both.grow(b"".join(lines[30:34]) + queued(f"a newt\n{text}", "popAll"))
        assert read_on == [True, False], "its trace says that what was counted is none"
        both.grow(b"".join(lines[34:]))


def test_a_queued_prompt_that_was_taken_back_is_not_found_any_more(tmp_path: Path) -> None:
    """It is edited in the input box, and what is sent then has a line of its own."""
    with Both(tmp_path) as both:
        both.grow(b"".join(plain_steps(2)))
        both.grow(queued("an iguana"))
        assert both.on.search("iguana").total == 1
        both.grow(queued("an iguana", "popAll"))
        assert both.on.search("iguana").total == 0


def said(kind: str, name: str, parent: str | None, content: Any, minute: int, **fields: Any) -> bytes:
    message = {"id": f"msg_{name:0>20}", "role": kind, "model": "claude-opus-4-8", "content": content}
    line = {
        "type": kind,
        "uuid": name,
        "parentUuid": parent,
        "sessionId": IDS[0],
        "timestamp": f"2026-03-01T12:{minute:02d}:00.000Z",
        "message": message | ({"usage": {"output_tokens": 3}} if kind == "assistant" else {}),
    }
    return json.dumps(line | fields).encode() + b"\n"


LAST = "11-assistant-done"
COMMAND = (
    "<command-name>/review</command-name><command-message>review</command-message><command-args>all</command-args>"
)
CALL = [{"type": "tool_use", "id": "toolu_00000000000000000late", "name": "Bash", "input": {"command": "ls"}}]
RESULT = [{"type": "tool_result", "tool_use_id": "toolu_00000000000000000late", "content": "no", "is_error": True}]
LATER = {
    "a command is answered": (
        [said("user", "c", LAST, COMMAND, 1), said("user", "m", "c", "a caveat", 2, isMeta=True)],
        [said("assistant", "a", "m", "here", 3), said("user", "p", "a", "more", 4)],
        ("turns", 14),
    ),
    "a call gets its result after another reply": (
        [said("assistant", "a", LAST, CALL, 1), said("assistant", "b", "a", "meanwhile", 2)],
        [said("user", "r", "b", RESULT, 3), said("assistant", "d", "r", "failed", 4)],
        ("tool_errors", 1),
    ),
    "somebody goes back": (
        [said("user", "p", LAST, "this way", 1), said("assistant", "a", "p", "here", 2)],
        [said("user", "q", LAST, "rather that way", 3), said("assistant", "b", "q", "here", 4)],
        ("branches", 2),
    ),
    "a response goes on": (
        [said("assistant", "a", LAST, "first", 1), said("user", "p", "a", "and?", 2)],
        [said("assistant", "b", "p", "more of it", 3, message={"id": f"msg_{'a':0>20}", "role": "assistant"})],
        ("requests", 25),
    ),
}


@pytest.mark.parametrize("what", LATER)
def test_what_comes_later_changes_what_was_there(what: str, tmp_path: Path) -> None:
    before, later, (column, expected) = LATER[what]
    with Both(tmp_path) as both:
        lines = list(plain_steps(12))
        both.grow(b"".join(lines[:40]))
        both.grow(b"".join(lines[40:]))
        for line in (*before, *later):
            both.grow(line)
        assert both.on.inner.connection.execute(f"SELECT {column} FROM session").fetchone() == (expected,)  # noqa: S608  our own names
