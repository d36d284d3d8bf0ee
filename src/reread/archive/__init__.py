"""Questions to the archive: `Archive`, the one front door, and the modules that answer them.

The SQL is in `index`; nothing here prints.
"""

from reread.lazy import fetcher

TYPE_CHECKING = False
if TYPE_CHECKING:
    from reread.exchange import Pulled, Pushed
    from reread.index.custody import ArchiveStatus, Damaged, Forgotten, Generation, Restored
    from reread.index.machine_file import Machine
    from reread.index.machines import ids_called, shown_names
    from reread.index.plain_database import PlainDatabase, PlainParts
    from reread.index.sessions import StoredSession
    from reread.index.verify import Verified
    from reread.ingest import Progress, Report, SyncResult

    from . import (
        answers,
        billing,
        cache_report,
        context_report,
        explain,
        facts,
        file_history,
        filters,
        friction,
        friction_report,
        health,
        inner,
        kept_rows,
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
    from .answer import Answer
    from .answers import FoundPrompt, FoundPrompts, FoundThought, ThinkingAnswer
    from .archive import Archive, load, on_all_processors, open_archive
    from .billing import Reconciled
    from .cache_report import CacheReport
    from .explain import Explained
    from .friction_report import Retro
    from .inner import CLEANUP_DAYS
    from .listing import Listed
    from .text_search import Hit, SearchAnswer
    from .usage_report import UnpricedModel, UsageReport, UsageRow
    from .user_marks import Project


__getattr__ = fetcher(__name__)
