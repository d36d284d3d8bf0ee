"""`reread export`: forms, files, folders and sections."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from cli.kept import HARBOUR, LANTERN, Kept
from cli.running import Run, on_terminal, reread
from html_pages import Page
from reread.testing import a_prompt, a_reply, a_session, a_thought, a_tool_call, a_tool_result


def test_html_goes_to_standard_output_unless_told_otherwise(kept: Kept) -> None:
    ran = kept("export", LANTERN)
    assert ran.code == 0, ran.err
    assert ran.out.startswith("<!doctype html>")
    assert "It is the capacitor." in Page(ran.out).text


def test_a_page_refers_to_nothing_on_the_network(kept: Kept) -> None:
    text = kept("export", LANTERN).out
    assert not re.search(r"""(?:src|href|url\(|@import)\s*[=(]?\s*["']?(?:https?:)?//""", text)
    assert Page(text).foreign == []


@pytest.mark.parametrize(
    ("name", "start"), [("a.md", "# "), ("a.json", "{"), ("a.jsonl", "{"), ("a.html", "<!doctype")]
)
def test_the_name_of_a_file_says_its_form(name: str, start: str, kept: Kept, tmp_path: Path) -> None:
    ran = kept("export", LANTERN, "-o", tmp_path / name)
    assert ran.code == 0, ran.err
    assert ran.out.strip() == str(tmp_path / name)
    assert (tmp_path / name).read_text("utf-8").startswith(start)


def test_jsonl_is_the_transcript_byte_for_byte(kept: Kept, tmp_path: Path) -> None:
    for session in (LANTERN, kept.trunk(LANTERN)):
        assert kept("export", session, "--format", "jsonl", "-o", tmp_path / "out").code == 0
        assert (tmp_path / "out").read_bytes() == kept.trunk(LANTERN).read_bytes()


def test_jsonl_of_a_session_whose_source_is_gone_comes_from_the_archive(kept: Kept, tmp_path: Path) -> None:
    raw = kept.trunk(LANTERN).read_bytes()
    kept("sync")
    kept.trunk(LANTERN).unlink()
    assert kept("export", LANTERN, "--format", "jsonl", "-o", tmp_path / "out").code == 0
    assert (tmp_path / "out").read_bytes() == raw


def test_json_is_the_document_of_show(kept: Kept) -> None:
    shown = kept.json("show", LANTERN, "--branch", "all")
    assert json.loads(kept("export", LANTERN, "--format", "json").out) == shown
    assert json.loads(kept("export", LANTERN, "--json").out) == shown


def test_sections_can_be_left_out_of_every_form_but_jsonl(kept: Kept) -> None:
    for form in ("html", "markdown", "obsidian", "json"):
        whole = kept("export", LANTERN, "--format", form).out
        less = kept("export", LANTERN, "--format", form, "--no-thinking", "--no-tools", "--no-subagents").out
        for text in ("the capacitor might be loose", "measure --volts"):
            assert text in whole, form
            assert text not in less, form
        assert "found an oscillation" in whole
        assert "You are welcome." in less
    ran = kept("export", LANTERN, "--format", "jsonl", "--no-thinking")
    assert ran.code == 2


def test_many_sessions_are_a_folder_with_an_index(kept: Kept, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    ran = kept("export", "-o", folder)
    assert ran.code == 0, ran.err
    names = sorted(path.name for path in folder.iterdir())
    assert len(names) == 3
    index = Page((folder / "index.html").read_text("utf-8"))
    assert sorted(link["href"] for link in index.of("a") if not link["href"].startswith("#")) == [
        name for name in names if name != "index.html"
    ]
    assert index.foreign == []


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere names are UTF-8 or UTF-16")
def test_names_of_files_have_letters_that_they_can_have(tmp_path: Path) -> None:
    a_session(a_prompt("翻译 README"), a_reply("好"), id=LANTERN).write(tmp_path / "projects")
    plain = {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LC_ALL": "C"}
    ran = reread("export", "-o", tmp_path / "out", "--source", tmp_path / "projects", **plain)
    assert ran.code == 0, ran.err
    [written] = [path.name for path in (tmp_path / "out").iterdir() if path.name != "index.html"]
    assert re.fullmatch(rf"[0-9-]+-readme-{LANTERN[:8]}\.html", written)


def test_a_folder_holds_each_copy_of_a_session(run: Run, tmp_path: Path) -> None:
    for folder in ("one", "two"):
        a_session(a_prompt(f"the {folder} place"), a_reply("yes"), id=HARBOUR).write(tmp_path / "claude" / folder)
    source = ("--source", tmp_path / "claude", "--home", tmp_path / "home")
    assert run("export", *source, "--format", "json", "-o", tmp_path / "out").code == 0
    made = [json.loads(path.read_bytes()) for path in (tmp_path / "out").iterdir()]
    assert sorted(each["turns"][0]["prompt"]["text"] for each in made) == ["the one place", "the two place"]
    assert [each["session"]["archived"] for each in made] == [True, True]


def test_workers_export_what_one_process_exports(kept: Kept, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert kept("export", "-o", tmp_path / "alone", "--redact").code == 0
    monkeypatch.setattr("reread.workers.ALONE_BELOW", 0)
    ran = kept("export", "-o", tmp_path / "together", "--redact")
    assert ran.code == 0, ran.err
    both = ({path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} for name in ("alone", "together"))
    assert next(both) == next(both)


def test_filters_choose_what_a_folder_holds(kept: Kept, tmp_path: Path) -> None:
    ran = kept("export", "--project", "harbour", "--format", "markdown", "-o", tmp_path / "out", "--json")
    files = json.loads(ran.out)["files"]
    assert [file["session"] for file in files] == [HARBOUR]
    assert "draw the harbour" in (tmp_path / "out" / "index.md").read_text("utf-8")
    assert kept("export", "--project", "nowhere", "-o", tmp_path / "none").code == 2
    assert not (tmp_path / "none").exists()


def test_many_sessions_need_a_folder(kept: Kept, tmp_path: Path) -> None:
    assert "--output DIR" in kept("export").err
    (tmp_path / "file").write_text("")
    assert kept("export", "-o", tmp_path / "file").code == 2


def test_a_source_that_the_archive_does_not_keep_is_only_looked_at(run: Run, tmp_path: Path) -> None:
    a_session(a_prompt("x"), a_reply("y")).write(tmp_path / "projects")
    assert run("export", "--source", tmp_path / "projects", "-o", tmp_path / "out").code == 0
    assert len(list((tmp_path / "out").iterdir())) == 2


def test_nothing_is_written_below_a_folder_of_claude_code(kept: Kept) -> None:
    ran = kept("export", LANTERN, "-o", kept.claude / "projects" / "x.html")
    assert ran.code == 2
    assert "writes nothing" in ran.err


def test_a_folder_takes_a_single_session_under_a_name_of_its_own(kept: Kept, tmp_path: Path) -> None:
    ran = kept("export", LANTERN, "-o", tmp_path)
    assert Path(ran.out.strip()).name == "2026-01-05-why-does-the-beacon-flicker-1a17e200.html"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with names")
def test_a_pipe_or_a_device_is_written_to_and_stays_what_it_is(kept: Kept, tmp_path: Path) -> None:
    pipe, got = tmp_path / "pipe", tmp_path / "got"
    os.mkfifo(pipe)
    with got.open("wb") as file, subprocess.Popen(["cat", str(pipe)], stdout=file) as reader:
        assert kept("export", LANTERN, "--format", "jsonl", "-o", pipe).code == 0
        reader.wait(timeout=60)
    assert pipe.is_fifo()
    assert got.read_text("utf-8") == kept("export", LANTERN, "--format", "jsonl").out
    refused = kept("export", "--format", "sqlite", "-o", pipe)
    assert (refused.code, pipe.is_fifo()) == (2, True)
    assert "is not a file" in refused.err


def test_standard_output_may_be_named_as_a_device(kept: Kept) -> None:
    named = kept("export", LANTERN, "--format", "markdown", "-o", "/dev/stdout")
    assert named == kept("export", LANTERN, "--format", "markdown", "-o", "-")


def test_names_of_files_tell_no_secret(run: Run, tmp_path: Path) -> None:
    trunk = a_session(a_prompt("ask marta.lindqvist@kestrelworks.se"), a_reply("ok")).write(tmp_path / "projects")
    ran = run("export", trunk, "--redact", "-o", tmp_path)
    assert "marta" not in ran.out
    assert re.search(r"e-mail address \d× \(1 different\)", ran.err)


@pytest.mark.skipif("sys.platform == 'win32'")
def test_on_a_terminal_a_transcript_is_made_harmless(tmp_path: Path) -> None:
    trunk = a_session(a_prompt("over\u202eturn"), a_reply("x")).write(tmp_path / "projects")
    assert "\u202e" not in on_terminal("export", trunk, "--format", "jsonl")


def test_markdown_fences_are_longer_than_what_they_hold(run: Run, tmp_path: Path) -> None:
    ticks = "````\nnot the end\n````"
    trunk = a_session(
        a_prompt("<b>bold</b> `<i>` ![x](http://evil.test/p.png)"),
        a_reply(a_thought("hm"), "```python\nunclosed", a_tool_call("Bash", {"command": ticks})),
        a_tool_result(f"</details>{ticks}"),
        a_reply("[go](javascript:alert(1)) </details>"),
    ).write(tmp_path / "projects")
    text = run("export", trunk, "--format", "markdown").out
    assert "`````bash" in text
    assert "&lt;b>bold&lt;/b> `<i>`" in text
    assert "![x]" not in text
    assert "javascript:" not in text
    outside = re.sub(r"^(`{3,})\w*\n.*?^\1$", "", text, flags=re.DOTALL | re.MULTILINE)
    assert outside.count("<details>") == outside.count("</details>") > 0


def test_markdown_ends_a_fence_with_its_item_and_shows_code_of_a_prompt_as_it_is(run: Run, tmp_path: Path) -> None:
    trunk = a_session(
        a_prompt("why?\n```html\n<div>&amp;</div>\n```\nand <b>this"),
        a_reply("- so\n  ```js\n  let a\n\n  <i>\nafter <img src=x onerror=alert(1)>"),
        a_prompt("go on"),
        a_reply("1. then\n   ```\n   cut"),
        a_prompt("and?"),
        a_reply("[a link]\n\n[a link]: javascript:alert(1)\n- [b]: <file:///etc/passwd>\nconfig[key]: data: stays"),
    ).write(tmp_path / "projects")
    lines = run("export", trunk, "--format", "markdown").out.splitlines()
    assert "> <div>&amp;</div>" in lines
    assert "> and &lt;b>this" in lines
    assert lines[lines.index("  <i>") :][:3] == ["  <i>", "  ```", "after &lt;img src=x onerror=alert(1)>"]
    assert lines[lines.index("   cut") + 1] == "   ```"
    assert {"[a link]:", "- [b]:", "config[key]: data: stays"} <= set(lines)


def test_markdown_knows_code_from_backticks_that_begin_none(run: Run, tmp_path: Path) -> None:
    trunk = a_session(
        a_prompt("```x``` is it\n<b>one</b>"),
        a_reply("\\`<img src=a>\\`\n\nfoo `bar\nbaz` <img src=b> `qux`\n\n``<img src=c>` `<i>`"),
        a_prompt("go on"),
        a_reply("- ```\n  <div>\n  ```\n  <img src=d>\n\ntext\n2. ```\n   <img src=e>\n   ```\n\n`<kept>`"),
    ).write(tmp_path / "projects")
    text = run("export", trunk, "--format", "markdown").out
    assert "> &lt;b>one&lt;/b>\n\n" in text
    assert "<img" not in text
    assert "\n- ```\n  <div>\n  ```\n" in text
    assert "\n`<kept>`\n" in text
    assert text.endswith("</sub>\n")


def test_a_title_of_ones_own_stays_where_secrets_are_taken_out(kept: Kept) -> None:
    kept("mark", LANTERN, "--title", "Ask marta@zoo-of-tests.org about it", "--note", "only mine")
    text = kept("export", LANTERN, "--format", "markdown", "--redact").out
    assert text.startswith("# Ask \\[redacted: e-mail address 1\\] about it")
    assert "only mine" not in text


def test_an_obsidian_note_has_properties_links_and_callouts(kept: Kept) -> None:
    text = kept("export", LANTERN, "--format", "obsidian").out
    head, _, body = text.removeprefix("---\n").partition("\n---\n")
    assert f'session: "{LANTERN}"' in head
    assert "[[lantern]]" in body
    assert "> [!abstract]- ✗ Task" in body
    assert "<details>" not in body


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX permissions")
@pytest.mark.parametrize("form", ["html", "markdown", "json", "jsonl", "sqlite"])
def test_an_export_is_for_this_user_alone_unless_its_rights_were_given(kept: Kept, tmp_path: Path, form: str) -> None:
    before = os.umask(0o022)
    try:
        target = tmp_path / "out"
        assert kept("export", LANTERN, "--format", form, "-o", target).code == 0
        assert target.stat().st_mode & 0o777 == 0o600
        target.chmod(0o644)
        assert kept("export", LANTERN, "--format", form, "-o", target).code == 0
        assert target.stat().st_mode & 0o777 == 0o644
        if form == "html":
            assert kept("export", "-o", tmp_path / "many").code == 0
            folder = tmp_path / "many"
            assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}
            assert folder.stat().st_mode & 0o777 == 0o700
    finally:
        os.umask(before)
    assert [path.name for path in tmp_path.glob(".out.*")] == []
