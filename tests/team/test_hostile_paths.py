"""What a member can put before the search path changes nothing of what they see."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import psycopg
import pytest

from reread.billing import packaged_prices
from reread.errors import BadInput
from reread.team.store import Store, initialise

from .conftest import Team
from .test_teams_apart import IDS, NUMBERS, TEAMS, WORDS, tables
from .test_teams_apart import full as full

HOSTILE = """
    CREATE FUNCTION evil.current_setting(text) RETURNS text LANGUAGE sql AS $$ SELECT 'VICTIM' $$;
    CREATE FUNCTION evil.current_setting(text, boolean) RETURNS text LANGUAGE sql AS $$ SELECT 'VICTIM' $$;
    CREATE FUNCTION evil.pg_has_role(text, oid, text) RETURNS boolean LANGUAGE sql AS $$ SELECT true $$;
    CREATE FUNCTION evil.pg_has_role(name, oid, text) RETURNS boolean LANGUAGE sql AS $$ SELECT true $$;
    CREATE FUNCTION evil.caller() RETURNS text LANGUAGE sql AS $$ SELECT 'VICTIM' $$;
    CREATE FUNCTION evil.is_owner() RETURNS boolean LANGUAGE sql AS $$ SELECT true $$;
    CREATE FUNCTION evil.teams(boolean) RETURNS SETOF text LANGUAGE sql AS $$ VALUES ('red'), ('blue'), ('*') $$;
    CREATE FUNCTION evil.yes(text, text) RETURNS boolean LANGUAGE sql AS $$ SELECT true $$;
    CREATE FUNCTION evil.yes(name, name) RETURNS boolean LANGUAGE sql AS $$ SELECT true $$;
    CREATE FUNCTION evil.yes(name, text) RETURNS boolean LANGUAGE sql AS $$ SELECT true $$;
    CREATE FUNCTION evil.yes(bigint, bigint) RETURNS boolean LANGUAGE sql AS $$ SELECT true $$;
    CREATE FUNCTION evil.yes(tsvector, tsquery) RETURNS boolean LANGUAGE sql AS $$ SELECT true $$;
    CREATE OPERATOR wrong.= (LEFTARG = text, RIGHTARG = text, FUNCTION = evil.yes);
    CREATE OPERATOR wrong.<> (LEFTARG = text, RIGHTARG = text, FUNCTION = evil.yes);
    CREATE OPERATOR wrong.= (LEFTARG = name, RIGHTARG = name, FUNCTION = evil.yes);
    CREATE OPERATOR wrong.= (LEFTARG = name, RIGHTARG = text, FUNCTION = evil.yes);
    CREATE OPERATOR wrong.= (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = evil.yes);
    CREATE OPERATOR wrong.@@ (LEFTARG = tsvector, RIGHTARG = tsquery, FUNCTION = evil.yes);
    CREATE TABLE evil.member AS SELECT current_user::text AS role, unnest(ARRAY['red', 'blue', '*']) AS team,
        true AS sees_text;
    CREATE TEMP TABLE member AS SELECT * FROM evil.member;
    CREATE TEMP TABLE pg_roles AS SELECT oid, 'VICTIM'::name AS rolname FROM pg_catalog.pg_roles;
    CREATE FUNCTION evil.tell(text) RETURNS boolean LANGUAGE plpgsql COST 0.0001 AS
        $$ BEGIN RAISE NOTICE '%', $1; RETURN true; END $$
"""
PATHS = (
    *("evil, reread, pg_catalog, pg_temp", "pg_temp, evil, pg_catalog, reread"),
    *("wrong, reread, pg_catalog", "evil, wrong, reread, pg_catalog"),
)
ARGUMENTS = {
    "text": ["'*'", "'owner'", *(f"'{each}'" for each in (*IDS.values(), *TEAMS)), "NULL"],
    "text[]": ["ARRAY(SELECT 'key' || n FROM generate_series(1, 9) AS n)", "'{red,blue,*}'", "NULL"],
    "bigint": ["1", "2", "0", "NULL"],
    "bigint[]": ["'{1,2}'", "NULL"],
    "integer": ["400"],
    "boolean": ["true", "false"],
    "jsonb": ["'{}'", """'{"key": "x", "session": 1}'""", """'{"query": "''granite'' | ''lantern''", "session": 2}'"""],
}


def calls(store: Store) -> list[str]:
    """Every function of the schema with what a member might give it."""
    rows = store.rows(
        """SELECT proname, ARRAY(SELECT format_type(given, NULL) FROM unnest(proargtypes) AS given)
           FROM pg_proc WHERE pronamespace = 'reread'::regnamespace ORDER BY 1"""
    )
    assert len(rows) > 20
    return [
        f"SELECT * FROM reread.{name}({', '.join(given)})"  # noqa: S608  names of the catalogue
        for name, types in rows
        for given in itertools.islice(itertools.product(*(ARGUMENTS.get(each, ["NULL"]) for each in types)), 300)
    ]


def answers(connection: psycopg.Connection, statements: list[str]) -> Iterator[tuple[str, str]]:
    """What each statement gives or says, by itself and undone."""
    for statement in statements:
        try:
            with connection.transaction(force_rollback=True):
                yield statement, repr(connection.execute(statement.encode()).fetchall())
        except psycopg.Error as error:
            yield statement, str(error)


def test_every_function_has_a_path_of_its_own(full: Team) -> None:
    with full.store("owner") as store:
        rows = store.rows(
            """SELECT proname, coalesce(array_to_string(proconfig, ' '), '') FROM pg_proc
               WHERE pronamespace = 'reread'::regnamespace"""
        )
    assert len(rows) > 20
    for name, settings in rows:
        assert "search_path=pg_catalog, reread, pg_temp" in settings, name


@pytest.mark.parametrize("role", [*TEAMS, *(name for name, team in NUMBERS.items() if team != "*"), "new"])
def test_no_path_shows_what_another_team_pushed(full: Team, role: str) -> None:
    """As in databases where everybody may create objects, which is the default before PostgreSQL 15."""
    with full.store("owner") as store:
        statements = calls(store)
        for name in tables(store):
            statements += [f"SELECT * FROM {place}" for place in (f"reread.{name}", name)]  # noqa: S608
            statements.append(f"SELECT 1 FROM reread.{name} AS each WHERE evil.tell(each::text)")  # noqa: S608
        store.connection.execute("CREATE SCHEMA evil; CREATE SCHEMA wrong; GRANT ALL ON SCHEMA evil, wrong TO PUBLIC")
        if role == "new":
            full.join("new", "green")
    strange = "bob" if TEAMS.get(role, "red") == "red" else "ann"
    others = [strange] if role != "new" else ["ann", "bob"]
    hidden = [word for other in others for word in (IDS[other], WORDS[other])]
    said: list[str] = []
    with psycopg.connect(full.url(role), autocommit=True) as connection:
        connection.add_notice_handler(lambda each: said.append(each.message_primary or ""))
        with connection.transaction(force_rollback=True):
            connection.execute(HOSTILE.replace("VICTIM", strange).encode())
            for path in PATHS:
                connection.execute(f"SET LOCAL search_path = {path}".encode())
                for statement, answer in answers(connection, statements):
                    seen = " ".join((answer, *said)).replace(statement, "")
                    said.clear()
                    for word in hidden:
                        assert word not in seen or word in statement, f"{role} sees {word} by {statement}: {seen[:300]}"


def test_a_store_lets_nobody_create_objects_in_public(full: Team) -> None:
    with full.store("owner") as store:
        store.connection.execute("GRANT CREATE ON SCHEMA public TO PUBLIC")
        initialise(store, packaged_prices())
        assert not store.one("SELECT has_schema_privilege('ann', 'public', 'CREATE')")


def test_a_public_schema_that_stays_open_is_refused(full: Team) -> None:
    """Its owner may be somebody else, whom `REVOKE` does not ask."""
    name = full.server.database()
    with psycopg.connect(full.url("owner").replace(full.name, name), autocommit=True) as connection:
        connection.execute("GRANT CREATE ON SCHEMA public TO PUBLIC")
        connection.execute(
            "DO $$ BEGIN CREATE ROLE maker LOGIN CREATEROLE; EXCEPTION WHEN duplicate_object THEN END $$"
        )
        connection.execute(f"GRANT CREATE ON DATABASE {name} TO maker".encode())
    with (
        Store(full.server.url("maker", name), is_new=True) as store,
        pytest.raises(BadInput, match="everybody may create objects in schema public"),
    ):
        initialise(store, packaged_prices())


def test_a_client_looks_up_nothing_among_objects_of_others(full: Team) -> None:
    with full.store("owner") as store:
        store.connection.execute(
            """CREATE FUNCTION public.starts_with(text, varchar) RETURNS boolean LANGUAGE plpgsql AS
               $$ BEGIN RAISE EXCEPTION 'run as %', current_user; END $$"""
        )
        assert store.one("SELECT starts_with('ab'::text, 'a'::varchar)") is True
