"""How well secrets are found: recall on made-up ones, and how often ordinary lines of recordings are taken for one.

`python evals/redaction.py [FOLDER]`: transcripts below a folder, by default recorded ones beside the project. Of
contexts that the detector was not written for (`held_out.py`) only the number that is found is printed: whoever reads
what is missed writes the detector for it. `--peer` asks detect-secrets the same, where that is installed.
"""

from __future__ import annotations

import math
import sys
import tempfile
from collections import Counter
from importlib import import_module
from pathlib import Path

from contexts import CONTEXTS, is_found, made
from held_out import HELD_OUT, HELD_OUT_BLIND, HELD_OUT_IN_NOVEMBER
from planting import ORDINARY, planted
from reread.features.secrets import Redactor, find
from reread.features.secrets.redact import secrets_of
from reread.features.secrets.shapes import EMAIL, USER
from reread.loading import read

SEEDS = 20


def main(arguments: list[str]) -> None:
    folders = [Path(each) for each in arguments if not each.startswith("--")] or _recorded()
    _tell_planted()
    _tell("contexts it is made for", CONTEXTS, are_named=True)
    _tell("contexts it was not written for", HELD_OUT, are_named=False)
    _tell("such ones of 2026-11-17", HELD_OUT_IN_NOVEMBER, are_named=False)
    _tell("such ones of 2026-11-19", HELD_OUT_BLIND, are_named=False)
    if "--peer" in arguments:
        _tell_peer()
    wrong = [(text, found) for text in ORDINARY if (found := find(text))]
    print(f"ordinary texts: {len(ORDINARY) - len(wrong)} of {len(ORDINARY)} spared")
    for text, found in wrong:
        print(f"  {[each.kind for each in found]} in {text[:80]}")
    for folder in folders:
        _look(folder)


def _tell(name: str, rows: tuple[tuple[str, str], ...], *, are_named: bool) -> None:
    """A row is found where it is found with all letters; the interval is Wilson's, over the rows."""
    missed: Counter[str] = Counter()
    for seed in range(SEEDS):
        missed.update(each.around for each in made(rows, seed) if not is_found(each))
    share = 1 - sum(missed.values()) / (SEEDS * len(rows))
    low, high = _wilson(share, len(rows))
    print(f"{name}: recall {share:.3f} of {len(rows)} contexts, 95 % between {low:.3f} and {high:.3f}")
    for around, number in missed.most_common() if are_named else ():
        print(f"  missed {number} of {SEEDS}: {around!r}")


def _wilson(share: float, number: int, z: float = 1.96) -> tuple[float, float]:
    middle = (share + z * z / (2 * number)) / (1 + z * z / number)
    half = z / (1 + z * z / number) * math.sqrt(share * (1 - share) / number + z * z / (4 * number * number))
    return middle - half, middle + half


def _tell_planted() -> None:
    missed: Counter[str] = Counter()
    total = 0
    for seed in range(SEEDS):
        for each in planted(seed):
            redactor = Redactor()
            redactor.learn(each.text)
            total += 1
            missed[each.kind] += any(part in redactor.redact(each.text) for part in each.secret.split("\n"))
    kinds = len({each.kind for each in planted()})
    lost = sum(missed.values())
    print(f"secrets in usual words: {total - lost} of {total} of {kinds} kinds found ({(total - lost) / total:.1%})")
    for kind, number in missed.most_common():
        if number:
            print(f"  missed {kind}: {number} of {SEEDS}")


def _tell_peer() -> None:
    """The same contexts, asked of detect-secrets with all its plugins."""
    peer = import_module("detect_secrets")  # only for who installs it: it has no types, and is no part of the checks
    default_settings = import_module("detect_secrets.settings").default_settings

    for name, rows in (("contexts it is made for", CONTEXTS), ("contexts it was not written for", HELD_OUT)):
        found = 0
        contexts = made(rows)
        with tempfile.TemporaryDirectory() as folder, default_settings():
            for number, each in enumerate(contexts):
                path = Path(folder) / f"{number}.txt"
                path.write_text(each.text, "utf-8")
                secrets = peer.SecretsCollection()
                secrets.scan_file(str(path))
                values = [secret.secret_value or "" for _, secret in secrets]
                found += any(value and (value in each.secret or each.secret in value) for value in values)
        print(f"{name}, asked of detect-secrets: {found} of {len(contexts)} ({found / len(contexts):.3f})")


def _recorded() -> list[Path]:
    parents = Path(__file__).resolve().parents
    return [folder for parent in parents if (folder := parent / "shared" / "corpus").is_dir()][:1]


def _look(folder: Path) -> None:
    """Recordings hold no secrets of anybody: what is found there is false, but for names and addresses."""
    values: dict[str, Counter[str]] = {}
    lines = 0
    for path in sorted(folder.rglob("*.jsonl")):
        redactor = Redactor()
        for record in read(path):
            lines += 1
            for kind, value in set(secrets_of(redactor, record.raw)):
                values.setdefault(kind, Counter())[value] += 1
    false = sum(sum(each.values()) for kind, each in values.items() if kind not in (EMAIL, USER))
    print(f"{folder.name}: {false} false finds in {lines:,} lines of transcripts, {false / lines * 1000:.2f} per 1,000")
    for kind, found in values.items():
        shown = ", ".join(f"{value[:24]!r} {times}" for value, times in found.most_common(8))
        print(f"  {kind}: {sum(found.values())}, {len(found)} different" + (f": {shown}" if kind != USER else ""))


if __name__ == "__main__":
    main(sys.argv[1:])
