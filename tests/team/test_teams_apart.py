"""Each role sees its own and its teams', in every table and every search, and nothing of anybody else."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest

from reread.archive.filters import Filter
from reread.archive.search_language import DEFAULT_FIELDS
from reread.errors import BadInput, StoreRefused
from reread.team.questions import listed, search, session, usage
from reread.team.store import Store, as_json, assign, audit, forget, grant, retain, revoke, status
from reread.testing import a_line, a_prompt, a_reply, a_session, a_thought

from .conftest import Team

NOT_ALLOWED = (
    *(psycopg.errors.InsufficientPrivilege, psycopg.errors.WrongObjectType),
    psycopg.errors.ObjectNotInPrerequisiteState,  # a view that takes no rows
)
NOW = datetime(2026, 11, 17, tzinfo=UTC)
IDS = {"ann": "0a1b2c3d-1111-4222-8333-444455556666", "bob": "1b2c3d4e-2222-4333-8444-555566667777"}
WORDS = {"ann": "lantern", "bob": "granite"}
TEAMS = {"ann": "red", "amy": "red", "bob": "blue"}
NUMBERS = {"acc": "red", "all": "*"}


@pytest.fixture
def full(team: Team, tmp_path: Path) -> Team:
    """Ann of the red and Bob of the blue have pushed everything they have."""
    for role, name in TEAMS.items():
        team.join(role, name)
    for role, name in NUMBERS.items():
        team.join(role, name, sees_text=False)
    for person, word in WORDS.items():
        told = a_session(
            a_prompt(f"the {word} of {person}"),
            a_reply(a_thought(f"{word}?"), word),
            id=IDS[person],
            cwd=f"/src/{word}",
        )
        told.write(tmp_path / person / "projects")
        team.push(person, "all")
    return team


def tables(store: Store) -> list[str]:
    rows = store.rows(
        """SELECT relname FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
           WHERE nspname = 'reread' AND relkind IN ('r', 'p', 'v', 'm') ORDER BY 1"""
    )
    return [name for (name,) in rows]


def all_rows(store: Store, table: str) -> str:
    """Everything a role gets out of a table, as text; empty where it may not ask."""
    try:
        query = f"SELECT * FROM reread.{table}"  # noqa: S608  names of the catalogue
        return repr(store.connection.execute(query.encode()).fetchall())
    except psycopg.errors.InsufficientPrivilege:
        return ""


def hits(store: Store, word: str) -> list[str]:
    return [hit.session.row.uuid for hit in search(store, word, DEFAULT_FIELDS, Filter(), 50, NOW).hits]


def test_every_table_has_row_level_security(full: Team) -> None:
    with full.store("owner") as store:
        open_to_all = store.rows(
            """SELECT relname FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
               WHERE nspname = 'reread' AND relkind IN ('r', 'p') AND NOT relrowsecurity"""
        )
        assert open_to_all == []
        assert len(tables(store)) > 17


@pytest.mark.parametrize(("role", "other"), [("ann", "bob"), ("amy", "bob"), ("acc", "bob"), ("bob", "ann")])
def test_no_table_shows_a_row_of_another_team(full: Team, role: str, other: str) -> None:
    with full.store("owner") as store:
        names = tables(store)
    with full.store(role) as store:
        for name in names:
            seen = all_rows(store, name)
            for word in (IDS[other], WORDS[other], f"'{other}'"):
                assert word not in seen, f"{role} sees {word} in {name}"
        assert IDS[other] not in repr(listed(store, Filter()))
        assert {row.key for row in usage(store, "person").rows} == {"ann" if role != "bob" else "bob"}
        assert hits(store, WORDS[other]) == []
        with pytest.raises(Exception, match="is no session"):
            session(store, IDS[other])


def test_a_role_taken_by_the_owner_sees_no_more_than_the_role(full: Team) -> None:
    with full.store("owner") as store:
        store.connection.execute("SET ROLE ann")
        assert IDS["bob"] not in repr(listed(store, Filter()))
        assert hits(store, WORDS["bob"]) == []
        assert hits(store, WORDS["ann"]) != []


def test_members_read_text_of_their_team_through_functions_that_note_it(full: Team) -> None:
    with full.store("amy") as store:
        assert hits(store, "lantern") == [IDS["ann"]] * 3
        prompt = session(store, IDS["ann"])[0].turns[0].prompt
        assert prompt is not None
        assert prompt.text == "the lantern of ann"
        assert "lantern" not in all_rows(store, "text")
    with full.store("ann") as store:
        assert {(reader, person, how) for _, reader, person, how, _ in audit(store, 10)} == {
            ("amy", "ann", "search"),
            ("amy", "ann", "show"),
        }
        assert [how for _, _, _, how, _ in audit(store, 10)].count("show") == 1  # not one for every line


@pytest.mark.parametrize("role", NUMBERS)
def test_who_sees_numbers_alone_reads_no_text(full: Team, role: str) -> None:
    with full.store(role) as store:
        assert len(listed(store, Filter())) == (2 if role == "all" else 1)
        assert hits(store, "lantern") == []
        with pytest.raises(Exception, match="not for your role to read"):
            session(store, IDS["ann"])


@pytest.mark.parametrize("role", ["ann", "bob", "acc"])
def test_nobody_writes_past_the_functions(full: Team, role: str) -> None:
    with full.store("owner") as store:
        names = tables(store)
    with full.store(role) as store:
        for name in names:
            for statement in (f"TRUNCATE reread.{name}", f"INSERT INTO reread.{name} DEFAULT VALUES"):
                with pytest.raises(NOT_ALLOWED):
                    store.connection.execute(statement.encode())
        for call in (
            "assign_teams()",
            "make_months('text', '{1}')",
            "team_of('x', 'y', 'z')",
            "settle('{x}')",
            "put_text('{}')",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                store.connection.execute(f"SELECT reread.{call}".encode())


def test_what_one_pushes_is_theirs_whatever_they_say(full: Team) -> None:
    with full.store("owner") as store:
        [(key, uuid)] = store.rows("SELECT key, uuid FROM reread.session WHERE person = 'ann'")
    parcel: dict[str, Any] = {"key": key, "digest": "x", "title": "owned", "lines": [], "person": "ann", "ended": None}
    with full.store("bob") as store:
        sent = [{"key": key, "text": parcel}, {"key": key, "content": {**parcel, "files": []}}]
        assert store.one("SELECT reread.put_sessions_v1(%s)", (as_json(sent),)) == ["forgotten"] * 2
        with pytest.raises(Exception, match="is no session"):
            forget(store, uuid)
        assert store.one("SELECT reread.forget(%s)", (uuid,)) is False
    with full.store("ann") as store:
        assert hits(store, "lantern")


def test_a_stranger_may_nothing(full: Team) -> None:
    with full.store("owner") as store:
        store.connection.execute("DO $$ BEGIN CREATE ROLE stranger LOGIN; EXCEPTION WHEN duplicate_object THEN END $$")
    with pytest.raises(StoreRefused, match="reread team grant"):
        full.store("stranger")


def test_a_search_uses_the_index(full: Team) -> None:
    """As a member, over enough lines that reading all of them would be the longer way."""
    plans: list[str] = []
    with full.store("owner") as store:
        store.connection.execute(
            """INSERT INTO reread.text SELECT session, person, team, number, NULL, NULL, time, line,
                   to_tsvector('simple', 'word' || number) FROM reread.text, generate_series(1, 2000) AS number"""
        )
        store.connection.execute("ANALYZE reread.text")
        store.connection.add_notice_handler(lambda said: plans.append(said.message_primary or ""))
        for setting in ("log_min_duration = 0", "log_nested_statements = on", "log_level = notice"):
            store.connection.execute("LOAD 'auto_explain'")
            store.connection.execute(f"SET auto_explain.{setting}".encode())
        store.connection.execute("SET ROLE amy")
        assert hits(store, "lantern")
    plan = next(each for each in plans if "words @@" in each)
    assert "Bitmap Index Scan on text_" in plan
    assert "Seq Scan on text_" not in plan
    assert "Seq Scan on reread.text_" not in plan


def test_an_assigned_project_moves_with_its_text(full: Team) -> None:
    with full.store("owner") as store:
        assert assign(store, "*/lant*", "blue") == 1
    with full.store("bob") as store:
        assert hits(store, "lantern") != []
    with full.store("amy") as store:
        assert hits(store, "lantern") == []
        assert listed(store, Filter()) == []


def test_who_leaves_a_team_takes_nothing_along(full: Team) -> None:
    with full.store("owner") as store:
        grant(store, "ann", "blue", sees_text=True)
        revoke(store, "ann", "red")
        grant(store, "amy", "red", sees_text=True)  # teams are worked out again
    with full.store("bob") as store:
        assert hits(store, "lantern") == []
    with full.store("amy") as store:
        assert hits(store, "lantern") != []


def test_retention_takes_months_of_text_and_leaves_the_ledger(team: Team, tmp_path: Path) -> None:
    team.join("ann", "red")
    for month in range(1, 13):
        told = a_session(
            a_prompt(f"word{month}", timestamp=f"2025-{month:02}-10T10:00:00.000Z"),
            a_reply("yes", timestamp=f"2025-{month:02}-10T10:00:05.000Z"),
            id=f"0a1b2c3d-1111-4222-8333-4444555566{month:02}",
        )
        told.write(tmp_path / "ann" / "projects")
    recent = a_session(a_prompt("now"), a_reply("yes"), id=IDS["ann"])
    recent.write(tmp_path / "ann" / "projects")
    team.push("ann", "all")
    with team.store("owner") as store:
        before = usage(store, "month", timezone=UTC)
        assert status(store).text_months == 13
        assert (status(store).with_text, status(store).with_content) == (13, 13)
        assert retain(store, (datetime.now(UTC) - datetime(2025, 12, 1, tzinfo=UTC)).days) == 22
        assert usage(store, "month", timezone=UTC) == before
        assert status(store).text_months == 2
        assert (status(store).with_text, status(store).with_content) == (2, 2)
        assert hits(store, "word3") == []
        assert hits(store, "word12") != []
    told = a_session(a_prompt("word3 again", timestamp="2025-03-11T10:00:00.000Z"), id=IDS["bob"])
    told.write(tmp_path / "ann" / "projects")
    team.push("ann", "all")
    with team.store("ann") as store:
        assert hits(store, "word3") == []
        assert (status(store).text_months, status(store).with_text) == (2, 2)


@pytest.mark.parametrize("what", ["text", "all"])
def test_titles_go_with_the_text_they_were_made_of(team: Team, tmp_path: Path, what: str) -> None:
    """Lines of titles have no time of their own; a session without any is called by its first prompt."""
    team.join("ann", "red")
    long_ago: dict[str, Any] = {"timestamp": "2025-03-10T10:00:00.000Z"}
    said = (a_prompt("the marmot", **long_ago), a_reply("yes", **long_ago))
    a_session(*said, id=IDS["ann"]).write(tmp_path / "ann" / "projects")
    a_session(*said, a_line("ai-title", aiTitle="A marmot"), id=IDS["bob"]).write(tmp_path / "ann" / "projects")
    team.push("ann", what)
    with team.store("owner") as store:
        assert len(hits(store, "marmot")) == 3
        retain(store, 30)
        assert hits(store, "marmot") == []
        assert {row.key for row in usage(store, "session").rows} == {IDS["ann"], IDS["bob"]}
        with pytest.raises(BadInput, match="its text is no longer kept"):
            session(store, IDS["bob"])
    a_session(a_prompt("marmots", **long_ago), id="later").write(tmp_path / "ann" / "projects")
    team.push("ann", what)
    with team.store("owner") as store:
        for name in tables(store):
            assert "marmot" not in all_rows(store, name)


def test_what_was_forgotten_is_gone_everywhere_and_stays_away(full: Team) -> None:
    with full.store("ann") as store:
        assert forget(store, IDS["ann"][:8]) == IDS["ann"]
    assert full.push("ann", "all").forgotten == 1
    with full.store("owner") as store:
        for name in tables(store):
            seen = all_rows(store, name)
            assert IDS["ann"] not in seen or name == "audit"
            assert "lantern" not in seen
        assert [row.key for row in usage(store, "person").rows] == ["bob"]
