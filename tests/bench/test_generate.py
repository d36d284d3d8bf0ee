"""The generator's truth, checked by a second reading that knows nothing of how the tree was made."""

from __future__ import annotations

import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))

from generate import Truth, append, generate, resume_copy

SIZE = 4_000_000
Row = dict[str, Any]
PREFIXES = ("[Request interrupted", "<command-name>", "<local-command-stdout>")


@dataclass(frozen=True)
class Reading:
    """What a naive reader finds: every file, every line, plain `json`."""

    files: list[Path]
    lines: list[tuple[Path, bytes]]
    records: list[tuple[Path, Row]]
    malformed: int


def objects(line: str) -> Iterator[Row]:
    """The JSON objects that stand one behind the other on a line."""
    decoder, at = json.JSONDecoder(), 0
    while at < len(line):
        record, at = decoder.raw_decode(line, at)
        yield record


def read(tree: Path) -> Reading:
    """Reads every transcript below `projects`."""
    files = sorted((tree / "projects").rglob("*.jsonl"))
    lines = [(file, line) for file in files for line in file.read_bytes().splitlines()]
    records: list[tuple[Path, Row]] = []
    malformed = 0
    for file, line in lines:
        try:
            records += [(file, record) for record in objects(line.decode())]
        except ValueError:
            malformed += 1
    return Reading(files, lines, records, malformed)


def is_prompt(record: Row) -> bool:
    """Whether a line is what a person typed (format 2.6, by the marks this tree has)."""
    if record["type"] != "user" or record.get("isCompactSummary") or record["isSidechain"]:
        return False
    content = record["message"]["content"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    if blocks[0]["type"] == "tool_result":
        return False
    return not blocks[0]["text"].startswith(PREFIXES)


def assistant_blocks(reading: Reading) -> list[Row]:
    """Every block of every assistant line."""
    return [
        block
        for _, record in reading.records
        if record["type"] == "assistant"
        for block in record["message"]["content"]
    ]


def forks(reading: Reading) -> int:
    """Nodes from which two or more prompts hang, file by file."""
    prompts = Counter(
        (file, record["parentUuid"]) for file, record in reading.records if is_prompt(record) and record["parentUuid"]
    )
    return sum(count > 1 for count in prompts.values())


def requests(reading: Reading) -> Iterator[tuple[str, str, Row]]:
    """Day, model and usage of every request, by the rules R1 to R5 and R14 of the accounting contract."""
    groups: dict[object, list[Row]] = defaultdict(list)
    for _, record in reading.records:
        if record["type"] == "assistant" and record["message"]["model"] != "<synthetic>":
            own = record["message"]["id"]
            groups[own if own.startswith("msg_") else (record["sessionId"], own, record["timestamp"])].append(record)
    for rows in groups.values():
        home = [row for row in rows if not row["isSidechain"]] or rows
        most = max(row["message"]["usage"]["output_tokens"] for row in rows)
        winner = [row for row in [*home, *rows] if row["message"]["usage"]["output_tokens"] == most]
        at_home = [row for row in home if row["message"]["usage"]["output_tokens"] == most]
        chosen = (at_home or winner)[-1]["message"]
        searches = max(
            (row["message"]["usage"].get("server_tool_use") or {}).get("web_search_requests", 0) for row in rows
        )
        day = min(row["timestamp"] for row in home)[:10]
        yield day, chosen["model"], {**chosen["usage"], "searches": searches}
        for part in chosen["usage"].get("iterations", []):
            if part["type"] == "advisor_message":
                yield day, part["model"], {**part, "searches": 0}


def cells(reading: Reading) -> dict[str, dict[str, dict[str, int]]]:
    """Sums by day and model."""
    sums: dict[str, dict[str, dict[str, int]]] = {}
    for day, model, usage in requests(reading):
        write = usage["cache_creation_input_tokens"]
        hour = min(write, usage.get("cache_creation", {}).get("ephemeral_1h_input_tokens", 0))
        adds = {
            "requests": 1,
            "input_tokens": usage["input_tokens"],
            "output_tokens": usage["output_tokens"],
            "cache_read_tokens": usage["cache_read_input_tokens"],
            "cache_write_5m_tokens": write - hour,
            "cache_write_1h_tokens": hour,
            "web_searches": usage["searches"],
        }
        cell = sums.setdefault(day, {}).setdefault(model, dict.fromkeys(adds, 0))
        for name, value in adds.items():
            cell[name] += value
    return sums


def check(tree: Path, truth: Truth) -> Reading:
    """Compares everything the truth says with a reading of the tree."""
    reading = read(tree)
    blocks = assistant_blocks(reading)
    totals = truth.totals
    assert totals.bytes == sum(file.stat().st_size for file in reading.files)
    assert (truth.files, totals.lines) == (len(reading.files), len(reading.lines))
    assert (totals.records, totals.malformed) == (len(reading.records), reading.malformed)
    agents = [file for file in reading.files if file.name.startswith("agent-")]
    assert (truth.subagents, len(truth.by_session)) == (len(agents), len(reading.files) - len(agents))
    assert totals.prompts == sum(is_prompt(record) for _, record in reading.records)
    assert totals.tool_calls == sum(block["type"] == "tool_use" for block in blocks)
    assert totals.thoughts == sum(len(block.get("thinking", "")) > 10 for block in blocks)
    assert totals.rewinds == forks(reading)
    assert totals.compactions == sum(r.get("subtype") == "compact_boundary" for _, r in reading.records)
    assert truth.cells == cells(reading)
    check_distinct(reading, truth)
    return reading


def check_distinct(reading: Reading, truth: Truth) -> None:
    """Compares the figures without copies, by uuid, tool call and message."""
    prompts = {record["uuid"] for _, record in reading.records if is_prompt(record)}
    calls = {block["id"] for block in assistant_blocks(reading) if block["type"] == "tool_use"}
    assert truth.distinct.prompts == len(prompts)
    assert truth.distinct.tool_calls == len(calls)
    thoughts = {
        (record["message"]["id"], block["thinking"])
        for _, record in reading.records
        if record["type"] == "assistant"
        for block in record["message"]["content"]
        if len(block.get("thinking", "")) > 10
    }
    assert truth.distinct.thoughts == len(thoughts)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Truth]:
    tree = tmp_path_factory.mktemp("made") / "claude"
    return tree, generate(tree, size=SIZE, seed=7)


def contents(tree: Path) -> dict[str, bytes]:
    return {str(file.relative_to(tree)): file.read_bytes() for file in tree.rglob("*") if file.is_file()}


def test_the_truth_is_what_a_naive_reading_finds(made: tuple[Path, Truth]) -> None:
    reading = check(*made)
    assert abs(made[1].totals.bytes / SIZE - 1) < 0.15
    assert reading.malformed == 1


def test_every_needle_stands_in_one_line_of_its_session(made: tuple[Path, Truth]) -> None:
    tree, truth = made
    lines = read(tree).lines
    assert {needle.field for needle in truth.needles} == {"prompt", "text", "thinking", "tool", "result"}
    for needle in truth.needles:
        holders = [file.stem for file, line in lines if needle.word.encode() in line]
        assert holders == [needle.session]
    side_files = [file for file in tree.rglob("*") if file.is_file() and "projects" not in file.parts]
    assert not any(b"zqx" in file.read_bytes() for file in side_files)


def test_the_tree_has_the_structures_that_mislead_readers(made: tuple[Path, Truth]) -> None:
    tree, truth = made
    records = [record for _, record in read(tree).records]
    types = {record["type"] for record in records}
    assert {"progress", "attachment", "last-prompt", "api-request-blob", "queue-operation"} <= types
    usages = [record["message"]["usage"] for record in records if record["type"] == "assistant"]
    assert any(usage.get("speed") == "fast" for usage in usages)
    assert any(usage.get("inference_geo") == "us" for usage in usages)
    models = {model for day in truth.cells.values() for model in day}
    assert {"glm-5.1-gateway", "claude-opus-5", "claude-opus-4-8", "claude-haiku-5-5"} <= models
    assert truth.totals.rewinds and truth.totals.compactions and truth.tool_agents
    assert truth.distinct.prompts < truth.totals.prompts
    assert sum(not file.read_bytes().endswith(b"\n") for file in tree.rglob("*.jsonl")) == 1


def test_agents_are_linked_by_their_meta_file(made: tuple[Path, Truth]) -> None:
    tree, _ = made
    calls = {block["id"] for block in assistant_blocks(read(tree)) if block["type"] == "tool_use"}
    metas = [json.loads(file.read_bytes()) for file in tree.rglob("agent-*.meta.json")]
    linked = [meta["toolUseId"] for meta in metas if "toolUseId" in meta]
    assert linked and set(linked) <= calls


def test_a_file_is_as_old_as_its_last_line(made: tuple[Path, Truth]) -> None:
    tree, truth = made
    for known in truth.by_session.values():
        assert (tree / known.path).stat().st_mtime == pytest.approx(known.last_ms / 1000)


def test_equal_seeds_give_equal_bytes(made: tuple[Path, Truth], tmp_path: Path) -> None:
    again = generate(tmp_path / "claude", size=SIZE, seed=7)
    assert again == made[1]
    assert contents(tmp_path / "claude") == contents(made[0])


def test_appended_turns_and_copies_keep_the_truth(tmp_path: Path) -> None:
    tree = tmp_path / "claude"
    truth = generate(tree, size=1_000_000, seed=3)
    before = contents(tree)
    chosen = append(tree, truth, sessions=4, turns=6)
    check(tree, truth)
    for sid in chosen:
        name = truth.by_session[sid].path
        assert (tree / name).read_bytes().startswith(before[name])
    spent = json.dumps(truth.cells)
    copy = resume_copy(tree, truth)
    assert json.dumps(truth.cells) == spent
    append(tree, truth, sessions=len(truth.by_session), turns=1, seed=2)
    check(tree, truth)
    assert truth.by_session[copy].copy_of in truth.by_session


def test_the_truth_survives_its_file(made: tuple[Path, Truth], tmp_path: Path) -> None:
    made[1].write(tmp_path / "truth.json")
    assert Truth.read(tmp_path / "truth.json") == made[1]
    flat = json.loads((tmp_path / "truth.json").read_bytes())
    assert flat["lines"] == made[1].totals.lines and flat["sessions"] == len(made[1].by_session)


def test_a_directory_in_use_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").touch()
    with pytest.raises(FileExistsError):
        generate(tmp_path, size=SIZE)
