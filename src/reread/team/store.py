"""A connection to a team's store: it turns errors into sentences, and has the operations of the store's owner."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, LiteralString, NamedTuple, ParamSpec, TypeVar

from msgspec import Struct

from reread import billing, errors, lazy
from reread.billing import sql as billing_sql

from .managed import Managed, managed

if TYPE_CHECKING:
    import psycopg
    from psycopg import sql
    from psycopg.types import json as json_types
else:
    lazy.bind(globals())

VERSION = 4
"""The version of tables and functions that this client knows. Increase it with every change of what a client may send
or ask, add a migration, and keep the functions that older clients call, named by what they were made for (`..._v1`)."""
OLDEST_STORE = 4
"""The oldest store that this client can send to and ask."""
OLDEST_CLIENT = 4
"""The oldest client that a store of this version serves."""
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


def settings_for(url: str) -> Managed:
    """What device management laid down for this store; the usual settings for any other, which gets no password."""
    known = managed()
    if known.store is None:
        return Managed()
    given, own = (_psycopg().conninfo.conninfo_to_dict(each) for each in (url, known.store))
    places = [(each.get("host"), each.get("port", "5432"), each.get("dbname")) for each in (given, own)]
    return known if places[0] == places[1] else Managed()


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
            if "password" not in given and (password := settings_for(url).password()) is not None:
                given["password"] = password
            self.connection: psycopg.Connection[Any] = _psycopg().connect(**{**settings, **given}, autocommit=True)
            # Compiling a query takes half a second, and answering it milliseconds. Nobody's objects stand before those
            # of the catalogue, since who may create some could have this role run them.
            limits = {**LIMITS, "jit": "off", "search_path": "pg_catalog, pg_temp"}
            limits |= {"statement_timeout": "0"} if is_new else {}  # every cost of a large store is made again
            [(self.role, is_there, _)] = self.rows(
                """SELECT current_user::text, pg_catalog.to_regclass('reread.note') IS NOT NULL,
                       (SELECT pg_catalog.count(pg_catalog.set_config(key, value, false))
                        FROM pg_catalog.jsonb_each_text(%s))""",
                (as_json(limits),),
            )
        if not is_new:
            if not is_there:
                raise errors.BadInput(
                    f"{self.address} is no store yet; its owner makes one with `reread team init URL`"
                )
            self._check()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()

    def _check(self) -> None:
        """Raises BadInput if this program and the store do not know each other's functions."""
        rows = "SELECT name, value FROM reread.note WHERE name IN ('version', 'serves')"
        noted = {name: int(value) for name, value in self.rows(rows)}
        made = noted.get("version", 0)
        if made < OLDEST_STORE:
            raise errors.BadInput(
                f"{self.address} was made by an older reread; its owner updates it with `reread team init URL`"
            )
        if noted.get("serves", made) > VERSION:
            raise errors.BadInput(
                f"{self.address} was made by a newer reread; update this one: `pip install --upgrade 'reread[team]'`"
            )
        if made > VERSION:
            later = self.rows("SELECT about FROM reread.migration WHERE number > %s ORDER BY number", (VERSION,))
            missing = "; ".join(about for (about,) in later)
            self._tell(f"{self.address} is newer than this reread, which does not know: {errors.printable(missing)}")

    def version(self) -> int:
        """The version of the store's tables; 0 if there are none. Raises BadInput if it is newer than this program."""
        made = 0
        if self.rows("SELECT to_regclass('reread.note')::text IS NOT NULL")[0][0]:
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
        found = self.rows("SELECT value FROM reread.note WHERE name = %s", (name,))
        return str(found[0][0]) if found else None


def as_json(value: object) -> Any:
    return json_types.Jsonb(value)


# -- for the owner


def _patient(work: Callable[Concatenate[Store, _P], _T]) -> Callable[Concatenate[Store, _P], _T]:
    """A change that waits for others as `Store.patiently` does."""

    @wraps(work)
    def waiting(store: Store, /, *values: _P.args, **named: _P.kwargs) -> _T:
        return store.patiently(lambda: work(store, *values, **named))

    return waiting


class Migration(NamedTuple):
    """What brings a store into the shape of a version."""

    number: int
    about: str
    statements: str


def migrations() -> list[Migration]:
    text = Path(__file__).with_name("migrations.sql").read_text("utf-8")
    parts = re.split(r"^-- (\d+): (.*)\n", text, flags=re.MULTILINE)[1:]
    return [
        Migration(int(number), about, body)
        for number, about, body in zip(*(parts[at::3] for at in range(3)), strict=True)
    ]


def script(store: Store, prices: billing.Prices) -> tuple[list[Migration], str]:
    """The migrations that a store needs, and all statements that make or update it, for `initialise` or for those who
    run SQL themselves: in one transaction, as the owner."""
    if store.connection.info.server_version < _OLDEST_SERVER:
        raise errors.BadInput(
            f"a store needs PostgreSQL {_OLDEST_SERVER // 10_000} or newer; update {store.address} first"
        )
    made = store.version()
    needed = [each for each in migrations() if 0 < made < each.number]
    schema = Path(__file__).with_name("schema.sql").read_text("utf-8")
    schema = schema.replace("<<settled>>", _SETTLED).replace("<<priced>>", _PRICED)
    schema = schema.replace("<<limits>>", json.dumps(LIMITS))
    notes = {"version": str(VERSION), "serves": str(OLDEST_CLIENT), "prices": prices.rate_card().as_of}
    raw = store.rows("SELECT raw FROM reread.model_name") if made else []
    meant = [(name, found and found.name, found and found.region) for (name,) in raw for found in [prices.model(name)]]
    card = prices.rate_card()
    statements = [
        "SELECT pg_advisory_xact_lock(7824361)",
        *(each.statements for each in needed),
        schema,
        Path(__file__).with_name("report.sql").read_text("utf-8"),
        "INSERT INTO reread.note VALUES ('salt', replace(gen_random_uuid()::text, '-', '')) ON CONFLICT DO NOTHING",
        _upsert(store, "note", notes.items()),
        _upsert(
            store, "migration (number, about)", [(each.number, each.about) for each in needed or migrations()[-1:]]
        ),
        "DELETE FROM reread.multiplier",
        _upsert(store, "rate", billing_sql.rate_rows(card)),
        _upsert(store, "multiplier", card.multipliers),
        _upsert(store, "model_name", meant),
        """UPDATE reread.response SET nanodollars = priced.nanodollars FROM reread.priced
           WHERE response.key = priced.key AND response.nanodollars IS DISTINCT FROM priced.nanodollars""",
    ]
    return needed, ";\n".join(statements) + ";\n"


_KEYS: dict[str, tuple[str, str]] = {"note": ("name", "value"), "model_name": ("raw", "model, region")}


def _upsert(store: Store, table: str, rows: Iterable[Sequence[object]]) -> str:
    """Rows of a table as a statement; those of `_KEYS` take the place of rows with the same key."""
    values = [f"({', '.join(sql.Literal(value).as_string(store.connection) for value in row)})" for row in rows]
    if not values:
        return "SELECT 1"
    key, others = _KEYS.get(table, ("", ""))
    changes = ", ".join(f"{name} = excluded.{name}" for name in others.split(", "))
    conflict = f"ON CONFLICT ({key}) DO UPDATE SET {changes}" if key else "ON CONFLICT DO NOTHING"
    return f"INSERT INTO reread.{table} VALUES {', '.join(values)} {conflict}"  # noqa: S608  quoted literals


@_patient
def initialise(store: Store, prices: billing.Prices, *, is_dry: bool = False) -> list[Migration]:
    """Creates tables, functions, rules and prices. On an existing store it brings them up to date and calculates all
    costs again; gives the migrations that it needed. With `is_dry`, all of it is done and undone."""
    psycopg = _psycopg()
    with database_errors(), store.connection.transaction(force_rollback=is_dry):
        needed, statements = script(store, prices)
        try:
            store.connection.execute(statements.encode())
        except psycopg.errors.RaiseException as refused:  # what the schema says itself is a sentence
            raise errors.BadInput(f"{store.address}: {_sentence(refused)}") from refused
    return needed


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
            """INSERT INTO reread.member SELECT rolname, %s, %s, oid FROM pg_roles WHERE rolname = %s
               ON CONFLICT (number, team) DO UPDATE SET sees_text = excluded.sees_text""",
            (team, sees_text, role),
        )
        store.connection.execute("SELECT reread.assign_teams()")
    return is_new


@_patient
def revoke(store: Store, role: str, team: str) -> None:
    """Removes a role from a team; after its last team, it may no longer do anything in the store. Raises BadInput."""
    _check_names(role, team)
    with database_errors(), store.connection.transaction():
        store.connection.execute("SELECT reread.find_roles()")  # it may be called otherwise now
        gone = store.connection.execute("DELETE FROM reread.member WHERE role = %s AND team = %s", (role, team))
        if not gone.rowcount:
            raise errors.BadInput(f"{role!r} is no member of {team!r}; see `reread team members`")
        rights = (
            "SELECT 1 FROM pg_roles WHERE rolname = %s AND NOT EXISTS (SELECT FROM reread.member WHERE number = oid)"
        )
        if store.one(rights, (role,)) is not None:
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
def retain(store: Store, days: int | None, *, of_ledger: bool = False) -> int:
    """Sets for how many days text, or the ledger, is kept, None for always; gives how many months of text were deleted
    at once."""
    name = "retain_ledger_days" if of_ledger else "retain_days"
    with database_errors(), store.connection.transaction():
        store.connection.execute("DELETE FROM reread.note WHERE name = %s", (name,))
        if days is not None:
            store.connection.execute("INSERT INTO reread.note VALUES (%s, %s)", (name, str(days)))
        return int(store.one("SELECT reread.retire()"))


@_patient
def forget(store: Store, name: str) -> str:
    """Removes every copy of a session; gives its id. Raises StoreRefused if others pushed it too, unless the role owns
    the store."""
    named = found_session(store, name)
    with database_errors(), store.connection.transaction():
        if not store.one("SELECT reread.forget(%s)", (named,)):
            raise errors.StoreRefused(f"{named} is not yours alone to forget; ask the store's owner")
    store.rows("SELECT reread.tidy()")  # afterwards, since until then the rows are still in use
    return named


@_patient
def change_person(store: Store, change: LiteralString, *names: object) -> int:
    """Calls `rename_person`, `transfer_person` or `remove_person`. Raises BadInput if nobody has that name."""
    calls: dict[str, LiteralString] = {
        "rename": "SELECT reread.rename_person(%s, %s)",
        "transfer": "SELECT reread.transfer_person(%s, %s)",
        "remove": "SELECT reread.remove_person(name, %s) FROM reread.person WHERE name = %s",
    }
    with database_errors(), store.connection.transaction():
        found = store.one(calls[change], names)
    if found is None or found is False:
        raise errors.BadInput(f"{store.address} has no person or role of that name, or one of the new name already")
    store.rows("SELECT reread.tidy()")
    return int(found)


def person_rows(store: Store, name: str) -> Iterator[dict[str, Any]]:
    """Everything that a store has of a person, row by row, each with its table. For its owner."""
    tables: dict[LiteralString, LiteralString] = {
        **dict.fromkeys(("machine", "session", "text", "audit", "forgotten"), "person = %s"),
        "person": "name = %s",
        "title": "session IN (SELECT id FROM reread.session WHERE person = %s)",
        "response": "person = %s",
        "content": "person = %s",
    }
    for table, condition in tables.items():
        query: LiteralString = f"SELECT to_jsonb(each) - 'words' FROM reread.{table} AS each WHERE {condition}"  # noqa: S608
        for (row,) in store.rows(query, (name,)):
            yield {"table": table, **row}


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


class Push(Struct, frozen=True):
    """The last push of a person; without a time they never pushed."""

    person: str
    pushed: datetime | None
    client: str | None
    failures: int

    def is_late(self, now: datetime, days: int) -> bool:
        return self.pushed is None or self.failures > 0 or now - self.pushed > timedelta(days=days)


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
    pushes: list[Push]


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
    names = ("sessions", "people", "with_text", "with_content", "responses", "bytes", "text_months")
    return StoreStatus(
        **dict(zip(names, counts, strict=True)),
        address=store.address,
        role=store.role,
        teams=[team for (team,) in store.rows("SELECT * FROM reread.teams(false) ORDER BY 1")],
        retain_days=None if days is None else int(days),
        price_table_date=store.note("prices") or "",
        pushes=pushes(store),
    )


def pushes(store: Store) -> list[Push]:
    """The last push of everybody who pushed or is a member, by name."""
    rows = store.rows(
        """SELECT DISTINCT coalesce(name, member.role), pushed, client, coalesce(failures, 0)
           FROM reread.seen_member AS member JOIN pg_roles ON oid = member.number AND rolcanlogin
               FULL JOIN reread.seen_person AS person ON person.number = member.number ORDER BY 1"""
    )
    return [Push(*row) for row in rows]


class TeamBudget(Struct, frozen=True):
    """What a team or the projects of a pattern may cost in a period, and have cost since it began, in nano-dollars."""

    kind: str
    name: str
    period: str
    limit: int
    spent: int


def budgets(store: Store) -> list[TeamBudget]:
    """Those of which the role sees everything; none in a store that was made before there were budgets."""
    if store.one("SELECT to_regclass('reread_report.budget')") is None:
        return []
    rows = store.rows(
        """SELECT kind, name, period, (budget_dollars * 1000000000)::bigint, (dollars * 1000000000)::bigint
           FROM reread_report.budget ORDER BY kind DESC, name, array_position('{day,week,month}', period)"""
    )
    return [TeamBudget(*row) for row in rows]


def set_budget(store: Store, kind: str, name: str, period: str, limit: int | None) -> None:
    """Sets a budget in nano-dollars, or removes it. For the store's owner."""
    _check_names(name)
    with database_errors(), store.connection.transaction():
        named = (kind, name, period)
        store.connection.execute("DELETE FROM reread.budget WHERE (kind, name, period) = (%s, %s, %s)", named)
        if limit is not None:
            store.connection.execute("INSERT INTO reread.budget VALUES (%s, %s, %s, %s)", (*named, limit))


def members(store: Store) -> list[tuple[str, str, bool]]:
    """Role, team, and whether it sees the team's text."""
    return [
        (role, team, sees)
        for role, team, sees in store.rows(
            "SELECT role, team, sees_text FROM reread.seen_member AS member ORDER BY 2, 1"
        )
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
