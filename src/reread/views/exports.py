"""What every surface that hands out sessions looks for before it does: secrets that are still in the text."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from reread.features.secrets import Redactor
from reread.features.secrets.json_values import whole_value
from reread.features.secrets.redact import left_in_value

_IMAGES = re.compile(r"data:image/[a-z]+;base64,[A-Za-z0-9+/=]*")
_COLOURS = re.compile(r"</?span[^>]*>")
_TAGS = re.compile(r"<[^>]*>")


def left_in_export(redactor: Redactor, text: str, form: str) -> Counter[str]:
    """Looks at an export as a reader does: colours of code split what belongs together."""
    left: Counter[str] = Counter()
    for value in _readable(text, form):
        left += left_in_value(redactor, value)
    return left


def _readable(text: str, form: str) -> Iterator[Any]:
    if form == "html":
        shown = _IMAGES.sub("", text)
        yield html.unescape(_TAGS.sub("\n", _COLOURS.sub("", shown)))
    elif form == "json":
        yield whole_value(text.encode()).everything
    elif form == "jsonl":
        for line in text.split("\n"):
            yield whole_value(line.encode()).everything
    else:
        yield text
