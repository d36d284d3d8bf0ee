-- The tables of the index, from top to bottom. `reread sql --schema` prints this file.
--
-- The index is a cache of the safe: another VERSION in schema.py makes all of it again. Five tables hold what a person
-- said and stands in no file (mark, mark_change, moved_folder, moment_verdict, forgotten): a new index takes them over,
-- with the names of machines and what a status line said.
--
-- Times are milliseconds since 1970 in UTC. Money is whole nano-dollars; NULL where a price is unknown. A column of type
-- ANY has a name from the file system: text, or bytes if the name is not UTF-8. Integer ids are valid in this database
-- alone; `file.key`, `session.uuid`, ids of requests and tool calls, and a block by file key and offset are valid
-- anywhere, because they come from content.

-- Machines whose sessions are here. Everywhere else `machine` is the id of one.
CREATE TABLE machine (
    id TEXT PRIMARY KEY,                  -- random, made once; machine.json in the archive's folder has it once more
    label TEXT NOT NULL,                  -- the host name, unless a person called it something
    is_own INTEGER NOT NULL CHECK (is_own IN (0, 1))   -- 1 for the machine this archive is of
) WITHOUT ROWID, STRICT;

-- One row per source file ever seen. Backups, from before the client changed a file, are files of no session but
-- `backup_of` one: queries for a session's files mean its conversation. Backups with the same bytes share a piece.
CREATE TABLE file (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,             -- digest of machine and path
    machine TEXT NOT NULL,
    source ANY NOT NULL,                  -- the folder it was found in; `wire` for what reread captured itself
    path ANY NOT NULL,
    kind TEXT NOT NULL,                   -- transcript, subagent, meta, tool_result, capture, ...
    session INTEGER REFERENCES session(id),
    agent TEXT,
    workflow TEXT,
    device INTEGER, inode INTEGER, size INTEGER, mtime_ns INTEGER,   -- as last seen; size is -1 if not read yet
    generation INTEGER NOT NULL DEFAULT 1,    -- grows when the file was rewritten
    taken INTEGER NOT NULL DEFAULT 0,         -- bytes that are in the safe
    indexed INTEGER NOT NULL DEFAULT 0,       -- bytes whose lines are in the index
    lines INTEGER NOT NULL DEFAULT 0,
    malformed INTEGER NOT NULL DEFAULT 0,
    head BLOB, tail BLOB,                     -- digests of the first and last KiB taken
    present INTEGER NOT NULL DEFAULT 1,       -- 0 once the source is gone; 2 for a capture, which is kept here alone
    vanished INTEGER,                         -- when that was noticed
    first_block INTEGER, last_block INTEGER,  -- its blocks lie between these, among others
    first_request INTEGER, last_request INTEGER,   -- times of its responses; an index of all would be larger by far
    backup_of INTEGER REFERENCES session(id),
    CHECK (generation >= 1 AND min(taken, indexed, lines, malformed) >= 0 AND present IN (0, 1, 2))
) STRICT;
-- What a list, a count of sources and a report ask of all files: answered by these alone, without a look at the rows.
CREATE INDEX file_of_session ON file(session, kind, present, mtime_ns);
CREATE INDEX file_by_source ON file(source);
CREATE INDEX file_by_lines ON file(lines, malformed);
CREATE INDEX file_by_backup_of ON file(backup_of, present) WHERE backup_of IS NOT NULL;

-- Where the bytes of a file lie in the safe.
CREATE TABLE piece (
    file INTEGER NOT NULL REFERENCES file(id),
    generation INTEGER NOT NULL,
    start INTEGER NOT NULL,
    length INTEGER NOT NULL,
    sha256 BLOB NOT NULL,
    pack INTEGER NOT NULL, offset INTEGER NOT NULL, stored INTEGER NOT NULL,
    PRIMARY KEY (file, generation, start),
    CHECK (generation >= 1 AND min(start, length, pack, offset, stored) >= 0 AND length(sha256) = 32)
) WITHOUT ROWID, STRICT;

-- Other places that hold what a file holds, or the beginning of it: another folder, user, mount or machine. A session
-- is its content: rows, words and bytes are those of the file, and are there once.
CREATE TABLE file_copy (
    key TEXT PRIMARY KEY,                 -- digest of machine and path; pieces may carry it from when it was a file
    file INTEGER NOT NULL REFERENCES file(id),
    machine TEXT NOT NULL,
    source ANY NOT NULL,
    path ANY NOT NULL,
    device INTEGER, inode INTEGER, size INTEGER, mtime_ns INTEGER,   -- as last seen
    present INTEGER NOT NULL DEFAULT 1 CHECK (present IN (0, 1)),
    vanished INTEGER
) WITHOUT ROWID, STRICT;
CREATE INDEX file_copy_by_file ON file_copy(file);

-- Every file and folder as the last walk left it: while none has changed, a sync is a few thousand stats.
-- Packed, because a row for each would take nearly as long to fetch as the stats.
CREATE TABLE source_state (
    machine TEXT PRIMARY KEY,
    paths BLOB NOT NULL,                  -- as the file system has them, a NUL between two
    states BLOB NOT NULL                  -- all sizes (-1 for a folder), then all mtime_ns: little-endian, 64 bits each
) STRICT;

-- What the first lines of a transcript amount to, once nothing that follows can change it: a sync goes on from there.
CREATE TABLE closed_part (
    file INTEGER PRIMARY KEY REFERENCES file(id),
    state BLOB NOT NULL
) STRICT;
CREATE TRIGGER closed_part_of_forgotten_file BEFORE DELETE ON file BEGIN
    DELETE FROM closed_part WHERE file = OLD.id;
END;

-- One row per session and place; a copy of a session in another folder is a row of its own.
CREATE TABLE session (
    id INTEGER PRIMARY KEY,
    uuid ANY NOT NULL,
    machine TEXT NOT NULL,
    folder ANY NOT NULL,
    project TEXT,                         -- the real working directory
    title TEXT,
    started INTEGER, ended INTEGER,
    versions TEXT, models TEXT, git_branches TEXT,   -- JSON arrays
    prompts INTEGER, turns INTEGER, requests INTEGER, tool_calls INTEGER, tool_errors INTEGER, thoughts INTEGER,
    output_tokens INTEGER, nanodollars INTEGER, unpriced_tokens INTEGER,
    subagents INTEGER, branches INTEGER, compactions INTEGER,
    bytes INTEGER,
    driver TEXT NOT NULL,                 -- person; sdk where a person or a program can be; '' where nothing tells
    opening INTEGER,                      -- equal for equal first lines; NULL for a short one
    second TEXT,                          -- the first prompt that the title does not tell
    continued_in TEXT,                    -- the session that goes on with the conversation
    team TEXT NOT NULL,                   -- the team of sessions it is in; '' for none
    member TEXT NOT NULL,                 -- its name there; '' for the one that started the team
    UNIQUE (machine, folder, uuid)
) STRICT;
CREATE INDEX session_by_opening ON session(opening, driver, started) WHERE opening NOT NULL;
CREATE INDEX session_by_end ON session(ended);
CREATE INDEX session_by_uuid ON session(uuid);
CREATE INDEX session_by_title ON session(title, uuid);
CREATE INDEX session_by_team ON session(team) WHERE team <> '';

-- What a person typed: where its line lies. `session.prompts` counts these.
CREATE TABLE prompt (
    file INTEGER NOT NULL REFERENCES file(id),
    offset INTEGER NOT NULL, part INTEGER NOT NULL, length INTEGER NOT NULL,
    time INTEGER,
    digest INTEGER,                       -- what its copies in other files have in common
    is_copy INTEGER NOT NULL,             -- 1 where another session told it first: `WHERE NOT is_copy` has each once
    PRIMARY KEY (file, offset, part),
    CHECK (min(offset, part, length) >= 0 AND is_copy IN (0, 1))
) WITHOUT ROWID, STRICT;
CREATE INDEX prompt_by_digest ON prompt(digest);
CREATE INDEX prompt_by_time ON prompt(time) WHERE is_copy = 0;

-- What the model thought, in the same way; those without a text, too.
CREATE TABLE thought (
    file INTEGER NOT NULL REFERENCES file(id),
    offset INTEGER NOT NULL, part INTEGER NOT NULL, length INTEGER NOT NULL,
    time INTEGER,
    state INTEGER NOT NULL,               -- 0 with a text, 1 redacted, 2 empty with a signature, 3 empty
    characters INTEGER NOT NULL,
    digest INTEGER,
    is_copy INTEGER NOT NULL,
    PRIMARY KEY (file, offset, part),
    CHECK (min(offset, part, length, characters) >= 0 AND state BETWEEN 0 AND 3 AND is_copy IN (0, 1))
) WITHOUT ROWID, STRICT;
CREATE INDEX thought_by_digest ON thought(digest);
CREATE INDEX thought_by_time ON thought(time) WHERE is_copy = 0;

-- Which tools ran, in the same way.
CREATE TABLE tool_call (
    file INTEGER NOT NULL REFERENCES file(id),
    id TEXT NOT NULL,
    session INTEGER NOT NULL REFERENCES session(id),
    name TEXT NOT NULL,
    status TEXT NOT NULL,
    time INTEGER, seconds REAL,
    path TEXT,                            -- the file it names, if any
    digest INTEGER,
    is_copy INTEGER NOT NULL,
    offset INTEGER NOT NULL, length INTEGER NOT NULL,   -- of its line
    PRIMARY KEY (file, id),
    CHECK (min(offset, length) >= 0 AND is_copy IN (0, 1))
) WITHOUT ROWID, STRICT;
CREATE INDEX tool_call_by_digest ON tool_call(digest);

-- What many requests share: how and where they were made.
CREATE TABLE context (
    id INTEGER PRIMARY KEY,
    model TEXT,                           -- as the row names it
    version TEXT,                         -- of the client
    project TEXT, git_branch TEXT,        -- the working directory, and what was checked out there
    agent TEXT, skill TEXT, plugin TEXT, mcp_server TEXT, mcp_tool TEXT,
    tools TEXT,                           -- a JSON array of the tools the response called
    speed TEXT, geo TEXT, tier TEXT, stop_reason TEXT
) STRICT;

-- Usage as each file tells it: one row per file and API response, or call of an advisor inside one.
CREATE TABLE request (
    file INTEGER NOT NULL REFERENCES file(id),
    key TEXT NOT NULL,                    -- message id; with request and time where it is a gateway's; ID#advisor:N
    request_id TEXT,
    context INTEGER NOT NULL REFERENCES context(id),
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
    PRIMARY KEY (file, key),
    CHECK (min(input, output, cache_read, cache_write_5m, cache_write_1h, web_searches, web_fetches, rows) >= 0),
    CHECK (is_sidechain IN (0, 1) AND is_abandoned IN (0, 1) AND doubt IN (0, 1, 2) AND is_shared IN (0, 1))
) WITHOUT ROWID, STRICT;
CREATE INDEX request_by_key ON request(key);
-- Ids that gateways give, which may repeat: few, and counted in every report.
CREATE INDEX request_of_gateway ON request(key) WHERE instr(key, ' ') > 0;

-- Responses that several files tell of.
CREATE TABLE copied (
    key TEXT PRIMARY KEY,
    owner INTEGER NOT NULL REFERENCES file(id),   -- whose it is, and when it was
    counted INTEGER NOT NULL REFERENCES file(id), -- whose counts are taken
    time INTEGER,
    web_searches INTEGER NOT NULL, doubt INTEGER NOT NULL, rows INTEGER NOT NULL,
    files INTEGER NOT NULL,
    nanodollars INTEGER,
    saved INTEGER,
    CHECK (min(web_searches, rows) >= 0 AND doubt IN (0, 1, 2) AND files >= 2)
) WITHOUT ROWID, STRICT;

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
) WITHOUT ROWID, STRICT;

-- What Claude Code itself said: its running total of a session, hidden calls included, and the limits it was given.
-- The last thing said per count: a client counts on when a session is resumed or forked, or begins again at zero.
CREATE TABLE client_total (
    session ANY NOT NULL,                 -- its uuid
    machine TEXT NOT NULL,
    file INTEGER REFERENCES file(id),     -- the transcript or captured stream it stands in; NULL for a status line
    source TEXT NOT NULL CHECK (source IN ('cost-state', 'result', 'statusline')),
    began INTEGER,                        -- when the client began to count, where it tells
    time INTEGER,                         -- when it said so
    first INTEGER,                        -- nano-dollars it said first: less than the count before, it began at zero
    nanodollars INTEGER,                  -- what it said last: everything since it began
    models TEXT,                          -- a JSON object by model: nanodollars and tokens
    context_tokens INTEGER, context_size INTEGER
) STRICT;
CREATE INDEX client_total_by_session ON client_total(session);
CREATE INDEX client_total_by_file ON client_total(file);

-- What the client said of a subscription's usage limits: every value when it changed, and every answer that a limit
-- took the place of.
CREATE TABLE limit_value (
    session ANY,                          -- its uuid, for a status line
    machine TEXT NOT NULL,
    file INTEGER REFERENCES file(id),     -- the transcript or captured stream it stands in; NULL for a status line
    offset INTEGER NOT NULL,              -- of its line; 0 for a status line
    name TEXT NOT NULL,                   -- 'five_hour', 'seven_day' and others; 'usage' where it was not said which
    time INTEGER,                         -- when it was said
    percent REAL,                         -- how much is used
    resets INTEGER,                       -- when its window ends
    is_hit INTEGER NOT NULL CHECK (is_hit IN (0, 1))     -- 1 where the limit was reached
) STRICT;
CREATE INDEX limit_value_by_session ON limit_value(session, time) WHERE session NOT NULL;
CREATE INDEX limit_value_by_file ON limit_value(file, offset) WHERE file NOT NULL;
CREATE INDEX limit_value_by_window ON limit_value(name, resets);

-- What a person noted on a session; marks.json in the archive's folder has it once more.
CREATE TABLE mark (
    session ANY PRIMARY KEY,              -- its uuid: copies of a session share it
    starred INTEGER NOT NULL,
    tags TEXT NOT NULL,                   -- a JSON array
    note TEXT,
    title TEXT,                           -- overrides the title in its files
    hidden INTEGER NOT NULL,              -- left out of lists unless asked for
    typed INTEGER,                        -- 1 if a person typed its prompts, 0 if a program wrote them; NULL: not said
    CHECK (starred IN (0, 1) AND hidden IN (0, 1) AND typed IN (0, 1))
) WITHOUT ROWID, STRICT;

-- Sessions that a program drove: ten or more begin with the same line, none of which is surely a person's. Before the
-- client said how it was started (2.1.78), nothing else may have begun in their folder. What a person said overrides.
CREATE VIEW program_session AS
WITH shared AS (
    SELECT opening FROM session WHERE opening NOT NULL
    GROUP BY opening HAVING count(DISTINCT started) >= 10 AND NOT max(driver = 'person')
), alone AS (
    SELECT ifnull(project, '') FROM session
    GROUP BY 1 HAVING count(opening) = count(*) AND min(opening) = max(opening)
), likely AS (
    SELECT id, uuid FROM session WHERE opening IN shared AND (driver = 'sdk' OR ifnull(project, '') IN alone)
)
SELECT id FROM likely WHERE uuid NOT IN (SELECT session FROM mark WHERE typed NOT NULL)
UNION ALL SELECT id FROM session WHERE uuid IN (SELECT session FROM mark WHERE typed = 0);

-- When a mark was last changed or taken away: between machines the later one wins.
CREATE TABLE mark_change (
    session ANY PRIMARY KEY,              -- its uuid
    at INTEGER NOT NULL                   -- 0 where nobody noted it
) WITHOUT ROWID, STRICT;
CREATE TRIGGER mark_written AFTER INSERT ON mark BEGIN
    INSERT OR REPLACE INTO mark_change
    VALUES (NEW.session, CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER));
END;
CREATE TRIGGER mark_taken_away AFTER DELETE ON mark BEGIN
    INSERT OR REPLACE INTO mark_change
    VALUES (OLD.session, CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER));
END;

-- What a person said about folders: what happened in one, and below it, belongs to another today.
CREATE TABLE moved_folder (
    earlier ANY PRIMARY KEY,
    today ANY NOT NULL
) WITHOUT ROWID, STRICT;

-- What a person had forgotten: a sync passes it by, even while its source exists. A key is that of a file, of a session
-- or of content.
CREATE TABLE forgotten (key TEXT PRIMARY KEY, at INTEGER NOT NULL) WITHOUT ROWID, STRICT;

-- Moments of friction, found when a session is imported. A fork repeats those of the session it left.
CREATE TABLE friction (
    session INTEGER NOT NULL REFERENCES session(id),
    uuid TEXT,                            -- the line that proves it; `reread show SESSION --around UUID`
    agent TEXT,                           -- the subagent it happened in; NULL in the conversation itself
    kind TEXT NOT NULL,                   -- interrupt, rejection, hook_block, tool_error, correction, re_ask, loop, ...
    time INTEGER,
    evidence TEXT NOT NULL,               -- a short quote or a count, without secrets
    confidence REAL NOT NULL CHECK (confidence BETWEEN 0 AND 1),
    cause TEXT NOT NULL CHECK (cause IN ('agent', 'environment', 'prompt')),
    about TEXT NOT NULL,                  -- the class of an error, a tool, a file, a command
    seconds REAL, tokens INTEGER, nanodollars INTEGER,   -- what it cost
    details TEXT NOT NULL,                -- a JSON object
    spent_first INTEGER, spent_last INTEGER   -- when the first and the last response came that it cost
) STRICT;
CREATE INDEX friction_by_session ON friction(session);
CREATE INDEX friction_by_uuid ON friction(uuid);

-- Sessions whose moments of friction are not found yet, or not those of their newest lines: a sync before an answer
-- that does not need them leaves them for one that does.
CREATE TABLE friction_waits (
    session INTEGER PRIMARY KEY REFERENCES session(id)
) STRICT;

-- False finds: what a person said is no moment of friction. And secrets of which a person said that they are replaced.
CREATE TABLE moment_verdict (
    uuid TEXT NOT NULL,                   -- of the line; of a secret its digest
    kind TEXT NOT NULL,                   -- '' for whatever was found at this line; 'replaced' for a secret
    session ANY NOT NULL,                 -- its uuid
    at INTEGER NOT NULL,
    PRIMARY KEY (uuid, kind)
) WITHOUT ROWID, STRICT;

-- How a session ended, and what patterns over many sessions are found from.
CREATE TABLE session_end (
    session INTEGER PRIMARY KEY REFERENCES session(id),
    last_test TEXT, last_test_uuid TEXT,  -- passed or failed
    commits INTEGER NOT NULL, last_commit_uuid TEXT, pushes INTEGER NOT NULL, pull_requests INTEGER NOT NULL,
    todos_done INTEGER NOT NULL, todos_open INTEGER NOT NULL,
    ended TEXT NOT NULL CHECK (ended IN ('answered', 'interrupted', 'failed', 'unanswered')),
    prompted BLOB NOT NULL,               -- of every prompt its time and the CRC-32 of its text: 8 + 4 bytes
    material BLOB NOT NULL,               -- prompts as sketches, rules, command chains: msgpack, compressed with zstd
    CHECK (min(commits, pushes, pull_requests, todos_done, todos_open) >= 0)
) STRICT;

-- Changes of instruction files that sessions show.
CREATE TABLE instruction_change (
    session INTEGER NOT NULL REFERENCES session(id),
    path TEXT NOT NULL,
    uuid TEXT,
    time INTEGER
) STRICT;
CREATE INDEX instruction_change_by_session ON instruction_change(session);

-- A piece of text that can be found: where its line lies, never the text itself.
CREATE TABLE block (
    id INTEGER PRIMARY KEY,               -- newer sessions have larger ids
    file INTEGER NOT NULL REFERENCES file(id),
    offset INTEGER NOT NULL, length INTEGER NOT NULL,   -- of its line; in a capture maybe of several
    part INTEGER NOT NULL,                -- which text of the line
    field INTEGER NOT NULL,               -- 0 prompt, 1 text, 2 thinking, 3 tool, 4 result, 5 title
    time INTEGER,
    CHECK (min(offset, length, part) >= 0 AND field BETWEEN 0 AND 5)
) STRICT;

-- Makes the full-text index browsable: which texts there are. The texts are in the safe.
CREATE VIEW searchable AS
SELECT id, NULL AS result, NULL AS tool, NULL AS text, NULL AS thinking, NULL AS prompt, NULL AS title FROM block;

-- The words of all blocks. The first column is free, each of the others costs two bytes for every word of a text:
-- results are most of it.
CREATE VIRTUAL TABLE search USING fts5(
    result, tool, text, thinking, prompt, title,
    content="searchable", content_rowid="id", columnsize=0, tokenize="unicode61 remove_diacritics 2"
);
-- A segment per 8 MB of words instead of one per MB, merged when there are many: a cold sync merges half as much.
INSERT INTO search(search, rank) VALUES ('hashsize', 8000000);
INSERT INTO search(search, rank) VALUES ('automerge', 16);
INSERT INTO search(search, rank) VALUES ('crisismerge', 64);
CREATE VIRTUAL TABLE vocabulary USING fts5vocab(search, row);

-- Tool results whose words are not in the index yet: those among the blocks of a file from `first` to `last`. A large
-- sync before an answer that does not need them leaves them for one that does.
CREATE TABLE result_waits (
    file INTEGER NOT NULL REFERENCES file(id),
    first INTEGER NOT NULL, last INTEGER NOT NULL,
    PRIMARY KEY (file, first),
    CHECK (last >= first)
) WITHOUT ROWID, STRICT;

-- Texts of which the index may not have every word: images, long blobs and colours are left out of it. Regex search
-- always reads these.
CREATE TABLE partly_indexed (
    block INTEGER PRIMARY KEY
) STRICT;

-- Every word of the index, for searches for letters inside of words: FTS5 finds them by their beginnings alone, and
-- reads all that it has to list them. Made when it is first needed; gone as soon as one of its blocks is.
CREATE TABLE term_list (
    first INTEGER NOT NULL, last INTEGER NOT NULL,   -- of the blocks whose words these are
    terms BLOB NOT NULL,                  -- one per line, compressed
    checksum INTEGER NOT NULL
) STRICT;
CREATE TRIGGER words_of_block_gone AFTER DELETE ON block BEGIN
    DELETE FROM partly_indexed WHERE block = old.id;
    DELETE FROM term_list;
END;

-- A key or a password that lies in a file: where, and of which kind; never the value itself.
CREATE TABLE secret (
    file INTEGER NOT NULL REFERENCES file(id),
    offset INTEGER NOT NULL,              -- of its line
    kind TEXT NOT NULL,
    digest BLOB NOT NULL,                 -- the same for the same value, with a key that only this archive has
    uuid TEXT,                            -- of its line
    field TEXT NOT NULL,                  -- prompt, text, thinking, tool, result or other
    time INTEGER
) STRICT;
CREATE INDEX secret_by_file ON secret(file);

-- How far a file was looked through, and by which version of what looks.
CREATE TABLE secret_scan (
    file INTEGER PRIMARY KEY REFERENCES file(id),
    generation INTEGER NOT NULL, done INTEGER NOT NULL, version INTEGER NOT NULL
) WITHOUT ROWID, STRICT;
CREATE TRIGGER secret_of_forgotten_file BEFORE DELETE ON file BEGIN
    DELETE FROM secret WHERE file = OLD.id;
    DELETE FROM secret_scan WHERE file = OLD.id;
END;

-- Small facts about the archive itself, such as which prices its money was counted with.
CREATE TABLE note (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID, STRICT;
