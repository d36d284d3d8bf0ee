"""Budgets and spending in words, for a terminal, a page and JSON."""

from __future__ import annotations

from typing import Any

from reread.archive.budgets import PERIODS, Budget, Spending

NAMES = {"day": "today", "week": "this week", "month": "this month"}
BEFORE = {"day": "yesterday", "week": "last week, same days", "month": "last month, same days"}


def budget_words(budget: Budget) -> str:
    """`82% of $10 for today, nearly used up`."""
    ending = {"ok": "", "near": ", nearly used up", "over": ", used up"}[budget.state]
    return f"{budget.share:.0%} of {dollars(budget.limit)} for {NAMES[budget.period]}{ending}"


def dollars(nanodollars: int) -> str:
    amount = nanodollars / 1e9
    return f"${amount:,.0f}" if amount == int(amount) else f"${amount:,.2f}"


def projection_words(spending: Spending) -> str:
    """As a range: the pace of a week is not that of a month."""
    low, high = f"${spending.low / 1e9:,.0f}", f"${spending.high / 1e9:,.0f}"
    return f"at this pace {low}" if low == high else f"at this pace {low} to {high}"


def spending_lines(spending: Spending) -> list[str]:
    limits = {each.period: each for each in spending.budgets}
    rows = [
        [
            NAMES[name],
            f"${spending.spent[name] / 1e9:,.2f}",
            budget_words(limits[name]) if name in limits else "no budget",
            f"{BEFORE[name]}: ${spending.before[name] / 1e9:,.2f}",
        ]
        for name in PERIODS
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    lines = [f"{a:<{widths[0]}}  {b:>{widths[1]}}  {c:<{widths[2]}}  {d}" for a, b, c, d in rows]
    return [*lines, "", f"The whole month: {projection_words(spending)}."]


def spending_document(spending: Spending) -> dict[str, Any]:
    limits = {each.period: each for each in spending.budgets}
    return {
        "schema": "reread.budget/1",
        "periods": [
            {
                "period": name,
                "spent_usd": _exact(spending.spent[name]),
                "limit_usd": _exact(limits[name].limit) if name in limits else None,
                "state": limits[name].state if name in limits else None,
                "before_usd": _exact(spending.before[name]),
            }
            for name in PERIODS
        ],
        "month_low_usd": _exact(spending.low),
        "month_high_usd": _exact(spending.high),
    }


def _exact(nanodollars: int) -> str:
    return f"{nanodollars // 10**9}.{nanodollars % 10**9:09d}"
