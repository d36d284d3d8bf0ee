"""Every name that a client writes is a type of ours, or is listed here as kept without a meaning.

The client's program has tables of its own names; a newer client with another name fails here.
"""

from __future__ import annotations

import mmap
import os
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import get_args

import pytest

from client.install import VERSIONS, claude_binary
from reread.records import RECORD_TYPES, SYSTEM_SUBTYPES, attachments

pytestmark = pytest.mark.e2e

_PAIR = rb'(?:"[\w-]+"|[\w$]+):"[\w-]+"'
_FLAG = rb'(?:"[\w-]+"|[\w$]+):![01]'
_RECORD_TABLE = re.compile(rb"\{(?:" + _PAIR + rb"|" + _FLAG + rb")(?:,(?:" + _PAIR + rb"|" + _FLAG + rb"))*\}")
_KEY = re.compile(rb'(?:"([\w-]+)"|([\w$]+)):')
_LONGEST_TABLE = 12_000
_WRITTEN = (rb'type:"system",subtype:"(\w+)"', rb'type:[\w$]+\("system"\),subtype:[\w$]+\("(\w+)"\)')
_ATTACHED = rb'attachment\??\.type===?"(\w+)"'
_ORIGINS = re.compile(rb'[{,](?:\w+:"(?:harness|local|names|recorded|undecided)",){6,}')
"""A part of the table of who wrote each attachment."""

CLIENTS = [*VERSIONS, os.environ.get("REREAD_NEWEST_CLIENT", "2.1.328")]
"""Each week the newest there is (.github/workflows/checks.yml)."""

KEPT = Path(__file__).parents[1] / "client" / "kept_names.txt"
"""Names without a type, by kind: bookkeeping, events of screens and hosts, words for the model alone."""


def kept(kind: str) -> set[str]:
    """The names of a section, which begins with `[kind]`."""
    _, _, rest = KEPT.read_text("utf-8").partition(f"[{kind}]\n")
    return set(rest.partition("[")[0].split())


@cache
def program(version: str) -> mmap.mmap:
    with claude_binary(version).open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def names_by(version: str, patterns: Iterable[bytes]) -> set[str]:
    return {name.decode() for pattern in patterns for name in re.findall(pattern, program(version))}


def record_names(version: str) -> set[str]:
    """The keys of the tables that say how each kind of record is folded and kept."""
    whole, found = program(version), set[str]()
    for named in re.finditer(rb'"pr-link":', whole):
        begin = whole.rfind(b"{", max(0, named.start() - _LONGEST_TABLE), named.start())
        table = _RECORD_TABLE.match(whole, begin) if begin >= 0 else None
        found |= {(quoted or plain).decode() for quoted, plain in _KEY.findall(table[0])} if table else set()
    return found


def attachment_names(version: str) -> set[str]:
    tables = b"".join(_ORIGINS.findall(program(version)))
    return names_by(version, [_ATTACHED]) | {plain.decode() for _, plain in _KEY.findall(tables)}


def known_attachments() -> set[str]:
    return {str(kind.__struct_config__.tag) for kind in get_args(attachments.AttachmentBody)}


def names_of(version: str) -> set[str]:
    return record_names(version) | names_by(version, _WRITTEN) | attachment_names(version)


@pytest.mark.parametrize("version", CLIENTS)
def test_every_record_of_the_client_is_a_type_or_listed(version: str) -> None:
    names = record_names(version)
    assert {"user", "assistant", "tag", "relocated", "worktree-state"} <= names
    assert names - set(RECORD_TYPES) - kept("record") == set()


@pytest.mark.parametrize("version", CLIENTS)
def test_every_system_line_of_the_client_is_a_type_or_listed(version: str) -> None:
    names = names_by(version, _WRITTEN)
    assert {"compact_boundary", "turn_duration"} <= names
    assert names - set(SYSTEM_SUBTYPES) - kept("system") == set()


@pytest.mark.parametrize("version", CLIENTS)
def test_every_attachment_of_the_client_is_a_type_or_listed(version: str) -> None:
    names = attachment_names(version)
    assert {"hook_success", "invoked_skills", "queued_command"} <= names
    assert names - known_attachments() - kept("attachment") == set()


def test_what_is_listed_is_no_type_and_some_client_still_has_it() -> None:
    listed = kept("record") | kept("system") | kept("attachment")
    assert not listed & {*RECORD_TYPES, *SYSTEM_SUBTYPES, *known_attachments()}
    every = {name for each in CLIENTS for name in names_of(each)}
    assert listed <= every
