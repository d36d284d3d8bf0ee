"""Secrets that only their name gives away: `password = "…"`, `API_KEY=…`, `"client_secret": "…"`.

Code is full of such names, so what is assigned must look like a secret and not like a word, a name or a call.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

_WORDS = (
    r"pass(?:word|wd|phrase|code)|pwd|secret|token|api_?-?key|apikey|access_?-?key|secret_?-?key|private_?-?key|auth_?-?key"
    r"|encryption_?-?key|signing_?-?key|master_?-?key|client_?-?secret|account_?-?key|shared_?-?key|license_?-?key|salt"
    r"|credentials?|auth|connection_?-?string|webhook_?-?secret|otp|pin_?code|(?-i:[A-Z0-9]_KEY|PASS)"
)
_NAME = rf"(?:{_WORDS})(?:_?(?:base64|b64|hex|value|prod|production|dev|test|staging|live|v?\d+))?"
"""The end of a name: looking for whole names would try every letter of a text as a beginning."""
NAMES = re.compile(rf"[\w.-]{{0,60}}?{_NAME}", re.IGNORECASE)
_QUOTED = re.compile(
    rf"(?P<name>{_NAME})\\*[\"'`]?\]?(?:\s*:\s*[\w\[\]|. ]{{1,30}}?)?\s*(?:=>|:=|[:=])\s*[bru]{{0,2}}"
    rf"(?P<quote>\\*[\"'`])(?P<s>(?:(?!(?P=quote))[^\n]){{4,400}}?)(?P=quote)",
    re.IGNORECASE,
)
_BARE = re.compile(
    rf"(?P<name>{_NAME})(?:=|:[ \t]+|[ \t]+=[ \t]+)(?P<s>[^\s\"'`,;(){{}}<>\[\]\\]{{6,400}})", re.IGNORECASE
)
_OPTION = re.compile(
    rf"(?<!\S)--[\w-]{{0,30}}?(?P<name>{_NAME})[ =][\"']?(?P<s>[^\s\"'`$<{{(\\-][^\s\"'`\\]{{5,400}})", re.IGNORECASE
)
_SPOT = re.compile("pass|pwd|secret|token|key|salt|credential|auth|connection|otp|pin")
"""In small letters, where such a name may be: the patterns above would try every letter, and take ten times as long."""
_BEFORE_KEY = re.compile(
    r"(?:api|access|secret|private|auth|encryption|signing|master|account|shared|license)[_-]{0,2}$", re.IGNORECASE
)

_PLACEHOLDER = re.compile(
    r"redacted|your|example|sample|placeholder|change.?me|dummy|replace|insert|here\b|xxx+|\*\*\*|\.\.\.|…|test(?:ing)?[-_]?(?:pass"
    r"|token|key|secret)|fake|mock|^(?:none|null|true|false|undefined|string|str|required|optional|hidden|secret|password)$",
    re.IGNORECASE,
)
_REFERENCE = re.compile(
    r"^(?:\$|%[({s]|[@&#][A-Za-z_-]+$|\{\{|<|\./|\.\./|~/|https?:|env[.:]|os\.|process\.|self\.|this\.|config\.|settings\.|secrets\.|var\.|local\.)"
    r"|getenv|environ|\$\{|\{\{|\(\)|::|=>|\w\("
)
_DOTTED = re.compile(r"[A-Za-z_][\w-]*(?:[.:/][A-Za-z_][\w-]*)*[.?!:]*")
"""A name, a path of names, a word: nothing that a machine made, unless its letters say so."""
_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)
_LESS_CERTAIN = re.compile(r"token|salt|auth$|credential|_KEY|pin", re.IGNORECASE)
_ENTROPY = 3.0
"""Bits per character: words of a language have about 2.5 at this length, random letters 3.5 and more."""

_ENTROPY_OF_KEYS = 4.5
"""Of long random values; paths have less."""


class Assigned(NamedTuple):
    name: str
    start: int
    end: int
    value: str


def assignments(text: str, lower: str) -> Iterator[Assigned]:
    """What a text assigns to names of secrets, and is one."""
    for start in _spots(text, lower):
        for pattern, is_quoted in ((_QUOTED, True), (_BARE, False)):
            match = pattern.match(text, start)
            if match is not None and is_secret(match["name"], match["s"], is_quoted=is_quoted):
                yield Assigned(match["name"], match.start("s"), match.end("s"), match["s"])
    for match in _OPTION.finditer(text) if "--" in text else ():
        if is_secret(match["name"], match["s"], is_quoted=True):
            yield Assigned(match["name"], match.start("s"), match.end("s"), match["s"])


def _spots(text: str, lower: str) -> Iterator[int]:
    """Where names of secrets may begin; a bare `key` is anything."""
    same = lower if len(lower) == len(text) else "".join(each.lower()[:1] for each in text)
    for spot in _SPOT.finditer(same):
        start = spot.start()
        if spot[0] == "key":
            before = _BEFORE_KEY.search(text[max(0, start - 14) : start])
            if before is None and text[max(0, start - 1) : start + 3] != "_KEY":
                continue
            start -= len(before[0]) if before is not None else 2
        yield start


def is_secret(name: str, value: str, *, is_quoted: bool) -> bool:
    """Whether a value looks like what its name says."""
    if len(value) < 6 or any(map(str.isspace, value)) or _PLACEHOLDER.search(value) or _REFERENCE.search(value):
        return False
    if value.isdecimal() or not value.isascii() or (value.startswith("/") and entropy(value) < _ENTROPY_OF_KEYS):
        return False
    if _LESS_CERTAIN.search(name) and (len(value) < 16 or _UUID.fullmatch(value)):
        return False
    if _DOTTED.fullmatch(value) and not _is_random(value):
        return False
    return _is_varied(value) if is_quoted else _is_varied(value) and not value.endswith((".", ":", "?"))


def _is_random(name: str) -> bool:
    """Letters and digits in an order that no person gives names: kinds of letters change at every other step."""
    digits = sum(map(str.isdigit, name))
    changes = sum(_class(one) != _class(other) for one, other in pairwise(name))
    is_restless = digits >= 1 and len(name) >= 12 and changes / (len(name) - 1) >= 0.36
    is_long = digits >= 2 and changes >= 3 and len(name) >= 16
    return (is_restless or is_long) and entropy(name) >= _ENTROPY


def _class(letter: str) -> int:
    return 0 if letter.isdigit() else 1 if letter.isupper() else 2


def _is_varied(value: str) -> bool:
    classes = sum(any(map(test, value)) for test in (str.islower, str.isupper, str.isdigit)) + (not value.isalnum())
    return classes >= 2 and any(map(str.isdigit, value)) + (not value.isalnum()) > 0 and entropy(value) >= 2.3


def entropy(text: str) -> float:
    """Bits per character."""
    counts = Counter(text).values()
    return -sum(number / len(text) * math.log2(number / len(text)) for number in counts) if text else 0.0
