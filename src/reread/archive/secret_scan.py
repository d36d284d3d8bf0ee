"""Which keys and passwords past sessions contain, so that a person can replace them.

Every file is searched once, on all processors; findings are kept without the secret's value. Later questions read only
what is new.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from hashlib import blake2b
from operator import attrgetter
from pathlib import Path
from secrets import token_bytes
from typing import TYPE_CHECKING, Any, NamedTuple

from reread.errors import SafeDamaged
from reread.features.secrets import Redactor
from reread.features.secrets.find import VERSION
from reread.features.secrets.json_values import texts_of
from reread.features.secrets.redact import secrets_of, secrets_of_lines
from reread.features.secrets.shapes import EMAIL, USER
from reread.index import read as reading
from reread.index.database import transaction
from reread.index.findings import (
    KeptSecret,
    SecretRow,
    Unread,
    digest_key,
    keep_secrets,
    kept_secrets,
    last_seen_secrets,
    make_digest_key,
    unread,
)
from reread.index.read import StoredPiece
from reread.index.safe_reader import IN_ORDER, SafeLines, SafeReader
from reread.index.sessions import StoredSession
from reread.index.user_data import REPLACED, labels
from reread.records import parse_or_none
from reread.records.json_parts import object_of, objects_in, text_or_none
from reread.rows.groups import grouped
from reread.safe.safe import Safe
from reread.times import is_moment, moment
from reread.workers import in_order, in_shares

from .filters import Filter, FilterOptions, make_filter
from .listing import passing

if TYPE_CHECKING:
    from typing import Unpack

SPARED = frozenset({EMAIL, USER})
"""Not reported: a person's identity is not a secret that can be replaced."""
ADVICE = "Make new ones where these were issued and let the old ones expire: all who read these sessions can use them."
_DIGEST = 8
SHARE = 2_000_000
"""Bytes that are searched together."""
AHEAD = 8
"""How many shares may be with workers, or finished but not yet written."""


class SecretLocation(NamedTuple):
    """One line that contains a secret."""

    session: StoredSession
    uuid: str | None
    field: str
    """prompt, text, thinking, tool, result or other."""
    time: datetime | None
    file: int
    offset: int


class ExposedSecret(NamedTuple):
    """A key or a password and all the places that contain it, without its value."""

    id: str
    """The same value has the same id, but only within this archive."""
    kind: str
    places: tuple[SecretLocation, ...]
    """Oldest first; a line that a fork copied is listed once."""
    replaced: datetime | None = None
    """When a person said that it was replaced."""

    @property
    def first(self) -> datetime | None:
        return next((place.time for place in self.places if place.time is not None), None)

    @property
    def last(self) -> datetime | None:
        return next((place.time for place in reversed(self.places) if place.time is not None), None)

    @property
    def is_done(self) -> bool:
        """Whether it was replaced, and not seen since."""
        return self.replaced is not None and (self.last is None or self.last <= self.replaced)

    @property
    def sessions(self) -> list[str]:
        return list(dict.fromkeys(place.session.row.uuid for place in self.places))


class SecretCall(NamedTuple):
    """A tool call in whose input or result a secret stands."""

    tool: str
    input: Any


class SecretsAnswer(NamedTuple):
    secrets: list[ExposedSecret]
    """Those to replace first, of these the most recently seen."""
    total: int
    read_bytes: int
    """How much was searched for this answer; the rest was already known."""
    damaged: int
    """How many files could not be searched because the safe has lost part of them."""
    open: int = 0
    """How many are not replaced, or were seen since."""


class SecretScan:
    """Searches what is new for secrets, and reports where they are."""

    def __init__(self, connection: sqlite3.Connection, files: SafeReader, *, is_read_only: bool) -> None:
        self._connection = connection
        self._files = files
        self._is_read_only = is_read_only
        self._key = digest_key(connection)
        self._passing: list[KeptSecret] = []
        """What was found in an archive that cannot be written."""
        self._damaged = 0
        self._held: tuple[int, bytes] = (0, b"")
        """The file that was read last, and its content: secrets stand together."""

    def report(
        self,
        base: Filter | None = None,
        tell: Callable[[int, int], None] | None = None,
        **filters: Unpack[FilterOptions],
    ) -> SecretsAnswer:
        """Which keys and passwords past sessions contain, and where; never their values.

        What is new since the last question is searched first; `tell` is called with the bytes done and the total.
        """
        base = make_filter(base, filters)
        chosen = {each.id: each for each in passing(self._connection, base._replace(limit=None))}
        read = self._look_through(unread(self._connection, VERSION, chosen), tell)
        rows = [*kept_secrets(self._connection, chosen), *self._passing]
        replaced = {name: moment(at) for name, kind, _, at in labels(self._connection) if kind == REPLACED}
        grouped = (each for each in _grouped(rows, chosen, base) if each.places)
        found = sorted((each._replace(replaced=replaced.get(each.id)) for each in grouped), key=_order)
        found.sort(key=lambda each: each.last or _BEGINNING, reverse=True)
        found.sort(key=lambda each: each.is_done)
        still = sum(not each.is_done for each in found)
        return SecretsAnswer(found[: base.limit], len(found), read, self._damaged, still)

    def count_open(self) -> int:
        """How many of those found so far are not replaced, or were seen since; searches nothing."""
        replaced = {name: at for name, kind, _, at in labels(self._connection) if kind == REPLACED}
        return sum(
            name not in replaced or (last or 0) > replaced[name] for name, last in last_seen_secrets(self._connection)
        )

    def value_of(self, secret: ExposedSecret) -> str | None:
        """The secret itself, read from the safe again; None if that part of the safe is lost."""
        found = secrets_of(Redactor(spared=SPARED), self._line(secret.places[-1]))
        return next((value for _, value in found if _digest(value, self._key or b"").hex() == secret.id), None)

    def call_of(self, secret: ExposedSecret, value: str) -> SecretCall | None:
        """The first call that has the secret in its input or its result."""
        place = next((each for each in secret.places if each.field in ("tool", "result")), None)
        if place is None:
            return None
        blocks = _blocks(parse_or_none(self._line(place)))
        block = next((each for each in blocks if any(value in text for text in texts_of(each))), {})
        if block.get("type") != "tool_use":
            block = self._answered(place, block.get("tool_use_id"))
        return SecretCall(block["name"], block.get("input")) if isinstance(block.get("name"), str) else None

    def _answered(self, place: SecretLocation, given: object) -> dict[str, Any]:
        """The call that a result answers; a result that has a file of its own is named as its call."""
        call = given if isinstance(given, str) else reading.file_by_id(self._connection, place.file).path.stem
        at = reading.place_of_call(self._connection, place.session.id, call)
        made = _blocks(parse_or_none(self._line(place._replace(file=at[0], offset=at[1])))) if at else []
        return next((each for each in made if each.get("id") == call), {})

    def _line(self, place: SecretLocation) -> bytes:
        """The line, or a result that has a file of its own; empty if that part of the safe is lost."""
        row = reading.file_by_id(self._connection, place.file)
        if self._held[0] != row.id:
            self._held = row.id, self._files.left_of(row, hashed=False).content
        content = self._held[1]
        return content if row.kind == "tool_result" else content[place.offset :].partition(b"\n")[0]

    def _look_through(self, parts: list[Unread], tell: Callable[[int, int], None] | None) -> int:
        total = sum(part.end - part.start for part in parts)
        done = 0
        if parts and self._key is None:
            self._key = self._make_key()
        for share, found in in_order(_look, self._shares(parts), AHEAD, total):
            self._keep(share, found)
            done += share.size
            if tell is not None:
                tell(done, total)
        return total

    def _shares(self, parts: Iterable[Unread]) -> Iterator[_Share]:
        return map(self._share, in_shares(map(self._part, parts), attrgetter("size"), SHARE))

    def _part(self, part: Unread) -> _Part:
        return _Part(part, reading.pieces_of(self._connection, part.file, part.generation, part.start, part.end))

    def _share(self, parts: list[_Part]) -> _Share:
        return _Share(parts, self._files.folder, self._key or b"")

    def _keep(self, share: _Share, found: list[list[SecretRow] | None]) -> None:
        pairs = [
            (part, self._look_again(part) if rows is None else rows)
            for (part, _), rows in zip(share.parts, found, strict=True)
        ]
        if self._is_read_only:
            self._passing += [KeptSecret(part.session, part.file, row) for part, rows in pairs for row in rows]
            return
        with transaction(self._connection):
            for part, rows in pairs:
                keep_secrets(self._connection, part, VERSION, rows)

    def _look_again(self, part: Unread) -> list[SecretRow]:
        """Tries again with fresh positions: a forget running at the same time may have moved the pieces."""
        [rows] = _look(self._share([self._part(part)]))
        self._damaged += rows is None
        return rows or []

    def _make_key(self) -> bytes:
        if self._is_read_only:
            return token_bytes(32)
        with transaction(self._connection):
            return make_digest_key(self._connection)


class _Part(NamedTuple):
    unread: Unread
    pieces: list[StoredPiece]

    @property
    def size(self) -> int:
        return self.unread.end - self.unread.start


class _Share(NamedTuple):
    """What is searched together, with everything that a worker needs."""

    parts: list[_Part]
    safe: Path
    key: bytes

    @property
    def size(self) -> int:
        return sum(each.size for each in self.parts)


def _look(share: _Share) -> list[list[SecretRow] | None]:
    """The secrets in each part; None if the safe has lost some of it. Runs in a worker or in this process."""
    lines = SafeLines(Safe(share.safe), IN_ORDER)
    return [_rows(lines, each, share.key) for each in share.parts]


def _rows(safe: SafeLines, part: _Part, key: bytes) -> list[SecretRow] | None:
    start, is_one_text = part.unread.start, part.unread.kind == "tool_result"
    try:
        content = safe.line(part.pieces, start, part.unread.end - start)
    except SafeDamaged:
        return None
    lines = [content] if is_one_text else content.split(b"\n")
    rows: list[SecretRow] = []
    for line, secrets in zip(lines, secrets_of_lines(Redactor(spared=SPARED), lines), strict=True):
        found = dict.fromkeys(secrets)
        if found:
            value = None if is_one_text else parse_or_none(line)
            for kind, secret in found:
                field = "result" if is_one_text else field_of(value, secret)
                rows.append(SecretRow(start, kind, _digest(secret, key), _uuid(value), field, _time(value)))
        start += len(line) + 1
    return rows


def _digest(value: str, key: bytes) -> bytes:
    return blake2b(value.encode("utf-8", "surrogatepass"), digest_size=_DIGEST, key=key).digest()


_BEGINNING = datetime.min.replace(tzinfo=UTC)


def _order(secret: ExposedSecret) -> tuple[str, str, int]:
    """The order of secrets that were last seen at the same time: by kind and session, so that it is always the same."""
    place = secret.places[0]
    return secret.kind, place.session.row.uuid, place.offset


def _grouped(rows: Iterable[KeptSecret], chosen: dict[int, StoredSession], filters: Filter) -> Iterator[ExposedSecret]:
    kept = (row for row in rows if filters.keeps_time(moment(row.row.time)))
    for digest, group in grouped(kept, lambda row: row.row.digest).items():
        group.sort(key=lambda each: (each.row.time or 0, chosen[each.session].row.uuid, each.row.offset, each.file))
        lines: dict[object, KeptSecret] = {}
        for each in group:
            lines.setdefault(each.row.uuid or (each.file, each.row.offset), each)
        places = tuple(
            SecretLocation(
                chosen[each.session], each.row.uuid, each.row.field, moment(each.row.time), each.file, each.row.offset
            )
            for each in lines.values()
        )
        yield ExposedSecret(digest.hex(), group[0].row.kind, places)


def field_of(line: Any, secret: str) -> str:
    """Which part of a line contains a secret."""
    said = _spoken_line(line)
    own = {"user": "prompt", "assistant": "text"}.get(str(said.get("type")), "other")
    if isinstance(_content(said), str):
        return own
    for block in objects_in(_content(said)):
        if any(secret in text for text in texts_of(block)):
            field = _FIELDS.get(str(block.get("type")), "other")
            return own if field == "text" and own == "prompt" else field
    return "result" if "toolUseResult" in said else "other"


def _spoken_line(line: Any) -> dict[str, Any]:
    """The line, or the agent's line that a progress line repeats."""
    said = object_of(line)
    repeated = object_of(said.get("data")).get("message") if said.get("type") == "progress" else None
    return repeated if isinstance(repeated, dict) else said


def _content(said: dict[str, Any]) -> Any:
    message = said.get("message")
    return (message if isinstance(message, dict) else said).get("content")


def _blocks(line: Any) -> Iterable[dict[str, Any]]:
    return objects_in(_content(_spoken_line(line)))


_FIELDS = {"text": "text", "thinking": "thinking", "tool_use": "tool", "tool_result": "result"}


def _uuid(line: Any) -> str | None:
    return text_or_none(object_of(line).get("uuid"))


def _time(line: Any) -> int | None:
    found = object_of(line).get("timestamp")
    if not isinstance(found, str):
        return None
    try:
        time = datetime.fromisoformat(found)
        milliseconds = int((time if time.tzinfo is not None else time.replace(tzinfo=UTC)).timestamp() * 1000)
    except (ValueError, OverflowError):
        return None
    return milliseconds if is_moment(milliseconds) else None
