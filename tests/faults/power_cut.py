"""What a disk may hold after the power was cut: system calls of a command, recorded, and replayed up to a cut.

Data that was not synced survives at random, in any order, torn at sectors of 512 bytes. Names survive up to the last
sync of their folder, and of those after it the first few. By the letter of POSIX a sync of a file says nothing about
its name; `ext4` makes the name of a new file durable with it, and what changed before in its folder: a journal keeps
its order. Needs strace.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

__all__ = ["MODES", "Call", "files_in", "record", "survivors", "why_not_here", "write_files"]

SECTOR = 512
MODES = ("posix", "ext4")
Files = dict[bytes, bytes]
"""Content by the name below the folder that is looked at."""

_TRACED = (
    "openat,write,writev,pwrite64,pwritev,fsync,fdatasync,rename,renameat,renameat2,unlink,unlinkat,truncate,ftruncate,"
    "fallocate,copy_file_range,sendfile,link,linkat,symlinkat"
)
_HEX = r'"((?:\\x[0-9a-f]{2})*)"'
_CALL = re.compile(r"^(\d+)\s+(\w+)\((.*)$")
_RESUMED = re.compile(r"^(\d+)\s+<\.\.\. (\w+) resumed>(.*)$")
_RESULT = re.compile(r"\)\s+=\s+(-?\d+)(.*)$")
_OPENED = re.compile(rf"^[^,]*, {_HEX}, ([A-Z_|0-9]+)")
_NAME_OF_FD = re.compile(r"^\s*<((?:\\x[0-9a-f]{2})+)>")
_FD = re.compile(r"^(\d+)<((?:\\x[0-9a-f]{2})+)>(\(deleted\))?")
_DATA = re.compile(rf"^[^,]*, {_HEX}(\.\.\.)?, (\d+)(?:, (\d+))?$")
_NOT_UNDERSTOOD = {"writev", "pwritev", "truncate", "fallocate", "copy_file_range", "sendfile", "link", "linkat"}


class Call(NamedTuple):
    """One that changed something below the folder, or made it durable."""

    kind: str
    """create, write, append, cut, sync, rename or unlink."""
    name: bytes
    data: bytes = b""
    at: int = 0
    to: bytes = b""


def why_not_here() -> str | None:
    """Why system calls cannot be recorded on this machine; None where they can."""
    if shutil.which("strace") is None:
        return "there is no strace to record system calls with"
    tried = subprocess.run(["strace", "-f", "-e", "trace=openat", "true"], capture_output=True, check=False)
    return None if tried.returncode == 0 else "strace may not trace here"


def record(command: Sequence[str], folder: Path, log: Path, environ: Mapping[str, str] | None = None) -> list[Call]:
    """Runs a command to its end and gives what it did below a folder."""
    traced = ["strace", "-f", "-y", "-xx", "-s", "100000000", "-e", f"trace={_TRACED}", "-o", str(log)]
    done = subprocess.run([*traced, *command], capture_output=True, check=False, env=environ, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stderr.decode()
    calls = list(_calls(_lines(log), os.fsencode(folder.resolve())))
    log.unlink()
    return calls


def _lines(log: Path) -> Iterable[tuple[str, str]]:
    """Name and rest of every call, put together where another came between."""
    pending: dict[str, str] = {}
    with log.open(encoding="ascii", errors="replace") as lines:
        for line in lines:
            text = line.rstrip("\n")
            if resumed := _RESUMED.match(text):
                text = pending.pop(resumed[1]) + resumed[3]
            elif text.endswith("<unfinished ...>"):
                pending[text.split()[0]] = text.removesuffix("<unfinished ...>")
                continue
            if call := _CALL.match(text):
                yield call[2], call[3]


def _calls(lines: Iterable[tuple[str, str]], folder: bytes) -> Iterable[Call]:
    for name, rest in lines:
        result = _RESULT.search(rest)
        if result is None or int(result[1]) < 0:
            continue
        arguments = rest[: result.start()].rstrip()
        if name == "openat":
            yield from _opened(arguments, result[2], folder)
        elif name in ("rename", "renameat", "renameat2", "unlink", "unlinkat"):
            paths = [_unhex(path) for path in re.findall(_HEX, arguments)]
            if any(_is_below(path, folder) for path in paths) and "AT_REMOVEDIR" not in arguments:
                kind = "rename" if name.startswith("rename") else "unlink"
                yield Call(kind, paths[0], to=paths[-1])
        else:
            yield from _on_a_file(name, arguments, int(result[1]), folder)


def _opened(arguments: str, result: str, folder: bytes) -> Iterable[Call]:
    given, named = _OPENED.match(arguments), _NAME_OF_FD.match(result)
    if given is None or named is None or not _is_below(path := _unhex(named[1]), folder):
        return
    if "O_CREAT" in given[2]:
        yield Call("create", path)
    if "O_TRUNC" in given[2]:
        yield Call("cut", path, at=0)


def _on_a_file(name: str, arguments: str, result: int, folder: bytes) -> Iterable[Call]:
    given = _FD.match(arguments)
    if given is None or given[3] or not _is_below(path := _unhex(given[2]), folder):
        return
    assert name not in _NOT_UNDERSTOOD, f"{name} on {path!r}: teach this module what it does"
    if name in ("fsync", "fdatasync"):
        yield Call("sync", path)
    elif name == "ftruncate":
        yield Call("cut", path, at=int(arguments.rsplit(",", 1)[1]))
    else:
        data = _DATA.match(arguments)
        assert data is not None and not data[2], arguments[:200]
        written = _unhex(data[1])[:result]
        # Whoever writes without saying where, here, writes at the end: packs, captures and files made anew.
        yield Call("append", path, written) if name == "write" else Call("write", path, written, int(data[4]))


def _unhex(text: str) -> bytes:
    return bytes.fromhex(text.replace("\\x", ""))


def _is_below(path: bytes, folder: bytes) -> bool:
    return path == folder or path.startswith(folder + b"/")


def files_in(folder: Path) -> Files:
    return {os.fsencode(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def write_files(files: Files, folder: Path) -> None:
    folder.mkdir(mode=0o700, parents=True)
    for name, content in files.items():
        path = folder / os.fsdecode(name)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.write_bytes(content)


class _Write(NamedTuple):
    at: int
    data: bytes | None
    """None for a cut."""


class _File:
    """What the disk has, and what waits to get there."""

    def __init__(self, content: bytes = b"") -> None:
        self.durable = bytearray(content)
        self.size = len(content)
        self.waiting: list[_Write] = []

    def add(self, write: _Write) -> None:
        self.waiting.append(write)
        self.size = write.at if write.data is None else max(self.size, write.at + len(write.data))

    def sync(self) -> None:
        for write in self.waiting:
            _apply(self.durable, write)
        self.waiting.clear()

    def after(self, chance: Random, share: float) -> bytes:
        content = bytearray(self.durable)
        for write in self.waiting:
            if chance.random() < share:
                for part in _torn(write, chance):
                    _apply(content, part)
        return bytes(content)


def _apply(content: bytearray, write: _Write) -> None:
    if len(content) < write.at:
        content.extend(bytes(write.at - len(content)))
    if write.data is None:
        del content[write.at :]
    else:
        content[write.at : write.at + len(write.data)] = write.data


def _torn(write: _Write, chance: Random) -> list[_Write]:
    """As it is, mostly; else its first sectors, or some of them."""
    if write.data is None or len(write.data) <= SECTOR or chance.random() < 0.7:
        return [write]
    starts = list(range(0, len(write.data), SECTOR))
    chosen = (
        starts[: chance.randrange(len(starts))] if chance.random() < 0.5 else chance.sample(starts, len(starts) // 2)
    )
    return [_Write(write.at + start, write.data[start : start + SECTOR]) for start in sorted(chosen)]


class _Naming(NamedTuple):
    folder: bytes
    name: bytes
    file: _File | None
    """None where the name goes."""
    was: bytes = b""
    """The name that it had before."""


def _named(names: dict[bytes, _File], change: _Naming) -> None:
    if change.was:
        names.pop(change.was, None)
    if change.file is None:
        names.pop(change.name, None)
    else:
        names[change.name] = change.file


class _Disk:
    def __init__(self, before: Files, folder: bytes, mode: str) -> None:
        self.folder, self.mode = folder, mode
        self.names = {folder + b"/" + name: _File(content) for name, content in before.items()}
        self.durable_names = dict(self.names)
        self.renamings: list[_Naming] = []

    def do(self, call: Call) -> None:
        file = self.names.get(call.name)
        if call.kind == "create" and file is None:
            self._rename(_Naming(os.path.dirname(call.name), call.name, _File()))  # noqa: PTH120  bytes
        elif call.kind == "sync":
            self._sync(call.name, file)
        elif file is not None and call.kind == "rename":
            self._rename(_Naming(os.path.dirname(call.to), call.to, file, was=call.name))  # noqa: PTH120
        elif file is not None and call.kind == "unlink":
            self._rename(_Naming(os.path.dirname(call.name), call.name, None))  # noqa: PTH120
        elif file is not None and call.kind in ("write", "append", "cut"):
            at = file.size if call.kind == "append" else call.at
            file.add(_Write(at, None if call.kind == "cut" else call.data))

    def _rename(self, change: _Naming) -> None:
        _named(self.names, change)
        self.renamings.append(change)

    def _sync(self, name: bytes, file: _File | None) -> None:
        if file is not None:
            file.sync()
        count, folder = len(self.renamings), name
        if self.mode == "ext4" and file is not None:
            made = [at for at, each in enumerate(self.renamings, 1) if each.file is file and not each.was]
            count, folder = max(made, default=0), os.path.dirname(name)  # noqa: PTH120  bytes
        for change in self.renamings[:count]:
            if change.folder == folder:
                _named(self.durable_names, change)
        later = self.renamings[count:]
        self.renamings = [each for each in self.renamings[:count] if each.folder != folder] + later

    def after(self, chance: Random) -> Files:
        """One of the states that it may be found in."""
        count = chance.choice([0, len(self.renamings), chance.randint(0, len(self.renamings))])
        names = dict(self.durable_names)
        for change in self.renamings[:count]:
            _named(names, change)
        share = chance.choice([0, 0, 0.3, 0.7, 0.95, 1])
        return {
            name.removeprefix(self.folder + b"/"): file.after(chance, share)
            for name, file in names.items()
            if not name.endswith(b"-shm")  # shared memory: whoever opens the database first makes it anew
        }


def survivors(calls: Sequence[Call], cut: int, chance: Random, before: Files, folder: Path, mode: str) -> Files:
    """What is found after a cut behind so many calls."""
    disk = _Disk(before, os.fsencode(folder.resolve()), mode)
    for call in calls[:cut]:
        disk.do(call)
    return disk.after(chance)
