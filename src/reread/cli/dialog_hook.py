"""The `PermissionRequest` hook: brings a dialog of a client's own screen into the queue of the running server."""

from __future__ import annotations

import contextlib
import json
import os
import select
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from reread.errors import RereadError
from reread.loading import last_of
from reread.records.client_input import HookInput, read_hook_input
from reread.sessions import CallStatus
from reread.web import server_state

from . import options

LOOK_EVERY = 0.5


def ask(home: Path, question: bytes) -> None:
    """Prints what a person answers in the queue. Prints nothing, so that the dialog stays, if no server runs; also for
    an agent, since the client (2.1.325) shows no dialog of one in the background before its hooks have ended."""
    server, asked = server_state.running_server(home), read_hook_input(question)
    if server is None or asked.agent is not None:
        return
    threading.Thread(target=_leave_when_answered, args=(asked,), daemon=True).start()
    options.print_lines(server.ask_person(question).decode("ascii").splitlines())
    sys.stdout.flush()


def _leave_when_answered(asked: HookInput) -> None:
    """Ends this process, and so takes the question out of the queue, when it is answered on the client's screen or the
    client is gone. The client (2.1.327) tells a hook neither; but it writes that it no longer waits, and the result of
    a call, and its end of our output closes."""
    before, seen, has_waited = set(_results(asked)), _size(asked), False
    while True:
        time.sleep(LOOK_EVERY)
        size, status = _size(asked), _status(asked)
        is_answered = (has_waited and status == "busy") or (size != seen and bool(set(_results(asked)) - before))
        if is_answered or _is_client_gone():
            os._exit(0)
        seen, has_waited = size, has_waited or status == "waiting"


def _status(asked: HookInput) -> object:
    """What the client says it does, `waiting` or `busy`, in the file of its process; the other sessions have theirs."""
    for path in Path(asked.transcript or "").absolute().parents[2:3]:
        for file in (path / "sessions").glob("*.json"):
            with contextlib.suppress(OSError, ValueError, AttributeError):  # half written, or not as it was
                said = json.loads(file.read_bytes())
                if said.get("sessionId") == asked.session:
                    return said.get("status")
    return None


def _size(asked: HookInput) -> int:
    try:
        return Path(asked.transcript).stat().st_size if asked.transcript else 0
    except OSError:
        return 0


def _results(asked: HookInput) -> Iterator[str]:
    """The ids of finished calls of the tool; of the very call, if it can be told by its input."""
    try:
        found = last_of(Path(asked.transcript)).tool_calls if asked.transcript else ()
    except (RereadError, OSError):  # not written yet
        return
    calls = [call for call in found if call.name == asked.tool]
    # The client adds what a tool takes by default.
    same = [call for call in calls if isinstance(asked.input, dict) and _is_in(call.input, asked.input)]
    yield from (str(call.id) for call in same or calls if call.status is not CallStatus.MISSING)


def _is_in(part: object, whole: dict[str, object]) -> bool:
    return isinstance(part, dict) and bool(part) and part.items() <= whole.items()


def _is_client_gone() -> bool:
    """Whether nobody reads our output any more. Windows cannot tell: there the client ends its hooks, or their time."""
    if not hasattr(select, "poll"):
        return False
    reader = select.poll()
    reader.register(sys.stdout.fileno(), 0)
    return bool(reader.poll(0))
