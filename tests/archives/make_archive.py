"""Makes an archive as the reread that runs this would leave it: `python tests/archives/make_archive.py NAME`.

Run with a released version, it writes NAME.tar.xz beside this file: the sources, the archive, and what that version
said of it. Tests open it with today's version. The host was renamed once, a session was copied, one copy went its own
way, and one session was forgotten.
"""

from __future__ import annotations

import json
import shutil
import sys
import tarfile
import tempfile
from pathlib import Path

from reread.archive import Archive
from reread.testing import a_prompt, a_reply, a_session, a_subagent, a_tool_call, a_tool_result, a_usage, an_interrupt

ALPACA = "0a1b2c3d-1111-4222-8333-444455556666"
IGUANA = "1b2c3d4e-2222-4333-8444-555566667777"
OKAPI = "2c3d4e5f-3333-4444-8555-666677778888"
FORGOTTEN = "3d4e5f60-4444-4555-8666-777788889999"
HOSTS = ("desk", "desk.local")


def write_sources(projects: Path) -> None:
    agent = a_subagent(a_prompt("count them"), a_reply("pangolin", usage=a_usage(input=5, output=9)), id="abc")
    a_session(
        a_prompt("the alpaca"),
        a_reply("let me look", a_tool_call("Bash", {"command": "ls"}), usage=a_usage(input=100, output=20)),
        a_tool_result("a.txt"),
        agent,
        a_reply("one file", usage=a_usage(input=200, output=30)),
        an_interrupt(),
        a_prompt("no, that is wrong, I said two files"),
        a_reply("two files", usage=a_usage(input=300, output=40)),
        id=ALPACA,
    ).write(projects / "zoo")
    a_session(a_prompt("an iguana"), a_reply("green", usage=a_usage(input=7, output=8)), id=IGUANA).write(
        projects / "zoo"
    )
    a_session(a_prompt("an okapi"), a_reply("striped", usage=a_usage(input=1, output=2)), id=OKAPI).write(
        projects / "zoo"
    )
    a_session(a_prompt("a secret plan"), a_reply("hidden"), id=FORGOTTEN).write(projects / "zoo")
    shutil.copytree(projects / "zoo", projects / "copied")
    own = next((projects / "copied").rglob(f"{OKAPI}.jsonl"))
    more = a_session(
        a_prompt("an okapi"), a_reply("with a long neck", usage=a_usage(input=1, output=2)), id=OKAPI
    ).write(projects / "other")
    own.write_bytes(more.read_bytes())
    shutil.rmtree(projects / "other")


def answers(archive: Archive) -> dict[str, object]:
    """What must stay as it was."""
    total = archive.usage("day").totals
    return {
        "sessions": sorted({each.stored.row.uuid for each in archive.sessions()}),
        "requests": total.requests,
        "output_tokens": total.output_tokens,
        "nanodollars": total.nanodollars,
        "texts": {uuid: archive.transcript(uuid).decode() for uuid in (ALPACA, IGUANA)},
    }


def make(target: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        projects = work / "projects"
        write_sources(projects)
        for host in HOSTS:
            with Archive(work / "home", [projects], machine=host) as archive:
                archive.sync()
        with Archive(work / "home", [projects], machine=HOSTS[1]) as archive:
            while found := [each for each in archive.sessions() if each.stored.row.uuid == FORGOTTEN]:
                archive.safe.forget(found[0].stored.name)
            archive.marks.set(IGUANA, starred=True)
            (work / "answers.json").write_text(json.dumps(answers(archive), indent=1))
        with tarfile.open(target, "w:xz") as tar:
            for name in ("projects", "home", "answers.json"):
                tar.add(work / name, name, filter=_nobodys)


def _nobodys(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry


if __name__ == "__main__":
    make(Path(__file__).with_name(f"{sys.argv[1]}.tar.xz"))
