"""Makes a large synthetic Claude Code tree whose truth is known.

    python bench/generate.py OUT --bytes 1GB [--seed 7] [--days 60] [--sessions N] [--truth FILE]

The tree holds only what a client writes; the truth goes to a file beside it.
Equal arguments give equal bytes.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import sys
import time
import unicodedata
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path

from conversation import GATEWAY, Conversation, Tree
from events import Deck, play, play_event
from textpool import text_pool
from transcript import ERAS, Transcript, era_of, new_uuid
from truth import Needle, SessionTruth, Tally, Truth

__all__ = ["Truth", "append", "generate", "resume_copy"]

END_MS = int(datetime(2026, 11, 13, tzinfo=UTC).timestamp() * 1000)
DAY_MS = 86_400_000
SMALLEST = 12_000
FEWEST = 18
"""Sessions of the smallest tree: enough for every era twice and every kind of damage."""
PROJECTS = (
    ("/home/ann/app", "latin"),
    ("/home/ann/my_app v1.0.83", "latin"),
    ("C:\\Users\\ann\\src\\portal", "latin"),
    ("/home/борис/проекты/склад", "cyrillic"),
    ("/Users/mei/書類/検索ツール", "cjk"),
    ("/srv/build/Client Work/web.shop", "latin"),
)
FIELDS = ("prompt", "text", "thinking", "tool", "result")


def generate(out: Path, *, size: int, seed: int = 7, days: int = 60, sessions: int | None = None) -> Truth:
    """Writes a tree of about `size` bytes of transcripts into the empty or missing directory `out`."""
    if out.exists() and any(out.iterdir()):
        raise FileExistsError(f"{out} is not empty")
    tree, deck = Tree(out, Truth(seed), text_pool(seed)), Deck(random.Random(f"deck:{seed}"))
    plan = random.Random(f"plan:{seed}")
    budgets = session_sizes(plan, size, sessions)
    planned = 0
    for index, budget in enumerate(budgets):
        planned += budget
        # A session ends with a whole turn, so what one writes too much the next ones write less.
        left = max(SMALLEST, planned - tree.truth.totals.bytes)
        write_session(tree, deck, index, len(budgets), min(budget, left), days)
    for _ in range(max(1, len(budgets) // 40)):
        fork = resume_copy(out, tree.truth, rng=plan)
        go_on(tree, deck, fork, turns=1, rng=plan)
    finish_tree(tree)
    (out / "settings.json").write_text('{"cleanupPeriodDays": 30}\n', encoding="utf-8")
    return tree.truth


def append(out: Path, truth: Truth, *, sessions: int = 3, turns: int = 2, seed: int = 1) -> list[str]:
    """Adds turns to some sessions of a tree, keeps the truth true, and names the sessions."""
    rng = random.Random(f"append:{truth.seed}:{seed}")
    tree, deck = Tree(out, truth, text_pool(truth.seed)), Deck(rng)
    whole = [sid for sid, known in truth.by_session.items() if not known.ends_open]
    chosen = rng.sample(whole, min(sessions, len(whole)))
    for sid in chosen:
        go_on(tree, deck, sid, turns, rng)
    finish_tree(tree)
    return chosen


def resume_copy(out: Path, truth: Truth, *, seed: int = 1, rng: random.Random | None = None) -> str:
    """Copies a session as `--fork-session` does and gives the new id; no cell changes.

    Only `sessionId` differs, and ids have one length, so the copy has the tally of its source.
    """
    rng = rng or random.Random(f"copy:{truth.seed}:{seed}:{len(truth.by_session)}")
    small = sorted((k.tally.bytes, sid) for sid, k in truth.by_session.items() if k.copyable)
    source_sid = rng.choice(small[: max(1, len(small) // 2)])[1]
    source, sid = truth.by_session[source_sid], new_uuid(rng)
    data = (out / source.path).read_bytes()
    for key in ("sessionId", "session_id"):
        data = data.replace(f'"{key}":"{source_sid}"'.encode(), f'"{key}":"{sid}"'.encode())
    copy = replace(
        source,
        path=source.path.replace(source_sid, sid),
        last_ms=source.last_ms + 1,
        tally=replace(source.tally),
        copy_of=source_sid,
    )
    (out / copy.path).write_bytes(data)
    os.utime(out / copy.path, (copy.last_ms / 1000, copy.last_ms / 1000))
    truth.by_session[sid] = copy
    truth.files += 1
    truth.count(copy.tally, copied=copy.tally)
    return sid


def finish_tree(tree: Tree) -> None:
    """Adds the prompts typed since the last time to history.jsonl, in time order."""
    typed = sorted(tree.history, key=lambda entry: int(entry["timestamp"]))
    with (tree.root / "history.jsonl").open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(entry, ensure_ascii=False) + "\n" for entry in typed)


def session_sizes(rng: random.Random, size: int, sessions: int | None) -> list[int]:
    """Long-tailed sizes that add up to `size`: many of 20-500 kB, some of megabytes, one large."""
    count = sessions or max(FEWEST, size // 420_000)
    large = min(size // 12, 64_000_000)
    drawn = [rng.lognormvariate(0, 1.3) for _ in range(count - 1)]
    scale = (size - large) * 0.985 / sum(drawn)
    sizes = [max(SMALLEST, int(scale * one)) for one in drawn]
    sizes.insert(count // 3, large)
    return sizes


def write_session(tree: Tree, deck: Deck, index: int, count: int, budget: int, days: int) -> None:
    """Writes session number `index` of `count`: older ones come from older clients."""
    rng = random.Random(f"session:{tree.truth.seed}:{index}")
    cwd, script = PROJECTS[index % len(PROJECTS)]
    era = ERAS[index * len(ERAS) // count]
    start = END_MS - days * DAY_MS + int((days - 2) * DAY_MS * (index + rng.random()) / count)
    sid = new_uuid(rng)
    path = tree.root / "projects" / slug(cwd) / f"{sid}.jsonl"
    trunk = Transcript(path, sid, cwd, rng.choice(era.versions), rng, start)
    model = GATEWAY if index % 50 == 12 else era.models[index % len(era.models)]
    needle = Needle(f"zqx{index:05d}{rng.getrandbits(40):010x}", sid, FIELDS[index // 3 % 5])
    talk = Conversation(tree, trunk, model, script, needle if index % 3 == 0 else None)
    play(talk, deck, budget // 2)
    for kind in damages(index):
        trunk.damage(kind)
    play(talk, deck, budget)
    ends_open = index == 8
    trunk.save(ends_open=ends_open)
    known = SessionTruth(path.relative_to(tree.root).as_posix(), cwd, trunk.version, str(trunk.parent), trunk.clock)
    known.ends_open = ends_open
    known.copyable = talk.repeatable and model != GATEWAY and not ends_open and not damages(index)
    tree.truth.by_session[sid] = known
    tree.truth.files += 1
    settle(tree.truth, known, trunk.tally)


def damages(index: int) -> list[str]:
    """What is spoiled in a session: malformed lines here and there, joined lines once."""
    return ["malformed"] * (index % 90 == 5) + ["joined"] * (index == 7)


def go_on(tree: Tree, deck: Deck, sid: str, turns: int, rng: random.Random) -> None:
    """Adds turns at the end of a session, as a resume does."""
    known = tree.truth.by_session[sid]
    path = tree.root / known.path
    trunk = Transcript(path, sid, known.cwd, known.version, rng, known.last_ms, parent=known.leaf)
    talk = Conversation(tree, trunk, rng.choice(era_of(known.version).models))
    for _ in range(turns):
        play_event(talk, deck.deal(talk))
    trunk.save(onto=True)
    known.version, known.leaf, known.last_ms = trunk.version, str(trunk.parent), trunk.clock
    settle(tree.truth, known, trunk.tally)


def settle(truth: Truth, known: SessionTruth, added: Tally) -> None:
    """Books the lines just added to a trunk."""
    known.tally.add(added)
    truth.count(added)


def slug(cwd: str) -> str:
    """The project directory's name (format 1.2)."""
    return re.sub(r"[^A-Za-z0-9]", "-", unicodedata.normalize("NFC", cwd))


def byte_count(text: str) -> int:
    """Reads `300MB` or `1.5GB`."""
    match = re.fullmatch(r"([\d.]+)\s*([kKMG]?)B?", text)
    if not match:
        raise argparse.ArgumentTypeError(f"not a size: {text}")
    return int(float(match[1]) * {"": 1, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9}[match[2]])


def main() -> int:
    """Runs the program."""
    parser = argparse.ArgumentParser(description="Make a synthetic Claude Code tree with known truth.")
    parser.add_argument("out", type=Path)
    parser.add_argument("--bytes", type=byte_count, default=byte_count("100MB"), dest="size")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--days", type=int, default=60)
    parser.add_argument("--sessions", type=int)
    parser.add_argument("--truth", type=Path, help="default: OUT.truth.json beside OUT")
    given = parser.parse_args()
    started = time.perf_counter()
    try:
        truth = generate(given.out, size=given.size, seed=given.seed, days=given.days, sessions=given.sessions)
    except FileExistsError as error:
        print(error, file=sys.stderr)
        return 2
    truth.write(given.truth or given.out.with_name(given.out.name + ".truth.json"))
    took = time.perf_counter() - started
    print(json.dumps({**asdict(truth.totals), "files": truth.files, "sessions": len(truth.by_session)}))
    print(f"{took:.1f} s, {truth.totals.bytes / took / 1e6:.1f} MB/s", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
