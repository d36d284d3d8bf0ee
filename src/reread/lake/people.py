"""Who the files of a lake belong to: a table of its own that an owner writes, never beside words."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from reread.errors import BadInput, printable

from .delta import DeltaLake
from .storage import lake_uri, plain_place
from .tables import PERSON, arrow_table

UNASSIGNED = "unassigned"
_COLUMNS = ("prefix", "person", "team")
# By every folder above a file, not by comparing each file with each prefix: a thousand people, millions of files.
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
"""The person and team of each file that has one: of the prefixes above it, the longest decides."""


class PersonPrefix(NamedTuple):
    """Everything below a folder or an address is a person's."""

    prefix: str
    person: str
    team: str | None


def read_people(path: Path) -> list[PersonPrefix]:
    """A CSV file with the columns prefix, person and, where there are any, team. Raises `BadInput`."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = csv.DictReader(file)
            names = tuple(rows.fieldnames or ())
            if not {"prefix", "person"} <= set(names) <= set(_COLUMNS):
                told = f"{printable(str(path))}: the first line must name the columns {', '.join(_COLUMNS)}"
                raise BadInput(told)
            found = [_person(path, rows.line_num, row) for row in rows]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise BadInput(f"{printable(str(path))}: cannot be read as CSV ({error})") from error
    known: dict[str, PersonPrefix] = {}
    for each in found:
        if known.setdefault(each.prefix, each) != each:
            raise BadInput(f"{printable(str(path))}: {printable(each.prefix)} is there twice, for different people")
    return list(known.values())


def _person(path: Path, line: int, row: dict[str, str | None]) -> PersonPrefix:
    prefix, person, team = ((row.get(name) or "").strip() for name in _COLUMNS)
    if not prefix or not person or None in row:
        raise BadInput(f"{printable(str(path))}: line {line} needs a prefix and a person, and at most a team more")
    return PersonPrefix(plain_place(lake_uri(prefix)), person, team or None)


def people_of(lake: DeltaLake) -> list[PersonPrefix]:
    rows = lake.rows(PERSON.name, _COLUMNS).to_pylist()
    return sorted((PersonPrefix(**row) for row in rows), key=lambda each: (each.person, each.prefix))


def put_people(lake: DeltaLake, people: Iterable[PersonPrefix]) -> None:
    """In place of those that were there; not committed yet."""
    lake.overwrite(PERSON.name, arrow_table(PERSON, [each._asdict() for each in people]))


def prefixes_of(people: Sequence[PersonPrefix], name: str) -> list[str]:
    """What belongs to a person. Raises `BadInput` for one that nobody knows."""
    found = [each.prefix for each in people if each.person == name]
    if not found:
        known = ", ".join(sorted({printable(each.person) for each in people})[:20])
        told = f"try {known}" if known else "`reread lake people FILE` says who is who"
        raise BadInput(f"there is no person {printable(name)!r} in this lake; {told}")
    return found
