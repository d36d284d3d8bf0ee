"""Views for a person's own SQL: sessions, prompts, replies, thinking, calls and results with their texts.

They exist only on reread's own connection: they use a function that reads the safe, which no other program has. What a
fork or a resume repeats comes once, so that counting rows gives the same numbers as every command.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from functools import lru_cache
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
from reread.sessions.agents import of_agent

from .meta import FIELDS, RESULT, as_path
from .safe_reader import SafeReader
from .sessions import sign_of
from .text_index import text_at

_LINES = 256
"""How many lines are kept decoded: several columns need the same line."""


class Column(NamedTuple):
    name: str
    value: str
    """An SQL expression over the tables."""
    about: str = ""
    type: str = "TEXT"


class ReadableView(NamedTuple):
    """A view: its SQL, and its description for a person."""

    name: str
    about: str
    columns: tuple[Column, ...]
    source: str
    texts: tuple[str, ...] = ()
    """Columns that are searched for words."""

    @property
    def ddl(self) -> str:
        columns = ",\n    ".join(f"{column.value} AS {column.name}" for column in self.columns)
        return f"CREATE TEMP VIEW {self.name} AS SELECT\n    {columns}\n{self.source}"

    @property
    def description(self) -> str:
        """What `--schema` prints."""
        width = max(len(column.name) for column in self.columns) + 2
        lines = [f"--   {column.name:{width}}{column.about}".rstrip() for column in self.columns]
        return "\n".join([f"-- {self.name}: {self.about}", *lines])


def _iso(time: str) -> str:
    return f"strftime('%Y-%m-%dT%H:%M:%fZ', {time} / 1000.0, 'unixepoch')"


def _dollars(nanodollars: str) -> str:
    return f"{nanodollars} / 1e9"


_NAME = """CASE WHEN (SELECT count(*) FROM session AS other WHERE other.uuid = session.uuid) > 1
        THEN session_name(session.uuid, session.machine, session.folder) ELSE session.uuid END"""
_SESSION = Column("session", _NAME, "its session: sessions.id")
_PROJECT = Column("project", "project_today(session.project)", "the folder it belongs to today")
_AGENT = Column("agent", "CASE file.kind WHEN 'subagent' THEN file.agent END", "the subagent; NULL in the conversation")
_FILE = Column("file", "file.id", "its file: file.id", "INTEGER")
_OF_FILE = "JOIN file ON file.id = {0}.file JOIN session ON session.id = file.session"
_LINE = "file.kind, file.id, file.generation, {0}.offset, {0}.length"


def _time(table: str) -> Column:
    return Column("time", _iso(f"{table}.time"), "ISO 8601, UTC")


def _kept(what: str, table: str, which: str = "0") -> str:
    return f"kept_text('{what}', {_LINE.format(table)}, {which})"


def _uuid(table: str) -> Column:
    return Column("uuid", _kept("uuid", table), "of its line: reread show SESSION --around UUID")


SESSIONS = ReadableView(
    "sessions",
    "one row for each session that `reread list` knows",
    (
        Column("id", _NAME, "the id that commands take as SESSION"),
        Column("title", "ifnull(mark.title, session.title)"),
        _PROJECT,
        Column("directory", "session.project", "the working directory, as it was called then"),
        Column("machine", "machine.label"),
        Column("started", _iso("session.started"), "ISO 8601, UTC"),
        Column("ended", _iso("session.ended")),
        *(
            Column(name, f"session.{name}", type="INTEGER")
            for name in ("prompts", "turns", "requests", "tool_calls", "tool_errors", "thoughts", "subagents")
        ),
        *(Column(name, f"session.{name}", type="INTEGER") for name in ("branches", "compactions", "output_tokens")),
        Column(
            "dollars", _dollars("session.nanodollars"), "with its subagents; NULL where nothing has a price", "REAL"
        ),
        *(Column(name, f"session.{name}", "a JSON array") for name in ("models", "versions", "git_branches")),
        Column("bytes", "session.bytes", type="INTEGER"),
        Column(
            "starred",
            "ifnull(mark.starred, 0)",
            "1 if you starred it; `reread mark` sets this and the next three",
            "INTEGER",
        ),
        Column("hidden", "ifnull(mark.hidden, 0)", "1 for those that `reread list` leaves out", "INTEGER"),
        Column("program", "session.id IN program_session", "1 for those that a program drove", "INTEGER"),
        Column("tags", "ifnull(mark.tags, '[]')", "a JSON array"),
        Column("note", "mark.note"),
        Column("number", "session.id", "session.id in the tables", "INTEGER"),
    ),
    "FROM session LEFT JOIN mark ON mark.session = session.uuid LEFT JOIN machine ON machine.id = session.machine",
    ("title",),
)
PROMPTS = ReadableView(
    "prompts",
    "what a person typed, without what a fork or a resume repeats",
    (
        *(_SESSION, _PROJECT, _time("prompt"), Column("text", _kept("prompt", "prompt", "prompt.part"))),
        *(_uuid("prompt"), _FILE),
    ),
    f"""FROM prompt {_OF_FILE.format("prompt")} WHERE NOT prompt.is_copy
AND session.id NOT IN program_session""",
    ("text",),
)
REPLIES = ReadableView(
    "replies",
    "what Claude said, without copies",
    (
        *(_SESSION, _PROJECT, _AGENT, _time("block"), Column("text", _kept("text", "block", "block.part"))),
        *(_uuid("block"), _FILE),
    ),
    # In a subquery, so that SQLite tests it last: it has to read the line.
    f"""FROM block {_OF_FILE.format("block")}
WHERE block.field = {FIELDS.index("text")} AND (SELECT {_kept("is_reply", "block")})""",
    ("text",),
)
THINKING = ReadableView(
    "thinking",
    "what the model thought, where the client stored it, without copies",
    (
        *(_SESSION, _PROJECT, _AGENT, _time("thought"), Column("text", _kept("thinking", "thought", "thought.part"))),
        *(Column("characters", "thought.characters", type="INTEGER"), _uuid("thought"), _FILE),
    ),
    f"FROM thought {_OF_FILE.format('thought')} WHERE NOT thought.is_copy AND thought.state = 0",
    ("text",),
)
CALLS = ReadableView(
    "calls",
    "tool calls with their input, subagents included, without copies",
    (
        *(_SESSION, _PROJECT, _AGENT),
        Column("call", "tool_call.id", "its id"),
        Column("tool", "tool_call.name"),
        Column("status", "tool_call.status", "ok, error, rejected, ..."),
        _time("tool_call"),
        Column("seconds", "tool_call.seconds", type="REAL"),
        Column("path", "tool_call.path", "the file it names, if any"),
        Column("input", _kept("input", "tool_call", "tool_call.id"), "JSON: json_extract(input, '$.command')"),
        *(_uuid("tool_call"), _FILE),
    ),
    f"FROM tool_call {_OF_FILE.format('tool_call')} WHERE NOT tool_call.is_copy",
    ("tool", "input"),
)
_ANSWERED = _kept("call", "block", "block.part")
RESULTS = ReadableView(
    "results",
    "what calls gave back, without copies",
    (
        *(_SESSION, _PROJECT, _AGENT),
        Column("call", "tool_call.id", "calls.call"),
        *(Column("tool", "tool_call.name"), Column("status", "tool_call.status")),
        *(_time("block"), Column("text", _kept("text", "block", "block.part")), _uuid("block"), _FILE),
    ),
    f"""FROM block {_OF_FILE.format("block")}
    JOIN tool_call ON tool_call.file = file.id AND tool_call.id = coalesce((
        SELECT id FROM tool_call AS made WHERE made.file = file.id AND made.offset < block.offset
        AND made.id BETWEEN {_ANSWERED} AND {_ANSWERED} || '#~' ORDER BY made.offset DESC LIMIT 1), {_ANSWERED})
WHERE block.field = {RESULT} AND NOT tool_call.is_copy""",  # noqa: S608  our own SQL
    ("text",),
)
_TOKENS = ("input", "output", "cache_read", "cache_write_5m", "cache_write_1h", "thinking")
RESPONSES = ReadableView(
    "responses",
    "every response of the API once, with its tokens and what it cost",
    (
        *(_SESSION, _PROJECT, _AGENT, _time("response"), Column("model", "context.model")),
        *(Column(f"{name}_tokens", f"response.{name}", type="INTEGER") for name in _TOKENS),
        Column("web_searches", "response.web_searches", type="INTEGER"),
        Column("dollars", _dollars("response.nanodollars"), type="REAL"),
        *(Column("message", "response.key", "the id of its message"), _FILE),
    ),
    """FROM response JOIN context ON context.id = response.context
    JOIN file ON file.id = response.owner JOIN session ON session.id = file.session""",
)
TEXTS = ReadableView(
    "texts",
    "every text that `reread search` finds, copies included",
    (
        *(_SESSION, _PROJECT, _AGENT),
        Column("field", f"CASE block.field {' '.join(f'WHEN {i} THEN {name!r}' for i, name in enumerate(FIELDS))} END"),
        *(_time("block"), Column("text", _kept("text", "block", "block.part")), _uuid("block"), _FILE),
    ),
    f"FROM block {_OF_FILE.format('block')}",
)
VIEWS = (SESSIONS, PROMPTS, REPLIES, THINKING, CALLS, RESULTS, RESPONSES, TEXTS)

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
        connection.execute(view.ddl)


class LineReader:
    """Gives SQL the texts of lines, by the place of a line in its file and the number of the text."""

    def __init__(self, connection: sqlite3.Connection, safe: Safe) -> None:
        self._connection = connection
        self._kept = SafeReader(connection, safe)
        self._owners: dict[str, int] | None = None
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
        message = record.message.id if record.message is not None else None
        return message is None or self._owners.get(message, file) == file


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
