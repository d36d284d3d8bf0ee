"""Sessions to files: every form of an export, and what is taken out of it before and looked for in it after."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

from reread.analyses.secrets import Redactor, placeholders, redacted_line, redacted_session
from reread.analyses.secrets.structures import learn_line, redacted_value
from reread.errors import BadInput, printable
from reread.render.exports import left_in_export
from reread.sessions import Session

from . import options

if TYPE_CHECKING:
    from reread.config import Config
    from reread.render.values import Document


class Source(NamedTuple):
    """A session, its own file, and what the archive knows of it."""

    session: Session
    transcript: Callable[[], bytes]
    kept: Document | None = None


class Told(NamedTuple):
    """What a person is told of an export."""

    session: str
    size: int
    taken: Counter[str]
    """What was taken out, by kind: how often."""
    distinct: Counter[str]
    """How many different ones."""
    left: Counter[str]
    """What is secret and still there; empty where nobody asked."""
    has_images: bool


class Export(NamedTuple):
    """A session in the form that was asked for."""

    session: Session
    content: bytes
    told: Told


class Exporter:
    """Makes exports as the options say."""

    def __init__(self, given: argparse.Namespace, config: Config) -> None:
        self.given = given
        self.config = config
        self.form: str = given.format
        if self.form == "jsonl" and not (given.thinking and given.tools and given.subagents):
            raise BadInput("jsonl is the transcript line for line; --no-thinking and the like need another --format")

    @property
    def suffix(self) -> str:
        return SUFFIXES[self.form]

    def export(self, source: Source) -> Export:
        """One session. Without `--redact` and `--check` nothing is looked for."""
        if not (self.given.redact or self.given.check):
            return _export(source.session, self._content(source))
        redactor = Redactor(addresses=self.given.redact_ips)
        clean = self._redacted(source, redactor)
        content = self._content(clean if self.given.redact else source)
        text = content.decode("utf-8", "replace")
        taken, distinct = placeholders(text) if self.given.redact else (Counter[str](), Counter[str]())
        left = left_in_export(redactor, text, self.form)
        return _export(clean.session if self.given.redact else source.session, content, taken, distinct, left)

    def _redacted(self, source: Source, redactor: Redactor) -> Source:
        """All of it, whether shown or not: what one part tells may be a secret of another."""
        lines = source.transcript().split(b"\n") if self.form == "jsonl" else []
        for line in lines:
            learn_line(redactor, line)
        session = redacted_session(source.session, redactor)
        kept = redacted_value(redactor, source.kept) if source.kept is not None else None
        return Source(session, lambda: b"\n".join(redacted_line(redactor, line) for line in lines), kept)

    def _content(self, source: Source) -> bytes:
        return _FORMS[self.form](self, source)

    def html(self, source: Source) -> bytes:
        from reread.render.html.page import MADE, session_page
        from reread.render.html.parts import Sections

        given = self.given
        shown = Sections(given.thinking, given.tools, given.subagents, raw=given.raw)
        made = f"{MADE} Secrets were taken out." if given.redact else MADE
        return session_page(source.session, shown, made).encode("utf-8", "replace")

    def markdown(self, source: Source) -> bytes:
        from reread.render.markdown import Wanted, markdown_lines

        wanted = Wanted(self.given.thinking, self.given.tools, self.given.subagents)
        return _joined(markdown_lines(source.session, wanted))

    def obsidian(self, source: Source) -> bytes:
        from reread.analyses.summaries import summary_of
        from reread.render.markdown import Wanted, obsidian_lines

        wanted = Wanted(self.given.thinking, self.given.tools, self.given.subagents)
        view = options.make_view(self.config)
        return _joined(obsidian_lines(source.session, summary_of(source.session), wanted, view))

    def json(self, source: Source) -> bytes:
        import msgspec

        from reread.render.documents import session_document
        from reread.render.values import encoded

        document = session_document(source.session, source.session.branches, None, source.kept)
        document["turns"] = [self._turn(turn) for turn in document["turns"]]
        return msgspec.json.format(encoded(document), indent=2) + b"\n"

    def _turn(self, turn: Document) -> Document:
        """A turn with the sections that were asked for."""
        left_out = {
            *(() if self.given.thinking else ("thinking",)),
            *(() if self.given.tools else ("tool", "agent")),
            *(() if self.given.subagents else ("agent",)),
        }
        if not left_out:
            return turn
        steps = [step for step in turn["steps"] if step["kind"] not in left_out]
        for step in steps:
            if step["kind"] == "agent":
                step["turns"] = [self._turn(each) for each in step["turns"]]
        return {**turn, "steps": steps}

    def jsonl(self, source: Source) -> bytes:
        raw = source.transcript()
        if not raw:
            raise BadInput(f"session {printable(source.session.id)} has no transcript of its own; try --format json")
        return raw


def _export(session: Session, content: bytes, *counts: Counter[str]) -> Export:
    taken, distinct, left = counts or (Counter[str](), Counter[str](), Counter[str]())
    has_images = b"data:image/" in content or b'"media_type"' in content
    return Export(session, content, Told(session.id, len(content), taken, distinct, left, has_images))


_FORMS: dict[str, Callable[[Exporter, Source], bytes]] = {
    "html": Exporter.html,
    "markdown": Exporter.markdown,
    "obsidian": Exporter.obsidian,
    "json": Exporter.json,
    "jsonl": Exporter.jsonl,
}
SUFFIXES = {"html": ".html", "markdown": ".md", "obsidian": ".md", "json": ".json", "jsonl": ".jsonl"}
FORMATS = tuple(_FORMS)


def _joined(lines: Iterable[str]) -> bytes:
    return ("\n".join(lines) + "\n").encode("utf-8", "replace")


def told(counts: Counter[str], distinct: Counter[str] | None = None) -> str:
    """`3 of GitHub token (1 different), 12 of user`."""
    parts = []
    for kind, number in sorted(counts.items(), key=lambda each: (-each[1], each[0])):
        different = f" ({distinct[kind]} different)" if distinct and distinct[kind] else ""
        parts.append(f"{kind} {number:,}×{different}")
    return ", ".join(parts)
