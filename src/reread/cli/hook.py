"""`reread hook`: installs hooks in Claude Code's settings that import sessions as they end and bring dialogs into the
queue; also the first of them (the other is `dialog_hook`)."""

from __future__ import annotations

import os
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from reread import client_settings, views
from reread.client_settings import ClientSettings, SettingsChange, SettingsFile
from reread.config import Config, expanded, make_config
from reread.errors import BadInput, printable
from reread.home import make_home
from reread.records import client_input
from reread.records.client_input import HookInput

from . import options
from .main import word_first
from .session_source import is_below, is_protected, unsynced_archive
from .streams import tell_lines

LOG = "hook.log"
MOST_LOG_BYTES = 64_000
KEPT_LINES = 100
SETTLE = 2.0
"""Seconds until the transcript is synced again: the client may still write while its hooks run."""


def hook_run_parser() -> options.Parser:
    about = "Run by Claude Code when a session ends or is compacted; not meant to be typed."
    made = options.make_parser("hook run", about, "  reread hook run < told.json", syncs=False)
    made.option("--session ID", "the session that ended, if known")
    made.option("--transcript FILE", "its transcript, if known")
    return made


def run_hook_run(arguments: list[str]) -> None:
    """Starts `take` in the background; before a compaction, which may rewrite the transcript, imports at once. Always
    returns 0: the session has ended or goes on, and nobody could react to an error."""
    home = make_config(None, None).home
    try:
        config = hook_run_parser().parse_args(arguments).config
        home = config.home
        from .streams import piped_input

        told = client_input.read_hook_input(piped_input())
        if told.event == client_settings.COMPACTING_EVENT:
            _note_sync(config, f"{told.session or 'a session'} before a compaction", _sync(config, told.transcript))
        else:
            _start(arguments, told)
    except Exception as error:  # noqa: BLE001  Claude Code would show it, and the person can do nothing with it
        note(home, f"could not be started: {error}")


def run_hook_ask(arguments: list[str]) -> None:
    """Always returns 0: with nothing printed, the dialog stays as it is."""
    from .dialog_hook import ask

    home = make_config(None, None).home
    try:
        home = hook_run_parser().parse_args(arguments).config.home
        from .streams import piped_input

        ask(home, piped_input())
    except Exception as error:  # noqa: BLE001  Claude Code would show it, and its own dialog is open
        note(home, f"a dialog stays on its screen only: {error}")


def _start(arguments: list[str], hook_input: HookInput) -> None:
    import subprocess

    # -P: the working directory is the person's project, whose modules must not shadow ours.
    command = [sys.executable, "-P", "-m", "reread", "hook", "take", *arguments]
    command += [f"--session={hook_input.session}"] if hook_input.session else []
    command += [f"--transcript={hook_input.transcript}"] if hook_input.transcript else []
    quiet = subprocess.DEVNULL
    if sys.platform == "win32":
        flags = subprocess.DETACHED_PROCESS | subprocess.CREATE_NEW_PROCESS_GROUP
        subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet, creationflags=flags)  # noqa: S603
    else:
        subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True)  # noqa: S603


def take(arguments: list[str]) -> None:
    """Imports what changed, and again after the client has had time to write its last lines."""
    args = hook_run_parser().parse_args(arguments)
    session = args.session or "a session"
    try:
        _sync(args.config, args.transcript)
        time.sleep(SETTLE)
        problems = _sync(args.config, args.transcript)
    except Exception as error:  # noqa: BLE001  nobody sees what this process prints: the log is all there is
        problems = [str(error) or type(error).__name__]
    _note_sync(args.config, session, problems)


def _note_sync(config: Config, session: str, problems: list[str]) -> None:
    for problem in problems or ["synced"]:
        note(config.home, f"{session}: {problem}")


def _sync(config: Config, transcript: str | None) -> list[str]:
    with unsynced_archive(config, to_import=True) as archive:
        path = Path(transcript) if transcript else None
        if path and path.is_file() and not any(is_below(path, source) for source in archive.sources):
            archive.inner.sources = (*archive.sources, _source_of(path))
        found = [str(problem) for problem in archive.sync().problems]
        if path is not None:
            archive.friction.keep_fixes(path.stem)
        return found


def _source_of(transcript: Path) -> Path:
    """CONFIG for CONFIG/projects/PROJECT/SESSION.jsonl; for any other path the file itself."""
    projects = transcript.parent.parent
    return projects.parent if projects.name == "projects" else transcript


def note(home: Path, what: str) -> None:
    """Adds a line to the log; a failure to write is ignored."""
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    path = home / LOG
    try:
        make_home(home)
        if path.exists() and path.stat().st_size > MOST_LOG_BYTES:
            path.write_text("".join(f"{line}\n" for line in noted(home)[-KEPT_LINES:]), "utf-8")
        number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        with open(number, "ab") as file:  # noqa: PTH123  a descriptor, no path
            file.write(f"{now} {printable(what)}\n".encode())
    except (OSError, BadInput):
        return


def noted(home: Path) -> list[str]:
    """The lines of the log, oldest first; empty if there is no log."""
    try:
        return (home / LOG).read_text("utf-8", "replace").splitlines()
    except OSError:
        return []


HOOK_EXAMPLES = """\
  reread hook                              whether it is installed, and how it went lately
  reread hook install                      shows the change, asks, and makes it
  reread hook install --statusline --yes   with the status line, without asking
  reread hook install --approvals          with its dialogs in `reread approvals`
  reread hook install --settings .claude/settings.json
  reread hook remove"""
ABOUT = """Import sessions as they end. `install` adds a SessionEnd hook to Claude Code's settings.json, and
a PreCompact hook, since a compaction may rewrite a transcript; `remove` removes exactly those, `status` shows
whether they are installed and what they did. Both show the change and ask first. The rest of the file is not
touched, and a copy is kept beside it (.reread-backup). The hook returns at once and works in the background,
before a compaction when it has imported. With `--approvals` a second hook brings the dialogs of Claude Code's own
screen into `reread approvals` and the page Live while `reread serve` runs; they can be answered in either place.
With `--fixes` a hook says, when a shell command fails, which command worked after the same error in at least two
past sessions, and is silent otherwise."""
ACTIONS = ("status", "install", "remove")
HIDDEN = ("run", "take", "ask")
"""Internal actions: what Claude Code starts when a session ends, the background process that this starts, and what
Claude Code starts when it asks for a permission."""
SHOWN_NOTES = 5
PROGRAM_GONE = (
    "  that program is gone, and Claude Code will complain; `reread hook install` names the one that runs now"
)
HOOKS_OFF = "`disableAllHooks` is set there: Claude Code runs no hook until that is gone"


def hook_parser() -> options.Parser:
    made = options.make_parser("hook", ABOUT, HOOK_EXAMPLES, syncs=False)
    made.add_argument("action", nargs="?", choices=ACTIONS, default="status", help="default: status")
    made.option("--settings FILE", "settings file to change (default: the one in the config directory)")
    made.flag("--statusline", "also install `reread statusline`, unless another one is set")
    made.flag("--approvals", "also bring its permission dialogs into `reread approvals`")
    made.flag("--fixes", "also say what worked in past sessions when a command fails")
    made.flag("--yes", "do not ask")
    return made


def run_hook(arguments: list[str]) -> None:
    arguments = word_first(arguments)
    if arguments and arguments[0] in HIDDEN:
        {"run": run_hook_run, "take": take, "ask": run_hook_ask}[arguments[0]](arguments[1:])
    else:
        _run_action(arguments)


def _run_action(arguments: list[str]) -> None:
    args = hook_parser().parse_args(arguments)
    file = client_settings.SettingsFile(_settings_path(args))
    if args.action == "status":
        args.print_answer(lambda: _document(args, file), lambda _: _status(args.config, file))
        return
    change = file.installing(_entries(args)) if args.action == "install" else file.removing()
    if change.is_none:
        _report(args, file, change, is_done=False)
    else:
        _make(args, file, change)


def _settings_path(args: options.Options) -> Path:
    """The named settings file, by default that of the first config directory."""
    if args.settings is not None:
        return expanded(args.settings).absolute()
    folders = [source.parent if source.name == "projects" else source for source in args.config.sources]
    if args.config.is_source_named:
        folders = [folder for folder in folders if folder.name == ".claude" or (folder / "projects").is_dir()]
        if not folders:
            raise BadInput("no --source is a config directory of Claude Code; name its settings with --settings")
    return (folders[0] if folders else expanded("~/.claude")).absolute() / "settings.json"


def _entries(args: options.Options) -> client_settings.Entries:
    """Our entries: they run this reread with the archive and sources given now."""
    if any(is_protected(args.config.home, source) for source in args.config.sources):
        raise BadInput(f"the archive {args.config.home} would lie below a source; choose another --home")
    is_home_told = args.config.is_home_named or bool(os.environ.get("REREAD_HOME", "").strip())
    are_sources_told = args.config.is_source_named or bool(os.environ.get("CLAUDE_CONFIG_DIR", "").strip())
    home = ["--home", str(args.config.home.absolute())] if is_home_told else []
    sources = [word for source in args.config.sources for word in ("--source", str(source.absolute()))]
    arguments = [*home, *(sources if are_sources_told else [])]
    made = client_settings.entries_running(_program(), arguments, home, is_windows=sys.platform == "win32")
    chosen = {client_settings.ASKING_EVENT: args.approvals, client_settings.FAILED_EVENT: args.fixes}
    hooks = {event: hook for event, hook in made.hooks.items() if chosen.get(event, True)}
    return client_settings.Entries(hooks, made.status_line if args.statusline else None)


def _program() -> list[str]:
    """The command that runs this reread from any folder."""
    beside = Path(sys.executable).with_name("reread.exe" if sys.platform == "win32" else "reread")
    return [str(beside)] if beside.is_file() else [sys.executable, "-P", "-m", "reread"]


def _make(args: options.Options, file: SettingsFile, change: SettingsChange) -> None:
    """Shows the change and makes it if the person agrees."""
    if args.yes:
        _write(args, file, change)
        _report(args, file, change, is_done=True)
        return
    if args.json or not sys.stdin.isatty():
        _report(args, file, change, is_done=False)
        raise BadInput("nothing was changed: standard input is not a terminal to ask at; pass --yes")
    options.print_lines(_shown(args.config, file, change))
    sys.stdout.flush()
    tell_lines("Make this change? [y/N] ", end="")
    is_agreed = sys.stdin.readline().strip().lower() in ("y", "yes")
    if is_agreed:
        _write(args, file, change)
    options.print_lines(_outcome(args, file, change) if is_agreed else ["nothing was changed"])


def _write(args: options.Options, file: SettingsFile, change: SettingsChange) -> None:
    file.write(change)
    if args.action == "install" and args.fixes:
        with unsynced_archive(args.config, to_import=True) as archive:
            archive.friction.keep_fixes()


def _report(args: options.Options, file: SettingsFile, change: SettingsChange, *, is_done: bool) -> None:
    """Prints the change and its outcome together."""
    if args.json:
        options.print_json(_document(args, file, change, is_done=is_done))
        return
    options.print_lines(_shown(args.config, file, change))
    if is_done:
        options.print_lines(_outcome(args, file, change))
    elif change.is_none:
        state = "already installed" if args.action == "install" else "not installed"
        options.print_lines([f"{state} in {printable(str(file.path))}; nothing to change", *_remarks(args, file)])


def _outcome(args: options.Options, file: SettingsFile, change: SettingsChange) -> list[str]:
    verb = {"install": "installed in", "remove": "removed from"}[args.action]
    if change.backup is not None:
        kept = f"; as it was before: {printable(str(file.backup))}"
    else:
        kept = "" if change.after is not None else ", which held nothing else and is gone"
    return [f"{verb} {printable(str(file.path))}{kept}", *_remarks(args, file)]


def _remarks(args: options.Options, file: SettingsFile) -> list[str]:
    """What the person should know besides the change."""
    settings = file.settings(file.read())
    remarks = []
    if args.action == "install" and args.statusline and settings.status_line == "other":
        remarks.append("another status line is set there; it was left alone")
    if settings.hook is not None and settings.are_hooks_off:
        remarks.append(HOOKS_OFF)
    return remarks


def _shown(config: Config, file: SettingsFile, change: SettingsChange) -> list[str]:
    return list(views.file_tables.unified_lines(_diff(file, change), views.text.Style(config.colour)))


def _diff(file: SettingsFile, change: SettingsChange) -> list[str]:
    before, after = (None if content is None else content.decode() for content in (change.before, change.after))
    return views.file_tables.unified(before, after, str(file.path))


def _status(config: Config, file: SettingsFile) -> list[str]:
    settings = file.settings(file.read())
    place = printable(str(file.path))
    if settings.hook is None:
        lines = [f"not installed in {place}; `reread hook install` puts it there"]
    else:
        lines = [
            f"installed in {place}",
            f"  it runs: {views.text.harmless(client_settings.command_of(settings.hook))}",
        ]
        lines += [] if client_settings.has_program(settings.hook) else [PROGRAM_GONE]
        lines += [HOOKS_OFF] if settings.are_hooks_off else []
    lines.append(f"status line: {settings.status_line.replace('ours', 'that of reread')}")
    if settings.hook_at(client_settings.ASKING_EVENT):
        lines.append("its dialogs are in `reread approvals`, too, while `reread serve` runs")
    notes = _notes(config, settings)
    return [*lines, *(["lately:"] if notes else []), *(f"  {views.text.harmless(note)}" for note in notes)]


def _notes(config: Config, settings: ClientSettings) -> list[str]:
    """The newest lines of the hook's log, in the archive that the hook imports into."""
    named = client_settings.home_of(settings.hook) if settings.hook is not None else None
    return noted(expanded(named) if named else config.home)[-SHOWN_NOTES:]


def _document(
    args: options.Options, file: SettingsFile, change: SettingsChange | None = None, *, is_done: bool = False
) -> dict[str, object]:
    settings = file.settings(file.read())
    return {
        "schema": "reread.hook/1",
        "action": args.action,
        "settings": str(file.path),
        "installed": settings.hook is not None,
        "command": None if settings.hook is None else client_settings.command_of(settings.hook),
        "statusline": settings.status_line,
        "approvals": settings.hook_at(client_settings.ASKING_EVENT) is not None,
        "fixes": settings.hook_at(client_settings.FAILED_EVENT) is not None,
        "hooks_disabled": settings.are_hooks_off,
        "changed": is_done,
        "diff": "".join(f"{line}\n" for line in _diff(file, change)) if change else "",
        "backup": str(file.backup) if file.backup.exists() else None,
        "home": str(args.config.home),
        "log": _notes(args.config, settings),
    }
