"""Questions to the archive: `Archive`, the one front door, and the modules that answer them.

The SQL is in `index`; nothing here prints.
"""

from reread.lazy import fetcher

TYPE_CHECKING = False
if TYPE_CHECKING:
    from reread.exchange import Pulled, Pushed
    from reread.index.custody import ArchiveStatus, Damaged, Forgotten, Generation, Restored
    from reread.index.machine_file import Machine
    from reread.index.plain_database import PlainDatabase, PlainParts
    from reread.index.sessions import StoredSession
    from reread.index.verify import Verified
    from reread.ingest import Progress, SyncResult

    from . import (
        answers,
        base,
        billing,
        cache_report,
        explain,
        file_history,
        filters,
        friction,
        friction_report,
        health,
        listing,
        lost_sessions,
        model_answers,
        regex,
        safe,
        search_language,
        secret_scan,
        status,
        text_search,
        usage_report,
        user_marks,
    )
    from .answers import window_of
    from .archive import CLEANUP_DAYS, Archive, load, open_archive
    from .billing import Reconciled
    from .cache_report import CacheReport
    from .explain import Explained
    from .friction_report import Retro
    from .listing import Listed
    from .text_search import SearchAnswer
    from .usage_report import UnpricedModel, UsageReport
    from .user_marks import Project

_HOME = {
    "Archive": "reread.archive.archive",
    "ArchiveStatus": "reread.index.custody",
    "CLEANUP_DAYS": "reread.archive.archive",
    "CacheReport": "reread.archive.cache_report",
    "Damaged": "reread.index.custody",
    "Explained": "reread.archive.explain",
    "Forgotten": "reread.index.custody",
    "Generation": "reread.index.custody",
    "Listed": "reread.archive.listing",
    "Machine": "reread.index.machine_file",
    "PlainDatabase": "reread.index.plain_database",
    "PlainParts": "reread.index.plain_database",
    "Progress": "reread.ingest",
    "Project": "reread.archive.user_marks",
    "Pulled": "reread.exchange",
    "Pushed": "reread.exchange",
    "Reconciled": "reread.archive.billing",
    "Restored": "reread.index.custody",
    "Retro": "reread.archive.friction_report",
    "SearchAnswer": "reread.archive.text_search",
    "StoredSession": "reread.index.sessions",
    "SyncResult": "reread.ingest",
    "UnpricedModel": "reread.archive.usage_report",
    "UsageReport": "reread.archive.usage_report",
    "Verified": "reread.index.verify",
    "load": "reread.archive.archive",
    "open_archive": "reread.archive.archive",
    "window_of": "reread.archive.answers",
}

__all__ = [
    "CLEANUP_DAYS",
    "Archive",
    "ArchiveStatus",
    "CacheReport",
    "Damaged",
    "Explained",
    "Forgotten",
    "Generation",
    "Listed",
    "Machine",
    "PlainDatabase",
    "PlainParts",
    "Progress",
    "Project",
    "Pulled",
    "Pushed",
    "Reconciled",
    "Restored",
    "Retro",
    "SearchAnswer",
    "StoredSession",
    "SyncResult",
    "UnpricedModel",
    "UsageReport",
    "Verified",
    "answers",
    "base",
    "billing",
    "cache_report",
    "explain",
    "file_history",
    "filters",
    "friction",
    "friction_report",
    "health",
    "listing",
    "load",
    "lost_sessions",
    "model_answers",
    "open_archive",
    "regex",
    "safe",
    "search_language",
    "secret_scan",
    "status",
    "text_search",
    "usage_report",
    "user_marks",
    "window_of",
]

__getattr__ = fetcher(__name__, _HOME, {"Status": "ArchiveStatus"}, modules=frozenset(__all__) - frozenset(_HOME))
