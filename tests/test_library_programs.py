"""Programs as a user of the library writes them from its pages; `make check` reads them as strictly as a user may."""

from __future__ import annotations

import asyncio
import sys
from collections import defaultdict
from collections.abc import AsyncIterator
from decimal import Decimal
from pathlib import Path

import pytest

import reread
from reread.archive import Listed, SearchAnswer, UsageReport
from reread.billing import settle_all
from reread.live.events import Event, Permission, Text, TurnResult
from reread.rows import rows_of
from reread.sources import Reset

ROOT = Path(__file__).parents[1]
PACKAGES = sorted(
    path for path in (ROOT / "src" / "reread").rglob("__init__.py") if "fetch_names(" in path.read_text("utf-8")
)
LANTERN = ROOT / "src" / "reread" / "samples" / "projects" / "-home-ann-lantern"
SESSION = next(LANTERN.glob("3f2a9c10*.jsonl"))
CLIENT = Path(__file__).with_name("ports") / "scripted_client.py"


def tokens_by_model(folder: Path) -> tuple[dict[str, int], Decimal]:
    """Without an archive, each response once, whoever repeats it."""
    tokens: dict[str, int] = defaultdict(int)
    cost = Decimal(0)
    transcripts = (rows_of(reread.load(path)) for path in sorted(folder.glob("*.jsonl")))
    responses = (response for rows in transcripts for file in rows.files for response in file.responses)
    for response in settle_all(responses):
        tokens[response.model or "unknown"] += response.total
        cost += Decimal(response.nanodollars or 0).scaleb(-9)
    return tokens, cost


def test_tokens_of_a_folder_by_model_are_those_of_an_archive(tmp_path: Path) -> None:
    with reread.open(home=tmp_path, sources=LANTERN) as archive:
        archive.sync()
        report: UsageReport = archive.usage(by="model")
        found: SearchAnswer = archive.search("jitter")
        listed: list[Listed] = archive.sessions()
    tokens, cost = tokens_by_model(LANTERN)
    assert tokens == {row.key: row.tokens.total_tokens for row in report.rows}
    assert cost == report.totals.cost
    assert found.hits[0].session.name in {each.id for each in listed}


def test_thinking_has_its_words_its_time_and_its_response() -> None:
    thought = reread.load(SESSION).thinking()[0]
    assert thought.text.startswith("One in twenty")
    assert thought.time is not None
    assert thought.message_id


async def answered(client: reread.Client, prompt: str) -> AsyncIterator[Event]:
    async for event in client.turn(prompt):
        if isinstance(event, Permission):
            await client.deny(event, f"no {event.tool} here")
        yield event


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in is a script")
def test_a_permission_is_answered_in_the_loop_over_the_events(tmp_path: Path) -> None:
    claude = tmp_path / "claude"
    claude.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{CLIENT}" "$@"\n')
    claude.chmod(0o755)

    async def said() -> tuple[str, Decimal | None]:
        async with reread.Client(claude=claude, cwd=tmp_path) as client:
            events = [event async for event in answered(client, "Delete everything.")]
        [text] = [event.text for event in events if isinstance(event, Text)]
        [result] = [event for event in events if isinstance(event, TurnResult)]
        return text, result.cost_usd

    assert asyncio.run(said()) == ("I was not allowed to: no Bash here", Decimal("0.0125"))


def test_a_file_that_was_replaced_is_told_by_a_value_that_has_a_type() -> None:
    assert Reset("replaced").reason == "replaced"


@pytest.mark.parametrize("path", PACKAGES, ids=lambda path: str(path.parent.name))
def test_a_misspelt_name_is_an_error_to_type_checkers(path: Path) -> None:
    """They take whatever a module's own `__getattr__` may give for an `object`, and say nothing of it."""
    assert "__getattr__" not in path.read_text("utf-8"), "`fetch_names` gives it one that only the program sees"
