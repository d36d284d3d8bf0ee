"""A connection to a team's store: it turns errors into sentences, and has the operations of the store's owner."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Concatenate, LiteralString, ParamSpec, TypeVar

from msgspec import Struct

from reread import billing, errors, lazy
from reread.billing import sql as billing_sql

if TYPE_CHECKING:
    import psycopg
    from psycopg import sql
    from psycopg.types import json as json_types
else:
    sql = lazy.module("psycopg.sql")
    json_types = lazy.module("psycopg.types.json")

VERSION = 3
"""The version of tables and functions. Increase it with every change of what a client may send or ask; a client refuses
any other version."""
_SETTLED = billing_sql.settled(
    billing_sql.POSTGRES,
    """(
        SELECT told.*, head, began, ended, file.key || ' ' || person AS place
        FROM told JOIN file ON file.id = told.file JOIN session ON session.id = file.session
        WHERE asked = ANY (keys) AND is_counted
    ) AS told""",
    billing_sql.owner_order(billing_sql.POSTGRES, file="place"),
    counted=("key", "asked", "model", "speed", "geo", "tier", *billing_sql.TOKENS, "tools", "circumstance"),
    owned=("file", "is_sidechain", "is_abandoned", "time", "project", "git_branch", "agent", "skill", "circumstance"),
)
"""What `settle(keys)` of the schema stores of every response."""
_PRICED = billing_sql.priced(billing_sql.POSTGRES, "reread.response", "used.key", schema="reread.")
_T = TypeVar("_T")
_P = ParamSpec("_P")
_OLDEST_SERVER = 140_000
_SCHEMES = ("postgresql://", "postgres://")
_PASSWORD = re.compile(r"^(postgres(?:ql)?://[^:/@]*):[^/]*@")
"""Follows PostgreSQL's own reading of an address, where a password may contain characters that end a host elsewhere."""
_SECRETS = ("password=", "sslpassword=")
_AILMENTS = {
    "53100": "cannot go on: there is no room left on its disk; make some, and the same again goes on",
    "55P03": "is busy: another connection holds what this one needs",
    "57014": "stopped what took too long, or what its owner ended; the same again goes on",
    "25P03": "ended this connection, which was asleep in the middle of a change; the same again goes on",
}
_LOCK_NOT_AVAILABLE = "55P03"
_PATIENCE = 120.0
"""Seconds to wait for others; what they hold the store for takes the server a second or so."""
_KEEPALIVES = {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3, "tcp_user_timeout": 60_000}
LIMITS = {
    "lock_timeout": "10s",
    "statement_timeout": "10min",
    "idle_in_transaction_session_timeout": "1min",
    "tcp_keepalives_idle": "30",
    "tcp_keepalives_interval": "10",
    "tcp_keepalives_count": "3",
    "tcp_user_timeout": "60000",
}
"""How long one connection may hold up the others; the server's own are endless, and two hours for one that is gone."""
_HOLDER = """SELECT usename, application_name, pg_locks.pid FROM pg_locks JOIN pg_stat_activity USING (pid)
    WHERE locktype = 'advisory' AND (classid, objid, objsubid) = (0, 7824361, 1) AND granted
        AND pg_locks.database = (SELECT oid FROM pg_database WHERE datname = current_database()) LIMIT 1"""
_NO_DATABASE = re.compile(r'database "[^"]*" does not exist')
_NAME = re.compile(r"[^\x00-\x1f\x7f]{1,63}")


def is_store(target: str) -> bool:
    return target.startswith(_SCHEMES)


def without_password(url: str) -> str:
    """The address without secrets, as it may be shown and remembered."""
    before, mark, asked = _PASSWORD.sub(r"\1@", url).partition("?")
    kept = [each for each in asked.split("&") if not each.startswith(_SECRETS)]
    return before + mark + "&".join(kept) if kept else before


def _psycopg() -> Any:
    try:
        import psycopg
    except ImportError as error:
        raise errors.BadInput("a team store needs psycopg: `pip install 'reread[team]'`") from error
    return psycopg


@contextmanager
def database_errors() -> Iterator[None]:
    """Turns errors of the database into sentences that do not quote the statement. Raises StoreAway, StoreRefused or
    BadInput."""
    psycopg = _psycopg()
    try:
        yield
    except (psycopg.OperationalError, psycopg.InterfaceError, psycopg.errors.IdleInTransactionSessionTimeout) as error:
        state = getattr(error, "sqlstate", None)
        if state is None and _NO_DATABASE.search(str(error)):
            raise errors.BadInput(f"{_sentence(error)}; its owner makes one with PostgreSQL's `createdb`") from error
        what = "cannot be reached" if state is None else _AILMENTS.get(state, "cannot go on now")
        away = errors.StoreBusy if state == _LOCK_NOT_AVAILABLE else errors.StoreAway
        raise away(f"the store {what}: {_sentence(error)}") from error
    except psycopg.errors.InsufficientPrivilege as error:
        hint = "ask its owner for `reread team grant ROLE TEAM`"
        raise errors.StoreRefused(f"your role may not do that in this store ({_sentence(error)}); {hint}") from error
    except psycopg.Error as error:
        raise errors.StoreRefused(f"the store refused: {_sentence(error)}") from error


def _sentence(error: Exception) -> str:
    primary = getattr(getattr(error, "diag", None), "message_primary", None)
    lines = str(primary or error).strip().splitlines()
    return errors.printable(lines[0].strip() if lines else type(error).__name__)


class Store:
    """A store, by its address; use it in a `with` statement."""

    def __init__(self, url: str, *, is_new: bool = False, tell: Callable[[str], None] | None = None) -> None:
        """`tell` is given a sentence while others are waited for."""
        if not is_store(url):
            raise errors.BadInput(f"{errors.printable(url)!r} is no address of a store; try postgresql://host/database")
        self.address, self._tell = without_password(url), tell or (lambda _: None)
        with database_errors():
            settings = {"connect_timeout": 10, "application_name": "reread", **_KEEPALIVES}
            given = _psycopg().conninfo.conninfo_to_dict(url)
            self.connection: psycopg.Connection[Any] = _psycopg().connect(**{**settings, **given}, autocommit=True)
            # Compiling a query takes half a second, and answering it milliseconds. Nobody's objects stand before those
            # of the catalogue, since who may create some could have this role run them.
            limits = {**LIMITS, "jit": "off", "search_path": "pg_catalog, pg_temp"}
            limits |= {"statement_timeout": "0"} if is_new else {}  # every cost of a large store is made again
            self.connection.execute(
                "SELECT pg_catalog.set_config(key, value, false) FROM pg_catalog.jsonb_each_text(%s)",
                (as_json(limits),),
            )
            self.role = str(self.one("SELECT current_user"))
        if not is_new:
            self._check()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()

    def _check(self) -> None:
        with database_errors():
            if self.one("SELECT to_regclass('reread.note')::text") is None:
                raise errors.BadInput(
                    f"{self.address} is no store yet; its owner makes one with `reread team init URL`"
                )
        made = self.version()
        if made < VERSION:
            raise errors.BadInput(
                f"{self.address} was made by an older reread; its owner updates it with `reread team init URL`"
            )

    def version(self) -> int:
        """The version of the store's tables. Raises BadInput if it is newer than this program's."""
        with database_errors():
            made = int(self.note("version") or 0)
        if made > VERSION:
            raise errors.BadInput(
                f"{self.address} was made by a newer reread; update this one: `pip install --upgrade 'reread[team]'`"
            )
        return made

    def one(self, query: LiteralString, values: Sequence[Any] = ()) -> Any:
        """The first column of the first row; None if there is no row."""
        row = self.connection.execute(query, values or None).fetchone()
        return None if row is None else row[0]

    def rows(self, query: LiteralString, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with database_errors():
            return self.connection.execute(query, values or None).fetchall()

    def patiently(self, change: Callable[[], _T]) -> _T:
        """Makes a change, again while others hold what it needs, and tells who does. Raises StoreAway if that takes too
        long."""
        give_up, told = time.monotonic() + _PATIENCE, ""
        while True:
            try:
                return change()
            except errors.StoreBusy as error:
                who, ends = told or "another connection", "try again later"
                for role, program, process in self.rows(_HOLDER):
                    who = f"{role} ({errors.printable(program)}, process {process} of the server)"
                    ends = f"the store's owner can end it: SELECT pg_terminate_backend({process})"
                if time.monotonic() >= give_up:
                    long = f"which held {self.address} for {_PATIENCE:.0f} s"
                    raise errors.StoreAway(f"gave up waiting for {who}, {long}; {ends}") from error
                if who != told:
                    told = who
                    self._tell(f"waiting for {who}, which is writing to {self.address}")

    def note(self, name: str) -> str | None:
        found = self.one("SELECT value FROM reread.note WHERE name = %s", (name,))
        return None if found is None else str(found)


def as_json(value: object) -> Any:
    return json_types.Jsonb(value)


# -- for the owner


def _patient(work: Callable[Concatenate[Store, _P], _T]) -> Callable[Concatenate[Store, _P], _T]:
    """A change that waits for others as `Store.patiently` does."""

    @wraps(work)
    def waiting(store: Store, /, *values: _P.args, **named: _P.kwargs) -> _T:
        return store.patiently(lambda: work(store, *values, **named))

    return waiting


@_patient
def initialise(store: Store, prices: billing.Prices) -> None:
    """Creates tables, functions, rules and prices. On an existing store it brings them up to date and calculates all
    costs again."""
    schema = Path(__file__).with_name("schema.sql").read_text("utf-8")
    schema = schema.replace("<<settled>>", _SETTLED).replace("<<priced>>", _PRICED)
    if store.connection.info.server_version < _OLDEST_SERVER:
        raise errors.BadInput(
            f"a store needs PostgreSQL {_OLDEST_SERVER // 10_000} or newer; update {store.address} first"
        )
    with database_errors(), store.connection.transaction():
        store.connection.execute("SELECT pg_advisory_xact_lock(7824361)")
        if store.one("SELECT to_regclass('reread.note')::text") is not None:
            store.version()
        store.connection.execute(schema.encode())
        _close_public(store)
        _limit_waiting(store)
        store.connection.execute("INSERT INTO reread.note VALUES ('salt', %s) ON CONFLICT DO NOTHING", (token_hex(16),))
        _write_note(store, "version", str(VERSION))
        _write_prices(store, prices)


def _close_public(store: Store) -> None:
    """Lets nobody create objects in schema `public`, as every member may in databases made before PostgreSQL 15. Raises
    BadInput if that is not this role's to do."""
    if store.one("SELECT to_regnamespace('public')") is None:
        return
    store.connection.execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC")
    if store.one("SELECT has_schema_privilege('public', 'public', 'CREATE')"):
        raise errors.BadInput(
            f"everybody may create objects in schema public of {store.address}, and that is not yours to end; an"
            " administrator of the server has to run `REVOKE CREATE ON SCHEMA public FROM PUBLIC` there first"
        )


def _limit_waiting(store: Store) -> None:
    """Makes `LIMITS` those of the database, for clients that set none, except where it has its own."""
    database, is_own = store.rows(
        "SELECT datname, pg_has_role(datdba, 'MEMBER') FROM pg_database WHERE datname = current_database()"
    )[0]
    if not is_own:
        return
    there = store.rows(
        """SELECT split_part(each, '=', 1) FROM pg_db_role_setting, unnest(setconfig) AS each
           WHERE setrole = 0 AND setdatabase = (SELECT oid FROM pg_database WHERE datname = current_database())"""
    )
    for name in LIMITS.keys() - {name for (name,) in there}:
        limit = sql.SQL("ALTER DATABASE {} SET {} = {}")
        store.connection.execute(
            limit.format(sql.Identifier(database), sql.Identifier(name), sql.Literal(LIMITS[name]))
        )


def _write_note(store: Store, name: str, value: str) -> None:
    store.connection.execute(
        "INSERT INTO reread.note VALUES (%s, %s) ON CONFLICT (name) DO UPDATE SET value = excluded.value", (name, value)
    )


def _write_prices(store: Store, prices: billing.Prices) -> None:
    card = prices.rate_card()
    run = store.connection
    _write_note(store, "prices", card.as_of)
    run.execute("DELETE FROM reread.rate")
    run.execute("DELETE FROM reread.multiplier")
    with run.cursor() as cursor:
        marks = ", ".join(["%s"] * len(billing_sql.RATE))
        cursor.executemany(f"INSERT INTO reread.rate VALUES ({marks})", billing_sql.rate_rows(card))  # noqa: S608  marks
        cursor.executemany("INSERT INTO reread.multiplier VALUES (%s, %s, %s, %s, %s)", card.multipliers)
        raw = [name for (name,) in cursor.execute("SELECT raw FROM reread.model_name").fetchall()]
        meant = [(found and found.name, found and found.region, name) for name in raw for found in [prices.model(name)]]
        cursor.executemany("UPDATE reread.model_name SET model = %s, region = %s WHERE raw = %s", meant)
        cursor.execute(
            """UPDATE reread.response SET nanodollars = priced.nanodollars FROM reread.priced
               WHERE response.key = priced.key AND response.nanodollars IS DISTINCT FROM priced.nanodollars"""
        )


@_patient
def grant(store: Store, role: str, team: str, *, sees_text: bool) -> bool:
    """Adds a role to a team; True if the role had to be created first, without a password."""
    _check_names(role, team)
    with database_errors(), store.connection.transaction():
        is_new = store.one("SELECT 1 FROM pg_roles WHERE rolname = %s", (role,)) is None
        if is_new:
            store.connection.execute(sql.SQL("CREATE ROLE {} LOGIN").format(sql.Identifier(role)))
        store.connection.execute(sql.SQL("GRANT reread_member TO {}").format(sql.Identifier(role)))
        store.connection.execute(
            """INSERT INTO reread.member VALUES (%s, %s, %s)
               ON CONFLICT (role, team) DO UPDATE SET sees_text = excluded.sees_text""",
            (role, team, sees_text),
        )
        store.connection.execute("SELECT reread.assign_teams()")
    return is_new


@_patient
def revoke(store: Store, role: str, team: str) -> None:
    """Removes a role from a team; after its last team, it may no longer do anything in the store. Raises BadInput."""
    _check_names(role, team)
    with database_errors(), store.connection.transaction():
        gone = store.connection.execute("DELETE FROM reread.member WHERE role = %s AND team = %s", (role, team))
        if not gone.rowcount:
            raise errors.BadInput(f"{role!r} is no member of {team!r}; see `reread team members`")
        if store.one("SELECT 1 FROM reread.member WHERE role = %s", (role,)) is None:
            store.connection.execute(sql.SQL("REVOKE reread_member FROM {}").format(sql.Identifier(role)))


def _check_names(*names: str) -> None:
    for name in names:
        if not _NAME.fullmatch(name):
            raise errors.BadInput(f"{errors.printable(name)!r} is no name: 1 to 63 letters on one line")


@_patient
def assign(store: Store, pattern: str, team: str) -> int:
    """Assigns projects to a team; gives how many sessions moved."""
    _check_names(team)
    if not pattern.strip():
        raise errors.BadInput("say which projects: a part of their path, or a pattern with *")
    with database_errors(), store.connection.transaction():
        store.connection.execute(
            "INSERT INTO reread.assignment VALUES (%s, %s) ON CONFLICT (pattern) DO UPDATE SET team = excluded.team",
            (pattern, team),
        )
        return int(store.one("SELECT reread.assign_teams()"))


@_patient
def retain(store: Store, days: int | None) -> int:
    """Sets for how many days text is kept, None for always; gives how many months of text were deleted at once."""
    with database_errors(), store.connection.transaction():
        store.connection.execute("DELETE FROM reread.note WHERE name = 'retain_days'")
        if days is not None:
            store.connection.execute("INSERT INTO reread.note VALUES ('retain_days', %s)", (str(days),))
        return int(store.one("SELECT reread.retire()"))


@_patient
def forget(store: Store, name: str) -> str:
    """Removes every copy of a session; gives its id. Raises StoreRefused if others pushed it too, unless the role owns
    the store."""
    named = found_session(store, name)
    with database_errors(), store.connection.transaction():
        if not store.one("SELECT reread.forget(%s)", (named,)):
            raise errors.StoreRefused(f"{named} is not yours alone to forget; ask the store's owner")
    return named


def found_session(store: Store, name: str) -> str:
    """The id of the session whose id begins with `name`. Raises BadInput if there is none or several."""
    rows = store.rows(
        "SELECT DISTINCT uuid FROM reread.seen_session AS session WHERE starts_with(uuid, %s) ORDER BY 1 LIMIT 9",
        (name,),
    )
    exact = [uuid for (uuid,) in rows if uuid == name]
    names = exact or [uuid for (uuid,) in rows]
    if len(names) != 1 or not name:
        several = (
            f"could be any of {', '.join(names[:8])}" if names else f"is no session in {store.address} that you see"
        )
        raise errors.BadInput(f"{errors.printable(name)!r} {several}")
    return str(names[0])


class StoreStatus(Struct, frozen=True, kw_only=True):
    address: str
    role: str
    teams: list[str]
    sessions: int
    people: int
    responses: int
    with_text: int
    with_content: int
    text_months: int
    retain_days: int | None
    price_table_date: str
    bytes: int


def status(store: Store) -> StoreStatus:
    days = store.note("retain_days")
    # Equivalent to `ended` and `kept_since`, written out because a member may not call `ended`.
    [counts] = store.rows(
        """SELECT count(*), count(DISTINCT person),
                  count(*) FILTER (WHERE has_text AND is_kept), count(content_digest) FILTER (WHERE is_kept),
                  (SELECT count(*) FROM reread.seen_response AS response), pg_database_size(current_database()),
                  (SELECT count(*) FROM pg_inherits WHERE inhparent = 'reread.text'::regclass) - 1
           FROM reread.seen_session AS session, LATERAL (
               SELECT coalesce(to_timestamp((numbers->>'ended')::bigint / 1000.0), pushed)
                      >= coalesce(now() - %s::integer * interval '1 day', '-infinity') AS is_kept
           ) AS age""",
        (days,),
    )
    sessions, people, with_text, with_content, responses, size, months = counts
    return StoreStatus(
        address=store.address,
        role=store.role,
        teams=[team for (team,) in store.rows("SELECT * FROM reread.teams(false) ORDER BY 1")],
        sessions=sessions,
        people=people,
        responses=responses,
        with_text=with_text,
        with_content=with_content,
        text_months=months,
        retain_days=None if days is None else int(days),
        price_table_date=store.note("prices") or "",
        bytes=size,
    )


def members(store: Store) -> list[tuple[str, str, bool]]:
    """Role, team, and whether it sees the team's text."""
    return [
        (role, team, sees)
        for role, team, sees in store.rows("SELECT * FROM reread.seen_member AS member ORDER BY 2, 1")
    ]


def verify(store: Store, prices: billing.Prices) -> tuple[int, list[str]]:
    """Settles and prices every response again from what files report; gives how many there are, and which differ."""
    names = ("key", "speed", "geo", "tier", "model", "time", "input", "output", "cache_read", "cache_write_5m")
    more = ("cache_write_1h", "web_searches", "is_sidechain", "is_abandoned", "doubt", "rows")
    rows = store.rows(
        """SELECT told.key, speed, geo, tier, model, time, input, output, cache_read, cache_write_5m,
                  cache_write_1h, web_searches, is_sidechain, is_abandoned, doubt, rows,
                  file.key || ' ' || person, head, began, ended, file.id
           FROM reread.told JOIN reread.file ON file.id = told.file JOIN reread.session ON session.id = file.session
           WHERE is_counted"""
    )
    files = {row[16]: row[20] for row in rows}
    responses = (
        billing.Response(**dict(zip((*names, *more, "file", "head", "began", "ended"), row[:20], strict=True)))
        for row in rows
    )
    made = {each.key: each for each in billing.settle_all(responses)}
    kept = store.rows(
        "SELECT key, owner, counted, time, input, output, web_searches, doubt, rows, nanodollars FROM reread.response"
    )
    wrong = sorted({row[0] for row in kept} ^ made.keys())
    for key, owner, counted, *figures in kept:
        each = made.get(key)
        if each is not None:
            money = prices.cost(each, each.model, each.time)
            expected = [each.time, each.input, each.output, each.web_searches, each.doubt, each.rows, money]
            places = files[each.owner or each.file], files[each.file]
            if figures != expected or (owner, counted) != places:
                wrong.append(key)
    return len(kept), wrong


def audit(store: Store, limit: int) -> Iterable[tuple[Any, ...]]:
    return store.rows(
        "SELECT at, reader, person, how, session FROM reread.seen_audit AS audit ORDER BY at DESC LIMIT %s", (limit,)
    )
