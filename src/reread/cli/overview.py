"""`reread` without a command and `reread demo`: recent usage and the newest sessions, your own or samples."""

from __future__ import annotations

import os
import re
import sys
import time
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from importlib import resources
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from reread import archive as archives
from reread import views
from reread.errors import BadInput

from . import main, options
from .main import word_first
from .session_source import ProgressBar, cleanup_days_of, freshen, is_straight, readable_archive, warn_incomplete
from .streams import tell, tell_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from reread.archive import Archive, Progress, UsageReport
    from reread.config import Config
    from reread.views.fact_lines import Fact


OVERVIEW_EXAMPLES = """\
  reread                         today, this week, this month; your newest sessions
  reread --source ~/backup       the sessions of another folder, read and not kept"""
NEWEST = 10


def overview_parser() -> options.Parser:
    about = "Show recent usage, the newest sessions, and what stands out in the archive."
    made = options.make_parser("", about, OVERVIEW_EXAMPLES)
    options.add_hidden(made)
    return made


def run_overview(args: options.Options) -> int | None:
    if is_straight(args.config):
        _show_sources(args)
        return None
    if not _has_anything(args.config):
        tell_lines("No Claude Code transcripts found here, so this is a demonstration on sample sessions.\n")
        return run_demo([])
    with readable_archive(args.config) as archive:
        if not args.no_sync and archive.home == args.config.home:
            if _show_early(archive, args):
                return None
            freshen(archive)
        warn_incomplete(archive)
        _show_archive(archive, args)
    return None


class EarlyOverview(ProgressBar):
    """Shows the overview as soon as the newest sessions are imported, then the progress of the others."""

    def __init__(self, show: Callable[[int], None]) -> None:
        super().__init__()
        self._show_newest = show
        self.is_shown = False

    def __call__(self, progress: Progress) -> None:
        if not self.is_shown and progress.newest_done >= NEWEST and progress.sessions_done < progress.sessions_total:
            self.close()
            self._show_newest(progress.sessions_total)
            self.is_shown = True
        super().__call__(progress)


def _show_early(archive: Archive, args: options.Options) -> bool:
    """Before a long first sync, counts usage straight from the sources, imports the newest sessions, and shows both
    while the sync goes on. Only at a terminal, where a person sees that more is to come."""
    if args.json or not sys.stdout.isatty() or archive.inner.is_read_only or not archive.is_empty:
        return False
    report = archive.billing.usage_ahead("day", timezone=args.config.timezone)
    if report is None:
        return False
    early = EarlyOverview(lambda total: _show_newest(archive, args.config, report, total))
    freshen(archive, early)
    if early.is_shown:
        tell("all sessions are read now")
        facts = _facts(archive, args.config, _counted_to(archive, args.config))
        options.print_lines(views.session_list.closing_lines(facts, options.make_view(args.config)))
        sys.stdout.flush()
        # What the first sync left for later, while the person reads; if this is stopped, the next sync does it.
        with closing(ProgressBar()) as progress:
            archive.inner.finish(progress)
    return early.is_shown


def _show_newest(archive: Archive, config: Config, report: UsageReport, total: int) -> None:
    sums = archives.usage_report
    last = max((row.last for row in report.rows if row.last is not None), default=None)
    until = sums.counted_to(config.now, last, config.timezone)
    starts = sums.beginnings(until, config.timezone)
    lately = sums.periods(report.rows, starts, [None] * len(starts), is_past=until is not config.now)
    days = cleanup_days_of(config)
    newest = archives.listing.numbered(archive.inner.connection, NEWEST, days, with_hidden=True)
    heading = f"the newest of {views.numbers.count(total, 'session')}; the others are being read now"
    options.print_lines(views.session_list.overview_lines(newest, heading, lately, options.make_view(config)))
    sys.stdout.flush()


def _has_anything(config: Config) -> bool:
    """Whether the sources or the archive have a transcript. It does not create an archive."""
    if options.has_transcripts(config):
        return True
    with archives.Archive(config.home) as archive:
        return not archive.inner.holds_nothing


def _show_sources(args: options.Options) -> None:
    tree = options.open_tree(args.config)
    newest = list(islice(tree, NEWEST))
    args.print_answer(
        lambda: views.session_json.sessions_document(newest),
        lambda view: views.reports.overview_lines(newest, len(tree.sessions), view),
    )
    options.warn(tree.problems)


def _show_archive(archive: Archive, args: options.Options) -> None:
    until = _counted_to(archive, args.config)
    starts = archives.usage_report.beginnings(until, args.config.timezone)
    days = archive.usage("day", archives.filters.Filter(since=min(starts)), args.config.timezone).rows
    lately = archives.usage_report.periods(
        days, starts, archive.inner.prompts_since(starts), is_past=until is not args.config.now
    )
    everything = archive.count_sessions()
    hidden = 0 if args.hidden else everything - archive.count_sessions(archives.filters.Filter(without_hidden=True))
    kept_for = cleanup_days_of(args.config)
    newest = archives.listing.numbered(archive.inner.connection, NEWEST, kept_for, with_hidden=args.hidden)
    expiring = archive.inner.count_expiring(args.config.now + archives.listing.SOON, kept_for)
    facts = _facts(archive, args.config, until)
    shown = everything - hidden
    heading = f"{views.numbers.count(shown, 'session')}, newest first" + (f", {hidden:,} hidden" if hidden else "")
    listed, pages = [each for _, each in newest], views.session_list
    args.print_answer(
        lambda: pages.overview_document(listed, shown, hidden, expiring, facts, lately),
        lambda view: (*pages.overview_lines(newest, heading, lately, view), *pages.closing_lines(facts, view)),
    )


def _counted_to(archive: Archive, config: Config) -> datetime:
    ended = [each.stored.ended for each in archive.sessions(archives.filters.Filter(limit=1))]
    return archives.usage_report.counted_to(config.now, next(iter(ended), None), config.timezone)


def _facts(archive: Archive, config: Config, until: datetime) -> list[Fact]:
    kept_for = cleanup_days_of(config)
    expiring = archive.inner.count_expiring(config.now + archives.listing.SOON, kept_for)
    found = archives.facts.archive_facts(archive.inner.connection, until, kept_for)
    return list(views.fact_lines.facts_of(found, expiring, config.now, config.timezone))


USAGE = """\
usage: reread demo [COMMAND] [OPTIONS]

Runs a command on sample sessions that come with reread, in an archive of their
own; nothing of yours is read or written.

examples:
  reread demo                       the overview, then a whole session
  reread demo show @last --branch all
  reread demo search "retry*"
  reread demo thinking
  reread demo tools --json
  reread demo serve                 the same in your browser
"""


def run_demo(arguments: list[str]) -> int:
    arguments = word_first(arguments)
    if arguments and arguments[0] in ("-h", "--help"):
        options.print_text(USAGE)
        return 0
    _refuse_what_leaves(arguments)
    with TemporaryDirectory(prefix="reread-demo-") as folder, _own_environment(Path(folder, "sample")):
        place, home = Path(folder, "sample"), Path(folder, "home")
        _lay_out(place, datetime.now(UTC))
        _fill(place, home)
        scratch = ["--source", str(place), "--home", str(home)]
        if arguments:
            if arguments[0] == "statusline":
                scratch = scratch[2:]  # the command reads no sources
            if arguments[0] == "serve":
                scratch = [*scratch, "--no-allow-run"]
            code = main.run([arguments[0], *scratch, *arguments[1:]])  # not after a `--`, where they would be words
            if sys.stdout.isatty() and code == 0:
                tell("run the commands shown here as `reread demo COMMAND`")
            return code
        main.run(scratch)
        told = "In the demonstration each command is `reread demo COMMAND`:"
        options.print_lines(["", told, "", "$ reread demo show @last", ""])
        code = main.run(["show", "@last", *scratch])
        options.print_lines(["", "The same in your browser: reread demo serve"])
        return code


_LEAVING_WITH = {"retro": ("apply", "--ask-claude"), "summary": ("--ask-claude",), "hook": ("--settings",)}
"""Words with which a command leaves the demonstration."""
_LEAVING = {
    "run": "there is nothing to demonstrate without Claude Code itself",
    "push": "it sends sessions elsewhere, and the samples are nobody's",
    "pull": "it brings sessions from elsewhere, and the demonstration keeps none",
    "team": "it changes the store of a team",
    "lake": "it writes tables, and the samples are nobody's",
    "demo": "this is the demonstration",
}
"""Commands that read or write what is not the demonstration's, with the reason why they are refused in it."""


def _refuse_what_leaves(arguments: list[str]) -> None:
    name = arguments[0] if arguments else ""
    if name in _LEAVING:
        raise BadInput(f"`reread {name}` is not part of the demonstration: {_LEAVING[name]}")
    words = {word.partition("=")[0] for word in arguments}
    for word in _LEAVING_WITH.get(name, ()):
        if word in words:
            raise BadInput(f"`{name} {word}` is not part of the demonstration: it would leave the samples")


@contextmanager
def _own_environment(place: Path) -> Iterator[None]:
    """Leaves out what would lead a command to the person's own settings, prices or store."""
    before = dict(os.environ)
    for name in ("REREAD_HOME", "REREAD_STORE", "REREAD_PRICES"):
        os.environ.pop(name, None)
    os.environ["CLAUDE_CONFIG_DIR"] = str(place)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _fill(place: Path, home: Path) -> None:
    """Imports the samples, then deletes old ones as the client would have."""
    with archives.Archive(home, [place]) as archive:
        archive.sync()
    oldest = time.time() - timedelta(days=archives.CLEANUP_DAYS).total_seconds()
    for path in place.rglob("*.jsonl"):
        if path.stat().st_mtime < oldest:
            path.unlink()


_NEWEST = timedelta(minutes=12)
"""How long ago the newest sample ended."""
_TIME = re.compile(rb"\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


def _lay_out(place: Path, now: datetime) -> None:
    """Copies the samples from the package, all times shifted by the same amount; a file is as old as its last line."""
    with resources.as_file(resources.files("reread").joinpath("samples")) as samples:
        for sample in samples.rglob("*"):
            if sample.is_file() and sample.suffix not in (".py", ".pyc"):
                copy = place / sample.relative_to(samples)
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_bytes(sample.read_bytes())  # without its mode: an installed package may be read-only
    written = {path: path.read_bytes() for path in place.rglob("*.jsonl")}
    last = {path: max(map(_moment, _TIME.findall(content))) for path, content in written.items()}
    moved = now - _NEWEST - max(last.values())
    for path, content in written.items():
        path.write_bytes(_TIME.sub(lambda found: _written(_moment(found[0]) + moved), content))
        ended = (last[path] + moved).timestamp()
        os.utime(path, (ended, ended))


def _moment(text: bytes) -> datetime:
    return datetime.fromisoformat(text.decode())


def _written(moment: datetime) -> bytes:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z").encode()
