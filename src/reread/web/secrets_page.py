"""Secrets: which keys and passwords lie in past sessions; looked for in the background, never shown."""

from __future__ import annotations

import threading
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse

from reread.archive.filters import Filter
from reread.archive.secret_scan import ADVICE, SecretsAnswer
from reread.errors import RereadError
from reread.views.html.content import anchor
from reread.views.secret_list import title_of

from . import pages
from .archive_pool import ArchivePool

SHOWN = 200


class SecretWatch:
    """Looks through what is new in a thread of its own, once at a time; the last answer is kept."""

    def __init__(self, library: ArchivePool) -> None:
        self._library = library
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self.answer: SecretsAnswer | None = None
        self.problem = ""
        self.progress = (0, 0)

    @property
    def is_busy(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def start(self) -> None:
        with self._lock:
            if not self.is_busy:
                self.progress, self.problem = (0, 0), ""
                self._thread = threading.Thread(target=self._run, name="reread-secrets", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        try:
            with self._library.archive() as archive:
                self.answer = archive.secrets.report(Filter(limit=SHOWN), self._tell)
        except RereadError as problem:
            self.problem = str(problem)
        except Exception as problem:  # noqa: BLE001  else every look at the page would begin again, and none would end
            self.problem = f"{type(problem).__name__}: {problem}"

    def _tell(self, done: int, of: int) -> None:
        self.progress = (done, of)


def secrets(request: Request) -> HTMLResponse:
    """The page, which looks through what is new; its result alone where a script asks."""
    watch: SecretWatch = request.app.state.secrets
    is_part = bool(request.headers.get("x-part"))
    if not is_part or not (watch.answer or watch.problem):  # a script that asks how far it is begins no second search
        watch.start()
    is_busy, answer = watch.is_busy, watch.answer  # in this order: what ends meanwhile has its result
    values: dict[str, Any] = {
        "is_busy": is_busy,
        "answer": answer,
        "problem": watch.problem,
        "progress": watch.progress,
    }
    values |= {"advice": ADVICE, "anchor": anchor, "title_of": title_of}
    if is_part:
        return pages.fragment("secrets_found.html", **values)
    return pages.page(request, "secrets.html", "Secrets", **values)
