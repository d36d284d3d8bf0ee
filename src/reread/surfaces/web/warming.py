"""What the first page would wait for, done while nobody does: templates, parsers, decoders, what opens the safe."""

from __future__ import annotations

from importlib import resources

from reread.loading import load
from reread.render.html.code import coloured
from reread.render.html.session import page_of

from . import pages
from .library import Library, link_name

_ROUNDS = 2
"""So often the samples are read: the decoder of all lines is made only once some hundred lines have come."""


_SMALL = 200_000
"""Bytes of a session that is worth reading for this alone."""


def warm_up(library: Library) -> None:
    made = pages.environment()
    for name in made.list_templates(extensions=["html"]):
        made.get_template(name)
    with resources.as_file(resources.files("reread").joinpath("samples")) as samples:
        paths = [path for path in samples.rglob("*.jsonl") if not path.name.startswith("agent-")]
        for path in paths * _ROUNDS:
            session = load(path)
        page_of(session)
    coloured("pass", path="code.py")
    smallest = min((each.stored for each in library.sessions()), key=lambda stored: stored.row.bytes, default=None)
    if smallest is not None and smallest.row.bytes < _SMALL:
        with library.session(link_name(smallest)) as held:
            page_of(held.session)
