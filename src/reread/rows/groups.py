"""Rows, or anything else, by what they have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

Key = TypeVar("Key")
Item = TypeVar("Item")


def grouped(items: Iterable[Item], key: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    """The items by their keys, both in the order in which they come."""
    found: dict[Key, list[Item]] = {}
    for each in items:
        found.setdefault(key(each), []).append(each)
    return found
