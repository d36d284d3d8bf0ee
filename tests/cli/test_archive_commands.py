"""`list`, `sync`, `archive`, `sql`: what is kept stays, can be proved, given back, and goes only when told to."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from cli.kept import HARBOUR, LANTERN, Kept, digests, snapshot
from cli.running import PROGRAM, Run, environment, on_terminal, read_until, reread, without_colour
from cli.test_json_contract import SESSION, check
from reread.safe.safe import FoundPiece, Safe
from reread.testing import a_prompt, a_reply, a_session, a_subagent, a_thought, a_tool_call, a_tool_result, a_usage


def test_the_list_has_the_fields_of_the_contract(kept: Kept) -> None:
    document = kept.json("list")
    assert list(document) == ["schema", "total", "lost", "sessions"]
    assert document["schema"] == "reread.sessions/1"
    newest, older = document["sessions"]
    assert (newest["id"], older["id"]) == (HARBOUR, LANTERN)
    check(older, SESSION)
    assert list(older) == list(SESSION)
    assert older["files"] == sorted(str(path) for path in kept.files(LANTERN))
    assert older["bytes"] == sum(path.stat().st_size for path in kept.files(LANTERN))
    assert (older["present"], older["archived"], older["subagents"], older["tool_errors"]) == (True, True, 1, 1)


def test_a_session_expires_when_the_settings_say(kept: Kept) -> None:
    os.utime(kept.trunk(HARBOUR), (1_790_000_000, 1_790_000_000))
    harbour = next(row for row in kept.json("list")["sessions"] if row["id"] == HARBOUR)
    assert harbour["expires"] == "2026-10-31T14:13:20.000Z"


def test_a_deleted_session_is_kept_and_marked(kept: Kept) -> None:
    before = kept.json("list")["sessions"]
    kept.trunk(LANTERN).unlink()
    shutil.rmtree(kept.trunk(HARBOUR).parents[1] / "-home-ann-lantern")
    after = kept.json("list")["sessions"]
    changed = {"present", "expires"}
    for old, new in zip(before, after, strict=True):
        assert {key: old[key] for key in old if key not in changed} == {
            key: new[key] for key in new if key not in changed
        }
    assert [(row["id"], row["present"], row["archived"]) for row in after] == [
        (HARBOUR, True, True),
        (LANTERN, False, True),
    ]
    assert after[1]["expires"] is None
    assert "only here" in next(line for line in kept("list").out.splitlines() if line.startswith(LANTERN[:8]))
    assert "the capacitor might be loose" in kept("show", LANTERN).out
    assert kept.json("show", LANTERN)["session"]["present"] is False
    assert kept.json("thinking")["thoughts"][0]["text"] == "the capacitor might be loose"
    assert "and goodbye\n" in kept("prompts", "--raw", "--project", "lantern").out
    assert {row["name"] for row in kept.json("tools")["tools"]} == {"Task", "Bash"}


@pytest.mark.parametrize("width", ["30", "50", "80", "120", "200"])
def test_the_list_fits_the_terminal(kept: Kept, monkeypatch: pytest.MonkeyPatch, width: str) -> None:
    monkeypatch.setenv("COLUMNS", width)
    lines = kept("list").out.splitlines()
    assert max(map(len, lines)) <= int(width)
    assert any(LANTERN[:8] in line for line in lines)


def test_filters_narrow_the_list(kept: Kept) -> None:
    def ids(*filters: str) -> list[str]:
        return [row["id"] for row in kept.json("list", *filters)["sessions"]]

    assert ids("--project", "LANTERN") == [LANTERN]
    assert ids("--tool", "bash") == [LANTERN]
    assert ids("--since", "2026-11-11") == [HARBOUR]
    assert ids("--limit", "1") == [HARBOUR]
    assert ids("--project", "nowhere") == []
    assert kept("list", "--project", "nowhere").out == "no sessions\n"


def test_a_named_source_narrows_what_the_archive_answers(kept: Kept, run: Run, tmp_path: Path) -> None:
    kept("sync")
    other = a_session(a_prompt("elsewhere"), id="elsewhere").write(tmp_path / "other")
    document = json.loads(run("list", "--json", "--source", other.parent, "--home", kept.home).out)
    assert [row["id"] for row in document["sessions"]] == ["elsewhere"]


# --- freshness ---


def test_commands_take_in_what_changed_first(kept: Kept) -> None:
    assert len(kept.json("list")["sessions"]) == 2
    a_session(a_prompt("third"), id="third").write(kept.claude / "projects")
    assert len(kept.json("list", "--no-sync")["sessions"]) == 2
    ran = kept("list", "--json")
    assert len(json.loads(ran.out)["sessions"]) == 3
    assert ran.err == "", "a quick sync is silent"


def test_without_sync_an_archive_answers_from_what_it_has(kept: Kept) -> None:
    assert kept.json("list", "--no-sync")["sessions"] == []


def test_sync_says_what_it_took_and_what_vanished(kept: Kept) -> None:
    assert kept("sync").out.startswith("imported 2 sessions, ")
    assert kept("sync").out == "nothing new\n"
    kept.trunk(HARBOUR).unlink()
    assert kept("sync").out == "nothing new; 1 file vanished from the sources and is kept\n"
    document = kept.json("sync", "--full")
    assert document["schema"] == "reread.sync/1"
    assert [row["id"] for row in kept.json("list")["sessions"]] == [HARBOUR, LANTERN]


@pytest.mark.skipif(not hasattr(os, "setuid"), reason="needs POSIX permissions")
def test_what_cannot_be_read_is_told_beside_the_answer(kept: Kept) -> None:
    (kept.claude / "projects" / "binary.jsonl").symlink_to(kept.claude / "projects" / "binary.jsonl")
    ran = kept("list", "--json")
    assert ran.code == 0
    assert len(json.loads(ran.out)["sessions"]) == 2
    assert all(line.startswith("reread: ") for line in ran.err.splitlines())


def test_a_source_that_never_was_is_refused_and_one_that_is_gone_is_told(kept: Kept, tmp_path: Path) -> None:
    never = kept.run("list", "--source", tmp_path / "never", "--home", kept.home)
    assert (never.code, never.out, never.err.count("\n")) == (2, "", 1)
    kept("sync")
    shutil.rmtree(kept.claude)
    ran = kept("list", "--json")
    assert len(json.loads(ran.out)["sessions"]) == 2
    assert "is gone; what was imported from it is kept" in ran.err


@pytest.mark.parametrize("command", [("list",), ("search", "beacon"), ("archive", "verify"), ("archive", "status")])
def test_what_is_kept_can_be_read_while_the_environment_names_a_folder_that_is_not_there(
    kept: Kept, tmp_path: Path, command: tuple[str, ...]
) -> None:
    nowhere = {"CLAUDE_CONFIG_DIR": str(tmp_path / "nowhere")}
    assert reread(*command, "--home", kept.home, **nowhere).code == 2, "there is nothing to tell of"
    kept("sync")
    ran = reread(*command, "--home", kept.home, **nowhere)
    assert (ran.code, ran.err) == (0, f"reread: {tmp_path / 'nowhere'}: no such file or folder\n")
    assert ran.out == reread(*command, "--home", kept.home, "--source", kept.claude).out
    assert reread("sync", "--home", kept.home, **nowhere).code == 2, "a sync of nothing is no success"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for other processes")
def test_watching_follows_until_ctrl_c(kept: Kept) -> None:
    process = subprocess.Popen(
        [*PROGRAM, "sync", "--watch", "--source", str(kept.claude), "--home", str(kept.home)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
        bufsize=0,
    )
    read_until(process, "imported 2 sessions")
    a_session(a_prompt("third"), id="third").write(kept.claude / "projects")
    read_until(process, "imported 1 session")
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    told = [line for line in errors.decode().splitlines() if "importing" not in line]
    assert (process.returncode, told) == (130, [])  # how far a sync has come is told only on a slow machine


# --- where the archive lies ---


def test_the_archive_lies_where_the_environment_says_and_an_option_goes_before_it(
    run: Run, kept: Kept, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("REREAD_HOME", str(tmp_path / "named"))
    run("sync", "--source", kept.claude)
    assert (tmp_path / "named" / "reread.db").exists()
    run("sync", "--source", kept.claude, "--home", tmp_path / "other")
    assert (tmp_path / "other" / "reread.db").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="each platform has its own folder")
def test_without_a_name_it_lies_in_the_persons_data(kept: Kept, tmp_path: Path) -> None:
    there = tmp_path / "data"
    reread("sync", "--source", kept.claude, REREAD_HOME="", XDG_DATA_HOME=str(there))
    assert (there / "reread" / "reread.db").exists()
    reread("sync", "--source", kept.claude, REREAD_HOME="", XDG_DATA_HOME="", HOME=str(tmp_path / "ann"))
    assert (tmp_path / "ann" / ".local" / "share" / "reread" / "reread.db").exists()


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX")
def test_only_the_owner_may_look_into_the_archive(kept: Kept) -> None:
    old = os.umask(0)
    try:
        kept("list")
        kept("search", "beacon")
    finally:
        os.umask(old)
    assert stat.S_IMODE(kept.home.stat().st_mode) == 0o700
    for path in kept.home.rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


def test_nothing_is_written_below_a_source(kept: Kept) -> None:
    before = snapshot(kept.claude)
    for command in ("", "sync", "list", "search beacon", "show @last", "thinking", "prompts", "tools", "doctor"):
        assert kept(*command.split()).code == 0, command
    for command in ("archive status", "archive verify", "sql SELECT+1", "sync --full"):
        assert kept(*(word.replace("+", " ") for word in command.split())).code == 0, command
    assert kept("archive", "restore", LANTERN, "--to", kept.claude / "projects" / "back").code == 2
    assert kept("archive", "forget", LANTERN, "--yes").code == 0
    assert snapshot(kept.claude) == before


def test_an_archive_inside_a_claude_folder_is_refused(kept: Kept, run: Run) -> None:
    ran = run("list", "--source", kept.claude, "--home", kept.claude / "reread")
    assert (ran.code, ran.out) == (2, "")
    assert "below the source" in ran.err
    assert not (kept.claude / "reread").exists()


def test_a_named_source_is_read_without_being_kept(run: Run, kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REREAD_HOME", str(kept.home))
    for command in (["show", LANTERN], ["thinking"], ["prompts"], ["tools"], []):
        assert run(*command, "--source", kept.claude).code == 0
    assert not kept.home.exists()
    run("sync", "--source", kept.claude)
    kept.trunk(LANTERN).unlink()
    assert "capacitor" in run("thinking", "--source", kept.claude).out, "what is kept is read from the archive"


def test_the_demonstration_touches_no_archive(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("REREAD_HOME", str(tmp_path / "mine"))
    for command in ("", "list", "search retry", "archive verify", "show @last"):
        assert run("demo", *command.split()).code == 0
    assert not (tmp_path / "mine").exists()


# --- archive ---


def test_status_says_what_is_kept(kept: Kept) -> None:
    document = kept.json("archive", "status")
    assert (document["sessions"], document["vanished"]) == (2, 0)
    assert document["home"] == str(kept.home)
    assert "2 sessions" in kept("archive", "status").out


def test_an_intact_archive_is_proved(kept: Kept) -> None:
    kept("sync")
    document = kept.json("archive", "verify")
    counted = ["responses_recounted", "rows_mended", "pieces_adopted", "pieces_unnamed", "bytes_unnamed"]
    counted += ["results_waiting", "pieces_left_out"]
    assert list(document) == ["schema", "ok", "files", "bytes", "stored_bytes", "damaged", *counted]
    assert document["responses_recounted"] > 0
    assert [document[name] for name in counted[1:]] == [0, 0, 0, 0, 0, []]
    assert document["schema"] == "reread.verify/1"
    assert (document["ok"], document["damaged"]) == (True, [])
    # settings.json is kept too
    assert document["bytes"] == sum(path.stat().st_size for path in kept.claude.rglob("*") if path.is_file())
    assert "every byte is intact" in kept("archive", "verify").out


def test_a_damaged_archive_exits_with_1_and_names_every_damage(kept: Kept) -> None:
    kept("sync")
    pack = max((kept.home / "safe").rglob("*"), key=lambda path: path.stat().st_size if path.is_file() else 0)
    content = bytearray(pack.read_bytes())
    content[len(content) // 2] ^= 0xFF
    pack.write_bytes(content)
    ran = kept("archive", "verify", "--json")
    document = json.loads(ran.out)
    assert (ran.code, document["ok"]) == (1, False)
    assert document["damaged"]
    assert all(isinstance(damage, str) for damage in document["damaged"])
    text = kept("archive", "verify")
    assert (text.code, len(text.out.splitlines())) == (1, 3 + len(document["damaged"]))
    assert "archive rebuild" in text.out.splitlines()[-2]


def test_what_damage_leaves_of_a_session_is_shown_and_restored(kept: Kept, tmp_path: Path) -> None:
    kept("sync")
    shutil.rmtree(kept.claude)
    with Safe(kept.home / "safe") as safe:
        places = {Path(found.header.path).name: found.place for found in safe.scan() if isinstance(found, FoundPiece)}
    pack = kept.home / "safe" / "000001.pack"
    content = bytearray(pack.read_bytes())
    content[places[f"{LANTERN}.jsonl"].end - 9] ^= 0xFF
    pack.write_bytes(content)
    shown = kept("show", LANTERN)
    assert shown.code == 0
    assert "could not be read: the piece at byte" in shown.out
    restored = kept("archive", "restore", LANTERN, "--to", tmp_path / "back", "--json")
    document = json.loads(restored.out)
    assert (restored.code, len(document["damaged"])) == (1, 1)
    assert sorted(document["files"]) == sorted(str(path) for path in (tmp_path / "back").rglob("*") if path.is_file())


def test_restoring_gives_back_every_byte_after_the_source_is_gone(kept: Kept, tmp_path: Path) -> None:
    wanted = digests(kept.files(LANTERN))
    kept("sync")
    shutil.rmtree(kept.claude)
    to = tmp_path / "back"
    document = kept.json("archive", "restore", LANTERN[:6], "--to", to)
    assert digests(path for path in to.rglob("*") if path.is_file()) == wanted
    assert sorted(document["files"]) == sorted(str(path) for path in to.rglob("*") if path.is_file())
    assert "the capacitor might be loose" in kept.run("show", next(to.rglob(f"{LANTERN}.jsonl"))).out


def test_what_a_file_held_before_it_was_written_anew_can_be_had_back(kept: Kept, tmp_path: Path) -> None:
    trunk = kept.trunk(HARBOUR)
    before = trunk.read_bytes()
    kept("sync")
    assert "rewritten" not in kept("archive", "status").out
    shorter = b"".join(before.splitlines(keepends=True)[1:])
    trunk.write_bytes(shorter)
    assert kept("archive", "restore", HARBOUR, "--to", tmp_path / "now").out.splitlines()[-2:] == [
        "kept, too, from before they were rewritten:",
        f"  --generation 1  {trunk.name}, {len(before)} B",
    ]
    assert (tmp_path / "now" / trunk.name).read_bytes() == shorter
    document = kept.json("archive", "restore", HARBOUR, "--generation", "1", "--to", tmp_path / "then")
    assert (tmp_path / "then" / trunk.name).read_bytes() == before
    assert document["generations"] == [
        {"path": str(trunk), "generation": 1, "bytes": len(before), "is_last": False},
        {"path": str(trunk), "generation": 2, "bytes": len(shorter), "is_last": True},
    ]
    status = kept.json("archive", "status")
    assert (status["rewritten"], status["earlier_bytes"]) == (1, len(before))
    assert "1 file rewritten" in kept("archive", "status").out
    ran = kept("archive", "restore", HARBOUR, "--generation", "3", "--to", tmp_path / "never")
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert "generations 1 to 2" in ran.err
    assert not (tmp_path / "never").exists()


def test_restoring_overwrites_nothing_unasked(kept: Kept, tmp_path: Path) -> None:
    target = tmp_path / "back" / f"{HARBOUR}.jsonl"
    target.parent.mkdir()
    target.write_text("mine")
    ran = kept("archive", "restore", HARBOUR, "--to", tmp_path / "back")
    assert (ran.code, ran.out, target.read_text()) == (2, "", "mine")
    assert "--force" in ran.err
    assert kept("archive", "restore", HARBOUR, "--to", tmp_path / "back", "--force").code == 0
    assert target.read_bytes() == kept.trunk(HARBOUR).read_bytes()


def test_restoring_never_writes_below_a_source_not_even_through_a_link(kept: Kept, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(kept.claude / "projects")
    for to in (kept.claude, kept.claude / "projects" / "new", tmp_path / "link"):
        ran = kept("archive", "restore", HARBOUR, "--to", to, "--force")
        assert (ran.code, ran.err.count("\n")) == (2, 1)
        assert "never writes" in ran.err


def test_forgetting_asks_and_needs_somebody_to_ask(kept: Kept) -> None:
    kept("sync")
    arguments = ["archive", "forget", HARBOUR, "--source", str(kept.claude), "--home", str(kept.home)]
    silent = reread(*arguments)
    assert (silent.code, silent.out, silent.err.count("\n")) == (2, "", 1)
    assert "--yes" in silent.err
    assert len(kept.json("list", "--no-sync")["sessions"]) == 2


@pytest.mark.skipif(os.name != "posix", reason="needs a pseudo terminal")
@pytest.mark.parametrize(("answer", "left"), [("no", 2), ("", 2), ("yes", 1)])
def test_forgetting_says_what_goes_and_waits_for_a_yes(kept: Kept, answer: str, left: int) -> None:
    import pty

    backup = kept.claude / "file-history" / HARBOUR / "848ba454848ee7c8@v1"
    backup.parent.mkdir(parents=True)
    backup.write_text("as it was")
    kept("sync")
    ours, theirs = pty.openpty()
    command = [*PROGRAM, "archive", "forget", "@last", "--source", str(kept.claude), "--home", str(kept.home)]
    process = subprocess.Popen(command, stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment())
    os.write(ours, f"{answer}\n".encode())
    _, said = process.communicate(timeout=60)
    os.close(ours)
    os.close(theirs)
    assert process.returncode == 0
    assert "draw the harbour" in said.decode()
    assert "1 backup of files it changed" in said.decode()
    assert "later syncs pass it by" in said.decode()
    assert len(kept.json("list", "--no-sync")["sessions"]) == left


def test_what_was_forgotten_is_in_no_answer(kept: Kept) -> None:
    kept("sync")
    kept.trunk(HARBOUR).unlink()
    assert kept("archive", "forget", HARBOUR, "--yes").out.startswith(f"forgot {HARBOUR}: 1 file")
    assert [row["id"] for row in kept.json("list")["sessions"]] == [LANTERN]
    assert kept.json("search", "harbour")["hits"] == []
    assert kept.json("archive", "verify")["ok"]


def test_what_was_forgotten_is_not_taken_in_again_and_its_source_stays(kept: Kept) -> None:
    kept("sync")
    kept("archive", "forget", HARBOUR, "--yes")
    kept("sync")
    assert [row["id"] for row in kept.json("list")["sessions"]] == [LANTERN]
    assert kept.trunk(HARBOUR).exists()


def test_the_archive_needs_to_be_told_what_to_do(kept: Kept) -> None:
    assert kept("archive").code == 2
    assert kept("archive", "bury").code == 2
    assert kept("archive", "restore", LANTERN).code == 2
    assert kept("archive", "forget", "zzz", "--yes").code == 2


@pytest.mark.parametrize("action", ["status", "verify", "restore", "forget", "rebuild"])
def test_every_action_has_help_with_an_example(run: Run, action: str) -> None:
    ran = run("archive", action, "--help")
    assert ran.out.startswith(f"usage: reread archive {action}")
    assert f"reread archive {action}" in ran.out.partition("examples:")[2]


def test_a_rebuilt_index_answers_as_before(kept: Kept) -> None:
    before = kept.json("list")
    assert kept.json("archive", "rebuild")["sessions"] == 2
    assert kept.json("list") == before
    assert kept.json("search", "capacitor")["total"] == 2


def test_what_a_rebuild_puts_aside_is_told_and_is_no_part_of_the_index(kept: Kept) -> None:
    kept("sync")
    before = kept.json("archive", "status")
    assert before["set_aside_bytes"] == 0
    assert "yours to delete" not in kept("archive", "status").out
    assert "yours to delete" in kept("archive", "rebuild").out
    aside = list(kept.home.glob("reread.db.damaged-*"))
    os.truncate(aside[0], 100_000_000)
    after = kept.json("archive", "status")
    assert after["set_aside_bytes"] == sum(path.stat().st_size for path in aside)
    assert after["index_bytes"] < 100_000_000
    for path in aside:
        path.unlink()
    assert "yours to delete" not in kept("archive", "status").out


# --- sql ---


def test_sql_answers_as_a_table_as_json_and_as_csv(kept: Kept) -> None:
    query = "SELECT uuid, prompts FROM session ORDER BY uuid"
    assert kept("sql", query).out.splitlines()[0].split() == ["uuid", "prompts"]
    document = kept.json("sql", query)
    assert (document["schema"], document["columns"]) == ("reread.sql/1", ["uuid", "prompts"])
    assert document["rows"] == [{"uuid": LANTERN, "prompts": 4}, {"uuid": HARBOUR, "prompts": 1}]
    rows = list(csv.reader(io.StringIO(kept("sql", query, "--csv").out)))
    assert rows == [["uuid", "prompts"], [LANTERN, "4"], [HARBOUR, "1"]]
    assert kept.json("sql", "SELECT 1 AS a, 2 AS a, x'00ff' AS b, NULL AS c")["rows"] == [
        {"a": 1, "a_2": 2, "b": "00ff", "c": None}
    ]


def test_no_text_of_csv_is_a_formula_and_numbers_stay_numbers(kept: Kept) -> None:
    texts = ["=1+1", "+x", "-x", "@x", "\t=x", "\r=x", " =x", "\x01=x", "\uff1dx", "-1.5", "a=b", "2-1"]
    query = f"SELECT {', '.join(f'char({chr(44).join(str(ord(each)) for each in text)})' for text in texts)}, -5, -0.5"
    [_, row] = csv.reader(io.StringIO(kept("sql", f'{query}, 1 AS "=x"', "--csv").out, newline=""))
    guarded = ["'=1+1", "'+x", "'-x", "'@x", "'\t=x", "'=x", "' =x", "'=x", "'\uff1dx"]
    assert row == [*guarded, "'-1.5", "a=b", "2-1", "-5", "-0.5", "1"]
    [header, _] = csv.reader(io.StringIO(kept("sql", 'SELECT 1 AS "=x"', "--csv").out))
    assert header == ["'=x"]


def test_rows_with_more_columns_than_fit_are_shown_one_below_the_other(kept: Kept) -> None:
    lines = kept("sql", "SELECT * FROM session ORDER BY uuid").out.splitlines()
    assert lines[0].startswith("─── 1 ──")
    assert [line.split() for line in lines if line.startswith("uuid ")] == [["uuid", LANTERN], ["uuid", HARBOUR]]
    assert [line.split() for line in lines if line.startswith("prompts ")] == [["prompts", "4"], ["prompts", "1"]]


@pytest.mark.parametrize(
    "query",
    [
        "DELETE FROM session",
        "DROP TABLE file",
        "INSERT INTO session(uuid) VALUES ('x') RETURNING id",
        "PRAGMA journal_mode = DELETE",
        "VACUUM INTO 'copy.db'",
        "ATTACH 'other.db' AS other",
        "CREATE TEMP TABLE t(x)",
        "BEGIN",
        "SELECT 1; DELETE FROM session",
        "nonsense",
        "",
    ],
)
def test_sql_only_reads(kept: Kept, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, query: str) -> None:
    monkeypatch.chdir(tmp_path)
    kept("sync")
    before = snapshot(tmp_path)
    ran = kept("sql", query)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert len(kept.json("list")["sessions"]) == 2
    assert set(snapshot(tmp_path)) == set(before)


def test_the_full_text_index_can_be_asked_in_sql(kept: Kept) -> None:
    rows = kept.json("sql", "SELECT count(*) AS n FROM search WHERE search MATCH 'beacon'")["rows"]
    assert rows == [{"n": 2}]


def test_the_schema_is_printed_without_an_archive(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("REREAD_HOME", str(tmp_path / "none"))
    assert "CREATE TABLE session" in run("sql", "--schema").out
    assert not (tmp_path / "none").exists()


# --- overview ---


def test_the_overview_tells_periods_sessions_and_what_will_be_deleted(kept: Kept) -> None:
    document = kept.json()
    assert [period["period"] for period in document["periods"]] == ["today", "7 days", "30 days"]
    assert (document["total_sessions"], document["schema"]) == (2, "reread.sessions/1")
    os.utime(kept.trunk(HARBOUR), (1_700_000_000, 1_700_000_000))
    out = kept().out
    lines = out.splitlines()
    assert lines[0].split() == ["prompts", "cost", "tokens", "cache", "hit"]
    assert any(line.startswith("@1") and "draw the harbour" in line for line in lines)
    first = next(fact["command"] for fact in kept.json()["facts"] if "deletes 1 session" in fact["sentence"])
    assert f"  {first}" in lines
    assert "deletes 1 session within 7 days, the first on" in " ".join(out.split())
    assert "reread search" in lines[-1]


def test_the_overview_tells_why_the_dearest_session_was_dear_and_which_words_are_lost(kept: Kept) -> None:
    session = a_session(
        a_prompt("find every caller", timestamp="2026-11-12T11:00:00.000Z"),
        a_reply(a_thought(""), a_tool_call("Agent", {"description": "look"}, id="toolu_a"), usage=a_usage(10, 10)),
        a_subagent(a_prompt("task"), a_reply("found", usage=a_usage(1000, 90_000)), of="toolu_a"),
        a_tool_result("done", of="toolu_a"),
    )
    session.write(kept.claude / "projects")
    facts = " ".join(fact["sentence"] for fact in kept.json()["facts"])
    assert re.search(
        r"The dearest session of 30 days cost \$[\d.]+: find every caller\. \d+% of it was spent by subagents\.", facts
    )
    assert "did not store the words of 1 of the last" in facts


def test_a_session_that_mostly_read_its_context_is_dear_for_that(kept: Kept) -> None:
    usage = a_usage(10, 100, cache_read=200_000)
    session = a_session(
        a_prompt("Find every caller.", timestamp="2026-11-12T11:00:00.000Z"), a_reply("these", usage=usage)
    )
    session.write(kept.claude / "projects")
    facts = " ".join(fact["sentence"] for fact in kept.json()["facts"])
    assert ": Find every caller. It read 200.0k tokens of context in 1 response." in facts


def test_no_amount_of_an_overview_is_cut(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    def costs(width: int) -> list[str]:
        monkeypatch.setenv("COLUMNS", str(width))
        lines = [
            line for line in kept("--no-sync" if width < 80 else "--timezone=UTC").out.splitlines() if line[:1] == "@"
        ]
        assert max(map(len, lines)) <= width
        return [line.split()[-1] for line in lines]

    wanted = costs(80)
    assert len(wanted) == 2
    for width in (52, 60, 69):
        assert costs(width) == wanted


def test_an_archive_whose_sources_are_gone_still_has_an_overview(
    run: Run, kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REREAD_HOME", str(kept.home))
    kept("sync")
    shutil.rmtree(kept.claude)
    ran = run()
    assert (ran.code, ran.err) == (0, "")
    assert "draw the harbour" in ran.out


@pytest.mark.skipif(os.name != "posix", reason="needs a pseudo terminal")
def test_colours_change_no_word_of_the_list(kept: Kept) -> None:
    arguments = ("list", "--source", kept.claude, "--home", kept.home)
    coloured = on_terminal(*arguments)
    assert "\x1b[1m" in coloured
    assert without_colour(coloured) == kept("list").out


def test_the_doctor_says_which_expiring_sessions_are_not_kept(kept: Kept) -> None:
    os.utime(kept.trunk(HARBOUR), (1_700_000_000, 1_700_000_000))
    assert kept.json("doctor")["expiring_not_archived"] is None
    assert not kept.home.exists(), "the doctor makes no archive"
    kept("sync")
    assert kept.json("doctor")["expiring_not_archived"] == 0
    path = a_session(a_prompt("new"), a_reply("a"), id="new").write(kept.claude / "projects")
    os.utime(path, (1_700_000_000, 1_700_000_000))
    assert kept.json("doctor")["expiring_not_archived"] == 1
    assert "1 not yet in the archive" in " ".join(kept("doctor").out.split())
