"""Killed at any moment, a sync loses no capture: not before it is kept, not between keeping and removing it."""

from __future__ import annotations

import json
import random
import sys
import time
from pathlib import Path

import pytest

from faults.syncing import started
from live.captures import a_capture, an_interrupted_thought, keep
from reread import read
from reread.archive.search_language import ALL_FIELDS
from reread.records import Spoken
from trees import Tree, a_tree, assert_true

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")
KILLS = 10


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    return a_tree(tmp_path_factory.mktemp("tree"), size=1_200_000)


def captures_of(tree: Tree) -> dict[str, bytes]:
    """A run for every session, with a thought that is in no transcript."""
    paths = {path.stem: path for path in tree.source.rglob("*.jsonl") if path.stem in tree.truth.by_session}
    return {
        name: a_capture(
            *_frames(paths[name]) if name in paths else (),
            an_interrupted_thought(f"msg_taken{number}", word_of(number)),
        )
        for number, name in enumerate(sorted(tree.truth.by_session))
    }


def word_of(number: int) -> str:
    return f"wirethought{number}"


def _frames(path: Path) -> list[bytes]:
    spoken = [record for record in read(path) if isinstance(record, Spoken) and not record.is_sidechain]
    return [
        json.dumps(
            {"type": record.type, "uuid": record.uuid, "message": record.data["message"], "session_id": path.stem}
        ).encode()
        for record in spoken
        if record.uuid is not None and record.message is not None
    ]


def fill(home: Path, captures: dict[str, bytes]) -> None:
    for name, content in captures.items():
        keep(home, content, session=name)


@pytest.fixture(scope="module")
def seconds(tree: Tree, tmp_path_factory: pytest.TempPathFactory) -> float:
    home = tmp_path_factory.mktemp("measured") / "home"
    fill(home, captures_of(tree))
    with started(home, tree.source, alone=1 << 40) as sync:
        assert sync.stdout is not None
        sync.stdout.readline()
        begun = time.monotonic()
        assert sync.wait(60) == 0
        return time.monotonic() - begun


@pytest.mark.sampled(2)
@pytest.mark.parametrize("number", range(KILLS))
def test_no_capture_is_lost_and_none_counted_twice(tree: Tree, seconds: float, tmp_path: Path, number: int) -> None:
    home = tmp_path / "home"
    captures = captures_of(tree)
    fill(home, captures)
    with started(home, tree.source, commit=100_000, alone=1 << 40) as sync:
        assert sync.stdout is not None
        sync.stdout.readline()
        # Captures go at the very end: most kills shall come there.
        time.sleep(seconds * (1 - random.Random(f"captures:{number}").random() ** 3))
        sync.kill()
        sync.wait(60)
    with Tree(tree.source, home, tree.truth).archive() as archive:
        archive.sync()
        assert not list((home / "wire").rglob("*.wire"))
        assert_true(archive, tree.truth)
        for number, (name, content) in enumerate(sorted(captures.items())):
            [hit] = archive.search(word_of(number), ALL_FIELDS).hits
            assert hit.session.row.uuid == name
            restored = archive.safe.restore(name, tmp_path / "restored" / name)
            assert [path.read_bytes() for path in restored.files if path.suffix == ".wire"] == [content]
        assert archive.sync().files == 0
