"""Sessions that change files, for tests of the commands that travel in time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from reread.testing import Entry, a_prompt, a_reply, a_session, a_tool_call, a_tool_result

APP = "/home/ann/app"
FIRST = "f1000000-aaaa-4000-8000-000000000001"
SECOND = "f2000000-bbbb-4000-8000-000000000002"


def change(tool: str, path: str, twin: dict[str, Any] | None, uuid: str, time: str, **given: Any) -> list[Entry]:
    name = f"toolu_01{uuid:>018}"
    told: dict[str, Any] = {} if twin is None else {"twin": {"filePath": path, **twin}}
    call = a_tool_call(tool, {"file_path": path, **given}, id=name)
    return [a_reply(call, uuid=uuid, timestamp=time), a_tool_result("done", of=name, timestamp=time, **told)]


def written(path: str, content: str, uuid: str, time: str, before: str | None = None) -> list[Entry]:
    twin = {"type": "create" if before is None else "update", "content": content, "originalFile": before}
    return change("Write", path, {**twin, "structuredPatch": []}, uuid, time, content=content)


def edited(path: str, old: str, new: str, original: str, uuid: str, time: str) -> list[Entry]:
    twin = {"oldString": old, "newString": new, "originalFile": original, "structuredPatch": [], "replaceAll": False}
    return change("Edit", path, twin, uuid, time, old_string=old, new_string=new)


def fill(claude: Path) -> None:
    """Two sessions on one file; between them somebody else changes it. The second is rewound and asks something."""
    projects = claude / "projects"
    a_session(
        a_prompt("write the lantern", uuid="p1", timestamp="2026-11-10T10:00:00.000Z"),
        *written(f"{APP}/src/lantern.py", "one\ntwo\n", "w1", "2026-11-10T10:00:01.000Z"),
        *written(f"{APP}/crlf.txt", "a\r\nb", "w2", "2026-11-10T10:00:02.000Z"),
        a_reply(a_tool_call("Bash", {"command": "cat src/lantern.py > copy.txt"}, id="toolu_shell"), uuid="b1",
                timestamp="2026-11-10T10:00:03.000Z"),
        a_tool_result("", of="toolu_shell", timestamp="2026-11-10T10:00:04.000Z"),
        a_reply("Written.", timestamp="2026-11-10T10:00:05.000Z"),
        id=FIRST,
        cwd=APP,
    ).write(projects)  # fmt: skip
    question = {"question": "Which lamp?", "header": "Lamp", "options": [{"label": "Oil"}, {"label": "Gas"}]}
    a_session(
        a_prompt("brighten the lantern", uuid="p2", timestamp="2026-11-12T10:00:00.000Z"),
        *edited(f"{APP}/src/lantern.py", "two", "TWO", "one\ntwo\nthree\n", "e1", "2026-11-12T10:00:01.000Z"),
        a_reply("Done.", uuid="r2", timestamp="2026-11-12T10:00:02.000Z"),
        a_prompt("dim it", uuid="p3", to="r2", timestamp="2026-11-12T10:00:03.000Z"),
        *edited(f"{APP}/src/lantern.py", "TWO", "dim", "one\nTWO\nthree\n", "e2", "2026-11-12T10:00:04.000Z"),
        a_reply("Dim.", timestamp="2026-11-12T10:00:05.000Z"),
        a_prompt("ask me", uuid="p4", to="r2", timestamp="2026-11-12T10:00:06.000Z"),
        *edited(f"{APP}/src/lantern.py", "three", "3", "one\nTWO\nthree\n", "e3", "2026-11-12T10:00:07.000Z"),
        a_reply(a_tool_call("AskUserQuestion", {"questions": [question]}, id="toolu_ask"), uuid="q1",
                timestamp="2026-11-12T10:00:08.000Z"),
        a_tool_result("answered", of="toolu_ask", twin={"answers": {"Which lamp?": "neither, a candle"}},
                      timestamp="2026-11-12T10:00:09.000Z"),
        a_reply("A candle then.", timestamp="2026-11-12T10:00:10.000Z"),
        id=SECOND,
        cwd=APP,
    ).write(projects)  # fmt: skip
