"""What this machine knows of the others, and the key with which each signs its journal.

As with ssh, the key of another machine is believed when it is first seen, shown by its short code, and compared from
then on. Signing needs `cryptography` (extra `reread[encrypt]`); without it nothing is signed and nothing is proved.
"""

from __future__ import annotations

import json
import os
import re
from enum import StrEnum
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from reread import lazy
from reread.foreign_files import read_regular
from reread.home import sync_file, sync_folder, write_durably
from reread.index.machine_file import KNOWN

if TYPE_CHECKING:
    from cryptography import exceptions
    from cryptography.hazmat.primitives.asymmetric import ed25519
else:
    lazy.bind(globals())

_OWN_KEY = "machine.key"
_LINE = re.compile(rb"([0-9a-f]{64}) ([0-9a-f]{128})")
_PURPOSE = b"reread journal 1\n"


class Proof(StrEnum):
    """Whose a journal is, as far as this machine can tell."""

    UNSIGNED = "unsigned"
    """It is not signed, or cannot be checked here."""
    NEW = "new"
    """Signed with a key that is seen for the first time."""
    KNOWN = "known"
    STRANGE = "strange"
    """Signed with another key than before, wrongly, or not any more."""


class Proved(NamedTuple):
    proof: Proof
    key: str = ""

    @property
    def code(self) -> str:
        return code_of(self.key)


def code_of(key: str) -> str:
    """The short code of a key, for people to compare."""
    digest = sha256(bytes.fromhex(key)).hexdigest()
    return "-".join(digest[at : at + 4] for at in range(0, 16, 4))


def signed(home: Path, machine: str, text: bytes) -> bytes:
    """The line that signs a journal; empty without `cryptography`. The first one makes this machine's key."""
    try:
        secret = _secret(home) or _new_secret(home)
        key = ed25519.Ed25519PrivateKey.from_private_bytes(secret)
    except ImportError:
        return b""
    return f"{key.public_key().public_bytes_raw().hex()} {key.sign(_message(machine, text)).hex()}".encode()


def own_code(home: Path) -> str | None:
    """The short code of this machine's key, if it has one."""
    try:
        secret = _secret(home)
        if secret is None:
            return None
        return code_of(ed25519.Ed25519PrivateKey.from_private_bytes(secret).public_key().public_bytes_raw().hex())
    except ImportError:
        return None


def _secret(home: Path) -> bytes | None:
    try:
        found = bytes.fromhex(read_regular(home / _OWN_KEY, 1024).decode("ascii"))
    except (OSError, ValueError):
        return None
    return found if len(found) == 32 else None


def _new_secret(home: Path) -> bytes:
    secret = ed25519.Ed25519PrivateKey.generate().private_bytes_raw()
    (home / _OWN_KEY).unlink(missing_ok=True)  # damaged
    number = os.open(home / _OWN_KEY, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(number, "w", encoding="ascii") as file:  # noqa: PTH123  a descriptor, no path
        file.write(secret.hex())
        file.flush()
        sync_file(number)
    sync_folder(home)
    return secret


def _message(machine: str, text: bytes) -> bytes:
    return b"%s%s\n%s" % (_PURPOSE, machine.encode(), text)


class KnownMachines:
    """The keys of other machines, which of them were thrown out, and which sessions stay though others forgot them."""

    def __init__(self, home: Path) -> None:
        self._path = home / KNOWN
        found = _document(self._path)
        self._keys = {name: key for name, key in found["keys"].items() if isinstance(key, str)}
        self.thrown_out = {name: label for name, label in found["thrown_out"].items() if isinstance(label, str)}
        """The labels of machines whose pieces are no longer taken, by id."""
        self.kept = {each for each in found["kept"] if isinstance(each, str)}
        """Marks of sessions that the person chose to keep when another machine had forgotten them."""

    def prove(self, machine: str, text: bytes, line: bytes) -> Proved:
        """Whose a journal is, by the line that signs it."""
        known, match = self._keys.get(machine), _LINE.fullmatch(line)
        try:
            ed25519.Ed25519PublicKey  # noqa: B018  asks whether it is installed
        except ImportError:
            return Proved(Proof.UNSIGNED)
        if match is None:
            return Proved(Proof.UNSIGNED if known is None and not line else Proof.STRANGE)
        key = match[1].decode()
        try:
            ed25519.Ed25519PublicKey.from_public_bytes(bytes.fromhex(key)).verify(
                bytes.fromhex(match[2].decode()), _message(machine, text)
            )
        except (exceptions.InvalidSignature, ValueError):
            return Proved(Proof.STRANGE)
        if known is None:
            return Proved(Proof.NEW, key)
        return Proved(Proof.KNOWN if key == known else Proof.STRANGE, key)

    def learn(self, machine: str, key: str) -> None:
        self._keys[machine] = key

    def trust_again(self, machine: str) -> None:
        """The next key of this machine is believed, and what it has pushed is taken again."""
        self._keys.pop(machine, None)
        self.thrown_out.pop(machine, None)

    def save(self) -> None:
        document = {"keys": self._keys, "thrown_out": self.thrown_out, "kept": sorted(self.kept)}
        text = json.dumps(document, indent=1)
        if not self._path.exists() or self._path.read_text("ascii") != text:
            write_durably(self._path, text)


def _document(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        found = None
    known = found if isinstance(found, dict) else {}
    kinds = {"keys": dict, "thrown_out": dict, "kept": list}
    return {name: value if isinstance(value := known.get(name), kind) else kind() for name, kind in kinds.items()}


def thrown_out(home: Path) -> set[str]:
    """The ids of the machines whose pieces are no longer taken."""
    return set(KnownMachines(home).thrown_out)
