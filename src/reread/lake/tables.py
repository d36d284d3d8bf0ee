"""The tables of a lake, whose columns and their meaning are in `tables.txt`, and how rows become Arrow tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

TEXT, NUMBER, FLAG, REAL = pa.string(), pa.int64(), pa.bool_(), pa.float64()
TEXTS = pa.list_(pa.string())
MOMENT = pa.timestamp("us", "UTC")
PROMPTS = pa.list_(pa.struct([("time", MOMENT), ("mark", NUMBER)]))
MOMENTS = pa.list_(
    pa.struct(
        [
            *((name, TEXT) for name in ("kind", "uuid", "agent")),
            ("time", MOMENT),
            ("mark", NUMBER),
            ("confidence", REAL),
            *((name, TEXT) for name in ("cause", "about", "evidence")),
            ("seconds", REAL),
            ("tokens", NUMBER),
        ]
    )
)
NO_MONTH = "none"
"""The partition for rows without a time."""
MONTH = "month"
EXTRACTOR = 12
"""The version of the code that makes rows from lines; a lake with rows of an older version is rebuilt. The archive has
its own version (`index.meta`), which also increases with changes that only affect its index of words."""


class LakeTable(NamedTuple):
    """A table of the lake."""

    name: str
    about: str
    columns: Mapping[str, tuple[pa.DataType, str]]
    """Type and meaning of each column, in order."""

    @property
    def schema(self) -> pa.Schema:
        return pa.schema([(name, kind) for name, (kind, _) in self.columns.items()])

    @property
    def partition_by(self) -> list[str]:
        """The month in which the session began, where a table has it."""
        return [MONTH] if MONTH in self.columns else []


_KINDS = {
    "text": TEXT,
    "number": NUMBER,
    "flag": FLAG,
    "real": REAL,
    "texts": TEXTS,
    "moment": MOMENT,
    "prompts": PROMPTS,
    "moments": MOMENTS,
}


def _tables() -> Iterator[LakeTable]:
    """The tables of `tables.txt`: a paragraph for each, its first line says what it has, every other is a column."""
    for part in Path(__file__).with_name("tables.txt").read_text("utf-8").split("\n\n"):
        heading, *lines = part.splitlines()
        name, about = heading.split(": ", 1)
        columns = (line.split(maxsplit=2) for line in lines)
        yield LakeTable(name, about, {column: (_KINDS[kind], meaning) for column, kind, meaning in columns})


TABLES = {table.name: table for table in _tables()}
SHARED = SESSION, FILE, REQUEST, CALL, WORDS = tuple(TABLES.values())[:5]
"""The tables that the workers write, share by share."""
RESPONSE, USAGE_DAY, FRICTION_DAY, PERSON, FORGOTTEN, BUILD = tuple(TABLES.values())[5:]


def _clean(value: Any) -> Any:
    """Text as valid UTF-8, which Arrow requires: lone surrogates, and bytes of file names that are not UTF-8, become
    question marks."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    return list(map(_clean, value)) if isinstance(value, list | tuple) else value


def month_of(milliseconds: int | None) -> str:
    if milliseconds is None:
        return NO_MONTH
    return f"{datetime.fromtimestamp(milliseconds / 1000, UTC):%Y-%m}"


def arrow_table(table: LakeTable, rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Rows, given by column names, as an Arrow table; times are given in milliseconds since 1970."""
    columns = [_column(kind, (row.get(name) for row in rows)) for name, (kind, _) in table.columns.items()]
    return pa.Table.from_arrays(columns, schema=table.schema)


def _column(kind: pa.DataType, values: Iterable[Any]) -> pa.Array:
    if kind == MOMENT:
        return pa.array(values, pa.int64()).cast(pa.timestamp("ms", "UTC")).cast(MOMENT)
    held = list(values)
    try:
        return pa.array(held, kind)
    except UnicodeEncodeError:
        return pa.array(map(_clean, held), kind)


def described() -> list[str]:
    """A description of the tables and their columns, as lines of text."""
    lines = [
        "moment: every moment of friction once, whichever sessions repeat it; made of session when it is asked",
        "prompt: every prompt once, by its time and session; made of session when it is asked",
        "file_person: the person and team of each file that has one; made of file and person when it is asked",
    ]
    for table in TABLES.values():
        lines += ["", f"{table.name}: {table.about}"]
        lines += [f"  {name:<16} {kind!s:<22} {about}" for name, (kind, about) in table.columns.items()]
    return lines
