"""Counts how often every record, block, frame and field of the format occurs: numbers and versions, no content.

    python bench/format_counts.py ../shared/corpus/recorded ../shared/corpus/labelled ../shared/labels/sessions \
        tests/eras/e0* tests/eras/e1[01]* tests/wire/captures > src/reread/records/format/counts.json

A line that stands in several files counts once, and one without a version for the version of the lines before it.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from hashlib import sha256
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_origin

from msgspec import Struct

from format_source import FAMILIES, FILES, own_fields, plain_type
from reread.records import Record, System, Unknown, decode_all, parse_or_none
from reread.records.base import version_numbers
from reread.records.lenient import fields_of, options, struct_for, transcript_spelling

ENTRY_OF = {
    kind: f"{family}/{name}" for family, kinds in FAMILIES.items() if family != "system" for name, kind in kinds.items()
}
NAMED: dict[tuple[str, str], tuple[str, Any]] = {
    ("frame/stream_event", "event"): ("event", None),
    ("frame/control_request", "request"): ("control", FAMILIES["control"]["request"]),
    ("frame/control_response", "response"): ("control", FAMILIES["control"]["response"]),
    ("event/content_block_start", "content_block"): ("block", None),
    ("record/user", "toolUseResult"): ("part", FAMILIES["part"]["toolUseResult"]),
}
"""Fields that a type keeps as raw JSON although what is in them is described."""


class FormatCounts:
    def __init__(self) -> None:
        self.lines: Counter[str] = Counter()
        self.fields: Counter[tuple[str, str]] = Counter()
        self.versions: dict[tuple[str, str], tuple[str, str]] = {}
        self.files = self.all_lines = 0
        self.version: str | None = None
        self._seen: set[bytes] = set()

    def add_file(self, path: Path) -> None:
        self.files += 1
        self.version = None
        here: set[bytes] = set()
        text = path.read_bytes()
        if text.lstrip()[:1] == b"[":
            lines = [json.dumps(each).encode() for each in json.loads(text)]
        elif path.suffix == ".wire":  # a time and a mark before each line
            lines = [line[30:] for line in text.split(b"\n") if line[28:29] in (b"<", b">")]
        else:
            lines = text.split(b"\n")
        for line in lines:
            digest = sha256(line).digest()
            here.add(digest)
            if line.strip() and digest not in self._seen:
                for record in decode_all(line):
                    self.add_line(record)
        self._seen |= here

    def add_line(self, record: Record) -> None:
        self.all_lines += 1
        data = record.data
        self.version = record.version or data.get("claude_code_version") or self.version
        if isinstance(record, Unknown):
            return
        self.count("record/envelope", Record, data)
        name = f"{'frame' if record.type in FAMILIES['frame'] else 'record'}/{record.type}"
        self.count(name, type(record) if name != "record/system" else System, data)
        if isinstance(record, System):
            subtype = record.subtype if record.subtype in FAMILIES["system"] else None
            if subtype is not None:
                self.count(f"system/{subtype}", FAMILIES["system"][subtype], data)

    def count(self, entry: str, kind: type[Struct], value: dict[str, Any]) -> None:
        self.lines[entry] += 1
        self._saw(entry, "")
        family, _, name = entry.partition("/")
        known = own_fields(family, name, kind)
        inner = dict(fields_of(kind).values())
        for key, item in value.items():
            field = key if key in known else transcript_spelling(key)
            if field not in known or item is None:
                continue
            self.fields[entry, field] += 1
            self._saw(entry, field)
            self._inside(entry, field, inner.get(field), item)

    def _inside(self, entry: str, field: str, annotation: Any, item: Any) -> None:
        family, kind = NAMED.get((entry, field), ("", None))
        if family and isinstance(item, dict):
            found = kind or FAMILIES[family].get(str(item.get("type")))
            if found is not None:
                self.count(ENTRY_OF[found], found, item)
            return
        annotation = plain_type(annotation)
        members = tuple(each for each in options(annotation) if each is not NoneType)
        if isinstance(item, dict):
            found = struct_for(members, item)
            if found in ENTRY_OF:
                self.count(ENTRY_OF[found], found, item)
            for member in members:
                if get_origin(member) is dict:
                    for each in item.values():
                        self._inside(entry, field, get_args(member)[1], each)
        elif isinstance(item, list):
            for member in members:
                if get_origin(member) is list:
                    for each in item:
                        self._inside(entry, "", get_args(member)[0], each)

    def _saw(self, entry: str, field: str) -> None:
        numbers = version_numbers(self.version)
        if numbers is None or self.version is None or len(numbers) != 3 or not (1, 0) <= numbers[:2] < (9, 0):
            return
        first, last = self.versions.get((entry, field), (self.version, self.version))
        ordered = sorted((first, last, self.version), key=lambda each: version_numbers(each) or ())
        self.versions[entry, field] = ordered[0], ordered[-1]

    def _row(self, entry: str, field: str, number: int) -> dict[str, Any]:
        row: dict[str, Any] = {"n": number}
        if (entry, field) in self.versions:
            row["first"], row["last"] = self.versions[entry, field]
        return row

    def document(self) -> dict[str, Any]:
        entries: dict[str, Any] = {}
        for entry, number in sorted(self.lines.items()):
            fields = {
                field: self._row(entry, field, n) for (of, field), n in sorted(self.fields.items()) if of == entry
            }
            entries[entry] = {**self._row(entry, "", number), "fields": fields}
        return {"files": self.files, "lines": self.all_lines, "entries": entries}


def main(folders: list[str]) -> None:
    counts = FormatCounts()
    for path in sorted(each for folder in folders for each in Path(folder).rglob("*") if each.is_file()):
        side = next((name for name in FILES if path.name.endswith(name)), None)
        if side is None and (path.suffix in (".jsonl", ".wire") or path.name == "chat.json"):
            counts.add_file(path)
        elif side is not None:
            for line in path.read_bytes().splitlines() if path.suffix == ".jsonl" else [path.read_bytes()]:
                value = parse_or_none(line)
                if isinstance(value, dict):
                    counts.version = None
                    counts.count(f"file/{side}", FILES[side], value)
    sys.stdout.write(json.dumps(counts.document(), separators=(",", ":")).replace('},"', '},\n"') + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
