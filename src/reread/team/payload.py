"""What this machine sends of each session to a team's store, as much as is wanted, and how it is sent.

The ledger has numbers, and names of projects and branches, either as they are or as digests. It has no titles, prompts
or anything else that a person wrote. Text is redacted here, before it leaves the machine.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b, md5, sha256
from hmac import digest as hmac_digest
from importlib import metadata
from itertools import islice
from typing import TYPE_CHECKING, Any, LiteralString, NamedTuple

import msgspec
from msgspec import Struct
from msgspec.structs import astuple

from reread import errors, lazy, records, times, zstd
from reread.archive import kept_rows, on_all_processors, search_language
from reread.archive.filters import Filter
from reread.features import search_text

from .store import Store, database_errors

if TYPE_CHECKING:
    from reread import billing, loading
    from reread import rows as row_types
    from reread.archive import Archive, StoredSession
    from reread.features import secrets
else:
    lazy.bind(globals())


Document = dict[str, Any]

FORM = 1
"""Increase it when the same session gives other rows; then everything is sent again."""
TEXT_FORM = "2."
"""The prefix of a text's digest; change it when a line gives other words, and then everything is sent again."""
LEDGER, TEXT, ALL = "ledger", "text", "all"
_COUNTS = (
    *("time", "model", "speed", "geo", "tier", "input", "output", "cache_read", "cache_write_5m", "cache_write_1h"),
    *("web_searches", "is_sidechain", "is_abandoned", "doubt", "rows"),
)
_NUMBERS = (
    *("started", "ended", "versions", "models", "prompts", "turns", "requests", "tool_calls"),
    *("tool_errors", "thoughts"),
    *("output_tokens", "nanodollars", "unpriced_tokens", "subagents", "branches", "compactions", "bytes"),
)
NOT_SENT = "(not sent)"
_AT_ONCE, _MOST_BYTES = 16, 2_000_000
"""How many sessions, and of about what size, are sent together: the store is locked while it takes them in."""


class SentNames(Struct, frozen=True):
    """How names of projects, branches, agents and skills are sent: as they are, or as digests."""

    salt: bytes | None = None
    """The store's salt, so that a name has the same digest there whichever member pushed it. None sends names as they
    are."""

    def __call__(self, name: str | None, *, is_path: bool = False) -> str | None:
        if name is None or self.salt is None:
            return without_secrets(name, is_path=is_path)
        return "#" + self.digest(name)

    def digest(self, name: str) -> str:
        return hmac_digest(self.salt or b"", name.encode("utf-8", "surrogatepass"), "sha256").hex()[:16]


def without_secrets(name: str | None, *, is_path: bool = False) -> str | None:
    """A name as it is sent. The path of a project keeps the user's name; people who mind can choose digests."""
    return None if name is None else secrets.redacted_name(name, frozenset({secrets.USER} if is_path else ()))


class Outgoing(NamedTuple):
    """A session that may have to be sent, and the digests that show whether it must be."""

    stored: StoredSession
    machine: str
    key: str
    digest: str
    text_digest: str


class StoreState(Struct, frozen=True):
    """What a store has of a session, so that only differences are sent. Where it is None, everything is sent."""

    marks: dict[str, tuple[int, str]] = {}
    """By the key of a file: how many bytes of marks there are, and their digest."""
    told: dict[tuple[str, str], str | None] | None = None
    """By file and key: the digest of a response as the file reports it."""
    lines: dict[tuple[str | None, int], str] | None = None
    """By agent and position: the digest of a line."""
    parts: dict[str, tuple[int, int, str]] | None = None
    """By the name of a file: the number of its last part, and the size and digest of everything up to its end."""
    since: int | None = None
    """In milliseconds: text from before is not kept. None keeps all."""


NOTHING = StoreState()


class Payloads:
    """Makes the documents that are sent for the sessions of an archive."""

    def __init__(self, archive: Archive, names: SentNames) -> None:
        self.archive, self._names = archive, names
        self.kept = kept_rows.KeptRows(archive)

    def waiting(self, stored: Iterable[StoredSession]) -> Iterator[Outgoing]:
        """The sessions with their digests, from rows alone: no transcript is read to find that nothing is new."""
        for each in stored:
            machine = self.kept.machine_of(each)
            files, label = self.kept.figures(each), self.kept.labels.get(machine)
            about = (FORM, self.kept.version, self._names.salt is not None, label, [list(file) for file in files])
            row = tuple(getattr(each.row, name) for name in _NUMBERS)
            digest = sha256(json.dumps((about, row), default=str).encode()).hexdigest()
            text = TEXT_FORM + sha256(f"{digest} {each.row.title!a}".encode()).hexdigest()
            yield Outgoing(each, machine, self.kept.key_of(each), digest, text)

    def ledger(self, each: Outgoing, known: StoreState = NOTHING) -> Document:
        """The ledger's part of a session; see the module."""
        kept, row = self.kept.rows(each.stored), each.stored.row
        reported = [(one, file.contexts[one.context]) for file in kept.files for one in file.responses]
        numbers: dict[row_types.RequestContext, int] = {}
        places = [numbers.setdefault(context, len(numbers)) for _, context in reported]
        stands = [self._place(number, context) for context, number in numbers.items()]
        rows = [_response_document(one, stands[place]) for (one, _), place in zip(reported, places, strict=True)]
        there = known.told or {}
        now = {(each["file"], each["key"]) for each in rows}
        changed = [each for each in rows if there.get((each["file"], each["key"])) != each["digest"]]
        used = {each["place"] for each in changed}
        return _clean(
            {
                "key": each.key,
                "uuid": row.uuid,
                "machine": each.machine,
                "label": self.kept.labels.get(each.machine, each.machine),
                "project": self._names(row.project, is_path=True),
                "digest": each.digest,
                "is_whole": known.told is None,
                "numbers": _numbers(row),
                "models": self._models(response for response, _ in reported),
                "places": [place for place in stands if place["number"] in used],
                "files": [self._file(file, known) for file in self.kept.figures(each.stored)],
                "told": changed,
                "gone": [{"file": file, "key": key} for file, key in there.keys() - now],
            }
        )

    def _models(self, responses: Iterable[billing.Response]) -> list[Document]:
        raw = sorted({name for response in responses if (name := without_secrets(response.model))})
        named = [(name, self.archive.prices.model(name)) for name in raw]
        return [{"raw": name, "model": m and m.name, "region": m and m.region} for name, m in named]

    def _place(self, number: int, context: row_types.RequestContext) -> Document:
        project = self._names(context.project, is_path=True)
        names = {name: self._names(getattr(context, name)) for name in ("git_branch", "agent", "skill")}
        circumstance = self._names.digest(repr(context))
        return {
            "number": number,
            "circumstance": circumstance,
            "project": project,
            **names,
            "tools": list(map(without_secrets, context.tools)),
        }

    def _file(self, file: kept_rows.FileFigures, known: StoreState) -> Document:
        content = self.kept.content(file)
        counts = {name: getattr(file, name) for name in ("key", "kind", "head", "began", "ended", "lines", "malformed")}
        marks = marks_of(content)
        since, digest = known.marks.get(file.key, (0, None))
        since = since if md5(marks[:since], usedforsecurity=False).hexdigest() == digest else 0
        sent = {"since": since, "marks": b64encode(marks[since:]).decode()}
        return {**counts, "role": self.kept.role_of(file), "size": len(content), **sent}

    def text(self, each: Outgoing, known: StoreState = NOTHING) -> Document:
        return text_of(self.archive, each, known)

    def content(self, each: Outgoing, known: StoreState = NOTHING) -> Document:
        """All bytes of the session's own files that the archive has."""
        names, files = [], []
        for name, about, content in self.kept.contents(each.stored):
            names.append(name)
            part = _part(content, (known.parts or {}).get(name))
            files += [{"name": name, **about, **part}] if part is not None else []
        return _clean(
            {
                "key": each.key,
                "digest": each.digest,
                "is_whole": known.parts is None,
                "ended": times.milliseconds(each.stored.ended),
                "names": names,
                "files": files,
            }
        )


def _is_kept(time: int | None, since: int | None) -> bool:
    return time is None or since is None or time >= since


def _part(content: bytes, last: tuple[int, int, str] | None) -> Document | None:
    """What a file has beyond the last part in the store, or all of it if its beginning changed; None if there is
    nothing new."""
    number, size, digest = last or (-1, 0, "")
    if sha256(content[:size]).hexdigest() != digest:
        number, size = -1, 0
    elif size == len(content):
        return None
    body = zstd.compress(content[size:], 3)
    about = {"part": number + 1, "size": len(content), "digest": sha256(content).hexdigest()}
    return {**about, "body": b64encode(body).decode()}


def _numbers(row: row_types.SessionRow) -> Document:
    names = {name: list(map(without_secrets, getattr(row, name))) for name in ("versions", "models")}
    return {name: getattr(row, name) for name in _NUMBERS} | names


def _response_document(response: billing.Response, place: Document) -> Document:
    about = {"file": response.file, "key": response.key, "place": place["number"]}
    counts = {name: getattr(response, name) for name in _COUNTS}
    counts |= {name: without_secrets(counts[name]) for name in ("model", "speed", "geo", "tier")}
    counts |= {name: bool(counts[name]) for name in ("is_sidechain", "is_abandoned")}
    stands = {name: value for name, value in place.items() if name != "number"}
    digest = sha256(json.dumps((FORM, counts, stands), default=str).encode()).hexdigest()[:16]
    return {**about, **counts, "digest": digest}


def marks_of(content: bytes) -> bytes:
    """For each line, an 8-byte digest of everything up to its end. They show whether one file continues another without
    the content of either."""
    running = blake2b(digest_size=8)
    found = bytearray()
    for line in content.splitlines(keepends=True):
        running.update(line)
        found += running.copy().digest()
    return bytes(found)


# -- text


def text_of(archive: Archive, each: Outgoing, known: StoreState = NOTHING) -> Document:
    """Prompts, replies, thinking and tool inputs, redacted; tool results are left out."""
    session = archive.session(each.stored)
    redactor = secrets.Redactor()
    secrets.learn_session(redactor, session)
    lines = [each for each in text_lines(session, redactor) if _is_kept(each["time"], known.since)]
    places = [(line["agent"], line["position"]) for line in lines]
    there = known.lines or {}
    gone = [{"agent": agent, "position": position} for agent, position in there.keys() - set(places)]
    changed = [
        {**line, "words": words_of(records.decode(line["line"].encode()))}
        for line, place in zip(lines, places, strict=True)
        if there.get(place) != md5(line["line"].encode(), usedforsecurity=False).hexdigest()
    ]
    about = {"key": each.key, "digest": each.text_digest, "title": redactor.redact(session.title)}
    return {**_clean({**about, "gone": gone}), "is_whole": known.lines is None, "lines": changed}


_ENVELOPE = (
    *("type", "subtype", "uuid", "parentUuid", "logicalParentUuid", "sessionId", "timestamp", "isSidechain", "agentId"),
    *("isMeta", "isCompactSummary", "isVisibleInTranscriptOnly", "isApiErrorMessage", "requestId", "version"),
    *("operation", "leafUuid", "customTitle", "aiTitle", "summary", "session_id", "parent_tool_use_id"),
)
_MESSAGE = ("id", "role", "model", "stop_reason", "usage", "type")
_BLOCKS = {
    "text": ("type", "text"),
    "thinking": ("type", "thinking"),
    "redacted_thinking": ("type",),
    "tool_use": ("type", "id", "name", "input"),
    "server_tool_use": ("type", "id", "name", "input"),
    "mcp_tool_use": ("type", "id", "name", "input"),
    "tool_result": ("type", "tool_use_id", "is_error"),
}
_WEIGHTS = {
    search_text.Field.PROMPT: "A",
    search_text.Field.TITLE: "A",
    search_text.Field.TEXT: "B",
    search_text.Field.THINKING: "C",
    search_text.Field.TOOL: "D",
}
_LONGEST_WORD, _LAST_POSITION, _MOST_POSITIONS = 200, 16_383, 255
"""The limits of a tsvector."""
_MOST_WORDS = 60_000
"""The most words of one line; a tsvector can hold a megabyte."""
_SURROGATE = re.compile("[\ud800-\udfff]")
_AS_JAVASCRIPT = (",", ":")
"""Without spaces, as the client writes its lines: only such lines are redacted in the quick way."""


def text_lines(session: loading.LoadedSession, redactor: secrets.Redactor) -> Iterator[Document]:
    """The lines of a session, each with only the fields that are sent, and redacted. The lines of agents in the
    session's own file are among its own."""
    agents = session.agents_with_files.items()
    for agent, found in ((None, session.records), *((name, each.records) for name, each in agents)):
        position = 0
        for record in found:
            kept = kept_line(record)
            if kept is not None:
                raw = _escaped(json.dumps(kept, ensure_ascii=False, separators=_AS_JAVASCRIPT)).encode()
                line = _escaped(secrets.redacted_line(redactor, raw))
                about = {
                    "position": position,
                    "agent": agent,
                    "uuid": record.uuid,
                    "time": times.milliseconds(record.time),
                }
                yield {**_clean(about), "line": line}
                position += 1


def _escaped(line: str | bytes) -> str:
    """JSON that any encoding accepts: lone surrogates are written as escapes."""
    text = line if isinstance(line, str) else line.decode("utf-8", "surrogatepass")
    return _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def kept_line(record: records.Record) -> Document | None:
    """The part of a line that is sent; None if it is not a line of a conversation."""
    try:
        value = json.loads(record.raw)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        return None
    kept = {name: value[name] for name in _ENVELOPE if name in value}
    if value["type"] == "queue-operation":
        kept["content"] = value.get("content")
    message = value.get("message")
    if isinstance(message, dict) and value["type"] in ("user", "assistant"):
        content = _content(message.get("content"), is_text_sent=not search_text.is_output(record))
        kept["message"] = {**{name: message[name] for name in _MESSAGE if name in message}, "content": content}
    return kept


def _content(content: Any, *, is_text_sent: bool) -> Any:
    if isinstance(content, str):
        return content if is_text_sent else NOT_SENT
    if not isinstance(content, list):
        return NOT_SENT
    return [_block(block, is_text_sent=is_text_sent) for block in content if isinstance(block, dict)]


def _block(block: Document, *, is_text_sent: bool) -> Document:
    kind = block.get("type")
    names = _BLOCKS.get(kind) if isinstance(kind, str) else None
    if names is None or (kind == "text" and not is_text_sent):
        return {"type": "text", "text": NOT_SENT}
    kept = {name: block[name] for name in names if name in block}
    return {**kept, "content": NOT_SENT} if kind == "tool_result" else kept


def words(text: str) -> list[str]:
    """The words by which a text is found, split and folded as the archive's own index does it."""
    return [word[:_LONGEST_WORD] for word in search_language.folded_words(text)]


def words_of(record: records.Record) -> str:
    """The words of a line in PostgreSQL's format for a tsvector, with positions, and with fields as weights."""
    found: dict[str, list[str]] = {}
    number = 0
    for field, text in search_text.texts_of(record):
        if field is search_text.Field.RESULT or text == NOT_SENT:
            continue
        for word in words(text):
            number += 1
            places = found.setdefault(word, [])
            if len(places) < _MOST_POSITIONS and (len(found) <= _MOST_WORDS):
                places.append(f"{min(number, _LAST_POSITION)}{_WEIGHTS[field]}")
        number += 1  # a gap, so that no phrase spans two texts
    return " ".join(f"'{word}':{','.join(places)}" for word, places in found.items() if places)


def redactions(lines: Iterable[Document]) -> int:
    """How many secrets were redacted in lines."""
    return sum(1 for line in lines for _ in secrets.PLACEHOLDER.finditer(line["line"]))


def _clean(document: Document) -> Document:
    made: Document = cleaned(document)
    return made


def cleaned(value: Any) -> Any:
    """A value without what PostgreSQL accepts in no text: NUL characters and lone surrogates."""
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value).replace("\0", "\ufffd")
    if isinstance(value, dict):
        return {name: cleaned(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [cleaned(each) for each in value]
    return value


class Sent(Struct, frozen=True, kw_only=True):
    """The result of a push to a store."""

    target: str
    what: str
    sent: int
    unchanged: int
    failed: int
    forgotten: int
    """How many sessions the team had forgotten; they are not sent."""
    bytes_sent: int
    redacted: int
    problems: list[str]


class _There(Struct, frozen=True):
    """The digests that the store has of a session."""

    digest: str
    text_digest: str | None
    content_digest: str | None


class _SessionToSend(NamedTuple):
    """A session to be sent: which parts of it, and what the store has of them."""

    session: Outgoing
    parts: list[str]
    before: _There | None
    known: StoreState


class _Parcel(NamedTuple):
    """A session on its way, as the store takes it."""

    session: _SessionToSend
    body: str
    redacted: int


class _MadeText(NamedTuple):
    """The text of a session as it is sent."""

    body: str = ""
    redacted: int = 0
    problem: str | None = None


def push(
    archive: Archive,
    store: Store,
    filters: Filter | None,
    what: str = LEDGER,
    *,
    is_hashed: bool = False,
    is_dry: bool = False,
    report: Callable[[int, int], None] | None = None,
) -> Sent:
    """Sends what the store lacks. Raises StoreAway if the store is lost on the way: what was sent until then stays, and
    is not sent again."""
    payloads = Payloads(archive, names_of(store, is_hashed=is_hashed))
    there = _all_there(store)
    if not is_dry:
        store.patiently(lambda: store.rows("SELECT reread.retire(), reread.tidy()"))
    with database_errors():
        since = store.one("SELECT reread.kept_since('retain_days')")
    chosen = payloads.kept.chosen(filters or Filter())  # oldest first, so that the team's report grows in that order
    lacking = [
        (each.stored.id, each.stored.row.bytes)
        for each in payloads.waiting(payloads.kept.sessions(chosen))
        if _lacking(each, there.get(each.key), what)
    ]
    total = sum(size for _, size in lacking)
    push = _Push(payloads, store, report, total, is_dry=is_dry)
    waiting = payloads.waiting(payloads.kept.sessions([number for number, _ in lacking]))
    outgoing = _outgoing(store, waiting, there, what, since)
    # Redacting is most of the work, so it runs on all processors.
    for each, text in on_all_processors(archive, _made_text, outgoing, total if what != LEDGER else 0):
        push.add(each, text)
    return push.finished(what, len(chosen) - len(lacking))


class _Push:
    """Sends sessions several at a time, since each time takes as long as the way to the server and back."""

    def __init__(
        self,
        payloads: Payloads,
        store: Store,
        report: Callable[[int, int], None] | None,
        total: int,
        *,
        is_dry: bool = False,
    ) -> None:
        self._payloads, self._store, self._report = payloads, store, report
        self._is_dry, self._done, self._total = is_dry, 0, total
        self._parcels: list[_Parcel] = []
        self.counts = {"sent": 0, "failed": 0, "forgotten": 0, "bytes_sent": 0, "redacted": 0}
        self.problems: list[str] = []

    def finished(self, what: str, unchanged: int) -> Sent:
        """Sends the rest, and tells the store how the push went."""
        self.send()
        if not self._is_dry:
            self._store.rows("SELECT reread.pushed_v1(%s, %s)", (metadata.version("reread"), self.counts["failed"]))
        return Sent(target=self._store.address, what=what, problems=self.problems, unchanged=unchanged, **self.counts)

    def add(self, each: _SessionToSend, text: _MadeText) -> None:
        try:
            self._parcels.append(_parcel(self._payloads, each, text))
        except errors.RereadError as problem:
            self._fail(each, problem)
        if len(self._parcels) >= _AT_ONCE or sum(len(parcel.body) for parcel in self._parcels) >= _MOST_BYTES:
            self.send()

    def send(self) -> None:
        """Sends what was added. Raises StoreAway if the store is lost."""
        parcels, self._parcels = self._parcels, []
        if not parcels:
            return
        try:
            answers = ["taken"] * len(parcels) if self._is_dry else self._answers(parcels)
        except errors.StoreAway:
            raise
        except errors.RereadError as problem:
            if len(parcels) == 1:
                self._fail(parcels[0].session, problem)
                return
            for parcel in parcels:  # one of them is refused, and with it all
                self._parcels = [parcel]
                self.send()
            return
        for parcel, answer in zip(parcels, answers, strict=True):
            self._count(parcel, answer)

    def _answers(self, parcels: list[_Parcel]) -> list[str]:
        query: LiteralString = "SELECT reread.put_sessions_v1(%s::jsonb)"
        sent = f"[{','.join(parcel.body for parcel in parcels)}]"
        [(answers,)] = self._store.patiently(lambda: self._store.rows(query, (sent,)))
        return list(answers)

    def _count(self, parcel: _Parcel, answer: str) -> None:
        each = parcel.session
        if answer == "changed":  # another push by the same person came in between
            again = each._replace(known=StoreState(since=each.known.since), before=None)
            self.add(again, _made_text(self._payloads.archive, again))
            self.send()
            return
        is_taken = answer == "taken"
        self.counts["sent" if is_taken else "forgotten"] += 1
        self.counts["bytes_sent"] += len(parcel.body.encode()) if is_taken else 0
        self.counts["redacted"] += parcel.redacted if is_taken else 0
        self._go_on(each)

    def _fail(self, each: _SessionToSend, problem: errors.RereadError) -> None:
        self.counts["failed"] += 1
        self.problems.append(f"{errors.printable(each.session.stored.row.uuid)} was not sent: {problem}")
        self._go_on(each)

    def _go_on(self, each: _SessionToSend) -> None:
        self._done += each.session.stored.row.bytes
        if self._report is not None:
            self._report(self._done, self._total)


def _outgoing(
    store: Store, waiting: Iterator[Outgoing], there: dict[str, _There], what: str, since: int | None
) -> Iterator[_SessionToSend]:
    """The sessions with what the store has of them, asked for several at a time."""
    while some := list(islice(waiting, _AT_ONCE)):
        parts = {each.key: _lacking(each, there.get(each.key), what) for each in some}
        known = _known(
            store, [key for key in parts if key in there], sorted({part for each in parts.values() for part in each})
        )
        for each in some:
            before = there.get(each.key)
            yield _SessionToSend(each, parts[each.key], before, _state(known.get(each.key), before, since))


def shown(archive: Archive, stored: StoredSession, what: str, names: SentNames) -> dict[str, Any]:
    """Exactly what a push would send of a session, part by part."""
    payloads = Payloads(archive, names)
    [each] = payloads.waiting([stored])
    return {part: getattr(payloads, part)(each) for part in _parts(what)}


def names_of(store: Store, *, is_hashed: bool) -> SentNames:
    with database_errors():
        return SentNames((store.note("salt") or "").encode()) if is_hashed else SentNames()


def _parts(what: str) -> tuple[str, ...]:
    return ("ledger",) if what == LEDGER else ("ledger", "text") if what != ALL else ("ledger", "text", "content")


def _made_text(archive: Archive, session: _SessionToSend) -> _MadeText:
    """The text of a session if it is to be sent; if it cannot be read, the reason."""
    if TEXT not in session.parts:
        return _MadeText()
    try:
        made = text_of(archive, session.session, session.known)
    except errors.RereadError as problem:
        return _MadeText(problem=str(problem))
    return _MadeText(_encoded(made), redactions(made["lines"]))


def _parcel(payloads: Payloads, each: _SessionToSend, text: _MadeText) -> _Parcel:
    """A session as JSON. Raises RereadError if it could not be read."""
    if text.problem is not None:
        raise errors.RereadError(text.problem)
    before = None if each.before is None else astuple(each.before)
    parts = {"key": _encoded(each.session.key), "before": _encoded(before)}
    parts |= {part: _encoded(getattr(payloads, part)(each.session, each.known)) for part in each.parts if part != TEXT}
    parts |= {TEXT: text.body} if TEXT in each.parts else {}
    if before is None:
        del parts["before"]
    body = ",".join(f'"{name}":{part}' for name, part in parts.items())
    return _Parcel(each, f"{{{body}}}", text.redacted)


def _encoded(document: object) -> str:
    return msgspec.json.encode(document).decode()


_Known = tuple[list[Any] | None, list[Any] | None, list[Any] | None]
"""Files, lines and parts of a session."""


def _known(store: Store, keys: list[str], parts: list[str]) -> dict[str, _Known]:
    rows = store.rows("SELECT * FROM reread.known_sessions_v1(%s, %s)", (keys, parts)) if keys else []
    return {key: (files, lines, pieces) for key, files, lines, pieces in rows}


def _state(known: _Known | None, there: _There | None, since: int | None) -> StoreState:
    """What the store has of a session."""
    if known is None or there is None:
        return StoreState(since=since)
    files, lines, pieces = (rows or [] for rows in known)
    has_words = (there.text_digest or "").startswith(TEXT_FORM)
    return StoreState(
        marks={file: (size, digest) for file, size, digest, _ in files},
        told={(file, key): digest for file, _, _, told in files for key, digest in told.items()},
        lines={(agent, position): digest for agent, position, digest in lines} if has_words else None,
        parts={name: (part, size, digest) for name, part, size, digest in pieces},
        since=since,
    )


def _all_there(store: Store) -> dict[str, _There]:
    rows = store.rows(
        """SELECT key, session.digest, title.digest, content_digest
           FROM reread.seen_session AS session LEFT JOIN reread.seen_title AS title ON title.session = session.id
           WHERE person = reread.caller()"""
    )
    return {key: _There(*digests) for key, *digests in rows}


def _lacking(each: Outgoing, there: _There | None, what: str) -> list[str]:
    """The parts that the store lacks or has an older version of."""
    if there is None:
        return list(_parts(what))
    has = {
        "ledger": there.digest == each.digest,
        "text": there.text_digest == each.text_digest,
        "content": there.content_digest == each.digest,
    }
    return [part for part in _parts(what) if not has[part]]
