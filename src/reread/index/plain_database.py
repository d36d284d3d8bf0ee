"""Writes the readable views as tables of a separate database, for Datasette, notebooks and whatever reads SQLite."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from reread.errors import StoreError, printable
from reread.features.secrets.redact import PLACEHOLDER, Redactor, learn_lines, learn_values, redacted_line

from .sql_views import CALLS, PROMPTS, REPLIES, RESPONSES, RESULTS, SESSIONS, THINKING, ReadableView

_HANDLES = ("file", "number")
"""Columns that have a meaning only inside the archive."""
_PLAIN = {
    *("id", "session", "call", "uuid", "message", "time", "started", "ended", "status", "tool", "model", "models"),
    *("versions", "agent"),
}
"""Columns without text from a person or a program, which need no redacting."""
_AT_ONCE = 500
Row = tuple[object, ...]


class PlainParts(NamedTuple):
    """Which parts go into the database."""

    thinking: bool = True
    tools: bool = True
    subagents: bool = True

    @property
    def views(self) -> list[ReadableView]:
        left_out = [*([] if self.thinking else [THINKING]), *([] if self.tools else [CALLS, RESULTS])]
        every = (SESSIONS, PROMPTS, REPLIES, THINKING, CALLS, RESULTS, RESPONSES)
        return [view for view in every if view not in left_out]


class PlainDatabase(NamedTuple):
    """What was written."""

    rows: dict[str, int]
    """By table."""
    taken: Counter[str]
    """How often secrets were taken out, by kind."""
    distinct: Counter[str]
    """How many different secrets were taken out, by kind."""
    left: Counter[str]
    """How many secrets are still there, by kind; empty without a redactor."""


class PlainWriter:
    """Copies rows of some sessions from the readable views, without secrets if a redactor is given."""

    def __init__(
        self,
        source: sqlite3.Connection,
        sessions: Sequence[int],
        parts: PlainParts,
        redactor: Redactor | None = None,
        *,
        only_looks: bool = False,
    ) -> None:
        self._source = source
        self._parts = parts
        self._redactor = redactor
        self._only_looks = only_looks
        self._distinct: dict[str, str] = {}
        self._taken: Counter[str] = Counter()
        self._left: Counter[str] = Counter()
        source.execute("CREATE TEMP TABLE chosen (id INTEGER PRIMARY KEY)")
        source.executemany("INSERT INTO chosen VALUES (?)", [(number,) for number in sessions])

    def write(self, path: Path) -> PlainDatabase:
        """Raises StoreError if the file cannot be written, or if it is not empty: without a journal, an existing file
        could not be restored after a failure."""
        if path.is_file() and path.stat().st_size:
            raise StoreError(f"{printable(str(path))}: there is a file already; name a new one")
        if self._redactor is not None:
            self._learn(self._redactor)
        try:
            with closing(sqlite3.connect(path, isolation_level=None)) as made:
                made.execute("PRAGMA journal_mode = OFF")  # an incomplete file is useless anyway
                made.execute("BEGIN")
                rows = {view.name: self._fill(made, view) for view in self._parts.views}
                for view in self._parts.views:
                    _make_searchable(made, view)
                made.execute("COMMIT")
        except sqlite3.Error as error:
            raise StoreError(f"{path}: cannot be written ({error})") from error
        return PlainDatabase(rows, self._taken, Counter(self._distinct.values()), self._left)

    def _fill(self, made: sqlite3.Connection, view: ReadableView) -> int:
        columns = [column for column in view.columns if column.name not in _HANDLES]
        declared = [f"{column.name} {column.type}{_key(view, column.name)}" for column in columns]
        made.execute(f"CREATE TABLE {view.name} ({', '.join([*_number(view), *declared])})")
        into = f"INSERT INTO {view.name} ({', '.join(column.name for column in columns)})"
        slots = ", ".join("?" * len(columns))
        clean = [self._cleaner(column.name) if column.type == "TEXT" else _as_it_is for column in columns]
        count = 0
        for row in self._rows(view, [column.name for column in columns]):
            made.execute(f"{into} VALUES ({slots})", [each(value) for each, value in zip(clean, row, strict=True)])
            count += 1
            if self._redactor is not None and count % _AT_ONCE == 0:
                self._redactor.drop_texts()
        return count

    def _rows(self, view: ReadableView, columns: Sequence[str]) -> Iterator[Row]:
        chosen = "number IN chosen" if view is SESSIONS else _OF_CHOSEN
        has_agents = any(column.name == "agent" for column in view.columns)
        trunks = "AND agent IS NULL" if has_agents and not self._parts.subagents else ""
        order = "started" if view is SESSIONS else "time"
        # Sorted by file and time, so that lines in the same piece of the safe are read one after the other.
        order = order if view is SESSIONS or not view.texts else "file, time"
        return self._source.execute(
            f"SELECT {', '.join(columns)} FROM temp.{view.name} WHERE {chosen} {trunks} ORDER BY {order}"  # noqa: S608
        )

    def _learn(self, redactor: Redactor) -> None:
        """Learns the secrets of all texts first: a secret recognised in one may occur without context in another."""
        for view in self._parts.views:
            columns = [column.name for column in view.columns if column.type == "TEXT" and column.name not in _PLAIN]
            for count, row in enumerate(self._rows(view, columns)):
                texts = [(name, value) for name, value in zip(columns, row, strict=True) if isinstance(value, str)]
                learn_values(redactor, [value for name, value in texts if name != "input"])
                learn_lines(redactor, [value.encode("utf-8", "replace") for name, value in texts if name == "input"])
                if count % _AT_ONCE == 0:
                    redactor.drop_texts()

    def _cleaner(self, column: str) -> Callable[[object], object]:
        redactor = self._redactor
        if redactor is None or column in _PLAIN:
            return _as_text

        def clean(value: object) -> object:
            text = _as_text(value)
            if not isinstance(text, str) or self._only_looks:
                self._left.update(redactor.left_in(text) if isinstance(text, str) else ())
                return text
            made = _redacted_json(redactor, text) if column == "input" else redactor.redact(text)
            self._note(redactor, made, was_changed=made != text)
            return made

        return clean

    def _note(self, redactor: Redactor, text: str, *, was_changed: bool) -> None:
        for match in PLACEHOLDER.finditer(text) if was_changed else ():
            self._taken[match["kind"]] += 1
            self._distinct[match[0]] = match["kind"]
        self._left.update(redactor.left_in(text))


def _as_it_is(value: object) -> object:
    return value


def _as_text(value: object) -> object:
    """The value as text: names from the file system may be bytes that are not UTF-8."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _redacted_json(redactor: Redactor, text: str) -> str:
    """The JSON without secrets; unchanged, to the byte, if there are none."""
    raw = text.encode("utf-8", "replace")
    made = redacted_line(redactor, raw)
    return text if made is raw else made.decode("utf-8", "replace")


_OF_CHOSEN = "file IN (SELECT id FROM main.file WHERE session IN chosen)"


def _number(view: ReadableView) -> list[str]:
    """A numeric id column, because full text needs row numbers that a VACUUM does not change."""
    return [] if view is SESSIONS else ["id INTEGER PRIMARY KEY"]


def _key(view: ReadableView, column: str) -> str:
    if view is SESSIONS:
        return " PRIMARY KEY" if column == "id" else ""
    return " REFERENCES sessions(id)" if column == "session" else ""


def _make_searchable(made: sqlite3.Connection, view: ReadableView) -> None:
    """Adds indexes, and full text where Datasette and sqlite-utils look for it: NAME_fts over the table NAME."""
    if view is not SESSIONS:
        made.execute(f"CREATE INDEX {view.name}_by_session ON {view.name}(session)")
        made.execute(f"CREATE INDEX {view.name}_by_time ON {view.name}(time)")
    if view is SESSIONS or not view.texts:
        return
    columns = ", ".join(view.texts)
    name = f"{view.name}_fts"
    made.execute(
        f"""CREATE VIRTUAL TABLE {name} USING fts5(
            {columns}, content="{view.name}", content_rowid="id", tokenize="unicode61 remove_diacritics 2"
        )"""
    )
    made.execute(f"INSERT INTO {name}({name}) VALUES ('rebuild')")  # noqa: S608  our own names
