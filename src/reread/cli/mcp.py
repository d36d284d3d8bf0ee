"""`reread mcp`: the archive as a memory for Claude Code itself."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from . import options
from .stderr import tell_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from reread.config import Config
    from reread.mcp.tools import Memory

MCP_EXAMPLES = """\
  claude mcp add reread -- reread mcp                     for this project
  claude mcp add --scope user reread -- reread mcp        for all of them
  reread mcp --redact none                                with keys and passwords"""
ABOUT = """\
A Model Context Protocol server on standard input and output, so that Claude Code can look up what was said,
thought, decided and edited in past sessions. It is started by Claude Code; add it once as below. It has five
tools: search, read, sessions, file, decisions. Each call first takes in what changed, so nothing has to be
remembered by hand; answers are short, and about the project it was started in unless another is named.
The first call takes in everything: with a long history, run `reread sync` once before.

Keys, tokens and passwords are taken out of the answers: the model saw them once, but an answer is written into
a new transcript, maybe of another project. `--redact all` takes out e-mail addresses and names in home paths,
too; `--redact none` leaves everything as it was said."""
REDACTIONS = ("none", "secrets", "all")


def mcp_parser() -> options.Parser:
    made = options.make_parser("mcp", ABOUT, MCP_EXAMPLES, has_json=False)
    made.add_argument("--redact", choices=REDACTIONS, default="secrets", help="what is taken out (default secrets)")
    return made


def run_mcp(arguments: list[str]) -> int:
    given = mcp_parser().parse_args(arguments)
    config = options.make_config(given)
    from reread.mcp.protocol import Server
    from reread.mcp.tools import INSTRUCTIONS, tools_of

    server = Server(tools_of(_memory(given, config)), INSTRUCTIONS, _complain)
    # What ends a client's servers is SIGTERM; it ends this one as Ctrl-C does: without a word.
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        for line in sys.stdin.buffer:
            answer = server.answer(line)
            if answer is not None:
                options.send_json_line(answer)
    finally:
        signal.signal(signal.SIGTERM, before)
    return 0


def _memory(given: argparse.Namespace, config: Config) -> Memory:
    from reread.archive.listing import project_of
    from reread.mcp.tools import Memory

    from .session_source import open_archive

    return Memory(
        opened=lambda: open_archive(given, config, only_reads=True),
        # Both are told by Claude Code 2.1.197 and 2.1.325. The session is that of the start: `/clear` begins another.
        folder=project_of(os.environ.get("CLAUDE_PROJECT_DIR") or str(Path.cwd())),
        running=os.environ.get("CLAUDE_CODE_SESSION_ID"),
        timezone=config.timezone,
        cleaner=lambda: _cleaner(given.redact),
        sources=options.named_sources(config),
    )


def _cleaner(redaction: str) -> Callable[[str], str]:
    """A new one for every answer: it keeps the texts that it has seen."""
    if redaction == "none":
        return str
    from reread.features.secrets import Redactor
    from reread.features.secrets.shapes import EMAIL, USER

    # Paths and authors are what an agent works with, and no secret to it.
    return Redactor(spared=frozenset({EMAIL, USER}) if redaction == "secrets" else frozenset()).redact


def _complain(fault: Exception) -> None:
    from traceback import format_exception

    tell_lines("".join(format_exception(fault)), end="")
