"""What every answer of an archive can do: be counted, gone through, and shown as plain rows or as a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Generic, TypeVar

from msgspec import Struct

from reread import lazy
from reread.lazy import TYPE_CHECKING

if TYPE_CHECKING:
    import html
else:
    lazy.bind(globals())

_Row = TypeVar("_Row")
_SHOWN = 50
_LONGEST = 200


class Answer(Struct, Generic[_Row], frozen=True):
    """Rows with what is known of all of them."""

    _rows_in: ClassVar[str] = "rows"
    """The field that has the rows."""

    @property
    def total(self) -> int:
        """How many rows there are, including those beyond the limit."""
        count: int | None = getattr(self, "total_rows", None)
        return len(self) if count is None else count

    def _rows(self) -> Sequence[_Row]:
        found: Sequence[_Row] = getattr(self, self._rows_in)
        return found

    def _plain(self, row: _Row) -> dict[str, Any]:
        """One row as columns of plain values; money in dollars, times as they are."""
        raise NotImplementedError

    def __iter__(self) -> Iterator[_Row]:
        return iter(self._rows())

    def __len__(self) -> int:
        return len(self._rows())

    def __bool__(self) -> bool:
        return True  # an answer without rows is one

    def to_dicts(self) -> list[dict[str, Any]]:
        """The rows as dictionaries of plain values, for data frames and files."""
        return [self._plain(row) for row in self]

    def __repr__(self) -> str:
        return f"<{type(self).__name__}, {len(self):,} of {self.total:,}>"

    def _repr_html_(self) -> str:
        """A table for notebooks."""
        rows = [self._plain(row) for row, _ in zip(self, range(_SHOWN), strict=False)]
        head = "".join(f"<th>{html.escape(name)}</th>" for name in (rows[0] if rows else ()))
        body = "".join(f"<tr>{''.join(map(_cell, row.values()))}</tr>" for row in rows)
        return f"<table><caption>{html.escape(repr(self))}</caption><tr>{head}</tr>{body}</table>"


def _cell(value: object) -> str:
    text = "" if value is None else str(value)
    return f"<td>{html.escape(text if len(text) <= _LONGEST else text[: _LONGEST - 1] + '…')}</td>"
