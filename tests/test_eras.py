"""Every fixture of `tests/eras` reads as the person who wrote its `expected.json` reads it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import reread
from reread.sessions import Notice, Session, Speaker, Turn

ERAS = Path(__file__).parent / "eras"


def _cases() -> Iterator[Any]:
    for expected in sorted(ERAS.glob("*/expected.json")):
        for case in json.loads(expected.read_text("utf-8"))["sessions"]:
            yield pytest.param(expected.parent / "source", case, id=f"{expected.parent.name}:{case['file'][-24:]}")


@pytest.mark.parametrize(("source", "case"), list(_cases()))
def test_a_recorded_session_reads_as_expected(source: Path, case: dict[str, Any]) -> None:
    session = reread.load(source / case["file"])
    seen = _reading(session)
    wanted = {key: value for key, value in case.items() if key in seen}
    assert {key: seen[key] for key in wanted} == _normal(wanted)
    assert session.coverage.is_complete
    assert not [left for left in session.coverage.unplaced if left.reason != "repeats an earlier line"]


def _reading(session: Session) -> dict[str, Any]:
    malformed = [record for record in session.records if isinstance(record, reread.Unknown) and record.malformed]
    return _normal(
        {
            "id": session.id,
            "records": len(session.records) - len(malformed),
            "malformed": len(malformed),
            "title": session.title,
            "prompts": [prompt.text for prompt in session.prompts],
            "thinking": [thought.text for thought in session.thinking()],
            "tool_calls": [[call.id, call.name, call.status.value] for call in session.tool_calls],
            "output_tokens": session.usage.output_tokens,
            "branches": [_prompts(branch.turns) for branch in session.branches],
            "subagents": [
                {
                    "id": None if agent.is_recorded_inline else agent.id,
                    "call": agent.call.id if agent.call is not None else None,
                    "kind": agent.kind.value,
                }
                for agent in session.subagents
            ],
            "compactions": _notices(session, "compacted"),
            "interrupts": _notices(session, "interrupted"),
            "commands": _commands(session),
        }
    )


def _normal(reading: dict[str, Any]) -> dict[str, Any]:
    """Abandoned branches and agents have no order that means anything."""
    if "branches" in reading:
        active, *abandoned = reading["branches"]
        reading = {**reading, "branches": [active, *sorted(abandoned)]}
    if "subagents" in reading:
        agents = sorted(reading["subagents"], key=lambda agent: (str(agent["id"]), str(agent["call"])))
        reading = {**reading, "subagents": agents}
    return reading


def _prompts(turns: tuple[Turn, ...]) -> list[str]:
    found: list[str] = []
    for turn in turns:
        if turn.prompt is not None and turn.prompt.kind is Speaker.PROMPT:
            found.append(turn.prompt.text)
        found += [step.text for step in turn.steps if isinstance(step, Notice) and step.what == "queued"]
    return found


def _all_notices(session: Session) -> list[Notice]:
    turns = [turn for branch in session.branches for turn in branch.turns]
    return [step for turn in turns for step in turn.steps if isinstance(step, Notice)]


def _notices(session: Session, what: str) -> int:
    return sum(notice.what == what for notice in _all_notices(session))


def _commands(session: Session) -> list[str]:
    found = [(notice.record.line, notice.text) for notice in _all_notices(session) if notice.what == "command"]
    prompts = [turn.prompt for branch in session.branches for turn in branch.turns if turn.prompt is not None]
    found += [(prompt.record.line, prompt.text) for prompt in prompts if prompt.kind is Speaker.COMMAND]
    return [text.split()[0] for _, text in sorted(found) if text.startswith("/")]
