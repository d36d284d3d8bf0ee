"""`reread doctor`: damage with its place, news of the format by name, retention; and no change to any source."""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from cli.running import Run
from reread.testing import a_line, a_prompt, a_reply, a_session, a_tool_call, a_tool_result


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A config directory with a clean session and one with everything the doctor looks for."""
    projects = tmp_path / ".claude" / "projects"
    a_session(a_prompt("fine"), a_reply("yes"), id="clean", version="2.1.9").write(projects)
    sick = a_session(
        a_prompt("q", newField=1),
        a_line("brand-new", note="x"),
        a_reply("a", to="a-parent-nobody-has"),
        id="sick",
        version="2.1.10",
    ).write(projects)
    lines = sick.read_bytes().splitlines(keepends=True)
    sick.write_bytes(lines[0] + b'{"type":"user", broken\n' + b"".join(lines[1:]))
    (tmp_path / ".claude" / "settings.json").write_text('{"cleanupPeriodDays": 10}')
    return tmp_path / ".claude"


def examined(run: Run, source: Path) -> Any:
    return json.loads(run("doctor", "--json", "--source", source).out)


def test_transcripts_beside_the_sources_are_said_and_taken_in_as_it_says(run: Run, source: Path) -> None:
    backup = source / "backup" / "2026-09" / "projects"
    a_session(a_prompt("kept only here"), a_reply("yes"), id="gone").write(backup)
    (source / "backup" / "notes").mkdir()
    said = f"1 transcript lies in {backup}, not read: `reread sync --source {backup}`"
    found = run("doctor", "--source", source).out
    assert "".join(said.split()) in "".join(found.split())
    assert examined(run, source)["beside"] == [{"path": str(backup), "transcripts": 1}]
    assert said in run("sync", "--source", source).err
    taken = run("sync", "--source", backup)
    assert "imported 1 session" in taken.out
    assert "lies in" not in taken.err
    assert "gone" in run("list", "--json", "--no-sync").out


def test_a_malformed_line_is_named_by_file_and_number(run: Run, source: Path) -> None:
    (bad,) = examined(run, source)["malformed"]
    assert Path(bad["file"]).name == "sick.jsonl"
    assert bad["line"] == 2
    assert "JSON" in bad["reason"]


def test_lines_are_counted_once_and_records_are_those_that_could_be_read(run: Run, source: Path) -> None:
    document = examined(run, source)
    assert (document["files"], document["lines"], document["records"]) == (2, 6, 5)


def test_unknown_types_and_unmodelled_fields_are_named_and_counted(run: Run, source: Path) -> None:
    document = examined(run, source)
    assert document["unknown_types"] == {"brand-new": 1}
    assert document["unmodelled_fields"] == {"user.newField": 1}


def test_fields_are_counted_by_the_type_they_occur_in(run: Run, source: Path) -> None:
    assert "fields" not in examined(run, source)
    found = json.loads(run("doctor", "--json", "--fields", "--source", source).out)["fields"]
    assert list(found) == ["user", "user.message", "assistant", "assistant.message", "brand-new"]
    assert (found["user"]["objects"], found["user"]["fields"]["uuid"], found["user"]["fields"]["newField"]) == (2, 2, 1)
    assert found["assistant.message"]["fields"]["usage"] == 2
    assert found["brand-new"]["fields"]["note"] == 1
    shown = run("doctor", "--fields", "--source", source).out
    assert "user: 2 objects" in shown
    assert [line.split() for line in shown.splitlines() if "newField" in line][-1] == ["newField", "1", "50%"]


def test_record_types_are_counted_most_frequent_first(run: Run, source: Path) -> None:
    assert list(examined(run, source)["types"].items()) == [("user", 2), ("assistant", 2), ("brand-new", 1)]


def test_an_orphan_parent_is_counted(run: Run, source: Path) -> None:
    assert examined(run, source)["orphan_parents"] == 1


def test_versions_come_in_their_own_order(run: Run, source: Path) -> None:
    assert list(examined(run, source)["versions"]) == ["2.1.9", "2.1.10"]
    assert "2 client versions: 2.1.9 to 2.1.10" in run("doctor", "--source", source).out


def test_sessions_that_will_be_deleted_soon_are_counted_by_the_settings(run: Run, source: Path) -> None:
    now = time.time()
    clean, sick = sorted(source.rglob("*.jsonl"))
    os.utime(clean, (now - 1 * 86400, now - 1 * 86400))
    os.utime(sick, (now - 5 * 86400, now - 5 * 86400))
    assert examined(run, source)["retention"] == {"cleanup_period_days": 10, "expiring_sessions": 1}
    assert "1 session will be deleted by Claude Code within 7 days (cleanupPeriodDays 10)" in (
        run("doctor", "--source", source).out
    )


def test_a_copied_line_is_counted_as_such(run: Run, source: Path) -> None:
    clean = next(source.rglob("clean.jsonl"))
    (clean.parent / "copy.jsonl").write_bytes(clean.read_bytes())
    assert examined(run, source)["cross_file_duplicates"] == 2


def test_a_person_reads_the_same_findings(run: Run, source: Path) -> None:
    said = run("doctor", "--source", source).out
    assert "2 sessions in 2 files" in said
    assert "sick.jsonl:2: not JSON" in said
    assert "  brand-new (1)" in said
    assert "  user.newField (1)" in said
    assert "1 orphan parent," in said


def test_an_unfinished_last_line_is_told_from_other_damage(run: Run, tmp_path: Path) -> None:
    path = a_session(a_prompt("q")).write(tmp_path)
    with path.open("ab") as file:
        file.write(b'{"type":"user","mess')
    (bad,) = examined(run, path)["malformed"]
    assert bad["reason"].startswith("unfinished last line")


def test_one_is_singular(run: Run, source: Path) -> None:
    assert "1 malformed line:" in run("doctor", "--source", source).out


def snapshot(folder: Path) -> dict[str, tuple[int, int, int, bytes]]:
    """Every file and folder below: size, mode, time of change, content."""
    found = {}
    for path in [folder, *sorted(folder.rglob("*"))]:
        status = path.stat()
        content = path.read_bytes() if path.is_file() else b""
        found[str(path)] = (status.st_size, status.st_mode, status.st_mtime_ns, content)
    return found


def test_no_command_writes_below_a_source(run: Run, source: Path) -> None:
    a_session(
        a_prompt("q"), a_reply(a_tool_call("Bash")), a_tool_result("x"), id="more", outputs={"toolu_1.txt": "long"}
    ).write(source / "projects")
    before = snapshot(source)
    for command in ("", "show more", "show more --json", "thinking", "prompts --raw", "tools", "doctor --strict"):
        ran = run(*command.split(), "--source", source)
        assert ran.code == (1 if "strict" in command else 0), ran.err
    assert snapshot(source) == before


def test_what_answers_lack_is_named(run: Run, source: Path, tmp_path: Path) -> None:
    kept = ["--source", source, "--home", tmp_path / "archive"]
    assert json.loads(run("doctor", "--json", *kept).out)["left_out"] == {
        "unread": [],  # there is no archive to ask
        "forgotten": [],
        "damaged": ["sick"],
    }
    run("sync", *kept)
    a_session(a_prompt("later"), id="newer").write(source / "projects")
    a_session(a_prompt("in two places"), id="twice", cwd="/one").write(source / "projects" / "one")
    run("sync", *kept)
    assert run("archive", "forget", "clean", "--yes", *kept).code == 0
    a_session(a_prompt("still later"), id="newest").write(source / "projects")
    found = json.loads(run("doctor", "--json", *kept).out)["left_out"]
    assert found == {"unread": ["newest"], "forgotten": ["clean"], "damaged": ["sick"]}
    told = run("doctor", *kept).out.replace("\n", " ")
    assert "1 session not in the archive yet" in told
    assert "you had them forgotten (clean)" in told


def test_a_copy_of_a_session_is_not_left_out(run: Run, source: Path, tmp_path: Path) -> None:
    shutil.copytree(source, tmp_path / "other")
    kept = ["--source", source, "--source", tmp_path / "other", "--home", tmp_path / "archive"]
    run("sync", *kept)
    assert json.loads(run("doctor", "--json", *kept).out)["left_out"]["unread"] == []
    [row] = [row for row in json.loads(run("list", "--json", *kept).out)["sessions"] if row["id"] == "clean"]
    [place] = row["places"]
    assert {place["path"], *row["files"]} == {
        str(path) for folder in (source, tmp_path / "other") for path in folder.rglob("clean.jsonl")
    }
    assert place["present"] is True
    assert place["machine"]
