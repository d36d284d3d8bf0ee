"""A Claude folder and an archive of their own, for tests of the commands that keep things."""

from __future__ import annotations

import json
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from cli.running import Ran, Run
from reread.testing import a_prompt, a_reply, a_session, a_subagent, a_thought, a_tool_call, a_tool_result

LANTERN = "1a17e200-aaaa-4000-8000-000000000001"
HARBOUR = "2b0a7000-bbbb-4000-8000-000000000002"


class Kept(NamedTuple):
    """The program over one Claude folder and one archive."""

    run: Run
    claude: Path
    home: Path

    def __call__(self, *arguments: str | Path) -> Ran:
        return self.run(*arguments, "--source", self.claude, "--home", self.home)

    def json(self, *arguments: str | Path) -> Any:
        ran = self(*arguments, "--json")
        assert ran.code == 0, ran.err
        return json.loads(ran.out)

    def trunk(self, session: str) -> Path:
        return next(self.claude.rglob(f"{session}.jsonl"))

    def files(self, session: str) -> list[Path]:
        own = [path for path in self.claude.rglob("*") if path.is_file() and session in path.parts]
        return sorted([self.trunk(session), *own])


def fill(claude: Path) -> None:
    """Two sessions: one with an agent and a spilled output, one with a rewind; and settings."""
    projects = claude / "projects"
    a_session(
        a_prompt("why does the beacon flicker", uuid="beacon", timestamp="2026-11-10T10:00:00.000Z"),
        a_reply(a_thought("the capacitor might be loose"), "It is the capacitor.", uuid="reply"),
        a_prompt("check with an agent"),
        a_reply(a_tool_call("Task", {"description": "look"}, id="toolu_1")),
        a_subagent(a_prompt("look for oscillation"), a_reply("found an oscillation"), of="toolu_1"),
        a_reply(a_tool_call("Bash", {"command": "measure --volts"})),
        a_tool_result("seventeen volts", is_error=True),
        a_prompt("thanks", uuid="thanks"),
        a_reply("You are welcome."),
        a_prompt("and goodbye"),
        a_reply("Goodbye."),
        id=LANTERN,
        cwd="/home/ann/lantern",
        outputs={"toolu_9.txt": "a spilled output about zirconium"},
    ).write(projects)
    a_session(
        a_prompt("draw the harbour", timestamp="2026-11-12T10:00:00.000Z"),
        a_reply("A harbour with a beacon."),
        id=HARBOUR,
        cwd="/home/ann/harbour",
    ).write(projects)
    (claude / "settings.json").write_text('{"cleanupPeriodDays": 40}')


def snapshot(folder: Path) -> dict[str, tuple[int, str]]:
    """Every file below a folder, with its mode and what is in it; every folder, with its mode."""
    return {
        str(path.relative_to(folder)): (path.stat().st_mode, sha256(path.read_bytes()).hexdigest())
        if path.is_file()
        else (path.stat().st_mode, "folder")
        for path in sorted(folder.rglob("*"))
    }


def digests(paths: Iterable[Path]) -> list[str]:
    return sorted(sha256(path.read_bytes()).hexdigest() for path in paths)
