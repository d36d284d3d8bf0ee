"""Every record type, subtype, attachment and progress kind of the format reference has a class that knows it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, get_args

import msgspec
import pytest
from msgspec import Struct

from reread.records import (
    RECORD_TYPES,
    SYSTEM_SUBTYPES,
    Attachment,
    Drift,
    ProgressLine,
    Record,
    Spoken,
    System,
    Unknown,
    attachments,
    content,
    decode,
    state,
)
from reread.records.lenient import UNKNOWN_TAG

USAGE = {"input_tokens": 1, "output_tokens": 2, "cache_creation": {"ephemeral_1h_input_tokens": 3}, "iterations": []}
MESSAGE = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "usage": USAGE}
BACKUP = {"backupFileName": None, "version": 1, "backupTime": "2026-01-05T09:00:00.000Z"}
COSTS = {"inputTokens": 1, "cacheCreationEphemeral5mInputTokens": 1, "webSearchRequests": 0, "costUSD": 0.5}

RECORDS: dict[str, tuple[str, dict[str, Any]]] = {
    "user": ("User", {"message": {"role": "user", "content": "a"}, "toolUseResult": {"stdout": ""}}),
    "assistant": ("Assistant", {"message": MESSAGE, "requestId": "req_1"}),
    "system": ("System", {"content": "hook", "level": "info", "toolUseID": "toolu_1"}),
    "attachment": ("Attachment", {"attachment": {"type": "file", "filename": "a"}}),
    "progress": ("ProgressLine", {"data": {"type": "bash_progress"}, "toolUseID": "t", "parentToolUseID": "p"}),
    "summary": ("Summary", {"summary": "a", "leafUuid": "u"}),
    "file-history-snapshot": (
        "FileHistorySnapshot",
        {
            "messageId": "u",
            "isSnapshotUpdate": False,
            "snapshot": {"messageId": "u", "timestamp": "t", "trackedFileBackups": {"/a": BACKUP}}
            | {"hasUntrackedChanges": True},
        },
    ),
    "file-history-delta": (
        "FileHistoryDelta",
        {"messageId": "u", "snapshotMessageId": "s", "trackingPath": "/a", "backup": {**BACKUP, "realParentDir": "/"}},
    ),
    "queue-operation": (
        "QueueOperation",
        {"operation": "enqueue", "content": "a", "reason": "r", "commandUuid": "c", "deliveryId": "d"},
    ),
    "permission-mode": ("PermissionMode", {"permissionMode": "plan"}),
    "mode": ("Mode", {"mode": "normal"}),
    "tag": ("SessionTag", {"tag": "release"}),
    "agent-setting": ("AgentSetting", {"agentSetting": "reviewer"}),
    "relocated": ("Relocated", {"relocatedCwd": "/srv/app"}),
    "worktree-state": (
        "WorktreeState",
        {"worktreeSession": {"originalCwd": "/a", "worktreePath": "/a/w", "worktreeName": "w", "worktreeBranch": "b"}},
    ),
    "continued-in": ("ContinuedIn", {"continuedInSessionId": "s2"}),
    "derived-from": (
        "DerivedFrom",
        {
            "v": 1,
            "sessions": [{"type": "claude_code_session", "id": "s0", "via": "branch"}, {"type": "unknown", "id": None}],
        },
    ),
    "last-prompt": ("LastPrompt", {"lastPrompt": "a", "leafUuid": "u", "explicit": True}),
    "ai-title": ("AiTitle", {"aiTitle": "a"}),
    "custom-title": ("CustomTitle", {"customTitle": "a"}),
    "agent-name": ("AgentName", {"agentName": "a"}),
    "pr-link": ("PrLink", {"prNumber": 1, "prUrl": "u", "prRepository": "r"}),
    "bridge-session": (
        "BridgeSession",
        {"bridgeSessionId": "b", "lastSequenceNum": 1, "ownerAccountUuid": "a", "ownerOrganizationUuid": "o"},
    ),
    "atis-latch": ("AtisLatch", {"atis": ""}),
    "tools-used": ("ToolsUsed", {"tools": ["Bash"]}),
    "cost-state": (
        "CostState",
        {
            "totalCostUSD": 0.5,
            "totalAPIDuration": 1,
            "totalAPIDurationWithoutRetries": 1,
            "totalToolDuration": 1,
            "totalLinesAdded": 1,
            "totalLinesRemoved": 1,
            "totalDuration": 1,
            "startTime": 1767603600000,
            "modelUsage": {"m": COSTS},
            "hasUnknownModelCost": False,
        },
    ),
    "api-request": (
        "ApiRequest",
        {"id": "a", "querySource": "q", "shapeHash": "h", "params": {}, "keep": 1, "tail": [], "requestDigest": "d"},
    ),
    "api-request-shape": ("ApiRequestShape", {"shapeHash": "h", "shape": {"system": [], "tools": []}}),
    "api-request-blob": ("ApiRequestBlob", {"hash": "h", "message": {"role": "user", "content": "a"}}),
    "tool_result": ("ToolResultLine", {"message": {"role": "user", "content": []}}),
}

SUBTYPES: dict[str, tuple[str, dict[str, Any]]] = {
    "turn_duration": ("TurnDuration", {"durationMs": 5, "messageCount": 2, "pendingBackgroundAgentCount": 0}),
    "stop_hook_summary": (
        "StopHookSummary",
        {
            "hookCount": 1,
            "hookInfos": [{"command": "c", "durationMs": 1}],
            "hookErrors": [],
            "failedHookErrorIndexes": [],
            "hookAdditionalContext": [],
            "preventedContinuation": False,
            "stopReason": "",
            "hasOutput": False,
        },
    ),
    "away_summary": ("AwaySummary", {"content": "recap"}),
    "informational": ("Informational", {"content": "note", "level": "notice", "preventContinuation": True}),
    "api_error": ("ApiError", {"error": {"status": 529}, "retryInMs": 0.5, "retryAttempt": 1, "maxRetries": 10}),
    "compact_boundary": (
        "CompactBoundary",
        {
            "logicalParentUuid": "u",
            "compactMetadata": {
                "trigger": "auto",
                "preTokens": 1,
                "postTokens": 1,
                "preservedSegment": {"headUuid": "h", "anchorUuid": "a", "tailUuid": "t"},
                "preservedMessages": {"anchorUuid": "a", "uuids": [], "allUuids": []},
            },
        },
    ),
    "microcompact_boundary": (
        "MicrocompactBoundary",
        {"microcompactMetadata": {"trigger": "auto", "tokensSaved": 1, "clearedAttachmentUUIDs": []}},
    ),
    "local_command": ("LocalCommand", {"content": "out", "commandRun": {"command": "c", "args": ""}}),
    "bridge_status": ("BridgeStatus", {"content": "c", "url": "u"}),
    "model_consent_fallback": (
        "ModelConsentFallback",
        {"choice": "c", "originalModel": "a", "fallbackModel": "b", "persistedAsDefault": True},
    ),
    "scheduled_task_fire": ("ScheduledTaskFire", {"content": "c"}),
    "agents_killed": ("AgentsKilled", {}),
    "init": ("Init", {"model": "m", "tools": [], "mcp_servers": [], "permissionMode": "default"}),
    "task_started": ("TaskEvent", {"task_id": "t", "tool_use_id": "u"}),
    "api_retry": ("ApiRetry", {"attempt": 1, "max_retries": 2, "retry_delay_ms": 1.5, "error_status": 529}),
}

_HOOK = {"hookName": "n", "hookEvent": "e", "toolUseID": "t", "stdout": "", "stderr": "", "exitCode": 0}
_IDE = {"ideName": "i", "lineStart": 1, "lineEnd": 2, "filename": "f", "content": "c", "displayPath": "d"}
_PLAN = {"planFilePath": "p", "planExists": True, "reminderType": "full", "isSubAgent": False}

ATTACHMENTS: dict[str, tuple[str, dict[str, Any]]] = {
    "companion_intro": ("CompanionIntro", {"name": "Pip", "species": "owl"}),
    "directory": ("DirectoryAttachment", {"path": "/x", "content": "a.py", "displayPath": "x"}),
    "dynamic_skill": ("DynamicSkill", {"skillDir": "/x", "skillNames": ["verify"], "displayPath": "x"}),
    "invoked_skills": ("InvokedSkills", {"skills": [{"name": "verify", "path": "user:verify", "content": "x"}]}),
    "plan_file_reference": ("PlanFileReference", {"planFilePath": "/p.md", "planContent": "1. Read"}),
    "workflow_keyword_request": ("WorkflowKeywordRequest", {}),
    "task_reminder": ("TaskReminder", {"content": [], "itemCount": 0}),
    "total_tokens_reminder": ("TotalTokensReminder", {"text": "t"}),
    "hook_success": ("HookSuccess", {**_HOOK, "content": "c", "command": "c", "durationMs": 1}),
    "edited_text_file": ("EditedTextFile", {"filename": "f", "snippet": "s"}),
    "deferred_tools_delta": ("DeferredToolsDelta", {"addedNames": [], "addedLines": [], "removedNames": []}),
    "queued_command": ("QueuedCommand", {"prompt": "p", "commandMode": "prompt", "source_uuid": "u"}),
    "skill_listing": ("SkillListing", {"content": "c", "skillCount": 1, "isInitial": True, "names": []}),
    "bash_output_audience_note": ("BashOutputAudienceNote", {"toolUseID": "t"}),
    "agent_listing_delta": ("AgentListingDelta", {"addedTypes": [], "showConcurrencyNote": False}),
    "mcp_instructions_delta": ("McpInstructionsDelta", {"addedNames": [], "addedBlocks": [], "removedNames": []}),
    "hook_additional_context": ("HookAdditionalContext", {**_HOOK, "content": ["c"]}),
    "hook_system_message": ("HookSystemMessage", {**_HOOK, "content": "c"}),
    "hook_non_blocking_error": ("HookNonBlockingError", _HOOK),
    "hook_blocking_error": ("HookBlockingError", {"blockingError": {"blockingError": "b", "command": "c"}}),
    "hook_stopped_continuation": ("HookStoppedContinuation", {"message": "m", "hookName": "n", "hookEvent": "e"}),
    "hook_cancelled": ("HookCancelled", {"timedOut": True, "timeoutMs": 1}),
    "command_permissions": ("CommandPermissions", {"allowedTools": []}),
    "diagnostics": ("DiagnosticsAttachment", {"files": [], "isNew": True}),
    "file": ("FileAttachment", {"filename": "f", "content": {}, "displayPath": "d"}),
    "plan_mode": ("PlanMode", _PLAN),
    "plan_mode_reentry": ("PlanModeReentry", {"planFilePath": "p"}),
    "plan_mode_exit": ("PlanModeExit", {"planFilePath": "p", "planExists": True}),
    "auto_mode": ("AutoMode", {"reminderType": "full", "bashFirst": True}),
    "auto_mode_exit": ("AutoModeExit", {}),
    "compact_file_reference": ("CompactFileReference", {"filename": "f", "displayPath": "d"}),
    "todo_reminder": ("TodoReminder", {"content": [], "itemCount": 0}),
    "date_change": ("DateChange", {"newDate": "2026-01-05"}),
    "silent_turn_reminder": ("SilentTurnReminder", {"text": "t"}),
    "goal_status": ("GoalStatus", {"met": True, "condition": "c", "iterations": 1, "durationMs": 1, "tokens": 1}),
    "selected_lines_in_ide": ("SelectedLinesInIde", _IDE),
    "opened_file_in_ide": ("OpenedFileInIde", {"filename": "f"}),
    "nested_memory": ("NestedMemory", {"path": "p", "content": {}, "displayPath": "d"}),
    "max_turns_reached": ("MaxTurnsReached", {"maxTurns": 1, "turnCount": 1, "exitCommitted": True}),
    "environment": ("Environment", {"snapshot": {}}),
    "model": ("ModelAttachment", {"identity": {}, "text": "t"}),
    "date": ("DateAttachment", {"date": "2026-01-05"}),
    "session_context": ("SessionContext", {"context": {}}),
    "task_status": (
        "BackgroundTaskStatus",
        {"taskId": "t", "taskType": "local_agent", "description": "d", "status": "completed", "deltaSummary": None}
        | {"outputFilePath": "/tmp/t.output", "canContinueAgent": True, "endsUnannounced": True},
    ),
    "remote_session_change": ("RemoteSessionChange", {"url": "u", "commit": "c", "pr": None}),
    "prompt_snapshot": ("PromptSnapshot", {"systemPrompt": [], "tools": []}),
    "hook_permission_decision": (
        "HookPermissionDecision",
        {"decision": "allow", "toolUseID": "t", "hookEvent": "PermissionRequest"},
    ),
    "thinking_stripped": ("ThinkingStripped", {"scope": "partial", "from": {"messageId": "m", "thinkingIndex": 0}}),
    "tool_results_cut": ("ToolResultsCut", {"callIds": ["t"], "standIn": "s", "roughTokens": 12_000}),
    "whole_texts_withdrawn": ("WholeTextsWithdrawn", {}),
    "instructions": ("Instructions", {"content": "c", "reason": "r"}),
    "instruction_files_not_loaded": ("InstructionFilesNotLoaded", {"paths": ["CLAUDE.md"]}),
    "memory_update": ("MemoryUpdate", {"source": "s", "summary": "m", "paths": [], "inContextPaths": []}),
    "token_usage": ("TokenUsage", {"used": 1, "total": 2, "remaining": 1}),
    "budget_usd": ("BudgetUsd", {"used": 0.5, "total": 2, "remaining": 1.5}),
    "unknown_command_fallback": ("UnknownCommandFallback", {"commandName": "c", "availableCommandNames": []}),
}

PROGRESS: dict[str, tuple[str, dict[str, Any]]] = {
    "bash_progress": ("BashProgress", {"output": "o", "fullOutput": "f", "elapsedTimeSeconds": 1, "totalLines": 1}),
    "hook_progress": ("HookProgress", {"hookEvent": "e", "hookName": "n", "command": "c"}),
    "agent_progress": ("AgentProgress", {"agentId": "a", "prompt": "p", "message": {}, "normalizedMessages": []}),
    "mcp_progress": ("McpProgress", {"status": "s", "serverName": "n", "toolName": "t", "elapsedTimeMs": 1}),
    "waiting_for_task": ("WaitingForTask", {"taskDescription": "d", "taskType": "t"}),
    "query_update": ("QueryUpdate", {"query": "q"}),
    "search_results_received": ("SearchResultsReceived", {"query": "q", "resultCount": 1}),
}


def _lines() -> Iterator[Any]:
    for name, (kind, fields) in RECORDS.items():
        yield pytest.param(kind, {"type": name, **fields}, id=name)
    for name, (kind, fields) in SUBTYPES.items():
        yield pytest.param(kind, {"type": "system", "subtype": name, **fields}, id=f"system/{name}")
    for name, (kind, fields) in ATTACHMENTS.items():
        yield pytest.param(
            kind, {"type": "attachment", "attachment": {"type": name, **fields}}, id=f"attachment/{name}"
        )
    for name, (kind, fields) in PROGRESS.items():
        yield pytest.param(kind, {"type": "progress", "data": {"type": name, **fields}}, id=f"progress/{name}")


@pytest.mark.parametrize(("kind", "line"), [*_lines()])
def test_a_line_of_the_reference_has_its_own_class_and_no_unmodelled_field(kind: str, line: dict[str, Any]) -> None:
    record = decode(json.dumps({**line, "sessionId": "s"}).encode())
    assert kind in (_class(record), type(record).__name__)
    assert record.flaws == ()
    drift = Drift()
    drift.add(record)
    assert not drift.unknown_types + drift.unmodelled_fields + drift.unexpected_values


def _class(record: Record) -> str:
    if isinstance(record, Attachment):
        return type(record.attachment).__name__
    return type(record.progress).__name__ if isinstance(record, ProgressLine) else type(record).__name__


def test_every_class_of_ours_is_in_the_reference() -> None:
    assert {_tag(kind) for kind in get_args(attachments.AttachmentBody)} == {*ATTACHMENTS, UNKNOWN_TAG}
    assert {_tag(kind) for kind in get_args(state.ProgressData)} == {*PROGRESS, UNKNOWN_TAG}


def _tag(kind: type[Struct]) -> str:
    return str(kind.__struct_config__.tag)


def _nulls(kind: type[Struct]) -> dict[str, None]:
    names = (field.encode_name for field in msgspec.structs.fields(kind))
    return {name: None for name in names if not name.startswith("reread:")}


def _null_lines() -> Iterator[Any]:
    for name, kind in RECORD_TYPES.items():
        yield pytest.param(kind, {**_nulls(kind), "type": name}, id=name)
    for name, system in SYSTEM_SUBTYPES.items():
        yield pytest.param(system, {**_nulls(system), "type": "system", "subtype": name}, id=f"system/{name}")
    for body in get_args(attachments.AttachmentBody):
        line = {"type": "attachment", "attachment": {**_nulls(body), "type": _tag(body)}}
        yield pytest.param(Attachment, line, id=f"attachment/{body.__name__}")
    for data in get_args(state.ProgressData):
        line = {"type": "progress", "data": {**_nulls(data), "type": _tag(data)}}
        yield pytest.param(ProgressLine, line, id=f"progress/{data.__name__}")
    for block in get_args(content.Block):
        line = {"type": "assistant", "message": {"content": [{**_nulls(block), "type": _tag(block)}]}}
        yield pytest.param(RECORD_TYPES["assistant"], line, id=f"block/{block.__name__}")


@pytest.mark.parametrize(("kind", "line"), [*_null_lines()])
def test_a_null_in_every_field_reads_as_if_the_fields_were_missing(kind: type[Record], line: dict[str, Any]) -> None:
    record = decode(json.dumps(line).encode())
    assert type(record) is kind
    assert record.flaws == ()
    assert (record.text, record.time, record.uuid, record.is_frame) == ("", None, None, False)
    if isinstance(record, Spoken):
        assert [block.as_text for block in record.blocks if block.as_text not in ("null", "{}")] in ([], [""])


@pytest.mark.parametrize("name", [*RECORD_TYPES])
def test_a_type_alone_is_a_line(name: str) -> None:
    record = decode(json.dumps({"type": name}).encode())
    assert (type(record), record.type, record.text) == (RECORD_TYPES[name], name, "")


@pytest.mark.parametrize("name", ["saved_hook_context", "agent-color", "started"])
def test_types_that_were_only_reported_pass_through(name: str) -> None:
    record = decode(json.dumps({"type": name, "uuid": "u"}).encode())
    assert isinstance(record, Unknown)
    assert (record.type, record.uuid, record.malformed) == (name, "u", False)


@pytest.mark.parametrize("subtype", [*SYSTEM_SUBTYPES])
def test_a_system_line_is_found_by_its_subtype_with_and_without_a_session(subtype: str) -> None:
    for extra in ({}, {"sessionId": "s"}, {"session_id": "s"}):
        record = decode(json.dumps({"type": "system", "subtype": subtype, **extra}).encode())
        assert type(record) is SYSTEM_SUBTYPES[subtype]
        assert isinstance(record, System)
        assert (record.type, record.subtype) == ("system", subtype)


@pytest.mark.parametrize("kind", [*RECORD_TYPES.values()])
def test_the_types_of_fields_are_values_and_not_text(kind: type[Record]) -> None:
    """msgspec compiles each text again for every type that inherits it: 20 ms before the first line is read."""
    texts = [
        name
        for each in kind.__mro__
        for name, type_ in vars(each).get("__annotations__", {}).items()
        if isinstance(type_, str)
    ]
    assert texts == [], "the modules of records do without `from __future__ import annotations`"


_ASKED = {"user_message_uuid": "u", "user_message_uuids": ["u"]}


@pytest.mark.parametrize(
    "frame",
    [
        {"type": "assistant", "requestSessionId": "s", **_ASKED, "local_command_source": "c", "context_usage": {}},
        {"type": "user", "toolDenialBeforeRun": True, "classifierBoundary": True},
        {"type": "user", "toolDenialKind": "permission-rule", "toolDenialUnanswered": "stream-closed"},
        {"type": "system", "subtype": "permission_denied", "decision_reason": "r", "decision_reason_type": "mode"},
        {"type": "system", "subtype": "model_refusal_no_fallback", "requestId": "r", "api_refusal_category": None},
        {"type": "stream_event", **_ASKED, "owed_rows": []},
        {"type": "result", **_ASKED, "request_sent_wall_ms": 1, "first_request_input_tokens": 1},
        {"type": "system", "subtype": "init", "user_message_uuids": ["u"]},
        {"type": "system", "subtype": "task_notification", "summary_is_report": True},
        {"type": "system", "subtype": "stop_hook_summary", "failedHookErrorIndexes": [0], "hookLabel": "l"},
        {"type": "keep_alive"},
        {"type": "rate_limit_event", "rate_limit_info": {"status": "allowed"}},
        {"type": "tool_progress", "parent_tool_use_id": "t", "elapsed_time_seconds": 30, "heartbeat": True},
        {"type": "tool_use_summary", "summary": "s", "preceding_tool_use_ids": ["t"]},
        {"type": "prompt_suggestion", "suggestion": "s"},
        {"type": "auth_status", "isAuthenticating": True, "output": [], "error": "e"},
        {"type": "system", "subtype": "vcs_state_changed", "kind": "commit", "cwd": "/", "branch": "main"},
        {"type": "system", "subtype": "model_refusal_fallback", "original_model": "a", "retracted_message_uuids": []},
        {"type": "system", "subtype": "session_writes_lost", "error_code": "ENOSPC", "lost": ["transcript"]},
        {"type": "system", "subtype": "turn_preempted", "reason": "r", "preempted_by_uuid": "u"},
    ],
    ids=lambda frame: frame.get("subtype", frame["type"]),
)
def test_what_newer_clients_write_is_no_news(frame: dict[str, Any]) -> None:
    """Fields that clients from 2.1.275 to 2.1.327 were seen to write, in transcripts or to programs."""
    drift = Drift()
    drift.add(decode(json.dumps(frame).encode()))
    assert (drift.unknown_types, drift.unmodelled_fields) == ({}, {})
