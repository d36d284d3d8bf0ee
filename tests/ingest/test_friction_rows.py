"""What went wrong is kept as rows: the same however a session came in, once whatever copies it, gone when forgotten."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

import reread.ingest.second_phase
from reread.archive import Archive, Progress
from reread.cli.main import main
from reread.features.friction import FrictionKind, find
from reread.index import meta
from reread.safe.safe import lock
from reread.testing import a_prompt, a_reply, a_session
from reread.views.retro_report import facts, retro_document
from troubled import ONE, TWO, an_archive, an_edit, troubled, write

FOUND = {"tool_error", "rejection", "correction", "interrupt"}


def rows(archive: Archive) -> dict[str, list[Any]]:
    """Everything that is kept, without the numbers of this database."""
    asked = {
        "friction": """SELECT session.uuid, friction.uuid, agent, kind, time, evidence, confidence, cause, about,
                              seconds, tokens, friction.nanodollars, details
                       FROM friction JOIN session ON session.id = session ORDER BY 1, 5, 2, 4""",
        "outcome": """SELECT session.uuid, last_test, last_test_uuid, commits, session_end.ended, prompted, material
                      FROM session_end JOIN session ON session.id = session ORDER BY 1""",
        "instruction_change": """SELECT session.uuid, path, instruction_change.uuid, time FROM instruction_change
                                 JOIN session ON session.id = session ORDER BY 1, 4""",
    }
    return {name: archive.inner.connection.execute(query).fetchall() for name, query in asked.items()}


def test_what_is_found_in_a_session_is_kept(tmp_path: Path) -> None:
    write(troubled(ONE, *an_edit("/home/ann/app/CLAUDE.md")), tmp_path / "projects")
    with an_archive(tmp_path) as archive:
        kept = rows(archive)
        found = find(archive.session(ONE), with_agents=True)
    assert {row[3] for row in kept["friction"]} >= FOUND
    assert sorted((row[1], row[3], row[5], row[8]) for row in kept["friction"]) == sorted(
        (event.uuid, event.kind.value, event.evidence, event.about) for event in found.events
    )
    assert [row[2] for row in kept["friction"] if "tapirq" in row[5]] == ["abc"]
    assert [(row[1], row[4]) for row in kept["outcome"]] == [("failed", found.outcome.ended)]
    assert [row[1] for row in kept["instruction_change"]] == ["/home/ann/app/CLAUDE.md"]


def test_a_session_that_grew_has_the_rows_of_one_taken_at_once(tmp_path: Path) -> None:
    whole = troubled(ONE, *an_edit("/home/ann/app/CLAUDE.md"))
    trunk = write(whole, tmp_path / "projects")
    content = trunk.read_bytes()
    lines = content.splitlines(keepends=True)
    growing = Archive(tmp_path / "growing", [tmp_path / "projects"], machine="desk")
    for end in (1, 4, len(lines) // 2, len(lines) - 1, len(lines)):
        trunk.write_bytes(b"".join(lines[:end]))
        growing.sync()
    with growing, an_archive(tmp_path) as cold:
        assert waiting(growing) == [ONE], "every few lines would pay for the whole session"
        growing.sync()
        assert not waiting(growing), "nothing else was to be done"
        assert rows(growing) == rows(cold)
        assert rows(cold)["friction"]


def test_a_session_that_grows_keeps_no_other_from_being_found(tmp_path: Path) -> None:
    two_sessions(tmp_path)
    with quickly(tmp_path) as quick:
        trunk = next((tmp_path / "projects").rglob(f"{TWO}.jsonl"))
        quick.friction.in_session(TWO)
        with trunk.open("ab") as file:
            file.write(troubled(TWO, a_prompt("and the kuduq")).bytes.splitlines(keepends=True)[-1])
        quick.sync()
        assert waiting(quick) == [TWO], "of the other one nothing was known yet"
        assert {row[0] for row in rows(quick)["outcome"]} == {ONE, TWO}


def test_a_session_that_was_rewritten_tells_only_what_it_tells_now(tmp_path: Path) -> None:
    trunk = write(troubled(), tmp_path / "projects")
    with an_archive(tmp_path) as archive:
        trunk.write_bytes(a_session(a_prompt("hello", uuid="other"), a_reply("hi", uuid="hi"), id=ONE).bytes)
        shutil.rmtree(trunk.with_suffix(""))
        archive.sync()
        assert [row[2] for row in rows(archive)["friction"] if row[2] is None] == []
        assert len(rows(archive)["outcome"]) == 1


def test_a_copy_in_another_folder_counts_no_moment_twice(tmp_path: Path) -> None:
    write(troubled(), tmp_path / "projects")
    with an_archive(tmp_path) as archive:
        before = archive.friction.retro(with_agents=True)
    shutil.copytree(tmp_path / "projects", tmp_path / "backup")
    [copy] = (tmp_path / "backup").rglob(f"{ONE}.jsonl")
    copy.write_bytes(copy.read_bytes().replace(b'"2.1.197"', b'"2.1.198"', 1))  # so that it is no equal copy
    with an_archive(tmp_path, tmp_path / "projects", tmp_path / "backup") as archive:
        assert len(archive.sessions()) == 2
        after = archive.friction.retro(with_agents=True)
    assert (after.sessions, after.prompts) == (before.sessions, before.prompts) == (1, 3)
    assert after.events == before.events


def test_a_fork_counts_only_what_is_its_own(tmp_path: Path) -> None:
    """`--fork-session` copies every line with its uuid under a new session id."""
    trunk = write(troubled(), tmp_path / "projects")
    later = "2026-01-06T09:00:00.000Z"
    more = (a_prompt("no, that is wrong again, undo the kuduq", timestamp=later), a_reply("ok", timestamp=later))
    fork = troubled(ONE, *more).bytes.replace(ONE.encode(), TWO.encode())
    trunk.with_name(f"{TWO}.jsonl").write_bytes(fork)
    with an_archive(tmp_path) as archive:
        found = archive.friction.retro()
        told = [(event.uuid, event.kind) for event in found.events]
        assert len(told) == len(set(told))
        assert ["kuduq" in event.evidence for event in found.events if event.session == TWO] == [True]
        assert found.prompts == 4
        by_itself = archive.friction.retro(session=TWO)
        assert {event.kind for event in by_itself.events} >= {FrictionKind.TOOL_ERROR, FrictionKind.REJECTION}


def test_a_replay_under_new_ids_counts_no_moment_twice(tmp_path: Path) -> None:
    """Clients of 1.0 and the SDK make new uuids for what they copy; times and words stay."""
    trunk = write(troubled(), tmp_path / "projects")
    copied = trunk.read_bytes().replace(ONE.encode(), TWO.encode()).replace(b'"uuid":"', b'"uuid":"9')
    trunk.with_name(f"{TWO}.jsonl").write_bytes(copied.replace(b'"parentUuid":"', b'"parentUuid":"9'))
    with an_archive(tmp_path) as archive:
        found = archive.friction.retro()
    assert {event.session for event in found.events} == {ONE}
    assert (found.sessions, found.prompts) == (1, 3)


def test_forgetting_leaves_no_byte_of_moments_or_labels(tmp_path: Path) -> None:
    write(troubled(), tmp_path / "projects")
    write(troubled(TWO), tmp_path / "projects", "2026-01-06")
    with an_archive(tmp_path) as archive:
        marked = {event.session: event.uuid for event in archive.friction.retro().events if "oryxq" in event.evidence}
        for uuid in marked.values():
            archive.friction.mark_wrong(uuid or "")
        archive.safe.forget(ONE)
        kept = rows(archive)
        assert {row[0] for table in kept.values() for row in table} == {TWO}
        assert [row[0] for row in archive.inner.connection.execute("SELECT uuid FROM moment_verdict")] == [marked[TWO]]
    content = b"".join(path.read_bytes() for path in (tmp_path / "home").rglob("*") if path.is_file())
    for word in (ONE, f"gnuq in {ONE[:4]}", f"oryxq names in {ONE[:4]}", str(marked[ONE])):
        assert word.encode() not in content
    assert f"gnuq in {TWO[:4]}".encode() in content


def test_a_new_index_has_the_same_rows_and_keeps_what_a_person_said(tmp_path: Path) -> None:
    write(troubled(), tmp_path / "projects")
    with an_archive(tmp_path) as archive:
        before = rows(archive)
        [uuid] = [event.uuid for event in archive.friction.retro().events if "oryxq" in event.evidence]
        archive.friction.mark_wrong(uuid or "", "correction")
        archive.safe.rebuild()
        assert rows(archive) == before
        assert archive.friction.retro().spared.wrong == 1
        assert uuid not in {event.uuid for event in archive.friction.retro().events}


def test_half_a_character_keeps_no_session_out(tmp_path: Path) -> None:
    transcript = a_session(
        a_prompt("make it"), a_reply("done"), a_prompt("no, that is wrong \ud83d, undo it please now"), a_reply("ok")
    )
    transcript.write(tmp_path / "projects")
    with an_archive(tmp_path) as archive:
        assert [event.kind for event in archive.friction.retro().events] == [FrictionKind.CORRECTION]


# -- what a quick sync leaves for later


def quickly(folder: Path, name: str = "quick") -> Archive:
    archive = Archive(folder / name, [folder / "projects"], machine="desk")
    archive.sync(is_quick=True)
    return archive


def waiting(archive: Archive) -> list[str]:
    return [uuid for _, uuid in meta.waiting_for_friction(archive.inner.connection)]


def two_sessions(folder: Path) -> None:
    write(troubled(ONE, *an_edit("/home/ann/app/CLAUDE.md")), folder / "projects")
    write(troubled(TWO), folder / "projects", "2026-01-06")


def test_a_retrospective_finds_what_a_quick_sync_left(tmp_path: Path) -> None:
    two_sessions(tmp_path)
    with quickly(tmp_path) as quick, an_archive(tmp_path) as whole:
        assert not rows(quick)["friction"]
        assert waiting(quick) == [TWO, ONE], "the newest first"
        found = quick.friction.retro(with_agents=True)
        assert (found.waiting, waiting(quick)) == (0, [])
        assert rows(quick) == rows(whole)
        assert found.events == whole.friction.retro(with_agents=True).events


def test_one_session_is_found_by_itself_and_the_others_go_on_waiting(tmp_path: Path) -> None:
    two_sessions(tmp_path)
    with quickly(tmp_path) as quick, an_archive(tmp_path) as whole:
        assert quick.friction.in_session(ONE) == whole.friction.in_session(ONE) != []
        assert waiting(quick) == [TWO]
        quick.sync()
        assert not waiting(quick), "a sync that is not quick finds the rest, though no source has changed"
        assert rows(quick) == rows(whole)


def test_a_stop_between_two_sessions_costs_neither(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    two_sessions(tmp_path)
    for name in ("SHARE", "READ_AT_MOST"):
        monkeypatch.setattr(reread.ingest.second_phase, name, 1)

    def stop(_: Progress) -> None:
        raise KeyboardInterrupt

    with quickly(tmp_path) as quick:
        with pytest.raises(KeyboardInterrupt):
            quick.sync(stop)
        assert waiting(quick) == [ONE]
        assert {row[0] for row in rows(quick)["outcome"]} == {TWO}
    with quickly(tmp_path) as quick, an_archive(tmp_path) as whole:
        quick.sync()
        assert rows(quick) == rows(whole)


def test_a_session_that_grows_shows_what_it_had_until_the_rest_is_found(tmp_path: Path) -> None:
    trunk = write(troubled(ONE), tmp_path / "projects")
    with an_archive(tmp_path) as archive:
        before = rows(archive)["friction"]
        later = "2026-01-06T09:00:00.000Z"
        more = (a_prompt("no, that is wrong again, undo the kuduq", timestamp=later), a_reply("ok", timestamp=later))
        trunk.write_bytes(troubled(ONE, *more).bytes)
        archive.sync(is_quick=True)
        assert waiting(archive) == [ONE]
        assert rows(archive)["friction"] == before
        assert any("kuduq" in event.evidence for event in archive.friction.retro().events)
        assert not waiting(archive)


def test_an_answer_says_what_it_lacks_while_another_writes(tmp_path: Path) -> None:
    two_sessions(tmp_path)
    with quickly(tmp_path) as quick, lock(quick.home / "safe", timeout=1):
        found = quick.friction.retro()
        assert (found.waiting, found.events) == (2, [])
        assert any("2 sessions are still to be found" in fact for fact in facts(found))
        assert retro_document(found)["sessions_waiting"] == 2
        assert quick.friction.retro(session=ONE).waiting == 1


def test_what_is_forgotten_waits_no_more(tmp_path: Path) -> None:
    two_sessions(tmp_path)
    with quickly(tmp_path) as quick:
        quick.safe.forget(ONE)
        assert waiting(quick) == [TWO]


def test_a_question_that_needs_no_moments_leaves_them(tmp_path: Path) -> None:
    two_sessions(tmp_path)
    places = ["--home", str(tmp_path / "home"), "--source", str(tmp_path / "projects")]
    assert main(["list", *places]) == 0
    with Archive(tmp_path / "home") as archive:
        assert len(waiting(archive)) == 2
    assert main(["sync", *places]) == 0
    with Archive(tmp_path / "home") as archive:
        assert not waiting(archive)
