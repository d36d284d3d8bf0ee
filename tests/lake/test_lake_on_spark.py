"""Spark: the same rows as processes of this machine, also when an executor dies. Started by `make spark`."""

from __future__ import annotations

import os
import shutil
import signal
import threading
from pathlib import Path

import pytest

from cli.running import reread
from lake.lakes import asked, built, everything
from trees import Tree, a_tree, append, resume_copy

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java: apt-get install default-jre-headless"),
]
pytest.importorskip("pyspark", reason="Spark is not here: pip install 'reread[spark]'")


def test_spark_makes_the_rows_of_this_machine(tmp_path: Path) -> None:
    tree: Tree = a_tree(tmp_path, size=2_000_000)
    resume_copy(tree.source, tree.truth)
    built(tmp_path / "local", tree.source)
    command = ["--lake", str(tmp_path / "spark"), "--engine", "spark", "--master", "local[2]", "--json"]
    ran = reread("lake", "build", tree.source, *command)
    assert ran.code == 0, ran.err
    assert everything(tmp_path / "spark") == everything(tmp_path / "local")
    append(tree.source, tree.truth)
    built(tmp_path / "local", tree.source)
    built(tmp_path / "spark", tree.source, engine="spark", master="local[2]")
    assert everything(tmp_path / "spark") == everything(tmp_path / "local")
    assert asked(tmp_path / "spark", "SELECT engine FROM build ORDER BY number") == [("spark",), ("spark",)]


def test_an_executor_that_is_killed_changes_no_row(tmp_path: Path) -> None:
    tree: Tree = a_tree(tmp_path, size=3_000_000)
    built(tmp_path / "local", tree.source)
    killed: list[int] = []
    is_built = threading.Event()
    watch = threading.Thread(target=_kill_executor, args=(tmp_path / "spark", killed, is_built), daemon=True)
    watch.start()
    built(tmp_path / "spark", tree.source, engine="spark", master="local-cluster[2,1,1024]")
    is_built.set()
    watch.join(timeout=10)
    assert killed, "no executor was seen at work"
    assert everything(tmp_path / "spark") == everything(tmp_path / "local")


def _kill_executor(lake: Path, killed: list[int], is_built: threading.Event) -> None:
    """The first executor that is there when a share has been written; on a busy machine they are minutes in coming."""
    while not is_built.wait(0.05):
        found = _executors()
        if found and any(lake.rglob("*.parquet")):
            os.kill(found[0], signal.SIGKILL)
            killed.append(found[0])
            return


def _executors() -> list[int]:
    """Executors among the children of this process, and theirs."""
    parents: dict[int, int] = {}
    executors = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            if b"CoarseGrainedExecutorBackend" in (folder / "cmdline").read_bytes():
                executors.append(int(folder.name))
        except OSError:
            continue
    return sorted(each for each in executors if _is_below(each, os.getpid(), parents))


def _is_below(process: int, top: int, parents: dict[int, int]) -> bool:
    while process in parents and process != top:
        process = parents[process]
    return process == top
