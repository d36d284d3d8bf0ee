"""Replacing strings in a file exactly as the client's Edit tool does."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

_STRAIGHT = str.maketrans({"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"'})


class Replacement(Struct, frozen=True):
    old: str
    new: str
    is_all: bool = False


def replaced(text: str, replacements: Iterable[Replacement]) -> str | None:
    """The text after all of them, one after the other; None where one finds nothing to replace."""
    for each in replacements:
        result = _replaced(text, each)
        if result is None:
            return None
        text = result
    return text


def _replaced(text: str, each: Replacement) -> str | None:
    if not each.old:  # makes a file, or fills an empty one
        return each.new if not text.strip() else None
    old = _with_its_newline(text, each)
    if old not in text:
        return None
    return text.replace(old, each.new) if each.is_all else text.replace(old, each.new, 1)


def _with_its_newline(text: str, each: Replacement) -> str:
    """Removing whole lines takes the newline after them too (seen in 2.1.197 and 2.1.325)."""
    is_removal = not each.new and not each.old.endswith("\n") and f"{each.old}\n" in text
    return f"{each.old}\n" if is_removal else each.old


def restored(text: str, replacements: Iterable[Replacement]) -> str | None:
    """The text before all of them, where only one text can have been."""
    for each in reversed(list(replacements)):
        if each.is_all or not each.new or text.count(each.new) != 1:
            return None
        before = text.replace(each.new, each.old, 1)
        if _replaced(before, each) != text:
            return None
        text = before
    return text


def differs_in_quotes(one: str, other: str) -> bool:
    """The client keeps a file's curly quotes where the model sends straight ones; only the patch shows them."""
    return one != other and one.translate(_STRAIGHT) == other.translate(_STRAIGHT)
