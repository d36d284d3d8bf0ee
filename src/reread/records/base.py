"""What all lines have in common, and `Unknown`, the record for a line that no type describes.

The client guarantees no field, so every field may be None; null and a missing field read the same.
"""

import re
from datetime import datetime
from functools import lru_cache
from typing import Annotated, Any

from msgspec import Meta, Struct, field

from reread import lazy

from .json_parts import object_of
from .lenient import OURS, UNKNOWN_TAG, Timestamp, parse_or_none, parse_time

Number = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)] | float
"""A longer one would overflow wherever it is divided; it is set aside like a value of a wrong type."""
LONGEST_LINE = 64 << 20
"""Bytes of a line that is read. The API takes requests of 32 MB, and a line may hold the same content twice."""
SMALL_LINE = 4 << 20
"""Bytes of a line that is read whatever it holds."""
MOST_VALUES = 500_000
"""Values of a larger line that is read: each takes up to 300 bytes, and a hostile line may have nothing else."""
SPREAD = "message stored as single characters"
"""The flaw of a reply whose characters were joined again."""
_STRING = lazy.pattern(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_SHOWN = 60


def is_too_large(raw: bytes) -> bool:
    """Whether the values of a line could take any amount of memory, so that it is kept and not read."""
    if len(raw) <= SMALL_LINE or len(raw) > LONGEST_LINE:
        return len(raw) > SMALL_LINE
    return raw.count(b",") > MOST_VALUES and _STRING.sub(b"", raw).count(b",") > MOST_VALUES


@lru_cache(maxsize=256)
def version_numbers(version: str | None) -> tuple[int, ...] | None:
    """The numbers of a client's version; None if it is not a version. Cached: many lines share few versions."""
    numbers = (version or "").split("-")[0].split(".")
    return tuple(map(int, numbers)) if all(number.isdecimal() for number in numbers) else None


class ForkedFrom(Struct, frozen=True, gc=False, rename="camel"):
    """The line that a line of an SDK fork, with its new uuids, was copied from."""

    session_id: str | None = None


class Record(Struct, frozen=True, kw_only=True, gc=False, tag_field="type", rename="camel"):
    """One line of a transcript or one frame of a stream; camelCase and snake_case read the same."""

    uuid: str | None = None
    """Opaque: usually a UUID, but `request_<uuid>` and hand-made ids occur."""
    parent_uuid: str | None = None
    session_id: str | None = None
    timestamp: Timestamp = None
    is_sidechain: bool | None = None
    is_meta: bool | None = None
    agent_id: str | None = None
    cwd: str | None = None
    version: str | None = None
    git_branch: str | None = None
    user_type: str | None = None
    entrypoint: str | None = None
    slug: str | None = None
    team_name: str | None = None
    agent_name: str | None = None
    session_kind: str | None = None
    prompt_id: str | None = None
    forked_from: ForkedFrom | None = None

    session_id_twin: str | None = field(default=None, name="session_id")
    """The stream's spelling; transcripts have it as well as `sessionId` since 2.1.199."""

    # Set by `decode` and `read`, never from the line.
    raw: bytes = field(default=b"", name=f"{OURS}raw")
    line: int = field(default=0, name=f"{OURS}line")
    offset: int = field(default=0, name=f"{OURS}offset")
    rest: bytes = field(default=b"", name=f"{OURS}rest")
    """What follows the first object on the same line (two writers at once): decode it too."""
    flaws: tuple[str, ...] = field(default=(), name=f"{OURS}flaws")
    """Fields whose value had an unexpected type and was set aside; `raw` still holds them."""
    is_frame: bool = field(default=False, name=f"{OURS}frame")
    """Whether the line has the stream's spelling."""

    def __repr__(self) -> str:
        """Short, because sixty fields would hide the few that matter; `data` has them all."""
        text = f" {shown!r}" if (shown := " ".join(self.text[:_SHOWN].split())) else ""
        return f"<{type(self).__name__} line {self.line}{text}>"

    @property
    def type(self) -> str | None:
        """The `type` as the line has it."""
        tag = self.__struct_config__.tag
        return tag if isinstance(tag, str) else None

    @property
    def time(self) -> datetime | None:
        return parse_time(self.timestamp)

    @property
    def text(self) -> str:
        """What a person would read in this line; empty for bookkeeping."""
        return ""

    @property
    def data(self) -> dict[str, Any]:
        """The whole line as plain values, including what no type describes; empty for a line that is too large."""
        return object_of(parse_or_none(self.raw)) if not is_too_large(self.raw) else {}


class Unknown(Record, tag=UNKNOWN_TAG, frozen=True):
    """A line no type describes: an object of an unknown `type`, bytes that are not a JSON object, or too many bytes.

    The common fields are read where there are any, so an unknown line keeps its place in the tree.
    """

    reason: str = ""
    type_name: str | None = None
    malformed: bool = False
    """True when the bytes are not a JSON object at all, or too many to be read as one."""

    def __repr__(self) -> str:
        return f"<Unknown line {self.line}: {self.reason}>"

    @property
    def type(self) -> str | None:
        return self.type_name

    @property
    def text(self) -> str:
        """The text of an object of unknown type, from the usual fields, so that search can find it."""
        found = (self.data.get(key) for key in ("content", "text", "summary", "message"))
        return next((value for value in found if isinstance(value, str)), "")
