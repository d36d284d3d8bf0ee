"""Rows as Arrow tables, with the types of their fields, so that an empty table has its columns too."""

from __future__ import annotations

from collections.abc import Mapping
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

from reread.billing.response import Response
from reread.errors import BadInput

from .model import FILE_COLUMNS, IN_FILES, RESPONSE_COLUMNS, FileRows, MomentRow, RequestContext
from .session_row import SessionRow


def tables(rows: Mapping[str, list[dict[str, Any]]]) -> dict[str, Any]:
    try:
        import pyarrow as pa
    except ImportError as error:
        raise BadInput("Arrow tables need the package pyarrow; install reread[lake]") from error
    plain = {int: pa.int64(), float: pa.float64(), bool: pa.bool_(), str: pa.string()}

    def schema(types: Mapping[str, Any]) -> Any:
        return pa.schema(
            [
                (name, pa.list_(pa.string()) if get_origin(type_) in (list, tuple) else plain[type_])
                for name, type_ in types.items()
            ]
        )

    return {name: pa.Table.from_pylist(rows[name], schema=schema(types)) for name, types in _types().items()}


def _types() -> dict[str, dict[str, Any]]:
    """The types of the columns of each table, without None."""
    response = _fields(RequestContext) | {name: _fields(Response)[name] for name in RESPONSE_COLUMNS}
    return {
        "session": _fields(SessionRow),
        "file": {name: _fields(FileRows)[name] for name in FILE_COLUMNS},
        "response": {"file": str, **response},
        **{table: {"file": str, **_fields(kind)} for table, (_, kind) in IN_FILES.items()},
        "moment": _fields(MomentRow),
    }


def _fields(kind: type) -> dict[str, Any]:
    return {name: _without_none(type_) for name, type_ in get_type_hints(kind).items()}


def _without_none(type_: Any) -> Any:
    inside = [each for each in get_args(type_) if each is not NoneType]
    return inside[0] if NoneType in get_args(type_) else type_
