"""`reread projects`: what was worked on where, and which folder is which today."""

from __future__ import annotations

import argparse
import ntpath
import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING

from reread import views
from reread.config import expanded
from reread.errors import BadInput

from . import options
from .session_source import open_archive

if TYPE_CHECKING:
    from reread.archive import Archive
    from reread.config import Config

PROJECTS_EXAMPLES = """\
  reread projects
  reread projects --since 30d --limit 10
  reread projects move ~/old-name ~/new-name         a folder was renamed
  reread projects move /Users/ann /home/ann          the laptop's folders are the desktop's
  reread projects unmove ~/old-name                  takes that back
  reread projects --json"""
ABOUT = """List projects, last active first: sessions, prompts, last activity, cost, and whether the folder is on this
machine. Worktrees count as part of their main project. After renaming a folder, `move OLD NEW` assigns its history
to the new one in lists, filters and reports; transcripts are not changed. A session counts for the folder it
started in; `reread usage project` counts each response where it was made."""
_ELSEWHERE = re.compile(r"[/\\]|[A-Za-z]:[/\\]")
"""How a full path begins on any system; the folder may be one of another machine."""


def projects_parser() -> options.Parser:
    made = options.make_parser("projects", ABOUT, PROJECTS_EXAMPLES)
    made.add_argument(
        "action", nargs="?", choices=("move", "unmove"), help="assign the history of folder OLD to NEW, or undo that"
    )
    made.add_argument("folders", nargs="*", metavar="FOLDER", help="move OLD NEW, unmove OLD")
    options.add_filters(made, limit=None)
    options.add_hidden(made)
    options.add_prices(made)
    return made


def run_projects(arguments: list[str]) -> int:
    given = projects_parser().parse_intermixed_args(arguments)  # folders may stand before and behind options
    config = options.make_config(given)
    named = {"move": 2, "unmove": 1}.get(given.action, 0)
    if len(given.folders) != named:
        raise BadInput("say `reread projects move OLD NEW` or `reread projects unmove OLD`, or nothing for the list")
    folders = [_full(folder) for folder in given.folders]
    with open_archive(given, config) as archive:
        if given.action is None:
            _show(archive, given, config)
        else:
            _change(archive, given, config, folders)
    return 0


def _full(folder: str) -> str:
    """As it is where it is a full path, wherever that may lead; else from here."""
    if not folder.strip():
        raise BadInput("a folder needs a name")
    path = folder if _ELSEWHERE.match(folder) else str(Path.cwd() / expanded(folder))
    return _normal(path)


def _normal(path: str) -> str:
    """Without `..`, and without a slash at its end, by the rules of the system it is of."""
    return ntpath.normpath(path) if "\\" in path or path[1:2] == ":" else posixpath.normpath(path)


def _show(archive: Archive, given: argparse.Namespace, config: Config) -> None:
    wanted = options.make_filter(given, config)._replace(without_hidden=not given.hidden)
    everything, moves = archive.projects(wanted._replace(limit=None)), archive.marks.moves()
    found, total = everything[: given.limit], len(everything)
    options.show_answer(
        given,
        config,
        lambda: views.project_list.projects_document(found, moves, total),
        lambda view: views.project_list.projects_lines(found, view, total),
    )


def _change(archive: Archive, given: argparse.Namespace, config: Config, folders: list[str]) -> None:
    if given.action == "move":
        archive.marks.move_project(*folders)
    else:
        archive.marks.unmove_project(*folders)
    moves = archive.marks.moves()
    number = archive.count_sessions_below(folders[0])
    line = (
        views.project_list.moved_line(folders[0], folders[1], number)
        if given.action == "move"
        else views.project_list.unmoved_line(folders[0], number)
    )
    found = archive.projects()
    options.show_answer(
        given, config, lambda: views.project_list.projects_document(found, moves, len(found)), lambda _: [line]
    )
