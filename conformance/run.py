"""Runs readers of Claude Code's files on the cases and compares. Python 3.9+, no dependencies.

    python run.py --tool 'mytool --json {}'              a command that answers for the case folder {}
    python run.py --adapter ccusage --adapter reread      one of `adapters.py`, found on the PATH
    python run.py ... --markdown ../docs/conformance.md   writes the page

A command prints one JSON object with what it claims to know of the case; names that it leaves out are not scored:
`tokens` {input, output, cache_read, cache_write}, `prompts`, `replies`, `results`, `text`, `thinking` (lists of texts), `content` (of the
file that $CONFORMANCE_FILE names, at the time $CONFORMANCE_AT, if it is set).
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import adapters

Json = dict[str, Any]
HERE = Path(__file__).parent
REASONS: Json = json.loads((HERE / "reasons.json").read_text("utf-8"))
"""Why a tool of the page differs, in a sentence, by tool and case."""


def cases() -> list[tuple[Path, Json]]:
    return [(path.parent, json.loads(path.read_text("utf-8"))) for path in sorted(HERE.glob("cases/*/case.json"))]


def commanded(command: str) -> Callable[[Path, Json, Path], Json]:
    def answer(folder: Path, case: Json, scratch: Path) -> Json:
        words = [str(folder) if word == "{}" else word for word in shlex.split(command)]
        told = {"CONFORMANCE_FILE": case.get("file", ""), "CONFORMANCE_AT": case.get("at", ""), "HOME": str(scratch)}
        done = subprocess.run(
            words, env={**os.environ, **told}, capture_output=True, text=True, check=False, timeout=120
        )
        if done.returncode:
            raise adapters.Failed(done.stderr.strip().splitlines()[-1:] or ["it failed"])
        found: Json = json.loads(done.stdout)
        return found

    return answer


def compared(expected: Json, answer: Json) -> tuple[str, Json]:
    """`agrees`, `differs` with what was answered, or `-` if nothing of it is claimed."""
    claimed = {name: answer[name] for name in expected if name in answer}
    if not claimed:
        return "-", {}
    differing = {name: value for name, value in claimed.items() if value != expected[name]}
    return ("differs" if differing else "agrees"), differing


def ran(name: str, answer: Callable[[Path, Json, Path], Json]) -> dict[str, tuple[str, Json]]:
    found = {}
    for folder, case in cases():
        with tempfile.TemporaryDirectory() as scratch:
            try:
                found[folder.name] = compared(case["expect"], answer(folder.resolve(), case, Path(scratch)))
            except Exception as error:  # a tool that fails on a case has no answer to it
                found[folder.name] = ("differs", {"error": f"{type(error).__name__}: {error}"[:200]})
        print(f"{name:<16} {folder.name:<24} {found[folder.name][0]}", file=sys.stderr)
    return found


def page(results: dict[str, dict[str, tuple[str, Json]]], versions: dict[str, str]) -> str:
    names = list(results)
    lines = [
        "# Conformance",
        "",
        "What readers of Claude Code's files say of the cases in the folder `conformance/`, which are small, made by hand, and",
        "free to use. Only what a tool claims to do is scored: `-` stands for what it does not offer, or offers for another question.",
        "",
        f"Run on {date.today():%d %B %Y} with " + ", ".join(f"{name} {versions[name]}" for name in names) + ".",
        "",
        "| case | " + " | ".join(names) + " |",
        "|---|" + "---|" * len(names),
    ]
    for folder, _ in cases():
        marks = {"agrees": "yes", "differs": "**no**", "-": "-"}
        lines.append(f"| {folder.name} | " + " | ".join(marks[results[name][folder.name][0]] for name in names) + " |")
    scores = []
    for name in names:
        states = [state for state, _ in results[name].values() if state != "-"]
        scores.append(f"{states.count('agrees')} of {len(states)}")
    lines += ["| **agrees** | " + " | ".join(scores) + " |", "", "## The cases", ""]
    lines += [f"* `{folder.name}`: {case['why']}" for folder, case in cases()]
    lines += ["", "## Where a tool differs", ""]
    for name in names:
        for folder, case in cases():
            state, got = results[name][folder.name]
            if state == "differs":
                said = json.dumps(got, ensure_ascii=False)
                expected = json.dumps(
                    {key: case["expect"].get(key) for key in got if key in case["expect"]}, ensure_ascii=False
                )
                reason = REASONS.get(name, {}).get(folder.name, "")
                lines.append(f"* {name}, `{folder.name}`: `{said}`, expected `{expected}`. {reason}".rstrip())
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--tool", action="append", default=[], metavar="COMMAND", help="a command, with {} for the folder"
    )
    parser.add_argument("--adapter", action="append", default=[], choices=sorted(adapters.ADAPTERS))
    parser.add_argument("--markdown", type=Path, metavar="FILE")
    args = parser.parse_args()
    tools = {command: commanded(command) for command in args.tool}
    tools.update((name, adapters.ADAPTERS[name].answer) for name in args.adapter)
    try:
        versions = {name: adapters.ADAPTERS[name].version() if name in adapters.ADAPTERS else "" for name in tools}
    except (OSError, adapters.Failed) as error:
        parser.error(f"a tool cannot be run: {error}")
    results = {name: ran(name, answer) for name, answer in tools.items()}
    for name, found in results.items():
        for case, (state, got) in found.items():
            if state == "differs":
                print(f"{name} {case}: {json.dumps(got, ensure_ascii=False)}")
    if args.markdown:
        args.markdown.write_text(page(results, versions), encoding="utf-8")
    return int(any(state == "differs" for found in results.values() for state, _ in found.values()))


if __name__ == "__main__":
    sys.exit(main())
