"""Which project a working directory belongs to: a worktree counts to the one it was made from."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .usage import ModelUse, UsageReport, UsageRow

_WORKTREE = re.compile(r"[/\\]\.(?:claude[/\\])?worktrees[/\\][^/\\]+")
"""Where Claude Code makes worktrees, and where people commonly do. Nothing on disk leads from one to its project."""


def project_of(path: str | None) -> str:
    """The project's folder; empty where there is none."""
    return _WORKTREE.split(path or "")[0]


def with_worktrees(report: UsageReport) -> UsageReport:
    """A report by project, each with the worktrees that were made from it; the dearest first."""
    from msgspec.structs import replace

    found: dict[str | None, list[UsageRow]] = {}
    for row in report.rows:
        found.setdefault(None if row.key is None else project_of(row.key), []).append(row)
    rows = [replace(rows[0], key=key) if len(rows) == 1 else _joined(key, rows) for key, rows in found.items()]
    rows.sort(key=lambda row: (-(row.tokens.nanodollars or 0), -row.tokens.total_tokens, row.key or ""))
    return replace(report, rows=tuple(rows))


def _joined(key: str | None, rows: list[UsageRow]) -> UsageRow:
    from reread.pricing.tokens import total

    from .usage import UsageRow

    return UsageRow(
        key=key,
        tokens=total(row.tokens for row in rows),
        models=tuple(_models(use for row in rows for use in row.models)),
        suspect=sum(row.suspect for row in rows),
        first=min((row.first for row in rows if row.first is not None), default=None),
        last=max((row.last for row in rows if row.last is not None), default=None),
    )


def _models(uses: Iterable[ModelUse]) -> list[ModelUse]:
    from reread.pricing.tokens import total

    from .usage import ModelUse

    by_model: dict[str | None, list[ModelUse]] = {}
    for use in uses:
        by_model.setdefault(use.model, []).append(use)
    return [
        ModelUse(model=model, tokens=total(use.tokens for use in uses), suspect=sum(use.suspect for use in uses))
        for model, uses in sorted(by_model.items(), key=lambda pair: pair[0] or "")
    ]
