"""Asks the application without a socket, and reads its pages as a browser would."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, NamedTuple

from starlette.testclient import TestClient

from reread.archive import Archive
from reread.live.transport import Program
from reread.web.app import make_app
from reread.web.archive_pool import ServerSettings
from reread.web.guard import KEY_HEADER, Credentials, Names
from reread.web.pages import SCRIPTS

TOKEN = "the-token-of-this-start"  # noqa: S105  of a test
COOKIE = "reread-8000"
HOST = "127.0.0.1:8000"
READS = {"cookie": f"{COOKIE}={Credentials(TOKEN).cookie}"}
"""What a browser sends by itself."""
CHANGES = {**READS, "origin": f"http://{HOST}", KEY_HEADER: Credentials(TOKEN).page_key}
"""What a page of ours sends."""
_VOID = frozenset({"area", "base", "br", "col", "hr", "img", "input", "link", "meta", "rect", "line", "circle"})
_LOADING = frozenset({"src", "srcset", "data", "poster", "background", "action", "formaction", "href"})


class Reading(HTMLParser):
    """A page as its parts; what a browser would run or fetch is set aside."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.text = ""
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.titles: list[str] = []
        self._open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in _VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if self._open[-2:] == ["head", "title"]:
            self.titles.append(data)
        if not self._open or self._open[-1] not in ("style", "script"):
            self.text += data

    def of(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]

    def links(self) -> list[str]:
        return [attributes.get("href") or "" for attributes in self.of("a")]


def read(html: str) -> Reading:
    reading = Reading()
    reading.feed(html)
    reading.close()
    return reading


def dangers(reading: Reading) -> list[str]:
    """What in a page could run, fetch or pretend: everything that is not ours."""
    found = []
    for tag, attributes in reading.tags:
        if tag in ("iframe", "object", "embed", "base", "applet", "audio", "video", "math"):
            found.append(tag)
        if tag == "script" and not _is_our_script(attributes):
            found.append(f"script {attributes}")
        if tag == "meta" and "http-equiv" in attributes:
            found.append(f"meta {attributes}")
        for name, value in attributes.items():
            address = (value or "").strip().lower()
            if name.startswith("on") or name == "style":
                found.append(f"{tag} {name}")
            elif name in _LOADING and not _is_harmless(tag, name, address):
                found.append(f"{tag} {name}={address[:80]}")
    return found


def _is_our_script(attributes: Mapping[str, str | None]) -> bool:
    if attributes == {"src": "/static/theme.js"}:  # before anything is drawn
        return True
    return any(attributes == {"src": f"/static/{name}", "defer": None} for name in SCRIPTS)


def _is_harmless(tag: str, name: str, address: str) -> bool:
    if address.startswith(("/", "?", "#")):
        return not address.startswith("//")
    if tag == "img" and name == "src":
        return address.startswith(("data:image/png;", "data:image/jpeg;", "data:image/gif;", "data:image/webp;"))
    return tag == "a" and address.startswith(("http://", "https://", "mailto:"))


class Asking(NamedTuple):
    client: TestClient
    home: Path

    def get(self, path: str, headers: Mapping[str, str] | None = None) -> Any:
        return self.client.get(path, headers={**READS, **(headers or {})})

    def post(self, path: str, fields: Mapping[str, str | Sequence[str]], *, is_part: bool = False) -> Any:
        """A form of ours, sent from a page of ours; where it leads is not followed."""
        ours = {**CHANGES, **({"x-part": "1"} if is_part else {})}
        return self.client.post(path, data=dict(fields), headers=ours, follow_redirects=False)

    def page(self, path: str, status: int = 200) -> Reading:
        answer = self.get(path)
        assert answer.status_code == status, answer.text[:2000]
        return read(answer.text)

    def part(self, path: str) -> Reading:
        answer = self.get(path, {"x-part": "1"})
        assert answer.status_code == 200, answer.text[:2000]
        return read(answer.text)


@contextmanager
def asking(home: Path, *sources: Path, claude: Program | None = None, may_run: bool = True) -> Iterator[Asking]:
    """An archive that is up to date, and the application over it."""
    with Archive(home, sources) as archive:
        archive.sync()
    with asking_as_it_is(home, *sources, claude=claude, may_run=may_run) as site:
        yield site


@contextmanager
def asking_as_it_is(
    home: Path, *sources: Path, claude: Program | None = None, may_run: bool = True
) -> Iterator[Asking]:
    """The application over an archive that nobody brings up to date."""
    settings = ServerSettings(home, sources, cleanup_days=40, claude=claude, may_run=may_run)
    app = make_app(settings, Names("127.0.0.1", 8000), TOKEN, COOKIE, is_watching=False)
    with TestClient(app.asgi, base_url=f"http://{HOST}", raise_server_exceptions=False) as client:
        yield Asking(client, home)
