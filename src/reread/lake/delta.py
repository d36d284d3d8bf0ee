"""The tables of one lake in Delta, the commit of a change of several tables, and which person the files belong to.

Delta commits each table on its own. So the last row of `build` names the valid version of each table, and all readers
use those: what an interrupted build wrote is in versions or files that no row names.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
from deltalake import DeltaTable, Schema, write_deltalake
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError
from deltalake.transaction import AddAction, RemoveAction
from pyarrow.fs import LocalFileSystem, SubTreeFileSystem

from reread import errors
from reread.times import milliseconds

from .storage import is_remote, lake_uri, plain_place
from .tables import BUILD, EXTRACTOR, MONTH, PERSON, TABLES, LakeTable, arrow_table

_KEYS_AT_ONCE = 2_000
_STATISTICS = {
    "session": "key",
    "file": "key",
    "request": "key,file",
    "call": "file",
    "text": "file",
    "response": "file,time",
    "usage_day": "day",
    "friction_day": "day",
    "person": "",
    "forgotten": "",
}
"""The columns whose smallest and largest values Delta writes into its log. None of them has words, because a log would
keep them."""


class WrittenFile(NamedTuple):
    """A file of a table, not yet committed."""

    table: str
    path: str
    size: int
    rows: int
    month: str


class DeltaLake:
    """One lake, by its folder or address. Reads the state of the last commit, and writes for the next."""

    def __init__(self, uri: str) -> None:
        self.uri = uri
        self.last: Mapping[str, Any] = {}
        self._builds: DeltaTable | None = None
        self._heads: dict[str, DeltaTable] = {}
        """The newest version of tables that were opened: each log is read once, and a change brings its table along."""
        self.versions: dict[str, int] = {}
        self._read: list[tuple[int, float]] = []
        self.refresh()

    def refresh(self) -> None:
        """Reads which commit is the last."""
        self._heads.clear()
        self._builds = self._open(BUILD.name)
        rows = self._builds.to_pyarrow_table().to_pylist() if self._builds is not None else []
        self.last = max(rows, key=lambda row: row["number"], default={})
        self._read = [(row["bytes"], row["cpu_seconds"]) for row in rows if row["action"] == "build" and row["bytes"]]
        self.versions = json.loads(self.last["versions"]) if self.last else {}

    @property
    def exists(self) -> bool:
        return bool(self.last)

    @property
    def is_whole(self) -> bool:
        """Whether it has every table, and this version's code made its rows."""
        return self.last.get("extractor") == EXTRACTOR and TABLES.keys() - {BUILD.name} <= self.versions.keys()

    def require(self) -> None:
        """Raises `BadInput` if there is no lake."""
        if not self.exists:
            raise errors.BadInput(
                f"there is no lake at {self.uri}; make one with `reread lake build SOURCE --lake PLACE`"
            )

    def _open(self, name: str, version: int | None = None) -> DeltaTable | None:
        try:
            return DeltaTable(f"{self.uri}/{name}", version=version)
        except TableNotFoundError:
            return None
        except (DeltaError, OSError) as error:
            raise errors.RereadError(f"{self.uri}: cannot be read ({str(error).partition(chr(10))[0]})") from error

    def table(self, name: str) -> DeltaTable:
        """A table in its valid version."""
        if name == BUILD.name and self._builds is not None:
            return self._builds
        found = self._heads.get(name) or self._open(name)
        if found is not None:
            self._heads[name] = found
            if found.version() != self.versions.get(name, found.version()):
                found = self._open(name, self.versions[name])
        if found is None:
            raise errors.BadInput(f"{self.uri} has no table {name!r}")
        return found

    def dataset(self, name: str) -> Any:
        """A table in its valid version, for DuckDB to read. A folder is read through Arrow's own file system, because
        that of deltalake is written in Python, and a thread that holds Python's lock and one that holds Arrow's can
        wait for each other forever."""
        root = None if is_remote(self.uri) else SubTreeFileSystem(f"{plain_place(self.uri)}/{name}", LocalFileSystem())
        return self.table(name).to_pyarrow_dataset(filesystem=root)

    def rows(self, name: str, columns: Sequence[str] | None = None) -> pa.Table:
        if name not in self.versions:
            table = TABLES[name].schema.empty_table()
            return table if columns is None else table.select(columns)
        return self.table(name).to_pyarrow_table(columns=list(columns) if columns is not None else None)

    def count(self, name: str) -> int:
        return int(self.table(name).count()) if name in self.versions else 0

    def cpu_seconds_per_byte(self) -> float | None:
        """The processor time per byte of all builds so far; None before the first."""
        size = sum(size for size, _ in self._read)
        return sum(seconds for _, seconds in self._read) / size if size else None

    def begin(self) -> None:
        """Prepares a change: creates missing tables and columns, and undoes what an interrupted change wrote."""
        for table in TABLES.values():
            if table is BUILD:
                continue
            found = self._heads[table.name] = self._open(table.name) or self._create(table)
            held = self.versions.setdefault(table.name, 0)
            if found.version() != held:
                found.restore(held)
                found.update_incremental()
            self._widen(table)
            self._changed(table.name)

    def _create(self, table: LakeTable) -> DeltaTable:
        statistics = _STATISTICS.get(table.name)
        return DeltaTable.create(
            f"{self.uri}/{table.name}",
            schema=Schema.from_arrow(table.schema),
            partition_by=table.partition_by,
            description=table.about,
            configuration=None if statistics is None else _skipping(statistics),
        )

    def _widen(self, table: LakeTable) -> None:
        """Adds the columns that a lake of an earlier version lacks."""
        found = self._heads[table.name]
        held = {field.name for field in found.schema().fields}
        absent = [field for field in Schema.from_arrow(table.schema).fields if field.name not in held]
        if absent:
            found.alter.add_columns(absent)

    def head(self, name: str) -> DeltaTable:
        """The newest version of a table, to change it."""
        if name not in self._heads:
            self._heads[name] = DeltaTable(f"{self.uri}/{name}")
        return self._heads[name]

    def _changed(self, name: str) -> None:
        """Notes the version that a change made."""
        self.versions[name] = int(self.head(name).version())

    def remove(self, name: str, column: str, keys: Mapping[str, str]) -> None:
        """Removes the rows with certain values in a column; `keys` gives each value with the month that its rows are
        in."""
        wanted = sorted(keys)
        for start in range(0, len(wanted), _KEYS_AT_ONCE):
            some = wanted[start : start + _KEYS_AT_ONCE]
            months = _listed({keys[key] for key in some})
            self.head(name).delete(f"{MONTH} IN ({months}) AND {column} IN ({_listed(some)})")
        self._changed(name)

    def add(self, name: str, files: Iterable[WrittenFile]) -> None:
        """Adds written files to the log of their table."""
        now = milliseconds(datetime.now(UTC)) or 0
        actions: list[AddAction | RemoveAction] = [
            AddAction(each.path, each.size, {MONTH: each.month}, now, True, json.dumps({"numRecords": each.rows}))
            for each in files
        ]
        if actions:
            table = self.head(name)
            table.create_write_transaction(actions, "append", table.schema(), TABLES[name].partition_by)
            table.update_incremental()  # every other change brings its table along
            self._changed(name)

    def append(self, name: str, rows: pa.Table) -> None:
        write_deltalake(self.head(name), rows, mode="append", partition_by=TABLES[name].partition_by or None)
        self._changed(name)

    def overwrite(self, name: str, rows: pa.Table | pa.RecordBatchReader) -> None:
        write_deltalake(self.head(name), rows, mode="overwrite", partition_by=TABLES[name].partition_by or None)
        self._changed(name)

    def compact(self, name: str) -> None:
        """Joins small files."""
        self.head(name).optimize.compact()
        self._changed(name)

    def commit(self, about: Mapping[str, Any]) -> None:
        """Makes the new versions of all tables visible at once. Raises RereadError, and makes nothing visible, if
        another change was committed first."""
        row = {
            **{name: self.last.get(name) for name in ("engine", "what", "redact", "prices", "extractor")},
            **about,
            "number": self.last.get("number", 0) + 1,
            "time": milliseconds(datetime.now(UTC)),
            "versions": json.dumps(self.versions),
        }
        new = arrow_table(BUILD, [row])
        try:
            if self._builds is None:
                write_deltalake(f"{self.uri}/{BUILD.name}", new, mode="error")
            else:
                # Overwritten instead of appended, so that one of two concurrent changes fails.
                everything = pa.concat_tables([self._builds.to_pyarrow_table().select(new.column_names), new])
                write_deltalake(self._builds, everything.cast(BUILD.schema), mode="overwrite")
        except (CommitFailedError, FileExistsError, DeltaError) as error:
            raise errors.RereadError(f"{self.uri}: another change came first; run it again") from error
        self.refresh()


def _skipping(columns: str) -> dict[str, str | None]:
    return {"delta.dataSkippingStatsColumns": columns} if columns else {"delta.dataSkippingNumIndexedCols": "0"}


def _listed(values: Iterable[str]) -> str:
    return ", ".join("'{}'".format(value.replace("'", "''")) for value in sorted(values))


UNASSIGNED = "unassigned"
_COLUMNS = ("prefix", "person", "team")
# Looks up every folder above a file instead of comparing each of millions of files with each of a thousand prefixes.
FILE_PERSON = r"""
WITH folder AS (SELECT DISTINCT regexp_replace(replace(uri, '\', '/'), '/[^/]*$', '') AS place FROM file
), parts AS (SELECT place, string_split(place, '/') AS names FROM folder
), above AS (
    SELECT place, unnest(list_transform(range(1, len(names) + 1), lambda i: array_to_string(names[1:i], '/'))) AS prefix
    FROM parts
), nearest AS (
    SELECT place, arg_max(person.person, length(prefix)) AS person, arg_max(coalesce(team, ''), length(prefix)) AS team
    FROM above JOIN person USING (prefix) GROUP BY place
)
SELECT file.key AS file, file.session AS session, nearest.person AS person, nullif(nearest.team, '') AS team
FROM file JOIN nearest ON nearest.place = regexp_replace(replace(uri, '\', '/'), '/[^/]*$', '')
"""
"""The person and team of each file that has one; the longest prefix above the file decides."""


class PersonPrefix(NamedTuple):
    """A folder or an address, and the person to whom everything below it belongs."""

    prefix: str
    person: str
    team: str | None


def read_people(path: Path) -> list[PersonPrefix]:
    """Reads a CSV file with the columns prefix, person and, optionally, team. Raises `BadInput`."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = csv.DictReader(file)
            names = tuple(rows.fieldnames or ())
            if not {"prefix", "person"} <= set(names) <= set(_COLUMNS):
                problem = f"{errors.printable(str(path))}: the first line must name the columns {', '.join(_COLUMNS)}"
                raise errors.BadInput(problem)
            found = [_person(path, rows.line_num, row) for row in rows]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise errors.BadInput(f"{errors.printable(str(path))}: cannot be read as CSV ({error})") from error
    known: dict[str, PersonPrefix] = {}
    for each in found:
        if known.setdefault(each.prefix, each) != each:
            raise errors.BadInput(
                f"{errors.printable(str(path))}: {errors.printable(each.prefix)} is there twice, for different people"
            )
    return list(known.values())


def _person(path: Path, line: int, row: dict[str, str | None]) -> PersonPrefix:
    prefix, person, team = ((row.get(name) or "").strip() for name in _COLUMNS)
    if not prefix or not person or None in row:
        raise errors.BadInput(
            f"{errors.printable(str(path))}: line {line} needs a prefix and a person, and at most a team more"
        )
    return PersonPrefix(plain_place(lake_uri(prefix)), person, team or None)


def people_of(lake: DeltaLake) -> list[PersonPrefix]:
    rows = lake.rows(PERSON.name, _COLUMNS).to_pylist()
    return sorted((PersonPrefix(**row) for row in rows), key=lambda each: (each.person, each.prefix))


def put_people(lake: DeltaLake, people: Iterable[PersonPrefix]) -> None:
    """Replaces all people; the caller must commit."""
    lake.overwrite(PERSON.name, arrow_table(PERSON, [each._asdict() for each in people]))


def prefixes_of(people: Sequence[PersonPrefix], name: str) -> list[str]:
    """The prefixes that belong to a person. Raises `BadInput` for an unknown person."""
    found = [each.prefix for each in people if each.person == name]
    if not found:
        known = ", ".join(sorted({errors.printable(each.person) for each in people})[:20])
        advice = f"try {known}" if known else "`reread lake people FILE` says who is who"
        raise errors.BadInput(f"there is no person {errors.printable(name)!r} in this lake; {advice}")
    return found
