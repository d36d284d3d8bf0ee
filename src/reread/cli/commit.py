"""`reread commit` and `reread pr`: the sessions, prompts and costs behind commits."""

from __future__ import annotations

from pathlib import Path

from reread import views
from reread.features import secrets

from . import options
from .session_source import query_archive

COMMIT_EXAMPLES = """\
  reread commit                     the newest commit of this repository
  reread commit 3f2a9c1 --lines     who wrote each line
  reread commit main..HEAD --json"""
COMMIT_ABOUT = """\
Show the sessions and prompts that wrote the lines of a commit, or of a range of commits, with their cost, tests and
failed calls. Lines are attributed by content: to the last edit before the commit that wrote the same text into the same
file. A turn's cost counts by the share of what it wrote that is in the commits."""
PR_EXAMPLES = """\
  reread pr main                    what main..HEAD is made of, as Markdown
  reread pr main >> "$GITHUB_STEP_SUMMARY\""""


def commit_parser() -> options.Parser:
    made = options.make_parser("commit", COMMIT_ABOUT, COMMIT_EXAMPLES)
    made.add_argument("revision", nargs="?", default="HEAD", metavar="COMMIT|A..B", help="default: HEAD")
    made.flag("--lines", "show the session and turn that wrote each line")
    return made


def run_commit(args: options.Options) -> None:
    with query_archive(args) as archive:
        found = archive.files.commit(args.revision)
    args.print_answer(
        lambda: views.commit_table.commit_document(found),
        lambda view: views.commit_table.commit_lines(found, view, with_lines=args.lines),
    )


def pr_parser() -> options.Parser:
    about = "Summarise in Markdown, without secrets, which sessions and prompts made the commits since BASE."
    made = options.make_parser("pr", about, PR_EXAMPLES)
    made.word("[BASE]", "the branch to merge into (default: main)", default="main")
    return made


def run_pr(args: options.Options) -> None:
    with query_archive(args) as archive:
        found = archive.files.commit(f"{args.base}..HEAD", Path.cwd())
    redactor = secrets.Redactor()
    redactor.learn_all([each.prompt or each.title for each in found.work])
    text = views.commit_table.pull_request(found, redactor.redact)
    args.print_answer(lambda: {"schema": "reread.pr/1", "markdown": text}, lambda _: text.splitlines())
