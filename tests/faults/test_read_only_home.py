"""An archive that cannot be written is read as it is: a backup medium, a read-only mount, another person's files."""

from __future__ import annotations

import io
import json
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from cli.kept import HARBOUR, LANTERN, fill, snapshot
from cli.running import Ran
from faults.unprivileged import as_nobody
from reread.archive import Archive
from reread.cli.main import main
from reread.errors import RereadError
from reread.index.database import FILE_NAME
from web.asking import asking_as_it_is

pytestmark = pytest.mark.skipif(not hasattr(os, "setuid"), reason="needs POSIX permissions")

READING = [
    ["list"],
    ["search", "beacon"],
    ["show", LANTERN],
    ["thinking"],
    ["prompts"],
    ["tools"],
    ["files"],
    ["usage"],
    ["usage", "session"],
    ["cache"],
    ["retro"],
    ["projects"],
    ["mark"],
    ["export", LANTERN, "--format", "markdown"],
    ["summary", LANTERN],
    ["explain", LANTERN],
    ["sql", "SELECT count(*) FROM session"],
    ["archive", "status"],
    ["archive", "verify"],
    ["archive", "restore", LANTERN],
    ["doctor"],
    [],
]
WRITING = [
    ["sync"],
    ["sync", "--full"],
    ["mark", LANTERN, "--star"],
    ["projects", "move", "/home/ann/lantern", "/home/ann/new"],
    ["archive", "rebuild"],
    ["archive", "forget", LANTERN, "--yes"],
    ["archive", "forget", "--damaged", "--yes"],
]


@pytest.fixture
def base(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where everybody may look; pytest's own folders are for their owner. Its name means something else in a URI."""
    monkeypatch.setattr(tempfile, "tempdir", "/tmp")  # TMPDIR may be ours alone
    folder = Path("/tmp") / f"reread-read-only-#1?mode=%41-{os.getpid()}"
    shutil.rmtree(folder, ignore_errors=True)
    fill(folder / "claude")
    with Archive(folder / "home", [folder / "claude"]) as archive:
        archive.sync()
        archive.marks.set(LANTERN, note="walrus")
        if "only_in_the_log" in request.node.name:
            shutil.copytree(folder / "home", folder / "copy")
    if (folder / "copy").exists():
        shutil.rmtree(folder / "home")
        (folder / "copy").rename(folder / "home")
    (folder / "claude" / "projects" / "-new").mkdir()
    shutil.copy(next(folder.rglob(f"{HARBOUR}.jsonl")), folder / "claude" / "projects" / "-new" / "new.jsonl")
    (folder / "to").mkdir()
    (folder / "to").chmod(0o777)
    close(folder / "home")
    yield folder
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o700)
    shutil.rmtree(folder)


def close(home: Path) -> None:
    """For everybody to read and nobody to write."""
    for path in (home, *home.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)


def run(base: Path, *arguments: str) -> Ran:
    """Once as ourselves beside it, to have it loaded: who has no rights may not be able to read Python itself."""
    more = ["--to", str(base / "to")] if "restore" in arguments else []
    shutil.copytree(base / "home", base / "ours")
    for path in (base / "ours", *(base / "ours").rglob("*")):
        path.chmod(0o700)
    reply(base / "ours", base / "claude", [*arguments, *more])
    shutil.rmtree(base / "to")
    (base / "to").mkdir()
    (base / "to").chmod(0o777)
    shutil.rmtree(base / "ours")
    code, out, err = json.loads(as_nobody(lambda: reply(base / "home", base / "claude", [*arguments, *more])))
    return Ran(code, out, err)


def reply(home: Path, claude: Path, arguments: list[str]) -> str:
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main([*arguments, "--home", str(home), "--source", str(claude)])
    return json.dumps([code, out.getvalue(), err.getvalue()])


@pytest.mark.sampled(4)
@pytest.mark.parametrize("arguments", READING, ids=" ".join)
def test_what_reads_answers_and_says_that_it_is_not_up_to_date(base: Path, arguments: list[str]) -> None:
    before = snapshot(base / "home")
    ran = run(base, *arguments)
    assert ran.code == 0, ran.err
    assert ran.out
    if arguments not in (["archive", "verify"], ["doctor"]):
        assert ran.err == f"reread: not up to date: {base}/home: the archive cannot be written here, only read\n"
    assert snapshot(base / "home") == before


@pytest.mark.parametrize("arguments", WRITING, ids=" ".join)
def test_what_must_write_says_in_a_sentence_that_it_cannot(base: Path, arguments: list[str]) -> None:
    before = snapshot(base / "home")
    ran = run(base, *arguments)
    assert (ran.code, ran.out) == (2, ""), ran
    last = ran.err.splitlines()[-1]
    assert last.startswith("reread: ")
    assert "cannot be" in last
    assert snapshot(base / "home") == before


def marks(base: Path) -> str:
    def work() -> str:
        with Archive(base / "home") as archive:
            try:
                archive.marks.set(HARBOUR, starred=True)
            except RereadError:
                return f"{archive.marks.all()[LANTERN].note} {len(archive.sessions())} {archive.safe.verify().damaged}"
            return "marked"

    return as_nobody(work)


@pytest.mark.parametrize("left", ["log and shared memory", "log"])
def test_what_is_only_in_the_log_is_read_too(base: Path, left: str) -> None:
    home = base / "home"
    assert (home / f"{FILE_NAME}-wal").stat().st_size > 0
    if left == "log":
        home.chmod(0o755)
        (home / f"{FILE_NAME}-shm").unlink()
        home.chmod(0o555)
    assert marks(base) == "walrus 2 []"


def test_without_a_log_the_file_is_all_there_is(base: Path) -> None:
    assert not (base / "home" / f"{FILE_NAME}-wal").exists()
    assert marks(base) == "walrus 2 []"


def test_pages_are_served_from_it(base: Path) -> None:
    def work() -> str:
        with asking_as_it_is(base / "home", base / "claude") as site:
            return " ".join(str(site.get(page).status_code) for page in ("/", "/sessions", f"/s/{LANTERN}", "/usage"))

    assert as_nobody(work) == "200 200 200 200"


@pytest.mark.parametrize("command", [["list"], ["archive", "verify"]], ids=" ".join)
def test_one_of_an_older_version_is_refused_in_a_sentence(base: Path, command: list[str]) -> None:
    home = base / "home"
    for path in (home, home / FILE_NAME):
        path.chmod(0o700)
    with sqlite3.connect(home / FILE_NAME) as connection:
        connection.execute("PRAGMA user_version = 0")
    connection.close()
    close(home)
    ran = run(base, *command)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert "older reread" in ran.err


STRAIGHT = [
    ["list"],
    ["search", "beacon"],
    ["show", LANTERN],
    ["usage"],
    ["usage", "session"],
    ["tools"],
    ["files"],
    [],
]


@pytest.mark.parametrize("arguments", STRAIGHT, ids=" ".join)
@pytest.mark.parametrize("is_no_sync", [False, True])
def test_without_a_place_for_an_archive_the_sources_answer(
    arguments: list[str], is_no_sync: bool, tmp_path: Path
) -> None:
    fill(tmp_path / "claude")
    (tmp_path / "file").write_text("no folder", "utf-8")
    more = ["--no-sync"] if is_no_sync else []
    kept = json.loads(reply(tmp_path / "kept", tmp_path / "claude", arguments))
    code, out, err = json.loads(reply(tmp_path / "file" / "home", tmp_path / "claude", [*arguments, *more]))
    assert (code, out) == (0, kept[1])
    assert "cannot be made" in err
    assert err.endswith("; answered straight from the sources; nothing is kept\n")


@pytest.mark.parametrize("arguments", [["sync"], ["mark", LANTERN, "--star"]], ids=" ".join)
def test_without_a_place_for_an_archive_nothing_pretends_to_be_kept(arguments: list[str], tmp_path: Path) -> None:
    fill(tmp_path / "claude")
    (tmp_path / "file").write_text("no folder", "utf-8")
    code, out, err = json.loads(reply(tmp_path / "file" / "home", tmp_path / "claude", arguments))
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
