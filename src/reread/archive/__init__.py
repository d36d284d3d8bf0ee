"""Questions to the archive: `Archive`, the one front door, and the modules that answer them.

The SQL is in `index`; nothing here prints.
"""

# ruff: noqa: I001  it would give each `X as X`, which makes X public, an import of its own

from reread.lazy import fetch_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from reread.exchange import Pulled as Pulled, Pushed as Pushed
    from reread.index.custody import ArchiveStatus as ArchiveStatus, Damaged as Damaged, Forgotten as Forgotten
    from reread.index.custody import Generation as Generation, Restored as Restored
    from reread.index.machine_file import Machine as Machine
    from reread.index.machines import ids_called as ids_called, shown_names as shown_names
    from reread.index.plain_database import PlainDatabase as PlainDatabase, PlainParts as PlainParts
    from reread.index.sessions import StoredSession as StoredSession
    from reread.index.verify import Verified as Verified
    from reread.ingest import Progress as Progress, Report as Report, SyncResult as SyncResult

    from . import (
        answers as answers,
        billing as billing,
        cache_report as cache_report,
        context_report as context_report,
        explain as explain,
        facts as facts,
        file_history as file_history,
        filters as filters,
        friction as friction,
        friction_report as friction_report,
        health as health,
        inner as inner,
        kept_rows as kept_rows,
        listing as listing,
        lost_sessions as lost_sessions,
        model_answers as model_answers,
        regex as regex,
        safe as safe,
        search_language as search_language,
        secret_scan as secret_scan,
        status as status,
        text_search as text_search,
        usage_report as usage_report,
        user_marks as user_marks,
    )
    from .answer import Answer as Answer
    from .answers import FoundPrompt as FoundPrompt, FoundPrompts as FoundPrompts, FoundThought as FoundThought
    from .answers import ThinkingAnswer as ThinkingAnswer
    from .archive import Archive as Archive, load as load, on_all_processors as on_all_processors
    from .archive import open_archive as open_archive
    from .billing import Reconciled as Reconciled
    from .cache_report import CacheReport as CacheReport
    from .explain import Explained as Explained
    from .friction_report import Retro as Retro
    from .inner import CLEANUP_DAYS as CLEANUP_DAYS
    from .listing import Listed as Listed
    from .text_search import Hit as Hit, SearchAnswer as SearchAnswer
    from .usage_report import UnpricedModel as UnpricedModel, UsageReport as UsageReport, UsageRow as UsageRow
    from .user_marks import Project as Project

fetch_names(__name__)
