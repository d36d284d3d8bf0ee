"""Where transcripts and tables are stored: folders of this machine, or object storage through Arrow's file systems."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from reread import errors, loading, sources
from reread.config import expanded
from reread.foreign_files import write_below
from reread.keys import file_key

SCHEMES = ("s3", "gs", "abfs", "abfss")
_PARTS = tuple(f"{scheme}:" for scheme in SCHEMES)
_CHUNK = 1 << 16
_HEAD = 1 << 12
_BEGINNING = 1 << 16
"""How much of a file in object storage a plan looks at."""


def is_remote(text: str) -> bool:
    return text.partition("://")[0] in SCHEMES and "://" in text


def uri_of(path: Path) -> str:
    """The name of a file: its address in object storage, or its path."""
    if not _is_remote_path(path):
        return str(path)
    return f"{path.parts[0]}//{'/'.join(path.parts[1:])}"


def _is_remote_path(path: Path) -> bool:
    return bool(path.parts) and path.parts[0] in _PARTS


@lru_cache(maxsize=100_000)
def key_of(location: str) -> str:
    """The key of a file, made from its place in a listing, so that it is the same in every build."""
    return file_key("lake", uri_of(Path(location)))


def lake_uri(text: str) -> str:
    """The address of a lake, or the absolute path of its folder. Raises `BadInput` for what is neither."""
    if "://" not in text:
        return str(expanded(text).absolute())
    if not is_remote(text):
        raise errors.BadInput(f"{text!r} is no place for a lake; name a folder or an address of {', '.join(SCHEMES)}")
    return text.rstrip("/")


def plain_place(uri: str) -> str:
    """A folder or address in the form in which prefixes are compared: with forward slashes, and none at its end."""
    return uri.replace("\\", "/").rstrip("/")


@lru_cache(maxsize=16)
def _system(root: str) -> fs.FileSystem:
    """The file system of a bucket; credentials and a custom server come from the usual environment variables of AWS."""
    return fs.FileSystem.from_uri(root)[0]


def _opened(uri: str) -> tuple[fs.FileSystem, str]:
    if not is_remote(uri):
        return fs.LocalFileSystem(), uri
    scheme, _, rest = uri.partition("://")
    return _system(f"{scheme}://{rest.partition('/')[0]}"), rest


def find(source: str, problems: list[errors.SourceError]) -> Iterator[sources.SourceFile]:
    """The files of a source, local or remote. Raises SourceError if the source itself cannot be read, and BadInput for
    what is not a source."""
    if not is_remote(source):
        if "://" in source:
            raise errors.BadInput(f"{source!r} is no source; name a folder or an address of {', '.join(SCHEMES)}")
        yield from sources.find(expanded(source), problems=problems)
        return
    system, base = _opened(source.rstrip("/"))
    try:
        found = system.get_file_info(fs.FileSelector(base, recursive=True))
    except (OSError, pa.ArrowException) as error:
        raise errors.SourceError(Path(source), f"cannot be listed ({_reason(error)})") from error
    scheme = source.partition("://")[0]
    listed = {info.path: info for info in found if info.type == fs.FileType.File}
    for name in _transcript_names(listed):
        info, path = listed[name], Path(f"{scheme}:/{name}")
        where = sources.place(path)
        if where is not None:
            yield sources.SourceFile(str(path), *where, info.size, info.mtime_ns or 0)


def _transcript_names(names: Iterable[str]) -> list[str]:
    """The names without the other files of a client's config folder, which a walk over local folders leaves out too."""
    inside: dict[str, set[str]] = {}
    ordered = sorted(names)
    for name in ordered:
        parts = PurePosixPath(name).parts
        for depth in range(1, len(parts)):
            inside.setdefault("/".join(parts[:depth]), set()).add(parts[depth])
    configs = [
        folder for folder, held in inside.items() if "projects" in held and sources.is_config_folder(Path(folder), held)
    ]
    kept = ("projects/", "transcripts/", "profiles/")
    return [
        name
        for name in ordered
        if all(not name.startswith(f"{each}/") or name.removeprefix(f"{each}/").startswith(kept) for each in configs)
    ]


class LakeReader(loading.ContentReader):
    """Reads whole source files, local or remote, and keeps those of the present session in memory."""

    def __init__(self) -> None:
        self._held: dict[str, bytes] = {}
        self._heads: dict[str, bytes] = {}
        self.bytes_read = 0

    def content(self, file: sources.SourceFile) -> bytes:
        """The file up to the size it had when it was listed; what was added since then is read by the next build."""
        if file.location not in self._held:
            raw = _read(file.path, file.size)
            self.bytes_read += len(raw)
            self._held[file.location] = raw
        return self._held[file.location]

    def forget(self) -> None:
        self._held.clear()

    def index_beside(self, trunk: sources.SourceFile) -> bytes | None:
        try:
            return _read(trunk.path.parent / loading.INDEX)
        except errors.SourceError:
            return None

    def spilled(self, outputs: Iterable[sources.SourceFile], name: str) -> str | None:
        if any(not _is_remote_path(file.path) for file in outputs):
            return super().spilled(list(outputs), name)
        found = (self.content(file) for file in outputs if file.path.name == name)
        return next((raw.decode("utf-8", "replace") for raw in found), None)

    def begins_with(self, full: sources.SourceFile, other: sources.SourceFile) -> bool:
        """Whether `full` begins with all of `other`."""
        if other.size > full.size:
            return False
        try:
            if not self._head(full).startswith(self._head(other)):
                return False
            with _stream(other.path) as first, _stream(full.path) as second:
                while ours := first.read(_CHUNK):
                    self.bytes_read += 2 * len(ours)
                    if ours != second.read(len(ours)):
                        return False
        except OSError:  # reading the whole file will report it
            return False
        return True

    def _head(self, file: sources.SourceFile) -> bytes:
        """The beginning of a file, kept in memory: files of the same name are all compared with each other, and most
        differ in their first line."""
        if file.location not in self._heads:
            self._heads[file.location] = self._beginning(file)[:_HEAD]
        return self._heads[file.location]

    def _beginning(self, file: sources.SourceFile) -> bytes:
        with _stream(file.path) as stream:
            raw = bytes(stream.read(min(_BEGINNING, file.size)))
        self.bytes_read += len(raw)
        return raw

    def recorded_ids(self, file: sources.SourceFile) -> set[str]:
        """The session ids in the first records of a file, of which no more than the beginning is read."""
        if file.location in self._held or not _is_remote_path(file.path):
            return super().recorded_ids(file)
        try:
            raw = self._beginning(file)
        except OSError:  # reading the whole file will report it
            return set()
        self._heads[file.location] = raw[:_HEAD]
        self._held[file.location] = raw[: raw.rfind(b"\n") + 1] if len(raw) < file.size else raw
        found = super().recorded_ids(file)
        del self._held[file.location]
        return found


def _stream(path: Path) -> Any:
    if not _is_remote_path(path):
        return path.open("rb")
    system, name = _opened(uri_of(path))
    return system.open_input_file(name)  # of which only what is asked for is fetched


def _read(path: Path, size: int | None = None) -> bytes:
    try:
        with _stream(path) as file:
            raw: bytes = file.read() if size is None else file.read(size)
            return raw
    except OSError as error:
        raise errors.SourceError(Path(uri_of(path)), f"cannot be read ({_reason(error)})") from error


def is_there(path: Path) -> bool:
    """Whether a file of an earlier listing is still where it was."""
    system, name = _opened(uri_of(path))
    return bool(system.get_file_info(name).type == fs.FileType.File)


def content_of(uri: str) -> bytes:
    """The content of a file, by its path or address. Raises SourceError."""
    return _read(Path(uri))


def read_parquet(uri: str) -> pa.Table:
    """Reads a file of a table, and checks each page that has a checksum."""
    system, name = _opened(uri)
    return pq.ParquetFile(name, filesystem=system, page_checksum_verification=True).read()


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error).partition("\n")[0]


def write_parquet(table: pa.Table, lake: str, path: str) -> int:
    """Writes a file of a table below the lake, completely or not at all; gives its size. Writing the same name again is
    harmless, because the name determines the content."""
    made = pa.BufferOutputStream()
    pq.write_table(table, made, compression="zstd", write_page_checksum=True)
    raw = made.getvalue()
    if is_remote(lake):
        system, name = _opened(f"{lake}/{path}")
        with system.open_output_stream(name) as target:
            target.write(raw)
        return int(raw.size)
    write_below(Path(lake), path, raw, is_private=False)
    return int(raw.size)
