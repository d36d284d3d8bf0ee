"""What a person notes on sessions: kept by id, through rebuilds and lost databases, and forgotten with the session."""

from __future__ import annotations

import json
import os
import sqlite3
import sys
from pathlib import Path
from typing import Any

import pytest

from reread.archive import Archive
from reread.archive.filters import Filter
from reread.errors import BadInput, StoreError
from reread.index.database import FILE_NAME
from reread.index.user_data import COPY
from reread.marks import NO_MARK, Mark, MarkChange, counted, tag_name
from reread.testing import a_prompt, a_reply, a_session, a_title

ONE = "0a1b2c3d-1111-4222-8333-444455556666"
TWO = "5e551011-0000-4000-8000-000000000000"
NOTED = Mark(starred=True, tags=("ci", "Refactor"), note="two\nlines", title="A better title", hidden=True)


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    projects = tmp_path / "projects"
    for day, name in enumerate((ONE, TWO), 1):
        prompt = a_prompt(f"prompt of {name}", timestamp=f"2026-03-0{day}T10:00:00.000Z")
        a_session(prompt, a_reply("done"), a_title("its own"), id=name).write(projects)
    made = Archive(tmp_path / "home", [projects], machine="desk")
    made.sync()
    return made


def note(archive: Archive, session: str = ONE) -> int:
    return archive.marks.set(
        session, starred=True, tags=["Refactor", "ci"], note="two\nlines", title=NOTED.title, hidden=True
    )


def titles(archive: Archive) -> dict[str, str]:
    return {each.stored.row.uuid: each.stored.row.title for each in archive.sessions()}


def copy_of(archive: Archive) -> list[Any]:
    found: list[Any] = json.loads((archive.home / COPY).read_bytes())["marks"]
    return found


# -- the rules


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        (" refactor ", "refactor"),
        ("two   words", "two words"),
        ("Groß", "Groß"),
        ("u\u0308ber", "\u00fcber"),
        ("\U0001f469\u200d\U0001f4bb", "\U0001f469\u200d\U0001f4bb"),
        ("x" * 60, "x" * 60),
    ],
)
def test_a_tag_is_kept_trimmed_and_as_it_is_spelled(typed: str, kept: str) -> None:
    assert tag_name(typed) == kept


@pytest.mark.parametrize(
    "typed", ["", "  ", "a,b", "a\nb", "a\tb", "a\x1b[2J", "a\u202eb", "a\u200bb", "a\u2028b", "\udcff", "x" * 61]
)
def test_what_is_no_tag_is_refused_in_one_sentence(typed: str) -> None:
    with pytest.raises(BadInput) as refused:
        tag_name(typed)
    assert str(refused.value).isprintable()


def test_case_does_not_matter_for_finding_and_the_last_spelling_stays() -> None:
    mark = MarkChange(tags=("Straße", "b")).of(Mark(tags=("STRASSE",)))
    assert mark.tags == ("b", "Straße")
    assert mark.has_tags(["strasse", "B"])
    assert not mark.has_tags(["strasse", "c"])
    assert MarkChange(untags=("B", "never there")).of(mark).tags == ("Straße",)


def test_what_is_not_named_stays_and_what_is_empty_goes() -> None:
    assert MarkChange().of(NOTED) == NOTED
    assert MarkChange(starred=False, hidden=False, note="", title="", untags=("CI", "refactor")).of(NOTED) == NO_MARK


def test_a_tag_cannot_come_and_go_at_once() -> None:
    with pytest.raises(BadInput, match="'ci' is both"):
        MarkChange(tags=("ci",), untags=("CI",)).checked()


@pytest.mark.parametrize(
    "change", [MarkChange(note="\udcff"), MarkChange(title="\udcff"), MarkChange(note="x" * 10_001)]
)
def test_what_cannot_be_kept_is_refused(change: MarkChange) -> None:
    with pytest.raises(BadInput):
        change.checked()


def test_tags_are_counted_in_their_commonest_spelling() -> None:
    marks = [Mark(tags=tags) for tags in (("ci", "Docs"), ("CI",), ("ci",), ("docs",))]
    assert counted(marks) == [("ci", 3), ("docs", 2)]


# -- the archive


def test_marks_are_kept_by_id_and_found_again(archive: Archive) -> None:
    assert note(archive, "0a1b") == 1
    assert note(archive) == 0
    assert archive.marks.all() == {ONE: NOTED}
    assert archive.find("@2").mark == NOTED
    assert archive.find(TWO).mark == NO_MARK
    assert archive.marks.tags() == [("ci", 1), ("Refactor", 1)]


def test_a_title_of_the_persons_wins_everywhere(archive: Archive) -> None:
    note(archive)
    assert titles(archive) == {ONE: "A better title", TWO: "its own"}
    assert archive.session(ONE).title == "A better title"
    assert {row.title for row in archive.usage("session").rows} == {"A better title", "its own"}
    assert {hit.session.row.title for hit in archive.search("prompt").hits} == {"A better title", "its own"}
    archive.marks.set(ONE, title="")
    assert titles(archive)[ONE] == f"its own · {ONE[:8]}", "the other session has this title, too"


def test_nothing_is_noted_when_one_thing_is_wrong(archive: Archive) -> None:
    with pytest.raises(BadInput):
        archive.marks.set(ONE, TWO, starred=True, tags=["fine", "a,b"])
    assert archive.marks.all() == {}


def test_a_session_without_marks_has_no_row(archive: Archive) -> None:
    note(archive)
    archive.marks.set(ONE, starred=False, hidden=False, untags=["ci", "refactor"], note="", title="")
    assert archive.inner.connection.execute("SELECT count(*) FROM mark").fetchone() == (0,)
    assert copy_of(archive) == []


def test_filters_ask_for_marks(archive: Archive) -> None:
    note(archive)
    archive.marks.set(TWO, tags=["CI"])

    def found(**wanted: Any) -> list[str]:
        return [each.stored.row.uuid for each in archive.sessions(Filter(**wanted))]

    assert found(starred=True) == [ONE]
    assert found(tags=("ci",)) == [TWO, ONE]
    assert found(tags=("ci", "refactor")) == [ONE]
    assert found(without_hidden=True) == found(without_hidden=True, limit=2) == [TWO]
    assert found() == [TWO, ONE]


def test_a_limit_counts_what_is_shown(archive: Archive) -> None:
    archive.marks.set(TWO, hidden=True)
    assert [each.stored.row.uuid for each in archive.sessions(Filter(without_hidden=True, limit=1))] == [ONE]


@pytest.mark.parametrize("by", ["day", "model", "session", "project", "tool", "block"])
def test_usage_of_marked_sessions_is_theirs_alone(archive: Archive, by: str) -> None:
    archive.marks.set(ONE, starred=True, tags=["ci"])
    everything = archive.usage(by).totals.requests
    assert (everything, archive.usage(by, Filter(starred=True)).totals.requests) == (2, 1)
    assert archive.usage(by, Filter(tags=("CI",))).totals.requests == 1
    assert archive.usage(by, Filter(tags=("other",))).totals.requests == 0


def test_two_copies_share_their_marks(archive: Archive, tmp_path: Path) -> None:
    a_session(a_prompt("elsewhere"), a_reply("done"), id=ONE, cwd="/home/bob/copy").write(tmp_path / "projects")
    archive.sync()
    note(archive)
    copies = [each.stored for each in archive.sessions() if each.stored.row.uuid == ONE]
    assert [copy.mark for copy in copies] == [NOTED, NOTED]
    assert {copy.row.title for copy in copies} == {"A better title"}
    archive.safe.forget(copies[0].name)
    assert archive.find(ONE).mark == NOTED
    archive.safe.forget(ONE)
    assert archive.marks.all() == {}


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="such a name cannot be written there")
def test_a_session_whose_name_is_no_utf_8_can_be_marked(archive: Archive, tmp_path: Path) -> None:
    odd = tmp_path / "projects" / "-home-ann" / os.fsdecode(b"odd-\xff.jsonl")
    odd.parent.mkdir(exist_ok=True)
    odd.write_bytes(b'{"type": "user", "uuid": "u", "message": {"role": "user", "content": "odd"}}\n')
    archive.sync()
    archive.marks.set("odd-", starred=True, hidden=True)
    assert archive.find("odd-").mark == Mark(starred=True, hidden=True)
    assert len(archive.sessions(Filter(without_hidden=True))) == 2
    archive.safe.rebuild()
    assert archive.find("odd-").mark.starred


# -- what only the database knows, and the copy beside it


def test_a_rebuild_takes_marks_over(archive: Archive) -> None:
    note(archive)
    (archive.home / COPY).unlink()
    archive.safe.rebuild()
    assert archive.marks.all() == {ONE: NOTED}
    assert titles(archive)[ONE] == "A better title"


@pytest.mark.parametrize("damage", ["garbage", "deleted", "empty table"])
def test_marks_outlast_the_database(archive: Archive, damage: str) -> None:
    note(archive)
    archive.marks.set(TWO, tags=["ci"])
    known = archive.marks.all()
    archive.close()
    for path in archive.home.glob(f"{FILE_NAME}*"):
        if damage == "garbage":
            path.write_bytes(b"no database" * 1000)
        elif damage == "deleted":
            path.unlink()
    if damage == "empty table":
        with sqlite3.connect(archive.home / FILE_NAME) as connection:
            connection.execute("DELETE FROM mark")
        connection.close()
    archive.sync() if damage == "deleted" else archive.safe.rebuild()
    assert archive.marks.all() == known
    assert titles(archive)[ONE] == "A better title"


def test_the_first_mark_in_a_new_archive_does_not_cost_the_old_ones(archive: Archive) -> None:
    note(archive)
    archive.inner.connection.execute("DELETE FROM mark")
    archive.marks.set(TWO, starred=True)
    assert archive.marks.all() == {ONE: NOTED, TWO: Mark(starred=True)}


def test_the_copy_says_what_the_rows_say_and_is_for_nobody_else(archive: Archive) -> None:
    note(archive)
    assert copy_of(archive) == [{"session": ONE, **NOTED._asdict(), "tags": ["ci", "Refactor"]}]
    assert not (archive.home / f"{COPY}.part").exists()
    if os.name == "posix":
        assert (archive.home / COPY).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"{",
        b"\xff",
        b'{"marks": 3}',
        b'{"marks": [3, {}, {"session": 4}, {"session": "x", "tags": [5]}, {"session": "y", "tags": ["a,b"]}]}',
        b'{"marks": [{"session": "x", "note": 7}, {"session": "y", "tags": 9}, {"session": "z", "note": "\\ud800"}]}',
        b'{"labels": [["u", "", "s", 99999999999999999999], ["\\ud800", "", "s", 1]]}',
        b'{"forgotten": [["k", 99999999999999999999], ["\\ud800", 1]]}',
        b'{"moved": [{"earlier": "\\ud800"}, {"earlier": "/a\\ud800", "today": "/b"}]}',
    ],
)
def test_a_copy_that_is_none_of_ours_costs_nothing(archive: Archive, content: bytes) -> None:
    (archive.home / COPY).write_bytes(content)
    archive.safe.rebuild()
    assert archive.marks.all() == {}
    assert len(archive.sessions()) == 2


def test_where_the_copy_cannot_be_written_nothing_is_noted(archive: Archive) -> None:
    (archive.home / f"{COPY}.part").mkdir()
    with pytest.raises(StoreError, match="cannot be written"):
        note(archive)
    assert archive.marks.all() == {}


def test_forgetting_leaves_no_word_of_it(archive: Archive) -> None:
    archive.marks.set(ONE, note="a quincunx of mine", title="another quincunx", tags=["quincunx tag"])
    archive.marks.set(TWO, starred=True)
    archive.safe.rebuild()  # sets a database aside that has them too
    (archive.home / f"{COPY}.part").write_bytes((archive.home / COPY).read_bytes())
    archive.safe.forget(ONE)
    archive.close()
    assert archive.marks.all() == {TWO: Mark(starred=True)}
    archive.close()
    left = [path for path in archive.home.rglob("*") if path.is_file()]
    assert not [path for path in left if b"quincunx" in path.read_bytes()]
    archive.safe.rebuild()
    assert archive.marks.all() == {TWO: Mark(starred=True)}


def test_a_forgotten_session_that_is_met_elsewhere_stays_away_with_its_marks(archive: Archive, tmp_path: Path) -> None:
    note(archive)
    archive.safe.forget(ONE)
    a_session(a_prompt("again"), a_reply("done"), id=ONE).write(tmp_path / "projects" / "elsewhere")
    assert list(archive.sync().left_out) == [ONE]
    assert ONE not in archive.marks.all()
