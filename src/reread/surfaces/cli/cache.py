"""`reread cache`: what the prompt cache saved, what rebuilding it cost, and why it was lost."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from . import options

if TYPE_CHECKING:
    from reread.config import Config
    from reread.queries.caching import CacheReport
    from reread.queries.filters import Filter

EXAMPLES = """\
  reread cache                              by day, and what lost the cache
  reread cache --by project --since 30d
  reread cache --by session --limit 10      the dearest ten
  reread cache @last                        one session: its context, every rebuild, its speed
  reread cache --by model --json"""


def parser() -> options.Parser:
    about = """What the prompt cache saved against sending every token anew, and what rebuilds cost: requests that read
less than half of the prompt before them from the cache and wrote it again. The cause is what the API tells,
else inferred. Every API response counts once over all files; for one session, once over its own files."""
    made = options.make_parser("cache", about, EXAMPLES)
    options.add_session(made)
    made.add_argument(
        "--by",
        metavar="GROUPING",
        help="day (default), week, month, model (default for one session), project, session",
    )
    options.add_filters(made, limit=None)
    options.add_prices(made)
    return made


def run(arguments: list[str]) -> int:
    given = parser().parse_args(arguments)
    config = options.make_config(given)
    from reread.queries.caching import check_grouping

    by = given.by or ("day" if given.session is None else "model")
    check_grouping(by)
    wanted = options.make_filter(given, config)
    found = _over_everything if given.session is None else _of_a_session
    report = options.limited(found(given, config, by, wanted), given.limit)
    from reread.render.cache import cache_document, cache_lines

    options.show_answer(
        given,
        config,
        lambda: cache_document(report, options.zone_name(given.timezone)),
        lambda view: cache_lines(report, view),
    )
    return 0


def _over_everything(given: argparse.Namespace, config: Config, by: str, wanted: Filter) -> CacheReport:
    from .opening import open_archive, without_needless_sources

    with open_archive(given, config) as archive:
        return archive.caching(by, without_needless_sources(wanted, archive), config.timezone)


def _of_a_session(given: argparse.Namespace, config: Config, by: str, wanted: Filter) -> CacheReport:
    from reread.billing import load_prices
    from reread.queries.cells import Ask
    from reread.queries.session_caching import session_report

    from .opening import knowing, open_session

    with open_session(given, config) as opened:
        copied = opened.archive.copied_into(given.session) if opened.archive is not None else frozenset[str]()
        ask = Ask(by=by, wanted=knowing(wanted, opened.archive), zone=config.timezone)
        return session_report(opened.session, ask, load_prices(config.prices), copied)
