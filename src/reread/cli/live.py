"""`reread live`: what happens now, in running sessions or in a stream."""

from __future__ import annotations

import argparse
import os
import sys

from reread import lazy

from . import options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from reread.cli import event_printer, follow_all
    from reread.config import Config
    from reread.live import events as live_events
    from reread.live import protocol
else:
    follow_all = lazy.module("reread.cli.follow_all")
    live_events = lazy.module("reread.live.events")
    protocol = lazy.module("reread.live.protocol")
    event_printer = lazy.module("reread.cli.event_printer")

LIVE_EXAMPLES = """\
  reread live                           what happens in every session that runs
  reread live @last                     in one of them
  claude -p "..." --verbose --output-format stream-json --include-partial-messages | reread live -
  reread live - --jsonl < capture.jsonl the same, for programs"""

ABOUT = """\
Watch all running sessions, one of them, or a stream of `--output-format stream-json` on standard
input (-). Claude Code writes a message to disk only once it is complete, so its thinking appears here
with it; `reread run`, or a stream with --include-partial-messages, shows thinking as it forms."""

_CHUNK = 1 << 16


def live_parser() -> options.Parser:
    made = options.make_parser("live", ABOUT, LIVE_EXAMPLES, syncs=False, is_stream=True)
    made.add_argument(
        "session", nargs="?", metavar="SESSION|-", help="a file, an id or the start of one, @last; - for standard input"
    )
    made.add_argument("--thinking", action=argparse.BooleanOptionalAction, default=True, help="show thinking")
    return made


def run_live(arguments: list[str]) -> int:
    given = live_parser().parse_args(arguments)
    config = options.make_config(given)
    if given.session == "-":
        return _read_stream(given, config)
    return follow_all.follow_running(given, config)


def _read_stream(given: argparse.Namespace, config: Config) -> int:
    """Until the stream ends; the exit code is that of the last result."""
    stream, showing = protocol.Stream(), event_printer.Showing(given, config)
    has_failed = False

    def show(events: list[live_events.Event]) -> None:
        nonlocal has_failed
        for event in events:
            has_failed = event.is_error if isinstance(event, live_events.TurnResult) else has_failed
        showing.show(events)

    try:
        # What is there, not a whole line: a fragment must be seen before the next one comes.
        while chunk := os.read(sys.stdin.fileno(), _CHUNK):
            show(stream.feed(chunk))
        show(stream.close())
    finally:
        showing.end()
    return int(has_failed)
