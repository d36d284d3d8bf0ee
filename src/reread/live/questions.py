"""What the client asks its host, and what was answered, in either direction."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from msgspec.structs import replace

from reread.records import ControlRequest, parse_or_none
from reread.records.control import CAN_USE_TOOL, HOOK_CALLBACK, ClientAsks, answer_of, question_of
from reread.records.frames import ControlCancelRequest, ControlResponse
from reread.sessions.wire import ToolPermission

from .events import (
    ControlAnswer,
    ControlQuestion,
    Event,
    HookCallback,
    Permission,
    PermissionAnswered,
    PermissionVoid,
    Where,
)


class Questions:
    """The permissions that wait for an answer. Frames of an unexpected shape give no event: None."""

    def __init__(self) -> None:
        self.open: dict[str, Permission] = {}

    def asked(self, frame: ControlRequest, session: str | None, agents: Mapping[str, str]) -> Event | None:
        """A question of the client; `agents` are the calls that started them, by agent."""
        asked = question_of(frame)
        where = Where(session=session, agent=None)
        if frame.request_id is None or asked is None:
            return None
        if asked.subtype == CAN_USE_TOOL:
            if asked.agent_id is not None:
                where["agent"] = agents.get(asked.agent_id, asked.agent_id)
            permission = _permission(frame.request_id, asked, where)
            self.open[permission.request_id] = permission
            return permission
        if asked.subtype == HOOK_CALLBACK:
            callback = asked.callback_id or ""
            request = frame.request_id
            return HookCallback(**where, request_id=request, callback=callback, input=asked.input, id=asked.tool_use_id)
        data = parse_or_none(frame.request)
        return ControlQuestion(**where, request_id=frame.request_id, subtype=asked.subtype, data=data)

    def void(self, frame: ControlCancelRequest, session: str | None) -> Event | None:
        """A question that needs no answer any more; it may be a hook's, or have been answered by now."""
        if frame.request_id is None:
            return None
        permission = self.open.pop(frame.request_id, None)
        agent = permission.agent if permission is not None else None
        return PermissionVoid(session=session, agent=agent, request_id=frame.request_id)

    def told(self, frame: ControlResponse, session: str | None) -> Event | None:
        """The client's answer to a question of ours."""
        answer = answer_of(frame)
        if answer is None or answer.request_id is None:
            return None
        is_good = answer.subtype == "success"
        where = Where(session=session, agent=None)
        given = answer.response
        return ControlAnswer(**where, request_id=answer.request_id, ok=is_good, response=given, error=answer.error)

    def answered(self, frame: ControlResponse) -> Event | None:
        """Our answer to a permission request."""
        answer = answer_of(frame)
        permission = self.open.pop(answer.request_id or "", None) if answer is not None else None
        if answer is None or permission is None:
            return None
        given = answer.response if isinstance(answer.response, dict) else {}
        is_allowed = given.get("behavior") == "allow"
        updated = given.get("updatedInput")
        is_edited = is_allowed and updated is not None and updated != permission.input
        return PermissionAnswered(
            session=permission.session,
            agent=permission.agent,
            request_id=permission.request_id,
            decision="error" if answer.subtype != "success" else "allow" if is_allowed else "deny",
            tool=permission.tool,
            id=permission.id,
            message=given.get("message") or answer.error,
            is_edited=is_edited,
            edited_input=updated if is_edited else None,
            remembered=tuple(given.get("updatedPermissions") or ()),
        )


def _permission(request: str, asked: ClientAsks, where: Where) -> Permission:
    return Permission(
        **where,
        request_id=request,
        tool=asked.tool_name or "",
        input=asked.input,
        id=asked.tool_use_id,
        description=asked.description or asked.title or asked.display_name,
        suggestions=tuple(asked.permission_suggestions or ()),
        blocked_path=asked.blocked_path,
        reason=asked.decision_reason,
    )


def answered_permission(asked: ToolPermission, event: PermissionAnswered, time: datetime | None) -> ToolPermission:
    return replace(
        asked,
        answered=time,
        decision=event.decision,
        message=event.message,
        edited_input=event.edited_input,
        remembered=event.remembered,
    )
