"""Live: all running sessions, one of them while it happens, and how to start or continue one."""

from __future__ import annotations

import asyncio
import os
import re
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from msgspec.json import encode
from msgspec.structs import replace
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from reread.archive import StoredSession, listing
from reread.blocks.model import CallBlock, ShownBlock, ThinkingBlock
from reread.config import expanded
from reread.errors import BadInput, ClientError, RereadError
from reread.features.activity import Activity, Doing, activity_of
from reread.live.approvals import Approval, ApprovalQueue, WaitingElsewhere
from reread.live.client import POLICIES, Policy
from reread.live.events import Permission
from reread.live.transport import Resumed, is_folder, program, resumed
from reread.loading import last_of
from reread.sessions import Session
from reread.views.calls import tool_label
from reread.views.html.call_parts import MOST_SUGGESTIONS, asking_of
from reread.views.reports import activity_words
from reread.views.screen import outcome_of
from reread.views.session_list import last_part
from reread.views.text import harmless, shorten

from . import pages
from .archive_pool import link_name
from .dialogs import Dialog, Dialogs
from .paging import FIRST_STEPS, PageSlice
from .runs import MOST_AT_ONCE, NOT_HERE, Asker, Driver, Run, RunRequest, checked_prompt, decision_of
from .session_view import SessionView, more_of, part_base, part_in, record_in, states_in, stops_in, where_in
from .updates import BEAT, server_event

RECENT = timedelta(minutes=30)
"""A session whose file did not grow for longer is not listed, because its terminal may have been closed."""
MOST_OTHERS = 30
JSON = "application/json"
_MOST_LOOKED_INTO = 3
"""How many files of a session, the newest, are read for the time of their last line: its own and those of agents."""
_ORDER = {Doing.ASKING: 0, Doing.WAITING: 2, Doing.SILENT: 3, Doing.ENDED: 4}
_RUNS = 1
"""The place of all others in that order: they are working and need nobody."""


class RunningRow(NamedTuple):
    """A session that runs, as it was when this was made in the event loop, so that any thread can use it."""

    href: str
    session: str
    title: str
    folder: str
    activity: Activity
    time: datetime | None
    """When it was begun here, or its last line elsewhere."""
    id: str = ""
    problem: str = ""
    is_here: bool = False
    """Whether this server runs it."""
    open_permissions: Sequence[Permission] = ()
    """The questions it waits for, oldest first."""
    asked_at: Mapping[str, datetime] = MappingProxyType({})
    """When each was asked, by its request."""

    @property
    def project(self) -> str:
        return last_part(self.folder) or self.folder or "no project"

    @property
    def words(self) -> str:
        return activity_words(self.activity)


def runs_of(site: pages.Site) -> list[RunningRow]:
    """All clients that run or ask here. Called outside the event loop, it may be slightly out of date."""
    return [
        RunningRow(
            run.href,
            run.session_id,
            run.title,
            run.folder,
            run.activity,
            run.began,
            run.id,
            run.problem,
            not isinstance(run, Dialog),
            () if run.has_ended else run.open_permissions,
            {each.request_id: run.asked_at(each) for each in run.open_permissions},
        )
        for run in _askers(site)
    ]


def _askers(site: pages.Site) -> list[Asker]:
    """The clients that this server runs, and the dialogs of others; newest first."""
    return [*site.part(Dialogs).waiting, *site.part(Driver).runs]


def queue_of(site: pages.Site, runs: Sequence[RunningRow]) -> dict[str, Any]:
    """All questions that wait for an answer here, the oldest session first, and the log of answers."""
    waiting = [(run, asking_of(each, run.folder)) for run in reversed(runs) for each in run.open_permissions]
    return {"queue": waiting, "answered": list(site.part(Driver).answered), "tool_label": tool_label}


def waiting(request: Request) -> Response:
    """How many questions wait, for the header of every page."""
    return Response(str(request.app.state.waiting()), media_type="text/plain")


async def approvals(request: Request) -> Response:
    """The queue and the log as JSON for `reread approvals`, with sessions that may wait in terminals of their own."""
    site = pages.site_of(request)
    runs = runs_of(site)
    waiting = tuple(_approval(run, permission) for run in reversed(runs) for permission in run.open_permissions)
    answered = tuple(each.given for each in site.part(Driver).answered)
    driven = {run.session for run in runs}
    others = await run_in_threadpool(lambda: [row for row in _others(site, driven) if row.activity.needs_person])
    elsewhere = tuple(
        WaitingElsewhere(session=row.href.removeprefix("/s/"), title=row.title, project=row.folder, doing=row.words)
        for row in others
    )
    return Response(encode(ApprovalQueue(waiting=waiting, answered=answered, elsewhere=elsewhere)), media_type=JSON)


def _approval(run: RunningRow, permission: Permission) -> Approval:
    at = run.asked_at[permission.request_id]
    return Approval(
        run=run.id,
        session=run.session,
        title=run.title,
        project=run.folder,
        asked_at=at,
        waits_seconds=max(0.0, (datetime.now(UTC) - at).total_seconds()),
        # Only as many as the page shows: nobody can agree to what is not shown.
        permission=replace(permission, suggestions=permission.suggestions[:MOST_SUGGESTIONS]),
    )


def running(site: pages.Site, runs: Sequence[RunningRow]) -> dict[str, Any]:
    """The rows of the list, and what it puts before the title of the tab."""
    rows = [*runs, *_others(site, {run.session for run in runs})]
    rows.sort(key=lambda row: (_ORDER.get(row.activity.doing, _RUNS), row.activity.is_guess))
    return {"running": rows, "waiting": _waiting([row.activity for row in rows])}


def _waiting(activities: Sequence[Activity]) -> str:
    """`(2) ` if two wait for the person, `(1?) ` if one may be waiting."""
    asking = [each for each in activities if each.needs_person]
    certain = [each for each in asking if not each.is_guess]
    if certain:
        return f"({len(certain)}) "
    return f"({len(asking)}?) " if asking else ""


def _others(site: pages.Site, driven: set[str]) -> list[RunningRow]:
    now = site.settings.now
    with site.library.archive() as archive:
        recent = [
            stored
            for stored in listing.going_on_since(archive.inner.connection, now - RECENT)
            if is_recent(stored, now) and stored.row.uuid not in driven and not stored.mark.hidden
        ]
        open_still = [stored for stored in recent if not archive.inner.saw_end(stored)]
    return [_of_other(stored) for stored in open_still[:MOST_OTHERS]]


def is_recent(stored: StoredSession, now: datetime) -> bool:
    """Whether a session was active lately, by its file and by its last line: a copied file is newer than its lines."""
    written = (stored.mtime_ns or 0) / 1e9
    ended = stored.ended.timestamp() if stored.ended is not None else written
    return stored.present and min(written, ended) >= (now - RECENT).timestamp()


def _of_other(stored: StoredSession) -> RunningRow:
    row, activity = stored.row, activity_now(stored)
    title = row.title or "(no title)"
    return RunningRow(f"/s/{link_name(stored)}", row.uuid, title, row.project or "", activity, stored.ended)


def activity_now(stored: StoredSession) -> Activity:
    """What a session is doing, from the last lines of its transcript and the time of its newest line in any file."""
    trunk = next((path for path in stored.files if Path(path).name == f"{stored.row.uuid}.jsonl"), None)
    status = _status(trunk) if trunk is not None else None
    if trunk is None or status is None:
        return Activity(Doing.SILENT, is_guess=True)
    try:
        session = _last_of(trunk, status.st_mtime_ns, status.st_size)
    except (RereadError, OSError):  # it vanished, or can no longer be read
        return Activity(Doing.SILENT, is_guess=True)
    return activity_of(session, max(0.0, time.time() - _last_moment(stored)))


def _last_moment(stored: StoredSession) -> float:
    """The time of the last line in any of its files. The file's own time may be newer, for a copy."""
    states = [(path, status) for path in stored.files if path.endswith(".jsonl") and (status := _status(path))]
    newest = sorted(states, key=lambda state: state[1].st_mtime, reverse=True)[:_MOST_LOOKED_INTO]
    return max((_last_heard(path, status) for path, status in newest), default=0.0)


def _last_heard(path: str, status: os.stat_result) -> float:
    try:
        ended = _last_of(path, status.st_mtime_ns, status.st_size).ended
    except (RereadError, OSError):
        return status.st_mtime
    return status.st_mtime if ended is None else min(status.st_mtime, ended.timestamp())


def _status(path: str) -> os.stat_result | None:
    try:
        return Path(path).stat()
    except OSError:
        return None


@lru_cache(maxsize=MOST_OTHERS * _MOST_LOOKED_INTO)
def _last_of(path: str, _written: int, _size: int) -> Session:
    """The end of a transcript, read again when time or size of the file change."""
    return last_of(Path(path))


LOOK_AGAIN = 3.0
"""Seconds between two looks although nothing changed: how long a session has been silent matters too."""
AT_MOST_EVERY = 0.3
MOST_PROJECTS = 60
_NAME = re.compile(r"[\w.@:/\[\]-]{1,100}")
MODES = {
    "acceptEdits": "accept edits, ask for the rest",
    "plan": "only plan",
    "dontAsk": "deny what is not allowed already",
    "bypassPermissions": "ask for nothing, allow everything",
}
"""The client's permission modes and what they mean."""
WIDER = frozenset({"allow", "mode:acceptEdits", "mode:bypassPermissions"})
"""Choices that allow more than usual; they must be confirmed by typing."""
_EMPTY = {"prompt": "", "permission": "ask", "model": "", "thinking": ""}
_POLICIES = {"ask": "ask me", "allow": "allow whatever asks", "deny": "deny whatever asks"}


async def live(request: Request) -> HTMLResponse:
    return await _page(request, {})


async def _page(request: Request, form: dict[str, str], problem: str = "", status: int = 200) -> HTMLResponse:
    site = pages.site_of(request)
    runs = runs_of(site)

    def made() -> HTMLResponse:
        shown = running(site, runs) | queue_of(site, runs)
        known = _projects(site)
        return pages.page(
            request,
            "live.html",
            f"{shown['waiting']}Live",
            status=status,
            scripts=["sse.js", "live.js"],
            given={**_EMPTY, "folder": known[0] if known else "", **form},
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
    """Why no client could be started now; shown before the person writes a prompt."""
    try:
        program(site.settings.claude, os.environ)
    except ClientError as error:
        return str(error)
    return ""


def _projects(site: pages.Site) -> list[str]:
    """The folders of sessions that still exist, the most recently used first."""
    found = site.library.answer("folders", lambda archive: listing.folders(archive.inner.connection))
    return [project for project in list(found)[:MOST_PROJECTS] if is_folder(project)]


def listed(request: Request) -> HTMLResponse:
    """Only the list, for a page that updates itself."""
    site = pages.site_of(request)
    return pages.fragment("running.html", **running(site, runs_of(site)))


def rail(request: Request) -> HTMLResponse:
    """What waits, one line each."""
    site = pages.site_of(request)
    return pages.fragment("rail.html", **queue_of(site, runs_of(site)))


async def live_events(site: pages.Site) -> AsyncGenerator[str]:
    """The list, whenever it has changed."""
    seen = ""
    while not site.hub.is_closed:
        news = await run_in_threadpool(_list_news, site, runs_of(site))
        if news != seen:
            seen = news
            yield news
        await site.hub.wait(AT_MOST_EVERY)
        await site.hub.wait(LOOK_AGAIN)


def _list_news(site: pages.Site, runs: Sequence[RunningRow]) -> str:
    shown, waiting = running(site, runs), queue_of(site, runs)
    return server_event(
        "/live",
        "list",
        html=pages.render("running.html", **shown),
        queue=pages.render("queue.html", **waiting),
        answered=pages.render("answered.html", **waiting),
        title=f"{shown['waiting']}Live · reread",
    )


async def start(request: Request) -> Response:
    """Starts a new session from the form."""
    form = await pages.form(request)
    given = {name: values[0] for name, values in form.items()}
    try:
        wanted = await run_in_threadpool(_run_request, given)
        run = await pages.site_of(request).part(Driver).start(wanted)
    except RereadError as problem:
        return await _page(request, given, str(problem), status=400)
    return RedirectResponse(f"/live/{run.id}", status_code=303)


def _run_request(form: dict[str, str]) -> RunRequest:
    """Raises BadInput with what to change."""
    prompt, folder = checked_prompt(form.get("prompt", "")), _chosen_folder(form.get("folder", "").strip())
    model = form.get("model", "").strip()
    if model and (not _NAME.fullmatch(model) or model.startswith("-")):
        raise BadInput(f"{model[:100]!r} is not a model name; try opus, sonnet or haiku.")
    thinking = form.get("thinking", "").strip()
    if thinking and (not thinking.isdecimal() or len(thinking) > 7):
        raise BadInput(f"{thinking[:100]!r} is not a number of tokens; leave it empty for the default.")
    policy, mode = _chosen_permission(form.get("permission", "ask"), form.get("confirm", "").strip())
    return RunRequest(prompt, folder, model or None, policy, mode, int(thinking) if thinking else None)


def _chosen_folder(name: str) -> Path:
    if not name:
        raise BadInput("Say in which folder to work.")
    folder = expanded(name[: pages.LONGEST_VALUE])
    if not folder.is_absolute() or "\0" in name or not is_folder(folder):
        raise BadInput(f"{name[:200]!r} is not a folder on this machine; give the full path of one that exists.")
    return folder


def _chosen_permission(permission: str, confirmed: str) -> tuple[Policy, str | None]:
    """The policy, and the client's mode if one was chosen."""
    word = permission.removeprefix("mode:")
    mode = word if permission.startswith("mode:") else None
    if mode is not None and mode not in MODES:
        raise BadInput(f"{mode[:100]!r} is not a known permission mode.")
    if permission in WIDER and confirmed != word:
        raise BadInput(f"That allows more than usual: type {word} in the field below it to confirm.")
    return next((each for each in POLICIES if each == permission), "ask"), mode


async def go_on(request: Request) -> Response:
    """Continues a session of the archive with another prompt; if one of our clients runs it, that client gets it."""
    form = await pages.form(request)
    site = pages.site_of(request)
    stored = await run_in_threadpool(site.library.find, request.path_params["session"])
    prompt, fork = checked_prompt(form.get("prompt", [""])[0]), bool(form.get("fork"))
    run = site.part(Driver).of_session(stored.row.uuid)
    if run is not None and not run.has_ended and not fork:
        await run.say(prompt)
    else:
        run = await _resume(site, stored, prompt, fork=fork)
    return RedirectResponse(f"/live/{run.id}", status_code=303)


class Going(NamedTuple):
    """Whether a session can be continued from its page."""

    run: str = ""
    """The run that already has the session."""
    refusal: str = ""
    warning: str = ""


def going_of(site: pages.Site, name: str) -> Going:
    stored = site.library.find(name)
    run = site.part(Driver).of_session(stored.row.uuid)
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
    """Where a session can be resumed. Raises BadInput, with what to do, if the client could not continue it."""
    found = resumed(stored.row.uuid, stored.row.project, is_there=stored.present)
    if found.folder is None:
        where = stored.row.project or "its folder"
        raise BadInput(f"{where} is not there any more, and Claude Code knows the session only there.")
    return found


async def _resume(site: pages.Site, stored: StoredSession, prompt: str, *, fork: bool) -> Run:
    found = await run_in_threadpool(_folder, stored)
    run = RunRequest(prompt, Path(found.folder or ""), resume=found.session, fork=fork)
    return await site.part(Driver).start(run)


REDRAW_SECONDS = 0.04
"""Seconds between two updates of forming text; each brings everything that arrived in between."""
LONGEST_FAILURE = 2_000
GONE = "It was answered already, or the client does not ask any more."
UNKNOWN = "This server does not know the run any more; what was said in it is kept among the sessions."


def _run_of(request: Request) -> Run:
    run = pages.site_of(request).part(Driver).find(request.path_params["run"])
    if run is None:
        raise HTTPException(404, UNKNOWN)
    return run


async def show(request: Request) -> HTMLResponse:
    run = _run_of(request)
    site, state, read = pages.site_of(request), _state_of(run), run.view_reader()

    def made() -> HTMLResponse:
        values = _shown(site, state)
        view = read()
        branch_pages = view.branch("") if view.branches else None
        page_slice = (
            branch_pages.before(branch_pages.total, FIRST_STEPS) if branch_pages else PageSlice([], [], 0, -1, 0, [])
        )
        return pages.page(
            request,
            "talking.html",
            f"{'(1) ' if values['asked'] else ''}{run.title}",
            scripts=["sse.js", "conversation.js", "live.js"],
            page_slice=page_slice,
            part_base=part_base(request),
            agent_base=part_base(request),
            branch=branch_pages.name if branch_pages else "",
            **values,
        )

    return await run_in_threadpool(made)


def _kept(site: pages.Site, run: Run) -> str:
    """The session's name in addresses; empty until it is imported."""
    try:
        return link_name(site.library.find(run.session_id)) if run.session_id else ""
    except RereadError:
        return ""


def _state_of(run: Run) -> dict[str, Any]:
    """The state of a run apart from its conversation, for any thread; called in the event loop, where it changes."""
    outcome = outcome_of(run.result) if run.result is not None else None
    failure = run.problem or (outcome.failure if outcome is not None and not run.has_told_failure else "")
    return {
        "run": run,
        "version": run.version,
        "words": activity_words(run.activity),
        "doing": run.activity.doing.value,
        "project": run.folder,
        "asked": run.open_permissions,
        "outcome": outcome,
        "failure": harmless(failure)[:LONGEST_FAILURE],
        "note": shorten(run.note, 300),
    }


def _shown(site: pages.Site, state: dict[str, Any]) -> dict[str, Any]:
    asked = [asking_of(each, state["project"]) for each in state["asked"]]
    return {**state, "asked": asked, "kept": _kept(site, state["run"])}


async def now(request: Request) -> HTMLResponse:
    """Only state, questions and outcome, for a page that updates itself."""
    site, state = pages.site_of(request), _state_of(_run_of(request))
    return await run_in_threadpool(lambda: pages.fragment("run_state.html", **_shown(site, state)))


def _of_conversation(made: Callable[[SessionView, Request], Response]) -> Callable[[Request], Awaitable[Response]]:
    """The answer that a saved session's page would give, of the conversation so far."""

    async def answer(request: Request) -> Response:
        read = _run_of(request).view_reader()
        return await run_in_threadpool(lambda: made(read(), request))

    return answer


def _more(view: SessionView, request: Request) -> Response:
    return more_of(view, request) if view.branches else HTMLResponse("", headers={"x-next": "-1", "x-first": "0"})


def _record(view: SessionView, request: Request) -> Response:
    run = _run_of(request)
    return record_in(view, request, back=f"/live/{run.id}", title=run.title)


more, record = _of_conversation(_more), _of_conversation(_record)
part, states, stops, where_is = map(_of_conversation, (part_in, states_in, stops_in, where_in))


async def conversation_events(site: pages.Site, name: str) -> AsyncGenerator[str]:
    """Blocks as they form, and the version of the run; a page that shows another version loads the rest."""
    run, topic = site.part(Driver).find(name), f"/live/{name}"
    seen, sent = -1, dict[str, int]()
    while run is not None and not run.hub.is_closed:
        news = [server_event(topic, "forming", **each) for each in _grown(run, sent)]
        if seen != run.version:
            seen = run.version
            news.append(server_event(topic, "changed", version=seen, forming=list(run.forming)))
        for each in news:
            yield each
        if news:
            await asyncio.sleep(REDRAW_SECONDS)
        else:
            await run.hub.wait(BEAT)
    if not site.hub.is_closed:
        yield server_event(topic, "gone")


def _grown(run: Run, sent: dict[str, int]) -> list[dict[str, Any]]:
    """The text that forming blocks have gained since the last call."""
    for key in [key for key in sent if key not in run.forming]:
        del sent[key]
    found = []
    for key, block in run.forming.items():
        kind, text, name = _letters(block)
        start, end = sent.get(key, 0), len(text)
        if end > start or key not in sent:
            about = {"key": key, "kind": kind, "name": name, "agent": block.place.agent is not None, "at": start}
            found.append({**about, "end": end, "text": harmless(text[start:end])})
            sent[key] = end
    return found


def _letters(block: ShownBlock) -> tuple[str, str, str]:
    """The kind of a forming block, its text so far, and the tool of a call."""
    if isinstance(block, CallBlock):
        return "tool", block.written, block.name
    return "thinking" if isinstance(block, ThinkingBlock) else "text", getattr(block, "text", ""), ""


# What a person does


async def say(request: Request) -> Response:
    run, form = _run_of(request), await pages.form(request)
    await run.say(form.get("prompt", [""])[0])
    return _done(request, run)


async def answer(request: Request) -> Response:
    dialog = pages.site_of(request).part(Dialogs).find(request.path_params["run"])
    run: Asker = dialog or _run_of(request)
    form = await pages.form(request)
    is_first = await run.answer(form.get("request", [""])[0], lambda permission: decision_of(permission, form))
    if not is_first and request.headers.get("x-part"):
        return pages.problem(request.headers, GONE, 409)
    return _done(request, run)


async def interrupt(request: Request) -> Response:
    run = _run_of(request)
    run.interrupt()
    return _done(request, run)


async def end(request: Request) -> Response:
    run = _run_of(request)
    await run.end()
    return _done(request, run)


def _done(request: Request, run: Asker) -> Response:
    if request.headers.get("x-part"):
        return Response(status_code=204)
    return RedirectResponse("/live" if isinstance(run, Dialog) else run.href, status_code=303)
