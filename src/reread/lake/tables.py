"""The tables of a lake: their columns and what each means, and how rows become Arrow tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
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
    is_by_month: bool = True
    """Whether it is partitioned by the month in which the session began."""

    @property
    def schema(self) -> pa.Schema:
        return pa.schema([(name, kind) for name, (kind, _) in self.columns.items()])

    @property
    def partition_by(self) -> list[str]:
        return [MONTH] if self.is_by_month else []


_TOKENS = {
    "input": (NUMBER, "tokens sent"),
    "output": (NUMBER, "tokens answered"),
    "cache_read": (NUMBER, "tokens read from the cache"),
    "cache_write_5m": (NUMBER, "tokens written for five minutes"),
    "cache_write_1h": (NUMBER, "tokens written for an hour"),
    "web_searches": (NUMBER, "searches of the server"),
}
_COUNTED = {
    "is_abandoned": (FLAG, "on a branch that was rewound; NULL in a lake of cost"),
    "model": (TEXT, "model as the transcript names it"),
    **_TOKENS,
    "thinking": (NUMBER, "of the output, thinking; NULL where not told"),
}
_TRUST = {
    "doubt": (NUMBER, "1: nothing says why it ended; 2: output is probably cut"),
    "rows": (NUMBER, "lines that tell it; 0 for an advisor asked inside another response"),
}
_SESSION = (TEXT, "`session.key` it belongs to")
_FILE = (TEXT, "`file.key` that tells it")
_BEGAN = (TEXT, "month its session began in, as 2026-11, or `none`; the partition")
_CONTEXT: dict[str, tuple[pa.DataType, str]] = {
    "version": (TEXT, "version of the client"),
    "project": (TEXT, "working directory"),
    "git_branch": (TEXT, "git branch"),
    "agent": (TEXT, "agent that asked; empty for the main conversation"),
    "skill": (TEXT, "skill that was at work"),
    "plugin": (TEXT, "plugin that was at work"),
    "mcp_server": (TEXT, "MCP server it answered"),
    "mcp_tool": (TEXT, "tool of that server"),
    "tools": (TEXTS, "tools it called"),
    "speed": (TEXT, "speed, such as `fast`"),
    "geo": (TEXT, "region of inference"),
    "tier": (TEXT, "service tier"),
    "stop_reason": (TEXT, "why it ended"),
}

SESSION = LakeTable(
    "session",
    "one row for each session",
    {
        "key": (TEXT, "the same for the same place in every build"),
        "id": (TEXT, "the client's id"),
        "folder": (TEXT, "folder of its transcript"),
        "project": (TEXT, "working directory"),
        "title": (TEXT, "title; NULL in a lake without text"),
        "started": (MOMENT, "first moment"),
        "ended": (MOMENT, "last moment"),
        "versions": (TEXTS, "versions of the client"),
        "models": (TEXTS, "models that answered"),
        "git_branches": (TEXTS, "git branches"),
        "prompts": (NUMBER, "prompts that were typed"),
        "turns": (NUMBER, "turns"),
        "requests": (NUMBER, "API responses in its own files, copies of other sessions included"),
        "tool_calls": (NUMBER, "tool calls"),
        "tool_errors": (NUMBER, "of them failed"),
        "thoughts": (NUMBER, "thinking blocks"),
        "subagents": (NUMBER, "agents that worked"),
        "branches": (NUMBER, "branches, after rewinds"),
        "compactions": (NUMBER, "compactions"),
        "bytes": (NUMBER, "size of its files"),
        "typed": (PROMPTS, "when each prompt was typed, and a number to tell it from others by"),
        "moments": (MOMENTS, "friction, as `reread retro` finds it; words (about, evidence) in a lake with text"),
        MONTH: _BEGAN,
    },
)
FILE = LakeTable(
    "file",
    "one row for each file that was read: what the next build holds the sources against",
    {
        "key": (TEXT, "digest of its place"),
        "session": _SESSION,
        "uri": (TEXT, "path or address"),
        "kind": (TEXT, "transcript, subagent, capture, tool_result, ..."),
        "agent": (TEXT, "agent whose file it is"),
        "size": (NUMBER, "bytes that were read"),
        "mtime_ns": (NUMBER, "when it was last changed, in nanoseconds since 1970"),
        "sha256": (TEXT, "digest of these bytes; NULL in a lake of cost"),
        "lines": (NUMBER, "lines"),
        "malformed": (NUMBER, "of them no JSON; NULL in a lake of cost"),
        "is_torn": (FLAG, "ended in half a line"),
        "names": (TEXTS, "sessions that its first lines name"),
        "copy_of": (TEXT, "key of the file that holds all of it; such a file has no rows elsewhere"),
        MONTH: _BEGAN,
    },
)
REQUEST = LakeTable(
    "request",
    "one row for each API response and file that tells it; `response` has each once",
    {
        "key": (TEXT, "the response, the same in every file"),
        "file": _FILE,
        "session": _SESSION,
        "head": (TEXT, "digest of how the file begins"),
        "began": (MOMENT, "first response of the file"),
        "ended": (MOMENT, "last response of the file"),
        "time": (MOMENT, "when"),
        "is_sidechain": (FLAG, "an agent's"),
        "is_agent_file": (FLAG, "told in the file of an agent"),
        **_COUNTED,
        **_TRUST,
        "recorded": (NUMBER, "nano-dollars that the client wrote down"),
        "request_id": (TEXT, "id of the request"),
        "context": (TEXT, "digest of all that follows and the model"),
        **_CONTEXT,
        MONTH: _BEGAN,
    },
)
CALL = LakeTable(
    "call",
    "one row for each tool call and file that tells it",
    {
        "id": (TEXT, "id of the call"),
        "file": _FILE,
        "session": _SESSION,
        "name": (TEXT, "tool"),
        "status": (TEXT, "how it came out"),
        "time": (MOMENT, "when it was asked for"),
        "seconds": (REAL, "how long it took"),
        "path": (TEXT, "file it touched"),
        "digest": (NUMBER, "the same for copies of a call in other files"),
        MONTH: _BEGAN,
    },
)
WORDS = LakeTable(
    "text",
    "one row for each text of a conversation, secrets taken out unless the build was told otherwise",
    {
        "file": _FILE,
        "session": _SESSION,
        "uuid": (TEXT, "line it stands in"),
        "position": (NUMBER, "byte of the file that the line begins at"),
        "part": (NUMBER, "which of the line's texts"),
        "field": (TEXT, "prompt, text, thinking, tool, result, title"),
        "time": (MOMENT, "when"),
        "text": (TEXT, "what was said"),
        MONTH: _BEGAN,
    },
)
RESPONSE = LakeTable(
    "response",
    "every API response once, settled and priced by the rate card, with the session that it counts for",
    {
        "key": (TEXT, "the response"),
        "file": (TEXT, "`file.key` that owns it"),
        "session": (TEXT, "id of the session that owns it"),
        "session_key": (TEXT, "`session.key` of it"),
        "time": (MOMENT, "when"),
        **{name: _CONTEXT[name] for name in ("project", "git_branch", "agent", "skill")},
        "is_agent": (FLAG, "an agent's"),
        **_COUNTED,
        **{name: _CONTEXT[name] for name in ("tools", "speed", "geo", "tier", "version", "stop_reason")},
        **_TRUST,
        "files": (NUMBER, "files that tell it"),
        "nanodollars": (NUMBER, "money, by the prices of the last build; NULL without a price"),
        MONTH: _BEGAN,
    },
)
USAGE_DAY = LakeTable(
    "usage_day",
    "exact usage by day (UTC), project and model, every response once",
    {
        "day": (TEXT, "day in UTC, as 2026-11-02; NULL without a time"),
        "project": (TEXT, "working directory"),
        "model": (TEXT, "model as the transcript names it"),
        "requests": (NUMBER, "API responses"),
        **_TOKENS,
        "nanodollars": (NUMBER, "money of what has a price, 0 where nothing has"),
        "unpriced_tokens": (NUMBER, "tokens of what has none"),
    },
    is_by_month=False,
)
FRICTION_DAY = LakeTable(
    "friction_day",
    "moments of friction by day (UTC), project and kind, and the prompts that they are rates of; each once",
    {
        "day": (TEXT, "day in UTC; NULL without a time"),
        "project": (TEXT, "working directory of the session"),
        "kind": (TEXT, "tool_error, correction, ...; NULL in the row that counts prompts, so that sums are right"),
        "moments": (NUMBER, "moments of the main conversations that are surer than not"),
        "seconds": (REAL, "time that they took, where the lines tell"),
        "prompts": (NUMBER, "prompts that were typed; 0 in rows of a kind"),
    },
    is_by_month=False,
)
PERSON = LakeTable(
    "person",
    "who the sources belong to, as the owner of the lake wrote it; no other table has people's names",
    {
        "prefix": (
            TEXT,
            "folder or address; everything below it is the person's unless a longer prefix says otherwise",
        ),
        "person": (TEXT, "name"),
        "team": (TEXT, "team, where there is one"),
    },
    is_by_month=False,
)
FORGOTTEN = LakeTable(
    "forgotten",
    "what must not come back: a row for each session, place or age",
    {
        "mark": (TEXT, "digest of the session's id or of the place"),
        "what": (TEXT, "session, place or age"),
        "before": (MOMENT, "sessions that ended before it are not taken"),
        "time": (MOMENT, "when it was forgotten"),
    },
    is_by_month=False,
)
BUILD = LakeTable(
    "build",
    "one row for each change of the lake; the last one says which version of each table holds",
    {
        "number": (NUMBER, "of the change"),
        "time": (MOMENT, "when it was committed"),
        "action": (TEXT, "build, people, forget or vacuum"),
        "engine": (TEXT, "local or spark"),
        "what": (TEXT, "cost, ledger, text or all"),
        "redact": (TEXT, "secrets, all or none"),
        "sessions": (NUMBER, "sessions that were read"),
        "bytes": (NUMBER, "bytes that were read"),
        "cpu_seconds": (REAL, "processor time of reading them"),
        "prices": (TEXT, "digest of the prices that usage_day was counted with"),
        "extractor": (NUMBER, "version of what makes rows out of lines"),
        "versions": (TEXT, "JSON: the Delta version of each table"),
    },
    is_by_month=False,
)

SHARED = (SESSION, FILE, REQUEST, CALL, WORDS)
"""The tables that the workers write, share by share."""
TABLES = {table.name: table for table in (*SHARED, RESPONSE, USAGE_DAY, FRICTION_DAY, PERSON, FORGOTTEN, BUILD)}


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
