"""The captures are whole, clean and read as the files beside them say; how reread reads them is tested elsewhere."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from client.conversations import captured_from
from client.expect_wire import Reading, expectation, read_wire, wire_lines

CAPTURES = Path(__file__).parent / "captures"
WIRES = sorted(CAPTURES.glob("*/*.wire"))
# A home other than the invented one, a key, or the place where captures are made.
UNCLEAN = re.compile(rb"/home/(?!ann\b)|/Users/|/root\b|/work/|/tmp/(?!claude-1000/|cc-socks/1\.sock)|-tmp-|sk-ant-")
LINE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z [<>!=] ")
# The conversations in which the client took something back that it had shown.
TAKEN_BACK = re.compile(r"sse-error-|cut-|interrupt-thinking")


def name(wire: Path) -> str:
    return f"{wire.parent.name}-{wire.stem}"


def reading(wire: Path) -> Reading:
    return read_wire(wire_lines(wire))


@pytest.mark.parametrize("version", ["2.0.30", "2.1.197", "2.1.325"])
def test_every_conversation_is_captured(version: str) -> None:
    assert {wire.stem for wire in WIRES if wire.parent.name == version} == set(captured_from(version))


@pytest.mark.parametrize("wire", WIRES, ids=name)
def test_a_capture_names_no_machine_and_no_key(wire: Path) -> None:
    assert not UNCLEAN.search(wire.read_bytes()), "pass the capture through tests/client/strip_wire.py"


@pytest.mark.parametrize("wire", WIRES, ids=name)
def test_every_line_of_a_capture_has_its_time_and_mark(wire: Path) -> None:
    lines = wire.read_bytes().decode().removesuffix("\n").split("\n")
    assert all(LINE.match(line) for line in lines)
    assert [line[:27] for line in lines] == sorted(line[:27] for line in lines)


@pytest.mark.parametrize("wire", WIRES, ids=name)
def test_the_file_beside_a_capture_is_its_reading(wire: Path) -> None:
    beside = json.loads(wire.with_suffix(".json").read_text(encoding="utf-8"))
    assert beside == expectation(reading(wire))


@pytest.mark.parametrize("wire", WIRES, ids=name)
def test_what_streamed_adds_up_to_what_was_delivered(wire: Path) -> None:
    assert reading(wire).torn == []


@pytest.mark.parametrize("wire", WIRES, ids=name)
def test_only_broken_conversations_take_something_back(wire: Path) -> None:
    assert bool(reading(wire).withdrawn) == bool(TAKEN_BACK.match(wire.stem))


def test_the_captures_stay_small() -> None:
    assert sum(wire.stat().st_size for wire in WIRES) < 1_500_000, "shorten a conversation; a huge line belongs in e2e"
