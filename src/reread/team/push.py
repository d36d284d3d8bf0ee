"""Sends sessions to a team's store: one to a transaction, only what is not there, and nothing half."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from reread.archive.filters import Filter
from reread.archive.listing import passing_ids
from reread.errors import RereadError, printable
from reread.index.sessions import sessions_by_id

from .payload import ALL, LEDGER, TEXT_FORM, Known, Parcels, SentNames, Waiting, redactions
from .store import Store, StoreAway, as_json, told

if TYPE_CHECKING:
    from reread.archive import Archive
    from reread.index.sessions import StoredSession


class Sent(Struct, frozen=True, kw_only=True):
    """What went to the store."""

    target: str
    what: str
    sent: int
    unchanged: int
    failed: int
    forgotten: int
    """Sessions that the team had forgotten: they stay away."""
    bytes_sent: int
    redacted: int
    problems: list[str]


class _There(Struct, frozen=True):
    """What the store has of a session."""

    digest: str
    text_digest: str | None
    content_digest: str | None


def push(
    archive: Archive,
    store: Store,
    wanted: Filter | None,
    what: str = LEDGER,
    *,
    is_hashed: bool = False,
    is_dry: bool = False,
) -> Sent:
    """Raises StoreAway where the store is gone on the way: what was sent until then stays, and is not sent again."""
    parcels = Parcels(archive, names_of(store, is_hashed=is_hashed))
    there = _all_there(store)
    counts = {"sent": 0, "unchanged": 0, "failed": 0, "forgotten": 0, "bytes_sent": 0, "redacted": 0}
    problems = []
    if not is_dry:
        with told():
            store.one("SELECT reread.retire()")
    with told():
        since = store.one("SELECT reread.kept_since()")
    for each in parcels.waiting(_chosen(archive, wanted)):
        parts = _lacking(each, there.get(each.key), what)
        if not parts:
            counts["unchanged"] += 1
            continue
        try:
            before = there.get(each.key)
            made = _made(parcels, each, parts, _known(store, each, before, parts, since))
            is_taken = is_dry or _send(store, each, made, before)
            if is_taken is None:  # another push of the same person came in between
                made = _made(parcels, each, parts, Known(since=since))
                is_taken = _send(store, each, made)
        except StoreAway:
            raise
        except RereadError as problem:
            counts["failed"] += 1
            problems.append(f"{printable(each.stored.row.uuid)} was not sent: {problem}")
            continue
        counts["sent" if is_taken else "forgotten"] += 1
        if is_taken:
            counts["bytes_sent"] += sum(len(json.dumps(part, ensure_ascii=False).encode()) for part in made.values())
            counts["redacted"] += redactions(made["text"]["lines"]) if "text" in made else 0
    return Sent(target=store.address, what=what, problems=problems, **counts)


def shown(archive: Archive, stored: StoredSession, what: str, names: SentNames) -> dict[str, Any]:
    """Exactly what a push would send of a session, part by part."""
    parcels = Parcels(archive, names)
    [each] = parcels.waiting([stored])
    return {part: getattr(parcels, part)(each) for part in _parts(what)}


def names_of(store: Store, *, is_hashed: bool) -> SentNames:
    with told():
        return SentNames((store.note("salt") or "").encode()) if is_hashed else SentNames()


def _parts(what: str) -> tuple[str, ...]:
    return ("ledger",) if what == LEDGER else ("ledger", "text") if what != ALL else ("ledger", "text", "content")


def _chosen(archive: Archive, wanted: Filter | None) -> Iterator[StoredSession]:
    """The oldest first: who watches the team's report sees it grow in the order of time."""
    ids = passing_ids(archive.connection, wanted or Filter())
    return sessions_by_id(archive.connection, ids[::-1])


def _made(parcels: Parcels, each: Waiting, parts: list[str], known: Known) -> dict[str, dict[str, Any]]:
    return {part: getattr(parcels, part)(each, known) for part in parts}


def _known(store: Store, each: Waiting, there: _There | None, parts: list[str], since: int | None) -> Known:
    """What the store has of a session, as far as these parts ask for it."""
    if there is None:
        return Known(since=since)
    files = store.rows("SELECT * FROM reread.known_files(%s)", (each.key,)) if "ledger" in parts else []
    lines = store.rows("SELECT * FROM reread.known_lines(%s)", (each.key,)) if "text" in parts else []
    pieces = store.rows("SELECT * FROM reread.known_parts(%s)", (each.key,)) if "content" in parts else []
    has_words = (there.text_digest or "").startswith(TEXT_FORM)
    return Known(
        marks={file: (size, digest) for file, size, digest, _ in files},
        told={(file, key): digest for file, _, _, told in files for key, digest in told.items()},
        lines={(agent, position): digest for agent, position, digest in lines} if has_words else None,
        parts={name: (part, size, digest) for name, part, size, digest in pieces},
        since=since,
    )


def _all_there(store: Store, only: str | None = None) -> dict[str, _There]:
    rows = store.rows(
        """SELECT key, digest, text_digest, content_digest FROM reread.session
           WHERE person = reread.caller() AND (%s::text IS NULL OR key = %s)""",
        (only, only),
    )
    return {key: _There(*digests) for key, *digests in rows}


def _lacking(each: Waiting, there: _There | None, what: str) -> list[str]:
    """The parts that the store has not, or has of before."""
    if there is None:
        return list(_parts(what))
    has = {
        "ledger": there.digest == each.digest,
        "text": there.text_digest == each.text_digest,
        "content": there.content_digest == each.digest,
    }
    return [part for part in _parts(what) if not has[part]]


def _send(store: Store, each: Waiting, made: dict[str, dict[str, Any]], before: _There | None = None) -> bool | None:
    """False where the team has forgotten the session; None where the store no longer has what it had before, which
    is what the parcels go on from."""
    with told(), store.connection.transaction():
        store.connection.execute("SELECT reread.lock_ledger()")
        if before is not None and _all_there(store, each.key).get(each.key) != before:
            return None
        if "ledger" in made:
            keys = store.one("SELECT reread.put_session(%s)", (as_json(made["ledger"]),))
            if keys is None:
                return False
            store.settle(keys)
        if "text" in made and not store.one("SELECT reread.put_text(%s)", (as_json(made["text"]),)):
            return False
        return "content" not in made or bool(store.one("SELECT reread.put_content(%s)", (as_json(made["content"]),)))
