"""Answers: the reports of an archive with the same transcripts, and SQL that settles and prices as the library does."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from accounting.traps import write_traps
from cli.running import reread
from lake.lakes import COMPARED, asked, assert_same_usage, built
from reread.archive import Archive
from reread.archive.filters import Filter
from reread.billing import Doubt, Response, packaged_prices
from reread.billing.response import settle_all
from reread.errors import BadInput
from reread.lake.query import LakeAnswers
from reread.lake.tables import REQUEST, arrow_table
from reread.testing import a_prompt, a_reply, a_session
from reread.times import milliseconds
from sampling import examples
from trees import a_tree, append, resume_copy

FILTERS = [
    Filter(since=datetime(2026, 10, 31, 23, 7, tzinfo=UTC), until=datetime(2026, 11, 2, 12, 0, 30, tzinfo=UTC)),
    Filter(project="one"),
    Filter(model="opus"),
    Filter(tool="B*"),
    Filter(git_branch="models"),
]


@pytest.fixture(scope="module")
def traps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake of everything that is hard to count, beside the archive of it."""
    folder = tmp_path_factory.mktemp("traps")
    write_traps(folder / "projects")
    with Archive(folder / "home", [folder / "projects"], machine="desk") as archive:
        archive.sync()
    built(folder / "lake", folder / "projects")
    return folder


def archive_of(folder: Path) -> Archive:
    return Archive(folder / "home", [folder / "projects"], machine="desk")


@pytest.mark.sampled(1)
@pytest.mark.parametrize("zone", [UTC, ZoneInfo("Asia/Kathmandu"), ZoneInfo("America/New_York")], ids=str)
def test_every_report_of_what_is_hard_to_count_is_the_archives(traps: Path, zone: ZoneInfo) -> None:
    with archive_of(traps) as archive:
        assert_same_usage(traps / "lake", archive, zone=zone)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("wanted", FILTERS, ids=lambda wanted: str([each for each in wanted if each]))
def test_filters_ask_the_same_question(traps: Path, wanted: Filter) -> None:
    with archive_of(traps) as archive:
        assert_same_usage(traps / "lake", archive, wanted)


def test_work_outside_a_repository_has_no_branch_here_as_there(tmp_path: Path) -> None:
    """Clients write an empty name for it."""
    a_session(a_prompt("a"), a_reply("b", gitBranch="")).write(tmp_path / "projects")
    built(tmp_path / "lake", tmp_path / "projects")
    with Archive(tmp_path / "home", [tmp_path / "projects"], machine="desk") as archive:
        archive.sync()
        assert_same_usage(tmp_path / "lake", archive)


def test_every_report_of_a_larger_tree_is_the_archives_and_the_truth(tmp_path: Path) -> None:
    tree = a_tree(tmp_path, size=2_000_000)
    resume_copy(tree.source, tree.truth)
    append(tree.source, tree.truth)
    built(tmp_path / "lake", tree.source)
    with tree.archive() as archive:
        archive.sync()
        assert_same_usage(tmp_path / "lake", archive)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("by", COMPARED)
def test_the_command_prints_the_document_of_usage(traps: Path, by: str, tmp_path: Path) -> None:
    zone = ["--timezone", "Europe/Berlin", "--json", "--home", str(tmp_path / "none")]
    ours = reread("lake", "query", "--lake", traps / "lake", "usage", by, *zone)
    theirs = reread("usage", by, "--no-sync", *zone[:-1], traps / "home")
    assert (ours.code, ours.err) == (0, "")
    document, kept = json.loads(ours.out), json.loads(theirs.out)
    if by == "block":  # whether the last window is open depends on the second
        for row in (*document["rows"], *kept["rows"]):
            row.pop("projected_cost_usd", None)
            row.pop("projected_tokens", None)
    assert document == kept


@pytest.mark.parametrize("by", ["day", "model"])
def test_a_limit_means_what_it_means_in_the_archive(traps: Path, by: str, tmp_path: Path) -> None:
    given = ["--limit", "2", "--timezone", "UTC", "--json", "--home"]
    ours = reread("lake", "query", "--lake", traps / "lake", "usage", by, *given, tmp_path / "none")
    theirs = reread("usage", by, "--no-sync", *given, traps / "home")
    assert json.loads(ours.out) == json.loads(theirs.out)
    assert len(json.loads(ours.out)["rows"]) == 2


def test_usage_by_day_is_kept_as_a_table(traps: Path) -> None:
    days = asked(traps / "lake", "SELECT day, sum(requests), sum(nanodollars) FROM usage_day GROUP BY 1 ORDER BY 1")
    with archive_of(traps) as archive:
        report = archive.usage("day", timezone=UTC)
    kept = [(row.key, row.tokens.requests, row.tokens.nanodollars) for row in report.rows]
    assert days == kept


moments = st.one_of(st.none(), st.integers(0, 3).map(lambda day: 1_792_000_000_000 + day * 86_400_000 * 40))
copies = st.lists(
    st.builds(
        Response,
        key=st.sampled_from(["msg_A", "msg_B"]),
        file=st.sampled_from("abcdef"),
        head=st.sampled_from(["", "00", "0f"]),
        time=moments,
        began=moments,
        ended=moments,
        output=st.integers(0, 2),
        input=st.sampled_from([0, 7, 150_000]),
        cache_read=st.sampled_from([0, 9, 120_000]),
        cache_write_5m=st.integers(0, 3),
        cache_write_1h=st.integers(0, 3),
        web_searches=st.integers(0, 2),
        is_sidechain=st.booleans(),
        is_abandoned=st.booleans(),
        rows=st.integers(1, 3),
        doubt=st.sampled_from(Doubt),
        model=st.sampled_from([*(each.name for each in packaged_prices().models()), "none", None]),
        speed=st.sampled_from([None, "fast"]),
        geo=st.sampled_from([None, "us"]),
        tier=st.sampled_from([None, "batch", "priority"]),
    ),
    max_size=8,
    unique_by=lambda copy: (copy.key, copy.file),
)


def by_sql(told: list[Response]) -> dict[str, tuple[Any, ...]]:
    fields = [name for name in REQUEST.columns if name in Response.__struct_fields__ and name != "context"]
    rows = [{name: getattr(each, name) for name in fields} | {"session": each.file} for each in told]
    with LakeAnswers({"request": arrow_table(REQUEST, rows)}, packaged_prices()) as answers:
        found = answers.sql(
            """SELECT key, owner_file, counted_file, epoch_ms(owner_time), owner_is_sidechain, owner_is_abandoned,
                   model, input, output, cache_read, cache_write_5m, cache_write_1h, web_searches, doubt, rows, files,
                   nanodollars FROM priced"""
        )[1]
    return {row[0]: row[1:] for row in found}


def by_library(told: list[Response]) -> dict[str, tuple[Any, ...]]:
    prices = packaged_prices()
    return {
        each.key: (
            *(
                each.owner or each.file,
                each.file,
                each.time,
                each.is_sidechain,
                each.is_abandoned,
                each.model,
                each.input,
            ),
            *(each.output, each.cache_read, each.cache_write_5m, each.cache_write_1h, each.web_searches, each.doubt),
            *(each.rows, each.files, prices.cost(each, each.model, each.time)),
        )
        for each in settle_all(told, prices.priced)
    }


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(copies, st.lists(st.integers(0, 7), max_size=3, unique=True))
def test_sql_settles_and_prices_as_the_library_does(told: list[Response], advised: list[int]) -> None:
    asking = [told[i] for i in advised if i < len(told)]
    told = told + [
        replace(each, key=f"{each.key}#advisor:1", rows=0, output=5, model="claude-opus-4-8") for each in asking
    ]
    assert by_sql(told) == by_library(told)


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("DROP VIEW session", "one SELECT at a time"),
        ("SELECT 1; SELECT 2", "one SELECT at a time"),
        ("SELECT * FROM read_csv('/etc/hostname')", "does not understand this"),
        ("COPY session TO 'x.csv'", "one SELECT at a time"),
        ("SELECT nothing", "does not understand this"),
        ("", "one SELECT at a time"),
    ],
)
def test_a_lake_is_only_read(traps: Path, statement: str, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        asked(traps / "lake", statement)


def test_wrong_input_is_answered_in_a_sentence(traps: Path, tmp_path: Path) -> None:
    for arguments in (
        ["query", "--lake", traps / "lake", "usage", "nonsense"],
        ["query", "--lake", traps / "lake", "usage", "machine"],
        ["query", "--lake", traps / "lake", "what"],
        ["query", "--lake", traps / "lake", "sql", "SELECT 1", "--project", "x"],
        ["query", "--lake", traps / "lake", "friction", "--limit", "3"],
        ["query", "--lake", tmp_path / "none", "usage", "day"],
        ["query", "--lake", "ftp://x/y", "usage", "day"],
        ["build", tmp_path / "nowhere", "--lake", tmp_path / "lake"],
        ["build", traps / "projects", "--lake", tmp_path / "lake", "--engine", "abacus"],
        ["build", traps / "projects", "--lake", tmp_path / "lake", "--master", "local[2]"],
        ["build", traps / "projects"],
        ["swim"],
    ):
        ran = reread("lake", *arguments)
        assert (ran.code, ran.out) == (2, "") and ran.err.count("\n") == 1, arguments
    assert not (tmp_path / "lake").exists()


def test_a_moment_is_the_same_in_sql(traps: Path) -> None:
    [(first,)] = asked(traps / "lake", "SELECT min(time) FROM response")
    with archive_of(traps) as archive:
        rows = archive.usage("day", timezone=UTC).rows
    assert milliseconds(first.replace(tzinfo=UTC)) == milliseconds(min(row.first for row in rows if row.first))
    assert isinstance(REQUEST.schema, pa.Schema)
