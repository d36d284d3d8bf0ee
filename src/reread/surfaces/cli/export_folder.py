"""Many sessions as a folder, with a page that lists them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

from reread.errors import BadInput, printable
from reread.render.numbers import count, money
from reread.sessions import Session

from . import options
from .export import file_name, refuse_no_folder, source_in, tell_secrets, tell_written
from .exporting import Export, Exporter, Told
from .writing import write_whole

if TYPE_CHECKING:
    from reread.archive import Archive


class Made(NamedTuple):
    """A session that was exported, without its content: a project may hold gigabytes."""

    name: str
    told: Told
    title: str
    project: str
    started: datetime | None
    facts: list[str]
    failed: int


def export_folder(exporter: Exporter, output: Path | None) -> int:
    """Writes every session that passes the filters; one that would tell a secret stops the others, too."""
    folder = refuse_no_folder(output)
    wanted = options.make_filter(exporter.given, exporter.config)
    with _archive(exporter) as archive, TemporaryDirectory(prefix="reread-export-") as waiting:
        names = [each.stored.row.uuid for each in archive.sessions(wanted)]
        if not names:
            raise BadInput("no session passes these filters")
        made: list[Made] = []
        for name in names:
            made.append(_made(exporter.export(source_in(archive, name)), exporter, Path(waiting), made))
        if not tell_secrets([each.told for each in made], exporter.given):
            return 1
        _put(made, Path(waiting), folder, _index(made, exporter), exporter.suffix)
    tell_written([(folder / each.name, each.told) for each in made], exporter)
    return 0


def _made(export: Export, exporter: Exporter, waiting: Path, before: list[Made]) -> Made:
    name = file_name(export, exporter.suffix)
    if any(each.name == name for each in before):
        name = f"{len(before) + 1}-{name}"
    (waiting / name).write_bytes(export.content)
    session = export.session
    return Made(
        name=name,
        told=export.told,
        title=session.title,
        project=session.project or "",
        started=session.started,
        facts=_facts(session),
        failed=session.failed_calls,
    )


def _put(made: list[Made], waiting: Path, folder: Path, index: bytes | None, suffix: str) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"{printable(str(folder))} cannot be made: {error.strerror}") from error
    for each in made:
        write_whole(folder / each.name, (waiting / each.name).read_bytes())
    if index is not None:
        write_whole(folder / f"index{suffix}", index)


@contextmanager
def _archive(exporter: Exporter) -> Iterator[Archive]:
    """The archive; sources that it does not keep are only looked at."""
    from .opening import is_straight, open_archive, passing_archive

    config = exporter.config
    opened = passing_archive(config, config.sources) if is_straight(config) else open_archive(exporter.given, config)
    with opened as archive:
        yield archive


def _index(made: list[Made], exporter: Exporter) -> bytes | None:
    """The list, for forms that people read."""
    title = f"{exporter.given.project or 'All'} sessions"
    if exporter.form == "html":
        from reread.render.html.page import IndexRow, index_page

        rows = [
            IndexRow(
                href=each.name,
                title=each.title,
                project=each.project,
                started=each.started,
                facts=each.facts,
                bad=[("failed", each.failed)] if each.failed else [],
            )
            for each in made
        ]
        return index_page(title, rows).encode("utf-8", "replace")
    if exporter.suffix == ".md":
        from reread.render.summaries import inline

        lines = [f"- [{inline(each.title)}]({each.name}) · {' · '.join(each.facts)}" for each in made]
        return "\n".join([f"# {inline(title)}", "", *lines, ""]).encode("utf-8", "replace")
    return None


def _facts(session: Session) -> list[str]:
    usage = session.total_usage
    cost = money(usage.cost, is_partial=usage.unpriced_tokens > 0)
    return [fact for fact in (count(len(session.prompts), "prompt"), cost) if fact]
