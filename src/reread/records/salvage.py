"""Fills a typed value from plain JSON, field by field, when the strict decoder refused the whole.

One field of the wrong type must not cost the rest of the line: it becomes None and is named in `flaws`.
"""

from __future__ import annotations

from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Raw, Struct

from .tolerant import FAILURES, UNKNOWN_TAG, without_surrogates

S = TypeVar("S", bound=Struct)


def salvage(kind: type[S], value: dict[str, Any], flaws: list[str], path: str = "") -> S:
    """An instance of `kind` with every field that can be read; the others are named in `flaws`."""
    given: dict[str, Any] = {}
    for name, (key, annotation) in fields_of(kind).items():
        if value.get(key) is not None:
            given[name] = _fit(annotation, value[key], flaws, f"{path}{key}")
    return kind(**{name: found for name, found in given.items() if found is not None})


@cache
def fields_of(kind: type[Struct]) -> dict[str, tuple[str, Any]]:
    """Python name -> (name in the JSON, resolved annotation)."""
    hints = get_type_hints(kind, include_extras=True)
    return {f.name: (f.encode_name, hints[f.name]) for f in msgspec.structs.fields(kind)}


def options(annotation: Any) -> tuple[Any, ...]:
    """The members of a union, or the annotation alone."""
    if get_origin(annotation) in (Union, UnionType):
        return tuple(member for member in get_args(annotation) if member is not NoneType)
    return (annotation,)


def struct_for(members: tuple[Any, ...], value: dict[str, Any]) -> type[Struct] | None:
    """The struct type an object should become: by its tag where the types carry one."""
    structs = [m for m in members if isinstance(m, type) and issubclass(m, Struct)]
    tagged = {m.__struct_config__.tag: m for m in structs if m.__struct_config__.tag is not None}
    if not tagged:
        return structs[0] if structs else None
    tag = value.get("type")
    return tagged.get(tag if isinstance(tag, str) else UNKNOWN_TAG) or tagged.get(UNKNOWN_TAG)


def _fit(annotation: Any, value: Any, flaws: list[str], path: str) -> Any:
    members = options(annotation)
    if Raw in members:
        return Raw(_encoded(value))
    if isinstance(value, dict) and (kind := struct_for(members, value)) is not None:
        return _fit_struct(kind, value, flaws, path)
    for member in members:
        if isinstance(value, list) and get_origin(member) is list:
            return _fit_items(get_args(member)[0], value, flaws, path)
        if isinstance(value, dict) and get_origin(member) is dict:
            inner = get_args(member)[1]
            return {str(key): _fit(inner, item, flaws, f"{path}.{key}") for key, item in value.items()}
    return _fit_plain(annotation, value, flaws, path)


def _fit_struct(kind: type[Struct], value: dict[str, Any], flaws: list[str], path: str) -> Struct:
    if kind.__struct_config__.tag == UNKNOWN_TAG:
        return unknown_value(kind, value)
    return salvage(kind, value, flaws, f"{path}.")


def _fit_items(annotation: Any, items: list[Any], flaws: list[str], path: str) -> list[Any]:
    """A list keeps what it can; items no type describes stay as unknown values where the type has room."""
    unknown = struct_for(options(annotation), {"type": UNKNOWN_TAG})
    kept: list[Any] = []
    for index, item in enumerate(items):
        if unknown is not None and unknown.__struct_config__.tag == UNKNOWN_TAG and not isinstance(item, dict):
            kept.append(unknown_value(unknown, item))
            continue
        fitted = None if item is None else _fit(annotation, item, flaws, f"{path}[{index}]")
        if fitted is not None or NoneType in get_args(annotation):
            kept.append(fitted)
    return kept


def _fit_plain(annotation: Any, value: Any, flaws: list[str], path: str) -> Any:
    try:
        return msgspec.convert(value, annotation, strict=False)
    except FAILURES:
        flaws.append(path)
        return None


def unknown_value(kind: type[S], value: Any) -> S:
    """Wraps what no type describes; every kind tagged unknown has these two fields."""
    tag = value.get("type") if isinstance(value, dict) else None
    return kind(type_name=tag if isinstance(tag, str) else None, value=Raw(_encoded(value)))


def _encoded(value: Any) -> bytes:
    return msgspec.json.encode(without_surrogates(value))
