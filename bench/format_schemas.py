"""JSON Schemas of transcripts and of the stream, made from the record types and the sentences of the book.

    python bench/format_schemas.py

As lenient as `decode`: any field may be null or missing, fields and types that nobody described pass.
"""

from __future__ import annotations

import json
import re
from types import NoneType
from typing import Any, get_args, get_origin

from msgspec import Meta, Raw, Struct

from format_source import FAMILIES, FORMAT, make_book, own_fields, plain_type
from reread.records.book import BookEntry
from reread.records.lenient import options, transcript_spelling

Schema = dict[str, Any]
DIALECT = "https://json-schema.org/draft/2020-12/schema"
_PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean"}
_ENTRIES = {each.key: each for each in make_book().entries}
_KEY_OF = {kind: (family, name) for family, kinds in FAMILIES.items() for name, kind in kinds.items()}
_UNIONS = ("attachment", "progress", "block")
_RAW = {
    ("frame/stream_event", "event"): "event",
    ("event/content_block_start", "content_block"): "block",
    ("frame/control_request", "request"): "control.request",
    ("frame/control_response", "response"): "control.response",
    ("record/user", "toolUseResult"): "part.toolUseResult",
}
"""Fields that a type keeps as raw JSON although what is in them is described."""


def transcript_schema() -> Schema:
    """Any line of a transcript."""
    kinds = [("record", name) for name in FAMILIES["record"] if name != "envelope"]
    builder = _SchemaBuilder(is_stream=False)
    for name in FAMILIES["file"]:  # which no line leads to
        builder.reference("file", name)
    return builder.whole("A line of a Claude Code transcript", "transcript", kinds)


def stream_schema() -> Schema:
    """Any line of the stream, in either direction."""
    kinds = [("record", name) for name in ("user", "assistant", "system")]
    kinds += [("frame", name) for name in FAMILIES["frame"]]
    builder = _SchemaBuilder(is_stream=True)
    for kind in ("record.system", "system.bookkeeping"):
        builder.reference(*kind.split("."))
    return builder.whole("A line of Claude Code's stream-json protocol", "stream", kinds)


def main() -> None:
    """Writes both into the package; those of `--json` are written by `document_schemas.py`."""
    for name, schema in (("transcript", transcript_schema()), ("stream", stream_schema())):
        (FORMAT / f"{name}.json").write_text(json.dumps(schema, separators=(",", ":")) + "\n", "utf-8")


class _SchemaBuilder:
    def __init__(self, *, is_stream: bool) -> None:
        self.definitions: dict[str, Schema] = {}
        self._is_stream = is_stream

    def whole(self, title: str, name: str, kinds: list[tuple[str, str]]) -> Schema:
        choices = [_chosen("type", kind, self.reference(family, kind)) for family, kind in kinds]
        head = {"$schema": DIALECT, "$id": f"reread.{name}", "title": title, "type": "object"}
        envelope = self.reference("record", "envelope")
        return {**head, "allOf": [envelope, *choices], "$defs": dict(sorted(self.definitions.items()))}

    def reference(self, family: str, name: str) -> Schema:
        key = f"{family}.{name}"
        if key not in self.definitions:
            self.definitions[key] = {}  # before its own fields, which may lead back to it
            self.definitions[key] = self._object(_ENTRIES[f"{family}/{name}"])
        return {"$ref": f"#/$defs/{key}"}

    def _object(self, of: BookEntry) -> Schema:
        fields: dict[str, Schema] = {}
        annotations = own_fields(of.family, of.name, FAMILIES[of.family][of.name])
        for field in of.fields:
            raw = _RAW.get((of.key, field.name))
            found = self._value(annotations[field.name]) if raw is None else self._described(raw)
            if field.name == "message" and of.family == "record" and "anyOf" in found:
                found["anyOf"].append({"type": ["string", "array"]})  # in files made by hand it is the content alone
            fields[field.name] = {"description": field.meaning, **found}
            if self._is_stream and of.family in ("record", "system"):
                fields[_stream_spelling(field.name)] = fields[field.name]
        made: Schema = {"description": of.meaning, "type": "object", "properties": fields}
        if of.key == "record/system":
            subtypes = [name for name in FAMILIES["system"] if name != "bookkeeping"]
            made["allOf"] = [_chosen("subtype", name, self.reference("system", name)) for name in subtypes]
        if of.key == "record/tool_result":
            made["allOf"] = [self.reference("record", "user")]
        return made

    def _described(self, name: str) -> Schema:
        family, _, kind = name.partition(".")
        if not kind:
            return self._union(family)
        return {"anyOf": [self.reference(family, kind), {"type": ["string", "array", "null"]}]}

    def _value(self, annotation: Any) -> Schema:
        meta = next((each for each in get_args(annotation) if isinstance(each, Meta)), None)
        annotation = plain_type(annotation)
        members = [each for each in options(annotation) if each is not NoneType]
        if annotation in (Any, Raw) or Raw in members:
            return {}
        family = next((name for name in _UNIONS if members[0] in FAMILIES[name].values()), None)
        if family is not None:
            return self._union(family)
        if len(members) > 1 or members[0] is not annotation:
            return _either([self._value(each) for each in members])
        if get_origin(annotation) is list:
            return {"type": ["array", "null"], "items": self._value(get_args(annotation)[0])}
        if get_origin(annotation) is dict:
            return {"type": ["object", "null"], "additionalProperties": self._value(get_args(annotation)[1])}
        if isinstance(annotation, type) and issubclass(annotation, Struct):
            return _or_null(self.reference(*_KEY_OF[annotation]))
        limits = {"minimum": meta.ge, "maximum": meta.le} if meta is not None else {}
        return {"type": [_PLAIN[annotation], "null"], **limits}

    def _union(self, family: str) -> Schema:
        """An object told by its type; one of an unknown type may have anything."""
        if family not in self.definitions:
            self.definitions[family] = {}
            choices = [_chosen("type", name, self.reference(family, name)) for name in FAMILIES[family]]
            self.definitions[family] = {"description": str(family), "allOf": choices}
        return {"$ref": f"#/$defs/{family}"}


def _chosen(key: str, value: str, then: Schema) -> Schema:
    condition = {"type": "object", "properties": {key: {"const": value}}, "required": [key]}
    return {"if": condition, "then": then}


def _or_null(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def _either(schemas: list[Schema]) -> Schema:
    """One schema of several: types are joined, so that `string or number` is one list."""
    plain = [each for each in schemas if set(each) <= {"type", "minimum", "maximum"}]
    if len(plain) < len(schemas):
        return {"anyOf": schemas}
    kinds = list(dict.fromkeys(name for each in plain for name in each["type"]))
    return {"type": [name for name in kinds if not (name == "integer" and "number" in kinds)]}


def _stream_spelling(key: str) -> str:
    """`parentToolUseID` -> `parent_tool_use_id`; a key that has no other spelling stays."""
    snake = re.sub(r"(?<=[a-z0-9])([A-Z]+)", lambda found: f"_{found[1].lower()}", key)
    return snake if transcript_spelling(snake) == key else key


if __name__ == "__main__":
    main()
