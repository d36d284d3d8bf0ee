"""Makes a fixture from a capture: machine paths renamed, the client's prompt texts removed, all else kept.

    python tests/client/strip.py HOME WORK DEST [SESSION ...]
    python tests/client/strip.py HOME WORK DEST --stream stdout.jsonl

A line that holds nothing to remove keeps its bytes, apart from the renamed paths.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Json = dict[str, Any]

STRIPPED = "(stripped)"
# Ids, names and enum values are shorter than this; sentences of a prompt are not.
SHORT = 40
NEW_HOME = "/home/ann"
NEW_WORK = "/home/ann/app"

# Record type (or attachment/TYPE) -> the fields that carry the client's prompt, tool and machine texts.
PROMPT_FIELDS: dict[str, tuple[str, ...]] = {
    "api-request-shape": ("shape",),
    "api-request-blob": ("message",),
    "api-request": ("params",),
    "attachment/prompt_snapshot": ("attachment",),
    "attachment/skill_listing": ("content", "digests"),
    "attachment/deferred_tools_delta": ("addedLines",),
    "attachment/agent_listing_delta": ("addedLines",),
    "attachment/environment": ("attachment",),
    "attachment/model": ("attachment",),
    "attachment/session_context": ("attachment",),
    "attachment/remote_session_change": ("attachment",),
}
# Keys inside those fields whose values go even when short: they are prose, or describe the machine.
REMOVED_KEYS = {"description", "text", "osVersion", "platform", "shell", "user_id"}
# Old clients append reminders of their own to what a tool returned (1.0.x).
REMINDER = re.compile(r"<system-reminder>.*?</system-reminder>")


def slug(path: str) -> str:
    """The client's folder name for a working directory."""
    return re.sub(r"[^A-Za-z0-9]", "-", path)


def renames(home: Path, work: Path) -> list[tuple[str, str]]:
    """What to replace, longest first, as paths and as folder names."""
    pairs = [(str(work), NEW_WORK), (str(home), NEW_HOME)]
    pairs += [(slug(old), slug(new)) for old, new in pairs]
    return sorted(pairs, key=lambda pair: -len(pair[0]))


def renamed(text: str, pairs: list[tuple[str, str]]) -> str:
    """The text with the machine's paths replaced."""
    for old, new in pairs:
        text = text.replace(old, new)
    return text


def scrubbed(value: Any, key: str = "") -> Any:
    """The same shape without its sentences; a list of them keeps its first member."""
    if isinstance(value, str):
        return STRIPPED if len(value) > SHORT or key in REMOVED_KEYS else value
    if isinstance(value, dict):
        # The parameters of a tool are its text too; the schema stays recognisable without them.
        return {} if key == "properties" else {name: scrubbed(item, name) for name, item in value.items()}
    if isinstance(value, list):
        kept = value if all(isinstance(item, str) and len(item) <= SHORT for item in value) else value[:1]
        return [scrubbed(item, key) for item in kept]
    return value


def kind_of(record: Json) -> str:
    """The key of `PROMPT_FIELDS` for a record."""
    inner = record.get("attachment")
    return f"attachment/{inner.get('type')}" if isinstance(inner, dict) else str(record.get("type"))


def strip_record(record: Json) -> Json | None:
    """The record without prompt texts, or None where there is nothing to remove."""
    fields = PROMPT_FIELDS.get(kind_of(record), ())
    # What the model was shown of an attachment (2.1.3xx) is the client's wording whatever the attachment is.
    fields += ("rendered",) if "rendered" in record else ()
    return _without(record, fields) if fields else None


def _without(record: Json, fields: tuple[str, ...]) -> Json:
    changed = {key: scrubbed(value, key) if key in fields else value for key, value in record.items()}
    inner = changed.get("attachment")
    if isinstance(inner, dict):
        changed["attachment"] = {k: scrubbed(v, k) if k in fields else v for k, v in inner.items()}
    return changed


def strip_line(line: str, pairs: list[tuple[str, str]]) -> str:
    """One line of a transcript or a stream, as the fixture holds it."""
    line = renamed(line, pairs)
    if '"tool_result"' in line:
        line = REMINDER.sub(f"<system-reminder>{STRIPPED}</system-reminder>", line)
    changed = strip_record(json.loads(line))
    return line if changed is None else json.dumps(changed, ensure_ascii=False, separators=(",", ":"))


def strip_text(text: str, pairs: list[tuple[str, str]], is_lines: bool) -> str:
    """A whole file, record by record where it is made of records."""
    if not is_lines:
        return renamed(text, pairs)
    return "".join(strip_line(line, pairs) + "\n" for line in text.split("\n") if line)


def belongs(path: Path, project: Path, sessions: list[str]) -> bool:
    """Whether a file under a project folder is part of the chosen sessions (all, if none is named)."""
    name = path.relative_to(project).parts[0]
    if not sessions or any(name.startswith(session) for session in sessions):
        return True
    # 2.0.x keeps subagent files beside the trunk; only their lines name the session.
    beside = name.startswith("agent-") and path.parent == project
    return beside and any(session in path.read_text(encoding="utf-8") for session in sessions)


def captured_files(home: Path, sessions: list[str]) -> Iterator[tuple[Path, Path]]:
    """Files of a capture worth keeping, with their place under the client's root."""
    root = home / ".claude"
    for project in sorted((root / "projects").iterdir()):
        for path in sorted(project.rglob("*")):
            if path.is_file() and belongs(path, project, sessions):
                yield path, path.relative_to(root)
    history = root / "history.jsonl"
    if history.is_file() and not sessions:
        yield history, history.relative_to(root)


def copy_stripped(source: Path, dest: Path, pairs: list[tuple[str, str]]) -> None:
    """Write the fixture's copy of one file."""
    text = strip_text(source.read_text(encoding="utf-8"), pairs, source.suffix == ".jsonl")
    dest.parent.mkdir(parents=True, exist_ok=True)
    dest.write_text(text, encoding="utf-8")


def strip_capture(home: Path, work: Path, dest: Path, sessions: list[str]) -> list[Path]:
    """Copy a client's home into DEST/projects/…, stripped; gives the files written."""
    pairs = renames(home, work)
    written = []
    for source, place in captured_files(home, sessions):
        target = dest / renamed(str(place), pairs)
        copy_stripped(source, target, pairs)
        written.append(target)
    return written


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("home", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("dest", type=Path)
    parser.add_argument("sessions", nargs="*", help="session ids to keep; all, with the history, if none")
    parser.add_argument("--stream", type=Path, help="a stream capture to copy instead of the transcripts")
    args = parser.parse_args()
    if args.stream:
        copy_stripped(args.stream, args.dest / args.stream.name, renames(args.home, args.work))
    else:
        strip_capture(args.home, args.work, args.dest, args.sessions)
    return 0


if __name__ == "__main__":
    sys.exit(main())
