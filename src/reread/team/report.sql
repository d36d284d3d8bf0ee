-- What other programs read: dashboards, dbt, notebooks. Columns are added here, and none is removed or changes its
-- meaning within a year. Money is dollars, exact to the nano-dollar; days are those of UTC. Everybody sees of it what
-- `reread.seen_response` and `seen_session` show them; a role for a dashboard is a member with `--numbers`, and has no
-- words. OFFSET 0 keeps a query's own conditions outside, as in the views of schema.sql.

CREATE SCHEMA IF NOT EXISTS reread_report;
COMMENT ON SCHEMA reread_report IS 'reread: views for dashboards and models; see docs/team.md';

CREATE OR REPLACE VIEW reread_report.usage_daily WITH (security_barrier) AS
SELECT (to_timestamp(time / 1000.0) AT TIME ZONE 'UTC')::date AS day,
    team, person, machine, project, coalesce(model_name.model, response.model) AS model,
    count(*) AS requests, sum(input)::bigint AS input_tokens, sum(output)::bigint AS output_tokens,
    sum(cache_read)::bigint AS cache_read_tokens, sum(cache_write_5m)::bigint AS cache_write_5m_tokens,
    sum(cache_write_1h)::bigint AS cache_write_1h_tokens, sum(web_searches)::bigint AS web_searches,
    (sum(nanodollars) / 1000000000)::numeric(20, 9) AS dollars,
    coalesce(sum(input + output + cache_read + cache_write_5m + cache_write_1h) FILTER (WHERE nanodollars IS NULL), 0)::bigint
        AS unpriced_tokens
FROM (
    SELECT * FROM reread.response WHERE (SELECT reread.is_owner()) OR person = (SELECT reread.caller())
        OR coalesce(team, '*') = ANY (ARRAY(SELECT reread.teams(false))) OFFSET 0
) AS response LEFT JOIN reread.model_name ON raw = response.model
GROUP BY 1, 2, 3, 4, 5, 6;

-- Responses and their cost by the tools they called; the cost of one that called several is divided evenly.
CREATE OR REPLACE VIEW reread_report.tool_daily WITH (security_barrier) AS
SELECT (to_timestamp(time / 1000.0) AT TIME ZONE 'UTC')::date AS day,
    team, person, project, tool, count(*) AS requests,
    (sum(nanodollars::numeric / greatest(cardinality(tools), 1)) / 1000000000)::numeric(20, 9) AS dollars
FROM (
    SELECT * FROM reread.response WHERE (SELECT reread.is_owner()) OR person = (SELECT reread.caller())
        OR coalesce(team, '*') = ANY (ARRAY(SELECT reread.teams(false))) OFFSET 0
) AS response, unnest(CASE WHEN tools = '{}' THEN ARRAY[NULL] ELSE tools END) AS tool
GROUP BY 1, 2, 3, 4, 5;

-- Sessions; `dollars` is of the responses that count for a session, so the sum is what was spent.
CREATE OR REPLACE VIEW reread_report.session WITH (security_barrier) AS
SELECT uuid AS session, person, team, machine, project,
    to_timestamp((numbers->>'started')::bigint / 1000.0) AS started,
    to_timestamp((numbers->>'ended')::bigint / 1000.0) AS ended,
    (numbers->>'prompts')::bigint AS prompts, (numbers->>'turns')::bigint AS turns,
    (numbers->>'tool_calls')::bigint AS tool_calls, (numbers->>'tool_errors')::bigint AS failed_calls,
    (numbers->>'subagents')::bigint AS subagents, (numbers->>'compactions')::bigint AS compactions,
    (SELECT (sum(nanodollars) / 1000000000)::numeric(20, 9) FROM reread.response WHERE response.session = session.id)
        AS dollars,
    has_text, pushed
FROM (
    SELECT * FROM reread.session WHERE is_counted AND ((SELECT reread.is_owner()) OR person = (SELECT reread.caller())
        OR coalesce(team, '*') = ANY (ARRAY(SELECT reread.teams(false)))) OFFSET 0
) AS session;

-- Calls that failed per 100 prompts, by the week a session ended in: what the ledger tells of friction. The other kinds
-- need text; `reread --store URL retro` has them.
CREATE OR REPLACE VIEW reread_report.friction_weekly WITH (security_barrier) AS
SELECT date_trunc('week', ended AT TIME ZONE 'UTC')::date AS week, team, project, count(*) AS sessions,
    sum(prompts)::bigint AS prompts, sum(tool_calls)::bigint AS tool_calls, sum(failed_calls)::bigint AS failed_calls,
    round(100.0 * sum(failed_calls) / nullif(sum(prompts), 0), 2) AS failed_per_100_prompts
FROM reread_report.session GROUP BY 1, 2, 3;

-- Who pushed when, with what, and how it went.
CREATE OR REPLACE VIEW reread_report.freshness WITH (security_barrier) AS
SELECT person.name AS person, pushed AS last_push, client, failures AS failed_sessions, newest.ended AS newest_session
FROM (SELECT * FROM reread.person OFFSET 0) AS person
    LEFT JOIN (SELECT person, max(ended) AS ended FROM reread_report.session GROUP BY person) AS newest ON newest.person = name
WHERE (SELECT reread.is_owner()) OR name = (SELECT reread.caller()) OR newest.person IS NOT NULL;

-- Budgets of teams and projects, with what was spent since the period began (in UTC). One is shown to those who see
-- everything that counts for it, so the sum is the same for each of them.
CREATE OR REPLACE VIEW reread_report.budget WITH (security_barrier) AS
SELECT kind, name, period, since, (budget.nanodollars / 1000000000.0)::numeric(20, 9) AS budget_dollars,
    (spent / 1000000000)::numeric(20, 9) AS dollars
FROM reread.budget, LATERAL (SELECT date_trunc(period, now() AT TIME ZONE 'UTC')::date AS since) AS begun, LATERAL (
    SELECT coalesce(sum(nanodollars) FILTER (WHERE time >= 1000 * extract(epoch FROM since)), 0) AS spent,
        bool_and(person = (SELECT reread.caller()) OR coalesce(team, '*') = ANY (ARRAY(SELECT reread.teams(false)))) AS is_seen
    FROM reread.response WHERE CASE kind WHEN 'team' THEN team = name ELSE reread.is_called(project, name) END
) AS used
WHERE (SELECT reread.is_owner()) OR is_seen OR kind = 'team' AND name = ANY (ARRAY(SELECT reread.teams(false)));

GRANT USAGE ON SCHEMA reread_report TO reread_member;
GRANT SELECT ON ALL TABLES IN SCHEMA reread_report TO reread_member;
