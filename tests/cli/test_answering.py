"""Answers of another program come from the standard input that a run was started with, however that ends."""

from __future__ import annotations

import asyncio
import io
import json
import os
import sys
import threading
from collections.abc import Iterator

import pytest

from reread.cli.answerers import NOBODY, ProgramAnswerer
from reread.live.events import Permission
from reread.live.outgoing import Allow, Decision, Deny

ASKED = Permission(request_id="r1", tool="Bash", input={})


@pytest.fixture
def typing(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """What to write to so that it comes on standard input."""
    ours, theirs = os.pipe()
    before = set(threading.enumerate())
    with os.fdopen(ours, "rb") as stream:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(stream))
        yield theirs
        for reader in set(threading.enumerate()) - before:  # else it may read what has the same number next
            reader.join(timeout=30)


async def decided(program: ProgramAnswerer) -> Decision:
    return await asyncio.wait_for(program.decide(ASKED), timeout=30)


def test_an_input_that_is_exchanged_meanwhile_is_not_asked(typing: int, monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> Decision:
        program = ProgramAnswerer()
        monkeypatch.setattr(sys, "stdin", io.StringIO())
        os.write(typing, json.dumps({"request_id": "r1", "behavior": "allow"}).encode() + b"\n")
        found = await decided(program)
        os.close(typing)
        return found

    assert asyncio.run(run()) == Allow()


def test_an_answer_without_a_last_newline_counts(typing: int) -> None:
    async def run() -> Decision:
        program = ProgramAnswerer()
        os.write(typing, json.dumps({"request_id": "r1", "behavior": "deny", "message": "not now"}).encode())
        os.close(typing)
        return await decided(program)

    assert asyncio.run(run()) == Deny(reason="not now")


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a terminal that can be hung up")
def test_a_terminal_that_is_hung_up_answers_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    screen, typed = os.openpty()

    async def run() -> Decision:
        program = ProgramAnswerer()
        os.close(screen)
        return await decided(program)

    with os.fdopen(typed, "rb", buffering=0) as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        assert asyncio.run(run()) == Deny(reason=NOBODY)
