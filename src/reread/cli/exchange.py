"""`reread push` and `reread pull`: one history on all machines of one person through a shared folder; `push` also sends
numbers, or more, to a team's store."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from xml.sax.saxutils import escape

from msgspec.structs import replace

from reread import archive as archives
from reread import exchange, lazy, sealed
from reread.config import expanded
from reread.errors import BadInput, RereadError, printable
from reread.home import make_private
from reread.views.numbers import count, size
from reread.views.text import shorten
from reread.views.values import picked

from . import options
from .main import word_first
from .session_source import ProgressBar, is_below, open_archive, refuse_sources, unsynced_archive
from .streams import tell, tell_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from reread.archive import Archive, Pulled, Pushed
    from reread.archive.filters import Filter
    from reread.config import Config
    from reread.exchange import Agree, ForgottenElsewhere
    from reread.team import managed, payload
    from reread.team import store as stores
    from reread.team.payload import Sent

    from . import collector
else:
    lazy.bind(globals())


PUSH_EXAMPLES = """\
  reread push /mnt/nas/reread
  reread push                              to the folder of the last time
  reread push --project api --dry-run
  reread push --watch
  reread push postgresql://db.example/team                numbers only, to a team store
  reread push postgresql://db.example/team --show @last   what would leave this machine
  reread push install                      as a service: from every log-in on, shown and asked for first
  reread push remove                       stops the service and removes it
  reread pull                              what the other machines pushed there"""
PULL_EXAMPLES = """\
  reread pull /mnt/nas/reread
  reread pull                              from the folder of the last time
  reread pull --forget                     also forget here what other machines forgot
  reread pull --bring-back                 and have it back, for thirty days
  reread list --machine laptop             sessions of one machine
  reread usage machine                     what each has used"""
PUSH_ABOUT = """Send this machine's sessions to a folder that your other machines share: a NAS, Syncthing, a mounted
bucket. Only what is not there yet is sent: full transcripts, stars, tags, notes, titles, and what was forgotten.
Anyone who can read the folder can read the sessions.

Or send them to a team store, postgresql://...: numbers and project names by default, no text. --what text sends
prompts, replies, thinking and tool inputs, redacted on this machine; --what all sends full transcripts.

Or send sums by day and model to an OpenTelemetry collector, otlp://HOST or otlps://HOST. Sent again they count once."""
PULL_ABOUT = """Import what your other machines pushed to a folder: their sessions, complete, and their marks (the
latest change wins). What was forgotten there is told, and forgotten here as far as you agree: a handful that is signed
at a terminal, more when you say so, without a terminal only with --forget. It is kept aside for thirty days."""
EXIT_DAMAGE = 1
_WHAT = ("ledger", "text", "all")
_NAMES = ("plain", "hashed")
_SERVICE = ("install", "remove")
_FILTERS = ("project", "since", "until", "model", "branch", "tool", "file", "machine", "limit")
_STORES = ("postgresql://", "postgres://")
_COLLECTORS = ("otlp://", "otlps://")
_PLAIN = "exchange"
"""Subfolder of the archive with the plain content of an encrypted folder."""
_LONGEST_WAIT = 60.0
_LISTED = 10
"""How many forgotten sessions of a machine are listed."""
Outcome = tuple[dict[str, Any], list[str]]
"""The result of a push: its document, and a sentence for each problem."""


def push_parser() -> options.Parser:
    made = options.make_parser("push", PUSH_ABOUT, PUSH_EXAMPLES)
    about = "a shared folder or team store (default: the last); `install` and `remove` before it: a service that pushes"
    made.word("[TARGET]", about)
    made.option("--what", "how much to send (a folder always gets all; a store: ledger)", choices=_WHAT)
    made.option("--projects", "store: send names of projects and branches, or hashes", choices=_NAMES)
    made.option("--show SESSION", "store: print exactly what would be sent, and send nothing")
    made.option("--encrypt KEYFILE", "folder: encrypt with this key; made if there is none")
    made.flag("--yes", "with `install` or `remove`: do not ask")
    made.flag("--dry-run", "show what would be sent, and send nothing")
    made.flag("--watch", "keep sending new sessions until Ctrl-C")
    made.flag("--full", "verify every byte in the folder and resend what is damaged")
    options.add_filters(made, limit=None)
    return made


def pull_parser() -> options.Parser:
    made = options.make_parser("pull", PULL_ABOUT, PULL_EXAMPLES, syncs=False)
    made.word("[FOLDER]", "the shared folder (default: the last one used)")
    made.option("--encrypt KEYFILE", "the key that `push --encrypt` made")
    made.flag("--forget", "forget here, unasked, what other machines forgot")
    made.flag("--bring-back", "bring back what a pull forgot in the last 30 days")
    made.option("--trust MACHINE", "believe this machine again, whatever key it signs with now")
    return made


def run_push(arguments: list[str]) -> int | None:
    arguments = word_first(arguments)
    action = arguments[0] if arguments and arguments[0] in _SERVICE else None
    args = push_parser().parse_args(arguments[1:] if action else arguments)
    filters = options.make_filter(args)
    if action is not None:
        _serve(action, args)
        return None
    if args.watch and (args.dry_run or args.full or args.show):
        raise BadInput("--watch goes on sending; --dry-run, --full and --show are for once")
    with open_archive(args) as archive:
        if args.target and args.target.startswith(_COLLECTORS):
            _push_to_collector(archive, args.target, filters, args)
            return None
        some = filters if filters != archives.filters.Filter() else None
        store = _store(archive, args.target)
        if store is not None:
            return _push_to_store(archive, store, some, args)
        _refuse_options_of_stores(args)
        folder = _folder(archive, args.target, args.config, "push")
        key = _key(archive, folder, args.encrypt)
        if args.watch:
            _follow(archive, lambda: _pushed(_push_to_folder(archive, folder, key, some, args)), args)
            return None
        done = _push_to_folder(archive, folder, key, some, args)
    return _show_push(*_pushed(done), args)


def _refuse_options_of_stores(args: options.Options) -> None:
    for option in ("projects", "show"):
        if getattr(args, option):
            raise BadInput(f"--{option} is for a team's store; a folder gets every byte")
    if args.what not in (None, "all"):
        raise BadInput(f"a folder takes all or nothing: --what {args.what} is for a team store")


def _push_to_collector(archive: Archive, target: str, filters: Filter, args: options.Options) -> None:
    for option in ("what", "projects", "show", "encrypt", "watch", "full"):
        if getattr(args, option):
            raise BadInput(f"--{option} is for a folder or a team's store; a collector gets sums of days")
    days = collector.settled_days(archive, filters)
    document = collector.metrics_document(days, archive.machine)
    number = 0 if args.dry_run else collector.send(target, document)
    answer = {"schema": "reread.push_otlp/1", "target": target, "days": len(days), "bytes_sent": number}
    is_sent = "would be sent" if args.dry_run else f"sent, {size(number)}"
    args.print_answer(lambda: answer, lambda _: [f"{printable(target)}: {count(len(days), 'day')} {is_sent}"])


def _key(archive: Archive, folder: Path, named: str | None) -> Path | None:
    """The key file of a folder: the named one; by default the last one used, if the folder is the last one used."""
    if named is not None:
        return expanded(named).absolute()
    return exchange.last_key(archive.home) if archive.safe.last_folder() == folder else None


def _push_to_folder(
    archive: Archive, folder: Path, key: Path | None, filters: Filter | None, args: options.Options
) -> Pushed:
    if key is None:
        own, encrypted = folder / archive.machine, _encrypted(folder)
        if own in encrypted or (encrypted and not own.exists()):  # never plain files next to others' encrypted ones
            raise _needs_key(folder)
        return archive.safe.push(folder, filters, is_dry=args.dry_run, full=args.full)
    exchange.check_folder(folder)
    plain = archive.home / _PLAIN
    make_private(plain)
    if args.dry_run:
        if key.exists():
            sealed.SealedFolder(folder, key)  # a dry run reports an invalid key, too
        return replace(archive.safe.push(plain, filters, is_dry=True, full=args.full), target=folder)
    if not key.exists():
        sealed.make_key(key)
        tell(f"made a key: {printable(str(key))}; your other machines need it, and without it nobody reads the folder")
    target = sealed.SealedFolder(folder, key)
    done = archive.safe.push(plain, filters, full=args.full)
    exchange.remember_key(archive.home, folder, key)
    return replace(done, target=folder, bytes_sent=target.seal(plain / archive.machine, is_full=args.full))


def _encrypted(folder: Path) -> set[Path]:
    """The machines' parts of a shared folder that are encrypted."""
    return {path.parent for path in folder.glob(f"*/*{sealed.SUFFIX}")}


def _needs_key(folder: Path) -> BadInput:
    return BadInput(f"{printable(str(folder))} has your sessions encrypted; say --encrypt KEYFILE")


def _pull_from_folder(
    archive: Archive, folder: Path, key: Path | None, progress: ProgressBar, args: options.Options
) -> Pulled:
    agree = _agree(args, progress)
    if key is None:
        encrypted = _encrypted(folder)
        if encrypted and encrypted.issuperset(path for path in folder.iterdir() if path.name != archive.machine):
            raise _needs_key(folder)
        if encrypted:
            tell(f"what is encrypted in {printable(str(folder))} is left out; say --encrypt KEYFILE for it")
        return archive.safe.pull(folder, progress, agree=agree, trust=args.trust)
    exchange.check_folder(folder)
    shared, plain = sealed.SealedFolder(folder, key), archive.home / _PLAIN
    make_private(plain)
    opened = shared.open(plain, {archive.machine, *exchange.thrown_out(archive.home)})
    done = archive.safe.pull(plain, progress, agree=agree, trust=args.trust)
    exchange.remember_key(archive.home, folder, key)
    return replace(done, folder=folder, problems=[*opened.problems, *done.problems])


def _serve(action: str, args: options.Options) -> None:
    """Installs or removes a service that pushes from every log-in on."""
    if action == "remove":
        remove_service(args)
        return
    with unsynced_archive(args.config) as archive:
        target = _store(archive, args.target) or str(_folder(archive, args.target, args.config, "push install"))
    if stores.without_password(target) != target:
        raise BadInput("a password in an address would stand in a file: put it into ~/.pgpass, and leave it out here")
    install_service(args, target)


def _store(archive: Archive, target: str | None) -> str | None:
    """The address of the store, if one is named, is laid down for this machine, or was the last target."""
    if target is None:
        return managed.managed().store or exchange.last_store(archive.home)
    return target if target.startswith(_STORES) else None


def _push_to_store(archive: Archive, url: str, filters: Filter | None, args: options.Options) -> int | None:
    if args.encrypt:
        raise BadInput("--encrypt is for a folder; a store is encrypted on the way by sslmode in its address")
    if args.full:
        raise BadInput("--full is for a folder; `reread team verify` proves a store")
    wanted = stores.settings_for(url)
    hidden = "hashed" in (wanted.projects, exchange.names_for(archive.home, stores.without_password(url)))
    names, what = args.projects or ("hashed" if hidden else "plain"), args.what or wanted.what
    is_hashed = names == "hashed"
    if args.show is not None:
        stored = archive.find(args.show)
        made = payload.SentNames()
        if is_hashed:
            with stores.Store(url) as store:
                made = payload.names_of(store, is_hashed=True)
        parts = payload.shown(archive, stored, what, made)
        document = {"schema": "reread.push_show/1", "session": stored.row.uuid, "what": what, **parts}
        args.print_answer(lambda: document, lambda _: _leaving_lines(parts))
        return None

    def send() -> Outcome:
        with stores.Store(url, tell=tell) as store, closing(ProgressBar()) as bar:
            report = archives.Progress.in_phase(bar, "sending")
            done = payload.push(archive, store, filters, what, is_hashed=is_hashed, is_dry=args.dry_run, report=report)
        if not args.dry_run:
            exchange.remember_store(archive.home, done.target, names)
        return _push_document(done, done.what, done.redacted, done.forgotten), done.problems

    if args.watch:
        _follow(archive, send, args, fatal=BadInput)
        return None
    return _show_push(*send(), args)


def _show_push(document: dict[str, Any], problems: list[str], args: options.Options) -> int:
    _print_problems(problems)
    args.print_answer(lambda: document, lambda _: _push_lines(document, args))
    return EXIT_DAMAGE if document["sessions"]["failed"] else 0


def _leaving_lines(parts: dict[str, Any]) -> list[str]:
    """The parts of a parcel as lines: the same values as in the document, without its nesting."""
    lines = []
    for name, part in parts.items():
        rows = part.pop("lines", []) if name == "text" else []
        for file in part.get("files", []) if name == "content" else []:
            file["body"] = f"({len(file['body']):,} letters of base64: the file as it is)"
        lines += [f"{name}:", *json.dumps(part, indent=1, ensure_ascii=False).splitlines()]
        lines += [f"  {row['line']}" for row in rows]
        lines += [f"  and the words of each line, for searches: {rows[0]['words'][:60]} ..."] if rows else []
    return lines


def _follow(
    archive: Archive,
    send: Callable[[], Outcome],
    args: options.Options,
    fatal: type[Exception] | tuple[type[Exception], ...] = (),
) -> None:
    """Sends what is new until Ctrl-C. An unreachable target is reported once and retried at growing intervals."""
    reported: set[str] = set()
    for number, _ in enumerate(archive.watch()):
        wait = 1.0
        while (done := _tried(send, reported, fatal)) is None:
            time.sleep(wait)
            wait = min(2 * wait, _LONGEST_WAIT)
        document, problems = done
        _print_problems([problem for problem in problems if problem not in reported])
        reported = set(problems)
        if document["sessions"]["sent"] or not number:
            if args.json:
                options.print_json_line(document)
            else:
                options.print_lines(_push_lines(document, args))
            sys.stdout.flush()


def _tried(
    send: Callable[[], Outcome], reported: set[str], fatal: type[Exception] | tuple[type[Exception], ...]
) -> Outcome | None:
    """Sends; None if the target is unreachable, which is reported once."""
    try:
        return send()
    except fatal:
        raise
    except RereadError as problem:
        _print_problems([each for each in [str(problem)] if each not in reported])
        reported.add(str(problem))
        return None


def run_pull(args: options.Options) -> None:
    if args.folder is not None and args.folder.startswith(_STORES):
        asked = "a team's store is asked, not pulled from: `reread --store URL list`"
        raise BadInput(f"{asked}; name a folder to pull from")
    if args.bring_back:
        _bring_back(args)
        return
    with unsynced_archive(args.config) as archive, closing(ProgressBar()) as progress:
        folder = _folder(archive, args.folder, args.config, "pull")
        done = _pull_from_folder(archive, folder, _key(archive, folder, args.encrypt), progress, args)
    _print_problems([*done.notes, *done.problems, *(_left_line(each) for each in done.left)])
    args.print_answer(lambda: _pull_document(done), lambda _: _pull_lines(done))


def _bring_back(args: options.Options) -> None:
    with unsynced_archive(args.config) as archive, closing(ProgressBar()) as progress:
        sessions = archive.safe.bring_back(progress)
    document = {"schema": "reread.bring_back/1", "sessions": sessions}
    lines = [f"{count(len(sessions), 'session')} brought back", *(f"  {printable(each)}" for each in sessions)]
    args.print_answer(lambda: document, lambda _: lines)


def _agree(args: options.Options, progress: ProgressBar) -> Agree:
    """Asks about what another machine forgot: a handful that is signed is only told, and without a terminal nothing is
    forgotten unless an option says so."""

    def ask(found: ForgottenElsewhere) -> bool | None:
        if args.forget:
            return True
        if not sys.stdin.isatty():
            return None
        progress.close()
        tell_lines("\n".join(_forgotten_lines(found)))
        if found.is_small:
            return True
        return options.is_agreed("Forget them here too? They are kept aside for 30 days.")

    return ask


def _forgotten_lines(found: ForgottenElsewhere) -> list[str]:
    sign = "" if found.is_proved else ", which is not proved to be its own word"
    rows = [f"  {printable(each.row.uuid)[:8]}  {shorten(each.row.title or '', 60)}" for each in found.sessions]
    more = [f"  and {len(rows) - _LISTED:,} more"] if len(rows) > _LISTED else []
    return [f"{printable(found.machine)} forgot {count(len(rows), 'session')}{sign}:", *rows[:_LISTED], *more]


def _left_line(found: ForgottenElsewhere) -> str:
    names = ", ".join(printable(each.row.uuid)[:8] for each in found.sessions[:_LISTED])
    more = ", ..." if len(found.sessions) > _LISTED else ""
    number = count(len(found.sessions), "session")
    return f"{printable(found.machine)} forgot {number} still kept here ({names}{more}); `reread pull --forget` forgets"


def _folder(archive: Archive, named: str | None, config: Config, command: str) -> Path:
    if named and named.startswith(_COLLECTORS):
        raise BadInput(f"a collector takes sums, and only from `reread push {printable(named)}`; name a folder")
    found = expanded(named).absolute() if named else archive.safe.last_folder()
    if found is None:
        raise BadInput(f"say which folder, as in `reread {command} /mnt/nas/reread`; the next time it is known")
    refuse_sources(found, config)
    if is_below(found, config.home):
        raise BadInput(f"{printable(str(found))} lies in the archive itself; choose a folder that machines share")
    return found


def _print_problems(problems: list[str]) -> None:
    for problem in problems:
        tell(problem)


def _pushed(done: Pushed) -> Outcome:
    return _push_document(done), done.problems


def _push_document(done: Pushed | Sent, what: str = "all", redacted: int = 0, forgotten: int = 0) -> dict[str, Any]:
    sessions = {"sent": done.sent, "unchanged": done.unchanged, "failed": done.failed}
    return {
        "schema": "reread.push/1",
        "target": str(done.target),
        "what": what,
        "sessions": {**sessions, **({"forgotten": forgotten} if forgotten else {})},
        "bytes_sent": done.bytes_sent,
        "redacted": redacted,
    }


def _push_lines(document: dict[str, Any], args: options.Options) -> list[str]:
    sessions = document["sessions"]
    is_sent = "would be sent" if args.dry_run else "sent"
    sent = f"{count(sessions['sent'], 'session')} {is_sent}, {size(document['bytes_sent'])}"
    parts = [sent, f"{count(sessions['unchanged'], 'session')} there already"]
    if document["redacted"]:
        parts.append(f"{count(document['redacted'], 'secret')} taken out")
    if sessions.get("forgotten"):
        parts.append(f"{count(sessions['forgotten'], 'session')} forgotten there, and left out")
    if sessions["failed"]:
        parts.append(f"{count(sessions['failed'], 'session')} failed")
    return [f"{printable(document['target'])}: {'; '.join(parts)}"]


def _pull_document(done: Pulled) -> dict[str, object]:
    return {
        "schema": "reread.pull/1",
        **picked(done, "folder machines"),
        "sessions": {"taken": done.sessions, "forgotten": done.forgotten},
        **picked(done, "marks bytes_taken problems notes"),
        "forgotten_elsewhere": [
            {"machine": each.machine, "is_proved": each.is_proved, "sessions": [one.row.uuid for one in each.sessions]}
            for each in done.left
        ],
    }


def _pull_lines(done: Pulled) -> list[str]:
    if not done.machines and not done.problems:
        return [f"{printable(str(done.folder))}: no other machine has pushed there yet"]
    taken = f"{count(done.sessions, 'session')} imported, {size(done.bytes_taken)}, {count(done.marks, 'mark')}"
    forgotten = f"; {count(done.forgotten, 'session')} forgotten" if done.forgotten else ""
    return [f"from {', '.join(map(printable, done.machines))}: {taken}{forgotten}"]


_MARK = "written by `reread push install`"
_UNIT = "reread-push.service"
_AGENT = "dev.reread.push"


class Service(NamedTuple):
    """A file that starts a push at log-in, and the commands that register it with the system."""

    path: Path
    content: str
    start: tuple[tuple[str, ...], ...]
    stop: tuple[tuple[str, ...], ...]


def service(
    command: Sequence[str],
    user: Path,
    config_home: str | None,
    system: str,
    environment: Mapping[str, str] | None = None,
) -> Service:
    """The service that runs `command`: systemd or launchd. Raises BadInput on a system with neither."""
    if system == "darwin":
        path = user / "Library" / "LaunchAgents" / f"{_AGENT}.plist"
        content = _plist(command, environment or {})
        return Service(
            path, content, (("launchctl", "load", "-w", str(path)),), (("launchctl", "unload", "-w", str(path)),)
        )
    if system.startswith("linux"):
        folder = Path(config_home) if config_home else user / ".config"
        run = ("systemctl", "--user")
        start = ((*run, "daemon-reload"), (*run, "enable", "--now", _UNIT))
        content = _unit(command, environment or {})
        return Service(folder / "systemd" / "user" / _UNIT, content, start, ((*run, "disable", "--now", _UNIT),))
    raise BadInput("a service is installed on Linux and macOS; elsewhere let your system start `reread push --watch`")


def _unit(command: Sequence[str], environment: Mapping[str, str]) -> str:
    quoted = " ".join(f'"{_in_unit(word)}"'.replace("$", "$$") for word in command)  # $ is special in commands only
    known = "".join(f'Environment="{_in_unit(f"{name}={value}")}"\n' for name, value in environment.items())
    return f"""# {_MARK}
[Unit]
Description=reread: pushes sessions as they grow

[Service]
{known}ExecStart={quoted}
Restart=on-failure
RestartSec=60
Nice=10

[Install]
WantedBy=default.target
"""


def _in_unit(word: str) -> str:
    """Escapes text for a unit file: systemd expands % everywhere."""
    return word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")


def _plist(command: Sequence[str], environment: Mapping[str, str]) -> str:
    words = "\n".join(f"    <string>{escape(word)}</string>" for word in command)
    known = "".join(f"<key>{name}</key><string>{escape(value)}</string>" for name, value in environment.items())
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- {_MARK} -->
<plist version="1.0"><dict>
  <key>Label</key><string>{_AGENT}</string>
  <key>ProgramArguments</key><array>
{words}
  </array>
  <key>EnvironmentVariables</key><dict>{known}</dict>
  <key>RunAtLoad</key><true/>
  <key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>
  <key>ProcessType</key><string>Background</string>
</dict></plist>
"""


def install_service(args: options.Options, target: str) -> None:
    """Shows the file, asks, writes it and starts the service."""
    command = [sys.executable, "-P", "-m", "reread", "push", target, "--watch"]
    if args.config.is_home_named or os.environ.get("REREAD_HOME") or os.environ.get("XDG_DATA_HOME"):
        command += ["--home", str(args.config.home.absolute())]
    for source in args.config.sources if args.config.is_source_named else ():
        command += ["--source", str(source.absolute())]
    command += ["--what", args.what] if args.what else []
    command += ["--encrypt", str(Path(args.encrypt).absolute())] if args.encrypt else []
    command += ["--projects", args.projects] if args.projects else []
    command += _filter_words(args)
    made = service(command, Path.home(), os.environ.get("XDG_CONFIG_HOME"), sys.platform, _known_now(args.config))
    _refuse_others(made.path)
    tell_lines(f"{printable(str(made.path))}:\n{made.content}")
    if not args.yes and not options.is_agreed("write this file and start it?"):
        return
    try:
        made.path.parent.mkdir(parents=True, exist_ok=True)
        made.path.write_text(made.content, "utf-8")
    except OSError as error:
        raise RereadError(f"{printable(str(made.path))}: cannot be written ({error.strerror or error})") from error
    _run(made.start)
    options.print_lines([f"{printable(str(made.path))} is written; `reread push remove` takes it out again"])


def _filter_words(args: options.Options) -> list[str]:
    """The filters as they were given: the service must not send more than they allow."""
    named = {name: getattr(args, name) for name in _FILTERS}
    words = [f"--{name}={value}" for name, value in named.items() if value is not None]
    return [*words, *(["--starred"] if args.starred else []), *(f"--tag={name}" for name in args.tagged or ())]


def _known_now(config: Config) -> dict[str, str]:
    """The environment's sources and prices, because a service does not get the environment of the person's shell."""
    known = {}
    if not config.is_source_named and (os.environ.get("CLAUDE_CONFIG_DIR") or os.environ.get("XDG_CONFIG_HOME")):
        known["CLAUDE_CONFIG_DIR"] = os.pathsep.join(str(source.absolute()) for source in config.sources)
    if os.environ.get("REREAD_PRICES") and config.prices is not None:
        known["REREAD_PRICES"] = str(config.prices.absolute())
    return {name: value for name, value in known.items() if value}


def remove_service(args: options.Options) -> None:
    """Removes what `install` wrote and nothing else."""
    made = service((), Path.home(), os.environ.get("XDG_CONFIG_HOME"), sys.platform)
    if not made.path.exists():
        options.print_lines([f"{printable(str(made.path))} is not there; nothing to take out"])
        return
    _refuse_others(made.path)
    question = f"stop it and remove {printable(str(made.path))}?"
    if not args.yes and not options.is_agreed(question):
        return
    _run(made.stop)
    made.path.unlink()
    options.print_lines([f"{printable(str(made.path))} is gone"])


def _refuse_others(path: Path) -> None:
    try:
        found = path.read_text("utf-8", "replace")
    except FileNotFoundError:
        return
    except OSError as error:
        raise RereadError(f"{printable(str(path))}: cannot be read ({error.strerror or error})") from error
    if _MARK not in found:
        raise BadInput(f"{printable(str(path))} was written by somebody else; move it away first")


def _run(commands: Sequence[Sequence[str]]) -> None:
    """Runs the commands; if the system's program is missing or fails, tells the person what to run."""
    for command in commands:
        program = shutil.which(command[0])
        done = subprocess.run([program, *command[1:]], capture_output=True, check=False) if program else None  # noqa: S603
        if done is None or done.returncode:
            tell(f"not done, do it yourself: {shlex.join(command)}")
