"""Queries a lake with DuckDB on this machine: every response once, priced by the rate card, in whole numbers."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa
from msgspec import Struct
from msgspec.structs import replace

from reread import billing, errors
from reread import rows as row_types
from reread.archive import usage_report
from reread.archive.filters import Filter
from reread.archive.friction_report import LEAST_CONFIDENCE
from reread.billing import sql as billing_sql
from reread.features.activity import Rate

from .delta import FILE_PERSON, UNASSIGNED, DeltaLake
from .tables import BUILD, FRICTION_DAY, MOMENT, MONTH, REQUEST, RESPONSE, SESSION, TABLES, USAGE_DAY, WORDS, LakeTable

_OWNERS = (
    *("file", "session", "is_agent_file", "is_sidechain", "is_abandoned", "time", "context", "project"),
    *("git_branch", "agent", "skill"),
)
_COUNTED = (
    *("key", "model", "input", "output", "cache_read", "cache_write_5m", "cache_write_1h", "thinking", "recorded"),
    *("speed", "geo", "tier", "tools", "context", "version", "stop_reason"),
)


SETTLE_SQL = f"""
SELECT *, {billing_sql.PROMPT} AS prompt FROM ({
    billing_sql.settled(
        billing_sql.DUCKDB,
        "request",
        billing_sql.owner_order(billing_sql.DUCKDB, ended="epoch_ms(ended)"),
        counted=_COUNTED,
        owned=_OWNERS,
    )
})
"""  # noqa: S608  our own names
PRICED = billing_sql.priced(billing_sql.DUCKDB, "settled", "used.*", time="epoch_ms(used.owner_time)")
RESPONSE_NOW = """
SELECT priced.key AS key, owner_file AS file, session.id AS session, session.key AS session_key, owner_time AS time,
    owner_project AS project, owner_git_branch AS git_branch, owner_agent AS agent, owner_skill AS skill,
    owner_is_sidechain OR owner_is_agent_file AS is_agent, owner_is_abandoned AS is_abandoned, priced.model AS model,
    input, output, cache_read, cache_write_5m, cache_write_1h, web_searches, thinking, tools, speed, geo, tier, version,
    stop_reason, doubt, rows, files, nanodollars, coalesce(session.month, 'none') AS month
FROM priced LEFT JOIN session ON session.key = owner_session
"""
_OF_A_DAY = ", ".join(
    f"coalesce({column}, 0)::BIGINT AS {'unpriced_tokens' if name == 'unpriced' else name}"
    for name, column in list(billing_sql.sums_by_name(billing_sql.DUCKDB).items())[
        : billing_sql.NAMES.index("unpriced") + 1
    ]
)
DAY_SUMS = f"""
SELECT strftime(time, '%Y-%m-%d') AS day, project, model, {_OF_A_DAY}
FROM {{0}} GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
"""  # noqa: S608  our own names
FOUND = """
SELECT session.id, session.project, session.title, text.uuid, text.field, text.time, text.text
FROM text JOIN session ON session.key = text.session
WHERE text.month IN (SELECT unnest(?)) AND text.session IN (SELECT unnest(?)) AND list_contains(?, text.field)
    AND (text.time >= ? OR ? IS NULL) AND (text.time < ? OR ? IS NULL) {0}
QUALIFY row_number() OVER (PARTITION BY coalesce(text.uuid, text.file || text.position), text.part, text.field
    ORDER BY session.ended, session.started, session.key) = 1
ORDER BY text.time DESC NULLS LAST, text.position DESC
"""
"""A text that a fork repeats is found once, in the session that ended first, as in an archive."""
HAS_WORD = " AND contains(lower(text.text), lower(?))"


class TextQuestion(Struct, frozen=True, kw_only=True):
    """A search for texts that contain all the words as they are written, ignoring case."""

    words: Sequence[str]
    fields: Collection[str]
    since: datetime | None = None
    until: datetime | None = None
    limit: int = 20


class ScanCost(Struct, frozen=True, kw_only=True):
    """How much text of a month will be read."""

    month: str
    files: int
    bytes: int


class FoundText(Struct, frozen=True, kw_only=True):
    session: str
    project: str | None
    title: str | None
    uuid: str | None
    field: str
    time: datetime | None
    text: str


class SeenSession(NamedTuple):
    """A session that Claude Code told a collector of."""

    session: str
    first: datetime | None
    last: datetime | None
    requests: int
    """0 where the collector has metrics alone."""
    nanodollars: int
    """As the client estimated it."""
    is_here: bool


def scan_costs(lake: DeltaLake, months: Collection[str]) -> list[ScanCost]:
    """How much there is to read by month, from the log alone."""
    if WORDS.name not in lake.versions:
        return []
    found: dict[str, list[int]] = {}
    for file in pa.table(lake.table(WORDS.name).get_add_actions(flatten=True)).to_pylist():
        found.setdefault(file[f"partition.{MONTH}"], []).append(file["size_bytes"])
    return [
        ScanCost(month=month, files=len(sizes), bytes=sum(sizes))
        for month, sizes in sorted(found.items())
        if month in months
    ]


# What two sessions contain belongs to the earlier one, as in `archive.friction_history.FrictionHistory`.
_AGED = """SELECT key, id, project, started, {0}, row_number() OVER (
        ORDER BY coalesce(epoch_ms(started), 0), coalesce(epoch_ms(ended), 0), key) AS age
    FROM session WHERE len({0}) > 0"""
PROMPT_ONCE = f"""
WITH aged AS ({_AGED.format("typed")}
), told AS (SELECT key, id, project, age, unnest(typed) AS said FROM aged
), dated AS (SELECT *, CASE WHEN said.time IS NULL THEN age ELSE min(age) OVER (PARTITION BY said.time, said.mark) END
        AS first FROM told)
SELECT id AS session, key AS session_key, project, make_timestamp(epoch_us(said.time)) AS time
FROM dated WHERE first = age
"""  # noqa: S608  our own names
MOMENT_ONCE = f"""
WITH aged AS ({_AGED.format("moments")}
), told AS (SELECT key, id, project, age, unnest(moments) AS seen FROM aged
), lines AS (SELECT *, CASE WHEN seen.uuid IS NULL THEN age ELSE min(age) OVER (PARTITION BY seen.kind, seen.uuid) END
        AS first FROM told
), times AS (SELECT * EXCLUDE first, CASE WHEN seen.time IS NULL THEN age
        ELSE min(age) OVER (PARTITION BY seen.kind, seen.time, seen.mark) END AS first FROM lines WHERE first = age)
SELECT id AS session, key AS session_key, project, make_timestamp(epoch_us(seen.time)) AS time, seen.kind AS kind,
    seen.uuid AS uuid, seen.agent AS agent, seen.confidence AS confidence, seen.cause AS cause, seen.about AS about,
    seen.evidence AS evidence, seen.seconds AS seconds, seen.tokens AS tokens
FROM times WHERE first = age
"""  # noqa: S608  our own names
SURE = f"agent IS NULL AND confidence >= {LEAST_CONFIDENCE}"
"""The moments that a retrospective shows by default."""
# In whole milliseconds, because a sum of fractions would depend on their order.
BY_DAY = f"""
SELECT strftime(time, '%Y-%m-%d') AS day, project, kind, count(*) AS moments,
    coalesce(sum(round(seconds * 1000)::BIGINT), 0) / 1000 AS seconds, 0 AS prompts
FROM moment WHERE {SURE} GROUP BY ALL
UNION ALL
SELECT strftime(time, '%Y-%m-%d') AS day, project, NULL, 0, 0, count(*) FROM prompt GROUP BY ALL
ORDER BY day, project, kind
"""  # noqa: S608  our own names


class FrictionCell(NamedTuple):
    """How many moments of a kind (prompts if it is None) a project has in a quarter of an hour."""

    quarter: int
    project: str | None
    kind: str | None
    number: int


class FrictionWeek(Struct, frozen=True, kw_only=True):
    """How often things went wrong in a project in one week."""

    project: str | None
    week: str
    """The date of its Monday."""
    rate: Rate
    kinds: dict[str, int]


def by_week(cells: Iterable[FrictionCell], zone: tzinfo | None) -> list[FrictionWeek]:
    """Weeks of projects in which anything was typed or went wrong; what has no time is left out."""
    calendar = usage_report.Calendar(zone)
    prompts: Counter[tuple[str | None, str]] = Counter()
    kinds: defaultdict[tuple[str | None, str], Counter[str]] = defaultdict(Counter)
    for cell in cells:
        week = calendar.week(cell.quarter)
        if week is not None and cell.kind is None:
            prompts[cell.project, week] += cell.number
        elif week is not None and cell.kind is not None:
            kinds[cell.project, week][cell.kind] += cell.number
    return [
        FrictionWeek(
            project=project,
            week=week,
            rate=Rate(kinds[project, week].total(), prompts[project, week]),
            kinds=dict(sorted(kinds[project, week].items())),
        )
        for project, week in sorted({*prompts, *kinds}, key=lambda each: (each[0] or "", each[1]))
    ]


LINES_READ = """
SELECT coalesce(sum(lines), 0)::BIGINT,
    CASE WHEN count(malformed) = count(*) THEN coalesce(sum(malformed), 0)::BIGINT END
FROM file
"""
"""The lines and how many of them are malformed, which a lake of cost does not know."""
_VIEWS = {"response_now": RESPONSE_NOW, "prompt": PROMPT_ONCE, "moment": MOMENT_ONCE, "file_person": FILE_PERSON}
LAKE_GROUPINGS = (*(by for by in usage_report.GROUPINGS if by != "machine"), "team", "person")
_SUMS = billing_sql.sum_columns(billing_sql.DUCKDB, time="epoch_ms(owner_time)")
_QUARTER = billing_sql.quarter_of(billing_sql.DUCKDB, "epoch_ms(owner_time)")


def _in_utc(time: datetime | None) -> datetime | None:
    return None if time is None else time.replace(tzinfo=UTC)


def _within(column: str, filters: Filter) -> Iterator[str]:
    """The window of a filter as SQL."""
    for sign, moment in ((">=", filters.since), ("<", filters.until)):
        if moment is not None:
            yield f"epoch_ms({column}) {sign} {int(moment.timestamp() * 1000):d}"


class LakeAnswers:
    """Answers questions about one lake; use it in a `with` statement."""

    def __init__(self, tables: Mapping[str, Any], prices: billing.Prices) -> None:
        self._prices = prices
        self._is_locked = self._has_model_names = False
        self._connection = duckdb.connect()
        self._connection.execute("SET python_enable_replacements = false")
        for table in TABLES.values():
            if table is not RESPONSE:
                self._register(table, tables.get(table.name))
        self._connection.execute(f"CREATE VIEW settled AS {SETTLE_SQL}")
        self._price_tables()
        self._connection.execute(f"CREATE VIEW priced AS {PRICED}")
        for name, statement in _VIEWS.items():
            self._connection.execute(f"CREATE VIEW {name} AS {statement}")
        if RESPONSE.name in tables:
            self._register(RESPONSE, tables[RESPONSE.name])
        else:
            self._connection.execute("CREATE VIEW response AS SELECT * FROM response_now")

    @classmethod
    def of(cls, lake: DeltaLake, prices: billing.Prices) -> LakeAnswers:
        """Uses the tables of a lake in their valid versions. If the prices differ from those of the last build,
        responses are priced when they are queried."""
        there = [*lake.versions, *([BUILD.name] if lake.exists else [])]
        if lake.last.get("prices") != prices.digest:
            there = [name for name in there if name != RESPONSE.name]
        return cls({name: lake.dataset(name) for name in there}, prices)

    def _register(self, table: LakeTable, held: Any) -> None:
        """Makes a view of a table; times are plain UTC, so that this machine's time zone does not affect answers."""
        kept = f"{table.name}_as_kept"
        held = table.schema.empty_table() if held is None else held
        if absent := set(table.schema.names) - set(held.schema.names):  # a lake of an earlier version
            self._connection.register(f"{kept}_empty", table.schema.empty_table())
            self._connection.register(f"{kept}_held", held)
            both = f"SELECT * FROM {kept}_held UNION ALL BY NAME SELECT {', '.join(absent)} FROM {kept}_empty"  # noqa: S608
            self._connection.execute(f"CREATE VIEW {kept} AS {both}")
        else:
            self._connection.register(kept, held)
        columns = (
            f"make_timestamp(epoch_us({name})) AS {name}" if kind == MOMENT else name
            for name, (kind, _) in table.columns.items()
        )
        self._connection.execute(f'CREATE VIEW "{table.name}" AS SELECT {", ".join(columns)} FROM {kept}')  # noqa: S608

    def __enter__(self) -> LakeAnswers:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def _price_tables(self) -> None:
        """Creates the tables that prices are looked up in; `model_name` is empty yet."""
        card = self._prices.rate_card()  # 12 ms
        self._make(
            "rate",
            f"{billing_sql.RATE[0]} TEXT, {', '.join(f'{name} HUGEINT' for name in billing_sql.RATE[1:])}",
            [*billing_sql.rate_rows(card)],
        )
        texts = ", ".join(f"{name} TEXT" for name in billing_sql.MULTIPLIER[:3])
        self._make("multiplier", f"{texts}, numerator HUGEINT, denominator HUGEINT", card.multipliers)
        self._make("model_name", ", ".join(f"{name} TEXT" for name in billing_sql.MODEL_NAME), ())

    def _name_models(self) -> None:
        """Fills the table `model_name`; needed before anything is priced. Done only then, because it reads a column of
        all requests and not every question is about money."""
        if not self._has_model_names:
            used = [name for (name,) in self._rows("SELECT DISTINCT model FROM request WHERE model IS NOT NULL")]
            meant = [(name, self._prices.model(name)) for name in used]
            self._insert("model_name", [(name, each.name, each.region) for name, each in meant if each is not None])
            self._has_model_names = True

    def _make(self, name: str, columns: str, rows: Sequence[Sequence[Any]]) -> None:
        self._connection.execute(f"CREATE TABLE {name} ({columns})")
        self._insert(name, rows)

    def _insert(self, name: str, rows: Sequence[Sequence[Any]]) -> None:
        if rows:
            marks = ", ".join("?" * len(rows[0]))
            self._connection.executemany(f"INSERT INTO {name} VALUES ({marks})", rows)  # noqa: S608  our own names

    def _rows(self, sql: str) -> list[tuple[Any, ...]]:
        return self._connection.execute(sql).fetchall()

    def _lock(self) -> None:
        if not self._is_locked:
            for setting in ("enable_external_access = false", "lock_configuration = true"):
                self._connection.execute(f"SET {setting}")
            self._is_locked = True

    def sql(self, statement: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        """The columns and rows of one SELECT, which can read only the lake's tables. Raises BadInput."""
        self._name_models()
        self._lock()
        try:
            parsed = self._connection.extract_statements(statement)
            if len(parsed) != 1 or parsed[0].type != duckdb.StatementType.SELECT:
                raise errors.BadInput("a lake is asked one SELECT at a time")
            answer = self._connection.execute(parsed[0])
            names = [column[0] for column in answer.description or ()]
            return names, answer.fetchall()
        except duckdb.Error as error:
            raise errors.BadInput(f"the lake does not understand this: {str(error).partition(chr(10))[0]}") from error

    def usage(self, ask: usage_report.UsageQuestion) -> usage_report.UsageReport:
        """The report that an archive with the same transcripts would give. Raises BadInput for what a lake cannot
        answer."""
        if ask.by == "machine":
            raise errors.BadInput("a lake knows files, not machines; try session, project or day")
        if ask.by not in LAKE_GROUPINGS:
            raise errors.BadInput(f"usage by {ask.by!r} is not a grouping; try {', '.join(LAKE_GROUPINGS)}")
        if ask.by == "block" and ask.filters != Filter():
            raise errors.BadInput("five-hour windows follow from everything that was used; leave the filters out")
        self._name_models()
        self._connection.execute("CREATE OR REPLACE TEMP TABLE counted AS SELECT * FROM priced")
        ((lines, malformed),) = self._rows(LINES_READ)
        made = usage_report.report_of(ask.by, self._cells(ask), self._prices, (lines, malformed))
        if ask.by != "session":
            return made
        about = {name: about for name, *about in self._rows("SELECT id, title, project FROM session")}
        return usage_report.titled(made, about)

    def usage_by_day(self) -> pa.Table:
        """The rows of `usage_day`."""
        self._name_models()
        return self._connection.sql(DAY_SUMS.format("response_now")).to_arrow_table().cast(USAGE_DAY.schema)

    def responses(self) -> pa.RecordBatchReader:
        """The rows of `response` in batches, because all of them may not fit in memory."""
        self._name_models()
        found = self._connection.sql(f"SELECT {', '.join(RESPONSE.columns)} FROM response_now")  # noqa: S608  our own names
        parts = (
            batch
            for part in pa.RecordBatchReader.from_stream(found)
            for batch in pa.Table.from_batches([part]).cast(RESPONSE.schema).to_batches()
        )
        return pa.RecordBatchReader.from_batches(RESPONSE.schema, parts)

    def keys_in_files(self, files: Collection[str]) -> pa.Table:
        """The keys of the responses in some source files; an advisor's call counts as the response that asked it."""
        self._connection.register("chosen", pa.table({"file": pa.array(sorted(files), pa.string())}))
        return self._connection.sql(
            "SELECT DISTINCT split_part(key, '#advisor:', 1) AS key FROM request SEMI JOIN chosen USING (file)"
        ).to_arrow_table()

    def restricted_to(self, keys: pa.Table) -> LakeAnswers:
        """The same lake, limited to some responses."""
        self._connection.register("wanted", keys)
        selected = self._connection.sql(
            "SELECT * FROM request_as_kept WHERE split_part(key, '#advisor:', 1) IN (SELECT key FROM wanted)"
        ).to_arrow_table()
        self._connection.register("told", selected)
        named = "SELECT key, id, month FROM session WHERE key IN (SELECT session FROM told)"
        sessions = self._connection.sql(named).to_arrow_table()
        return LakeAnswers({REQUEST.name: selected.cast(REQUEST.schema), SESSION.name: sessions}, self._prices)

    def friction_by_day(self) -> pa.Table:
        """The rows of `friction_day`."""
        return self._connection.sql(BY_DAY).to_arrow_table().cast(FRICTION_DAY.schema)

    def friction(self, filters: Filter, zone: tzinfo | None) -> list[FrictionWeek]:
        """Rates of friction by project and week, as a retrospective of the same transcripts counts them, except for
        repeated instructions, which are found across all sessions of one person."""
        kept = " AND ".join(["time IS NOT NULL", *_within("time", filters)])
        rows = self._rows(
            f"""SELECT epoch_ms(time) // 900000, project, kind, count(*)
                FROM moment WHERE {SURE} AND {kept} GROUP BY ALL
                UNION ALL SELECT epoch_ms(time) // 900000, project, NULL, count(*)
                FROM prompt WHERE {kept} GROUP BY ALL ORDER BY ALL"""  # noqa: S608  numbers
        )
        return by_week((FrictionCell(*row) for row in rows if filters.keeps_project(row[1])), zone)

    def _cells(self, ask: usage_report.UsageQuestion) -> Iterator[usage_report.UsageCell]:
        where = self._condition(ask.filters)
        if ask.by in ("day", "week", "month", "model", "block"):
            found = self._rows(
                f"""SELECT {_QUARTER}, coalesce(model, ''), {_SUMS} FROM counted
                    WHERE {where} GROUP BY 1, 2 ORDER BY 1, 2"""  # noqa: S608  digests and numbers
            )
            yield from usage_report.cells_ahead(found, usage_report.UsageQuestion(by=ask.by, zone=ask.zone), ())
        elif ask.by == "session":
            yield from self._by_session(where)
        elif ask.by in ("team", "person"):
            yield from self._by_person(ask.by, where)
        else:
            yield from self._by_context(ask, where)

    def _condition(self, filters: Filter) -> str:
        """A filter on responses as SQL; all values in it are digests or numbers."""
        parts = ["true", *_within("owner_time", filters)]
        if filters.project or filters.git_branch or filters.model or filters.tool:
            owners, counted = usage_report.passing_contexts(self._contexts(), filters)
            for column, kept in (("owner_context", owners), ("context", counted)):
                if kept is not None:
                    digests = ", ".join(f"'{digest}'" for digest in kept)
                    parts.append(f"{column} IN ({digests or 'NULL'})")
        return " AND ".join(parts)

    def _contexts(self) -> dict[str, row_types.RequestContext]:
        names = row_types.RequestContext.__struct_fields__
        rows = self._rows(f"SELECT DISTINCT context, {', '.join(names)} FROM request")  # noqa: S608  our own names
        return {
            digest: row_types.RequestContext(
                **{**dict(zip(names, values, strict=True)), "tools": tuple(values[names.index("tools")])}
            )
            for digest, *values in rows
        }

    def _by_session(self, where: str) -> Iterator[usage_report.UsageCell]:
        rows = self._rows(
            f"""SELECT session.id, counted.model, owner_is_sidechain OR owner_is_agent_file, owner_is_abandoned, {_SUMS}
                FROM counted LEFT JOIN session ON session.key = owner_session WHERE {where} GROUP BY 1, 2, 3, 4"""  # noqa: S608
        )
        for session, model, is_agent, is_abandoned, *sums in rows:
            yield usage_report.UsageCell(session, model, billing.Sums(*sums), is_agent, is_abandoned)

    def _by_person(self, by: str, where: str) -> Iterator[usage_report.UsageCell]:
        rows = self._rows(
            f"""SELECT coalesce(file_person.{by}, '{UNASSIGNED}'), counted.model, {_SUMS}
                FROM counted LEFT JOIN file_person ON file_person.file = owner_file WHERE {where} GROUP BY 1, 2"""  # noqa: S608
        )
        for name, model, *sums in rows:
            yield usage_report.UsageCell(name, model, billing.Sums(*sums))

    def sessions_of(self, person: str) -> list[str]:
        """Ids of the sessions that have a file of a person."""
        rows = self._connection.execute(
            """SELECT DISTINCT session.id FROM file_person JOIN session ON session.key = file_person.session
               WHERE file_person.person = ? ORDER BY 1""",
            [person],
        )
        return [name for (name,) in rows.fetchall()]

    def seen_elsewhere(self, lines: Sequence[str]) -> list[SeenSession]:
        """The sessions in what a collector wrote: lines of OTLP as JSON."""
        self._connection.register("otlp", pa.table({"line": pa.array(lines, pa.string())}))
        rows = self._rows(Path(__file__).with_name("coverage.sql").read_text("utf-8"))
        return [SeenSession(name, _in_utc(first), _in_utc(last), *more) for name, first, last, *more in rows]

    def sessions_by_person(self) -> list[tuple[str | None, str | None, int]]:
        """Persons and teams with how many sessions they have; both are None for sessions of nobody."""
        return [
            (person, team, int(number))
            for person, team, number in self._rows(
                """SELECT person, team, count(DISTINCT session.key) FROM session
                   LEFT JOIN file_person ON file_person.session = session.key GROUP BY ALL ORDER BY ALL"""
            )
        ]

    def sessions_about(self, filters: Filter) -> dict[str, str]:
        """Keys of the sessions that may have texts for a filter on project and time, with their months."""
        since, until = (None if each is None else each.timestamp() * 1000 for each in (filters.since, filters.until))
        rows = self._connection.execute(
            """SELECT key, month, project FROM session WHERE (? IS NULL OR ended IS NULL OR epoch_ms(ended) >= ?)
                   AND (? IS NULL OR started IS NULL OR epoch_ms(started) < ?)""",
            [since, since, until, until],
        )
        return {key: month for key, month, project in rows.fetchall() if filters.keeps_project(project)}

    def search(self, ask: TextQuestion, sessions: Mapping[str, str]) -> tuple[int, list[FoundText]]:
        """How many texts of some sessions contain all the words, and the newest of them."""
        window = [
            None if each is None else each.astimezone(UTC).replace(tzinfo=None) for each in (ask.since, ask.until)
        ]
        given = [sorted(set(sessions.values())), list(sessions), sorted(ask.fields)]
        statement = FOUND.format(HAS_WORD * len(ask.words))
        values = [*given, *(each for each in window for _ in range(2)), *ask.words]
        counted = f"SELECT count(*) OVER (), * FROM ({statement}) LIMIT {ask.limit:d}"  # noqa: S608  our own text
        rows = self._connection.execute(counted, values).fetchall()
        names = FoundText.__struct_fields__
        found = [FoundText(**dict(zip(names, row[1:], strict=True))) for row in rows]
        return (int(rows[0][0]) if rows else 0), [replace(each, time=_in_utc(each.time)) for each in found]

    def _by_context(self, ask: usage_report.UsageQuestion, where: str) -> Iterator[usage_report.UsageCell]:
        """Cells by a context's project, branch, tool and so on. Grouped as the ledger groups them, because dividing by
        tools rounds differently for other groups."""
        contexts = self._contexts()
        rows = self._rows(
            f"""SELECT context, owner_context, {_SUMS} FROM counted WHERE {where}
                GROUP BY context, owner_context, owner_is_sidechain, owner_is_abandoned, files > 1"""  # noqa: S608
        )
        for how, place, *values in rows:
            sums, model, at = billing.Sums(*values), contexts[how].model, contexts[place]
            if ask.by == "tool":
                yield from usage_report.tool_cells(contexts[how].tools, model, sums)
            else:
                yield usage_report.place_cell(ask, at, model, sums)
