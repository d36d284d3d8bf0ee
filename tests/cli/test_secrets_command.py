"""`reread secrets`: what lies in past sessions is listed, never told, and gone when it is forgotten."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from cli.running import Run
from planting import planted
from reread.archive import Archive
from reread.testing import a_prompt, a_reply, a_session, a_thought, a_tool_call, a_tool_result

ANN = "aaaa0000-1111-4222-8333-444455556666"
BOB = "bbbb0000-1111-4222-8333-444455556666"
TOKEN = next(each.secret for each in planted() if each.kind == "GitHub")
KEY = next(each.secret for each in planted() if each.kind == "Stripe")
PASSWORD = "hunter2secret"  # noqa: S105  made up


@pytest.fixture
def projects(tmp_path: Path) -> Path:
    folder = tmp_path / "projects"
    a_session(
        a_prompt(f"use {TOKEN} please", uuid="asked"),
        a_reply(
            a_thought(f"the token {TOKEN} looks fine"), a_tool_call("Bash", {"command": f"login --password={PASSWORD}"})
        ),
        a_tool_result("nothing here"),
        id=ANN,
        cwd="/srv/shop",
    ).write(folder)
    a_session(
        a_prompt("show the settings"),
        a_reply(a_tool_call("Read", {"file_path": "/srv/x"})),
        a_tool_result(f"STRIPE={KEY}\nGH={TOKEN}\n/home/marta_l92/x marta@kestrelworks.se"),
        id=BOB,
        cwd="/srv/api",
    ).write(folder)
    return folder


def secrets(run: Run, projects: Path, *more: str) -> dict[str, Any]:
    ran = run("secrets", "--json", "--home", projects.parent / "kept", "--source", projects, *more)
    assert ran.code == 0, ran.err
    assert not [each for each in (TOKEN, KEY, PASSWORD) if each in ran.out + ran.err]
    found: dict[str, Any] = json.loads(ran.out)
    return found


def test_each_secret_is_told_once_with_all_its_places(run: Run, projects: Path) -> None:
    told = secrets(run, projects)
    assert told["schema"] == "reread.secrets/1"
    by_kind = {each["kind"]: each for each in told["secrets"]}
    assert set(by_kind) == {"GitHub token", "Stripe key", "password"}
    token = by_kind["GitHub token"]
    assert (token["count"], set(token["sessions"])) == (3, {ANN, BOB})
    assert [place["field"] for place in token["places"] if place["session"] == ANN] == ["prompt", "thinking"]
    assert by_kind["password"]["places"][0]["field"] == "tool"
    assert {place["field"] for place in by_kind["Stripe key"]["places"]} == {"result"}
    assert "new ones" in told["advice"]


def test_filters_choose_sessions(run: Run, projects: Path) -> None:
    assert {each["kind"] for each in secrets(run, projects, "--project", "shop")["secrets"]} == {
        "GitHub token",
        "password",
    }
    assert len(secrets(run, projects, "--limit", "1")["secrets"]) == 1


def test_a_second_question_reads_only_what_is_new(projects: Path, tmp_path: Path) -> None:
    with Archive(tmp_path / "kept", [projects]) as archive:
        archive.sync()
        assert archive.secrets.report().read_bytes > 0
        again = archive.secrets.report()
        assert (again.read_bytes, again.total) == (0, 3)
        path = next(projects.rglob(f"{ANN}.jsonl"))
        before = path.stat().st_size
        line = json.dumps(
            {"type": "user", "uuid": "late", "sessionId": ANN, "message": {"role": "user", "content": f"and {KEY}"}}
        )
        with path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")
        archive.sync()
        grown = archive.secrets.report()
        assert grown.read_bytes == path.stat().st_size - before
        places = next(each for each in grown.secrets if each.kind == "Stripe key").places
        assert {place.session.row.uuid for place in places} == {ANN, BOB}


def test_workers_find_what_one_process_finds(projects: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = []
    for home, alone_below in (("alone", 10**9), ("together", 0)):
        monkeypatch.setattr("reread.archive.secret_scan.SHARE", 1)
        monkeypatch.setattr("reread.workers.ALONE_BELOW", alone_below)
        told: list[tuple[int, int]] = []
        with Archive(tmp_path / home, [projects]) as archive:
            archive.sync()
            found = archive.secrets.report(tell=lambda done, of, told=told: told.append((done, of)))  # type: ignore[misc]
        assert len(told) == 2
        assert told[-1] == (found.read_bytes, found.read_bytes)
        places = [[(place.uuid, place.field, place.time) for place in each.places] for each in found.secrets]
        answers.append(([each.kind for each in found.secrets], places, found.read_bytes))
    assert answers[0] == answers[1]


def test_a_damaged_file_is_told_and_the_others_are_looked_through(projects: Path, tmp_path: Path) -> None:
    with Archive(tmp_path / "kept", [projects]) as archive:
        archive.sync()
        [(pack, offset)] = archive.inner.connection.execute(
            "SELECT pack, piece.offset + stored / 2 FROM piece JOIN file ON file.id = piece.file WHERE path LIKE ?",
            (f"%{ANN}%",),
        ).fetchall()
    damaged = tmp_path / "kept" / "safe" / f"{pack:06}.pack"
    content = bytearray(damaged.read_bytes())
    content[offset : offset + 20] = bytes(20)
    damaged.write_bytes(content)
    with Archive(tmp_path / "kept", [projects]) as archive:
        found = archive.secrets.report()
    assert found.damaged == 1
    assert {each.kind for each in found.secrets} == {"GitHub token", "Stripe key"}


def test_what_an_older_version_found_is_looked_for_again(
    projects: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Archive(tmp_path / "kept", [projects]) as archive:
        archive.sync()
        first = archive.secrets.report()
        monkeypatch.setattr("reread.archive.secret_scan.VERSION", 1_000)
        again = archive.secrets.report()
        assert (again.read_bytes, again.total) == (first.read_bytes, first.total)


def test_rows_go_with_the_session(run: Run, projects: Path, tmp_path: Path) -> None:
    secrets(run, projects)
    ran = run("archive", "forget", ANN, "--yes", "--home", tmp_path / "kept")
    assert ran.code == 0, ran.err
    assert {each["kind"] for each in secrets(run, projects)["secrets"]} == {"GitHub token", "Stripe key"}
    with sqlite3.connect(tmp_path / "kept" / "reread.db") as index:
        files = {row[0] for row in index.execute("SELECT id FROM file")}
        assert {row[0] for row in index.execute("SELECT file FROM secret UNION SELECT file FROM secret_scan")} <= files


def test_no_value_is_in_the_index(run: Run, projects: Path, tmp_path: Path) -> None:
    secrets(run, projects)
    with sqlite3.connect(tmp_path / "kept" / "reread.db") as index:
        rows = [str(value) for row in index.execute("SELECT * FROM secret") for value in row]
    assert not [each for each in (TOKEN, KEY, PASSWORD) if any(each in row for row in rows)]


def test_values_are_shown_on_a_terminal_only(run: Run, projects: Path, tmp_path: Path) -> None:
    ran = run("secrets", "--show", "--home", tmp_path / "kept", "--source", projects)
    assert ran.code == 2
    assert "on a terminal only" in ran.err
    with Archive(tmp_path / "kept", [projects]) as archive:
        archive.sync()
        scan = archive.secrets
        assert {scan.value_of(each) for each in scan.report().secrets} == {TOKEN, KEY, PASSWORD}


def test_the_list_for_people_names_places_and_says_what_to_do(run: Run, projects: Path, tmp_path: Path) -> None:
    ran = run("secrets", "--home", tmp_path / "kept", "--source", projects)
    assert "GitHub token" in ran.out
    assert f"reread show {ANN[:13]} --around asked" in ran.out
    assert "Make new ones where these were issued" in " ".join(ran.out.split())
    empty = run("secrets", "--project", "nowhere", "--home", tmp_path / "kept", "--source", projects)
    assert empty.out == "no keys or passwords found\n"


def test_a_value_that_a_repeated_name_hides_is_listed(run: Run, projects: Path) -> None:
    hidden = "Vb8Kp1WdQ7Rt2Zx9"
    path = next(projects.rglob(f"{BOB}.jsonl"))
    with path.open("a", encoding="utf-8") as file:
        file.write(f'{{"type":"user","uuid":"late","sessionId":"{BOB}","password":"{hidden}","password":"x"}}\n')
    found = [each for each in secrets(run, projects)["secrets"] if each["kind"] == "password"]
    assert sorted(each["places"][-1]["uuid"] == "late" for each in found) == [False, True]
