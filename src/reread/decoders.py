"""Makes decoders, one at a time.

msgspec (0.20) fills in what it knows of a struct step by step and runs Python code in between. A second thread that
makes a decoder with the same struct then uses it half done, and the process crashes at the first line.
"""

from __future__ import annotations

from _thread import RLock  # that of `threading`, without importing the rest
from typing import Any, TypeVar, overload

import msgspec

Kind = TypeVar("Kind")

_LEARNING = RLock()
"""Held while msgspec learns a type; decoding with a finished decoder needs no lock."""


@overload
def json_decoder(kind: type[Kind]) -> msgspec.json.Decoder[Kind]: ...
@overload
def json_decoder(kind: Any) -> msgspec.json.Decoder[Any]: ...
def json_decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    with _LEARNING:
        return msgspec.json.Decoder(kind)


def msgpack_decoder(kind: type[Kind]) -> msgspec.msgpack.Decoder[Kind]:
    with _LEARNING:
        return msgspec.msgpack.Decoder(kind)
