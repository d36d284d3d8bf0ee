"""How tests start the stand-in for the client."""

from __future__ import annotations

import sys
from pathlib import Path

from reread.live.transport import Patience

HURRY = Patience(finish=0.3, terminate=0.3)


def fake(way: str) -> list[str]:
    return [sys.executable, str(Path(__file__).with_name("fake_client.py")), way]
