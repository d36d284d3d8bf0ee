"""Transcripts, and what every way to count them says: after a sync, straight from the sources, by the library."""

from __future__ import annotations

import json
from datetime import tzinfo
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

import reread.archive.billing
from cli.running import Ran, Run
from reread import Tokens
from reread.archive import Archive
from reread.home import this_machine
from reread.testing import Agent, ContentBlock, Entry, a_prompt, a_reply, a_session
from reread.views.values import tokens_document

Json = dict[str, Any]
AHEAD = ("day", "week", "month", "model", "block")
"""Groupings that are answered straight from the sources before a first sync."""
ANN = "aaaa0000-1111-4222-8333-444455556666"
BOB = "bbbb0000-1111-4222-8333-444455556666"
CAT = "cccc0000-1111-4222-8333-444455556666"


def a_response(
    usage: Json | list[Json],
    at: str | None = "2026-11-02T10:00:00.000Z",
    model: str | None = "claude-opus-4-8",
    **given: Any,
) -> Entry:
    """One API response; with a list of usages, a line for each."""
    rows = len(usage) if isinstance(usage, list) else 1
    return a_reply(*[f"part {i}" for i in range(rows)], usage=usage, timestamp=at, model=model, **given)


class Books:
    """A source folder; every report is asked for three ways, which must agree."""

    def __init__(self, folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        self.source = folder / "projects"
        self._folder = folder
        self._run = run
        self._monkeypatch = monkeypatch
        self._archives = 0

    def write(
        self,
        *entries: Entry | ContentBlock | Agent,
        session: str = ANN,
        cwd: str = "/home/ann/app",
        version: str = "2.1.197",
    ) -> Path:
        made = a_session(
            a_prompt("go", timestamp="2026-11-02T09:59:00.000Z"), *entries, id=session, cwd=cwd, version=version
        )
        return made.write(self.source)

    def archive(self) -> Archive:
        """A new one that has taken the sources in."""
        self._archives += 1
        archive = Archive(self._folder / f"archive{self._archives}", [self.source], machine=this_machine())
        archive.sync()
        return archive

    def usage(self, by: str = "day", *options: str, zone: str = "UTC") -> Json:
        """The JSON of the command after a sync; the archive's own answer and the one ahead of a sync are the same."""
        document = self._document(by, *options, "--timezone", zone, ahead=False)
        if not options:
            with self.archive() as archive:
                assert sums(document) == sums(report_document(archive, by, ZoneInfo(zone)))
        if by in AHEAD and not options:
            counted = self._document(by, "--timezone", zone, ahead=True)
            assert sums(counted) == sums(document)
            assert counted["accounting"]["malformed_lines"] is None
        return document

    def total(self) -> Json:
        """All of it; where there is one session, the library's figure is the same."""
        totals: Json = self.usage()["totals"]
        trunks = [path for path in self.source.glob("*/*.jsonl") if not path.name.startswith("agent-")]
        if len(trunks) == 1:
            library = reread.load(trunks[0]).total_usage
            assert tokens_document(library) == {name: totals[name] for name in tokens_document(library)}
        return totals

    def nanodollars(self) -> int | None:
        return nano(self.total()["cost_usd"])

    def by_model(self) -> dict[str | None, Json]:
        return {row["model"]: row for row in self.usage("model")["rows"]}

    def by(self, grouping: str, *options: str, zone: str = "UTC") -> dict[str | None, Json]:
        return {row[grouping]: row for row in self.usage(grouping, *options, zone=zone)["rows"]}

    def command(self, *arguments: str | Path) -> Ran:
        """The command over the sources and an archive of its own."""
        self._archives += 1
        return self._run(*arguments, "--source", self.source, "--home", self._folder / f"archive{self._archives}")

    def _document(self, by: str, *options: str, ahead: bool) -> Json:
        with self._monkeypatch.context() as patch:
            if ahead:
                patch.setattr(reread.archive.billing, "QUICK_SYNC", 1)
            ran = self.command("usage", by, "--json", *options)
        assert ran.code == 0, ran.err
        assert ("counted straight from the sources" in ran.err) is ahead
        document: Json = json.loads(ran.out)
        return document


def report_document(archive: Archive, by: str, zone: tzinfo) -> Json:
    """The library's report in the form of the JSON document, as far as numbers go."""
    report = archive.usage(by, timezone=zone)
    told = report.accounting

    def used(tokens: Tokens, models: Any) -> Json:
        inside = [{"model": each.model, **tokens_document(each.tokens)} for each in models]
        return {**tokens_document(tokens), "models": inside}

    unknown = "unknown" if by in ("day", "week", "month", "block") else None
    return {
        "rows": [{by: row.key or unknown, **used(row.tokens, row.models)} for row in report.rows],
        "totals": used(report.totals, report.models),
        "accounting": {name: getattr(told, name) for name in ACCOUNTING},
        "by": by,
    }


ACCOUNTING = (
    "requests",
    "duplicates_collapsed",
    "unpriced_tokens",
    "suspect_output_requests",
    "provisional_requests",
    "price_table_date",
)
_COUNTS = tuple(tokens_document(Tokens()))


def sums(document: Json) -> Json:
    """Every number all ways must agree on; how many lines there are and are malformed, only a sync can tell."""
    by = document["by"]
    return {
        "rows": [_used(row, by) for row in document["rows"]],
        "totals": _used(document["totals"]),
        "accounting": {name: document["accounting"][name] for name in ACCOUNTING},
    }


def _used(row: Json, *keys: str) -> Json:
    found = {name: row[name] for name in (*keys, *_COUNTS)}
    if "models" in row:
        found["models"] = [_used(each, "model") for each in row["models"]]
    return found


def nano(cost: str | None) -> int | None:
    """Nano-dollars of money in a document, which has nine decimals exactly."""
    if cost is None:
        return None
    whole, _, decimals = cost.partition(".")
    assert len(decimals) == 9, cost
    return int(whole + decimals)
