"""`reread serve` and `open`: start the local web application, or open one of its pages."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path

from reread import lazy
from reread.errors import BadInput
from reread.lazy import TYPE_CHECKING

from . import options
from .session_source import cleanup_days_of, is_straight, unsynced_archive
from .streams import tell, tell_lines

if TYPE_CHECKING:
    from reread.archive import StoredSession
    from reread.config import Config
    from reread.live import rules
    from reread.team import store as stores
    from reread.views.html import content
    from reread.web import archive_pool, guard, server, server_state, team_store

    from . import team
else:
    lazy.bind(globals())


SERVE_EXAMPLES = """\
  reread serve                        opens your browser
  reread serve --no-browser --port 8765
  reread serve --source ~/backup      another folder, read and not kept
  reread serve --store postgresql://db.example/team   what a team pushed
  reread serve --lan                  for your phone, by a QR code
  reread serve --claude ./claude      the client that the page Live runs"""
ABOUT = """\
Open your sessions in the browser: read, search, follow and count them; start Claude Code and answer its
questions. Only this machine can connect, and only with the token in the printed address. Port and token stay
the same, so links keep working; `reread open SESSION` opens one. Ctrl-C stops the server and the sessions
started from its pages."""
_HIGHEST_PORT = 65_535


def serve_parser() -> options.Parser:
    made = options.make_parser("serve", ABOUT, SERVE_EXAMPLES, syncs=False, has_json=False)
    made.option("--host ADDRESS", "address to listen on (default 127.0.0.1)", default="127.0.0.1")
    made.flag("--lan", "listen on the local network and print a QR code")
    made.option("--port N", "port to listen on (default 7383, or the next free one; 0: any)", type=_port)
    made.flag("--new-token", "create a new token; old links ask for it")
    made.flag("--no-browser", "print the address only")
    made.option("--claude PATH", "the client to run (default: `claude` on PATH)")
    made.option(
        "--allow-run",
        "allow running clients, or not (default: only if no other machine can connect)",
        action=argparse.BooleanOptionalAction,
    )
    made.option(
        "--allow RULE",
        "what sessions that run here may do unasked, as with `reread run`; repeatable",
        action="append",
        default=[],
    )
    options.add_prices(made)
    return made


def run_serve(args: options.Options) -> None:
    store = options.store_of(args)
    if args.lan and args.host != "127.0.0.1":
        raise BadInput("--lan listens everywhere; it does not go with --host")
    if args.lan:
        args.host = "0.0.0.0"  # noqa: S104  `--lan` asks for it
    if not args.host.isprintable() or not args.host:
        raise BadInput(f"--host {args.host!r} is not an address")
    terminal = server.Terminal(announce=_announce_to_phone if args.lan else _announce, complain=tell_lines)
    may_run = guard.is_loopback(args.host) if args.allow_run is None else args.allow_run
    with _settings(args.config) if store is None else _settings_over_store(store, args.config) as found:
        may_run = may_run and store is None
        allowed = tuple(map(rules.AllowRule.parse, args.allow))
        settings = found._replace(
            claude=args.claude, may_run=may_run, captures=args.config.home / "wire", rules=allowed
        )
        shown = server.lan_address() if args.lan else ""
        place = server.ListenAt(args.host, args.port, is_new_token=args.new_token, shown=shown)
        server.serve(settings, place, terminal, opens_browser=not args.no_browser)


def session_path(stored: StoredSession) -> str:
    """The path of the session's page."""
    return f"/s/{archive_pool.link_name(stored)}"


def open_page(config: Config, path: str, *, opens_browser: bool) -> None:
    """Opens a page in the archive's running server; if there is none, starts one, which keeps running."""
    found = None if is_straight(config) else server_state.running_server(config.home)
    if found is not None:
        _announce(found.address(path), is_open=False)
        if opens_browser and server.has_screen():
            server.open_browser(found.address(path))
        return
    terminal = server.Terminal(announce=_announce, complain=tell_lines)
    with _settings(config) as settings:
        place = server.ListenAt("127.0.0.1", path=path)
        server.serve(settings._replace(captures=config.home / "wire"), place, terminal, opens_browser=opens_browser)


def _announce(address: str, *, is_open: bool) -> None:
    options.print_lines([f"reread is at {address}"])
    sys.stdout.flush()
    if is_open:
        tell("others on the network can reach this; they need the token in the address, which nothing encrypts")


def _announce_to_phone(address: str, *, is_open: bool) -> None:
    """Prints the address, also as a QR code; both contain the token."""
    _announce(address, is_open=is_open)
    try:
        import segno
    except ModuleNotFoundError:
        tell("for a QR code of the address: pip install 'reread[qr]'")
        return
    drawn = StringIO()
    segno.make(address, error="l", micro=False).terminal(drawn, compact=True)
    options.print_lines(drawn.getvalue().rstrip("\n").split("\n"))
    sys.stdout.flush()


@contextmanager
def _settings(config: Config) -> Iterator[archive_pool.ServerSettings]:
    """The settings for the archive to serve; sources that are read straight get a temporary archive."""
    from tempfile import TemporaryDirectory

    days = cleanup_days_of(config)
    if is_straight(config):
        with TemporaryDirectory(prefix="reread-", ignore_cleanup_errors=True) as folder:
            places = tuple(source.absolute() for source in config.sources)
            missing = [source for source in places if not source.exists()]
            if missing:
                raise BadInput(f"{missing[0]}: no such file or folder")
            yield archive_pool.ServerSettings(Path(folder), places, config.prices, config.timezone, days)
        return
    with unsynced_archive(config) as archive:
        sources = tuple(archive.sources)
    yield archive_pool.ServerSettings(config.home, sources, config.prices, config.timezone, days)


@contextmanager
def _settings_over_store(url: str, config: Config) -> Iterator[archive_pool.ServerSettings]:
    """The settings to serve a team's store; its sessions are listed in a temporary archive."""
    with team.passing_folder() as folder:
        with stores.Store(url) as store:
            team.report_without_text(store)
        team_store.StoreArchive(url, folder).fill()
        yield archive_pool.ServerSettings(folder, timezone=config.timezone, store=url)


def _port(text: str) -> int:
    if not text.isdecimal() or int(text[:9]) > _HIGHEST_PORT:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port number")
    return int(text)


OPEN_EXAMPLES = """\
  reread open @last
  reread open 3f2a
  reread open 3f2a#9c1d7e02           at the message whose id begins so
  reread open @last --no-browser      only print the address"""
OPEN_ABOUT = """\
Open a session in your browser, at a message if you name one. Uses the running server; if there is none, starts
one that runs until Ctrl-C, like `reread serve`."""


def open_parser() -> options.Parser:
    made = options.make_parser("open", OPEN_ABOUT, OPEN_EXAMPLES, syncs=False, has_json=False)
    made.add_argument("session", metavar="SESSION[#MESSAGE]", help="an id or the start of one, @last, @2")
    made.flag("--no-browser", "print the address only")
    options.add_prices(made)
    return made


def run_open(args: options.Options) -> None:
    open_page(args.config, _path(args.config, args.session), opens_browser=not args.no_browser)


def _path(config: Config, named: str) -> str:
    """The path of the page. Raises if the archive has no such session or message."""
    from urllib.parse import quote

    session, _, message = named.partition("#")
    if is_straight(config):  # not in the archive: the page finds it
        return f"/s/{quote(session, safe='@')}" + (f"?at={quote(message)}" if message else "")
    with unsynced_archive(config) as archive:
        stored = archive.find(session)
        if not message:
            return session_path(stored)
        wanted = message.removeprefix("m-")
        records = archive.session(stored).records
        found = list(dict.fromkeys(each.uuid for each in records if each.uuid and each.uuid.startswith(wanted)))
    if len(found) != 1:
        reason = f"{len(found)} messages begin so; write more of it" if found else "no message begins so"
        raise BadInput(f"{message!r} in session {stored.name}: {reason}")
    return f"{session_path(stored)}?at={content.anchor(found[0])}#{content.anchor(found[0])}"
