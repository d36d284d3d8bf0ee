"""`reread export`: sessions as files that can be kept, read and shared."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from reread.config import expanded
from reread.errors import BadInput, printable

from . import options
from .telling import tell

if TYPE_CHECKING:
    from reread.archive import Archive
    from reread.config import Config

    from .exporting import Export, Exporter, Source, Told
    from .opening import Opened

EXAMPLES = """\
  reread export @last -o session.html
  reread export 3f2a --redact --check -o share.html     fails when something secret would remain
  reread export 3f2a --format markdown --no-thinking > session.md
  reread export --project api --format obsidian -o vault/sessions
  reread export 3f2a --format jsonl --redact | jq .type"""
FORMATS = ("html", "markdown", "obsidian", "json", "jsonl")


def parser() -> options.Parser:
    about = (
        "A session as one HTML file that needs nothing else, as Markdown, as a note for Obsidian, as JSON, or as its"
        " transcript line for line; many sessions as a folder with an index."
    )
    made = options.make_parser("export", about, EXAMPLES)
    options.add_session(made)
    made.add_argument("--format", choices=FORMATS, help="the default is what --output ends in, or html")
    made.add_argument("--output", "-o", metavar="PATH", help="a file, or a folder; the default is standard output")
    made.add_argument("--no-thinking", dest="thinking", action="store_false", help="without what the model thought")
    made.add_argument("--no-tools", dest="tools", action="store_false", help="without tool calls")
    made.add_argument("--no-subagents", dest="subagents", action="store_false", help="without what subagents did")
    made.add_argument("--raw", action="store_true", help="html: with the record of every item behind a fold")
    made.add_argument(
        "--redact", action="store_true", help="take out keys, tokens, passwords, e-mail addresses, names in home paths"
    )
    made.add_argument("--redact-ips", action="store_true", help="take out public IP addresses, too")
    made.add_argument(
        "--check", action="store_true", help="write nothing and exit with 1 when something secret would remain"
    )
    options.add_filters(made, limit=None)
    return made


def run(arguments: list[str]) -> int:
    given = parser().parse_args(arguments)
    config = options.make_config(given)
    output = expanded(given.output) if given.output is not None else None
    given.redact = given.redact or given.redact_ips
    if given.json and output is None and given.format not in (None, "json"):
        raise BadInput("--json tells what was written where; it needs --output")
    given.format = given.format or _format_of(output, as_json=given.json and output is None)
    from .exporting import Exporter

    exporter = Exporter(given, config)
    if output is not None:
        from .writing import refuse_sources

        refuse_sources(output, config)
    if given.session is None:
        from .export_folder import export_folder

        return export_folder(exporter, output)
    return _export_one(exporter, output)


def _format_of(output: Path | None, *, as_json: bool) -> str:
    if as_json:
        return "json"
    endings = {".md": "markdown", ".json": "json", ".jsonl": "jsonl"}
    return endings.get(output.suffix.lower(), "html") if output is not None else "html"


def _export_one(exporter: Exporter, output: Path | None) -> int:
    with _opened(exporter.given, exporter.config) as source:
        made = exporter.export(source)
    if not tell_secrets([made.told], exporter.given):
        return 1
    if output is None:
        options.print_bytes_or_text(made.content, is_exact=exporter.form == "jsonl")
        return 0
    path = output / file_name(made, exporter.suffix) if output.is_dir() else output
    from .writing import write_whole

    write_whole(path, made.content)
    tell_written([(path, made.told)], exporter)
    return 0


@contextmanager
def _opened(given: argparse.Namespace, config: Config) -> Iterator[Source]:
    from reread.render.kept import kept_fields

    from .exporting import Source
    from .opening import open_session

    given.json, asked = given.json or given.format == "json", given.json  # what the archive knows is asked for JSON
    with open_session(given, config) as opened:
        kept = kept_fields(opened.kept) if opened.kept is not None else None
        yield Source(opened.session, lambda: transcript_of(opened, given.session), kept)
    given.json = asked


def transcript_of(opened: Opened, name: str) -> bytes:
    """The bytes of the session's own file."""
    if opened.archive is not None:
        return opened.archive.transcript(name)
    if not opened.session.transcript or not opened.session.files:
        return b""
    return Path(opened.session.files[0]).read_bytes()


def source_in(archive: Archive, name: str) -> Source:
    from .exporting import Source

    return Source(archive.session(name), lambda: archive.transcript(name))


def tell_secrets(exports: list[Told], given: argparse.Namespace) -> bool:
    """Says what was taken out, never what it was; gives False where something is left that must not be."""
    from .exporting import told

    if not (given.redact or given.check):
        return True
    taken, distinct, left = (
        sum((getattr(each, name) for each in exports), start=Counter[str]()) for name in ("taken", "distinct", "left")
    )
    if given.redact:
        tell(f"taken out: {told(taken, distinct)}" if taken else "nothing to take out")
        if any(each.has_images for each in exports):
            tell("images are shown as they are: look at them before you share this")
    if left:
        tell(f"something secret would remain, so nothing is written: {told(left)}")
        return False
    return True


def file_name(made: Export, suffix: str) -> str:
    """`2026-11-13-fix-the-flaky-retry-test-3f2a9c10.html`: by day, then by what it is about."""
    import re

    from reread.render.values import utc

    session = made.session
    day = (utc(session.started) or "undated")[:10]
    words = re.sub(r"[^\w]+", "-", re.sub(r"\[redacted[^\]]*\]", "", session.title)).strip("-").lower()[:50].strip("-")
    name = re.sub(r"[^\w-]+", "-", session.id)[:8].strip("-")
    return "-".join(part for part in (day, words, name) if part) + suffix


def tell_written(written: list[tuple[Path, Told]], exporter: Exporter) -> None:
    """What was written, on standard output."""
    if not exporter.given.json:
        options.print_lines([printable(str(path)) for path, _ in written])
        return
    files = [
        {"path": str(path), "session": told.session, "bytes": told.size, "redacted": dict(told.taken)}
        for path, told in written
    ]
    options.print_json({"schema": "reread.export/1", "format": exporter.form, "files": files})


def refuse_no_folder(output: Path | None) -> Path:
    """Many sessions need a folder of their own."""
    if output is None:
        raise BadInput("name a SESSION, or a folder for many with --output DIR")
    if output.exists() and not output.is_dir():
        raise BadInput(f"{printable(str(output))} is a file; many sessions need a folder")
    return output
