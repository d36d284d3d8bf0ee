"""`reread approvals`: the open permission requests of all sessions that the running server has started."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Iterator

import msgspec

from reread.config import Config
from reread.errors import BadInput
from reread.live import outgoing
from reread.live.approvals import Approval, ApprovalQueue, form_of
from reread.live.events import Permission
from reread.live.outgoing import Allow, Decision, Deny
from reread.views import permissions
from reread.views.calls import point_of, tool_label
from reread.web import server_state

from . import options
from .answerers import TerminalAnswerer, picked
from .event_printer import EventPrinter
from .keyboard import Interrupts, Keyboard
from .main import EXIT_INTERRUPTED

ABOUT = """\
Show what waits for your permission or answer, over all sessions that run in `reread serve`, and answer it: at a
terminal with a key, one request after the other as they come; in a script by the id of the request. Each shows
what it would do and which rule would have allowed it. Sessions in other terminals are listed; answer them there,
or have their dialogs here, too, with `reread hook install --approvals`."""
EXAMPLES = """\
  reread approvals                          answer with keys, until q
  reread approvals | cat                    print what waits, and end
  reread approvals 3f2a --allow
  reread approvals 3f2a --deny "use the staging database"
  reread approvals 3f2a --always            allow it, and by that rule from now on
  reread approvals 3f2a --answer 2          the second choice of a question
  reread approvals --log                    what was answered"""
NOBODY = "no `reread serve` is running on this archive, so nothing waits here"
LOOK_EVERY = 1.0
"""Seconds between requests to the server: a request may be answered in the browser, or another session may ask."""
_QUEUE = "/live/approvals"


def approvals_parser() -> options.Parser:
    made = options.make_parser("approvals", ABOUT, EXAMPLES, syncs=False)
    made.add_argument("request", nargs="?", metavar="ID", help="a request, by its id or the start of it")
    answer = made.add_mutually_exclusive_group()
    made.flag("--allow", "let the tool run this once; accept the plan", answer)
    about = "let it run, and by its narrowest rule from now on; with N by one of the wider ones"
    made.option("--always N", about, answer, nargs="?", type=options.positive, const=0)
    made.option("--deny REASON", "refuse it; Claude reads the reason", answer, nargs="?", const="")
    made.option("--answer TEXT", "answer a question, by number or in words; once for each", answer, action="append")
    made.flag("--log", "show what was answered since the server started")
    return made


def run_approvals(args: options.Options) -> int | None:
    decides = args.allow or args.always is not None or args.deny is not None or bool(args.answer)
    if decides and (args.request is None or args.log):
        raise BadInput("name the request to answer, by an id that `reread approvals` prints")
    server = server_state.running_server(args.config.home)
    if server is None:
        _report_no_server(args, is_needed=args.request is not None)
    elif args.request is not None:
        _one(server, args, decides=decides)
    elif args.log:
        answered = _queue_of(server).answered
        document = lambda: permissions.log_document(server.origin, answered)  # noqa: E731
        args.print_answer(document, lambda view: permissions.answered_lines(answered, view))
    elif args.json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        _show(_queue_of(server), server, args)
    else:
        return asyncio.run(_AtTerminal(server, args.config).to_its_end())
    return None


def _report_no_server(args: options.Options, *, is_needed: bool) -> None:
    if is_needed:
        raise BadInput(f"{args.request!r}: {NOBODY}")
    if not args.json:
        options.print_lines([NOBODY])
    elif args.log:
        options.print_json(permissions.log_document(None, ()))
    else:
        options.print_json(permissions.queue_document(None, ApprovalQueue()))


def _queue_of(server: server_state.RunningServer) -> ApprovalQueue:
    try:
        return msgspec.json.decode(server.ask(_QUEUE), type=ApprovalQueue)
    except msgspec.MsgspecError as error:
        raise BadInput(f"reread serve at {server.origin} is of another version ({error}); start it again") from error


def _show(queue: ApprovalQueue, server: server_state.RunningServer, args: options.Options) -> None:
    document = lambda: permissions.queue_document(server.origin, queue)  # noqa: E731
    args.print_answer(document, lambda view: permissions.approval_lines(queue, view))


def _send(server: server_state.RunningServer, approval: Approval, decision: Decision) -> None:
    permission = approval.permission
    server.send(f"/live/{approval.run}/answer", {"request": permission.request_id, **form_of(permission, decision)})


# One request, from a shell


def _one(server: server_state.RunningServer, args: options.Options, *, decides: bool) -> None:
    queue = _queue_of(server)
    found = queue.find(args.request)
    if not decides:
        _show(ApprovalQueue(waiting=(found,)), server, args)
        return
    decision = _decision(found.permission, args)
    _send(server, found, decision)
    permission = found.permission
    outcome = "allowed" if isinstance(decision, Allow) else "denied"
    point = point_of(permission.tool, permission.input, found.project)
    lines = [f"{outcome}: {tool_label(permission.tool)}  {point}".rstrip()]
    document = {"schema": "reread.approval/1", "answer": outcome, **permissions.approval_document(found)}
    args.print_answer(lambda: document, lambda _: lines)


def _decision(permission: Permission, args: options.Options) -> Decision:
    """The decision that the options state. Raises BadInput if they do not answer this request."""
    questions = permissions.questions_of(permission) if permission.is_question else []
    if args.deny is not None:
        return Deny(reason=args.deny.strip())
    if questions:
        return _chosen(permission, args.answer or [])
    if args.answer:
        raise BadInput(f"{tool_label(permission.tool)} asks for a permission, not a question; use --allow or --deny")
    return Allow() if args.always is None else Allow(remember=[_remembered(permission, args.always)])


def _remembered(permission: Permission, number: int) -> object:
    wider = permissions.wider_suggestions(permission)
    if number > len(wider):
        raise BadInput(f"--always {number}: Claude Code suggested {len(wider)} wider rules")
    if number:
        return wider[number - 1]
    if permission.narrowest is None:
        more = f"; --always 1 to {len(wider)} are wider ones" if wider else ""
        raise BadInput(f"--always: Claude Code suggested no rule for this alone{more}")
    return permission.suggestions[permission.narrowest]


def _chosen(permission: Permission, answers: list[str]) -> Decision:
    questions = permissions.questions_of(permission)
    if len(answers) != len(questions):
        raise BadInput(f"{len(questions)} questions are asked: give --answer once for each, or --deny")
    chosen = {}
    for question, text in zip(questions, answers, strict=True):
        labels = [option.label for option in question.options]
        is_number = text.replace(",", "").replace(" ", "").isdecimal()
        found = picked(text, labels, is_several=question.is_several) if is_number else text.strip()
        if not found:
            raise BadInput(f"--answer {text!r}: choose from 1 to {len(labels)}, or write it in words")
        chosen[question.text] = found
    return outgoing.answers(permission.input, chosen)


# The queue at the terminal


class _Left(Exception):
    """The person leaves the queue."""


class _Later(Exception):
    """The person skips to the next request."""


class _QueueAnswerer(TerminalAnswerer):
    """The same keys as in a run, but `q` only leaves the queue: the client goes on waiting."""

    leaves = (("s", "kip"), ("q", "uit"))

    def _left(self, key: str) -> Decision | None:
        if key == "s":
            self._put("later\n")
            raise _Later
        if key in ("q", ""):
            self._put("quit\n")
            raise _Left
        return None


class _AtTerminal:
    def __init__(self, server: server_state.RunningServer, config: Config) -> None:
        self._server = server
        self._printer = EventPrinter(options.Options(jsonl=False, thinking=False, config=config))
        self._view = options.make_view(config)
        self._keyboard = Keyboard()
        self._queue = ApprovalQueue()
        self._later: set[tuple[str, str]] = set()

    async def to_its_end(self) -> int:
        main = asyncio.current_task()
        assert main is not None  # noqa: S101  asyncio.run made it
        interrupts = Interrupts()
        self._answerer = _QueueAnswerer(self._printer, self._keyboard, interrupts)

        with self._keyboard.quiet(), interrupts.caught(main.cancel, main.cancel):
            try:
                while True:
                    await self._next()
            except _Left:
                return 0
            except asyncio.CancelledError:
                self._printer.put("\n")
                return EXIT_INTERRUPTED

    async def _next(self) -> None:
        await self._look()
        if not self._fresh:
            await self._idle()
        permission = self._fresh[0]
        with contextlib.suppress(_Later):
            decision = await self._decided(permission)
            if decision is not None:
                await self._send_decision(permission, decision)

    @property
    def _fresh(self) -> list[Approval]:
        """The waiting requests that were not skipped."""
        return [each for each in self._queue.waiting if each.key not in self._later]

    async def _look(self) -> None:
        self._queue = await asyncio.to_thread(_queue_of, self._server)
        self._later &= {each.key for each in self._queue.waiting}

    async def _decided(self, approval: Approval) -> Decision | None:
        """Asks the person; None if it was answered elsewhere or became void."""
        total = len(self._queue.waiting)
        head = permissions.approval_head(approval)
        self._printer.heading(f"{head} · {total} waiting" if total > 1 else head, approval.project)
        deciding = asyncio.create_task(self._answerer.decide(approval.permission))
        try:
            while not deciding.done():
                await asyncio.wait([deciding], timeout=LOOK_EVERY)
                if not deciding.done():
                    await self._look()
                    if approval.key not in {each.key for each in self._queue.waiting}:
                        return None
            return deciding.result()
        except _Later:
            self._later.add(approval.key)
            raise
        finally:
            if not deciding.done():
                deciding.cancel()
                await asyncio.wait([deciding])

    async def _send_decision(self, approval: Approval, decision: Decision) -> None:
        try:
            await asyncio.to_thread(_send, self._server, approval, decision)
        except BadInput as problem:  # answered in the browser, or the server is gone: the next look shows it
            self._printer.note(f"  ✗ {problem}", "red")

    async def _idle(self) -> None:
        """Shows the state until something new waits. It reads keys all the time, so that none is lost."""
        shown: list[str] = []
        with self._keyboard.listening():
            while not self._fresh:
                lines = list(self._idle_lines())
                if lines != shown:
                    self._printer.ask(lines)
                    shown = lines
                try:
                    key = (await asyncio.wait_for(self._keyboard.key(), LOOK_EVERY)).lower()
                except TimeoutError:
                    await self._look()
                    continue
                if key in ("q", ""):
                    raise _Left
                if key == "s":
                    self._later.clear()

    def _idle_lines(self) -> Iterator[str]:
        yield from permissions.elsewhere_lines(self._queue.elsewhere, self._view)
        skipped = len(self._later)
        yield f"{skipped} skipped; [s]how again, [q]uit" if skipped else "nothing waits for an answer; [q]uit"
