"""`reread retro`: what went wrong, what repeats, and what to change."""

from __future__ import annotations

import argparse
import re
import shlex
import sys
from contextlib import closing
from datetime import timedelta
from functools import partial
from itertools import chain

from reread import archive as archives
from reread import lazy, loading, views
from reread.errors import BadInput
from reread.features import friction
from reread.features.friction import wishes as friction_wishes
from reread.lazy import TYPE_CHECKING

from . import options
from .options import is_agreed
from .session_source import ProgressBar, open_archive, query_archive, without_needless_sources
from .streams import tell_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import datetime
    from pathlib import Path

    from reread.archive import Archive, Retro
    from reread.archive.filters import Filter
    from reread.cli import ask_claude
    from reread.client_settings import Applied
    from reread.config import Config
    from reread.features.friction.suggestions import Suggestion
    from reread.features.friction.wishes import AppliedDraft
else:
    lazy.bind(globals())

RETRO_EXAMPLES = """\
  reread retro --since 7d                   the last week against all before it
  reread retro --project lantern --by cost
  reread retro @last                        one session
  reread retro --kind correction --kind re_ask --min-confidence 0.8
  reread retro --suggestions                only what to change, with drafts
  reread retro --since last                 one screen: what changed since the last look, and the fix worth most
  reread retro apply 2                      put the second of them where it belongs: shows the diff, asks, backs up
  reread retro --since 7d --doubtful        five guesses to confirm or to leave out
  reread retro undo 1                       take what was last applied out of its file again
  reread retro --since last --format markdown >> fridays.md
  reread retro --since 30d --ask-claude     what Claude would change, by your own client; shows the cost, asks first
  reread retro --wrong 9b1c0d2e --kind correction    that was none: leave it out from now on"""
FORMS = ("text", "markdown")


def retro_parser() -> options.Parser:
    about = """Report what went wrong over a period, in a project or in one session: interrupts, refusals,
errors, corrections, loops, rework and waiting, by time, cost and count, compared with the period before. Then
what repeats across sessions, and what to change: suggestions with a ready draft and the evidence for it."""
    made = options.make_parser("retro", about, RETRO_EXAMPLES)
    about = (
        "a file, an id or the start of one, @last; or `apply N`, `dismiss N`, `undo N`: use suggestion N, never show it"
        " again, or take an applied one out again"
    )
    made.word("[SESSION]", about)
    about = "with `apply` and `dismiss`: the number that --suggestions shows; with `undo` that of what was applied"
    made.add_argument("number", nargs="?", metavar="N", help=about)
    about = "with `apply` or --ask-claude: do not ask; `apply` with --json changes nothing without it"
    made.flag("--yes", about)
    made.option(
        "--kind KIND",
        "only moments of this kind, such as correction or tool_error; repeatable; `--help` explains all kinds",
        action="append",
    )
    made.option("--by ORDER", "sort by time, cost, count, or hurt (default: all three combined)", default="hurt")
    made.flag("--agents", "include moments of subagents")
    made.option("--min-confidence N", "only moments at least this certain, 0 to 1 (default 0.5)", type=_share)
    made.flag("--suggestions", "print suggestions only")
    about = "ask about the five least sure guesses: y, n, or Enter to skip; with --ask-claude your own client is asked"
    made.flag("--doubtful", about)
    made.flag("--all", "with `--since last`: the whole report, not one screen")
    made.option("--format", "output format (default: text)", choices=FORMS, default="text")
    false_finds = {
        "--wrong UUID": "mark the moment at this record as a false find; it is left out from then on",
        "--right UUID": "undo --wrong",
        "--include-wrong": "include moments marked with --wrong",
    }
    made.take_section("false finds", false_finds)
    options.add_asking(made)
    options.add_programs(made)
    options.add_filters(made, limit=None)
    made.legend = "kinds", lambda: friction.kind_meanings()
    return made


def _share(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 to 1")
    return share


def run_retro(args: options.Options) -> None:
    if args.wrong is not None or args.right is not None:
        _label(args)
        return
    is_look = args.since == _LAST
    args.since = None if is_look else args.since
    action, number = _action(args)
    path = options.as_path(args.session) if args.session is not None else None
    filters = options.make_filter(args)
    with query_archive(args, [] if path is None else [path]) as archive:
        if is_look:
            filters = filters._replace(since=_since(archive, args.config))
        session = args.session if path is None else _only_session(archive, path)
        found = _found(args, archive, without_needless_sources(filters, archive), session)
        if number is not None:
            _act(args, archive, action or "", _numbered(archive, found, action, number))
        elif args.doubtful:
            _ask_doubtful(args, archive, found)
        elif is_look and not (args.all or args.json):
            _look(args, archive, found)
        else:
            _show(args, archive, found)


def _found(args: options.Options, archive: Archive, filters: Filter, session: str | None) -> Retro:
    with closing(ProgressBar()) as progress:
        return archive.friction.retro(
            filters,
            session,
            kinds=args.kind,
            with_agents=args.agents,
            least_confidence=args.min_confidence,
            with_wrong=args.include_wrong,
            by=args.by,
            timezone=args.config.timezone,
            report=progress,
        )


def _show(args: options.Options, archive: Archive, found: Retro) -> None:
    """The whole report, with what the person's client says of it if that was asked for."""
    answer = (
        _ask_about(args, archive, found)
        if args.ask_claude
        else archives.model_answers.kept(args.config.home, "retro", _subject(args, found))
    )
    if args.ask_claude and answer is None:
        return
    in_terminal = partial(views.retro_report.retro_lines, narrowed=_narrowed(args))
    lines = views.retro_report.markdown_lines if args.format == "markdown" else in_terminal
    asked = {"asked_claude": None if answer is None else views.summary.asked_document(answer)}
    args.print_answer(
        lambda: {**views.retro_report.retro_document(found, args.limit, only_suggestions=args.suggestions), **asked},
        lambda view: chain(
            lines(found, view, args.limit, only_suggestions=args.suggestions),
            () if answer is None else views.markdown.asked_as(args.format)(answer, view),
        ),
    )


def _only_session(archive: Archive, path: Path) -> str:
    """The only session of an archive made from a path. Raises SourceError if it does not have exactly one."""
    if len(archive) != 1:
        raise loading.not_one_session(path, len(archive))
    return "@last"


def _subject(args: options.Options, found: Retro) -> str:
    """The key under which the answer is kept: the period and the filters."""
    title = views.retro_report.title(found, options.make_view(args.config))
    return f"{title}{_narrowed(args)}"


def _ask_doubtful(args: options.Options, archive: Archive, found: Retro) -> None:
    """Asks about the least sure guesses; each is asked about once."""
    doubtful, view = archive.friction.doubtful(found), options.make_view(args.config)
    lines = [views.retro_report.doubtful_text(each, view) for each in doubtful]
    if not doubtful:
        options.print_lines(["no guess that was not asked about yet"])
    elif args.ask_claude:
        evidence = _evidence(
            args.config, archive, found, "doubtful", [f"{n}. {line}" for n, line in enumerate(lines, 1)]
        )
        answer = ask_claude.ask(args, evidence, archive.prices)
        said = dict(_YES_OR_NO.findall(answer.text)) if answer is not None else {}
        for number, (each, line) in enumerate(zip(doubtful, lines, strict=True), 1):
            if word := said.get(str(number), "").lower():
                archive.friction.answer(each, is_right=word == "yes", by="claude")
                options.print_lines([f"{word}: {line}"])
    elif not sys.stdin.isatty():
        options.print_lines(lines)
    else:
        for each, line in zip(doubtful, lines, strict=True):
            tell_lines(f"{line}\n  was it? [y/n, Enter skips] ", end="")
            word = sys.stdin.readline().strip().lower()[:1]
            if word in ("y", "n"):
                archive.friction.answer(each, is_right=word == "y")


_YES_OR_NO = re.compile(r"(?mi)^\W*(\d+)\W+(yes|no)\b")


def _evidence(
    config: Config, archive: Archive, found: Retro, about: str, lines: Iterable[str]
) -> ask_claude.SentEvidence:
    models = [model for each in archive.sessions(limit=1) for model in each.stored.row.models]
    return ask_claude.SentEvidence(
        about=about,
        subject=views.retro_report.title(found, options.make_view(config)),
        session=found.session.row.uuid if found.session is not None else None,
        lines=lines,
        model=models[-1] if models else None,
    )


def _ask_about(args: options.Options, archive: Archive, found: Retro) -> archives.model_answers.ModelAnswer | None:
    lines = views.retro_report.evidence_lines(found, options.make_view(args.config))
    evidence = _evidence(args.config, archive, found, "retro", lines)._replace(subject=_subject(args, found))
    return ask_claude.ask(args, evidence, archive.prices)


_LAST = "last"
_A_WEEK = timedelta(days=7)


def _since(archive: Archive, config: Config) -> datetime:
    """The time of the last look; a week ago if there was none."""
    last = archive.friction.last_look()
    return last[0] if last is not None else config.now - _A_WEEK


def _look(args: options.Options, archive: Archive, found: Retro) -> None:
    """One screen, and the time of the look is remembered."""
    last = archive.friction.last_look()
    whole = archive.friction.retro(options.make_filter(args), timezone=args.config.timezone)
    view = options.make_view(args.config)
    news = views.retro_news.News(found, whole, last[1] if last else None, _narrowed(args))
    is_markdown = args.format == "markdown"
    options.print_lines((views.retro_news.news_markdown if is_markdown else views.retro_news.news_lines)(news, view))
    archive.friction.note_look(news.fix)


_NUMBERING = (
    "project",
    "since",
    "until",
    "model",
    "branch",
    "tool",
    "file",
    "machine",
    "kind",
    "tagged",
    "agents",
    "programs",
)
"""Options that decide which suggestions there are, and so their numbers."""


def _narrowed(args: options.Options) -> str:
    """Those of them that were given, as they are typed."""
    words: list[str] = []
    for name in _NUMBERING:
        given = getattr(args, name)
        for each in given if isinstance(given, list) else [given]:
            words += [f"--{name}", *([each] if isinstance(each, str) else [])] if each else []
    return f" {shlex.join(words)}" if words else ""


_APPLY, _DISMISS, _UNDO = "apply", "dismiss", "undo"


def _action(args: options.Options) -> tuple[str | None, int | None]:
    """What is to be done with which suggestion: `apply`, `dismiss` and `undo` stand in the place of a
    session."""
    action = args.session
    if action not in (_APPLY, _DISMISS, _UNDO):
        if args.number is not None:
            raise BadInput("one session at a time; `reread retro apply N` takes a number")
        return None, None
    args.session = None
    if args.number is None or not args.number.isdecimal() or int(args.number) < 1:
        listed = "what `reread retro` says was applied" if action == _UNDO else "`reread retro --suggestions`"
        raise BadInput(f"say which: `reread retro {action} 2` takes the second of {listed}")
    return action, int(args.number)


def _numbered(archive: Archive, found: Retro, action: str | None, number: int) -> Suggestion | AppliedDraft:
    listed = archive.friction.applied()[::-1] if action == _UNDO else found.suggestions
    if number > len(listed):
        there = f"there are {len(listed)}" if listed else "there is none"
        raise BadInput(f"there is no {'applied ' if action == _UNDO else ''}suggestion {number}; {there}")
    return listed[number - 1]


def _act(args: options.Options, archive: Archive, action: str, each: Suggestion | AppliedDraft) -> None:
    """Leaves a draft out from now on; or shows the change that a draft or taking it out again makes, and writes it if
    the person agrees; with --json, if --yes says so."""
    friction = archive.friction
    if isinstance(each, friction_wishes.AppliedDraft):
        _change(args, friction.undoing(each), friction.undo)
    elif action == _APPLY:
        _change(args, friction.planned(each), friction.apply)
    else:
        friction.dismiss(each)
        document = {"schema": "reread.dismissed/1", "key": each.key, "title": each.title}
        args.print_answer(lambda: document, lambda _: [f"left out from now on: {each.title}"])


def _change(args: options.Options, plan: Applied, write: Callable[[Applied], None]) -> None:
    if not args.json:
        options.print_lines(views.retro_report.applied_lines(plan.diff(), options.make_view(args.config)))
    is_wanted = args.yes or (not args.json and is_agreed("Make this change?"))
    if is_wanted:
        write(plan)
    backup = str(plan.file.backup) if plan.change.backup is not None else None
    if args.json:
        options.print_json(
            views.retro_report.applied_document(str(plan.file.path), backup, plan.diff(), is_done=is_wanted)
        )
    else:
        lines = [f"wrote {plan.file.path}", *([f"before it: {backup}"] if backup else [])]
        options.print_lines(lines if is_wanted else ["nothing was changed"])


def _label(args: options.Options) -> None:
    if args.wrong is not None and args.right is not None:
        raise BadInput("--wrong and --right contradict each other; use one at a time")
    if args.session is not None or (args.kind and len(args.kind) > 1):
        raise BadInput("--wrong and --right take one line, and at most one --kind")
    kind = args.kind[0] if args.kind else None
    is_wrong = args.wrong is not None
    with open_archive(args) as archive:
        named = (
            archive.friction.mark_wrong(args.wrong, kind) if is_wrong else archive.friction.mark_right(args.right, kind)
        )
    kinds = (named.kind,) if named.kind is not None else named.kinds
    args.print_answer(
        lambda: views.retro_report.labelled_document(named.uuid, kinds, named.session, is_wrong=is_wrong),
        lambda view: views.retro_report.labelled_lines(named.uuid, kinds, named.session, view, is_wrong=is_wrong),
    )
