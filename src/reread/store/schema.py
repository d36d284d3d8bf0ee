"""The tables of the archive, as named migrations. `reread sql --schema` prints what they amount to.

Rows are a seam: a shared server or a columnar export may stand on them one day. So every row leads to a file, a
file names its machine and source, and identities that leave this database (`file.key`, `session.uuid`, request and
tool call ids, `block` by file key and offset) come from content. Integer ids are handles of this database alone.

Times are milliseconds since 1970 in UTC. Money is whole nano-dollars; NULL where a price is unknown.
"""

from __future__ import annotations

from collections.abc import Callable
from sqlite3 import Connection

FIELDS = ("prompt", "text", "thinking", "tool", "result", "title")
"""Columns of the full-text index, in order; `block.field` counts from 0."""

_FILES = """
-- One row per source file ever seen.
CREATE TABLE file (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,             -- digest of machine and path
    machine TEXT NOT NULL,
    source TEXT NOT NULL,                 -- the folder it was found in
    path TEXT NOT NULL,
    kind TEXT NOT NULL,                   -- transcript, subagent, meta, tool_result, ...
    session INTEGER REFERENCES session,
    agent TEXT,
    workflow TEXT,
    device INTEGER, inode INTEGER, size INTEGER, mtime_ns INTEGER,   -- as last seen
    generation INTEGER NOT NULL DEFAULT 1,    -- grows when the file was rewritten
    taken INTEGER NOT NULL DEFAULT 0,         -- bytes that are in the safe
    indexed INTEGER NOT NULL DEFAULT 0,       -- bytes whose lines are in the index
    lines INTEGER NOT NULL DEFAULT 0,
    malformed INTEGER NOT NULL DEFAULT 0,
    head BLOB, tail BLOB,                     -- digests of the first and last KiB taken
    present INTEGER NOT NULL DEFAULT 1,       -- 0 once the source is gone
    vanished INTEGER,                         -- when that was noticed
    first_block INTEGER, last_block INTEGER   -- its blocks lie between these, among others
);
CREATE INDEX file_by_session ON file(session);

-- Where the bytes of a file lie in the safe.
CREATE TABLE piece (
    file INTEGER NOT NULL REFERENCES file,
    generation INTEGER NOT NULL,
    start INTEGER NOT NULL,
    length INTEGER NOT NULL,
    sha256 BLOB NOT NULL,
    pack INTEGER NOT NULL, offset INTEGER NOT NULL, stored INTEGER NOT NULL,
    PRIMARY KEY (file, generation, start)
) WITHOUT ROWID;
"""

_SESSIONS = """
-- One row per session and place; a copy of a session in another folder is a row of its own.
CREATE TABLE session (
    id INTEGER PRIMARY KEY,
    uuid TEXT NOT NULL,
    machine TEXT NOT NULL,
    folder TEXT NOT NULL,
    project TEXT,                         -- the real working directory
    title TEXT,
    started INTEGER, ended INTEGER,
    versions TEXT, models TEXT, git_branches TEXT,   -- JSON arrays
    prompts INTEGER, turns INTEGER, requests INTEGER, tool_calls INTEGER, tool_errors INTEGER, thoughts INTEGER,
    output_tokens INTEGER, nanodollars INTEGER, unpriced_tokens INTEGER,
    subagents INTEGER, branches INTEGER, compactions INTEGER,
    bytes INTEGER,
    UNIQUE (machine, folder, uuid)
);
CREATE INDEX session_by_end ON session(ended);
CREATE INDEX session_by_uuid ON session(uuid);

CREATE TABLE tool_call (
    file INTEGER NOT NULL REFERENCES file,
    id TEXT NOT NULL,
    session INTEGER NOT NULL REFERENCES session,
    name TEXT NOT NULL,
    status TEXT NOT NULL,
    time INTEGER, seconds REAL,
    path TEXT,                            -- the file it names, if any
    PRIMARY KEY (file, id)
) WITHOUT ROWID;
"""

_REQUESTS = """
-- Usage as each file tells it: one row per file and API response. Copies are kept; the view picks the winner.
CREATE TABLE request (
    file INTEGER NOT NULL REFERENCES file,
    key TEXT NOT NULL,                    -- message id; scoped where a gateway repeats ids
    model TEXT,
    time INTEGER,
    input INTEGER, output INTEGER, cache_read INTEGER, cache_write_5m INTEGER, cache_write_1h INTEGER,
    web_searches INTEGER,
    speed TEXT, geo TEXT, tier TEXT,
    is_sidechain INTEGER NOT NULL,
    rows INTEGER NOT NULL,                -- lines that repeat it in this file
    nanodollars INTEGER,
    PRIMARY KEY (file, key)
) WITHOUT ROWID;
"""

_FOLDERS = """
-- Folders as they were last walked: while none of them and no file has changed, a sync is a few thousand stats.
CREATE TABLE folder (
    machine TEXT NOT NULL,
    path TEXT NOT NULL,
    mtime_ns INTEGER NOT NULL,
    PRIMARY KEY (machine, path)
) WITHOUT ROWID;
"""

_FORGOTTEN = """
-- Files a person had forgotten: a sync passes them by, even while their source exists.
CREATE TABLE forgotten (key TEXT PRIMARY KEY, at INTEGER NOT NULL) WITHOUT ROWID;
"""

_SEARCH = f"""
-- A piece of text that can be found: where its line lies, never the text itself.
CREATE TABLE block (
    id INTEGER PRIMARY KEY,               -- newer sessions have larger ids
    file INTEGER NOT NULL REFERENCES file,
    offset INTEGER NOT NULL, length INTEGER NOT NULL,   -- of its line
    part INTEGER NOT NULL,                -- which text of the line
    field INTEGER NOT NULL,               -- {", ".join(f"{i} {name}" for i, name in enumerate(FIELDS))}
    time INTEGER
);
-- The first column is free, each of the others costs two bytes for every word of a text: results are most of it.
CREATE VIRTUAL TABLE search USING fts5(
    result, tool, text, thinking, prompt, title, content='', columnsize=0, tokenize="unicode61 remove_diacritics 2"
);
-- A segment per 8 MB of words instead of one per MB, merged when there are many: a cold sync merges half as much.
INSERT INTO search(search, rank) VALUES ('hashsize', 8000000);
INSERT INTO search(search, rank) VALUES ('automerge', 16);
INSERT INTO search(search, rank) VALUES ('crisismerge', 64);
CREATE VIRTUAL TABLE vocabulary USING fts5vocab(search, row);
"""  # noqa: S608  our own names


def _script(sql: str) -> Callable[[Connection], None]:
    """Runs statements inside the caller's transaction; `executescript` would commit it."""

    def apply(connection: Connection) -> None:
        for statement in _statements(sql):
            connection.execute(statement)

    return apply


def _statements(sql: str) -> list[str]:
    from sqlite3 import complete_statement

    found: list[str] = []
    text = ""
    for line in sql.splitlines(keepends=True):
        text += line
        if complete_statement(text):
            found.append(text)
            text = ""
    return found


MIGRATIONS: dict[str, Callable[[Connection], None]] = {
    "files_and_pieces": _script(_FILES),
    "sessions_and_tool_calls": _script(_SESSIONS),
    "requests": _script(_REQUESTS),
    "folders": _script(_FOLDERS),
    "forgotten": _script(_FORGOTTEN),
    "search": _script(_SEARCH),
}
"""Applied in this order, each in a transaction with its own record. Never edit one that was released: add one."""

SCHEMA = "\n".join((_FILES, _SESSIONS, _REQUESTS, _FOLDERS, _FORGOTTEN, _SEARCH)).strip()
