"""The store for the official SDK, with the SDK itself and its own suite for stores, and with the real client."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import reread
from client.install import sdk_folder
from client.run import Scratch

pytestmark = pytest.mark.e2e
APPLICATION = Path(__file__).with_name("sdk_application.py")


def test_an_application_of_the_sdk_writes_into_an_archive_and_goes_on_from_it(scratch: Scratch, tmp_path: Path) -> None:
    # A process of its own: the SDK imports a package `mcp`, and our tests have a folder of that name.
    command = [sys.executable, str(APPLICATION), str(tmp_path / "kept"), str(scratch.client), str(scratch.work)]
    environment = {**scratch.environment, "PYTHONPATH": str(sdk_folder())}
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert ran.returncode == 0, ran.stderr
    with reread.open(home=tmp_path / "kept" / "home") as archive:
        session = archive.session(ran.stdout.strip())
    assert [prompt.text for prompt in session.prompts] == ["mock:think-bash", "mock:text(again)"]
    assert [call.name for call in session.tool_calls] == ["Bash"]
