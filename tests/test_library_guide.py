"""The examples of the library's pages say what the library does."""

from __future__ import annotations

import doctest
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import reread

DOCS = Path(__file__).parent.parent / "docs"


@pytest.mark.parametrize(
    ("page", "examples"), [("library.md", 35), ("library-archive.md", 25), ("coming-from-claude-parser.md", 8)]
)
def test_every_example_gives_what_it_says(page: str, examples: int, capsys: pytest.CaptureFixture[str]) -> None:
    found = doctest.testfile(str(DOCS / page), module_relative=False, encoding="utf-8")
    assert found.failed == 0, capsys.readouterr().out
    assert found.attempted > examples


SESSION = next((Path(reread.__file__).parent / "samples" / "projects" / "-home-ann-lantern").glob("3f2a9c10*.jsonl"))


@pytest.mark.skipif(not shutil.which("jq"), reason="needs jq")
def test_the_lines_for_jq_find_what_the_commands_beside_them_find() -> None:
    page = (DOCS / "coming-from-claude-parser.md").read_text("utf-8")
    prompts, tools, errors = (
        subprocess.run(
            ["jq", "-r", line.replace("\\|", "|"), str(SESSION)], capture_output=True, text=True, check=True
        ).stdout
        for line in re.findall(r"`jq (?:-r )?'(.+?)' session.jsonl`", page)
    )
    session = reread.load(SESSION)
    assert session.prompts[0].text in prompts
    assert sorted(tools.split()) == sorted(call.name for call in session.tool_calls)
    assert errors.count('"is_error": true') == sum(call.status in ("error", "rejected") for call in session.tool_calls)
