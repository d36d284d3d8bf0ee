"""Money in SQL: which copy of a response counts and whose it is, what it costs, and the sums over responses.

Each rule stands once here and is written for SQLite, PostgreSQL and DuckDB. In Python the same rules are
`response.settle`, `Prices.cost` and `report.Sums`; `tests/accounting/test_money_in_sql.py` runs all beside each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import LiteralString

    from .prices import ListedRate, RateCard

TOKENS: tuple[LiteralString, ...] = ("input", "output", "cache_read", "cache_write_5m", "cache_write_1h")
TOTAL: LiteralString = " + ".join(TOKENS)
PROMPT: LiteralString = " + ".join(name for name in TOKENS if name != "output")


class Dialect(NamedTuple):
    """How a database says what all three can do."""

    whole: LiteralString
    """A sum of whole numbers as one: PostgreSQL makes a decimal number of it."""
    divided: LiteralString
    """The operator that divides whole numbers."""
    quotient: LiteralString
    """The same for numbers of any size."""
    by_bytes: LiteralString
    """Texts in the order of their bytes."""
    asker: LiteralString
    """The key of the response that asked an advisor; any other key as it is."""


SQLITE = Dialect(
    whole="{}",
    divided="/",
    quotient="(({}) / ({}))",
    by_bytes="{}",
    asker="substr({0}, 1, instr({0} || '#advisor:', '#advisor:') - 1)",
)
POSTGRES = Dialect(
    whole="{}::bigint",
    divided="/",
    quotient="div({}, {})",
    by_bytes='{} COLLATE "C"',
    asker="split_part({}, '#advisor:', 1)",
)
DUCKDB = Dialect(
    whole="{}", divided="//", quotient="(({}) // ({}))", by_bytes="{}", asker="split_part({}, '#advisor:', 1)"
)


def sums_by_name(
    dialect: Dialect = SQLITE, *, money: LiteralString = "nanodollars", time: LiteralString = "time"
) -> dict[str, LiteralString]:
    """The fourteen sums over responses by name, in the order of `report.Sums`."""
    found: dict[str, LiteralString] = {"requests": "count(*)"}
    found |= {name: dialect.whole.format(f"sum({name})") for name in (*TOKENS, "web_searches")}
    found["nanodollars"] = dialect.whole.format(f"sum({money})")
    found["unpriced"] = dialect.whole.format(f"coalesce(sum({TOTAL}) FILTER (WHERE {money} IS NULL), 0)")
    found["duplicates"] = dialect.whole.format("sum(CASE WHEN rows > 1 THEN rows - 1 ELSE 0 END)")
    found["suspect"] = "count(*) FILTER (WHERE doubt = 2)"
    found["provisional"] = "count(*) FILTER (WHERE doubt = 1)"
    return {**found, "first": f"min({time})", "last": f"max({time})"}


def sum_columns(
    dialect: Dialect = SQLITE, *, money: LiteralString = "nanodollars", time: LiteralString = "time"
) -> LiteralString:
    """The sums as columns of a query."""
    return ", ".join(sums_by_name(dialect, money=money, time=time).values())


NAMES: tuple[LiteralString, ...] = tuple(sums_by_name())
ADDED: LiteralString = ", ".join([*(f"sum({name})" for name in NAMES[:-2]), "min(first)", "max(last)"])
"""Rows of sums added up."""


def quarter_of(dialect: Dialect = SQLITE, time: LiteralString = "time") -> LiteralString:
    """The quarter of an hour that a time is in; -1 without one, or before 1970, which must be wrong."""
    return f"CASE WHEN {time} >= 0 THEN {time} {dialect.divided} 900000 ELSE -1 END"


def owner_order(
    dialect: Dialect = SQLITE, *, ended: LiteralString = "ended", file: LiteralString = "file"
) -> LiteralString:
    """The order of `response.nearness`: the first copy owns a response."""
    texts = ", ".join(dialect.by_bytes.format(name) for name in ("head", file))
    return f"is_sidechain, time IS NULL, time, began IS NULL, began, coalesce({ended}, 0), {texts}"


def settled(
    dialect: Dialect,
    copies: LiteralString,
    order: LiteralString,
    *,
    counted: Sequence[LiteralString],
    owned: Sequence[LiteralString],
) -> LiteralString:
    """Every response once, as `response.settle_all` gives it, from a table or query of copies: the columns `counted` of
    the copy that counts, its `file` as `counted_file`, the columns `owned` of the copy that owns it as `owner_...`, and
    what is settled of all copies. Most responses have one copy, and only the others are sorted."""
    alone = ", ".join([*(f"copy.{name}" for name in counted), "copy.file AS counted_file"])
    both = ", ".join([alone.replace("copy.", "best."), *(f"owner.{name} AS owner_{name}" for name in owned)])
    alone = ", ".join([alone, *(f"copy.{name} AS owner_{name}" for name in owned)])
    advice = ", ".join([*(f"part.{name}" for name in counted), "part.file", *(f"whole.owner_{name}" for name in owned)])
    parts = {"copies": copies, "order": order, "alone": alone, "both": both, "advice": advice}
    return _SETTLED.format(**parts, asker=dialect.asker.format("part.key"))


_SETTLED: LiteralString = """WITH copy AS (SELECT * FROM {copies}
    ), repeated AS (SELECT key FROM copy WHERE rows > 0 GROUP BY key HAVING count(*) > 1
    ), near AS (
        SELECT *, row_number() OVER (PARTITION BY key ORDER BY {order}) AS nearness,
            row_number() OVER (PARTITION BY key ORDER BY output DESC, {order}) AS fullness
        FROM copy WHERE rows > 0 AND key IN (SELECT key FROM repeated)
    ), every AS (
        SELECT key, count(*) AS files, max(web_searches) AS web_searches, min(doubt) AS doubt, sum(rows) AS rows
        FROM near GROUP BY key
    ), whole AS (
        SELECT {both}, every.web_searches, every.doubt, every.rows, every.files
        FROM every JOIN near AS best ON best.key = every.key AND best.fullness = 1
            JOIN near AS owner ON owner.key = every.key AND owner.nearness = 1
        UNION ALL
        SELECT {alone}, web_searches, doubt, rows, 1
        FROM copy WHERE rows > 0 AND key NOT IN (SELECT key FROM repeated)
    ), advice AS (
        SELECT {advice}, part.web_searches, part.doubt, part.rows, whole.files
        FROM copy AS part JOIN whole ON whole.key = {asker}
        WHERE part.rows = 0 AND part.file = whole.counted_file
    )
    SELECT * FROM whole UNION ALL SELECT * FROM advice"""


RATE: tuple[LiteralString, ...] = ("model", "since", "until", "above", "up_to", *TOKENS, "per", "per_search")
"""The columns of a table `rate` with the rows of `rate_rows`: a text, then whole numbers of any size."""
MULTIPLIER: tuple[LiteralString, ...] = ("kind", "name", "model", "numerator", "denominator")
"""The columns of a table `multiplier` with the multipliers of the rate card."""
MODEL_NAME: tuple[LiteralString, ...] = ("raw", "model", "region")
"""The columns of a table `model_name`: what `Prices.model` says that a raw name means."""
_NEVER = 1 << 60
_FACTORS: tuple[LiteralString, ...] = ("speed", "geo", "region", "tier")


def rate_rows(card: RateCard) -> Iterator[tuple[str | int | None, ...]]:
    """The rates of the card, each with the times (from, before) and prompts (above, up to) for which it applies."""
    by_model: dict[str, dict[int, list[ListedRate]]] = {}
    for rate in card.rates:
        by_model.setdefault(rate.model, {}).setdefault(_first_moment(rate), []).append(rate)
    for model, by_day in by_model.items():
        days = sorted(by_day)
        for since, until in zip(days, [*days[1:], _NEVER], strict=True):
            tiers = sorted(by_day[since], key=_above)
            for rate, up_to in zip(tiers, [*map(_above, tiers[1:]), _NEVER], strict=True):
                money = (*(getattr(rate, name) for name in TOKENS), rate.per, card.nanodollars_per_search)
                yield model, since, until, _above(rate), up_to, *money


def _first_moment(rate: ListedRate) -> int:
    if rate.from_date is None:
        return -_NEVER
    return int(datetime.fromisoformat(rate.from_date).replace(tzinfo=UTC).timestamp()) * 1000


def _above(rate: ListedRate) -> int:
    return -1 if rate.above_prompt_tokens is None else rate.above_prompt_tokens


def priced(
    dialect: Dialect,
    responses: LiteralString,
    columns: LiteralString,
    *,
    time: LiteralString = "used.time",
    schema: LiteralString = "",
) -> LiteralString:
    """`columns` of responses, which are called `used`, and as `nanodollars` what each costs by the tables `rate`,
    `multiplier` and `model_name`; NULL without a price. Without a time the newest rate applies."""
    n = " * ".join(f"coalesce({kind}.numerator, 1)" for kind in _FACTORS)
    d = " * ".join(["rate.per", *(f"coalesce({kind}.denominator, 1)" for kind in _FACTORS)])
    cost = " + ".join(
        f"CASE WHEN used.{name} = 0 THEN 0 ELSE "
        + dialect.quotient.format(f"2 * used.{name} * rate.{name} * {n} + {d}", f"2 * {d}")
        + " END"
        for name in TOKENS
    )
    values: dict[LiteralString, LiteralString] = {
        **{kind: f"used.{kind}" for kind in _FACTORS},
        "region": "model_name.region",
    }
    factors = "".join(
        f"""
    LEFT JOIN {schema}multiplier AS {kind}
        ON {kind}.kind = '{kind}' AND {kind}.name = {values[kind]} AND {kind}.model = rate.model"""
        for kind in _FACTORS
    )
    prompt = PROMPT.replace("input", "used.input").replace("cache", "used.cache")
    return f"""SELECT {columns}, CAST({cost} + used.web_searches * rate.per_search AS BIGINT) AS nanodollars
FROM {responses} AS used
    LEFT JOIN {schema}model_name ON model_name.raw = used.model
    LEFT JOIN {schema}rate ON rate.model = model_name.model
        AND coalesce({time}, {_NEVER - 1}) >= rate.since AND coalesce({time}, {_NEVER - 1}) < rate.until
        AND {prompt} > rate.above AND {prompt} <= rate.up_to{factors}"""  # noqa: S608  our own names
