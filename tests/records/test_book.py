"""The book of the format says something of every field of every type, and its examples read."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cli.running import reread_here
from document_schemas import ANSWERS
from format_book import DOCS, book_json, pages
from format_schemas import stream_schema, transcript_schema
from format_source import FAMILIES, FORMAT, prose
from reread.records import Drift, Unknown, book, decode

jsonschema = pytest.importorskip("jsonschema")

ENTRIES = book.read_book().entries
WHOLE_LINES = ("record", "system", "attachment", "progress", "frame")
SCHEMAS = ["transcript", "stream", *(entry.key for entry in ENTRIES), *book.document_schemas()]
CORPUS = Path(__file__).parents[3] / "shared" / "corpus"


@pytest.mark.parametrize("family", FAMILIES)
def test_every_kind_and_field_has_a_sentence_and_every_sentence_a_field(family: str) -> None:
    sentences, entries = prose(family), [each for each in ENTRIES if each.family == family]
    silent = [each.key for each in entries if not each.meaning or not each.line]
    silent += [f"{each.key}: {field.name}" for each in entries for field in each.fields if not field.meaning]
    assert not silent, f"write a sentence or a line into records/format/{family}.toml for {silent}"
    stale = sorted(set(sentences) - {each.name for each in entries} - {"family", "shared"})
    for entry in entries:
        stale += set(sentences.get(entry.name, {}).get("fields", {})) - {field.name for field in entry.fields}
    stale += set(sentences["shared"]) - {field.name for each in entries for field in each.fields}
    assert not stale, f"records/format/{family}.toml speaks of what no type has: {stale}"


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda each: each.key)
def test_every_example_reads_without_a_complaint(entry: book.BookEntry) -> None:
    if entry.family not in WHOLE_LINES:
        msgspec.json.decode(entry.line, type=FAMILIES[entry.family][entry.name])
        return
    record, drift = decode(entry.line), Drift()
    drift.add(record)
    assert not isinstance(record, Unknown)
    assert not record.flaws
    assert not drift.unknown_types | drift.unmodelled_fields | drift.unexpected_values


def test_every_type_that_a_line_may_hold_is_in_the_book() -> None:
    drawn = {kind for kinds in FAMILIES.values() for kind in kinds.values()}
    for entry in ENTRIES:
        for field in entry.fields:
            assert "object" not in field.type.replace("object of", ""), f"{entry.key}.{field.name} has no page"
    assert len(drawn) > 150


def test_the_pages_are_what_the_book_says() -> None:
    again = "print them again: python bench/format_schemas.py && python bench/format_book.py"
    assert (FORMAT / "book.json").read_text("utf-8") == book_json(), again
    for name, text in pages().items():
        assert (DOCS / name).read_text("utf-8") == text, again
    assert book.schema_of("transcript") == transcript_schema(), again
    assert book.schema_of("stream") == stream_schema(), again


def validator(schema: dict[str, Any]) -> Any:
    return jsonschema.validators.validator_for(schema)(schema)


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_schema_is_one(name: str) -> None:
    schema = book.schema_of(name)
    assert schema is not None
    jsonschema.Draft202012Validator.check_schema(schema)


@pytest.mark.parametrize("entry", [each for each in ENTRIES if each.family in WHOLE_LINES], ids=lambda each: each.key)
def test_every_example_is_valid_and_a_wrong_one_is_not(entry: book.BookEntry) -> None:
    whole = stream_schema() if entry.is_stream else transcript_schema()
    line = json.loads(entry.line)
    assert not list(validator(whole).iter_errors(line))
    wrong = {**line, "uuid": ["no", "text"]}
    assert list(validator(whole).iter_errors(wrong))


def invalid_lines(folder: Path, every: int = 1) -> tuple[int, list[str]]:
    """How many lines that decode as known were compared, and which are not valid; `every` takes a part of them."""
    schemas = {False: validator(transcript_schema()), True: validator(stream_schema())}
    compared, wrong = 0, []
    for path in sorted(folder.rglob("*.jsonl")):
        for number, line in enumerate(path.read_bytes().splitlines(), 1):
            if number % every:
                continue
            record = decode(line)
            if isinstance(record, Unknown) or record.flaws or record.rest or not record.data:
                continue
            compared += 1
            is_frame = record.is_frame or record.type in FAMILIES["frame"]
            error = next(schemas[is_frame].iter_errors(record.data), None)
            if error is not None:
                wrong.append(f"{path.name}:{number}: {error.json_path} {error.message[:100]}")
    return compared, wrong


def test_every_line_of_the_samples_is_valid() -> None:
    compared, wrong = invalid_lines(Path(book.__file__).parents[1] / "samples")
    assert compared > 100
    assert not wrong


@pytest.mark.shared
@pytest.mark.skipif(not CORPUS.is_dir(), reason="no recorded transcripts here")
def test_recorded_lines_are_valid() -> None:
    """All 13,974 take six minutes: `REREAD_ALL=1`."""
    compared, wrong = invalid_lines(CORPUS, every=1 if "REREAD_ALL" in os.environ else 89)
    assert compared > 100
    assert not wrong


@pytest.mark.parametrize("command", ANSWERS)
def test_every_answer_of_the_demonstration_is_valid(command: str) -> None:
    ran = reread_here("demo", *command.split(), "--json")
    assert ran.code == 0, ran.err
    document = json.loads(ran.out)
    schema = book.schema_of(document["schema"])
    assert schema is not None
    assert not [error.message for error in validator(schema).iter_errors(document)]


def test_a_kind_a_field_and_a_schema_are_shown_and_a_wrong_name_is_one_sentence() -> None:
    assert "isCompactSummary" in reread_here("format", "user").out
    assert "record/user" in reread_here("format", "isCompactSummary").out
    assert json.loads(reread_here("format", "assistant", "--json").out)["entries"][0]["name"] == "record/assistant"
    assert json.loads(reread_here("schema", "transcript").out)["title"]
    for command in ("format", "schema"):
        ran = reread_here(command, "asistant")
        assert (ran.code, ran.out) == (2, "")
        assert "did you mean assistant?" in ran.err
