"""`reread open`: a session, or one message of it, in the browser."""

from __future__ import annotations

from reread import lazy
from reread.errors import BadInput

from . import options
from .session_source import bare_archive, is_straight

TYPE_CHECKING = False
if TYPE_CHECKING:
    from reread.cli import serve
    from reread.config import Config
    from reread.views.html import content
else:
    serve = lazy.module("reread.cli.serve")
    content = lazy.module("reread.views.html.content")

OPEN_EXAMPLES = """\
  reread open @last
  reread open 3f2a
  reread open 3f2a#9c1d7e02           at the message whose id begins so
  reread open @last --no-browser      only print the address"""
ABOUT = """\
Open a session in your browser, at a message if you name one. Uses the running server; if there is none, starts
one that runs until Ctrl-C, like `reread serve`."""


def open_parser() -> options.Parser:
    made = options.make_parser("open", ABOUT, OPEN_EXAMPLES, syncs=False, has_json=False)
    made.add_argument("session", metavar="SESSION[#MESSAGE]", help="an id or the start of one, @last, @2")
    made.add_argument("--no-browser", action="store_true", help="print the address only")
    options.add_prices(made)
    return made


def run_open(arguments: list[str]) -> int:
    given = open_parser().parse_args(arguments)
    config = options.make_config(given)
    serve.open_page(config, _path(config, given.session), opens_browser=not given.no_browser)
    return 0


def _path(config: Config, named: str) -> str:
    """Of the page; raises where the archive has no such session or message."""
    from urllib.parse import quote

    session, _, message = named.partition("#")
    if is_straight(config):  # nothing of it is kept: the page looks for it
        return f"/s/{quote(session, safe='@')}" + (f"?at={quote(message)}" if message else "")
    with bare_archive(config) as archive:
        stored = archive.find(session)
        if not message:
            return serve.session_path(stored)
        wanted = message.removeprefix("m-")
        records = archive.session(stored).records
        found = list(dict.fromkeys(each.uuid for each in records if each.uuid and each.uuid.startswith(wanted)))
    if len(found) != 1:
        reason = f"{len(found)} messages begin so; write more of it" if found else "no message begins so"
        raise BadInput(f"{message!r} in session {stored.name}: {reason}")
    return f"{serve.session_path(stored)}?at={content.anchor(found[0])}#{content.anchor(found[0])}"
