"""Finds the files of Claude Code in a source, groups them by session, and finds the backups that belong to them.

Backups are the copies that the client makes of files before it changes them: `file-history/<session>/<name>`, in the
folder that has `projects`. Nearly all of them are written once and never again. A fork or a resume under another id
links them into its own folder.
"""

from __future__ import annotations

import os
import re
import stat
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from reread import lazy
from reread.errors import RefusedBackup, SourceError, printable
from reread.home import changed_at, identity_of, whole_path

from .lines import looks_binary, opens_array, read_head, source_error


class FileKind(StrEnum):
    TRANSCRIPT = "transcript"
    SUBAGENT = "subagent"
    META = "meta"
    TOOL_RESULT = "tool_result"
    TITLE = "title"
    INDEX = "index"
    HISTORY = "history"
    WORKFLOW = "workflow"
    JOURNAL = "journal"
    SETTINGS = "settings"
    CAPTURE = "capture"
    """Every line of a run that reread started, in both directions."""
    BACKUP = "backup"
    """A file as it was before the client changed it; `list_backups` finds these, a walk does not."""


class SourcePlace(NamedTuple):
    kind: FileKind
    session: str | None = None
    agent: str | None = None
    workflow: str | None = None


_UUID = r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_SUBAGENTS = r"/(?P<session>[^/]+)/subagents(?:/workflows/(?P<workflow>[^/]+))?"

# The first row that matches the end of a path wins. The second column must occur in the path: that is tested first, and
# spares most rows the pattern.
_PLACES: tuple[tuple[FileKind, str, re.Pattern[str]], ...] = tuple(
    (kind, sign, lazy.pattern(rf".*{pattern}", re.DOTALL))
    for kind, sign, pattern in (
        (FileKind.TOOL_RESULT, "/tool-results/", r"/(?P<session>[^/]+)/tool-results/.+"),
        (FileKind.META, ".meta.json", rf"{_SUBAGENTS}/agent-(?P<agent>[^/]+)\.meta\.json"),
        (FileKind.META, ".meta.json", r"/agent-(?P<agent>[^/]+)\.meta\.json"),
        (FileKind.JOURNAL, "/journal.jsonl", rf"{_SUBAGENTS}/journal\.jsonl"),
        (FileKind.SUBAGENT, "/subagents/", rf"{_SUBAGENTS}/(?:agent-)?(?P<agent>[^/]+)\.jsonl"),
        (FileKind.SUBAGENT, "/agent-", r"/agent-(?P<agent>[^/]+)\.jsonl"),
        # Repositories have folders called `workflows`, too; only those in a session's folder are the client's.
        (FileKind.WORKFLOW, "/workflows/", rf"/(?P<session>{_UUID})/workflows/(?P<workflow>[^/]+)\.json"),
        (FileKind.WORKFLOW, "/workflows/", rf"/(?P<session>{_UUID})/workflows/scripts/[^/]+"),
        (FileKind.TITLE, "/custom-title.json", r"/(?P<session>[^/]+)/custom-title\.json"),
        (FileKind.INDEX, "/sessions-index.json", r"/sessions-index\.json"),
        (FileKind.HISTORY, "/history.jsonl", r"/history\.jsonl"),
        (FileKind.TRANSCRIPT, ".jsonl", r"/(?P<session>[^/]+)\.jsonl"),
        (FileKind.CAPTURE, ".wire", rf"/(?P<session>{_UUID})/[^/]+\.wire"),
        (FileKind.CAPTURE, ".wire", r"/(?P<session>[^/]+)\.wire"),
    )
)


def place(path: Path | str) -> SourcePlace | None:
    """What a file is by its name and folders; None if they do not show it."""
    text = "/" + str(path).replace(os.sep, "/")
    for kind, sign, pattern in _PLACES:
        if sign in text and (match := pattern.fullmatch(text)):
            group = match.groupdict().get
            return SourcePlace(kind, group("session"), _spelled(group("agent")), _spelled(group("workflow")))
    return None


def _spelled(name: str | None) -> str | None:
    """An agent or workflow id as text. It is never used as a path, so bytes that are not UTF-8 become escapes, which
    every table accepts."""
    return name and os.fsencode(name).decode("utf-8", "backslashreplace")


_LONGEST_NAME = 200


def project_folder_name(cwd: str) -> str:
    """The folder below `projects` for a working directory.

    A longer path ends in a hash that differs between builds of the client: then this is the part before
    it, hyphen included.
    """
    name = _hyphenated(cwd)
    return name if len(name) <= _LONGEST_NAME else name[:_LONGEST_NAME] + "-"


def _hyphenated(cwd: str) -> str:
    # The client replaces UTF-16 units, as JavaScript does: an emoji becomes two hyphens.
    path = unicodedata.normalize("NFC", cwd)
    return re.sub("[^A-Za-z0-9]", lambda char: "--" if char[0] > "\uffff" else "-", path)


_SETTINGS = ("settings.json", "settings.local.json")
_CONFIG_FILES = ("history.jsonl", *_SETTINGS)
_OF_CONFIG = (*_CONFIG_FILES, "projects", "transcripts", "profiles")
# Many folders contain `projects`. One is a config directory, of which only some parts are walked, if it also contains
# something else of the client's.
_CONFIG_SIGNS = {*_CONFIG_FILES, "todos", "file-history", "plugins", "shell-snapshots", "statsig"}
_SKIPPED = {".git", "node_modules"}


class SourceFile(Struct, frozen=True, gc=False):
    location: str
    """Its path as text: a `Path` that was used takes five times the memory, and a survey holds one per file."""
    kind: FileKind
    session: str | None
    """The id that its path gives it; None for agent files of 2.0 clients, where only the records say whose they are."""
    agent: str | None
    workflow: str | None
    size: int
    mtime_ns: int

    @classmethod
    def at(cls, path: Path, kind: FileKind, size: int, mtime_ns: int) -> SourceFile:
        """A file that is known to be of a kind."""
        where = place(path)
        if where is None or where.kind is not kind:
            where = SourcePlace(kind, path.stem)
        return cls(str(path), *where, size, mtime_ns)

    @property
    def path(self) -> Path:
        return Path(self.location)

    @property
    def folder(self) -> Path:
        """The folder that the session's trunk is in, or would be in."""
        return Path(folder_of(self))


def folder_of(file: SourceFile) -> str:
    """`SourceFile.folder` as text."""
    if file.kind is not FileKind.TRANSCRIPT and file.session is not None:
        for parent in file.path.parents:
            if parent.name == file.session:
                return str(parent.parent)
    return os.path.dirname(file.location)  # noqa: PTH120  a path of its own for every file would be the cost of this


Role = tuple[str, str]


def role_of(kind: str, path: Path) -> Role:
    """What a file is in its session, independent of where the session is."""
    return kind, "" if kind == FileKind.TRANSCRIPT else path.name


def find(
    source: Path, *, problems: list[SourceError] | None = None, folders: dict[Path, int] | None = None
) -> Iterator[SourceFile]:
    """The files of a config directory, a folder of any kind, or one file, in a stable order.

    Each regular file comes once, however many links lead to it; a folder's own files come before its subfolders. A link
    to a folder is followed as far as files of the client's are found, and never to a folder above the source. What
    cannot be read or is not followed is added to `problems` and skipped; the folders walked are added to `folders` with
    the time each last changed. Raises SourceError, before the first file is asked for, if the source itself cannot be
    read.
    """
    source = whole_path(source)
    try:
        status = source.stat()
        if stat.S_ISDIR(status.st_mode):
            os.scandir(source).close()
    except (OSError, ValueError) as error:
        raise source_error(source, error) from error
    if not stat.S_ISDIR(status.st_mode):
        return iter([_named(source, status)])
    return _Walk([] if problems is None else problems, {} if folders is None else folders).session_or_folder(source)


def _named(path: Path, status: os.stat_result) -> SourceFile:
    """A file that a person named: a transcript whatever it is called, unless its path says otherwise."""
    if looks_binary(read_head(path)):
        raise SourceError(path, "is a binary file, not a transcript")
    return _source_file(path, place(path) or SourcePlace(FileKind.TRANSCRIPT, path.stem), status)


def _source_file(path: Path | str, where: SourcePlace, status: os.stat_result) -> SourceFile:
    return SourceFile(str(path), *where, status.st_size, changed_at(status))


_BARREN = 500
"""So many folders without a file of the client's may be walked beyond a link."""
_BARREN_PER_FILE = 4
"""And so many for each such file: the folder of a session has up to four folders without one."""


class _Linked:
    """What a link to a folder led to so far."""

    def __init__(self, link: Path) -> None:
        self.link = link
        self._barren = self._files = 0

    def add(self, files: int) -> None:
        self._files += files
        self._barren += not files

    @property
    def is_over(self) -> bool:
        return self._barren > _BARREN + _BARREN_PER_FILE * self._files


def _linked(entry: os.DirEntry[str]) -> _Linked | None:
    return _Linked(Path(entry.path)) if _is_link(entry) else None


class _Walk:
    """One walk: what it has found, so that no link leads there again, and what it could not read."""

    def __init__(self, problems: list[SourceError], folders: dict[Path, int]) -> None:
        self._problems = problems
        self._times = folders
        self._met: dict[int, set[int | str]] = {}
        self._above: set[tuple[int, int] | None] = set()
        self._ended: set[Path] = set()
        """The links that led to too many folders without a file of the client's."""

    def session_or_folder(self, top: Path) -> Iterator[SourceFile]:
        trunk = top.parent / f"{top.name}.jsonl"
        if trunk.is_file():  # the folder of a session: its transcript is next to it
            yield from self._files([str(trunk)], is_config=False)
        yield from self._folders(top)

    def _folders(self, top: Path) -> Iterator[SourceFile]:
        self._above = {identity_of(folder) for place in (top, top.resolve()) for folder in place.parents} - {None}
        waiting: list[tuple[Path, _Linked | None]] = [(top, None)]
        while waiting:
            folder, linked = waiting.pop()
            if linked is not None and self._is_over(linked):
                continue
            entries = self._entries(folder)
            is_config = is_config_folder(folder, {entry.name for entry in entries})
            entries = [entry for entry in entries if not is_config or entry.name in _OF_CONFIG]
            files = [entry.path for entry in entries if not _is_folder(entry)]
            found = 0
            for file in self._files(files, is_config=is_config):
                found += 1
                yield file
            if linked is not None:
                linked.add(found)
            waiting.extend((Path(each.path), linked or _linked(each)) for each in self._below(entries))

    def _below(self, entries: Iterable[os.DirEntry[str]]) -> list[os.DirEntry[str]]:
        """The folders to walk, last first."""
        folders = [each for each in entries if _is_folder(each) and each.name not in _SKIPPED]
        return [each for each in folders if not self._leads_above(each)][::-1]

    def _leads_above(self, entry: os.DirEntry[str]) -> bool:
        link = Path(entry.path)
        if not _is_link(entry) or identity_of(link) not in self._above:
            return False
        reason = f"leads above the source, to {printable(str(link.resolve()))}; it is not followed"
        self._problems.append(SourceError(link, reason))
        return True

    def _is_over(self, linked: _Linked) -> bool:
        if linked.is_over and linked.link not in self._ended:
            self._ended.add(linked.link)
            where = printable(str(linked.link.resolve()))
            reason = (
                f"leads to {where}, where few folders are Claude Code's; not followed further (name it as a source)"
            )
            self._problems.append(SourceError(linked.link, reason))
        return linked.is_over

    def _entries(self, folder: Path) -> list[os.DirEntry[str]]:
        """The entries of a folder by name; links last, so that a file is listed where it really is."""
        try:
            status = folder.stat()
            if not self._is_first_meeting(folder, status):
                return []
            self._times[folder] = changed_at(status)
            with os.scandir(folder) as entries:
                return sorted(entries, key=lambda entry: (entry.is_symlink(), entry.name))
        except OSError as error:
            self._report(folder, error)
            return []

    def _files(self, paths: list[str], *, is_config: bool) -> Iterator[SourceFile]:
        """Paths are text here: a `Path` for every file took a third of a walk."""
        for path in paths:
            is_setting = is_config and Path(path).name in _SETTINGS
            try:
                file = self._file(path, SourcePlace(FileKind.SETTINGS) if is_setting else place(path))
            except OSError as error:
                self._report(Path(path), error)
            except SourceError as error:
                self._problems.append(error)
            else:
                if file:
                    yield file

    def _file(self, path: str, where: SourcePlace | None) -> SourceFile | None:
        if where is None and Path(path).suffix != ".json":
            return None
        status = os.stat(path)  # noqa: PTH116
        if not stat.S_ISREG(status.st_mode) or not self._is_first_meeting(path, status):
            return None
        if where is None:
            return _array_file(Path(path), status)
        if not os.access(path, os.R_OK):
            raise PermissionError
        return _source_file(path, where, status)

    def _is_first_meeting(self, path: Path | str, status: os.stat_result) -> bool:
        # Some Windows file systems have no inode numbers.
        identity = status.st_ino or os.path.realpath(path)
        met = self._met.setdefault(status.st_dev, set())
        is_first = identity not in met
        met.add(identity)
        return is_first

    def _report(self, path: Path, error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):  # it vanished while we walked, or a link leads nowhere
            self._problems.append(source_error(path, error))


def _array_file(path: Path, status: os.stat_result) -> SourceFile | None:
    if not opens_array(read_head(path)):
        return None
    return _source_file(path, SourcePlace(FileKind.TRANSCRIPT, path.stem), status)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link to itself: reported when the file is looked at
        return False


def _is_link(entry: os.DirEntry[str]) -> bool:
    """Junctions are the links to folders that Windows makes without a privilege; Python knows them since 3.12."""
    return entry.is_symlink() or bool(getattr(entry, "is_junction", bool)())


def is_config_folder(folder: Path, names: set[str]) -> bool:
    return "projects" in names and (folder.name == ".claude" or not names.isdisjoint(_CONFIG_SIGNS))


class SessionFiles(Struct, frozen=True, gc=False):
    id: str
    trunk: SourceFile | None = None
    """None when only subagents or side files are left."""
    subagents: tuple[SourceFile, ...] = ()
    metas: tuple[SourceFile, ...] = ()
    tool_results: tuple[SourceFile, ...] = ()
    others: tuple[SourceFile, ...] = ()
    captures: tuple[SourceFile, ...] = ()
    """Captures of this session's runs, in order."""

    @classmethod
    def of(cls, name: str, files: Iterable[SourceFile]) -> SessionFiles:
        """The files of one session; of several trunks, the first."""
        files = list(files)

        def only(*kinds: FileKind) -> tuple[SourceFile, ...]:
            return tuple(file for file in files if file.kind in kinds)

        return cls(
            name,
            next(iter(only(FileKind.TRANSCRIPT)), None),
            only(FileKind.SUBAGENT),
            only(FileKind.META),
            only(FileKind.TOOL_RESULT),
            only(FileKind.TITLE, FileKind.WORKFLOW, FileKind.JOURNAL),
            tuple(
                sorted(only(FileKind.CAPTURE), key=lambda file: file.path.name)
            ),  # it begins with the time of its run
        )

    def with_files(self, more: Iterable[SourceFile]) -> SessionFiles:
        return SessionFiles.of(self.id, (*self.all, *more))

    @property
    def all(self) -> tuple[SourceFile, ...]:
        trunk = (self.trunk,) if self.trunk else ()
        return (*trunk, *self.subagents, *self.metas, *self.tool_results, *self.others, *self.captures)

    @property
    def mtime_ns(self) -> int:
        """When the conversation last grew; if only side files are left, when the newest was written."""
        spoken = (self.trunk, *self.subagents) if self.trunk else self.subagents
        return max(file.mtime_ns for file in spoken or self.all)


def group(files: Iterable[SourceFile]) -> list[SessionFiles]:
    """Sessions in the order in which their first files come; files of no session are left out."""
    gathered: dict[tuple[str, str], list[SourceFile]] = {}
    folders: dict[str, str] = {}
    for file in files:
        if file.session is not None:
            folder = folder_of(file)
            gathered.setdefault((folders.setdefault(folder, folder), file.session), []).append(file)
    return [session for (_, name), found in gathered.items() for session in _sessions(name, found)]


def _sessions(name: str, files: list[SourceFile]) -> list[SessionFiles]:
    """One session, and another for each further trunk of that name, such as a copy stored as an array."""
    if len(files) == 1 and files[0].kind is FileKind.TRANSCRIPT:  # the usual case where there are very many
        return [SessionFiles(name, files[0])]
    copies = [file for file in files if file.kind is FileKind.TRANSCRIPT][1:]
    return [SessionFiles.of(name, files), *(SessionFiles(name, copy) for copy in copies)]


FOLDER = "file-history"
LARGEST = 128 << 20
"""A larger backup is not kept: it would have to fit in memory, and is not text that anybody edits."""
_NAME = lazy.pattern(r"[0-9A-Za-z]+@v\d+")


def history_of(project: Path) -> Path | None:
    """Where the folders of backups are for sessions in a folder of `projects`; None for any other folder."""
    return project.parent.parent / FOLDER if project.parent.name == "projects" else None


def config_folders(walked: Iterable[str]) -> set[Path]:
    """The config directories that some walked folders are part of."""
    tops = {top for folder in walked for top in (folder, os.path.dirname(folder)) if top.endswith("projects")}  # noqa: PTH120  there may be thousands
    return {path.parent for path in map(Path, tops) if path.name == "projects"}


def list_backups(folder: Path, problems: list[SourceError]) -> list[SourceFile]:
    """The backups of one session by name; other files there, and those that cannot be read, are added to `problems`.

    Raises SourceError if the folder itself cannot be read.
    """
    try:
        with os.scandir(folder) as entries:
            found = sorted(entries, key=lambda entry: entry.name)
    except OSError as error:
        raise source_error(folder, error) from error
    files = []
    for entry in found:
        if not entry.name.startswith("."):  # what a file manager leaves
            try:
                files.append(_backup(entry))
            except FileNotFoundError:  # cleaned up meanwhile
                continue
            except OSError as error:
                problems.append(source_error(Path(entry.path), error))
            except SourceError as error:
                problems.append(error)
    return files


def _backup(entry: os.DirEntry[str]) -> SourceFile:
    path = Path(entry.path)
    if not _NAME.fullmatch(entry.name):
        raise RefusedBackup(path, "is not named like a backup of a file, and not kept")
    status = entry.stat(follow_symlinks=False)
    if not stat.S_ISREG(status.st_mode):
        raise RefusedBackup(path, "is not a regular file, and not kept")
    if status.st_size > LARGEST:
        raise RefusedBackup(path, f"is larger than {LARGEST >> 20} MB, and not kept")
    if not os.access(path, os.R_OK):
        raise PermissionError
    # Windows gives the entry of a folder without inode and device, and with a time that may be old.
    status = path.stat() if os.name == "nt" else status
    return SourceFile(str(path), FileKind.BACKUP, path.parent.name, None, None, status.st_size, changed_at(status))


def backup_reader(
    trunks: Mapping[str, Path], kept: Callable[[str, str], bytes | None] | None = None
) -> Callable[[str, str], bytes | None]:
    """A function that reads a backup by session and name, given the paths of the sessions' transcripts.

    If the file is gone, it asks `kept`, which reads from the archive. It returns None if neither has the backup.
    """

    def read(session: str, name: str) -> bytes | None:
        # The name comes from a transcript: it must not lead out of the folder.
        if not _NAME.fullmatch(name):
            return None
        trunk = trunks.get(session)
        if trunk is not None and len(trunk.parents) >= 3:
            try:
                return (trunk.parents[2] / FOLDER / trunk.stem / name).read_bytes()
            except OSError:  # cleaned up, or never made
                pass
        return kept(session, name) if kept is not None else None

    return read
