"""`reread sql`: questions of the person's own, read-only."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from reread.errors import BadInput

from . import options

if TYPE_CHECKING:
    from reread.views.values import View

SQL_EXAMPLES = """\
  reread sql --schema
  reread sql "SELECT project, count(*) FROM session GROUP BY project ORDER BY 2 DESC"
  reread sql "SELECT name, count(*) AS calls FROM tool_call GROUP BY name" --csv
  reread sql "SELECT uuid, title FROM session WHERE compactions > 0" --json"""


def sql_parser() -> options.Parser:
    about = "Run one SQL statement on the archive, read-only."
    made = options.make_parser("sql", about, SQL_EXAMPLES)
    made.add_argument("query", nargs="?", metavar="QUERY", help="a SELECT")
    made.add_argument("--schema", action="store_true", help="describe the tables and columns")
    made.add_argument(
        "--csv",
        action="store_true",
        help="print CSV with a header; control characters are left out (--json keeps them)",
    )
    return made


def run_sql(arguments: list[str]) -> int:
    given = sql_parser().parse_args(arguments)
    if given.schema:
        from reread.archive import Archive

        options.print_text(Archive.schema() + "\n")
        return 0
    if given.query is None:
        raise BadInput("a QUERY is missing; `reread sql --schema` shows what can be asked")
    config = options.make_config(given)
    from reread.views.archive_json import rows_document

    from .session_source import open_archive

    with open_archive(given, config) as archive:
        columns, rows = archive.sql(given.query)
    if given.csv:
        options.print_text(_csv(columns, rows))
    else:
        options.show_answer(
            given, config, lambda: rows_document(columns, rows), lambda view: table_lines(columns, rows, view)
        )
    return 0


def _csv(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    import csv

    from reread.views.archive_json import json_value

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([json_value(value) for value in row] for row in rows)
    return text.getvalue()


def table_lines(columns: Sequence[str], rows: Sequence[Sequence[object]], view: View) -> Iterator[str]:
    """Any rows as a table."""
    from reread.views.text import cells, table

    shown = [[_cell(value) for value in row] for row in rows]
    widths = [max(cells(row[place]) for row in [columns, *shown]) for place in range(len(columns))]
    numbers = {
        place
        for place in range(len(columns))
        if rows and all(isinstance(row[place], int | float | None) for row in rows)
    }
    lines = table([columns, *shown], view.width, flexible=widths.index(max(widths)), right=frozenset(numbers))
    yield view.style.paint(next(lines), "bold")
    yield from lines


def _cell(value: object) -> str:
    from reread.views.archive_json import json_value
    from reread.views.text import one_line

    return "" if value is None else one_line(str(json_value(value)))
