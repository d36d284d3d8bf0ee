"""The clients that this server runs, and the answers to their questions from forms."""

from __future__ import annotations

import asyncio
import json
import secrets
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from reread.archive.status import budgets
from reread.billing import load_prices
from reread.blocks.model import BlockState, ShownBlock
from reread.blocks.of_events import StreamBlocks
from reread.errors import BadInput, ClientError, ClientRefused, RereadError
from reread.features.activity import Activity, Doing
from reread.live import events, outgoing
from reread.live.approvals import GivenAnswer
from reread.live.client import NO_PLAN, Client, Policy, by_policy
from reread.live.events import Event, Permission
from reread.live.limits import CostGate, CostLimit, CostMeter, Reached
from reread.live.outgoing import Allow, Decision, Deny
from reread.live.rules import AllowRule, allowing
from reread.live.transport import BackgroundTasks
from reread.views.calls import point_of
from reread.views.html.call_parts import MOST_SUGGESTIONS
from reread.views.permissions import in_words, questions_of
from reread.views.text import shorten

from .archive_pool import ServerSettings
from .session_view import SessionView
from .updates import Hub

MOST_AT_ONCE = 5
"""Clients that run at the same time; each is a process of some hundred megabytes."""
MOST_ENDED = 10
"""Ended runs that are still shown here; the archive has them all."""
MOST_ANSWERED = 100
"""Answers in the log on the page Live; the captures have them all."""
LONGEST_PROMPT = 50_000
"""Characters of a prompt."""
_CHANGES_NOTHING = (events.MessageUsage, events.ControlAnswer, events.HookCallback, events.ControlQuestion)


class RunRequest(NamedTuple):
    """How a run is to be started."""

    prompt: str
    folder: Path
    model: str | None = None
    policy: Policy = "ask"
    mode: str | None = None
    thinking: int | None = None
    resume: str | None = None
    fork: bool = False
    rules: tuple[AllowRule, ...] = ()
    """Let calls through unasked."""


class Answered(NamedTuple):
    """A question of a client with its answer, and the page of whoever asked."""

    href: str
    given: GivenAnswer


class Asker(Protocol):
    """Whoever asks a person: a client that this server runs, or a dialog of another client (`web/dialogs.py`)."""

    @property
    def id(self) -> str: ...
    @property
    def href(self) -> str: ...
    @property
    def session_id(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def folder(self) -> str: ...
    @property
    def activity(self) -> Activity: ...
    @property
    def began(self) -> datetime: ...
    @property
    def problem(self) -> str: ...
    @property
    def has_ended(self) -> bool: ...
    @property
    def open_permissions(self) -> list[Permission]: ...
    def asked_at(self, permission: Permission) -> datetime: ...
    async def answer(self, request: str, decide: Callable[[Permission], Decision]) -> bool: ...


def answered_now(asker: Asker, permission: Permission, decision: Decision, *, by_policy: bool) -> Answered:
    given = GivenAnswer(
        run=asker.id,
        session=asker.session_id,
        title=asker.title,
        project=asker.folder,
        time=datetime.now(UTC),
        tool=permission.tool,
        point=shorten(point_of(permission.tool, permission.input, None)[:400], 120),
        answer=decision_words(decision),
        allowed=isinstance(decision, Allow),
        by_policy=by_policy,
    )
    return Answered(asker.href, given)


class Run:
    """One client, from its first prompt to its end."""

    def __init__(
        self,
        request: RunRequest,
        client: Client,
        on_news: Callable[[], None],
        on_answer: Callable[[Answered], None] = lambda _: None,
        gate: CostGate | None = None,
    ) -> None:
        self.id = secrets.token_hex(9)  # never begins with a dash, so it can be typed as an argument
        self.request = request
        self.began = datetime.now(UTC)
        self.client = client
        self.hub = Hub()
        """Wakes the pages that show this run."""
        self.version = 0
        """Grows with every change for which a page must load something again."""
        self._blocks = StreamBlocks()
        self.forming: dict[str, ShownBlock] = {}
        self.activity = Activity(Doing.THINKING)
        self.model = request.model or ""
        self.result: events.TurnResult | None = None
        self.note = ""
        """An event outside the conversation, such as a retry or a failing capture."""
        self.problem = ""
        """Why the run ended, if it failed."""
        self.has_ended = False
        self.has_told_failure = False
        """Whether the conversation itself already shows what went wrong."""
        self._on_news = on_news
        self._on_answer = on_answer
        self._gate = gate
        self._is_busy = True
        self._calls: dict[str, events.ToolCall] = {}
        self._asked_at: dict[str, datetime] = {}
        self._background = BackgroundTasks()
        self._task: asyncio.Task[None] | None = None
        self._lock = threading.Lock()
        self._read: tuple[int, SessionView] | None = None

    async def start(self) -> None:
        """Raises ClientError if there is no client to run, BadInput if it ends at once."""
        self.hub.begin()
        await self.client.__aenter__()
        self._task = asyncio.create_task(self._follow())
        try:
            await self.client.send(self.request.prompt)
        except ClientError:
            await self._task  # the client ended at once; `_follow` sets the reason
            raise BadInput(self.problem or "Claude Code ended at once") from None

    @property
    def session_id(self) -> str:
        return self.client.stream.session or ("" if self.request.fork else self.request.resume or "")

    @property
    def title(self) -> str:
        return shorten(self.request.prompt[:400], 90)

    @property
    def href(self) -> str:
        return f"/live/{self.id}"

    @property
    def folder(self) -> str:
        return str(self.request.folder)

    @property
    def open_permissions(self) -> list[Permission]:
        """The questions that wait for a person, oldest first."""
        return [each for each in self.client.stream.open_permissions.values() if self._unasked(each) is None]

    def asked_at(self, permission: Permission) -> datetime:
        return self._asked_at.get(permission.request_id, self.began)

    def _unasked(self, permission: Permission) -> Decision | None:
        """The decision by a rule or the policy; None if a person must be asked."""
        rule = allowing(self.request.rules, permission, str(self.request.folder))
        return Allow(rule=rule.text) if rule is not None else by_policy(self.request.policy, permission)

    def view_reader(self) -> Callable[[], SessionView]:
        """Returns a function that gives the conversation so far. Call this method in the event loop, where the
        conversation grows; the function may be called in any thread."""
        version, session = self.version, self.client.session

        def read() -> SessionView:
            with self._lock:
                if self._read is None or self._read[0] < version:
                    self._read = (version, SessionView(session))
                return self._read[1]

        return read

    # What a person does

    async def say(self, prompt: str) -> None:
        checked = checked_prompt(prompt)
        if self._gate is not None and not await self._gate.may_go_on(again=True):
            raise BadInput(_used_up(self._gate))
        self._is_busy = True
        await self.client.send(checked)

    async def answer(self, request: str, decide: Callable[[Permission], Decision]) -> bool:
        """Answers a question. False if it was no longer open: of two windows, the first answer counts."""
        permission = self.client.stream.open_permissions.get(request)
        if permission is None or self.has_ended:
            return False
        decision = decide(permission)
        await self.client.decide(permission, decision)
        self._log(permission, decision, by_policy=False)
        return True

    def _log(self, permission: Permission, decision: Decision, *, by_policy: bool) -> None:
        self._on_answer(answered_now(self, permission, decision, by_policy=by_policy))

    def interrupt(self) -> None:
        if not self.has_ended:
            self._send_out(self.client.interrupt())

    async def end(self) -> None:
        """Ends the client and returns when it is gone."""
        await self.client.close()
        if self._task is not None:
            await self._task

    # What happens

    async def _follow(self) -> None:
        try:
            async for event in self.client:
                if self._gate is not None:
                    self._gate.saw(event)
                self._saw(event)
        except Exception as problem:  # noqa: BLE001  the page must show a bug of ours, too
            self.problem = str(problem) if isinstance(problem, RereadError) else f"{type(problem).__name__}: {problem}"
        finally:
            self.has_ended, self._is_busy = True, False
            self.forming.clear()
            self._calls.clear()
            await self.client.close()
            self._changed()

    def _saw(self, event: Event) -> None:
        for block in self._blocks.feed(event):
            if block.state is BlockState.FORMING and isinstance(event, events.Delta):
                self.forming[block.key] = block
            else:
                self.forming.pop(block.key, None)
        if isinstance(event, events.Delta):
            self._grow(event)
        elif not isinstance(event, _CHANGES_NOTHING):
            self._note(event)
            self._turned(event)
            self._changed()

    def _note(self, event: Event) -> None:
        """Keeps what the pages show of an event besides its blocks."""
        match event:
            case events.ToolCall(agent=None, is_server=False):
                self._calls[event.id or ""] = event
            case events.ToolResult():
                self._calls.pop(event.id or "", None)
            case events.Text(agent=None):
                self.has_told_failure = event.is_synthetic
            case events.SessionStarted():
                self.model = event.model or self.model
            case events.Permission():
                self._decide_unasked(event)
            case events.Trouble():
                self.note = event.text

    def _decide_unasked(self, permission: Permission) -> None:
        self._asked_at[permission.request_id] = datetime.now(UTC)
        decision = self._unasked(permission)
        if decision is not None:
            self._send_out(self.client.decide(permission, decision))
            self._log(permission, decision, by_policy=True)

    def _turned(self, event: Event) -> None:
        """Keeps track of whether the client is working, and of the result of the last turn."""
        match event:
            case events.TurnResult():
                self._end_turn(event)
            case events.Prompt(agent=None, is_synthetic=False):
                self.result, self.has_told_failure = None, False
            case events.Notice(what="retry"):
                self.note = f"trying again: {event.text}"
            case events.Notice(what="status", text="requesting"):
                self._is_busy = True
            case events.Whole(agent=None):
                self.note, self._is_busy = "", True

    def _end_turn(self, result: events.TurnResult) -> None:
        self.result, self._is_busy = result, False
        self.note = _used_up(self._gate) if self._gate is not None and self._gate.stopped is not None else ""
        self._calls.clear()
        still_open = self.client.stream.open_permissions
        self._asked_at = {name: at for name, at in self._asked_at.items() if name in still_open}
        self.forming.clear()

    def _grow(self, event: events.Delta) -> None:
        if event.agent is None:
            self.note, self._is_busy = "", True
            is_thinking = isinstance(event, events.ThinkingDelta)
            self._set_activity(self._activity(Doing.THINKING if is_thinking else Doing.WRITING))
        self.hub.wake()

    def _changed(self) -> None:
        self.version += 1
        self._set_activity(self._activity(Doing.THINKING))
        self.hub.wake()

    def _activity(self, otherwise: Doing) -> Activity:
        if self.has_ended:
            return Activity(Doing.ENDED)
        asked = self.open_permissions
        if asked:
            return Activity(Doing.ASKING, asked[0].tool)
        if self._calls:
            return Activity(Doing.WORKING, list(self._calls.values())[-1].name)
        if self._is_busy:
            return Activity(otherwise)
        return Activity(Doing.WORKING if self.client.stream.open_tasks else Doing.WAITING)

    def _set_activity(self, activity: Activity) -> None:
        if activity != self.activity:
            self.activity = activity
            self.version += 1
            self._on_news()

    def _send_out(self, task: Coroutine[Any, Any, None]) -> None:
        """Runs in a task of its own: the loop over the events must not wait for an answer of the client."""
        self._background.send(self._quietly(task))

    async def _quietly(self, task: Coroutine[Any, Any, None]) -> None:
        try:
            await task
        except (ClientError, ClientRefused) as problem:
            self.note = str(problem)
            self._changed()


class Driver:
    """All runs of this server."""

    def __init__(self, settings: ServerSettings, hub: Hub) -> None:
        self._settings = settings
        self._hub = hub
        self._runs: dict[str, Run] = {}
        self.answered: deque[Answered] = deque(maxlen=MOST_ANSWERED)
        """Newest first."""

    @property
    def runs(self) -> list[Run]:
        """Newest first."""
        return list(reversed(self._runs.values()))

    def find(self, name: str) -> Run | None:
        return self._runs.get(name)

    def of_session(self, session: str) -> Run | None:
        """The run of a session; one that is running is preferred to one that has ended."""
        found = [run for run in self.runs if run.session_id == session and session]
        return next((run for run in found if not run.has_ended), found[0] if found else None)

    async def start(self, request: RunRequest) -> Run:
        """Starts a run. Raises BadInput or ClientError with a sentence for the person; then nothing runs."""
        settings = self._settings
        if not settings.may_run:
            raise BadInput(NOT_HERE)
        if sum(not run.has_ended for run in self._runs.values()) >= MOST_AT_ONCE:
            raise BadInput(f"{MOST_AT_ONCE} sessions run here already; end one of them first")
        gate = CostGate(CostMeter(load_prices(settings.prices)), await self._limits(), self._may_exceed)
        if not await gate.may_go_on():
            raise BadInput(_used_up(gate))
        client = Client(
            settings.claude,
            cwd=request.folder,
            model=request.model,
            permission_mode=request.mode,
            max_thinking_tokens=request.thinking,
            resume=request.resume,
            fork=request.fork,
            capture=settings.wire,
            hooks=gate.hooks,
        )
        run = Run(request._replace(rules=settings.rules), client, self._hub.wake, self.answered.appendleft, gate)
        self._runs[run.id] = run
        try:
            await run.start()
        except BaseException:
            del self._runs[run.id]
            await client.close()
            raise
        self._forget()
        self._hub.wake()
        return run

    async def _limits(self) -> list[CostLimit]:
        now = int(self._settings.now.timestamp() * 1000)
        found = await asyncio.to_thread(budgets, str(self._settings.home), now)
        return [CostLimit(each.name, each.limit, each.spent) for each in found]

    async def _may_exceed(self, reached: Reached) -> bool:
        """Whether the budget has been raised or removed since the run began: that is how a person says yes here."""
        raised = [each for each in await self._limits() if each.name == reached.limit.name]
        return all(each.nanodollars > reached.nanodollars for each in raised)

    def _forget(self) -> None:
        ended = [run.id for run in self._runs.values() if run.has_ended]
        for name in ended[: max(0, len(ended) - MOST_ENDED)]:
            self._runs.pop(name).hub.close()  # else pages that still listen would hold their connections forever

    def dismiss(self) -> None:
        """Ends the waiting of all pages. Must be called in the event loop."""
        for run in self._runs.values():
            run.hub.close()

    async def close(self) -> None:
        """Ends all runs, because the server ends."""
        await asyncio.gather(*(run.end() for run in self._runs.values()))


NOT_HERE = "This server listens for others, too, so it runs no client; start it with --allow-run to let it."


def _used_up(gate: CostGate) -> str:
    reached = gate.stopped
    words = reached.words if reached is not None else "a budget is used up"
    return f"{words[:1].upper()}{words[1:]}; raise it on the page Usage to go on."


def checked_prompt(text: str) -> str:
    prompt = text.replace("\r\n", "\n").strip()  # as forms send it
    if not prompt:
        raise BadInput("Write a prompt first.")
    if len(prompt) > LONGEST_PROMPT:
        raise BadInput(f"The prompt has {len(prompt):,} characters; at most {LONGEST_PROMPT:,} can be sent from here.")
    return prompt


LONGEST_NUMBER = 9
"""Digits of a number in a form."""
Form = Mapping[str, Sequence[str]]


def decision_of(permission: Permission, form: Form) -> Decision:
    """The decision in a form. Raises BadInput if it is incomplete, or if the edited input is not valid JSON."""
    decision = _one(form, "decision")
    if decision == "deny":
        return Deny(reason=_one(form, "reason").strip() or (NO_PLAN if permission.is_plan else ""))
    suggested = permission.suggestions[
        :MOST_SUGGESTIONS
    ]  # the page shows no more, and nobody can agree to what is not shown
    if decision == "always":
        if permission.narrowest is None or permission.narrowest >= len(suggested):
            raise BadInput("Claude Code suggested no rule for this alone; choose one of the wider ones.")
        return Allow(remember=[suggested[permission.narrowest]])
    if decision.startswith("always-"):
        number = _number(decision.removeprefix("always-"))
        if number is None or number >= len(suggested):
            raise BadInput("Claude Code did not suggest that.")
        return Allow(remember=suggested[number : number + 1])
    if decision == "edit":
        return Allow(input=_edited(_one(form, "input")))
    if decision == "answer":
        return outgoing.answers(permission.input, _chosen(permission, form))
    if decision == "allow":
        return Allow()
    raise BadInput("Choose an answer.")


def decision_words(decision: Decision) -> str:
    """A decision on one line, for the log."""
    if isinstance(decision, Deny):
        return f"denied: {decision.reason}" if decision.reason else "denied"
    if decision.rule is not None:
        return f"allowed by the rule {decision.rule}"
    remembered = " and ".join(in_words(each) for each in decision.remember)
    if remembered:
        return f"allowed, and from now on {remembered}"
    answers = decision.input.get("answers") if isinstance(decision.input, dict) else None
    if isinstance(answers, dict):
        return f"answered: {'; '.join(map(str, answers.values()))}"
    return "allowed with another input" if decision.input is not None else "allowed"


def _one(form: Form, name: str) -> str:
    return next(iter(form.get(name, ())), "")


def _number(text: str) -> int | None:
    return int(text) if text.isdecimal() and len(text) < LONGEST_NUMBER else None


def _edited(text: str) -> dict[str, Any]:
    try:
        edited = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"That is not valid JSON: {error}.") from error
    if not isinstance(edited, dict):
        raise BadInput("The input of a tool is a JSON object.")
    return edited


def _chosen(permission: Permission, form: Form) -> dict[str, str]:
    """The answer to each question: the chosen labels, followed by the person's own words."""
    chosen: dict[str, str] = {}
    for number, question in enumerate(questions_of(permission)):
        labels = [option.label for option in question.options]
        picked = dict.fromkeys(map(_number, form.get(f"q{number}", ())))
        words = [labels[each] for each in picked if each is not None and each < len(labels)]
        own = _one(form, f"q{number}-own").strip()
        if not words and not own:
            raise BadInput(f"Choose an answer to “{question.text or 'the question'}”.")
        chosen[question.text] = ", ".join([*words, *([own] if own else [])])
    return chosen
