"""Which model a raw id means: providers and gateways put much around a name."""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import Struct

_REGION = re.compile(r"^(?:(us-gov|us|eu|jp|au|apac|global)\.)?anthropic\.")
_STEPS = (
    re.compile(r"\[[^\]]*\]$"),
    re.compile(r"^.*/"),
    _REGION,
    re.compile(r"@.*$"),
    re.compile(r":\d+$"),
    re.compile(r"-v\d+$"),
    re.compile(r"-\d{8}$"),
)
"""What is taken off a name, one after the other, until the name is known."""


class Model(Struct, frozen=True):
    """A model of the table and the provider's region, where the raw id named one."""

    name: str
    region: str | None = None
    called: str = ""
    """The id or alias it was found by."""


def find_model(raw: str | None, names: Mapping[str, str]) -> Model | None:
    """The model a raw id means by a table of ids and aliases; None when it is in there by no name."""
    name, region = (raw or "").lower(), None
    if name in names:
        return Model(names[name], None, name)
    for step in _STEPS:
        if step is _REGION and (match := step.match(name)) is not None:
            region = match[1]
        name = step.sub("", name)
        if name in names:
            return Model(names[name], region, name)
    return None
