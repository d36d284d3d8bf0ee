"""Dialogs of clients on screens of their own, which a hook brings here (`reread hook install --approvals`).

The hook's request stays open as long as its question: the answer to it is what the person decides, and a hook that ends
takes its question out of the queue. Nothing here answers by itself.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from msgspec.json import encode
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from reread.errors import BadInput, RereadError
from reread.features.activity import Activity, Doing
from reread.live import outgoing
from reread.live.events import Permission
from reread.live.outgoing import Decision
from reread.records.client_input import HookInput, read_hook_input

from . import pages
from .archive_pool import link_name
from .guard import Credentials
from .runs import NOT_HERE, Answered, answered_now

MOST_WAITING = 20


class Dialog:
    """One question that a client asks on its own screen, too; there or here, the first answer counts."""

    problem = ""
    has_ended = False

    def __init__(self, asked: HookInput, permission: Permission, title: str, href: str) -> None:
        self.id = secrets.token_hex(9)
        self.session_id = asked.session or ""
        self.title = title
        self.href = href
        self.folder = asked.folder or ""
        self.began = datetime.now(UTC)
        self.permission = permission
        self.activity = Activity(Doing.ASKING, permission.tool)
        self.decided: asyncio.Future[Decision] = asyncio.get_running_loop().create_future()

    @property
    def open_permissions(self) -> list[Permission]:
        return [] if self.decided.done() else [self.permission]

    def asked_at(self, _permission: Permission) -> datetime:
        return self.began

    async def answer(self, request: str, decide: Callable[[Permission], Decision]) -> bool:
        """False if it needs no answer any more."""
        if request != self.permission.request_id or self.decided.done():
            return False
        self.decided.set_result(decide(self.permission))
        return True


class Dialogs:
    """All that wait."""

    def __init__(
        self, credentials: Credentials, on_answer: Callable[[Answered], None], on_news: Callable[[], None]
    ) -> None:
        self.credentials = credentials
        self._on_answer = on_answer
        self._on_news = on_news
        self._waiting: dict[str, Dialog] = {}

    @property
    def waiting(self) -> list[Dialog]:
        """Newest first."""
        return list(reversed(self._waiting.values()))

    def find(self, name: str) -> Dialog | None:
        return self._waiting.get(name)

    async def decision(self, dialog: Dialog, request: Request) -> Decision | None:
        """What the person decides; None if the hook or this server ends before."""
        if len(self._waiting) >= MOST_WAITING:
            raise BadInput(f"{MOST_WAITING} dialogs wait here already")
        self._waiting[dialog.id] = dialog
        self._on_news()
        leaving = asyncio.create_task(pages.left(request))
        try:
            either: list[asyncio.Future[Any]] = [leaving, dialog.decided]
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if leaving.done() or dialog.decided.cancelled():
                return None
            self._on_answer(answered_now(dialog, dialog.permission, dialog.decided.result(), by_policy=False))
            return dialog.decided.result()
        finally:
            leaving.cancel()
            dialog.decided.cancel()
            del self._waiting[dialog.id]
            self._on_news()

    def dismiss(self) -> None:
        """Gives all questions back to their screens, because the server ends. Must be called in the event loop."""
        for dialog in self._waiting.values():
            dialog.decided.cancel()


async def ask(request: Request) -> Response:
    """The question of a hook; the answer is what the hook prints, after a proof that it comes from this server."""
    site = pages.site_of(request)
    if not site.settings.may_run:
        raise BadInput(NOT_HERE)
    asked = read_hook_input(await request.body())
    permission = _permission(asked)
    title, href = await run_in_threadpool(_known_as, site, asked.session or "")
    dialogs = site.part(Dialogs)
    decision = await dialogs.decision(Dialog(asked, permission, title, href), request)
    if decision is None:
        return Response(status_code=204)
    verdict = outgoing.verdict(decision, permission.input)
    answer = outgoing.line({"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": verdict}})
    proof = dialogs.credentials.proof(request.query_params.get("nonce", ""), answer)
    return Response(proof.encode() + b"\n" + answer, media_type="application/octet-stream")


def _permission(asked: HookInput) -> Permission:
    """Raises BadInput if it does not tell all that would be permitted, or cannot be sent to a terminal or a page."""
    try:
        encode([asked.session, asked.folder, asked.agent, asked.tool, asked.input, asked.suggestions])
    except (ValueError, OverflowError, RecursionError) as error:  # half a letter, too deep
        raise BadInput(f"the question cannot be shown whole ({error})") from error
    plan = asked.input.get("plan") if isinstance(asked.input, dict) else None
    permission = Permission(
        request_id=secrets.token_hex(9),
        tool=asked.tool or "",
        input=asked.input,
        agent=asked.agent,
        suggestions=tuple(asked.suggestions),
        plan=plan if isinstance(plan, str) else None,
    )
    if not permission.tool or not isinstance(permission.input, dict):
        raise BadInput("that is no question of a PermissionRequest hook")
    if permission.is_plan and not permission.plan:
        raise BadInput("the client does not tell its plan to hooks: answer it on its own screen")
    return permission


def _known_as(site: pages.Site, session: str) -> tuple[str, str]:
    """Title and address of a session; it may not be imported yet."""
    try:
        stored = site.library.find(session)
    except RereadError:
        return "a session in a terminal", "/live"
    return stored.row.title or "(no title)", f"/s/{link_name(stored)}"
