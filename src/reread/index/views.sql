-- Views for a person's own SQL. A comment behind a column is its description, after its type where that is not TEXT;
-- columns in brackets behind a view's name are searched for words.

-- sessions (title): one row for each session that `reread list` knows
CREATE TEMP VIEW sessions AS SELECT
    CASE WHEN (SELECT count(*) FROM session AS other WHERE other.uuid = session.uuid) > 1 THEN session_name(session.uuid, session.machine, session.folder) ELSE session.uuid END AS id,  -- the id that commands take as SESSION
    ifnull(mark.title, session.title) AS title,
    project_today(session.project) AS project,  -- the folder it belongs to today
    session.project AS directory,  -- the working directory, as it was called then
    machine.label AS machine,
    strftime('%Y-%m-%dT%H:%M:%fZ', session.started / 1000.0, 'unixepoch') AS started,  -- ISO 8601, UTC
    strftime('%Y-%m-%dT%H:%M:%fZ', session.ended / 1000.0, 'unixepoch') AS ended,
    session.prompts AS prompts,  -- INTEGER
    session.turns AS turns,  -- INTEGER
    session.requests AS requests,  -- INTEGER
    session.tool_calls AS tool_calls,  -- INTEGER
    session.tool_errors AS tool_errors,  -- INTEGER
    session.thoughts AS thoughts,  -- INTEGER
    session.subagents AS subagents,  -- INTEGER
    session.branches AS branches,  -- INTEGER
    session.compactions AS compactions,  -- INTEGER
    session.output_tokens AS output_tokens,  -- INTEGER
    session.nanodollars / 1e9 AS dollars,  -- REAL with its subagents; NULL where nothing has a price
    session.models AS models,  -- a JSON array
    session.versions AS versions,  -- a JSON array
    session.git_branches AS git_branches,  -- a JSON array
    session.bytes AS bytes,  -- INTEGER
    ifnull(mark.starred, 0) AS starred,  -- INTEGER 1 if you starred it; `reread mark` sets this and the next three
    ifnull(mark.hidden, 0) AS hidden,  -- INTEGER 1 for those that `reread list` leaves out
    session.id IN program_session AS program,  -- INTEGER 1 for those that a program drove
    ifnull(mark.tags, '[]') AS tags,  -- a JSON array
    mark.note AS note,
    session.id AS number  -- INTEGER session.id in the tables
FROM session LEFT JOIN mark ON mark.session = session.uuid LEFT JOIN machine ON machine.id = session.machine

-- prompts (text): what a person typed, without what a fork or a resume repeats
CREATE TEMP VIEW prompts AS SELECT
    CASE WHEN (SELECT count(*) FROM session AS other WHERE other.uuid = session.uuid) > 1 THEN session_name(session.uuid, session.machine, session.folder) ELSE session.uuid END AS session,  -- its session: sessions.id
    project_today(session.project) AS project,  -- the folder it belongs to today
    strftime('%Y-%m-%dT%H:%M:%fZ', prompt.time / 1000.0, 'unixepoch') AS time,  -- ISO 8601, UTC
    kept_text('prompt', file.kind, file.id, file.generation, prompt.offset, prompt.length, prompt.part) AS text,
    kept_text('uuid', file.kind, file.id, file.generation, prompt.offset, prompt.length, 0) AS uuid,  -- of its line: reread show SESSION --around UUID
    file.id AS file  -- INTEGER its file: file.id
FROM prompt JOIN file ON file.id = prompt.file JOIN session ON session.id = file.session WHERE NOT prompt.is_copy
AND session.id NOT IN program_session

-- replies (text): what Claude said, without copies
CREATE TEMP VIEW replies AS SELECT
    CASE WHEN (SELECT count(*) FROM session AS other WHERE other.uuid = session.uuid) > 1 THEN session_name(session.uuid, session.machine, session.folder) ELSE session.uuid END AS session,  -- its session: sessions.id
    project_today(session.project) AS project,  -- the folder it belongs to today
    CASE file.kind WHEN 'subagent' THEN file.agent END AS agent,  -- the subagent; NULL in the conversation
    strftime('%Y-%m-%dT%H:%M:%fZ', block.time / 1000.0, 'unixepoch') AS time,  -- ISO 8601, UTC
    kept_text('text', file.kind, file.id, file.generation, block.offset, block.length, block.part) AS text,
    kept_text('uuid', file.kind, file.id, file.generation, block.offset, block.length, 0) AS uuid,  -- of its line: reread show SESSION --around UUID
    file.id AS file  -- INTEGER its file: file.id
FROM block JOIN file ON file.id = block.file JOIN session ON session.id = file.session
WHERE block.field = 1 AND (SELECT kept_text('is_reply', file.kind, file.id, file.generation, block.offset, block.length, 0))

-- thinking (text): what the model thought, where the client stored it, without copies
CREATE TEMP VIEW thinking AS SELECT
    CASE WHEN (SELECT count(*) FROM session AS other WHERE other.uuid = session.uuid) > 1 THEN session_name(session.uuid, session.machine, session.folder) ELSE session.uuid END AS session,  -- its session: sessions.id
    project_today(session.project) AS project,  -- the folder it belongs to today
    CASE file.kind WHEN 'subagent' THEN file.agent END AS agent,  -- the subagent; NULL in the conversation
    strftime('%Y-%m-%dT%H:%M:%fZ', thought.time / 1000.0, 'unixepoch') AS time,  -- ISO 8601, UTC
    kept_text('thinking', file.kind, file.id, file.generation, thought.offset, thought.length, thought.part) AS text,
    thought.characters AS characters,  -- INTEGER
    kept_text('uuid', file.kind, file.id, file.generation, thought.offset, thought.length, 0) AS uuid,  -- of its line: reread show SESSION --around UUID
    file.id AS file  -- INTEGER its file: file.id
FROM thought JOIN file ON file.id = thought.file JOIN session ON session.id = file.session WHERE NOT thought.is_copy AND thought.state = 0

-- calls (tool, input): tool calls with their input, subagents included, without copies
CREATE TEMP VIEW calls AS SELECT
    CASE WHEN (SELECT count(*) FROM session AS other WHERE other.uuid = session.uuid) > 1 THEN session_name(session.uuid, session.machine, session.folder) ELSE session.uuid END AS session,  -- its session: sessions.id
    project_today(session.project) AS project,  -- the folder it belongs to today
    CASE file.kind WHEN 'subagent' THEN file.agent END AS agent,  -- the subagent; NULL in the conversation
    tool_call.id AS call,  -- its id
    tool_call.name AS tool,
    tool_call.status AS status,  -- ok, error, rejected, ...
    strftime('%Y-%m-%dT%H:%M:%fZ', tool_call.time / 1000.0, 'unixepoch') AS time,  -- ISO 8601, UTC
    tool_call.seconds AS seconds,  -- REAL
    tool_call.path AS path,  -- the file it names, if any
    kept_text('input', file.kind, file.id, file.generation, tool_call.offset, tool_call.length, tool_call.id) AS input,  -- JSON: json_extract(input, '$.command')
    kept_text('uuid', file.kind, file.id, file.generation, tool_call.offset, tool_call.length, 0) AS uuid,  -- of its line: reread show SESSION --around UUID
    file.id AS file  -- INTEGER its file: file.id
FROM tool_call JOIN file ON file.id = tool_call.file JOIN session ON session.id = file.session WHERE NOT tool_call.is_copy

-- results (text): what calls gave back, without copies
CREATE TEMP VIEW results AS SELECT
    CASE WHEN (SELECT count(*) FROM session AS other WHERE other.uuid = session.uuid) > 1 THEN session_name(session.uuid, session.machine, session.folder) ELSE session.uuid END AS session,  -- its session: sessions.id
    project_today(session.project) AS project,  -- the folder it belongs to today
    CASE file.kind WHEN 'subagent' THEN file.agent END AS agent,  -- the subagent; NULL in the conversation
    tool_call.id AS call,  -- calls.call
    tool_call.name AS tool,
    tool_call.status AS status,
    strftime('%Y-%m-%dT%H:%M:%fZ', block.time / 1000.0, 'unixepoch') AS time,  -- ISO 8601, UTC
    kept_text('text', file.kind, file.id, file.generation, block.offset, block.length, block.part) AS text,
    kept_text('uuid', file.kind, file.id, file.generation, block.offset, block.length, 0) AS uuid,  -- of its line: reread show SESSION --around UUID
    file.id AS file  -- INTEGER its file: file.id
FROM block JOIN file ON file.id = block.file JOIN session ON session.id = file.session
    JOIN tool_call ON tool_call.file = file.id AND tool_call.id = coalesce((
        SELECT id FROM tool_call AS made WHERE made.file = file.id AND made.offset < block.offset
        AND made.id BETWEEN kept_text('call', file.kind, file.id, file.generation, block.offset, block.length, block.part) AND kept_text('call', file.kind, file.id, file.generation, block.offset, block.length, block.part) || '#~' ORDER BY made.offset DESC LIMIT 1), kept_text('call', file.kind, file.id, file.generation, block.offset, block.length, block.part))
WHERE block.field = 4 AND NOT tool_call.is_copy

-- responses: every response of the API once, with its tokens and what it cost
CREATE TEMP VIEW responses AS SELECT
    CASE WHEN (SELECT count(*) FROM session AS other WHERE other.uuid = session.uuid) > 1 THEN session_name(session.uuid, session.machine, session.folder) ELSE session.uuid END AS session,  -- its session: sessions.id
    project_today(session.project) AS project,  -- the folder it belongs to today
    CASE file.kind WHEN 'subagent' THEN file.agent END AS agent,  -- the subagent; NULL in the conversation
    strftime('%Y-%m-%dT%H:%M:%fZ', response.time / 1000.0, 'unixepoch') AS time,  -- ISO 8601, UTC
    context.model AS model,
    response.input AS input_tokens,  -- INTEGER
    response.output AS output_tokens,  -- INTEGER
    response.cache_read AS cache_read_tokens,  -- INTEGER
    response.cache_write_5m AS cache_write_5m_tokens,  -- INTEGER
    response.cache_write_1h AS cache_write_1h_tokens,  -- INTEGER
    response.thinking AS thinking_tokens,  -- INTEGER
    response.web_searches AS web_searches,  -- INTEGER
    response.nanodollars / 1e9 AS dollars,  -- REAL
    response.key AS message,  -- the id of its message
    file.id AS file  -- INTEGER its file: file.id
FROM response JOIN context ON context.id = response.context
    JOIN file ON file.id = response.owner JOIN session ON session.id = file.session

-- texts: every text that `reread search` finds, copies included
CREATE TEMP VIEW texts AS SELECT
    CASE WHEN (SELECT count(*) FROM session AS other WHERE other.uuid = session.uuid) > 1 THEN session_name(session.uuid, session.machine, session.folder) ELSE session.uuid END AS session,  -- its session: sessions.id
    project_today(session.project) AS project,  -- the folder it belongs to today
    CASE file.kind WHEN 'subagent' THEN file.agent END AS agent,  -- the subagent; NULL in the conversation
    CASE block.field WHEN 0 THEN 'prompt' WHEN 1 THEN 'text' WHEN 2 THEN 'thinking' WHEN 3 THEN 'tool' WHEN 4 THEN 'result' WHEN 5 THEN 'title' END AS field,
    strftime('%Y-%m-%dT%H:%M:%fZ', block.time / 1000.0, 'unixepoch') AS time,  -- ISO 8601, UTC
    kept_text('text', file.kind, file.id, file.generation, block.offset, block.length, block.part) AS text,
    kept_text('uuid', file.kind, file.id, file.generation, block.offset, block.length, 0) AS uuid,  -- of its line: reread show SESSION --around UUID
    file.id AS file  -- INTEGER its file: file.id
FROM block JOIN file ON file.id = block.file JOIN session ON session.id = file.session
