"""The store for the official SDK: what it mirrors is kept as the client writes it, and is in the archive at once."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

import reread
from reread.errors import BadInput
from reread.testing import a_prompt, a_reply, a_session

ID = "0a1b2c3d-1111-4222-8333-444455556666"
KEY = {"project_key": "-home-ann-app", "session_id": ID}
ENTRIES = [json.loads(line) for line in a_session(a_prompt("mend the lamp"), a_reply("It shines."), id=ID).lines]


def a_store(folder: Path) -> reread.SessionStore:
    return reread.SessionStore(folder / "mirror", folder / "home")


def test_what_is_appended_is_in_the_archive_and_comes_back_as_it_was(tmp_path: Path) -> None:
    store = a_store(tmp_path)
    asyncio.run(store.append(KEY, ENTRIES[:1]))
    asyncio.run(store.append(KEY, ENTRIES[1:]))
    with reread.Archive(tmp_path / "home") as archive:
        assert [turn.prompt.text for turn in archive.session(ID).turns if turn.prompt] == ["mend the lamp"]
        assert [hit.session.row.uuid for hit in archive.search("shines")] == [ID]
    assert asyncio.run(store.load(KEY)) == ENTRIES


def test_a_batch_that_comes_again_is_kept_once_also_by_another_process(tmp_path: Path) -> None:
    title = {"type": "custom-title", "customTitle": "Lamp", "sessionId": ID}
    asyncio.run(a_store(tmp_path).append(KEY, [*ENTRIES, title]))
    asyncio.run(a_store(tmp_path).append(KEY, [*ENTRIES, title]))
    assert asyncio.run(a_store(tmp_path).load(KEY)) == [*ENTRIES, title, title], (
        "only lines with a uuid are known again"
    )


def test_a_line_that_was_left_unfinished_stops_nothing(tmp_path: Path) -> None:
    store = a_store(tmp_path)
    asyncio.run(store.append(KEY, ENTRIES))
    [path] = (tmp_path / "mirror").rglob("*.jsonl")
    path.write_bytes(path.read_bytes() + b'{"type":"us')
    asyncio.run(a_store(tmp_path).append(KEY, [{"type": "custom-title", "customTitle": "Lamp", "sessionId": ID}]))
    loaded = asyncio.run(store.load(KEY))
    assert loaded is not None
    assert loaded[:-1] == ENTRIES
    assert loaded[-1]["customTitle"] == "Lamp"


@pytest.mark.parametrize("change", [{"project_key": ".."}, {"session_id": "../../x"}, {"subpath": "/etc/x"}])
def test_a_key_leads_nowhere_else(tmp_path: Path, change: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match="leads out of its folder"):
        asyncio.run(a_store(tmp_path).append({**KEY, **change}, ENTRIES))
