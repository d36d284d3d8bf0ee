"""The ports of docs/coming-from-the-sdk.md, and the client of docs/library.md, print what the page says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGES = "".join((DOCS / name).read_text("utf-8") for name in ("coming-from-the-sdk.md", "sdk-hooks-and-tools.md"))
PORTS = re.findall(r"^## \d+\. (.+?)\n(.*?)(?=^#|\Z)", PAGES, re.MULTILINE | re.DOTALL)
CLIENT = Path(__file__).with_name("scripted_client.py")
BLOCK = re.compile(r"```(?:python)?\n(.*?)```", re.DOTALL)


def test_there_are_ten_of_them() -> None:
    assert len(PORTS) == 10


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in is found on PATH as a script")
@pytest.mark.parametrize(("title", "text"), PORTS, ids=[title for title, _ in PORTS])
def test_a_port_prints_what_the_page_says(title: str, text: str, tmp_path: Path) -> None:
    theirs, ours, printed = BLOCK.findall(text)
    compile(theirs, f"the SDK's {title}", "exec")
    assert printed_by(ours, tmp_path) == printed.strip()


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in is found on PATH as a script")
def test_the_example_of_a_client_prints_what_the_guide_says(tmp_path: Path) -> None:
    guide = (DOCS / "library.md").read_text("utf-8").partition("\n## A running client\n")[2]
    ours, printed = [block for block in BLOCK.findall(guide) if ">>>" not in block][:2]
    assert printed_by(ours, tmp_path) == printed.strip()


def printed_by(program: str, tmp_path: Path) -> str:
    """What its `main` prints, with the stand-in as the client."""
    claude = tmp_path / "claude"
    claude.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{CLIENT}" "$@"\n')
    claude.chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    program += "\nimport asyncio\nasyncio.run(main())\n"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, env=environment, timeout=60
    )
    assert done.stderr == ""
    return done.stdout.strip()
