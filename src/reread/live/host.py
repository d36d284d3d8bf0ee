"""What this process offers to a client: hooks that it calls, and tools that its model can call."""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Required, TypedDict

from msgspec import Struct

from reread.records.json_parts import object_of

from .events import HookCallback


class HookEventInput(TypedDict, total=False):
    """What the client tells a hook. The first three are always there; which others depends on `hook_event_name`."""

    session_id: Required[str]
    cwd: Required[str]
    hook_event_name: Required[str]
    transcript_path: str
    permission_mode: str
    prompt_id: str
    agent_id: str
    agent_type: str
    agent_transcript_path: str
    tool_name: str
    tool_input: dict[str, Any]
    tool_use_id: str
    tool_response: Any
    duration_ms: int
    error: str
    is_interrupt: bool
    permission_suggestions: list[Any]
    prompt: str
    message: str
    title: str
    notification_type: str
    stop_hook_active: bool
    last_assistant_message: str
    trigger: str
    custom_instructions: str | None
    source: str
    reason: str


HookAnswer = Mapping[str, Any] | Awaitable[Mapping[str, Any] | None] | None
Callback = Callable[[Any], HookAnswer] | Callable[[Any, Any, Any], HookAnswer]
"""Gets a `HookEventInput` and returns the answer; None means "go on". Of three parameters, as in the official SDK, the
second is the id of the call, the third is empty."""
_PYTHON_NAMES = {"continue_": "continue", "async_": "async"}
"""How the official SDK writes two keys of an answer, because they are keywords of Python."""


class Hook(Struct, frozen=True):
    """A function, plain or async, that the client calls at an event such as `PreToolUse`."""

    callback: Callback
    matcher: str | None = None
    """Which tools, in the syntax of the client's settings; None for all."""
    timeout: float | None = None
    """Seconds after which the client goes on without an answer."""


class Hooks:
    """The hooks of a run, by the ids that the client calls them with."""

    def __init__(self, hooks: Mapping[str, Sequence[Hook]]) -> None:
        self._callbacks: dict[str, Callback] = {}
        self._announced = {event: [self._announce(hook) for hook in wanted] for event, wanted in hooks.items()}

    def __bool__(self) -> bool:
        return bool(self._callbacks)

    @property
    def announced(self) -> dict[str, list[dict[str, Any]]]:
        """The hooks in the form that `initialize` needs."""
        return self._announced

    async def answer(self, callback: HookCallback) -> Mapping[str, Any]:
        """Calls the hook and returns its answer. Raises what the hook raises, and LookupError if the id is unknown."""
        if callback.callback not in self._callbacks:
            raise LookupError(f"there is no hook {callback.callback!r}")
        function: Any = self._callbacks[callback.callback]
        more = (callback.id, {"signal": None}) if _takes_three(function) else ()
        reply = function(callback.input, *more)
        answer = (await reply if inspect.isawaitable(reply) else reply) or {}
        return {_PYTHON_NAMES.get(name, name): value for name, value in answer.items()}

    def _announce(self, hook: Hook) -> dict[str, Any]:
        id = f"hook-{len(self._callbacks)}"  # noqa: A001
        self._callbacks[id] = hook.callback
        matcher = {"matcher": hook.matcher, "hookCallbackIds": [id]}
        return matcher if hook.timeout is None else {**matcher, "timeout": hook.timeout}


def _takes_three(function: Callable[..., Any]) -> bool:
    try:
        inspect.signature(function).bind(None, None, None)
    except (TypeError, ValueError):  # ValueError: a function of C without a signature
        return False
    return True


class HostTool(Struct, frozen=True):
    """A function of this process, plain or async, that the model can call as `mcp__SERVER__NAME`."""

    name: str
    description: str
    run: Callable[[Any], Any]
    """Gets the input; returns text, or an MCP result with its own `content`. The model is shown any exception."""
    input_schema: Mapping[str, Any] = {}
    """JSON Schema of the input."""
    server: str = "host"
    """The name of the MCP server that the tool belongs to."""


_NO_SUCH_METHOD = -32601
_BAD_PARAMS = -32602


class HostTools:
    """The host tools of a run. The client calls them by MCP messages inside control requests."""

    def __init__(self, tools: Sequence[HostTool]) -> None:
        self._servers: dict[str, dict[str, HostTool]] = {}
        for tool in tools:
            self._servers.setdefault(tool.server, {})[tool.name] = tool

    def __bool__(self) -> bool:
        return bool(self._servers)

    @property
    def arguments(self) -> list[str]:
        """The flags that announce the tools to the client."""
        servers = {"mcpServers": {name: {"type": "sdk", "name": name} for name in self._servers}}
        return [f"--mcp-config={json.dumps(servers)}"] if self._servers else []

    async def answer(self, data: Any) -> dict[str, Any]:
        """The answer to one `mcp_message`."""
        told = object_of(data)
        asked, server = object_of(told.get("message")), str(told.get("server_name"))
        reply = await self._reply_to(server, str(asked.get("method")), object_of(asked.get("params")))
        return {"mcp_response": {"jsonrpc": "2.0", "id": asked.get("id"), **reply}}

    async def _reply_to(self, server: str, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        tools = self._servers.get(server, {})
        if method == "initialize":
            version = params.get("protocolVersion") or "2025-06-18"
            about = {"name": server, "version": "1"}
            return {"result": {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about}}
        if method == "tools/list":
            return {"result": {"tools": [_described(tool) for tool in tools.values()]}}
        if method == "tools/call":
            tool = tools.get(str(params.get("name")))
            if tool is None:
                return {"error": {"code": _BAD_PARAMS, "message": f"there is no tool {params.get('name')!r}"}}
            return {"result": await _called(tool, params.get("arguments") or {})}
        if method == "ping" or method.startswith("notifications/"):
            return {"result": {}}
        return {"error": {"code": _NO_SUCH_METHOD, "message": f"{method!r} is not known here"}}


def _described(tool: HostTool) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "inputSchema": {"type": "object", **tool.input_schema}}


async def _called(tool: HostTool, given: Any) -> dict[str, Any]:
    try:
        came = tool.run(given)
        came = await came if inspect.isawaitable(came) else came
        if isinstance(came, Mapping) and "content" in came:
            return dict(came)
        text = came if isinstance(came, str) else json.dumps(came, ensure_ascii=False, default=str)
    except Exception as error:  # noqa: BLE001  any error becomes the result of the model's call
        return {"content": [{"type": "text", "text": f"{type(error).__name__}: {error}"}], "isError": True}
    return {"content": [{"type": "text", "text": text}]}
