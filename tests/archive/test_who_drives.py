"""Sessions that a program drove are labelled, and left out where an answer is about what people typed."""

from __future__ import annotations

from pathlib import Path

import pytest

from reread.archive import Archive
from reread.testing import Transcript, a_prompt, a_reply, a_session, an_interrupt

OBSERVER = "You are a memory observer. Watch the primary session number {} and note what it learns."
PERSONS = "cccc0000-1111-4222-8333-444455556666"


def driven(
    number: int, *, entrypoint: str | None = "sdk-ts", cwd: str = "/home/ann/.memory", **fields: str
) -> Transcript:
    time = f"2026-03-01T10:{number:02d}:00.000Z"
    fields = {"entrypoint": entrypoint, **fields} if entrypoint is not None else fields
    asked = a_prompt(OBSERVER.format(number), timestamp=time, **fields)
    return a_session(
        asked,
        a_reply("noted", timestamp=time),
        an_interrupt(timestamp=time),
        id=f"{number:08d}-1111-4222-8333-444455556666",
        cwd=cwd,
    )


def archive_of(folder: Path, *transcripts: Transcript) -> Archive:
    person = a_session(
        a_prompt("mend the parser", timestamp="2026-02-01T10:00:00.000Z"), a_reply("done"), an_interrupt(), id=PERSONS
    )
    for each in (person, *transcripts):
        each.write(folder / "projects")
    made = Archive(folder / "home", [folder / "projects"], machine="desk")
    made.sync()
    return made


def programs(archive: Archive) -> int:
    return sum(each.stored.mark.typed is False for each in archive.sessions())


@pytest.mark.parametrize(
    ("entrypoint", "cwd", "expected"),
    [
        ("sdk-ts", "/home/ann/app", 10),
        ("sdk-cli", "/home/ann/.memory", 10),
        (None, "/home/ann/.memory", 10),  # before 2.1.78: nothing else began in this folder
        (None, "/home/ann/app", 0),
        ("cli", "/home/ann/.memory", 0),
    ],
)
def test_ten_sessions_that_begin_alike_are_a_programs(
    tmp_path: Path, entrypoint: str | None, cwd: str, expected: int
) -> None:
    assert programs(archive_of(tmp_path, *(driven(n, entrypoint=entrypoint, cwd=cwd) for n in range(10)))) == expected


def test_fewer_sessions_or_one_that_a_person_typed_into_are_a_persons(tmp_path: Path) -> None:
    assert programs(archive_of(tmp_path / "few", *map(driven, range(9)))) == 0
    typed = driven(10, promptSource="typed")
    assert programs(archive_of(tmp_path / "typed", *map(driven, range(10)), typed)) == 0


def test_a_programs_sessions_are_left_out_of_prompts_friction_and_last(tmp_path: Path) -> None:
    archive = archive_of(tmp_path, *map(driven, range(10)))
    assert [each.prompt.text for each in archive.prompts()] == ["mend the parser"]
    assert archive.prompts(programs=True).total == 11
    assert {each.session for each in archive.friction.retro()} == {PERSONS}
    assert len({each.session for each in archive.friction.retro(programs=True)}) == 11
    assert archive.find("@last").row.uuid == PERSONS
    assert list(archive.sql("SELECT count(*) FROM prompts")[1]) == [(1,)]
    (hit, *_) = archive.search("observer").hits
    assert hit.session.mark.typed is False


def test_what_a_person_says_about_a_session_decides(tmp_path: Path) -> None:
    archive = archive_of(tmp_path, *map(driven, range(10)))
    newest = driven(9).id
    archive.marks.set(newest, typed=True)
    assert programs(archive) == 9
    assert archive.find("@last").row.uuid == newest
    archive.marks.set(newest, PERSONS, typed=False)
    assert programs(archive) == 11
    assert archive.find("@last").row.uuid == newest  # there is none of a person


def test_whether_a_program_drove_is_not_asked_of_each_session_against_each_other(tmp_path: Path) -> None:
    """The view is part of every answer with sessions: 94 ms of a search of 1,772 sessions were for that."""
    archive = archive_of(tmp_path)
    plan = archive.inner.connection.execute("EXPLAIN QUERY PLAN SELECT id FROM program_session").fetchall()
    assert not [step for *_, step in plan if "CORRELATED" in step]
