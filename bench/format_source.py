"""What the book of the format is made of: every record, attachment, block, frame and side file, with its fields.

What an object has comes from its type, what it means from `records/format/*.toml`, how often it was seen from
`counts.json` beside them. A test fails where a field has no sentence, so the book cannot drift from the types.
"""

from __future__ import annotations

import json
import tomllib
from functools import cache
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, get_args, get_origin

from msgspec import Raw, Struct

from reread.records import book, conversation, frames, state, system
from reread.records.attachments import AttachmentBody
from reread.records.base import ForkedFrom, Number, Record
from reread.records.book import Book, BookEntry, BookField, Family
from reread.records.content import (
    Block,
    CacheCreation,
    DocumentSource,
    ImageSource,
    Iteration,
    OutputTokensDetails,
    ServerToolCounts,
    Usage,
)
from reread.records.decoder import RECORD_TYPES
from reread.records.lenient import OURS, UNKNOWN_TAG, fields_of, options

FORMAT = Path(book.__file__).with_name("format")
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
_FAMILIES: dict[str, Kinds] = {
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
_NAMES = {kind: f"part/{name}" for name, kind in PARTS.items()}
_PLAIN = {str: "string", int: "integer", float: "number", bool: "true or false", Any: "any JSON", Raw: "any JSON"}


@cache
def prose(family: str) -> dict[str, Any]:
    return tomllib.loads(_text(f"{family}.toml"))


@cache
def counts() -> dict[str, Any]:
    """How often each entry and field occurs in the folders that `bench/format_counts.py` was given."""
    found: dict[str, Any] = json.loads(_text("counts.json"))
    return found


def _text(name: str) -> str:
    return (FORMAT / name).read_text("utf-8")


FAMILIES: dict[str, Kinds] = {
    family: dict(sorted(kinds.items(), key=lambda each: [*prose(family), each[0]].index(each[0])))
    for family, kinds in _FAMILIES.items()
}
"""Every described object by family and name, in the order of their sentences, in the file of the family's name."""


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
    own = {key: each for key, each in named if not key.startswith(OURS) and key not in inherited}
    return own | {key: _ANNOTATIONS[words] for key, words in _unread(family, name).items()}


_ANNOTATIONS = {type_words(each): each for each in (str, int, bool, Number, Raw, list[str], list[int], list[Any])}


def _unread(family: str, name: str) -> dict[str, str]:
    """The fields that no type has because nothing reads them, with the words for their types."""
    found: dict[str, str] = prose(family).get(name, {}).get("unread", {})
    return found


def make_book() -> Book:
    """The whole book, which `format_book.py` keeps in the package."""
    families = {
        name: Family(**{("says" if key == "is" else key): text for key, text in prose(name)["family"].items()})
        for name in FAMILIES
    }
    entries = [_entry(family, name, kind) for family, kinds in FAMILIES.items() for name, kind in kinds.items()]
    unread: dict[str, set[str]] = {}
    for family, kinds in FAMILIES.items():
        for name, kind in kinds.items():
            unread.setdefault(kind.__name__, set()).update(_unread(family, name))
    names = {kind: sorted(each) for kind, each in sorted(unread.items()) if each}
    return Book(lines=counts()["lines"], families=families, entries=entries, unread=names)


def _entry(family: str, name: str, kind: type[Struct]) -> BookEntry:
    written = prose(family).get(name, {})
    sentences = {**prose(family).get("shared", {}), **written.get("fields", {})}
    seen = counts()["entries"].get(f"{family}/{name}", {})
    fields = tuple(
        BookField(key, type_words(each), sentences.get(key, ""), seen.get("fields", {}).get(key, {}))
        for key, each in own_fields(family, name, kind).items()
    )
    texts = [str(written.get(key, "")) for key in ("is", "changes", "trouble")]
    first, last, number = str(written.get("wide", "")).split() or ("", "", "")
    wide = {"n": int(number), "first": first, "last": last} if number else {}
    is_stream = family in ("frame", "event", "control") or written.get("where") == "stream"
    line = _whole_line(family, name, written["line"], is_stream=is_stream) if "line" in written else ""
    numbers = {key: value for key, value in seen.items() if key != "fields"}
    return BookEntry(family, name, texts[0], fields, texts[1], texts[2], line, is_stream, numbers, wide)


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
