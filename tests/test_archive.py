"""The archive as a library: opened, synced, asked, closed and opened again."""

from __future__ import annotations

import shutil
import sqlite3
import stat
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

import reread
from reread.archive import Archive
from reread.archive.filters import Filter
from reread.index.schema import schema
from reread.sessions import Session
from reread.testing import (
    Transcript,
    a_command,
    a_compaction,
    a_prompt,
    a_reply,
    a_session,
    a_subagent,
    a_title,
    a_tool_call,
    a_tool_result,
)

ANN = "0a1b2c3d-1111-4222-8333-444455556666"
BOB = "0a1b9999-1111-4222-8333-444455556666"
ERAS = Path(__file__).parent / "eras"


def a_rich_session() -> Transcript:
    """Branches, agents with and without a meta file, thinking, a compaction and an output that was spilled."""
    spilled = "<persisted-output>\nOutput too large. Full output saved to: /x/tool-results/big.txt\n\nPreview\nokapi"
    return a_session(
        a_title("about wombats"),
        a_prompt("first"),
        a_reply("one", thinking="narwhal thoughts at length"),
        a_prompt("second", to="one"),
        a_reply("two"),
        a_prompt("second, better", to="one"),
        a_reply(a_tool_call("Task", {"prompt": "badger"}, id="toolu_task")),
        a_subagent(a_prompt("badger"), a_reply("pangolin", thinking="thoughts of an agent"), id="abc", of="toolu_task"),
        a_subagent(a_prompt("later"), a_reply("gecko"), id="aaa"),
        a_tool_result("done", of="toolu_task", twin={"agentId": "abc", "status": "completed"}),
        a_reply(a_tool_call("Bash", {"command": "cat big"}, id="toolu_big")),
        a_tool_result(spilled, of="toolu_big"),
        a_compaction("so far"),
        a_prompt("third"),
        id=ANN,
        outputs={"big.txt": "okapi " * 9000},
    )


def facts(session: Session) -> dict[str, object]:
    """What a reader can see of a session."""
    return {
        "id": session.id,
        "title": session.title,
        "project": session.project,
        "span": session.span,
        "records": [(record.line, record.offset, record.raw) for record in session.records],
        "turns": [(turn.prompt.text if turn.prompt else None, len(turn.steps)) for turn in session.turns],
        "branches": [(b.id, b.leaf, b.active, b.forked_at, len(b.turns)) for b in session.branches],
        "agents": [(agent.id, agent.kind, agent.call and agent.call.id) for agent in session.subagents],
        "agent lines": [[record.raw for record in agent.records] for agent in session.subagents],
        "thinking": [thought.text for thought in session.thinking()],
        "calls": [(call.id, call.status, session.full_output(call)) for call in session.tool_calls],
        "usage": (session.usage, session.total_usage),
        "compactions": len(session.compactions),
        "files": (sorted(session.files), session.size),
        "problems": session.problems,
    }


def an_archive(folder: Path) -> Archive:
    return Archive(folder / "home", [folder / "projects"], machine="desk")


def two_sessions(folder: Path) -> Path:
    a_session(a_prompt("the iguana"), a_reply("yes"), id=BOB, cwd="/home/bob/shop").write(folder / "projects")
    return a_rich_session().write(folder / "projects")


def test_the_library_opens_syncs_lists_searches_and_counts(tmp_path: Path) -> None:
    two_sessions(tmp_path)
    archive = reread.open(home=tmp_path / "home", sources=[tmp_path / "projects"])
    assert archive.sync().sessions == 2
    assert [each.stored.row.uuid for each in archive.sessions(Filter(project="shop"))] == [BOB]
    assert [hit.session.row.uuid for hit in archive.search("iguana").hits] == [BOB]
    assert [row.key for row in archive.usage().rows] == ["2026-01-05"]
    archive.close()


def test_the_library_takes_the_words_of_its_documentation(tmp_path: Path) -> None:
    two_sessions(tmp_path)
    with reread.open(home=tmp_path / "home", sources=[tmp_path / "projects"]) as archive:
        archive.sync()
        found = archive.sessions(project="shop")
        assert [each.stored.row.uuid for each in found] == [BOB]
        assert archive.usage(by="day") == archive.usage()


def test_without_arguments_the_environment_says_where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REREAD_HOME", str(tmp_path / "kept"))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    a_rich_session().write(tmp_path / "claude" / "projects")
    with reread.open() as archive:
        assert archive.home == tmp_path / "kept"
        assert archive.sync().sessions == 1


def test_asking_whether_an_archive_exists_makes_none(tmp_path: Path) -> None:
    archive = reread.open(home=tmp_path / "home", sources=[])
    assert not archive.exists
    assert not (tmp_path / "home").exists()


def test_a_session_from_the_safe_is_the_session_its_source_was(tmp_path: Path) -> None:
    path = two_sessions(tmp_path)
    read = facts(reread.load(path))
    with an_archive(tmp_path) as archive:
        archive.sync()
        assert facts(archive.session(ANN)) == read
        shutil.rmtree(tmp_path / "projects")
        (tmp_path / "projects").mkdir()
        archive.sync()
        kept = archive.session(ANN)
        assert facts(kept) == read
        assert len(kept.branches) == 2
        assert kept.full_output(kept.tool_calls[1]) == "okapi " * 9000


@pytest.mark.parametrize("era", ["e03-fork", "e06-agent", "e09-spill", "e09-long-day", "e11-nested", "x-graph"])
def test_sessions_of_every_era_are_the_same_from_the_safe(tmp_path: Path, era: str) -> None:
    shutil.copytree(ERAS / era / "source", tmp_path / "projects")
    trunks = [path for path in (tmp_path / "projects").rglob("*.jsonl") if len(path.stem) == 36]
    read = {path.stem: facts(reread.load(path)) for path in trunks}
    assert read
    with an_archive(tmp_path) as archive:
        assert archive.sync().problems == []
        shutil.rmtree(tmp_path / "projects")
        assert {name: facts(archive.session(name)) for name in read} == read


def test_all_sessions_are_read_the_oldest_first(tmp_path: Path) -> None:
    two_sessions(tmp_path)
    with an_archive(tmp_path) as archive:
        archive.sync()
        assert [session.id for session in archive.read_all()] == [BOB, ANN]
        assert [session.id for session in archive.read_all(Filter(project="shop"))] == [BOB]


def test_a_session_is_found_by_its_id_a_beginning_or_its_age(tmp_path: Path) -> None:
    two_sessions(tmp_path)
    with an_archive(tmp_path) as archive:
        archive.sync()
        wanted = {ANN: ANN, "0a1b2": ANN, "0a1b9": BOB, "@last": ANN, "@1": ANN, "@2": BOB}
        assert {name: archive.find(name).row.uuid for name in wanted} == wanted


def test_a_beginning_of_two_ids_names_both(tmp_path: Path) -> None:
    two_sessions(tmp_path)
    with an_archive(tmp_path) as archive:
        archive.sync()
        with pytest.raises(reread.AmbiguousSession) as raised:
            archive.find("0a1b")
        assert ANN in str(raised.value)
        assert BOB in str(raised.value)


@pytest.mark.parametrize("wanted", ["ffff", "", "@", "@0", "@3", "@x", "@-1", "@²", f"{ANN}0", "%", "0a1b_"])
def test_what_nobody_is_called_is_unknown(tmp_path: Path, wanted: str) -> None:
    two_sessions(tmp_path)
    with an_archive(tmp_path) as archive:
        archive.sync()
        with pytest.raises(reread.UnknownSession):
            archive.find(wanted)


def test_an_empty_archive_answers_everything_with_nothing(tmp_path: Path) -> None:
    (tmp_path / "projects").mkdir()
    with an_archive(tmp_path) as archive:
        result = archive.sync()
        assert (result.sessions, result.problems) == (0, [])
        assert (archive.sessions(), archive.usage().rows, archive.search("word").hits) == ([], (), [])
        assert archive.search("word", is_regex=True).hits == []
        with pytest.raises(reread.UnknownSession):
            archive.find("@last")


def test_two_archives_open_at_once_see_the_same(tmp_path: Path) -> None:
    two_sessions(tmp_path)
    with an_archive(tmp_path) as one, an_archive(tmp_path) as other:
        assert other.sessions() == []
        assert one.sync().sessions == 2
        assert [each.stored for each in other.sessions()] == [each.stored for each in one.sessions()]
        assert other.sync().files == 0
        two = a_session(a_prompt("the iguana"), a_reply("yes"), a_prompt("a lemur"), id=BOB, cwd="/home/bob/shop")
        two.write(tmp_path / "projects")
        assert other.sync().files == 1
        assert one.search("lemur").total == other.search("lemur").total == 1
        assert facts(one.session(BOB)) == facts(other.session(BOB))


def test_closed_and_opened_again_it_knows_everything(tmp_path: Path) -> None:
    two_sessions(tmp_path)
    with an_archive(tmp_path) as archive:
        archive.sync()
        before = archive.sessions(), archive.usage(), facts(archive.session(ANN))
    with an_archive(tmp_path) as archive:
        assert archive.exists
        assert (archive.sessions(), archive.usage(), facts(archive.session(ANN))) == before
        assert archive.sync().files == 0
        archive.close()
        archive.close()
        assert archive.usage() == before[1]


def test_it_knows_its_sources(tmp_path: Path) -> None:
    two_sessions(tmp_path)
    with an_archive(tmp_path) as archive:
        assert not archive.inner.keeps(tmp_path / "projects")
        archive.sync()
        assert archive.inner.keeps(tmp_path / "projects")
        assert not archive.inner.keeps(tmp_path)
        assert archive.inner.known_sources() == {str(tmp_path / "projects")}


def test_prompts_are_counted_from_a_moment_on(tmp_path: Path) -> None:
    two_sessions(tmp_path)
    with an_archive(tmp_path) as archive:
        archive.sync()
        session = archive.session(ANN)
        times = [turn.prompt.time for turn in session.turns if turn.prompt is not None]
        first, last = times[0], times[-1]
        assert first is not None
        assert last is not None
        assert archive.inner.prompts_since([last]) == [1]
        assert archive.inner.prompts_since([first, last])[1] == 1


def test_as_many_prompts_were_typed_lately_as_sessions_say(tmp_path: Path) -> None:
    for name in ("one", "other"):
        a_session(a_prompt(f"go {name}"), a_command("/cost"), a_prompt(f"on, {name}"), id=name).write(
            tmp_path / "projects"
        )
    with an_archive(tmp_path) as archive:
        archive.sync()
        typed = sum(each.stored.row.prompts for each in archive.sessions())
        assert archive.inner.prompts_since([datetime(2020, 1, 1, tzinfo=UTC)]) == [typed] == [4]


def test_users_may_read_with_sql_and_not_write(tmp_path: Path) -> None:
    two_sessions(tmp_path)
    with an_archive(tmp_path) as archive:
        archive.sync()
        columns, rows = archive.sql("SELECT uuid, prompts FROM session ORDER BY uuid")
        assert (columns, rows) == (["uuid", "prompts"], [(ANN, 4), (BOB, 1)])
        for statement in ("DELETE FROM session", "DROP TABLE block", "nonsense"):
            with pytest.raises(reread.BadInput):
                archive.sql(statement)
        assert len(archive.sessions()) == 2


def test_everything_below_home_is_closed_to_others(tmp_path: Path) -> None:
    two_sessions(tmp_path)
    with an_archive(tmp_path) as archive:
        archive.sync()
        modes = {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "home").rglob("*") if path.is_file()}
        folders = {
            stat.S_IMODE(path.stat().st_mode)
            for path in (tmp_path / "home", *(tmp_path / "home").rglob("*"))
            if path.is_dir()
        }
    assert (modes, folders) == ({0o600}, {0o700})


def test_a_sync_writes_nothing_below_a_source(tmp_path: Path) -> None:
    two_sessions(tmp_path)
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "projects").rglob("*")}
    with an_archive(tmp_path) as archive:
        archive.sync()
        archive.billing.usage_ahead()
        archive.safe.rebuild()
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "projects").rglob("*")} == before


def test_the_schema_that_is_shown_is_the_one_in_the_file(tmp_path: Path) -> None:
    two_sessions(tmp_path)
    with an_archive(tmp_path) as archive:
        archive.sync()
        names = {name for (name,) in archive.sql("SELECT name FROM sqlite_master WHERE type = 'table'")[1]}
    assert schema() in reread.Archive.schema(), "with the views that `reread sql` has, and examples"
    shown = sqlite3.connect(":memory:")
    shown.executescript(schema())
    expected = {name for (name,) in shown.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    assert names == expected


def test_a_copy_under_another_name_beside_a_session_does_not_take_its_place(tmp_path: Path) -> None:
    whole = a_session(a_prompt("one"), a_reply("yes"), a_prompt("two"), id=ANN)
    path = whole.write(tmp_path / "projects")
    (path.parent / "0-backup.jsonl").write_bytes(whole.lines[0] + b"\n")
    with an_archive(tmp_path) as archive:
        archive.sync()
        assert len(archive.session(ANN).records) == 3
        assert archive.find(ANN).row.prompts == 2


def test_a_session_whose_folder_was_renamed_is_found_where_it_is_now(tmp_path: Path) -> None:
    path = a_rich_session().write(tmp_path / "projects")
    with an_archive(tmp_path) as archive:
        archive.sync()
        path.parent.rename(tmp_path / "projects" / "-home-ann-renamed")
        archive.sync()
        assert archive.find(ANN).present


def as_a_newer_version_made_it(archive: Archive) -> None:
    archive.inner.connection.execute("UPDATE note SET value = '1000' WHERE name = 'version'")
    archive.inner.connection.execute("PRAGMA user_version = 1000")


def test_an_archive_of_a_newer_version_is_not_called_damaged(tmp_path: Path) -> None:
    with Archive(tmp_path) as archive:
        as_a_newer_version_made_it(archive)
    with Archive(tmp_path) as archive, pytest.raises(reread.RereadError, match="newer reread"):
        archive.safe.verify()


def test_an_archive_of_a_newer_version_is_not_rebuilt_but_one_with_a_damaged_number_is(tmp_path: Path) -> None:
    a_rich_session().write(tmp_path / "projects")
    with an_archive(tmp_path) as archive:
        archive.sync()
        home = archive.home
        as_a_newer_version_made_it(archive)
    for work in (Archive.sync, lambda archive: archive.safe.rebuild()):
        with Archive(home) as archive, pytest.raises(reread.RereadError, match="newer reread"):
            work(archive)
    assert not list(home.glob("*.damaged-*"))
    with closing(sqlite3.connect(home / "reread.db")) as connection, connection:
        connection.execute("UPDATE note SET value = '1' WHERE name = 'version'")
    with Archive(home) as archive:
        assert archive.safe.rebuild() == 1
