"""A power cut took back what was committed last: the safe still has the bytes, and the rows come back from there."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from cli.running import reread
from histories import a_config, a_fork, an_archive, write_backups
from live.captures import a_capture, an_interrupted_thought, keep
from reread.archive import Archive
from reread.archive.search_language import ALL_FIELDS
from reread.testing import a_prompt, a_reply, a_session, a_subagent
from trees import Tree, a_tree, append, assert_answers, digests, resume_copy

ID = "0a1b2c3d-1111-4222-8333-444455556666"


def kept_index(home: Path, to: Path) -> Path:
    """The index as it is on the disk now."""
    to.mkdir(parents=True)
    for path in home.glob("reread.db*"):
        shutil.copy2(path, to)
    return to


def take_back(home: Path, index: Path) -> None:
    """Everything committed since is gone; the safe is not."""
    for path in home.glob("reread.db*"):
        path.unlink()
    for path in index.iterdir():
        shutil.copy2(path, home)


def without_source(tree: Tree) -> Archive:
    (tree.home.parent / "empty").mkdir(exist_ok=True)
    return Archive(tree.home, [tree.home.parent / "empty"], machine="desk")


@pytest.mark.parametrize("how", ["sync", "verify", "rebuild"])
def test_what_no_row_names_is_adopted(tmp_path: Path, how: str) -> None:
    tree = a_tree(tmp_path, size=400_000)
    with tree.archive() as archive:
        archive.sync()
    index = kept_index(tree.home, tmp_path / "index")
    with tree.archive() as archive:
        append(tree.source, tree.truth)
        archive.sync()
        resume_copy(tree.source, tree.truth)
        archive.sync()
        before = {each.stored.row.uuid: each.stored.row for each in archive.sessions()}
    take_back(tree.home, index)
    with without_source(tree) as archive:
        getattr(archive if how == "sync" else archive.safe, how)()
        assert_answers(archive, tree.truth)
        assert {each.stored.row.uuid: each.stored.row for each in archive.sessions()} == before
        proof = archive.safe.verify(deep=True)
        assert (proof.damaged, proof.unnamed) == ([], [])
    with tree.archive() as archive:
        assert archive.sync().bytes == 0
        assert_answers(archive, tree.truth)


def test_a_new_generation_is_adopted_and_the_old_one_stays(tmp_path: Path) -> None:
    path = a_session(a_prompt("the alpaca"), a_reply("yes"), id=ID).write(tmp_path / "projects")
    tree = Tree(tmp_path / "projects", tmp_path / "home", a_tree(tmp_path / "other", size=1).truth)
    with tree.archive() as archive:
        archive.sync()
    index = kept_index(tree.home, tmp_path / "index")
    with tree.archive() as archive:
        a_session(a_prompt("an iguana"), id=ID).write(tmp_path / "projects")
        archive.sync()
    path.unlink()
    take_back(tree.home, index)
    with tree.archive() as archive:
        archive.sync()
        assert [archive.search(word).total for word in ("alpaca", "iguana")] == [0, 1]
        assert archive.sql("SELECT DISTINCT generation FROM piece ORDER BY 1")[1] == [(1,), (2,)]
        assert archive.safe.verify(deep=True).damaged == []


def test_a_file_that_was_adopted_and_never_read_begins_a_new_generation(tmp_path: Path) -> None:
    """The first would take the place of what the safe holds, and a rebuild would show the older content."""
    with Archive(tmp_path / "home", [tmp_path / "projects"], machine="desk") as archive:
        for word in ("alpaca", "iguana"):
            a_session(a_prompt(f"the {word}"), id=ID).write(tmp_path / "projects")
            archive.sync()
        archive.inner.connection.execute("UPDATE file SET size = -1, taken = 0, session = NULL")
        a_session(a_prompt("a pangolin"), id=ID).write(tmp_path / "projects")
        archive.sync()
        assert archive.sql("SELECT DISTINCT generation FROM piece ORDER BY 1")[1] == [(1,), (2,), (3,)]
        archive.safe.rebuild()
        assert [archive.search(word).total for word in ("alpaca", "iguana", "pangolin")] == [0, 0, 1]
        proof = archive.safe.verify(deep=True)
        assert (proof.damaged, proof.unnamed) == ([], [])


def test_agents_outputs_captures_and_backups_are_adopted_with_their_session(tmp_path: Path) -> None:
    config = a_config(tmp_path, {"0000000000000001@v1": b"one"})
    with an_archive(config) as archive:
        archive.sync()
        home = archive.home
        first = archive.sessions()[0].stored.row.uuid
    index = kept_index(home, tmp_path / "index")
    with an_archive(config) as archive:
        write_backups(config, {"0000000000000002@v1": b"two"}, first)
        a_fork(config)
        agent = a_subagent(a_prompt("b"), a_reply("pangolin"), id="abc")
        a_session(a_prompt("the alpaca"), agent, id=ID, outputs={"t.txt": "okapi"}).write(config / "projects")
        keep(home, a_capture(an_interrupted_thought("msg_kept", "wirekept")), session=ID)
        archive.sync()
        names = sorted(each.stored.row.uuid for each in archive.sessions())
        for name in names:
            archive.safe.restore(name, tmp_path / "before" / name)
        rows = {each.stored.row.uuid: each.stored.row for each in archive.sessions()}
    take_back(home, index)
    shutil.rmtree(config)
    with an_archive(config) as archive:
        archive.sync()
        assert {each.stored.row.uuid: each.stored.row for each in archive.sessions()} == rows
        for name in names:
            archive.safe.restore(name, tmp_path / "after" / name)
        assert digests(tmp_path / "after") == digests(tmp_path / "before")
        assert [archive.search(word, ALL_FIELDS).total for word in ("pangolin", "okapi", "wirekept")] == [1, 1, 1]
        proof = archive.safe.verify(deep=True)
        assert (proof.damaged, proof.unnamed) == ([], [])


def test_what_was_forgotten_is_not_adopted(tmp_path: Path) -> None:
    a_session(a_prompt("the alpaca"), id=ID).write(tmp_path / "projects")
    with Archive(tmp_path / "home", [tmp_path / "projects"], machine="desk") as archive:
        archive.sync()
        archive.inner.connection.execute("INSERT INTO forgotten SELECT key, 0 FROM file")
        for table in ("block", "request", "friction", "session_end", "prompt", "piece", "file", "session"):
            archive.inner.connection.execute(f"DELETE FROM {table}")  # noqa: S608
        proof = archive.safe.verify()
        assert proof.adopted == 0
        assert len(proof.unnamed) == 1
        assert archive.sessions() == []
    said = reread("archive", "verify", "--home", tmp_path / "home")
    assert "named by no row" in said.out


def rolled_back_forget(tmp_path: Path) -> tuple[Tree, str]:
    """As older versions left it: the packs were rewritten, and the rows that say so lost with the log."""
    tree = a_tree(tmp_path, size=400_000)
    with tree.archive() as archive:
        archive.sync()
    index = kept_index(tree.home, tmp_path / "index")
    gone = max(tree.truth.by_session)
    with tree.archive() as archive:
        for name in tree.truth.by_session.keys() - {gone}:
            archive.safe.restore(name, tmp_path / "before" / name)
        archive.safe.forget(gone)
    take_back(tree.home, index)
    return tree, gone


@pytest.mark.parametrize("how", ["verify", "forget_damaged", "sync"])
def test_rows_are_led_to_where_a_forget_has_put_their_pieces(tmp_path: Path, how: str) -> None:
    tree, gone = rolled_back_forget(tmp_path)
    with without_source(tree) as archive:
        if how == "sync":
            archive.inner.connection.execute("DELETE FROM source_state")
        getattr(archive if how == "sync" else archive.safe, how)()
        for name in tree.truth.by_session.keys() - {gone}:
            assert archive.safe.restore(name, tmp_path / "after" / name).damaged == []
        assert digests(tmp_path / "after") == digests(tmp_path / "before")
