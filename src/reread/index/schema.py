"""The tables of the archive: `schema()` for a new one, named migrations for an existing one.

`reread sql --schema` prints the tables.

Rows are a seam: a shared server or a columnar export may be built on them one day. So every row refers to a file
(figures of a status line, a person's notes, and friction refer to a session), a file names its machine and source, and
identities that leave this database (`file.key`, `session.uuid`, request and tool call ids, `block` by file key and
offset) come from content. Integer ids are valid in this database alone.

Times are milliseconds since 1970 in UTC. Money is whole nano-dollars; NULL where a price is unknown.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from sqlite3 import Connection, DatabaseError, complete_statement, sqlite_version_info

from reread import lazy

from .meta import FIELDS

_FILES = """
-- One row per source file ever seen.
CREATE TABLE file (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,             -- digest of machine and path
    machine TEXT NOT NULL,
    source TEXT NOT NULL,                 -- the folder it was found in; `wire` for what reread captured itself
    path TEXT NOT NULL,
    kind TEXT NOT NULL,                   -- transcript, subagent, meta, tool_result, capture, ...
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
    present INTEGER NOT NULL DEFAULT 1,       -- 0 once the source is gone; 2 for a capture, which is kept here alone
    vanished INTEGER,                         -- when that was noticed
    first_block INTEGER, last_block INTEGER,  -- its blocks lie between these, among others
    first_request INTEGER, last_request INTEGER   -- times of its responses; an index of all would be larger by far
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

_RESPONSES = """
-- The ledger: every API response once. `context` is that of the row that counts, `owner_context` that of its
-- owner; an advisor's call is owned with the response it was asked in. The two parts are added up twice as fast by
-- themselves.
-- A CROSS JOIN goes from the copies to their rows: SQLite would read all rows for a few copies.
CREATE VIEW response_in_one_file AS
SELECT key, file AS owner, file AS counted, context, context AS owner_context, time,
    input, output, cache_read, cache_write_5m, cache_write_1h, thinking, web_searches, web_fetches,
    is_sidechain, is_abandoned, doubt, rows, 1 AS files, nanodollars, recorded,
    saved, rebuilt, premium, cause, by_api, thinking_estimate
FROM request WHERE is_shared = 0;
CREATE VIEW response_in_several_files AS
SELECT copied.key, copied.owner, copied.counted, best.context, owned.context AS owner_context, copied.time,
    best.input, best.output, best.cache_read, best.cache_write_5m, best.cache_write_1h,
    best.thinking, copied.web_searches, best.web_fetches,
    owned.is_sidechain, owned.is_abandoned, copied.doubt, copied.rows, copied.files, copied.nanodollars, best.recorded,
    copied.saved, best.rebuilt, best.premium, best.cause, best.by_api, best.thinking_estimate
FROM copied
    CROSS JOIN request AS best ON best.file = copied.counted AND best.key = copied.key
    CROSS JOIN request AS owned ON owned.file = copied.owner
        AND owned.key = substr(copied.key, 1, instr(copied.key || '#advisor:', '#advisor:') - 1);
CREATE VIEW response AS SELECT * FROM response_in_one_file UNION ALL SELECT * FROM response_in_several_files;
"""
_WITHOUT_RESPONSES = """
DROP VIEW response;
DROP VIEW response_in_one_file;
DROP VIEW response_in_several_files;
"""

_REQUESTS = f"""
-- What many requests share: how and where they were made.
CREATE TABLE context (
    id INTEGER PRIMARY KEY,
    model TEXT,                           -- as the row names it
    version TEXT,                         -- of the client
    project TEXT, git_branch TEXT,        -- the working directory, and what was checked out there
    agent TEXT, skill TEXT, plugin TEXT, mcp_server TEXT, mcp_tool TEXT,
    tools TEXT,                           -- a JSON array of the tools the response called
    speed TEXT, geo TEXT, tier TEXT, stop_reason TEXT
);

-- Usage as each file tells it: one row per file and API response, or call of an advisor inside one.
CREATE TABLE request (
    file INTEGER NOT NULL REFERENCES file,
    key TEXT NOT NULL,                    -- message id; scoped where a gateway repeats ids; ID#advisor:N
    request_id TEXT,
    context INTEGER NOT NULL REFERENCES context,
    time INTEGER,
    input INTEGER NOT NULL, output INTEGER NOT NULL, cache_read INTEGER NOT NULL,
    cache_write_5m INTEGER NOT NULL, cache_write_1h INTEGER NOT NULL,
    thinking INTEGER,                     -- tokens of the output, where the API tells
    web_searches INTEGER NOT NULL, web_fetches INTEGER NOT NULL,
    is_sidechain INTEGER NOT NULL,
    is_abandoned INTEGER NOT NULL,        -- on a branch that was rewound
    doubt INTEGER NOT NULL,               -- 1 provisional: nothing says why it ended; 2 suspect: a stub, too
    rows INTEGER NOT NULL,                -- lines that repeat it in this file; 0 for an advisor's call
    nanodollars INTEGER,
    recorded INTEGER,                     -- nano-dollars the client wrote into the line
    saved INTEGER,                        -- nano-dollars the cache saved; negative where writing cost more
    rebuilt INTEGER,                      -- tokens written into the cache again, where most of it was gone
    premium INTEGER,                      -- nano-dollars those cost above reading them
    cause TEXT,                           -- why the cache was gone
    by_api INTEGER,                       -- 1 when the API told the cause, 0 when it was inferred
    thinking_estimate INTEGER,            -- tokens by the stored text; NULL where the API tells, or the text is hidden
    is_shared INTEGER NOT NULL DEFAULT 0, -- other files tell of it too: `copied` says which row counts
    PRIMARY KEY (file, key)
) WITHOUT ROWID;
CREATE INDEX request_by_key ON request(key);

-- Responses that several files tell of.
CREATE TABLE copied (
    key TEXT PRIMARY KEY,
    owner INTEGER NOT NULL REFERENCES file,   -- whose it is, and when it was
    counted INTEGER NOT NULL REFERENCES file, -- whose counts are taken
    time INTEGER,
    web_searches INTEGER NOT NULL, doubt INTEGER NOT NULL, rows INTEGER NOT NULL,
    files INTEGER NOT NULL,
    nanodollars INTEGER,
    saved INTEGER
) WITHOUT ROWID;
{_RESPONSES}
-- The ledger added up by quarter of an hour, the finest step between two time zones: a report of days reads these.
CREATE TABLE usage_cell (
    quarter INTEGER NOT NULL,             -- time / 900000; -1 for responses without a time after 1970
    model TEXT NOT NULL,                  -- '' where none is named
    requests INTEGER NOT NULL,
    input INTEGER NOT NULL, output INTEGER NOT NULL, cache_read INTEGER NOT NULL,
    cache_write_5m INTEGER NOT NULL, cache_write_1h INTEGER NOT NULL,
    web_searches INTEGER NOT NULL,
    nanodollars INTEGER,
    unpriced INTEGER NOT NULL,            -- tokens without a price
    duplicates INTEGER NOT NULL,          -- rows that repeated a response
    suspect INTEGER NOT NULL, provisional INTEGER NOT NULL,
    first INTEGER, last INTEGER,          -- times of the first and last response
    PRIMARY KEY (quarter, model)
) WITHOUT ROWID;

-- Small facts about the archive itself, such as which prices its money was counted with.
CREATE TABLE note (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
"""

_SEEN = """
-- Every file and folder as the last walk left it: while none has changed, a sync is a few thousand stats.
-- Packed, because a row for each would take nearly as long to fetch as the stats.
CREATE TABLE source_state (
    machine TEXT PRIMARY KEY,
    paths BLOB NOT NULL,                  -- as the file system has them, a NUL between two
    states BLOB NOT NULL                  -- all sizes (-1 for a folder), then all mtime_ns: little-endian, 64 bits each
);
"""

_CLIENT_SAID = """
-- What Claude Code itself said: its running total of a session, hidden calls included, and the limits it was given.
-- The last thing said per count: a client counts on when a session is resumed or forked, or begins again at zero.
CREATE TABLE client_total (
    session TEXT NOT NULL,                -- its uuid
    machine TEXT NOT NULL,
    file INTEGER REFERENCES file,         -- the transcript or captured stream it stands in; NULL for a status line
    source TEXT NOT NULL,                 -- cost-state, result or statusline
    began INTEGER,                        -- when the client began to count, where it tells
    time INTEGER,                         -- when it said so
    first INTEGER,                        -- nano-dollars it said first: less than the count before, it began at zero
    nanodollars INTEGER,                  -- what it said last: everything since it began
    models TEXT,                          -- a JSON object by model: nanodollars and tokens
    five_hour_percent REAL, five_hour_resets INTEGER,    -- how much of the limit is used, and when it resets
    seven_day_percent REAL, seven_day_resets INTEGER,
    context_tokens INTEGER, context_size INTEGER
);
CREATE INDEX client_total_by_session ON client_total(session);
CREATE INDEX client_total_by_file ON client_total(file);
"""

_FORGOTTEN = """
-- Files a person had forgotten: a sync passes them by, even while their source exists.
CREATE TABLE forgotten (key TEXT PRIMARY KEY, at INTEGER NOT NULL) WITHOUT ROWID;
"""

_FRICTION = """
-- Moments of friction, found when a session is imported. A fork repeats those of the session it left.
CREATE TABLE friction (
    session INTEGER NOT NULL REFERENCES session,
    uuid TEXT,                            -- the line that proves it; `reread show SESSION --around UUID`
    agent TEXT,                           -- the subagent it happened in; NULL in the conversation itself
    kind TEXT NOT NULL,                   -- interrupt, rejection, hook_block, tool_error, correction, re_ask, loop, ...
    time INTEGER,
    evidence TEXT NOT NULL,               -- a short quote or a count, without secrets
    confidence REAL NOT NULL,
    cause TEXT NOT NULL,                  -- agent, environment or prompt
    about TEXT NOT NULL,                  -- the class of an error, a tool, a file, a command
    seconds REAL, tokens INTEGER, nanodollars INTEGER,   -- what it cost
    details TEXT NOT NULL                 -- a JSON object
);
CREATE INDEX friction_by_session ON friction(session);
CREATE INDEX friction_by_uuid ON friction(uuid);

-- How a session ended, and what patterns over many sessions are found from.
CREATE TABLE session_end (
    session INTEGER PRIMARY KEY REFERENCES session,
    last_test TEXT, last_test_uuid TEXT,  -- passed or failed
    commits INTEGER NOT NULL, last_commit_uuid TEXT, pushes INTEGER NOT NULL, pull_requests INTEGER NOT NULL,
    todos_done INTEGER NOT NULL, todos_open INTEGER NOT NULL,
    ended TEXT NOT NULL,                  -- answered, interrupted, failed or unanswered
    prompted BLOB NOT NULL,               -- of every prompt its time and the CRC-32 of its text: 8 + 4 bytes
    material BLOB NOT NULL                -- prompts as sketches, rules, command chains: msgpack, compressed with zstd
);

-- Changes of instruction files that sessions show.
CREATE TABLE instruction_change (
    session INTEGER NOT NULL REFERENCES session,
    path TEXT NOT NULL,
    uuid TEXT,
    time INTEGER
);
CREATE INDEX instruction_change_by_session ON instruction_change(session);

-- False finds: what a person said is no moment of friction. Stands in no file, and is kept when the index is rebuilt.
CREATE TABLE moment_verdict (
    uuid TEXT NOT NULL,
    kind TEXT NOT NULL,                   -- '' for whatever was found at this line
    session TEXT NOT NULL,                -- its uuid
    at INTEGER NOT NULL,
    PRIMARY KEY (uuid, kind)
) WITHOUT ROWID;
"""

WORDS = """CREATE VIRTUAL TABLE search USING fts5(
    result, tool, text, thinking, prompt, title, content='', columnsize=0, tokenize="unicode61 remove_diacritics 2"
)"""

_SEARCH_SETTINGS = """\
INSERT INTO search(search, rank) VALUES ('hashsize', 8000000);
INSERT INTO search(search, rank) VALUES ('automerge', 16);
INSERT INTO search(search, rank) VALUES ('crisismerge', 64);
"""

_SEARCH = f"""
-- A piece of text that can be found: where its line lies, never the text itself.
CREATE TABLE block (
    id INTEGER PRIMARY KEY,               -- newer sessions have larger ids
    file INTEGER NOT NULL REFERENCES file,
    offset INTEGER NOT NULL, length INTEGER NOT NULL,   -- of its line; in a capture maybe of several
    part INTEGER NOT NULL,                -- which text of the line
    field INTEGER NOT NULL,               -- {", ".join(f"{i} {name}" for i, name in enumerate(FIELDS))}
    time INTEGER
);
-- The first column is free, each of the others costs two bytes for every word of a text: results are most of it.
{WORDS};
-- A segment per 8 MB of words instead of one per MB, merged when there are many: a cold sync merges half as much.
{_SEARCH_SETTINGS}CREATE VIRTUAL TABLE vocabulary USING fts5vocab(search, row);
"""

_MARKS = """
-- What a person noted on a session. It stands in no source: a rebuild takes it over, and marks.json has it once more.
CREATE TABLE mark (
    session TEXT PRIMARY KEY,             -- its uuid: copies of a session share it
    starred INTEGER NOT NULL,
    tags TEXT NOT NULL,                   -- a JSON array
    note TEXT,
    title TEXT,                           -- overrides the title in its files
    hidden INTEGER NOT NULL               -- left out of lists unless asked for
) WITHOUT ROWID;
"""

_MARK_CHANGES = """
-- When a mark was last changed or taken away: between machines the later one wins. Times in milliseconds since 1970.
CREATE TABLE mark_change (
    session TEXT PRIMARY KEY,             -- its uuid
    at INTEGER NOT NULL                   -- 0 where nobody noted it
) WITHOUT ROWID;
INSERT INTO mark_change SELECT session, 0 FROM mark;
CREATE TRIGGER mark_written AFTER INSERT ON mark BEGIN
    INSERT OR REPLACE INTO mark_change
    VALUES (NEW.session, CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER));
END;
CREATE TRIGGER mark_taken_away AFTER DELETE ON mark BEGIN
    INSERT OR REPLACE INTO mark_change
    VALUES (OLD.session, CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER));
END;
"""

_MOVED = """
-- What a person said about folders: what happened in one, and below it, belongs to another today. Kept as marks are.
CREATE TABLE moved_folder (
    earlier TEXT PRIMARY KEY,
    today TEXT NOT NULL
) WITHOUT ROWID;
"""

_BACKUPS = """
-- Copies of files from before the client changed them are files, too, of no session but `backup_of` one: queries for
-- a session's files mean its conversation. Backups with the same bytes share a piece.
ALTER TABLE file ADD COLUMN backup_of INTEGER REFERENCES session;
CREATE INDEX file_by_backup_of ON file(backup_of, present) WHERE backup_of IS NOT NULL;
"""
_LISTS = """
-- What a list, a count of sources and a report ask of all files: answered by these alone, without a look at the rows.
DROP INDEX file_by_session;
CREATE INDEX file_of_session ON file(session, kind, present, mtime_ns);
CREATE INDEX file_by_source ON file(source);
CREATE INDEX file_by_lines ON file(lines, malformed);
"""
_TALK = """
-- What a person typed: where its line lies. `session.prompts` counts these.
CREATE TABLE prompt (
    file INTEGER NOT NULL REFERENCES file,
    offset INTEGER NOT NULL, part INTEGER NOT NULL, length INTEGER NOT NULL,
    time INTEGER,
    digest INTEGER,                       -- what its copies in other files have in common
    is_copy INTEGER NOT NULL,             -- 1 where another session told it first: `WHERE NOT is_copy` has each once
    PRIMARY KEY (file, offset, part)
) WITHOUT ROWID;
CREATE INDEX prompt_by_digest ON prompt(digest);
CREATE INDEX prompt_by_time ON prompt(time) WHERE is_copy = 0;

-- What the model thought, in the same way; those without a text, too.
CREATE TABLE thought (
    file INTEGER NOT NULL REFERENCES file,
    offset INTEGER NOT NULL, part INTEGER NOT NULL, length INTEGER NOT NULL,
    time INTEGER,
    state INTEGER NOT NULL,               -- 0 with a text, 1 redacted, 2 empty with a signature, 3 empty
    characters INTEGER NOT NULL,
    digest INTEGER,
    is_copy INTEGER NOT NULL,
    PRIMARY KEY (file, offset, part)
) WITHOUT ROWID;
CREATE INDEX thought_by_digest ON thought(digest);
CREATE INDEX thought_by_time ON thought(time) WHERE is_copy = 0;

ALTER TABLE tool_call ADD COLUMN digest INTEGER;
ALTER TABLE tool_call ADD COLUMN is_copy INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tool_call ADD COLUMN offset INTEGER;   -- of its line; NULL in what an earlier version took in
ALTER TABLE tool_call ADD COLUMN length INTEGER;
CREATE INDEX tool_call_by_digest ON tool_call(digest);

-- Whether `prompt` and `thought` have what the file tells; an earlier version took it in without them.
ALTER TABLE file ADD COLUMN has_talk INTEGER NOT NULL DEFAULT 0;
CREATE INDEX file_without_talk ON file(session, kind) WHERE has_talk = 0;
"""
# The last walk that an earlier version remembers has no backups in it: without it, the next sync walks again.
_LOOK_AGAIN = "DELETE FROM source_state;"

# The owner of a response in several files used to depend on the order of import, later on file keys alone. Without
# the note of its prices, the next command that may write prices the whole archive again and settles every such response
# again.
_COUNT_AGAIN = "DELETE FROM note WHERE name IN ('prices', 'price_files');"
_MACHINES = """
-- Machines whose sessions are here. Everywhere else `machine` is the id of one.
CREATE TABLE machine (
    id TEXT PRIMARY KEY,                  -- random, made once; machine.json in the archive's folder has it once more
    label TEXT NOT NULL,                  -- the host name, unless a person called it something
    names TEXT NOT NULL,                  -- a JSON array: host names that stood for the id before there was one
    is_own INTEGER NOT NULL               -- 1 for the machine this archive is of
) WITHOUT ROWID;
"""

_PLACES = """
-- Other places that hold what a file holds, or the beginning of it: another folder, user, mount or machine. A session
-- is its content: rows, words and bytes are those of the file, and are there once.
CREATE TABLE file_copy (
    key TEXT PRIMARY KEY,                 -- digest of machine and path; pieces may carry it from when it was a file
    file INTEGER NOT NULL REFERENCES file,
    machine TEXT NOT NULL,
    source TEXT NOT NULL,
    path TEXT NOT NULL,
    device INTEGER, inode INTEGER, size INTEGER, mtime_ns INTEGER,   -- as last seen
    present INTEGER NOT NULL DEFAULT 1,
    vanished INTEGER
) WITHOUT ROWID;
CREATE INDEX file_copy_by_file ON file_copy(file);
"""

_EXTRACTORS = """
-- Which version of the extractor made a file's rows: what an older one made is made anew from the safe.
ALTER TABLE file ADD COLUMN extractor INTEGER NOT NULL DEFAULT 1;
"""


_FRICTION_WAITS = """
-- Sessions whose moments of friction are not found yet, or not those of their newest lines: a sync before an answer
-- that does not need them leaves them for one that does.
CREATE TABLE friction_waits (
    session INTEGER PRIMARY KEY REFERENCES session(id)
);
"""

_RESULT_WAITS = """
-- Tool results whose words are not in the index yet: those among the blocks of a file from `first` to `last`. A large
-- sync before an answer that does not need them leaves them for one that does.
CREATE TABLE result_waits (
    file INTEGER NOT NULL REFERENCES file(id),
    first INTEGER NOT NULL, last INTEGER NOT NULL,
    PRIMARY KEY (file, first)
) WITHOUT ROWID;
"""


_PARTLY_INDEXED = """
-- Texts of which the index may not have every word: images, long blobs and colours are left out of it. Regex search
-- always reads these.
CREATE TABLE partly_indexed (
    block INTEGER PRIMARY KEY
);
-- Every word of the index, for searches for letters inside of words: FTS5 finds them by their beginnings alone, and
-- reads all that it has to list them. Made when it is first needed; gone as soon as one of its blocks is.
CREATE TABLE term_list (
    first INTEGER NOT NULL, last INTEGER NOT NULL,   -- of the blocks whose words these are
    terms BLOB NOT NULL,                  -- one per line, compressed
    checksum INTEGER NOT NULL
);
CREATE TRIGGER words_of_block_gone AFTER DELETE ON block BEGIN
    DELETE FROM partly_indexed WHERE block = old.id;
    DELETE FROM term_list;
END;
"""
_INDEXED_BEFORE = "INSERT INTO partly_indexed SELECT id FROM block;"
"""Blocks indexed before this table existed may each lack words."""

_CLOSED_PARTS = """
-- What the first lines of a transcript amount to, once nothing that follows can change it: a sync goes on from there.
CREATE TABLE closed_part (
    file INTEGER PRIMARY KEY REFERENCES file(id),
    state BLOB NOT NULL
);
CREATE TRIGGER closed_part_of_forgotten_file BEFORE DELETE ON file BEGIN
    DELETE FROM closed_part WHERE file = OLD.id;
END;
"""


_SECRETS = """
-- A key or a password that lies in a file: where, and of which kind; never the value itself.
CREATE TABLE secret (
    file INTEGER NOT NULL REFERENCES file,
    offset INTEGER NOT NULL,              -- of its line
    kind TEXT NOT NULL,
    digest BLOB NOT NULL,                 -- the same for the same value, with a key that only this archive has
    uuid TEXT,                            -- of its line
    field TEXT NOT NULL,                  -- prompt, text, thinking, tool, result or other
    time INTEGER
);
CREATE INDEX secret_by_file ON secret(file);
-- How far a file was looked through, and by which version of what looks.
CREATE TABLE secret_scan (
    file INTEGER PRIMARY KEY REFERENCES file,
    generation INTEGER NOT NULL, done INTEGER NOT NULL, version INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TRIGGER secret_of_forgotten_file BEFORE DELETE ON file BEGIN
    DELETE FROM secret WHERE file = OLD.id;
    DELETE FROM secret_scan WHERE file = OLD.id;
END;
"""


_LOSSES = """
-- When the first and the last of the responses came that a moment cost: by these its money follows the prices in force.
ALTER TABLE friction ADD COLUMN spent_first INTEGER;
ALTER TABLE friction ADD COLUMN spent_last INTEGER;
"""

_SEARCHABLE = """
-- Makes the full-text index browsable: which texts there are. The texts are in the safe.
CREATE VIEW searchable AS
SELECT id, NULL AS result, NULL AS tool, NULL AS text, NULL AS thinking, NULL AS prompt, NULL AS title FROM block;
"""
_UNNAMED = lazy.pattern(r"\bREFERENCES (\w+)\b(?!\()")


def _opened(sql: str) -> str:
    """The SQL in a form that general SQLite programs can use.

    Datasette needs the column of a foreign key. sqlite-utils counts the rows of every table, which SQLite cannot do for
    a full-text table without content.
    """
    return _UNNAMED.sub(r"REFERENCES \1(id)", sql).replace("content=''", 'content="searchable", content_rowid="id"')


def _open_to_other_programs(connection: Connection) -> None:
    """Changes the definitions of tables and no row, by the procedure in SQLite's documentation."""
    _script(_SEARCHABLE)(connection)
    tables = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table' AND sql NOT NULL").fetchall()
    changed = [(name, _opened(sql)) for name, sql in tables if _opened(sql) != sql]
    (version,) = connection.execute("PRAGMA schema_version").fetchone()
    connection.execute("PRAGMA writable_schema = ON")
    try:
        for name, sql in changed:
            connection.execute("UPDATE sqlite_master SET sql = ? WHERE type = 'table' AND name = ?", (sql, name))
        connection.execute(f"PRAGMA schema_version = {version + 1:d}")
    except DatabaseError:  # the SQLite of macOS refuses: empty tables are made again here, others by the next rebuild
        for name, sql in changed:
            _recreate(connection, name, sql)
    finally:
        connection.execute("PRAGMA writable_schema = OFF")


def _recreate(connection: Connection, table: str, sql: str) -> None:
    """Makes a table again with another definition if it has no rows yet."""
    counted = "block" if table == "search" else table
    if connection.execute(f"SELECT 1 FROM {counted} LIMIT 1").fetchone() is not None:  # noqa: S608  our own names
        return
    with_it = connection.execute(
        "SELECT sql FROM sqlite_master WHERE tbl_name = ? AND type IN ('index', 'trigger') AND sql NOT NULL", (table,)
    ).fetchall()
    connection.execute(f"DROP TABLE {table}")
    connection.execute(sql)
    for (made,) in with_it:
        connection.execute(made)
    if table == "search":
        _script(_SEARCH_SETTINGS)(connection)


def _script(sql: str) -> Callable[[Connection], None]:
    """Runs statements inside the caller's transaction; `executescript` would commit it."""

    def apply(connection: Connection) -> None:
        for statement in _statements(sql):
            connection.execute(statement)

    return apply


def _statements(sql: str) -> list[str]:
    found: list[str] = []
    text = ""
    for line in sql.splitlines(keepends=True):
        text += line
        if complete_statement(text):
            found.append(text)
            text = ""
    return found


def _machines(connection: Connection) -> None:
    from .machine_file import settle_in

    _script(_MACHINES)(connection)
    settle_in(connection)


def _add_talk(connection: Connection) -> None:
    """Adds the tables, and gives existing calls the digests, copy marks and counts that new calls get."""
    _script(_TALK)(connection)
    if connection.execute("SELECT 1 FROM tool_call LIMIT 1").fetchone() is None:
        return
    from reread.rows.of_session import call_digest
    from reread.sessions.calls import call_identity

    from .conversation_rows import mark_all_copies

    connection.create_function("call_digest", 2, lambda name, time: call_digest(call_identity(name, time)))
    connection.execute("UPDATE tool_call SET digest = call_digest(id, time)")
    mark_all_copies(connection, "tool_call")
    connection.execute(
        """UPDATE session SET (tool_calls, tool_errors) = (
               SELECT count(DISTINCT tool_call.id), count(DISTINCT CASE WHEN status = 'error' THEN tool_call.id END)
               FROM file JOIN tool_call ON tool_call.file = file.id WHERE file.session = session.id
           )"""
    )


MIGRATIONS: dict[str, Callable[[Connection], None]] = {
    "files_and_pieces": _script(_FILES),
    "sessions_and_tool_calls": _script(_SESSIONS),
    "requests": _script(_REQUESTS),
    "seen": _script(_SEEN),
    "forgotten": _script(_FORGOTTEN),
    "search": _script(_SEARCH),
    "client_said": _script(_CLIENT_SAID),
    "marks": _script(_MARKS),
    "friction": _script(_FRICTION),
    "moved": _script(_MOVED),
    "backups": _script(_BACKUPS + _LOOK_AGAIN),
    "owners_by_content": _script(_COUNT_AGAIN),
    "machines": _machines,
    "places": _script(_PLACES),
    "extractors": _script(_EXTRACTORS),
    "secrets": _script(_SECRETS),
    "indexes_for_lists": _script(_LISTS + _LOOK_AGAIN),
    "prompts_thoughts_and_copies": _add_talk,
    "mark_changes": _script(_MARK_CHANGES),
    "open_to_other_programs": _open_to_other_programs,
    "losses_by_responses": _script(_LOSSES),
    "friction_waits": _script(_FRICTION_WAITS),
    "result_waits": _script(_RESULT_WAITS),
    "closed_parts": _script(_CLOSED_PARTS),
    "partly_indexed": _script(_PARTLY_INDEXED + _INDEXED_BEFORE),
    "responses_by_copies": _script(_WITHOUT_RESPONSES + _RESPONSES),
    "owners_by_beginning": _script(_COUNT_AGAIN),
}
"""Applied in this order, each in a transaction with its own record. Never change a released one: add another."""

NAMES = {
    "file": ("source", "path"),
    "file_copy": ("source", "path"),
    "session": ("uuid", "folder"),
    "client_total": ("session",),
    "mark": ("session",),
    "mark_change": ("session",),
    "moved_folder": ("earlier", "today"),
    "moment_verdict": ("session",),
}
"""Columns with names from the file system: text, or bytes if a name is not UTF-8. Their type in a STRICT table is
ANY."""

CHECKS = {
    "machine": "is_own IN (0, 1)",
    "file": "generation >= 1 AND min(taken, indexed, lines, malformed) >= 0 AND present IN (0, 1, 2)",
    "piece": "generation >= 1 AND min(start, length, pack, offset, stored) >= 0 AND length(sha256) = 32",
    "file_copy": "present IN (0, 1)",
    "prompt": "min(offset, part, length) >= 0 AND is_copy IN (0, 1)",
    "thought": "min(offset, part, length, characters) >= 0 AND state BETWEEN 0 AND 3 AND is_copy IN (0, 1)",
    "request": "min(input, output, cache_read, cache_write_5m, cache_write_1h, web_searches, web_fetches, rows) >= 0"
    " AND is_sidechain IN (0, 1) AND is_abandoned IN (0, 1) AND doubt IN (0, 1, 2) AND is_shared IN (0, 1)",
    "copied": "min(web_searches, rows) >= 0 AND doubt IN (0, 1, 2) AND files >= 2",
    "client_total": "source IN ('cost-state', 'result', 'statusline')",
    "mark": "starred IN (0, 1) AND hidden IN (0, 1)",
    "friction": "confidence BETWEEN 0 AND 1 AND cause IN ('agent', 'environment', 'prompt')",
    "session_end": "min(commits, pushes, pull_requests, todos_done, todos_open) >= 0"
    " AND ended IN ('answered', 'interrupted', 'failed', 'unanswered')",
    "block": f"min(offset, length, part) >= 0 AND field BETWEEN 0 AND {len(FIELDS) - 1}",
    "result_waits": "last >= first",
}
"""What must be true of every row besides the types of its columns. SQLite checks it in STRICT tables, `integrity` in
all."""

IS_STRICT = sqlite_version_info >= (3, 37)
"""Whether this SQLite has STRICT tables, which enforce the types of columns."""
_TABLE = lazy.pattern(r"(?s)(.*?CREATE TABLE (\w+) \()(.*)\)( WITHOUT ROWID)?;(\s*)\Z")


def _strict(statement: str) -> str:
    """The statement as that of a STRICT table with the table's check, if it creates an ordinary table."""
    found = None if "VIRTUAL" in statement else _TABLE.match(statement)
    if found is None:
        return statement
    head, table, columns, rowless, end = found.groups()
    for name in NAMES.get(table, ()):
        columns = re.sub(rf"\b{name} TEXT\b", f"{name} ANY", columns, count=1)
    if check := CHECKS.get(table):
        columns = re.sub(r"([^\s,])( *(?:--[^\n]*)?)\n\Z", rf"\1,\2\n    CHECK ({check})\n", columns)
    return f"{head}{columns}){' WITHOUT ROWID, STRICT' if rowless else ' STRICT'};{end}"


_TABLES = (
    _MACHINES,
    _FILES,
    _PLACES,
    _SESSIONS,
    _BACKUPS,
    _EXTRACTORS,
    _LISTS,
    _TALK,
    _REQUESTS,
    _CLIENT_SAID,
    _MARKS,
    _MARK_CHANGES,
    _MOVED,
    _FRICTION,
    _LOSSES,
    _FRICTION_WAITS,
    _SEEN,
    _FORGOTTEN,
    _SEARCH,
    _RESULT_WAITS,
    _SEARCHABLE,
    _SECRETS,
    _CLOSED_PARTS,
    _PARTLY_INDEXED,
)


def schema() -> str:
    """All tables of a new archive.

    An older archive has the same columns without STRICT and CHECK: adding those means writing every row again, which
    only a rebuild does.
    """
    tables = _opened("\n".join(_TABLES)).strip()
    return "".join(map(_strict, _statements(f"{tables}\n"))).strip() if IS_STRICT else tables


IN_SCHEMA = frozenset(MIGRATIONS)


def create(connection: Connection) -> None:
    """Creates in an empty database what all migrations together produce."""
    from .machine_file import settle_in

    _script(schema())(connection)
    settle_in(connection)
