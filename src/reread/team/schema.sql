-- A team's store. Every statement can be repeated: `reread team init` runs all of them again, after the migrations
-- (migrations.sql) that bring the tables of an earlier store into the shape they have here.
--
-- Members read views of what they may see. All writes go through functions of the store's owner, which record the
-- caller's name. Times are milliseconds since 1970 in UTC, money is whole nano-dollars. The end of this file gives every
-- function its search path, so that none can be led to objects of its caller.

CREATE SCHEMA IF NOT EXISTS reread;
SET LOCAL search_path = reread, pg_temp;

DO $$ BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'reread_member') THEN
        CREATE ROLE reread_member NOLOGIN;
    END IF;
END $$;

-- Nobody creates objects in schema `public`, as every member may in databases made before PostgreSQL 15.
DO $$ BEGIN
    IF to_regnamespace('public') IS NOT NULL THEN
        REVOKE CREATE ON SCHEMA public FROM PUBLIC;
        IF has_schema_privilege('public', 'public', 'CREATE') THEN
            RAISE EXCEPTION 'everybody may create objects in schema public, and that is not yours to end; an administrator of the server has to run `REVOKE CREATE ON SCHEMA public FROM PUBLIC` there first';
        END IF;
    END IF;
END $$;

-- How long one connection may hold up the others, for clients that set no limits, except where the database has its own.
DO $$
DECLARE each record; own oid := (SELECT oid FROM pg_database WHERE datname = current_database());
BEGIN
    IF pg_has_role((SELECT datdba FROM pg_database WHERE oid = own), 'MEMBER') THEN
        FOR each IN SELECT * FROM jsonb_each_text('<<limits>>') WHERE key NOT IN (
            SELECT split_part(setting, '=', 1) FROM pg_db_role_setting, unnest(setconfig) AS setting
            WHERE setrole = 0 AND setdatabase = own
        ) LOOP
            EXECUTE format('ALTER DATABASE %I SET %I = %L', current_database(), each.key, each.value);
        END LOOP;
    END IF;
END $$;

-- Views and policies are made again below.
DO $$
DECLARE each record;
BEGIN
    FOR each IN SELECT viewname FROM pg_views WHERE schemaname = 'reread' LOOP
        EXECUTE format('DROP VIEW %I', each.viewname);
    END LOOP;
    FOR each IN SELECT tablename, policyname FROM pg_policies WHERE schemaname = 'reread' LOOP
        EXECUTE format('DROP POLICY %I ON %I', each.policyname, each.tablename);
    END LOOP;
END $$;
-- Facts about the store itself, such as its version.
CREATE TABLE IF NOT EXISTS note (name text PRIMARY KEY, value text NOT NULL);

-- What `team init` has done to this store, and what clients from before that cannot send or ask.
CREATE TABLE IF NOT EXISTS migration (
    number integer PRIMARY KEY,
    about text NOT NULL,
    at timestamptz NOT NULL DEFAULT now()
);

-- Who belongs to which team; `*` is every team. A role is known by its number, which stays when it is renamed and never
-- comes back when it is dropped; the name is for reading, and for a copy of the store on another server.
CREATE TABLE IF NOT EXISTS member (
    role text NOT NULL,
    team text NOT NULL,
    sees_text boolean NOT NULL DEFAULT true,
    number oid,                           -- NULL: there is no such role any more
    UNIQUE (number, team)
);

-- Under which name a role's sessions are kept, and how its client fares.
CREATE TABLE IF NOT EXISTS person (
    name text PRIMARY KEY,
    role text NOT NULL,
    number oid UNIQUE,
    pushed timestamptz, client text,      -- the last push, and the version that made it
    failures bigint NOT NULL DEFAULT 0    -- sessions that the last push could not send
);

-- Parts of which something was forgotten, to be written anew by `tidy`: a deleted row leaves its words behind.
CREATE TABLE IF NOT EXISTS untidy (part text PRIMARY KEY, gone_in xid8 NOT NULL);

-- Which team a project belongs to.
CREATE TABLE IF NOT EXISTS assignment (pattern text PRIMARY KEY, team text NOT NULL);

-- What the responses of a team, or of the projects that match a pattern, may cost in a period.
CREATE TABLE IF NOT EXISTS budget (
    kind text NOT NULL CHECK (kind IN ('team', 'project')),
    name text NOT NULL,
    period text NOT NULL CHECK (period IN ('day', 'week', 'month')),
    nanodollars bigint NOT NULL,
    PRIMARY KEY (kind, name, period)
);

CREATE TABLE IF NOT EXISTS machine (
    id text NOT NULL,
    person text NOT NULL,
    label text NOT NULL,
    PRIMARY KEY (id, person)
);

-- A session as one person pushed it.
CREATE TABLE IF NOT EXISTS session (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    person text NOT NULL,                 -- the role that pushed it
    key text NOT NULL,                    -- digest of machine, folder and id
    team text,                            -- NULL: seen by that person, and by members of `*`
    uuid text NOT NULL,
    machine text NOT NULL,
    project text,                         -- a name or a digest, as the person chose
    is_counted boolean NOT NULL DEFAULT true,   -- false if another copy contains everything that this one does
    digest text NOT NULL,                 -- of what was last sent; if it is the same, nothing is sent
    has_text boolean NOT NULL DEFAULT false,
    content_digest text,
    numbers jsonb NOT NULL,
    pushed timestamptz NOT NULL DEFAULT now(),
    UNIQUE (person, key)
);
CREATE INDEX IF NOT EXISTS session_by_uuid ON session(uuid);

-- Titles are words, so they are seen by those who see text; and the digest of a text would tell who guesses its title.
CREATE TABLE IF NOT EXISTS title (
    session bigint PRIMARY KEY REFERENCES session ON DELETE CASCADE,
    digest text NOT NULL,                 -- of the text that was last sent with it
    title text                            -- NULL: no longer kept
);
CREATE TABLE IF NOT EXISTS file (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    session bigint NOT NULL REFERENCES session ON DELETE CASCADE,
    key text NOT NULL,
    role text NOT NULL,                   -- what the file is in its session, independent of its path
    kind text NOT NULL,
    head text NOT NULL,
    began bigint, ended bigint,
    lines bigint NOT NULL, malformed bigint NOT NULL,
    size bigint NOT NULL,
    marks bytea NOT NULL,                 -- 8 bytes for each line: a digest of everything up to its end
    UNIQUE (session, key)
);

-- Usage as each file reports it.
CREATE TABLE IF NOT EXISTS told (
    file bigint NOT NULL REFERENCES file ON DELETE CASCADE,
    key text COLLATE "C" NOT NULL,
    asked text COLLATE "C" NOT NULL,      -- for an advisor's call, the response that asked it; else the key itself
    time bigint,
    model text, speed text, geo text, tier text,
    input bigint NOT NULL, output bigint NOT NULL, cache_read bigint NOT NULL,
    cache_write_5m bigint NOT NULL, cache_write_1h bigint NOT NULL,
    web_searches bigint NOT NULL,
    is_sidechain boolean NOT NULL, is_abandoned boolean NOT NULL,
    doubt smallint NOT NULL,
    rows bigint NOT NULL,
    project text, git_branch text, agent text, skill text, tools text[] NOT NULL,
    circumstance text NOT NULL,           -- digest of these columns and everything else that similar responses share
    digest text,                          -- of this row, made by the client; if equal, it is not sent
    PRIMARY KEY (file, key)
);
CREATE INDEX IF NOT EXISTS told_by_asked ON told(asked);

-- The ledger: every response once, no matter who pushed it or how often. Place and time are those of the owner.
CREATE TABLE IF NOT EXISTS response (
    key text COLLATE "C" PRIMARY KEY,
    asked text COLLATE "C" NOT NULL,
    session bigint NOT NULL REFERENCES session,
    person text NOT NULL, team text, machine text NOT NULL, uuid text NOT NULL,
    owner bigint NOT NULL, counted bigint NOT NULL,      -- files
    is_agent boolean NOT NULL, is_sidechain boolean NOT NULL, is_abandoned boolean NOT NULL,
    time bigint,
    model text, speed text, geo text, tier text,
    input bigint NOT NULL, output bigint NOT NULL, cache_read bigint NOT NULL,
    cache_write_5m bigint NOT NULL, cache_write_1h bigint NOT NULL,
    web_searches bigint NOT NULL,
    doubt smallint NOT NULL, rows bigint NOT NULL, files bigint NOT NULL,
    nanodollars bigint,
    project text, git_branch text, agent text, skill text, tools text[] NOT NULL,
    circumstance text NOT NULL, place text NOT NULL      -- of the copy that counts, and of the owner's
);
CREATE INDEX IF NOT EXISTS response_by_asked ON response(asked);
CREATE INDEX IF NOT EXISTS response_by_session ON response(session);
-- No index by person and team: PostgreSQL expects a caller to be in many teams, and would read the whole table anyway.
CREATE INDEX IF NOT EXISTS response_by_time ON response(time);

-- The rate card, as `billing.sql.rate_rows` gives it, and the models that raw names mean.
DROP VIEW IF EXISTS priced;
DROP TABLE IF EXISTS rate;                -- filled anew whenever this file is run
CREATE TABLE rate (
    model text NOT NULL,
    since numeric NOT NULL, until numeric NOT NULL,      -- of the times for which it applies
    above numeric NOT NULL, up_to numeric NOT NULL,      -- of the prompts
    input numeric NOT NULL, output numeric NOT NULL,
    cache_read numeric, cache_write_5m numeric, cache_write_1h numeric,
    per numeric NOT NULL, per_search numeric NOT NULL,
    PRIMARY KEY (model, since, above)
);
CREATE TABLE IF NOT EXISTS multiplier (
    kind text NOT NULL, name text NOT NULL, model text NOT NULL,
    numerator numeric NOT NULL, denominator numeric NOT NULL,
    PRIMARY KEY (kind, name, model)
);
CREATE TABLE IF NOT EXISTS model_name (raw text PRIMARY KEY, model text, region text);

-- Lines of conversations by month, redacted on the machine they come from; and whole files of people who pushed `all`.
CREATE TABLE IF NOT EXISTS text (
    session bigint NOT NULL,
    person text NOT NULL, team text,
    position integer NOT NULL,
    agent text,
    uuid text,
    time bigint,
    line text NOT NULL,
    words tsvector NOT NULL               -- weights: A prompts and titles, B replies, C thinking, D tool inputs
) PARTITION BY RANGE (time);
CREATE INDEX IF NOT EXISTS text_by_words ON text USING gin (words);
CREATE INDEX IF NOT EXISTS text_by_session ON text(session);
CREATE TABLE IF NOT EXISTS text_without_time PARTITION OF text DEFAULT;
ALTER TABLE text_without_time ENABLE ROW LEVEL SECURITY;

CREATE TABLE IF NOT EXISTS content (
    session bigint NOT NULL,
    person text NOT NULL, team text,
    time bigint,                          -- when its session ended
    name text NOT NULL,                   -- below the session's folder
    kind text NOT NULL, agent text, workflow text,
    body bytea NOT NULL,                  -- compressed with zstd
    part integer NOT NULL DEFAULT 0,      -- a file that grew gets another
    size bigint, digest text              -- of everything up to the end of this part
) PARTITION BY RANGE (time);
CREATE INDEX IF NOT EXISTS content_by_session ON content(session);
CREATE TABLE IF NOT EXISTS content_without_time PARTITION OF content DEFAULT;
ALTER TABLE content_without_time ENABLE ROW LEVEL SECURITY;

-- Digests of the ids of forgotten sessions, which must not be pushed again.
CREATE TABLE IF NOT EXISTS forgotten (session text PRIMARY KEY, person text NOT NULL, at timestamptz NOT NULL DEFAULT now());

-- Who read whose text.
CREATE TABLE IF NOT EXISTS audit (
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    reader text NOT NULL,
    person text,                          -- NULL: a search that was begun, and the note of whose text it found undone
    how text NOT NULL,                    -- search or show
    session text,                         -- the one that was shown
    -- A row that was made before the reading is the ticket for it.
    ticket bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    asked text,                           -- digest of what it is for
    made_in xid8,                         -- the transaction that made it
    teams text[]                          -- whose text such a search may find
);

-- -- who is asking

-- The role that is asking, also inside functions of the owner, where `current_user` is the owner.
CREATE OR REPLACE FUNCTION asking() RETURNS oid LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT oid FROM pg_roles
    WHERE rolname = CASE current_setting('role') WHEN 'none' THEN session_user::text ELSE current_setting('role') END
$$;

-- Where the numbers of roles mean what they meant when they were noted: this server, and this schema of it.
CREATE OR REPLACE FUNCTION home() RETURNS text LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT system_identifier || '/' || 'reread'::regnamespace::oid FROM pg_control_system()
$$;

-- The name under which a role's sessions are kept. Somebody who has the name of a role that was dropped or renamed is
-- somebody else, and called by the number as well. NULL in a copy of the store until `team init` has found its roles.
CREATE OR REPLACE FUNCTION caller() RETURNS text LANGUAGE sql STABLE PARALLEL SAFE SECURITY DEFINER AS $$
    SELECT coalesce(
        (SELECT name FROM person WHERE number = pg_roles.oid),
        rolname || CASE WHEN EXISTS (SELECT FROM person WHERE name = rolname) THEN '#' || oid ELSE '' END
    ) FROM pg_roles WHERE oid = asking() AND (SELECT value FROM note WHERE name = 'home') = home()
$$;

CREATE OR REPLACE FUNCTION is_owner() RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT pg_has_role(reread.asking(), nspowner, 'MEMBER') FROM pg_namespace WHERE nspname = 'reread'
$$;

-- Whether a role has what was granted to another: itself, or a group it is in.
CREATE OR REPLACE FUNCTION has_role(who oid, granted oid) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT EXISTS (SELECT FROM pg_roles WHERE oid = granted) AND (
        who = granted OR pg_has_role(who, granted, 'MEMBER') AND NOT (SELECT rolsuper FROM pg_roles WHERE oid = who)
    )
$$;

CREATE OR REPLACE FUNCTION teams(with_text boolean) RETURNS SETOF text
LANGUAGE sql STABLE SECURITY DEFINER AS $$
    WITH own AS (
        SELECT member.team FROM member
        WHERE has_role(asking(), number) AND (sees_text OR NOT with_text) AND caller() IS NOT NULL
    )
    SELECT team FROM own
    UNION SELECT session.team FROM session WHERE team IS NOT NULL AND EXISTS (SELECT FROM own WHERE team = '*')
$$;

CREATE OR REPLACE FUNCTION is_called(project text, pattern text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN pattern ~ '[*?]'
        THEN lower(project) LIKE replace(replace(replace(replace(replace(lower(pattern),
            '\', '\\'), '%', '\%'), '_', '\_'), '*', '%'), '?', '_')
        ELSE strpos(lower(project), lower(pattern)) > 0 END
$$;

-- The longest matching pattern decides. If none matches, a session stays where it is, and a new one goes to the
-- person's own team if they, or the groups they are in, have exactly one.
CREATE OR REPLACE FUNCTION team_of(project text, who text, present text) RETURNS text
LANGUAGE sql STABLE AS $$
    SELECT coalesce(
        (SELECT team FROM assignment WHERE is_called(team_of.project, pattern)
         ORDER BY length(pattern) DESC, pattern LIMIT 1),
        present,
        (SELECT min(team) FROM member JOIN person ON name = who AND has_role(person.number, member.number)
         WHERE team <> '*' HAVING count(DISTINCT team) = 1)
    )
$$;

-- -- pushing. These functions use indexes only: a plan made while the tables were empty is kept for a whole push, and
-- would scan the growing tables for every session.

CREATE OR REPLACE FUNCTION lock_ledger() RETURNS void LANGUAGE sql AS $$
    SELECT pg_advisory_xact_lock(7824361)
$$;

-- Whether one copy of a session (`whole`) contains each file of another (`part`), or a file that begins with it.
CREATE OR REPLACE FUNCTION holds(whole bigint, part bigint) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT EXISTS (SELECT FROM file WHERE session = part AND kind <> 'capture') AND NOT EXISTS (
        SELECT FROM file AS one WHERE one.session = part AND one.kind <> 'capture' AND NOT EXISTS (
            SELECT FROM file AS other WHERE other.session = whole AND other.role = one.role
                AND substr(other.marks, 1, length(one.marks)) = one.marks
        )
    )
$$;

-- Of copies of one session that contain the same, the fullest counts; gives the copies for which that changed.
CREATE OR REPLACE FUNCTION fold_copies(named text) RETURNS SETOF bigint
LANGUAGE plpgsql AS $$
DECLARE each record; kept bigint[] := '{}'; counts boolean;
BEGIN
    FOR each IN
        SELECT session.id, is_counted FROM session LEFT JOIN file ON file.session = session.id WHERE uuid = named
        GROUP BY session.id ORDER BY coalesce(sum(size) FILTER (WHERE kind <> 'capture'), 0) DESC, session.key, person
    LOOP
        counts := NOT EXISTS (SELECT FROM unnest(kept) AS whole WHERE holds(whole, each.id));
        IF counts THEN kept := kept || each.id; END IF;
        IF counts <> each.is_counted THEN
            UPDATE session SET is_counted = counts WHERE id = each.id;
            RETURN NEXT each.id;
        END IF;
    END LOOP;
END $$;

CREATE OR REPLACE FUNCTION mark_of(named text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT encode(sha256(convert_to(named, 'UTF8')), 'hex')
$$;

-- The response that a key belongs to: for an advisor's call the one that asked it, else itself.
CREATE OR REPLACE FUNCTION asker(key text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT split_part(key, '#advisor:', 1)
$$;

-- Stores one session, all of it, replacing what was pushed before, or only what has changed, and settles its responses.
-- False if the session was forgotten.
CREATE OR REPLACE FUNCTION put_session(parcel jsonb) RETURNS boolean
LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
    who text := caller(); is_whole boolean := coalesce((parcel->>'is_whole')::boolean, true);
    stays session%ROWTYPE; number bigint; keys text[]; changed bigint[];
BEGIN
    IF EXISTS (SELECT FROM forgotten WHERE session = mark_of(parcel->>'uuid'))
        OR (parcel->'numbers'->>'ended')::bigint < kept_since('retain_ledger_days')
    THEN RETURN false; END IF;
    INSERT INTO machine VALUES (parcel->>'machine', who, parcel->>'label')
        ON CONFLICT (id, person) DO UPDATE SET label = excluded.label;
    INSERT INTO model_name SELECT raw, model, region
        FROM jsonb_to_recordset(parcel->'models') AS named(raw text, model text, region text) ON CONFLICT DO NOTHING;
    INSERT INTO session (person, key, team, uuid, machine, project, digest, numbers)
        VALUES (who, parcel->>'key', team_of(parcel->>'project', who, NULL), parcel->>'uuid', parcel->>'machine',
                parcel->>'project', parcel->>'digest', parcel->'numbers')
        ON CONFLICT (person, key) DO UPDATE SET team = team_of(excluded.project, who, session.team), project = excluded.project,
            digest = excluded.digest, numbers = excluded.numbers, pushed = now()
        RETURNING * INTO stays;
    number := stays.id;
    UPDATE response SET team = stays.team WHERE session = number AND team IS DISTINCT FROM stays.team;
    UPDATE text SET team = stays.team WHERE session = number AND team IS DISTINCT FROM stays.team;
    UPDATE content SET team = stays.team WHERE session = number AND team IS DISTINCT FROM stays.team;

    -- Responses that are removed. Their other copies must be settled again, since a file that grew may lose ownership.
    WITH gone AS (
        DELETE FROM told USING file
        WHERE file.id = told.file AND file.session = number AND (
            is_whole
            OR file.key NOT IN (SELECT sent.key FROM jsonb_to_recordset(parcel->'files') AS sent(key text))
            OR (file.key, told.key) IN (
                SELECT sent.file, sent.key
                FROM jsonb_to_recordset((parcel->'told') || (parcel->'gone')) AS sent(file text, key text)
            )
        )
        RETURNING asked
    )
    SELECT array_agg(DISTINCT asked) INTO keys FROM gone;
    DELETE FROM file WHERE file.session = number
        AND (is_whole OR file.key NOT IN (SELECT sent.key FROM jsonb_to_recordset(parcel->'files') AS sent(key text)));
    UPDATE file SET role = sent.role, kind = sent.kind, head = sent.head, began = sent.began, ended = sent.ended,
            lines = sent.lines, malformed = sent.malformed, size = sent.size,
            marks = substr(file.marks, 1, sent.since) || decode(sent.marks, 'base64')
        FROM jsonb_to_recordset(parcel->'files') AS sent(key text, role text, kind text, head text, began bigint,
            ended bigint, lines bigint, malformed bigint, size bigint, since integer, marks text)
        WHERE file.session = number AND file.key = sent.key;
    INSERT INTO file (session, key, role, kind, head, began, ended, lines, malformed, size, marks)
        SELECT number, sent.key, role, kind, head, began, ended, lines, malformed, size, decode(marks, 'base64')
        FROM jsonb_to_recordset(parcel->'files') AS sent(key text, role text, kind text, head text, began bigint,
            ended bigint, lines bigint, malformed bigint, size bigint, marks text)
        ON CONFLICT DO NOTHING;
    INSERT INTO told
        SELECT file.id, sent.key, asker(sent.key), sent.time, model, speed, geo, tier, input, output, cache_read, cache_write_5m,
            cache_write_1h, web_searches, is_sidechain, is_abandoned, doubt, sent.rows,
            place.project, place.git_branch, place.agent, place.skill, coalesce(place.tools, '{}'), circumstance, digest
        FROM jsonb_to_recordset(parcel->'told') AS sent(file text, key text, time bigint, model text,
            speed text, geo text, tier text, input bigint, output bigint, cache_read bigint, cache_write_5m bigint,
            cache_write_1h bigint, web_searches bigint, is_sidechain boolean, is_abandoned boolean, doubt smallint,
            rows bigint, place integer, digest text)
        JOIN file ON file.session = number AND file.key = sent.file
        JOIN jsonb_to_recordset(parcel->'places') AS place(number integer, project text, git_branch text, agent text,
            skill text, tools text[], circumstance text) ON place.number = sent.place
        WHERE kept_since('retain_ledger_days') IS NULL OR sent.time >= kept_since('retain_ledger_days');
    SELECT array_agg(number_of) INTO changed FROM fold_copies(parcel->>'uuid') AS number_of;
    SELECT array_agg(DISTINCT again) INTO keys FROM (
        SELECT unnest(keys) AS again
        UNION ALL SELECT asker(sent.key) FROM jsonb_to_recordset(parcel->'told') AS sent(key text)
        UNION ALL SELECT asked FROM told JOIN file ON file.id = told.file WHERE file.session = ANY (changed)
        UNION ALL SELECT told.asked FROM told JOIN file ON file.id = told.file
        WHERE file.session = number AND NOT is_whole
            AND EXISTS (SELECT FROM response WHERE response.key = told.asked AND response.files > 1)
    ) AS all_of_them;
    PERFORM settle(keys);
    RETURN true;
END $$;

-- What the store has of the caller's sessions, as digests, for the parts that are wanted: see `payload.StoreState`.
CREATE OR REPLACE FUNCTION known_sessions_v1(keys text[], wanted text[])
RETURNS TABLE (key text, files jsonb, lines jsonb, parts jsonb)
LANGUAGE sql STABLE SECURITY DEFINER SET enable_seqscan = off AS $$
    SELECT session.key,
        CASE WHEN 'ledger' = ANY (wanted) THEN (
            SELECT jsonb_agg(jsonb_build_array(file.key, length(file.marks), md5(file.marks),
                coalesce((SELECT jsonb_object_agg(told.key, told.digest) FROM told WHERE told.file = file.id), '{}')))
            FROM file WHERE file.session = session.id
        ) END,
        CASE WHEN 'text' = ANY (wanted) THEN (
            SELECT jsonb_agg(jsonb_build_array(agent, position, md5(line))) FROM text WHERE text.session = session.id
        ) END,
        CASE WHEN 'content' = ANY (wanted) THEN (
            SELECT jsonb_agg(jsonb_build_array(name, part, size, digest)) FROM (
                SELECT DISTINCT ON (name) name, part, size, digest FROM content
                WHERE content.session = session.id AND digest IS NOT NULL ORDER BY name, part DESC
            ) AS last
        ) END
    FROM session WHERE person = caller() AND session.key = ANY (keys)
$$;

-- Cost by the rate card; billing/sql.py writes how. A view is planned once with the query that asks it, and is four
-- times as fast as a function that is called for every response.
CREATE VIEW priced AS <<priced>>;

-- Settles responses again from all their copies; billing/sql.py writes how. Only the functions that change copies call
-- it, so nobody decides which copy counts.
CREATE OR REPLACE FUNCTION settle(keys text[]) RETURNS void LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
    DELETE FROM response WHERE asked = ANY (keys);
    INSERT INTO response
        SELECT settled.key, asked, session.id, person, team, machine, uuid, owner_file, counted_file,
            file.kind = 'subagent', owner_is_sidechain, owner_is_abandoned, owner_time, model, speed, geo, tier,
            input, output, cache_read, cache_write_5m, cache_write_1h, web_searches, doubt, rows, files, NULL,
            owner_project, owner_git_branch, owner_agent, owner_skill, tools, circumstance, owner_circumstance
        FROM (<<settled>>) AS settled
            JOIN file ON file.id = owner_file JOIN session ON session.id = file.session;
    UPDATE response SET nanodollars = priced.nanodollars FROM priced
        WHERE priced.key = response.key AND response.asked = ANY (keys);
END $$;

-- Creates the partitions by month that text or content of these times need.
CREATE OR REPLACE FUNCTION make_months(parent text, times bigint[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE month timestamptz; name text;
BEGIN
    FOR month IN
        SELECT DISTINCT date_trunc('month', to_timestamp(each / 1000.0), 'UTC') FROM unnest(times) AS each
        WHERE each BETWEEN 0 AND 4102444799999
    LOOP
        name := parent || to_char(month AT TIME ZONE 'UTC', '_YYYY_MM');
        IF to_regclass('reread.' || name) IS NULL THEN
            EXECUTE format('CREATE TABLE reread.%I PARTITION OF reread.%I FOR VALUES FROM (%s) TO (%s)', name, parent,
                (extract(epoch FROM month) * 1000)::bigint,
                (extract(epoch FROM ((month AT TIME ZONE 'UTC') + interval '1 month') AT TIME ZONE 'UTC') * 1000)::bigint);
            EXECUTE format('ALTER TABLE reread.%I ENABLE ROW LEVEL SECURITY', name);
        END IF;
    END LOOP;
END $$;

-- What is from before this time is not kept: text, or with `retain_ledger_days` the ledger. NULL if all is kept.
CREATE OR REPLACE FUNCTION kept_since(what text DEFAULT 'retain_days') RETURNS bigint LANGUAGE sql STABLE AS $$
    SELECT (extract(epoch FROM now() - value::integer * interval '1 day') * 1000)::bigint
    FROM note WHERE name = what
$$;

-- When a session ended, or if that is unknown, when it was pushed. Titles and other rows without a time of their own
-- count as this old.
CREATE OR REPLACE FUNCTION ended(whose session) RETURNS bigint LANGUAGE sql STABLE AS $$
    SELECT coalesce((whose.numbers->>'ended')::bigint, (extract(epoch FROM whose.pushed) * 1000)::bigint)
$$;

-- Removes sessions with all that belongs to them, settles what others have of them as well, and notes where their words
-- were.
CREATE OR REPLACE FUNCTION drop_sessions(gone bigint[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE keys text[]; named text; changed bigint[] := '{}';
BEGIN
    INSERT INTO untidy SELECT relname, pg_current_xact_id() FROM (
        SELECT tableoid AS part FROM text WHERE session = ANY (gone)
        UNION SELECT tableoid FROM content WHERE session = ANY (gone)
        UNION SELECT tableoid FROM title WHERE session = ANY (gone)
    ) AS touched JOIN pg_class ON oid = part ON CONFLICT (part) DO UPDATE SET gone_in = excluded.gone_in;
    SELECT coalesce(array_agg(DISTINCT asked), '{}') INTO keys
        FROM told JOIN file ON file.id = told.file WHERE file.session = ANY (gone);
    DELETE FROM response WHERE asked = ANY (keys);
    DELETE FROM text WHERE session = ANY (gone);
    DELETE FROM content WHERE session = ANY (gone);
    FOR named IN
        WITH dropped AS (DELETE FROM session WHERE id = ANY (gone) RETURNING uuid) SELECT DISTINCT uuid FROM dropped
    LOOP
        changed := changed || ARRAY(SELECT fold_copies(named));
    END LOOP;
    PERFORM settle(ARRAY(
        SELECT unnest(keys) UNION SELECT asked FROM told JOIN file ON file.id = told.file WHERE file.session = ANY (changed)
    ));
END $$;

-- Writes parts anew of which something was forgotten: rows, words in their indexes and statistics that were deleted stay
-- in the files until then. A transaction that may still see them, or a lock, leaves a part for the next time.
CREATE OR REPLACE FUNCTION tidy() RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET lock_timeout = '2s' AS $$
DECLARE name text; ordered text; done bigint := 0;
BEGIN
    FOR name IN SELECT part FROM untidy WHERE gone_in < pg_snapshot_xmin(pg_current_snapshot()) LOOP
        BEGIN
            SELECT relname INTO ordered FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
                WHERE indrelid = to_regclass('reread.' || quote_ident(name))
                    AND relam = (SELECT oid FROM pg_am WHERE amname = 'btree') LIMIT 1;
            IF FOUND THEN
                EXECUTE format('CLUSTER reread.%I USING %I', name, ordered);
                EXECUTE format('ANALYZE reread.%I, reread.%I', name, split_part(name, '_', 1));   -- and what it is part of
            END IF;
            DELETE FROM untidy WHERE part = name;
            done := done + 1;
        EXCEPTION WHEN lock_not_available THEN NULL;
        END;
    END LOOP;
    RETURN done;
END $$;

-- Deletes text that is too old: whole months at once, and rows in the month where the limit is; and the ledger.
CREATE OR REPLACE FUNCTION retire() RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET lock_timeout = '2s' AS $$
DECLARE since bigint := kept_since(); ledger bigint := kept_since('retain_ledger_days'); part record; gone bigint := 0;
BEGIN
    IF ledger IS NOT NULL AND EXISTS (SELECT FROM response WHERE time < ledger) THEN
        PERFORM lock_ledger();
        DELETE FROM told WHERE asked IN (SELECT asked FROM response WHERE time < ledger);
        DELETE FROM response WHERE asked IN (SELECT asked FROM response WHERE time < ledger);
        PERFORM drop_sessions(ARRAY(SELECT id FROM session AS whose WHERE ended(whose) < ledger));
    END IF;
    IF since IS NULL THEN RETURN 0; END IF;
    PERFORM lock_ledger();
    FOR part IN
        SELECT child.relname FROM pg_inherits JOIN pg_class AS child ON child.oid = inhrelid
            JOIN pg_class AS parent ON parent.oid = inhparent JOIN pg_namespace ON parent.relnamespace = pg_namespace.oid
        WHERE nspname = 'reread' AND parent.relname IN ('text', 'content') AND child.relname ~ '_\d{4}_\d\d$'
            AND extract(epoch FROM (to_date(right(child.relname, 7), 'YYYY_MM') + interval '1 month')
                AT TIME ZONE 'UTC') * 1000 <= since
    LOOP
        BEGIN
            EXECUTE format('DROP TABLE reread.%I', part.relname);
            gone := gone + 1;
        EXCEPTION WHEN lock_not_available THEN NULL;   -- somebody reads it: it goes row by row now, and as a table later
        END;
    END LOOP;
    DELETE FROM text WHERE time < since;
    DELETE FROM content WHERE time < since;
    DELETE FROM text USING session AS whose WHERE time IS NULL AND whose.id = session AND ended(whose) < since;
    DELETE FROM content USING session AS whose WHERE time IS NULL AND whose.id = session AND ended(whose) < since;
    UPDATE title SET title = NULL FROM session AS whose
        WHERE title IS NOT NULL AND whose.id = title.session AND ended(whose) < since;
    RETURN gone;
END $$;

-- Stores the lines of a session, replacing all that were there or only those that changed.
CREATE OR REPLACE FUNCTION put_text(parcel jsonb) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE whose session%ROWTYPE;
BEGIN
    SELECT * INTO whose FROM session WHERE person = caller() AND key = parcel->>'key';
    IF whose.id IS NULL THEN RETURN false; END IF;
    IF coalesce((parcel->>'is_whole')::boolean, true) THEN
        DELETE FROM text WHERE session = whose.id;
    ELSE
        DELETE FROM text
            USING jsonb_to_recordset((parcel->'lines') || (parcel->'gone')) AS sent(agent text, position integer)
            WHERE session = whose.id AND text.position = sent.position AND text.agent IS NOT DISTINCT FROM sent.agent;
    END IF;
    PERFORM make_months('text', ARRAY(
        SELECT time FROM jsonb_to_recordset(parcel->'lines') AS sent(time bigint)
        WHERE time >= coalesce(kept_since(), 0)
    ));
    INSERT INTO text
        SELECT whose.id, whose.person, whose.team, position, agent, sent.uuid, sent.time, line, words::tsvector
        FROM jsonb_to_recordset(parcel->'lines')
            AS sent(position integer, agent text, uuid text, time bigint, line text, words text)
        WHERE kept_since() IS NULL OR coalesce(sent.time, ended(whose)) >= kept_since();
    UPDATE session SET has_text = true WHERE id = whose.id;
    INSERT INTO title VALUES (
        whose.id, parcel->>'digest', CASE WHEN ended(whose) < kept_since() THEN NULL ELSE parcel->>'title' END
    ) ON CONFLICT (session) DO UPDATE SET digest = excluded.digest, title = excluded.title;
    RETURN true;
END $$;

CREATE OR REPLACE FUNCTION put_content(parcel jsonb) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE whose session%ROWTYPE; ended bigint := (parcel->>'ended')::bigint;
BEGIN
    SELECT * INTO whose FROM session WHERE person = caller() AND key = parcel->>'key';
    IF whose.id IS NULL THEN RETURN false; END IF;
    DELETE FROM content WHERE session = whose.id AND (
        coalesce((parcel->>'is_whole')::boolean, true)
        OR NOT (parcel->'names') ? name
        OR name IN (SELECT sent.name FROM jsonb_to_recordset(parcel->'files') AS sent(name text, part integer) WHERE part = 0)
    );
    IF ended IS NULL OR ended >= coalesce(kept_since(), ended) THEN
        PERFORM make_months('content', ARRAY[ended]);
        UPDATE content SET time = ended WHERE session = whose.id AND time IS DISTINCT FROM ended;
        INSERT INTO content (session, person, team, time, name, kind, agent, workflow, body, part, size, digest)
            SELECT whose.id, whose.person, whose.team, ended, name, kind, agent, workflow, decode(body, 'base64'),
                coalesce(part, 0), size, digest
            FROM jsonb_to_recordset(parcel->'files') AS sent(name text, kind text, agent text, workflow text, body text,
                part integer, size bigint, digest text);
    END IF;
    UPDATE session SET content_digest = parcel->>'digest' WHERE id = whose.id;
    RETURN true;
END $$;

-- One session of `put_sessions_v1`. `before` is what the client continues from.
CREATE OR REPLACE FUNCTION put(named text, before jsonb, ledger jsonb, text jsonb, content jsonb) RETURNS text
LANGUAGE plpgsql AS $$
BEGIN
    IF before IS NOT NULL AND before IS DISTINCT FROM (
        SELECT jsonb_build_array(session.digest, title.digest, content_digest)
        FROM session LEFT JOIN title ON title.session = session.id WHERE person = caller() AND key = named
    ) THEN RETURN 'changed'; END IF;
    IF ledger IS NOT NULL AND NOT put_session(ledger) OR text IS NOT NULL AND NOT put_text(text)
        OR content IS NOT NULL AND NOT put_content(content)
    THEN RETURN 'forgotten'; END IF;
    RETURN 'taken';
END $$;

-- What a push calls with several sessions: everything arrives before the ledger's lock is taken, and nothing is asked of
-- the client while it is held, so a client that falls asleep, or is far away, holds up nobody.
CREATE OR REPLACE FUNCTION put_sessions_v1(sent jsonb) RETURNS text[]
LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE answers text[];
BEGIN
    PERFORM lock_ledger();
    INSERT INTO person (name, role, number) SELECT caller(), rolname, oid FROM pg_roles WHERE oid = asking()
        ON CONFLICT DO NOTHING;
    SELECT array_agg(put(one->>'key', one->'before', one->'ledger', one->'text', one->'content') ORDER BY place)
        INTO answers FROM jsonb_array_elements(sent) WITH ORDINALITY AS each(one, place);
    RETURN answers;
END $$;

-- How a push went, for `team status`.
CREATE OR REPLACE FUNCTION pushed_v1(version text, failed bigint) RETURNS void
LANGUAGE sql SECURITY DEFINER AS $$
    INSERT INTO person (name, role, number, pushed, client, failures)
        SELECT caller(), rolname, oid, now(), left(version, 40), failed FROM pg_roles WHERE oid = asking()
        ON CONFLICT (name) DO UPDATE
            SET pushed = excluded.pushed, client = excluded.client, failures = excluded.failures, role = excluded.role
$$;

-- -- reading text of others. What is noted in the transaction that reads goes with its rollback, so a reading needs a
-- ticket: a row of the audit that was committed before. A ticket is for one question, so that asking it again tells
-- nothing else.

-- Whether the caller may read the text of a session.
CREATE OR REPLACE FUNCTION may_read(whose session) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT whose.person = caller() OR coalesce(whose.team, '*') = ANY (ARRAY(SELECT teams(true))) OR is_owner()
$$;

-- Gives a ticket for what is wanted: `{"session": ...}`, or what `search` takes. NULL where none is needed, or would help.
CREATE OR REPLACE FUNCTION ask(wanted jsonb) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE who text := caller(); whose session%ROWTYPE; among text[]; number bigint;
BEGIN
    IF wanted ? 'session' THEN
        SELECT * INTO whose FROM session WHERE id = (wanted->>'session')::bigint;
        IF whose.id IS NULL OR whose.person = who OR NOT may_read(whose)
            OR NOT whose.has_text AND whose.content_digest IS NULL
        THEN RETURN NULL; END IF;
    ELSE
        among := CASE WHEN is_owner() THEN ARRAY['*'] ELSE ARRAY(SELECT teams(true)) END;
        IF among = '{}' THEN RETURN NULL; END IF;
    END IF;
    INSERT INTO audit (reader, person, how, session, asked, made_in, teams)
        VALUES (who, whose.person, CASE WHEN whose.id IS NULL THEN 'search' ELSE 'show' END, whose.uuid,
                md5(wanted::text), pg_current_xact_id(), among)
        RETURNING ticket INTO number;
    RAISE LOG 'reread: % asks to read %, ticket %', who, coalesce(whose.person || ' ' || whose.uuid, 'what a search finds'), number;
    RETURN number;
END $$;

-- Raises an exception if a ticket is not for this question and way of reading, or not yet committed.
CREATE OR REPLACE FUNCTION check_ticket(number bigint, reading text, wanted jsonb) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (
        SELECT FROM audit WHERE ticket = number AND reader = caller() AND how = reading AND asked = md5(wanted::text)
            AND made_in IS DISTINCT FROM pg_current_xact_id_if_assigned() AND at > clock_timestamp() - interval '10 minutes'
    ) THEN
        RAISE EXCEPTION 'text of others is read with a ticket, which `reread.ask` gives in a transaction before this one';
    END IF;
    RAISE LOG 'reread: % reads with ticket %', caller(), number;
END $$;

-- Takes the newest `most` lines that match, and returns the `best` of them by a cheap rank; the caller ranks those by
-- their text. The weights are half of those in `search_language`, which go beyond 1. Row level security would prevent
-- PostgreSQL from using the text index, so this filters by team itself; without a ticket it finds the caller's own. The
-- total is that of people whose lines are returned, and so noted: else it would tell unnoted who else wrote a word.
CREATE OR REPLACE FUNCTION search(ticket bigint, wanted jsonb)
RETURNS TABLE (session bigint, agent text, uuid text, "time" bigint, line text, total bigint)
LANGUAGE plpgsql SECURITY DEFINER SET enable_seqscan = off SET jit = off AS $$
DECLARE
    who text := caller(); own text[] := '{}'; sees_all boolean := false; query tsquery := (wanted->>'query')::tsquery;
    since bigint := wanted->>'since'; until bigint := wanted->>'until'; now_ms bigint := wanted->>'now_ms';
    among bigint[] := CASE WHEN jsonb_typeof(wanted->'among') = 'array'
        THEN ARRAY(SELECT each::bigint FROM jsonb_array_elements_text(wanted->'among') AS each) END;
BEGIN
    IF ticket IS NOT NULL THEN
        PERFORM check_ticket(ticket, 'search', wanted);
        own := ARRAY(SELECT teams(true));
        sees_all := is_owner();
    END IF;
    RETURN QUERY WITH hit AS MATERIALIZED (
        SELECT hits.*, count(*) OVER (PARTITION BY hits.person) AS number FROM text AS hits
        WHERE hits.words @@ query AND (coalesce(hits.team, '*') = ANY (own) OR hits.person = who OR sees_all)
            AND (since IS NULL OR hits.time >= since)
            AND (until IS NULL OR hits.time < until)
            AND (among IS NULL OR hits.session = ANY (among))
        ORDER BY hits.time DESC NULLS LAST, hits.session, hits.position LIMIT (wanted->>'most')::integer
    ), shown AS MATERIALIZED (
        SELECT * FROM hit ORDER BY ts_rank('{0.5, 0.6, 0.75, 1}', hit.words, query, 1)
            * greatest(0.3, power(0.5, greatest(now_ms - coalesce(hit.time, 0), 0) / 5184000000.0)) DESC,
            hit.time DESC NULLS LAST, hit.session, hit.position LIMIT (wanted->>'best')::integer
    ), noted AS (
        INSERT INTO audit (reader, person, how)
        SELECT DISTINCT who, shown.person, 'search' FROM shown WHERE shown.person <> who
    )
    SELECT shown.session, shown.agent, shown.uuid, shown.time, shown.line,
        (SELECT sum(of_one.number)::bigint FROM (SELECT DISTINCT shown.person, shown.number FROM shown) AS of_one)
    FROM shown;
    DELETE FROM audit WHERE audit.ticket = search.ticket;   -- whose text was found is noted now
END $$;

-- Whether the caller may read a session's text with this ticket. Called in a sub-select, which runs once and not for
-- every line.
CREATE OR REPLACE FUNCTION is_admitted(wanted bigint, ticket bigint) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE whose session%ROWTYPE;
BEGIN
    SELECT * INTO whose FROM session WHERE id = wanted;
    IF whose.person = caller() THEN RETURN true; END IF;
    IF ticket IS NULL OR whose.id IS NULL OR NOT may_read(whose) THEN RETURN false; END IF;
    PERFORM check_ticket(ticket, 'show', jsonb_build_object('session', wanted));
    RETURN true;
END $$;

CREATE OR REPLACE FUNCTION lines_of(wanted bigint, ticket bigint) RETURNS TABLE (agent text, line text)
LANGUAGE sql SECURITY DEFINER AS $$
    SELECT agent, line FROM text WHERE session = (SELECT wanted WHERE is_admitted(wanted, ticket))
    ORDER BY agent COLLATE "C" NULLS FIRST, position
$$;

CREATE OR REPLACE FUNCTION content_of(wanted bigint, ticket bigint)
RETURNS TABLE (name text, kind text, agent text, workflow text, body bytea)
LANGUAGE sql SECURITY DEFINER AS $$
    SELECT name, kind, agent, workflow, string_agg(body, '' ORDER BY part) FROM content
    WHERE session = (SELECT wanted WHERE is_admitted(wanted, ticket))
    GROUP BY name, kind, agent, workflow ORDER BY name
$$;

-- -- forgetting, and who belongs where

-- Removes every copy of a session and remembers that; false if the caller may not forget it.
CREATE OR REPLACE FUNCTION forget(named text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    PERFORM lock_ledger();
    IF NOT EXISTS (SELECT FROM session WHERE uuid = named)
        OR NOT is_owner() AND EXISTS (SELECT FROM session WHERE uuid = named AND person <> caller())
    THEN RETURN false; END IF;
    INSERT INTO forgotten VALUES (mark_of(named), caller()) ON CONFLICT DO NOTHING;
    PERFORM drop_sessions(ARRAY(SELECT id FROM session WHERE uuid = named));
    RETURN true;
END $$;

-- Removes a person, what they pushed, and who read it. With `forgets` every copy of these sessions goes, whoever pushed
-- it, and none comes back; without, what others pushed as well stays theirs. Gives how many sessions went.
CREATE OR REPLACE FUNCTION remove_person(named text, forgets boolean) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE gone bigint[];
BEGIN
    PERFORM lock_ledger();
    gone := ARRAY(SELECT id FROM session WHERE person = named
        OR forgets AND uuid IN (SELECT uuid FROM session WHERE person = named));
    INSERT INTO forgotten SELECT DISTINCT mark_of(uuid), caller() FROM session WHERE forgets AND id = ANY (gone)
        ON CONFLICT DO NOTHING;
    PERFORM drop_sessions(gone);
    DELETE FROM machine WHERE person = named;
    DELETE FROM audit WHERE person = named;
    DELETE FROM member USING person WHERE name = named AND member.number = person.number;
    DELETE FROM person WHERE name = named;
    RETURN cardinality(gone);
END $$;

-- Everything of one person is another's from now on; of a session that both pushed from the same place, that of the
-- other stays. Copies are settled again, since the name is the last thing that decides between two alike.
CREATE OR REPLACE FUNCTION move_person(old text, new text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE moved bigint;
BEGIN
    PERFORM lock_ledger();
    PERFORM drop_sessions(ARRAY(SELECT one.id FROM session AS one JOIN session AS other
        ON other.person = new AND other.key = one.key WHERE one.person = old));
    DELETE FROM machine WHERE person = old AND id IN (SELECT id FROM machine WHERE person = new);
    UPDATE machine SET person = new WHERE person = old;
    UPDATE text SET person = new WHERE person = old;
    UPDATE content SET person = new WHERE person = old;
    UPDATE forgotten SET person = new WHERE person = old;
    UPDATE audit SET person = CASE person WHEN old THEN new ELSE person END, reader = CASE reader WHEN old THEN new ELSE reader END
        WHERE old IN (person, reader);
    UPDATE session SET person = new WHERE person = old;
    GET DIAGNOSTICS moved = ROW_COUNT;
    PERFORM fold_copies(named) FROM (SELECT DISTINCT uuid AS named FROM session WHERE person = new) AS every;
    PERFORM settle(ARRAY(SELECT DISTINCT asked FROM told JOIN file ON file.id = told.file
        JOIN session ON session.id = file.session WHERE uuid IN (SELECT uuid FROM session WHERE person = new)));
    RETURN moved;
END $$;

-- Gives a person another name; false if there is none of the old, or one of the new already.
CREATE OR REPLACE FUNCTION rename_person(old text, new text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM person WHERE name = new) THEN RETURN false; END IF;
    UPDATE person SET name = new WHERE name = old;
    IF NOT FOUND THEN RETURN false; END IF;
    PERFORM move_person(old, new);
    RETURN true;
END $$;

-- Gives everything of a person to a role: one who had another role before, or a successor. NULL if there is no such
-- person or role.
CREATE OR REPLACE FUNCTION transfer_person(old text, heir text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE known text; whose oid := (SELECT oid FROM pg_roles WHERE rolname = heir); moved bigint;
BEGIN
    IF whose IS NULL OR NOT EXISTS (SELECT FROM person WHERE name = old) THEN RETURN NULL; END IF;
    SELECT name INTO known FROM person WHERE number = whose;
    IF known = old THEN RETURN 0; END IF;
    IF known IS NULL THEN
        UPDATE person SET number = whose, role = heir WHERE name = old;
        SELECT count(*) INTO moved FROM session WHERE person = old;
    ELSE
        moved := move_person(old, known);
        DELETE FROM person WHERE name = old;
    END IF;
    PERFORM assign_teams();
    RETURN moved;
END $$;

-- In a copy of the store on another server: finds the roles by their names. Elsewhere: notes how they are called now.
CREATE OR REPLACE FUNCTION find_roles() RETURNS void LANGUAGE plpgsql AS $$
DECLARE is_copy boolean := home() IS DISTINCT FROM (SELECT value FROM note WHERE name = 'home');
BEGIN
    IF is_copy THEN
        UPDATE member SET number = (SELECT oid FROM pg_roles WHERE rolname = role);
        UPDATE person SET number = (SELECT oid FROM pg_roles WHERE rolname = role);
        INSERT INTO note VALUES ('home', home()) ON CONFLICT (name) DO UPDATE SET value = excluded.value;
    END IF;
    UPDATE member SET role = rolname FROM pg_roles WHERE oid = number AND role <> rolname;
    UPDATE person SET role = rolname FROM pg_roles WHERE oid = number AND role <> rolname;
END $$;

-- After a change of members or assignments: moves every session, and everything that belongs to it, to its team now.
CREATE OR REPLACE FUNCTION assign_teams() RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE moved bigint;
BEGIN
    PERFORM lock_ledger();
    UPDATE session SET team = team_of(project, person, team)
        WHERE team IS DISTINCT FROM team_of(project, person, team);
    GET DIAGNOSTICS moved = ROW_COUNT;
    UPDATE response SET team = session.team FROM session
        WHERE session.id = response.session AND response.team IS DISTINCT FROM session.team;
    UPDATE text SET team = session.team FROM session
        WHERE session.id = text.session AND text.team IS DISTINCT FROM session.team;
    UPDATE content SET team = session.team FROM session
        WHERE session.id = content.session AND content.team IS DISTINCT FROM session.team;
    RETURN moved;
END $$;

-- -- who sees what. Members read views, not tables: PostgreSQL evaluates some conditions of a query before those of row
-- level security, and EXPLAIN ANALYZE would tell from how often the latter ran which names others have. OFFSET 0 keeps a
-- query's own conditions outside of a view. Conditions on the caller are in sub-selects, which run once and not for every row.

DO $$
DECLARE
    each record;
    is_seen text := 'session.person = (SELECT reread.caller())
        OR coalesce(session.team, ''*'') = ANY (ARRAY(SELECT reread.teams(%s)))';
    ledger text := format(is_seen, 'false');
BEGIN
    FOR each IN SELECT * FROM (VALUES
        ('member', 'number = (SELECT reread.asking()) OR team = ANY (ARRAY(SELECT reread.teams(false)))'),
        ('assignment', 'team = ANY (ARRAY(SELECT reread.teams(false)))'),
        ('machine', 'person = (SELECT reread.caller())
            OR EXISTS (SELECT FROM reread.session WHERE session.machine = machine.id AND (' || ledger || '))'),
        ('session', ledger),
        ('file', 'EXISTS (SELECT FROM reread.session WHERE session.id = file.session AND (' || ledger || '))'),
        ('told', 'EXISTS (SELECT FROM reread.file JOIN reread.session ON session.id = file.session
            WHERE file.id = told.file AND (' || ledger || '))'),
        ('response', replace(ledger, 'session.', 'response.')),
        ('forgotten', 'person = (SELECT reread.caller())'),
        ('person', 'number = (SELECT reread.asking()) OR EXISTS (SELECT FROM reread.session
            WHERE session.person = person.name AND (' || ledger || '))'),
        ('title', 'EXISTS (SELECT FROM reread.session WHERE session.id = title.session AND ('
            || format(is_seen, 'true') || '))'),
        -- A search that may have found anything concerns everybody whose text it could have found.
        ('audit', 'reader = (SELECT reread.caller()) OR person = (SELECT reread.caller())
            OR person IS NULL AND (''*'' = ANY (teams) OR teams && ARRAY(SELECT reread.teams(false)))')
    ) AS rule(name, condition) LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', each.name);
        EXECUTE format('REVOKE ALL ON %I FROM reread_member', each.name);
        EXECUTE format('CREATE VIEW seen_%s WITH (security_barrier) AS
            SELECT * FROM %I WHERE (SELECT is_owner()) OR %s OFFSET 0',
            each.name, each.name, each.condition);
        EXECUTE format('GRANT SELECT ON seen_%s TO reread_member', each.name);
    END LOOP;
    -- Everybody reads these; and nobody the texts, but through `search`, `lines_of` and `content_of`, with a ticket.
    FOR each IN SELECT unnest(ARRAY['note', 'migration', 'rate', 'multiplier', 'model_name']) AS name LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', each.name);
        EXECUTE format('CREATE POLICY seen ON %I FOR SELECT TO reread_member USING (true)', each.name);
        EXECUTE format('GRANT SELECT ON %I TO reread_member', each.name);
    END LOOP;
    ALTER TABLE untidy ENABLE ROW LEVEL SECURITY;
    ALTER TABLE budget ENABLE ROW LEVEL SECURITY;
    ALTER TABLE text ENABLE ROW LEVEL SECURITY;
    ALTER TABLE content ENABLE ROW LEVEL SECURITY;
    REVOKE ALL ON text, content FROM reread_member;
END $$;

-- What `seen_response` shows from a time on, by the index: a view's OFFSET 0 keeps the condition outside.
CREATE OR REPLACE FUNCTION responses_since(since bigint) RETURNS SETOF response
LANGUAGE plpgsql STABLE SECURITY DEFINER SET jit = off AS $$
DECLARE who text := caller(); own text[] := ARRAY(SELECT teams(false)); sees_all boolean := is_owner();
BEGIN
    RETURN QUERY SELECT * FROM response
        WHERE time >= since AND (person = who OR coalesce(team, '*') = ANY (own) OR sees_all);
END $$;

-- Functions find objects of the catalogue and of this schema alone, whatever their caller's path is; every one of them,
-- also those without rights of their own, since a policy or another function may call it.
DO $$
DECLARE each regprocedure;
BEGIN
    FOR each IN SELECT oid::regprocedure FROM pg_proc WHERE pronamespace = 'reread'::regnamespace LOOP
        EXECUTE format('ALTER FUNCTION %s SET search_path = pg_catalog, reread, pg_temp', each);
    END LOOP;
END $$;

SELECT find_roles();
GRANT USAGE ON SCHEMA reread TO reread_member;
REVOKE ALL ON ALL TABLES IN SCHEMA reread FROM PUBLIC;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA reread FROM PUBLIC, reread_member;
GRANT EXECUTE ON FUNCTION asking(), caller(), is_owner(), is_called(text, text), teams(boolean), kept_since(text),
    known_sessions_v1(text[], text[]), put_sessions_v1(jsonb), pushed_v1(text, bigint), retire(), tidy(),
    responses_since(bigint), ask(jsonb), search(bigint, jsonb), lines_of(bigint, bigint), content_of(bigint, bigint),
    forget(text) TO reread_member;
