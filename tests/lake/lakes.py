"""Lakes beside archives of the same transcripts."""

from __future__ import annotations

from datetime import UTC, tzinfo
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from reread.archive import Archive, UsageReport
from reread.archive.filters import Filter
from reread.archive.usage_report import GROUPINGS, UsageQuestion
from reread.billing import packaged_prices
from reread.lake.build import LakeBuilt, build
from reread.lake.delta import DeltaLake
from reread.lake.query import LakeAnswers
from reread.lake.share import ShareOptions
from reread.lake.tables import SHARED

EVERYTHING = Filter()
COMPARED = [by for by in GROUPINGS if by != "machine"]
"""A lake knows no machines."""


def built(
    lake: Path | str, *sources: Path | str, engine: str = "local", master: str | None = None, **given: Any
) -> LakeBuilt:
    return build(DeltaLake(str(lake)), [str(source) for source in sources], ShareOptions(**given), engine, master)


def asked(lake: Path | str, statement: str) -> list[tuple[Any, ...]]:
    with LakeAnswers.of(DeltaLake(str(lake)), packaged_prices()) as answers:
        return answers.sql(statement)[1]


def reports(lake: Path | str, wanted: Filter = EVERYTHING, zone: tzinfo = UTC) -> dict[str, UsageReport]:
    with LakeAnswers.of(DeltaLake(str(lake)), packaged_prices()) as answers:
        groupings = [by for by in COMPARED if by != "block" or wanted == EVERYTHING]
        return {by: answers.usage(UsageQuestion(by=by, filters=wanted, zone=zone)) for by in groupings}


def assert_same_usage(lake: Path | str, archive: Archive, wanted: Filter = EVERYTHING, zone: tzinfo = UTC) -> None:
    """Every report is that of the archive, its accounting included. What gateways billed only an archive says."""
    for by, report in reports(lake, wanted, zone).items():
        assert report == replace(archive.usage(by, wanted, zone), billed=None), by


def everything(lake: Path | str) -> dict[str, list[str]]:
    """All rows of the tables that shares are made of."""
    held = DeltaLake(str(lake))
    return {
        table.name: sorted(map(repr, held.rows(table.name).select(table.schema.names).to_pylist())) for table in SHARED
    }
