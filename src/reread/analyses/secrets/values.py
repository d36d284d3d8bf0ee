# ruff: noqa: E501  a row is a line
"""Whether a value looks like a secret, once its surroundings say that it may be one.

Code is full of names of secrets: what is assigned to them is mostly a word, a name, a call or a placeholder.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from itertools import pairwise

_PLACEHOLDER = re.compile(
    r"redacted|your|example|sample|placeholder|change.?(?:me|it|this)|dummy|replace|insert|\bhere\b|(?<![A-Za-z0-9])x{3,}|x{5,}|\*\*\*|\.\.\.|…|test(?:ing)?[-_]?(?:pass"
    r"|token|key|secret)|fake|mock|\bfoo\b|foobar|deadbeef|^(?:none|null|nil|true|false|undefined|string|str|required|optional|hidden|secret|passw(?:or)?d"
    r"|token|[a-z]*0?123456789?0?(?:abc\w*)?)$|^(.)\1*$|^<|>$",
    re.IGNORECASE,
)
_REFERENCE = re.compile(
    r"^(?:\$|[:=]|%[({s]|%\w+%|![A-Z]|[@&#][A-Za-z_-]+$|\{\{?|<|\./|\.\./|~/|[a-z]+://|env[.:]|os\.|process\.|self\.|this\.|config\.|settings\.|secrets\.|var\.|local\."
    r"|arn:|file:|vault:|ref\+|op://|data\.|module\.|--|//|/\*)"
    r"|getenv|environ|\$\{|\$\(|\{\{|\(\)|::|=>|\w\(|&&|\|\||==(?!$)|\+=|\];?$"
)
_DOTTED = re.compile(r"[A-Za-z_][\w-]*(?:[.:/][A-Za-z_][\w-]*)*[.?!:]*")
"""A name, a path of names, a word: nothing that a machine made, unless its letters say so."""
_VERSION = re.compile(r"[v^~=<>]*\d+(?:[.-]\w+)+|[\d.,:/-]+[a-z%]{0,3}", re.IGNORECASE)
_UUID = re.compile(r"\{?[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\}?", re.IGNORECASE)
_PATH = re.compile(
    r"(?:[A-Za-z]:)?[\\/]?(?:[\w.@-]+[\\/]){2,}[\w.@-]*|[\w./-]+\.(?:py|js|ts|json|ya?ml|md|txt|sh|go|rs|pem|key|crt|env|toml|html|css|java|rb)"
)
_APP_PASSWORD = re.compile(r"[a-z]{4}(?:[ -][a-z]{4}){3}")
_WORDS_OF_CODE = re.compile(
    r"pass|pwd|secret|token|user|name|value|input|field|hash|text|data|arg|param|var|str\b|default|form|config|conf|env|auth|key|cred|login|valid|check"
    r"|confirm|reset|repeat|new|old|get|set|is_|has_|type|test|length|min|max|error|model|request|response|bearer|basic|oauth|sha|md5|aes|rsa|hmac|bcrypt"
    r"|argon|base64|utf|int|bool|object|array|list|dict|number|http|null|none|client|server|session|cookie|header|const|this|self|uint|float|array|byte|latin|iso|unicode",
    re.IGNORECASE,
)
_TYPES = re.compile(r"(?:Big)?(?:U?[Ii]nt|Float|Complex|Vec|Mat|Simd|Base|Utf|Sha|Str)\d+\w*")
"""Names of types: `Uint8Array`, `Float64Array`."""
_PAIRS = frozenset(
    re.findall(
        "..",
        "abacadaiakalamanaparasatavbebibobrbubsbycacechcickclcocrctdadedidodseaecedeeefelemeneperesetevexfaffefifofrgagegegighgrhahehihoiaibicideifigilimin"
        "ioipirisitivizkekilalaldlelilllolsltlymamemimmmompmumsnancndnengninknonsntnuobocodofogolomonooopororosotouovowpapepiplpopprptparardrergrirmrnrorsrtrury"
        "sascseshsisosppssstsutatcthtetitotrtsttturtyubucudueulumunupurusutvavevivowawewiwoyoys",
    )
)
"""Pairs of letters that make up some four fifths of English words and of names in code, and a quarter of random letters."""

ENTROPY = 3.0
"""Bits per character: words of a language have about 2.5 at this length, random letters 3.5 and more."""
ENTROPY_OF_KEYS = 4.5
"""Of long random values; paths have less."""


def is_password(value: str, *, is_quoted: bool, least: int = 6) -> bool:
    """A value that its name calls a password: what a person may have chosen."""
    if _APP_PASSWORD.fullmatch(value):
        return is_gibberish(value.replace(" ", "").replace("-", ""))
    if is_excluded(value, least) or _VERSION.fullmatch(value):
        return value.isdecimal() and 6 <= len(value) <= 12 and is_quoted and len(set(value)) > 2
    if value.isalpha():
        is_name = value.islower() or value.isupper() or value.istitle()
        return len(value) >= 10 and (is_gibberish(value) if is_name else is_random(value) or is_gibberish(value))
    if _DOTTED.fullmatch(value) and not is_random(value):
        return _is_chosen(value, is_quoted=is_quoted)
    return _is_varied(value) and (is_quoted or not value.endswith((".", ":", "?")))


def is_key(value: str, *, is_quoted: bool, least: int = 16) -> bool:
    """A value that its name calls a key or a token: what a machine made."""
    if _UUID.fullmatch(value):
        return True
    if is_excluded(value, least) or value.isdecimal() or (_PATH.fullmatch(value) and not is_gibberish(value)):
        return False
    if value.isalpha():
        return is_gibberish(value) or (
            not (value.islower() or value.isupper()) and entropy(value) >= 4 and is_mixed_case(value)
        )
    if _DOTTED.fullmatch(value) and not is_random(value):
        return False
    return _is_varied(value) and (is_quoted or not value.endswith((".", ":", "?")))


def is_excluded(value: str, least: int) -> bool:
    """Too short, with spaces, a placeholder, a reference to where the value really is, a path."""
    if not least <= len(value) <= 4000 or any(map(str.isspace, value)) or not value.isascii():
        return True
    if _PLACEHOLDER.search(value) or _REFERENCE.search(value):
        return True
    return value[0] in "/~" and entropy(value) < ENTROPY_OF_KEYS


def _is_chosen(value: str, *, is_quoted: bool) -> bool:
    """`hunter2secret` and `Purple-Monkey-42`, but not `new_password2`, `sha256` or `user.pin1`."""
    digits = [at for at, letter in enumerate(value) if letter.isdigit()]
    if not digits or any(each in value for each in "./:") or len(value) < 7:
        return False
    words = re.split(r"[\d_-]+", value)
    if "_" in value or (value.islower() and "-" in value):
        return is_quoted and not any(_WORDS_OF_CODE.search(word) for word in words)
    if any(letter.isalpha() for letter in value[digits[0] :]):
        return not _WORDS_OF_CODE.match(value) and not _TYPES.fullmatch(value)
    return not any(_WORDS_OF_CODE.search(word) for word in words)


def is_random(name: str) -> bool:
    """Letters and digits in an order that no person gives names: kinds of letters change at every other step."""
    digits = sum(map(str.isdigit, name))
    changes = sum(_class(one) != _class(other) for one, other in pairwise(name))
    is_restless = digits >= 1 and len(name) >= 10 and changes / (len(name) - 1) >= 0.36
    is_long = digits >= 2 and changes >= 3 and len(name) >= 16 and (changes / len(name) >= 0.2 or is_gibberish(name))
    return ((is_restless or is_long) and entropy(name) >= ENTROPY) or _is_mixed_gibberish(name)


def _is_mixed_gibberish(name: str) -> bool:
    """Random letters of both cases that happen to have no digit."""
    return len(name) >= 12 and is_mixed_case(name) and is_gibberish(name) and not re.search(r"[._/-]", name)


def is_mixed_case(name: str) -> bool:
    changes = sum(one.isupper() != other.isupper() for one, other in pairwise(name))
    return changes / max(1, len(name) - 1) >= 0.3


def is_gibberish(text: str) -> bool:
    """Letters that make no words: fewer than half of the pairs are those of words."""
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
