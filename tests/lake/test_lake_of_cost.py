"""A lake of cost: read without the conversations, and the same money as an archive, whatever it is grouped by."""

from __future__ import annotations

from pathlib import Path

import pytest

from accounting.traps import write_traps
from cli.running import reread
from lake.lakes import asked, built, reports
from reread.archive import Archive, UsageReport
from reread.lake.delta import DeltaLake
from reread.lake.plan import list_files, make_plan
from reread.rows import rows_of_bytes
from reread.testing import a_prompt, a_reply, a_session, a_subagent, a_usage
from trees import a_tree

CORPUS = Path(__file__).parents[3] / "shared" / "corpus"


def money(report: UsageReport) -> object:
    """All but the words, the branches that were rewound and the malformed lines, which a lake of cost does not know."""
    told = report.accounting
    rows = [(row.key, row.tokens, row.models, row.suspect, row.first, row.last, row.agents) for row in report.rows]
    return rows, report.totals, told.requests, told.unpriced_models, told.provisional_requests


def assert_same_money(folder: Path, *sources: Path) -> None:
    built(folder / "cost", *sources, what="cost")
    with Archive(folder / "home", list(sources), machine="desk") as archive:
        archive.sync()
        for by, report in reports(folder / "cost").items():
            assert money(report) == money(archive.usage(by)), by


def scanned_share(source: Path) -> float:
    """The share of the sessions that are read without their conversation."""
    jobs = make_plan(list_files([str(source)], []), {}).jobs
    found = [rows_of_bytes(job.files, {file.path: file.path.read_bytes() for file in job.files.all}) for job in jobs]
    return sum(rows is not None for rows in found) / len(found)


def test_a_tree_is_scanned_and_counts_the_same_under_every_grouping(tmp_path: Path) -> None:
    tree = a_tree(tmp_path, size=600_000, seed=5)
    assert scanned_share(tree.source) > 0.5
    assert_same_money(tmp_path, tree.source)


def test_what_is_hard_to_count_counts_the_same(tmp_path: Path) -> None:
    write_traps(tmp_path / "projects")
    assert_same_money(tmp_path, tmp_path / "projects")


@pytest.mark.shared
@pytest.mark.skipif(not CORPUS.is_dir(), reason="no recorded transcripts beside the project")
@pytest.mark.parametrize("part", ["recorded", "labelled", "handmade"])
def test_recorded_sessions_count_the_same(part: str, tmp_path: Path) -> None:
    assert_same_money(tmp_path, CORPUS / part)


def test_an_agent_has_the_name_that_the_file_beside_it_gives_or_its_call(tmp_path: Path) -> None:
    """Without such a file only the conversation can tell, so all of it is read."""
    agents = [
        a_subagent(a_prompt("a"), a_reply("b", usage=a_usage(input=7)), id="a1", meta={"agentType": "Explore"}),
        a_subagent(a_prompt("c"), a_reply("d", usage=a_usage(input=9)), id="a2"),
    ]
    for number, agent in enumerate(agents):
        a_session(a_prompt("go"), a_reply("on it"), agent).write(tmp_path / "projects" / str(number))
    assert scanned_share(tmp_path / "projects") == 0.5
    assert_same_money(tmp_path, tmp_path / "projects")


def test_it_grows_and_says_what_it_does_not_have(tmp_path: Path) -> None:
    a_session(a_prompt("go"), a_reply("on it")).write(tmp_path / "projects")
    lake = tmp_path / "cost"
    built(lake, tmp_path / "projects", what="cost")
    a_session(a_prompt("go"), a_reply("on it"), a_prompt("more"), a_reply("done")).write(tmp_path / "projects")
    assert built(lake, tmp_path / "projects", what="cost").sessions == 1
    assert asked(lake, "SELECT count(*), sum(is_abandoned::INT) FROM request") == [(2, None)]
    assert asked(lake, "SELECT title, prompts, requests FROM session") == [(None, None, 2)]
    assert DeltaLake(str(lake)).count("call") == DeltaLake(str(lake)).count("text") == 0
    for question in (["friction"], ["search", "go"]):
        ran = reread("lake", "query", "--lake", str(lake), *question)
        assert (ran.code, "built with --what cost; it has no" in ran.err) == (2, True)
