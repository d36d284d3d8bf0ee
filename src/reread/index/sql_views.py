"""Views for a person's own SQL: sessions, prompts, replies, thinking, calls and results with their texts.

`views.sql` has them. They exist only on reread's own connection, since they use a function that reads the safe. What a
fork or a resume repeats comes once, so that counting rows gives the same numbers as every command.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from reread.errors import SafeDamaged
from reread.features.search_text import Field, texts_of
from reread.records import (
    Assistant,
    ProgressLine,
    Record,
    RedactedThinking,
    Thinking,
    ToolResult,
    ToolUse,
    User,
    decode,
)
from reread.safe.safe import Safe
from reread.sessions.progress_lines import of_agent

from .meta import as_path
from .safe_reader import SafeReader
from .sessions import sign_of
from .text_index import text_at

_LINES = 256
"""How many lines are kept decoded: several columns need the same line."""


class Column(NamedTuple):
    name: str
    about: str
    type: str


class ReadableView(NamedTuple):
    """A view: its SQL, and its description for a person."""

    name: str
    about: str
    columns: tuple[Column, ...]
    sql: str
    texts: tuple[str, ...] = ()
    """Columns that are searched for words."""

    @property
    def description(self) -> str:
        """What `--schema` prints."""
        width = max(len(column.name) for column in self.columns) + 2
        lines = [f"--   {column.name:{width}}{column.about}".rstrip() for column in self.columns]
        return "\n".join([f"-- {self.name}: {self.about}", *lines])


_HEAD = re.compile(r"-- (\w+)(?: \(([\w, ]+)\))?: (.*)")
_COLUMN = re.compile(r"    .* AS (\w+),?(?:  -- (?:(INTEGER|REAL) ?)?(.*))?$", re.MULTILINE)


def _read_views() -> Iterator[ReadableView]:
    """The views of `views.sql`, one behind an empty line each."""
    _, *parts = Path(__file__).with_name("views.sql").read_text("utf-8").split("\n\n")
    for part in parts:
        head, _, sql = part.partition("\n")
        name, texts, about = _HEAD.fullmatch(head).groups("")  # type: ignore[union-attr]  # our own file
        columns = (Column(name, note or "", kind or "TEXT") for name, kind, note in _COLUMN.findall(sql))
        yield ReadableView(name, about, tuple(columns), sql, tuple(texts.split(", ")) if texts else ())


VIEWS = tuple(_read_views())
SESSIONS, PROMPTS, REPLIES, THINKING, CALLS, RESULTS, RESPONSES, TEXTS = VIEWS

EXAMPLES = {
    "Prompts by project": "SELECT project, count(*) AS prompts FROM prompts GROUP BY project ORDER BY 2 DESC LIMIT 10",
    "Shell commands that failed, the newest first": """\
SELECT time, session, json_extract(input, '$.command') AS command FROM calls
WHERE tool = 'Bash' AND status = 'error' ORDER BY time DESC LIMIT 10""",
    "What failing commands said": """\
SELECT time, session, substr(text, 1, 200) AS text FROM results WHERE tool = 'Bash' AND status = 'error' LIMIT 10""",
    "Dollars by month and model": """\
SELECT substr(time, 1, 7) AS month, model, round(sum(dollars), 2) AS dollars FROM responses
GROUP BY month, model ORDER BY month DESC, dollars DESC""",
    "Longest thoughts": "SELECT time, session, characters, text FROM thinking ORDER BY characters DESC LIMIT 3",
    "Sessions in which Claude said sorry": """\
SELECT session, count(*) AS times FROM replies WHERE text LIKE '%apologize%' GROUP BY session ORDER BY 2 DESC""",
}
"""Queries by what they answer. Tests run them."""


def schema_of_views() -> str:
    """What `reread sql --schema` prints before the tables."""
    views = "\n--\n".join(view.description for view in VIEWS)
    examples = "\n\n".join(f"-- {about}:\n{query};" for about, query in EXAMPLES.items())
    return (
        "-- VIEWS, for reading: texts from the safe, times as ISO 8601 in UTC, money in dollars, copies left out.\n"
        "-- A text is NULL if damage in the safe hides it. Reading texts takes time: filter by other columns.\n"
        "-- Only `reread sql` has these views; `reread export --format sqlite` writes them for other programs.\n--\n"
        f"{views}\n\n{examples}\n\n-- TABLES, which the views are made of.\n"
    )


def add_views(connection: sqlite3.Connection, safe: Safe, project_today: Callable[[str | None], str | None]) -> None:
    """Adds the views and the functions behind them to a connection."""
    reader = LineReader(connection, safe)
    connection.create_function("kept_text", 7, reader.kept_text)
    connection.create_function(
        "session_name",
        3,
        lambda uuid, machine, folder: f"{as_path(uuid)}~{sign_of(machine, as_path(folder))}",
        deterministic=True,
    )
    connection.create_function("project_today", 1, lambda path: project_today(path) or None, deterministic=True)
    for view in VIEWS:
        connection.execute(view.sql)


class LineReader:
    """Gives SQL the texts of lines, by the place of a line in its file and the number of the text."""

    def __init__(self, connection: sqlite3.Connection, safe: Safe) -> None:
        self._connection = connection
        self._kept = SafeReader(connection, safe)
        self._owners: dict[str | None, int] | None = None
        self._line = lru_cache(maxsize=_LINES)(self._read)

    def kept_text(
        self, what: str, kind: str, file: int, generation: int, offset: int | None, length: int | None, which: int | str
    ) -> str | int | None:
        """The requested text of a line; None if the line has none, or is damaged."""
        if offset is None or length is None:
            return None
        content = self._line(file, generation, offset, length)
        if content is None:
            return None
        if (
            kind == "tool_result" or content[:1].isdigit()
        ):  # not a transcript's line: a spilled output, or lines of a capture
            found = text_at(kind, content, 0)
            return _of_no_line(what, None if found is None else found.uuid, None if found is None else found.text)
        record = _record(content)
        if what == "is_reply":
            return self._is_reply(record, file)
        found_text = _ASKED[what](record, which)
        return None if found_text is None else found_text.encode("utf-8", "replace").decode()

    def _read(self, file: int, generation: int, offset: int, length: int) -> bytes | None:
        try:
            return self._kept.line(file, generation, offset, length)
        except SafeDamaged:
            return None

    def _is_reply(self, record: Record, file: int) -> bool:
        """Whether a line is a model's and this file owns it; summaries by the client are in the same field."""
        if not isinstance(record, Assistant):
            return False
        if self._owners is None:
            self._owners = dict(self._connection.execute("SELECT key, owner FROM copied"))
        return self._owners.get(record.api_message.id, file) == file


@lru_cache(maxsize=_LINES)
def _record(content: bytes) -> Record:
    record = decode(content)
    return of_agent(record) if isinstance(record, ProgressLine) else record


def _of_no_line(what: str, uuid: str | None, text: str | None) -> str | int | None:
    if what == "is_reply":
        return uuid is not None
    return uuid if what == "uuid" else text if what in ("text", "thinking") else None


def _prompt(record: Record, _which: int | str) -> str:
    return next((text for field, text in texts_of(record) if field is Field.PROMPT), "")


def _text(record: Record, which: int | str) -> str | None:
    texts = texts_of(record)
    return texts[which].text if isinstance(which, int) and which < len(texts) else None


def _thinking(record: Record, which: int | str) -> str | None:
    blocks = record.blocks if isinstance(record, Assistant) else ()
    thoughts = [block for block in blocks if isinstance(block, Thinking | RedactedThinking)]
    block = thoughts[which] if isinstance(which, int) and which < len(thoughts) else None
    return block.as_text if isinstance(block, Thinking) else None


def _input(record: Record, which: int | str) -> str | None:
    calls = [block for block in record.blocks if isinstance(block, ToolUse)] if isinstance(record, Assistant) else []
    named = [call for call in calls if call.id == which] or (calls if len(calls) == 1 else [])
    return named[0].as_text if named else None


def _call(record: Record, which: int | str) -> str | None:
    """The id of the call that a result answers; results without a text have no blocks and are not counted."""
    results = [block for block in record.blocks if type(block) is ToolResult] if isinstance(record, User) else []
    texts = [block for block in results if block.as_text]
    return texts[which].tool_use_id if isinstance(which, int) and which < len(texts) else None


_ASKED: dict[str, Callable[[Record, int | str], str | None]] = {
    "prompt": _prompt,
    "text": _text,
    "thinking": _thinking,
    "input": _input,
    "call": _call,
    "uuid": lambda record, _which: record.uuid,
}
