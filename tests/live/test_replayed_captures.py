"""Streams of the real client replay into exactly what an independent reader found in them."""

from __future__ import annotations

import json
import random
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

from reread.live import events
from reread.live.events import Event
from reread.live.protocol import Stream

CAPTURES = Path(__file__).parents[1] / "wire" / "captures"
NAMES = sorted(str(path.relative_to(CAPTURES).with_suffix("")) for path in CAPTURES.glob("*/*.wire"))
MARK = 28
"""Where a line of a capture says in which direction it went, after the time."""


def lines_of(name: str) -> list[tuple[str, bytes]]:
    raw = (CAPTURES / f"{name}.wire").read_bytes()
    return [(chr(line[MARK]), line[MARK + 2 :]) for line in raw.split(b"\n") if line]


def replay(name: str) -> list[Event]:
    stream = Stream()
    found: list[Event] = []
    for mark, raw in lines_of(name):
        if mark in "<>":
            found += stream.feed(raw + b"\n") if mark == "<" else stream.sent(raw)
    return found + stream.close()


def expected(name: str) -> dict[str, Any]:
    known: dict[str, Any] = json.loads((CAPTURES / f"{name}.json").read_text(encoding="utf-8"))
    return known


def block(event: events.Whole) -> dict[str, Any]:
    place = {"agent": event.agent, "message_id": event.message_id}
    if isinstance(event, events.ToolCall):
        kind = "server_tool_use" if event.is_server else "tool_use"
        return {**place, "type": kind, "id": event.id, "name": event.name, "input": event.input}
    if isinstance(event, events.Thinking):
        shown = {"type": "redacted_thinking"} if event.is_redacted else {"type": "thinking", "text": event.text}
        return {**place, **shown}
    if isinstance(event, events.Text):
        return {**place, "type": "text", "text": event.text, **({"synthetic": True} if event.is_synthetic else {})}
    assert isinstance(event, events.OtherBlock)
    return {**place, "type": event.type}


def test_there_are_captures_of_two_clients() -> None:
    assert len({name.partition("/")[0] for name in NAMES}) >= 2
    assert len(NAMES) >= 80


@pytest.mark.parametrize("name", NAMES)
def test_a_capture_gives_every_block_once(name: str) -> None:
    found, known = replay(name), expected(name)
    assert [block(event) for event in found if isinstance(event, events.Whole)] == known["delivered"]
    withdrawn = [event for event in found if isinstance(event, events.Withdrawn)]
    assert [(_kind(event), event.text, event.reason) for event in withdrawn] == [
        (each["type"], each["text"], REASONS[each["reason"]]) for each in known["withdrawn"]
    ]


REASONS = {"interrupted": "interrupted", "error": "error", "cut": "error"}
"""The wire does not tell an error in mid-stream from a broken connection."""


def _kind(event: events.Withdrawn) -> str:
    return "tool_use" if event.kind == "tool" else event.kind


@pytest.mark.parametrize("name", NAMES)
def test_deltas_add_up_to_the_block(name: str) -> None:
    """Each streamed block is the sum of its deltas, and each delta belongs to a block that comes or is withdrawn."""
    streamed: dict[tuple[Any, ...], str] = defaultdict(str)
    whole: dict[tuple[Any, ...], str] = {}
    for event in replay(name):
        place = (event.session, event.agent, event.message_id, event.index)
        if isinstance(event, events.ThinkingDelta | events.TextDelta):
            assert place not in whole, "a delta after its block"
            streamed[place] += event.text
        elif isinstance(event, events.Thinking | events.Text | events.Withdrawn):
            assert place not in whole, "a block that comes twice"
            whole[place] = event.text
    assert {place: whole.get(place) for place in streamed} == dict(streamed)


@pytest.mark.parametrize("name", NAMES)
def test_results_permissions_and_counts(name: str) -> None:
    found, known = replay(name), expected(name)
    results = [event for event in found if isinstance(event, events.TurnResult)]
    assert [event.subtype for event in results] == [each["subtype"] for each in known["results"]]
    ended = [event for event in found if isinstance(event, events.MessageUsage)]
    assert len({event.message_id for event in ended}) == len(ended)
    told = {event.message_id: event.usage.output_tokens for event in ended}
    # Without stream events the complete frames of some versions have the final counts; the reader does not look there.
    assert {message: told.get(message) for message in known["usage"]} == {
        message: counts["output_tokens"] for message, counts in known["usage"].items()
    }
    asked = [event.tool for event in found if isinstance(event, events.Permission)]
    assert asked == [each["tool"] for each in known["permissions"]]


@pytest.mark.sampled(15)
@pytest.mark.parametrize("name", NAMES)
def test_bytes_cut_anywhere_give_the_same_events(name: str) -> None:
    lines = [raw for mark, raw in lines_of(name) if mark == "<"]
    stream = Stream()
    whole = [event for raw in lines for event in stream.feed(raw + b"\n")] + stream.close()
    data = b"".join(raw + b"\n" for raw in lines)
    chance = random.Random(name)
    for longest in (1, 40, 5_000):
        stream, found, start = Stream(), [], 0
        while start < len(data):
            size = chance.randint(1, longest)
            found += stream.feed(data[start : start + size])
            start += size
        assert found + stream.close() == whole


@pytest.mark.parametrize("name", NAMES)
def test_nothing_the_real_client_sends_is_unknown(name: str) -> None:
    unknown = Counter(
        event.reason
        for event in replay(name)
        if isinstance(event, events.UnknownFrame) and event.record.type is not None
    )
    assert unknown == {}
