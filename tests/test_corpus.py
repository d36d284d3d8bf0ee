"""Recorded transcripts of many people and versions, read beside a reader too simple to be wrong.

The recordings lie outside this repository; without them these tests are skipped.
"""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import reread
from reread.features.edits.changes import changes_of
from reread.features.edits.patches import applied
from reread.loading import SourceTree
from reread.records import Unknown
from reread.sessions import Session
from reread.sources import find

CORPUS = Path(__file__).parents[2] / "shared" / "corpus"
pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(not CORPUS.is_dir(), reason="no recorded transcripts beside the project"),
]

FILES = sorted(path for path in CORPUS.rglob("*") if path.is_file() and path.name != "MANIFEST.tsv")


@cache
def naive(path: Path) -> list[dict[str, Any]]:
    """The JSON objects of a file by the standard library alone: the whole as an array, or line by line."""
    text = path.read_bytes().decode("utf-8", "replace").lstrip("\ufeff")
    if text.lstrip().startswith("["):
        return [item for item in json.loads(text) if isinstance(item, dict)]
    return [value for line in text.split("\n") for value in _values(line) if isinstance(value, dict)]


def _values(line: str) -> Iterator[Any]:
    decoder = json.JSONDecoder(strict=False)
    rest = line.strip()
    while rest:
        try:
            value, end = decoder.raw_decode(rest)
        except ValueError:
            return
        yield value
        rest = rest[end:].strip()


@cache
def session(path: Path) -> Session:
    return reread.load(path)


def transcripts() -> list[Path]:
    """Files that hold lines: no side files, no spilled outputs."""
    return [
        path
        for path in FILES
        if path.suffix in (".jsonl", ".json") and "tool-results" not in path.parts and _holds_lines(path)
    ]


def _holds_lines(path: Path) -> bool:
    if path.name.endswith(".meta.json") or path.name == "sessions-index.json":
        return False
    return any("type" in value or "uuid" in value for value in naive(path)[:50])


TRANSCRIPTS = transcripts() if CORPUS.is_dir() else []
each_file = pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(CORPUS))[-60:])
each_transcript = pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: str(path.relative_to(CORPUS))[-60:])


def blocks(path: Path) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Every block of a message with its line, a line written twice only once."""
    for line in distinct(path):
        message = line.get("message") if line.get("type") in ("user", "assistant", "tool_result") else None
        content = message.get("content") if isinstance(message, dict) else message  # bare content: hand-made files
        for block in content if isinstance(content, list) else []:
            if isinstance(block, dict):
                yield line, block


def distinct(path: Path) -> list[dict[str, Any]]:
    """A uuid that comes again with the same time and message is the same line written twice."""
    kept: dict[str, dict[str, Any]] = {}
    return [line for line in naive(path) if not _repeats(line, kept)]


def _repeats(line: dict[str, Any], kept: dict[str, dict[str, Any]]) -> bool:
    uuid = line.get("uuid")
    if not isinstance(uuid, str):
        return False
    first = kept.setdefault(uuid, line)
    same = ("type", "timestamp", "message")
    return first is not line and all(first.get(key) == line.get(key) for key in same)


@each_file
def test_it_loads_and_every_line_is_placed(path: Path) -> None:
    found = session(path)
    assert found.coverage.is_complete
    assert not [left for left in found.coverage.unplaced if left.reason != "repeats an earlier line"]
    assert found.title


@each_transcript
def test_every_object_of_the_file_is_a_record(path: Path) -> None:
    records = [record for record in reread.read(path) if not (isinstance(record, Unknown) and record.malformed)]
    assert len(records) == len(naive(path))
    assert [record.uuid for record in records] == [_text(line.get("uuid")) for line in naive(path)]


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


@each_transcript
def test_every_thought_is_there(path: Path) -> None:
    wanted = [
        block["thinking"]
        for line, block in blocks(path)
        if line["type"] == "assistant" and block.get("type") == "thinking" and len(block.get("thinking") or "") > 10
    ]
    assert [thought.text for thought in session(path).thinking()] == wanted


@each_transcript
def test_every_tool_call_is_there_once(path: Path) -> None:
    """Those of agents that have no file of their own stand in progress lines alone."""
    filed = {agent.id for agent in session(path).subagents if not agent.is_recorded_inline}
    told = (line["data"] for line in naive(path) if line.get("type") == "progress")
    agents = [data for data in told if data.get("type") == "agent_progress" and data["agentId"] not in filed]
    content = [block for data in agents for block in data["message"]["message"]["content"] if isinstance(block, dict)]
    every = (*(block for _, block in blocks(path)), *content)
    wanted = dict.fromkeys(block.get("id") for block in every if block.get("type") == "tool_use")
    assert [call.id for call in session(path).tool_calls] == list(wanted)


@each_transcript
def test_output_tokens_are_counted_once_per_message(path: Path) -> None:
    best: Counter[str] = Counter()
    for line in distinct(path):
        message = line.get("message")
        if line.get("type") != "assistant" or not isinstance(message, dict) or message.get("model") == "<synthetic>":
            continue
        key = message.get("id") or line.get("uuid") or json.dumps(line)
        best[key] = max(best[key], (message.get("usage") or {}).get("output_tokens") or 0)
    assert session(path).usage.output_tokens == sum(best.values())


def test_the_corpus_is_what_these_tests_were_written_for() -> None:
    assert len(FILES) >= 140
    assert len(TRANSCRIPTS) >= 120
    assert {file.path for file in find(CORPUS)} <= set(FILES)


def test_every_session_has_a_title_that_is_not_its_id() -> None:
    sessions = list(SourceTree([CORPUS]))
    assert len(sessions) > 100
    assert [each.files for each in sessions if each.title == each.id] == []


def test_real_forks_are_rare_among_lines_with_several_children() -> None:
    """The others are parallel tools, progress and attachments; a reader that took them for rewinds would show 811.

    Both real ones are prompts sent, taken back and sent again: "LF" for "LG :)", and one reworded at its end.
    """
    several = forks = guessed = 0
    for path in TRANSCRIPTS:
        parents = Counter(line["parentUuid"] for line in distinct(path) if line.get("uuid") and line.get("parentUuid"))
        own = {line.get("uuid") for line in naive(path)}
        several += sum(count > 1 and parent in own for parent, count in parents.items())
        segments = session(path).tree.segments
        forks += len({segment.fork for segment in segments if segment.fork >= 0})
        guessed += sum(not segment.certain for segment in segments)
    assert (several, forks, guessed) == (811, 2, 0)


def test_edits_give_what_the_patch_of_the_client_shows() -> None:
    """Strings replaced in the original give what the client's own patch leads to, but for tabs, shown as spaces."""
    compared = 0
    for path in transcripts():
        for change in changes_of(session(path)):
            if change.before is None or not change.hunks or not change.replacements:
                continue
            by_strings, by_patch = change.after(change.before), applied(change.hunks, change.before.plain)
            assert by_strings is not None
            assert by_patch is None or _shown(by_strings.plain) == _shown(by_patch), (path, change.call)
            assert change.undone(by_strings) == change.before
            compared += by_patch is not None
    assert compared > 50


def _shown(text: str) -> list[str]:
    return [re.sub("^\t+", lambda tabs: "  " * len(tabs[0]), line) for line in text.split("\n")]


def test_the_index_is_made_again_when_every_source_is_gone(tmp_path: Path) -> None:
    shutil.copytree(CORPUS, tmp_path / "source")
    with reread.open(home=tmp_path / "home", sources=[tmp_path / "source"]) as archive:
        archive.sync()
        before = _told(archive)
        assert len(archive.sessions()) > 100
    shutil.rmtree(tmp_path / "source")
    with reread.open(home=tmp_path / "home", sources=[]) as archive:
        archive.safe.rebuild()
        assert _told(archive) == before


def _told(archive: reread.Archive) -> tuple[object, ...]:
    rows = sorted((each.stored.row, sorted(each.stored.files)) for each in archive.sessions())
    calls = archive.inner.connection.execute(
        "SELECT id, name, status, time, path FROM tool_call ORDER BY 1, 2, 3, 4, 5"
    )
    words = archive.inner.connection.execute("SELECT term, doc, cnt FROM vocabulary")
    return rows, archive.usage("model"), calls.fetchall(), words.fetchall()
