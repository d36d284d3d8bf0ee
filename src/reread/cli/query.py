"""`reread list`, `search` and `sql`: sessions by filters, full text search, and any SQL query."""

from __future__ import annotations

from itertools import chain

from reread import archive as archives
from reread import lazy, views
from reread.errors import BadInput, NoWords
from reread.lazy import TYPE_CHECKING

from . import options
from .session_source import ProgressBar, cleanup_days_of, open_archive
from .streams import report_hidden, tell

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from reread.views.values import View

    from . import team
else:
    lazy.bind(globals())


LIST_EXAMPLES = """\
  reread list --since 7d
  reread list --project api --tool Edit
  reread list --file '*.sql' --json
  reread list --starred --tag refactor
  reread list --no-sync --limit 5"""


def list_parser() -> options.Parser:
    about = "List sessions, last active first: title, project, cost, and what Claude Code will delete soon."
    made = options.make_parser("list", about, LIST_EXAMPLES)
    options.add_filters(made, limit=None)
    options.add_hidden(made)
    return made


def run_list(args: options.Options) -> None:
    store = options.store_of(args)
    if store is not None:
        team.list_store(store, args, options.make_filter(args))
        return
    filters = options.make_filter(args)._replace(without_hidden=not args.hidden)
    with open_archive(args, only_reads=True) as archive:
        total = archive.count_sessions(filters)
        if not total and not args.hidden and archive.count_sessions(filters._replace(without_hidden=False)):
            tell("all matching sessions are hidden; --hidden shows them")
        found = archive.each_session(filters, cleanup_days_of(args.config))
        lost = archive.lost(filters)
        if args.json:
            head = {
                "schema": "reread.sessions/1",
                "total": total,
                "lost": [views.session_list.lost_row(each) for each in lost],
            }
            options.print_json_list(head, "sessions", map(views.session_list.listed_row, found))
        else:
            view = options.make_view(args.config)
            options.print_lines(
                chain(
                    views.session_list.list_lines(found, view, args.config.now, total),
                    views.session_list.lost_lines(lost, view),
                )
            )


SEARCH_EXAMPLES = """\
  reread search flaky retry                    both words, anywhere in one text
  reread search '"exit code 137" OR oom*'      a phrase, a beginning
  reread search deadlock --in thinking --since 30d
  reread search 'title:release NOT draft' --json
  reread search --regex 'error E\\d+' --in result"""
LIMIT = 20


def search_parser() -> options.Parser:
    about = "Search prompts, replies, thinking, tool calls and titles, best matches first; tool results only with --in."
    made = options.make_parser("search", about, SEARCH_EXAMPLES)
    made.add_argument("query", nargs="+", metavar="QUERY", help='words, "phrases", word*, AND, OR, NOT, field:word')
    made.option(
        "--in FIELDS",
        "fields to search: prompt,text,thinking,tool,result,title or all (default: all but result)",
        dest="fields",
    )
    made.flag("--regex", "treat QUERY as a regular expression; slower, and finds punctuation too")
    options.add_filters(made, limit=LIMIT)
    return made


def run_search(args: options.Options) -> None:
    store = options.store_of(args)
    filters = options.make_filter(args)._replace(limit=None)
    query = " ".join(args.query)
    for told in () if args.regex else archives.search_language.remarks(query):
        tell(told)
    if store is not None:
        team.search_store(store, args, filters)
        return
    fields = archives.search_language.fields_of(args.fields, "--in")
    with open_archive(args, only_reads=True) as archive:
        progress = ProgressBar()
        try:
            answer = archive.search(
                query, fields, filters, args.limit, is_regex=args.regex, now=args.config.now, report=progress
            )
        except NoWords as error:
            raise BadInput(f"{error}, --regex finds anything") from error
        finally:
            progress.close()
        lost = archive.lost(filters, query, fields, is_regex=args.regex)[: args.limit]
        found, gone = views.hits, views.session_list
        args.print_answer(
            lambda: {**found.search_document(answer, answer.terms), "lost": [gone.lost_row(each) for each in lost]},
            lambda view: chain(found.search_lines(answer, answer.terms, view), gone.lost_lines(lost, view)),
        )
        report_hidden(answer.hidden)
        if answer.waiting:
            tell(f"{views.numbers.results_waiting(answer.waiting)}: hits may be missing")


SQL_EXAMPLES = """\
  reread sql --schema
  reread sql "SELECT project, count(*) AS n FROM session GROUP BY 1 ORDER BY 2"
  reread sql "SELECT name, count(*) AS calls FROM tool_call GROUP BY name" --csv
  reread sql "SELECT uuid, title FROM session WHERE compactions > 0" --json"""


def sql_parser() -> options.Parser:
    about = "Run one SQL statement on the archive, read-only."
    made = options.make_parser("sql", about, SQL_EXAMPLES)
    made.word("[QUERY]", "a SELECT")
    made.flag("--schema", "describe the tables and columns")
    made.flag(
        "--csv",
        "print CSV with a header; control characters are left out, and a text that begins like a formula gets an"
        " apostrophe before it (--json keeps all as it is)",
    )
    return made


def run_sql(args: options.Options) -> None:
    options.refuse_two_answers(args)
    if args.schema:
        described = archives.Archive.schema()
        if args.json:
            options.print_json({"schema": "reread.sql_schema/1", "text": described})
        else:
            options.print_text(f"{described}\n")
        return
    if args.query is None:
        raise BadInput("a QUERY is missing; `reread sql --schema` shows what can be asked")
    with open_archive(args) as archive:
        columns, rows = archive.sql(args.query)
    if args.csv:
        options.print_text(_csv(columns, rows))
    else:
        args.print_answer(
            lambda: views.session_list.rows_document(columns, rows), lambda view: table_lines(columns, rows, view)
        )


def _csv(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    import csv
    import io

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(map(views.text.csv_text, columns))
    writer.writerows([_csv_value(value) for value in row] for row in rows)
    return text.getvalue()


def _csv_value(value: object) -> object:
    return views.text.csv_text(value) if isinstance(value, str) else views.session_list.json_value(value)


def table_lines(columns: Sequence[str], rows: Sequence[Sequence[object]], view: View) -> Iterator[str]:
    """Any rows as a table; each row on lines of its own if there are too many columns for the terminal."""
    shown = [[_cell(value) for value in row] for row in rows]
    widths = [max(views.text.cells(row[place]) for row in [columns, *shown]) for place in range(len(columns))]
    if shown and sum(widths) + 2 * (len(widths) - 1) - max(0, max(widths) - _LEAST_COLUMN) > view.width:
        yield from _record_lines(columns, shown, view)
        return
    numbers = {
        place
        for place in range(len(columns))
        if rows and all(isinstance(row[place], int | float | None) for row in rows)
    }
    lines = views.text.table(
        [columns, *shown], view.width, flexible=widths.index(max(widths)), right=frozenset(numbers)
    )
    yield view.style.paint(next(lines), "bold")
    yield from lines


_LEAST_COLUMN = 16
"""How many cells the widest column of a table keeps."""


def _record_lines(columns: Sequence[str], rows: Sequence[Sequence[str]], view: View) -> Iterator[str]:
    """Each row as lines of name and value, without the empty ones."""
    beside = min(max(map(views.text.cells, columns)), view.width // 2)
    for number, row in enumerate(rows, 1):
        yield view.style.paint(views.text.ruler(f"{number:,}", view.width), "dim")
        for name, value in zip(columns, row, strict=True):
            label = views.text.shorten(name, beside)
            lead = view.style.paint(label, "bold") + " " * (beside - views.text.cells(label) + 2)
            if value:
                yield from views.text.hanging(value, view.width, lead, " " * (beside + 2))


def _cell(value: object) -> str:
    return "" if value is None else views.text.one_line(str(views.session_list.json_value(value)))
