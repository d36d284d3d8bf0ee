"""The real client changes files, reread rebuilds them: at every point they must be what was on disk."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

import reread
from cli.running import reread_here as run_reread
from client.run import Scratch, Screen, has_tmux
from client.scenarios import SCENARIOS, Turn, calls, delegates, runs, says, turn

pytestmark = pytest.mark.e2e

needs_tmux = pytest.mark.skipif(not has_tmux(), reason="tmux drives the interactive client; install tmux")
FILE = "{cwd}/a.txt"


def edit(old: str, new: str, **options: object) -> Turn:
    return turn(calls("Edit", file_path=FILE, old_string=old, new_string=new, **options))


def kept(number: int, name: str = "a.txt") -> Turn:
    """Has the client copy the file aside: what is on disk at this line."""
    return turn(runs(f"cp {name} ../kept-{number}"))


EDITS = [
    turn(calls("Write", file_path=FILE, content="alpha\nbeta\ngamma\nbeta\n\ttab\nlast")),
    kept(1),
    edit("alpha", "ALPHA\nnew"),
    kept(2),
    edit("beta", "BETA"),  # fails: there are two
    kept(3),
    edit("beta", "BETA", replace_all=True),
    kept(4),
    edit("not there", "x"),  # fails
    kept(5),
    edit("gamma", ""),
    kept(6),
    edit("\ttab\n", "\ttab\n\t\tmore\n"),
    kept(7),
    turn(runs("printf 'changed outside\\n' >> a.txt")),
    turn(calls("Read", file_path=FILE)),
    edit("last", "LAST"),
    kept(8),
    turn(calls("Write", file_path=FILE, content="one\r\ntwo\r\n")),
    kept(9),
    edit("two", "2"),
    kept(10),
    turn(runs("printf 'say \\xe2\\x80\\x9chi\\xe2\\x80\\x9d\\n' > q.txt")),
    turn(calls("Read", file_path="{cwd}/q.txt")),
    turn(calls("Edit", file_path="{cwd}/q.txt", old_string='"hi"', new_string='"ho"')),
    turn(says("All done.")),
]
MAKE = [turn(calls("Write", file_path=FILE, content="one\ntwo\nthree\n")), turn(says("Made it."))]
CHANGE = [
    edit("{arg}", "{arg}-{arg}"),
    turn(calls("Write", file_path="{cwd}/{arg}.txt", content="only {arg}\n")),
    turn(says("Changed {arg}.")),
]


WORK = [turn(calls("Write", file_path=FILE, content="by an agent\n")), edit("agent", "AGENT"), turn(says("Worked."))]
DELEGATE = [turn(delegates("mock:work", run_in_background=False)), edit("by", "BY"), turn(says("All reported."))]


@pytest.fixture(autouse=True)
def scenarios(monkeypatch: pytest.MonkeyPatch) -> None:
    own = {"edits": EDITS, "make": MAKE, "change": CHANGE, "work": WORK, "delegate": DELEGATE}
    for name, turns in own.items():
        monkeypatch.setitem(SCENARIOS, name, turns)


class Reader:
    """The program over what one client left."""

    def __init__(self, scratch: Scratch, tmp_path: Path) -> None:
        self.work = scratch.work
        self._folder = tmp_path
        self._options: list[str | Path] = ["--source", scratch.projects.parent, "--home", tmp_path / "archive"]

    def restored(self, name: str, at: str | None = None) -> bytes | None:
        """None where reread says that the file was not there."""
        to = self._folder / "restored"
        when = ["--at", at] if at else []
        ran = run_reread("restore", str(self.work / name), *when, "--to", to, "--force", *self._options)
        assert ran.code == 0 or "was not there" in ran.err, ran.err
        return to.read_bytes() if ran.code == 0 else None

    def diff(self, *arguments: str) -> list[str]:
        ran = run_reread("diff", "@last", *arguments, "--json", *self._options)
        files = json.loads(ran.out)["files"]
        return [line for file in files for hunk in file["hunks"] for line in hunk["lines"]]

    def blamed(self, name: str) -> list[tuple[str, str | None]]:
        ran = run_reread("blame", str(self.work / name), "--json", *self._options)
        return [(line["text"], line["prompt"]) for line in json.loads(ran.out)["lines"]]


def on_disk(work: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in work.iterdir() if path.is_file()}


def test_every_point_of_a_run_is_restored_as_it_was_on_disk(scratch: Scratch, tmp_path: Path) -> None:
    run = scratch.run("mock:edits")
    assert run.status == 0, run.stderr
    session = reread.load(scratch.transcript(run.session))
    copies = {
        call.uuid: scratch.work.parent / call.input["command"].rpartition("/")[2]
        for call in session.tool_calls
        if call.name == "Bash" and "kept-" in call.input["command"]
    }
    assert len(copies) == 10
    reader = Reader(scratch, tmp_path)
    for uuid, copy in copies.items():
        assert reader.restored("a.txt", uuid) == copy.read_bytes(), copy.name
    for name in ("a.txt", "q.txt"):
        assert reader.restored(name) == (scratch.work / name).read_bytes()


def test_what_an_agent_changed_is_restored_and_blamed_on_the_prompt_it_was_for(
    scratch: Scratch, tmp_path: Path
) -> None:
    run = scratch.run("mock:delegate")
    assert run.status == 0, run.stderr
    reader = Reader(scratch, tmp_path)
    session = reread.load(scratch.transcript(run.session))
    calls = [call for part in (session, *session.subagents) for call in part.tool_calls if call.name == "Write"]
    assert reader.restored("a.txt", calls[0].uuid) == b"by an agent\n"
    assert reader.restored("a.txt") == (scratch.work / "a.txt").read_bytes()
    assert {prompt for _, prompt in reader.blamed("a.txt")} == {"mock:delegate"}


def answer(screen: Screen, prompt: str, said: str) -> None:
    screen.submit(prompt)
    screen.wait_for(said)
    screen.settle()


@needs_tmux
def test_an_edit_that_the_person_rejects_is_no_edit(scratch: Scratch, tmp_path: Path) -> None:
    with scratch.screen("--permission-mode", "default") as screen:
        screen.wait_for("❯")
        screen.submit("mock:make")
        screen.wait_for("Do you want to create")
        screen.settle()  # a key that comes with the question is not taken for its answer
        screen.keys("Enter")
        screen.wait_for("Made it")
        screen.settle()
        screen.submit("mock:change(two)")
        screen.wait_for("Do you want to make this edit")
        screen.settle()
        screen.keys("Escape")
        screen.settle()
        screen.clear()
        screen.leave()
    session = reread.load(scratch.transcripts()[-1])
    assert [(call.name, call.status) for call in session.tool_calls] == [("Write", "ok"), ("Edit", "rejected")]
    assert Reader(scratch, tmp_path).restored("a.txt") == (scratch.work / "a.txt").read_bytes() == b"one\ntwo\nthree\n"


@needs_tmux
@pytest.mark.sampled(1)
@pytest.mark.parametrize("with_code", [True, False], ids=["with the code", "the conversation alone"])
def test_two_branches_of_a_rewind_are_restored_as_they_were_on_disk(
    scratch: Scratch, tmp_path: Path, with_code: bool
) -> None:
    points: list[tuple[datetime, dict[str, bytes]]] = []

    def remember() -> None:
        points.append((datetime.now(UTC), on_disk(scratch.work)))

    with scratch.screen("--permission-mode", "acceptEdits") as screen:
        screen.wait_for("❯")
        for prompt, said in (("mock:make", "Made it"), ("mock:change(one)", "ed one"), ("mock:change(two)", "ed two")):
            answer(screen, prompt, said)
            remember()
        restore = "Restore code and conversation" if with_code else "Restore conversation"
        screen.rewind("mock:change(two)", restore=restore)
        for prompt, said in (("mock:text(plain)", "You said: plain"), ("mock:change(three)", "ed three")):
            answer(screen, prompt, said)
            remember()
        screen.leave()
    assert ("two.txt" in on_disk(scratch.work)) is not with_code
    reader = Reader(scratch, tmp_path)
    for moment, files in points:
        for name in ("a.txt", "one.txt", "two.txt", "three.txt"):
            assert reader.restored(name, moment.isoformat()) == files.get(name), (name, moment)
    _assert_branches(reader, scratch, with_code=with_code)


@needs_tmux
def test_what_only_a_backup_knows_outlives_the_folder_of_the_client(scratch: Scratch, tmp_path: Path) -> None:
    points: list[tuple[datetime, bytes]] = []
    file = scratch.work / "a.txt"
    with scratch.screen("--permission-mode", "acceptEdits") as screen:
        screen.wait_for("❯")
        answer(screen, "mock:make", "Made it")
        for number in range(2):
            file.write_bytes(f"by hand {number}\r\n".encode())
            answer(screen, f"mock:text(plain {number})", f"You said: plain {number}")
            points.append((datetime.now(UTC), file.read_bytes()))
        screen.leave()
    config = scratch.projects.parent
    bare = tmp_path / "without-backups" / ".claude"
    shutil.copytree(config, bare, ignore=shutil.ignore_patterns("file-history"))
    for moment, content in points:
        told = run_reread(
            "restore", str(file), "--at", moment.isoformat(), "--source", bare, "--home", tmp_path / "bare"
        )
        assert content.decode().strip() not in told.out
    reader = Reader(scratch, tmp_path)
    assert [reader.restored("a.txt", moment.isoformat()) for moment, _ in points] == [each for _, each in points]
    shutil.rmtree(config)
    assert [reader.restored("a.txt", moment.isoformat()) for moment, _ in points] == [each for _, each in points]


def _assert_branches(reader: Reader, scratch: Scratch, *, with_code: bool) -> None:
    """What the branches made different, and who wrote the lines in the end."""
    session = reread.load(scratch.transcripts()[-1])
    left = next(branch.id for branch in session.branches if not branch.active)
    lines = reader.diff("a.txt", "--branch", f"{left.rpartition('@')[2]}..main")
    two = "two" if with_code else "two-two"
    changed = ["-two-two", "-three", "+two", "+three-three"] if with_code else ["-three", "+three-three"]
    assert [line for line in lines if not line.startswith(" ")] == changed
    assert reader.blamed("a.txt") == [
        ("one-one", "mock:change(one)"),
        (two, "mock:make" if with_code else "mock:change(two)"),
        ("three-three", "mock:change(three)"),
    ]
