"""What a server stores in the archive's folder: the token, and the address of a running server."""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode

from reread.errors import BadInput
from reread.home import make_home

from .guard import KEY_HEADER, Credentials

TOKEN_FILE, SERVER_FILE = "web-token", "web-server.json"
DEFAULT_PORT = 7383
PORTS = range(DEFAULT_PORT, DEFAULT_PORT + 10)
"""Tried in this order, so that a person's second archive keeps its address, too."""
PATIENCE = 2.0
"""Seconds in which a running server must answer that it is there."""
ANSWERS_WITHIN = 20.0
"""Seconds for all further requests; the server may be busy with a sync."""
_TOKEN = re.compile(r"[\w-]{30,100}")


def kept_token(home: Path, *, is_new: bool = False) -> str:
    """The token of this archive; made on first use, or if `is_new`."""
    path = home / TOKEN_FILE
    try:
        make_home(home)
        found = "" if is_new else _read(path)
        if _TOKEN.fullmatch(found):
            if os.name == "posix":
                path.chmod(0o600)
            return found
        return _written(path, secrets.token_urlsafe(24))
    except OSError as error:
        raise BadInput(f"{path}: cannot be kept ({error.strerror or error})") from error


def _read(path: Path) -> str:
    try:
        return path.read_text("ascii").strip()
    except (FileNotFoundError, UnicodeDecodeError):
        return ""


def _written(path: Path, text: str) -> str:
    """Writes a file completely or not at all; others cannot read it at any moment."""
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    with os.fdopen(os.open(part, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "w", encoding="ascii") as file:
        file.write(text)
    part.replace(path)
    return text


class RunningServer(NamedTuple):
    """A running server."""

    host: str
    port: int
    token: str

    def address(self, path: str = "/") -> str:
        """An address with the token, ready to be opened; `path` may have a query and a fragment."""
        head, mark, fragment = path.partition("#")
        joint = "&" if "?" in head else "?"
        return f"{self.origin}{head}{joint}token={self.token}{mark}{fragment}"

    @property
    def origin(self) -> str:
        return f"http://{shown_host(self.host)}:{self.port}"

    def ask(self, path: str) -> bytes:
        """The JSON that it answers. Raises BadInput if it does not answer."""
        return self._request("GET", path, {})

    def send(self, path: str, form: Mapping[str, str | Sequence[str]]) -> None:
        """Sends a form as one of its own pages would. Raises BadInput with the server's objection."""
        key = {KEY_HEADER: Credentials(self.token).page_key, "Origin": self.origin}
        self._request("POST", path, {**key, "Content-Type": "application/x-www-form-urlencoded"}, urlencode(form, True))

    def ask_person(self, question: bytes) -> bytes:
        """What a person answers in the queue to the question of a hook, however late; empty if the server ends before.
        Raises BadInput if it does not take the question, or if whoever listens there cannot prove to be the server."""
        credentials, nonce = Credentials(self.token), secrets.token_hex(16)
        headers = {KEY_HEADER: credentials.page_key, "Origin": self.origin, "Content-Type": "application/json"}
        given = self._request("POST", f"/live/ask?nonce={nonce}", headers, question, within=None)
        proof, _, answer = given.partition(b"\n")
        if given and not secrets.compare_digest(proof, credentials.proof(nonce, answer).encode()):
            raise BadInput(f"what listens at {self.origin} is not the reread serve of this archive")
        return answer

    def _request(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: str | bytes | None = None,
        within: float | None = ANSWERS_WITHIN,
    ) -> bytes:
        connection = self.connection(within)
        try:
            sent = {**self.cookie, **headers, "Accept": "application/json", "X-Part": "1"}
            connection.request(method, path, body, sent)
            answer = connection.getresponse()
            text = answer.read()
        except (OSError, HTTPException) as error:
            raise BadInput(f"reread serve at {self.origin} does not answer ({error})") from error
        finally:
            connection.close()
        if answer.status >= HTTPStatus.BAD_REQUEST:
            raise BadInput(_problem(text) or f"reread serve at {self.origin} refuses this ({answer.status})")
        return text

    def connection(self, timeout: float | None) -> HTTPConnection:
        return HTTPConnection(shown_host(self.host).strip("[]"), self.port, timeout=timeout)

    @property
    def cookie(self) -> dict[str, str]:
        """The cookie derived from the token. The token itself is not sent: another program may listen there by now."""
        return {"Cookie": f"{cookie_name(self.port)}={Credentials(self.token).cookie}"}


@contextmanager
def noted(home: Path, host: str, port: int) -> Iterator[None]:
    """Stores the address of the server while it runs, so that other processes find it."""
    path = home / SERVER_FILE
    document = json.dumps({"host": host, "port": port, "pid": os.getpid()})
    with contextlib.suppress(OSError):  # then others do not find it; the server runs all the same
        _written(path, document)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            if path.read_text("ascii") == document:
                path.unlink()


def running_server(home: Path) -> RunningServer | None:
    """The server that runs on this archive, if it answers to the stored token."""
    try:
        document = json.loads(_read(home / SERVER_FILE) or "{}")
        found = RunningServer(str(document["host"]), int(document["port"]), _read(home / TOKEN_FILE))
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return found if found.token and _answers(found) else None


def _problem(text: bytes) -> str:
    try:
        return str(json.loads(text)["problem"])
    except (ValueError, KeyError, TypeError):
        return ""


def _answers(found: RunningServer) -> bool:
    connection = found.connection(PATIENCE)
    try:
        connection.request("GET", "/alive", headers=found.cookie)
        return connection.getresponse().status == 200
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()


def cookie_name(port: int) -> str:
    return f"reread-{port}"


def shown_host(host: str) -> str:
    """The host to open: for a server that listens on all addresses, the loopback address."""
    if host in ("0.0.0.0", "::", ""):  # noqa: S104  the person asked for it
        return "127.0.0.1" if host != "::" else "[::1]"
    return f"[{host}]" if ":" in host else host
