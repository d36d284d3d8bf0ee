"""Parts of JSON that nobody guarantees: what is not of the kind asked for reads as empty."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def object_of(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def list_of(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def objects_in(value: object) -> list[dict[str, Any]]:
    """The objects of a list."""
    return [each for each in list_of(value) if isinstance(each, dict)]


def text_or_none(value: object) -> str | None:
    return value if isinstance(value, str) else None
