"""An exchange folder that its owner cannot read: every file is encrypted with a key that only your machines have.

The plain folder is kept in the archive. Each of its files has a counterpart here, `NAME.sealed`: a nonce and the
content encrypted with ChaCha20-Poly1305 (from `cryptography`, extra `reread[encrypt]`), bound to its machine and name.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Set
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from reread import lazy
from reread.errors import BadInput, RereadError, printable
from reread.foreign_files import is_link, open_regular, read_regular
from reread.home import make_private, sync_file, sync_folder, write_durably

if TYPE_CHECKING:
    from cryptography import exceptions
    from cryptography.hazmat.primitives.ciphers import aead
else:
    lazy.bind(globals())

SUFFIX = ".sealed"
_KNOWN = "sealed.json"
_NONCE, _TAG, _KEY = 12, 16, 32
_LARGEST = 128 << 20
"""No file of a shared folder is larger: a pack has half of that."""
_MACHINE = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_PLAIN = re.compile(r"(\d+\.pack|journal\.json)(\.part)?")
"""Files of an unencrypted exchange folder, as opposed to sealed files and to those of the tool that syncs the
folder."""
_KEY_LINE = re.compile(r"reread-key-1 ([0-9a-f]{64})\s*")


class Unsealed(NamedTuple):
    """The result of opening a sealed folder."""

    bytes_read: int
    problems: list[str]


def make_key(path: Path) -> None:
    """Writes a new key to a file that only its owner can read; raises RereadError if the file exists or cannot be
    written."""
    key = os.urandom(_KEY)
    _cipher(key)
    try:
        number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(number, "w", encoding="ascii", newline="\n") as file:  # noqa: PTH123  a descriptor, no path
            file.write(f"reread-key-1 {key.hex()}\n")
            file.flush()
            sync_file(number)  # the key must be on the disk before anything is sealed with it
        sync_folder(path.parent)
    except OSError as error:
        raise RereadError(f"{printable(str(path))}: the key cannot be written ({error.strerror or error})") from error


def _cipher(key: bytes) -> aead.ChaCha20Poly1305:
    try:
        return aead.ChaCha20Poly1305(key)
    except ImportError as error:
        raise BadInput("encryption needs cryptography: `pip install 'reread[encrypt]'`") from error


class SealedFolder:
    """An encrypted folder that machines share, and its key."""

    def __init__(self, folder: Path, key_file: Path) -> None:
        self.folder = folder
        try:
            found = _KEY_LINE.fullmatch(key_file.read_text("ascii"))
        except (OSError, ValueError) as error:
            raise BadInput(f"{printable(str(key_file))}: cannot be read as a key") from error
        if found is None:
            raise BadInput(f"{printable(str(key_file))} is no key of `reread push --encrypt`")
        self._cipher = _cipher(bytes.fromhex(found[1]))

    def seal(self, plain: Path, *, is_full: bool = False) -> int:
        """Brings one machine's part up to date with its plain files; gives how many bytes were written. With `is_full`
        it compares contents instead of relying on what was noted. Raises BadInput if the folder has unencrypted
        files."""
        own = self.folder / plain.name
        if is_link(own):
            raise BadInput(f"{printable(str(own))} is a link, which reread did not make; remove it")
        if own.is_dir() and any(_PLAIN.fullmatch(each.name) for each in own.iterdir()):
            raise BadInput(f"{printable(str(self.folder))} has your sessions unencrypted; choose another folder")
        size, known = 0, _known(plain.parent)
        try:
            make_private(own)
            names = sorted(each.name for each in plain.iterdir() if each.is_file() and not each.name.endswith(".part"))
            for name in names:
                size += self._seal_file(plain / name, own / f"{name}{SUFFIX}", known, is_full=is_full)
            for left in own.iterdir():
                if _is_ours(left.name) and left.name.removesuffix(SUFFIX) not in names:
                    left.unlink()
            sync_folder(own)
            write_durably(plain.parent / _KNOWN, json.dumps(known))
        except OSError as error:
            raise RereadError(f"{printable(str(own))}: cannot be written ({error.strerror or error})") from error
        return size

    def _seal_file(self, plain: Path, sealed: Path, known: dict[str, str], *, is_full: bool) -> int:
        """Seals one file and gives how many bytes that is: 0 if it is already there, as noted when it was sealed or as
        its content shows."""
        status = plain.stat()
        state = f"{status.st_size} {status.st_mtime_ns}"
        name = _bound(sealed).decode()
        if _size(sealed) == status.st_size + _NONCE + _TAG:
            if known.get(name) == f"{_nonce(sealed)} {state}" and not is_full:
                return 0
            if self._open_file(sealed) == plain.read_bytes():
                known[name] = f"{_nonce(sealed)} {state}"
                return 0
        content, nonce = plain.read_bytes(), os.urandom(_NONCE)
        known[name] = f"{nonce.hex()} {state}"
        made = nonce + self._cipher.encrypt(nonce, content, _bound(sealed))
        part = sealed.with_name(f"{sealed.name}.part")
        part.unlink(missing_ok=True)
        with part.open("xb") as file:
            file.write(made)
            file.flush()
            sync_file(file.fileno())
        part.replace(sealed)
        return len(made)

    def open(self, plain: Path, without: Set[str]) -> Unsealed:
        """Brings the plain folder up to date with what other machines sealed; incomplete files come with a later
        pull."""
        size, problems, known = 0, [], _known(plain)
        for theirs in sorted(self.folder.iterdir()):
            if not _MACHINE.fullmatch(theirs.name) or theirs.name in without or is_link(theirs):
                continue
            own = plain / theirs.name
            make_private(own)
            try:
                found = [each.name.removesuffix(SUFFIX) for each in theirs.iterdir() if each.name.endswith(SUFFIX)]
                names = set(filter(_PLAIN.fullmatch, found))
            except OSError as error:
                problems.append(_unreadable(theirs, error))
                continue
            for name in sorted(names):
                size += self._unseal(theirs / f"{name}{SUFFIX}", own / name, known, problems)
            for left in own.iterdir():
                if names and left.name not in names:
                    left.unlink()
        write_durably(plain / _KNOWN, json.dumps(known))
        return Unsealed(size, problems)

    def _unseal(self, sealed: Path, target: Path, known: dict[str, str], problems: list[str]) -> int:
        """Writes the plain file of a sealed one and gives its size; 0 if it is there already or cannot be opened."""
        try:
            nonce = _nonce(sealed)
            if target.exists() and known.get(_bound(sealed).decode()) == nonce:
                return 0
            content = self._open_file(sealed)
        except OSError as error:  # not synced here yet, or removed in the meantime
            problems.append(_unreadable(sealed, error))
            return 0
        if content is None:
            problems.append(f"{printable(str(sealed))} is not whole yet, or was sealed with another key")
            return 0
        part = target.with_name(f"{target.name}.part")
        part.write_bytes(content)
        part.replace(target)
        known[_bound(sealed).decode()] = nonce
        return len(content)

    def _open_file(self, sealed: Path) -> bytes | None:
        """The content; None if the file is incomplete or was sealed with another key."""
        raw = read_regular(sealed, _LARGEST)
        try:
            return self._cipher.decrypt(raw[:_NONCE], raw[_NONCE:], _bound(sealed))
        except (exceptions.InvalidTag, ValueError):
            return None


def _unreadable(path: Path, error: OSError) -> str:
    return f"{printable(str(path))}: cannot be read ({error.strerror or error}); it comes with a later pull"


def _known(plain: Path) -> dict[str, str]:
    """The nonce of what was last sealed or opened, by machine and name: the same name may later have other content."""
    try:
        document = json.loads((plain / _KNOWN).read_bytes())
        return {name: nonce for name, nonce in document.items() if isinstance(nonce, str)}
    except (OSError, ValueError, AttributeError, RecursionError):
        return {}


def _nonce(sealed: Path) -> str:
    with open_regular(sealed, _LARGEST) as file:
        return (file.read(_NONCE) or b"").hex()


def _size(path: Path) -> int:
    """The size of a regular file, -1 if there is none."""
    try:
        with open_regular(path, _LARGEST) as file:
            return os.fstat(file.fileno()).st_size
    except OSError:
        return -1


def _bound(sealed: Path) -> bytes:
    return f"{sealed.parent.name}/{sealed.name}".encode()


def _is_ours(name: str) -> bool:
    return name.endswith((SUFFIX, f"{SUFFIX}.part"))
