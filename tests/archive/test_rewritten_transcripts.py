"""A transcript that was rewritten in place keeps its past: what an earlier generation held is part of the session."""

from __future__ import annotations

from pathlib import Path

import pytest

from reread.archive import Archive
from reread.sessions import Notice, Session
from reread.testing import Entry, a_compaction, a_prompt, a_reply, a_session, a_tool_call, a_tool_result, a_usage

BEFORE = [
    a_prompt("the very first question", uuid="one"),
    a_reply("about wombats", a_tool_call("Bash", {"command": "ls"}, id="toolu_1"), id="msg_01AAAAAAAAAAAAAAAAAAAAAA"),
    a_tool_result("a narwhal"),
    a_reply("it is there", id="msg_01BBBBBBBBBBBBBBBBBBBBBB", usage=a_usage(output_tokens=1000)),
    a_prompt("and the second", uuid="two"),
    a_reply("yes", id="msg_01CCCCCCCCCCCCCCCCCCCCCC"),
]
AFTER = [
    a_compaction("what was said so far"),
    a_prompt("after the compaction", uuid="three"),
    a_reply("done", id="msg_01DDDDDDDDDDDDDDDDDDDDDD"),
]
LATER = [a_prompt("and later", uuid="four"), a_reply("good", id="msg_01EEEEEEEEEEEEEEEEEEEEEE")]


class Rewritten:
    """A session that was imported before a compaction, and whose file then lost what came before it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.write(BEFORE)
        self.archive = Archive(folder / "home", [folder / "projects"], machine="desk")
        self.archive.sync()

    def write(self, entries: list[Entry], without: int = 0) -> Path:
        path = a_session(*entries).write(self.folder / "projects")
        lines = path.read_bytes().splitlines(keepends=True)[without:]
        fresh = path.with_suffix(".new")
        fresh.write_bytes(b"".join(lines))
        return fresh.replace(path)

    def shorten(self) -> None:
        self.write([*BEFORE, *AFTER], without=LOST)
        self.archive.sync()

    @property
    def session(self) -> Session:
        return self.archive.session("@last")


LOST = sum(len(entry.lines) for entry in BEFORE)
PROMPTS = ["the very first question", "and the second", "after the compaction"]


@pytest.fixture
def rewritten(tmp_path: Path) -> Rewritten:
    made = Rewritten(tmp_path)
    made.shorten()
    return made


def facts(archive: Archive) -> tuple[object, ...]:
    (stored,) = (each.stored for each in archive.sessions())
    return (
        stored.row._replace(bytes=0),
        archive.prompts().total,
        sorted(
            (hit.field.value, hit.text)
            for word in ("wombats", "narwhal", "second", "compaction")
            for hit in archive.search(word, fields="all").hits
        ),
        archive.usage().totals,
    )


def test_what_was_dropped_is_shown_in_its_place_found_and_counted_once(rewritten: Rewritten) -> None:
    session, archive = rewritten.session, rewritten.archive
    assert [prompt.text for prompt in session.prompts] == PROMPTS
    assert [turn.prompt.text for turn in session.turns if turn.prompt is not None] == PROMPTS
    notices = [step.text for turn in session.turns for step in turn.steps if isinstance(step, Notice)]
    assert [text for text in notices if "no longer in the file since 20" in text] != []
    assert [each.prompt.text for each in archive.prompts()] == PROMPTS[::-1]
    (hit,) = archive.search("wombats").hits
    assert "about wombats" in hit.text
    assert [hit.text for hit in archive.search("narwhal", fields="result").hits] == ["a narwhal"]
    assert [hit.text for hit in archive.search("n.rwhal", fields="result", is_regex=True).hits] == ["a narwhal"]
    whole = a_session(*BEFORE, *AFTER).build()
    (stored,) = (each.stored for each in archive.sessions())
    assert stored.cost == session.total_usage.cost == whole.total_usage.cost == archive.usage().totals.cost
    assert (stored.row.prompts, stored.row.tool_calls, stored.row.requests) == (3, 1, 4)
    assert archive.billing.explain("msg_01BBBBBBBBBBBBBBBBBBBBBB").tokens.output_tokens == 1000
    assert archive.safe.verify().ok


def test_the_day_is_told_only_where_a_compaction_follows(tmp_path: Path) -> None:
    """Another line may be older than the rewriting by days."""
    made = Rewritten(tmp_path)
    made.write(BEFORE, without=1)
    made.archive.sync()
    notices = [step.text for turn in made.session.turns for step in turn.steps if isinstance(step, Notice)]
    assert notices == ["what stands above is no longer in the file"]


def test_it_stays_so_when_the_file_grows_when_all_is_read_again_and_after_a_rebuild(rewritten: Rewritten) -> None:
    path = next((rewritten.folder / "projects").rglob("*.jsonl"))
    whole = a_session(*BEFORE, *AFTER, *LATER).write(rewritten.folder / "other").read_bytes().splitlines(keepends=True)
    with path.open("ab") as file:
        file.writelines(whole[LOST + sum(len(entry.lines) for entry in AFTER) :])
    rewritten.archive.sync()
    assert [prompt.text for prompt in rewritten.session.prompts] == [*PROMPTS, "and later"]
    grown = facts(rewritten.archive)
    assert grown[1] == 4
    rewritten.archive.safe.rebuild()
    assert facts(rewritten.archive) == grown
    path.unlink()
    rewritten.archive.sync(full=True)
    assert facts(rewritten.archive) == grown
    assert rewritten.archive.safe.verify(deep=True).ok


def test_another_conversation_in_its_place_gets_nothing_of_it(tmp_path: Path) -> None:
    made = Rewritten(tmp_path)
    made.write(
        [a_prompt("something else", uuid="nine"), a_reply("well", id="msg_01FFFFFFFFFFFFFFFFFFFFFF", uuid="ten")]
    )
    made.archive.sync()
    assert [prompt.text for prompt in made.session.prompts] == ["something else"]
    assert made.archive.search("wombats").hits == []
