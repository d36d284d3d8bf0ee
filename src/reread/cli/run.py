"""`reread run` and `live`: show Claude Code at work, started here or anywhere else."""

from __future__ import annotations

import argparse
import os
import sys

from reread import archive as archives
from reread import lazy
from reread.cli import event_printer
from reread.errors import BadInput, RereadError
from reread.home import refuse_foreign
from reread.lazy import TYPE_CHECKING
from reread.live import events as live_events
from reread.live import protocol, transport

from . import options
from .session_source import freshen, unsynced_archive

if TYPE_CHECKING:
    from reread.cli import run_loop
    from reread.config import Config
else:
    lazy.bind(globals())


RUN_EXAMPLES = """\
  reread run "what does this project do?"
  reread run -i                              a conversation, until Ctrl-D
  reread run --resume @last "go on"          where the newest session stopped, in its folder
  git diff | reread run "review this: $(cat)" --permission deny
  reread run "fix the test" --permission allow -- --max-turns 20
  reread run "why?" --allow Read --allow "Bash(git log:*)" --max-cost 0.50
  reread run "..." --jsonl                   every event as JSON; answers to permissions as lines on stdin:
    {"request_id": "r1", "behavior": "allow"}
    {"request_id": "r1", "behavior": "deny", "message": "not now"}"""

ABOUT = """\
Start Claude Code over its stream-json protocol: see thinking and replies as they form, tool calls
and diffs, and answer permissions and questions with a key. Ctrl-C interrupts the turn (and ends a
run of a single prompt), with -i Esc does, too; a second Ctrl-C ends any run. Both directions are
recorded in the archive.
At `reread budget`'s dollars, or --max-cost, it asks before it goes on; without a terminal it stops.
Exit codes: 0 success, 1 the result is an error, 2 the client could not be started, 130 Ctrl-C."""


def run_parser() -> options.Parser:
    made = options.make_parser("run", ABOUT, RUN_EXAMPLES, syncs=False, is_stream=True)
    made.word("[PROMPT]", "the prompt; - or none reads standard input")
    made.flag("-i --interactive", "ask for more prompts until Ctrl-D; /help there")
    made.option("--claude PATH", "the client to run (default: `claude` on PATH)")
    made.option(
        "--permission",
        "how to answer permission requests (default: ask)",
        choices=("ask", "allow", "deny"),
        default="ask",
    )
    made.option(
        "--allow RULE",
        "let through what a rule matches, such as Read or 'Bash(git log:*)'; repeatable; `show` tells which",
        action="append",
        default=[],
    )
    made.option("--max-cost DOLLARS", "ask, or stop, when the run has cost it", type=archives.status.dollars_to_nano)
    made.option("--permission-mode MODE", "the client's permission mode: plan, acceptEdits, ...")
    made.option("--model NAME", "model, such as opus or sonnet")
    made.option("--max-thinking-tokens N", "thinking budget; 0 for none", type=_count)
    made.option("--resume SESSION", "resume a session: an id or the start of one, @last")
    made.flag("--continue", "resume the newest session of this folder", dest="continue_last")
    made.flag("--fork", "resume under a new id, leaving the old session unchanged")
    made.option("--cwd DIR", "working directory of the client")
    made.option("--image FILE", "attach an image to PROMPT; repeatable", action="append", default=[])
    made.flag("--no-capture", "do not record the run")
    made.option("--thinking", "show thinking", action=argparse.BooleanOptionalAction, default=True)
    return made


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of tokens")
    return int(text)


def run_run(arguments: list[str]) -> int:
    ours, theirs = _divided(arguments)
    args = run_parser().parse_args(ours)
    if args.resume and args.continue_last:
        raise BadInput("--resume and --continue both say where to go on; give one of them")
    if args.fork and not (args.resume or args.continue_last):
        raise BadInput("--fork needs --resume or --continue")
    if args.interactive and not sys.stdin.isatty():
        raise BadInput("--interactive needs a terminal")
    is_from_stdin = args.prompt == "-" or (args.prompt is None and not sys.stdin.isatty())
    prompt = sys.stdin.read().strip() if is_from_stdin else args.prompt
    if prompt is not None and not prompt.strip():
        raise BadInput("no prompt: give one as an argument or on standard input")
    if args.resume:
        _find_session(args)
    if not args.no_capture:
        refuse_foreign(args.config.home)
    code = run_loop.talk(args, prompt, theirs, can_answer=not is_from_stdin)
    if not args.no_sync:
        import_run(args.config)
    return code


def _divided(arguments: list[str]) -> tuple[list[str], list[str]]:
    """Our arguments, and the client's after `--`."""
    if "--" not in arguments:
        return arguments, []
    end = arguments.index("--")
    return arguments[:end], arguments[end + 1 :]


def _find_session(args: options.Options) -> None:
    """Finds the full id of the session to resume, and its folder: the client finds the session only from there."""
    with unsynced_archive(args.config) as archive:
        if not args.no_sync:
            freshen(archive)
        stored = archive.find(args.resume)
    found = transport.resumed(stored.row.uuid, stored.row.project, is_there=stored.present)
    args.resume = found.session
    if args.cwd is None:
        args.cwd = found.folder


def import_run(config: Config) -> None:
    """Imports the run's transcript if there is an archive already: a first sync may take minutes."""
    try:
        with unsynced_archive(config) as archive:
            if archive.exists and archive.sources:
                freshen(archive)
    except RereadError as problem:
        options.warn([problem])


LIVE_EXAMPLES = """\
  reread live                           what happens in every session that runs
  reread live @last                     in one of them
  reread live --notify                  ring when one waits for you or is done
  claude -p "..." --verbose --output-format stream-json \\
      --include-partial-messages | reread live -
  reread live - --jsonl < saved.jsonl   the same from a file, for programs"""

LIVE_ABOUT = """\
Watch all running sessions, one of them, or a stream of `--output-format stream-json` on standard
input (-). Claude Code writes a message to disk only once it is complete, so its thinking appears here
with it; `reread run`, or a stream with --include-partial-messages, shows thinking as it forms."""

_CHUNK = 1 << 16


def live_parser() -> options.Parser:
    made = options.make_parser("live", LIVE_ABOUT, LIVE_EXAMPLES, syncs=False, is_stream=True)
    made.add_argument(
        "session", nargs="?", metavar="SESSION|-", help="a file, an id or the start of one, @last; - for standard input"
    )
    made.option("--thinking", "show thinking", action=argparse.BooleanOptionalAction, default=True)
    made.flag("--notify", "ring the bell, and notify, when a session waits for you or is done")
    return made


def run_live(args: options.Options) -> int | None:
    if args.session == "-":
        if args.notify:
            raise BadInput("--notify needs sessions on disk; it does not go with -")
        return _read_stream(args)
    event_printer.follow_running(args)
    return None


def _read_stream(args: options.Options) -> int:
    """Shows standard input until it ends; the exit code is that of the last result."""
    stream, printer = protocol.Stream(), event_printer.EventPrinter(args)
    has_failed = False

    def show(events: list[live_events.Event]) -> None:
        nonlocal has_failed
        for event in events:
            has_failed = event.is_error if isinstance(event, live_events.TurnResult) else has_failed
        printer.show(events)

    try:
        # Reads what is there, not whole lines: a fragment must be shown before the next one comes.
        while chunk := os.read(sys.stdin.fileno(), _CHUNK):
            show(stream.feed(chunk))
        show(stream.close())
    finally:
        printer.end()
    return int(has_failed)
