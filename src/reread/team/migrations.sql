-- What brings the tables of an earlier store into the shape of schema.sql, by the number of the store that it makes. A
-- store keeps its old functions beside new ones for a year, so clients and stores need not be updated on the same day.

-- 4: people are known by the numbers of their roles; a push sends several sessions at once
SET LOCAL search_path = reread, pg_temp;
DROP VIEW IF EXISTS seen_member;
ALTER TABLE member ADD COLUMN number oid, DROP CONSTRAINT member_pkey;
UPDATE member SET number = (SELECT oid FROM pg_roles WHERE rolname = role);
ALTER TABLE member ADD UNIQUE (number, team);
CREATE TABLE person (
    name text PRIMARY KEY, role text NOT NULL, number oid UNIQUE,
    pushed timestamptz, client text, failures bigint NOT NULL DEFAULT 0
);
INSERT INTO person (name, role, number, pushed)
    SELECT person, person, (SELECT oid FROM pg_roles WHERE rolname = person), max(pushed) FROM session GROUP BY person;
INSERT INTO note SELECT 'home', system_identifier || '/' || 'reread'::regnamespace::oid FROM pg_control_system()
    ON CONFLICT DO NOTHING;
DROP FUNCTION IF EXISTS put(text, text[], jsonb, jsonb, jsonb), known_files(text), known_lines(text), known_parts(text);
DO $$ DECLARE each record; BEGIN   -- policies and views are made again with what they call
    FOR each IN SELECT viewname FROM pg_views WHERE schemaname = 'reread' LOOP EXECUTE format('DROP VIEW %I', each.viewname); END LOOP;
END $$;
DROP FUNCTION IF EXISTS kept_since();
