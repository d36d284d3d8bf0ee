"""`reread mark` and `projects`: a person's marks on sessions, and folders that were moved."""

from __future__ import annotations

import argparse
import ntpath
import posixpath
import re
from collections.abc import Iterable
from pathlib import Path

from reread import views
from reread.archive import Archive, StoredSession
from reread.config import expanded
from reread.errors import BadInput
from reread.marks import MarkChange
from reread.views.mark_list import MarkedSession
from reread.views.numbers import count

from . import options
from .options import is_agreed
from .session_source import open_archive
from .streams import tell_lines

PROJECTS_EXAMPLES = """\
  reread projects
  reread projects --since 30d --limit 10
  reread projects move ~/old-name ~/new-name         a folder was renamed
  reread projects move /Users/ann /home/ann          the laptop's folders are the desktop's
  reread projects unmove ~/old-name                  takes that back
  reread projects --json"""
PROJECTS_ABOUT = """\
List projects, last active first: sessions, prompts, last activity, cost, and whether the folder is on this
machine. Worktrees count as part of their main project. After renaming a folder, `move OLD NEW` assigns its history
to the new one in lists, filters and reports; transcripts are not changed. A session counts for the folder it
started in; `reread usage project` counts each response where it was made."""
_ELSEWHERE = re.compile(r"[/\\]|[A-Za-z]:[/\\]")
"""The beginning of a full path on any system: the folder may be on another machine."""


def projects_parser() -> options.Parser:
    made = options.make_parser("projects", PROJECTS_ABOUT, PROJECTS_EXAMPLES)
    made.add_argument(
        "action", nargs="?", choices=("move", "unmove"), help="assign the history of folder OLD to NEW, or undo that"
    )
    made.add_argument("folders", nargs="*", metavar="FOLDER", help="move OLD NEW, unmove OLD")
    options.add_filters(made, limit=None)
    options.add_hidden(made)
    options.add_prices(made)
    return made


def run_projects(arguments: list[str]) -> None:
    args = projects_parser().parse_intermixed_args(arguments)  # folders may come before and after options
    named = {"move": 2, "unmove": 1}.get(args.action, 0)
    if len(args.folders) != named:
        raise BadInput("say `reread projects move OLD NEW` or `reread projects unmove OLD`, or nothing for the list")
    folders = [_full(folder) for folder in args.folders]
    with open_archive(args) as archive:
        if args.action is None:
            _show_projects(archive, args)
        else:
            _change_moves(archive, args, folders)


def _full(folder: str) -> str:
    """A full path as it is; any other path relative to the working directory."""
    if not folder.strip():
        raise BadInput("a folder needs a name")
    path = folder if _ELSEWHERE.match(folder) else str(Path.cwd() / expanded(folder))
    return _normal(path)


def _normal(path: str) -> str:
    """The path without `..` and without a final slash, by the rules of its own system."""
    return ntpath.normpath(path) if "\\" in path or path[1:2] == ":" else posixpath.normpath(path)


def _show_projects(archive: Archive, args: options.Options) -> None:
    filters = options.make_filter(args)._replace(without_hidden=not args.hidden)
    everything, moves = archive.projects(filters._replace(limit=None)), archive.marks.moves()
    found, total = everything[: args.limit], len(everything)
    args.print_answer(
        lambda: views.mark_list.projects_document(found, moves, total),
        lambda view: views.mark_list.projects_lines(found, view, total),
    )


def _change_moves(archive: Archive, args: options.Options, folders: list[str]) -> None:
    number = archive.inner.count_sessions_below
    if args.action == "move":
        archive.marks.move_project(*folders)
        line = views.mark_list.moved_line(folders[0], folders[1], number(folders[0]))
    else:
        archive.marks.unmove_project(*folders)
        line = views.mark_list.unmoved_line(folders[0], number(folders[0]))
    moves, found = archive.marks.moves(), archive.projects()
    args.print_answer(lambda: views.mark_list.projects_document(found, moves, len(found)), lambda _: [line])


MARK_EXAMPLES = """\
  reread mark @last --star --tag refactor --note 'the good one'
  reread mark 3f2a 9c1d --tag refactor --untag draft
  reread mark 3f2a --title 'Why the retries never stopped'
  reread mark 3f2a                             what is noted on it
  reread mark --project scratch --hide         all of them, after a question
  reread mark --tagged draft --since 7d --untag draft --yes
  reread mark --tags                           every tag, and how often"""
ABOUT = """Star, tag, annotate, rename or hide sessions. Name the sessions, or choose them with filters: then
reread says how many match and asks. Without an option, show the marks of the sessions. Marks are stored in the
archive only."""
MOST_SHOWN = 5
"""Up to this many marked sessions are listed; of more, only the number is given."""
FILTERS = ("project", "since", "until", "model", "branch", "tool", "file", "machine", "limit", "starred", "tagged")


def mark_parser() -> options.Parser:
    made = options.make_parser("mark", ABOUT, MARK_EXAMPLES)
    made.add_argument("sessions", nargs="*", metavar="SESSION", help="an id or the start of one, @last, @2")
    noting = made.add_argument_group("what to note")
    _either(noting, "star", "--star", "--unstar", "add a star", "remove the star")
    _either(noting, "hide", "--hide", "--unhide", "leave it out of `list` and the overview", "show it again")
    about = "a person typed its prompts", "a program wrote its prompts: leave them out of `prompts` and `retro`"
    _either(noting, "typed", "--typed", "--program", *about)
    made.option("--tag NAME", "add a tag; repeatable", noting, action="append")
    made.option("--untag NAME", "remove a tag; repeatable", noting, action="append")
    _text_or_none(noting, "note", "set a note")
    _text_or_none(noting, "title", "set a title")
    made.flag("--yes", "do not ask before marking sessions chosen by filters", noting)
    made.flag("--tags", "list all tags with their number of sessions")
    options.add_filters(made, limit=None, tag_names="--tagged")
    return made


def _either(group: argparse._ArgumentGroup, name: str, on: str, off: str, about_on: str, about_off: str) -> None:
    both = group.add_mutually_exclusive_group()
    both.add_argument(on, dest=name, action="store_true", default=None, help=about_on)
    both.add_argument(off, dest=name, action="store_false", default=None, help=about_off)


def _text_or_none(group: argparse._ArgumentGroup, name: str, about: str) -> None:
    both = group.add_mutually_exclusive_group()
    both.add_argument(f"--{name}", metavar="TEXT", help=about)
    both.add_argument(f"--no-{name}", dest=name, action="store_const", const="", help=f"remove the {name}")


def run_mark(arguments: list[str]) -> None:
    args = mark_parser().parse_intermixed_args(arguments)  # sessions may come before and after options
    change = _change(args)
    is_filtered = any(getattr(args, name) not in (None, False) for name in FILTERS)
    is_change = change != MarkChange()
    _refuse_nonsense(args, is_change=is_change, is_filtered=is_filtered)
    filters = options.make_filter(args)
    with open_archive(args) as archive:
        if args.tags:
            _show_tags(archive, args)
            return
        if args.sessions:
            chosen = [archive.find(name) for name in args.sessions]
        else:
            chosen = [each.stored for each in archive.sessions(filters)]
        if not is_change:
            shown = chosen if args.sessions else [each for each in chosen if any(each.mark)]
            _show(args, _marked(archive, shown), None)
        elif args.sessions or args.yes or _is_agreed(chosen, change):
            changed = archive.marks.set(*chosen, **change._asdict())
            _show(args, _marked(archive, chosen), changed)
        else:
            tell_lines("nothing was marked")


def _change(args: options.Options) -> MarkChange:
    for name in ("note", "title"):
        text = getattr(args, name)
        if text and not text.strip():
            raise BadInput(f"the {name} is empty; use --no-{name} to remove it")
    return MarkChange(
        starred=args.star,
        hidden=args.hide,
        tags=tuple(args.tag or ()),
        untags=tuple(args.untag or ()),
        note=args.note,
        title=args.title,
        typed=args.typed,
    ).checked()


def _refuse_nonsense(args: options.Options, *, is_change: bool, is_filtered: bool) -> None:
    if args.sessions and is_filtered:
        raise BadInput("name sessions, or choose them with filters; not both")
    if args.tags and (args.sessions or is_filtered or is_change):
        raise BadInput("--tags lists the tags of all sessions, and takes nothing else")
    if is_change and not args.sessions and not is_filtered:
        raise BadInput("name the sessions to mark, such as @last, or choose them with filters such as --project")


def _is_agreed(chosen: list[StoredSession], change: MarkChange) -> bool:
    """Shows how many sessions will be marked and how, and asks. True without asking if there are none."""
    if not chosen:
        return True
    number = count(len({each.row.uuid for each in chosen}), "session")
    titles = [f"  {views.text.shorten(each.row.title or each.row.uuid, 70)}" for each in chosen[:MOST_SHOWN]]
    more = [f"  and {len(chosen) - MOST_SHOWN:,} more"] if len(chosen) > MOST_SHOWN else []
    question = "\n".join([f"{number}:", *titles, *more, f"{views.mark_list.change_sentence(change)}. Go on?"])
    return is_agreed(question, f"{number} would be marked, and")


def _marked(archive: Archive, sessions: Iterable[StoredSession]) -> list[views.mark_list.MarkedSession]:
    """The current marks of these sessions, each session once."""
    rows = {each.stored.row.uuid: each.stored for each in reversed(archive.sessions())}
    names = dict.fromkeys(each.row.uuid for each in sessions)
    return [
        views.mark_list.MarkedSession(name, rows[name].row.project, rows[name].row.title, rows[name].mark)
        for name in names
    ]


def _show(args: options.Options, sessions: list[MarkedSession], changed: int | None) -> None:
    most = None if changed is None else MOST_SHOWN
    args.print_answer(
        lambda: views.mark_list.marks_document(sessions, changed),
        lambda view: views.mark_list.marks_lines(sessions, changed, view, most),
    )


def _show_tags(archive: Archive, args: options.Options) -> None:
    tags = archive.marks.tags()
    args.print_answer(views.mark_list.tags_document, views.mark_list.tags_lines, tags)
