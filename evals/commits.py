"""Whether `reread commit` names the right session: precision and recall over lines of made-up repositories.

In each repository three sessions and a person write into the same files in turn, often the same common lines; a
formatter moves lines in. Who wrote each line of a commit is known, since every line carries its writer.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import reread
from measuring import interval
from reread.testing import Entry, a_prompt, a_reply, a_session, a_tool_call, a_tool_result

REPOSITORIES = 40
COMMON = ("return None", "import os", "if not found:", "for each in items:", "raise ValueError(name)", "self.close()")
PERSON = "person"
_COMMON_SHARE, _PERSON_SHARE, _FORMATS, _COMMITS = 0.3, 0.3, 0.1, 0.25
START = datetime(2026, 3, 1, tzinfo=UTC)
Line = tuple[str, str]
"""Its text, and who wrote it."""


class Repository:
    """Files of which every line carries its writer, in a repository of git."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.chance = random.Random(seed)  # noqa: S311  no secret
        self.folder = folder
        self.files: dict[str, list[Line]] = {f"part{n}.py": [] for n in range(3)}
        self.names = [f"{seed:08x}-0000-4000-8000-00000000000{n}" for n in range(3)]
        self.sessions: dict[str, list[Entry]] = {name: [] for name in self.names}
        self.commits: list[tuple[str, dict[tuple[str, int], str]]] = []
        self.now = START
        folder.mkdir(parents=True)
        self.git("init", "-q", "-b", "main")

    def git(self, *arguments: str) -> str:
        who = {f"GIT_{role}_{what}": "a@b.c" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        dates = dict.fromkeys(("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"), self.now.isoformat())
        ran = subprocess.run(  # noqa: S603
            ["git", *arguments],  # noqa: S607
            cwd=self.folder,
            env={**os.environ, **who, **dates},
            check=True,
            capture_output=True,
        )
        return ran.stdout.decode()

    def write(self) -> None:
        for _ in range(30):
            self.now += timedelta(minutes=self.chance.randint(2, 40))
            name = self.chance.choice(list(self.files))
            if self.chance.random() < _FORMATS:
                self.files[name] = [(f"    {text}", writer) for text, writer in self.files[name]]
            else:
                self.change(name, PERSON if self.chance.random() < _PERSON_SHARE else self.chance.choice(self.names))
            if self.chance.random() < _COMMITS:
                self.commit()
        self.commit()

    def change(self, name: str, writer: str) -> None:
        lines = self.files[name]
        old = "\n".join(text for text, _ in lines)
        at = self.chance.randint(0, len(lines))
        gone = lines[at : at + self.chance.randint(0, 2)]
        new = [(self.text(), writer) for _ in range(self.chance.randint(1, 5))]
        lines[at : at + len(gone)] = new
        if writer != PERSON:
            path = str(self.folder / name)
            before, after = ("\n".join(text for text, _ in each) for each in (gone, new))
            tool_input = {"file_path": path, "old_string": before, "new_string": after}
            twin: object = "ok"
            if self.chance.random() < 0.2:
                tool_input = {"file_path": path, "content": "\n".join(text for text, _ in lines)}
                twin = {"type": "update", "filePath": path, "content": tool_input["content"], "originalFile": old}
                self.files[name] = [(text, writer if self.is_new(text, gone, new) else who) for text, who in lines]
            call = a_tool_call("Write" if "content" in tool_input else "Edit", tool_input)
            stamp = self.now.isoformat(timespec="milliseconds").replace("+00:00", "Z")
            entries = (
                a_prompt("go on", timestamp=stamp),
                a_reply(call, timestamp=stamp),
                a_tool_result("ok", timestamp=stamp, twin=twin),
            )
            self.sessions[writer] += entries

    @staticmethod
    def is_new(text: str, gone: list[Line], new: list[Line]) -> bool:
        return (text, new[0][1]) in new and text not in {old for old, _ in gone}

    def text(self) -> str:
        if self.chance.random() < _COMMON_SHARE:
            return self.chance.choice(COMMON)
        return f"value_{self.chance.randrange(10**9)} = measure({self.chance.randrange(100)})"

    def commit(self) -> None:
        for name, lines in self.files.items():
            (self.folder / name).write_text("".join(f"{text}\n" for text, _ in lines))
        self.git("add", "-A")
        if self.git("status", "--porcelain"):
            self.git("commit", "-q", "-m", "on")
            owners = {(name, i): who for name, lines in self.files.items() for i, (_, who) in enumerate(lines, 1)}
            self.commits.append((self.git("rev-parse", "HEAD").strip(), owners))


def judged(root: Path, seed: int) -> Counter[str]:
    """How many lines were attributed rightly, wrongly and not at all."""
    made = Repository(root / "orchard", seed)
    made.write()
    for name, entries in made.sessions.items():
        if entries:
            a_session(*entries, id=name).write(root / ".claude" / "projects")
    found: Counter[str] = Counter()
    with reread.open(home=root / "home", sources=[root / ".claude"]) as archive:
        archive.sync()
        for commit, owners in made.commits:
            for line in archive.files.commit(commit, made.folder).lines:
                said, true = line.writer.session if line.writer is not None else PERSON, owners[line.path, line.number]
                kind = "right" if said == true else "wrong" if said != PERSON else "missed"
                found[kind if said != PERSON or true != PERSON else "rightly nobody"] += 1
    return found


def main() -> int:
    found: Counter[str] = Counter()
    for seed in range(REPOSITORIES):
        with tempfile.TemporaryDirectory() as folder:
            found += judged(Path(folder).resolve(), seed)
    right, wrong, missed = found["right"], found["wrong"], found["missed"]
    for name, share, of in (("precision", right, right + wrong), ("recall", right, right + wrong + missed)):
        least, best = interval(share, of)
        print(f"{name}: {share / of:.3f} ({least:.3f} to {best:.3f}), {share:,} of {of:,} lines")
    print(f"by the person, and so said: {found['rightly nobody']:,} lines; {REPOSITORIES} repositories")
    return 0


if __name__ == "__main__":
    sys.exit(main())
