"""Who may ask what: every request passes here before any page sees it, and every answer on its way out.

A page of a stranger can make a browser send requests to this machine. It can do so under a name of its own that
resolves to it, which the Host tells; from its own place, which the Origin tells; and without the token, which only the
person who started the server has.
"""

from __future__ import annotations

import ipaddress
import secrets
from collections.abc import Callable, Iterable, Iterator
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LONGEST_ADDRESS = 8_000
"""Characters of path and query."""
LARGEST_BODY = 256_000
"""Bytes of what is sent to us."""
_READING = frozenset({"GET", "HEAD"})
_FREE = "/static/"
"""Style and script, which are the same for everybody; all else needs the token."""


class Names:
    """The names that this server answers to, with its port.

    A name can be made to resolve to this machine by anybody; an address cannot. So when the server is told to listen
    for others, addresses are welcome, and of names only its own.
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


class Refused(Exception):
    """A request that goes no further."""

    def __init__(self, status: int, reason: str, hint: str = "") -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason
        self.hint = hint


class Guard:
    """The outermost layer of the application."""

    def __init__(
        self, app: ASGIApp, names: Names, token: str, cookie: str, policy: str, refuse: Callable[[Refused], Response]
    ) -> None:
        self.app = app
        self.names = names
        self.token = token
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
                outgoing.cookie = f"{self.cookie}={self.token}; Path=/; HttpOnly; SameSite=Strict"
            await self.app(scope, _Bounded(receive), outgoing)
        except Refused as refused:
            await self.refuse(refused)(scope, receive, outgoing)

    def _check(self, scope: Scope) -> bool:
        """Raises Refused; tells whether the token came with the address, so that a cookie should keep it."""
        headers = Headers(scope=scope)
        if not self.names.has(headers.get("host", "")):
            raise Refused(421, "This is not the name of this server.", "Open the address that `reread serve` printed.")
        if len(scope["path"]) + len(scope["query_string"]) > LONGEST_ADDRESS:
            raise Refused(414, "The address is too long.")
        self._check_origin(scope["method"], headers)
        if _is_longer(headers.get("content-length", "0"), LARGEST_BODY):
            raise Refused(413, "That is more than this server takes.")
        if scope["method"] in _READING and scope["path"].startswith(_FREE):
            return False
        if any(self._is_ours(value) for value in _cookies(headers.get("cookie", ""), self.cookie)):
            return False
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        if scope["method"] in _READING and self._is_ours(given):
            return True
        hint = "Open the address that `reread serve` printed when it started; the token in it changes with every start."
        raise Refused(403, "This page needs the token of this start.", hint)

    def _check_origin(self, method: str, headers: Headers) -> None:
        """What changes something must come from a page of ours; what reads must not come from a page of others."""
        origin = headers.get("origin")
        # Another of our names may be somebody else's server at the same port: 127.0.0.2 is not 127.0.0.1.
        is_ours = origin is not None and origin.lower() == f"http://{headers['host'].strip().lower()}"
        site = headers.get("sec-fetch-site", "same-origin")
        is_foreign = (origin is not None and not is_ours) or (method not in _READING and site != "same-origin")
        if is_foreign or (method not in _READING and not is_ours):
            raise Refused(403, "This request comes from elsewhere.", "Only pages of this server may ask for that.")

    def _is_ours(self, given: str) -> bool:
        return secrets.compare_digest(given.encode("utf-8", "replace"), self.token.encode())


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
            headers.setdefault("cache-control", "private, no-cache")
            headers.add_vary_header("x-part")  # a piece of a page must not come back in its stead
            if self.cookie:
                headers.append("set-cookie", self.cookie)
        await self._send(message)


class _Bounded:
    """What is sent to us, until it is too much."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._taken = 0

    async def __call__(self) -> Message:
        message = await self._receive()
        self._taken += len(message.get("body", b""))
        if self._taken > LARGEST_BODY:
            raise Refused(413, "That is more than this server takes.")
        return message


def _headers(policy: str) -> dict[str, str]:
    return {
        "content-security-policy": policy,
        "x-content-type-options": "nosniff",
        "x-frame-options": "DENY",
        # Nothing to others. With `no-referrer` a browser would not tell us either where a form was sent from.
        "referrer-policy": "same-origin",
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
        "permissions-policy": "camera=(), geolocation=(), microphone=()",
    }


def _is_longer(length: str, most: int) -> bool:
    return not length.isdecimal() or int(length[:20]) > most


def _cookies(header: str, name: str) -> Iterator[str]:
    """All of that name, as browsers write them. Servers at other ports of this machine have theirs in the same header,
    and the standard library drops all of them where one is odd."""
    for each in header.split(";"):
        found, _, value = each.strip().partition("=")
        if found == name:
            yield value
