"""Puts a name in the place of every secret, in texts, JSON values, lines and whole sessions."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
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
from .shapes import EMAIL, GENERIC_NAMES, USER, entropy

_SHORTEST = 8
"""Letters of a secret that is looked for wherever it stands; shorter ones are taken out where they are known."""
_SHORTEST_NAME = 5
_KEY_LINE = re.compile(r"[A-Za-z0-9+/=]{20,}")
_NOTHING = "'<$>'"
"""Letters that begin no secret."""
_SHORT = 200
"""Letters of a text that is likely to come again."""
_TOGETHER, _AT_ONCE = 2_000, 20_000
"""Letters of a text that is looked at together with others, and of all these. Of longer ones most hold a path of
somebody's, and would be looked at twice."""
_MOST_WAITING = 200
"""Lines that wait for others to be looked at with."""
_BETWEEN = "\n\0\n"
"""Between such texts: no pattern reaches over it."""
_CLEAN: list[FoundSecret] = []
"""What is found in a text without secrets."""
PLACEHOLDER = re.compile(r"\\?\[redacted: (?P<kind>[^\]\n]{1,60}) \d+\\?\]")


class Redactor:
    """Knows the secrets of a session, by value."""

    def __init__(
        self,
        *,
        addresses: bool = False,
        spared: frozenset[str] = frozenset(),
        spared_values: frozenset[str] = frozenset(),
    ) -> None:
        self.addresses = addresses
        self.spared = spared
        """Kinds that stay."""
        self.spared_values = spared_values
        """Single finds that stay, whatever their kind."""
        self._names: dict[str, str] = {}
        self._numbers: Counter[str] = Counter()
        self._found: dict[str, list[FoundSecret]] = {}
        """Texts with the secrets of each: a session tells most texts several times, in its lines, records and pages."""
        self.clean = KnownTexts()
        """Texts without."""
        self._patterns: dict[tuple[str, ...], re.Pattern[str]] = {}
        self._everywhere: dict[str, str] = {}
        """Secrets that are looked for by themselves, with the kind of each."""
        self._shortest = 0
        """Letters of the shortest of them."""
        self._redacted: dict[str, str] = {}
        """Short texts as they become: names of fields, and what else stands in every line. Only until more is known."""
        self.unchanged = KnownTexts()
        """Those of them that stay as they are."""

    def learn(self, text: str) -> None:
        """Takes note of the secrets of a text."""
        for each in self._find(text):
            if not each.is_rest:
                self._note(each.kind, each.value)

    def learn_all(self, texts: list[str]) -> None:
        """The same for many texts: short ones are looked at together, which takes a fifth of the time."""
        new = list(dict.fromkeys(text for text in texts if text not in self.clean.texts and text not in self._found))
        self.look_at(new)
        for text in self.with_secrets(new):
            self.learn(text)

    def with_secrets(self, texts: Iterable[str]) -> list[str]:
        """Those of many texts that were looked at in which something was found, whatever others told."""
        return [text for text in texts if text in self._found]

    def look_at(self, texts: list[str]) -> None:
        """Finds what is in many texts, and takes no note of it yet."""
        new = [text for text in texts if text not in self._found and not self._is_plain(text)]
        short = [text for text in new if len(text) <= _TOGETHER]
        if may_be_coloured(_BETWEEN.join(short)):  # colours are taken out of all or of none
            short = [text for text in short if not may_be_coloured(text)]
        self.clean.texts.update(set(short).difference(self._suspects(short)))
        for text in new:
            self._find(text)

    def _is_plain(self, text: str) -> bool:
        if is_plain_id(text):
            self.clean.texts.add(text)
        return text in self.clean.texts

    def _suspects(self, texts: list[str]) -> set[str]:
        """Those of many texts in which something may be."""
        starts = list(accumulate((len(text) + len(_BETWEEN) for text in texts), initial=0))
        found = find(_BETWEEN.join(texts), addresses=self.addresses)
        suspects: set[str] = set()
        for each in found:
            first, last = bisect_right(starts, each.start) - 1, bisect_right(starts, each.end) - 1
            suspects.update(texts[first : last + 1])
        return suspects

    def drop_texts(self) -> None:
        """Remembers only the secrets: one pass over gigabytes gains nothing from remembered texts."""
        for texts in (self._found, self.clean, self._redacted, self.unchanged):
            texts.clear()

    def found_in(self, text: str) -> list[FoundSecret]:
        """The secrets of a text by itself, whatever others told."""
        return self._find(text)

    def learn_assigned(self, name: str, value: str) -> None:
        self._note(kind_of_name(name), value)

    def redact(self, text: str) -> str:
        """The text with a name in the place of each secret; as it is where there is none."""
        if text in self.unchanged.texts:
            return text
        made = self._redacted.get(text)
        if made is None:
            made = self._with_names(text)
            if len(text) <= _SHORT:  # behind it: what is new in a text makes all others unsure
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
        """A value that is a secret by the name of its field."""
        return value if value in self.spared_values else self._placeholder(kind_of_name(name), value)

    def values_of(self, names: Collection[str]) -> frozenset[str]:
        """The secrets that were given these names."""
        return frozenset(value for value, name in self._names.items() if name in names)

    def left_in(self, text: str) -> Counter[str]:
        """What of the known secrets a text still holds, and what else in it is one; by kind."""
        outside = PLACEHOLDER.sub(_NOTHING, text)
        return Counter(each.kind for each in self._spans(outside))

    def _find(self, text: str) -> list[FoundSecret]:
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
                for part in (line, line[1:]):  # a plus before it may be that of a diff
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
        """The known secrets that stand in a text, the longest first: one may begin with another."""
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
        by_shape = self._find(text)
        if not known:
            return by_shape
        return without_overlaps(text, sorted([*by_shape, *known], key=lambda each: (each.start, -each.end)))


def _whole(value: str) -> str:
    """A value where it is no part of a longer word. What stands before it is asked behind it: a pattern that begins
    with letters is found many times as fast."""
    letters = re.escape(value)
    before = rf"(?:(?<![A-Za-z0-9]{letters})|(?<=\\[nrt]{letters}))" if value[0].isalnum() else ""
    after = r"(?![A-Za-z0-9])" if value[-1].isalnum() else ""
    return f"{letters}{before}{after}"


def _is_distinctive(kind: str, value: str) -> bool:
    """Whether a value is a secret wherever it stands, and no word that also has another meaning."""
    if kind == USER:
        return len(value) >= _SHORTEST_NAME and value.lower() not in GENERIC_NAMES
    if kind == EMAIL:
        return True
    is_word = value.isalpha() and (value.islower() or value.istitle())
    return len(value) >= _SHORTEST and not is_word and entropy(value) >= 2.3


def placeholders(text: str) -> tuple[Counter[str], Counter[str]]:
    """What was taken out of a text, by kind: how often, and how many different ones."""
    found = list(PLACEHOLDER.finditer(text))
    different = {match[0].replace("\\", ""): match["kind"] for match in found}
    return Counter(match["kind"] for match in found), Counter(different.values())


def learn_lines(redactor: Redactor, lines: Iterable[bytes]) -> None:
    """Takes note of lines of JSON; of what is none, as text."""
    learn_values(redactor, (_value_of(raw) for raw in lines))


def learn_values(redactor: Redactor, values: Iterable[Any]) -> None:
    known: set[str] = set()
    for each in _looked_at(redactor, values):
        found = set(redactor.with_secrets(each.texts)) - known
        for text in texts_of(each.value) if len(found) > 1 else found:  # numbered in the order of reading
            if text in found:
                redactor.learn(text)
        known |= found
        for name, text in assigned(each.value) if each.is_named else ():
            redactor.learn_assigned(name, text)


def secrets_of_lines(redactor: Redactor, lines: Iterable[bytes]) -> Iterator[list[tuple[str, str]]]:
    """Kind and value of every secret, line by line."""
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
    """All in which there may be something, and others."""
    is_named: bool


def _looked_at(redactor: Redactor, values: Iterable[Any]) -> Iterator[_Looked]:
    """Values with their texts, all of which were looked at: those of many values at once."""
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
    """All that a line says; a text where it is no JSON, and a list of all where two writers wrote on it at once."""
    values: list[Any] = []
    while raw or not values:
        _, everything, raw = whole_value(raw)
        values.append(everything)
    return values if len(values) > 1 else values[0]


def redacted_value(redactor: Redactor, value: Any) -> Any:
    """The same value without secrets; the same object where it has none.

    Without recursion: JSON may be nested deeper than Python calls.
    """
    for name, text in assigned(value):  # names are numbered from the top, parts are made from the bottom
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
    """Whether any part was replaced; a comparison by value would go down to the bottom at every level."""
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
    """Kind and value of every secret of a line; the redactor remembers texts that it has seen."""
    return next(secrets_of_lines(redactor, [raw]))


def redacted_line(redactor: Redactor, raw: bytes) -> bytes:
    """A line of JSON without secrets; byte for byte the same where it has none."""
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
    """The same for any line, however it is written, whatever is assigned in it and however many values it has."""
    made: list[bytes] = []
    while raw or not made:
        whole = whole_value(raw)
        first = raw[: len(raw) - len(whole.rest)]
        redacted = _redacted_first(redactor, first, whole)
        made.append(redacted.rstrip() + first[len(first.rstrip()) :] if whole.rest else redacted)
        raw = whole.rest
    return made[0] if len(made) == 1 else b"".join(made)


def _redacted_first(redactor: Redactor, raw: bytes, whole: WholeValue) -> bytes:
    """Of names that an object has twice only the last value stays, where any part of the line is a secret."""
    if whole.value is None:
        text = raw.decode("utf-8", "surrogateescape")
        return redactor.redact(text).encode("utf-8", "surrogateescape")
    made = redacted_value(redactor, whole.value)
    is_same = whole.everything is whole.value or redacted_value(redactor, whole.everything) is whole.everything
    if made is whole.value and is_same:
        return raw
    return json.dumps(made, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def redacted_session(session: Session, redactor: Redactor) -> Session:
    """The same session, every value of it without secrets. All of it is learned first."""
    learn_session(redactor, session)
    return session.rewritten(Rewriter(redactor))


def learn_session(redactor: Redactor, session: Session) -> None:
    """Takes note of all secrets of a session: what is one in a result is one in a prompt."""
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
    """Takes the secrets out of any value a session is made of; a record that is given twice stays one."""

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
            is_same = raw and raw is record.raw and not record.rest  # all else was read from it
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
    """What a JSON value still holds, by kind."""
    left: Counter[str] = Counter()
    for text in texts_of(value):
        left += redactor.left_in(text)
    left += Counter(kind_of_name(name) for name, text in assigned(value) if not PLACEHOLDER.search(text))
    return left
