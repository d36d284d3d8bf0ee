"""The book of the format: every record, attachment, block, frame and side file, with each of its fields.

What an object has comes from its type, what it means from `format/*.toml`, how often it was seen from
`format/counts.json`. A test fails where a field has no sentence, so the book cannot drift from the types.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import resources
from types import NoneType
from typing import Annotated, Any, get_args, get_origin

from msgspec import Raw, Struct

from . import conversation, frames, state, system
from .attachments import AttachmentBody
from .base import ForkedFrom, Record, version_numbers
from .content import (
    Block,
    CacheCreation,
    DocumentSource,
    ImageSource,
    Iteration,
    OutputTokensDetails,
    ServerToolCounts,
    Usage,
)
from .decoder import RECORD_TYPES
from .lenient import OURS, UNKNOWN_TAG, fields_of, options

Kinds = dict[str, type[Struct]]


def _by_tag(union: Any) -> Kinds:
    tags = {str(kind.__struct_config__.tag): kind for kind in get_args(union)}
    return {tag: kind for tag, kind in tags.items() if tag != UNKNOWN_TAG}


PARTS: Kinds = {
    "message": conversation.ApiMessage,
    "usage": Usage,
    "cache_creation": CacheCreation,
    "server_tool_use": ServerToolCounts,
    "output_tokens_details": OutputTokensDetails,
    "iterations": Iteration,
    "diagnostics": conversation.Diagnostics,
    "cache_miss_reason": conversation.CacheMissReason,
    "toolUseResult": conversation.ResultTwin,
    "origin": conversation.Origin,
    "thinkingMetadata": conversation.ThinkingMetadata,
    "permissionDecision": conversation.PermissionDecision,
    "forkedFrom": ForkedFrom,
    "image_source": ImageSource,
    "document_source": DocumentSource,
    "hookInfos": system.HookInfo,
    "compactMetadata": system.CompactMetadata,
    "preservedSegment": system.PreservedSegment,
    "preservedMessages": system.PreservedMessages,
    "microcompactMetadata": system.MicrocompactMetadata,
    "commandRun": system.CommandRun,
    "snapshot": state.BackupSnapshot,
    "backup": state.FileBackup,
    "worktreeSession": state.Worktree,
    "derived_session": state.SessionOrigin,
    "modelUsage": state.ModelUsage,
    "delta": frames.ApiDelta,
    "index_entry": state.IndexEntry,
}
"""Objects inside of others."""
FILES: Kinds = {
    "meta.json": state.AgentMeta,
    "custom-title.json": state.CustomTitleFile,
    "sessions-index.json": state.SessionsIndex,
    "history.jsonl": state.HistoryEntry,
    "settings.json": state.SettingsFields,
}
_FRAMES = {tag: kind for tag, kind in RECORD_TYPES.items() if kind.__module__ == frames.__name__}
FAMILIES: dict[str, Kinds] = {
    "record": {"envelope": Record, **{tag: kind for tag, kind in RECORD_TYPES.items() if tag not in _FRAMES}},
    "system": {**system.SYSTEM_SUBTYPES, "bookkeeping": system.Bookkeeping},
    "attachment": _by_tag(AttachmentBody),
    "progress": _by_tag(state.ProgressData),
    "block": _by_tag(Block),
    "part": PARTS,
    "frame": dict(_FRAMES),
    "event": _by_tag(frames.ApiEvent),
    "control": {"request": frames.ClientAsks, "response": frames.HostAnswer},
    "file": FILES,
}
"""Every described object by family and name; a family's sentences are in the file of its name."""
_NAMES = {kind: f"part/{name}" for name, kind in PARTS.items()}
_PLAIN = {str: "string", int: "integer", float: "number", bool: "true or false", Any: "any JSON", Raw: "any JSON"}


class BookField(Struct, frozen=True):
    """One field of an entry."""

    name: str
    type: str
    meaning: str
    annotation: Any
    seen: dict[str, Any]
    """`lines`, `first` and `last` of the counts; empty where it was never seen."""


class BookEntry(Struct, frozen=True):
    """What is known of one kind of object."""

    family: str
    name: str
    kind: type[Struct]
    meaning: str
    fields: tuple[BookField, ...]
    changes: str
    """What older and newer clients do instead."""
    trouble: str
    """What goes wrong."""
    line: str
    """The smallest whole line or object."""
    is_stream: bool
    """Whether only the stream has it."""
    seen: dict[str, Any]
    wide: dict[str, Any]
    """The same in the larger set that the format was first described from; empty where it was not counted there."""

    @property
    def key(self) -> str:
        return f"{self.family}/{self.name}"

    @property
    def versions(self) -> str:
        """The first and last client that it was seen from, of both counts; empty where it was never seen."""
        known = [each[end] for each in (self.seen, self.wide) for end in ("first", "last") if end in each]
        return between(known)


@cache
def prose(family: str) -> dict[str, Any]:
    return tomllib.loads(_text(f"{family}.toml"))


@cache
def counts() -> dict[str, Any]:
    """How often each entry and field occurs in the folders that `bench/format_counts.py` was given."""
    found: dict[str, Any] = json.loads(_text("counts.json"))
    return found


@cache
def document_schemas() -> dict[str, Any]:
    """JSON Schemas of what `--json` prints: `sessions` for `reread.sessions/1`."""
    found: dict[str, Any] = json.loads(_text("documents.json"))
    return found


def schema_of(name: str) -> dict[str, Any] | None:
    """The JSON Schema of a whole line, of one kind, or of a document; None if there is none."""
    if name in ("transcript", "stream"):
        whole: dict[str, Any] = json.loads(_text(f"{name}.json"))
        return whole
    document: dict[str, Any] | None = document_schemas().get(name.removeprefix("reread.").partition("/")[0])
    found = next(iter(find_entries(name)), None)
    if document is not None or found is None:
        return document
    root = f"{found.family}.{found.name}"
    names = ("stream.json", "transcript.json") if found.is_stream else ("transcript.json", "stream.json")
    whole = next(each for each in map(json.loads, map(_text, names)) if root in each["$defs"])
    reached = {root: whole["$defs"][root]}
    waiting = [root]
    while waiting:
        named = set(re.findall(r'"#/\$defs/([^"]+)"', json.dumps(reached[waiting.pop()])))
        waiting += sorted(named - set(reached))
        reached |= {each: whole["$defs"][each] for each in named}
    return {"$schema": whole["$schema"], "title": found.key, "$ref": f"#/$defs/{root}", "$defs": reached}


def _text(name: str) -> str:
    return resources.files("reread.records").joinpath("format", name).read_text("utf-8")


def own_fields(family: str, name: str, kind: type[Struct]) -> dict[str, Any]:
    """JSON names and annotations of the fields that this entry describes: inherited ones belong to `envelope` and
    `system`, and those of bookkeeping subtypes to `bookkeeping`."""
    if kind is system.Bookkeeping and name != "bookkeeping":
        return {}
    above: Any = Record if kind is not Record and issubclass(kind, Record) else None
    if kind is conversation.ToolResultLine:
        above = conversation.User
    elif family == "system":
        above = system.System
    inherited = {key for key, _ in fields_of(above).values()} if above is not None else set()
    named = fields_of(kind).values()
    return {key: each for key, each in named if not key.startswith(OURS) and key not in inherited}


@cache
def entry(family: str, name: str) -> BookEntry:
    kind, written = FAMILIES[family][name], prose(family).get(name, {})
    shared = prose(family).get("shared", {})
    sentences = {**shared, **written.get("fields", {})}
    seen = counts()["entries"].get(f"{family}/{name}", {})
    fields = tuple(
        BookField(key, type_words(each), sentences.get(key, ""), each, seen.get("fields", {}).get(key, {}))
        for key, each in own_fields(family, name, kind).items()
    )
    texts = [str(written.get(key, "")) for key in ("is", "changes", "trouble")]
    first, last, number = str(written.get("wide", "")).split() or ("", "", "")
    wide = {"n": int(number), "first": first, "last": last} if number else {}
    is_stream = family in ("frame", "event", "control") or written.get("where") == "stream"
    line = _whole_line(family, name, written["line"], is_stream=is_stream) if "line" in written else ""
    return BookEntry(family, name, kind, texts[0], fields, texts[1], texts[2], line, is_stream, seen, wide)


_IDS = '"uuid":"u4","parentUuid":"u3","sessionId":"s1","timestamp":"2026-11-19T09:00:00.000Z"'
_FRAME_IDS = '"uuid":"u4","session_id":"s1"'


def _whole_line(family: str, name: str, own: str, *, is_stream: bool) -> str:
    """A line or object of the text that is its own."""
    if family in ("record", "frame", "event", "block"):
        own = f'"type":"{name}",{own}' if name != "envelope" else own
    elif family == "system":
        subtype = "vcs_state_changed" if name == "bookkeeping" else name
        own = f'"type":"system","subtype":"{subtype}",{_FRAME_IDS if is_stream else _IDS},{own}'
    elif family == "attachment":
        body = f'"type":"{name}",{own}'.rstrip(",")
        own = f'"type":"attachment",{_IDS},"attachment":{{{body}}}'
    elif family == "progress":
        own = f'"type":"progress",{_IDS},"data":{{"type":"{name}",{own}}}'
    return f"{{{own.rstrip(',')}}}"


def between(versions: Iterable[str]) -> str:
    """The first and last of some versions: `2.1.90 to 2.1.325`."""
    ordered = sorted(versions, key=lambda each: version_numbers(each) or ())
    return " to ".join(dict.fromkeys((ordered[0], ordered[-1]))) if ordered else ""


def find_entries(name: str) -> list[BookEntry]:
    """The entries of a name, `attachment/file` or `file`; names of several families give several."""
    return [each for each in entries() if name in (each.key, each.name)]


def find_fields(name: str) -> list[tuple[BookEntry, BookField]]:
    """Every field of a name, with the entry that has it."""
    return [(each, one) for each in entries() for one in each.fields if one.name == name]


def entries() -> Iterator[BookEntry]:
    for family, kinds in FAMILIES.items():
        for name in kinds:
            yield entry(family, name)


def plain_type(annotation: Any) -> Any:
    """An annotation without its limits: `Annotated[int, ...]` is int."""
    return getattr(annotation, "__origin__", annotation) if get_origin(annotation) is Annotated else annotation


def type_words(annotation: Any) -> str:
    """An annotation in words: `list of string`, `part/usage`."""
    annotation = plain_type(annotation)
    if get_origin(annotation) is list:
        return f"list of {type_words(get_args(annotation)[0])}"
    if get_origin(annotation) is dict:
        return f"object of {type_words(get_args(annotation)[1])} by name"
    members = [each for each in options(annotation) if each is not NoneType]
    if members == [annotation]:
        return _NAMES.get(annotation) or _PLAIN.get(annotation) or "object"
    family = next((name for name, kinds in FAMILIES.items() if members[0] in kinds.values() and len(members) > 1), None)
    if family is not None and family != "part":
        return family
    return " or ".join(dict.fromkeys(map(type_words, members))).replace("integer or number", "number")
