"""`reread format` and `reread schema`: what the client writes, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterable

from reread import views
from reread.errors import BadInput
from reread.records import book
from reread.views.text import wrap
from reread.views.values import View

from . import main, options

FORMAT_EXAMPLES = """\
  reread format                    every record, attachment, block and frame
  reread format assistant          its fields, versions, pitfalls, a smallest line
  reread format attachment/file    where a name has several meanings
  reread format toolUseResult      a field: where it occurs, what it means"""
SCHEMA_EXAMPLES = """\
  reread schema                    the names of all schemas
  reread schema transcript         a JSON Schema of any line of a transcript
  reread schema stream             the same of the stream-json protocol
  reread schema assistant          of one kind of line
  reread schema sessions           of what `reread list --json` prints"""


def format_parser() -> options.Parser:
    about = "Describe the transcript format: every record, attachment, block, frame and side file with its fields."
    made = options.make_parser("format", about, FORMAT_EXAMPLES, syncs=False)
    made.word("[NAME]", "a kind or a field; default: list all kinds")
    return made


def run_format(args: options.Options) -> None:
    entries = book.read_book().entries if args.name is None else book.find_entries(args.name)
    fields = [] if entries else book.find_fields(args.name)
    if not entries and not fields:
        known = [
            name for each in book.read_book().entries for name in (each.name, *(field.name for field in each.fields))
        ]
        raise _no_such("kind or field", args.name, known, "format")

    def lines(view: View) -> Iterable[str]:
        if args.name is None:
            return views.format_book.contents_lines(view)
        if entries:
            return (line for each in entries for line in views.format_book.entry_lines(each, view))
        return views.format_book.field_lines(args.name, fields, view)

    with options.paged(args.config, is_wanted=not args.json):
        found = entries or {each.key: each for each, _ in fields}.values()
        args.print_answer(lambda: views.format_book.format_document(found), lines)


STREAMS = ("transcript", "stream")


def schema_parser() -> options.Parser:
    about = "Print a JSON Schema: of transcripts, of the stream, of one kind of line, or of what --json prints."
    made = options.make_parser("schema", about, SCHEMA_EXAMPLES, syncs=False)
    made.word("[NAME]", "a schema; default: list their names")
    return made


def run_schema(args: options.Options) -> None:
    documents, entries = list(book.document_schemas()), book.read_book().entries
    if args.name is None:
        names = {"streams": [*STREAMS], "documents": documents, "kinds": [each.key for each in entries]}
        args.print_answer(lambda: {"schema": "reread.schemas/1", **names}, lambda view: _schema_lines(names, view))
        return
    found = book.schema_of(args.name)
    if found is None:
        raise _no_such("schema", args.name, [*STREAMS, *documents, *(each.name for each in entries)], "schema")
    options.print_json(found)


def _schema_lines(names: dict[str, list[str]], view: View) -> Iterable[str]:
    yield from (", ".join(names["streams"]), "", "of what --json prints:")
    yield from wrap(", ".join(names["documents"]), view.width)
    yield from ("", "kinds of lines and objects:", *(f"  {each}" for each in names["kinds"]))


def _no_such(what: str, name: str, known: list[str], command: str) -> BadInput:
    close = main.spelled_like(name, known)
    meant = f" (did you mean {close}?)" if close else ""
    return BadInput(f"there is no {what} {name!r}; `reread {command}` lists them{meant}")
