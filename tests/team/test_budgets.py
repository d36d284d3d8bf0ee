"""What a team or a project may cost, kept in the store, shown to those who see all that counts for it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from urllib.request import HTTPCookieProcessor, build_opener

import pytest

from cli.running import environment, read_until, start
from reread.team.store import Store

from .test_team_commands import People, people, run

__all__ = ["people", "run"]


@pytest.fixture
def spent(people: People) -> People:
    """Budgets of a team and of projects; the sessions are of earlier months."""
    people.push("ann")
    people.push("bob")
    owner = people.url("owner")
    for words in (("red", "month", "1"), ("lantern", "week", "2", "--project"), ("src", "day", "3", "--project")):
        assert people("owner", "team", "budget", *words, "--store", owner).code == 0
    return people


def _names(people: People, role: str) -> list[str]:
    ran = people(role, "team", "budget", "--store", people.url(role), "--json")
    return [each["name"] for each in json.loads(ran.out)["budgets"]]


def test_a_budget_is_shown_to_those_who_see_all_that_counts_for_it(spent: People) -> None:
    assert _names(spent, "owner") == ["red", "lantern", "src"]
    assert _names(spent, "ann") == ["red", "lantern"]
    assert _names(spent, "bob") == []
    assert spent("owner", "team", "grant", "bob", "red", "--store", spent.url("owner")).code == 0
    assert _names(spent, "bob") == ["red", "lantern", "src"]


def test_only_the_owner_sets_a_budget(spent: People) -> None:
    ran = spent("ann", "team", "budget", "red", "month", "100", "--store", spent.url("ann"))
    assert ran.code == 2
    assert "your role may not do that" in ran.err


def test_what_was_spent_is_exact_and_a_budget_that_is_used_up_exits_with_one(spent: People) -> None:
    with Store(spent.url("owner")) as store:
        store.connection.execute("UPDATE reread.response SET time = extract(epoch FROM now()) * 1000")
        [(total,)] = store.rows("SELECT sum(nanodollars)::bigint FROM reread.response WHERE team = 'red'")
    ran = spent(
        "owner", "team", "budget", "red", "month", f"{total / 1e9:.9f}", "--store", spent.url("owner"), "--json"
    )
    [red, *_] = json.loads(ran.out)["budgets"]
    assert (ran.code, red["spent"], red["limit"], red["state"]) == (1, f"0.{total:09}", f"0.{total:09}", "over")
    spent("owner", "team", "budget", "red", "month", "none", "--store", spent.url("owner"))
    assert _names(spent, "owner") == ["lantern", "src"]


def test_the_page_of_a_store_shows_its_budgets_and_not_those_of_the_person(spent: People, tmp_path: Path) -> None:
    words = ("--store", spent.url("ann"), "serve", "--port", "0", "--no-browser", "--home", tmp_path / "unused")
    serving = start(*words, env=environment())
    try:
        [first] = re.findall(r"http://\S+", read_until(serving, "\n"))
        browser = build_opener(HTTPCookieProcessor())
        browser.open(first, timeout=20).close()
        shown = browser.open(re.sub(r"(//[^/]+).*", r"\1/usage", first), timeout=20).read().decode()
    finally:
        serving.terminate()
        serving.wait(20)
    for words_of_page in ("Budgets, with days of UTC", "of $1 for this month", "of $2 for this week"):
        assert words_of_page in shown
    assert "/usage/budgets" not in shown
    assert "of $3 for today" not in shown
