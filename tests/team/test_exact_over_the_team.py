"""What several people push, in any order, comes to what one archive of all their transcripts says."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from accounting.test_against_truth import GENERATOR, cells, known, needs_generator
from reread.archive import Archive
from reread.archive.filters import Filter
from reread.archive.usage_report import UsageReport
from reread.billing import packaged_prices
from reread.team.questions import usage
from reread.team.store import verify
from reread.testing import a_prompt, a_reply, a_session
from reread.views.usage_table import usage_document
from reread.views.values import encoded
from team.conftest import Team
from trees import cells_in, generate, merged

PEOPLE = ("ann", "bob", "cyd")
GROUPINGS = ("day", "week", "month", "model", "project", "branch", "tool", "agent", "skill", "session", "block")


def split(tree: Path, root: Path, seed: int) -> None:
    """Everybody has a part of a tree; some sessions two people have, one of them maybe only the beginning."""
    rng = random.Random(seed)
    for project in sorted((tree / "projects").iterdir()):
        for trunk in sorted(project.glob("*.jsonl")):
            for number, person in enumerate(rng.sample(PEOPLE, rng.choice((1, 1, 2)))):
                place = root / person / "projects" / project.name
                place.mkdir(parents=True, exist_ok=True)
                shutil.copy2(trunk, place)
                if trunk.with_suffix("").is_dir():
                    shutil.copytree(trunk.with_suffix(""), place / trunk.stem, dirs_exist_ok=True)
                if number and rng.random() < 0.5:
                    lines = trunk.read_bytes().splitlines(keepends=True)
                    (place / trunk.name).write_bytes(b"".join(lines[: rng.randint(1, len(lines))]))


def document(report: UsageReport) -> dict[str, object]:
    made = json.loads(encoded(usage_document(report, "UTC", datetime(2026, 11, 17, tzinfo=UTC))))
    for row in made["rows"]:
        row.pop("title", None)
    return dict(made)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_every_report_is_that_of_one_archive(team: Team, tmp_path: Path, seed: int) -> None:
    generate(tmp_path / "tree", size=700_000, seed=seed)
    split(tmp_path / "tree", tmp_path, seed)
    turns = [person for person in PEOPLE for _ in range(2)]
    random.Random(seed).shuffle(turns)
    for person in PEOPLE:
        team.join(person, "builders")
    sent = [team.push(person) for person in turns]
    assert not [each.problems for each in sent if each.problems]
    assert all(each.sent == 0 for place, each in enumerate(sent) if turns[place] in turns[:place])
    with Archive(tmp_path / "all", [tmp_path / person for person in PEOPLE]) as whole, team.store("ann") as store:
        whole.sync()
        for by in GROUPINGS:
            assert document(usage(store, by, timezone=UTC)) == document(whole.usage(by, timezone=UTC)), by
        totals = document(whole.usage("day", timezone=UTC))["totals"]
        machines = usage(store, "machine").rows
        assert len(machines) == len(PEOPLE)  # of one label: all of them are this host
        for row in machines:
            assert usage(store, "day", Filter(machine=str(row.key))).totals == row.tokens
        for by in ("team", "person", "machine"):
            assert document(usage(store, by, timezone=UTC))["totals"] == totals
    with team.store("owner") as store:
        [shared] = store.rows("SELECT count(*) FILTER (WHERE files > 1) FROM reread.response")
        [folded] = store.rows("SELECT count(*) FROM reread.session WHERE NOT is_counted")
        assert shared > (0,) < folded  # else this would prove little
        number, wrong = verify(store, packaged_prices())
        assert number and not wrong


def test_work_outside_a_repository_has_no_branch(team: Team, tmp_path: Path) -> None:
    a_session(a_prompt("go"), a_reply("yes", gitBranch=""), cwd="/home/ann").write(tmp_path / "ann" / "projects")
    push_all(team)
    with team.store("ann") as store:
        assert [row.key for row in usage(store, "branch", timezone=UTC).rows] == [None]


def test_every_day_and_model_of_a_generated_tree_is_as_generated(team: Team, tmp_path: Path) -> None:
    truth = generate(tmp_path / "tree", size=3_000_000, seed=11)
    split(tmp_path / "tree", tmp_path, 11)
    push_all(team)
    with team.store("ann") as store:
        assert cells_in(usage(store, "day", timezone=UTC)) == merged(truth.cells)


@needs_generator
@pytest.mark.shared
def test_every_day_and_model_is_as_another_generator_says(team: Team, tmp_path: Path) -> None:
    command = [sys.executable, GENERATOR, "--out", tmp_path / "tree", "--size-mb", "4", "--seed", "17"]
    subprocess.run(list(map(str, command)), check=True, capture_output=True)
    truth = json.loads((tmp_path / "tree" / "truth.json").read_text("utf-8"))
    split(tmp_path / "tree", tmp_path, 17)
    push_all(team)
    with team.store("ann") as store:
        assert cells(usage(store, "day", timezone=UTC)) == known(truth["by_day_model"])
        assert cells(usage(store, "project")) == known(truth["by_project_model"])


def push_all(team: Team) -> None:
    for person in PEOPLE:
        team.join(person, "builders")
        assert team.push(person).problems == []
