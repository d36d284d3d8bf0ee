"""Lines may be read in several threads from the first one on, as a server does."""

from __future__ import annotations

import subprocess
import sys

READS = """
import sys, threading
from reread.records import decode
sys.setswitchinterval(1e-6)
line = b'{"type":"user","uuid":"u","sessionId":"s","message":{"role":"user","content":[{"type":"text","text":"hi"}]}}'
together = threading.Barrier(4)
found = []
def read():
    together.wait()
    found.append(decode(line).text)
    from reread.records.frames import decode_api_event
threads = [threading.Thread(target=read) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert found == ["hi"] * 4, found
"""


def test_the_first_lines_of_several_threads() -> None:
    """Without the lock every second process crashes."""
    for _ in range(8):
        done = subprocess.run([sys.executable, "-c", READS], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
