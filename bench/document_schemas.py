"""Makes the JSON Schemas of what `--json` prints, by watching every document that the tests print.

    python bench/document_schemas.py tests/cli tests/lake tests/team > src/reread/records/format/documents.json

A field is required where no document lacked it. Texts and numbers may be null, where something is not known; fields may
be added at any time.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from format_schemas import DIALECT
from reread.cli import options
from reread.cli.main import main as run_program
from reread.records import book
from reread.views import values

NAME = re.compile(r"[a-z][a-z0-9_]*")
MAPS = {"unknown_types", "unmodelled_fields", "unexpected_values", "versions", "left_out", "counts", "answers", "input"}
"""Fields whose keys are data."""
ANYTHING = {"input", "edited_input", "data", "rows", "raw"}
"""Fields that hold what a tool or the person gave."""
ANSWERS = (
    *("list", "search retry", "usage week", "usage session", "usage block", "usage tool", "tools", "files", "thinking"),
    *(
        "prompts",
        "decisions",
        "show @last",
        "summary @last",
        "retro",
        "doctor",
        "prices",
        "projects",
        "cache",
        "budget",
    ),
    *(
        "archive status",
        "archive verify",
        "sql --schema",
        "secrets",
        "machine",
        "explain @last",
        "mark --tags",
        "blame Address.tsx",
    ),
    *("diff 3f2a", "format user", "archive forget @last --yes", "archive forget --damaged --yes", "retro dismiss 1"),
    *("approvals", "approvals --log", "schema"),
)
"""Commands whose answers on the demonstration are valid, as a test shows."""
LAKE = (
    *("plan SAMPLES --lake LAKE", "build SAMPLES --lake LAKE", "verify --lake LAKE", "vacuum --lake LAKE"),
    *("query --lake LAKE search jitter", "query --lake LAKE friction", "people PEOPLE --lake LAKE"),
    "forget --lake LAKE 3f2a9c10-5b7e-4d61-9a34-0c8f1e2d7b65 --yes",
)
_TYPES = {
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
    type(None): "null",
}


class SeenShape:
    """What one place of a document held, over all documents."""

    def __init__(self) -> None:
        self.types: set[str] = set()
        self.objects = 0
        self.present: dict[str, int] = {}
        self.fields: dict[str, SeenShape] = {}
        self.items: SeenShape | None = None

    def add(self, value: Any) -> None:
        self.types.add(_TYPES[type(value)])
        if isinstance(value, dict):
            self.objects += 1
            for key, item in value.items():
                self.present[key] = self.present.get(key, 0) + 1
                self.fields.setdefault(key, SeenShape()).add(item)
        elif isinstance(value, list):
            for item in value:
                self.items = self.items or SeenShape()
                self.items.add(item)

    def join(self, other: SeenShape) -> None:
        self.types |= other.types
        self.objects += other.objects
        for key, number in other.present.items():
            self.present[key] = self.present.get(key, 0) + number
            self.fields.setdefault(key, SeenShape()).join(other.fields[key])
        if other.items is not None:
            self.items = self.items or SeenShape()
            self.items.join(other.items)

    def schema(self, name: str) -> dict[str, Any]:
        if name in ANYTHING:
            return {}
        kinds = sorted(self.types - ({"integer"} if "number" in self.types else set()))
        if kinds == ["null"]:
            return {}
        if {"string", "integer", "number"} & set(kinds):
            kinds = [*(kind for kind in kinds if kind != "null"), "null"]
        made: dict[str, Any] = {"type": kinds[0] if len(kinds) == 1 else kinds}
        if self.objects:
            made |= self._map() if self._is_map(name) else self._object()
        if self.items is not None:
            made["items"] = self.items.schema("")
        return made

    def _is_map(self, name: str) -> bool:
        is_open = self.present and not any(number == self.objects for number in self.present.values())
        return (
            name in MAPS
            or any(not NAME.fullmatch(key) for key in self.fields)
            or bool(is_open and len(self.fields) > 6)
        )

    def _map(self) -> dict[str, Any]:
        joined = SeenShape()
        for each in self.fields.values():
            joined.join(each)
        return {"additionalProperties": joined.schema("")} if joined.types else {}

    def _object(self) -> dict[str, Any]:
        required = sorted(key for key, number in self.present.items() if number == self.objects)
        return {
            "required": required,
            "properties": {key: each.schema(key) for key, each in sorted(self.fields.items())},
        }


class Recorder:
    """A plugin of pytest that keeps the shape of every document."""

    def __init__(self) -> None:
        self.shapes: dict[str, SeenShape] = {}
        self._encoded, self._list, self._show = values.encoded, options.print_json_list, options.Options.print_answer
        options.Options.print_answer = lambda args, *both: self.print_answer(args, *both)  # type: ignore[method-assign]
        values.encoded, options.print_json_list = self.encoded, self.print_list

    def encoded(self, document: object) -> bytes:
        raw = self._encoded(document)
        if isinstance(document, dict):
            self.saw(json.loads(raw))
        return raw

    def print_list(self, head: dict[str, object], name: str, rows: Iterable[object]) -> None:
        kept = list(rows)
        self.saw(json.loads(self._encoded({**head, name: kept})))
        self._list(dict(head), name, kept)

    def print_answer(self, args: options.Options, document: Callable[[], object], lines: Callable[[Any], Any]) -> None:
        """Keeps the document also where a test asks for text."""
        if not args.json:
            self.encoded(document())
        self._show(args, document, lines)

    def saw(self, document: dict[str, Any]) -> None:
        name = document.get("schema")
        if isinstance(name, str) and name.startswith("reread."):
            self.shapes.setdefault(name, SeenShape()).add(document)

    def schemas(self) -> dict[str, Any]:
        made = {}
        for name, shape in sorted(self.shapes.items()):
            found = shape.schema("")
            found["properties"]["schema"] = {"const": name}
            made[name.removeprefix("reread.").partition("/")[0]] = {"$schema": DIALECT, "$id": name, **found}
        return made


def main(paths: list[str]) -> None:
    recorder, said = Recorder(), sys.stdout
    sys.stdout = sys.stderr
    if paths:
        pytest.main([*paths, "-q", "-p", "no:xdist", "-p", "no:cacheprovider"], plugins=[recorder])
    for command in ANSWERS:
        with redirect_stdout(StringIO()):
            run_program(["demo", *command.split(), "--json"])
    with TemporaryDirectory() as folder, redirect_stdout(StringIO()):
        samples = Path(book.__file__).parents[1] / "samples"
        people = Path(folder, "people.csv")
        people.write_text(f"prefix,person,team\n{samples},ann,builders\n", "utf-8")
        named = {"SAMPLES": str(samples), "LAKE": str(Path(folder, "lake")), "PEOPLE": str(people)}
        for command in LAKE:
            run_program(["lake", *(named.get(word, word) for word in command.split()), "--json"])
    said.write(json.dumps(recorder.schemas(), separators=(",", ":")).replace('},"', '},\n"') + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
