"""Builds: only what is new is read, what is killed is not seen, and what is done twice is there once."""

from __future__ import annotations

import json
import random
import shutil
import signal
import sys
import time
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from cli.running import start
from lake.lakes import asked, assert_same_usage, built, everything, reports
from reread.billing import load_prices, packaged_prices
from reread.errors import BadInput, RereadError, SourceError
from reread.lake.build import ShareTask, run_local, write_share
from reread.lake.delta import DeltaLake
from reread.lake.plan import list_files, make_plan
from reread.lake.query import LakeAnswers
from reread.lake.share import ShareOptions
from reread.lake.upkeep import by_session, forget, verify
from reread.testing import a_prompt, a_reply, a_session, a_subagent, a_usage
from trees import Tree, a_tree, append, resume_copy


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    made = a_tree(tmp_path, size=600_000)
    resume_copy(made.source, made.truth)
    return made


def versions(lake: Path) -> dict[str, int]:
    return DeltaLake(str(lake)).versions


def test_the_same_build_again_reads_nothing_and_changes_no_row(tree: Tree, tmp_path: Path) -> None:
    first = built(tmp_path / "lake", tree.source)
    before, rows = versions(tmp_path / "lake"), everything(tmp_path / "lake")
    again = built(tmp_path / "lake", tree.source)
    assert first.sessions == again.unchanged > 0
    assert (again.sessions, again.bytes_read, again.failed) == (0, 0, 0)
    assert again.rows == first.rows
    assert (versions(tmp_path / "lake"), everything(tmp_path / "lake")) == (before, rows)


def test_what_grew_is_read_alone_and_comes_to_a_fresh_lake(tree: Tree, tmp_path: Path) -> None:
    first = built(tmp_path / "lake", tree.source)
    grown = append(tree.source, tree.truth)
    then = built(tmp_path / "lake", tree.source)
    assert (then.sessions, then.unchanged) == (len(grown), first.sessions - len(grown))
    assert 0 < then.bytes_read < first.bytes_read
    built(tmp_path / "fresh", tree.source)
    assert everything(tmp_path / "lake") == everything(tmp_path / "fresh")
    with tree.archive() as archive:
        archive.sync()
        assert_same_usage(tmp_path / "lake", archive)


def test_a_copy_in_another_folder_is_no_session_of_its_own(tree: Tree, tmp_path: Path) -> None:
    first = built(tmp_path / "lake", tree.source)
    shutil.copytree(tree.source, tmp_path / "copy")
    both = (tree.source, tmp_path / "copy")
    then = built(tmp_path / "lake", *both)
    assert (then.sessions, then.rows["request"]) == (0, first.rows["request"])
    again = built(tmp_path / "lake", *both)
    assert (again.sessions, again.bytes_read) == (0, 0)
    built(tmp_path / "fresh", *both)
    assert reports(tmp_path / "fresh") == reports(tmp_path / "lake")


def test_a_copy_that_grows_takes_the_place_of_what_it_was_a_copy_of(tmp_path: Path) -> None:
    a_session(a_prompt("go"), a_reply("one", usage=a_usage(1, 2), id="msg_1"), id="ann").write(tmp_path / "a")
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    built(tmp_path / "lake", tmp_path / "a", tmp_path / "b")
    path = next((tmp_path / "b").rglob("*.jsonl"))
    more = next(tmp_path.joinpath("a").rglob("*.jsonl")).read_bytes().splitlines()[-1].replace(b"msg_1", b"msg_2")
    path.write_bytes(path.read_bytes() + more + b"\n")
    then = built(tmp_path / "lake", tmp_path / "a", tmp_path / "b")
    assert (then.sessions, then.rows["session"], then.rows["request"]) == (1, 1, 2)


def test_sessions_of_one_name_that_differ_are_compared_once(tmp_path: Path) -> None:
    for folder, said in (("a", "one"), ("b", "two"), ("c", "three")):
        a_session(a_prompt("go"), a_reply(said, usage=a_usage(1, 2), id=f"msg_{said}"), id="ann").write(
            tmp_path / folder
        )
    first = built(tmp_path / "lake", tmp_path)
    again = built(tmp_path / "lake", tmp_path)
    assert (first.sessions, again.unchanged, again.bytes_read) == (3, 3, 0)


def test_what_is_gone_from_a_source_stays_in_the_lake(tree: Tree, tmp_path: Path) -> None:
    first = built(tmp_path / "lake", tree.source)
    shutil.rmtree(tree.source)
    tree.source.mkdir()
    assert built(tmp_path / "lake", tree.source).rows == first.rows


def test_a_torn_file_is_taken_when_it_is_whole(tmp_path: Path) -> None:
    path = a_session(a_prompt("go"), a_reply("one", usage=a_usage(1, 2), id="msg_1"), id="ann").write(tmp_path / "a")
    whole = path.read_bytes()
    path.write_bytes(whole[:-30])
    first = built(tmp_path / "lake", tmp_path / "a")
    assert len(first.problems) == 1 and first.rows["request"] == 0
    path.write_bytes(whole)
    then = built(tmp_path / "lake", tmp_path / "a")
    assert (then.problems, then.sessions, then.rows["request"]) == ([], 1, 1)


def test_what_cannot_be_read_keeps_the_rows_it_had(tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = built(tmp_path / "lake", tree.source)
    append(tree.source, tree.truth)
    rows = everything(tmp_path / "lake")

    def unreadable(*_: object) -> None:
        raise SourceError(tree.source, "cannot be read (the disk is tired)")

    with monkeypatch.context() as patched:
        patched.setattr("reread.lake.share.take_session", unreadable)
        then = built(tmp_path / "lake", tree.source)
    assert then.failed == len(then.problems) > 0
    assert everything(tmp_path / "lake") == rows
    assert built(tmp_path / "lake", tree.source).rows["session"] == first.rows["session"]


def test_another_choice_of_what_is_kept_needs_a_place_of_its_own(tree: Tree, tmp_path: Path) -> None:
    built(tmp_path / "lake", tree.source, what="ledger")
    with pytest.raises(BadInput, match="--what ledger --redact secrets; build anything else into a place of its own"):
        built(tmp_path / "lake", tree.source, what="all")


def test_rows_that_an_older_version_made_are_made_again(
    tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr("reread.lake.build.EXTRACTOR", 1)
        first = built(tmp_path / "lake", tree.source)
    assert built(tmp_path / "lake", tree.source).sessions == first.sessions
    assert built(tmp_path / "lake", tree.source).sessions == 0


def test_sources_may_come_one_by_one(tree: Tree, tmp_path: Path) -> None:
    shutil.copytree(tree.source, tmp_path / "copy")
    append(tree.source, tree.truth)
    first = built(tmp_path / "lake", tmp_path / "copy")
    then = built(tmp_path / "lake", tree.source)
    assert (first.rows["session"], then.rows["session"]) == (then.rows["session"], first.rows["session"])
    assert built(tmp_path / "lake", tmp_path / "copy").sessions == 0
    built(tmp_path / "fresh", tree.source, tmp_path / "copy")
    assert reports(tmp_path / "lake") == reports(tmp_path / "fresh")


def test_a_session_that_grows_after_an_agent_is_gone_keeps_the_agents_rows(tmp_path: Path) -> None:
    agent = a_subagent(a_prompt("look"), a_reply("seen", usage=a_usage(3, 4), id="msg_agent"))
    path = a_session(a_prompt("go"), a_reply("one", usage=a_usage(1, 2), id="msg_1"), agent, id="ann").write(
        tmp_path / "a"
    )
    first = built(tmp_path / "lake", tmp_path / "a")
    shutil.rmtree(path.with_suffix(""))
    path.write_bytes(path.read_bytes() + path.read_bytes().splitlines()[-1].replace(b"msg_1", b"msg_2") + b"\n")
    then = built(tmp_path / "lake", tmp_path / "a")
    assert (then.sessions, then.failed, then.rows["session"]) == (1, 0, 1)
    assert then.rows["request"] >= first.rows["request"] == 2
    assert verify(DeltaLake(str(tmp_path / "lake")), packaged_prices()).ok


def test_a_share_that_is_done_twice_is_one_file(tree: Tree, tmp_path: Path) -> None:
    plan = make_plan(list_files([str(tree.source)], []), {})
    task = ShareTask(str(tmp_path / "lake"), plan.jobs, ShareOptions())
    once, twice = write_share(task), write_share(task)
    assert once.files == twice.files
    written = {path.relative_to(tmp_path / "lake").as_posix() for path in (tmp_path / "lake").rglob("*.parquet")}
    assert written == {f"{file.table}/{file.path}" for file in once.files}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("step", ["add", "overwrite", "commit"])
def test_a_build_that_ends_before_its_commit_shows_nothing(
    step: str, tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built(tmp_path / "lake", tree.source)
    before = everything(tmp_path / "lake")
    append(tree.source, tree.truth)

    def die(*_: object) -> None:
        raise RuntimeError("killed")

    with monkeypatch.context() as patched:
        patched.setattr(DeltaLake, step, die)
        with pytest.raises(RuntimeError, match="killed"):
            built(tmp_path / "lake", tree.source)
    assert everything(tmp_path / "lake") == before
    built(tmp_path / "lake", tree.source)
    built(tmp_path / "fresh", tree.source)
    assert everything(tmp_path / "lake") == everything(tmp_path / "fresh")


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_a_build_killed_at_any_moment_shows_nothing_and_the_next_one_is_whole(tree: Tree, tmp_path: Path) -> None:
    chance = random.Random(18)
    lake = tmp_path / "lake"
    for _ in range(4):
        process = start("lake", "build", tree.source, "--lake", lake)
        time.sleep(chance.uniform(0.5, 2.5))
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=30)
        seen = DeltaLake(str(lake)) if lake.exists() else None
        if seen is not None and seen.exists:
            break
        assert seen is None or not seen.versions
    built(lake, tree.source)
    built(tmp_path / "fresh", tree.source)
    assert everything(lake) == everything(tmp_path / "fresh")


def test_of_two_builds_at_once_one_says_that_the_other_came_first(tmp_path: Path) -> None:
    one, other = DeltaLake(str(tmp_path / "lake")), DeltaLake(str(tmp_path / "lake"))
    for lake in (one, other):
        lake.begin()
    one.commit({"action": "build"})
    with pytest.raises(RereadError, match="another change came first"):
        other.commit({"action": "build"})
    one, other = DeltaLake(one.uri), DeltaLake(one.uri)
    other.commit({"action": "build"})
    with pytest.raises(RereadError, match="another change came first"):
        one.commit({"action": "build"})


def test_workers_make_the_same_rows(tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built(tmp_path / "alone", tree.source)
    monkeypatch.setattr("reread.workers.ALONE_BELOW", 0)
    plan = make_plan(list_files([str(tree.source)], []), {})
    tasks = [ShareTask(str(tmp_path / "lake"), [job], ShareOptions(what="ledger")) for job in plan.jobs[:4]]
    assert sum(done.sessions for done in run_local(tasks)) == 4
    built(tmp_path / "lake", tree.source)
    assert everything(tmp_path / "lake") == everything(tmp_path / "alone")


def test_a_lake_of_an_earlier_version_gains_what_it_lacks(tree: Tree, tmp_path: Path) -> None:
    built(tmp_path / "lake", tree.source)
    wanted = everything(tmp_path / "lake")
    rows = DeltaLake(str(tmp_path / "lake")).rows("session").drop_columns(["typed", "moments"])
    shutil.rmtree(tmp_path / "lake" / "session")
    shutil.rmtree(tmp_path / "lake" / "friction_day")
    write_deltalake(str(tmp_path / "lake" / "session"), rows, partition_by=["month"])
    older = DeltaLake(str(tmp_path / "lake"))
    older.versions = {name: version for name, version in older.versions.items() if name != "friction_day"}
    older.versions["session"] = 0
    older.commit({"action": "build"})
    assert reports(tmp_path / "lake")["day"].rows
    assert built(tmp_path / "lake", tree.source).sessions == len(wanted["session"])
    assert everything(tmp_path / "lake") == wanted
    assert verify(DeltaLake(str(tmp_path / "lake")), packaged_prices()).ok


RATES = ("input", "output", "cache_read", "cache_write_5m", "cache_write_1h")


def counted(lake: Path) -> dict[str, list[str]]:
    """The tables that are made of others."""
    held = DeltaLake(str(lake))
    return {name: sorted(map(repr, held.rows(name).to_pylist())) for name in ("response", "usage_day", "friction_day")}


def test_what_changed_is_settled_alone_and_comes_to_a_fresh_lake(
    tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built(tmp_path / "lake", tree.source)
    settled: list[int] = []
    count = LakeAnswers.responses

    def counting(answers: LakeAnswers) -> pa.RecordBatchReader:
        rows = count(answers).read_all()
        settled.append(rows.num_rows)
        return rows.to_reader()

    monkeypatch.setattr(LakeAnswers, "responses", counting)
    total = DeltaLake(str(tmp_path / "lake")).count("response")
    append(tree.source, tree.truth, sessions=2)
    built(tmp_path / "lake", tree.source)
    assert settled and max(settled) < total / 2
    resume_copy(tree.source, tree.truth)  # the owners of responses that were there may be others now
    built(tmp_path / "lake", tree.source)
    assert max(settled) < total / 2
    monkeypatch.undo()
    built(tmp_path / "fresh", tree.source)
    assert counted(tmp_path / "lake") == counted(tmp_path / "fresh")
    held = DeltaLake(str(tmp_path / "lake"))
    [(name,)] = asked(tmp_path / "lake", "SELECT session FROM response GROUP BY 1 ORDER BY count(*) DESC LIMIT 1")
    forget(held, by_session(held, name), packaged_prices())
    assert verify(DeltaLake(str(tmp_path / "lake")), packaged_prices()).ok
    assert counted(tmp_path / "lake") != counted(tmp_path / "fresh")


def test_new_prices_count_at_once_and_are_in_the_tables_after_a_build(tree: Tree, tmp_path: Path) -> None:
    built(tmp_path / "lake", tree.source)
    [(model, before)] = asked(
        tmp_path / "lake", "SELECT model, sum(nanodollars) FROM response GROUP BY 1 ORDER BY 2 DESC NULLS LAST LIMIT 1"
    )
    own = tmp_path / "prices.json"
    own.write_text(json.dumps({"models": {model: dict.fromkeys(RATES, "1000")}}), "utf-8")
    prices = load_prices(own)
    question = f"SELECT sum(nanodollars) FROM response WHERE model = '{model}'"  # noqa: S608
    with LakeAnswers.of(DeltaLake(str(tmp_path / "lake")), prices) as answers:
        [(now,)] = answers.sql(question)[1]
    assert now and now != before
    done = built(tmp_path / "lake", tree.source, prices=own)
    assert (done.sessions, done.bytes_read) == (0, 0)
    held = DeltaLake(str(tmp_path / "lake"))
    kept = [row["nanodollars"] or 0 for row in held.rows("response").to_pylist() if row["model"] == model]
    assert sum(kept) == now
    assert verify(held, prices).ok


def test_a_lake_in_a_folder_is_read_without_python(tree: Tree, tmp_path: Path) -> None:
    """A file system written in Python needs Python's lock to open a file: threads that had it and threads that had
    Arrow's waited for each other."""
    place = tmp_path / "a lake & 100% of it"
    built(place, tree.source)
    lake = DeltaLake(str(place))
    for name in lake.versions:
        assert {file.filesystem.type_name for file in lake.dataset(name).get_fragments()} <= {"subtree"}, name
        assert lake.dataset(name).count_rows() == lake.count(name)
