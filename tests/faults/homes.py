"""An archive with everything in it that one can have, and commands on it in this process."""

from __future__ import annotations

import gc
import json
import random
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cli.running import Ran
from histories import write_backups
from live.captures import a_capture, an_interrupted_thought, keep
from reread.archive import Archive
from reread.cli.main import main
from reread.index import custody
from reread.index.database import FILE_NAME
from trees import Tree, append, generate

__all__ = ["WAITING", "a_full_home", "an_unfinished_forget", "opened", "run", "with_a_log"]

WAITING = "wirewaiting"
"""A word of a capture that was not taken in yet."""


def a_full_home(folder: Path) -> Tree:
    """Two packs' worth of taking in, marks, a moved folder, a label, prices, an index that was set aside, backups,
    a capture that is kept and one that waits."""
    truth = generate(folder / "source", size=60_000, sessions=4)
    tree = Tree(folder / "source", folder / "home", truth)
    first, second, *_ = sorted(tree.truth.by_session)
    chance = random.Random(3)
    write_backups(tree.source, {f"{number:016x}@v1": chance.randbytes(2_000) for number in range(3)}, first)
    keep(tree.home, a_capture(an_interrupted_thought("msg_kept", "wirekept")), session=first)
    with opened(tree) as archive:
        archive.sync()
        append(tree.source, tree.truth)
        archive.safe.rebuild()
        archive.sync()
        archive.marks.set(first, starred=True, tags=["good"], note="a noteword")
        archive.marks.move_project("/home/old", "/home/new")
        for (uuid,) in archive.inner.connection.execute("SELECT uuid FROM friction LIMIT 1").fetchall():
            archive.friction.mark_wrong(uuid)
    keep(tree.home, a_capture(an_interrupted_thought("msg_waits", WAITING)), session=second)
    prices = {"models": {"glm-5.1": {"input": "0.6", "output": "2.2"}}}
    (tree.home / "prices.json").write_text(json.dumps(prices), encoding="utf-8")
    return tree


def opened(tree: Tree) -> Archive:
    """As a command has it, with this machine's own name."""
    return Archive(tree.home, [tree.source])


def with_a_log(tree: Tree, to: Path) -> Tree:
    """A copy as a kill leaves it: what was committed last stands in the log of the database alone."""
    with opened(tree) as archive:
        archive.marks.set(max(tree.truth.by_session), note="in the log")
        shutil.copytree(tree.home, to, ignore=shutil.ignore_patterns("*-shm"))
    assert (to / f"{FILE_NAME}-wal").stat().st_size
    return Tree(tree.source, to, tree.truth)


def an_unfinished_forget(tree: Tree, to: Path) -> Tree:
    """A copy in which the forget of a session was stopped when its record was written and nothing else done."""
    shutil.copytree(tree.home, to)
    found = Tree(tree.source, to, tree.truth)
    with opened(found) as archive:
        session = archive.find(max(tree.truth.by_session))
        keys = {row.key for row in custody.kept_files(archive.inner.connection, session)}
        assert archive.inner.packs.rewrite_without(keys).replaced
    return found


def run(tree: Tree, *arguments: str | Path) -> Ran:
    """A command with its output in files: what fails in reading or writing closes standard output for good."""
    files = {name: tree.home.parent / f"{tree.home.name}.{name}" for name in ("stdout", "stderr")}
    threshold = gc.get_threshold()
    with _written_to(files):
        code = main([*map(str, arguments), "--home", str(tree.home), "--source", str(tree.source)])
    gc.set_threshold(*threshold)
    out, err = (files[name].read_text(encoding="utf-8") for name in ("stdout", "stderr"))
    return Ran(code, out, err)


@contextmanager
def _written_to(files: dict[str, Path]) -> Iterator[None]:
    before = {name: getattr(sys, name) for name in files}
    try:
        for name, path in files.items():
            setattr(sys, name, path.open("w", encoding="utf-8"))
        yield
    finally:
        for name, stream in before.items():
            getattr(sys, name).close()
            setattr(sys, name, stream)
