"""Whether suggestions are worth pasting: `make eval` prints the share of them that a reader would take.

Every draft that the recorded sessions of one owner, or the demonstration, lead to was judged by hand: is it true, is it
useful, was it known already. The labels name drafts by a digest and quote nothing.
"""

from __future__ import annotations

import csv
import sys
import tempfile
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import reread
from prompts import CORPUS, LABELS
from reread.archive import Archive
from reread.features.friction.suggestions import MOST, Suggestion

JUDGED = LABELS / "suggestions.tsv"
SAMPLES = Path(reread.__file__).parent / "samples"


class Draft(NamedTuple):
    owner: str
    suggestion: Suggestion

    @property
    def key(self) -> str:
        named = f"{self.owner}\n{self.suggestion.place}\n{self.suggestion.draft}"
        return sha256(named.encode()).hexdigest()[:12]


def drafts() -> Iterator[Draft]:
    """What each owner would be shown."""
    owners: dict[str, list[Path]] = {}
    for part in ("recorded", "labelled"):
        for folder in sorted((CORPUS / part).iterdir()) if CORPUS.is_dir() else ():
            owners.setdefault(folder.name.partition("+")[0], []).append(folder)
    for owner, folders in [("demonstration", [SAMPLES]), *owners.items()]:
        with tempfile.TemporaryDirectory(prefix="reread-eval-") as home, Archive(Path(home), folders) as archive:
            archive.sync()
            yield from (Draft(owner, each) for each in archive.friction.retro().suggestions[:MOST])


def report(*, is_shown: bool) -> None:
    with JUDGED.open(encoding="utf-8") as lines:
        judged = {row["draft"]: row for row in csv.DictReader(lines, delimiter="\t")}
    found = list(drafts())
    known = [judged[each.key] for each in found if each.key in judged]
    false = sum(row["true"] == "no" for row in known)
    taken = sum(row["true"] == "yes" and row["useful"] == "yes" and row["known"] == "no" for row in known)
    print(f"suggestions: {len(found)} drafts of {len({each.owner for each in found})} owners, {len(known)} judged")
    print(f"  {taken} of {len(known)} a reader would take ({taken / max(1, len(known)):.2f}), {false} false")
    for each in found if is_shown else ():
        print(
            f"\n{each.key} {each.owner} {each.suggestion.title}\n{each.suggestion.draft}\n({each.suggestion.checked})"
        )


if __name__ == "__main__":
    report(is_shown="--show" in sys.argv)
