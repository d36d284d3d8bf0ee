"""Live: every session that runs, and how to start one or to go on with one."""

from __future__ import annotations

import os
import re
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import NamedTuple

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from reread.analyses.activity import Doing
from reread.archive import StoredSession
from reread.config import expanded
from reread.errors import BadInput, ClientError, RereadError
from reread.live.policies import POLICIES, Policy
from reread.live.starting import Resumed, is_folder, program, resumed

from . import pages
from .driving import MOST_AT_ONCE, NOT_HERE, Run, Wanted, checked_prompt
from .news import told
from .running import activity_now, is_recent, running, runs_of

LOOK_AGAIN = 3.0
"""Seconds: how long a session is silent says something, too."""
AT_MOST_EVERY = 0.3
MOST_PROJECTS = 60
_NAME = re.compile(r"[\w.@:/\[\]-]{1,100}")
MODES = {
    "acceptEdits": "accept edits, ask for the rest",
    "plan": "only plan",
    "dontAsk": "deny what is not allowed already",
    "bypassPermissions": "ask for nothing, allow everything",
}
"""The client's own, by what they mean."""
WIDER = frozenset({"allow", "mode:acceptEdits", "mode:bypassPermissions"})
"""Permissions beyond the usual ones; they must be typed besides being chosen."""
_EMPTY = {"prompt": "", "permission": "ask", "model": "", "thinking": ""}
_POLICIES = {"ask": "ask me", "allow": "allow whatever asks", "deny": "deny whatever asks"}


async def live(request: Request) -> HTMLResponse:
    return await _page(request, {})


async def _page(request: Request, given: dict[str, str], problem: str = "", status: int = 200) -> HTMLResponse:
    site = pages.site_of(request)
    runs = runs_of(site)

    def made() -> HTMLResponse:
        shown = running(site, runs)
        known = _projects(site)
        return pages.page(
            request,
            "live.html",
            f"{shown['waiting']}Live",
            status=status,
            scripts=["hearing.js", "live.js"],
            given={**_EMPTY, "folder": known[0] if known else "", **given},
            known=known,
            problem=problem,
            policies=_POLICIES,
            modes=MODES,
            wider=sorted(WIDER),
            refusal="" if site.settings.may_run else NOT_HERE,
            missing=_missing(site),
            most=MOST_AT_ONCE,
            **shown,
        )

    return await run_in_threadpool(made)


def _missing(site: pages.Site) -> str:
    """Why no client could be started now, so that nobody writes a prompt in vain."""
    try:
        program(site.settings.claude, os.environ)
    except ClientError as error:
        return str(error)
    return ""


def _projects(site: pages.Site) -> list[str]:
    """The folders that were worked in, the last one first, as far as they still exist."""
    found = dict.fromkeys(each.stored.row.project for each in site.library.sessions() if each.stored.row.project)
    return [project for project in list(found)[:MOST_PROJECTS] if project and is_folder(project)]


def listed(request: Request) -> HTMLResponse:
    """The list alone, for a page to look again."""
    site = pages.site_of(request)
    return pages.fragment("running.html", **running(site, runs_of(site)))


async def heard(site: pages.Site) -> AsyncGenerator[str]:
    """The list whenever it is another."""
    seen = ""
    while not site.hub.is_closed:
        shown = await run_in_threadpool(running, site, runs_of(site))
        html = pages.render("running.html", **shown)
        news = told("/live", "list", html=html, title=f"{shown['waiting']}Live · reread")
        if news != seen:
            seen = news
            yield news
        await site.hub.wait(AT_MOST_EVERY)
        await site.hub.wait(LOOK_AGAIN)


async def start(request: Request) -> Response:
    """A new session, from the form."""
    form = await pages.form(request)
    given = {name: values[0] for name, values in form.items()}
    try:
        wanted = await run_in_threadpool(_wanted, given)
        run = await pages.site_of(request).driver.start(wanted)
    except RereadError as problem:
        return await _page(request, given, str(problem), status=400)
    return RedirectResponse(f"/live/{run.id}", status_code=303)


def _wanted(given: dict[str, str]) -> Wanted:
    """Raises BadInput with what to change."""
    prompt = checked_prompt(given.get("prompt", ""))
    name = given.get("folder", "").strip()
    if not name:
        raise BadInput("Say in which folder to work.")
    folder = expanded(name[: pages.LONGEST_VALUE])
    if not folder.is_absolute() or "\0" in name or not is_folder(folder):
        raise BadInput(f"{name[:200]!r} is no folder on this machine; give the whole path of one that exists.")
    model = given.get("model", "").strip()
    if model and (not _NAME.fullmatch(model) or model.startswith("-")):
        raise BadInput(f"{model[:100]!r} is no name of a model; try opus, sonnet or haiku.")
    thinking = given.get("thinking", "").strip()
    if thinking and (not thinking.isdecimal() or len(thinking) > 7):
        raise BadInput(f"{thinking[:100]!r} is no number of tokens; leave it empty for the usual.")
    permission = given.get("permission", "ask")
    mode = permission.removeprefix("mode:") if permission.startswith("mode:") else None
    policy: Policy = next((each for each in POLICIES if each == permission), "ask")
    if mode is not None and mode not in MODES:
        raise BadInput(f"{mode[:100]!r} is no permission mode that is known here.")
    word = permission.removeprefix("mode:")
    if permission in WIDER and given.get("confirm", "").strip() != word:
        raise BadInput(f"That allows more than usual: type {word} in the field below it to confirm.")
    return Wanted(prompt, folder, model or None, policy, mode, int(thinking) if thinking else None)


async def go_on(request: Request) -> Response:
    """A session that is kept, with another prompt; where a client of ours has it, that client gets the prompt."""
    form = await pages.form(request)
    site = pages.site_of(request)
    stored = await run_in_threadpool(site.library.find, request.path_params["session"])
    prompt, fork = checked_prompt(form.get("prompt", [""])[0]), bool(form.get("fork"))
    run = site.driver.of_session(stored.row.uuid)
    if run is not None and not run.has_ended and not fork:
        await run.say(prompt)
    else:
        run = await _resume(site, stored, prompt, fork=fork)
    return RedirectResponse(f"/live/{run.id}", status_code=303)


class Going(NamedTuple):
    """Whether a session can be gone on with from its page."""

    run: str = ""
    """The run that has it already."""
    refusal: str = ""
    warning: str = ""


def going_of(site: pages.Site, name: str) -> Going:
    stored = site.library.find(name)
    run = site.driver.of_session(stored.row.uuid)
    if run is not None and not run.has_ended:
        return Going(run=run.id)
    if not site.settings.may_run:
        return Going(refusal=NOT_HERE)
    try:
        _folder(stored)
    except BadInput as problem:
        return Going(refusal=str(problem))
    doing = activity_now(stored).doing if is_recent(stored, site.settings.now) else Doing.ENDED
    is_open = doing not in (Doing.ENDED, Doing.SILENT)
    return Going(warning="It may be open in a terminal; a fork leaves that one alone." if is_open else "")


def _folder(stored: StoredSession) -> Resumed:
    """Raises BadInput with what to do, where the client could not go on with it."""
    found = resumed(stored.row.uuid, stored.row.project, is_there=stored.present)
    if found.folder is None:
        where = stored.row.project or "its folder"
        raise BadInput(f"{where} is not there any more, and Claude Code knows the session only there.")
    return found


async def _resume(site: pages.Site, stored: StoredSession, prompt: str, *, fork: bool) -> Run:
    found = await run_in_threadpool(_folder, stored)
    wanted = Wanted(prompt, Path(found.folder or ""), resume=found.session, fork=fork)
    return await site.driver.start(wanted)
