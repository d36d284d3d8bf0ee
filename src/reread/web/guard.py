"""Decides which requests are allowed. Every request passes here before any page, and every answer on its way out.

A stranger's web page can make a browser send requests to this machine. Such a request may use a name of the stranger's
that resolves to this machine, which the Host header shows; it comes from another origin, which the Origin header shows;
and it does not have the token, which only the person who started the server has.

A browser sends a cookie to every port of a machine, so servers of other users receive ours. The cookie is not the
token, the token cannot be derived from it, and on Linux it is refused from a program of another user. Every request
that changes or starts something also needs the page key, which a browser keeps for one port alone (local storage) and
receives only in answer to the token.
"""

from __future__ import annotations

import hmac
import ipaddress
import os
import secrets
import socket
import sys
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qs, parse_qsl

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LONGEST_ADDRESS = 8_000
"""Characters of path and query together."""
LARGEST_BODY = 256_000
"""Bytes of a request's body."""
KEY_HEADER = "x-page-key"
KEY_FIELD = "page-key"
TOKEN_FIELD = "token"  # noqa: S105  the name of a field
KEYS = (KEY_FIELD, TOKEN_FIELD)
"""Fields of a form that are for the guard alone."""
_READING = frozenset({"GET", "HEAD"})
_FREE = "/static/"
"""Styles and scripts, which are the same for everyone; everything else needs the token."""


class Names:
    """The values of the Host header that this server accepts.

    Anyone can make a name resolve to this machine, but not an address. So a server that listens for others accepts any
    address, but only its own names.
    """

    def __init__(self, host: str, port: int, own: Iterable[str] = ()) -> None:
        self._port = port
        self._names = {"localhost", host.lower(), *(name.lower() for name in own)}
        self._is_open = not is_loopback(host)

    def has(self, host: str) -> bool:
        name, separator, port = host.strip().lower().rpartition(":")
        if not separator or name.endswith(":") or port.endswith("]"):
            name, port = host.strip().lower(), "80"
        return port == str(self._port) and (name in self._names or self._is_address(name))

    def _is_address(self, name: str) -> bool:
        try:
            found = ipaddress.ip_address(name.removeprefix("[").removesuffix("]"))
        except ValueError:
            return False
        return found.is_loopback or self._is_open


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


class Credentials(NamedTuple):
    """The token that a person has, and the cookie and page key that browsers receive for it. Neither of the two leads
    back to the token or to the other."""

    token: str

    @property
    def cookie(self) -> str:
        return self._derived(b"cookie")

    @property
    def page_key(self) -> str:
        return self._derived(b"page key")

    def proof(self, nonce: str, answer: bytes) -> str:
        """Shows a hook that an answer is from the server of this archive, and was given to this question."""
        return self._derived(b"answer " + nonce.encode() + b" " + answer)

    def _derived(self, purpose: bytes) -> str:
        return urlsafe_b64encode(hmac.digest(self.token.encode(), purpose, "sha256")).decode().rstrip("=")


class RequestRefused(Exception):
    """A request that is refused."""

    def __init__(
        self,
        status: int,
        reason: str,
        hint: str = "",
        *,
        needs_token: bool = False,
        form: Sequence[tuple[str, str]] | None = None,
    ) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason
        self.hint = hint
        self.needs_token = needs_token
        """Whether the token would help, so that the answer has a field for it."""
        self.form = form
        """The fields of a form that was refused: it can be sent again with the token or the page key."""


_TOO_LARGE = RequestRefused(
    413, f"That is more than this server takes: {LARGEST_BODY:,} bytes.", "Go back and send less at once."
)
_NO_TOKEN = RequestRefused(
    403,
    "This page needs the token of this archive.",
    "It is in the address that `reread serve` prints, and in the file web-token of the archive's folder.",
    needs_token=True,
)
_NO_KEY = (
    403,
    "This browser may read, but not change anything yet.",
    "Give it the token that is in the address that `reread serve` prints.",
)
_OTHER_USER = RequestRefused(
    403,
    "This request comes from another user of this machine.",
    "Open the address that `reread serve` printed in a browser of your own.",
)


class Guard:
    """The outermost layer of the application."""

    def __init__(
        self,
        app: ASGIApp,
        names: Names,
        token: str,
        cookie: str,
        policy: str,
        refuse: Callable[[RequestRefused, Scope], Response],
    ) -> None:
        self.app = app
        self.names = names
        self.credentials = Credentials(token)
        self.cookie = cookie
        self.refuse = refuse
        self.headers = _headers(policy)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        outgoing = _Outgoing(send, self.headers)
        try:
            if self._check(scope):
                outgoing.cookie = f"{self.cookie}={self.credentials.cookie}; Path=/; HttpOnly; SameSite=Strict"
                scope["page_key"] = self.credentials.page_key
            if scope["method"] not in _READING:
                body = await _body(receive)
                if body is None:
                    return  # the browser disconnected
                self._check_key(Headers(scope=scope), body)
                receive = _Again(body, receive)
            await self.app(scope, receive, outgoing)
        except RequestRefused as refused:
            await self.refuse(refused, scope)(scope, receive, outgoing)

    def _check(self, scope: Scope) -> bool:
        """Raises RequestRefused. True if the token came in the address, so that the browser must get the cookie."""
        headers = Headers(scope=scope)
        if not self.names.has(headers.get("host", "")):
            raise RequestRefused(
                421, "This is not the name of this server.", "Open the address that `reread serve` printed."
            )
        if len(scope["path"]) + len(scope["query_string"]) > LONGEST_ADDRESS:
            raise RequestRefused(414, "The address is too long.")
        self._check_origin(scope["method"], headers)
        if not headers.get("content-length", "0").isdecimal():
            raise RequestRefused(400, "The request does not say how long it is.")
        if scope["method"] in _READING and _is_free(scope["path"]):
            return False
        given = parse_qs(scope["query_string"].decode("latin-1")).get(TOKEN_FIELD, [""])[0]
        if scope["method"] in _READING and _is_same(given, self.credentials.token):
            return True
        if not any(
            _is_same(value, self.credentials.cookie) for value in _cookies(headers.get("cookie", ""), self.cookie)
        ):
            raise _NO_TOKEN
        if is_other_user(scope):
            raise _OTHER_USER
        return False

    def _check_key(self, headers: Headers, body: bytes) -> None:
        """The page key, or the token itself, which a person without scripts types into the form that was refused."""
        is_form = headers.get("content-type", "").startswith("application/x-www-form-urlencoded")
        form = parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True) if is_form else []
        fields = dict(form)
        key, token = headers.get(KEY_HEADER) or fields.get(KEY_FIELD, ""), fields.get(TOKEN_FIELD, "")
        if not _is_same(key, self.credentials.page_key) and not _is_same(token, self.credentials.token):
            raise RequestRefused(*_NO_KEY, needs_token=True, form=form if is_form else None)

    def _check_origin(self, method: str, headers: Headers) -> None:
        """A request that changes something must come from a page of ours; one that reads must not come from others'."""
        origin = headers.get("origin")
        # Only the same name counts: another of our names, such as 127.0.0.2, may be another server at the same port.
        is_ours = origin is not None and origin.lower() == f"http://{headers['host'].strip().lower()}"
        site = headers.get("sec-fetch-site", "same-origin")
        is_foreign = (origin is not None and not is_ours) or (method not in _READING and site != "same-origin")
        if is_foreign or (method not in _READING and not is_ours):
            raise RequestRefused(
                403, "This request comes from elsewhere.", "Only pages of this server may ask for that."
            )


def _is_free(path: str) -> bool:
    """Whether a path needs no token. A path below a static file does: its answer is a page whose frame shows facts of
    the archive."""
    return path.startswith(_FREE) and "/" not in path.removeprefix(_FREE)


def _is_same(given: str, expected: str) -> bool:
    return secrets.compare_digest(given.encode("utf-8", "replace"), expected.encode())


class _Outgoing:
    """Puts our headers on every answer."""

    def __init__(self, send: Send, headers: dict[str, str]) -> None:
        self._send = send
        self._headers = headers
        self.cookie = ""

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in self._headers.items():
                headers[name] = value
            # Otherwise the Back button would show old pages, and the browser would keep conversations on disk.
            headers.setdefault("cache-control", "no-store")
            if self.cookie:
                headers.append("set-cookie", self.cookie)
        await self._send(message)


async def _body(receive: Receive) -> bytes | None:
    """The whole body; None if the browser disconnects before its end. Raises RequestRefused if it is too large: the
    server discards the rest after the answer, as long as the connection stays open. A browser that cannot send to the
    end shows a broken connection instead of our answer."""
    parts: list[bytes] = []
    taken = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        parts.append(message.get("body", b""))
        taken += len(parts[-1])
        if taken > LARGEST_BODY:
            raise _TOO_LARGE
        if not message.get("more_body", False):
            return b"".join(parts)


class _Again:
    """Replays a body that was already read, so that the page can read it."""

    def __init__(self, body: bytes, receive: Receive) -> None:
        self._body: bytes | None = body
        self._receive = receive

    async def __call__(self) -> Message:
        if self._body is None:
            return await self._receive()
        body, self._body = self._body, None
        return {"type": "http.request", "body": body, "more_body": False}


def is_other_user(scope: Scope) -> bool:
    """Whether the program at the other end belongs to another user of this machine, as far as Linux can tell. Root does
    not count as another user, because root can read everything here anyway."""
    client, server = scope.get("client"), scope.get("server")
    if sys.platform != "linux" or client is None or server is None or not is_loopback(client[0]):
        return False
    owner = _owner_of_socket(tuple(client), tuple(server))
    return owner is not None and owner not in (0, os.getuid())


def _owner_of_socket(local: tuple[str, int], remote: tuple[str, int]) -> int | None:
    """The user who owns the `local` end of a connection; None if the machine does not say."""
    try:
        ends = [_as_kernel_writes(*local), _as_kernel_writes(*remote)]
        table = Path("/proc/net/tcp6" if ":" in local[0] else "/proc/net/tcp").read_text("ascii")
    except (OSError, ValueError):
        return None
    rows = (line.split() for line in table.splitlines()[1:])
    return next((int(row[7]) for row in rows if row[1:3] == ends), None)


def _as_kernel_writes(host: str, port: int) -> str:
    packed = socket.inet_pton(socket.AF_INET6 if ":" in host else socket.AF_INET, host)
    words = (packed[at : at + 4] for at in range(0, len(packed), 4))
    order = -1 if sys.byteorder == "little" else 1
    return f"{b''.join(word[::order] for word in words).hex().upper()}:{port:04X}"


def _headers(policy: str) -> dict[str, str]:
    return {
        "content-security-policy": policy,
        "x-content-type-options": "nosniff",
        "x-frame-options": "DENY",
        # Nothing to other sites. With `no-referrer`, we would not learn either which page sent a form.
        "referrer-policy": "same-origin",
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
        "permissions-policy": "camera=(), geolocation=(), microphone=()",
    }


def _cookies(header: str, name: str) -> Iterator[str]:
    """All cookies of that name. Servers at other ports of this machine have theirs in the same header, and the standard
    library drops all of them if one is malformed."""
    for each in header.split(";"):
        found, _, value = each.strip().partition("=")
        if found == name:
            yield value
