"""Decoding never raises and never loses a byte, whatever stands in the line."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from reread.records import (
    RECORD_TYPES,
    Drift,
    Record,
    Spoken,
    ToolResult,
    ToolUse,
    User,
    decode,
    decode_all,
    result_twin,
)

ERAS = Path(__file__).parents[1] / "eras"


def _real_lines() -> list[bytes]:
    """One line for each shape that occurs: what differs only in values would teach nothing new."""
    found: dict[object, bytes] = {}
    for path in sorted(ERAS.rglob("*.jsonl")):
        for raw in path.read_bytes().splitlines():
            if len(raw) < 20_000:
                found.setdefault(_shape(raw), raw)
    return list(found.values())


def _shape(raw: bytes) -> object:
    try:
        value = json.loads(raw)
    except ValueError:
        return len(raw)
    message = value.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    blocks: list[Any] = content if isinstance(content, list) else []
    inner = [value.get("attachment"), value.get("data"), *blocks]
    kinds = [item.get("type") for item in inner if isinstance(item, dict)]
    return str((value.get("type"), value.get("subtype"), type(value.get("toolUseResult")), kinds))


REAL = _real_lines()
real_lines = st.sampled_from(REAL)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)


def read_everything(raw: bytes) -> Record:
    """Decodes and asks for all there is to ask."""
    record = decode(raw)
    assert isinstance(record, Record)
    assert record.raw + record.rest == raw or raw.startswith(record.raw)
    assert isinstance(record.text, str)
    assert isinstance(record.data, dict)
    assert record.time is None or record.time.tzinfo is not None
    Drift().add(record)
    if isinstance(record, Spoken):
        for block in record.blocks:
            _read_block(block)
    if isinstance(record, User):
        assert record.tool_use_result is None or record.data
        result_twin(record)
    return record


def _read_block(block: Any) -> None:
    assert isinstance(block.as_text, str)
    if isinstance(block, ToolUse):
        assert block.input is None or json.dumps(block.input)
    if isinstance(block, ToolResult) and isinstance(block.content, list):
        for inner in block.content:
            _read_block(inner)


def test_there_are_real_lines_to_start_from() -> None:
    assert len(REAL) > 80
    for raw in REAL:
        read_everything(raw)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_record(raw: bytes) -> None:
    assert read_everything(raw).raw == raw or decode(raw).rest


@given(real_lines, st.integers(0, 2**32), st.sampled_from(["flip", "delete", "insert", "cut", "join"]))
def test_a_damaged_line_is_a_record(raw: bytes, seed: int, damage: str) -> None:
    damaged = _damaged(raw, random.Random(seed), damage)
    assert read_everything(damaged).raw == damaged or decode(damaged).rest


def _damaged(raw: bytes, dice: random.Random, damage: str) -> bytes:
    at = dice.randrange(len(raw)) if raw else 0
    some = bytes(dice.choices(b'\x00\x1f\x80\xc3\xed\xff"\\{}[],:0-9eEnul', k=dice.randrange(1, 4)))
    match damage:
        case "flip":
            return raw[:at] + some[:1] + raw[at + 1 :]
        case "delete":
            return raw[:at] + raw[at + dice.randrange(1, 50) :]
        case "insert":
            return raw[:at] + some + raw[at:]
        case "cut":
            return raw[:at]
        case _:
            return raw + some + dice.choice(REAL)


@given(real_lines, st.data())
def test_any_value_may_stand_in_any_place(raw: bytes, data: st.DataObject) -> None:
    try:
        value = json.loads(raw)
    except ValueError:
        return
    for _ in range(data.draw(st.integers(1, 3))):
        _replace(value, data)
    record = read_everything(json.dumps(value).encode("utf-8", "surrogatepass"))
    if isinstance(value.get("type"), str):
        assert type(record) is type(decode(raw)) or value["type"] not in RECORD_TYPES or record.type == value["type"]


def _replace(value: dict[str, Any], data: st.DataObject) -> None:
    places = list(_places(value))
    if places:
        holder, key = places[data.draw(st.integers(0, len(places) - 1))]
        if key in holder if isinstance(holder, dict) else key < len(holder):
            holder[key] = data.draw(json_values)


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    pairs = list(value.items()) if isinstance(value, dict) else list(enumerate(value))
    for key, item in pairs:
        yield value, key
        if isinstance(item, dict | list):
            yield from _places(item)


@given(st.sampled_from(sorted(RECORD_TYPES)), st.data())
def test_any_value_may_stand_in_any_field_of_any_type(name: str, data: st.DataObject) -> None:
    keys = [key for key in _keys(RECORD_TYPES[name]) if not key.startswith("reread:")]
    chosen = data.draw(st.lists(st.sampled_from(keys), max_size=4))
    raw = json.dumps({**{key: data.draw(json_values) for key in chosen}, "type": name}).encode()
    record = read_everything(raw)
    assert type(record) is RECORD_TYPES[name] or record.type == name


def _keys(kind: type[Record]) -> tuple[str, ...]:
    return kind.__struct_encode_fields__


@given(st.lists(real_lines, min_size=1, max_size=4), st.sampled_from([b"", b" ", b"\t"]))
def test_records_joined_on_one_line_come_apart_again(lines: list[bytes], between: bytes) -> None:
    whole = [raw for raw in lines if not decode(raw).rest and decode(raw).data]
    records = decode_all(between.join(whole)) if whole else []
    assert [record.data for record in records] == [decode(raw).data for raw in whole]
