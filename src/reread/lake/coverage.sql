-- Sessions that Claude Code told a collector of, from the collector's files (OTLP as JSON, a message on each line), beside
-- those of the lake. The same record in two files counts once. A session's cost is the sum of its events
-- `claude_code.api_request`, or of the metric `claude_code.cost.usage` where a collector gets no events: of its
-- increments, or, where it is told as a running total, of the last total of each series.
CREATE OR REPLACE TEMP MACRO attribute(said, name) AS (
    SELECT coalesce(found ->> '$.stringValue', found ->> '$.doubleValue', found ->> '$.intValue')
    FROM (SELECT list_filter(json_extract(said, '$.attributes[*]'), lambda each: each ->> '$.key' = name)[1] -> '$.value' AS found)
);
WITH message AS (SELECT line FROM otlp WHERE json_valid(line)
), record AS (
    SELECT DISTINCT unnest(json_extract(line, '$.resourceLogs[*].scopeLogs[*].logRecords[*]')) AS said FROM message
), metric AS (
    SELECT unnest(json_extract(line, '$.resourceMetrics[*].scopeMetrics[*].metrics[*]')) AS told FROM message
), point AS (
    SELECT DISTINCT told ->> '$.sum.aggregationTemporality' IN ('1', 'AGGREGATION_TEMPORALITY_DELTA') AS is_delta,
        unnest(json_extract(told, '$.sum.dataPoints[*]')) AS said
    FROM metric WHERE told ->> '$.name' = 'claude_code.cost.usage'
), series AS (
    SELECT any_value(said) AS said, min((said ->> '$.timeUnixNano')::BIGINT) AS first, max((said ->> '$.timeUnixNano')::BIGINT) AS last,
        CASE WHEN is_delta THEN sum((said ->> '$.asDouble')::DOUBLE) ELSE max((said ->> '$.asDouble')::DOUBLE) END AS dollars
    FROM point GROUP BY is_delta, said ->> '$.attributes', CASE WHEN NOT is_delta THEN said ->> '$.startTimeUnixNano' END
), seen AS (
    SELECT attribute(said, 'session.id') AS session, true AS is_event, (said ->> '$.timeUnixNano')::BIGINT AS first, first AS last,
        attribute(said, 'cost_usd')::DOUBLE AS dollars
    FROM record WHERE coalesce(attribute(said, 'event.name'), said ->> '$.body.stringValue') IN ('api_request', 'claude_code.api_request')
    UNION ALL SELECT attribute(said, 'session.id'), false, first, last, dollars FROM series
)
SELECT session, make_timestamp(min(first) // 1000) AS first, make_timestamp(max(last) // 1000) AS last,
    count(*) FILTER (WHERE is_event) AS requests,
    round(1e9 * CASE WHEN bool_or(is_event) THEN sum(dollars) FILTER (WHERE is_event) ELSE sum(dollars) END)::BIGINT AS nanodollars,
    session IN (SELECT id FROM session) AS is_here
FROM seen WHERE session IS NOT NULL GROUP BY session ORDER BY first, session
