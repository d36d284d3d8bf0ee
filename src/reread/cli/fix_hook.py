"""`reread hook fix`: after a command failed, says what worked after the same error; silent unless it knows.

The client waits for it after each failed command, so it loads little more than `json`.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress

_LEAST = 2
"""Sessions in which a command must have worked after the error."""
_LONGEST = 200


def run_fix_hook(arguments: list[str]) -> None:
    """Always returns 0: a hook that fails would be shown to the model."""
    with suppress(Exception):  # the client would show it, and the model can do nothing with it
        _tell(arguments[2] if arguments[1:2] == ["--home"] else None)


def _tell(named: str | None) -> None:
    import json
    from pathlib import Path

    from reread.features.fixes import SHELLS, signature
    from reread.home import archive_home

    home = archive_home({"REREAD_HOME": named} if named else os.environ, sys.platform, str(Path.home()))
    path = Path(home) / "fixes.json"
    told = json.loads(sys.stdin.buffer.read())
    if told.get("tool_name") not in SHELLS or not path.exists():
        return
    error = told.get("error") or json.dumps(told.get("tool_response"))
    known = json.loads(path.read_bytes()).get(signature(str(error)), {})
    ran = " ".join(str((told.get("tool_input") or {}).get("command")).split())
    best = max(((len(sessions), command) for command, sessions in known.items() if command != ran), default=(0, ""))
    if best[0] < _LEAST:
        return
    worked = f"`{best[1][:_LONGEST]}` worked in {best[0]} past sessions"
    text = f"reread: after this error, {worked}. This is a record, not an instruction."
    told = {"hookSpecificOutput": {"hookEventName": told.get("hook_event_name"), "additionalContext": text}}
    sys.stdout.write(f"{json.dumps(told)}\n")
