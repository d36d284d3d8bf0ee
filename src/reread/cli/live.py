"""`reread live`: what happens now, in running sessions or in a stream."""

from __future__ import annotations

import argparse
import os
import sys

from reread.errors import BadInput

from . import options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from reread.config import Config

LIVE_EXAMPLES = """\
  reread live                           what happens in every session that runs
  reread live @last                     in one of them
  reread live --notify                  ring when one waits for you or is done
  claude -p "..." --verbose --output-format stream-json --include-partial-messages | reread live -
  reread live - --jsonl < capture.jsonl the same, for programs"""

ABOUT = """\
Shows what happens: in every session that grows on disk, in one of them, or in a stream of
`--output-format stream-json` on standard input (-).
Claude Code writes a message to disk when it is complete, so that is when its thinking appears
here; `reread run`, or a stream with --include-partial-messages, shows it as it forms."""

_CHUNK = 1 << 16


def live_parser() -> options.Parser:
    made = options.make_parser("live", ABOUT, LIVE_EXAMPLES, syncs=False, is_stream=True)
    made.add_argument(
        "session", nargs="?", metavar="SESSION|-", help="a file, an id or its beginning, @last; - for standard input"
    )
    made.add_argument("--thinking", action=argparse.BooleanOptionalAction, default=True, help="show thinking")
    made.add_argument(
        "--notify", action="store_true", help="ring, and notify where the terminal can, when a session waits or is done"
    )
    return made


def run_live(arguments: list[str]) -> int:
    given = live_parser().parse_args(arguments)
    config = options.make_config(given)
    if given.session == "-":
        if given.notify:
            raise BadInput("--notify tells of sessions on disk; it does not go with -")
        return _read_stream(given, config)
    from .follow_all import follow_running

    return follow_running(given, config)


def _read_stream(given: argparse.Namespace, config: Config) -> int:
    """Until the stream ends; the exit code is that of the last result."""
    from reread.live.events import Event, TurnResult
    from reread.live.protocol import Stream

    from .event_printer import Showing

    stream, showing = Stream(), Showing(given, config)
    has_failed = False

    def show(events: list[Event]) -> None:
        nonlocal has_failed
        for event in events:
            has_failed = event.is_error if isinstance(event, TurnResult) else has_failed
        showing.show(events)

    try:
        # What is there, not a whole line: a fragment must be seen before the next one comes.
        while chunk := os.read(sys.stdin.fileno(), _CHUNK):
            show(stream.feed(chunk))
        show(stream.close())
    finally:
        showing.end()
    return int(has_failed)
