"""The pages Doctor and Secrets: scans that run in the background, and their results."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Mapping
from datetime import datetime
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from reread.archive.filters import Filter
from reread.archive.health import Health, examine
from reread.archive.secret_scan import ADVICE, SPARED, ExposedSecret, SecretsAnswer, SecretScan
from reread.errors import RereadError
from reread.features.secrets import Redactor
from reread.loading import SourceTree
from reread.views.calls import point_of, tool_label
from reread.views.html.content import anchor
from reread.views.secret_list import title_of
from reread.views.text import shorten

from . import pages
from .archive_pool import ArchivePool

SHOWN = 200
"""How many secrets the page shows."""
MOST_SOURCES = 60
LONGEST_POINT = 160
LONG_SECRET = 20
"""Characters; of shorter ones nothing is shown."""
WENT = {"prompt": "typed", "text": "answer", "thinking": "thinking", "tool": "tool call", "result": "result"}
"""Where a secret was seen, in words; other lines are attachments and notes of the client."""
Tell = Callable[[int, int], None]
Found = TypeVar("Found")


class DoctorState(NamedTuple):
    """The result of a finished examination."""

    health: Health
    at: datetime


class SecretSource(NamedTuple):
    """Which value a secret is, and what it came from."""

    masked: str = "••••"
    """The beginning and the end of the value."""
    tool: str = ""
    """The tool in whose call or result it stands first."""
    point: str = ""
    """The file or the command of that call, without secrets."""


class FoundSecrets(NamedTuple):
    """The result of a finished scan for secrets."""

    answer: SecretsAnswer
    sources: Mapping[str, SecretSource]
    """By the id of the secret."""
    pushed: Collection[str]
    """Those that lie in the shared folder."""


class BackgroundScan(Generic[Found]):
    """A scan in a thread of its own, only one at a time; the last result is kept."""

    def __init__(self, library: ArchivePool, look: Callable[[ArchivePool, Tell], Found]) -> None:
        self._library = library
        self._look = look
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self.found: Found | None = None
        self.problem = ""
        self.progress = (0, 0)

    @property
    def is_busy(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def start(self) -> None:
        with self._lock:
            if not self.is_busy:
                self.progress, self.problem = (0, 0), ""
                self._thread = threading.Thread(target=self.look, name="reread-scan", daemon=True)
                self._thread.start()

    def look(self) -> None:
        """Scans in this thread."""
        try:
            self.found = self._look(self._library, self._set_progress)
        except Exception as problem:  # noqa: BLE001  else each visit would start a new scan, and none would end
            self.problem = str(problem) if isinstance(problem, RereadError) else f"{type(problem).__name__}: {problem}"

    def _set_progress(self, done: int, of: int) -> None:
        self.progress = (done, of)


def doctor_scan(library: ArchivePool) -> BackgroundScan[DoctorState]:
    """Reads every line of every source."""
    return BackgroundScan(library, _examine)


def secret_scan(library: ArchivePool) -> BackgroundScan[FoundSecrets]:
    """Looks for keys and passwords in sessions that were not scanned yet."""
    return BackgroundScan(library, partial(_find_secrets, {}))


def _examine(library: ArchivePool, tell: Tell) -> DoctorState:
    settings = library.settings
    tree = SourceTree([source for source in settings.sources if source.exists()])
    with library.archive() as archive:
        kept = archive.inner.kept_bytes()
    return DoctorState(examine(tree, settings.now, tell, kept), settings.now)


def _find_secrets(known: dict[Hashable, SecretSource], library: ArchivePool, tell: Tell) -> FoundSecrets:
    """`known` keeps what was looked up before: for each value files are read."""
    with library.archive() as archive:
        scan, ends = archive.secrets, archive.safe.pushed_files()
        answer = scan.report(Filter(limit=SHOWN), tell)
        sources = {}
        for each in answer.secrets[:MOST_SOURCES]:
            key = each.id, *((place.file, place.offset) for place in each.places)
            sources[each.id] = known[key] = known.get(key) or _source(scan, each)
    pushed = {
        each.id for each in answer.secrets if any(place.offset < ends.get(place.file, 0) for place in each.places)
    }
    return FoundSecrets(answer, sources, pushed)


def _source(scan: SecretScan, secret: ExposedSecret) -> SecretSource:
    value = scan.value_of(secret)
    call = scan.call_of(secret, value) if value else None
    if value is None or call is None:
        return SecretSource(masked(value or ""))
    redactor = Redactor(spared=SPARED, spared_values=frozenset({value}))
    point = redactor.redact(point_of(call.tool, call.input, secret.places[0].session.row.project))
    shown = shorten(point.replace(value, masked(value)), LONGEST_POINT)
    return SecretSource(masked(value), tool_label(call.tool), shown)


def masked(value: str) -> str:
    """As much of a value as tells its owner which one it is: `ghp_…f3a1`, `•••• (9 characters)`."""
    is_long = len(value) >= LONG_SECRET and value.isprintable()
    return f"{value[:4]}…{value[-4:]}" if is_long else f"•••• ({len(value):,} characters)"


def doctor(request: Request) -> HTMLResponse:
    """The result of the last examination, and a button for a new one. Opening the page starts none: it reads
    everything."""
    site = pages.site_of(request)
    doctor: BackgroundScan[DoctorState] = request.app.state.doctor
    is_busy, found = doctor.is_busy, doctor.found  # in this order: a scan that ends in between has its result
    kept = site.library.answer("status", lambda archive: archive.safe.status())
    values: dict[str, Any] = {"kept": kept, "is_busy": is_busy, "found": found, **_lists(found)}
    values |= {"progress": doctor.progress, "problem": doctor.problem}
    if request.headers.get("x-part"):
        return pages.fragment("health.html", **values)
    return pages.page(request, "doctor.html", "Doctor", **values)


def _lists(found: DoctorState | None) -> dict[str, Any]:
    """The findings as lists of lines."""
    if found is None:
        return {}
    health = found.health
    return {
        "malformed": [f"{bad.file.name}:{bad.line}: {bad.reason}" for bad in health.malformed],
        "unknown": _counted(health.drift.unknown_types),
        "unmodelled": _counted(health.drift.unmodelled_fields),
        "versions": _counted(health.versions),
    }


def _counted(found: Counter[str]) -> list[str]:
    return [f"{name} ({number:,})" for name, number in found.most_common()]


def again(request: Request) -> Response:
    """Starts a new examination."""
    scan: BackgroundScan[DoctorState] = request.app.state.doctor
    scan.start()
    return RedirectResponse("/doctor", status_code=303)


async def replaced(request: Request) -> Response:
    """Notes that a secret was replaced, or takes that back. The guard has checked that the form is ours."""
    form = await pages.form(request)
    name, is_replaced = form.get("secret", [""])[0], form.get("replaced") != ["0"]
    await run_in_threadpool(_replaced, pages.site_of(request).library, name, is_replaced)
    await run_in_threadpool(request.app.state.secrets.look)
    return RedirectResponse(f"/secrets#secret-{pages.quoted(name)}", status_code=303)


def _replaced(library: ArchivePool, name: str, is_replaced: bool) -> None:
    with library.archive() as archive:
        archive.marks.replaced(name, is_replaced=is_replaced)


def secrets(request: Request) -> HTMLResponse:
    """The page, which starts a scan; for a script only the result."""
    scan: BackgroundScan[FoundSecrets] = request.app.state.secrets
    is_part = bool(request.headers.get("x-part"))
    # A script that asks for the progress must not start a second scan.
    if not is_part or not (scan.found or scan.problem):
        scan.start()
    is_busy, found = scan.is_busy, scan.found  # in this order: a scan that ends in between has its result
    values: dict[str, Any] = {
        "is_busy": is_busy,
        "answer": found.answer if found else None,
        "sources": found.sources if found else {},
        "pushed": found.pushed if found else (),
        "went": WENT,
        "problem": scan.problem,
        "progress": scan.progress,
    }
    values |= {"advice": ADVICE, "anchor": anchor, "title_of": title_of}
    if is_part:
        return pages.fragment("secrets_found.html", **values)
    return pages.page(request, "secrets.html", "Secrets", **values)
