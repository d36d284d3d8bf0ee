"""`reread explain`: how a cost comes about."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from . import options

if TYPE_CHECKING:
    from reread.archive import Archive
    from reread.config import Config

EXAMPLES = """\
  reread explain msg_01XyZ                 a response: its lines, its price, each product and the sum
  reread explain req_011CQ                 the same by request id
  reread explain msg_01XyZ#advisor:1       an advisor that was asked in a response
  reread explain @last                     a session: by model, agent and branch, and its dearest responses
  reread explain 3f2a --json
  reread explain session.jsonl --prices team.json"""


def parser() -> options.Parser:
    about = """How the cost of a response or a session comes about: every line that tells of it, in every file; which
one counts, and why; the row of the price table; each product, to the nano-dollar; and the sum, as `usage` counts it."""
    made = options.make_parser("explain", about, EXAMPLES)
    made.add_argument(
        "id",
        metavar="ID",
        help="a message id or its beginning, a request id, an advisor's, a gateway's; or a session: id, @last, file",
    )
    options.add_prices(made)
    return made


def run(arguments: list[str]) -> int:
    given = parser().parse_args(arguments)
    config = options.make_config(given)
    path = _trunk(given.id)
    with _archive(given, config, path) as archive:
        explained = archive.explain(given.id if path is None else path)
        as_of = archive.prices.as_of
        from reread.render.explain import explained_lines
        from reread.render.explain_documents import explained_document

        options.show_answer(
            given,
            config,
            lambda: explained_document(explained, as_of),
            lambda view: explained_lines(explained, as_of, view),
        )
    return 0


def _trunk(wanted: str) -> Path | None:
    """The file that is meant, where one is; a session's folder stands for the file beside it."""
    path = options.as_path(wanted)
    if path is None:
        return None
    return (path.with_name(f"{path.name}.jsonl") if path.is_dir() else path).absolute()


@contextmanager
def _archive(given: argparse.Namespace, config: Config, path: Path | None) -> Iterator[Archive]:
    """The archive, or one for the moment over sources that it does not keep."""
    from .opening import is_straight, open_archive, passing_archive

    if path is not None and not _is_kept(config, path):
        from reread.loading import parts_of

        opened = passing_archive(config, [path, *parts_of(path)])
    elif path is None and is_straight(config):
        opened = passing_archive(config, config.sources)
    else:
        opened = open_archive(given, config)
    with opened as archive:
        yield archive


def _is_kept(config: Config, path: Path) -> bool:
    from reread.archive import Archive

    with Archive(config.home) as archive:
        return archive.exists and str(path) in archive.kept_bytes()
