"""Whether a value looks like a secret: made by a machine, or chosen by a person, and no word, label or reference."""

from __future__ import annotations

import math
import re
from collections import Counter
from itertools import pairwise

from reread.features.word_tables import table

_TABLE = table("secrets/rules", "words")


_PLACEHOLDER = re.compile(_TABLE["placeholder"].text, re.IGNORECASE)
_REFERENCE = re.compile(_TABLE["reference"].text)
_DOTTED = re.compile(r"[A-Za-z_][\w-]*(?:[.:/][A-Za-z_][\w-]*)*[.?!:]*")
"""A name, a path of names, a word: not made by a machine, unless its letters suggest it."""
_VERSION = re.compile(r"[v^~=<>]*\d+(?:[.-]\w+)+|[\d.,:/-]+[a-z%]{0,3}", re.IGNORECASE)
_UUID = re.compile(r"\{?[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\}?", re.IGNORECASE)
_PATH = re.compile(_TABLE["path"].text)
APP_PASSWORD = re.compile(r"[a-z]{4}(?:[ -][a-z]{4}){3}")
_WORDS_OF_CODE = re.compile(_TABLE["code"].text, re.IGNORECASE)
_TYPES = re.compile(r"(?:Big)?(?:U?[Ii]nt|Float|Complex|Vec|Mat|Simd|Base|Utf|Sha|Str)\d+\w*")
"""Names of types: `Uint8Array`, `Float64Array`."""
_PAIRS = frozenset(_TABLE["pairs"].words)
"""Letter pairs that make up about four fifths of English words and names in code, and a quarter of random letters."""

_STANDS_FOR = re.compile(_TABLE["stands_for"].text)
"""Values that are, from the first sign to the last, the place where the value is: a variable, a call, an address."""
_SPLICED = re.compile(_TABLE["spliced"].text)
"""Templates, regular expressions and formats: something else is to stand in their place."""
_WORDLIKE = re.compile(r"[A-Za-z][a-z]{2,}|[A-Z]{3,}")
_PROSE = frozenset(_TABLE["prose"].words)
_SIGNS = frozenset("!@#$%^&*()+=~?|")
"""Signs that people put into passwords, and hardly anybody into names."""

ENTROPY = 3.0
"""Bits per character. At this length, words of a language have about 2.5, random letters 3.5 and more."""
ENTROPY_OF_KEYS = 4.5
"""Entropy of long random values; that of paths is lower."""


def is_password(value: str, *, is_quoted: bool, least: int = 6) -> bool:
    """Whether a value with the name of a password is one: it may have been chosen by a person."""
    if APP_PASSWORD.fullmatch(value):
        return is_gibberish(value.replace(" ", "").replace("-", ""))
    if is_excluded(value, least) or _VERSION.fullmatch(value):
        return is_quoted and _is_number_of_digits(value)
    if value.isalpha():
        return len(value) >= 10 and (is_gibberish(value) or (not _is_like_name(value) and is_random(value)))
    if _DOTTED.fullmatch(value) and not is_random(value):
        return _is_chosen(value, is_quoted=is_quoted)
    return _is_varied_value(value, is_quoted=is_quoted)


def _is_like_name(value: str) -> bool:
    return value.islower() or value.isupper() or value.istitle()


def _is_varied_value(value: str, *, is_quoted: bool) -> bool:
    """Varied, and without quotes not the end of a sentence."""
    return _is_varied(value) and (is_quoted or not value.endswith((".", ":", "?")))


def _is_number_of_digits(value: str) -> bool:
    return value.isdecimal() and 6 <= len(value) <= 12 and len(set(value)) > 2


def is_key(value: str, *, is_quoted: bool, least: int = 16) -> bool:
    """Whether a value with the name of a key or token is one: it must look made by a machine."""
    if _UUID.fullmatch(value):
        return True
    if is_excluded(value, least) or value.isdecimal() or (_PATH.fullmatch(value) and not is_gibberish(value)):
        return False
    if value.isalpha():
        return is_gibberish(value) or (entropy(value) >= 4 and is_mixed_case(value))
    is_dotted = _DOTTED.fullmatch(value) is not None and not is_random(value)
    return not is_dotted and _is_varied_value(value, is_quoted=is_quoted)


def is_meant(value: str, *, least: int, is_chosen: bool) -> bool:
    """Whether a value in the place of a secret is one whatever signs it has, even a space; not if it stands for another
    value. `is_chosen` says that a person may have chosen it: its name is sure and it is in quotes."""
    if not least <= len(value) <= 4000:
        return False
    is_made = is_jumbled(value)
    if not (is_made or is_chosen) or _STANDS_FOR.fullmatch(value) or _SPLICED.search(value):
        return False
    if _PLACEHOLDER.search(value):
        return False
    return is_made or (_is_phrase(value) if " " in value else _is_word_meant(value))


def is_jumbled(value: str) -> bool:
    """Whether letters, digits and other signs mix as nobody writes them: next to nothing of it are words."""
    tests = (str.islower, str.isupper, str.isdigit)
    kinds = sum(any(map(test, value)) for test in tests) + (not value.isalnum())
    if len(value) < _SHORTEST_JUMBLE or kinds < 3 or _VERSION.fullmatch(value) or value.count(" ") > len(value) / 10:
        return False
    words = sum(len(each) for each in _WORDLIKE.findall(value) if len(each) > 4 or not is_gibberish(each))
    return words <= len(value) * (_MOST_WORDS if any(map(str.isdigit, value)) else _MOST_WORDS / 2)


_SHORTEST_JUMBLE, _MOST_WORDS = 8, 0.35


def is_long_random(value: str) -> bool:
    """Whether nothing but a key looks like it: long, of digits and letters in both cases, and no hash."""
    kinds = all(any(map(test, value)) for test in (str.isdigit, str.islower, str.isupper))
    is_plain = _KEY_LETTERS.fullmatch(value) is not None and _PLACEHOLDER.search(value) is None
    return 24 <= len(value) <= 400 and kinds and is_plain and is_random(value)


_KEY_LETTERS = re.compile(r"[A-Za-z0-9+/]+={0,2}")


def _is_phrase(value: str) -> bool:
    """Whether words with spaces are a passphrase, and no label or sentence of a program."""
    words = value.split()
    if any(word.lower().strip(".,:;!?") in _PROSE or _WORDS_OF_CODE.search(word) for word in words):
        return False
    if len(words) >= 4 and all(word.isalpha() and word.islower() and len(word) > 2 for word in words):
        return True
    return any(map(str.isdigit, value)) and any(map(str.isalpha, value)) and value[-1] not in ".:"


def _is_word_meant(value: str) -> bool:
    """Whether it is a password that a person chose: no name in code, no label, no path."""
    core = value.strip("!?.:,;")
    if any(map(str.isdigit, value)):
        has_sign = not _SIGNS.isdisjoint(value) or not value.isascii()
        return _is_varied(value) if has_sign else is_password(value, is_quoted=True)
    if _WORDS_OF_CODE.search(core) or any(each in core for each in "_-/:\\<>,;"):
        return False
    if core.replace(".", "").isalpha():
        parts = core.split(".")
        return value == core and core.isascii() and all(len(part) > 2 for part in parts) and len(core) >= 8
    return not _SIGNS.isdisjoint(core) and any(map(str.isalpha, core)) and entropy(core) >= 2.3


def is_excluded(value: str, least: int) -> bool:
    """Too short, with spaces, a placeholder, a reference to the real place of the value, or a path."""
    if not least <= len(value) <= 4000 or any(map(str.isspace, value)) or not value.isascii():
        return True
    if _PLACEHOLDER.search(value) or _REFERENCE.search(value) or (len(value) <= 24 and _TYPES.fullmatch(value)):
        return True
    if _SPLICED.search(value):
        return True
    return value[0] in "/~" and entropy(value) < ENTROPY_OF_KEYS


def _is_chosen(value: str, *, is_quoted: bool) -> bool:
    """Whether a person may have chosen it: `hunter2secret` and `Purple-Monkey-42`, but not `new_password2`, `sha256` or
    `user.pin1`."""
    first = _DIGIT.search(value)
    if first is None or len(value) < 7 or not _SIGNS_OF_PATHS.isdisjoint(value):
        return False
    words = re.split(r"[\d_-]+", value)
    if "_" in value or (value.islower() and "-" in value):
        return is_quoted and not any(map(_WORDS_OF_CODE.search, words))
    if any(map(str.isalpha, value[first.start() :])):
        return not _WORDS_OF_CODE.match(value) and not _TYPES.fullmatch(value)
    return not any(map(_has_word_of_code, words))


_DIGIT = re.compile(r"\d")
_SIGNS_OF_PATHS = frozenset("./:")


def _has_word_of_code(word: str) -> bool:
    found = _WORDS_OF_CODE.search(word)
    return found is not None and (len(found[0]) > 3 or found.start() == 0)


def is_random(name: str) -> bool:
    """Whether letters and digits mix as in no name a person gives: their kind changes every few characters."""
    digits = sum(map(str.isdigit, name))
    changes = sum(_class(one) != _class(other) for one, other in pairwise(name))
    is_restless = digits >= 1 and len(name) >= 10 and changes / (len(name) - 1) >= 0.36
    is_long = digits >= 2 and changes >= 3 and len(name) >= 16 and (changes / len(name) >= 0.2 or is_gibberish(name))
    return ((is_restless or is_long) and entropy(name) >= ENTROPY) or _is_mixed_gibberish(name)


def _is_mixed_gibberish(name: str) -> bool:
    """Whether it is random letters in both cases that happen to include no digit."""
    return len(name) >= 12 and is_mixed_case(name) and is_gibberish(name) and not re.search(r"[._/-]", name)


def is_mixed_case(name: str) -> bool:
    changes = sum(one.isupper() != other.isupper() for one, other in pairwise(name))
    return changes / max(1, len(name) - 1) >= 0.3


def is_gibberish(text: str) -> bool:
    """Whether letters form no words: fewer than half of their pairs are common in words."""
    lower = text.lower()
    pairs = [one + other for one, other in pairwise(lower) if one.isalpha() and other.isalpha()]
    return bool(pairs) and sum(pair in _PAIRS for pair in pairs) / len(pairs) < 0.5


def _class(letter: str) -> int:
    return 0 if letter.isdigit() else 1 if letter.isupper() else 2


def _is_varied(value: str) -> bool:
    classes = sum(any(map(test, value)) for test in (str.islower, str.isupper, str.isdigit)) + (not value.isalnum())
    return classes >= 2 and any(map(str.isdigit, value)) + (not value.isalnum()) > 0 and entropy(value) >= 2.3


def entropy(text: str) -> float:
    """Bits per character."""
    counts = Counter(text).values()
    return -sum(number / len(text) * math.log2(number / len(text)) for number in counts) if text else 0.0
