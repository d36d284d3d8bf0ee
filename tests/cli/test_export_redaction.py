"""A redacted export of a session that is full of secrets tells none of them, in no form."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from cli.running import Run
from planting import planted
from reread.testing import (
    Agent,
    Entry,
    a_command,
    a_compaction,
    a_line,
    a_prompt,
    a_queued_prompt,
    a_reply,
    a_session,
    a_subagent,
    a_summary,
    a_system_line,
    a_task_notification,
    a_thought,
    a_title,
    a_tool_call,
    a_tool_result,
    an_attachment,
    an_image,
)

FORMATS = ("html", "markdown", "obsidian", "json", "jsonl")
SECRETS = planted()
EVERY = "\n\n".join(each.text for each in SECRETS)
PARTS = [(each.kind, part) for each in SECRETS for part in each.secret.split("\n")]


def _edit(text: str) -> list[Entry]:
    lines = [f"+{line}" for line in text.split("\n")]
    hunk = {"oldStart": 1, "oldLines": 0, "newStart": 1, "newLines": len(lines), "lines": lines}
    call = a_tool_call("Edit", {"file_path": "/srv/x.env", "old_string": "", "new_string": text})
    return [a_reply(call), a_tool_result("ok", twin={"filePath": "/srv/x.env", "structuredPatch": [hunk]})]


def _agent(text: str) -> list[Entry | Agent]:
    return [
        a_reply(a_tool_call("Task", {"description": text, "prompt": text, "subagent_type": "x"}, id="t1")),
        a_subagent(a_prompt(text), a_reply(text, a_thought(text)), of="t1", meta={"agentType": text, "name": text}),
        a_tool_result(text, of="t1"),
    ]


def _rewound(text: str) -> list[Entry]:
    return [a_prompt(text, uuid="left"), a_reply(text), a_prompt("again", to=None), a_reply("done")]


FIELDS: dict[str, Callable[[str], Sequence[Entry | Agent]]] = {
    "prompt": lambda text: [a_prompt(text)],
    "reply": lambda text: [a_reply(text)],
    "code in a reply": lambda text: [a_reply(f"```python\n{text}\n```")],
    "thinking": lambda text: [a_reply(a_thought(text))],
    "command": lambda text: [a_reply(a_tool_call("Bash", {"command": text})), a_tool_result("ok")],
    "nested input": lambda text: [
        a_reply(a_tool_call("x", {text[:40]: [{"deep": {"deeper": text}}]})),
        a_tool_result(""),
    ],
    "result": lambda text: [a_reply(a_tool_call("Bash", {"command": "x"})), a_tool_result(text, is_error=True)],
    "result blocks": lambda text: [
        a_reply(a_tool_call("Read", {"file_path": "x"})),
        a_tool_result([{"type": "text", "text": text}], twin={"stdout": text, "stderr": text}),
    ],
    "edit": _edit,
    "agent": _agent,
    "title": lambda text: [a_title(text), a_prompt("x")],
    "summary": lambda text: [a_prompt("x", uuid="named"), a_summary(text, of="named")],
    "queued": lambda text: [a_prompt("x"), a_queued_prompt(text)],
    "command line": lambda text: [a_command("/x", text), a_reply("y")],
    "task": lambda text: [a_prompt("x"), a_task_notification(text, task="1", call="2")],
    "system": lambda text: [a_prompt("x"), a_system_line("informational", content=text)],
    "api error": lambda text: [a_prompt("x"), a_system_line("api_error", error={"message": text})],
    "hook": lambda text: [a_prompt("x"), an_attachment("hook_error", hookName="h", content=text, stderr=text)],
    "compaction": lambda text: [a_prompt("x"), a_compaction(text)],
    "unknown": lambda text: [a_prompt("x"), a_line("never-seen", uuid="u", content=text, more={"deep": [text]})],
    "branch": _rewound,
    "envelope": lambda text: [a_prompt("x", gitBranch=text, slug=text), a_reply("y", model=text)],
}


def readable(text: str) -> list[str]:
    """An export as it is, and as a browser or a parser gives it back."""
    return [text, html.unescape(re.sub(r"<[^>]*>", "", text)), text.replace('\\"', '"').replace("\\\\", "\\")]


def leaks(text: str) -> list[str]:
    return sorted({kind for kind, part in PARTS if any(part in each for each in readable(text))})


@pytest.mark.sampled(1, over="form")
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("field", FIELDS)
def test_secrets_in_any_field_leak_in_no_form(field: str, form: str, run: Run, tmp_path: Path) -> None:
    trunk = a_session(*FIELDS[field](EVERY), id="plain", cwd="/srv/app").write(tmp_path / "projects")
    ran = run("export", trunk, "--format", form, "--redact", "--check", "--output", tmp_path / "out", "--raw")
    assert ran.code == 0, ran.err
    assert leaks((tmp_path / "out").read_text("utf-8")) == []
    assert leaks(ran.err) == []


@pytest.mark.parametrize("form", FORMATS)
def test_secrets_everywhere_at_once_leak_in_no_form(form: str, run: Run, tmp_path: Path) -> None:
    entries = [entry for field in FIELDS.values() for entry in field(EVERY)]
    persisted = "<persisted-output>\nOutput too large. Full output saved to: /x/t9.txt\n"
    entries += [a_reply(a_tool_call("Bash", {"command": "x"}, id="t9")), a_tool_result(persisted, of="t9")]
    cwd = "/home/mlindqvist/lantern"
    trunk = a_session(*entries, cwd=cwd, outputs={"t9.txt": EVERY}).write(tmp_path / "projects")
    with trunk.open("ab") as file:
        file.write(b'{"type": "user", "broken": ' + json.dumps(EVERY).encode() + b"\n")
    out = tmp_path / "out"
    ran = run("export", trunk, "--format", form, "--redact", "--check", "--output", out)
    assert ran.code == 0, ran.err
    assert leaks(out.read_text("utf-8")) == []
    assert "GitHub token" in ran.err
    assert "different" in ran.err


@pytest.mark.parametrize("form", FORMATS)
def test_a_check_fails_and_writes_nothing_when_a_secret_would_remain(form: str, run: Run, tmp_path: Path) -> None:
    trunk = a_session(a_prompt(EVERY), a_reply("ok")).write(tmp_path / "projects")
    ran = run("export", trunk, "--format", form, "--check", "--output", tmp_path / "out")
    assert ran.code == 1
    assert "something secret would remain" in ran.err
    assert leaks(ran.err) == []
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("form", FORMATS)
def test_each_secret_alone_fails_the_check(form: str, run: Run, tmp_path: Path) -> None:
    passed = []
    for each in SECRETS[::6]:
        trunk = a_session(a_prompt(each.text), a_reply("ok"), cwd="/srv/app").write(tmp_path / "projects")
        ran = run("export", trunk, "--format", form, "--check", "--output", tmp_path / "out")
        passed += [each.kind] if ran.code != 1 else []
    assert passed == []


def test_a_check_of_an_ordinary_session_passes(run: Run, tmp_path: Path) -> None:
    trunk = a_session(a_prompt("what is a token?"), a_reply("A word."), cwd="/srv/app").write(tmp_path / "projects")
    ran = run("export", trunk, "--check", "--output", tmp_path / "out.html")
    assert ran.code == 0, ran.err


def test_a_redacted_transcript_still_reads_as_the_same_conversation(run: Run, tmp_path: Path) -> None:
    from reread import load

    entries = [entry for field in FIELDS.values() for entry in field(EVERY)]
    trunk = a_session(*entries).write(tmp_path / "projects")
    out = tmp_path / "out.jsonl"
    assert run("export", trunk, "--format", "jsonl", "--redact", "--output", out).code == 0
    one, other = load(trunk), load(out)
    assert [len(branch.turns) for branch in one.branches] == [len(branch.turns) for branch in other.branches]
    assert [call.name for call in one.tool_calls] == [call.name for call in other.tool_calls]
    assert one.usage == other.usage


def test_one_session_that_would_tell_a_secret_keeps_a_folder_from_being_written(run: Run, tmp_path: Path) -> None:
    projects = tmp_path / "projects"
    a_session(a_prompt("harmless"), a_reply("ok"), id="11111111", cwd="/srv/app").write(projects)
    a_session(a_prompt(SECRETS[0].text), a_reply("ok"), id="22222222", cwd="/srv/app").write(projects)
    out = tmp_path / "out"
    assert run("export", "--source", projects, "--check", "-o", out).code == 1
    assert not out.exists()
    ran = run("export", "--source", projects, "--check", "--redact", "-o", out)
    assert ran.code == 0, ran.err
    assert "Anthropic key 4× (1 different)" in ran.err  # title, outline, heading, prompt
    assert len(list(out.iterdir())) == 3
    assert not any(leaks(path.read_text("utf-8")) for path in out.iterdir())


def test_images_are_named_as_what_nobody_looked_into(run: Run, tmp_path: Path) -> None:
    png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    trunk = a_session(a_prompt("look", an_image(png)), a_reply("ok")).write(tmp_path / "projects")
    for form in ("html", "jsonl"):
        ran = run("export", trunk, "--redact", "--format", form, "-o", tmp_path / "out")
        assert "images are shown as they are" in ran.err, form


@pytest.mark.parametrize("form", FORMATS)
def test_a_private_key_of_which_only_the_first_lines_were_shown_keeps_no_form_from_being_written(
    form: str, run: Run, tmp_path: Path
) -> None:
    key = next(each for each in SECRETS if each.kind == "private key")
    shown = "\n".join(key.text.split("\n")[:4])
    call = a_tool_call("Bash", {"command": "head -4 key.pem"})
    trunk = a_session(a_prompt("show it"), a_reply(call), a_tool_result(shown), a_reply("It is a key."), cwd="/srv/app")
    ran = run(
        "export", trunk.write(tmp_path / "projects"), "--format", form, "--redact", "--check", "-o", tmp_path / "out"
    )
    assert ran.code == 0, ran.err
    text = (tmp_path / "out").read_text("utf-8")
    assert not [line for line in key.secret.split("\n")[:3] if line in text]
    assert "It is a key." in text


@pytest.mark.parametrize("form", FORMATS)
def test_a_token_behind_a_colour_keeps_no_form_from_being_written(form: str, run: Run, tmp_path: Path) -> None:
    key = next(each.secret for each in SECRETS if each.kind == "GitHub")
    said = f"\x1b[31m{key}\x1b[0m and \x1b[1mDB_PASSWORD=\x1b[32mhunter2secret\x1b[0m"
    entries = [
        a_prompt("go"),
        a_reply(f"as told: {said}", a_tool_call("Bash", {"command": "env"})),
        a_tool_result(said),
    ]
    trunk = a_session(*entries, cwd="/srv/app").write(tmp_path / "projects")
    ran = run("export", trunk, "--format", form, "--redact", "--check", "--output", tmp_path / "out")
    assert ran.code == 0, ran.err
    text = (tmp_path / "out").read_text("utf-8")
    assert "GitHub token" in text
    assert key not in text
    assert "hunter2secret" not in text


@pytest.mark.parametrize("form", FORMATS)
def test_json_nested_480_deep_is_exported(form: str, run: Run, tmp_path: Path) -> None:
    deep: object = {"password": "hunter2secret"}
    for level in range(480):
        deep = {"deeper": deep} if level % 2 else [deep]
    entries = [a_prompt("go"), a_reply(a_tool_call("x", {"input": deep})), a_tool_result("ok", twin={"deep": deep})]
    trunk = a_session(*entries, cwd="/srv/app").write(tmp_path / "projects")
    ran = run("export", trunk, "--format", form, "--redact", "--check", "--output", tmp_path / "out")
    assert ran.code == 0, ran.err
    assert "hunter2secret" not in (tmp_path / "out").read_text("utf-8")


@pytest.mark.parametrize("form", FORMATS)
def test_a_value_that_a_repeated_name_hides_leaks_in_no_form(form: str, run: Run, tmp_path: Path) -> None:
    hidden, shown = "Vb8Kp1WdQ7Rt2Zx9", "hunter2secret"
    entries = [a_prompt("go"), a_reply(a_tool_call("x", {"input": {"mark": 1}})), a_tool_result("ok", twin={"mark": 1})]
    trunk = a_session(*entries, cwd="/srv/app").write(tmp_path / "projects")
    twice = f'"password":"{hidden}","password":"{shown}"'.encode()
    trunk.write_bytes(re.sub(rb'"mark": ?1', twice, trunk.read_bytes()))
    assert trunk.read_bytes().count(hidden.encode()) == 2
    ran = run("export", trunk, "--format", form, "--redact", "--check", "--output", tmp_path / "out", "--raw")
    assert ran.code == 0, ran.err
    text = (tmp_path / "out").read_text("utf-8")
    assert hidden not in text
    assert shown not in text
