"""Pages: fills and sends templates, with the frame around them and the static files."""

from __future__ import annotations

import itertools
import zlib
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cache
from hashlib import sha256
from importlib import resources
from typing import Any, NamedTuple, TypeVar
from urllib.parse import parse_qs, quote, urlencode

from jinja2 import ChoiceLoader, Environment, PackageLoader
from markupsafe import Markup
from msgspec.structs import replace
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse

from reread import __version__
from reread.errors import BadInput
from reread.views.charts import Chart
from reread.views.charts.svg import Sheet, chart_style, chart_svg
from reread.views.html.page import asset
from reread.views.html.page import environment as session_environment
from reread.views.numbers import money, nano, size, tokens
from reread.views.session_list import last_part

from .archive_pool import ArchivePool, ServerSettings, link_name
from .paging import LATER_FROM, retyped
from .updates import Hub, Watch

Part = TypeVar("Part")
LONGEST_VALUE = 1_000
"""Characters of one value in an address."""
MOST_FIELDS = 400
"""Fields of a form: a question may have many answers, a list many ticked sessions."""

COMPRESSION = 5
_GZIP = 16
"""Added to `wbits`, it makes zlib write a gzip header and trailer."""

Form = Mapping[str, Sequence[str]]

STYLES = (
    "web.css",
    "conversation.css",
    "find_in_page.css",
    "lists.css",
    "usage.css",
    "search.css",
    "retro.css",
    "live.css",
)
"""Style sheets that are sent as one file, after that of sessions: first what all pages share, then single pages."""
SCRIPTS = (
    *("theme.js", "web.js", "palette.js", "notify.js", "door.js", "sse.js", "updates.js"),
    *("conversation.js", "matching.js", "find_in_page.js", "highlight.js", "time.js", "sidebar.js", "spending.js"),
    *("charts.js", "lists.js", "search.js", "retro.js", "live.js", "export.js"),
)
"""Scripts, each sent by its name: every page loads the first four, `sse.js` starts `updates.js`, the others belong to
single pages."""


class NavEntry(NamedTuple):
    """A page of the menu."""

    address: str
    name: str
    key: str
    """The key to press after `g`."""
    below: str = "\n"
    """Another beginning of addresses that belong to this entry; the default matches none."""


PLACES = (
    NavEntry("/", "Home", "h"),
    NavEntry("/live", "Live", "l"),
    NavEntry("/sessions", "Sessions", "s", "/s/"),
    NavEntry("/search", "Search", "f"),
    NavEntry("/usage", "Usage", "u"),
    NavEntry("/retro", "Retrospective", "r"),
    NavEntry("/secrets", "Secrets", "x"),
    NavEntry("/doctor", "Doctor", "d"),
)
"""The menu."""
OF_STORE = (
    *(each for each in PLACES if each.address in ("/", "/sessions", "/search", "/usage")),
    NavEntry("/usage?by=project", "Projects", "p"),
    NavEntry("/usage?by=person", "People", "e"),
)
"""The menu over a team's store, which has no clients to run and no moments of friction."""


class Site(NamedTuple):
    """What every page needs; stored in the application's state."""

    settings: ServerSettings
    library: ArchivePool
    hub: Hub
    watch: Watch
    parts: Mapping[type, object]
    """What only some pages need, by its type. Not fields, because their modules may import this one."""

    def part(self, kind: type[Part]) -> Part:
        found = self.parts[kind]
        assert isinstance(found, kind)  # noqa: S101  for the type checker: `make_app` puts it there
        return found


def site_of(request: Request) -> Site:
    found: Site = request.app.state.site
    return found


@cache
def environment() -> Environment:
    """The templates of sessions, overlaid with those of this room."""
    base = session_environment()
    assert base.loader is not None  # noqa: S101  it is ours
    own = PackageLoader("reread.web", "templates")
    made = base.overlay(loader=ChoiceLoader([own, base.loader]))
    made.filters = {**base.filters, "money": _money, "tokens": tokens, "last_part": last_part, "size": size}
    made.filters |= {"link_name": link_name, "query": query, "retyped": retyped}
    made.globals = {**base.globals, "places": PLACES, "version": __version__, "pause": PAUSE, "later_from": LATER_FROM}
    return made


def _money(nanodollars: int | None, unpriced: int = 0) -> str:
    return money(nano(nanodollars), is_partial=unpriced > 0)


def query(values: Mapping[str, object], **changes: object) -> str:
    """The query part of an address: `values` with `changes` applied, without empty ones."""
    merged = {name: value for name, value in {**values, **changes}.items() if value not in (None, "", False, (), [])}
    return f"?{urlencode(merged, doseq=True)}" if merged else "?"


def quoted(name: str) -> str:
    """A name, quoted as one part of a path."""
    return quote(name, safe="")


def render(template: str, **values: Any) -> str:
    return environment().get_template(template).render(values)


PAUSE = Markup("<!-- the first screen ends here -->")
"""Where this occurs in a template, everything before it is sent at once."""


def page(
    request: Request, template: str, title: str, *, status: int = 200, scripts: Sequence[str] = (), **values: Any
) -> HTMLResponse:
    """A whole page in the frame."""
    return HTMLResponse(render(template, **_framed(request, title, scripts), **values), status_code=status)


def page_in_parts(
    request: Request,
    lock: AbstractContextManager[Any],
    template: str,
    title: str,
    *,
    scripts: Sequence[str],
    **values: Any,
) -> StreamingResponse:
    """A whole page whose first screen is sent before the rest is made. The caller holds the lock for the first screen;
    making the rest takes it again."""
    made = environment().get_template(template).generate(**_framed(request, title, scripts), **values)
    first = "".join(itertools.takewhile(lambda piece: piece != PAUSE, made))

    def parts() -> Iterator[str]:
        yield first
        with lock:
            rest = "".join(made)
        yield rest

    return streamed(request, parts())


def streamed(request: Request, parts: Iterator[str]) -> StreamingResponse:
    """Sends each part as soon as it is there, compressed or not. A general compressing layer would hold parts back."""
    headers = {"vary": "accept-encoding"}
    if "gzip" not in request.headers.get("accept-encoding", ""):
        return StreamingResponse((part.encode() for part in parts), media_type="text/html", headers=headers)
    return StreamingResponse(_gzipped(parts), media_type="text/html", headers={**headers, "content-encoding": "gzip"})


def _gzipped(parts: Iterator[str]) -> Iterator[bytes]:
    packing = zlib.compressobj(COMPRESSION, wbits=zlib.MAX_WBITS | _GZIP)
    for part in parts:
        yield packing.compress(part.encode()) + packing.flush(zlib.Z_SYNC_FLUSH)
    yield packing.flush()


def _framed(request: Request, title: str, scripts: Sequence[str]) -> dict[str, Any]:
    """The values for the frame around every page."""
    watch, store = site_of(request).watch, site_of(request).settings.store
    return {
        "places": PLACES if store is None else OF_STORE,
        "of_store": store is not None,
        "scripts": scripts,
        "title": title,
        "here": request.url.path,
        "busy": watch.is_busy,
        "asks_open": request.app.state.waiting(),
        "sync_problem": watch.problem,
        "page_key": request.scope.get("page_key", ""),
    }


def fragment(template: str, **values: Any) -> HTMLResponse:
    """A fragment that a script puts into a page."""
    return HTMLResponse(render(template, **values))


def part(request: Request, template: str, title: str, back: str, **values: Any) -> HTMLResponse:
    """A fragment; for a browser without scripts, which followed a link to it, a whole page with a link back."""
    if request.headers.get("x-part"):
        return fragment(template, **values)
    return page(request, "part.html", title, part=template, back=back, **values)


def problem(headers: Headers, reason: str, status: int) -> Response:
    """An error message as a part of a page, or for a program that asks for JSON."""
    if headers.get("accept") == "application/json":
        return JSONResponse({"problem": reason}, status_code=status)
    return HTMLResponse(render("problem.html", reason=reason), status_code=status)


def value(request: Request, name: str) -> str:
    """One value of the address; empty if it is missing."""
    found = request.query_params.get(name, "").strip()
    if len(found) > LONGEST_VALUE:
        raise BadInput(f"{name} is longer than {LONGEST_VALUE:,} characters")
    return found


async def form(request: Request) -> Form:
    """The fields of a form. Empty fields are kept, because an empty note removes the note."""
    try:
        body = (await request.body()).decode("utf-8", "replace")
    except ClientDisconnect:
        raise BadInput("the form did not come whole") from None
    if body.count("&") >= MOST_FIELDS:
        raise BadInput(f"a form with {body.count('&') + 1:,} fields is not one of these pages'")
    return parse_qs(body, keep_blank_values=True)


async def left(request: Request) -> None:
    """Waits until the browser has gone away."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def number(request: Request, name: str, default: int = 0, most: int = 10_000_000) -> int:
    found = value(request, name)
    return min(int(found), most) if found.isdecimal() and len(found) < 9 else default


NARROW = 420
"""The width of a chart on a phone, at which its letters are as large as those around it."""


def fitting(request: Request, sheet: Sheet) -> Sheet:
    """A chart's sheet, made narrow if our script reported a narrow screen."""
    return replace(sheet, width=min(sheet.width, NARROW)) if request.cookies.get("reread-screen") == "narrow" else sheet


def drawn(chart: Chart, sheet: Sheet | None = None) -> Markup:
    """A chart in a page. It has no footnote, because the page itself says what the numbers were computed from."""
    return Markup(chart_svg(replace(chart, footnote=""), sheet))  # noqa: S704  it escapes every text itself


class Static(NamedTuple):
    body: bytes
    kind: str


@cache
def static_files() -> dict[str, Static]:
    """All static files, by name: no name from a request is ever looked up on the disk."""
    own = resources.files("reread.web").joinpath("assets")
    style = "\n".join([asset("style.css"), *(own.joinpath(name).read_text("utf-8") for name in STYLES)])
    scripts = {name: Static(own.joinpath(name).read_bytes(), "text/javascript") for name in SCRIPTS}
    return {
        "reread.css": Static(style.encode(), "text/css"),
        "icon.svg": Static(own.joinpath("icon.svg").read_bytes(), "image/svg+xml"),
        **scripts,
    }


def static(request: Request) -> Response:
    found = static_files().get(request.path_params["name"])
    if found is None:
        return Response("there is no such file", status_code=404, media_type="text/plain")
    etag = f'"{sha256(found.body).hexdigest()[:16]}"'
    headers = {"etag": etag, "cache-control": "private, no-cache"}
    if request.headers.get("if-none-match") == etag:
        return Response(status_code=304, headers=headers)
    return Response(found.body, media_type=found.kind, headers=headers)


def alive(_: Request) -> Response:
    """Lets another process check that this is the server of its archive."""
    return Response(f"reread {__version__}", media_type="text/plain")


@cache
def policy() -> str:
    """The content security policy: our own scripts and styles, the style inside charts by its digest, images of our own
    and inside the page; nothing else."""
    style = b64encode(sha256(chart_style().encode()).digest()).decode()
    return (
        f"default-src 'none'; script-src 'self'; style-src 'self' 'sha256-{style}'; img-src 'self' data:; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    )
