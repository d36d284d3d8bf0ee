"""Passwords and keys given to programs on their command lines: the patterns for them stand in `rules.txt`."""

from __future__ import annotations

import re

from reread.features.word_tables import table

from .secret_values import is_excluded, is_key, is_meant, is_password, is_random


def is_word_of_command(value: str) -> bool:
    """Whether a word in the place of a password is one, and not a reference, a placeholder or another option."""
    return is_meant(value, least=8, is_chosen=False) or (
        not value.startswith("-")
        and not is_excluded(value, 4)
        and value.lower() not in _COMMAND_WORDS
        and not re.fullmatch(r"\d{1,5}", value)
    )


_COMMAND_WORDS = frozenset(table("secrets/rules", "words")["of_commands"].words)


def is_key_of_command(value: str) -> bool:
    """Whether a word in the place of a key is one."""
    return is_key(value, is_quoted=True, least=12) or (is_random(value) and is_password(value, is_quoted=True))
