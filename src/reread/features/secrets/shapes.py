"""Secrets recognised by their own shape, or by a word near them: the kinds of `rules.txt` and the checks they name."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from reread.features.word_tables import TableEntry, entries, filled, table

from .command_lines import is_key_of_command, is_word_of_command
from .secret_values import entropy, is_jumbled, is_key, is_random

_TABLE = table("secrets/rules", "words")


EMAIL = "e-mail address"
USER = "user"
ADDRESS = "IP address"


class SecretKind(NamedTuple):
    name: str
    hints: tuple[str, ...]
    """Words or single signs that a text must have for the pattern to be tried. A hint may also be a word, a stroke and
    the string around which the pattern is then searched."""
    pattern: re.Pattern[str]
    """The secret is its group `s` (or `s2`), or the whole match."""
    is_one: Callable[[str], bool] | None = None
    """Decides whether a match is a secret after all."""
    reach: tuple[int, int] | None = (600, 2000)
    """How far before and after a hint the pattern is searched, within the line; None for the whole text."""
    needed: str = ""
    """A lower-case string without which the pattern never matches: searching for it takes a tenth of the time."""


_BASE64 = re.compile(r"[A-Za-z0-9+/=]{16,}")
_EXAMPLES = re.compile(_TABLE["examples"].text, re.IGNORECASE)
_FILES = frozenset(_TABLE["endings"].words)
"""Endings that no e-mail address has: `logo@2x.png`, `getty@tty1.service`."""
_NOBODY = frozenset({"git", "noreply", "no-reply", "donotreply", "hg", "svn"})
GENERIC_NAMES = frozenset(_TABLE["nobody"].words)
"""Names that do not identify a person."""


def is_key_body(text: str) -> bool:
    return sum(map(len, _BASE64.findall(text))) >= 40


def is_email(text: str) -> bool:
    local, _, domain = text.lower().rpartition("@")
    return not (local in _NOBODY or domain.rpartition(".")[2] in _FILES or _EXAMPLES.search(domain))


def is_personal(name: str) -> bool:
    return name.lower() not in GENERIC_NAMES and not name.startswith(("$", "<", "{", "*", ".", "%", "[", "-"))


def _is_mixed(text: str) -> bool:
    """Whether it has digits and letters: text with only one of them is a name or a number."""
    return any(map(str.isdigit, text)) and any(map(str.isalpha, text))


def _has_long_value(cookies: str) -> bool:
    return any(len(each.partition("=")[2]) >= 10 for each in cookies.split(";"))


def _is_public(address: str) -> bool:
    """Whether it is no address of a private network or of documentation, and no version number of four parts."""
    parts = [int(part) for part in address.split(".")]
    local = parts[0] in (0, 10, 127, 255) or parts[:2] in ([192, 168], [169, 254]) or parts[:3] in _DOCUMENTED
    return all(part < 256 for part in parts) and not local and not (parts[0] == 172 and 16 <= parts[1] < 32)


_DOCUMENTED = ([192, 0, 2], [198, 51, 100], [203, 0, 113])

_IDS = frozenset(_TABLE["ids"].words)
"""How ids of things begin: those of Claude, of other services, and of builds."""


def is_service_token(text: str) -> bool:
    """Whether it is a short service name followed by much randomness: a token of a service without a row here."""
    start = re.split(r"[_-]", text, maxsplit=1)[0]
    body = re.split(r"[_-]", text)[-1]
    rest = text[len(start) + 1 :]
    if len(body) < 24 and start not in _IDS and len(start) <= 8:
        return len(rest) >= 40 and _is_dense(rest)
    if start in _IDS or len(text) - len(body) > 24:
        return False
    if re.fullmatch(r"[0-9a-f]+", body):
        return len(body) in (32, 40, 48, 64) and any(map(str.isdigit, body)) and _SECRETIVE.search(text) is not None
    has_all = all(any(map(test, body)) for test in (str.isdigit, str.islower, str.isupper))
    return has_all and is_random(body) and entropy(body) >= 3.8


def _is_dense(text: str) -> bool:
    """Whether it is random from end to end, even with hyphens in it."""
    parts = [part for part in re.split(r"[_-]", text) if part]
    has_all = all(any(map(test, text)) for test in (str.isdigit, str.islower, str.isupper))
    return has_all and len(text) / len(parts) >= 7 and is_random(text) and entropy(text) >= 4.2


_SECRETIVE = re.compile(_TABLE["secretive"].text)


def _is_generated(text: str) -> bool:
    return is_key(text, is_quoted=False, least=12) or is_jumbled(text)


def _is_no_placeholder(text: str) -> bool:
    return text.lower() not in ("password", "pass", "pwd", "secret", "xxx", "***", "****")


_CHECKS: dict[str, Callable[[str], bool]] = {
    "mixed": _is_mixed,
    "service token": is_service_token,
    "key body": is_key_body,
    "long value": _has_long_value,
    "generated": _is_generated,
    "not a placeholder": _is_no_placeholder,
    "address of a person": is_email,
    "personal name": is_personal,
    "public address": _is_public,
    "key of a command": is_key_of_command,
    "word of a command": is_word_of_command,
}


def rules(section: str, check: str = "", reach: str = "600 2000") -> tuple[SecretKind, ...]:
    """The kinds of a section of `rules.txt`, with what it does not say for each."""
    return tuple(_rule(entry, {"if": check, "reach": reach}) for entry in entries("secrets/rules", section))


def _rule(entry: TableEntry, usual: dict[str, str]) -> SecretKind:
    hints, *lines = entry.lines
    told = usual | dict(line.split(": ", 1) for line in lines if line.startswith(("if: ", "reach: ", "needs: ")))
    pattern = "".join(line for line in lines if not line.startswith(("if: ", "reach: ", "needs: ")))
    before, _, behind = told["reach"].partition(" ")
    return SecretKind(
        f"{entry.name} {entry.beside}".rstrip(),
        tuple(hints.split()),
        re.compile(filled("secrets/rules", pattern)),
        _CHECKS[told["if"]] if told["if"] else None,
        (int(before), int(behind)) if behind else None,
        told.get("needs", ""),
    )


TOKENS = rules("tokens")
KINDS = (
    *rules("shapes"),
    *rules("keys", "key of a command"),
    *rules("passwords", "word of a command"),
    *rules("calls", "word of a command", "24 300"),
)
OPTIONAL = rules("on request")
"""Found only on request: numbers of four parts are versions as often as addresses."""
BEHIND = tuple(zip((":", ".", "/"), rules("behind a sign"), (12, 3, 3), strict=True))
"""Tokens that begin before their long run: the sign before it, the kind, and how far back it may begin."""
WALLET = re.compile(_TABLE["wallet"].text, re.IGNORECASE)
"""What must precede 0x and 64 digits, which could also be a hash."""
