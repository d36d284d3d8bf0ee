"""`reread mcp`: the archive as a memory for Claude Code itself."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import contextmanager
from pathlib import Path

from reread import archive as archives
from reread import lazy
from reread import mcp as server_of_tools
from reread.lazy import TYPE_CHECKING

from . import options
from .session_source import can_be_made, open_archive, unsynced_archive
from .streams import tell_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from subprocess import Popen
    from typing import Any

    from reread.archive import Archive
    from reread.features import secrets
    from reread.features.secrets import shapes
else:
    lazy.bind(globals())

MCP_EXAMPLES = """\
  claude mcp add reread -- reread mcp                     for this project
  claude mcp add --scope user reread -- reread mcp        for all of them
  reread mcp --redact none                                with keys and passwords"""
ABOUT = """\
Run a Model Context Protocol server on standard input and output, so that Claude Code can look up what was said,
thought, decided and edited in past sessions. Claude Code starts it; add it once as shown below. Its tools are
search, read, sessions, file and decisions. Each call imports new transcripts first; answers are short and about
the current project unless another is named. While the very first import runs, answers cover what has been
imported so far and say so.

Keys, tokens and passwords are redacted, because an answer becomes part of a new transcript. `--redact all` also
removes e-mail addresses and user names in home paths; `--redact none` removes nothing."""
PATIENCE = 3.0
"""Seconds that a tool call waits for the first import, which is enough for a short history."""
UNFINISHED = (
    "\n\n(Past sessions are still being imported, the newest first; this answer may lack some. Ask again later.)"
)
REDACTIONS = ("none", "secrets", "all")


def mcp_parser() -> options.Parser:
    made = options.make_parser("mcp", ABOUT, MCP_EXAMPLES, has_json=False)
    made.option("--redact", "what to redact (default: secrets)", choices=REDACTIONS, default="secrets")
    made.flag("--brief", "give the model no instructions before it uses a tool: 150 tokens less in every session")
    return made


def run_mcp(args: options.Options) -> None:
    first = FirstImport(args)
    instructions, beside = ("", f" {server_of_tools.AS_DATA}") if args.brief else (server_of_tools.INSTRUCTIONS, "")
    tools = {
        name: tool._replace(about=tool.about + beside, answer=_with_warning(tool.answer, first))
        for name, tool in server_of_tools.tools_of(_memory(first)).items()
    }
    server = server_of_tools.Server(tools, instructions, _complain)
    # The client ends its servers with SIGTERM, which here ends the process silently, as Ctrl-C does.
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        for line in sys.stdin.buffer:
            answer = server.answer(line)
            if answer is not None:
                options.send_json_line(answer)
    finally:
        signal.signal(signal.SIGTERM, before)


class FirstImport:
    """The first import, which may take minutes. A separate process makes it and goes on when this one ends."""

    def __init__(self, args: options.Options) -> None:
        self.args = args
        self._process: Popen[bytes] | None = None
        self.is_unfinished = False

    @contextmanager
    def opened(self) -> Iterator[Archive]:
        """The archive, up to date; during the first import, with what is imported so far."""
        self.is_unfinished = not self.args.no_sync and self._still_importing()
        if self.is_unfinished:
            with unsynced_archive(self.args.config) as archive:
                yield archive
        else:
            with open_archive(self.args, only_reads=True) as archive:
                yield archive

    def _still_importing(self) -> bool:
        from subprocess import TimeoutExpired

        if self._process is None and self._is_needed():
            self._process = self._start()
        if self._process is None:
            return False
        try:
            self._process.wait(PATIENCE)
        except TimeoutExpired:
            return True
        return False

    def _is_needed(self) -> bool:
        with unsynced_archive(self.args.config) as archive:
            return bool(archive.sources) and can_be_made(archive) and archive.is_empty

    def _start(self) -> Popen[bytes]:
        from subprocess import DEVNULL, Popen

        places = [word for source in self.args.config.sources for word in ("--source", str(source.absolute()))]
        command = [sys.executable, "-m", "reread", "sync", "--home", str(self.args.config.home.absolute()), *places]
        return Popen(command, stdin=DEVNULL, stdout=DEVNULL, start_new_session=True)  # noqa: S603  ourselves


def _with_warning(answer: Callable[[Any], str], first: FirstImport) -> Callable[[Any], str]:
    """Wraps a tool so that its answer warns when it may be incomplete."""

    def warned(arguments: Any) -> str:
        text = answer(arguments)
        return text + UNFINISHED if first.is_unfinished else text

    return warned


def _memory(first: FirstImport) -> server_of_tools.Memory:
    args, config = first.args, first.args.config
    return server_of_tools.Memory(
        opened=first.opened,
        # Claude Code 2.1.197 and 2.1.325 set both. The session is that of the start: `/clear` begins another.
        folder=archives.listing.project_of(os.environ.get("CLAUDE_PROJECT_DIR") or str(Path.cwd())),
        running=os.environ.get("CLAUDE_CODE_SESSION_ID"),
        timezone=config.timezone,
        cleaner=lambda: _cleaner(args.redact),
        sources=options.named_sources(config),
    )


def _cleaner(redaction: str) -> Callable[[str], str]:
    """Makes a redactor. Each answer needs a new one, because it keeps the texts that it has seen."""
    if redaction == "none":
        return str
    # Not secret to an agent: user names in paths and the addresses of authors, which it works with.
    return secrets.Redactor(
        spared=frozenset({shapes.EMAIL, shapes.USER}) if redaction == "secrets" else frozenset()
    ).redact


def _complain(fault: Exception) -> None:
    from traceback import format_exception

    tell_lines("".join(format_exception(fault)), end="")
