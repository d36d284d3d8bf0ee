"""A session while it happens: what forms, what is asked and answered, what is said next."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import Any, NamedTuple, Self

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from reread.analyses.activity import Activity
from reread.blocks.model import CallBlock, ShownBlock, ThinkingBlock
from reread.errors import RereadError
from reread.live.events import Permission, TurnResult
from reread.render.activity import activity_words
from reread.render.html.calls import asking_of
from reread.render.outcome import outcome_of
from reread.render.text import harmless, shorten

from . import pages
from .answering import decision_of
from .driving import Run
from .library import link_name
from .news import BEAT, told
from .reading import Reading, more_of, part_base, part_in, record_in, states_in, stops_in, where_in
from .unfolding import FIRST_STEPS, Stretch

AT_MOST_EVERY = 0.04
"""Seconds: a page is told of new letters so often, of all that came meanwhile at once."""
LONGEST_FAILURE = 2_000
GONE = "It was answered already, or the client does not ask any more."


def _run_of(request: Request) -> Run:
    run = pages.site_of(request).driver.find(request.path_params["run"])
    if run is None:
        raise HTTPException(404)
    return run


async def show(request: Request) -> HTMLResponse:
    run = _run_of(request)
    site, seen, read = pages.site_of(request), _Now.of(run), run.reading()

    def made() -> HTMLResponse:
        values = seen.shown(site)
        reading = read()
        unfolding = reading.branch("") if reading.branches else None
        stretch = unfolding.before(unfolding.total, FIRST_STEPS) if unfolding else Stretch([], [], 0, -1, 0, [])
        return pages.page(
            request,
            "talking.html",
            f"{'(1) ' if values['asked'] else ''}{run.title}",
            scripts=["hearing.js", "reading.js", "live.js"],
            stretch=stretch,
            part_base=part_base(request),
            agent_base=part_base(request),
            branch=unfolding.name if unfolding else "",
            **values,
        )

    return await run_in_threadpool(made)


def _kept(site: pages.Site, run: Run) -> str:
    """What addresses call it in the archive; empty until it was taken in."""
    try:
        return link_name(site.library.find(run.session_id)) if run.session_id else ""
    except RereadError:
        return ""


class _Now(NamedTuple):
    """What of a run is no part of the conversation, as the loop knew it a moment ago."""

    run: Run
    version: int
    activity: Activity
    asked: list[Permission]
    result: TurnResult | None
    problem: str
    has_told_failure: bool
    note: str

    @classmethod
    def of(cls, run: Run) -> Self:
        told = run.has_told_failure
        return cls(run, run.version, run.activity, run.asked, run.result, run.problem, told, run.note)

    def shown(self, site: pages.Site) -> dict[str, Any]:
        project = str(self.run.wanted.folder)
        outcome = outcome_of(self.result) if self.result is not None else None
        failure = self.problem or (outcome.failure if outcome is not None and not self.has_told_failure else "")
        return {
            "run": self.run,
            "version": self.version,
            "words": activity_words(self.activity),
            "doing": self.activity.doing.value,
            "project": project,
            "asked": [asking_of(each, project) for each in self.asked],
            "outcome": outcome,
            "failure": harmless(failure)[:LONGEST_FAILURE],
            "note": shorten(self.note, 300),
            "kept": _kept(site, self.run),
        }


async def now(request: Request) -> HTMLResponse:
    """State, questions and outcome alone, for the page to look again."""
    site, seen = pages.site_of(request), _Now.of(_run_of(request))
    return await run_in_threadpool(lambda: pages.fragment("now.html", **seen.shown(site)))


async def more(request: Request) -> Response:
    return await _read(request, lambda reading: more_of(reading, request) if reading.branches else _nothing())


async def part(request: Request) -> Response:
    return await _read(request, lambda reading: part_in(reading, request))


async def states(request: Request) -> Response:
    return await _read(request, lambda reading: states_in(reading, request))


async def stops(request: Request) -> Response:
    return await _read(request, lambda reading: stops_in(reading, request))


async def where_is(request: Request) -> Response:
    return await _read(request, lambda reading: where_in(reading, request))


async def record(request: Request) -> Response:
    run = _run_of(request)
    return await _read(request, lambda reading: record_in(reading, request, back=f"/live/{run.id}", title=run.title))


async def _read(request: Request, made: Callable[[Reading], Response]) -> Response:
    read = _run_of(request).reading()
    return await run_in_threadpool(lambda: made(read()))


def _nothing() -> Response:
    return HTMLResponse("", headers={"x-next": "-1", "x-first": "0"})


async def heard(site: pages.Site, name: str) -> AsyncGenerator[str]:
    """Blocks as they form, and which version of the run there is; a page that shows another asks again."""
    run, topic = site.driver.find(name), f"/live/{name}"
    seen, sent = -1, dict[str, int]()
    while run is not None and not run.hub.is_closed:
        news = [told(topic, "forming", **each) for each in _grown(run, sent)]
        if seen != run.version:
            seen = run.version
            news.append(told(topic, "changed", version=seen, forming=list(run.forming)))
        for each in news:
            yield each
        if news:
            await asyncio.sleep(AT_MOST_EVERY)
        else:
            await run.hub.wait(BEAT)
    if not site.hub.is_closed:
        yield told(topic, "gone")


def _grown(run: Run, sent: dict[str, int]) -> list[dict[str, Any]]:
    """What the blocks that form have gained since they were last told."""
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
    """What forms, as much of it as there is, and of a call its tool."""
    if isinstance(block, CallBlock):
        return "tool", block.written, block.name
    return "thinking" if isinstance(block, ThinkingBlock) else "text", getattr(block, "text", ""), ""


# What a person does


async def say(request: Request) -> Response:
    run, form = _run_of(request), await pages.form(request)
    await run.say(form.get("prompt", [""])[0])
    return _done(request, run)


async def answer(request: Request) -> Response:
    run, form = _run_of(request), await pages.form(request)
    is_first = await run.answer(form.get("request", [""])[0], lambda asked: decision_of(asked, form))
    if not is_first and request.headers.get("x-part"):
        return HTMLResponse(pages.render("problem.html", reason=GONE), status_code=409)
    return _done(request, run)


async def interrupt(request: Request) -> Response:
    run = _run_of(request)
    run.interrupt()
    return _done(request, run)


async def end(request: Request) -> Response:
    run = _run_of(request)
    await run.end()
    return _done(request, run)


def _done(request: Request, run: Run) -> Response:
    if request.headers.get("x-part"):
        return Response(status_code=204)
    return RedirectResponse(f"/live/{run.id}", status_code=303)
