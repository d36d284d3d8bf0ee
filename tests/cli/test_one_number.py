"""Tool calls, failures and prompts are one number wherever they are asked for; a copy counts once over all sessions."""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from cli.kept import Kept
from cli.running import Run
from reread.archive import Archive
from reread.archive.answers import prompts as folded_prompts
from reread.archive.answers import thinking as folded_thinking
from reread.archive.answers import tools as folded_tools
from reread.archive.filters import Filter
from reread.loading import load
from reread.testing import Entry, a_prompt, a_reply, a_session, a_subagent, a_thought, a_tool_call, a_tool_result
from reread.views.html.page import session_page
from reread.views.numbers import money

TRUNK, FORK, OLD = "7a11-trunk", "7a11-fork", "01d-inline"
CALL = "toolu_01{:020}"
RECORDED = Path(__file__).resolve().parents[2].parent / "shared" / "corpus" / "recorded"


def call(number: int, at: str, *, is_error: bool = False) -> list[Entry]:
    name = CALL.format(number)
    return [
        a_reply(
            a_tool_call("Bash", {"command": f"run {number}"}, id=name),
            uuid=f"call-{number}",
            timestamp=f"2026-11-02T{at}:00.000Z",
        ),
        a_tool_result("no" if is_error else "yes", of=name, is_error=is_error, timestamp=f"2026-11-02T{at}:01.000Z"),
    ]


def beginning() -> list[Entry]:
    return [
        a_prompt("begin", uuid="p1", timestamp="2026-11-02T10:00:00.000Z"),
        a_reply(a_thought("a long enough thought"), "yes", uuid="t1", id="msg_01" + "a" * 20),
        *call(1, "10:01", is_error=True),
        *call(2, "10:02"),
    ]


@pytest.fixture
def kept(run: Run, tmp_path: Path) -> Kept:
    """A session with an agent's file, a fork of it, and one whose agent's lines stand in its own file."""
    projects = tmp_path / ".claude" / "projects"
    agent = a_subagent(a_prompt("look"), *call(11, "10:05", is_error=True), *call(12, "10:06", is_error=True))
    a_session(*beginning(), agent, *call(3, "10:07"), id=TRUNK).write(projects)
    own = [a_prompt("go another way", timestamp="2026-11-02T12:00:00.000Z"), *call(4, "12:01", is_error=True)]
    a_session(*beginning(), *own, id=FORK).write(projects)
    inline = [
        a_prompt("agents inside", timestamp="2026-11-01T10:00:00.000Z"),
        a_reply(a_tool_call("Task", {"prompt": "look there"}, id=CALL.format(20)), uuid="task"),
        a_prompt("look there", isSidechain=True, to=None, uuid="side"),
        a_reply(a_tool_call("Grep", {"pattern": "x"}, id=CALL.format(21)), isSidechain=True),
        a_tool_result("no", of=CALL.format(21), is_error=True, isSidechain=True),
        a_tool_result("done", of=CALL.format(20), to="task"),
    ]
    a_session(*inline, id=OLD, version="1.0.30").write(projects)
    return Kept(run, tmp_path / ".claude", tmp_path / "archive")


def numbers_on_page(kept: Kept, session: str) -> tuple[int, int, int]:
    page = re.sub(r"<[^>]+>", " ", session_page(load(kept.trunk(session))))
    found = [re.search(pattern, page) for pattern in (r"(\d+) prompt", r"(\d+) tool call", r"(\d+)\s+failed")]
    prompts, calls, failed = (int(each[1]) if each else 0 for each in found)
    return prompts, calls, failed


def numbers_in_heading(kept: Kept, session: str) -> tuple[int, ...]:
    shown = kept("show", session).out
    found = [re.search(pattern, shown) for pattern in (r"(\d+) prompt", r"(\d+) tool call")]
    return tuple(int(each[1]) if each else 0 for each in found)


def numbers_in(row: dict[str, Any]) -> tuple[int, int, int]:
    return row["prompts"], row["tool_calls"], row["tool_errors"]


SQL = """SELECT session.uuid, session.prompts,
           (SELECT count(*) FROM file JOIN prompt ON prompt.file = file.id WHERE file.session = session.id),
           session.tool_calls, count(tool_call.id), session.tool_errors, sum(tool_call.status = 'error')
         FROM session JOIN file ON file.session = session.id LEFT JOIN tool_call ON tool_call.file = file.id
         GROUP BY session.id"""


def test_every_surface_tells_the_same_of_a_session(kept: Kept) -> None:
    wanted = {TRUNK: (1, 5, 3), FORK: (2, 3, 2), OLD: (1, 2, 1)}
    assert {row["id"]: numbers_in(row) for row in kept.json("list")["sessions"]} == wanted
    with Archive(kept.home) as archive:
        rows = archive.sql(SQL)[1]
    assert {row[0]: row[1:] for row in rows} == {
        name: (p, p, calls, calls, failed, failed) for name, (p, calls, failed) in wanted.items()
    }
    for session, numbers in wanted.items():
        assert numbers_in(kept.json("show", session)["session"]) == numbers
        assert numbers_on_page(kept, session) == numbers
        assert numbers_in_heading(kept, session) == numbers[:2]
        tools = kept.json("tools", session)["tools"]
        assert (sum(each["calls"] for each in tools), sum(each["errors"] for each in tools)) == numbers[1:]
        assert kept.json("prompts", session)["total"] == numbers[0]


def test_a_summary_counts_the_prompts_that_a_list_counts(run: Run, tmp_path: Path) -> None:
    projects = tmp_path / ".claude" / "projects"
    rewound = [a_prompt("one way", uuid="left"), a_reply("so"), a_prompt("another way", to=None, uuid="kept")]
    a_session(*rewound, a_reply("so"), id=TRUNK).write(projects)
    a_session(a_prompt("<command-name>/effort</command-name>"), id=OLD).write(projects)
    kept = Kept(run, tmp_path / ".claude", tmp_path / "archive")
    counted = {row["id"]: row["prompts"] for row in kept.json("list")["sessions"]}
    assert counted == {TRUNK: 2, OLD: 0}
    for session, number in counted.items():
        assert kept.json("summary", session)["prompts"] == number
        assert re.search(rf"\b{number} prompts?\b", kept("summary", session).out)
        assert f"prompts: {number}\n" in kept("summary", session, "--format", "obsidian").out


def test_over_all_sessions_a_copy_counts_once(kept: Kept) -> None:
    tools = kept.json("tools")["tools"]
    counted = sum(each["calls"] for each in tools), sum(each["errors"] for each in tools)
    with Archive(kept.home) as archive:
        query = "SELECT count(*), sum(status = 'error') FROM tool_call WHERE NOT is_copy"
        assert archive.sql(query)[1] == [counted] == [(8, 5)]
        assert archive.sql("SELECT count(*) FROM prompt WHERE NOT is_copy")[1] == [(3,)]
    assert [each["text"] for each in kept.json("prompts")["prompts"]] == ["go another way", "begin", "agents inside"]
    assert kept.json("thinking")["total"] == 1


def test_the_copies_are_those_of_the_session_that_came_later_whatever_came_first(run: Run, kept: Kept) -> None:
    kept("sync")
    late = Kept(run, kept.claude, kept.home.with_name("late"))
    first, second = kept.trunk(FORK), kept.trunk(TRUNK)
    aside = second.rename(second.with_suffix(".aside"))
    late("sync")
    aside.rename(second)
    late("sync")
    assert first.exists()
    query = """SELECT file.kind, session.uuid, tool_call.id, is_copy FROM tool_call
               JOIN file ON file.id = tool_call.file JOIN session ON session.id = file.session ORDER BY 1, 2, 3"""
    with Archive(kept.home) as one, Archive(late.home) as other:
        assert one.sql(query) == other.sql(query)


def test_what_was_copied_counts_where_the_original_is_forgotten(kept: Kept) -> None:
    kept("sync")
    assert kept("archive", "forget", TRUNK, "--yes").code == 0
    assert sum(each["calls"] for each in kept.json("tools", "--no-sync")["tools"]) == 5
    assert kept.json("prompts", "--no-sync")["total"] == 3


@pytest.mark.parametrize(("command", "rows", "total"), [("list", "sessions", 3), ("prompts", "prompts", 3)])
def test_a_limit_does_not_hide_how_many_there_are(kept: Kept, command: str, rows: str, total: int) -> None:
    document = kept.json(command, "--limit", "1")
    assert (len(document[rows]), document["total"]) == (1, total)
    assert f"1 of {total} {rows}" in kept(command, "--limit", "1").out
    assert f"of {total}" not in kept(command).out


def test_tools_projects_and_thoughts_say_so_too(kept: Kept) -> None:
    assert (len(kept.json("tools", "--limit", "1")["tools"]), kept.json("tools")["total"]) == (1, 3)
    assert "1 of 3 tools" in kept("tools", "--limit", "1").out
    assert kept.json("projects", "--limit", "1")["total"] == 1
    assert kept.json("thinking", "--limit", "1")["total"] == 1


def test_a_pattern_is_counted_beyond_the_limit(kept: Kept) -> None:
    document = kept.json("search", "--regex", r"run \d", "--limit", "2")
    assert (len(document["hits"]), document["total"]) == (2, 6)


def test_a_session_without_times_passes_no_window(run: Run, tmp_path: Path) -> None:
    projects = tmp_path / ".claude" / "projects"
    a_session(a_prompt("when was this", timestamp=None), id="undated").write(projects)
    kept = Kept(run, tmp_path / ".claude", tmp_path / "archive")
    assert [row["id"] for row in kept.json("list")["sessions"]] == ["undated"]
    assert kept.json("list", "--since", "2020-01-01")["sessions"] == []
    assert kept.json("list", "--until", "2090-01-01")["sessions"] == []


def test_what_a_model_thought_is_no_prompt(run: Run, tmp_path: Path) -> None:
    projects = tmp_path / ".claude" / "projects"
    a_session(a_prompt("real"), a_reply("yes"), a_prompt(a_thought("in a line of the user")), id="odd").write(projects)
    kept = Kept(run, tmp_path / ".claude", tmp_path / "archive")
    assert [row["prompts"] for row in kept.json("list")["sessions"]] == [1]
    assert kept.json("prompts")["total"] == 1


def test_the_rows_tell_what_the_sessions_tell(kept: Kept) -> None:
    with Archive(kept.home, [kept.claude]) as archive:
        archive.sync()
        assert archive.prompts().total == folded_prompts(archive.read_all(), Filter()).total
        assert archive.thinking().total == folded_thinking(archive.read_all(), Filter(), 11).total
        assert archive.tools() == folded_tools(archive.read_all(), Filter())


BY_SQL = """SELECT id, prompts, tool_calls, tool_errors, dollars,
                   (SELECT count(*) FROM prompts WHERE session = sessions.id),
                   (SELECT count(*) FROM calls WHERE session = sessions.id),
                   (SELECT count(*) FROM calls WHERE session = sessions.id AND status = 'error'),
                   (SELECT sum(dollars) FROM responses WHERE session = sessions.id)
            FROM sessions WHERE id IN ({})"""
Numbers = tuple[int, int, int, str]


def on_page(page: str) -> Numbers:
    """In its heading: below it stands what people said about numbers."""
    page = page.partition('<ul class="facts">')[2].partition("</header>")[0]
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))
    patterns = (r"([\d,]+) prompt", r"([\d,]+) tool call", r"([\d,]+) failed", r"(\$\d[\d,]*\.\d+)")
    found = [re.search(pattern, text) for pattern in patterns]
    prompts, calls, failed, cost = (each[1] if each else "0" for each in found)
    return int(prompts), int(calls), int(failed), cost


def in_dollars(amount: object) -> str:
    return money(Decimal(str(amount)), is_partial=False)


def by_surface(kept: Kept, most: int) -> dict[str, dict[str, Numbers]]:
    """The sessions with most calls that repeat nothing of others, as every surface tells of them."""
    rows = [row for row in kept.json("list")["sessions"] if not row["copied_from"] and row["cost_usd"]]
    chosen = sorted(rows, key=lambda row: -row["tool_calls"])[:most]
    table = {row["id"]: {"list": (*numbers_in(row), in_dollars(row["cost_usd"]))} for row in chosen}
    names = ", ".join(f"'{name}'" for name in table)
    with Archive(kept.home) as archive:
        rows_of_sql: list[Any] = archive.sql(BY_SQL.format(names))[1]
        for name, *counted, dollars, prompts, calls, failed, spent in rows_of_sql:
            table[name]["SQL"] = (counted[0], counted[1], counted[2], in_dollars(dollars))
            table[name]["SQL views"] = (prompts, calls, failed, in_dollars(spent))
        for name in table:
            session = archive.session(name)
            table[name]["page"] = on_page(session_page(session))
            told = kept.json("show", name)["session"]
            table[name]["JSON"] = (*numbers_in(told), in_dollars(told["cost_usd"]))
            tools = kept.json("tools", name)["tools"]
            calls, failed = sum(each["calls"] for each in tools), sum(each["errors"] for each in tools)
            table[name]["tools"] = (kept.json("prompts", name)["total"], calls, failed, table[name]["list"][3])
    return table


@pytest.mark.shared
@pytest.mark.skipif(not RECORDED.is_dir(), reason="needs recorded transcripts")
def test_recorded_sessions_are_told_the_same_on_every_surface(run: Run, tmp_path: Path) -> None:
    table = by_surface(Kept(run, RECORDED, tmp_path / "archive"), 10)
    assert len(table) == 10
    assert {name: len(set(told.values())) for name, told in table.items()} == dict.fromkeys(table, 1), table


def test_a_part_of_a_cost_is_a_lower_bound_wherever_it_is_shown(run: Run, tmp_path: Path) -> None:
    """A model without a price in the session and in its agent."""
    replies = [a_reply("one"), a_reply("two", model="glm-5.1")]
    agent = a_subagent(a_prompt("look"), a_reply("three"), a_reply("four", model="glm-5.1"), of="t1")
    task = a_reply(a_tool_call("Task", {"prompt": "look"}, id="t1"))
    trunk = a_session(a_prompt("go"), *replies, task, a_tool_result("so", of="t1"), agent).write(tmp_path / "projects")
    shown = [
        run(*words, trunk).out for words in (("show",), ("summary",), ("export",), ("summary", "--format", "markdown"))
    ]
    for text in shown:
        assert "≥$0.0" in text
        assert not re.search(r"(?<!≥)\$0\.0", text)
