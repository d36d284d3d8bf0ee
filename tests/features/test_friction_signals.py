"""Friction the client itself writes down: who stopped what, and what waiting and going back cost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import reread
from reread.features.friction import DETECTORS, Cause, FrictionKind, Moment, find, find_events, kind_meanings
from reread.sessions import Session
from reread.testing import (
    ContentBlock,
    Entry,
    a_compaction,
    a_prompt,
    a_reply,
    a_session,
    a_subagent,
    a_system_line,
    a_tool_call,
    a_tool_result,
    a_usage,
    an_attachment,
    build,
)

ERAS = Path(__file__).parents[1] / "eras"
REFUSED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the "
    "new_string was NOT written to the file). "
)


def captured(era: str) -> Session:
    """A session written by the real client."""
    trunk = max((ERAS / era / "source" / "projects").glob("*/*.jsonl"), key=lambda path: path.stat().st_size)
    return reread.load(trunk)


def of(kind: FrictionKind, session: Session) -> list[Moment]:
    return [event for event in find_events(session) if event.kind is kind]


def a_call(command: str = "ls", **result: object) -> list[Entry | ContentBlock]:
    output = str(result.pop("output", ""))
    call = a_tool_call("Bash", {"command": command})
    return [call, a_tool_result(output, **result)]  # type: ignore[arg-type]


@pytest.mark.parametrize("era", ["e01-interrupt", "e03-interrupt", "e06-interrupt-tool"])
def test_a_tool_stopped_by_the_person_is_one_interrupt(era: str) -> None:
    (event,) = of(FrictionKind.INTERRUPT, captured(era))
    assert (event.about, event.confidence, event.cause) == ("Bash", 1.0, Cause.AGENT)


@pytest.mark.parametrize("era", ["e09-interrupt-text", "e11-interrupt-text", "e06-interrupt"])
def test_an_answer_stopped_by_the_person_is_one_interrupt(era: str) -> None:
    (event,) = of(FrictionKind.INTERRUPT, captured(era))
    assert event.about == "answer"


@pytest.mark.parametrize("era", ["e09-reject", "e11-reject"])
def test_a_no_in_the_dialog_is_a_rejection_and_not_an_interrupt_as_well(era: str) -> None:
    session = captured(era)
    (event,) = of(FrictionKind.REJECTION, session)
    assert (event.about, event.details["by"]) == ("Edit", "person")
    assert not of(FrictionKind.INTERRUPT, session)


def test_the_reason_a_person_gives_is_the_evidence_of_a_rejection() -> None:
    said = (
        f"{REFUSED}To tell you how to proceed, the user said:\nuse the test database\n\nNote: The user's next message"
    )
    session = build(
        a_prompt("clean up"), *a_call("dropdb app", output=said, is_error=True, twin="User rejected tool use")
    )
    (event,) = of(FrictionKind.REJECTION, session)
    assert (event.evidence, event.details["reason"]) == ("dropdb app: use the test database", "use the test database")


def test_feedback_in_its_own_field_is_the_reason_too() -> None:
    session = build(
        a_prompt("clean up"),
        *a_call("dropdb app", output=REFUSED, is_error=True, toolDenialKind="user-rejected", userFeedback="not yet"),
    )
    assert of(FrictionKind.REJECTION, session)[0].evidence == "dropdb app: not yet"


def test_a_rule_that_says_no_lies_in_the_environment() -> None:
    said = "Permission to use Bash with command curl has been denied."
    session = build(a_prompt("a"), *a_call("curl x", output=said, is_error=True, toolDenialKind="permission-rule"))
    (event,) = of(FrictionKind.REJECTION, session)
    assert (event.details["by"], event.cause) == ("rule", Cause.ENVIRONMENT)


def test_a_denial_of_the_host_is_the_persons_whatever_the_client_calls_it() -> None:
    (event,) = of(FrictionKind.REJECTION, captured("e11-denied"))
    assert event.details["by"] == "person"


@pytest.mark.parametrize("era", ["e09-hook-block", "e11-hook-block"])
def test_a_block_by_a_hook_is_neither_an_error_nor_a_rejection(era: str) -> None:
    session = captured(era)
    (event,) = of(FrictionKind.HOOK_BLOCK, session)
    assert (event.evidence, event.about, event.details["tool"]) == ("blocked-by-hook", "PreToolUse", "Bash")
    assert not of(FrictionKind.TOOL_ERROR, session)
    assert not of(FrictionKind.REJECTION, session)


def test_hooks_may_also_stop_prompts_and_endings() -> None:
    session = build(
        a_prompt("Operation stopped by hook: the tree is dirty"),
        a_prompt("go"),
        a_reply("done"),
        a_system_line("stop_hook_summary", preventedContinuation=True, stopReason="no tests were run"),
        an_attachment("hook_blocking_error", hookEvent="PostToolUse", blockingError={"blockingError": "lint failed"}),
    )
    assert {(event.about, event.evidence) for event in of(FrictionKind.HOOK_BLOCK, session)} == {
        ("UserPromptSubmit", "the tree is dirty"),
        ("Stop", "no tests were run"),
        ("PostToolUse", "lint failed"),
    }


FAILED = "Failed with non-blocking status code: "


@pytest.mark.parametrize("since", [{}, {"failedHookErrorIndexes": [0]}], ids=["2.1.325", "2.1.327"])
def test_a_hook_that_failed_by_itself_blocked_nothing(since: dict[str, Any]) -> None:
    session = build(
        a_prompt("go"),
        a_reply("done"),
        a_system_line("stop_hook_summary", hookErrors=[f"{FAILED}sh: guard: command not found"], **since),
    )
    (event,) = of(FrictionKind.HOOK_ERROR, session)
    assert (event.evidence, event.about, event.cause) == ("sh: guard: command not found", "Stop", Cause.ENVIRONMENT)
    assert not of(FrictionKind.HOOK_BLOCK, session)


def test_a_hook_that_failed_is_told_once_and_with_its_command() -> None:
    line: dict[str, Any] = {
        "hookEvent": "Stop",
        "toolUseID": "t",
        "stderr": f"{FAILED}no such file",
        "command": "guard stop",
    }
    session = build(
        a_prompt("go"),
        a_reply("done"),
        an_attachment("hook_non_blocking_error", **line),
        a_system_line("stop_hook_summary", hookErrors=[f"{FAILED}no such file"], toolUseID="t"),
    )
    (event,) = of(FrictionKind.HOOK_ERROR, session)
    assert (event.evidence, event.details["command"]) == ("no such file", "guard stop")


def test_the_evidence_of_a_hook_that_failed_late_is_its_error() -> None:
    done = "".join(f"Saved part {number} of the transcript\n" for number in range(20))
    line = a_system_line("stop_hook_summary", hookErrors=[f"{FAILED}{done}Error: disk is full\nexit status 1"])
    (event,) = of(FrictionKind.HOOK_ERROR, build(a_prompt("go"), a_reply("done"), line))
    assert event.evidence == "… Error: disk is full exit status 1"


def test_a_stop_hook_that_keeps_the_turn_going_is_one_block_beside_another_that_failed() -> None:
    """As 2.1.327 writes it: the model is told in a line of its own, and a summary follows."""
    session = build(
        a_prompt("go"),
        a_reply("done"),
        a_prompt("Stop hook feedback:\n[guard]: run the tests", isMeta=True),
        a_system_line(
            "stop_hook_summary", hookErrors=[f"{FAILED}broken", "[guard]: run the tests\n"], failedHookErrorIndexes=[0]
        ),
        a_reply("they pass"),
    )
    (block,) = of(FrictionKind.HOOK_BLOCK, session)
    assert (block.evidence, block.about) == ("[guard]: run the tests", "Stop")
    assert [event.evidence for event in of(FrictionKind.HOOK_ERROR, session)] == ["broken"]


def test_a_hook_that_timed_out_failed() -> None:
    cancelled = an_attachment("hook_cancelled", hookEvent="PreToolUse", timedOut=True, timeoutMs=1500)
    session = build(a_prompt("go"), cancelled, a_reply("done"))
    (event,) = of(FrictionKind.HOOK_ERROR, session)
    assert (event.evidence, event.about) == ("timed out after 1.5 s", "PreToolUse")
    assert not of(FrictionKind.HOOK_ERROR, build(a_prompt("go"), an_attachment("hook_cancelled", hookEvent="Stop")))


def test_a_hook_may_end_a_turn_or_keep_a_prompt_from_the_model() -> None:
    """As 2.1.197 to 2.1.327 write it."""
    blocked = "UserPromptSubmit operation blocked by hook:\n[guard]: not today\n\n\nOriginal prompt: go"
    session = build(
        a_system_line("informational", content=blocked, preventContinuation=True),
        a_prompt("go", uuid="p"),
        a_reply(a_tool_call()),
        a_tool_result("ok"),
        an_attachment("hook_stopped_continuation", hookEvent="PreToolUse", message="enough"),
    )
    assert {(event.about, event.evidence) for event in of(FrictionKind.HOOK_BLOCK, session)} == {
        ("UserPromptSubmit", "[guard]: not today"),
        ("PreToolUse", "enough"),
    }


@pytest.mark.parametrize(
    ("opening", "again"),
    [
        (
            "Operation stopped by hook: ",
            a_system_line("informational", content="Operation stopped by hook: run the tests"),
        ),
        (
            "Stop hook feedback:\n",
            an_attachment("hook_blocking_error", blockingError={"blockingError": "run the tests"}),
        ),
    ],
    ids=["informational", "attachment"],
)
def test_a_block_that_two_lines_tell_is_one(opening: str, again: Entry) -> None:
    session = build(a_prompt("go"), a_reply("done"), a_prompt(f"{opening}run the tests", isMeta=True), again)
    assert [event.evidence for event in of(FrictionKind.HOOK_BLOCK, session)] == ["run the tests"]


def test_a_summary_alone_tells_of_a_stop_hook_that_kept_the_turn_going() -> None:
    session = build(a_prompt("go"), a_reply("done"), a_system_line("stop_hook_summary", hookErrors=["run the tests"]))
    assert [event.evidence for event in of(FrictionKind.HOOK_BLOCK, session)] == ["run the tests"]


def test_a_rewind_costs_what_was_done_on_the_branch_that_was_left() -> None:
    session = build(
        a_prompt("a", uuid="a"),
        a_reply("b", uuid="b"),
        a_prompt("wrong way", uuid="wrong", to="b"),
        a_reply("so be it", usage=a_usage(1000, 2000)),
        a_prompt("another way", to="b"),
        a_reply("fine"),
    )
    (event,) = of(FrictionKind.REWIND, session)
    assert (event.uuid, event.evidence, event.loss.tokens) == ("wrong", "wrong way", 3000)
    assert event.loss.nanodollars


@pytest.mark.parametrize("later", [None, a_usage(1000, 2000)])
def test_a_rewind_from_replies_that_no_request_was_made_for_costs_nothing(later: dict[str, Any] | None) -> None:
    """Such as notices that nobody is logged in: a later request is not theirs, and there may be none at all."""
    notice: dict[str, Any] = {"model": "<synthetic>", "usage": a_usage(0, 0)}
    session = build(
        a_prompt("a", uuid="a"),
        a_reply("please log in", uuid="b", **notice),
        a_prompt("wrong way", uuid="wrong", to="b"),
        a_reply("please log in", **notice),
        a_prompt("another way", to="b"),
        a_reply("fine", **(notice if later is None else {"usage": later})),
    )
    (event,) = of(FrictionKind.REWIND, session)
    assert (event.uuid, event.loss.tokens, event.about) == ("wrong", 0, "taken_back")


@pytest.mark.parametrize(("era", "left"), [("e09-rewind-middle", 1), ("e11-rewind-twice", 2), ("e01-rewind-first", 1)])
def test_every_way_that_was_left_is_a_rewind(era: str, left: int) -> None:
    assert len(of(FrictionKind.REWIND, captured(era))) == left


def test_compactions_say_what_they_were_about_and_what_came_after() -> None:
    session = build(
        a_prompt("a"),
        a_reply("b"),
        a_compaction(trigger="auto", pre_tokens=150_000, postTokens=9_000, durationMs=4_000),
        a_prompt("go on"),
        a_reply("c", usage=a_usage(10, 20, cache_write=9_000)),
    )
    (event,) = of(FrictionKind.COMPACTION, session)
    assert (event.loss.seconds, event.loss.tokens, event.details["before_tokens"]) == (4.0, 9_030, 150_000)
    assert len(of(FrictionKind.COMPACTION, captured("e11-two-compactions"))) == 2


def test_retries_add_up_to_one_stall() -> None:
    retries = [a_system_line("api_error", retryInMs=6000.0, retryAttempt=n, maxRetries=10) for n in (1, 2)]
    (event,) = of(FrictionKind.STALL, build(a_prompt("a"), *retries, a_reply("b")))
    assert (event.loss.seconds, event.details["retries"]) == (12.0, 2)


def test_one_short_retry_is_nothing_to_speak_of() -> None:
    retry = a_system_line("api_error", retryInMs=500.0, retryAttempt=1, maxRetries=10)
    assert not of(FrictionKind.STALL, build(a_prompt("a"), retry, a_reply("b")))


def test_a_rate_limit_told_in_the_models_name_is_a_stall() -> None:
    notice = a_reply(
        "5-hour limit reached", model="<synthetic>", isApiErrorMessage=True, error="rate_limit", usage=a_usage(0, 0)
    )
    (event,) = of(FrictionKind.STALL, build(a_prompt("a"), notice))
    assert event.about == "rate_limit"


def test_a_command_that_took_longer_than_any_may_waited_for_somebody() -> None:
    call = a_tool_call("Bash", {"command": "make"})
    late = a_tool_result("ok", timestamp="2026-01-05T11:30:00.000Z")
    (event,) = of(FrictionKind.STALL, build(a_prompt("a"), call, late))
    assert (event.about, event.loss.seconds, event.cause) == ("waited_for_you", None, Cause.PROMPT)
    assert event.evidence == "Bash waited for you 150 minutes"


def test_calls_of_one_message_waited_once() -> None:
    edit, read = a_tool_call("Edit", {"file_path": "/a"}, id="e"), a_tool_call("Bash", {"command": "ls"}, id="b")
    late = [a_tool_result("ok", of=each, timestamp="2026-01-05T11:30:00.000Z") for each in "eb"]
    (event,) = of(FrictionKind.STALL, build(a_prompt("a"), a_reply(edit, read), *late))
    assert event.evidence == "Edit waited for you 150 minutes"


def test_a_call_of_a_server_may_take_long_by_itself() -> None:
    late = a_tool_result("ok", timestamp="2026-01-05T09:20:00.000Z")
    (event,) = of(FrictionKind.STALL, build(a_prompt("a"), a_tool_call("mcp__a__b", {}), late))
    assert (event.about, event.cause) == ("long_call", Cause.ENVIRONMENT)


def test_shell_lines_of_the_person_are_manual_steps() -> None:
    (event,) = of(
        FrictionKind.MANUAL_STEP, build(a_prompt("<bash-input>make lint</bash-input>"), a_prompt("ok?"), a_reply("yes"))
    )
    assert (event.evidence, event.about, event.confidence) == ("! make lint", "make lint", 1.0)


def asked(*commands: str, source: str = "user_temporary") -> Session:
    decision = {"decision": "accept", "source": source, "grantScope": "once"}
    calls = [part for each in commands for part in a_call(each, output="ok", permissionDecision=decision)]
    return build(a_prompt("a"), *calls, a_reply("b"))


def test_the_same_permission_granted_three_times_is_toil() -> None:
    (event,) = of(FrictionKind.PERMISSION_TOIL, asked("npm run test:a", "cd web && npm run test:b", "npm run test"))
    assert (event.about, event.details["granted"]) == ("Bash(npm run test:*)", 3)


def test_what_a_rule_allows_is_no_toil() -> None:
    assert not of(FrictionKind.PERMISSION_TOIL, asked("npm test", "npm test", "npm test", source="config"))


def test_agents_are_left_out_unless_asked_for() -> None:
    session = a_session(
        a_prompt("a"),
        a_tool_call("Task", {"prompt": "look"}, id="toolu_task"),
        a_subagent(
            a_prompt("look"),
            a_tool_call("Bash", {"command": "false"}, id="toolu_b"),
            a_tool_result("Exit code 1", of="toolu_b", is_error=True),
            id="a1",
            of="toolu_task",
        ),
        a_tool_result("found", of="toolu_task"),
        a_reply("b"),
    ).build()
    assert not find_events(session)
    (event,) = find_events(session, with_agents=True)
    assert (event.kind, event.agent) == (FrictionKind.TOOL_ERROR, "a1")
    assert find(session, with_agents=True).events == (event,)


def test_evidence_is_short_and_keeps_secrets() -> None:
    key = "sk-" + "a1" * 20
    noisy = f"Exit code 1\n\x1b[31mcurl -H 'Authorization: Bearer abc123def' {key} password=hunter22 " + "x " * 300
    (event,) = of(FrictionKind.TOOL_ERROR, build(a_prompt("a"), *a_call("./call.sh", output=noisy, is_error=True)))
    assert len(event.evidence) <= 200
    assert not any(secret in event.evidence for secret in (key, "abc123def", "hunter22", "\x1b"))


def test_a_path_is_no_secret() -> None:
    command = "gh api repos/ann/lantern/pulls/comments/2761673774/replies"
    paths = "see docs/fork-checkpoints-of-2026/task-list-of-the-week and " + command
    (event,) = of(FrictionKind.TOOL_ERROR, build(a_prompt("a"), *a_call(command, output=paths, is_error=True)))
    assert event.evidence == f"Bash {command[:60]}: {paths}"


def test_every_detector_says_what_it_means_and_what_it_goes_by() -> None:
    kinds = [detector.kind for detector in DETECTORS]
    assert sorted(kinds) == sorted(set(FrictionKind) - {FrictionKind.REPEATED_INSTRUCTION})
    assert set(kind_meanings()) == set(FrictionKind)
    assert all(detector.meaning and (detector.exact or detector.heuristics) for detector in DETECTORS)
    assert len({detector.meaning for detector in DETECTORS}) == len(DETECTORS)


def test_an_empty_session_has_no_friction() -> None:
    found = find(build())
    assert (found.events, found.outcome.ended, found.material.prompts) == ((), "unanswered", ())


def test_every_event_of_a_captured_session_names_a_line_of_it() -> None:
    for folder in sorted(path for path in ERAS.iterdir() if (path / "source" / "projects").is_dir()):
        for trunk in (folder / "source" / "projects").glob("*/*.jsonl"):
            session = reread.load(trunk)
            lines = {record.uuid for record in session.records}
            assert all(event.uuid in lines for event in find(session).events), folder.name
