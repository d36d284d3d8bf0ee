"""Values that follow the name of a secret: `DB_PASSWORD=…`, `the token is …`, in many languages."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from reread.features.word_tables import filled, table

from .secret_values import APP_PASSWORD, is_gibberish, is_key, is_long_random, is_meant, is_password, is_random

# ruff: noqa: E501  a row is a line

_TABLE = table("secrets/rules", "words")


def _pattern(name: str, flags: re.RegexFlag | int = re.IGNORECASE) -> re.Pattern[str]:
    return re.compile(filled("secrets/rules", _TABLE[name].text), flags)


WORDS = _TABLE["names"].words
OTHER_WORDS = _TABLE["names_in_other_scripts"].words
_TAIL = filled("secrets/rules", "<tail>")
_END = re.compile(_TAIL, re.IGNORECASE)
_NAME = _pattern("name")
_Q = filled("secrets/rules", "<sign>")
_QUOTED = filled("secrets/rules", "<in_quotes>")
_VALUE = filled("secrets/rules", "<assigned>")
_STRONG = _pattern("behind_a_sign")
_BESIDE = re.compile(
    rf"{_TAIL}{_Q}[\s,{{]{{1,40}}{_Q}?\w{{0,10}}(?:value|default|content|body){_Q}?[ ]?[:=][ ]?{_VALUE}"
    rf"|{_TAIL}{_Q}?(?:\s{{1,40}}|,[ ]?Parameter|[ ]--)value[ ]?[:= ][ ]?{_VALUE.replace('quote', 'quote2').replace('bare', 'bare2').replace('quote2d', 'quoted2')}",
    re.IGNORECASE,
)
"""`name="DB_PASSWORD" value="…"`, and the same over two lines of YAML."""
_ARGUMENT = _pattern("argument")
_ELEMENT = _pattern("element")
"""`<password>…</password>`, and `<key>password</key><string>…</string>`."""
_CALLED = re.compile(rf"{_TAIL}(?:[._](?:hash|equals|eq|matches))?\(\s*[bru]?{_QUOTED}\s*[,)]", re.IGNORECASE)
"""`setPassword("…")`."""
_AHEAD = _pattern("value_ahead")
"""`{"value": "…", "name": "DB_PASSWORD"}`."""
_SPACED = _pattern("behind_a_word")
_SAID = _pattern("said")
"""`the password for the database is …`"""
_BELOW = re.compile(r"[*`]{0,2}[ ]?[:：][*`]{0,2}[ \t]*\r?\n[ \t>]{0,8}(?P<bare>[^\s\"'`]{8,200})[ \t]*(?=\r?\n|\Z)")
"""A value alone on the line after its name."""
_ANSWER = _pattern("answer", 0)
"""A value alone on the line after the command that shows it."""
_SHOWS = _pattern("shows")
"""Text before a name that makes the next line the value, wherever the name is in the command."""
_COMMANDS = _pattern("commands")
"""Text before a name that makes the word after the name its value."""
_KEY_OF = tuple(_TABLE["keys"].words)
"""Words that, before `key`, make it the name of a secret."""
_NO_KEY_OF = tuple(_TABLE["no_keys"].words)
_NO_TOKEN_OF = tuple(_TABLE["no_tokens"].words)
_OF_SOMEBODY = (" the ", "my ", "your ", "our ", "this ", "here's the ", "here is the ")
_BEFORE = 24
"""Letters before a name that show what sort of name it is."""
_WHOLE = re.compile(r"[\s\"'`]*(?:export\s+|set\s+|\$env:|[-+]\s*|\d+[→:\t]\s*|\w*\.env\w*:\d+:)?[\w.-]*$")
"""From the start of a line to a name: the rest of such a line is the value."""
_CUT = re.compile(r"[,;(){}<>\[\]|&]")
_PLAIN_QUOTE = re.compile(r"[“”‘’«»]|&quot;.*|&#3[49];.*|%22.*|%26.*")
_BRACED = re.compile(r"\{([A-Za-z0-9+/=_-]{8,})\}")
"""How Jenkins and ODBC write values."""
_PHRASE = re.compile(r"(?:[a-z]{3,8}[ ,]+){11}[a-z]{3,8}(?:(?:[ ,]+[a-z]{3,8}){12})?(?![a-z ]*[a-z]{9})")


class Assigned(NamedTuple):
    name: str
    start: int
    end: int
    value: str


def assignments(text: str, lower: str, named: Mapping[bytes, tuple[int, ...]]) -> Iterator[Assigned]:
    """The secrets that a text assigns to names; `named` has the words that contain names, and the places of these in
    them.

    Works backwards: where two names have the same value, the nearer one comes first.
    """
    places = {
        at + offset for word, offsets in named.items() for at in _places_of(word.decode(), lower) for offset in offsets
    }
    for at in sorted(places, reverse=True):
        found = _assigned_at(text, at)
        if found is not None:
            yield found
        else:
            yield from _in_column(text, at)
            yield from _in_values(text, at)
    for name in OTHER_WORDS if _has_foreign(text) else ():
        for at in _places_of(name, text):
            found = _assigned_at(text, at)
            if found is not None:
                yield found


def _places_of(word: str, text: str) -> Iterator[int]:
    at = text.find(word)
    while at >= 0:
        yield at
        at = text.find(word, at + len(word))


_FOREIGN = re.compile(
    "[" + "".join(sorted({letter for word in OTHER_WORDS for letter in word if not letter.isascii()})) + "]"
)
"""The letters of these words that are not ASCII: arrows and dashes are no reason to search for the words."""
_FOREIGN_BYTES = frozenset(letter.encode()[:1] for word in OTHER_WORDS for letter in word if not letter.isascii())
"""First UTF-8 bytes of these letters, but not of arrows, dashes and emoji; a byte is found ten times as fast."""


def _has_foreign(text: str) -> bool:
    if text.isascii():
        return False
    encoded = text.encode("utf-8", "surrogatepass")
    return any(byte in encoded for byte in _FOREIGN_BYTES) and _FOREIGN.search(text) is not None


@lru_cache(maxsize=20_000)
def names_in(word: bytes) -> tuple[int, ...]:
    """Where names of secrets begin in a word; empty for most words."""
    if _SPOT.search(word) is None:
        return ()
    text = word.decode()
    return tuple(
        at
        for each in WORDS
        if (at := text.rfind(each)) >= 0
        and (match := _NAME.match(text, at))
        and len(text) - match.end() < _LONGEST_TAIL
    )


_SPOT = re.compile("|".join(WORDS).encode())
_LONGEST_TAIL = 12


def _assigned_at(text: str, at: int) -> Assigned | None:
    name = _NAME.match(text, at)
    if name is None:
        return None
    before = text[max(0, at - 64) : at]
    is_pass = name["password"] is not None
    word = name[0].lower()
    shown = _shown(text, name, at)
    if shown is not None:
        return shown
    if not _is_name(word, before, is_capital=name[0].isupper()):
        return _key_of_somewhat(text, name, before) if word == "key" else None
    if word in ("mnemonic", "seed", "phrase"):
        return _phrase(text, name.end(), before)
    full = before[len(before.rstrip("".join(_NAME_LETTERS))) :] + name[0] if before[-1:] in _NAME_LETTERS else name[0]
    # `hmac` is the name of a method as often as that of a key.
    forms = [_STRONG] if word.startswith("hmac") else _forms(text, name.end())
    for pattern in forms:
        match = pattern.match(text, name.end())
        if match is not None:
            is_sure = pattern not in (_SAID, _BELOW, _CALLED, _SPACED)
            is_sure |= pattern is _SPACED and _COMMANDS.search(before) is not None
            found = _value(text, match, at, full, is_pass=is_pass, is_sure=is_sure, is_chosen=pattern not in _UNSURE)
            if found is not None:
                return found
    is_ahead = text.find("alue", max(0, at - 200), at) >= 0
    ahead = _AHEAD.search(text, max(0, at - _LONGEST_AHEAD), at) if is_ahead else None
    return _value(text, ahead, at, full, is_pass=is_pass, is_sure=True, is_chosen=False) if ahead is not None else None


def _key_of_somewhat(text: str, name: re.Match[str], before: str) -> Assigned | None:
    """A value behind `supabaseKey` or `Jwt:Key`, if only a machine writes such: nobody knows all names of keys."""
    if not before[-1:].isalnum() and before[-1:] not in ("_", "-", ":"):
        return None
    match = _STRONG.match(text, name.end())
    if match is None or _ends_with(before, _NO_KEY_OF, signs=1, is_whole=True):
        return None
    group = "quoted" if match["quoted"] else "bare"
    value = match[group]
    return Assigned(name[0], *match.span(group), value) if is_long_random(value) else None


def _shown(text: str, name: re.Match[str], at: int) -> Assigned | None:
    """What a command shows whose line has such a name: `cat config/master.key`."""
    end = text.find("\n", name.end(), name.end() + _LONGEST_COMMAND)
    if end < 0 or text.find(" ", end + 1, end + 9) >= 0 or text.find("\n", end + 1, end + 9) >= 0:
        return None
    if _SHOWS.search(text[max(0, text.rfind("\n", 0, at) + 1, at - _LONGEST_COMMAND) : at]) is None:
        return None
    match = _ANSWER.match(text, name.end())
    if match is None or not (is_key(match["bare"], is_quoted=False) or _is_made(match["bare"])):
        return None
    return Assigned(name[0], match.start("bare"), match.end("bare"), match["bare"])


_LONGEST_COMMAND = 200
_LONGEST_AHEAD = 300
_UNSURE = (_ARGUMENT, _ELEMENT)
"""Forms in which a word may also be a label, or the name of something."""
_NAME_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-")
_SHORT_VALUE = frozenset(_TABLE["short_values"].words)


def _is_name(word: str, before: str, *, is_capital: bool) -> bool:
    """Whether a word ends the name of a secret: `key` only after certain words, `pin` only by itself."""
    last = before[-1:]
    if word in ("key", "キー", "schlüssel", "schluessel"):
        return _is_key(word, before, is_capital=is_capital)
    is_amid = word in _SHORT_VALUE and last.isalpha() and is_capital == last.isupper()
    if is_amid and before[-4:].lower() not in ("user", "stor", "tore", "dmin", "pgdb", "data"):
        return word in ("pass", "auth") and before[-6:].lower().endswith(_BEFORE_PASS)
    if word == "token" and _ends_with(before, _NO_TOKEN_OF, signs=1, is_whole=True):
        return False
    return word not in _OTHER_KEYS and not (word == "sid" and last != "_")


def _is_key(word: str, before: str, *, is_capital: bool) -> bool:
    if _ends_with(before, _NO_KEY_OF, signs=1, is_whole=True):
        return False
    is_meant = before.lower().endswith(_OF_SOMEBODY)
    is_named = _ends_with(before, _KEY_OF, signs=2) or (is_capital and before[-1:] == "_")
    return is_meant or is_named or word != "key"


_BEFORE_PASS = ("user", "db", "store", "key", "admin", "smtp", "mail", "ssh", "http", "root", "become", "oauth")
_OTHER_KEYS = frozenset({"clé", "clés", "chiave", "chave", "klucz", "llave", "sleutel", "nyckel"})


def _ends_with(before: str, words: tuple[str, ...], *, signs: int, is_whole: bool = False) -> bool:
    """Whether a text ends with one of the words, with up to `signs` signs after it; a pattern takes twenty times as
    long. With `is_whole` the word must begin there: `min` is no part of `admin`."""
    end = before[-_BEFORE:].removesuffix("\n")
    lower = end.lower()
    while not lower.endswith(words):
        if not signs or not lower.endswith((" ", "_", ".", "-", ":")):
            return False
        lower, signs = lower[:-1], signs - 1
    return not is_whole or any(_begins(end, len(lower) - len(word)) for word in words if lower.endswith(word))


def _begins(text: str, at: int) -> bool:
    return at < 1 or not text[at - 1].isalpha() or (text[at].isupper() and text[at - 1].islower())


def _in_column(text: str, at: int) -> Iterator[Assigned]:
    """The values under a name that heads a column, in a Markdown table or a comma-separated one."""
    end = text.find("\n", at, at + _LONGEST_HEAD)
    if end < 0:
        return
    start = max(text.rfind("\n", 0, at) + 1, at - _LONGEST_HEAD)
    head = text[start:end]
    is_ruled = "|" in head and _RULE.match(text, end) is not None
    if not is_ruled and ("," not in head or not _COLUMNS.fullmatch(head)):
        return
    sign = "|" if is_ruled else ","
    name = _NAME.match(text, at)
    if name is None or not _is_name(name[0].lower(), text[max(start, at - 64) : at], is_capital=name[0].isupper()):
        return
    column, is_pass = head[: at - start].count(sign), name["password"] is not None
    position = end + 1
    for line in text[position : position + _LONGEST_TABLE].split("\n"):
        cells = line.split(sign)
        if len(cells) != head.count(sign) + 1:
            return
        value = cells[column].strip(" `\"'*\r")
        if _is_secret(name[0], value, is_pass=is_pass, is_quoted=False, is_sure=False):
            found = position + sum(map(len, cells[:column])) + column + cells[column].index(value)
            yield Assigned(name[0], found, found + len(value), value)
        position += len(line) + 1


def _in_values(text: str, at: int) -> Iterator[Assigned]:
    """The values for a column of `INSERT INTO users (email, password) VALUES (…), (…)`."""
    name = _NAME.match(text, at)
    start = text.rfind("(", max(0, at - _LONGEST_HEAD), at)
    head = _VALUES.match(text, name.end()) if name is not None and start >= 0 else None
    if name is None or head is None or ")" in text[start:at]:
        return
    column, is_pass = text.count(",", start, at), name["password"] is not None
    if not _is_name(name[0].lower(), text[max(start, at - 64) : at], is_capital=name[0].isupper()):
        return
    position = head.end()
    while (row := _ROW.match(text, position)) is not None:
        cells = list(_CELL.finditer(text, row.start(), row.end()))
        value = cells[column]["quoted"] if column < len(cells) else None
        if value and _is_secret(name[0], value, is_pass=is_pass, is_quoted=True, is_sure=True, is_chosen=True):
            yield Assigned(name[0], *cells[column].span("quoted"), value)
        position = row.end()


_VALUES = re.compile(r"[\"'`\]\\]{0,3}[\w\s,\"'`\[\]\\.-]{0,300}\)\s*VALUES\s*", re.IGNORECASE)
_CELL = re.compile(r"(?:[NEb]?\\?'(?P<quoted>(?:[^'\n]|'')*?)\\?'(?=\s*[,)])|[^\s,()'][^,()']*(?:\([^()]*\))?)")
_ROW = re.compile(r"[\s,]*\((?:[^()'\n]|'[^'\n]*'|\([^()]*\))*\)")
_LONGEST_HEAD, _LONGEST_TABLE = 200, 20_000
_RULE = re.compile(r"\n[ \t]*\|?[ ]?:?-{2,}[-:| ]*")
_COLUMNS = re.compile(r"[\w \"-]{1,40}(?:,[\w \"-]{1,40})+\r?")


def _forms(text: str, end: int) -> Iterator[re.Pattern[str]]:
    yield _STRONG
    if ">" in text[end : end + 90]:
        yield _ELEMENT
    following = text[end : end + 48]
    if "(" in following[:12]:
        yield _CALLED
    if "," in following[:12]:
        yield _ARGUMENT
    if "value" in following.lower() or "default" in following.lower():
        yield _BESIDE
    if following[:1] == " ":
        yield _SAID
    if "\n" in following[:8]:
        yield _BELOW
    yield _SPACED


def _value(
    text: str, match: re.Match[str], at: int, name: str, *, is_pass: bool, is_sure: bool, is_chosen: bool
) -> Assigned | None:
    groups = match.groupdict()
    for group, value in groups.items():
        braced = _BRACED.match(value or "")
        if braced is not None and is_random(braced[1]):
            start = match.start(group) + 1
            return Assigned(name, start, start + len(braced[1]), braced[1])
    for group in ("quoted", "quoted2"):
        value = groups.get(group)
        if value and _is_secret(
            name, value, is_pass=is_pass, is_quoted=True, is_sure=is_sure, is_chosen=is_chosen and is_sure
        ):
            return Assigned(name, match.start(group), match.end(group), value)
    for group in ("bare", "bare2"):
        value = groups.get(group)
        if value is None:
            continue
        for candidate in _candidates(text, value, at, match.start(group)):
            if _is_secret(name, candidate, is_pass=is_pass, is_quoted=False, is_sure=is_sure):
                return Assigned(name, match.start(group), match.start(group) + len(candidate), candidate)
    return None


def _candidates(text: str, value: str, at: int, start: int) -> Iterator[str]:
    """All up to the end of the line if it assigns nothing else; all up to a space if only a machine writes such; else
    all up to a sign that ends a value in code."""
    app = text[start : start + 19]
    if APP_PASSWORD.fullmatch(app):
        yield app
    line = text[max(0, text.rfind("\n", 0, at) + 1) : at]
    is_alone = len(line) < 100 and _WHOLE.fullmatch(line) is not None
    if is_alone:
        whole = _TO_THE_END.match(text, start)
        if whole is not None and _is_made(whole[0]):
            yield whole[0]
    value = _PLAIN_QUOTE.sub("", value)
    end = start + len(value)
    is_last = end >= len(text) or text[end] == "\n" or text.startswith(("\\n", "\\r"), end)
    if is_last and is_alone and not value.endswith((",", ")", "}", "]", ";", ">", "|")):
        yield value
    if len(value) <= _LONGEST_JUMBLE and _is_made(value):
        yield value
    cut = _CUT.search(value)
    yield value[: cut.start()].rstrip(".,;:") if cut is not None else value.rstrip(".,;")


def _is_made(value: str) -> bool:
    return is_meant(value, least=8, is_chosen=False) and not _CODE.search(value)


_TO_THE_END = re.compile(r"[^\s\"'`](?:[^\s\\]|\\(?![nrt\"'])){7,199}(?=[ \t\r]*(?:\n|\Z))")
_LONGEST_JUMBLE = 64
_CODE = _pattern("code_alone", 0)
"""What code has and made-up letters rarely: calls, fields, more than one assignment."""


def _phrase(text: str, end: int, before: str) -> Assigned | None:
    """The twelve or twenty-four words that restore a wallet."""
    match = _PHRASE.search(text, end, end + 260)
    if match is None or match.start() - end > 16 or len(set(match[0].split())) < 10:
        return None
    return Assigned(before[-12:] + "phrase", match.start(), match.end(), match[0])


_NO_TOKEN = _pattern("no_token")


def _is_secret(
    name: str, value: str, *, is_pass: bool, is_quoted: bool, is_sure: bool, is_chosen: bool = False
) -> bool:
    is_word = is_pass or name.lower().endswith("secret")
    if not is_word and _NO_TOKEN.search(name):
        return False
    least = 16 if not is_word else 6 if is_sure else 8
    if is_meant(value, least=least, is_chosen=is_pass and is_chosen and not _NAME.search(value)):
        return True
    if is_word:
        return is_password(value, is_quoted=is_quoted, least=least) and (is_sure or _has_both(value))
    return (is_sure or _is_keylike(value)) and is_key(value, is_quoted=is_quoted, least=least)


def _is_keylike(value: str) -> bool:
    return _has_both(value) and ("/" not in value or is_gibberish(value))


def _has_both(value: str) -> bool:
    return any(map(str.isdigit, value)) and any(map(str.isalpha, value))


def is_assigned_to(name: str, value: str) -> bool:
    """Whether the whole value of a field is a secret because of the field's name."""
    meant = _meant_by(name)
    return meant is not None and _is_secret(
        meant[0], value, is_pass=meant[1], is_quoted=True, is_sure=True, is_chosen=True
    )


@lru_cache(maxsize=20_000)
def _meant_by(name: str) -> tuple[str, bool] | None:
    """The name without its suffix, and whether it means a password; None if it does not name a secret."""
    lower = name.lower()
    for word in WORDS if name.isascii() else [*WORDS, *OTHER_WORDS]:
        at = lower.rfind(word)
        match = _NAME.match(name, at) if at >= 0 else None
        if match is None or not _END.fullmatch(name, match.end()):
            continue
        if _is_name(match[0].lower(), name[:at], is_capital=match[0].isupper()):
            return name[: match.end()], match["password"] is not None
    return None


def kind_of_name(name: str) -> str:
    lower = name.lower()
    for word, kind in (
        ("phrase", "recovery phrase"),
        ("token", "token"),
        ("key", "key"),
        ("hmac", "key"),
        ("secret", "secret"),
    ):
        if word in lower and "pass" not in lower:
            return kind
    return (
        "secret" if any(word in lower for word in ("auth", "cred", "salt", "dsn", "connection", "sid")) else "password"
    )


def is_assigned(name: object, value: object) -> bool:
    """Whether the name of a field makes its value a secret."""
    return (
        isinstance(name, str) and isinstance(value, str) and len(name) <= _LONGEST_NAME and is_assigned_to(name, value)
    )


def is_name_of_secret(name: str) -> bool:
    """Whether a value may be a secret because of this name alone."""
    return len(name) <= _LONGEST_NAME and _meant_by(name) is not None


_LONGEST_NAME = 80
