"""People: usage by person and team through a table of their own, and forgetting by person and by age."""

from __future__ import annotations

import json
import os
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from cli.running import reread
from lake.lakes import asked, built, everything
from lake.test_lake_upkeep import files_with
from reread.archive.usage_report import UsageQuestion
from reread.billing import packaged_prices
from reread.errors import BadInput
from reread.lake.build import plan_build
from reread.lake.delta import DeltaLake, people_of, prefixes_of, put_people, read_people
from reread.lake.query import LakeAnswers
from reread.lake.share import ShareOptions
from reread.lake.upkeep import LakeForgotten, by_age, by_person, forget, verify
from reread.testing import a_prompt, a_reply, a_session, a_usage

SAID = {"ann": "the marmalade manifesto", "bob": "a quince query", "anna": "plum policy", "eve": "an elder essay"}
DAY = {"ann": "2026-03-01", "bob": "2026-09-01", "anna": "2026-09-02", "eve": "2026-09-03"}


def write(folder: Path, name: str, day: str, session: str | None = None) -> None:
    at = f"{day}T10:00:00.000Z"
    reply = a_reply(
        f"about {SAID[name]}",
        usage=a_usage(100, 200),
        id=f"msg_{session or name}",
        model="claude-opus-4-8",
        timestamp=at,
    )
    made = a_session(a_prompt(SAID[name], timestamp=at), reply, id=session or name, cwd=f"/home/{name}")
    made.write(folder / name)


@pytest.fixture
def staffed(tmp_path: Path) -> Path:
    """Four people's sessions; the table tells of three of them, and of one project apart."""
    for name, day in DAY.items():
        write(tmp_path / "source", name, day)
    (tmp_path / "staff.csv").write_text(
        "prefix,person,team\n"
        f"{tmp_path}/source/ann/,Ann Lee,Blue\n{tmp_path}/source/bob,Bob,Red\n{tmp_path}/source/anna,Anna,\n",
        "utf-8",
    )
    built(tmp_path / "lake", tmp_path / "source")
    assert reread("lake", "people", tmp_path / "staff.csv", "--lake", tmp_path / "lake").code == 0
    return tmp_path


def usage(lake: Path, by: str) -> dict[str | None, int]:
    with LakeAnswers.of(DeltaLake(str(lake)), packaged_prices()) as answers:
        rows = answers.usage(UsageQuestion(by=by, zone=UTC)).rows
    return {row.key: row.tokens.requests for row in rows}


def test_usage_by_person_and_team_goes_through_the_table(staffed: Path) -> None:
    assert usage(staffed / "lake", "person") == {"Ann Lee": 1, "Anna": 1, "Bob": 1, "unassigned": 1}
    assert usage(staffed / "lake", "team") == {"Blue": 1, "Red": 1, "unassigned": 2}
    ran = reread("lake", "query", "--lake", staffed / "lake", "usage", "people", "--json")
    assert {row["person"] for row in json.loads(ran.out)["rows"]} == {"Ann Lee", "Anna", "Bob", "unassigned"}


def test_the_longest_prefix_decides_and_a_new_table_takes_the_place_of_the_old(staffed: Path) -> None:
    folder = next((staffed / "source" / "ann").rglob("*.jsonl")).parent
    lake = DeltaLake(str(staffed / "lake"))
    (staffed / "other.csv").write_text(f"prefix,person\n{staffed}/source,All\n{folder},Deep\n", "utf-8")
    lake.begin()
    put_people(lake, read_people(staffed / "other.csv"))
    lake.commit({"action": "people"})
    assert usage(staffed / "lake", "person") == {"All": 3, "Deep": 1}


def test_the_command_shows_who_has_what(staffed: Path) -> None:
    document = json.loads(reread("lake", "people", "--lake", staffed / "lake", "--json").out)
    assert (document["schema"], len(document["people"])) == ("reread.lake_people/1", 3)
    assert {row["person"]: row["sessions"] for row in document["sessions"]} == {
        "Ann Lee": 1,
        "Anna": 1,
        "Bob": 1,
        None: 1,
    }
    assert "unassigned" in reread("lake", "people", "--lake", staffed / "lake").out


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("who,what\n", "the first line must name the columns"),
        ("", "the first line must name the columns"),
        ("prefix,person\n/a,\n", "line 2 needs"),
        ("prefix,person,team\n/a,Ann,Blue,more\n", "line 2 needs"),
        ("prefix,person\n/a,Ann\n/a/,Bob\n", "there twice"),
        ("prefix,person\nftp://a,Ann\n", "no place"),
    ],
)
def test_a_wrong_table_is_refused_in_a_sentence(tmp_path: Path, content: str, said: str) -> None:
    (tmp_path / "staff.csv").write_text(content, "utf-8")
    with pytest.raises(BadInput, match=said):
        read_people(tmp_path / "staff.csv")
    with pytest.raises(BadInput, match="cannot be read"):
        read_people(tmp_path / "none.csv")
    with pytest.raises(BadInput, match="no person 'Zoe'"):
        prefixes_of([], "Zoe")


def forget_person(lake: Path, name: str) -> LakeForgotten:
    held = DeltaLake(str(lake))
    return forget(held, by_person(held, name, packaged_prices()), packaged_prices())


def test_a_person_who_is_forgotten_is_in_no_file_and_nothing_of_theirs_comes_back(staffed: Path) -> None:
    lake = staffed / "lake"
    assert files_with(lake, SAID["ann"]) and files_with(lake, "Ann Lee")
    done = forget_person(lake, "Ann Lee")
    assert (done.sessions, done.files) == (1, 1)
    for gone in (SAID["ann"], "Ann Lee", "msg_ann'", "/home/ann'", "source/ann/"):
        assert files_with(lake, gone) == [], gone
    assert files_with(lake, SAID["anna"]) and files_with(lake, SAID["bob"])
    assert [each.person for each in people_of(DeltaLake(str(lake)))] == ["Anna", "Bob"]
    write(staffed / "source", "ann", "2026-10-01", session="another")
    then = built(lake, staffed / "source")
    assert (then.sessions, then.unchanged, then.failed) == (0, 3, 0)
    assert files_with(lake, SAID["ann"]) == []
    assert verify(DeltaLake(str(lake)), packaged_prices()).ok


def forget_before(lake: Path, before: datetime) -> LakeForgotten:
    held = DeltaLake(str(lake))
    return forget(held, by_age(held, before), packaged_prices())


def test_what_is_too_old_is_in_no_file_and_not_taken_again(staffed: Path) -> None:
    lake = staffed / "lake"
    done = forget_before(lake, datetime(2026, 6, 1, tzinfo=UTC))
    assert done.sessions == 1 and files_with(lake, SAID["ann"]) == []
    assert files_with(lake, SAID["bob"])
    again = built(lake, staffed / "source")
    assert (again.sessions, again.unchanged, again.bytes_read, again.too_old) == (0, 3, 0, 0)
    write(staffed / "source", "eve", "2026-02-01", session="late")
    late = built(lake, staffed / "source")  # old, and never seen before: read once, told, and not taken
    assert (late.sessions, late.too_old, late.failed) == (0, 1, 0)
    rows = everything(lake)
    then = built(lake, staffed / "source")
    assert (then.sessions, then.too_old, then.bytes_read, everything(lake)) == (0, 0, 0, rows)
    assert asked(lake, "SELECT count(*) FROM session WHERE id IN ('late', 'ann')") == [(0,)]
    assert verify(DeltaLake(str(lake)), packaged_prices()).ok


def test_an_old_session_that_goes_on_is_taken(staffed: Path) -> None:
    lake = staffed / "lake"
    forget_before(lake, datetime(2026, 6, 1, tzinfo=UTC))
    path = next((staffed / "source" / "ann").rglob("*.jsonl"))
    path.write_bytes(
        path.read_bytes() + path.read_bytes().replace(b"2026-03-01", b"2026-10-01").replace(b"msg_ann", b"msg_on")
    )
    later = time.time() + 60
    os.utime(path, (later, later))
    then = built(lake, staffed / "source")
    assert (then.sessions, then.too_old) == (1, 0)


def test_the_command_forgets_one_thing_and_asks_first(staffed: Path) -> None:
    place = ["--lake", str(staffed / "lake")]
    for wrong in (
        [],
        ["ann", "--person", "Bob"],
        ["--person", "Zoe", "--yes"],
        ["--older-than", "never"],
        ["--person", "Bob"],
    ):
        ran = reread("lake", "forget", *wrong, *place)
        assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1), wrong
    ran = reread("lake", "forget", "--older-than", "2026-06-01", "--timezone", "UTC", "--yes", "--json", *place)
    document = json.loads(ran.out)
    assert (document["sessions"], document["before"]) == (1, "2026-06-01T00:00:00.000Z")
    document = json.loads(reread("lake", "forget", "--person", "Bob", "--yes", "--json", *place).out)
    assert (document["sessions"], document["person"], document["session"]) == (1, "Bob", None)
    found = plan_build(DeltaLake(place[1]), [str(staffed / "source")], ShareOptions())
    assert (found.jobs, found.unchanged) == ([], 2)
