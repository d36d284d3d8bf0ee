"""What may happen to the bytes of a file: each fault by its name, at a place that chance chooses."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

__all__ = ["FAULTS"]

BLOCK = 4096


def _flipped(content: bytes, chance: Random) -> bytes:
    harmed = bytearray(content)
    for _ in range(chance.choice([1, 1, 3])):
        harmed[chance.randrange(len(harmed))] ^= 1 << chance.randrange(8)
    return bytes(harmed)


def _zeroed(content: bytes, chance: Random) -> bytes:
    start = chance.randrange(-(-len(content) // BLOCK)) * BLOCK
    end = min(start + BLOCK, len(content))
    return content[:start] + bytes(end - start) + content[end:]


def _scribbled(content: bytes, chance: Random) -> bytes:
    start = chance.randrange(-(-len(content) // BLOCK)) * BLOCK
    end = min(start + BLOCK, len(content))
    return content[:start] + chance.randbytes(end - start) + content[end:]


def _cut(content: bytes, chance: Random) -> bytes:
    return content[: chance.randrange(len(content))]


def _shortened(content: bytes, chance: Random) -> bytes:
    start = chance.randrange(len(content))
    return content[:start] + content[start + chance.randrange(1, 3000) :]


def _lengthened(content: bytes, chance: Random) -> bytes:
    start = chance.randrange(len(content))
    return content[:start] + chance.randbytes(chance.randrange(1, 3000)) + content[start:]


def _emptied(_content: bytes, _chance: Random) -> bytes:
    return b""


FAULTS: dict[str, Callable[[bytes, Random], bytes]] = {
    "flipped": _flipped,
    "zeroed": _zeroed,
    "scribbled": _scribbled,
    "cut": _cut,
    "shortened": _shortened,
    "lengthened": _lengthened,
    "emptied": _emptied,
}
