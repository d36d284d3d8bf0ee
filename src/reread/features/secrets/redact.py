"""Puts a name in the place of every secret, in texts, JSON values, lines and whole sessions."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import lru_cache
from itertools import accumulate
from typing import Any, NamedTuple

import msgspec
from msgspec import Raw, Struct

from reread.records import Record
from reread.sessions import Session

from .find import FoundSecret, find, is_plain_id, may_be_coloured, without_overlaps
from .json_values import (
    KnownTexts,
    WholeValue,
    assigned,
    gathered,
    is_rewritten,
    is_unreadable,
    is_written_once,
    own_assigned,
    texts_of,
    whole_value,
)
from .named_values import kind_of_name
from .secret_values import entropy
from .shapes import EMAIL, GENERIC_NAMES, USER

_SHORTEST = 8
"""Letters of the shortest secret that is searched for everywhere; shorter ones are replaced only where they are
found."""
_SHORTEST_NAME = 5
_KEY_LINE = re.compile(r"[A-Za-z0-9+/=]{20,}")
_NOTHING = "'<$>'"
"""A text that cannot be the beginning of a secret."""
_SHORT = 200
"""Longest text that is likely to occur again, in letters."""
_TOGETHER, _AT_ONCE = 2_000, 20_000
"""Longest text that is examined together with others, and how much text is examined at once, in letters. Most longer
texts contain a path with a user's name, and would be examined twice."""
_MOST_WAITING = 200
"""The most lines that wait to be examined together."""
_BETWEEN = "\n\0\n"
"""Separates texts that are examined together: no pattern matches across it."""
_CLEAN: list[FoundSecret] = []
"""The finds in a text without secrets."""
PLACEHOLDER = re.compile(r"\\?\[redacted: (?P<kind>[^\]\n]{1,60}) \d+\\?\]")


class Redactor:
    """The secrets of a session, known by their values, with the name that replaces each."""

    def __init__(
        self,
        *,
        addresses: bool = False,
        spared: frozenset[str] = frozenset(),
        spared_values: frozenset[str] = frozenset(),
    ) -> None:
        self.addresses = addresses
        self.spared = spared
        """Kinds that are not redacted."""
        self.spared_values = spared_values
        """Single values that are not redacted, whatever their kind."""
        self._names: dict[str, str] = {}
        self._numbers: Counter[str] = Counter()
        self._found: dict[str, list[FoundSecret]] = {}
        """Texts with the secrets of each: a session repeats most texts, in its lines, records and pages."""
        self.clean = KnownTexts()
        """Texts without secrets."""
        self._patterns: dict[tuple[str, ...], re.Pattern[str]] = {}
        self._everywhere: dict[str, str] = {}
        """Secrets that are searched for everywhere, with the kind of each."""
        self._shortest = 0
        """Length of the shortest of them."""
        self._redacted: dict[str, str] = {}
        """Short texts with their redacted form: names of fields, and others that every line has. Cleared with every new
        secret."""
        self.unchanged = KnownTexts()
        """Short texts that redacting does not change."""

    def learn(self, text: str) -> None:
        """Remembers the secrets of a text."""
        for each in self.found_in(text):
            if not each.is_rest:
                self._note(each.kind, each.value)

    def learn_all(self, texts: list[str]) -> None:
        """The same for many texts: short ones are examined together, which takes a fifth of the time."""
        new = list(dict.fromkeys(text for text in texts if text not in self.clean.texts and text not in self._found))
        self.look_at(new)
        for text in self.with_secrets(new):
            self.learn(text)

    def with_secrets(self, texts: Iterable[str]) -> list[str]:
        """The texts, among those already examined, in which a secret was found."""
        return [text for text in texts if text in self._found]

    def look_at(self, texts: list[str]) -> None:
        """Finds the secrets of many texts without learning them yet."""
        new = [text for text in texts if text not in self._found and not self._is_plain(text)]
        short = [text for text in new if len(text) <= _TOGETHER]
        if may_be_coloured(_BETWEEN.join(short)):  # colours are removed from all joined texts or from none
            short = [text for text in short if not may_be_coloured(text)]
        self.clean.texts.update(set(short).difference(self._suspects(short)))
        for text in new:
            self.found_in(text)

    def _is_plain(self, text: str) -> bool:
        if is_plain_id(text):
            self.clean.texts.add(text)
        return text in self.clean.texts

    def _suspects(self, texts: list[str]) -> set[str]:
        """The texts in which something may be, found by examining all of them together."""
        starts = list(accumulate((len(text) + len(_BETWEEN) for text in texts), initial=0))
        found = find(_BETWEEN.join(texts), addresses=self.addresses)
        suspects: set[str] = set()
        for each in found:
            first, last = bisect_right(starts, each.start) - 1, bisect_right(starts, each.end) - 1
            suspects.update(texts[first : last + 1])
        return suspects

    def drop_texts(self) -> None:
        """Forgets all texts and keeps only the secrets: one pass over gigabytes gains nothing from remembered texts."""
        for texts in (self._found, self.clean, self._redacted, self.unchanged):
            texts.clear()

    def learn_assigned(self, name: str, value: str) -> None:
        self._note(kind_of_name(name), value)

    def redact(self, text: str) -> str:
        """The text with a name in the place of each secret; the same object if there is none."""
        if text in self.unchanged.texts:
            return text
        made = self._redacted.get(text)
        if made is None:
            made = self._with_names(text)
            if len(text) <= _SHORT:  # longer texts rarely occur again
                if made is text:
                    self.unchanged.texts.add(text)
                else:
                    self._redacted[text] = made
        return made

    def _with_names(self, text: str) -> str:
        spans = self._spans(text)
        if not spans:
            return text
        parts: list[str] = []
        position = 0
        for each in spans:
            parts += [text[position : each.start], self._placeholder(each.kind, each.value)]
            position = each.end
        return "".join([*parts, text[position:]])

    def redact_assigned(self, name: str, value: str) -> str:
        """Replaces a value that the name of its field makes a secret."""
        return value if value in self.spared_values else self._placeholder(kind_of_name(name), value)

    def values_of(self, names: Collection[str]) -> frozenset[str]:
        """The secrets that are replaced by these names."""
        return frozenset(value for value, name in self._names.items() if name in names)

    def left_in(self, text: str) -> Counter[str]:
        """The secrets still in a text, by kind: known ones, and others that are found in it."""
        outside = PLACEHOLDER.sub(_NOTHING, text)
        return Counter(each.kind for each in self._spans(outside))

    def found_in(self, text: str) -> list[FoundSecret]:
        """The secrets of a text by itself, whatever was learned from others."""
        if text in self.clean.texts:
            return _CLEAN
        found = self._found.get(text)
        if found is None:
            found = [each for each in find(text, addresses=self.addresses) if not self._is_spared(each)]
            if found:
                self._found[text] = found
            else:
                self.clean.texts.add(text)
        return found

    def _is_spared(self, each: FoundSecret) -> bool:
        return each.kind in self.spared or each.value in self.spared_values

    def _note(self, kind: str, value: str) -> None:
        if value in self._names or value in self.spared_values:
            return
        self._placeholder(kind, value)
        if kind in ("private key", "PuTTY key"):
            for line in _KEY_LINE.findall(value):
                for part in (line, line[1:]):  # a leading plus may be that of a diff
                    self._names.setdefault(part, self._names[value])
                    self._look_for(part, kind)
        elif _is_distinctive(kind, value):
            self._look_for(value, kind)

    def _look_for(self, value: str, kind: str) -> None:
        self._everywhere[value] = kind
        self._shortest = min(len(value), self._shortest or len(value))
        self._redacted.clear()
        self.unchanged.clear()

    def _placeholder(self, kind: str, value: str) -> str:
        if value not in self._names:
            self._numbers[kind] += 1
            self._names[value] = f"[redacted: {kind} {self._numbers[kind]}]"
        return self._names[value]

    def _known_in(self, text: str) -> list[FoundSecret]:
        """The known secrets in a text, the longest first because one may begin with another."""
        if len(text) < self._shortest:
            return []
        known = [value for value in self._everywhere if value in text]
        if not known:
            return []
        there = tuple(sorted(known, key=len, reverse=True))
        if there not in self._patterns:
            self._patterns[there] = re.compile("|".join(_whole(value) for value in there))
        matches = self._patterns[there].finditer(text)
        return [FoundSecret(self._everywhere[match[0]], match.start(), match.end(), match[0]) for match in matches]

    def _spans(self, text: str) -> list[FoundSecret]:
        known = self._known_in(text)
        by_shape = self.found_in(text)
        if not known:
            return by_shape
        return without_overlaps(text, sorted([*by_shape, *known], key=lambda each: (each.start, -each.end)))


def _whole(value: str) -> str:
    """A pattern for a value that is not part of a longer word. The letter before the value is checked after matching
    it: a pattern that begins with letters is found many times as fast."""
    letters = re.escape(value)
    before = rf"(?:(?<![A-Za-z0-9]{letters})|(?<=\\[nrt]{letters}))" if value[0].isalnum() else ""
    after = r"(?![A-Za-z0-9])" if value[-1].isalnum() else ""
    return f"{letters}{before}{after}"


def _is_distinctive(kind: str, value: str) -> bool:
    """Whether a value is a secret wherever it occurs, and not also an ordinary word."""
    if kind == USER:
        return len(value) >= _SHORTEST_NAME and value.lower() not in GENERIC_NAMES
    if kind == EMAIL:
        return True
    is_word = value.isalpha() and (value.islower() or value.istitle())
    return len(value) >= _SHORTEST and not is_word and entropy(value) >= 2.3


def placeholders(text: str) -> tuple[Counter[str], Counter[str]]:
    """How many secrets of each kind were replaced in a text: all of them, and different ones."""
    found = list(PLACEHOLDER.finditer(text))
    different = {match[0].replace("\\", ""): match["kind"] for match in found}
    return Counter(match["kind"] for match in found), Counter(different.values())


def learn_lines(redactor: Redactor, lines: Iterable[bytes]) -> None:
    """Learns the secrets of JSON lines; a line that is not JSON is read as text."""
    learn_values(redactor, (_value_of(raw) for raw in lines))


def learn_values(redactor: Redactor, values: Iterable[Any]) -> None:
    known: set[str] = set()
    for each in _looked_at(redactor, values):
        found = set(redactor.with_secrets(each.texts)) - known
        for text in texts_of(each.value) if len(found) > 1 else found:  # in reading order, which decides the numbers
            if text in found:
                redactor.learn(text)
        known |= found
        for name, text in assigned(each.value) if each.is_named else ():
            redactor.learn_assigned(name, text)


def secrets_of_lines(redactor: Redactor, lines: Iterable[bytes]) -> Iterator[list[tuple[str, str]]]:
    """Kind and value of every secret, in one list per line."""
    for each in _looked_at(redactor, (_value_of(raw) for raw in lines)):
        telling = redactor.with_secrets(each.texts)
        yield _secrets_in(redactor, each, telling) if each.is_named or telling else []


def _secrets_in(redactor: Redactor, looked: _Looked, telling: list[str]) -> list[tuple[str, str]]:
    found = [(each.kind, each.value) for text in telling for each in redactor.found_in(text) if not each.is_rest]
    if not looked.is_named:
        return found
    values = {secret for _, secret in found}
    return [*found, *((kind_of_name(name), text) for name, text in assigned(looked.value) if text not in values)]


class _Looked(NamedTuple):
    value: Any
    texts: list[str]
    """All texts in which there may be a secret, and some others."""
    is_named: bool


def _looked_at(redactor: Redactor, values: Iterable[Any]) -> Iterator[_Looked]:
    """Values with their texts, after these were examined; the texts of many values are examined at once."""
    waiting: list[_Looked] = []
    new: dict[str, None] = {}
    size = 0
    for value in values:
        texts, is_named = gathered(value, redactor.clean)
        waiting.append(_Looked(value, texts, is_named))
        new.update(dict.fromkeys(texts))
        size += sum(map(len, texts))
        if size >= _AT_ONCE or len(waiting) >= _MOST_WAITING:
            redactor.look_at(list(new))
            yield from waiting
            waiting, new, size = [], {}, 0
    redactor.look_at(list(new))
    yield from waiting


def _value_of(raw: bytes) -> Any:
    """Everything on a line: a text if it is not JSON, a list of all values if two writers wrote on it at once."""
    values: list[Any] = []
    while raw or not values:
        _, everything, raw = whole_value(raw)
        values.append(everything)
    return values if len(values) > 1 else values[0]


def redacted_value(redactor: Redactor, value: Any) -> Any:
    """The same value without secrets; the same object if it has none.

    Not recursive: JSON may be nested deeper than Python's call stack allows.
    """
    for name, text in assigned(value):  # placeholders are numbered top-down, but parts are rebuilt bottom-up
        if redactor.redact(text) == text:
            redactor.redact_assigned(name, text)
    made: dict[int, Any] = {}
    waiting: list[tuple[Any, bool]] = [(value, False)]
    while waiting:
        each, are_parts_made = waiting.pop()
        if not isinstance(each, list | dict):
            continue
        if not are_parts_made:
            waiting.append((each, True))
            parts = each.values() if isinstance(each, dict) else each
            waiting.extend((part, False) for part in parts if isinstance(part, list | dict))
        elif isinstance(each, list):
            items = [_part(redactor, item, made) for item in each]
            made[id(each)] = items if _is_other(items, each) else each
        else:
            own = dict(own_assigned(each))
            fields = {redactor.redact(key): _field(redactor, each, key, own, made) for key in each}
            is_changed = _is_other(list(fields.values()), list(each.values())) or fields.keys() != each.keys()
            made[id(each)] = fields if is_changed else each
    return _part(redactor, value, made)


def _part(redactor: Redactor, value: Any, made: dict[int, Any]) -> Any:
    return redactor.redact(value) if isinstance(value, str) else made.get(id(value), value)


def _is_other(one: list[Any], other: list[Any]) -> bool:
    """Whether any part was replaced. Comparing by value would descend to the bottom at every level."""
    return len(one) != len(other) or any(new is not old for new, old in zip(one, other, strict=True))


def _field(redactor: Redactor, fields: dict[str, Any], key: str, assigned: dict[str, str], made: dict[int, Any]) -> Any:
    value = fields[key]
    if is_unreadable(fields, key):
        return value
    if key in assigned:
        known = redactor.redact(value)
        return known if known != value else redactor.redact_assigned(assigned[key], value)
    return _part(redactor, value, made)


def secrets_of(redactor: Redactor, raw: bytes) -> list[tuple[str, str]]:
    """Kind and value of every secret of a line; the redactor remembers the texts it has examined."""
    return next(secrets_of_lines(redactor, [raw]))


def redacted_line(redactor: Redactor, raw: bytes) -> bytes:
    """A JSON line without secrets; byte for byte the same if it has none."""
    try:
        value = msgspec.json.decode(raw)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return _redacted_oddity(redactor, raw)
    if (type(value) is not dict and type(value) is not list) or not is_written_once(value, raw):
        return _redacted_oddity(redactor, raw)
    is_changed = is_rewritten(value, redactor.unchanged, redactor.redact)
    if is_changed is None:
        return _redacted_oddity(redactor, raw)
    return msgspec.json.encode(value) if is_changed else raw


def _redacted_oddity(redactor: Redactor, raw: bytes) -> bytes:
    """The same for any line, however it is written, with any secret fields and any number of values."""
    made: list[bytes] = []
    while raw or not made:
        whole = whole_value(raw)
        first = raw[: len(raw) - len(whole.rest)]
        redacted = _redacted_first(redactor, first, whole)
        made.append(redacted.rstrip() + first[len(first.rstrip()) :] if whole.rest else redacted)
        raw = whole.rest
    return made[0] if len(made) == 1 else b"".join(made)


def _redacted_first(redactor: Redactor, raw: bytes, whole: WholeValue) -> bytes:
    """If any part of the line is a secret, only the last value of a repeated name stays."""
    if whole.value is None:
        text = raw.decode("utf-8", "surrogateescape")
        return redactor.redact(text).encode("utf-8", "surrogateescape")
    made = redacted_value(redactor, whole.value)
    is_same = whole.everything is whole.value or redacted_value(redactor, whole.everything) is whole.everything
    if made is whole.value and is_same:
        return raw
    return json.dumps(made, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


@lru_cache(maxsize=1 << 12)
def redacted_name(name: str, spared: frozenset[str] = frozenset()) -> str:
    """A name, such as that of a branch, redacted by itself: it is replaced alike in every session."""
    return Redactor(spared=spared).redact(name)


def redacted_session(session: Session, redactor: Redactor) -> Session:
    """The same session without secrets. All of it is learned before anything is replaced."""
    learn_session(redactor, session)
    return session.rewritten(Rewriter(redactor))


def learn_session(redactor: Redactor, session: Session) -> None:
    """Learns all secrets of a session: a secret in a result is also one in a prompt."""
    learn_lines(redactor, _everything(session))
    for talk in (session, *session.subagents):
        for call in talk.tool_calls:
            if call.persisted is not None:
                redactor.learn(session.full_output(call))
    for text in (session.title, *session.files, *session.problems):
        redactor.learn(text)


def _everything(session: Session) -> Iterator[bytes]:
    for records in (session.records, *(agent.records for agent in session.subagents)):
        yield from (record.raw for record in records)
    for capture in session.captures:
        yield from (record.raw for record in capture.told.records)
        yield from (msgspec.json.encode(asked) for asked in capture.told.permissions.values())
    yield from (msgspec.json.encode(agent.meta) for agent in session.subagents if agent.meta is not None)


_SIGNED = frozenset({"signature"})


class Rewriter:
    """Takes the secrets out of any part of a session; a record that occurs twice stays one object."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._records: dict[int, tuple[Record, Record]] = {}
        self._forms: dict[type, Callable[[Any], Any]] = {
            str: redactor.redact,
            bytes: self._lines,
            Raw: lambda value: Raw(redacted_line(redactor, bytes(value))) if bytes(value) else value,
            dict: self._mapping,
            list: lambda value: [self(item) for item in value],
            tuple: lambda value: tuple(self(item) for item in value),
        }

    def __call__(self, value: Any) -> Any:
        if isinstance(value, Record):
            return self._record(value)
        form = self._forms.get(type(value))
        if form is not None:
            return form(value)
        return self._struct(value) if isinstance(value, Struct) else value

    def _record(self, record: Record) -> Record:
        known = self._records.get(id(record))
        if known is None:
            raw = self._lines(record.raw)
            is_same = raw and raw is record.raw and not record.rest  # all other fields were read from it
            known = self._records[id(record)] = (record, record if is_same else self._struct(record, raw=raw))
        return known[1]

    def _struct(self, value: Struct, **known: Any) -> Any:
        skipped = _SIGNED | known.keys() | ({"data"} if getattr(value, "type", None) == "base64" else frozenset())
        fields = {name: getattr(value, name) for name in value.__struct_fields__ if name not in skipped}
        changed = {name: made for name, old in fields.items() if (made := self(old)) is not old and made != old}
        changed |= {name: made for name, made in known.items() if made != getattr(value, name)}
        return msgspec.structs.replace(value, **changed) if changed else value

    def _mapping(self, value: dict[Any, Any]) -> Any:
        if all(isinstance(item, str | int | float | bool | list | dict | type(None)) for item in value.values()):
            return redacted_value(self._redactor, value)
        return {self(key): self(item) for key, item in value.items()}

    def _lines(self, raw: bytes) -> bytes:
        return b"\n".join(redacted_line(self._redactor, line) for line in raw.split(b"\n"))


def left_in_value(redactor: Redactor, value: Any) -> Counter[str]:
    """The secrets still in a JSON value, by kind."""
    left: Counter[str] = Counter()
    for text in texts_of(value):
        left += redactor.left_in(text)
    left += Counter(kind_of_name(name) for name, text in assigned(value) if not PLACEHOLDER.search(text))
    return left
