"""Power cuts while a command writes: a table of commands, each cut at many points, and what must be there afterwards.

    python -m faults.cut_points [CUTS_PER_COMMAND [SEED]]

A command is one row of `COMMANDS`. After every cut the archive is opened with the sources gone: all that was kept
before must be there, byte for byte, and where the command had come to its end, all that it kept as well. Then the
sources come back, and a sync must make the archive whole.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from cli.running import PROGRAM, environment
from faults.power_cut import MODES, Call, Files, files_in, record, survivors, why_not_here, write_files
from histories import write_backups
from live.captures import a_capture, an_interrupted_thought, keep
from reread.archive import Archive
from reread.index import read
from reread.marks import Mark
from reread.testing import a_prompt, a_reply, a_session
from trees import append, generate, resume_copy

__all__ = ["COMMANDS", "Cut", "Lost", "Recorded", "cuts", "judge", "recorded"]

PER_COMMAND = 45
SESSION = "0a1b2c3d-1111-4222-8333-444455556666"
OTHERS = "0a1b2c3d-5555-4222-8333-444455556666"
"""A session of another machine."""
CAPTURED = "11111111-2222-4333-8444-555555555555"
"""The session that the client of `capture` tells of."""


class Lost(Exception):
    """Something that was kept is not there any more."""


class Scene(NamedTuple):
    """A folder with sources and an archive, before or after a command."""

    folder: Path

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def source(self) -> Path:
        return self.folder / "source"

    def archive(self, *sources: Path) -> Archive:
        return Archive(self.home, sources or (self.source,))


class Command(NamedTuple):
    """How it is prepared and called, and what it may take away."""

    prepare: Callable[[Scene], None]
    call: Callable[[Scene], Sequence[str | Path]]
    forgets: bool = False
    """Whether what is gone once the command has ended may be gone before."""
    repairs: bool = False
    """Whether there was damage before, which may be there until the command is called again."""


def _taken(scene: Scene) -> None:
    """An archive with several packs' worth of everything, and marks."""
    generate(scene.source, size=60_000, sessions=4)
    a_session(a_prompt("the alpaca"), a_reply("eats hay"), id=SESSION).write(scene.source / "projects")
    chance = random.Random(3)
    write_backups(scene.source, {f"{number:016x}@v1": chance.randbytes(2_000) for number in range(3)}, SESSION)
    with scene.archive() as archive:
        archive.sync()
        archive.marks.set(SESSION, starred=True, note="before")


def _nothing(scene: Scene) -> None:
    generate(scene.source, size=60_000, sessions=4)


def _grown(scene: Scene) -> None:
    truth = generate(scene.source, size=60_000, sessions=4)
    with scene.archive() as archive:
        archive.sync()
    append(scene.source, truth)
    resume_copy(scene.source, truth)


def _with_captures(scene: Scene) -> None:
    _taken(scene)
    keep(scene.home, a_capture(an_interrupted_thought("msg_one", "wireone")), session=SESSION)
    keep(scene.home, a_capture(an_interrupted_thought("msg_two", "wiretwo")), session=CAPTURED)


def _damaged(scene: Scene) -> None:
    _taken(scene)
    with scene.archive() as archive:
        row = read.files_of(archive.inner.connection, archive.find(SESSION).id)[0]
        damaged = read.pieces_of(archive.inner.connection, row.id, row.generation)[0].place
    pack = scene.home / "safe" / f"{damaged.pack:06}.pack"
    content = bytearray(pack.read_bytes())
    content[damaged.end - 1] ^= 1
    pack.write_bytes(content)
    (scene.source / "projects").rename(scene.folder / "expired")


def _pushed(scene: Scene) -> None:
    """Beside it the archive of another machine that has pushed to a folder, and pulled from it."""
    _taken(scene)
    shared, source = scene.folder / "shared", scene.folder / "other-source"
    shared.mkdir()
    generate(source, size=60_000, sessions=4, seed=5)
    write_backups(source, {"a@v1": b"llama" * 400}, OTHERS)
    a_session(a_prompt("the llama"), a_reply("spits"), id=OTHERS).write(source / "projects")
    with Archive(scene.folder / "other-home", [source]) as other:
        other.sync()
        other.safe.push(shared)


def _pulled(scene: Scene) -> None:
    _pushed(scene)
    with scene.archive() as archive:
        archive.safe.pull(scene.folder / "shared")


def _forgotten_elsewhere(scene: Scene) -> None:
    _pushed(scene)
    shared = scene.folder / "shared"
    with scene.archive() as archive:
        archive.safe.push(shared)
    with Archive(scene.folder / "other-home", [scene.folder / "other-source"]) as other:
        other.safe.pull(shared)
        other.marks.set(OTHERS, starred=True)
        other.safe.forget(SESSION)
        other.safe.push(shared)


def _forgotten_here(scene: Scene) -> None:
    _forgotten_elsewhere(scene)
    with scene.archive() as archive:
        archive.safe.pull(scene.folder / "shared", agree=lambda _: True)


def _client(scene: Scene) -> None:
    _taken(scene)
    actor = Path(__file__).parents[1] / "cli" / "acting_client.py"
    client = scene.folder / "claude"
    client.write_text(f"#!{sys.executable}\nimport runpy\nrunpy.run_path({str(actor)!r}, run_name='__main__')\n")
    client.chmod(0o755)


def _reread(*arguments: str | Path) -> Callable[[Scene], Sequence[str | Path]]:
    def call(scene: Scene) -> Sequence[str | Path]:
        return [*PROGRAM, *arguments, "--home", scene.home, "--source", scene.source]

    return call


def _exchange(command: str, *options: str) -> Callable[[Scene], Sequence[str | Path]]:
    return lambda scene: [*_reread(command, scene.folder / "shared", *options)(scene)]


def _forget_machine(scene: Scene) -> Sequence[str | Path]:
    other = json.loads((scene.folder / "other-home" / "machine.json").read_bytes())
    return _reread("archive", "forget", "--machine", other["id"], "--yes")(scene)


def _syncs(scene: Scene) -> Sequence[str | Path]:
    return [sys.executable, "-m", "faults.cut_points", "--grow-and-sync", scene.folder]


def _capture(scene: Scene) -> Sequence[str | Path]:
    return [*PROGRAM, "run", "--claude", scene.folder / "claude", "--home", scene.home, "hello"]


COMMANDS = {
    "sync": Command(_nothing, _reread("sync")),
    "incremental sync": Command(_grown, _reread("sync")),
    "a long-lived sync": Command(_grown, _syncs),
    "sync of captures": Command(_with_captures, _reread("sync")),
    "rebuild": Command(_taken, _reread("archive", "rebuild")),
    "forget": Command(_taken, _reread("archive", "forget", SESSION, "--yes"), forgets=True),
    "forget --damaged": Command(_damaged, _reread("archive", "forget", "--damaged", "--yes"), repairs=True),
    "forget --machine": Command(_pulled, _forget_machine, forgets=True),
    "verify": Command(_grown, _reread("archive", "verify", "--deep")),
    "mark": Command(_taken, _reread("mark", SESSION, "--note", "after", "--tag", "seen")),
    "capture": Command(_client, _capture),
    "push": Command(_pushed, _exchange("push")),
    "pull": Command(_pushed, _exchange("pull")),
    "pull that forgets": Command(_forgotten_elsewhere, _exchange("pull", "--forget"), forgets=True),
    "pull that brings back": Command(_forgotten_here, _exchange("pull", "--bring-back")),
}
"""A new row is all that another command needs."""


class Kept(NamedTuple):
    """What an archive has."""

    files: dict[str, bytes]
    """By path, those of captures that wait included; what is lost reads as the line that says so."""
    sessions: dict[str, list[str]]
    """The paths of each."""
    marks: dict[str, Mark]


def kept_by(archive: Archive) -> Kept:
    numbers = [number for (number,) in archive.inner.connection.execute("SELECT id FROM file")]
    rows = [read.file_by_id(archive.inner.connection, number) for number in numbers]
    found = {str(row.path): archive.inner.reader.left_of(row).content for row in rows}
    waiting = {str(path): path.read_bytes() for path in archive.inner.wire.rglob("*.inner.wire")}
    sessions = {each.stored.row.uuid: _paths(archive, each.stored.id) for each in archive.sessions()}
    return Kept(found | _by_run(waiting) | _by_run(found), sessions, archive.marks.all())


def _by_run(files: dict[str, bytes]) -> dict[str, bytes]:
    """Captures by the name of their run: they lie in the archive's own folder, which is another one after a cut."""
    return {Path(path).name: content for path, content in files.items() if path.endswith(".wire")}


def _paths(archive: Archive, session: int) -> list[str]:
    rows = read.files_of(archive.inner.connection, session) + read.backups_of(archive.inner.connection, session)
    return [str(row.path) for row in rows]


class Recorded(NamedTuple):
    name: str
    command: Command
    scene: Scene
    disk: Files
    """Before the command."""
    calls: list[Call]
    before: Kept
    after: Kept


def recorded(name: str, folder: Path) -> Recorded:
    command, scene = COMMANDS[name], Scene(folder)
    folder.mkdir(parents=True)
    command.prepare(scene)
    copy = Scene(folder / "copy")
    shutil.copytree(scene.home, copy.home) if scene.home.exists() else copy.home.mkdir(parents=True)
    disk = files_in(copy.home)
    with copy.archive(_empty(folder)) as archive:
        before = kept_by(archive)
    shutil.rmtree(copy.folder)
    called = [str(part) for part in command.call(scene)]
    calls = record(called, scene.home, folder / "calls", _environment(folder))
    with scene.archive(_empty(folder)) as archive:
        after = kept_by(archive)
    return Recorded(name, command, scene, disk, calls, before, after)


def _environment(folder: Path) -> dict[str, str]:
    modules = os.pathsep.join([str(Path(__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])])
    return environment(HOME=str(folder), CLAUDECODE="1", PYTHONPATH=modules)


def _empty(folder: Path) -> Path:
    (folder / "empty").mkdir(exist_ok=True)
    return folder / "empty"


class Cut(NamedTuple):
    at: int
    mode: str
    seed: str

    def __str__(self) -> str:
        return f"cut behind call {self.at}, {self.mode}, seed {self.seed!r}"


def cuts(made: Recorded, count: int, seed: object) -> list[Cut]:
    """The end, and points that chance chooses."""
    chance = random.Random(f"{seed}:{made.name}")
    points = [len(made.calls), *(chance.randint(0, len(made.calls)) for _ in range(count - 1))]
    return [Cut(point, chance.choice(MODES), f"{seed}:{made.name}:{number}") for number, point in enumerate(points)]


def judge(made: Recorded, cut: Cut, folder: Path) -> None:
    """Raises Lost. The sources are gone at first: whatever is missing then is missing for good."""
    files = survivors(made.calls, cut.at, random.Random(cut.seed), made.disk, made.scene.home, cut.mode)
    found = Scene(folder)
    write_files(files, found.home)
    has_ended = cut.at == len(made.calls)
    with found.archive(_empty(folder)) as archive:
        archive.sync()
        kept = kept_by(archive)
        _compare(made, kept, has_ended=has_ended)
        if made.command.repairs and not has_ended:
            archive.safe.forget_damaged()
        proof = archive.safe.verify(deep=True)
        if proof.damaged or proof.unnamed:
            raise Lost(f"verify: {proof.damaged} {proof.unnamed}")
        if kept_by(archive) != kept and not made.command.repairs:
            raise Lost("what was kept is another after verify")
    with found.archive(made.scene.source) as archive:
        archive.sync()
        _compare(made, kept_by(archive), has_ended=has_ended)
        proof = archive.safe.verify()
        if proof.damaged or proof.unnamed:
            raise Lost(f"verify, with the sources: {proof.damaged} {proof.unnamed}")


def _compare(made: Recorded, kept: Kept, *, has_ended: bool) -> None:
    wanted = made.after if has_ended else made.before
    forgotten = made.before.sessions.keys() - made.after.sessions.keys() if made.command.forgets else set()
    may_go = made.before.files.keys() - made.after.files.keys() if made.command.forgets else set()
    if has_ended and (again := forgotten & kept.sessions.keys() or may_go & kept.files.keys()):
        raise Lost(f"{again} was forgotten, and is there again")
    for path, content in wanted.files.items():
        if path not in may_go and not _goes_on(kept.files.get(path), content, made):
            raise Lost(f"{path}: {len(content)} bytes were kept, {len(kept.files.get(path, b''))} are there")
    for session in wanted.sessions.keys() - forgotten:
        if session not in kept.sessions:
            raise Lost(f"the session {session} is gone")
    for session, mark in wanted.marks.items():
        if session not in forgotten and kept.marks.get(session) not in (mark, made.after.marks.get(session)):
            raise Lost(f"what was noted on {session} is gone")


def _goes_on(found: bytes | None, wanted: bytes, made: Recorded) -> bool:
    """Bytes that were lost before may be told of in other words."""
    if found is None:
        return False
    return found.startswith(wanted) or (made.command.repairs and len(found) == len(wanted))


def main(count: str = str(PER_COMMAND), seed: str = "faults") -> int:
    reason = why_not_here()
    if reason is not None:
        print(f"nothing was tried: {reason}")  # noqa: T201
        return 0
    print(f"{'command':20} {'calls':>6} {'cuts':>5} {'survived':>9} {'lost':>5}")  # noqa: T201
    tried = lost = 0
    with tempfile.TemporaryDirectory() as temporary:
        for name in COMMANDS:
            made = recorded(name, Path(temporary) / name.replace(" ", "-"))
            faults = list(_faults(made, int(count), seed, Path(temporary) / "after"))
            tried, lost = tried + int(count), lost + len(faults)
            survived = int(count) - len(faults)
            print(f"{name:20} {len(made.calls):6} {count:>5} {survived:9} {len(faults):5}", flush=True)  # noqa: T201
            for fault in faults:
                print(f"    {fault}", flush=True)  # noqa: T201
    print(f"{'all':20} {'':6} {tried:5} {tried - lost:9} {lost:5}")  # noqa: T201
    return 1 if lost else 0


def _faults(made: Recorded, count: int, seed: str, folder: Path) -> Iterator[str]:
    for cut in cuts(made, count, seed):
        try:
            judge(made, cut, folder)
        except Exception as error:  # noqa: BLE001  a table tells of every fault there is
            yield f"{cut}: {type(error).__name__}: {str(error)[:300]}"
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def grow_and_sync(folder: str) -> int:
    """A process that lives on while sessions grow: what it committed waits in the log of the database."""
    scene = Scene(Path(folder))
    with scene.archive() as archive:
        archive.sync()
        for number in range(3):
            path = scene.source / "projects" / "-p" / f"{SESSION[:-1]}{number}.jsonl"
            path.parent.mkdir(parents=True, exist_ok=True)
            lines = a_session(a_prompt(f"prompt{number}"), a_reply("yes"), a_prompt("again"), id=path.stem).lines
            for count in (2, 3):
                path.write_bytes(b"".join(line + b"\n" for line in lines[:count]))
                archive.sync()
    return 0


if __name__ == "__main__":
    sys.exit(grow_and_sync(*sys.argv[2:]) if sys.argv[1:2] == ["--grow-and-sync"] else main(*sys.argv[1:]))
