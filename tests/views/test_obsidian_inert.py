"""Whatever a transcript holds, nothing in a note makes a plugin of Obsidian run it."""

from __future__ import annotations

import re

import pytest

from reread.features.summaries import summary_of
from reread.testing import a_prompt, a_reply, a_session, a_thought, a_title, a_tool_call, a_tool_result
from reread.views import summary
from reread.views.markdown import MarkdownOptions, markdown_lines, obsidian_lines, spoken
from reread.views.text import Style
from reread.views.values import View

HOSTILE = {
    "dataviewjs": "look:\n\n```dataviewjs\ndv.paragraph(1)\n```\n",
    "tildes": "~~~ dataview\nLIST\n~~~",
    "quoted": "> ```dataviewjs\n> dv.view('x')\n> ```",
    "in a list": "- a\n- ```js-engine\n  run()\n  ```",
    "deep": "1. > - ````button\nname x\n````",
    "inline": "so `= this.file.name` it is",
    "inline script": "so ``  $= dv.current() `` it is",
    "over two lines": "so `\n= this.secret` it is",
    "escaped": "so \\`= this` it is",
    "templater": "a <%* app.vault.delete(1) %> and <%= 1 %> b",
    "templater in code": "```js\n<%* await tp.system.prompt() %>\n```",
}
RUN = re.compile(
    r"<%|^[\s>*+.)\d-]*(?:`{3,}|~{3,})\s*(?:dataview|dataviewjs|js-engine|button)\b|(?<!\\)`\s*\$?=|(?<!\\)`\s*\n[\s>]*\$?=",
    re.MULTILINE,
)


def view() -> View:
    return View(80, Style(colour=False))


@pytest.mark.parametrize("name", sorted(HOSTILE.keys() - {"escaped"}))
def test_the_hostile_texts_would_be_run(name: str) -> None:
    assert RUN.search(HOSTILE[name])


@pytest.mark.parametrize("name", HOSTILE)
def test_nothing_of_a_note_is_run(name: str) -> None:
    text = HOSTILE[name]
    session = a_session(
        a_title(text),
        a_prompt(text),
        a_reply(a_thought(text), text, a_tool_call("Bash", {"command": text, "description": text}, id="toolu_1")),
        a_tool_result(text, of="toolu_1"),
        a_prompt(f"<b>{text}"),
        a_reply(f"x ```\n{text}"),
        cwd="/home/<%x%>/`= this`",
    ).build()
    about = summary_of(session)
    notes = [
        "\n".join(obsidian_lines(session, about, MarkdownOptions(), view())),
        "\n".join(summary.obsidian_lines(about, view())),
    ]
    for note in notes:
        body = note.partition("\n---\n")[2]  # no plugin runs properties, but Templater any text of a file
        outside = re.sub(
            r"^(?:> )*(`{3,})(?:text|bash|json|js|diff)$.*?^(?:> )*\1$", "", body, flags=re.MULTILINE | re.DOTALL
        )
        assert not RUN.search(outside), RUN.search(outside)
        assert "<%" not in note


def test_what_is_not_run_stays_as_it_was() -> None:
    text = "use `x = 1`, **bold** and\n\n```python\ny = `=`\n```\n\n| a |\n|---|\n"
    assert spoken(text, is_obsidian=True) == spoken(text)


def test_other_markdown_keeps_its_words() -> None:
    session = a_session(a_prompt("x"), a_reply("the `=` sign\n\n```dataview\nLIST\n```")).build()
    lines = list(markdown_lines(session, MarkdownOptions()))
    assert "the `=` sign" in lines and "```dataview" in lines
