"""`reread export`: one session or a whole folder of them as files to keep, read and share."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

from reread import archive as archives
from reread import lazy
from reread.config import expanded
from reread.errors import BadInput, printable
from reread.foreign_files import path_below
from reread.home import make_private
from reread.sessions import Session
from reread.views.numbers import count, money

from . import options
from .session_source import (
    ProgressBar,
    cleanup_days_of,
    made_whole,
    open_session,
    query_archive,
    refuse_sources,
    write_whole,
)
from .streams import tell

if TYPE_CHECKING:
    from reread.archive import Archive, Listed
    from reread.features import secrets
    from reread.features.secrets import redact
    from reread.views import secret_list, session_list
    from reread.views.values import Document

    from .session_source import Opened
else:  # loading the patterns takes 0.1 s, and most exports do not redact
    lazy.bind(globals())


class ExportSource(NamedTuple):
    """A session, its transcript, and the archive's fields for it."""

    session: Session
    transcript: Callable[[], bytes]
    kept: Document | None = None


class ExportReport(NamedTuple):
    """What is printed about an export."""

    session: str
    size: int
    taken: Counter[str]
    """How many occurrences were redacted, by kind."""
    distinct: Counter[str]
    """How many different values were redacted, by kind."""
    left: Counter[str]
    """Secrets that remain, by kind; empty if they were not looked for."""
    has_images: bool


class Export(NamedTuple):
    """A session in the chosen format."""

    session: Session
    content: bytes
    report: ExportReport


class Exporter:
    """Makes exports according to the options."""

    def __init__(self, args: options.Options) -> None:
        self.args = args
        self.form: str = args.format
        if self.form == "jsonl" and not (args.thinking and args.tools and args.subagents):
            raise BadInput("jsonl is the transcript line for line; --no-thinking and the like need another --format")

    @property
    def suffix(self) -> str:
        return SUFFIXES[self.form]

    def export(self, source: ExportSource) -> Export:
        """Exports one session. Secrets are looked for only with `--redact` or `--check`."""
        if not (self.args.redact or self.args.check):
            return _export(source.session, self._content(source))
        redactor = secrets.Redactor(addresses=self.args.redact_ips)
        clean = self._redacted(source, redactor)
        content = self._content(clean if self.args.redact else source)
        text = content.decode("utf-8", "replace")
        taken, distinct = secrets.placeholders(text) if self.args.redact else (Counter[str](), Counter[str]())
        left = secret_list.left_in_export(redactor, text, self.form)
        return _export(clean.session if self.args.redact else source.session, content, taken, distinct, left)

    def _redacted(self, source: ExportSource, redactor: secrets.Redactor) -> ExportSource:
        """Redacts the whole session, even parts that are not shown: one part may reveal what is secret in another."""
        lines = source.transcript().split(b"\n") if self.form == "jsonl" else []
        redact.learn_lines(redactor, lines)
        session = secrets.redacted_session(source.session, redactor)
        kept = redact.redacted_value(redactor, source.kept) if source.kept is not None else None
        return ExportSource(session, lambda: b"\n".join(secrets.redacted_line(redactor, line) for line in lines), kept)

    def _content(self, source: ExportSource) -> bytes:
        return _FORMS[self.form](self, source)

    def html(self, source: ExportSource) -> bytes:
        from reread.views.html.page import MADE, session_page
        from reread.views.html.parts import Sections

        args = self.args
        shown = Sections(args.thinking, args.tools, args.subagents, raw=args.raw)
        made = f"{MADE} Secrets were taken out." if args.redact else MADE
        return session_page(source.session, shown, made).encode("utf-8", "replace")

    def markdown(self, source: ExportSource) -> bytes:
        from reread.views.markdown import MarkdownOptions, markdown_lines

        options = MarkdownOptions(self.args.thinking, self.args.tools, self.args.subagents)
        return _joined(markdown_lines(source.session, options))

    def obsidian(self, source: ExportSource) -> bytes:
        from reread.features.summaries import summary_of
        from reread.views.markdown import MarkdownOptions, obsidian_lines

        wanted = MarkdownOptions(self.args.thinking, self.args.tools, self.args.subagents)
        view = options.make_view(self.args.config)
        return _joined(obsidian_lines(source.session, summary_of(source.session), wanted, view))

    def json(self, source: ExportSource) -> bytes:
        import msgspec

        from reread.views.session_json import session_document
        from reread.views.values import encoded

        document = session_document(source.session, source.session.branches, None, source.kept)
        document["turns"] = [self._turn(turn) for turn in document["turns"]]
        return msgspec.json.format(encoded(document), indent=2) + b"\n"

    def _turn(self, turn: Document) -> Document:
        """A turn with the chosen sections."""
        left_out = {
            *(() if self.args.thinking else ("thinking",)),
            *(() if self.args.tools else ("tool", "agent")),
            *(() if self.args.subagents else ("agent",)),
        }
        if not left_out:
            return turn
        steps = [step for step in turn["steps"] if step["kind"] not in left_out]
        for step in steps:
            if step["kind"] == "agent":
                step["turns"] = [self._turn(each) for each in step["turns"]]
        return {**turn, "steps": steps}

    def jsonl(self, source: ExportSource) -> bytes:
        raw = source.transcript()
        if not raw:
            raise BadInput(f"session {printable(source.session.id)} has no transcript of its own; try --format json")
        return raw


def _export(session: Session, content: bytes, *counts: Counter[str]) -> Export:
    taken, distinct, left = counts or (Counter[str](), Counter[str](), Counter[str]())
    has_images = b"data:image/" in content or b'"media_type"' in content
    return Export(session, content, ExportReport(session.id, len(content), taken, distinct, left, has_images))


_FORMS: dict[str, Callable[[Exporter, ExportSource], bytes]] = {
    "html": Exporter.html,
    "markdown": Exporter.markdown,
    "obsidian": Exporter.obsidian,
    "json": Exporter.json,
    "jsonl": Exporter.jsonl,
}
SUFFIXES = {"html": ".html", "markdown": ".md", "obsidian": ".md", "json": ".json", "jsonl": ".jsonl"}


def _joined(lines: Iterable[str]) -> bytes:
    return ("\n".join(lines) + "\n").encode("utf-8", "replace")


def kind_counts(counts: Counter[str], distinct: Counter[str] | None = None) -> str:
    """`3 of GitHub token (1 different), 12 of user`."""
    parts = []
    for kind, number in sorted(counts.items(), key=lambda each: (-each[1], each[0])):
        different = f" ({distinct[kind]} different)" if distinct and distinct[kind] else ""
        parts.append(f"{kind} {number:,}×{different}")
    return ", ".join(parts)


EXPORT_EXAMPLES = """\
  reread export @last -o session.html
  reread export 3f2a --redact --check -o share.html     fails when something secret would remain
  reread export 3f2a --format markdown --no-thinking > session.md
  reread export --project api --format obsidian -o vault/sessions
  reread export 3f2a --format jsonl --redact | jq .type
  reread export --since 30d --format sqlite -o sessions.db     for Datasette and notebooks"""
FORMATS = ("html", "markdown", "obsidian", "json", "jsonl", "sqlite")


def export_parser() -> options.Parser:
    about = (
        "Export a session as one self-contained HTML file, as Markdown, an Obsidian note, JSON, or the original"
        " transcript; export many sessions to a folder with an index, or to one SQLite database."
    )
    made = options.make_parser("export", about, EXPORT_EXAMPLES)
    options.add_session(made)
    made.option("--format", "output format (default: from the name of --output, or html)", choices=FORMATS)
    made.option("--output -o PATH", "file or folder to write (default, or -: standard output)")
    made.add_argument("--no-thinking", dest="thinking", action="store_false", help="leave out thinking")
    made.add_argument("--no-tools", dest="tools", action="store_false", help="leave out tool calls")
    made.add_argument("--no-subagents", dest="subagents", action="store_false", help="leave out subagents")
    made.flag("--raw", "html: include each raw record, folded")
    made.flag("--redact", "redact keys, tokens, passwords, e-mail addresses and user names in home paths")
    made.flag("--redact-ips", "redact public IP addresses as well")
    made.flag("--check", "if a secret would remain, write nothing and exit with 1")
    options.add_filters(made, limit=None)
    return made


def run_export(args: options.Options) -> int:
    args.output = None if args.output in ("-", "/dev/stdout") else args.output
    output = expanded(args.output) if args.output is not None else None
    args.redact = args.redact or args.redact_ips
    if args.json and output is None and args.format not in (None, "json"):
        raise BadInput("--json reports what was written where, so it needs --output")
    args.format = args.format or _format_of(output, as_json=args.json and output is None)

    if output is not None:
        refuse_sources(output, args.config)
    if args.format == "sqlite":
        return export_database(args, output)
    exporter = Exporter(args)
    if args.session is None:
        return export_folder(exporter, output)
    return _export_one(exporter, output)


_ENDINGS = {
    **dict.fromkeys((".md", ".markdown"), "markdown"),
    **dict.fromkeys((".db", ".sqlite", ".sqlite3"), "sqlite"),
    ".json": "json",
    ".jsonl": "jsonl",
}


def _format_of(output: Path | None, *, as_json: bool) -> str:
    if as_json:
        return "json"
    return _ENDINGS.get(output.suffix.lower(), "html") if output is not None else "html"


def _export_one(exporter: Exporter, output: Path | None) -> int:
    with _opened(exporter.args) as source:
        made = exporter.export(source)
    if not report_secrets([made.report], exporter.args):
        return 1
    if output is None:
        options.print_bytes_or_text(made.content, is_exact=exporter.form == "jsonl")
        return 0
    path = output / file_name(made, exporter.suffix) if output.is_dir() else output
    write_whole(path, made.content)
    report_written([(path, made.report)], exporter)
    return 0


@contextmanager
def _opened(args: options.Options) -> Iterator[ExportSource]:
    args.json, asked = args.json or args.format == "json", args.json  # JSON includes the archive's fields
    with open_session(args) as opened:
        kept = session_list.kept_fields(opened.kept) if opened.kept is not None else None
        yield ExportSource(opened.session, lambda: transcript_of(opened, args.session), kept)
    args.json = asked


def transcript_of(opened: Opened, name: str) -> bytes:
    """The bytes of the session's own file."""
    if opened.archive is not None:
        return opened.archive.transcript(name)
    if not opened.session.transcript or not opened.session.files:
        return b""
    return Path(opened.session.files[0]).read_bytes()


def source_in(archive: Archive, listed: Listed) -> ExportSource:
    """The listed session, even if copies of it have the same name."""
    stored = listed.stored
    return ExportSource(archive.session(stored), lambda: archive.transcript(stored), session_list.kept_fields(listed))


def report_secrets(exports: list[ExportReport], args: options.Options) -> bool:
    """Reports kinds and counts of redacted secrets, never the values. False if a secret remains that must not."""

    if not (args.redact or args.check):
        return True
    taken, distinct, left = (
        sum((getattr(each, name) for each in exports), start=Counter[str]()) for name in ("taken", "distinct", "left")
    )
    if args.redact:
        tell(f"taken out: {kind_counts(taken, distinct)}" if taken else "nothing to take out")
        if any(each.has_images for each in exports):
            tell("images are shown as they are: look at them before you share this")
    if left:
        tell(f"something secret would remain, so nothing is written: {kind_counts(left)}")
        return False
    return True


def file_name(made: Export, suffix: str) -> str:
    """`2026-11-13-fix-the-flaky-retry-test-3f2a9c10.html`: day, title and id, in characters that file names can have on
    this system."""
    import re

    from reread.views.values import utc

    session = made.session
    day = (utc(session.started) or "undated")[:10]
    words = re.sub(r"[^\w]+", "-", re.sub(r"\[redacted[^\]]*\]", "", session.title)).strip("-").lower()[:50].strip("-")
    name = re.sub(r"[^\w-]+", "-", session.id)[:8].strip("-")
    made_of = "-".join(part for part in (day, words, name) if part) + suffix
    letters = sys.getfilesystemencoding()
    return made_of.encode(letters, "ignore").decode(letters)


def report_written(written: list[tuple[Path, ExportReport]], exporter: Exporter) -> None:
    """Lists the written files on standard output."""
    if not exporter.args.json:
        options.print_lines([printable(str(path)) for path, _ in written])
        return
    files = [
        {"path": str(path), "session": told.session, "bytes": told.size, "redacted": dict(told.taken)}
        for path, told in written
    ]
    options.print_json({"schema": "reread.export/1", "format": exporter.form, "files": files})


def refuse_no_folder(output: Path | None) -> Path:
    """The output folder. Raises BadInput if it is missing or a file."""
    if output is None:
        raise BadInput("name a SESSION, or a folder for many with --output DIR")
    if output.exists() and not output.is_dir():
        raise BadInput(f"{printable(str(output))} is a file; many sessions need a folder")
    return output


class Made(NamedTuple):
    """An exported session without its content: a project may have gigabytes."""

    name: str
    report: ExportReport
    title: str
    project: str
    started: datetime | None
    facts: list[str]
    failed: int


def export_folder(exporter: Exporter, output: Path | None) -> int:
    """Exports every session that passes the filters; if a secret would remain in one, none is written."""
    folder = refuse_no_folder(output)
    args = exporter.args
    filters = options.make_filter(args)
    with query_archive(args) as archive, TemporaryDirectory(prefix="reread-export-") as waiting:
        chosen = archive.sessions(filters, cleanup_days_of(args.config))
        if not chosen:
            raise BadInput("no session matches these filters")
        made = _all_made(archive, exporter, Path(waiting), chosen)
        if not report_secrets([each.report for each in made], exporter.args):
            return 1
        _put(made, Path(waiting), folder, _index(made, exporter), exporter.suffix)
    report_written([(folder / each.name, each.report) for each in made], exporter)
    return 0


class _FolderJob(NamedTuple):
    """A session of a folder export, and the place where its file waits until all are made."""

    exporter: Exporter
    chosen: Listed
    place: Path


def _all_made(archive: Archive, exporter: Exporter, waiting: Path, chosen: list[Listed]) -> list[Made]:
    jobs = (_FolderJob(exporter, each, waiting / str(number)) for number, each in enumerate(chosen))
    total, done = sum(each.stored.row.bytes for each in chosen), 0
    found: dict[str, Made] = {}
    with closing(ProgressBar()) as progress:
        for job, made in archives.on_all_processors(archive, _made, jobs, total):
            name = f"{len(found) + 1}-{made.name}" if made.name in found else made.name
            found[name] = made._replace(name=name)
            job.place.rename(waiting / name)
            done += job.chosen.stored.row.bytes
            progress(archives.Progress(done, total, phase="exporting"))
    return list(found.values())


def _made(archive: Archive, job: _FolderJob) -> Made:
    """Makes one export; runs in this process or in a worker."""
    export = job.exporter.export(source_in(archive, job.chosen))
    job.place.write_bytes(export.content)
    name, session = file_name(export, job.exporter.suffix), export.session
    return Made(
        name=name,
        report=export.report,
        title=session.title,
        project=session.project or "",
        started=session.started,
        facts=_facts(session),
        failed=session.failed_calls,
    )


def _put(made: list[Made], waiting: Path, folder: Path, index: bytes | None, suffix: str) -> None:
    try:
        make_private(folder)
    except OSError as error:
        raise BadInput(f"{printable(str(folder))} cannot be made: {error.strerror}") from error
    for each in made:
        write_whole(path_below(folder, each.name), (waiting / each.name).read_bytes())
    if index is not None:
        write_whole(folder / f"index{suffix}", index)


def export_database(args: options.Options, output: Path | None) -> int:
    """Writes one session, or all that pass the filters, as one database; writes nothing if a secret would remain."""
    if output is None:
        raise BadInput("a database is a file: name it with --output OUT.db")
    if output.is_dir():
        raise BadInput(f"{printable(str(output))} is a folder; a database is one file")
    redactor = secrets.Redactor(addresses=args.redact_ips) if args.redact or args.check else None
    parts = archives.PlainParts(args.thinking, args.tools, args.subagents)
    with query_archive(args) as archive, made_whole(output) as unfinished:
        filters = args.session or options.make_filter(args)
        made = archive.write_database(unfinished, filters, parts, redactor, only_looks=not args.redact)
        if not made.rows["sessions"]:
            raise BadInput("no session matches these filters")
        size = unfinished.stat().st_size
        told_of = ExportReport(args.session or "", size, made.taken, made.distinct, made.left, has_images=False)
        if not report_secrets([told_of], args):
            unfinished.unlink()
            return 1
    if args.json:
        document = {"path": str(output), "bytes": size, "rows": made.rows, "redacted": dict(made.taken)}
        options.print_json({"schema": "reread.export/1", "format": "sqlite", "files": [document]})
    else:
        options.print_lines([printable(str(output))])
    return 0


def _index(made: list[Made], exporter: Exporter) -> bytes | None:
    """The index page, for formats that people read."""
    title = f"{exporter.args.project or 'All'} sessions"
    if exporter.form == "html":
        from reread.views.html.page import IndexRow, index_page

        rows = [
            IndexRow(
                href=each.name,
                title=each.title,
                project=each.project,
                started=each.started,
                facts=each.facts,
                bad=[("failed", each.failed)] if each.failed else [],
            )
            for each in made
        ]
        return index_page(title, rows).encode("utf-8", "replace")
    if exporter.suffix == ".md":
        from reread.views.text import inline_markdown, without_templates

        titles = [without_templates(inline_markdown(each.title)) for each in made]
        facts = [f"({each.name}) · {' · '.join(each.facts)}" for each in made]
        lines = [f"- [{title}]{fact}" for title, fact in zip(titles, facts, strict=True)]
        return "\n".join([f"# {inline_markdown(title)}", "", *lines, ""]).encode("utf-8", "replace")
    return None


def _facts(session: Session) -> list[str]:
    usage = session.total_usage
    cost = money(usage.cost, is_partial=usage.unpriced_tokens > 0)
    return [fact for fact in (count(len(session.prompts), "prompt"), cost) if fact]
