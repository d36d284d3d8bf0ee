"""The ten ports of docs/coming-from-the-sdk.md with the real clients, all at once: they wait for the client mostly."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from client.install import VERSIONS, claude_binary
from client.run import Scratch
from client.scenarios import SCENARIOS, Block, Turn, calls, runs, says, turn
from ports.test_coming_from_the_sdk import BLOCK, PORTS

pytestmark = pytest.mark.e2e


class Acted(NamedTuple):
    """What the model says to the prompts of one port, and what of the port must have reached it."""

    turns: dict[str, list[Turn]]
    told: str = ""


def says_only(*answers: tuple[str, str]) -> dict[str, list[Turn]]:
    return {prompt: [turn(says(answer))] for prompt, answer in answers}


def acts(prompt: str, *blocks: Block, then: str) -> dict[str, list[Turn]]:
    return {prompt: [turn(*blocks), turn(says(then))]}


ADD, ROOT = calls("mcp__sums__add", a=15, b=27), calls("mcp__roots__square_root", n=16)
DELETE = "Delete everything."
SLOW = {"Count to a million.": [Turn((says("1 2 3 " * 200),), delay=0.2, chunk=6)]}
STORY = {"Tell a story.": [Turn((says("Once upon a time."),), chunk=5)]}
SHAPED = {**calls("StructuredOutput"), "input": {"name": "reread", "languages": ["Python"]}}
DESCRIBED = acts("Describe this project.", SHAPED, then="Done.")
ACTED = [
    Acted(says_only(("What is 2 + 2?", "4"))),
    Acted(says_only(("Say hello like a pirate.", "You are a pirate.")), "'text': 'You are a pirate."),
    Acted(acts("Which files are here?", runs("ls"), then="I ran ls"), "notes.txt"),
    Acted(says_only(("What is the capital of France?", "Paris"), ("And how many people live there?", "Two million"))),
    Acted(SLOW | says_only(("What is 2 + 2?", "4"))),
    Acted(
        acts(DELETE, runs("rm -rf build"), then="I was not allowed to: it would delete files"), "it would delete files"
    ),
    Acted(acts(DELETE, runs("rm -rf build"), then="I ran rm -rf build --dry-run"), "unrecognized option '--dry-run'"),
    Acted(acts("Calculate.", ADD, ROOT, then="15 + 27 = 42; root of 16 = 4.0"), "root of 16 = 4.0"),
    Acted(DESCRIBED),
    Acted(STORY),
]


@pytest.fixture(params=VERSIONS)
def client(request: pytest.FixtureRequest) -> Path:
    return claude_binary(request.param)


def ran(scratch: Scratch, number: int, program: str, acted: Acted) -> str:
    for prompt_number, (prompt, turns) in enumerate(acted.turns.items()):
        name = f"port-{number}-{prompt_number}"
        SCENARIOS[name] = turns
        program = program.replace(prompt, f"mock:{name}")
    path = os.pathsep.join([str(scratch.home / "bin"), scratch.environment["PATH"]])
    environment = {**scratch.environment, "PATH": path, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", f"{program}\nimport asyncio\nasyncio.run(main())\n"],
        cwd=scratch.work,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stderr == "", f"port {number}"
    return done.stdout.strip()


def comparable(printed: str) -> str:
    """Without what differs by the client: how it cuts a stream, and what it counts as the cost."""
    return re.sub(r"0\.\d{2,9}$", "0.01", printed.strip().replace("|", ""))


def test_the_ports_print_what_the_page_says(scratch: Scratch) -> None:
    (scratch.home / "bin").mkdir()
    (scratch.home / "bin" / "claude").symlink_to(scratch.client)
    pages: list[Any] = [BLOCK.findall(text) for _, text in PORTS]
    with ThreadPoolExecutor(4) as pool:
        printed = list(pool.map(lambda n: ran(scratch, n, pages[n][1], ACTED[n]), range(10)))
    assert list(map(comparable, printed)) == [comparable(page[2]) for page in pages]
    requests = str(scratch.mock.requests)
    assert [acted.told for acted in ACTED if acted.told not in requests] == []
