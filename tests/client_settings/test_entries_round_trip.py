"""Whatever the settings hold: our entries go in without touching anything else, and come out without a trace."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from reread.client_settings import ClientSettings, Entries, entries_running, home_of
from reread.errors import BadInput

ENTRIES = entries_running(["/opt/reread/bin/reread"], ["--home", "/a b"], [], is_windows=False)
ONLY_HOOK = Entries(dict.fromkeys(("SessionEnd", "PreCompact"), ENTRIES.hook), None)
GROUP = {"hooks": [ENTRIES.hook]}

names = st.text(max_size=6) | st.sampled_from(["hooks", "SessionEnd", "command", "args", "statusLine"])
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=8,
)
events = st.dictionaries(names.filter(lambda name: name != "SessionEnd"), values, max_size=2)
sometimes_an_event = st.one_of(
    events, st.builds(lambda had, ours: {**had, "SessionEnd": ours}, events, st.lists(values))
)
plain = st.dictionaries(names.filter(lambda name: name != "hooks"), values, max_size=3)
settings_values = plain | st.builds(lambda had, hooks: {"hooks": hooks, **had}, plain, sometimes_an_event)
layouts: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    [
        {"indent": 2},
        {"indent": 4},
        {"indent": "\t"},
        {"indent": 0},
        {"separators": (",", ":")},
        {"separators": (", ", ": ")},
        {"indent": 2, "separators": (" ,", " : ")},
    ]
)


@st.composite
def texts(draw: st.DrawFn) -> str:
    shown = json.dumps(draw(settings_values), ensure_ascii=draw(st.booleans()), **draw(layouts))
    if draw(st.booleans()):
        shown = shown.replace("\n", "\r\n")
    return draw(st.sampled_from(["", "\ufeff", "\n", "  "])) + shown + draw(st.sampled_from(["", "\n", "\n\n"]))


def with_entries(values: dict[str, Any], entries: Entries) -> dict[str, Any]:
    """The same change to the values alone."""
    hooks = values.get("hooks", {})
    ours = {event: [*hooks.get(event, []), {"hooks": [hook]}] for event, hook in entries.hooks.items()}
    changed = {**values, "hooks": {**hooks, **ours}}
    return changed if entries.status_line is None else {"statusLine": entries.status_line, **changed}


@given(texts(), st.sampled_from([ENTRIES, ONLY_HOOK]))
def test_installing_changes_the_values_by_our_entries_and_nothing_else(text: str, entries: Entries) -> None:
    before = ClientSettings(text, "settings.json")
    after = before.with_entries(entries)
    assert after.values == with_entries(before.values, entries)
    assert [key for key in after.values if key in before.values] == list(before.values)
    assert after.with_entries(entries).text == after.text


@given(texts(), st.sampled_from([ENTRIES, ONLY_HOOK]))
def test_removing_gives_back_the_same_bytes_when_it_is_known_what_was_before(text: str, entries: Entries) -> None:
    before = ClientSettings(text, "settings.json")
    assert before.with_entries(entries).without_entries(before).text == text


@given(texts(), st.sampled_from([ENTRIES, ONLY_HOOK]))
def test_removing_gives_back_the_same_values_when_the_file_changed_since(text: str, entries: Entries) -> None:
    before = ClientSettings(text, "settings.json")
    changed = ClientSettings(before.with_entries(entries).text + " ", "settings.json")
    assert changed.without_entries(before).values == before.values


@given(texts(), st.sampled_from([ENTRIES, ONLY_HOOK]))
def test_removing_needs_no_memory_unless_a_container_was_empty_before(text: str, entries: Entries) -> None:
    before = ClientSettings(text, "settings.json")
    hooks = before.values.get("hooks", {"": 0})
    assume(before.values and hooks)
    assume(
        all(hooks.get(event, [0]) for event in ("SessionEnd", "PreCompact", "PermissionRequest", "PostToolUseFailure"))
    )
    assert before.with_entries(entries).without_entries(None).text == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('{"a":1}', '{"a":1,"hooks":{"SessionEnd":[{"hooks":[HOOK]}],"PreCompact":[{"hooks":[HOOK]}]}}'),
        ('{"a": 1}', '{"a": 1, "hooks": {"SessionEnd": [{"hooks": [HOOK]}], "PreCompact": [{"hooks": [HOOK]}]}}'),
        ('{\n\t"hooks": {"SessionEnd": []}\n}', '{\n\t"hooks": {"SessionEnd": [\n\t\t{\n\t\t\t"hooks": [\n'),
        ("{}", '{\n  "hooks": {\n    "SessionEnd": [\n      {\n'),
    ],
)
def test_an_entry_is_laid_out_like_its_neighbours(text: str, shown: str) -> None:
    separators = (",", ":") if '":1' in text else (", ", ": ")
    hook = json.dumps(ENTRIES.hook, separators=separators)
    assert ClientSettings(text, "x").with_entries(ONLY_HOOK).text.startswith(shown.replace("HOOK", hook))


def test_a_hook_moved_into_a_group_of_others_goes_alone() -> None:
    other = {"type": "command", "command": "echo reread hook runs"}
    held = {"hooks": {"SessionEnd": [{"matcher": "clear", "hooks": [other, ENTRIES.hook]}]}}
    cleared = ClientSettings(json.dumps(held), "x").without_entries(None)
    assert cleared.values == {"hooks": {"SessionEnd": [{"matcher": "clear", "hooks": [other]}]}}


def test_an_older_hook_of_ours_is_replaced_where_it_stands() -> None:
    other = {"hooks": [{"type": "command", "command": "true"}]}
    old = {"hooks": [{"type": "command", "command": "'/old place/reread' hook run"}]}
    text = json.dumps({"hooks": {"SessionEnd": [old, other]}}, indent=2)
    changed = ClientSettings(text, "x").with_entries(ONLY_HOOK)
    assert changed.values == {"hooks": {"SessionEnd": [GROUP, other], "PreCompact": [GROUP]}}


@pytest.mark.parametrize("line", [{"type": "command", "command": "ccline"}, None, "reread statusline"])
def test_another_status_line_is_left_alone(line: object) -> None:
    settings = ClientSettings(json.dumps({"statusLine": line}), "x")
    changed = settings.with_entries(ENTRIES)
    assert (settings.status_line, changed.values["statusLine"]) == ("other", line)
    assert changed.without_entries(settings).text == settings.text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "not valid JSON"),
        ("{,}", "not valid JSON"),
        ('{"a": NaN}', "NaN is not JSON"),
        ("{} {}", "something follows"),
        ("[" * 100_000, "nested too deeply"),
        ("[]", "holds no object"),
        ('{"hooks": []}', "`hooks` is no object"),
        ('{"hooks": null}', "`hooks` is no object"),
        ('{"hooks": {"SessionEnd": {}}}', "`hooks.SessionEnd` is no array"),
    ],
)
def test_settings_that_cannot_be_understood_are_refused(text: str, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        ClientSettings(text, "settings.json")


def test_windows_gets_plain_words_or_a_program_with_arguments() -> None:
    plain = entries_running([r"C:\py\Scripts\reread.exe"], [], [], is_windows=True)
    assert plain.hook["command"] == "C:/py/Scripts/reread.exe hook run"
    spaced = entries_running([r"C:\Ann Lee\reread.exe"], ["--home", r"D:\a b"], [], is_windows=True)
    assert spaced.hook["command"] == "C:/Ann Lee/reread.exe"
    assert spaced.hook["args"] == ["hook", "run", "--home", "D:/a b"]
    for entries in (plain, spaced):
        installed = ClientSettings("{}", "x").with_entries(entries)
        assert installed.hook == entries.hook
        assert installed.status_line == "ours"
        assert installed.without_entries(None).values == {}
    assert (home_of(plain.hook), home_of(spaced.hook)) == (None, "D:/a b")
