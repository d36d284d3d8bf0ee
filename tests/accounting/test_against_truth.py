"""Reports against numbers others know: a generated tree that says what is in it, and recorded transcripts added up by a
script too simple to be wrong. Both lie beside the project; without them these tests are skipped.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import reread.archive.billing
from reread.archive import Archive, UsageReport
from reread.archive.search_language import ALL_FIELDS

SHARED = Path(__file__).parents[3] / "shared"
GENERATOR = SHARED / "tools" / "gen_corpus.py"
CORPUS = SHARED / "corpus"
needs_generator = pytest.mark.skipif(not GENERATOR.is_file(), reason="no generator beside the project")
needs_corpus = pytest.mark.skipif(not CORPUS.is_dir(), reason="no recorded transcripts beside the project")
pytestmark = pytest.mark.shared

Sums = dict[str, int]
TOLD = {
    "messages": "requests",
    "input": "input_tokens",
    "output": "output_tokens",
    "cache_5m": "cache_write_5m_tokens",
    "cache_1h": "cache_write_1h_tokens",
    "cache_read": "cache_read_tokens",
}


@pytest.fixture(scope="module", params=[7, 20261115])
def generated(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("generated") / "claude"
    command = [sys.executable, str(GENERATOR), "--out", str(folder), "--size-mb", "4", "--seed", str(request.param)]
    subprocess.run(command, check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def truth(generated: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((generated / "truth.json").read_text("utf-8"))
    return found


@pytest.fixture(scope="module")
def archive(generated: Path) -> Iterator[Archive]:
    with Archive(generated.parent / "home", [generated], machine="desk") as archive:
        archive.sync()
        yield archive


def cells(report: UsageReport) -> dict[str, dict[str, Sums]]:
    return {
        str(row.key): {
            str(each.model): {name: getattr(each.tokens, field) for name, field in TOLD.items()} for each in row.models
        }
        for row in report.rows
    }


def known(cells: dict[str, dict[str, dict[str, Any]]]) -> dict[str, dict[str, Sums]]:
    return {
        key: {model: {name: int(used[name]) for name in TOLD} for model, used in models.items()}
        for key, models in cells.items()
    }


@needs_generator
def test_every_day_and_model_is_as_generated(archive: Archive, truth: dict[str, Any]) -> None:
    assert cells(archive.usage("day", timezone=UTC)) == known(truth["by_day_model"])


@needs_generator
def test_every_day_and_model_is_as_generated_ahead_of_a_sync(
    generated: Path, truth: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reread.archive.billing, "QUICK_SYNC", 1)
    with Archive(tmp_path / "home", [generated], machine="desk") as empty:
        counted = empty.billing.usage_ahead("day", timezone=UTC)
    assert counted is not None
    assert cells(counted) == known(truth["by_day_model"])


@needs_generator
def test_every_project_and_model_is_as_generated(archive: Archive, truth: dict[str, Any]) -> None:
    assert cells(archive.usage("project")) == known(truth["by_project_model"])


@needs_generator
def test_every_needle_is_found(archive: Archive, truth: dict[str, Any]) -> None:
    missing = [needle for needle in truth["needles"] if not archive.search(word(needle), ALL_FIELDS).hits]
    assert truth["needles"]
    assert not missing


def word(needle: Any) -> str:
    return str(needle["word"] if isinstance(needle, dict) else needle)


def objects(path: Path) -> Iterator[Any]:
    """The JSON values of a file by the standard library alone: the whole as an array, or line by line."""
    text = path.read_bytes().decode("utf-8", "replace").lstrip("\ufeff")
    if text.lstrip().startswith("["):
        yield from json.loads(text)
        return
    for line in text.split("\n"):
        try:
            yield json.loads(line, strict=False)
        except ValueError:
            continue


class Row(NamedTuple):
    """Between rows decide, in this order: most output, no sidechain, the earliest first line of a file."""

    less_output: int
    is_sidechain: bool
    time: str
    model: str
    usage: dict[str, Any]


def winners(path: Path) -> dict[str, Row]:
    """The last row with most output of every message in a file."""
    found: dict[str, Row] = {}
    times: dict[str, str] = {}
    for number, value in enumerate(objects(path)):
        message = value.get("message") if isinstance(value, dict) and value.get("type") == "assistant" else None
        if not isinstance(message, dict) or not isinstance(message.get("usage"), dict):
            continue
        if message.get("model") == "<synthetic>":
            continue
        name = str(message.get("id") or value.get("uuid") or f"{path}:{number}")
        time = times.setdefault(name, str(value.get("timestamp") or "~"))
        output = message["usage"].get("output_tokens") or 0
        row = Row(-output, bool(value.get("isSidechain")), time, str(message.get("model")), message["usage"])
        if name not in found or row[:2] <= found[name][:2]:
            found[name] = row
    return found


@needs_corpus
@pytest.mark.parametrize("is_ahead", [False, True], ids=["after a sync", "ahead of it"])
def test_recorded_transcripts_add_up_as_a_naive_script_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_ahead: bool
) -> None:
    if is_ahead:
        monkeypatch.setattr(reread.archive.billing, "QUICK_SYNC", 1)
    with Archive(tmp_path / "home", [CORPUS], machine="desk") as archive:
        if not is_ahead:
            archive.sync()
        report = archive.billing.usage_ahead("model", timezone=UTC) if is_ahead else archive.usage("model")
        archive.sync()
        paths = [
            str(path) for (path,) in archive.sql("SELECT path FROM file WHERE kind IN ('transcript', 'subagent')")[1]
        ]
    assert report is not None
    assert len(paths) > 100
    best: dict[str, Row] = {}
    for path in paths:
        for name, row in winners(Path(path)).items():
            best[name] = min(best.get(name, row), row, key=lambda each: each[:3])
    wanted: dict[str, Sums] = {}
    for *_, model, usage in best.values():
        sums = wanted.setdefault(model, dict.fromkeys(("output", "input", "read", "written"), 0))
        sums["output"] += usage.get("output_tokens") or 0
        sums["input"] += usage.get("input_tokens") or 0
        sums["read"] += usage.get("cache_read_input_tokens") or 0
        sums["written"] += usage.get("cache_creation_input_tokens") or 0
    found = {
        str(row.key): {
            "output": row.tokens.output_tokens,
            "input": row.tokens.input_tokens,
            "read": row.tokens.cache_read_tokens,
            "written": row.tokens.cache_write_tokens,
        }
        for row in report.rows
    }
    assert found == wanted
