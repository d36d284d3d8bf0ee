"""The same thing again: within a session, and over many of them."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from reread.features.friction import (
    Findings,
    FrictionKind,
    Material,
    Moment,
    PatternKind,
    RepeatedPattern,
    Suggestion,
    SuggestionKind,
    find,
    find_events,
    find_patterns,
    suggest,
)
from reread.features.friction.command_lines import lines_in, prefix_of
from reread.features.friction.patterns import in_general
from reread.features.friction.prompt_text import likeness, sketch
from reread.features.friction.stated import ShownInstructions, Stated, statement_of, with_shown
from reread.features.friction.suggestions import Basis
from reread.sessions import Session
from reread.testing import (
    ContentBlock,
    Entry,
    a_compaction,
    a_prompt,
    a_reply,
    a_session,
    a_tool_call,
    a_tool_result,
    build,
)

Part = Entry | ContentBlock


def of(kind: FrictionKind, session: Session) -> list[Moment]:
    return [event for event in find_events(session) if event.kind is kind]


def tool(name: str, given: dict[str, Any], output: str = "ok", *, failed: bool = False) -> list[Part]:
    return [a_tool_call(name, given), a_tool_result(output, is_error=True if failed else None)]


def bash(*commands: str, failed: bool = False) -> list[Part]:
    return [part for command in commands for part in tool("Bash", {"command": command}, "Exit code 1", failed=failed)]


def edit(path: str, old: str, new: str) -> list[Part]:
    return tool("Edit", {"file_path": path, "old_string": old, "new_string": new})


def read(path: str, **part: int) -> list[Part]:
    return tool("Read", {"file_path": path, **part}, "x" * 400)


def work(*parts: Part) -> Session:
    return build(a_prompt("work"), *parts, a_reply("done"))


def test_a_prompt_said_again_in_other_words_is_asked_again() -> None:
    session = build(
        a_prompt("make the sidebar collapsible on small screens", uuid="first"),
        a_reply("done"),
        a_prompt("thanks"),
        a_reply("ok"),
        a_prompt("could you please make the sidebar collapsible on small screens?", uuid="again"),
        a_reply("now"),
    )
    (event,) = of(FrictionKind.RE_ASK, session)
    assert (event.uuid, event.details["first"]) == ("again", "first")


@pytest.mark.parametrize(
    "texts",
    [
        ("run the tests", "run the tests"),
        ("add a test for the empty list of names", "add a test for the sorted list with one element"),
        ("yes, go on", "yes, go on"),
        ("continue with the second part of the importer", "continue with the third part of the importer"),
    ],
)
def test_routines_and_neighbours_are_not_asked_again(texts: tuple[str, str]) -> None:
    first, second = texts
    assert not of(FrictionKind.RE_ASK, build(a_prompt(first), a_reply("done"), a_prompt(second), a_reply("done")))


def test_a_prompt_sent_again_because_nothing_came_back_is_asked_again_however_short() -> None:
    assert of(
        FrictionKind.RE_ASK, build(a_prompt("go"), a_reply("x"), a_prompt("fix it"), a_prompt("fix it"), a_reply("y"))
    )


def test_sketches_are_the_same_in_every_process_and_tell_how_alike_texts_are() -> None:
    assert sketch("alpha beta gamma")[:2] == (500695810, 2408645731)
    assert likeness(sketch("alpha beta gamma"), sketch("Please, ALPHA beta gamma!")) == 1.0
    assert likeness(sketch("alpha beta gamma"), sketch("delta epsilon zeta")) == 0.0
    long = " ".join(f"word{n}" for n in range(60))
    assert 0.6 < likeness(sketch(long), sketch(f"{long} word61 word62")) <= 1.0
    assert likeness(sketch("天気予報のスクリプトを書いて"), sketch("天気予報のスクリプトを書いてください")) > 0.6


def test_a_sequence_three_times_over_is_a_loop() -> None:
    session = work(*([*bash("make test", failed=True), *edit("/a.py", "x", "y")] * 3))
    (event,) = of(FrictionKind.LOOP, session)
    assert (event.details["repeats"], event.about) == (3, "make test > Edit a.py")


def test_one_command_four_times_over_is_a_loop() -> None:
    (event,) = of(FrictionKind.LOOP, work(*bash(*["kubectl get pods"] * 4)))
    assert event.details["repeats"] == 4


def test_one_command_that_keeps_failing_between_other_work_is_a_loop() -> None:
    parts = [
        part for n in range(3) for part in (*bash("make", failed=True), *read(f"/{n}.py"), *edit("/a", "x", f"{n}"))
    ]
    (event,) = of(FrictionKind.LOOP, work(*parts))
    assert event.evidence == "failed 3 times: make"


def test_ordinary_work_is_no_loop() -> None:
    assert not of(FrictionKind.LOOP, work(*[part for n in range(6) for part in edit("/a.py", f"{n}", f"{n + 1}")]))
    assert not of(FrictionKind.LOOP, work(*[part for n in range(6) for part in read(f"/{n}.py")]))
    assert not of(FrictionKind.LOOP, work(*bash("make a", "make b", "make c", "make d")))


def test_lines_written_and_taken_away_again_are_rework() -> None:
    session = work(
        *tool("Write", {"file_path": "/a.py", "content": "one\ntwo\nthree\nfour"}),
        *edit("/a.py", "one\ntwo\nthree", "other"),
    )
    (event,) = of(FrictionKind.REWORK, session)
    assert (event.about, event.details["lines"], event.loss.tokens) == ("/a.py", 3, 2)


def test_an_edit_turned_round_is_rework() -> None:
    (event,) = of(FrictionKind.REWORK, work(*edit("/a", "old way", "new way"), *edit("/a", "new way", "old way")))
    assert event.details["undone"] == 1


def test_edits_that_failed_or_build_on_each_other_are_no_rework() -> None:
    failed = tool("Edit", {"file_path": "/a", "old_string": "b", "new_string": "a"}, "no", failed=True)
    assert not of(FrictionKind.REWORK, work(*edit("/a", "a", "b"), *failed))
    assert not of(FrictionKind.REWORK, work(*edit("/a", "a", "a\nb"), *edit("/a", "b", "b\nc")))


def test_a_file_read_again_unchanged_is_a_waste() -> None:
    (event,) = of(FrictionKind.READ_WASTE, work(*read("/a"), *read("/a"), *read("/a")))
    assert (event.details["reads"], event.loss.tokens) == (2, 200)


def test_reading_after_an_edit_another_part_or_after_a_compaction_is_no_waste() -> None:
    assert not of(
        FrictionKind.READ_WASTE,
        work(*read("/a"), *edit("/a", "x", "y"), *read("/a"), *edit("/a", "y", "z"), *read("/a")),
    )
    assert not of(
        FrictionKind.READ_WASTE, work(*read("/a", offset=1), *read("/a", offset=200), *read("/a", offset=400))
    )
    parts = (
        *read("/a"),
        a_compaction(),
        a_prompt("go on"),
        *read("/a"),
        a_compaction(),
        a_prompt("go on"),
        *read("/a"),
    )
    assert not of(FrictionKind.READ_WASTE, work(*parts))


@pytest.mark.parametrize(
    ("text", "how"),
    [
        (
            'it fails:\nTraceback (most recent call last):\n  File "a.py", line 1, in <module>\nValueError',
            "stack_trace",
        ),
        ("ann@desk:~/app$ make\nmake: nothing to be done", "terminal"),
        ("here is the output:\nsent 4\nskipped 1", "output"),
    ],
)
def test_what_is_carried_over_by_hand_is_a_manual_step(text: str, how: str) -> None:
    (event,) = of(FrictionKind.MANUAL_STEP, build(a_prompt("a"), a_reply("b"), a_prompt(text), a_reply("c")))
    assert event.details["how"] == how


@pytest.mark.parametrize(
    "text",
    [
        "let's add a few table tests here\n@/Users/ann/app/cmd/setup.go:680-706",
        "<ide_opened_file>The user opened /app/a.py:12: in the IDE</ide_opened_file>\nrename the second function",
        "make this page wider\nfile:///home/ann/app/out/report.html:12:3",
        "make our help look like this:\nUsage: brew COMMAND\nError: Unknown command: aaaa\n12:30:01 done",
    ],
    ids=["a file", "an editor", "a page", "a model"],
)
def test_what_is_pointed_to_or_to_be_imitated_is_no_manual_step(text: str) -> None:
    assert not of(FrictionKind.MANUAL_STEP, build(a_prompt("a"), a_reply("b"), a_prompt(text), a_reply("c")))


def test_a_list_or_a_piece_of_code_is_no_manual_step() -> None:
    text = "do this:\n1. pull\n2. build\n```\nport: 3000\nhost: x\n```"
    assert not of(FrictionKind.MANUAL_STEP, build(a_prompt("a"), a_reply("b"), a_prompt(text), a_reply("c")))


@pytest.mark.parametrize(
    ("command", "prefix"),
    [
        ('cd "my app" && FOO=1 git commit -m "x && y"', "git commit"),
        ("npm run test:unit -- --watch", "npm run test:unit"),
        ("/usr/bin/python3 -m pytest -q", "python3 -m pytest"),
        ("timeout 60 cargo --locked test", "cargo test"),
        ("gh pr create --fill", "gh pr create"),
        ("./deploy.sh", "deploy.sh"),
        ("CACHE=$(go env GOMODCACHE) && grep -A 3 x", "grep"),
        ("git -C ../lib commit -m x", "git commit"),
        ("# make it\ncargo build", "cargo build"),
        ('cd app\necho "== tests ==" && cargo test', "cargo test"),
        ("echo done > log; make", "echo"),
        ("for each in b23b06a 88a6969; do git show $each; done", "git show"),
        ("cd app && while read name\ndo curl $name; done < names", "curl"),
        ("   ", ""),
    ],
)
def test_a_command_is_told_by_its_program(command: str, prefix: str) -> None:
    assert prefix_of(command) == prefix


def sessions(*parts: Part, count: int = 3) -> list[Findings]:
    return [find(a_session(a_prompt(f"task {n}"), *parts, id=f"s{n}").build()) for n in range(count)]


def patterns(found: list[Findings], kind: PatternKind) -> list[RepeatedPattern]:
    every = find_patterns([each.material for each in found], [event for each in found for event in each.events])
    return [pattern for pattern in every if pattern.kind is kind]


def suggested(found: list[Findings], kind: SuggestionKind) -> list[Suggestion]:
    events = [event for each in found for event in each.events]
    return [each for each in suggest(find_patterns([f.material for f in found], events), events) if each.kind is kind]


def test_a_rule_told_in_three_sessions_belongs_into_the_memory() -> None:
    rules = ("never use sleeps in tests", "Please never use sleeps in the tests.", "again: never use sleeps in tests!")
    found = [
        find(a_session(a_prompt("go"), a_reply("done"), a_prompt(rule), a_reply("ok"), id=f"s{n}").build())
        for n, rule in enumerate(rules)
    ]
    (pattern,) = patterns(found, PatternKind.INSTRUCTION)
    assert pattern.sessions == ("s0", "s1", "s2")
    assert {event.kind for event in pattern.as_events()} == {FrictionKind.REPEATED_INSTRUCTION}
    (suggestion,) = suggested(found, SuggestionKind.MEMORY)
    assert suggestion.draft == "- Never use sleeps in tests."
    assert set(suggestion.evidence) == {moment.uuid for moment in pattern.moments}


def test_a_rule_told_twice_is_not_yet_a_pattern() -> None:
    found = sessions(a_reply("x"), a_prompt("always run the linter first"), a_reply("ok"), count=2)
    assert not patterns(found, PatternKind.INSTRUCTION)


def test_a_workflow_of_many_sessions_becomes_a_skill_with_valid_front_matter() -> None:
    steps = bash("ruff check .", "ls", "mypy", "pytest -q && git commit -m x")
    assert not suggested(sessions(*steps, a_reply("ok")), SuggestionKind.SKILL)
    found = sessions(*steps, a_reply("ok"), count=5)
    (pattern,) = patterns(found, PatternKind.WORKFLOW)
    assert pattern.about == "ruff check > mypy > pytest > git commit"
    (suggestion,) = suggested(found, SuggestionKind.SKILL)
    assert suggestion.draft.startswith("---\nname: ruff-check-mypy-pytest-git\ndescription: ")
    assert "1. `ruff check .`\n2. `mypy`\n3. `pytest -q`\n4. `git commit -m <message>`\n" in suggestion.draft
    assert suggestion.place == ".claude/skills/ruff-check-mypy-pytest-git/SKILL.md"
    told = "made from the first 3; in 2 later sessions it would have stood for 2 runs of these commands"
    assert suggestion.checked == told
    (suggestion,) = suggested(sessions(*steps, a_reply("ok"), count=4), SuggestionKind.SKILL)
    assert suggestion.checked.endswith("in one later session it would have stood for 1 run of these commands")


def test_a_step_that_failed_behind_a_pipe_is_no_step_of_a_skill() -> None:
    broken = tool("Bash", {"command": "rtk bun run test 2>&1 | tail -30"}, "error: unrecognized subcommand 'bun'")
    found = sessions(*broken, *bash("bun run test", "bun run lint", "bun run build"), a_reply("ok"))
    (pattern,) = patterns(found, PatternKind.WORKFLOW)
    assert pattern.about == "bun run test > bun run lint > bun run build"
    (failing,) = patterns(found, PatternKind.TOOL_ERROR)
    assert (failing.count, failing.about) == (3, "bad_arguments rtk bun")


COMMIT = """git commit -m "$(cat <<'EOF'
feat: one && two

- "a list"
EOF
)" """


@pytest.mark.parametrize(
    ("command", "lines"),
    [
        (f"git add -A && {COMMIT}", ["git add -A", "git commit -m <message>"]),
        ('ssh desk "cd /srv && make \\"all\\"" 2>&1 | tail -3', ['ssh desk "cd /srv && make \\"all\\""']),
        ("cd /app; pytest -q > out.txt; tail out.txt", ["cd /app", "pytest -q", "tail out.txt"]),
        ("for n in 1 2; do make $n; done", []),
        ("make || make again", []),
        ('echo "never closed', []),
    ],
)
def test_a_line_is_what_was_run_and_whole(command: str, lines: list[str]) -> None:
    assert [*lines_in(command)] == lines


def test_a_skill_whose_steps_have_only_a_program_in_common_is_not_drafted() -> None:
    found = [
        find(a_session(a_prompt("go"), *bash(f"tspec {n} -p {n}", "git add a", f"git commit -m {n}"), id=n).build())
        for n in ("build", "run", "fmt", "test")
    ]
    assert patterns(found, PatternKind.WORKFLOW)
    assert not suggested(found, SuggestionKind.SKILL)
    assert in_general(Counter(["git add a.py", "git add b.py", "git add c.py"])) == "git add <arguments>"


def test_a_formatter_run_after_edits_becomes_a_hook() -> None:
    found = sessions(*edit("/a.py", "x", "y"), *bash("ruff format ."), a_reply("ok"))
    (suggestion,) = suggested(found, SuggestionKind.HOOK)
    assert json.loads(suggestion.draft)["hooks"]["PostToolUse"][0]["matcher"] == "Edit|Write|MultiEdit"
    beside = sessions(*edit("/a.py", "x", "y"), *bash("ruff format . && pytest -q | tail -3"), a_reply("ok"))
    assert not suggested(beside, SuggestionKind.HOOK), "the tests would be run all the same"


def test_what_a_few_sessions_of_a_project_do_by_hand_becomes_no_hook() -> None:
    found = sessions(*edit("/a.py", "x", "y"), *bash("ruff format ."), a_reply("ok"))
    repeated = find_patterns([each.material for each in found])
    sessions_of = {count: Basis(projects={f"s{n}": "/app" for n in range(count)}) for count in (12, 13)}
    assert suggest(repeated, (), sessions_of[12])
    assert not suggest(repeated, (), sessions_of[13])


def test_what_one_project_forbids_another_may_need() -> None:
    found = [
        find(a_session(a_prompt(f"task {n}"), *edit("/a.py", "x", "y"), *bash("ruff format ."), id=f"s{n}").build())
        for n in range(6)
    ]
    repeated = find_patterns([each.material for each in found])
    projects = {f"s{n}": "/app" if n < 3 else "/shop" for n in range(6)}
    (for_both,) = suggest(repeated, (), Basis(projects=projects))
    assert for_both.project is None
    forbidden = {"/app": Stated(memory=(("CLAUDE.md", "Use black instead of ruff.", None),)), "": Stated()}
    (for_one,) = suggest(repeated, (), Basis(projects=projects, stated=forbidden))
    assert (for_one.project, for_one.sessions) == ("/shop", 3)


def test_steps_that_a_document_states_which_sessions_read_are_no_skill() -> None:
    steps = bash("cargo fmt --all", "cargo clippy --all-targets", "cargo test --locked")
    stated = tool("Read", {"file_path": "/app/notes/flow.md"}, "1\tRun cargo fmt, cargo clippy and cargo test.\n2\tHi")

    def skills(*parts: Part) -> list[Suggestion]:
        found = [find(a_session(a_prompt("go"), *parts, id=f"s{n}", cwd="/app").build()) for n in range(4)]
        shown = [each for one in found for each in one.material.shown]
        basis = Basis(projects={f"s{n}": "/app" for n in range(4)}, stated={"/app": with_shown(Stated(), shown)})
        made = suggest(find_patterns([each.material for each in found]), (), basis)
        return [each for each in made if each.kind is SuggestionKind.SKILL]

    assert skills(*steps)
    assert not skills(*stated, *steps)


def decided(command: str, decision: str) -> list[Part]:
    told = {"decision": decision, "source": "user_temporary" if decision == "accept" else "user_reject"}
    denial: dict[str, Any] = {} if decision == "accept" else {"toolDenialKind": "user-rejected", "is_error": True}
    return [a_tool_call("Bash", {"command": command}), a_tool_result("x", permissionDecision=told, **denial)]


def test_a_permission_granted_again_and_again_becomes_a_rule() -> None:
    (suggestion,) = suggested(sessions(*decided("npm run lint", "accept"), a_reply("ok")), SuggestionKind.PERMISSION)
    assert json.loads(suggestion.draft) == {"permissions": {"allow": ["Bash(npm run lint:*)"]}}
    assert suggestion.place == ".claude/settings.json"


def test_what_a_person_turns_down_again_and_again_is_shown_first() -> None:
    refused = decided("git add -A && git commit -m 'feat: x'", "reject")
    found = sessions(*refused, a_reply("ok"), count=5)
    assert memories(found) == [
        "- Before `git commit`, show me the message and what it would contain and wait for my go."
    ]
    assert not memories(sessions(*refused, a_reply("ok"), count=4))
    assert not memories(sessions(*decided("make flash", "reject"), a_reply("ok"), count=5))


def test_files_that_every_session_reads_become_a_map_with_what_they_say_they_are() -> None:
    files = [
        part
        for name, title in (("a.py", '"""Reads the ledger."""'), ("b.md", "# How to release"), ("c.py", "x = 1"))
        for part in tool("Read", {"file_path": f"/app/{name}"}, f"     1→{title}\n" + "     2→x = 1\n" * 1000)
    ]
    more = tool("Read", {"file_path": "/app/d.md"}, "     1→# What is left to do\n" + "     2→- x\n" * 1500)
    found = [find(a_session(a_prompt(f"go {n}"), *files, *more, id=f"s{n}", cwd="/app").build()) for n in range(5)]
    every = find_patterns([each.material for each in found])
    (suggestion,) = suggest(every, (), Basis(projects={f"s{n}": "/app" for n in range(5)}))
    assert suggestion.draft == "- `d.md`: What is left to do\n- `a.py`: Reads the ledger.\n- `b.md`: How to release"
    assert suggestion.title.startswith("3 files are read again in most sessions, ")
    named = Stated(memory=(("CLAUDE.md", "Look into d.md first.", None),))
    assert not suggest(every, (), Basis(projects={f"s{n}": "/app" for n in range(5)}, stated={"/app": named}))


def test_nothing_is_denied_for_good_and_what_is_risky_or_was_once_refused_is_never_allowed() -> None:
    assert not suggested(sessions(*decided("git add .", "reject"), a_reply("ok")), SuggestionKind.PERMISSION)
    assert not suggested(sessions(*decided("git push", "accept"), a_reply("ok")), SuggestionKind.PERMISSION)
    mixed = [*decided("npm run lint", "accept"), *decided("npm run lint", "reject")]
    assert not suggested(sessions(*mixed, a_reply("ok")), SuggestionKind.PERMISSION)


NO_SKILL = tool("Skill", {"skill": "commit"}, "<tool_use_error>Unknown skill: commit</tool_use_error>", failed=True)


def test_a_skill_that_does_not_exist_is_told_unless_it_is_listed_by_now() -> None:
    found = sessions(*NO_SKILL, a_reply("ok"))
    assert memories(found) == ["- There is no skill `commit`: do what the word says yourself."]
    events = [event for each in found for event in each.events]
    every = find_patterns([each.material for each in found], events)
    assert suggest(every, events, Basis(stated={"": Stated(commands=frozenset({"review"}))}))
    assert not suggest(every, events, Basis(stated={"": Stated(commands=frozenset({"commit"}))}))


def test_a_pattern_that_stops_the_line_in_zsh_is_one_cause_whatever_program_was_to_run() -> None:
    said = "Exit code 1\n(eval):1: no matches found: notes/*-PLAN.md"
    stopped = [
        [a_prompt("go"), *tool("Bash", {"command": f"{program} notes/*-PLAN.md"}, said, failed=True)]
        for program in ("ls", "cat", "grep x")
    ]
    (draft,) = memories([find(a_session(*parts, id=f"s{n}").build()) for n, parts in enumerate(stopped)])
    assert draft.startswith("- The shell is zsh: a pattern that matches no file stops the whole line, even with")


NO_GO = tool("Bash", {"command": "go test ./..."}, "Exit code 127\nzsh: command not found: go", failed=True)


def memories(found: list[Findings]) -> list[str]:
    return [suggestion.draft for suggestion in suggested(found, SuggestionKind.MEMORY)]


def test_a_missing_command_and_its_way_around_become_a_line_of_memory() -> None:
    found = sessions(*NO_GO, *bash("nix develop --command go test ./..."), a_reply("ok"))
    assert memories(found) == ["- `go` is not on the path here: run it as `nix develop --command go`."]


def test_a_line_that_fails_nearly_always_is_drafted_with_what_works_instead() -> None:
    unknown = "error: unrecognized subcommand 'bun'"
    failing = tool("Bash", {"command": "rtk bun run test 2>&1 | tail -30"}, unknown)
    found = sessions(*failing, *bash("bun run test 2>&1 | tail -30"), a_reply("ok"), count=5)
    (suggestion,) = suggested(found, SuggestionKind.MEMORY)
    assert suggestion.title == "`rtk bun run test` failed 5 of 5 times in 5 sessions"
    assert suggestion.draft == "- `rtk bun run test` fails here: run `bun run test` instead."
    assert suggestion.checked.endswith("it would have spared 2 failures, and touched none that went well")
    mostly_well = [*failing, *bash("bun run test"), *bash("rtk bun run test") * 3]
    assert not suggested(sessions(*mostly_well, a_reply("ok")), SuggestionKind.MEMORY)


def test_a_check_that_finds_something_is_no_failing_habit() -> None:
    failed = tool("Bash", {"command": "npm run lint"}, "Exit code 1\n✖ 3 problems (3 errors)", failed=True)
    found = sessions(*failed, *bash("npm run lint --fix"), a_reply("ok"))
    assert not suggested(found, SuggestionKind.MEMORY)


@pytest.mark.parametrize(
    "after",
    [
        bash("nix develop --command go version"),
        bash("cat PROGRESS.md"),
        [*bash("nix develop --command go test ./..."), *bash("go build")],
    ],
    ids=["another work", "no work at all", "on the path after all"],
)
def test_no_way_around_is_made_up(after: list[Part]) -> None:
    assert not memories(sessions(*NO_GO, *after, a_reply("ok")))


def test_a_file_that_is_not_there_is_no_missing_command() -> None:
    gone = tool("Read", {"file_path": "/a/CLAUDE.md"}, "File does not exist.", failed=True)
    assert not memories(sessions(*gone, *read("/a/PROGRESS.md"), a_reply("ok")))
    failed = tool("Bash", {"command": "git add x"}, "fatal: pathspec 'x' did not match any files", failed=True)
    assert not memories(sessions(*failed, *bash("git status"), a_reply("ok")))


def test_a_correction_given_in_two_sessions_becomes_a_rule_in_the_persons_words() -> None:
    found = [
        find(
            a_session(
                a_prompt("add the tool"), *bash("pip install x"), a_reply("Installed."), a_prompt(text),
                *bash("uv add x"), a_reply("You're right, I used uv now."), id=f"s{n}",
            ).build()
        )
        for n, text in enumerate(("no, always use uv instead of pip", "please always use uv instead of pip!"))
    ]  # fmt: skip
    assert memories(found) == ["- Always use uv instead of pip."]
    assert not suggested(found, SuggestionKind.COMMAND)
    assert not suggested(found[:1], SuggestionKind.MEMORY)


def test_what_the_projects_files_state_is_said_again_only_where_it_is_still_broken() -> None:
    rules = [
        a_session(
            a_prompt("go"), a_reply("x"), a_prompt("never use sleeps in tests", timestamp=f"2026-02-0{n}T09:00:00Z"),
            a_reply("ok"), id=f"s{n}",
        )
        for n in (1, 2, 3)
    ]  # fmt: skip
    found = [find(each.build()) for each in rules]
    told = find_patterns([each.material for each in found])
    projects = dict.fromkeys(("s1", "s2", "s3"), "/app")

    def made(changed: datetime) -> list[Suggestion]:
        stated = Stated(memory=(("CLAUDE.md", "# Tests\n- Never use sleeps in the tests.", changed),))
        return suggest(told, (), Basis(projects=projects, stated={"/app": stated}))

    assert not made(datetime(2026, 3, 1, tzinfo=UTC))
    (again,) = made(datetime(2026, 2, 1, 12, tzinfo=UTC))
    assert again.title == "Stated in CLAUDE.md, and broken twice since 2026-02-01"
    assert again.draft == "- IMPORTANT: Never use sleeps in tests."


def test_what_sessions_showed_of_the_instructions_is_stated_and_nothing_is_drafted_against_it() -> None:
    said = "     1→# Build\n     2→- Use tspec instead of cargo."
    shown = tool("Read", {"file_path": "/app/CLAUDE.md"}, said)
    found = sessions(*shown, *edit("/a.rs", "x", "y"), *bash("cargo fmt"), a_reply("ok"))
    every = [each for one in found for each in one.material.shown]
    assert [each.lines for each in every] == [("# Build", "- Use tspec instead of cargo.")] * 3
    stated = with_shown(Stated(), every)
    assert statement_of(stated, "use tspec instead of cargo") == ("CLAUDE.md", every[0].time)
    told = find_patterns([each.material for each in found])
    basis = Basis(projects={"s0": "/app", "s1": "/app", "s2": "/app"}, stated={"/app": stated})
    assert [each.kind for each in suggest(told, ())] == [SuggestionKind.HOOK]
    assert not suggest(told, (), basis)


def test_of_a_file_on_disk_only_lines_that_are_still_in_it_are_stated() -> None:
    shown = [ShownInstructions(path="/app/CLAUDE.md", time=None, lines=("Never push.", "Always lint first."))]
    stated = with_shown(Stated(memory=(("CLAUDE.md", "Always lint first.", None),)), shown)
    assert statement_of(stated, "never push on a friday") is None
    assert statement_of(stated, "always lint first") is not None


def test_what_a_hook_or_the_client_wrote_becomes_no_command() -> None:
    said = "Operation stopped by hook: Another session is active: please close the other window first"
    found = sessions(a_reply("x"), a_prompt(said), a_prompt("Unknown skill: mode for the other window"), a_reply("ok"))
    assert not suggested(found, SuggestionKind.COMMAND)


def test_a_prompt_that_opens_sessions_becomes_a_command_with_the_steps_that_were_taken() -> None:
    steps = [*read("/app/notes/todo.md"), *bash("jj st"), a_reply("Acquainted.")]

    def opened_by(prompt: str) -> list[Suggestion]:
        found = [find(a_session(a_prompt(prompt), *steps, id=f"s{n}").build()) for n in range(5)]
        return suggested(found, SuggestionKind.COMMAND)

    (suggestion,) = opened_by("acquaint yourself with everything here")
    assert suggestion.place == ".claude/commands/acquaint-yourself-with-everything-here.md"
    assert opened_by("acquaint") == [], "a word is typed as fast as a command"
    assert suggestion.draft.endswith("Usually this takes:\n- Read `/app/notes/todo.md`\n- Run `jj st`\n")


def test_a_hook_acts_on_the_files_it_is_for_and_on_names_with_spaces() -> None:
    found = sessions(*edit("/a.py", "x", "y"), *bash("ruff format ."), a_reply("ok"))
    (suggestion,) = suggested(found, SuggestionKind.HOOK)
    command = json.loads(suggestion.draft)["hooks"]["PostToolUse"][0]["hooks"][0]["command"]
    assert '*.py) ruff format "$file"' in command
    assert (suggestion.matched, suggestion.went_well) == (3, 0)


def test_a_prompt_of_many_sessions_becomes_a_command() -> None:
    text = "write the release notes from the merged pull requests"
    found = sessions(a_reply("x"), a_prompt(text), a_reply("ok"))
    (suggestion,) = suggested(found, SuggestionKind.COMMAND)
    assert (suggestion.place, suggestion.draft) == (
        ".claude/commands/write-the-release-notes-from.md",
        f"{text}\n\n$ARGUMENTS",
    )


def test_material_can_be_kept_as_rows_and_read_back() -> None:
    (found,) = sessions(*bash("ruff check", "mypy", "pytest"), a_prompt("never push on a friday evening"), count=1)
    assert found.material.rules
    assert found.material.chains
    assert msgspec.json.decode(msgspec.json.encode(found.material), type=Material) == found.material
    assert msgspec.json.decode(msgspec.json.encode(found), type=Findings) == found


def test_the_outcome_tells_the_last_test_commits_and_what_is_left() -> None:
    todos = [{"content": "a", "status": "completed"}, {"content": "b", "status": "pending"}]
    session = work(
        *tool("Bash", {"command": "pytest -q"}, "1 failed, 2 passed"),
        *tool("TodoWrite", {"todos": todos}),
        *tool("Bash", {"command": "git add . && git commit -m x && git push"}),
        *tool("Bash", {"command": "pytest -q | tail -1"}, "3 passed"),
        *tool("Bash", {"command": "gh pr create --fill"}),
    )
    outcome = find(session).outcome
    assert (outcome.last_test, outcome.commits, outcome.pushes, outcome.pull_requests) == ("passed", 1, 1, 1)
    assert (outcome.todos_done, outcome.todos_open, outcome.ended) == (1, 1, "answered")


def last_test(command: str, output: str, *, failed: bool = False) -> str | None:
    return find(work(*tool("Bash", {"command": command}, output, failed=failed))).outcome.last_test


def test_a_pipe_does_not_hide_that_the_last_test_failed() -> None:
    assert last_test("pytest | tail", "2 failed") == "failed"


def test_a_package_without_tests_beside_tested_ones_hides_nothing() -> None:
    assert last_test("mise run test", "?   \tapp/docs\t[no test files]\nok  \tapp/read\t(cached)") == "passed"
    assert last_test("go test ./...", "?   \tapp/docs\t[no test files]\nFAIL\tapp/read\t0.2s") == "failed"


def test_a_run_of_tests_that_found_none_or_never_started_is_none() -> None:
    assert last_test("npx jest src/a", "No tests found, exiting with code 0") is None
    assert last_test("cargo test nope", "test result: ok. 0 passed; 0 failed; 0 ignored; 391 filtered out") is None
    assert last_test("rtk bun run test | tail", "error: unrecognized subcommand 'bun'") is None
    assert last_test("jest", "Exit code 127\nbash: jest: command not found", failed=True) is None


def test_a_runner_of_tests_is_known_by_what_it_prints() -> None:
    assert last_test("flutter test", "00:02 +3: All tests passed!") == "passed"
    assert last_test("tspec t | tail -3", "test result: FAILED. 3 passed; 1 failed; 0 ignored") == "failed"
    assert last_test("cat log.txt", "test result: FAILED. 3 passed; 1 failed; 0 ignored") is None
