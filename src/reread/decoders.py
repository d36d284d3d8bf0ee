"""Makes decoders, one at a time.

msgspec (0.20) fills in what it knows of a struct step by step and runs Python meanwhile: a second thread that makes a
decoder with the same struct in it takes it half done, and the process crashes at the first line.
"""

from __future__ import annotations

from _thread import RLock  # what `threading` gives out, without the rest of it
from typing import Any, TypeVar, overload

import msgspec

Kind = TypeVar("Kind")

_LEARNING = RLock()
"""Held while msgspec learns a type; decoding with a decoder that is made needs no lock."""


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
