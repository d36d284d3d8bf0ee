"""A person stays the same when their role is renamed, and nobody becomes another by taking their name."""

from __future__ import annotations

import json
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest

from reread.archive.filters import Filter
from reread.billing import packaged_prices
from reread.errors import BadInput
from reread.team.questions import listed, usage
from reread.team.store import Store, change_person, forget, initialise, person_rows, retain, verify
from reread.testing import a_prompt, a_reply, a_session

from .conftest import Team
from .test_teams_apart import hits

ID, OTHER = "0a1b2c3d-1111-4222-8333-444455556666", "1b2c3d4e-2222-4333-8444-555566667777"


@pytest.fixture
def people(team: Team, tmp_path: Path) -> Team:
    """Eve and Fay of the green have pushed the same session, and Eve another."""
    for role in ("eve", "fay", "eva"):
        team.server.run(f"DROP ROLE IF EXISTS {role}")
    for role in ("eve", "fay"):
        team.join(role, "green")
        a_session(a_prompt("a marmot"), a_reply("yes"), id=ID, cwd="/src/a").write(tmp_path / role / "projects")
    a_session(a_prompt("a lynx"), a_reply("yes"), id=OTHER, cwd="/src/b").write(tmp_path / "eve" / "projects")
    for role in ("eve", "fay"):
        team.push(role, "all")
    return team


def costs(store: Store) -> list[tuple[str | None, int | None]]:
    return [(row.key, row.tokens.nanodollars) for row in usage(store, "session", timezone=UTC).rows]


def test_a_renamed_role_keeps_what_it_pushed_and_its_team(people: Team) -> None:
    people.server.run("ALTER ROLE eve RENAME TO eva")
    with people.store("eva") as store:
        assert len(hits(store, "lynx")) > 0
        assert [row.key for row in usage(store, "team").rows] == ["green"]
    with people.store("owner") as store:
        change_person(store, "rename", "eve", "eva")
        assert verify(store, packaged_prices())[1] == []
    with people.store("eva") as store:
        assert "eve" not in {each.person for each in listed(store, Filter())}
        assert len(hits(store, "lynx")) > 0


def test_a_new_role_of_an_old_name_inherits_nothing(people: Team) -> None:
    people.server.run("ALTER ROLE eve RENAME TO eva")
    people.join("eve", "blue")  # somebody else
    with people.store("eve") as store:
        assert hits(store, "lynx") == []
        assert listed(store, Filter()) == []
    with people.store("owner") as store, pytest.raises(BadInput, match="no person or role"):
        change_person(store, "transfer", "nobody", "eve")
    with people.store("owner") as store:
        change_person(store, "transfer", "eve", "eve")  # now the owner says that it is the same person
    with people.store("eve") as store:
        assert len(hits(store, "lynx")) > 0


def test_who_is_in_a_team_by_a_group_pushes_into_it(people: Team, tmp_path: Path) -> None:
    people.server.run("DROP ROLE IF EXISTS makers", "DROP ROLE IF EXISTS gus", "CREATE ROLE gus LOGIN")
    people.join("makers", "violet")
    people.server.run("GRANT makers TO gus")
    a_session(a_prompt("a stoat"), a_reply("yes")).write(tmp_path / "gus" / "projects")
    people.push("gus")
    with people.store("gus") as store:
        assert [row.key for row in usage(store, "team").rows] == ["violet"]


@pytest.mark.parametrize("forgets", [False, True])
def test_removing_a_person_leaves_what_others_pushed_as_well_unless_it_is_forgotten(
    people: Team, forgets: bool
) -> None:
    with people.store("owner") as store:
        told = [json.dumps(row) for row in person_rows(store, "eve")]
        assert any("lynx" in row for row in told)
        assert not any("fay" in row for row in told)
        before = costs(store)
        assert change_person(store, "remove", forgets, "eve") == (3 if forgets else 2)
        left = costs(store)
        assert left == ([] if forgets else [row for row in before if row[0] == ID])
        assert verify(store, packaged_prices())[1] == []
        assert "eve" not in {each.person for each in listed(store, Filter())}
    assert people.push("fay", "all").forgotten == int(forgets)


def test_forgotten_words_leave_files_indexes_and_statistics(people: Team) -> None:
    with people.store("owner") as store:
        store.connection.execute("ANALYZE")
        places = (
            "SELECT pg_relation_filepath(oid) FROM pg_class WHERE relname ~ '^(text|content|title)' AND relfilenode > 0"
        )
        forget(store, OTHER)
        assert store.rows("SELECT * FROM reread.untidy") == []
        store.connection.execute("CHECKPOINT")
        files = [people.server.data / path for (path,) in store.rows(places)]
        assert len(files) > 8
        assert b"marmot" in b"".join(path.read_bytes() for path in files)
        assert not any(b"lynx" in path.read_bytes() for path in files)
        said = "SELECT tablename, attname FROM pg_stats WHERE schemaname = 'reread' AND pg_stats::text LIKE '%lynx%'"
        assert store.rows(said) == []


def test_the_ledger_is_kept_as_long_as_is_said(people: Team, tmp_path: Path) -> None:
    long_ago: dict[str, Any] = {"timestamp": "2025-03-10T10:00:00.000Z"}
    a_session(a_prompt("old", **long_ago), a_reply("yes", **long_ago)).write(tmp_path / "fay" / "projects")
    with people.store("owner") as store:
        before = usage(store, "day", timezone=UTC).rows
        people.push("fay")
        assert len(usage(store, "day", timezone=UTC).rows) == len(before) + 1
        retain(store, 400, of_ledger=True)
        assert usage(store, "day", timezone=UTC).rows == before
        assert verify(store, packaged_prices())[1] == []
    assert people.push("fay").forgotten == 1
    with people.store("owner") as store:
        assert usage(store, "day", timezone=UTC).rows == before


def test_a_copy_on_another_server_finds_its_roles_by_name_when_its_owner_says_so(people: Team) -> None:
    with people.store("owner") as store:
        store.connection.execute("UPDATE reread.note SET value = 'elsewhere' WHERE name = 'home'")
        store.connection.execute("UPDATE reread.person SET number = number::bigint + 100000")
        store.connection.execute("UPDATE reread.member SET number = number::bigint + 100000")
    with people.store("eve") as store:
        assert listed(store, Filter()) == []  # until then nobody is anybody
    with Store(people.url("owner"), is_new=True) as store:
        initialise(store, packaged_prices())
    with people.store("eve") as store:
        assert len(hits(store, "lynx")) > 0
