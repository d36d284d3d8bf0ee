"""Doctor: every line of every source read in the background, and what came of it."""

from __future__ import annotations

import threading
from collections import Counter
from datetime import datetime
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from reread.archive.health import Health, examine
from reread.errors import RereadError
from reread.loading import SourceTree

from . import pages
from .archive_pool import ArchivePool


class DoctorState(NamedTuple):
    """A finished examination."""

    health: Health
    at: datetime


class Doctor:
    """Examines in a thread of its own, once at a time; the last result is kept."""

    def __init__(self, library: ArchivePool) -> None:
        self._library = library
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self.found: DoctorState | None = None
        self.problem = ""
        self.progress = (0, 0)

    @property
    def is_busy(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def start(self) -> None:
        with self._lock:
            if not self.is_busy:
                self.progress, self.problem = (0, 0), ""
                self._thread = threading.Thread(target=self._run, name="reread-doctor", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        settings = self._library.settings
        try:
            shelf = SourceTree([source for source in settings.sources if source.exists()])
            with self._library.archive() as archive:
                kept = archive.kept_bytes()
            self.found = DoctorState(examine(shelf, settings.now, self._tell, kept), settings.now)
        except RereadError as problem:
            self.problem = str(problem)
        except Exception as problem:  # noqa: BLE001  else every look at the page would begin again, and none would end
            self.problem = f"{type(problem).__name__}: {problem}"

    def _tell(self, done: int, of: int) -> None:
        self.progress = (done, of)


def doctor(request: Request) -> HTMLResponse:
    """What the last examination found, and a button for a new one, which reads everything; a look changes nothing."""
    site = pages.site_of(request)
    doctor: Doctor = request.app.state.doctor
    is_busy, found = doctor.is_busy, doctor.found  # in this order: what ends meanwhile has its result
    kept = site.library.answer("status", lambda archive: archive.safe.status())
    values: dict[str, Any] = {"kept": kept, "is_busy": is_busy, "found": found, **_lists(found)}
    values |= {"progress": doctor.progress, "problem": doctor.problem}
    if request.headers.get("x-part"):
        return pages.fragment("health.html", **values)
    return pages.page(request, "doctor.html", "Doctor", **values)


def _lists(found: DoctorState | None) -> dict[str, Any]:
    """What was found, a line each."""
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
    """A new examination."""
    found: Doctor = request.app.state.doctor
    found.start()
    return RedirectResponse("/doctor", status_code=303)
