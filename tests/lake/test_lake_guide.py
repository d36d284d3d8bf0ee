"""docs/lake.md: every query in it runs, and every table and command it names is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from accounting.traps import write_traps
from lake.lakes import built
from reread.billing import packaged_prices
from reread.cli.lake import ACTIONS
from reread.lake.delta import DeltaLake
from reread.lake.query import LakeAnswers
from reread.lake.tables import TABLES
from reread.testing import a_prompt, a_session

GUIDE = (Path(__file__).parents[2] / "docs" / "lake.md").read_text("utf-8")
QUERIES = re.findall(r"```sql\n(.*?)```", GUIDE, re.DOTALL)


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> LakeAnswers:
    folder = tmp_path_factory.mktemp("guide")
    write_traps(folder / "projects")
    a_session(a_prompt("now test it", timestamp="2026-11-02T09:00:00.000Z"), id="fay").write(folder / "projects")
    built(folder / "lake", folder / "projects")
    return LakeAnswers.of(DeltaLake(str(folder / "lake")), packaged_prices())


def test_there_are_a_dozen_questions() -> None:
    assert len(QUERIES) >= 12


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query.split("\n")[0][:50])
def test_every_query_of_the_guide_has_an_answer(answers: LakeAnswers, query: str) -> None:
    columns, rows = answers.sql(query)
    assert columns
    assert rows or "is_abandoned" in query or "seconds" in query or "path" in query


def test_every_table_and_action_is_in_the_guide() -> None:
    for name in (*TABLES, "response"):
        assert f"`{name}`" in GUIDE, name
    for action in ACTIONS.actions:
        assert f"`reread lake {action} " in GUIDE, action
