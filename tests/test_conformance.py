"""The conformance suite: reread agrees with every case, and the runner can tell what is wrong."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

SUITE = Path(__file__).parents[1] / "conformance"
CASES = sorted(SUITE.glob("cases/*/case.json"))
sys.path.insert(0, str(SUITE))

import adapters  # type: ignore[import-not-found]  # noqa: E402

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="reread is found on the PATH as a script")


def test_the_cases_are_what_their_program_writes(tmp_path: Path) -> None:
    copy = shutil.copytree(SUITE, tmp_path / "suite", ignore=shutil.ignore_patterns("cases"))
    subprocess.run([sys.executable, "write_cases.py"], cwd=copy, check=True, capture_output=True)
    written, kept = (
        {p.relative_to(root): p.read_bytes() for p in root.glob("cases/**/*.json*")} for root in (copy, SUITE)
    )
    assert written == kept


def test_reread_agrees_with_every_case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "bin" / "reread"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nPYTHONPATH="{os.pathsep.join(sys.path)}" exec "{sys.executable}" -m reread "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")

    def differing(path: Path) -> dict[str, Any]:
        case = json.loads(path.read_text("utf-8"))
        scratch = tmp_path / path.parent.name
        scratch.mkdir()
        answer = adapters.reread(path.parent, case, scratch)
        return {name: answer.get(name) for name, wanted in case["expect"].items() if answer.get(name) != wanted}

    with ThreadPoolExecutor(4) as pool:
        found = dict(zip((path.parent.name for path in CASES), pool.map(differing, CASES), strict=True))
    assert len(found) == 24
    assert {name: each for name, each in found.items() if each} == {}


def test_a_command_is_scored_by_what_it_claims(tmp_path: Path) -> None:
    tool = tmp_path / "tool.py"
    tool.write_text(
        "import json, sys, pathlib\n"
        "case = json.loads((pathlib.Path(sys.argv[1]) / 'case.json').read_text())\n"
        "wrong = case['name'] == 'rewind'\n"
        "prompts = ['nonsense'] if wrong else case['expect'].get('prompts')\n"
        "print(json.dumps({'prompts': prompts} if case['group'] == 'tree' else {}))\n"
    )
    page = tmp_path / "page.md"
    command = f"{sys.executable} {tool} {{}}"
    done = subprocess.run(
        [sys.executable, "run.py", "--tool", command, "--markdown", str(page)],
        cwd=SUITE,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stdout == f'{command} tree-rewind: {{"prompts": ["nonsense"]}}\n'
    assert "| **agrees** | 3 of 4 |" in page.read_text("utf-8")
