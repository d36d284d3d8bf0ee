"""How well secrets are found: recall on made-up ones of every kind, precision on ordinary texts and on recordings.

`python evals/redaction.py [FOLDER]` looks at the transcripts below a folder, too, and lists what it would take out
there: whether that is a secret, a person has to judge. Values are shown in part.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

from planting import ORDINARY, planted
from reread.analyses.secrets import Redactor, find
from reread.analyses.secrets.structures import texts_of
from reread.loading import read

SEEDS = 20


def main(arguments: list[str]) -> None:
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
    print(f"recall: {total - lost} of {total} secrets of {kinds} kinds found ({(total - lost) / total:.1%})")
    for kind, number in missed.most_common():
        if number:
            print(f"  missed {kind}: {number} of {SEEDS}")
    wrong = [(text, found) for text in ORDINARY if (found := find(text))]
    print(f"ordinary texts: {len(ORDINARY) - len(wrong)} of {len(ORDINARY)} spared")
    for text, found in wrong:
        print(f"  {[each.kind for each in found]} in {text[:80]}")
    for folder in arguments:
        _look(Path(folder))


def _look(folder: Path) -> None:
    kinds: Counter[str] = Counter()
    values: dict[str, Counter[str]] = {}
    characters = 0
    for path in sorted(folder.rglob("*.jsonl")):
        for record in read(path):
            characters += len(record.raw)
            for each in (found for text in texts_of(record.data) for found in find(text)):
                kinds[each.kind] += 1
                values.setdefault(each.kind, Counter())[each.value] += 1
    print(f"{folder.name}: {characters:,} bytes")
    for kind, number in kinds.most_common():
        shown = ", ".join(f"{value[:24]!r} {times}" for value, times in values[kind].most_common(12))
        print(f"  {kind}: {number}, {len(values[kind])} different: {shown}")


if __name__ == "__main__":
    main(sys.argv[1:])
