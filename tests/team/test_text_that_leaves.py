"""What is pushed as text holds no secret and survives any letters."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.test_export_redaction import EVERY, FIELDS, PARTS
from reread.archive.filters import Filter
from reread.archive.search_language import DEFAULT_FIELDS, parse
from reread.features.secrets import Redactor
from reread.loading import load
from reread.records import decode
from reread.team.payload import kept_line, marks_of, text_lines, words_of
from reread.team.questions import as_tsquery, search, session
from reread.testing import (
    a_line,
    a_prompt,
    a_reply,
    a_session,
    a_subagent,
    a_thought,
    a_title,
    a_tool_call,
    a_tool_result,
)

from .conftest import Team
from .test_teams_apart import IDS, NOW, all_rows, tables


def test_lines_leave_as_the_client_writes_them_since_others_are_redacted_slowly(tmp_path: Path) -> None:
    path = a_session(a_prompt("of a café, \ud83d"), a_reply("é"), a_tool_call("Bash", {"command": "ls"})).write(
        tmp_path
    )
    told = load(path)
    lines = [line["line"] for line in text_lines(told, Redactor())]
    assert len(lines) == 3
    for line in lines:
        assert line == json.dumps(json.loads(line), ensure_ascii=False, separators=(",", ":")).replace(
            "\ud83d", "\\ud83d"
        )


def test_no_planted_secret_reaches_the_files_of_the_database(team: Team, tmp_path: Path) -> None:
    team.join("ann", "red")
    with team.store("owner") as store:  # as it is, not compressed: it has to be found if it is there
        for table, column in (("text", "line"), ("session", "numbers"), ("told", "project")):
            store.connection.execute(f"ALTER TABLE reread.{table} ALTER {column} SET STORAGE EXTERNAL".encode())
    for number, entries in enumerate(FIELDS.values()):
        told = a_session(*entries(EVERY), id=f"0a1b2c3d-1111-4222-8333-4444555{number:05}", cwd="/src/app")
        told.write(tmp_path / "ann" / "projects")
    a_session(a_prompt("a findable lantern"), id=IDS["ann"], cwd="/src/app").write(tmp_path / "ann" / "projects")
    sent = team.push("ann", "text")
    assert sent.sent == len(FIELDS) + 1
    assert sent.redacted > len(FIELDS)
    with team.store("owner") as store:
        store.connection.execute("CHECKPOINT")
        rows = "\n".join(all_rows(store, name) for name in tables(store))
        [(own,)] = store.rows("SELECT oid FROM pg_database WHERE datname = current_database()")
    others = {path for path in (team.server.data / "base").iterdir() if path.name != str(own)}  # of other tests
    # A server removes and rewrites its caches of the catalog (`pg_internal.init`) at any time; they hold no rows.
    files = [path for path in team.server.data.rglob("*") if path.is_file() and path.name != "pg_internal.init"]
    stored = [path.read_bytes() for path in files if path.parent not in others]
    assert any(b"a findable lantern" in content for content in stored)
    for kind, part in PARTS:
        assert part not in rows, kind
        assert not any(part.encode() in content for content in stored), kind


HOSTILE = {
    "a NUL": "before\0after",
    "half of a pair": "before \ud83d after",
    "the other half": "\udc00",
    "quotes": "it's \"so\" \\ '' \\' $$ {} ;--",
    "controls": "\x1b[2J\x07\x9b\u202e",
    "directions": "\u2066abc\u2069",
    "a backslash and u": "\\u0000 \\ud800",
    "nothing": " ",
    "many words": " ".join(f"w{number}" for number in range(70_000)),
    "a long word": "x" * 5_000,
    "no spaces": "検索ツール" * 500,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_any_letters_are_pushed_and_shown(team: Team, tmp_path: Path, name: str) -> None:
    text = HOSTILE[name]
    team.join("ann", "red")
    told = a_session(
        a_title(f"t {text}"),
        a_prompt(f"lantern {text}", gitBranch=text, uuid=f"u{text[:20]}"),
        a_reply(a_thought(text), text, a_tool_call(text[:100], {text[:100]: text})),
        a_tool_result(text),
        id=IDS["ann"],
        cwd=f"/src/{text[:50]}",
    )
    told.write(tmp_path / "ann" / "projects")
    sent = team.push("ann", "all")
    assert (sent.sent, sent.problems) == (1, [])
    with team.store("ann") as store:
        answer = search(store, "lantern", DEFAULT_FIELDS, Filter(), 5, NOW)
        as_read = f"lantern {text}".encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        assert answer.hits[0].text.strip() == as_read.strip()
        prompt = session(store, IDS["ann"])[0].turns[0].prompt
        assert prompt is not None
        assert prompt.text.startswith("lantern")


def test_an_agent_inside_the_file_of_its_session_is_pushed_once(team: Team, tmp_path: Path) -> None:
    team.join("ann", "red")
    inside = a_subagent(a_prompt("look around"), a_reply("a lantern hangs there"), where="inside")
    call = a_tool_call("Task", {"prompt": "look around"})
    told = a_session(a_prompt("go"), a_reply(call), inside, a_tool_result("done"), id=IDS["ann"], version="1.0.83")
    told.write(tmp_path / "ann" / "projects")
    assert team.push("ann", "text").sent == 1
    with team.store("ann") as store:
        assert search(store, "lantern", DEFAULT_FIELDS, Filter(), 5, NOW).total == 1
        assert [agent.task for agent in session(store, IDS["ann"])[0].subagents] == ["look around"]


def test_a_line_keeps_no_more_than_is_named() -> None:
    told = a_session(
        a_prompt("p", cwd="/secret/place", gitBranch="b", toolUseResult={"stdout": "out"}, extra="x"),
        a_reply("r", a_tool_call("Bash", {"command": "ls"}), more="x"),
        a_tool_result("marble", twin={"stdout": "marble"}),
        a_line("attachment", uuid="a", attachment={"content": "file"}),
        a_line("never-seen", uuid="n", content="something"),
    )
    kept = json.dumps([kept_line(record) for record in told.records()])
    for left_out in ("/secret/place", "marble", "stdout", '"x"', "file", "something", "gitBranch"):
        assert left_out not in kept, left_out
    assert "ls" in kept


def test_a_line_of_a_stream_keeps_the_call_that_its_agent_belongs_to() -> None:
    line = b'{"type":"assistant","session_id":"s","parent_tool_use_id":"toolu_1","message":{"id":"msg_1"}}'
    kept = kept_line(decode(line))
    assert kept is not None
    assert (kept["session_id"], kept["parent_tool_use_id"]) == ("s", "toolu_1")


def test_the_marks_of_a_beginning_begin_the_marks() -> None:
    whole = b"one\ntwo\nthree\n"
    assert marks_of(whole).startswith(marks_of(b"one\ntwo\n"))
    assert not marks_of(whole).startswith(marks_of(b"one\nother\n"))
    assert not marks_of(whole).startswith(marks_of(b"one\nt"))


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("one two", "('one') & ('two')"),
        ('"one two" OR thr*', "('one' <-> 'two') | ('thr':*)"),
        ("thinking:one -two", "('one':C) & ! ( ('two') )"),
        ("(one OR two) three", "('three') & ( ('one') | ('two') )"),
        ("result:one", "'nothing is found by this'"),
    ],
)
def test_a_query_as_postgresql_reads_it(query: str, wanted: str) -> None:
    assert as_tsquery(parse(query).match) == wanted


def test_words_have_their_field_and_place() -> None:
    told = a_session(a_prompt("ein Wort"), a_reply(a_thought("Wort")), a_reply("wörtlich zwei")).records()
    assert list(map(words_of, told)) == ["'ein':1A 'wort':2A", "'wort':1C", "'wortlich':1B 'zwei':2B"]
