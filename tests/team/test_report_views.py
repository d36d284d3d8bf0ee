"""The views for dashboards have the figures of `usage`, and nobody sees more in them than elsewhere."""

from __future__ import annotations

import json
import re
from datetime import UTC
from decimal import Decimal
from pathlib import Path

import psycopg
import pytest

from reread.billing import packaged_prices
from reread.team.questions import usage
from reread.team.store import Store, initialise
from trees import generate

from .conftest import Team
from .test_exact_over_the_team import PEOPLE, push_all, split
from .test_teams_apart import IDS, NUMBERS, TEAMS, WORDS
from .test_teams_apart import full as full

CONTRIB = Path(__file__).parents[2] / "contrib"
VIEWS = ("usage_daily", "tool_daily", "session", "friction_weekly", "freshness")


def sums(store: Store, view: str, column: str) -> dict[str | None, Decimal]:
    rows = store.rows(f"SELECT {column}::text, sum(dollars) FROM reread_report.{view} GROUP BY 1".encode().decode())  # noqa: S608
    return {key: dollars for key, dollars in rows if dollars}


def test_they_add_up_to_the_report(team: Team, tmp_path: Path) -> None:
    generate(tmp_path / "tree", size=700_000, seed=4)
    split(tmp_path / "tree", tmp_path, 4)
    push_all(team)
    with team.store("owner") as store:
        for by, view, column in (
            ("day", "usage_daily", "day"),
            ("project", "usage_daily", "project"),
            ("person", "usage_daily", "person"),
            ("model", "usage_daily", "model"),
            ("session", "session", "session"),
        ):
            expected: dict[str | None, Decimal] = {}
            for row in usage(store, by, timezone=UTC).rows:
                meant = packaged_prices().model(row.key) if by == "model" else None
                key = meant.name if meant else row.key
                expected[key] = expected.get(key, Decimal()) + Decimal(row.tokens.nanodollars or 0) / 10**9
            assert sums(store, view, column) == {key: money for key, money in expected.items() if money}, by
        tools = sum(sums(store, "tool_daily", "tool").values())
        assert tools == pytest.approx(sum(sums(store, "usage_daily", "day").values()), abs=Decimal("0.000001"))
        assert {name for (name,) in store.rows("SELECT person FROM reread_report.freshness")} == set(PEOPLE)


@pytest.mark.parametrize("role", [*TEAMS, *NUMBERS])
def test_nobody_sees_more_in_them_than_elsewhere(full: Team, role: str) -> None:
    """Views that others made of them outlive the next `team init`."""
    with Store(full.url("owner"), is_new=True) as store:
        store.connection.execute("CREATE VIEW public.mine AS SELECT day FROM reread_report.usage_daily")
        initialise(store, packaged_prices())
    others = {"ann", "bob"} if role == "all" else {"bob"} if TEAMS.get(role, "red") == "blue" else {"ann"}
    hidden = {"ann", "bob"} - others
    with psycopg.connect(full.url(role), autocommit=True) as connection:
        said = "".join(repr(connection.execute(f"TABLE reread_report.{name}".encode()).fetchall()) for name in VIEWS)
    for person in hidden:
        assert person not in said.replace("project", "")
        assert IDS[person] not in said
    for person in others:
        assert IDS[person] in said
        assert f"the {WORDS[person]} of" not in said


def test_the_questions_of_the_dashboards_are_answered(team: Team) -> None:
    """With what Grafana puts in the place of its variables."""
    boards = [json.loads(path.read_bytes()) for path in (CONTRIB / "grafana").glob("*.json")]
    assert len(boards) == 2
    with team.store("owner") as store:
        for board in boards:
            for panel in board["panels"]:
                asked = re.sub(
                    r"\$__timeFilter\((.*?)\)(?= |$)", r"\1 >= now() - interval '1 year'", panel["targets"][0]["rawSql"]
                )
                store.connection.execute(asked.replace("${team:sqlstring}", "'red'").encode())
        for name in re.findall(r"^      - name: (\w+)$", (CONTRIB / "dbt" / "reread.yml").read_text(), re.MULTILINE):
            store.connection.execute(f"TABLE reread_report.{name}".encode())
