"""Nobody reads text of others without a trace, and nobody who sees numbers alone reads a word."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import psycopg
import pytest

from reread.archive.filters import Filter
from reread.team.questions import listed, usage
from reread.team.store import Store, as_json, audit
from reread.testing import a_prompt, a_session

from .conftest import Team
from .test_teams_apart import IDS, hits
from .test_teams_apart import full as full

SEARCH = {"query": "'lantern'", "since": None, "until": None, "among": None, "most": 9, "best": 9, "now_ms": 0}
NO_TICKET = "a transaction before this one"


def number_of(team: Team, person: str) -> int:
    with team.store("owner") as store:
        return int(store.rows("SELECT id FROM reread.session WHERE person = %s", (person,))[0][0])


def ask(store: Store, wanted: dict[str, Any]) -> Any:
    return store.one("SELECT reread.ask(%s)", (as_json(wanted),))


def readings(team: Team, person: str) -> list[tuple[Any, ...]]:
    with team.store(person) as store:
        return [tuple(row[1:]) for row in audit(store, 10)]


def test_a_reading_that_is_undone_stays_noted(full: Team) -> None:
    number = number_of(full, "ann")
    with full.store("amy") as store:
        ticket = ask(store, {"session": number})
        with store.connection.transaction(force_rollback=True):
            assert store.rows("SELECT * FROM reread.lines_of(%s, %s)", (number, ticket))
            assert store.rows("SELECT * FROM reread.content_of(%s, %s)", (number, ticket))
    assert readings(full, "ann") == [("amy", "ann", "show", IDS["ann"])]


def test_a_search_that_is_undone_stays_noted_for_all_it_may_have_found(full: Team) -> None:
    with full.store("amy") as store:
        ticket = ask(store, SEARCH)
        with store.connection.transaction(force_rollback=True):
            assert len(store.rows("SELECT * FROM reread.search(%s, %s)", (ticket, as_json(SEARCH)))) == 3
    assert readings(full, "ann") == [("amy", None, "search", None)]
    assert readings(full, "bob") == []
    with full.store("amy") as store:
        assert store.rows("SELECT * FROM reread.search(%s, %s)", (ticket, as_json(SEARCH)))
        assert readings(full, "ann") == [("amy", "ann", "search", None)]
        with pytest.raises(psycopg.errors.RaiseException, match=NO_TICKET):  # it was for once
            store.connection.execute("SELECT * FROM reread.search(%s, %s)", (ticket, as_json(SEARCH)))


def test_no_search_takes_back_what_was_shown(full: Team) -> None:
    shown = {"session": number_of(full, "ann")}
    with full.store("amy") as store:
        ticket = ask(store, shown)
        with pytest.raises(psycopg.errors.RaiseException, match=NO_TICKET):
            store.connection.execute("SELECT * FROM reread.search(%s, %s)", (ticket, as_json(shown)))
        both = {**SEARCH, **shown}
        with pytest.raises(psycopg.errors.RaiseException, match=NO_TICKET):
            store.connection.execute("SELECT * FROM reread.search(%s, %s)", (ask(store, both), as_json(both)))
    assert readings(full, "ann") == [("amy", "ann", "show", IDS["ann"])] * 2


def test_the_total_of_a_search_counts_nobody_who_is_not_noted(full: Team, tmp_path: Path) -> None:
    """Else lines of one's own, shown before all others, would tell unnoted whether somebody else wrote a word."""
    told = a_session(a_prompt("lantern lantern", timestamp="2026-11-01T10:00:00.000Z"), id="own", cwd="/src/own")
    told.write(tmp_path / "amy" / "projects")
    full.push("amy", "text")
    wanted = {**SEARCH, "best": 1}
    with full.store("amy") as store:
        [row] = store.rows("SELECT * FROM reread.search(%s, %s)", (ask(store, wanted), as_json(wanted)))
        assert row[-1] == 1
        assert len(hits(store, "lantern")) == 4
    assert [person for _, person, _, _ in readings(full, "ann")] == ["ann"]


@pytest.mark.parametrize("what", ["show", "search"])
def test_text_of_others_is_read_with_a_ticket_that_was_committed_before(full: Team, what: str) -> None:
    number = number_of(full, "ann")
    shown: dict[str, Any] = {"session": number}
    wanted, other = (shown, SEARCH) if what == "show" else (SEARCH, shown)

    def read(store: Store, ticket: int | None) -> list[Any]:
        if what == "show":
            return store.connection.execute("SELECT * FROM reread.lines_of(%s, %s)", (number, ticket)).fetchall()
        return store.connection.execute("SELECT * FROM reread.search(%s, %s)", (ticket, as_json(SEARCH))).fetchall()

    with full.store("amy") as store, full.store("ann") as ann, full.store("bob") as bob:
        assert read(store, None) == []
        assert read(ann, None) != []
        with store.connection.transaction():
            early = ask(store, wanted)
            with pytest.raises(psycopg.errors.RaiseException, match=NO_TICKET), store.connection.transaction():
                read(store, early)
        with store.connection.transaction():
            with store.connection.transaction():
                within = ask(store, wanted)
            with pytest.raises(psycopg.errors.RaiseException, match=NO_TICKET), store.connection.transaction():
                read(store, within)
        assert read(store, early) != []
        for_something_else = ask(store, other)
        for reader, ticket in (
            (store, for_something_else),
            (store, for_something_else + 1),
            (ann, within),
            (bob, within),
        ):
            if reader is store or what == "search":
                with pytest.raises(psycopg.errors.RaiseException, match=NO_TICKET):
                    read(reader, ticket)
        assert what == "search" or read(bob, within) == []
        with full.store("owner") as owner:
            owner.connection.execute("UPDATE reread.audit SET at = at - interval '11 minutes'")
        with pytest.raises(psycopg.errors.RaiseException, match=NO_TICKET):
            read(store, within)


def test_the_log_of_the_server_has_every_reading(full: Team) -> None:
    said: list[tuple[str | None, str | None]] = []
    with full.store("amy") as store:
        store.connection.add_notice_handler(
            lambda each: said.append((each.severity_nonlocalized, each.message_primary))
        )
        store.connection.execute("SET client_min_messages = log")
        assert hits(store, "lantern")
        ticket = ask(store, {"session": number_of(full, "ann")})
    assert [severity for severity, _ in said] == ["LOG"] * 3
    messages = [str(message) for _, message in said]
    assert messages[0].startswith("reread: amy asks to read what a search finds, ticket ")
    assert messages[1].startswith("reread: amy reads with ticket ")
    assert messages[2] == f"reread: amy asks to read ann {IDS['ann']}, ticket {ticket}"


def test_who_sees_numbers_alone_reads_no_title(full: Team) -> None:
    title = "the lantern of ann"
    with full.store("amy") as store:
        assert [each.listed.stored.row.title for each in listed(store, Filter())] == [title]
        assert [row.title for row in usage(store, "session").rows] == [title]
    for role in ("acc", "all"):
        with full.store(role) as store:
            assert {each.listed.stored.row.title for each in listed(store, Filter())} == {""}
            assert {row.title for row in usage(store, "session").rows} == {None}
            assert store.rows("SELECT * FROM reread.seen_title") == []


NAMES = {
    "seen_session": ("uuid", "project", "person", "team", "machine"),
    "seen_title": ("title",),
    "seen_told": ("project", "git_branch", "agent", "model", "key", "asked"),
    "seen_response": ("project", "git_branch", "person", "team", "uuid", "key"),
    "seen_file": ("key", "role"),
    "seen_machine": ("id", "label", "person"),
    "seen_member": ("role", "team"),
    "seen_assignment": ("pattern", "team"),
    "seen_audit": ("reader", "person", "session"),
    "seen_forgotten": ("session", "person"),
}


def plan(store: Store, query: str, *values: str) -> str:
    """What EXPLAIN tells of a query, without the values in it."""
    rows = store.connection.execute(f"EXPLAIN (ANALYZE, TIMING off, SUMMARY off) {query}".encode()).fetchall()
    told = "\n".join(row[0] for row in rows)
    for value in values:
        told = told.replace(f"'{value}'", "'...'")
    return re.sub(r"(?m)^ *(Memory|Buckets|Sort Method).*\n?", "", told)


@pytest.mark.parametrize("role", ["ann", "acc"])
def test_no_plan_tells_what_others_have(full: Team, role: str) -> None:
    """A condition on text may be evaluated before row level security, and tell in how many rows it was true."""
    with full.store("owner") as store:
        store.connection.execute(
            """INSERT INTO reread.session (person, key, team, uuid, machine, project, digest, numbers)
               SELECT 'bob', 'k' || n, 'blue', 'u' || n, 'm', '/src/granite', 'd', '{}'
               FROM generate_series(1, 900) AS n;
               INSERT INTO reread.title SELECT id, 'd', 'granite' FROM reread.session WHERE key LIKE 'k%';
               INSERT INTO reread.assignment VALUES ('/src/granite', 'blue');
               ANALYZE"""
        )
        theirs = {
            (view, column): [
                str(value)
                for (value,) in store.rows(f"SELECT DISTINCT {column} FROM reread.{view} WHERE {column} IS NOT NULL")  # noqa: S608
            ]
            for view, columns in NAMES.items()
            for column in columns
        }
    assert sum(map(len, theirs.values())) > 900
    with full.store(role) as store:
        store.connection.execute("SET enable_seqscan = off; SET cpu_operator_cost = 100")
        for (view, column), values in theirs.items():
            seen = {row[0] for row in store.connection.execute(f"SELECT {column} FROM reread.{view}".encode())}  # noqa: S608
            for value in [each for each in values if each not in seen][:5]:
                for condition in ("= '{}'", "BETWEEN '{}' AND '{}zz'"):
                    query = f"SELECT FROM reread.{view} WHERE {column} {condition}"
                    plans = {plan(store, query.format(each, each), each, f"{each}zz") for each in (value, "~~")}
                    assert len(plans) == 1, (view, column, value, plans)


def test_no_member_reads_a_table_that_has_rows_of_others(full: Team) -> None:
    with full.store("ann") as store:
        names = store.rows(
            """SELECT relname FROM pg_class WHERE relnamespace = 'reread'::regnamespace AND relkind IN ('r', 'p')
               AND has_table_privilege(oid, 'SELECT')"""
        )
        assert {name for (name,) in names} == {"note", "migration", "rate", "multiplier", "model_name"}
        assert store.rows("SELECT * FROM pg_stats WHERE schemaname = 'reread' AND tablename = 'session'") == []
