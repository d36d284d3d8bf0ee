"""A line of any size takes about its own size of memory, and the rest of its session stays readable."""

from __future__ import annotations

import filecmp
import subprocess
import sys
from pathlib import Path

import pytest

from cli.running import PROGRAM, environment
from reread.records.base import LONGEST_LINE
from reread.testing import a_prompt, a_session

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the most memory is told in another unit")
SIZE = LONGEST_LINE + (64 << 20)
PLAIN = 100 << 20
"""What a command takes without the line, and a little more."""


MEASURED = """
import resource, subprocess, sys
code = subprocess.call(sys.argv[1:])
print(code, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""
"""In between, since a process begins with the most memory that the one that started it has had."""


def peak(*arguments: str | Path) -> tuple[int, str]:
    """The most memory that a command took, and what it said; it must succeed."""
    command = [sys.executable, "-c", MEASURED, *PROGRAM, *map(str, arguments)]
    ran = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment(), check=True)
    said, _, last = ran.stdout.decode().rstrip().rpartition("\n")
    code, most = last.split()
    assert code == "0", said[-500:]
    return int(most) << 10, said


def test_a_line_takes_twice_its_size_at_most(tmp_path: Path) -> None:
    path = a_session(a_prompt("before it"), a_prompt("after it")).write(tmp_path / "claude" / "projects")
    first, last = path.read_bytes().splitlines()
    with path.open("wb") as file:  # in parts: a child begins with the memory of its parent
        file.write(first + b'\n{"type": "user", "message": {"role": "user", "content": "')
        for _ in range(SIZE >> 20):
            file.write(b"one\\nmore and " * (1 << 16))
        file.write(b'"}}\n' + last + b"\n")
    places = ("--source", tmp_path / "claude", "--home", tmp_path / "home")
    for command in (["sync"], ["show", "@last"], ["search", "after"], ["archive", "verify"], ["archive", "rebuild"]):
        taken, said = peak(*command, *places)
        assert taken < 2 * path.stat().st_size + PLAIN, command
        assert command[0] not in ("show", "search") or "after" in said
    export = tmp_path / "out.jsonl"
    command = ["export", "@last", "--format", "jsonl", "-o", str(export)]
    assert peak(*command, *places)[0] < 2 * path.stat().st_size + PLAIN
    assert filecmp.cmp(export, path, shallow=False)
