"""Many sessions as a folder, with a page that lists them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from reread.errors import BadInput, printable
from reread.render.numbers import count, money

from . import options
from .export import file_name, refuse_no_folder, source_in, tell_secrets, tell_written
from .exporting import Export, Exporter
from .writing import write_whole

if TYPE_CHECKING:
    from reread.archive import Archive


def export_folder(exporter: Exporter, output: Path | None) -> int:
    """Writes every session that passes the filters; one that would tell a secret stops the others, too."""
    folder = refuse_no_folder(output)
    wanted = options.make_filter(exporter.given, exporter.config)
    with _archive(exporter) as archive:
        names = [each.stored.row.uuid for each in archive.sessions(wanted)]
        if not names:
            raise BadInput("no session passes these filters")
        made = [exporter.export(source_in(archive, name)) for name in names]
        if not tell_secrets(made, exporter.given):
            return 1
        index = _index(made, exporter)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"{printable(str(folder))} cannot be made: {error.strerror}") from error
    written = [(folder / file_name(each, exporter.suffix), each) for each in made]
    for path, each in written:
        write_whole(path, each.content)
    if index is not None:
        write_whole(folder / f"index{exporter.suffix}", index)
    tell_written(written, exporter)
    return 0


@contextmanager
def _archive(exporter: Exporter) -> Iterator[Archive]:
    """The archive; sources that it does not keep are only looked at."""
    from .opening import is_straight, open_archive, passing_archive

    config = exporter.config
    opened = passing_archive(config, config.sources) if is_straight(config) else open_archive(exporter.given, config)
    with opened as archive:
        yield archive


def _index(made: list[Export], exporter: Exporter) -> bytes | None:
    """The list, for forms that people read."""
    title = f"{exporter.given.project or 'All'} sessions"
    if exporter.form == "html":
        from reread.render.html.page import IndexRow, index_page

        rows = [
            IndexRow(
                href=file_name(each, exporter.suffix),
                title=each.session.title,
                project=each.session.project or "",
                started=each.session.started,
                facts=_facts(each),
                bad=[("failed", failed)] if (failed := _failed(each)) else [],
            )
            for each in made
        ]
        return index_page(title, rows).encode("utf-8", "replace")
    if exporter.suffix == ".md":
        from reread.render.summaries import inline

        lines = [f"- [{inline(e.session.title)}]({file_name(e, '.md')}) · {' · '.join(_facts(e))}" for e in made]
        return "\n".join([f"# {inline(title)}", "", *lines, ""]).encode("utf-8", "replace")
    return None


def _facts(each: Export) -> list[str]:
    usage = each.session.total_usage
    cost = money(usage.cost, is_partial=usage.unpriced_tokens > 0)
    return [fact for fact in (count(len(each.session.prompts), "prompt"), cost) if fact]


def _failed(each: Export) -> int:
    return sum(call.status.value == "error" for call in each.session.tool_calls)
