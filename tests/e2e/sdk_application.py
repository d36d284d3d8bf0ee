"""An application of the official SDK whose sessions go into an archive; started by a test, as a process of its own.

`python sdk_application.py FOLDER CLIENT WORK` prints the session's id: one prompt, then another after the client's own
transcripts are gone.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from itertools import count
from pathlib import Path
from typing import Any

import reread


async def ask(prompt: str, **options: Any) -> str:
    from claude_agent_sdk import ClaudeAgentOptions, ResultMessage, query

    given = ClaudeAgentOptions(permission_mode="bypassPermissions", **options)
    [result] = [each async for each in query(prompt=prompt, options=given) if isinstance(each, ResultMessage)]
    return str(result.session_id)


async def main(folder: Path, client: Path, work: Path) -> None:
    from claude_agent_sdk.testing import run_session_store_conformance

    numbers = (folder / str(number) for number in count())
    await run_session_store_conformance(lambda: a_store(next(numbers)))
    options: dict[str, Any] = {"cli_path": client, "cwd": work, "session_store": a_store(folder)}
    session = await ask("mock:think-bash", **options)
    shutil.rmtree(Path(os.environ["HOME"]) / ".claude" / "projects")
    await ask("mock:text(again)", resume=session, **options)
    sys.stdout.write(session)


def a_store(folder: Path) -> reread.SessionStore:
    return reread.SessionStore(folder / "mirror", folder / "home")


if __name__ == "__main__":
    asyncio.run(main(*map(Path, sys.argv[1:])))
