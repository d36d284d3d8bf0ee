"""The Model Context Protocol as far as a server of tools needs it: JSON-RPC 2.0, a message in, a message out.

Written by hand: it is four methods. Known to be asked by Claude Code 2.1.197 and 2.1.325; the newer one first asks for
`server/discover`, and goes on with `initialize` where nobody knows that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from reread import __version__
from reread.errors import BadInput, RereadError

VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""Those whose tools are asked for and answered in the way of this module, the newest first."""

MALFORMED, NO_REQUEST, NO_METHOD, NO_PARAMS, FAULT = -32700, -32600, -32601, -32602, -32603

Message = dict[str, Any]


class Tool(NamedTuple):
    """Something a model may ask for."""

    name: str
    title: str
    about: str
    arguments: type[Struct]
    """Its fields say what may be given; they make the schema."""
    answer: Callable[[Any], str]
    """Takes the arguments; raises RereadError for what makes no sense."""

    def described(self) -> Message:
        return {
            "name": self.name,
            "description": self.about,
            "inputSchema": _schema(self.arguments),
            "annotations": {"title": self.title, "readOnlyHint": True, "openWorldHint": False},
        }


class Refusal(Exception):
    """A request that cannot be answered, by its number in JSON-RPC."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code = code


class Server:
    """Answers messages one at a time."""

    def __init__(self, tools: Mapping[str, Tool], instructions: str, complain: Callable[[Exception], None]) -> None:
        self._tools = tools
        self._instructions = instructions
        self._complain = complain
        """Told of faults of ours."""

    def answer(self, line: bytes) -> Message | None:
        """The answer to one line; None where it wants none."""
        if not line.strip():
            return None
        try:
            message = msgspec.json.decode(line)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
            return _refused(None, MALFORMED, f"this is not valid JSON: {error}")
        if not isinstance(message, dict) or not isinstance(message.get("method"), str):
            is_answer = isinstance(message, dict) and ("result" in message or "error" in message)
            return None if is_answer else _refused(None, NO_REQUEST, "this is no request")
        if "id" not in message:
            return None  # a notification: nothing here depends on one
        try:
            result = self._result(message["method"], message.get("params") or {})
        except Refusal as refusal:
            return _refused(message["id"], refusal.code, str(refusal))
        return {"jsonrpc": "2.0", "id": message["id"], "result": result}

    def _result(self, method: str, params: Any) -> Message:
        if not isinstance(params, dict):
            raise Refusal(NO_PARAMS, "params must be an object")
        if method == "initialize":
            return self._greeting(params)
        if method == "ping":
            return {}
        if method == "tools/list":
            return {"tools": [tool.described() for tool in self._tools.values()]}
        if method == "tools/call":
            return self._called(params)
        raise Refusal(NO_METHOD, f"no method {method!r}")

    def _greeting(self, params: Message) -> Message:
        wanted = params.get("protocolVersion")
        return {
            "protocolVersion": wanted if wanted in VERSIONS else VERSIONS[0],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "reread", "title": "reread", "version": __version__},
            "instructions": self._instructions,
        }

    def _called(self, params: Message) -> Message:
        """What a tool says. A call that makes no sense is told to the model, which can then make a better one."""
        name, given = params.get("name"), params.get("arguments") or {}
        tool = self._tools.get(name) if isinstance(name, str) else None
        if tool is None:
            raise Refusal(NO_PARAMS, f"no tool {name!r}; there are: {', '.join(self._tools)}")
        try:
            return _told(tool.answer(_arguments(given, tool)))
        except RereadError as error:
            return _told(str(error), is_error=True)
        except OSError as error:
            return _told(str(error.strerror or error), is_error=True)
        except Exception as error:  # whatever it is, the next question may well be answered
            self._complain(error)
            raise Refusal(FAULT, f"a mistake in reread: {type(error).__name__}") from error


def _arguments(given: Any, tool: Tool) -> Any:
    """Models write numbers as text, and null for what they leave out."""
    if isinstance(given, dict):
        given = {name: value for name, value in given.items() if value is not None}
    try:
        return msgspec.convert(given, tool.arguments, strict=False)
    except msgspec.ValidationError as error:
        raise BadInput(f"{tool.name}: {error}") from error


def _told(text: str, *, is_error: bool = False) -> Message:
    return {"content": [{"type": "text", "text": text}], "isError": is_error}


def _refused(number: Any, code: int, reason: str) -> Message:
    return {"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": reason}}


def _schema(arguments: type[Struct]) -> Message:
    """Every letter of it stands in front of every conversation: the least that says what may be given."""
    _, components = msgspec.json.schema_components([arguments])
    made = components[arguments.__name__]
    required = made["required"]
    properties = {
        name: made["properties"][name] for name in sorted(made["properties"], key=lambda n: n not in required)
    }
    for each in properties.values():
        if not each.get("default"):
            each.pop("default", None)
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
